//! The tessellator between control and evaluation shaders, and the stages after it
//! ([`tepui_expand::tessellate`]).

use tepui_expand::lower::patch_stride;
use tepui_expand::tessellate::{TessellateWords, Worker};
use tepui_expand::{Emission, Expansion, Record};
use tepui_ir::{Builtin, Interp, IoLoc, IoSlot, NumKind, PrimitiveKind, Sampling};
use tepui_sysval::{LaunchWords, MemoryWords, Words as _};
use tepui_vulkan::Result;
use tepui_vulkan::vk::QueryPipelineStatisticFlags as Flags;

use crate::counting::count_from_memory;
use crate::derived::{evaluated, pull};
use crate::emissions::{looks_at_emissions, sums};
use crate::launch::{
    Application, ExpandBackend, ExpandShader as _, Expander, ShaderOf, run, run_indirect, run_stage,
};
use crate::memory::heap;
use crate::params::DrawParams;
use crate::place::PlaceTessellatedWords;
use crate::program::Program;
use crate::stages::{Tessellated, emission_sizes, record_b};
use crate::topology::makes_points;

/// Divides the patches that the control shader wrote. If there is a geometry shader, runs the
/// evaluation shader and that one. Returns the vertex shader that the hardware runs, and the
/// address of the parameters of later stages.
pub(crate) fn tessellate<B: ExpandBackend>(
    e: &mut B::Encoder,
    application: &Application<'_, B>,
    parameters: u64,
    t: &Tessellated<B>,
    geometry: Option<&B::Shader>,
) -> Result<(ShaderOf<B>, u64)> {
    let state = application.state;
    let control = t.control.ir();
    let vertices = control.info.primitives.vertices.max(1);
    let patch = Record::of_patch(control);
    let controlled = Record::of_vertices(control);
    divide(e, parameters, t)?;
    let heap = heap::<B>(e, 0)?;
    let later = match geometry {
        Some(_) => e.put_bytes(DrawParams::default().bytes(), 64)?,
        None => parameters,
    };
    let record = Record::of_vertices(t.evaluation.ir());
    let rasterised = state.graphics.rasterization_stream;
    let mut words = PlaceTessellatedWords {
        parameters: parameters.into(),
        heap: heap.0.into(),
        heap_bytes: heap.1,
        ..PlaceTessellatedWords::default()
    };
    if let Some(g) = geometry {
        words.later = later.into();
        words.vertex_bytes = record_b(&record);
        words.emission = emission_sizes::<B>(g, rasterised.into());
        words.vertices = Emission::of(g.ir()).reads;
    }
    let place = Program::PlaceTessellated(geometry.is_some());
    run::<B>(e, place, LaunchWords::of(words.words()), 1)?;
    // The points and indices.
    for (worker, groups) in [
        (Worker::Group, DrawParams::TESSELLATE_GROUPS),
        (Worker::Thread, DrawParams::TESSELLATE_THREADS),
    ] {
        let program = Program::Tessellate(t.how, worker);
        launch_tessellator(e, program, parameters, t, groups.address(parameters))?;
    }
    // The vertices.
    let expansion = Expansion {
        vertices: controlled,
        patch,
        patch_vertices: vertices,
        triangles: t.how.domain == PrimitiveKind::Triangles,
        ..Expansion::default()
    };
    let Some(g) = geometry else {
        let numbered = state.bound.fragment.as_ref().is_some_and(|f| f.reads_primitive());
        return Ok((evaluated(&*t.evaluation, &expansion, numbered)?, later));
    };
    let program = t.evaluation.expanded_program(&expansion)?;
    let words = DrawParams::EVALUATE.address(parameters);
    let groups = DrawParams::EVALUATE_GROUPS.address(parameters);
    let stage = || Application { vertex: None, ..*application };
    run_stage(e, &program, stage(), words, groups)?;
    let no_size = !looks_at_emissions(e, state)
        && !makes_points(&state.graphics, Emission::of(g.ir()).output);
    let expansion = Expansion {
        vertices: record,
        tessellated: true,
        rasterised,
        no_size,
        ..Expansion::default()
    };
    let program = g.expanded_program(&expansion)?;
    let groups = DrawParams::GEOMETRY_GROUPS.address(later);
    run_stage(e, &program, stage(), DrawParams::STAGE.address(later), groups)?;
    Ok((pull(g, no_size)?, later))
}

/// Computes the numbers of points and indices, and the offsets of each patch.
fn divide<B: ExpandBackend>(e: &mut B::Encoder, parameters: u64, t: &Tessellated<B>) -> Result<()> {
    let groups = DrawParams::GATHER_GROUPS.address(parameters);
    launch_tessellator(e, Program::CountTessellated(t.how), parameters, t, groups)?;
    let own = DrawParams::TESSELLATE;
    let patches = own.then(TessellateWords::COUNT).address(parameters);
    for (table, sum) in [
        (TessellateWords::POINTS, DrawParams::POINTS),
        (TessellateWords::INDICES, DrawParams::INDICES),
    ] {
        let table = own.then(table).address(parameters);
        sums::<B>(e, table, patches, sum.at(0).address(parameters), 1)?;
    }
    let points = DrawParams::POINTS.at(1).address(parameters);
    count_from_memory::<B>(
        e,
        &[
            (Flags::TESSELLATION_CONTROL_SHADER_PATCHES, patches),
            (Flags::TESSELLATION_EVALUATION_SHADER_INVOCATIONS, points),
        ],
    )
}

/// Launches a program of the tessellator, whose first words are among the parameters.
fn launch_tessellator<B: ExpandBackend>(
    e: &mut B::Encoder,
    program: Program,
    parameters: u64,
    t: &Tessellated<B>,
    groups: u64,
) -> Result<()> {
    let control = t.control.ir();
    let patch = Record::of_patch(control);
    let level = |b: Builtin| {
        let (interp, sampling) = (Interp::Flat, Sampling::Center);
        let slot = IoSlot {
            loc: IoLoc::Builtin(b),
            component: 0,
            index: 0,
            kind: NumKind::Float,
            interp,
            sampling,
        };
        patch.offset(slot).unwrap_or(0)
    };
    let vertices = control.info.primitives.vertices.max(1);
    let words = TessellateWords {
        stride: patch_stride(&patch, &Record::of_vertices(control), vertices),
        outer: level(Builtin::TessLevelOuter),
        inner: level(Builtin::TessLevelInner),
        unlike: DrawParams::UNLIKE.address(parameters).into(),
        ..TessellateWords::default()
    };
    let own = DrawParams::TESSELLATE.address(parameters);
    let in_memory = [MemoryWords::until(TessellateWords::PATCHES, TessellateWords::STRIDE, own)];
    let program = e.program(program)?;
    let words = LaunchWords { values: words.words(), in_memory: &in_memory };
    run_indirect::<B>(e, &program, words, groups)
}
