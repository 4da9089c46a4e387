//! The three streams of a command buffer, and the order between them.
//!
//! Streams of a group's queues run at the same time. Each queue has a counter in memory, which it alone increments; another queue waits
//! until the counter is greater than a number. Numbers are relative to a command buffer, which may be submitted often: all queues keep
//! the sums of the counts of the command buffers before in registers ([`BASES`]), and add a command buffer's at its end. Counters
//! begin at 1, since the comparison is "greater".
//!
//! Jobs of a queue take scoreboard slots in turn, so that those that nothing orders run at the same time. A signal waits for the jobs
//! before it on its own slot, and the queue goes on.

use tepui_mali_packets::Problem;

use crate::kernel::Queue;
use crate::stream::{
    BASES, DEFERRED_FLUSH, FIRST_JOB, Flush, JOBS, JOBS_MASK, LS, SCRATCH, Stream,
};

/// Bytes from one queue's counter to the next: a cache line each.
pub const COUNTER_B: u64 = 64;

/// Waits of each queue for queues: a mask of [`mask_of`] each.
pub type Waits = [u8; Queue::ALL.len()];

/// The bit of a queue.
pub const fn mask_of(queue: Queue) -> u8 {
    1 << queue as u8
}

fn in_mask(mask: u8) -> impl Iterator<Item = Queue> {
    Queue::ALL.into_iter().filter(move |q| mask & mask_of(*q) != 0)
}

/// The streams that are recorded.
#[derive(Default)]
pub struct Subqueues {
    streams: [Stream; Queue::ALL.len()],
    /// Signals of each queue so far.
    signals: [i32; Queue::ALL.len()],
    /// The slot of each queue's next job, from 0.
    next_slot: [u32; Queue::ALL.len()],
    /// Queues that signal at the end of the recording, a bit each, with the address of the counters.
    ends: (u8, u64),
}

impl Subqueues {
    /// Forgets what was recorded.
    pub fn clear(&mut self) {
        self.streams.iter_mut().for_each(Stream::clear);
        self.signals = [0; Queue::ALL.len()];
        self.next_slot = [0; Queue::ALL.len()];
        self.ends = (0, 0);
    }

    /// A queue's stream.
    pub fn stream(&mut self, queue: Queue) -> &mut Stream {
        &mut self.streams[queue as usize]
    }

    /// Takes a free scoreboard slot for the queue's next job.
    pub fn next_job(&mut self, queue: Queue) -> &mut Stream {
        let next = &mut self.next_slot[queue as usize];
        let slot = FIRST_JOB + *next;
        *next = (*next + 1) % JOBS;
        let stream = &mut self.streams[queue as usize];
        stream.wait(1 << slot);
        stream.job_slot(slot);
        stream
    }

    /// Orders queues: each waits for the jobs so far of those in its mask, its own included. Caches are flushed after the jobs of the
    /// queues that are waited for; `counters` is the address of the counters.
    pub fn order(&mut self, waits: Waits, flush: Flush, counters: u64) {
        let sources = waits.iter().fold(0, |all, mask| all | mask);
        for queue in in_mask(sources) {
            let waits_for_itself = waits[queue as usize] & mask_of(queue) != 0;
            let others = Queue::ALL.into_iter().filter(|&q| q != queue);
            let is_waited_for = { others }.any(|q| waits[q as usize] & mask_of(queue) != 0);
            let stream = &mut self.streams[queue as usize];
            if waits_for_itself || !flush.is_none() {
                stream.wait(JOBS_MASK);
            }
            if !flush.is_none() {
                stream.flush(flush, 0, LS);
                stream.wait(1 << LS);
            }
            if is_waited_for {
                self.signal(queue, counters);
            }
        }
        for queue in Queue::ALL {
            for other in in_mask(waits[queue as usize] & !mask_of(queue)) {
                let count = self.signals[other as usize];
                let stream = &mut self.streams[queue as usize];
                stream.move64(SCRATCH, counters + COUNTER_B * other as u64);
                stream.add64(SCRATCH + 2, BASES + 2 * other as u8, count);
                stream.sync_wait(SCRATCH + 2, SCRATCH);
            }
        }
    }

    /// Makes a queue wait for the jobs of another queue in earlier submissions of the same recording.
    pub fn wait_for_earlier(&mut self, queue: Queue, other: Queue, counters: u64) {
        self.ends = (self.ends.0 | mask_of(other), counters);
        let stream = &mut self.streams[queue as usize];
        stream.move64(SCRATCH, counters + COUNTER_B * other as u64);
        stream.add64(SCRATCH + 2, BASES + 2 * other as u8, 0);
        stream.sync_wait(SCRATCH + 2, SCRATCH);
    }

    /// Signals of a queue, when its jobs so far are done.
    fn signal(&mut self, queue: Queue, counters: u64) {
        self.signals[queue as usize] += 1;
        let stream = &mut self.streams[queue as usize];
        stream.move64(SCRATCH, counters + COUNTER_B * queue as u64);
        stream.move64(SCRATCH + 2, 1);
        stream.sync_add(SCRATCH + 2, SCRATCH, JOBS_MASK);
    }

