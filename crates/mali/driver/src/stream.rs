//! A builder of command streams.
//!
//! Instructions are gathered on the host and copied to the GPU when the recording ends, so that a stream is one piece whose length is
//! known. Two things are done on the way:
//!
//! - **Loads and stores** complete later, on scoreboard slot [`LS`]. A register that is being loaded must not be used, and one that is
//!   being stored must not be written, before a WAIT: the builder knows which they are, and emits it.
//! - **State registers** ([`STATE`]) keep their values from job to job; a move of the value that a register has is left out.
//!
//! source: Mesa, cs_builder.h

use tepui_mali_packets::cs::{
    CsAddImmediate32, CsAddImmediate64, CsBranch, CsCondition, CsExceptionType, CsFinishFragment,
    CsFinishTiling, CsFlushCache2, CsFlushMode, CsHeapEvent, CsHeapOperation, CsHeapSet,
    CsLoadMultiple, CsMove, CsMove32, CsReqResource, CsRunCompute, CsRunFragment, CsRunIdvs,
    CsSetExceptionHandler, CsSetSbEntry, CsState, CsStoreMultiple, CsStoreState, CsSyncAdd64,
    CsSyncScope, CsSyncWait64, CsWait, TaskAxis,
};
use tepui_mali_packets::draw::Scissor;
use tepui_mali_packets::{Packet, Problem, ProblemKind};

/// Alignment of the address of a stream. source: panthor_drm.h, `drm_panthor_queue_submit`
pub const STREAM_ALIGN: u64 = 64;
/// Registers of jobs' state: the first ones.
pub const STATE: usize = 66;
/// First of the registers that hold a value for a few instructions, an even one; there are 18.
pub const SCRATCH: u8 = 66;
/// First of the pairs with the number of signals of each queue before the current command buffer.
pub const BASES: u8 = 84;

/// Scoreboard slot of loads, stores and flushes that are waited for.
pub const LS: u32 = 0;
/// Scoreboard slot of signals that wait for jobs.
pub const DEFERRED_SYNC: u32 = 1;
/// Scoreboard slot of flushes and stores that wait for jobs.
pub const DEFERRED_FLUSH: u32 = 2;
/// First scoreboard slot of jobs.
pub const FIRST_JOB: u32 = 3;
/// Scoreboard slots of jobs.
pub const JOBS: u32 = 5;
/// Mask of the scoreboard slots of jobs.
pub const JOBS_MASK: u32 = ((1 << JOBS) - 1) << FIRST_JOB;

/// Treatment of the caches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flush {
    /// The L2 and the load/store cache are written back.
    pub clean: bool,
    /// They are invalidated, too.
    pub invalidate: bool,
    /// Read-only caches (textures, tile loads) are invalidated.
    pub others: bool,
}

impl Flush {
    /// Requests of both.
    #[must_use]
    pub fn and(self, other: Flush) -> Flush {
        Flush {
            clean: self.clean | other.clean,
            invalidate: self.invalidate | other.invalidate,
            others: self.others | other.others,
        }
    }

    /// Whether there is nothing to do.
    pub fn is_none(self) -> bool {
        self == Flush::default()
    }
}

/// A forward branch whose end is not known yet.
#[must_use]
pub struct Skip(usize);

/// A stream that is being built.
pub struct Stream {
    words: Vec<u64>,
    /// Values of the state registers.
    known: [Option<u32>; STATE],
    /// Registers that are being loaded.
    loading: u128,
    /// Registers that are being stored.
    storing: u128,
    /// The first value that did not fit.
    problem: Option<Problem>,
}

impl Default for Stream {
    fn default() -> Self {
        Stream { words: Vec::new(), known: [None; STATE], loading: 0, storing: 0, problem: None }
    }
}

fn bits(first: u8, count: u32) -> u128 {
    ((1u128 << count) - 1) << first
}

impl Stream {
    /// Forgets all instructions.
    pub fn clear(&mut self) {
        self.words.clear();
        self.known = [None; STATE];
        (self.loading, self.storing, self.problem) = (0, 0, None);
    }

