//! Arithmetic: instructions of the units, and branches.

use std::fmt::Write;

use super::super::bundle::{Alu, Tag};
use super::super::fields::signed;
use super::super::names::{
    ABSOLUTE, BRANCHES, CALLS, CONDITIONS, CONSTANTS, DOUBLED, FLOAT_OUTMODS, INTEGER_OUTMODS,
    NEGATED, SHRINK, WIDEN, WIDENINGS, component,
};
use super::super::table::AluRow;
use super::super::word::{
    Registers, Scalar, ScalarSource, Unconditional, Vector, VectorSource, branch, register, shrink,
};
use super::Printer;
use super::values::constant;

impl Printer<'_> {
    pub(super) fn alu(&mut self, alu: &Alu) {
        let constants = alu.constants.unwrap_or_default();
        if let Some((r, v)) = &alu.vmul {
            self.vector(r, v, &constants);
        }
        if let Some((r, s)) = &alu.sadd {
            self.scalar(r, s, &constants);
        }
        if let Some((r, v)) = &alu.vadd {
            self.vector(r, v, &constants);
        }
        if let Some((r, s)) = &alu.smul {
            self.scalar(r, s, &constants);
        }
        if let Some((r, v)) = &alu.lut {
            self.vector(r, v, &constants);
        }
        if let Some(b) = &alu.branch {
            let name = BRANCHES[b.op as usize & 7];
            if b.op == branch::UNCONDITIONAL {
                let b = Unconditional::decode(b.encode());
                put!(self, "br.{name}{} ", CALLS[b.call as usize & 3]);
                self.target(signed(b.offset, 7), b.tag);
            } else {
                put!(self, "br.{name}.{} ", CONDITIONS[b.condition as usize & 3]);
                self.target(signed(b.offset, 7), b.tag);
            }
        }
        if let Some(b) = &alu.extended {
            put!(self, "brx{}.{}.", CALLS[b.call as usize & 3], BRANCHES[b.op as usize & 7]);
            let first = b.condition & 3;
            if b.condition == branch::every(first) {
                put!(self, "{} ", CONDITIONS[first as usize]);
            } else {
                put!(self, "lut{:X} ", b.condition);
            }
            self.target(signed(b.offset, 23), b.tag);
        }
        if let Some([a, b, c, d]) = alu.constants {
            put!(self, "{CONSTANTS} 0x{a:X}, 0x{b:X}, 0x{c:X}, 0x{d:X}\n");
        }
    }

    fn target(&mut self, offset: i32, tag: u32) {
        put!(self, "{offset:+} -> {}\n", Tag(tag as u8).name());
    }

    fn alu_register(&mut self, number: u32, is_write: bool) {
        let is_uniform = (8..16).contains(&number) && self.written >> number & 1 == 0
            || (16..24).contains(&number);
        match number {
            24 | 25 => put!(self, "TMP{}", number - register::TEMPORARY),
            26 | 27 => put!(self, "AL{}", number - register::LOAD_STORE),
            28 | 29 => {
                let name = if is_write { "AT" } else { "TA" };
                put!(self, "{name}{}", number - register::TEXTURE);
            }
            31 if !is_write => put!(self, "PC_SP"),
            _ if is_uniform => put!(self, "U{}", register::UNIFORM_END - 1 - number),
            _ => put!(self, "R{number}"),
        }
    }

    pub(super) fn vector(&mut self, r: &Registers, v: &Vector, constants: &[u32; 4]) {
        let row = v.row();
        let (integer, makes_integer) = kinds(row);
        self.opcode(row, v.op, v.bits());
        self.written |= 1 << r.dest;
        self.alu_register(r.dest, true);
        let shrinks = v.shrink != shrink::NONE;
        self.alu_mask(v);
        self.outmod(v.outmod, makes_integer, shrinks);
        let mask = v.source_mask();
        put!(self, ", ");
        let source = |n: usize| VectorSource::decode(u128::from([v.src1, v.src2][n]));
        match r.src1 {
            register::CONSTANT => self.vector_constants(v, &source(0), constants),
            number => {
                let doubled = row.is_some_and(AluRow::doubles);
                self.vector_source(number, &source(0), v, mask, integer, doubled);
            }
        }
        put!(self, ", ");
        match r.src2 {
            _ if r.immediate != 0 => self.immediate(v.immediate(r), integer),
            register::CONSTANT => self.vector_constants(v, &source(1), constants),
            number => self.vector_source(number, &source(1), v, mask, integer, false),
        }
        self.out.push('\n');
    }

    fn vector_source(
        &mut self,
        number: u32,
        source: &VectorSource,
        v: &Vector,
        mask: u32,
        integer: bool,
        doubled: bool,
    ) {
        self.alu_register(number, false);
        self.swizzle(source.swizzle, source.expand, v.mode, mask);
        if doubled {
            self.out.push_str(DOUBLED);
        }
        self.modifier(source.modifier, integer, source.expands());
    }

    fn modifier(&mut self, modifier: u32, integer: bool, expands: bool) {
        if integer {
            if expands {
                self.out.push_str(WIDENINGS[modifier as usize & 3]);
            }
            return;
        }
        for (has, name) in
            [(modifier & 1 != 0, ABSOLUTE), (modifier & 2 != 0, NEGATED), (expands, WIDEN)]
        {
            self.out.push_str(if has { name } else { "" });
        }
    }

    pub(super) fn scalar(&mut self, r: &Registers, s: &Scalar, constants: &[u32; 4]) {
        let row = s.row();
        let (integer, makes_integer) = kinds(row);
        self.opcode(row, s.op, Scalar::ELEMENT_BITS);
        self.written |= 1 << r.dest;
        self.alu_register(r.dest, true);
        let place = if s.full != 0 { s.component >> 1 } else { s.component };
        put!(self, ".{}", component(place));
        self.outmod(s.outmod, makes_integer, s.full == 0);
        for (n, (number, bits)) in [(r.src1, s.src1), (r.src2, s.src2)].into_iter().enumerate() {
            put!(self, ", ");
            if n == 1 && r.immediate != 0 {
                self.immediate(s.immediate(r), integer);
                continue;
            }
            let source = ScalarSource::decode(u128::from(bits));
            let full = source.full != 0;
            if number == register::CONSTANT {
                put!(self, "#");
                let mode = if full { 2 } else { 1 };
                // Mesa interprets the index in units of 16 bits as one in words.
                let halves = u32::from(self.exact && full);
                let (c, modifier) = (source.component >> halves, source.modifier);
                let text = constant(constants, c, mode, false, modifier, row);
                self.out.push_str(&text);
                continue;
            }
            self.alu_register(number, false);
            let place = if full { source.component >> 1 } else { source.component };
            put!(self, ".{}", component(place));
            self.modifier(source.modifier, integer, !full);
        }
        self.out.push('\n');
    }

    fn opcode(&mut self, row: Option<&AluRow>, code: u32, bits: u32) {
        let letter = match row {
            Some(row) => {
                self.out.push_str(row.name);
                row.letter(self.exact)
            }
            None => {
                put!(self, "alu_op_{code:02X}");
                'f'
            }
        };
        put!(self, ".{letter}{bits} ");
    }

    fn outmod(&mut self, outmod: u32, integer: bool, shrinks: bool) {
        match integer {
            true if !shrinks => return,
            false if shrinks => self.out.push_str(SHRINK),
            _ => {}
        }
        self.out.push_str(outmod_name(outmod, integer));
    }

    fn alu_mask(&mut self, v: &Vector) {
        let (bits, mask) = (v.bits(), v.mask);
        if v.shrink == shrink::NONE && mask == 0xff {
            return;
        }
        self.out.push('.');
        let skip = (bits / 16).max(1);
        let first = if v.shrink == shrink::HIGH { 128 / bits } else { 0 };
        let mut odd = false;
        for i in (0..8).step_by(skip as usize) {
            let has = mask >> i & 1 != 0;
            odd |= (1..skip).any(|j| (mask >> (i + j) & 1 != 0) != has);
            if !has {
                continue;
            }
            if bits == 8 {
                put!(self, "{}{}", component(2 * i + first), component(2 * i + 1 + first));
            } else {
                put!(self, "{}", component(i / skip + first));
            }
        }
        if odd {
            put!(self, " /* {mask:X} */");
        }
    }
}

/// Whether sources and results of a row are integers.
fn kinds(row: Option<&AluRow>) -> (bool, bool) {
    row.map_or((false, false), |row| (row.is_integer(), row.makes_integer()))
}

pub(super) fn outmod_name(outmod: u32, integer: bool) -> &'static str {
    let names = if integer { INTEGER_OUTMODS } else { FLOAT_OUTMODS };
    names[outmod as usize & 3]
}
