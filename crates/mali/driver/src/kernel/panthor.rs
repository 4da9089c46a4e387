//! The panthor kernel interface: an address space, a group of queues, buffers.
//!
//! The group has a queue for each subqueue of a command buffer ([`Queue`]) and one that executes nothing: a submission's last entry is
//! an empty stream in it, which waits for the other queues and signals what the application asked for. Were it in one of theirs, the
//! queue's later work would wait for all of them.

use std::sync::Mutex;

use tepui_drm::Errno;
use tepui_drm::client::RenderNode;
use tepui_drm::uapi::Direction;
use tepui_drm::uapi::panthor::{self as uapi, Ioctl, ObjArray};
use tepui_vulkan::backend::SyncPoint;
use tepui_vulkan::debug::{self, Flags};
use tepui_vulkan::{Error, Result, vk};
use tepui_vulkan_kit::Heap;

use super::{BoKind, Interface, PAGE_B, Properties, Queue, TilerMemory, Work, failed, lock};
use crate::space::{self, Window};

/// Bytes of a queue's ring buffer. source: Mesa, panvk_vX_queue.c
const RING_B: u32 = 64 << 10;
/// Bytes of a chunk of the tiler's heap, chunks at first, and their limit. source: Mesa, panvk_vX_queue.c (`init_tiler`)
const HEAP_CHUNK_B: u32 = 2 << 20;
/// Bytes of the kernel's header at the start of a chunk of the heap. source: Mesa, panvk_vX_queue.c (`init_tiler`)
const HEAP_HEADER_B: u32 = 64;
const HEAP_CHUNKS: u32 = 5;
const MAX_HEAP_CHUNKS: u32 = 64;
/// Bytes of the only chunk of a small heap, the least that the kernel allows. source: panthor_drm.h
const SMALL_HEAP_B: u32 = 128 << 10;

fn call<T: bytemuck::Pod>(
    node: &RenderNode,
    ioctl: Ioctl,
    arg: &mut T,
) -> std::result::Result<(), Errno> {
    // SAFETY: pointers in arguments are those of live values, as the callers here set them.
    unsafe { node.call(Direction::ReadWrite, ioctl.info().request.nr(), arg) }
}

/// The array of a slice.
fn array<T>(list: &[T]) -> ObjArray {
    ObjArray {
        stride: size_of::<T>() as u32,
        count: list.len() as u32,
        array: if list.is_empty() { 0 } else { list.as_ptr() as u64 },
    }
}

/// Asks for a property.
fn query<T: bytemuck::Pod + Default>(node: &RenderNode, what: u32, mut answer: T) -> Result<T> {
    let mut arg = uapi::DevQuery {
        r#type: what,
        size: size_of::<T>() as u32,
        pointer: (&raw mut answer) as u64,
    };
    call(node, Ioctl::DevQuery, &mut arg).map_err(failed("asking for the GPU's properties"))?;
    Ok(answer)
}

/// The product id of a render node's GPU.
pub fn product(node: &RenderNode) -> Result<u32> {
    let info: uapi::GpuInfo = query(node, uapi::QUERY_GPU_INFO, uapi::GpuInfo::default())?;
    Ok(info.gpu_id >> 16)
}

/// Number of the queue that executes nothing.
const JOIN: u32 = Queue::ALL.len() as u32;

/// An address space, and a group of queues in it.
pub struct Panthor {
    /// Address of the tiler heap's context, and of its first chunk.
    heap: [u64; 2],
    /// Bytes of a chunk.
    chunk: u32,
    vm: u32,
    group: u32,
    heap_handle: u32,
    heaps: [Mutex<Heap>; space::ALL.len()],
    /// Sync objects that the last stream of each queue in a submission signals; held while submitting.
    ends: Mutex<[u32; Queue::ALL.len()]>,
}

