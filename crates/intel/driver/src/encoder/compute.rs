//! Dispatches.
//!
//! The constants of a dispatch are one block: registers that all threads share, then a register of each thread
//! ([`tepui_intel_compiler::BindMap`]).

use std::sync::Arc;

use tepui_intel_compiler::mir::GRF_DWORDS;
use tepui_intel_packets::Packet;
use tepui_intel_packets::media::{
    GpgpuWalker, InterfaceDescriptorData, MediaCurbeLoad, MediaInterfaceDescriptorLoad,
    MediaStateFlush, MediaVfeState, SharedLocalMemorySize, SimdSize,
};
use tepui_intel_packets::mi::{MiCopyMemMem, MiLoadRegisterMem};
use tepui_sysval::SystemValue;
use tepui_vulkan::Result;
use tepui_vulkan::backend::{Condition, Dispatch};
use tepui_vulkan::command::{BindPoint, MAX_PUSH};

use super::Encoder;
use super::bindings::Inputs;
use super::hardware::compute_threads;
use super::state::{Partition, PushedSets};
use crate::bind::Word;
use crate::flush::{Flush, Mode};
use crate::packets::packet;
use crate::space;
use crate::variant::Variant;

/// Bytes of a register.
const REGISTER_B: usize = 4 * GRF_DWORDS as usize;
/// Bytes that constants are allocated in. source: genxml, MEDIA_CURBE_LOAD; two registers
const CURBE_UNIT_B: usize = 2 * REGISTER_B;
/// First of the three registers with the workgroups of an indirect dispatch. source: genxml, GPGPU_DISPATCHDIMX
const DISPATCH_DIMENSIONS: u64 = 0x2500;

/// The encoding of bytes of workgroup memory.
fn local_memory(bytes: u32) -> SharedLocalMemorySize {
    use SharedLocalMemorySize as Size;
    match bytes {
        0 => Size::Encodes0k,
        1..=1024 => Size::Encodes1k,
        1025..=2048 => Size::Encodes2k,
        2049..=4096 => Size::Encodes4k,
        4097..=8192 => Size::Encodes8k,
        8193..=16384 => Size::Encodes16k,
        16385..=32768 => Size::Encodes32k,
        _ => Size::Encodes64k,
    }
}

impl Encoder {
    /// Dispatches a program.
    ///
    /// # Errors
    /// When there is no memory.
    pub(super) fn dispatch_program(
        &mut self,
        v: &Arc<Variant>,
        (sets, pushed): (&BindPoint, &PushedSets),
        push: &[u8; MAX_PUSH],
        dispatch: &Dispatch,
        condition: Option<Condition>,
    ) -> Result<()> {
        let groups = match *dispatch {
            Dispatch::Direct(_, groups) if groups.contains(&0) => return Ok(()),
            Dispatch::Direct(base, groups) => [base, groups],
            Dispatch::Indirect(base, _) => [base, [0; 3]],
        };
        let inputs = Inputs {
            sets,
            pushed,
            push,
            groups,
            targets: &[],
            nothing: 0,
            view: 0,
            patch_vertices: 0,
        };
        let mut tables = std::mem::take(&mut self.compute_tables);
        self.binding_table(v, &inputs, &mut tables)?;
        self.sampler_table(v, &inputs, &mut tables)?;
        let (table, samplers) = (tables.table, tables.sampler_table);
        self.compute_tables = tables;
        let partition = match v.shared_bytes {
            0 => Partition::Plain,
            _ => Partition::Shared,
        };
        self.prepare(Mode::Compute, partition)?;
        let constants = self.constants(v, &inputs, dispatch)?;
        self.thread_state(v, constants)?;
        let threads = v.threads();
        let descriptor = InterfaceDescriptorData {
            kernel_start_pointer: v.code.address - space::CODE,
            sampler_count: (v.places.samplers.len() as u32).min(16).div_ceil(4),
            sampler_state_pointer: samplers.into(),
            binding_table_pointer: table.into(),
            binding_table_entry_count: (v.places.entries.len() as u32).min(30),
            constant_urb_entry_read_length: u32::from(v.thread_constants),
            cross_thread_constant_data_read_length: v.shared_registers(),
            number_of_threads_in_gpgpu_thread_group: threads,
            shared_local_memory_size: local_memory(v.shared_bytes),
            barrier_enable: v.has_barrier,
            ..InterfaceDescriptorData::default()
        };
        let mut bytes = [0; InterfaceDescriptorData::SIZE_BYTES];
        descriptor.pack_into_as(&mut bytes, self.revision).map_err(packet)?;
        let at = self.upload_state(&bytes, 64)?;
        self.emit(&MediaInterfaceDescriptorLoad {
            interface_descriptor_total_length: InterfaceDescriptorData::SIZE_BYTES as u32,
            interface_descriptor_data_start_address: at.address - space::DYNAMIC,
        })?;
        if let Some((address, size)) = constants {
            self.emit(&MediaCurbeLoad {
                curbe_total_data_length: size as u32,
                curbe_data_start_address: (address - space::DYNAMIC) as u32,
            })?;
        }
        let is_predicated = self.predicate(condition)?;
        self.walk(v, dispatch, threads, is_predicated)?;
        self.emit(&MediaStateFlush::default())?;
        self.keep(v);
        Ok(())
    }

