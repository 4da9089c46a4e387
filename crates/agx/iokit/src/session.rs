//! Follows the calls of one connection and decodes them.

use std::collections::HashMap;

use tepui_agx_decode::ppp::RenderArrays;
use tepui_agx_decode::{Content, Decoder, GpuMemory, Options, Problem, Record, Unreadable};
use tepui_agx_packets::iogpu::{Attachment, AttachmentCount, Compute, Graphics, Header};
use tepui_packets::{Packet, PacketInfo, Value};

use crate::calls::{
    AllocateRequest, AllocateResponse, CommandQueueResponse, MODE_SUBALLOCATED,
    NotificationQueueResponse, ResourceGroup, SegmentList, Selector, ShmemResponse, SubmitCommand,
    SubmitHeader, memory_kind,
};

/// The program's memory, by CPU address.
pub trait ClientMemory {
    /// Copies the bytes from `address` on; false if any of them is not mapped.
    fn read(&self, address: u64, into: &mut [u8]) -> bool;
}

/// A method call, before or after it is forwarded.
#[derive(Clone, Copy, Debug, Default)]
pub struct Call<'a> {
    /// Number of the method.
    pub selector: u32,
    /// Scalar arguments.
    pub input: &'a [u64],
    /// Structure argument.
    pub input_struct: &'a [u8],
    /// Scalar results; empty before the call.
    pub output: &'a [u64],
    /// Structure result; empty before the call.
    pub output_struct: &'a [u8],
    /// Return code; 0 is success.
    pub result: i32,
}

/// Memory that the program shares with the GPU or the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Block {
    /// GPU address; 0 for shared memory that is not mapped on the GPU.
    gpu: u64,
    cpu: u64,
    size: u64,
}

/// The state of a connection: its allocations and shared memory.
#[derive(Debug, Default)]
pub struct Session {
    /// Allocations by handle.
    allocations: HashMap<u32, Block>,
    /// Shared memory by id.
    shmems: HashMap<u32, Block>,
}

/// Limit on the attachments and resource groups that are listed.
const MAX_LISTED: u32 = 4096;

impl Session {
    /// A new connection.
    pub fn new() -> Session {
        Session::default()
    }

    /// Decodes a call before it is forwarded. Submissions are decoded now, since the kernel may
    /// change command buffers.
    pub fn entering(&mut self, call: &Call<'_>, memory: &dyn ClientMemory) -> Record {
        let selector = Selector::from_raw(call.selector.into()).filter(|s| *s != Selector::Unknown);
        let mut record = match selector {
            Some(selector) => Record::group(selector.to_string()),
            None => Record::group(format!("selector {:#x}", call.selector)),
        };
        let numbers = call.input.iter().enumerate();
        record.content = Content::Fields(
            numbers.map(|(i, &number)| (format!("input {i}").into(), Value::Hex(number))).collect(),
        );
        match selector {
            Some(Selector::SetApi) => {
                let text = String::from_utf8_lossy(call.input_struct);
                let text = text.trim_end_matches('\0');
                record.children.push(Record::group(format!("API: {text:?}")));
            }
            Some(Selector::AllocateMem) => {
                let mut request = structure(AllocateRequest::INFO, call.input_struct);
                if let Ok((asked, _)) = AllocateRequest::unpack_lossy(call.input_struct) {
                    let kind = memory_kind(asked.flags).unwrap_or("unknown");
                    let suballocated = asked.mode & MODE_SUBALLOCATED != 0;
                    let text = format!(
                        "kind: {kind}{}",
                        if suballocated { ", a suballocation of its parent" } else { "" }
                    );
                    request.children.push(Record::group(text));
                }
                record.children.push(request);
            }
            Some(Selector::SubmitCommandBuffers) => {
                self.submission(call.input_struct, memory, &mut record);
            }
            _ if !call.input_struct.is_empty() => {
                record.children.push(raw("input structure", call.input_struct));
            }
            _ => {}
        }
        record
    }

