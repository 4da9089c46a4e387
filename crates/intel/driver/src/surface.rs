//! Surface states of images.
//!
//! source: Mesa, isl_surface_state.c (`surf_fill_state`)

use tepui_format::Format;
use tepui_intel_chips::Generation;
use tepui_intel_layout::aux::AuxKind;
use tepui_intel_layout::{Dimension, ImageLayout as _, Layout, Msaa, Tiling};
use tepui_intel_packets::surface::{
    AuxiliarySurfaceMode, RenderSurfaceState, ShaderChannelSelect as Channel, SurfaceType, TileMode,
};
use tepui_vulkan::backend::{ImageInfo, ViewInfo};
use tepui_vulkan::image::aspect_format;
use tepui_vulkan::{Error, Result, vk};

use crate::clear_colours::CLEAR_COLOUR_B;
use crate::family::Intel;
use crate::format::{self, IDENTITY};
use crate::image::{Clear, Control};
use crate::mocs::mocs;

/// The unit that a surface state is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The sampler.
    Sampled,
    /// Typed messages.
    Storage,
    /// Typed reads of texels as unsigned numbers.
    Raw,
    /// The render cache.
    Target,
}

/// A part of an image as a unit sees it.
pub struct Part<'a> {
    /// Layout of the plane.
    pub layout: &'a Layout,
    /// The auxiliary surface that units use.
    pub control: Option<Control<'a>>,
    /// GPU address of the plane.
    pub address: u64,
    /// Number of the format.
    pub format: u32,
    /// The texels are [blocks](sees_blocks) of the image; only the first level is seen.
    pub sees_blocks: bool,
    /// First level, and levels.
    pub levels: [u32; 2],
    /// First layer or slice, and how many.
    pub layers: [u32; 2],
    /// Cube faces.
    pub cube: bool,
    /// Slices of three dimensions are layers of two: they have the same layout.
    pub slices_as_layers: bool,
    /// Sources of the components that are read.
    pub swizzle: [Channel; 4],
    /// Smallest level of detail.
    pub min_lod: f32,
}

/// The planes that a view shows, and their formats: all of a Y′CbCr format for its colours, else one.
pub fn planes(v: &ViewInfo<'_, Intel>) -> Vec<(usize, Format)> {
    let aspect = v.range.aspect_mask;
    match v.format.info().planes() {
        // Views of planes have the plane's format already.
        [] => vec![(v.image.plane(aspect), aspect_format(v.format, aspect))],
        all => all.iter().map(|p| p.format).enumerate().collect(),
    }
}

/// The surface state of a plane of an image view for a unit; `None` if the unit has no such format.
///
/// # Errors
/// When the image has no surface state.
pub fn state(
    generation: Generation,
    v: &ViewInfo<'_, Intel>,
    (plane, f): (usize, Format),
    role: Role,
) -> Result<Option<RenderSurfaceState>> {
    let unknown = || Error::unsupported(format!("views of {f}"));
    let hw = format::hw(f).ok_or_else(unknown)?;
    let number = match role {
        Role::Raw => match format::raw(f.info().block.bytes) {
            Some(number) => number,
            None => return Ok(None),
        },
        _ => hw.number,
    };
    let is_3d = v.image_info.image_type == vk::ImageType::_3D;
    let is_cube = matches!(v.view_type, vk::ImageViewType::CUBE | vk::ImageViewType::CUBE_ARRAY);
    let r = &v.range;
    let layers = match is_3d {
        // The sampler sees all slices.
        true if v.view_type == vk::ImageViewType::_3D => {
            [0, (v.image_info.extent[2] >> r.base_mip_level).max(1)]
        }
        _ => [r.base_array_layer, r.layer_count],
    };
    let part = Part {
        layout: &v.image.planes[plane].layout,
        control: v.image.control_of(plane),
        address: v.addresses[plane],
        format: number,
        sees_blocks: sees_blocks(&v.image.planes[plane].layout, f),
        levels: [r.base_mip_level, r.level_count],
        layers,
        cube: is_cube && role == Role::Sampled,
        // The order of texels in Ys tiles depends on the dimensions.
        slices_as_layers: is_3d
            && v.view_type != vk::ImageViewType::_3D
            && v.image.planes[plane].layout.desc().tiling != Tiling::Ys,
        swizzle: match role {
            Role::Sampled => composed(v.swizzle, channels(f, hw.swizzle)),
            _ => IDENTITY,
        },
        min_lod: v.min_lod,
    };
    Ok(Some(of_part(generation, &part, role)))
}

