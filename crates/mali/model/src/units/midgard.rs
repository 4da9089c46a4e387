//! Midgard's descriptors of textures and samplers, converted to those of later architectures.
//!
//! Textures are found through an array of addresses, and each is followed by its surfaces.
//!
// source: Mesa, v5.xml, pan_texture.c, pan_cmdstream.c (panfrost_emit_texture_descriptors).

use tepui_mali_packets::midgard::{SamplerV5, SurfaceType, TextureV5, WrapModeV5};
use tepui_mali_packets::texture::{Sampler, Texture, TextureDimension, WrapMode};
use tepui_mali_packets::{Packet, Problem};
use tepui_softgpu::UnitMemory;

use crate::warp::trap::{Trap, failed};

/// Packet revision of v6, whose texture descriptors are nearest to Midgard's.
const V6: u32 = 3;

fn invalid(what: &str, problem: &Problem) -> Box<Trap> {
    Box::new(Trap::Invalid(format!("{what}: {problem}")))
}

fn unimplemented(what: String) -> Box<Trap> {
    Box::new(Trap::Unimplemented(what))
}

/// Converts the descriptor of a texture or sampler in a list to a later one.
pub fn descriptor(
    memory: &mut UnitMemory<'_>,
    is_sampler: bool,
    list: u64,
    index: u32,
) -> Result<[u8; 32], Box<Trap>> {
    if is_sampler {
        let at = list.wrapping_add(u64::from(index) * SamplerV5::SIZE_BYTES as u64);
        let bytes = memory.read_array::<{ SamplerV5::SIZE_BYTES }>(at).map_err(failed)?;
        let own = SamplerV5::unpack(&bytes).map_err(|p| invalid("sampler", &p))?;
        return sampler(&own)?.pack().map_err(|p| invalid("sampler", &p));
    }
    let at = list.wrapping_add(u64::from(index) * 8);
    let at = u64::from_le_bytes(memory.read_array(at).map_err(failed)?);
    if at == 0 {
        return Ok([0; 32]);
    }
    let bytes = memory.read_array::<{ TextureV5::SIZE_BYTES }>(at).map_err(failed)?;
    let t = TextureV5::unpack(&bytes).map_err(|p| invalid("texture", &p))?;
    if t.surface_type != SurfaceType::N64WithStrides {
        return Err(unimplemented(format!("textures with surfaces of type {}", t.surface_type)));
    }
    let volume = t.dimension == TextureDimension::N3d;
    let own = Texture {
        dimension: t.dimension,
        normalize_coordinates: true,
        format: t.format,
        width: t.width,
        height: t.height,
        swizzle: t.swizzle,
        texel_ordering: t.texel_ordering,
        levels: t.levels,
        // Levels are clamped by the sampler.
        maximum_lod: 31.0,
        sample_count: if volume { 1 } else { t.depth },
        depth: if volume { t.depth } else { 1 },
        array_size: t.array_size,
        surfaces: at + TextureV5::SIZE_BYTES as u64,
        ..Texture::default()
    };
    let mut out = [0; 32];
    own.pack_into_as(&mut out, V6).map_err(|p| invalid("texture", &p))?;
    Ok(out)
}

fn wrap(mode: WrapModeV5) -> Result<WrapMode, Box<Trap>> {
    Ok(match mode {
        WrapModeV5::Repeat => WrapMode::Repeat,
        // This mode is between edge and border; the edge approximates it.
        WrapModeV5::Clamp | WrapModeV5::ClampToEdge => WrapMode::ClampToEdge,
        WrapModeV5::ClampToBorder => WrapMode::ClampToBorder,
        WrapModeV5::MirroredRepeat => WrapMode::MirroredRepeat,
        WrapModeV5::MirroredClampToEdge => WrapMode::MirroredClampToEdge,
        other => return Err(unimplemented(format!("samplers that wrap by {other}"))),
    })
}

fn sampler(s: &SamplerV5) -> Result<Sampler, Box<Trap>> {
    // Limit of the later descriptors' fields.
    const MAX_LOD: f32 = 31.0;
    Ok(Sampler {
        wrap_mode_s: wrap(s.wrap_mode_s)?,
        wrap_mode_t: wrap(s.wrap_mode_t)?,
        wrap_mode_r: wrap(s.wrap_mode_r)?,
        seamless_cube_map: s.seamless_cube_map,
        normalized_coordinates: s.normalized_coordinates,
        minify_nearest: s.minify_nearest,
        magnify_nearest: s.magnify_nearest,
        mipmap_mode: s.mipmap_mode,
        minimum_lod: s.minimum_lod.min(MAX_LOD),
        maximum_lod: s.maximum_lod.min(MAX_LOD),
        compare_function: s.compare_function,
        lod_bias: s.lod_bias,
        border_color_r: s.border_color_r,
        border_color_g: s.border_color_g,
        border_color_b: s.border_color_b,
        border_color_a: s.border_color_a,
        ..Sampler::default()
    })
}
