//! A device in another process, as the client sees it.

use std::os::fd::{AsFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustix::io::{Errno, FdFlags};
use rustix::mm::{MapFlags, ProtFlags, mmap};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use tepui_drm::uapi::Request;

use crate::Answer;
use crate::message::{Call, NodeText, Reply, VERSION};
use crate::pages::OwnPages;
use crate::socket::{SocketError, receive, send};

/// Reason why a device cannot be reached.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// No server listens at the path.
    #[error("{}: {error}", path.display())]
    Connect {
        /// The path.
        path: PathBuf,
        /// The error.
        error: Errno,
    },
    /// The connection failed.
    #[error("the virtual GPU's process: {0}")]
    Lost(String),
    /// The server refuses this client.
    #[error("the virtual GPU's process refuses this program: {0}")]
    Refused(String),
}

/// Value that the server reads at the start, to check that it can follow this process's pointers.
static PROBE: u64 = 0x7465_7075_695f_6d6d;

/// A device in a server process. Calls may come from several threads; each takes its own connection for
/// its duration.
pub struct Remote {
    path: PathBuf,
    node: NodeText,
    idle: Mutex<Vec<OwnedFd>>,
    pages: OwnPages,
}

impl Remote {
    /// Connects to the server at a path.
    ///
    /// # Errors
    /// There is none, or it refuses.
    pub fn connect(path: &Path) -> Result<Remote, ConnectError> {
        let (socket, node) = greet(path)?;
        Ok(Remote {
            path: path.to_owned(),
            node,
            idle: Mutex::new(vec![socket]),
            pages: OwnPages::default(),
        })
    }

    /// The device's node and its minor number.
    pub fn node(&self) -> &NodeText {
        &self.node
    }

    /// Opens the node with the flags of `open`.
    ///
    /// # Errors
    /// Those of the host; `ENODEV` if the server is gone.
    pub fn open(&self, flags: i32) -> Result<OwnedFd, Errno> {
        let (reply, _) = self.call(&Call::Open { flags })?;
        match reply {
            // SAFETY: the number is that of a descriptor which `call` installed for this call.
            Reply::Done(Ok(fd)) => Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) }),
            Reply::Done(Err(number)) => Err(number.into()),
            _ => Err(Errno::PROTO),
        }
    }

    /// Forwards an ioctl; see [`Host::ioctl`](crate::Host::ioctl).
    pub fn ioctl(&self, fd: RawFd, request: Request, arg: u64) -> Answer<u32> {
        let call = Call::Ioctl { descriptor: fd, request: request.0, arg };
        self.ask(&call).map(|answer| answer.map(|(value, _)| value))
    }

    /// The descriptor to map at offset 0 for an mmap through an open node; see
    /// [`Host::mapping`](crate::Host::mapping).
    pub fn mapping(
        &self,
        fd: RawFd,
        offset: u64,
        length: u64,
        protection: i32,
        flags: i32,
    ) -> Answer<OwnedFd> {
        let call = Call::Map { descriptor: fd, offset, length, protection, flags };
        self.ask(&call).map(|answer| answer?.1.ok_or(Errno::PROTO))
    }

    /// Whether a descriptor is an open node.
    pub fn is_node(&self, fd: RawFd) -> bool {
        matches!(self.ask(&Call::IsNode { descriptor: fd }), Some(Ok((1, _))))
    }

    fn ask(&self, call: &Call) -> Answer<(u32, Option<OwnedFd>)> {
        match self.call(call) {
            Ok((Reply::NotOurs, _)) => None,
            Ok((Reply::Done(Ok(value)), fd)) => Some(Ok((value, fd))),
            Ok((Reply::Done(Err(number)), _)) => Some(Err(number.into())),
            Ok(_) => Some(Err(Errno::PROTO)),
            Err(errno) => Some(Err(errno)),
        }
    }

    /// Makes a call. A connection that failed is not used again; the call is not repeated, since the server may have
    /// executed it.
    fn call(&self, call: &Call) -> Result<(Reply, Option<OwnedFd>), Errno> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let socket = match idle {
            Some(socket) => socket,
            None => greet(&self.path).map_err(|_| Errno::NODEV)?.0,
        };
        let answer = self.converse(&socket, call).map_err(|_| Errno::NODEV)?;
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(socket);
        Ok(answer)
    }

    /// Sends a call and does what the server asks for until it answers.
    fn converse(
        &self,
        socket: &OwnedFd,
        call: &Call,
    ) -> Result<(Reply, Option<OwnedFd>), SocketError> {
        send(socket, call, None)?;
        loop {
            let (reply, fd) = receive(socket)?;
            match reply {
                Reply::Install { close_on_exec } => {
                    let installed = install(fd, close_on_exec).map_err(Into::into);
                    send(socket, &Call::Installed(installed), None)?;
                }
                Reply::Fetch { number } if number < 0 => {
                    send(socket, &Call::Fetched(Err(Errno::BADF.into())), None)?;
                }
                Reply::Fetch { number } => {
                    // SAFETY: the number is only handed to system calls, which refuse a closed one.
                    let fd = unsafe { BorrowedFd::borrow_raw(number) };
                    match rustix::io::fcntl_getfd(fd) {
                        Ok(_) => send(socket, &Call::Fetched(Ok(())), Some(fd))?,
                        Err(errno) => send(socket, &Call::Fetched(Err(errno.into())), None)?,
                    }
                }
                Reply::Place { offset, length } => {
                    let placed = place(fd, offset, length).map_err(Into::into);
                    send(socket, &Call::Placed(placed), None)?;
                }
                Reply::Share { address, size } => match self.pages.share(address, size) {
                    Ok((file, offset)) => {
                        send(socket, &Call::Shared(Ok(offset)), Some(file.as_fd()))?;
                    }
                    Err(errno) => send(socket, &Call::Shared(Err(errno.into())), None)?,
                },
                answer => return Ok((answer, fd)),
            }
        }
    }
}

