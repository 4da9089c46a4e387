//! Programs in assembly, run on one thread.

#![allow(dead_code, reason = "each test file uses a part")]

use tepui_intel_eu::{
    Dispatch, Fault, Message, MessageUnit, Outcome, Program, REGISTERS, Refusal, Stop, Thread,
    ThreadView,
};
use tepui_intel_isa::{Generation, asm};

/// A unit that accepts the message that ends a thread, and no other.
pub struct EndOfThreadOnly;

impl MessageUnit for EndOfThreadOnly {
    fn send(&mut self, _: &mut ThreadView<'_>, message: &Message) -> Result<Outcome, Refusal> {
        match message.end_of_thread {
            true => Ok(Outcome::Done),
            false => Err(Refusal("no unit".to_owned())),
        }
    }
}

/// The message that ends a compute thread.
pub const END: &str =
    "send(8) null<1>UD g127<8,8,1>UD 0x82000010 thread_spawner MsgDesc: { align1 WE_all 1Q EOT };";

/// Decodes a program, followed by the message that ends the thread.
pub fn program(text: &str) -> Program {
    let code = asm::assemble(Generation::Gen9, &format!("{text}\n{END}"));
    let code = code.unwrap_or_else(|errors| panic!("{text}\n{errors:?}"));
    Program::from_bytes(Generation::Gen9, 0, &code).unwrap_or_else(|fault| panic!("{fault}"))
}

/// Float control that keeps denormals of F, as most tests expect.
pub const KEEPS_DENORMALS: u32 = 0x80;

/// A thread that has run a program: `set` writes registers before it. The translated program must give the same
/// state.
pub fn try_run(text: &str, mask: u32, set: impl FnOnce(&mut Thread)) -> Result<Thread, Fault> {
    try_run_with(text, mask, KEEPS_DENORMALS, set)
}

/// As [`try_run`], with a float control.
pub fn try_run_with(
    text: &str,
    mask: u32,
    control: u32,
    set: impl FnOnce(&mut Thread),
) -> Result<Thread, Fault> {
    let (mut thread, mut translated) = (Thread::new(), Thread::new());
    for thread in [&mut thread, &mut translated] {
        thread.start(&Dispatch { mask, vector_mask: mask, state: 0, control });
    }
    set(&mut thread);
    translated.grf_mut().copy_from_slice(thread.grf());
    let interpreted = program(text).translated_after(None);
    let result = thread.run(&interpreted, &mut EndOfThreadOnly, &mut 1_000_000);
    let again = translated.run(
        &program(text).translated_after(Some(0)),
        &mut EndOfThreadOnly,
        &mut 1_000_000,
    );
    assert_eq!(result, again, "{text}");
    assert_same(&thread, &translated, text);
    assert_eq!(result?, Stop::EndOfThread);
    Ok(thread)
}

/// Asserts that two threads have the same registers, except for the bits of NaNs.
pub fn assert_same(a: &Thread, b: &Thread, text: &str) {
    assert_eq!(a.executed(), b.executed(), "instructions\n{text}");
    for register in 0..2 {
        assert_eq!(a.flag(register), b.flag(register), "f{register}\n{text}");
    }
    for register in 0..REGISTERS {
        for (channel, (x, y)) in
            dwords(a, register, 8).into_iter().zip(dwords(b, register, 8)).enumerate()
        {
            let nans = f32::from_bits(x).is_nan() && f32::from_bits(y).is_nan();
            assert!(x == y || nans, "g{register}.{channel}: {x:#x}, translated {y:#x}\n{text}");
        }
    }
}

/// As [`try_run`], without faults.
pub fn run(text: &str, mask: u32, set: impl FnOnce(&mut Thread)) -> Thread {
    try_run(text, mask, set).unwrap_or_else(|fault| panic!("{fault}"))
}

/// Double words of registers.
pub fn dwords(thread: &Thread, register: usize, count: usize) -> Vec<u32> {
    thread.grf()[register * 32..][..count * 4]
        .chunks_exact(4)
        .map(|b| u32::from_le_bytes(b.try_into().unwrap()))
        .collect()
}

/// Floats of registers.
pub fn floats(thread: &Thread, register: usize, count: usize) -> Vec<f32> {
    dwords(thread, register, count).into_iter().map(f32::from_bits).collect()
}