/// Opens an address space and a group of low or medium priority.
///
/// # Errors
/// When the kernel refuses.
pub fn open(
    node: &RenderNode,
    priority: vk::QueueGlobalPriority,
) -> Result<(Properties, Box<dyn Interface>)> {
    let info: uapi::GpuInfo = query(node, uapi::QUERY_GPU_INFO, uapi::GpuInfo::default())?;
    let mut vm = uapi::VmCreate { user_va_range: space::END, ..Default::default() };
    call(node, Ioctl::VmCreate, &mut vm).map_err(failed("creating an address space"))?;
    if vm.user_va_range < space::END {
        let why = format!("the kernel gives {:#x} bytes of addresses only", vm.user_va_range);
        return Err(Error::new(vk::Result::ERROR_INCOMPATIBLE_DRIVER, why));
    }
    let queue = uapi::QueueCreate { priority: 1, ringbuf_size: RING_B, ..Default::default() };
    let queues = [queue; JOIN as usize + 1];
    let cores = info.shader_present;
    let mut group = uapi::GroupCreate {
        queues: array(&queues),
        max_compute_cores: cores.count_ones() as u8,
        max_fragment_cores: cores.count_ones() as u8,
        max_tiler_cores: 1,
        priority: match priority {
            vk::QueueGlobalPriority::LOW => uapi::GROUP_PRIORITY_LOW,
            _ => uapi::GROUP_PRIORITY_MEDIUM,
        },
        compute_core_mask: cores,
        fragment_core_mask: cores,
        tiler_core_mask: 1,
        vm_id: vm.id,
        ..Default::default()
    };
    call(node, Ioctl::GroupCreate, &mut group).map_err(failed("creating a group of queues"))?;
    let (chunk, chunks, most) = match debug::flags().contains(Flags::SMALL_HEAP) {
        true => (SMALL_HEAP_B, 1, 1),
        false => (HEAP_CHUNK_B, HEAP_CHUNKS, MAX_HEAP_CHUNKS),
    };
    let mut heap = uapi::TilerHeapCreate {
        vm_id: vm.id,
        initial_chunk_count: chunks,
        chunk_size: chunk,
        max_chunks: most,
        // No limit: the chunks are one.
        target_in_flight: u32::from(u16::MAX),
        ..Default::default()
    };
    call(node, Ioctl::TilerHeapCreate, &mut heap).map_err(failed("creating a tiler heap"))?;
    let mut ends = [0; Queue::ALL.len()];
    for end in &mut ends {
        *end = node.create_sync(false).map_err(failed("creating a sync object"))?;
    }
    let panthor = Panthor {
        heap: [heap.tiler_heap_ctx_gpu_va, heap.first_heap_chunk_gpu_va],
        chunk,
        vm: vm.id,
        group: group.group_handle,
        heap_handle: heap.handle,
        heaps: space::ALL.map(|(_, start, end)| Mutex::new(Heap::new(start, end))),
        ends: Mutex::new(ends),
    };
    let properties =
        Properties { shader_present: info.shader_present, max_threads: info.max_threads };
    Ok((properties, Box::new(panthor)))
}

impl Panthor {
    /// Takes addresses in a window.
    fn take(&self, window: Window, bytes: u64) -> Result<u64> {
        let heap = |w: Window| {
            let mut all = space::ALL.iter().zip(&self.heaps);
            all.find(|(row, _)| row.0 == w).map(|(_, heap)| lock(heap))
        };
        if let Window::At(at) = window {
            let free = at.is_multiple_of(PAGE_B)
                && heap(Window::Replay).is_some_and(|mut h| h.take_at(at, bytes));
            return free.then_some(at).ok_or_else(|| {
                let what = format!("{bytes} bytes at {at:#x} are not free");
                Error::new(vk::Result::ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS, what)
            });
        }
        heap(window).and_then(|mut h| h.take(bytes, PAGE_B)).ok_or_else(|| {
            Error::device_memory(format!("no {bytes} bytes of the window {window:?} are free"))
        })
    }

