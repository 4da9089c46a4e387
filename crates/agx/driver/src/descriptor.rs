//! Descriptors: rows in descriptor sets, as the compiler's programs find them ([`tepui_agx_compiler::descriptor`]).

use std::sync::Arc;

use tepui_agx_compiler::descriptor::{
    self as rows, BUFFER_WIDTH, MAX_BUFFER_TEXELS, ROW_B, Reduction,
};
use tepui_agx_packets::pbe::Pbe;
use tepui_agx_packets::sampler as hw;
use tepui_agx_packets::texture::{
    Channel, ImageMode, Layout as Arrangement, SampleCount, Texture, TextureDimension,
};
use tepui_format::Format;
use tepui_layout::Dimension;
use tepui_packets::Packet;
use tepui_vulkan::backend::{Addresses, Descriptor, MAX_PLANES, SamplerInfo, ViewInfo};
use tepui_vulkan::descriptor::DescriptorType;
use tepui_vulkan::image::aspect_format;
use tepui_vulkan::{Error, Result, vk};
use tepui_vulkan_meta::Packing;

use crate::device::{Device, packet};
use crate::family::Agx;
use crate::format::{self, HwFormat};
use crate::image::Image;
use crate::mutable::BUFFER_B;
use crate::residency::{Alias, PageTable};

/// A row.
pub type Row = [u8; ROW_B as usize];

/// Descriptors of an image view.
pub struct View {
    /// Sampled image, plane by plane.
    pub sampled: [Row; MAX_PLANES],
    /// Storage image; zeros if it is none.
    pub storage: Row,
    /// Input attachment: an array of layers, of which a fragment reads its own.
    pub attachment: Row,
}

/// Descriptors of a texel buffer.
pub struct BufferView {
    /// The row.
    pub row: Row,
}

/// A sampler in the heap.
struct Slot {
    bytes: [u8; 8],
    number: u16,
    /// The device, to give the number back to.
    device: Arc<Device>,
}

impl Slot {
    fn new(device: &Arc<Device>, bytes: [u8; 8]) -> Result<Slot> {
        let number = device.add_sampler(&bytes)?;
        Ok(Slot { bytes, number, device: device.clone() })
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.device.remove_sampler(&self.bytes);
    }
}

/// A sampler.
pub struct Sampler {
    own: Slot,
    /// Second sampler: with a custom border colour, the one with a border of zeros; with opaque black, the one with a border of ones; with a
    /// reduction, the one that takes the nearest texels.
    second: Option<Slot>,
    /// A custom border colour.
    border: Option<[u32; 4]>,
    /// Its kind, from [`rows::sampler_kind`].
    kind: u16,
    /// The bias of the level of detail, as a 16-bit float.
    lod_bias: u16,
}

impl Sampler {
    /// Makes a sampler.
    ///
    /// # Errors
    /// When the hardware has no such sampler, or the heap is full.
    pub fn new(device: &Arc<Device>, info: &SamplerInfo) -> Result<Sampler> {
        let c = &info.core;
        let wraps = [c.address_mode_u, c.address_mode_v, c.address_mode_w];
        let has_border = wraps.contains(&vk::SamplerAddressMode::CLAMP_TO_BORDER);
        // The hardware's opaque black has its 1 in the last channel in memory, where R4G4B4A4 and A8, among others, do not have their alpha.
        // Comparisons look at the first channel alone. source: Mesa, hk_sampler.c, `is_border_color_custom`
        let compares = c.compare_enable == vk::TRUE;
        let border = info.border.or(info.opaque_black.filter(|_| !compares)).filter(|_| has_border);
        let is_black = has_border
            && border.is_none()
            && !compares
            && c.border_color == vk::BorderColor::FLOAT_OPAQUE_BLACK;
        let reduction = match info.reduction {
            vk::SamplerReductionMode::MIN => Reduction::Least,
            vk::SamplerReductionMode::MAX => Reduction::Greatest,
            _ => Reduction::Average,
        };
        let mut core = info.core;
        if reduction != Reduction::Average {
            // Queries of the level do not know of a line of samples either.
            core.anisotropy_enable = vk::FALSE;
        }
        if border.is_some() {
            core.border_color = vk::BorderColor::INT_OPAQUE_WHITE;
        }
        let with = |core| SamplerInfo { core, ..*info };
        let own = sampler(&with(core))?;
        if border.is_some() {
            core.border_color = vk::BorderColor::INT_TRANSPARENT_BLACK;
        }
        if is_black {
            device.wrong_borders.add_sampler();
            core.border_color = vk::BorderColor::INT_OPAQUE_WHITE;
        }
        if reduction != Reduction::Average {
            (core.mag_filter, core.min_filter) = (vk::Filter::NEAREST, vk::Filter::NEAREST);
            core.mipmap_mode = vk::SamplerMipmapMode::NEAREST;
            (core.min_lod, core.max_lod) = (0.0, vk::LOD_CLAMP_NONE);
        }
        let second = match border.is_some() || is_black || reduction != Reduction::Average {
            true => Some(Slot::new(device, sampler(&with(core))?)?),
            false => None,
        };
        let border_kind = match border {
            Some(_) => rows::Border::Custom,
            None if is_black => rows::Border::OpaqueBlack,
            None => rows::Border::Hardware,
        };
        let kind = rows::sampler_kind(reduction, border_kind);
        let lod_bias = half::f16::from_f32(c.mip_lod_bias).to_bits();
        Ok(Sampler { own: Slot::new(device, own)?, second, border, kind, lod_bias })
    }

