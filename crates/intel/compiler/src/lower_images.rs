//! Image operations that the sampler and the data port lack, from those that they have.
//!
//! - Reads of storage formats that the data port does not convert become reads of integers of the same size
//!   ([`reads_raw`]), which the program converts.
//! - Input attachments are fetched as sampled images are.
//! - The residency of texels of storage images is told by the sampler.
//! - Components that a storage format does not have are 0, and 1 for alpha.
//! - Cubes that are stored to are arrays of faces, so that their size counts faces.
//! - Directions into cubes have a greatest component of 1, and gradients of cubes become a level of detail.
//! - A minimum of an explicit level of detail is a maximum with it. Gradients with a minimum become a level of detail where
//!   a message has no place for both.
//!
//! source: Mesa, `brw_nir_lower_storage_image.c`, `brw_nir.c` (`nir_normalize_cubemap_coords`, `lower_txd_cube_map`)

use crate::bind::descriptor_of;
use crate::set_memory::reads_raw;
use tepui_intel_isa::Generation;
use tepui_ir::{
    Attrs, Dim, Image, ImageFormat, Inst, NumKind, Op, Shader, TexOperands, Type, Value,
};
use tepui_passes::cubes;
use tepui_passes::rewrite::{self, Emit, Lowering, Step};

/// Runs the pass. It must not run twice.
pub fn run(s: &mut Shader, generation: Generation) -> bool {
    let image = |s: &Shader, i: Inst| matches!(s.insts[i].attrs, Attrs::Image(_));
    s.any(|s, _, i| image(s, i)) && rewrite::run(s, &mut Images(generation))
}

/// Bits of the components of a storage format, from the lowest bits of a texel on.
fn bits(format: ImageFormat) -> &'static [u8] {
    use ImageFormat as F;
    match format {
        F::Rgba32f | F::Rgba32i | F::Rgba32ui => &[32; 4],
        F::Rgba16f | F::Rgba16 | F::Rgba16Snorm | F::Rgba16i | F::Rgba16ui => &[16; 4],
        F::Rgba8 | F::Rgba8Snorm | F::Rgba8i | F::Rgba8ui => &[8; 4],
        F::Rgb10A2 | F::Rgb10A2ui => &[10, 10, 10, 2],
        F::R11fG11fB10f => &[11, 11, 10],
        F::Rg32f | F::Rg32i | F::Rg32ui => &[32; 2],
        F::Rg16f | F::Rg16 | F::Rg16Snorm | F::Rg16i | F::Rg16ui => &[16; 2],
        F::Rg8 | F::Rg8Snorm | F::Rg8i | F::Rg8ui => &[8; 2],
        F::R32f | F::R32i | F::R32ui => &[32],
        F::R16f | F::R16 | F::R16Snorm | F::R16i | F::R16ui => &[16],
        F::R8 | F::R8Snorm | F::R8i | F::R8ui => &[8],
        F::R64ui | F::R64i => &[64],
        F::Unknown => &[0; 4],
    }
}

/// Components of a storage format; four if it is not declared.
#[must_use]
pub fn components(format: ImageFormat) -> u8 {
    bits(format).len() as u8
}

/// The format of integers with the size of a texel.
fn raw(format: ImageFormat) -> ImageFormat {
    match bits(format).iter().map(|&n| u32::from(n)).sum() {
        8 => ImageFormat::R8ui,
        16 => ImageFormat::R16ui,
        64 => ImageFormat::Rg32ui,
        _ => ImageFormat::R32ui,
    }
}

struct Images(Generation);

impl Lowering for Images {
    fn wants(&self, s: &Shader, i: Inst) -> bool {
        matches!(s.insts[i].attrs, Attrs::Image(_))
    }

    fn inst(&mut self, e: &mut Emit, i: Inst) -> Step {
        let Attrs::Image(image) = e.s.insts[i].attrs else { return Step::Keep };
        match e.s.insts[i].op {
            Op::ImageLoad if image.dim == Dim::Subpass => attachment(e, i, image),
            Op::ImageLoad => self.load(e, i, image),
            Op::ImageSize if image.dim == Dim::Cube && image.array => cubes::faces(e, i),
            Op::TexSample | Op::TexSampleLod | Op::TexGather | Op::TexQueryLod => {
                sample(e, i, image)
            }
            _ => Step::Keep,
        }
    }
}

