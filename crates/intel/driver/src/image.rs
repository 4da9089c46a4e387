//! Image layouts: planes of a Y′CbCr format, or one plane for each aspect.

use std::sync::{Arc, OnceLock};

use tepui_format::Format;
use tepui_intel_chips::Generation;
use tepui_intel_layout::aux::{Aux, AuxKind, PAGE_B as TABLE_PAGE_B, PAGE_CCS_B, page_format};
use tepui_intel_layout::{
    Dimension, ImageDesc, ImageKind, ImageLayout, Layout, Shape, Threads, Tiling,
};
use tepui_vulkan::backend::{
    Addresses, ExplicitPlane, HostCopy, ImageInfo, PlaneMemory, Subresource,
};
use tepui_vulkan::{Error, Result, vk};

use crate::blocks::has_blocks;
use crate::clear_colours::{CLEAR_COLOUR_B, ConstantColours};
use crate::compression::{self, Depth};
use crate::format;
use crate::kernel::PAGE_B;
use crate::page_table::{Mapping, PageTable};

/// A plane of an image.
pub struct Plane {
    /// Its layout.
    pub layout: Layout,
    /// First byte in the image's memory.
    pub offset: u64,
    /// Its auxiliary surface.
    pub auxiliary: Option<Auxiliary>,
    /// The control surface of its pages, beside an auxiliary surface of depth or samples (Gen12).
    pages: Option<Auxiliary>,
    /// Its pages in the table that maps them to their control surface, once it is bound; none if they are not mapped.
    mapping: OnceLock<Option<Mapped>>,
}

impl Plane {
    /// The control surface of its pages, whether these are mapped or not.
    fn page_surface(&self) -> Option<&Auxiliary> {
        let own = self.auxiliary.as_ref();
        own.filter(|a| a.surface.what == AuxKind::CcsOfPages).or(self.pages.as_ref())
    }

    /// Its pages in the table.
    fn mapped(&self) -> Option<&Mapped> {
        self.mapping.get()?.as_ref()
    }

    /// Maps its pages at an address to their control surface, if it has one; returns whether they are mapped.
    fn map(
        &self,
        table: &Arc<PageTable>,
        address: u64,
        format: Format,
        colour: u64,
    ) -> Result<bool> {
        let Some((control, format)) = self.page_surface().zip(page_format(format)) else {
            return Ok(true);
        };
        let size = self.layout.size_B;
        let pages = table.map(address, address + control.offset, size, format)?;
        let is_mapped = pages.is_some();
        let clear_colour = match self.auxiliary.as_ref().map_or(0, |a| a.clear_offset) {
            0 => colour,
            offset => address + offset,
        };
        // An image is bound once.
        let _ = self.mapping.set(pages.map(|_pages| Mapped { _pages, clear_colour }));
        Ok(is_mapped)
    }
}

/// The auxiliary surface of a plane.
pub struct Auxiliary {
    /// Its layout.
    pub surface: Aux,
    /// First byte, from that of the plane on.
    pub offset: u64,
    /// First byte of the colours of clear blocks, from that of the plane on; 0 if there are none.
    pub clear_offset: u64,
    /// Cache lines are compressed; without, blocks of colours are clear or plain.
    pub compresses: bool,
}

/// An auxiliary surface as a surface state names it.
#[derive(Clone, Copy)]
pub struct Control<'a> {
    /// The surface.
    pub auxiliary: &'a Auxiliary,
    /// The colour of clear blocks, if it is not zero or may change.
    pub clear: Option<Clear>,
    /// It is that of cache lines of depth or stencil.
    pub is_depth_or_stencil: bool,
    /// Cache lines of samples are compressed, too.
    pub has_compressed_samples: bool,
}

