//! Texture descriptors with their planes in memory of the device: of image views, of texel buffers.

use tepui_format::Format;
use tepui_vulkan::{Error, Result, vk};

use crate::device::{Device, Piece};

pub use tepui_mali_textures::{Bytes, Channel, DESCRIPTOR_B, MAX_ELEMENTS, Part, Role};

/// A texture descriptor and its planes.
pub struct Descriptor {
    /// The descriptor.
    pub bytes: Bytes,
    _planes: Piece,
}

pub(crate) fn unsupported(e: tepui_mali_textures::Error) -> Error {
    Error::unsupported(e.to_string())
}

/// Sources of components.
pub fn channels(all: [vk::ComponentSwizzle; 4]) -> [Channel; 4] {
    let mut out = tepui_mali_textures::IDENTITY;
    for (to, from) in out.iter_mut().zip(all) {
        *to = match from {
            vk::ComponentSwizzle::R => Channel::R,
            vk::ComponentSwizzle::G => Channel::G,
            vk::ComponentSwizzle::B => Channel::B,
            vk::ComponentSwizzle::A => Channel::A,
            vk::ComponentSwizzle::ZERO => Channel::Zero,
            vk::ComponentSwizzle::ONE => Channel::One,
            _ => *to,
        };
    }
    out
}

/// The descriptor of a part of an image.
///
/// # Errors
/// When the hardware has no such texture, or there is no memory.
pub fn of_part(device: &Device, p: &Part<'_>, role: Role) -> Result<Descriptor> {
    let planes = device.descriptors(&tepui_mali_textures::planes(p).map_err(unsupported)?)?;
    let bytes = tepui_mali_textures::of_part(p, role, planes.address).map_err(unsupported)?;
    Ok(Descriptor { bytes, _planes: planes })
}

/// The descriptor of a texel buffer: a row of texels.
///
/// # Errors
/// When the hardware has no such texture, or there is no memory.
pub fn of_buffer(device: &Device, f: Format, address: u64, size: u64) -> Result<Descriptor> {
    let plane = tepui_mali_textures::buffer_plane(f, address, size).map_err(unsupported)?;
    let plane = device.descriptors(&plane)?;
    let bytes = tepui_mali_textures::of_buffer(f, size, plane.address).map_err(unsupported)?;
    Ok(Descriptor { bytes, _planes: plane })
}

#[cfg(test)]
mod tests {
    use super::*;
    use Channel as C;

    #[test]
    fn components_without_a_source_are_themselves() {
        use vk::ComponentSwizzle as S;
        let all = channels([S::IDENTITY, S::ZERO, S::IDENTITY, S::R]);
        assert_eq!(all, [C::R, C::Zero, C::B, C::R]);
    }
}
