//! Memory of expanded draws: pieces that the encoder allocates, and a heap that programs allocate from.

use tepui_vulkan::{Error, Result, vk};

use crate::launch::{ExpandBackend, Expander, SharedUse};

/// Minimum bytes of the memory of pieces.
const MIN_PIECES_B: u64 = 1 << 20;

/// Bytes of the heap for draws whose sizes only the GPU knows.
pub(crate) const HEAP_B: u32 = 1 << 28;

/// Maximum bytes of the heap, for draws of which one primitive might need more.
const MAX_HEAP_B: u32 = u32::MAX - 0xffff;

/// Reserved bytes at the start of the heap.
pub(crate) const HEAP_HEAD_B: u32 = 256;

/// Memory that several command buffers use.
pub trait SharedMemory: Clone {
    /// GPU address.
    fn address(&self) -> u64;

    /// Bytes.
    fn bytes(&self) -> u64;
}

/// The heap of draws whose sizes only the GPU knows.
#[derive(Clone, Debug)]
pub(crate) struct HeapState<M> {
    memory: Option<M>,
    /// Whether draws of the open rendering have taken from it.
    is_open: bool,
    /// Maximum bytes of it that they take.
    reserved: u64,
}

impl<M> Default for HeapState<M> {
    fn default() -> Self {
        HeapState { memory: None, is_open: false, reserved: 0 }
    }
}

impl<M> HeapState<M> {
    pub(crate) fn free(&mut self) {
        (self.is_open, self.reserved) = (false, 0);
    }

    /// Reserves bytes for a draw; whether there is room before the next rendering.
    pub(crate) fn reserve(&mut self, bytes: u64) -> bool {
        let end = self.reserved.saturating_add(bytes);
        if self.reserved > 0 && end > u64::from(HEAP_B) {
            return false;
        }
        self.reserved = end;
        true
    }
}

impl<M: Clone> HeapState<M> {
    pub(crate) fn continuation(&self) -> Self {
        HeapState { memory: self.memory.clone(), ..HeapState::default() }
    }
}

/// Memory of draws with geometry shaders, which those of the next rendering use again.
#[derive(Clone, Debug)]
pub(crate) struct PieceMemory<M> {
    memory: Option<M>,
    /// Smaller memory that earlier draws use.
    outgrown: Vec<M>,
    /// Bytes that draws of the open rendering read.
    used: u64,
    /// A piece is being put together: what it needs is taken from here.
    pub(crate) open: bool,
    /// The primitives of the draw, if its indices have restarts.
    pub(crate) listed: Option<Listed>,
}

impl<M> Default for PieceMemory<M> {
    fn default() -> Self {
        PieceMemory { memory: None, outgrown: Vec::new(), used: 0, open: false, listed: None }
    }
}

impl<M> PieceMemory<M> {
    pub(crate) fn free(&mut self) {
        self.used = 0;
    }
}

impl<M: Clone> PieceMemory<M> {
    pub(crate) fn continuation(&self) -> Self {
        PieceMemory { memory: self.memory.clone(), ..PieceMemory::default() }
    }
}

/// The vertices of the primitives of indices with restarts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Listed {
    /// Address of the list.
    pub(crate) list: u64,
    /// Maximum number of vertices.
    pub(crate) most: u32,
    /// Address of their number.
    pub(crate) number: u64,
}

/// The heap: its address and bytes. All draws of a rendering share it. Only a draw that has it to itself may need more bytes than there
/// are.
pub(crate) fn heap<B: ExpandBackend>(e: &mut B::Encoder, wanted: u64) -> Result<(u64, u32)> {
    let memory = match e.expansion().heap.memory.take().filter(|heap| heap.bytes() >= wanted) {
        Some(memory) => memory,
        None => {
            let bytes = u32::try_from(wanted.next_multiple_of(HEAP_B.into()));
            let bytes = bytes.unwrap_or(MAX_HEAP_B).max(HEAP_B);
            e.shared_memory(SharedUse::Heap, bytes.into())?
        }
    };
    let (address, bytes) = (memory.address(), memory.bytes() as u32);
    e.expansion().heap.memory = Some(memory);
    if !e.expansion().heap.is_open {
        // The number of bytes in use.
        e.wait_for_all();
        tepui_vulkan::backend::Encoder::fill_buffer(e, address, 4, HEAP_HEAD_B)?;
        e.wait_for_all();
        e.expansion().heap.is_open = true;
    }
    Ok((address, bytes))
}

/// Begins a piece of a draw, which takes at most `bytes` bytes. Draws of a rendering take at most `most` bytes together, unless one needs
/// more; gives whether there is room before the next rendering.
pub(crate) fn begin_piece<B: ExpandBackend>(
    e: &mut B::Encoder,
    bytes: u64,
    most: u64,
) -> Result<bool> {
    let used = e.expansion().pieces.used;
    let end = used.next_multiple_of(64).saturating_add(bytes);
    if used > 0 && end > most {
        return Ok(false);
    }
    if e.expansion().pieces.memory.as_ref().is_none_or(|memory| memory.bytes() < end) {
        let grown = end.max(MIN_PIECES_B).checked_next_power_of_two().unwrap_or(end);
        let memory = e.shared_memory(SharedUse::Pieces, grown)?;
        let pieces = &mut e.expansion().pieces;
        pieces.outgrown.extend(pieces.memory.replace(memory));
    }
    e.expansion().pieces.open = true;
    Ok(true)
}

/// Memory that the GPU writes for a draw, or for the piece of one that was begun.
pub(crate) fn piece_room<B: ExpandBackend>(e: &mut B::Encoder, bytes: u64) -> Result<u64> {
    if !e.expansion().pieces.open {
        return e.gpu_memory(bytes);
    }
    let pieces = &mut e.expansion().pieces;
    let at = pieces.used.next_multiple_of(64);
    let end = at + bytes;
    let Some(memory) = pieces.memory.as_ref().filter(|memory| end <= memory.bytes()) else {
        return Err(Error::new(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY, "a piece of a draw"));
    };
    pieces.used = end;
    Ok(memory.address() + at)
}
