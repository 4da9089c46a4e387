//! Requests and runs as trees of named values, ready to print.

use std::collections::HashMap;

use tepui_capture::client::argument;
use tepui_capture::describe::{CallDescription, core_memory, each};
use tepui_capture::{Call, ClientMemory, Start};
use tepui_decode::{Content, GpuMemory, Record};
use tepui_drm::uapi::panthor::{self, Ioctl};
use tepui_drm::uapi::{KernelStruct, Request, panfrost};
use tepui_mali_decode::calls::{fields, fields_of};
use tepui_mali_decode::{Decoder, Options, State};

use crate::interface::Interface;
use crate::payload::Run;

/// Describes a request.
fn call(interface: Interface, call: &Call) -> CallDescription {
    let request = Request(call.request);
    let query = argument::<panthor::DevQuery>(&call.before).r#type;
    CallDescription::new(call, interface.info(request), fields, |memory| match interface {
        Interface::Panthor => describe_memory(request, query, memory),
        Interface::Panfrost => panfrost_memory(request, memory),
    })
}

fn panfrost_memory(request: Request, memory: &ClientMemory) -> Record {
    let mut record = Record::group(memory.field.clone());
    match (panfrost::Ioctl::from_nr(request.nr()), memory.field.as_str()) {
        (Some(panfrost::Ioctl::Submit), _) => {
            record.content = Content::Bytes(memory.bytes.clone());
        }
        (Some(panfrost::Ioctl::SyncBo), "ops") => {
            record.children = array::<panfrost::BoSyncOp>(&memory.bytes);
        }
        _ => return core_memory(memory),
    }
    record
}

/// The structures of an array.
fn array<T: KernelStruct>(bytes: &[u8]) -> Vec<Record> {
    each(bytes, size_of::<T>(), |one| Content::Fields(fields_of::<T>(one)))
}

fn describe_memory(request: Request, query: u32, memory: &ClientMemory) -> Record {
    let mut record = Record::group(memory.field.clone());
    let bytes = &memory.bytes;
    match (Ioctl::from_nr(request.nr()), memory.field.as_str()) {
        (Some(_), "syncs") => record.children = array::<panthor::SyncOp>(bytes),
        (Some(Ioctl::VmBind), "ops") => record.children = array::<panthor::VmBindOp>(bytes),
        (Some(Ioctl::BoSync), "ops") => record.children = array::<panthor::BoSyncOp>(bytes),
        (Some(Ioctl::GroupCreate), "queues") => {
            record.children = array::<panthor::QueueCreate>(bytes);
        }
        (Some(Ioctl::GroupSubmit), "queue_submits") => {
            record.children = array::<panthor::QueueSubmit>(bytes);
        }
        (Some(Ioctl::DevQuery), "pointer") => {
            record.content = match query {
                panthor::QUERY_GPU_INFO => Content::Fields(fields_of::<panthor::GpuInfo>(bytes)),
                panthor::QUERY_CSIF_INFO => Content::Fields(fields_of::<panthor::CsifInfo>(bytes)),
                panthor::QUERY_TIMESTAMP_INFO => {
                    Content::Fields(fields_of::<panthor::TimestampInfo>(bytes))
                }
                panthor::QUERY_GROUP_PRIORITIES_INFO => {
                    Content::Fields(fields_of::<panthor::GroupPrioritiesInfo>(bytes))
                }
                panthor::QUERY_MMU_INFO => Content::Fields(fields_of::<panthor::MmuInfo>(bytes)),
                _ => Content::Bytes(bytes.clone()),
            };
        }
        _ => return core_memory(memory),
    }
    record
}

/// Decodes the runs of a capture in order, with the registers that earlier streams left.
pub struct Describer {
    interface: Interface,
    options: Options,
    /// State of the command-stream interpreter by open file, group and queue.
    states: HashMap<(u64, u32, u64), State>,
}

impl Describer {
    /// A describer at the beginning of a capture: no queue has executed anything.
    pub fn new(interface: Interface, options: Options) -> Describer {
        Describer { interface, options, states: HashMap::new() }
    }

    /// Describes a request.
    pub fn call(&self, call: &Call) -> CallDescription {
        self::call(self.interface, call)
    }

    /// Decodes a run that has just started: the streams that begin with it, with everything that they point
    /// to.
    pub fn command(&mut self, memory: &dyn GpuMemory, start: &Start) -> Record {
        let run = Run::read(&start.payload);
        if self.interface == Interface::Panfrost {
            return self.chains(memory, start, &run);
        }
        let title =
            format!("Run {} of group {} of open file {}", start.command, start.queue, start.file);
        let mut record = Record::group(title);
        let mut decoder = Decoder::new(memory, self.options);
        for stream in &run.streams {
            let key = (start.file, start.queue, stream.queue);
            let state = self.states.entry(key).or_default();
            let mut child = decoder.stream(state, stream.address, stream.size);
            child.title = format!(
                "{} of submission {} on queue {}",
                child.title, stream.submission, stream.queue
            )
            .into();
            record.children.push(child);
        }
        record
    }

    /// The chains of jobs of a run.
    fn chains(&self, memory: &dyn GpuMemory, start: &Start, run: &Run) -> Record {
        let mut record =
            Record::group(format!("Run {} of open file {}", start.command, start.file));
        let mut decoder = Decoder::new(memory, self.options);
        for stream in &run.streams {
            let mut child = decoder.chain(stream.address);
            child.title = format!("{} of submission {}", child.title, stream.submission).into();
            record.children.push(child);
        }
        record
    }
}
