//! Auxiliary surfaces: hierarchical depth (HiZ), compression of colours (CCS) and of samples (MCS).
//!
//! source: Mesa, isl.c (`isl_surf_get_hiz_surf`, `isl_surf_get_mcs_surf`, `isl_surf_get_ccs_surf`,
//! `isl_choose_image_alignment_el`, `isl_tiling_get_info`).

use tepui_format::Format;
use tepui_format::info::{Encoding, Numeric};
use tepui_layout::Dimension;

use crate::layout::may_be_compressed;
use crate::miptree::{MiptreeDesc, minify};
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
    /// Compression and clear state on Gen12: four bits for 128 bytes, 256 bytes for each page of 64 KiB, which a table maps to them.
    CcsOfPages,
    /// The slice that holds each sample of a pixel.
    Mcs,
}

impl AuxKind {
    /// The name: `HiZ`, `CCS`, `MCS`.
    pub const fn name(self) -> &'static str {
        match self {
            AuxKind::Hiz => "HiZ",
            AuxKind::Ccs | AuxKind::CcsOfPages => "CCS",
            AuxKind::Mcs => "MCS",
        }
    }
}

/// Bytes of a page that an entry of Gen12's table maps. source: Mesa, intel_aux_map.c
pub const PAGE_B: u64 = 64 << 10;
/// Bytes of the control surface of a page.
pub const PAGE_CCS_B: u64 = 256;

/// Bytes and rows of a Y tile, the tiling of all auxiliary surfaces.
const TILE_B: (u64, u64) = (128, 32);

/// A rectangle of a control surface of cache lines as a surface of words in Y tiles: word and row of the first one, and how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlWords {
    /// First word and row.
    pub origin: [u32; 2],
    /// Words and rows.
    pub size: [u32; 2],
}

/// Bytes of a word of [`ControlWords`].
pub const CONTROL_WORD_B: u32 = 16;

impl Layout {
    /// The auxiliary surface that the image may have.
    pub fn aux(&self) -> Option<Aux> {
        let desc = self.desc();
        if !desc.may_have_aux {
            return None;
        }
        if self.has_table && may_be_compressed(desc, self.kind) {
            return Some(self.of_pages());
        }
        let (what, tree) = self.aux_tree()?;
        let laid = tree.lay_out();
        let row_pitch_B = tree.pitch_B(&laid);
        Some(Aux {
            what,
            row_pitch_B,
            qpitch_px: laid.qpitch_el * tree.block.1,
            size_B: tree.size_B(&laid, row_pitch_B),
        })
    }

    /// The control surface of the pages of an image on Gen12 that has another auxiliary surface, too: hierarchical depth or samples.
    ///
    /// source: Mesa, isl.c (`isl_surf_supports_ccs`)
    pub fn pages_under_aux(&self) -> Option<Aux> {
        let is = |aux: Aux| matches!(aux.what, AuxKind::Hiz | AuxKind::Mcs);
        self.aux().filter(|&aux| self.has_table && is(aux)).map(|_| self.of_pages())
    }

    fn of_pages(&self) -> Aux {
        let size_B = self.size_B.div_ceil(PAGE_B) * PAGE_CCS_B;
        Aux { what: AuxKind::CcsOfPages, row_pitch_B: 0, qpitch_px: 0, size_B }
    }

    /// The words of the control surface of cache lines that a level of a layer or slice has; `None` if there are none.
    ///
    /// source: Mesa, blorp_clear.c (`blorp_ccs_ambiguate`): a cache line of the surface, a word by four rows, is 16 by 16 elements
    pub fn control_words(&self, level: u32, layer: u32) -> Option<ControlWords> {
        const LINE_EL: u32 = 16;
        const LINE_ROWS: u32 = 4;
        if self.aux()?.what != AuxKind::Ccs {
            return None;
        }
        let (_, tree) = self.aux_tree()?;
        let laid = tree.lay_out();
        let &(left, top) = laid.origins_el.get(level as usize)?;
        let top = top + layer * laid.qpitch_el;
        let [width, height] = [(tree.width_sa, tree.block.0), (tree.height_sa, tree.block.1)]
            .map(|(size, block)| minify(size, level).div_ceil(block).div_ceil(LINE_EL));
        Some(ControlWords {
            origin: [left / LINE_EL, top / LINE_EL * LINE_ROWS],
            size: [width, height * LINE_ROWS],
        })
    }

