//! The client's side of a render node: references to buffer handles.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use tepui_drm::Errno;
use tepui_drm::client::RenderNode;
use tepui_drm::core::{CoreDevice, CoreFile, DriverInfo};
use tepui_drm::device::VirtualFile;
use tepui_drm::gem::{Backing, Gem};
use tepui_drm::uapi::Request;
use tepui_drm::user::UserMemory;

/// A buffer that is only a file.
struct Bytes(OwnedFd);

impl Backing for Bytes {
    fn size(&self) -> u64 {
        4096
    }
    fn base(&self) -> *mut u8 {
        std::ptr::null_mut()
    }
    fn file(&self) -> Option<BorrowedFd<'_>> {
        Some(self.0.as_fd())
    }
}

/// An open file with the core's requests alone.
struct Core(CoreFile);

impl VirtualFile for Core {
    fn ioctl(&self, user: &dyn UserMemory, request: Request, arg: &mut [u8]) -> Result<u32, Errno> {
        self.0.ioctl(user, request, arg).map(|()| 0)
    }
    fn mapping(&self, _offset: u64, _length: u64) -> Result<Arc<Gem>, Errno> {
        Err(Errno::INVAL)
    }
}

fn open() -> (Arc<Core>, RenderNode) {
    let info = DriverInfo { name: "test", description: "a test", version: [1, 2, 3] };
    let device = Arc::new(CoreDevice::new(info));
    let file = Arc::new(Core(CoreFile::new(device, |fd, _| Ok(Box::new(Bytes(fd))))));
    let node = RenderNode::of_virtual(file.clone());
    (file, node)
}

/// A buffer as a driver's own request makes it.
fn buffer(file: &Core, node: &RenderNode) -> u32 {
    let fd = rustix::fs::memfd_create("tepui-bo-test", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
    rustix::fs::ftruncate(&fd, 4096).unwrap();
    let handle = file.0.handle(file.0.device().buffers.create(Box::new(Bytes(fd))));
    node.adopt_buffer(handle);
    handle
}

#[test]
fn a_handle_lives_until_its_last_reference_is_given_back() {
    let (file, node) = open();
    let handle = buffer(&file, &node);
    let fd = node.export_buffer(handle).unwrap();
    assert_eq!(node.import_buffer(fd.as_raw_fd()), Ok(handle));
    assert_eq!(node.import_buffer(fd.as_raw_fd()), Ok(handle));
    for _ in 0..2 {
        node.close_buffer(handle);
        assert!(file.0.gem(handle).is_ok());
    }
    node.close_buffer(handle);
    assert_eq!(file.0.gem(handle).err(), Some(Errno::NOENT));
    // An import without the exporter's handle counts from one again.
    let handle = node.import_buffer(fd.as_raw_fd()).unwrap();
    node.close_buffer(handle);
    assert_eq!(file.0.gem(handle).err(), Some(Errno::NOENT));
}

#[test]
fn an_import_keeps_its_handle_while_other_threads_close_theirs() {
    let (file, node) = open();
    let fd = node.export_buffer(buffer(&file, &node)).unwrap();
    let first = node.import_buffer(fd.as_raw_fd()).unwrap();
    node.close_buffer(first);
    node.close_buffer(first);
    std::thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| {
                for _ in 0..5000 {
                    let handle = node.import_buffer(fd.as_raw_fd()).unwrap();
                    assert!(file.0.gem(handle).is_ok(), "closed by another thread");
                    node.close_buffer(handle);
                }
            });
        }
    });
    assert_eq!(file.0.gem_count(), 0);
}
