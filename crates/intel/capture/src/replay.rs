//! Replays the batches of a capture on the model.

use tepui_capture::{Model, Start};
use tepui_intel_decode::{Decoder, Options, State};
use tepui_intel_kernel::chips::{PAGE_SHIFT, VA_BITS};
use tepui_intel_model::{Batch, Gpu, HardwareContext, JobFault, JobStats, Picture};
use tepui_softgpu::AddressSpace;

use crate::payload::Payload;

/// The model of Intel's GPUs, for captures.
pub struct Intel(Gpu);

/// Executes batches of a capture on the model.
pub type Replayer = tepui_capture::Replayer<Intel>;
/// The result of a replayed batch.
pub type Replayed = tepui_capture::Replayed<JobStats, JobFault, Picture>;
/// The error of a replay of a batch.
pub type Unplayable = tepui_capture::Unplayable<JobFault>;

impl Intel {
    /// The GPU.
    pub fn gpu(&self) -> &Gpu {
        &self.0
    }
}

/// A replayer that executes batches on this model.
pub fn replayer(gpu: Gpu) -> Replayer {
    Replayer::new(Intel(gpu))
}

impl Model for Intel {
    type Work = Batch;
    type Context = HardwareContext;
    type Stats = JobStats;
    type Fault = JobFault;
    type Attachment = Picture;

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

    /// The render targets that the batch rendered to, in the order of their first draw.
    fn attachments(
        &self,
        vm: &AddressSpace,
        context: &HardwareContext,
        _after: &HardwareContext,
        batch: &Batch,
    ) -> Result<Vec<Picture>, JobFault> {
        let mut state = State {
            surface_base: context.bases.surface,
            dynamic_base: context.bases.dynamic,
            instruction_base: context.bases.instruction,
            ..State::default()
        };
        let generation = context.generation;
        let options = Options { generation, ..Options::default() };
        let mut decoder = Decoder::new(vm, options, &mut state);
        for name in ["3DSTATE_PS", "3DSTATE_BINDING_TABLE_POINTERS_PS"] {
            if let Some(command) = context.latched.get(name) {
                decoder.recall(command);
            }
        }
        decoder.batch(batch.address, batch.length);
        let drawn = decoder.drawn().iter();
        let pictures = drawn.map(|&surface| Picture::read(vm, generation, surface));
        pictures.filter_map(Result::transpose).collect()
    }
}
