//! Operands of memory, texture and image instructions that do not fit in an [`Op`](super::op::Op):
//! programs keep them in separate tables, indexed by the operation's `imm`.

use tepui_agx_texture::{BlockStore, Request, Store, TileFormat};

use super::op::{Dst, Src};

/// The format of elements of memory instructions, shared with the tilebuffer.
pub use tepui_agx_texture::TileFormat as Format;

/// A memory instruction's further fields.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    /// Layout of an element.
    pub format: Format,
    /// Mask of the transferred ones among four consecutive elements; registers are consecutive in any
    /// case.
    pub mask: u8,
    /// Further left shift of the index.
    pub shift: u8,
    /// First register: the others follow.
    pub register: Dst,
    /// The index is signed (device memory only).
    pub signed: bool,
    /// The index, when it is not source 1.
    pub immediate: Option<i32>,
    /// The base is zero, not source 0 (local memory only).
    pub no_base: bool,
}

impl Transfer {
    /// Elements that are transferred.
    pub fn count(&self) -> usize {
        self.format.packed().unwrap_or(self.mask.count_ones() as usize)
    }
}

/// Source of a texture or image descriptor.
#[derive(Clone, Copy, Debug)]
pub enum DescriptorSource {
    /// A texture state register.
    State(u8),
    /// The texture state register that a register names.
    StateRegister(Src),
    /// Memory: a uniform base and an offset in bytes.
    Memory {
        /// Base address.
        base: Src,
        /// Offset of each lane.
        offset: Src,
    },
}

/// Source of a sampler.
#[derive(Clone, Copy, Debug)]
pub enum SamplerSource {
    /// A sampler state register.
    State(u8),
    /// The number in a register: a sampler state register, or from
    /// [`FIRST_OF_HEAP`](tepui_agx_packets::sampler::FIRST_OF_HEAP) on a place in the sampler heap.
    Register(Src),
}

/// A texture instruction: what is asked for and where the operands lie. Unused operands are `None`.
#[derive(Clone, Copy, Debug)]
pub struct TextureRead {
    /// The request.
    pub request: Request,
    /// First register of the result.
    pub register: Dst,
    /// The texture.
    pub texture: DescriptorSource,
    /// The sampler.
    pub sampler: SamplerSource,
    /// x, y, z.
    pub coordinates: [Option<Src>; 3],
    /// Array layer.
    pub layer: Option<Src>,
    /// Sample index.
    pub sample: Option<Src>,
    /// Level or bias.
    pub lod: Option<Src>,
    /// Smallest level.
    pub min_lod: Option<Src>,
    /// Gradients of each axis.
    pub gradient: [[Option<Src>; 2]; 3],
    /// Comparison value.
    pub reference: Option<Src>,
    /// Texel offsets.
    pub offset: Option<Src>,
    /// Coordinates and level are integers.
    pub integer: bool,
}

/// An image store.
#[derive(Clone, Copy, Debug)]
pub struct ImageStore {
    /// The request.
    pub store: Store,
    /// The image.
    pub image: DescriptorSource,
    /// First register of the four components.
    pub register: Dst,
    /// x, y, z.
    pub coordinates: [Option<Src>; 3],
    /// Array layer.
    pub layer: Option<Src>,
    /// Sample index.
    pub sample: Option<Src>,
    /// Level.
    pub level: Src,
}

/// A store of a tile of local memory to an image.
#[derive(Clone, Copy, Debug)]
pub struct TileStore {
    /// The request.
    pub store: BlockStore,
    /// The image.
    pub image: DescriptorSource,
    /// Bytes into each sample.
    pub offset: Src,
    /// x, y.
    pub coordinates: [Option<Src>; 3],
    /// Array layer.
    pub layer: Option<Src>,
    /// Level.
    pub level: Src,
}

/// A pixel of the tile to or from registers.
#[derive(Clone, Copy, Debug)]
pub struct TilePixel {
    /// Format of the channels in the tile.
    pub format: TileFormat,
    /// Channels that are transferred, a bit each.
    pub mask: u8,
    /// First register.
    pub register: Dst,
    /// Bytes into each sample.
    pub offset: u16,
    /// Samples, a bit each.
    pub samples: Src,
    /// Column and row: two 16-bit registers.
    pub coordinates: [Src; 2],
}

/// Further fields of texture and image instructions, kept in a separate table.
#[derive(Clone, Copy, Debug)]
pub enum TextureAccess {
    /// Sample, load, gather or query.
    Read(TextureRead),
    /// Image store.
    Store(ImageStore),
    /// Tile store.
    Block(TileStore),
    /// Load or store of a pixel of the tile.
    Pixel(TilePixel),
}