    /// Ends the recording: what was written is written back, and the sums of signals go on.
    pub fn finish(&mut self) {
        let (ends, counters) = self.ends;
        for queue in in_mask(ends) {
            self.signal(queue, counters);
        }
        for stream in self.streams.iter_mut().filter(|s| !s.is_empty()) {
            stream.settle();
            let clean = Flush { clean: true, ..Flush::default() };
            stream.flush(clean, JOBS_MASK, DEFERRED_FLUSH);
        }
        for queue in Queue::ALL {
            let count = self.signals[queue as usize];
            if count != 0 {
                let base = BASES + 2 * queue as u8;
                self.streams.iter_mut().for_each(|s| s.add64(base, base, count));
            }
        }
    }

    /// The streams' instructions.
    ///
    /// # Errors
    /// When a value did not fit into its field.
    pub fn words(&self) -> Result<[&[u64]; Queue::ALL.len()], Problem> {
        let [a, b, c] = &self.streams;
        Ok([a.words()?, b.words()?, c.words()?])
    }
}

#[cfg(test)]
mod tests {
    use tepui_mali_packets::cs::CsOpcode;
    use tepui_mali_streams::{FrontEnd, Memory, Step};

    use super::super::words::Words;
    use super::*;

    const COUNTERS: u64 = 0x9000;

    /// The three queues, with streams in memory.
    struct Queues {
        memory: Words,
        fronts: [FrontEnd; 3],
    }

    impl Queues {
        fn new() -> Queues {
            let mut memory = Words::default();
            for queue in 0..3 {
                memory.store(COUNTERS + COUNTER_B * queue, &1u64.to_le_bytes()).unwrap();
            }
            Queues { memory, fronts: Default::default() }
        }

        /// Runs streams to their ends; `choose` picks the queue of each step. Gives the queues of jobs in their order.
        fn run(&mut self, q: &Subqueues, mut choose: impl FnMut(usize) -> usize) -> Vec<usize> {
            for (k, words) in q.words().unwrap().into_iter().enumerate() {
                let at = 0x1_0000 * (k as u64 + 1);
                self.memory.store(at, bytemuck::cast_slice(words)).unwrap();
                self.fronts[k].start(at, 8 * words.len() as u64);
            }
            let mut jobs = Vec::new();
            let mut idle = 0;
            while let left = (0..3).filter(|&k| self.fronts[k].unwind()).collect::<Vec<_>>()
                && !left.is_empty()
            {
                let k = left[choose(left.len())];
                match self.fronts[k].step(&mut self.memory).unwrap() {
                    Step::Wait(_) => idle += 1,
                    Step::Work(CsOpcode::RunCompute) => jobs.push(k),
                    Step::Work(_) | Step::Done(_) => idle = 0,
                }
                assert!(idle < 1000, "all queues wait");
            }
            jobs
        }
    }

    fn job(q: &mut Subqueues, queue: Queue) {
        q.next_job(queue).run_compute(Default::default(), 1);
    }

    /// A number generator. source: Marsaglia's xorshift64
    fn random(state: &mut u64) -> usize {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        (*state >> 33) as usize
    }

    /// Whatever queue runs when, jobs after a barrier come after those that it waits for, in the second submission as in the first.
    #[test]
    fn queues_wait_for_jobs_before_a_barrier() {
        let mut seed = 0x1234_5678_9abc;
        for _ in 0..200 {
            let mut q = Subqueues::default();
            // Jobs and barriers in the order of recording.
            let mut recorded: Vec<Result<usize, Waits>> = Vec::new();
            for _ in 0..12 {
                if random(&mut seed).is_multiple_of(3) {
                    let waits: Waits = [0; 3].map(|_| (random(&mut seed) % 8) as u8);
                    q.order(waits, Flush::default(), COUNTERS);
                    recorded.push(Err(waits));
                } else {
                    let queue = Queue::ALL[random(&mut seed) % 3];
                    job(&mut q, queue);
                    recorded.push(Ok(queue as usize));
                }
            }
            q.finish();
            let mut queues = Queues::new();
            for _ in 0..2 {
                let jobs = queues.run(&q, |n| random(&mut seed) % n);
                check(&recorded, &jobs);
            }
        }
    }

    /// The place of the nth job of a queue among the jobs that ran.
    fn place(jobs: &[usize], queue: usize, n: usize) -> usize {
        jobs.iter().enumerate().filter(|j| *j.1 == queue).nth(n).unwrap().0
    }

    fn check(recorded: &[Result<usize, Waits>], jobs: &[usize]) {
        let before =
            |end: usize, queue: usize| recorded[..end].iter().filter(|r| **r == Ok(queue)).count();
        for (at, waits) in recorded.iter().enumerate().filter_map(|(k, r)| Some((k, r.err()?))) {
            for (queue, mask) in waits.into_iter().enumerate() {
                let all = before(recorded.len(), queue);
                for other in (0..3).filter(|k| mask >> k & 1 != 0) {
                    let (first, last) = (before(at, queue), before(at, other));
                    if first == all || last == 0 {
                        continue;
                    }
                    let (after, waited) = (place(jobs, queue, first), place(jobs, other, last - 1));
                    assert!(after > waited, "{recorded:?} ran as {jobs:?}");
                }
            }
        }
    }

    #[test]
    fn a_recording_without_jobs_has_no_streams() {
        let mut q = Subqueues::default();
        q.finish();
        assert!(q.words().unwrap().iter().all(|w| w.is_empty()));
    }
}
