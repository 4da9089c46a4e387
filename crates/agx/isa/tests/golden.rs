//! Listings that other programs vouch for, both ways: bytes to text and text to bytes.
//!
//! `known.txt` is code of applegpu's hardware tests, `mesa.txt` is packed by Mesa's compiler, the
//! others are random instances that applegpu's disassembler prints the same.

use std::fs;
use std::path::Path;

use tepui_agx_isa::asm::hex_bytes;
use tepui_agx_isa::{Inst, ROWS};

#[test]
fn listings_agree() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut rows = vec![false; ROWS.len()];
    let mut lines = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let content = fs::read_to_string(&path).unwrap();
        for (i, line) in content.lines().enumerate().filter(|(_, l)| !l.starts_with('#')) {
            let at = format!("{}:{}", path.display(), i + 1);
            let (hex, text) = line.split_once(' ').unwrap_or((line, ""));
            let (bytes, text) = (hex_bytes(hex).unwrap(), text.trim());
            let (inst, len) = Inst::decode(&bytes).unwrap_or_else(|e| panic!("{at}: {e}"));
            assert_eq!(len, bytes.len(), "{at}");
            assert_eq!(inst.to_string(), text, "{at}");
            let parsed = Inst::parse(text, None).unwrap_or_else(|e| panic!("{at}: {e}"));
            assert_eq!(parsed, inst, "{at}");
            assert_eq!(*parsed.encode().unwrap(), *bytes, "{at}");
            rows[inst.row()] = true;
            lines += 1;
        }
    }
    let missing: Vec<_> = ROWS.iter().zip(rows).filter(|(_, r)| !r).map(|(d, _)| d.name).collect();
    // applegpu cannot tell these from `stack_load` and `stack_store`, and Mesa has no such thing.
    assert_eq!(missing, ["StackGetPtr", "StackAdjustReg"]);
    assert!(lines > 800, "{lines} lines");
}
