//! Levels of images as programs see them.

use std::sync::Arc;

use tepui_format::{Format, Numeric};
use tepui_ir::NumKind;
use tepui_vulkan::backend::{Addresses, Backend, ImageInfo, ImageRef, SamplerInfo};
use tepui_vulkan::vk;

use crate::packing::Packing;
use crate::program::{Order, Output, Side};
use crate::words::SideWords;

/// A level of an image's plane.
pub struct Level<'a, B: Backend> {
    /// Layout of the image.
    pub image: &'a Arc<B::Image>,
    /// Description of the image.
    pub info: &'a ImageInfo,
    /// GPU addresses of the image's planes.
    pub addresses: Addresses,
    /// Plane.
    pub plane: usize,
    /// Format of the plane's texels.
    pub format: Format,
    /// Level.
    pub level: u32,
}

impl<B: Backend> Clone for Level<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B: Backend> Copy for Level<'_, B> {}

impl<'a, B: Backend> Level<'a, B> {
    /// Layers, or slices of a 3D image.
    #[must_use]
    pub fn slices(&self) -> u32 {
        match self.is_volume() {
            true => (self.info.extent[2] >> self.level).max(1),
            false => self.info.layers,
        }
    }

    /// Whether the image is three-dimensional.
    #[must_use]
    pub fn is_volume(&self) -> bool {
        self.info.image_type == vk::ImageType::_3D
    }

    /// All layers as an array, in a format; slices of a 3D image are layers.
    #[must_use]
    pub fn as_array(self, format: Format) -> View<'a, B> {
        View { layers: [0, self.slices()], of: self, format, shape: Shape::Array }
    }

    /// The level in its own shape and format: a volume if the image is three-dimensional.
    #[must_use]
    pub fn whole(self) -> View<'a, B> {
        let view = self.as_array(self.format);
        match self.is_volume() {
            true => View { layers: [0, 1], shape: Shape::Volume, ..view },
            false => view,
        }
    }
}

/// Shape of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// An array of two-dimensional layers, which may be slices of a 3D image.
    Array,
    /// All slices of a 3D image.
    Volume,
}

/// Texels of a level in a format.
pub struct View<'a, B: Backend> {
    /// The level.
    pub of: Level<'a, B>,
    /// Format. If its texels are the blocks of a compressed image, coordinates count blocks.
    pub format: Format,
    /// First layer and layers of an array.
    pub layers: [u32; 2],
    /// Shape.
    pub shape: Shape,
}

impl<B: Backend> Clone for View<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B: Backend> Copy for View<'_, B> {}

impl<B: Backend> View<'_, B> {
    /// The view as an attachment, from a layer on.
    pub(crate) fn attachment(&self, layer: u32, layers: u32) -> ImageRef<B> {
        let Level { image, info, addresses, plane, level, .. } = self.of;
        ImageRef {
            image: image.clone(),
            info: *info,
            addresses,
            plane,
            format: self.format,
            level,
            layer: self.layers[0] + layer,
            layers,
        }
    }
}

