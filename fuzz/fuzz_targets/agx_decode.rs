//! AGX machine code: bytes that decode must encode to the same bytes, and their text must assemble to them;
//! every other input is an error, never a panic or a hang.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tepui_agx_isa::Inst;
use tepui_agx_isa::asm::assemble;
use tepui_agx_isa::disasm::{Content, Disassembler};

fuzz_target!(|code: &[u8]| {
    let mut listing = String::new();
    for line in Disassembler::new(code) {
        if let Content::Inst(inst) = line.content {
            let encoded = inst.encode().expect("what decodes encodes");
            assert_eq!(&*encoded, line.bytes);
            let parsed: Inst = inst.to_string().parse().expect("what prints parses");
            assert_eq!(parsed, inst);
            assert!(inst.operands().len() < inst.operands().capacity());
        }
        listing += &format!("{line}\n");
    }
    assert_eq!(assemble(&listing).expect("a listing assembles"), code);
    // The bytes as assembly: any error will do.
    if let Ok(text) = core::str::from_utf8(code) {
        let _ = assemble(text);
    }
});