/// The surface state of a part of an image.
pub fn of_part(generation: Generation, p: &Part<'_>, role: Role) -> RenderSurfaceState {
    let l = p.layout;
    let shape = &l.desc().shape;
    let is_3d = shape.dimension == Dimension::D3 && !p.slices_as_layers;
    let renders = matches!(role, Role::Target | Role::Storage | Role::Raw);
    let [first, count] = p.layers;
    let count = count.max(1);
    let (surface_type, mut depth) = match (shape.dimension, p.cube) {
        (Dimension::D1, _) => (SurfaceType::Surftype1d, count - 1),
        (_, true) => (SurfaceType::SurftypeCube, (count / 6).max(1) - 1),
        (Dimension::D3, _) if is_3d => (SurfaceType::Surftype3d, shape.depth_px - 1),
        (Dimension::D2 | Dimension::D3 | Dimension::Cube, _) => {
            (SurfaceType::Surftype2d, count - 1)
        }
    };
    let [mut level, mut levels] = p.levels;
    let mut size = [shape.width_px, shape.height_px];
    let (mut base, mut first) = (Origin { address: p.address, offset_el: [0; 2] }, first);
    let mut tail = l.tail;
    if p.sees_blocks {
        let extent = l.levels()[level as usize].extent_el;
        size = [extent.w, extent.h];
        let in_tail = l.tail.map_or(0, |tail| level.saturating_sub(tail));
        tail = l.tail.filter(|&tail| level >= tail).map(|_| 0);
        if let Some(tile) = l.ys_tile_B(level, if is_3d { 0 } else { first }, [0; 3]) {
            // The level's tiles are a surface of their own.
            base = Origin { address: p.address + tile, offset_el: [0; 2] };
            (first, depth) = match is_3d {
                true => (first, (l.levels()[level as usize].depth_px << in_tail) - 1),
                false => (0, depth),
            };
        } else if level > 0 {
            // The level is a surface of its own, of one layer.
            (base, first) = (Origin::of_level(p, level, first), 0);
        }
        // Of a tail the number of the level says where it is.
        size = size.map(|px| px << in_tail);
        (level, levels) = (in_tail, 1);
    }
    // What is rendered to has a level, what is sampled has a first one and how many follow.
    let (mip_count_lod, surface_min_lod) = match role {
        Role::Target => (level, 0),
        _ => (levels.max(1) - 1, level),
    };
    let auxiliary = p.control.map(|c| mode(generation, &c));
    // A table leads from pages to their control surface.
    let surfaces = p.control.map(|c| c.auxiliary);
    let in_state = surfaces.filter(|a| a.surface.what != AuxKind::CcsOfPages);
    let is_depth_or_stencil = p.control.is_some_and(|c| c.is_depth_or_stencil);
    let (clear, depth_of_clears) = match p.control.and_then(|c| c.clear) {
        Some(Clear::At(at)) if is_words(p.format, l) && !is_depth_or_stencil => {
            (Some(at + CLEAR_COLOUR_B), 0.0)
        }
        Some(Clear::At(at)) => (Some(at), 0.0),
        Some(Clear::Depth(depth)) => (None, depth),
        None => (None, 0.0f32),
    };
    let rows = shape.dimension == Dimension::D1 && l.desc().tiling == Tiling::Linear;
    RenderSurfaceState {
        surface_type,
        surface_format: p.format,
        width: size[0] - 1,
        height: size[1] - 1,
        depth,
        minimum_array_element: first,
        render_target_view_extent: if renders || is_3d { count - 1 } else { 0 },
        surface_array: !is_3d,
        mip_count_lod,
        surface_min_lod,
        mip_tail_start_lod: tail.unwrap_or(15),
        surface_vertical_alignment: alignment(l.align_el.h),
        surface_horizontal_alignment: alignment(l.align_el.w),
        surface_pitch: if rows { 0 } else { (l.row_pitch_B - 1) as u32 },
        surface_qpitch: qpitch(l) >> 2,
        tile_mode: match l.desc().tiling {
            Tiling::Linear => TileMode::Linear,
            Tiling::W => TileMode::Wmajor,
            Tiling::X => TileMode::Xmajor,
            Tiling::Y | Tiling::Yf | Tiling::Ys => TileMode::Ymajor,
        },
        // source: Mesa, isl_surface_state.c (`isl_tiling_encode_trmode`)
        tiled_resource_mode: match l.desc().tiling {
            Tiling::Yf => 1,
            Tiling::Ys => 2,
            _ => 0,
        },
        cube_face_enable_positive_z: true,
        cube_face_enable_negative_z: true,
        cube_face_enable_positive_y: true,
        cube_face_enable_negative_y: true,
        cube_face_enable_positive_x: true,
        cube_face_enable_negative_x: true,
        number_of_multisamples: shape.samples.trailing_zeros(),
        // Depth and stencil have their samples next to each other.
        multisampled_surface_storage_format: l.msaa == Msaa::Interleaved,
        resource_min_lod: if p.sees_blocks { 0.0 } else { p.min_lod },
        shader_channel_select_red: p.swizzle[0],
        shader_channel_select_green: p.swizzle[1],
        shader_channel_select_blue: p.swizzle[2],
        shader_channel_select_alpha: p.swizzle[3],
        mocs: u32::from(mocs(generation)),
        surface_base_address: base.address,
        // In units of four elements, to which levels and layers of blocks are aligned.
        x_offset: base.offset_el[0] / 4,
        y_offset: base.offset_el[1] / 4,
        auxiliary_surface_mode: auxiliary.unwrap_or(AuxiliarySurfaceMode::AuxNone),
        auxiliary_surface_base_address: in_state.map_or(0, |a| p.address + a.offset),
        auxiliary_surface_pitch: in_state
            .map_or(0, |a| (a.surface.row_pitch_B / AUXILIARY_TILE_B - 1) as u32),
        auxiliary_surface_qpitch: in_state.map_or(0, |a| a.surface.qpitch_px >> 2),
        red_clear_color: depth_of_clears.to_bits(),
        depth_stencil_resource: is_depth_or_stencil,
        clear_value_address_enable: clear.is_some(),
        clear_value_address: clear.unwrap_or(0),
        ..RenderSurfaceState::default()
    }
}

