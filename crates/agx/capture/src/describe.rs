//! Requests and commands as trees of named values, ready to print.

use tepui_agx_decode::calls::{fields, fields_of};
use tepui_agx_decode::{Content, Decoder, GpuMemory, Options, Record, submit};
pub use tepui_capture::describe::CallDescription;
use tepui_capture::describe::{core_memory, each};
use tepui_capture::{Call, ClientMemory, Start};
use tepui_drm::uapi::asahi::{self, GemBindOp, ParamsGlobal, Sync};
use tepui_drm::uapi::{IoctlInfo, Request, core};

/// Describes a request.
pub fn call(call: &Call) -> CallDescription {
    let request = Request(call.request);
    CallDescription::new(call, info(request), fields, |memory| describe_memory(request, memory))
}

fn info(request: Request) -> Option<&'static IoctlInfo> {
    if request.family() != Request::DRM {
        return None;
    }
    let own = asahi::Ioctl::from_nr(request.nr()).map(asahi::Ioctl::info);
    own.or_else(|| core::Ioctl::from_nr(request.nr()).map(core::Ioctl::info))
}

fn describe_memory(request: Request, memory: &ClientMemory) -> Record {
    let mut record = Record::group(memory.field.clone());
    let bytes = &memory.bytes;
    match (asahi::Ioctl::from_nr(request.nr()), memory.field.as_str()) {
        (Some(asahi::Ioctl::GetParams), _) => {
            record.content = Content::Fields(fields_of::<ParamsGlobal>(bytes));
        }
        (Some(asahi::Ioctl::VmBind), _) => {
            record.children = each(bytes, size_of::<GemBindOp>(), |op| {
                Content::Fields(fields_of::<GemBindOp>(op))
            });
        }
        (Some(asahi::Ioctl::Submit), "syncs") => {
            record.children =
                each(bytes, size_of::<Sync>(), |sync| Content::Fields(fields_of::<Sync>(sync)));
        }
        (Some(asahi::Ioctl::Submit), "cmdbuf") => record.children = submit::headers(bytes),
        _ => return core_memory(memory),
    }
    record
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
