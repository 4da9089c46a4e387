//! Single instructions, each compared with plain arithmetic over the channels.

mod common;

use common::{dwords, floats, run, try_run};
use half::f16;
use tepui_intel_eu::Thread;

/// Values that have revealed mistakes before: signs, limits, patterns.
const VALUES: [u32; 16] = [
    0,
    1,
    2,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1234_5678,
    0xfedc_ba98,
    31,
    32,
    0x0000_ffff,
    0xffff_0000,
    0x00ff_00ff,
    7,
    0xffff_fff9,
    0x8000_0001,
];

fn rotated(by: usize) -> [u32; 16] {
    std::array::from_fn(|i| VALUES[(i * 5 + by) % 16])
}

/// Runs a two-source instruction `text` with g2, g4 and g6 holding values; the result is in g10.
fn binary(text: &str, check: impl Fn(u32, u32) -> u32) {
    for by in 0..16 {
        let (a, b) = (rotated(0), rotated(by));
        let thread = run(text, 0xffff, |t| {
            t.write_payload(2, &a);
            t.write_payload(4, &b);
        });
        let expected: Vec<u32> = a.iter().zip(&b).map(|(a, b)| check(*a, *b)).collect();
        assert_eq!(dwords(&thread, 10, 16), expected, "{text}");
    }
}

fn unary(text: &str, check: impl Fn(u32) -> u32) {
    binary(text, |a, _| check(a));
}

/// Text of an instruction from g2 and g4 to g10, 16 channels.
fn two(op: &str, ty: &str) -> String {
    format!("{op}(16) g10<1>{ty} g2<8,8,1>{ty} g4<8,8,1>{ty} {{ align1 1H }};")
}

fn one(op: &str, ty: &str) -> String {
    format!("{op}(16) g10<1>{ty} g2<8,8,1>{ty} {{ align1 1H }};")
}

#[test]
fn integers() {
    binary(&two("add", "D"), u32::wrapping_add);
    binary(&two("add", "UD"), u32::wrapping_add);
    binary(&two("mul", "D"), u32::wrapping_mul);
    binary(&two("and", "UD"), |a, b| a & b);
    binary(&two("or", "UD"), |a, b| a | b);
    binary(&two("xor", "UD"), |a, b| a ^ b);
    unary(&one("not", "D"), |a| !a);
    binary(&two("shl", "D"), |a, b| a << (b & 31));
    binary(&two("shr", "UD"), |a, b| a >> (b & 31));
    binary(&two("asr", "D"), |a, b| (a as i32 >> (b & 31)) as u32);
    binary(&two("avg", "UD"), |a, b| ((u64::from(a) + u64::from(b) + 1) >> 1) as u32);
    binary(&two("avg", "D"), |a, b| ((i64::from(a as i32) + i64::from(b as i32) + 1) >> 1) as u32);
    unary(&one("cbit", "UD"), u32::count_ones);
    unary(&one("bfrev", "UD"), u32::reverse_bits);
    unary(&one("lzd", "UD"), u32::leading_zeros);
    unary(&one("fbl", "UD"), |a| if a == 0 { u32::MAX } else { a.trailing_zeros() });
    unary(&one("fbh", "UD"), |a| if a == 0 { u32::MAX } else { a.leading_zeros() });
    unary("fbh(16) g10<1>UD g2<8,8,1>D { align1 1H };", |a| {
        // GLSL's findMSB counts from the other end.
        let bits = if (a as i32) < 0 { !a } else { a };
        if bits == 0 { u32::MAX } else { bits.leading_zeros() }
    });
    binary(&two("bfi1", "UD"), |a, b| ((1u32 << (a & 31)) - 1) << (b & 31));
}

#[test]
fn saturated_integers() {
    binary(&two("add.sat", "D"), |a, b| (a as i32).saturating_add(b as i32) as u32);
    binary(&two("add.sat", "UD"), u32::saturating_add);
    binary("add.sat(16) g10<1>UD g2<8,8,1>UD -g4<8,8,1>UD { align1 1H };", u32::saturating_sub);
    binary("add.sat(16) g10<1>D g2<8,8,1>D -g4<8,8,1>D { align1 1H };", |a, b| {
        (a as i32).saturating_sub(b as i32) as u32
    });
}

#[test]
fn source_modifiers() {
    binary("add(16) g10<1>D g2<8,8,1>D -g4<8,8,1>D { align1 1H };", u32::wrapping_sub);
    binary("add(16) g10<1>D -(abs)g2<8,8,1>D g4<8,8,1>D { align1 1H };", |a, b| {
        b.wrapping_sub((a as i32).unsigned_abs())
    });
    binary("and(16) g10<1>UD g2<8,8,1>UD ~g4<8,8,1>UD { align1 1H };", |a, b| a & !b);
    unary("mov(16) g10<1>D (abs)g2<8,8,1>D { align1 1H };", |a| (a as i32).unsigned_abs());
}

