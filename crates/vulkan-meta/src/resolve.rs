//! Resolves of multisampled images.

use tepui_ir::NumKind;
use tepui_sysval::Words as _;
use tepui_vulkan::backend::ImageRef;
use tepui_vulkan::{Result, vk};

use crate::blit::{convert, each_aspect};
use crate::copy::level_of;
use crate::encoder::MetaEncoder;
use crate::program::{Program, Resolve};
use crate::view::{Area, Binding, kind_of};
use crate::words::ResolveWords;

/// Resolves samples of a region.
///
/// # Errors
/// As [`MetaEncoder::launch`].
pub fn region<E: MetaEncoder>(
    e: &mut E,
    from: &ImageRef<E::Backend>,
    to: &ImageRef<E::Backend>,
    region: &vk::ImageResolve2,
    mode: vk::ResolveModeFlags,
) -> Result<()> {
    for aspect_mask in each_aspect(region.src_subresource.aspect_mask) {
        let one = |i: &ImageRef<E::Backend>, layers| {
            let mip_level = i.level;
            vk::ImageSubresourceLayers { aspect_mask, mip_level, ..layers }
        };
        let (s, d) = (one(from, region.src_subresource), one(to, region.dst_subresource));
        let mut source = level_of((&from.image, &from.info, from.addresses), s);
        let mut target = level_of((&to.image, &to.info, to.addresses), d);
        // Views may have another format than their image.
        if aspect_mask.contains(vk::ImageAspectFlags::COLOR) {
            (source.format, target.format) = (from.format, to.format);
        }
        let kind = kind_of(source.format);
        let words = ResolveWords {
            from: [region.src_offset.x as u32, region.src_offset.y as u32, s.base_array_layer],
            to: [region.dst_offset.x as u32, region.dst_offset.y as u32, d.base_array_layer],
            size: [region.extent.width, region.extent.height, s.layer_count.max(1)],
        };
        let (how, samples) = (how(mode, kind), from.info.samples as u8);
        let program = |to| Program::Resolve { kind, samples, how, to };
        let binding = Binding::Texture(source.as_array(source.format));
        let area = Area { of: target, first: words.to, size: words.size };
        convert(e, binding, &area, aspect_mask, program, words.words())?;
    }
    Ok(())
}

/// The reduction of a resolve mode; integers have no mean.
#[must_use]
pub fn how(mode: vk::ResolveModeFlags, kind: NumKind) -> Resolve {
    match mode {
        vk::ResolveModeFlags::AVERAGE if kind == NumKind::Float => Resolve::Average,
        vk::ResolveModeFlags::MIN => Resolve::Min,
        vk::ResolveModeFlags::MAX => Resolve::Max,
        _ => Resolve::First,
    }
}
