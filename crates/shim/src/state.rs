//! The state of the library in a process: the virtual device, its tree of paths, and the open files
//! of descriptors.

use std::cell::Cell;
use std::ffi::{CStr, CString, c_char, c_int};
use std::path::Path;
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};

use rustix::io::Errno;
use tepui_transport::{Remote, SERVER_VARIABLE};

use crate::node::{Device, Virtual};
#[cfg(feature = "device")]
use crate::passthrough::PassThrough;
use crate::tree::{Entry, Lookup, Tree};
use crate::{directories, hints};

/// The mode of the library in this process.
pub enum State {
    /// Provides a virtual node.
    Virtual(Virtual),
    /// Observes the machine's own nodes.
    #[cfg(feature = "device")]
    Real(PassThrough),
}

/// The state of this process. Null before the first use, and again in a forked child, which has a
/// copy of the parent's locks but not its threads. Never freed, since threads may use it at any
/// time.
static STATE: AtomicPtr<State> = AtomicPtr::new(std::ptr::null_mut());

/// The process that may use `STATE`; 0 if the library does nothing. In a child of `vfork`, which
/// shares the parent's memory, the number differs, and the state must not be used.
static OWNER: AtomicI32 = AtomicI32::new(0);

thread_local! {
    /// Whether this thread is making the state. What it calls on the way, be it in the standard
    /// library or in a crate, may open files, and those calls come to this library first.
    static MAKING: Cell<bool> = const { Cell::new(false) };
}

/// Calls `make`, unless this thread is inside of such a call already.
fn not_within<T>(make: impl FnOnce() -> T) -> Option<T> {
    struct Leave;
    impl Drop for Leave {
        fn drop(&mut self) {
            MAKING.set(false);
        }
    }
    if MAKING.replace(true) {
        return None;
    }
    let _leave = Leave;
    Some(make())
}

/// Constructor: runs when the library is loaded.
#[used]
#[cfg_attr(not(test), unsafe(link_section = ".init_array"))]
static LOADED: extern "C" fn() = loaded;

unsafe extern "C" {
    /// Implementation of `pthread_atfork` in glibc, which calls it from the statically linked part. The
    /// handlers belong to the library with the handle, or to none.
    fn __register_atfork(
        prepare: Option<extern "C" fn()>,
        parent: Option<extern "C" fn()>,
        child: Option<extern "C" fn()>,
        library: *const std::ffi::c_void,
    ) -> c_int;
}

extern "C" fn loaded() {
    // SAFETY: a constant name; and the handler only stores to atomics.
    unsafe {
        if libc::getenv(c"TEPUI_GPU".as_ptr()).is_null() {
            return;
        }
        __register_atfork(None, None, Some(forked), std::ptr::null());
    }
    OWNER.store(own_pid(), Ordering::Release);
}

/// Resets the state in a forked child.
extern "C" fn forked() {
    STATE.store(std::ptr::null_mut(), Ordering::Release);
    OWNER.store(own_pid(), Ordering::Release);
    hints::clear();
}

fn own_pid() -> c_int {
    rustix::process::getpid().as_raw_nonzero().get()
}

/// The state of this process, or `None` if the library does nothing in it, or if this thread is
/// making the state: calls from there are meant for libc.
pub fn state() -> Option<&'static State> {
    let owner = OWNER.load(Ordering::Acquire);
    if owner == 0 || owner != own_pid() {
        return None;
    }
    let mut state = STATE.load(Ordering::Acquire);
    if state.is_null() {
        let Some(fresh) = not_within(State::new)? else {
            OWNER.store(0, Ordering::Release);
            return None;
        };
        let fresh = Box::into_raw(Box::new(fresh));
        let null = std::ptr::null_mut();
        state = match STATE.compare_exchange(null, fresh, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => fresh,
            Err(first) => {
                // SAFETY: created above and not shared.
                drop(unsafe { Box::from_raw(fresh) });
                first
            }
        };
    }
    // SAFETY: a state that was stored is never freed.
    Some(unsafe { &*state })
}

/// Whether a descriptor may belong to the virtual device. `false` means that this process did not
/// open the node with it.
#[inline]
pub fn hinted(fd: c_int) -> bool {
    let hint = |fd| hints::of(fd).unwrap_or_else(|| !STATE.load(Ordering::Relaxed).is_null());
    usize::try_from(fd).is_ok_and(hint)
}