    /// Writes the sampler into a row, after the descriptor of a sampled image.
    fn write(&self, row: &mut [u8]) {
        if let Some(colour) = &self.border {
            put(row, rows::BORDER_B, bytemuck::bytes_of(colour));
        }
        let second = match &self.second {
            None => 0,
            Some(second) => {
                put(row, rows::SECOND_STATE_B, &second.bytes);
                second.number
            }
        };
        put(row, rows::SAMPLER_B, &self.own.number.to_le_bytes());
        put(row, rows::SECOND_SAMPLER_B, &second.to_le_bytes());
        put(row, rows::LOD_BIAS_B, &self.lod_bias.to_le_bytes());
        put(row, rows::KIND_B, &self.kind.to_le_bytes());
        put(row, rows::STATE_B, &self.own.bytes);
    }
}

fn put(row: &mut [u8], at: u32, bytes: &[u8]) {
    row[at as usize..at as usize + bytes.len()].copy_from_slice(bytes);
}

/// The swizzle of a view on top of a format's.
fn compose(own: [Channel; 4], view: [vk::ComponentSwizzle; 4]) -> [Channel; 4] {
    std::array::from_fn(|k| match view[k] {
        vk::ComponentSwizzle::ZERO => Channel::Zero,
        vk::ComponentSwizzle::ONE => Channel::One,
        vk::ComponentSwizzle::R => own[0],
        vk::ComponentSwizzle::G => own[1],
        vk::ComponentSwizzle::B => own[2],
        vk::ComponentSwizzle::A => own[3],
        _ => own[k],
    })
}

/// The component that each channel in memory takes: the inverse of what reads give.
fn stored(read: [Channel; 4]) -> [Channel; 4] {
    const ORDER: [Channel; 4] = [Channel::R, Channel::G, Channel::B, Channel::A];
    ORDER.map(|place| read.iter().position(|&c| c == place).map_or(place, |k| ORDER[k]))
}

fn no_format(f: Format) -> Error {
    Error::new(vk::Result::ERROR_FORMAT_NOT_SUPPORTED, format!("the hardware has no format {f}"))
}

/// Part of an image that a descriptor refers to.
#[derive(Clone, Copy)]
pub struct Part {
    /// Plane of the image.
    pub plane: usize,
    /// Format.
    pub format: Format,
    /// Shape, without samples.
    pub dimension: Dimension,
    /// Layers are an array.
    pub array: bool,
    /// First level and levels.
    pub levels: [u32; 2],
    /// First layer and layers.
    pub layers: [u32; 2],
    /// Swizzle.
    pub swizzle: [vk::ComponentSwizzle; 4],
    /// A cube is an array of faces.
    pub storage: bool,
}

