//! Instructions of graphics threads: positions and masks of fragments, derivatives, and the messages that write outputs.

use super::expand::CONDITION;
use super::{Emit, MAX_WIDTH, PAYLOAD, Part, byte};
use crate::mir::{GRF_BYTES, Inst as Mir, Op, Operand, Place, UNIT_BYTES};
use crate::payload::TargetPayload;
use crate::select::Ending;
use tepui_intel_isa::message::{RenderWrite, UrbOp};
use tepui_intel_isa::{
    Arf, Desc, Dst, Flag, Generation, Inst, Location, Opcode, Predicate, Region, Register, Sfid,
    Src, Type, descriptor,
};

/// The flag with a bit for each channel that is live: its writes are done.
const LIVE: Flag = Flag { register: 1, half: 0 };

/// The register with the masks and the positions of a thread's subspans. source: Mesa, brw_compile_fs.cpp
/// (`brw_emit_interpolation_setup`)
const SUBSPANS: u16 = 1;
/// Words of the positions: X and Y of each subspan in turn.
const POSITIONS: u16 = 4;
/// Byte of the mask of dispatched channels, those of helper invocations left out.
const DISPATCHED: u16 = 28;
/// X and Y of the pixels of two subspans relative to the first pixel, a nibble each.
const IN_SUBSPAN: [u64; 2] = [0x1010_1010, 0x1100_1100];
/// Shifts of the sample's number, a nibble for each subspan, to the lowest bits.
const SAMPLE_SHIFTS: u64 = 0x4444_0000;

/// Fields of the extended descriptor of a write on Gen12: the target's index, whether there is no target, and whether the
/// alpha of the first target precedes the colour. source: Mesa, brw_lower_logical_sends.cpp (`lower_fb_write_logical_send`)
const EXTENDED_INDEX_SHIFT: u32 = 12;
const EXTENDED_NULL: u32 = 1 << 20;
const EXTENDED_ALPHA: u32 = 1 << 15;

/// Bit of a header's first double word: the alpha of the first target precedes the colour. source: Mesa,
/// brw_lower_logical_sends.cpp (`lower_fb_write_logical_send`)
const ALPHA_PRESENT: u64 = 1 << 11;
/// Bit of that double word: stencil is part of the payload.
const STENCIL_PRESENT: u64 = 1 << 14;
/// Byte of the target's index in a header.
const TARGET_INDEX: u16 = 8;
/// Byte of the mask of live channels in a header of two registers.
const LIVE_MASK: u16 = GRF_BYTES + 28;

/// Order of components of an Align16 source, x lowest.
const XYXY: u8 = 0b01_00_01_00;
const ZWZW: u8 = 0b11_10_11_10;

fn live_location() -> Location {
    Location::Direct {
        register: Register::Architecture(Arf::Flag, LIVE.register),
        byte: 2 * LIVE.half,
    }
}

/// A byte of a register.
fn at(register: u16, offset: u16) -> Location {
    byte(register * GRF_BYTES + offset)
}

impl Emit {
    /// Emits an instruction of graphics threads; whether it is one.
    pub(super) fn stage(&mut self, inst: &Mir) -> bool {
        match inst.op {
            Op::BeginLive => self.begin_live(),
            Op::Suspend => self.suspend(LIVE),
            Op::Resume => self.resume(),
            Op::UrbWrite { .. } => self.urb_write(inst),
            Op::UrbRead { .. } => self.urb_read(inst),
            Op::TargetWrite(p) => self.target_write(inst, &p),
            Op::Barycentric { .. }
            | Op::Pixel { .. }
            | Op::SampleId
            | Op::SampleOffset { .. }
            | Op::Keep(_)
            | Op::Helper { .. }
            | Op::Derivative { .. } => {
                if let Op::Helper { from_start: true } = inst.op {
                    self.dispatched(Location::register(Register::Architecture(Arf::Flag, 0)));
                    self.known.clear();
                }
                let widest = match inst.op {
                    Op::SampleId | Op::Barycentric { .. } => 8,
                    // source: Mesa, brw_generator.cpp (`generate_ddy`)
                    Op::Derivative { y: true, fine: true }
                        if self.generation == Generation::Gen12 =>
                    {
                        4
                    }
                    _ => MAX_WIDTH,
                };
                for part in self.parts(widest) {
                    self.stage_part(inst, part);
                }
            }
            _ => return false,
        }
        true
    }