#[test]
fn comparisons() {
    fn flag(holds: bool) -> u32 {
        if holds { u32::MAX } else { 0 }
    }
    let text = |cond: &str, ty: &str| {
        format!("cmp.{cond}.f0.0(16) g10<1>{ty} g2<8,8,1>{ty} g4<8,8,1>{ty} {{ align1 1H }};")
    };
    let signed = |a: u32, b: u32| (a as i32, b as i32);
    binary(&text("z", "D"), |a, b| flag(a == b));
    binary(&text("nz", "D"), |a, b| flag(a != b));
    binary(&text("l", "D"), |a, b| flag(signed(a, b).0 < signed(a, b).1));
    binary(&text("le", "D"), |a, b| flag(signed(a, b).0 <= signed(a, b).1));
    binary(&text("g", "UD"), |a, b| flag(a > b));
    binary(&text("ge", "UD"), |a, b| flag(a >= b));
    // The flags select: where the comparison holds, source 0.
    binary(
        "cmp.l.f1.0(16) null<1>UD g2<8,8,1>UD g4<8,8,1>UD { align1 1H };
         (+f1.0) sel(16) g10<1>UD g2<8,8,1>UD g4<8,8,1>UD { align1 1H };",
        u32::min,
    );
    binary("sel.ge(16) g10<1>D g2<8,8,1>D g4<8,8,1>D { align1 1H };", |a, b| {
        (a as i32).max(b as i32) as u32
    });
    binary("sel.l(16) g10<1>UD g2<8,8,1>UD g4<8,8,1>UD { align1 1H };", u32::min);
}

#[test]
fn wide_products() {
    // High halves of products, as Mesa computes them.
    binary(
        "mul(8) acc0<1>UD g2<8,8,1>UD g4<16,8,2>UW { align1 1Q };
         mach(8) g10<1>UD g2<8,8,1>UD g4<8,8,1>UD { align1 1Q AccWrEnable };
         mul(8) acc0<1>UD g3<8,8,1>UD g5<16,8,2>UW { align1 2Q };
         mach(8) g11<1>UD g3<8,8,1>UD g5<8,8,1>UD { align1 2Q AccWrEnable };",
        |a, b| ((u64::from(a) * u64::from(b)) >> 32) as u32,
    );
    binary(
        "mul(8) acc0<1>D g2<8,8,1>D g4<16,8,2>UW { align1 1Q };
         mach(8) g10<1>D g2<8,8,1>D g4<8,8,1>D { align1 1Q AccWrEnable };
         mul(8) acc0<1>D g3<8,8,1>D g5<16,8,2>UW { align1 2Q };
         mach(8) g11<1>D g3<8,8,1>D g5<8,8,1>D { align1 2Q AccWrEnable };",
        |a, b| ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32,
    );
    // Low halves, as Intel's graphics compiler computes them for Tiger Lake: nothing is left in the accumulator.
    for ty in ["D", "UD"] {
        binary(
            &format!(
                "mul(8) acc0<1>{ty} g2<8,8,1>{ty} g4<16,8,2>UW {{ align1 1Q }};
                 mach(8) g10<1>{ty} g2<8,8,1>{ty} g4<8,8,1>{ty} {{ align1 1Q }};
                 mul(8) acc0<1>{ty} g3<8,8,1>{ty} g5<16,8,2>UW {{ align1 2Q }};
                 mach(8) g11<1>{ty} g3<8,8,1>{ty} g5<8,8,1>{ty} {{ align1 2Q }};"
            ),
            u32::wrapping_mul,
        );
    }
    // 64-bit results.
    let (a, b) = (rotated(0), rotated(3));
    let thread = run(
        "mul(8) g10<1>Q g2<8,8,1>D g4<8,8,1>D { align1 1Q };
         mul(8) g12<1>UQ g2<8,8,1>UD g4<8,8,1>UD { align1 1Q };
         add(8) g14<1>UQ g12<4,4,1>UQ g10<4,4,1>UQ { align1 1Q };
         shr(8) g16<1>UQ g12<4,4,1>UQ 36D { align1 1Q };",
        0xff,
        |t| {
            t.write_payload(2, &a);
            t.write_payload(4, &b);
        },
    );
    let quads = |register| -> Vec<u64> {
        let dwords = dwords(&thread, register, 16);
        dwords.chunks(2).map(|d| u64::from(d[0]) | u64::from(d[1]) << 32).collect()
    };
    for i in 0..8 {
        let signed = (i64::from(a[i] as i32) * i64::from(b[i] as i32)) as u64;
        let unsigned = u64::from(a[i]) * u64::from(b[i]);
        assert_eq!(quads(10)[i], signed);
        assert_eq!(quads(12)[i], unsigned);
        assert_eq!(quads(14)[i], unsigned.wrapping_add(signed));
        assert_eq!(quads(16)[i], unsigned >> 36);
    }
}

