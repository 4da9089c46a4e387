//! What the library knows: the device, its tree, and the open files behind descriptors.

use std::ffi::{CStr, CString, c_char, c_int};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU8, Ordering};

use rustix::io::Errno;
use tepui_drm::device::{CallObserver, VirtualDevice, VirtualFile};
use tepui_drm::token::Registry;
use tepui_gpus::device::{self, DeviceOptions};

use crate::config::{Config, Gpu};
use crate::observer::CallLog;
use crate::passthrough::PassThrough;
use crate::tree::{Entry, Lookup, Tree};

/// What the library does in this process.
pub enum State {
    /// Shows a virtual node.
    Virtual(Virtual),
    /// Watches the machine's own nodes.
    Real(PassThrough),
}

/// Everything behind the virtual node.
pub struct Virtual {
    /// The device.
    pub device: Arc<dyn VirtualDevice>,
    /// Its paths.
    pub tree: Tree,
    files: Registry,
}

/// An open file, as the registry keeps it.
struct OpenFile(Arc<dyn VirtualFile>);

/// Of this process; null before the first use, and again in a forked child, whose copy of the
/// parent's threads and locks is of no use. Never freed: threads may be using it at any time.
static STATE: AtomicPtr<State> = AtomicPtr::new(std::ptr::null_mut());

/// The process that may use `STATE`; 0 if the library does nothing. In a child of `vfork`, which
/// shares the parent's memory, the number differs, and nothing is to be touched.
static OWNER: AtomicI32 = AtomicI32::new(0);

/// Which descriptors may be ours: a hint, so that others pass with one look.
static HINTS: [AtomicU8; 1 << 16] = [const { AtomicU8::new(0) }; 1 << 16];

/// Runs when the library is loaded.
#[used]
#[cfg_attr(not(test), unsafe(link_section = ".init_array"))]
static LOADED: extern "C" fn() = loaded;

extern "C" fn loaded() {
    // SAFETY: a constant name; and the handler only stores to atomics.
    unsafe {
        if libc::getenv(c"TEPUI_GPU".as_ptr()).is_null() {
            return;
        }
        libc::pthread_atfork(None, None, Some(forked));
    }
    OWNER.store(own_pid(), Ordering::Release);
}

/// In a forked child: start afresh.
extern "C" fn forked() {
    STATE.store(std::ptr::null_mut(), Ordering::Release);
    OWNER.store(own_pid(), Ordering::Release);
    for hint in &HINTS {
        hint.store(0, Ordering::Relaxed);
    }
}

fn own_pid() -> c_int {
    rustix::process::getpid().as_raw_nonzero().get()
}

/// The state of this process, or `None` if the library does nothing here.
pub fn state() -> Option<&'static State> {
    let owner = OWNER.load(Ordering::Acquire);
    if owner == 0 || owner != own_pid() {
        return None;
    }
    let mut state = STATE.load(Ordering::Acquire);
    if state.is_null() {
        let Some(fresh) = State::new() else {
            OWNER.store(0, Ordering::Release);
            return None;
        };
        let fresh = Box::into_raw(Box::new(fresh));
        let null = std::ptr::null_mut();
        state = match STATE.compare_exchange(null, fresh, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => fresh,
            Err(first) => {
                // SAFETY: made above, and nobody else has seen it.
                drop(unsafe { Box::from_raw(fresh) });
                first
            }
        };
    }
    // SAFETY: a state that was stored is never freed.
    Some(unsafe { &*state })
}

/// Whether a descriptor may be ours. `false` is certain for a node that this process opened.
#[inline]
pub fn hinted(fd: c_int) -> bool {
    match usize::try_from(fd) {
        Ok(index) if index < HINTS.len() => HINTS[index].load(Ordering::Relaxed) != 0,
        Ok(_) => !STATE.load(Ordering::Relaxed).is_null(),
        Err(_) => false,
    }
}

/// Notes whether a descriptor is ours.
pub fn hint(fd: c_int, ours: bool) {
    if let Some(hint) = usize::try_from(fd).ok().and_then(|index| HINTS.get(index)) {
        hint.store(ours.into(), Ordering::Relaxed);
    }
}

/// As [`state`], if there is a virtual node.
pub fn virtual_node() -> Option<&'static Virtual> {
    match state()? {
        State::Virtual(state) => Some(state),
        State::Real(_) => None,
    }
}

