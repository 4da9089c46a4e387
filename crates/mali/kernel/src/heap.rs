//! Tiler heaps: a context and chunks in the kernel's part of an address space.

use std::sync::Arc;

use tepui_drm::lock;
use tepui_drm::refusal::{Refusal, require};
use tepui_drm::uapi::panthor::TilerHeapCreate;

use crate::chips::PAGE_BYTES;
use crate::gem::memory;
use crate::vm::Vm;

/// Allowed chunk sizes. source: panthor_drm.h.
const CHUNK_BYTES: std::ops::RangeInclusive<u32> = 128 << 10..=8 << 20;

/// Limit on the total bytes of the initial chunks. A choice that bounds memory: 1 GiB.
const MAX_INITIAL_BYTES: u64 = 1 << 30;

/// A tiler heap.
pub struct Heap {
    vm: Arc<Vm>,
    context: u64,
    chunks: (u64, u64),
}

impl Heap {
    /// Creates a heap as the client asks, and fills the answer's addresses.
    pub fn new(vm: Arc<Vm>, args: &mut TilerHeapCreate) -> Result<Heap, Refusal> {
        let size = args.chunk_size;
        require(args.initial_chunk_count > 0, "initial_chunk_count is 0")?;
        require(
            args.initial_chunk_count <= args.max_chunks,
            "initial_chunk_count is above max_chunks",
        )?;
        require(
            CHUNK_BYTES.contains(&size) && u64::from(size).is_multiple_of(PAGE_BYTES),
            "chunk_size is not made of whole pages between 128 KiB and 8 MiB",
        )?;
        let whole = u64::from(args.initial_chunk_count) * u64::from(size);
        if whole > MAX_INITIAL_BYTES {
            return Err(tepui_drm::Errno::NOMEM.into());
        }
        let chunks = memory(whole, false)?;
        // Each chunk begins with the address of the next; the lower 12 bits are that one's size in pages.
        let base = chunks.base();
        let first = vm.bind_kernel(chunks)?;
        for index in 1..u64::from(args.initial_chunk_count) {
            let next = (first + index * u64::from(size)) | (u64::from(size) / PAGE_BYTES);
            let at = (index - 1) * u64::from(size);
            // SAFETY: inside of the chunks' memory, which is bound and so kept alive, and aligned to a page.
            unsafe { base.add(at as usize).cast::<u64>().write(next) };
        }
        let context = vm.bind_kernel(memory(PAGE_BYTES, false)?).inspect_err(|_| {
            vm.unbind_kernel(first, whole);
        })?;
        // Chunks up to the limit are given on demand, without being in memory here.
        lock(&vm.heaps).push((context, u64::from(args.max_chunks) * u64::from(size)));
        (args.tiler_heap_ctx_gpu_va, args.first_heap_chunk_gpu_va) = (context, first);
        Ok(Heap { vm, context, chunks: (first, whole) })
    }
}

impl Drop for Heap {
    fn drop(&mut self) {
        lock(&self.vm.heaps).retain(|heap| heap.0 != self.context);
        self.vm.unbind_kernel(self.context, PAGE_BYTES);
        self.vm.unbind_kernel(self.chunks.0, self.chunks.1);
    }
}
