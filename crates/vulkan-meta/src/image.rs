//! Programs that convert texels: blits and resolves, and what programs of images share.

use tepui_ir::{
    Access, Attrs, Builtin, Dim, Image, ImageFormat, Interp, IoLoc, IoSlot, NumKind, Op, ResKind,
    Resource, Sampling, TexOperands, Type, Value,
};
use tepui_sysval::Field;
use tepui_vulkan_kit::MetaBuilder;

use crate::program::{Output, Resolve};
use crate::words::{BlitWords, ResolveWords};

/// A binding of set 0 as an image; two-dimensional ones are arrays.
pub fn image(
    m: &mut MetaBuilder<'_>,
    binding: u32,
    kind: ResKind,
    texels: NumKind,
    dim: Dim,
    ms: bool,
) -> Value {
    let r = m.ir.shader.resources.push(Resource {
        dim,
        array: dim == Dim::D2,
        ms,
        texels,
        ..Resource::new(kind, 0, binding)
    });
    let zero = m.ir.u32(0);
    m.ir.descriptor(r, zero, Access::default())
}

/// The attributes of an operation on an image of [`image`].
pub fn attrs(kind: NumKind, dim: Dim, ms: bool, operands: TexOperands) -> Attrs {
    Attrs::Image(Image {
        dim,
        array: dim == Dim::D2,
        ms,
        kind,
        operands,
        component: 0,
        residency: false,
        format: ImageFormat::Unknown,
        access: Access::default(),
    })
}

/// The location of an output or input.
pub fn slot(loc: IoLoc, component: u8, kind: NumKind) -> Attrs {
    Attrs::Io(IoSlot {
        loc,
        component,
        index: 0,
        kind,
        interp: Interp::Flat,
        sampling: Sampling::Center,
    })
}

/// Reads a texel of an array of layers; of a multisampled one, a sample.
pub fn fetch(
    m: &mut MetaBuilder<'_>,
    image: Value,
    kind: NumKind,
    at: Value,
    sample: Option<Value>,
) -> Value {
    let (operands, ms) = match sample {
        Some(_) => (TexOperands::SAMPLE, true),
        None => (TexOperands::LOD, false),
    };
    let operand = sample.unwrap_or_else(|| m.ir.u32(0));
    m.ir.value(
        Op::TexFetch,
        attrs(kind, Dim::D2, ms, operands),
        &[image, at, operand],
        Type::vec(32, 4),
    )
}

/// Stores a texel of an array of layers; of a multisampled one, a sample.
pub fn store(
    m: &mut MetaBuilder<'_>,
    image: Value,
    kind: NumKind,
    at: Value,
    sample: Option<Value>,
    texel: Value,
) {
    let operands = match sample {
        Some(_) => TexOperands::SAMPLE,
        None => TexOperands::empty(),
    };
    let mut all = vec![image, at, texel];
    all.extend(sample);
    m.ir.effect(Op::ImageStore, attrs(kind, Dim::D2, sample.is_some(), operands), &all);
}

/// Writes a fragment's colour, depth or stencil reference.
pub fn write_fragment(m: &mut MetaBuilder<'_>, output: Output, kind: NumKind, texel: Value) {
    let zero = m.ir.u32(0);
    let (loc, kind, value) = match output {
        Output::Depth => {
            (IoLoc::Builtin(Builtin::FragDepth), NumKind::Float, m.ir.extract(texel, 0))
        }
        Output::Stencil => {
            (IoLoc::Builtin(Builtin::FragStencilRef), NumKind::Uint, m.ir.extract(texel, 0))
        }
        Output::Colour | Output::Store => (IoLoc::Location(0), kind, texel),
    };
    m.ir.effect(Op::StoreOutput, slot(loc, 0, kind), &[value, zero]);
}

/// Numbers plus the words of a field.
pub fn plus<S>(m: &mut MetaBuilder<'_>, at: [Value; 3], first: Field<S, [u32; 3]>) -> [Value; 3] {
    [0, 1, 2].map(|k| {
        let first = m.word(first.at(k));
        m.op(Op::IAdd, at[k], first)
    })
}

/// Whether numbers are below the words of a field.
pub fn inside<S>(m: &mut MetaBuilder<'_>, at: [Value; 3], end: Field<S, [u32; 3]>) -> Value {
    let [x, y, z] = [0, 1, 2].map(|k| {
        let end = m.word(end.at(k));
        m.op(Op::ULt, at[k], end)
    });
    let xy = m.op(Op::IAnd, x, y);
    m.op(Op::IAnd, xy, z)
}

/// The place next to one whose column and row are below the words of a field.
pub(crate) fn nearest<S>(
    m: &mut MetaBuilder<'_>,
    [x, y, z]: [Value; 3],
    size: Field<S, [u32; 3]>,
) -> [Value; 3] {
    let one = m.ir.u32(1);
    // Columns and rows before the first are large numbers.
    let [x, y] = [(x, 0), (y, 1)].map(|(v, k)| {
        let end = m.word(size.at(k));
        let last = m.op(Op::ISub, end, one);
        m.op(Op::UMin, v, last)
    });
    [x, y, z]
}

/// The texel of an invocation, counted from the first that the program writes: column, row and layer.
pub struct Place {
    output: Output,
    at: [Value; 3],
}

