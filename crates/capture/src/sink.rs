//! The destination of a stream: a socket or a file that the environment names.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SendFlags, SocketAddrUnix, SocketFlags, SocketType};

use crate::{Process, Record, Writer};

/// The environment variable that names where captures go: a socket that takes connections, one for
/// each process, or a directory, in which each process makes a file.
pub const CAPTURE_VARIABLE: &str = "TEPUI_CAPTURE";

/// A stream, whatever it goes to.
pub type Output = Writer<Box<dyn Write + Send>>;

/// A stream that begins when there is something to write, and ends when writing fails, as it does
/// when the reader goes away.
pub enum Sink {
    /// Not yet.
    Waiting(Open),
    /// Begun.
    Running(Box<Output>),
}

/// Opens what the stream goes to, and completes what it says of the process.
pub type Open = Box<dyn FnOnce(Process) -> io::Result<(Box<dyn Write + Send>, Process)> + Send>;

impl Sink {
    /// A sink as the environment asks for one ([`CAPTURE_VARIABLE`]). If the target cannot be
    /// reached when the stream begins, that is reported on standard error.
    pub fn from_environment() -> Option<Sink> {
        let target = std::env::var_os(CAPTURE_VARIABLE).filter(|target| !target.is_empty())?;
        Some(Sink::to(target))
    }

    /// A sink that goes where [`CAPTURE_VARIABLE`] may say.
    pub fn to(target: OsString) -> Sink {
        Sink::Waiting(Box::new(move |device| {
            let path = Path::new(&target);
            let arguments = std::env::args_os().map(|a| a.to_string_lossy().into_owned()).collect();
            let process = Process { id: std::process::id(), arguments, ..device };
            let out = open(path, process.id).map_err(|error| {
                let what = format!("{CAPTURE_VARIABLE}={}: {error}", path.display());
                io::Error::new(error.kind(), what)
            })?;
            Ok((out, process))
        }))
    }

    /// Whether the stream has not begun.
    pub fn is_waiting(&self) -> bool {
        matches!(self, Sink::Waiting(_))
    }

    /// Begins the stream, if it has not, with what is known of the process and its GPU. `None` if
    /// that fails, which is reported.
    pub fn begin(self, process: Process) -> Option<Sink> {
        let Sink::Waiting(open) = self else { return Some(self) };
        let begun = open(process).and_then(|(out, process)| {
            let mut out = Writer::new(out)?;
            out.record(&Record::Process(process))?;
            out.flush()?;
            Ok(out)
        });
        match begun {
            Ok(out) => Some(Sink::Running(Box::new(out))),
            Err(error) => {
                eprintln!("tepui: {error}; nothing is captured");
                None
            }
        }
    }

    /// Writes, if the stream has begun. `None` if that fails, which is reported.
    pub fn write(mut self, body: impl FnOnce(&mut Output) -> io::Result<()>) -> Option<Sink> {
        if let Sink::Running(out) = &mut self
            && let Err(error) = body(out).and_then(|()| out.flush())
        {
            eprintln!("tepui: {error}; the capture ends here");
            return None;
        }
        Some(self)
    }
}

/// Opens the target. All of this goes straight to the kernel: libc's functions that take a path are
/// the preloaded library's own, and it is only now being set up.
fn open(path: &Path, process: u32) -> io::Result<Box<dyn Write + Send>> {
    let is_directory = rustix::fs::stat(path)
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory);
    if is_directory {
        // A process that execs begins a second capture under the same number.
        for attempt in 0.. {
            let path = path.join(format!("{process}-{attempt}.capture"));
            let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
            match rustix::fs::open(path, flags, Mode::from_raw_mode(0o666)) {
                Ok(file) => return Ok(buffered(File::from(out_of_the_way(file)))),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    let address = SocketAddrUnix::new(path)?;
    let socket = rustix::net::socket_with(
        AddressFamily::UNIX,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )?;
    rustix::net::connect(&socket, &address)?;
    Ok(buffered(Socket(out_of_the_way(socket))))
}

fn buffered(out: impl Write + Send + 'static) -> Box<dyn Write + Send> {
    Box::new(BufWriter::with_capacity(1 << 20, out))
}

/// Away from the low numbers, which programs close or reuse without asking.
fn out_of_the_way(fd: OwnedFd) -> OwnedFd {
    rustix::io::fcntl_dupfd_cloexec(&fd, 512).unwrap_or(fd)
}

/// A socket whose reader may go away without a signal to the program.
struct Socket(OwnedFd);

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::net::send(self.0.as_fd(), bytes, SendFlags::NOSIGNAL)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
