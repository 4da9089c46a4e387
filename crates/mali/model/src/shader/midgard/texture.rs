//! Texture instructions: their operands become staging registers in Valhall's order.
//!
//! Coordinates are s, t and, for 3D images, r; for other textures the third is the reference or the sample. The fourth
//! is the layer, which is used only if the texture has several.
//!
// source: Mesa, midgard_compile.c (set_tex_coord, emit_texop_native), midgard_derivatives.c, midgard.h.

use tepui_mali_isa::midgard::table::texture;
use tepui_mali_isa::midgard::word::{Texture, TextureRegister, register};
use tepui_mali_isa::midgard::{SourceType, TextureRegisters, signed};
use tepui_mali_isa::modifier::{Clamp, Dimension, FetchComponent, LodMode};
use tepui_mali_isa::{Flow, Op as Valhall};

use super::element::Element;
use super::{Context, nothing, rows};
use crate::shader::alu::float::finish;
use crate::shader::message::{self};
use crate::shader::op::{Lanes, Next, Op, WriteMode};
use crate::shader::operand::Src;
use crate::warp::addresses;
use crate::warp::row::Row;
use crate::warp::trap::Trap;

type Done = Result<(), Box<Trap>>;

/// Result modes.
const SHADOW: u32 = 5;
const GATHER_SHADOW: u32 = 6;
const GATHER: u32 = 8;

/// A level as fixed point with eight fractional bits.
fn fixed(l: &mut Lanes<'_, '_>, op: &Op) -> Done {
    let value = l.get(&op.src[0]).map(|v| {
        let level = (f32::from_bits(v) * 256.0).round_ties_even().clamp(-32768.0, 32767.0);
        u32::from(level as i16 as u16)
    });
    l.put(op, &value);
    Ok(())
}

/// Packs the offsets of three coordinates, and the level of a fetch, into a byte each.
fn bytes(l: &mut Lanes<'_, '_>, op: &Op) -> Done {
    let [x, y, z, w] = [0, 1, 2, 3].map(|n| l.get(&op.src[n]));
    let word = |lane: usize| u32::from_le_bytes([x, y, z, w].map(|row| row.0[lane] as u8));
    l.put(op, &Row(std::array::from_fn(word)));
    Ok(())
}

/// Converts an index in a register to a handle of a table.
fn handle(l: &mut Lanes<'_, '_>, op: &Op) -> Done {
    let value = l.get(&op.src[0]).map(|v| v & 0xff_ffff | op.immediate << 24);
    l.put(op, &value);
    Ok(())
}

/// The difference to the neighbour in a quad: to the right, or below if the immediate is 1.
fn derivative(l: &mut Lanes<'_, '_>, op: &Op) -> Done {
    let value = l.get(&op.src[0]);
    let bit = 1usize << op.immediate;
    let difference = |lane: usize| {
        let [first, second] = [lane & !bit, lane | bit].map(|n| f32::from_bits(value.0[n]));
        (second - first).to_bits()
    };
    l.put(op, &Row(std::array::from_fn(difference)));
    Ok(())
}

/// Clamps a float.
fn clamped(l: &mut Lanes<'_, '_>, op: &Op) -> Done {
    let value = l.get(&op.src[0]);
    finish(l, op, &value)
}

impl Context {
    /// A component of an operand: its register, and whether it has 32 bits or is a half, possibly of the
    /// upper part.
    fn operand(
        &mut self,
        (select, full, upper): (u32, bool, bool),
        component: u32,
        kind: SourceType,
    ) -> Option<Src> {
        let register = self.registers.operands() + select;
        let index = component + if upper && !full { 4 } else { 0 };
        let element = Element { register, bits: if full { 32 } else { 16 }, index };
        // `source` names the rows of the unit's results; its operands are in the rows that shaders write.
        let mut src = self.source(element, kind, 0, 32)?;
        let word = if full { index } else { index / 2 };
        src.row = rows::word(register, word).into();
        Some(src)
    }

