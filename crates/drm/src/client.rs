//! The client's side of a render node: what a user-space driver calls. The node is a file descriptor, or a virtual
//! device of this process ([`crate::device`]); the requests are the same.
//!
//! ```
//! # use tepui_drm::client::RenderNode;
//! // A machine without a GPU has no such file.
//! assert!(RenderNode::open("/nonexistent/renderD128".as_ref()).is_err());
//! ```

use std::collections::HashMap;
use std::ffi::CString;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex};

use bytemuck::Pod;
use rustix::io::Errno;

use crate::device::VirtualFile;
use crate::gem::Gem;
use crate::lock;
use crate::uapi::core::{self, Ioctl as Core};
use crate::uapi::{Direction, Request};
use crate::user::ThisProcess;

/// An open render node.
pub struct RenderNode {
    file: File,
    /// References to each buffer handle that [`RenderNode::adopt_buffer`] or [`RenderNode::import_buffer`] gave.
    ///
    /// An open file has one GEM handle for a buffer, however often it is imported, and the kernel does not count: the first
    /// `GEM_CLOSE` ends the handle and the mappings of it for all that use it. Imports and closes hold this lock for as long as
    /// their requests take, so that a handle is not closed between its import and its count.
    handles: Mutex<HashMap<u32, u32>>,
}

/// The open file of a render node.
enum File {
    /// A device of the kernel, or of a preloaded library.
    Kernel(OwnedFd),
    /// A virtual device of this process.
    Virtual(Arc<dyn VirtualFile>),
}

/// A mapped buffer.
pub enum Mapping {
    /// Pages of a render node, unmapped when this is dropped.
    Kernel {
        /// First byte.
        base: NonNull<u8>,
        /// Size in bytes.
        size: usize,
    },
    /// The memory of a virtual device's buffer.
    Virtual(Arc<Gem>),
}

// SAFETY: the memory is shared with the GPU; whoever writes through the pointer answers for races.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// The first byte.
    pub fn base(&self) -> *mut u8 {
        match self {
            Mapping::Kernel { base, .. } => base.as_ptr(),
            Mapping::Virtual(gem) => gem.base(),
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        if let Mapping::Kernel { base, size } = self {
            // SAFETY: the range was mapped by `RenderNode::map` and is unmapped nowhere else.
            unsafe { libc::munmap(base.as_ptr().cast(), *size) };
        }
    }
}

fn last_error() -> Errno {
    // SAFETY: errno's location is always valid.
    Errno::from_raw_os_error(unsafe { *libc::__errno_location() })
}

/// Points of sync objects to wait for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wait {
    /// Absolute time of the monotonic clock, in nanoseconds.
    pub deadline_ns: i64,
    /// Until all are signalled, not one of them.
    pub all: bool,
    /// A point for which nothing is submitted yet is waited for, instead of an error.
    pub for_submit: bool,
    /// Until something is submitted for the point, not until it is done.
    pub available: bool,
}

impl RenderNode {
    /// Opens a device file.
    ///
    /// # Errors
    /// Those of `open`.
    pub fn open(path: &Path) -> Result<RenderNode, Errno> {
        let path = CString::new(path.as_os_str().as_bytes()).map_err(|_| Errno::INVAL)?;
        // libc and no system call: a preloaded library may intercept them.
        // SAFETY: the path is a string that ends with 0.
        let fd = unsafe { libc::open(path.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC) };
        if fd < 0 {
            return Err(last_error());
        }
        // SAFETY: the descriptor is new and ours.
        Ok(RenderNode::new(File::Kernel(unsafe { OwnedFd::from_raw_fd(fd) })))
    }

    /// An open file of a virtual device of this process.
    pub fn of_virtual(file: Arc<dyn VirtualFile>) -> RenderNode {
        RenderNode::new(File::Virtual(file))
    }

    fn new(file: File) -> RenderNode {
        RenderNode { file, handles: Mutex::default() }
    }

    /// Whether the node is a file of the kernel, or of a preloaded library, and not a device of this process.
    pub fn is_kernels(&self) -> bool {
        matches!(self.file, File::Kernel(_))
    }

