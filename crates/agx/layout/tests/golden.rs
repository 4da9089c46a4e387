//! Layouts against figures measured on hardware and against the cases of Mesa's unit tests.
#![allow(non_snake_case)]

use tepui_agx_layout::{Dimension, ImageDesc, Layout, Tiling, Usage};
use tepui_format::Format;

fn hex(text: &str) -> u64 {
    u64::from_str_radix(text, 16).unwrap()
}

/// Every size (and metadata offset) that Metal was seen to allocate.
#[test]
fn sizes_measured_on_hardware() {
    let mut section = ImageDesc::new_2d(Format::R8_UNORM, Tiling::Linear, 1, 1);
    let mut checked = 0;
    for line in include_str!("golden/metal_sizes.txt").lines().filter(|l| !l.starts_with('#')) {
        if let Some(header) = line.strip_prefix('[') {
            let words: Vec<_> = header.trim_end_matches(']').split(' ').collect();
            section.tiling = words[0].parse().unwrap();
            section.shape.format = words[1].parse().unwrap();
            section.shape.layers = words[2].parse().unwrap();
            section.shape.levels = words[3].parse().unwrap();
            section.shape.samples = words[4].parse().unwrap();
            continue;
        }
        let (width, runs) = line.split_once(": ").unwrap();
        section.shape.width_px = width.parse().unwrap();
        for run in runs.split(' ') {
            let (heights, figures) = run.split_once('=').unwrap();
            let (size, metadata) = match figures.split_once('@') {
                Some((size, metadata)) => (hex(size), Some(hex(metadata))),
                None => (hex(figures), None),
            };
            for height in heights.split(',') {
                section.shape.height_px = height.parse().unwrap();
                let layout = Layout::new(&section).unwrap();
                assert_eq!(layout.size_B, size, "{section:?}");
                if metadata.is_some() {
                    let offset = layout.metadata.as_ref().map(|m| m.offset_B);
                    assert_eq!(offset, metadata, "{section:?}");
                }
                checked += 1;
            }
        }
    }
    assert_eq!(checked, 33711);
}

#[test]
fn level_offsets_measured_on_hardware() {
    for line in include_str!("golden/metal_levels.txt").lines().filter(|l| !l.starts_with('#')) {
        let (head, offsets) = line.split_once(": ").unwrap();
        let words: Vec<_> = head.split([' ', 'x', '=']).collect();
        let [format, width, height, _, levels] = words[..] else { panic!("{line}") };
        let mut desc = ImageDesc::new_2d(
            format.parse().unwrap(),
            Tiling::Twiddled,
            width.parse().unwrap(),
            height.parse().unwrap(),
        );
        desc.shape.levels = levels.parse().unwrap();
        let layout = Layout::new(&desc).unwrap();
        for (level, offset) in layout.levels().iter().zip(offsets.split(' ')) {
            assert_eq!(level.offset_B, hex(offset), "{line}");
        }
    }
}

