//! Machine code of Valhall, Bifrost and Midgard: bytes that decode must encode to the same word, Valhall's text must
//! parse to the same instruction, and Midgard's exact text must assemble to the same bytes; every other input is an
//! error, never a panic or a hang. Programs of Valhall are checked for waits.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tepui_mali_isa::{asm, bifrost, disasm, midgard, validate};

fuzz_target!(|code: &[u8]| {
    for line in disasm::disassemble(code, 0) {
        if let disasm::Content::Inst(inst) = &line.content {
            let word = inst.encode().expect("what decodes encodes");
            assert_eq!(word.to_le_bytes(), line.bytes[..]);
            assert_eq!(asm::parse(&inst.to_string()).as_ref(), Ok(&**inst));
            let _ = validate::check(inst);
        }
    }
    if let Ok(program) = tepui_mali_analysis::Code::decode(code)
        && let Ok(found) = tepui_mali_analysis::check(&program, false)
    {
        found.iter().for_each(|finding| assert!(!finding.text(&program).is_empty()));
    }
    let _ = asm::assemble(&disasm::program(code));
    for part in bifrost::disasm::parts(code, 0) {
        if let bifrost::disasm::Content::Clause(clause) = &part.content {
            let bytes = clause.encode().expect("what decodes encodes");
            assert_eq!(bytes, code[part.offset..part.offset + part.length]);
        }
    }
    for part in midgard::disasm::parts(code, 0) {
        if let Ok(bundle) = &part.content {
            let bytes = bundle.encode();
            assert_eq!(bytes[..], code[part.offset..part.offset + part.length]);
        }
        let _ = part.text(code);
    }
    assert_eq!(midgard::asm::assemble(&midgard::disasm::exact(code)).as_deref(), Ok(code));
    let _ = midgard::asm::assemble(&midgard::disasm::program(code));
    let _ = bifrost::asm::assemble(&bifrost::disasm::program(code));
    if let Ok(text) = core::str::from_utf8(code) {
        let _ = asm::assemble(text);
        let _ = bifrost::asm::assemble(text);
        let _ = midgard::asm::assemble(text);
    }
});