impl<'a> Control<'a> {
    /// A surface of colours on Gen9, whose clear colour is in the surface state.
    pub fn of_colours(auxiliary: &'a Auxiliary) -> Control<'a> {
        Control {
            auxiliary,
            clear: None,
            is_depth_or_stencil: false,
            has_compressed_samples: false,
        }
    }
}

/// The colour of clear blocks.
#[derive(Clone, Copy)]
pub enum Clear {
    /// In memory.
    At(u64),
    /// A depth.
    Depth(f32),
}

/// The layout of an image.
pub struct Image {
    /// Planes: colour, those of a Y′CbCr format, or depth and then stencil.
    pub planes: Vec<Plane>,
    /// Bytes of all planes.
    pub size: u64,
    /// All units may know the auxiliary surfaces of depth.
    reads_compressed_depth: bool,
}

/// A plane's pages in the table, and the address of the colour of its clear blocks.
struct Mapped {
    _pages: Mapping,
    clear_colour: u64,
}

/// Offset in them of a word that says whether blocks may be clear.
pub const CLEAR_FLAG: u64 = 32;

/// Largest end of a plane in bytes: that of the GPU's addresses.
const MAX_IMAGE_B: u64 = 1 << 47;

/// Alignment of images in bytes: that of a tile.
pub const ALIGNMENT: u64 = PAGE_B;

/// Alignment in bytes of rows of pixels that something else has laid out: that of render targets of 16-byte texels.
/// source: SKL PRM volume 2d, RENDER_SURFACE_STATE, Surface Base Address and Surface Pitch
const LINEAR_ALIGNMENT: u64 = 16;

/// Tilings of images that are shared, as their modifiers say; those that suit images best first.
const SHARED: [Tiling; 3] = [Tiling::Y, Tiling::X, Tiling::Linear];

/// The modifier of a list that suits an image best.
pub fn best_modifier(generation: Generation, info: &ImageInfo, list: &[u64]) -> Option<u64> {
    let compressed = [compression::modifier(generation)].into_iter();
    let compressed = compressed.filter(|_| may_be_shared_compressed(generation, info));
    let plain = SHARED.iter().filter(|&&t| is_usable(info, t)).filter_map(|t| t.drm_modifier());
    compressed.chain(plain).find(|m| list.contains(m))
}

/// Whether an image may have a tiling that is shared: one-dimensional ones are rows.
fn is_usable(info: &ImageInfo, tiling: Tiling) -> bool {
    tiling == Tiling::Linear || info.image_type != vk::ImageType::_1D
}

/// Whether an image may be shared with a control surface.
fn may_be_shared_compressed(generation: Generation, info: &ImageInfo) -> bool {
    let shared = ImageInfo { modifier: Some(compression::modifier(generation)), ..*info };
    (info.levels, info.layers, info.image_type) == (1, 1, vk::ImageType::_2D)
        && compression::has_line_control(generation, &shared)
}

/// An error of a layout that the application gives with a modifier.
fn bad_plane(why: String) -> Error {
    Error::new(vk::Result::ERROR_INVALID_DRM_FORMAT_MODIFIER_PLANE_LAYOUT_EXT, why)
}

/// Checks the location of the control surface of a shared image against the one that the hardware will use; returns its first byte.
/// source: drm_fourcc.h, `I915_FORMAT_MOD_Y_TILED_CCS`: Y tiles; `I915_FORMAT_MOD_Y_TILED_GEN12_RC_CCS`: 64 bytes for four tiles, which
/// its pitch counts
fn check_control(plane: &Plane, p: ExplicitPlane, surface: &Aux) -> Result<u64> {
    let pitch = control_pitch(&plane.layout, surface);
    let is_after = p.offset >= plane.offset.saturating_add(plane.layout.size_B);
    let alignment = match surface.what {
        AuxKind::CcsOfPages => PAGE_CCS_B,
        _ => ALIGNMENT,
    };
    if !is_after || !p.offset.is_multiple_of(alignment) {
        return Err(bad_plane(format!("a control surface at {}", p.offset)));
    }
    if p.row_pitch != 0 && p.row_pitch != pitch {
        return Err(bad_plane(format!("a control surface of {} bytes for {pitch}", p.row_pitch)));
    }
    let end = p.offset.checked_add(surface.size_B).filter(|&end| end <= MAX_IMAGE_B);
    end.map(|_| p.offset).ok_or_else(|| bad_plane(format!("a control surface at {}", p.offset)))
}

/// Bytes of a row of a control surface: of its own tiles, or for a row of the image's.
fn control_pitch(l: &Layout, surface: &Aux) -> u64 {
    match surface.what {
        AuxKind::CcsOfPages => l.row_pitch_B / 512 * 64,
        _ => surface.row_pitch_B,
    }
}

/// Checks the location of a plane that the application has laid out against the layout that the hardware will use.
fn check_explicit(l: &Layout, p: ExplicitPlane) -> Result<()> {
    let is_linear = l.desc().tiling == Tiling::Linear;
    let has_pages = l.aux().is_some_and(|a| a.what == AuxKind::CcsOfPages);
    let alignment = match (is_linear, has_pages) {
        (true, _) => LINEAR_ALIGNMENT,
        (_, true) => TABLE_PAGE_B,
        _ => ALIGNMENT,
    };
    if !p.offset.is_multiple_of(alignment) || is_linear && !p.row_pitch.is_multiple_of(alignment) {
        let why = format!("rows of {} bytes at {}, not multiples of", p.row_pitch, p.offset);
        return Err(bad_plane(format!("{why} {alignment}")));
    }
    if p.row_pitch != 0 && p.row_pitch != l.row_pitch_B {
        return Err(bad_plane(format!("rows of {} bytes for {}", p.row_pitch, l.row_pitch_B)));
    }
    let layers = u64::from(l.qpitch_el) * l.row_pitch_B;
    for (count, pitch) in
        [(l.desc().shape.layers, p.array_pitch), (l.desc().shape.depth_px, p.depth_pitch)]
    {
        if count > 1 && pitch != 0 && pitch != layers {
            return Err(bad_plane(format!("layers of {pitch} bytes for {layers}")));
        }
    }
    Ok(())
}

fn tiling(generation: Generation, info: &ImageInfo, format: Format) -> Result<Tiling> {
    if compression::is_shared(generation, info) && may_be_shared_compressed(generation, info) {
        return Ok(Tiling::Y);
    }
    if let Some(modifier) = info.modifier {
        let is = |&t: &Tiling| t.drm_modifier() == Some(modifier) && is_usable(info, t);
        let known = SHARED.into_iter().find(is);
        return known.ok_or_else(|| {
            bad_plane(format!("no images have the DRM format modifier {modifier:#x}"))
        });
    }
    Ok(match ImageKind::of(format) {
        // One-dimensional ones are rows of tiles as two-dimensional ones are.
        Some(ImageKind::Stencil) if generation == Generation::Gen9 => Tiling::W,
        Some(ImageKind::Stencil) => Tiling::Y,
        Some(ImageKind::Depth) => Tiling::Y,
        _ if info.linear || info.image_type == vk::ImageType::_1D => Tiling::Linear,
        _ if generation == Generation::Gen12 && has_blocks(info) => Tiling::Ys,
        // Tiles have no texels of three channels.
        _ if !format.info().block.bytes.is_power_of_two() => Tiling::Linear,
        _ => Tiling::Y,
    })
}

/// The kind of auxiliary surface that a plane of an image has.
fn kind(generation: Generation, info: &ImageInfo, format: Format) -> Option<AuxKind> {
    match ImageKind::of(format)? {
        ImageKind::Colour if compression::has_line_control(generation, info) => {
            Some(match generation {
                Generation::Gen9 => AuxKind::Ccs,
                Generation::Gen12 => AuxKind::CcsOfPages,
            })
        }
        ImageKind::Colour
            if generation == Generation::Gen9 && compression::has_clear_control(info) =>
        {
            Some(AuxKind::Ccs)
        }
        ImageKind::Depth if compression::has_hierarchy(generation, info) => Some(AuxKind::Hiz),
        ImageKind::Stencil if compression::has_stencil_control(generation, info) => {
            Some(AuxKind::CcsOfPages)
        }
        ImageKind::Colour if compression::has_sample_control(info) => Some(AuxKind::Mcs),
        _ => None,
    }
}

impl Image {
    /// Lays out an image.
    ///
    /// # Errors
    /// When the hardware has no such image.
    pub fn new(generation: Generation, info: &ImageInfo) -> Result<Image> {
        let list = format::planes(info.format);
        let is_shared = compression::is_shared(generation, info);
        let compresses = compression::has_line_control(generation, info);
        let count = list.len() + usize::from(is_shared);
        if let Some(e) = info.explicit.filter(|e| e.count as usize != count) {
            return Err(bad_plane(format!("{} layouts for {count} planes", e.count)));
        }
        let mut planes = Vec::with_capacity(list.len());
        let mut size = 0;
        for (k, tepui_format::Plane { format, width_divisor, height_divisor }) in
            list.into_iter().enumerate()
        {
            let explicit = info.explicit.map(|e| e.planes[k]);
            let stride = match explicit.filter(|p| info.linear && p.row_pitch != 0) {
                Some(p) => Some(
                    u32::try_from(p.row_pitch)
                        .map_err(|_| bad_plane(format!("rows of {} bytes", p.row_pitch)))?,
                ),
                None => None,
            };
            let desc = ImageDesc {
                shape: Shape {
                    format,
                    dimension: match info.image_type {
                        vk::ImageType::_1D => Dimension::D1,
                        vk::ImageType::_3D => Dimension::D3,
                        _ => Dimension::D2,
                    },
                    width_px: info.extent[0].div_ceil(width_divisor),
                    height_px: info.extent[1].div_ceil(height_divisor),
                    depth_px: info.extent[2],
                    layers: info.layers,
                    samples: info.samples,
                    levels: info.levels,
                },
                tiling: tiling(generation, info, format)?,
                may_have_aux: kind(generation, info, format).is_some(),
                linear_stride_B: stride,
            };
            let layout = match generation {
                Generation::Gen9 => Layout::new(&desc),
                Generation::Gen12 => Layout::of_gen12(&desc),
            }
            .map_err(|e| match explicit {
                Some(_) => bad_plane(e.to_string()),
                None => Error::new(vk::Result::ERROR_FORMAT_NOT_SUPPORTED, e.to_string()),
            })?;
            let offset = match explicit {
                Some(p) => check_explicit(&layout, p).map(|()| p.offset)?,
                // Entries of the table are for whole pages, also before the plane.
                None if layout.aux().is_some_and(|a| a.what == AuxKind::CcsOfPages) => {
                    u64::next_multiple_of(size, TABLE_PAGE_B)
                }
                None => u64::next_multiple_of(size, ALIGNMENT),
            };
            let end = offset.checked_add(layout.size_B).filter(|&end| end <= MAX_IMAGE_B);
            size = size.max(end.ok_or_else(|| bad_plane(format!("a plane at {offset}")))?);
            let mapping = OnceLock::new();
            planes.push(Plane { layout, offset, auxiliary: None, pages: None, mapping });
        }
        // Auxiliary surfaces follow all planes, so that these are where they are without.
        for plane in &mut planes {
            if let Some(surface) = plane.layout.aux() {
                let at = match info.explicit.filter(|_| is_shared) {
                    Some(e) => check_control(plane, e.planes[1], &surface)?,
                    None => u64::next_multiple_of(size, ALIGNMENT),
                };
                size = size.max(at + surface.size_B);
                let offset = at - plane.offset;
                let mut clear_offset = 0;
                let has_colour = match surface.what {
                    AuxKind::CcsOfPages | AuxKind::Ccs => plane.layout.kind == ImageKind::Colour,
                    // On Gen9 it is zero, as surface states say.
                    AuxKind::Mcs => generation == Generation::Gen12,
                    AuxKind::Hiz => false,
                };
                // Those that share an image know no colour.
                if has_colour && !is_shared {
                    // The colour in the image's format, and that of its texels as words.
                    clear_offset = size - plane.offset;
                    size += 2 * CLEAR_COLOUR_B;
                }
                let compresses = compresses || plane.layout.kind == ImageKind::Stencil;
                plane.auxiliary = Some(Auxiliary { surface, offset, clear_offset, compresses });
            }
            if let Some(surface) = plane.layout.pages_under_aux() {
                let at = u64::next_multiple_of(size, ALIGNMENT);
                size = at + surface.size_B;
                let offset = at - plane.offset;
                plane.pages =
                    Some(Auxiliary { surface, offset, clear_offset: 0, compresses: true });
            }
        }
        let reads_compressed_depth = compression::is_depth_read_compressed(generation, info);
        Ok(Image { planes, size, reads_compressed_depth })
    }

