//! Properties of every layout.
#![allow(non_snake_case)]

use proptest::prelude::*;
use tepui_agx_layout::{
    Dimension, ImageDesc, ImageLayout, Layout, LayoutError, MoveError, Region, Shape, ShapeError,
    Texel, Threads, Tiling, Usage,
};
use tepui_format::Format;
use tepui_format::units::{El, Extent};

/// Formats of every block shape and size.
const FORMATS: [Format; 10] = [
    Format::R8_UNORM,
    Format::R16_SFLOAT,
    Format::R8G8B8A8_UNORM,
    Format::R32G32_UINT,
    Format::R32G32B32A32_SFLOAT,
    Format::D32_SFLOAT,
    Format::S8_UINT,
    Format::BC1_RGB_UNORM_BLOCK,
    Format::ASTC_8x5_UNORM_BLOCK,
    Format::G8B8G8R8_422_UNORM,
];

prop_compose! {
    fn images(max: u32)(
        format in prop::sample::select(&FORMATS[..]),
        tiling in prop::sample::select(&Tiling::ALL[..]),
        dimension in prop::sample::select(&[Dimension::D2, Dimension::D3][..]),
        (width_px, height_px, third) in (1..=max, 1..=max, 1..=4u32),
        samples in prop::sample::select(&[1, 2, 4][..]),
        levels in 1..=4u32,
        (renderable, writable) in any::<(bool, bool)>(),
    ) -> ImageDesc {
        let mut desc = ImageDesc::new_2d(format, tiling, width_px, height_px);
        desc.shape.dimension = dimension;
        desc.usage = Usage { renderable, writable };
        desc.shape.samples = samples;
        match dimension {
            Dimension::D3 => desc.shape.depth_px = third,
            _ => desc.shape.layers = third,
        }
        desc.shape.levels = levels.min(desc.shape.full_chain());
        desc
    }
}

