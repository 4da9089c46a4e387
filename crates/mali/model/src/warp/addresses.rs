//! Addresses of a shader's inputs.

use tepui_mali_chips::Arch;

/// Numbers of tables in the upper byte of a handle.
pub const UNIFORM_BUFFERS: u32 = 0;

/// See [`UNIFORM_BUFFERS`].
pub const TEXTURES: u32 = 1;

/// See [`UNIFORM_BUFFERS`].
pub const SAMPLERS: u32 = 2;

/// Addresses of arrays of descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tables {
    /// The architecture, which determines the layout of surfaces.
    pub arch: Arch,
    /// Uniform buffers, and their number.
    pub uniform_buffers: (u64, u32),
    /// Textures, and their number.
    pub textures: (u64, u32),
    /// Samplers, and their number.
    pub samplers: (u64, u32),
    /// Attributes.
    pub attributes: u64,
    /// Buffers of attributes.
    pub attribute_buffers: u64,
    /// Varyings.
    pub varyings: u64,
    /// Buffers of varyings.
    pub varying_buffers: u64,
    /// The first vertex.
    pub offset_start: u32,
    /// Padded number of vertices per instance.
    pub instance_size: u32,
}

/// A padded vertex count: odd times a power of two, at least 1.
pub fn padded(shift: u32, odd: u32) -> u32 {
    (2 * odd + 1).checked_shl(shift).unwrap_or(0).max(1)
}

/// Addresses of a shader's inputs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StageAddresses {
    /// Address and count of the resource tables.
    pub resources: u64,
    /// Address of the uniforms, with the number of pairs of words in the top eight bits.
    pub uniforms: u64,
    /// Address of the shader program descriptor.
    pub program: u64,
    /// Address of the local storage descriptor.
    pub storage: u64,
    /// Added to the index of attributes that request it.
    pub attribute_offset: u32,
    /// Bifrost's addresses, which replace resource tables, uniforms and program.
    pub bifrost: Option<StateAddresses>,
}

/// Addresses of a stage's inputs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StateAddresses {
    /// Address of the renderer state.
    pub state: u64,
    /// Selects the secondary shader.
    pub secondary: bool,
    /// Addresses of the descriptors; their numbers are in the renderer state.
    pub tables: Tables,
    /// Uniforms.
    pub push: u64,
}
