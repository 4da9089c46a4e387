//! Replays the batches of a capture on the model.

use tepui_capture::{Model, Start};
use tepui_intel_kernel::chips::{PAGE_SHIFT, VA_BITS};
use tepui_intel_model::{Batch, Gpu, HardwareContext, JobFault, JobStats};
use tepui_softgpu::AddressSpace;

use crate::payload::Payload;

/// The model of Intel's GPUs, for captures.
pub struct Intel(Gpu);

/// A picture of a render target; none are read yet.
pub type Attachment = std::convert::Infallible;

/// Executes batches of a capture on the model.
pub type Replayer = tepui_capture::Replayer<Intel>;
/// The result of a replayed batch.
pub type Replayed = tepui_capture::Replayed<JobStats, JobFault, Attachment>;
/// Why a batch cannot be executed again.
pub type Unplayable = tepui_capture::Unplayable<JobFault>;

/// Executes batches of a capture on this model.
pub fn replayer(gpu: Gpu) -> Replayer {
    Replayer::new(Intel(gpu))
}

impl Model for Intel {
    type Work = Batch;
    type Context = HardwareContext;
    type Stats = JobStats;
    type Fault = JobFault;
    type Attachment = Attachment;

    const PAGE_SHIFT: u32 = PAGE_SHIFT;
    const VA_BITS: u32 = VA_BITS;

    fn work(&self, start: &Start) -> Result<Batch, &'static str> {
        let payload =
            Payload::read(&start.payload).ok_or("the capture does not say where it is")?;
        Ok(payload.batch())
    }

    fn context(&self) -> HardwareContext {
        self.0.context()
    }

    fn run(
        &self,
        vm: &AddressSpace,
        context: &mut HardwareContext,
        batch: &Batch,
    ) -> Result<JobStats, JobFault> {
        self.0.execute(vm, context, batch)
    }

    fn attachments(
        &self,
        _: &AddressSpace,
        _: &HardwareContext,
        _: &Batch,
    ) -> Result<Vec<Attachment>, JobFault> {
        Ok(Vec::new())
    }
}
