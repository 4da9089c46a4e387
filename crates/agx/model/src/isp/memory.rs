//! Memory of frames, which is reused from one to the next.

use tepui_raster::Bins;
use tepui_softgpu::buffer_pool::{Buffers, bytes_of};

/// Memory of frames.
#[derive(Default)]
pub struct FrameMemory {
    /// Shapes by layer, each layer's in order.
    pub order: Vec<u32>,
    pub bins: Bins,
}

impl Buffers for FrameMemory {
    fn clear(&mut self) {
        self.order.clear();
    }

    fn bytes(&self) -> usize {
        bytes_of(&self.order) + self.bins.bytes()
    }
}
