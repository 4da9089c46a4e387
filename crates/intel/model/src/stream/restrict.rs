//! Comparison of the commands of a batch with the restrictions on their order.

use std::ops::Range;

use tepui_intel_packets::Packet;
use tepui_intel_packets::gen12;
use tepui_intel_packets::media::{GpgpuWalker, InterfaceDescriptorData};
use tepui_intel_packets::output::State3dHierDepthBuffer;
use tepui_intel_packets::pixel::{State3dPs, State3dWmHzOp};
use tepui_intel_packets::state::PipelineSelect;
use tepui_intel_packets::vertex::{State3dIndexBuffer, VertexBufferState, VertexElementState};

use super::{Command, Stream};
use crate::context::{Bases, HardwareContext};
use crate::job::JobFault;
use crate::memory::address;
use crate::render::{has_pixel_shader, latched};
use crate::restrictions::{ColourOperation, Draw, INDICES, Restrictions, Stages};

/// Suffixes of the commands of a stage, in the order of [`Stages`].
const STAGES: [&str; 5] = ["VS", "HS", "DS", "GS", "PS"];

/// The stage of a command of one stage.
fn stage(name: &str, command: &str) -> Option<Stages> {
    let suffix = name.strip_prefix(command)?.strip_prefix('_')?;
    STAGES.iter().position(|stage| *stage == suffix).map(|index| 1 << index)
}

/// A bit of the last command of a kind.
fn latched_bit(context: &HardwareContext, name: &str, bit: usize) -> bool {
    let word = context.latched.get(name).and_then(|bytes| bytes.get(bit / 32 * 4..));
    word.and_then(|bytes| bytes.first_chunk::<4>())
        .is_some_and(|word| u32::from_le_bytes(*word) >> (bit % 32) & 1 != 0)
}

