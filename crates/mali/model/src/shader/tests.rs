//! Results of instructions, worked out independently of the model: by NIR's definitions of the operations
//! that Mesa's compiler emits them for, or by ISA.xml's prose.

use super::testing::{Bench, MEMORY, one};
use crate::warp::trap::Trap;

const PI: u32 = 0x4049_0fdb;

fn f(value: f32) -> u32 {
    value.to_bits()
}

/// Checks the result in r0 of instructions on r1, r2 and so on.
fn check(cases: &[(&str, &[u32], u32)]) {
    for (text, values, expected) in cases {
        let found = one(text, values);
        assert_eq!(found, *expected, "{text} of {values:x?}: {found:#x}, not {expected:#x}");
    }
}

#[test]
fn floats() {
    check(&[
        ("FADD.f32 r0, r1, r2", &[f(1.5), f(2.25)], f(3.75)),
        ("FADD.f32 r0, r1, r2.neg.abs", &[f(1.5), f(-2.25)], f(-0.75)),
        ("FADD.f32.clamp_0_1 r0, r1, r2", &[f(1.5), f(2.25)], f(1.0)),
        ("FADD.f32.clamp_m1_1 r0, r1, r2", &[f(-1.5), f(-2.25)], f(-1.0)),
        ("FADD.f32 r0, r1, r2.h1", &[f(1.0), 0x4000_3c00], f(3.0)),
        ("FADD.f32 r0, r1, r2.neg.h0", &[f(1.0), 0x4000_3c00], f(0.0)),
        ("FADD.f32 r0, r1, 0x40490FDB", &[0], PI),
        ("FADD.v2f16 r0, r1, r2", &[0x4000_3c00, 0x4000_4000], 0x4400_4200),
        ("FADD.v2f16 r0, r1.h10, r2.neg.h00", &[0x4000_3c00, 0x1234_3c00], 0x0000_3c00),
        ("FADD_IMM.f32 r0, r1, #0x3F800000", &[f(2.0)], f(3.0)),
        ("FADD_IMM.v2f16 r0, r1, #0x40003C00", &[0x3c00_3c00], 0x4200_4000),
        ("FMA.f32 r0, r1, r2, r3.neg", &[f(3.0), f(4.0), f(5.0)], f(7.0)),
        ("FMA.v2f16 r0, r1, r2, r3", &[0x4200_4000, 0x4000_4400, 0x3c00_3c00], 0x4700_4880),
        ("FMIN.f32 r0, r1, r2", &[f(f32::NAN), f(4.0)], f(4.0)),
        ("FMAX.f32 r0, r1, r2", &[f(-3.0), f(-4.0)], f(-3.0)),
        ("FMAX.v2f16 r0, r1, r2", &[0xbc00_4200, 0x3c00_4000], 0x3c00_4200),
        ("FLUSH.f32.none.ftz r0, r1", &[0x0000_1234], 0),
        ("FROUND.f32 r0, r1", &[f(2.5)], f(2.0)),
        ("FROUND.f32.rtp r0, r1", &[f(2.25)], f(3.0)),
        ("FROUND.f32.rtn r0, r1.neg", &[f(2.25)], f(-3.0)),
        ("FROUND.f32.rtz r0, r1", &[f(-2.75)], f(-2.0)),
        ("FROUND.v2f16.rtn r0, r1", &[0xbe00_3e00], 0xc000_3c00),
    ]);
}

#[test]
fn special_functions() {
    check(&[
        ("FRCP.f32 r0, r1", &[f(4.0)], f(0.25)),
        ("FRCP.f32 r0, r1", &[f(0.0)], f(f32::INFINITY)),
        ("FRSQ.f32 r0, r1", &[f(16.0)], f(0.25)),
        ("FRCP.f16 r0, r1.h00", &[0x0000_4400], 0x3400_3400),
        ("FREXPM.f32 r0, r1", &[f(12.0)], f(0.75)),
        ("FREXPE.f32 r0, r1", &[f(12.0)], 4),
        ("FREXPE.f32.log r0, r1", &[f(1.0)], 0),
        ("LDEXP.f32 r0, r1, r2", &[f(1.5), 3], f(12.0)),
        ("LDEXP.f32 r0, r1, r2", &[f(1.5), (-1i32) as u32], f(0.75)),
        ("FMA_RSCALE.f32 r0, r1, r2, r3, r4", &[f(2.0), f(3.0), f(1.0), 24], f(7.0 * 16_777_216.0)),
        ("FMA_RSCALE_N.f32 r0, r1, r2, r3, r4", &[f(0.0), f(f32::INFINITY), f(1.0), 1], f(2.0)),
        (
            "FMA_RSCALE_LEFT.f32 r0, r1, r2, r3, r4",
            &[f(f32::INFINITY), f(0.0), f(1.0), 0],
            f(f32::INFINITY),
        ),
        ("FSIN_TABLE.u6 r0, r1", &[16], f(1.0)),
        ("FCOS_TABLE.u6 r0, r1", &[64], f(1.0)),
        ("FEXP.f32 r0, r1, r2", &[3 << 24, f(3.0 * 16_777_216.0)], f(8.0)),
    ]);
}

