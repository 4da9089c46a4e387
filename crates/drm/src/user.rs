//! The client's memory, as pointers inside ioctl arguments reach it, and its descriptors.

use std::os::fd::{IntoRawFd, OwnedFd};

use bytemuck::Pod;
use rustix::io::Errno;

use crate::gem::Gem;

/// A client: the memory that its pointers refer to, and the descriptors that its numbers name. Descriptors are
/// this process's unless an implementation says otherwise.
pub trait UserMemory {
    /// Copies from `address`. `EFAULT` if any byte cannot be read.
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), Errno>;

    /// Copies to `address`. `EFAULT` if any byte cannot be written.
    fn write(&self, address: u64, from: &[u8]) -> Result<(), Errno>;

    /// The client's own pages at `address`, for a buffer that consists of them. The client keeps them
    /// mapped while there is such a buffer, as it must for a kernel.
    ///
    /// # Errors
    /// `EFAULT` where the client has no pages that others can map.
    fn pages(&self, _address: u64, _size: u64) -> Result<ClientPages, Errno> {
        Err(Errno::FAULT)
    }

    /// A copy, in this process, of the descriptor that a number of the client's names.
    ///
    /// # Errors
    /// `EBADF` if it names none.
    fn descriptor(&self, number: i32) -> Result<OwnedFd, Errno> {
        rustix::io::fcntl_dupfd_cloexec(crate::gem::borrow(number)?, 0)
    }

    /// Gives the client a descriptor; returns its number there.
    ///
    /// # Errors
    /// Those of a client that has no room for it.
    fn install(&self, fd: OwnedFd, close_on_exec: bool) -> Result<i32, Errno> {
        let flags =
            if close_on_exec { rustix::io::FdFlags::CLOEXEC } else { rustix::io::FdFlags::empty() };
        rustix::io::fcntl_setfd(&fd, flags)?;
        Ok(fd.into_raw_fd())
    }

    /// Maps a part of a buffer once more where the client sees it; gives the address.
    ///
    /// # Errors
    /// `ENODEV` for a client that cannot map it.
    fn map_shared(&self, _buffer: &Gem, _offset: u64, _length: u64) -> Result<u64, Errno> {
        Err(Errno::NODEV)
    }
}

/// A client's own pages.
pub enum ClientPages {
    /// At this address of this process.
    Here(*mut u8),
    /// In a file that the client has mapped instead, from an offset on.
    File(OwnedFd, u64),
}

/// Reads one value.
pub fn read_value<T: Pod>(user: &dyn UserMemory, address: u64) -> Result<T, Errno> {
    let mut value = T::zeroed();
    user.read(address, bytemuck::bytes_of_mut(&mut value))?;
    Ok(value)
}

/// Reads `count` values. The buffer grows only as far as the client's memory can be read, so that a
/// huge count costs nothing.
pub fn read_array<T: Pod>(
    user: &dyn UserMemory,
    address: u64,
    count: usize,
) -> Result<Vec<T>, Errno> {
    const CHUNK_BYTES: usize = 1 << 16;
    let step = (CHUNK_BYTES / size_of::<T>()).max(1);
    let mut values = Vec::new();
    while values.len() < count {
        let done = values.len();
        let offset = (done as u64).checked_mul(size_of::<T>() as u64).ok_or(Errno::FAULT)?;
        let from = address.checked_add(offset).ok_or(Errno::FAULT)?;
        values.resize(count.min(done + step), T::zeroed());
        user.read(from, bytemuck::cast_slice_mut(&mut values[done..]))?;
    }
    Ok(values)
}

/// Writes values.
pub fn write_array<T: Pod>(user: &dyn UserMemory, address: u64, values: &[T]) -> Result<(), Errno> {
    user.write(address, bytemuck::cast_slice(values))
}

/// Reads an extensible structure, of which the client may pass fewer or more bytes (`given`). Missing
/// fields are zero; bytes beyond the known fields must be zero, or the error is `E2BIG`.
///
/// source: asahi_drm.h, "Introduction to the Asahi UAPI"; the error is that of the kernel's
/// `copy_struct_from_user`.
pub fn extensible<T: Pod>(given: &[u8]) -> Result<T, Errno> {
    let mut value = T::zeroed();
    let known = size_of::<T>().min(given.len());
    bytemuck::bytes_of_mut(&mut value)[..known].copy_from_slice(&given[..known]);
    if given[known..].iter().any(|&byte| byte != 0) {
        return Err(Errno::TOOBIG);
    }
    Ok(value)
}

/// Runs `body` on the argument of a core ioctl as a typed structure. Bytes that a client built against
/// an older header does not pass are zero; those that a newer client adds are ignored. The structure
/// is copied back whatever `body` returns, as the kernel does.
pub fn with_struct<T: Pod, E>(
    arg: &mut [u8],
    body: impl FnOnce(&mut T) -> Result<(), E>,
) -> Result<(), E> {
    let known = arg.len().min(size_of::<T>());
    let mut value = T::zeroed();
    bytemuck::bytes_of_mut(&mut value)[..known].copy_from_slice(&arg[..known]);
    let result = body(&mut value);
    arg[..known].copy_from_slice(&bytemuck::bytes_of(&value)[..known]);
    result
}

