//! The panfrost kernel interface: buffers whose addresses the kernel chooses, chains of jobs.
//!
//! The interface has no points of timelines: a wait for one is a wait for a binary sync object that its fence is put into, and a
//! signal of one is the fence of the chain, put into it afterwards. A submission's chains run one after the other, and after those of
//! earlier submissions, since dependencies of the API reach across submissions and job slots do not wait for each other.
//!
//! The kernel does not tell a device that its chains faulted: that is in the headers of jobs.

use std::sync::Mutex;
use std::sync::atomic::{Ordering, fence};

use tepui_drm::Errno;
use tepui_drm::client::{Mapping, RenderNode, Wait};
use tepui_drm::uapi::panfrost::{self as uapi, Ioctl, param};
use tepui_mali_packets::job::{JobHeader, JobType};
use tepui_vulkan::backend::SyncPoint;
use tepui_vulkan::{Error, Result, vk};

use super::{BoKind, Interface, PAGE_B, Properties, Queue, TilerMemory, Work, failed, lock};
use crate::space::Window;

/// Bytes from one job without work to the next.
const JOB_B: u64 = 64;
/// Bytes of the tiler's heap, whose pages the kernel adds as the tiler reaches them. source: Mesa, pan_device.c
const HEAP_B: u32 = 128 << 20;
/// Jobs without work, for submissions of nothing.
const JOBS: u64 = PAGE_B / JOB_B;

fn call<T: bytemuck::Pod>(
    node: &RenderNode,
    ioctl: Ioctl,
    arg: &mut T,
) -> std::result::Result<(), Errno> {
    // SAFETY: pointers in arguments are those of live values, as the callers here set them.
    unsafe { node.request(ioctl.info().request, bytemuck::bytes_of_mut(arg)) }
}

/// A property of the GPU.
fn parameter(node: &RenderNode, param: u32) -> Result<u64> {
    let mut arg = uapi::GetParam { param, ..Default::default() };
    call(node, Ioctl::GetParam, &mut arg).map_err(failed("asking for the GPU's properties"))?;
    Ok(arg.value)
}

/// The product id of a render node's GPU.
pub fn product(node: &RenderNode) -> Result<u32> {
    Ok(parameter(node, param::GPU_PROD_ID)? as u32)
}

fn create(node: &RenderNode, size: u64, flags: u32) -> Result<uapi::CreateBo> {
    let bytes = u32::try_from(size);
    let bytes = bytes.map_err(|_| Error::device_memory(format!("{size} bytes in one buffer")))?;
    let mut create = uapi::CreateBo { size: bytes, flags, ..Default::default() };
    call(node, Ioctl::CreateBo, &mut create).map_err(failed("allocating memory"))?;
    Ok(create)
}

fn map_offset(node: &RenderNode, handle: u32) -> std::result::Result<u64, Errno> {
    let mut map = uapi::MmapBo { handle, ..Default::default() };
    call(node, Ioctl::MmapBo, &mut map)?;
    Ok(map.offset)
}

/// State that submissions share, held while submitting.
struct Submissions {
    /// Number of the last one.
    last: u64,
    /// Sync object that each chain signals.
    end: u32,
    /// Timeline of the submissions.
    done: u32,
}

/// The kernel's objects of a device.
pub struct Panfrost {
    /// Context of a priority; 0 is the file's own.
    context: u32,
    submissions: Mutex<Submissions>,
    /// Handle and address of the tiler's heap.
    heap: (u32, u64),
    /// Handle and address of the buffer of jobs without work.
    jobs: (u32, u64),
    mapping: Mapping,
}

