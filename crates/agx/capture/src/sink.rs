//! Where a stream goes.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::net::{AddressFamily, SendFlags, SocketAddrUnix, SocketFlags, SocketType};
use tepui_agx_kernel::Chip;
use tepui_capture::Process;

use crate::Recorder;

/// The environment variable that names where captures go: a socket that takes connections, one for
/// each process, or a directory, in which each process makes a file.
pub const CAPTURE_VARIABLE: &str = "TEPUI_CAPTURE";

/// A recorder as the environment asks for one, for a device of this chip. A target that cannot be
/// reached is reported on standard error; the program then runs without a capture.
pub fn recorder_from_environment(chip: &Chip) -> Option<Recorder> {
    let target = std::env::var_os(CAPTURE_VARIABLE).filter(|target| !target.is_empty())?;
    let path = Path::new(&target);
    let arguments = std::env::args_os().map(|a| a.to_string_lossy().into_owned()).collect();
    let process = Process {
        id: std::process::id(),
        arguments,
        driver: tepui_agx_kernel::DRIVER.name.into(),
        gpu: format!("{} ({})", chip.name, chip.gpu_name()),
        parameters: bytemuck::bytes_of(&chip.params()).to_vec(),
    };
    let recorder = open(path, process.id).and_then(|out| Recorder::new(out, process));
    recorder
        .map_err(|error| {
            eprintln!("tepui: {CAPTURE_VARIABLE}={}: {error}; nothing is captured", path.display());
        })
        .ok()
}

fn open(path: &Path, process: u32) -> io::Result<Box<dyn Write + Send>> {
    if path.is_dir() {
        // A process that forks without exec begins a second capture under another number; one that
        // execs begins another under the same.
        for attempt in 0.. {
            let name = format!("{process}-{attempt}.capture");
            match File::create_new(path.join(name)) {
                Ok(file) => return Ok(Box::new(BufWriter::with_capacity(1 << 20, file))),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
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
    // Out of the way of programs that close or reuse low descriptors by number.
    let socket = rustix::io::fcntl_dupfd_cloexec(&socket, 512).unwrap_or(socket);
    Ok(Box::new(BufWriter::with_capacity(1 << 20, Socket(socket))))
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
