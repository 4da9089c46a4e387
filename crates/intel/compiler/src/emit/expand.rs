//! Instructions of the hardware for one of the machine IR.

use super::flags::Known;
use super::{BARRIER, Emit, MAX_WIDTH, Part, RESPONSE, byte};
use crate::error::Error;
use crate::mir::{
    Both, GRF_BYTES, Header, Inst as Mir, Message, MessageEffect, Op, Operand, Place,
    SHUFFLE_WIDTH, Scanned, UNIT_BYTES, plane_units,
};
use tepui_intel_isa::message::Descriptor;
use tepui_intel_isa::{
    Arf, Condition, Desc, Dst, Flag, Generation, Inst, Location, MathFunction, Opcode, Predicate,
    Region, Register, Sfid, Src, Type, descriptor,
};

/// The flag of conditions, each of which is used at once.
pub(super) const CONDITION: Flag = Flag { register: 0, half: 0 };

/// Numbers of the first eight channels, as an immediate vector: a nibble each.
const NUMBERS: u64 = 0x7654_3210;

/// Bits of g0.2 that name the barrier of the workgroup. source: Mesa, brw_fs_nir.cpp (`emit_barrier`)
const fn barrier_id(generation: Generation) -> u64 {
    match generation {
        Generation::Gen9 => 0x8f00_0000,
        Generation::Gen12 => 0x7f00_0000,
    }
}

/// Bit of a barrier's payload: the count of threads is given.
const BARRIER_COUNT_ENABLE: u64 = 1 << 15;

/// The widest instruction of an operation.
fn widest(inst: &Mir) -> u8 {
    match inst.op {
        Op::Alu { opcode: Opcode::Math, function, .. } => {
            let divides = matches!(
                MathFunction::from_code(function),
                Some(MathFunction::IntDiv | MathFunction::IntMod)
            );
            // source: Mesa, brw_lower_simd_width.cpp
            if divides || inst.dst.ty == Type::HF { 8 } else { MAX_WIDTH }
        }
        // Conversions between half floats and floats that are packed would be narrower; those in planes are not.
        Op::MulHigh | Op::Address | Op::Half(_) => 8,
        Op::Shuffle => SHUFFLE_WIDTH,
        Op::Scanned(Scanned::Before) => 8,
        Op::Send(m) => m.width,
        Op::Arrange { width, .. } | Op::Spread { width, .. } | Op::Resident { width, .. } => width,
        _ => MAX_WIDTH,
    }
}

/// The form of operands of ternary instructions on Gen9: groups of four channels.
fn align16(inst: &mut Inst) {
    inst.align16 = true;
    for src in &mut inst.src {
        if src.region != Region::SCALAR {
            src.region = Region::Swizzle { vertical: 4, swizzle: Region::XYZW };
        }
    }
}

/// The form of operands of ternary instructions on Gen12: the first two sources have vertical strides of at most 8, the third
/// one has a horizontal stride only.
fn align1(inst: &mut Inst) {
    for (k, src) in inst.src.iter_mut().enumerate() {
        if let Region::Rows { horizontal, .. } = src.region
            && src.region != Region::SCALAR
        {
            let (vertical, width) = if k == 2 { (horizontal, 1) } else { (8, 8 / horizontal) };
            src.region = Region::Rows { vertical, width, horizontal };
        }
    }
}

impl Emit {
    pub(super) fn expand(&mut self, inst: &Mir) {
        // All channels take part in a mask of channels.
        self.scalar = inst.is_scalar() && !matches!(inst.op, Op::Ballot(_));
        self.expand_parts(inst);
        self.scalar = false;
    }

