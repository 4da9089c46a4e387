//! Software scoreboard of Gen12: annotations that order accesses of registers.
//!
//! Messages and `math` complete out of order: each sets one of 16 tokens, for which later instructions wait. All others
//! complete in order: later instructions wait for a distance, the number of in-order instructions back to the one that they
//! need. Hardware orders flags by itself, and in-order instructions that write what earlier ones read or write.
//!
//! The pass follows all paths, with the pending accesses of each register ([`State`]), to a fixed point; then it annotates.
//! Waits that an annotation has no room for go into one of the instructions before it, or become a `sync`. Jumps and
//! barriers may or may not count in distances; the pass does not count them, so its distances hold either way.
//!
//! Fused execution units walk through blocks in which all channels are off (Wa_1407528679). There, instructions with a
//! mask do not wait. Such a wait for an instruction without one therefore counts for masked instructions of the same block
//! alone; a later instruction without a mask waits again. source: Mesa, `brw_lower_scoreboard.cpp`

use super::SYNC_SOURCE;
use super::listing::Listing;
use std::collections::BTreeSet;
use tepui_intel_analysis::Code;
use tepui_intel_analysis::access::{IN_ORDER_DEPTH, is_out_of_order};
use tepui_intel_isa::layout::Targets;
use tepui_intel_isa::{Inst, Opcode, Src, Swsb, SyncFunction, Token, Type};

/// General registers.
const GENERAL: usize = 128;
/// Registers with writes to wait for: the general ones, a0, and two accumulators.
const REGISTERS: usize = GENERAL + 3;
/// Age of an access that nothing needs to wait for.
const OLD: u8 = u8::MAX;
/// In-order instructions after which one has completed.
const DEPTH: u32 = IN_ORDER_DEPTH as u32;
/// Maximum distance of an annotation.
const MAX_DISTANCE: u32 = 7;
/// Instructions back to one whose annotation takes a wait for a payload that has been read.
const EARLIER_READ: usize = 16;
/// In-order instructions back to one whose annotation takes a wait for a result.
const EARLIER_RESULT: usize = 3;

/// The registers that an instruction accesses, and its properties.
#[derive(Clone, Copy)]
struct Footprint {
    reads: u128,
    writes: u128,
    /// a0 and the accumulators, from bit 0 on.
    special_reads: u8,
    special_writes: u8,
    no_mask: bool,
    out_of_order: bool,
    /// Whether it counts in distances.
    counts: bool,
    ends: bool,
}

impl Footprint {
    fn new(code: &Code, n: usize) -> Footprint {
        let (inst, access) = (&code.insts()[n], code.access(n));
        let special = |address: bool, accumulators: u16| {
            let high = accumulators & !1 != 0;
            u8::from(address) | (accumulators as u8 & 1) << 1 | u8::from(high) << 2
        };
        let out_of_order = is_out_of_order(inst);
        let waits = inst.opcode == Opcode::Sync || inst.opcode.has_branch_control();
        Footprint {
            // The registers of indirect sources are not known.
            reads: if access.indirect_reads { u128::MAX } else { access.read_mask() },
            writes: access.writes.mask(),
            special_reads: special(access.reads_address, access.accumulator_reads.operand),
            special_writes: special(access.writes_address, access.accumulator_writes.all()),
            no_mask: inst.no_mask,
            out_of_order,
            counts: !out_of_order && !waits,
            ends: inst.opcode.is_send() && inst.send.end_of_thread,
        }
    }
}

/// The set bits of a mask.
fn bits(mut mask: u128) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = mask.trailing_zeros() as usize;
        mask &= mask.wrapping_sub(1);
        (bit < GENERAL).then_some(bit)
    })
}

/// Pending accesses at the start of a block. Of pairs, the first are those of instructions with a mask.
#[derive(Clone, PartialEq)]
struct Entry {
    /// In-order instructions since the last in-order write of each register.
    written: [[u8; REGISTERS]; 2],
    /// In-order instructions since the last in-order read.
    read: [[u8; GENERAL]; 2],
    tokens: Tokens,
}

/// Tokens of the pending out-of-order instructions that access each register.
#[derive(Clone, PartialEq)]
struct Tokens {
    written: [[u16; GENERAL]; 2],
    read: [[u16; GENERAL]; 2],
}