/// Opens a device's queue, of low or medium priority.
///
/// # Errors
/// When the kernel refuses.
pub fn open(
    node: &RenderNode,
    priority: vk::QueueGlobalPriority,
) -> Result<(Properties, Box<dyn Interface>)> {
    let properties = Properties {
        shader_present: parameter(node, param::SHADER_PRESENT)?,
        max_threads: parameter(node, param::MAX_THREADS)? as u32,
    };
    // Kernels without contexts have one priority.
    let mut context = uapi::JmCtxCreate::default();
    if priority == vk::QueueGlobalPriority::LOW {
        let _ = call(node, Ioctl::JmCtxCreate, &mut context);
    }
    let sync = || node.create_sync(false).map_err(failed("creating a sync object"));
    let submissions = Submissions { last: 0, end: sync()?, done: sync()? };
    let heap = create(node, HEAP_B.into(), uapi::BO_HEAP | uapi::BO_NOEXEC)?;
    node.adopt_buffer(heap.handle);
    let jobs = create(node, PAGE_B, uapi::BO_NOEXEC)?;
    node.adopt_buffer(jobs.handle);
    let mapping = map_offset(node, jobs.handle)
        .and_then(|offset| node.map(offset, PAGE_B as usize))
        .map_err(failed("mapping memory"))?;
    let panfrost = Panfrost {
        context: context.handle,
        submissions: Mutex::new(submissions),
        heap: (heap.handle, heap.offset),
        jobs: (jobs.handle, jobs.offset),
        mapping,
    };
    Ok((properties, Box::new(panfrost)))
}

impl Panfrost {
    /// A chain of one job without work, for submission `number`.
    fn nothing(&self, node: &RenderNode, s: &Submissions, number: u64) -> Result<Work> {
        // The chain that had the place before is done.
        if let Some(before) = number.checked_sub(JOBS).filter(|n| *n > 0) {
            let wait = Wait { deadline_ns: i64::MAX, ..Wait::default() };
            node.wait_syncs(&[s.done], &[before], wait).map_err(failed("waiting for chains"))?;
        }
        let at = number % JOBS * JOB_B;
        let header = JobHeader {
            is_64_bit: true,
            job_type: JobType::Null,
            index: 1,
            ..JobHeader::default()
        };
        let bytes = header.pack().map_err(crate::packed::packet)?;
        // SAFETY: the place is inside of the mapping, and the GPU does not use it.
        unsafe {
            let to = self.mapping.base().add(at as usize);
            to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        }
        fence(Ordering::Release);
        let address = self.jobs.1 + at;
        Ok(Work { queue: Queue::Compute, address, size: 0, reads_clock: false })
    }

    /// Submits a chain that waits for sync objects.
    fn chain(&self, node: &RenderNode, w: &Work, waits: &[u32], end: u32) -> Result<()> {
        let fragment = if w.queue == Queue::Fragment { uapi::JD_REQ_FS } else { 0 };
        let clock = if w.reads_clock { uapi::JD_REQ_CYCLE_COUNT } else { 0 };
        let mut submit = uapi::Submit {
            jc: w.address,
            in_syncs: if waits.is_empty() { 0 } else { waits.as_ptr() as u64 },
            in_sync_count: waits.len() as u32,
            out_sync: end,
            // Buffers are bound as long as they have handles; nothing is ordered by them.
            requirements: fragment | clock,
            jm_ctx_handle: self.context,
            ..Default::default()
        };
        call(node, Ioctl::Submit, &mut submit).map_err(failed("submitting"))
    }

    fn run(
        &self,
        node: &RenderNode,
        s: &mut Submissions,
        mut waits: Vec<u32>,
        works: &[Work],
        signals: &[SyncPoint],
    ) -> Result<u64> {
        let number = s.last + 1;
        let none;
        let works = match works {
            [] => {
                none = [self.nothing(node, s, number)?];
                &none[..]
            }
            all => all,
        };
        if s.last > 0 {
            waits.push(s.end);
        }
        for work in works {
            self.chain(node, work, &waits, s.end)?;
            waits.clear();
            waits.push(s.end);
        }
        s.last = number;
        for &to in signals.iter().chain(&[(s.done, number)]) {
            node.transfer_sync((s.end, 0), to).map_err(failed("signalling a sync object"))?;
        }
        Ok(number)
    }
}

