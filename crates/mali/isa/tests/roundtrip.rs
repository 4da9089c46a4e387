//! Encoding, decoding and text are inverses, for random instructions and random bits.

use proptest::prelude::*;
use tepui_mali_isa::{Inst, Op, asm, disasm, random, validate};

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

/// Word, instruction and text agree.
fn agree(inst: &Inst) -> Result<(), TestCaseError> {
    let word = inst.encode().unwrap();
    let decoded = Inst::decode(word);
    prop_assert_eq!(decoded.as_ref(), Ok(inst), "{:#x} {}", word, inst);
    let text = inst.to_string();
    let parsed = asm::parse(&text);
    prop_assert_eq!(parsed.as_ref(), Ok(inst), "{}", text);
    let assembled = asm::assemble(&text);
    prop_assert_eq!(assembled.is_ok(), validate::check(inst).is_ok());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn instructions(seed: u64) {
        agree(&random::inst(&mut bits(seed)))?;
    }

    /// Whatever decodes encodes to the same bits.
    #[test]
    fn arbitrary_bits(word: u64, op in 0..253usize) {
        let row = Op::all().nth(op).unwrap().row();
        let word = word & !(0x1ff << 48) | row.fixed();
        let Ok(inst) = Inst::decode(word) else { return Ok(()) };
        prop_assert_eq!(inst.encode(), Ok(word));
        agree(&inst)?;
    }

    /// A listing of arbitrary bytes assembles to them if it violates no rule.
    #[test]
    fn listings(code in proptest::collection::vec(any::<u8>(), 0..64)) {
        for line in disasm::disassemble(&code, 0) {
            match asm::assemble(&line.text()) {
                Ok(bytes) => prop_assert_eq!(bytes, line.bytes),
                Err(_) => prop_assert!(matches!(line.content, disasm::Content::Inst(_))),
            }
        }
    }

    /// Arbitrary text never panics.
    #[test]
    fn arbitrary_text(text in "[A-Zr0-9u^@#:{}.,;x \\-_a-h]{0,80}") {
        let _ = asm::assemble(&text);
    }

    /// Damaged text of an instruction never panics.
    #[test]
    fn damaged_text(seed: u64, at in 0usize..200, with in "\\PC{0,3}") {
        let mut text = random::inst(&mut bits(seed)).to_string();
        if let Some((from, c)) = text.char_indices().nth(at % text.chars().count()) {
            text.replace_range(from..from + c.len_utf8(), &with);
        }
        let _ = asm::assemble(&text);
    }
}

/// Each row has random instances that are not its default, and its default is an instance too.
#[test]
fn all_rows_have_instances() {
    let mut bits = bits(1);
    for op in Op::all() {
        let default = Inst::new(op);
        assert_eq!(Inst::decode(default.encode().unwrap()), Ok(default.clone()));
        let others = (0..8).filter(|_| random::inst_of(op, &mut bits) != default).count();
        assert!(others > 0, "{op}");
    }
}

/// Newer versions of Mesa mark the last use of a register after it, and use other names.
#[test]
fn newer_text_is_understood() {
    for (newer, older) in [
        ("IADD.s32 r0, r60^, r0^", "IADD.s32 r0, ^r60, ^r0"),
        ("RSHIFT_OR.i32 r1, r1^, 0x1000000.b33, 0x0", "RSHIFT_OR.i32 r1, ^r1, 0x1000000.b33, 0x0"),
        (
            "LD_PKA.i32.unsigned.slot0.wait0 @r1, u4, u5",
            "LD_BUFFER.i32.unsigned.slot0.wait0 @r1, u4, u5",
        ),
        ("LEA_PKA.slot2.wait2 @r2:r3, r0^, u6", "LEA_BUFFER.slot2.wait2 @r2:r3, ^r0, u6"),
    ] {
        let inst = asm::parse(newer).unwrap_or_else(|error| panic!("{newer}: {error}"));
        assert_eq!(inst.to_string(), older);
    }
    assert!(asm::parse("FADD_PKA.f32 r0, r1, r2").is_err());
}

#[test]
fn labels_are_offsets_of_branches() {
    let source = "begin:\n NOP\n BRANCHZ.reconverge r0, offset:end // forward\n\
                  BRANCHZ.eq.reconverge ^r1, offset:begin\nend: NOP.end\n.zero 16";
    let code = asm::assemble(source).unwrap();
    assert_eq!(code.len(), 48);
    let text: Vec<String> = disasm::disassemble(&code, 0).map(|line| line.text()).collect();
    assert_eq!(text[1], "BRANCHZ.reconverge r0, offset:1");
    assert_eq!(text[2], "BRANCHZ.eq.reconverge ^r1, offset:-3");
    assert_eq!(text[4], ".zero 16");
    assert_eq!(asm::assemble(&disasm::program(&code)), Ok(code));
    let errors = asm::assemble("NOP\nBRANCHZ.reconverge r0, offset:nowhere").unwrap_err();
    assert_eq!(errors[0].to_string(), "2:31: label `nowhere` is not defined");
    let errors = asm::assemble("FADD.f32 r0, r1, r64").unwrap_err();
    assert!(errors[0].to_string().starts_with("1:18: expected a register"), "{}", errors[0]);
}
