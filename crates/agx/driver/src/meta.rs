//! The driver's own programs: copies, fills, blits, resolves and clears, as shaders from the IR builder.
//!
//! Copies of images read and write memory at addresses that the program computes from the layout, so that every format, compressed
//! blocks and several samples among them, takes one path. Images with lossless compression are read through the texture unit
//! instead, and their tiles opened before they are written ([`compression`]). Blits and resolves go through the texture unit and
//! the pixel back end, which convert.

pub mod compression;
mod pixels;
pub mod program;

use std::sync::Arc;

use tepui_agx_compiler::abi::spilled;
use tepui_ir::{
    Access, Attrs, Builtin, Dim, Image, ImageFormat, Interp, IoLoc, IoSlot, NumKind, Op, ResKind,
    Resource, Sampling, Shader as Ir, Stage, TexOperands, Type, Value,
};
use tepui_vulkan::Result;
use tepui_vulkan_kit::MetaBuilder;

use crate::caches::Meta;
use crate::device::Device;
use crate::family::LANES;
use crate::kernel::lock;
use crate::recipe::Places;
use crate::shader::{Linking, Origin, Shader};
use pixels::Pixels as _;
pub use program::{Program, Resolve};

impl Device {
    /// A program of the driver's own.
    ///
    /// # Errors
    /// When it does not compile, which is a mistake.
    pub fn meta(self: &Arc<Self>, p: impl Into<Program>) -> Result<Arc<Shader>> {
        let p = p.into();
        let meta = self.meta.get_or_init(Meta::default);
        if let Some(s) = lock(&meta.0).get(&p) {
            return Ok(s.clone());
        }
        let shader = Arc::new(Shader::new(
            &Arc::downgrade(self),
            build(p),
            Places::rows(2),
            false,
            Origin::default(),
            Linking::Whole,
        )?);
        Ok(lock(&meta.0).entry(p).or_insert(shader).clone())
    }

    /// A fragment shader that does nothing.
    ///
    /// # Errors
    /// As [`Device::meta`].
    pub fn empty_fragment(self: &Arc<Self>) -> Result<Arc<Shader>> {
        self.meta(Program::Nothing)
    }
}

