//! Zeros of both signs, infinities and NaN in every function of GLSL.std.450 that takes floats, under
//! `SignedZeroInfNanPreserve`: what its definition gives in real numbers extended by them.

use std::f64::consts;

use crate::{GROUP, Kernel, run};
use rspirv::dr::Operand;
use rspirv::spirv::{self, GlslStd450Op as G, Word};

/// Right results of a function.
#[derive(Clone, Copy, Debug)]
enum Want {
    /// This number, with the sign of a zero.
    Is(f64),
    /// This number within the function's precision.
    Near(f64),
    Nan,
    /// One of two, where the definition leaves both.
    Either(f64, f64),
    /// The specification leaves the result undefined.
    Undefined,
}
use Want::{Either, Is, Nan, Near, Undefined};

const INF: f64 = f64::INFINITY;
const OPERANDS: [f64; 9] = [0.0, -0.0, INF, -INF, f64::NAN, 1.0, -1.0, 0.5, -2.0];
const PI: f64 = std::f64::consts::PI;

/// Results for each of [`OPERANDS`].
type Row = (G, [Want; 9]);

/// Of functions that exist in 16, 32 and 64 bits.
const ALL_SIZES: &[Row] = &[
    (
        G::Round,
        [Is(0.0), Is(-0.0), Is(INF), Is(-INF), Nan, Is(1.0), Is(-1.0), Either(0.0, 1.0), Is(-2.0)],
    ),
    (
        G::RoundEven,
        [Is(0.0), Is(-0.0), Is(INF), Is(-INF), Nan, Is(1.0), Is(-1.0), Is(0.0), Is(-2.0)],
    ),
    (G::Trunc, [Is(0.0), Is(-0.0), Is(INF), Is(-INF), Nan, Is(1.0), Is(-1.0), Is(0.0), Is(-2.0)]),
    (G::FAbs, [Is(0.0), Is(0.0), Is(INF), Is(INF), Nan, Is(1.0), Is(1.0), Is(0.5), Is(2.0)]),
    // 0 for a zero of either sign; NaN is neither above, at nor below 0.
    (
        G::FSign,
        [
            Is(0.0),
            Either(0.0, -0.0),
            Is(1.0),
            Is(-1.0),
            Undefined,
            Is(1.0),
            Is(-1.0),
            Is(1.0),
            Is(-1.0),
        ],
    ),
    (G::Floor, [Is(0.0), Is(-0.0), Is(INF), Is(-INF), Nan, Is(1.0), Is(-1.0), Is(0.0), Is(-2.0)]),
    (G::Ceil, [Is(0.0), Is(-0.0), Is(INF), Is(-INF), Nan, Is(1.0), Is(-1.0), Is(1.0), Is(-2.0)]),
    // x - floor(x)
    (G::Fract, [Is(0.0), Is(0.0), Nan, Nan, Nan, Is(0.0), Is(0.0), Is(0.5), Is(0.0)]),
    (
        G::Sqrt,
        [
            Is(0.0),
            Is(-0.0),
            Is(INF),
            Nan,
            Nan,
            Is(1.0),
            Nan,
            Near(std::f64::consts::FRAC_1_SQRT_2),
            Nan,
        ],
    ),
    (
        G::InverseSqrt,
        [
            Either(INF, INF),
            Either(INF, -INF),
            Is(0.0),
            Nan,
            Nan,
            Is(1.0),
            Nan,
            Near(std::f64::consts::SQRT_2),
            Nan,
        ],
    ),
    // The fraction; the whole part is that of Trunc.
    (
        G::ModfStruct,
        [Is(0.0), Is(-0.0), Is(0.0), Is(-0.0), Nan, Is(0.0), Is(-0.0), Is(0.5), Is(-0.0)],
    ),
    // The significand.
    (
        G::FrexpStruct,
        [Is(0.0), Is(-0.0), Is(INF), Is(-INF), Nan, Is(0.5), Is(-0.5), Is(0.5), Is(-0.5)],
    ),
    (G::Length, [Is(0.0), Is(0.0), Is(INF), Is(INF), Nan, Is(1.0), Is(1.0), Is(0.5), Is(2.0)]),
];