    /// Decodes the results of a call, and tracks what it created or freed.
    pub fn answered(&mut self, call: &Call<'_>) -> Record {
        let mut record = Record::group(format!("= {:#x}", call.result));
        let numbers = call.output.iter().enumerate();
        record.content = Content::Fields(
            numbers
                .map(|(i, &number)| (format!("output {i}").into(), Value::Hex(number)))
                .collect(),
        );
        let answer = call.output_struct;
        let info = match Selector::from_raw(call.selector.into()) {
            Some(Selector::AllocateMem) => Some(AllocateResponse::INFO),
            Some(Selector::CreateShmem) => Some(ShmemResponse::INFO),
            Some(Selector::CreateCommandQueue) => Some(CommandQueueResponse::INFO),
            Some(Selector::CreateNotificationQueue) => Some(NotificationQueueResponse::INFO),
            _ => None,
        };
        match info {
            Some(info) => record.children.push(structure(info, answer)),
            None if !answer.is_empty() => record.children.push(raw("output structure", answer)),
            None => {}
        }
        if call.result == 0 {
            self.remember(call);
        }
        record
    }

    fn remember(&mut self, call: &Call<'_>) {
        let freed = call.input.first().map(|&handle| handle as u32);
        match Selector::from_raw(call.selector.into()) {
            Some(Selector::AllocateMem) => {
                if let Ok((r, _)) = AllocateResponse::unpack_lossy(call.output_struct) {
                    let block = Block { gpu: r.gpu_va, cpu: r.cpu, size: r.sub_size };
                    self.allocations.insert(r.handle, block);
                }
            }
            Some(Selector::CreateShmem) => {
                if let Ok((r, _)) = ShmemResponse::unpack_lossy(call.output_struct) {
                    let block = Block { gpu: 0, cpu: r.map, size: r.size.into() };
                    self.shmems.insert(r.id, block);
                }
            }
            Some(Selector::FreeMem) => {
                freed.and_then(|handle| self.allocations.remove(&handle));
            }
            Some(Selector::FreeShmem) => {
                freed.and_then(|id| self.shmems.remove(&id));
            }
            _ => {}
        }
    }

    fn submission(&self, bytes: &[u8], memory: &dyn ClientMemory, record: &mut Record) {
        record.children.push(structure(SubmitHeader::INFO, bytes));
        let Ok((header, _)) = SubmitHeader::unpack_lossy(bytes) else { return };
        let list = bytes.get(SubmitHeader::SIZE_BYTES..).unwrap_or(&[]);
        let commands = list.chunks(SubmitCommand::SIZE_BYTES).take(header.count as usize);
        for bytes in commands {
            let mut command = structure(SubmitCommand::INFO, bytes);
            if let Ok((submitted, _)) = SubmitCommand::unpack_lossy(bytes) {
                let list = self.segment_list(submitted.segment_list_shmem_id, memory);
                let buffer = self.command_buffer(submitted.command_buffer_shmem_id, memory);
                command.children.extend([list, buffer]);
            }
            record.children.push(command);
        }
    }

    /// The contents of shared memory, at most its first `limit` bytes; empty if it cannot be read.
    fn shmem(&self, id: u32, limit: u64, memory: &dyn ClientMemory) -> Vec<u8> {
        let Some(block) = self.shmems.get(&id) else { return Vec::new() };
        let mut bytes = vec![0; block.size.min(limit) as usize];
        if memory.read(block.cpu, &mut bytes) { bytes } else { Vec::new() }
    }

    fn segment_list(&self, id: u32, memory: &dyn ClientMemory) -> Record {
        let bytes = self.shmem(id, 1 << 20, memory);
        let mut record = structure(SegmentList::INFO, &bytes);
        let Ok((list, _)) = SegmentList::unpack_lossy(&bytes) else { return record };
        let groups = bytes[SegmentList::SIZE_BYTES..].chunks_exact(ResourceGroup::SIZE_BYTES);
        let count = list.resource_group_count.min(MAX_LISTED) as usize;
        record.children = groups.take(count).map(|b| structure(ResourceGroup::INFO, b)).collect();
        record
    }