#[test]
fn carries() {
    binary(
        "addc(8) g20<1>UD g2<8,8,1>UD g4<8,8,1>UD { align1 1Q AccWrEnable };
         mov(8) g10<1>UD acc0<8,8,1>UD { align1 1Q };
         addc(8) g20<1>UD g3<8,8,1>UD g5<8,8,1>UD { align1 2Q AccWrEnable };
         mov(8) g11<1>UD acc0<8,8,1>UD { align1 2Q };",
        |a, b| u32::from(a.checked_add(b).is_none()),
    );
    binary(
        "subb(8) g20<1>UD g2<8,8,1>UD g4<8,8,1>UD { align1 1Q AccWrEnable };
         mov(8) g10<1>UD acc0<8,8,1>UD { align1 1Q };
         subb(8) g20<1>UD g3<8,8,1>UD g5<8,8,1>UD { align1 2Q AccWrEnable };
         mov(8) g11<1>UD acc0<8,8,1>UD { align1 2Q };",
        |a, b| u32::from(a < b),
    );
}

#[test]
fn bit_fields() {
    let widths: [u32; 8] = [0, 1, 8, 31, 5, 16, 12, 30];
    let offsets: [u32; 8] = [0, 31, 8, 0, 30, 16, 4, 1];
    let values: [u32; 8] = std::array::from_fn(|i| 0x9abc_def1u32.rotate_left(i as u32 * 3));
    let thread = run(
        "bfe(8) g10<1>UD g2<4,4,1>UD g3<4,4,1>UD g4<4,4,1>UD { align16 1Q };
         bfe(8) g11<1>D g2<4,4,1>D g3<4,4,1>D g4<4,4,1>D { align16 1Q };
         bfi1(8) g5<1>UD g2<8,8,1>UD g3<8,8,1>UD { align1 1Q };
         bfi2(8) g12<1>UD g5<4,4,1>UD g4<4,4,1>UD g6<4,4,1>UD { align16 1Q };",
        0xff,
        |t| {
            t.write_payload(2, &widths);
            t.write_payload(3, &offsets);
            t.write_payload(4, &values);
            t.write_payload(6, &[0x5555_5555; 8]);
        },
    );
    for i in 0..8 {
        let (w, o, v) = (widths[i], offsets[i], values[i]);
        // Bits past the end are zeros, or the sign.
        let unsigned = (u64::from(v) >> o & ((1u64 << w) - 1)) as u32;
        assert_eq!(dwords(&thread, 10, 8)[i], unsigned, "bfe UD {i}");
        let shift = 64 - w.min(32 - o);
        let signed = if w == 0 { 0 } else { ((u64::from(v) >> o) << shift) as i64 >> shift };
        assert_eq!(dwords(&thread, 11, 8)[i], signed as u32, "bfe D {i}");
        let mask = (((1u64 << w) - 1) << o) as u32;
        let expected = v.checked_shl(o).unwrap_or(0) & mask | 0x5555_5555 & !mask;
        assert_eq!(dwords(&thread, 12, 8)[i], expected, "bfi2 {i}");
    }
}

const FLOATS: [f32; 16] = [
    0.0,
    -0.0,
    1.0,
    -1.5,
    0.1,
    3.25e7,
    -2.5,
    1e-30,
    f32::INFINITY,
    f32::NEG_INFINITY,
    0.5,
    -0.5,
    1234.567,
    -1e10,
    2.5,
    7.0,
];

fn float_binary(text: &str, check: impl Fn(f32, f32) -> f32) {
    for by in 0..16 {
        let b: [f32; 16] = std::array::from_fn(|i| FLOATS[(i * 5 + by) % 16]);
        let thread = run(text, 0xffff, |t| {
            t.write_payload(2, &FLOATS.map(f32::to_bits));
            t.write_payload(4, &b.map(f32::to_bits));
        });
        for (i, found) in floats(&thread, 10, 16).into_iter().enumerate() {
            let expected = check(FLOATS[i], b[i]);
            let same = found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan();
            assert!(same, "{text}: {} {}: {found} is not {expected}", FLOATS[i], b[i]);
        }
    }
}