/// Mesa's sequence for cube maps (`bi_emit_cube_coord`): face, s and t of (-2, 1, 0.5).
#[test]
fn cube_coordinates() {
    let values = [f(-2.0), f(1.0), f(0.5)];
    check(&[
        ("CUBEFACE1 r0, r1, r2, r3", &values, f(2.0)),
        ("CUBEFACE2_V9 r0, r1, r2, r3", &values, 1 << 29),
        ("CUBE_SSEL r0, r3, r1, r4", &[f(-2.0), f(1.0), f(0.5), 1 << 29], f(0.5)),
        ("CUBE_TSEL r0, r2, r3, r4", &[f(-2.0), f(1.0), f(0.5), 1 << 29], f(-1.0)),
    ]);
}

#[test]
fn integers() {
    check(&[
        ("IADD.u32 r0, r1, r2", &[u32::MAX, 3], 2),
        ("IADD.u32.saturate r0, r1, r2", &[u32::MAX, 3], u32::MAX),
        ("IADD.s32.saturate r0, r1, r2", &[0x7fff_ffff, 3], 0x7fff_ffff),
        ("IADD.u32 r0, r1.b3, r2.h1", &[0xff00_0000, 0x0002_0000], 0x101),
        ("IADD.s32 r0, r1.b3, r2.h1", &[0xff00_0000, 0xfffe_0000], (-3i32) as u32),
        ("IADD.v2u16 r0, r1, r2", &[0xffff_0001, 0x0001_0002], 3),
        ("IADD.v2s16.saturate r0, r1, r2", &[0x7fff_8000, 0x0001_ffff], 0x7fff_8000),
        ("IADD.v2u16 r0, r1.h10, 0x0", &[0x1234_5678], 0x5678_1234),
        ("IADD.v2u16 r0, r1.b20, 0x0", &[0x12345678], 0x0078_0034),
        ("IADD.v4u8 r0, r1.b3210, 0x0", &[0x1234_5678], 0x7856_3412),
        ("IADD.v4s8.saturate r0, r1, r2", &[0x7f80_0102, 0x01ff_ff01], 0x7f80_0003),
        ("ISUB.u32.saturate r0, r1, r2", &[3, 5], 0),
        ("ISUB.s32 r0, 0x0, r1.h1", &[0xffff_0000], 1),
        ("HADD.u32 r0, r1, r2", &[u32::MAX, u32::MAX - 1], u32::MAX - 1),
        ("HADD.s32.rhadd r0, r1, r2", &[(-3i32) as u32, 0], (-1i32) as u32),
        ("HADD.v4s8.rhadd r0, r1, r2", &[0x7f80_0203, 0x7f80_0101], 0x7f80_0202),
        ("IMUL.i32 r0, r1, r2", &[0x1_0001, 0x1_0001], 0x2_0001),
        ("IMUL.s32.saturate r0, r1, r2", &[0x4000_0000, 4], 0x7fff_ffff),
        ("IMUL.v4i8 r0, r1, r2", &[0x0203_0405, 0x1010_1010], 0x2030_4050),
        ("IDP.v4s8 r0, r1, r2, r3", &[0x01ff_0302, 0x0202_0203, 100], 100 + 2 - 2 + 6 + 6),
        ("IDP.v4u8 r0, r1, r2, r3", &[0x01ff_0302, 0x0202_0203, 100], 100 + 2 + 510 + 6 + 6),
        ("IADD_IMM.i32 r0, r1, #0xFFFFFFFF", &[5], 4),
        ("IADD_IMM.v2i16 r0, r1, #0x1FFFF", &[0x0005_0005], 0x0006_0004),
        ("IADD_IMM.v4i8 r0, r1, #0x10203FF", &[0x0101_0101], 0x0203_0400),
        ("IABS.s32 r0, r1", &[(-7i32) as u32], 7),
        ("IABS.v2s16 r0, r1", &[0xffff_0002], 0x0001_0002),
        ("CLZ.u32 r0, r1", &[1], 31),
        ("CLZ.v2u16 r0, r1", &[0x0001_ffff], 15 << 16),
        ("CLZ.v4u8 r0, r1", &[0x0102_80ff], 0x0706_0000),
        ("POPCOUNT.i32 r0, r1", &[0xf0f0_0001], 9),
        ("BITREV.i32 r0, r1", &[1], 0x8000_0000),
        ("MKVEC.v2i16 r0, r1.h00, r2.h10", &[0x1111_2222, 0x3333_4444], 0x3333_2222),
        ("MKVEC.v2i8 r0, r1.b3, r2.b0, r3", &[0xaa00_0000, 0xbb, 0xffff_ccdd], 0xccdd_bbaa),
    ]);
}

