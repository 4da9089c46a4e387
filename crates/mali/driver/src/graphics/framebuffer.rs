//! Framebuffer descriptors: what the fragment job of a rendering clears, and where it writes tiles to.
//!
//! source: Mesa, pan_desc.c (`pan_emit_fbd`, `pan_prepare_rt`, `pan_select_tile_size`), pan_clear.c, pan_format.c
//! (`panfrost_blendable_formats`)

use tepui_format::Format::{self, *};
use tepui_format::info::Numeric;
use tepui_format::texel::TexelCodec;
use tepui_mali_chips::Arch;
use tepui_mali_layout::afbc::{Afbc, Superblock};
use tepui_mali_layout::{Layout, Modifier};
use tepui_mali_packets::Packet;
use tepui_mali_packets::framebuffer::{
    BlockFormat, ColorBufferInternalFormat as Internal, ColorFormat, FramebufferParameters,
    FramebufferPointer, Msaa, PrePostFrameShaderMode, RenderTarget, RtClear, SFormat, TieBreakRule,
    ZInternalFormat, ZsCrcExtension, ZsFormat,
};
use tepui_mali_packets::texture::{AfbcCompressionMode, ComponentOrder as Order, Format as Code};
use tepui_vulkan::{Error, Result};

use super::samples;
use crate::format;
use crate::packed::packet;

/// Bytes of a framebuffer descriptor without its targets.
const FRAMEBUFFER_B: usize = 128;
/// Pixels of the largest tile. source: Mesa, pan_props.h (`panfrost_max_effective_tile_size`)
pub fn max_tile_px(arch: Arch) -> u32 {
    if arch < Arch(10) { 16 * 16 } else { 32 * 32 }
}

/// Pixels of the smallest tile. source: Mesa, pan_desc.c (`pan_select_tile_size`)
const MIN_TILE_PX: u32 = 4 * 4;

/// A format as the tile buffer holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileFormat {
    /// Format in the tile buffer.
    pub internal: Internal,
    /// Format in memory.
    pub writeback: ColorFormat,
    /// Number of the format for conversions from registers.
    pub conversion: u32,
    /// Bits of red, green, blue and alpha, and further bits after each, if the fixed function blends.
    pub bits: Option<[(u32, u32); 4]>,
    /// Order of the components in memory.
    pub order: Order,
}

/// The tile buffer's format of a colour format.
pub fn tile_format(f: Format) -> Option<TileFormat> {
    let hw = format::hw(f)?;
    let order = Order::from_raw(u64::from(hw.number & 0xfff))?;
    let srgb = hw.number & 1 << 20;
    let fixed = |internal, writeback, code: Code, bits| {
        let conversion = (code.raw() as u32) << 12 | Order::Rgba.raw() as u32 | srgb;
        Some(TileFormat { internal, writeback, conversion, bits: Some(bits), order })
    };
    let eight = |writeback| fixed(Internal::R8g8b8a8, writeback, Code::Rgba8Tb, [(8, 0); 4]);
    let is_unorm = matches!(f.info().numeric(), Numeric::Unorm | Numeric::Srgb);
    match Code::from_raw(u64::from(hw.number >> 12 & 0xff))? {
        _ if !is_unorm => {}
        _ if f == A8_UNORM => return eight(ColorFormat::R8),
        Code::R8Unorm => return eight(ColorFormat::R8),
        Code::Rg8Unorm => return eight(ColorFormat::R8g8),
        Code::Rgba8Unorm => return eight(ColorFormat::R8g8b8a8),
        Code::Rgb565 => {
            let bits = [(5, 5), (6, 4), (5, 5), (0, 2)];
            let internal = Internal::R5g6b5a0;
            return fixed(internal, ColorFormat::R5g6b5, Code::R5g6b5Pu, bits);
        }
        Code::Rgba4Unorm => {
            let internal = Internal::R4g4b4a4;
            return fixed(internal, ColorFormat::R4g4b4a4, Code::Rgba4Pu, [(4, 4); 4]);
        }
        Code::Rgb10A2Unorm => {
            let bits = [(10, 0), (10, 0), (10, 0), (2, 0)];
            let internal = Internal::R10g10b10a2;
            return fixed(internal, ColorFormat::R10g10b10a2, Code::Rgb10A2Tb, bits);
        }
        Code::Rgb5A1Unorm => {
            let bits = [(5, 5), (5, 5), (5, 5), (1, 1)];
            let internal = Internal::R5g5b5a1;
            return fixed(internal, ColorFormat::R5g5b5a1, Code::Rgb5A1Pu, bits);
        }
        _ => {}
    }
    // All others are bits, which conversions make.
    let (internal, writeback) = match f.info().block.bytes {
        1 => (Internal::Raw8, ColorFormat::Raw8),
        2 => (Internal::Raw16, ColorFormat::Raw16),
        4 => (Internal::Raw32, ColorFormat::Raw32),
        8 => (Internal::Raw64, ColorFormat::Raw64),
        16 => (Internal::Raw128, ColorFormat::Raw128),
        _ => return None,
    };
    Some(TileFormat { internal, writeback, conversion: hw.number, bits: None, order })
}

