//! Stores, atomics, local memory and uniform stores, against scalar Rust.

use tepui_agx_bare::{Buffer, Dispatch, Machine, address_halves};
use tepui_agx_model::Options;

use crate::rig::{LANES, asm, ways};
use crate::values;

/// A program of 32 threads over buffers, whose addresses are u0_u1, u2_u3 and so on.
fn run(source: &str, preshader: Option<&str>, buffers: &[&Buffer], machine: &mut Machine) {
    let uniforms: Vec<u16> =
        buffers.iter().flat_map(|buffer| address_halves(buffer.address())).collect();
    let code = asm(&format!("get_sr r127, sr80 (thread_position_in_grid.x)\n{source}\nstop"));
    let preshader = preshader.map(|text| asm(&format!("{text}\nstop")));
    let dispatch = Dispatch {
        code: &code,
        preshader: preshader.as_deref(),
        uniforms: &uniforms,
        global: [LANES as u32, 1, 1],
        local: [LANES as u32, 1, 1],
        local_bytes: 4096,
        ..Dispatch::default()
    };
    machine.dispatch(&dispatch).unwrap_or_else(|e| panic!("{source}: {e}"));
}

/// One that interprets, and one for each target of this host.
fn machines() -> impl Iterator<Item = Machine> {
    let machine = |way| Machine::new(Options { threads: 1, ..way }).expect("a machine");
    ways().into_iter().map(machine)
}

fn buffer(machine: &mut Machine, words: &[u32]) -> Buffer {
    let buffer = machine.buffer(4 * words.len()).expect("memory");
    buffer.write_words(words).expect("the buffer is as large");
    buffer
}

fn words(seed: u64, count: u64) -> Vec<u32> {
    (0..count).map(|i| values::value(seed, 3000, i)).collect()
}

type Atomic = fn(u32, u32) -> u32;

const ATOMICS: [(&str, Atomic); 10] = [
    ("add", |old, x| old.wrapping_add(x)),
    ("sub", |old, x| old.wrapping_sub(x)),
    ("xchg", |_, x| x),
    ("umin", |old, x| old.min(x)),
    ("imin", |old, x| (old as i32).min(x as i32) as u32),
    ("umax", |old, x| old.max(x)),
    ("imax", |old, x| (old as i32).max(x as i32) as u32),
    ("and", |old, x| old & x),
    ("or", |old, x| old | x),
    ("xor", |old, x| old ^ x),
];

#[test]
fn atomics_of_separate_words() {
    for (k, (name, combine)) in ATOMICS.iter().enumerate() {
        for local in [false, true] {
            for mut machine in machines() {
                let operands = words(10 + k as u64, LANES as u64);
                let initial = words(50 + k as u64, LANES as u64);
                let x = buffer(&mut machine, &operands);
                let cells = buffer(&mut machine, &initial);
                let old = buffer(&mut machine, &[0; LANES]);
                let load = "device_load 0, i32, x, r1, u0_u1, r127, unsigned\nwait 0\n";
                let store = "wait 0\ndevice_store 0, i32, x, r2, u4_u5, r127, unsigned, 0";
                let middle = if local {
                    format!(
                        "device_load 0, i32, x, r3, u2_u3, r127, unsigned\nwait 0\n\
                     threadgroup_store i32, x, r3, 0, r127l\n\
                     threadgroup_atomic {name}, r2, 0, r127l, r1, 0, 0, 0, 0\nwait 0\n\
                     threadgroup_load i32, x, r3, 0, r127l\nwait 0\n\
                     device_store 0, i32, x, r3, u2_u3, r127, unsigned, 0\n"
                    )
                } else {
                    format!("atomic {name}, 0, r2, u2_u3, r127, unsigned, r1, 1, 0, 1, 4, 2\n")
                };
                run(&format!("{load}{middle}{store}"), None, &[&x, &cells, &old], &mut machine);
                let after = cells.read_words().expect("bound");
                let seen = old.read_words().expect("bound");
                for lane in 0..LANES {
                    assert_eq!(
                        after[lane],
                        combine(initial[lane], operands[lane]),
                        "{name} {lane}"
                    );
                    assert_eq!(seen[lane], initial[lane], "{name} {lane}");
                }
            }
        }
    }
}

