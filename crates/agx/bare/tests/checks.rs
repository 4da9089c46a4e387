//! Each check finds its mistake, and a program without mistakes gives no report.

use tepui_agx_bare::{Dispatch, Machine, address_halves};
use tepui_agx_isa::asm::assemble;
use tepui_agx_model::{FaultKind, JobFault, JobStats, Options, Report, ReportKind};
use tepui_agx_packets::cdm;

/// Runs one workgroup of 32 threads; `u0_u1` points to a page of words that were written, `u2_u3`
/// to one that never was.
fn run(source: &str, options: Options) -> Result<JobStats, JobFault> {
    let code = assemble(source).expect("the test's program");
    let mut machine = Machine::new(options).expect("a machine");
    let written = machine.buffer(4096).expect("a buffer");
    written.write_words(&[7; 1024]).expect("bound");
    let fresh = machine.buffer(4096).expect("a buffer");
    let mut uniforms = address_halves(written.address()).to_vec();
    uniforms.extend(address_halves(fresh.address()));
    let job = machine
        .prepare(&Dispatch {
            code: &code,
            uniforms: &uniforms,
            global: [32, 1, 1],
            local: [32, 1, 1],
            local_bytes: 256,
            ..Dispatch::default()
        })
        .expect("a job");
    machine.submit(&job)
}

/// The reports of the checker for a program.
fn reports(source: &str) -> Vec<Report> {
    let options = Options { check: true, ..Options::default() };
    run(source, options).expect("no fault").reports
}

/// The only finding: its kind and text.
fn one(source: &str) -> (ReportKind, String) {
    let all = reports(source);
    assert_eq!(all.len(), 1, "{all:#?}");
    (all[0].kind, all[0].to_string())
}

const LOAD: &str = "device_load 0, i32, x, r2, u0_u1, r1, unsigned\n";

#[test]
fn a_correct_program_is_silent() {
    let source = format!(
        "get_sr r1, sr80\n{LOAD}wait 0\niadd r3, r2, 1\ndevice_store 0, i32, x, r3, u0_u1, r1, unsigned, 0\nstop"
    );
    assert_eq!(reports(&source), []);
}

#[test]
fn a_missing_wait_is_found() {
    let (kind, text) = one(&format!("get_sr r1, sr80\n{LOAD}iadd r3.cache, r2, 1\nstop"));
    assert_eq!(kind, ReportKind::UnwaitedRead);
    assert!(text.contains("r2l is read before its load was waited for"), "{text}");
    assert!(text.contains("offset 0xc"), "{text}");
    // The wrong slot.
    let (kind, _) = one(&format!("get_sr r1, sr80\n{LOAD}wait 1\nnot r3, r2\nstop"));
    assert_eq!(kind, ReportKind::UnwaitedRead);
}

#[test]
fn a_write_of_a_register_that_a_load_fills_is_found() {
    let (kind, text) = one(&format!("get_sr r1, sr80\n{LOAD}mov_imm r2l, 5\nwait 0\nstop"));
    assert_eq!(kind, ReportKind::UnwaitedWrite);
    assert!(text.contains("r2l is written while a load into it is under way"), "{text}");
}

#[test]
fn an_unwritten_register_is_found() {
    let (kind, text) = one("mov_imm r1l, 5\niadd r3l, r1l, r4l\nstop");
    assert_eq!(kind, ReportKind::UnwrittenRegister);
    assert!(text.contains("r4l is read, but was never written"), "{text}");
}

/// A comparison that chooses between two registers reads the one that it takes; comparing reads both of its operands.
#[test]
fn a_register_that_no_lane_chooses_is_not_read() {
    let select = |a: u32, operands: &str| {
        format!("mov_imm r1l, {a}\nmov_imm r2l, 7\nicmpsel ueq, r3l, r1l, 5, {operands}\nstop")
    };
    for (a, operands) in [(5, "r2l, r4l"), (6, "r4l, r2l"), (5, "2, r4l"), (6, "r4l, 2")] {
        assert_eq!(reports(&select(a, operands)), [], "{a} {operands}");
    }
    for (a, operands) in [(6, "r2l, r4l"), (5, "r4l, r2l"), (6, "2, r4l"), (5, "r4l, 2")] {
        let (kind, text) = one(&select(a, operands));
        assert_eq!(kind, ReportKind::UnwrittenRegister, "{a} {operands}");
        assert!(text.contains("r4l is read"), "{text}");
    }
    let (kind, _) = one("mov_imm r2l, 7\nicmpsel ueq, r3l, r4l, 5, r2l, r2l\nstop");
    assert_eq!(kind, ReportKind::UnwrittenRegister);
}

