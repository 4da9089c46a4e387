//! Sequences of instructions that Mesa's compiler makes from one of its own, and whose cycles its model has for the whole.
//!
//! The model of [`crate::cycles`] uses them, so that its figures are comparable with Mesa's: an indirect move, for instance,
//! is the computation of an address and a move of which the second waits for the first's result. source: Mesa 25.0 and
//! 26.1, `brw_generator.cpp`, `brw_eu_emit.c` (`brw_broadcast`).

use tepui_intel_isa::{
    Arf, Condition, Generation, Inst, Location, Opcode, Region, Register, SyncFunction, Token, Type,
};

use crate::access::{self, Descriptors, REGISTER_BYTES, Span};
use crate::code::Code;
use crate::timing::{self, Class, Sizes};

/// A group of consecutive instructions with the cycles of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// Number of instructions.
    pub len: usize,
    /// Their class.
    pub class: Class,
    /// Their sizes.
    pub sizes: Sizes,
    /// Registers that are read through a0, as far as the sequence tells.
    pub indirect: Span,
    /// Whether a0 is the sequence's own: nothing else waits for it.
    pub owns_address: bool,
}

impl Group {
    fn new(len: usize, class: Class, sized_by: &Inst) -> Group {
        let sizes = timing::sizes(sized_by, Descriptors::of(sized_by));
        Group { len, class, sizes, indirect: Span::NONE, owns_address: false }
    }
}

/// The group that begins at an instruction of a program of `width` channels: itself alone unless it begins a sequence.
pub fn group(code: &Code, n: usize, width: u8) -> Group {
    let rest = &code.insts()[n..];
    let found = barrier(rest)
        .or_else(|| shuffle(rest))
        .or_else(|| indirect_move(rest, width))
        .or_else(|| quad_swizzle(rest))
        .or_else(|| select_by_enables(rest))
        .or_else(|| scratch_header(rest))
        .or_else(|| float_mode(rest))
        .or_else(|| live_channels(rest))
        .or_else(|| read_state(rest))
        .or_else(|| read_state_with_token(rest));
    if let Some(group) = found {
        return group;
    }
    // The instruction whose cycles count, after those that only wait.
    let last = n + usize::from(ends_with_token(code, n));
    let inst = &code.insts()[last];
    let free = is_halt_target(code, n)
        || inst.opcode == Opcode::Nop
        || is_fence(inst)
        || waits_for_fence(code, n)
        || clears_accumulator_at_end(rest);
    let descriptors = code.descriptors(last);
    let class = if free { Class::Label } else { timing::class(inst, descriptors) };
    let sizes = timing::sizes(inst, descriptors);
    Group { len: last + 1 - n, class, sizes, indirect: Span::NONE, owns_address: false }
}

fn in_architecture(location: Location, wanted: Arf) -> bool {
    matches!(location, Location::Direct { register: Register::Architecture(arf, _), .. } if arf == wanted)
}

fn immediate(inst: &Inst, n: usize) -> Option<usize> {
    inst.src[n].immediate_bits().map(|bits| (bits & 0xffff) as usize)
}

fn reads_indirect(inst: &Inst) -> bool {
    inst.opcode == Opcode::Mov && matches!(inst.src[0].location, Location::Indirect { .. })
}

fn to_address(inst: &Inst, opcode: Opcode) -> bool {
    inst.opcode == opcode && in_architecture(inst.dst.location, Arf::Address)
}

/// The message and the wait.
fn barrier(rest: &[Inst]) -> Option<Group> {
    let [message, wait, ..] = rest else { return None };
    if !message.opcode.is_send()
        || timing::class(message, Descriptors::of(message)) != Class::Barrier
    {
        return None;
    }
    let waits = wait.opcode == Opcode::Wait
        || wait.opcode == Opcode::Sync && wait.function == SyncFunction::Bar as u8;
    waits.then(|| Group::new(2, Class::Barrier, message))
}

