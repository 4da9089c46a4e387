//! Properties that hold for every layout.
#![allow(non_snake_case)]

use std::collections::HashSet;

use proptest::prelude::*;
use tepui_format::Format;
use tepui_intel_layout::{
    Dimension, ImageDesc, ImageLayout, Layout, LayoutError, MoveError, Msaa, StrideRule, Texel,
    Threads, Tiling, TilingRule, ys_tile_el,
};

const FORMATS: [Format; 12] = [
    Format::R8_UNORM,
    Format::R8G8_UNORM,
    Format::R8G8B8A8_UNORM,
    Format::R32G32B32_SFLOAT,
    Format::R32G32_UINT,
    Format::R32G32B32A32_SFLOAT,
    Format::D16_UNORM,
    Format::D32_SFLOAT,
    Format::S8_UINT,
    Format::ETC2_R8G8B8_UNORM_BLOCK,
    Format::BC7_UNORM_BLOCK,
    Format::ASTC_5x5_UNORM_BLOCK,
];

prop_compose! {
    fn images(max: u32)(
        format in prop::sample::select(&FORMATS[..]),
        tiling in prop::sample::select(&Tiling::ALL[..]),
        dimension in prop::sample::select(
            &[Dimension::D1, Dimension::D2, Dimension::D2, Dimension::D3, Dimension::Cube][..],
        ),
        (width_px, height_px, third) in (1..=max, 1..=max, 1..=4u32),
        samples in prop::sample::select(&[1u32, 1, 1, 2, 4, 8, 16][..]),
        levels in 1..=7u32,
        (may_have_aux, stride) in (any::<bool>(), prop::option::of(0..=40u32)),
    ) -> ImageDesc {
        let mut desc = ImageDesc::new_2d(format, tiling, width_px, height_px);
        desc.shape.dimension = dimension;
        desc.shape.samples = samples;
        match dimension {
            Dimension::D1 => (desc.shape.height_px, desc.shape.layers) = (1, third),
            Dimension::D2 => desc.shape.layers = third,
            Dimension::D3 => desc.shape.depth_px = third,
            Dimension::Cube => (desc.shape.height_px, desc.shape.layers) = (width_px, 6 * third),
        }
        desc.may_have_aux = may_have_aux;
        desc.shape.levels = levels.min(desc.shape.full_chain());
        let block = format.info().block;
        desc.linear_stride_B =
            stride.map(|more| (width_px.div_ceil(block.width_px) + 20 + more) * block.bytes);
        desc
    }
}

fn layouts(max: u32) -> impl Strategy<Value = Layout> {
    images(max).prop_filter_map("no layout", |desc| {
        // Only linear images have a stride.
        let plain = ImageDesc { linear_stride_B: None, ..desc };
        Layout::new(&desc).or_else(|_| Layout::new(&plain)).ok()
    })
}