/// The virtual node of this process, if it has one.
pub fn virtual_node() -> Option<&'static Virtual> {
    match state()? {
        State::Virtual(state) => Some(state),
        #[cfg(feature = "device")]
        State::Real(_) => None,
    }
}

impl State {
    fn new() -> Option<State> {
        match std::env::var_os(SERVER_VARIABLE).filter(|path| !path.is_empty()) {
            Some(path) => State::elsewhere(Path::new(&path)),
            None => State::here(),
        }
    }

    /// A device that another process serves.
    fn elsewhere(path: &Path) -> Option<State> {
        let remote = Remote::connect(path).inspect_err(|e| eprintln!("tepui: {e}")).ok()?;
        let tree = Tree::new(&remote.node().node(), remote.node().minor);
        Some(State::Virtual(Virtual { device: Device::Elsewhere(remote), tree }))
    }

    /// A device of this process.
    #[cfg(feature = "device")]
    fn here() -> Option<State> {
        crate::here::state()
    }

    #[cfg(not(feature = "device"))]
    fn here() -> Option<State> {
        eprintln!(
            "tepui: this library has no virtual GPU of its own ({SERVER_VARIABLE} is not set): start the program \
             inside of `tepui shim --shared`"
        );
        None
    }

    /// Called after libc opened a file.
    pub fn opened(&self, _fd: c_int) {
        #[cfg(feature = "device")]
        if let State::Real(nodes) = self {
            nodes.opened(_fd);
        }
    }

    /// Called after `from` was duplicated to `to`.
    pub fn duplicated(&self, from: c_int, to: c_int) {
        match self {
            #[cfg(feature = "device")]
            State::Real(nodes) => nodes.duplicated(from, to),
            State::Virtual(state) => {
                hints::hint(to, hinted(from));
                // `to` may have been the last descriptor of another file.
                state.closed();
            }
        }
    }

    /// Called after a descriptor with a hint was closed.
    pub fn closed(&self, _fd: c_int) {
        match self {
            #[cfg(feature = "device")]
            State::Real(nodes) => nodes.closed(_fd),
            State::Virtual(state) => state.closed(),
        }
    }
}

/// The result of looking up a client's path.
pub enum Target {
    /// Not in the tree: call libc with the path.
    Pass,
    /// An entry of the tree, with its canonical path.
    Entry(&'static Entry, String),
    /// A path outside the tree that a link in the tree leads to.
    Path(CString),
}

/// Looks up a client's path. A link at its end is followed only if `follow` is set.
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

/// Looks up a client's path that may be relative to an open directory.
///
/// # Safety
/// `path` is null or a C string.
pub unsafe fn target_at(dir: c_int, path: *const c_char, follow: bool) -> Target {
    // SAFETY: a C string, by the caller.
    unsafe {
        if dir == libc::AT_FDCWD || path.is_null() || *path == b'/' as c_char {
            return target(path, follow);
        }
        let Ok(name) = CStr::from_ptr(path).to_str() else { return Target::Pass };
        if !virtual_node().is_some_and(|state| state.tree.may_hold_in_directory(name)) {
            return Target::Pass;
        }
        let Some(directory) = directories::path_of(dir) else { return Target::Pass };
        match CString::new(format!("{directory}/{name}")) {
            Ok(path) => target(path.as_ptr(), follow),
            Err(_) => Target::Pass,
        }
    }
}

/// Sets errno and returns `value`.
pub fn fail<T>(errno: Errno, value: T) -> T {
    // SAFETY: errno's location is always valid.
    unsafe { *libc::__errno_location() = errno.raw_os_error() };
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asks for the state while it makes it, as an interposed `open` does.
    fn make(depth: u32) -> Option<u32> {
        not_within(|| {
            assert_eq!(depth, 0, "the state is made while it is made");
            make(depth + 1).unwrap_or(7)
        })
    }

    #[test]
    fn the_state_is_not_made_while_it_is_made() {
        assert_eq!(make(0), Some(7));
        // Once more, as in a forked child.
        assert_eq!(make(0), Some(7));
    }
}