#[test]
fn integers_of_64_bits() {
    let pair = |text: &str, values: &[u32]| {
        let mut bench = Bench::new();
        for (i, value) in values.iter().enumerate() {
            bench.set(i + 2, |_| *value);
        }
        let low = bench.run(text, 0)[0];
        u64::from(low) | u64::from(bench.warp.registers[1].0[0]) << 32
    };
    assert_eq!(pair("IADD.u64 r0, r2, r4", &[u32::MAX, 1, 1, 2]), 4 << 32);
    assert_eq!(pair("ISUB.u64 r0, r2, r4", &[0, 5, 1, 0]), (5 << 32) - 1);
    assert_eq!(pair("IMULD.u64 r0, r2, r4", &[u32::MAX, 0, u32::MAX, 0]), 0xffff_fffe_0000_0001);
    assert_eq!(pair("SHADDX.u64 r0, r2, r4.w0, shift:0x2", &[8, 1, 0x8000_0000, 7]), (3 << 32) + 8);
    assert_eq!(pair("SHADDX.s64 r0, r2, r4, shift:0x1", &[0, 4, 0, 1]), 6 << 32);
    assert_eq!(pair("SHADDX.s64 r0, r2, r4.h1, shift:0x1", &[0, 4, 0xffff_0000, 1]), (4 << 32) - 2);
    assert_eq!(pair("SEG_ADD.u64.neg r0, r2, r4", &[8, 1, 16, 0]), (1 << 32) - 8);
    assert_eq!(pair("LSHIFT_OR.i64 r0, r2, r6.b00, r4", &[1, 0, 0, 1, 36]), 17 << 32);
    assert_eq!(
        pair("RSHIFT_OR.i64.signed r0, r2, r6.b00, r4", &[0, 0x8000_0000, 0, 0, 60]),
        u64::MAX - 7
    );
}

#[test]
fn shifts_and_logic() {
    check(&[
        ("LSHIFT_OR.i32 r0, r1, r2.b00, r3", &[3, 4, 1], 49),
        // The amount is taken modulo the width, as in NIR.
        ("LSHIFT_OR.i32 r0, r1, r2.b00, 0x0", &[3, 33], 6),
        ("LSHIFT_AND.i32 r0, r1, 0x0.b00, r2.not", &[0xff, 0x0f], 0xf0),
        ("LSHIFT_XOR.i32.not_result r0, r1, 0x0.b00, r2", &[0xff, 0x0f], !0xf0),
        ("RSHIFT_OR.i32 r0, r1, r2.b11, 0x0", &[0x8000_0000, 0x0400], 0x0800_0000),
        ("RSHIFT_OR.i32.signed r0, r1, r2.b11, 0x0", &[0x8000_0000, 0x0400], 0xf800_0000),
        ("RSHIFT_AND.v2i16.signed r0, r1, r2.b00, r3", &[0x8000_0100, 4, u32::MAX], 0xf800_0010),
        ("LSHIFT_AND.v4i8 r0, r1, r2.b00, r3", &[0x8101_7f03, 1, u32::MAX], 0x0202_fe06),
        ("MOV.i32 r0, 0x7FFFFFFF", &[], 0x7fff_ffff),
    ]);
}

