//! Encoding, decoding and text are inverses, for random instructions and random bits.

use proptest::prelude::*;
use tepui_intel_isa::{Generation, Inst, Opcode, asm, compact, random};

fn generation() -> impl Strategy<Value = Generation> {
    prop_oneof![Just(Generation::Gen9), Just(Generation::Gen12)]
}

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

/// Bytes, instruction and text agree.
fn agree(inst: &Inst) -> Result<(), TestCaseError> {
    let mut bytes = Vec::new();
    inst.encode(&mut bytes).unwrap();
    let decoded = Inst::decode(inst.generation, &bytes, 0);
    prop_assert_eq!(decoded.as_ref(), Ok(inst), "{}", inst);
    let text = inst.to_string();
    let parsed = asm::parse(inst.generation, &text);
    prop_assert_eq!(parsed.as_ref(), Ok(inst), "{}", text);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn instructions(generation in generation(), seed: u64) {
        agree(&random::inst(generation, &mut bits(seed)))?;
    }

    /// A compacted form decodes to its instruction and back. If an immediate covers bits of a pattern,
    /// several compacted forms are the same instruction; one of them is encoded.
    #[test]
    fn compacted(generation in generation(), short: u64) {
        let short = short | 1 << 29;
        let Ok(inst) = Inst::decode(generation, &short.to_le_bytes(), 0) else { return Ok(()) };
        prop_assert!(inst.compacted);
        agree(&inst)?;
        let long = inst.encode_long().unwrap();
        let encoded = compact::compact(generation, long).unwrap();
        prop_assert_eq!(compact::expand(generation, encoded), compact::expand(generation, short));
    }

    /// Whatever decodes encodes to the same bits.
    #[test]
    fn arbitrary_bits(generation in generation(), long: u128, op in 0..Opcode::ALL.len()) {
        let Some(code) = Opcode::ALL[op].code(generation) else { return Ok(()) };
        let long = long & !0x2000_00ff | u128::from(code);
        let Ok(inst) = Inst::decode(generation, &long.to_le_bytes(), 0) else { return Ok(()) };
        agree(&inst)?;
    }

    /// Arbitrary text never panics.
    #[test]
    fn arbitrary_text(generation in generation(), text in "[a-z0-9(){}<>,.;: \\-+UDFW]{0,80}") {
        let _ = asm::assemble(generation, &text);
    }

    /// Damaged text of an instruction never panics.
    #[test]
    fn damaged_text(generation in generation(), seed: u64, at in 0usize..200, with in "\\PC{0,3}") {
        let mut text = random::inst(generation, &mut bits(seed)).to_string();
        if let Some((from, c)) = text.char_indices().nth(at % text.chars().count()) {
            text.replace_range(from..from + c.len_utf8(), &with);
        }
        let _ = asm::assemble_compacting(generation, &text);
    }
}

/// The random instructions reach every operation.
#[test]
fn all_operations_occur() {
    for generation in Generation::ALL {
        let mut missing: Vec<Opcode> =
            Opcode::ALL.iter().copied().filter(|op| op.code(generation).is_some()).collect();
        let mut bits = bits(1);
        for _ in 0..20_000 {
            let opcode = random::inst(generation, &mut bits).opcode;
            missing.retain(|op| *op != opcode);
        }
        assert_eq!(missing, []);
    }
}
