//! The render node: sync objects alone.

use std::sync::Arc;

use tepui_drm::Errno;
use tepui_drm::client::RenderNode;
use tepui_drm::core::{CoreDevice, CoreFile, DriverInfo};
use tepui_drm::device::VirtualFile;
use tepui_drm::gem::Gem;
use tepui_drm::uapi::Request;
use tepui_drm::user::UserMemory;

/// An open file that answers the DRM core's requests.
struct File(CoreFile);

impl VirtualFile for File {
    fn ioctl(&self, user: &dyn UserMemory, request: Request, arg: &mut [u8]) -> Result<u32, Errno> {
        self.0.ioctl(user, request, arg).map(|()| 0)
    }

    fn mapping(&self, offset: u64, length: u64) -> Result<Arc<Gem>, Errno> {
        self.0.mapping(offset, length)
    }
}

/// Opens a render node of its own.
pub fn open() -> RenderNode {
    let driver = DriverInfo { name: "null", description: "no GPU", version: [1, 0, 0] };
    let device = Arc::new(CoreDevice::new(driver));
    RenderNode::of_virtual(Arc::new(File(CoreFile::new(device, |_, _| Err(Errno::INVAL)))))
}