#[test]
fn conversions() {
    check(&[
        ("S8_TO_S32 r0, r1.b3", &[0x8000_0000], 0xffff_ff80),
        ("U8_TO_U32 r0, r1.b1", &[0x0000_8000], 0x80),
        ("S16_TO_S32 r0, r1.h10", &[0x8000_0000], 0xffff_8000),
        ("U16_TO_F32 r0, r1.h10", &[0x8000_0000], f(32768.0)),
        ("S16_TO_F32 r0, r1", &[0x8000_ffff], f(-1.0)),
        ("S8_TO_F32 r0, r1.b0", &[0xff], f(-1.0)),
        ("U8_TO_F32 r0, r1.b0", &[0xff], f(255.0)),
        ("V2S8_TO_V2S16 r0, r1.b02", &[0x0080_00ff], 0xff80_ffff),
        ("V2U8_TO_V2F16 r0, r1.b02", &[0x0080_00ff], 0x5800_5bf8),
        ("V2S16_TO_V2F16 r0, r1.h10", &[0xffff_0002], 0x4000_bc00),
        ("S32_TO_F32 r0, r1", &[(-5i32) as u32], f(-5.0)),
        ("U32_TO_F32 r0, r1", &[u32::MAX], f(4_294_967_296.0)),
        ("F32_TO_S32.rtz r0, r1", &[f(-2.75)], (-2i32) as u32),
        ("F32_TO_S32 r0, r1", &[f(3e9)], 0x7fff_ffff),
        ("F32_TO_U32.rtz r0, r1", &[f(3e9)], 3_000_000_000),
        ("F32_TO_U32.rtz r0, r1", &[f(-1.0)], 0),
        ("F16_TO_S32.rtz r0, r1.h10", &[0xc100_0000], (-2i32) as u32),
        ("V2F16_TO_V2S16.rtz r0, r1", &[0xc100_4100], 0xfffe_0002),
        ("F16_TO_F32 r0, r1.neg.h1", &[0x4200_0000], f(-3.0)),
        ("V2F32_TO_V2F16 r0, r1, r2.neg", &[f(1.0), f(3.0)], 0xc200_3c00),
        ("V2F32_TO_V2F16.rtz r0, r1, r2", &[f(70000.0), f(1.0009)], 0x3c00_7bff),
    ]);
}

#[test]
fn selects_and_comparisons() {
    check(&[
        ("CSEL.u32.lt r0, r1, r2, r3, r4", &[1, u32::MAX, 10, 20], 10),
        ("CSEL.s32.lt r0, r1, r2, r3, r4", &[1, u32::MAX, 10, 20], 20),
        ("CSEL.f32.ge r0, r1, r2, r3, r4", &[f(-0.0), f(0.0), 10, 20], 10),
        ("CSEL.f32.ne r0, r1, r2, r3, r4", &[f(f32::NAN), f(0.0), 10, 20], 10),
        ("CSEL.f32.gtlt r0, r1, r2, r3, r4", &[f(f32::NAN), f(0.0), 10, 20], 20),
        ("CSEL.f32.total r0, r1, r2, r3, r4", &[f(1.0), f(0.0), 10, 20], 10),
        (
            "CSEL.v2s16.gt r0, r1, r2, r3, r4",
            &[0x0001_ffff, 0x0000_0000, 0x1111_2222, 0x3333_4444],
            0x1111_4444,
        ),
        ("ICMP_OR.u32.eq.m1 r0, r1, r2, 0x0", &[5, 5], u32::MAX),
        ("ICMP_OR.u32.eq.i1 r0, r1, r2, r3", &[5, 6, 1], 1),
        ("ICMP_AND.u32.ne.i1 r0, r1, r2, r3", &[5, 6, 0], 0),
        ("ICMP_OR.s32.lt.f1 r0, r1, r2, 0x0", &[u32::MAX, 0], f(1.0)),
        ("ICMP_OR.v2u16.gt.m1 r0, r1, r2, 0x0", &[0x0002_0001, 0x0001_0001], 0xffff_0000),
        ("ICMP_OR.v4s8.gt.m1 r0, r1, r2, 0x0", &[0xff01_7f00, 0x0000_0000], 0x00ff_ff00),
        ("FCMP_OR.f32.lt.m1 r0, r1, r2, 0x0", &[f(f32::NAN), f(1.0)], 0),
        ("FCMP_OR.f32.ne.m1 r0, r1, r2, 0x0", &[f(f32::NAN), f(1.0)], u32::MAX),
        (
            "FCMP_AND.v2f16.gt.m1 r0, r1, r2, r3",
            &[0x4000_4000, 0x3c00_3c00, 0xffff_0000],
            0xffff_0000,
        ),
        ("MUX.i32 r0, r1, r2, r3", &[10, 20, 0], 10),
        ("MUX.i32 r0, r1, r2, r3", &[10, 20, u32::MAX], 20),
        ("MUX.i32.neg r0, r1, r2, r3", &[10, 20, 0x8000_0000], 10),
        ("MUX.i32.fp_zero r0, r1, r2, r3", &[10, 20, 0x8000_0000], 10),
        ("MUX.i32.bit r0, r1, r2, r3", &[0x1234_5678, 0x9abc_def0, 0xffff_0000], 0x1234_def0),
        ("MUX.v2i16 r0, r1, r2, r3", &[0x1111_1111, 0x2222_2222, 0xffff_0000], 0x2222_1111),
        ("MUX.v4i8.neg r0, r1, r2, r3", &[0x1111_1111, 0x2222_2222, 0x8000_0080], 0x1122_2211),
    ]);
}