    /// Maps the pages of planes to their control surfaces, if they have one. `colours` are those of clear blocks of images without memory for
    /// one.
    ///
    /// # Errors
    /// When there is no memory, or an image that is shared cannot be mapped.
    pub fn map(
        &self,
        table: &Arc<PageTable>,
        info: &ImageInfo,
        addresses: &Addresses,
        colours: ConstantColours,
    ) -> Result<()> {
        for (plane, &address) in self.planes.iter().zip(addresses) {
            let own = plane.layout.desc().shape.format;
            let format = match plane.layout.kind {
                ImageKind::Colour => format::hw(info.format).map(|hw| hw.row.format),
                _ => Some(own),
            };
            let colour = match plane.layout.kind {
                ImageKind::Depth => colours.of_depth(own, self.clear_depth()),
                _ => colours.zero(),
            };
            let Some(format) = format else { continue };
            if !plane.map(table, address, format, colour)? && info.modifier.is_some() {
                let why = "a compressed image at addresses that another one has in another way";
                return Err(Error::device_memory(why));
            }
        }
        Ok(())
    }

    /// Alignment of the image's address.
    pub fn alignment(&self) -> u64 {
        let has_pages = self.planes.iter().any(|p| p.page_surface().is_some());
        if has_pages { TABLE_PAGE_B } else { ALIGNMENT }
    }

