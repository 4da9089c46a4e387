//! Random programs: the interpreter before the passes, the interpreter after them and the model running the machine code
//! leave the same memory.

mod rig;

use rig::{Eu, GENERATIONS, Model, options};
use std::ops::Range;
use tepui_compiler_test::{Tally, differential, programs, seeds};
use tepui_intel_compiler::Options;
use tepui_intel_isa::Generation;
use tepui_ir::Shader;
use tepui_ir_gen::{Config, program};

fn run(
    generation: Generation,
    seeds: Range<u64>,
    program: &dyn Fn(u64) -> Shader,
    options: Options<'static>,
    optimised: bool,
) -> Tally {
    let eu = Eu(generation, options);
    let t = differential::check(&eu, || Model::new(generation), seeds, program, optimised);
    println!("{generation} {t:?}");
    t
}

/// Runs random programs on both generations; all are compiled, and some of them spill if `spilled` is not 0.
fn check(
    seeds: Range<u64>,
    config: &Config,
    options: Options<'static>,
    optimised: bool,
    spilled: usize,
) {
    let count = (seeds.end - seeds.start) as usize;
    for generation in GENERATIONS {
        let t = run(generation, seeds.clone(), &|seed| program(seed, config), options, optimised);
        t.takes_all(count);
        assert!(t.spilled >= spilled || std::env::var_os("TEPUI_SEEDS").is_some(), "{t:?}");
    }
}

const PLAIN: Config = Config { div_zero: false, ..Config::plain() };

#[test]
fn plain_programs_of_eight_channels() {
    check(seeds(0, 120), &PLAIN, options(8), true, 0);
}

#[test]
fn plain_programs_of_sixteen_channels() {
    check(seeds(0, 120), &PLAIN, options(16), true, 0);
}

#[test]
fn plain_programs_unoptimised() {
    check(seeds(1000, 60), &PLAIN, options(16), false, 0);
}

/// All but division by zero, which languages leave undefined.
const EVERYTHING: Config = Config { div_zero: false, ..Config::all() };

#[test]
fn programs_of_everything() {
    for width in [8, 16] {
        check(seeds(2000, 150), &EVERYTHING, options(width), true, 0);
    }
}

/// Bitwise operations of 16-bit values whose upper halves were never written.
#[test]
fn bits_of_words() {
    for width in [8, 16] {
        check(20102..20103, &EVERYTHING, options(width), true, 0);
    }
}

#[test]
fn programs_that_spill() {
    for width in [8, 16] {
        let registers = if width == 8 { 20 } else { 40 };
        let options = Options { registers, ..options(width) };
        check(seeds(4000, 80), &EVERYTHING, options, true, 60);
    }
}

#[test]
fn programs_of_thirty_two_channels() {
    check(seeds(3000, 60), &EVERYTHING, options(32), true, 0);
}

#[test]
fn programs_that_compilers_have_got_wrong() {
    for generation in GENERATIONS {
        for width in [8, 16, 32] {
            programs::check(&Eu(generation, options(width)), || Model::new(generation));
        }
    }
}

#[test]
fn loops_that_carry_more_than_registers_hold() {
    for generation in GENERATIONS {
        for width in [8, 16] {
            let eu = Eu(generation, options(width));
            let t = programs::check_carried(&eu, || Model::new(generation), 300);
            assert_eq!(t.spilled, 1, "{t:?}");
        }
    }
}