    /// The source that an eight-bit register field names.
    fn field(&mut self, bits: u32, kind: SourceType) -> Option<Src> {
        let r = TextureRegister::decode(u128::from(bits & 0xff));
        self.operand((r.select, r.full != 0, r.upper != 0), r.component, kind)
    }

    fn stage(&mut self, run: crate::shader::op::Handler, src: [Src; 4], immediate: u32, to: u8) {
        let mut op = Op::new(run, Flow::None);
        (op.src, op.dest, op.immediate) = (src, to, immediate);
        self.ops.push(op);
    }
}

fn one(src: Src) -> [Src; 4] {
    [src, Src::NONE, Src::NONE, Src::NONE]
}

/// Translates an instruction.
pub fn lower(context: &mut Context, t: &Texture) -> Option<()> {
    if t.op == texture::BARRIER {
        let mut op = Op::new(nothing, Flow::None);
        op.next = Next::Barrier;
        context.ops.push(op);
        return Some(());
    }
    let fetch = t.op == texture::TEX_FETCH;
    let from = (t.in_select, t.in_full != 0, t.in_upper != 0);
    let kind = if fetch { SourceType::Signed } else { SourceType::Float };
    let coordinate =
        |context: &mut Context, n: u32| context.operand(from, t.in_swizzle >> (2 * n) & 3, kind);
    let mut float = t.sampler_type == 1;
    match t.op {
        texture::DERIVATIVE => {
            for n in 0..4 {
                let src = coordinate(context, n)?;
                context.stage(derivative, one(src), t.mode & 1, rows::RESULT + n as u8);
            }
            float = true;
        }
        texture::MOV => {
            for n in 0..4 {
                let src = coordinate(context, n)?;
                context.copy(src, rows::RESULT + n as u8, WriteMode::Word);
            }
        }
        texture::TEX | texture::TEX_GRAD | texture::TEX_FETCH => sample(context, t, from)?,
        _ => return None,
    }
    let clamps = [Clamp::None, Clamp::Clamp0Inf, Clamp::ClampM11, Clamp::Clamp01];
    for i in (0..4).filter(|i| t.mask >> i & 1 != 0) {
        let index = i + if t.out_upper != 0 { 4 } else { 0 };
        let bits = if t.out_full != 0 { 32 } else { 16 };
        // Results are not in the rows of operands.
        let (first, shift) = match context.registers {
            TextureRegisters::Own => (register::TEXTURE, rows::TEXTURE),
            TextureRegisters::Shared => (0, 0),
        };
        let register = first + t.out_select;
        let (row, written) = Element { register, bits, index }.written(float);
        let mut op = Op::new(clamped, Flow::None);
        let from = rows::RESULT + (t.swizzle >> (2 * i) & 3) as u8;
        op.src[0] = Src { row: from.into(), ..Src::NONE };
        op.dest = row - rows::word(first, 0) + shift;
        op.written = written;
        op.clamp = if float { clamps[t.outmod as usize & 3] } else { Clamp::None };
        context.ops.push(op);
    }
    Some(())
}