    /// The control surface of the cache lines of the image's colours, if these are compressed and nothing else is.
    pub fn page_control(&self) -> Option<&Auxiliary> {
        let plane = self.planes.first().filter(|p| p.layout.kind == ImageKind::Colour)?;
        plane.mapped()?;
        plane.auxiliary.as_ref().filter(|a| a.surface.what == AuxKind::CcsOfPages)
    }

    /// The control surface of the cache lines of stencil.
    pub fn stencil_control(&self) -> Option<&Auxiliary> {
        let plane = self.planes.last().filter(|p| p.layout.kind == ImageKind::Stencil)?;
        plane.mapped()?;
        plane.auxiliary.as_ref()
    }

    /// Whether depth or samples have compressed cache lines, beside their own auxiliary surface.
    pub fn has_compressed_pages(&self) -> bool {
        let plane = &self.planes[0];
        plane.mapped().is_some() && plane.pages.is_some()
    }

    /// The auxiliary surface by which all units see a plane, in all layouts in which it has pixels.
    pub fn control_of(&self, plane: usize) -> Option<Control<'_>> {
        let p = &self.planes[plane];
        let colour = || p.mapped().map(|m| Clear::At(m.clear_colour));
        let (auxiliary, clear) = match p.layout.kind {
            ImageKind::Colour if plane > 0 => return None,
            ImageKind::Colour => (self.control()?, colour()),
            ImageKind::Depth if !self.is_depth_read_compressed() => return None,
            ImageKind::Depth => match &p.pages {
                Some(pages) => (pages, colour()),
                None => (self.hierarchy()?, Some(Clear::Depth(self.clear_depth()))),
            },
            ImageKind::Stencil => (self.stencil_control()?, None),
        };
        let is_depth_or_stencil =
            p.layout.kind != ImageKind::Colour && auxiliary.surface.what == AuxKind::CcsOfPages;
        let has_compressed_samples = self.has_compressed_pages();
        Some(Control { auxiliary, clear, is_depth_or_stencil, has_compressed_samples })
    }

