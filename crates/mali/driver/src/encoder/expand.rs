//! Expanded draws: requests of [`tepui_vulkan_expand`] to the encoder.
//!
//! Stages before the rasteriser run in the compute queue, while the rendering is open. The vertex queue waits for them before the next
//! draw, and they wait for its draws so far, which may read the memory that they write.

use std::sync::Arc;

use tepui_sysval::{LaunchWords, SystemValue};
use tepui_vulkan::backend::{Dispatch, Draw};
use tepui_vulkan::command::{BindPoint, CommandState, MAX_PUSH, MAX_SETS};
use tepui_vulkan::draws::{DrawOutcome, ExpandingEncoder};
use tepui_vulkan::state::GraphicsState;
use tepui_vulkan::{Result, vk};
use tepui_vulkan_expand as expand;
use tepui_vulkan_expand::{
    ExpandState, Expander, Launch, Program, SharedUse, Supplied, VertexValues,
};
use tepui_vulkan_meta::{condition, copy};

use super::Encoder;
use super::inputs::{Inputs, Values};
use super::streams::subqueues::{Waits, mask_of};
use crate::device::ExpandMemory;
use crate::encoder::uploaded::Kind;
use crate::family::Mali;
use crate::graphics::vertex::{self, FirstInstance};
use crate::kernel::Queue;
use crate::limits::SUBGROUP_SIZE;
use crate::packed::DESCRIPTOR_ALIGN;
use crate::shader::Variant;
use crate::stream::Flush;

/// Descriptor sets of graphics pipelines, for launches.
pub struct Sets {
    sets: BindPoint,
    pushed: [u64; MAX_SETS],
}

/// A vertex program's values, from those of a launch.
impl Values<'_> {
    /// A value of a vertex shader that runs as a compute program; `None` if it is in memory or no such value.
    pub(super) fn of_vertex(v: &VertexValues, value: SystemValue, half: u8) -> Option<u32> {
        Some(match (value, v.list, v.first_instance) {
            (SystemValue::VertexList, Supplied::Value(at), _) => {
                (at >> (32 * u32::from(half))) as u32
            }
            (SystemValue::BaseInstance, _, Supplied::Value(n)) => n,
            (SystemValue::BaseVertex, ..) => v.base_vertex,
            (SystemValue::DrawIndex, ..) => v.draw_index,
            _ => return None,
        })
    }

    /// Address of such a value.
    pub(super) fn in_memory(v: &VertexValues, value: SystemValue, half: u8) -> Option<u64> {
        match (value, v.list, v.first_instance) {
            (SystemValue::VertexList, Supplied::Memory(at), _) => Some(at + 4 * u64::from(half)),
            (SystemValue::BaseInstance, _, Supplied::Memory(at)) => Some(at),
            _ => None,
        }
    }
}

/// Whether primitives have adjacent vertices, or are patches: those of stages that the hardware does not have.
fn is_of_stages(s: &GraphicsState) -> bool {
    use vk::PrimitiveTopology as T;
    matches!(
        s.topology,
        T::LINE_LIST_WITH_ADJACENCY
            | T::LINE_STRIP_WITH_ADJACENCY
            | T::TRIANGLE_LIST_WITH_ADJACENCY
            | T::TRIANGLE_STRIP_WITH_ADJACENCY
    )
}

/// Whether polygons are drawn as lines or points.
fn makes_outlines(s: &GraphicsState) -> bool {
    s.polygon_mode != vk::PolygonMode::FILL && is_polygon(s.topology)
}

/// Whether a topology has polygons.
pub(super) fn is_polygon(topology: vk::PrimitiveTopology) -> bool {
    use vk::PrimitiveTopology as T;
    matches!(topology, T::TRIANGLE_LIST | T::TRIANGLE_STRIP | T::TRIANGLE_FAN)
}

