//! Image operations that the texture unit lacks: gradients of cubes become levels of detail, and a storage image of cubes is an array
//! of faces. Coordinates, levels and samples that the unit has fewer than 32 bits for are the largest number that it has, where they are
//! larger, so that those outside of an image stay outside.

use tepui_ir::{Attrs, Dim, Image, Inst, Op, Shader, TexOperands, Value};
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

/// Bits of a coordinate of a storage image, but for the only one of a row.
const COORDINATE_BITS: u32 = 16;
/// Bits of the level and of the sample of a fetch.
const LEVEL_BITS: u32 = 8;

/// Numbers of texels that keep to the bits that the unit has for them.
#[derive(Default)]
struct Limits {
    changed: bool,
}

/// Whether an operand is certainly below a power of two.
fn is_below(s: &Shader, v: Value, bits: u32) -> bool {
    s.as_const(v).is_some_and(|n| n < 1 << bits)
}

/// The smaller of an operand and the largest number of some bits, component by component; `keeps` are components that have 32 bits.
fn limited(e: &mut Emit, v: Value, bits: u32, keeps: usize) -> Value {
    let mut parts = e.split(v);
    let wide: Vec<usize> =
        (keeps..parts.len()).filter(|&k| !is_below(e.s, parts[k], bits)).collect();
    if wide.is_empty() {
        return v;
    }
    for k in wide {
        let most = e.u32((1 << bits) - 1);
        parts[k] = e.op(Op::UMin, &[parts[k], most]);
    }
    e.vec(&parts)
}

impl Lowering for Limits {
    fn wants(&self, s: &Shader, i: Inst) -> bool {
        matches!(s.insts[i].op, Op::ImageLoad | Op::ImageStore | Op::ImageAtomic | Op::TexFetch)
    }

    fn inst(&mut self, e: &mut Emit, i: Inst) -> Step {
        let (Attrs::Image(image) | Attrs::ImageAtomic(_, image)) = e.s.insts[i].attrs else {
            return Step::Keep;
        };
        let mut args = e.s.args(i).to_vec();
        if e.s.insts[i].op == Op::TexFetch {
            let Some((_, t)) = e.s.tex_args(i) else { return Step::Keep };
            let optional = &mut args[Shader::tex_fixed_args(Op::TexFetch)..];
            for v in [t.lod, t.sample].into_iter().flatten() {
                let to = limited(e, v, LEVEL_BITS, 0);
                optional.iter_mut().filter(|a| **a == v).for_each(|a| *a = to);
            }
        } else {
            let keeps = usize::from(image.dim.coords() == 1);
            args[1] = limited(e, args[1], COORDINATE_BITS, keeps);
        }
        if args != e.s.args(i) {
            self.changed = true;
            e.s.set_args(i, &args);
        }
        Step::Keep
    }
}

/// Lowers all image operations; `robust` are those whose texels may be outside.
pub fn run(s: &mut Shader, robust: bool) -> bool {
    let cubes = rewrite(s, &mut Cubes);
    let mut limits = Limits::default();
    if robust {
        rewrite(s, &mut limits);
    }
    cubes || limits.changed
}