/// Mesa's instruction pairs for 64-bit integers: the lower halves unsigned, then the upper ones.
#[test]
fn comparisons_of_64_bits() {
    let values = [0u64, 1, u32::MAX.into(), 1 << 32, (1 << 32) + 1, 1 << 63, u64::MAX, 5 << 32];
    for a in values {
        for b in values {
            for (name, unsigned, signed) in [
                ("eq", a == b, a == b),
                ("ne", a != b, a != b),
                ("lt", a < b, (a as i64) < b as i64),
                ("le", a <= b, a as i64 <= b as i64),
                ("gt", a > b, a as i64 > b as i64),
                ("ge", a >= b, a as i64 >= b as i64),
            ] {
                for (sign, expected) in [("u32", unsigned), ("s32", signed)] {
                    let text = format!(
                        "ICMP_MULTI.u32.{name}.u1 r5, r1, r3, 0x0\n\
                         ICMP_MULTI.{sign}.{name}.m1 r0, r2, r4, r5"
                    );
                    let found =
                        one(&text, &[a as u32, (a >> 32) as u32, b as u32, (b >> 32) as u32]);
                    assert_eq!(found != 0, expected, "{a:#x} {name} {b:#x} {sign}");
                }
            }
        }
    }
}

#[test]
fn lanes_read_each_other() {
    let lanes = |lane: u32| 100 + lane;
    let mut bench = Bench::new();
    let all = bench.set(1, lanes).set(2, |lane| lane ^ 5).run("CLPER.i32 r0, r1, r2.b00", 0);
    assert_eq!(all, std::array::from_fn(|lane| 100 + (lane as u32 ^ 5)));
    let quads = bench.run("CLPER.i32.subgroup4.xor r0, r1, 0x3020100.b11", 0);
    assert_eq!(quads, std::array::from_fn(|lane| 100 + (lane as u32 ^ 1)));
    let shifted = bench.run("CLPER.i32.subgroup8.shift r0, r1, 0x3020100.b22", 0);
    assert_eq!(shifted[..8], [102, 103, 104, 105, 106, 107, 100, 101]);
    let votes = bench.set(1, |lane| lane % 3).run("WMASK r0, r1", 0);
    assert_eq!(votes, [0b0110_1101_1011_0110; 16]);
    let votes = bench.run("WMASK.subgroup4 r0, r1", 0);
    assert_eq!((votes[0], votes[4], votes[15]), (0b0110, 0b1011, 0b0110));
    // Inactive lanes provide the value that the instruction names, and have no vote.
    bench.mask = 0x00ff;
    let inactive =
        bench.set(1, lanes).set(2, |lane| lane + 4).run("CLPER.i32.f1 r0, r1, r2.b00", 0);
    assert_eq!(
        inactive[..8],
        [104, 105, 106, 107, 0x3f80_0000, 0x3f80_0000, 0x3f80_0000, 0x3f80_0000]
    );
    assert_eq!(bench.run("WMASK r0, 0x3F800000", 0)[0], 0xff);
    let ids = Bench::new().run("MOV.i32 r0, lane_id.w0", 0);
    assert_eq!(ids, std::array::from_fn(|lane| lane as u32));
}

