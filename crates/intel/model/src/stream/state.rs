//! Commands that set state for all pipelines, and PIPE_CONTROL.

use tepui_intel_chips::Generation;
use tepui_intel_packets::gen12;
use tepui_intel_packets::state::{
    PipeControl, PipelineSelect, PostSyncOperation, StateBaseAddress,
};

use super::{Command, Continuation, Stream, UNIT};
use crate::job::JobFault;
use crate::order::MemoryUnit;
use crate::registers;

impl Stream<'_> {
    /// Base addresses, each of which is set only if its enable bit is.
    pub(super) fn state_base_address(
        &mut self,
        command: &Command,
    ) -> Result<Continuation, JobFault> {
        self.context.bases.set(&self.bases_of(command)?);
        Ok(Continuation::Continue)
    }

    /// STATE_BASE_ADDRESS, whose form depends on the generation.
    pub(super) fn bases_of(&self, command: &Command) -> Result<StateBaseAddress, JobFault> {
        // Gen12 adds the base of bindless samplers, which no message here uses.
        match self.context.generation {
            Generation::Gen9 => command.unpack(),
            Generation::Gen12 => Ok(command.unpack::<gen12::StateBaseAddress>()?.into()),
        }
    }

    /// The pipeline, which is set only if the mask has its bits.
    pub(super) fn pipeline_select(&mut self, command: &Command) -> Result<Continuation, JobFault> {
        let select: PipelineSelect = command.unpack()?;
        if select.mask_bits & 3 == 3 {
            self.context.pipeline = select.pipeline_selection;
        }
        Ok(Continuation::Continue)
    }

    /// PIPE_CONTROL: earlier commands are complete, and there are no caches, so only the post-sync write
    /// remains.
    pub(super) fn pipe_control(&mut self, command: &Command) -> Result<Continuation, JobFault> {
        let control: PipeControl = command.unpack()?;
        if control.tlb_invalidate {
            self.map_tiled_resources()?;
        }
        if let Some(order) = &self.gpu.order {
            order.pipe_control(&control);
        }
        self.relaxed_events(&control)?;
        if control.post_sync_operation == PostSyncOperation::NoWrite {
            return Ok(Continuation::Continue);
        }
        if control.destination_address_type || control.store_data_index {
            return Err(JobFault::new(UNIT, "PIPE_CONTROL writes to the global address space"));
        }
        if control.lri_post_sync_operation {
            return Err(JobFault::unimplemented(UNIT, "PIPE_CONTROL that sets a register"));
        }
        self.begin_write(control)?;
        Ok(Continuation::Continue)
    }

    /// The write of a PIPE_CONTROL at the end of the pipeline.
    pub(super) fn run_write(&mut self, control: &PipeControl) -> Result<(), JobFault> {
        let value = match control.post_sync_operation {
            PostSyncOperation::NoWrite => return Ok(()),
            PostSyncOperation::WriteImmediateData => control.immediate_data,
            PostSyncOperation::WriteTimestamp => self.gpu.timestamp(),
            PostSyncOperation::WritePsDepthCount => {
                self.context.registers.get64(registers::PS_DEPTH)
            }
        };
        self.memory.set_unit(MemoryUnit::PostSync);
        let written = self.memory.write(control.address, &value.to_le_bytes());
        self.memory.set_unit(MemoryUnit::CommandStreamer);
        written.map_err(|fault| JobFault::memory(UNIT, fault))
    }
}
