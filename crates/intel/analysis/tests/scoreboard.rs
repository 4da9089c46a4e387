//! The checker on small programs, with the right answer for each.

use tepui_intel_analysis::Code;
use tepui_intel_analysis::scoreboard::{
    Finding, Hazard, Missing, Rules, ScoreboardError, ScoreboardRegister, Tracker, check,
};
use tepui_intel_isa::{
    Desc, Generation, Inst, Location, Opcode, Register, Sfid, Src, Swsb, SyncFunction, Token, Type,
    asm,
};

/// A message that reads a register and writes another.
fn send(dst: u8, src: u8, swsb: Swsb) -> Inst {
    let mut inst = Inst::new(Generation::Gen12, Opcode::Send);
    inst.send.sfid = Sfid::DataCache1;
    // An untyped surface read of one register with a response of one.
    inst.send.desc = Desc::Immediate(0x0210_6e01);
    inst.dst.location = Location::register(Register::General(dst));
    inst.src[0].location = Location::register(Register::General(src));
    inst.swsb = swsb;
    inst
}

fn text(line: &str) -> Inst {
    asm::parse(Generation::Gen12, line).unwrap_or_else(|error| panic!("{line}: {error}"))
}

fn sync(function: SyncFunction, swsb: Swsb) -> Inst {
    let mut inst = Inst::new(Generation::Gen12, Opcode::Sync);
    inst.function = function as u8;
    inst.exec_size = 1;
    inst.no_mask = true;
    inst.swsb = swsb;
    inst
}

fn token(id: u8, token: Token) -> Swsb {
    Swsb { distance: 0, token: Some((id, token)) }
}

fn distance(distance: u8) -> Swsb {
    Swsb { distance, token: None }
}

fn with(mut inst: Inst, swsb: Swsb) -> Inst {
    inst.swsb = swsb;
    inst
}

fn findings(insts: &[Inst]) -> Vec<Finding> {
    let code = Code::new(insts.to_vec()).expect("a program");
    let all = check(&code, Rules::MESA).expect("a small program");
    // Straight code is the same for one path and for all.
    if insts.iter().all(|inst| !inst.opcode.has_branch_control()) {
        let mut tracker = Tracker::new(&code, Rules::MESA);
        let mut of_path = Vec::new();
        (0..code.len()).for_each(|n| tracker.execute(n, [0; 2], |finding| of_path.push(finding)));
        of_path.sort();
        assert_eq!(of_path, all);
    }
    all
}

fn kinds(insts: &[Inst]) -> Vec<(usize, usize, Hazard, Missing)> {
    let found = findings(insts).into_iter();
    found.map(|f| (f.consumer, f.producer, f.hazard, f.missing)).collect()
}

const ADD: &str = "add(8) g2<1>D g3<8,8,1>D g4<8,8,1>D { align1 1Q };";
const SHIFT: &str = "shl(8) g5<1>D g2<8,8,1>D 2UD { align1 1Q };";
const OTHER: &str = "add(8) g20<1>D g21<8,8,1>D g22<8,8,1>D { align1 1Q };";

#[test]
fn a_result_needs_a_distance() {
    let raw = (1, 0, Hazard::ReadAfterWrite, Missing::Distance(1));
    assert_eq!(kinds(&[text(ADD), text(SHIFT)]), [raw]);
    assert_eq!(kinds(&[text(ADD), with(text(SHIFT), distance(1))]), []);
    // A distance of two waits for the instruction before the sum.
    let late = [text(OTHER), text(ADD), with(text(SHIFT), distance(2))];
    assert_eq!(kinds(&late), [(2, 1, Hazard::ReadAfterWrite, Missing::Distance(1))]);
    let early = [text(ADD), text(OTHER), with(text(SHIFT), distance(2))];
    assert_eq!(kinds(&early), []);
    // One wait is enough for all that follow.
    let waited = [text(ADD), with(text(OTHER), distance(1)), text(SHIFT)];
    assert_eq!(kinds(&waited), []);
    let synced = [text(ADD), sync(SyncFunction::Nop, distance(1)), text(SHIFT)];
    assert_eq!(kinds(&synced), []);
}