impl Images {
    fn load(&self, e: &mut Emit, i: Inst, image: Image) -> Step {
        let ty = e.ty(e.s.result(i));
        // Selection refuses texels of 64 bits, and those of several samples.
        if ty.bits() == 64 || image.ms {
            return Step::Keep;
        }
        let args = e.s.args(i).to_vec();
        if !image.residency {
            return self
                .texel(e, &args, image, ty)
                .map_or(Step::Keep, |texel| Step::Replace(vec![texel]));
        }
        let comps = ty.comps() - 1;
        // Selection refuses others.
        if comps != 4 {
            return Step::Keep;
        }
        let (plain, of_texel) = (Image { residency: false, ..image }, Type::vec(32, comps));
        let texel = self
            .texel(e, &args, plain, of_texel)
            .unwrap_or_else(|| e.value(Op::ImageLoad, Attrs::Image(plain), &args, of_texel));
        // The data port does not tell residency, but the sampler does.
        // source: Mesa, intel_nir_lower_sparse.c (`lower_sparse_image_load`)
        let is_cube = image.dim == Dim::Cube;
        let mut fixed = args[..2].to_vec();
        let mut operands = TexOperands::empty();
        if image.dim != Dim::Buffer {
            fixed.push(e.u32(0));
            operands = TexOperands::LOD;
        }
        let fetch = Image {
            dim: if is_cube { Dim::D2 } else { image.dim },
            array: image.array || is_cube,
            operands,
            ..image
        };
        let told = e.value(Op::TexFetch, Attrs::Image(fetch), &fixed, ty);
        let code = e.extract(told, u32::from(comps));
        let mut all = e.split(texel);
        all.push(code);
        Step::Replace(vec![e.vec(&all)])
    }

    /// A texel of a format that is declared; nothing if it is not.
    fn texel(&self, e: &mut Emit, args: &[Value], image: Image, ty: Type) -> Option<Value> {
        let format = image.format;
        if format == ImageFormat::Unknown {
            return None;
        }
        let one = match image.kind {
            NumKind::Float => e.f32(1.0),
            _ => e.u32(1),
        };
        let zero = e.u32(0);
        let mut all = if reads_raw(self.0, format) {
            let image = Image { format: raw(format), kind: NumKind::Uint, ..image };
            let texel = e.value(Op::ImageLoad, Attrs::Image(image), args, ty);
            unpack(e, format, texel)
        } else {
            let texel = e.value(Op::ImageLoad, Attrs::Image(image), args, ty);
            (0..u32::from(components(format))).map(|k| e.extract(texel, k)).collect()
        };
        while all.len() < 4 {
            all.push(if all.len() == 3 { one } else { zero });
        }
        Some(e.vec(&all))
    }
}

/// A read of an input attachment: the sampler fetches the texel, or a sample of it.
fn attachment(e: &mut Emit, i: Inst, image: Image) -> Step {
    let Some((_, t)) = e.s.tex_args(i) else { return Step::Keep };
    let fixed = e.s.args(i)[..2].to_vec();
    let (operands, last) = match t.sample.filter(|_| image.ms) {
        Some(sample) => (TexOperands::SAMPLE, sample),
        None => (TexOperands::LOD, e.u32(0)),
    };
    let image = Image { dim: Dim::D2, operands, ..image };
    let ty = e.ty(e.s.result(i));
    let args = [fixed[0], fixed[1], last];
    Step::Replace(vec![e.value(Op::TexFetch, Attrs::Image(image), &args, ty)])
}

/// The components of a texel that is read as one or two double words.
fn unpack(e: &mut Emit, format: ImageFormat, texel: Value) -> Vec<Value> {
    let words = [0, 1].map(|k| e.extract(texel, k));
    let name = format.name();
    let (signed, integer) = (name.ends_with("snorm"), name.ends_with("ui"));
    let mut at = 0;
    let mut all = Vec::with_capacity(4);
    for &n in bits(format) {
        let field = field(e, words[usize::from(at / 32)], [at % 32, n], signed);
        at += n;
        all.push(match format {
            _ if integer => field,
            ImageFormat::R11fG11fB10f => small_float(e, field, n),
            _ => normalised(e, field, n, signed),
        });
    }
    all
}

/// Bits of a double word, from `at` on.
fn field(e: &mut Emit, word: Value, [at, n]: [u8; 2], signed: bool) -> Value {
    let up = e.u32(u32::from(32 - at - n));
    let left = if at + n < 32 { e.op(Op::IShl, &[word, up]) } else { word };
    let down = e.u32(u32::from(32 - n));
    e.op(if signed { Op::SShr } else { Op::UShr }, &[left, down])
}

/// A fraction of the greatest number: the quotient is the product with the inverse to within half a bit of what the format
/// has.
fn normalised(e: &mut Emit, field: Value, n: u8, signed: bool) -> Value {
    let most = ((1u64 << (n - u8::from(signed))) - 1) as f64;
    let number = e.value(if signed { Op::S2F } else { Op::U2F }, Attrs::None, &[field], Type::B32);
    let most = e.f32(most as f32);
    let quotient = e.op(Op::FDiv, &[number, most]);
    if !signed {
        return quotient;
    }
    let least = e.f32(-1.0);
    e.op(Op::FMax, &[quotient, least])
}

