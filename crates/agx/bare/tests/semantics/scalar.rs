//! Instructions that applegpu names but does not execute, against scalar Rust.
//!
//! What each instruction does is said in the instruction table's documentation (`tepui isa agx`)
//! with its sources; here it is written a second time, a lane at a time, in 64-bit floats and wide
//! integers.

use crate::rig::{Case, LANES, Registers, Rig};
use crate::values;

const SEEDS: std::ops::Range<u64> = 5000..5024;

/// Runs an instruction on the registers of all seeds and compares r2 in the lanes that run with
/// what `expected` makes of the registers before; the other lanes must keep it.
fn check(text: &str, expected: impl Fn(&Case, usize) -> Expected) {
    let cases: Vec<Case> = SEEDS.map(|seed| Case::new(text, values::registers(seed))).collect();
    let results = Rig::new().run(&cases);
    for (case, after) in cases.iter().zip(&results) {
        for lane in 0..LANES {
            let got = after[2][lane];
            let before: Vec<String> =
                (0..8).map(|r| format!("{:08x}", case.before[r][lane])).collect();
            let place = || format!("{text}, lane {lane}, r0 to r7 {}", before.join(" "));
            if !case.runs(lane) {
                assert_eq!(got, case.before[2][lane], "{}", place());
                continue;
            }
            match expected(case, lane) {
                Expected::Bits(want) => {
                    assert_eq!(got, want, "{got:#x}, not {want:#x}: {}", place());
                }
                Expected::Half(want) => {
                    let (got, nan) = (got & 0xffff, want & 0x7fff > 0x7c00);
                    let same = got == want || nan && got & 0x7fff > 0x7c00;
                    assert!(same, "{got:#x}, not {want:#x}: {}", place());
                }
                Expected::Float(want, tolerance) => {
                    let got = f32::from_bits(got);
                    assert!(close(got, want, tolerance), "{got:e}, not {want:e}: {}", place());
                }
            }
        }
    }
}

/// The expected value of r2.
enum Expected {
    Bits(u32),
    /// In the low half; any NaN for a NaN.
    Half(u32),
    /// Within an error in units in the last place.
    Float(f64, f64),
}

/// Subnormal results may be zero.
fn close(got: f32, want: f64, ulps: f64) -> bool {
    if want.is_nan() || got.is_nan() {
        return want.is_nan() && got.is_nan();
    }
    let smallest = f64::from(f32::MIN_POSITIVE);
    if want.abs() < smallest {
        return f64::from(got).abs() <= smallest;
    }
    if f64::from(got) == want || got == want as f32 {
        return true;
    }
    let exponent = want.abs().log2().floor();
    (f64::from(got) - want).abs() <= ulps * (exponent - 23.0).exp2()
}

/// A 32-bit float as the shader core reads it: subnormals are zero.
fn read(bits: u32) -> f64 {
    let x = f32::from_bits(bits);
    if x.is_subnormal() { f64::from(0f32.copysign(x)) } else { f64::from(x) }
}

fn half(bits: u32) -> f64 {
    let (sign, exponent, fraction) = (bits >> 15 & 1, bits >> 10 & 31, f64::from(bits & 1023));
    let magnitude = match exponent {
        31 if fraction != 0.0 => f64::NAN,
        31 => f64::INFINITY,
        0 => fraction * (-24f64).exp2(),
        e => (1024.0 + fraction) * (f64::from(e) - 25.0).exp2(),
    };
    if sign == 1 { -magnitude } else { magnitude }
}

/// To the nearest half (ties to even) or toward zero.
fn to_half(x: f64, toward_zero: bool) -> u32 {
    let sign = if x.is_sign_negative() { 0x8000 } else { 0 };
    if x.is_nan() {
        return 0x7e00;
    }
    if x.is_infinite() {
        return sign | 0x7c00;
    }
    let unit = (x.abs().log2().floor().max(-14.0) - 10.0).exp2();
    let steps = x.abs() / unit;
    let rounded = if toward_zero { steps.floor() } else { steps.round_ties_even() } * unit;
    if rounded >= 65536.0 {
        // A conversion toward zero stops at the largest number.
        return sign | if toward_zero { 0x7bff } else { 0x7c00 };
    }
    let bits = (0..0x7c00u32).rev().find(|&b| half(b) <= rounded).unwrap_or(0);
    sign | bits
}