/// Pending accesses during a block.
struct State {
    /// The next in-order instruction; the first one of a block is `DEPTH + 1`.
    now: u32,
    /// In-order instructions that last wrote and read each register; 0 for none.
    written: [[u32; REGISTERS]; 2],
    read: [[u32; GENERAL]; 2],
    /// In-order instructions up to these have completed.
    done: [u32; 2],
    tokens: Tokens,
    /// In-order instructions without a mask up to this one were waited for by instructions of this block with a mask.
    done_here: u32,
    /// Tokens of instructions without a mask that were waited for by instructions of this block with a mask.
    written_here: u16,
    read_here: u16,
}

/// Waits of an instruction.
#[derive(Clone, Copy, Default, PartialEq)]
struct Waits {
    distance: u32,
    /// Tokens whose results are needed.
    written: u16,
    /// Tokens whose payloads must have been read.
    read: u16,
}

/// The annotation of an instruction, and the waits of `sync` instructions before it.
#[derive(Clone, Copy)]
struct Plan {
    before: Waits,
    swsb: Swsb,
}

impl Entry {
    const EMPTY: Entry = Entry {
        written: [[OLD; REGISTERS]; 2],
        read: [[OLD; GENERAL]; 2],
        tokens: Tokens { written: [[0; GENERAL]; 2], read: [[0; GENERAL]; 2] },
    };

    /// Adds what is pending at the end of another block; whether that changed anything.
    fn merge(&mut self, other: &State) -> bool {
        let mut changed = false;
        for k in 0..2 {
            let age = |birth: u32| {
                let pending = birth > other.done[k] && other.now - birth <= DEPTH;
                if pending { (other.now - birth) as u8 } else { OLD }
            };
            let ours = self.written[k].iter_mut().chain(&mut self.read[k]);
            for (ours, &theirs) in ours.zip(other.written[k].iter().chain(&other.read[k])) {
                let joined = age(theirs).min(*ours);
                changed |= joined != *ours;
                *ours = joined;
            }
            let ours = self.tokens.written[k].iter_mut().chain(&mut self.tokens.read[k]);
            let theirs = other.tokens.written[k].iter().chain(&other.tokens.read[k]);
            for (ours, &theirs) in ours.zip(theirs) {
                changed |= theirs & !*ours != 0;
                *ours |= theirs;
            }
        }
        changed
    }
}

impl State {
    fn new(entry: &Entry) -> State {
        let now = DEPTH + 1;
        let birth = |&age: &u8| now.saturating_sub(u32::from(age));
        State {
            now,
            written: [0, 1].map(|k| std::array::from_fn(|r| birth(&entry.written[k][r]))),
            read: [0, 1].map(|k| std::array::from_fn(|r| birth(&entry.read[k][r]))),
            done: [0; 2],
            tokens: entry.tokens.clone(),
            done_here: 0,
            written_here: 0,
            read_here: 0,
        }
    }

    /// The distance back to an in-order instruction, if it may be pending; else 0.
    fn distance(&self, birth: u32, k: usize, own: &Footprint) -> u32 {
        let seen = if k == 1 && !own.no_mask { self.done_here } else { 0 };
        let distance = self.now - birth;
        let done = birth == 0 || birth <= self.done[k].max(seen) || distance > DEPTH;
        if done { 0 } else { distance }
    }

    /// Dependencies that an instruction waits for.
    fn needs(&self, own: &Footprint) -> Waits {
        let mut waits = Waits::default();
        let mut distance = u32::MAX;
        let mut nearest = |d: u32| distance = distance.min(d.wrapping_sub(1));
        let (written_seen, read_seen) =
            if own.no_mask { (0, 0) } else { (self.written_here, self.read_here) };
        for r in bits(own.reads | own.writes) {
            let [masked, unmasked] = [0, 1].map(|k| self.tokens.written[k][r]);
            waits.written |= masked | unmasked & !written_seen;
        }
        for r in bits(own.writes) {
            let [masked, unmasked] = [0, 1].map(|k| self.tokens.read[k][r]);
            waits.read |= masked | unmasked & !read_seen;
        }
        for k in 0..2 {
            let after_write = own.reads | if own.out_of_order { own.writes } else { 0 };
            bits(after_write).for_each(|r| nearest(self.distance(self.written[k][r], k, own)));
            for r in bits(own.special_reads.into()) {
                nearest(self.distance(self.written[k][GENERAL + r], k, own));
            }
            if own.out_of_order {
                bits(own.writes).for_each(|r| nearest(self.distance(self.read[k][r], k, own)));
            }
        }
        waits.distance = if distance == u32::MAX { 0 } else { (distance + 1).min(MAX_DISTANCE) };
        waits.read &= !waits.written;
        waits
    }