impl State {
    fn new() -> Option<State> {
        let config = Config::from_environment()?;
        let log = || config.log_calls.then(|| Arc::new(CallLog) as Arc<dyn CallObserver>);
        let gpu = match config.gpu {
            Gpu::Virtual(gpu) => gpu,
            Gpu::Real => {
                let observer = device::real_recorder().or_else(log)?;
                return Some(State::Real(PassThrough::new(observer)));
            }
        };
        let options = DeviceOptions {
            threads: config.threads,
            check: config.check,
            report_refusals: config.verbose,
            abort_on_fault: config.abort_on_fault,
            observer: log(),
        };
        let device = device::device(gpu, &options).inspect_err(|e| eprintln!("tepui: {e}")).ok()?;
        let tree = Tree::new(&device.node(), free_minor());
        Some(State::Virtual(Virtual { device, tree, files: Registry::default() }))
    }

    /// A file was opened past the library.
    pub fn opened(&self, fd: c_int) {
        if let State::Real(nodes) = self {
            nodes.opened(fd);
        }
    }

    /// `to` is now what `from` is; one of them may be ours.
    pub fn duplicated(&self, from: c_int, to: c_int) {
        match self {
            State::Real(nodes) => nodes.duplicated(from, to),
            State::Virtual(state) => {
                hint(to, hinted(from));
                // What `to` was before may have been the last descriptor of a file.
                state.files.sweep();
            }
        }
    }

    /// A descriptor that may be ours was closed.
    pub fn closed(&self, fd: c_int) {
        match self {
            State::Real(nodes) => nodes.closed(fd),
            State::Virtual(state) => state.files.sweep(),
        }
    }
}

impl Virtual {
    /// Opens the node: a descriptor that stands for an open file.
    pub fn open(&self, flags: c_int) -> Result<OwnedFd, Errno> {
        self.files.sweep();
        let file = Arc::clone(&self.device).open();
        let (fd, _keeper) = self.files.issue(Arc::new(OpenFile(file)))?;
        if flags & libc::O_CLOEXEC == 0 {
            rustix::io::fcntl_setfd(&fd, rustix::io::FdFlags::empty())?;
        }
        if flags & libc::O_NONBLOCK != 0 {
            rustix::fs::fcntl_setfl(&fd, rustix::fs::OFlags::NONBLOCK)?;
        }
        Ok(fd)
    }

    /// The open file behind a descriptor.
    pub fn file(&self, fd: c_int) -> Option<Arc<dyn VirtualFile>> {
        if fd < 0 {
            return None;
        }
        // SAFETY: the number is only handed to `fstat`, which refuses a closed one.
        let file = self.files.find::<OpenFile>(unsafe { BorrowedFd::borrow_raw(fd) });
        hint(fd, file.is_some());
        Some(file?.0.clone())
    }
}

/// What a client's path means.
pub enum Target {
    /// Nothing of ours: the next library's business.
    Pass,
    /// An entry of the tree, with its canonical path.
    Entry(&'static Entry, String),
    /// A path outside of the tree that a link in it leads to.
    Path(CString),
}

/// Looks a client's path up. A link at its end is followed only if `follow`.
///
/// # Safety
/// `path` is null or a C string.
pub unsafe fn target(path: *const c_char, follow: bool) -> Target {
    if path.is_null() {
        return Target::Pass;
    }
    // SAFETY: a C string, by the caller.
    let path = unsafe { CStr::from_ptr(path) };
    if !Tree::may_hold(path.to_bytes()) {
        return Target::Pass;
    }
    let (Some(state), Ok(path)) = (virtual_node(), path.to_str()) else { return Target::Pass };
    match state.tree.lookup(path, follow) {
        Lookup::NotOurs => Target::Pass,
        Lookup::Here(entry, path) => Target::Entry(entry, path),
        Lookup::Elsewhere(path) => CString::new(path).map_or(Target::Pass, Target::Path),
    }
}

/// The lowest minor number of a render node that the machine does not have.
fn free_minor() -> u32 {
    (128..192)
        .find(|minor| {
            let path = format!("/dev/dri/renderD{minor}");
            matches!(rustix::fs::stat(path), Err(Errno::NOENT))
        })
        .unwrap_or(191)
}

/// Sets errno and gives what a failed call returns.
pub fn fail<T>(errno: Errno, value: T) -> T {
    // SAFETY: errno's location is always valid.
    unsafe { *libc::__errno_location() = errno.raw_os_error() };
    value
}
