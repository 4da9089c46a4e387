//! Layouts against the cases of Mesa's unit tests.
//! source: Mesa 25.0.7, src/panfrost/lib/tests/test-layout.cpp.
#![allow(non_snake_case)]

use tepui_format::Format;
use tepui_mali_chips::Arch;
use tepui_mali_layout::afbc::{Afbc, Superblock};
use tepui_mali_layout::{Dimension, ImageDesc, Layout, Modifier};

#[test]
fn mipmapped_etc2() {
    let (format, modifier) = (Format::ETC2_R8G8B8_UNORM_BLOCK, Modifier::UInterleaved);
    let mut desc = ImageDesc::new_2d(Arch(4), format, modifier, 128, 128);
    desc.shape.levels = 8;
    let layout = Layout::new(&desc).unwrap();
    let offsets: Vec<_> = layout.levels().iter().map(|l| l.offset_B).collect();
    assert_eq!(offsets, [0, 8192, 10240, 10752, 10880, 11008, 11136, 11264]);
}

#[test]
fn astc_5x5() {
    let format = Format::ASTC_5x5_UNORM_BLOCK;
    // (arrangement, row stride, size)
    for (modifier, row_stride_B, size_B) in
        [(Modifier::UInterleaved, 768, 2304), (Modifier::Linear, 192, 1920)]
    {
        let layout = Layout::new(&ImageDesc::new_2d(Arch(4), format, modifier, 50, 50)).unwrap();
        let level = layout.levels()[0];
        assert_eq!((level.row_stride_B, level.size_B), (row_stride_B, size_B));
        assert_eq!(level.surface_stride_B, size_B);
    }
}

#[test]
fn afbc() {
    struct Case {
        arch: u8,
        format: Format,
        tiled: bool,
        size: (u32, u32),
        row_stride_B: u64,
        header_B: u64,
        body_B: u64,
    }
    #[rustfmt::skip]
    let cases = [
        Case { arch: 7, format: Format::R8G8B8A8_UNORM, tiled: true, size: (917, 417), row_stride_B: 8192, header_B: 32768, body_B: 2_097_152 },
        Case { arch: 5, format: Format::R8_UNORM, tiled: false, size: (1, 1), row_stride_B: 16, header_B: 64, body_B: 256 },
        Case { arch: 6, format: Format::R8_UNORM, tiled: false, size: (1, 1), row_stride_B: 16, header_B: 128, body_B: 256 },
        Case { arch: 7, format: Format::R8_UNORM, tiled: true, size: (1, 1), row_stride_B: 1024, header_B: 4096, body_B: 16384 },
    ];
    for case in cases {
        let modifier = Modifier::Afbc(Afbc { tiled: case.tiled, ..Afbc::PLAIN });
        let (w, h) = case.size;
        let desc = ImageDesc::new_2d(Arch(case.arch), case.format, modifier, w, h);
        let level = Layout::new(&desc).unwrap().levels()[0];
        let afbc = level.afbc.unwrap();
        assert_eq!(level.row_stride_B, case.row_stride_B);
        assert_eq!((afbc.header_size_B, afbc.body_size_B), (case.header_B, case.body_B));
        assert_eq!(level.size_B, case.header_B + case.body_B);
    }
}

#[test]
fn afbc_3d() {
    let modifier = Modifier::Afbc(Afbc::PLAIN);
    let mut desc = ImageDesc::new_2d(Arch(7), Format::R8G8B8A8_UNORM, modifier, 8, 32);
    (desc.shape.dimension, desc.shape.depth_px) = (Dimension::D3, 16);
    let level = Layout::new(&desc).unwrap().levels()[0];
    let afbc = level.afbc.unwrap();
    assert_eq!(level.row_stride_B, 16);
    // Mesa's case is for an architecture that aligns bodies to 64 bytes; v7 aligns to 128.
    assert_eq!((afbc.header_stride_B, afbc.header_size_B), (128, 2048));
    assert_eq!((level.surface_stride_B, afbc.body_size_B), (2048, 32768));
}

