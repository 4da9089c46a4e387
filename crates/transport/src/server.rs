//! The server: accepts connections of client processes and answers their calls through a [`Host`].

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::net::sockopt::socket_peercred;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, listen, socket_with,
};
use tepui_drm::Errno;
use tepui_drm::fence::{notify, on_behalf_of};
use tepui_drm::spawn;
use tepui_drm::uapi::Request;
use tepui_drm::user::read_value;

use crate::Host;
use crate::client::ClientProcess;
use crate::message::{Call, NodeText, Reply, VERSION};
use crate::socket::{SocketError, receive, send};

/// Connections at one time. A client has one for each of its threads that is inside of a call.
const MAX_CONNECTIONS: usize = 4096;

/// Reason why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// No socket can be made at the path.
    #[error("{}: {error}", path.display())]
    Listen {
        /// The path.
        path: PathBuf,
        /// The error.
        error: Errno,
    },
    /// No thread can be started.
    #[error("a thread: {0}")]
    Thread(io::Error),
    /// The kernel refuses what watches for clients that go away.
    #[error("epoll: {0}")]
    Watch(Errno),
}

/// A server of a device. It lives as long as the process.
pub struct Server {
    host: Host,
    node: NodeText,
    connections: Connections,
}

/// The connections, and a watch for those whose client goes away during a call.
struct Connections {
    epoll: OwnedFd,
    next: AtomicU64,
    open: Mutex<HashMap<u64, Arc<AtomicBool>>>,
}

impl Connections {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<u64, Arc<AtomicBool>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters a connection. `None` if there are too many.
    fn enter(&self, socket: &OwnedFd) -> Option<(u64, Arc<AtomicBool>)> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let gone = Arc::new(AtomicBool::new(false));
        let mut open = self.lock();
        if open.len() >= MAX_CONNECTIONS {
            return None;
        }
        epoll::add(&self.epoll, socket, EventData::new_u64(id), EventFlags::RDHUP | EventFlags::ET)
            .ok()?;
        open.insert(id, gone.clone());
        Some((id, gone))
    }

    fn leave(&self, id: u64) {
        self.lock().remove(&id);
    }

    /// Marks connections whose client has gone, and wakes what waits on their behalf.
    fn watch(&self) {
        let none = epoll::Event { flags: EventFlags::empty(), data: EventData::new_u64(0) };
        let mut events = [none; 16];
        loop {
            let count = match epoll::wait(&self.epoll, &mut events[..], None) {
                Ok(count) => count,
                Err(Errno::INTR) => continue,
                Err(_) => return,
            };
            let open = self.lock();
            for event in &events[..count] {
                if let Some(gone) = open.get(&event.data.u64()) {
                    gone.store(true, Ordering::Release);
                }
            }
            drop(open);
            notify();
        }
    }
}

impl Server {
    /// Listens at a path, which must not exist yet, and serves clients from threads of its own. `minor` is the node's
    /// minor number.
    ///
    /// # Errors
    /// The socket, its watch or a thread cannot be made.
    pub fn start(host: Host, minor: u32, path: &Path) -> Result<Arc<Server>, ServeError> {
        let listener =
            listen_at(path).map_err(|error| ServeError::Listen { path: path.to_owned(), error })?;
        host.files().watch().map_err(ServeError::Watch)?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(ServeError::Watch)?;
        let node = NodeText::new(&host.node(), minor);
        let connections = Connections { epoll, next: AtomicU64::new(1), open: Mutex::default() };
        let server = Arc::new(Server { host, node, connections });
        let start = |name: &str, body: fn(&Arc<Server>)| {
            let server = server.clone();
            spawn(name, move || body(&server)).map(drop).map_err(ServeError::Thread)
        };
        start("tepui-clients", |server| server.connections.watch())?;
        start("tepui-files", |server| {
            while server.host.files().wait_for_abandoned().is_ok() {
                server.host.sweep();
            }
        })?;
        let accepting = server.clone();
        spawn("tepui-accept", move || accepting.accept(&listener)).map_err(ServeError::Thread)?;
        Ok(server)
    }

    /// Closes the files whose last descriptor is closed, as the server does by itself a little later.
    pub fn sweep(&self) {
        self.host.sweep();
    }

