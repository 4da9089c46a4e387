//! Machine code of Intel's execution units: bytes that decode must encode to the same instruction, and their
//! text must assemble to it; every other input is an error, never a panic or a hang. Instructions that decode
//! also form a program, which a thread executes for a while.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tepui_intel_eu::{
    Dispatch, Message, MessageUnit, Outcome, Program, Refusal, Thread, ThreadView,
};
use tepui_intel_isa::{Generation, asm, disasm, validate};

/// A unit that answers each message with its own payload.
struct Echo;

impl MessageUnit for Echo {
    fn send(&mut self, thread: &mut ThreadView<'_>, _: &Message) -> Result<Outcome, Refusal> {
        let payload = thread.payload().to_vec();
        let response = thread.response();
        let bytes = payload.len().min(response.len());
        response[..bytes].copy_from_slice(&payload[..bytes]);
        Ok(Outcome::Done)
    }
}

fuzz_target!(|code: &[u8]| {
    for generation in Generation::ALL {
        let mut listing = String::new();
        for line in disasm::disassemble(generation, code, 0) {
            if let disasm::Content::Inst(inst) = &line.content {
                let mut bytes = Vec::new();
                inst.encode(&mut bytes).expect("what decodes encodes");
                assert!(inst.compacted || bytes == line.bytes);
                let parsed = asm::parse(generation, &inst.to_string());
                assert_eq!(parsed.as_ref(), Ok(&**inst));
                let _ = validate::check(inst);
            }
            listing += &line.labelled();
            listing += "\n";
        }
        let _ = asm::assemble_compacting(generation, &listing);
        if let Ok(text) = core::str::from_utf8(code) {
            let _ = asm::assemble(generation, text);
        }
    }
    for generation in Generation::ALL {
        let Ok(program) = Program::from_bytes(generation, 0, code) else { continue };
        let mut thread = Thread::new();
        thread.start(&Dispatch { mask: 0xffff, ..Dispatch::default() });
        let _ = thread.run(&program, &mut Echo, &mut 5_000);
    }
});
