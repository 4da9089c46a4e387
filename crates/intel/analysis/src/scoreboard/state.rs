//! The instructions that may not have completed at a place of a program.

use tepui_intel_isa::{Desc, Flag, Inst, Opcode, Predicate, Sfid, Swsb, SyncFunction, Token};

use super::{Finding, Hazard, Missing, Rules, ScoreboardRegister};
use crate::access::{Access, IN_ORDER_DEPTH, is_out_of_order};

/// Limit on the pending instructions at a place.
pub const MAX_PENDING: usize = 512;

/// Share of an instruction in the distances of later ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Always.
    InOrder,
    /// If jumps count.
    Jump,
    /// If barriers count.
    Barrier,
    /// Never: it completes out of order, or only waits.
    Other,
}

/// Whether an instruction has an operand of 64 bits. source: Intel Graphics Compiler, RegDeps.cpp (`setDEPPipeClass_SingleDistPipe`)
fn is_long(inst: &Inst) -> bool {
    let sources = inst.src[..inst.sources()].iter().map(|src| src.ty);
    sources.chain([inst.dst.ty]).any(|ty| ty.bytes() == 8)
}

/// Messages that are sent in order: those with the same destination and channels.
/// source: Intel Graphics Compiler, SWSB_G4IR.cpp (`hasSameFunctionID`, `hasSamePredicator`, `hasSameExecMask`)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Queue {
    function: Sfid,
    /// To local memory, which has a way of its own.
    local: bool,
    channels: [u8; 2],
    predicate: Predicate,
    flag: Flag,
}

impl Queue {
    /// The binding table index of local memory.
    const LOCAL: u32 = 0xfe;

    /// The queue of a message whose descriptor is known.
    fn of(inst: &Inst) -> Option<Queue> {
        let Desc::Immediate(descriptor) = inst.send.desc else { return None };
        (inst.opcode.is_send() && !inst.no_mask).then_some(Queue {
            function: inst.send.sfid,
            local: descriptor & 0xff == Queue::LOCAL,
            channels: [inst.exec_size, inst.channel_offset],
            predicate: inst.predicate,
            flag: inst.flag,
        })
    }
}

/// Facts about an instruction that the scoreboard needs.
#[derive(Clone, Copy, Debug)]
pub struct Footprint {
    /// General registers that are read.
    reads: u128,
    /// General registers that are written.
    writes: u128,
    /// General registers that are read and written through a0, where that is known.
    indirect: [u128; 2],
    /// Bit 0: reads a0; bits 1 to 16: accumulators that are operands.
    special_reads: u32,
    /// Special registers that are written, implicit ones included.
    special_writes: u32,
    access: Access,
    swsb: Swsb,
    out_of_order: bool,
    /// It has an operand of 64 bits: it is in the long pipe, if it is in order.
    long: bool,
    no_mask: bool,
    message: bool,
    queue: Option<Queue>,
    kind: Kind,
    /// Tokens whose payloads it waits for, and whose results, besides the annotation's.
    waits: [u16; 2],
}

impl Footprint {
    /// The footprint of an instruction with these accesses.
    pub fn new(inst: &Inst, access: &Access) -> Footprint {
        // `sync.allrd` and `sync.allwr` name tokens by a mask; null is all.
        let mask = inst.src[0].immediate_bits().map_or(u16::MAX, |bits| bits as u16);
        let is =
            |function: SyncFunction| inst.opcode == Opcode::Sync && inst.function == function as u8;
        let of = |function| if is(function) { mask } else { 0 };
        let kind = match inst.opcode {
            Opcode::Sync if inst.function == SyncFunction::Bar as u8 => Kind::Barrier,
            Opcode::Sync => Kind::Other,
            _ if is_out_of_order(inst) => Kind::Other,
            opcode if opcode.has_branch_control() => Kind::Jump,
            _ => Kind::InOrder,
        };
        let special =
            |address: bool, accumulators: u16| u32::from(address) | u32::from(accumulators) << 1;
        Footprint {
            reads: access.read_mask(),
            writes: access.writes.mask(),
            indirect: [0; 2],
            special_reads: special(access.reads_address, access.accumulator_reads.operand),
            special_writes: special(access.writes_address, access.accumulator_writes.all()),
            access: *access,
            swsb: inst.swsb,
            out_of_order: is_out_of_order(inst),
            long: is_long(inst),
            no_mask: inst.no_mask,
            message: inst.opcode.is_send(),
            queue: Queue::of(inst),
            kind,
            waits: [of(SyncFunction::AllRd), of(SyncFunction::AllWr)],
        }
    }

    /// Sets the general registers that are read and written through a0.
    pub fn set_indirect(&mut self, indirect: [u128; 2]) {
        self.indirect = indirect;
    }

    fn reads(&self) -> u128 {
        self.reads | self.indirect[0]
    }

    fn writes(&self) -> u128 {
        self.writes | self.indirect[1]
    }

