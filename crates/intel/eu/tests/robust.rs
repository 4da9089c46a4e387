//! Random instructions never make interpreter or translation panic or hang: they execute them or return a fault, and
//! agree.

mod common;

use tepui_intel_eu::{
    Dispatch, Fault, FaultKind, Message, MessageUnit, Outcome, Program, Refusal, Thread, ThreadView,
};
use tepui_intel_isa::{Generation, asm, random};

/// A unit that answers each message with its own payload; every fourth message yields to the dispatcher.
struct Echo(u32);

impl MessageUnit for Echo {
    fn send(&mut self, thread: &mut ThreadView<'_>, message: &Message) -> Result<Outcome, Refusal> {
        let payload = [thread.payload(), thread.payload1()].concat();
        let response = thread.response();
        let bytes = payload.len().min(response.len());
        response[..bytes].copy_from_slice(&payload[..bytes]);
        thread.respond(0, thread.dwords(0), message.channels as u8);
        self.0 += 1;
        Ok(if self.0.is_multiple_of(4) { Outcome::Yield } else { Outcome::Done })
    }
}

fn bits(mut seed: u64) -> impl FnMut() -> u64 {
    move || {
        seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = seed;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
}

#[test]
fn random_programs() {
    let (mut ran, mut executed) = (0, 0);
    for seed in 0..60_000 {
        let mut bits = bits(seed);
        let mut code = Vec::new();
        let count = 1 + bits() % 6;
        for _ in 0..count {
            let mut inst = random::inst(Generation::Gen9, &mut bits);
            // Jumps to instructions of the program, most of them.
            inst.jip = (bits() % count) as i32 * 16 - code.len() as i32;
            inst.uip = (bits() % count) as i32 * 16 - code.len() as i32;
            inst.encode(&mut code).expect("a random instruction can be encoded");
        }
        code.extend(asm::assemble(Generation::Gen9, END).expect("assembly"));
        let program = || Program::from_bytes(Generation::Gen9, 0, &code);
        let (Ok(program), Ok(translated)) = (program(), program()) else { continue };
        ran += 1;
        let start = bits();
        let (a, fault) = execute(&program.translated_after(None), start);
        let (b, other) = execute(&translated.translated_after(Some(0)), start);
        executed += a.executed();
        let text = || format!("seed {seed}");
        assert_eq!(fault, other, "seed {seed}");
        // The registers of a failed thread are not used any more.
        if fault.is_none() {
            common::assert_same(&a, &b, &text());
        }
    }
    assert!(ran > 5_000 && executed > 50_000, "{ran} programs, {executed} instructions");
}

/// A program of so many moves, to its end.
fn moves(count: usize) -> Result<Program, Fault> {
    let code = |text: &str| asm::assemble(Generation::Gen9, text).expect("assembly");
    let (one, end) = (code("mov(8) g4<1>UD g3<8,8,1>UD { align1 1Q };"), code(END));
    assert_eq!(one.len(), 16);
    Program::load(Generation::Gen9, 0, |at, buffer| {
        let (n, at) = (at as usize / 16, at as usize % 16);
        let inst = if n < count { &one } else { &end };
        let found = inst.get(at..at + buffer.len()).filter(|_| n <= count);
        found.is_some_and(|bytes| {
            buffer.copy_from_slice(bytes);
            true
        })
    })
}

#[test]
fn programs_are_as_long_as_their_decoded_form_may_be() {
    let long = moves(100_000).expect("a program of 1.6 MB");
    let mut thread = Thread::new();
    thread.start(&Dispatch { mask: 0xff, vector_mask: u32::MAX, state: 0, control: 0 });
    thread.run(&long, &mut Echo(0), &mut 200_000).expect("it ends");
    assert_eq!((thread.executed(), long.count()), (100_001, 100_001));
    // All mapped memory may be moves.
    assert!(matches!(moves(usize::MAX), Err(Fault { kind: FaultKind::TooLong(_), .. })));
}

const END: &str =
    "send(8) null<1>UD g127<8,8,1>UD 0x82000010 thread_spawner MsgDesc: { align1 WE_all 1Q EOT };";

fn execute(program: &Program, seed: u64) -> (Thread, Option<Fault>) {
    let mut bits = bits(seed);
    let mut thread = Thread::new();
    thread.start(&Dispatch {
        mask: bits() as u32,
        vector_mask: u32::MAX,
        state: bits() as u32,
        control: bits() as u32,
    });
    for byte in thread.grf_mut() {
        *byte = bits() as u8;
    }
    let mut units = Echo(0);
    let mut budget = 200;
    for _ in 0..4 {
        if let Err(fault) = thread.run(program, &mut units, &mut budget) {
            // A fault has a position.
            let known =
                matches!(fault.kind, FaultKind::Watchdog(_)) || !fault.instruction.is_empty();
            assert!(known, "{fault}");
            return (thread, Some(fault));
        }
    }
    (thread, None)
}