    /// Drops what is waited for, by an instruction with or without a mask.
    fn wait(&mut self, waits: Waits, no_mask: bool) {
        if waits.distance > 0 {
            let done = self.now - waits.distance;
            self.done[0] = self.done[0].max(done);
            self.done_here = self.done_here.max(done);
            if no_mask {
                self.done[1] = self.done[1].max(done);
            }
        }
        let (written, read) = (waits.written, waits.written | waits.read);
        if read == 0 {
            return;
        }
        for k in 0..if no_mask { 2 } else { 1 } {
            self.tokens.written[k].iter_mut().for_each(|t| *t &= !written);
            self.tokens.read[k].iter_mut().for_each(|t| *t &= !read);
        }
        self.written_here |= written;
        self.read_here |= read;
    }

    /// Waits as an annotated instruction does, and adds its own accesses.
    fn execute(&mut self, own: &Footprint, plan: &Plan) {
        self.wait(plan.before, true);
        let mut waits = Waits { distance: plan.swsb.distance.into(), ..Waits::default() };
        match plan.swsb.token {
            Some((id, Token::Src)) => waits.read = 1 << id,
            // A token in use is waited for before it is set again.
            Some((id, Token::Dst | Token::Set)) => waits.written = 1 << id,
            None => {}
        }
        self.wait(waits, own.no_mask);
        let k = usize::from(own.no_mask);
        if own.out_of_order {
            let Some((id, Token::Set)) = plan.swsb.token else { return };
            let token = 1 << id;
            bits(own.writes).for_each(|r| self.tokens.written[k][r] |= token);
            bits(own.reads).for_each(|r| self.tokens.read[k][r] |= token);
            self.written_here &= !token;
            self.read_here &= !token;
        } else if own.counts {
            bits(own.writes).for_each(|r| self.written[k][r] = self.now);
            bits(own.special_writes.into()).for_each(|r| self.written[k][GENERAL + r] = self.now);
            bits(own.reads).for_each(|r| self.read[k][r] = self.now);
            self.now += 1;
        }
    }

    /// Tokens of pending instructions.
    fn busy(&self) -> u16 {
        let all = self.tokens.written.iter().chain(&self.tokens.read).flatten();
        all.fold(0, |all, tokens| all | tokens)
    }
}

/// Tokens of out-of-order instructions.
struct Allocation {
    /// The token of each instruction.
    of: Vec<Option<u8>>,
    /// When each token was set last, in the order of asking.
    last: [u32; 16],
    count: u32,
}

impl Allocation {
    /// The token of an instruction: at first one that is not pending, if there is one, and of those the one that was set
    /// longest ago.
    fn token(&mut self, n: usize, state: &State) -> u8 {
        if let Some(id) = self.of[n] {
            return id;
        }
        let busy = state.busy();
        let id = (0..16u8).min_by_key(|&id| (busy >> id & 1, self.last[usize::from(id)]));
        let id = id.unwrap_or(0);
        self.count += 1;
        self.last[usize::from(id)] = self.count;
        self.of[n] = Some(id);
        id
    }
}

/// Divides waits between the annotation of an instruction and `sync` before it.
fn plan(needs: Waits, own: &Footprint, token: Option<u8>) -> Plan {
    let mut before = Waits { distance: 0, ..needs };
    let distance = needs.distance as u8;
    let swsb = match token {
        // Always @1. source: Mesa, brw_generator.cpp (Wa_14013672992)
        _ if own.ends => Swsb { distance: 1, token: None },
        Some(id) => {
            // Setting a token waits for it.
            before.written &= !(1 << id);
            before.read &= !(1 << id);
            Swsb { distance, token: Some((id, Token::Set)) }
        }
        None if needs.written != 0 => {
            let id = needs.written.trailing_zeros() as u8;
            before.written &= !(1 << id);
            Swsb { distance, token: Some((id, Token::Dst)) }
        }
        None if needs.read != 0 && distance == 0 => {
            let id = needs.read.trailing_zeros() as u8;
            before.read &= !(1 << id);
            Swsb { distance, token: Some((id, Token::Src)) }
        }
        None => Swsb { distance, token: None },
    };
    Plan { before, swsb }
}

