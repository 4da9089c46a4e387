//! Cycles of small programs, worked out from the table of `timing`.

use tepui_intel_analysis::cycles::{Resource, Stall, estimate, width};
use tepui_intel_analysis::{Code, Unit, bank, instruction_latency, report};
use tepui_intel_isa::{Desc, Generation, Inst, Location, Opcode, Register, Sfid, asm};

fn code(generation: Generation, text: &str) -> Code {
    let bytes = asm::assemble(generation, text).unwrap_or_else(|errors| panic!("{}", errors[0]));
    Code::decode(generation, &bytes).expect("a program")
}

fn cycles(generation: Generation, text: &str) -> u32 {
    let code = code(generation, text);
    estimate(&code, width(&code)).cycles
}

fn inst(generation: Generation, text: &str) -> Inst {
    asm::parse(generation, text).expect("an instruction")
}

#[test]
fn a_result_is_waited_for() {
    let text = "add(8) g2<1>D g3<8,8,1>D g4<8,8,1>D { align1 1Q };
                shl(8) g5<1>D g2<8,8,1>D 2UD { align1 1Q };";
    // Issue of two cycles each, and the latency of the sum.
    assert_eq!(cycles(Generation::Gen9, text), 2 + 8 + 2);
    let found = estimate(&code(Generation::Gen9, text), 8);
    let stall = Stall { cycles: 8, resource: Resource::Register(2), producer: Some(0) };
    assert_eq!(found.listing[1].stall, Some(stall));
    let listing = report::text(&code(Generation::Gen9, text), &found);
    assert!(listing.contains("waits 8 for g2 of 0"), "{listing}");
}

#[test]
fn wide_instructions_occupy_the_unit() {
    // Two registers each: four cycles of issue, and the unit is busy for four.
    let text = "add(16) g20<1>D g3<8,8,1>D g4<8,8,1>D { align1 1H };
                add(16) g22<1>D g3<8,8,1>D g4<8,8,1>D { align1 1H };";
    assert_eq!(cycles(Generation::Gen9, text), 8);
    // A narrow destination issues in two cycles, but the unit is busy with the wide execution.
    let text = "mov(16) g2<1>UW g4<16,8,2>UW { align1 1H };
                mov(8) g6<1>DF g8<4,4,1>DF { align1 1Q };";
    assert_eq!(cycles(Generation::Gen9, text), 2 + 8);
}

#[test]
fn flags_take_longer() {
    let text = "cmp.l.f0.0(8) null<1>D g2<8,8,1>D g3<8,8,1>D { align1 1Q };
                (+f0.0) sel(8) g4<1>D g2<8,8,1>D g3<8,8,1>D { align1 1Q };";
    assert_eq!(cycles(Generation::Gen9, text), 2 + 12 + 2);
    let text = "cmp.l.f0.0(8) null<1>D g2<8,8,1>D g3<8,8,1>D { align1 1Q };
                (+f0.1) sel(8) g4<1>D g2<8,8,1>D g3<8,8,1>D { align1 1Q };";
    assert_eq!(cycles(Generation::Gen9, text), 4, "another flag is not waited for");
}

#[test]
fn products_of_double_words_are_slow_on_gen9() {
    let product = "mul(8) g2<1>D g3<8,8,1>D g4<8,8,1>D { align1 1Q };";
    assert_eq!(cycles(Generation::Gen9, product), 4);
    assert_eq!(instruction_latency(&inst(Generation::Gen9, product)).result, 12);
    let narrow = "mul(8) g2<1>D g3<8,8,1>D g4<16,8,2>UW { align1 1Q };";
    assert_eq!(cycles(Generation::Gen9, narrow), 2);
}

#[test]
fn sources_in_one_bank_conflict() {
    let mad = |b: u8, c: u8| {
        let text = format!("mad(8) g2<1>F g3<4,4,1>F g{b}<4,4,1>F g{c}<4,4,1>F {{ align16 1Q }};");
        inst(Generation::Gen9, &text)
    };
    assert_eq!([bank::bank(4), bank::bank(5), bank::bank(68), bank::bank(69)], [0, 1, 2, 3]);
    assert!(bank::conflict(&mad(4, 6)));
    assert!(!bank::conflict(&mad(4, 7)), "even and odd");
    assert!(!bank::conflict(&mad(4, 68)), "two halves of the file");
    assert!(!bank::conflict(&mad(4, 4)), "one register is read once");
    assert!(!bank::conflict(&mad(3, 5)), "the first source reads it, too");
    assert_eq!(instruction_latency(&mad(4, 6)).issue, 3);
    assert_eq!(instruction_latency(&mad(4, 7)).issue, 2);
}

