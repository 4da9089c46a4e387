//! Loads, gathers, comparisons, borders, levels of detail, and images that are not whole.

#![allow(clippy::needless_range_loop, clippy::type_complexity, reason = "lanes are counted")]

mod common;

use common::{BASE, Flat, Make, Picture, Random, bits, read, sampler};
use tepui_agx_layout::{Texel, Tiling};
use tepui_agx_packets::sampler::{BorderColour, CompareFunc, Filter, MipFilter, Wrap};
use tepui_agx_packets::texture::{
    Channel, Channels, ImageMode, Layout, SparseBlock, Texture, TextureDimension, TextureType,
};
use tepui_agx_texture::store::Block;
use tepui_agx_texture::{
    BlockStore, Kind, LANES, LodSource, Note, Operands, Request, SamplerState, TileFormat,
    Tilebuffer, Unit,
};

fn request(kind: Kind, dimension: TextureDimension) -> Request {
    Request { lod: LodSource::Level, ..Request::new(kind, dimension) }
}

fn float(value: u32) -> f32 {
    f32::from_bits(value)
}

#[test]
fn loads_read_levels_layers_and_nothing_outside() {
    let dimensions = [
        (TextureDimension::D1, [40, 1, 1], 1),
        (TextureDimension::D2, [40, 30, 1], 1),
        (TextureDimension::D2Array, [40, 30, 1], 4),
        (TextureDimension::D3, [20, 18, 9], 1),
    ];
    let mut random = Random(1);
    for (dimension, size, layers) in dimensions {
        let make = Make {
            dimension,
            size,
            layers,
            levels: 4,
            ..Make::d2(Channels::R32, TextureType::Uint, 1, 1)
        };
        let mut picture = Picture::new(&make);
        let mut memory = picture.noise(5);
        let mut unit = Unit::default();
        for first in [0, 1] {
            picture.texture.first_level = first;
            for _ in 0..20 {
                let mut operands = Operands::default();
                for i in 0..LANES {
                    for (a, c) in operands.coordinates.iter_mut().enumerate() {
                        c[i] = random.below(size[a] + 3);
                        if random.below(16) == 0 {
                            c[i] = u32::MAX - random.below(3);
                        }
                    }
                    operands.layer[i] = random.below(layers);
                    operands.lod[i] = random.below(4);
                }
                let request = request(Kind::Load, dimension);
                let texture = picture.texture_bytes();
                let out = read(&mut unit, &mut memory, &request, &texture, None, &operands);
                for i in 0..LANES {
                    // Levels beyond the last are the last.
                    let level = (first + operands.lod[i]).min(3);
                    let is_3d = dimension == TextureDimension::D3;
                    let flat = dimension == TextureDimension::D1;
                    let at = Texel {
                        level,
                        layer: operands.layer[i],
                        x_px: operands.coordinates[0][i],
                        y_px: if flat { 0 } else { operands.coordinates[1][i] },
                        z_px: if is_3d { operands.coordinates[2][i] } else { 0 },
                        sample: 0,
                    };
                    let inside = picture.layout.texel_offset_B(at).is_some();
                    let want = if inside { picture.raw(&memory, at) as u32 } else { 0 };
                    assert_eq!(out[0][i], want, "{dimension} {at:?}");
                    // Channels that the format does not have.
                    assert_eq!([out[1][i], out[2][i], out[3][i]], [0, 0, 1]);
                }
            }
        }
    }
}

#[test]
fn loads_follow_the_samplers_wrap() {
    let picture = Picture::new(&Make::d2(Channels::R32, TextureType::Uint, 10, 6));
    let mut memory = picture.noise(6);
    let mut unit = Unit::default();
    for (wrap, columns) in [
        (Wrap::ClampToEdge, [9, 9, 9, 0]),
        (Wrap::Repeat, [0, 3, 5, 5]),
        (Wrap::MirroredRepeat, [9, 6, 5, 5]),
        (Wrap::MirroredClampToEdge, [9, 9, 9, 0]),
    ] {
        let state = sampler(|s| (s.wrap_s, s.wrap_t) = (wrap, Wrap::ClampToEdge));
        let mut operands = Operands::default();
        operands.coordinates[0][..4].copy_from_slice(&[10, 13, u32::MAX, 0]);
        // 2^32 - 1 is 5 modulo 10 and modulo 20 lies in the mirrored half; the last lane is plain
        // 5.
        operands.coordinates[0][2] = if wrap == Wrap::MirroredRepeat { 5 } else { u32::MAX };
        operands.coordinates[0][3] = if columns[3] == 5 { 5 } else { 0 };
        let request = request(Kind::Load, TextureDimension::D2);
        let out = read(
            &mut unit,
            &mut memory,
            &request,
            &picture.texture_bytes(),
            Some(&state),
            &operands,
        );
        for (i, x_px) in columns.into_iter().enumerate() {
            let want = picture.raw(&memory, Texel { x_px, ..Texel::default() }) as u32;
            assert_eq!(out[0][i], want, "{wrap} lane {i}");
        }
    }
}

#[test]
fn offsets_move_by_texels() {
    let picture = Picture::new(&Make::d2(Channels::R32, TextureType::Uint, 32, 32));
    let mut memory = picture.noise(7);
    let mut unit = Unit::default();
    let state = sampler(|s| (s.wrap_s, s.wrap_t) = (Wrap::Repeat, Wrap::Repeat));
    let offset = |x: i32, y: i32| (x & 15 | (y & 15) << 4) as u32;
    for (kind, place) in [(Kind::Load, [8, 8]), (Kind::Sample, [8, 8])] {
        let mut operands = Operands::default();
        for i in 0..LANES {
            let (x, y) = (i as i32 % 16 - 8, i as i32 / 2 - 8);
            operands.offset[i] = offset(x, y);
            for (c, p) in operands.coordinates.iter_mut().zip(place) {
                c[i] = if kind == Kind::Load { p } else { ((p as f32 + 0.5) / 32.0).to_bits() };
            }
        }
        let request = Request { offset: true, ..request(kind, TextureDimension::D2) };
        let out = read(
            &mut unit,
            &mut memory,
            &request,
            &picture.texture_bytes(),
            Some(&state),
            &operands,
        );
        for i in 0..LANES {
            let (x, y) = (8 + i as i32 % 16 - 8, 8 + i as i32 / 2 - 8);
            let at = Texel { x_px: x as u32, y_px: y as u32, ..Texel::default() };
            assert_eq!(out[0][i], picture.raw(&memory, at) as u32, "{kind:?} {x} {y}");
        }
    }
}