#[test]
fn conversions_to_integers_clamp() {
    for (name, low, high) in [
        ("f_to_u32", 0.0, 4_294_967_295.0),
        ("f_to_s32", -2_147_483_648.0, 2_147_483_647.0),
        ("f_to_u16", 0.0, 65535.0),
        ("f_to_s16", -32768.0, 32767.0),
    ] {
        for nearest in [false, true] {
            let round = if nearest { "rte" } else { "rtz" };
            let integer = |x: f64| {
                let whole = if nearest { x.round_ties_even() } else { x.trunc() };
                if x.is_nan() { 0 } else { whole.clamp(low, high) as i64 as u32 }
            };
            check(&format!("convert {name}, r2, r3, {round}"), |case, lane| {
                Expected::Bits(integer(read(case.before[3][lane])))
            });
            check(&format!("convert {name}, r2, r3h, {round}"), |case, lane| {
                Expected::Bits(integer(half(case.before[3][lane] >> 16)))
            });
        }
    }
}

#[test]
fn conversions_to_floats_round_once() {
    type Read = fn(u32) -> i64;
    for (name, integer) in [
        ("u8_to_f", (|v| i64::from(v as u8)) as Read),
        ("s8_to_f", |v| i64::from(v as i8)),
        ("u16_to_f", |v| i64::from(v as u16)),
        ("s16_to_f", |v| i64::from(v as i16)),
        ("u32_to_f", i64::from),
        ("s32_to_f", |v| i64::from(v as i32)),
    ] {
        check(&format!("convert {name}, r2, r3, rte"), |case, lane| {
            // An integer of 32 bits is exact in 64-bit floats, so this rounds once.
            Expected::Bits((integer(case.before[3][lane]) as f64 as f32).to_bits())
        });
        check(&format!("convert {name}, r2, r3, rtz"), |case, lane| {
            let exact = integer(case.before[3][lane]);
            let mut x = exact as f32;
            if (f64::from(x)).abs() > exact.unsigned_abs() as f64 {
                x = f32::from_bits(x.to_bits() - 1);
            }
            Expected::Bits(x.to_bits())
        });
        for (round, toward_zero) in [("rte", false), ("rtz", true)] {
            check(&format!("convert {name}, r2l, r3, {round}"), |case, lane| {
                Expected::Half(to_half(integer(case.before[3][lane]) as f64, toward_zero))
            });
        }
    }
}

#[test]
fn rounding_is_exact() {
    type Round = fn(f64) -> f64;
    for (name, round) in [
        ("floor", f64::floor as Round),
        ("ceil", f64::ceil),
        ("trunc", f64::trunc),
        ("rint", f64::round_ties_even),
    ] {
        check(&format!("{name} r2, r3"), |case, lane| {
            let want = round(read(case.before[3][lane]));
            if want == 0.0 || want.is_nan() {
                Expected::Float(want, 0.0)
            } else {
                Expected::Bits((want as f32).to_bits())
            }
        });
        check(&format!("{name} r2l, r3h.abs.neg"), |case, lane| {
            Expected::Half(to_half(round(-half(case.before[3][lane] >> 16).abs()), false))
        });
    }
}

#[test]
fn elementary_functions_are_as_precise_as_the_api_demands() {
    // Vulkan's bounds: 1/x and 1/sqrt within 2.5 and 2 ulp.
    check("rcp r2, r3", |case, lane| Expected::Float(1.0 / read(case.before[3][lane]), 2.5));
    check("rsqrt r2, r3", |case, lane| {
        Expected::Float(1.0 / read(case.before[3][lane]).sqrt(), 2.0)
    });
    // exp2: 3 + 2|x| ulp.
    check("exp2 r2, r3", |case, lane| {
        let x = read(case.before[3][lane]);
        Expected::Float(x.exp2(), if x.is_finite() { 3.0 + 2.0 * x.abs().min(200.0) } else { 0.0 })
    });
    // log2: 3 ulp outside of 0.5 to 2, 2^-21 inside.
    check("log2 r2, r3", |case, lane| {
        let x = read(case.before[3][lane]);
        let want = if x < 0.0 { f64::NAN } else { x.log2() };
        let inside = (0.5..=2.0).contains(&x) && want != 0.0;
        let ulp = (want.abs().log2().floor() - 23.0).exp2();
        Expected::Float(want, if inside { (-21f64).exp2() / ulp } else { 3.0 })
    });
}

