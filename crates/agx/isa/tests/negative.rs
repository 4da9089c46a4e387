//! Rejected encodings and assembly, with their messages.

use tepui_agx_isa::asm::{assemble, hex_bytes};
use tepui_agx_isa::operand::{Dst, Format, Index, RegVec, Size, Src};
use tepui_agx_isa::table::device::DeviceLoad;
use tepui_agx_isa::table::float::Fadd32;
use tepui_agx_isa::table::flow::JmpIfSkippingDoorbell;
use tepui_agx_isa::table::integer::{Iadd, Iunop};
use tepui_agx_isa::table::moves::MovImm32;
use tepui_agx_isa::{DecodeError, Inst};

#[test]
fn bytes_that_are_no_instruction() {
    for (hex, reason) in [
        ("", "the code ends within an instruction: 2 bytes are needed, 0 are left"),
        ("88", "the code ends within an instruction: 2 bytes are needed, 1 are left"),
        ("0e6c8410", "the code ends within an instruction: 8 bytes are needed, 4 are left"),
        // The length bit selects the long form.
        ("2aad5ec2", "the code ends within an instruction: 6 bytes are needed, 4 are left"),
        ("9d308023", "unknown opcode 0x309d"),
        ("2aad43c22500", "Fadd32: operand `a`: a 32-bit or 64-bit register begins in a high half"),
        ("2a8d02002000", "Fadd32: operand `b`: the source's type bits are undefined"),
        ("2657abab44b2", "Fadd16: operand `d`: a 16-bit instruction with a 32-bit destination"),
        ("aa46ef532d06", "Fadd32: operand `a`: the source is wider than this instruction can read"),
        ("6f2c5608c000b000", "unknown opcode 0x2c6f"),
        ("4100010000", "ZsEmit: operand `values`: neither depth nor stencil is written"),
    ] {
        let error = Inst::decode(&hex_bytes(hex).unwrap()).unwrap_err();
        assert_eq!(error.to_string(), reason, "{hex}");
        assert!(error.skip() >= 2);
    }
}

#[test]
fn the_length_is_known_when_an_operand_is_wrong() {
    let error = Inst::decode(&hex_bytes("2aad43c22500").unwrap()).unwrap_err();
    assert!(matches!(error, DecodeError::Operand { len: 6, .. }));
    assert_eq!(error.skip(), 6);
}

#[test]
fn instructions_that_cannot_be_encoded() {
    let wide = |reg| Dst::new(reg, Size::B32);
    let cases: Vec<(Inst, &str)> = vec![
        (
            Fadd32 { d: wide(1), ..Default::default() }.into(),
            "Fadd32: field `d`: a 32-bit or 64-bit register begins in a high half",
        ),
        (
            Fadd32 { d: Dst::new(0, Size::B64), ..Default::default() }.into(),
            "Fadd32: field `d`: the destination has a width that this instruction cannot write",
        ),
        (
            Fadd32 { a: Src::reg(254, Size::B64), ..Default::default() }.into(),
            "Fadd32: field `a`: the source is wider than this instruction can read",
        ),
        (
            Iadd { a: Src::reg(254, Size::B64), ..Default::default() }.into(),
            "Iadd: field `a`: the registers run past r127",
        ),
        (
            Iadd { shift: 8, ..Default::default() }.into(),
            "Iadd: field `shift`: the number has more bits than the field",
        ),
        (
            Iadd { a: Src { neg: true, ..Src::imm(1) }, ..Default::default() }.into(),
            "Iadd: field `a`: the source takes no `abs` or `neg`",
        ),
        (
            Iadd { a: Src::uniform(512, Size::B16), ..Default::default() }.into(),
            "Iadd: field `a`: the uniforms run past u255",
        ),
        (
            MovImm32 { d: Dst::new(0, Size::B16), ..Default::default() }.into(),
            "MovImm32: field `d`: the destination has a width that this instruction cannot write",
        ),
        (
            DeviceLoad { mask: 3, ..Default::default() }.into(),
            "DeviceLoad: field `r` contradicts another field (mask, count, mode or dimension)",
        ),
        (
            DeviceLoad { r: RegVec::new(255, Size::B16, 2), mask: 3, ..Default::default() }.into(),
            "DeviceLoad: field `r`: the registers run past r127",
        ),
        (
            DeviceLoad { index: Index::Reg(256), ..Default::default() }.into(),
            "DeviceLoad: field `index`: the registers run past r127",
        ),
        (
            DeviceLoad { format: Format::Unknown(16), ..Default::default() }.into(),
            "DeviceLoad: field `format`: the encoding has more bits than the field",
        ),
        (
            JmpIfSkippingDoorbell { off: 128 }.into(),
            "JmpIfSkippingDoorbell: field `off`: the branch target is out of reach",
        ),
        (
            Iunop { op1: 0, op2: 1, ..Default::default() }.into(),
            "Iunop: these operands encode Bitrev",
        ),
    ];
    for (inst, reason) in cases {
        assert_eq!(inst.encode().unwrap_err().to_string(), reason);
    }
}