/// Of functions that exist in 16 and 32 bits.
const NO_DOUBLE: &[Row] = &[
    (
        G::Radians,
        [
            Is(0.0),
            Is(-0.0),
            Is(INF),
            Is(-INF),
            Nan,
            Near(PI / 180.0),
            Near(-PI / 180.0),
            Near(PI / 360.0),
            Near(-PI / 90.0),
        ],
    ),
    (
        G::Degrees,
        [
            Is(0.0),
            Is(-0.0),
            Is(INF),
            Is(-INF),
            Nan,
            Near(180.0 / PI),
            Near(-180.0 / PI),
            Near(90.0 / PI),
            Near(-360.0 / PI),
        ],
    ),
    (
        G::Sin,
        [
            Is(0.0),
            Is(-0.0),
            Nan,
            Nan,
            Nan,
            Near(0.841_470_984_8),
            Near(-0.841_470_984_8),
            Near(0.479_425_538_6),
            Near(-0.909_297_426_8),
        ],
    ),
    (
        G::Cos,
        [
            Near(1.0),
            Near(1.0),
            Nan,
            Nan,
            Nan,
            Near(0.540_302_305_9),
            Near(0.540_302_305_9),
            Near(0.877_582_561_9),
            Near(-0.416_146_836_5),
        ],
    ),
    (
        G::Tan,
        [
            Is(0.0),
            Is(-0.0),
            Nan,
            Nan,
            Nan,
            Near(1.557_407_724_7),
            Near(-1.557_407_724_7),
            Near(0.546_302_489_8),
            Near(2.185_039_863_3),
        ],
    ),
    (
        G::Asin,
        [
            Is(0.0),
            Is(-0.0),
            Undefined,
            Undefined,
            Nan,
            Near(PI / 2.0),
            Near(-PI / 2.0),
            Near(PI / 6.0),
            Undefined,
        ],
    ),
    (
        G::Acos,
        [
            Near(PI / 2.0),
            Near(PI / 2.0),
            Undefined,
            Undefined,
            Nan,
            Near(0.0),
            Near(PI),
            Near(PI / 3.0),
            Undefined,
        ],
    ),
    (
        G::Atan,
        [
            Is(0.0),
            Is(-0.0),
            Near(PI / 2.0),
            Near(-PI / 2.0),
            Nan,
            Near(PI / 4.0),
            Near(-PI / 4.0),
            Near(0.463_647_609_0),
            Near(-1.107_148_717_8),
        ],
    ),
    (
        G::Sinh,
        [
            Is(0.0),
            Is(-0.0),
            Is(INF),
            Is(-INF),
            Nan,
            Near(1.175_201_193_6),
            Near(-1.175_201_193_6),
            Near(0.521_095_305_5),
            Near(-3.626_860_407_8),
        ],
    ),
    (
        G::Cosh,
        [
            Near(1.0),
            Near(1.0),
            Is(INF),
            Is(INF),
            Nan,
            Near(1.543_080_634_8),
            Near(1.543_080_634_8),
            Near(1.127_625_965_2),
            Near(3.762_195_691_1),
        ],
    ),
    (
        G::Tanh,
        [
            Is(0.0),
            Is(-0.0),
            Near(1.0),
            Near(-1.0),
            Nan,
            Near(0.761_594_155_9),
            Near(-0.761_594_155_9),
            Near(0.462_117_157_3),
            Near(-0.964_027_580_1),
        ],
    ),
    (
        G::Asinh,
        [
            Is(0.0),
            Is(-0.0),
            Is(INF),
            Is(-INF),
            Nan,
            Near(0.881_373_587_0),
            Near(-0.881_373_587_0),
            Near(0.481_211_825_1),
            Near(-1.443_635_475_2),
        ],
    ),
    (
        G::Acosh,
        [Undefined, Undefined, Is(INF), Undefined, Nan, Near(0.0), Undefined, Undefined, Undefined],
    ),
    (
        G::Atanh,
        [
            Is(0.0),
            Is(-0.0),
            Undefined,
            Undefined,
            Nan,
            Undefined,
            Undefined,
            Near(0.549_306_144_3),
            Undefined,
        ],
    ),
    (
        G::Exp,
        [
            Near(1.0),
            Near(1.0),
            Is(INF),
            Is(0.0),
            Nan,
            Near(consts::E),
            Near(0.367_879_441_2),
            Near(1.648_721_270_7),
            Near(0.135_335_283_2),
        ],
    ),
    (
        G::Exp2,
        [
            Near(1.0),
            Near(1.0),
            Is(INF),
            Is(0.0),
            Nan,
            Near(2.0),
            Near(0.5),
            Near(consts::SQRT_2),
            Near(0.25),
        ],
    ),
    (G::Log, [Is(-INF), Is(-INF), Is(INF), Nan, Nan, Near(0.0), Nan, Near(-consts::LN_2), Nan]),
    (G::Log2, [Is(-INF), Is(-INF), Is(INF), Nan, Nan, Near(0.0), Nan, Near(-1.0), Nan]),
];