    fn counts(&self, rules: Rules) -> bool {
        match self.kind {
            Kind::InOrder => true,
            Kind::Jump => rules.jumps_count,
            Kind::Barrier => rules.barriers_count,
            Kind::Other => false,
        }
    }

    /// Registers of the mask of which it touches a byte that an earlier instruction writes.
    fn touched(&self, producer: &Footprint, mask: u128, own: fn(&Access, u8) -> u32) -> u128 {
        let indirect = self.indirect[0] | self.indirect[1] | producer.indirect[1];
        let mut touched = mask & indirect;
        let mut rest = mask & !indirect;
        while rest != 0 {
            let register = rest.trailing_zeros() as u8;
            rest &= rest - 1;
            if own(&self.access, register) & producer.access.written_bytes(register) != 0 {
                touched |= 1 << register;
            }
        }
        touched
    }

    /// Whether hardware reads its payload before a later message takes effect.
    fn is_sent_before(&self, later: &Footprint, rules: Rules) -> bool {
        !rules.payload_order && self.queue.is_some() && self.queue == later.queue
    }

    fn is_idle(&self) -> bool {
        self.reads() == 0 && self.writes() == 0 && self.special_writes == 0
    }
}

/// An instruction that may not have completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pending {
    /// Its index.
    producer: u32,
    /// In-order instructions: the least number of in-order instructions since, itself included.
    distance: u8,
    /// Out-of-order instructions: the token, if one was set.
    token: Option<u8>,
    /// Whether its sources may not have been read.
    src: bool,
    /// Whether its results may not have been written.
    dst: bool,
    /// The block in which an instruction with a mask waited for it, where that counts for instructions with a mask only.
    waited_in: Option<u32>,
    /// The block in which such an instruction waited for its sources to be read.
    read_in: Option<u32>,
    /// A later message, whose payload is read after its own.
    before: Option<u32>,
}

/// A pair of accesses that is not ordered.
#[derive(Clone, Copy, Debug)]
pub struct Conflict {
    pending: Pending,
    out_of_order: bool,
    hazard: Hazard,
    register: ScoreboardRegister,
}

impl Conflict {
    /// The finding of the instruction that has it.
    pub fn finding(&self, consumer: usize) -> Finding {
        let read_in = self.pending.read_in.filter(|_| self.hazard == Hazard::WriteAfterRead);
        let waited_in = self.pending.waited_in.or(read_in);
        let missing = match (waited_in, self.out_of_order, self.pending.token) {
            (Some(_), ..) => Missing::WithoutMask,
            (None, false, _) => Missing::Distance(self.pending.distance.min(7)),
            (None, true, None) => Missing::Token,
            (None, true, Some(id)) if self.hazard == Hazard::WriteAfterRead => {
                Missing::TokenRead(id)
            }
            (None, true, Some(id)) => Missing::TokenWritten(id),
        };
        let (hazard, register) = (self.hazard, self.register);
        let producer = self.pending.producer as usize;
        Finding { consumer, producer, hazard, register, missing }
    }
}

/// Pending instructions, by index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    pending: Vec<Pending>,
}

impl State {
    /// Number of pending instructions.
    pub fn len(&self) -> usize {
        self.pending.len()
    }

    /// Enters a block: a wait in it the last time round a loop was with other channels.
    pub fn enter(&mut self, block: u32) {
        for pending in &mut self.pending {
            for place in [&mut pending.waited_in, &mut pending.read_in] {
                if *place == Some(block) {
                    *place = Some(u32::MAX);
                }
            }
        }
    }

    /// Drops what an instruction waits for before it is issued.
    pub fn wait(&mut self, n: usize, footprints: &[Footprint], block: u32, rules: Rules) {
        let own = &footprints[n];
        let distance = own.swsb.distance;
        let (mut read, mut written) = (own.waits[0], own.waits[1]);
        match own.swsb.token {
            Some((id, Token::Src)) => read |= 1 << (id & 15),
            // A token in use is waited for before it is set again.
            Some((id, Token::Dst | Token::Set)) => written |= 1 << (id & 15),
            None => {}
        }
        if distance == 0 && read == 0 && written == 0 {
            return;
        }
        self.pending.retain_mut(|pending| {
            let producer = &footprints[pending.producer as usize];
            let has = |mask: u16| pending.token.is_some_and(|id| mask >> id & 1 != 0);
            let (src, dst) = match producer.out_of_order {
                false if distance != 0 && pending.distance >= distance => (false, false),
                true if has(written) => (false, false),
                true if has(read) => (false, pending.dst),
                _ => return true,
            };
            if rules.masked_waits && producer.no_mask && !own.no_mask {
                *(if dst { &mut pending.read_in } else { &mut pending.waited_in }) = Some(block);
                return true;
            }
            (pending.src, pending.dst) = (src, dst);
            src || dst
        });
        self.read_before();
    }

    /// Drops reads of payloads before those of later messages that are known to have been read.
    fn read_before(&mut self) {
        for at in (0..self.pending.len()).rev() {
            let Some(later) = self.pending[at].before else { continue };
            let found = self.pending.binary_search_by_key(&later, |pending| pending.producer);
            if found.is_ok_and(|later| self.pending[later].src) {
                continue;
            }
            let pending = &mut self.pending[at];
            (pending.src, pending.before) = (false, None);
            if !pending.dst {
                self.pending.remove(at);
            }
        }
    }

