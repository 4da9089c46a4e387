//! Textures and samplers.
//!
//! The staging registers of a lookup hold, as far as they are used: coordinates, the layer, the reference, offsets with the sample
//! or the level, the level of detail, a gradient descriptor. source: Mesa, bifrost_compile.c (`bi_emit_tex_valhall`)

use super::{Opnd, Select};
use crate::error::Result;
use crate::interface::handle;
use crate::mir::{Comp, Inst as Isa, PAIR, Val, WORD, words};
use tepui_ir::{Dim, Image, Inst, NumKind, Op, TexArgs, Value};
use tepui_mali_isa::Op as IsaOp;
use tepui_mali_isa::modifier::fields::{
    ARRAY_ENABLE, DERIVATIVE_ENABLE, FORCE_DELTA_ENABLE, LOD_BIAS_DISABLE, LOD_CLAMP_DISABLE,
    SHADOW, TEXEL_OFFSET, WIDE_INDICES,
};
use tepui_mali_isa::modifier::{
    Clamp, Condition, Dimension, FetchComponent, LodMode, ModifierValue, Mux, RegisterType,
    RegisterWidth, WriteMask,
};
use tepui_mali_isa::operand::Swizzle;

/// Handle of the driver's sampler, for lookups without one.
const DRIVER_SAMPLER: u32 = handle(0, 0);
/// Largest level of detail.
const MAX_LOD: f32 = 16.0;
/// Bits of S in a word that the face of a cube map is in, too.
const S_MASK: u32 = 0x1fff_ffff;
/// Tables that a narrow handle can name: below the first number, and from the second on.
const NARROW_TABLES: [u32; 2] = [12, 60];
/// Indices that a narrow handle can name.
const NARROW_INDICES: u32 = 1024;

/// The number of a table in an instruction that names it, if it can.
pub(super) fn narrow_table(table: u32) -> Option<u32> {
    match table {
        t if t < NARROW_TABLES[0] => Some(t),
        t if (NARROW_TABLES[1]..64).contains(&t) => Some(t - NARROW_TABLES[1] + NARROW_TABLES[0]),
        _ => None,
    }
}

/// Components of a lookup's result, by those of its value.
const IN_ORDER: [u8; 4] = [0, 1, 2, 3];
/// Texels of a gather's result, by those of its value. source: Mesa, bifrost_compile.c (`lower_tg4_broadcom_swizzle`), nir_lower_tex.c
/// (`swizzle_tg4_broadcom`)
const GATHERED: [u8; 4] = [2, 3, 1, 0];

/// A descriptor that a lookup reads: what is known of its handle, and what is added.
pub(super) struct Descriptor {
    pub table: u32,
    pub first: u32,
    pub rest: Option<Val>,
}

impl Descriptor {
    /// The half of a narrow operand.
    fn narrow(&self) -> Option<u32> {
        let table = narrow_table(self.table)?;
        (self.rest.is_none() && self.first < NARROW_INDICES).then_some(table << 11 | self.first)
    }
}

/// The operands of a lookup but for its descriptors.
struct Lookup {
    staged: Vec<Val>,
    array: bool,
    shadow: bool,
    offset: bool,
    lod: LodMode,
}

/// Bias and bounds of a computed level of detail.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LodRange {
    /// Nothing.
    Raw,
    /// The sampler's bias.
    Biased,
    /// The bias, then the range of the sampler and the texture.
    Clamped,
}

fn dimension(dim: Dim) -> Dimension {
    match dim {
        Dim::D1 | Dim::Buffer => Dimension::D1,
        Dim::D2 | Dim::Subpass => Dimension::D2,
        Dim::D3 => Dimension::D3,
        Dim::Cube => Dimension::Cube,
    }
}

