//! Expanded draws: what [`tepui_vulkan_expand`] asks of the encoder.

use std::sync::Arc;

use tepui_agx_compiler::Source;
use tepui_sysval::{LaunchWords, SystemValue};
use tepui_vulkan::Result;
use tepui_vulkan::backend::{Dispatch, Draw};
use tepui_vulkan::command::{CommandState, MAX_PUSH};
use tepui_vulkan::draws::DrawOutcome;
use tepui_vulkan_expand::{
    Application, ExpandState, Expander, Launch, Program, SharedMemory, SharedUse, Supplied,
    VertexValues,
};
use tepui_vulkan_meta::condition;

use super::Encoder;
use super::bindings::{Bindings, Halves, long};
use super::variants::VertexSources;
use crate::device::Device;
use crate::family::{Agx, LANES};
use crate::kernel::Bo;
use crate::shader::Variant;

/// Memory of expanded draws that command buffers share.
#[derive(Clone)]
pub struct ExpandMemory(Arc<Bo>);

impl SharedMemory for ExpandMemory {
    fn address(&self) -> u64 {
        self.0.address
    }

    fn bytes(&self) -> u64 {
        self.0.size
    }
}

impl Encoder {
    /// Memory that the GPU writes.
    pub(super) fn room(&mut self, bytes: u64) -> Result<u64> {
        Ok(self.arena.take(&self.device, bytes.max(16), 64)?.address)
    }

    /// A draw with any state.
    #[inline(never)]
    pub(super) fn draw_any(
        &mut self,
        state: &mut CommandState<Agx>,
        draw: &Draw,
    ) -> Result<DrawOutcome> {
        if self.expansion.is_unfinished() {
            let outcome = tepui_vulkan_expand::draw_rest(self, state);
            return self.count_split(outcome);
        }
        let known = state.condition.is_none() && matches!(draw, Draw::Direct(_));
        let expands = self.expands(state, draw.is_indexed(), known);
        if expands && !known {
            return Ok(DrawOutcome::NeedsCounts);
        }
        let mut draw = condition::draw(self, state.condition, *draw)?;
        if state.feedback.active && !expands {
            tepui_vulkan_expand::capture(self, state, &draw)?;
        }
        // Draws after a count in memory become draws without instances, once for all users.
        if let Draw::Indirect { address, count, stride, count_address, indexed, .. } = &mut draw
            && let Some(at) = count_address.take()
        {
            (*address, *stride) =
                condition::counted(self, *address, at, *count, *stride, *indexed)?;
        }
        tepui_vulkan_expand::count_draw(self, state, &draw)?;
        let outcome = tepui_vulkan_expand::draw(self, state, draw, expands);
        self.count_split(outcome)
    }

    /// Counts the rendering that follows a part of a draw.
    fn count_split(&mut self, outcome: Result<DrawOutcome>) -> Result<DrawOutcome> {
        if matches!(outcome, Ok(DrawOutcome::Partial)) {
            self.order.counts.splits += 1;
        }
        outcome
    }
}

/// A value of a vertex shader that runs as a compute program.
fn vertex_source(
    device: &Device,
    view: u32,
    a: &Application<'_, Agx>,
    v: &VertexValues,
    s: Source,
) -> Option<Halves> {
    if let (Source::System(SystemValue::VertexList), Supplied::Value(list)) = (s, v.list) {
        return Some(long(list));
    }
    let base_instance = match v.first_instance {
        Supplied::Value(n) => n,
        Supplied::Memory(_) => 0,
    };
    let sources = VertexSources {
        state: a.state,
        zeros: device.zeros.address,
        base_vertex: v.base_vertex,
        base_instance,
        draw_index: v.draw_index,
        view,
    };
    sources.get(s)
}

/// Address of a value of a launch that is in memory.
fn in_memory(words: &LaunchWords<'_>, vertex: Option<&VertexValues>, s: Source) -> Option<u64> {
    match (s, vertex) {
        (Source::System(SystemValue::Driver { offset }), _) => words.address(offset),
        (
            Source::System(SystemValue::VertexList),
            Some(VertexValues { list: Supplied::Memory(at), .. }),
        )
        | (
            Source::System(SystemValue::BaseInstance),
            Some(VertexValues { first_instance: Supplied::Memory(at), .. }),
        ) => Some(*at),
        _ => None,
    }
}

impl Expander<Agx> for Encoder {
    type Sets = Bindings;
    type Memory = ExpandMemory;

    const LANES: u32 = LANES;

    fn expansion(&mut self) -> &mut ExpandState<ExpandMemory> {
        &mut self.expansion
    }

    fn expansion_ref(&self) -> &ExpandState<ExpandMemory> {
        &self.expansion
    }

    fn program(&mut self, p: Program) -> Result<Arc<Variant>> {
        self.device.clone().meta(p)?.compute()
    }

    fn graphics_sets(&mut self, state: &CommandState<Agx>) -> Result<Bindings> {
        let mut bindings = Bindings::default();
        let mut sets = state.graphics_sets.clone();
        sets.changed = u32::MAX;
        bindings.update(|b| Ok(self.upload(b, 64)?.address), &mut sets)?;
        Ok(bindings)
    }

    fn launch_ordered(&mut self, launch: &Launch<'_, Agx>) -> Result<()> {
        let Launch { program, dispatch, words, application } = launch;
        if matches!(dispatch, Dispatch::Direct(_, groups) if groups.contains(&0)) {
            return Ok(());
        }
        self.driver[..words.values.len()].copy_from_slice(words.values);
        let vertex = application.as_ref().and_then(|a| a.vertex.as_ref());
        let device = self.device.clone();
        let view = self.expansion.view;
        let own = |s: Source| {
            let (a, v) = (application.as_ref()?, vertex?);
            vertex_source(&device, view, a, v, s)
        };
        let (none, no_push) = (Bindings::default(), [0; MAX_PUSH]);
        let (sets, push) = match application {
            Some(a) => (a.sets, &a.state.push),
            None => (&none, &no_push),
        };
        let from_memory = |s: Source| in_memory(words, vertex, s);
        self.launch_with(program, sets, push, dispatch, &own, &from_memory)
    }

    fn put_bytes(&mut self, bytes: &[u8], align: u64) -> Result<u64> {
        Ok(self.upload(bytes, align)?.address)
    }

    fn gpu_memory(&mut self, bytes: u64) -> Result<u64> {
        self.room(bytes)
    }

    fn shared_memory(&mut self, of: SharedUse, bytes: u64) -> Result<ExpandMemory> {
        let (memory, kernel) = (&self.device.expansion, &self.device.kernel);
        Ok(ExpandMemory(match of {
            SharedUse::Heap => memory.heap(kernel, bytes)?,
            SharedUse::Pieces => memory.pieces(kernel, bytes)?,
        }))
    }

    fn identity_list(&mut self, first: u32, count: u32) -> Result<Option<u64>> {
        self.device.counting_list(first, count)
    }

    fn wait_for_all(&mut self) {
        self.order();
    }

    fn forget_programs(&mut self) {
        if let Some(r) = &mut self.render {
            r.forget_programs();
        }
    }

    fn draw_view(
        &mut self,
        state: &mut CommandState<Agx>,
        draw: &Draw,
        view: u32,
        words: LaunchWords<'_>,
    ) -> Result<()> {
        self.driver[..words.values.len()].copy_from_slice(words.values);
        self.vertex_words.clear();
        self.vertex_words.extend_from_slice(words.in_memory);
        let drawn = self.draw_one_view(state, draw, view);
        self.vertex_words.clear();
        drawn
    }
}
