//! Translates images, textures and samplers.

use crate::error::Result;
use crate::module::Inst;
use crate::translate::Cx;
use crate::ty::{ImageTy, Ty};
use crate::value::{Place, Ptr, Val};
use rspirv::spirv::{Decoration, ImageOperands as IO, Op as S};
use std::rc::Rc;
use tepui_ir::{Access, AtomicOp, Attrs, Dim, Image, NumKind, Op, TexOperands, Type, Value};

/// Operand `Offset` in HLSL-like form (non-constant offsets), bit 16 of the image operands.
const OFFSETS_HINT: u32 = 0x10000;

/// Optional operands by name, as found in an instruction.
#[derive(Default)]
struct Optional {
    dref: Option<Value>,
    bias: Option<Value>,
    lod: Option<Value>,
    grad: Option<(Value, Value)>,
    offset: Option<Value>,
    sample: Option<Value>,
    min_lod: Option<Value>,
    offsets: Option<Value>,
    access: Access,
}

impl Optional {
    /// Flags and operands in the order of the op table.
    fn pack(&self) -> (TexOperands, Vec<Value>) {
        let (mut flags, mut args) = (TexOperands::empty(), Vec::new());
        let mut put = |flag, v: &[Value]| {
            if !v.is_empty() {
                flags |= flag;
                args.extend_from_slice(v);
            }
        };
        put(TexOperands::DREF, self.dref.as_slice());
        put(TexOperands::BIAS, self.bias.as_slice());
        put(TexOperands::LOD, self.lod.as_slice());
        if let Some((x, y)) = self.grad {
            put(TexOperands::GRAD, &[x, y]);
        }
        put(TexOperands::OFFSET, self.offset.as_slice());
        put(TexOperands::SAMPLE, self.sample.as_slice());
        put(TexOperands::MIN_LOD, self.min_lod.as_slice());
        put(TexOperands::OFFSETS, self.offsets.as_slice());
        (flags, args)
    }
}

/// The counterpart without residency code.
fn without_residency(op: S) -> Option<S> {
    Some(match op {
        S::ImageSparseSampleImplicitLod => S::ImageSampleImplicitLod,
        S::ImageSparseSampleExplicitLod => S::ImageSampleExplicitLod,
        S::ImageSparseSampleDrefImplicitLod => S::ImageSampleDrefImplicitLod,
        S::ImageSparseSampleDrefExplicitLod => S::ImageSampleDrefExplicitLod,
        S::ImageSparseFetch => S::ImageFetch,
        S::ImageSparseGather => S::ImageGather,
        S::ImageSparseDrefGather => S::ImageDrefGather,
        S::ImageSparseRead => S::ImageRead,
        _ => return None,
    })
}