/// Registers from a byte of the file on.
fn registers_at(byte: usize, bytes: usize) -> Span {
    let last = (byte + bytes.max(1) - 1) / REGISTER_BYTES;
    match (u8::try_from(byte / REGISTER_BYTES), last < 128) {
        (Ok(first), true) => Span { first, count: (last - byte / REGISTER_BYTES + 1) as u8 },
        _ => Span::NONE,
    }
}

/// A move from the channel that another value names, up to 16 channels at a time: a constant address for all channels, the
/// offset, their sum, the move.
fn shuffle(rest: &[Inst]) -> Option<Group> {
    let step = |rest: &[Inst]| -> Option<(usize, usize, usize)> {
        let [mov, shl, add, last, ..] = rest else { return None };
        let is = to_address(mov, Opcode::Mov)
            && mov.no_mask
            && to_address(shl, Opcode::Shl)
            && to_address(add, Opcode::Add)
            && reads_indirect(last);
        if !is {
            return None;
        }
        // 64 bits in two halves.
        let halves =
            rest.get(4).is_some_and(|more| reads_indirect(more) && last.dst.ty.bytes() == 4);
        let base = immediate(add, 1)?;
        Some((4 + usize::from(halves), base, immediate(shl, 1)?))
    };
    let (mut len, base, shift) = step(rest)?;
    let last = &rest[len - 1];
    let mut channels = usize::from(last.exec_size);
    while let Some((more, next, _)) = step(&rest[len..])
        && next == base
        && rest[len].channel_offset > rest[0].channel_offset
        && channels < 32
    {
        channels += usize::from(rest[len + more - 1].exec_size);
        len += more;
    }
    let mut group = Group::new(len, Class::Shuffle, last);
    group.indirect = registers_at(base, channels << (shift & 3));
    group.owns_address = true;
    Some(group)
}

/// A move from a0 of all channels, or of the one that a value names (`broadcast`).
fn indirect_move(rest: &[Inst], width: u8) -> Option<Group> {
    let [first, second, ..] = rest else { return None };
    let third = rest.get(2);
    let moves = |n: usize| rest.get(n).is_some_and(reads_indirect);
    let (steps, class, base) = if to_address(first, Opcode::Mov)
        && first.no_mask
        && to_address(second, Opcode::Add)
        && moves(2)
    {
        (2, Class::IndirectMove, immediate(second, 1)?)
    } else if to_address(first, Opcode::Shl) && moves(1) && second.exec_size == 1 {
        (1, Class::Broadcast, 0)
    } else if to_address(first, Opcode::Shl)
        && to_address(second, Opcode::Add)
        && moves(2)
        && third.is_some_and(|inst| inst.exec_size == 1)
    {
        (2, Class::Broadcast, immediate(second, 1)?)
    } else {
        return None;
    };
    let last = &rest[steps];
    let offset = match last.src[0].location {
        Location::Indirect { offset, .. } => usize::try_from(offset).ok()?,
        _ => 0,
    };
    let halves = rest.get(steps + 1).is_some_and(|more| {
        matches!(more.src[0].location, Location::Indirect { offset, .. } if offset != 0 && reads_indirect(more) && steps == 2)
    });
    let mut group = Group::new(steps + 1 + usize::from(halves), class, last);
    // What an indirect move may read is not known from here: its first register is.
    let bytes = match class {
        Class::Broadcast => usize::from(width) << (immediate(first, 1).unwrap_or(0) & 3),
        _ => 1,
    };
    group.indirect = registers_at(base + offset, bytes);
    group.owns_address = true;
    Some(group)
}

/// Moves within quads: in Align16 with a swizzle, or a component at a time.
fn quad_swizzle(rest: &[Inst]) -> Option<Group> {
    let first = &rest[0];
    if first.opcode != Opcode::Mov {
        return None;
    }
    if let Region::Swizzle { swizzle, .. } = first.src[0].region
        && swizzle != Region::XYZW
    {
        return Some(Group::new(1, Class::QuadSwizzle, first));
    }
    let component = |inst: &Inst| {
        let region =
            matches!(inst.src[0].region, Region::Rows { vertical: 4, width: 1, horizontal: 0 });
        inst.opcode == Opcode::Mov && inst.no_mask && region && inst.dst.stride == 4
    };
    if rest.len() < 4 || !rest[..4].iter().all(component) {
        return None;
    }
    let mut whole = *first;
    whole.exec_size = first.exec_size.saturating_mul(4);
    whole.dst.stride = 1;
    Some(Group::new(4, Class::QuadSwizzle, &whole))
}

