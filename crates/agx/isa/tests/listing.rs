//! The assembler and the disassembler on whole programs.

use proptest::prelude::*;
use tepui_agx_isa::asm::{assemble, hex_bytes};
use tepui_agx_isa::disasm::{Content, Disassembler};
use tepui_agx_isa::random::Source;

const LOOP: &str = "
    mov_imm     r0l, 0
    get_sr      r2, sr80
again:              # until all threads are done
    isub        r2, $r2, 1
    while_icmp  r0l, nueq, r2, 0, 1
    jmp_exec_any again
    pop_exec    r0l, 1   // the same for all
    call        sub
    stop
    .zero 8
    .hex 08 00 0800
sub: ret r1
";

const LISTING: &str = "   0: 62000000             mov_imm          r0l, 0
   4: 72051004             get_sr           r2, sr80 (thread_position_in_grid.x)
   8: 8e05442a1c000000     isub             r2, r2.cache, 1
";

fn list(code: &[u8]) -> String {
    Disassembler::new(code).map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_program_with_labels() {
    let code = assemble(LOOP).unwrap();
    let listing = list(&code);
    let texts: Vec<_> = Disassembler::new(&code).map(|l| (l.offset, l.text())).collect();
    let text = |i: usize| (texts[i].0, texts[i].1.as_str());
    assert_eq!(text(0), (0, "mov_imm          r0l, 0"));
    assert_eq!(text(2), (8, "isub             r2, r2.cache, 1"));
    assert_eq!(text(4), (22, "jmp_exec_any     0x8"));
    assert_eq!(text(6), (34, "call             0x36"));
    assert_eq!(text(8), (42, ".zero 8"));
    assert_eq!(text(10), (52, "trap"));
    assert_eq!(text(11), (54, "ret              r1"));
    // A listing assembles to what it lists.
    assert_eq!(assemble(&listing).unwrap(), code, "{listing}");
    let offsets: Vec<&str> = LISTING.lines().map(|l| l.split(':').next().unwrap()).collect();
    assert_eq!(offsets, ["   0", "   4", "   8"]);
}

#[test]
fn bytes_that_are_no_instruction_have_their_line() {
    let code = hex_bytes("8800 9d30 2aad43c22500 8800 88").unwrap();
    let lines: Vec<_> = Disassembler::new(&code).map(|l| l.to_string()).collect();
    assert_eq!(
        lines,
        [
            "   0: 8800                 stop",
            "   2: 9d30                 <disassembly failed> unknown opcode 0x309d",
            "   4: 2aad43c22500         <disassembly failed> Fadd32: operand `a`: a 32-bit or 64-bit \
         register begins in a high half",
            "   a: 8800                 stop",
            "   c: 88                   <disassembly failed> the code ends within an instruction: 2 \
         bytes are needed, 1 are left",
        ]
    );
    assert_eq!(assemble(&lines.join("\n")).unwrap(), code);
}

#[test]
fn padding_is_one_line() {
    let mut code = hex_bytes("8800").unwrap();
    code.extend([0; 1001]);
    let lines: Vec<_> = Disassembler::new(&code).collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[1].content, Content::Zeros);
    assert_eq!(lines[1].text(), ".zero 1001");
    assert_eq!(assemble(&list(&code)).unwrap(), code);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..Default::default() })]

    #[test]
    fn any_bytes_are_listed_completely(code in prop::collection::vec(any::<u8>(), 0..200)) {
        let listed: Vec<u8> = Disassembler::new(&code).flat_map(|l| l.bytes.to_vec()).collect();
        prop_assert_eq!(&listed, &code);
        let listing = list(&code);
        prop_assert_eq!(assemble(&listing).map_err(|e| format!("{e:?}\n{listing}")), Ok(code));
    }

    #[test]
    fn random_programs_survive_listing(seed: u64, len in 0usize..40) {
        let mut source = Source::new(seed);
        let code: Vec<u8> = (0..len).flat_map(|_| source.inst().encode().unwrap().to_vec()).collect();
        let listing = list(&code);
        prop_assert_eq!(assemble(&listing).map_err(|e| format!("{e:?}\n{listing}")), Ok(code));
    }

    #[test]
    fn any_text_is_no_panic(text in "[ -~\n]{0,60}") {
        let _ = assemble(&text);
    }

    #[test]
    fn broken_instructions_are_no_panic(seed: u64, cut in 0usize..80, insert in "[ -~]{0,3}") {
        let mut text = Source::new(seed).inst().to_string();
        let at = cut.min(text.len());
        text.insert_str(at, &insert);
        let _ = assemble(&text);
        text.truncate(at);
        let _ = assemble(&text);
    }
}
