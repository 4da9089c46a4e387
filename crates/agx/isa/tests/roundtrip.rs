//! Encoder, decoder and text are inverses of each other, for every row.

use proptest::prelude::*;
use tepui_agx_isa::random::Source;
use tepui_agx_isa::{Inst, ROWS};

fn check(inst: Inst) {
    let bytes = inst.encode().unwrap_or_else(|e| panic!("{inst:?}: {e}"));
    let (back, len) = Inst::decode(&bytes).unwrap_or_else(|e| panic!("{inst:?}: {e}"));
    assert_eq!((back, len), (inst, bytes.len()), "decoded from {bytes:?}");
    // The bytes after an instruction do not influence it.
    for next in [0x00, 0x6f, 0xff] {
        let mut stream = bytes.to_vec();
        stream.resize(16, next);
        assert_eq!(Inst::decode(&stream), Ok((inst, len)), "{bytes:?} before {next:02x}…");
    }
    let text = inst.to_string();
    let parsed: Inst = text.parse().unwrap_or_else(|e| panic!("`{text}` ({bytes:?}): {e}"));
    assert_eq!(parsed, inst, "parsed from `{text}`");
}

#[test]
fn default_instances_survive() {
    for row in 0..ROWS.len() {
        check(Inst::default_of(row).unwrap());
    }
}

#[test]
fn random_instances_survive() {
    let mut source = Source::new(1);
    for row in 0..ROWS.len() {
        for _ in 0..200 {
            let inst = source.inst_of(row);
            assert_eq!(inst.row(), row);
            check(inst);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4096, failure_persistence: None, ..Default::default() })]

    #[test]
    fn instances_of_any_seed_survive(seed: u64) {
        check(Source::new(seed).inst());
    }

    #[test]
    fn what_decodes_encodes_to_the_same_bytes(bytes in prop::collection::vec(any::<u8>(), 0..16)) {
        if let Ok((inst, len)) = Inst::decode(&bytes) {
            prop_assert_eq!(&*inst.encode().unwrap(), &bytes[..len]);
            check(inst);
        }
    }
}