#[test]
fn atomics_of_one_word_each_act_once() {
    for mut machine in machines() {
        let cell = buffer(&mut machine, &[100]);
        let old = buffer(&mut machine, &[0; LANES]);
        run(
            "mov_imm r3, 0, 0b0\nmov_imm r1, 3, 0b0\n\
         atomic add, 0, r2, u0_u1, r3, unsigned, r1, 1, 0, 1, 4, 2\nwait 0\n\
         device_store 0, i32, x, r2, u2_u3, r127, unsigned, 0",
            None,
            &[&cell, &old],
            &mut machine,
        );
        assert_eq!(cell.read_words().expect("bound")[0], 100 + 3 * LANES as u32);
        let mut seen = old.read_words().expect("bound");
        seen.sort_unstable();
        assert!(seen.iter().enumerate().all(|(i, &v)| v == 100 + 3 * i as u32), "{seen:?}");
    }
}

#[test]
fn compare_and_exchange_takes_the_new_value_first() {
    for mut machine in machines() {
        let cells = buffer(&mut machine, &(0..LANES as u32).map(|i| i % 3).collect::<Vec<_>>());
        run(
            "mov_imm r4, 77, 0b0\nmov_imm r5, 2, 0b0\n\
         atomic cmpxchg, 0, r2, u0_u1, r127, unsigned, r4_r5, 1, 0, 1, 4, 2\nwait 0",
            None,
            &[&cells],
            &mut machine,
        );
        let after = cells.read_words().expect("bound");
        for (i, &v) in after.iter().enumerate() {
            assert_eq!(v, if i % 3 == 2 { 77 } else { i as u32 % 3 });
        }
    }
}

#[test]
fn stores_are_the_reverse_of_loads() {
    for (format, registers, bytes) in
        [("i8", "r1l_r1h_r2l_r2h", 1), ("i16", "r1l_r1h_r2l_r2h", 2), ("i32", "r1_r2_r3_r4", 4)]
    {
        for mask in ["x", "y", "xw", "yz", "xyzw"] {
            for mut machine in machines() {
                let source = words(77, 4 * LANES as u64);
                let from = buffer(&mut machine, &source);
                let to = buffer(&mut machine, &[0xa5a5_a5a5; 4 * LANES]);
                let count = mask.len();
                let list = registers.split('_').take(count).collect::<Vec<_>>().join("_");
                run(
                    &format!(
                        "device_load 0, {format}, {mask}, {list}, u0_u1, r127, unsigned, lsl 2\nwait 0\n\
                     device_store 0, {format}, {mask}, {list}, u2_u3, r127, unsigned, lsl 2, 0"
                    ),
                    None,
                    &[&from, &to],
                    &mut machine,
                );
                let (from, to) = (from.read().expect("bound"), to.read().expect("bound"));
                for i in 0..4 * bytes * LANES {
                    let channel = [b'x', b'y', b'z', b'w'][i / bytes % 4];
                    let stored = mask.bytes().any(|m| m == channel);
                    assert_eq!(to[i], if stored { from[i] } else { 0xa5 }, "{format} {mask} {i}");
                }
            }
        }
    }
}

#[test]
fn local_memory_crosses_lanes_after_a_barrier() {
    for mut machine in machines() {
        let source = words(99, LANES as u64);
        let from = buffer(&mut machine, &source);
        let to = buffer(&mut machine, &[0; LANES]);
        run(
            "device_load 0, i32, x, r1, u0_u1, r127, unsigned\nwait 0\n\
         threadgroup_store i32, x, r1, 0, r127l\n\
         threadgroup_barrier\n\
         mov_imm r3, 31, 0b0\nisub r3, r3, r127\n\
         threadgroup_load i32, x, r2, 0, r3l\nwait 0\n\
         device_store 0, i32, x, r2, u2_u3, r127, unsigned, 0",
            None,
            &[&from, &to],
            &mut machine,
        );
        let back: Vec<u32> = source.iter().rev().copied().collect();
        assert_eq!(to.read_words().expect("bound"), back);
    }
}

#[test]
fn a_preshader_leaves_uniforms() {
    for mut machine in machines() {
        let to = buffer(&mut machine, &[0; LANES]);
        run(
            "iadd r2, r127, u9\ndevice_store 0, i32, x, r2, u0_u1, r127, unsigned, 0",
            Some("mov_imm r1, 305419896, 0b0\nuniform_store 2, i16, xy, 0, r1l_r1h, 18"),
            &[&to],
            &mut machine,
        );
        let got = to.read_words().expect("bound");
        for (i, &v) in got.iter().enumerate() {
            assert_eq!(v, 0x1234_5678 + i as u32);
        }
    }
}

