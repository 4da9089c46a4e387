//! Lowers image operations to those that the texture unit and the pixel back end have.
//!
//! - Sizes, levels and samples are read from the descriptor in memory ([`crate::descriptor`]).
//! - One-dimensional images and texel buffers become two-dimensional.
//! - A fetch outside of levels or layers gets a coordinate outside of the image, because the
//!   hardware checks only coordinates.
//! - Gradients of cubes become a level of detail.
//! - Atomics become atomics on memory, at an address computed from the descriptor.
//! - A store to an image that is also read is followed by a barrier.
//!
//! Selection then sees texture operations on two- and three-dimensional images and cubes only, with
//! [`TexOperands::LOD`] only for levels other than 0. source: Mesa, agx_nir_lower_texture.c and
//! libagx/texture.cl, for what the hardware needs

mod address;
mod cube;
mod reduction;

use crate::descriptor::{self, Bits, texture};
use crate::{Borders, Options};
use address::{address, multisampled_place, within, within_samples};
use cube::cube_level;
use reduction::Rows;
use rustc_hash::FxHashMap;
use tepui_ir::{
    Access, AtomicOp, Attrs, Barrier, Dim, Extend, Image, Inst, Mem, MemSet, NumKind, Op, Res,
    ResKind, Scope, Shader, TexOperands, Type, Value,
};
use tepui_passes::image_op::ImageOp;
use tepui_passes::null_images::{self, NullDescriptors};
use tepui_passes::reductions::Reduction;
use tepui_passes::rewrite::{self, Emit, Lowering, Step};

/// A coordinate outside of every image, also with the largest offset added. source: Mesa,
/// libagx/texture.cl
const OUTSIDE: u32 = 0xfff0;

const MEM: Mem = Mem {
    align_log2: 0,
    offset: 0,
    index: Extend { signed: false, shift: 0 },
    access: Access::empty(),
};

/// Runs the pass. It must not run twice.
pub fn run(s: &mut Shader, options: &Options) -> bool {
    let (mut any, mut loads) = (false, false);
    s.walk(|s, _, i| {
        any |= matches!(s.insts[i].attrs, Attrs::Image(_) | Attrs::ImageAtomic(..));
        loads |= s.insts[i].op == Op::ImageLoad;
    });
    let Options { lod_bias, borders, reductions, null_images, .. } = *options;
    let twins = FxHashMap::default();
    let mut pass = Images { loads, lod_bias, borders, reductions, twins };
    if !any {
        return false;
    }
    if null_images {
        null_images::run(s, &mut NullRows);
    }
    rewrite::run(s, &mut pass)
}

struct Images {
    /// The shader reads storage images.
    loads: bool,
    /// Samplers have a bias of the level of detail.
    lod_bias: bool,
    /// Border colours of samplers that programs make.
    borders: Borders,
    /// Samplers may reduce texels to the least or the greatest.
    reductions: bool,
    /// Second samplers, by the resources of the first.
    twins: FxHashMap<Res, Res>,
}

/// The kind of a handle's resource, if it is known.
fn resource(s: &Shader, handle: Value) -> Option<ResKind> {
    match s.insts[s.def_inst(handle)?].attrs {
        Attrs::Res(r, _) => Some(s.resources[r].kind),
        _ => None,
    }
}

/// Descriptors in memory.
trait Descriptors {
    fn load(&mut self, handle: Value, byte: u32, ty: Type) -> Value;
    fn word(&mut self, handle: Value, byte: u32) -> Value {
        self.load(handle, byte, Type::B32)
    }
    fn half(&mut self, handle: Value, byte: u32) -> Value {
        self.load(handle, byte, Type::vec(16, 1))
    }
    fn bits(&mut self, handle: Value, b: Bits) -> Value;
    /// The value of a field that holds one less.
    fn size(&mut self, handle: Value, field: &str) -> Value;
}