fn dimension(p: &Part, samples: u32) -> TextureDimension {
    use TextureDimension as D;
    match (p.dimension, p.array, samples > 1) {
        (Dimension::D3, ..) => D::D3,
        (Dimension::Cube, _, _) if p.storage => D::D2Array,
        (Dimension::Cube, true, _) => D::CubeArray,
        (Dimension::Cube, false, _) => D::Cube,
        (_, false, false) => D::D2,
        (_, true, false) => D::D2Array,
        (_, false, true) => D::D2Multisampled,
        (_, true, true) => D::D2ArrayMultisampled,
    }
}

/// Address and size of a part: address, width and height in texels, first level. Blocks of a compressed
/// image that are viewed as texels are an image of one level: halving their number gives other sizes
/// than halving the pixels does. source: Mesa, hk_image_view.c
fn extent(image: &Image, addresses: Addresses, p: &Part) -> (u64, [u32; 2], u32) {
    let layout = &image.planes[p.plane].layout;
    let shape = &layout.desc().shape;
    let start = addresses[p.plane] + u64::from(p.layers[0]) * layout.layer_stride_B;
    let (own, viewed) = (shape.format.info().block, p.format.info().block);
    if (own.width_px, own.height_px) == (viewed.width_px, viewed.height_px) {
        return (start, [shape.width_px, shape.height_px], p.levels[0]);
    }
    let level = &layout.levels()[p.levels[0] as usize];
    (start + level.offset_B, [level.extent_el.w, level.extent_el.h], 0)
}

fn count(samples: u32) -> SampleCount {
    if samples == 4 { SampleCount::Four } else { SampleCount::Two }
}

/// The address of a plane's compression metadata for descriptors of layers from `layer` on; `None` if the plane is not compressed.
fn metadata(image: &Image, addresses: Addresses, p: &Part) -> Option<u64> {
    let m = image.planes[p.plane].layout.metadata.as_ref()?;
    Some(addresses[p.plane] + m.offset_B + u64::from(p.layers[0]) * m.layer_stride_B)
}

/// The texture descriptor of an image part.
///
/// # Errors
/// When the hardware has no such image.
pub fn texture(image: &Image, addresses: Addresses, p: &Part) -> Result<[u8; 24]> {
    let hw = format::hw(p.format).ok_or_else(|| no_format(p.format))?;
    texture_as(image, addresses, p, hw, metadata(image, addresses, p))
}

/// Replaces the texture descriptor in a row by one that reads an image through its table of pages. A level that is viewed by itself, as
/// texels of another size, has no table: all of its texels count as resident.
fn read_pages(row: &mut Row, image: &Image, p: &Part, table: &PageTable) -> Result<()> {
    let own = image.planes[p.plane].layout.desc().shape.format.info().block;
    let viewed = p.format.info().block;
    if (own.width_px, own.height_px) != (viewed.width_px, viewed.height_px) {
        return Ok(());
    }
    let at = rows::TEXTURE_B as usize;
    let mut d = Texture::unpack(&row[at..at + Texture::SIZE_BYTES]).map_err(packet)?;
    (d.address, d.mode) = (table.address(p.layers[0]), ImageMode::Sparse);
    put(row, rows::TEXTURE_B, &d.pack().map_err(packet)?);
    Ok(())
}

/// The texture descriptor through which programs read the bits of a compressed image's texels.
///
/// # Errors
/// When the hardware has no such image.
pub fn bits(image: &Image, addresses: Addresses, p: &Part, packing: &Packing) -> Result<Row> {
    let hw = format::hw_bits(p.format, packing).ok_or_else(|| no_format(p.format))?;
    let mut row: Row = [0; ROW_B as usize];
    let texture = texture_as(image, addresses, p, hw, metadata(image, addresses, p))?;
    put(&mut row, rows::TEXTURE_B, &texture);
    Ok(row)
}

