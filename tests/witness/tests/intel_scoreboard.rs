//! The scoreboard of programs that ANV and iris compile for the virtual Tiger Lake: the checker of `tepui-intel-analysis` finds
//! nothing in them; and each part of an annotation that is taken away, one at a time, is missed by the checker, or nothing
//! along random walks through the program needs it ([`walks`], which defines order in another way).

#[path = "intel/programs.rs"]
#[expect(dead_code, reason = "statistics are for another test")]
mod programs;
#[path = "intel/run.rs"]
mod run;
#[path = "intel/walks.rs"]
mod walks;

use tepui_intel_analysis::Code;
use tepui_intel_analysis::scoreboard::{Rules, check};
use tepui_intel_isa::{Generation, Swsb, Token};

use walks::Part;

/// Parts of annotations by kind: taken away, found by the checker, needed by a walk.
#[derive(Debug, Default)]
struct Count {
    removed: usize,
    found: usize,
    needed: usize,
}

/// The parts of an annotation, and the annotation without each.
fn without(swsb: Swsb) -> Vec<(&'static str, Part, Swsb)> {
    let mut parts = Vec::new();
    if swsb.distance != 0 {
        parts.push(("distance", Part::Distance, Swsb { distance: 0, ..swsb }));
    }
    if let Some((_, token)) = swsb.token {
        let name = match token {
            Token::Set => "token",
            Token::Src => ".src",
            Token::Dst => ".dst",
        };
        parts.push((name, Part::Token, Swsb { token: None, ..swsb }));
    }
    parts
}

#[test]
fn annotations_of_the_driver_order_everything() {
    let programs = programs::collect("tgl");
    let mut counts = std::collections::BTreeMap::<&str, Count>::new();
    let (mut wrong, mut instructions) = (Vec::new(), 0);
    for (n, program) in programs.iter().enumerate() {
        let code = Code::decode(Generation::Gen12, &program.code).expect("a program");
        instructions += code.len();
        let found = check(&code, Rules::MESA).expect("a program within the limits");
        wrong.extend(found.iter().map(|finding| format!("program {n}: {}", finding.text(&code))));
        let walked = walks::walk(&code);
        for (later, earlier) in &walked.unordered {
            wrong.push(format!(
                "program {n}: a walk finds {} after {}",
                code.text(*later),
                code.text(*earlier)
            ));
        }
        for at in 0..code.len() {
            let inst = code.insts()[at];
            for (name, part, swsb) in without(inst.swsb) {
                let mut code = code.clone();
                code.replace(at, tepui_intel_isa::Inst { swsb, ..inst });
                let found = check(&code, Rules::MESA).expect("a program within the limits");
                let needed = walked.needed.contains(&(at, part));
                let count = counts.entry(name).or_default();
                count.removed += 1;
                count.found += usize::from(!found.is_empty());
                count.needed += usize::from(needed);
                // Of code without jumps the only walk is the only path.
                let straight = (0..code.len() - 1).all(|n| code.successors(n) == [n + 1]);
                if needed && found.is_empty() || straight && needed == found.is_empty() {
                    let text = code.text(at);
                    wrong
                        .push(format!("program {n}: {name} of {at} `{text}`: {needed}, {found:?}"));
                }
            }
        }
    }
    println!("{} programs, {instructions} instructions: {counts:#?}", programs.len());
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
    let sum = |of: fn(&Count) -> usize| counts.values().map(of).sum::<usize>();
    let (removed, found, needed) = (sum(|c| c.removed), sum(|c| c.found), sum(|c| c.needed));
    // Walks do not take every path that the checker follows.
    assert!(removed > 10_000 && 100 * needed > 90 * found, "{removed} {found} {needed}");
}