    /// Whether there are no instructions.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The instructions.
    ///
    /// # Errors
    /// When a value did not fit into its field.
    pub fn words(&self) -> Result<&[u64], Problem> {
        match &self.problem {
            Some(problem) => Err(problem.clone()),
            None => Ok(&self.words),
        }
    }

    fn put<P: Packet>(&mut self, instruction: &P) {
        let mut bytes = [0; 8];
        if let Err(problem) = instruction.pack_into(&mut bytes) {
            self.problem.get_or_insert(problem);
        }
        self.words.push(u64::from_le_bytes(bytes));
    }

    /// Waits for loads and stores if registers that are read are being loaded, or registers that are written are being loaded or stored.
    fn uses(&mut self, reads: u128, writes: u128) {
        if (reads | writes) & self.loading | writes & self.storing != 0 {
            self.wait(1 << LS);
        }
        let state = writes & bits(0, STATE as u32);
        for k in (0..STATE).filter(|k| state >> k & 1 != 0) {
            self.known[k] = None;
        }
    }

    /// Waits until scoreboard slots are idle.
    pub fn wait(&mut self, mask: u32) {
        self.put(&CsWait { wait_mask: mask, ..CsWait::default() });
        if mask >> LS & 1 != 0 {
            (self.loading, self.storing) = (0, 0);
        }
    }

    /// Sets a register.
    pub fn move32(&mut self, to: u8, value: u32) {
        if self.known.get(usize::from(to)).is_some_and(|known| *known == Some(value)) {
            return;
        }
        self.uses(0, bits(to, 1));
        self.put(&CsMove32 { immediate: value, destination: to.into() });
        if let Some(known) = self.known.get_mut(usize::from(to)) {
            *known = Some(value);
        }
    }

    /// Sets a pair of registers.
    pub fn move64(&mut self, to: u8, value: u64) {
        let halves = [value as u32, (value >> 32) as u32];
        if value >> 48 != 0 {
            self.move32(to, halves[0]);
            self.move32(to + 1, halves[1]);
            return;
        }
        let at = usize::from(to);
        if self.known.get(at..at + 2).is_some_and(|known| known == halves.map(Some)) {
            return;
        }
        self.uses(0, bits(to, 2));
        self.put(&CsMove { immediate: value, destination: to.into() });
        if let Some(known) = self.known.get_mut(at..at + 2) {
            known.copy_from_slice(&halves.map(Some));
        }
    }

    /// Adds a number to a register.
    pub fn add32(&mut self, to: u8, from: u8, number: i32) {
        self.uses(bits(from, 1), bits(to, 1));
        self.put(&CsAddImmediate32 {
            immediate: number,
            source: from.into(),
            destination: to.into(),
        });
    }

    /// Adds a number to a pair of registers.
    pub fn add64(&mut self, to: u8, from: u8, number: i32) {
        self.uses(bits(from, 2), bits(to, 2));
        self.put(&CsAddImmediate64 {
            immediate: number,
            source: from.into(),
            destination: to.into(),
        });
    }

    /// Loads consecutive registers from the address in a pair, plus an offset.
    pub fn load(&mut self, to: u8, count: u32, address: u8, offset: i16) {
        let written = bits(to, count);
        self.uses(bits(address, 2), written);
        self.put(&CsLoadMultiple {
            offset: offset.into(),
            mask: (1 << count) - 1,
            address: address.into(),
            base_register: to.into(),
        });
        self.loading |= written;
    }

    /// Stores consecutive registers to the address in a pair, plus an offset.
    pub fn store(&mut self, from: u8, count: u32, address: u8, offset: i16) {
        self.uses(bits(address, 2) | bits(from, count), 0);
        self.put(&CsStoreMultiple {
            offset: offset.into(),
            mask: (1 << count) - 1,
            address: address.into(),
            base_register: from.into(),
        });
        self.storing |= bits(from, count) | bits(address, 2);
    }

