//! Contents of buffers.

use crate::data::Element;
use crate::script::Texels;

/// The contents of a buffer.
#[derive(Clone, Debug)]
pub struct Content {
    /// The type of its elements.
    pub element: Option<Element>,
    /// Format and size, if it is an image.
    pub texels: Option<Texels>,
    /// The bytes.
    pub bytes: Vec<u8>,
}
