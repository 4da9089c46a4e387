//! Arithmetic of bundles.
//!
//! The semantics of an instruction are NIR's definition of the operations that Mesa's compiler emits it for. 16-bit
//! floats are computed in 32 bits and rounded; integers of fewer than 32 bits are computed in 32.

use std::f64::consts::PI;

use tepui_mali_isa::Flow;
use tepui_mali_isa::midgard::bundle::{ScalarUnit, VectorUnit};
use tepui_mali_isa::midgard::table::Alu as Isa;
use tepui_mali_isa::midgard::word::{
    Registers, Scalar, ScalarSource, Vector, VectorSource, register, shrink,
};
use tepui_mali_isa::midgard::{Alu, AluRow};
use tepui_mali_isa::modifier::{Clamp, RoundMode};

use super::element::{Element, of_vector};
use super::{Context, copy, rows, wide};
use crate::shader::alu::float::{finish, maximum, minimum};
use crate::shader::alu::rounding::from_integer;
use crate::shader::op::{Handler, Lanes, Op, WriteMode};
use crate::shader::operand::Src;
use crate::warp::row::Row;
use crate::warp::trap::Trap;

type Done = Result<(), Box<Trap>>;

/// Narrowing modes of integers, in [`Op::flags`]; 0 keeps the lower bits.
const KEEP_HIGH: u32 = 1;
const SATURATE_SIGNED: u32 = 2;
const SATURATE_UNSIGNED: u32 = 3;

/// Writes an integer.
fn finish_integer(l: &mut Lanes<'_, '_>, op: &Op, value: &Row) -> Done {
    // The size of narrowed results is half of the operation's.
    let half = op.immediate / 2;
    let value = match op.flags {
        KEEP_HIGH => value.map(|v| v >> half),
        SATURATE_SIGNED => {
            let most = (1i32 << (half - 1)) - 1;
            value.map(|v| (v as i32).clamp(-most - 1, most) as u32)
        }
        SATURATE_UNSIGNED => value.map(|v| v.min((1 << half) - 1)),
        _ => *value,
    };
    l.put(op, &value);
    Ok(())
}

#[inline(always)]
fn zip(l: &Lanes<'_, '_>, op: &Op, f: impl Fn(u32, u32) -> u32) -> Row {
    let (mut a, b) = (l.get(&op.src[0]), l.get(&op.src[1]));
    for (a, b) in a.0.iter_mut().zip(&b.0) {
        *a = f(*a, *b);
    }
    a
}

#[inline(always)]
fn floats(l: &mut Lanes<'_, '_>, op: &Op, f: impl Fn(f32, f32) -> f32) -> Done {
    let value = zip(l, op, |a, b| f(f32::from_bits(a), f32::from_bits(b)).to_bits());
    finish(l, op, &value)
}

#[inline(always)]
fn float(l: &mut Lanes<'_, '_>, op: &Op, f: impl Fn(f32) -> f32) -> Done {
    let value = l.get(&op.src[0]).map(|a| f(f32::from_bits(a)).to_bits());
    finish(l, op, &value)
}

#[inline(always)]
fn compare(l: &mut Lanes<'_, '_>, op: &Op, f: impl Fn(f32, f32) -> bool) -> Done {
    let value = zip(l, op, |a, b| truth(f(f32::from_bits(a), f32::from_bits(b))));
    finish_integer(l, op, &value)
}

#[inline(always)]
fn integers(l: &mut Lanes<'_, '_>, op: &Op, f: impl Fn(u32, u32) -> u32) -> Done {
    let value = zip(l, op, f);
    finish_integer(l, op, &value)
}

/// Applies a function that also takes the number of bits of the integer.
#[inline(always)]
fn sized(l: &mut Lanes<'_, '_>, op: &Op, f: impl Fn(u32, u32, u32) -> u32) -> Done {
    let bits = op.immediate;
    integers(l, op, |a, b| f(a, b, bits))
}

#[inline(always)]
pub fn truth(value: bool) -> u32 {
    u32::from(value).wrapping_neg()
}

/// Selects the bits of the second or the first source by a condition.
fn select(l: &mut Lanes<'_, '_>, op: &Op) -> Row {
    let [a, b, condition] = [0, 1, 2].map(|i| l.get(&op.src[i]));
    Row(std::array::from_fn(|i| {
        let mask = condition.0[i];
        a.0[i] & mask | b.0[i] & !mask
    }))
}

