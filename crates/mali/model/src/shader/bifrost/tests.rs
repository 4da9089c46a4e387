//! Clauses whose results were worked out by hand.

use super::temporary;
use crate::shader::step::Stop;
use crate::shader::testing::{Bench, MEMORY};

/// The lanes of a register after a program.
fn run(bench: &mut Bench, source: &str, register: usize) -> [u32; 16] {
    assert_eq!(bench.try_bifrost(source), Ok(Stop::End), "{source}");
    bench.warp.registers[register].0
}

/// Results pass from unit to unit: `t` in a tuple, `t0` and `t1` to the next one, and registers through its ports.
#[test]
fn results_are_passed_on() {
    let mut bench = Bench::new();
    bench.set(1, |lane| (lane as f32).to_bits());
    let source = "ds(0) eos
        {
            *FADD.f32 r2:t0, r1, 0x3f800000
            +FADD.f32 r3:t1, t, 0x3f800000
            *FADD.f32 r4:t0, t0, t1
            +MOV.i32 r5:t1, t1
            *NOP t0
            +NOP t1
        }";
    for (register, add, times) in [(2, 1.0, 1.0), (3, 2.0, 1.0), (4, 3.0, 2.0), (5, 2.0, 1.0)] {
        let lanes = run(&mut bench, source, register);
        for (lane, value) in lanes.into_iter().enumerate() {
            let expected = lane as f32 * times + add;
            assert_eq!(f32::from_bits(value), expected, "r{register} of lane {lane}");
        }
    }
}

/// The ADD unit reads the value that a register had before the FMA unit's result is written.
#[test]
fn ports_read_before_results_are_written() {
    let mut bench = Bench::new();
    bench.set(0, |lane| lane).set(1, |_| 100);
    let source = "ds(0) eos
        {
            *LSHIFT_OR.i32 r0:t0, r1, #0, #0
            +IADD.s32 r2:t1, r0, r1
            *NOP t0
            +NOP t1
        }";
    assert_eq!(run(&mut bench, source, 2)[5], 105);
    assert_eq!(run(&mut bench, source, 0)[5], 100);
}

/// Lanes leave a loop one by one, and halves of registers are written separately.
#[test]
fn branches_and_halves() {
    let mut bench = Bench::new();
    bench.set(0, |lane| lane % 4 + 1).set(1, |_| 0).set(2, |_| 0xffff_ffff);
    let source = "again:
        ds(0) nbb r_uncond
        {
            *NOP t0
            +IADD.s32 r1:t1, r1, 0x00000002
            *NOP t0
            +ISUB.s32 r0:t1, r0, 0x00000001
        }
        ds(0) nbb r_uncond
        {
            *NOP t0
            +BRANCHZ.i32.ne t1, r0, again
        }
        ds(0) eos
        {
            *LSHIFT_OR.i32 r2:t0.h1, r1, #0, #0
            +NOP t1
        }";
    let lanes = run(&mut bench, source, 2);
    for (lane, value) in lanes.into_iter().enumerate() {
        // The lower half of the result is written to the upper half of the register only together with the
        // result's upper half.
        assert_eq!(value & 0xffff, 0xffff, "lane {lane}");
    }
    let lanes = run(bench.set(0, |lane| lane % 4 + 1).set(1, |_| 0), source, 1);
    for (lane, value) in lanes.into_iter().enumerate() {
        assert_eq!(value, 2 * (lane as u32 % 4 + 1), "lane {lane}");
    }
}

/// A lane's number is its index in a warp of eight; loads and stores use two ports.
#[test]
fn memory_and_lanes() {
    let mut bench = Bench::new();
    bench.set(4, |lane| MEMORY as u32 + 4 * lane).set(5, |_| 0);
    let source = "ds(0) nbb store
        {
            *LSHIFT_OR.i32 r0:t0, lane_id.x, #0, #0
            +NOP t1
            *NOP t0
            +STORE.i32 t1, r4, r5, @r0
        }
        ds(0) nbb load
        {
            *NOP t0
            +LOAD.i32 t1, r4, r5, @r6
        }
        ds(0) eos
        {
            *NOP t0
            +NOP t1
        }";
    let lanes = run(&mut bench, source, 6);
    assert_eq!(lanes, std::array::from_fn(|lane| lane as u32 % 8));
}