impl Place {
    /// The place of a program whose destination begins where a field says.
    pub fn new<S>(m: &mut MetaBuilder<'_>, output: Output, first: Field<S, [u32; 3]>) -> Place {
        if output == Output::Store {
            return Place { output, at: m.id() };
        }
        let centre = m.ir.builtin(Builtin::FragCoord, Type::vec(32, 4));
        let [x, y] = [0, 1].map(|c| {
            let v = m.ir.extract(centre, c);
            let v = m.ir.convert(Op::F2U, v, 32);
            let first = m.word(first.at(c as usize));
            m.op(Op::ISub, v, first)
        });
        Place { output, at: [x, y, m.ir.builtin(Builtin::Layer, Type::B32)] }
    }

    /// Does something with the place if it is below the words of a field; fragments always are.
    pub fn when_inside<S>(
        self,
        m: &mut MetaBuilder<'_>,
        size: Field<S, [u32; 3]>,
        f: impl FnOnce(&mut MetaBuilder<'_>, [Value; 3]),
    ) {
        if self.output != Output::Store {
            return f(m, self.at);
        }
        let inside = inside(m, self.at, size);
        m.when(inside, |m| f(m, self.at));
    }
}

/// Stores a texel to the image at binding 1, or writes the fragment; `to` is the destination's first texel.
fn put<S>(
    m: &mut MetaBuilder<'_>,
    place: [Value; 3],
    to: Field<S, [u32; 3]>,
    sink: &Sink,
    texel: Value,
) {
    match sink.target {
        Some(target) => {
            let at = plus(m, place, to);
            let at = m.ir.vec(&at);
            store(m, target, sink.kind, at, None, texel);
        }
        None => write_fragment(m, sink.output, sink.kind, texel),
    }
}

/// Destination of converted texels.
struct Sink {
    output: Output,
    kind: NumKind,
    /// The storage image.
    target: Option<Value>,
}

impl Sink {
    fn new(m: &mut MetaBuilder<'_>, output: Output, kind: NumKind) -> Sink {
        let target = (output == Output::Store)
            .then(|| image(m, 1, ResKind::StorageImage, kind, Dim::D2, false));
        Sink { output, kind, target }
    }
}

/// Samples the source at the centre of each pixel of the destination.
pub(crate) fn blit(m: &mut MetaBuilder<'_>, kind: NumKind, volume: bool, output: Output) {
    let place = Place::new(m, output, BlitWords::TO);
    let dim = if volume { Dim::D3 } else { Dim::D2 };
    let source = image(m, 0, ResKind::CombinedTextureSampler, kind, dim, false);
    let sink = Sink::new(m, output, kind);
    place.when_inside(m, BlitWords::SIZE, |m, id| {
        let half = m.ir.f32(0.5);
        let mut coords: Vec<Value> = (0..if volume { 3 } else { 2 })
            .map(|k| {
                let f = m.ir.convert(Op::U2F, id[k], 32);
                let f = m.op(Op::FAdd, f, half);
                let scale = m.word(BlitWords::SCALE.at(k));
                let offset = m.word(BlitWords::OFFSET.at(k));
                let f = m.op(Op::FMul, f, scale);
                m.op(Op::FAdd, f, offset)
            })
            .collect();
        if !volume {
            let first = m.word(BlitWords::LAYER);
            let layer = m.op(Op::IAdd, id[2], first);
            coords.push(m.ir.convert(Op::U2F, layer, 32));
        }
        let at = m.ir.vec(&coords);
        let lod = m.ir.f32(0.0);
        let texel = m.ir.value(
            Op::TexSampleLod,
            attrs(kind, dim, false, TexOperands::LOD),
            &[source, source, at, lod],
            Type::vec(32, 4),
        );
        put(m, id, BlitWords::TO, &sink, texel);
    });
}

/// Reduces the samples of each pixel to one.
pub(crate) fn resolve(
    m: &mut MetaBuilder<'_>,
    kind: NumKind,
    samples: u8,
    how: Resolve,
    output: Output,
) {
    let place = Place::new(m, output, ResolveWords::TO);
    let source = image(m, 0, ResKind::Texture, kind, Dim::D2, true);
    let sink = Sink::new(m, output, kind);
    place.when_inside(m, ResolveWords::SIZE, |m, id| {
        let from = plus(m, id, ResolveWords::FROM);
        let from = m.ir.vec(&from);
        let texel = reduce(m, kind, samples, how, |m, n| {
            let sample = m.ir.u32(u32::from(n));
            fetch(m, source, kind, from, Some(sample))
        });
        put(m, id, ResolveWords::TO, &sink, texel);
    });
}

/// Reduces samples that `read` reads to one.
pub fn reduce(
    m: &mut MetaBuilder<'_>,
    kind: NumKind,
    samples: u8,
    how: Resolve,
    mut read: impl FnMut(&mut MetaBuilder<'_>, u8) -> Value,
) -> Value {
    let mut all = read(m, 0);
    if how == Resolve::First {
        return all;
    }
    for n in 1..samples {
        let next = read(m, n);
        let op = match (how, kind) {
            (Resolve::Min, NumKind::Float) => Op::FMin,
            (Resolve::Min, NumKind::Sint) => Op::SMin,
            (Resolve::Min, NumKind::Uint) => Op::UMin,
            (Resolve::Max, NumKind::Float) => Op::FMax,
            (Resolve::Max, NumKind::Sint) => Op::SMax,
            (Resolve::Max, NumKind::Uint) => Op::UMax,
            _ => Op::FAdd,
        };
        all = m.op(op, all, next);
    }
    if how == Resolve::Average {
        let share = m.ir.f32(1.0 / f32::from(samples));
        let share = m.ir.splat(share, 4);
        all = m.op(Op::FMul, all, share);
    }
    all
}