    /// Decodes a command buffer, with everything that it points to.
    fn command_buffer(&self, id: u32, memory: &dyn ClientMemory) -> Record {
        let bytes = self.shmem(id, 1 << 20, memory);
        let mut record = Record::group(format!("Command buffer {id}"));
        record.children.push(structure(Header::INFO, &bytes));
        let Ok((header, _)) = Header::unpack_lossy(&bytes) else { return record };
        if let Some(list) = bytes.get(header.attachment_offset as usize..) {
            record.children.push(attachments(list));
        }
        let gpu = GpuView { session: self, memory };
        // Shaders are in the first 4 GiB, so USC addresses are GPU addresses.
        let mut decoder = Decoder::new(&gpu, Options::new(0));
        let body = &bytes[Header::SIZE_BYTES..];
        if header.unk_5 == 3 {
            record.children.push(structure(Compute::INFO, body));
            record.children.push(decoder.cdm(header.encoder));
            if let Ok((compute, _)) = Compute::unpack_lossy(body)
                && compute.context_switch_program != 0
            {
                let program = compute.context_switch_program;
                record.children.push(decoder.shader("Context switch program", program));
            }
        } else {
            record.children.push(structure(Graphics::INFO, body));
            let graphics = Graphics::unpack_lossy(body).ok().map(|(graphics, _)| graphics);
            let arrays = graphics.map_or_else(RenderArrays::default, |g| RenderArrays {
                scissors: g.scissor_array,
                depth_biases: g.depth_bias_array,
            });
            record.children.push(decoder.vdm(header.encoder, arrays));
            if let Some(g) = graphics {
                for (title, address) in [
                    ("Clear pipeline", g.clear_pipeline),
                    ("Store pipeline", g.store_pipeline),
                    ("Partial reload pipeline", g.partial_reload_pipeline),
                    ("Partial store pipeline", g.partial_store_pipeline),
                ] {
                    if address != 0 {
                        record.children.push(decoder.pipeline(title, address, false));
                    }
                }
            }
        }
        record
    }
}

/// Decodes the list of attachments at the start of `bytes`.
fn attachments(bytes: &[u8]) -> Record {
    let mut record = structure(AttachmentCount::INFO, bytes);
    if let Ok((count, _)) = AttachmentCount::unpack_lossy(bytes) {
        let list = bytes[AttachmentCount::SIZE_BYTES..].chunks_exact(Attachment::SIZE_BYTES);
        let count = count.count.min(MAX_LISTED) as usize;
        record.children = list.take(count).map(|b| structure(Attachment::INFO, b)).collect();
    }
    record
}

/// Decodes a structure.
fn structure(info: &'static PacketInfo, bytes: &[u8]) -> Record {
    let mut record = Record::group(info.name);
    match info.decode(bytes) {
        Ok(mut decoded) => {
            // Most bits of these structures are unknown, so bits outside of fields are not reported.
            decoded.problems.clear();
            record.content = Content::Packet(decoded);
        }
        Err(problem) => record.problems.push(Problem::Packet(problem)),
    }
    record
}

fn raw(title: &'static str, bytes: &[u8]) -> Record {
    Record { content: Content::Bytes(bytes.to_vec()), ..Record::group(title) }
}

/// The GPU's view of the program's memory: its allocations.
struct GpuView<'a> {
    session: &'a Session,
    memory: &'a dyn ClientMemory,
}

impl GpuMemory for GpuView<'_> {
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), Unreadable> {
        let unreadable = Unreadable { address };
        let holds = |block: &&Block| {
            address.checked_sub(block.gpu).is_some_and(|offset| {
                block.gpu != 0
                    && offset.checked_add(into.len() as u64).is_some_and(|end| end <= block.size)
            })
        };
        // A suballocation lies inside its parent: either has the bytes.
        let block = self.session.allocations.values().find(holds).ok_or(unreadable)?;
        let cpu = block.cpu.checked_add(address - block.gpu).ok_or(unreadable)?;
        self.memory.read(cpu, into).then_some(()).ok_or(unreadable)
    }
}