/// The pass over one program.
struct Pass {
    code: Code,
    footprints: Vec<Footprint>,
    /// First instruction of each block, and the end.
    first: Vec<usize>,
    /// Block of each instruction.
    block: Vec<u32>,
    tokens: Allocation,
}

impl Pass {
    fn new(code: Code) -> Pass {
        let n = code.len();
        let mut leads = vec![false; n + 1];
        leads[0] = true;
        for k in 0..n {
            let inst = &code.insts()[k];
            if inst.opcode.has_branch_control() || inst.opcode.is_send() && inst.send.end_of_thread
            {
                leads[k + 1] = true;
                code.successors(k).into_iter().for_each(|to| leads[to.min(n)] = true);
            }
        }
        leads[n] = true;
        let first: Vec<usize> = (0..=n).filter(|&k| leads[k]).collect();
        let mut block = Vec::with_capacity(n);
        for (b, range) in first.windows(2).enumerate() {
            block.extend(std::iter::repeat_n(b as u32, range[1] - range[0]));
        }
        let footprints = (0..n).map(|k| Footprint::new(&code, k)).collect();
        let tokens = Allocation { of: vec![None; n], last: [0; 16], count: 0 };
        Pass { code, footprints, first, block, tokens }
    }

    /// The annotation of an instruction in a state, which it changes. It waits for tokens of `others` too.
    fn step(&mut self, n: usize, state: &mut State, others: Waits) -> Plan {
        let own = self.footprints[n];
        let sets = own.out_of_order && !own.ends;
        let token = sets.then(|| self.tokens.token(n, state));
        let mut needs = state.needs(&own);
        needs.written |= others.written;
        needs.read |= others.read & !needs.written;
        let plan = plan(needs, &own, token);
        state.execute(&own, &plan);
        plan
    }

    /// Annotations of a block, and what is pending at its end. Waits that do not fit into one go to earlier instructions
    /// whose annotation has room.
    fn block(&mut self, b: usize, entry: &Entry) -> (Vec<Plan>, State) {
        let range = self.first[b]..self.first[b + 1];
        let mut state = State::new(entry);
        let none = Waits::default();
        let plans: Vec<_> = range.clone().map(|n| self.step(n, &mut state, none)).collect();
        let mut earlier = vec![none; plans.len()];
        for k in 0..plans.len() {
            let Waits { written, read, .. } = plans[k].before;
            let waits = [(written, true), (read, false)];
            for (mask, is_result) in waits.into_iter().filter(|(mask, _)| mask.is_power_of_two()) {
                if let Some(to) = self.carrier(range.start, k, &plans, &earlier, mask, is_result) {
                    let waits = &mut earlier[to];
                    *(if is_result { &mut waits.written } else { &mut waits.read }) = mask;
                }
            }
        }
        if earlier.iter().all(|waits| *waits == none) {
            return (plans, state);
        }
        let mut state = State::new(entry);
        let plans = range.zip(earlier).map(|(n, waits)| self.step(n, &mut state, waits)).collect();
        (plans, state)
    }

    /// The nearest earlier instruction of the block from `start` on that can wait for a token which instruction `k` of it
    /// needs: in order, with nothing in its annotation that excludes it. Messages do not wait for results of others.
    fn carrier(
        &self,
        start: usize,
        k: usize,
        plans: &[Plan],
        earlier: &[Waits],
        mask: u16,
        is_result: bool,
    ) -> Option<usize> {
        let no_mask = self.footprints[start + k].no_mask;
        let most = if is_result { EARLIER_RESULT } else { EARLIER_READ };
        for to in (k.saturating_sub(most)..k).rev() {
            let own = &self.footprints[start + to];
            let plan = &plans[to];
            if own.out_of_order {
                let sets = plan.swsb.token.is_none_or(|(id, _)| mask >> id & 1 != 0);
                if is_result || sets {
                    return None;
                }
                continue;
            }
            let has_room = plan.swsb.token.is_none()
                && earlier[to] == Waits::default()
                && (is_result || plan.swsb.distance == 0);
            if own.counts && has_room && (own.no_mask || !no_mask) {
                return Some(to);
            }
        }
        None
    }