#[test]
fn floating_point() {
    float_binary(&two("add", "F"), |a, b| a + b);
    float_binary(&two("mul", "F"), |a, b| a * b);
    float_binary("add(16) g10<1>F g2<8,8,1>F -g4<8,8,1>F { align1 1H };", |a, b| a - b);
    float_binary(&one("frc", "F"), |a, _| a - a.floor());
    float_binary(&one("rndd", "F"), |a, _| a.floor());
    float_binary(&one("rndu", "F"), |a, _| a.ceil());
    float_binary(&one("rndz", "F"), |a, _| a.trunc());
    float_binary(&one("rnde", "F"), |a, _| a.round_ties_even());
    let least = |a: f32, b: f32| if a == b { a.is_sign_negative() } else { a < b };
    float_binary(&two("sel.l", "F"), |a, b| if least(a, b) { a } else { b });
    float_binary(&two("sel.ge", "F"), |a, b| if least(a, b) { b } else { a });
    float_binary(&two("mul.sat", "F"), |a, b| {
        let product = a * b;
        if product.is_nan() { 0.0 } else { product.clamp(0.0, 1.0).abs() }
    });
    float_binary("mad(16) g10<1>F g4<4,4,1>F g2<4,4,1>F -g2<4,4,1>F { align16 1H };", |a, b| {
        a.mul_add(-a, b)
    });
    float_binary("lrp(16) g10<1>F g2<4,4,1>F g4<4,4,1>F g2.2<0,1,0>F { align16 1H };", |a, b| {
        a * b + (1.0 - a) * FLOATS[2]
    });
    float_binary("csel.ge(16) g10<1>F g2<4,4,1>F g4<4,4,1>F g4<4,4,1>F { align16 1H };", |a, b| {
        if b >= 0.0 { a } else { b }
    });
    float_binary(
        "cmp.ge.f0.1(16) null<1>F g2<8,8,1>F g4<8,8,1>F { align1 1H };
         (-f0.1) sel(16) g10<1>F g2<8,8,1>F g4<8,8,1>F { align1 1H };",
        |a, b| if a >= b { b } else { a },
    );
}

#[test]
fn not_a_number() {
    let nan = f32::NAN.to_bits();
    let a = [nan, 1.0f32.to_bits(), nan, 2.0f32.to_bits()];
    let b = [1.0f32.to_bits(), nan, nan, 3.0f32.to_bits()];
    let thread = run(
        "sel.l(4) g10<1>F g2<4,4,1>F g3<4,4,1>F { align1 1N };
         sel.ge(4) g11<1>F g2<4,4,1>F g3<4,4,1>F { align1 1N };
         cmp.nz.f0.0(4) g12<1>F g2<4,4,1>F g3<4,4,1>F { align1 1N };
         cmp.le.f0.0(4) g13<1>F g2<4,4,1>F g3<4,4,1>F { align1 1N };
         mov.sat(4) g14<1>F g2<4,4,1>F { align1 1N };
         mov(4) g15<1>D g2<4,4,1>F { align1 1N };",
        0xf,
        |t| {
            t.write_payload(2, &a);
            t.write_payload(3, &b);
        },
    );
    // The number wins over a NaN.
    assert_eq!(floats(&thread, 10, 2), [1.0, 1.0]);
    assert_eq!(floats(&thread, 11, 2), [1.0, 1.0]);
    assert!(floats(&thread, 10, 3)[2].is_nan());
    assert_eq!(dwords(&thread, 12, 4), [u32::MAX; 4]);
    assert_eq!(dwords(&thread, 13, 4), [0, 0, 0, u32::MAX]);
    assert_eq!(floats(&thread, 14, 4), [0.0, 1.0, 0.0, 1.0]);
    assert_eq!(dwords(&thread, 15, 4), [0, 1, 0, 2]);
}

#[test]
fn minimum_and_maximum_order_zeros() {
    let pairs =
        [(0.0f64, -0.0f64), (-0.0, 0.0), (-0.0, -0.0), (0.0, 0.0), (-1.0, -0.0), (0.0, 1.0)];
    let zero = |x: f64, y: f64, least: bool| match (x == y, least) {
        (true, least) => x.is_sign_negative() == least,
        (false, true) => x < y,
        (false, false) => x > y,
    };
    let right = |least: bool| pairs.map(|(x, y)| if zero(x, y, least) { x } else { y });
    for (op, want) in [("sel.l", right(true)), ("sel.ge", right(false))] {
        let thread =
            run(&format!("{op}(8) g10<1>F g2<8,8,1>F g3<8,8,1>F {{ align1 1Q }};"), 0xff, |t| {
                t.write_payload(2, &pairs.map(|p| (p.0 as f32).to_bits()));
                t.write_payload(3, &pairs.map(|p| (p.1 as f32).to_bits()));
            });
        assert_eq!(dwords(&thread, 10, 6), want.map(|x| (x as f32).to_bits()), "{op} of F");
        let halves = |of: [f64; 6]| {
            let bits = of.map(|x| u32::from(f16::from_f64(x).to_bits()));
            [bits[0] | bits[1] << 16, bits[2] | bits[3] << 16, bits[4] | bits[5] << 16]
        };
        let thread =
            run(&format!("{op}(8) g10<1>HF g2<8,8,1>HF g3<8,8,1>HF {{ align1 1Q }};"), 0xff, |t| {
                t.write_payload(2, &halves(pairs.map(|p| p.0)));
                t.write_payload(3, &halves(pairs.map(|p| p.1)));
            });
        assert_eq!(dwords(&thread, 10, 3), halves(want), "{op} of HF");
        let words = |of: [f64; 6]| -> Vec<u32> {
            of.iter().flat_map(|x| [x.to_bits() as u32, (x.to_bits() >> 32) as u32]).collect()
        };
        let thread =
            run(&format!("{op}(4) g10<1>DF g2<4,4,1>DF g4<4,4,1>DF {{ align1 1N }};"), 0xf, |t| {
                t.write_payload(2, &words(pairs.map(|p| p.0))[..8]);
                t.write_payload(4, &words(pairs.map(|p| p.1))[..8]);
            });
        assert_eq!(dwords(&thread, 10, 8), &words(want)[..8], "{op} of DF");
    }
}

