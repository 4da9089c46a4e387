//! Dispatches: RUN_COMPUTE reads its state from registers.
//!
//! source: Mesa, panvk_vX_cmd_dispatch.c (`cmd_dispatch`)

use tepui_mali_packets::Packet;
use tepui_mali_packets::cs::CsCondition;
use tepui_mali_packets::shader::ComputeSizeWorkgroup;
use tepui_vulkan::Result;
use tepui_vulkan::backend::{Condition, Dispatch};

use crate::encoder::Encoder;
use crate::encoder::compute::Launch;
use crate::kernel::Queue;
use crate::packed::packet;
use crate::stream::SCRATCH;

/// Registers of RUN_COMPUTE.
mod registers {
    pub const RESOURCES: u8 = 0;
    pub const FAU: u8 = 8;
    pub const PROGRAM: u8 = 16;
    pub const THREADS: u8 = 24;
    pub const ATTRIBUTE_OFFSET: u8 = 32;
    pub const WORKGROUP: u8 = 33;
    pub const OFFSET: u8 = 34;
    pub const COUNTS: u8 = 37;
}

impl Encoder {
    /// Dispatches by the compute queue.
    ///
    /// # Errors
    /// When a value does not fit.
    pub(in crate::encoder) fn dispatch_in_stream(
        &mut self,
        launch: &Launch,
        dispatch: &Dispatch,
        condition: Option<Condition>,
    ) -> Result<()> {
        let workgroup = ComputeSizeWorkgroup {
            workgroup_size_x: launch.workgroup[0],
            workgroup_size_y: launch.workgroup[1],
            workgroup_size_z: launch.workgroup[2],
            allow_merging_workgroups: false,
        };
        let mut size = [0; ComputeSizeWorkgroup::SIZE_BYTES];
        workgroup.pack_into(&mut size).map_err(packet)?;
        let size = size.first_chunk().map_or(0, |b| u32::from_le_bytes(*b));
        self.store_uniforms(Queue::Compute, &launch.uniforms);
        let stream = self.queues.stream(Queue::Compute);
        stream.move64(registers::RESOURCES, launch.resources);
        stream.move64(registers::FAU, launch.uniforms.pointer);
        stream.move64(registers::PROGRAM, launch.program);
        stream.move64(registers::THREADS, launch.storage);
        stream.move32(registers::ATTRIBUTE_OFFSET, 0);
        stream.move32(registers::WORKGROUP, size);
        // Programs add the base of a dispatch themselves.
        for k in 0..3 {
            stream.move32(registers::OFFSET + k, 0);
        }
        match *dispatch {
            Dispatch::Direct(_, counts) => {
                for (k, count) in (0u8..).zip(counts) {
                    stream.move32(registers::COUNTS + k, count);
                }
            }
            Dispatch::Indirect(_, address) => {
                stream.move64(SCRATCH, address);
                stream.load(registers::COUNTS, 3, SCRATCH, 0);
            }
        }
        stream.settle();
        let stream = self.queues.next_job(Queue::Compute);
        let skip = condition.map(|c| {
            stream.move64(SCRATCH, c.address);
            stream.load(SCRATCH + 2, 1, SCRATCH, 0);
            let skips = if c.inverted { CsCondition::Nequal } else { CsCondition::Equal };
            stream.skip_if(skips, SCRATCH + 2)
        });
        stream.run_compute(launch.axis, launch.increment);
        if let Some(skip) = skip {
            stream.land(skip);
        }
        Ok(())
    }
}
