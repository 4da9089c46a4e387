//! The host: a virtual device, its open files, and the calls on them.

use std::sync::Arc;

use tepui_drm::Errno;
use tepui_drm::device::{Node, VirtualDevice, VirtualFile};
use tepui_drm::dma_buf;
use tepui_drm::gem::Gem;
use tepui_drm::sync_file::{self, SyncFile};
use tepui_drm::token::{FileId, Registry};
use tepui_drm::uapi::Request;
use tepui_drm::user::UserMemory;

/// The answer to a call on a descriptor: `None` if the descriptor does not belong to the device.
pub type Answer<T> = Option<Result<T, Errno>>;

/// A virtual device and its open files.
pub struct Host {
    device: Arc<dyn VirtualDevice>,
    files: Registry,
}

/// An open file in the registry.
struct OpenFile(Arc<dyn VirtualFile>);

impl Host {
    /// A host of a device without open files.
    pub fn new(device: Arc<dyn VirtualDevice>) -> Host {
        Host { device, files: Registry::default() }
    }

    /// Describes the device.
    pub fn node(&self) -> Node {
        self.device.node()
    }

    /// The open files, by their descriptors.
    pub(crate) fn files(&self) -> &Registry {
        &self.files
    }

    /// The objects that the device's other descriptors refer to.
    pub(crate) fn objects(&self) -> &Registry {
        self.device.registry()
    }

    /// Opens the node with the flags of `open`; returns the number of the client's descriptor.
    ///
    /// # Errors
    /// Those of a process without room for descriptors.
    pub fn open(&self, client: &dyn UserMemory, flags: i32) -> Result<i32, Errno> {
        self.sweep();
        let file = Arc::clone(&self.device).open();
        let (fd, _keeper) = self.files.issue(Arc::new(OpenFile(file)))?;
        if flags & libc::O_NONBLOCK != 0 {
            rustix::fs::fcntl_setfl(&fd, rustix::fs::OFlags::NONBLOCK)?;
        }
        client.install(fd, flags & libc::O_CLOEXEC != 0)
    }

    fn file(&self, id: FileId) -> Option<Arc<dyn VirtualFile>> {
        Some(self.files.find_id::<OpenFile>(id)?.0.clone())
    }

    /// Whether a descriptor is an open node.
    pub fn is_node(&self, id: FileId) -> bool {
        self.files.find_id::<OpenFile>(id).is_some()
    }

    /// Handles an ioctl if its descriptor belongs to the device: an open node, a dma-buf or a sync file. `arg` is the
    /// address of the argument.
    pub fn ioctl(
        &self,
        client: &dyn UserMemory,
        id: FileId,
        request: Request,
        arg: u64,
    ) -> Answer<u32> {
        let objects = self.objects();
        match request.family() {
            Request::DRM => {
                let file = self.file(id)?;
                Some(with_argument(client, request, arg, |arg| file.ioctl(client, request, arg)))
            }
            dma_buf::FAMILY => {
                let gem = objects.find_id::<Gem>(id)?;
                Some(with_argument(client, request, arg, |arg| {
                    dma_buf::ioctl(objects, client, &gem, request, arg).map(|()| 0)
                }))
            }
            sync_file::FAMILY => {
                let file = objects.find_id::<SyncFile>(id)?;
                Some(with_argument(client, request, arg, |arg| {
                    file.ioctl(objects, client, request, arg).map(|()| 0)
                }))
            }
            _ => None,
        }
    }

    /// Finds the buffer for an mmap through an open node, with the protection and flags of `mmap`.
    pub fn mapping(
        &self,
        id: FileId,
        offset: u64,
        length: u64,
        protection: i32,
        flags: i32,
    ) -> Answer<Arc<Gem>> {
        let gem = self.file(id)?.mapping(offset, length);
        Some(gem.and_then(|gem| {
            let writes = protection & libc::PROT_WRITE != 0;
            // The kernel also refuses private writable mappings of device memory.
            let is_private = writes && flags & libc::MAP_SHARED == 0;
            let is_register = gem.is_read_only() && protection & !libc::PROT_READ != 0;
            if is_private || is_register { Err(Errno::INVAL) } else { Ok(gem) }
        }))
    }

    /// Closes the files whose last descriptor is closed.
    pub fn sweep(&self) {
        self.files.sweep();
    }
}

/// Copies the argument in and, whatever the result, out again, as the kernel does.
fn with_argument(
    client: &dyn UserMemory,
    request: Request,
    arg: u64,
    body: impl FnOnce(&mut [u8]) -> Result<u32, Errno>,
) -> Result<u32, Errno> {
    // Known arguments have at most 64 bytes; a request number can encode up to 16 KiB.
    const USUAL_BYTES: usize = 128;
    let (mut small, mut large);
    let bytes: &mut [u8] = if request.size() <= USUAL_BYTES {
        small = [0; USUAL_BYTES];
        &mut small[..request.size()]
    } else {
        large = vec![0; request.size()];
        &mut large
    };
    if request.kernel_reads() {
        client.read(arg, bytes)?;
    }
    let result = body(bytes);
    if request.kernel_writes() {
        client.write(arg, bytes)?;
    }
    result
}