fn texture_as(
    image: &Image,
    addresses: Addresses,
    p: &Part,
    hw: HwFormat,
    metadata: Option<u64>,
) -> Result<[u8; 24]> {
    let layout = &image.planes[p.plane].layout;
    let shape = &layout.desc().shape;
    let HwFormat { channels, type_, srgb, swizzle } = hw;
    let [swizzle_r, swizzle_g, swizzle_b, swizzle_a] = compose(swizzle, p.swizzle);
    let linear = layout.desc().tiling == tepui_agx_layout::Tiling::Linear;
    let (address, [width, height], first_level) = extent(image, addresses, p);
    let mut d = Texture {
        dimension: dimension(p, shape.samples),
        layout: if linear { Arrangement::Linear } else { Arrangement::Gpu },
        channels,
        type_,
        srgb,
        swizzle_r,
        swizzle_g,
        swizzle_b,
        swizzle_a,
        width,
        height,
        first_level,
        last_level: first_level + p.levels[1] - 1,
        samples: count(shape.samples),
        address: Alias::Texture.address(address),
        unk_mipmapped: shape.levels > 1,
        ..Texture::default()
    };
    let depth = match p.dimension {
        Dimension::D3 => shape.depth_px,
        Dimension::Cube if !p.storage => (p.layers[1] / 6).max(1),
        _ => p.layers[1],
    };
    if linear {
        d.stride = layout.levels()[0].stride_B as u32;
        if p.array {
            d.extended = true;
            d.depth_linear = depth;
            d.layer_stride_linear = layout.layer_stride_B.max(128);
        }
    } else {
        d.depth = depth;
        d.page_aligned_layers = layout.page_aligned_layers;
        if let Some(at) = metadata {
            (d.compressed, d.extended, d.acceleration_buffer) = (true, true, at);
        }
    }
    d.pack().map_err(packet)
}

/// The PBE descriptor of one level of an image part, for the end of a tile or for stores of shaders. The latter know no
/// compression: tiles of compressed images that they store to must be opened before ([`crate::encoder`]).
/// source: Mesa, hk_image_view.c, `HK_DESC_USAGE_EMRT`
///
/// # Errors
/// When the hardware has no such image.
pub fn pbe(image: &Image, addresses: Addresses, p: &Part, from_tile: bool) -> Result<[u8; 24]> {
    let layout = &image.planes[p.plane].layout;
    let shape = &layout.desc().shape;
    let HwFormat { channels, type_, srgb, swizzle } =
        format::hw(p.format).ok_or_else(|| no_format(p.format))?;
    let [swizzle_r, swizzle_g, swizzle_b, swizzle_a] = stored(swizzle);
    let linear = layout.desc().tiling == tepui_agx_layout::Tiling::Linear;
    let (buffer, [width, height], level) = extent(image, addresses, p);
    let mut d = Pbe {
        dimension: dimension(p, shape.samples),
        layout: if linear { Arrangement::Linear } else { Arrangement::Gpu },
        channels,
        type_,
        // The conversion happens on the way into the tile.
        srgb: srgb && !from_tile,
        swizzle_r,
        swizzle_g,
        swizzle_b,
        swizzle_a,
        width,
        height,
        samples: count(shape.samples),
        unk_mipmapped: shape.levels > 1,
        buffer: Alias::PixelBackEnd.address(buffer),
        level,
        ..Pbe::default()
    };
    let layers = match p.dimension {
        Dimension::D3 => shape.depth_px,
        _ => p.layers[1],
    };
    if linear {
        d.stride = layout.levels()[0].stride_B as u32;
        if p.array {
            d.extended = true;
            d.depth_linear = layers;
            d.layer_stride_linear = layout.layer_stride_B.max(128);
        }
    } else {
        d.levels = shape.levels;
        d.layers = layers;
        d.page_aligned_layers = layout.page_aligned_layers;
        // Fields that the compiler does not use have their smallest legal values.
        (d.tile_width_sw, d.tile_height_sw) = (1, 1);
        if let Some(at) = metadata(image, addresses, p).filter(|_| from_tile) {
            (d.compressed, d.extended, d.acceleration_buffer) = (true, true, at);
        }
    }
    d.pack().map_err(packet)
}