/// Functions of two operands, with operands and result.
const PAIRS: &[(G, f64, f64, Want)] = &[
    (G::Atan2, 0.0, 1.0, Is(0.0)),
    (G::Atan2, -0.0, 1.0, Is(-0.0)),
    (G::Atan2, 0.0, -1.0, Near(PI)),
    (G::Atan2, -0.0, -1.0, Near(-PI)),
    (G::Atan2, 1.0, 0.0, Near(PI / 2.0)),
    (G::Atan2, -1.0, -0.0, Near(-PI / 2.0)),
    (G::Atan2, INF, INF, Near(PI / 4.0)),
    (G::Atan2, -INF, INF, Near(-PI / 4.0)),
    (G::Atan2, INF, -INF, Near(0.75 * PI)),
    (G::Atan2, -INF, -INF, Near(-0.75 * PI)),
    (G::Atan2, 1.0, INF, Is(0.0)),
    (G::Atan2, -1.0, INF, Is(-0.0)),
    (G::Atan2, 1.0, -INF, Near(PI)),
    (G::Atan2, INF, 1.0, Near(PI / 2.0)),
    (G::Atan2, f64::NAN, 1.0, Nan),
    (G::Atan2, f64::NAN, 0.0, Nan),
    (G::Atan2, f64::NAN, INF, Nan),
    (G::Atan2, 1.0, f64::NAN, Nan),
    (G::Atan2, 0.0, f64::NAN, Nan),
    (G::Atan2, -INF, f64::NAN, Nan),
    (G::Pow, 2.0, INF, Is(INF)),
    (G::Pow, 2.0, -INF, Is(0.0)),
    (G::Pow, INF, 2.0, Is(INF)),
    (G::Pow, INF, -2.0, Is(0.0)),
    (G::Pow, f64::NAN, 2.0, Nan),
    (G::Pow, 2.0, f64::NAN, Nan),
    // Which operand results is undefined if one is NaN, and the order of two zeros is not.
    (G::FMin, INF, 1.0, Is(1.0)),
    (G::FMin, -INF, 1.0, Is(-INF)),
    (G::FMax, INF, 1.0, Is(INF)),
    (G::FMax, -INF, 1.0, Is(1.0)),
    (G::NMin, f64::NAN, 1.0, Is(1.0)),
    (G::NMin, 1.0, f64::NAN, Is(1.0)),
    (G::NMin, f64::NAN, f64::NAN, Nan),
    (G::NMin, 0.0, -0.0, Either(0.0, -0.0)),
    (G::NMax, f64::NAN, -1.0, Is(-1.0)),
    (G::NMax, -1.0, f64::NAN, Is(-1.0)),
    (G::NMax, f64::NAN, f64::NAN, Nan),
    (G::NMax, -0.0, -0.0, Is(-0.0)),
    (G::NMin, -0.0, -0.0, Is(-0.0)),
    // Edge and operand: 0 where the operand is below the edge.
    (G::Step, 0.0, -0.0, Is(1.0)),
    (G::Step, -0.0, 0.0, Is(1.0)),
    (G::Step, INF, 1.0, Is(0.0)),
    (G::Step, -INF, 1.0, Is(1.0)),
    (G::Step, 1.0, INF, Is(1.0)),
    (G::Distance, INF, 1.0, Is(INF)),
    (G::Distance, 1.0, f64::NAN, Nan),
    (G::Distance, -0.0, 0.0, Is(0.0)),
];

