//! Descriptors: records and surface states of sets, states of views, samplers.
//!
//! A set has two kinds of memory. In the first, each descriptor has the record that programs read when its index is not known
//! before ([`tepui_intel_compiler::set_memory`]); in the second, the surface states to which entries of binding tables point.

use tepui_format::Format;
use tepui_intel_chips::Generation;
use tepui_intel_compiler::View as ViewKind;
use tepui_intel_compiler::set_memory::{buffer, sampled, storage};
use tepui_intel_packets::Packet;
use tepui_intel_packets::sampler::{
    MapFilter, MipFilter, ReductionType, SamplerBorderColorState, SamplerState, ShadowFunction,
    TextureCoordinateMode,
};
use tepui_intel_packets::surface::{RenderSurfaceState, ShaderChannelSelect};
use tepui_vulkan::backend::{Descriptor, MAX_PLANES, PerSetMemory, SamplerInfo, ViewInfo};
use tepui_vulkan::descriptor::DescriptorType;
use tepui_vulkan::{Result, vk};

use crate::device::Device;
use crate::family::Intel;
use crate::format;
use crate::packets::packet;
use crate::pool::Piece;
use crate::space;
use crate::states::{
    RECORDS, STATE, STATE_B, Sampler, State, buffer_state, elements, null_state, pack, sizes,
    state_of,
};
use crate::surface::{self, Role};

/// The handle of a surface state that messages name by themselves: its number, shifted to its place in an extended descriptor.
fn handle(piece: &Piece) -> u32 {
    ((piece.address - space::BINDLESS) / STATE_B as u64) as u32 * (1 << 12)
}

/// A surface state that handles reach.
pub struct Bindless {
    piece: Piece,
    state: State,
}

impl Bindless {
    fn new(device: &Device, state: State) -> Result<Bindless> {
        Ok(Bindless { piece: device.bindless(&state)?, state })
    }
}

/// Surface states of a view, for what its usage allows.
pub struct View {
    /// For the sampler, by plane.
    sampled: [Option<Bindless>; MAX_PLANES],
    /// For typed messages.
    storage: Option<Bindless>,
    /// For typed reads whose texels programs convert.
    raw: Option<Bindless>,
}

/// Describes an image view.
///
/// # Errors
/// When the view has no surface state, or there is no memory.
pub fn view(device: &Device, info: &ViewInfo<'_, Intel>) -> Result<View> {
    use vk::ImageUsageFlags as U;
    let generation = device.generation();
    let planes = surface::planes(info);
    let make = |plane: (usize, Format), role: Role| -> Result<Option<Bindless>> {
        let state = surface::state(generation, info, plane, role)?;
        state.map(|s| Bindless::new(device, pack(generation, &s))).transpose()
    };
    let mut view = View { sampled: [None, None, None], storage: None, raw: None };
    if info.usage.intersects(U::SAMPLED | U::INPUT_ATTACHMENT) {
        for (to, &plane) in view.sampled.iter_mut().zip(&planes) {
            *to = make(plane, Role::Sampled)?;
        }
    }
    if let (true, &[plane]) = (info.usage.contains(U::STORAGE), &planes[..]) {
        view.storage = make(plane, Role::Storage)?;
        view.raw = make(plane, Role::Raw)?;
    }
    Ok(view)
}

/// Describes a texel buffer.
///
/// # Errors
/// When texel buffers do not have the format, or there is no memory.
pub fn buffer_view(device: &Device, f: Format, address: u64, size: u64) -> Result<View> {
    let generation = device.generation();
    let unknown = || tepui_vulkan::Error::unsupported(format!("texel buffers of {f}"));
    let hw = format::hw(f).ok_or_else(unknown)?;
    let element_b = f.info().block.bytes;
    let count = size / u64::from(element_b);
    let of = |number: u32| {
        let state = match count {
            0 => return null_state(),
            n => elements(generation, address, n, element_b, number),
        };
        pack(
            generation,
            &RenderSurfaceState {
                shader_channel_select_red: hw.swizzle[0],
                shader_channel_select_green: hw.swizzle[1],
                shader_channel_select_blue: hw.swizzle[2],
                shader_channel_select_alpha: hw.swizzle[3],
                ..state
            },
        )
    };
    let raw = format::raw(element_b);
    Ok(View {
        sampled: [Some(Bindless::new(device, of(hw.number))?), None, None],
        storage: Some(Bindless::new(device, of(hw.number))?),
        raw: raw.map(|number| Bindless::new(device, of(number))).transpose()?,
    })
}

