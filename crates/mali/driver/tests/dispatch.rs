//! Dispatches and barriers on a virtual G610 through the panthor interface, and on a virtual G57 through the panfrost interface, with
//! machine code that is written here.

mod rig;

use std::sync::Arc;

use rig::{CHIPS, Test, words};
use tepui_drm::client::Wait;
use tepui_mali_compiler::{FauWord, Names, Program, StageInfo, Stats};
use tepui_mali_driver::Mali;
use tepui_mali_driver::encoder::{self, Encoder};
use tepui_mali_driver::kernel::Bo;
use tepui_mali_driver::shader::Variant;
use tepui_sysval::SystemValue;
use tepui_vulkan::backend::{Condition, Dispatch, Encoder as _};
use tepui_vulkan::command::MAX_PUSH;
use tepui_vulkan::dependency::{Dependency, Scope, Within};
use tepui_vulkan::vk;
use tepui_vulkan_kit::arena::Mapped;

/// `to[x] = from[x] + word`, of 32-bit words: addresses and the word are push constants, 64 threads to a workgroup.
const ADD: &str = "
    SHADDX.u64 r2, u0, r60.w0, shift:0x2
    SHADDX.u64 r4, u2, r60.w0, shift:0x2
    LOAD.i32.unsigned.slot0 @r6, r2, offset:0
    NOP.wait0
    IADD.u32 r6, r6, u4
    STORE.i32.slot0 @r6, r4, offset:0
    NOP.wait0
    NOP.end";

/// The number of workgroups in x, written by each thread to its own place: `to[x] = groups.x`.
const COUNT: &str = "
    SHADDX.u64 r4, u2, r60.w0, shift:0x2
    MOV.i32 r6, u4
    STORE.i32.slot0 @r6, r4, offset:0
    NOP.wait0
    NOP.end";

fn program(t: &Test, text: &str, last: SystemValue) -> Arc<Variant> {
    let push = |offset| FauWord::System(SystemValue::Push { offset }, 0);
    let program = Program {
        code: tepui_mali_isa::asm::assemble(text).unwrap(),
        data: Vec::new(),
        fau: vec![push(0), push(4), push(8), push(12), FauWord::System(last, 0)],
        preload: 1 << 12,
        stage: StageInfo::Compute,
        shared_bytes: 0,
        workgroup_size: [64, 1, 1],
        stats: Stats::default(),
        locs: Vec::new(),
        names: Names::default(),
    };
    Arc::new(Variant::new(&t.device, &program, Default::default(), false).unwrap())
}

fn push_at(from: u64, to: u64, word: u32) -> [u8; MAX_PUSH] {
    let mut push = [0; MAX_PUSH];
    push[..8].copy_from_slice(&from.to_le_bytes());
    push[8..16].copy_from_slice(&to.to_le_bytes());
    push[16..20].copy_from_slice(&word.to_le_bytes());
    push
}

fn push(from: &Bo, to: &Bo, word: u32) -> [u8; MAX_PUSH] {
    push_at(from.address, to.address, word)
}

/// Bytes that a workgroup adds to.
const GROUP_B: u64 = 64 * 4;

const GROUPS: Dispatch = Dispatch::Direct([0; 3], [4, 1, 1]);

fn written() -> Dependency<Mali> {
    let stages = vk::PipelineStageFlags2::COMPUTE_SHADER;
    let write = vk::AccessFlags2::SHADER_STORAGE_WRITE;
    Dependency::memory(
        Scope::source(stages, write),
        Scope::destination(stages, vk::AccessFlags2::SHADER_STORAGE_READ | write),
    )
}

fn add_in_a_chain(t: &Test) {
    let numbers: Vec<u32> = (0..256).map(|n| n * n).collect();
    let (a, b) = (t.buffer(&numbers), t.buffer(&[0; 256]));
    let add = program(t, ADD, SystemValue::Push { offset: 16 });
    let mut e = Encoder::new(&t.device);
    for (from, to, word) in [(&a, &b, 5), (&b, &a, 7), (&a, &b, 100)] {
        // In halves, each of which is ordered.
        for base in [0, 2 * GROUP_B] {
            let half = Dispatch::Direct([0; 3], [2, 1, 1]);
            let push = push_at(from.address + base, to.address + base, word);
            e.dispatch_code(&add, &push, &half, None).unwrap();
        }
        let _ = e.barrier(&written(), Within::CommandBuffer).unwrap();
    }
    e.finish().unwrap();
    // Twice: the second submission begins with the sums of the first.
    t.submit(&[&e]);
    let sum = |extra: u32| numbers.iter().map(|n| n + extra).collect::<Vec<_>>();
    assert_eq!((words(&a, 256), words(&b, 256)), (sum(12), sum(112)));
    t.submit(&[&e, &e]);
    assert_eq!(words(&b, 256), sum(136));
}

#[test]
fn a_chain_of_dispatches_adds() {
    CHIPS.into_iter().for_each(|id| add_in_a_chain(&Test::new(id)));
}

#[test]
fn barriers_hold_whatever_order_the_hardware_takes() {
    for seed in 0..16 {
        CHIPS.into_iter().for_each(|id| add_in_a_chain(&Test::relaxed(id, Some(seed))));
    }
}