    /// Waits for loads and stores if there are some.
    pub fn settle(&mut self) {
        if self.loading | self.storing != 0 {
            self.wait(1 << LS);
        }
    }

    /// Branches past what follows, up to [`Stream::land`], if a register compares with zero as a condition says.
    pub fn skip_if(&mut self, condition: CsCondition, register: u8) -> Skip {
        self.uses(bits(register, 1), 0);
        // Both ways arrive with the same state.
        self.settle();
        let at = self.words.len();
        self.put(&CsBranch { offset: 0, condition, value: register.into() });
        Skip(at)
    }

    /// The end of a branch.
    pub fn land(&mut self, Skip(at): Skip) {
        self.settle();
        let distance = (self.words.len() - at - 1) as u64;
        if distance > i16::MAX as u64 {
            let kind = ProblemKind::DoesNotFit { value: distance, width: 16 };
            let (packet, field) = ("CS BRANCH", "Offset");
            self.problem.get_or_insert(Problem { packet, field, bit: 0, kind });
        }
        self.words[at] |= distance & 0xffff;
        self.known = [None; STATE];
    }

    /// Repeats what a function adds, once at least, while a register compares with zero as a condition says.
    pub fn repeat(&mut self, condition: CsCondition, register: u8, body: impl FnOnce(&mut Stream)) {
        self.settle();
        self.forget();
        let start = self.words.len();
        body(self);
        self.uses(bits(register, 1), 0);
        // Both ways arrive with the same state.
        self.settle();
        let distance = (self.words.len() + 1 - start) as u64;
        let Ok(offset) = i16::try_from(distance).map(|n| -n) else {
            let kind = ProblemKind::DoesNotFit { value: distance, width: 16 };
            let (packet, field) = ("CS BRANCH", "Offset");
            self.problem.get_or_insert(Problem { packet, field, bit: 0, kind });
            return;
        };
        self.put(&CsBranch { offset: offset.into(), condition, value: register.into() });
        self.forget();
    }

    /// Forgets the values of registers, which another stream may have changed.
    pub fn forget(&mut self) {
        self.known = [None; STATE];
    }

    /// Sets the stream that handles an exhausted heap, whose address is in a pair and whose bytes are in a register; none if there are
    /// no bytes.
    pub fn set_exception_handler(&mut self, address: u8, length: u8) {
        self.uses(bits(address, 2) | bits(length, 1), 0);
        self.put(&CsSetExceptionHandler {
            exception_type: CsExceptionType::TilerOom,
            length: length.into(),
            address: address.into(),
        });
    }

    /// Chooses the scoreboard slot of jobs.
    pub fn job_slot(&mut self, slot: u32) {
        self.put(&CsSetSbEntry { endpoint_entry: slot, other_entry: LS });
    }

    /// Flushes caches when scoreboard slots are idle, and signals a slot.
    pub fn flush(&mut self, flush: Flush, wait_mask: u32, signal_slot: u32) {
        let id = SCRATCH;
        // A flush with the id 0 is never left out.
        self.move32(id, 0);
        let mode = match (flush.clean, flush.invalidate) {
            (_, true) => CsFlushMode::CleanAndInvalidate,
            (true, false) => CsFlushMode::Clean,
            (false, false) => CsFlushMode::None,
        };
        self.put(&CsFlushCache2 {
            l2_flush_mode: mode,
            lsc_flush_mode: mode,
            other_invalidate: flush.others,
            wait_mask,
            latest_flush_id: id.into(),
            signal_slot,
        });
    }

    /// Adds the number in a pair to a sync object of the group at the address in another pair, when scoreboard slots are idle.
    pub fn sync_add(&mut self, data: u8, address: u8, wait_mask: u32) {
        self.uses(bits(data, 2) | bits(address, 2), 0);
        self.put(&CsSyncAdd64 {
            error_propagate: false,
            scope: CsSyncScope::Csg,
            wait_mask,
            data: data.into(),
            address: address.into(),
            signal_slot: DEFERRED_SYNC,
        });
    }