/// Loads and stores of device memory of several SIMD-groups, so that translated code finds in later
/// ones what it touched in the first: against the interpreter, in all formats and with indices side
/// by side, apart, backwards, the same, and out of what is bound.
#[test]
fn device_memory_is_the_same_translated_and_interpreted() {
    const THREADS: u32 = 128;
    let indices = [
        "mov r1, r0",
        "imadd r1, r0, 5, 3",
        "isub r1, 127, r0",
        "mov_imm r1, 9, 0b0",
        "imadd r1, r0, u8, 0",
    ];
    let mut fast = 0;
    for format in ["i8", "i16", "i32", "f16"] {
        for (mask, count) in [("x", 1), ("xy", 2), ("xz", 2), ("xyz", 3), ("xyzw", 4)] {
            for (index, shift) in indices.iter().zip([0, 1, 2, 0, 2]).chain([(&indices[0], 2)]) {
                for narrow in [false, true] {
                    let registers = match (narrow, format) {
                        (true, "i8" | "i32") => continue,
                        (true, _) => ["r4l", "r4h", "r5l", "r5h"],
                        (false, _) => ["r4", "r5", "r6", "r7"],
                    };
                    let registers = registers[..count].join("_");
                    let extra = if shift == 2 && *index == indices[4] { 1 << 20 } else { 1 };
                    let source = format!(
                        "get_sr r0, sr80 (thread_position_in_grid.x)
                         mov_imm r4, 0, 0b0
                         mov_imm r5, 0, 0b0
                         mov_imm r6, 0, 0b0
                         mov_imm r7, 0, 0b0
                         {index}
                         device_load 0, {format}, {mask}, {registers}, u0_u1, r1, unsigned, lsl {shift}
                         wait 0
                         device_store 1, i32, xyzw, r4_r5_r6_r7, u2_u3, r0, unsigned, lsl 2, 0
                         wait 1
                         device_store 1, {format}, {mask}, {registers}, u4_u5, r1, unsigned, lsl {shift}, 0
                         wait 1
                         device_load 0, {format}, {mask}, {registers}, u0_u1, 3, signed, lsl {shift}
                         wait 0
                         device_store 1, i32, x, r4, u6_u7, r0, unsigned, lsl 0, 0
                         wait 1
                         stop"
                    );
                    let code = asm(&source);
                    let results = machines().map(|mut machine| {
                        let from = buffer(&mut machine, &words(7, 4096));
                        let to: [Buffer; 3] =
                            std::array::from_fn(|_| buffer(&mut machine, &[0; 4096]));
                        let mut uniforms: Vec<u16> = std::iter::once(&from)
                            .chain(&to)
                            .flat_map(|buffer| address_halves(buffer.address()))
                            .collect();
                        uniforms.extend([extra as u16, (extra >> 16) as u16]);
                        let dispatch = Dispatch {
                            code: &code,
                            uniforms: &uniforms,
                            global: [THREADS, 1, 1],
                            local: [64, 1, 1],
                            ..Dispatch::default()
                        };
                        let stats = machine
                            .dispatch(&dispatch)
                            .unwrap_or_else(|error| panic!("{source}: {error}"));
                        (to.map(|buffer| buffer.read_words().expect("bound")), stats.soft_faults)
                    });
                    let results: Vec<_> = results.collect();
                    for translated in &results[1..] {
                        assert_eq!(results[0], *translated, "{source}");
                    }
                    fast += u32::from(results[0].1 == 0);
                }
            }
        }
    }
    assert!(fast > 100, "{fast} programs stay inside");
}

/// An immediate index has 16 bits, which `extend` widens as it does a register.
#[test]
fn immediate_indices_extend_as_they_say() {
    for mut machine in machines() {
        let source = words(101, 1 << 16);
        let from = buffer(&mut machine, &source);
        let to = buffer(&mut machine, &[0; LANES]);
        let middle = from.address() + 4 * 40_000;
        run(
            &format!(
                "mov_imm r2, {}, 0b0\nmov_imm r3, {}, 0b0\n\
                 device_load 0, i32, x, r4, u0_u1, -1, unsigned\n\
                 device_load 0, i32, x, r5, r2_r3, -1, signed\n\
                 device_load 0, i32, x, r6, u0_u1, -30000, unsigned\nwait 0\n\
                 device_store 0, i32, xyz, r4_r5_r6, u2_u3, 0, unsigned, 0",
                middle as u32,
                middle >> 32
            ),
            None,
            &[&from, &to],
            &mut machine,
        );
        let want = [source[65_535], source[39_999], source[35_536]];
        assert_eq!(to.read_words().expect("bound")[..3], want);
    }
}
