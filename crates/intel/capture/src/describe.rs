//! Requests and batches as trees of named values, ready to print.

use std::collections::HashMap;

use tepui_capture::describe::{CallDescription, core_memory, each};
use tepui_capture::{Call, ClientMemory, Start};
use tepui_decode::{Content, GpuMemory, Record};
use tepui_drm::uapi::i915::{
    self, ContextCreateExtSetparam, ExecFence, ExecObject2, ExecTimelineFences,
    GemCreateExtMemoryRegions, Ioctl, QueryItem, UserExtension,
};
use tepui_drm::uapi::{IoctlInfo, KernelStruct, Request, core};
use tepui_intel_decode::calls::{fields, fields_of};
use tepui_intel_decode::{Decoder, Options, State};

use crate::payload::Payload;
use tepui_capture::client::argument;

/// Describes a request.
pub fn call(call: &Call) -> CallDescription {
    let request = Request(call.request);
    CallDescription::new(call, info(request), fields, |memory| describe_memory(request, memory))
}

fn info(request: Request) -> Option<&'static IoctlInfo> {
    if request.family() != Request::DRM {
        return None;
    }
    let own = Ioctl::from_nr(request.nr()).map(Ioctl::info);
    own.or_else(|| core::Ioctl::from_nr(request.nr()).map(core::Ioctl::info))
}

/// The structures of an array.
fn array<T: KernelStruct>(bytes: &[u8]) -> Vec<Record> {
    each(bytes, size_of::<T>(), |one| Content::Fields(fields_of::<T>(one)))
}

fn describe_memory(request: Request, memory: &ClientMemory) -> Record {
    let mut record = Record::group(memory.field.clone());
    let bytes = &memory.bytes;
    match (Ioctl::from_nr(request.nr()), memory.field.as_str()) {
        (Some(Ioctl::GemExecbuffer2), "buffers_ptr") => {
            record.children = array::<ExecObject2>(bytes)
        }
        (Some(Ioctl::GemExecbuffer2), "fences") => record.children = array::<ExecFence>(bytes),
        (Some(Ioctl::Query), "items_ptr") => record.children = array::<QueryItem>(bytes),
        (Some(Ioctl::GetParam), _) => {
            record.content = tepui_capture::describe::numbers("value", bytes, 4);
        }
        (Some(ioctl), "extension") => {
            let name = argument::<UserExtension>(bytes).name;
            record.content = Content::Fields(match (ioctl, name) {
                (Ioctl::GemExecbuffer2, i915::EXEC_EXT_TIMELINE_FENCES) => {
                    fields_of::<ExecTimelineFences>(bytes)
                }
                (Ioctl::GemCreateExt, i915::GEM_CREATE_EXT_MEMORY_REGIONS) => {
                    fields_of::<GemCreateExtMemoryRegions>(bytes)
                }
                (Ioctl::GemContextCreate, i915::CONTEXT_CREATE_EXT_SETPARAM) => {
                    fields_of::<ContextCreateExtSetparam>(bytes)
                }
                _ => fields_of::<UserExtension>(bytes),
            });
        }
        _ => return core_memory(memory),
    }
    record
}

/// Decodes the batches of a capture in order, with the state that earlier batches of a context left.
#[derive(Default)]
pub struct Describer {
    options: Options,
    /// Decoder state by open file and queue.
    states: HashMap<(u64, u32), State>,
}

impl Describer {
    /// A describer at the beginning of a capture, of a GPU with these parameters
    /// ([`tepui_capture::Process::parameters`]).
    pub fn new(parameters: &[u8], options: Options) -> Describer {
        let id = parameters.get(..2).map(|id| u16::from_le_bytes([id[0], id[1]]));
        let chip = id.and_then(tepui_intel_chips::with_device_id);
        let generation = chip.map_or(options.generation, |chip| chip.generation);
        Describer { options: Options { generation, ..options }, states: HashMap::new() }
    }

    /// Decodes a batch that has just started, with everything that it points to.
    pub fn command(&mut self, memory: &dyn GpuMemory, start: &Start) -> Record {
        let Some(payload) = Payload::read(&start.payload) else {
            return Record::group(format!(
                "Batch of submission {}: not in the capture",
                start.submission
            ));
        };
        let state = self.states.entry((start.file, start.queue)).or_default();
        let decoder = &mut Decoder::new(memory, self.options, state);
        let mut record = decoder.batch(payload.address, payload.length);
        record.title = format!(
            "{} of submission {}, engine {} of context {} of open file {}",
            record.title, start.submission, payload.engine, payload.context, start.file
        )
        .into();
        record
    }
}