/// Functions of three operands.
const TRIPLES: &[(G, [f64; 3], Want)] = &[
    (G::Fma, [-0.0, 1.0, -0.0], Is(-0.0)),
    (G::Fma, [-0.0, 1.0, 0.0], Is(0.0)),
    (G::Fma, [INF, 0.0, 1.0], Nan),
    (G::Fma, [INF, 1.0, -INF], Nan),
    (G::FMix, [-0.0, -0.0, 0.5], Is(-0.0)),
    (G::FMix, [1.0, INF, 0.5], Is(INF)),
    (G::FMix, [f64::NAN, 1.0, 0.5], Nan),
    (G::FMix, [1.0, f64::NAN, 0.5], Nan),
    (G::FClamp, [INF, -1.0, 1.0], Is(1.0)),
    (G::FClamp, [-INF, -1.0, 1.0], Is(-1.0)),
    (G::NClamp, [f64::NAN, -1.0, 1.0], Is(-1.0)),
    (G::NClamp, [INF, -INF, INF], Is(INF)),
    (G::NClamp, [-0.0, -1.0, 1.0], Is(-0.0)),
    (G::SmoothStep, [0.0, 1.0, INF], Is(1.0)),
    (G::SmoothStep, [0.0, 1.0, -INF], Is(0.0)),
];

/// Bits of a number in a float of this size.
fn encode(x: f64, bits: u32) -> u64 {
    match bits {
        // The operands are zeros, infinities, NaN and small powers of two.
        16 => {
            let sign = u64::from(x.is_sign_negative()) << 15;
            sign | match x.abs() {
                a if a.is_nan() => 0x7e00,
                0.0 => 0,
                a if a.is_infinite() => 0x7c00,
                a => ((a.log2() as i64 + 15) as u64) << 10,
            }
        }
        32 => u64::from((x as f32).to_bits()),
        _ => x.to_bits(),
    }
}

fn decode(x: u64, bits: u32) -> f64 {
    match bits {
        16 => {
            let size = match (x >> 10 & 31, x & 1023) {
                (0, m) => m as f64 * 2f64.powi(-24),
                (31, 0) => INF,
                (31, _) => f64::NAN,
                (e, m) => (1024 + m) as f64 * 2f64.powi(e as i32 - 25),
            };
            if x >> 15 & 1 == 1 { -size } else { size }
        }
        32 => f64::from(f32::from_bits(x as u32)),
        _ => f64::from_bits(x),
    }
}

fn fits(got: f64, want: Want, bits: u32) -> bool {
    let is = |x: f64| got == x && got.is_sign_negative() == x.is_sign_negative();
    match want {
        Is(x) => is(x),
        Either(x, y) => is(x) || is(y),
        Nan => got.is_nan(),
        Near(x) => {
            (got - x).abs()
                <= x.abs().max(1.0) * if bits == 16 { 2f64.powi(-8) } else { 2f64.powi(-12) }
        }
        Undefined => true,
    }
}