    fn stage_part(&mut self, inst: &Mir, part: Part) {
        match inst.op {
            Op::Barycentric { second } => {
                let first = match inst.src[0].place {
                    Place::Payload(register) => register * GRF_BYTES,
                    Place::Plane(unit) => unit * UNIT_BYTES,
                    _ => return,
                };
                let pair = first + 2 * GRF_BYTES * u16::from(part.first / 8);
                let mut out = self.inst(Opcode::Mov, part);
                out.dst = self.dst(&Operand { ty: Type::F, ..inst.dst }, part);
                let location = byte(pair + GRF_BYTES * u16::from(second));
                out.src[0] = Src { location, ty: Type::F, ..Src::NULL };
                self.push(out);
            }
            Op::Pixel { y, coarse } => {
                let word = POSITIONS + 2 * u16::from(part.first / 4) + u16::from(y);
                let position = Src {
                    location: at(SUBSPANS, 2 * word),
                    ty: Type::UW,
                    region: Region::Rows { vertical: 2, width: 4, horizontal: 0 },
                    ..Src::NULL
                };
                let vector = IN_SUBSPAN[usize::from(y)];
                let words = match coarse {
                    false => {
                        self.words(Opcode::Add, position, Src::immediate(Type::V, vector), part)
                    }
                    true => {
                        let size = Src {
                            location: at(SUBSPANS, u16::from(y)),
                            ty: Type::UB,
                            region: Region::SCALAR,
                            ..Src::NULL
                        };
                        // All ones where the vector has a one.
                        let mask = Src::immediate(Type::V, vector * 0xf);
                        let size = self.words(Opcode::And, size, mask, part);
                        self.words(Opcode::Add, position, size, part)
                    }
                };
                let mut out = self.inst(Opcode::Mov, part);
                out.dst = self.dst(&Operand { ty: Type::F, ..inst.dst }, part);
                out.src[0] = words;
                self.push(out);
            }
            Op::SampleId => self.sample_id(inst, part),
            Op::SampleOffset { y } => {
                let mut out = self.inst(Opcode::Mov, part);
                out.dst = self.dst(&Operand { ty: Type::F, ..inst.dst }, part);
                let offset = 2 * u16::from(part.first) + u16::from(y);
                out.src[0] = Src {
                    location: at(self.positions, offset),
                    ty: Type::UB,
                    region: Region::Rows { vertical: 16, width: 8, horizontal: 2 },
                    ..Src::NULL
                };
                self.push(out);
            }
            Op::Keep(condition) => {
                let mut out = self.inst(Opcode::Cmp, part);
                out.condition = condition;
                out.flag = LIVE;
                out.predicate = Predicate { control: 1, inverse: false };
                out.dst = Dst { ty: inst.src[0].ty, ..Dst::NULL };
                out.src[0] = self.src(&inst.src[0], part);
                out.src[1] = self.src(&inst.src[1], part);
                self.push(out);
            }
            Op::Helper { from_start } => {
                let flag = if from_start { CONDITION } else { LIVE };
                for (value, live) in [(u64::from(u32::MAX), false), (0, true)] {
                    let mut out = self.inst(Opcode::Mov, part);
                    out.dst = self.dst(&Operand { ty: Type::D, ..inst.dst }, part);
                    out.src[0] = Src::immediate(Type::D, value);
                    if live {
                        out.predicate = Predicate { control: 1, inverse: false };
                        out.flag = flag;
                    }
                    self.push(out);
                }
            }
            Op::Derivative { y, fine } => self.derivative(inst, y, fine, part),
            _ => {}
        }
    }