    /// Waits until the sync object at the address in a pair is greater than the number in another pair.
    pub fn sync_wait(&mut self, data: u8, address: u8) {
        self.uses(bits(data, 2) | bits(address, 2), 0);
        self.put(&CsSyncWait64 {
            error_reject: false,
            condition: CsCondition::Greater,
            data: data.into(),
            address: address.into(),
        });
    }

    /// Stores the time at the address in a pair, when scoreboard slots are idle.
    pub fn store_time(&mut self, address: u8, wait_mask: u32) {
        self.uses(bits(address, 2), 0);
        self.put(&CsStoreState {
            offset: 0,
            wait_mask,
            state: CsState::Timestamp,
            address: address.into(),
            signal_slot: DEFERRED_FLUSH,
        });
    }

    /// Dispatches workgroups with the state in registers 0 to 39, `increment` workgroups along an axis a task.
    pub fn run_compute(&mut self, axis: TaskAxis, increment: u32) {
        self.uses(bits(0, 40), 0);
        self.put(&CsReqResource { compute: true, ..CsReqResource::default() });
        self.put(&CsRunCompute {
            task_increment: increment,
            task_axis: axis,
            ..CsRunCompute::default()
        });
        self.put(&CsReqResource::default());
    }

    /// Draws with the state in registers 0 to 60.
    pub fn run_idvs(&mut self, run: &CsRunIdvs) {
        self.uses(bits(0, 61), 0);
        self.put(&CsReqResource {
            compute: true,
            tiler: true,
            idvs: true,
            ..CsReqResource::default()
        });
        self.put(run);
        self.put(&CsReqResource::default());
    }

    /// Renders the framebuffer whose address is in registers 40 and 41, in the box of registers 42 and 43.
    pub fn run_fragment(&mut self) {
        self.uses(bits(40, 7), 0);
        self.put(&CsReqResource { fragment: true, ..CsReqResource::default() });
        self.put(&CsRunFragment::default());
        self.put(&CsReqResource::default());
    }

    /// Ends the draws of a rendering.
    pub fn finish_tiling(&mut self) {
        self.put(&CsReqResource { tiler: true, ..CsReqResource::default() });
        self.put(&CsFinishTiling::default());
        self.put(&CsReqResource::default());
    }

    /// Sets the heap whose context's address is in a pair.
    pub fn set_heap(&mut self, address: u8) {
        self.uses(bits(address, 2), 0);
        self.put(&CsHeapSet { address: address.into() });
    }

    /// Counts an event of a rendering that uses the heap, when scoreboard slots are idle.
    pub fn heap_event(&mut self, operation: CsHeapEvent, wait_mask: u32) {
        self.put(&CsHeapOperation { wait_mask, operation, signal_slot: DEFERRED_SYNC });
    }

    /// Gives chunks of a rendering back, whose first and last addresses are in pairs, when scoreboard slots are idle; `is_last` says
    /// whether the rendering ends with them.
    pub fn finish_fragment(&mut self, is_last: bool, [first, last]: [u8; 2], wait_mask: u32) {
        self.uses(bits(first, 2) | bits(last, 2), 0);
        self.put(&CsFinishFragment {
            increment_fragment_completed: is_last,
            wait_mask,
            last_heap_chunk: last.into(),
            first_heap_chunk: first.into(),
            signal_slot: DEFERRED_SYNC,
        });
    }

    /// Sets the box of pixels that RUN_FRAGMENT renders, in registers 42 and 43.
    pub fn set_box(&mut self, scissor: &Scissor) {
        let mut bytes = [0; 8];
        if let Err(problem) = scissor.pack_into(&mut bytes) {
            self.problem.get_or_insert(problem);
        }
        let [low, high] = [0, 4]
            .map(|k| u32::from_le_bytes([bytes[k], bytes[k + 1], bytes[k + 2], bytes[k + 3]]));
        self.move32(42, low);
        self.move32(43, high);
    }
}

#[cfg(test)]
mod tests {
    use tepui_mali_packets::cs::{self, CsOpcode};
    use tepui_mali_streams::{FrontEnd, Memory, REGISTERS, Step};

