//! Any description of an image: a layout whose parts are inside of it, or an error. Pixels of small images
//! are tiled and detiled.

#![no_main]
#![allow(non_snake_case)]

use libfuzzer_sys::{arbitrary::Unstructured, fuzz_target};
use tepui_agx_layout as agx;
use tepui_format::Format;
use tepui_format::units::Extent;
use tepui_mali_chips::{Arch, CHIPS};
use tepui_mali_instancing::Instancing;
use tepui_mali_layout as mali;

/// Larger images are laid out, but not filled.
const MAX_IMAGE_B: u64 = 1 << 20;

/// A size that is mostly small, and sometimes arbitrary.
fn size(u: &mut Unstructured) -> u32 {
    match u.arbitrary::<u8>().unwrap_or(0) {
        0..=199 => u.int_in_range(0..=300).unwrap_or(1),
        200..=249 => u.int_in_range(0..=70_000).unwrap_or(1),
        _ => u.arbitrary().unwrap_or(1),
    }
}

fuzz_target!(|input: &[u8]| {
    let u = &mut Unstructured::new(input);
    let index = u.choose_index(Format::all().len()).unwrap_or(0);
    let Some(format) = Format::all().nth(index) else { return };
    let numbers: [u32; 6] = std::array::from_fn(|_| size(u));
    let part: [u32; 4] = std::array::from_fn(|_| size(u));
    let [kind, shape, flags]: [u8; 3] = u.arbitrary().unwrap_or_default();
    let stride: Option<u32> = u.arbitrary().unwrap_or(None);
    if kind % 2 == 0 {
        agx_image(format, numbers, part, kind / 2, shape, flags, stride);
    } else {
        mali_image(format, numbers, part, kind / 2, shape, flags, stride);
    }
    if let Ok(draw) = Instancing::new(numbers[0], numbers[1]) {
        let id = part[0];
        let vertex = id % draw.padded_vertices;
        assert_eq!(draw.apply(id), (vertex, id / draw.hw_divisor));
    }
});

fn agx_image(
    format: Format,
    [width_px, height_px, depth_px, layers, samples, levels]: [u32; 6],
    [x, y, w, h]: [u32; 4],
    tiling: u8,
    shape: u8,
    flags: u8,
    linear_stride_B: Option<u32>,
) {
    use agx::Dimension::{Cube, D1, D2, D3};
    let desc = agx::ImageDesc {
        shape: agx::Shape {
            format,
            dimension: [D1, D2, D3, Cube][shape as usize % 4],
            width_px,
            height_px,
            depth_px: if flags & 1 == 0 { 1 } else { depth_px },
            layers: if flags & 2 == 0 { 1 } else { layers },
            samples: if flags & 4 == 0 { 1 } else { samples },
            levels: if flags & 8 == 0 { 1 } else { levels },
        },
        tiling: agx::Tiling::ALL[tiling as usize % 3],
        usage: agx::Usage { renderable: flags & 16 != 0, writable: flags & 32 != 0 },
        linear_stride_B: linear_stride_B.filter(|_| flags & 64 != 0),
    };
    let Ok(layout) = agx::Layout::new(&desc) else { return };
    let mut end_B = 0;
    for level in layout.levels() {
        assert!(level.offset_B >= end_B);
        end_B = level.offset_B + level.size_B;
    }
    assert!(end_B <= layout.layer_stride_B && layout.layer_stride_B <= layout.size_B);
    let level = x % layout.levels().len() as u32;
    let at = agx::Texel { level, layer: y, x_px: w, y_px: h, z_px: x, sample: y };
    assert!(layout.texel_offset_B(at).is_none_or(|at| at < layout.size_B));
    if layout.size_B > MAX_IMAGE_B {
        return;
    }
    let (origin_px, extent_px) = ((x, y), Extent::new(w, h));
    let region = agx::Region { level, layer: y % 4, sample: 0, origin_px, extent_px };
    let mut image = vec![0; layout.size_B as usize];
    let raster: Vec<u8> = (0..layout.size_B).map(|i| i as u8).collect();
    let stride_B = w as usize * layout.element_B as usize;
    if layout.tile(&mut image, region, &raster, stride_B, agx::Threads::One).is_ok() {
        let mut back = vec![0; raster.len()];
        layout
            .detile(&image, region, &mut back, stride_B, agx::Threads::One)
            .expect("it was tiled");
        let row_B = w.div_ceil(format.info().block.width_px) as usize * layout.element_B as usize;
        for y in 0..h.div_ceil(format.info().block.height_px) as usize {
            assert!(back[y * stride_B..][..row_B] == raster[y * stride_B..][..row_B]);
        }
    }
}

fn mali_image(
    format: Format,
    [width_px, height_px, depth_px, layers, samples, levels]: [u32; 6],
    [x, y, w, h]: [u32; 4],
    modifier: u8,
    shape: u8,
    flags: u8,
    stride: Option<u32>,
) {
    use mali::Dimension::{Cube, D1, D2, D3};
    let drm = match modifier % 4 {
        0 => 0,
        1 => mali::Modifier::UInterleaved.drm_modifier(),
        _ => 0x08 << 56 | 0x40 | u64::from(modifier / 4) | u64::from(flags & 3) << 8,
    };
    let Some(modifier) = mali::Modifier::from_drm_modifier(drm) else { return };
    assert_eq!(modifier.drm_modifier(), drm);
    let desc = mali::ImageDesc {
        arch: CHIPS.get(shape as usize / 4).map_or(Arch(7), |chip| chip.arch),
        shape: mali::Shape {
            format,
            dimension: [D1, D2, D3, Cube][shape as usize % 4],
            width_px,
            height_px,
            depth_px: if flags & 1 == 0 { 1 } else { depth_px },
            layers: if flags & 2 == 0 { 1 } else { layers },
            samples: if flags & 4 == 0 { 1 } else { samples },
            levels: if flags & 8 == 0 { 1 } else { levels },
        },
        modifier,
        checksums: flags & 16 != 0,
        explicit: stride
            .filter(|_| flags & 64 != 0)
            .map(|row_stride_B| mali::ExplicitLayout { offset_B: x, row_stride_B }),
    };
    let Ok(layout) = mali::Layout::new(&desc) else { return };
    let mut end_B = 0;
    for level in layout.levels() {
        assert!(level.offset_B >= end_B);
        end_B = level.offset_B + level.size_B;
    }
    assert!(end_B <= layout.layer_stride_B && end_B <= layout.size_B);
    let level = x % layout.levels().len() as u32;
    let at = mali::Texel { level, layer: y, x_px: w, y_px: h, z_px: x, sample: y };
    assert!(layout.texel_offset_B(at).is_none_or(|at| at < layout.size_B));
    let _ = layout.afbc_header_offset_B(level, y, x, w, h);
    if layout.size_B > MAX_IMAGE_B {
        return;
    }
    let extent_px = Extent::new(w, h);
    let region = mali::Region { level, layer: y % 4, sample: x % 4, origin_px: (x, y), extent_px };
    let mut image = vec![0; layout.size_B as usize];
    let raster: Vec<u8> = (0..layout.size_B).map(|i| i as u8).collect();
    let block = format.info().block;
    let row_B = w.div_ceil(block.width_px) as usize * block.bytes as usize;
    if layout.tile(&mut image, region, &raster, row_B, agx::Threads::One).is_ok() {
        let mut back = vec![0; raster.len()];
        layout.detile(&image, region, &mut back, row_B, agx::Threads::One).expect("it was tiled");
        let len = row_B * h.div_ceil(block.height_px) as usize;
        assert!(back[..len] == raster[..len]);
    }
}
