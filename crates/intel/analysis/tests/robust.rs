//! Random programs: no analysis panics, and what one path finds all paths together find, too.

use tepui_intel_analysis::scoreboard::{Rules, Tracker, check};
use tepui_intel_analysis::{Code, cycles, report};
use tepui_intel_isa::{Form, Generation, Inst, random};

/// Marsaglia's xorshift.
fn generator(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    }
}

/// Random instructions of which jumps lead to one of them.
fn program(generation: Generation, seed: u64) -> Vec<Inst> {
    let mut bits = generator(seed);
    let count = 4 + bits() % 24;
    let mut insts: Vec<Inst> = (0..count)
        .map(|_| {
            let mut inst = random::inst(generation, &mut bits);
            inst.compacted = false;
            inst
        })
        .filter(|inst| !matches!(inst.form(), Form::Jump | Form::Call))
        .collect();
    let last = insts.len() as u64;
    for (n, inst) in insts.iter_mut().enumerate() {
        let mut jump = || ((bits() % last) as i32 - n as i32) * 16;
        (inst.jip, inst.uip) = (jump(), jump());
    }
    insts
}

#[test]
fn random_programs_are_analysed() {
    let (mut analysed, mut findings, mut of_paths) = (0, 0, 0);
    for seed in 0..2000 {
        for generation in Generation::ALL {
            // Returns from subroutines are refused.
            let Ok(code) = Code::new(program(generation, seed)) else { continue };
            let estimate = cycles::estimate(&code, cycles::width(&code));
            assert_eq!(estimate.listing.len(), code.len());
            assert!(report::text(&code, &estimate).lines().count() > code.len());
            let Ok(all) = check(&code, Rules::MESA) else { continue };
            analysed += 1;
            findings += all.len();
            let mut tracker = Tracker::new(&code, Rules::MESA);
            let (mut n, mut bits) = (0, generator(seed));
            for _ in 0..100 {
                tracker.execute(n, [0; 2], |finding| {
                    of_paths += 1;
                    let key = (finding.consumer, finding.producer, finding.hazard);
                    let known = all.iter().any(|f| (f.consumer, f.producer, f.hazard) == key);
                    assert!(known, "seed {seed}: {}", finding.text(&code));
                });
                let next = code.successors(n);
                match next.get(bits() as usize % next.len().max(1)) {
                    Some(&to) if to < code.len() => n = to,
                    _ => break,
                }
            }
        }
    }
    assert!(
        analysed > 500 && findings > 1000 && of_paths > 1000,
        "{analysed} {findings} {of_paths}"
    );
}

#[test]
fn random_bytes_are_errors_or_programs() {
    let mut bits = generator(7);
    for _ in 0..1000 {
        let bytes: Vec<u8> = (0..bits() % 100).map(|_| bits() as u8).collect();
        for generation in Generation::ALL {
            if let Ok(code) = Code::decode(generation, &bytes) {
                let _ = cycles::estimate(&code, cycles::width(&code));
                let _ = check(&code, Rules::STRICT);
            }
        }
    }
}