    fn expand_parts(&mut self, inst: &Mir) {
        if self.stage(inst) {
            return;
        }
        match inst.op {
            Op::Ballot(condition) => return self.ballot(inst, condition),
            Op::Scan { opcode, condition, cluster } => {
                return self.scan(inst, opcode, condition, cluster);
            }
            Op::SamplerHeader { bits, table } => return self.sampler_header(inst, bits, table),
            Op::Clock => return self.clock(inst),
            Op::Barrier => return self.barrier(),
            Op::Fence { buffers, local } => return self.fence(buffers, local),
            Op::Interlock { end } => return self.interlock(end),
            _ => {}
        }
        for part in self.parts(widest(inst)) {
            match inst.op {
                Op::Alu { opcode, function, condition, saturate } => {
                    let mut out = self.alu(opcode, inst, part);
                    (out.function, out.condition, out.saturate) = (function, condition, saturate);
                    self.guard(&mut out);
                    self.push(out);
                }
                Op::Compare(condition) => self.compare(inst, condition, part),
                Op::Select(condition) => self.select(inst, condition, part),
                Op::Test(condition) => self.test(inst, condition, part),
                Op::CompareBoth(both) => self.both(inst, both, true, part),
                Op::TestBoth(both) => self.both(inst, both, false, part),
                Op::MulHigh => self.mul_high(inst, part),
                Op::Lane => self.lane(inst, part),
                Op::Address => self.address(inst, part),
                Op::Half(half) => self.half(inst, half, part),
                Op::Arrange { planes, .. } => self.arrange(inst, [planes; 2], part, true),
                Op::Spread { planes, taken, .. } => {
                    self.arrange(inst, [planes, taken], part, false)
                }
                Op::Resident { planes, .. } => self.resident(inst, planes, part),
                Op::Send(m) => self.send(inst, &m, part),
                Op::Scratch { store, units, at } => self.scratch(inst, store, units, at, part),
                Op::ReadLane => self.read_lane(inst, part),
                Op::Shuffle => self.shuffle(inst, part),
                Op::Scanned(which) => self.scanned(inst, which, part),
                _ => {}
            }
        }
    }

    fn alu(&self, opcode: Opcode, inst: &Mir, part: Part) -> Inst {
        let mut out = self.inst(opcode, part);
        out.dst = self.dst(&inst.dst, part);
        for (to, from) in out.src.iter_mut().zip(&inst.src) {
            if from.place != Place::None {
                *to = self.src(from, part);
            }
        }
        if out.form() == tepui_intel_isa::Form::Ternary {
            match self.generation {
                Generation::Gen9 => align16(&mut out),
                Generation::Gen12 => align1(&mut out),
            }
        }
        out
    }

    /// A comparison that writes the flag, unless the flag has its outcome or the instruction that computed the compared
    /// value can write it, and nothing else is wanted.
    pub(super) fn cmp(&mut self, inst: &Mir, condition: Condition, dst: Dst, part: Part) {
        let Part { first, width } = part;
        let sources = [inst.src[0], inst.src[1]];
        let known = Known { condition, sources, first, width, scalar: self.scalar };
        let only_flag = dst.location == Location::NULL;
        if only_flag && self.known.has(&known) {
            return;
        }
        if only_flag && self.fold_comparison(inst, condition, part) {
            self.known.set(known);
            return;
        }
        let mut out = self.inst(Opcode::Cmp, part);
        out.condition = condition;
        out.flag = CONDITION;
        out.dst = dst;
        out.src[0] = self.src(&inst.src[0], part);
        out.src[1] = self.src(&inst.src[1], part);
        // A result over what was compared ends that at once.
        self.known.set(known);
        self.push(out);
    }

    fn test(&mut self, inst: &Mir, condition: Condition, part: Part) {
        self.cmp(inst, condition, Self::no_result(inst), part);
    }

    fn compare(&mut self, inst: &Mir, condition: Condition, part: Part) {
        let narrow = inst.src[0].ty.bytes() < 4;
        let ty = if narrow { Type::W } else { Type::D };
        let result = Operand { ty, ..inst.dst };
        self.cmp(inst, condition, self.dst(&result, part), part);
        if narrow {
            let mut extend = self.inst(Opcode::Mov, part);
            extend.dst = self.dst(&Operand { ty: Type::D, ..inst.dst }, part);
            extend.src[0] = self.src(&result, part);
            self.push(extend);
        }
        self.flag_is(inst.dst, part);
    }

    /// Two comparisons, of which the second is made where the first one has not decided. Their result, if it is wanted, is
    /// written by both.
    fn both(&mut self, inst: &Mir, both: Both, wants_result: bool, part: Part) {
        let result = Operand { ty: Type::D, ..inst.dst };
        let dst = if wants_result { self.dst(&result, part) } else { Self::no_result(inst) };
        let [first, second] = both.conditions;
        self.cmp(inst, first, dst, part);
        let mut out = self.inst(Opcode::Cmp, part);
        out.condition = second;
        out.flag = CONDITION;
        out.predicate = Predicate { control: 1, inverse: both.either };
        out.dst = if wants_result { dst } else { Dst { ty: inst.src[2].ty, ..Dst::NULL } };
        out.src[0] = self.src(&inst.src[2], part);
        out.src[1] = self.src(&inst.src[3], part);
        self.known.clear();
        self.push(out);
        if wants_result {
            self.flag_is(inst.dst, part);
        }
    }

