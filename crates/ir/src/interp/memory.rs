//! Memory during a run: buffers of descriptors, physical memory, push constants, images.

use super::image_data::{ImageData, SamplerData};
use crate::attrs::{AtomicOp, Attrs};
use crate::op::{Op, fold};
use crate::types::{Type, sext};
use std::collections::{BTreeMap, HashMap};

/// (set, binding, array element).
pub type Slot = (u32, u32, u32);

/// Memory that a shader names and the host does not have.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum MemoryError {
    /// No buffer is bound there.
    #[error("no buffer at set {0}, binding {1}, element {2}")]
    NoBuffer(u32, u32, u32),
    /// No image is bound there.
    #[error("no image at set {0}, binding {1}, element {2}")]
    NoImage(u32, u32, u32),
    /// A handle that names no resource.
    #[error("handle {0:#x} names no resource")]
    Handle(u64),
}

/// Everything outside the lanes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Memory {
    /// Buffers by slot.
    pub buffers: HashMap<Slot, Vec<u8>>,
    /// Physical memory: ranges by address.
    pub physical: BTreeMap<u64, Vec<u8>>,
    /// Push constants.
    pub push: Vec<u8>,
    /// The driver's own uniform data.
    pub uniforms: Vec<u8>,
    /// Images by slot.
    pub images: HashMap<Slot, ImageData>,
    /// Samplers by slot.
    pub samplers: HashMap<Slot, SamplerData>,
    /// Accesses that were out of bounds.
    pub out_of_bounds: u64,
    /// Reads of lanes that are not there or not active.
    pub absent_lanes: u64,
    /// Places to which lanes of one store gave different values: which one stays is open.
    pub conflicts: u64,
    /// Bytes that hold floats, for runs that track them.
    pub floats: Option<FloatBytes>,
}

impl Memory {
    /// A buffer of 32-bit words.
    pub fn set_words(&mut self, set: u32, binding: u32, words: &[u32]) {
        let bytes = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        self.buffers.insert((set, binding, 0), bytes);
    }

    /// The words of a buffer.
    #[must_use]
    pub fn words(&self, set: u32, binding: u32) -> Vec<u32> {
        let b = self.buffers.get(&(set, binding, 0)).map_or(&[][..], |b| b);
        b.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect()
    }

    /// The physical range that holds `len` bytes at `addr`, and the offset in it: one of
    /// [`Memory::physical`], or a buffer at its [`buffer_address`].
    pub(super) fn range(&mut self, addr: u64, len: usize) -> Option<(&mut Vec<u8>, u64)> {
        if let Some((slot, off)) = at_address(addr) {
            let bytes = self.buffers.get_mut(&slot)?;
            return (off + len as u64 <= bytes.len() as u64).then_some((bytes, off));
        }
        let (&base, bytes) = self.physical.range_mut(..=addr).next_back()?;
        let off = addr - base;
        (off.checked_add(len as u64)? <= bytes.len() as u64).then_some((bytes, off))
    }
}

/// Start of the address range of buffers; [`Memory::physical`] is below.
const BUFFERS: u64 = 1 << 56;

/// The address that `buffer_address` gives for a buffer: sets, bindings and elements up to 255,
/// offsets up to 4 GiB. `None` past these.
#[must_use]
pub fn buffer_address((set, binding, element): Slot) -> Option<u64> {
    let fits = [set, binding, element].iter().all(|&n| n < 256);
    fits.then(|| {
        BUFFERS | (u64::from(set) << 48) | (u64::from(binding) << 40) | (u64::from(element) << 32)
    })
}

pub(super) fn at_address(addr: u64) -> Option<(Slot, u64)> {
    let byte = |n: u32| (addr >> n) as u32 & 255;
    (addr >> 56 == BUFFERS >> 56).then(|| ((byte(48), byte(40), byte(32)), addr & 0xffff_ffff))
}

/// `len` bytes at `off` as a number; `None` out of bounds.
pub(super) fn read(bytes: &[u8], off: i64, len: usize) -> Option<u64> {
    let off = usize::try_from(off).ok()?;
    let b = bytes.get(off..off.checked_add(len)?)?;
    Some(b.iter().rev().fold(0, |a, &x| (a << 8) | u64::from(x)))
}

/// Writes `len` bytes; false out of bounds.
pub(super) fn write(bytes: &mut [u8], off: i64, len: usize, v: u64) -> bool {
    let Some(b) = usize::try_from(off).ok().and_then(|o| bytes.get_mut(o..o.checked_add(len)?))
    else {
        return false;
    };
    b.copy_from_slice(&v.to_le_bytes()[..len]);
    true
}

/// Bytes of buffers whose last store was of a float.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FloatBytes {
    pub(super) buffers: HashMap<Slot, Vec<u8>>,
}

impl FloatBytes {
    /// The size in bytes of the float that the byte at an offset belongs to; 0 if a float store did
    /// not write it last.
    #[must_use]
    pub fn size_at(&self, slot: Slot, offset: usize) -> u8 {
        self.buffers.get(&slot).and_then(|b| b.get(offset)).copied().unwrap_or(0)
    }
}

/// Memory space of an access.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Space {
    Buffer,
    Global,
    /// Global, with a base and an offset.
    Based,
    Shared,
    Scratch,
    Push,
    Uniform,
    Constant,
}

impl Space {
    /// The space of a load, store or atomic.
    pub(super) fn of(op: Op) -> Option<Space> {
        Some(match op {
            Op::LoadBuffer | Op::StoreBuffer | Op::AtomicBuffer => Space::Buffer,
            Op::LoadGlobal | Op::StoreGlobal | Op::AtomicGlobal => Space::Global,
            Op::LoadOffset | Op::StoreOffset | Op::AtomicOffset => Space::Based,
            Op::LoadShared | Op::StoreShared | Op::AtomicShared => Space::Shared,
            Op::LoadScratch | Op::StoreScratch => Space::Scratch,
            Op::LoadPush => Space::Push,
            Op::LoadUniform => Space::Uniform,
            Op::LoadConstant => Space::Constant,
            _ => return None,
        })
    }
}

/// The new value of an atomic.
pub(super) fn combine(op: AtomicOp, ty: Type, old: u64, d: &[u64]) -> u64 {
    let x = d.first().copied().unwrap_or(0);
    let alu = |o: Op| {
        let mut out = Vec::new();
        fold(o, &[(ty, &[old]), (ty, &[x])], &Attrs::None, &[ty], &mut out);
        out.first().copied().unwrap_or(0)
    };
    match op {
        AtomicOp::Xchg => x,
        AtomicOp::CmpXchg => {
            if old == x {
                d.get(1).copied().unwrap_or(0)
            } else {
                old
            }
        }
        AtomicOp::Add => old.wrapping_add(x),
        AtomicOp::And => old & x,
        AtomicOp::Or => old | x,
        AtomicOp::Xor => old ^ x,
        AtomicOp::UMin => old.min(x),
        AtomicOp::UMax => old.max(x),
        AtomicOp::SMin => sext(old, ty.bits()).min(sext(x, ty.bits())) as u64,
        AtomicOp::SMax => sext(old, ty.bits()).max(sext(x, ty.bits())) as u64,
        AtomicOp::FAdd => alu(Op::FAdd),
        AtomicOp::FMin => alu(Op::FMin),
        AtomicOp::FMax => alu(Op::FMax),
    }
}
