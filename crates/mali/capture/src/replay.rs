//! Replays the runs of a capture on the model.

use tepui_capture::{Model, Start};
use tepui_mali_model::limits::{ADDRESS_BITS, CS_SLOTS, PAGE_SHIFT};
use tepui_mali_model::{Gpu, Group, JobFault, JobStats, Picture, Stream, Unit};
use tepui_softgpu::AddressSpace;

use crate::payload::Run;

/// The model of Mali GPUs, for captures.
pub struct Mali(Gpu);

/// Executes runs of a capture on the model.
pub type Replayer = tepui_capture::Replayer<Mali>;
/// The result of a replayed run.
pub type Replayed = tepui_capture::Replayed<JobStats, JobFault, Picture>;
/// Why a run cannot be executed again.
pub type Unplayable = tepui_capture::Unplayable<JobFault>;

/// Executes runs of a capture on this model.
pub fn replayer(gpu: Gpu) -> Replayer {
    Replayer::new(Mali(gpu))
}

impl Model for Mali {
    type Work = Run;
    type Context = Group;
    type Stats = JobStats;
    type Fault = JobFault;
    type Attachment = Picture;

    const PAGE_SHIFT: u32 = PAGE_SHIFT;
    const VA_BITS: u32 = ADDRESS_BITS;

    fn work(&self, start: &Start) -> Result<Run, &'static str> {
        Ok(Run::read(&start.payload))
    }

    fn context(&self) -> Group {
        self.0.group(CS_SLOTS as usize)
    }

    fn run(&self, vm: &AddressSpace, group: &mut Group, run: &Run) -> Result<JobStats, JobFault> {
        for stream in &run.streams {
            let queue = stream.queue as usize;
            let stream = Stream { address: stream.address, size: stream.size };
            let started = group.start(queue, stream);
            started.map_err(|error| JobFault::new(Unit::CommandStream, error.to_string()))?;
        }
        let mut all = JobStats::default();
        for completion in self.0.run(vm, group) {
            all += completion.outcome?;
        }
        Ok(all)
    }

    /// The attachments of the framebuffers that the run drew, in the order of its RUN_FRAGMENTs.
    fn attachments(
        &self,
        vm: &AddressSpace,
        _before: &Group,
        after: &Group,
        _run: &Run,
    ) -> Result<Vec<Picture>, JobFault> {
        let mut all = Vec::new();
        for frame in after.frames() {
            all.extend(Picture::of_framebuffer(vm, *frame)?);
        }
        Ok(all)
    }
}