impl Descriptors for Emit<'_> {
    fn load(&mut self, handle: Value, byte: u32, ty: Type) -> Value {
        let address = self.op(Op::DescriptorAddress, &[handle]);
        let mem = Mem {
            align_log2: 2,
            offset: byte as i32,
            access: Access::CONST | Access::NON_WRITABLE,
            ..MEM
        };
        self.value(Op::LoadGlobal, Attrs::Mem(mem), &[address], ty)
    }

    fn bits(&mut self, handle: Value, b: Bits) -> Value {
        let mut v = self.word(handle, b.byte);
        if b.low > 0 {
            let n = self.u32(b.low);
            v = self.op(Op::UShr, &[v, n]);
        }
        let here = 32 - b.low;
        if b.width > here {
            let next = self.word(handle, b.byte + 4);
            let n = self.u32(here);
            let up = self.op(Op::IShl, &[next, n]);
            v = self.op(Op::IOr, &[v, up]);
        }
        if b.width < 32 && b.low + b.width != 32 {
            let mask = self.u32((1 << b.width) - 1);
            v = self.op(Op::IAnd, &[v, mask]);
        }
        v
    }

    fn size(&mut self, handle: Value, field: &str) -> Value {
        let v = self.bits(handle, texture(field));
        let one = self.u32(1);
        self.op(Op::IAdd, &[v, one])
    }
}

impl Lowering for Images {
    fn wants(&self, s: &Shader, i: Inst) -> bool {
        matches!(s.insts[i].attrs, Attrs::Image(_) | Attrs::ImageAtomic(..))
    }

    fn inst(&mut self, e: &mut Emit, i: Inst) -> Step {
        let (op, attrs) = (e.s.insts[i].op, e.s.insts[i].attrs);
        let image = match attrs {
            Attrs::Image(image) | Attrs::ImageAtomic(_, image) => image,
            _ => return Step::Keep,
        };
        // Handles that are chosen at run time are refused where they are selected.
        if resource(e.s, e.s.arg(i, 0)).is_none() {
            return Step::Keep;
        }
        match (op, attrs) {
            (Op::ImageSize, _) => Step::Replace(vec![size(e, i, image)]),
            (Op::TexLevels, _) => {
                let h = e.s.arg(i, 0);
                let first = e.bits(h, texture("first_level"));
                let last = e.bits(h, texture("last_level"));
                let n = e.op(Op::ISub, &[last, first]);
                let one = e.u32(1);
                let n = e.op(Op::IAdd, &[n, one]);
                Step::Replace(vec![n])
            }
            (Op::ImageSamples, _) => {
                let h = e.s.arg(i, 0);
                let log = e.bits(h, texture("samples"));
                let two = e.u32(2);
                let n = e.op(Op::IShl, &[two, log]);
                Step::Replace(vec![n])
            }
            (Op::ImageAtomic, Attrs::ImageAtomic(op, _)) => self.atomic(e, i, op, image),
            (Op::ImageStore, _) => self.store(e, i, image),
            (Op::TexFetch | Op::ImageLoad, _) => fetch(e, i, image),
            (Op::TexSample | Op::TexSampleLod | Op::TexGather | Op::TexQueryLod, _) => {
                self.sample(e, i, image)
            }
            _ => Step::Keep,
        }
    }
}

/// Null descriptors: rows of zeros.
struct NullRows;

impl NullDescriptors for NullRows {
    const OUTSIDE: u32 = OUTSIDE;

    /// The first word of a texture has its dimension, which is 0 for one dimension alone, and images of one dimension are those of
    /// two here. Null texel buffers have the size 0.
    fn is_present(&mut self, e: &mut Emit, handle: Value, image: Image) -> Option<Value> {
        if image.dim == Dim::Buffer || resource(e.s, handle).is_none() {
            return None;
        }
        let first = e.word(handle, descriptor::TEXTURE_B);
        let zero = e.u32(0);
        Some(e.op(Op::ULt, &[zero, first]))
    }
}

impl Images {
    /// A barrier that makes a write visible to later reads of images by the same thread.
    fn fence(&self, e: &mut Emit, image: Image, spaces: MemSet) {
        if self.loads && !image.access.contains(Access::NON_READABLE) {
            let b = Barrier { exec: Scope::Invocation, mem: Scope::Device, spaces };
            e.inst(Op::Barrier, Attrs::Barrier(b), &[], &[]);
        }
    }