/// OpenGL's old clamp brings the coordinate into the image after the offset was added: the nearest
/// texel is never the border.
#[test]
fn the_old_clamp_comes_after_the_offset() {
    let picture = Picture::new(&Make::d2(Channels::R32, TextureType::Uint, 32, 32));
    let mut memory = picture.noise(9);
    let mut unit = Unit::default();
    let state = sampler(|s| (s.wrap_s, s.wrap_t) = (Wrap::ClampGl, Wrap::ClampGl));
    for column in [0, 3, 28, 31] {
        let mut operands = Operands::default();
        for i in 0..LANES {
            operands.offset[i] = ((i as i32 % 16 - 8) & 15) as u32;
            operands.coordinates[0][i] = ((column as f32 + 0.5) / 32.0).to_bits();
        }
        let request = Request { offset: true, ..request(Kind::Sample, TextureDimension::D2) };
        let texture = picture.texture_bytes();
        let out = read(&mut unit, &mut memory, &request, &texture, Some(&state), &operands);
        for i in 0..LANES {
            let x_px = (column + i as i32 % 16 - 8).clamp(0, 31) as u32;
            let at = Texel { x_px, ..Texel::default() };
            assert_eq!(out[0][i], picture.raw(&memory, at) as u32, "column {column}, lane {i}");
        }
    }
}

#[test]
fn gathers_go_anticlockwise_from_the_lower_left() {
    let mut picture = Picture::new(&Make::d2(Channels::R8G8B8A8, TextureType::Unorm, 16, 16));
    picture.texture.swizzle_g = Channel::A;
    picture.texture.swizzle_a = Channel::One;
    let mut memory = picture.noise(8);
    let mut unit = Unit::default();
    let state = sampler(|_| ());
    let mut operands = Operands::default();
    operands.coordinates[0] = bits(std::array::from_fn(|i| (i as f32 * 0.5 + 0.3) / 16.0));
    operands.coordinates[1] = bits([5.2 / 16.0; LANES]);
    for (component, channel) in [(0, Some(0)), (1, Some(3)), (2, Some(2)), (3, None)] {
        let request = request(Kind::Gather { component }, TextureDimension::D2);
        let texture = picture.texture_bytes();
        let out = read(&mut unit, &mut memory, &request, &texture, Some(&state), &operands);
        for i in 0..LANES {
            let u = i as f32 * 0.5 + 0.3 - 0.5;
            let (x, y) = (u.floor() as i32, 4);
            for (k, (dx, dy)) in [(0, 1), (1, 1), (1, 0), (0, 0)].into_iter().enumerate() {
                let want = match channel {
                    Some(c) => {
                        let x_px = (x + dx).clamp(0, 15) as u32;
                        let y_px = (y + dy) as u32;
                        picture.texel(&memory, Texel { x_px, y_px, ..Texel::default() })[c]
                    }
                    None => 1.0,
                };
                assert_eq!(float(out[k][i]), want, "component {component} lane {i} texel {k}");
            }
        }
    }
}

#[test]
fn comparisons_come_before_the_filter() {
    let funcs: [(CompareFunc, fn(f32, f32) -> bool); 8] = [
        (CompareFunc::Lequal, |r, d| r <= d),
        (CompareFunc::Gequal, |r, d| r >= d),
        (CompareFunc::Less, |r, d| r < d),
        (CompareFunc::Greater, |r, d| r > d),
        (CompareFunc::Equal, |r, d| r == d),
        (CompareFunc::NotEqual, |r, d| r != d),
        (CompareFunc::Always, |_, _| true),
        (CompareFunc::Never, |_, _| false),
    ];
    for (channels, type_) in
        [(Channels::R32, TextureType::Float), (Channels::R16, TextureType::Unorm)]
    {
        let mut picture = Picture::new(&Make::d2(channels, type_, 8, 8));
        picture.texture.swizzle_g = Channel::Zero;
        picture.texture.swizzle_b = Channel::Zero;
        picture.texture.swizzle_a = Channel::One;
        let mut memory = picture.noise(9);
        let mut unit = Unit::default();
        for (func, pass) in funcs {
            let state = sampler(|s| {
                (s.magnify, s.minify) = (Filter::Linear, Filter::Linear);
                (s.compare_enable, s.compare_func) = (true, func);
            });
            let mut operands = Operands::default();
            // Weights of a quarter each, between four texels.
            operands.coordinates[0] = bits(std::array::from_fn(|i| (i % 7 + 1) as f32 / 8.0));
            operands.coordinates[1] = bits(std::array::from_fn(|i| (i / 7 + 1) as f32 / 8.0));
            operands.reference = bits(std::array::from_fn(|i| match i % 8 {
                6 => -1.0,
                7 => 2.0,
                k => k as f32 / 5.0,
            }));
            let request = Request { compare: true, ..request(Kind::Sample, TextureDimension::D2) };
            let texture = picture.texture_bytes();
            let out = read(&mut unit, &mut memory, &request, &texture, Some(&state), &operands);
            for i in 0..LANES {
                let mut reference = float(operands.reference[i]);
                if type_ == TextureType::Unorm {
                    reference = reference.clamp(0.0, 1.0);
                }
                let mut want = 0.0;
                for (dx, dy) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
                    let at = Texel {
                        x_px: i as u32 % 7 + dx,
                        y_px: i as u32 / 7 + dy,
                        ..Texel::default()
                    };
                    let texel = picture.texel(&memory, at)[0];
                    want += if pass(reference, texel) { 0.25 } else { 0.0 };
                }
                let got = std::array::from_fn(|c| float(out[c][i]));
                assert_eq!(got, [want, 0.0, 0.0, 1.0], "{func} {type_} lane {i}");
            }
        }
    }
}