    /// Copies the mask of dispatched channels to a flag.
    fn dispatched(&mut self, flag: Location) {
        let mut out = self.no_mask(Opcode::Mov, 1);
        out.dst = Dst { location: flag, ty: Type::UW, ..Dst::NULL };
        out.src[0] = Src {
            location: at(SUBSPANS, DISPATCHED),
            ty: Type::UW,
            region: Region::SCALAR,
            ..Src::NULL
        };
        self.push(out);
    }

    fn begin_live(&mut self) {
        self.live = true;
        self.dispatched(live_location());
    }

    /// Lets a message have its effects for live channels alone.
    pub(super) fn only_live(&self, inst: &mut Inst) {
        if self.live {
            inst.predicate = Predicate { control: 1, inverse: false };
            inst.flag = LIVE;
        }
    }

    /// Words of an operation, which are packed, as an operation with an immediate vector needs them.
    fn words(&mut self, opcode: Opcode, first: Src, second: Src, part: Part) -> Src {
        let location = at(u16::from(PAYLOAD), 0);
        let mut out = self.inst(opcode, part);
        out.dst = Dst { location, ty: Type::UW, ..Dst::NULL };
        out.src[0] = first;
        out.src[1] = second;
        self.push(out);
        Src { location, ty: Type::UW, ..Src::NULL }
    }

    /// Four bits of a byte for every two subspans.
    fn sample_id(&mut self, inst: &Mir, part: Part) {
        let byte = Src {
            location: at(SUBSPANS, u16::from(part.first / 8)),
            ty: Type::UB,
            region: Region::SCALAR,
            ..Src::NULL
        };
        let words = self.words(Opcode::Shr, byte, Src::immediate(Type::V, SAMPLE_SHIFTS), part);
        let mut mask = self.inst(Opcode::And, part);
        mask.dst = self.dst(&inst.dst, part);
        mask.src[0] = words;
        mask.src[1] = Src::immediate(Type::UD, 0xf);
        self.push(mask);
    }

    /// The difference of two channels of each square: second and first for X, third and first for Y.
    fn derivative(&mut self, inst: &Mir, y: bool, fine: bool, part: Part) {
        let Place::Plane(unit) = inst.src[0].place else { return };
        let mut out = self.inst(Opcode::Add, part);
        out.dst = self.dst(&inst.dst, part);
        let first = Self::at(unit, part);
        let (regions, offset) = match (y, fine) {
            (false, false) => ([Region::Rows { vertical: 4, width: 4, horizontal: 0 }; 2], 4),
            (true, false) => ([Region::Rows { vertical: 4, width: 4, horizontal: 0 }; 2], 8),
            (false, true) => ([Region::Rows { vertical: 2, width: 2, horizontal: 0 }; 2], 4),
            (true, true) if self.generation == Generation::Gen12 => {
                ([Region::Rows { vertical: 0, width: 2, horizontal: 1 }; 2], 8)
            }
            (true, true) => {
                out.align16 = true;
                ([ZWZW, XYXY].map(|swizzle| Region::Swizzle { vertical: 4, swizzle }), 0)
            }
        };
        for (k, (src, region)) in out.src.iter_mut().zip(regions).enumerate() {
            let location = byte(first + if k == 0 { offset } else { 0 });
            *src = Src { location, ty: Type::F, region, negate: k == 1, ..Src::NULL };
        }
        self.push(out);
    }

    /// A whole register as a part of a message's payload.
    fn plane_payload(&self, o: &Operand) -> Src {
        match o.place {
            Place::Plane(unit) => Src { location: byte(unit * UNIT_BYTES), ..Src::NULL },
            Place::Payload(register) => self.payload(register),
            _ => Src::NULL,
        }
    }

    fn urb_write(&mut self, inst: &Mir) {
        let Op::UrbWrite { offset, planes, per_channel, masked } = inst.op else { return };
        let part = Part { first: 0, width: self.width };
        let mut out = self.inst(self.send_opcode(true), part);
        out.src[0] = self.plane_payload(&inst.src[0]);
        out.src[1] = self.plane_payload(&inst.src[1]);
        out.send.sfid = Sfid::Urb;
        let control = descriptor::urb(UrbOp::Simd8Write, offset, per_channel);
        let mask = if masked { descriptor::URB_MASKED } else { 0 };
        let header = 1 + u8::from(per_channel) + u8::from(masked);
        out.send.desc = Desc::Immediate(control | mask | descriptor::lengths(header, 0, true));
        out.send.ex_desc = Desc::Immediate(descriptor::payload1(planes));
        self.push(out);
    }

