//! Relaxed execution: work that runs late and in another order that waits and dependencies allow.
//!
//! With [`crate::Options::relaxed`] a queue's dispatches, draws, fragment jobs, and loads and stores of the front end are held
//! back until the queue waits for their scoreboard entry, or a deferred instruction does, or a random time before; draws and
//! fragment jobs keep their order. Registers have what a LOAD_MULTIPLE loads only when it is performed. Queues take turns of
//! random lengths. Jobs of a chain run in any order in which each comes after those that it waits for. Memory is
//! coherent: caches of the texture units hold nothing back. Changes of sync objects are performed at once. Nothing is held back
//! when a run ends.

use tepui_mali_packets::cs::{self, CsOpcode};
use tepui_mali_packets::job::JobHeader;
use tepui_mali_packets::{Packet, Problem};
use tepui_mali_streams::REGISTERS;
use tepui_order::relaxed::Choices;

/// Limit on the work that a queue holds back.
const MAX_HELD: usize = 32;

/// An instruction that other units execute, with the registers of its queue.
#[derive(Clone)]
pub(crate) struct Work {
    /// Its address.
    pub at: u64,
    pub opcode: CsOpcode,
    pub bytes: [u8; 8],
    pub registers: [u32; REGISTERS],
}

/// Whether an instruction may be performed late.
pub(crate) fn is_held(opcode: CsOpcode) -> bool {
    use CsOpcode::{RunCompute, RunComputeIndirect, RunFragment, RunFullscreen, RunIdvs};
    let is_work =
        matches!(opcode, RunCompute | RunComputeIndirect | RunIdvs | RunFragment | RunFullscreen);
    is_work || is_transfer(opcode)
}

/// Whether an instruction is a load or store of the front end.
fn is_transfer(opcode: CsOpcode) -> bool {
    matches!(opcode, CsOpcode::LoadMultiple | CsOpcode::StoreMultiple)
}

/// Whether work of one kind runs in order: draws go to the tiler, and fragment jobs to the tiles, one after the other.
fn is_in_order(opcode: CsOpcode) -> bool {
    let is_dispatch = matches!(opcode, CsOpcode::RunCompute | CsOpcode::RunComputeIndirect);
    !is_dispatch && !is_transfer(opcode)
}

/// Work that a queue holds back, with its scoreboard entry, in order.
#[derive(Clone, Default)]
pub(crate) struct Held {
    work: Vec<(u32, Work)>,
    /// The entries of instructions that run shaders, and of loads and stores.
    endpoint: u32,
    other: u32,
}

impl Held {
    /// Adds work.
    pub fn begin(&mut self, work: Work) {
        let entry = if is_transfer(work.opcode) { self.other } else { self.endpoint };
        self.work.push((entry, work));
    }

    /// Handles an instruction before it is executed; returns the entries whose work has to be performed first.
    ///
    /// # Errors
    /// Fields violate their declaration.
    pub fn instruction(&mut self, opcode: CsOpcode, bytes: &[u8; 8]) -> Result<u32, Problem> {
        macro_rules! mask {
            ($name:ident) => {
                cs::$name::unpack(bytes)?.wait_mask
            };
        }
        Ok(match opcode {
            CsOpcode::SetSbEntry => {
                let entries = cs::CsSetSbEntry::unpack(bytes)?;
                (self.endpoint, self.other) = (entries.endpoint_entry, entries.other_entry);
                0
            }
            CsOpcode::Wait => mask!(CsWait),
            CsOpcode::StoreState => mask!(CsStoreState),
            CsOpcode::FlushCache2 => mask!(CsFlushCache2),
            CsOpcode::SyncAdd32 => mask!(CsSyncAdd32),
            CsOpcode::SyncSet32 => mask!(CsSyncSet32),
            CsOpcode::SyncAdd64 => mask!(CsSyncAdd64),
            CsOpcode::SyncSet64 => mask!(CsSyncSet64),
            CsOpcode::FinishFragment => mask!(CsFinishFragment),
            _ if self.work.len() >= MAX_HELD => u32::MAX,
            _ => 0,
        })
    }