    fn vm_bind(&self, node: &RenderNode, op: uapi::VmBindOp) -> std::result::Result<(), Errno> {
        let ops = [op];
        let mut bind = uapi::VmBind { vm_id: self.vm, flags: 0, ops: array(&ops) };
        call(node, Ioctl::VmBind, &mut bind)
    }
}

impl Interface for Panthor {
    fn create(&self, node: &RenderNode, size: u64, _: Window, kind: BoKind) -> Result<u32> {
        let owner = if kind == BoKind::Shareable { 0 } else { self.vm };
        let flags = if kind == BoKind::Cached { uapi::BO_WB_MMAP } else { 0 };
        let mut create =
            uapi::BoCreate { size, flags, exclusive_vm_id: owner, ..uapi::BoCreate::default() };
        call(node, Ioctl::BoCreate, &mut create).map_err(failed("allocating memory"))?;
        Ok(create.handle)
    }

    fn sync(
        &self,
        node: &RenderNode,
        handle: u32,
        offset: u64,
        size: u64,
    ) -> std::result::Result<(), Errno> {
        let kind = uapi::BO_SYNC_CPU_CACHE_FLUSH_AND_INVALIDATE;
        let ops = [uapi::BoSyncOp { handle, r#type: kind, offset, size }];
        call(node, Ioctl::BoSync, &mut uapi::BoSync { ops: array(&ops) })
    }

    fn bind(&self, node: &RenderNode, handle: u32, size: u64, window: Window) -> Result<u64> {
        // An unbound page after each buffer catches accesses past its end.
        let address = self.take(window, size + PAGE_B)?;
        let flags = match window {
            Window::Code => uapi::BIND_OP_MAP_READONLY,
            _ => uapi::BIND_OP_MAP_NOEXEC,
        };
        let map = uapi::VmBindOp {
            flags: uapi::BIND_OP_TYPE_MAP | flags,
            bo_handle: handle,
            va: address,
            size,
            ..Default::default()
        };
        self.vm_bind(node, map).map_err(|e| {
            self.give(address, size);
            failed("mapping memory")(e)
        })?;
        Ok(address)
    }

    fn unbind(&self, node: &RenderNode, address: u64, size: u64) -> bool {
        let unmap = uapi::VmBindOp {
            flags: uapi::BIND_OP_TYPE_UNMAP,
            va: address,
            size,
            ..Default::default()
        };
        self.vm_bind(node, unmap).is_ok()
    }

    fn give(&self, address: u64, size: u64) {
        let at = space::ALL.iter().position(|w| (w.1..w.2).contains(&address));
        if let Some(heap) = at.and_then(|k| self.heaps.get(k)) {
            lock(heap).give(address, size + PAGE_B);
        }
    }

    fn map_offset(&self, node: &RenderNode, handle: u32) -> std::result::Result<u64, Errno> {
        let mut map = uapi::BoMmapOffset { handle, ..Default::default() };
        call(node, Ioctl::BoMmapOffset, &mut map)?;
        Ok(map.offset)
    }

    fn time(&self, node: &RenderNode) -> Result<u64> {
        let ask =
            uapi::TimestampInfo { flags: uapi::TIMESTAMP_GPU, ..uapi::TimestampInfo::default() };
        Ok(query(node, uapi::QUERY_TIMESTAMP_INFO, ask)?.current_timestamp)
    }

    fn check(&self, node: &RenderNode) -> Result<()> {
        let lost = |why: String| Err(Error::new(vk::Result::ERROR_DEVICE_LOST, why));
        let mut group = uapi::GroupGetState { group_handle: self.group, ..Default::default() };
        call(node, Ioctl::GroupGetState, &mut group).map_err(failed("asking for faults"))?;
        if group.state != 0 {
            let queues = group.fatal_queues;
            return lost(format!("the GPU faulted or hung (queues {queues:#b})"));
        }
        let mut vm = uapi::VmGetState { vm_id: self.vm, ..Default::default() };
        call(node, Ioctl::VmGetState, &mut vm).map_err(failed("asking for the address space"))?;
        match vm.state {
            uapi::VM_STATE_USABLE => Ok(()),
            _ => lost("the address space is unusable".to_owned()),
        }
    }

    fn submit(
        &self,
        node: &RenderNode,
        waits: &[SyncPoint],
        streams: &[Work],
        signals: &[SyncPoint],
    ) -> Result<u64> {
        let ends = lock(&self.ends);
        let end = |q: Queue| (ends[q as usize], 0);
        let mut syncs: Vec<Vec<uapi::SyncOp>> = Vec::with_capacity(streams.len() + 1);
        let mut join: Vec<uapi::SyncOp> = Vec::new();
        for (k, work) in streams.iter().enumerate() {
            let is_own = |w: &Work| w.queue == work.queue;
            let mut ops = Vec::new();
            if !streams[..k].iter().any(is_own) {
                ops.extend(waits.iter().map(|&s| operation(s, 0)));
            }
            if !streams[k + 1..].iter().any(is_own) {
                ops.push(operation(end(work.queue), uapi::SYNC_OP_SIGNAL));
                join.push(operation(end(work.queue), 0));
            }
            syncs.push(ops);
        }
        if streams.is_empty() {
            join.extend(waits.iter().map(|&s| operation(s, 0)));
        }
        join.extend(signals.iter().map(|&s| operation(s, uapi::SYNC_OP_SIGNAL)));
        syncs.push(join);
        let none = uapi::QueueSubmit { queue_index: JOIN, ..Default::default() };
        let entries: Vec<uapi::QueueSubmit> = streams
            .iter()
            .map(|w| uapi::QueueSubmit {
                queue_index: w.queue as u32,
                stream_size: w.size,
                stream_addr: w.address,
                // The kernel's flush before the stream is never left out.
                ..Default::default()
            })
            .chain([none])
            .zip(&syncs)
            .map(|(entry, syncs)| uapi::QueueSubmit { syncs: array(syncs), ..entry })
            .collect();
        let mut submit =
            uapi::GroupSubmit { group_handle: self.group, pad: 0, queue_submits: array(&entries) };
        call(node, Ioctl::GroupSubmit, &mut submit).map_err(failed("submitting"))?;
        Ok(0)
    }

    fn finished(&self, _node: &RenderNode) -> Result<u64> {
        Ok(0)
    }

    fn finish(&self, _node: &RenderNode, _number: u64) -> Result<()> {
        Ok(())
    }

    fn close(&self, node: &RenderNode) {
        let mut group = uapi::GroupDestroy { group_handle: self.group, pad: 0 };
        let _ = call(node, Ioctl::GroupDestroy, &mut group);
        let mut heap = uapi::TilerHeapDestroy { handle: self.heap_handle, pad: 0 };
        let _ = call(node, Ioctl::TilerHeapDestroy, &mut heap);
        let mut vm = uapi::VmDestroy { id: self.vm, pad: 0 };
        let _ = call(node, Ioctl::VmDestroy, &mut vm);
        lock(&self.ends).iter().for_each(|&end| node.destroy_sync(end));
    }

    fn heap(&self) -> TilerMemory {
        let [context, base] = self.heap;
        TilerMemory { context: Some(context), base, size: self.chunk, header: HEAP_HEADER_B }
    }
}

/// A wait or a signal. Points of binary sync objects are 0.
fn operation((handle, point): SyncPoint, flags: u32) -> uapi::SyncOp {
    let kind = match point {
        0 => uapi::SYNC_OP_SYNCOBJ,
        _ => uapi::SYNC_OP_TIMELINE_SYNCOBJ,
    };
    uapi::SyncOp { flags: flags | kind, handle, timeline_value: point }
}
