//! Tables of pages of sparse images: the texture unit reads through them, and tells shaders which texels have no memory.
//!
//! Render targets, stores of shaders and copies use the image's own addresses, where the kernel binds the same pages.

use std::sync::Arc;

use tepui_agx_chips::PAGE_BYTES;
use tepui_agx_layout::Layout;
use tepui_agx_packets::texture::SparseBlock;
use tepui_vulkan::Result;

use crate::kernel::{Bo, Kernel, Window};

/// The table of an image.
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

    /// Where the texture unit finds the layers from `layer` on.
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
