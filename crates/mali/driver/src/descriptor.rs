//! Descriptors of sets: 32 bytes each, as the hardware reads them.
//!
//! A set's memory is a resource table. Programs name a descriptor by the table's number and an index ([`crate::tables`]), so a write to the
//! set is a plain write to memory.

use tepui_format::Format;
use tepui_mali_packets::Packet;
use tepui_mali_packets::shader::{Buffer, BufferType};
use tepui_mali_packets::texture::{
    CompareFunction, LodAlgorithm, MipmapMode, ReductionMode, Sampler as SamplerPacket,
    TextureDimension, WrapMode,
};
use tepui_vulkan::backend::{self, MAX_PLANES, PerSetMemory, SamplerInfo, ViewInfo};
use tepui_vulkan::descriptor::DescriptorType;
use tepui_vulkan::image::aspect_format;
use tepui_vulkan::{Result, vk};

use crate::device::Device;
use crate::family::Mali;
use crate::packed::packet;
use crate::texture::{self, Bytes, DESCRIPTOR_B, Part, Role};

/// Bytes of a descriptor.
const BYTES: u32 = DESCRIPTOR_B as u32;

/// Bytes of a descriptor in each kind of a set's memory, of which there is one.
pub fn sizes(ty: DescriptorType) -> PerSetMemory<u32> {
    use DescriptorType as D;
    let count = match ty {
        // They are in the driver's table.
        D::UniformBufferDynamic | D::StorageBufferDynamic => 0,
        D::CombinedImageSampler | D::Mutable => 2,
        _ => 1,
    };
    [count * BYTES, 0, 0]
}

/// Descriptors of a view, for what its usage allows.
pub struct View {
    /// For the texture unit, by plane.
    sampled: [Option<texture::Descriptor>; MAX_PLANES],
    /// For stores.
    storage: Option<texture::Descriptor>,
}

/// A sampler.
pub struct Sampler(Bytes);

/// The descriptor of a buffer; nothing for an empty one.
pub fn buffer(address: u64, size: u64) -> Bytes {
    let mut bytes = [0; DESCRIPTOR_B];
    let buffer = Buffer {
        buffer_type: BufferType::Simple,
        size: size.min(u64::from(u32::MAX)) as u32,
        address,
        ..Buffer::default()
    };
    if size > 0 && buffer.pack_into(&mut bytes).is_err() {
        // No memory has such an address.
        return [0; DESCRIPTOR_B];
    }
    bytes
}

/// The shape of a view.
fn shape(v: &ViewInfo<'_, Mali>) -> TextureDimension {
    match v.view_type {
        vk::ImageViewType::_1D | vk::ImageViewType::_1D_ARRAY => TextureDimension::N1d,
        vk::ImageViewType::_3D => TextureDimension::N3d,
        vk::ImageViewType::CUBE | vk::ImageViewType::CUBE_ARRAY => TextureDimension::Cube,
        _ => TextureDimension::N2d,
    }
}

/// Describes an image view.
///
/// # Errors
/// When the hardware has no such texture, or there is no memory.
pub fn view(device: &Device, v: &ViewInfo<'_, Mali>) -> Result<View> {
    use vk::ImageUsageFlags as U;
    let aspect = v.range.aspect_mask;
    // Views of planes have the plane's format already.
    let planes: Vec<(usize, Format)> = match v.format.info().planes() {
        [] => vec![(v.image.plane(aspect), aspect_format(v.format, aspect))],
        all => all.iter().map(|p| p.format).enumerate().collect(),
    };
    let make = |plane: usize, format: Format, role: Role| {
        let shape = match (shape(v), role) {
            // Stores see the faces of a cube as layers.
            (TextureDimension::Cube, Role::Storage) => TextureDimension::N2d,
            (shape, _) => shape,
        };
        let part = Part {
            layout: &v.image.planes[plane].layout,
            address: v.addresses[plane],
            format,
            shape,
            levels: [v.range.base_mip_level, v.range.level_count],
            layers: match v.view_type {
                vk::ImageViewType::_3D => [0, 1],
                _ => [v.range.base_array_layer, v.range.layer_count],
            },
            swizzle: texture::channels(v.swizzle),
            min_lod: v.min_lod - v.range.base_mip_level as f32,
        };
        texture::of_part(device, &part, role)
    };
    let mut out = View { sampled: [None, None, None], storage: None };
    if v.usage.intersects(U::SAMPLED | U::INPUT_ATTACHMENT) {
        for (to, &(plane, format)) in out.sampled.iter_mut().zip(&planes) {
            *to = Some(make(plane, format, Role::Sampled)?);
        }
    }
    if let (true, &[(plane, format)]) = (v.usage.contains(U::STORAGE), &planes[..]) {
        out.storage = Some(make(plane, format, Role::Storage)?);
    }
    Ok(out)
}