    fn urb_read(&mut self, inst: &Mir) {
        let Op::UrbRead { offset, planes, per_channel, .. } = inst.op else { return };
        let Place::Plane(unit) = inst.dst.place else { return };
        let mut out = self.inst(Opcode::Send, Part { first: 0, width: self.width });
        out.dst = Dst { location: byte(unit * UNIT_BYTES), ..Dst::NULL };
        out.src[0] = self.plane_payload(&inst.src[0]);
        out.send.sfid = Sfid::Urb;
        let control = descriptor::urb(UrbOp::Simd8Read, offset, per_channel);
        let lengths = descriptor::lengths(1 + u8::from(per_channel), planes, true);
        out.send.desc = Desc::Immediate(control | lengths);
        self.push(out);
    }

    /// The header of a write, and the mask of samples as words; the alpha is there already or is copied.
    fn target_prefix(
        &mut self,
        p: &TargetPayload,
        first: u16,
        alpha: Option<Src>,
        mask: Option<Src>,
    ) {
        let mut next = first;
        if p.header {
            let mut copy = self.no_mask(Opcode::Mov, 16);
            copy.dst = Dst { location: at(next, 0), ..Dst::NULL };
            copy.src[0] = self.payload(0);
            self.push(copy);
            let mut bits = if p.alpha { ALPHA_PRESENT } else { 0 };
            bits |= if p.stencil { STENCIL_PRESENT } else { 0 };
            if bits != 0 {
                let mut or = self.no_mask(Opcode::Or, 1);
                or.dst = Dst { location: at(next, 0), ..Dst::NULL };
                or.src[0] = Src { region: Region::SCALAR, ..self.payload(0) };
                or.src[1] = Src::immediate(Type::UD, bits);
                self.push(or);
            }
            if p.index > 0 {
                let mut index = self.no_mask(Opcode::Mov, 1);
                index.dst = Dst { location: at(next, TARGET_INDEX), ..Dst::NULL };
                index.src[0] = Src::immediate(Type::UD, p.index.into());
                self.push(index);
            }
            if self.live {
                let mut mask = self.no_mask(Opcode::Mov, 1);
                mask.dst = Dst { location: at(next, LIVE_MASK), ty: Type::UW, ..Dst::NULL };
                mask.src[0] = Src {
                    location: live_location(),
                    ty: Type::UW,
                    region: Region::SCALAR,
                    ..Src::NULL
                };
                self.push(mask);
            }
            next += 2;
        }
        if p.alpha {
            if let Some(src) = alpha {
                let mut copy = self.no_mask(Opcode::Mov, self.width);
                copy.dst = Dst { location: at(next, 0), ..Dst::NULL };
                copy.src[0] = src;
                self.push(copy);
            }
            next += u16::from(self.width / 8);
        }
        if let Some(src) = mask {
            let mut pack = self.no_mask(Opcode::Mov, self.width);
            pack.dst = Dst { location: at(next, 0), ty: Type::UW, ..Dst::NULL };
            let region = Region::Rows { vertical: 16, width: 8, horizontal: 2 };
            pack.src[0] = Src { ty: Type::UW, region, ..src };
            self.push(pack);
        }
    }

    /// The function control of a write.
    fn target_control(&self, p: &TargetPayload, last: bool) -> u32 {
        let form = match (self.width, p.dual) {
            (16, _) => RenderWrite::Simd16,
            (_, true) => RenderWrite::Simd8DualLow,
            _ => RenderWrite::Simd8,
        };
        let coarse = if p.coarse { descriptor::COARSE_WRITE } else { 0 };
        descriptor::render_target_write(p.surface, form, last) | coarse
    }

