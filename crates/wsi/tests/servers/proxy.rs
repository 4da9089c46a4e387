//! A proxy before an X server, which hides the Present extension or has the connection go over TCP.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::thread;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// Byte range of the maximum request length, in words, in the reply to the connection's setup. Source:
/// X11 protocol, "Connection Setup", maximum-request-length.
const MAXIMUM_REQUEST_LENGTH: Range<usize> = 26..28;

/// The server of this process.
fn server() -> UnixStream {
    let display = std::env::var("DISPLAY").unwrap();
    UnixStream::connect(format!("/tmp/.X11-unix/X{}", &display[1..])).unwrap()
}

/// Offers the server without the Present extension, and returns the connection of the client's side.
pub fn without_present() -> UnixStream {
    between(|bytes| hide(bytes, b"Present"), |_| {})
}

/// Offers the server without the Present extension and without longer requests than those that every
/// server allows.
pub fn short_requests() -> UnixStream {
    // The server's first reply may arrive in pieces, so the field is found by its offset in the stream.
    let mut offset = 0;
    let shorten = move |bytes: &mut [u8]| {
        let range = offset..offset + bytes.len();
        for (index, byte) in MAXIMUM_REQUEST_LENGTH.zip(4096u16.to_le_bytes()) {
            if range.contains(&index) {
                bytes[index - range.start] = byte;
            }
        }
        offset = range.end;
    };
    let hide = |bytes: &mut [u8]| {
        hide(bytes, b"Present");
        hide(bytes, b"BIG-REQUESTS");
    };
    between(hide, shorten)
}

/// Stands between client and server, and changes what they send.
fn between(
    to_server: impl FnMut(&mut [u8]) + Send + 'static,
    to_client: impl FnMut(&mut [u8]) + Send + 'static,
) -> UnixStream {
    let server = server();
    let (client, here) = UnixStream::pair().unwrap();
    let (from, to) = (here.try_clone().unwrap(), server.try_clone().unwrap());
    thread::spawn(move || forward(&from, &to, to_server));
    thread::spawn(move || forward(&server, &here, to_client));
    client
}

/// The name in the questions for an extension becomes one that no server knows.
fn hide(bytes: &mut [u8], name: &[u8]) {
    let mut at = 0;
    while let Some(found) = bytes[at..].windows(name.len()).position(|window| window == name) {
        bytes[at + found] = b'-';
        at += found + name.len();
    }
}

/// Passes bytes and descriptors on.
fn forward(from: &UnixStream, to: &UnixStream, mut change: impl FnMut(&mut [u8])) {
    let mut bytes = vec![0; 1 << 20];
    loop {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(16))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let slices = &mut [IoSliceMut::new(&mut bytes)];
        let received = recvmsg(from, slices, &mut ancillary, RecvFlags::CMSG_CLOEXEC);
        let Ok(received) = received else { break };
        let mut files: Vec<OwnedFd> = Vec::new();
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(received) = message {
                files.extend(received);
            }
        }
        if received.bytes == 0 {
            break;
        }
        let bytes = &mut bytes[..received.bytes];
        change(bytes);
        let files: Vec<_> = files.iter().map(|file| file.as_fd()).collect();
        let mut sent = 0;
        while sent < bytes.len() {
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(16))];
            let mut ancillary = SendAncillaryBuffer::new(&mut space);
            if sent == 0 && !files.is_empty() {
                assert!(ancillary.push(SendAncillaryMessage::ScmRights(&files)));
            }
            let slices = &[IoSlice::new(&bytes[sent..])];
            match sendmsg(to, slices, &mut ancillary, SendFlags::NOSIGNAL) {
                Ok(count) => sent += count,
                Err(_) => return,
            }
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}

/// Offers the server over TCP, on the loopback device, and returns the connection of the client's side.
pub fn remote() -> TcpStream {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (mut here, _) = listener.accept().unwrap();
    let mut server = server();
    let (mut from, mut to) = (server.try_clone().unwrap(), here.try_clone().unwrap());
    thread::spawn(move || std::io::copy(&mut here, &mut server));
    thread::spawn(move || std::io::copy(&mut from, &mut to));
    client
}
