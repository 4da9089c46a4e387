//! Batches in memory: jumps, second levels, states, kernels, and arbitrary bytes.

use std::sync::Arc;

use proptest::prelude::*;
use tepui_intel_decode::{Content, Decoder, Limits, Options, Problem, Record, State};
use tepui_intel_isa::{Generation, asm};
use tepui_intel_packets::bindings::State3dBindingTablePointersPs;
use tepui_intel_packets::media::{
    GpgpuWalker, InterfaceDescriptorData, MediaInterfaceDescriptorLoad,
};
use tepui_intel_packets::mi::{MiBatchBufferEnd, MiBatchBufferStart, MiLoadRegisterImm};
use tepui_intel_packets::pixel::State3dPs;
use tepui_intel_packets::state::StateBaseAddress;
use tepui_intel_packets::surface::{RenderSurfaceState, SurfaceType};
use tepui_intel_packets::vertex::Primitive3d;
use tepui_softgpu::{AddressSpace, Memory, Protection};

const BASE: u64 = 0xeffe_0000_0000;
const SIZE: usize = 1 << 16;

/// Memory at [`BASE`].
struct BatchMemory {
    vm: AddressSpace,
    memory: Arc<Memory>,
}

impl BatchMemory {
    fn new() -> BatchMemory {
        let memory = Arc::new(Memory::new(SIZE).expect("memory"));
        let vm = AddressSpace::new(12, 48);
        let access = Protection::READ | Protection::WRITE;
        vm.bind(BASE, memory.clone(), 0, SIZE as u64, access).expect("free");
        BatchMemory { vm, memory }
    }

    fn put(&self, at: usize, bytes: &[u8]) {
        assert!(at + bytes.len() <= SIZE);
        // SAFETY: inside of the block, to which there is no other reference.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.memory.base().add(at), bytes.len());
        }
    }

    /// Writes commands at an offset.
    fn commands(&self, mut at: usize, commands: &[&[u8]]) {
        for command in commands {
            self.put(at, command);
            at += command.len();
        }
    }

    fn decode(&self, at: u64, length: u64) -> Record {
        self.decode_with(at, length, &mut State::default())
    }

    fn decode_with(&self, at: u64, length: u64, state: &mut State) -> Record {
        Decoder::new(&self.vm, Options::default(), state).batch(BASE + at, length)
    }
}

fn end() -> Vec<u8> {
    MiBatchBufferEnd::default().pack().unwrap().to_vec()
}

fn jump(to: u64, second: bool) -> Vec<u8> {
    let start = MiBatchBufferStart {
        // Canonical, as drivers write addresses.
        batch_buffer_start_address: (BASE + to) | 0xffff << 48,
        second_level_batch_buffer: second,
        ..Default::default()
    };
    start.pack().unwrap().to_vec()
}

fn titles(record: &Record) -> Vec<&str> {
    record.children.iter().map(|child| &*child.title).collect()
}

#[test]
fn jumps_go_on_and_second_levels_return() {
    let memory = BatchMemory::new();
    let load = MiLoadRegisterImm { dword_length: 1, ..Default::default() }.pack().unwrap();
    memory.commands(0, &[&jump(0x1000, true), &load, &jump(0x2000, false), &load]);
    memory.commands(0x1000, &[&load, &end()]);
    memory.commands(0x2000, &[&[0; 40], &end()]);
    let tree = memory.decode(0, 64);
    assert_eq!(
        titles(&tree),
        [
            "MI_BATCH_BUFFER_START",
            "MI_LOAD_REGISTER_IMM",
            "MI_BATCH_BUFFER_START",
            "MI_NOOP",
            "MI_BATCH_BUFFER_END"
        ]
    );
    assert_eq!(titles(&tree.children[0]), ["Second level batch"]);
    let inner = &tree.children[0].children[0];
    assert_eq!(titles(inner), ["MI_LOAD_REGISTER_IMM", "MI_BATCH_BUFFER_END"]);
    assert!(tree.to_string().contains("MI_NOOP at 0xeffe00002000: Repeated=10"), "{tree}");
    // The length bounds commands up to the first jump only.
    assert_eq!(titles(&memory.decode(0, 12)), ["MI_BATCH_BUFFER_START"]);
}

