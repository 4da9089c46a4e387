//! Texture samples, and loads from and stores to storage images.
//!
//! An image or sampler whose array element is constant is in a state register; others are addressed
//! by their row in memory ([`crate::descriptor`]).

use super::operand::Place;
use super::{Comp, Opnd, Select};
use crate::descriptor::{PBE_B, ROW_B, SAMPLER_B, SECOND_SAMPLER};
use crate::error::Result;
use crate::mir::{HALF, LONG, Op as MOp, RegClass, UNASSIGNED, Val, WORD, class_of};
use crate::uniforms::{SamplerState, Source, TextureState};
use tepui_agx_isa::operand::{
    Base64, CompareOffset, ConvertMode, Coords, Dim as IsaDim, Dst, Extend, Format, Gather, Index,
    Lod, LodMode, RegOrImm, RegVec, Round, Sampler, Size, TexBase, TexMode, Texture,
};
use tepui_agx_isa::table::device::DeviceLoad;
use tepui_agx_isa::table::image::ImageWrite;
use tepui_agx_isa::table::integer::Convert;
use tepui_agx_isa::table::texture::{TextureLoad, TextureSample};
use tepui_ir::{Access, Attrs, Dim, Image, Inst, Op, TexOperands, Type, Value};

/// Half-uniforms that texture instructions can name.
const LOD_UNIFORMS: u16 = 256;
/// Caching of texture instructions: plain, and what storage images and coherent ones add.
/// source: Mesa, agx_pack.c, AGX_OPCODE_IMAGE_LOAD
const CACHE: u8 = 12;
const CACHE_IMAGE: u8 = 1;
const CACHE_COHERENT: u8 = 2;
/// Asks for a residency word. source: Mesa 26.1, agx_pack.c, `sparse`
const RESIDENCY: u8 = 2;

/// A 16-bit operand.
#[derive(Clone, Copy)]
enum Half {
    Uniform(u16),
    Val(Val),
}

/// A reference to a texture, with the register that it needs.
struct Reference {
    texture: Texture,
    base: TexBase,
    val: Option<Val>,
}

fn dimension(a: &Image) -> Option<IsaDim> {
    Some(match (a.dim, a.array, a.ms) {
        (Dim::D2 | Dim::Subpass, false, false) => IsaDim::D2,
        (Dim::D2 | Dim::Subpass, true, false) => IsaDim::D2Array,
        (Dim::D2 | Dim::Subpass, false, true) => IsaDim::D2Ms,
        (Dim::D2 | Dim::Subpass, true, true) => IsaDim::D2MsArray,
        (Dim::D3, false, false) => IsaDim::D3,
        (Dim::Cube, false, false) => IsaDim::Cube,
        (Dim::Cube, true, false) => IsaDim::CubeArray,
        _ => return None,
    })
}