    /// Removes work that is performed next, of those with entries of a mask and of what has to come before them.
    pub fn next(&mut self, mask: u32, choices: &mut Choices) -> Option<Work> {
        let wanted = |(entry, _): &(u32, Work)| mask >> (entry & 31) & 1 != 0;
        let count = self.work.iter().filter(|held| wanted(held)).count();
        if count == 0 {
            return None;
        }
        let chosen = choices.below(count);
        let chosen = self.work.iter().enumerate().filter(|(_, held)| wanted(held)).nth(chosen);
        let (mut index, (_, work)) = chosen?;
        if is_in_order(work.opcode) {
            let ordered = |(_, other): &(u32, Work)| is_in_order(other.opcode);
            index = self.work.iter().position(ordered).unwrap_or(index);
        }
        Some(self.work.remove(index).1)
    }
}

/// A job of a chain.
pub(crate) struct Job {
    /// Its address.
    pub at: u64,
    pub header: JobHeader,
}

/// Jobs of a chain that are held back, in order.
#[derive(Default)]
pub(crate) struct HeldJobs {
    jobs: Vec<Job>,
}

impl HeldJobs {
    /// Adds a job.
    pub fn begin(&mut self, job: Job) {
        self.jobs.push(job);
    }

    /// Whether a job waits for none of those before it, of which the first `index` are held back.
    fn is_ready(&self, index: usize) -> bool {
        let header = &self.jobs[index].header;
        let dependencies = [header.dependency_1, header.dependency_2];
        let waits = |job: &Job| header.barrier || dependencies.contains(&job.header.index);
        !self.jobs[..index].iter().any(waits)
    }

    /// Removes the job that is performed next; none if nothing is performed before the next header is read. Without choices it
    /// is the first one.
    pub fn next(&mut self, choices: &mut Option<Choices>, is_last: bool) -> Option<Job> {
        if self.jobs.is_empty() {
            return None;
        }
        let Some(choices) = choices else { return Some(self.jobs.remove(0)) };
        if !is_last && self.jobs.len() < MAX_HELD && !choices.one_in(4) {
            return None;
        }
        let ready: Vec<usize> =
            (0..self.jobs.len()).filter(|&index| self.is_ready(index)).collect();
        Some(self.jobs.remove(ready[choices.below(ready.len())]))
    }
}

/// Puts queues into a random order.
pub(crate) fn shuffle(choices: &mut Choices, turns: &mut [usize]) {
    for index in (1..turns.len()).rev() {
        turns.swap(index, choices.below(index + 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The indices of jobs in the order in which a seed performs them.
    fn order(headers: &[JobHeader], seed: u64) -> Vec<u32> {
        let (mut held, mut choices) = (HeldJobs::default(), Some(Choices::new(seed)));
        let mut done = Vec::new();
        for header in headers {
            held.begin(Job { at: 0, header: *header });
            while let Some(job) = held.next(&mut choices, false) {
                done.push(job.header.index);
            }
        }
        while let Some(job) = held.next(&mut choices, true) {
            done.push(job.header.index);
        }
        done
    }

    #[test]
    fn jobs_come_after_those_that_they_wait_for() {
        let job = |index, dependency_1, barrier| JobHeader {
            index,
            dependency_1,
            barrier,
            ..JobHeader::default()
        };
        let jobs = [job(1, 0, false), job(2, 0, false), job(3, 2, false), job(4, 0, true)];
        let orders: Vec<Vec<u32>> = (0..64).map(|seed| order(&jobs, seed)).collect();
        for order in &orders {
            let place = |index| order.iter().position(|&other| other == index).expect("each job");
            assert!(place(2) < place(3) && place(4) == 3, "{order:?}");
        }
        for expected in [[1, 2, 3, 4], [2, 1, 3, 4], [2, 3, 1, 4]] {
            assert!(orders.iter().any(|order| order[..] == expected), "{expected:?}");
        }
    }
}