#[test]
fn text_that_is_no_instruction() {
    for (text, reason) in [
        ("", "column 1: an instruction is expected"),
        ("frob r0", "column 1: unknown mnemonic `frob`; `tepui isa agx` lists all"),
        ("fadd32 r0, r1", "column 1: operand 3 (`b`): operand is missing"),
        ("fadd32 r0, r1, r2, r3", "column 20: too many operands: `r3` and what follows"),
        (
            "fadd32 r0, r1, 0.3",
            "column 16: operand 3 (`b`): `0.3` is not an 8-bit float; use `mov_imm` and a register",
        ),
        ("fadd32 r0, r128, r2", "column 12: operand 2 (`a`): `r128` is not a register"),
        (
            "fadd32 r0, r1_r3, r2",
            "column 12: operand 2 (`a`): `r1_r3` are not consecutive registers",
        ),
        ("fadd32 r0, r1.sx, r2", "column 12: operand 2 (`a`): `r1.sx`: `.sx` is not allowed here"),
        (
            "fadd32 r0_r1, r1, r2",
            "column 1: Fadd32: field `d`: the destination has a width that this instruction cannot \
             write",
        ),
        (
            "iadd r0, r1, 256",
            "column 14: operand 3 (`b`): immediate `256` is not between 0 and 255",
        ),
        (
            "bfi r0, 0, r1, r2, mask 0x6",
            "column 20: operand 5 (`mask`): `mask 0x6` is not a mask of N low bits, written `mask 0x…`; 0 stands for all 32 bits",
        ),
        (
            "device_load 0, i32, xy, r0, u0_u1, 0, signed",
            "column 1: DeviceLoad: field `r` contradicts another field (mask, count, mode or \
             dimension)",
        ),
        ("stop {form=1}", "column 6: note `form` names no field of this instruction"),
        ("stop {form", "column 6: notes are written `{name=value, …}` at the end of the line"),
        (
            "jmp_exec_any 0x10",
            "column 14: operand 1 (`off`): absolute target `0x10` needs the instruction's address; \
             write `pc+N`",
        ),
        ("mov_imm r0l, 65536", "column 14: operand 2 (`imm`): `65536` is not a 16-bit number"),
    ] {
        assert_eq!(Inst::parse(text, None).unwrap_err().to_string(), reason, "{text}");
    }
}

#[test]
fn sources_that_do_not_assemble() {
    let source = "start:\n  fadd32 r0, r1, r2 # fine\n  fadd32 r0, r1, r200\nstart:\n  .align 4\n";
    let errors: Vec<_> = assemble(source).unwrap_err().iter().map(|e| e.to_string()).collect();
    assert_eq!(
        errors,
        [
            "3:18: operand 3 (`b`): `r200` is not a register",
            "4:1: label `start` is defined twice",
            "5:3: `.align 4` is not a directive; write `.zero N` (N up to 1048576) or `.hex BYTES`",
        ]
    );
    let errors = assemble("stop\n  jmp_exec_any nowhere").unwrap_err();
    assert_eq!(errors[0].to_string(), "2:16: label `nowhere` is not defined");
    assert!(assemble(".zero 9999999999").is_err());
}