    use super::*;

    /// Memory that holds a pattern.
    struct Pattern;

    impl Memory for Pattern {
        type Fault = u64;

        fn load(&mut self, at: u64, into: &mut [u8]) -> Result<(), u64> {
            into.iter_mut().zip(at..).for_each(|(to, at)| *to = (at * 7 + (at >> 8)) as u8);
            Ok(())
        }

        fn store(&mut self, _at: u64, _bytes: &[u8]) -> Result<(), u64> {
            Ok(())
        }
    }

    fn word(at: u64) -> u32 {
        let mut bytes = [0; 4];
        Pattern.load(at, &mut bytes).unwrap();
        u32::from_le_bytes(bytes)
    }

    /// Registers that an instruction reads and writes, and whether it loads or stores.
    fn accesses(bytes: &[u8; 8]) -> (u128, u128, CsOpcode) {
        let opcode = cs::opcode(u64::from_le_bytes(*bytes)).unwrap();
        let span = |first: u32, mask: u32| u128::from(mask) << first;
        let (reads, writes) = match opcode {
            CsOpcode::Move => (0, span(cs::CsMove::unpack(bytes).unwrap().destination, 3)),
            CsOpcode::Move32 => (0, span(cs::CsMove32::unpack(bytes).unwrap().destination, 1)),
            CsOpcode::AddImmediate32 => {
                let i = cs::CsAddImmediate32::unpack(bytes).unwrap();
                (span(i.source, 1), span(i.destination, 1))
            }
            CsOpcode::AddImmediate64 => {
                let i = cs::CsAddImmediate64::unpack(bytes).unwrap();
                (span(i.source, 3), span(i.destination, 3))
            }
            CsOpcode::LoadMultiple => {
                let i = cs::CsLoadMultiple::unpack(bytes).unwrap();
                (span(i.address, 3), span(i.base_register, i.mask))
            }
            CsOpcode::StoreMultiple => {
                let i = cs::CsStoreMultiple::unpack(bytes).unwrap();
                (span(i.address, 3) | span(i.base_register, i.mask), 0)
            }
            CsOpcode::RunCompute => (span(0, u32::MAX) | span(32, 0xff), 0),
            _ => (0, 0),
        };
        (reads, writes, opcode)
    }

    /// The hardware's rule: loads and stores are done after a WAIT for their slot alone.
    fn check_waits(words: &[u64]) {
        let (mut loading, mut storing) = (0u128, 0u128);
        for (k, w) in words.iter().enumerate() {
            let (reads, writes, opcode) = accesses(&w.to_le_bytes());
            if opcode == CsOpcode::Wait {
                let mask = cs::CsWait::unpack(&w.to_le_bytes()).unwrap().wait_mask;
                if mask & 1 != 0 {
                    (loading, storing) = (0, 0);
                }
            }
            assert_eq!((reads | writes) & loading, 0, "instruction {k} uses what is being loaded");
            assert_eq!(writes & storing, 0, "instruction {k} writes what is being stored");
            match opcode {
                CsOpcode::LoadMultiple => loading |= writes,
                CsOpcode::StoreMultiple => storing |= reads,
                _ => {}
            }
        }
    }

    fn random(state: &mut u64) -> u64 {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        *state >> 20
    }