#[test]
fn loops_count_ten_times() {
    let text = "mov(8) g2<1>D 0D { align1 1Q };
                LABEL0:
                add(8) g2<1>D g2<8,8,1>D 1D { align1 1Q };
                while(8) JIP: LABEL0 { align1 1Q };";
    let found = estimate(&code(Generation::Gen9, text), 8);
    // The sum waits for the move; the loop is walked once.
    assert_eq!(found.cycles, 2 + 10 * (8 + 2) + 10 * 8);
    assert_eq!(found.loops, 1);
}

#[test]
fn half_of_the_channels_leave_at_a_halt_on_gen12() {
    let text = "(-f0.0) halt(8) JIP: LABEL0 UIP: LABEL0 { align1 1Q };
                add(8) g2<1>D g3<8,8,1>D 1D { align1 1Q };
                add(8) g4<1>D g3<8,8,1>D 1D { align1 1Q };
                halt(8) JIP: LABEL0 UIP: LABEL0 { align1 1Q };
                LABEL0:
                add(8) g5<1>D g3<8,8,1>D 1D { align1 1Q };";
    // HALT costs eight, what follows counts half up to the label, which costs nothing.
    assert_eq!(cycles(Generation::Gen12, text), 8 + 1 + 1 + 2);
    assert_eq!(cycles(Generation::Gen9, text), 8 + 2 + 2 + 2);
}

#[test]
fn messages_occupy_their_unit() {
    // Reads of one register's channels, 20 cycles each; the sum waits for the second response.
    let mut read = Inst::new(Generation::Gen9, Opcode::Sends);
    read.send.sfid = Sfid::DataCache1;
    // An untyped surface read of one register with a response of one.
    read.send.desc = Desc::Immediate(0x0210_6e01);
    let register = |n| Location::register(Register::General(n));
    read.dst.location = register(11);
    read.src[0].location = register(79);
    let mut second = read;
    second.dst.location = register(12);
    let sum = inst(Generation::Gen9, "add(8) g2<1>D g11<8,8,1>D g12<8,8,1>D { align1 1Q };");
    let code = Code::new(vec![read, second, sum]).expect("a program");
    let found = estimate(&code, 8);
    assert_eq!(found.listing[0].cycles, 2);
    assert_eq!(found.listing[1].cycles, 20, "until the data cache is free");
    assert_eq!(found.listing[2].cycles, 102);
    let busy = found.busy.iter().find(|(unit, _)| *unit == Unit::DataCache);
    assert_eq!(busy.map(|(_, cycles)| *cycles), Some(40.0));
}

#[test]
fn an_address_and_a_move_are_one_shuffle() {
    let text = "mov(16) a0<1>UW 0x0260UW { align1 WE_all 1H };
                shl(16) a0<1>UW g13<16,8,2>W 0x0002UW { align1 1H };
                add(16) a0<1>UW a0<8,8,1>UW 0x0260UW { align1 1H };
                mov(16) g23<1>UD g[a0]<VxH,1,0>UD { align1 1H };";
    assert_eq!(cycles(Generation::Gen9, text), 42);
    // Without the add it is four instructions that wait for each other.
    let text = "mov(16) a0<1>UW 0x0260UW { align1 WE_all 1H };
                shl(16) a0<1>UW g13<16,8,2>W 0x0002UW { align1 1H };
                mov(16) g23<1>UD g[a0]<VxH,1,0>UD { align1 1H };";
    assert_eq!(cycles(Generation::Gen9, text), 2 + 10 + 12);
}

#[test]
fn jumps_into_nowhere_are_refused() {
    let text = "if(8) JIP: LABEL0 UIP: LABEL0 { align1 1Q };
                endif(8) JIP: LABEL0 { align1 1Q };
                LABEL0:
                nop;";
    let mut bytes = asm::assemble(Generation::Gen9, text).expect("a program");
    assert!(Code::decode(Generation::Gen9, &bytes).is_ok());
    bytes.truncate(32);
    let error = Code::decode(Generation::Gen9, &bytes).expect_err("no target");
    assert_eq!(error.to_string(), "0x0: the jump leads to byte 0x20, where no instruction begins");
}