#[test]
fn mathematical_functions() {
    let text = |f: &str| format!("math {f}(16) g10<1>F g2<8,8,1>F null<8,8,1>F {{ align1 1H }};");
    float_binary(&text("inv"), |a, _| 1.0 / a);
    float_binary(&text("sqrt"), |a, _| a.sqrt());
    float_binary(&text("rsq"), |a, _| 1.0 / a.sqrt());
    float_binary(&text("exp"), |a, _| a.exp2());
    float_binary(&text("log"), |a, _| a.log2());
    float_binary(&text("cos"), |a, _| f64::from(a).cos() as f32);
    float_binary(&text("sin"), |a, _| f64::from(a).sin() as f32);
    let pow = "math pow(16) g10<1>F g2<8,8,1>F g4<8,8,1>F { align1 1H };";
    float_binary(pow, |a, b| a.abs().powf(b));
    let fdiv = "math fdiv(16) g10<1>F g2<8,8,1>F g4<8,8,1>F { align1 1H };";
    float_binary(fdiv, |a, b| a / b);
    let integer = |f: &str, ty: &str| {
        let ab = format!("g2<8,8,1>{ty} g4<8,8,1>{ty}");
        let cd = format!("g3<8,8,1>{ty} g5<8,8,1>{ty}");
        format!(
            "math {f}(8) g10<1>{ty} {ab} {{ align1 1Q }};
             math {f}(8) g11<1>{ty} {cd} {{ align1 2Q }};"
        )
    };
    // Division by zero is not known.
    binary(&integer("intdiv", "UD"), |a, b| a.checked_div(b).unwrap_or(u32::MAX));
    binary(&integer("intmod", "UD"), |a, b| a.checked_rem(b).unwrap_or(a));
    binary(&integer("intdiv", "D"), |a, b| {
        let (a, b) = (a as i32, b as i32);
        let by_zero = if a < 0 { i32::MIN } else { i32::MAX };
        if b == 0 { by_zero as u32 } else { a.wrapping_div(b) as u32 }
    });
}

#[test]
fn conversions() {
    unary("mov(16) g10<1>F g2<8,8,1>D { align1 1H };", |a| (a as i32 as f32).to_bits());
    unary("mov(16) g10<1>F g2<8,8,1>UD { align1 1H };", |a| (a as f32).to_bits());
    unary("mov(16) g10<1>D g2<16,8,2>W { align1 1H };", |a| a as u16 as i16 as u32);
    unary("mov(16) g10<1>UD g2<32,8,4>UB { align1 1H };", |a| a & 0xff);
    unary("mov(16) g10<1>D g2.3<32,8,4>B { align1 1H };", |a| (a as i32 >> 24) as u32);
    float_binary("mov(16) g10<1>F g2<8,8,1>F { align1 1H };", |a, _| a);
    let thread = run(
        "mov(16) g10<1>D g2<8,8,1>F { align1 1H };
         mov(16) g12<1>UD g2<8,8,1>F { align1 1H };
         mov(16) g14<1>HF g2<8,8,1>F { align1 1H };
         mov(16) g16<1>F g14<16,16,1>HF { align1 1H };
         mov(8) g18<1>DF g2<8,8,1>F { align1 1Q };
         mul(8) g20<1>DF g18<4,4,1>DF g18<4,4,1>DF { align1 1Q };
         mov(8) g22<1>F g20<4,4,1>DF { align1 1Q };",
        0xffff,
        |t| t.write_payload(2, &FLOATS.map(f32::to_bits)),
    );
    for (i, a) in FLOATS.into_iter().enumerate() {
        // Toward zero, and the nearest integer there is.
        assert_eq!(dwords(&thread, 10, 16)[i], a as i32 as u32, "{a}");
        assert_eq!(dwords(&thread, 12, 16)[i], a as u32, "{a}");
        assert_eq!(floats(&thread, 16, 16)[i], f16::from_f32(a).to_f32(), "{a}");
        if i < 8 {
            let square = (f64::from(a) * f64::from(a)) as f32;
            assert_eq!(floats(&thread, 22, 8)[i], square, "{a}");
        }
    }
}