/// Layouts of those images that have one.
fn layouts(max: u32) -> impl Strategy<Value = Layout> {
    images(max).prop_filter_map("no layout", |desc| Layout::new(&desc).ok())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Every sample has its own bytes, inside its level, and levels, layers and metadata lie apart.
    #[test]
    fn samples_have_their_own_bytes(layout in layouts(80)) {
        let desc = *layout.desc();
        let block = desc.shape.format.info().block;
        let mut used = vec![false; layout.size_B as usize];
        let mut take = |offset_B: u64, bytes: u64| {
            for byte in &mut used[offset_B as usize..(offset_B + bytes) as usize] {
                assert!(!*byte, "{offset_B:#x} is used twice");
                *byte = true;
            }
        };
        for (l, level) in (0..).zip(layout.levels()) {
            for layer in 0..layout.slices() {
                let (layer, z_px) = match desc.shape.dimension {
                    Dimension::D3 => (0, layer),
                    _ => (layer, 0),
                };
                let at = Texel { level: l, layer, z_px, ..Texel::default() };
                if z_px >= level.depth_px {
                    prop_assert_eq!(layout.texel_offset_B(at), None);
                    continue;
                }
                let start_B = layout.level_offset_B(l, layer.max(z_px)).unwrap();
                for y_px in (0..level.extent_px.h).step_by(block.height_px as usize) {
                    for x_px in (0..level.extent_px.w).step_by(block.width_px as usize) {
                        for sample in 0..desc.shape.samples {
                            let at = Texel { x_px, y_px, sample, ..at };
                            let offset_B = layout.texel_offset_B(at).unwrap();
                            prop_assert!(offset_B >= start_B);
                            prop_assert!(offset_B + u64::from(block.bytes) <= start_B + level.size_B);
                            take(offset_B, block.bytes.into());
                        }
                    }
                }
            }
        }
        for (l, level) in (0..).zip(layout.metadata.iter().flat_map(|m| m.levels())) {
            let metadata = layout.metadata.as_ref().unwrap();
            for layer in 0..layout.slices() {
                let start_B = metadata.offset_B + u64::from(layer) * metadata.layer_stride_B;
                for y_tl in 0..level.tiles.h {
                    for x_tl in 0..level.tiles.w {
                        let offset_B = metadata.tile_offset_B(l, layer, x_tl, y_tl).unwrap();
                        prop_assert!(offset_B >= start_B + level.offset_B);
                        prop_assert!(offset_B + 8 <= start_B + level.offset_B + level.size_B);
                        take(offset_B, 8);
                    }
                }
            }
        }
    }

    #[test]
    fn the_sum_of_parts_is_the_size(layout in layouts(5000)) {
        let mut end_B = 0;
        for level in layout.levels() {
            prop_assert_eq!(level.offset_B, end_B);
            prop_assert_eq!(level.offset_B % 128, 0);
            end_B += level.size_B;
        }
        let page = if layout.page_aligned_layers { 0x4000 } else { 1 };
        prop_assert_eq!(layout.layer_stride_B, end_B.next_multiple_of(page));
        let mut size_B = layout.layer_stride_B * u64::from(layout.slices());
        if let Some(metadata) = &layout.metadata {
            prop_assert_eq!(metadata.offset_B, size_B);
            let levels_B = metadata.levels().iter().map(|l| l.size_B).sum::<u64>();
            prop_assert_eq!(metadata.layer_stride_B, levels_B);
            size_B += metadata.size_B;
        }
        prop_assert_eq!(layout.size_B, size_B.next_multiple_of(128));
    }

    /// A walk along a row gives what addressing each element gives.
    #[test]
    fn walking_equals_addressing(desc in images(300), x in 0..300u32, y in 0..300u32) {
        let Ok(layout) = Layout::new(&desc) else { return Ok(()) };
        if desc.tiling == Tiling::Linear {
            return Ok(());
        }
        let level = layout.levels()[0];
        let (x, y) = (x % level.extent_el.w, y % level.extent_el.h);
        let addresser = layout.level_addresser(0).unwrap();
        for (x, walked) in (x..level.extent_el.w).zip(addresser.row(x, y)) {
            prop_assert_eq!(walked, addresser.offset_B(x, y));
        }
    }

    /// Tiled pixels come back, are at the addresses of the layout, and leave all other bytes unchanged.
    #[test]
    fn moved_pixels_come_back(
        layout in layouts(120),
        corner: [u32; 4],
        level: u32,
        layer: u32,
    ) {
        let desc = *layout.desc();
        let level = level % layout.levels().len() as u32;
        let (Extent { w, h, .. }, layers) = {
            let level = layout.levels()[level as usize];
            (level.extent_px, desc.shape.layers.max(level.depth_px))
        };
        let layer = layer % layers;
        let block = desc.shape.format.info().block;
        let (x, y) = (corner[0] % w, corner[1] % h);
        let (x, y) = (x - x % block.width_px, y - y % block.height_px);
        let covered = |start: u32, size: u32, side: u32, edge: u32| {
            (size % (edge - start) + 1).next_multiple_of(side).min(edge - start)
        };
        let (w, h) =
            (covered(x, corner[2], block.width_px, w), covered(y, corner[3], block.height_px, h));
        let mut region =
            Region { level, layer, sample: 0, origin_px: (x, y), extent_px: Extent::new(w, h) };
        let mut image = vec![0xcc; layout.size_B as usize];
        if layout.is_level_compressed(level) {
            // A region must cover a compressed tile to replace it.
            region = layout.whole_level(level, layer, 0).unwrap();
        }
        let size: Extent<El> = region.extent_px.to_el(block.extent());
        let row_B = size.w as usize * layout.element_B as usize;
        let raster: Vec<u8> = (0..row_B * size.h as usize).map(|i| (i * 7 + i / 251) as u8).collect();
        layout.tile(&mut image, region, &raster, row_B, Threads::One).unwrap();
        let mut back = vec![0; raster.len()];
        layout.detile(&image, region, &mut back, row_B, Threads::One).unwrap();
        prop_assert!(back == raster);

        // Element by element, by address.
        let slice = if desc.shape.dimension == Dimension::D3 { (0, layer) } else { (layer, 0) };
        for (i, element) in raster.chunks_exact(layout.element_B as usize).enumerate() {
            let (ex, ey) = ((i % size.w as usize) as u32, (i / size.w as usize) as u32);
            let at = layout.texel_offset_B(Texel {
                level,
                layer: slice.0,
                z_px: slice.1,
                x_px: region.origin_px.0 + ex * block.width_px,
                y_px: region.origin_px.1 + ey * block.height_px,
                sample: 0,
            }).unwrap() as usize;
            prop_assert!(image[at..at + element.len()] == *element);
        }
    }

    /// Any numbers give a layout or an error, without a panic.
    #[test]
    fn nothing_panics(
        numbers: [u32; 6],
        small in prop::array::uniform6(0..20000u32),
        choose: u8,
        stride: Option<u32>,
        format in 0usize..248,
        tiling in prop::sample::select(&Tiling::ALL[..]),
        dimension in prop::sample::select(
            &[Dimension::D1, Dimension::D2, Dimension::D3, Dimension::Cube][..]),
    ) {
        let format = Format::all().nth(format % Format::all().len()).unwrap();
        let pick = |i: usize| if choose >> i & 1 == 0 { small[i] } else { numbers[i] };
        let desc = ImageDesc {
            shape: Shape {
                format,
                dimension,
                width_px: pick(0),
                height_px: pick(1),
                depth_px: pick(2) % 7,
                layers: pick(3) % 9,
                samples: pick(4) % 5,
                levels: pick(5) % 20,
            },
            tiling,
            usage: Usage::default(),
            linear_stride_B: stride,
        };
        if let Ok(layout) = Layout::new(&desc) {
            let last = layout.levels().len() as u32 - 1;
            let inside = Texel { level: last, ..Texel::default() };
            let outside = Texel { x_px: u32::MAX, ..Texel::default() };
            prop_assert!(layout.texel_offset_B(inside).is_some());
            prop_assert!(layout.texel_offset_B(outside).is_none());
        }
    }
}

