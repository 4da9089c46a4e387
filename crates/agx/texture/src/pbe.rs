//! Descriptors of the pixel back end (PBE), decoded.

use tepui_agx_packets::Packet;
use tepui_agx_packets::pbe as packets;
use tepui_agx_packets::texture::{Channel, Layout, SampleCount, TextureDimension, TextureType};
use tepui_format::Format;
use tepui_texel::Packer;

use crate::error::Unsupported;
use crate::formats::{extended, format_of};
use crate::image::Descriptor;
use crate::image::{Image, Level, Shape};

/// A decoded PBE descriptor.
#[derive(Clone)]
pub struct Pbe {
    pub(crate) image: Image,
    pub(crate) packer: Packer,
    /// The format for tiles: they were converted to sRGB when they were written to the tilebuffer.
    pub(crate) tile_packer: Packer,
    /// The tile format whose words can be copied to memory unchanged; none in extended range.
    pub(crate) tile_format: Option<Format>,
    /// Type of the channels.
    pub(crate) type_: TextureType,
    /// Whether integers narrower than the format's are sign-extended.
    pub(crate) signed: bool,
    /// The component that is written to each channel in memory.
    pub(crate) swizzle: [usize; 4],
    /// The level that is written.
    level: u32,
    /// Layers, or slices of level 0.
    layers: u32,
    is_3d: bool,
}

impl Pbe {
    /// Decodes a descriptor.
    pub fn decode(bytes: &Descriptor) -> Result<Pbe, Unsupported> {
        let d = packets::Pbe::unpack(bytes)?;
        let packer = |srgb| -> Result<Packer, Unsupported> {
            Ok(match extended(d.channels, d.type_, srgb)? {
                Some(extended) => Packer::extended(extended)?,
                None => Packer::new(format_of(d.channels, d.type_, srgb)?)?,
            })
        };
        let tile_packer = packer(false)?;
        let tile_format = match extended(d.channels, d.type_, false)? {
            Some(_) => None,
            None => Some(tile_packer.format),
        };
        let packer = packer(d.srgb)?;
        let format = packer.format;
        let linear = d.layout == Layout::Linear;
        let is_3d = d.dimension == TextureDimension::D3;
        if d.rotate_90 || d.flip_vertical {
            return Err(Unsupported::Unknown("how a tile is turned"));
        }
        if d.compressed && !d.extended {
            return Err(Unsupported::Unknown("compression without metadata"));
        }
        let faces = match d.dimension {
            TextureDimension::Cube | TextureDimension::CubeArray => 6,
            _ => 1,
        };
        let layers = match (linear, d.extended) {
            (true, true) => d.depth_linear,
            (true, false) => 1,
            (false, _) => d.layers * faces,
        };
        let image = Image::new(&Shape {
            format,
            arrangement: d.layout,
            width: d.width,
            height: d.height,
            depth: if is_3d { layers } else { 1 },
            layers: if is_3d { 1 } else { layers },
            is_3d,
            samples: match (d.dimension.is_multisampled(), d.samples) {
                (false, _) => 1,
                (true, SampleCount::Two) => 2,
                (true, SampleCount::Four) => 4,
            },
            mipmapped: d.unk_mipmapped || (!linear && d.levels > 1),
            page_aligned_layers: d.page_aligned_layers,
            address: d.buffer,
            mode: d.mode,
            metadata: d.compressed.then_some(d.acceleration_buffer),
            stride: u64::from(d.stride),
            layer_stride: if linear && d.extended { d.layer_stride_linear } else { 0 },
        })?;
        let mut swizzle = [0; 4];
        let fields = [d.swizzle_r, d.swizzle_g, d.swizzle_b, d.swizzle_a];
        for (to, channel) in swizzle.iter_mut().zip(fields) {
            *to = match channel {
                Channel::R => 0,
                Channel::G => 1,
                Channel::B => 2,
                _ => 3,
            };
        }
        let signed = d.type_ == TextureType::Sint;
        Ok(Pbe {
            image,
            packer,
            tile_packer,
            tile_format,
            type_: d.type_,
            signed,
            swizzle,
            level: d.level,
            layers,
            is_3d,
        })
    }

    /// The level with a number relative to the descriptor's level.
    pub(crate) fn level(&self, number: u32) -> Option<&Level> {
        self.image.levels().get((self.level + number) as usize)
    }

    /// Slices or layers of a level.
    pub(crate) fn depth(&self, level: &Level) -> u32 {
        if self.is_3d { level.depth } else { self.layers }
    }
}
