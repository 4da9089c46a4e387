//! Random programs: compiled and executed, they leave the memory that the interpreter leaves.

use crate::{Compiler, Executor, Failure, Refusal};
use std::collections::BTreeMap;
use std::ops::Range;
use tepui_ir::interp::SUBGROUP;
use tepui_ir::{Attrs, Op, Shader};
use tepui_ir_gen::{memory, run_of};
use tepui_passes::pipeline::Pipeline;

/// Programs after which the executor is made anew.
const RENEWED: u64 = 32;
/// The buffer whose contents count.
const BUFFER: (u32, u32, u32) = (0, 0, 0);
/// Bytes of a lane.
const LANE: usize = tepui_ir_gen::SLOT as usize;

/// Counters of a run.
#[derive(Default, Debug)]
pub struct Tally {
    /// Programs that left the same memory.
    pub same: usize,
    /// Programs that spilled registers.
    pub spilled: usize,
    /// Programs that have loops.
    pub loops: usize,
    /// Programs that were not compiled, by reason.
    pub refused: BTreeMap<String, usize>,
}

impl Tally {
    /// Asserts that the compiler took all programs.
    ///
    /// # Panics
    /// When it refused some.
    pub fn takes_all(&self, programs: usize) {
        let programs = std::env::var_os("TEPUI_SEEDS").map_or(programs, |_| self.same.max(1));
        assert_eq!(self.same, programs, "{self:?}");
        assert!(self.refused.is_empty(), "{self:?}");
    }
}

/// Seeds of programs; `TEPUI_SEEDS=FROM..TO` chooses others, for a longer run.
#[must_use]
pub fn seeds(from: u64, count: u64) -> Range<u64> {
    if let Ok(text) = std::env::var("TEPUI_SEEDS")
        && let Some((a, b)) = text.split_once("..")
        && let (Ok(a), Ok(b)) = (a.parse(), b.parse())
    {
        return a..b;
    }
    from..from + count
}

/// Compiles and runs the programs of some seeds; `optimised` with all passes, else with those only that
/// the compiler needs.
///
/// # Panics
/// When a pass or a program changes a result, with the program and the first difference.
pub fn check<C: Compiler, E: Executor<Program = C::Program>>(
    compiler: &C,
    mut executor: impl FnMut() -> E,
    seeds: Range<u64>,
    program: &dyn Fn(u64) -> Shader,
    optimised: bool,
) -> Tally {
    let mut tally = Tally::default();
    let mut gpu = executor();
    for seed in seeds {
        if seed % RENEWED == 0 {
            gpu = executor();
        }
        let first = program(seed);
        let mut s = first.clone();
        let want =
            run_of(&s, seed, compiler.subgroup()).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        let want = &want.buffers[&BUFFER];
        lower(compiler, &mut s, seed, want, optimised);
        define(&mut s);
        let p = match compiler.compile(&s) {
            Ok(p) => p,
            Err(Refusal::Bug(e)) => panic!("seed {seed}: {e}\n{s}"),
            Err(Refusal::Unsupported(why)) => {
                *tally.refused.entry(why).or_default() += 1;
                continue;
            }
        };
        let mut got = memory(seed);
        match gpu.execute(&p, &first, &mut got, [1; 3]) {
            Ok(()) => {}
            Err(Failure::Unsupported(e) | Failure::Wrong(e)) => {
                panic!("seed {seed}: {e}\n{s}\n{}", compiler.listing(&p))
            }
        }
        if let Some(text) = difference(&got.buffers[&BUFFER], want) {
            panic!("seed {seed}: {text}\n{s}\n{}", compiler.listing(&p));
        }
        let counts = compiler.counts(&p);
        tally.same += 1;
        tally.spilled += usize::from(counts.fills > 0);
        tally.loops += usize::from(counts.loops > 0);
    }
    tally
}