impl Stream<'_> {
    /// Compares a command that is about to be executed with the restrictions.
    pub(super) fn restrict(
        &self,
        restrictions: &mut Restrictions,
        command: &Command,
    ) -> Result<(), JobFault> {
        let context = &*self.context;
        let name = command.info.name;
        if name == "PIPE_CONTROL" {
            restrictions.pipe_control(&command.unpack()?);
            return Ok(());
        }
        // A jump to the rest of the batch is no command between two.
        if name != "MI_BATCH_BUFFER_START" {
            restrictions.other();
        }
        if let Some(stage) = stage(name, "3DSTATE_CONSTANT") {
            // The read lengths of the four buffers have 16 bits each.
            let [first, second] = [1, 2].map(|n| command.dword(n));
            let lengths = [first & 0xffff, first >> 16, second & 0xffff, second >> 16];
            restrictions.constants(stage, lengths);
        } else if let Some(stage) = stage(name, "3DSTATE_BINDING_TABLE_POINTERS") {
            restrictions.binding_table_pointers(stage);
        } else if let Some(stage) = stage(name, "3DSTATE_PUSH_CONSTANT_ALLOC") {
            restrictions.push_constant_alloc(stage);
        }
        match name {
            "PIPELINE_SELECT" => {
                let select: PipelineSelect = command.unpack()?;
                if select.mask_bits & 3 == 3 {
                    let valid = latched_bit(context, "3DSTATE_CC_STATE_POINTERS", 32);
                    restrictions.pipeline_select(select.pipeline_selection, valid);
                }
            }
            "STATE_BASE_ADDRESS" => self.restrict_bases(restrictions, command)?,
            "MEDIA_VFE_STATE" => restrictions.vfe_state(),
            "MEDIA_CURBE_LOAD" => restrictions.curbe_load(),
            "GPGPU_WALKER" => {
                let walker: GpgpuWalker = command.unpack()?;
                if !walker.predicate_enable || context.registers.predicate() {
                    restrictions.walker(has_constants(context, &walker));
                }
            }
            "3DSTATE_CONSTANT_ALL" => {
                let all: gen12::State3dConstantAll = command.unpack()?;
                let stages = [
                    all.vertex_shader_update_enable,
                    all.hull_shader_update_enable,
                    all.domain_shader_update_enable,
                    all.geometry_shader_update_enable,
                    all.pixel_shader_update_enable,
                ];
                // Mesa only turns constants off so.
                restrictions.constants(set(stages), [0; 4]);
            }
            "3DSTATE_HS" => restrictions.hull(),
            "3DSTATE_DEPTH_BUFFER" | "3DSTATE_STENCIL_BUFFER" | "3DSTATE_HIER_DEPTH_BUFFER"
                if context.latched.get(name).is_none_or(|last| *last != command.bytes) =>
            {
                restrictions.depth_buffers();
            }
            "3DSTATE_WM_HZ_OP" => {
                let operation: State3dWmHzOp = command.unpack()?;
                let clears = operation.depth_buffer_clear_enable;
                let any = clears
                    || operation.stencil_buffer_clear_enable
                    || operation.depth_buffer_resolve_enable
                    || operation.hierarchical_depth_buffer_resolve_enable;
                let hiz: State3dHierDepthBuffer = latched(context).unwrap_or_default();
                let through = hiz.hierarchical_depth_buffer_write_thru_enable;
                restrictions.depth_operation(any, clears, through);
            }
            "3DPRIMITIVE" | "3DPRIMITIVE_EXTENDED" => {
                let predicated = command.dword(0) >> 8 & 1 != 0;
                if !predicated || context.registers.predicate() {
                    restrictions.draw(restricted_draw(context, command));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn restrict_bases(
        &self,
        restrictions: &mut Restrictions,
        command: &Command,
    ) -> Result<(), JobFault> {
        let before = &self.context.bases;
        let mut after = *before;
        after.set(&self.bases_of(command)?);
        let of_state = |b: &Bases| (b.surface, b.dynamic, b.bindless_surface);
        let others = |b: &Bases| (b.general, b.instruction);
        let of_state = of_state(before) != of_state(&after);
        let others = others(before) != others(&after);
        if of_state || others {
            restrictions.base_address(of_state);
        }
        Ok(())
    }
}

fn set(stages: [bool; 5]) -> Stages {
    stages.into_iter().enumerate().fold(0, |all, (index, set)| all | Stages::from(set) << index)
}

/// Whether the threads of a walker get constants of MEDIA_CURBE_LOAD.
fn has_constants(context: &HardwareContext, walker: &GpgpuWalker) -> bool {
    let size = InterfaceDescriptorData::SIZE_BYTES;
    let first = walker.interface_descriptor_offset as usize * size;
    let bytes = context.descriptors.get(first..first + size);
    let descriptor =
        bytes.and_then(|b| InterfaceDescriptorData::unpack_as(b, context.revision()).ok());
    walker.indirect_data_length == 0
        && descriptor.is_some_and(|d| {
            d.cross_thread_constant_data_read_length > 0 || d.constant_urb_entry_read_length > 0
        })
}

fn restricted_draw(context: &HardwareContext, command: &Command) -> Draw {
    let ps: State3dPs = latched(context).unwrap_or_default();
    let pixels = has_pixel_shader(&ps, &latched(context).unwrap_or_default());
    let enabled = |name, bit| latched_bit(context, name, bit);
    let active = set([
        enabled("3DSTATE_VS", 7 * 32),
        enabled("3DSTATE_HS", 2 * 32 + 31),
        enabled("3DSTATE_DS", 7 * 32),
        enabled("3DSTATE_GS", 7 * 32),
        pixels,
    ]);
    let colours = match (ps.render_target_fast_clear_enable, ps.render_target_resolve_type) {
        (true, 0) => ColourOperation::Clear,
        (false, 0) => ColourOperation::Render,
        _ => ColourOperation::Resolve,
    };
    Draw { active, colours, fetched: fetched(context, command) }
}

/// The memory that a draw may fetch vertices and indices from.
fn fetched(context: &HardwareContext, command: &Command) -> Vec<(u32, Range<u64>)> {
    let mut all = Vec::new();
    let elements = context.latched.get("3DSTATE_VERTEX_ELEMENTS");
    let elements = elements.and_then(|bytes| bytes.get(4..)).unwrap_or(&[]);
    for bytes in elements.as_chunks::<8>().0 {
        let Ok(element) = VertexElementState::unpack_as(bytes, context.revision()) else {
            continue;
        };
        let index = element.vertex_buffer_index;
        let Some(bytes) = context.vertex_buffers.get(&index).filter(|_| element.valid) else {
            continue;
        };
        let Ok(buffer) = VertexBufferState::unpack_as(bytes, context.revision()) else { continue };
        if !buffer.null_vertex_buffer && buffer.buffer_size > 0 {
            let start = address(buffer.buffer_starting_address);
            all.push((index, start..start + u64::from(buffer.buffer_size)));
        }
    }
    // "Vertex Access Type": random.
    if command.dword(1) >> 8 & 1 != 0
        && context.latched.contains_key(State3dIndexBuffer::INFO.name)
        && let Ok(indices) = latched::<State3dIndexBuffer>(context)
    {
        let start = address(indices.buffer_starting_address);
        all.push((INDICES, start..start + u64::from(indices.buffer_size)));
    }
    all
}