#[test]
fn lanes_diverge_and_meet() {
    let source = "
        IADD_IMM.i32 r1, 0x0, #0x0
        MOV.i32 r2, lane_id.w0
        loop:
        ICMP_OR.u32.eq.m1 r3, r2, 0x0, 0x0
        BRANCHZ.reconverge r3, offset:done
        IADD.u32 r1, r1, r2
        IADD_IMM.i32 r2, r2, #0xFFFFFFFF
        BRANCHZ.eq.reconverge 0x0, offset:loop
        done:
        WMASK r0, 0x3F800000";
    let mut bench = Bench::new();
    assert_eq!(bench.run(source, 0), [0xffff; 16]);
    let sums = bench.warp.registers[1].0;
    assert_eq!(sums, std::array::from_fn(|lane| (lane * (lane + 1) / 2) as u32));
    // Conditions are halves if the source selects them.
    let halves = "
        MOV.i32 r0, 0x0
        BRANCHZ.eq.reconverge r1.h1, offset:end
        MOV.i32 r0, 0x3F800000
        end: NOP";
    let found =
        Bench::new().set(1, |lane| if lane % 2 == 0 { 0xffff } else { 1 << 16 }).run(halves, 0);
    assert_eq!((found[0], found[1]), (0, 0x3f80_0000));
}

#[test]
fn halves_of_registers_are_written() {
    let mut bench = Bench::new();
    bench.set(0, |_| 0xaaaa_bbbb).set(1, |_| 0x1111_2222);
    assert_eq!(bench.run("IADD.v2u16 r0.h1, r1.h00, 0x0", 0), [0x2222_bbbb; 16]);
    assert_eq!(bench.run("IADD.v2u16 r0.h0, r1.h11, 0x0", 0), [0x2222_1111; 16]);
    // 32-bit results are narrowed.
    bench.set(2, |_| f(3.0));
    assert_eq!(bench.run("FADD.f32 r0.h1, r2, 0x0.neg", 0), [0x4200_1111; 16]);
    assert_eq!(bench.run("U32_TO_F32 r0.h0, 0x3020100.b2", 0), [0x4200_4000; 16]);
    assert_eq!(bench.run("IADD.u32 r0.h1, r1, 0x3020100.b1", 0), [0x2223_4000; 16]);
}

#[test]
fn loads_extend_and_stores_cut() {
    let mut bench = Bench::new();
    bench.set(2, |lane| MEMORY as u32 + 16 * lane).set(3, |_| (MEMORY >> 32) as u32);
    bench.set(4, |lane| 0x8182_8384 + lane).set(5, |lane| lane);
    let store = "STORE.i64.slot0 @r4:r5, r2, offset:0";
    let load = |text: &str, register| {
        let mut bench = Bench::new();
        bench.set(2, |lane| MEMORY as u32 + 16 * lane).set(3, |_| (MEMORY >> 32) as u32);
        bench
            .set(4, |lane| 0x8182_8384 + lane)
            .set(5, |lane| lane)
            .set(0, |_| u32::MAX)
            .set(1, |_| u32::MAX);
        bench.run(&format!("{store}\nNOP.wait0\n{text}\nNOP.wait0"), register)[1]
    };
    assert_eq!(load("LOAD.i32.unsigned.slot0 @r0, r2, offset:0", 0), 0x8182_8385);
    assert_eq!(load("LOAD.i32.unsigned.slot0 @r0, r2, offset:4", 0), 1);
    assert_eq!(load("LOAD.i64.unsigned.slot0 @r0:r1, r2, offset:0", 1), 1);
    assert_eq!(load("LOAD.i32.d0.slot0 @r0:r1, r2, offset:0", 1), u32::MAX);
    assert_eq!(load("LOAD.i32.d0.unsigned.slot0 @r0:r1, r2, offset:0", 1), 0);
    assert_eq!(load("LOAD.i16.w0.slot0 @r0, r2, offset:0", 0), 0xffff_8385);
    assert_eq!(load("LOAD.i16.w0.unsigned.slot0 @r0, r2, offset:0", 0), 0x8385);
    assert_eq!(load("LOAD.i16.h1.unsigned.slot0 @r0, r2, offset:2", 0), 0x8182_ffff);
    assert_eq!(load("LOAD.i8.w0.slot0 @r0, r2, offset:3", 0), 0xffff_ff81);
    assert_eq!(load("LOAD.i8.b2.unsigned.slot0 @r0, r2, offset:1", 0), 0xff83_ffff);
    assert_eq!(load("LOAD.i8.h0.slot0 @r0, r2, offset:1", 0), 0xffff_ff83);
    assert_eq!(
        load(
            "STORE.i8.slot0 @r5, r2, offset:2\nNOP.wait0\nLOAD.i32.unsigned.slot0 @r0, r2, offset:0",
            0
        ),
        0x8101_8385
    );
    assert_eq!(load("LOAD.i128.unsigned.slot0 @r6:r7:r8:r9, r2, offset:0", 7), 1);
}