fn to_integer(l: &mut Lanes<'_, '_>, op: &Op, round: fn(f32) -> f32, signed: bool) -> Done {
    let bits = op.immediate.min(32);
    let value = l.get(&op.src[0]).map(|a| {
        let value = f64::from(round(f32::from_bits(a)));
        let most = match signed {
            true => (1i64 << (bits - 1)) - 1,
            false => (1i64 << bits) - 1,
        };
        let least = if signed { -most - 1 } else { 0 };
        // A NaN becomes 0.
        (value as i64).clamp(least, most) as u32
    });
    finish_integer(l, op, &value)
}

fn to_float(l: &mut Lanes<'_, '_>, op: &Op, signed: bool) -> Done {
    let value = l.get(&op.src[0]).map(|a| {
        let value = if signed { i64::from(a as i32) } else { i64::from(a) };
        from_integer(value, op.round).to_bits()
    });
    finish(l, op, &value)
}

fn saturated(value: i64, bits: u32, signed: bool) -> u32 {
    let most = if signed { (1i64 << (bits - 1)) - 1 } else { (1 << bits) - 1 };
    value.clamp(if signed { -most - 1 } else { 0 }, most) as u32
}

/// The handler of an instruction on elements of up to 32 bits.
fn handler(isa: Isa) -> Option<Handler> {
    Some(match isa {
        Isa::Fadd => |l, op| floats(l, op, |a, b| a + b),
        Isa::Fmul => |l, op| floats(l, op, |a, b| a * b),
        Isa::Fmin => |l, op| floats(l, op, minimum),
        Isa::Fmax => |l, op| floats(l, op, maximum),
        Isa::FminNan => |l, op| floats(l, op, |a, b| if a.is_nan() { a } else { minimum(b, a) }),
        Isa::FmaxNan => |l, op| floats(l, op, |a, b| if a.is_nan() { a } else { maximum(b, a) }),
        Isa::Fabsmin => |l, op| floats(l, op, |a, b| minimum(a.abs(), b.abs())),
        Isa::Fabsmax => |l, op| floats(l, op, |a, b| maximum(a.abs(), b.abs())),
        Isa::Fmov | Isa::FmovRtz | Isa::FmovRtn | Isa::FmovRtp => |l, op| {
            let value = l.get(&op.src[1]);
            finish(l, op, &value)
        },
        Isa::Froundeven => |l, op| float(l, op, f32::round_ties_even),
        Isa::Froundaway => |l, op| float(l, op, f32::round),
        Isa::Ftrunc => |l, op| float(l, op, f32::trunc),
        Isa::Ffloor => |l, op| float(l, op, f32::floor),
        Isa::Fceil => |l, op| float(l, op, f32::ceil),
        Isa::Frcp => |l, op| float(l, op, |a| 1.0 / a),
        Isa::Frsqrt => |l, op| float(l, op, |a| (1.0 / f64::from(a).sqrt()) as f32),
        Isa::Fsqrt => |l, op| float(l, op, f32::sqrt),
        Isa::Fexp2 => |l, op| float(l, op, |a| f64::from(a).exp2() as f32),
        Isa::Flog2 => |l, op| float(l, op, |a| f64::from(a).log2() as f32),
        Isa::Fsinpi => |l, op| float(l, op, |a| (f64::from(a) * PI).sin() as f32),
        Isa::Fcospi => |l, op| float(l, op, |a| (f64::from(a) * PI).cos() as f32),
        Isa::Feq | Isa::FballEq => |l, op| compare(l, op, |a, b| a == b),
        Isa::Fne | Isa::FballNeq => |l, op| compare(l, op, |a, b| a != b),
        Isa::Flt | Isa::FballLt => |l, op| compare(l, op, |a, b| a < b),
        Isa::Fle | Isa::FballLte => |l, op| compare(l, op, |a, b| a <= b),
        Isa::Iadd => |l, op| integers(l, op, u32::wrapping_add),
        Isa::Isub => |l, op| integers(l, op, u32::wrapping_sub),
        Isa::Ishladd => |l, op| integers(l, op, |a, b| (a << 1).wrapping_add(b)),
        Isa::Ishlsub => |l, op| integers(l, op, |a, b| (a << 1).wrapping_sub(b)),
        Isa::Iaddsat => |l, op| {
            sized(l, op, |a, b, n| saturated(i64::from(a as i32) + i64::from(b as i32), n, true))
        },
        Isa::Isubsat => |l, op| {
            sized(l, op, |a, b, n| saturated(i64::from(a as i32) - i64::from(b as i32), n, true))
        },
        Isa::Uaddsat => {
            |l, op| sized(l, op, |a, b, n| saturated(i64::from(a) + i64::from(b), n, false))
        }
        Isa::Usubsat => {
            |l, op| sized(l, op, |a, b, n| saturated(i64::from(a) - i64::from(b), n, false))
        }
        Isa::Imul => |l, op| integers(l, op, u32::wrapping_mul),
        Isa::Imin => |l, op| integers(l, op, |a, b| (a as i32).min(b as i32) as u32),
        Isa::Imax => |l, op| integers(l, op, |a, b| (a as i32).max(b as i32) as u32),
        Isa::Umin => |l, op| integers(l, op, u32::min),
        Isa::Umax => |l, op| integers(l, op, u32::max),
        Isa::Iavg => |l, op| {
            integers(l, op, |a, b| ((i64::from(a as i32) + i64::from(b as i32)) >> 1) as u32)
        },
        Isa::Uavg => |l, op| integers(l, op, |a, b| ((u64::from(a) + u64::from(b)) >> 1) as u32),
        Isa::Iravg => |l, op| {
            integers(l, op, |a, b| ((i64::from(a as i32) + i64::from(b as i32) + 1) >> 1) as u32)
        },
        Isa::Uravg => {
            |l, op| integers(l, op, |a, b| ((u64::from(a) + u64::from(b) + 1) >> 1) as u32)
        }
        Isa::Iasr => |l, op| sized(l, op, |a, b, n| (a as i32 >> (b & (n - 1))) as u32),
        Isa::Ilsr => |l, op| sized(l, op, |a, b, n| a >> (b & (n - 1))),
        Isa::Ishl => |l, op| sized(l, op, |a, b, n| a << (b & (n - 1))),
        Isa::Iand => |l, op| integers(l, op, |a, b| a & b),
        Isa::Ior => |l, op| integers(l, op, |a, b| a | b),
        Isa::Inand => |l, op| integers(l, op, |a, b| !(a & b)),
        Isa::Inor => |l, op| integers(l, op, |a, b| !(a | b)),
        Isa::Iandnot => |l, op| integers(l, op, |a, b| a & !b),
        Isa::Iornot => |l, op| integers(l, op, |a, b| a | !b),
        Isa::Ixor => |l, op| integers(l, op, |a, b| a ^ b),
        Isa::Inxor => |l, op| integers(l, op, |a, b| !(a ^ b)),
        Isa::Iclz => {
            |l, op| sized(l, op, |a, _, n| (a & u32::MAX >> (32 - n)).leading_zeros() + n - 32)
        }
        Isa::Ipopcnt => |l, op| sized(l, op, |a, _, n| (a & u32::MAX >> (32 - n)).count_ones()),
        Isa::Imov => |l, op| {
            let value = l.get(&op.src[1]);
            finish_integer(l, op, &value)
        },
        Isa::Iabsdiff => |l, op| integers(l, op, |a, b| (a as i32).abs_diff(b as i32)),
        Isa::Uabsdiff => |l, op| integers(l, op, u32::abs_diff),
        Isa::F2iRte => |l, op| to_integer(l, op, f32::round_ties_even, true),
        Isa::F2iRtz => |l, op| to_integer(l, op, f32::trunc, true),
        Isa::F2iRtn => |l, op| to_integer(l, op, f32::floor, true),
        Isa::F2iRtp => |l, op| to_integer(l, op, f32::ceil, true),
        Isa::F2uRte => |l, op| to_integer(l, op, f32::round_ties_even, false),
        Isa::F2uRtz => |l, op| to_integer(l, op, f32::trunc, false),
        Isa::F2uRtn => |l, op| to_integer(l, op, f32::floor, false),
        Isa::F2uRtp => |l, op| to_integer(l, op, f32::ceil, false),
        Isa::I2fRte | Isa::I2fRtz | Isa::I2fRtn | Isa::I2fRtp => |l, op| to_float(l, op, true),
        Isa::U2fRte | Isa::U2fRtz | Isa::U2fRtn | Isa::U2fRtp => |l, op| to_float(l, op, false),
        Isa::Ieq | Isa::IballEq => |l, op| integers(l, op, |a, b| truth(a == b)),
        Isa::Ine | Isa::IballNeq => |l, op| integers(l, op, |a, b| truth(a != b)),
        Isa::Ult | Isa::UballLt => |l, op| integers(l, op, |a, b| truth(a < b)),
        Isa::Ule | Isa::UballLte => |l, op| integers(l, op, |a, b| truth(a <= b)),
        Isa::Ilt | Isa::IballLt => |l, op| integers(l, op, |a, b| truth((a as i32) < b as i32)),
        Isa::Ile | Isa::IballLte => |l, op| integers(l, op, |a, b| truth(a as i32 <= b as i32)),
        Isa::Icsel | Isa::IcselV => |l, op| {
            let value = select(l, op);
            finish_integer(l, op, &value)
        },
        Isa::Fcsel | Isa::FcselV => |l, op| {
            let value = select(l, op);
            finish(l, op, &value)
        },
        _ => return None,
    })
}

