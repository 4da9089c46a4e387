//! Submissions of chains, and what tells whether they faulted: the kernel does not, but the headers of jobs do.

use std::sync::atomic::{AtomicU64, Ordering};

use tepui_vulkan::Result;

use super::chains::Jobs;
use crate::device::Device;
use crate::encoder::Encoder;
use crate::kernel::Work;

impl Encoder {
    /// Number of the submission that has the recording's chains; 0 before the first.
    fn submission(&self) -> &AtomicU64 {
        static NONE: AtomicU64 = AtomicU64::new(0);
        self.jobs.as_ref().map_or(&NONE, |jobs| &jobs.submission)
    }
}

impl Device {
    /// Whether a chain that has ended faulted.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn has_faulted(&self) -> Result<bool> {
        let done = self.kernel.finished()?;
        Ok(self.submitted().look(done))
    }

    /// Forgets the chains of an encoder.
    pub fn forget(&self, e: &Encoder) {
        let Some(jobs) = e.jobs.as_ref().filter(|jobs| !jobs.jobs.is_empty()) else { return };
        let done = self.kernel.finished().unwrap_or(u64::MAX);
        self.submitted().forget(key(jobs), done);
    }
}

/// The address of a recording's first job, which no other recording has.
fn key(jobs: &Jobs) -> usize {
    jobs.jobs.first().map_or(0, |job| job.host as usize)
}

/// Submits chains in order. One that is submitted already runs to its end before, since the hardware writes into headers.
///
/// # Errors
/// When the kernel refuses.
pub fn submit(
    device: &Device,
    waits: &[(u32, u64)],
    commands: &[&Encoder],
    signals: &[(u32, u64)],
) -> Result<()> {
    let mut waits = waits;
    let mut batch: Vec<&Jobs> = Vec::new();
    let send = |batch: &mut Vec<&Jobs>, waits: &[_], signals: &[_]| {
        let works: Vec<Work> = batch.iter().flat_map(|jobs| jobs.works()).collect();
        let number = device.kernel.submit(waits, &works, signals)?;
        let mut submitted = device.submitted();
        for jobs in batch.drain(..) {
            jobs.submission.store(number, Ordering::Release);
            let ends = jobs.ends().map(|status| (number, key(jobs), status));
            submitted.add(ends);
        }
        Ok(())
    };
    for e in commands {
        let Some(jobs) = e.jobs.as_ref().filter(|jobs| !jobs.jobs.is_empty()) else { continue };
        if batch.iter().any(|other| std::ptr::eq(*other, jobs)) {
            send(&mut batch, waits, &[])?;
            waits = &[];
        }
        let before = e.submission().load(Ordering::Acquire);
        if before != 0 {
            device.kernel.finish(before)?;
            device.has_faulted()?;
        }
        // SAFETY: the chains have run to their end, or never.
        unsafe { jobs.rearm() };
        batch.push(jobs);
    }
    send(&mut batch, waits, signals)
}
