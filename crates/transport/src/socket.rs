//! A connected socket that carries messages, each with at most one descriptor.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::message::{self, MAX_BYTES, MessageError};

/// Reason why a message did not come or go.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// The other side closed the connection.
    #[error("the other side closed the connection")]
    Closed,
    /// The socket failed.
    #[error("the socket: {0}")]
    Socket(Errno),
    /// The message is none.
    #[error(transparent)]
    Message(#[from] MessageError),
}

impl From<Errno> for SocketError {
    fn from(errno: Errno) -> SocketError {
        match errno {
            Errno::PIPE | Errno::CONNRESET => SocketError::Closed,
            other => SocketError::Socket(other),
        }
    }
}

/// Sends a message, and a descriptor with it.
pub fn send<T: Serialize>(
    socket: impl AsFd,
    message: &T,
    descriptor: Option<BorrowedFd<'_>>,
) -> Result<(), SocketError> {
    let mut buffer = [0; MAX_BYTES];
    let bytes = message::encode(message, &mut buffer)?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let descriptors = descriptor.map(|fd| [fd]);
    if let Some(descriptors) = &descriptors {
        ancillary.push(SendAncillaryMessage::ScmRights(descriptors));
    }
    loop {
        match sendmsg(&socket, &[IoSlice::new(bytes)], &mut ancillary, SendFlags::NOSIGNAL) {
            Ok(_) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// Receives a message, and the descriptor that came with it.
pub fn receive<T: DeserializeOwned>(
    socket: impl AsFd,
) -> Result<(T, Option<OwnedFd>), SocketError> {
    let mut buffer = [0; MAX_BYTES];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received = loop {
        let into = &mut [IoSliceMut::new(&mut buffer)];
        match recvmsg(&socket, into, &mut ancillary, RecvFlags::CMSG_CLOEXEC) {
            Err(Errno::INTR) => {}
            other => break other?,
        }
    };
    // Descriptors beyond the first are closed here.
    let mut descriptor = None;
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = message {
            for fd in descriptors {
                descriptor.get_or_insert(fd);
            }
        }
    }
    if received.bytes == 0 {
        return Err(SocketError::Closed);
    }
    if received.flags.contains(ReturnFlags::TRUNC) {
        return Err(MessageError::TooLong.into());
    }
    Ok((message::decode(&buffer[..received.bytes])?, descriptor))
}