/// Writes a descriptor into a set's memory.
pub fn write(
    generation: Generation,
    ty: DescriptorType,
    d: &Descriptor<'_, Intel>,
    [records, states, _]: PerSetMemory<&mut [u8]>,
) {
    use DescriptorType as D;
    let mut word = |at: u32, value: u32| {
        if let Some(to) = records.get_mut(at as usize..at as usize + 4) {
            to.copy_from_slice(&value.to_le_bytes());
        }
    };
    let mut put = |at: u32, state: &State| {
        if let Some(to) = states.get_mut(at as usize..at as usize + STATE_B) {
            to.copy_from_slice(state);
        }
    };
    match d {
        Descriptor::Null => {
            // The first state of the bindless ones is that of nothing.
            let all = MAX_PLANES as u32;
            (0..all * sizes(ty)[RECORDS] / 4).for_each(|k| word(4 * k, 0));
            if ty.is_buffer() {
                word(buffer::ADDRESS, space::NULL_BUFFER as u32);
                word(buffer::ADDRESS + 4, (space::NULL_BUFFER >> 32) as u32);
            }
            (0..all.max(2)).for_each(|k| put(k * STATE_B as u32, &null_state()));
        }
        &Descriptor::Buffer { address, size } => {
            let size = size.min(u64::from(u32::MAX)) as u32;
            word(buffer::ADDRESS, address as u32);
            word(buffer::ADDRESS + 4, (address >> 32) as u32);
            word(buffer::SIZE, size);
            word(buffer::SIZE + 4, 0);
            let uniform = matches!(ty, D::UniformBuffer | D::InlineUniformBlock);
            put(STATE, &buffer_state(generation, address, size, uniform));
        }
        Descriptor::BufferView(view) => image(ty, view, &mut word, &mut put),
        Descriptor::Image { view, sampler } => {
            if let Some(view) = view {
                image(ty, view, &mut word, &mut put);
            }
            if let Some(sampler) = sampler {
                // There is room for as many planes as the set's layout has.
                let planes = if ty == D::CombinedImageSampler { MAX_PLANES } else { 1 } as u32;
                let all = (0..planes).map(|k| k * sampled::BYTES + sampled::SAMPLER);
                all.for_each(|at| word(at, sampler.handle()));
            }
        }
    }
}

/// Writes the record and the states of an image or texel buffer.
fn image(
    ty: DescriptorType,
    view: &View,
    word: &mut impl FnMut(u32, u32),
    put: &mut impl FnMut(u32, &State),
) {
    let null = null_state();
    let of = |b: &Option<Bindless>| b.as_ref().map_or((0, null), |b| (handle(&b.piece), b.state));
    if matches!(ty, DescriptorType::StorageImage | DescriptorType::StorageTexelBuffer) {
        let (own, state) = of(&view.storage);
        let (raw, raw_state) = if view.raw.is_some() { of(&view.raw) } else { (own, state) };
        word(storage::SURFACE, own);
        word(storage::RAW, raw);
        put(state_of(ViewKind::Storage), &state);
        put(state_of(ViewKind::Raw), &raw_state);
    } else {
        for (k, plane) in (0..).zip(&view.sampled).filter(|(k, p)| *k == 0 || p.is_some()) {
            let (handle, state) = of(plane);
            word(k * sampled::BYTES + sampled::SURFACE, handle);
            put(k * STATE_B as u32 + state_of(ViewKind::Sampled), &state);
        }
    }
}

/// Describes a sampler.
///
/// # Errors
/// When a value has no encoding, or there is no memory.
pub fn sampler(device: &Device, info: &SamplerInfo) -> Result<Sampler> {
    let c = &info.core;
    let border = arranged(border(c.border_color, info.border), info.border_format);
    let wraps = [c.address_mode_u, c.address_mode_v, c.address_mode_w];
    let has_border = wraps.contains(&vk::SamplerAddressMode::CLAMP_TO_BORDER);
    let border = match has_border {
        true => {
            let [red, green, blue, alpha] = border;
            let state = SamplerBorderColorState {
                border_color_32bit_red: red,
                border_color_32bit_green: green,
                border_color_32bit_blue: blue,
                border_color_32bit_alpha: alpha,
            };
            // The pointer counts in 64 bytes.
            let mut bytes = [0; 64];
            state.pack_into(&mut bytes).map_err(packet)?;
            Some(device.border(&bytes)?)
        }
        false => None,
    };
    let pointer = border.as_ref().map_or(0, |b| b.address - space::DYNAMIC);
    let state = sampler_state(device.generation(), info, pointer);
    let mut bytes = [0; SamplerState::SIZE_BYTES];
    let revision = tepui_intel_packets::revision(device.generation());
    state.pack_into_as(&mut bytes, revision).map_err(packet)?;
    Ok(Sampler { piece: device.sampler(&bytes)?, _border: border })
}

/// Words of a border colour.
fn border(colour: vk::BorderColor, custom: Option<[u32; 4]>) -> [u32; 4] {
    let one = 1f32.to_bits();
    custom.unwrap_or(match colour {
        vk::BorderColor::FLOAT_OPAQUE_BLACK => [0, 0, 0, one],
        vk::BorderColor::INT_OPAQUE_BLACK => [0, 0, 0, 1],
        vk::BorderColor::FLOAT_OPAQUE_WHITE => [one; 4],
        vk::BorderColor::INT_OPAQUE_WHITE => [1; 4],
        _ => [0; 4],
    })
}

