//! Headers of messages of the sampler, handles of surfaces, masks of resident texels.

use super::expand::CONDITION;
use super::{Emit, Part, byte};
use crate::mir::{Inst as Mir, Operand, Place, UNIT_BYTES};
use tepui_intel_isa::{
    Arf, Desc, Dst, Generation, Location, Opcode, Predicate, Region, Register, Sfid, Src, Type,
    descriptor,
};

/// The double word of a0 with extended descriptors. source: Mesa, `brw_eu_defines.h`
/// (`BRW_ADDRESS_SUBREG_INDIRECT_EX_DESC`)
const EXTENDED: u8 = 2;

/// Bytes of a sampler state.
const SAMPLER_BYTES: u32 = 16;

impl Emit {
    /// The extended descriptor with the handle of a surface, in a0. source: Mesa, `brw_lower_logical_sends.cpp`
    /// (`brw_lower_send_descriptors`)
    pub(super) fn surface_handle(&mut self, handle: &Operand, sfid: Sfid, second: u8) -> Desc {
        let mut or = self.no_mask(Opcode::Or, 1);
        let a0 = Register::Architecture(Arf::Address, 0);
        or.dst.location = Location::Direct { register: a0, byte: 4 * EXTENDED };
        or.src[0] = self.src(handle, Part::ONE);
        let rest = descriptor::payload1(second) | sfid as u32;
        or.src[1] = Src::immediate(Type::UD, rest.into());
        self.push(or);
        Desc::Address(EXTENDED)
    }

    /// The second double word has what the message asks for, the third the place of the sampler states. source: Mesa,
    /// `brw_lower_logical_sends.cpp` (`lower_sampler_logical_send`)
    pub(super) fn sampler_header(&mut self, inst: &Mir, bits: u32, table: u8) {
        let Place::Plane(unit) = inst.dst.place else { return };
        let dword = |k: u16| Dst { location: byte(unit * UNIT_BYTES + 4 * k), ..Dst::NULL };
        let gen9 = self.generation == Generation::Gen9;
        let mut whole = self.no_mask(Opcode::Mov, 8);
        whole.dst = dword(0);
        whole.src[0] = if gen9 { self.payload(0) } else { Src::immediate(Type::UD, 0) };
        self.push(whole);
        let [offsets, handle] = [inst.src[0], inst.src[1]];
        if offsets.place == Place::None {
            let mut out = self.no_mask(Opcode::Mov, 1);
            out.dst = dword(2);
            out.src[0] = Src::immediate(Type::UD, bits.into());
            self.push(out);
        } else {
            let mut out = self.no_mask(Opcode::Or, 1);
            out.dst = dword(2);
            out.src[0] = self.src(&offsets, Part::ONE);
            out.src[1] = Src::immediate(Type::UD, bits.into());
            self.push(out);
        }
        if handle.place != Place::None {
            let mut out = self.no_mask(Opcode::Mov, 1);
            out.dst = dword(3);
            out.src[0] = self.src(&handle, Part::ONE);
            self.push(out);
            return;
        }
        let mut from = Src { region: Region::SCALAR, ..self.payload(0) };
        from.location = byte(4 * 3);
        if !gen9 {
            // The low bits are not the pointer's.
            let mut out = self.no_mask(Opcode::And, 1);
            out.dst = dword(3);
            out.src[0] = from;
            out.src[1] = Src::immediate(Type::UD, 0xffff_ffe0);
            self.push(out);
            from.location = dword(3).location;
        }
        if table > 0 {
            let mut out = self.no_mask(Opcode::Add, 1);
            out.dst = dword(3);
            out.src[0] = from;
            out.src[1] = Src::immediate(Type::UD, (16 * SAMPLER_BYTES * u32::from(table)).into());
            self.push(out);
        }
    }

    /// The mask of a response, with the channels of the message from bit 0 on, goes to the flag.
    pub(super) fn resident(&mut self, inst: &Mir, planes: u8, part: Part) {
        let Place::Plane(unit) = inst.src[0].place else { return };
        let message = 4 * u16::from(planes) * u16::from(part.first);
        let last = 4 * u16::from(part.width) * u16::from(planes - 1);
        let ty = if self.width > 16 { Type::UD } else { Type::UW };
        let register = Register::Architecture(Arf::Flag, CONDITION.register);
        let mut mask = self.no_mask(Opcode::Shl, 1);
        mask.dst = Dst { location: Location::register(register), ty, ..Dst::NULL };
        mask.src[0] = Src {
            location: byte(unit * UNIT_BYTES + message + last),
            ty,
            region: Region::SCALAR,
            ..Src::NULL
        };
        mask.src[1] = Src::immediate(ty, part.first.into());
        self.known.clear();
        self.push(mask);
        for (value, predicated) in [(1, false), (0, true)] {
            let mut out = self.inst(Opcode::Mov, part);
            out.dst = self.dst(&inst.dst, part);
            out.src[0] = Src::immediate(Type::UD, value);
            if predicated {
                out.predicate = Predicate { control: 1, inverse: false };
                out.flag = CONDITION;
            }
            self.push(out);
        }
    }
}
