//! Lowers texture instructions to the operands that texture units take.

use crate::rewrite::{self, Emit, Lowering, Step};
use bitflags::bitflags;
use tepui_ir::{Attrs, DerivativeGroup, Image, Inst, Op, Shader, Stage, TexOperands, Type, Value};

bitflags! {
    /// The operations to lower.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct Tex: u8 {
        /// Texel offsets of fetches join the coordinates.
        const FETCH_OFFSET = 1 << 0;
        /// A gather with four offsets becomes four gathers with one.
        const GATHER_OFFSETS = 1 << 1;
        /// Implicit levels of detail where there are no derivatives are level 0 (plus the bias).
        const IMPLICIT_LOD = 1 << 2;
        /// Array layers of texture samples are rounded to nearest even and clamped to the existing
        /// layers.
        const ARRAY_LAYER = 1 << 3;
    }
}

/// Runs the pass.
pub fn run(s: &mut Shader, lower: Tex) -> bool {
    let derivatives =
        s.info.stage == Stage::Fragment || s.info.derivatives != DerivativeGroup::None;
    rewrite::run(s, &mut Pass { lower, derivatives })
}

struct Pass {
    lower: Tex,
    /// Whether lanes form quads.
    derivatives: bool,
}

/// An image instruction, taken apart.
struct TexOp {
    op: Op,
    image: Image,
    args: Vec<Value>,
}

impl TexOp {
    /// Position of an optional operand among the arguments.
    fn at(&self, flag: TexOperands) -> Option<usize> {
        if !self.image.operands.contains(flag) {
            return None;
        }
        let below = TexOperands::from_bits_truncate(flag.bits() - 1) & self.image.operands;
        // Gradients are two operands.
        let gradients = usize::from(below.contains(TexOperands::GRAD));
        Some(Shader::tex_fixed_args(self.op) + below.iter().count() + gradients)
    }

    fn take(&mut self, flag: TexOperands) -> Option<Value> {
        let at = self.at(flag)?;
        self.image.operands.remove(flag);
        Some(self.args.remove(at))
    }

    fn put(&mut self, flag: TexOperands, v: Value) {
        self.image.operands.insert(flag);
        if let Some(at) = self.at(flag) {
            self.args.insert(at, v);
        }
    }

    fn emit(&self, e: &mut Emit, ty: Type) -> Value {
        e.value(self.op, Attrs::Image(self.image), &self.args, ty)
    }
}

impl Lowering for Pass {
    fn wants(&self, s: &Shader, i: Inst) -> bool {
        matches!(s.insts[i].attrs, Attrs::Image(_))
    }

    fn inst(&mut self, e: &mut Emit, i: Inst) -> Step {
        let (op, Attrs::Image(image)) = (e.s.insts[i].op, e.s.insts[i].attrs) else {
            return Step::Keep;
        };
        let [r] = *e.s.results(i) else { return Step::Keep };
        let ty = e.ty(r);
        let mut l = TexOp { op, image, args: e.s.args(i).to_vec() };
        let on = |f: Tex| self.lower.contains(f);
        let mut changed = false;
        if on(Tex::FETCH_OFFSET)
            && op == Op::TexFetch
            && let Some(o) = l.take(TexOperands::OFFSET)
        {
            changed = true;
            let (mut at, offset) = (e.split(l.args[1]), e.split(o));
            for (c, o) in at.iter_mut().zip(offset) {
                *c = e.op(Op::IAdd, &[*c, o]);
            }
            l.args[1] = e.vec(&at);
        }
        if on(Tex::IMPLICIT_LOD) && op == Op::TexSample && !self.derivatives {
            changed = true;
            let lod = l.take(TexOperands::BIAS).unwrap_or_else(|| e.f32(0.0));
            l.op = Op::TexSampleLod;
            l.put(TexOperands::LOD, lod);
        }
        let sampled = matches!(op, Op::TexSample | Op::TexSampleLod | Op::TexGather);
        if on(Tex::ARRAY_LAYER) && sampled && image.array {
            let layered = self.layer(e, &l);
            if layered != l.args[2] {
                changed = true;
                l.args[2] = layered;
            }
        }
        if on(Tex::GATHER_OFFSETS)
            && op == Op::TexGather
            && let Some(o) = l.take(TexOperands::OFFSETS)
        {
            let o = e.split(o);
            let mut texels = Vec::with_capacity(5);
            let mut code = None;
            for k in 0..4 {
                let mut one = TexOp { op, image: l.image, args: l.args.clone() };
                let offset = e.vec(&o[2 * k..2 * k + 2]);
                one.put(TexOperands::OFFSET, offset);
                let v = one.emit(e, ty);
                // Each offset's own texel is the last of the four that a gather gives.
                texels.push(e.extract(v, 3));
                if image.residency {
                    let own = e.extract(v, 4);
                    code = Some(code.map_or(own, |c| e.op(Op::IOr, &[c, own])));
                }
            }
            texels.extend(code);
            return Step::Replace(vec![e.vec(&texels)]);
        }
        if !changed {
            return Step::Keep;
        }
        Step::Replace(vec![l.emit(e, ty)])
    }
}

impl Pass {
    /// The coordinates with a layer that exists.
    fn layer(&self, e: &mut Emit, l: &TexOp) -> Value {
        let mut at = e.split(l.args[2]);
        let Some(layer) = at.pop() else { return l.args[2] };
        // Done before: what is clamped stays.
        if e.s.def_op(layer) == Some(Op::FMin) {
            return l.args[2];
        }
        let comps = l.image.dim.size_comps() + 1;
        let query = Image { operands: TexOperands::LOD, residency: false, ..l.image };
        let zero = e.u32(0);
        let args = [l.args[0], zero];
        let size = e.value(Op::ImageSize, Attrs::Image(query), &args, Type::vec(32, comps));
        let layers = e.extract(size, u32::from(comps) - 1);
        let one = e.u32(1);
        let last = e.op(Op::ISub, &[layers, one]);
        let last = e.value(Op::U2F, Attrs::None, &[last], Type::B32);
        let none = e.f32(0.0);
        let x = e.op(Op::FRoundEven, &[layer]);
        let x = e.op(Op::FMax, &[x, none]);
        at.push(e.op(Op::FMin, &[x, last]));
        e.vec(&at)
    }
}