/// A border colour whose components are those of a view of a format once the view has swapped its channels.
fn arranged(colour: [u32; 4], f: Option<Format>) -> [u32; 4] {
    use ShaderChannelSelect as Channel;
    let Some(hw) = f.and_then(format::hw) else { return colour };
    let mut out = colour;
    for (k, channel) in hw.swizzle.into_iter().enumerate() {
        let to = match channel {
            Channel::Red => 0,
            Channel::Green => 1,
            Channel::Blue => 2,
            Channel::Alpha => 3,
            _ => continue,
        };
        out[to] = colour[k];
    }
    out
}

/// source: Mesa, genX_init_state.c, `CreateSampler`
fn sampler_state(generation: Generation, info: &SamplerInfo, border: u64) -> SamplerState {
    let c = &info.core;
    let anisotropic = c.anisotropy_enable != vk::FALSE;
    let filter = |f: vk::Filter| match (f, anisotropic) {
        (_, true) => MapFilter::Anisotropic,
        (vk::Filter::NEAREST, _) => MapFilter::Nearest,
        _ => MapFilter::Linear,
    };
    let mode = |m: vk::SamplerAddressMode| match m {
        vk::SamplerAddressMode::MIRRORED_REPEAT => TextureCoordinateMode::Mirror,
        vk::SamplerAddressMode::CLAMP_TO_EDGE => TextureCoordinateMode::Clamp,
        vk::SamplerAddressMode::CLAMP_TO_BORDER => TextureCoordinateMode::ClampBorder,
        vk::SamplerAddressMode::MIRROR_CLAMP_TO_EDGE => TextureCoordinateMode::MirrorOnce,
        _ => TextureCoordinateMode::Wrap,
    };
    let (min_rounds, mag_rounds) =
        (c.min_filter != vk::Filter::NEAREST, c.mag_filter != vk::Filter::NEAREST);
    // A fixed-point number of eight bits after the point.
    let bias = (c.mip_lod_bias.clamp(-16.0, 15.996) * 256.0) as i32;
    SamplerState {
        cps_lod_compensation_enable: generation == Generation::Gen12,
        lod_preclamp_mode: LOD_PRECLAMP_OGL,
        mip_mode_filter: match c.mipmap_mode {
            vk::SamplerMipmapMode::NEAREST => MipFilter::Nearest,
            _ => MipFilter::Linear,
        },
        mag_mode_filter: filter(c.mag_filter),
        min_mode_filter: filter(c.min_filter),
        texture_lod_bias: bias as u32 & 0x1fff,
        anisotropic_algorithm: anisotropic,
        min_lod: c.min_lod.clamp(0.0, 14.0),
        max_lod: c.max_lod.clamp(0.0, 14.0),
        shadow_function: compare(if c.compare_enable != vk::FALSE {
            c.compare_op
        } else {
            vk::CompareOp::NEVER
        }),
        cube_surface_control_mode: !c
            .flags
            .contains(vk::SamplerCreateFlags::NON_SEAMLESS_CUBE_MAP_EXT),
        border_color_pointer: border,
        maximum_anisotropy: ((c.max_anisotropy.clamp(2.0, 16.0) - 2.0) / 2.0) as u32,
        r_address_min_filter_rounding_enable: min_rounds,
        r_address_mag_filter_rounding_enable: mag_rounds,
        v_address_min_filter_rounding_enable: min_rounds,
        v_address_mag_filter_rounding_enable: mag_rounds,
        u_address_min_filter_rounding_enable: min_rounds,
        u_address_mag_filter_rounding_enable: mag_rounds,
        non_normalized_coordinate_enable: c.unnormalized_coordinates != vk::FALSE,
        tcx_address_control_mode: mode(c.address_mode_u),
        tcy_address_control_mode: mode(c.address_mode_v),
        tcz_address_control_mode: mode(c.address_mode_w),
        reduction_type_enable: info.reduction != vk::SamplerReductionMode::WEIGHTED_AVERAGE,
        reduction_type: match info.reduction {
            vk::SamplerReductionMode::MIN => ReductionType::Minimum,
            vk::SamplerReductionMode::MAX => ReductionType::Maximum,
            _ => ReductionType::StdFilter,
        },
        ..SamplerState::default()
    }
}

/// The clamp of levels of detail before filters are chosen, as OpenGL and Vulkan have it. source: genxml, LOD PreClamp Mode
const LOD_PRECLAMP_OGL: u32 = 2;

/// The hardware compares texel and reference the other way around, and gives the complement. source: Mesa, genX_init_state.c
fn compare(op: vk::CompareOp) -> ShadowFunction {
    match op {
        vk::CompareOp::LESS => ShadowFunction::Lequal,
        vk::CompareOp::EQUAL => ShadowFunction::Notequal,
        vk::CompareOp::LESS_OR_EQUAL => ShadowFunction::Less,
        vk::CompareOp::GREATER => ShadowFunction::Gequal,
        vk::CompareOp::NOT_EQUAL => ShadowFunction::Equal,
        vk::CompareOp::GREATER_OR_EQUAL => ShadowFunction::Greater,
        vk::CompareOp::ALWAYS => ShadowFunction::Never,
        _ => ShadowFunction::Always,
    }
}