    /// Executes a request; pointers in `arg` must be valid for what the request does with them.
    ///
    /// # Errors
    /// Errors of the request.
    ///
    /// # Safety
    /// The kernel reads and writes through pointers in `arg`.
    pub unsafe fn request(&self, request: Request, arg: &mut [u8]) -> Result<(), Errno> {
        match &self.file {
            File::Kernel(fd) => loop {
                // SAFETY: `arg` has the size that the request encodes; the caller answers for pointers in it.
                let result = unsafe {
                    libc::ioctl(fd.as_raw_fd(), libc::c_ulong::from(request.0), arg.as_mut_ptr())
                };
                if result >= 0 {
                    return Ok(());
                }
                match last_error() {
                    Errno::INTR | Errno::AGAIN => {}
                    error => return Err(error),
                }
            },
            File::Virtual(file) => {
                // SAFETY: the caller answers for the pointers.
                let user = unsafe { ThisProcess::new() };
                file.ioctl(&user, request, arg).map(drop)
            }
        }
    }

    /// Executes a driver's request by number.
    ///
    /// # Errors
    /// Errors of the request.
    ///
    /// # Safety
    /// As for [`RenderNode::request`].
    pub unsafe fn call<T: Pod>(
        &self,
        direction: Direction,
        nr: u8,
        arg: &mut T,
    ) -> Result<(), Errno> {
        let request = Request::new(direction, nr, size_of::<T>());
        // SAFETY: as the caller says.
        unsafe { self.request(request, bytemuck::bytes_of_mut(arg)) }
    }

    fn core<T: Pod>(&self, ioctl: Core, arg: &mut T) -> Result<(), Errno> {
        // SAFETY: the callers below pass pointers to live slices, or none.
        unsafe { self.call(Direction::ReadWrite, ioctl as u8, arg) }
    }

    /// Maps `size` bytes of a buffer at the offset that the driver gave for it.
    ///
    /// # Errors
    /// Those of `mmap`.
    pub fn map(&self, offset: u64, size: usize) -> Result<Mapping, Errno> {
        match &self.file {
            File::Kernel(fd) => {
                // SAFETY: a new mapping at an address that the kernel chooses.
                let base = unsafe {
                    libc::mmap(
                        std::ptr::null_mut(),
                        size,
                        libc::PROT_READ | libc::PROT_WRITE,
                        libc::MAP_SHARED,
                        fd.as_raw_fd(),
                        offset as libc::off_t,
                    )
                };
                if base == libc::MAP_FAILED {
                    return Err(last_error());
                }
                let base = NonNull::new(base.cast()).ok_or(Errno::NOMEM)?;
                Ok(Mapping::Kernel { base, size })
            }
            File::Virtual(file) => file.mapping(offset, size as u64).map(Mapping::Virtual),
        }
    }

    /// Maps part of the render node once more, at an address of the caller's choice, in place of what is mapped there.
    ///
    /// # Errors
    /// Those of `mmap`.
    ///
    /// # Safety
    /// Nothing that counts is at `size` bytes from the address on.
    pub unsafe fn map_at(&self, offset: u64, size: usize, address: *mut u8) -> Result<(), Errno> {
        let at = address.cast();
        // SAFETY: as the caller says. A size of 0 makes a second mapping of shared pages and leaves the first.
        let mapped = unsafe {
            match &self.file {
                File::Kernel(fd) => {
                    let access = libc::PROT_READ | libc::PROT_WRITE;
                    let flags = libc::MAP_SHARED | libc::MAP_FIXED;
                    libc::mmap(at, size, access, flags, fd.as_raw_fd(), offset as libc::off_t)
                }
                File::Virtual(file) => {
                    let gem = file.mapping(offset, size as u64)?;
                    let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
                    libc::mremap(gem.base().cast(), 0, size, flags, at)
                }
            }
        };
        if mapped == libc::MAP_FAILED { Err(last_error()) } else { Ok(()) }
    }

