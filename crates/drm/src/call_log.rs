//! An observer that logs ioctls.

use crate::device::{Call, CallObserver};
use rustix::io::Errno;

/// Writes each completed ioctl to standard error: open file, name, argument after the call, result.
pub struct CallLog;

impl CallObserver for CallLog {
    fn answered(&self, call: &Call<'_>, after: &[u8], result: Result<u32, Errno>) {
        let (name, fields) = match call.info {
            Some(info) => (info.name.to_owned(), info.describe(after)),
            None => (format!("{:?}", call.request), String::new()),
        };
        let result = match result {
            Ok(value) => value.to_string(),
            Err(errno) => errno.to_string(),
        };
        eprintln!("tepui: file {}: {name}{fields} = {result}", call.file);
    }
}