/// Each rule, broken once.
#[test]
fn rules() {
    use LayoutError::*;
    use tepui_agx_layout::Shape;
    let ok = ImageDesc::new_2d(Format::R8G8B8A8_UNORM, Tiling::Twiddled, 64, 64);
    let linear = ImageDesc { tiling: Tiling::Linear, ..ok };
    let compressed = ImageDesc { tiling: Tiling::Compressed, ..ok };
    let dimension = Dimension::D3;
    let astc = Format::ASTC_4x4_UNORM_BLOCK;
    let writable = Usage { renderable: false, writable: true };
    #[rustfmt::skip]
    let cases = [
        (ImageDesc { shape: Shape { width_px: 0, ..ok.shape }, ..ok }, ShapeError::Zero { what: "the width" }.into()),
        (ImageDesc { shape: Shape { levels: 0, ..ok.shape }, ..ok }, ShapeError::Zero { what: "the number of levels" }.into()),
        (ImageDesc { shape: Shape { height_px: 16385, ..ok.shape }, ..ok }, ShapeError::TooLarge { what: "the height", value: 16385, limit: 16384 }.into()),
        (ImageDesc { shape: Shape { width_px: u32::MAX, ..linear.shape }, ..linear }, ShapeError::TooLarge { what: "the width", value: u32::MAX.into(), limit: 16384 }.into()),
        (ImageDesc { shape: Shape { samples: 3, ..ok.shape }, ..ok }, ShapeError::SampleCount { samples: 3, limit: 4 }.into()),
        (ImageDesc { shape: Shape { samples: 8, ..ok.shape }, ..ok }, ShapeError::SampleCount { samples: 8, limit: 4 }.into()),
        (ImageDesc { shape: Shape { levels: 8, ..ok.shape }, ..ok }, ShapeError::TooManyLevels { levels: 8, full: 7 }.into()),
        (ImageDesc { shape: Shape { depth_px: 2, ..ok.shape }, ..ok }, ShapeError::DepthWithout3d { depth_px: 2 }.into()),
        (ImageDesc { shape: Shape { dimension, layers: 2, ..ok.shape }, ..ok }, ShapeError::LayersOf3d { layers: 2 }.into()),
        (ImageDesc { shape: Shape { dimension: Dimension::D1, ..ok.shape }, ..ok }, ShapeError::HeightOf1d { height_px: 64 }.into()),
        (ImageDesc { shape: Shape { dimension: Dimension::Cube, layers: 5, ..ok.shape }, ..ok }, ShapeError::CubeShape { width_px: 64, height_px: 64, layers: 5 }.into()),
        (ImageDesc { shape: Shape { format: Format::R8G8B8_UNORM, ..ok.shape }, ..ok }, BlockSize { format: Format::R8G8B8_UNORM, block_B: 3 }),
        (ImageDesc { shape: Shape { format: Format::R64G64B64A64_UINT, ..ok.shape }, ..ok }, BlockSize { format: Format::R64G64B64A64_UINT, block_B: 32 }),
        (ImageDesc { shape: Shape { format: Format::G8_B8R8_2PLANE_420_UNORM, ..ok.shape }, ..ok }, ShapeError::Planar { format: Format::G8_B8R8_2PLANE_420_UNORM }.into()),
        (ImageDesc { shape: Shape { format: astc, samples: 2, ..ok.shape }, ..ok }, ShapeError::MultisampledBlocks { format: astc }.into()),
        (ImageDesc { linear_stride_B: Some(256), ..ok }, StrideOfTiled),
        (ImageDesc { linear_stride_B: Some(264), ..linear }, StrideAlignment { stride_B: 264 }),
        (ImageDesc { linear_stride_B: Some(240), ..linear }, StrideTooSmall { stride_B: 240, row_B: 256 }),
        (ImageDesc { linear_stride_B: Some(1 << 23), ..linear }, ShapeError::TooLarge { what: "the stride in bytes", value: 1 << 23, limit: 1 << 22 }.into()),
        (ImageDesc { shape: Shape { dimension, ..linear.shape }, ..linear }, LinearDimension { dimension: "3D" }),
        (ImageDesc { shape: Shape { dimension: Dimension::Cube, layers: 6, ..linear.shape }, ..linear }, LinearDimension { dimension: "cubes" }),
        (ImageDesc { shape: Shape { levels: 2, ..linear.shape }, ..linear }, LinearMipmaps { levels: 2 }),
        (ImageDesc { shape: Shape { samples: 4, ..linear.shape }, ..linear }, LinearMultisampled { samples: 4 }),
        (ImageDesc { shape: Shape { format: astc, ..linear.shape }, ..linear }, LinearBlocks { format: astc }),
        (ImageDesc { shape: Shape { layers: 2049, ..linear.shape }, ..linear }, ShapeError::TooLarge { what: "the number of linear layers", value: 2049, limit: 2048 }.into()),
        (ImageDesc { shape: Shape { layers: 2, width_px: 16384, height_px: 16384, ..linear.shape }, linear_stride_B: Some(1 << 22), ..linear }, ShapeError::TooLarge { what: "the layer stride in bytes", value: 1 << 36, limit: (1 << 34) - 128 }.into()),
        (ImageDesc { shape: Shape { format: astc, ..compressed.shape }, ..compressed }, NotCompressible { format: astc }),
        (ImageDesc { usage: writable, ..compressed }, WritableCompressed),
        (ImageDesc { shape: Shape { width_px: 15, ..compressed.shape }, ..compressed }, TooSmallToCompress { width_sa: 15, height_sa: 64 }),
    ];
    for (desc, error) in cases {
        assert_eq!(Layout::new(&desc).unwrap_err(), error);
    }
    for desc in [ok, linear, compressed] {
        assert!(Layout::new(&desc).is_ok());
    }
}