/// The rounding mode of an instruction.
fn rounding(isa: Isa) -> RoundMode {
    match isa {
        Isa::I2fRtz | Isa::U2fRtz => RoundMode::Rtz,
        Isa::I2fRtn | Isa::U2fRtn => RoundMode::Rtn,
        Isa::I2fRtp | Isa::U2fRtp => RoundMode::Rtp,
        _ => RoundMode::Rte,
    }
}

/// The component-wise comparison of a horizontal test, and whether all components must pass.
fn horizontal(isa: Isa) -> Option<(Isa, bool)> {
    Some(match isa {
        Isa::FballEq
        | Isa::FballNeq
        | Isa::FballLt
        | Isa::FballLte
        | Isa::IballEq
        | Isa::IballNeq
        | Isa::UballLt
        | Isa::UballLte
        | Isa::IballLt
        | Isa::IballLte => (isa, true),
        Isa::FbanyEq => (Isa::Feq, false),
        Isa::FbanyNeq => (Isa::Fne, false),
        Isa::FbanyLt => (Isa::Flt, false),
        Isa::FbanyLte => (Isa::Fle, false),
        Isa::IbanyEq => (Isa::Ieq, false),
        Isa::IbanyNeq => (Isa::Ine, false),
        Isa::UbanyLt => (Isa::Ult, false),
        Isa::UbanyLte => (Isa::Ule, false),
        Isa::IbanyLt => (Isa::Ilt, false),
        Isa::IbanyLte => (Isa::Ile, false),
        _ => return None,
    })
}

