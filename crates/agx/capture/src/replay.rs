//! Replays the commands of a capture on the AGX model.

use tepui_agx_chips::{PAGE_SHIFT, VA_BITS};
use tepui_agx_kernel::{Work, submit};
use tepui_agx_model::{Attachment, Gpu, JobFault, JobStats};
use tepui_capture::{Model, Start};
use tepui_drm::uapi::asahi::{BARRIER_NONE, CmdHeader};
use tepui_softgpu::AddressSpace;

/// The AGX model, for captures.
pub struct Agx(Gpu);

/// Executes commands of a capture on the AGX model.
pub type Replayer = tepui_capture::Replayer<Agx>;
/// The result of a replayed command.
pub type Replayed = tepui_capture::Replayed<JobStats, JobFault, Attachment>;
/// Reason why a command cannot be executed again.
pub type Unplayable = tepui_capture::Unplayable<JobFault>;

impl Agx {
    /// The GPU.
    pub fn gpu(&self) -> &Gpu {
        &self.0
    }
}

/// Executes commands of a capture on this model.
pub fn replayer(gpu: Gpu) -> Replayer {
    Replayer::new(Agx(gpu))
}

impl Model for Agx {
    type Work = Work;
    type Context = ();
    type Stats = JobStats;
    type Fault = JobFault;
    type Attachment = Attachment;

    const PAGE_SHIFT: u32 = PAGE_SHIFT;
    const VA_BITS: u32 = VA_BITS;

    fn work(&self, start: &Start) -> Result<Work, &'static str> {
        let header = CmdHeader {
            cmd_type: u16::try_from(start.kind).unwrap_or(u16::MAX),
            size: u16::try_from(start.payload.len()).map_err(|_| "its payload is too long")?,
            vdm_barrier: BARRIER_NONE,
            cdm_barrier: BARRIER_NONE,
        };
        let buffer = [bytemuck::bytes_of(&header), &start.payload].concat();
        let commands = submit::parse(&buffer).map_err(|refusal| refusal.why)?;
        let work = commands.first().and_then(|command| command.work(start.base));
        Ok(work.ok_or("it is no hardware command")?.0)
    }

    fn context(&self) {}

    fn run(&self, vm: &AddressSpace, (): &mut (), work: &Work) -> Result<JobStats, JobFault> {
        match work {
            Work::Compute(job) => self.0.compute(vm, job),
            Work::Render(job) => self.0.render(vm, job),
        }
    }

    fn attachments(
        &self,
        vm: &AddressSpace,
        (): &(),
        (): &(),
        work: &Work,
    ) -> Result<Vec<Attachment>, JobFault> {
        match work {
            Work::Compute(_) => Ok(Vec::new()),
            Work::Render(job) => self.0.attachments(vm, job),
        }
    }
}