#[test]
fn unwritten_local_memory_is_found() {
    let (kind, text) = one("threadgroup_load i32, x, r1, 0, 0\nstop");
    assert_eq!(kind, ReportKind::UnwrittenLocal);
    assert!(text.contains("local memory is read"), "{text}");
}

#[test]
fn unwritten_and_unbound_memory_is_found() {
    let (kind, text) =
        one("get_sr r1, sr80\ndevice_load 0, i32, x, r2, u2_u3, r1, unsigned\nwait 0\n\
         device_store 0, i32, x, r2, u0_u1, r1, unsigned, 0\nstop");
    assert_eq!(kind, ReportKind::UnwrittenMemory);
    assert!(text.contains("nothing was ever written"), "{text}");
    let (kind, text) =
        one("mov_imm r1, 65536, 0b0\ndevice_load 0, i32, x, r2, u0_u1, r1, unsigned\nwait 0\n\
         mov_imm r1, 0, 0b0\nthreadgroup_store i32, x, r2, 0, 0\nstop");
    assert_eq!(kind, ReportKind::UnboundLoad);
    assert!(text.contains("no memory is bound there"), "{text}");
    let (kind, text) = one(
        "mov_imm r1, 65536, 0b0\ndevice_store 0, i32, x, r1, u0_u1, r1, unsigned, 0\nwait 0\nstop",
    );
    assert_eq!(kind, ReportKind::UnboundStore);
    assert!(text.contains("the store is dropped"), "{text}");
}

/// Loads that compilers move ahead of a branch run in lanes that leave there. What those load counts only if they store something
/// afterwards, or other lanes may see it.
#[test]
fn loads_of_lanes_that_leave_are_silent() {
    let load = "get_sr r1, sr80\nmov_imm r4, 65536, 0b0\nicmpsel ult, r3, r1, 1, 0, r4\n\
                device_load 0, i32, x, r2, u0_u1, r3, unsigned\nwait 0\n";
    let store = "device_store 0, i32, x, r2, u0_u1, 0, unsigned, 0\n";
    let guarded = |limit: u32, after: &str| {
        format!("{load}{after}if_icmp r0l, ult, r1, {limit}, 1\n{store}pop_exec r0l, 1\nstop")
    };
    // Lane 0 loads what is bound, and it alone stores.
    assert_eq!(reports(&guarded(1, "")), []);
    let (kind, text) = one(&guarded(2, ""));
    assert_eq!(kind, ReportKind::UnboundLoad);
    assert!(text.contains("lane 1"), "{text}");
    let (kind, _) = one(&guarded(1, "simd_shuffle r5, r2, 1\n"));
    assert_eq!(kind, ReportKind::UnboundLoad);
}

/// Runs a program of one SIMD-group that stores a word of each lane to a buffer; interpreted and
/// translated.
fn words(source: &str, uninitialised: u32, translate_after: u32, check: bool) -> Vec<u32> {
    let code = assemble(source).expect("the test's program");
    let options = Options { uninitialised, translate_after, check, ..Options::default() };
    let mut machine = Machine::new(options).expect("a machine");
    machine.scratch(64).expect("scratch memory");
    let out = machine.buffer(128).expect("a buffer");
    let job = machine
        .prepare(&Dispatch {
            code: &code,
            uniforms: &address_halves(out.address()),
            global: [32, 1, 1],
            local: [32, 1, 1],
            local_bytes: 256,
            ..Dispatch::default()
        })
        .expect("a job");
    machine.submit(&job).expect("no fault");
    out.read_words().expect("bound")
}

#[test]
fn what_was_never_written_holds_the_word_of_the_options() {
    let store = "\nget_sr r1, sr80\ndevice_store 0, i32, x, r2, u0_u1, r1, unsigned, 0\nstop";
    for (what, source) in [
        ("register", "iadd r2, r9, 0".to_owned()),
        ("local memory", "threadgroup_load i32, x, r2, 0, 0".to_owned()),
        (
            "scratch",
            "TODO.stack_adjust 0, 1, 2, 0, 0, 16\nstack_load r2, i32, 1, 0, x, 4, 4, 0\nwait 0"
                .to_owned(),
        ),
    ] {
        for (after, check) in [(0, false), (u32::MAX, false), (u32::MAX, true)] {
            for word in [0, 0x1234_5678, tepui_agx_model::POISON] {
                let got = words(&format!("{source}{store}"), word, after, check);
                assert_eq!(got, [word; 32], "{what}, translated after {after}, check {check}");
            }
        }
    }
    // The counter of the execution mask starts at 0.
    let got = words(&format!("iadd r2, r0l, 0{store}"), 0x1234_5678, u32::MAX, false);
    assert_eq!(got, [0; 32]);
}