impl Interface for Panfrost {
    fn create(&self, node: &RenderNode, size: u64, window: Window, kind: BoKind) -> Result<u32> {
        if let Window::At(at) = window {
            let what = format!("the kernel chooses addresses: there is no buffer at {at:#x}");
            return Err(Error::new(vk::Result::ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS, what));
        }
        let flags = if window == Window::Code { 0 } else { uapi::BO_NOEXEC };
        let flags = if kind == BoKind::Cached { flags | uapi::BO_WB_MMAP } else { flags };
        Ok(create(node, size, flags)?.handle)
    }

    fn sync(
        &self,
        node: &RenderNode,
        handle: u32,
        offset: u64,
        size: u64,
    ) -> std::result::Result<(), Errno> {
        let kind = uapi::BO_SYNC_CPU_CACHE_FLUSH_AND_INVALIDATE;
        // Buffers have less than 4 GiB.
        let (offset, size) = (offset as u32, size as u32);
        let ops = [uapi::BoSyncOp { handle, r#type: kind, offset, size }];
        let mut sync = uapi::SyncBo { ops: ops.as_ptr() as u64, op_count: 1, pad: 0 };
        call(node, Ioctl::SyncBo, &mut sync)
    }

    fn bind(&self, node: &RenderNode, handle: u32, _size: u64, _window: Window) -> Result<u64> {
        let mut ask = uapi::GetBoOffset { handle, ..Default::default() };
        call(node, Ioctl::GetBoOffset, &mut ask).map_err(failed("asking for an address"))?;
        Ok(ask.offset)
    }

    fn unbind(&self, _node: &RenderNode, _address: u64, _size: u64) -> bool {
        true
    }

    fn give(&self, _address: u64, _size: u64) {}

    fn map_offset(&self, node: &RenderNode, handle: u32) -> std::result::Result<u64, Errno> {
        map_offset(node, handle)
    }

    fn submit(
        &self,
        node: &RenderNode,
        waits: &[SyncPoint],
        works: &[Work],
        signals: &[SyncPoint],
    ) -> Result<u64> {
        let mut submissions = lock(&self.submissions);
        let mut binary = Vec::with_capacity(waits.len() + 1);
        let mut own = Vec::new();
        let mut make = || {
            for &(handle, point) in waits {
                if point == 0 {
                    binary.push(handle);
                    continue;
                }
                let sync = node.create_sync(false)?;
                own.push(sync);
                binary.push(sync);
                node.transfer_sync((handle, point), (sync, 0))?;
            }
            Ok(())
        };
        let made = make().map_err(failed("waiting for a point of a timeline"));
        let done = made.and_then(|()| self.run(node, &mut submissions, binary, works, signals));
        own.into_iter().for_each(|sync| node.destroy_sync(sync));
        done
    }

    fn finished(&self, node: &RenderNode) -> Result<u64> {
        let done = lock(&self.submissions).done;
        node.query_point(done).map_err(failed("asking for chains that are done"))
    }

    fn finish(&self, node: &RenderNode, number: u64) -> Result<()> {
        let done = lock(&self.submissions).done;
        let wait = Wait { deadline_ns: i64::MAX, ..Wait::default() };
        node.wait_syncs(&[done], &[number], wait).map_err(failed("waiting for chains")).map(drop)
    }

    fn time(&self, node: &RenderNode) -> Result<u64> {
        parameter(node, param::SYSTEM_TIMESTAMP)
    }

    fn check(&self, _node: &RenderNode) -> Result<()> {
        Ok(())
    }

    fn close(&self, node: &RenderNode) {
        let submissions = lock(&self.submissions);
        node.destroy_sync(submissions.end);
        node.destroy_sync(submissions.done);
        node.close_buffer(self.jobs.0);
        node.close_buffer(self.heap.0);
        if self.context != 0 {
            let mut destroy = uapi::JmCtxDestroy { handle: self.context, pad: 0 };
            let _ = call(node, Ioctl::JmCtxDestroy, &mut destroy);
        }
    }

    fn heap(&self) -> TilerMemory {
        TilerMemory { context: None, base: self.heap.1, size: HEAP_B, header: 0 }
    }
}