/// The operation on one component of an instruction.
struct ComponentOp {
    dest: Element,
    sources: Vec<[Src; 2]>,
    condition: Src,
}

/// Parameters that all components of an instruction share.
struct InstructionParams {
    row: &'static AluRow,
    bits: u32,
    clamp: Clamp,
    flags: u32,
}

impl InstructionParams {
    fn new(row: &'static AluRow, bits: u32, shrinks: bool, outmod: u32) -> InstructionParams {
        let integer = row.makes_integer();
        let clamps = [Clamp::None, Clamp::Clamp0Inf, Clamp::ClampM11, Clamp::Clamp01];
        InstructionParams {
            row,
            bits,
            clamp: if integer { Clamp::None } else { clamps[outmod as usize & 3] },
            flags: match (integer && shrinks, outmod) {
                (true, 0) => SATURATE_SIGNED,
                (true, 1) => SATURATE_UNSIGNED,
                (true, 3) => KEEP_HIGH,
                _ => 0,
            },
        }
    }

    /// The operation of one instruction on sources.
    fn op(&self, isa: Isa, [a, b]: [Src; 2]) -> Option<Op> {
        let run = if self.bits == 64 { wide::handler(isa) } else { handler(isa) }?;
        let mut op = Op::new(run, Flow::None);
        (op.src[0], op.src[1]) = (a, b);
        (op.clamp, op.flags, op.immediate) = (self.clamp, self.flags, self.bits);
        op.round = rounding(isa);
        Some(op)
    }
}

/// Translates the units of a bundle.
pub fn lower(context: &mut Context, alu: &Alu) -> Option<()> {
    vector(context, &alu.vmul)?;
    scalar(context, &alu.sadd)?;
    vector(context, &alu.vadd)?;
    scalar(context, &alu.smul)?;
    vector(context, &alu.lut)
}

