//! Properties that hold for every layout.
#![allow(non_snake_case)]

use proptest::prelude::*;
use tepui_format::Format;
use tepui_format::units::{El, Extent};
use tepui_mali_chips::Arch;
use tepui_mali_layout::afbc::{Afbc, Superblock};
use tepui_mali_layout::{
    Dimension, ExplicitLayout, ImageDesc, Layout, LayoutError, Modifier, MoveError, Region, Shape,
    ShapeError, Texel, Threads,
};

const FORMATS: [Format; 12] = [
    Format::R8_UNORM,
    Format::R8G8_UNORM,
    Format::R8G8B8_UNORM,
    Format::R8G8B8A8_UNORM,
    Format::R16G16B16_UINT,
    Format::R32G32_UINT,
    Format::R32G32B32_SFLOAT,
    Format::R32G32B32A32_SFLOAT,
    Format::D24_UNORM_S8_UINT,
    Format::ETC2_R8G8B8_UNORM_BLOCK,
    Format::ASTC_5x5_UNORM_BLOCK,
    Format::ASTC_12x10_SRGB_BLOCK,
];

const ARCHES: [Arch; 6] = [Arch(4), Arch(5), Arch(6), Arch(7), Arch(9), Arch(10)];

fn modifiers() -> impl Strategy<Value = Modifier> {
    const SUPERBLOCKS: [Superblock; 3] = [Superblock::S16x16, Superblock::S32x8, Superblock::S64x4];
    let afbc = (prop::sample::select(&SUPERBLOCKS[..]), any::<[bool; 4]>()).prop_map(
        |(superblock, [tiled, ytr, split, solid_color])| {
            Modifier::Afbc(Afbc { superblock, tiled, ytr, split, solid_color })
        },
    );
    prop_oneof![Just(Modifier::Linear), Just(Modifier::UInterleaved), afbc]
}

prop_compose! {
    fn images(max: u32)(
        arch in prop::sample::select(&ARCHES[..]),
        format in prop::sample::select(&FORMATS[..]),
        modifier in modifiers(),
        dimension in prop::sample::select(&[Dimension::D2, Dimension::D3][..]),
        (width_px, height_px, third) in (1..=max, 1..=max, 1..=4u32),
        samples in prop::sample::select(&[1u32, 1, 1, 2, 4, 16][..]),
        levels in 1..=5u32,
        checksums: bool,
    ) -> ImageDesc {
        let mut desc = ImageDesc::new_2d(arch, format, modifier, width_px, height_px);
        desc.shape.dimension = dimension;
        desc.shape.samples = samples;
        match dimension {
            Dimension::D3 => desc.shape.depth_px = third,
            _ => desc.shape.layers = third,
        }
        desc.checksums = checksums;
        desc.shape.levels = levels.min(desc.shape.full_chain());
        desc
    }
}

