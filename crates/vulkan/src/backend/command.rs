//! Parameters of commands: draws, dispatches, renderings, copies.

use std::sync::Arc;

use tepui_format::Format;
use tepui_layout::Region;
use vulkanalia_sys as vk;

use super::object::{Addresses, ImageInfo};
use super::types::Types;

/// The counts of a draw.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    /// Vertices or indices.
    pub count: u32,
    /// Instances.
    pub instances: u32,
    /// First vertex or index.
    pub first: u32,
    /// Number that is added to indices.
    pub vertex_offset: i32,
    /// First instance.
    pub first_instance: u32,
    /// Indices come from the index buffer.
    pub indexed: bool,
    /// Number of the draw in a multi-draw.
    pub draw_index: u32,
}

impl Counts {
    /// Number that is added to vertex numbers.
    pub fn base_vertex(&self) -> u32 {
        if self.indexed { self.vertex_offset as u32 } else { self.first }
    }
}

/// A draw.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Draw {
    /// Counts are known.
    Direct(Counts),
    /// Counts are in memory.
    Indirect {
        /// GPU address of the first draw's parameters.
        address: u64,
        /// Maximum number of draws.
        count: u32,
        /// Bytes from draw to draw.
        stride: u32,
        /// GPU address of the number of draws.
        count_address: Option<u64>,
        /// Indices come from the index buffer.
        indexed: bool,
        /// Number of the first draw in a multi-draw.
        draw_index: u32,
    },
}

impl Draw {
    /// Whether indices come from the index buffer.
    pub fn is_indexed(&self) -> bool {
        match self {
            Draw::Direct(Counts { indexed, .. }) | Draw::Indirect { indexed, .. } => *indexed,
        }
    }
}

/// Condition of draws and dispatches: a 32-bit word in memory that decides when they execute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition {
    /// GPU address of the word.
    pub address: u64,
    /// Whether they execute if the word is zero, rather than if it is not.
    pub inverted: bool,
}

/// Size of a dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dispatch {
    /// First workgroup and workgroups in each direction.
    Direct([u32; 3], [u32; 3]),
    /// First workgroup, and the GPU address of the workgroups in each direction.
    Indirect([u32; 3], u64),
}

/// One attachment of a rendering.
pub struct Attachment<B: Types> {
    /// Image.
    pub image: Arc<ImageRef<B>>,
    /// Layout of the API that the image has during the rendering.
    pub layout: vk::ImageLayout,
    /// Load operation.
    pub load: vk::AttachmentLoadOp,
    /// Store operation.
    pub store: vk::AttachmentStoreOp,
    /// The clear value, as four words; for depth the first, for stencil the second.
    pub clear: [u32; 4],
    /// Destination of its samples at the end of the rendering.
    pub resolve: Option<ResolveTarget<B>>,
}

/// Destination of the samples of an attachment.
pub struct ResolveTarget<B: Types> {
    /// Image.
    pub image: Arc<ImageRef<B>>,
    /// Layout of the API that the image has during the rendering.
    pub layout: vk::ImageLayout,
    /// Mode.
    pub mode: vk::ResolveModeFlags,
}

impl<B: Types> Clone for ResolveTarget<B> {
    fn clone(&self) -> Self {
        ResolveTarget { image: self.image.clone(), ..*self }
    }
}

impl<B: Types> Clone for Attachment<B> {
    fn clone(&self) -> Self {
        Attachment {
            image: self.image.clone(),
            layout: self.layout,
            load: self.load,
            store: self.store,
            clear: self.clear,
            resolve: self.resolve.clone(),
        }
    }
}

/// A level and a range of layers of an image, in a format.
pub struct ImageRef<B: Types> {
    /// Layout of the image.
    pub image: Arc<B::Image>,
    /// Description of the image.
    pub info: ImageInfo,
    /// GPU addresses of the image's planes.
    pub addresses: Addresses,
    /// Plane.
    pub plane: usize,
    /// Format of the view.
    pub format: Format,
    /// Level.
    pub level: u32,
    /// First layer, or first slice of a 3D image.
    pub layer: u32,
    /// Layers.
    pub layers: u32,
}

impl<B: Types> ImageRef<B> {
    /// Width and height of the plane's level in pixels.
    pub fn extent(&self) -> [u32; 2] {
        let divisors = match self.info.format.info().planes().get(self.plane) {
            Some(p) => [p.width_divisor, p.height_divisor],
            None => [1, 1],
        };
        [0, 1].map(|k| (self.info.extent[k].div_ceil(divisors[k]) >> self.level).max(1))
    }
}

impl<B: Types> Clone for Rendering<B> {
    fn clone(&self) -> Self {
        Rendering {
            area: self.area,
            layers: self.layers,
            view_mask: self.view_mask,
            colours: self.colours.clone(),
            depth: self.depth.clone(),
            stencil: self.stencil.clone(),
            samples: self.samples,
        }
    }
}

/// A rendering: what draws go to.
pub struct Rendering<B: Types> {
    /// Pixels that are rendered.
    pub area: vk::Rect2D,
    /// Layers.
    pub layers: u32,
    /// Views, a bit each; 0 without multiview.
    pub view_mask: u32,
    /// Colour attachments by location.
    pub colours: Vec<Option<Attachment<B>>>,
    /// Depth attachment.
    pub depth: Option<Attachment<B>>,
    /// Stencil attachment.
    pub stencil: Option<Attachment<B>>,
    /// Samples of a pixel when there are no attachments.
    pub samples: u32,
}

/// A copy between an image and a buffer, or two images: pixels of one level and layer range.
pub struct ImageCopy<'a, B: Types> {
    /// Layout, description and addresses of the image.
    pub image: (&'a Arc<B::Image>, &'a ImageInfo, Addresses),
    /// Aspect, level and layers.
    pub layers: vk::ImageSubresourceLayers,
    /// First pixel.
    pub offset: [i32; 3],
}

/// Location of the pixels of an image copy in a buffer.
#[derive(Clone, Copy, Debug)]
pub struct BufferPixels {
    /// GPU address of the first pixel.
    pub address: u64,
    /// Bytes from row to row (of blocks).
    pub row_pitch: u64,
    /// Bytes from layer to layer or slice to slice.
    pub slice_pitch: u64,
}

/// A region of a blit: corners in both images, and layers.
pub struct Blit<'a, B: Types> {
    /// Source image.
    pub source: (&'a Arc<B::Image>, &'a ImageInfo, Addresses),
    /// Destination image.
    pub target: (&'a Arc<B::Image>, &'a ImageInfo, Addresses),
    /// The region.
    pub region: vk::ImageBlit2,
    /// Linear filter.
    pub linear: bool,
}

/// A rectangle of a plane, and rows of texels that it is copied to or from.
pub struct HostCopy<'a> {
    /// The rectangle.
    pub region: Region,
    /// Memory of the plane.
    pub plane: &'a mut [u8],
    /// Rows of texels: up to the last texel of the last row.
    pub rows: &'a mut [u8],
    /// Bytes from row to row.
    pub row_pitch: usize,
    /// Whether the image is written.
    pub to_image: bool,
}