fn vector(context: &mut Context, unit: &VectorUnit) -> Option<()> {
    let Some((r, v)) = unit else { return Some(()) };
    let row = v.row()?;
    let bits = v.bits();
    let shrinks = v.shrink != shrink::NONE;
    if shrinks && (v.shrink > shrink::NONE || bits == 8) {
        return None;
    }
    let whole = InstructionParams::new(row, bits, shrinks, v.outmod);
    let count = 128 / bits;
    let mut parts = Vec::new();
    for i in 0..count {
        if v.mask >> (i * bits / 16) & 1 == 0 {
            continue;
        }
        let dest = Element {
            register: r.dest,
            bits: if shrinks { bits / 2 } else { bits },
            index: if v.shrink == shrink::HIGH { count + i } else { i },
        };
        let components = match row.channels {
            0 => i..i + 1,
            n => 0..n.into(),
        };
        let mut sources = Vec::new();
        for i in components {
            sources.push([
                vector_source(context, r, v, row, 0, i)?,
                vector_source(context, r, v, row, 1, i)?,
            ]);
        }
        let select = |i| Src { row: rows::word(register::SELECT, i).into(), ..Src::NONE };
        let condition = match row.op {
            Isa::IcselV | Isa::FcselV if bits == 32 => select(i),
            Isa::IcselV | Isa::FcselV => return None,
            _ => select(3),
        };
        parts.push(ComponentOp { dest, sources, condition });
    }
    instruction(context, &whole, parts)
}

fn vector_source(
    context: &mut Context,
    r: &Registers,
    v: &Vector,
    row: &AluRow,
    which: usize,
    i: u32,
) -> Option<Src> {
    if which == 1 && r.immediate != 0 {
        return context.immediate(v.immediate(r), row.kind, v.bits());
    }
    let (bits, number) = if which == 0 { (v.src1, r.src1) } else { (v.src2, r.src2) };
    // Moves have their source in second position.
    if which == 0 && is_move(row.op) {
        return Some(Src::NONE);
    }
    let source = VectorSource::decode(u128::from(bits));
    let element = of_vector(number, &source, v.bits(), i)?;
    context.source(element, row.kind, source.modifier, v.bits())
}

fn is_move(isa: Isa) -> bool {
    matches!(isa, Isa::Imov | Isa::Fmov | Isa::FmovRtz | Isa::FmovRtn | Isa::FmovRtp)
}

fn scalar(context: &mut Context, unit: &ScalarUnit) -> Option<()> {
    let Some((r, s)) = unit else { return Some(()) };
    let row = s.row()?;
    let full = s.full != 0;
    let whole = InstructionParams::new(row, 32, !full, s.outmod);
    let dest = match full {
        true => Element { register: r.dest, bits: 32, index: s.component >> 1 },
        false => Element { register: r.dest, bits: 16, index: s.component },
    };
    let first = scalar_source(context, r, s, row, 0)?;
    let second = scalar_source(context, r, s, row, 1)?;
    if row.channels != 0 {
        return None;
    }
    let condition = Src { row: rows::word(register::SELECT, 3).into(), ..Src::NONE };
    instruction(
        context,
        &whole,
        vec![ComponentOp { dest, sources: vec![[first, second]], condition }],
    )
}

fn scalar_source(
    context: &mut Context,
    r: &Registers,
    s: &Scalar,
    row: &AluRow,
    which: usize,
) -> Option<Src> {
    if which == 1 && r.immediate != 0 {
        return context.immediate(s.immediate(r), row.kind, 32);
    }
    if which == 0 && is_move(row.op) {
        return Some(Src::NONE);
    }
    let (bits, register) = if which == 0 { (s.src1, r.src1) } else { (s.src2, r.src2) };
    let source = ScalarSource::decode(u128::from(bits));
    let element = match source.full != 0 {
        true => Element { register, bits: 32, index: source.component >> 1 },
        false => Element { register, bits: 16, index: source.component },
    };
    context.source(element, row.kind, source.modifier, 32)
}