/// Sources of the components that are written, as the inverse of what is read.
fn swizzle(t: &TileFormat) -> u32 {
    let [r, g, b, a] = match (t.bits, t.order) {
        (None, _) => [0, 1, 2, 3],
        (_, Order::Bgra | Order::Bgr1) => [2, 1, 0, 3],
        (_, Order::Abgr) => [3, 2, 1, 0],
        (_, Order::Argb) => [3, 0, 1, 2],
        (_, Order::N000a) => [3, 1, 2, 3],
        _ => [0, 1, 2, 3],
    };
    r | g << 3 | b << 6 | a << 9
}

/// The clear value of a target as the tile buffer holds it.
fn clear_words(f: Format, t: &TileFormat, value: [u32; 4]) -> Result<[u32; 4]> {
    let Some(bits) = t.bits else {
        let unknown = |_| Error::unsupported(format!("clears of {f} on Mali"));
        let codec = TexelCodec::new(f).map_err(unknown)?;
        let packed = match f.info().numeric() {
            Numeric::Uint | Numeric::Sint => codec.pack_u32(value),
            _ => codec.pack_f32(value.map(f32::from_bits)),
        };
        let word = |k: u32| (packed >> (32 * k)) as u32;
        return Ok(match f.info().block.bytes {
            1 => [(packed as u32 & 0xff) * 0x0101_0101; 4],
            2 => [(packed as u32 & 0xffff) * 0x1_0001; 4],
            4 => [word(0); 4],
            8 => [word(0), word(1), word(0), word(1)],
            _ => [0, 1, 2, 3].map(word),
        });
    };
    let mut colour = value.map(|v| f32::from_bits(v).clamp(0.0, 1.0));
    if matches!(t.order, Order::Rgb1 | Order::Bgr1) {
        colour[3] = 1.0;
    }
    if f.info().numeric() == Numeric::Srgb {
        for c in &mut colour[..3] {
            *c = match *c {
                v if v <= 0.003_130_8 => 12.92 * v,
                v => 1.055 * v.powf(1.0 / 2.4) - 0.055,
            };
        }
    }
    let (mut word, mut at) = (0u32, 0);
    for (c, (whole, further)) in colour.into_iter().zip(bits) {
        let most = ((1u32 << whole) - 1) as f32;
        word |= ((c * most).round_ties_even() as u32) << further << at;
        at += whole + further;
    }
    Ok([word; 4])
}

/// A level of a plane of an image that is rendered to.
#[derive(Clone, Copy)]
pub struct Target<'a> {
    /// Layout of the plane.
    pub layout: &'a Layout,
    /// GPU address of the plane.
    pub address: u64,
    /// Format.
    pub format: Format,
    /// Level.
    pub level: u32,
    /// First layer or slice.
    pub layer: u32,
    /// The clear value, if it is cleared; depth and stencil are in the first word.
    pub clear: Option<[u32; 4]>,
    /// It is written to memory.
    pub store: bool,
}

/// Location of a layer of a target.
struct Location {
    base: u64,
    row_stride: u32,
    /// Bytes from sample to sample.
    surface_stride: u32,
    block: BlockFormat,
    msaa: Msaa,
    compression: Option<Compression>,
}

/// Compression of a target.
struct Compression {
    afbc: Afbc,
    mode: AfbcCompressionMode,
    /// Bytes from the headers to the bodies.
    body_offset: u32,
}