/// Descriptors of consecutive texels, as images of [`BUFFER_WIDTH`] columns.
fn in_a_row(f: Format, address: u64, texels: u32) -> Result<(Texture, Pbe)> {
    let HwFormat { channels, type_, srgb, swizzle } = format::hw(f).ok_or_else(|| no_format(f))?;
    let [swizzle_r, swizzle_g, swizzle_b, swizzle_a] = swizzle;
    let [store_r, store_g, store_b, store_a] = stored(swizzle);
    let bytes = f.info().block.bytes;
    let stride = BUFFER_WIDTH * bytes;
    let (dimension, layout) = (TextureDimension::D2, Arrangement::Linear);
    // Descriptors hold addresses in units of 16 bytes; the first texel follows the aligned address.
    let aligned = address & !15;
    let skipped = (address - aligned) as u32 / bytes;
    let rows = texels.saturating_add(skipped).div_ceil(BUFFER_WIDTH);
    let (width, height) = (BUFFER_WIDTH, rows.clamp(1, MAX_BUFFER_TEXELS / BUFFER_WIDTH));
    let texture = Texture {
        dimension,
        layout,
        channels,
        type_,
        srgb,
        swizzle_r,
        swizzle_g,
        swizzle_b,
        swizzle_a,
        width,
        height,
        address: Alias::Texture.address(aligned),
        stride,
        buffer_size_sw: texels,
        buffer_offset_sw: skipped,
        ..Texture::default()
    };
    let pbe = Pbe {
        dimension,
        layout,
        channels,
        type_,
        srgb,
        swizzle_r: store_r,
        swizzle_g: store_g,
        swizzle_b: store_b,
        swizzle_a: store_a,
        width,
        height,
        buffer: Alias::PixelBackEnd.address(aligned),
        stride,
        buffer_offset_sw: skipped,
        ..Pbe::default()
    };
    Ok((texture, pbe))
}

/// Notes how far the addresses that the PBE descriptor has are from the resource's own, which atomics use.
fn put_alias_distance(row: &mut Row, address: u64) {
    let high = (Alias::PixelBackEnd.distance(address) >> 32) as u32;
    put(row, rows::ALIAS_DISTANCE_B, &high.to_le_bytes());
}

/// The row of a texel buffer.
///
/// # Errors
/// When the hardware has no such format.
pub fn buffer_view(f: Format, address: u64, size: u64) -> Result<BufferView> {
    let texels = (size / u64::from(f.info().block.bytes)) as u32;
    let mut row: Row = [0; ROW_B as usize];
    if format::is_three_words(f) {
        let texture = Texture { buffer_size_sw: texels, ..in_a_row(Format::R32_UINT, 0, 1)?.0 };
        put(&mut row, rows::TEXTURE_B, &texture.pack().map_err(packet)?);
        put(&mut row, rows::THREE_WORDS_ADDRESS_B, &address.to_le_bytes());
        put(&mut row, rows::THREE_WORDS_B, &1u32.to_le_bytes());
        return Ok(BufferView { row });
    }
    let (texture, pbe) = in_a_row(f, address, texels)?;
    put(&mut row, rows::TEXTURE_B, &texture.pack().map_err(packet)?);
    put(&mut row, rows::PBE_B, &pbe.pack().map_err(packet)?);
    put_alias_distance(&mut row, address);
    Ok(BufferView { row })
}

/// The row of a storage image. Its tiles are open if it is compressed.
///
/// # Errors
/// When the hardware has no such image.
pub fn storage(image: &Image, addresses: Addresses, p: &Part) -> Result<Row> {
    let mut row: Row = [0; ROW_B as usize];
    let hw = format::hw(p.format).ok_or_else(|| no_format(p.format))?;
    put(&mut row, rows::TEXTURE_B, &texture_as(image, addresses, p, hw, None)?);
    let layout = &image.planes[p.plane].layout;
    let bytes = u64::from(p.format.info().block.bytes);
    let samples = layout.desc().shape.samples;
    let level = &layout.levels()[p.levels[0] as usize];
    let start = addresses[p.plane] + u64::from(p.layers[0]) * layout.layer_stride_B;
    let pbe = if samples > 1 {
        // Shaders store sample by sample.
        in_a_row(p.format, start, (layout.size_B / bytes) as u32)?.1.pack().map_err(packet)?
    } else {
        pbe(image, addresses, p, false)?
    };
    put(&mut row, rows::PBE_B, &pbe);
    let linear = layout.desc().tiling == tepui_agx_layout::Tiling::Linear;
    let [tile_w, tile_h] = level.tile_el.to_array();
    let pitch = match linear {
        true => (level.stride_B / bytes) as u32,
        false => level.tiles.w * tile_w,
    };
    put(&mut row, rows::PITCH_B, &pitch.to_le_bytes());
    let logs = [samples, tile_w, tile_h].map(|n| n.ilog2() as u8);
    put(&mut row, rows::LOGS_B, &logs);
    let layer = (layout.layer_stride_B / bytes) as u32;
    put(&mut row, rows::LAYER_B, &layer.to_le_bytes());
    put_alias_distance(&mut row, start);
    Ok(row)
}