/// A binding of a program.
pub enum Binding<'a, B: Backend> {
    /// A texture.
    Texture(View<'a, B>),
    /// A texture whose components are those of a packing, in their number format.
    Bits(View<'a, B>, Packing),
    /// A texture with a sampler that clamps to the edges; whether it filters linearly.
    Sampled(View<'a, B>, bool),
    /// A storage image that is written.
    Storage(View<'a, B>),
    /// A storage image that is written, whose components are those of a packing, in their number format.
    StorageBits(View<'a, B>, Packing),
}

/// The sampler of [`Binding::Sampled`].
#[must_use]
pub fn sampler(linear: bool) -> SamplerInfo {
    let filter = if linear { vk::Filter::LINEAR } else { vk::Filter::NEAREST };
    let edge = vk::SamplerAddressMode::CLAMP_TO_EDGE;
    SamplerInfo {
        core: vk::SamplerCreateInfo {
            mag_filter: filter,
            min_filter: filter,
            address_mode_u: edge,
            address_mode_v: edge,
            address_mode_w: edge,
            ..Default::default()
        },
        border: None,
        border_format: None,
        opaque_black: None,
        reduction: vk::SamplerReductionMode::WEIGHTED_AVERAGE,
    }
}

impl<B: Backend> Clone for Binding<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B: Backend> Copy for Binding<'_, B> {}

/// Arrangement of elements in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrangement {
    /// Rows.
    Linear {
        /// Bytes from row to row.
        row_pitch: u32,
    },
    /// Rows of tiles, in which elements are in Morton order, x first.
    Tiled {
        /// Tiles in a row.
        pitch: u32,
        /// Logarithms of a tile's columns and rows, at most 8.
        tile_log2: [u32; 2],
    },
    /// Rows of tiles, in which elements are in Morton order with column ^ row in place of the column.
    Interleaved {
        /// Tiles in a row.
        pitch: u32,
        /// Logarithms of a tile's columns and rows, at most 8.
        tile_log2: [u32; 2],
    },
    /// Rows of tiles of bytes, which go on through all slices.
    Bits {
        /// Bytes of a row of tiles.
        pitch: u32,
        /// Bits of an offset in a tile.
        bits: TileBits,
        /// Rows of elements from slice to slice.
        slice_rows: u32,
        /// Column, row and slice of the level's first element.
        origin: [u32; 3],
    },
}

/// Bits of a byte's offset in a tile that come from its column, counted in bytes, and from its row, the lowest first. The bytes of an element
/// are next to each other: the lowest bits are the column's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TileBits {
    /// Bits of the column.
    pub x: u32,
    /// Bits of the row.
    pub y: u32,
}

/// Elements in memory: texels with all their samples, or compressed blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Address of the first element.
    pub address: u64,
    /// Bytes from layer to layer or slice to slice; nothing with [`Arrangement::Bits`].
    pub slice_pitch: u64,
    /// Arrangement of a slice.
    pub arrangement: Arrangement,
    /// Bytes of an element.
    pub element: u32,
}

impl Memory {
    /// Words for [`crate::texels::address`], from an element on.
    #[must_use]
    pub fn words(&self, first: [u32; 3]) -> SideWords {
        let base = self.address.into();
        let slice_pitch = self.slice_pitch.into();
        match self.arrangement {
            Arrangement::Linear { row_pitch: pitch } => {
                SideWords { base, slice_pitch, pitch, tile_log2: [0; 2], first }
            }
            Arrangement::Tiled { pitch, tile_log2 }
            | Arrangement::Interleaved { pitch, tile_log2 } => {
                SideWords { base, slice_pitch, pitch, tile_log2, first }
            }
            Arrangement::Bits { pitch, slice_rows, origin, .. } => SideWords {
                base,
                slice_pitch: u64::from(slice_rows).into(),
                pitch,
                tile_log2: [0; 2],
                first: [0, 1, 2].map(|k| first[k] + origin[k]),
            },
        }
    }

    /// Order of elements, as programs know it.
    pub(crate) fn order(&self) -> Order {
        match self.arrangement {
            Arrangement::Linear { .. } => Order::Rows,
            Arrangement::Tiled { .. } => Order::Morton,
            Arrangement::Interleaved { .. } => Order::Interleaved,
            Arrangement::Bits { bits, .. } => Order::Bits(bits),
        }
    }
}

/// The way in which programs reach the texels of a level.
pub enum Texels<'a, B: Backend> {
    /// At addresses that they compute.
    Memory(Memory),
    /// As texels of a view of all layers ([`Level::as_array`]), in components of a packing: read as a texture, written as a storage
    /// image.
    Image(View<'a, B>, Packing),
    /// By drawing, in components of a packing, to write them.
    Drawn(View<'a, B>, Output, Packing),
}

impl<B: Backend> Texels<'_, B> {
    /// The side's part of a program's key.
    pub(crate) fn side(&self) -> Side {
        match *self {
            Texels::Memory(ref m) => Side::Memory(m.order()),
            Texels::Image(_, packing) => Side::Image(packing),
            Texels::Drawn(_, output, packing) => Side::Drawn(output, packing),
        }
    }

    /// The side's words, from an element on.
    pub(crate) fn words(&self, first: [u32; 3]) -> SideWords {
        match self {
            Texels::Memory(m) => m.words(first),
            _ => SideWords { first, ..SideWords::default() },
        }
    }
}

/// Texels of a level that launches are about to overwrite.
pub struct Area<'a, B: Backend> {
    /// The level.
    pub of: Level<'a, B>,
    /// First column, row and layer or slice, in elements.
    pub first: [u32; 3],
    /// Columns, rows and layers or slices, in elements.
    pub size: [u32; 3],
}

/// Number format that shaders see of a format, or of one aspect of depth and stencil.
#[must_use]
pub fn kind_of(f: Format) -> NumKind {
    match f.info().numeric() {
        Numeric::Uint => NumKind::Uint,
        Numeric::Sint => NumKind::Sint,
        _ => NumKind::Float,
    }
}
