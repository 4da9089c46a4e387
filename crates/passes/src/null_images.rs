//! Null descriptors of images, for hardware that does not know them: queries give zeros, and the coordinate of stores and atomics is
//! moved to where the hardware drops them. source: Vulkan specification, "Null Descriptors"
//!
//! Reads are not changed: the hardware's descriptor of zeros must give zeros.

use crate::rewrite::{self, Emit, Lowering, Step};
use tepui_ir::{Attrs, Image, Inst, Op, Shader, Value};

/// Descriptors of a GPU that may be null.
pub trait NullDescriptors {
    /// A coordinate that is outside of every image.
    const OUTSIDE: u32;

    /// Emits whether a descriptor is not null; `None` where the hardware, or what is lowered later, does the right thing with a null one.
    fn is_present(&mut self, e: &mut Emit, handle: Value, image: Image) -> Option<Value>;
}

/// Runs the pass.
pub fn run(s: &mut Shader, descriptors: &mut impl NullDescriptors) -> bool {
    rewrite::run(s, &mut Pass(descriptors))
}

struct Pass<'a, D>(&'a mut D);

impl<D: NullDescriptors> Lowering for Pass<'_, D> {
    fn wants(&self, s: &Shader, i: Inst) -> bool {
        matches!(
            s.insts[i].op,
            Op::ImageSize
                | Op::TexLevels
                | Op::ImageSamples
                | Op::TexQueryLod
                | Op::ImageStore
                | Op::ImageAtomic
        )
    }

    fn inst(&mut self, e: &mut Emit, i: Inst) -> Step {
        let (op, attrs) = (e.s.insts[i].op, e.s.insts[i].attrs);
        let (Attrs::Image(image) | Attrs::ImageAtomic(_, image)) = attrs else { return Step::Keep };
        let mut args = e.s.args(i).to_vec();
        let Some(present) = self.0.is_present(e, args[0], image) else { return Step::Keep };
        let tys: Vec<_> = e.s.results(i).iter().map(|&r| e.s.ty(r)).collect();
        if matches!(op, Op::ImageStore | Op::ImageAtomic) {
            let mut at = e.split(args[1]);
            let outside = e.u32(D::OUTSIDE);
            at[0] = e.select(present, at[0], outside);
            args[1] = e.vec(&at);
            let new = e.inst(op, attrs, &args, &tys);
            return Step::Replace(e.s.results(new).to_vec());
        }
        let new = e.inst(op, attrs, &args, &tys);
        let results = e.s.results(new).to_vec();
        let mut zeros = Vec::with_capacity(results.len());
        for v in results {
            let zero = e.konst(e.ty(v).elem(), 0);
            let parts: Vec<Value> =
                e.split(v).into_iter().map(|part| e.select(present, part, zero)).collect();
            zeros.push(e.vec(&parts));
        }
        Step::Replace(zeros)
    }
}