/// A value for all channels, replaced by another for those that are enabled.
fn select_by_enables(rest: &[Inst]) -> Option<Group> {
    let [all, enabled, ..] = rest else { return None };
    let plain = |inst: &Inst| {
        inst.opcode == Opcode::Mov
            && inst.condition == Condition::None
            && inst.predicate.control == 0
            && timing::general(inst.dst.location).is_some()
    };
    let is = plain(all)
        && plain(enabled)
        && all.no_mask
        && !enabled.no_mask
        && all.dst == enabled.dst
        && all.exec_size == enabled.exec_size
        && all.channel_offset == enabled.channel_offset
        && all.src[0].location != enabled.src[0].location
        // The second waits for nothing.
        && enabled.swsb == tepui_intel_isa::Swsb::NONE;
    is.then(|| Group::new(2, Class::SelectByEnables, enabled))
}

/// The header of scratch messages: zeros, then two fields of g0.
fn scratch_header(rest: &[Inst]) -> Option<Group> {
    let [zero, space, base, ..] = rest else { return None };
    let field = |inst: &Inst, dword: u8| {
        let at = |location: Location| match location {
            Location::Direct { register: Register::General(n), byte } => Some((n, byte)),
            _ => None,
        };
        inst.opcode == Opcode::And
            && inst.exec_size == 1
            && at(inst.dst.location) == at(zero.dst.location).map(|(n, _)| (n, 4 * dword))
            && at(inst.src[0].location).is_some_and(|(_, byte)| byte == 4 * dword)
    };
    let is = zero.opcode == Opcode::Mov
        && zero.no_mask
        && zero.src[0].immediate_bits() == Some(0)
        && field(space, 3)
        && field(base, 5);
    is.then(|| Group::new(3, Class::Alu, zero))
}

/// Changes of the control register: bits cleared, bits set.
fn float_mode(rest: &[Inst]) -> Option<Group> {
    let writes = |inst: &Inst| {
        in_architecture(inst.dst.location, Arf::Control)
            && matches!(inst.opcode, Opcode::And | Opcode::Or)
    };
    if !writes(&rest[0]) {
        return None;
    }
    let mut len = 1;
    if rest[0].opcode == Opcode::And
        && rest.get(1).is_some_and(|inst| writes(inst) && inst.opcode == Opcode::Or)
    {
        len = 2;
    }
    let synced = |n: usize| {
        rest[0].generation >= Generation::Gen12
            && rest.get(n).is_some_and(|inst| {
                inst.opcode == Opcode::Sync
                    && inst.function == SyncFunction::Nop as u8
                    && inst.swsb.token.is_none()
            })
    };
    if synced(len) {
        len += 1;
    }
    Some(Group::new(len, Class::FloatMode, &rest[0]))
}

/// The channel enables to a flag register, and on Gen12 the `sync` after it.
fn live_channels(rest: &[Inst]) -> Option<Group> {
    let inst = &rest[0];
    let is = inst.opcode == Opcode::Mov
        && in_architecture(inst.dst.location, Arf::Flag)
        && in_architecture(inst.src[0].location, Arf::Mask);
    let synced = inst.generation >= Generation::Gen12 && rest.get(1).is_some_and(is_sync_nop);
    is.then(|| {
        let mut group = Group::new(1 + usize::from(synced), Class::LiveChannels, inst);
        group.sizes.destination = 0;
        group
    })
}

/// On Gen12, a read of the thread's state and an `and` of the result with ones, as the instruction after such a read must
/// wait for it.
fn read_state(rest: &[Inst]) -> Option<Group> {
    let [read, and, ..] = rest else { return None };
    let state = [Arf::Mask, Arf::State, Arf::Control, Arf::Timestamp];
    let is = read.generation >= Generation::Gen12
        && read.opcode == Opcode::Mov
        && state.iter().any(|&arf| in_architecture(read.src[0].location, arf))
        && and.opcode == Opcode::And
        && and.dst == read.dst
        && and.src[1].immediate_bits() == Some(0xffff_ffff);
    is.then(|| Group::new(2, Class::ReadState, read))
}

