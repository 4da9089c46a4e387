//! Requests and commands as trees of named values, ready to print.

use std::borrow::Cow;
use std::fmt::Write;

use tepui_agx_decode::calls::{Fields, fields, fields_of};
use tepui_agx_decode::{Content, Decoder, GpuMemory, Options, Record, submit};
use tepui_capture::{Call, ClientMemory, Start};
use tepui_drm::Errno;
use tepui_drm::uapi::asahi::{self, GemBindOp, ParamsGlobal, Sync};
use tepui_drm::uapi::{IoctlInfo, Request, core};
use tepui_packets::Value;

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

/// Describes a request.
pub fn call(call: &Call) -> CallDescription {
    let request = Request(call.request);
    let info = info(request);
    let list: &'static [_] = info.map_or(&[], |info| info.fields);
    let before = fields(list, &call.before);
    let after = fields(list, if call.after.is_empty() { &call.before } else { &call.after });
    let changed =
        before.iter().zip(after).filter(|(b, a)| b.1 != a.1).map(|(_, after)| after).collect();
    CallDescription {
        name: info.map_or_else(|| format!("{request:?}").into(), |info| info.name.into()),
        before,
        changed,
        result: call.result,
        memory: call.memory.iter().map(|memory| describe_memory(request, memory)).collect(),
    }
}

fn info(request: Request) -> Option<&'static IoctlInfo> {
    if request.family() != Request::DRM {
        return None;
    }
    let own = asahi::Ioctl::from_nr(request.nr()).map(asahi::Ioctl::info);
    own.or_else(|| core::Ioctl::from_nr(request.nr()).map(core::Ioctl::info))
}

impl CallDescription {
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
            // What a capture says need not be an error that exists.
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
    pub fn json(&self) -> impl serde::Serialize {
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

fn describe_memory(request: Request, memory: &ClientMemory) -> Record {
    let title = memory.field.clone();
    let mut record = Record::group(title);
    let bytes = &memory.bytes;
    let own = asahi::Ioctl::from_nr(request.nr());
    let core = core::Ioctl::from_nr(request.nr());
    match (own, core, memory.field.as_str()) {
        (Some(asahi::Ioctl::GetParams), ..) => {
            record.content = Content::Fields(fields_of::<ParamsGlobal>(bytes));
        }
        (Some(asahi::Ioctl::VmBind), ..) => {
            record.children = each(bytes, size_of::<GemBindOp>(), |op| {
                Content::Fields(fields_of::<GemBindOp>(op))
            });
        }
        (Some(asahi::Ioctl::Submit), _, "syncs") => {
            record.children =
                each(bytes, size_of::<Sync>(), |sync| Content::Fields(fields_of::<Sync>(sync)));
        }
        (Some(asahi::Ioctl::Submit), _, "cmdbuf") => record.children = submit::headers(bytes),
        (None, Some(_), "name" | "date" | "desc") => {
            let text = String::from_utf8_lossy(bytes).trim_end_matches('\0').to_string();
            record.title = format!("{}: {text:?}", memory.field).into();
        }
        (None, Some(_), "handles") => record.content = numbers("handle", bytes, 4),
        (None, Some(_), "points") => record.content = numbers("point", bytes, 8),
        _ => record.content = Content::Bytes(bytes.clone()),
    }
    record
}

/// Structures one after another. `VM_BIND` may have a larger stride than its structure; what is
/// captured then is described as raw bytes after the first.
fn each(bytes: &[u8], size: usize, content: impl Fn(&[u8]) -> Content) -> Vec<Record> {
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

fn numbers(name: &'static str, bytes: &[u8], size: usize) -> Content {
    let number = |chunk: &[u8]| {
        Value::Uint(chunk.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
    };
    Content::Fields(bytes.chunks(size).map(|chunk| (name.into(), number(chunk))).collect())
}

/// A command that has just started, with everything that it points to.
pub fn command(memory: &dyn GpuMemory, start: &Start, options: Options) -> Record {
    let options = Options { usc_base: start.base, ..options };
    let kind = u16::try_from(start.kind).unwrap_or(u16::MAX);
    let mut record = Decoder::new(memory, options).command(kind, &start.payload);
    record.title = format!(
        "{} command {} of submission {}, queue {} of open file {}",
        record.title, start.command, start.submission, start.queue, start.file
    )
    .into();
    record
}

/// The parameters of a block that decide how streams are decoded.
pub fn options(parameters: &[u8]) -> Options {
    let mut params = ParamsGlobal::default();
    let known = size_of::<ParamsGlobal>().min(parameters.len());
    bytemuck::bytes_of_mut(&mut params)[..known].copy_from_slice(&parameters[..known]);
    // source: decode.c, agxdecode_cdm: "Added in G14X"
    let g14x = params.gpu_generation >= 14 && params.num_clusters_total > 1;
    Options { g14x, ..Options::new(0) }
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
