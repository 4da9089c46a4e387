//! Blits: copies of pixels with conversion, scaling and filter.

use tepui_ir::NumKind;
use tepui_sysval::Words as _;
use tepui_vulkan::backend::{Backend, Blit};
use tepui_vulkan::{Result, vk};

use crate::copy::level_of;
use crate::draw::{self, Draw};
use crate::encoder::{Launch, MetaEncoder};
use crate::program::{Output, Program};
use crate::view::{Area, Binding, Level, kind_of};
use crate::words::BlitWords;

/// Copies pixels with conversion and filter, aspect by aspect.
///
/// # Errors
/// As [`MetaEncoder::launch`].
pub fn blit<E: MetaEncoder>(e: &mut E, blit: &Blit<'_, E::Backend>) -> Result<()> {
    for aspect in each_aspect(blit.region.src_subresource.aspect_mask) {
        let one = |layers| vk::ImageSubresourceLayers { aspect_mask: aspect, ..layers };
        let mut region = blit.region;
        region.src_subresource = one(region.src_subresource);
        region.dst_subresource = one(region.dst_subresource);
        blit_aspect(e, blit, &region, aspect)?;
    }
    Ok(())
}

/// The aspects of `mask` that blits and resolves draw one after the other: colour alone, or depth and then stencil.
pub(crate) fn each_aspect(
    mask: vk::ImageAspectFlags,
) -> impl Iterator<Item = vk::ImageAspectFlags> {
    let list = match mask.contains(vk::ImageAspectFlags::COLOR) {
        true => [mask, vk::ImageAspectFlags::empty()],
        false => [vk::ImageAspectFlags::DEPTH, vk::ImageAspectFlags::STENCIL],
    };
    list.into_iter().filter(move |&x| !x.is_empty() && mask.contains(x))
}

fn blit_aspect<E: MetaEncoder>(
    e: &mut E,
    blit: &Blit<'_, E::Backend>,
    region: &vk::ImageBlit2,
    aspect: vk::ImageAspectFlags,
) -> Result<()> {
    let from = level_of(blit.source, region.src_subresource);
    let to = level_of(blit.target, region.dst_subresource);
    let kind = kind_of(from.format);
    let words = words(region, &from, &to);
    let linear = blit.linear && kind == NumKind::Float;
    let source = Binding::Sampled(from.whole(), linear);
    let area = Area { of: to, first: words.to, size: words.size };
    let program = |to| Program::Blit { kind, volume: from.is_volume(), to };
    convert(e, source, &area, aspect, program, words.words())
}

/// Runs a program that writes all texels of an area after a conversion: by stores to binding 1, or by drawing.
pub(crate) fn convert<E: MetaEncoder>(
    e: &mut E,
    source: Binding<'_, E::Backend>,
    area: &Area<'_, E::Backend>,
    aspect: vk::ImageAspectFlags,
    program: impl Fn(Output) -> Program,
    words: &[u32],
) -> Result<()> {
    let Area { of: to, first, size } = *area;
    if size.contains(&0) {
        return Ok(());
    }
    let target = to.as_array(to.format);
    if e.stores(&target) {
        e.before_writes(area)?;
        let program = program(Output::Store);
        let bindings = [source, Binding::Storage(target)];
        return e.launch(&Launch { program, words, bindings: &bindings, threads: size });
    }
    let output = match aspect {
        vk::ImageAspectFlags::DEPTH => Output::Depth,
        vk::ImageAspectFlags::STENCIL => Output::Stencil,
        _ => Output::Colour,
    };
    let draw = Draw { program: program(output), words, bindings: &[source] };
    draw::to_view(e, &target, output, &draw, first, size)
}

/// One direction of a blit.
struct Axis {
    /// First pixel of the destination, and pixels.
    first: u32,
    size: u32,
    /// Normalised coordinates of the source.
    scale: f32,
    offset: f32,
}

/// The destination's corners in order; what is mirrored has a negative scale.
fn axis<B: Backend>(region: &vk::ImageBlit2, from: &Level<'_, B>, k: usize) -> Axis {
    let pick = |o: vk::Offset3D| [o.x, o.y, o.z][k];
    let [d0, d1] = region.dst_offsets.map(|o| i64::from(pick(o)));
    let [s0, s1] = region.src_offsets.map(|o| pick(o) as f32);
    let size = (from.info.extent[k] >> from.level).max(1) as f32;
    let scale = (s1 - s0) / (d1 - d0) as f32;
    let low = d0.min(d1);
    // Pixel `low + i + 0.5` of the destination is `s0 + (low + i + 0.5 - d0) * scale` in the source.
    let offset = s0 + (low - d0) as f32 * scale;
    Axis {
        first: low as u32,
        size: (d0.max(d1) - low) as u32,
        scale: scale / size,
        offset: offset / size,
    }
}

fn words<B: Backend>(region: &vk::ImageBlit2, from: &Level<'_, B>, to: &Level<'_, B>) -> BlitWords {
    let [x, y, z] = [0, 1, 2].map(|k| axis(region, from, k));
    let layers = region.dst_subresource;
    let (first, depth) = match (from.is_volume(), to.is_volume()) {
        (_, true) => (z.first, z.size),
        (true, false) => (layers.base_array_layer, z.size.max(1)),
        _ => (layers.base_array_layer, layers.layer_count.max(1)),
    };
    BlitWords {
        to: [x.first, y.first, first],
        size: [x.size, y.size, depth],
        scale: [x.scale, y.scale, z.scale],
        offset: [x.offset, y.offset, z.offset],
        layer: region.src_subresource.base_array_layer,
    }
}
