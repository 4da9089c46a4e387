//! Surface states and the memory of descriptors, as data.

use tepui_intel_chips::Generation;
use tepui_intel_compiler::View as ViewKind;
use tepui_intel_compiler::set_memory::{buffer, sampled, storage};
use tepui_intel_packets::Packet;
use tepui_intel_packets::surface::{RenderSurfaceState, SurfaceType};
use tepui_vulkan::backend::PerSetMemory;
use tepui_vulkan::descriptor::DescriptorType;

use crate::format::RAW;
use crate::mocs::mocs;
use crate::pool::Piece;
use crate::space;

/// The kind of a set's memory with records.
pub const RECORDS: usize = 0;
/// The kind of a set's memory with surface states.
pub const STATES: usize = 1;
/// Bytes of a surface state.
pub const STATE_B: usize = RenderSurfaceState::SIZE_BYTES;
/// First byte of the state of a descriptor in the second kind of memory.
pub const STATE: u32 = 0;

/// A packed surface state.
pub type State = [u8; STATE_B];

/// First byte of the state of an interpretation of a descriptor in the second kind of memory.
pub fn state_of(view: ViewKind) -> u32 {
    match view {
        ViewKind::Sampled | ViewKind::Storage => STATE,
        ViewKind::Raw => STATE + STATE_B as u32,
    }
}

/// Bytes of a descriptor in each kind of a set's memory.
pub fn sizes(ty: DescriptorType) -> PerSetMemory<u32> {
    use DescriptorType as D;
    let state = STATE_B as u32;
    match ty {
        D::Sampler => [sampled::BYTES, 0, 0],
        D::CombinedImageSampler | D::SampledImage | D::UniformTexelBuffer | D::InputAttachment => {
            [sampled::BYTES, state, 0]
        }
        D::StorageImage | D::StorageTexelBuffer => [storage::BYTES, 2 * state, 0],
        D::UniformBuffer | D::StorageBuffer | D::InlineUniformBlock => [buffer::BYTES, state, 0],
        // Their states are made with their offsets.
        D::UniformBufferDynamic | D::StorageBufferDynamic => [buffer::BYTES, 0, 0],
        D::Mutable => [buffer::BYTES, 2 * state, 0],
    }
}

/// A sampler.
pub struct Sampler {
    pub(crate) piece: Piece,
    pub(crate) _border: Option<Piece>,
}

impl Sampler {
    /// The handle by which programs name it: its offset from the base of dynamic state.
    pub fn handle(&self) -> u32 {
        (self.piece.address - space::DYNAMIC) as u32
    }
}

/// The surface state of nothing: reads give zeros, writes are dropped.
pub fn null_state() -> State {
    let null = RenderSurfaceState {
        surface_type: SurfaceType::SurftypeNull,
        ..RenderSurfaceState::default()
    };
    let mut bytes = [0; STATE_B];
    let packed = null.pack_into(&mut bytes);
    debug_assert!(packed.is_ok());
    bytes
}

/// A surface state of elements in memory. `element_b` is 1 for a raw buffer.
pub fn elements(
    generation: Generation,
    address: u64,
    count: u64,
    element_b: u32,
    format: u32,
) -> RenderSurfaceState {
    // The number of elements less one, in three fields.
    let last = count.min(1 << 32).wrapping_sub(1) as u32;
    RenderSurfaceState {
        surface_type: SurfaceType::SurftypeBuffer,
        surface_format: format,
        width: last & 0x7f,
        height: last >> 7 & 0x3fff,
        depth: last >> 21,
        surface_pitch: element_b - 1,
        surface_base_address: address,
        mocs: u32::from(mocs(generation)),
        ..RenderSurfaceState::default()
    }
}

/// The bytes of a surface state.
pub fn pack(generation: Generation, state: &RenderSurfaceState) -> State {
    let mut bytes = [0; STATE_B];
    let revision = tepui_intel_packets::revision(generation);
    // Values that do not fit are those of resources that cannot be made: nothing is there.
    if state.pack_into_as(&mut bytes, revision).is_err() {
        return null_state();
    }
    bytes
}

/// Bytes that the bounds of uniform buffers are multiples of: those of a block that the constant cache reads.
pub const UNIFORM_UNIT_B: u32 = 64;

/// The surface state of a buffer, in bytes.
pub fn buffer_state(generation: Generation, address: u64, size: u32, uniform: bool) -> State {
    if size == 0 || address == 0 {
        return null_state();
    }
    // Raw surfaces end with a double word.
    let unit = if uniform { UNIFORM_UNIT_B } else { 4 };
    let size = u64::from(size).next_multiple_of(u64::from(unit));
    pack(generation, &elements(generation, address, size, 1, RAW))
}
