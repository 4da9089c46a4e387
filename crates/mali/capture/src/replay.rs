//! Replays the runs of a capture on the model.

use tepui_capture::{Model, Start};
use tepui_mali_model::limits::{ADDRESS_BITS, CS_SLOTS, PAGE_SHIFT};
use tepui_mali_model::{Gpu, Group, JobContext, JobFault, JobStats, Picture, Report, Stream, Unit};
use tepui_softgpu::AddressSpace;

use crate::payload::Run;

/// The model of Mali GPUs, for captures.
pub struct Mali(Gpu);

/// State that the GPU keeps between runs.
#[derive(Clone)]
pub enum Context {
    /// Queues of command streams.
    Group(Box<Group>),
    /// State that a chain of jobs leaves for the next one.
    Chains(JobContext),
}

/// The results of a run.
#[derive(Clone, Debug, Default)]
pub struct RunStats {
    /// Counts of what was executed.
    pub counts: JobStats,
    /// Reports of the model's checker.
    pub reports: Vec<Report>,
}

/// Executes runs of a capture on the model.
pub type Replayer = tepui_capture::Replayer<Mali>;
/// The result of a replayed run.
pub type Replayed = tepui_capture::Replayed<RunStats, JobFault, Picture>;
/// The error of a replay of a run.
pub type Unplayable = tepui_capture::Unplayable<JobFault>;

impl Mali {
    /// The GPU.
    pub fn gpu(&self) -> &Gpu {
        &self.0
    }
}

/// A replayer that executes runs on this model.
pub fn replayer(gpu: Gpu) -> Replayer {
    Replayer::new(Mali(gpu))
}

impl Model for Mali {
    type Work = Run;
    type Context = Context;
    type Stats = RunStats;
    type Fault = JobFault;
    type Attachment = Picture;

    const PAGE_SHIFT: u32 = PAGE_SHIFT;
    const VA_BITS: u32 = ADDRESS_BITS;

    fn work(&self, start: &Start) -> Result<Run, &'static str> {
        Ok(Run::read(&start.payload))
    }

    /// Group whose queues are all idle. One with streams that have not ended may be further or less far than that of
    /// another execution.
    fn is_settled(&self, context: &Context) -> bool {
        match context {
            Context::Group(group) => group.is_idle(),
            Context::Chains(_) => true,
        }
    }

    fn context(&self) -> Context {
        match self.0.chip().arch.0 {
            10.. => Context::Group(Box::new(self.0.group(CS_SLOTS as usize))),
            _ => Context::Chains(JobContext::default()),
        }
    }

    fn run(
        &self,
        vm: &AddressSpace,
        context: &mut Context,
        run: &Run,
    ) -> Result<RunStats, JobFault> {
        let counts = self.execute(vm, context, run)?;
        Ok(RunStats { counts, reports: self.0.take_reports() })
    }

    /// The attachments of the framebuffers that the run rendered to, in order.
    fn attachments(
        &self,
        vm: &AddressSpace,
        _before: &Context,
        after: &Context,
        _run: &Run,
    ) -> Result<Vec<Picture>, JobFault> {
        let mut all = Vec::new();
        let frames = match after {
            Context::Group(group) => group.frames(),
            Context::Chains(context) => context.frames(),
        };
        for frame in frames {
            all.extend(Picture::of_framebuffer(self.0.chip().arch, vm, *frame)?);
        }
        Ok(all)
    }
}

impl Mali {
    fn execute(
        &self,
        vm: &AddressSpace,
        context: &mut Context,
        run: &Run,
    ) -> Result<JobStats, JobFault> {
        let group = match context {
            Context::Group(group) => group,
            Context::Chains(context) => {
                let mut all = JobStats::default();
                for stream in &run.streams {
                    all += self.0.chain(vm, context, stream.address)?;
                }
                return Ok(all);
            }
        };
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
}