impl Select<'_> {
    /// Selects an image instruction; false when it is none.
    pub(super) fn texture(&mut self, i: Inst) -> Result<bool> {
        let s = self.s;
        match (s.insts[i].op, s.insts[i].attrs) {
            (
                Op::TexSample
                | Op::TexSampleLod
                | Op::TexGather
                | Op::TexQueryLod
                | Op::TexFetch
                | Op::ImageLoad,
                Attrs::Image(a),
            ) => self.lookup(i, &a)?,
            (Op::ImageStore, Attrs::Image(a)) => self.image_store(i, &a)?,
            (Op::ImageAtomic, Attrs::ImageAtomic(op, _)) => {
                self.handle(i, s.arg(i, 0))?;
                let (op, bits) = (op.name(), self.ty(s.result(i)).bits());
                return self.refuse(
                    i,
                    format!("{op} of {bits} bits is not compiled: the machine has none"),
                );
            }
            // Lowered unless the handle is not known.
            (Op::ImageSize | Op::TexLevels | Op::ImageSamples, _) => {
                self.handle(i, s.arg(i, 0))?;
                return self.refuse(i, "was not lowered");
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The address of a descriptor's row.
    pub(super) fn descriptor_address(&mut self, i: Inst, handle: Value) -> Result<Comp> {
        let (set, binding, index) = self.handle(i, handle)?;
        if let Comp::Const(c) = self.comp(index, 0)
            && !self.uniforms.is_by_set()
        {
            let source = Source::Descriptor { set, binding, element: c as u32 };
            return Ok(Comp::Uniform(self.uniform(source)?));
        }
        let (table, offset) = self.row(set, binding, index, 0)?;
        let base = self.reg(Comp::Uniform(table), LONG);
        let ops = [Opnd::of(base, Size::B64), Opnd::of(offset, Size::B32)];
        Ok(Comp::Val(self.iadd(64, false, ops[0], ops[1], 0)))
    }

    /// `byte` of the row of an array element: a uniform with an address, and the bytes from there.
    fn row(&mut self, set: u32, binding: u32, index: Value, byte: u32) -> Result<(u16, Val)> {
        let known = match self.comp(index, 0) {
            Comp::Const(c) => Some(c as u32),
            _ => None,
        };
        let rows = Opnd::imm(ROW_B as u8);
        let byte_opnd = Opnd::imm(byte as u8);
        if self.uniforms.is_by_set() {
            let table = self.uniform(Source::SetAddress { set })?;
            let element = known.unwrap_or(0);
            let first = self.uniform(Source::DescriptorOffset { set, binding, element })?;
            let mut at = Opnd::uniform(first, Size::B32);
            if known.is_none() {
                let x = self.isrc(index, 0);
                at = Opnd::of(self.imadd(32, false, [x, rows, at], 0), Size::B32);
            }
            return Ok((table, self.iadd(32, false, at, byte_opnd, 0)));
        }
        let table = self.uniform(Source::Descriptor { set, binding, element: 0 })?;
        let offset = match known {
            Some(c) => self.mov_imm(u64::from(c.wrapping_mul(ROW_B) + byte), WORD),
            None => {
                let x = self.isrc(index, 0);
                self.imadd(32, false, [x, rows, byte_opnd], 0)
            }
        };
        Ok((table, offset))
    }

    /// The texture or PBE descriptor of a handle.
    fn reference(&mut self, i: Inst, handle: Value, pbe: bool) -> Result<Reference> {
        let (set, binding, index) = self.handle(i, handle)?;
        if let Comp::Const(c) = self.comp(index, 0) {
            let state = TextureState { set, binding, element: c as u32, pbe };
            if let Some(n) = self.uniforms.texture(state) {
                return Ok(Reference {
                    texture: Texture::State(n),
                    base: TexBase::None(0),
                    val: None,
                });
            }
        }
        let (table, val) = self.row(set, binding, index, if pbe { PBE_B } else { 0 })?;
        Ok(Reference {
            texture: Texture::Bindless(UNASSIGNED),
            base: TexBase::Uniform(table),
            val: Some(val),
        })
    }

    fn sampler(&mut self, i: Inst, handle: Value) -> Result<(Sampler, Option<Val>)> {
        let (set, binding, index) = self.handle(i, handle)?;
        if let Comp::Const(c) = self.comp(index, 0) {
            let state = SamplerState { set, binding, element: c as u32 };
            if let Some(n) = self.uniforms.sampler(state) {
                return Ok((Sampler::State(n), None));
            }
            // Its number and its twin's are a word of the row, which comes without a thread.
            let own = binding & !SECOND_SAMPLER;
            let is_second = own != binding;
            let number = Source::DescriptorBytes {
                set,
                binding: own,
                element: c as u32,
                byte: SAMPLER_B as u8,
                halves: 1 + u8::from(is_second),
            };
            if let Some(half) = self.uniforms.get(number) {
                let half = Opnd::uniform(half + u16::from(is_second), Size::B16);
                return Ok((Sampler::StateReg(UNASSIGNED), Some(self.mov(half, HALF))));
            }
        }
        // Its number is in the row.
        let (table, at) = self.row(set, binding, index, SAMPLER_B)?;
        let half = {
            let one = Opnd::imm(1);
            Opnd::of(self.bfeil(32, Opnd::of(at, Size::B32), one, 0), Size::B32)
        };
        let number = self.f.val(HALF);
        let inst = DeviceLoad {
            format: Format::I16,
            mask: 1,
            r: RegVec::new(UNASSIGNED, Size::B16, 1),
            base: Base64::Uniform(table),
            index: Index::Reg(UNASSIGNED),
            extend: Extend::Unsigned,
            shift: 0,
            u4: 4,
            ..DeviceLoad::default()
        };
        let srcs: Vec<Val> = half.val().into_iter().collect();
        self.emit(MOp::Isa(inst.into()), &[number], &srcs);
        Ok((Sampler::StateReg(UNASSIGNED), Some(number)))
    }

    /// The low 16 bits of an integer component.
    fn low_half(&mut self, c: Comp) -> Val {
        match c {
            Comp::Val(v) => self.mov(Opnd::of(v, Size::B16), HALF),
            Comp::Uniform(h) => self.mov(Opnd::uniform(h, Size::B16), HALF),
            Comp::Const(x) => self.mov_imm(x & 0xffff, HALF),
            Comp::Undef => self.reg(c, HALF),
        }
    }

    /// An integer component as a 16-bit operand.
    fn integer_half(&mut self, c: Comp) -> Half {
        match c {
            Comp::Const(x) => self.constant_half(x as u16),
            Comp::Uniform(h) if h < LOD_UNIFORMS => Half::Uniform(h),
            c => Half::Val(self.low_half(c)),
        }
    }

    fn constant_half(&mut self, bits: u16) -> Half {
        match self.uniforms.get(Source::Constant16 { bits }) {
            Some(h) if h < LOD_UNIFORMS => Half::Uniform(h),
            _ => Half::Val(self.mov_imm(u64::from(bits), HALF)),
        }
    }

    /// A float as a 16-bit float.
    fn float_half(&mut self, v: Value) -> Half {
        if let Comp::Const(x) = self.comp(v, 0) {
            let mut out = Vec::new();
            let args = [(Type::B32, &[x][..])];
            tepui_ir::op::fold(Op::F2F, &args, &Attrs::None, &[Type::B16], &mut out);
            return self.constant_half(out[0] as u16);
        }
        // A 16-bit float that was widened for arithmetic is one already.
        if let Some(i) = self.s.def_inst(v)
            && self.s.insts[i].op == Op::F2F
            && self.ty(self.s.arg(i, 0)) == Type::vec(16, 1)
        {
            match self.comp(self.s.arg(i, 0), 0) {
                Comp::Uniform(h) if h < LOD_UNIFORMS => return Half::Uniform(h),
                Comp::Val(x) => return Half::Val(x),
                _ => {}
            }
        }
        let o = self.fsrc(v, 0);
        Half::Val(self.fadd(false, 16, false, o, Opnd::NEG_ZERO))
    }

    fn half_val(&mut self, h: Half) -> Val {
        match h {
            Half::Val(v) => v,
            Half::Uniform(u) => self.mov(Opnd::uniform(u, Size::B16), HALF),
        }
    }

    fn one_half(h: Half, reg: LodMode, uniform: LodMode) -> (LodMode, Lod, Option<Val>) {
        match h {
            Half::Val(v) => (reg, Lod::Reg { reg: UNASSIGNED, count: 1 }, Some(v)),
            Half::Uniform(u) => (uniform, Lod::Uniform { reg: u, count: 1 }, None),
        }
    }

    /// Level-of-detail mode, with its registers.
    fn level(&mut self, i: Inst) -> Result<(LodMode, Lod, Option<Val>)> {
        const AUTO: (LodMode, Lod, Option<Val>) = (LodMode::Auto, Lod::None(0), None);
        let s = self.s;
        let op = s.insts[i].op;
        let Some((_, t)) = s.tex_args(i) else { return Ok(AUTO) };
        Ok(match op {
            Op::TexFetch | Op::ImageLoad => match t.lod {
                None => AUTO,
                Some(l) => {
                    let h = self.integer_half(self.comp(l, 0));
                    Self::one_half(h, LodMode::Lod, LodMode::LodUniform)
                }
            },
            Op::TexSample | Op::TexQueryLod => match (t.bias, t.min_lod) {
                (None, None) => AUTO,
                (Some(b), None) => {
                    let h = self.float_half(b);
                    Self::one_half(h, LodMode::Bias, LodMode::BiasUniform)
                }
                (b, Some(m)) => {
                    let bias = match b {
                        Some(b) => self.float_half(b),
                        None => self.constant_half(0),
                    };
                    let m = self.float_half(m);
                    let parts = [self.half_val(bias), self.half_val(m)];
                    let d = self.f.val(RegClass::new(2));
                    self.emit(MOp::Collect, &[d], &parts);
                    (LodMode::BiasMin, Lod::Reg { reg: UNASSIGNED, count: 2 }, Some(d))
                }
            },
            Op::TexSampleLod => match (t.lod, t.ddx, t.ddy) {
                (Some(l), ..) => {
                    let h = self.float_half(l);
                    Self::one_half(h, LodMode::Lod, LodMode::LodUniform)
                }
                (None, Some(dx), Some(dy)) => {
                    let mut parts = Vec::new();
                    for k in 0..usize::from(self.ty(dx).comps()) {
                        for g in [dx, dy] {
                            parts.push(self.reg(self.comp(g, k), WORD));
                        }
                    }
                    let mut count = parts.len() as u8;
                    let mut mode = LodMode::Gradient;
                    if let Some(m) = t.min_lod {
                        let m = self.float_half(m);
                        parts.push(self.half_val(m));
                        parts.push(self.reg(Comp::Undef, HALF));
                        count += 1;
                        mode = LodMode::GradientMin;
                    }
                    let d = self.f.val(RegClass::new(2 * count).aligned(2));
                    self.emit(MOp::Collect, &[d], &parts);
                    (mode, Lod::Gradient { reg: UNASSIGNED, count }, Some(d))
                }
                _ => return self.refuse(i, "without a level of detail"),
            },
            Op::TexGather if t.bias.is_some() || t.lod.is_some() => {
                return self.refuse(i, "with a level of detail is not compiled");
            }
            _ => AUTO,
        })
    }

    /// Texel offsets, four bits for each axis.
    fn packed_offset(&mut self, v: Value) -> Val {
        let n = usize::from(self.ty(v).comps()).min(3);
        let comps: Vec<Comp> = (0..n).map(|k| self.comp(v, k)).collect();
        let mut known = 0;
        for (k, c) in comps.iter().enumerate() {
            if let Comp::Const(x) = c {
                known |= (x & 15) << (4 * k);
            }
        }
        let mut sum = Comp::Const(known);
        for (k, c) in comps.into_iter().enumerate() {
            if !matches!(c, Comp::Const(_) | Comp::Undef) {
                let acc = self.comp_src(sum, 16);
                let x = match self.comp_src(c, 32) {
                    o if matches!(o.place, Place::Uniform(_)) => {
                        Opnd::of(self.mov(o, WORD), Size::B32)
                    }
                    o => o,
                };
                sum = Comp::Val(self.bfi(16, [acc, x, Opnd::imm(4 * k as u8)], 4));
            }
        }
        self.reg(sum, HALF)
    }

    /// Coordinates in consecutive registers; `sampled` when they are floats.
    fn coordinates(
        &mut self,
        at: Value,
        dim: IsaDim,
        sample: Option<Value>,
        sampled: bool,
        layer: bool,
    ) -> (Coords, Val) {
        let axes = usize::from(dim.axes());
        let mut parts: Vec<Val> = (0..axes).map(|k| self.reg(self.comp(at, k), WORD)).collect();
        let mut extras = 0;
        if dim.is_multisampled() {
            extras += 1;
            let c = sample.map_or(Comp::Const(0), |v| self.comp(v, 0));
            parts.push(self.low_half(c));
        }
        if dim.is_array() {
            extras += 1;
            // Queries do not look at the layer.
            let c = if layer { self.comp(at, axes) } else { Comp::Undef };
            parts.push(match c {
                Comp::Undef => self.reg(c, HALF),
                Comp::Const(x) if sampled => {
                    self.mov_imm(u64::from(f32::from_bits(x as u32) as u16), HALF)
                }
                c if sampled => {
                    let src = self.comp_src(c, 32);
                    let inst = Convert {
                        mode: ConvertMode::FToU16,
                        d: Dst::new(UNASSIGNED, Size::B16),
                        src: src.src(),
                        round: Round::Rtz,
                        ..Convert::default()
                    };
                    self.def(inst, HALF, &[src])
                }
                c => self.low_half(c),
            });
        }
        let coords =
            Coords { reg: UNASSIGNED, size: Size::B32, axes: axes as u8, extras, discard: false };
        let v = self.f.val(RegClass::new(coords.halves() as u8).aligned(2));
        self.emit(MOp::Collect, &[v], &parts);
        (coords, v)
    }

    fn lookup(&mut self, i: Inst, a: &Image) -> Result<()> {
        let s = self.s;
        let op = s.insts[i].op;
        let args = s.args(i);
        let r = s.result(i);
        let ty = self.ty(r);
        let Some(dim) = dimension(a) else {
            return self.refuse(i, format!("of a {} image is not compiled", a.dim.name()));
        };
        if ty.bits() != 32 {
            return self
                .refuse(i, format!("of texels of {} bits: the machine has none", ty.bits()));
        }
        let t = s.tex_args(i).map(|t| t.1).unwrap_or_default();
        let sampled = !matches!(op, Op::TexFetch | Op::ImageLoad);
        let query = op == Op::TexQueryLod;
        let at = args[if sampled { 2 } else { 1 }];
        let (coords, coords_val) = self.coordinates(at, dim, t.sample, sampled, !query);
        let texture = self.reference(i, args[0], false)?;
        let (sampler, sampler_val) = match sampled {
            true => self.sampler(i, args[1])?,
            false => (Sampler::State(0), None),
        };
        let (lod_mode, lod, lod_val) = self.level(i)?;
        // Comparison value, then offsets.
        let mut parts = Vec::new();
        if let Some(d) = t.dref {
            parts.push(self.reg(self.comp(d, 0), WORD));
        }
        if let Some(o) = t.offset {
            parts.push(self.packed_offset(o));
        }
        if t.offsets.is_some() {
            return self.refuse(i, "with four offsets was not lowered");
        }
        let compare_offset = CompareOffset {
            reg: if parts.is_empty() { 0 } else { UNASSIGNED },
            compare: t.dref.is_some(),
            offset: t.offset.is_some(),
        };
        let compare_val = match parts[..] {
            [] => None,
            [one] => Some(one),
            _ => {
                let d = self.f.val(RegClass::new(3).aligned(2));
                self.emit(MOp::Collect, &[d], &parts);
                Some(d)
            }
        };
        let gather = match (op, a.component) {
            (Op::TexGather, 1) if t.dref.is_none() => Gather::G,
            (Op::TexGather, 2) if t.dref.is_none() => Gather::B,
            (Op::TexGather, 3) if t.dref.is_none() => Gather::A,
            (Op::TexGather, _) => Gather::R,
            _ => Gather::None,
        };
        let channels = ty.comps() - u8::from(a.residency);
        // A mask does not work with gathers.
        let wanted = match op {
            Op::TexGather => 15,
            _ => self.parts[r] as u8 & ((1 << channels) - 1),
        };
        let mask = wanted.max(1);
        let count = mask.count_ones() as u8;
        let mut cache = CACHE;
        if op == Op::ImageLoad {
            cache |= CACHE_IMAGE;
            if a.access.intersects(Access::COHERENT | Access::VOLATILE) {
                cache |= CACHE_COHERENT;
            }
        }
        let out = RegVec::new(UNASSIGNED, Size::B32, count);
        let mode = if query { TexMode::QueryLod } else { TexMode::Sample };
        let compare = t.dref.is_some();
        let Reference { texture, base, val } = texture;
        macro_rules! instruction {
            ($Name:ident) => {
                $Name {
                    compare,
                    mode,
                    cache,
                    gather,
                    mask,
                    kill: if a.residency { RESIDENCY } else { 0 },
                    r: out,
                    base,
                    texture,
                    sampler,
                    dim,
                    coords,
                    lod_mode,
                    lod,
                    compare_offset,
                    ..$Name::default()
                }
                .into()
            };
        }
        let inst: tepui_agx_isa::Inst =
            if sampled { instruction!(TextureSample) } else { instruction!(TextureLoad) };
        let srcs: Vec<Val> = [val, sampler_val, Some(coords_val), lod_val, compare_val]
            .into_iter()
            .flatten()
            .collect();
        // Four registers are written, whatever the mask. source: applegpu, docs.html on
        // texture_sample
        let written = 4 + u8::from(a.residency);
        let whole = self.f.val(class_of(32, written));
        self.emit(MOp::Isa(inst), &[whole], &srcs);
        let parts: Vec<Val> = (0..written).map(|_| self.f.val(WORD)).collect();
        self.emit(MOp::Split, &parts, &[whole]);
        // The results are consecutive; the residency word follows.
        let returned = mask | u8::from(a.residency) << channels;
        let mut next = parts.into_iter();
        let comps: Vec<Comp> = (0..ty.comps())
            .map(|k| match returned >> k & 1 {
                0 => Comp::Undef,
                _ => next.next().map_or(Comp::Undef, Comp::Val),
            })
            .collect();
        self.set(r, &comps);
        Ok(())
    }

    fn image_store(&mut self, i: Inst, a: &Image) -> Result<()> {
        let s = self.s;
        let args = s.args(i);
        let (Some(dim), 32) = (dimension(a), self.ty(args[2]).bits()) else {
            return self.refuse(i, "of such an image or texel: the machine has none");
        };
        if a.ms || a.operands.contains(TexOperands::SAMPLE) {
            return self.refuse(i, "of a multisampled image was not lowered");
        }
        let data: Vec<Val> = (0..4).map(|k| self.reg(self.comp(args[2], k), WORD)).collect();
        let texel = self.f.val(class_of(32, 4));
        self.emit(MOp::Collect, &[texel], &data);
        let (coords, coords_val) = self.coordinates(args[1], dim, None, false, true);
        let image = self.reference(i, args[0], true)?;
        let coherent = a.access.intersects(Access::COHERENT | Access::VOLATILE);
        let inst = ImageWrite {
            r: RegVec::new(UNASSIGNED, Size::B32, 4),
            coords,
            lod: RegOrImm::Imm(0),
            base: image.base,
            image: image.texture,
            dim,
            u3: if coherent { 15 } else { 9 },
            ..ImageWrite::default()
        };
        let srcs: Vec<Val> =
            [Some(texel), Some(coords_val), image.val].into_iter().flatten().collect();
        self.emit(MOp::Isa(inst.into()), &[], &srcs);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tepui_ir::{ImageFormat, NumKind};

    /// Each image that Vulkan has by the hardware's name; there are no layers of 3D images and no
    /// multisampled cubes.
    #[test]
    fn images_have_the_dimension_of_their_view() {
        let dimension = |dim, array, ms| {
            dimension(&Image {
                dim,
                array,
                ms,
                kind: NumKind::Uint,
                operands: TexOperands::empty(),
                component: 0,
                residency: false,
                format: ImageFormat::Unknown,
                access: Access::empty(),
            })
        };
        assert_eq!(dimension(Dim::D2, false, false), Some(IsaDim::D2));
        assert_eq!(dimension(Dim::D2, true, false), Some(IsaDim::D2Array));
        assert_eq!(dimension(Dim::D2, false, true), Some(IsaDim::D2Ms));
        assert_eq!(dimension(Dim::D2, true, true), Some(IsaDim::D2MsArray));
        assert_eq!(dimension(Dim::D3, false, false), Some(IsaDim::D3));
        assert_eq!(dimension(Dim::D3, true, false), None);
        assert_eq!(dimension(Dim::Cube, false, false), Some(IsaDim::Cube));
        assert_eq!(dimension(Dim::Cube, true, false), Some(IsaDim::CubeArray));
        assert_eq!(dimension(Dim::Cube, false, true), None);
    }
}