/// Whether a format has the blocks of a compressed image as its texels (`BLOCK_TEXEL_VIEW_COMPATIBLE`).
pub fn sees_blocks(layout: &Layout, f: Format) -> bool {
    let texels = |f: Format| f.info().block.width_px * f.info().block.height_px;
    texels(layout.desc().shape.format) > 1 && texels(f) == 1
}

/// Start of a surface: the address of a tile, and an element within it.
struct Origin {
    address: u64,
    offset_el: [u32; 2],
}

impl Origin {
    /// Start of a layer of a level, from which on it is a surface of its own. source: Mesa, isl.c (`isl_surf_get_uncompressed_surf`)
    fn of_level(p: &Part<'_>, level: u32, layer: u32) -> Origin {
        let l = p.layout;
        let [x, y, _] = l.levels()[level as usize].origin_el;
        let y = y + layer * l.qpitch_el;
        let tile = l.tile_el();
        let tile_bytes = u64::from(tile.w) * u64::from(tile.h) * u64::from(l.element_B());
        let [column, row] = [x / tile.w, y / tile.h].map(u64::from);
        let row_bytes = l.row_pitch_B * u64::from(tile.h);
        Origin {
            address: p.address + row * row_bytes + column * tile_bytes,
            offset_el: [x % tile.w, y % tile.h],
        }
    }
}

