//! Ioctls on a dma-buf's own descriptor: implicit synchronisation.
//!
//! source: dma-buf.h.

use rustix::io::Errno;

use crate::gem::Gem;
use crate::sync_file;
use crate::token::Registry;
use crate::uapi::{Request, kernel_structs};
use crate::user::UserMemory;

kernel_structs! {
    /// Begins or ends CPU access (`DMA_BUF_IOCTL_SYNC`).
    dma_buf_sync as DmaBufSync[8] {
        0 flags: u64,
    }
    /// Exports the buffer's fences as a sync file, or adds those of one.
    dma_buf_export_sync_file as DmaBufSyncFile[8] {
        0 flags: u32,
        4 fd: i32,
    }
}

/// The ioctl type letter.
pub const FAMILY: u8 = b'b';
const SYNC: u8 = 0;
const SET_NAME: u8 = 1;
const EXPORT_SYNC_FILE: u8 = 2;
const IMPORT_SYNC_FILE: u8 = 3;

const READ: u32 = 1;
const WRITE: u32 = 2;
const END: u32 = 4;

/// Executes an ioctl on the descriptor of a dma-buf.
///
/// # Errors
/// `EINVAL` for unknown flags, `ENOTTY` for an unknown request.
pub fn ioctl(
    registry: &Registry,
    user: &dyn UserMemory,
    gem: &Gem,
    request: Request,
    arg: &mut [u8],
) -> Result<(), Errno> {
    match request.nr() {
        SYNC => {
            let sync: DmaBufSync =
                bytemuck::try_pod_read_unaligned(arg).map_err(|_| Errno::NOTTY)?;
            let flags = u32::try_from(sync.flags).map_err(|_| Errno::INVAL)?;
            if flags & !(READ | WRITE | END) != 0 || flags & (READ | WRITE) == 0 {
                return Err(Errno::INVAL);
            }
            // Memory is coherent; only the start of an access has something to wait for.
            if flags & END == 0 {
                let _ = gem.users(flags & WRITE != 0).wait();
            }
            Ok(())
        }
        SET_NAME => Ok(()),
        EXPORT_SYNC_FILE | IMPORT_SYNC_FILE => {
            let mut file: DmaBufSyncFile =
                bytemuck::try_pod_read_unaligned(arg).map_err(|_| Errno::NOTTY)?;
            if file.flags & !(READ | WRITE) != 0 || file.flags == 0 {
                return Err(Errno::INVAL);
            }
            let writes = file.flags & WRITE != 0;
            if request.nr() == IMPORT_SYNC_FILE {
                gem.add_user(sync_file::import(registry, user, file.fd)?, writes);
            } else {
                file.fd = user.install(sync_file::export(registry, gem.users(writes))?, true)?;
                arg.copy_from_slice(bytemuck::bytes_of(&file));
            }
            Ok(())
        }
        _ => Err(Errno::NOTTY),
    }
}
