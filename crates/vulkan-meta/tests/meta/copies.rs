//! Copies of buffers and images of all formats, in all ways of reaching texels.

use tepui_format::{Encoding, Format};
use tepui_vulkan::backend::{BufferPixels, ImageCopy};
use tepui_vulkan::vk;
use tepui_vulkan_kit::builder::Words;
use tepui_vulkan_meta::{Packing, copy};

use crate::gpu::{Family, Gpu, Surface, Way, image};

const WAYS: [Way; 7] =
    [Way::Linear, Way::Tiled, Way::Interleaved, Way::Bits, Way::Words, Way::Own, Way::Drawn];

/// Formats of one plane and aspect; planes and aspects of others have these formats.
fn formats() -> impl Iterator<Item = Format> {
    Format::all().filter(|f| match &f.info().encoding {
        Encoding::Planar(_) => false,
        Encoding::DepthStencil(channels) => channels.as_slice().len() == 1,
        _ => true,
    })
}

/// Whether texels of a format can be reached in a way.
fn has(f: Format, way: Way, write: bool) -> bool {
    let info = f.info();
    match way {
        Way::Linear | Way::Tiled | Way::Interleaved => true,
        Way::Bits => info.block.bytes.is_power_of_two(),
        Way::Own => Packing::of(f).is_some(),
        Way::Words => Packing::words(info.block.bytes).is_some(),
        // Depth that is drawn keeps the bits of its own format alone.
        Way::Drawn if write && info.is_depth_or_stencil() => {
            matches!(f, Format::D16_UNORM | Format::D32_SFLOAT | Format::S8_UINT)
        }
        Way::Drawn => write && Packing::words(info.block.bytes).is_some(),
    }
}

fn copied<'a>(s: &'a Surface, offset: [i32; 3], layer: u32, layers: u32) -> ImageCopy<'a, Family> {
    let aspect = match s.format {
        Format::S8_UINT => vk::ImageAspectFlags::STENCIL,
        f if f.info().is_depth_or_stencil() => vk::ImageAspectFlags::DEPTH,
        _ => vk::ImageAspectFlags::COLOR,
    };
    ImageCopy {
        image: (&s.image, &s.info, [s.address; 3]),
        layers: vk::ImageSubresourceLayers {
            aspect_mask: aspect,
            mip_level: s.level,
            base_array_layer: layer,
            layer_count: layers,
        },
        offset,
    }
}

/// Makes the floats of a surface numbers: components of a texture do not keep the bits of a NaN.
fn without_nans(s: &mut Surface) {
    match s.format {
        Format::B10G11R11_UFLOAT_PACK32 => {
            for texel in s.bytes.chunks_exact_mut(4) {
                texel[1] &= 0xfb;
                texel[2] &= 0xdf;
                texel[3] &= 0x7f;
            }
        }
        Format::D32_SFLOAT => s.bytes.chunks_exact_mut(4).for_each(|texel| texel[3] &= 0x3e),
        _ => {}
    }
}

/// Checks that the elements of an area of `to` are those of `from`, and all others as they were.
fn check(
    label: &str,
    (from, a): (&Surface, [u32; 3]),
    (before, to, b): (&Surface, &Surface, [u32; 3]),
    size: [u32; 3],
) {
    let [w, h, d] = to.size;
    for (z, y, x) in (0..d).flat_map(|z| (0..h).flat_map(move |y| (0..w).map(move |x| (z, y, x)))) {
        let at = [x, y, z];
        let inside = (0..3).all(|k| at[k] >= b[k] && at[k] < b[k] + size[k]);
        let right = match inside {
            true => from.get([0, 1, 2].map(|k| at[k] - b[k] + a[k])),
            false => before.get(at),
        };
        assert_eq!(to.get(at), right, "{label}: element {at:?}, copied: {inside}");
    }
}

