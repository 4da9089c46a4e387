//! Counts and captures of what stages before the rasteriser emit.

use tepui_agx_compiler::Source;
use tepui_expand::capture::{ADDRESSES, LIMIT};
use tepui_expand::gather::{vertices as gather_vertices, word as gather};
use tepui_expand::{Emission, list_of};
use tepui_vulkan::Result;
use tepui_vulkan::backend::Dispatch;
use tepui_vulkan::command::CommandState;
use tepui_vulkan::vk::QueryPipelineStatisticFlags as Flags;

use super::Encoder;
use super::bindings::{Bindings, split};
use super::feedback::FIT_VERTICES;
use crate::family::Agx;
use crate::shader::{Gathered, Shader};
use tepui_vulkan_expand::Program;
use tepui_vulkan_expand::feedback::PARAMETERS_B;
use tepui_vulkan_expand::place::params;

impl Encoder {
    /// Counts the primitives that a geometry shader emitted, and captures their vertices, stream by stream.
    pub(super) fn emissions(
        &mut self,
        state: &CommandState<Agx>,
        geometry: &Shader,
        emission: &Emission,
        parameters: u64,
    ) -> Result<()> {
        if state.bound.between.geometry.is_some() {
            let number = parameters + u64::from(params::GATHER + gather::COUNT);
            self.count_from_memory(&[(Flags::GEOMETRY_SHADER_INVOCATIONS, number)])?;
        }
        (0..emission.streams)
            .try_for_each(|stream| self.emissions_to(state, geometry, emission, parameters, stream))
    }

    /// Whether emissions of geometry shaders are needed besides for rasterisation.
    pub(super) fn looks_at_emissions(&self, state: &CommandState<Agx>) -> bool {
        state.feedback.active || !state.bound.between.is_empty() && !self.statistics.is_empty()
    }

    /// Captures the primitives of one stream.
    fn emissions_to(
        &mut self,
        state: &CommandState<Agx>,
        geometry: &Shader,
        emission: &Emission,
        parameters: u64,
        stream: u32,
    ) -> Result<()> {
        let rasterised = u32::from(state.graphics.rasterization_stream);
        let list = list_of(stream, rasterised);
        let last = state.graphics.provoking_last;
        let [count, store] = geometry.gather(Gathered { stream, list, last })?;
        let strides = geometry.strides(stream);
        let none = Bindings::default();
        let gathered = parameters + u64::from(params::GATHER);
        let groups = Dispatch::Indirect([0; 3], parameters + u64::from(params::GATHER_GROUPS));
        let in_memory = |s: Source| match s {
            Source::Driver { offset } => Some(gathered + u64::from(offset)),
            _ => None,
        };
        self.launch_with(&count, &none, &state.push, &groups, &|_| None, &in_memory)?;
        // The number of the first primitive of each invocation.
        let each = gather_vertices(emission.output);
        let emitted = parameters + u64::from(params::EMITTED);
        let table = gathered + u64::from(gather::TABLE);
        let number = gathered + u64::from(gather::COUNT);
        self.sums(state, table, number, emitted, each)?;
        if !state.bound.between.is_empty() {
            self.count_stream(stream, rasterised, emitted + 4)?;
        }
        if state.bound.between.geometry.is_some() {
            self.count_from_memory(&[(Flags::GEOMETRY_SHADER_PRIMITIVES, emitted + 4)])?;
        }
        if !state.feedback.active {
            return Ok(());
        }
        // Computes the number that fits.
        let one = Dispatch::Direct([0; 3], [1; 3]);
        let fit = self.device.clone().meta(Program::Fit)?.compute()?;
        let parameters = self.upload(&[0; PARAMETERS_B], 16)?.address;
        let buffers = state.feedback.buffers;
        let words = self.fit_words(&buffers, strides, parameters, [0, 1, each], stream);
        self.driver[..words.len()].copy_from_slice(&words);
        let in_memory = |s: Source| (s == FIT_VERTICES).then_some(emitted);
        self.launch_with(&fit, &none, &state.push, &one, &|_| None, &in_memory)?;
        if strides == [0; 4] {
            return Ok(());
        }
        let in_memory = |s: Source| match s {
            Source::Driver { offset } if offset < gather::BUFFERS => {
                Some(gathered + u64::from(offset))
            }
            Source::Driver { offset } if offset < gather::LIMIT => {
                Some(parameters + u64::from(ADDRESSES + offset - gather::BUFFERS))
            }
            Source::Driver { .. } => Some(parameters + u64::from(LIMIT)),
            _ => None,
        };
        self.launch_with(&store, &none, &state.push, &groups, &|_| None, &in_memory)
    }

    /// Turns a table of counts into sums of those before: addresses of its address, of their number, and where the sum of all goes,
    /// times a factor and by itself.
    pub(super) fn sums(
        &mut self,
        state: &CommandState<Agx>,
        table: u64,
        number: u64,
        to: u64,
        factor: u32,
    ) -> Result<()> {
        let [low, high] = split(to);
        let sums = self.device.clone().meta(Program::Sums)?.compute()?;
        self.driver[3..6].copy_from_slice(&[low, high, factor]);
        let in_memory = |s: Source| match s {
            Source::Driver { offset } if offset < 8 => Some(table + u64::from(offset)),
            Source::Driver { offset: 8 } => Some(number),
            _ => None,
        };
        let one = Dispatch::Direct([0; 3], [1; 3]);
        self.launch_with(&sums, &Bindings::default(), &state.push, &one, &|_| None, &in_memory)
    }
}
