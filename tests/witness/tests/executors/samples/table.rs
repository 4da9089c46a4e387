//! Sampled images: which operands each instruction takes on which image.
//!
//! source: SPIR-V specification, "Image Instructions" and "Image Operands"; Vulkan specification,
//! "Standalone SPIR-V Validation"

use rspirv::spirv::{ImageOperands as IO, Op as S};
use tepui_ir::interp::Compare;
use tepui_ir::{Dim, ImageFormat, NumKind};

use super::module::{Form, Image, Place, Writer};
use super::{Filtering, SHAPES, SampleTest, Shape, input, memory};

/// Instructions that are tested on sampled images.
const INSTRUCTIONS: [S; 20] = [
    S::ImageSampleImplicitLod,
    S::ImageSampleExplicitLod,
    S::ImageSampleDrefImplicitLod,
    S::ImageSampleDrefExplicitLod,
    S::ImageSampleProjImplicitLod,
    S::ImageSampleProjExplicitLod,
    S::ImageSampleProjDrefImplicitLod,
    S::ImageSampleProjDrefExplicitLod,
    S::ImageGather,
    S::ImageDrefGather,
    S::ImageFetch,
    S::ImageSparseSampleImplicitLod,
    S::ImageSparseSampleExplicitLod,
    S::ImageSparseSampleDrefImplicitLod,
    S::ImageSparseSampleDrefExplicitLod,
    S::ImageSparseFetch,
    S::ImageSparseGather,
    S::ImageSparseDrefGather,
    S::ImageQueryLod,
    S::ImageQuerySizeLod,
];

/// Properties of an instruction, from its name.
struct Kind {
    gather: bool,
    dref: bool,
    proj: bool,
    implicit: bool,
    fetch: bool,
    query: bool,
}

fn kind_of(op: S) -> Kind {
    let name = format!("{op:?}");
    let has = |part| name.contains(part);
    Kind {
        gather: has("Gather"),
        dref: has("Dref"),
        proj: has("Proj"),
        implicit: has("ImplicitLod"),
        fetch: has("Fetch"),
        query: has("Query"),
    }
}

/// Whether there is such an instruction on such an image of such texels.
fn exists(op: S, s: Shape, kind: NumKind) -> bool {
    let k = kind_of(op);
    // Multisampled images and texel buffers have neither filters nor levels.
    let plain = s.ms || s.dim == Dim::Buffer;
    if k.fetch {
        return s.dim != Dim::Cube;
    }
    if op == S::ImageQuerySizeLod {
        return true;
    }
    if plain || (k.dref && (s.dim == Dim::D3 || kind != NumKind::Float)) {
        return false;
    }
    if k.proj && (s.array || s.dim == Dim::Cube) {
        return false;
    }
    !k.gather || matches!(s.dim, Dim::D2 | Dim::Cube)
}

/// The filters that can make a difference to an instruction. Integers have nearest ones alone.
fn filterings(op: S, kind: NumKind) -> &'static [Filtering] {
    let k = kind_of(op);
    match kind == NumKind::Float && !(k.gather || k.fetch || k.query) {
        false => &[Filtering::Nearest],
        true if k.implicit => &[Filtering::Nearest, Filtering::Linear],
        true => &[Filtering::Nearest, Filtering::Linear, Filtering::Trilinear],
    }
}

/// The sets of optional operands of an instruction.
fn operand_sets(op: S, s: Shape) -> Vec<IO> {
    let k = kind_of(op);
    let mut offsets = vec![IO::NONE];
    if !matches!(s.dim, Dim::Cube | Dim::Buffer) {
        offsets.push(IO::CONST_OFFSET);
        if k.gather {
            offsets.extend([IO::OFFSET, IO::CONST_OFFSETS]);
        }
    }
    let levels = match () {
        () if k.gather || s.dim == Dim::Buffer => vec![IO::NONE],
        () if k.fetch && s.ms => vec![IO::SAMPLE],
        () if k.fetch => vec![IO::NONE, IO::LOD],
        () if k.implicit => vec![IO::NONE, IO::BIAS, IO::MIN_LOD, IO::BIAS | IO::MIN_LOD],
        () => vec![IO::LOD, IO::GRAD, IO::GRAD | IO::MIN_LOD],
    };
    let with = |l: IO| offsets.iter().map(move |&o| l | o).collect::<Vec<_>>();
    levels.into_iter().flat_map(with).collect()
}

fn module(seed: u64, s: Shape, kind: NumKind, op: S, filtering: Filtering) -> SampleTest {
    let k = kind_of(op);
    let mut w = Writer::new(Image { shape: s, kind, storage: None, depth: k.dref });
    if k.query {
        if s.ms || s.dim == Dim::Buffer {
            w.query(S::ImageQuerySize);
            if s.ms {
                w.query(S::ImageQuerySamples);
            }
        } else if op == S::ImageQueryLod {
            w.query_lod();
        } else {
            w.query(S::ImageQuerySizeLod);
            w.query(S::ImageQueryLevels);
        }
    }
    let sets = if k.query { Vec::new() } else { operand_sets(op, s) };
    // Gradients give levels of detail that are no multiples of 1/4.
    let exact = |o: &IO| filtering != Filtering::Trilinear || o.contains(IO::LOD);
    for operands in sets.into_iter().filter(exact) {
        let at = match k.fetch {
            true => w.place(Place::Any),
            false => w.coordinates(true, k.proj),
        };
        let sample = w.input(input::SAMPLE);
        let form = Form { op, operands };
        if k.dref {
            let reference = w.reference(k.proj);
            w.lookup(&form, at, Some(reference), &[]);
        } else if k.gather {
            for component in 0..4 {
                let component = w.component(component);
                w.lookup(&form, at, Some(component), &[]);
            }
        } else {
            w.lookup(&form, at, None, &[sample]);
        }
    }
    let format = match kind {
        NumKind::Float if k.dref => ImageFormat::R32f,
        NumKind::Float => ImageFormat::Rgba32f,
        NumKind::Sint => ImageFormat::Rgba32i,
        NumKind::Uint => ImageFormat::Rgba32ui,
    };
    let levels = if s.ms || s.dim == Dim::Buffer { 1 } else { 3 };
    let compare = k.dref.then_some(Compare::LessOrEqual);
    let (spirv, forms, derivatives) = w.finish();
    SampleTest {
        name: format!("{op:?} {} {kind}{}", s.name(), filtering.suffix()),
        spirv,
        start: memory(seed, s, (format, kind), levels, forms, compare, filtering),
        derivatives,
        sampled_residency: format!("{op:?}").contains("Sparse"),
        loose: op == S::ImageQueryLod,
        fillable: !s.ms,
    }
}

/// Every instruction on every image of every kind of texels, with every filter.
pub fn sampled() -> Vec<SampleTest> {
    let mut all = Vec::new();
    for s in SHAPES {
        for kind in [NumKind::Float, NumKind::Sint, NumKind::Uint] {
            for op in INSTRUCTIONS.into_iter().filter(|&op| exists(op, s, kind)) {
                for &filtering in filterings(op, kind) {
                    all.push(module(1000 + all.len() as u64, s, kind, op, filtering));
                }
            }
        }
    }
    all
}
