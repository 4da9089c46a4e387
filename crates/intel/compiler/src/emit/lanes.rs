//! Operations between channels: masks of channels, values of other channels, scans.

use super::expand::CONDITION;
use super::{Emit, MAX_WIDTH, Part, byte};
use crate::mir::{GRF_BYTES, Inst as Mir, Operand, Place, Scanned, UNIT_BYTES};
use tepui_intel_isa::{Arf, Condition, Dst, Inst, Location, Opcode, Region, Register, Src, Type};

/// The flag register of conditions.
const FLAG: Location = Location::register(Register::Architecture(Arf::Flag, CONDITION.register));

/// Address registers: a word for each of eight channels.
const ADDRESSES: Location = Location::register(Register::Architecture(Arf::Address, 0));

/// Channels in a row of a plane that one instruction may span: two registers.
const SPAN: u8 = 16;

/// Channels of a plane at a distance from each other.
#[derive(Clone, Copy)]
struct Lanes {
    /// The first byte of the plane.
    plane: u16,
    first: u8,
    /// 0 for one channel that all read.
    step: u8,
}

impl Lanes {
    fn location(self) -> Location {
        byte(self.plane + 4 * u16::from(self.first))
    }

    fn src(self, ty: Type, count: u8) -> Src {
        let region = match (self.step, count) {
            (0, _) | (_, 1) => Region::SCALAR,
            // Rows do not cross registers.
            (step, count) => {
                let width = count.min(8 / step);
                Region::Rows { vertical: width * step, width, horizontal: step }
            }
        };
        Src { location: self.location(), ty, region, ..Src::NULL }
    }

    fn dst(self, ty: Type) -> Dst {
        Dst { location: self.location(), ty, stride: self.step, ..Dst::NULL }
    }
}

impl Emit {
    /// The flag is cleared before, for channels that do not execute.
    pub(super) fn ballot(&mut self, inst: &Mir, condition: Condition) {
        let ty = if self.width > 16 { Type::UD } else { Type::UW };
        let mut clear = self.no_mask(Opcode::Mov, 1);
        clear.dst = Dst { location: FLAG, ty, ..Dst::NULL };
        clear.src[0] = Src::immediate(ty, 0);
        self.known.clear();
        self.push(clear);
        for part in self.parts(MAX_WIDTH) {
            self.known.clear();
            let null = Dst { ty: inst.src[0].ty, ..Dst::NULL };
            self.cmp(inst, condition, null, part);
        }
        self.known.clear();
        let mut read = self.no_mask(Opcode::Mov, 1);
        read.dst = self.dst(&inst.dst, Part::ONE);
        read.src[0] = Src { location: FLAG, ty, region: Region::SCALAR, ..Src::NULL };
        self.push(read);
    }

    /// The first byte of a plane.
    fn plane(o: &Operand) -> u16 {
        match o.place {
            Place::Plane(unit) => unit * UNIT_BYTES,
            Place::Fixed(dword) => 4 * dword,
            _ => 0,
        }
    }

    pub(super) fn read_lane(&mut self, inst: &Mir, part: Part) {
        let plane = Self::plane(&inst.src[0]);
        let mut out = self.inst(Opcode::Mov, part);
        out.dst = self.dst(&inst.dst, part);
        out.src[0] = Src { ty: inst.src[0].ty, region: Region::SCALAR, ..Src::NULL };
        match inst.src[1].place {
            Place::Immediate(lane) => out.src[0].location = byte(plane + 4 * lane as u16),
            _ => {
                self.addresses(&inst.src[1], plane, part);
                out.src[0].location = Location::Indirect { address: 0, offset: 0 };
            }
        }
        self.push(out);
    }

    /// Both halves of the timestamp at once. source: Mesa, brw_fs_nir.cpp (`get_timestamp`)
    pub(super) fn clock(&mut self, inst: &Mir) {
        let mut out = self.no_mask(Opcode::Mov, 4);
        out.dst = Dst { location: byte(Self::plane(&inst.dst)), ..Dst::NULL };
        let location = Location::register(Register::Architecture(Arf::Timestamp, 0));
        let region = Region::Rows { vertical: 4, width: 4, horizontal: 1 };
        out.src[0] = Src { location, region, ..Src::NULL };
        self.push(out);
    }