    fn store(&self, e: &mut Emit, i: Inst, image: Image) -> Step {
        let mut l = ImageOp::new(e, i, image);
        let h = l.args[0];
        if image.ms {
            let sample = l.take(TexOperands::SAMPLE).unwrap_or_else(|| e.u32(0));
            l.at = multisampled_place(e, h, &l, sample);
            (l.image.ms, l.image.array) = (false, false);
            l.finish(e, &[]);
            self.fence(e, image, MemSet::IMAGE);
            return Step::Remove;
        }
        match image.dim {
            Dim::Buffer => {
                l.at = buffer_place(e, h, l.at[0], true);
                l.image.dim = Dim::D2;
            }
            Dim::D1 => {
                let zero = e.u32(0);
                second(e, &mut l, zero);
            }
            Dim::Cube => {
                l.image.dim = Dim::D2;
                l.image.array = true;
            }
            Dim::D2 | Dim::D3 | Dim::Subpass => {}
        }
        if let Some(k) = l.layer() {
            // The machine looks at 16 bits.
            let most = e.u32(0xffff);
            l.at[k] = e.op(Op::UMin, &[l.at[k], most]);
        }
        l.finish(e, &[]);
        self.fence(e, image, MemSet::IMAGE);
        Step::Remove
    }

    fn atomic(&self, e: &mut Emit, i: Inst, op: AtomicOp, image: Image) -> Step {
        let r = e.s.result(i);
        let ty = e.ty(r);
        if ty != Type::B32 {
            return Step::Keep;
        }
        let l = ImageOp::new(e, i, image);
        let (h, sample) = (l.args[0], l.args[2]);
        let data = l.args[3..].to_vec();
        let inside = match image.dim {
            _ if image.ms => within_samples(e, h, &l, sample),
            Dim::Buffer => {
                let size = e.bits(h, texture("buffer_size_sw"));
                e.op(Op::ULt, &[l.at[0], size])
            }
            _ => within(e, h, &l),
        };
        let access = image.access;
        let old = e.if_else(
            inside,
            ty,
            |e| {
                let address = address(e, h, &l, sample);
                let mem = Mem { align_log2: 2, access, ..MEM };
                let mut args = vec![address];
                args.extend(data);
                e.value(Op::AtomicGlobal, Attrs::Atomic(op, mem), &args, ty)
            },
            |e| e.u32(0),
        );
        self.fence(e, image, MemSet::IMAGE | MemSet::BUFFER);
        Step::Replace(vec![old])
    }
}

/// Width, height, depth, and layers, as the image's shape has them.
fn size(e: &mut Emit, i: Inst, image: Image) -> Value {
    let h = e.s.arg(i, 0);
    let storage = matches!(resource(e.s, h), Some(ResKind::StorageImage));
    if image.dim == Dim::Buffer {
        return e.bits(h, texture("buffer_size_sw"));
    }
    let lod = image.operands.contains(TexOperands::LOD).then(|| e.s.arg(i, 1));
    let first = e.bits(h, texture("first_level"));
    let level = match lod.filter(|&l| e.s.as_const(l) != Some(0)) {
        Some(lod) => e.op(Op::IAdd, &[first, lod]),
        None => first,
    };
    let one = e.u32(1);
    let level_of = |e: &mut Emit, field: &str| {
        let v = e.size(h, field);
        let v = e.op(Op::UShr, &[v, level]);
        e.op(Op::UMax, &[v, one])
    };
    let mut parts = vec![level_of(e, "width")];
    match image.dim {
        Dim::Cube => parts.push(parts[0]),
        Dim::D2 | Dim::D3 | Dim::Subpass => parts.push(level_of(e, "height")),
        Dim::D1 | Dim::Buffer => {}
    }
    if image.dim == Dim::D3 {
        parts.push(level_of(e, "depth"));
    }
    if image.array {
        let mut layers = e.size(h, "depth");
        if image.dim == Dim::Cube && storage {
            let six = e.u32(6);
            layers = e.op(Op::UDiv, &[layers, six]);
        }
        parts.push(layers);
    }
    e.vec(&parts)
}

