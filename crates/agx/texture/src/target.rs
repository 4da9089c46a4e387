//! Readback of render targets: the texture descriptor for the image of a PBE descriptor.

use tepui_agx_packets::pbe::Pbe;
use tepui_agx_packets::texture::{Channel, Layout, Texture};
use tepui_agx_packets::{Packet, Problem};

use crate::image::Descriptor;

/// The texture state that reads the level that a PBE descriptor writes, and the size of that level
/// in pixels.
///
/// # Errors
/// If the descriptor's fields are not those of a descriptor.
pub fn texture_of(pbe: &Descriptor) -> Result<(Descriptor, [u32; 2]), Problem> {
    let p = Pbe::unpack(pbe)?;
    let linear = p.layout == Layout::Linear;
    // A PBE swizzle maps channels in memory to components, a texture swizzle components to
    // channels.
    let taken = [p.swizzle_r, p.swizzle_g, p.swizzle_b, p.swizzle_a];
    let channels = [Channel::R, Channel::G, Channel::B, Channel::A];
    let from = |component: usize| {
        let channel = taken.iter().position(|&c| c == channels[component]);
        match (channel, component) {
            (Some(channel), _) => channels[channel],
            (None, 3) => Channel::One,
            (None, _) => Channel::Zero,
        }
    };
    let texture = Texture {
        dimension: p.dimension,
        layout: p.layout,
        channels: p.channels,
        type_: p.type_,
        swizzle_r: from(0),
        swizzle_g: from(1),
        swizzle_b: from(2),
        swizzle_a: from(3),
        width: p.width,
        height: p.height,
        first_level: p.level,
        last_level: p.level,
        samples: p.samples,
        address: p.buffer,
        unk_mipmapped: p.unk_mipmapped,
        compressed: p.compressed,
        mode: p.mode,
        stride: if linear { p.stride } else { Texture::default().stride },
        depth: if linear { 1 } else { p.layers },
        page_aligned_layers: p.page_aligned_layers,
        extended: p.extended,
        acceleration_buffer: p.acceleration_buffer,
        depth_linear: p.depth_linear,
        layer_stride_linear: p.layer_stride_linear,
        ..Texture::default()
    };
    let side = |n: u32| (n >> p.level).max(1);
    Ok((texture.pack()?, [side(p.width), side(p.height)]))
}
