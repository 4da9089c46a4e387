//! Choice of compressed images, and their descriptors.

use tepui_agx_driver::descriptor::{self, Part};
use tepui_agx_driver::format;
use tepui_agx_driver::image::{Image, Uncompressed, best_modifier, why_uncompressed};
use tepui_agx_layout::Tiling;
use tepui_agx_packets::Packet;
use tepui_agx_packets::pbe::Pbe;
use tepui_agx_packets::texture::Texture;
use tepui_format::Format;
use tepui_layout::Dimension;
use tepui_vulkan::backend::{ImageInfo, MAX_VIEW_FORMATS, ViewFormats};
use tepui_vulkan::vk::{self, ImageUsageFlags as U};

fn target() -> ImageInfo {
    ImageInfo {
        image_type: vk::ImageType::_2D,
        format: Format::R8G8B8A8_UNORM,
        extent: [100, 70, 1],
        levels: 4,
        layers: 3,
        samples: 1,
        usage: U::COLOR_ATTACHMENT | U::SAMPLED,
        flags: vk::ImageCreateFlags::empty(),
        views: ViewFormats::Own,
        linear: false,
        modifier: None,
        explicit: None,
    }
}

fn views(list: &[Format]) -> ViewFormats {
    let mut all = [None; MAX_VIEW_FORMATS];
    all.iter_mut().zip(list).for_each(|(to, f)| *to = Some(*f));
    ViewFormats::Listed(all)
}

#[test]
fn images_are_compressed_unless_there_is_a_reason() {
    use Uncompressed as W;
    let t = target();
    let depth =
        ImageInfo { format: Format::D32_SFLOAT_S8_UINT, usage: U::DEPTH_STENCIL_ATTACHMENT, ..t };
    let small = |samples| ImageInfo { extent: [16, 8, 1], samples, ..t };
    let rows = [
        (t, None),
        (depth, None),
        (ImageInfo { usage: t.usage | U::TRANSFER_DST | U::INPUT_ATTACHMENT, ..t }, None),
        (ImageInfo { usage: U::SAMPLED | U::TRANSFER_DST, ..t }, Some(W::NotRendered)),
        (ImageInfo { usage: t.usage | U::STORAGE, ..t }, Some(W::Stored)),
        (ImageInfo { usage: t.usage | U::HOST_TRANSFER, ..t }, Some(W::Stored)),
        (ImageInfo { usage: t.usage | U::ATTACHMENT_FEEDBACK_LOOP_EXT, ..t }, Some(W::Feedback)),
        (ImageInfo { views: ViewFormats::Any, ..t }, Some(W::Views)),
        (ImageInfo { views: views(&[Format::B8G8R8A8_SRGB, Format::R8G8B8A8_UINT]), ..t }, None),
        (ImageInfo { views: views(&[Format::R32_UINT]), ..t }, Some(W::Views)),
        (ImageInfo { format: Format::E5B9G9R9_UFLOAT_PACK32, ..t }, Some(W::Format)),
        (small(1), Some(W::Small)),
        (small(2), None),
    ];
    for (info, why) in rows {
        assert_eq!(why_uncompressed(&info), why, "{info:?}");
        let image = Image::new(&info).unwrap();
        for plane in &image.planes {
            assert_eq!(plane.layout.metadata.is_some(), why.is_none(), "{info:?}");
        }
    }
}

#[test]
fn modifiers_say_the_layout() {
    let [linear, tiled, compressed] = Tiling::ALL.map(Tiling::drm_modifier);
    let t = target();
    let stored = ImageInfo { usage: t.usage | U::STORAGE, ..t };
    assert_eq!(best_modifier(&t, &[linear, compressed, tiled]), Some(compressed));
    assert_eq!(best_modifier(&stored, &[linear, compressed, tiled]), Some(tiled));
    assert_eq!(best_modifier(&stored, &[compressed, linear, 77]), Some(linear));
    assert_eq!(best_modifier(&stored, &[compressed, 77]), None);
    // An explicit modifier counts more than a reason not to compress.
    let info = ImageInfo { usage: U::SAMPLED, modifier: Some(compressed), ..t };
    assert!(Image::new(&info).unwrap().planes[0].layout.metadata.is_some());
    let info = ImageInfo { modifier: Some(tiled), ..t };
    assert!(Image::new(&info).unwrap().planes[0].layout.metadata.is_none());
    assert!(Image::new(&ImageInfo { modifier: Some(77), ..t }).is_err());
    assert!(Image::new(&ImageInfo { modifier: Some(compressed), ..stored }).is_err());

    let offered = format::modifiers(t.format);
    assert_eq!(offered.iter().map(|m| m.0).collect::<Vec<_>>(), [linear, tiled, compressed]);
    type F = vk::FormatFeatureFlags2;
    assert!(offered[2].1.contains(F::COLOR_ATTACHMENT | F::SAMPLED_IMAGE | F::TRANSFER_DST));
    assert!(!offered[2].1.intersects(F::STORAGE_IMAGE | F::HOST_IMAGE_TRANSFER));
    let names = |f| format::modifiers(f).iter().map(|m| m.0).collect::<Vec<_>>();
    assert!(!names(Format::BC1_RGBA_UNORM_BLOCK).contains(&compressed));
    assert!(!names(Format::R12X4_UNORM_PACK16).contains(&compressed));
}

#[test]
fn descriptors_name_the_metadata() {
    const AT: u64 = 0x10_0000_0000;
    let image = Image::new(&target()).unwrap();
    let layout = &image.planes[0].layout;
    let metadata = layout.metadata.as_ref().unwrap();
    let part = Part {
        plane: 0,
        format: Format::R8G8B8A8_UNORM,
        dimension: Dimension::D2,
        array: true,
        levels: [1, 1],
        layers: [2, 1],
        swizzle: [vk::ComponentSwizzle::IDENTITY; 4],
        storage: false,
    };
    let at = AT + metadata.offset_B + 2 * metadata.layer_stride_B;
    let t = Texture::unpack(&descriptor::texture(&image, [AT; 3], &part).unwrap()).unwrap();
    assert!(t.compressed && t.extended);
    assert_eq!(t.acceleration_buffer, at);
    let p = Pbe::unpack(&descriptor::pbe(&image, [AT; 3], &part, true).unwrap()).unwrap();
    assert!(p.compressed && p.extended);
    assert_eq!(p.acceleration_buffer, at);
    // Shaders store to open tiles.
    let p = Pbe::unpack(&descriptor::pbe(&image, [AT; 3], &part, false).unwrap()).unwrap();
    assert!(!p.compressed);
    let row = descriptor::storage(&image, [AT; 3], &part).unwrap();
    assert!(!Texture::unpack(row[..24].try_into().unwrap()).unwrap().compressed);
}

/// Formats that can be rendered to but are not compressed.
#[test]
fn formats_that_are_rendered_to_are_compressed() {
    type F = vk::FormatFeatureFlags2;
    let without: Vec<String> = Format::all()
        .filter(|&f| {
            let rendered = F::COLOR_ATTACHMENT | F::DEPTH_STENCIL_ATTACHMENT;
            format::features(f).optimal.intersects(rendered) && !format::is_compressible(f)
        })
        .map(|f| f.to_string())
        .collect();
    assert_eq!(without, ["E5B9G9R9_UFLOAT_PACK32"]);
}