impl Target<'_> {
    fn location(&self, layer: u32) -> Result<Location> {
        let outside = || Error::unsupported("attachments that are not there");
        let layer = self.layer + layer;
        let shape = &self.layout.desc().shape;
        let (layer, slice) = if shape.depth_px > 1 { (0, layer) } else { (layer, 0) };
        let at = self.layout.levels().get(self.level as usize).ok_or_else(outside)?;
        let offset = self.layout.surface_offset_B(self.level, layer, slice).ok_or_else(outside)?;
        let (block, compression) = match self.layout.desc().modifier {
            Modifier::UInterleaved => (BlockFormat::TiledUInterleaved, None),
            Modifier::Linear => (BlockFormat::Linear, None),
            Modifier::Afbc(afbc) => {
                let format = self.layout.desc().shape.format;
                let lost = || Error::unsupported(format!("compressed attachments of {format}"));
                let mode = tepui_mali_textures::compression_mode(self.layout).ok_or_else(lost)?;
                let parts = at.afbc.ok_or_else(lost)?;
                let block = if afbc.tiled { BlockFormat::AfbcTiled } else { BlockFormat::Afbc };
                let body_offset = parts.header_size_B as u32;
                (block, Some(Compression { afbc, mode, body_offset }))
            }
        };
        let several = shape.samples > 1;
        Ok(Location {
            base: self.address + offset,
            row_stride: at.row_stride_B as u32,
            surface_stride: if several { at.surface_stride_B as u32 } else { 0 },
            block,
            msaa: if several { Msaa::Layered } else { Msaa::Single },
            compression,
        })
    }
}

/// Frame shaders: programs that run over tiles before the draws.
#[derive(Clone, Copy, Debug, Default)]
pub struct FrameShaders {
    /// Address of three draw descriptors.
    pub descriptors: u64,
    /// When the first two run.
    pub modes: [PrePostFrameShaderMode; 2],
}

/// The attachments of a rendering.
#[derive(Default)]
pub struct Framebuffer<'a> {
    /// Width and height in pixels.
    pub size: [u32; 2],
    /// Colours by location.
    pub colours: Vec<Option<Target<'a>>>,
    /// Depth.
    pub depth: Option<Target<'a>>,
    /// Stencil.
    pub stencil: Option<Target<'a>>,
    /// Bytes of a core's tile buffer that a tile may take.
    pub tilebuffer: u32,
    /// Pixels of a tile at most.
    pub max_tile_px: u32,
    /// The first vertex is provoking.
    pub first_provoking_vertex: bool,
    /// Samples of a pixel.
    pub samples: u32,
    /// Address of the positions of samples.
    pub sample_positions: u64,
    /// Programs that load attachments.
    pub loads: FrameShaders,
}

/// The tiler context of a layer.
#[derive(Clone, Copy, Debug, Default)]
pub struct TilerLayer {
    /// Address of the context; 0 if nothing is drawn.
    pub context: u64,
    /// The layer in it.
    pub layer: u32,
}

/// Sizes of tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tiles {
    /// Pixels of a tile.
    pub pixels: u32,
    /// Bytes of a pixel in all targets.
    pub pixel_b: u32,
}