    fn accept(self: &Arc<Server>, listener: &OwnedFd) {
        loop {
            match accept_with(listener, SocketFlags::CLOEXEC) {
                Ok(socket) => {
                    let server = self.clone();
                    // Without a thread the connection closes, which the client sees.
                    let _ = spawn("tepui-client", move || server.serve(&socket));
                }
                // Too many descriptors: others close some.
                Err(Errno::MFILE | Errno::NFILE | Errno::NOMEM) => std::thread::yield_now(),
                Err(Errno::INTR | Errno::CONNABORTED) => {}
                Err(_) => return,
            }
        }
    }

    /// Answers the calls of a connection until it ends.
    fn serve(&self, socket: &OwnedFd) {
        let Some((id, gone)) = self.connections.enter(socket) else {
            let why = format!("there are {MAX_CONNECTIONS} connections already");
            let _ = send(socket, &Reply::Refused(why), None);
            return;
        };
        let result = on_behalf_of(gone, || self.converse(socket));
        self.connections.leave(id);
        if let Err(SocketError::Message(error)) = result {
            eprintln!("tepui: a client of the virtual GPU: {error}");
        }
    }

    fn converse(&self, socket: &OwnedFd) -> Result<(), SocketError> {
        let pid = socket_peercred(socket)?.pid.as_raw_nonzero().get();
        let client = ClientProcess::new(pid, socket);
        let hello = receive(socket)?.0;
        match self.welcome(&client, &hello) {
            Ok(()) => send(socket, &Reply::Welcome(self.node.clone()), None)?,
            Err(why) => return send(socket, &Reply::Refused(why), None),
        }
        loop {
            let (call, _) = receive::<Call>(socket)?;
            self.answer(&client, socket, &call)?;
            if client.is_broken() {
                return Err(SocketError::Closed);
            }
        }
    }

    /// Checks the first call.
    fn welcome(&self, client: &ClientProcess<'_>, hello: &Call) -> Result<(), String> {
        let Call::Hello { version, address, value } = *hello else {
            return Err("the first message is no greeting".to_owned());
        };
        if version != VERSION {
            return Err(format!(
                "the library is of another version (messages {version}, not {VERSION}): build both again"
            ));
        }
        match read_value::<u64>(client, address) {
            Ok(found) if found == value => Ok(()),
            Ok(_) => {
                Err("the program's memory is not at its own addresses: an emulator has moved it"
                    .to_owned())
            }
            Err(errno) => Err(format!("the program's memory cannot be read: {errno}")),
        }
    }

    fn answer(
        &self,
        client: &ClientProcess<'_>,
        socket: &OwnedFd,
        call: &Call,
    ) -> Result<(), SocketError> {
        let done = |result: Result<u32, Errno>| Reply::Done(result.map_err(Into::into));
        let reply = match *call {
            Call::Open { flags } => done(self.host.open(client, flags).map(|fd| fd as u32)),
            Call::Ioctl { descriptor, request, arg } => client
                .file(descriptor)
                .and_then(|file| self.host.ioctl(client, file, Request(request), arg))
                .map_or(Reply::NotOurs, done),
            Call::Map { descriptor, offset, length, protection, flags } => {
                let gem = client
                    .file(descriptor)
                    .and_then(|file| self.host.mapping(file, offset, length, protection, flags));
                match gem {
                    None => Reply::NotOurs,
                    Some(Err(errno)) => done(Err(errno)),
                    Some(Ok(gem)) => match gem.file() {
                        Some(fd) => return send(socket, &done(Ok(0)), Some(fd.as_fd())),
                        None => done(Err(Errno::NODEV)),
                    },
                }
            }
            Call::IsNode { descriptor } => {
                let file = client.file(descriptor);
                done(Ok(file.is_some_and(|file| self.host.is_node(file)).into()))
            }
            Call::Hello { .. }
            | Call::Installed(_)
            | Call::Fetched(_)
            | Call::Placed(_)
            | Call::Shared(_) => done(Err(Errno::PROTO)),
        };
        if client.is_broken() {
            return Ok(());
        }
        send(socket, &reply, None)
    }
}

fn listen_at(path: &Path) -> Result<OwnedFd, Errno> {
    let socket =
        socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    bind(&socket, &SocketAddrUnix::new(path)?)?;
    listen(&socket, 128)?;
    Ok(socket)
}
