//! Decodes the calls of a connection, given as bytes, against simulated program memory.

use std::collections::BTreeMap;

use proptest::prelude::*;
use tepui_agx_iokit::calls::{
    AllocateRequest, AllocateResponse, MODE_SUBALLOCATED, ResourceGroup, SegmentList, Selector,
    ShmemResponse, SubmitCommand, SubmitHeader,
};
use tepui_agx_iokit::{Call, ClientMemory, Session};
use tepui_agx_packets::Packet;
use tepui_agx_packets::cdm::{GlobalSize, LaunchWord0, LaunchWord1, LocalSize, StreamTerminate};
use tepui_agx_packets::iogpu::{
    Attachment, AttachmentCount, AttachmentType, Compute, Graphics, Header,
};
use tepui_agx_packets::usc::{NoPreshader, Uniform};
use tepui_agx_packets::vdm;

/// Memory by CPU address.
#[derive(Default)]
struct Program(BTreeMap<u64, Vec<u8>>);

impl ClientMemory for Program {
    fn read(&self, address: u64, into: &mut [u8]) -> bool {
        let Some((start, bytes)) = self.0.range(..=address).next_back() else { return false };
        let from = (address - start) as usize;
        let Some(bytes) = from.checked_add(into.len()).and_then(|end| bytes.get(from..end)) else {
            return false;
        };
        into.copy_from_slice(bytes);
        true
    }
}

fn packed<P: Packet>(packet: P) -> Vec<u8> {
    let mut bytes = vec![0; P::INFO.size_bytes];
    packet.pack_into(&mut bytes).expect("packs");
    bytes
}

const GPU: u64 = 0x15_0000_0000;
const CPU: u64 = 0x1_0000_0000;
const COMMANDS: u64 = 0x2_0000_0000;
const SEGMENTS: u64 = 0x3_0000_0000;
/// Memory with 32-bit GPU addresses.
const LOW_GPU: u64 = 0x10_0000;
const LOW_CPU: u64 = 0x4_0000_0000;

/// A program with two allocations, a command buffer (shared memory 7) and a list of resources (8).
fn program(commands: Vec<u8>, stream: Vec<u8>) -> (Program, Session) {
    let mut memory = Program::default();
    let mut session = Session::new();
    let mut allocate = |handle, gpu_va, cpu, bytes: Vec<u8>| {
        let size = bytes.len() as u64;
        memory.0.insert(cpu, bytes);
        let response = AllocateResponse {
            gpu_va,
            cpu,
            handle,
            root_size: size,
            sub_size: size,
            ..Default::default()
        };
        session.answered(&Call {
            selector: Selector::AllocateMem.raw() as u32,
            output_struct: &packed(response),
            ..Default::default()
        });
    };
    allocate(3, GPU, CPU, stream);
    let mut low = packed(Uniform { size_halfs: 4, buffer: GPU, ..Default::default() });
    low.extend(packed(NoPreshader::default()));
    low.resize(0x1000, 0);
    allocate(4, LOW_GPU, LOW_CPU, low);
    let list = SegmentList { resource_group_count: 1, total_resources: 2, ..Default::default() };
    let group =
        ResourceGroup { resource_id: [3, 4, 0, 0, 0, 0], resource_count: 2, ..Default::default() };
    let segments = [packed(list), packed(group)].concat();
    for (id, map, bytes) in [(7, COMMANDS, commands), (8, SEGMENTS, segments)] {
        let size = bytes.len() as u32;
        memory.0.insert(map, bytes);
        session.answered(&Call {
            selector: Selector::CreateShmem.raw() as u32,
            output_struct: &packed(ShmemResponse { map, size, id }),
            ..Default::default()
        });
    }
    (memory, session)
}

fn submission() -> Vec<u8> {
    let command = SubmitCommand {
        command_buffer_shmem_id: 7,
        segment_list_shmem_id: 8,
        ..Default::default()
    };
    [packed(SubmitHeader { unk_0: 0, count: 1 }), packed(command)].concat()
}

fn submit(session: &mut Session, memory: &Program) -> String {
    let call = Call {
        selector: Selector::SubmitCommandBuffers.raw() as u32,
        input: &[1],
        input_struct: &submission(),
        ..Default::default()
    };
    session.entering(&call, memory).to_string()
}

