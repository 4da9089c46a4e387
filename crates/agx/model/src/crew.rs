//! Work that the cores of the GPU share.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::Gpu;
use crate::job::{JobFault, Unit};
use crate::usc::fpmode::FlushSubnormals;

/// What a job may still cost before it is taken for endless, in instructions.
pub(crate) struct Budget {
    spent: AtomicU64,
    most: u64,
    unit: Unit,
}

impl Budget {
    /// A budget of which something is spent already; `unit` is where it runs out.
    pub fn new(spent: u64, most: u64, unit: Unit) -> Budget {
        Budget { spent: AtomicU64::new(spent), most, unit }
    }

    /// Spends some of it.
    ///
    /// # Errors
    /// If there is not so much left.
    pub fn spend(&self, cost: u64) -> Result<(), JobFault> {
        match self.spent.fetch_add(cost, Ordering::Relaxed).saturating_add(cost) > self.most {
            true => Err(JobFault::endless(self.unit)),
            false => Ok(()),
        }
    }
}

/// Hands out pieces of work in order, to all cores or to the calling thread if that is enough, until one
/// fails. Each core begins, runs its pieces and finishes; the fault is that of the first piece that has one,
/// whichever core met it first.
///
/// # Errors
/// If the host gives no threads. What became of the work is the second value.
pub(crate) fn share<P, W, R: Send>(
    gpu: &Gpu,
    pieces: impl ExactSizeIterator<Item = P> + Send,
    begin: impl Fn(u32) -> W + Sync,
    run: impl Fn(&mut W, P) -> Result<(), JobFault> + Sync,
    finish: impl Fn(W) -> R + Sync,
) -> Result<(Vec<R>, Result<(), JobFault>), JobFault> {
    let alone = pieces.len() <= 1 || gpu.workers() == 1;
    let pieces = Mutex::new((0..).zip(pieces));
    let next = || pieces.lock().unwrap_or_else(PoisonError::into_inner).next();
    let first_fault = AtomicU64::new(u64::MAX);
    let work = |core: u32| {
        let _mode = FlushSubnormals::enter();
        let mut worker = begin(core);
        let mut fault = None;
        while let Some((index, piece)) = next() {
            if index > first_fault.load(Ordering::Relaxed) {
                break;
            }
            if let Err(e) = run(&mut worker, piece) {
                first_fault.fetch_min(index, Ordering::Relaxed);
                fault = Some((index, e));
                break;
            }
        }
        (finish(worker), fault)
    };
    let parts = match alone {
        true => vec![work(0)],
        false => gpu.pool()?.broadcast(|context| work(context.index() as u32)),
    };
    let (results, faults): (Vec<R>, Vec<_>) = parts.into_iter().unzip();
    let first = faults.into_iter().flatten().min_by_key(|(index, _)| *index);
    Ok((results, first.map_or(Ok(()), |(_, fault)| Err(fault))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;

    fn faults_of(threads: usize, pieces: usize, bad: &[usize]) -> (usize, Option<String>) {
        let gpu = Gpu::new(Options { threads, ..Options::default() });
        let run = |done: &mut usize, piece: usize| {
            *done += 1;
            match bad.contains(&piece) {
                true => Err(JobFault::new(Unit::Usc, piece.to_string())),
                false => Ok(()),
            }
        };
        let (done, outcome) = share(&gpu, 0..pieces, |_| 0, run, |done| done).unwrap();
        (done.iter().sum(), outcome.err().map(|fault| fault.to_string()))
    }

    #[test]
    fn all_pieces_are_done_once_and_the_first_fault_wins() {
        for threads in [1, 2, 5] {
            for pieces in [0, 1, 2, 100] {
                assert_eq!(faults_of(threads, pieces, &[]), (pieces, None));
            }
            let want = faults_of(1, 100, &[40]).1;
            assert_eq!(faults_of(threads, 100, &[90, 40, 41, 99]).1, want);
        }
    }

    #[test]
    fn what_is_spent_does_not_come_back() {
        let budget = Budget::new(10, 100, Unit::Usc);
        assert!(budget.spend(90).is_ok());
        assert!(budget.spend(1).is_err());
        assert!(budget.spend(0).is_err());
    }
}