/// Unknown instructions are typed errors.
#[test]
fn unknown_instructions_are_typed_errors() {
    let mut bench = Bench::new();
    let source = "ds(0) eos
        {
            *IMULD t0, r0, r0
            +NOP t1
        }";
    assert!(bench.try_bifrost(source).is_err());
}

/// The FMA unit adds with a carry, which Mesa never emits.
#[test]
fn the_fma_unit_adds() {
    let mut bench = Bench::new();
    bench.set(0, |lane| lane);
    let source = "ds(0) eos
        {
            *IADDC.i32 r1:t0, r0, 0xfffffffe, #0
            +NOP t1
            *NOP t0
            +NOP t1
        }";
    assert_eq!(run(&mut bench, source, 1)[5], 3);
}

/// A texture's descriptor may come from the previous tuple, and the layer of an array is converted rather
/// than copied: a translated copy would leave an integer.
#[test]
fn descriptors_are_passed_on_and_layers_are_floats() {
    let source = "ds(0) eos
        {
            *NOP t0
            +MOV.i32 t1, 0xf04a7800
            *NOP t0
            +TEXC t1, 0x3f000000, 0x3e800000, t1, @r8
        }";
    let code = tepui_mali_isa::bifrost::asm::assemble(source).unwrap_or_else(|e| panic!("{e:?}"));
    let decoded = super::decode(&code, 8);
    let mut bench = Bench::new();
    bench.set(8, |_| 0).set(9, |lane| lane);
    // There are no tables, so the texture is a null descriptor.
    assert_eq!(bench.try_bifrost(source), Ok(Stop::End));
    let layer = temporary::TEXTURE + 2;
    assert_eq!(bench.warp.registers[usize::from(layer)].0[3], 3f32.to_bits());
    let op = decoded.ops.iter().find(|op| op.dest == layer).expect("a layer");
    assert_eq!(op.kind, None);
}

/// A sum is scaled by a power of two after the addition.
#[test]
fn a_sum_is_scaled() {
    let mut bench = Bench::new();
    bench.set(1, |lane| (lane as f32).to_bits()).set(2, |_| 0.5f32.to_bits());
    let source = "ds(0) eos
        {
            *NOP t0
            +FADD_RSCALE.f32 r3:t1, r1.neg, r2, 0x00000008
            *NOP t0
            +NOP t1
        }";
    for (lane, value) in run(&mut bench, source, 3).into_iter().enumerate() {
        assert_eq!(f32::from_bits(value), (0.5 - lane as f32) * 256.0, "lane {lane}");
    }
}

/// The fault of an instruction that the model does not execute names it.
#[test]
fn what_is_not_executed_is_named() {
    let source = "ds(0) eos
        {
            *NOP t0
            +FADD_RSCALE.f32.n r3:t1, r1, r2, 0x00000008
            *NOP t0
            +NOP t1
        }";
    let trap = Bench::new().try_bifrost(source).expect_err("a trap");
    assert!(format!("{trap:?}").contains("FADD_RSCALE.f32"), "{trap:?}");
}

/// Lanes that branch to the constant 0 end, the others continue.
#[test]
fn a_branch_to_zero_ends_lanes() {
    let mut bench = Bench::new();
    bench.set(0, |lane| lane % 3).set(1, |_| 7);
    let source = "ds(0) nbb r_uncond
        {
            *NOP t0
            +BRANCHZ.i16.eq t1, r0.h0, #0.x
        }
        ds(0) eos
        {
            *NOP t0
            +MOV.i32 r1:t1, r0
            *NOP t0
            +NOP t1
        }";
    for (lane, value) in run(&mut bench, source, 1).into_iter().enumerate() {
        let expected = if lane % 3 == 0 { 7 } else { lane as u32 % 3 };
        assert_eq!(value, expected, "lane {lane}");
    }
}
