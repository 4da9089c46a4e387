//! Starting another program in place of this process.

use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

/// Executes a program in place of this process, so that its exit status, signals and streams are its
/// own. Returns only if that fails, or if there is no command; `name` begins the error's line.
pub fn replace_process(name: &str, command: Result<Command, String>) -> ExitCode {
    let mut command = match command {
        Ok(command) => command,
        Err(message) => {
            eprintln!("{name}: {message}");
            return ExitCode::FAILURE;
        }
    };
    let error = command.exec();
    eprintln!("{name}: {}: {error}", command.get_program().display());
    // The exit statuses of `env` and of shells.
    ExitCode::from(if error.kind() == ErrorKind::NotFound { 127 } else { 126 })
}