/// Adds the operations of an instruction's components.
fn instruction(
    context: &mut Context,
    whole: &InstructionParams,
    parts: Vec<ComponentOp>,
) -> Option<()> {
    let float = !whole.row.makes_integer();
    let dest = |part: &ComponentOp| part.dest.written(float);
    // If a later component reads an overwritten one, results are written after all reads.
    let hazard = parts.iter().enumerate().any(|(n, part)| {
        let (row, _) = dest(part);
        let high = row + u8::from(part.dest.bits == 64);
        let touches = |src: &Src| {
            [src.row, src.high].iter().any(|r| *r == u16::from(row) || *r == u16::from(high))
        };
        let later = parts[n + 1..].iter().flat_map(|p| &p.sources).flatten();
        later.into_iter().any(touches) || part.sources.len() > 1
    });
    let mut moves: Vec<(u8, u8, u32)> = Vec::new();
    for part in &parts {
        let (row, written) = dest(part);
        let mut own = row;
        if hazard {
            own = rows::RESULT + row % 4;
            let bits = match written {
                WriteMode::Bits(bits) => bits,
                WriteMode::Float16 { high } | WriteMode::Lower16 { high } => {
                    if high {
                        0xffff_0000
                    } else {
                        0xffff
                    }
                }
                WriteMode::Word => u32::MAX,
            };
            moves.push((own, row, bits));
            if part.dest.bits == 64 {
                moves.push((own + 1, row + 1, bits));
            }
        }
        component(context, whole, part, own, written)?;
    }
    for (from, to, bits) in moves {
        let written = if bits == u32::MAX { WriteMode::Word } else { WriteMode::Bits(bits) };
        context.copy(Src { row: from.into(), ..Src::NONE }, to, written);
    }
    Some(())
}

/// Shifts an integer to the byte that it is written to.
fn shifted(l: &mut Lanes<'_, '_>, op: &Op) -> Done {
    let by = op.immediate;
    let value = l.get(&op.src[0]).map(|v| v << by);
    l.put(op, &value);
    Ok(())
}

fn component(
    context: &mut Context,
    whole: &InstructionParams,
    part: &ComponentOp,
    dest: u8,
    written: WriteMode,
) -> Option<()> {
    let isa = whole.row.op;
    let scratch = |n: u8| Src { row: (rows::SCRATCH + n).into(), ..Src::NONE };
    let step = |context: &mut Context, isa: Isa, sources: [Src; 2], to: u8| {
        let bits = 32;
        let plain = InstructionParams { row: whole.row, bits, clamp: Clamp::None, flags: 0 };
        let mut op = plain.op(isa, sources)?;
        op.dest = to;
        context.ops.push(op);
        Some(())
    };
    if matches!(isa, Isa::Fdot3 | Isa::Fdot4) {
        for (n, sources) in part.sources.iter().enumerate() {
            let to = if n == 0 { 0 } else { 1 };
            step(context, Isa::Fmul, *sources, rows::SCRATCH + to)?;
            if n + 1 == part.sources.len() {
                let mut op = whole.op(Isa::Fadd, [scratch(0), scratch(1)])?;
                (op.dest, op.written) = (dest, written);
                context.ops.push(op);
            } else if n > 0 {
                step(context, Isa::Fadd, [scratch(0), scratch(1)], rows::SCRATCH)?;
            }
        }
        return Some(());
    }
    if let Some((comparison, all)) = horizontal(isa) {
        let with = if all { Isa::Iand } else { Isa::Ior };
        for (n, sources) in part.sources.iter().enumerate() {
            let to = if n == 0 { 0 } else { 1 };
            step(context, comparison, *sources, rows::SCRATCH + to)?;
            if n > 0 {
                step(context, with, [scratch(0), scratch(1)], rows::SCRATCH)?;
            }
        }
        context.copy(scratch(0), dest, written);
        return Some(());
    }
    if part.sources.len() != 1 {
        return None;
    }
    let mut op = whole.op(isa, part.sources[0])?;
    op.src[2] = part.condition;
    if let WriteMode::Bits(bits) = written {
        let shift = bits.trailing_zeros();
        op.dest = rows::SCRATCH;
        context.ops.push(op);
        let mut last = Op::new(shifted, Flow::None);
        (last.src[0], last.dest, last.written) = (scratch(0), dest, written);
        last.immediate = shift;
        context.ops.push(last);
        return Some(());
    }
    (op.dest, op.written) = (dest, written);
    if whole.bits == 64 && part.dest.bits < 64 {
        wide::narrow(&mut op);
    }
    // A plain move is just a copy.
    if isa == Isa::Imov && whole.flags == 0 && whole.bits != 64 {
        op.run = copy;
        op.src[0] = op.src[1];
    }
    context.ops.push(op);
    Some(())
}
