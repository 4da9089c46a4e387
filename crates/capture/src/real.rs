//! Records a real render node of any family.
//!
//! Nothing says when the hardware begins or ends a command, so memory is described as it is when a
//! submission comes in ([`crate::Start::early`]), and no ends are recorded. What earlier
//! submissions that are still running will have written by then may be missing.

use std::collections::{HashMap, HashSet};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::mm::{MapFlags, ProtFlags};
use tepui_drm::device::{self, CallObserver};
use tepui_drm::uapi::{IoctlInfo, Request, core};
use tepui_drm::user::UserMemory;
use tepui_drm::{Errno, monotonic_ns};

use crate::client::{argument, core_pointers, memory};
use crate::{Call, ClientMemory, Mapping, Output, PAGE_BYTES, Process, Record, Sink, Start};

/// A buffer that is larger than this is not looked at.
const MAX_BUFFER_BYTES: u64 = 1 << 30;

/// Memory of a buffer that the CPU can read.
pub trait Contents: Send {
    /// Copies from an offset.
    fn copy(&self, offset: usize, into: &mut [u8]);
}

/// A change that whoever keeps the buffers' memory must know of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A buffer has a handle now.
    Created {
        /// The handle.
        handle: u32,
        /// Its size in bytes.
        size: u64,
    },
    /// A buffer of the client's own pages has a handle now.
    Borrowed {
        /// The handle.
        handle: u32,
        /// Address of the pages.
        address: u64,
        /// Their size in bytes.
        size: u64,
    },
    /// A file descriptor's buffer was imported under a handle, perhaps the one that it had before.
    Imported {
        /// The handle.
        handle: u32,
        /// The descriptor.
        fd: i32,
    },
    /// A handle was given back.
    Closed {
        /// The handle.
        handle: u32,
    },
}

impl Change {
    /// The change of a request of the DRM core that was answered.
    pub fn of_core(request: Request, after: &[u8]) -> Option<Change> {
        match core::Ioctl::from_nr(request.nr())? {
            core::Ioctl::PrimeFdToHandle => {
                let args: core::PrimeHandle = argument(after);
                Some(Change::Imported { handle: args.handle, fd: args.fd })
            }
            core::Ioctl::GemClose => {
                Some(Change::Closed { handle: argument::<core::GemClose>(after).handle })
            }
            _ => None,
        }
    }
}

/// Commands on their way to the hardware, and what they see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submission {
    /// The id of the address space in the file.
    pub space: u32,
    /// Its bindings; objects are handles.
    pub mappings: Vec<Mapping>,
    /// The commands: queue, kind, base and payload are set, and the rest is the recorder's to set.
    pub commands: Vec<Start>,
}

/// Decoder of the requests of one kernel driver, with the state that they set up.
pub trait Requests: Send {
    /// Description of the node.
    fn describe(&self, node: Option<BorrowedFd<'_>>) -> Process;
    /// The memory that a request's pointers refer to, after the call.
    fn memory(&self, user: &dyn UserMemory, request: Request, after: &[u8]) -> Vec<ClientMemory>;
    /// Processes a call that was answered. Refused calls change nothing.
    fn answered(&mut self, call: &Call) -> Option<Change>;
    /// An open file was closed.
    fn closed(&mut self, file: u64);
    /// The commands of a request that submits some; `size` gives the bytes of a buffer by its handle.
    fn submission(
        &self,
        call: &device::Call<'_>,
        size: &dyn Fn(u32) -> Option<u64>,
    ) -> Option<Submission>;
    /// The memory of a buffer of an open file.
    fn buffer(
        &self,
        node: Option<BorrowedFd<'_>>,
        handle: u32,
        size: u64,
    ) -> Option<Box<dyn Contents>>;
}

/// Requests of a driver of which nothing is known but what all drivers share.
struct Unknown(String);

impl Requests for Unknown {
    fn describe(&self, _: Option<BorrowedFd<'_>>) -> Process {
        Process { driver: self.0.clone(), gpu: "a real GPU".into(), ..Process::default() }
    }
    fn memory(&self, user: &dyn UserMemory, request: Request, after: &[u8]) -> Vec<ClientMemory> {
        let core = core::Ioctl::from_nr(request.nr());
        memory(user, core.map_or_else(Vec::new, |ioctl| core_pointers(ioctl, after)))
    }
    fn answered(&mut self, _: &Call) -> Option<Change> {
        None
    }
    fn closed(&mut self, _: u64) {}
    fn submission(
        &self,
        _: &device::Call<'_>,
        _: &dyn Fn(u32) -> Option<u64>,
    ) -> Option<Submission> {
        None
    }
    fn buffer(&self, _: Option<BorrowedFd<'_>>, _: u32, _: u64) -> Option<Box<dyn Contents>> {
        None
    }
}

/// Gives what is known of a kernel driver's requests by its name.
pub type Choose = Box<dyn Fn(&str) -> Option<Box<dyn Requests>> + Send>;

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
    choose: Choose,
    /// `None` before the first request.
    requests: Option<Box<dyn Requests>>,
    /// Files that were opened before there was anything to write.
    opened: Vec<u64>,
    buffers: HashMap<(u64, u32), Buffer>,
    /// Numbers of address spaces by file and id.
    spaces: HashMap<(u64, u32), u64>,
    objects: u64,
    submissions: u64,
    /// Submissions that are on their way, by thread.
    pending: HashMap<u32, Vec<Start>>,
}

