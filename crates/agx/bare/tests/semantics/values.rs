//! Operands: a deterministic mixture of random and special values, from a seed.
//!
//! The script that made the golden vectors draws the same ones, so a vector needs only its seed.

use crate::rig::{LANES, REGISTERS, Registers};

/// SplitMix64's step.
pub fn mix(z: u64) -> u64 {
    let z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn draw(seed: u64, a: u64, b: u64) -> u64 {
    mix(mix((seed << 32) ^ (a << 8) ^ b))
}

/// Zeros, ones, infinities, NaNs, ends of the ranges of floats and integers.
const WORDS: [u32; 24] = [
    0x0000_0000,
    0x8000_0000,
    0x3f80_0000,
    0xbf80_0000,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0000,
    0x7f80_0001,
    0xffff_ffff,
    0x7fff_ffff,
    0x0000_0001,
    0x007f_ffff,
    0x8000_0001,
    0x0080_0000,
    0x7f7f_ffff,
    0x3f00_0000,
    0x4049_0fdb,
    0x3380_0000,
    0x477f_f000,
    0x3880_0000,
    0x0000_ffff,
    0x0001_0000,
    0x5555_5555,
    0x8000_8000,
];

/// Special values of 16 bits.
const HALVES: [u32; 16] = [
    0x0000, 0x8000, 0x3c00, 0xbc00, 0x7c00, 0xfc00, 0x7e00, 0x7c01, 0xffff, 0x0001, 0x03ff, 0x0400,
    0x8001, 0x7bff, 0x3800, 0x7fff,
];

/// A value for a register (or anything else with a number) in a lane.
pub fn value(seed: u64, register: u64, lane: u64) -> u32 {
    let h = draw(seed, register, lane);
    let x = (h >> 32) as u32;
    let y = (h >> 4) as u32 & 0xff_ffff;
    match h & 15 {
        0 | 1 => WORDS[y as usize % WORDS.len()],
        2 | 3 => HALVES[y as usize % 16] | HALVES[(y >> 8) as usize % 16] << 16,
        4 => y & 0x3f,
        5 => (y & 0x3f).wrapping_neg(),
        // Floats near 1, of which sums round and differences cancel.
        6 | 7 => (x & 0x807f_ffff) | ((120 + (y & 15)) << 23),
        8 => (x & 0x83ff_83ff) | ((11 + (y & 7)) << 10) | ((11 + (y >> 3 & 7)) << 26),
        // One value for all lanes.
        9 => (draw(seed, register, 99) >> 32) as u32,
        10 => (y & 0x7f) | (y >> 8 & 0x7f) << 16,
        _ => x,
    }
}

/// Nesting counter of a lane: the value of r0l. With every third seed all lanes run.
fn depth(seed: u64, lane: u64) -> u32 {
    match seed % 3 {
        0 => 0,
        _ => [0, 0, 0, 0, 1, 1, 2, 3][(draw(seed, 0, lane) >> 8 & 7) as usize],
    }
}

/// The registers of a case. r14 and r15 are small, so that they can be indices; r15 is not
/// negative.
pub fn registers(seed: u64) -> Box<Registers> {
    let mut all = Box::new([[0; LANES]; REGISTERS]);
    for (r, row) in all.iter_mut().enumerate() {
        for (lane, register) in row.iter_mut().enumerate() {
            let (r, lane) = (r as u64, lane as u64);
            let h = draw(seed, r, lane);
            *register = match r {
                0 => ((h >> 32) as u32 & 0xffff_0000) | depth(seed, lane),
                14 => ((h >> 8 & 127) as u32).wrapping_sub(64),
                15 => (h >> 8 & 63) as u32,
                _ => value(seed, r, lane),
            };
        }
    }
    all
}

/// The low bits that a case's base address in r12 and r13 has beyond a buffer's middle.
pub fn misalignment(seed: u64, lane: usize) -> u64 {
    draw(seed, 12, lane as u64) & 3
}

/// The uniform registers of all cases, in halves.
pub fn uniforms() -> Vec<u16> {
    (0..256).flat_map(|w| split(value(0xc0_ffee, 1000 + w, 0))).collect()
}

/// The memory that cases load from.
pub fn memory() -> Vec<u32> {
    (0..1024).map(|w| value(0xbeef, 2000 + w, 0)).collect()
}

fn split(word: u32) -> [u16; 2] {
    [word as u16, (word >> 16) as u16]
}