/// Compressed tiles are refused by name; uncompressed ones are read; covering writes replace them.
#[test]
fn compressed_tiles() {
    let desc = ImageDesc::new_2d(Format::R8G8B8A8_UNORM, Tiling::Compressed, 40, 40);
    let layout = Layout::new(&desc).unwrap();
    let metadata = layout.metadata.clone().unwrap();
    let mut image = vec![0u8; layout.size_B as usize];
    let all = layout.whole_level(0, 0, 0).unwrap();
    let (mut out, raster) = (vec![0; 40 * 40 * 4], vec![9; 40 * 40 * 4]);
    let read =
        |image: &[u8], out: &mut [u8], region| layout.detile(image, region, out, 160, Threads::One);
    let refused = read(&image, &mut out, all).unwrap_err();
    assert!(matches!(refused, MoveError::Compressed { x_tl: 0, y_tl: 0, .. }), "{refused}");

    layout.tile(&mut image, all, &raster, 160, Threads::One).unwrap();
    read(&image, &mut out, all).unwrap();
    assert_eq!(out, raster);
    // One tile becomes a solid colour: the regions that touch it are refused, others are not.
    let at = metadata.tile_offset_B(0, 0, 1, 2).unwrap() as usize;
    image[at..at + 8].fill(0x03);
    let region = |x, y, w, h| {
        let (origin_px, extent_px) = ((x, y), Extent::new(w, h));
        Region { level: 0, layer: 0, sample: 0, origin_px, extent_px }
    };
    assert!(read(&image, &mut out, region(0, 0, 40, 32)).is_ok());
    assert!(read(&image, &mut out, region(32, 32, 8, 8)).is_ok());
    assert!(read(&image, &mut out, region(31, 32, 1, 1)).is_err());
    let write = |image: &mut [u8], region| layout.tile(image, region, &raster, 160, Threads::One);
    assert!(write(&mut image, region(17, 32, 23, 8)).is_err(), "part of the tile");
    assert!(write(&mut image, region(16, 32, 24, 8)).is_ok(), "the tile up to the image's edge");
    assert!(read(&image, &mut out, all).is_ok());
}