/// The column and row of a texel buffer's texel; outside of the image when `index` is not below the
/// size.
fn buffer_place(e: &mut Emit, handle: Value, index: Value, pbe: bool) -> Vec<Value> {
    let size = e.bits(handle, texture("buffer_size_sw"));
    let inside = e.op(Op::ULt, &[index, size]);
    let offset = if pbe {
        e.bits(handle, descriptor::pbe("buffer_offset_sw"))
    } else {
        e.bits(handle, texture("buffer_offset_sw"))
    };
    let moved = e.op(Op::IAdd, &[index, offset]);
    let outside = e.u32(u32::MAX);
    let at = e.select(inside, moved, outside);
    square(e, at)
}

/// An index as column and row of an image of [`descriptor::BUFFER_WIDTH`] columns.
fn square(e: &mut Emit, at: Value) -> Vec<Value> {
    let mask = e.u32(descriptor::BUFFER_WIDTH - 1);
    let log = e.u32(descriptor::BUFFER_WIDTH.ilog2());
    vec![e.op(Op::IAnd, &[at, mask]), e.op(Op::UShr, &[at, log])]
}

/// A texel of three words from memory; zeros when `index` is not below the size.
fn three_words(e: &mut Emit, handle: Value, index: Value, kind: NumKind, ty: Type) -> Value {
    let size = e.bits(handle, texture("buffer_size_sw"));
    let inside = e.op(Op::ULt, &[index, size]);
    let words = Type::vec(32, 3);
    let words = e.if_else(
        inside,
        words,
        |e| {
            let base = e.load(handle, descriptor::THREE_WORDS_ADDRESS_B, Type::B64);
            let twelve = e.u32(12);
            let bytes = e.op(Op::IMul, &[index, twelve]);
            let bytes = e.convert(Op::U2U, bytes, Type::B64);
            let at = e.op(Op::IAdd, &[base, bytes]);
            let mem = Mem { align_log2: 2, access: Access::NON_WRITABLE, ..MEM };
            e.value(Op::LoadGlobal, Attrs::Mem(mem), &[at], words)
        },
        |e| {
            let zero = e.u32(0);
            e.vec(&[zero; 3])
        },
    );
    let mut parts = e.split(words);
    parts.push(if kind == NumKind::Float { e.f32(1.0) } else { e.u32(1) });
    parts.truncate(usize::from(ty.comps()));
    if ty.bits() != 32 {
        let narrow = match kind {
            NumKind::Float => Op::F2F,
            NumKind::Sint => Op::S2S,
            NumKind::Uint => Op::U2U,
        };
        parts.iter_mut().for_each(|v| *v = e.convert(narrow, *v, ty.with_comps(1)));
    }
    e.vec(&parts)
}

/// A second coordinate for an image that has one.
fn second(e: &mut Emit, l: &mut ImageOp, y: Value) {
    l.at.insert(1, y);
    l.image.dim = Dim::D2;
    // Derivatives and offsets along it are zero.
    let zero = e.u32(0);
    for (flag, n) in [(TexOperands::GRAD, 2), (TexOperands::OFFSET, 1)] {
        if let Some(at) = l.position(flag) {
            for k in at..at + n {
                l.args[k] = e.vec(&[l.args[k], zero]);
            }
        }
    }
}