/// Describes a texel buffer.
///
/// # Errors
/// When texel buffers do not have the format, or there is no memory.
pub fn buffer_view(device: &Device, f: Format, address: u64, size: u64) -> Result<View> {
    let sampled = texture::of_buffer(device, f, address, size)?;
    let storage = texture::of_buffer(device, f, address, size)?;
    Ok(View { sampled: [Some(sampled), None, None], storage: Some(storage) })
}

fn wrap(mode: vk::SamplerAddressMode) -> WrapMode {
    match mode {
        vk::SamplerAddressMode::MIRRORED_REPEAT => WrapMode::MirroredRepeat,
        vk::SamplerAddressMode::CLAMP_TO_EDGE => WrapMode::ClampToEdge,
        vk::SamplerAddressMode::CLAMP_TO_BORDER => WrapMode::ClampToBorder,
        vk::SamplerAddressMode::MIRROR_CLAMP_TO_EDGE => WrapMode::MirroredClampToEdge,
        _ => WrapMode::Repeat,
    }
}

/// The comparison with its operands exchanged, as the unit compares the texel with the reference.
/// source: Mesa, pan_util.h (`panfrost_flip_compare_func`)
fn compare(s: &vk::SamplerCreateInfo) -> CompareFunction {
    if s.compare_enable == 0 {
        return CompareFunction::Never;
    }
    match s.compare_op {
        vk::CompareOp::LESS => CompareFunction::Greater,
        vk::CompareOp::EQUAL => CompareFunction::Equal,
        vk::CompareOp::LESS_OR_EQUAL => CompareFunction::Gequal,
        vk::CompareOp::GREATER => CompareFunction::Less,
        vk::CompareOp::NOT_EQUAL => CompareFunction::NotEqual,
        vk::CompareOp::GREATER_OR_EQUAL => CompareFunction::Lequal,
        vk::CompareOp::ALWAYS => CompareFunction::Always,
        _ => CompareFunction::Never,
    }
}

/// The bits of the border colour.
fn border(s: &SamplerInfo) -> [u32; 4] {
    const ONE: u32 = 1f32.to_bits();
    if let Some(custom) = s.border.or(s.opaque_black) {
        return custom;
    }
    match s.core.border_color {
        vk::BorderColor::FLOAT_OPAQUE_BLACK => [0, 0, 0, ONE],
        vk::BorderColor::INT_OPAQUE_BLACK => [0, 0, 0, 1],
        vk::BorderColor::FLOAT_OPAQUE_WHITE => [ONE; 4],
        vk::BorderColor::INT_OPAQUE_WHITE => [1; 4],
        _ => [0; 4],
    }
}

/// Largest level of detail that fields of samplers hold.
const MAX_LOD: f32 = (1 << 13) as f32 / 256.0 - 1.0 / 256.0;

/// Describes a sampler.
///
/// # Errors
/// When a value does not fit into the descriptor.
pub fn sampler(info: &SamplerInfo) -> Result<Sampler> {
    let s = &info.core;
    let is_normalized = s.unnormalized_coordinates == 0;
    let nearest = [s.mag_filter, s.min_filter].map(|f| f == vk::Filter::NEAREST);
    let anisotropic = s.anisotropy_enable != 0 && s.max_anisotropy > 1.0;
    let [r, g, b, a] = border(info);
    let lod = |v: f32| v.clamp(0.0, MAX_LOD);
    let sampler = SamplerPacket {
        reduction_mode: match info.reduction {
            vk::SamplerReductionMode::MIN => ReductionMode::Minimum,
            vk::SamplerReductionMode::MAX => ReductionMode::Maximum,
            _ => ReductionMode::Average,
        },
        wrap_mode_s: wrap(s.address_mode_u),
        wrap_mode_t: wrap(s.address_mode_v),
        wrap_mode_r: if is_normalized { wrap(s.address_mode_w) } else { WrapMode::ClampToEdge },
        // source: Mesa, panvk_vX_sampler.c, on rounding with nearest filters
        round_to_nearest_even: nearest != [true; 2],
        seamless_cube_map: !s.flags.contains(vk::SamplerCreateFlags::NON_SEAMLESS_CUBE_MAP_EXT),
        normalized_coordinates: is_normalized,
        clamp_integer_array_indices: false,
        magnify_nearest: nearest[0],
        minify_nearest: nearest[1],
        mipmap_mode: match s.mipmap_mode {
            vk::SamplerMipmapMode::LINEAR => MipmapMode::Trilinear,
            _ => MipmapMode::Nearest,
        },
        minimum_lod: lod(s.min_lod),
        maximum_lod: lod(s.max_lod),
        compare_function: compare(s),
        lod_bias: (s.mip_lod_bias.clamp(-16.0, 16.0) * 256.0) as i32,
        maximum_anisotropy: if anisotropic { s.max_anisotropy.min(16.0) as u32 } else { 1 },
        lod_algorithm: match anisotropic {
            true => LodAlgorithm::Anisotropic,
            false => LodAlgorithm::Isotropic,
        },
        border_color_r: r,
        border_color_g: g,
        border_color_b: b,
        border_color_a: a,
        ..SamplerPacket::default()
    };
    let mut bytes = [0; DESCRIPTOR_B];
    sampler.pack_into(&mut bytes).map_err(packet)?;
    Ok(Sampler(bytes))
}