    /// The kind and the arrangement of an auxiliary surface that is not found through a table.
    fn aux_tree(&self) -> Option<(AuxKind, MiptreeDesc)> {
        let desc = self.desc();
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
        Some(match (self.kind, self.msaa, desc.tiling) {
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
        })
    }
}

/// The bits of an entry of Gen12's table that say how pages of a format in Y tiles are compressed; `None` if they are not.
///
/// source: Mesa, isl.c (`isl_format_get_aux_map_encoding`), intel_aux_map.c (`intel_aux_map_format_bits`, `get_bpp_encoding`).
pub fn page_format(format: Format) -> Option<u64> {
    const Y_TILES: u64 = 1 << 52;
    let info = format.info();
    let (Encoding::Plain(list) | Encoding::DepthStencil(list)) = &info.encoding else {
        return None;
    };
    let first = list.as_slice().first()?;
    let bits = list.as_slice().iter().map(|c| c.bits).max()?;
    let code = match (bits, first.numeric) {
        (16, Numeric::Sfloat) => 0x10,
        (32, Numeric::Sfloat) => 0x11,
        (32, Numeric::Sint) => 0x12,
        (32, Numeric::Uint) => 0x13,
        (16, Numeric::Unorm) => 0x14,
        (16, Numeric::Snorm) => 0x15,
        (16, Numeric::Sint) => 0x16,
        (16, Numeric::Uint) => 0x17,
        (10, Numeric::Unorm) => 0x18,
        (10, Numeric::Uint) => 0x1a,
        (..=8, Numeric::Unorm | Numeric::Srgb) => 0x0a,
        (8, Numeric::Snorm) => 0x1b,
        (8, Numeric::Sint) => 0x1c,
        (8, Numeric::Uint) => 0x1d,
        // Depth in words of 32 bits.
        (24, Numeric::Unorm) => 0x13,
        (11, Numeric::Ufloat) => 0x1e,
        _ => return None,
    };
    let size = match info.block.bytes {
        1 => 4,
        2 => 0,
        4 => 5,
        8 => 6,
        16 => 7,
        _ => return None,
    };
    Some(code << 58 | size << 54 | Y_TILES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ImageDesc;

    #[test]
    fn pages_of_gen12_have_256_bytes_of_control_surface() {
        // source: Mesa, isl.c (`isl_calc_row_pitch_alignment`): 1920 texels of 4 bytes are 15 rows of 512 bytes, 1080 rows 34 tiles.
        let desc = ImageDesc::new_2d(Format::R8G8B8A8_UNORM, Tiling::Y, 1920, 1080);
        let layout = Layout::of_gen12(&desc).unwrap();
        assert_eq!((layout.row_pitch_B, layout.size_B), (7680, 7680 * 1088));
        let aux = layout.aux().unwrap();
        // 8,355,840 bytes are 127.5 pages.
        assert_eq!((aux.what, aux.size_B), (AuxKind::CcsOfPages, 128 * 256));
        // 70 texels of 4 bytes are three tiles, of 128 bytes, and four where they may be compressed.
        let small = ImageDesc::new_2d(Format::R8G8B8A8_UNORM, Tiling::Y, 70, 50);
        assert_eq!(Layout::of_gen12(&small).unwrap().row_pitch_B, 512);
        let plain = ImageDesc { may_have_aux: false, ..small };
        let plain = Layout::of_gen12(&plain).unwrap();
        assert_eq!((plain.row_pitch_B, plain.aux()), (384, None));
        assert_eq!(Layout::new(&small).unwrap().row_pitch_B, 384);
        // Depth and samples have one beside their own surface, and pitches as without.
        let depth = ImageDesc::new_2d(Format::D32_SFLOAT, Tiling::Y, 70, 50);
        let layout = Layout::of_gen12(&depth).unwrap();
        assert_eq!((layout.row_pitch_B, layout.aux().unwrap().what), (384, AuxKind::Hiz));
        assert_eq!(layout.pages_under_aux().unwrap().size_B, 256);
        assert_eq!(Layout::new(&depth).unwrap().pages_under_aux(), None);
        // source: Mesa, isl.c (`isl_surf_supports_ccs`): stencil of one sample.
        let mut stencil = ImageDesc::new_2d(Format::S8_UINT, Tiling::Y, 70, 50);
        let layout = Layout::of_gen12(&stencil).unwrap();
        assert_eq!((layout.row_pitch_B, layout.aux().unwrap().what), (128, AuxKind::CcsOfPages));
        stencil.shape.samples = 4;
        assert_eq!(Layout::of_gen12(&stencil).unwrap().aux(), None);
        let blocks = ImageDesc::new_2d(Format::BC1_RGB_UNORM_BLOCK, Tiling::Y, 70, 50);
        assert_eq!(Layout::of_gen12(&blocks).unwrap().aux(), None);
    }

    #[test]
    fn levels_have_words_of_their_control_surface() {
        let mut desc = ImageDesc::new_2d(Format::R8G8B8A8_UNORM, Tiling::Y, 1000, 600);
        (desc.shape.levels, desc.shape.layers) = (10, 3);
        let layout = Layout::new(&desc).unwrap();
        let aux = layout.aux().unwrap();
        let row_words = (aux.row_pitch_B / u64::from(CONTROL_WORD_B)) as u32;
        let rows = (aux.size_B / aux.row_pitch_B) as u32;
        let mut seen = std::collections::HashSet::new();
        for (level, layer) in (0..10).flat_map(|level| (0..3).map(move |layer| (level, layer))) {
            let words = layout.control_words(level, layer).unwrap();
            let ([x, y], [w, h]) = (words.origin, words.size);
            assert!(w > 0 && h > 0 && x + w <= row_words && y + h <= rows, "{level} {layer}");
            // 8 by 4 pixels are an element of two bits, 16 by 16 of which are a line.
            assert_eq!(w, (1000u32 >> level).max(1).div_ceil(128), "{level}");
            assert_eq!(h, (600u32 >> level).max(1).div_ceil(64) * 4, "{level}");
            for word in (y..y + h).flat_map(|y| (x..x + w).map(move |x| (x, y))) {
                assert!(seen.insert(word), "{level} {layer} {word:?}");
            }
        }
        assert_eq!(layout.control_words(10, 0), None);
        assert_eq!(Layout::of_gen12(&desc).unwrap().control_words(0, 0), None);
    }

    #[test]
    fn formats_of_pages_are_those_of_isl() {
        // source: Mesa, isl.c (`isl_format_get_aux_map_encoding`), intel_aux_map.c (`get_bpp_encoding`)
        for (format, code, size) in [
            (Format::R8G8B8A8_UNORM, 0x0a, 5),
            (Format::B8G8R8A8_SRGB, 0x0a, 5),
            (Format::R32G32B32A32_SFLOAT, 0x11, 7),
            (Format::R16G16B16A16_SFLOAT, 0x10, 6),
            (Format::R16_UINT, 0x17, 0),
            (Format::R8_SNORM, 0x1b, 4),
            (Format::R5G6B5_UNORM_PACK16, 0x0a, 0),
            (Format::A2B10G10R10_UINT_PACK32, 0x1a, 5),
            (Format::B10G11R11_UFLOAT_PACK32, 0x1e, 5),
            (Format::R32_SINT, 0x12, 5),
            (Format::D16_UNORM, 0x14, 0),
            (Format::X8_D24_UNORM_PACK32, 0x13, 5),
            (Format::D32_SFLOAT, 0x11, 5),
            (Format::S8_UINT, 0x1d, 4),
        ] {
            assert_eq!(page_format(format), Some(code << 58 | size << 54 | 1 << 52), "{format}");
        }
        assert_eq!(page_format(Format::BC1_RGB_UNORM_BLOCK), None);
        let compressed = crate::surface_format::TABLE
            .iter()
            .filter(|row| row.has(true, crate::surface_format::Use::Compress));
        assert!(compressed.clone().count() > 40);
        assert!(compressed.clone().all(|row| page_format(row.format).is_some()));
    }
}
