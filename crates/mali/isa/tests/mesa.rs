//! The test cases of Mesa's assembler and disassembler: bytes beside text, and text that is wrong.
//!
//! They are part of Mesa's source, which `tools/mesa source` downloads from Debian.

use std::path::{Path, PathBuf};
use std::process::Command;

use tepui_mali_isa::{Inst, asm, validate};

/// The folder with the cases.
fn cases() -> PathBuf {
    let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tools/mesa");
    let output = Command::new(tool).arg("source").output().expect("tools/mesa runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "tools/mesa source: {errors}");
    let root = PathBuf::from(String::from_utf8(output.stdout).expect("a path").trim());
    root.join("src/panfrost/compiler/valhall/test")
}

fn lines(name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(cases().join(name)).expect("the cases");
    let wanted = |line: &&str| !line.is_empty() && !line.starts_with('#');
    text.lines().filter(wanted).map(str::to_owned).collect()
}

#[test]
fn text_and_bytes_lead_to_each_other() {
    let cases = lines("assembler-cases.txt");
    let mut count = 0;
    for case in &cases {
        let (bytes, text) = case.split_once("    ").expect("bytes and text");
        let code = asm::hex_bytes(bytes).expect("bytes");
        let inst = Inst::decode_at(&code, 0).unwrap_or_else(|error| panic!("{case}: {error}"));
        assert_eq!(inst.to_string().trim_end(), text.trim_end(), "{bytes}");
        assert_eq!(inst.unusual, 0, "{case}");
        assert_eq!(asm::assemble(text).as_ref(), Ok(&code), "{case}");
        // A whole line of Mesa's listing is assembly too.
        assert_eq!(asm::assemble(case), Ok(code), "{case}");
        count += 1;
    }
    assert_eq!(count, 244);
}

#[test]
fn wrong_text_is_refused() {
    let cases = lines("negative-cases.txt");
    assert_eq!(cases.len(), 25);
    for case in &cases {
        assert!(asm::assemble(case).is_err(), "{case}");
    }
}

/// Cases that Mesa's list writes with an older syntax are refused for what they are about in the
/// present one too.
#[test]
fn wrong_text_is_refused_for_its_reason() {
    use validate::Rule;
    let cases = [
        ("IADD.u32 r0, lane_id.w0, core_id.w0", Rule::Slots),
        ("IADD.u32 r0, thread_local_pointer.w0, workgroup_local_pointer.w0", Rule::Slots),
        ("FADD.f32 r0, u0, u4", Rule::Slots),
        ("FMA.f32 r0, u0, u1, 0x0", Rule::Words),
        ("LOAD.i32.unsigned.slot0.wait0 @r1:r2, ^r0, offset:0", Rule::Staging),
        ("STORE.i32.slot0.reconverge @r3:r4:r5, ^r2, offset:0", Rule::Staging),
        ("STORE.i32.slot0 @r3, ^r1, offset:0", Rule::Pair),
        ("STORE.i32.slot0 @r3, lane_id.w0, offset:0", Rule::Message),
        ("BARRIER.slot0.wait", Rule::BarrierSlot),
        ("BARRIER.slot7", Rule::BarrierFlow),
    ];
    for (text, rule) in cases {
        let inst = asm::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(validate::check(&inst), Err(rule), "{text}");
        assert!(asm::assemble(text).is_err());
    }
}
