//! Copies of query results, and parameters of draws and dispatches that depend on words in memory.

use tepui_vulkan::backend::{Condition, Counts, Dispatch, Draw};
use tepui_vulkan::vk::QueryResultFlags as Flags;
use tepui_vulkan_kit::QueryLayout;
use tepui_vulkan_meta::query::{self, Results};
use tepui_vulkan_meta::{Program, condition};

use crate::gpu::Gpu;

fn put(gpu: &mut Gpu, address: u64, offset: u64, words: &[u32]) {
    let bytes = gpu.buffers.get_mut(&address).unwrap();
    for (k, w) in words.iter().enumerate() {
        let at = offset as usize + 4 * k;
        bytes[at..at + 4].copy_from_slice(&w.to_le_bytes());
    }
}

fn get(gpu: &Gpu, address: u64, offset: u64, count: usize) -> Vec<u32> {
    let (base, bytes) =
        gpu.buffers.iter().find(|(b, v)| (**b..**b + v.len() as u64).contains(&address)).unwrap();
    let at = (address - base + offset) as usize;
    let words = bytes[at..at + 4 * count].chunks_exact(4);
    words.map(|w| u32::from_le_bytes(w.try_into().unwrap())).collect()
}

#[test]
fn results_of_queries() {
    let mut ran = 0;
    for pairs in [false, true] {
        for values in [1u32, 3] {
            for flags in (0..16).map(Flags::from_bits_truncate) {
                let words = values * if pairs { 2 } else { 1 };
                let layout = QueryLayout { count: 7, values: words };
                let mut gpu = Gpu::new();
                let pool = gpu.buffer(layout.bytes() as usize);
                let number = |q: u32, v: u32| 0x1_0000_0001u64 * u64::from(100 * q + 7 * v * v + 3);
                for q in 0..7 {
                    for v in 0..words {
                        let n = number(q, v);
                        put(&mut gpu, pool, layout.value(q, v), &[n as u32, (n >> 32) as u32]);
                    }
                    put(&mut gpu, pool, layout.available(q), &[u32::from(q % 3 != 1), 0]);
                }
                let to = gpu.buffer(1024);
                let old = get(&gpu, to, 0, 256);
                let results = Results {
                    values: pool + layout.value(2, 0),
                    available: pool + layout.available(2),
                    values_each: values as u8,
                    pairs,
                    count: 4,
                };
                query::copy(&mut gpu, &results, to + 16, 80, flags).unwrap();
                let wide = flags.contains(Flags::_64);
                let mut right = old;
                let size = if wide { 2 } else { 1 };
                for k in 0..4 {
                    let (q, row) = (2 + k, 4 + 20 * k as usize);
                    let there = q % 3 != 1;
                    let mut write = |n: u32, v: u64| {
                        let at = row + size * n as usize;
                        right[at] = v as u32;
                        if wide {
                            right[at + 1] = (v >> 32) as u32;
                        }
                    };
                    // Waiting has happened: what is there is the result.
                    if there || flags.intersects(Flags::PARTIAL | Flags::WAIT) {
                        for v in 0..values {
                            write(
                                v,
                                match pairs {
                                    true => number(q, 2 * v + 1) - number(q, 2 * v),
                                    false => number(q, v),
                                },
                            );
                        }
                    }
                    if flags.contains(Flags::WITH_AVAILABILITY) {
                        write(values, u64::from(there));
                    }
                }
                assert_eq!(
                    get(&gpu, to, 0, 256),
                    right,
                    "{values} values, {flags:?}, pairs {pairs}"
                );
                assert!(matches!(gpu.log[..], [None, Some(Program::Queries { .. }), None]));
                ran += 1;
            }
        }
    }
    assert_eq!(ran, 64);
}

#[test]
fn draws_after_a_count_have_no_instances() {
    for indexed in [false, true] {
        let words = if indexed { 5 } else { 4 };
        let mut gpu = Gpu::new();
        let (draws, count) = (gpu.buffer(32 * 40), gpu.buffer(4));
        put(&mut gpu, count, 0, &[33]);
        let (to, stride) = condition::counted(&mut gpu, draws, count, 40, 32, indexed).unwrap();
        assert_eq!(stride, 4 * words);
        for k in 0..40u64 {
            let mut right = get(&gpu, draws, 32 * k, words as usize);
            if k >= 33 {
                right[1] = 0;
            }
            assert_eq!(get(&gpu, to, u64::from(stride) * k, words as usize), right, "draw {k}");
        }
    }
}

#[test]
fn conditions_make_draws_and_dispatches_nothing() {
    for (word, inverted) in [(0, false), (5, false), (0, true), (0x8000_0000, true)] {
        let holds = (word != 0) != inverted;
        let mut gpu = Gpu::new();
        let at = gpu.buffer(8);
        put(&mut gpu, at, 4, &[word]);
        let c = Some(Condition { address: at + 4, inverted });
        let kept = |words: &[u32]| match holds {
            true => words.to_vec(),
            false => vec![0; words.len()],
        };
        let counts = Counts {
            count: 3,
            instances: 4,
            first: 5,
            vertex_offset: -2,
            first_instance: 6,
            indexed: true,
            draw_index: 9,
        };
        let draw = condition::draw(&mut gpu, c, Draw::Direct(counts)).unwrap();
        let Draw::Indirect { address, count: 1, stride: 20, draw_index: 9, .. } = draw else {
            panic!("{draw:?}");
        };
        assert_eq!(get(&gpu, address, 0, 5), kept(&[3, 4, 5, -2i32 as u32, 6]));
        let draws = gpu.buffer(24 * 3);
        let indirect = Draw::Indirect {
            address: draws,
            count: 3,
            stride: 24,
            count_address: None,
            indexed: false,
            draw_index: 0,
        };
        let draw = condition::draw(&mut gpu, c, indirect).unwrap();
        let Draw::Indirect { address, count: 3, stride: 16, .. } = draw else { panic!("{draw:?}") };
        for k in 0..3 {
            let right = kept(&get(&gpu, draws, 24 * k, 4));
            assert_eq!(get(&gpu, address, 16 * k, 4), right);
        }
        let dispatch =
            condition::dispatch(&mut gpu, c, Dispatch::Direct([1, 2, 3], [7, 8, 9])).unwrap();
        let Dispatch::Indirect([1, 2, 3], address) = dispatch else { panic!("{dispatch:?}") };
        assert_eq!(get(&gpu, address, 0, 3), kept(&[7, 8, 9]));
    }
    let mut gpu = Gpu::new();
    let draw = Draw::Direct(Counts::default());
    assert_eq!(condition::draw(&mut gpu, None, draw).unwrap(), draw);
    assert!(gpu.log.is_empty());
}
