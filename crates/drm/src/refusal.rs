//! Refused requests: an errno for the client and a reason for people who debug it.

use crate::Errno;

/// A refused request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The client's error number.
    pub errno: Errno,
    /// The reason.
    pub why: &'static str,
}

impl From<Errno> for Refusal {
    fn from(errno: Errno) -> Self {
        Refusal { errno, why: "" }
    }
}

/// `EINVAL` unless `ok`.
pub fn require(ok: bool, why: &'static str) -> Result<(), Refusal> {
    if ok { Ok(()) } else { Err(Refusal { errno: Errno::INVAL, why }) }
}

/// The value, or `ENOENT`.
pub fn found<T>(value: Option<T>, why: &'static str) -> Result<T, Refusal> {
    value.ok_or(Refusal { errno: Errno::NOENT, why })
}
