//! Compressed images in commands other than draws: programs read them through the texture unit, and open the tiles that they
//! write to ([`crate::meta::compression`]).

use tepui_agx_layout::compression::{TileMetadata, square_shift};
use tepui_layout::Dimension;
use tepui_vulkan::backend::{Addresses, ImageCopy, ImageRef, Rendering};
use tepui_vulkan::{Error, Result, vk};

use super::Encoder;
use super::bindings::split;
use super::side::Side;
use crate::descriptor::{self, Part, Row};
use crate::family::Agx;
use crate::format::Packing;
use crate::image::Image;
use crate::meta::Program;
use crate::meta::compression::{GROUP, TILE_WORDS, tile_texels};

/// Texels of a level that commands write.
#[derive(Clone, Copy, Debug)]
pub(super) struct Area {
    /// Level.
    pub level: u32,
    /// First layer, or slice of a 3D image, and their number.
    pub layers: [u32; 2],
    /// First column and row.
    pub from: [u32; 2],
    /// The column and row after the last ones.
    pub to: [u32; 2],
    /// Whether all of these texels are overwritten.
    pub overwritten: bool,
}

/// The part of an image that programs read whose coordinates count all layers of a level.
fn level_part(image: &Image, plane: usize, level: u32) -> Part {
    let layout = &image.planes[plane].layout;
    Part {
        plane,
        format: layout.desc().shape.format,
        dimension: Dimension::D2,
        array: true,
        levels: [level, 1],
        layers: [0, layout.slices()],
        swizzle: [vk::ComponentSwizzle::IDENTITY; 4],
        storage: true,
    }
}

fn packing(image: &Image, plane: usize) -> Result<Packing> {
    let format = image.planes[plane].layout.desc().shape.format;
    Packing::new(format)
        .ok_or_else(|| Error::unsupported(format!("a copy of a compressed image of {format}")))
}

fn texels(image: &Image, addresses: Addresses, plane: usize, level: u32) -> Result<Row> {
    let part = level_part(image, plane, level);
    descriptor::bits(image, addresses, &part, &packing(image, plane)?)
}

/// Whether the texels of a level lie in tiles that may be compressed.
pub(super) fn is_compressed(image: &Image, plane: usize, level: u32) -> bool {
    image.planes[plane].layout.is_level_compressed(level)
}

impl Encoder {
    /// Opens the tiles that an area touches, if its level is compressed, so that programs may write to them.
    pub(super) fn open(
        &mut self,
        image: &Image,
        addresses: Addresses,
        plane: usize,
        a: &Area,
    ) -> Result<()> {
        let of_plane = &image.planes[plane];
        let layout = &of_plane.layout;
        let shape = &layout.desc().shape;
        let (Some(metadata), true) = (&layout.metadata, layout.is_level_compressed(a.level)) else {
            return Ok(());
        };
        let (at, size) = (
            metadata.levels()[a.level as usize],
            layout.levels()[a.level as usize].extent_px.to_array(),
        );
        let tile = tile_texels(shape.samples);
        let to = [0, 1].map(|k| a.to[k].min(size[k]));
        if a.from[0] >= to[0] || a.from[1] >= to[1] || a.layers[1] == 0 {
            return Ok(());
        }
        let first = [0, 1].map(|k| a.from[k] / tile[k]);
        let count = [0, 1].map(|k| to[k].div_ceil(tile[k]) - first[k]);
        let whole = |k: usize| {
            a.from[k].is_multiple_of(tile[k]) && (to[k].is_multiple_of(tile[k]) || to[k] == size[k])
        };
        let covers_tiles = a.overwritten && whole(0) && whole(1);
        let side = Side::image(of_plane, addresses[plane], a.level, 0, [0; 3])?;
        let start = addresses[plane] + metadata.offset_B + at.offset_B;
        let open = TileMetadata::uncompressed(shape.format).map_or(0, |m| m.0);
        let ([m0, m1], [l0, l1], [o0, o1]) =
            (split(start), split(metadata.layer_stride_B), split(open));
        let covered = if a.overwritten { [a.from[0], a.from[1], to[0], to[1]] } else { [0; 4] };
        let own: [u32; TILE_WORDS as usize] = [
            first[0],
            first[1],
            a.layers[0],
            count[0],
            count[1],
            a.layers[1],
            m0,
            m1,
            l0,
            l1,
            square_shift(at.tiles),
            u32::from(at.tiles.w > at.tiles.h),
            o0,
            o1,
            size[0],
            size[1],
            covered[0],
            covered[1],
            covered[2],
            covered[3],
        ];
        let words: Vec<u32> = side.words.into_iter().chain(own).collect();
        if covers_tiles {
            return self.run(Program::Mark, &words, &[], [count[0], count[1], a.layers[1]]);
        }
        let p = Program::Open { packing: packing(image, plane)?, samples: shape.samples as u8 };
        let row = texels(image, addresses, plane, a.level)?;
        self.run(p, &words, &[row], [GROUP * count[0], count[1], a.layers[1]])
    }

    /// Opens the tiles that a copy writes to.
    pub(super) fn open_target(
        &mut self,
        to: &ImageCopy<'_, Agx>,
        side: &Side,
        extent: [u32; 3],
    ) -> Result<()> {
        let (image, info, addresses) = to.image;
        let [x, y, z] = side.first();
        let first =
            if info.image_type == vk::ImageType::_3D { 0 } else { to.layers.base_array_layer };
        let area = Area {
            level: to.layers.mip_level,
            layers: [first + z, extent[2]],
            from: [x, y],
            to: [x + extent[0], y + extent[1]],
            overwritten: true,
        };
        self.open(image, addresses, image.plane(to.layers.aspect_mask), &area)
    }

    /// Opens the tiles of an attachment that fragments of a rendering store to.
    pub(super) fn open_attachment(
        &mut self,
        to: &ImageRef<Agx>,
        rendering: &Rendering<Agx>,
        overwritten: bool,
    ) -> Result<()> {
        let r = rendering.area;
        let from = [r.offset.x, r.offset.y].map(|v| v.max(0) as u32);
        let views = rendering.view_mask;
        let layers = match views {
            0 => rendering.layers.max(1),
            _ => 32 - views.leading_zeros(),
        };
        let area = Area {
            level: to.level,
            layers: [to.layer, layers],
            from,
            to: [from[0] + r.extent.width, from[1] + r.extent.height],
            // Layers without a view are not written.
            overwritten: overwritten && (views == 0 || views.count_ones() == layers),
        };
        self.open(&to.image, to.addresses, to.plane, &area)
    }

    /// Copies texels of a compressed level to memory, or to an image that is written by address.
    pub(super) fn read(
        &mut self,
        from: &ImageCopy<'_, Agx>,
        source: &Side,
        to: &Side,
        extent: [u32; 3],
    ) -> Result<()> {
        if extent.contains(&0) {
            return Ok(());
        }
        let (image, info, addresses) = from.image;
        let plane = image.plane(from.layers.aspect_mask);
        let [x, y, z] = source.first();
        let first =
            if info.image_type == vk::ImageType::_3D { 0 } else { from.layers.base_array_layer };
        let mut words = to.words.to_vec();
        words.extend(extent);
        words.extend([x, y, first + z]);
        let samples = image.planes[plane].layout.desc().shape.samples;
        let p = Program::Read {
            packing: packing(image, plane)?,
            samples: samples as u8,
            to_tiled: to.tiled,
        };
        let row = texels(image, addresses, plane, from.layers.mip_level)?;
        self.run_unordered(p, &words, &[row], extent)
    }
}