#[test]
fn images_to_images_in_all_ways() {
    let mut ran = 0;
    for f in formats() {
        for from in WAYS.into_iter().filter(|&w| has(f, w, false)) {
            for to in WAYS.into_iter().filter(|&w| has(f, w, true)) {
                let block = f.info().block;
                let mut gpu = Gpu::new();
                gpu.words = if ran % 2 == 0 { Words::Uniform } else { Words::Push };
                let extent = [11 * block.width_px, 7 * block.height_px, 1];
                let a = gpu.surface(image(f, extent, 3, 1), f, 0, from);
                let b = gpu.surface(image(f, extent, 4, 1), f, 0, to);
                gpu.surfaces.iter_mut().for_each(without_nans);
                let before = gpu.surfaces.clone();
                let px =
                    |x: u32, y: u32| [x * block.width_px, y * block.height_px, 0].map(|v| v as i32);
                let source = copied(&before[a], px(2, 1), 1, 2);
                let target = copied(&before[b], px(1, 3), 2, 2);
                let size = [9 * block.width_px, 4 * block.height_px, 1];
                copy::image(&mut gpu, &source, &target, size).unwrap();
                let label = format!("{f}, {from:?} to {to:?}");
                let (s, d) = (&gpu.surfaces[a], &gpu.surfaces[b]);
                check(&label, (s, [2, 1, 1]), (&before[b], d, [1, 3, 2]), [9, 4, 2]);
                assert_eq!(gpu.areas, [(d.address, [1, 3, 2], [9, 4, 2])], "{label}");
                ran += 1;
            }
        }
    }
    assert!(ran > 2000, "{ran}");
}

#[test]
fn samples_are_copied_with_their_texels() {
    for f in [Format::R8_UNORM, Format::R5G6B5_UNORM_PACK16, Format::R32G32B32A32_SFLOAT] {
        for samples in [2, 4] {
            for from in WAYS.into_iter().filter(|&w| has(f, w, false)) {
                for to in WAYS.into_iter().filter(|&w| has(f, w, true)) {
                    let mut gpu = Gpu::new();
                    let info = image(f, [13, 6, 1], 2, samples);
                    let a = gpu.surface(info, f, 0, from);
                    let b = gpu.surface(info, f, 0, to);
                    let before = gpu.surfaces.clone();
                    let source = copied(&before[a], [1, 2, 0], 1, 1);
                    let target = copied(&before[b], [3, 0, 0], 0, 1);
                    copy::image(&mut gpu, &source, &target, [10, 4, 1]).unwrap();
                    let label = format!("{f} of {samples} samples, {from:?} to {to:?}");
                    let (s, d) = (&gpu.surfaces[a], &gpu.surfaces[b]);
                    check(&label, (s, [1, 2, 1]), (&before[b], d, [3, 0, 0]), [10, 4, 1]);
                }
            }
        }
    }
}

#[test]
fn slices_are_layers_of_another_image() {
    let f = Format::R16G16_UINT;
    for from in [Way::Tiled, Way::Words] {
        for to in [Way::Linear, Way::Words, Way::Drawn] {
            let mut gpu = Gpu::new();
            // Level 1 of a volume, to layers; and back.
            let a = gpu.surface(image(f, [24, 18, 10], 1, 1), f, 1, from);
            let b = gpu.surface(image(f, [16, 16, 1], 6, 1), f, 0, to);
            let before = gpu.surfaces.clone();
            let volume = copied(&before[a], [2, 3, 1], 0, 1);
            let layers = copied(&before[b], [4, 5, 0], 2, 3);
            copy::image(&mut gpu, &volume, &layers, [8, 6, 3]).unwrap();
            let label = format!("{from:?} to {to:?}");
            let (s, d) = (&gpu.surfaces[a], &gpu.surfaces[b]);
            check(&label, (s, [2, 3, 1]), (&before[b], d, [4, 5, 2]), [8, 6, 3]);
            if to != Way::Drawn {
                let before = gpu.surfaces.clone();
                let layers = copied(&before[b], [0, 0, 0], 1, 2);
                let volume = copied(&before[a], [1, 1, 2], 0, 1);
                copy::image(&mut gpu, &layers, &volume, [7, 7, 2]).unwrap();
                let (s, d) = (&gpu.surfaces[b], &gpu.surfaces[a]);
                check(&label, (s, [0, 0, 1]), (&before[a], d, [1, 1, 2]), [7, 7, 2]);
            }
        }
    }
}

#[test]
fn blocks_are_texels_of_their_size() {
    for (a, b) in [
        (Format::BC1_RGBA_UNORM_BLOCK, Format::R32G32_UINT),
        (Format::BC7_UNORM_BLOCK, Format::R32G32B32A32_SFLOAT),
        (Format::ASTC_8x5_UNORM_BLOCK, Format::R32G32B32A32_UINT),
    ] {
        for way in [Way::Tiled, Way::Words] {
            let block = a.info().block;
            let mut gpu = Gpu::new();
            let size = [9 * block.width_px, 5 * block.height_px, 1];
            let x = gpu.surface(image(a, size, 1, 1), a, 0, way);
            let y = gpu.surface(image(b, [9, 5, 1], 1, 1), b, 0, Way::Words);
            gpu.surfaces.iter_mut().for_each(without_nans);
            let before = gpu.surfaces.clone();
            let px = [block.width_px as i32, 2 * block.height_px as i32, 0];
            let (blocks, texels) =
                (copied(&before[x], px, 0, 1), copied(&before[y], [2, 1, 0], 0, 1));
            // The extent is in pixels of the source.
            let extent = [6 * block.width_px, 3 * block.height_px, 1];
            copy::image(&mut gpu, &blocks, &texels, extent).unwrap();
            let label = format!("{a} to {b}, {way:?}");
            let (s, d) = (&gpu.surfaces[x], &gpu.surfaces[y]);
            check(&label, (s, [1, 2, 0]), (&before[y], d, [2, 1, 0]), [6, 3, 1]);
            let before = gpu.surfaces.clone();
            copy::image(&mut gpu, &texels, &blocks, [4, 2, 1]).unwrap();
            let (s, d) = (&gpu.surfaces[y], &gpu.surfaces[x]);
            check(&label, (s, [2, 1, 0]), (&before[x], d, [1, 2, 0]), [4, 2, 1]);
        }
    }
}

