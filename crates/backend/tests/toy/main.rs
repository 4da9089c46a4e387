//! The shared back end on a machine that is no GPU's: random programs leave what the interpreter leaves, with plenty of registers
//! and with few.

mod toy;

use tepui_backend::Error;
use tepui_backend::dot::Dot;
use tepui_backend::listing::{self, Line, Listing};
use tepui_compiler_test::{Compiler, Counts, Executor, Failure, Refusal, Tally, differential};
use tepui_ir::interp::Memory;
use tepui_ir::{Loc, Shader};
use tepui_ir_gen::{Config, program};
use tepui_passes::pipeline::Pipeline;
use toy::{Program, Refused};

/// The compiler for a number of registers.
struct Toy {
    registers: u16,
}

impl Compiler for Toy {
    type Program = Program;

    fn lower(&self, s: &mut Shader, look: &mut dyn FnMut(&'static str, &Shader)) {
        let mut p = Pipeline::new(None, look);
        for name in ["lower_vars", "scalarise", "simplify", "dce"] {
            p.run(s, name);
        }
    }

    fn prepare(&self, s: &mut Shader) {
        tepui_passes::pipeline::optimise(s);
        self.lower(s, &mut |_, _| {});
    }

    fn compile(&self, s: &Shader) -> Result<Program, Refusal> {
        toy::compile(s, self.registers).map_err(|e| match e {
            Refused::Unsupported(why) => Refusal::Unsupported(why),
            Refused::BackEnd(e) => Refusal::Bug(e.to_string()),
        })
    }

    fn listing(&self, p: &Program) -> String {
        p.mir.to_string()
    }

    fn counts(&self, p: &Program) -> Counts {
        let loops = p.mir.blocks.values().filter(|b| b.depth > 0).count();
        Counts { fills: p.finished.spilled.loads, loops: loops as u32 }
    }
}

struct Interpreter;

impl Executor for Interpreter {
    type Program = Program;

    fn execute(
        &mut self,
        p: &Program,
        _shader: &Shader,
        memory: &mut Memory,
        groups: [u32; 3],
    ) -> Result<(), Failure> {
        if groups != [1; 3] {
            return Err(Failure::Unsupported("several workgroups".into()));
        }
        toy::run(p, memory).map_err(Failure::Wrong)
    }
}

fn check(registers: u16, config: &Config, optimised: bool) -> Tally {
    let config = Config { div_zero: false, ..*config };
    let tally = differential::check(
        &Toy { registers },
        || Interpreter,
        0..80,
        &|seed| program(seed, &config),
        optimised,
    );
    tally.takes_all(80);
    assert!(tally.loops > 10, "{tally:?}");
    tally
}

#[test]
fn random_programs() {
    check(64, &Config::plain(), true);
    let all = Config { int64: true, small: true, ..Config::plain() };
    check(64, &all, false);
}

#[test]
fn random_programs_that_spill() {
    let all = Config { int64: true, small: true, ..Config::plain() };
    let tally = check(14, &all, true);
    assert!(tally.spilled > 20, "{tally:?}");
}

fn compiled(seed: u64) -> Program {
    let mut s = program(seed, &Config::plain());
    Toy { registers: 64 }.prepare(&mut s);
    Toy { registers: 14 }.compile(&s).unwrap_or_else(|e| panic!("{e:?}"))
}

#[test]
fn every_pass_is_seen() {
    let names: Vec<&str> = (0..40).flat_map(|seed| compiled(seed).passes).collect();
    for name in ["mir_dce", "schedule", "group_loads", "latency", "spill"] {
        assert!(names.contains(&name), "{name}");
    }
}

#[test]
fn broken_rules_are_found() {
    let mut f = compiled(1).mir;
    tepui_backend::validate::run(&f).expect("valid");
    let block = f.blocks.keys().next().expect("a block");
    let first = f.blocks[block].insts[0];
    f.blocks[block].insts.push(first);
    let error = tepui_backend::validate::run(&f).expect_err("a value has two definitions");
    assert!(error.to_string().ends_with("is defined twice"), "{error}");
}

#[test]
fn names_follow_values() {
    let p = compiled(2);
    assert!(!p.finished.held.is_empty());
    assert_eq!(
        Dot { function: &p.mir, name: "a \"name\"" }.to_string().lines().next(),
        Some("digraph \"a \\\"name\\\"\" {")
    );
}

fn line(inst: u8, target: Option<u32>) -> Line<u8> {
    Line { inst, target, loc: Loc::default(), step: Default::default() }
}

#[test]
fn branches_are_encoded_as_distances() {
    // An instruction's number is its size; a branch has its distance in its first byte.
    let lines = vec![line(3, None), line(2, Some(1)), line(4, None), line(2, Some(0))];
    let listing = Listing { lines, labels: vec![0, 3], ..Listing::default() };
    let plain = |inst: &u8| Ok::<_, Error>(vec![*inst; usize::from(*inst)]);
    let branch = |inst: u8, off: i32| {
        let mut bytes = vec![inst; usize::from(inst)];
        bytes[0] = off as i8 as u8;
        Ok(bytes)
    };
    let encoded = listing::encode(&listing, plain, branch).expect("it has places for all");
    assert_eq!(encoded.code, [3, 3, 3, 6, 2, 4, 4, 4, 4, -9i8 as u8, 2]);
    assert_eq!(encoded.locs.iter().map(|l| l.0).collect::<Vec<_>>(), [0, 3, 5, 9]);
    let outside = Listing { labels: vec![0, 4], ..listing };
    let error = listing::encode(&outside, plain, branch).expect_err("line 4 is past the end");
    assert_eq!(error, Error::Branch { line: 1, target: 1 });
}
