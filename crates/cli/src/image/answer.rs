//! Layouts as JSON.

use serde::Serialize;
use tepui_agx_layout as agx;
use tepui_gpus::Gpu;
use tepui_mali_layout as mali;

/// A layout as `--json` and `--batch` write it. Bytes count from the start of the image; the offsets
/// of levels from the start of their layer.
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
    /// Samples a pixel.
    pub samples: u32,
    /// Every level that has space.
    pub levels: Vec<AnswerLevel>,
    /// Bytes from layer to layer.
    pub layer_stride_B: u64,
    /// Bytes of the image.
    pub size_B: u64,
    /// AGX: whether layers start at pages.
    pub page_aligned_layers: bool,
    /// AGX: the metadata of a compressed image. Mali: the headers of AFBC.
    pub metadata: Option<AnswerMetadata>,
}

/// A level of an [`Answer`].
#[derive(Serialize)]
pub struct AnswerLevel {
    /// Its number.
    pub level: u32,
    /// Where it starts within its layer.
    pub offset_B: u64,
    /// Bytes reserved.
    pub size_B: u64,
    /// Bytes from row to row: of elements, of tiles (u-interleaved), of headers (AFBC).
    pub stride_B: u64,
    /// The tile in elements.
    pub tile_el: [u32; 2],
    /// Tiles that cover the level.
    pub tiles: [u32; 2],
}

/// The metadata of an [`Answer`].
#[derive(Serialize)]
pub struct AnswerMetadata {
    /// Where it starts in the image.
    pub offset_B: u64,
    /// Bytes of all of it.
    pub size_B: u64,
    /// Its levels.
    pub levels: Vec<AnswerMetadataLevel>,
}

/// A level of an [`AnswerMetadata`].
#[derive(Serialize)]
pub struct AnswerMetadataLevel {
    /// Its number.
    pub level: u32,
    /// AGX: where it starts within its layer's metadata. Mali: where it starts within its layer.
    pub offset_B: u64,
    /// Bytes reserved.
    pub size_B: u64,
    /// Tiles that it describes.
    pub tiles: [u32; 2],
}

/// What is said of a layout of AGX.
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
    }
}

/// What is said of a layout of Mali.
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
    }
}
