//! Random programs: the interpreter before the passes, the interpreter after them and the model running the machine code
//! leave the same memory.

use std::ops::Range;
use tepui_compiler_test::{Compiler, Counts, Executor, Refusal, Tally, differential, seeds};
use tepui_intel_bare::{Bindings, Machine};
use tepui_intel_chips::chip;
use tepui_intel_compiler::{Options, Program, Snapshot, compile_prepared, lower};
use tepui_intel_isa::{Generation, Inst};
use tepui_ir::Shader;
use tepui_ir::interp::Memory;
use tepui_ir_gen::{Config, program};

/// The compiler with its options.
struct Eu(Options<'static>);

/// A program, and its machine IR if `TEPUI_MIR` asks for that; `TEPUI_LISTING` prints every program.
struct Compiled {
    program: Program,
    mir: String,
}

impl Compiler for Eu {
    type Program = Compiled;

    fn lower(&self, s: &mut Shader, look: &mut dyn FnMut(&'static str, &Shader)) {
        lower(s, look);
    }

    fn compile(&self, s: &Shader) -> Result<Compiled, Refusal> {
        let mut mir = String::new();
        let mut keep = |name: &str, m: Snapshot<'_>| {
            if let (true, Snapshot::Mir(m)) = (std::env::var_os("TEPUI_MIR").is_some(), m) {
                mir = format!("{name}\n{}", tepui_intel_compiler::print::Text(m));
            }
        };
        match compile_prepared(s, Generation::Gen9, &self.0, &mut keep) {
            Ok(program) => {
                if std::env::var_os("TEPUI_LISTING").is_some() {
                    println!("{s}\n{mir}\n{}{}", listing(&program), program.stats);
                }
                Ok(Compiled { program, mir })
            }
            Err(e) if e.is_bug() => Err(Refusal::Bug(format!("{e}\n{mir}"))),
            Err(e) => Err(Refusal::Unsupported(e.to_string())),
        }
    }

    fn listing(&self, p: &Compiled) -> String {
        p.mir.clone() + &listing(&p.program)
    }

    fn counts(&self, p: &Compiled) -> Counts {
        Counts { fills: p.program.stats.fills, loops: p.program.stats.loops }
    }
}

fn listing(p: &Program) -> String {
    let mut text = String::new();
    let mut at = 0;
    while at < p.code.len() {
        match Inst::decode(Generation::Gen9, &p.code, at) {
            Ok(inst) => {
                text += &format!("{at:#06x} {inst}\n");
                at += inst.bytes();
            }
            Err(e) => return format!("{text}{e}"),
        }
    }
    text
}

/// The model without a driver.
struct Model(Machine);

impl Executor for Model {
    type Program = Compiled;

    fn execute(&mut self, p: &Compiled, memory: &mut Memory) -> Result<(), String> {
        let buffers = memory.buffers.iter().map(|(&k, v)| (k, v.clone())).collect();
        let mut bindings = Bindings { buffers, push: Vec::new() };
        let stats = self.0.run(&p.program, &mut bindings, [1; 3]).map_err(|e| e.to_string())?;
        if let Some(r) = stats.reports.first() {
            return Err(format!("{:#x}: {}: {}", r.at.offset, r.at.text, r.what));
        }
        for (key, bytes) in bindings.buffers {
            memory.buffers.insert(key, bytes);
        }
        Ok(())
    }
}

fn machine() -> Machine {
    let options = tepui_intel_model::Options {
        threads: 1,
        check: true,
        max_instructions: 1 << 22,
        ..Default::default()
    };
    Machine::new(chip("skl").expect("a chip"), options)
}

fn check(seeds: Range<u64>, config: &Config, options: Options<'static>, optimised: bool) -> Tally {
    let program = |seed| program(seed, config);
    let t = differential::check(&Eu(options), || Model(machine()), seeds, &program, optimised);
    println!("{t:?}");
    t
}

fn options(width: u8) -> Options<'static> {
    Options { width, check: true, ..Options::default() }
}