    /// Name of the kernel's driver.
    ///
    /// # Errors
    /// Errors of the request.
    pub fn driver(&self) -> Result<String, Errno> {
        let mut name = [0u8; 64];
        let mut version =
            core::Version { name_len: 64, name: name.as_mut_ptr() as u64, ..Default::default() };
        self.core(Core::Version, &mut version)?;
        let length = (version.name_len as usize).min(name.len());
        Ok(String::from_utf8_lossy(&name[..length]).into_owned())
    }

    /// Counts the handle of a buffer that a driver's own request has made.
    pub fn adopt_buffer(&self, handle: u32) {
        lock(&self.handles).insert(handle, 1);
    }

    /// Gives a reference to a buffer's handle back; the last one closes it.
    pub fn close_buffer(&self, handle: u32) {
        let mut handles = lock(&self.handles);
        if let Some(references) = handles.get_mut(&handle)
            && *references > 1
        {
            *references -= 1;
            return;
        }
        handles.remove(&handle);
        let mut arg = core::GemClose { handle, pad: 0 };
        // SAFETY: no pointers.
        let _ = unsafe { self.call(Direction::Write, Core::GemClose as u8, &mut arg) };
    }

    /// A file descriptor of a buffer.
    ///
    /// # Errors
    /// Errors of the request.
    pub fn export_buffer(&self, handle: u32) -> Result<OwnedFd, Errno> {
        let flags = (libc::O_CLOEXEC | libc::O_RDWR) as u32;
        let mut arg = core::PrimeHandle { handle, flags, fd: -1 };
        self.core(Core::PrimeHandleToFd, &mut arg)?;
        // SAFETY: the request made the descriptor for us.
        Ok(unsafe { OwnedFd::from_raw_fd(arg.fd) })
    }

    /// Imports the buffer of a file descriptor; returns a reference to its handle, which is the existing one if this
    /// file has one.
    ///
    /// # Errors
    /// The request's.
    pub fn import_buffer(&self, fd: RawFd) -> Result<u32, Errno> {
        let mut handles = lock(&self.handles);
        let mut arg = core::PrimeHandle { fd, ..Default::default() };
        self.core(Core::PrimeFdToHandle, &mut arg)?;
        *handles.entry(arg.handle).or_insert(0) += 1;
        Ok(arg.handle)
    }

    /// A new sync object, signalled or not.
    ///
    /// # Errors
    /// Errors of the request.
    pub fn create_sync(&self, signalled: bool) -> Result<u32, Errno> {
        let flags = if signalled { core::SYNCOBJ_CREATE_SIGNALED } else { 0 };
        let mut arg = core::SyncobjCreate { handle: 0, flags };
        self.core(Core::SyncobjCreate, &mut arg)?;
        Ok(arg.handle)
    }

    /// Gives a sync object's handle back.
    pub fn destroy_sync(&self, handle: u32) {
        let _ = self.core(Core::SyncobjDestroy, &mut core::SyncobjDestroy { handle, pad: 0 });
    }

    /// Removes the fences of sync objects.
    ///
    /// # Errors
    /// Errors of the request.
    pub fn reset_syncs(&self, handles: &[u32]) -> Result<(), Errno> {
        self.core(Core::SyncobjReset, &mut array(handles))
    }

    /// Signals sync objects.
    ///
    /// # Errors
    /// Errors of the request.
    pub fn signal_syncs(&self, handles: &[u32]) -> Result<(), Errno> {
        self.core(Core::SyncobjSignal, &mut array(handles))
    }

    /// Signals a point of a timeline.
    ///
    /// # Errors
    /// Errors of the request.
    pub fn signal_point(&self, handle: u32, point: u64) -> Result<(), Errno> {
        let (handles, points) = ([handle], [point]);
        self.core(Core::SyncobjTimelineSignal, &mut points_of(&handles, &points))
    }

    /// Puts the fence of a sync object's point into another's; points of binary ones are 0.
    ///
    /// # Errors
    /// Errors of the request.
    pub fn transfer_sync(&self, from: (u32, u64), to: (u32, u64)) -> Result<(), Errno> {
        let mut arg = core::SyncobjTransfer {
            src_handle: from.0,
            dst_handle: to.0,
            src_point: from.1,
            dst_point: to.1,
            flags: 0,
            pad: 0,
        };
        self.core(Core::SyncobjTransfer, &mut arg)
    }