fn texels(layout: &Layout, mut each: impl FnMut(Texel)) {
    let shape = &layout.desc().shape;
    for (level, at) in (0..).zip(layout.levels()) {
        let three = shape.dimension == Dimension::D3;
        for slice in 0..if three { at.depth_px } else { shape.layers } {
            let (layer, z_px) = if three { (0, slice) } else { (slice, 0) };
            for sample in 0..shape.samples {
                for y_px in 0..at.extent_px.h {
                    for x_px in 0..at.extent_px.w {
                        each(Texel { level, layer, x_px, y_px, z_px, sample });
                    }
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Every sample has bytes of its own inside of the image.
    #[test]
    fn no_two_texels_share_an_address(layout in layouts(40)) {
        let block = layout.desc().shape.format.info().block;
        let known = match layout.desc().tiling {
            Tiling::Yf => layout.desc().shape.dimension != Dimension::D3,
            tiling => tiling != Tiling::Ys,
        };
        let mut seen = HashSet::new();
        texels(&layout, |texel| {
            let offset = layout.texel_offset_B(texel);
            assert_eq!(offset.is_some(), known, "{texel:?}");
            let first =
                texel.x_px % block.width_px == 0 && texel.y_px % block.height_px == 0;
            if let Some(offset) = offset.filter(|_| first) {
                assert!(offset + u64::from(block.bytes) <= layout.size_B, "{texel:?}");
                for byte in 0..u64::from(block.bytes) {
                    assert!(seen.insert(offset + byte), "{texel:?}");
                }
            }
        });
        let at = Texel { level: layout.levels().len() as u32, ..Texel::default() };
        prop_assert_eq!(layout.texel_offset_B(at), None);
        prop_assert!(layout.size_B.is_multiple_of(layout.row_pitch_B));
    }

    /// Each level and layer has Ys tiles of its own inside of the image, but for the tail, which is one tile.
    #[test]
    fn no_two_levels_share_a_tile(desc in images(700), depth in 1..=70u32) {
        let mut desc = ImageDesc { tiling: Tiling::Ys, linear_stride_B: None, ..desc };
        if desc.shape.dimension == Dimension::D3 {
            desc.shape.depth_px = depth;
        }
        let Ok(layout) = Layout::of_gen12(&desc) else { return Ok(()) };
        let [w, h, d] = ys_tile_el(&desc).unwrap();
        let three = desc.shape.dimension == Dimension::D3;
        let mut seen = HashSet::new();
        for (level, at) in (0..).zip(layout.levels()) {
            if layout.tail.is_some_and(|tail| level > tail) {
                continue;
            }
            for layer in 0..if three { 1 } else { desc.shape.layers } {
                let starts = |size: u32, step: u32| (0..size).step_by(step as usize);
                for z in starts(at.depth_px, d) {
                    for y in starts(at.extent_el.h, h) {
                        for x in starts(at.extent_el.w, w) {
                            let tile = layout.ys_tile_B(level, layer, [x, y, z]).unwrap();
                            prop_assert!(tile.is_multiple_of(1 << 16), "{tile:#x}");
                            prop_assert!(tile + (1 << 16) <= layout.size_B, "{tile:#x}");
                            prop_assert!(seen.insert(tile), "{level} {layer} {x} {y} {z}");
                        }
                    }
                }
            }
        }
    }

    /// Tiled pixels are at their addresses, and are read back.
    #[test]
    fn tiled_pixels_come_back(layout in layouts(60), pick in any::<[u32; 3]>()) {
        let shape = layout.desc().shape;
        let level = pick[0] % shape.levels;
        let layer = pick[1] % layout.level_layers(level);
        let sample = pick[2] % shape.samples;
        let region = layout.whole_level(level, layer, sample).unwrap();
        let block = shape.format.info().block;
        let (w, h) = (
            region.extent_px.w.div_ceil(block.width_px) as usize,
            region.extent_px.h.div_ceil(block.height_px) as usize,
        );
        let n = block.bytes as usize;
        let raster: Vec<u8> = (0..w * h * n).map(|i| (i * 7 + i / 251) as u8).collect();
        let mut image = vec![0xaa; layout.size_B as usize];
        match layout.tile(&mut image, region, &raster, w * n, Threads::One) {
            Ok(()) => {}
            Err(MoveError::Unknown) => {
                let is_ys = layout.desc().tiling == Tiling::Ys;
                prop_assert!(is_ys || shape.dimension == Dimension::D3);
                return Ok(());
            }
            Err(MoveError::Interleaved) => {
                prop_assert!(layout.msaa == Msaa::Interleaved);
                return Ok(());
            }
            Err(error) => panic!("{error}"),
        }
        let three = shape.dimension == Dimension::D3;
        for y in 0..h as u32 {
            for x in 0..w as u32 {
                let (layer, z_px) = if three { (0, layer) } else { (layer, 0) };
                let (x_px, y_px) = (x * block.width_px, y * block.height_px);
                let texel = Texel { level, layer, x_px, y_px, z_px, sample };
                let to = layout.texel_offset_B(texel).unwrap() as usize;
                let from = (y as usize * w + x as usize) * n;
                prop_assert_eq!(&image[to..to + n], &raster[from..from + n]);
            }
        }
        let mut back = vec![0; raster.len()];
        layout.detile(&image, region, &mut back, w * n, Threads::One).unwrap();
        prop_assert!(back == raster);
    }
}

#[test]
fn rules_that_are_broken_are_named() {
    let good = ImageDesc::new_2d(Format::R8G8B8A8_UNORM, Tiling::Y, 64, 64);
    assert!(Layout::new(&good).is_ok());
    let shape = good.shape;
    let with = |format| tepui_intel_layout::Shape { format, ..shape };
    let tiling = |tiling, rule| LayoutError::Tiling { tiling, rule };
    let stride = |stride_B, rule| LayoutError::Stride { stride_B, rule };
    let both = Format::D24_UNORM_S8_UINT;
    let odd = Format::R32G32B32_SFLOAT;
    for (desc, error) in [
        (ImageDesc { shape: with(both), ..good }, LayoutError::DepthStencil { format: both }),
        (
            ImageDesc { shape: with(Format::S8_UINT), ..good },
            tiling(Tiling::Y, TilingRule::StencilInW),
        ),
        (ImageDesc { tiling: Tiling::W, ..good }, tiling(Tiling::W, TilingRule::WForStencil)),
        (
            ImageDesc { shape: with(Format::D32_SFLOAT), tiling: Tiling::X, ..good },
            tiling(Tiling::X, TilingRule::DepthInY),
        ),
        (
            ImageDesc { shape: with(odd), ..good },
            LayoutError::BlockSize { format: odd, block_B: 12 },
        ),
        (ImageDesc { linear_stride_B: Some(4096), ..good }, stride(4096, StrideRule::OnlyLinear)),
        (
            ImageDesc { linear_stride_B: Some(128), tiling: Tiling::Linear, ..good },
            stride(128, StrideRule::TooShort),
        ),
        (
            ImageDesc { linear_stride_B: Some(258), tiling: Tiling::Linear, ..good },
            stride(258, StrideRule::WholeElements),
        ),
    ] {
        assert_eq!(Layout::new(&desc), Err(error));
    }
    let mut samples = good;
    samples.shape.samples = 4;
    assert!(Layout::new(&samples).is_ok());
    samples.tiling = Tiling::Linear;
    assert_eq!(Layout::new(&samples), Err(tiling(Tiling::Linear, TilingRule::SamplesInY)));
    samples.tiling = Tiling::Y;
    samples.shape.levels = 2;
    let error = LayoutError::Multisampled { samples: 4, dimension: Dimension::D2, levels: 2 };
    assert_eq!(Layout::new(&samples), Err(error));
}
