//! Computes the layout of an image.

use tepui_layout::Limits;

use crate::compression::{self, Metadata};
use crate::layout::Layout;
use crate::{
    CACHE_LINE_B, ImageDesc, LayoutError, MAX_EXTENT, MAX_SAMPLES, Tiling, linear, twiddled,
};

impl Layout {
    /// Computes the layout of an image.
    ///
    /// # Errors
    /// A rule of the hardware that the image breaks.
    pub fn new(desc: &ImageDesc) -> Result<Layout, LayoutError> {
        check(desc)?;
        let mut layout = Layout::empty(desc);
        match desc.tiling {
            Tiling::Linear => linear::lay_out(&mut layout, desc),
            Tiling::Twiddled | Tiling::Compressed => twiddled::lay_out(&mut layout, desc),
        }
        layout.size_B = layout.layer_stride_B * u64::from(layout.slices());
        if desc.tiling == Tiling::Compressed {
            let metadata = Metadata::new(desc, layout.levels(), layout.size_B);
            layout.size_B += metadata.size_B;
            layout.metadata = Some(metadata);
        }
        layout.size_B = layout.size_B.next_multiple_of(CACHE_LINE_B);
        Ok(layout)
    }
}

/// Checks the rules of the hardware for all images, then those for its memory layout.
fn check(desc: &ImageDesc) -> Result<(), LayoutError> {
    let buffer = desc.tiling == Tiling::Linear && linear::is_buffer(desc);
    let width_px = if buffer { linear::MAX_BUFFER_PX } else { MAX_EXTENT };
    desc.shape.check(&Limits { width_px, ..Limits::new(MAX_EXTENT, MAX_SAMPLES) })?;
    match desc.tiling {
        Tiling::Linear => linear::check(desc),
        Tiling::Twiddled => twiddled::check(desc),
        Tiling::Compressed => twiddled::check(desc).and_then(|()| compression::check(desc)),
    }
}