    /// Puts the addresses of channels' double words of a plane into the address registers.
    fn addresses(&mut self, lanes: &Operand, plane: u16, part: Part) {
        let dst = Dst { location: ADDRESSES, ty: Type::UW, ..Dst::NULL };
        let mut scale = self.inst(Opcode::Shl, part);
        scale.dst = dst;
        scale.src[0] = self.src(&Operand { ty: Type::UW, ..*lanes }, part);
        scale.src[1] = Src::immediate(Type::UW, 2);
        self.push(scale);
        let mut add = self.inst(Opcode::Add, part);
        add.dst = dst;
        let region = if part.width == 1 { Region::SCALAR } else { Region::VECTOR };
        add.src[0] = Src { location: ADDRESSES, ty: Type::UW, region, ..Src::NULL };
        add.src[1] = Src::immediate(Type::UW, plane.into());
        self.push(add);
    }

    pub(super) fn shuffle(&mut self, inst: &Mir, part: Part) {
        self.addresses(&inst.src[1], Self::plane(&inst.src[0]), part);
        let mut out = self.inst(Opcode::Mov, part);
        out.dst = self.dst(&inst.dst, part);
        out.src[0] = Src {
            location: Location::Indirect { address: 0, offset: 0 },
            ty: inst.src[0].ty,
            region: Region::PerRow { width: 1, horizontal: 0 },
            ..Src::NULL
        };
        self.push(out);
    }

    /// Whole registers of identities, then the values of channels that execute, then sums of more and more channels in a
    /// row: of two, of four, and from then on the last of a half is added to the other half. source: Mesa,
    /// `brw_lower_subgroup_ops.cpp` (`brw_emit_scan`)
    pub(super) fn scan(&mut self, inst: &Mir, opcode: Opcode, condition: Condition, cluster: u8) {
        let ty = inst.dst.ty;
        let identities = Self::plane(&inst.dst);
        let plane = identities + GRF_BYTES;
        let fill = |e: &mut Emit, at: u16, part: Part| {
            let mut out = e.no_mask(Opcode::Mov, part.width);
            out.dst = Dst { location: byte(at + 4 * u16::from(part.first)), ty, ..Dst::NULL };
            out.src[0] = e.src(&inst.src[1], part);
            e.push(out);
        };
        fill(self, identities, Part { first: 0, width: 8 });
        for part in self.parts(MAX_WIDTH) {
            fill(self, plane, part);
        }
        for part in self.parts(MAX_WIDTH) {
            let mut out = self.inst(Opcode::Mov, part);
            let at = plane + 4 * u16::from(part.first);
            out.dst = Dst { location: byte(at), ty, ..Dst::NULL };
            out.src[0] = self.src(&inst.src[0], part);
            self.push(out);
        }
        let all = self.width;
        let lanes = |first, step| Lanes { plane, first, step };
        let mut step = |count: u8, left: Lanes, right: Lanes| {
            let mut out: Inst = self.no_mask(opcode, count);
            out.condition = condition;
            out.dst = right.dst(ty);
            out.src[0] = left.src(ty, count);
            out.src[1] = right.src(ty, count);
            self.push(out);
        };
        for first in (0..all).step_by(usize::from(SPAN)) {
            let count = all.min(SPAN);
            if cluster >= 2 {
                step(count / 2, lanes(first, 2), lanes(first + 1, 2));
            }
            if cluster >= 4 {
                step(count / 4, lanes(first + 1, 4), lanes(first + 2, 4));
                step(count / 4, lanes(first + 1, 4), lanes(first + 3, 4));
            }
        }
        for half in [4u8, 8, 16] {
            if cluster < 2 * half {
                break;
            }
            for first in (0..all).step_by(usize::from(2 * half)) {
                step(half, lanes(first + half - 1, 0), lanes(first + half, 1));
            }
        }
    }

    pub(super) fn scanned(&mut self, inst: &Mir, which: Scanned, part: Part) {
        let plane = Self::plane(&inst.src[0]) + GRF_BYTES;
        let ty = inst.src[0].ty;
        let rows = |vertical, width, horizontal| Region::Rows { vertical, width, horizontal };
        let at = |lane: u8| plane + 4 * u16::from(lane);
        let (at, region) = match which {
            Scanned::Own => (at(part.first), rows(8, 8, 1)),
            // Elements by themselves: a row would cross a register.
            Scanned::Before => (at(part.first) - 4, rows(1, 1, 0)),
            Scanned::Last(n) if n >= part.width => (at(part.first | (n - 1)), Region::SCALAR),
            Scanned::Last(n) => (at(part.first + n - 1), rows(n, n, 0)),
        };
        let mut out = self.inst(Opcode::Mov, part);
        out.dst = self.dst(&inst.dst, part);
        out.src[0] = Src { location: byte(at), ty, region, ..Src::NULL };
        self.push(out);
    }
}
