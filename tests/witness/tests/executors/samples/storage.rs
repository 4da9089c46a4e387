//! Storage images: reads, writes, atomics and queries, of every format.

use rspirv::spirv::{ImageFormat as Written, ImageOperands as IO, Op as S};
use tepui_ir::{Dim, ImageFormat, NumKind};
use tepui_ir_gen::Rng;

use super::module::{Form, Image, Place, Writer};
use super::{Filtering, SHAPES, SampleTest, Shape, input, memory, shape};

/// The formats that Vulkan 1.3 lets a shader declare.
pub const FORMATS: [(ImageFormat, Written); 39] = [
    (ImageFormat::Rgba32f, Written::Rgba32f),
    (ImageFormat::Rgba16f, Written::Rgba16f),
    (ImageFormat::R32f, Written::R32f),
    (ImageFormat::Rgba8, Written::Rgba8),
    (ImageFormat::Rgba8Snorm, Written::Rgba8Snorm),
    (ImageFormat::Rg32f, Written::Rg32f),
    (ImageFormat::Rg16f, Written::Rg16f),
    (ImageFormat::R11fG11fB10f, Written::R11fG11fB10f),
    (ImageFormat::R16f, Written::R16f),
    (ImageFormat::Rgba16, Written::Rgba16),
    (ImageFormat::Rgb10A2, Written::Rgb10A2),
    (ImageFormat::Rg16, Written::Rg16),
    (ImageFormat::Rg8, Written::Rg8),
    (ImageFormat::R16, Written::R16),
    (ImageFormat::R8, Written::R8),
    (ImageFormat::Rgba16Snorm, Written::Rgba16Snorm),
    (ImageFormat::Rg16Snorm, Written::Rg16Snorm),
    (ImageFormat::Rg8Snorm, Written::Rg8Snorm),
    (ImageFormat::R16Snorm, Written::R16Snorm),
    (ImageFormat::R8Snorm, Written::R8Snorm),
    (ImageFormat::Rgba32i, Written::Rgba32i),
    (ImageFormat::Rgba16i, Written::Rgba16i),
    (ImageFormat::Rgba8i, Written::Rgba8i),
    (ImageFormat::R32i, Written::R32i),
    (ImageFormat::Rg32i, Written::Rg32i),
    (ImageFormat::Rg16i, Written::Rg16i),
    (ImageFormat::Rg8i, Written::Rg8i),
    (ImageFormat::R16i, Written::R16i),
    (ImageFormat::R8i, Written::R8i),
    (ImageFormat::Rgba32ui, Written::Rgba32ui),
    (ImageFormat::Rgba16ui, Written::Rgba16ui),
    (ImageFormat::Rgba8ui, Written::Rgba8ui),
    (ImageFormat::R32ui, Written::R32ui),
    (ImageFormat::Rgb10A2ui, Written::Rgb10a2ui),
    (ImageFormat::Rg32ui, Written::Rg32ui),
    (ImageFormat::Rg16ui, Written::Rg16ui),
    (ImageFormat::Rg8ui, Written::Rg8ui),
    (ImageFormat::R16ui, Written::R16ui),
    (ImageFormat::R8ui, Written::R8ui),
];

/// Numeric type of a format's texels.
pub fn kind(format: ImageFormat) -> NumKind {
    match format.name() {
        n if n.ends_with("ui") => NumKind::Uint,
        n if n.ends_with('i') => NumKind::Sint,
        _ => NumKind::Float,
    }
}

/// A random texel that the format keeps as it is; zero in channels that it does not have, one in
/// alpha.
pub fn texel(rng: &mut Rng, format: ImageFormat, kind: NumKind) -> [u64; 4] {
    let name = format.name();
    let channels = name.find(|c: char| c.is_ascii_digit()).map_or(4, |n| n.clamp(1, 4));
    // The odd names: three channels, and two bits of alpha.
    let (channels, narrow) = match format {
        ImageFormat::R11fG11fB10f => (3, false),
        ImageFormat::Rgb10A2 | ImageFormat::Rgb10A2ui => (4, true),
        _ => (channels, false),
    };
    let wide = name.contains("32") || name.contains("16");
    let ten = matches!(format, ImageFormat::Rgb10A2 | ImageFormat::Rgb10A2ui);
    std::array::from_fn(|c| {
        let float = |x: f32| u64::from(x.to_bits());
        if c >= channels {
            return match (c, kind) {
                (3, NumKind::Float) => float(1.0),
                (3, _) => 1,
                _ => 0,
            };
        }
        let most = match (narrow && c == 3, ten, wide) {
            (true, ..) => 3,
            (_, true, _) => 1023,
            (.., true) => 65535,
            _ => 255,
        };
        let fixed = kind == NumKind::Float && !name.contains('f');
        match kind {
            NumKind::Uint => rng.below(most + 1) as u64,
            NumKind::Sint => u64::from((rng.below(most + 1) as i32 - (most / 2) as i32 - 1) as u32),
            NumKind::Float if fixed && name.ends_with("snorm") => {
                let half = (most / 2) as f32;
                float((rng.below(most) as f32 - half) / half)
            }
            NumKind::Float if fixed => float(rng.below(most + 1) as f32 / most as f32),
            NumKind::Float => float(rng.below(65) as f32 / 64.0),
        }
    })
}

