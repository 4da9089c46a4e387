//! Chains of jobs that are submitted, and what tells whether they faulted.

use std::sync::atomic::{AtomicU32, Ordering};

/// Status of a job that has ended without a fault. source: Mesa, decode_jm.c (`pandecode_abort_on_fault_jc`)
const DONE: u32 = 1;

/// Chains that are submitted, with what tells whether they faulted.
#[derive(Default)]
pub struct Submitted {
    chains: Vec<(u64, usize, *const AtomicU32)>,
    faulted: bool,
}

// SAFETY: the pointers are to memory of encoders, which take their entries out before they give it back.
unsafe impl Send for Submitted {}

impl Submitted {
    /// Adds the last jobs of chains: the number of the submission, the encoder, the status.
    pub fn add(&mut self, ends: impl Iterator<Item = (u64, usize, *const AtomicU32)>) {
        self.chains.extend(ends);
    }

    /// Looks at the chains of submissions up to a number; whether one has ever faulted.
    pub fn look(&mut self, done: u64) -> bool {
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
    pub fn forget(&mut self, encoder: usize, done: u64) {
        self.look(done);
        self.chains.retain(|chain| chain.1 != encoder);
    }
}
