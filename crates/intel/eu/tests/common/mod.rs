//! Programs in assembly, run on one thread.

#![allow(dead_code, reason = "each test file uses a part")]

use tepui_intel_eu::{
    Dispatch, Fault, Message, MessageUnit, Outcome, Program, Refusal, Stop, Thread, ThreadView,
};
use tepui_intel_isa::{Generation, asm};

/// Accepts the message that ends a thread, and no other.
pub struct Nobody;

impl MessageUnit for Nobody {
    fn send(&mut self, _: &mut ThreadView<'_>, message: &Message) -> Result<Outcome, Refusal> {
        match message.end_of_thread {
            true => Ok(Outcome::Done),
            false => Err(Refusal("no unit".to_owned())),
        }
    }
}

/// What ends a compute thread.
pub const END: &str =
    "send(8) null<1>UD g127<8,8,1>UD 0x82000010 thread_spawner MsgDesc: { align1 WE_all 1Q EOT };";

/// Decodes a program, with the message behind it that ends the thread.
pub fn program(text: &str) -> Program {
    let code = asm::assemble(Generation::Gen9, &format!("{text}\n{END}"));
    let code = code.unwrap_or_else(|errors| panic!("{text}\n{errors:?}"));
    Program::from_bytes(Generation::Gen9, 0, &code).unwrap_or_else(|fault| panic!("{fault}"))
}

/// A thread that has run a program: `set` writes registers before it.
pub fn try_run(text: &str, mask: u32, set: impl FnOnce(&mut Thread)) -> Result<Thread, Fault> {
    let program = program(text);
    let mut thread = Thread::new();
    // Denormals of F are kept, as most tests expect.
    thread.start(&Dispatch { mask, vector_mask: mask, state: 0, control: 0x80 });
    set(&mut thread);
    let stop = thread.run(&program, &mut Nobody, &mut 1_000_000)?;
    assert_eq!(stop, Stop::EndOfThread);
    Ok(thread)
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