#[test]
fn ten_instructions_are_far_enough() {
    let program = |others: usize| {
        let mut insts = vec![text(ADD)];
        insts.extend((0..others).map(|n| {
            let mut inst = text(OTHER);
            inst.dst.location = Location::register(Register::General(30 + n as u8));
            inst
        }));
        insts.push(text(SHIFT));
        kinds(&insts)
    };
    assert_eq!(program(10), []);
    // An encoded distance is 7 at most, which is earlier.
    assert_eq!(program(9), [(10, 0, Hazard::ReadAfterWrite, Missing::Distance(7))]);
}

#[test]
fn messages_need_tokens() {
    let set = token(3, Token::Set);
    let read = [send(2, 10, set), text(SHIFT)];
    assert_eq!(kinds(&read), [(1, 0, Hazard::ReadAfterWrite, Missing::TokenWritten(3))]);
    let written = [send(10, 2, set), text(ADD)];
    assert_eq!(kinds(&written), [(1, 0, Hazard::WriteAfterRead, Missing::TokenRead(3))]);
    assert_eq!(kinds(&[send(10, 2, set), with(text(ADD), token(3, Token::Src))]), []);
    let wrong = [send(2, 10, set), with(text(SHIFT), token(3, Token::Src))];
    assert_eq!(kinds(&wrong).len(), 1, "the payload's wait is not the response's");
    assert_eq!(kinds(&[send(2, 10, set), with(text(SHIFT), token(3, Token::Dst))]), []);
    let other = [send(2, 10, set), with(text(SHIFT), token(4, Token::Dst))];
    assert_eq!(kinds(&other).len(), 1);
    let without = [send(2, 10, Swsb::NONE), with(text(SHIFT), token(3, Token::Dst))];
    assert_eq!(kinds(&without), [(1, 0, Hazard::ReadAfterWrite, Missing::Token)]);
    // A payload that was computed in order needs a distance.
    let payload = [text(ADD), send(10, 2, set)];
    assert_eq!(kinds(&payload), [(1, 0, Hazard::ReadAfterWrite, Missing::Distance(1))]);
    let both = Swsb { distance: 1, token: Some((3, Token::Set)) };
    assert_eq!(kinds(&[text(ADD), send(10, 2, both)]), []);
    // A response that replaces what an instruction in order still reads.
    let replaced = [text(ADD), send(3, 10, set)];
    assert_eq!(kinds(&replaced), [(1, 0, Hazard::WriteAfterRead, Missing::Distance(1))]);
}

#[test]
fn a_token_in_use_is_waited_for() {
    let (set, other) = (token(3, Token::Set), token(4, Token::Set));
    let wait = with(text(SHIFT), token(3, Token::Dst));
    assert_eq!(kinds(&[send(2, 10, set), send(11, 12, set), text(SHIFT)]), []);
    assert_eq!(kinds(&[send(2, 10, set), send(11, 12, other), wait]), []);
    let all = [send(2, 10, set), sync(SyncFunction::AllWr, Swsb::NONE), text(SHIFT)];
    assert_eq!(kinds(&all), []);
    let payloads = [send(2, 10, set), sync(SyncFunction::AllRd, Swsb::NONE), text(SHIFT)];
    assert_eq!(kinds(&payloads).len(), 1);
    let mut masked = sync(SyncFunction::AllWr, Swsb::NONE);
    masked.src[0] = Src::immediate(Type::UD, 1 << 4);
    assert_eq!(kinds(&[send(2, 10, set), masked, text(SHIFT)]).len(), 1, "of token 4 alone");
}