fn is_sync_nop(inst: &Inst) -> bool {
    inst.opcode == Opcode::Sync && inst.function == SyncFunction::Nop as u8
}

/// Version of [`read_state`] after a `sync`: the read has a distance of its own, so that a token is waited for in front of it.
fn read_state_with_token(rest: &[Inst]) -> Option<Group> {
    let is = is_sync_nop(&rest[0]) && rest[0].swsb.token.is_some();
    let read = read_state(rest.get(1..).filter(|rest| is && !rest.is_empty())?)?;
    Some(Group { len: read.len + 1, ..read })
}

/// Wa_14013672992: the last message has a distance, so that a token that it waits for has a `sync`. Without the workaround it
/// would have one as well if the message has no place for the token: if it waits for an in-order instruction, too, or if it
/// has a mask and the instruction that it waits for has none.
fn ends_with_token(code: &Code, n: usize) -> bool {
    let [sync, end, ..] = &code.insts()[n..] else { return false };
    let Some((id, Token::Src | Token::Dst)) = sync.swsb.token else { return false };
    if !is_sync_nop(sync) || !end.opcode.is_send() || !end.send.end_of_thread {
        return false;
    }
    let allowed = |k: usize| end.no_mask || !code.insts()[k].no_mask;
    let payload = code.access(n + 1).read_mask();
    let mut waits = (n.saturating_sub(WINDOW)..n)
        .rev()
        .filter(|&k| !access::is_out_of_order(&code.insts()[k]) && !is_sync_nop(&code.insts()[k]))
        .take(access::IN_ORDER_DEPTH)
        .filter(|&k| code.access(k).writes.mask() & payload != 0)
        .peekable();
    let in_order = waits.peek().is_some() && waits.all(allowed);
    !in_order && setter(code, n, id).is_none_or(allowed)
}

/// Instructions in front of another that are looked at.
const WINDOW: usize = 4096;

/// The last instruction in front of another that sets a token.
fn setter(code: &Code, n: usize, id: u8) -> Option<usize> {
    (n.saturating_sub(WINDOW)..n)
        .rev()
        .find(|&k| code.insts()[k].swsb.token == Some((id, Token::Set)))
}

/// A `sync` that waits for a fence message just before: it orders what follows.
fn waits_for_fence(code: &Code, n: usize) -> bool {
    let inst = &code.insts()[n];
    let Some((id, Token::Dst)) = inst.swsb.token.filter(|_| is_sync_nop(inst)) else {
        return false;
    };
    let set = setter(code, n, id).filter(|k| n - k <= 3);
    set.is_some_and(|k| {
        let class = timing::class(&code.insts()[k], code.descriptors(k));
        matches!(class, Class::DataFence | Class::RenderFence)
    })
}

/// Whether an instruction is the HALT at which suspended channels resume.
fn is_halt_target(code: &Code, n: usize) -> bool {
    code.insts()[n].opcode == Opcode::Halt && code.targets(n) == [Some(n + 1); 2]
}

/// A move to nowhere, which only waits.
fn is_fence(inst: &Inst) -> bool {
    inst.opcode == Opcode::Mov
        && inst.dst.location == Location::NULL
        && inst.condition == Condition::None
}

/// Wa_14010017096: the accumulator is cleared before the end of the thread.
fn clears_accumulator_at_end(rest: &[Inst]) -> bool {
    let [clear, end, ..] = rest else { return false };
    clear.generation >= Generation::Gen12
        && clear.opcode == Opcode::Mov
        && in_architecture(clear.dst.location, Arf::Accumulator)
        && clear.src[0].immediate_bits() == Some(0)
        && clear.src[0].ty == Type::F
        && end.opcode.is_send()
        && end.send.end_of_thread
}
