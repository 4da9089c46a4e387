//! Where a stream goes.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SendFlags, SocketAddrUnix, SocketFlags, SocketType};
use tepui_agx_chips::Chip;
use tepui_capture::Process;

use crate::real::{Kernel, RealRecorder};
use crate::recorder::{Recorder, Sink};

/// The environment variable that names where captures go: a socket that takes connections, one for
/// each process, or a directory, in which each process makes a file.
pub const CAPTURE_VARIABLE: &str = "TEPUI_CAPTURE";

/// A recorder as the environment asks for one, for a device of this chip. If the target cannot be
/// reached when the device is opened, that is reported on standard error, and the program runs without a
/// capture.
pub fn recorder_from_environment(chip: &'static Chip) -> Option<Recorder> {
    let device = Process {
        driver: tepui_agx_kernel::DRIVER.name.into(),
        gpu: format!("{} ({})", chip.name, chip.gpu_name()),
        parameters: bytemuck::bytes_of(&tepui_agx_kernel::params(chip)).to_vec(),
        ..Process::default()
    };
    Some(Recorder::new(sink_from_environment()?, device))
}

/// As [`recorder_from_environment`], for the machine's own nodes.
pub fn real_recorder_from_environment() -> Option<RealRecorder> {
    Some(RealRecorder::new(sink_from_environment()?, Box::new(Kernel)))
}

fn sink_from_environment() -> Option<Sink> {
    let target = std::env::var_os(CAPTURE_VARIABLE).filter(|target| !target.is_empty())?;
    Some(Sink::Waiting(Box::new(move |device| {
        let path = Path::new(&target);
        let arguments = std::env::args_os().map(|a| a.to_string_lossy().into_owned()).collect();
        let process = Process { id: std::process::id(), arguments, ..device };
        let out = open(path, process.id).map_err(|error| {
            let what = format!("{CAPTURE_VARIABLE}={}: {error}", path.display());
            io::Error::new(error.kind(), what)
        })?;
        Ok((out, process))
    })))
}

/// Opens the target. All of this goes straight to the kernel: libc's functions that take a path are the
/// preloaded library's own, and it is only now being set up.
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
