//! Runs `tepui asm`, `disasm` and `isa` as commands.

use std::fs;
use std::io::Write;
use std::process::{Command, Output, Stdio};

fn tepui(args: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tepui"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn assembly_and_listing_are_inverses() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("code.bin");
    let path = file.to_str().unwrap();
    let source = "top: fadd32 r0, r1, 0.5\njmp_exec_any top\nstop\n";
    assert!(tepui(&["asm", "--isa", "agx", "-o", path], source).status.success());
    let listing = tepui(&["disasm", "--isa", "agx", path], "");
    assert!(listing.status.success());
    assert_eq!(
        text(&listing.stdout),
        "   0: 2a8142020200         fadd32           r0, r1, 0.5\n   \
            6: 00c0faffffff         jmp_exec_any     0x0\n   \
            c: 8800                 stop\n"
    );
    let hex = tepui(&["asm", "--isa", "agx"], &text(&listing.stdout));
    let bytes: String = fs::read(&file).unwrap().iter().map(|b| format!("{b:02x}")).collect();
    assert_eq!(text(&hex.stdout), format!("{bytes}\n"));
}

#[test]
fn listings_of_execution_units_are_assembly() {
    let source = "LOOP:\nadd(8) g1<1>D g1<8,8,1>D 1D { align1 1Q };\n\
                  (+f0.0) while(8) JIP: LOOP { align1 1Q };\n";
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("code.bin");
    let path = file.to_str().unwrap();
    assert!(tepui(&["asm", "--gpu", "skl", "-o", path], source).status.success());
    let listing = text(&tepui(&["disasm", "--gpu", "skl", path], "").stdout);
    assert!(
        listing.starts_with("LABEL0:\nadd(8)          g1<1>D          g1<8,8,1>D      1D"),
        "{listing}"
    );
    let hex = tepui(&["asm", "--gpu", "skl"], &listing);
    let bytes: String = fs::read(&file).unwrap().iter().map(|b| format!("{b:02x}")).collect();
    assert_eq!(text(&hex.stdout), format!("{bytes}\n"));
    let wrong = tepui(&["asm", "--isa", "gen12"], "nop;\npln(8) g1<1>F g2<0,1,0>F g4<8,8,1>F;\n");
    assert_eq!(text(&wrong.stderr), "-:2:1: no instruction 'pln' on Gen12\n");
    assert!(text(&tepui(&["isa", "skl", "--list"], "").stdout).contains("pln"));
}

#[test]
fn intels_code_is_analysed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("code.bin");
    let path = file.to_str().unwrap();
    let source = |wait: &str| {
        format!(
            "add(8) g2<1>D g3<8,8,1>D g4<8,8,1>D {{ align1 1Q }};\n\
             shl(8) g5<1>D g2<8,8,1>D 2UD {{ align1 1Q {wait} }};\n"
        )
    };
    assert!(tepui(&["asm", "--gpu", "tgl", "-o", path], &source("")).status.success());
    let cost = tepui(&["disasm", "--gpu", "tgl", "--cost", path], "");
    let listing = text(&cost.stdout);
    // Two cycles each, and the latency of the sum.
    assert!(listing.starts_with("SIMD8: 2 instructions, 0 sends, 0 loops, 14 cycles"), "{listing}");
    assert!(listing.contains("waits 10 for g2 of 0"), "{listing}");
    let json = tepui(&["disasm", "--gpu", "tgl", "--cost", "--json", path], "");
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["cycles"], 14);
    assert_eq!(json["listing"][1]["stall"]["cycles"], 10);

    let found = tepui(&["disasm", "--gpu", "tgl", "--scoreboard", path], "");
    assert_eq!(found.status.code(), Some(1));
    let said = text(&found.stdout);
    assert!(said.contains("reads g2") && said.contains("a distance of at most 1"), "{said}");
    assert!(tepui(&["asm", "--gpu", "tgl", "-o", path], &source("@1")).status.success());
    let clean = tepui(&["disasm", "--gpu", "tgl", "--scoreboard", path], "");
    assert_eq!((clean.status.code(), text(&clean.stdout).as_str()), (Some(0), ""));

    let other = tepui(&["disasm", "--isa", "agx", "--cost", "--hex", "8800"], "");
    assert_eq!(other.status.code(), Some(1));
    assert!(text(&other.stderr).contains("are known of Intel's code"), "{}", text(&other.stderr));
}

#[test]
fn waits_of_valhall_are_checked() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("code.bin");
    let path = file.to_str().unwrap();
    let load = "LOAD.i32.unsigned.slot0FLOW @r0, r2, offset:0\nFADD.f32 r1, r0, r0\nNOP.end";
    for (flow, status, finding) in
        [(".wait0", 0, ""), ("", 1, "reads r0, which a message of slot 0")]
    {
        let source = load.replace("FLOW", flow);
        assert!(tepui(&["asm", "--gpu", "mali-g610", "-o", path], &source).status.success());
        let found = tepui(&["disasm", "--gpu", "mali-g610", "--scoreboard", path], "");
        assert_eq!(found.status.code(), Some(status));
        assert!(text(&found.stdout).contains(finding), "{}", text(&found.stdout));
    }
}

#[test]
fn errors_have_a_place_and_a_status() {
    let out = tepui(&["asm", "--isa", "agx"], "stop\nfadd32 r0, r1\n");
    assert_eq!(out.status.code(), Some(1));
    assert_eq!(text(&out.stderr), "-:2:1: operand 3 (`b`): operand is missing\n");
    let out = tepui(&["disasm", "--isa", "agx", "--json", "--hex", "8800 9d30"], "");
    assert_eq!(out.status.code(), Some(1));
    let rows: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(rows[0]["text"], "stop");
    assert_eq!(rows[1]["offset"], 2);
    assert_eq!(rows[1]["text"], serde_json::Value::Null);
    assert_eq!(rows[1]["error"], "unknown opcode 0x309d");
    assert!(text(&out.stderr).contains("1 undecodable place(s), the first at 0x2"));
    assert_eq!(tepui(&["disasm", "--isa", "agx", "--hex", "8"], "").status.code(), Some(1));
    assert_eq!(tepui(&["isa", "agx", "--instruction", "frob"], "").status.code(), Some(1));
}

#[test]
fn the_manual_and_its_parts() {
    let entry = text(&tepui(&["isa", "agx", "--instruction", "xor"], "").stdout);
    assert!(entry.starts_with("### bitop (`Bitop`)"), "{entry}");
    let list = text(&tepui(&["isa", "agx", "--list"], "").stdout);
    assert!(list.lines().count() > 100 && list.contains("simd_shuffle"));
    assert!(
        text(&tepui(&["isa", "agx"], "").stdout).starts_with("# The AGX (G13) instruction set")
    );
}
