//! Scoreboard annotations of Gen12: the checker notices if one of them is missing.
//!
//! Nearly every part is needed: the pass and the checker join paths differently, so that a few annotations where paths
//! meet are needed for the pass alone. Tokens for which nothing waits are set all the same.

use tepui_intel_analysis::Code;
use tepui_intel_analysis::scoreboard::{Rules, check};
use tepui_intel_compiler::{Options, compile};
use tepui_intel_isa::{Generation, Inst, Opcode, SyncFunction, Token};
use tepui_ir_gen::{Config, program};

const GENERATION: Generation = Generation::Gen12;

/// In-order instructions write in order.
const RULES: Rules = Rules { in_order_writes: false, ..Rules::STRICT };

const CONFIG: Config = Config { div_zero: false, subgroups: false, ..Config::all() };

/// The instruction without one part of its annotation.
fn mutants(inst: &Inst) -> Vec<(&'static str, Inst)> {
    let mut all = Vec::new();
    let mut add = |name, change: &dyn Fn(&mut Inst)| {
        let mut mutant = *inst;
        change(&mut mutant);
        all.push((name, mutant));
    };
    // The last message has @1 in any case.
    let ends = inst.opcode.is_send() && inst.send.end_of_thread;
    if inst.swsb.distance > 0 && !ends {
        add("distance", &|i| i.swsb.distance = 0);
        if inst.swsb.distance < 7 {
            add("farther", &|i| i.swsb.distance += 1);
        }
    }
    match inst.swsb.token {
        Some((_, Token::Set)) => add("set", &|i| i.swsb.token = None),
        Some((_, Token::Src)) => add("source", &|i| i.swsb.token = None),
        Some((id, Token::Dst)) => {
            add("result", &|i| i.swsb.token = None);
            if inst.swsb.distance == 0 {
                add("only source", &move |i| i.swsb.token = Some((id, Token::Src)));
            }
        }
        None => {}
    }
    let mask = inst.src[0].immediate_bits();
    if let (Opcode::Sync, Some(mask)) = (inst.opcode, mask) {
        let several =
            [SyncFunction::AllWr as u8, SyncFunction::AllRd as u8].contains(&inst.function);
        for bit in (0..16).filter(|bit| several && mask >> bit & 1 != 0) {
            add("one of several", &move |i| {
                i.src[0] = tepui_intel_isa::Src::immediate(i.src[0].ty, mask & !(1 << bit));
            });
        }
    }
    all
}

#[test]
fn annotations_are_needed() {
    let mut counts = std::collections::BTreeMap::<&str, [u32; 2]>::new();
    for seed in 0..12 {
        for width in [8, 16] {
            let mut s = program(seed, &CONFIG);
            let registers = if seed % 2 == 0 { 0 } else { 2 * u16::from(width) };
            let options = Options { width, registers, ..Options::default() };
            let p = compile(&mut s, GENERATION, &options).expect("compiles");
            let mut code = Code::decode(GENERATION, &p.code).expect("decodes");
            assert_eq!(check(&code, RULES), Ok(Vec::new()), "seed {seed}");
            for n in 0..code.len() {
                let inst = code.insts()[n];
                for (name, mutant) in mutants(&inst) {
                    code.replace(n, mutant);
                    let found = check(&code, RULES).expect("is analysed");
                    let [noticed, all] = counts.entry(name).or_default();
                    *all += 1;
                    *noticed += u32::from(!found.is_empty());
                }
                code.replace(n, inst);
            }
        }
    }
    println!("{counts:?}");
    let mut total = [0, 0];
    for (name, [noticed, all]) in counts {
        let [missed, few] = [all - noticed, if name == "set" { all / 10 } else { all / 50 }];
        assert!(all > 100 && missed <= few, "{name}: {noticed} of {all}");
        if name != "set" {
            total = [total[0] + missed, total[1] + all];
        }
    }
    assert!(1000 * total[0] <= total[1], "{} of {} are not noticed", total[0], total[1]);
}