impl Sampler {
    /// The descriptor.
    pub fn bytes(&self) -> &Bytes {
        &self.0
    }
}

/// Writes a descriptor into a set's memory.
pub fn write(
    ty: DescriptorType,
    d: &backend::Descriptor<'_, Mali>,
    [memory, ..]: PerSetMemory<&mut [u8]>,
) {
    use DescriptorType as D;
    let mut put = |n: usize, bytes: &Bytes| {
        if let Some(to) = memory.get_mut(n * DESCRIPTOR_B..(n + 1) * DESCRIPTOR_B) {
            to.copy_from_slice(bytes);
        }
    };
    let none = [0; DESCRIPTOR_B];
    let is_combined = ty == D::CombinedImageSampler;
    match d {
        backend::Descriptor::Null => (0..2 * MAX_PLANES).for_each(|n| put(n, &none)),
        &backend::Descriptor::Buffer { address, size } => put(0, &buffer(address, size)),
        backend::Descriptor::BufferView(view) => {
            let one = match ty {
                D::StorageTexelBuffer => view.storage.as_ref(),
                _ => view.sampled[0].as_ref(),
            };
            put(0, one.map_or(&none, |d| &d.bytes));
        }
        backend::Descriptor::Image { view, sampler } => {
            if let Some(view) = view {
                match ty {
                    D::StorageImage => put(0, view.storage.as_ref().map_or(&none, |d| &d.bytes)),
                    // Planes of a combined one have a sampler each.
                    _ if is_combined => {
                        let planes = view.sampled.iter().enumerate();
                        planes.for_each(|(k, d)| {
                            if let Some(d) = d {
                                put(2 * k, &d.bytes);
                            }
                        });
                    }
                    _ => put(0, view.sampled[0].as_ref().map_or(&none, |d| &d.bytes)),
                }
            }
            if let Some(sampler) = sampler {
                match is_combined {
                    // There is room for as many planes as the set's layout has.
                    true => (0..MAX_PLANES).for_each(|k| put(2 * k + 1, &sampler.0)),
                    false => put(0, &sampler.0),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samplers_say_what_the_api_asks_for() {
        let core = vk::SamplerCreateInfo {
            mag_filter: vk::Filter::LINEAR,
            min_filter: vk::Filter::NEAREST,
            mipmap_mode: vk::SamplerMipmapMode::LINEAR,
            address_mode_u: vk::SamplerAddressMode::REPEAT,
            address_mode_v: vk::SamplerAddressMode::CLAMP_TO_BORDER,
            address_mode_w: vk::SamplerAddressMode::MIRRORED_REPEAT,
            mip_lod_bias: -1.5,
            compare_enable: 1,
            compare_op: vk::CompareOp::LESS,
            max_lod: vk::LOD_CLAMP_NONE,
            border_color: vk::BorderColor::FLOAT_OPAQUE_WHITE,
            ..Default::default()
        };
        let info = SamplerInfo {
            core,
            border: None,
            border_format: None,
            opaque_black: None,
            reduction: vk::SamplerReductionMode::WEIGHTED_AVERAGE,
        };
        let s = SamplerPacket::unpack(sampler(&info).unwrap().bytes()).unwrap();
        assert_eq!((s.magnify_nearest, s.minify_nearest), (false, true));
        assert_eq!((s.mipmap_mode, s.lod_bias), (MipmapMode::Trilinear, -384));
        assert_eq!(s.compare_function, CompareFunction::Greater);
        assert_eq!([s.wrap_mode_s, s.wrap_mode_t], [WrapMode::Repeat, WrapMode::ClampToBorder]);
        assert_eq!(s.border_color_a, 1f32.to_bits());
        assert!(s.maximum_lod > 16.0 && s.round_to_nearest_even);
    }

    #[test]
    fn buffers_have_address_and_size_and_empty_ones_nothing() {
        let b = buffer(0x1_2345_6780, 100);
        assert_eq!(b[4..8], 100u32.to_le_bytes());
        assert_eq!(b[8..16], 0x1_2345_6780u64.to_le_bytes());
        assert_eq!(buffer(0x1000, 0), [0; 32]);
    }
}
