//! The state of a context, which commands set and later commands use.

use std::collections::HashMap;

use tepui_intel_chips::Generation;
use tepui_intel_packets::Revision;
use tepui_intel_packets::media::MediaVfeState;
use tepui_intel_packets::state::{Pipeline, StateBaseAddress};

use crate::memory::address;
use crate::registers::Registers;

/// Base addresses, as 48-bit addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bases {
    /// Base of stateless messages and scratch memory.
    pub general: u64,
    /// Base of the surface states that binding tables name, and of binding tables without a pool.
    pub surface: u64,
    /// Base of binding tables, if they have one of their own (Gen12).
    pub table_pool: Option<u64>,
    /// Whether pointers to binding tables leave out three bits more: the format 18:8 of GT_MODE (Gen12).
    pub wide_tables: bool,
    /// Base of samplers, constants, interface descriptors, blend states and viewports.
    pub dynamic: u64,
    /// Base of indirect data of walkers.
    pub indirect: u64,
    /// Base of kernels.
    pub instruction: u64,
    /// Base of surface states that messages name without a binding table.
    pub bindless_surface: u64,
    /// Number of bindless surface states, minus one.
    pub bindless_surface_count: u32,
    /// Base of the table that maps surfaces to their CCS (Gen12); 0 if there is none.
    pub auxiliary_table: u64,
}

impl Bases {
    /// Sets those that a command changes: each has an enable bit.
    pub(crate) fn set(&mut self, set: &StateBaseAddress) {
        let put = |enable: bool, base: &mut u64, value: u64| {
            if enable {
                *base = address(value);
            }
        };
        put(
            set.general_state_base_address_modify_enable,
            &mut self.general,
            set.general_state_base_address,
        );
        put(
            set.surface_state_base_address_modify_enable,
            &mut self.surface,
            set.surface_state_base_address,
        );
        put(
            set.dynamic_state_base_address_modify_enable,
            &mut self.dynamic,
            set.dynamic_state_base_address,
        );
        put(
            set.indirect_object_base_address_modify_enable,
            &mut self.indirect,
            set.indirect_object_base_address,
        );
        put(
            set.instruction_base_address_modify_enable,
            &mut self.instruction,
            set.instruction_base_address,
        );
        if set.bindless_surface_state_base_address_modify_enable {
            self.bindless_surface = address(set.bindless_surface_state_base_address);
            self.bindless_surface_count = set.bindless_surface_state_size;
        }
    }

    /// The address of a binding table by its pointer in a command or descriptor.
    #[must_use]
    pub fn table(&self, pointer: u64) -> u64 {
        let base = self.table_pool.unwrap_or(self.surface);
        base.wrapping_add(if self.wide_tables { pointer << 3 } else { pointer })
    }
}

/// The state of a context. A context that has executed nothing is all zero.
#[derive(Clone, Debug)]
pub struct HardwareContext {
    /// The generation of the GPU, which determines the meaning of commands and states.
    pub generation: Generation,
    /// Registers.
    pub registers: Registers,
    /// Base addresses.
    pub bases: Bases,
    /// The pipeline that was selected.
    pub pipeline: Pipeline,
    /// The last MEDIA_VFE_STATE.
    pub vfe: Option<MediaVfeState>,
    /// Constants of the last MEDIA_CURBE_LOAD.
    pub constants: Vec<u8>,
    /// Descriptors of the last MEDIA_INTERFACE_DESCRIPTOR_LOAD.
    pub descriptors: Vec<u8>,
    /// The vertex buffers by their index: VERTEX_BUFFER_STATE.
    pub vertex_buffers: HashMap<u32, [u8; 16]>,
    /// Instance step rates by the vertex element's index; elements that advance per vertex are not in it.
    pub instancing: HashMap<u32, u32>,
    /// The buffers of stream output by their index: 3DSTATE_SO_BUFFER.
    pub stream_buffers: HashMap<u32, Vec<u8>>,
    /// The last command of each kind that sets 3D pipeline state, by its name.
    pub latched: HashMap<&'static str, Vec<u8>>,
}

impl HardwareContext {
    /// The state of a context of a GPU that has executed nothing.
    pub fn new(generation: Generation) -> HardwareContext {
        HardwareContext {
            generation,
            registers: Registers::default(),
            bases: Bases::default(),
            pipeline: Pipeline::default(),
            vfe: None,
            constants: Vec::new(),
            descriptors: Vec::new(),
            vertex_buffers: HashMap::new(),
            instancing: HashMap::new(),
            stream_buffers: HashMap::new(),
            latched: HashMap::new(),
        }
    }

    /// The revision of packets.
    pub(crate) fn revision(&self) -> Revision {
        tepui_intel_packets::revision(self.generation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_in_a_pool_or_with_surface_states() {
        let mut bases = Bases { surface: 0x1_0000_0000, ..Bases::default() };
        assert_eq!(bases.table(0x40), 0x1_0000_0040);
        bases.table_pool = Some(0x1_3f78_0000);
        assert_eq!(bases.table(0x40), 0x1_3f78_0040);
        bases.wide_tables = true;
        assert_eq!(bases.table(0x40), 0x1_3f78_0200);
    }
}
