//! Each check finds its mistake, and a program without mistakes gives no report.

use tepui_agx_bare::{Dispatch, Machine, address_halves};
use tepui_agx_isa::asm::assemble;
use tepui_agx_model::{JobFault, JobStats, Options};

/// Runs one workgroup of 32 threads; `u0_u1` points to a page of words that were written, `u2_u3` to
/// one that never was.
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

/// What the checks say of a program.
fn reports(source: &str) -> Vec<String> {
    let options = Options { check: true, ..Options::default() };
    let stats = run(source, options).expect("no fault");
    stats.reports.iter().map(|r| r.to_string()).collect()
}

fn one(source: &str) -> String {
    let all = reports(source);
    assert_eq!(all.len(), 1, "{all:#?}");
    all[0].clone()
}

const LOAD: &str = "device_load 0, i32, x, r2, u0_u1, r1, unsigned\n";

#[test]
fn a_correct_program_is_silent() {
    let source = format!(
        "get_sr r1, sr80\n{LOAD}wait 0\niadd r3, r2, 1\ndevice_store 0, i32, x, r3, u0_u1, r1, unsigned, 0\nstop"
    );
    assert_eq!(reports(&source), Vec::<String>::new());
}

#[test]
fn a_missing_wait_is_found() {
    let report = one(&format!("get_sr r1, sr80\n{LOAD}iadd r3.cache, r2, 1\nstop"))
        + &one(&format!("get_sr r1, sr80\n{LOAD}wait 1\nbitop_not r3, r2\nstop")
            .replace("bitop_not", "not"));
    assert!(report.contains("r2l is read before its load was waited for"), "{report}");
    assert!(report.contains("offset 0xc"), "{report}");
}

#[test]
fn an_unwritten_register_is_found() {
    let report = one("mov_imm r1l, 5\niadd r3l, r1l, r4l\nstop");
    assert!(report.contains("r4l is read, but was never written"), "{report}");
}

#[test]
fn unwritten_local_memory_is_found() {
    let report = one("threadgroup_load i32, x, r1, 0, 0\nstop");
    assert!(report.contains("local memory is read"), "{report}");
}

#[test]
fn unwritten_and_unbound_memory_is_found() {
    let report =
        one("get_sr r1, sr80\ndevice_load 0, i32, x, r2, u2_u3, r1, unsigned\nwait 0\nstop");
    assert!(report.contains("nothing was ever written"), "{report}");
    let report =
        one("mov_imm r1, 65536, 0b0\ndevice_load 0, i32, x, r2, u0_u1, r1, unsigned\nwait 0\nstop");
    assert!(report.contains("no memory is bound there"), "{report}");
}

#[test]
fn an_endless_loop_is_a_fault() {
    let options = Options { instruction_budget: 10_000, ..Options::default() };
    let fault = run("again:\njmp_exec_any again\nstop", options).expect_err("it never ends");
    assert!(fault.what.contains("endless"), "{fault}");
    assert!(fault.to_string().contains("jmp_exec_any"), "{fault}");
}

#[test]
fn an_invalid_encoding_is_a_fault_when_it_is_reached() {
    let fault = run(".hex ffffffffffffffff", Options::default()).expect_err("no instruction");
    assert!(fault.what.contains("cannot be decoded"), "{fault}");
    assert!(run("stop\n.hex ffffffffffffffff", Options::default()).is_ok());
}
