//! Counts and captures of what stages before the rasteriser emit.

use tepui_expand::capture::CaptureWords;
use tepui_expand::gather::{GatherWords, vertices as gather_vertices};
use tepui_expand::{Emission, list_of};
use tepui_sysval::{LaunchWords, MemoryWords, Words as _};
use tepui_vulkan::Result;
use tepui_vulkan::command::CommandState;
use tepui_vulkan::feedback::MAX_FEEDBACK;
use tepui_vulkan::vk::QueryPipelineStatisticFlags as Flags;

use crate::capture::fit_words;
use crate::counting::{count_from_memory, count_stream};
use crate::derived::{Gathered, gather, strides};
use crate::feedback::{CaptureParams, FitWords};
use crate::launch::{ExpandBackend, Expander, run, run_indirect};
use crate::lists::SumsWords;
use crate::params::DrawParams;
use crate::program::Program;

/// Whether emissions of geometry shaders are needed besides for rasterisation.
pub(crate) fn looks_at_emissions<B: ExpandBackend>(
    e: &B::Encoder,
    state: &CommandState<B>,
) -> bool {
    let counts = !e.expansion_ref().statistics.is_empty();
    state.feedback.active || !state.bound.between.is_empty() && counts
}

/// Counts the primitives that a geometry shader emitted, and captures their vertices, stream by stream. `parameters` is the address of
/// the draw's [`DrawParams`].
pub(crate) fn emissions<B: ExpandBackend>(
    e: &mut B::Encoder,
    state: &CommandState<B>,
    geometry: &B::Shader,
    emission: &Emission,
    parameters: u64,
) -> Result<()> {
    if state.bound.between.geometry.is_some() {
        let number = DrawParams::GATHER.then(GatherWords::INVOCATIONS).address(parameters);
        count_from_memory::<B>(e, &[(Flags::GEOMETRY_SHADER_INVOCATIONS, number)])?;
    }
    (0..emission.streams)
        .try_for_each(|stream| emissions_to(e, state, geometry, emission, parameters, stream))
}

/// Counts and captures the primitives of one stream.
fn emissions_to<B: ExpandBackend>(
    e: &mut B::Encoder,
    state: &CommandState<B>,
    geometry: &B::Shader,
    emission: &Emission,
    parameters: u64,
    stream: u32,
) -> Result<()> {
    let rasterised = u32::from(state.graphics.rasterization_stream);
    let list = list_of(stream, rasterised);
    let last = state.graphics.provoking_last;
    let lanes = <B::Encoder as Expander<B>>::LANES;
    let [count, store] = gather(geometry, Gathered { stream, list, last }, lanes)?;
    let strides = strides(geometry, stream);
    let gathered = DrawParams::GATHER.address(parameters);
    let groups = DrawParams::GATHER_GROUPS.address(parameters);
    let in_memory = [MemoryWords::all::<GatherWords>(gathered)];
    run_indirect::<B>(e, &count, LaunchWords { values: &[], in_memory: &in_memory }, groups)?;
    // The number of the first primitive of each invocation.
    let each = gather_vertices(emission.output);
    let emitted = DrawParams::EMITTED.at(0).address(parameters);
    let primitives = DrawParams::EMITTED.at(1).address(parameters);
    let table = GatherWords::TABLE.address(gathered);
    let number = GatherWords::INVOCATIONS.address(gathered);
    sums::<B>(e, table, number, emitted, each)?;
    if !state.bound.between.is_empty() {
        count_stream::<B>(e, stream, rasterised, primitives)?;
    }
    if state.bound.between.geometry.is_some() {
        count_from_memory::<B>(e, &[(Flags::GEOMETRY_SHADER_PRIMITIVES, primitives)])?;
    }
    if !state.feedback.active {
        return Ok(());
    }
    // Computes the number that fits.
    let capture = e.put_bytes(CaptureParams::default().bytes(), 16)?;
    let words = fit_words::<B>(e, &state.feedback.buffers, strides, capture, [0, 1, each], stream);
    let in_memory = [MemoryWords::field(FitWords::VERTICES, emitted)];
    run::<B>(e, Program::Fit, LaunchWords { values: words.words(), in_memory: &in_memory }, 1)?;
    if strides == [0; MAX_FEEDBACK] {
        return Ok(());
    }
    let of_capture = CaptureParams::CAPTURE;
    let in_memory = [
        MemoryWords::until(GatherWords::LIST, GatherWords::LIMIT, gathered),
        MemoryWords::field(
            GatherWords::LIMIT,
            of_capture.then(CaptureWords::LIMIT).address(capture),
        ),
        MemoryWords::field(
            GatherWords::BUFFERS,
            of_capture.then(CaptureWords::BUFFERS).address(capture),
        ),
    ];
    run_indirect::<B>(e, &store, LaunchWords { values: &[], in_memory: &in_memory }, groups)
}

/// Turns a table of counts into sums of those before: addresses of its address, of their number, and where the sum of all goes,
/// times a factor and by itself.
pub(crate) fn sums<B: ExpandBackend>(
    e: &mut B::Encoder,
    table: u64,
    number: u64,
    to: u64,
    factor: u32,
) -> Result<()> {
    let words = SumsWords { sum: to.into(), factor, ..SumsWords::default() };
    let in_memory = [
        MemoryWords::field(SumsWords::COUNTS, table),
        MemoryWords::field(SumsWords::NUMBER, number),
    ];
    run::<B>(e, Program::Sums, LaunchWords { values: words.words(), in_memory: &in_memory }, 1)
}