    /// The last point of a timeline that is signalled.
    ///
    /// # Errors
    /// Errors of the request.
    pub fn query_point(&self, handle: u32) -> Result<u64, Errno> {
        let (handles, mut points) = ([handle], [0u64]);
        let mut arg = points_of(&handles, &points);
        arg.points = points.as_mut_ptr() as u64;
        self.core(Core::SyncobjQuery, &mut arg)?;
        Ok(points[0])
    }

    /// Waits for sync objects, each at its point (0 for binary ones). Returns which one was first, when not all are
    /// waited for.
    ///
    /// # Errors
    /// `ETIME` at the deadline.
    pub fn wait_syncs(&self, handles: &[u32], points: &[u64], wait: Wait) -> Result<u32, Errno> {
        debug_assert_eq!(handles.len(), points.len());
        let flag = |yes: bool, bit: u32| if yes { bit } else { 0 };
        let mut arg = core::SyncobjTimelineWait {
            handles: handles.as_ptr() as u64,
            points: points.as_ptr() as u64,
            timeout_nsec: wait.deadline_ns,
            count_handles: handles.len() as u32,
            flags: flag(wait.all, WAIT_ALL)
                | flag(wait.for_submit, WAIT_FOR_SUBMIT)
                | flag(wait.available, WAIT_AVAILABLE),
            ..Default::default()
        };
        self.core(Core::SyncobjTimelineWait, &mut arg)?;
        Ok(arg.first_signaled)
    }

    /// A file descriptor of a sync object, or of the fence that it holds (a sync file).
    ///
    /// # Errors
    /// Errors of the request.
    pub fn export_sync(&self, handle: u32, sync_file: bool) -> Result<OwnedFd, Errno> {
        let flags = if sync_file { core::SYNCOBJ_FD_SYNC_FILE } else { 0 };
        let mut arg = core::SyncobjHandle { handle, flags, fd: -1, ..Default::default() };
        self.core(Core::SyncobjHandleToFd, &mut arg)?;
        // SAFETY: the request made the descriptor for us.
        Ok(unsafe { OwnedFd::from_raw_fd(arg.fd) })
    }

    /// Imports the sync object of a file descriptor; returns its handle.
    ///
    /// # Errors
    /// The request's.
    pub fn import_sync(&self, fd: RawFd) -> Result<u32, Errno> {
        let mut arg = core::SyncobjHandle { fd, ..Default::default() };
        self.core(Core::SyncobjFdToHandle, &mut arg)?;
        Ok(arg.handle)
    }

    /// Puts the fence of a sync file into a sync object.
    ///
    /// # Errors
    /// Errors of the request.
    pub fn import_sync_file(&self, handle: u32, fd: RawFd) -> Result<(), Errno> {
        let flags = core::SYNCOBJ_FD_SYNC_FILE;
        let mut arg = core::SyncobjHandle { handle, flags, fd, ..Default::default() };
        self.core(Core::SyncobjFdToHandle, &mut arg)
    }
}

/// [`core::SyncobjTimelineWait::flags`]. source: drm.h, DRM_SYNCOBJ_WAIT_FLAGS_WAIT_ALL
const WAIT_ALL: u32 = 1 << 0;
/// source: drm.h, DRM_SYNCOBJ_WAIT_FLAGS_WAIT_FOR_SUBMIT
const WAIT_FOR_SUBMIT: u32 = 1 << 1;
/// source: drm.h, DRM_SYNCOBJ_WAIT_FLAGS_WAIT_AVAILABLE
const WAIT_AVAILABLE: u32 = 1 << 2;

fn array(handles: &[u32]) -> core::SyncobjArray {
    core::SyncobjArray {
        handles: handles.as_ptr() as u64,
        count_handles: handles.len() as u32,
        pad: 0,
    }
}

fn points_of(handles: &[u32], points: &[u64]) -> core::SyncobjTimelineArray {
    core::SyncobjTimelineArray {
        handles: handles.as_ptr() as u64,
        points: points.as_ptr() as u64,
        count_handles: handles.len() as u32,
        flags: 0,
    }
}
