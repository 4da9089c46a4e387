//! Texture descriptors, decoded.

use tepui_agx_packets::Packet;
use tepui_agx_packets::texture::{self as packets, Channel, Layout, SampleCount, TextureDimension};

use tepui_texel::{Pick, Unpacker};

use crate::error::Unsupported;
use crate::formats::{extended, format_of};
use crate::image::{Image, Shape};
use crate::sampler::Sampler;

/// A decoded texture descriptor.
#[derive(Clone, Debug)]
pub struct Texture {
    /// Memory layout.
    pub image: Image,
    /// Conversion of the bits of texels to channels.
    pub unpacker: Unpacker,
    swizzle: [Channel; 4],
    /// The swizzle: the source of each component.
    pub(crate) picks: [Pick; 4],
    /// For each mask of components, the mask of the channels that they are read from.
    wanted: [u8; 16],
    /// The largest level that is read.
    pub first_level: u32,
    /// Number of levels after the first.
    pub extra_levels: u32,
}

impl Texture {
    /// Decodes a descriptor.
    pub fn decode(bytes: &[u8; 24]) -> Result<Texture, Unsupported> {
        let d = packets::Texture::unpack(bytes)?;
        let unpacker = match extended(d.channels, d.type_, d.srgb)? {
            Some(extended) => Unpacker::extended(extended),
            None => Unpacker::new(format_of(d.channels, d.type_, d.srgb)?)?,
        };
        let format = unpacker.format;
        let linear = d.layout == Layout::Linear;
        let is_3d = d.dimension == TextureDimension::D3;
        let faces = match d.dimension {
            TextureDimension::Cube | TextureDimension::CubeArray => 6,
            _ => 1,
        };
        let layers = match (linear, d.extended) {
            (true, true) => d.depth_linear,
            (true, false) => 1,
            (false, _) => d.depth,
        };
        if d.compression != 0 {
            return Err(Unsupported::Unknown("the kind of compression"));
        }
        if d.compressed && !d.extended {
            return Err(Unsupported::Unknown("compression without metadata"));
        }
        let image = Image::new(&Shape {
            format,
            arrangement: d.layout,
            width: d.width,
            height: d.height,
            depth: if is_3d { layers } else { 1 },
            layers: if is_3d { 1 } else { layers * faces },
            is_3d,
            samples: match (d.dimension.is_multisampled(), d.samples) {
                (false, _) => 1,
                (true, SampleCount::Two) => 2,
                (true, SampleCount::Four) => 4,
            },
            mipmapped: d.unk_mipmapped,
            page_aligned_layers: d.page_aligned_layers,
            address: d.address,
            mode: d.mode,
            metadata: d.compressed.then_some(d.acceleration_buffer),
            stride: u64::from(d.stride),
            layer_stride: if linear && d.extended { d.layer_stride_linear } else { 0 },
        })?;
        // Views that show a compression block as a texel can have a level number past the end.
        let last = image.levels().len() as u32 - 1;
        let first_level = d.first_level.min(last);
        let mut texture = Texture {
            image,
            unpacker,
            swizzle: [d.swizzle_r, d.swizzle_g, d.swizzle_b, d.swizzle_a],
            picks: [Pick::Zero; 4],
            wanted: [0; 16],
            first_level,
            extra_levels: d.last_level.min(last).saturating_sub(first_level),
        };
        texture.picks = std::array::from_fn(|c| match texture.channel(c) {
            Some(channel) => Pick::Channel(channel as u8),
            None if texture.is_one(c) => Pick::One,
            None => Pick::Zero,
        });
        texture.wanted = std::array::from_fn(|mask| {
            (0..4)
                .filter(|c| mask >> c & 1 != 0)
                .filter_map(|c| texture.channel(c))
                .fold(0, |bits, channel| bits | 1 << channel)
        });
        Ok(texture)
    }

    /// Mask of the channels that the components of a mask are read from.
    #[inline]
    pub(crate) fn wanted(&self, mask: u8) -> u32 {
        u32::from(self.wanted[usize::from(mask & 15)])
    }

    /// Whether there is a single level and one filter, so that the level of detail has no effect.
    pub(crate) fn is_one_level(&self, sampler: &Sampler) -> bool {
        self.extra_levels == 0 && sampler.magnify == sampler.minify && sampler.max_anisotropy == 1
    }

    /// The channel of the format that a component of the result is read from; `None` for constants
    /// and missing channels.
    pub fn channel(&self, component: usize) -> Option<usize> {
        let channel = match self.swizzle[component] {
            Channel::R => 0,
            Channel::G => 1,
            Channel::B => 2,
            Channel::A => 3,
            Channel::One | Channel::Zero => return None,
        };
        (channel < self.unpacker.count).then_some(channel as usize)
    }

    /// Whether a component without a channel reads as one rather than zero. Of missing channels
    /// only alpha does.
    pub fn is_one(&self, component: usize) -> bool {
        matches!(self.swizzle[component], Channel::One | Channel::A)
    }
}