#[test]
fn atomics_change_memory_once_for_each_lane() {
    let run = |text: &str, initial: u32, operand: fn(u32) -> u32| {
        let mut bench = Bench::new();
        bench.set(2, |_| MEMORY as u32).set(3, |_| (MEMORY >> 32) as u32).set(4, operand);
        bench.set(5, |_| initial);
        let old = bench.run(&format!("{text}\nNOP.wait0"), 6);
        let found = u32::from_le_bytes(bench.vm.read_array(MEMORY + 4).unwrap());
        (old, found)
    };
    let store = "STORE.i32.slot0 @r5, r2, offset:4\nNOP.wait0\n";
    let with = |op: &str, initial, operand| {
        run(
            &format!("{store}ATOM_RETURN.i32.slot0.{op} @r6, @r4, r2, offset:0x4"),
            initial,
            operand,
        )
    };
    let (old, found) = with("aadd", 10, |lane| lane);
    assert_eq!((old[3], found), (10 + 1 + 2, 10 + 120));
    assert_eq!(with("asmin", 3, |lane| lane.wrapping_sub(8)).1, (-8i32) as u32);
    assert_eq!(with("aumin", 3, |lane| lane.wrapping_sub(8)).1, 0);
    assert_eq!(with("asmax", 3, |lane| lane.wrapping_sub(8)).1, 7);
    assert_eq!(with("aumax", 3, |lane| lane.wrapping_sub(8)).1, u32::MAX);
    assert_eq!(with("aand", 0xff, |lane| !(1 << lane)).1, 0);
    assert_eq!(with("aor", 0, |lane| 1 << lane).1, 0xffff);
    assert_eq!(with("axor", 0, |_| 1).1, 0);
    assert_eq!(with("axchg", 7, |lane| lane).0[..3], [7, 0, 1]);
    // The new value, then the compared one: only the lane that finds 7 stores.
    let text = format!("{store}ATOM_RETURN.i32.slot0.compare.axchg @r6, @r4:r5, r2, offset:0x4");
    assert_eq!(
        run(&text, 7, |lane| 20 + lane),
        (
            {
                let mut old = [20; 16];
                old[0] = 7;
                old
            },
            20
        )
    );
    let one = |op: &str| {
        run(&format!("{store}ATOM1_RETURN.i32.slot0.{op} @r6, r2, offset:0x4"), 5, |_| 0)
    };
    assert_eq!((one("ainc").0[15], one("ainc").1), (20, 21));
    assert_eq!(one("adec").1, 5u32.wrapping_sub(16));
    assert_eq!(one("aor1").1, 5);
    let silent = run(&format!("{store}ATOM1_RETURN.i32.slot0.ainc @, r2, offset:0x4"), 5, |_| 0);
    assert_eq!((silent.0[0], silent.1), (0, 21));
    let unaligned = run_to_trap("ATOM1_RETURN.i32.slot0.ainc @, r2, offset:0x1");
    assert!(matches!(unaligned, Trap::Memory(_)), "{unaligned:?}");
}

fn run_to_trap(text: &str) -> Trap {
    let mut bench = Bench::new();
    bench.set(2, |_| MEMORY as u32).set(3, |_| (MEMORY >> 32) as u32);
    bench.try_run(text).unwrap_err()
}

#[test]
fn uniforms_and_constants_are_rows() {
    let mut bench = Bench::new();
    bench.uniforms[5] = 55;
    bench.uniforms[70] = 70;
    assert_eq!(bench.run("MOV.i32 r0, u5", 0), [55; 16]);
    assert_eq!(bench.run("MOV.i32 r0, u70", 0), [70; 16]);
    assert_eq!(bench.run("IADD.u32 r0, r1, 0x7060504.b2", 0), [6; 16]);
    // The program begins at 0x4000; the pointer is that of the next instruction.
    assert_eq!(bench.run("NOP\nMOV.i32 r0, program_counter.w0", 0), [0x4010; 16]);
}
