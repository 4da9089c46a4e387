//! Midgard's descriptors of textures, samplers and varyings, converted to those of later architectures.
//!
//! Textures are found through an array of addresses, and each is followed by its surfaces. Both textures and samplers
//! are converted to the later descriptors that the units read.
//!
// source: Mesa, v5.xml, pan_texture.c, pan_cmdstream.c (panfrost_emit_texture_descriptors,
// panfrost_emit_varying_descriptor: special records).

use tepui_mali_packets::midgard::{SamplerV5, SurfaceType, TextureV5, WrapModeV5};
use tepui_mali_packets::texture::{Sampler, Texture, TextureDimension, WrapMode};
use tepui_mali_packets::{Packet, Problem};
use tepui_softgpu::UnitMemory;

use super::super::op::Trap;
use super::failed;
use super::tables::SAMPLERS;
use crate::render::pixels::{Pixels, Point};

/// Packet revision of v6, whose texture descriptors are nearest to Midgard's.
const V6: u32 = 3;

/// Types of varyings that are in no buffer: the point coordinate.
const POINT_COORDINATE: u8 = 33;
const FRAGMENT_COORDINATE: u8 = 37;
const FRONT_FACING: u8 = 38;
/// The point coordinate that counts from below.
const POINT_COORDINATE_FROM_BELOW: u8 = 97;

fn invalid(what: &str, problem: &Problem) -> Box<Trap> {
    Box::new(Trap::Invalid(format!("{what}: {problem}")))
}

fn unimplemented(what: String) -> Box<Trap> {
    Box::new(Trap::Unimplemented(what))
}

/// Converts the descriptor of a texture or sampler in a list to a later one.
pub fn descriptor(
    memory: &mut UnitMemory<'_>,
    table: u32,
    list: u64,
    index: u32,
) -> Result<[u8; 32], Box<Trap>> {
    if table == SAMPLERS {
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

/// The position at which a lane's varyings are interpolated.
pub fn place(pixels: &Pixels, lane: usize, centroid: bool) -> Point {
    let own = &pixels.lanes[lane];
    match pixels.pipeline.as_ref().is_some_and(|p| p.per_sample) {
        true => Point::Sample(own.sample),
        false if centroid => Point::Centroid(own.coverage),
        false => Point::Centre,
    }
}

/// The value of a varying that is in no buffer.
pub fn builtin(pixels: &Pixels, lane: usize, special: u8) -> Option<[u32; 4]> {
    let at = place(pixels, lane, false);
    let primitive = pixels.primitive(lane);
    let one = 1f32.to_bits();
    Some(match special {
        FRAGMENT_COORDINATE => {
            let [x, y] = pixels.point(lane, at);
            let [low, high] = pixels.pipeline.as_ref().map_or([0.0, 1.0], |p| p.range);
            let z = pixels.depth(lane, pixels.within(lane, at)).clamp(low, high);
            let w = primitive
                .map_or(1.0, |p| crate::render::scene::value(&p.barycentrics.one_over_w, [x, y]));
            [x as f32, y as f32, z, w as f32].map(f32::to_bits)
        }
        FRONT_FACING => [u32::from(primitive.is_none_or(|p| p.front)).wrapping_neg(); 4],
        POINT_COORDINATE | POINT_COORDINATE_FROM_BELOW => {
            let planes = primitive.and_then(|p| p.point.as_ref());
            let place = pixels.point(lane, at);
            let mut s = planes.map_or([0.0; 2], |planes| {
                [0, 1].map(|k| crate::render::scene::value(&planes[k], place) as f32)
            });
            if special == POINT_COORDINATE_FROM_BELOW {
                s[1] = 1.0 - s[1];
            }
            [s[0].to_bits(), s[1].to_bits(), 0, one]
        }
        _ => return None,
    })
}
