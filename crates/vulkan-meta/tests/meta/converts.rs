//! Blits and resolves, by stores and by drawing.

use tepui_format::{Format, Numeric};
use tepui_ir::NumKind;
use tepui_vulkan::backend::{Blit, ImageRef};
use tepui_vulkan::vk;
use tepui_vulkan_meta::{Program, blit, resolve};

use crate::gpu::{Family, Gpu, Surface, Way, bits_of, components, image};

fn layers(
    aspect: vk::ImageAspectFlags,
    level: u32,
    first: u32,
    count: u32,
) -> vk::ImageSubresourceLayers {
    vk::ImageSubresourceLayers {
        aspect_mask: aspect,
        mip_level: level,
        base_array_layer: first,
        layer_count: count,
    }
}

fn corners([a, b]: [[i32; 3]; 2]) -> [vk::Offset3D; 2] {
    [a, b].map(|[x, y, z]| vk::Offset3D { x, y, z })
}

/// A region of a blit of colours.
#[derive(Clone, Copy, Debug)]
struct Region {
    from: [[i32; 3]; 2],
    to: [[i32; 3]; 2],
    /// First layers, and their number.
    layers: [u32; 3],
}

fn blits(s: &Surface, d: &Surface, r: &Region, linear: bool) -> (vk::ImageBlit2, bool) {
    let colour = vk::ImageAspectFlags::COLOR;
    let region = vk::ImageBlit2 {
        src_subresource: layers(colour, s.level, r.layers[0], r.layers[2]),
        src_offsets: corners(r.from),
        dst_subresource: layers(colour, d.level, r.layers[1], r.layers[2]),
        dst_offsets: corners(r.to),
        ..Default::default()
    };
    (region, linear)
}

/// A pixel's coordinate in the source, in texels.
fn source_of(r: &Region, k: usize, pixel: u32) -> f64 {
    let ([s0, s1], [d0, d1]) = ([r.from[0][k], r.from[1][k]], [r.to[0][k], r.to[1][k]]);
    let part = (f64::from(pixel) + 0.5 - f64::from(d0)) / f64::from(d1 - d0);
    f64::from(s0) + part * f64::from(s1 - s0)
}

/// The components of the source at texel coordinates: that of the nearest texel, or a mean weighted by distance.
fn sampled(s: &Surface, at: [f64; 3], axes: usize, slice: u32, linear: bool) -> [f64; 4] {
    let texel = |t: [i64; 3]| -> [f64; 4] {
        let mut place = [0u32, 0, slice];
        for k in 0..axes {
            place[k] = t[k].clamp(0, i64::from(s.size[k]) - 1) as u32;
        }
        let c = components(s.format, s.sample(place, 0));
        match s.format.info().numeric() {
            Numeric::Uint => c.map(|v| v as f64),
            Numeric::Sint => c.map(|v| f64::from(v as u32 as i32)),
            _ => c.map(|v| f64::from(f32::from_bits(v as u32))),
        }
    };
    if !linear {
        return texel(at.map(|v| v.floor() as i64));
    }
    let mut sum = [0.0; 4];
    for corner in 0..1usize << axes {
        let (mut t, mut weight) = ([0i64; 3], 1.0);
        for k in 0..axes {
            let low = (at[k] - 0.5).floor();
            let part = at[k] - 0.5 - low;
            let high = corner >> k & 1 == 1;
            t[k] = low as i64 + i64::from(high);
            weight *= if high { part } else { 1.0 - part };
        }
        let v = texel(t);
        (0..4).for_each(|c| sum[c] += weight * v[c]);
    }
    sum
}