fn fetch(e: &mut Emit, i: Inst, image: Image) -> Step {
    let tys = [e.ty(e.s.result(i))];
    let mut l = ImageOp::new(e, i, image);
    let h = l.args[0];
    match image.dim {
        Dim::Buffer => {
            let index = l.at[0];
            l.image.dim = Dim::D2;
            l.take(TexOperands::LOD);
            let texture = |e: &mut Emit| {
                let mut l = l.clone();
                l.at = buffer_place(e, h, index, false);
                l.finish(e, &tys)
            };
            let storage = matches!(resource(e.s, h), Some(ResKind::StorageImage));
            if storage || image.residency {
                return Step::Replace(texture(e));
            }
            let (words, zero) = (e.word(h, descriptor::THREE_WORDS_B), e.u32(0));
            let three = e.op(Op::INe, &[words, zero]);
            let texel = |e: &mut Emit| three_words(e, h, index, image.kind, tys[0]);
            return Step::Replace(vec![e.if_else(three, tys[0], texel, |e| texture(e)[0])]);
        }
        Dim::D1 => {
            let zero = e.u32(0);
            second(e, &mut l, zero);
        }
        Dim::Cube => {
            l.image.dim = Dim::D2;
            l.image.array = true;
        }
        Dim::D2 | Dim::D3 => {}
        Dim::Subpass => l.image.dim = Dim::D2,
    }
    let lod = l.get(TexOperands::LOD);
    let zero_lod = lod.is_none_or(|v| e.s.as_const(v) == Some(0));
    if zero_lod {
        l.take(TexOperands::LOD);
    }
    let mut valid = None;
    let mut also = |e: &mut Emit, c: Value| {
        valid = Some(match valid {
            Some(v) => e.op(Op::IAnd, &[v, c]),
            None => c,
        });
    };
    if let (false, Some(lod)) = (zero_lod, lod) {
        let first = e.bits(h, texture("first_level"));
        let last = e.bits(h, texture("last_level"));
        let n = e.op(Op::ISub, &[last, first]);
        let c = e.op(Op::UGe, &[n, lod]);
        also(e, c);
    }
    if let Some(k) = l.layer() {
        let last = e.bits(h, texture("depth"));
        let c = e.op(Op::UGe, &[last, l.at[k]]);
        also(e, c);
    }
    if let Some(valid) = valid {
        let outside = e.u32(OUTSIDE);
        l.at[0] = e.select(valid, l.at[0], outside);
    }
    Step::Replace(l.finish(e, &tys))
}

/// Adds the sampler's bias to the level of detail, or scales the derivatives by its power of two,
/// which does the same.
fn add_lod_bias(e: &mut Emit, l: &mut ImageOp) {
    let bias = e.half(l.args[1], descriptor::LOD_BIAS_B);
    let bias = e.convert(Op::F2F, bias, Type::B32);
    if let Some(at) = l.position(TexOperands::GRAD) {
        let scale = e.op(Op::FExp2, &[bias]);
        for k in at..at + 2 {
            let scaled: Vec<Value> =
                e.split(l.args[k]).into_iter().map(|d| e.op(Op::FMul, &[d, scale])).collect();
            l.args[k] = e.vec(&scaled);
        }
        return;
    }
    let operand = if l.op == Op::TexSampleLod { TexOperands::LOD } else { TexOperands::BIAS };
    let sum = match l.take(operand) {
        Some(own) if e.s.as_const(own) != Some(0) => e.op(Op::FAdd, &[own, bias]),
        _ => bias,
    };
    l.put(operand, sum);
}

impl Images {
    /// A sampler's twin: the same descriptor, with [`descriptor::SECOND_SAMPLER`].
    fn twin(&mut self, e: &mut Emit, handle: Value) -> Option<Value> {
        let d = e.s.def_inst(handle)?;
        let (Op::Descriptor, Attrs::Res(r, access)) = (e.s.insts[d].op, e.s.insts[d].attrs) else {
            return None;
        };
        let twin = *self.twins.entry(r).or_insert_with(|| {
            let mut twin = e.s.resources[r].clone();
            twin.binding |= descriptor::SECOND_SAMPLER;
            e.s.resources.push(twin)
        });
        let (index, ty) = (e.s.arg(d, 0), e.ty(handle));
        Some(e.value(Op::Descriptor, Attrs::Res(twin, access), &[index], ty))
    }