/// All problems of a tree, with the offset of their record.
fn problems(tree: &Record) -> Vec<(u64, Problem)> {
    let mut found = Vec::new();
    tree.walk(&mut |record| {
        let at = record.address.unwrap_or_default();
        found.extend(record.problems.iter().map(|p| (at.wrapping_sub(BASE), p.clone())));
    });
    found
}

#[test]
fn broken_batches_say_where_and_why() {
    let memory = BatchMemory::new();
    memory.commands(0, &[&jump(0x40, false)]);
    memory.commands(0x40, &[&jump(0x40, false)]);
    let endless = Problem::EndlessLoop { address: BASE + 0x40 };
    assert_eq!(problems(&memory.decode(0, 64)), [(0x40, endless)]);
    // An unknown command has a length, a command of unknown type has none.
    memory.commands(0x100, &[&0x7bff_0001u32.to_le_bytes(), &[0xff; 8], &[0xff; 4]]);
    let unknown = |header| Problem::UnknownCommand { header };
    let expected = [(0x100, unknown(0x7bff_0001)), (0x10c, unknown(u32::MAX))];
    assert_eq!(problems(&memory.decode(0x100, 64)), expected);
    // A second level that starts another one.
    memory.commands(0x200, &[&jump(0x240, true), &end()]);
    memory.commands(0x240, &[&jump(0x280, true), &end()]);
    assert_eq!(problems(&memory.decode(0x200, 64)), [(0x240, Problem::CallsTooDeep { limit: 1 })]);
    // The end of memory.
    let last = SIZE as u64 - 4;
    let load = MiLoadRegisterImm { dword_length: 1, ..Default::default() }.pack().unwrap();
    memory.put(SIZE - 4, &load[..4]);
    let found = problems(&memory.decode(last, 64));
    assert!(matches!(found[..], [(at, Problem::Unreadable(_))] if at == last), "{found:?}");
    // A limit of records.
    let limits = Limits { records: 3, calls: 1 };
    let options = Options { limits, ..Options::default() };
    memory.commands(0x300, &[&load.repeat(20)]);
    let mut state = State::default();
    let tree = Decoder::new(&memory.vm, options, &mut state).batch(BASE + 0x300, 240);
    assert!(problems(&tree).contains(&(0x300, Problem::TooMuch { limit: 3 })), "{tree}");
}

const KERNEL: &str = "add(8) g1<1>D g1<8,8,1>D 1D { align1 1Q };
    send(8) null<1>UD g127<8,8,1>UD 0x82000010 thread_spawner MsgDesc: { align1 1Q EOT };";

/// Base addresses of all states: [`BASE`].
fn bases() -> Vec<u8> {
    let set = StateBaseAddress {
        surface_state_base_address: BASE,
        surface_state_base_address_modify_enable: true,
        dynamic_state_base_address: BASE,
        dynamic_state_base_address_modify_enable: true,
        instruction_base_address: BASE,
        instruction_base_address_modify_enable: true,
        ..Default::default()
    };
    set.pack().unwrap().to_vec()
}

fn surface() -> Vec<u8> {
    let state = RenderSurfaceState {
        surface_type: SurfaceType::Surftype2d,
        surface_horizontal_alignment: 1,
        surface_vertical_alignment: 1,
        width: 63,
        ..Default::default()
    };
    state.pack().unwrap().to_vec()
}