impl RealRecorder {
    /// Writes to `sink`; the node's driver says which requests there are.
    pub fn new(sink: Sink, choose: Choose) -> RealRecorder {
        RealRecorder(Mutex::new(State {
            sink: Some(sink),
            choose,
            requests: None,
            opened: Vec::new(),
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

impl CallObserver for RealRecorder {
    fn opened(&self, file: u64) {
        self.state().opened.push(file);
    }

    fn entered(&self, call: &device::Call<'_>) {
        let mut state = self.state();
        state.begin(call.real_node);
        let size = |handle| state.buffers.get(&(call.file, handle)).map(|buffer| buffer.size);
        let submission = state.requests.as_ref().and_then(|r| r.submission(call, &size));
        if let Some(starts) = submission.and_then(|s| state.describe(call.file, s)) {
            state.pending.insert(thread(), starts);
        }
    }

    fn answered(&self, call: &device::Call<'_>, after: &[u8], result: Result<u32, Errno>) {
        let mut state = self.state();
        state.begin(call.real_node);
        let State { requests: Some(requests), .. } = &mut *state else { return };
        let record = Call {
            file: call.file,
            thread: thread(),
            time_ns: monotonic_ns(),
            request: call.request.0,
            result: result.map_or_else(|errno| -errno.raw_os_error(), |value| value as i32),
            before: call.before.to_vec(),
            after: if after == call.before { Vec::new() } else { after.to_vec() },
            memory: requests.memory(call.user, call.request, after),
        };
        if let Some(change) = requests.answered(&record) {
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
        if let Some(requests) = &mut state.requests {
            requests.closed(file);
        }
        state.buffers.retain(|(of, _), _| *of != file);
        state.opened.retain(|of| *of != file);
        state.write(|out| out.record(&Record::Closed { file }));
    }
}

impl State {
    /// Runs `body` if the stream has begun and not failed.
    fn write(&mut self, body: impl FnOnce(&mut Output) -> io::Result<()>) {
        self.sink = self.sink.take().and_then(|sink| sink.write(body));
    }

    /// Begins the stream if it has not, and catches up with what happened before.
    fn begin(&mut self, node: Option<BorrowedFd<'_>>) {
        let requests = self.requests.get_or_insert_with(|| {
            let driver = node.and_then(driver).unwrap_or_else(|| "unknown".into());
            (self.choose)(&driver).unwrap_or_else(|| Box::new(Unknown(driver)))
        });
        if self.sink.as_ref().is_some_and(Sink::is_waiting) {
            let process = requests.describe(node);
            self.sink = self.sink.take().and_then(|sink| sink.begin(process));
        }
        for file in std::mem::take(&mut self.opened) {
            self.write(|out| out.record(&Record::Opened { file }));
        }
    }

    fn change(&mut self, call: &device::Call<'_>, change: Change) {
        let (handle, size, borrowed) = match change {
            Change::Closed { handle } => {
                self.buffers.remove(&(call.file, handle));
                return;
            }
            Change::Created { handle, size } => (handle, size, None),
            Change::Borrowed { handle, address, size } => (handle, size, Some(address)),
            Change::Imported { handle, fd } => {
                if self.buffers.contains_key(&(call.file, handle)) {
                    return;
                }
                // SAFETY: the number is only handed to `lseek`, which refuses a closed one.
                let fd = unsafe { BorrowedFd::borrow_raw(fd.max(0)) };
                (handle, rustix::fs::seek(fd, rustix::fs::SeekFrom::End(0)).unwrap_or(0), None)
            }
        };
        self.objects += 1;
        let contents = match borrowed {
            _ if size > MAX_BUFFER_BYTES => None,
            Some(address) => Some(Box::new(Borrowed { address, size }) as _),
            None => self.requests.as_ref().and_then(|r| r.buffer(call.real_node, handle, size)),
        };
        let buffer = Buffer { object: self.objects, size, contents };
        self.buffers.insert((call.file, handle), buffer);
    }

    /// Describes the memory that a submission sees; gives its commands.
    fn describe(&mut self, file: u64, submission: Submission) -> Option<Vec<Start>> {
        let fresh = self.spaces.len() as u64 + 1;
        let space = *self.spaces.entry((file, submission.space)).or_insert(fresh);
        let buffers = &self.buffers;
        let sink = self.sink.take()?;
        self.sink = sink.write(|out| {
            out.begin_memory()?;
            let mut mappings = Vec::new();
            let mut described = HashSet::new();
            for mapping in submission.mappings {
                let handle = mapping.object as u32;
                let Some(buffer) = buffers.get(&(file, handle)) else { continue };
                if described.insert(buffer.object) {
                    describe(out, buffer)?;
                }
                mappings.push(Mapping { object: buffer.object, ..mapping });
            }
            out.mappings(space, mappings)
        });
        let number = |(index, start): (usize, Start)| Start {
            file,
            command: index as u32,
            space,
            early: true,
            ..start
        };
        Some(submission.commands.into_iter().enumerate().map(number).collect())
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

/// The name of a node's kernel driver.
fn driver(node: BorrowedFd<'_>) -> Option<String> {
    let mut name = [0u8; 32];
    let mut version = core::Version {
        name: name.as_mut_ptr() as u64,
        name_len: name.len() as u64,
        ..Default::default()
    };
    request(node, core::Ioctl::Version.info(), &mut version).ok()?;
    let length = (version.name_len as usize).min(name.len());
    Some(String::from_utf8_lossy(&name[..length]).into_owned())
}

/// One request, straight to the kernel: a library that watches requests must not watch itself.
///
/// # Errors
/// The kernel's.
pub fn request<T: bytemuck::Pod>(
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

/// Maps a buffer, to read it, at the offset that the driver gave for it.
pub fn map(node: BorrowedFd<'_>, offset: u64, size: u64) -> Option<Box<dyn Contents>> {
    let length = usize::try_from(size).ok().filter(|&length| length > 0)?;
    // SAFETY: a fresh mapping at an address of the kernel's choice.
    let base = unsafe {
        let null = std::ptr::null_mut();
        rustix::mm::mmap(null, length, ProtFlags::READ, MapFlags::SHARED, node, offset)
    };
    Some(Box::new(Mapped { base: base.ok()?.cast(), length }))
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
        // SAFETY: mapped in `map` with this length, and unmapped nowhere else.
        let _ = unsafe { rustix::mm::munmap(self.base.cast_mut().cast(), self.length) };
    }
}

/// Pages of this process, which may be gone.
struct Borrowed {
    address: u64,
    size: u64,
}

impl Contents for Borrowed {
    fn copy(&self, offset: usize, into: &mut [u8]) {
        into.fill(0);
        let left = self.size.saturating_sub(offset as u64);
        let length = into.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let local = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: length };
        let from = (self.address as usize).wrapping_add(offset) as *mut libc::c_void;
        let remote = libc::iovec { iov_base: from, iov_len: length };
        // SAFETY: the kernel writes at most `length` bytes of `into`, and refuses addresses where
        // nothing is mapped.
        let _ = unsafe { libc::process_vm_readv(libc::getpid(), &local, 1, &remote, 1, 0) };
    }
}