#[test]
fn depth_and_stencil_are_copied_one_after_the_other() {
    let f = Format::D32_SFLOAT_S8_UINT;
    for to in [Way::Tiled, Way::Words, Way::Drawn] {
        let mut gpu = Gpu::new();
        let info = image(f, [10, 6, 1], 1, 1);
        let aspects = [Format::D32_SFLOAT, Format::S8_UINT];
        let all: Vec<usize> = [Way::Words, to]
            .into_iter()
            .flat_map(|way| aspects.map(|aspect| (aspect, way)))
            .map(|(aspect, way)| gpu.surface(info, aspect, 0, way))
            .collect();
        // Both aspects of an image have one address.
        for pair in all.chunks_exact(2) {
            gpu.surfaces[pair[1]].address = gpu.surfaces[pair[0]].address;
        }
        if to == Way::Tiled {
            // Only one of them can be in the interpreter's memory at that address.
            gpu.surfaces[all[3]].way = Way::Words;
        }
        without_nans(&mut gpu.surfaces[all[0]]);
        let before = gpu.surfaces.clone();
        let both = |n: usize| ImageCopy {
            layers: vk::ImageSubresourceLayers {
                aspect_mask: vk::ImageAspectFlags::DEPTH | vk::ImageAspectFlags::STENCIL,
                ..copied(&before[n], [0; 3], 0, 1).layers
            },
            ..copied(&before[n], [1, 1, 0], 0, 1)
        };
        copy::image(&mut gpu, &both(all[0]), &both(all[2]), [8, 4, 1]).unwrap();
        for k in 0..2 {
            let (a, b) = (all[k], all[k + 2]);
            let label = format!("{}, {to:?}", aspects[k]);
            let (s, d) = (&gpu.surfaces[a], &gpu.surfaces[b]);
            check(&label, (s, [1, 1, 0]), (&before[b], d, [1, 1, 0]), [8, 4, 1]);
        }
    }
}

#[test]
fn buffers_to_images_and_back_in_all_ways() {
    let mut ran = 0;
    for f in formats() {
        for way in WAYS.into_iter().filter(|&w| has(f, w, true)) {
            let block = f.info().block;
            let bytes = block.bytes as usize;
            let mut gpu = Gpu::new();
            let extent = [10 * block.width_px, 8 * block.height_px, 1];
            let n = gpu.surface(image(f, extent, 3, 1), f, 0, way);
            let buffer = gpu.buffer(16 * 8 * 2 * bytes + 256);
            let pixels = BufferPixels {
                address: buffer + 2 * bytes as u64,
                row_pitch: 13 * bytes as u64,
                slice_pitch: 6 * 13 * bytes as u64,
            };
            let at = |x: usize, y: usize, z: usize| (2 + x + 13 * (y + 6 * z)) * bytes;
            if way == Way::Own || (way == Way::Drawn && f == Format::D32_SFLOAT) {
                let mut as_surface = gpu.surfaces[n].clone();
                as_surface.bytes = gpu.buffers[&buffer].clone();
                as_surface.bytes.truncate(as_surface.bytes.len() / bytes * bytes);
                without_nans(&mut as_surface);
                gpu.buffers.insert(buffer, as_surface.bytes);
            }
            gpu.surfaces.iter_mut().for_each(without_nans);
            let before = gpu.surfaces.clone();
            let px = [block.width_px as i32, 2 * block.height_px as i32, 0];
            let part = copied(&before[n], px, 1, 2);
            let extent = [7 * block.width_px, 5 * block.height_px, 1];
            copy::buffer_image(&mut gpu, &part, pixels, extent, true).unwrap();
            let label = format!("{f}, {way:?}");
            for (z, y, x) in
                (0..2).flat_map(|z| (0..5).flat_map(move |y| (0..7).map(move |x| (z, y, x))))
            {
                let right = &gpu.buffers[&buffer][at(x, y, z)..][..bytes];
                let place = [1 + x as u32, 2 + y as u32, 1 + z as u32];
                assert_eq!(gpu.surfaces[n].get(place), right, "{label}: {place:?}");
            }
            assert_eq!(gpu.surfaces[n].get([0, 2, 1]), before[n].get([0, 2, 1]), "{label}");
            ran += 1;
            if !has(f, way, false) {
                continue;
            }
            let old = gpu.buffers[&buffer].clone();
            let part = copied(&before[n], [0; 3], 0, 2);
            let extent = [10 * block.width_px, 6 * block.height_px, 1];
            gpu.surfaces = before.clone();
            copy::buffer_image(&mut gpu, &part, pixels, extent, false).unwrap();
            let mut right = old;
            for (z, y, x) in
                (0..2).flat_map(|z| (0..6).flat_map(move |y| (0..10).map(move |x| (z, y, x))))
            {
                let texel = gpu.surfaces[n].get([x as u32, y as u32, z as u32]);
                right[at(x, y, z)..][..bytes].copy_from_slice(texel);
            }
            assert_eq!(gpu.buffers[&buffer], right, "{label}, to the buffer");
        }
    }
    assert!(ran > 500, "{ran}");
}