    /// Whether all units know the auxiliary surfaces of depth: on Gen12, if its pages are mapped.
    pub fn is_depth_read_compressed(&self) -> bool {
        self.reads_compressed_depth
            && (self.planes[0].pages.is_none() || self.has_compressed_pages())
    }

    /// The state of depth in a layout.
    pub fn depth_state(&self, layout: vk::ImageLayout, usage: vk::ImageUsageFlags) -> Depth {
        Depth::of(layout, usage, self.is_depth_read_compressed())
    }

    /// The control surface of the image's blocks on Gen9.
    pub fn block_control(&self) -> Option<&Auxiliary> {
        self.planes[0].auxiliary.as_ref().filter(|a| a.surface.what == AuxKind::Ccs)
    }

    /// That of an image whose cache lines are not compressed, which attachments use where blocks may be clear.
    pub fn clear_control(&self) -> Option<&Auxiliary> {
        self.block_control().filter(|a| !a.compresses)
    }

    /// That of an image whose cache lines are compressed.
    pub fn line_control(&self) -> Option<&Auxiliary> {
        self.block_control().filter(|a| a.compresses)
    }

    /// The auxiliary surface that all units use with the colours of the first plane, in all layouts.
    pub fn control(&self) -> Option<&Auxiliary> {
        self.sample_control().or_else(|| self.page_control()).or_else(|| self.line_control())
    }

    /// The control surface that is a plane of its own of a shared image.
    fn control_plane(&self) -> Option<&Auxiliary> {
        let own = self.planes[0].auxiliary.as_ref();
        own.filter(|a| a.compresses && self.planes[0].layout.kind == ImageKind::Colour)
    }

    /// The hierarchical depth buffer of the first plane.
    pub fn hierarchy(&self) -> Option<&Auxiliary> {
        self.planes[0].auxiliary.as_ref().filter(|a| a.surface.what == AuxKind::Hiz)
    }

    /// The multisample control surface of the first plane.
    pub fn sample_control(&self) -> Option<&Auxiliary> {
        self.planes[0].auxiliary.as_ref().filter(|a| a.surface.what == AuxKind::Mcs)
    }

    /// The depth of blocks that its hierarchical buffer calls clear: one for the image's life, so that no memory has to keep it.
    /// source: Mesa, anv_private.h (`anv_image_hiz_clear_value`), on what programs clear to
    pub fn clear_depth(&self) -> f32 {
        if self.planes.len() == 2 { 0.0 } else { 1.0 }
    }

    /// The plane that holds an aspect.
    pub fn plane(&self, aspect: vk::ImageAspectFlags) -> usize {
        use vk::ImageAspectFlags as A;
        if aspect == A::MEMORY_PLANE_1_EXT && self.control_plane().is_some() {
            return 1;
        }
        let n = match aspect {
            A::STENCIL | A::PLANE_1 | A::MEMORY_PLANE_1_EXT => 1,
            A::PLANE_2 | A::MEMORY_PLANE_2_EXT => 2,
            _ => 0,
        };
        n.min(self.planes.len() - 1)
    }

    /// Location of a plane; planes after the last have the location of the first.
    pub fn plane_memory(&self, plane: usize) -> PlaneMemory {
        let p = self.planes.get(plane).unwrap_or(&self.planes[0]);
        PlaneMemory { offset: p.offset, size: p.layout.size_B, alignment: ALIGNMENT }
    }

