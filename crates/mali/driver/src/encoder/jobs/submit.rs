//! Submissions of chains, and what tells whether they faulted: the kernel does not, but the headers of jobs do.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use tepui_vulkan::Result;

use super::Jobs;
use crate::device::Device;
use crate::encoder::Encoder;
use crate::kernel::Work;

/// Status of a job that has ended without a fault. source: Mesa, decode_jm.c (`pandecode_abort_on_fault_jc`)
const DONE: u32 = 1;

impl Encoder {
    /// Number of the submission that has the recording's chains; 0 before the first.
    fn submission(&self) -> &AtomicU64 {
        static NONE: AtomicU64 = AtomicU64::new(0);
        self.jobs.as_ref().map_or(&NONE, |jobs| &jobs.submission)
    }
}

/// Chains that are submitted, with what tells whether they faulted.
#[derive(Default)]
pub struct Submitted {
    chains: Vec<(u64, usize, *const AtomicU32)>,
    faulted: bool,
}

// SAFETY: the pointers are to memory of encoders, which take their entries out before they give it back.
unsafe impl Send for Submitted {}

impl Submitted {
    /// Looks at the chains of submissions up to a number; whether one has ever faulted.
    fn look(&mut self, done: u64) -> bool {
        let Submitted { chains, faulted } = self;
        chains.retain(|&(number, _, status)| {
            if number > done {
                return true;
            }
            // SAFETY: the encoder has the memory still.
            *faulted |= unsafe { (*status).load(Ordering::Acquire) } != DONE;
            false
        });
        *faulted
    }

    /// Looks at the chains of an encoder whose memory is about to be used for something else, and forgets them.
    fn forget(&mut self, encoder: usize, done: u64) {
        self.look(done);
        self.chains.retain(|chain| chain.1 != encoder);
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
            submitted.chains.extend(ends);
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
