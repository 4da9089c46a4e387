//! Sync files: file descriptors of a fence that poll as readable once it has signalled.
//!
//! source: sync_file.h.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::io::Errno;

use crate::fence::Fence;
use crate::token::Registry;
use crate::uapi::{Request, kernel_structs};
use crate::user::{UserMemory, write_array};

kernel_structs! {
    /// Merges two sync files.
    sync_merge_data as MergeData[48] {
        0 name: [u8; 32],
        32 fd2: i32,
        36 fence: i32,
        40 flags: u32,
        44 pad: u32,
    }
    /// Information about a fence of a sync file.
    sync_fence_info as FenceInfo[80] {
        0 obj_name: [u8; 32],
        32 driver_name: [u8; 32],
        64 status: i32,
        68 flags: u32,
        72 timestamp_ns: u64,
    }
    /// Information about a sync file.
    sync_file_info as FileInfo[56] {
        0 name: [u8; 32],
        32 status: i32,
        36 flags: u32,
        40 num_fences: u32,
        44 pad: u32,
        48 sync_fence_info: u64,
    }
}

/// The ioctl type letter.
pub const FAMILY: u8 = b'>';
const MERGE: u8 = 3;
const FILE_INFO: u8 = 4;
const SET_DEADLINE: u8 = 5;

/// The object that a sync file's descriptor refers to.
pub struct SyncFile(Fence);

/// Exports a fence as a sync file's descriptor, which is closed on exec.
pub fn export(registry: &Registry, fence: Fence) -> Result<OwnedFd, Errno> {
    let (fd, keeper) = registry.issue(Arc::new(SyncFile(fence.clone())))?;
    fence.on_signal(move |_| {
        if let Some(keeper) = keeper.upgrade() {
            keeper.wake();
        }
    });
    Ok(fd)
}

/// Imports the fence of a sync file that a client's descriptor names.
///
/// # Errors
/// `EBADF` for a closed descriptor, `EINVAL` for one that is no sync file of this device.
pub fn import(registry: &Registry, user: &dyn UserMemory, fd: i32) -> Result<Fence, Errno> {
    let fd = user.descriptor(fd)?;
    Ok(registry.find::<SyncFile>(fd.as_fd()).ok_or(Errno::INVAL)?.0.clone())
}

impl SyncFile {
    /// 0 while pending, 1 when signalled, a negative error number when signalled with an error.
    fn status(&self) -> i32 {
        match self.0.outcome() {
            None => 0,
            Some(Ok(())) => 1,
            Some(Err(errno)) => -errno.raw_os_error(),
        }
    }

    /// Executes an ioctl on the descriptor of a sync file.
    ///
    /// # Errors
    /// `EINVAL` for flags or padding, `ENOTTY` for an unknown request, and those of [`import`].
    pub fn ioctl(
        &self,
        registry: &Registry,
        user: &dyn UserMemory,
        request: Request,
        arg: &mut [u8],
    ) -> Result<(), Errno> {
        match request.nr() {
            MERGE => {
                let mut merge: MergeData =
                    bytemuck::try_pod_read_unaligned(arg).map_err(|_| Errno::NOTTY)?;
                if merge.flags != 0 || merge.pad != 0 {
                    return Err(Errno::INVAL);
                }
                // The kernel says ENOENT here for anything that is not a sync file.
                let other = import(registry, user, merge.fd2).map_err(|_| Errno::NOENT)?;
                let both = export(registry, Fence::all(&[self.0.clone(), other]))?;
                merge.fence = user.install(both, true)?;
                arg.copy_from_slice(bytemuck::bytes_of(&merge));
                Ok(())
            }
            FILE_INFO => {
                let mut info: FileInfo =
                    bytemuck::try_pod_read_unaligned(arg).map_err(|_| Errno::NOTTY)?;
                if info.flags != 0 || info.pad != 0 {
                    return Err(Errno::INVAL);
                }
                // A client that passes 0 fences asks for their number.
                if info.num_fences > 0 {
                    let fence = FenceInfo {
                        driver_name: name("tepui"),
                        status: self.status(),
                        timestamp_ns: self.0.signaled_at_ns().unwrap_or(0),
                        ..FenceInfo::default()
                    };
                    write_array(user, info.sync_fence_info, &[fence])?;
                }
                info.name = name("tepui");
                info.status = self.status();
                info.num_fences = 1;
                arg.copy_from_slice(bytemuck::bytes_of(&info));
                Ok(())
            }
            SET_DEADLINE => Ok(()),
            _ => Err(Errno::NOTTY),
        }
    }
}

fn name(text: &str) -> [u8; 32] {
    let mut name = [0; 32];
    name[..text.len()].copy_from_slice(text.as_bytes());
    name
}
