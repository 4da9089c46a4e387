//! The short way for images that lie in one piece against the general way, which reads texel by
//! texel where memory gives no window: both must have the same bits.

#![allow(clippy::needless_range_loop, reason = "lanes are counted")]

mod common;

use common::{Flat, Make, Picture, Random, sampler};
use tepui_agx_layout::{Tiling, compression::TILE_METADATA_B};
use tepui_agx_packets::sampler::{BorderColour, CompareFunc, Filter, MipFilter, Wrap};
use tepui_agx_packets::texture::{Channel, Channels, TextureDimension, TextureType};
use tepui_agx_texture::{Kind, LANES, LodSource, Operands, Request, SamplerState, Unit, format_of};

const FORMATS: [(Channels, TextureType, bool); 24] = [
    (Channels::R8, TextureType::Unorm, false),
    (Channels::R8G8, TextureType::Unorm, false),
    (Channels::R8G8B8A8, TextureType::Unorm, false),
    (Channels::R8G8B8A8, TextureType::Unorm, true),
    (Channels::R8G8B8A8, TextureType::Snorm, false),
    (Channels::R8G8B8A8, TextureType::Uint, false),
    (Channels::R8G8B8A8, TextureType::Sint, false),
    (Channels::R16, TextureType::Unorm, false),
    (Channels::R16G16, TextureType::Float, false),
    (Channels::R16G16B16A16, TextureType::Float, false),
    (Channels::R16G16B16A16, TextureType::Unorm, false),
    (Channels::R32, TextureType::Float, false),
    (Channels::R32, TextureType::Uint, false),
    (Channels::R32G32B32A32, TextureType::Float, false),
    (Channels::R10G10B10A2, TextureType::Unorm, false),
    (Channels::R11G11B10, TextureType::Float, false),
    (Channels::R5G6B5, TextureType::Unorm, false),
    (Channels::Bc1, TextureType::Unorm, true),
    (Channels::Bc3, TextureType::Unorm, false),
    (Channels::Bc4, TextureType::Unorm, false),
    (Channels::Bc4, TextureType::Snorm, false),
    (Channels::Bc5, TextureType::Unorm, false),
    (Channels::EacR11, TextureType::Unorm, false),
    (Channels::Astc5x4, TextureType::Unorm, false),
];

const SOURCES: [Channel; 6] =
    [Channel::R, Channel::G, Channel::B, Channel::A, Channel::One, Channel::Zero];

const WRAPS: [Wrap; 6] = [
    Wrap::ClampToEdge,
    Wrap::Repeat,
    Wrap::MirroredRepeat,
    Wrap::MirroredClampToEdge,
    Wrap::ClampToBorder,
    Wrap::ClampGl,
];

fn pick<T: Copy>(random: &mut Random, of: &[T]) -> T {
    of[random.below(of.len() as u32) as usize]
}

fn any_make(random: &mut Random) -> Make {
    let (channels, type_, srgb) = pick(random, &FORMATS);
    let mut tiling = pick(random, &[Tiling::Linear, Tiling::Twiddled, Tiling::Compressed]);
    let is_of_blocks = format_of(channels, type_, srgb).unwrap().info().is_compressed();
    if is_of_blocks {
        tiling = Tiling::Twiddled;
    }
    let dimensions = [
        TextureDimension::D2,
        TextureDimension::D2,
        TextureDimension::D2Array,
        TextureDimension::Cube,
        TextureDimension::D1,
        TextureDimension::D3,
    ];
    let mut dimension = pick(random, &dimensions);
    if tiling != Tiling::Twiddled && dimension != TextureDimension::D2Array {
        dimension = TextureDimension::D2;
    }
    if is_of_blocks && matches!(dimension, TextureDimension::D1 | TextureDimension::D3) {
        dimension = TextureDimension::Cube;
    }
    let mut size = [1 + random.below(150), 1 + random.below(150), 1];
    match dimension {
        TextureDimension::Cube => size[1] = size[0],
        TextureDimension::D1 => size[1] = 1,
        TextureDimension::D3 => size[2] = 1 + random.below(9),
        _ => {}
    }
    if tiling == Tiling::Compressed {
        size = size.map(|s| s.max(16));
        size[2] = 1;
    }
    let full = size[0].max(size[1]).max(size[2]).ilog2() + 1;
    Make {
        channels,
        type_,
        srgb,
        dimension,
        tiling,
        size,
        layers: if dimension == TextureDimension::D2Array { 1 + random.below(3) } else { 1 },
        levels: if tiling == Tiling::Linear { 1 } else { pick(random, &[1, full]) },
        samples: 1,
    }
}