/// cr0 selects rounding and denormals.
#[test]
fn float_modes() {
    let set = |t: &mut Thread| t.write_payload(2, &[0.1f32.to_bits(), 1e-40f32.to_bits()]);
    let text = "or(1) cr0<1>UD cr0<0,1,0>UD 0x00000030UD { align1 1N switch };
         mov(2) g10<1>HF g2<2,2,1>F { align1 WE_all 1N };
         and(1) cr0<1>UD cr0<0,1,0>UD 0xffffffcfUD { align1 1N switch };
         mov(2) g11<1>HF g2<2,2,1>F { align1 WE_all 1N };
         add(2) g12<1>F g2<2,2,1>F 0x0F { align1 WE_all 1N };
         and(1) cr0<1>UD cr0<0,1,0>UD 0xffffff7fUD { align1 1N switch };
         add(2) g13<1>F g2<2,2,1>F 0x0F { align1 WE_all 1N };
         mov(2) g14<1>F g2<2,2,1>F { align1 WE_all 1N };";
    let thread = run(text, 3, set);
    let half = |register| f16::from_bits(dwords(&thread, register, 1)[0] as u16).to_f32();
    // Toward zero is below 0.1, nearest above or below.
    assert!(half(10) < 0.1 && (half(11) - 0.1).abs() <= (half(10) - 0.1).abs());
    assert_eq!(floats(&thread, 12, 2), [0.1, 1e-40]);
    assert_eq!(floats(&thread, 13, 2), [0.1, 0.0]);
    // A move without conversion keeps the bits.
    assert_eq!(floats(&thread, 14, 2), [0.1, 1e-40]);
}

/// Denormals of doubles are kept until bit 6 of cr0 is cleared.
#[test]
fn denormals_of_doubles() {
    let bits = 1e-310f64.to_bits();
    let set = |t: &mut Thread| t.write_payload(2, &[bits as u32, (bits >> 32) as u32, 0, 0]);
    let text = "add(1) g12<1>DF g2<0,1,0>DF g2.1<0,1,0>DF { align1 WE_all 1N };
         and(1) cr0<1>UD cr0<0,1,0>UD 0xffffffbfUD { align1 1N switch };
         add(1) g13<1>DF g2<0,1,0>DF g2.1<0,1,0>DF { align1 WE_all 1N };";
    let thread = run(text, 3, set);
    assert_eq!(dwords(&thread, 12, 2), [bits as u32, (bits >> 32) as u32]);
    assert_eq!(dwords(&thread, 13, 2), [0, 0]);
}

#[test]
fn packed_immediates() {
    let thread = run(
        "mov(8) g10<1>UW 0x76543210V { align1 WE_all 1Q };
         mov(8) g11<1>D 0xfedcba98V { align1 1Q };
         mov(8) g12<1>UD 0xfedcba98UV { align1 1Q };
         mov(4) g13<1>F [0, 48, 176, 64]VF { align1 1N };
         mov(16) g14<1>UW 0x76543210UV { align1 1H };",
        0xffff,
        |_| {},
    );
    assert_eq!(dwords(&thread, 10, 4), [0x0001_0000, 0x0003_0002, 0x0005_0004, 0x0007_0006]);
    assert_eq!(dwords(&thread, 11, 8), [-8i32, -7, -6, -5, -4, -3, -2, -1].map(|v| v as u32));
    assert_eq!(dwords(&thread, 12, 8), [8, 9, 10, 11, 12, 13, 14, 15]);
    assert_eq!(floats(&thread, 13, 4), [0.0, 1.0, -1.0, 2.0]);
    assert_eq!(dwords(&thread, 14, 8)[4..], [0x0001_0000, 0x0003_0002, 0x0005_0004, 0x0007_0006]);
}

#[test]
fn regions() {
    let values: [u32; 16] = std::array::from_fn(|i| 100 + i as u32);
    let set = |t: &mut Thread| t.write_payload(2, &values);
    let cases: [(&str, [usize; 8]); 7] = [
        ("g2<8,8,1>", [0, 1, 2, 3, 4, 5, 6, 7]),
        ("g2<0,1,0>", [0; 8]),
        ("g2.5<0,1,0>", [5; 8]),
        ("g2.1<8,4,2>", [1, 3, 5, 7, 9, 11, 13, 15]),
        ("g2<8,2,4>", [0, 4, 8, 12, 16, 20, 24, 28]),
        ("g2<1,4,0>", [0, 0, 0, 0, 1, 1, 1, 1]),
        ("g2<4,4,0>", [0, 0, 0, 0, 4, 4, 4, 4]),
    ];
    for (region, indices) in cases {
        let thread = run(&format!("mov(8) g10<1>UD {region}UD {{ align1 1Q }};"), 0xff, set);
        let value = |n: usize| values.get(n).copied().unwrap_or(0);
        assert_eq!(dwords(&thread, 10, 8), indices.map(value), "{region}");
    }
    // Destination strides leave the bytes between elements unchanged.
    let thread = run("mov(8) g10<2>UW 7UW { align1 1Q };", 0xff, |t| {
        t.write_payload(10, &[u32::MAX; 8]);
    });
    assert_eq!(dwords(&thread, 10, 8), [0xffff_0007; 8]);
}