    /// Pending accesses at the start of each block.
    fn entries(&mut self) -> Vec<Option<Entry>> {
        let blocks = self.first.len() - 1;
        let mut entries: Vec<Option<Entry>> = vec![None; blocks];
        if let Some(entry) = entries.first_mut() {
            *entry = Some(Entry::EMPTY);
        }
        let mut open = BTreeSet::from([0]);
        while let Some(b) = open.pop_first() {
            let Some(entry) = entries.get_mut(b).and_then(Option::take) else { continue };
            let state = self.block(b, &entry).1;
            entries[b] = Some(entry);
            for to in self.code.successors(self.first[b + 1] - 1) {
                let Some(&to) = self.block.get(to) else { continue };
                let is_new = entries[to as usize].is_none();
                let entry = entries[to as usize].get_or_insert(Entry::EMPTY);
                if entry.merge(&state) || is_new {
                    open.insert(to as usize);
                }
            }
        }
        entries
    }
}

/// A `sync` without a mask.
fn sync(like: &Inst, function: SyncFunction, src: Src, swsb: Swsb) -> Inst {
    let mut inst = Inst::new(like.generation, Opcode::Sync);
    inst.exec_size = 1;
    inst.no_mask = true;
    inst.function = function as u8;
    inst.src[0] = src;
    inst.swsb = swsb;
    inst
}

/// The `sync` instructions of waits for tokens: one for each kind.
fn syncs(like: &Inst, waits: Waits) -> impl Iterator<Item = Inst> + use<'_> {
    let kinds = [
        (waits.written, SyncFunction::AllWr, Token::Dst),
        (waits.read, SyncFunction::AllRd, Token::Src),
    ];
    kinds.into_iter().filter(|(mask, ..)| *mask != 0).map(move |(mask, all, token)| {
        if mask.is_power_of_two() {
            let id = mask.trailing_zeros() as u8;
            let swsb = Swsb { distance: 0, token: Some((id, token)) };
            return sync(like, SyncFunction::Nop, SYNC_SOURCE, swsb);
        }
        sync(like, all, Src::immediate(Type::UD, mask.into()), Swsb::NONE)
    })
}

/// Annotates a program of threads of some channels.
pub fn run(listing: Listing, width: u8) -> Listing {
    let Listing { insts, targets, origins, loops, has_barrier } = listing;
    let mut pass = Pass::new(Code::with_targets(insts, &targets));
    let entries = pass.entries();
    let mut out = Listing { loops, has_barrier, ..Listing::default() };
    let mut push = |inst: Inst, targets: Targets, origin| {
        out.insts.push(inst);
        out.targets.push(targets);
        out.origins.push(origin);
    };
    // The first instruction has an enabled channel. source: Mesa, brw_workaround.cpp (Wa_14015360517)
    let mut next = 0;
    if let Some(first) = pass.code.insts().first().copied()
        && !first.no_mask
        && first.exec_size != width
    {
        let mut dummy = Inst::new(first.generation, Opcode::Mov);
        dummy.no_mask = true;
        dummy.src[0] = Src::immediate(Type::UD, 0);
        push(dummy, Targets::default(), origins[0]);
        next = 1;
    }
    let mut moved = Vec::with_capacity(pass.code.len() + 1);
    for (b, entry) in entries.iter().enumerate() {
        let plans = pass.block(b, entry.as_ref().unwrap_or(&Entry::EMPTY)).0;
        for (n, plan) in (pass.first[b]..pass.first[b + 1]).zip(plans) {
            moved.push(next);
            let mut inst = pass.code.insts()[n];
            for sync in syncs(&inst, plan.before) {
                push(sync, Targets::default(), origins[n]);
                next += 1;
            }
            inst.swsb = plan.swsb;
            push(inst, targets[n], origins[n]);
            next += 1;
        }
    }
    moved.push(next);
    for Targets { jip, uip } in &mut out.targets {
        for target in [jip, uip].into_iter().flatten() {
            *target = moved[*target];
        }
    }
    out
}
