//! Clients of one device in several processes. Each test starts this test program again; the functions of the module
//! `client` run there, and find the server by the environment.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tepui_drm::Errno;
use tepui_drm::device::{Call, CallObserver, VirtualDevice};
use tepui_drm::uapi::panthor::{self as uapi, Ioctl};
use tepui_drm::uapi::{IoctlInfo, KernelStruct, Request, core};
use tepui_mali_kernel::exercise::Reader;
use tepui_mali_kernel::{Device, Options};
use tepui_transport::{Host, Remote, SERVER_VARIABLE, Server};

/// A server of a device, in a folder of its own.
struct Serving {
    device: Arc<Device>,
    waits: Arc<Waits>,
    _server: Arc<Server>,
    folder: tempfile::TempDir,
}

/// Counts the waits for sync objects that have begun.
#[derive(Default)]
struct Waits(AtomicUsize);

impl tepui_mali_kernel::Observer for Waits {}

impl CallObserver for Waits {
    fn entered(&self, call: &Call<'_>) {
        if call.request == core::Ioctl::SyncobjWait.info().request {
            self.0.fetch_add(1, Ordering::Release);
        }
    }
}

fn serve() -> Serving {
    let chip = tepui_mali_chips::chip("mali-g610").unwrap();
    let waits = Arc::<Waits>::default();
    let options = Options {
        shareable: true,
        report_faults: false,
        observer: Some(waits.clone()),
        ..Options::default()
    };
    let device = Device::with_executor(chip, options, Box::new(Reader));
    let folder = tempfile::tempdir().unwrap();
    let host = Host::new(device.clone());
    let server = Server::start(host, 130, &folder.path().join("gpu")).unwrap();
    Serving { device, waits, _server: server, folder }
}

impl Serving {
    fn connect(&self) -> Remote {
        Remote::connect(&self.folder.path().join("gpu")).unwrap()
    }

    /// A process that runs a function of `client`.
    fn process(&self, name: &str) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "--ignored", "--nocapture", &format!("client::{name}")]);
        command.env(SERVER_VARIABLE, self.folder.path().join("gpu"));
        command
    }
}

/// An open node of a device in a server.
struct Node<'a> {
    remote: &'a Remote,
    fd: OwnedFd,
}