    /// A sample of a texture whose sampler may have what the hardware's samplers lack: a custom border colour or a reduction.
    fn with_second(&mut self, e: &mut Emit, l: ImageOp, ty: Type) -> Option<Value> {
        let handle = l.args[1];
        let second = self.twin(e, handle)?;
        let borders = self.borders;
        // Gathers do not reduce.
        let reduces = self.reductions && l.op != Op::TexGather;
        let has_second = if borders == Borders::Hardware {
            // A sampler whose opaque black may be wrong has a second one, which is not for this program.
            let reduction = e.bits(handle, descriptor::REDUCTION);
            let average = e.u32(descriptor::Reduction::Average as u32);
            e.op(Op::INe, &[reduction, average])
        } else {
            let numbers = e.word(handle, descriptor::SAMPLER_B);
            let first = e.u32(1 << (8 * (descriptor::SECOND_SAMPLER_B - descriptor::SAMPLER_B)));
            e.op(Op::UGe, &[numbers, first])
        };
        let own = l.clone().finish(e, &[ty])[0];
        let with_border = |e: &mut Emit, l: ImageOp| match borders {
            Borders::OpaqueBlack => with_opaque_black(e, l, second, own, ty),
            _ => with_border(e, l, second, own, ty),
        };
        Some(e.if_else(
            has_second,
            ty,
            |e| match reduces {
                false => with_border(e, l),
                true => {
                    let reduction = e.bits(handle, descriptor::REDUCTION);
                    let reduced = |e: &mut Emit| {
                        let greatest = e.u32(descriptor::Reduction::Greatest as u32);
                        let is_maximum = e.op(Op::IEq, &[reduction, greatest]);
                        let state = Rows { sample: &l, ty, borders };
                        let r = Reduction { sample: &l, second, ty, state };
                        r.emit(e, is_maximum)
                    };
                    if borders == Borders::Hardware {
                        return reduced(e);
                    }
                    let zero = e.u32(descriptor::Reduction::Average as u32);
                    let has_reduction = e.op(Op::INe, &[reduction, zero]);
                    let other = l.clone();
                    e.if_else(has_reduction, ty, reduced, |e| with_border(e, other))
                }
            },
            |_| own,
        ))
    }

    fn sample(&mut self, e: &mut Emit, i: Inst, image: Image) -> Step {
        let lod_bias = self.lod_bias;
        let tys: Vec<Type> = e.s.results(i).iter().map(|&r| e.s.ty(r)).collect();
        let mut l = ImageOp::new(e, i, image);
        let mut changed = false;
        if lod_bias && l.op != Op::TexGather && resource(e.s, l.args[1]).is_some() {
            changed = true;
            add_lod_bias(e, &mut l);
        }
        if image.dim == Dim::D1 {
            changed = true;
            // The middle of the only row.
            let half = e.f32(0.5);
            second(e, &mut l, half);
        }
        if image.dim == Dim::Cube && image.operands.contains(TexOperands::GRAD) {
            changed = true;
            if let Some(gradients) = l.take_gradients() {
                let lod = cube_level(e, l.args[0], &l.at[..3], gradients);
                l.put(TexOperands::LOD, lod);
            }
        }
        // A level that is given, and a least one.
        if l.image.operands.contains(TexOperands::LOD | TexOperands::MIN_LOD)
            && let (Some(least), Some(lod)) =
                (l.take(TexOperands::MIN_LOD), l.take(TexOperands::LOD))
        {
            changed = true;
            let lod = e.op(Op::FMax, &[lod, least]);
            l.put(TexOperands::LOD, lod);
        }
        let may_have_second = match l.op {
            Op::TexSample | Op::TexSampleLod => {
                self.borders != Borders::Hardware || self.reductions
            }
            Op::TexGather => self.borders != Borders::Hardware,
            _ => false,
        };
        let second = may_have_second
            && !l.image.operands.contains(TexOperands::DREF)
            && tys.len() == 1
            && resource(e.s, l.args[1]).is_some();
        if second && let Some(v) = self.with_second(e, l.clone(), tys[0]) {
            return Step::Replace(vec![v]);
        }
        if changed { Step::Replace(l.finish(e, &tys)) } else { Step::Keep }
    }
}

