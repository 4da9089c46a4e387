//! Waiting for the socket of a connection.

use std::os::fd::BorrowedFd;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;

use crate::error::Result;

/// Waits for a descriptor, and says whether it is ready. A signal ends the wait early.
pub(crate) fn wait_for(file: BorrowedFd<'_>, flags: PollFlags, until: Instant) -> Result<bool> {
    let timeout = until.saturating_duration_since(Instant::now());
    let timeout = timeout.try_into().map_err(|_| Errno::INVAL)?;
    match rustix::event::poll(&mut [PollFd::new(&file, flags)], Some(&timeout)) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