/// Blits between two colour images in both ways of writing, and compares with the reference: integers and nearest texels exactly,
/// means within a thousandth and the step of the format.
fn run(
    f: [Format; 2],
    extents: [[u32; 3]; 2],
    count: [u32; 2],
    level: u32,
    r: Region,
    linear: bool,
) {
    for stores in [true, false] {
        let mut gpu = Gpu::new();
        gpu.stores = stores;
        let a = gpu.surface(image(f[0], extents[0], count[0], 1), f[0], level, Way::Words);
        let b = gpu.surface(image(f[1], extents[1], count[1], 1), f[1], 0, Way::Words);
        // No NaNs, whose bits components do not keep.
        gpu.surfaces[b].bytes.iter_mut().for_each(|b| *b &= 0x3f);
        let before = gpu.surfaces.clone();
        let (region, linear) = blits(&before[a], &before[b], &r, linear);
        let side = |n: usize| (&before[n].image, &before[n].info, [before[n].address; 3]);
        let blit = Blit::<Family> { source: side(a), target: side(b), region, linear };
        blit::blit(&mut gpu, &blit).unwrap();
        let (s, d) = (&before[a], &gpu.surfaces[b]);
        let volume = [0, 1].map(|k| extents[k][2] > 1);
        let axes = if volume[0] { 3 } else { 2 };
        let [w, h, all] = d.size;
        for (z, y, x) in
            (0..all).flat_map(|z| (0..h).flat_map(move |y| (0..w).map(move |x| (z, y, x))))
        {
            let label =
                format!("{f:?}, {r:?}, stores {stores}, linear {linear}: pixel {x}, {y}, {z}");
            let inside = |k: usize, v: u32| {
                let [a, b] = [r.to[0][k], r.to[1][k]].map(|v| v as u32);
                (a.min(b)..a.max(b)).contains(&v)
            };
            let (in_z, slice) = match volume {
                [_, true] => (inside(2, z), 0),
                [true, false] => (z == r.layers[1], 0),
                _ => {
                    let n = z.wrapping_sub(r.layers[1]);
                    (n < r.layers[2], n.wrapping_add(r.layers[0]))
                }
            };
            if !(inside(0, x) && inside(1, y) && in_z) {
                assert_eq!(d.get([x, y, z]), before[b].get([x, y, z]), "{label}");
                continue;
            }
            let depth = if volume[1] { z } else { 0 };
            let at = [source_of(&r, 0, x), source_of(&r, 1, y), source_of(&r, 2, depth)];
            let right = sampled(s, at, axes, slice, linear);
            let to_components = |v: [f64; 4]| match s.format.info().numeric() {
                Numeric::Uint => v.map(|v| v as u64),
                Numeric::Sint => v.map(|v| u64::from(v as i32 as u32)),
                _ => v.map(|v| u64::from((v as f32).to_bits())),
            };
            let bits = bits_of(d.format, to_components(right));
            if !linear {
                assert_eq!(d.sample([x, y, z], 0), bits, "{label}");
                continue;
            }
            let [got, wanted] = [d.sample([x, y, z], 0), bits]
                .map(|b| components(d.format, b).map(|v| f64::from(f32::from_bits(v as u32))));
            for c in 0..4 {
                assert!((got[c] - wanted[c]).abs() < 0.005, "{label}: {got:?}, not {wanted:?}");
            }
        }
    }
}

const RGBA: Format = Format::R8G8B8A8_UNORM;

#[test]
fn scaled_and_mirrored() {
    let plain =
        Region { from: [[1, 2, 0], [9, 8, 1]], to: [[3, 1, 0], [19, 13, 1]], layers: [1, 0, 2] };
    let swap = |[a, b]: [[i32; 3]; 2], k: usize| {
        let (mut a, mut b) = (a, b);
        (a[k], b[k]) = (b[k], a[k]);
        [a, b]
    };
    for linear in [false, true] {
        for mirror in 0..4 {
            let mut r = plain;
            if mirror & 1 != 0 {
                r.from = swap(r.from, 0);
            }
            if mirror & 2 != 0 {
                r.to = swap(r.to, 1);
            }
            run([RGBA; 2], [[12, 10, 1], [20, 14, 1]], [3, 2], 0, r, linear);
        }
        // To half of the size, from level 1 of an image.
        let small =
            Region { from: [[0, 0, 0], [12, 7, 1]], to: [[1, 1, 0], [9, 5, 1]], layers: [0, 1, 1] };
        run(
            [RGBA, Format::R16G16B16A16_SFLOAT],
            [[24, 16, 1], [10, 8, 1]],
            [1, 2],
            1,
            small,
            linear,
        );
    }
}

