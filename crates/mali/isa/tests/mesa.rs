//! The test cases of Mesa's assembler and disassembler: bytes with their text, and invalid text.
//!
//! They are part of Mesa's source, which `tools/mesa source` downloads from Debian.

use std::path::{Path, PathBuf};
use std::process::Command;

use tepui_mali_isa::{Inst, Op, asm, validate};

/// The folder with the cases.
fn cases() -> PathBuf {
    let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tools/mesa");
    let output = Command::new(tool).arg("source").output().expect("tools/mesa runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "tools/mesa source: {errors}");
    let root = PathBuf::from(String::from_utf8(output.stdout).expect("a path").trim());
    root.join("src/panfrost/compiler/valhall/test")
}

/// The value of an attribute of an XML tag.
fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = tag.split_once(&format!(" {name}=\""))?;
    Some(rest.split_once('"')?.0)
}

fn number(text: &str) -> u16 {
    match text.strip_prefix("0x") {
        Some(hex) => u16::from_str_radix(hex, 16).expect("a number"),
        None => text.parse().expect("a number"),
    }
}

/// Mesa's own table has the same instructions, opcodes and numbers of sources and immediates.
#[test]
fn the_table_is_mesa_s() {
    let path = cases().join("../ISA.xml");
    let text = std::fs::read_to_string(path).expect("the table");
    // Comments contain instructions that are not part of the table.
    let kept = text.split("<!--").map(|part| part.split_once("-->").map_or(part, |(_, rest)| rest));
    let text: String = kept.collect();
    let (mut group, mut element, mut count) = ("", "", 0);
    // The names of the element that is being read, and the numbers of its sources and immediates.
    let mut open: Vec<(&str, String)> = Vec::new();
    let mut parts = (0, 0);
    for tag in text.split('<').skip(1) {
        let name = tag.split(|c: char| !c.is_alphanumeric() && c != '/').next();
        let name = name.unwrap_or("").trim_end_matches('/');
        match name {
            "group" => (group, element) = (tag, "group"),
            "ins" => {
                open.push((tag, attribute(tag, "name").expect("a name").to_owned()));
                let closed = tag.split('>').next().is_some_and(|t| t.ends_with('/'));
                if !closed && group.is_empty() {
                    element = "ins";
                }
            }
            "src" if !tag.contains("pseudo") => parts.0 += 1,
            "imm" => parts.1 += 1,
            _ => {}
        }
        if name.strip_prefix('/').is_some_and(|end| end == element && !end.is_empty()) {
            for (tag, name) in open.drain(..) {
                let of = |what| attribute(tag, what).or(attribute(group, what)).map(number);
                let op = Op::from_name(&name).unwrap_or_else(|| panic!("{name}"));
                let row = op.row();
                let found = (Some(row.opcode), row.second);
                assert_eq!(found, (of("opcode"), of("opcode2").unwrap_or(0)), "{name}");
                let found = (row.form.sources.len(), row.form.immediates.len());
                assert_eq!(found, parts, "{name}");
                count += 1;
            }
            (group, element, parts) = ("", "", (0, 0));
        }
    }
    assert_eq!(count, 252);
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

/// Cases of invalid text that Mesa's list writes in an older syntax are refused in the present syntax too,
/// for the same reason.
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