/// A border colour as Mesa encodes it, and what a shader sees of it.
#[test]
fn borders_are_in_the_order_of_memory() {
    let half = |x: f32| tepui_agx_texture::half::narrow(x);
    let cases = [
        (Channels::R8G8B8A8, TextureType::Unorm, false, [51, 102, 153, 255], [0.2, 0.4, 0.6, 1.0]),
        (Channels::R8G8B8A8, TextureType::Snorm, false, [127, 0x81, 0, 127], [1.0, -1.0, 0.0, 1.0]),
        (Channels::R8G8B8A8, TextureType::Unorm, true, [4095, 819, 0, 51], [1.0, 0.2, 0.0, 0.2]),
        (
            Channels::R10G10B10A2,
            TextureType::Unorm,
            false,
            [1023, 0, 0, 1],
            [1.0, 0.0, 0.0, 1.0 / 3.0],
        ),
        (
            Channels::R16G16B16A16,
            TextureType::Float,
            false,
            [half(0.5), half(-2.0), half(0.0), half(1.0)],
            [0.5, -2.0, 0.0, 1.0],
        ),
        (
            Channels::R32G32B32A32,
            TextureType::Float,
            false,
            [0.3f32.to_bits(), 7.5f32.to_bits(), 0, 1.0f32.to_bits()],
            [0.3, 7.5, 0.0, 1.0],
        ),
        (
            Channels::R11G11B10,
            TextureType::Float,
            false,
            [half(4.0), half(0.5), half(0.25), 0],
            [4.0, 0.5, 0.25, 1.0],
        ),
        // source: Mesa's agx_border.c, `get_channel_info`: EAC has 11 bits, BC4 and BC5 have 14.
        (Channels::EacR11, TextureType::Unorm, false, [2047, 0, 0, 2047], [1.0, 0.0, 0.0, 1.0]),
        (
            Channels::EacRg11,
            TextureType::Snorm,
            false,
            [1023, 0x800 - 1023, 0, 1023],
            [1.0, -1.0, 0.0, 1.0],
        ),
        (Channels::Bc4, TextureType::Unorm, false, [16383, 0, 0, 16383], [1.0, 0.0, 0.0, 1.0]),
        (
            Channels::Bc5,
            TextureType::Snorm,
            false,
            [8191, 0x4000 - 8191, 0, 8191],
            [1.0, -1.0, 0.0, 1.0],
        ),
        (
            Channels::Bc6h,
            TextureType::Float,
            false,
            [half(0.5), half(-2.0), half(4.0), half(1.0)],
            [0.5, -2.0, 4.0, 1.0],
        ),
        (Channels::Bc7, TextureType::Unorm, true, [4095, 819, 0, 51], [1.0, 0.2, 0.0, 0.2]),
        (Channels::Bc1, TextureType::Unorm, false, [51, 102, 153, 255], [0.2, 0.4, 0.6, 1.0]),
    ];
    for (channels, type_, srgb, encoded, want) in cases {
        let picture = Picture::new(&Make { srgb, ..Make::d2(channels, type_, 8, 8) });
        let mut memory = picture.noise(10);
        let mut unit = Unit::default();
        let mut state = sampler(|s| {
            (s.magnify, s.minify) = (Filter::Linear, Filter::Linear);
            (s.wrap_s, s.wrap_t) = (Wrap::ClampToBorder, Wrap::ClampToBorder);
            s.border_colour = BorderColour::Custom;
        });
        state.border = encoded;
        let operands = Operands { coordinates: [bits([-1.0; LANES]); 3], ..Operands::default() };
        let request = request(Kind::Sample, TextureDimension::D2);
        let texture = picture.texture_bytes();
        let out = read(&mut unit, &mut memory, &request, &texture, Some(&state), &operands);
        for c in 0..4 {
            let got = float(out[c][0]);
            assert!((got - want[c]).abs() < 3e-4, "{channels} {type_} {c}: {got} {}", want[c]);
        }
    }
    // The fixed colours are moved by the swizzle too: opaque black of an image with alpha first.
    let mut picture = Picture::new(&Make::d2(Channels::R4G4B4A4, TextureType::Unorm, 8, 8));
    picture.texture.swizzle_r = Channel::G;
    picture.texture.swizzle_g = Channel::B;
    picture.texture.swizzle_b = Channel::A;
    picture.texture.swizzle_a = Channel::R;
    let mut memory = picture.noise(11);
    let state = sampler(|s| {
        (s.wrap_s, s.wrap_t) = (Wrap::ClampToBorder, Wrap::ClampToBorder);
        s.border_colour = BorderColour::OpaqueBlack;
    });
    let operands = Operands { coordinates: [bits([-1.0; LANES]); 3], ..Operands::default() };
    let request = request(Kind::Sample, TextureDimension::D2);
    let mut unit = Unit::default();
    let out =
        read(&mut unit, &mut memory, &request, &picture.texture_bytes(), Some(&state), &operands);
    assert_eq!([0, 1, 2, 3].map(|c| float(out[c][0])), [0.0, 0.0, 1.0, 0.0]);
}

/// Each level has a colour of its own, so that the result tells what was read.
fn levels_picture(width: u32, height: u32, levels: u32) -> (Picture, Flat) {
    let picture = Picture::new(&Make {
        levels,
        ..Make::d2(Channels::R32, TextureType::Float, width, height)
    });
    let mut memory = Flat::new(picture.size());
    for (l, level) in picture.layout.levels().iter().enumerate().take(levels as usize) {
        let start = level.offset_B as usize;
        for texel in memory.bytes[start..start + level.size_B as usize].chunks_exact_mut(4) {
            texel.copy_from_slice(&(l as f32).to_le_bytes());
        }
    }
    (picture, memory)
}