fn layouts(max: u32) -> impl Strategy<Value = Layout> {
    images(max).prop_filter_map("no layout", |desc| Layout::new(&desc).ok())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// Every sample, header and checksum has its own bytes, inside its level.
    #[test]
    fn everything_has_its_own_bytes(layout in layouts(70)) {
        let desc = *layout.desc();
        let block = desc.shape.format.info().block;
        let mut used = vec![false; layout.size_B as usize];
        let mut take = |offset_B: u64, bytes: u64, (start_B, end_B): (u64, u64)| {
            assert!(offset_B >= start_B && offset_B + bytes <= end_B);
            for byte in &mut used[offset_B as usize..(offset_B + bytes) as usize] {
                assert!(!*byte, "{offset_B:#x} is used twice");
                *byte = true;
            }
        };
        for (l, level) in (0..).zip(layout.levels()) {
            for layer in 0..desc.shape.layers {
                let start_B = layout.surface_offset_B(l, layer, 0).unwrap();
                let place = (start_B, start_B + level.size_B);
                if let Some(checksums) = level.checksums {
                    let at = start_B - level.offset_B + checksums.offset_B;
                    take(at, checksums.size_B, place);
                }
                for surface in 0..level.depth_px.max(desc.shape.samples) {
                    if let Some(afbc) = level.afbc {
                        for y in 0..level.tiles.h {
                            for x in 0..level.tiles.w {
                                let at = layout.afbc_header_offset_B(l, layer, surface, x, y);
                                take(at.unwrap(), 16, place);
                            }
                        }
                        let body = start_B + afbc.header_size_B
                            + u64::from(surface) * level.surface_stride_B;
                        let slices = u64::from(level.depth_px);
                        take(body, afbc.body_size_B / slices, place);
                        continue;
                    }
                    let (z_px, sample) = match desc.shape.dimension {
                        Dimension::D3 => (surface, 0),
                        _ => (0, surface),
                    };
                    for y_px in (0..level.extent_px.h).step_by(block.height_px as usize) {
                        for x_px in (0..level.extent_px.w).step_by(block.width_px as usize) {
                            let at = Texel { level: l, layer, x_px, y_px, z_px, sample };
                            take(layout.texel_offset_B(at).unwrap(), block.bytes.into(), place);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn the_sum_of_parts_is_the_size(layout in layouts(5000)) {
        let mut end_B = 0u64;
        for level in layout.levels() {
            prop_assert_eq!(level.offset_B, end_B.next_multiple_of(64));
            end_B = level.offset_B + level.size_B;
        }
        prop_assert_eq!(layout.layer_stride_B, end_B.next_multiple_of(64));
        let layers_B = layout.layer_stride_B * u64::from(layout.desc().shape.layers);
        prop_assert_eq!(layout.size_B, layers_B.next_multiple_of(4096));
    }

    #[test]
    fn moved_pixels_come_back(
        layout in layouts(100),
        corner: [u32; 4],
        [level, layer, surface]: [u32; 3],
    ) {
        let desc = *layout.desc();
        let level = level % layout.levels().len() as u32;
        let at = layout.levels()[level as usize];
        let (layer, surface) = (layer % desc.shape.layers, surface % at.depth_px.max(desc.shape.samples));
        let (w, h) = (at.extent_px.w, at.extent_px.h);
        let block = desc.shape.format.info().block;
        let (x, y) = (corner[0] % w, corner[1] % h);
        let (x, y) = (x - x % block.width_px, y - y % block.height_px);
        let covered = |start: u32, size: u32, side: u32, edge: u32| {
            (size % (edge - start) + 1).next_multiple_of(side).min(edge - start)
        };
        let extent_px = Extent::new(
            covered(x, corner[2], block.width_px, w),
            covered(y, corner[3], block.height_px, h),
        );
        let is_3d = desc.shape.dimension == Dimension::D3;
        let (region_layer, sample) = if is_3d { (surface, 0) } else { (layer, surface) };
        let region =
            Region { level, layer: region_layer, sample, origin_px: (x, y), extent_px };
        let size: Extent<El> = extent_px.to_el(block.extent());
        let row_B = size.w as usize * block.bytes as usize;
        let raster: Vec<u8> = (0..row_B * size.h as usize).map(|i| (i * 7 + i / 251) as u8).collect();
        let mut image = vec![0xcc; layout.size_B as usize];
        let moved = layout.tile(&mut image, region, &raster, row_B, Threads::One);
        if at.afbc.is_some() {
            prop_assert_eq!(moved, Err(MoveError::Afbc));
            return Ok(());
        }
        moved.unwrap();
        let mut back = vec![0; raster.len()];
        layout.detile(&image, region, &mut back, row_B, Threads::One).unwrap();
        prop_assert!(back == raster);
        let (z_px, sample) = if desc.shape.dimension == Dimension::D3 { (surface, 0) } else { (0, surface) };
        for (i, element) in raster.chunks_exact(block.bytes as usize).enumerate() {
            let at = layout.texel_offset_B(Texel {
                level,
                layer,
                z_px,
                sample,
                x_px: x + (i as u32 % size.w) * block.width_px,
                y_px: y + (i as u32 / size.w) * block.height_px,
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
        modifier in modifiers(),
        arch in 0u8..12,
        format in 0usize..248,
        explicit: Option<(u32, u32)>,
        dimension in prop::sample::select(
            &[Dimension::D1, Dimension::D2, Dimension::D3, Dimension::Cube][..]),
    ) {
        let format = Format::all().nth(format % Format::all().len()).unwrap();
        let pick = |i: usize| if choose >> i & 1 == 0 { small[i] } else { numbers[i] };
        let desc = ImageDesc {
            arch: Arch(arch),
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
            modifier,
            checksums: choose & 64 != 0,
            explicit: explicit.map(|(offset_B, row_stride_B)| ExplicitLayout {
                offset_B,
                row_stride_B,
            }),
        };
        if let Ok(layout) = Layout::new(&desc) {
            let outside = Texel { x_px: u32::MAX, ..Texel::default() };
            prop_assert!(layout.texel_offset_B(outside).is_none());
            prop_assert!(layout.size_B > 0);
        }
    }

    #[test]
    fn modifiers_round_trip(modifier in modifiers(), number: u64) {
        prop_assert_eq!(Modifier::from_drm_modifier(modifier.drm_modifier()), Some(modifier));
        if let Modifier::Afbc(afbc) = modifier {
            prop_assert_eq!(afbc.to_string().parse(), Ok(afbc));
        }
        for number in [number, number & 0x08f0_0000_0000_03ff, number & 0xf] {
            if let Some(modifier) = Modifier::from_drm_modifier(number) {
                prop_assert_eq!(modifier.drm_modifier(), number);
            }
        }
    }
}

/// Each rule, broken once.
#[test]
fn rules() {
    use LayoutError::*;
    use tepui_mali_layout::Shape;
    let v7 = Arch(7);
    let ok = ImageDesc::new_2d(v7, Format::R8G8B8A8_UNORM, Modifier::UInterleaved, 64, 64);
    let afbc = ImageDesc { modifier: Modifier::Afbc(Afbc::PLAIN), ..ok };
    let variant = |change: fn(&mut Afbc)| {
        let mut variant = Afbc::PLAIN;
        change(&mut variant);
        variant
    };
    let tiled = variant(|a| a.tiled = true);
    let ytr = variant(|a| a.ytr = true);
    let wide_split = variant(|a| (a.superblock, a.split) = (Superblock::S64x4, true));
    let with = |arch, format, variant| ImageDesc {
        arch: Arch(arch),
        shape: Shape { format, ..ok.shape },
        modifier: Modifier::Afbc(variant),
        ..ok
    };
    let (rgba8, astc) = (Format::R8G8B8A8_UNORM, Format::ASTC_4x4_UNORM_BLOCK);
    let explicit = |offset_B, row_stride_B| Some(ExplicitLayout { offset_B, row_stride_B });
    let dimension = Dimension::D3;
    let linear = ImageDesc { modifier: Modifier::Linear, ..ok };
    #[rustfmt::skip]
    let cases = [
        (ImageDesc { shape: Shape { width_px: 0, ..ok.shape }, ..ok }, ShapeError::Zero { what: "the width" }.into()),
        (ImageDesc { shape: Shape { levels: 0, ..ok.shape }, ..ok }, ShapeError::Zero { what: "the number of levels" }.into()),
        (ImageDesc { shape: Shape { height_px: 65537, ..ok.shape }, ..ok }, ShapeError::TooLarge { what: "the height", value: 65537, limit: 65536 }.into()),
        (ImageDesc { shape: Shape { samples: 0, ..ok.shape }, ..ok }, ShapeError::SampleCount { samples: 0, limit: 16 }.into()),
        (ImageDesc { shape: Shape { samples: 3, ..ok.shape }, ..ok }, ShapeError::SampleCount { samples: 3, limit: 16 }.into()),
        (ImageDesc { shape: Shape { samples: 32, ..ok.shape }, ..ok }, ShapeError::SampleCount { samples: 32, limit: 16 }.into()),
        (ImageDesc { shape: Shape { levels: 8, ..ok.shape }, ..ok }, ShapeError::TooManyLevels { levels: 8, full: 7 }.into()),
        (ImageDesc { shape: Shape { depth_px: 2, ..ok.shape }, ..ok }, ShapeError::DepthWithout3d { depth_px: 2 }.into()),
        (ImageDesc { shape: Shape { dimension, layers: 2, ..ok.shape }, ..ok }, ShapeError::LayersOf3d { layers: 2 }.into()),
        (ImageDesc { shape: Shape { dimension, samples: 4, ..ok.shape }, ..ok }, Multisampled3d { samples: 4 }),
        (ImageDesc { shape: Shape { dimension: Dimension::D1, ..ok.shape }, ..ok }, ShapeError::HeightOf1d { height_px: 64 }.into()),
        (ImageDesc { shape: Shape { dimension: Dimension::Cube, ..ok.shape }, ..ok }, ShapeError::CubeShape { width_px: 64, height_px: 64, layers: 1 }.into()),
        (ImageDesc { shape: Shape { format: Format::G8_B8R8_2PLANE_420_UNORM, ..ok.shape }, ..ok }, ShapeError::Planar { format: Format::G8_B8R8_2PLANE_420_UNORM }.into()),
        (ImageDesc { shape: Shape { format: Format::R64G64B64_UINT, ..ok.shape }, ..ok }, BlockSize { format: Format::R64G64B64_UINT, block_B: 24 }),
        (ImageDesc { shape: Shape { format: astc, samples: 4, ..ok.shape }, ..ok }, ShapeError::MultisampledBlocks { format: astc }.into()),
        (with(4, rgba8, Afbc::PLAIN), NoAfbc { arch: Arch(4) }),
        (with(7, astc, Afbc::PLAIN), AfbcFormat { format: astc, arch: v7 }),
        (with(7, Format::A8_UNORM, Afbc::PLAIN), AfbcFormat { format: Format::A8_UNORM, arch: v7 }),
        (with(6, rgba8, tiled), AfbcVariant { afbc: tiled, arch: Arch(6), rule: "tiled headers start with v7" }),
        (with(7, rgba8, wide_split), AfbcVariant { afbc: wide_split, arch: v7, rule: "split payloads are for 16x16, and for 32x8 of 32 bits a pixel" }),
        (with(7, Format::R8G8_UNORM, ytr), AfbcVariant { afbc: ytr, arch: v7, rule: "the colour transform is for red, green and blue together, and not for sRGB" }),
        (with(7, Format::R8G8B8A8_SRGB, ytr), AfbcVariant { afbc: ytr, arch: v7, rule: "the colour transform is for red, green and blue together, and not for sRGB" }),
        (ImageDesc { shape: Shape { width_px: 65536, height_px: 65536, ..linear.shape }, ..linear }, ShapeError::TooLarge { what: "a surface stride in bytes", value: 1 << 34, limit: u32::MAX.into() }.into()),
        (ImageDesc { shape: Shape { samples: 4, ..afbc.shape }, ..afbc }, AfbcMultisampled { samples: 4 }),
        (ImageDesc { shape: Shape { dimension, ..afbc.shape }, arch: Arch(6), ..afbc }, Afbc3d { arch: Arch(6) }),
        (ImageDesc { shape: Shape { layers: 2, ..linear.shape }, explicit: explicit(0, 256), ..linear }, ExplicitShape),
        (ImageDesc { explicit: explicit(32, 256), ..linear }, ExplicitAlignment { what: "offset", value: 32, align: 64 }),
        (ImageDesc { explicit: explicit(64, 260), ..linear }, ExplicitAlignment { what: "row stride", value: 260, align: 64 }),
        (ImageDesc { explicit: explicit(64, 192), ..linear }, ExplicitStride { stride_B: 192, row_B: 256 }),
    ];
    for (desc, error) in cases {
        assert_eq!(Layout::new(&desc).unwrap_err(), error);
    }
    let from_outside = Layout::new(&ImageDesc { explicit: explicit(64, 320), ..linear }).unwrap();
    assert_eq!(from_outside.size_B, 64 + 320 * 64);
    assert_eq!(from_outside.levels()[0].row_stride_B, 320);
}
