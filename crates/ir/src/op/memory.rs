//! Variables, memory in its address spaces, and descriptors.
//!
//! Addresses and offsets are in bytes; `Mem::offset` is added to them.

use super::Pat::{Any, H, Rest, S32, S64};
use super::code::Op;
use super::info::{OpInfo, Props, op};
use crate::attrs::AttrKind;

const PURE: Props = Props::PURE;
const READS: Props = Props::READS;
const WRITES: Props = Props::WRITES;

/// The rows of the family.
pub(super) const ROWS: &[OpInfo] = &[
    op(
        Op::LoadVar,
        "load_var",
        "Reads a variable. An array takes one operand, the element's index; past the end it \
         is the last element's.",
    )
    .args(&[Rest])
    .results(&[Any])
    .attrs(AttrKind::Var)
    .props(&[READS]),
    op(
        Op::StoreVar,
        "store_var",
        "Writes a variable: (value) or (value, index) for an array; past the end the index is \
         the last element's.",
    )
    .args(&[Any, Rest])
    .attrs(AttrKind::Var)
    .props(&[WRITES]),
    op(Op::Descriptor, "descriptor", "The handle of element `index` of a resource.")
        .args(&[S32])
        .results(&[H])
        .attrs(AttrKind::Res)
        .props(&[PURE]),
    op(
        Op::DescriptorAddress,
        "descriptor_address",
        "The 64-bit address of the descriptor itself. Made by lowering passes only.",
    )
    .args(&[H])
    .results(&[S64])
    .props(&[PURE]),
    op(
        Op::BufferAddress,
        "buffer_address",
        "The 64-bit address of a buffer (`handle`): base of its range.",
    )
    .args(&[H])
    .results(&[S64])
    .props(&[PURE]),
    op(Op::BufferSize, "buffer_size", "Size in bytes of a buffer's range.")
        .args(&[H])
        .results(&[S32])
        .props(&[PURE]),
    op(Op::LoadGlobal, "load_global", "Reads physical memory: (address).")
        .args(&[S64])
        .results(&[Any])
        .attrs(AttrKind::Mem)
        .props(&[READS]),
    op(Op::StoreGlobal, "store_global", "Writes physical memory: (address, value).")
        .args(&[S64, Any])
        .attrs(AttrKind::Mem)
        .props(&[WRITES]),
    op(
        Op::AtomicGlobal,
        "atomic_global",
        "Read-modify-write of physical memory, returns the old value: (address, data …).",
    )
    .args(&[S64, Rest])
    .results(&[Any])
    .attrs(AttrKind::Atomic)
    .props(&[READS, WRITES]),
    op(
        Op::LoadOffset,
        "load_offset",
        "Reads physical memory at a base plus an offset that is extended and shifted as \
         `Mem::index` says: (address, offset). Made by lowering passes, for GPUs whose loads \
         add.",
    )
    .args(&[S64, S32])
    .results(&[Any])
    .attrs(AttrKind::Mem)
    .props(&[READS]),
    op(
        Op::StoreOffset,
        "store_offset",
        "Writes physical memory at a base plus an extended and shifted offset: (address, \
         offset, value).",
    )
    .args(&[S64, S32, Any])
    .attrs(AttrKind::Mem)
    .props(&[WRITES]),
    op(
        Op::AtomicOffset,
        "atomic_offset",
        "Read-modify-write of physical memory at a base plus an extended and shifted offset, \
         returns the old value: (address, offset, data …).",
    )
    .args(&[S64, S32, Rest])
    .results(&[Any])
    .attrs(AttrKind::Atomic)
    .props(&[READS, WRITES]),
    op(Op::LoadBuffer, "load_buffer", "Reads a uniform or storage buffer: (handle, offset).")
        .args(&[H, S32])
        .results(&[Any])
        .attrs(AttrKind::Mem)
        .props(&[READS]),
    op(Op::StoreBuffer, "store_buffer", "Writes a storage buffer: (handle, offset, value).")
        .args(&[H, S32, Any])
        .attrs(AttrKind::Mem)
        .props(&[WRITES]),
    op(
        Op::AtomicBuffer,
        "atomic_buffer",
        "Read-modify-write of a storage buffer, returns the old value: (handle, offset, data \
         …).",
    )
    .args(&[H, S32, Rest])
    .results(&[Any])
    .attrs(AttrKind::Atomic)
    .props(&[READS, WRITES]),
    op(Op::LoadShared, "load_shared", "Reads workgroup memory: (offset).")
        .args(&[S32])
        .results(&[Any])
        .attrs(AttrKind::Mem)
        .props(&[READS]),
    op(Op::StoreShared, "store_shared", "Writes workgroup memory: (offset, value).")
        .args(&[S32, Any])
        .attrs(AttrKind::Mem)
        .props(&[WRITES]),
    op(
        Op::AtomicShared,
        "atomic_shared",
        "Read-modify-write of workgroup memory, returns the old value: (offset, data …).",
    )
    .args(&[S32, Rest])
    .results(&[Any])
    .attrs(AttrKind::Atomic)
    .props(&[READS, WRITES]),
    op(Op::LoadScratch, "load_scratch", "Reads per-invocation scratch memory: (offset).")
        .args(&[S32])
        .results(&[Any])
        .attrs(AttrKind::Mem)
        .props(&[READS]),
    op(Op::StoreScratch, "store_scratch", "Writes per-invocation scratch memory: (offset, value).")
        .args(&[S32, Any])
        .attrs(AttrKind::Mem)
        .props(&[WRITES]),
    op(Op::LoadPush, "load_push", "Reads push constants: (offset).")
        .args(&[S32])
        .results(&[Any])
        .attrs(AttrKind::Mem)
        .props(&[PURE]),
    op(
        Op::LoadConstant,
        "load_constant",
        "Reads the shader's constant data: (offset). Offsets past the end are undefined.",
    )
    .args(&[S32])
    .results(&[Any])
    .attrs(AttrKind::Mem)
    .props(&[PURE]),
    op(
        Op::LoadUniform,
        "load_uniform",
        "Reads the driver's own uniform data: (offset). Made by lowering passes only.",
    )
    .args(&[S32])
    .results(&[Any])
    .attrs(AttrKind::Mem)
    .props(&[PURE]),
];