#[test]
fn gradients_give_the_level() {
    let (picture, mut memory) = levels_picture(64, 32, 6);
    let mut unit = Unit::default();
    let mut random = Random(12);
    let state = sampler(|s| s.mip_filter = MipFilter::Linear);
    for implicit in [false, true] {
        for round in 0..40 {
            let mut operands = Operands::default();
            let mut want = [0.0; LANES];
            for quad in 0..LANES / 4 {
                let base: [f32; 2] = std::array::from_fn(|_| random.range(0.0, 8.0));
                let rate: [[f32; 2]; 2] = std::array::from_fn(|_| {
                    std::array::from_fn(|_| random.range(-1.0, 1.0) * (-(round % 8) as f32).exp2())
                });
                for k in 0..4 {
                    let i = 4 * quad + k;
                    let (dx, dy) = ((k & 1) as f32, (k >> 1) as f32);
                    for a in 0..2 {
                        let c = base[a] + rate[a][0] * dx + rate[a][1] * dy;
                        operands.coordinates[a][i] = c.to_bits();
                        for way in 0..2 {
                            operands.gradient[a][way][i] = rate[a][way].to_bits();
                        }
                    }
                    let size = [64.0, 32.0];
                    let length = |way: usize| {
                        f64::from((0..2).map(|a| (rate[a][way] * size[a]).powi(2)).sum::<f32>())
                            .sqrt()
                    };
                    want[i] = length(0).max(length(1)).log2().clamp(0.0, 5.0);
                }
            }
            let lod = if implicit { LodSource::Auto } else { LodSource::Gradient };
            let request = Request { lod, ..request(Kind::Sample, TextureDimension::D2) };
            let texture = picture.texture_bytes();
            let out = read(&mut unit, &mut memory, &request, &texture, Some(&state), &operands);
            for i in 0..LANES {
                let got = f64::from(float(out[0][i]));
                // Half a step of the level, and the rounding of differences far out.
                assert!((got - want[i]).abs() < 1.0 / 512.0 + 2e-3, "lane {i}: {got} {}", want[i]);
            }
        }
    }
}

#[test]
fn bias_minimum_and_clamps() {
    let (picture, mut memory) = levels_picture(64, 64, 7);
    let mut unit = Unit::default();
    let mut operands = Operands::default();
    // One texel of level 2 from lane to lane, in both directions.
    for i in 0..LANES {
        operands.coordinates[0][i] = ((i & 1) as f32 * 4.0 / 64.0).to_bits();
        operands.coordinates[1][i] = ((i >> 1 & 1) as f32 * 4.0 / 64.0).to_bits();
        operands.lod[i] = (i as f32 / 4.0 - 4.0).to_bits();
        operands.min_lod[i] = 1.5f32.to_bits();
    }
    let texture = picture.texture_bytes();
    for (lod, low, high) in
        [(LodSource::Bias, 0.0, 6.0), (LodSource::BiasMin, 0.0, 6.0), (LodSource::Bias, 1.25, 3.5)]
    {
        let state = sampler(|s| {
            s.mip_filter = MipFilter::Linear;
            (s.minimum_lod, s.maximum_lod) = (low, high);
        });
        let request = Request { lod, ..request(Kind::Sample, TextureDimension::D2) };
        let out = read(&mut unit, &mut memory, &request, &texture, Some(&state), &operands);
        let query = Request { kind: Kind::QueryLod, mask: 3, ..request };
        let told = read(&mut unit, &mut memory, &query, &texture, Some(&state), &operands);
        for i in 0..LANES {
            let raw = 2.0 + i as f32 / 4.0 - 4.0;
            let mut want = raw.clamp(low, high);
            if lod == LodSource::BiasMin {
                want = want.max(1.5);
            }
            assert!((float(out[0][i]) - want).abs() < 2e-3, "{lod:?} lane {i}: {want}");
            assert!((float(told[0][i]) - want).abs() < 2e-3, "{lod:?} lane {i}: {want}");
            assert!((float(told[1][i]) - raw).abs() < 1e-3, "{lod:?} lane {i}: {raw}");
        }
    }
    // Views begin at their first level, and levels are counted from there.
    let mut view =
        Picture::new(&Make { levels: 7, ..Make::d2(Channels::R32, TextureType::Float, 64, 64) });
    (view.texture.first_level, view.texture.last_level) = (2, 4);
    let state = sampler(|s| s.mip_filter = MipFilter::Nearest);
    let request = request(Kind::Sample, TextureDimension::D2);
    operands.lod = bits(std::array::from_fn(|i| i as f32));
    let out =
        read(&mut unit, &mut memory, &request, &view.texture_bytes(), Some(&state), &operands);
    assert_eq!([0, 1, 2, 3].map(|i| float(out[0][i])), [2.0, 3.0, 4.0, 4.0]);
}