    fn select(&mut self, inst: &Mir, condition: Condition, part: Part) {
        self.test(inst, condition, part);
        let mut out = self.inst(Opcode::Sel, part);
        out.predicate = Predicate { control: 1, inverse: false };
        out.flag = CONDITION;
        out.dst = self.dst(&inst.dst, part);
        out.src[0] = self.src(&inst.src[2], part);
        out.src[1] = self.src(&inst.src[3], part);
        self.push(out);
    }

    /// The accumulator takes the product with the low words of the second source; `mach` adds the one with the high words.
    fn mul_high(&mut self, inst: &Mir, part: Part) {
        let accumulator = Location::register(Register::Architecture(Arf::Accumulator, 0));
        let [a, b] = [0, 1].map(|k| self.src(&inst.src[k], part));
        let mut low = self.inst(Opcode::Mul, part);
        low.dst = Dst { location: accumulator, ty: inst.dst.ty, ..Dst::NULL };
        low.src[0] = a;
        low.src[1] = self.src(&Operand { ty: Type::UW, ..inst.src[1] }, part);
        self.push(low);
        let mut high = self.inst(Opcode::Mach, part);
        high.acc_write = true;
        high.dst = self.dst(&inst.dst, part);
        (high.src[0], high.src[1]) = (a, b);
        self.push(high);
    }

    /// Numbers of channels: words of the first eight from an immediate, of others by addition. The words are in a register
    /// of their own, because those of one channel are in the double words of another.
    fn lane(&mut self, inst: &Mir, part: Part) {
        let words = |first: u8| byte(u16::from(RESPONSE) * GRF_BYTES + 2 * u16::from(first));
        if part.first == 0 {
            let mut first = self.no_mask(Opcode::Mov, 8);
            first.dst = Dst { location: words(0), ty: Type::UW, ..Dst::NULL };
            first.src[0] = Src::immediate(Type::UV, NUMBERS);
            self.push(first);
            if part.width > 8 {
                let mut second = self.no_mask(Opcode::Add, 8);
                second.dst = Dst { location: words(8), ty: Type::UW, ..Dst::NULL };
                second.src[0] = Src { location: words(0), ty: Type::UW, ..Src::NULL };
                second.src[1] = Src::immediate(Type::UW, 8);
                self.push(second);
            }
        }
        let mut out = self.inst(if part.first == 0 { Opcode::Mov } else { Opcode::Add }, part);
        out.dst = self.dst(&inst.dst, part);
        out.src[0] = Src { location: words(0), ty: Type::UW, ..Src::NULL };
        if part.first > 0 {
            out.src[1] = Src::immediate(Type::UW, part.first.into());
        }
        self.push(out);
    }

    /// The double words of values of 64 bits next to each other.
    fn address(&mut self, inst: &Mir, part: Part) {
        let Place::Plane(unit) = inst.dst.place else { return };
        let halves = inst.src.iter().take_while(|o| o.place != Place::None).count() as u16;
        for (k, src) in (0..).zip(&inst.src[..usize::from(halves)]) {
            let mut out = self.inst(Opcode::Mov, part);
            // Both double words of each channel, and the second value after the first one.
            let at = unit * UNIT_BYTES + 4 * halves * u16::from(part.first);
            let at = at + k / 2 * 8 * u16::from(part.width) + 4 * (k % 2);
            out.dst = Dst { location: byte(at), stride: 2, ..Dst::NULL };
            out.src[0] = self.src(src, part);
            self.push(out);
        }
    }

    fn half(&mut self, inst: &Mir, half: u8, part: Part) {
        let Place::Plane(unit) = inst.src[0].place else { return };
        let at = unit * UNIT_BYTES + 8 * u16::from(part.first) + 4 * u16::from(half);
        let mut out = self.inst(Opcode::Mov, part);
        out.dst = self.dst(&inst.dst, part);
        let region = Region::Rows { vertical: 8, width: 4, horizontal: 2 };
        out.src[0] = Src { location: byte(at), region, ..Src::NULL };
        self.push(out);
    }

    /// Copies a part of the first planes between planes and the order of messages.
    fn arrange(&mut self, inst: &Mir, [planes, taken]: [u8; 2], part: Part, to_message: bool) {
        let (Place::Plane(to), Place::Plane(from)) = (inst.dst.place, inst.src[0].place) else {
            return;
        };
        for k in 0..taken {
            let plane = 4 * u16::from(self.width) * u16::from(k) + 4 * u16::from(part.first);
            let message = 4 * u16::from(planes) * u16::from(part.first)
                + 4 * u16::from(part.width) * u16::from(k);
            let (dst, src) = if to_message { (message, plane) } else { (plane, message) };
            let mut out = self.inst(Opcode::Mov, part);
            out.dst = Dst { location: byte(to * UNIT_BYTES + dst), ..Dst::NULL };
            out.src[0] = Src { location: byte(from * UNIT_BYTES + src), ..Src::NULL };
            self.push(out);
        }
    }

