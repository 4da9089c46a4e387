//! Relaxed execution: accesses in one of the orders that the hardware may take, by a seed.
//!
//! A model that executes each command at once, on memory without caches, shows one behaviour of many. Relaxed
//! execution takes another: [`Schedule`] holds commands back and runs them late and in another order, [`Caches`]
//! keep writes until a flush asks for them and give reads the line as it was at an earlier one. Both do only what the
//! events so far allow, so that a program whose accesses are ordered computes the same for each seed.
//!
//! The rules are those of the [tracker](crate::tracker); `tests/relaxed.rs` compares the two.

mod caches;
mod run;
mod schedule;

pub use caches::{Backing, Caches};
pub(crate) use run::RelaxedRun;
pub use schedule::{Item, Schedule, Until};

/// A generator of random choices (SplitMix64).
///
/// source: G. L. Steele et al., Fast splittable pseudorandom number generators, 2014.
#[derive(Clone, Debug)]
pub struct Choices(u64);

impl Choices {
    /// The choices of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Choices {
        Choices(seed)
    }

    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ bits >> 31
    }

    /// A number below a limit, which is not 0.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.bits() >> 33) as usize % limit.max(1)
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}