/// Rows of headers, for superblocks of each shape, in raster order and tiled.
#[test]
fn afbc_strides() {
    for superblock in [Superblock::S16x16, Superblock::S32x8, Superblock::S64x4] {
        for columns in [1, 4, 17, 39] {
            for (tiled, width, stride_B) in
                [(false, columns, 16 * columns), (true, columns * 8, 1024 * columns)]
            {
                let afbc = Afbc { superblock, tiled, ..Afbc::PLAIN };
                let (modifier, width) = (Modifier::Afbc(afbc), superblock.extent().w * width);
                let desc = ImageDesc::new_2d(Arch(7), Format::R8G8B8A8_UNORM, modifier, width, 100);
                let level = Layout::new(&desc).unwrap().levels()[0];
                assert_eq!(level.row_stride_B, u64::from(stride_B));
            }
        }
    }
}

/// source: drm_fourcc.h.
#[test]
fn modifiers() {
    assert_eq!(Modifier::UInterleaved.drm_modifier(), 0x0810_0000_0000_0001);
    assert_eq!(Modifier::Afbc(Afbc::PLAIN).drm_modifier(), 0x0800_0000_0000_0041);
    let all = Afbc { tiled: true, ytr: true, solid_color: true, ..Afbc::PLAIN };
    assert_eq!(Modifier::Afbc(all).drm_modifier(), 0x0800_0000_0000_0351);
}

/// The curve's first elements, by hand: x, then x and y with x mirrored where y is odd.
#[test]
fn the_curve() {
    use tepui_mali_layout::{Texel, index_in_tile};
    let order = [(0, 0), (1, 0), (1, 1), (0, 1), (2, 0), (3, 0), (3, 1), (2, 1), (2, 2), (3, 2)];
    for (index, (x, y)) in (0..).zip(order) {
        assert_eq!(index_in_tile(x, y), index);
    }
    let (format, modifier) = (Format::R8_UNORM, Modifier::UInterleaved);
    let layout = Layout::new(&ImageDesc::new_2d(Arch(4), format, modifier, 32, 32)).unwrap();
    for (x_px, y_px) in (0..32).flat_map(|y| (0..32).map(move |x| (x, y))) {
        let tile = y_px / 16 * 2 + x_px / 16;
        let expected = tile * 256 + index_in_tile(x_px % 16, y_px % 16);
        let at = Texel { x_px, y_px, ..Texel::default() };
        assert_eq!(layout.texel_offset_B(at), Some(expected.into()));
    }
}

/// Layouts that Mesa's own library has computed.
#[test]
fn layouts_by_mesa() {
    let mut checked = 0;
    for line in include_str!("golden/mesa_layouts.txt").lines().filter(|l| !l.starts_with('#')) {
        let (image, layout) = line.split_once(" => ").unwrap();
        let words: Vec<_> = image.split(' ').collect();
        let number = |text: &str| text.split_once('=').map_or(text, |v| v.1).parse().unwrap();
        let modifier = match words[1].split_once(':') {
            Some((_, variant)) => Modifier::Afbc(variant.parse().unwrap()),
            None if words[1] == "linear" => Modifier::Linear,
            None => Modifier::UInterleaved,
        };
        let arch = Arch(words[2].trim_start_matches('v').parse().unwrap());
        let size: Vec<u32> = words[3].split('x').map(number).collect();
        let mut desc =
            ImageDesc::new_2d(arch, words[0].parse().unwrap(), modifier, size[0], size[1]);
        desc.shape.depth_px = size[2];
        if words[4] == "3d" {
            desc.shape.dimension = Dimension::D3;
        }
        desc.shape.layers = number(words[5]);
        desc.shape.samples = number(words[6]);
        desc.shape.levels = number(words[7]);
        desc.checksums = number(words[8]) != 0;
        let got = Layout::new(&desc).unwrap();
        let levels: Vec<_> = got
            .levels()
            .iter()
            .map(|l| {
                let mut text = format!(
                    "{:x}:{:x}:{:x}:{:x}",
                    l.offset_B, l.size_B, l.row_stride_B, l.surface_stride_B
                );
                if let Some(afbc) = l.afbc {
                    text += &format!(":{:x}:{:x}", afbc.header_size_B, afbc.body_size_B);
                }
                if let Some(checksums) = l.checksums {
                    text += &format!(":{:x}", checksums.size_B);
                }
                text
            })
            .collect();
        let text = format!("{:x} {:x} {}", got.size_B, got.layer_stride_B, levels.join(","));
        assert_eq!(text, layout, "{image}");
        checked += 1;
    }
    assert_eq!(checked, 260);
}