impl Framebuffer<'_> {
    /// Bytes of the descriptor of a layer.
    pub fn bytes(&self) -> usize {
        let extension = if self.has_extension() { ZsCrcExtension::SIZE_BYTES } else { 0 };
        FRAMEBUFFER_B + extension + self.targets() * RenderTarget::SIZE_BYTES
    }

    fn targets(&self) -> usize {
        self.colours.len().max(1)
    }

    fn has_extension(&self) -> bool {
        self.depth.is_some() || self.stencil.is_some()
    }

    /// Bits that go with the address of a descriptor.
    ///
    /// # Errors
    /// When there are too many targets.
    pub fn tag(&self) -> Result<u64> {
        let pointer = FramebufferPointer {
            zs_crc_extension_present: self.has_extension(),
            render_target_count: self.targets() as u32,
            ..FramebufferPointer::default()
        };
        let mut bytes = [0; FramebufferPointer::SIZE_BYTES];
        pointer.pack_into(&mut bytes).map_err(packet)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// The largest tiles whose pixels fit.
    ///
    /// # Errors
    /// When an attachment has a format that is not rendered, or pixels are too large.
    pub fn tiles(&self) -> Result<Tiles> {
        let bytes = self.formats()?.iter().flatten().map(|(_, bytes)| bytes).sum::<u32>();
        let pixel_b = bytes * self.samples.max(1);
        let log2 = pixel_b.max(1).next_power_of_two().trailing_zeros();
        let pixels = (self.tilebuffer >> log2).min(self.max_tile_px);
        if pixels < MIN_TILE_PX {
            return Err(Error::unsupported(format!("pixels of {pixel_b} bytes in tiles on Mali")));
        }
        Ok(Tiles { pixels, pixel_b })
    }

    /// The descriptor of a layer.
    ///
    /// # Errors
    /// As [`Framebuffer::tiles`].
    pub fn descriptor(&self, layer: u32, tiler: TilerLayer) -> Result<Vec<u8>> {
        let formats = self.formats()?;
        let Tiles { pixels: tile_px, pixel_b } = self.tiles()?;
        let mut out = vec![0; self.bytes()];
        let parameters = FramebufferParameters {
            pre_frame_0: self.loads.modes[0],
            pre_frame_1: self.loads.modes[1],
            frame_shader_dcds: self.loads.descriptors,
            internal_layer_index: tiler.layer,
            sample_locations: self.sample_positions,
            sample_count: self.samples.max(1),
            sample_pattern: samples::pattern(self.samples),
            frame_argument: layer.into(),
            width: self.size[0],
            height: self.size[1],
            bound_max_x: self.size[0] - 1,
            bound_max_y: self.size[1] - 1,
            tie_break_rule: TieBreakRule::Minus180In0Out,
            effective_tile_size: tile_px,
            first_provoking_vertex: self.first_provoking_vertex,
            point_sprite_coord_origin_max_y: false,
            render_target_count: self.targets() as u32,
            color_buffer_allocation: (pixel_b * tile_px).next_multiple_of(1024),
            s_clear: self.stencil.and_then(|s| s.clear).map_or(0, |c| c[0] & 0xff),
            s_write_enable: self.stencil.is_some_and(|s| s.store),
            z_internal_format: match self.depth.map(|d| d.format) {
                Some(D16_UNORM) => ZInternalFormat::D16,
                Some(D32_SFLOAT) => ZInternalFormat::D32,
                _ => ZInternalFormat::D24,
            },
            z_write_enable: self.depth.is_some_and(|d| d.store),
            has_zs_crc_extension: self.has_extension(),
            z_clear: self.depth.and_then(|d| d.clear).map_or(0.0, |c| f32::from_bits(c[0])),
            tiler: tiler.context,
            ..FramebufferParameters::default()
        };
        parameters.pack_into(&mut out).map_err(packet)?;
        let mut at = FRAMEBUFFER_B;
        if self.has_extension() {
            self.extension(layer)?.pack_into(&mut out[at..]).map_err(packet)?;
            at += ZsCrcExtension::SIZE_BYTES;
        }
        let mut offset = 0;
        for k in 0..self.targets() {
            let colour = self.colours.get(k).copied().flatten();
            let target = match (colour, formats.get(k).copied().flatten()) {
                (Some(target), Some((format, bytes))) => {
                    let made = render_target(&target, &format, layer, offset)?;
                    offset += bytes * tile_px * self.samples.max(1);
                    made
                }
                _ => RenderTarget {
                    internal_format: Internal::R8g8b8a8,
                    internal_buffer_offset: offset,
                    writeback_block_format: BlockFormat::TiledUInterleaved,
                    ..RenderTarget::default()
                },
            };
            target.pack_into(&mut out[at..]).map_err(packet)?;
            at += RenderTarget::SIZE_BYTES;
        }
        Ok(out)
    }

    /// Formats of the targets, and the bytes of a pixel in the tile buffer.
    fn formats(&self) -> Result<Vec<Option<(TileFormat, u32)>>> {
        let of = |t: &Target<'_>| {
            let unknown = || Error::unsupported(format!("rendering to {} on Mali", t.format));
            let format = tile_format(t.format).ok_or_else(unknown)?;
            let bytes = if format.bits.is_some() { 4 } else { t.format.info().block.bytes };
            Ok((format, bytes))
        };
        self.colours.iter().map(|t| t.as_ref().map(of).transpose()).collect()
    }

    fn extension(&self, layer: u32) -> Result<ZsCrcExtension> {
        let mut out = ZsCrcExtension {
            zs_clean_pixel_write_enable: [self.depth, self.stencil]
                .into_iter()
                .flatten()
                .any(|t| t.clear.is_some()),
            ..ZsCrcExtension::default()
        };
        if let Some(depth) = self.depth {
            let at = depth.location(layer)?;
            out.zs_write_format = match depth.format {
                D16_UNORM => ZsFormat::D16,
                D32_SFLOAT => ZsFormat::D32,
                _ => ZsFormat::D24x8,
            };
            (out.zs_writeback_base, out.zs_writeback_row_stride) = (at.base, at.row_stride);
            out.zs_writeback_surface_stride = at.surface_stride;
            (out.zs_block_format, out.zs_msaa) = (at.block, at.msaa);
        }
        if let Some(stencil) = self.stencil {
            let at = stencil.location(layer)?;
            out.s_write_format = SFormat::S8;
            (out.s_writeback_base, out.s_writeback_row_stride) = (at.base, at.row_stride);
            out.s_writeback_surface_stride = at.surface_stride;
            (out.s_block_format, out.s_msaa) = (at.block, at.msaa);
        }
        Ok(out)
    }
}