impl<'a> Node<'a> {
    fn open(remote: &'a Remote) -> Node<'a> {
        Node { remote, fd: remote.open(libc::O_CLOEXEC).unwrap() }
    }

    fn ask<T: KernelStruct>(&self, info: &IoctlInfo, args: &mut T) -> Result<u32, Errno> {
        let id = self.fd.as_raw_fd();
        let at = std::ptr::from_mut(args) as u64;
        self.remote.ioctl(id, info.request, at).expect("an open node")
    }

    fn buffer(&self) -> u32 {
        let mut args = uapi::BoCreate { size: 8192, ..Default::default() };
        self.ask(Ioctl::BoCreate.info(), &mut args).unwrap();
        args.handle
    }

    fn map(&self, handle: u32) -> *mut u32 {
        let mut args = uapi::BoMmapOffset { handle, ..Default::default() };
        self.ask(Ioctl::BoMmapOffset.info(), &mut args).unwrap();
        let id = self.fd.as_raw_fd();
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let file = self.remote.mapping(id, args.offset, 8192, access, libc::MAP_SHARED);
        let file = file.expect("an open node").unwrap();
        // SAFETY: a fresh mapping of a file.
        let at = unsafe {
            libc::mmap(std::ptr::null_mut(), 8192, access, libc::MAP_SHARED, file.as_raw_fd(), 0)
        };
        assert_ne!(at, libc::MAP_FAILED);
        at.cast()
    }

    fn export(&self, handle: u32) -> OwnedFd {
        let flags = (libc::O_RDWR | libc::O_CLOEXEC) as u32;
        let mut args = core::PrimeHandle { handle, flags, ..Default::default() };
        self.ask(core::Ioctl::PrimeHandleToFd.info(), &mut args).unwrap();
        // SAFETY: fresh from the request.
        unsafe { OwnedFd::from_raw_fd(args.fd) }
    }

    fn import(&self, fd: i32) -> Result<u32, Errno> {
        let mut args = core::PrimeHandle { fd, ..Default::default() };
        self.ask(core::Ioctl::PrimeFdToHandle.info(), &mut args).map(|_| args.handle)
    }

    fn syncobj(&self) -> u32 {
        let mut args = core::SyncobjCreate::default();
        self.ask(core::Ioctl::SyncobjCreate.info(), &mut args).unwrap();
        args.handle
    }

    /// Waits for a sync object that may not have a fence yet.
    fn wait(&self, object: u32) -> Result<u32, Errno> {
        let mut args = core::SyncobjWait {
            handles: &raw const object as u64,
            count_handles: 1,
            flags: 2,
            timeout_nsec: i64::MAX,
            ..Default::default()
        };
        self.ask(core::Ioctl::SyncobjWait.info(), &mut args)
    }
}

/// A descriptor that a child inherits, as the number 3 and upwards would be in its place.
fn inherited(fd: &OwnedFd) -> OwnedFd {
    rustix::io::dup(fd).unwrap()
}

fn succeeds(child: Child) {
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

#[test]
fn a_client_sees_the_node_and_its_own_errors() {
    let serving = serve();
    let remote = serving.connect();
    assert_eq!(remote.node().minor, 130);
    assert_eq!(remote.node().node(), serving.device.node());
    let node = Node::open(&remote);
    assert!(remote.is_node(node.fd.as_raw_fd()));
    let mut args = uapi::BoCreate::default();
    assert_eq!(node.ask(Ioctl::BoCreate.info(), &mut args), Err(Errno::INVAL));
    // A pointer that leads nowhere, and a descriptor that is not the device's.
    let id = node.fd.as_raw_fd();
    let request = Ioctl::BoCreate.info().request;
    assert_eq!(remote.ioctl(id, request, 8), Some(Err(Errno::FAULT)));
    let other = std::io::stderr().as_raw_fd();
    assert_eq!(remote.ioctl(other, request, 8), None);
    assert!(!remote.is_node(other));
    // Numbers that are no descriptors.
    assert!(!remote.is_node(-1) && !remote.is_node(i32::MAX));
    assert_eq!(remote.ioctl(i32::MAX, request, 8), None);
    assert_eq!(node.import(-1), Err(Errno::BADF));
    assert_eq!(node.import(node.fd.as_raw_fd()), Err(Errno::INVAL));
    assert_eq!(remote.ioctl(id, Request(0), 0), None);
}

#[test]
fn registers_are_read_only() {
    let serving = serve();
    let remote = serving.connect();
    let node = Node::open(&remote);
    let id = node.fd.as_raw_fd();
    let map = |length, protection, flags| {
        let answer = remote.mapping(id, uapi::USER_MMIO_OFFSET_64BIT, length, protection, flags);
        answer.expect("an open node").map(drop)
    };
    assert_eq!(map(4096, libc::PROT_READ, libc::MAP_SHARED), Ok(()));
    assert_eq!(map(8192, libc::PROT_READ, libc::MAP_SHARED), Err(Errno::INVAL));
    let both = libc::PROT_READ | libc::PROT_WRITE;
    assert_eq!(map(4096, both, libc::MAP_SHARED), Err(Errno::INVAL));
}

#[test]
fn buffers_and_sync_objects_pass_between_processes() {
    let serving = serve();
    let remote = serving.connect();
    let node = Node::open(&remote);
    let handle = node.buffer();
    let memory = node.map(handle);
    // SAFETY: inside of the mapping.
    unsafe { memory.write_volatile(41) };
    let object = node.syncobj();
    let mut args = core::SyncobjHandle { handle: object, ..Default::default() };
    node.ask(core::Ioctl::SyncobjHandleToFd.info(), &mut args).unwrap();
    // SAFETY: fresh from the request.
    let shared = unsafe { OwnedFd::from_raw_fd(args.fd) };
    let (buffer, shared) = (inherited(&node.export(handle)), inherited(&shared));
    let mut process = serving.process("increments_a_buffer_and_signals");
    process.env("BUFFER", buffer.as_raw_fd().to_string());
    process.env("SYNCOBJ", shared.as_raw_fd().to_string());
    let child = process.stdout(Stdio::piped()).spawn().unwrap();
    assert_eq!(node.wait(object), Ok(0));
    // SAFETY: inside of the mapping.
    assert_eq!(unsafe { memory.read_volatile() }, 42);
    succeeds(child);
}

#[test]
fn an_open_node_works_in_a_process_that_inherits_it() {
    let serving = serve();
    let remote = serving.connect();
    let node = Node::open(&remote);
    node.buffer();
    let copy = inherited(&node.fd);
    let mut process = serving.process("uses_an_inherited_node");
    let child = process.env("NODE", copy.as_raw_fd().to_string()).stdout(Stdio::piped());
    succeeds(child.spawn().unwrap());
}

#[test]
fn what_a_killed_client_held_is_freed_and_others_go_on() {
    let serving = serve();
    let remote = serving.connect();
    let node = Node::open(&remote);
    let mut child = serving.process("waits_for_ever").stdout(Stdio::piped()).spawn().unwrap();
    // The child prints this once it holds a buffer and begins to wait.
    let mut line = String::new();
    let mut output = std::io::BufReader::new(child.stdout.take().unwrap());
    while !line.contains("waiting") {
        line.clear();
        assert_ne!(std::io::BufRead::read_line(&mut output, &mut line).unwrap(), 0, "it ended");
    }
    let fd: i32 = line.rsplit(' ').next().unwrap().trim().parse().unwrap();
    let exported = std::fs::File::open(format!("/proc/{}/fd/{fd}", child.id())).unwrap();
    assert!(node.import(exported.as_raw_fd()).is_ok(), "the buffer is the device's");
    while serving.waits.0.load(Ordering::Acquire) == 0 {
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // The file is closed in the server, and the thread that waited for it ends: only this test, the
    // host and this test's own node refer to the device.
    while Arc::strong_count(&serving.device) > 3 {
        std::thread::yield_now();
    }
    assert_eq!(node.buffer(), 2);
}

#[test]
fn a_client_of_a_server_that_is_gone_gets_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gpu");
    assert!(Remote::connect(&path).is_err());
    let mut server = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--ignored", "--nocapture", "client::serves"])
        .env(SERVER_VARIABLE, &path)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let remote = loop {
        match Remote::connect(&path) {
            Ok(remote) => break remote,
            Err(_) => assert!(server.try_wait().unwrap().is_none(), "the server ended"),
        }
        std::thread::yield_now();
    };
    let node = Node::open(&remote);
    let object = node.syncobj();
    std::thread::scope(|scope| {
        // While it waits for a call, and before the next.
        let waiting = scope.spawn(|| node.wait(object));
        server.kill().unwrap();
        server.wait().unwrap();
        assert_eq!(waiting.join().unwrap(), Err(Errno::NODEV));
    });
    assert_eq!(remote.open(0).map(drop), Err(Errno::NODEV));
}

mod client {
    use super::*;

    fn remote() -> Remote {
        let path = std::env::var_os(SERVER_VARIABLE).expect("started by a test");
        Remote::connect(Path::new(&path)).unwrap()
    }

    /// An inherited descriptor.
    fn number(name: &str) -> i32 {
        std::env::var(name).unwrap().parse().unwrap()
    }

    #[test]
    #[ignore = "runs in a process of another test"]
    fn increments_a_buffer_and_signals() {
        let remote = remote();
        let node = Node::open(&remote);
        let memory = node.map(node.import(number("BUFFER")).unwrap());
        // SAFETY: inside of the mapping.
        unsafe { memory.write_volatile(memory.read_volatile() + 1) };
        let mut args = core::SyncobjHandle { fd: number("SYNCOBJ"), ..Default::default() };
        node.ask(core::Ioctl::SyncobjFdToHandle.info(), &mut args).unwrap();
        let handles = &raw const args.handle as u64;
        let mut args = core::SyncobjArray { handles, count_handles: 1, ..Default::default() };
        node.ask(core::Ioctl::SyncobjSignal.info(), &mut args).unwrap();
    }

    #[test]
    #[ignore = "runs in a process of another test"]
    fn uses_an_inherited_node() {
        let remote = remote();
        // SAFETY: inherited, and used here only.
        let fd = unsafe { OwnedFd::from_raw_fd(number("NODE")) };
        // The first handle is the parent's.
        assert_eq!(Node { remote: &remote, fd }.buffer(), 2);
    }

    #[test]
    #[ignore = "runs in a process of another test"]
    fn waits_for_ever() {
        let remote = remote();
        let node = Node::open(&remote);
        let exported = node.export(node.buffer());
        let object = node.syncobj();
        println!("waiting {}", exported.as_raw_fd());
        let _ = node.wait(object);
    }

    #[test]
    #[ignore = "runs in a process of another test"]
    fn serves() {
        let path = std::env::var_os(SERVER_VARIABLE).expect("started by a test");
        let chip = tepui_mali_chips::chip("mali-g610").unwrap();
        let device = Device::new(chip, Options { shareable: true, ..Options::default() });
        let _server = Server::start(Host::new(device), 130, Path::new(&path)).unwrap();
        loop {
            std::thread::park();
        }
    }
}
