//! Programs of Tepui's compiler for Intel GPUs, read by Intel's disassembler `iga64`: of third-party shaders of all stages,
//! for both generations and each number of channels. Every instruction has the text that `tepui-intel-isa` decodes.

#[path = "intel/iga.rs"]
mod iga;
#[path = "intel/run.rs"]
mod run;

use tepui_compiler_test::corpus;
use tepui_intel_compiler::{Options, compile};
use tepui_intel_isa::{Generation, Inst};

/// Shaders between two whose programs are read.
const STEP: usize = 4;

fn reads(generation: Generation) {
    let (mut code, mut starts, mut n) = (Vec::new(), Vec::new(), 0);
    corpus::each(&mut |entry| {
        n += 1;
        if n % STEP != 0 {
            return;
        }
        let mut shader = entry.shader.clone();
        let Ok(p) = compile(&mut shader, generation, &Options::default()) else { return };
        for v in &p.variants {
            starts.push((code.len(), format!("{} SIMD{}", entry.name, v.width)));
            code.extend_from_slice(&p.code[v.offset as usize..][..v.stats.bytes as usize]);
        }
    });
    let file = run::fresh_folder(&format!("intel-iga-{generation}")).join("programs.bin");
    std::fs::write(&file, &code).expect("the programs are written");
    let theirs = run::iga64(generation, &file).expect("iga64 reads the programs");
    let (mut at, mut compacted, mut wrong) = (0, 0, Vec::new());
    for line in &theirs {
        let inst = Inst::decode(generation, &code, at).expect("an instruction");
        let (ours, theirs) = (iga::text(&inst, at), iga::normalized(line));
        // iga64 reads operands of Align16 as if they were those of Align1.
        if ours != theirs && !inst.align16 {
            let program = &starts[starts.partition_point(|start| start.0 <= at) - 1].1;
            wrong.push(format!("{program}\n  {theirs}\n  {ours}"));
        }
        compacted += usize::from(inst.compacted);
        at += inst.bytes();
    }
    println!("{generation}: {} instructions of {} programs", theirs.len(), starts.len());
    wrong.truncate(20);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(at, code.len(), "iga64 reads all bytes");
    assert!(starts.len() > 300 && 4 * compacted > theirs.len(), "{} {compacted}", starts.len());
}

#[test]
fn of_skylake() {
    reads(Generation::Gen9);
}

#[test]
fn of_tiger_lake() {
    reads(Generation::Gen12);
}
