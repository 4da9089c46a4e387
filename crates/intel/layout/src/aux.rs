//! Auxiliary surfaces: hierarchical depth (HiZ), compression of colours (CCS) and of samples (MCS).
//!
//! source: Mesa, isl.c (`isl_surf_get_hiz_surf`, `isl_surf_get_mcs_surf`, `isl_surf_get_ccs_surf`,
//! `isl_choose_image_alignment_el`, `isl_tiling_get_info`).

use tepui_layout::Dimension;

use crate::miptree::MiptreeDesc;
use crate::{ImageKind, Layout, Msaa, Tiling};

/// An auxiliary surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aux {
    /// The kind of auxiliary surface.
    pub what: AuxKind,
    /// Bytes of a row of tiles divided by the tile's rows.
    pub row_pitch_B: u64,
    /// Distance of two layers, in rows of the image's pixels (samples).
    pub qpitch_px: u32,
    /// Size in bytes.
    pub size_B: u64,
}

/// The kinds of auxiliary surfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuxKind {
    /// Ranges of depths: 16 bytes for 8×4 pixels.
    Hiz,
    /// Compression and clear state of a colour image's cache lines: two bits for 128 bytes.
    Ccs,
    /// The slice that holds each sample of a pixel.
    Mcs,
}

impl AuxKind {
    /// The name: `HiZ`, `CCS`, `MCS`.
    pub const fn name(self) -> &'static str {
        match self {
            AuxKind::Hiz => "HiZ",
            AuxKind::Ccs => "CCS",
            AuxKind::Mcs => "MCS",
        }
    }
}

/// Bytes and rows of a Y tile, the tiling of all auxiliary surfaces.
const TILE_B: (u64, u64) = (128, 32);

impl Layout {
    /// The auxiliary surface that the image may have.
    pub fn aux(&self) -> Option<Aux> {
        let desc = self.desc();
        if !desc.may_have_aux {
            return None;
        }
        let shape = &desc.shape;
        let block = shape.format.info().block;
        let layers = match shape.dimension {
            Dimension::D3 => shape.depth_px,
            _ => shape.layers,
        };
        let tree = MiptreeDesc {
            width_sa: shape.width_px,
            height_sa: shape.height_px,
            levels: shape.levels,
            layers,
            block: (1, 1),
            align_el: (1, 1),
            tail: None,
            qpitch_align_el: 1,
            tile_el: (1, 1),
            tile_B: TILE_B,
        };
        let three = shape.dimension == Dimension::D3;
        let (what, tree) = match (self.kind, self.msaa, desc.tiling) {
            (ImageKind::Depth, _, Tiling::Y) => {
                let tile_el = (16, 16);
                let qpitch_align_el = if three { 16 } else { 1 };
                let (block, align_el) = ((8, 4), (2, 2));
                (AuxKind::Hiz, MiptreeDesc { block, align_el, tile_el, qpitch_align_el, ..tree })
            }
            (ImageKind::Colour, Msaa::Array, _) => {
                let element_B = match shape.samples {
                    2 | 4 => 1,
                    8 => 4,
                    _ => 8,
                };
                let tile_el = (128 / element_B, 32);
                (AuxKind::Mcs, MiptreeDesc { align_el: (16, 4), tile_el, ..tree })
            }
            (ImageKind::Colour, Msaa::None, Tiling::Y)
                if block.width_px == 1 && matches!(block.bytes, 4 | 8 | 16) =>
            {
                let block = (32 / block.bytes, 4);
                // One element for each pair of cache lines; layers are at least 256 rows apart.
                let align_el = (128 / block.0, 64 / block.1);
                let (tile_el, qpitch_align_el) = ((128, 128), if three { 128 } else { 64 });
                (AuxKind::Ccs, MiptreeDesc { block, align_el, tile_el, qpitch_align_el, ..tree })
            }
            _ => return None,
        };
        let laid = tree.lay_out();
        let row_pitch_B = tree.pitch_B(&laid);
        Some(Aux {
            what,
            row_pitch_B,
            qpitch_px: laid.qpitch_el * tree.block.1,
            size_B: tree.size_B(&laid, row_pitch_B),
        })
    }
}