#[test]
fn indirect_operands() {
    let values: [u32; 32] = std::array::from_fn(|i| 100 + i as u32);
    let offsets: [u16; 8] = [64, 100, 68, 124, 72, 96, 188, 64];
    let words: Vec<u32> =
        offsets.chunks(2).map(|o| u32::from(o[0]) | u32::from(o[1]) << 16).collect();
    let thread = run(
        "mov(8) a0<1>UW g1<8,8,1>UW { align1 WE_all 1Q };
         mov(8) g10<1>UD g[a0]<VxH,1,0>UD { align1 1Q };
         mov(8) g11<1>UD g[a0.1 32]<8,8,1>UD { align1 1Q };
         mov(1) g12<1>UD g[a0.2 1020]<0,1,0>UD { align1 1N };
         mov(1) a0<1>UW 416UW { align1 WE_all 1N };
         mov(8) g[a0 4]<1>UD 9UD { align1 1Q };",
        0xff,
        |t| {
            t.write_payload(1, &words);
            t.write_payload(2, &values);
        },
    );
    let at = |byte: usize| values[(byte - 64) / 4];
    assert_eq!(dwords(&thread, 10, 8), offsets.map(|o| at(usize::from(o))));
    assert_eq!(dwords(&thread, 11, 8), std::array::from_fn::<u32, 8, _>(|i| at(132 + 4 * i)));
    // 1020 is -4.
    assert_eq!(dwords(&thread, 12, 1), [at(64)]);
    assert_eq!(dwords(&thread, 13, 9), [0, 9, 9, 9, 9, 9, 9, 9, 9]);
    // Only channels that are enabled need addresses.
    let thread = run(
        "mov(8) a0<1>UW 4096UW { align1 WE_all 1Q };
         mov(1) a0.2<1>UW 64UW { align1 WE_all 1N };
         mov(8) g10<1>UD g[a0]<VxH,1,0>UD { align1 1Q };",
        1 << 2,
        |t| t.write_payload(2, &values),
    );
    assert_eq!(dwords(&thread, 10, 8), [0, 0, at(64), 0, 0, 0, 0, 0]);
    let outside = try_run(
        "mov(1) a0<1>UW 4096UW { align1 WE_all 1N };
         mov(1) g10<1>UD g[a0]<0,1,0>UD { align1 1N };",
        1,
        |_| {},
    );
    let fault = outside.map(|_| ()).unwrap_err().to_string();
    assert!(fault.starts_with("ip 0x10: indirect access to byte 0x1000"), "{fault}");
}

#[test]
fn planes() {
    let plane = [2.0f32, 3.0, 0.0, 5.0].map(f32::to_bits);
    let coordinates: [u32; 32] = std::array::from_fn(|i| (i as f32).to_bits());
    let thread = run(
        "pln(16) g10<1>F g2<0,1,0>F g4<8,8,1>F { align1 1H };
         line(8) g12<1>F g2<0,1,0>F g4<8,8,1>F { align1 1Q };",
        0xffff,
        |t| {
            t.write_payload(2, &plane);
            t.write_payload(4, &coordinates);
        },
    );
    for i in 0..16 {
        // u and v alternate every eight channels.
        let u = (i / 8 * 16 + i % 8) as f32;
        let v = u + 8.0;
        assert_eq!(floats(&thread, 10, 16)[i], 2.0 * u + 3.0 * v + 5.0);
    }
    assert_eq!(floats(&thread, 12, 2), [5.0, 7.0]);
}

