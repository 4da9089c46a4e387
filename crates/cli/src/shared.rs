//! A virtual GPU that this process holds for a program and all that it starts.

use std::io::ErrorKind;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::sync::atomic::{AtomicI32, Ordering};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tepui_gpus::Gpu;
use tepui_gpus::device::{self, DeviceOptions};
use tepui_transport::{Host, SERVER_VARIABLE, Server, free_minor};

use crate::library::{ARM64_VARIABLE, arm64_shim};

/// The program, to which signals are passed on; 0 before it runs.
static PROGRAM: AtomicI32 = AtomicI32::new(0);

/// Serves the GPU, runs the program, and ends as it ends.
pub fn run(gpu: Gpu, options: &DeviceOptions, command: Result<Command, String>) -> ExitCode {
    match serve(gpu, options, command) {
        Ok(status) => end_as(status),
        Err((message, code)) => {
            eprintln!("tepui shim: {message}");
            ExitCode::from(code)
        }
    }
}

/// Serves the GPU and runs the program.
///
/// # Errors
/// What went wrong, and the exit status for it.
pub fn serve(
    gpu: Gpu,
    options: &DeviceOptions,
    command: Result<Command, String>,
) -> Result<ExitStatus, (String, u8)> {
    let failure = |message: String| (message, 1);
    let mut command = command.map_err(failure)?;
    let limit = raise_descriptor_limit();
    // Programs that lose their parent stay descendants of this process, which may read its descendants' memory.
    // SAFETY: this option has no pointers.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
    let folder = tempfile::Builder::new().prefix("tepui-").tempdir();
    let folder = folder.map_err(|e| failure(format!("a temporary directory: {e}")))?;
    let path = folder.path().join("gpu");
    let device = device::device(gpu, options).map_err(|e| failure(e.to_string()))?;
    let server = Server::start(Host::new(device), free_minor(), &path)
        .map_err(|e| failure(e.to_string()))?;
    command.env(SERVER_VARIABLE, &path);
    if let Some(library) = arm64_shim().map_err(failure)? {
        command.env(ARM64_VARIABLE, library);
    }
    let mut child = spawn(&mut command, limit).map_err(|error| {
        let missing = error.kind() == ErrorKind::NotFound;
        // The exit statuses of `env` and of shells.
        (format!("{}: {error}", command.get_program().display()), if missing { 127 } else { 126 })
    })?;
    let status = child.wait().map_err(|e| failure(format!("waiting for the program: {e}")))?;
    server.sweep();
    Ok(status)
}

/// Raises the limit of descriptors, of which each buffer takes one; returns the limit before.
fn raise_descriptor_limit() -> Rlimit {
    let before = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: before.maximum, ..before });
    before
}

/// Starts the program with a limit of descriptors.
fn spawn(command: &mut Command, descriptors: Rlimit) -> std::io::Result<Child> {
    pass_signals_on();
    // SAFETY: between fork and exec only system calls are made.
    unsafe {
        command.pre_exec(move || {
            setrlimit(Resource::Nofile, descriptors)?;
            // The program cannot go on without its GPU.
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            Ok(())
        });
    }
    let child = command.spawn()?;
    PROGRAM.store(child.id() as i32, Ordering::Release);
    Ok(child)
}

extern "C" fn pass_on(signal: libc::c_int) {
    let program = PROGRAM.load(Ordering::Acquire);
    if program > 0 {
        // SAFETY: the child is not reaped before this process ends.
        unsafe { libc::kill(program, signal) };
    }
}

extern "C" fn outlast(_signal: libc::c_int) {}

/// Signals to this process are the program's. Those of the terminal reach it anyway.
fn pass_signals_on() {
    type Handler = extern "C" fn(libc::c_int);
    let passed = [libc::SIGTERM, libc::SIGHUP, libc::SIGUSR1, libc::SIGUSR2];
    let both = [libc::SIGINT, libc::SIGQUIT];
    let passed = passed.map(|signal| (signal, pass_on as Handler));
    let both = both.map(|signal| (signal, outlast as Handler));
    for (signal, handler) in passed.into_iter().chain(both) {
        // SAFETY: the handlers make one async-signal-safe call or none. exec resets them.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &mut action);
            if action.sa_sigaction != libc::SIG_IGN {
                action.sa_sigaction = handler as *const () as usize;
                action.sa_flags = libc::SA_RESTART;
                libc::sigaction(signal, &action, std::ptr::null_mut());
            }
        }
    }
}

/// Ends as the program did: with its exit status, or by its signal.
fn end_as(status: ExitStatus) -> ExitCode {
    if let Some(signal) = status.signal() {
        let none = Rlimit { current: Some(0), maximum: Some(0) };
        // The program has left its own core dump.
        let _ = setrlimit(Resource::Core, none);
        // SAFETY: the default action ends this process.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
        return ExitCode::from(128u8.wrapping_add(signal as u8));
    }
    ExitCode::from(status.code().unwrap_or(1) as u8)
}
