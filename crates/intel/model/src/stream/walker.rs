//! Compute: state of the thread dispatch, constants, interface descriptors, and the walker.

use tepui_intel_eu::REGISTER_BYTES;
use tepui_intel_packets::Packet;
use tepui_intel_packets::media::{
    GpgpuWalker, InterfaceDescriptorData, MediaCurbeLoad, MediaInterfaceDescriptorLoad, SimdSize,
};

use super::{Command, Continuation, Stream};
use crate::dispatch::{self, Dispatch};
use crate::job::{JobFault, Unit};
use crate::order::MemoryUnit;
use crate::registers::{CS_INVOCATIONS, DISPATCH_DIMENSIONS};

const UNIT: Unit = Unit::Dispatch;

/// Bytes of an interface descriptor.
const DESCRIPTOR_BYTES: usize = InterfaceDescriptorData::SIZE_BYTES;

impl Stream<'_> {
    pub(super) fn vfe_state(&mut self, command: &Command) -> Result<Continuation, JobFault> {
        self.context.vfe = Some(command.unpack()?);
        Ok(Continuation::Continue)
    }

    /// Reads constants into the context; later changes of memory have no effect.
    pub(super) fn curbe_load(&mut self, command: &Command) -> Result<Continuation, JobFault> {
        let load: MediaCurbeLoad = command.unpack()?;
        let at = self.context.bases.dynamic + u64::from(load.curbe_data_start_address);
        self.context.constants =
            self.bytes(MemoryUnit::Constants, at, load.curbe_total_data_length)?;
        Ok(Continuation::Continue)
    }

    pub(super) fn interface_descriptor_load(
        &mut self,
        command: &Command,
    ) -> Result<Continuation, JobFault> {
        let load: MediaInterfaceDescriptorLoad = command.unpack()?;
        let at = self.context.bases.dynamic + load.interface_descriptor_data_start_address;
        self.context.descriptors =
            self.bytes(MemoryUnit::State, at, load.interface_descriptor_total_length)?;
        Ok(Continuation::Continue)
    }

    /// Reads `count` bytes; the fields that hold counts have 17 bits.
    fn bytes(&mut self, unit: MemoryUnit, at: u64, count: u32) -> Result<Vec<u8>, JobFault> {
        let mut bytes = vec![0; count as usize];
        self.memory.read_by(unit, at, &mut bytes).map_err(|fault| JobFault::memory(UNIT, fault))?;
        Ok(bytes)
    }

    pub(super) fn walker(&mut self, command: &Command) -> Result<Continuation, JobFault> {
        let walker: GpgpuWalker = command.unpack()?;
        if walker.predicate_enable && !self.context.registers.predicate() {
            return Ok(Continuation::Continue);
        }
        self.begin_dispatch(&walker)?;
        Ok(Continuation::Continue)
    }

    pub(super) fn run_dispatch(&mut self, walker: &GpgpuWalker) -> Result<(), JobFault> {
        let revision = self.context.revision();
        let first = walker.interface_descriptor_offset as usize * DESCRIPTOR_BYTES;
        let Some(bytes) = self.context.descriptors.get(first..first + DESCRIPTOR_BYTES) else {
            return Err(JobFault::new(UNIT, "the walker's interface descriptor was not loaded"));
        };
        let descriptor = InterfaceDescriptorData::unpack_as(bytes, revision)
            .map_err(|problem| JobFault::new(UNIT, problem.to_string()))?;
        let Some(vfe) = self.context.vfe else {
            return Err(JobFault::new(UNIT, "a walker without MEDIA_VFE_STATE"));
        };
        let registers = &self.context.registers;
        let end = match walker.indirect_parameter_enable {
            true => [0, 1, 2].map(|axis| registers.get(DISPATCH_DIMENSIONS + 4 * axis)),
            false => [
                walker.thread_group_id_x_dimension,
                walker.thread_group_id_y_dimension,
                walker.thread_group_id_z_dimension,
            ],
        };
        let constants = match walker.indirect_data_length {
            0 => self.context.constants.clone(),
            length => {
                let at = self.context.bases.indirect + walker.indirect_data_start_address;
                self.bytes(MemoryUnit::Constants, at, length)?
            }
        };
        let cross_thread = descriptor.cross_thread_constant_data_read_length as usize;
        let per_thread = descriptor.constant_urb_entry_read_length as usize;
        let skip = descriptor.constant_urb_entry_read_offset as usize * REGISTER_BYTES;
        let lanes = match walker.simd_size {
            SimdSize::Simd8 => 8,
            SimdSize::Simd16 => 16,
            SimdSize::Simd32 => 32,
        };
        let dispatch = Dispatch {
            bases: self.context.bases,
            descriptor,
            vfe,
            start: [
                walker.thread_group_id_starting_x,
                walker.thread_group_id_starting_y,
                walker.thread_group_id_starting_resume_z,
            ],
            end,
            lanes,
            threads: [
                walker.thread_width_counter_maximum + 1,
                walker.thread_height_counter_maximum + 1,
                walker.thread_depth_counter_maximum + 1,
            ],
            right_mask: walker.right_execution_mask,
            bottom_mask: walker.bottom_execution_mask,
            constants: constants.get(skip..).unwrap_or(&[]).to_vec(),
            cross_thread,
            per_thread,
            indirect: walker.indirect_data_length > 0,
        };
        dispatch::run(self.gpu, self.vm, &dispatch, &mut self.stats)?;
        let count = self.context.registers.get64(CS_INVOCATIONS);
        self.context
            .registers
            .set64(CS_INVOCATIONS, count.wrapping_add(dispatch.invocations()))
            .map_err(|problem| JobFault::new(UNIT, problem.to_string()))
    }
}