/// Along a line eight times as long as wide, an anisotropic filter reads the level of the width, at
/// places that stay within half the line to either side.
#[test]
fn anisotropy_follows_the_line() {
    let (levels, mut memory) = levels_picture(256, 256, 9);
    let mut unit = Unit::default();
    let mut operands = Operands { coordinates: [bits([0.5; LANES]); 3], ..Operands::default() };
    operands.gradient[0] = [bits([8.0 / 256.0; LANES]), bits([0.0; LANES])];
    operands.gradient[1] = [bits([0.0; LANES]), bits([1.0 / 256.0; LANES])];
    let request =
        Request { lod: LodSource::Gradient, ..request(Kind::Sample, TextureDimension::D2) };
    for (most, want) in [(1, 3.0), (2, 2.0), (4, 1.0), (8, 0.0), (16, 0.0)] {
        let state = sampler(|s| {
            s.maximum_anisotropy = most;
            s.mip_filter = MipFilter::Linear;
        });
        let texture = levels.texture_bytes();
        let out = read(&mut unit, &mut memory, &request, &texture, Some(&state), &operands);
        assert!((float(out[0][0]) - want).abs() < 1e-2, "{most}: {}", float(out[0][0]));
    }
    // A ramp along x: the mean over the line is its middle, and a step is seen from half a line
    // away.
    let picture = Picture::new(&Make::d2(Channels::R32, TextureType::Float, 256, 256));
    let mut memory = Flat::new(picture.size());
    for y_px in 0..256 {
        for x_px in 0..256 {
            let at = picture.layout.texel_offset_B(Texel { x_px, y_px, ..Texel::default() });
            let at = at.unwrap() as usize;
            let value: f32 = if x_px >= 128 { 1.0 } else { 0.0 };
            memory.bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
    }
    let state = sampler(|s| {
        s.maximum_anisotropy = 8;
        (s.magnify, s.minify) = (Filter::Linear, Filter::Linear);
    });
    operands.coordinates[0] = bits(std::array::from_fn(|i| (128.0 + i as f32 - 16.0) / 256.0));
    let texture = picture.texture_bytes();
    let out = read(&mut unit, &mut memory, &request, &texture, Some(&state), &operands);
    for i in 0..LANES {
        let distance = i as f32 - 16.0;
        // Eight samples at k/9 of a line of eight texels (source: EXT_texture_filter_anisotropic), each a linear filter's.
        let sample = |k: u8| (distance + 0.5 + 8.0 * (f32::from(k) / 9.0 - 0.5)).clamp(0.0, 1.0);
        let want = (1..=8).map(sample).sum::<f32>() / 8.0;
        // Half a step of the filter's 8 bits of weight.
        let tolerance = 1.0 / 512.0 + 1e-5;
        let got = float(out[0][i]);
        assert!((got - want).abs() <= tolerance, "{distance}: {got} {want}");
    }
}

#[test]
fn solid_tiles_show_their_colour_and_unknown_ones_are_told() {
    let make = Make {
        dimension: TextureDimension::D2Array,
        tiling: Tiling::Compressed,
        layers: 2,
        levels: 3,
        ..Make::d2(Channels::R8G8B8A8, TextureType::Uint, 70, 50)
    };
    let picture = Picture::new(&make);
    let mut memory = picture.noise(13);
    let metadata = picture.layout.metadata.as_ref().unwrap();
    // A solid tile as Mesa's fast clear writes it: the mode in every byte, the colour eight times.
    let (level, layer) = (1, 1);
    let word = metadata.tile_offset_B(level, layer, 1, 0).unwrap() as usize;
    memory.bytes[word..word + 8].fill(0x03);
    let corner = Texel { level, layer, x_px: 16, ..Texel::default() };
    let body = picture.layout.texel_offset_B(corner).unwrap() as usize;
    for k in 0..8 {
        memory.bytes[body + 4 * k..body + 4 * k + 4].copy_from_slice(&[1, 2, 3, 4]);
    }
    let unknown = metadata.tile_offset_B(level, layer, 0, 1).unwrap() as usize;
    memory.bytes[unknown..unknown + 8].fill(0x41);
    let mut unit = Unit::default();
    let request = request(Kind::Load, TextureDimension::D2Array);
    let texture = picture.texture_bytes();
    for y in 0..25u32 {
        let operands = Operands {
            coordinates: [std::array::from_fn(|i| i as u32), [y; LANES], [0; LANES]],
            layer: [layer; LANES],
            lod: [level; LANES],
            ..Operands::default()
        };
        let out = read(&mut unit, &mut memory, &request, &texture, None, &operands);
        for i in 0..LANES {
            let at = Texel { level, layer, x_px: i as u32, y_px: y, ..Texel::default() };
            let got = [0, 1, 2, 3].map(|c| out[c][i]);
            if (i >= 16, y >= 16) == (true, false) {
                assert_eq!(got, [1, 2, 3, 4]);
            } else if (i >= 16, y >= 16) == (false, true) {
                assert_eq!(got, [0; 4]);
            } else {
                let raw = picture.raw(&memory, at) as u32;
                assert_eq!(got, raw.to_le_bytes().map(u32::from));
            }
        }
    }
    assert_eq!(unit.notes.take(), [Note::UnknownCompression { metadata: 0x4141_4141_4141_4141 }]);
    // Part of a solid tile is written: the rest keeps its colour, now in the open.
    let mut pbe = Picture::new(&make);
    (pbe.pbe.level, pbe.pbe.levels) = (level, 3);
    store_pixel(&mut unit, &mut memory, &pbe, [20, 5], layer, TileFormat::I8);
    assert_eq!(memory.bytes[word..word + 8], [0x7f; 8]);
    for (x_px, y_px, want) in [(20, 5, [9; 4]), (16, 0, [1, 2, 3, 4]), (31, 15, [1, 2, 3, 4])] {
        let at = Texel { level, layer, x_px, y_px, ..Texel::default() };
        assert_eq!((picture.raw(&memory, at) as u32).to_le_bytes(), want);
    }
}

/// The mode of a solid subtile by the bytes of a texel. source: Mesa 26.1, layout.h,
/// `AIL_COMP_SOLID_*`
const SOLID: [(Channels, u8); 5] = [
    (Channels::R8, 0x60),
    (Channels::R8G8, 0x01),
    (Channels::R32, 0x03),
    (Channels::R32G32, 0x07),
    (Channels::R32G32B32A32, 0x07),
];

/// A compressed image of 64x48 texels whose tile (1, 0) is solid, of bytes 0xa5.
fn solid_tile(channels: Channels, mode: u8) -> (Picture, Flat, usize) {
    let make = Make { tiling: Tiling::Compressed, ..Make::d2(channels, TextureType::Uint, 64, 48) };
    let picture = Picture::new(&make);
    let mut memory = picture.noise(15);
    let metadata = picture.layout.metadata.as_ref().unwrap();
    let word = metadata.tile_offset_B(0, 0, 1, 0).unwrap() as usize;
    memory.bytes[word..word + 8].fill(mode);
    let corner = Texel { x_px: 16, ..Texel::default() };
    let body = picture.layout.texel_offset_B(corner).unwrap() as usize;
    memory.bytes[body..body + picture.format.info().block.bytes as usize].fill(0xa5);
    (picture, memory, word)
}

#[test]
fn solid_tiles_of_every_texel_size() {
    for (channels, mode) in SOLID {
        let (picture, mut memory, _) = solid_tile(channels, mode);
        let mut unit = Unit::default();
        let operands = Operands {
            coordinates: [std::array::from_fn(|i| i as u32), [9; LANES], [0; LANES]],
            ..Operands::default()
        };
        let request = request(Kind::Load, TextureDimension::D2);
        let texture = picture.texture_bytes();
        let out = read(&mut unit, &mut memory, &request, &texture, None, &operands);
        assert!(unit.notes.is_empty(), "{channels}");
        // Bits of the first channel.
        let mask = if matches!(channels, Channels::R8 | Channels::R8G8) { 0xff } else { u32::MAX };
        for i in 0..LANES {
            let at = Texel { x_px: i as u32, y_px: 9, ..Texel::default() };
            let raw = if i < 16 { picture.raw(&memory, at) as u32 } else { 0xa5a5_a5a5 };
            assert_eq!(out[0][i], raw & mask, "{channels} {i}");
        }
    }
}

/// Stores a tile of one pixel, whose channels are 9.
fn store_pixel(
    unit: &mut Unit,
    memory: &mut Flat,
    picture: &Picture,
    at: [u32; 2],
    layer: u32,
    format: TileFormat,
) {
    let store = BlockStore { dimension: picture.pbe.dimension, format };
    let block = Block { at, layer, level: 0, offset: 0 };
    let tile = Tilebuffer { size: [1, 1], samples: 1, sample_bytes: 16 };
    let mut local = [0; 16];
    assert!(format.store(15, &[9; 4], &mut local));
    unit.write_block(memory, &store, &picture.pbe_bytes(), &block, &tile, &local).unwrap();
}

/// Whatever part of a solid tile one texel is written to, the rest keeps its colour.
#[test]
fn a_store_opens_a_solid_tile() {
    let places = [16, 20, 31].map(|x| [0, 5, 15].map(|y| [x, y]));
    for [x, y] in places.into_iter().flatten() {
        let (picture, mut memory, word) = solid_tile(Channels::R32, 0x03);
        let before = memory.bytes.clone();
        let mut unit = Unit::default();
        store_pixel(&mut unit, &mut memory, &picture, [x, y], 0, TileFormat::I32);
        assert_eq!(memory.bytes[word..word + 8], [0x7f; 8]);
        for y_px in 0..48 {
            for x_px in 0..64 {
                let at = Texel { x_px, y_px, ..Texel::default() };
                let want = match (x_px / 16, y_px / 16) {
                    (1, 0) if [x_px, y_px] == [x, y] => 9,
                    (1, 0) => 0xa5a5_a5a5,
                    _ => {
                        let at = picture.layout.texel_offset_B(at).unwrap() as usize;
                        u128::from(u32::from_le_bytes(before[at..at + 4].try_into().unwrap()))
                    }
                };
                assert_eq!(picture.raw(&memory, at), want, "({x_px}, {y_px}) after ({x}, {y})");
            }
        }
    }
}

#[test]
fn levels_too_small_to_compress_have_no_metadata() {
    let make = Make {
        tiling: Tiling::Compressed,
        levels: 4,
        ..Make::d2(Channels::R32, TextureType::Uint, 64, 24)
    };
    let picture = Picture::new(&make);
    let mut memory = picture.noise(14);
    // Level 1 is 32x12: its reserved metadata is not looked at.
    let metadata = picture.layout.metadata.as_ref().unwrap();
    let start = (metadata.offset_B + metadata.levels()[1].offset_B) as usize;
    memory.bytes[start..].fill(0x55);
    let mut unit = Unit::default();
    let operands = Operands {
        coordinates: [std::array::from_fn(|i| i as u32), [11; LANES], [0; LANES]],
        lod: [1; LANES],
        ..Operands::default()
    };
    let request = request(Kind::Load, TextureDimension::D2);
    let out = read(&mut unit, &mut memory, &request, &picture.texture_bytes(), None, &operands);
    for i in 0..LANES {
        let at = Texel { level: 1, x_px: i as u32, y_px: 11, ..Texel::default() };
        assert_eq!(out[0][i], picture.raw(&memory, at) as u32);
    }
    assert!(unit.notes.is_empty());
}

#[test]
fn sparse_images_read_through_their_table() {
    // Two pages of 64x64 texels of four bytes, the second first, the third not there.
    let mut picture = Picture::new(&Make::d2(Channels::R32, TextureType::Uint, 192, 64));
    let mut memory = Flat::new(4 * 16384);
    let page = |n: u64| (BASE >> 14) + n;
    for (index, n) in [(0, 3), (1, 2)] {
        let entry = SparseBlock { address: page(n) << 14, unknown: true, enabled: true };
        let bytes = entry.pack().unwrap();
        memory.bytes[4 * index..4 * index + 4].copy_from_slice(&bytes);
    }
    for (n, value) in [(2usize, 222u32), (3, 333)] {
        for texel in memory.bytes[n * 16384..][..16384].chunks_exact_mut(4) {
            texel.copy_from_slice(&value.to_le_bytes());
        }
    }
    picture.texture.mode = ImageMode::Sparse;
    let mut unit = Unit::default();
    let operands = Operands {
        coordinates: [std::array::from_fn(|i| i as u32 * 6), [3; LANES], [0; LANES]],
        ..Operands::default()
    };
    let request = Request { residency: true, mask: 1, ..request(Kind::Load, TextureDimension::D2) };
    let out = read(&mut unit, &mut memory, &request, &picture.texture_bytes(), None, &operands);
    for i in 0..LANES {
        let want = [(333, 0), (222, 0), (0, 1)][i * 6 / 64];
        assert_eq!((out[0][i], out[1][i]), want, "lane {i}");
    }
}

/// The null texture of Mesa: a sparse image whose table is a page of zeros.
#[test]
fn null_textures_read_zero() {
    let texture = Texture {
        layout: Layout::Twiddled,
        swizzle_r: Channel::Zero,
        swizzle_g: Channel::Zero,
        swizzle_b: Channel::Zero,
        swizzle_a: Channel::Zero,
        mode: ImageMode::SparseWithoutCounters,
        address: BASE,
        ..Texture::default()
    };
    let mut memory = Flat::new(16384);
    let mut unit = Unit::default();
    for dimension in [TextureDimension::D2, TextureDimension::D3, TextureDimension::CubeArray] {
        for kind in [Kind::Sample, Kind::Load, Kind::Gather { component: 0 }] {
            if kind == Kind::Load && dimension == TextureDimension::CubeArray {
                continue;
            }
            let request = Request { residency: true, ..request(kind, dimension) };
            let operands = Operands { layer: [7; LANES], ..Operands::default() };
            let bytes = texture.pack().unwrap();
            let out = read(&mut unit, &mut memory, &request, &bytes, None, &operands);
            for c in 0..4 {
                assert_eq!(out[c], [0; LANES], "{kind:?} {dimension}");
            }
        }
    }
}

/// Morton order over the whole level, each level half the space of the one before.
#[test]
fn fully_twiddled_images() {
    let texture = Texture {
        dimension: TextureDimension::D2,
        layout: Layout::Twiddled,
        channels: Channels::R32,
        type_: TextureType::Uint,
        swizzle_r: Channel::R,
        width: 24,
        height: 10,
        last_level: 2,
        unk_mipmapped: true,
        address: BASE,
        ..Texture::default()
    };
    let mut memory = Flat::new(16384);
    let mut random = Random(15);
    memory.bytes.iter_mut().for_each(|b| *b = random.next() as u8);
    let mut unit = Unit::default();
    let mut offset = 0;
    for (level, w, h, square) in [(0, 24, 10, 16), (1, 12, 5, 8), (2, 6, 2, 2)] {
        for y in 0..h {
            let operands = Operands {
                coordinates: [std::array::from_fn(|i| i as u32), [y; LANES], [0; LANES]],
                lod: [level; LANES],
                ..Operands::default()
            };
            let request = request(Kind::Load, TextureDimension::D2);
            let bytes = texture.pack().unwrap();
            let out = read(&mut unit, &mut memory, &request, &bytes, None, &operands);
            for x in 0..w {
                let inside = tepui_agx_layout::address::interleave(x % square, y);
                let at = offset + 4 * (x / square * square * square + inside) as usize;
                let want = u32::from_le_bytes(memory.bytes[at..at + 4].try_into().unwrap());
                assert_eq!(out[0][x as usize], want, "level {level} {x} {y}");
            }
        }
        offset += ((32 >> level) * (16 >> level) * 4usize).next_multiple_of(128);
    }
}

#[test]
fn subsampled_texels_share_their_chroma() {
    let channels = [Channels::Gbgr422, Channels::Bgrg422];
    let bytes: [[u8; 4]; 2] = [[10, 20, 30, 40], [20, 10, 40, 30]];
    for (channels, block) in channels.into_iter().zip(bytes) {
        let texture = Texture {
            dimension: TextureDimension::D2,
            layout: Layout::Gpu,
            channels,
            swizzle_r: Channel::B,
            swizzle_g: Channel::R,
            swizzle_b: Channel::G,
            swizzle_a: Channel::One,
            width: 8,
            height: 4,
            address: BASE,
            ..Texture::default()
        };
        let mut memory = Flat::new(16384);
        memory.bytes[..4].copy_from_slice(&block);
        let mut unit = Unit::default();
        let operands = Operands {
            coordinates: [std::array::from_fn(|i| i as u32 & 1), [0; LANES], [0; LANES]],
            ..Operands::default()
        };
        let request = request(Kind::Load, TextureDimension::D2);
        let out = read(&mut unit, &mut memory, &request, &texture.pack().unwrap(), None, &operands);
        let texel = |i: usize| [0, 1, 2, 3].map(|c| (float(out[c][i]) * 255.0).round());
        assert_eq!(texel(0), [40.0, 10.0, 20.0, 255.0]);
        assert_eq!(texel(1), [40.0, 30.0, 20.0, 255.0]);
    }
}

#[test]
fn narrow_results_are_halves_or_cut() {
    let mut unit = Unit::default();
    let picture = Picture::new(&Make::d2(Channels::R32, TextureType::Float, 4, 4));
    let mut memory = Flat::new(picture.size());
    memory.bytes[..4].copy_from_slice(&0.1f32.to_le_bytes());
    let request =
        Request { narrow: true, mask: 0b1001, ..request(Kind::Load, TextureDimension::D2) };
    let operands = Operands::default();
    let out = read(&mut unit, &mut memory, &request, &picture.texture_bytes(), None, &operands);
    assert_eq!([out[0][0], out[1][0]], [0x2e66, 0x3c00]);
    let picture = Picture::new(&Make::d2(Channels::R32, TextureType::Sint, 4, 4));
    memory.bytes[..4].copy_from_slice(&(-2i32).to_le_bytes());
    let out = read(&mut unit, &mut memory, &request, &picture.texture_bytes(), None, &operands);
    assert_eq!([out[0][0], out[1][0]], [0xfffe, 1]);
}

/// The last row of a texel buffer may exceed its memory.
#[test]
fn a_linear_image_may_end_before_its_last_row() {
    let texture = Texture {
        dimension: TextureDimension::D2,
        layout: Layout::Linear,
        channels: Channels::R32,
        type_: TextureType::Uint,
        swizzle_r: Channel::R,
        width: 16384,
        height: 1,
        stride: 65536,
        address: BASE,
        ..Texture::default()
    };
    let mut memory = Flat::new(400);
    for (i, texel) in memory.bytes.chunks_exact_mut(4).enumerate() {
        texel.copy_from_slice(&(i as u32).to_le_bytes());
    }
    let mut unit = Unit::default();
    let request = request(Kind::Load, TextureDimension::D2);
    let bytes = texture.pack().unwrap();
    for windows in [true, false] {
        memory.windows = windows;
        let mut operands = Operands::default();
        operands.coordinates[0] = std::array::from_fn(|i| 3 * i as u32);
        operands.coordinates[0][5] = u32::MAX;
        let out = read(&mut unit, &mut memory, &request, &bytes, None, &operands);
        for i in 0..LANES {
            assert_eq!(out[0][i], if i == 5 { 0 } else { 3 * i as u32 });
        }
        operands.coordinates[0][9] = 100;
        let mut out = [[7; LANES]; 5];
        unit.read(&mut memory, &request, &bytes, None, &operands, u32::MAX, &mut out).unwrap();
        assert_eq!(unit.notes.take(), [Note::Unmapped { address: BASE + 400 }]);
        assert_eq!([out[0][8], out[0][9], out[0][10]], [24, 0, 30]);
        // The lane that reads there does not run.
        let exec = !(1 << 9);
        unit.read(&mut memory, &request, &bytes, None, &operands, exec, &mut out).unwrap();
        assert_eq!(out[0][10], 30);
        assert!(unit.notes.is_empty());
    }
}

#[test]
fn what_is_not_known_is_named() {
    let mut unit = Unit::default();
    let mut memory = Flat::new(16384);
    let mut out = [[0; LANES]; 5];
    // The result is undefined, but nothing is lost: drivers read before they know whether there is
    // a texture.
    let mut fault = |texture: Texture, state: Option<SamplerState>| {
        let request = request(Kind::Sample, TextureDimension::D2);
        let bytes = texture.pack().unwrap();
        let operands = Operands::default();
        out = [[7; LANES]; 5];
        let count = request.rows();
        unit.read(&mut memory, &request, &bytes, state.as_ref(), &operands, 1, &mut out[..count])
            .expect("an undefined result");
        assert_eq!(out[0][0], 0);
        let notes = unit.notes.take();
        assert!(notes.len() == 1 && notes[0].is_for_checker(), "{notes:?}");
        notes[0].to_string().replace("; the result is undefined, here zero", "")
    };
    let base = Texture { address: BASE, layout: Layout::Gpu, ..Texture::default() };
    let text = fault(Texture { layout: Layout::Interchange, ..base }, None);
    assert_eq!(text, "texture descriptor: the content of layout Interchange is unknown");
    let text = fault(Texture { type_: TextureType::Xr, ..base }, None);
    assert_eq!(text, "texture descriptor: unknown format: channels R8, type XR");
    let bicubic = sampler(|s| s.magnify = Filter::Bicubic);
    let text = fault(base, Some(bicubic));
    assert_eq!(text, "sampler descriptor: the bicubic filter is unknown");
}

/// Samples of a pixel are loaded, never filtered.
#[test]
fn multisampled_images_are_not_filtered() {
    let make = Make {
        dimension: TextureDimension::D2Multisampled,
        samples: 2,
        ..Make::d2(Channels::R32, TextureType::Float, 16, 16)
    };
    let picture = Picture::new(&make);
    let mut memory = picture.noise(23);
    let mut unit = Unit::default();
    let request = request(Kind::Sample, make.dimension);
    let texture = picture.texture_bytes();
    let out = read(&mut unit, &mut memory, &request, &texture, None, &Operands::default());
    assert_eq!(out, [[0; LANES]; 5]);
    let notes = unit.notes.take().iter().map(Note::to_string).collect::<Vec<_>>();
    let text = "texture descriptor: filtering of a multisampled image is unknown";
    assert_eq!(notes, [format!("{text}; the result is undefined, here zero")]);
}

/// A whole row of lanes in solid tiles, read without a level of detail, has the tiles' colours.
#[test]
fn a_row_over_solid_tiles_has_their_colours() {
    let (picture, mut memory, _) = solid_tile(Channels::R32, 0x03);
    let metadata = picture.layout.metadata.as_ref().unwrap();
    for (column, colour) in [(0, 111u32), (1, 222)] {
        let word = metadata.tile_offset_B(0, 0, column, 1).unwrap() as usize;
        memory.bytes[word..word + 8].fill(0x03);
        let corner = Texel { x_px: 16 * column, y_px: 16, ..Texel::default() };
        let body = picture.layout.texel_offset_B(corner).unwrap() as usize;
        memory.bytes[body..body + 4].copy_from_slice(&colour.to_le_bytes());
    }
    for y in [16, 21, 31] {
        let operands = Operands {
            coordinates: [std::array::from_fn(|i| i as u32), [y; LANES], [0; LANES]],
            ..Operands::default()
        };
        let request = Request::new(Kind::Load, TextureDimension::D2);
        let texture = picture.texture_bytes();
        let out = read(&mut Unit::default(), &mut memory, &request, &texture, None, &operands);
        let want = std::array::from_fn(|i| if i < 16 { 111 } else { 222 });
        assert_eq!(out[0], want, "row {y}");
    }
}

/// Lanes that do not read look beyond an edge, those that read do not: both formats of one texel and of blocks.
#[test]
fn lanes_beyond_the_edge_of_a_cube_may_be_off() {
    let formats = [(Channels::R32, TextureType::Float), (Channels::Bc1, TextureType::Unorm)];
    for (channels, type_) in formats {
        let make = Make { dimension: TextureDimension::Cube, ..Make::d2(channels, type_, 16, 16) };
        let picture = Picture::new(&make);
        let mut memory = picture.noise(25);
        let near = 1.0 - 1.0 / 32.0;
        let place = |i: usize| if i.is_multiple_of(2) { 0.3 - i as f32 / 64.0 } else { -near };
        // Lanes are on two faces.
        let z = |i: usize| if i % 4 < 2 { 1.0 } else { -1.0 };
        let direction =
            [std::array::from_fn(place), std::array::from_fn(place), std::array::from_fn(z)];
        let operands = Operands { coordinates: direction.map(bits), ..Operands::default() };
        let state = sampler(|s| (s.magnify, s.minify) = (Filter::Linear, Filter::Linear));
        let mut results = [u32::MAX, 0x5555_5555].map(|exec| {
            let mut out = [[0; LANES]; 5];
            let request = request(Kind::Sample, make.dimension);
            let (texture, unit) = (picture.texture_bytes(), &mut Unit::default());
            unit.read(&mut memory, &request, &texture, Some(&state), &operands, exec, &mut out)
                .unwrap();
            out
        });
        for out in &mut results {
            out.iter_mut().flat_map(|row| row.iter_mut().skip(1).step_by(2)).for_each(|v| *v = 0);
        }
        assert_eq!(results[0], results[1]);
        assert!(results[0].iter().flatten().any(|&v| v != 0));
    }
}

/// All lanes lie a quarter of a texel from the same edge of a face, in the middles of its columns
/// or rows: three quarters are this face's texel, one is the texel across the edge.
#[test]
fn cubes_are_filtered_across_an_edge() {
    let make = Make {
        dimension: TextureDimension::Cube,
        ..Make::d2(Channels::R32, TextureType::Float, 16, 16)
    };
    let picture = Picture::new(&make);
    let mut memory = picture.noise(24);
    let near = 1.0 - 1.0 / 32.0;
    let middle = |i: usize| (2 * (i % 15) + 1) as f32 / 16.0 - 1.0;
    for upper in [true, false] {
        // Directions of the face +Z, whose neighbours are +Y above and -X to the left.
        let direction: [[f32; LANES]; 3] = if upper {
            [std::array::from_fn(middle), [near; LANES], [1.0; LANES]]
        } else {
            [[-near; LANES], std::array::from_fn(|i| -middle(i)), [1.0; LANES]]
        };
        let operands = Operands { coordinates: direction.map(bits), ..Operands::default() };
        let state = sampler(|s| (s.magnify, s.minify) = (Filter::Linear, Filter::Linear));
        let out = read(
            &mut Unit::default(),
            &mut memory,
            &request(Kind::Sample, make.dimension),
            &picture.texture_bytes(),
            Some(&state),
            &operands,
        );
        for i in 0..LANES {
            let k = i as u32 % 15;
            let [here, there] =
                if upper { [[4, k, 0], [2, k, 15]] } else { [[4, 0, k], [1, 15, k]] }.map(
                    |[layer, x_px, y_px]| {
                        let at = Texel { layer, x_px, y_px, ..Texel::default() };
                        picture.texel(&memory, at)[0]
                    },
                );
            let (got, want) = (float(out[0][i]), 0.75 * here + 0.25 * there);
            assert!((got - want).abs() < 1e-5, "upper {upper}, lane {i}: {got}, not {want}");
        }
    }
}
