//! The manual holds every instruction, value and rule.

use tepui_mali_isa::modifier::{KINDS, fields};
use tepui_mali_isa::validate::Rule;
use tepui_mali_isa::{Op, Special, manual};

#[test]
fn everything_has_a_place() {
    let all = manual::manual();
    for op in Op::all() {
        assert!(all.contains(&format!("| `{op}` |")), "{op}");
        let entry = manual::entry(op.row().name).expect("an entry");
        assert!(entry.contains(op.row().summary.trim()), "{op}");
    }
    for kind in KINDS {
        for name in kind.values.iter().flatten() {
            assert!(all.contains(&format!("`{name}`")), "{name}");
        }
    }
    for flag in fields::FLAGS {
        assert!(all.contains(flag.kind.doc));
    }
    for special in Special::ALL {
        assert!(all.contains(special.name()));
    }
    for rule in Rule::ALL {
        assert!(all.contains(&rule.to_string()));
    }
    assert_eq!(manual::entry("NO_SUCH_THING"), None);
    let entry = manual::entry("FADD").expect("both widths");
    assert!(entry.contains("### FADD.f32") && entry.contains("### FADD.v2f16"));
}
