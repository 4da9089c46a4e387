//! Memory during a run: buffers behind descriptors, physical memory, push constants, images.

use super::floats::FloatBytes;
use super::image::{ImageData, SamplerData};
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
    /// Which bytes hold floats, for runs that are asked to note it.
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

    /// The physical range that holds `len` bytes at `addr`, and the offset in it: one of [`Memory::physical`], or a
    /// buffer at its [`buffer_address`].
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

/// Where addresses of buffers begin; [`Memory::physical`] is below.
const BUFFERS: u64 = 1 << 56;

/// The address that `buffer_address` gives for a buffer: sets, bindings and elements up to 255, offsets up to 4 GiB.
/// `None` past these.
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
