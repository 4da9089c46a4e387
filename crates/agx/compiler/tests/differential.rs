//! Random programs: the interpreter before the passes, the interpreter after them and the model running the machine code leave the same
//! memory.

use std::collections::BTreeMap;

use tepui_agx_bare::{Machine, shader};
use tepui_agx_compiler::{Error, Options, Program, compile_prepared, lower};
use tepui_ir::Shader;
use tepui_ir_gen::{Config, inputs, program, run};

/// What became of the programs of a run.
#[derive(Default, Debug)]
struct Tally {
    same: usize,
    /// Of those, how many spilled registers.
    spilled: usize,
    refused: BTreeMap<String, usize>,
}

fn execute(machine: &mut Machine, p: &Program, seed: u64) -> Result<Vec<u8>, String> {
    let bytes = inputs(seed);
    let buffer = machine.buffer(bytes.len()).map_err(|e| e.to_string())?;
    buffer.write(&bytes).map_err(|e| e.to_string())?;
    let mut bindings = shader::Bindings::default();
    bindings.buffers.insert((0, 0, 0), buffer.clone());
    let stats = shader::run(machine, p, &bindings, [1; 3]).map_err(|e| e.to_string())?;
    // Programs may read variables that they never wrote; waits are the compiler's.
    if let Some(r) = stats
        .reports
        .iter()
        .find(|r| !r.what.contains("ever w") && !r.what.contains("never written"))
    {
        return Err(format!("{:#x}: {}: {}", r.at.offset, r.at.text, r.what));
    }
    buffer.read().map_err(|e| e.to_string())
}

fn listing(p: &Program) -> String {
    tepui_agx_isa::disasm::Disassembler::new(&p.code).map(|l| format!("{l}\n")).collect()
}

fn machine() -> Machine {
    let options = tepui_agx_model::Options {
        threads: 1,
        check: true,
        instruction_budget: 1 << 22,
        ..Default::default()
    };
    Machine::new(options).expect("a machine")
}

/// What is undefined is zero in the interpreter; here it must be, too.
fn define(s: &mut Shader) {
    use tepui_ir::{Attrs, Op};
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

/// Compiles and runs the programs of some seeds; `optimised` with all passes, else with those only that the back end needs.
fn check(seeds: std::ops::Range<u64>, config: &Config, options: Options, optimised: bool) -> Tally {
    let mut tally = Tally::default();
    let mut gpu = machine();
    for seed in seeds {
        if seed % 32 == 0 {
            gpu = machine();
        }
        let first = program(seed, config);
        let want = run(&first, seed).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        let want = &want.buffers[&(0, 0, 0)];
        let mut s: Shader = first.clone();
        // Each lowering pass is checked by itself: a difference names its pass.
        let mut last = String::new();
        let mut look = |name: &'static str, s: &Shader| {
            tepui_ir::validate(s)
                .unwrap_or_else(|e| panic!("seed {seed}, {name}: {e}\n{last}\nbecame\n{s}"));
            let after = run(s, seed).unwrap_or_else(|e| panic!("seed {seed}, {name}: {e}\n{s}"));
            assert!(
                after.buffers[&(0, 0, 0)] == *want,
                "seed {seed}: {name} changes the result\n{last}\nbecame\n{s}"
            );
            last = s.to_string();
        };
        if optimised {
            tepui_passes::pipeline::optimise(&mut s);
            look("optimise", &s);
        }
        lower(&mut s, &options, &mut look);
        define(&mut s);
        let mut mir = String::new();
        let mut keep = |_: &str, m: tepui_agx_compiler::Made<'_>| {
            if let (true, tepui_agx_compiler::Made::Mir(m)) =
                (std::env::var_os("TEPUI_MIR").is_some(), m)
            {
                mir = m.to_string();
            }
        };
        let compiled = compile_prepared(&s, &options, &mut keep);
        let p = match compiled {
            Ok(p) => p,
            Err(e @ (Error::Internal(_) | Error::Encode(_))) => {
                panic!("seed {seed}: {e}\n{s}\n{mir}")
            }
            Err(e) => {
                let why = e.to_string();
                let why = why.split_once(": ").map_or(why.as_str(), |w| w.1).to_owned();
                *tally.refused.entry(why).or_default() += 1;
                continue;
            }
        };
        let got = execute(&mut gpu, &p, seed)
            .unwrap_or_else(|e| panic!("seed {seed}: {e}\n{s}\n{}", listing(&p)));
        if got != *want {
            let at = got.iter().zip(want).position(|(a, b)| a != b).unwrap_or(0) & !3;
            for (k, (g, w)) in
                got.chunks(4).zip(want.chunks(4)).enumerate().filter(|(_, (g, w))| g != w).take(20)
            {
                println!("lane {} byte {}: {g:02x?} instead of {w:02x?}", k / 128, k % 128 * 4);
            }
            let word = |b: &[u8]| u32::from_le_bytes([b[at], b[at + 1], b[at + 2], b[at + 3]]);
            panic!(
                "seed {seed}: lane {} byte {}: {:#x} instead of {:#x}\n{s}\n{}",
                at / 512,
                at % 512,
                word(&got),
                word(want),
                mir + &listing(&p)
            );
        }
        tally.same += 1;
        tally.spilled += usize::from(p.stats.fills > 0);
    }
    tally
}

fn seeds(from: u64, count: u64) -> std::ops::Range<u64> {
    // More in a run of its own: TEPUI_SEEDS=FROM..TO.
    if let Ok(text) = std::env::var("TEPUI_SEEDS")
        && let Some((a, b)) = text.split_once("..")
        && let (Ok(a), Ok(b)) = (a.parse(), b.parse())
    {
        return a..b;
    }
    from..from + count
}

#[test]
fn plain_programs_optimised() {
    let t = check(
        seeds(0, 250),
        &Config { div_zero: false, ..Config::plain() },
        Options { check: true, ..Options::default() },
        true,
    );
    println!("{t:?}");
    assert!(t.same >= 200 || std::env::var_os("TEPUI_SEEDS").is_some(), "{t:?}");
}

#[test]
fn plain_programs_unoptimised() {
    let t = check(
        seeds(1000, 60),
        &Config { div_zero: false, ..Config::plain() },
        Options { check: true, ..Options::default() },
        false,
    );
    println!("{t:?}");
}

/// All but division by zero, which languages leave undefined, and sub-group operations: the generator's shuffles read lanes that are
/// not active, whose values nobody promises.
const EVERYTHING: Config = Config { div_zero: false, subgroups: false, ..Config::all() };

#[test]
fn programs_of_everything() {
    let t =
        check(seeds(2000, 250), &EVERYTHING, Options { check: true, ..Options::default() }, true);
    println!("{t:?}");
}

#[test]
fn programs_that_spill() {
    let options = Options { registers: 40, check: true, ..Options::default() };
    let t = check(seeds(4000, 120), &EVERYTHING, options, true);
    println!("{t:?}");
    assert!(t.spilled >= 50 || std::env::var_os("TEPUI_SEEDS").is_some(), "{t:?}");
}

#[test]
fn programs_with_bounds_checks() {
    let options = Options { robust: true, check: true, ..Options::default() };
    let t = check(seeds(3000, 100), &EVERYTHING, options, true);
    println!("{t:?}");
}
