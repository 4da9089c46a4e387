//! Shaders of every shape of [`tepui_ir_gen::scale`]: small ones run on the model, large ones
//! compile on a small stack, and what is larger than SPIR-V allows is refused by a typed error.

use tepui_agx_bare::{Machine, shader};
use tepui_agx_compiler::{Error, Options, Program, compile};
use tepui_ir::interp::{Memory, dispatch};
use tepui_ir_gen::scale::Shape;

/// Threads of a workgroup of these shaders.
const THREADS: usize = 32;
/// Stack of the threads that compile: less than the 2 MiB that Rust gives.
const STACK: usize = 1 << 20;

/// The buffer: the words that the invocations work on, some of which take every way through the
/// shader.
fn words(n: usize) -> Vec<u32> {
    (0..n as u32)
        .map(|k| if k == 1 { u32::MAX } else { k.wrapping_mul(0x85eb_ca6b) >> (k % 29) })
        .collect()
}

fn machine() -> Machine {
    let options = tepui_agx_model::Options {
        threads: 1,
        check: true,
        instruction_budget: 1 << 26,
        ..Default::default()
    };
    Machine::new(options).expect("a machine")
}

fn run(p: &Program, input: &[u32]) -> Vec<u32> {
    let mut machine = machine();
    let bytes: Vec<u8> = input.iter().flat_map(|w| w.to_le_bytes()).collect();
    let buffer = machine.buffer(bytes.len()).expect("a buffer");
    buffer.write(&bytes).expect("it can be written");
    let mut bindings = shader::Bindings::default();
    bindings.buffers.insert((0, 0, 0), buffer.clone());
    let stats = shader::run(&mut machine, p, &bindings, [1; 3]).expect("the program runs");
    if let Some(r) = stats.reports.first() {
        panic!("{:#x}: {}: {}", r.at.offset, r.at.text, r.what);
    }
    let out = buffer.read().expect("it can be read");
    out.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

/// Compiles SPIR-V to machine code, with all checks, on a thread with a small stack.
fn compiled(shape: Shape, n: u32) -> Result<Program, tepui_spirv::Error> {
    let work = move || {
        let mut s = tepui_spirv::translate(&shape.module(n), &Default::default())?;
        let options = Options { check: true, ..Options::default() };
        Ok(compile(&mut s, &options).unwrap_or_else(|e| panic!("{n} {}: {e}", shape.name())))
    };
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(work).expect("a thread");
    thread.join().expect("compiling does not panic")
}

fn check(shape: Shape, n: u32) {
    let name = shape.name();
    let p = compiled(shape, n).unwrap_or_else(|e| panic!("{n} {name}: {e}"));
    let (input, want): (Vec<u32>, Vec<u32>) = match shape {
        Shape::Loads | Shape::Copies => {
            let stride = if shape == Shape::Loads { 3 } else { 1 };
            let input = words(stride * n as usize);
            let mut want = input.clone();
            for k in 0..n as usize {
                want[stride * k] = input[stride * (n as usize - 1 - k)];
            }
            (input, want)
        }
        _ => {
            let input = words(THREADS);
            let want = input.iter().map(|&x| shape.result(n, x)).collect();
            (input, want)
        }
    };
    let got = match shape {
        // Every invocation reverses the buffer: one reads what another has written unless there is
        // one only.
        Shape::Loads | Shape::Copies => {
            let mut p = p;
            p.workgroup_size = [1; 3];
            run(&p, &input)
        }
        _ => run(&p, &input),
    };
    assert!(got == want, "{n} {name}: {got:x?} is not {want:x?}");
}

#[test]
fn shapes_compute_what_they_say() {
    for n in [1, 2, 7, 30] {
        for shape in Shape::ALL {
            check(shape, n);
        }
    }
    for shape in Shape::ALL {
        check(shape, 250);
    }
}

#[test]
fn twenty_thousand_selections_in_a_row() {
    check(Shape::Ifs, 20_000);
}

#[test]
fn twenty_thousand_cases_and_instructions() {
    check(Shape::Switch, 20_000);
    check(Shape::Chain, 20_000);
}

#[test]
fn nesting_up_to_the_limit_of_spirv() {
    check(Shape::NestedIfs, 1_023);
    check(Shape::NestedLoops, 1_023);
    check(Shape::Returns, 1_023);
}

#[test]
fn every_tool_on_the_ir_takes_deep_nesting() {
    let work = || {
        let words = words(THREADS);
        let s = tepui_spirv::translate(&Shape::NestedIfs.module(1_023), &Default::default())
            .expect("it is valid");
        let text = s.to_string();
        let s = tepui_ir::parse(&text).expect("the text form is read back");
        assert!(s.to_string() == text);
        tepui_ir::validate(&s).expect("it is valid");
        let mut m = Memory::default();
        m.set_words(0, 0, &words);
        dispatch(&s, [1; 3], &mut m, 1 << 24).expect("it runs");
        let want: Vec<u32> = words.iter().map(|&x| Shape::NestedIfs.result(1_023, x)).collect();
        assert!(m.words(0, 0) == want);
    };
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(work).expect("a thread");
    thread.join().expect("nothing panics");
}

#[test]
fn deeper_nesting_is_refused() {
    for shape in [Shape::NestedIfs, Shape::NestedLoops, Shape::Returns] {
        let error = compiled(shape, 20_000).expect_err("nesting has a limit");
        assert_eq!(error.kind, tepui_spirv::Kind::Nesting { limit: 4096 });
    }
    let text = format!("shader compute \"main\" {{\n body {{\n{}", "loop () {\n".repeat(100_000));
    let error = tepui_ir::parse(&text).expect_err("nesting has a limit");
    assert_eq!(error.kind, tepui_ir::ParseErrorKind::Nesting { limit: 8192 });
}

#[test]
fn slots_beyond_the_immediates_of_stack_accesses() {
    check(Shape::Loads, 8_300);
    check(Shape::Loads, 16_000);
}

#[test]
fn what_scratch_memory_does_not_hold_is_refused() {
    let mut s = tepui_spirv::translate(&Shape::Loads.module(33_000), &Default::default())
        .expect("it is valid");
    let error = compile(&mut s, &Options::default()).expect_err("132,000 bytes are live");
    assert!(matches!(error, Error::Limit { limit: 131_016, .. }), "{error}");
}
