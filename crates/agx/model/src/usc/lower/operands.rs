//! Lowers operands: from the ISA's registers to rows.

use tepui_agx_isa::operand as isa;

use crate::usc::code::{Builder, UNIFORM_ROWS};
use crate::usc::op::{Dst, Form, Src};

/// A half-register as row and part of it: where an operand starts.
fn place(half: u16, size: isa::Size) -> (u16, Form) {
    let form = match size {
        isa::Size::B16 if half & 1 == 1 => Form::High,
        isa::Size::B16 => Form::Low,
        isa::Size::B32 => Form::Word,
        isa::Size::B64 => Form::Pair,
    };
    (half / 2, form)
}

/// Rows of a form.
fn rows(form: Form) -> u16 {
    if form == Form::Pair { 2 } else { 1 }
}

/// The half-register at which a 64-bit operand or a vector starts, as row and form.
pub fn register(b: &mut Builder<'_>, half: u16, size: isa::Size) -> (u16, Form) {
    let (row, form) = place(half, size);
    b.register(row, rows(form));
    (row, form)
}

/// A destination.
pub fn dst(b: &mut Builder<'_>, d: isa::Dst, saturate: bool) -> Dst {
    let (row, form) = register(b, d.reg, d.size);
    Dst { row, form, saturate }
}

/// A uniform register.
pub fn uniform(b: &mut Builder<'_>, half: u16, size: isa::Size) -> Src {
    let (row, form) = place(half, size);
    b.uniform(row, rows(form));
    Src { form, constant: false, ..Src::shared(row) }
}

/// A register.
pub fn general(b: &mut Builder<'_>, half: u16, size: isa::Size) -> Src {
    let (row, form) = register(b, half, size);
    Src { form, ..Src::register(row) }
}

/// Rows that a vector may span, one more for one that starts in a high half.
const LONGEST_VECTOR: u16 = 6;

/// The first register of a vector and how the others follow.
pub fn vector(b: &mut Builder<'_>, v: isa::RegVec) -> Dst {
    let (row, form) = register(b, v.reg, v.size);
    // Not the operand's own length: packed formats give four registers whatever their mask, and
    // texels may have a residency word.
    b.register(row, LONGEST_VECTOR);
    Dst { row, form, saturate: false }
}

/// An integer source.
pub fn int(b: &mut Builder<'_>, s: isa::Src) -> Src {
    let base = match s.kind {
        isa::SrcKind::Reg(half) => general(b, half, s.size),
        isa::SrcKind::Uniform(half) => uniform(b, half, s.size),
        isa::SrcKind::Imm(value) => return Src::shared(b.constant(u32::from(value))),
    };
    Src { sign_extend: s.sign_extend, ..base }
}

/// A float source; immediates are minifloats.
pub fn float(b: &mut Builder<'_>, s: isa::Src) -> Src {
    let base = match s.kind {
        isa::SrcKind::Reg(half) => general(b, half, s.size),
        isa::SrcKind::Uniform(half) => uniform(b, half, s.size),
        isa::SrcKind::Imm(value) => Src::shared(b.constant(isa::minifloat_decode(value).to_bits())),
    };
    Src { abs: s.abs, neg: s.neg, ..base }
}

/// A source that no handler reads.
pub fn none() -> Src {
    Src::shared(UNIFORM_ROWS as u16)
}

pub fn base64(b: &mut Builder<'_>, base: isa::Base64) -> Src {
    match base {
        isa::Base64::Reg(half) => general(b, half, isa::Size::B64),
        isa::Base64::Uniform(half) => uniform(b, half, isa::Size::B64),
    }
}

/// An index: a register, or an immediate.
pub fn index(b: &mut Builder<'_>, index: isa::Index, extend: isa::Extend) -> (Src, Option<i32>) {
    match index {
        isa::Index::Reg(half) => (general(b, half, isa::Size::B32), None),
        // Mesa puts numbers up to 65535 there, marked as not signed. source: agx_optimizer.c,
        // agx_optimizer_inline_imm (`agx_abs(agx_immediate(value_u16))`); agx_pack.c,
        // AGX_OPCODE_DEVICE_LOAD
        isa::Index::Imm(value) if extend == isa::Extend::Unsigned => {
            (none(), Some(i32::from(value as u16)))
        }
        isa::Index::Imm(value) => (none(), Some(i32::from(value))),
    }
}

/// Base and index of local memory: sources, immediate index, and whether there is no base.
pub fn local(
    b: &mut Builder<'_>,
    base: isa::LocalBase,
    index: isa::LocalIndex,
) -> ([Src; 2], Option<i32>, bool) {
    let (base, no_base) = match base {
        isa::LocalBase::Reg(half) => (general(b, half, isa::Size::B16), false),
        isa::LocalBase::Uniform(half) => (uniform(b, half, isa::Size::B16), false),
        isa::LocalBase::Zero(_) => (none(), true),
    };
    let (index, immediate) = match index {
        isa::LocalIndex::Reg(half) => (general(b, half, isa::Size::B16), None),
        isa::LocalIndex::Imm(value) => (none(), Some(i32::from(value))),
    };
    ([base, index], immediate, no_base)
}

pub fn register_or_immediate(b: &mut Builder<'_>, operand: isa::RegOrImm) -> Src {
    match operand {
        isa::RegOrImm::Reg(half) => general(b, half, isa::Size::B16),
        isa::RegOrImm::Imm(value) => Src::shared(b.constant(u32::from(value))),
    }
}

/// Coordinates as sources: x, y, z; sample index; layer.
pub fn coordinates(
    b: &mut Builder<'_>,
    c: isa::Coords,
    dim: isa::Dim,
) -> ([Option<Src>; 3], Option<Src>, Option<Src>) {
    let mut half = c.reg;
    let mut xyz = [None; 3];
    for slot in xyz.iter_mut().take(usize::from(c.axes)) {
        *slot = Some(general(b, half, c.size));
        half += c.size.halves();
    }
    let mut extra = |wanted: bool| {
        wanted.then(|| {
            let source = general(b, half, isa::Size::B16);
            half += 1;
            source
        })
    };
    let sample = extra(dim.is_multisampled());
    let layer = extra(dim.is_array());
    (xyz, sample, layer)
}

/// The number of a coefficient register as a source, and whether it is the same in all lanes.
pub fn coefficient(b: &mut Builder<'_>, coef: isa::Coef) -> (Src, u16) {
    match coef {
        isa::Coef::Cf(number) => (Src::shared(b.constant(u32::from(number))), 1),
        isa::Coef::Reg(half) => (general(b, half, isa::Size::B16), 0),
    }
}