    /// Location of a level of a layer in a plane: linear images have rows, of tiled ones only pitches are told.
    pub fn subresource(&self, plane: usize, level: u32, layer: u32) -> Subresource {
        if let (1, Some(control)) = (plane, self.control_plane()) {
            let pitch = control_pitch(&self.planes[0].layout, &control.surface);
            return Subresource {
                offset: control.offset,
                size: control.surface.size_B,
                row_pitch: pitch,
                ..Subresource::default()
            };
        }
        let l = &self.planes[plane].layout;
        let Some(at) = l.levels().get(level as usize) else { return Subresource::default() };
        if let Some(offset) = l.ys_tile_B(level, layer, [0; 3]) {
            return Subresource { offset, ..Subresource::default() };
        }
        let element_b = u64::from(l.element_B());
        let slice = u64::from(l.qpitch_el) * l.row_pitch_B;
        let (row_pitch, pitch) = match l.row_pitch_B {
            // Rows of linear 1D images follow one another.
            0 => (u64::from(at.extent_el.w) * element_b, u64::from(l.qpitch_el) * element_b),
            row => (row, slice),
        };
        let [left, top, _] = at.origin_el;
        Subresource {
            offset: u64::from(layer) * pitch
                + u64::from(top) * row_pitch
                + u64::from(left) * element_b,
            size: u64::from(at.extent_el.h) * row_pitch,
            row_pitch,
            array_pitch: pitch,
            depth_pitch: pitch,
        }
    }