fn sample(context: &mut Context, t: &Texture, from: (u32, bool, bool)) -> Option<()> {
    let fetch = t.op == texture::TEX_FETCH;
    let kind = if fetch { SourceType::Signed } else { SourceType::Float };
    let gather = t.mode >= GATHER || t.mode == GATHER_SHADOW;
    let shadow = matches!(t.mode, SHADOW | GATHER_SHADOW);
    let (dimension, count) = match t.format {
        0 => (Dimension::Cube, 2),
        1 => (Dimension::D1, 1),
        2 => (Dimension::D2, 2),
        _ => (Dimension::D3, 3),
    };
    let mut staged = 0u8;
    let mut next = || {
        staged += 1;
        rows::STAGING + staged - 1
    };
    let coordinate =
        |context: &mut Context, n: u32| context.operand(from, t.in_swizzle >> (2 * n) & 3, kind);
    for n in 0..count {
        let src = coordinate(context, n)?;
        context.copy(src, next(), WriteMode::Word);
    }
    let layer = coordinate(context, 3)?;
    context.copy(layer, next(), WriteMode::Word);
    if shadow {
        let reference = coordinate(context, 2)?;
        context.copy(reference, next(), WriteMode::Word);
    }
    // Offsets; a fetch always has the register, because it contains sample and level.
    let mut offsets = [Src::NONE; 4];
    let has_offset = t.offset_register != 0 || t.offset != 0;
    if t.offset_register != 0 {
        let place = (t.offset >> 1 & 1, t.offset & 1 != 0, t.offset >> 2 & 1 != 0);
        for (n, offset) in (0..3).zip(&mut offsets) {
            *offset = context.operand(place, t.offset >> (3 + 2 * n) & 3, SourceType::Signed)?;
        }
    } else {
        for (n, offset) in (0..3).zip(&mut offsets) {
            *offset = context.literal(signed(t.offset >> (4 * n) & 0xf, 4) as u32)?;
        }
    }
    let mut mode = LodMode::Zero;
    let mut flags = message::TEXTURE_ARRAY | if shadow { message::TEXTURE_SHADOW } else { 0 };
    if fetch {
        if count < 3 {
            offsets[2] = coordinate(context, 2)?;
        }
        offsets[3] = match t.lod_register != 0 {
            true => context.field(t.bias, SourceType::Signed)?,
            false => context.literal(t.bias)?,
        };
    }
    if fetch || has_offset {
        flags |= message::TEXTURE_OFFSET;
        let to = next();
        context.stage(bytes, offsets, 0, to);
    }
    if !fetch && !gather {
        let given = t.lod_register != 0 || t.bias != 0 || t.bias_int != 0;
        mode = match (t.op == texture::TEX, given) {
            (true, false) => LodMode::Computed,
            (true, true) => LodMode::ComputedBias,
            (false, _) => LodMode::Explicit,
        };
        if given || mode == LodMode::Explicit {
            let to = next();
            if t.lod_register != 0 {
                let level = context.field(t.bias, SourceType::Float)?;
                context.stage(fixed, one(level), 0, to);
            } else {
                let level = signed(t.bias_int, 8) * 256 + t.bias as i32;
                let level = context.literal(level as u32 & 0xffff)?;
                context.copy(level, to, WriteMode::Word);
            }
        }
    }
    let isa = match (fetch, gather) {
        (true, _) => Valhall::TEX_FETCH,
        (_, true) => Valhall::TEX_GATHER,
        _ => Valhall::TEX_SINGLE,
    };
    let mut op = Op::new(message::handler(isa)?, Flow::None);
    op.flags = flags | message::texture_fields(dimension, mode, false);
    if t.mode >= GATHER {
        let components = [
            FetchComponent::Gather4R,
            FetchComponent::Gather4G,
            FetchComponent::Gather4B,
            FetchComponent::Gather4A,
        ];
        op.flags |= message::texture_component(*components.get((t.mode - GATHER) as usize)?);
    }
    op.staging = [(rows::RESULT, 4), (rows::STAGING, staged)];
    for (n, (in_register, number, table)) in [
        (t.sampler_register, t.sampler, addresses::SAMPLERS),
        (t.texture_register, t.texture, addresses::TEXTURES),
    ]
    .into_iter()
    .enumerate()
    {
        let row = match in_register != 0 {
            true => {
                let src = context.field(number, SourceType::Unsigned)?;
                let to = rows::SCRATCH + n as u8;
                context.stage(handle, one(src), table, to);
                to.into()
            }
            false => context.constant(table << 24 | number)?,
        };
        if n == 0 {
            op.src[0].row = row;
        } else {
            op.src[0].high = row;
        }
    }
    context.ops.push(op);
    Some(())
}
