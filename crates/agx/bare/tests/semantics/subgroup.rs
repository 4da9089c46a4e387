//! Operations across lanes that applegpu does not execute: reductions, scans, quad ballots and
//! shuffles.

use crate::rig::{Case, LANES, Rig};
use crate::values;

const SEEDS: std::ops::Range<u64> = 7000..7012;

/// Compares r2 in running lanes.
fn check(text: &str, expected: impl Fn(&Case, usize) -> u32) {
    let cases: Vec<Case> = SEEDS.map(|seed| Case::new(text, values::registers(seed))).collect();
    for (case, after) in cases.iter().zip(Rig::new().run(&cases)) {
        for lane in 0..LANES {
            let want = if case.runs(lane) { expected(case, lane) } else { case.before[2][lane] };
            assert_eq!(after[2][lane], want, "{text}: lane {lane} holds {:#x}", after[2][lane]);
        }
    }
}

/// An operation on integers that are sign- or zero-extended to 64 bits.
struct Integer {
    name: &'static str,
    signed: bool,
    /// The result for no operands, given the width in bits.
    identity: fn(u32) -> i64,
    combine: fn(i64, i64) -> i64,
}

const INTEGERS: [Integer; 8] = [
    Integer { name: "and", signed: false, identity: |_| -1, combine: |a, b| a & b },
    Integer { name: "or", signed: false, identity: |_| 0, combine: |a, b| a | b },
    Integer { name: "xor", signed: false, identity: |_| 0, combine: |a, b| a ^ b },
    Integer { name: "iadd", signed: false, identity: |_| 0, combine: |a, b| a + b },
    Integer { name: "min.u", signed: false, identity: |n| (1 << n) - 1, combine: i64::min },
    Integer { name: "max.u", signed: false, identity: |_| 0, combine: i64::max },
    Integer { name: "min.s", signed: true, identity: |n| (1 << (n - 1)) - 1, combine: i64::min },
    Integer { name: "max.s", signed: true, identity: |n| -(1 << (n - 1)), combine: i64::max },
];

#[test]
fn integers_reduce_and_scan() {
    for op in &INTEGERS {
        for (scope, size) in [("simd", LANES), ("quad", 4)] {
            for prefix in [false, true] {
                for (source, bits, shift) in [("r3", 32, 0), ("r3l", 16, 0), ("r3h", 16, 16)] {
                    let d = if bits == 32 { "r2" } else { "r2l" };
                    let middle = if prefix { "_prefix_" } else { "_" };
                    let text = format!("{scope}{middle}{} {d}, {source}", op.name);
                    check(&text, |case, lane| {
                        let start = lane - lane % size;
                        let end = if prefix { lane } else { start + size };
                        let value = |lane: usize| {
                            let raw = i64::from(case.before[3][lane] >> shift);
                            let raw = raw & ((1 << bits) - 1);
                            if op.signed { raw << (64 - bits) >> (64 - bits) } else { raw }
                        };
                        let sum = (start..end)
                            .filter(|&lane| case.runs(lane))
                            .map(value)
                            .fold((op.identity)(bits), op.combine)
                            as u32;
                        if bits == 32 {
                            sum
                        } else {
                            case.before[2][lane] & 0xffff_0000 | sum & 0xffff
                        }
                    });
                }
            }
        }
    }
}

/// Floats small enough that every order of summation is exact.
#[test]
fn floats_reduce_and_scan() {
    type Combine = fn(f32, f32) -> f32;
    for (name, identity, combine) in [
        ("fadd", 0.0, (|a, b| a + b) as Combine),
        ("fmul", 1.0, |a, b| a * b),
        ("min.f", f32::INFINITY, f32::min),
        ("max.f", f32::NEG_INFINITY, f32::max),
    ] {
        for (scope, size) in [("simd", LANES), ("quad", 4)] {
            for prefix in [false, true] {
                let middle = if prefix { "_prefix_" } else { "_" };
                let text = format!("{scope}{middle}{name} r2, r3");
                let mut cases = Vec::new();
                for seed in SEEDS {
                    let mut before = values::registers(seed);
                    for x in &mut before[3] {
                        // For products: powers of 2 with a bounded sum of exponents.
                        let number = if name == "fmul" {
                            [0.5, 1.0, 2.0, -1.0][*x as usize % 4]
                        } else {
                            (*x % 64) as f32 - 20.5
                        };
                        *x = number.to_bits();
                    }
                    cases.push(Case::new(&text, before));
                }
                for (case, after) in cases.iter().zip(Rig::new().run(&cases)) {
                    for lane in (0..LANES).filter(|&lane| case.runs(lane)) {
                        let start = lane - lane % size;
                        let end = if prefix { lane } else { start + size };
                        let want = (start..end)
                            .filter(|&lane| case.runs(lane))
                            .map(|lane| f32::from_bits(case.before[3][lane]))
                            .fold(identity, combine);
                        assert_eq!(f32::from_bits(after[2][lane]), want, "{text}: lane {lane}");
                    }
                }
            }
        }
    }
}

#[test]
fn quads_ballot_for_themselves() {
    check("icmp_quad_ballot r2, ult, r3, r4", |case, lane| {
        let start = lane & !3;
        let yes = |i: usize| {
            case.runs(start + i) && case.before[3][start + i] < case.before[4][start + i]
        };
        (0..4).map(|i| u32::from(yes(i)) << i).sum()
    });
}

#[test]
fn quads_shuffle() {
    type From = fn(usize, usize) -> usize;
    for (name, from) in
        [("quad_shuffle", (|_, by| by & 3) as From), ("quad_shuffle_xor", |at, by| at ^ by & 3)]
    {
        // One distance for all lanes.
        for by in 0..4 {
            check(&format!("{name} r2, r3, {by}"), |case, lane| {
                case.before[3][lane & !3 | from(lane & 3, by)]
            });
        }
    }
}