fn attrs(kind: NumKind, dim: Dim, ms: bool, operands: TexOperands) -> Attrs {
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

/// Words of a side of a copy.
pub const SIDE_WORDS: u32 = 10;

/// Threads of a workgroup of programs that work on rectangles.
pub const RECTANGLE: [u32; 3] = [8, 4, 1];

fn build(p: Program) -> Ir {
    let stage = match p {
        Program::Expand(p) => return p.build(LANES),
        Program::ClearVertices => Stage::Vertex,
        Program::ClearFragments(..) | Program::ResolveTile { .. } | Program::Nothing => {
            Stage::Fragment
        }
        _ => Stage::Compute,
    };
    let mut s = Ir::new(stage);
    s.info.workgroup_size = match p {
        Program::Copy { .. }
        | Program::Read { .. }
        | Program::Mark
        | Program::Blit { .. }
        | Program::Resolve { .. } => RECTANGLE,
        Program::Word => [1; 3],
        _ => [LANES, 1, 1],
    };
    let mut m = MetaBuilder::new(&mut s, LANES);
    match p {
        Program::Copy { unit, units, from_tiled, to_tiled } => {
            copy(&mut m, unit, units, from_tiled, to_tiled)
        }
        Program::Read { packing, samples, to_tiled } => {
            compression::read(&mut m, &packing, samples, to_tiled)
        }
        Program::Open { packing, samples } => compression::open(&mut m, &packing, samples),
        Program::Mark => compression::mark(&mut m),
        Program::Fill => {
            let [x, ..] = m.id();
            let (base, count, word) = (m.driver_long(0), m.driver(2), m.driver(3));
            let inside = m.op(Op::ULt, x, count);
            m.when(inside, |m| {
                let x = m.long(x);
                let at = m.shl(x, 2);
                let at = m.op(Op::IAdd, base, at);
                m.store(at, word, 0);
            });
        }
        Program::Word => {
            let (at, word) = (m.driver_long(0), m.driver(2));
            m.store(at, word, 0);
        }
        Program::Count(words) => copy_elements(
            &mut m,
            words,
            |m, x, count| {
                let n = m.load(count, Type::B32, 0);
                m.op(Op::ULt, x, n)
            },
            |k| k == 1,
        ),
        Program::Condition(words) => copy_elements(
            &mut m,
            words,
            |m, _, word| {
                let (zero, inverted) = (m.ir.u32(0), m.driver(8));
                let v = m.load(word, Type::B32, 0);
                let is_set = m.op(Op::INe, v, zero);
                let inverts = m.op(Op::INe, inverted, zero);
                m.op(Op::IXor, is_set, inverts)
            },
            |_| true,
        ),
        Program::Blit { kind, deep } => blit(&mut m, kind, deep),
        Program::Resolve { kind, samples, how } => resolve(&mut m, kind, samples, how),
        Program::Queries { values, wide, availability, partial } => {
            queries(&mut m, i32::from(values), wide, availability, partial)
        }
        Program::ClearVertices => clear_vertices(&mut m),
        Program::ClearFragments(colours, integers) => clear_fragments(&mut m, colours, integers),
        Program::ResolveTile { averaged, first, integers, samples } => {
            resolve_tile(&mut m, averaged, first, integers, samples)
        }
        Program::Expand(_) | Program::Nothing => {}
    }
    m.ir.yield_(&[]);
    s
}

/// Copies elements of `words` words. If `keeps` is false for an element's number and the condition's
/// address, the words that `cleared` selects become zeros. Words: source, destination, address of the
/// condition, stride of the source, elements.
fn copy_elements(
    m: &mut MetaBuilder<'_>,
    words: u8,
    keeps: impl FnOnce(&mut MetaBuilder<'_>, Value, Value) -> Value,
    cleared: impl Fn(i32) -> bool,
) {
    let [x, ..] = m.id();
    let (from, to, decides) = (m.driver_long(0), m.driver_long(2), m.driver_long(4));
    let (stride, most) = (m.driver(6), m.driver(7));
    let inside = m.op(Op::ULt, x, most);
    m.when(inside, |m| {
        let kept = keeps(m, x, decides);
        let (i, stride) = (m.long(x), m.long(stride));
        let a = m.op(Op::IMul, i, stride);
        let a = m.op(Op::IAdd, from, a);
        let own = m.ir.u64(u64::from(words) * 4);
        let b = m.op(Op::IMul, i, own);
        let b = m.op(Op::IAdd, to, b);
        let zero = m.ir.u32(0);
        for k in 0..i32::from(words) {
            let v = m.load(a, Type::B32, 4 * k);
            let v = if cleared(k) { m.ir.select(kept, v, zero) } else { v };
            m.store(b, v, 4 * k);
        }
    });
}

/// Words: source side, destination side, width, height and depth in elements.
fn copy(m: &mut MetaBuilder<'_>, unit: u8, units: u8, from_tiled: bool, to_tiled: bool) {
    let at = m.id();
    let mut inside = None;
    for k in 0..3 {
        let most = m.driver(2 * SIDE_WORDS + k);
        let below = m.op(Op::ULt, at[k as usize], most);
        inside = Some(inside.map_or(below, |i| m.op(Op::IAnd, i, below)));
    }
    let Some(inside) = inside else { return };
    m.when(inside, |m| {
        let element = u32::from(unit) * u32::from(units);
        let a = m.place(0, from_tiled, element, at);
        let b = m.place(SIDE_WORDS, to_tiled, element, at);
        let ty = match unit {
            1 => Type::vec(8, 1),
            2 => Type::vec(16, 1),
            4 => Type::B32,
            8 => Type::vec(32, 2),
            _ => Type::vec(32, 4),
        };
        for k in 0..i32::from(units) {
            let v = m.load(a, ty, i32::from(unit) * k);
            m.store(b, v, i32::from(unit) * k);
        }
    });
}

/// Words: 0 to 2 first pixel and layer of the destination, 3 to 5 its size, 6 to 8 scales, 9 to 11 offsets in source coordinates
/// (normalised), 12 first layer of the source, 13 to 15 bits of smallest and largest coordinates are left to the sampler.
fn blit(m: &mut MetaBuilder<'_>, kind: NumKind, deep: bool) {
    let id = m.id();
    let mut inside = None;
    for k in 0..3 {
        let most = m.driver(3 + k);
        let below = m.op(Op::ULt, id[k as usize], most);
        inside = Some(inside.map_or(below, |i| m.op(Op::IAnd, i, below)));
    }
    let Some(inside) = inside else { return };
    let image = m.image(
        0,
        ResKind::CombinedTextureSampler,
        kind,
        if deep { Dim::D3 } else { Dim::D2 },
        false,
    );
    let target = m.image(1, ResKind::StorageImage, kind, Dim::D2, false);
    m.when(inside, |m| {
        let half = m.ir.f32(0.5);
        let mut coords: Vec<Value> = (0..if deep { 3 } else { 2 })
            .map(|k| {
                let f = m.ir.convert(Op::U2F, id[k as usize], 32);
                let f = m.op(Op::FAdd, f, half);
                let (scale, offset) = (m.driver(6 + k), m.driver(9 + k));
                let f = m.op(Op::FMul, f, scale);
                m.op(Op::FAdd, f, offset)
            })
            .collect();
        if !deep {
            let first = m.driver(12);
            let layer = m.op(Op::IAdd, id[2], first);
            coords.push(m.ir.convert(Op::U2F, layer, 32));
        }
        let at = m.ir.vec(&coords);
        let lod = m.ir.f32(0.0);
        let dim = if deep { Dim::D3 } else { Dim::D2 };
        let texel = m.ir.value(
            Op::TexSampleLod,
            attrs(kind, dim, false, TexOperands::LOD),
            &[image, image, at, lod],
            Type::vec(32, 4),
        );
        let to: Vec<Value> = (0..3)
            .map(|k| {
                let first = m.driver(k);
                m.op(Op::IAdd, id[k as usize], first)
            })
            .collect();
        let to = m.ir.vec(&to);
        m.ir.effect(
            Op::ImageStore,
            attrs(kind, Dim::D2, false, TexOperands::empty()),
            &[target, to, texel],
        );
    });
}

/// Words: 0 to 2 first pixel and layer of the source, 3 to 5 of the destination, 6 to 8 the size.
fn resolve(m: &mut MetaBuilder<'_>, kind: NumKind, samples: u8, how: Resolve) {
    let id = m.id();
    let mut inside = None;
    for k in 0..3 {
        let most = m.driver(6 + k);
        let below = m.op(Op::ULt, id[k as usize], most);
        inside = Some(inside.map_or(below, |i| m.op(Op::IAnd, i, below)));
    }
    let Some(inside) = inside else { return };
    let image = m.image(0, ResKind::Texture, kind, Dim::D2, true);
    let target = m.image(1, ResKind::StorageImage, kind, Dim::D2, false);
    m.when(inside, |m| {
        let place = |m: &mut MetaBuilder<'_>, first: u32| {
            let all: Vec<Value> = (0..3)
                .map(|k| {
                    let f = m.driver(first + k);
                    m.op(Op::IAdd, id[k as usize], f)
                })
                .collect();
            m.ir.vec(&all)
        };
        let (from, to) = (place(m, 0), place(m, 3));
        let fetch = |m: &mut MetaBuilder<'_>, n: u8| {
            let sample = m.ir.u32(u32::from(n));
            m.ir.value(
                Op::TexFetch,
                attrs(kind, Dim::D2, true, TexOperands::SAMPLE),
                &[image, from, sample],
                Type::vec(32, 4),
            )
        };
        let mut all = fetch(m, 0);
        if how != Resolve::First {
            for n in 1..samples {
                let next = fetch(m, n);
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
        }
        m.ir.effect(
            Op::ImageStore,
            attrs(kind, Dim::D2, false, TexOperands::empty()),
            &[target, to, all],
        );
    });
}

/// Words: 0 results, 2 availability, 4 destination, 6 stride (2), 8 count. Results and availability are 64 bits each.
fn queries(m: &mut MetaBuilder<'_>, values: i32, wide: bool, availability: bool, partial: bool) {
    let [x, ..] = m.id();
    let count = m.driver(8);
    let inside = m.op(Op::ULt, x, count);
    let (results, ready, to, stride) =
        (m.driver_long(0), m.driver_long(2), m.driver_long(4), m.driver_long(6));
    m.when(inside, |m| {
        let i = m.long(x);
        let own = m.ir.u64(8 * values as u64);
        let (at, flag) = (m.op(Op::IMul, i, own), m.shl(i, 3));
        let (from, flag) = (m.op(Op::IAdd, results, at), m.op(Op::IAdd, ready, flag));
        let row = m.op(Op::IMul, i, stride);
        let to = m.op(Op::IAdd, to, row);
        let ty = if wide { Type::vec(32, 2) } else { Type::B32 };
        let step = if wide { 8 } else { 4 };
        let available = m.load(flag, Type::B32, 0);
        let zero = m.ir.u32(0);
        let yes = m.op(Op::INe, available, zero);
        let copy = |m: &mut MetaBuilder<'_>| {
            for k in 0..values {
                let v = m.load(from, ty, 8 * k);
                m.store(to, v, step * k);
            }
        };
        if partial {
            copy(m);
        } else {
            m.when(yes, copy);
        }
        if availability {
            let one = m.ir.u32(1);
            let flag = m.ir.select(yes, one, zero);
            let v = if wide { m.ir.vec(&[flag, zero]) } else { flag };
            m.store(to, v, step * values);
        }
    });
}