#[test]
fn an_endless_loop_is_a_fault() {
    let options = Options { instruction_budget: 10_000, ..Options::default() };
    let fault = run("again:\njmp_exec_any again\nstop", options).expect_err("it never ends");
    assert_eq!(fault.kind, FaultKind::Endless, "{fault}");
    assert_eq!(fault.program.map(|point| point.offset), Some(0));
}

#[test]
fn an_invalid_encoding_is_a_fault_when_it_is_reached() {
    let fault = run(".hex ffffffffffffffff", Options::default()).expect_err("no instruction");
    assert_eq!(fault.kind, FaultKind::Undecodable, "{fault}");
    assert!(run("stop\n.hex ffffffffffffffff", Options::default()).is_ok());
}

/// Runs a stream of two launches of 32 threads, with blocks between them; `u0_u1` points to 1024 words of 7. Returns the findings, and the
/// words afterwards.
fn run_launches(
    options: Options,
    sources: [&str; 2],
    between: &[Vec<u8>],
) -> (Vec<ReportKind>, Vec<u32>) {
    let mut machine = Machine::new(options).expect("a machine");
    let buffer = machine.buffer(4096).expect("a buffer");
    buffer.write_words(&[7; 1024]).expect("bound");
    let uniforms = address_halves(buffer.address());
    let mut launch = |source: &str| {
        let code = assemble(source).expect("the test's program");
        let (global, local) = ([32, 1, 1], [32, 1, 1]);
        let dispatch =
            Dispatch { code: &code, uniforms: &uniforms, global, local, ..Dispatch::default() };
        machine.launch(&dispatch).expect("a launch")
    };
    let [first, second] = sources.map(&mut launch);
    let blocks = [&[first], between, &[second]].concat();
    let job = machine.prepare_stream(&blocks).expect("a job");
    let reports = machine.submit(&job).expect("no fault").reports;
    let words = buffer.read_words().expect("bound");
    (reports.iter().map(|report| report.kind).collect(), words)
}

/// Findings of a stream of two launches with blocks between.
fn launches(first: &str, second: &str, between: &[Vec<u8>]) -> Vec<ReportKind> {
    let options = Options { check: true, audit: true, ..Options::default() };
    run_launches(options, [first, second], between).0
}

/// Stores each thread's number to its word.
const STORE: &str = "get_sr r1, sr80\ndevice_store 0, i32, x, r1, u0_u1, r1, unsigned, 0\nstop";

/// Copies each thread's word to the one 32 words later.
fn copying() -> String {
    format!(
        "get_sr r1, sr80\n{LOAD}wait 0\niadd r3, r1, 32\ndevice_store 0, i32, x, r2, u0_u1, r3, unsigned, 0\nstop"
    )
}

/// A barrier block of the compute control stream.
fn barrier() -> Vec<u8> {
    cdm::Barrier::default().pack().expect("it fits").to_vec()
}

/// With relaxed execution, launches run in either order unless a barrier block is between them.
#[test]
fn another_order_shows_a_missing_barrier() {
    let load = copying();
    let copied = |between: &[Vec<u8>], relaxed| {
        let options = Options { relaxed, ..Options::default() };
        let (_, words) = run_launches(options, [STORE, &load], between);
        let numbers: Vec<u32> = (0..32).collect();
        assert_eq!(words[..32], numbers);
        let is_new = words[32..64] == numbers;
        assert!(is_new || words[32..64] == [7; 32], "{words:?}");
        is_new
    };
    let seeds = || (0..16).map(Some);
    assert!(seeds().all(|seed| copied(&[barrier()], seed)));
    let without: Vec<bool> = seeds().map(|seed| copied(&[], seed)).collect();
    assert!(without.contains(&true) && without.contains(&false), "{without:?}");
    assert_eq!(without, seeds().map(|seed| copied(&[], seed)).collect::<Vec<_>>());
    assert!(copied(&[], None));
}

/// Launches of a stream run at the same time unless a barrier block is between them.
#[test]
fn a_missing_barrier_between_launches_is_found() {
    let (load, barrier) = (&copying(), [barrier()]);
    assert_eq!(launches(STORE, load, &[]), [ReportKind::MissingWait]);
    assert_eq!(launches(STORE, load, &barrier), []);
    // A write after a read.
    assert_eq!(launches(load, STORE, &[]), [ReportKind::MissingWait]);
    assert_eq!(launches(load, STORE, &barrier), []);
    // Without an audit, too.
    let options = Options { check: true, ..Options::default() };
    let found = run_launches(options, [STORE, load], &[]).0;
    assert_eq!(found, [ReportKind::MissingWait]);
    // Two reads, of which the stores leave memory as it was.
    assert_eq!(launches(load, load, &[]), []);
}
