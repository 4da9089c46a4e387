//! Residency of sparse resources: page tables of images, and aliases of addresses.
//!
//! The texture unit reads through the table, and tells shaders which texels have no memory. Soft faults make loads and stores of programs
//! read zeros and drop what they write where a resource's own addresses have no memory, but neither the texture unit nor the pixel back end
//! has them. These two use aliases, in which the kernel binds the same memory, and a page for what has none, as Honeykrisp does.
//! source: asahi_drm.h, DRM_ASAHI_FEATURE_SOFT_FAULTS; Mesa, hk_queue.c, `hk_flush_bind`

use std::sync::Arc;

use tepui_agx_chips::PAGE_BYTES;
use tepui_agx_layout::Layout;
use tepui_agx_packets::texture::SparseBlock;
use tepui_vulkan::Result;
use tepui_vulkan_kit::arena::Mapped;

use tepui_drm::uapi::asahi as uapi;

use crate::kernel::{Bo, Kernel, SPARSE_B, SPARSE_BASE, Window};

/// A second range of addresses for the memory of a sparse resource. All of them lie at the same distance from the resource's own, so that
/// descriptors are made of addresses alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alias {
    /// For descriptors of the texture unit that have no page table: zeros where there is no memory.
    Texture = 1,
    /// For the pixel back end: a page where there is no memory, which nothing reads.
    PixelBackEnd = 2,
}

/// Number of [`Alias`]es.
pub const ALIASES: u64 = 2;

impl Alias {
    /// The address that a unit uses in place of `address`.
    pub fn address(self, address: u64) -> u64 {
        address + self.distance(address)
    }

    /// Distance in bytes from `address` to the one that a unit uses: a multiple of 2^32, 0 for what is not sparse.
    pub fn distance(self, address: u64) -> u64 {
        match (SPARSE_BASE..SPARSE_BASE + SPARSE_B).contains(&address) {
            true => self as u64 * SPARSE_B,
            false => 0,
        }
    }
}

/// The binding of an alias where a resource has no memory.
pub struct Fallback {
    /// The alias.
    pub alias: Alias,
    /// Bound at every page without memory.
    pub page: Arc<Bo>,
    /// [`uapi::BIND_READ`] or [`uapi::BIND_WRITE`].
    pub flags: u32,
}

/// The aliases of a resource. `zeros` begins with a page of zeros; what is written to `scratch` is lost.
pub fn fallbacks(zeros: &Arc<Bo>, scratch: &Arc<Bo>) -> Vec<Fallback> {
    let fallback = |alias, page: &Arc<Bo>, flags| Fallback { alias, page: page.clone(), flags };
    vec![
        fallback(Alias::Texture, zeros, uapi::BIND_READ),
        fallback(Alias::PixelBackEnd, scratch, uapi::BIND_READ | uapi::BIND_WRITE),
    ]
}

/// The page table of an image.
pub struct PageTable {
    memory: Bo,
    /// Bytes of a layer of the image, a multiple of a page.
    layer_stride: u64,
    /// Bytes of a layer's table.
    layer_table: u64,
}

impl PageTable {
    /// A table without pages, for an image whose layers begin with pages.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn new(kernel: &Arc<Kernel>, layout: &Layout) -> Result<PageTable> {
        let layer_stride = layout.layer_stride_B.next_multiple_of(PAGE_BYTES).max(PAGE_BYTES);
        let layer_table = SparseBlock::layer_table_bytes(layer_stride / PAGE_BYTES);
        let layers = u64::from(layout.desc().shape.layers);
        let memory = Bo::new(kernel, layers * layer_table, Window::Data, false)?;
        Ok(PageTable { memory, layer_stride, layer_table })
    }

    /// Address of the table for the layers from `layer` on, for the texture unit.
    pub fn address(&self, layer: u32) -> u64 {
        self.memory.address + u64::from(layer) * self.layer_table
    }

    /// Notes that the pages of `size` bytes at `offset` of the image have memory, which the kernel has bound from `address` on, or
    /// that they have none.
    pub fn set(&self, offset: u64, size: u64, address: Option<u64>) {
        for page in offset / PAGE_BYTES..(offset + size).div_ceil(PAGE_BYTES) {
            let at = page * PAGE_BYTES;
            let (layer, inside) = (at / self.layer_stride, at % self.layer_stride);
            let entry = layer * self.layer_table + SparseBlock::entry_offset(inside / PAGE_BYTES);
            let block = match address {
                // source: Mesa 26.1, cmdbuf.xml, "Sparse block": macOS sets the unknown bit, too
                Some(address) => {
                    SparseBlock { address: address + (at - offset), unknown: true, enabled: true }
                }
                None => SparseBlock::default(),
            };
            if let Ok(bytes) = block.pack()
                && entry + bytes.len() as u64 <= self.memory.size
            {
                self.memory.write(entry, &bytes);
            }
        }
    }
}