#[test]
fn number_formats_convert() {
    let r = Region { from: [[0, 0, 0], [8, 4, 1]], to: [[0, 0, 0], [8, 4, 1]], layers: [0, 0, 1] };
    for f in [
        [Format::R8G8B8A8_UINT, Format::R16G16B16A16_UINT],
        [Format::R16G16_SINT, Format::R32G32_SINT],
        [Format::R8G8B8A8_SRGB, Format::R8G8B8A8_UNORM],
        [Format::B8G8R8A8_UNORM, Format::A2B10G10R10_UNORM_PACK32],
        [Format::R5G6B5_UNORM_PACK16, Format::R8_UNORM],
    ] {
        run(f, [[8, 4, 1]; 2], [1, 1], 0, r, false);
    }
    // Integers are never filtered.
    let mut gpu = Gpu::new();
    let uint = Format::R8G8B8A8_UINT;
    let a = gpu.surface(image(uint, [8, 4, 1], 1, 1), uint, 0, Way::Words);
    let s = gpu.surfaces.clone();
    let (region, _) = blits(&s[a], &s[a], &r, true);
    let side = (&s[a].image, &s[a].info, [s[a].address; 3]);
    blit::blit(&mut gpu, &Blit { source: side, target: side, region, linear: true }).unwrap();
    assert!(matches!(gpu.log[..], [Some(Program::Blit { kind: NumKind::Uint, .. })]));
    assert_eq!(gpu.surfaces[a].bytes, s[a].bytes);
}

#[test]
fn volumes() {
    for linear in [false, true] {
        // Volume to volume, mirrored in depth.
        let r =
            Region { from: [[0, 0, 7], [8, 6, 0]], to: [[1, 1, 1], [9, 7, 4]], layers: [0, 0, 1] };
        run([RGBA; 2], [[8, 6, 7], [10, 8, 5]], [1, 1], 0, r, linear);
        // A slice of a volume to a layer.
        let r =
            Region { from: [[0, 0, 2], [8, 6, 3]], to: [[0, 0, 0], [8, 6, 1]], layers: [0, 2, 1] };
        run([RGBA; 2], [[8, 6, 6], [8, 6, 1]], [1, 3], 0, r, linear);
    }
    // A layer to a slice of a volume.
    let r = Region { from: [[0, 0, 0], [8, 6, 1]], to: [[0, 0, 3], [8, 6, 4]], layers: [0, 0, 1] };
    run([RGBA; 2], [[8, 6, 1], [8, 6, 6]], [1, 1], 0, r, false);
}

#[test]
fn depth_and_stencil() {
    for f in [Format::D16_UNORM, Format::S8_UINT] {
        let mut gpu = Gpu::new();
        gpu.stores = false;
        let aspect = match f {
            Format::S8_UINT => vk::ImageAspectFlags::STENCIL,
            _ => vk::ImageAspectFlags::DEPTH,
        };
        let a = gpu.surface(image(f, [6, 6, 1], 1, 1), f, 0, Way::Words);
        let b = gpu.surface(image(f, [6, 6, 1], 1, 1), f, 0, Way::Words);
        let s = gpu.surfaces.clone();
        let region = vk::ImageBlit2 {
            src_subresource: layers(aspect, 0, 0, 1),
            src_offsets: corners([[0, 0, 0], [6, 6, 1]]),
            dst_subresource: layers(aspect, 0, 0, 1),
            dst_offsets: corners([[6, 0, 0], [0, 6, 1]]),
            ..Default::default()
        };
        let side = |n: usize| (&s[n].image, &s[n].info, [s[n].address; 3]);
        let blit = Blit { source: side(a), target: side(b), region, linear: false };
        blit::blit(&mut gpu, &blit).unwrap();
        for (x, y) in (0..6).flat_map(|y| (0..6).map(move |x| (x, y))) {
            assert_eq!(gpu.surfaces[b].get([x, y, 0]), s[a].get([5 - x, y, 0]), "{f}: {x}, {y}");
        }
    }
}

fn image_ref(s: &Surface) -> ImageRef<Family> {
    ImageRef {
        image: s.image.clone(),
        info: s.info,
        addresses: [s.address; 3],
        plane: 0,
        format: s.format,
        level: s.level,
        layer: 0,
        layers: s.info.layers,
    }
}

