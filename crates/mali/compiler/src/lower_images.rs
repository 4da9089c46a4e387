//! Image operations that the texture unit lacks: gradients of cubes become levels of detail, and a storage image of cubes is an array
//! of faces.

use tepui_ir::{Attrs, Dim, Image, Inst, Op, Shader, TexOperands};
use tepui_passes::cubes;
use tepui_passes::rewrite::{Emit, Lowering, Step, run as rewrite};

struct Cubes;

impl Lowering for Cubes {
    fn wants(&self, s: &Shader, i: Inst) -> bool {
        matches!(s.insts[i].attrs, Attrs::Image(Image { dim: Dim::Cube, .. }))
    }

    fn inst(&mut self, e: &mut Emit, i: Inst) -> Step {
        let Attrs::Image(image) = e.s.insts[i].attrs else { return Step::Keep };
        match e.s.insts[i].op {
            Op::ImageSize if image.array => cubes::faces(e, i),
            Op::TexSampleLod => sample(e, i, image),
            _ => Step::Keep,
        }
    }
}

/// A lookup with a level of detail in place of gradients.
fn sample(e: &mut Emit, i: Inst, mut image: Image) -> Step {
    let Some((_, t)) = e.s.tex_args(i) else { return Step::Keep };
    let (Some(dx), Some(dy)) = (t.ddx, t.ddy) else { return Step::Keep };
    let (op, ty) = (e.s.insts[i].op, e.ty(e.s.result(i)));
    let mut args = e.s.args(i)[..Shader::tex_fixed_args(op)].to_vec();
    let direction = e.split(args[2]);
    let width = |e: &mut Emit| cubes::width(e, args[0], image);
    let lod = cubes::level(e, width, &direction[..3], [dx, dy]);
    image.operands.remove(TexOperands::GRAD);
    image.operands.insert(TexOperands::LOD);
    let optional = [t.dref, t.bias, Some(lod), t.offset, t.sample, t.min_lod, t.offsets];
    args.extend(optional.into_iter().flatten());
    Step::Replace(vec![e.value(op, Attrs::Image(image), &args, ty)])
}

/// Lowers all image operations; whether there were some.
pub fn run(s: &mut Shader) -> bool {
    rewrite(s, &mut Cubes)
}