impl Encoder {
    /// Whether stages of a draw run as compute programs. Vertex shaders that write memory or ask other lanes do: the
    /// hardware shades vertices that no draw has. source: Mesa, panvk_vX_physical_device.c (`subgroupSupportedStages`). So do those whose fragments read numbers of primitives, which the hardware does not count.
    fn expands(&self, state: &CommandState<Mali>, draw: &Draw, known: bool) -> bool {
        expand::expands(state, draw.is_indexed(), known)
            || is_of_stages(&state.graphics)
            || makes_outlines(&state.graphics)
            || state.bound.vertex.as_ref().is_some_and(|v| v.shows_invocations)
            || state.bound.fragment.as_ref().is_some_and(|f| f.reads_primitive)
    }

    /// A draw with any state.
    fn draw_any(&mut self, state: &mut CommandState<Mali>, draw: &Draw) -> Result<DrawOutcome> {
        if self.expansion.is_unfinished() {
            return expand::draw_rest(self, state);
        }
        let known = state.condition.is_none() && matches!(draw, Draw::Direct(_));
        let expands = self.expands(state, draw, known);
        if !expands && !state.feedback.active && self.expansion.statistics.is_empty() {
            let views = state.rendering.as_ref().map_or(0, |r| r.view_mask);
            let mask = if views == 0 { 1 } else { views };
            for view in (0..u32::BITS).filter(|v| mask >> v & 1 != 0) {
                let condition = state.condition;
                self.draw_state(state, draw, view, LaunchWords::default(), condition)?;
            }
            return Ok(DrawOutcome::Complete);
        }
        if expands && !known {
            return Ok(DrawOutcome::NeedsCounts);
        }
        let mut draw = condition::draw(self, state.condition, *draw)?;
        if state.feedback.active && !expands {
            expand::capture(self, state, &draw)?;
        }
        if let Draw::Indirect { address, count, stride, count_address, indexed, .. } = &mut draw
            && let Some(at) = count_address.take()
        {
            (*address, *stride) =
                condition::counted(self, *address, at, *count, *stride, *indexed)?;
        }
        expand::count_draw(self, state, &draw)?;
        self.awaits_compute = true;
        expand::draw(self, state, draw, expands)
    }

    /// Makes the vertex queue wait for programs that left what draws read.
    pub(super) fn await_compute(&mut self) {
        if std::mem::take(&mut self.awaits_compute) {
            let mut waits = Waits::default();
            waits[Queue::VertexTiler as usize] = mask_of(Queue::Compute);
            self.order_queues(waits, Flush::default());
        }
    }
}

impl ExpandingEncoder<Mali> for Encoder {
    fn needs_split(&self, state: &CommandState<Mali>) -> bool {
        let contexts = self.targets.as_ref().and_then(|t| t.contexts);
        contexts.is_some_and(|c| c.provoking_last != state.graphics.provoking_last)
    }

    fn draw(&mut self, state: &mut CommandState<Mali>, draw: &Draw) -> Result<DrawOutcome> {
        self.draw_any(state, draw)
    }

    fn drop_rendering(&mut self) -> bool {
        let is_empty = self.targets.as_ref().is_some_and(|t| t.contexts.is_none());
        if is_empty {
            // Queries that ended in it are available at the end of the next rendering, or of the recording.
            self.targets = None;
            self.expansion.free_memory();
        }
        is_empty
    }

    fn continuation(&self) -> Encoder {
        let mut e = Encoder::new(&self.device);
        e.occlusion = self.occlusion;
        e.usage = self.usage;
        e.expansion = self.expansion.continuation();
        e
    }

    fn read_back(&mut self, address: u64, size: u64) -> Result<*const u8> {
        let to = self.reserve(size, DESCRIPTOR_ALIGN)?;
        self.settle_all();
        copy::buffer(self, address, to.address, size)?;
        Ok(to.host)
    }
}

impl Expander<Mali> for Encoder {
    type Sets = Sets;
    type Memory = ExpandMemory;