/// A float without a sign: 5 bits of exponent as a half float has, and what is left of its fraction.
fn small_float(e: &mut Emit, field: Value, n: u8) -> Value {
    let up = e.u32(u32::from(15 - n));
    let half = e.op(Op::IShl, &[field, up]);
    let half = e.convert(Op::U2U, half, Type::B16);
    e.value(Op::F2F, Attrs::None, &[half], Type::B32)
}

/// An instruction that filters, with a direction of its own for cubes, and without what messages do not take.
fn sample(e: &mut Emit, i: Inst, image: Image) -> Step {
    let Some((_, t)) = e.s.tex_args(i) else { return Step::Keep };
    let (op, ty) = (e.s.insts[i].op, e.ty(e.s.result(i)));
    let cube = image.dim == Dim::Cube;
    let bounded = t.lod.is_some() && t.min_lod.is_some();
    let long = t.ddx.is_some() && t.min_lod.is_some() && has_header(e.s, i, image);
    if !cube && !bounded && !long {
        return Step::Keep;
    }
    let fixed = Shader::tex_fixed_args(op);
    let mut args = e.s.args(i)[..fixed].to_vec();
    let mut image = image;
    let (mut lod, mut min_lod, mut gradients) = (t.lod, t.min_lod, [t.ddx, t.ddy]);
    if cube {
        let parts = e.split(args[2]);
        if let [Some(x), Some(y)] = gradients {
            let width = |e: &mut Emit| cubes::width(e, args[0], image);
            lod = Some(cubes::level(e, width, &parts[..3], [x, y]));
            gradients = [None; 2];
            image.operands.remove(TexOperands::GRAD);
            image.operands.insert(TexOperands::LOD);
        }
        args[2] = direction(e, &parts);
    } else if let (true, [Some(x), Some(y)]) = (long, gradients) {
        lod = Some(flat_level(e, args[0], image, [x, y]));
        gradients = [None; 2];
        image.operands.remove(TexOperands::GRAD);
        image.operands.insert(TexOperands::LOD);
    }
    if let (Some(own), Some(least)) = (lod, min_lod) {
        lod = Some(e.op(Op::FMax, &[own, least]));
        min_lod = None;
        image.operands.remove(TexOperands::MIN_LOD);
    }
    let [dx, dy] = gradients;
    let optional = [t.dref, t.bias, lod, dx, dy, t.offset, t.sample, min_lod, t.offsets];
    args.extend(optional.into_iter().flatten());
    Step::Replace(vec![e.value(op, Attrs::Image(image), &args, ty)])
}

/// Whether a message has a header or a reference besides its parameters.
fn has_header(s: &Shader, i: Inst, image: Image) -> bool {
    let chosen =
        |h: Value| descriptor_of(s, h).is_none_or(|(_, index)| s.as_const(index).is_none());
    let more = TexOperands::OFFSET.union(TexOperands::DREF);
    image.residency || image.operands.intersects(more) || s.args(i)[..2].iter().any(|&h| chosen(h))
}

/// The level of detail for gradients: the logarithm of the longer one in texels.
/// source: Vulkan specification, "Scale Factor Operation"
fn flat_level(e: &mut Emit, handle: Value, image: Image, gradients: [Value; 2]) -> Value {
    let comps = image.dim.size_comps() + u8::from(image.array);
    let (operands, residency) = (TexOperands::LOD, false);
    let query = Attrs::Image(Image { operands, residency, ..image });
    let zero = e.u32(0);
    let ty = if comps == 1 { Type::B32 } else { Type::vec(32, comps) };
    let size = e.value(Op::ImageSize, query, &[handle, zero], ty);
    let size = e.split(size);
    let squares = gradients.map(|g| {
        let mut sum = None;
        for (d, &n) in e.split(g).into_iter().zip(&size) {
            let n = e.value(Op::U2F, Attrs::None, &[n], Type::B32);
            let x = e.op(Op::FMul, &[d, n]);
            let square = e.op(Op::FMul, &[x, x]);
            sum = Some(match sum {
                None => square,
                Some(sum) => e.op(Op::FAdd, &[sum, square]),
            });
        }
        sum.unwrap_or_else(|| e.f32(0.0))
    });
    let most = e.op(Op::FMax, &squares);
    let log = e.op(Op::FLog2, &[most]);
    let half = e.f32(0.5);
    e.op(Op::FMul, &[log, half])
}

/// A direction whose greatest component is 1 or -1.
fn direction(e: &mut Emit, parts: &[Value]) -> Value {
    let abs: Vec<Value> = parts[..3].iter().map(|&c| e.op(Op::FAbs, &[c])).collect();
    let most = e.op(Op::FMax, &[abs[0], abs[1]]);
    let most = e.op(Op::FMax, &[most, abs[2]]);
    let inverse = e.op(Op::FRcp, &[most]);
    let mut all: Vec<Value> = parts[..3].iter().map(|&c| e.op(Op::FMul, &[c, inverse])).collect();
    all.extend(&parts[3..]);
    e.vec(&all)
}