/// Offset in a surface state of Gen9 of the colour of clear blocks. source: genxml, RENDER_SURFACE_STATE, Red Clear Color
pub const CLEAR_CHANNELS: u64 = 48;

/// Whether a number is that of the unsigned format with texels of an image's size, as which copies see the image.
fn is_words(number: u32, l: &Layout) -> bool {
    let words = Format::uint_of_size(l.element_B()).and_then(format::hw);
    words.is_some_and(|words| words.number == number)
}

/// Bytes of a row of an auxiliary surface's tiles, in which its pitch counts.
const AUXILIARY_TILE_B: u64 = 128;

/// The mode of an auxiliary surface. source: Mesa, isl_surface_state.c (`isl_encode_aux_mode`)
fn mode(generation: Generation, c: &Control<'_>) -> AuxiliarySurfaceMode {
    let a = c.auxiliary;
    match (generation, a.surface.what) {
        (Generation::Gen12, AuxKind::Mcs) if c.has_compressed_samples => {
            AuxiliarySurfaceMode::AuxMcsLce
        }
        (Generation::Gen9, AuxKind::Ccs) if a.compresses => AuxiliarySurfaceMode::AuxCcsE,
        (Generation::Gen9, AuxKind::Mcs | AuxKind::Ccs) => AuxiliarySurfaceMode::AuxCcsD,
        (Generation::Gen12, AuxKind::Mcs | AuxKind::Ccs) | (_, AuxKind::CcsOfPages) => {
            AuxiliarySurfaceMode::AuxCcsE
        }
        (_, AuxKind::Hiz) => AuxiliarySurfaceMode::AuxHiz,
    }
}

/// The encoding of an alignment of levels. source: genxml, `HALIGN_4` and so on
fn alignment(elements: u32) -> u32 {
    match elements {
        8 => 2,
        16 => 3,
        _ => 1,
    }
}

/// The distance of layers as the state counts it: rows of elements, or of 1D images pixels. source: Mesa, isl_genX_helpers.h,
/// `isl_get_qpitch`, which halves it for 3D stencil
fn qpitch(l: &Layout) -> u32 {
    let desc = l.desc();
    match (desc.shape.dimension, desc.tiling) {
        (Dimension::D1, Tiling::Linear) => {
            (l.row_pitch_B / u64::from(desc.shape.format.info().block.bytes)) as u32
        }
        (Dimension::D3, Tiling::W) => l.qpitch_el / 2,
        _ => l.qpitch_el,
    }
}

/// Sources of the components that shaders read of a format: what it lacks is 0, or 1 for alpha.
pub fn channels(f: Format, swizzle: [Channel; 4]) -> [Channel; 4] {
    if f.info().is_depth_or_stencil() {
        return [Channel::Red, Channel::Zero, Channel::Zero, Channel::One];
    }
    swizzle
}

/// The components of a view out of those of its format.
fn composed(view: [vk::ComponentSwizzle; 4], format: [Channel; 4]) -> [Channel; 4] {
    std::array::from_fn(|k| match view[k] {
        vk::ComponentSwizzle::ZERO => Channel::Zero,
        vk::ComponentSwizzle::ONE => Channel::One,
        vk::ComponentSwizzle::R => format[0],
        vk::ComponentSwizzle::G => format[1],
        vk::ComponentSwizzle::B => format[2],
        vk::ComponentSwizzle::A => format[3],
        _ => format[k],
    })
}

/// Slices or layers of a level of an image.
pub fn slices(info: &ImageInfo, level: u32) -> u32 {
    match info.image_type {
        vk::ImageType::_3D => (info.extent[2] >> level).max(1),
        _ => info.layers,
    }
}
