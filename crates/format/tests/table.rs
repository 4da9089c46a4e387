//! Compares the format table with facts from other sources.

use tepui_format::info::{Component, Encoding, Numeric};
use tepui_format::{Compression, Format};

/// source: Vulkan specification, "Compatible Formats" (texel block size and extent).
#[test]
fn blocks() {
    let cases = [
        ("R4G4_UNORM_PACK8", 1, 1, 1),
        ("R8G8B8_SRGB", 1, 1, 3),
        ("R16G16B16_SFLOAT", 1, 1, 6),
        ("R32G32B32_SFLOAT", 1, 1, 12),
        ("R64G64B64A64_SFLOAT", 1, 1, 32),
        ("B10G11R11_UFLOAT_PACK32", 1, 1, 4),
        ("E5B9G9R9_UFLOAT_PACK32", 1, 1, 4),
        ("D16_UNORM", 1, 1, 2),
        ("X8_D24_UNORM_PACK32", 1, 1, 4),
        ("D32_SFLOAT", 1, 1, 4),
        ("S8_UINT", 1, 1, 1),
        ("D16_UNORM_S8_UINT", 1, 1, 3),
        ("D24_UNORM_S8_UINT", 1, 1, 4),
        ("D32_SFLOAT_S8_UINT", 1, 1, 8),
        ("BC1_RGB_UNORM_BLOCK", 4, 4, 8),
        ("BC4_SNORM_BLOCK", 4, 4, 8),
        ("BC7_SRGB_BLOCK", 4, 4, 16),
        ("ETC2_R8G8B8_UNORM_BLOCK", 4, 4, 8),
        ("ETC2_R8G8B8A1_SRGB_BLOCK", 4, 4, 8),
        ("ETC2_R8G8B8A8_UNORM_BLOCK", 4, 4, 16),
        ("EAC_R11_UNORM_BLOCK", 4, 4, 8),
        ("EAC_R11G11_SNORM_BLOCK", 4, 4, 16),
        ("ASTC_4x4_UNORM_BLOCK", 4, 4, 16),
        ("ASTC_12x10_SFLOAT_BLOCK", 12, 10, 16),
        ("PVRTC1_2BPP_UNORM_BLOCK_IMG", 8, 4, 8),
        ("PVRTC2_4BPP_SRGB_BLOCK_IMG", 4, 4, 8),
        ("G8B8G8R8_422_UNORM", 2, 1, 4),
        ("B16G16R16G16_422_UNORM", 2, 1, 8),
        ("G12X4B12X4G12X4R12X4_422_UNORM_4PACK16", 2, 1, 8),
        ("A4R4G4B4_UNORM_PACK16", 1, 1, 2),
    ];
    for (name, width, height, bytes) in cases {
        let block = name.parse::<Format>().unwrap().info().block;
        assert_eq!(
            (block.width_px, block.height_px, block.bytes),
            (width, height, bytes),
            "{name}"
        );
    }
}

#[test]
fn names_and_numbers() {
    assert_eq!(Format::R8G8B8A8_UNORM.vk(), 37);
    assert_eq!(Format::from_vk(1_000_054_000), Some(Format::PVRTC1_2BPP_UNORM_BLOCK_IMG));
    assert_eq!("VK_FORMAT_D32_SFLOAT".parse(), Ok(Format::D32_SFLOAT));
    assert_eq!("astc_4x4_sfloat_block_ext".parse(), Ok(Format::ASTC_4x4_SFLOAT_BLOCK));
    let error = "R8G8B8A8_UNROM".parse::<Format>().unwrap_err();
    assert_eq!(error.nearest, Some(Format::R8G8B8A8_UNORM));
    assert_eq!("🦀".parse::<Format>().unwrap_err().nearest, None);
    for format in Format::all() {
        assert_eq!(format.name().parse(), Ok(format));
        assert_eq!(Format::from_vk(format.vk()), Some(format));
    }
}

/// Bit fields neither overlap nor leave the block.
#[test]
fn channels_are_disjoint() {
    for format in Format::all() {
        let info = format.info();
        let channels = match &info.encoding {
            Encoding::Plain(c) | Encoding::DepthStencil(c) | Encoding::Subsampled(c) => c,
            _ => continue,
        };
        let mut end = 0;
        for channel in channels.as_slice() {
            assert!(channel.bits > 0 && channel.shift >= end, "{format}");
            end = channel.shift + u16::from(channel.bits);
        }
        assert!(u32::from(end) <= info.block.bytes * 8, "{format}");
        assert!(info.block.bytes * 8 < u32::from(end) + 32, "{format}: unused bits");
    }
}

#[test]
fn planes_and_families() {
    let planes = Format::G8_B8R8_2PLANE_420_UNORM.info().planes();
    assert_eq!(planes.len(), 2);
    assert_eq!(planes[1].format, Format::R8G8_UNORM);
    assert_eq!((planes[1].width_divisor, planes[1].height_divisor), (2, 2));
    let planes = Format::G12X4_B12X4_R12X4_3PLANE_422_UNORM_3PACK16.info().planes();
    assert_eq!(planes.iter().map(|p| p.width_divisor).collect::<Vec<_>>(), [1, 2, 2]);
    assert!(planes.iter().all(|p| p.format == Format::R12X4_UNORM_PACK16));
    let bc1 = Format::BC1_RGBA_SRGB_BLOCK.info().encoding;
    assert_eq!(bc1, Encoding::Compressed(Compression::Bc1 { alpha: true }, Numeric::Srgb));
    let Encoding::Plain(channels) = Format::R8G8B8A8_SRGB.info().encoding else { panic!() };
    assert_eq!(channels.get(Component::A).unwrap().numeric, Numeric::Unorm);
}