/// Three operands of each invocation, one call of `function`, its result.
fn module(function: G, operands: usize, bits: u32) -> Vec<u32> {
    use spirv::Capability as C;
    let mut k =
        Kernel::new(&[C::Float16, C::Float64, C::Int16, C::Int64, C::SignedZeroInfNanPreserve]);
    k.mode(spirv::ExecutionMode::SignedZeroInfNanPreserve, &[bits]);
    let ty = k.b.type_float(bits, None);
    let wide = k.b.type_int(64, 0);
    let int = k.b.type_int(bits, 0);
    let args: Vec<Operand> = (0..operands as u32)
        .map(|n| {
            let v = k.input_pair(6, 2 * n, wide);
            let v = if bits == 64 { v } else { k.b.u_convert(int, None, v).unwrap() };
            Operand::IdRef(k.b.bitcast(ty, None, v).unwrap())
        })
        .collect();
    let second: Option<Word> = match function {
        G::ModfStruct => Some(ty),
        G::FrexpStruct => Some(k.b.type_int(32, 1)),
        _ => None,
    };
    let result = second.map_or(ty, |second| k.b.type_struct([ty, second]));
    let glsl = k.glsl;
    let mut r = k.b.ext_inst(result, None, glsl, function as u32, args).unwrap();
    if second.is_some() {
        r = k.b.composite_extract(ty, None, r, [0]).unwrap();
    }
    let r = k.b.bitcast(int, None, r).unwrap();
    let r = if bits == 64 { r } else { k.b.u_convert(wide, None, r).unwrap() };
    k.output_pair(2, 0, r);
    k.finish()
}

/// Runs a function on all its rows; the wrong results as text.
fn wrong(function: G, bits: u32, rows: &[([f64; 3], Want)], operands: usize) -> Vec<String> {
    let mut input = vec![0; 6 * GROUP];
    for (n, (operands, _)) in rows.iter().enumerate() {
        for (k, &x) in operands.iter().enumerate() {
            let x = encode(x, bits);
            input[6 * n + 2 * k] = x as u32;
            input[6 * n + 2 * k + 1] = (x >> 32) as u32;
        }
    }
    let mut wrong = Vec::new();
    for (by, got) in run(&module(function, operands, bits), &input, 2 * GROUP) {
        for (n, &(operands, want)) in rows.iter().enumerate() {
            let got = decode(u64::from(got[2 * n]) | u64::from(got[2 * n + 1]) << 32, bits);
            if !fits(got, want, bits) {
                wrong.push(format!(
                    "{by}: {function:?} in {bits} bits of {operands:?}: {got:?}, not {want:?}"
                ));
            }
        }
    }
    wrong
}

#[test]
fn special_values_go_through_every_function() {
    let mut found = Vec::new();
    for (rows, sizes) in [(ALL_SIZES, &[16, 32, 64][..]), (NO_DOUBLE, &[16, 32])] {
        for (function, wants) in rows {
            let rows: Vec<_> =
                OPERANDS.iter().zip(wants).map(|(&x, &w)| ([x, 0.0, 0.0], w)).collect();
            for &bits in sizes {
                found.extend(wrong(*function, bits, &rows, 1));
            }
        }
    }
    for pairs in PAIRS.chunk_by(|a, b| a.0 == b.0) {
        let rows: Vec<_> = pairs.iter().map(|&(_, x, y, w)| ([x, y, 0.0], w)).collect();
        let double = !matches!(pairs[0].0, G::Atan2 | G::Pow);
        for &bits in if double { &[16, 32, 64][..] } else { &[16, 32] } {
            found.extend(wrong(pairs[0].0, bits, &rows, 2));
        }
    }
    for triples in TRIPLES.chunk_by(|a, b| a.0 == b.0) {
        let rows: Vec<_> = triples.iter().map(|&(_, x, w)| (x, w)).collect();
        for bits in [16, 32, 64] {
            found.extend(wrong(triples[0].0, bits, &rows, 3));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}
