//! The JSON output of layouts.

use serde::Serialize;
use tepui_agx_layout as agx;
use tepui_gpus::Gpu;
use tepui_intel_layout as intel;
use tepui_layout::{Dimension, Texel};
use tepui_mali_layout as mali;

/// A layout in the output of `--json` and `--batch`. Offsets count from the start of the image,
/// those of levels from the start of their layer.
#[derive(Serialize)]
pub struct Answer {
    /// The GPU's name.
    pub gpu: &'static str,
    /// The format's name.
    pub format: &'static str,
    /// The tiling's name.
    pub tiling: &'static str,
    /// Width of level 0.
    pub width_px: u32,
    /// Height of level 0.
    pub height_px: u32,
    /// Depth of level 0.
    pub depth_px: u32,
    /// Array layers.
    pub layers: u32,
    /// Samples per pixel.
    pub samples: u32,
    /// The levels that have memory.
    pub levels: Vec<AnswerLevel>,
    /// Layer stride in bytes.
    pub layer_stride_B: u64,
    /// Size of the image in bytes.
    pub size_B: u64,
    /// AGX: whether layers start at pages.
    pub page_aligned_layers: bool,
    /// AGX: the metadata of a compressed image. Mali: the headers of AFBC.
    pub metadata: Option<AnswerMetadata>,
    /// Intel: what surface states say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub surface: Option<AnswerSurface>,
}

/// Fields of a surface state for an [`Answer`].
#[derive(Serialize)]
pub struct AnswerSurface {
    /// Alignment of levels in elements.
    pub align_el: [u32; 2],
    /// Rows of elements from layer to layer.
    pub qpitch_el: u32,
    /// The level from which on all share a tile.
    pub tail: Option<u32>,
    /// Alignment of the image's address.
    pub alignment_B: u64,
    /// The auxiliary surface that the image can have.
    pub aux: Option<AnswerAux>,
}

/// An auxiliary surface, which has memory of its own.
#[derive(Serialize)]
pub struct AnswerAux {
    /// `HiZ`, `CCS` or `MCS`.
    pub kind: &'static str,
    /// Bytes from row to row.
    pub stride_B: u64,
    /// Rows of pixels from layer to layer.
    pub qpitch_px: u32,
    /// Size in bytes.
    pub size_B: u64,
}

/// A level of an [`Answer`].
#[derive(Serialize)]
pub struct AnswerLevel {
    /// Index of the level.
    pub level: u32,
    /// Offset within its layer.
    pub offset_B: u64,
    /// Bytes reserved.
    pub size_B: u64,
    /// Stride in bytes of rows of elements, of tiles (u-interleaved) or of headers (AFBC).
    pub stride_B: u64,
    /// The tile in elements.
    pub tile_el: [u32; 2],
    /// Tiles that cover the level.
    pub tiles: [u32; 2],
}

/// The metadata of an [`Answer`].
#[derive(Serialize)]
pub struct AnswerMetadata {
    /// Offset in the image.
    pub offset_B: u64,
    /// Size in bytes.
    pub size_B: u64,
    /// Its levels.
    pub levels: Vec<AnswerMetadataLevel>,
}

/// A level of an [`AnswerMetadata`].
#[derive(Serialize)]
pub struct AnswerMetadataLevel {
    /// Index of the level.
    pub level: u32,
    /// Offset within its layer's metadata (AGX) or within its layer (Mali).
    pub offset_B: u64,
    /// Bytes reserved.
    pub size_B: u64,
    /// Tiles that it describes.
    pub tiles: [u32; 2],
}