/// More jobs than a chain has: indices have 16 bits.
#[test]
fn long_recordings_are_several_chains() {
    const COUNT: u32 = 25_000;
    let t = Test::new("mali-g57");
    let (unused, to, other) = (t.buffer(&[0]), t.buffer(&[0; 64]), t.buffer(&[0; 64]));
    let add = program(&t, ADD, SystemValue::Push { offset: 16 });
    let mut e = Encoder::new(&t.device);
    let [push, other_push] = [&to, &other].map(|bo| push(bo, bo, 1));
    let one = Dispatch::Direct([0; 3], [1; 3]);
    for _ in 0..COUNT {
        e.dispatch_code(&add, &push, &one, None).unwrap();
        e.dispatch_code(&add, &other_push, &one, None).unwrap();
        let _ = e.barrier(&written(), Within::CommandBuffer).unwrap();
    }
    // A job that patches the next, in the last chain.
    let condition = Condition { address: unused.address, inverted: false };
    e.dispatch_code(&add, &push, &one, Some(condition)).unwrap();
    e.finish().unwrap();
    t.submit(&[&e]);
    assert_eq!([words(&to, 64), words(&other, 64)], [[COUNT; 64]; 2]);
}

fn count_and_skip(id: &str) {
    let t = Test::new(id);
    let (unused, to) = (t.buffer(&[0]), t.buffer(&[7; 512]));
    let arguments = t.buffer(&[3, 1, 1]);
    let yes = t.buffer(&[0, 1]);
    let count = program(&t, COUNT, SystemValue::NumWorkgroups { axis: 0 });
    let mut e = Encoder::new(&t.device);
    let indirect = Dispatch::Indirect([0; 3], arguments.address);
    e.dispatch_code(&count, &push(&unused, &to, 0), &indirect, None).unwrap();
    e.finish().unwrap();
    t.submit(&[&e]);
    let expected = |n: usize, value: u32| [vec![value; 64 * n], vec![7; 512 - 64 * n]].concat();
    assert_eq!(words(&to, 512), expected(3, 3));
    // The arguments are read when the stream runs.
    arguments.write(0, &5u32.to_le_bytes());
    t.submit(&[&e]);
    assert_eq!(words(&to, 512), expected(5, 5));
    for (word, inverted, runs) in [(0, false, false), (1, false, true), (0, true, true)] {
        let to = t.buffer(&[7; 512]);
        let mut e = Encoder::new(&t.device);
        let condition = Condition { address: yes.address + 4 * word, inverted };
        let push = push(&unused, &to, 0);
        e.dispatch_code(&count, &push, &GROUPS, Some(condition)).unwrap();
        // What follows is not skipped, and sees registers as they are.
        let next = Dispatch::Direct([0; 3], [2, 1, 1]);
        let behind = push_at(unused.address, to.address + 4 * GROUP_B, 0);
        e.dispatch_code(&count, &behind, &next, None).unwrap();
        e.finish().unwrap();
        t.submit(&[&e]);
        let first = if runs { 4 } else { 7 };
        let all = [vec![first; 256], vec![2; 128], vec![7; 128]].concat();
        assert_eq!(words(&to, 512), all, "{word} {inverted}");
    }
}

#[test]
fn counts_come_from_memory_and_conditions_skip() {
    CHIPS.into_iter().for_each(count_and_skip);
}

fn fault(id: &str) {
    let t = Test::new(id);
    let to = t.buffer(&[0]);
    let add = program(&t, ADD, SystemValue::Push { offset: 16 });
    let mut e = Encoder::new(&t.device);
    let mut push = push(&to, &to, 0);
    push[..8].copy_from_slice(&0xdead_0000u64.to_le_bytes());
    e.dispatch_code(&add, &push, &GROUPS, None).unwrap();
    e.finish().unwrap();
    let node = &t.device.kernel.node;
    let done = node.create_sync(false).unwrap();
    encoder::submit(&t.device, &[], &[&e], &[(done, 0)]).unwrap();
    let wait = Wait { deadline_ns: i64::MAX, ..Wait::default() };
    let _ = node.wait_syncs(&[done], &[0], wait);
    let lost = t.device.check().unwrap_err();
    assert_eq!(lost.code, vk::Result::ERROR_DEVICE_LOST, "{lost}");
    assert_eq!((t.faults)(), 1);
}

#[test]
fn a_fault_loses_the_device() {
    CHIPS.into_iter().for_each(fault);
}

/// The text of the compute queue's stream, addresses replaced.
fn stream_text(e: &Encoder) -> String {
    let words = e.words(tepui_mali_driver::kernel::Queue::Compute).unwrap();
    let mut text = String::new();
    for word in words {
        let line = tepui_mali_streams::text(&word.to_le_bytes());
        // Addresses have more than 32 bits.
        let line = match line.rsplit_once("#0x") {
            Some((start, digits)) if digits.len() > 8 => format!("{start}#ADDRESS"),
            // The upper half of this one has the number of uniforms.
            Some((start @ "MOVE32 r8, ", _)) => format!("{start}#ADDRESS"),
            _ => line,
        };
        text.push_str(&line);
        text.push('\n');
    }
    text
}

#[test]
fn the_documentation_has_the_stream_of_a_dispatch() {
    let t = Test::new("mali-g610");
    let (a, b) = (t.buffer(&[0; 256]), t.buffer(&[0; 256]));
    let add = program(&t, ADD, SystemValue::Push { offset: 16 });
    let mut e = Encoder::new(&t.device);
    e.dispatch_code(&add, &push(&a, &b, 1), &GROUPS, None).unwrap();
    e.finish().unwrap();
    let text = stream_text(&e);
    let page = include_str!("../../../../docs/mali-driver.md");
    assert!(page.contains(&format!("```text\n{text}```")), "docs/mali-driver.md lacks\n{text}");
}