#[test]
fn math_is_out_of_order() {
    let mut math = text("math sqrt(8) g2<1>F g3<8,8,1>F null<8,8,1>F { align1 1Q };");
    math.swsb = token(0, Token::Set);
    let found = kinds(&[math, text(SHIFT)]);
    assert_eq!(found, [(1, 0, Hazard::ReadAfterWrite, Missing::TokenWritten(0))]);
    assert_eq!(kinds(&[math, with(text(SHIFT), token(0, Token::Dst))]), []);
}

#[test]
fn accumulators_as_operands_need_distances() {
    let clear = text("mov(8) acc0<1>D 0D { align1 1Q };");
    let read = text("mov(8) g2<1>D acc0<8,8,1>D { align1 1Q };");
    let found = findings(&[clear, read]);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].register, ScoreboardRegister::Accumulator(0));
    assert_eq!(kinds(&[clear, with(read, distance(1))]), []);
    let multiply = text("mach(8) g2<1>D g3<8,8,1>D g4<8,8,1>D { align1 1Q AccWrEnable };");
    assert_eq!(kinds(&[clear, multiply]), [], "hardware orders implicit accesses");
}

fn by(rules: Rules, insts: &[Inst]) -> usize {
    let code = Code::new(insts.to_vec()).expect("a program");
    check(&code, rules).expect("a small program").len()
}

#[test]
fn compilers_differ_about_accumulators_and_parts_of_registers() {
    let add = text("addc(8) g2<1>UD g3<8,8,1>UD g4<8,8,1>UD { align1 1Q AccWrEnable };");
    let carry = text("mov(8) g5<1>UD acc0<8,8,1>UD { align1 1Q };");
    // source: Intel Graphics Compiler, SWSBSetter.cpp (`calculateDependence`), on accumulators in one pipe
    let of = |rules| by(rules, &[add, carry]);
    assert_eq!([Rules::MESA, Rules::COMMON, Rules::STRICT].map(of), [1, 0, 1]);
    let long = text("mov(4) acc0<1>DF g6<4,4,1>DF { align1 1N };");
    assert_eq!(by(Rules::COMMON, &[long, carry]), 1, "another pipe");
    // Odd words of a register, and even ones.
    let even = text("mov(8) g2<2>UW g3<8,8,1>UW { align1 1Q };");
    let odd = text("mov(8) g4<1>UW g2.1<16,8,2>UW { align1 1Q };");
    let both = text("mov(8) g4<1>UD g2<8,8,1>UD { align1 1Q };");
    let of = |rules| [odd, both].map(|read| by(rules, &[even, read]));
    assert_eq!([Rules::MESA, Rules::COMMON].map(of), [[1, 1], [0, 1]]);
    // A message reads whole registers.
    assert_eq!(by(Rules::COMMON, &[even, send(10, 2, token(3, Token::Set))]), 1);
}

/// A message reads g2; the next one loads g2, and an instruction adds to it once it is there.
#[test]
fn compilers_differ_about_payloads_of_one_function() {
    let store = send(30, 2, token(4, Token::Set));
    let load = send(2, 10, token(7, Token::Set));
    let add = text("add(8) g2<1>D g2<8,8,1>D g3<8,8,1>D { align1 1Q $7.dst };");
    let all = [store, load, add];
    assert_eq!([Rules::MESA, Rules::COMMON, Rules::STRICT].map(|rules| by(rules, &all)), [2, 0, 2]);
    let early = with(add, Swsb::default());
    assert_eq!(by(Rules::COMMON, &[store, load, early]), 3, "a read and two writes");
    let other = |change: fn(&mut Inst)| {
        let mut load = load;
        change(&mut load);
        by(Rules::COMMON, &[store, load, add])
    };
    assert_eq!(other(|load| load.send.sfid = Sfid::Sampler), 2);
    assert_eq!(other(|load| load.channel_offset = 8), 2);
    assert_eq!(other(|load| load.send.desc = Desc::Immediate(0x0210_6efe)), 2);
    assert_eq!(other(|load| load.no_mask = true), 2);
}