    /// Registers are as if every instruction were there and complete at once, and the rule of waits holds.
    #[test]
    fn random_streams_keep_the_rule_and_the_values() {
        let mut seed = 0xfeed_5eed;
        let mut left_out = 0;
        for _ in 0..300 {
            let (mut s, mut all) = (Stream::default(), [0u32; REGISTERS]);
            for _ in 0..40 {
                let r = |n: u64, seed: &mut u64| (random(seed) % n) as u8;
                let to = r(80, &mut seed);
                let pair = 2 * r(40, &mut seed);
                let long = |all: &[u32; REGISTERS], at: u8| {
                    u64::from(all[usize::from(at)]) | u64::from(all[usize::from(at) + 1]) << 32
                };
                let put = |all: &mut [u32; REGISTERS], at: u8, v: u64| {
                    all[usize::from(at)] = v as u32;
                    all[usize::from(at) + 1] = (v >> 32) as u32;
                };
                let before = s.words.len();
                match random(&mut seed) % 7 {
                    0 => {
                        let value = (random(&mut seed) % 3) as u32;
                        s.move32(to, value);
                        all[usize::from(to)] = value;
                        left_out += usize::from(s.words.len() == before);
                    }
                    1 => {
                        let value = (random(&mut seed) % 2) << (random(&mut seed) % 60);
                        s.move64(pair, value);
                        put(&mut all, pair, value);
                    }
                    2 => {
                        let from = r(80, &mut seed);
                        s.add32(to, from, -3);
                        all[usize::from(to)] = all[usize::from(from)].wrapping_sub(3);
                    }
                    3 => {
                        let from = 2 * r(40, &mut seed);
                        s.add64(pair, from, -5);
                        let value = long(&all, from).wrapping_sub(5);
                        put(&mut all, pair, value);
                    }
                    4 => {
                        let count = 1 + random(&mut seed) as u32 % 4;
                        let base = long(&all, pair).wrapping_add(8);
                        s.load(to, count, pair, 8);
                        for k in 0..count {
                            all[usize::from(to) + k as usize] =
                                word(base.wrapping_add(4 * u64::from(k)));
                        }
                    }
                    5 => s.store(to, 1 + random(&mut seed) as u32 % 4, pair, -8),
                    _ => s.run_compute(TaskAxis::X, 1),
                }
            }
            let words = s.words().unwrap();
            check_waits(words);
            let mut front = FrontEnd::default();
            for w in words {
                let step = front.execute(&mut Pattern, &w.to_le_bytes()).unwrap();
                assert!(!matches!(step, Step::Wait(_)));
            }
            assert_eq!(front.registers[..], all[..]);
        }
        assert!(left_out > 10, "{left_out}");
    }

    #[test]
    fn branches_skip_what_is_between() {
        for (value, expected) in [(0, 5), (1, 9)] {
            let mut s = Stream::default();
            s.move32(10, 5);
            s.move32(SCRATCH, value);
            let skip = s.skip_if(CsCondition::Equal, SCRATCH);
            s.move32(10, 9);
            s.land(skip);
            // After the branch, the value is not known: the move must be there.
            s.move32(11, 1);
            let at = 0x1000;
            let words = s.words().unwrap().to_vec();
            let mut front = FrontEnd::default();
            front.start(at, 8 * words.len() as u64);
            while front.unwind() {
                let w = words[((front.current.next - at) / 8) as usize];
                front.execute(&mut Pattern, &w.to_le_bytes()).unwrap();
            }
            assert_eq!((front.registers[10], front.registers[11]), (expected, 1));
        }
    }

    #[test]
    fn loops_end_when_the_condition_does_not_hold() {
        let mut s = Stream::default();
        s.move32(SCRATCH, 5);
        s.move32(10, 0);
        s.repeat(CsCondition::Greater, SCRATCH, |s| {
            s.add32(10, 10, 3);
            s.add32(SCRATCH, SCRATCH, -1);
        });
        let at = 0x1000;
        let words = s.words().unwrap().to_vec();
        let mut front = FrontEnd::default();
        front.start(at, 8 * words.len() as u64);
        while front.unwind() {
            let w = words[((front.current.next - at) / 8) as usize];
            front.execute(&mut Pattern, &w.to_le_bytes()).unwrap();
        }
        assert_eq!((front.registers[10], front.registers[usize::from(SCRATCH)]), (15, 0));
    }

    #[test]
    fn values_that_do_not_fit_are_an_error() {
        let mut s = Stream::default();
        s.run_compute(TaskAxis::X, 1 << 14);
        let problem = s.words().unwrap_err();
        assert_eq!(problem.field, "Task increment");
        s.clear();
        assert!(s.words().unwrap().is_empty());
    }
}
