//! A client in another process, as the server sees it.

use std::cell::Cell;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::SealFlags;
use rustix::io::Errno;
use tepui_drm::gem::Gem;
use tepui_drm::token::FileId;
use tepui_drm::user::{ClientPages, UserMemory};

use crate::message::{Call, Reply};
use crate::socket::{SocketError, receive, send};

/// A client: its process, and the connection on which it waits for the answer to its call.
pub struct ClientProcess<'a> {
    pid: libc::pid_t,
    socket: &'a OwnedFd,
    /// Whether the connection failed during a call.
    broken: Cell<bool>,
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

impl<'a> ClientProcess<'a> {
    /// The client at the other end of a connection.
    pub fn new(pid: libc::pid_t, socket: &'a OwnedFd) -> ClientProcess<'a> {
        ClientProcess { pid, socket, broken: Cell::new(false) }
    }

    /// Whether the connection failed during a call, so that no answer can be sent.
    pub fn is_broken(&self) -> bool {
        self.broken.get()
    }

    /// The open file of a client's descriptor; `None` if it is closed. The server asks the operating
    /// system, not the client, so that a client reaches only the files that it holds.
    pub fn file(&self, descriptor: i32) -> Option<FileId> {
        let stat = rustix::fs::stat(format!("/proc/{}/fd/{descriptor}", self.pid)).ok()?;
        Some(FileId::new(stat.st_dev, stat.st_ino))
    }

    fn transfer(
        &self,
        call: Transfer,
        local: *mut u8,
        address: u64,
        length: usize,
    ) -> Result<(), Errno> {
        let mut done = 0;
        while done < length {
            let remote = address.checked_add(done as u64).ok_or(Errno::FAULT)?;
            let here =
                libc::iovec { iov_base: local.wrapping_add(done).cast(), iov_len: length - done };
            let there = libc::iovec { iov_base: remote as *mut _, iov_len: length - done };
            // SAFETY: `here` is inside of a live slice of the caller; `there` is memory of another process, whose
            // own request names it.
            let moved = unsafe { call(self.pid, &here, 1, &there, 1, 0) };
            match moved {
                1.. => done += moved as usize,
                0 => return Err(Errno::FAULT),
                // SAFETY: errno's location is always valid.
                _ => return Err(Errno::from_raw_os_error(unsafe { *libc::__errno_location() })),
            }
        }
        Ok(())
    }

    /// Asks the client; returns its answer.
    fn ask(
        &self,
        question: &Reply,
        descriptor: Option<BorrowedFd<'_>>,
    ) -> Result<(Call, Option<OwnedFd>), Errno> {
        let asked = send(self.socket, question, descriptor);
        asked.and_then(|()| receive(self.socket)).map_err(|error: SocketError| {
            self.broken.set(true);
            match error {
                SocketError::Socket(errno) => errno,
                SocketError::Closed | SocketError::Message(_) => Errno::IO,
            }
        })
    }

    /// The client did not answer the question.
    fn confused(&self) -> Errno {
        self.broken.set(true);
        Errno::IO
    }
}

impl UserMemory for ClientProcess<'_> {
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), Errno> {
        self.transfer(libc::process_vm_readv, into.as_mut_ptr(), address, into.len())
    }

    fn write(&self, address: u64, from: &[u8]) -> Result<(), Errno> {
        self.transfer(libc::process_vm_writev, from.as_ptr().cast_mut(), address, from.len())
    }

    fn descriptor(&self, number: i32) -> Result<OwnedFd, Errno> {
        match self.ask(&Reply::Fetch { number }, None)? {
            (Call::Fetched(Ok(())), Some(fd)) => Ok(fd),
            (Call::Fetched(Err(number)), _) => Err(number.into()),
            _ => Err(self.confused()),
        }
    }

    fn install(&self, fd: OwnedFd, close_on_exec: bool) -> Result<i32, Errno> {
        match self.ask(&Reply::Install { close_on_exec }, Some(fd.as_fd()))? {
            (Call::Installed(Ok(number)), _) => Ok(number),
            (Call::Installed(Err(number)), _) => Err(number.into()),
            _ => Err(self.confused()),
        }
    }

    fn pages(&self, address: u64, size: u64) -> Result<ClientPages, Errno> {
        match self.ask(&Reply::Share { address, size }, None)? {
            (Call::Shared(Ok(offset)), Some(file)) => {
                // An access past the end of a file would kill the server.
                let sealed = rustix::fs::fcntl_get_seals(&file)?.contains(SealFlags::SHRINK);
                let length = u64::try_from(rustix::fs::fstat(&file)?.st_size).unwrap_or(0);
                let is_whole = offset.checked_add(size).is_some_and(|end| end <= length);
                if sealed && is_whole {
                    Ok(ClientPages::File(file, offset))
                } else {
                    Err(Errno::FAULT)
                }
            }
            (Call::Shared(Err(number)), _) => Err(number.into()),
            _ => Err(self.confused()),
        }
    }

    fn map_shared(&self, buffer: &Gem, offset: u64, length: u64) -> Result<u64, Errno> {
        let file = buffer.file().ok_or(Errno::NODEV)?;
        match self.ask(&Reply::Place { offset, length }, Some(file))? {
            (Call::Placed(Ok(address)), _) => Ok(address),
            (Call::Placed(Err(number)), _) => Err(number.into()),
            _ => Err(self.confused()),
        }
    }
}
