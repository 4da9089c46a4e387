//! Output of vertex shaders: positions and varyings.
//!
//! Silicon allocates memory for vertices from the tiler's heap and gives shaders its address. Only the
//! hardware reads it, so that the addresses are this model's own.

use tepui_softgpu::{Access, Fault, FaultKind};

use super::buffer::Descriptor;
use crate::warp::trap::Trap;

/// The address of the first byte.
pub const WINDOW: u64 = 1 << 61;

/// Output bytes of a warp's vertices.
#[derive(Default)]
pub struct VertexOutput {
    bytes: Vec<u8>,
    stride: u32,
}

impl VertexOutput {
    /// Prepares for elements of `stride` bytes.
    pub fn begin(&mut self, stride: u32, bytes: usize) {
        self.stride = stride;
        self.bytes.resize(bytes, 0);
    }

    /// Zeros all bytes.
    pub fn clear(&mut self) {
        self.bytes.fill(0);
    }

    /// Disables the output: no shader stores vertices.
    pub fn end(&mut self) {
        self.bytes.clear();
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The buffer that shaders store to.
    pub fn descriptor(&self) -> Descriptor {
        let size = self.bytes.len() as u64;
        Descriptor { address: WINDOW, size, stride: self.stride.into() }
    }

    /// Stores bytes.
    pub fn write(&mut self, address: u64, from: &[u8]) -> Result<(), Box<Trap>> {
        let start = usize::try_from(address - WINDOW).unwrap_or(usize::MAX);
        let to = start.checked_add(from.len()).and_then(|end| self.bytes.get_mut(start..end));
        match to {
            Some(to) => to.copy_from_slice(from),
            None => {
                let (access, kind) = (Access::Write, FaultKind::OutOfRange);
                return Err(Box::new(Trap::Memory(Fault { address, access, kind })));
            }
        }
        Ok(())
    }
}