fn slot(loc: IoLoc, component: u8, kind: NumKind) -> Attrs {
    Attrs::Io(IoSlot {
        loc,
        component,
        index: 0,
        kind,
        interp: Interp::Flat,
        sampling: Sampling::Center,
    })
}

/// Words: 32 to 35 left, top, right and bottom in clip space, 36 depth, 37 first layer. A strip of four vertices for each layer.
fn clear_vertices(m: &mut MetaBuilder<'_>) {
    let n = m.ir.builtin(Builtin::VertexIndex, Type::B32);
    let layer = m.ir.builtin(Builtin::InstanceIndex, Type::B32);
    let (one, two, zero) = (m.ir.u32(1), m.ir.u32(2), m.ir.u32(0));
    let pick = |m: &mut MetaBuilder<'_>, bit: Value, low: u32, high: u32| {
        let b = m.op(Op::IAnd, n, bit);
        let set = m.op(Op::INe, b, zero);
        let (l, h) = (m.driver(low), m.driver(high));
        m.ir.select(set, h, l)
    };
    let (x, y) = (pick(m, one, 32, 34), pick(m, two, 33, 35));
    let (z, w) = (m.driver(36), m.ir.f32(1.0));
    let position = m.ir.vec(&[x, y, z, w]);
    m.ir.effect(
        Op::StoreOutput,
        slot(IoLoc::Builtin(Builtin::Position), 0, NumKind::Float),
        &[position, zero],
    );
    let first = m.driver(37);
    let layer = m.op(Op::IAdd, layer, first);
    m.ir.effect(
        Op::StoreOutput,
        slot(IoLoc::Builtin(Builtin::Layer), 0, NumKind::Uint),
        &[layer, zero],
    );
}

