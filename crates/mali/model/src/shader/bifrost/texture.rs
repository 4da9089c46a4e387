//! Textures: the operands of TEXC, TEXS and VAR_TEX become staging registers in Valhall's order.
//!
// source: Mesa, bifrost.h (struct bifrost_texture_operation, enumerations of its fields), bifrost_compile.c
// (bi_emit_texc: the order of staging registers; bi_emit_texs).

use tepui_mali_isa::Flow;
use tepui_mali_isa::Op as Isa;
use tepui_mali_isa::bifrost::disasm::Fau;
use tepui_mali_isa::bifrost::registers::Access;
use tepui_mali_isa::bifrost::{Inst, Port, Tuple};
use tepui_mali_isa::modifier::{Dimension, FetchComponent, LodMode};

use super::{Context, Lowered, format_flags, load_varying, moved, temporary};
use crate::shader::message::{self};
use crate::shader::op::{Lanes, Op};
use crate::shader::operand::Src;
use crate::warp::addresses;
use crate::warp::row::Row;
use crate::warp::trap::Trap;

/// A texture operation's descriptor.
#[derive(Clone, Copy)]
struct Operation(u32);

/// Number of textures, and the source of their indices.
const DUAL: u32 = 1;
const SINGLE: u32 = 3;
/// Operations.
const GRADIENT_OF_DERIVATIVES: u32 = 4;
const GRADIENT: u32 = 5;
const FETCH: u32 = 6;
/// A fetch of one texel; gathers are the numbers from [`GATHER`] on.
const TEXEL: u32 = 1;
const GATHER: u32 = 4;

impl Operation {
    fn get(self, start: u32, size: u32) -> u32 {
        self.0 >> start & ((1 << size) - 1)
    }

    /// The staging words that hold texture and sampler indices, and the indices in the descriptor.
    fn indices(self) -> [Option<u32>; 2] {
        let (low, index) = (self.get(0, 4), self.get(4, 7));
        if self.get(11, 1) != 0 {
            return [Some(index), Some(low)];
        }
        match low & 3 {
            0 => [Some(index), Some(index)],
            1 => [None, Some(index)],
            2 => [Some(index), None],
            _ => [None, None],
        }
    }
}

/// Level and face of a fetch, and offsets with the sample, in Valhall's encoding: the level or sample is in the
/// upper bytes of the offsets.
fn fetch_offsets(l: &mut Lanes<'_, '_>, op: &Op) -> Result<(), Box<Trap>> {
    let (level, offsets) = (l.get(&op.src[0]), l.get(&op.src[1]));
    let word = |lane: usize| {
        let [x, y, z, sample] = offsets.0[lane].to_le_bytes();
        let level = (level.0[lane] >> 8) as u8;
        u32::from_le_bytes([x, y, if sample != 0 { sample } else { z }, level])
    };
    l.put(op, &Row(std::array::from_fn(word)));
    Ok(())
}

/// The number of a layer as a float.
fn layer_number(l: &mut Lanes<'_, '_>, op: &Op) -> Result<(), Box<Trap>> {
    let layer = l.get(&op.src[0]);
    l.put(op, &Row(layer.0.map(|number| (number as f32).to_bits())));
    Ok(())
}

/// A coordinate on a cube's face, with the face in its upper bits, as all other instructions expect it.
fn with_face(l: &mut Lanes<'_, '_>, op: &Op) -> Result<(), Box<Trap>> {
    const FACE: u32 = 7 << 29;
    let (coordinate, face) = (l.get(&op.src[0]), l.get(&op.src[1]));
    let word = |lane: usize| coordinate.0[lane] & !FACE | face.0[lane] & FACE;
    l.put(op, &Row(std::array::from_fn(word)));
    Ok(())
}

/// The operation of a Valhall instruction on the temporary registers.
fn sample(isa: Isa, flags: u32, words: u8, staging: (u8, u8)) -> Option<Op> {
    let mut op = Op::new(message::handler(isa)?, Flow::None);
    op.flags = flags;
    op.staging = [staging, (temporary::TEXTURE, words)];
    Some(op)
}

/// A texture and a sampler by their handles, as a source of 64 bits.
fn handles(context: &mut Context<'_>, [texture, sampler]: [u32; 2]) -> Option<Src> {
    let row = context.constant(addresses::SAMPLERS << 24 | sampler)?;
    let high = context.constant(addresses::TEXTURES << 24 | texture)?;
    Some(Src { row, high, ..Src::NONE })
}

