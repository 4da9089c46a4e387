//! Streams of any contents, and one with a loop, a call and a dispatch.

use std::sync::Arc;

use proptest::prelude::*;
use tepui_mali_decode::{Content, Decoder, Limits, Options, Record, State};
use tepui_mali_packets::cs::{
    CsAddImmediate32, CsBranch, CsCall, CsCondition, CsMove, CsMove32, CsRunCompute,
    CsStoreMultiple,
};
use tepui_mali_packets::shader::{Buffer, Resource, ShaderProgram, ShaderStage};
use tepui_softgpu::{AddressSpace, Memory, Protection};

const BASE: u64 = 0x10_0000;
const SIZE: u64 = 0x4000;

/// Memory with these words at its start.
fn memory(bytes: &[u8]) -> AddressSpace {
    let memory = Arc::new(Memory::new(SIZE as usize).expect("memory"));
    let vm = AddressSpace::new(12, 48);
    vm.bind(BASE, memory, 0, SIZE, Protection::READ | Protection::WRITE).expect("free");
    vm.write(BASE, bytes).expect("mapped");
    vm
}

fn titles(record: &Record) -> Vec<String> {
    let mut all = Vec::new();
    record.walk(&mut |r| all.push(r.title.to_string()));
    all
}

fn problems(record: &Record) -> usize {
    let mut count = 0;
    record.walk(&mut |r| count += r.problems.len());
    count
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_stream_ends(words in prop::collection::vec(any::<u64>(), 0..64), opcodes in prop::collection::vec(0u64..54, 64)) {
        let word = |(word, opcode): (&u64, &u64)| (word & 0x007f_7fff_ffff_ffff) | opcode << 56;
        let bytes: Vec<u8> =
            words.iter().zip(&opcodes).flat_map(|pair| word(pair).to_le_bytes()).collect();
        let vm = memory(&bytes);
        let limits = Limits { records: 2000, ..Limits::default() };
        let options = Options { limits, ..Options::default() };
        let mut state = State::default();
        let tree = Decoder::new(&vm, options).stream(&mut state, BASE, bytes.len() as u64);
        prop_assert!(!tree.to_string().is_empty());
    }
}

#[test]
fn loops_are_followed_and_work_is_shown_each_time() {
    let (table, program, code) = (BASE + 0x1000, BASE + 0x2000, BASE + 0x3000);
    let called = BASE + 0x400;
    let move48 = |destination, immediate| CsMove { destination, immediate }.pack().expect("fits");
    let move32 = |destination, immediate| CsMove32 { destination, immediate }.pack().expect("fits");
    let main = [
        move48(0, table | 1),
        move48(16, program),
        // Twice: r80 counts down, and each time the stream at `called` is executed.
        move32(80, 2),
        move48(82, called),
        move32(84, 16),
        CsCall { address: 82, length: 84 }.pack().expect("fits"),
        CsAddImmediate32 { destination: 80, source: 80, immediate: -1 }.pack().expect("fits"),
        CsBranch { condition: CsCondition::Nequal, value: 80, offset: -3 }.pack().expect("fits"),
        // The stored bytes are those that a later load would see; here the store only needs mapped memory.
        CsStoreMultiple { address: 82, base_register: 80, mask: 1, offset: 0x100 }
            .pack()
            .expect("fits"),
    ];
    let other = [move32(33, 7), CsRunCompute::default().pack().expect("fits")];
    let vm = memory(&main.concat());
    vm.write(called, &other.concat()).expect("mapped");
    let resource = Resource { address: table + 64, size: 32, ..Default::default() };
    vm.write(table, &resource.pack().expect("fits")).expect("mapped");
    let buffer = Buffer { address: 0x1234_0000, size: 64, ..Default::default() };
    vm.write(table + 64, &buffer.pack().expect("fits")).expect("mapped");
    let shader = ShaderProgram { stage: ShaderStage::Compute, binary: code, ..Default::default() };
    vm.write(program, &shader.pack().expect("fits")).expect("mapped");
    // NOP with the end of the shader.
    vm.write(code, &0x7800_c000_0000_0000u64.to_le_bytes()).expect("mapped");

    let mut state = State::default();
    let size = 8 * main.len() as u64;
    let tree = Decoder::new(&vm, Options::default()).stream(&mut state, BASE, size);
    assert_eq!(problems(&tree), 0, "{tree}");
    let titles = titles(&tree);
    let count = |title: &str| titles.iter().filter(|t| *t == title).count();
    assert_eq!(count("RUN_COMPUTE"), 2, "{tree}");
    assert_eq!(count("Buffer 0"), 1, "the second time it is named only: {tree}");
    assert_eq!(state.registers[80], 0);
    assert_eq!(state.registers[33], 7);
    let mut lines = 0;
    tree.walk(&mut |r| {
        if let (Content::Code(code), "Instructions") = (&r.content, r.title.as_ref()) {
            lines += code.len();
        }
    });
    assert_eq!(lines, main.len() + other.len(), "each instruction once: {tree}");
    assert!(tree.to_string().contains("ADD_IMMEDIATE32 r80, r80, #-1"));

    // A stream that never ends is a problem.
    let forever = CsBranch { condition: CsCondition::Always, value: 0, offset: -1 };
    vm.write(BASE, &forever.pack().expect("fits")).expect("mapped");
    let tree = Decoder::new(&vm, Options::default()).stream(&mut state, BASE, 8);
    assert!(tree.to_string().contains("never ends"), "{tree}");
}