/// source: Mesa 25.0.7, src/asahi/layout/tests/test-layout.cpp.
#[test]
fn cases_of_mesas_tests() {
    use Dimension::*;
    use Format::*;
    use Tiling::*;
    struct Case {
        image: (Tiling, Format, Dimension),
        size: (u32, u32, u32),
        levels: u32,
        layer_stride_B: Option<u64>,
        size_B: u64,
    }
    #[rustfmt::skip]
    let cases = [
        Case { image: (Twiddled, R8G8B8A8_UNORM, Cube), size: (512, 512, 6), levels: 1, layer_stride_B: Some(0x10_0000), size_B: 0x60_0000 },
        Case { image: (Twiddled, R32_SFLOAT, Cube), size: (63, 63, 6), levels: 6, layer_stride_B: Some(0x8000), size_B: 0x3_0000 },
        Case { image: (Linear, R8_UINT, D2), size: (81946, 1, 1), levels: 1, layer_stride_B: None, size_B: 82048 },
        Case { image: (Twiddled, R8G8B8A8_UINT, D2), size: (1024, 1024, 1), levels: 11, layer_stride_B: None, size_B: 0x55_5680 },
        Case { image: (Twiddled, R8G8B8A8_UINT, D2), size: (1024, 1024, 1), levels: 4, layer_stride_B: None, size_B: 0x55_5680 },
        Case { image: (Twiddled, R32_SFLOAT, D2), size: (32, 16, 64), levels: 4, layer_stride_B: Some(0xc00), size_B: 0x3_0000 },
        Case { image: (Twiddled, R32_SFLOAT, D3), size: (32, 16, 64), levels: 4, layer_stride_B: Some(0xc80), size_B: 0x3_2000 },
    ];
    for Case { image: (tiling, format, dimension), size, levels, layer_stride_B, size_B } in cases {
        let mut desc = ImageDesc::new_2d(format, tiling, size.0, size.1);
        desc.shape.dimension = dimension;
        desc.shape.levels = levels;
        *(if dimension == D3 { &mut desc.shape.depth_px } else { &mut desc.shape.layers }) = size.2;
        let layout = Layout::new(&desc).unwrap();
        assert_eq!(layout.size_B, size_B, "{desc:?}");
        assert_eq!(layout.layer_stride_B, layer_stride_B.unwrap_or(layout.layer_stride_B));
    }
}

/// Effect of `Usage` on layouts. source: Mesa, layout.c, "page_aligned_layers".
#[test]
fn usage_aligns_layers() {
    let mut desc = ImageDesc::new_2d(Format::R8_UNORM, Tiling::Twiddled, 32, 32);
    let aligned = |desc: &ImageDesc| {
        let layout = Layout::new(desc).unwrap();
        assert_eq!(layout.layer_stride_B.is_multiple_of(0x4000), layout.page_aligned_layers);
        layout.page_aligned_layers
    };
    assert!(!aligned(&desc));
    desc.usage = Usage { renderable: true, writable: false };
    assert!(!aligned(&desc), "a single layer to render to needs no alignment");
    desc.shape.layers = 2;
    assert!(aligned(&desc));
    desc.shape.layers = 1;
    desc.usage = Usage { renderable: false, writable: true };
    assert!(aligned(&desc), "the pixel back end always needs it");
}

/// Layouts agree with those of Mesa's library.
#[test]
fn layouts_by_mesa() {
    let mut checked = 0;
    for line in include_str!("golden/mesa_layouts.txt").lines().filter(|l| !l.starts_with('#')) {
        let (image, layout) = line.split_once(" => ").unwrap();
        let words: Vec<_> = image.split(' ').collect();
        let number = |text: &str| text.split_once('=').map_or(text, |v| v.1).parse().unwrap();
        let size: Vec<u32> = words[2].split('x').map(number).collect();
        let mut desc = ImageDesc::new_2d(
            words[0].parse().unwrap(),
            words[1].parse().unwrap(),
            size[0],
            size[1],
        );
        desc.shape.depth_px = size[2];
        if words[3] == "3d" {
            desc.shape.dimension = Dimension::D3;
        }
        desc.shape.layers = number(words[4]);
        desc.shape.samples = number(words[5]);
        desc.shape.levels = number(words[6]);
        let usage = words[7].trim_start_matches("usage=");
        desc.usage = Usage { renderable: usage.contains('r'), writable: usage.contains('w') };

        let got = Layout::new(&desc).unwrap();
        let levels: Vec<_> =
            got.levels().iter().map(|l| format!("{:x}:{}", l.offset_B, l.tile_el)).collect();
        let mut text = format!(
            "{:x} {:x} {} {}",
            got.size_B,
            got.layer_stride_B,
            u8::from(got.page_aligned_layers),
            levels.join(",")
        );
        if let Some(metadata) = &got.metadata {
            let levels: Vec<_> =
                metadata.levels().iter().map(|l| format!("{:x}", l.offset_B)).collect();
            let (offset_B, stride_B) = (metadata.offset_B, metadata.layer_stride_B);
            text += &format!(" {offset_B:x} {stride_B:x} {}", levels.join(","));
        }
        assert_eq!(text, layout, "{image}");
        checked += 1;
    }
    assert_eq!(checked, 260);
}