/// Describes an image view.
///
/// # Errors
/// When the hardware has no such image.
pub fn view(device: &Device, info: &ViewInfo<'_, Agx>) -> Result<View> {
    use vk::ImageViewType as T;
    let r = info.range;
    let (dimension, array) = match info.view_type {
        T::_1D => (Dimension::D2, false),
        T::_1D_ARRAY => (Dimension::D2, true),
        T::_2D => (Dimension::D2, false),
        T::_2D_ARRAY => (Dimension::D2, true),
        T::_3D => (Dimension::D3, false),
        T::CUBE => (Dimension::Cube, false),
        _ => (Dimension::Cube, true),
    };
    let planes = info.format.info().planes();
    // Views of planes have the plane's format already.
    let format = match planes.first() {
        Some(p) => p.format,
        None => aspect_format(info.format, r.aspect_mask),
    };
    let part = Part {
        plane: info.image.plane(r.aspect_mask),
        format,
        dimension,
        array,
        levels: [r.base_mip_level, r.level_count],
        layers: if dimension == Dimension::D3 {
            [0, 1]
        } else {
            [r.base_array_layer, r.layer_count]
        },
        swizzle: info.swizzle,
        storage: false,
    };
    let mut sampled = [[0; ROW_B as usize]; MAX_PLANES];
    put(&mut sampled[0], rows::TEXTURE_B, &texture(info.image, info.addresses, &part)?);
    if let Some(hw) = format::hw(part.format) {
        device.wrong_borders.add_format(hw.swizzle);
    }
    for (plane, p) in planes.iter().enumerate().skip(1) {
        let part = Part { plane, format: p.format, ..part };
        put(&mut sampled[plane], rows::TEXTURE_B, &texture(info.image, info.addresses, &part)?);
    }
    let mut attachment: Row = [0; ROW_B as usize];
    let layered = Part { storage: true, array: dimension != Dimension::D3, ..part };
    put(&mut attachment, rows::TEXTURE_B, &texture(info.image, info.addresses, &layered)?);
    let table = info.sparse.and_then(|range| range.table.as_ref());
    if let Some(table) = table {
        read_pages(&mut sampled[0], info.image, &part, table)?;
        read_pages(&mut attachment, info.image, &layered, table)?;
    }
    let can_store = info.usage.contains(vk::ImageUsageFlags::STORAGE)
        && format::features(format).optimal.contains(vk::FormatFeatureFlags2::STORAGE_IMAGE);
    let stored = Part { storage: true, levels: [r.base_mip_level, 1], ..part };
    let mut storage = match can_store {
        true => storage(info.image, info.addresses, &stored)?,
        false => [0; ROW_B as usize],
    };
    if can_store && let Some(table) = table {
        read_pages(&mut storage, info.image, &stored, table)?;
    }
    Ok(View { sampled, storage, attachment })
}

