//! Machine code of Intel's execution units in the analyses: cycles and the software scoreboard give a result or an error, never a
//! panic or a hang; and one path through the program finds nothing that all paths together do not.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tepui_intel_analysis::scoreboard::{Rules, Tracker, check};
use tepui_intel_analysis::{Code, cycles, report};
use tepui_intel_isa::{Generation, disasm};

fuzz_target!(|bytes: &[u8]| {
    for generation in Generation::ALL {
        let end = disasm::end(generation, bytes).min(bytes.len());
        let Ok(code) = Code::decode(generation, &bytes[..end]) else { continue };
        let estimate = cycles::estimate(&code, cycles::width(&code));
        assert_eq!(estimate.listing.len(), code.len());
        let _ = report::text(&code, &estimate);
        for rules in [Rules::MESA, Rules::STRICT] {
            let Ok(all) = check(&code, rules) else { continue };
            let mut tracker = Tracker::new(&code, rules);
            let mut n = 0;
            for _ in 0..200 {
                if n >= code.len() {
                    break;
                }
                tracker.execute(n, [0; 2], |finding| {
                    let pair = (finding.consumer, finding.producer, finding.hazard);
                    let known = all.iter().any(|f| (f.consumer, f.producer, f.hazard) == pair);
                    assert!(known, "{}", finding.text(&code));
                });
                match code.successors(n).last() {
                    Some(&next) => n = next,
                    None => break,
                }
            }
        }
    }
});
