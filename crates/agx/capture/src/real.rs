//! Records a real render node.
//!
//! Nothing says when the hardware begins or ends a command, so memory is described as it is when a
//! submission comes in ([`tepui_capture::Start::early`]), and no ends are recorded. What earlier
//! submissions that are still running will have written by then may be missing.

use std::collections::{HashMap, HashSet};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::mm::{MapFlags, ProtFlags};
use tepui_agx_kernel::Observer;
use tepui_capture::{Call, Mapping, Output, PAGE_BYTES, Process, Record, Sink, Start};
use tepui_drm::device::{self, CallObserver};
use tepui_drm::uapi::asahi::{GemMmapOffset, GetParams, Ioctl, ParamsGlobal};
use tepui_drm::uapi::{IoctlInfo, Request, core};
use tepui_drm::{Errno, monotonic_ns};

use crate::client;
use crate::tracker::{Change, Tracker, commands, submission};

/// A buffer that is larger than this is not looked at.
const MAX_BUFFER_BYTES: u64 = 1 << 30;

/// Memory of a buffer that the CPU can read.
pub trait Contents: Send {
    /// Copies from an offset.
    fn copy(&self, offset: usize, into: &mut [u8]);
}

/// How the node is asked for what the calls do not say.
pub trait Node: Send {
    /// The driver's name and, if it is ours, its parameter block.
    fn identify(&self, node: Option<BorrowedFd<'_>>) -> (String, Option<ParamsGlobal>);
    /// The memory of a buffer of an open file.
    fn buffer(
        &self,
        node: Option<BorrowedFd<'_>>,
        handle: u32,
        size: u64,
    ) -> Option<Box<dyn Contents>>;
}

struct Buffer {
    object: u64,
    size: u64,
    contents: Option<Box<dyn Contents>>,
}

/// Records what a program asks of a real node.
pub struct RealRecorder(Mutex<State>);

struct State {
    /// `None` when the stream has failed.
    sink: Option<Sink>,
    node: Box<dyn Node>,
    /// Files that were opened before there was anything to write.
    opened: Vec<u64>,
    tracker: Tracker,
    buffers: HashMap<(u64, u32), Buffer>,
    /// Numbers of address spaces by file and id.
    spaces: HashMap<(u64, u32), u64>,
    objects: u64,
    submissions: u64,
    /// Submissions that are on their way, by thread.
    pending: HashMap<u32, Vec<Start>>,
}

impl RealRecorder {
    /// Writes to `sink`, of nodes that answer `node`.
    pub(crate) fn new(sink: Sink, node: Box<dyn Node>) -> RealRecorder {
        RealRecorder(Mutex::new(State {
            sink: Some(sink),
            node,
            opened: Vec::new(),
            tracker: Tracker::default(),
            buffers: HashMap::new(),
            spaces: HashMap::new(),
            objects: 0,
            submissions: 0,
            pending: HashMap::new(),
        }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn thread() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get() as u32
}

fn is_submit(request: Request) -> bool {
    request.family() == Request::DRM && Ioctl::from_nr(request.nr()) == Some(Ioctl::Submit)
}

impl CallObserver for RealRecorder {
    fn opened(&self, file: u64) {
        self.state().opened.push(file);
    }

    fn entered(&self, call: &device::Call<'_>) {
        if is_submit(call.request) {
            let mut state = self.state();
            state.begin(call.real_node);
            if let Some(starts) = state.describe(call) {
                state.pending.insert(thread(), starts);
            }
        }
    }

    fn answered(&self, call: &device::Call<'_>, after: &[u8], result: Result<u32, Errno>) {
        let record = Call {
            file: call.file,
            thread: thread(),
            time_ns: monotonic_ns(),
            request: call.request.0,
            result: result.map_or_else(|errno| -errno.raw_os_error(), |value| value as i32),
            before: call.before.to_vec(),
            after: if after == call.before { Vec::new() } else { after.to_vec() },
            memory: client::memory(call.user, call.request, after),
        };
        let mut state = self.state();
        state.begin(call.real_node);
        if let Some(change) = state.tracker.answered(&record) {
            state.change(call, change);
        }
        let starts = state.pending.remove(&record.thread).unwrap_or_default();
        state.write(|out| out.record(&Record::Call(record)));
        if result.is_ok() && !starts.is_empty() {
            state.submissions += 1;
            let submission = state.submissions;
            for start in starts {
                let start = Start { submission, ..start };
                state.write(|out| out.record(&Record::Start(start)));
            }
        }
    }

    fn closed(&self, file: u64) {
        let mut state = self.state();
        state.tracker.closed(file);
        state.buffers.retain(|(of, _), _| *of != file);
        state.opened.retain(|of| *of != file);
        state.write(|out| out.record(&Record::Closed { file }));
    }
}

impl Observer for RealRecorder {}

impl State {
    /// Runs `body` if the stream has begun and not failed.
    fn write(&mut self, body: impl FnOnce(&mut Output) -> io::Result<()>) {
        self.sink = self.sink.take().and_then(|sink| sink.write(body));
    }

    /// Begins the stream if it has not, and catches up with what happened before.
    fn begin(&mut self, node: Option<BorrowedFd<'_>>) {
        if self.sink.as_ref().is_some_and(Sink::is_waiting) {
            let (driver, params) = self.node.identify(node);
            let gpu = params.map_or_else(|| "a real GPU".into(), |params| gpu_name(&params));
            let process = Process {
                driver,
                gpu,
                parameters: params.map_or_else(Vec::new, |p| bytemuck::bytes_of(&p).to_vec()),
                ..Process::default()
            };
            self.sink = self.sink.take().and_then(|sink| sink.begin(process));
        }
        for file in std::mem::take(&mut self.opened) {
            self.write(|out| out.record(&Record::Opened { file }));
        }
    }

    fn change(&mut self, call: &device::Call<'_>, change: Change) {
        let (handle, size) = match change {
            Change::Closed { handle } => {
                self.buffers.remove(&(call.file, handle));
                return;
            }
            Change::Created { handle, size } => (handle, size),
            Change::Imported { handle, fd } => {
                if self.buffers.contains_key(&(call.file, handle)) {
                    return;
                }
                // SAFETY: the number is only handed to `lseek`, which refuses a closed one.
                let fd = unsafe { BorrowedFd::borrow_raw(fd.max(0)) };
                (handle, rustix::fs::seek(fd, rustix::fs::SeekFrom::End(0)).unwrap_or(0))
            }
        };
        self.objects += 1;
        let contents = if size <= MAX_BUFFER_BYTES {
            self.node.buffer(call.real_node, handle, size)
        } else {
            None
        };
        let buffer = Buffer { object: self.objects, size, contents };
        self.buffers.insert((call.file, handle), buffer);
    }

    /// Describes the memory that a submission sees; gives its commands.
    fn describe(&mut self, call: &device::Call<'_>) -> Option<Vec<Start>> {
        let (queue, buffer, length) = submission(call.before);
        let (vm, base) = self.tracker.queue(call.file, queue)?;
        let mut bytes = vec![0; usize::try_from(length.min(1 << 24)).ok()?];
        call.user.read(buffer, &mut bytes).ok()?;
        let fresh = self.spaces.len() as u64 + 1;
        let space = *self.spaces.entry((call.file, vm)).or_insert(fresh);
        let (tracker, buffers) = (&self.tracker, &self.buffers);
        let sink = self.sink.take()?;
        self.sink = sink.write(|out| {
            out.begin_memory()?;
            let mut mappings = Vec::new();
            let mut described = HashSet::new();
            for mapping in tracker.mappings(call.file, vm) {
                let handle = mapping.object as u32;
                let Some(buffer) = buffers.get(&(call.file, handle)) else { continue };
                if described.insert(buffer.object) {
                    describe(out, buffer)?;
                }
                mappings.push(Mapping { object: buffer.object, ..*mapping });
            }
            out.mappings(space, mappings)
        });
        let start = |(index, command): (usize, crate::tracker::Command)| Start {
            file: call.file,
            queue,
            submission: 0,
            command: index as u32,
            space,
            kind: command.kind.into(),
            base,
            payload: command.payload,
            early: true,
        };
        Some(commands(&bytes).into_iter().enumerate().map(start).collect())
    }
}

fn describe(out: &mut Output, buffer: &Buffer) -> io::Result<()> {
    let mut writer = out.object(buffer.object, buffer.size)?;
    if let Some(contents) = &buffer.contents {
        let mut page = vec![0; PAGE_BYTES];
        for offset in (0..buffer.size).step_by(PAGE_BYTES) {
            let length = (buffer.size - offset).min(PAGE_BYTES as u64) as usize;
            page[length..].fill(0);
            contents.copy(offset as usize, &mut page[..length]);
            writer.page((offset / PAGE_BYTES as u64) as u32, &page)?;
        }
    }
    writer.end()
}

/// `Apple G13G B1` and the like.
fn gpu_name(params: &ParamsGlobal) -> String {
    let variant = char::from_u32(params.gpu_variant).unwrap_or('?');
    let revision = params.gpu_revision;
    let letter = char::from(b'A' + (revision >> 4 & 0xf) as u8);
    format!("Apple G{}{variant} {letter}{}", params.gpu_generation, revision & 0xf)
}

/// The kernel's own node.
pub(crate) struct Kernel;

impl Node for Kernel {
    fn identify(&self, node: Option<BorrowedFd<'_>>) -> (String, Option<ParamsGlobal>) {
        let Some(node) = node else { return ("unknown".into(), None) };
        let mut name = [0u8; 32];
        let mut version = core::Version {
            name: name.as_mut_ptr() as u64,
            name_len: name.len() as u64,
            ..Default::default()
        };
        if request(node, core::Ioctl::Version.info(), &mut version).is_err() {
            return ("unknown".into(), None);
        }
        let length = (version.name_len as usize).min(name.len());
        let driver = String::from_utf8_lossy(&name[..length]).into_owned();
        if driver != tepui_agx_kernel::DRIVER.name {
            return (driver, None);
        }
        let mut params = ParamsGlobal::default();
        let mut args = GetParams {
            pointer: &raw mut params as u64,
            size: size_of::<ParamsGlobal>() as u64,
            ..Default::default()
        };
        let known = request(node, Ioctl::GetParams.info(), &mut args).is_ok();
        (driver, known.then_some(params))
    }

    fn buffer(
        &self,
        node: Option<BorrowedFd<'_>>,
        handle: u32,
        size: u64,
    ) -> Option<Box<dyn Contents>> {
        let node = node?;
        let mut args = GemMmapOffset { handle, ..Default::default() };
        request(node, Ioctl::GemMmapOffset.info(), &mut args).ok()?;
        let length = usize::try_from(size).ok().filter(|&length| length > 0)?;
        // SAFETY: a fresh mapping at an address of the kernel's choice.
        let base = unsafe {
            let null = std::ptr::null_mut();
            rustix::mm::mmap(null, length, ProtFlags::READ, MapFlags::SHARED, node, args.offset)
        };
        Some(Box::new(Mapped { base: base.ok()?.cast(), length }))
    }
}

/// One request, straight to the kernel: this library must not watch itself.
fn request<T: bytemuck::Pod>(
    node: BorrowedFd<'_>,
    info: &IoctlInfo,
    argument: &mut T,
) -> Result<(), Errno> {
    struct Raw<'a, T>(rustix::ioctl::Opcode, &'a mut T);
    // SAFETY: the argument is a structure of the size that the request word says, and plain data.
    unsafe impl<T: bytemuck::Pod> rustix::ioctl::Ioctl for Raw<'_, T> {
        type Output = ();
        const IS_MUTATING: bool = true;
        fn opcode(&self) -> rustix::ioctl::Opcode {
            self.0
        }
        fn as_ptr(&mut self) -> *mut std::ffi::c_void {
            std::ptr::from_mut(self.1).cast()
        }
        unsafe fn output_from_ptr(
            _: rustix::ioctl::IoctlOutput,
            _: *mut std::ffi::c_void,
        ) -> Result<(), Errno> {
            Ok(())
        }
    }
    assert_eq!(info.request.size(), size_of::<T>());
    // SAFETY: as above.
    unsafe { rustix::ioctl::ioctl(node.as_fd(), Raw(info.request.0 as _, argument)) }
}

/// A mapping of a buffer.
struct Mapped {
    base: *const u8,
    length: usize,
}

// SAFETY: the mapping is only read, and lives as long as the value.
unsafe impl Send for Mapped {}

impl Contents for Mapped {
    fn copy(&self, offset: usize, into: &mut [u8]) {
        let length = into.len().min(self.length.saturating_sub(offset));
        // SAFETY: the piece lies inside of the mapping. The GPU and the program may write at the
        // same time, and then the bytes are either.
        unsafe {
            std::ptr::copy_nonoverlapping(self.base.add(offset), into.as_mut_ptr(), length);
        }
        into[length..].fill(0);
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: mapped in `Kernel::buffer` with this length, and nobody else unmaps it.
        let _ = unsafe { rustix::mm::munmap(self.base.cast_mut().cast(), self.length) };
    }
}
