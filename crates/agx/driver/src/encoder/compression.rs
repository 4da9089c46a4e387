//! Compressed images in commands other than draws: programs read them through the texture unit, and open the tiles that they
//! write to ([`crate::meta::compression`]).

use tepui_agx_layout::compression::{TileMetadata, square_shift};
use tepui_sysval::Words as _;
use tepui_vulkan::backend::{ImageRef, Rendering};
use tepui_vulkan::{Error, Result};
use tepui_vulkan_meta::{Area, Binding, Level, Packing};

use super::Encoder;
use super::bindings::split;
use super::meta::{memory, row};
use crate::family::Agx;
use crate::format;
use crate::image::Image;
use crate::meta::Program;
use crate::meta::compression::{GROUP, TileWords, tile_texels};

/// Reassembly of the bits of a compressed plane's texels.
pub(super) fn packing(image: &Image, plane: usize) -> Result<Packing> {
    let format = image.planes[plane].layout.desc().shape.format;
    format::packing(format)
        .ok_or_else(|| Error::unsupported(format!("a copy of a compressed image of {format}")))
}

/// Whether the texels of a level lie in tiles that may be compressed.
pub(super) fn is_compressed(image: &Image, plane: usize, level: u32) -> bool {
    image.planes[plane].layout.is_level_compressed(level)
}

impl Encoder {
    /// Opens the tiles that an area touches, if its level is compressed, so that programs may write to them. `overwritten` says
    /// whether all of the area's texels are.
    pub(super) fn open(&mut self, area: &Area<'_, Agx>, overwritten: bool) -> Result<()> {
        let Level { image, addresses, plane, level, .. } = area.of;
        let layout = &image.planes[plane].layout;
        let shape = &layout.desc().shape;
        let (Some(metadata), true) = (&layout.metadata, layout.is_level_compressed(level)) else {
            return Ok(());
        };
        let [left, top, layer] = area.first;
        let [width, height, layers] = area.size;
        let from = [left, top];
        let (at, size) = (
            metadata.levels()[level as usize],
            layout.levels()[level as usize].extent_px.to_array(),
        );
        let tile = tile_texels(shape.samples);
        let to = [(left + width).min(size[0]), (top + height).min(size[1])];
        if from[0] >= to[0] || from[1] >= to[1] || layers == 0 {
            return Ok(());
        }
        let first = [0, 1].map(|k| from[k] / tile[k]);
        let count = [0, 1].map(|k| to[k].div_ceil(tile[k]) - first[k]);
        let whole = |k: usize| {
            from[k].is_multiple_of(tile[k]) && (to[k].is_multiple_of(tile[k]) || to[k] == size[k])
        };
        let start = addresses[plane] + metadata.offset_B + at.offset_B;
        let open = TileMetadata::uncompressed(shape.format).map_or(0, |m| m.0);
        let covered = if overwritten { (from, to) } else { ([0; 2], [0; 2]) };
        let words = TileWords {
            side: memory(&area.of)?.words([0; 3]),
            first: [first[0], first[1], layer],
            count: [count[0], count[1], layers],
            metadata: start.into(),
            layer_pitch: metadata.layer_stride_B.into(),
            square_shift: square_shift(at.tiles),
            wide: u32::from(at.tiles.w > at.tiles.h),
            open: split(open),
            size,
            covered_from: covered.0,
            covered_to: covered.1,
        };
        let words = words.words();
        if overwritten && whole(0) && whole(1) {
            return self.run(Program::Mark, words, &[], [count[0], count[1], layers]);
        }
        let packing = packing(image, plane)?;
        let texels = row(&Binding::Bits(area.of.as_array(shape.format), packing))?;
        let p = Program::Open { packing, samples: shape.samples as u8 };
        self.run(p, words, &[texels], [GROUP * count[0], count[1], layers])
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
        let ImageRef { image, info, addresses, plane, format, level, layer, .. } = to;
        let area = Area {
            of: Level {
                image,
                info,
                addresses: *addresses,
                plane: *plane,
                format: *format,
                level: *level,
            },
            first: [from[0], from[1], *layer],
            size: [r.extent.width, r.extent.height, layers],
        };
        // Layers without a view are not written.
        self.open(&area, overwritten && (views == 0 || views.count_ones() == layers))
    }
}