/// The output for an AGX layout.
pub fn agx(gpu: Gpu, layout: &agx::Layout) -> Answer {
    let desc = layout.desc();
    let shape = &desc.shape;
    Answer {
        gpu: gpu.id(),
        format: shape.format.name(),
        tiling: desc.tiling.name(),
        width_px: shape.width_px,
        height_px: shape.height_px,
        depth_px: shape.depth_px,
        layers: shape.layers,
        samples: shape.samples,
        levels: (0..)
            .zip(layout.levels())
            .map(|(level, l)| AnswerLevel {
                level,
                offset_B: l.offset_B,
                size_B: l.size_B,
                stride_B: l.stride_B,
                tile_el: l.tile_el.to_array(),
                tiles: l.tiles.to_array(),
            })
            .collect(),
        layer_stride_B: layout.layer_stride_B,
        size_B: layout.size_B,
        page_aligned_layers: layout.page_aligned_layers,
        metadata: layout.metadata.as_ref().map(|m| AnswerMetadata {
            offset_B: m.offset_B,
            size_B: m.size_B,
            levels: (0..)
                .zip(m.levels())
                .map(|(level, l)| AnswerMetadataLevel {
                    level,
                    offset_B: l.offset_B,
                    size_B: l.size_B,
                    tiles: l.tiles.to_array(),
                })
                .collect(),
        }),
        surface: None,
    }
}

/// The output for a Mali layout.
pub fn mali(gpu: Gpu, layout: &mali::Layout) -> Answer {
    let desc = layout.desc();
    let shape = &desc.shape;
    let headers: Vec<_> = (0..)
        .zip(layout.levels())
        .filter_map(|(level, l)| {
            Some(AnswerMetadataLevel {
                level,
                offset_B: l.offset_B,
                size_B: l.afbc?.header_size_B,
                tiles: l.tiles.to_array(),
            })
        })
        .collect();
    Answer {
        gpu: gpu.id(),
        format: shape.format.name(),
        tiling: desc.modifier.name(),
        width_px: shape.width_px,
        height_px: shape.height_px,
        depth_px: shape.depth_px,
        layers: shape.layers,
        samples: shape.samples,
        levels: (0..)
            .zip(layout.levels())
            .map(|(level, l)| AnswerLevel {
                level,
                offset_B: l.offset_B,
                size_B: l.size_B,
                stride_B: l.row_stride_B,
                tile_el: l.tile_el.to_array(),
                tiles: l.tiles.to_array(),
            })
            .collect(),
        layer_stride_B: layout.layer_stride_B,
        size_B: layout.size_B,
        page_aligned_layers: false,
        metadata: (!headers.is_empty()).then(|| AnswerMetadata {
            offset_B: 0,
            size_B: headers.iter().map(|l| l.size_B).sum::<u64>() * u64::from(shape.layers),
            levels: headers,
        }),
        surface: None,
    }
}

/// The output for an Intel layout. Levels lie side by side, so the bytes of a level are those of its
/// elements, and its offset that of the first of them.
pub fn intel(gpu: Gpu, layout: &intel::Layout) -> Answer {
    let desc = layout.desc();
    let shape = &desc.shape;
    let tile = layout.tile_el();
    let element_B = u64::from(shape.format.info().block.bytes);
    let levels = (0..)
        .zip(layout.levels())
        .map(|(level, l)| AnswerLevel {
            level,
            offset_B: layout
                .texel_offset_B(Texel { level, ..Texel::default() })
                .unwrap_or_default(),
            size_B: l.extent_el.area() * element_B,
            stride_B: layout.row_pitch_B,
            tile_el: tile.to_array(),
            tiles: l.extent_el.to_tl(tile).to_array(),
        })
        .collect();
    let single = shape.layers.max(shape.depth_px).max(shape.samples) == 1
        || shape.dimension == Dimension::D1;
    let stride_B = u64::from(layout.qpitch_el) * layout.row_pitch_B;
    Answer {
        gpu: gpu.id(),
        format: shape.format.name(),
        tiling: desc.tiling.name(),
        width_px: shape.width_px,
        height_px: shape.height_px,
        depth_px: shape.depth_px,
        layers: shape.layers,
        samples: shape.samples,
        levels,
        layer_stride_B: if single { layout.size_B / u64::from(shape.layers) } else { stride_B },
        size_B: layout.size_B,
        page_aligned_layers: false,
        metadata: None,
        surface: Some(AnswerSurface {
            align_el: layout.align_el.to_array(),
            qpitch_el: layout.qpitch_el,
            tail: layout.tail,
            alignment_B: layout.alignment_B,
            aux: layout.aux().map(|aux| AnswerAux {
                kind: aux.what.name(),
                stride_B: aux.row_pitch_B,
                qpitch_px: aux.qpitch_px,
                size_B: aux.size_B,
            }),
        }),
    }
}
