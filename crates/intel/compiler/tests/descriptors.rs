//! Buffers that are found in set memory, push constants at offsets of each channel, 64-bit atomics.

use tepui_intel_bare::{Bindings, Machine};
use tepui_intel_chips::chip;
use tepui_intel_compiler::set_memory::placement;
use tepui_intel_compiler::{Constant, Options, compile};
use tepui_intel_isa::Generation;
use tepui_ir::interp::{Group, Memory, run};

/// Bytes of a lane in the buffer of results, set 0 binding 0.
const SLOT: usize = 32;
const LANES: usize = 16;

fn words(from: u32, count: usize) -> Vec<u8> {
    (0..count as u32)
        .flat_map(|k| from.wrapping_add(k.wrapping_mul(0x0101_0107)).to_le_bytes())
        .collect()
}

/// Runs a shader on both generations at all widths, with `bindless` bindings in set memory alone; all leave what the
/// interpreter leaves.
fn check(text: &str, bindless: &[u32]) {
    let s = tepui_ir::parse(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    tepui_ir::validate(&s).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let mut start = Memory { push: words(77, 16), ..Memory::default() };
    start.buffers.insert((0, 0, 0), vec![0; SLOT * LANES]);
    // Buffers of different sizes, so that accesses past the end of one are inside of others; the ends of all are between the
    // accesses of an invocation.
    for e in 0..3 {
        start.buffers.insert((0, 1, e), words(1000 * (e + 1), 4 + 6 * e as usize));
    }
    let mut want = start.clone();
    let group = Group::workgroup(&s, [0; 3], [1; 3]);
    run(&s, &group, &mut want, 1 << 20).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let mut sets = placement(&s);
    for placed in &mut sets {
        placed.bindless = bindless.contains(&placed.binding);
    }
    for generation in [Generation::Gen9, Generation::Gen12] {
        for (width, in_buffer) in [(8, false), (16, false), (32, false), (8, true), (16, true)] {
            sets.iter_mut().for_each(|placed| placed.in_buffer = in_buffer);
            let options =
                Options { width, sets: &sets, robust: true, check: true, ..Options::default() };
            let program = compile(&mut s.clone(), generation, &options)
                .unwrap_or_else(|e| panic!("{e}\n{text}"));
            let found = |c: &Constant| matches!(c, Constant::SetAddress(..));
            assert_eq!(program.map.constants.iter().any(found), text.contains("%index"), "{text}");
            let id = if generation == Generation::Gen9 { "skl" } else { "tgl" };
            let model =
                tepui_intel_model::Options { threads: 1, check: true, ..Default::default() };
            let machine = Machine::new(chip(id).expect("a chip"), model);
            let mut bindings = Bindings {
                buffers: start.buffers.iter().map(|(&k, v)| (k, v.clone())).collect(),
                push: start.push.clone(),
                sets: sets.clone(),
                ..Bindings::default()
            };
            let stats = machine
                .run(&program, &mut bindings, [1; 3])
                .unwrap_or_else(|e| panic!("{generation} {width}: {e}\n{text}"));
            assert!(stats.reports.is_empty(), "{:?}", stats.reports.first().map(|r| &r.what));
            for (slot, bytes) in &bindings.buffers {
                assert_eq!(bytes, &want.buffers[slot], "{generation} {width} {slot:?}\n{text}");
            }
        }
    }
}

/// A shader whose lanes choose an element of binding 1 by `%index` and leave results.
fn shader(index: &str, body: &str) -> String {
    // Names of values are numbers: those of the frame are from 900 on.
    format!(
        "shader compute \"main\" {{
  workgroup_size 16 1 1
  push_bytes 64
  resource storage_buffer set 0 binding 0 count 1 2d float \"\"
  resource storage_buffer set 0 binding 1 count 3 2d float \"\"
  body {{
    %900:b32 = const[0x0]
    %901:b32 = const[0x20]
    %902:b32 = load_builtin[local_invocation_index]
    %903:b64 = descriptor[@r0] %900
    %904:b32 = imul %902, %901
    %905:b32 = const[0x3]
    %906:b32 = const[0x4]
    %907:b32 = imul %902, %906
    %908:b32 = const[0xc]
    %912:b32 = imul %902, %908
{index}
{body}
    yield
  }}
}}
"
    )
}

/// An element for each lane.
const CHOSEN: &str = "    %910:b32 = umod %902, %905
    %911:b64 = descriptor[@r1] %910";
/// An element for all lanes, which is not known when compiling.
const UNIFORM: &str = "    %909:b32 = load_push[align 4 offset 0] %900
    %910:b32 = umod %909, %905
    %911:b64 = descriptor[@r1] %910";
/// An element that is known.
const KNOWN: &str = "    %910:b32 = const[0x2]
    %911:b64 = descriptor[@r1] %910";

const LOADS: &str = "    %1:b32 = load_buffer[align 4] %911, %912
    %2:b32x2 = load_buffer[align 4 offset 4] %911, %912
    %3:b32 = buffer_size %911
    store_buffer[align 4] %903, %904, %1
    store_buffer[align 4 offset 4] %903, %904, %2
    store_buffer[align 4 offset 12] %903, %904, %3";

/// Each lane writes a word of its own, or none where the buffer ends before.
const STORES: &str = "    store_buffer[align 4] %911, %912, %902";

#[test]
fn buffers_of_set_memory() {
    for body in [LOADS, STORES] {
        for index in [CHOSEN, UNIFORM] {
            check(&shader(index, &format!("{body}\n    ; %index")), &[]);
        }
        check(&shader(KNOWN, body), &[]);
        check(&shader(KNOWN, &format!("{body}\n    ; %index")), &[1]);
    }
}

#[test]
fn atomics_of_64_bits() {
    const BODY: &str = "    %1:b32 = const[0x8]
    %2:b64 = u2u %902
    %3:b64 = const[0xfffffffffffffff0]
    %4:b64 = iadd %2, %3
    %5:b64 = atomic_buffer[add align 8] %911, %1, %4
    %6:b64 = atomic_buffer[umax align 8 offset 8] %911, %1, %4";
    check(&shader(KNOWN, BODY), &[]);
    check(&shader(UNIFORM, &format!("{BODY}\n    ; %index")), &[]);
}

#[test]
fn push_constants_at_run_time() {
    const BODY: &str = "    %1:b32 = load_push[align 4 offset 0] %907
    %2:b32 = const[0x8]
    %3:b32 = load_push[align 4 offset 4] %900
    %4:b32 = iand %3, %2
    %5:b32x2 = load_push[align 4 offset 8] %4
    %6:b16 = load_push[align 2 offset 2] %907
    %7:b32 = u2u %6
    store_buffer[align 4] %903, %904, %1
    store_buffer[align 4 offset 4] %903, %904, %5
    store_buffer[align 4 offset 12] %903, %904, %7";
    check(&shader(KNOWN, BODY), &[]);
}
