//! Observes real render nodes: ioctls are forwarded to the kernel and reported to an observer.

use std::collections::HashMap;
use std::ffi::{c_int, c_ulong, c_void};
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;
use tepui_drm::device::{Call, CallObserver};
use tepui_drm::uapi::Request;
use tepui_drm::user::{ThisProcess, UserMemory};

use crate::hints::hint;
use crate::real;
use crate::tree::DRM_MAJOR;

/// The observed open files of the machine's nodes.
pub struct PassThrough {
    observer: Arc<dyn CallObserver>,
    open: Mutex<Open>,
}

/// The open file of each descriptor. It is tracked because all opens of a node share its inode.
#[derive(Default)]
struct Open {
    of: HashMap<c_int, u64>,
    last: u64,
}

impl PassThrough {
    /// Starts without open files.
    pub fn new(observer: Arc<dyn CallObserver>) -> PassThrough {
        PassThrough { observer, open: Mutex::default() }
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Called after a file was opened; observes it if it is a DRM node.
    pub fn opened(&self, fd: c_int) {
        if fd < 0 {
            return;
        }
        // SAFETY: the number is only passed to `fstat`, which fails for a closed descriptor.
        let Ok(stat) = rustix::fs::fstat(unsafe { BorrowedFd::borrow_raw(fd) }) else { return };
        let is_device = stat.st_mode & libc::S_IFMT == libc::S_IFCHR;
        if is_device && rustix::fs::major(stat.st_rdev) == DRM_MAJOR {
            self.watch(fd);
        }
    }

    fn watch(&self, fd: c_int) {
        let mut open = self.open();
        open.last += 1;
        let file = open.last;
        open.of.insert(fd, file);
        drop(open);
        hint(fd, true);
        self.observer.opened(file);
    }

    /// Called after `from` was duplicated to `to`; either may be observed.
    pub fn duplicated(&self, from: c_int, to: c_int) {
        let file = self.open().of.get(&from).copied();
        self.closed(to);
        if let Some(file) = file {
            self.open().of.insert(to, file);
            hint(to, true);
        }
    }

    /// Called after a descriptor was closed.
    pub fn closed(&self, fd: c_int) {
        let mut open = self.open();
        let Some(file) = open.of.remove(&fd) else { return };
        let was_last = !open.of.values().any(|other| *other == file);
        drop(open);
        hint(fd, false);
        if was_last {
            self.observer.closed(file);
        }
    }

    /// Forwards an ioctl if the descriptor is observed. Otherwise returns `None`.
    ///
    /// # Safety
    /// As `ioctl`.
    pub unsafe fn ioctl(&self, fd: c_int, request: c_ulong, arg: *mut c_void) -> Option<c_int> {
        let file = self.open().of.get(&fd).copied()?;
        let word = Request(request as u32);
        // SAFETY: the program's own request, with the program's own pointers.
        let user = unsafe { ThisProcess::new() };
        let copy = || {
            let mut bytes = vec![0; word.size()];
            // An argument that cannot be read is reported as zeros; the kernel will refuse it.
            let _ = user.read(arg as u64, &mut bytes);
            bytes
        };
        let before = copy();
        let call = Call {
            file,
            request: word,
            info: tepui_gpus::device::request_info(word),
            before: &before,
            user: &user,
            // SAFETY: the program keeps the descriptor open during its call.
            real_node: Some(unsafe { BorrowedFd::borrow_raw(fd) }),
        };
        self.observer.entered(&call);
        // SAFETY: the caller's contract.
        let result = unsafe { real::ioctl(fd, request, arg) };
        // SAFETY: errno's location is always valid.
        let errno = unsafe { libc::__errno_location() };
        // SAFETY: as above.
        let error = Errno::from_raw_os_error(unsafe { *errno });
        let outcome = u32::try_from(result).map_err(|_| error);
        self.observer.answered(&call, &copy(), outcome);
        if result < 0 {
            // SAFETY: as above. The observer may have changed it.
            unsafe { *errno = error.raw_os_error() };
        }
        Some(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Record(Mutex<Vec<String>>);

    impl CallObserver for Record {
        fn opened(&self, file: u64) {
            self.0.lock().unwrap().push(format!("open {file}"));
        }
        fn answered(&self, call: &Call<'_>, after: &[u8], result: Result<u32, Errno>) {
            let name = call.info.map_or("?", |info| info.name);
            let text = format!("{name} of {}: {after:?} = {result:?}", call.file);
            self.0.lock().unwrap().push(text);
        }
        fn closed(&self, file: u64) {
            self.0.lock().unwrap().push(format!("close {file}"));
        }
    }

    #[test]
    fn descriptors_of_one_open_file_are_one_file() {
        let record = Arc::new(Record::default());
        let nodes = PassThrough::new(record.clone());
        // Descriptors that are not open: tracking does not check them, and the kernel returns
        // EBADF.
        nodes.watch(60001);
        nodes.watch(60002);
        nodes.duplicated(60001, 60003);
        nodes.closed(60001);
        let request = tepui_drm::uapi::core::Ioctl::GemClose.info().request;
        let mut arg = [7u8, 0, 0, 0, 0, 0, 0, 0];
        // SAFETY: the argument has the size that the request word says.
        let result = unsafe { nodes.ioctl(60003, request.0.into(), arg.as_mut_ptr().cast()) };
        assert_eq!(result, Some(-1));
        // SAFETY: as above.
        let unwatched = unsafe { nodes.ioctl(60001, request.0.into(), arg.as_mut_ptr().cast()) };
        assert_eq!(unwatched, None);
        nodes.duplicated(60002, 60003);
        nodes.closed(60002);
        nodes.closed(60003);
        assert_eq!(
            *record.0.lock().unwrap(),
            [
                "open 1",
                "open 2",
                "DRM_IOCTL_GEM_CLOSE of 1: [7, 0, 0, 0, 0, 0, 0, 0] = Err(Os { code: 9, \
                 kind: Uncategorized, message: \"Bad file descriptor\" })",
                "close 1",
                "close 2",
            ]
        );
    }
}