    /// A message; the planes of payloads and response are consecutive registers.
    fn send(&mut self, inst: &Mir, m: &Message, part: Part) {
        let [payload, second, response] = m.planes;
        let registers = |planes: u8| planes * part.width / 8;
        let register = |o: &Operand, planes: u8| match o.place {
            // Each message has the parts of its planes together.
            Place::Plane(unit) => {
                Some(unit * UNIT_BYTES + 4 * u16::from(planes) * u16::from(part.first))
            }
            _ => None,
        };
        let header = m.header != Header::None;
        let mut out = self.inst(self.send_opcode(second > 0 || header || m.bindless), part);
        if let Some(at) = register(&inst.dst, response) {
            out.dst = Dst { location: byte(at), ..Dst::NULL };
        }
        let first = match m.header {
            Header::None => register(&inst.src[0], payload),
            Header::Thread => Some(0),
            // The same for the messages of all parts.
            Header::Value => register(&inst.src[0], 0),
        };
        let (then, lengths) = match m.header {
            Header::None => {
                (register(&inst.src[1], second), [registers(payload), registers(second)])
            }
            Header::Thread => (register(&inst.src[0], payload), [1, registers(payload)]),
            Header::Value => (register(&inst.src[1], payload), [1, registers(payload)]),
        };
        for (to, at) in out.src.iter_mut().zip([first, then]) {
            if let Some(at) = at {
                *to = Src { location: byte(at), ..Src::NULL };
            }
        }
        out.send.sfid = m.sfid;
        let returned = match m.residency {
            true => registers(response - 1) + 1,
            false => registers(response),
        };
        let group = match Descriptor::decode(m.sfid, m.control) {
            Descriptor::Data1 { op: Some(op), .. } => descriptor::typed_group(op, part.first),
            _ => 0,
        };
        let desc = m.control | group | descriptor::lengths(lengths[0], returned, header);
        out.send.desc = Desc::Immediate(desc);
        out.send.ex_desc = match m.bindless {
            false => Desc::Immediate(descriptor::payload1(lengths[1])),
            true => self.surface_handle(&inst.src[2], m.sfid, lengths[1]),
        };
        // Scratch memory is the invocation's own.
        let scratch = m.header == Header::Thread
            && m.sfid == Sfid::DataCache0
            && m.control as u8 == descriptor::STATELESS_NON_COHERENT;
        if m.effect == MessageEffect::Write && !scratch {
            self.only_live(&mut out);
        }
        self.guard(&mut out);
        self.push(out);
    }

    /// A plane in scratch memory. Stores write the double words of the channels that execute. Loads give whole registers,
    /// but other channels may have another value where the result goes: it is copied there under the mask.
    fn scratch(&mut self, inst: &Mir, store: bool, units: u8, at: u16, part: Part) {
        let registers = part.width / 8;
        let offset = u32::from(at) + u32::from(part.first / 8);
        if at == u16::MAX || offset >= 1 << 12 || units != plane_units(self.width) {
            let (needed, limit) = (u64::from(at) + 1, 1 << 12);
            let what = "registers of scratch memory for spilled values";
            self.error = self.error.take().or(Some(Error::Limit { what, needed, limit }));
            return;
        }
        let control = descriptor::scratch_block(store, registers, offset as u16);
        let g0 = self.payload(0);
        let mut out = self.inst(self.send_opcode(store), part);
        out.src[0] = g0;
        out.send.sfid = Sfid::DataCache0;
        let response = if store { 0 } else { registers };
        out.send.desc = Desc::Immediate(control | descriptor::lengths(1, response, true));
        let operand = if store { &inst.src[0] } else { &inst.dst };
        let Place::Plane(unit) = operand.place else { return };
        let location = byte(Emit::at(unit, part));
        if store {
            out.src[1] = Src { location, ..Src::NULL };
            out.send.ex_desc = Desc::Immediate(descriptor::payload1(registers));
            self.push(out);
        } else {
            let whole = Location::register(Register::General(RESPONSE));
            out.dst = Dst { location: whole, ..Dst::NULL };
            out.no_mask = true;
            self.push(out);
            let mut copy = self.inst(Opcode::Mov, part);
            copy.dst = Dst { location, ..Dst::NULL };
            copy.src[0] = Src { location: whole, ..Src::NULL };
            self.push(copy);
        }
    }

