//! Descriptor sets in memory: the records that programs read where the binding table cannot name a descriptor.
//!
//! A descriptor whose index is known when compiling is an entry of the binding table or of the sampler table
//! ([`crate::BindMap`]), which the driver fills when it records a draw or dispatch. All others are read from the memory
//! of their set: those of arrays that are indexed at run time, and those of bindings that may change after recording
//! ([`SetBinding::bindless`]). The address of a set is a constant of the program ([`crate::Constant::SetAddress`]); a set
//! lies within 4 GiB that begin at a multiple of 4 GiB, unless it is in a descriptor buffer.
//!
//! Records of a binding follow each other. Handles of surfaces are what the extended descriptor of a message takes:
//! the index of the surface state from Bindless Surface State Base Address on, shifted left by 12. Handles of samplers
//! are offsets in bytes from Dynamic State Base Address on, multiples of 32. source: Mesa, `anv_private.h`
//! (`anv_sampled_image_descriptor`, `anv_storage_image_descriptor`, `anv_address_range_descriptor`).

use tepui_intel_isa::Generation;
use tepui_ir::{ImageFormat, ResKind, Shader};

/// The record of a uniform or storage buffer, without its dynamic offset.
pub mod buffer {
    /// Bytes of the record.
    pub const BYTES: u32 = 16;
    /// The address, 64 bits; 0 for a null descriptor.
    pub const ADDRESS: u32 = 0;
    /// The size of the range in bytes, 32 bits; 0 for a null descriptor.
    pub const SIZE: u32 = 8;
}

/// The record of a sampled image, a sampler, both together, an input attachment or a uniform texel buffer.
pub mod sampled {
    /// Bytes of the record.
    pub const BYTES: u32 = 8;
    /// The handle of the surface for the sampler.
    pub const SURFACE: u32 = 0;
    /// The handle of the sampler.
    pub const SAMPLER: u32 = 4;
}

/// The record of a storage image or storage texel buffer.
pub mod storage {
    /// Bytes of the record.
    pub const BYTES: u32 = 8;
    /// The handle of the surface in the view's own format ([`crate::View::Storage`]).
    pub const SURFACE: u32 = 0;
    /// The handle of the surface in the unsigned format of the same size ([`crate::View::Raw`]), or that of
    /// [`SURFACE`] if the view's format needs none.
    pub const RAW: u32 = 4;
}

/// Alignment of the first record of each binding, and of inline uniform blocks, whose bytes are their record.
pub const ALIGNMENT: u32 = 16;

/// Bytes of the record of a descriptor.
#[must_use]
pub const fn record_bytes(kind: ResKind) -> u32 {
    match kind {
        ResKind::UniformBuffer | ResKind::StorageBuffer => buffer::BYTES,
        ResKind::Texture
        | ResKind::Sampler
        | ResKind::CombinedTextureSampler
        | ResKind::UniformTexelBuffer
        | ResKind::InputAttachment => sampled::BYTES,
        ResKind::StorageImage | ResKind::StorageTexelBuffer => storage::BYTES,
    }
}

/// The placement of a binding in the memory of its set, by the driver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SetBinding {
    /// Descriptor set.
    pub set: u32,
    /// Binding in the set.
    pub binding: u32,
    /// Bytes from the beginning of the set's memory to the record of element 0.
    pub offset: u32,
    /// Bytes from the record of an element to that of the next, a power of two: at least [`record_bytes`], more where descriptors
    /// of several kinds have the binding.
    pub stride: u32,
    /// Whether all accesses read the record: the descriptors may be updated after the command that uses them was
    /// recorded. Inline uniform blocks and buffers with dynamic offsets never are.
    pub bindless: bool,
    /// The set is in a descriptor buffer, which may cross a multiple of 4 GiB.
    pub in_buffer: bool,
    /// Number of buffers to whose addresses dynamic offsets are added ([`crate::Constant::DynamicOffset`]): all descriptors of the
    /// binding, or 0. Shaders may declare arrays without a size.
    pub dynamic: u32,
}

/// Places the bindings that a shader declares, in the order of their numbers: what a program is compiled for when no
/// driver says otherwise.
#[must_use]
pub fn placement(s: &Shader) -> Vec<SetBinding> {
    let mut declared: Vec<_> = s.resources.values().collect();
    declared.sort_by_key(|r| (r.set, r.binding));
    let mut placed: Vec<SetBinding> = Vec::with_capacity(declared.len());
    let mut at = 0;
    for r in declared {
        if placed.last().is_some_and(|p| p.set != r.set) {
            at = 0;
        }
        let bytes = record_bytes(r.kind).saturating_mul(r.count.max(1));
        let end = |at: u32| at.saturating_add(bytes).next_multiple_of(ALIGNMENT);
        // Resources of different kinds may have the same binding.
        match placed.last() {
            Some(p) if (p.set, p.binding) == (r.set, r.binding) => at = at.max(end(p.offset)),
            _ => {
                let (set, binding, offset) = (r.set, r.binding, at);
                let stride = record_bytes(r.kind);
                placed.push(SetBinding {
                    set,
                    binding,
                    offset,
                    stride,
                    bindless: false,
                    in_buffer: false,
                    dynamic: 0,
                });
                at = end(at);
            }
        }
    }
    placed
}

/// Whether typed reads of a format go through [`crate::View::Raw`], since the data port cannot convert its texels: the
/// program does.
///
/// source: Mesa, `isl_storage_image.c` (`isl_lower_storage_image_format`).
#[must_use]
pub const fn reads_raw(generation: Generation, format: ImageFormat) -> bool {
    match format {
        ImageFormat::R11fG11fB10f | ImageFormat::Rgb10A2 | ImageFormat::Rgb10A2ui => true,
        ImageFormat::Rgba16
        | ImageFormat::Rgba16Snorm
        | ImageFormat::Rgba8
        | ImageFormat::Rgba8Snorm
        | ImageFormat::Rg16
        | ImageFormat::Rg16Snorm
        | ImageFormat::Rg8
        | ImageFormat::Rg8Snorm
        | ImageFormat::R16
        | ImageFormat::R16Snorm
        | ImageFormat::R8
        | ImageFormat::R8Snorm => matches!(generation, Generation::Gen9),
        _ => false,
    }
}
