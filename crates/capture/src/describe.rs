//! Requests as trees of named values, ready to print.

use std::borrow::Cow;
use std::fmt::Write;

use tepui_decode::calls::Fields;
use tepui_decode::{Content, Record};
use tepui_drm::Errno;
use tepui_drm::uapi::{IoctlInfo, Request};
use tepui_packets::Value;

use crate::{Call, ClientMemory};

/// A request and its answer.
pub struct CallDescription {
    /// The kernel's name of the request, or its number.
    pub name: Cow<'static, str>,
    /// The argument before the call.
    pub before: Fields,
    /// The fields that the kernel changed.
    pub changed: Fields,
    /// The return value of `ioctl`, or minus the errno.
    pub result: i32,
    /// The memory that pointers in the argument lead to.
    pub memory: Vec<Record>,
}

impl CallDescription {
    /// Describes a request of a family: `info` is what its kernel driver knows of the request,
    /// `fields` decodes an argument, and `memory` describes what a pointer leads to.
    pub fn new(
        call: &Call,
        info: Option<&'static IoctlInfo>,
        fields: impl Fn(&'static [tepui_drm::uapi::Field], &[u8]) -> Fields,
        memory: impl Fn(&ClientMemory) -> Record,
    ) -> CallDescription {
        let list: &'static [_] = info.map_or(&[], |info| info.fields);
        let before = fields(list, &call.before);
        let after = fields(list, if call.after.is_empty() { &call.before } else { &call.after });
        let changed =
            before.iter().zip(after).filter(|(b, a)| b.1 != a.1).map(|(_, after)| after).collect();
        let number = || format!("{:?}", Request(call.request)).into();
        CallDescription {
            name: info.map_or_else(number, |info| info.name.into()),
            before,
            changed,
            result: call.result,
            memory: call.memory.iter().map(memory).collect(),
        }
    }

    /// One line, as a system call is usually printed: `NAME(field=value, …) = result [field=value,
    /// …]`.
    pub fn line(&self) -> String {
        let mut text = self.name.to_string();
        text.push('(');
        join(&mut text, &self.before);
        text.push_str(") = ");
        match self.result {
            0.. => {
                let _ = write!(text, "{}", self.result);
            }
            // The error number of a capture need not exist.
            errno => {
                let number = errno.unsigned_abs();
                let _ = match errno_name(number) {
                    Some(name) => write!(text, "-1 {name}"),
                    None => write!(text, "-1 (errno {number})"),
                };
            }
        }
        if !self.changed.is_empty() {
            text.push_str(" [");
            join(&mut text, &self.changed);
            text.push(']');
        }
        text
    }

    /// Everything as JSON.
    pub fn json(&self) -> impl serde::Serialize + use<> {
        let pairs = |fields: &Fields| Object(fields.clone());
        #[derive(serde::Serialize)]
        struct Json {
            name: String,
            argument: Object,
            changed: Object,
            result: i32,
            memory: Vec<Record>,
        }
        Json {
            name: self.name.to_string(),
            argument: pairs(&self.before),
            changed: pairs(&self.changed),
            result: self.result,
            memory: self.memory.clone(),
        }
    }
}

struct Object(Fields);

impl serde::Serialize for Object {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

fn join(text: &mut String, fields: &Fields) {
    for (i, (name, value)) in fields.iter().enumerate() {
        let _ = write!(text, "{}{name}={value}", if i == 0 { "" } else { ", " });
    }
}

/// Memory that a pointer of the DRM core's requests refers to: texts, arrays of handles and points. Any
/// other is raw bytes.
pub fn core_memory(memory: &ClientMemory) -> Record {
    let bytes = &memory.bytes;
    let mut record = Record::group(memory.field.clone());
    match memory.field.as_str() {
        "name" | "date" | "desc" => {
            let text = String::from_utf8_lossy(bytes).trim_end_matches('\0').to_string();
            record.title = format!("{}: {text:?}", memory.field).into();
        }
        "handles" => record.content = numbers("handle", bytes, 4),
        "points" => record.content = numbers("point", bytes, 8),
        _ => record.content = Content::Bytes(bytes.clone()),
    }
    record
}

/// Structures one after another. A client may use a larger stride than the structure's size; what is
/// captured then is described as raw bytes after the first.
pub fn each(bytes: &[u8], size: usize, content: impl Fn(&[u8]) -> Content) -> Vec<Record> {
    bytes
        .chunks(size)
        .enumerate()
        .map(|(i, chunk)| {
            let mut record = Record::group(format!("[{i}]"));
            record.content = content(chunk);
            record
        })
        .collect()
}

/// An array of numbers of `size` bytes each.
pub fn numbers(name: &'static str, bytes: &[u8], size: usize) -> Content {
    let number = |chunk: &[u8]| {
        Value::Uint(chunk.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
    };
    Content::Fields(bytes.chunks(size).map(|chunk| (name.into(), number(chunk))).collect())
}

/// The name of an error that DRM drivers give.
fn errno_name(number: u32) -> Option<&'static str> {
    const NAMES: &[(Errno, &str)] = &[
        (Errno::PERM, "EPERM"),
        (Errno::NOENT, "ENOENT"),
        (Errno::INTR, "EINTR"),
        (Errno::IO, "EIO"),
        (Errno::TOOBIG, "E2BIG"),
        (Errno::BADF, "EBADF"),
        (Errno::AGAIN, "EAGAIN"),
        (Errno::NOMEM, "ENOMEM"),
        (Errno::ACCESS, "EACCES"),
        (Errno::FAULT, "EFAULT"),
        (Errno::BUSY, "EBUSY"),
        (Errno::EXIST, "EEXIST"),
        (Errno::NODEV, "ENODEV"),
        (Errno::INVAL, "EINVAL"),
        (Errno::MFILE, "EMFILE"),
        (Errno::NOTTY, "ENOTTY"),
        (Errno::NOSPC, "ENOSPC"),
        (Errno::RANGE, "ERANGE"),
        (Errno::NOSYS, "ENOSYS"),
        (Errno::TIME, "ETIME"),
        (Errno::OVERFLOW, "EOVERFLOW"),
        (Errno::OPNOTSUPP, "EOPNOTSUPP"),
        (Errno::TIMEDOUT, "ETIMEDOUT"),
        (Errno::CANCELED, "ECANCELED"),
    ];
    let number = i32::try_from(number).ok()?;
    NAMES.iter().find(|(errno, _)| errno.raw_os_error() == number).map(|(_, name)| *name)
}