fn install(fd: Option<OwnedFd>, close_on_exec: bool) -> Result<i32, Errno> {
    let fd = fd.ok_or(Errno::MFILE)?;
    if !close_on_exec {
        rustix::io::fcntl_setfd(&fd, FdFlags::empty())?;
    }
    Ok(fd.into_raw_fd())
}

/// Maps a part of a file for reading and writing.
fn place(file: Option<OwnedFd>, offset: u64, length: u64) -> Result<u64, Errno> {
    let file = file.ok_or(Errno::MFILE)?;
    let length = usize::try_from(length).map_err(|_| Errno::NOMEM)?;
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a fresh mapping at an address of the kernel's choice aliases nothing.
    let at =
        unsafe { mmap(std::ptr::null_mut(), length, access, MapFlags::SHARED, &file, offset)? };
    Ok(at as u64)
}

/// Connects and introduces this process.
fn greet(path: &Path) -> Result<(OwnedFd, NodeText), ConnectError> {
    let connected = || -> Result<OwnedFd, Errno> {
        let flags = SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        connect(&socket, &SocketAddrUnix::new(path)?)?;
        Ok(socket)
    };
    let socket =
        connected().map_err(|error| ConnectError::Connect { path: path.to_owned(), error })?;
    let address = &raw const PROBE as u64;
    let hello = Call::Hello { version: VERSION, address, value: PROBE };
    let lost = |error: SocketError| ConnectError::Lost(error.to_string());
    send(socket.as_fd(), &hello, None).map_err(lost)?;
    match receive(&socket).map_err(lost)? {
        (Reply::Welcome(node), _) => Ok((socket, node)),
        (Reply::Refused(why), _) => Err(ConnectError::Refused(why)),
        _ => Err(ConnectError::Lost("an answer that is none".to_owned())),
    }
}