/// Packs a sampler.
///
/// # Errors
/// When the hardware has no such sampler.
pub fn sampler(info: &SamplerInfo) -> Result<[u8; 8]> {
    let s = &info.core;
    let filter = |f: vk::Filter| {
        if f == vk::Filter::NEAREST { hw::Filter::Nearest } else { hw::Filter::Linear }
    };
    let wrap = |w: vk::SamplerAddressMode| match w {
        vk::SamplerAddressMode::REPEAT => hw::Wrap::Repeat,
        vk::SamplerAddressMode::MIRRORED_REPEAT => hw::Wrap::MirroredRepeat,
        vk::SamplerAddressMode::CLAMP_TO_BORDER => hw::Wrap::ClampToBorder,
        vk::SamplerAddressMode::MIRROR_CLAMP_TO_EDGE => hw::Wrap::MirroredClampToEdge,
        _ => hw::Wrap::ClampToEdge,
    };
    let border_colour = match s.border_color {
        vk::BorderColor::FLOAT_OPAQUE_BLACK | vk::BorderColor::INT_OPAQUE_BLACK => {
            hw::BorderColour::OpaqueBlack
        }
        vk::BorderColor::FLOAT_OPAQUE_WHITE | vk::BorderColor::INT_OPAQUE_WHITE => {
            hw::BorderColour::OpaqueWhite
        }
        _ => hw::BorderColour::TransparentBlack,
    };
    let anisotropy = match s.anisotropy_enable {
        vk::TRUE => (s.max_anisotropy.clamp(1.0, 16.0) as u32 + 1).next_power_of_two() / 2,
        _ => 1,
    };
    let unnormalised = s.unnormalized_coordinates == vk::TRUE;
    let d = hw::Sampler {
        minimum_lod: s.min_lod.clamp(0.0, 14.0),
        maximum_lod: s.max_lod.clamp(0.0, 14.0),
        maximum_anisotropy: anisotropy,
        magnify: filter(s.mag_filter),
        minify: filter(s.min_filter),
        mip_filter: match s.mipmap_mode {
            _ if unnormalised => hw::MipFilter::None,
            vk::SamplerMipmapMode::LINEAR => hw::MipFilter::Linear,
            _ => hw::MipFilter::Nearest,
        },
        wrap_s: wrap(s.address_mode_u),
        wrap_t: wrap(s.address_mode_v),
        wrap_r: wrap(s.address_mode_w),
        pixel_coordinates: unnormalised,
        compare_enable: s.compare_enable == vk::TRUE,
        compare_func: match s.compare_op {
            vk::CompareOp::LESS => hw::CompareFunc::Less,
            vk::CompareOp::EQUAL => hw::CompareFunc::Equal,
            vk::CompareOp::LESS_OR_EQUAL => hw::CompareFunc::Lequal,
            vk::CompareOp::GREATER => hw::CompareFunc::Greater,
            vk::CompareOp::NOT_EQUAL => hw::CompareFunc::NotEqual,
            vk::CompareOp::GREATER_OR_EQUAL => hw::CompareFunc::Gequal,
            vk::CompareOp::ALWAYS => hw::CompareFunc::Always,
            _ => hw::CompareFunc::Never,
        },
        border_colour,
        seamful_cube_maps: s.flags.contains(vk::SamplerCreateFlags::NON_SEAMLESS_CUBE_MAP_EXT),
    };
    d.pack().map_err(packet)
}

/// Bytes of a descriptor in a set.
pub fn size(ty: DescriptorType) -> u32 {
    if ty.is_buffer() { BUFFER_B } else { ROW_B }
}

/// Writes a descriptor into a set.
pub fn write(ty: DescriptorType, d: &Descriptor<'_, Agx>, out: &mut [u8]) {
    match d {
        // Zeros are a null descriptor of a buffer; of an image, the smallest one, which has the address 0.
        Descriptor::Null => out.fill(0),
        Descriptor::Buffer { address, size } => {
            out[..8].copy_from_slice(&address.to_le_bytes());
            out[8..16].copy_from_slice(
                &u64::from(u32::try_from(*size).unwrap_or(u32::MAX)).to_le_bytes(),
            );
        }
        Descriptor::BufferView(v) => out.copy_from_slice(&v.row),
        Descriptor::Image { view, sampler } => {
            for (plane, out) in out.chunks_mut(ROW_B as usize).enumerate() {
                if let Some(v) = view {
                    let row = match ty {
                        DescriptorType::StorageImage => &v.storage,
                        DescriptorType::InputAttachment => &v.attachment,
                        _ => &v.sampled[plane],
                    };
                    // After a sampled image's descriptor, the row holds its sampler.
                    let bytes = match ty {
                        DescriptorType::StorageImage => out.len(),
                        _ => rows::BORDER_B as usize,
                    };
                    out[..bytes].copy_from_slice(&row[..bytes]);
                }
                if let Some(s) = sampler {
                    s.write(out);
                }
            }
        }
    }
}