#[test]
fn a_wait_with_a_mask_is_none_without_one() {
    let set = token(3, Token::Set);
    let mut load = send(2, 10, set);
    load.no_mask = true;
    let masked = with(text(OTHER), token(3, Token::Dst));
    let mut unmasked = text(SHIFT);
    unmasked.no_mask = true;
    let found = kinds(&[load, masked, unmasked]);
    assert_eq!(found, [(2, 0, Hazard::ReadAfterWrite, Missing::WithoutMask)]);
    assert_eq!(kinds(&[load, masked, text(SHIFT)]), [], "the same block has the same channels");
    assert_eq!(kinds(&[send(2, 10, set), masked, unmasked]), [], "it has the mask of the wait");
    let free = sync(SyncFunction::Nop, token(3, Token::Dst));
    assert_eq!(kinds(&[load, free, unmasked]), []);
}

fn program(source: &str) -> Code {
    let bytes = asm::assemble(Generation::Gen12, source).unwrap_or_else(|e| panic!("{}", e[0]));
    Code::decode(Generation::Gen12, &bytes).expect("a program")
}

#[test]
fn loops_carry_dependencies() {
    // The sum of one iteration is read by the next: the jump is between.
    let text = |wait: &str| {
        format!(
            "LABEL0:
             shl(8) g5<1>D g2<8,8,1>D 2UD {{ align1 1Q {wait} }};
             add(8) g2<1>D g3<8,8,1>D g4<8,8,1>D {{ align1 1Q }};
             (+f0.0) while(8) JIP: LABEL0 {{ align1 1Q }};"
        )
    };
    let found = check(&program(&text("")), Rules::MESA).expect("small");
    let found: Vec<_> = found.iter().map(|f| (f.consumer, f.producer, f.missing)).collect();
    assert_eq!(found, [(0, 1, Missing::Distance(2))]);
    assert_eq!(check(&program(&text("@2")), Rules::MESA), Ok(vec![]));
    assert_eq!(check(&program(&text("@3")), Rules::MESA).map(|f| f.len()), Ok(1));
    // Where jumps do not count, only a distance of one is near enough.
    let rules = Rules { jumps_count: false, ..Rules::MESA };
    assert_eq!(check(&program(&text("@2")), rules).map(|f| f.len()), Ok(1));
    assert_eq!(check(&program(&text("@1")), rules), Ok(vec![]));
    // With every choice on the safe side the sum's own writes need an order, too.
    let strict = check(&program(&text("@2")), Rules::STRICT).expect("small");
    let hazards: Vec<_> = strict.iter().map(|f| f.hazard).collect();
    assert_eq!(hazards, [Hazard::ReadAfterWrite, Hazard::WriteAfterWrite]);
    assert_eq!(check(&program(&text("@1")), Rules::STRICT), Ok(vec![]));
}

#[test]
fn the_shortest_path_counts() {
    let text = |wait: &str| {
        format!(
            "add(8) g2<1>D g3<8,8,1>D g4<8,8,1>D {{ align1 1Q }};
             (+f0.0) if(8) JIP: LABEL0 UIP: LABEL0 {{ align1 1Q }};
             add(8) g20<1>D g21<8,8,1>D 1D {{ align1 1Q }};
             add(8) g23<1>D g24<8,8,1>D 1D {{ align1 1Q }};
             LABEL0:
             endif(8) JIP: LABEL1 {{ align1 1Q }};
             LABEL1:
             shl(8) g5<1>D g2<8,8,1>D 2UD {{ align1 1Q {wait} }};"
        )
    };
    let missing = check(&program(&text("")), Rules::MESA).expect("small");
    assert_eq!(missing.len(), 1);
    assert_eq!(missing[0].missing, Missing::Distance(3));
    assert_eq!(check(&program(&text("@3")), Rules::MESA), Ok(vec![]));
    assert_eq!(check(&program(&text("@5")), Rules::MESA).map(|f| f.len()), Ok(1));
}

