//! Memory of frames, which is reused from one to the next.

use tepui_raster::{Bins, Interpolation, Shape, WindowPlane};
use tepui_softgpu::buffer_pool::{Buffers, bytes_of};

/// A primitive, prepared for tiles.
pub struct Setup {
    /// Interpolation: from values at vertices to plane equations.
    pub interpolation: Interpolation,
    /// Its depth, bias included.
    pub depth: WindowPlane,
    /// Depths are clamped to this range.
    pub range: [f32; 2],
}

/// Memory of frames.
#[derive(Default)]
pub struct FrameMemory {
    pub shapes: Vec<Shape>,
    pub setups: Vec<Setup>,
    /// Shapes by layer, each layer's in order.
    pub order: Vec<u32>,
    pub bins: Bins,
}

impl Buffers for FrameMemory {
    fn clear(&mut self) {
        self.shapes.clear();
        self.setups.clear();
        self.order.clear();
    }

    fn bytes(&self) -> usize {
        let lists = bytes_of(&self.shapes) + bytes_of(&self.setups) + bytes_of(&self.order);
        lists + self.bins.bytes()
    }
}