#[test]
fn predicates() {
    let run_with = |predicate: &str, flags: u32| {
        let text = format!(
            "mov(1) f0<1>UD {flags:#x}UD {{ align1 WE_all 1N }};
             ({predicate}) mov(16) g10<1>UD 1UD {{ align1 1H }};"
        );
        let thread = run(&text, 0xffff, |t| t.write_payload(10, &[0; 16]));
        let found = dwords(&thread, 10, 16);
        found.iter().enumerate().fold(0, |mask, (i, v)| mask | v << i)
    };
    assert_eq!(run_with("+f0.0", 0x1234), 0x1234);
    assert_eq!(run_with("-f0.0", 0x1234), 0xedcb);
    assert_eq!(run_with("+f0.1", 0x5678_1234), 0x5678);
    assert_eq!(run_with("+f0.0.any4h", 0x1030), 0xf0f0);
    assert_eq!(run_with("+f0.0.all4h", 0xf3f0), 0xf0f0);
    assert_eq!(run_with("+f0.0.any2h", 0x0102), 0x0303);
    assert_eq!(run_with("+f0.0.any8h", 0x0100), 0xff00);
    assert_eq!(run_with("+f0.0.all8h", 0xff7f), 0xff00);
    assert_eq!(run_with("+f0.0.any16h", 0), 0);
    assert_eq!(run_with("+f0.0.any16h", 0x8000), 0xffff);
    assert_eq!(run_with("+f0.0.all16h", 0xffff), 0xffff);
    assert_eq!(run_with("-f0.0.all16h", 0xfffe), 0xffff);
    // Quarters read their part of the flags, and write it.
    let thread = run(
        "mov(1) f0<1>UD 0xff00UD { align1 WE_all 1N };
         (+f0.0) mov(8) g10<1>UD 1UD { align1 1Q };
         (+f0.0) mov(8) g11<1>UD 1UD { align1 2Q };
         cmp.z.f1.0(8) null<1>UD g12<8,8,1>UD 0UD { align1 2Q };
         cmp.z.f1.0(16) null<1>UD g12<8,8,1>UD 0UD { align1 2H };",
        u32::MAX,
        |t| t.write_payload(10, &[0; 32]),
    );
    assert_eq!(dwords(&thread, 10, 16), [[0; 8], [1; 8]].concat());
    assert_eq!(thread.flag(1), 0xffff_ff00);
}

#[test]
fn masks() {
    let thread = run(
        "mov(16) g10<1>UD 1UD { align1 1H };
         mov(16) g12<1>UD 1UD { align1 WE_all 1H };
         fbl(1) g14<1>UD mask0<0,1,0>UD { align1 WE_all 1N };
         mov(1) g15<1>UD sr0.2<0,1,0>UD { align1 WE_all 1N };
         mov(8) g16<1>UD 1UD { align1 2Q };
         mov(4) g17<1>UD 1UD { align1 2N };",
        0x0630,
        |t| t.write_payload(10, &[0; 64]),
    );
    let mask = |register, count| {
        dwords(&thread, register, count).iter().enumerate().fold(0, |mask, (i, v)| mask | v << i)
    };
    assert_eq!(mask(10, 16), 0x0630);
    assert_eq!(mask(12, 16), 0xffff);
    assert_eq!(dwords(&thread, 14, 1), [4]);
    assert_eq!(dwords(&thread, 15, 1), [0x0630]);
    assert_eq!(mask(16, 8), 0x06);
    assert_eq!(mask(17, 4), 0x3);
}

/// Gen12's own instructions, its encoding of three sources and its messages.
#[test]
fn gen12() {
    use tepui_intel_eu::{Dispatch, Program, Stop};
    use tepui_intel_isa::{Generation, asm};

    let text = "
        sync nop(1) null<0,1,0>UB { align1 WE_all 1N @1 };
        rol(8) g10<1>UD g2<8,8,1>UD g3<8,8,1>UD { align1 1Q @1 };
        ror(8) g11<1>UD g2<8,8,1>UD g3<8,8,1>UD { align1 1Q };
        dp4a(8) g12<1>D g2<8,8,1>D g3<8,8,1>D g4<1,1,1>UD { align1 1Q $1.dst };
        mad(8) g13<1>F g5<8,8,1>F g6<0,1,0>F g5<1,1,1>F { align1 1Q };
        send(8) nullUD g126UD nullUD 0x02000000 0x00000000
                thread_spawner MsgDesc: { align1 WE_all 1Q @1 EOT };";
    let code = asm::assemble(Generation::Gen12, text).unwrap();
    let program = Program::from_bytes(Generation::Gen12, 0, &code).unwrap();
    let mut thread = Thread::new();
    thread.start(&Dispatch { mask: 0xff, ..Dispatch::default() });
    let (a, b, c) = (rotated(0), rotated(3), rotated(7));
    for (register, values) in [(2, &a), (3, &b), (4, &c)] {
        thread.write_payload(register, &values[..8]);
    }
    thread.write_payload(5, &FLOATS[..8].iter().map(|f| f.to_bits()).collect::<Vec<_>>());
    thread.write_payload(6, &[2.0f32.to_bits()]);
    let stop = thread.run(&program, &mut common::EndOfThreadOnly, &mut 100);
    assert_eq!(stop, Ok(Stop::EndOfThread));
    for i in 0..8 {
        assert_eq!(dwords(&thread, 10, 8)[i], a[i].rotate_left(b[i] & 31));
        assert_eq!(dwords(&thread, 11, 8)[i], a[i].rotate_right(b[i] & 31));
        let products = b[i].to_le_bytes().into_iter().zip(c[i].to_le_bytes());
        let sum: i32 = products.map(|(b, c)| i32::from(b as i8) * i32::from(c)).sum();
        assert_eq!(dwords(&thread, 12, 8)[i], a[i].wrapping_add(sum as u32));
        assert_eq!(floats(&thread, 13, 8)[i], FLOATS[i] + 2.0 * FLOATS[i]);
    }
}