/// Coordinates of neighbours, of strangers, and numbers that are none.
fn coordinates(random: &mut Random, scale: f32) -> [f32; LANES] {
    let odd =
        [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e30, -1e30, 4e9, -0.0, -1e-30, 1.0, 0.5];
    let (start, step) = (random.range(-1.5, 1.5), random.range(-0.02, 0.02));
    let wild = random.below(3);
    std::array::from_fn(|i| {
        let near = start + step * (i as f32);
        let value = match wild {
            0 => near,
            1 if random.below(8) == 0 => pick(random, &odd),
            1 => near,
            _ => random.range(-3.0, 3.0),
        };
        value * scale
    })
}

fn any_sampler(random: &mut Random) -> (SamplerState, bool) {
    let pixel = random.below(8) == 0;
    let wraps: [Wrap; 3] = std::array::from_fn(|_| pick(random, &WRAPS));
    let filters = [Filter::Nearest, Filter::Linear, Filter::Linear];
    let mips = [MipFilter::None, MipFilter::Nearest, MipFilter::Linear];
    let state = sampler(|s| {
        s.magnify = pick(random, &filters);
        s.minify = pick(random, &filters);
        s.mip_filter = pick(random, &mips);
        [s.wrap_s, s.wrap_t, s.wrap_r] = wraps;
        s.maximum_anisotropy = pick(random, &[1, 1, 1, 4]);
        s.pixel_coordinates = pixel;
        s.compare_func = pick(random, &[CompareFunc::Lequal, CompareFunc::Greater]);
        s.border_colour = pick(random, &[BorderColour::OpaqueWhite, BorderColour::OpaqueBlack]);
        s.seamful_cube_maps = random.below(2) == 0;
    });
    (state, pixel)
}

/// Makes some tiles, or all, solid and some unknown.
fn spoil(picture: &Picture, memory: &mut Flat, random: &mut Random) {
    let Some(metadata) = &picture.layout.metadata else { return };
    let solid = match picture.format.info().block.bytes {
        1 => 0x60,
        2 => 0x01,
        4 => 0x03,
        _ => 0x07,
    };
    let start = metadata.offset_B as usize;
    let all = random.below(3) == 0;
    for tile in memory.bytes[start..].chunks_exact_mut(TILE_METADATA_B as usize) {
        match if all { 0 } else { random.below(12) } {
            0 => tile.fill(solid),
            1 => tile.fill(0xee),
            _ => {}
        }
    }
}

