//! Bifrost: encoding, decoding and text are inverses, for random instructions and bits.

use proptest::prelude::*;
use tepui_mali_isa::bifrost::table::{Op, Unit};
use tepui_mali_isa::bifrost::{Clause, Inst, asm, disasm, manual, random};

/// A source of random bits from a seed (splitmix64).
fn bits(mut seed: u64) -> impl FnMut() -> u64 {
    move || {
        seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = seed;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Whatever decodes encodes to the same bits.
    #[test]
    fn arbitrary_bits(word: u32, seed: u64) {
        for unit in [Unit::Fma, Unit::Add] {
            let word = word & ((1 << unit.bits()) - 1);
            if let Ok(inst) = Inst::decode(unit, word) {
                prop_assert_eq!(inst.encode(), Ok(word), "{:?}", inst);
            }
            let inst = random::inst(unit, &mut bits(seed));
            let word = inst.encode().unwrap();
            prop_assert_eq!(Inst::decode(unit, word), Ok(inst));
        }
    }

    /// Clauses, words and text can be converted to each other.
    #[test]
    fn clauses(seed: u64) {
        let clause = random::clause(&mut bits(seed));
        let code = clause.encode().unwrap();
        prop_assert_eq!(Clause::decode(&code), Ok((clause, code.len() / 16)));
        let text = disasm::program(&code);
        // Some combinations of ports that no compiler makes have no second assembly.
        if let Ok(again) = asm::assemble(&text) {
            let second = disasm::program(&again);
            let same = |text: &str| text.lines().filter(|l| !l.contains("clause_")).map(str::to_owned).collect::<Vec<_>>();
            prop_assert_eq!(same(&text), same(&second));
        }
    }

    /// Arbitrary bytes never panic; if they are a program, its text assembles to them.
    #[test]
    fn arbitrary_code(code in proptest::collection::vec(any::<u8>(), 0..96)) {
        let text = disasm::program(&code);
        let _ = asm::assemble(&text);
    }

    /// Arbitrary text never panics.
    #[test]
    fn arbitrary_text(text in "[A-Zr0-9u@#:{}*+.,\n \\-_a-h]{0,80}") {
        let _ = asm::assemble(&text);
    }
}

#[test]
fn all_rows_have_instances_and_entries() {
    let mut bits = bits(1);
    let all = manual::manual();
    for op in Op::all() {
        assert!(random::inst_of(op, &mut bits).is_some(), "{op}");
        assert!(all.contains(&format!("| `{op}` |")), "{op}");
        assert!(manual::entry(&op.to_string()).is_some_and(|entry| entry.contains(op.row().name)));
    }
    assert_eq!(manual::entry("NO_SUCH_THING"), None);
}