    /// Copies a rectangle of a plane to or from memory on the host.
    ///
    /// # Errors
    /// When the image has no such rectangle.
    pub fn copy_host(&self, plane: usize, c: HostCopy<'_>) -> Result<()> {
        let l = &self.planes[plane].layout;
        let moved = match c.to_image {
            true => l.tile(c.plane, c.region, c.rows, c.row_pitch, Threads::One),
            false => l.detile(c.plane, c.region, c.rows, c.row_pitch, Threads::One),
        };
        moved.map_err(|e| Error::new(vk::Result::ERROR_UNKNOWN, e.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use tepui_intel_layout::{Y_TILED_CCS, Y_TILED_GEN12_RC_CCS};
    use tepui_vulkan::backend::{ExplicitPlanes, ViewFormats};
    use vk::ImageUsageFlags as Usage;

    use super::*;

    fn info(format: Format, extent: [u32; 3], usage: Usage) -> ImageInfo {
        ImageInfo {
            image_type: vk::ImageType::_2D,
            format,
            extent,
            levels: 1,
            layers: 1,
            samples: 1,
            usage,
            flags: vk::ImageCreateFlags::empty(),
            views: ViewFormats::Own,
            linear: false,
            modifier: None,
            explicit: None,
        }
    }

    #[test]
    fn hierarchies_follow_the_planes() {
        // source: Mesa, isl.c (`isl_surf_get_hiz_surf`): 16 bytes for 8 by 4 pixels, levels of 2 by 2 of them, tiles of 16 by 16;
        // 240 by 270 of them are 15 tiles of 128 bytes wide, and 3 layers 51 tiles of 32 rows high.
        let mut of = info(Format::D32_SFLOAT, [1920, 1080, 1], Usage::DEPTH_STENCIL_ATTACHMENT);
        of.layers = 3;
        for generation in [Generation::Gen9, Generation::Gen12] {
            let image = Image::new(generation, &of).unwrap();
            let hierarchy = image.hierarchy().unwrap();
            let s = hierarchy.surface;
            let right = (15 * 128, 1080, 51 * 32 * 15 * 128);
            assert_eq!((s.row_pitch_B, s.qpitch_px, s.size_B), right, "{generation}");
            let plane = &image.planes[0];
            assert_eq!(hierarchy.offset, plane.layout.size_B.next_multiple_of(ALIGNMENT));
            let end = hierarchy.offset + s.size_B;
            match generation {
                Generation::Gen9 => assert_eq!(image.size, end),
                // The control surface of its pages.
                Generation::Gen12 => {
                    let bytes = plane.layout.size_B.div_ceil(TABLE_PAGE_B) * PAGE_CCS_B;
                    assert_eq!(image.size, end.next_multiple_of(ALIGNMENT) + bytes);
                    assert_eq!(image.alignment(), TABLE_PAGE_B);
                }
            }
            assert!(!image.has_compressed_pages(), "they are not mapped");
            assert_eq!(image.clear_depth(), 1.0);
            // Samples share the ranges of their pixel.
            let many = Image::new(generation, &ImageInfo { samples: 4, ..of }).unwrap();
            assert_eq!(many.hierarchy().unwrap().surface, s);
            // Stencil comes before, and has a control surface of its own on Gen12.
            let format = Format::D32_SFLOAT_S8_UINT;
            let both = Image::new(generation, &ImageInfo { format, ..of }).unwrap();
            let (a, b) = (both.hierarchy().unwrap(), &both.planes[1]);
            assert!(a.offset >= b.offset + b.layout.size_B);
            assert_eq!(b.auxiliary.is_some(), generation == Generation::Gen12);
            let align = if b.auxiliary.is_some() { TABLE_PAGE_B } else { ALIGNMENT };
            assert!(b.offset.is_multiple_of(align), "{}", b.offset);
            assert_eq!(both.clear_depth(), 0.0);
        }
    }

    #[test]
    fn control_surfaces_of_colours_follow_them() {
        let usage = Usage::COLOR_ATTACHMENT | Usage::SAMPLED;
        let of = info(Format::R8G8B8A8_UNORM, [1920, 1080, 1], usage);
        // source: Mesa, isl.c: 240 by 270 elements of 8 by 4 pixels, in tiles of 128 by 128 elements, 128 bytes by 32 rows.
        let image = Image::new(Generation::Gen9, &of).unwrap();
        let control = image.line_control().unwrap();
        // Images of storage and of formats that are not compressed have clear blocks alone.
        for clear in [
            ImageInfo { usage: usage | Usage::STORAGE, ..of },
            ImageInfo { format: Format::R8G8B8A8_SRGB, ..of },
            ImageInfo { views: ViewFormats::Any, ..of },
        ] {
            let image = Image::new(Generation::Gen9, &clear).unwrap();
            let clears = image.clear_control().unwrap();
            assert_eq!(clears.surface, control.surface, "{clear:?}");
        }
        assert_eq!((control.surface.row_pitch_B, control.surface.size_B), (256, 3 * 32 * 256));
        assert_eq!(control.offset, image.planes[0].layout.size_B);
        assert_eq!(image.alignment(), ALIGNMENT);
        // 127.5 pages of 64 KiB.
        let image = Image::new(Generation::Gen12, &of).unwrap();
        let control = image.planes[0].auxiliary.as_ref().unwrap();
        assert_eq!((control.surface.size_B, image.alignment()), (128 * 256, 64 << 10));
        assert_eq!(control.clear_offset, control.offset + control.surface.size_B);
        assert_eq!(image.size, control.clear_offset + 2 * CLEAR_COLOUR_B);
        // Nothing uses it before its pages are mapped.
        assert!(image.page_control().is_none());
        for compressed in [
            ImageInfo { usage: usage | Usage::STORAGE, ..of },
            ImageInfo { image_type: vk::ImageType::_3D, extent: [64, 64, 7], ..of },
        ] {
            let image = Image::new(Generation::Gen12, &compressed).unwrap();
            assert!(image.planes[0].auxiliary.is_some(), "{compressed:?}");
        }
        for plain in [
            ImageInfo { usage: Usage::SAMPLED, ..of },
            ImageInfo { views: ViewFormats::Any, usage: usage | Usage::STORAGE, ..of },
            // Atomic operations may reach it.
            ImageInfo { format: Format::R32_UINT, usage: usage | Usage::STORAGE, ..of },
            ImageInfo { flags: vk::ImageCreateFlags::ALIAS, ..of },
            ImageInfo { usage: usage | Usage::HOST_TRANSFER, ..of },
        ] {
            let image = Image::new(Generation::Gen12, &plain).unwrap();
            assert!(image.planes[0].auxiliary.is_none(), "{plain:?}");
        }
    }

    #[test]
    fn images_that_are_not_for_commands_alone_are_plain() {
        let of = info(Format::D32_SFLOAT, [64, 64, 1], Usage::DEPTH_STENCIL_ATTACHMENT);
        for plain in [
            ImageInfo { usage: Usage::SAMPLED, ..of },
            ImageInfo { usage: of.usage | Usage::HOST_TRANSFER, ..of },
            ImageInfo { levels: 2, ..of },
            ImageInfo { flags: vk::ImageCreateFlags::ALIAS, ..of },
        ] {
            let image = Image::new(Generation::Gen9, &plain).unwrap();
            assert!(image.hierarchy().is_none(), "{plain:?}");
        }
    }

    #[test]
    fn modifiers_are_tilings() {
        let usage = Usage::COLOR_ATTACHMENT;
        let plain = info(Format::R8G8B8A8_UNORM, [70, 50, 1], usage);
        let plane = |offset, row_pitch| {
            let one = ExplicitPlane { offset, row_pitch, ..ExplicitPlane::default() };
            let planes = [one, ExplicitPlane::default(), ExplicitPlane::default()];
            Some(ExplicitPlanes { count: 1, planes })
        };
        let of = |modifier: u64, explicit| {
            let linear = modifier == 0;
            let info = ImageInfo { modifier: Some(modifier), linear, explicit, ..plain };
            Image::new(Generation::Gen12, &info)
        };
        let vendor = 1 << 56;
        for (modifier, tiling, pitch) in
            [(0, Tiling::Linear, 320), (vendor | 1, Tiling::X, 512), (vendor | 2, Tiling::Y, 384)]
        {
            let image = of(modifier, plane(8192, pitch)).unwrap();
            let l = &image.planes[0].layout;
            assert_eq!((l.desc().tiling, l.row_pitch_B), (tiling, pitch));
            assert_eq!((image.planes[0].offset, image.size), (8192, 8192 + l.size_B));
            assert!(of(modifier, None).is_ok());
            // Rows too short, and a plane at no place for one.
            assert!(of(modifier, plane(0, 64)).is_err());
            assert!(of(modifier, plane(8, pitch)).is_err());
            assert!(of(modifier, plane(u64::MAX - 4095, pitch)).is_err());
        }
        assert!(of(vendor | 4, None).is_err());
        // The control surface is the second plane, with 64 bytes for four tiles: four tiles of 50 rows are two rows of those.
        let modifier = Y_TILED_GEN12_RC_CCS;
        let both = |at: u64, control: u64| {
            let main = ExplicitPlane { offset: at, row_pitch: 512, ..ExplicitPlane::default() };
            let control = ExplicitPlane { offset: control, row_pitch: 64, ..main };
            let planes = [main, control, ExplicitPlane::default()];
            of(modifier, Some(ExplicitPlanes { count: 2, planes }))
        };
        let image = both(0, 0x8100).unwrap();
        assert_eq!((image.planes[0].layout.size_B, image.size), (512 * 64, 0x8100 + 256));
        let control = image.plane(vk::ImageAspectFlags::MEMORY_PLANE_1_EXT);
        let at = image.subresource(control, 0, 0);
        assert_eq!((at.offset, at.row_pitch, at.size), (0x8100, 64, 256));
        // Not in whole pages, within the image, and without the control surface.
        assert!(both(4096, 0x10000).is_err() && both(0, 0x4000).is_err());
        assert!(both(0, 0x8140).is_err() && of(modifier, plane(0, 512)).is_err());
        let shared = of(modifier, None).unwrap();
        assert_eq!((shared.alignment(), shared.control_of(0).is_none()), (64 << 10, true));
        let best = |info: &ImageInfo, list: &[u64]| best_modifier(Generation::Gen12, info, list);
        assert_eq!(best(&plain, &[0, vendor | 2, modifier]), Some(modifier));
        let many = ImageInfo { levels: 2, ..plain };
        assert_eq!(best(&many, &[modifier, 0]), Some(0));
        assert_eq!(best(&plain, &[0, vendor | 2, 7]), Some(vendor | 2));
        let row = ImageInfo { image_type: vk::ImageType::_1D, ..plain };
        assert_eq!(best(&row, &[vendor | 2, 0]), Some(0));
        assert_eq!(best(&plain, &[7]), None);
        // On Gen9 the control surface has tiles of its own: one for up to 1024 by 512 pixels of 32 bits.
        let skylake = |explicit| {
            let info = ImageInfo { modifier: Some(Y_TILED_CCS), explicit, ..plain };
            Image::new(Generation::Gen9, &info)
        };
        let image = skylake(None).unwrap();
        let at = image.subresource(image.plane(vk::ImageAspectFlags::MEMORY_PLANE_1_EXT), 0, 0);
        assert_eq!((at.offset, at.row_pitch, at.size), (0x6000, 128, 0x1000));
        let planes = |pitch, at| {
            let main = ExplicitPlane { row_pitch: 384, ..ExplicitPlane::default() };
            let control = ExplicitPlane { offset: at, row_pitch: pitch, ..main };
            skylake(Some(ExplicitPlanes { count: 2, planes: [main, control, main] }))
        };
        assert_eq!(planes(128, 0x8000).unwrap().size, 0x9000);
        assert!(planes(256, 0x8000).is_err() && planes(128, 0x8100).is_err());
        assert!(skylake(plane(0, 384)).is_err());
        let list = [0, vendor | 2, Y_TILED_CCS];
        assert_eq!(best_modifier(Generation::Gen9, &plain, &list), Some(Y_TILED_CCS));
    }
}
