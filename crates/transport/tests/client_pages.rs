//! Memory that a client and a device in another process share in i915's ways: pages of the client's own, and mappings
//! that an ioctl makes.

use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU32, Ordering};

use tepui_drm::Errno;
use tepui_drm::uapi::i915::{self as uapi, ExecObject2, Execbuffer2, Ioctl, exec_object};
use tepui_drm::uapi::{IoctlInfo, KernelStruct};
use tepui_intel_kernel::{Device, Options};
use tepui_transport::{Host, Remote, Server};

const PAGE: u64 = 4096;

/// A client of a server in this process, which reaches it as one of another: over a socket.
struct Client {
    remote: Remote,
    node: std::os::fd::OwnedFd,
    _server: std::sync::Arc<Server>,
    _folder: tempfile::TempDir,
}

impl Client {
    fn new() -> Client {
        let chip = tepui_intel_chips::chip("skl").unwrap();
        let device = Device::new(chip, Options { report_faults: false, ..Options::default() });
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gpu");
        let server = Server::start(Host::new(device), 130, &path).unwrap();
        let remote = Remote::connect(&path).unwrap();
        let node = remote.open(libc::O_CLOEXEC).unwrap();
        Client { remote, node, _server: server, _folder: folder }
    }

    fn ask<T: KernelStruct>(&self, info: &IoctlInfo, args: &mut T) -> Result<u32, Errno> {
        let at = std::ptr::from_mut(args) as u64;
        self.remote.ioctl(self.node.as_raw_fd(), info.request, at).expect("an open node")
    }

    fn userptr(&self, user_ptr: u64, user_size: u64) -> Result<u32, Errno> {
        let mut args = uapi::GemUserptr { user_ptr, user_size, ..Default::default() };
        self.ask(Ioctl::GemUserptr.info(), &mut args).map(|_| args.handle)
    }
}

/// A batch that stores a value: MI_STORE_DATA_IMM with the address at byte 4, and the end.
fn store(address: u64, value: u32) -> [u32; 6] {
    const STORE: u32 = 0x20 << 23 | 2;
    const END: u32 = 0x0a << 23;
    [STORE, address as u32, (address >> 32) as u32, value, END, 0]
}

/// A word of this process, as others may change it.
fn word(address: u64) -> &'static AtomicU32 {
    // SAFETY: the test keeps the page mapped as long as it reads.
    unsafe { AtomicU32::from_ptr(address as *mut u32) }
}

#[test]
fn the_gpu_writes_pages_of_the_client() {
    let client = Client::new();
    let access = rustix::mm::ProtFlags::READ | rustix::mm::ProtFlags::WRITE;
    let private = rustix::mm::MapFlags::PRIVATE;
    // SAFETY: a fresh mapping.
    let pages =
        unsafe { rustix::mm::mmap_anonymous(std::ptr::null_mut(), 3 << 12, access, private) };
    let pages = pages.unwrap() as u64;
    word(pages + PAGE + 8).store(5, Ordering::Relaxed);
    // Two buffers that share the page in the middle.
    let buffers = [pages, pages + PAGE].map(|at| client.userptr(at, 2 * PAGE).unwrap());
    assert_eq!(word(pages + PAGE + 8).load(Ordering::Relaxed), 5);

    // The batch is written through a mapping that an ioctl makes.
    let mut batch = uapi::GemCreateExt { size: 2 * PAGE, ..Default::default() };
    client.ask(Ioctl::GemCreate.info(), &mut batch).unwrap();
    let mut map =
        uapi::GemMmap { handle: batch.handle, offset: PAGE, size: PAGE, ..Default::default() };
    client.ask(Ioctl::GemMmap.info(), &mut map).unwrap();
    for (k, (handle, value)) in buffers.into_iter().zip([70, 71]).enumerate() {
        let at = pages + k as u64 * PAGE;
        let to = pages + PAGE + 4 * k as u64;
        for (word_at, command) in (map.addr_ptr..).step_by(4).zip(store(to, value)) {
            word(word_at).store(command, Ordering::Relaxed);
        }
        let flags = exec_object::PINNED | exec_object::SUPPORTS_48B_ADDRESS;
        let object = |handle, offset| ExecObject2 { handle, offset, flags, ..Default::default() };
        let objects = [object(handle, at), object(batch.handle, 1 << 20)];
        let mut submit = Execbuffer2 {
            buffers_ptr: objects.as_ptr() as u64,
            buffer_count: 2,
            batch_start_offset: PAGE as u32,
            ..Default::default()
        };
        client.ask(Ioctl::GemExecbuffer2.info(), &mut submit).unwrap();
        let mut wait =
            uapi::GemWait { bo_handle: handle, timeout_ns: i64::MAX, ..Default::default() };
        client.ask(Ioctl::GemWait.info(), &mut wait).unwrap();
        assert_eq!(word(to).load(Ordering::Relaxed), value);
    }
    assert_eq!(word(pages + PAGE + 8).load(Ordering::Relaxed), 5);

    // Unmapped memory cannot become a buffer.
    // SAFETY: the range is no longer used.
    unsafe { rustix::mm::munmap(pages as *mut _, 3 << 12).unwrap() };
    assert_eq!(client.userptr(pages, PAGE), Err(Errno::FAULT));
}