#[test]
fn a_texel_fills_a_part_of_an_image() {
    for f in [Format::R8G8B8_UNORM, Format::R16G16B16_SINT, Format::R32G32B32_UINT] {
        let bytes = f.info().block.bytes as u8;
        let texel: Vec<u8> = (1..=bytes).collect();
        let mut gpu = Gpu::new();
        let n = gpu.surface(image(f, [10, 8, 1], 3, 1), f, 0, Way::Linear);
        let before = gpu.surfaces.clone();
        let part = copied(&before[n], [1, 2, 0], 1, 2);
        copy::fill_image(&mut gpu, &part, &texel, [7, 5, 1]).unwrap();
        for (z, y, x) in
            (0..3).flat_map(|z| (0..8).flat_map(move |y| (0..10).map(move |x| (z, y, x))))
        {
            let inside = z >= 1 && (2..7).contains(&y) && (1..8).contains(&x);
            let right = if inside { &texel[..] } else { before[n].get([x, y, z]) };
            assert_eq!(gpu.surfaces[n].get([x, y, z]), right, "{f}: {:?}", [x, y, z]);
        }
    }
}

#[test]
fn a_copy_without_texels_launches_nothing() {
    let f = Format::R8_UNORM;
    let mut gpu = Gpu::new();
    let a = gpu.surface(image(f, [8, 8, 1], 1, 1), f, 0, Way::Linear);
    let surfaces = gpu.surfaces.clone();
    let part = copied(&surfaces[a], [0; 3], 0, 1);
    copy::image(&mut gpu, &part, &part, [0, 8, 1]).unwrap();
    assert!(gpu.log.is_empty());
}

#[test]
fn bytes_of_buffers() {
    for (from, to, size) in [
        (0, 0, 1),
        (3, 5, 7),
        (16, 32, 16),
        (4, 8, 12),
        (2, 2, 4098),
        (0, 16, 16 * 1024),
        (0, 0, 40000),
    ] {
        let mut gpu = Gpu::new();
        let (a, b) = (gpu.buffer(50000), gpu.buffer(50000));
        let (source, mut right) = (gpu.buffers[&a].clone(), gpu.buffers[&b].clone());
        copy::buffer(&mut gpu, a + from as u64, b + to as u64, size as u64).unwrap();
        right[to..to + size].copy_from_slice(&source[from..from + size]);
        assert!(gpu.buffers[&b] == right, "{size} bytes from {from} to {to}");
    }
}

#[test]
fn fills_and_updates() {
    let mut gpu = Gpu::new();
    let b = gpu.buffer(400);
    let mut right = gpu.buffers[&b].clone();
    copy::fill(&mut gpu, b + 8, 4 * 45, 0x0123_4567).unwrap();
    right[8..188].chunks_exact_mut(4).for_each(|w| w.copy_from_slice(&[0x67, 0x45, 0x23, 1]));
    copy::word(&mut gpu, b + 300, 9).unwrap();
    right[300..304].copy_from_slice(&[9, 0, 0, 0]);
    copy::update(&mut gpu, b + 200, &[1, 2, 3, 4, 5, 6, 7, 8]).unwrap();
    right[200..208].copy_from_slice(&[1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(gpu.buffers[&b], right);
}