impl Select<'_> {
    /// Selects lookups and queries of textures; whether the instruction is one.
    pub(super) fn texture(&mut self, i: Inst) -> Result<bool> {
        let s = self.s;
        let Some((image, args)) = s.tex_args(i) else { return Ok(false) };
        match s.insts[i].op {
            Op::TexSample | Op::TexSampleLod | Op::TexGather => self.sample(i, image, &args)?,
            Op::TexFetch => self.fetch(i, image, &args)?,
            Op::TexQueryLod => {
                let lods = self.query_lod(i, image)?;
                self.set(s.result(i), &lods);
            }
            Op::ImageSize => self.image_size(i, image, &args)?,
            Op::TexLevels => {
                let word = self.texture_word(i, 2)?;
                let levels = self.field(word, 16, 0x1f);
                let levels = self.add_const(Opnd::val(levels), 1);
                let kind = self.texture_word(i, 0)?;
                let levels = self.unless_null(kind, levels);
                self.set(s.result(i), &[Comp::Val(levels)]);
            }
            Op::ImageSamples => {
                let word = self.texture_word(i, 3)?;
                let log = self.field(word, 13, 7);
                let ops = [Opnd::imm(1), Opnd::val(log).part(Swizzle::B00), Opnd::imm(0)];
                let ops = [Opnd::val(self.in_register(ops[0])), ops[1], ops[2]];
                let count = self.word(IsaOp::LSHIFT_OR_I32, &ops);
                let kind = self.texture_word(i, 0)?;
                let count = self.unless_null(kind, count);
                self.set(s.result(i), &[Comp::Val(count)]);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The descriptor of a texture or sampler.
    pub(super) fn image_descriptor(
        &mut self,
        i: Inst,
        value: Value,
        sampler: bool,
    ) -> Result<Descriptor> {
        let (table, first, rest) = self.descriptor_index(i, value, sampler)?;
        Ok(Descriptor { table, first, rest })
    }

    /// Texture and sampler as an operand, and whether it is a wide one.
    fn handles(&mut self, texture: &Descriptor, sampler: &Descriptor) -> (Opnd, bool) {
        if let (Some(t), Some(s)) = (texture.narrow(), sampler.narrow()) {
            return (self.narrow_handles(t << 16 | s), false);
        }
        let halves = [sampler, texture].map(|d| {
            let o = self.handle_of(d.table, d.first, d.rest);
            self.in_register(o)
        });
        (Opnd::val(self.collect(&halves)), true)
    }

    /// A narrow operand, of which hardware reads 64 bits nonetheless.
    fn narrow_handles(&mut self, value: u32) -> Opnd {
        if let Some(first) = self.fau.constant_pair(value) {
            return Opnd::uniform(first);
        }
        let halves = [Comp::Const(value.into()), Comp::Const(0)].map(|c| self.register(c));
        Opnd::val(self.collect(&halves))
    }

    /// A coordinate as a float of 32 bits in a register.
    fn float_word(&mut self, v: Value, k: usize) -> Val {
        let o = self.fsrc_as(v, k, 32);
        match o.is_plain() {
            true => self.in_register(o),
            false => self.word(IsaOp::FADD_F32, &[o, Opnd::imm(0x8000_0000)]),
        }
    }

    fn sample(&mut self, i: Inst, image: Image, args: &TexArgs) -> Result<()> {
        let s = self.s;
        let gather = s.insts[i].op == Op::TexGather;
        let texture = self.image_descriptor(i, s.arg(i, 0), false)?;
        let sampler = self.image_descriptor(i, s.arg(i, 1), true)?;
        let (handles, wide) = self.handles(&texture, &sampler);
        let dim = dimension(image.dim);
        let coords = self.coordinates(s.arg(i, 2), image);
        let mut lookup = Lookup {
            staged: coords.clone(),
            array: image.array,
            shadow: args.dref.is_some(),
            offset: false,
            lod: LodMode::Computed,
        };
        if image.array {
            // The hardware rounds it and keeps it inside of the texture.
            lookup.staged.push(self.float_word(s.arg(i, 2), usize::from(image.dim.coords())));
        }
        if let Some(reference) = args.dref {
            lookup.staged.push(self.float_word(reference, 0));
        }
        if let Some(offset) = args.offset {
            let packed = self.offsets(offset);
            if let Some(v) = packed {
                lookup.staged.push(v);
                lookup.offset = true;
            }
        }
        if !gather {
            self.level(image, args, (handles, wide, dim), &coords, &mut lookup);
        }
        let op = if gather { IsaOp::TEX_GATHER } else { IsaOp::TEX_SINGLE };
        let mut inst = Isa::new(op).with(dim).flag(&WIDE_INDICES, wide);
        inst = inst.flag(&ARRAY_ENABLE, lookup.array).flag(&TEXEL_OFFSET, lookup.offset);
        inst = inst.flag(&SHADOW, lookup.shadow);
        inst = match gather {
            true => inst.with(
                FetchComponent::from_raw(image.component).unwrap_or(FetchComponent::Gather4R),
            ),
            false => inst.with(lookup.lod),
        };
        let order = if gather { GATHERED } else { IN_ORDER };
        self.finish_lookup(i, image, inst, &lookup.staged, handles, order);
        Ok(())
    }

    /// The coordinates without the layer: of a cube map, S with the face, and T.
    fn coordinates(&mut self, v: Value, image: Image) -> Vec<Val> {
        let count = usize::from(image.dim.coords());
        let own: Vec<Val> = (0..count).map(|k| self.float_word(v, k)).collect();
        if image.dim != Dim::Cube {
            return own;
        }
        let [x, y, z] = [0, 1, 2].map(|k| Opnd::val(own[k]));
        let most = self.word(IsaOp::CUBEFACE1, &[x, y, z]);
        let face = self.word(IsaOp::CUBEFACE2_V9, &[x, y, z]);
        let face = Opnd::val(face);
        let st = [
            self.word(IsaOp::CUBE_SSEL, &[z, x, face]),
            self.word(IsaOp::CUBE_TSEL, &[y, z, face]),
        ];
        let inverse = self.word(IsaOp::FRCP_F32, &[Opnd::val(most)]);
        let (half, nothing) = (Opnd::imm(0x3f00_0000), Opnd::imm(0x8000_0000));
        let scale = self.word(IsaOp::FMA_F32, &[Opnd::val(inverse), half, nothing]);
        let [s, t] = st.map(|v| {
            let inst = Isa::new(IsaOp::FMA_F32).with(Clamp::Clamp01);
            self.def(inst, WORD, &[Opnd::val(scale), Opnd::val(v), half])
        });
        let inst = Isa::new(IsaOp::MUX_I32).with(Mux::Bit);
        let first = self.def(inst, WORD, &[Opnd::val(s), face, Opnd::imm(S_MASK)]);
        vec![first, t]
    }

    /// Texel offsets as bytes; none where all are zero.
    fn offsets(&mut self, v: Value) -> Option<Val> {
        let comps = self.all_comps(&[v]);
        if comps.iter().all(|c| *c == Comp::Const(0)) {
            return None;
        }
        let mut comps = comps;
        comps.resize(4, Comp::Const(0));
        let packed = self.packed(&comps, 8);
        Some(self.register(packed[0]))
    }

    /// The level of detail, in the lookup's staging registers and its mode.
    fn level(
        &mut self,
        image: Image,
        args: &TexArgs,
        operand: (Opnd, bool, Dimension),
        coords: &[Val],
        lookup: &mut Lookup,
    ) {
        if let (Some(dx), Some(dy)) = (args.ddx, args.ddy) {
            let mut gradient = self.gradient([dx, dy], usize::from(image.dim.coords()), operand);
            if let Some(least) = args.min_lod {
                let least = Opnd::val(self.float_word(least, 0));
                gradient[0] = self.raised(gradient[0], least);
            }
            lookup.staged.extend(gradient);
            lookup.lod = LodMode::Grdesc;
            return;
        }
        let least = args.min_lod.map(|v| Opnd::val(self.float_word(v, 0)));
        let explicit = match (args.lod, least) {
            (Some(lod), _) => Some(Opnd::val(self.float_word(lod, 0))),
            (None, Some(_)) => {
                // The lookup adds the sampler's bias and clamps.
                let mut lod = Opnd::val(self.computed_lod(coords, operand, LodRange::Raw));
                if let Some(bias) = args.bias {
                    let bias = Opnd::val(self.float_word(bias, 0));
                    lod = Opnd::val(self.word(IsaOp::FADD_F32, &[lod, bias]));
                }
                Some(lod)
            }
            _ => None,
        };
        if let Some(lod) = explicit {
            let lod = match least {
                Some(least) => Opnd::val(self.word(IsaOp::FMAX_F32, &[lod, least])),
                None => lod,
            };
            let is_zero = args.lod.is_some_and(|v| matches!(self.comp(v, 0), Comp::Const(0)));
            if is_zero && least.is_none() {
                lookup.lod = LodMode::Zero;
                return;
            }
            lookup.staged.push(self.fixed_lod(lod));
            lookup.lod = LodMode::Explicit;
        } else if let Some(bias) = args.bias {
            let bias = Opnd::val(self.float_word(bias, 0));
            lookup.staged.push(self.fixed_lod(bias));
            lookup.lod = LodMode::ComputedBias;
        }
    }

    /// The first word of a gradient descriptor with the larger of its level of detail, in the low half, and `least`.
    fn raised(&mut self, word: Val, least: Opnd) -> Val {
        let lod = Opnd::val(word).part(Swizzle::H00);
        let lod = Opnd::val(self.word(IsaOp::S16_TO_S32, &[lod]));
        let least = Opnd::val(self.fixed_number(least));
        let inst = Isa::new(IsaOp::CSEL_S32).with(Condition::Gt);
        let most = Opnd::val(self.def(inst, WORD, &[lod, least, lod, least]));
        let rest = Opnd::val(word).part(Swizzle::H11);
        self.word(IsaOp::MKVEC_V2I16, &[most.part(Swizzle::H00), rest])
    }

    /// A level of detail as a number with eight fractional bits in the low half. The high half is zero.
    fn fixed_lod(&mut self, lod: Opnd) -> Val {
        let half = Opnd::val(self.fixed_number(lod)).part(Swizzle::H00);
        self.word(IsaOp::MKVEC_V2I16, &[half, Opnd::imm(0)])
    }

    /// A level of detail as an integer with eight fractional bits.
    fn fixed_number(&mut self, lod: Opnd) -> Val {
        let nothing = Opnd::imm(0x8000_0000);
        let inst = Isa::new(IsaOp::FMA_F32).with(Clamp::ClampM11);
        let part = self.def(inst, WORD, &[lod, Opnd::imm((1.0 / MAX_LOD).to_bits()), nothing]);
        let steps = Opnd::imm((256.0 * MAX_LOD).to_bits());
        let number = self.word(IsaOp::FMA_F32, &[Opnd::val(part), steps, nothing]);
        self.def(Isa::new(IsaOp::F32_TO_S32), WORD, &[Opnd::val(number)])
    }

    /// A gradient descriptor from derivatives: of each coordinate the one in x, then the one in y.
    fn gradient(
        &mut self,
        derivatives: [Value; 2],
        coords: usize,
        (handles, wide, dim): (Opnd, bool, Dimension),
    ) -> Vec<Val> {
        let staged: Vec<Val> =
            (0..coords).flat_map(|k| derivatives.map(|d| self.float_word(d, k))).collect();
        let count = staged.len() as u8;
        let inst = Isa::new(IsaOp::TEX_GRADIENT).with(dim).flag(&WIDE_INDICES, wide);
        let inst = inst.with(RegisterType::U).with(RegisterWidth::W32).with(WriteMask::Rg);
        let inst = inst.flag(&DERIVATIVE_ENABLE, true);
        let inst = inst.flag(&LOD_BIAS_DISABLE, true).flag(&LOD_CLAMP_DISABLE, true);
        let inst = inst.staged(0, 2).staged(1, count);
        let d = self.f.val(PAIR);
        let staged = self.collect(&staged);
        self.isa(inst, &[d], &[staged], &[handles]);
        self.split(d)
    }

    /// The level of detail that a lookup would have, as a float.
    fn computed_lod(
        &mut self,
        coords: &[Val],
        (handles, wide, dim): (Opnd, bool, Dimension),
        range: LodRange,
    ) -> Val {
        let inst = Isa::new(IsaOp::TEX_GRADIENT).with(dim).flag(&WIDE_INDICES, wide);
        let inst = inst.with(RegisterType::U).with(RegisterWidth::W32).with(WriteMask::R);
        let inst = inst.flag(&LOD_CLAMP_DISABLE, range != LodRange::Clamped);
        let inst = inst.flag(&LOD_BIAS_DISABLE, range == LodRange::Raw);
        let inst = inst.flag(&FORCE_DELTA_ENABLE, true);
        let inst = inst.staged(0, 1).staged(1, coords.len() as u8);
        let d = self.f.val(WORD);
        let staged = self.collect(coords);
        self.isa(inst, &[d], &[staged], &[handles]);
        let fixed = self.word(IsaOp::S16_TO_F32, &[Opnd::val(d).part(Swizzle::H00)]);
        let step = Opnd::imm((1.0f32 / 256.0).to_bits());
        self.word(IsaOp::FMA_F32, &[Opnd::val(fixed), step, Opnd::imm(0x8000_0000)])
    }

    fn query_lod(&mut self, i: Inst, image: Image) -> Result<[Comp; 2]> {
        let s = self.s;
        let texture = self.image_descriptor(i, s.arg(i, 0), false)?;
        let sampler = self.image_descriptor(i, s.arg(i, 1), true)?;
        let (handles, wide) = self.handles(&texture, &sampler);
        let operand = (handles, wide, dimension(image.dim));
        let coords = self.coordinates(s.arg(i, 2), image);
        let ranges = [LodRange::Clamped, LodRange::Biased];
        Ok(ranges.map(|range| Comp::Val(self.computed_lod(&coords, operand, range))))
    }

    fn fetch(&mut self, i: Inst, image: Image, args: &TexArgs) -> Result<()> {
        let s = self.s;
        let texture = self.image_descriptor(i, s.arg(i, 0), false)?;
        let sampler = Descriptor { table: DRIVER_SAMPLER >> 24, first: DRIVER_SAMPLER, rest: None };
        let (handles, wide) = self.handles(&texture, &sampler);
        let count = usize::from(image.dim.coords()) + usize::from(image.array);
        let mut staged = Vec::with_capacity(count + 1);
        for k in 0..count {
            let c = self.comp(s.arg(i, 1), k);
            staged.push(self.register(c));
        }
        // The third byte is the sample, the fourth the level.
        let known = |x: &Self, v: Option<Value>| v.map_or(Comp::Const(0), |v| x.comp(v, 0));
        let (sample, level) = (known(self, args.sample), known(self, args.lod));
        let mut inst = Isa::new(IsaOp::TEX_FETCH);
        if (sample, level) != (Comp::Const(0), Comp::Const(0)) {
            let bytes = [Comp::Const(0), Comp::Const(0), sample, level];
            let packed = self.packed(&bytes, 8);
            staged.push(self.register(packed[0]));
            inst = inst.flag(&TEXEL_OFFSET, true);
        }
        let dim = match image.dim {
            Dim::Cube => Dimension::D2,
            dim => dimension(dim),
        };
        let inst = inst.with(dim).flag(&WIDE_INDICES, wide).flag(&ARRAY_ENABLE, image.array);
        self.finish_lookup(i, image, inst, &staged, handles, IN_ORDER);
        Ok(())
    }

    /// Emits a lookup that returns the components that are used; `order` are the hardware's, by component of the result.
    fn finish_lookup(
        &mut self,
        i: Inst,
        image: Image,
        inst: Isa,
        staged: &[Val],
        handles: Opnd,
        order: [u8; 4],
    ) {
        let s = self.s;
        let r = s.result(i);
        let count = usize::from(self.ty(r).comps()) - usize::from(image.residency);
        let all = (1u16 << count) - 1;
        let wanted = match self.parts[r] & all {
            0 => 1,
            wanted => wanted,
        };
        let used = (0..count).filter(|k| wanted >> k & 1 != 0).fold(0u16, |m, k| m | 1 << order[k]);
        let kind = match image.kind {
            NumKind::Float => RegisterType::F,
            NumKind::Sint => RegisterType::S,
            NumKind::Uint => RegisterType::U,
        };
        let results = used.count_ones() as u8;
        let inst = inst.with(kind).with(RegisterWidth::W32);
        let inst = inst.with(WriteMask::from_raw(used as u8).unwrap_or(WriteMask::Rgba));
        let inst = inst.staged(0, results).staged(1, staged.len() as u8);
        let d = self.f.val(words(results));
        let staged = self.collect(staged);
        self.isa(inst, &[d], &[staged], &[handles]);
        let parts = self.split(d);
        let half = self.ty(r).bits() == 16;
        let mut comps = Vec::with_capacity(count + 1);
        for (k, component) in order.into_iter().enumerate().take(count) {
            // The hardware leaves no gaps.
            let before = (used & ((1 << component) - 1)).count_ones() as usize;
            let part = if wanted >> k & 1 != 0 { parts.get(before).copied() } else { None };
            comps.push(match part {
                Some(v) if half && image.kind == NumKind::Float => {
                    let o = Opnd::val(v);
                    Comp::Val(self.word(IsaOp::V2F32_TO_V2F16, &[o, o]))
                }
                Some(v) => Comp::Val(v),
                None => Comp::Undef,
            });
        }
        if image.residency {
            // All texels are there.
            comps.push(Comp::Const(0));
        }
        self.set(r, &comps);
    }

    /// A word of the descriptor of a texture, from the table that has it.
    fn texture_word(&mut self, i: Inst, word: u32) -> Result<Opnd> {
        let d = self.image_descriptor(i, self.s.arg(i, 0), false)?;
        Ok(Opnd::val(self.descriptor_word(d.table, d.first, d.rest, word)))
    }

    /// Bits of a word.
    fn field(&mut self, word: Opnd, shift: u32, mask: u32) -> Val {
        self.word(IsaOp::RSHIFT_AND_I32, &[word, Opnd::imm(shift), Opnd::imm(mask)])
    }

    /// A number that a descriptor holds less one; 0 of a null descriptor, all of whose words are 0, where the first has the type.
    fn unless_null(&mut self, kind: Opnd, number: Val) -> Val {
        let zero = Opnd::imm(0);
        let inst = Isa::new(IsaOp::CSEL_U32).with(Condition::Eq);
        self.def(inst, WORD, &[kind, zero, zero, Opnd::val(number)])
    }

    /// Sizes, which descriptors hold less one in 16 bits each.
    fn image_size(&mut self, i: Inst, image: Image, args: &TexArgs) -> Result<()> {
        let s = self.s;
        let (kind, sides) = (self.texture_word(i, 0)?, self.texture_word(i, 1)?);
        let level = args.lod.map(|v| self.comp(v, 0)).filter(|c| *c != Comp::Const(0));
        let count = usize::from(image.dim.size_comps());
        let mut comps = Vec::new();
        for k in 0..count {
            let word = if k < 2 { sides } else { self.texture_word(i, 7)? };
            let half = if k == 1 { Swizzle::H11 } else { Swizzle::H00 };
            let less = self.word(IsaOp::U16_TO_U32, &[word.part(half)]);
            let mut side = self.add_const(Opnd::val(less), 1);
            if let Some(level) = level {
                let count = Opnd::val(self.register(level)).part(Swizzle::B00);
                let one = Opnd::imm(0);
                side = self.word(IsaOp::RSHIFT_OR_I32, &[Opnd::val(side), count, one]);
                let (a, one) = (Opnd::val(side), Opnd::imm(1));
                let inst = Isa::new(IsaOp::CSEL_U32).with(Condition::Gt);
                side = self.def(inst, WORD, &[a, one, a, one]);
            }
            comps.push(Comp::Val(self.unless_null(kind, side)));
        }
        if image.array {
            let word = self.texture_word(i, 6)?;
            let less = self.word(IsaOp::U16_TO_U32, &[word.part(Swizzle::H00)]);
            let layers = self.add_const(Opnd::val(less), 1);
            comps.push(Comp::Val(self.unless_null(kind, layers)));
        }
        self.set(s.result(i), &comps);
        Ok(())
    }
}