    /// Reports what an instruction accesses that pending ones access, too.
    pub fn conflicts(
        &self,
        n: usize,
        footprints: &[Footprint],
        block: u32,
        rules: Rules,
        found: &mut impl FnMut(Conflict),
    ) {
        let own = &footprints[n];
        let waits = own.message && rules.descriptors_wait;
        let special_reads = if waits { 0 } else { own.special_reads };
        for pending in &self.pending {
            let producer = &footprints[pending.producer as usize];
            // In the same block the waiting instruction executed if this one does.
            if pending.waited_in == Some(block) && !own.no_mask {
                continue;
            }
            let ordered = !own.out_of_order && !producer.out_of_order;
            let mut report = |hazard, general: u128, special: u32| {
                let register = match (general, special) {
                    (0, 0) => return,
                    (0, special) if special & 1 != 0 => ScoreboardRegister::Address,
                    (0, special) => {
                        ScoreboardRegister::Accumulator(special.trailing_zeros() as u8 - 1)
                    }
                    (general, _) => ScoreboardRegister::General(general.trailing_zeros() as u8),
                };
                let out_of_order = producer.out_of_order;
                found(Conflict { pending: *pending, out_of_order, hazard, register });
            };
            if pending.dst {
                let by_bytes = ordered && !rules.whole_registers;
                let touched = |mask: u128, of_own: fn(&Access, u8) -> u32| match by_bytes {
                    true => own.touched(producer, mask, of_own),
                    false => mask,
                };
                let read = touched(own.reads() & producer.writes(), Access::read_bytes);
                let same_pipe = ordered && own.long == producer.long;
                let by_hardware = if same_pipe && !rules.accumulators { !1 } else { 0 };
                let special = special_reads & producer.special_writes & !by_hardware;
                report(Hazard::ReadAfterWrite, read, special);
                if !ordered || rules.in_order_writes {
                    let written = touched(own.writes() & producer.writes(), Access::written_bytes);
                    report(Hazard::WriteAfterWrite, written, 0);
                }
            }
            let is_read = pending.read_in == Some(block) && !own.no_mask;
            let is_read = is_read || producer.is_sent_before(own, rules);
            if pending.src && !ordered && !is_read {
                report(Hazard::WriteAfterRead, own.writes() & producer.reads(), 0);
            }
        }
    }

    /// Adds an instruction to the pending ones.
    pub fn issue(&mut self, n: usize, footprints: &[Footprint], rules: Rules) {
        let own = &footprints[n];
        let producer = n as u32;
        if own.counts(rules) {
            self.pending.retain_mut(|pending| {
                if footprints[pending.producer as usize].out_of_order {
                    return true;
                }
                pending.distance += 1;
                usize::from(pending.distance) <= IN_ORDER_DEPTH
            });
        }
        if own.is_idle() {
            return;
        }
        for pending in &mut self.pending {
            if pending.src && footprints[pending.producer as usize].is_sent_before(own, rules) {
                pending.before.get_or_insert(producer);
            }
        }
        let token = match own.swsb.token {
            Some((id, Token::Set)) if own.out_of_order => Some(id & 15),
            _ => None,
        };
        let fresh = Pending {
            producer,
            distance: 1,
            token,
            src: own.reads() != 0,
            dst: own.writes() != 0 || own.special_writes != 0,
            waited_in: None,
            read_in: None,
            before: None,
        };
        // One that is pending from the last time round a loop is older.
        match self.pending.binary_search_by_key(&producer, |pending| pending.producer) {
            Ok(at) => self.pending[at] = fresh,
            Err(at) => self.pending.insert(at, fresh),
        }
    }

    /// Adds what may be pending on another path; whether that changed anything.
    pub fn merge(&mut self, other: &State) -> bool {
        let mut changed = false;
        for theirs in &other.pending {
            let at = self.pending.binary_search_by_key(&theirs.producer, |ours| ours.producer);
            match at {
                Err(at) => {
                    self.pending.insert(at, *theirs);
                    changed = true;
                }
                Ok(at) => {
                    let ours = &mut self.pending[at];
                    let both = |a: Option<u32>, b: Option<u32>| a.and(b).and(a);
                    let joined = Pending {
                        producer: ours.producer,
                        distance: ours.distance.min(theirs.distance),
                        token: ours.token,
                        src: ours.src || theirs.src,
                        dst: ours.dst || theirs.dst,
                        // Of two blocks one is as good as the other: neither is the one that begins here.
                        waited_in: both(ours.waited_in, theirs.waited_in),
                        read_in: both(ours.read_in, theirs.read_in),
                        before: ours.before.filter(|_| ours.before == theirs.before),
                    };
                    changed |= joined != *ours;
                    *ours = joined;
                }
            }
        }
        changed
    }
}
