//! Worker pool: distributes work items over threads, each of which acts as one shader core.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use rayon::{ThreadPool, ThreadPoolBuilder};

/// The host cannot create threads.
#[derive(Debug, thiserror::Error)]
#[error("the host gives no threads: {0}")]
pub struct NoThreads(#[from] rayon::ThreadPoolBuildError);

/// Threads that act as the shader cores of a GPU. They start with the first work, so that a process
/// that only queries a device has none.
pub struct WorkerPool {
    /// Requested number of threads, 0 for one per core, and the maximum.
    wanted: (usize, usize),
    workers: OnceLock<usize>,
    name: &'static str,
    pool: OnceLock<ThreadPool>,
}

impl WorkerPool {
    /// A pool of `threads` threads, but at most `max`; 0 takes one for each core of the host. Thread
    /// names are `name` and a number.
    pub fn new(threads: usize, max: usize, name: &'static str) -> WorkerPool {
        WorkerPool { wanted: (threads, max), workers: OnceLock::new(), name, pool: OnceLock::new() }
    }

    /// Number of workers, including the calling thread.
    #[inline]
    pub fn workers(&self) -> usize {
        *self.workers.get_or_init(|| {
            // Not in `new`: the standard library looks for the cores in files, and the preloaded
            // library, which answers for files, creates the device on its first look at one.
            let wanted = match self.wanted.0 {
                0 => std::thread::available_parallelism().map_or(1, |n| n.get()),
                n => n,
            };
            wanted.clamp(1, self.wanted.1)
        })
    }

    /// The threads besides the calling one, which is a worker too.
    fn threads(&self) -> Result<&ThreadPool, NoThreads> {
        if let Some(pool) = self.pool.get() {
            return Ok(pool);
        }
        let name = self.name;
        let pool = ThreadPoolBuilder::new()
            .num_threads(self.workers().max(2) - 1)
            .thread_name(move |i| format!("{name}-{i}"))
            .build()?;
        Ok(self.pool.get_or_init(|| pool))
    }

    /// Distributes work items in order to the calling thread and to threads of the pool, as many as
    /// there are workers or items, until one fails. Each worker begins, runs its items and finishes;
    /// the error is that of the first item that has one, whichever worker met it first, so that it does
    /// not depend on the number of threads.
    ///
    /// # Errors
    /// If the host cannot create threads. The second value is the work as the workers left it.
    pub fn share<P, W, R: Send, E: Send>(
        &self,
        items: impl ExactSizeIterator<Item = P> + Send,
        begin: impl Fn(u32) -> W + Sync,
        run: impl Fn(&mut W, P) -> Result<(), E> + Sync,
        finish: impl Fn(W) -> R + Sync,
    ) -> Result<(Vec<R>, Result<(), E>), NoThreads> {
        let workers = self.workers().min(items.len()).max(1);
        let items = Mutex::new((0..).zip(items));
        let next = || items.lock().unwrap_or_else(PoisonError::into_inner).next();
        let first_error = AtomicU64::new(u64::MAX);
        let work = |core: u32| {
            let mut worker = begin(core);
            let mut error = None;
            while let Some((index, item)) = next() {
                if index > first_error.load(Ordering::Relaxed) {
                    break;
                }
                if let Err(e) = run(&mut worker, item) {
                    first_error.fetch_min(index, Ordering::Relaxed);
                    error = Some((index, e));
                    break;
                }
            }
            (finish(worker), error)
        };
        let parts = match workers {
            1 => vec![work(0)],
            // The calling thread, which would only wait, is a worker too.
            _ => {
                let mut others: Vec<_> = (1..workers).map(|_| None).collect();
                let own = self.threads()?.in_place_scope(|scope| {
                    for (core, part) in (1..).zip(&mut others) {
                        let work = &work;
                        scope.spawn(move |_| *part = Some(work(core)));
                    }
                    work(0)
                });
                std::iter::once(own).chain(others.into_iter().flatten()).collect()
            }
        };
        let (results, errors): (Vec<R>, Vec<_>) = parts.into_iter().unzip();
        let first = errors.into_iter().flatten().min_by_key(|(index, _)| *index);
        Ok((results, first.map_or(Ok(()), |(_, error)| Err(error))))
    }
}

/// The remaining budget of a job, in instructions, after which it counts as endless.
pub struct Budget {
    spent: AtomicU64,
    max: u64,
}

/// A job cost more than its budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exhausted;

impl Budget {
    /// A budget with `spent` instructions used already.
    pub fn new(spent: u64, max: u64) -> Budget {
        Budget { spent: AtomicU64::new(spent), max }
    }

    /// Spends some of it.
    ///
    /// # Errors
    /// If less is left.
    #[inline]
    pub fn spend(&self, cost: u64) -> Result<(), Exhausted> {
        match self.spent.fetch_add(cost, Ordering::Relaxed).saturating_add(cost) > self.max {
            true => Err(Exhausted),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors_of(threads: usize, items: usize, bad: &[usize]) -> (usize, Option<usize>) {
        let pool = WorkerPool::new(threads, 7, "test");
        let run = |done: &mut usize, item: usize| {
            *done += 1;
            match bad.contains(&item) {
                true => Err(item),
                false => Ok(()),
            }
        };
        let (done, outcome) = pool.share(0..items, |_| 0, run, |done| done).unwrap();
        (done.iter().sum(), outcome.err())
    }

    #[test]
    fn all_items_are_done_once_and_the_first_error_wins() {
        for threads in [1, 2, 5] {
            for items in [0, 1, 2, 100] {
                assert_eq!(errors_of(threads, items, &[]), (items, None));
            }
            assert_eq!(errors_of(threads, 100, &[90, 40, 41, 99]).1, Some(40));
        }
    }

    /// Two workers run two items that both fail, so that there are two errors to choose from.
    #[test]
    fn of_two_errors_the_first_item_s_counts() {
        let pool = WorkerPool::new(2, 2, "test");
        let both = std::sync::Barrier::new(2);
        let run = |_: &mut (), item: usize| {
            if item >= 40 {
                both.wait();
                return Err(item);
            }
            Ok(())
        };
        let (_, outcome) = pool.share(0..42, |_| (), run, |()| ()).unwrap();
        assert_eq!(outcome, Err(40));
    }

    #[test]
    fn the_number_of_workers_is_bounded() {
        assert_eq!(WorkerPool::new(3, 7, "test").workers(), 3);
        assert_eq!(WorkerPool::new(100, 7, "test").workers(), 7);
        assert!((1..=7).contains(&WorkerPool::new(0, 7, "test").workers()));
    }

    #[test]
    fn what_is_spent_does_not_come_back() {
        let budget = Budget::new(10, 100);
        assert_eq!(budget.spend(90), Ok(()));
        assert_eq!(budget.spend(1), Err(Exhausted));
        assert_eq!(budget.spend(0), Err(Exhausted));
    }
}
