//! The manual holds every operation, type, field and rule.

use tepui_intel_isa::validate::Rule;
use tepui_intel_isa::{Generation, Opcode, manual};

#[test]
fn everything_has_a_place() {
    for generation in Generation::ALL {
        let all = manual::manual(generation);
        for opcode in Opcode::ALL {
            let known = opcode.code(generation).is_some();
            assert_eq!(all.contains(&format!("| `{opcode}` |")), known, "{opcode}");
            let entry = manual::entry(generation, opcode.mnemonic());
            assert_eq!(entry.is_some_and(|e| e.contains(opcode.summary())), known, "{opcode}");
        }
        for rule in Rule::ALL {
            assert!(all.contains(&rule.to_string()));
        }
    }
    assert_eq!(manual::entry(Generation::Gen9, "no_such_thing"), None);
}