fn compute_stream() -> Vec<u8> {
    let mut stream = [
        packed(LaunchWord0::default()),
        packed(LaunchWord1 { pipeline: LOW_GPU }),
        packed(GlobalSize { x: 99, y: 1, z: 1 }),
        packed(LocalSize { x: 32, y: 1, z: 1 }),
        packed(StreamTerminate::default()),
    ]
    .concat();
    stream.resize(0x1000, 0);
    stream
}

#[test]
fn a_compute_submission_is_decoded() {
    let header = Header { unk_5: 3, encoder: GPU, attachment_offset: 448, ..Default::default() };
    let attachment =
        Attachment { type_: AttachmentType::Colour, address: 0x1234, ..Default::default() };
    let commands = [
        packed(header),
        packed(Compute::default()),
        packed(AttachmentCount { count: 1 }),
        packed(attachment),
    ]
    .concat();
    let (memory, mut session) = program(commands, compute_stream());
    let text = submit(&mut session, &memory);
    for line in [
        "SUBMIT_COMMAND_BUFFERS: input 0=0x1",
        "Segment list",
        "Resource ID: 3 4 0 0 0 0",
        "Command buffer 7",
        "Type: Colour",
        "CDM stream at 0x1500000000",
        "X: 99",
        "USC Uniform at 0x100000",
        "Values at 0x1500000000",
        "CDM Stream Terminate at 0x1500000020",
    ] {
        assert!(text.lines().any(|l| l.trim() == line), "{line:?} is not in\n{text}");
    }
    // Freed memory is no longer readable.
    session.answered(&Call {
        selector: Selector::FreeMem.raw() as u32,
        input: &[3],
        ..Default::default()
    });
    let text = submit(&mut session, &memory);
    assert!(text.contains("! no memory to read at 0x1500000000"), "{text}");
}

#[test]
fn a_render_submission_is_decoded() {
    let header = Header { encoder: GPU, ..Default::default() };
    let graphics = Graphics { clear_pipeline: LOW_GPU, ..Default::default() };
    let mut stream = packed(vdm::StreamTerminate::default());
    stream.resize(0x1000, 0);
    let (memory, mut session) = program([packed(header), packed(graphics)].concat(), stream);
    let text = submit(&mut session, &memory);
    for part in ["VDM stream at 0x1500000000", "VDM Stream Terminate", "Clear pipeline at 0x100000"]
    {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
}

#[test]
fn allocations_say_what_they_are() {
    let request = AllocateRequest {
        mode: MODE_SUBALLOCATED | 0x430,
        flags: 0x4800_0000,
        size: 0x4000,
        parent: 9,
        ..Default::default()
    };
    let mut session = Session::new();
    let bytes = packed(request);
    assert_eq!(bytes.len(), 96);
    let call = Call { selector: 0xa, input_struct: &bytes, ..Default::default() };
    let text = session.entering(&call, &Program::default()).to_string();
    assert!(
        text.contains("kind: shaders, 32-bit addresses, a suballocation of its parent"),
        "{text}"
    );
    assert!(text.contains("Parent: 9"), "{text}");
    let call = Call { selector: 0xa, result: -7, output_struct: &[1, 2], ..Default::default() };
    assert!(session.answered(&call).to_string().contains("2 bytes given, 80 bytes needed"));
    let call = Call { selector: 7, input_struct: b"Metal\0\0\0", ..Default::default() };
    let text = session.entering(&call, &Program::default()).to_string();
    assert_eq!(text, "SET_API\n  API: \"Metal\"\n");
    let call = Call { selector: 0x31, input: &[5], ..Default::default() };
    let text = session.entering(&call, &Program::default()).to_string();
    assert_eq!(text, "selector 0x31: input 0=0x5\n");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Calls with random command buffers, streams and structures are decoded without a panic.
    #[test]
    fn garbage_is_decoded(
        commands in prop::collection::vec(any::<u8>(), 0..2100),
        stream in prop::collection::vec(any::<u8>(), 0..600),
        calls in prop::collection::vec((0u32..0x32, prop::collection::vec(any::<u8>(), 0..120)), 0..6),
    ) {
        let (memory, mut session) = program(commands, stream);
        submit(&mut session, &memory);
        for (selector, bytes) in &calls {
            let call = Call { selector: *selector, input: &[7], input_struct: bytes, output_struct: bytes, ..Default::default() };
            let _ = session.entering(&call, &memory).to_string();
            let _ = session.answered(&call).to_string();
            submit(&mut session, &memory);
        }
    }
}