/// The memory of this process. The kernel copies, so that a wrong address is an error instead of a
/// signal.
///
/// Writes go wherever the client's pointers say, as a kernel's would: use it only for requests whose
/// pointers the program itself made.
pub struct ThisProcess {
    _made_by_new: (),
}

impl ThisProcess {
    /// Access to the memory of this process.
    ///
    /// # Safety
    /// Requests that are answered with it may write to any address they name: the caller answers
    /// for the pointers in them.
    pub const unsafe fn new() -> ThisProcess {
        ThisProcess { _made_by_new: () }
    }
}

/// The common part of `process_vm_readv` and `process_vm_writev`.
type Transfer = unsafe extern "C" fn(
    libc::pid_t,
    *const libc::iovec,
    libc::c_ulong,
    *const libc::iovec,
    libc::c_ulong,
    libc::c_ulong,
) -> isize;

fn transfer(call: Transfer, local: *mut u8, address: u64, length: usize) -> Result<(), Errno> {
    let mut done = 0;
    while done < length {
        let remote = address.checked_add(done as u64).ok_or(Errno::FAULT)?;
        let here =
            libc::iovec { iov_base: local.wrapping_add(done).cast(), iov_len: length - done };
        let there = libc::iovec { iov_base: remote as *mut _, iov_len: length - done };
        // SAFETY: `here` is inside of a live slice of the caller; the kernel checks `there`.
        let moved = unsafe { call(libc::getpid(), &here, 1, &there, 1, 0) };
        match moved {
            1.. => done += moved as usize,
            0 => return Err(Errno::FAULT),
            // SAFETY: errno's location is always valid.
            _ => return Err(Errno::from_raw_os_error(unsafe { *libc::__errno_location() })),
        }
    }
    Ok(())
}

impl UserMemory for ThisProcess {
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), Errno> {
        transfer(libc::process_vm_readv, into.as_mut_ptr(), address, into.len())
    }

    fn write(&self, address: u64, from: &[u8]) -> Result<(), Errno> {
        transfer(libc::process_vm_writev, from.as_ptr().cast_mut(), address, from.len())
    }

    fn pages(&self, address: u64, _size: u64) -> Result<ClientPages, Errno> {
        Ok(ClientPages::Here(address as *mut u8))
    }

    fn map_shared(&self, buffer: &Gem, offset: u64, length: u64) -> Result<u64, Errno> {
        let memory = buffer.base().wrapping_add(offset as usize);
        let length = length as usize;
        // SAFETY: from length 0 the mapping is duplicated at an address of the kernel's choice, and
        // nothing that exists changes; the kernel checks the address.
        let mapped = unsafe { libc::mremap(memory.cast(), 0, length, libc::MREMAP_MAYMOVE) };
        if mapped == libc::MAP_FAILED {
            // SAFETY: errno's location is always valid.
            return Err(Errno::from_raw_os_error(unsafe { *libc::__errno_location() }));
        }
        Ok(mapped as u64)
    }
}

/// A client's memory that consists of one block of bytes at a chosen address, for tests, fuzzers and
/// replayed captures.
pub struct Block {
    base: u64,
    bytes: std::sync::Mutex<Vec<u8>>,
}

impl Block {
    /// Places `bytes` at `base`.
    pub fn new(base: u64, bytes: Vec<u8>) -> Block {
        Block { base, bytes: bytes.into() }
    }

    /// Copies the block's current contents.
    pub fn bytes(&self) -> Vec<u8> {
        crate::lock(&self.bytes).clone()
    }

    fn with(&self, address: u64, length: usize, body: impl FnOnce(&mut [u8])) -> Result<(), Errno> {
        let start = address.checked_sub(self.base).ok_or(Errno::FAULT)? as usize;
        let end = start.checked_add(length).ok_or(Errno::FAULT)?;
        body(crate::lock(&self.bytes).get_mut(start..end).ok_or(Errno::FAULT)?);
        Ok(())
    }
}

impl UserMemory for Block {
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), Errno> {
        self.with(address, into.len(), |bytes| into.copy_from_slice(bytes))
    }

    fn write(&self, address: u64, from: &[u8]) -> Result<(), Errno> {
        self.with(address, from.len(), |bytes| bytes.copy_from_slice(from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_pointer_is_efault_and_a_wild_count_costs_nothing() {
        // SAFETY: only valid or unmapped addresses are written below.
        let user = unsafe { ThisProcess::new() };
        let data = [1u64, 2, 3];
        let address = data.as_ptr() as u64;
        assert_eq!(read_array::<u64>(&user, address, 3), Ok(vec![1, 2, 3]));
        assert_eq!(read_value::<u64>(&user, 8), Err(Errno::FAULT));
        assert_eq!(read_array::<u64>(&user, 8, usize::MAX), Err(Errno::FAULT));
        assert_eq!(read_value::<u64>(&user, u64::MAX - 3), Err(Errno::FAULT));
        assert_eq!(user.write(8, &[0]), Err(Errno::FAULT));
    }

    #[test]
    fn unknown_fields_must_be_zero_and_missing_ones_are() {
        assert_eq!(extensible::<[u8; 4]>(&[1, 2]), Ok([1, 2, 0, 0]));
        assert_eq!(extensible::<[u8; 2]>(&[1, 2, 0, 0]), Ok([1, 2]));
        assert_eq!(extensible::<[u8; 2]>(&[1, 2, 0, 9]), Err(Errno::TOOBIG));
    }
}