/// Optimises and lowers a shader. Each lowering pass is checked by itself, so that a difference names its pass.
fn lower<C: Compiler>(compiler: &C, s: &mut Shader, seed: u64, want: &[u8], optimised: bool) {
    let mut last = String::new();
    let mut look = |name: &'static str, s: &Shader| {
        tepui_ir::validate(s)
            .unwrap_or_else(|e| panic!("seed {seed}, {name}: {e}\n{last}\nbecame\n{s}"));
        let after = run_of(s, seed, compiler.subgroup())
            .unwrap_or_else(|e| panic!("seed {seed}, {name}: {e}\n{s}"));
        assert!(
            after.buffers[&BUFFER] == *want,
            "seed {seed}: {name} changes the result\n{last}\nbecame\n{s}"
        );
        last = s.to_string();
    };
    if optimised {
        // Back ends of several widths do not say how wide subgroups are.
        let lanes = (compiler.subgroup() == SUBGROUP).then_some(SUBGROUP as u32);
        Pipeline::new(lanes, &mut |_, _| {}).optimise(s);
        look("optimise", s);
    }
    compiler.lower(s, &mut look);
}

/// The first bytes that differ, by lanes; nothing where all are the same.
fn difference(got: &[u8], want: &[u8]) -> Option<String> {
    if got.len() != want.len() {
        return Some(format!("{} bytes instead of {}", got.len(), want.len()));
    }
    let words = got.chunks(4).zip(want.chunks(4)).enumerate();
    let text = |(k, (g, w)): (usize, (&[u8], &[u8]))| {
        let at = 4 * k;
        format!("lane {} byte {}: {g:02x?} instead of {w:02x?}\n", at / LANE, at % LANE)
    };
    let text: String = words.filter(|(_, (g, w))| g != w).take(20).map(text).collect();
    (!text.is_empty()).then_some(text)
}

/// Makes zeros of what is undefined, as the interpreter has it.
fn define(s: &mut Shader) {
    for r in s.regions.keys().collect::<Vec<_>>() {
        let mut out = Vec::new();
        for i in s.regions[r].insts.clone() {
            if s.insts[i].op == Op::Undef {
                let ty = s.ty(s.result(i));
                if ty.is_scalar() {
                    s.insts[i].op = Op::Const;
                    s.insts[i].attrs = Attrs::Const(0);
                } else {
                    let zero = s.make_inst(Op::Const, Attrs::Const(0), &[], &[ty.elem()]);
                    out.push(zero);
                    let z = s.result(zero);
                    s.insts[i].op = Op::Vec;
                    s.set_args(i, &vec![z; usize::from(ty.comps())]);
                }
            }
            out.push(i);
        }
        s.regions[r].insts = out;
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::Counts;
    use tepui_ir::interp::Memory;
    use tepui_ir_gen::{Config, program};

    /// A compiler whose programs are shaders, and the interpreter that runs them.
    pub(crate) struct Identity;

    impl Compiler for Identity {
        type Program = Shader;

        fn lower(&self, _: &mut Shader, _: &mut dyn FnMut(&'static str, &Shader)) {}

        fn prepare(&self, s: &mut Shader) {
            tepui_passes::pipeline::optimise(s);
        }

        fn compile(&self, s: &Shader) -> Result<Shader, Refusal> {
            Ok(s.clone())
        }

        fn listing(&self, s: &Shader) -> String {
            s.to_string()
        }

        fn counts(&self, _: &Shader) -> Counts {
            Counts::default()
        }
    }

    /// Adds a number to the first byte of the first buffer.
    pub(crate) struct Interpreter(pub u8);

    impl Executor for Interpreter {
        type Program = Shader;

        fn execute(
            &mut self,
            s: &Shader,
            _: &Shader,
            memory: &mut Memory,
            groups: [u32; 3],
        ) -> Result<(), Failure> {
            let ran = tepui_ir::interp::dispatch(s, groups, memory, 1 << 20);
            ran.map_err(|e| Failure::Wrong(e.to_string()))?;
            let first = memory.buffers.values_mut().find_map(|b| b.first_mut());
            if let Some(byte) = first {
                *byte = byte.wrapping_add(self.0);
            }
            Ok(())
        }
    }

    fn plain(seed: u64) -> Shader {
        program(seed, &Config { div_zero: false, ..Config::plain() })
    }

    #[test]
    fn the_interpreter_agrees_with_itself() {
        check(&Identity, || Interpreter(0), 0..10, &plain, true).takes_all(10);
    }

    #[test]
    #[should_panic(expected = "lane 0 byte 0")]
    fn a_wrong_byte_is_found() {
        check(&Identity, || Interpreter(1), 0..1, &plain, true);
    }
}
