//! Random programs: the interpreter before the passes, the interpreter after them and the model running the machine code
//! leave the same memory.

use std::ops::Range;
use tepui_compiler_test::{Compiler, Counts, Executor, Refusal, Tally, differential, seeds};
use tepui_intel_analysis::Code;
use tepui_intel_analysis::scoreboard::{Rules, check as check_scoreboard};
use tepui_intel_bare::{Bindings, Machine};
use tepui_intel_chips::chip;
use tepui_intel_compiler::{Options, Program, Snapshot, compile_prepared, lower};
use tepui_intel_isa::{Generation, Inst};
use tepui_ir::Shader;
use tepui_ir::interp::Memory;
use tepui_ir_gen::{Config, program};

/// The compiler for a generation, with its options.
struct Eu(Generation, Options<'static>);

/// A program, and its machine IR if `TEPUI_MIR` asks for that; `TEPUI_LISTING` prints every program.
struct Compiled {
    program: Program,
    mir: String,
}

impl Compiler for Eu {
    type Program = Compiled;

    fn subgroup(&self) -> usize {
        usize::from(self.1.width)
    }

    fn lower(&self, s: &mut Shader, look: &mut dyn FnMut(&'static str, &Shader)) {
        lower(s, self.0, &self.1, look);
    }

    fn compile(&self, s: &Shader) -> Result<Compiled, Refusal> {
        let mut mir = String::new();
        let mut keep = |name: &str, m: Snapshot<'_>| {
            if let (true, Snapshot::Mir(m)) = (std::env::var_os("TEPUI_MIR").is_some(), m) {
                mir = format!("{name}\n{}", tepui_intel_compiler::print::Text(m));
            }
        };
        match compile_prepared(s, self.0, &self.1, &mut keep) {
            Ok(program) => {
                scoreboard(self.0, &program).map_err(|e| Refusal::Bug(format!("{e}\n{mir}")))?;
                if std::env::var_os("TEPUI_LISTING").is_some() {
                    println!("{s}\n{mir}\n{}{}", listing(self.0, &program), program.stats);
                }
                Ok(Compiled { program, mir })
            }
            Err(e) if e.is_bug() => Err(Refusal::Bug(format!("{e}\n{mir}"))),
            Err(e) => Err(Refusal::Unsupported(e.to_string())),
        }
    }

    fn listing(&self, p: &Compiled) -> String {
        p.mir.clone() + &listing(self.0, &p.program)
    }

    fn counts(&self, p: &Compiled) -> Counts {
        Counts { fills: p.program.stats.fills, loops: p.program.stats.loops }
    }
}

fn listing(generation: Generation, p: &Program) -> String {
    let mut text = String::new();
    let mut at = 0;
    while at < p.code.len() {
        match Inst::decode(generation, &p.code, at) {
            Ok(inst) => {
                text += &format!("{at:#06x} {inst}\n");
                at += inst.bytes();
            }
            Err(e) => return format!("{text}{e}"),
        }
    }
    text
}

/// Rules of the scoreboard checker on Gen12. In-order instructions write in order.
const RULES: Rules = Rules { in_order_writes: false, ..Rules::STRICT };

/// Checks the scoreboard annotations of a program.
fn scoreboard(generation: Generation, p: &Program) -> Result<(), String> {
    if generation == Generation::Gen9 {
        return Ok(());
    }
    let code = Code::decode(generation, &p.code).map_err(|e| e.to_string())?;
    for rules in [RULES, Rules::MESA] {
        let found = check_scoreboard(&code, rules).map_err(|e| e.to_string())?;
        if let Some(first) = found.first() {
            let text = listing(generation, p);
            return Err(format!(
                "{} accesses without order: {}\n{text}",
                found.len(),
                first.text(&code)
            ));
        }
    }
    Ok(())
}

/// The model without a driver.
struct Model(Machine);

impl Executor for Model {
    type Program = Compiled;

    fn execute(&mut self, p: &Compiled, memory: &mut Memory) -> Result<(), String> {
        let buffers = memory.buffers.iter().map(|(&k, v)| (k, v.clone())).collect();
        let mut bindings = Bindings { buffers, ..Bindings::default() };
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

fn machine(generation: Generation) -> Machine {
    let id = match generation {
        Generation::Gen9 => "skl",
        Generation::Gen12 => "tgl",
    };
    let options = tepui_intel_model::Options {
        threads: 1,
        check: true,
        max_instructions: 1 << 22,
        ..Default::default()
    };
    Machine::new(chip(id).expect("a chip"), options)
}

const GENERATIONS: [Generation; 2] = [Generation::Gen9, Generation::Gen12];

fn run(
    generation: Generation,
    seeds: Range<u64>,
    program: &dyn Fn(u64) -> Shader,
    options: Options<'static>,
    optimised: bool,
) -> Tally {
    let eu = Eu(generation, options);
    let t = differential::check(&eu, || Model(machine(generation)), seeds, program, optimised);
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

/// Runs one program at all widths on both generations.
fn check_text(text: &str) {
    let parse = |_| tepui_ir::parse(text).unwrap_or_else(|e| panic!("{e}"));
    for generation in GENERATIONS {
        for width in [8, 16, 32] {
            run(generation, 0..1, &parse, options(width), false).takes_all(1);
        }
    }
}

fn options(width: u8) -> Options<'static> {
    Options { width, check: true, ..Options::default() }
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
    check_text(TEXT);
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
    check_text(TEXT);
}

/// Reductions and scans of floats: sums of small integers, so that their order does not count.
#[test]
fn reductions_of_floats() {
    const TEXT: &str = "shader compute \"main\" {
  workgroup_size 16 1 1
  resource storage_buffer set 0 binding 0 count 1 2d float \"\"
  body {
    %0:b32 = const[0x0]
    %2:b32 = const[0x200]
    %3:b32 = const[0x7]
    %4:b32 = load_builtin[local_invocation_index]
    %5:b64 = descriptor[@r0] %0
    %6:b32 = imul %4, %2
    %7:b32 = imul %4, %3
    %8:b32 = iand %7, %3
    %9:b32 = u2f %8
    %10:b16 = f2f %9
    %11:b1 = ine %8, %3
    if %11 {
      %12:b32 = reduce[fadd 0] %9
      %13:b32 = inclusive_scan[fadd 0] %9
      %14:b32 = exclusive_scan[fmax 0] %9
      %15:b32 = reduce[fmin 8] %9
      %16:b32 = reduce[fmul 2] %9
      %17:b16 = exclusive_scan[fadd 0] %10
      %18:b16 = reduce[fmax 4] %10
      %19:b32 = f2f %17
      %20:b32 = f2f %18
      %21:b32x4 = vec %12, %13, %14, %15
      store_buffer[align 4] %5, %6, %21
      %22:b32x3 = vec %16, %19, %20
      store_buffer[align 4 offset 16] %5, %6, %22
      yield
    } else {
      yield
    }
    yield
  }
}
";
    check_text(TEXT);
}

/// A loop that begins with its condition, whose channels leave in different rounds: the condition is made again at the end
/// and decides there. A store and a sum within are predicated.
#[test]
fn loops_that_begin_with_their_condition() {
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
    %8:b32 = loop (%9:b32 = %0, %10:b32 = %4) {
      %11:b1 = ult %9, %7
      if %11 {
        yield
      } else {
        break %10
      }
      %12:b32 = iadd %9, %1
      %13:b32 = iand %10, %1
      %14:b1 = ieq %13, %0
      if %14 {
        store_buffer[align 4 offset 4] %5, %6, %12
        yield
      } else {
        yield
      }
      %15:b32 = if %14 {
        %16:b32 = ixor %10, %3
        yield %16
      } else {
        %17:b32 = iadd %10, %1
        yield %17
      }
      continue %12, %15
    }
    store_buffer[align 4] %5, %6, %8
    yield
  }
}
";
    check_text(TEXT);
}

/// Channels that continue before others have used a scalar parameter of the loop, which is the same in all of them.
#[test]
fn channels_that_continue_early() {
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
    %8:b32 = loop (%9:b32 = %0, %10:b32 = %4) {
      %11:b1 = ult %9, %3
      if %11 {
        yield
      } else {
        break %10
      }
      %12:b32 = iadd %9, %1
      %13:b1 = ieq %9, %7
      if %13 {
        continue %12, %10
      } else {
        yield
      }
      %14:b32 = iadd %10, %9
      continue %12, %14
    }
    store_buffer[align 4] %5, %6, %8
    yield
  }
}
";
    check_text(TEXT);
}