#[test]
fn both_ways_have_the_same_bits() {
    let mut random = Random(0x7ab1e);
    let (mut unit, mut other) = (Unit::default(), Unit::default());
    for case in 0..5000 {
        let make = any_make(&mut random);
        assert!(format_of(make.channels, make.type_, make.srgb).is_ok());
        let mut picture = Picture::new(&make);
        if random.below(4) == 0 {
            let swizzle = &mut picture.texture;
            swizzle.swizzle_r = pick(&mut random, &SOURCES);
            swizzle.swizzle_g = pick(&mut random, &SOURCES);
            swizzle.swizzle_a = pick(&mut random, &SOURCES);
        }
        let mut memory = picture.noise(case);
        if random.below(4) == 0 {
            spoil(&picture, &mut memory, &mut random);
        }
        let (state, pixel) = any_sampler(&mut random);
        let is_load = make.dimension != TextureDimension::Cube && random.below(3) == 0;
        let kind = match (is_load, random.below(8)) {
            (true, _) => Kind::Load,
            (false, 0) if make.dimension != TextureDimension::D3 => Kind::Gather { component: 1 },
            _ => Kind::Sample,
        };
        let lods = [LodSource::Auto, LodSource::Level, LodSource::Bias, LodSource::Gradient];
        let request = Request {
            kind,
            dimension: make.dimension,
            compare: random.below(8) == 0,
            offset: random.below(6) == 0,
            lod: if is_load { pick(&mut random, &lods[..2]) } else { pick(&mut random, &lods) },
            narrow: random.below(4) == 0,
            mask: if random.below(2) == 0 { 15 } else { 1 + random.below(15) as u8 },
            residency: random.below(8) == 0,
        };
        let mut operands = Operands::default();
        // Loads of a line, of neighbours, of strangers.
        let wild = random.below(3);
        // Samples of texels' centres, as of images that are shown as large as they are.
        let centres = random.below(6) == 0;
        for a in 0..3 {
            let size = make.size[a] as f32;
            operands.coordinates[a] = if is_load {
                let start = random.below(make.size[a] + 9);
                std::array::from_fn(|i| match (wild, random.below(16)) {
                    (0, _) if a == 0 => start / 32 * 32 + i as u32,
                    (0, _) => start,
                    (1, 0) => random.next(),
                    (1, 1..8) => random.below(make.size[a] + 3),
                    _ => (start + i as u32 / (1 + 7 * a as u32)).wrapping_sub(4),
                })
            } else if centres {
                let (start, scale) =
                    (random.below(make.size[a] + 3), if pixel { 1.0 } else { size });
                std::array::from_fn(|i| {
                    let texel = start + i as u32 / (1 + 7 * a as u32);
                    ((texel as f32 - 0.5) / scale).to_bits()
                })
            } else {
                coordinates(&mut random, if pixel { size } else { 1.0 }).map(f32::to_bits)
            };
        }
        let (layer, level) = (random.below(4), random.below(3));
        let spread = random.below(4) == 0;
        for i in 0..LANES {
            operands.layer[i] = if spread { random.below(4) } else { layer };
            let lod = if spread { random.range(-1.0, 8.0) } else { level as f32 + 0.25 };
            operands.lod[i] = if is_load { level } else { lod.to_bits() };
            operands.reference[i] = random.unit().to_bits();
            operands.offset[i] = random.next();
            for axis in &mut operands.gradient {
                *axis = std::array::from_fn(|k| {
                    let mut row = axis[k];
                    row[i] = random.range(-0.1, 0.1).to_bits();
                    row
                });
            }
        }
        let exec = match random.below(4) {
            0 => random.next() | 1,
            1 => 0xffff,
            _ => u32::MAX,
        };
        let bytes = picture.texture_bytes();
        let sampler = (!is_load || random.below(2) == 0).then_some(&state);
        let mut results = [[[0; LANES]; 5]; 2];
        let mut outcome = [Ok(()), Ok(())];
        for (way, unit) in [&mut unit, &mut other].into_iter().enumerate() {
            memory.windows = way == 0;
            outcome[way] = unit.read(
                &mut memory,
                &request,
                &bytes,
                sampler,
                &operands,
                exec,
                &mut results[way],
            );
        }
        assert_eq!(outcome[0], outcome[1], "case {case}: {make:?} {request:?}");
        for row in 0..request.rows() {
            for i in (0..LANES).filter(|i| exec >> i & 1 != 0) {
                assert_eq!(
                    results[0][row][i], results[1][row][i],
                    "case {case}, row {row}, lane {i}: {make:?} {request:?}"
                );
            }
        }
        assert_eq!(unit.notes.take(), other.notes.take());
    }
}
