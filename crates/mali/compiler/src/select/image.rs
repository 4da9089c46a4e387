//! Storage images: loads of texels, stores and atomics at the addresses of texels.
//!
//! source: Mesa, bifrost_compile.c (`va_emit_image_coord`, `bi_emit_image_store`)

use super::texture::{Descriptor, narrow_table};
use super::{Opnd, Select};
use crate::error::Result;
use crate::mir::{Comp, Inst as Isa, Memory, Val, WORD, words};
use tepui_ir::{Attrs, Dim, Image, Inst, NumKind, Op, Value};
use tepui_mali_isa::Op as IsaOp;
use tepui_mali_isa::modifier::{Condition, RegisterFormat, VectorSize};

/// Indices that an instruction can name.
const IMMEDIATE_INDICES: u32 = 16;
/// The component of alpha.
const ALPHA: usize = 3;
/// The word of the swizzle in a texture's descriptor, the first bit of alpha's source there, and the source 1. source: Mesa, v10.xml ("Texture")
const SWIZZLE_WORD: u32 = 2;
const ALPHA_SWIZZLE: u32 = 9;
const SWIZZLE_ONE: u32 = 5;

impl Select<'_> {
    /// Selects accesses of storage images; whether the instruction is one.
    pub(super) fn image(&mut self, i: Inst) -> Result<bool> {
        let s = self.s;
        match (s.insts[i].op, s.insts[i].attrs) {
            (Op::ImageLoad, Attrs::Image(image)) => self.image_load(i, image)?,
            (Op::ImageStore, Attrs::Image(image)) => {
                let sample = s.tex_args(i).and_then(|(_, t)| t.sample);
                let [address, conversion] = self.texel_address(i, image, sample)?;
                let mut texel = self.all_comps(&[s.arg(i, 2)]);
                texel.resize(4, Comp::Const(0));
                let texel: Vec<Val> = texel.into_iter().map(|c| self.register(c)).collect();
                let staged = self.collect(&texel);
                let inst = Isa::new(IsaOp::ST_CVT).staged(0, 4).of(Memory::Global);
                let inst = inst.with(VectorSize::V4).with(RegisterFormat::Auto);
                self.isa(inst, &[], &[staged], &[address, conversion]);
            }
            (Op::ImageAtomic, Attrs::ImageAtomic(op, image)) => {
                let sample = Some(s.arg(i, 2)).filter(|_| image.ms);
                let [address, _] = self.texel_address(i, image, sample)?;
                let ty = self.ty(s.result(i));
                let data = &s.args(i)[3..];
                let at = [address, Opnd::imm(0)];
                let comps = self.atomic_raw(i, op, ty, at, data, Memory::Global)?;
                self.set(s.result(i), &comps);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Coordinates as two words of halves: x and y, then z or the sample and the layer.
    fn texel(&mut self, v: Value, image: Image, sample: Option<Value>) -> [Opnd; 2] {
        let coords = usize::from(image.dim.coords());
        let at = |x: &Self, k: usize| x.comp(v, k);
        // A cube map is an array of faces.
        let spatial = if image.dim == Dim::Cube { 2 } else { coords };
        let xy = match spatial {
            // A single coordinate has the whole word.
            1 => {
                let x = at(self, 0);
                self.opnd(x)
            }
            _ => {
                let (x, y) = (at(self, 0), at(self, 1));
                Opnd::val(self.join_halves(x, y))
            }
        };
        let low = match (spatial, sample) {
            (3, _) => at(self, 2),
            (_, Some(sample)) => self.comp(sample, 0),
            _ => Comp::Const(0),
        };
        // The third component of a cube map's coordinates is the face of a cube, of a layer or not.
        let layer = match image.dim {
            Dim::Cube => at(self, 2),
            _ if image.array => at(self, coords),
            _ => Comp::Const(0),
        };
        let zw = match (low, layer) {
            (Comp::Const(0), Comp::Const(0)) => Opnd::imm(0),
            _ => Opnd::val(self.join_halves(low, layer)),
        };
        [xy, zw]
    }

    fn image_load(&mut self, i: Inst, image: Image) -> Result<()> {
        let s = self.s;
        let r = s.result(i);
        if self.ty(r).bits() != 32 {
            return self.refuse(i, format!("of {} is not compiled for Mali", self.ty(r)));
        }
        let sample = s.tex_args(i).and_then(|(_, t)| t.sample);
        let d = self.image_descriptor(i, s.arg(i, 0), false)?;
        let [xy, zw] = self.texel(s.arg(i, 1), image, sample);
        let format = match image.kind {
            NumKind::Float => RegisterFormat::F32,
            NumKind::Sint => RegisterFormat::S32,
            NumKind::Uint => RegisterFormat::U32,
        };
        let texel = self.f.val(words(4));
        let inst = |op| {
            let inst = Isa::new(op).staged(0, 4).of(Memory::Global);
            inst.with(VectorSize::V4).with(format)
        };
        match (d.rest, narrow_table(d.table)) {
            (None, Some(table)) if d.first < IMMEDIATE_INDICES => {
                let inst = inst(IsaOp::LD_TEX_IMM).immediate(0, d.first.into());
                self.isa(inst.immediate(1, table.into()), &[texel], &[], &[xy, zw]);
            }
            _ => {
                let handle = self.handle_of(d.table, d.first, d.rest);
                self.isa(inst(IsaOp::LD_TEX), &[texel], &[], &[xy, zw, handle]);
            }
        }
        let mut comps: Vec<Comp> = self.split(texel).into_iter().map(Comp::Val).collect();
        if self.robust && self.parts[r] & 1 << ALPHA != 0 {
            comps[ALPHA] = self.alpha(image, &d, comps[ALPHA]);
        }
        comps.resize(usize::from(self.ty(r).comps()), Comp::Const(0));
        self.set(r, &comps);
        Ok(())
    }

    /// The alpha of a texel that may be outside, where all that is read is 0: alpha that the format lacks is 1 there, too.
    fn alpha(&mut self, image: Image, d: &Descriptor, alpha: Comp) -> Comp {
        let one = match image.kind {
            NumKind::Float => 0x3f80_0000,
            _ => 1,
        };
        match image.format.has_alpha() {
            Some(true) => alpha,
            Some(false) => Comp::Const(one),
            None => {
                let word = self.descriptor_word(d.table, d.first, d.rest, SWIZZLE_WORD);
                let mask = Opnd::imm(7 << ALPHA_SWIZZLE);
                let from = self.word(IsaOp::LSHIFT_AND_I32, &[mask, Opnd::imm(0), Opnd::val(word)]);
                let constant = Opnd::imm(SWIZZLE_ONE << ALPHA_SWIZZLE);
                let ops = [Opnd::val(from), constant, Opnd::imm(one as u32), self.opnd(alpha)];
                let inst = Isa::new(IsaOp::CSEL_U32).with(Condition::Eq);
                Comp::Val(self.def(inst, WORD, &ops))
            }
        }
    }

    /// The address of a texel, and the conversion descriptor of its format.
    fn texel_address(&mut self, i: Inst, image: Image, sample: Option<Value>) -> Result<[Opnd; 2]> {
        let s = self.s;
        let d = self.image_descriptor(i, s.arg(i, 0), false)?;
        let [xy, zw] = self.texel(s.arg(i, 1), image, sample);
        let all = self.f.val(words(3));
        match (d.rest, narrow_table(d.table)) {
            (None, Some(table)) if d.first < IMMEDIATE_INDICES => {
                let inst = Isa::new(IsaOp::LEA_TEX_IMM).staged(0, 3).immediate(0, table.into());
                self.isa(inst.immediate(1, d.first.into()), &[all], &[], &[xy, zw]);
            }
            _ => {
                let handle = self.handle_of(d.table, d.first, d.rest);
                let inst = Isa::new(IsaOp::LEA_TEX).staged(0, 3);
                self.isa(inst, &[all], &[], &[xy, zw, handle]);
            }
        }
        let parts = self.split(all);
        let address = self.collect(&parts[..2]);
        Ok([Opnd::val(address), Opnd::val(parts[2])])
    }
}