    const LANES: u32 = SUBGROUP_SIZE;
    const DRAWS_POLYGONS_WHOLE: bool = true;
    const VERTICES_ARE_EXACT: bool = false;

    fn expansion(&mut self) -> &mut ExpandState<ExpandMemory> {
        &mut self.expansion
    }

    fn expansion_ref(&self) -> &ExpandState<ExpandMemory> {
        &self.expansion
    }

    fn program(&mut self, p: Program) -> Result<Arc<Variant>> {
        self.device.expansion_program(p)
    }

    fn graphics_sets(&mut self, state: &CommandState<Mali>) -> Result<Sets> {
        let sets = state.graphics_sets.clone();
        let mut pushed = [0; MAX_SETS];
        for (to, set) in pushed.iter_mut().zip(&sets.sets) {
            if !set.pushed[0].is_empty() {
                *to = Encoder::upload(self, &set.pushed[0], DESCRIPTOR_ALIGN)?.address;
            }
        }
        Ok(Sets { sets, pushed })
    }

    fn launch_ordered(&mut self, launch: &Launch<'_, Mali>) -> Result<()> {
        let Launch { program, dispatch, words, application } = launch;
        if matches!(dispatch, Dispatch::Direct(_, groups) if groups.contains(&0)) {
            return Ok(());
        }
        if !std::mem::replace(&mut self.is_expanding, true) && self.jobs.is_none() {
            // The memory is that of all command buffers: draws of earlier ones may still read it.
            let counters = self.device.counters();
            self.queues.wait_for_earlier(Queue::Compute, Queue::VertexTiler, counters);
        }
        let mut waits = Waits::default();
        waits[Queue::Compute as usize] = mask_of(Queue::Compute) | mask_of(Queue::VertexTiler);
        self.order_queues(waits, Flush::default());
        let vertex = application.as_ref().and_then(|a| a.vertex);
        let (none, no_push) = (BindPoint::default(), [0; MAX_PUSH]);
        let inputs = match application {
            Some(a) => Inputs { sets: &a.sets.sets, pushed: a.sets.pushed, push: &a.state.push },
            None => Inputs { sets: &none, pushed: [0; MAX_SETS], push: &no_push },
        };
        let attributes = match (application, &vertex) {
            (Some(a), Some(_)) if program.attributes != 0 => {
                let buffers = a.state.vertex_buffers.map(|b| (b.address, b.size));
                let s = &a.state.graphics;
                let table = vertex::table(s, program.attributes, &buffers, FirstInstance::Added)?;
                let at = self.upload_once(Kind::Attributes, &table, DESCRIPTOR_ALIGN)?;
                Some((at, table.len() as u64))
            }
            _ => None,
        };
        let view = self.expansion.view;
        let vertex_state = application.as_ref().map(|a| &a.state.graphics);
        let values = Values { words: *words, vertex, vertex_state, view, ..Values::default() };
        self.dispatch_with(program, &inputs, values, attributes, dispatch, None)?;
        self.awaits_compute = true;
        Ok(())
    }

    fn put_bytes(&mut self, bytes: &[u8], align: u64) -> Result<u64> {
        Ok(Encoder::upload(self, bytes, align)?.address)
    }

    fn gpu_memory(&mut self, bytes: u64) -> Result<u64> {
        Ok(Encoder::reserve(self, bytes.max(16), DESCRIPTOR_ALIGN)?.address)
    }

    fn shared_memory(&mut self, of: SharedUse, bytes: u64) -> Result<ExpandMemory> {
        Ok(ExpandMemory(self.device.expansion_memory(of, bytes)?))
    }

    fn wait_for_all(&mut self) {
        self.settle_all();
        self.awaits_compute = true;
    }

    fn forget_programs(&mut self) {}

    fn draw_view(
        &mut self,
        state: &mut CommandState<Mali>,
        draw: &Draw,
        view: u32,
        words: LaunchWords<'_>,
    ) -> Result<()> {
        self.draw_state(state, draw, view, words, None)
    }
}