/// Translates an instruction; `None` if it samples no texture or the model does not execute it.
pub fn lower(context: &mut Context<'_>, inst: &Inst) -> Lowered {
    let name = inst.op.row().name;
    match name.split_once('.').unwrap_or((name, "")) {
        ("TEXC", _) => operation(context, inst),
        ("TEXS_2D" | "TEXS_CUBE", kind) => simple(context, inst, kind),
        ("VAR_TEX", kind) => {
            if inst.modifier("update") != Some("store") {
                return None;
            }
            let zero = inst.modifier("lod_mode") == Some("zero_lod");
            let texture = inst.immediate("texture_index")?;
            let index = inst.immediate("varying_index")?;
            let flags = format_flags("f32")?;
            let coordinates = load_varying(index, flags, temporary::TEXTURE, 2);
            let staging = (context.clause.header.staging, if kind == "f16" { 2 } else { 4 });
            let lod = if zero { LodMode::Zero } else { LodMode::Computed };
            let flags = message::texture_fields(Dimension::D2, lod, kind == "f16");
            let mut op = sample(Isa::TEX_SINGLE, flags, 2, staging)?;
            op.src[0] = handles(context, [texture, texture])?;
            Some(vec![coordinates, op])
        }
        _ => None,
    }
}

/// The sampling of a preload descriptor, before the shader begins: the operations, and the rows of constants that they
/// read after `rows`.
pub fn preloaded(
    varying: u32,
    texture: u32,
    short: bool,
    zero: bool,
    register: u8,
) -> Option<(Vec<Op>, [u32; 2])> {
    let coordinates = load_varying(varying, format_flags("f32")?, temporary::TEXTURE, 2);
    let lod = if zero { LodMode::Zero } else { LodMode::Computed };
    let flags = message::texture_fields(Dimension::D2, lod, short);
    let op = sample(Isa::TEX_SINGLE, flags, 2, (register, if short { 2 } else { 4 }))?;
    Some((
        vec![coordinates, op],
        [addresses::SAMPLERS << 24 | texture, addresses::TEXTURES << 24 | texture],
    ))
}

fn simple(context: &mut Context<'_>, inst: &Inst, kind: &str) -> Lowered {
    let register = context.clause.header.staging;
    let cube = inst.op.row().name.starts_with("TEXS_CUBE");
    let zero = inst.modifier("lod_mode") == Some("zero_lod");
    let lod = if zero { LodMode::Zero } else { LodMode::Computed };
    let dimension = if cube { Dimension::Cube } else { Dimension::D2 };
    let flags = message::texture_fields(dimension, lod, kind == "f16");
    let mut ops = Vec::new();
    let [first, second] = [context.plain(inst, 0)?, context.plain(inst, 1)?];
    if cube {
        let mut op = Op::new(with_face, Flow::None);
        (op.src[0], op.src[1]) = (first, context.plain(inst, 2)?);
        op.dest = temporary::TEXTURE;
        ops.push(op);
    } else {
        ops.push(moved(first.row, temporary::TEXTURE, Access::Write));
    }
    ops.push(moved(second.row, temporary::TEXTURE + 1, Access::Write));
    let mut op = sample(Isa::TEX_SINGLE, flags, 2, (register, if kind == "f16" { 2 } else { 4 }))?;
    let (texture, sampler) = (inst.immediate("texture_index")?, inst.immediate("sampler_index")?);
    op.src[0] = handles(context, [texture, sampler])?;
    ops.push(op);
    Some(ops)
}

/// Two textures at the same coordinates, whose indices are in the descriptor and whose results go to separate
/// registers.
//
// source: Mesa, bifrost.h (struct bifrost_dual_texture_operation), bi_opt_dual_tex.c.
fn dual(context: &mut Context<'_>, inst: &Inst, d: Operation) -> Lowered {
    let mut ops = Vec::new();
    for index in 0..2 {
        let row = context.plain(inst, index)?.row;
        ops.push(moved(row, temporary::TEXTURE + index as u8, Access::Write));
    }
    let second = d.get(12, 6) as u8;
    let of = [
        // Texture, sampler, format, components, register.
        (d.get(4, 2), d.get(0, 2), d.get(25, 3), d.get(28, 4), context.clause.header.staging),
        (d.get(8, 2), d.get(6, 2), d.get(18, 3), d.get(21, 4), second),
    ];
    for (texture, sampler, format, mask, register) in of {
        let short = format < 4;
        let count = if short { 2 } else { 4 };
        if register + count > 64 {
            return None;
        }
        // Outside of fragment shaders the unit computes no gradient.
        let flags = message::texture_fields(Dimension::D2, LodMode::Computed, short) & !0xf | mask;
        let mut op = sample(Isa::TEX_SINGLE, flags, 2, (register, count))?;
        op.src[0] = handles(context, [texture, sampler])?;
        ops.push(op);
    }
    Some(ops)
}

