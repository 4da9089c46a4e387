//! Messages: operations of the load/store, varying, texture and tile units for a warp.

mod atomic;
mod attribute;
mod buffer;
pub mod element;
mod image;
mod memory;
mod midgard;
mod pixel;
mod texture;
mod varying;

use tepui_mali_isa::Op as Isa;

use super::op::Handler;

pub use atomic::COMPARE;
pub use image::{IN_INSTRUCTION, is_short, store_by_conversion};
pub use memory::{FORCED, SIGNED, place, placed};
pub use pixel::{DEPTH, ENDS, STENCIL, blend_or_call, discard_or_help, load_tile, store_tile};
pub use pixel::{colours, only_sample};
pub use texture::{
    ARRAY as TEXTURE_ARRAY, FetchOperands, OFFSET as TEXTURE_OFFSET, SHADOW as TEXTURE_SHADOW,
    WIDE as TEXTURE_WIDE, component as texture_component, derivatives as texture_derivatives,
    fields as texture_fields, flags as texture_flags, lod as texture_lod,
    ranges as texture_gradient,
};
pub use varying::{flags as varying_flags, sample_flags};

/// The handler of an instruction.
pub fn handler(isa: Isa) -> Option<Handler> {
    memory::handler(isa)
        .or_else(|| atomic::handler(isa))
        .or_else(|| buffer::handler(isa))
        .or_else(|| image::handler(isa))
        .or_else(|| texture::handler(isa))
        .or_else(|| attribute::handler(isa))
        .or_else(|| varying::handler(isa))
        .or_else(|| pixel::handler(isa))
}