    /// The payload of all barriers of the program.
    pub(super) fn barrier_payload(&mut self, patch_threads: u8) {
        let mut clear = self.no_mask(Opcode::Mov, 8);
        clear.dst = Dst { location: Location::register(Register::General(BARRIER)), ..Dst::NULL };
        clear.src[0] = Src::immediate(Type::UD, 0);
        self.push(clear);
        let second = |register| Location::Direct { register: Register::General(register), byte: 8 };
        let mut id = self.no_mask(Opcode::And, 1);
        id.dst = Dst { location: second(BARRIER), ..Dst::NULL };
        id.src[0] = Src { location: second(0), region: Region::SCALAR, ..Src::NULL };
        id.src[1] = Src::immediate(Type::UD, barrier_id(self.generation));
        if patch_threads == 0 {
            self.push(id);
            return;
        }
        // The threads of a patch say how many they are. source: Mesa, brw_fs_nir.cpp (`emit_tcs_barrier`)
        let (mask, shift, count) = match self.generation {
            Generation::Gen9 => (0x0001_e000, 11, u64::from(patch_threads) << 9),
            Generation::Gen12 => (barrier_id(self.generation), 0, u64::from(patch_threads) << 8),
        };
        id.src[1] = Src::immediate(Type::UD, mask);
        self.push(id);
        let own = Src { location: second(BARRIER), region: Region::SCALAR, ..Src::NULL };
        let all = [(Opcode::Shl, shift), (Opcode::Or, count | BARRIER_COUNT_ENABLE)];
        for (opcode, operand) in all.into_iter().filter(|&(_, operand)| operand != 0) {
            let mut out = self.no_mask(opcode, 1);
            out.dst = Dst { location: second(BARRIER), ..Dst::NULL };
            out.src[0] = own;
            out.src[1] = Src::immediate(Type::UD, operand);
            self.push(out);
        }
    }

    /// The arrival at a barrier, and waiting for the others.
    fn barrier(&mut self) {
        let mut send = self.no_mask(Opcode::Send, 8);
        send.src[0] = self.payload(u16::from(BARRIER));
        send.send.sfid = Sfid::Gateway;
        send.send.desc = Desc::Immediate(descriptor::BARRIER);
        self.push(send);
        self.wait();
    }

    /// Fences. Gen9 has one for all memory, after which later messages come without a wait; from Gen11 on workgroup memory has
    /// one of its own, and a read of the response waits for each. source: Mesa, brw_fs_nir.cpp (`nir_intrinsic_barrier`)
    fn fence(&mut self, buffers: bool, local: bool) {
        let of_local = local && self.generation == Generation::Gen12;
        if buffers || !of_local {
            self.one_fence(Opcode::Send, 0, false);
        }
        if of_local {
            self.one_fence(Opcode::Send, descriptor::LOCAL, false);
        }
    }

    /// The begin is a fence that is sent once earlier threads of the same pixels have ended. Before the end of the thread, which
    /// later ones wait for, its writes are visible. source: Mesa, brw_fs_nir.cpp (`nir_intrinsic_begin_invocation_interlock`)
    fn interlock(&mut self, end: bool) {
        let opcode = if end { Opcode::Send } else { Opcode::Sendc };
        self.one_fence(opcode, 0, end);
    }

    /// A fence; `waits` on Gen9, too, until it has ended.
    fn one_fence(&mut self, opcode: Opcode, surface: u8, waits: bool) {
        let mut send = self.no_mask(opcode, 1);
        let response = Location::register(Register::General(RESPONSE));
        send.dst = Dst { location: response, ..Dst::NULL };
        send.src[0] = self.payload(0);
        send.send.sfid = Sfid::DataCache0;
        send.send.desc = Desc::Immediate(descriptor::FENCE | u32::from(surface));
        self.push(send);
        if self.generation == Generation::Gen9 && !waits {
            return;
        }
        let mut read = self.no_mask(Opcode::Mov, 8);
        read.src[0] = self.payload(u16::from(RESPONSE));
        self.push(read);
    }

    /// The opcode of a message of one or two payloads.
    pub(super) fn send_opcode(&self, split: bool) -> Opcode {
        match self.generation {
            Generation::Gen9 if split => Opcode::Sends,
            _ => Opcode::Send,
        }
    }
}