fn operation(context: &mut Context<'_>, inst: &Inst) -> Lowered {
    let descriptor = Operation(context.known(*inst.sources.get(2)?)?);
    match (descriptor.get(11, 1), descriptor.get(2, 2)) {
        (1, _) | (0, SINGLE) => {}
        (0, DUAL) => return dual(context, inst, descriptor),
        _ => return None,
    }
    let kind = descriptor.get(12, 3);
    let dimension = match descriptor.get(18, 2) {
        0 => Dimension::Cube,
        1 => Dimension::D1,
        2 => Dimension::D2,
        _ => Dimension::D3,
    };
    let flag = |bit: u32| descriptor.get(bit, 1) != 0;
    let (offset, shadow, array) = (flag(15), flag(16), flag(17));
    let mode = descriptor.get(20, 3);
    let format = descriptor.get(24, 4);
    let short = matches!(format, 0..=3 | 12 | 13);
    let mask = descriptor.get(28, 4);
    let base = context.clause.header.staging;
    // Staging registers in their order.
    let mut next = base;
    let mut take = |present: bool| {
        let register = next;
        next += u8::from(present);
        present.then_some(register)
    };
    let volume = dimension == Dimension::D3;
    let depth = take(volume && kind != GRADIENT_OF_DERIVATIVES);
    let is_fetch = kind == FETCH && mode == TEXEL;
    let has_level =
        is_fetch || kind == 7 && matches!(mode, 4 | 5) || kind == FETCH && mode >= GATHER;
    let derivatives: Vec<u8> = match kind {
        GRADIENT_OF_DERIVATIVES => {
            let count = match dimension {
                Dimension::D1 => 1,
                Dimension::D3 => 4,
                _ => 2,
            };
            (0..count).filter_map(|_| take(true)).collect()
        }
        _ => Vec::new(),
    };
    let level = take(has_level || kind == 7 && mode == 3);
    let level_high = take(kind == 7 && mode == 3);
    let compare = take(shadow && !matches!(kind, GRADIENT | GRADIENT_OF_DERIVATIVES));
    let layer = take(array);
    let offsets = take(offset && !matches!(kind, GRADIENT | GRADIENT_OF_DERIVATIVES));
    let [texture, sampler] = descriptor.indices();
    let sampler_register = take(sampler.is_none());
    let texture_register = take(texture.is_none());
    if next > 64 {
        return None;
    }
    let (x, y) = (context.plain(inst, 0)?.row, context.plain(inst, 1)?.row);
    let mut words: Vec<u16> = Vec::new();
    // The operand that is an integer here and a float on Valhall.
    let mut number = None;
    let mut ops = Vec::new();
    let mut flags = message::texture_fields(dimension, LodMode::Zero, short) & !0xf | mask;
    let isa = match kind {
        GRADIENT_OF_DERIVATIVES => {
            // x to the right and down, then y: the sources have the former of x and y.
            let own = |n: usize| derivatives.get(n).map(|r| u16::from(*r));
            match dimension {
                Dimension::D1 => words.extend([x, own(0)?]),
                Dimension::D2 | Dimension::Cube => words.extend([x, own(0)?, y, own(1)?]),
                Dimension::D3 => words.extend([x, own(1)?, y, own(2)?, own(0)?, own(3)?]),
            }
            flags |= message::texture_derivatives(offset, shadow);
            Isa::TEX_GRADIENT
        }
        _ => {
            words.push(x);
            if dimension != Dimension::D1 {
                words.push(y);
            }
            words.extend(depth.map(u16::from));
            if let Some(layer) = layer.filter(|_| kind != GRADIENT) {
                if !is_fetch {
                    number = Some(words.len());
                }
                words.push(layer.into());
                flags |= message::TEXTURE_ARRAY;
            }
            match kind {
                GRADIENT => {
                    flags |= message::texture_gradient(offset, shadow);
                    Isa::TEX_GRADIENT
                }
                FETCH if mode == TEXEL => {
                    let mut op = Op::new(fetch_offsets, Flow::None);
                    op.src[0].row = level?.into();
                    if let Some(offsets) = offsets {
                        op.src[1].row = offsets.into();
                    }
                    op.dest = temporary::TEXTURE + words.len() as u8;
                    ops.push(op);
                    flags |= message::TEXTURE_OFFSET;
                    Isa::TEX_FETCH
                }
                _ => {
                    if let Some(compare) = compare {
                        words.push(compare.into());
                        flags |= message::TEXTURE_SHADOW;
                    }
                    if let Some(offsets) = offsets {
                        words.push(offsets.into());
                        flags |= message::TEXTURE_OFFSET;
                    }
                    if kind == FETCH {
                        let component = match mode.checked_sub(GATHER)? {
                            0 => FetchComponent::Gather4R,
                            1 => FetchComponent::Gather4G,
                            2 => FetchComponent::Gather4B,
                            _ => FetchComponent::Gather4A,
                        };
                        flags |= message::texture_component(component);
                        Isa::TEX_GATHER
                    } else {
                        let lod = match mode {
                            3 => LodMode::Grdesc,
                            4 => LodMode::Explicit,
                            5 => LodMode::ComputedBias,
                            6 => LodMode::Zero,
                            7 => LodMode::Computed,
                            _ => return None,
                        };
                        words.extend(level.map(u16::from));
                        words.extend(level_high.map(u16::from));
                        flags |= message::texture_lod(lod);
                        Isa::TEX_SINGLE
                    }
                }
            }
        }
    };
    let fetched = u8::from(!ops.is_empty());
    let count = words.len() as u8 + fetched;
    if count > temporary::END - temporary::TEXTURE {
        return None;
    }
    let mut all: Vec<Op> = Vec::new();
    for (n, row) in words.into_iter().enumerate() {
        let register = temporary::TEXTURE + n as u8;
        let mut op = moved(row, register, Access::Write);
        if number == Some(n) {
            op = Op { src: op.src, dest: register, ..Op::new(layer_number, Flow::None) };
        }
        all.push(op);
    }
    all.extend(ops);
    let results = if short { 2 } else { 4 };
    let mut op = sample(isa, flags | message::TEXTURE_WIDE, count, (base, results))?;
    op.src[0] = handles(context, [texture.unwrap_or(0), sampler.unwrap_or(0)])?;
    // Indices in registers become handles by setting the table in the upper byte, which is already in handles
    // of descriptors.
    for (register, table, which) in
        [(sampler_register, addresses::SAMPLERS, 0), (texture_register, addresses::TEXTURES, 1)]
    {
        if let Some(register) = register {
            let mut set = moved(register.into(), temporary::ADDRESS + which, Access::Write);
            set.src[0].flip = table << 24;
            all.push(set);
            let row = u16::from(temporary::ADDRESS + which);
            if which == 0 {
                op.src[0].row = row
            } else {
                op.src[0].high = row
            };
        }
    }
    all.push(op);
    Some(all)
}

impl Context<'_> {
    /// The value of a source that is a constant of the clause, or was moved from one by the previous tuple.
    fn known(&self, port: Port) -> Option<u32> {
        self.known_in(self.tuple, port)
    }

    fn known_in(&self, index: usize, port: Port) -> Option<u32> {
        let tuple = self.clause.tuples.get(index)?;
        let moved = |index: usize, inst: &Inst| match inst.op.row().name {
            "MOV.i32" => self.known_in(index, *inst.sources.first()?),
            _ => None,
        };
        let before = |of: fn(&Tuple) -> &Inst| {
            let index = index.checked_sub(1)?;
            moved(index, of(self.clause.tuples.get(index)?))
        };
        let byte = tuple.registers.fau();
        let high = match port {
            Port::FauLow => 0,
            Port::FauHigh => 32,
            Port::PassFma => return before(|tuple| &tuple.fma),
            Port::PassAdd => return before(|tuple| &tuple.add),
            _ => return None,
        };
        let Fau::Constant(index, low) = Fau::of(byte) else { return None };
        let value = self.clause.constants.get(index)? | u64::from(low);
        Some((value >> high) as u32)
    }
}