#[test]
fn a_square_root_from_its_two_instructions() {
    for seed in SEEDS {
        let mut cases = vec![Case::new("rsqrt_special r2, r3", values::registers(seed))];
        let before = cases[0].before.clone();
        let first = Rig::new().run(&cases);
        cases = vec![Case::new("fmul32 r2, r2, r3", first[0].clone())];
        let after = Rig::new().run(&cases);
        for lane in (0..LANES).filter(|&lane| before[0][lane] & 0xffff == 0) {
            let x = read(before[3][lane]);
            let (got, want) = (f32::from_bits(after[0][2][lane]), x.sqrt());
            assert!(close(got, want, 3.0), "sqrt({x:e}) is {got:e}, not {want:e}");
        }
    }
}

#[test]
fn the_sine_from_its_two_instructions() {
    let mut before: Box<Registers> = Box::new([[0; LANES]; 16]);
    for step in 0..64 {
        for lane in 0..LANES {
            let quarter_turns = (step * LANES + lane) as f32 / 512.0;
            before[3][lane] = quarter_turns.to_bits();
        }
        let run = |text: &str, registers| Rig::new().run(&[Case::new(text, registers)]).remove(0);
        // The sequence that Mesa emits: fold, evaluate, multiply.
        let folded = run("sin_pt_1 r4, r3", before.clone());
        let evaluated = run("sin_pt_2 r5, r4", folded);
        let after = run("fmul32 r2, r4, r5", evaluated);
        for lane in 0..LANES {
            let x = f64::from(f32::from_bits(before[3][lane]));
            let want = (x * std::f64::consts::FRAC_PI_2).sin();
            let got = f64::from(f32::from_bits(after[2][lane]));
            // Vulkan: an absolute error of at most 2^-11.
            assert!((got - want).abs() < (-20f64).exp2(), "{x} quarter turns: {got}, not {want}");
        }
    }
}

#[test]
fn bits_interleave() {
    check("intl r2, r3, r4", |case, lane| {
        let (a, b) = (case.before[3][lane], case.before[4][lane]);
        let bit = |i: u32| (a >> i & 1) << (2 * i) | (b >> i & 1) << (2 * i + 1);
        Expected::Bits((0..16).map(bit).sum())
    });
}

#[test]
fn minimum_and_maximum_prefer_numbers() {
    for (condition, less) in [("ltn", true), ("gtn", false)] {
        check(&format!("fcmpsel {condition}, r2, r3, r4, r3, r4"), |case, lane| {
            let [x, y] = [case.before[3][lane], case.before[4][lane]];
            let (a, b) = (read(x), read(y));
            let first = b.is_nan() || if less { a < b } else { a > b };
            Expected::Bits(if first { x } else { y })
        });
    }
}

#[test]
fn derivatives_are_differences_within_a_quad() {
    for (name, step) in [("dfdx", 1), ("dfdy", 2)] {
        check(&format!("{name} r2, r3"), |case, lane| {
            let at = |lane: usize| read(case.before[3][lane]);
            let difference = at(lane | step) - at(lane & !step);
            // Large and small operands round; the sum of two 32-bit floats does so once.
            Expected::Float(f64::from(difference as f32), 0.5)
        });
        // Lanes that do not run keep what they had.
        check(&format!("mov r3, r4\n{name} r2, r3"), |case, lane| {
            let at = |lane: usize| read(case.before[if case.runs(lane) { 4 } else { 3 }][lane]);
            let difference = at(lane | step) - at(lane & !step);
            Expected::Float(f64::from(difference as f32), 0.5)
        });
    }
}