fn render_target(t: &Target<'_>, format: &TileFormat, layer: u32, at: u32) -> Result<RenderTarget> {
    let location = t.location(layer)?;
    let [color_0, color_1, color_2, color_3] = match t.clear {
        Some(value) => clear_words(t.format, format, value)?,
        None => [0; 4],
    };
    let mut out = RenderTarget {
        internal_buffer_offset: at,
        internal_format: format.internal,
        write_enable: t.store,
        writeback_format: format.writeback,
        writeback_block_format: location.block,
        writeback_msaa: location.msaa,
        srgb: t.format.info().numeric() == Numeric::Srgb,
        swizzle: swizzle(format),
        clean_pixel_write_enable: t.clear.is_some(),
        clear: RtClear { color_0, color_1, color_2, color_3 },
        ..RenderTarget::default()
    };
    if !t.store {
        out.writeback_block_format = BlockFormat::TiledUInterleaved;
        return Ok(out);
    }
    match location.compression {
        // source: Mesa, pan_desc.c (`pan_prepare_rt`)
        Some(c) => {
            out.compression_mode = c.mode;
            out.yuv_transform = c.afbc.ytr;
            out.split_block = c.afbc.split;
            out.wide_block = c.afbc.superblock == Superblock::S32x8;
            out.header = location.base;
            out.header_row_stride = location.row_stride;
            out.body_offset = c.body_offset;
        }
        None => {
            out.base = location.base;
            out.row_stride = location.row_stride;
            out.surface_stride = location.surface_stride;
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// source: worked out by hand from Mesa's `pan_pack_color`
    #[test]
    fn clear_values_are_as_the_tile_buffer_holds_them() {
        let words =
            |f, v: [f32; 4]| clear_words(f, &tile_format(f).unwrap(), v.map(f32::to_bits)).unwrap();
        assert_eq!(words(R8G8B8A8_UNORM, [1.0, 0.0, 0.5, 1.0]), [0xff80_00ff; 4]);
        assert_eq!(words(A2B10G10R10_UNORM_PACK32, [1.0, 0.0, 0.0, 1.0]), [0xc000_03ff; 4]);
        // Five bits and five further ones, six and four, five and five.
        let green = words(B5G6R5_UNORM_PACK16, [0.0, 1.0, 0.0, 0.0]);
        assert_eq!(green, [0x3f << 4 << 10; 4]);
        let r = clear_words(R16_UINT, &tile_format(R16_UINT).unwrap(), [7, 0, 0, 0]).unwrap();
        assert_eq!(r, [0x7_0007; 4]);
    }

    #[test]
    fn swizzles_are_inverse() {
        let of = |f| swizzle(&tile_format(f).unwrap());
        assert_eq!(of(R8G8B8A8_UNORM), 0o3210);
        assert_eq!(of(B8G8R8A8_UNORM), 0o3012);
        assert_eq!(of(R32G32B32A32_SFLOAT), 0o3210);
    }
}