/// Resolves colours in the tile to images in the bindings after those of the render targets.
fn resolve_tile(m: &mut MetaBuilder<'_>, averaged: u8, first: u8, integers: u8, samples: u8) {
    let zero = m.ir.u32(0);
    let place = m.ir.builtin(Builtin::FragCoord, Type::vec(32, 4));
    let mut at = [0, 1]
        .map(|c| {
            let v = m.ir.extract(place, c);
            m.ir.convert(Op::F2U, v, 32)
        })
        .to_vec();
    at.push(m.ir.builtin(Builtin::Layer, Type::B32));
    let at = m.ir.vec(&at);
    for k in (0..8u16).filter(|k| (averaged | first) >> k & 1 != 0) {
        let kind = if integers >> k & 1 != 0 { NumKind::Uint } else { NumKind::Float };
        let load = |m: &mut MetaBuilder<'_>, n: u8| {
            let n = m.ir.u32(u32::from(n));
            let slot = slot(IoLoc::Location(k), 0, kind);
            m.ir.value(Op::LoadOutputSample, slot, &[n], Type::vec(32, 4))
        };
        let mut colour = load(m, 0);
        if averaged >> k & 1 != 0 {
            for n in 1..samples {
                let next = load(m, n);
                colour = m.op(Op::FAdd, colour, next);
            }
            let share = m.ir.f32(1.0 / f32::from(samples));
            let share = m.ir.splat(share, 4);
            colour = m.op(Op::FMul, colour, share);
        }
        let r = m.ir.shader.resources.push(Resource {
            dim: Dim::D2,
            array: true,
            texels: kind,
            ..Resource::new(ResKind::StorageImage, spilled::SET, spilled::OWN + u32::from(k))
        });
        let image = m.ir.descriptor(r, zero, Access::default());
        let attrs = attrs(kind, Dim::D2, false, TexOperands::empty());
        m.ir.effect(Op::ImageStore, attrs, &[image, at, colour]);
    }
}

/// Words: colour n at 4 n.
fn clear_fragments(m: &mut MetaBuilder<'_>, colours: u8, integers: u8) {
    let zero = m.ir.u32(0);
    for k in (0..8u32).filter(|k| colours >> k & 1 != 0) {
        let words: Vec<Value> = (0..4).map(|c| m.driver(4 * k + c)).collect();
        let colour = m.ir.vec(&words);
        let kind = if integers >> k & 1 != 0 { NumKind::Uint } else { NumKind::Float };
        m.ir.effect(Op::StoreOutput, slot(IoLoc::Location(k as u16), 0, kind), &[colour, zero]);
    }
}