const ATOMICS: [S; 14] = [
    S::AtomicIAdd,
    S::AtomicISub,
    S::AtomicIIncrement,
    S::AtomicIDecrement,
    S::AtomicSMin,
    S::AtomicUMin,
    S::AtomicSMax,
    S::AtomicUMax,
    S::AtomicAnd,
    S::AtomicOr,
    S::AtomicXor,
    S::AtomicExchange,
    S::AtomicCompareExchange,
    S::AtomicLoad,
];

/// Operation of a module on the lane's own texel.
#[derive(Clone, Copy, PartialEq)]
enum Use {
    Read,
    SparseRead,
    Write,
    Atomics,
}

fn module(
    seed: u64,
    s: Shape,
    format: (ImageFormat, Written),
    declared: bool,
    what: Use,
) -> SampleTest {
    let kind = kind(format.0);
    let written = if declared { format.1 } else { Written::Unknown };
    let image = Image { shape: s, kind, storage: Some(written), depth: false };
    let mut w = Writer::new(image);
    let ms = if s.ms { IO::SAMPLE } else { IO::NONE };
    let own = matches!(what, Use::Write | Use::Atomics);
    let at = w.place(if own { Place::Own } else { Place::Any });
    let sample = w.input(if own { input::OWN_SAMPLE } else { input::SAMPLE });
    match what {
        Use::Read | Use::SparseRead => {
            let op = if what == Use::Read { S::ImageRead } else { S::ImageSparseRead };
            w.lookup(&Form { op, operands: ms }, at, None, &[sample]);
            w.query(S::ImageQuerySize);
            if s.ms {
                w.query(S::ImageQuerySamples);
            }
        }
        Use::Write => w.image_write(at, ms, sample),
        Use::Atomics => {
            for op in ATOMICS {
                w.atomic(op, at, sample);
            }
            w.atomic(S::AtomicStore, at, sample);
        }
    }
    let verb = match what {
        Use::Read => "ImageRead",
        Use::SparseRead => "ImageSparseRead",
        Use::Write => "ImageWrite",
        Use::Atomics => "atomics",
    };
    let how = if declared { "" } else { ", not declared" };
    let (spirv, forms, derivatives) = w.finish();
    SampleTest {
        name: format!("{verb} {} {}{how}", s.name(), format.0),
        spirv,
        start: memory(seed, s, (format.0, kind), 1, forms, None, Filtering::Nearest),
        derivatives,
        sampled_residency: false,
        // Fixed-point numbers are quotients.
        loose: kind == NumKind::Float,
        fillable: !s.ms,
    }
}

/// Every use of every shape, and of every format.
pub fn all() -> Vec<SampleTest> {
    let mut all = Vec::new();
    let of = |f: ImageFormat| FORMATS.into_iter().find(|x| x.0 == f);
    let by_kind = [ImageFormat::Rgba32f, ImageFormat::Rgba32i, ImageFormat::Rgba32ui];
    for s in SHAPES {
        for (format, declared) in
            by_kind.into_iter().filter_map(of).flat_map(|f| [(f, true), (f, false)])
        {
            for what in [Use::Read, Use::SparseRead, Use::Write] {
                all.push(module(all.len() as u64, s, format, declared, what));
            }
        }
        for format in [ImageFormat::R32i, ImageFormat::R32ui].into_iter().filter_map(of) {
            all.push(module(all.len() as u64, s, format, true, Use::Atomics));
        }
    }
    for s in [shape(Dim::D2, false, false), shape(Dim::Buffer, false, false)] {
        for format in FORMATS {
            for declared in [true, false] {
                for what in [Use::Read, Use::Write] {
                    all.push(module(all.len() as u64, s, format, declared, what));
                }
            }
        }
    }
    all
}