#[test]
fn leaving_a_loop_is_a_path() {
    // The message of the last iteration is pending after the loop on the way over `break` alone.
    let source = "mov(8) g2<1>D 0D { align1 1Q };
         LABEL0:
         (+f0.0) break(8) JIP: LABEL1 UIP: LABEL1 { align1 1Q };
         add(8) g2<1>D g3<8,8,1>D g4<8,8,1>D { align1 1Q };
         LABEL1:
         while(8) JIP: LABEL0 { align1 1Q };
         shl(8) g5<1>D g2<8,8,1>D 2UD { align1 1Q @4 };";
    let found = check(&program(source), Rules::MESA).expect("small");
    // mov, break, shl: two; add, while, break, shl: three.
    let found: Vec<_> = found.iter().map(|f| (f.consumer, f.producer, f.missing)).collect();
    assert_eq!(found, [(4, 0, Missing::Distance(2)), (4, 2, Missing::Distance(3))]);
    assert_eq!(check(&program(&source.replace("@4", "@2")), Rules::MESA), Ok(vec![]));
}

#[test]
fn the_finding_names_both_instructions() {
    let code = Code::new(vec![text(ADD), text(SHIFT)]).expect("a program");
    let found = check(&code, Rules::MESA).expect("small");
    let said = found[0].text(&code);
    assert!(said.starts_with("0x10: `shl(8) g5<1>D"), "{said}");
    assert!(said.contains("reads g2, which `add(8) g2<1>D"), "{said}");
    assert!(said.ends_with("at 0x0 writes: a distance of at most 1 is missing"), "{said}");
}

#[test]
fn limits_are_errors() {
    let gen9 = asm::parse(Generation::Gen9, ADD).expect("an instruction");
    let code = Code::new(vec![gen9]).expect("a program");
    assert_eq!(check(&code, Rules::MESA), Err(ScoreboardError::Generation(Generation::Gen9)));
    let many = Code::new(vec![send(2, 10, Swsb::NONE); 4]).expect("a program");
    assert!(check(&many, Rules::MESA).is_ok());
    let insts: Vec<Inst> = (0..600).map(|_| send(2, 10, Swsb::NONE)).collect();
    let many = Code::new(insts).expect("a program");
    let error = check(&many, Rules::MESA).expect_err("too many");
    assert!(matches!(error, ScoreboardError::TooManyPending { .. }), "{error}");
}

#[test]
fn addresses_in_a0_are_known_to_the_tracker() {
    let load = send(30, 10, token(3, Token::Set));
    let read = text("mov(8) g23<1>UD g[a0]<VxH,1,0>UD { align1 1Q };");
    let code = Code::new(vec![load, read]).expect("a program");
    assert_eq!(check(&code, Rules::MESA), Ok(vec![]));
    let mut found = Vec::new();
    let mut tracker = Tracker::new(&code, Rules::MESA);
    tracker.execute(0, [0; 2], |finding| found.push(finding));
    tracker.execute(1, [1 << 30, 0], |finding| found.push(finding));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].register, ScoreboardRegister::General(30));
}

#[test]
fn a_wait_with_a_mask_for_sources_counts_in_its_block() {
    // A message without a mask reads g21, which an instruction with a mask writes; its response is not waited for.
    let mut message = send(40, 21, token(6, Token::Set));
    message.no_mask = true;
    let write = "add(8) g21<1>D g30<8,8,1>D g31<8,8,1>D { align1 1Q };";
    let waits = with(text(write), token(6, Token::Src));
    assert_eq!(kinds(&[message, waits]), []);
    let missing = (1, 0, Hazard::WriteAfterRead, Missing::TokenRead(6));
    assert_eq!(kinds(&[message, text(write)]), [missing]);
    // Without a mask it executes where the one that waits does not.
    let mut unmasked = text("add(8) g21<1>D g32<8,8,1>D g33<8,8,1>D { align1 WE_all 1Q };");
    unmasked.swsb = Swsb::NONE;
    let missing = (2, 0, Hazard::WriteAfterRead, Missing::WithoutMask);
    assert_eq!(kinds(&[message, waits, unmasked]), [missing]);
}