    /// The extended descriptor of a write, apart from lengths.
    fn extended(&self, p: &TargetPayload) -> u32 {
        if self.generation == Generation::Gen9 {
            return 0;
        }
        let bit = |on: bool, bit: u32| if on { bit } else { 0 };
        u32::from(p.index) << EXTENDED_INDEX_SHIFT
            | bit(p.null, EXTENDED_NULL)
            | bit(p.alpha, EXTENDED_ALPHA)
    }

    /// A write whose prefix, if it has one, and colour are two payloads.
    fn target_write(&mut self, inst: &Mir, p: &TargetPayload) {
        let plane = u16::from(self.width / 8);
        let prefix = p.prefix(plane);
        let first = 128 - prefix;
        let mut parts = inst.src[1..].iter().filter(|o| o.place != Place::None);
        let mut part =
            |there: bool| if there { parts.next().map(|o| self.plane_payload(o)) } else { None };
        let (alpha, mask) = (part(p.alpha), part(p.mask));
        self.target_prefix(p, first, alpha, mask);
        let split = prefix > 0;
        let opcode = match self.generation {
            Generation::Gen9 if split => Opcode::Sendsc,
            _ => Opcode::Sendc,
        };
        let mut out = self.inst(opcode, Part { first: 0, width: self.width });
        let registers = (plane * p.planes()) as u8;
        let colour = self.plane_payload(&inst.src[0]);
        let (payloads, lengths) = match split {
            true => ([self.payload(first), colour], [prefix as u8, registers]),
            false => ([colour, Src::NULL], [registers, 0]),
        };
        [out.src[0], out.src[1]] = payloads;
        out.send.sfid = Sfid::RenderCache;
        let control = self.target_control(p, false);
        out.send.desc = Desc::Immediate(control | descriptor::lengths(lengths[0], 0, p.header));
        let extended = self.extended(p) | descriptor::payload1(lengths[1]);
        out.send.ex_desc = Desc::Immediate(extended);
        self.only_live(&mut out);
        self.push(out);
    }

    /// The message that ends a graphics thread.
    pub(super) fn end_stage(&mut self, ending: &Ending) {
        self.clear_accumulator();
        match *ending {
            Ending::Compute => {}
            Ending::Urb { offset, handle, first, registers } => {
                let handles = first - 1;
                if handle.place != Place::None {
                    let mut copy = self.no_mask(Opcode::Mov, 8);
                    copy.dst = Dst { location: at(handles, 0), ..Dst::NULL };
                    copy.src[0] = self.plane_payload(&handle);
                    self.push(copy);
                }
                let mut out = self.inst(Opcode::Send, Part { first: 0, width: self.width });
                out.src[0] = self.payload(handles);
                out.send.sfid = Sfid::Urb;
                out.send.end_of_thread = true;
                let control = descriptor::urb(UrbOp::Simd8Write, offset, false);
                let lengths = descriptor::lengths(1 + registers, 0, true);
                out.send.desc = Desc::Immediate(control | lengths);
                self.push(out);
            }
            Ending::Target { payload: p, first, colour, mask } => {
                let mask = p.mask.then(|| self.payload(mask));
                self.target_prefix(&p, first, None, mask);
                let plane = u16::from(self.width / 8);
                if p.stencil {
                    let stencil = colour + plane * (p.planes() - 1);
                    let mut pack = self.no_mask(Opcode::Mov, 8);
                    pack.dst = Dst { location: at(stencil, 0), ty: Type::UB, ..Dst::NULL };
                    let region = Region::Rows { vertical: 32, width: 8, horizontal: 4 };
                    pack.src[0] = Src { ty: Type::UB, region, ..self.payload(stencil) };
                    self.push(pack);
                }
                let mut out = self.inst(Opcode::Sendc, Part { first: 0, width: self.width });
                out.src[0] = self.payload(first);
                out.send.sfid = Sfid::RenderCache;
                out.send.end_of_thread = true;
                let registers = colour - first + plane * p.planes();
                let lengths = descriptor::lengths(registers as u8, 0, p.header);
                out.send.desc = Desc::Immediate(self.target_control(&p, true) | lengths);
                out.send.ex_desc = Desc::Immediate(self.extended(&p));
                self.only_live(&mut out);
                self.push(out);
            }
        }
    }
}