    /// The block of a program's constants: address and bytes; none if it has none.
    fn constants(
        &mut self,
        v: &Variant,
        inputs: &Inputs<'_>,
        dispatch: &Dispatch,
    ) -> Result<Option<(u64, usize)>> {
        let shared = REGISTER_B * v.shared_registers() as usize;
        let own = if v.thread_constants { REGISTER_B * v.threads() as usize } else { 0 };
        let size = (shared + own).next_multiple_of(CURBE_UNIT_B);
        if size == 0 {
            return Ok(None);
        }
        let mut block = vec![0; size];
        let words = block.as_chunks_mut::<4>().0;
        for (to, &w) in words.iter_mut().zip(&v.places.words) {
            *to = inputs.word(v, w).to_le_bytes();
        }
        if v.thread_constants {
            let first = shared / 4;
            for thread in 0..v.threads() {
                let at = first + usize::from(GRF_DWORDS) * thread as usize;
                words[at] = thread.to_le_bytes();
            }
        }
        let at = self.upload_state(&block, 64)?;
        if let Dispatch::Indirect(_, address) = *dispatch {
            for (word, &w) in (0u64..).zip(&v.places.words) {
                if let Word::System(SystemValue::NumWorkgroups { axis }) = w {
                    self.emit(&MiCopyMemMem {
                        source_memory_address: address + 4 * u64::from(axis),
                        destination_memory_address: at.address + 4 * word,
                        ..MiCopyMemMem::default()
                    })?;
                    // What the command streamer wrote is there when the constants are loaded.
                    self.hardware.pending |= Flush::STALL;
                }
            }
            self.flush()?;
        }
        Ok(Some((at.address, size)))
    }

    /// Scratch memory, room for constants, and the number of threads.
    fn thread_state(&mut self, v: &Variant, constants: Option<(u64, usize)>) -> Result<()> {
        let scratch = self.device.scratch(tepui_ir::Stage::Compute, v.scratch)?;
        let (address, log2) = scratch.as_ref().map_or((0, 0), |s| (s.memory.address, s.log2_kib));
        let vfe = MediaVfeState {
            per_thread_scratch_space: log2,
            scratch_space_base_pointer: address,
            maximum_number_of_threads: compute_threads(self.device.chip()) - 1,
            number_of_urb_entries: 2,
            urb_entry_allocation_size: 2,
            curbe_allocation_size: constants.map_or(0, |(_, size)| size / REGISTER_B) as u32,
            reset_gateway_timer: self.device.generation() == tepui_intel_chips::Generation::Gen9,
            ..MediaVfeState::default()
        };
        self.scratch.extend(scratch);
        let mut bytes = [0; MediaVfeState::SIZE_BYTES];
        vfe.pack_into_as(&mut bytes, self.revision).map_err(packet)?;
        if self.hardware.vfe == Some(bytes) {
            return Ok(());
        }
        self.hardware.vfe = Some(bytes);
        // source: SKL PRM volume 2a, MEDIA_VFE_STATE: a stalling PIPE_CONTROL comes before it
        self.hardware.pending |= Flush::STALL;
        self.flush()?;
        self.emit_bytes(&bytes)
    }

    fn walk(
        &mut self,
        v: &Variant,
        dispatch: &Dispatch,
        threads: u32,
        predicate_enable: bool,
    ) -> Result<()> {
        let invocations: u32 = v.workgroup.iter().product();
        let last = invocations - (threads - 1) * u32::from(v.width);
        let mut walker = GpgpuWalker {
            predicate_enable,
            thread_width_counter_maximum: threads - 1,
            simd_size: match v.width {
                8 => SimdSize::Simd8,
                16 => SimdSize::Simd16,
                _ => SimdSize::Simd32,
            },
            right_execution_mask: u32::MAX >> (32 - last),
            bottom_execution_mask: u32::MAX,
            ..GpgpuWalker::default()
        };
        match *dispatch {
            // The base is a constant, and ids begin at zero.
            Dispatch::Direct(_, [x, y, z]) => {
                walker.thread_group_id_x_dimension = x;
                walker.thread_group_id_y_dimension = y;
                walker.thread_group_id_z_dimension = z;
            }
            Dispatch::Indirect(_, address) => {
                for k in 0..3 {
                    self.emit(&MiLoadRegisterMem {
                        register_address: DISPATCH_DIMENSIONS + 4 * k,
                        memory_address: address + 4 * k,
                        ..MiLoadRegisterMem::default()
                    })?;
                }
                walker.indirect_parameter_enable = true;
            }
        }
        self.emit(&walker)
    }
}