#[test]
fn a_dispatch_leads_to_its_kernel_and_surfaces() {
    let memory = BatchMemory::new();
    memory.put(0x4000, &asm::assemble(Generation::Gen9, KERNEL).unwrap());
    let descriptor = InterfaceDescriptorData {
        kernel_start_pointer: 0x4000,
        binding_table_pointer: 0x100,
        binding_table_entry_count: 2,
        ..Default::default()
    };
    memory.put(0x5000, &descriptor.pack().unwrap());
    memory.put(0x100, &[0x6000u32.to_le_bytes(), 0x6040u32.to_le_bytes()].concat());
    memory.put(0x6000, &[surface(), surface()].concat());
    let load = MediaInterfaceDescriptorLoad {
        interface_descriptor_total_length: 32,
        interface_descriptor_data_start_address: 0x5000,
    };
    let walker = GpgpuWalker::default().pack().unwrap();
    // The bases come from an earlier batch of the context.
    let mut state = State::default();
    memory.commands(0x800, &[&bases(), &end()]);
    memory.decode_with(0x800, 256, &mut state);
    memory.commands(0x1000, &[&load.pack().unwrap(), &walker, &end()]);
    let tree = memory.decode_with(0x1000, 256, &mut state);
    let descriptor = &tree.children[0].children[0];
    assert_eq!(titles(descriptor), ["Kernel", "Surface 0", "Surface 1"]);
    let Content::Code(lines) = &descriptor.children[0].content else { panic!("{tree}") };
    assert_eq!(lines.len(), 2);
    assert_eq!(descriptor.children[2].address, Some(BASE + 0x6040));
    assert!(problems(&tree).is_empty(), "{tree}");
    let json = serde_json::to_value(&tree).unwrap();
    assert_eq!(json["children"][0]["children"][0]["children"][1]["fields"]["Width"], 63);
}

#[test]
fn draws_tell_their_render_targets() {
    let memory = BatchMemory::new();
    // A write of a render target at entry 2 of the binding table that ends the thread.
    let kernel = "sendc(16) null<1>UW g127<8,8,1>F 0x82031102
        render MsgDesc: { align1 1H EOT };";
    memory.put(0x4000, &asm::assemble(Generation::Gen9, kernel).unwrap());
    memory.put(0x108, &0x6080u32.to_le_bytes());
    memory.put(0x6080, &surface());
    let ps = State3dPs {
        kernel_start_pointer_0: 0x4000,
        n16_pixel_dispatch_enable: true,
        ..Default::default()
    };
    let table = State3dBindingTablePointersPs { pointer_to_ps_binding_table: 0x100 };
    let draw = Primitive3d::default().pack().unwrap();
    let (ps, table) = (ps.pack().unwrap(), table.pack().unwrap());
    memory.commands(0, &[&bases(), &ps, &table, &draw, &draw, &end()]);
    let mut state = State::default();
    let mut decoder = Decoder::new(&memory.vm, Options::default(), &mut state);
    let tree = decoder.batch(BASE, 4096);
    assert_eq!(decoder.drawn(), [BASE + 0x6080], "{tree}");
}

proptest! {
    /// Decoding terminates for any memory contents, and no tree exceeds the limit.
    #[test]
    fn any_memory_is_decoded(
        words in prop::collection::vec(any::<[u8; 4]>(), 1..400),
        headers in prop::collection::vec((0usize..400, 0usize..140), 0..60),
        start in 0u64..400,
    ) {
        let memory = BatchMemory::new();
        let commands: Vec<_> = tepui_intel_packets::ALL
            .iter()
            .flat_map(|list| list.iter())
            .filter_map(|info| info.default_bytes().ok())
            .collect();
        let mut bytes = words.concat();
        for (at, which) in headers {
            let command = &commands[which % commands.len()];
            let at = 4 * at;
            let length = command.len().min(bytes.len().saturating_sub(at)).min(4);
            if length > 0 {
                bytes[at..at + length].copy_from_slice(&command[..length]);
            }
        }
        memory.put(0, &bytes);
        let limits = Limits { records: 500, calls: 1 };
        let mut state = State {
            surface_base: BASE,
            dynamic_base: BASE,
            instruction_base: BASE,
            ..State::default()
        };
        let options = Options { limits, ..Options::default() };
        let tree = Decoder::new(&memory.vm, options, &mut state).batch(BASE + 4 * start, 1 << 20);
        let mut records = 0;
        tree.walk(&mut |_| records += 1);
        prop_assert!(records <= 2 * 500 + 10, "{records}");
        prop_assert!(!tree.to_string().is_empty());
    }
}