/// The components of a sampler's custom border colour that a sample shows.
fn border(e: &mut Emit, l: &ImageOp, ty: Type) -> Vec<Value> {
    (0..4)
        .map(|c| {
            let c = if l.op == Op::TexGather { u32::from(l.image.component) } else { c };
            let word = e.word(l.args[1], descriptor::BORDER_B + 4 * c);
            match (ty.bits(), l.image.kind) {
                (32, _) => word,
                (_, NumKind::Float) => e.convert(Op::F2F, word, ty.elem()),
                _ => e.convert(Op::U2U, word, ty.elem()),
            }
        })
        .collect()
}

/// A sample with a custom border colour: filtered texels are `zero + border * (one - zero)` of what the two samplers give; integers
/// are not filtered.
fn with_border(e: &mut Emit, mut l: ImageOp, second: Value, one: Value, ty: Type) -> Value {
    let image = l.image;
    let words = border(e, &l, ty);
    l.args[1] = second;
    let zero = l.finish(e, &[ty])[0];
    let (ones, zeros) = (e.split(one), e.split(zero));
    let parts: Vec<Value> = (0..ones.len())
        .map(|k| match image.kind {
            // Both samplers look at the same texels.
            _ if image.residency && k + 1 == ones.len() => ones[k],
            NumKind::Float => {
                let share = e.op(Op::FSub, &[ones[k], zeros[k]]);
                e.op(Op::FFma, &[words[k], share, zeros[k]])
            }
            _ => {
                let inside = e.op(Op::IEq, &[ones[k], zeros[k]]);
                e.select(inside, zeros[k], words[k])
            }
        })
        .collect();
    e.vec(&parts)
}

/// A sample with a border of opaque black for any format. `black` is of the sampler whose border has its 1 in the last channel in memory,
/// and that of `second` has a 1 in all channels: alpha is that of the latter, and of the colours the last channel in memory, where both are
/// equal although some of the sample is outside, loses the share of the border.
fn with_opaque_black(e: &mut Emit, mut l: ImageOp, second: Value, black: Value, ty: Type) -> Value {
    if l.image.kind != NumKind::Float {
        return black;
    }
    let component = l.image.component;
    let first = std::mem::replace(&mut l.args[1], second);
    let mut alpha = l.clone();
    let white = l.finish(e, &[ty])[0];
    let (blacks, whites) = (e.split(black), e.split(white));
    let texels = blacks.len() - usize::from(alpha.image.residency);
    let gathers = alpha.op == Op::TexGather;
    if gathers && component == 3 {
        return white;
    }
    // Shares of the border: of the sample, or of each texel of a gather.
    let differences: Vec<Value> =
        (0..texels).map(|k| e.op(Op::FSub, &[whites[k], blacks[k]])).collect();
    let shares: Vec<Value> = if gathers {
        alpha.image.component = 3;
        let white = alpha.clone().finish(e, &[ty])[0];
        alpha.args[1] = first;
        let black = alpha.finish(e, &[ty])[0];
        let (whites, blacks) = (e.split(white), e.split(black));
        (0..texels)
            .map(|k| {
                let other = e.op(Op::FSub, &[whites[k], blacks[k]]);
                e.op(Op::FMax, &[differences[k], other])
            })
            .collect()
    } else {
        let all = differences.iter().copied().reduce(|a, b| e.op(Op::FMax, &[a, b]));
        vec![all.unwrap_or(black); texels]
    };
    let zero = e.f32(0.0);
    let zero = e.convert(Op::F2F, zero, ty.elem());
    let mut parts = blacks.clone();
    for k in 0..texels {
        if !gathers && k == 3 {
            parts[k] = whites[k];
            continue;
        }
        let twice = e.op(Op::FAdd, &[differences[k], differences[k]]);
        let is_right = e.op(Op::FGe, &[twice, shares[k]]);
        let less = e.op(Op::FSub, &[blacks[k], shares[k]]);
        // Components that the format does not have are zero in both.
        let less = e.op(Op::FMax, &[less, zero]);
        parts[k] = e.select(is_right, blacks[k], less);
    }
    e.vec(&parts)
}
