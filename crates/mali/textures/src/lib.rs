//! Texture descriptors of Valhall GPUs, for the driver and for `mali/bare`.
//!
//! A descriptor points to planes, one for each level of each layer. Storage images and texel buffers are textures, too.
//! [`planes`] makes the planes of a part of an image, [`of_part`] the descriptor once they are in memory. [`mod@format`] has the numbers
//! of formats.
//!
//! source: Mesa, pan_texture.c (`panfrost_new_texture`, `panfrost_emit_plane`)

pub mod format;
mod texture;

pub use texture::{
    Bytes, Channel, DESCRIPTOR_B, IDENTITY, MAX_ELEMENTS, Part, Role, buffer_plane,
    compression_mode, of_buffer, of_part, planes,
};

use tepui_format::Format;
use tepui_mali_packets::Problem;

/// Why there is no descriptor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The texture unit does not read the format.
    #[error("textures of {0}")]
    Format(Format),
    /// A number is too large for its field.
    #[error("{0} of {1} bytes")]
    Large(&'static str, u64),
    /// The image has no such level or layer.
    #[error("views of levels that are not there")]
    Outside,
    /// A value does not fit into its field.
    #[error("{0}")]
    Packet(#[from] Problem),
}
