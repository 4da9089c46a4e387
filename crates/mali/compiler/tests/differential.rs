//! Random programs: the interpreter before the passes, the interpreter after them and the model running the machine code
//! leave the same memory.

mod rig;

use rig::{CHIPS, Model, Valhall, options};
use std::ops::Range;
use tepui_compiler_test::{Tally, differential, programs, seeds};
use tepui_ir::Shader;
use tepui_ir_gen::{Config, program};
use tepui_mali_compiler::Options;

fn run(
    chip: &str,
    seeds: Range<u64>,
    program: &dyn Fn(u64) -> Shader,
    options: Options<'static>,
    optimised: bool,
) -> Tally {
    let model = || Model::new(chip);
    let t = differential::check(&Valhall::new(options), model, seeds, program, optimised);
    println!("{chip} {t:?}");
    t
}

/// Runs random programs on both chips; all are compiled, and some of them spill if `spilled` is not 0.
fn check(
    seeds: Range<u64>,
    config: &Config,
    options: Options<'static>,
    optimised: bool,
    spilled: usize,
) {
    let count = (seeds.end - seeds.start) as usize;
    for chip in CHIPS {
        let t = run(chip, seeds.clone(), &|seed| program(seed, config), options, optimised);
        t.takes_all(count);
        assert!(t.spilled >= spilled || std::env::var_os("TEPUI_SEEDS").is_some(), "{t:?}");
    }
}

const PLAIN: Config = Config { div_zero: false, ..Config::plain() };

#[test]
fn plain_programs() {
    check(seeds(0, 150), &PLAIN, options(), true, 0);
}

#[test]
fn plain_programs_unoptimised() {
    check(seeds(1000, 100), &PLAIN, options(), false, 0);
}

/// All but division by zero, which languages leave undefined.
const EVERYTHING: Config = Config { div_zero: false, ..Config::all() };

#[test]
fn programs_of_everything() {
    check(seeds(2000, 200), &EVERYTHING, options(), true, 0);
}

/// Programs with image instructions among the others.
#[test]
fn programs_with_images() {
    check(seeds(6000, 100), &Config { images: true, ..EVERYTHING }, options(), true, 0);
}

#[test]
fn programs_that_spill() {
    check(seeds(4000, 80), &EVERYTHING, Options { registers: 18, ..options() }, true, 60);
}

#[test]
fn programs_that_compilers_have_got_wrong() {
    for chip in CHIPS {
        programs::check(&Valhall::new(options()), || Model::new(chip));
    }
}

#[test]
fn loops_that_carry_more_than_registers_hold() {
    for chip in CHIPS {
        let t = programs::check_carried(&Valhall::new(options()), || Model::new(chip), 300);
        assert_eq!(t.spilled, 1, "{t:?}");
    }
}