const PLAIN: Config = Config { div_zero: false, ..Config::plain() };

#[test]
fn plain_programs_of_eight_channels() {
    check(seeds(0, 120), &PLAIN, options(8), true).takes_all(120);
}

#[test]
fn plain_programs_of_sixteen_channels() {
    check(seeds(0, 120), &PLAIN, options(16), true).takes_all(120);
}

#[test]
fn plain_programs_unoptimised() {
    check(seeds(1000, 60), &PLAIN, options(16), false).takes_all(60);
}

/// All but division by zero, which languages leave undefined, and subgroup operations.
const EVERYTHING: Config = Config { div_zero: false, subgroups: false, ..Config::all() };

#[test]
fn programs_of_everything() {
    for width in [8, 16] {
        check(seeds(2000, 150), &EVERYTHING, options(width), true).takes_all(150);
    }
}

#[test]
fn programs_that_spill() {
    for width in [8, 16] {
        let registers = if width == 8 { 20 } else { 40 };
        let t = check(seeds(4000, 80), &EVERYTHING, Options { registers, ..options(width) }, true);
        t.takes_all(80);
        assert!(t.spilled >= 60 || std::env::var_os("TEPUI_SEEDS").is_some(), "{t:?}");
    }
}

#[test]
fn programs_of_thirty_two_channels() {
    check(seeds(3000, 60), &EVERYTHING, options(32), true).takes_all(60);
}

/// Channels leave a loop in different rounds with the same value of a scalar parameter, which later rounds change.
#[test]
fn channels_that_leave_a_loop_keep_its_scalar_values() {
    const TEXT: &str = "shader compute \"main\" {
  workgroup_size 16 1 1
  resource storage_buffer set 0 binding 0 count 1 2d float \"\"
  body {
    %0:b32 = const[0x0]
    %1:b32 = const[0x1]
    %2:b32 = const[0x200]
    %3:b32 = const[0x3]
    %4:b32 = load_builtin[local_invocation_index]
    %5:b64 = descriptor[@r0] %0
    %6:b32 = imul %4, %2
    %7:b32 = iand %4, %3
    %8:b32 = loop (%9:b32 = %0) {
      %10:b1 = ieq %9, %7
      if %10 {
        break %9
      } else {
        yield
      }
      %11:b32 = iadd %9, %1
      continue %11
    }
    store_buffer[align 4] %5, %6, %8
    yield
  }
}
";
    let parse = |_| tepui_ir::parse(TEXT).unwrap_or_else(|e| panic!("{e}"));
    for width in [8, 16, 32] {
        let eu = Eu(options(width));
        differential::check(&eu, || Model(machine()), 0..1, &parse, false).takes_all(1);
    }
}

/// A function of one argument, computed by one channel for all.
#[test]
fn functions_of_scalar_values() {
    const TEXT: &str = "shader compute \"main\" {
  workgroup_size 16 1 1
  resource storage_buffer set 0 binding 0 count 1 2d float \"\"
  body {
    %0:b32 = const[0x0]
    %1:b32 = const[0x1]
    %2:b32 = const[0x200]
    %3:b32 = const[0x3]
    %4:b32 = load_builtin[local_invocation_index]
    %5:b64 = descriptor[@r0] %0
    %6:b32 = imul %4, %2
    %8:b32 = loop (%9:b32 = %0, %12:b32 = %0) {
      %10:b1 = ieq %9, %3
      if %10 {
        break %12
      } else {
        yield
      }
      %11:b32 = iadd %9, %1
      %13:b32 = ishl %1, %11
      %14:b32 = u2f %13
      %15:b32 = frcp %14
      continue %11, %15
    }
    store_buffer[align 4] %5, %6, %8
    yield
  }
}
";
    let parse = |_| tepui_ir::parse(TEXT).unwrap_or_else(|e| panic!("{e}"));
    for width in [8, 16, 32] {
        let eu = Eu(options(width));
        differential::check(&eu, || Model(machine()), 0..1, &parse, false).takes_all(1);
    }
}
