//! Quotients of numbers of all magnitudes. The reciprocal of a number of 2^126 or more is flushed to
//! zero; what the specification gives a precision for must not be a product with it.
//!
//! `OpFDiv` has 2.5 ULP for divisors of 2^-126 to 2^126 (2^-14 to 2^14 in 16 bits) and none outside.
//! `Atan2` has 4,096 ULP (5 in 16 bits) for all operands. The other functions with quotients inherit
//! the precision of their formula. source: Vulkan specification, "Precision of Individual Operations"

use crate::{GROUP, Kernel, run};
use rspirv::dr::Operand;
use rspirv::spirv::{self, GlslStd450Op as G};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Function {
    Divide,
    Atan2,
}

fn module(function: Function, bits: u32, pairs: u32) -> Vec<u32> {
    use spirv::Capability as C;
    let mut k = Kernel::new(&[C::Float16, C::Int16]);
    let (float, int) = (k.b.type_float(bits, None), k.b.type_int(bits, 0));
    for n in 0..pairs {
        let [a, b] = [0, 1].map(|m| {
            let v = k.input(2 * pairs, 2 * n + m);
            let v = if bits == 32 { v } else { k.b.u_convert(int, None, v).unwrap() };
            k.b.bitcast(float, None, v).unwrap()
        });
        let glsl = k.glsl;
        let args = [Operand::IdRef(a), Operand::IdRef(b)];
        let r = match function {
            Function::Divide => k.b.f_div(float, None, a, b),
            Function::Atan2 => k.b.ext_inst(float, None, glsl, G::Atan2 as u32, args),
        };
        let r = k.b.bitcast(int, None, r.unwrap()).unwrap();
        let r = if bits == 32 { r } else { k.b.u_convert(k.u32, None, r).unwrap() };
        k.output(pairs, n, r);
    }
    k.finish()
}

/// Exponents of the smallest normal and the largest number, and bits of the fraction.
fn range(bits: u32) -> (i32, i32, i32) {
    if bits == 16 { (-14, 15, 10) } else { (-126, 127, 23) }
}

fn encode(x: f64, bits: u32) -> u32 {
    if bits == 32 {
        return (x as f32).to_bits();
    }
    // Normal numbers with at most ten bits of fraction.
    let e = x.abs().log2().floor();
    let fraction = (x.abs() / e.exp2() - 1.0) * 1024.0;
    u32::from(x < 0.0) << 15 | ((e as i32 + 15) as u32) << 10 | fraction as u32
}

fn decode(x: u32, bits: u32) -> f64 {
    if bits == 32 {
        return f64::from(f32::from_bits(x));
    }
    let (e, m) = ((x >> 10 & 31) as i32, f64::from(x & 1023));
    let size = match e {
        0 => m * 2f64.powi(-24),
        31 => {
            if m == 0.0 {
                f64::INFINITY
            } else {
                f64::NAN
            }
        }
        _ => (1024.0 + m) * 2f64.powi(e - 25),
    };
    if x >> 15 & 1 == 1 { -size } else { size }
}

#[test]
fn quotients_of_all_magnitudes_are_precise() {
    const PAIRS: usize = 16;
    for bits in [16, 32] {
        let (low, high, fraction) = range(bits);
        let step = if bits == 16 { 1 } else { 7 };
        let mut exponents: Vec<i32> = (low..=high).step_by(step).collect();
        exponents.extend([high - 1, high]);
        let numbers: Vec<f64> = exponents
            .iter()
            .flat_map(|&e| [1.0, 1.375, -1.0, -1.625].map(|m| m * 2f64.powi(e)))
            .collect();
        let all: Vec<(f64, f64)> =
            numbers.iter().flat_map(|&a| numbers.iter().map(move |&b| (a, b))).collect();
        for function in [Function::Divide, Function::Atan2] {
            let words = module(function, bits, PAIRS as u32);
            // Every ninth pair meets all exponents on either side.
            let chosen: Vec<_> = all.iter().copied().step_by(9).collect();
            for chunk in chosen.chunks(GROUP * PAIRS) {
                let mut input: Vec<u32> =
                    chunk.iter().flat_map(|&(a, b)| [encode(a, bits), encode(b, bits)]).collect();
                input.resize(2 * GROUP * PAIRS, encode(1.0, bits));
                for (by, got) in run(&words, &input, GROUP * PAIRS) {
                    for (&(a, b), got) in chunk.iter().zip(got) {
                        let got = decode(got, bits);
                        let (want, ulps) = match function {
                            Function::Divide => (a / b, 2.5),
                            Function::Atan2 => (a.atan2(b), if bits == 16 { 5.0 } else { 4096.0 }),
                        };
                        let edge = 2f64.powi(-low);
                        if function == Function::Divide && !(1.0 / edge..=edge).contains(&b.abs()) {
                            continue;
                        }
                        let largest = (2.0 - 2f64.powi(-fraction)) * 2f64.powi(high);
                        if want.abs() > largest {
                            continue;
                        }
                        let smallest = 2f64.powi(low);
                        let ulp = 2f64.powi((want.abs().log2().floor() as i32).max(low) - fraction);
                        // Below the normal numbers a result may be flushed.
                        let flushed = want.abs() < smallest * (1.0 + 2f64.powi(-9)) && got == 0.0;
                        assert!(
                            (got - want).abs() <= ulps * ulp || flushed,
                            "{by}: {function:?} in {bits} bits of {a:e}, {b:e}: {got:e}, not {want:e}"
                        );
                    }
                }
            }
        }
    }
}
