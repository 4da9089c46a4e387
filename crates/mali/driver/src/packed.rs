//! Packets in memory: their alignment, and errors of values that do not fit into them.

use tepui_mali_packets::Problem;
use tepui_vulkan::{Error, vk};

/// Alignment of descriptors. source: genxml, the alignments of Texture, Plane, Sampler, Local Storage
pub const DESCRIPTOR_ALIGN: u64 = 64;

/// An error of a value that does not fit into its packet.
pub fn packet(p: Problem) -> Error {
    Error::new(vk::Result::ERROR_UNKNOWN, p.to_string())
}