#[test]
fn samples_are_resolved_in_each_mode() {
    use vk::ResolveModeFlags as M;
    let colour = vk::ImageAspectFlags::COLOR;
    for (f, aspect) in [
        (RGBA, colour),
        (Format::R16_SINT, colour),
        (Format::R32_UINT, colour),
        (Format::D16_UNORM, vk::ImageAspectFlags::DEPTH),
        (Format::S8_UINT, vk::ImageAspectFlags::STENCIL),
    ] {
        for (mode, samples, stores) in [M::SAMPLE_ZERO, M::AVERAGE, M::MIN, M::MAX]
            .into_iter()
            .flat_map(|m| [(m, 2, true), (m, 4, false), (m, 4, true)])
        {
            let mut gpu = Gpu::new();
            gpu.stores = stores;
            let a = gpu.surface(image(f, [9, 7, 1], 3, samples), f, 0, Way::Words);
            let b = gpu.surface(image(f, [8, 8, 1], 4, 1), f, 0, Way::Words);
            let before = gpu.surfaces.clone();
            let region = vk::ImageResolve2 {
                src_subresource: layers(aspect, 0, 1, 2),
                src_offset: vk::Offset3D { x: 2, y: 1, z: 0 },
                dst_subresource: layers(aspect, 0, 2, 2),
                dst_offset: vk::Offset3D { x: 1, y: 3, z: 0 },
                extent: vk::Extent3D { width: 6, height: 5, depth: 1 },
                ..Default::default()
            };
            let (from, to) = (image_ref(&before[a]), image_ref(&before[b]));
            resolve::region(&mut gpu, &from, &to, &region, mode).unwrap();
            for (z, y, x) in (0..4u32)
                .flat_map(|z| (0..8u32).flat_map(move |y| (0..8u32).map(move |x| (z, y, x))))
            {
                let got = gpu.surfaces[b].sample([x, y, z], 0);
                let label = format!("{f}, {mode:?} of {samples}, stores {stores}: {x}, {y}, {z}");
                if !((1..7).contains(&x) && (3..8).contains(&y) && z >= 2) {
                    assert_eq!(got, before[b].sample([x, y, z], 0), "{label}");
                    continue;
                }
                let at = [x + 1, y - 2, z - 1];
                let all: Vec<[u64; 4]> =
                    (0..samples).map(|n| components(f, before[a].sample(at, n))).collect();
                let right = [0, 1, 2, 3].map(|c| reduced(f, mode, all.iter().map(|v| v[c])));
                let right = bits_of(f, right);
                // A mean may be rounded either way.
                let step = if mode == M::AVERAGE { 1 } else { 0 };
                let (g, w) = (components(f, got), components(f, right));
                let near = match f.info().numeric() {
                    Numeric::Unorm => (0..4).all(|c| {
                        let [g, w] = [g[c], w[c]].map(|v| f32::from_bits(v as u32));
                        (g - w).abs() <= step as f32 / 255.0 + 1e-7
                    }),
                    _ => got == right,
                };
                assert!(near, "{label}: {got:#x}, not {right:#x}");
            }
        }
    }
}

fn reduced(f: Format, mode: vk::ResolveModeFlags, all: impl Iterator<Item = u64>) -> u64 {
    use vk::ResolveModeFlags as M;
    let all: Vec<u64> = all.collect();
    match f.info().numeric() {
        Numeric::Unorm => {
            let v: Vec<f32> = all.iter().map(|&v| f32::from_bits(v as u32)).collect();
            let v = match mode {
                M::AVERAGE => v.iter().sum::<f32>() / v.len() as f32,
                M::MIN => v.iter().copied().fold(f32::MAX, f32::min),
                M::MAX => v.iter().copied().fold(f32::MIN, f32::max),
                _ => v[0],
            };
            u64::from(v.to_bits())
        }
        Numeric::Sint => {
            let v: Vec<i32> = all.iter().map(|&v| v as u32 as i32).collect();
            let v = match mode {
                M::MIN => *v.iter().min().unwrap(),
                M::MAX => *v.iter().max().unwrap(),
                _ => v[0],
            };
            u64::from(v as u32)
        }
        _ => match mode {
            M::MIN => *all.iter().min().unwrap(),
            M::MAX => *all.iter().max().unwrap(),
            _ => all[0],
        },
    }
}
