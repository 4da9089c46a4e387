//! Cycles that ANV's compiler and iris' print of the programs that they make for the virtual Skylake and Tiger Lake, against
//! those of `tepui-intel-analysis` for the same machine code.
//!
//! Cycles and loops must be equal. So must messages, less those that spill, which Mesa counts as spills and fills. Mesa's number of
//! instructions is without each `nop` after `math pow` and each `sync.nop` of its scoreboard pass; others of those count
//! there, and the machine code does not say which are which.

#[path = "intel/programs.rs"]
mod programs;
#[path = "intel/run.rs"]
mod run;

use tepui_intel_analysis::{Code, cycles, estimate};
use tepui_intel_isa::{Generation, Opcode, SyncFunction};

use programs::Program;

/// Programs that differ: the beginning of their statistics, and how. Not understood yet: a compute shader with fine derivatives in Y.
const DIFFERENT: [(&str, &str); 1] = [(
    "SIMD8 shader: 76 instructions. 0 loops. 1526 cycles. 0:0 spills:fills, 11 sends,",
    "cycles: Some(1524), and Some(1526)",
)];

fn check(gpu: &str, generation: Generation) {
    let programs = programs::collect(gpu);
    let (mut instructions, mut loops, mut wrong) = (0, 0, Vec::new());
    for (n, program) in programs.iter().enumerate() {
        let code = Code::decode(generation, &program.code)
            .unwrap_or_else(|error| panic!("program {n}, {}: {error}", program.statistics));
        if let Err(difference) = compare(&code, program) {
            let is_known =
                |k: &(&str, &str)| program.statistics.starts_with(k.0) && difference == k.1;
            if DIFFERENT.iter().any(is_known) {
                continue;
            }
            wrong.push(format!("program {n}, {}: {difference}", program.statistics));
        }
        instructions += code.len();
        loops += code.loops().count();
    }
    println!("{gpu}: {} programs, {instructions} instructions, {loops} loops", programs.len());
    assert!(programs.len() > 500 && loops > 20, "{} {loops}", programs.len());
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

fn compare(code: &Code, program: &Program) -> Result<(), String> {
    let width = program.width();
    if cycles::width(code) > width {
        return Err(format!("{} channels found", cycles::width(code)));
    }
    let found = estimate(code, width);
    let sends = found.sends.checked_sub(program.spills());
    let all =
        [("cycles", Some(found.cycles as usize)), ("sends", sends), ("loops", Some(found.loops))];
    for (name, ours) in all {
        let theirs = program.statistic(name);
        if ours.is_none() || theirs != ours {
            return Err(format!("{name}: {ours:?}, and {theirs:?}"));
        }
    }
    let left_out = code.insts().iter().filter(|inst| {
        inst.opcode == Opcode::Nop
            || inst.opcode == Opcode::Sync && inst.function == SyncFunction::Nop as u8
    });
    let least = found.instructions - left_out.count();
    match program.statistic("instructions") {
        Some(theirs) if (least..=found.instructions).contains(&theirs) => Ok(()),
        theirs => Err(format!("instructions: {least} to {}, and {theirs:?}", found.instructions)),
    }
}

#[test]
fn cycles_on_skylake_are_those_of_the_driver() {
    check("skl", Generation::Gen9);
}

#[test]
fn cycles_on_tiger_lake_are_those_of_the_driver() {
    check("tgl", Generation::Gen12);
}