impl Cx<'_> {
    fn image_arg(&self, n: usize) -> Result<(Value, Option<Value>, ImageTy, Access)> {
        match self.arg(n)? {
            Val::Image { image, sampler, ty, access } => {
                let mut access = access;
                if self.m.decoration(self.m.op(&self.at, n)?, Decoration::NonUniform).is_some() {
                    access |= Access::NON_UNIFORM;
                }
                Ok((image, sampler, ty, access))
            }
            _ => self.invalid(format!("operand {n} is not an image")),
        }
    }

    fn attrs(ty: &ImageTy, access: Access, component: u8, operands: TexOperands) -> Image {
        Image {
            dim: ty.dim,
            array: ty.array,
            ms: ty.ms,
            kind: ty.kind,
            operands,
            component,
            residency: false,
            format: ty.format,
            access,
        }
    }

    /// Image operands from operand `n` on.
    fn optional(&mut self, n: usize, ty: &ImageTy, integer_lod: bool) -> Result<Optional> {
        let mut o = Optional::default();
        let Some(&bits) = self.m.ops(&self.at).get(n) else { return Ok(o) };
        let mask = IO::from_bits_truncate(bits);
        let mut at = n + 1;
        let mut next = || {
            at += 1;
            at - 1
        };
        if mask.contains(IO::BIAS) {
            o.bias = Some(self.float32(next(), 1)?);
        }
        if mask.contains(IO::LOD) {
            let k = next();
            o.lod = Some(if integer_lod { self.arg_u32(k)? } else { self.float32(k, 1)? });
        }
        if mask.contains(IO::GRAD) {
            let (x, y) = (next(), next());
            let c = ty.dim.coords();
            o.grad = Some((self.float32(x, c)?, self.float32(y, c)?));
        }
        if mask.intersects(IO::CONST_OFFSET | IO::OFFSET) {
            let v = self.arg_ssa(next())?;
            let w = self.s.ty(v).with_bits(32);
            let v = self.convert(Op::S2S, v, w)?;
            o.offset = Some(self.take(v, ty.dim.coords())?);
        }
        if mask.contains(IO::CONST_OFFSETS) || bits & OFFSETS_HINT != 0 {
            let cols = self.columns(next())?;
            let mut parts = Vec::new();
            for c in cols {
                parts.extend(self.split(c));
            }
            if parts.len() != 8 {
                return self.invalid("gather takes four offsets of two components");
            }
            o.offsets = Some(self.vec(&parts)?);
        }
        if mask.contains(IO::SAMPLE) {
            o.sample = Some(self.arg_u32(next())?);
        }
        if mask.contains(IO::MIN_LOD) {
            o.min_lod = Some(self.float32(next(), 1)?);
        }
        let coherent = IO::MAKE_TEXEL_AVAILABLE | IO::MAKE_TEXEL_VISIBLE | IO::NON_PRIVATE_TEXEL;
        o.access.set(Access::COHERENT, mask.intersects(coherent));
        o.access.set(Access::VOLATILE, mask.contains(IO::VOLATILE_TEXEL));
        o.access.set(Access::NONTEMPORAL, mask.contains(IO::NONTEMPORAL));
        Ok(o)
    }

    /// Float operand `n` with `comps` components and 32 bits.
    fn float32(&mut self, n: usize, comps: u8) -> Result<Value> {
        let v = self.arg_ssa(n)?;
        let w = self.s.ty(v).with_bits(32);
        let v = self.convert(Op::F2F, v, w)?;
        self.take(v, comps)
    }

    /// The first `comps` components.
    fn take(&mut self, v: Value, comps: u8) -> Result<Value> {
        let n = self.s.ty(v).comps();
        if n < comps {
            return self.invalid(format!("needs at least {comps} components"));
        }
        if n == comps {
            return Ok(v);
        }
        let parts = self.split(v);
        self.vec(&parts[..comps as usize])
    }

    /// Integer coordinates of an image without sampler.
    fn texel_coord(&mut self, n: usize, ty: &ImageTy) -> Result<Value> {
        let v = self.arg_ssa(n)?;
        let w = self.s.ty(v).with_bits(32);
        let v = self.convert(Op::S2S, v, w)?;
        let comps = if ty.dim == Dim::Cube { 3 } else { ty.dim.coords() + u8::from(ty.array) };
        self.take(v, comps)
    }

    /// Brings a texel in the image's own size to the type that the instruction gives.
    fn texel_result(&mut self, v: Value, kind: NumKind, to: Type) -> Result<Value> {
        let v = self.take(v, to.comps())?;
        if self.s.ty(v) == to {
            return Ok(v);
        }
        match kind {
            NumKind::Float => self.convert(Op::F2F, v, to),
            NumKind::Sint => self.convert(Op::S2S, v, to),
            NumKind::Uint => self.convert(Op::U2U, v, to),
        }
    }

    /// Emits a read of a texel of type `t`. Its result is the texel, or a structure of the
    /// residency code and the texel.
    fn texel(&mut self, i: Inst, op: Op, mut image: Image, args: &[Value], t: Type) -> Result<Val> {
        if without_residency(i.op).is_none() {
            let v = self.with_attrs(op, Attrs::Image(image), args, t);
            let to = self.ir_ty(i.ty)?;
            return Ok(Val::Ssa(self.texel_result(v, image.kind, to)?));
        }
        let Ty::Struct { members } = self.ty(i.ty)? else {
            return self.invalid("the result is a structure of a code and a texel");
        };
        let &[code_ty, texel_ty] = &**members else {
            return self.invalid("the result has other members than a code and a texel");
        };
        image.residency = true;
        let n = t.comps();
        let v = self.with_attrs(op, Attrs::Image(image), args, t.with_comps(n + 1));
        let code = self.extract(v, u32::from(n));
        let to = self.ir_ty(code_ty)?;
        let code = self.convert(Op::U2U, code, to)?;
        let to = self.ir_ty(texel_ty)?;
        let texel = self.texel_result(v, image.kind, to)?;
        self.aggregate(vec![Val::Ssa(code), Val::Ssa(texel)])
    }

    /// Translates an instruction of this family; false when it is of another.
    pub fn image_inst(&mut self, i: Inst) -> Result<bool> {
        let v = match without_residency(i.op).unwrap_or(i.op) {
            S::ImageSampleImplicitLod => self.sample(i, false, false, false)?,
            S::ImageSampleExplicitLod => self.sample(i, true, false, false)?,
            S::ImageSampleDrefImplicitLod => self.sample(i, false, true, false)?,
            S::ImageSampleDrefExplicitLod => self.sample(i, true, true, false)?,
            S::ImageSampleProjImplicitLod => self.sample(i, false, false, true)?,
            S::ImageSampleProjExplicitLod => self.sample(i, true, false, true)?,
            S::ImageSampleProjDrefImplicitLod => self.sample(i, false, true, true)?,
            S::ImageSampleProjDrefExplicitLod => self.sample(i, true, true, true)?,
            S::ImageGather => self.gather(i, false)?,
            S::ImageDrefGather => self.gather(i, true)?,
            S::ImageFetch => self.fetch(i)?,
            S::ImageRead => self.read(i)?,
            S::ImageWrite => {
                self.write()?;
                return Ok(true);
            }
            _ => match self.other_image_inst(i)? {
                Some(v) => v,
                None => return Ok(false),
            },
        };
        self.bind(v)?;
        Ok(true)
    }

    /// Translates queries, which read no texels; `None` for other instructions.
    fn other_image_inst(&mut self, i: Inst) -> Result<Option<Val>> {
        let v = match i.op {
            S::SampledImage => {
                let (image, _, ty, access) = self.image_arg(0)?;
                let sampler = match self.arg(1)? {
                    Val::Sampler(s) => Some(s),
                    _ => return self.invalid("operand 1 is not a sampler"),
                };
                return Ok(Some(Val::Image { image, sampler, ty, access }));
            }
            S::Image => {
                let (image, _, ty, access) = self.image_arg(0)?;
                return Ok(Some(Val::Image { image, sampler: None, ty, access }));
            }
            S::ImageTexelPointer => {
                let p = self.arg_ptr(0)?;
                let image = self.load(&p, None)?;
                let Val::Image { ty, .. } = image else {
                    return self.invalid("not a pointer to an image");
                };
                let coord = self.texel_coord(1, &ty)?;
                let sample = self.arg_u32(2)?;
                let (_, to) = self.pointee(i.ty)?;
                let place = Place::Texel { image, coord, sample };
                return Ok(Some(Val::Ptr(Rc::new(Ptr { place, ty: to, access: p.access }))));
            }
            S::ImageSparseTexelsResident => {
                let code = self.arg_ssa(0)?;
                let zero = self.konst(self.s.ty(code), 0);
                self.checked(Op::IEq, &[code, zero])?
            }
            S::ImageQuerySizeLod | S::ImageQuerySize => {
                let (image, _, ty, access) = self.image_arg(0)?;
                let lod = match i.op {
                    S::ImageQuerySizeLod => Some(self.arg_u32(1)?),
                    _ => None,
                };
                let o = Optional { lod, ..Default::default() };
                let (flags, extra) = o.pack();
                let mut args = vec![image];
                args.extend(extra);
                let t = Type::vec(32, ty.dim.size_comps() + u8::from(ty.array));
                let v = self.with_attrs(
                    Op::ImageSize,
                    Attrs::Image(Self::attrs(&ty, access, 0, flags)),
                    &args,
                    t,
                );
                let to = self.ir_ty(i.ty)?;
                self.convert(Op::U2U, v, to)?
            }
            S::ImageQueryLevels | S::ImageQuerySamples => {
                let (image, _, ty, access) = self.image_arg(0)?;
                let op = if i.op == S::ImageQueryLevels { Op::TexLevels } else { Op::ImageSamples };
                let a = Self::attrs(&ty, access, 0, TexOperands::empty());
                let v = self.with_attrs(op, Attrs::Image(a), &[image], Type::B32);
                let to = self.ir_ty(i.ty)?;
                self.convert(Op::U2U, v, to)?
            }
            S::ImageQueryLod => {
                let (image, sampler, ty, access) = self.image_arg(0)?;
                let Some(sampler) = sampler else { return self.invalid("needs a sampler") };
                let coord = self.float32(1, ty.dim.coords())?;
                let a = Self::attrs(&ty, access, 0, TexOperands::empty());
                self.with_attrs(
                    Op::TexQueryLod,
                    Attrs::Image(a),
                    &[image, sampler, coord],
                    Type::vec(32, 2),
                )
            }
            S::ColorAttachmentReadEXT => {
                let Val::Tile(slot) = self.arg(0)? else {
                    return self.invalid("operand 0 is not a tile image");
                };
                if self.m.ops(&i).len() > 1 {
                    // A program that names its own sample runs for each, and finds that sample in
                    // the tile.
                    let sample = self.arg_ssa(1)?;
                    let own = Attrs::Builtin(tepui_ir::Builtin::SampleId);
                    let is_own = |d| self.s.insts[d].attrs == own;
                    if !self.s.def_inst(sample).is_some_and(is_own) {
                        return self.unsupported("the colour of another sample");
                    }
                }
                let to = self.ir_ty(i.ty)?;
                let v = self.emit1(Op::LoadOutput, Attrs::Io(slot), &[], Type::vec(32, 4));
                self.texel_result(v, slot.kind, to)?
            }
            _ => return Ok(None),
        };
        Ok(Some(Val::Ssa(v)))
    }

    fn fetch(&mut self, i: Inst) -> Result<Val> {
        let (image, _, ty, access) = self.image_arg(0)?;
        let coord = self.texel_coord(1, &ty)?;
        let mut o = self.optional(2, &ty, true)?;
        if o.lod.is_none() && !ty.ms && ty.dim != Dim::Buffer {
            o.lod = Some(self.u32(0));
        }
        let (flags, extra) = o.pack();
        let mut args = vec![image, coord];
        args.extend(extra);
        let a = Self::attrs(&ty, access | o.access, 0, flags);
        self.texel(i, Op::TexFetch, a, &args, Type::vec(32, 4))
    }

    fn sample(&mut self, i: Inst, explicit: bool, dref: bool, proj: bool) -> Result<Val> {
        let (image, sampler, ty, access) = self.image_arg(0)?;
        let Some(sampler) = sampler else { return self.invalid("needs a sampler") };
        let comps = ty.dim.coords() + u8::from(ty.array);
        let mut o = self.optional(if dref { 3 } else { 2 }, &ty, false)?;
        if dref {
            o.dref = Some(self.float32(2, 1)?);
        }
        let coord = if proj {
            // The divisor follows the coordinates that the image uses.
            let v = self.float32(1, comps + 1)?;
            let mut parts = self.split(v);
            let q = parts.pop().unwrap_or(v);
            let one = self.f32(1.0);
            let inv = self.checked(Op::FDiv, &[one, q])?;
            for p in &mut parts {
                *p = self.checked(Op::FMul, &[*p, inv])?;
            }
            if let Some(d) = o.dref {
                o.dref = Some(self.checked(Op::FMul, &[d, inv])?);
            }
            self.vec(&parts)?
        } else {
            self.float32(1, comps)?
        };
        let mut op = if explicit { Op::TexSampleLod } else { Op::TexSample };
        if explicit && o.lod.is_none() && o.grad.is_none() {
            return self.invalid("explicit level of detail needs Lod or Grad");
        }
        // Without quads, implicit derivatives are zero: the base level.
        let quads = self.s.info.stage == tepui_ir::Stage::Fragment
            || self.s.info.derivatives != tepui_ir::DerivativeGroup::None;
        if op == Op::TexSample && !quads {
            op = Op::TexSampleLod;
            let lod = o.bias.take();
            o.lod = Some(match lod {
                Some(b) => b,
                None => self.f32(0.0),
            });
        }
        let (flags, extra) = o.pack();
        let mut args = vec![image, sampler, coord];
        args.extend(extra);
        let t = if dref { Type::B32 } else { Type::vec(32, 4) };
        self.texel(i, op, Self::attrs(&ty, access | o.access, 0, flags), &args, t)
    }

    fn gather(&mut self, i: Inst, dref: bool) -> Result<Val> {
        let (image, sampler, ty, access) = self.image_arg(0)?;
        let Some(sampler) = sampler else { return self.invalid("needs a sampler") };
        let coord = self.float32(1, ty.dim.coords() + u8::from(ty.array))?;
        let mut o = self.optional(3, &ty, false)?;
        let mut component = 0;
        if o.bias.is_some() || o.lod.is_some() {
            return self
                .unsupported("a gather with a level of detail (AMD_texture_gather_bias_lod)");
        }
        if dref {
            o.dref = Some(self.float32(2, 1)?);
        } else {
            component = self.arg_const(2)?.min(3) as u8;
        }
        let (flags, extra) = o.pack();
        let mut args = vec![image, sampler, coord];
        args.extend(extra);
        let a = Self::attrs(&ty, access | o.access, component, flags);
        self.texel(i, Op::TexGather, a, &args, Type::vec(32, 4))
    }

    fn read(&mut self, i: Inst) -> Result<Val> {
        let (image, _, mut ty, access) = self.image_arg(0)?;
        let mut coord = self.texel_coord(1, &ty)?;
        let o = self.optional(2, &ty, true)?;
        if ty.dim == Dim::Subpass {
            // The coordinate is relative to the fragment, whose layer is read (with multiview: the layer of its view).
            let fc = self.builtin(tepui_ir::Builtin::FragCoord, Type::vec(32, 4));
            let xy = self.take(fc, 2)?;
            let xy = self.convert(Op::F2S, xy, Type::vec(32, 2))?;
            let rel = self.take(coord, 2)?;
            let place = self.checked(Op::IAdd, &[xy, rel])?;
            let mut at = self.split(place);
            at.push(self.builtin(tepui_ir::Builtin::Layer, Type::B32));
            coord = self.vec(&at)?;
            ty.array = true;
        }
        let o = Optional { sample: o.sample, access: o.access, ..Default::default() };
        let (flags, extra) = o.pack();
        let mut args = vec![image, coord];
        args.extend(extra);
        let t = Type::vec(ty.bits.max(32), 4);
        let a = Self::attrs(&ty, access | o.access, 0, flags);
        self.texel(i, Op::ImageLoad, a, &args, t)
    }

    fn write(&mut self) -> Result<()> {
        let (image, _, ty, access) = self.image_arg(0)?;
        let coord = self.texel_coord(1, &ty)?;
        let mut texel = self.arg_ssa(2)?;
        let o = self.optional(3, &ty, true)?;
        let mut parts = self.split(texel);
        let zero = self.konst(self.s.ty(texel).elem(), 0);
        parts.resize(4, zero);
        texel = self.vec(&parts)?;
        let bits = ty.bits.max(32);
        let want = Type::vec(bits, 4);
        if self.s.ty(texel) != want {
            let op = match ty.kind {
                NumKind::Float => Op::F2F,
                NumKind::Sint => Op::S2S,
                NumKind::Uint => Op::U2U,
            };
            texel = self.convert(op, texel, want)?;
        }
        let o = Optional { sample: o.sample, access: o.access, ..Default::default() };
        let (flags, extra) = o.pack();
        let mut args = vec![image, coord, texel];
        args.extend(extra);
        let a = Self::attrs(&ty, access | o.access, 0, flags);
        self.emit(Op::ImageStore, Attrs::Image(a), &args, &[]);
        Ok(())
    }

    /// An atomic on a texel. Loads and stores are exchanges by neutral means: `or 0`, `xchg`.
    pub fn texel_atomic(
        &mut self,
        p: &Ptr,
        sop: S,
        op: Option<AtomicOp>,
        data: &[Value],
        t: Type,
    ) -> Result<Option<Value>> {
        let Place::Texel { image: Val::Image { image, ty, access, .. }, coord, sample } = &p.place
        else {
            return self.invalid("not a texel");
        };
        let (image, ty, access, coord, sample) = (*image, *ty, *access | p.access, *coord, *sample);
        let zero = self.konst(t, 0);
        let (op, data) = match (op, sop) {
            (Some(op), _) => (op, data.to_vec()),
            (None, S::AtomicLoad) => (AtomicOp::Or, vec![zero]),
            _ => (AtomicOp::Xchg, data.to_vec()),
        };
        let mut args = vec![image, coord, sample];
        args.extend(data);
        let a = Self::attrs(&ty, access, 0, TexOperands::empty());
        Ok(Some(self.emit1(Op::ImageAtomic, Attrs::ImageAtomic(op, a), &args, t)))
    }
}
