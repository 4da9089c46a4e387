//! Counts of a thread's instructions.

mod common;

use tepui_intel_eu::{Counts, Dispatch, Thread};

#[test]
fn counted_threads_count_what_they_execute() {
    // Three times round the loop: an addition of one register, one of two, a comparison of one, the jump.
    let program = common::program(
        "mov(8) g2<1>D 0D { align1 1Q };
         LABEL0:
         add(8) g2<1>D g2<8,8,1>D 1D { align1 1Q };
         add(16) g4<1>D g6<8,8,1>D 1D { align1 1H };
         cmp.l.f0.0(8) null<1>D g2<8,8,1>D 3D { align1 1Q };
         (+f0.0) while(8) JIP: LABEL0 { align1 1Q };",
    );
    let run = |mut thread: Thread| {
        thread.start(&Dispatch { mask: 0xff, vector_mask: 0xff, state: 0, control: 0 });
        thread.run(&program, &mut common::EndOfThreadOnly, &mut 1000).expect("no fault");
        thread
    };
    let counted = run(Thread::new().counted());
    let counts =
        Counts { instructions: 1 + 3 * 4 + 1, registers: 1 + 3 * (1 + 2 + 1 + 1) + 1, messages: 1 };
    assert_eq!(counted.counts(), Some(counts));
    assert_eq!(counted.executed(), counts.instructions);
    assert_eq!(counts.to_string(), "14 instructions of 17 registers, 1 messages");
    let plain = run(Thread::new());
    assert_eq!(plain.counts(), None);
    assert_eq!(plain.grf(), counted.grf());
    // Counts of a thread that runs again add up.
    let again = run(counted);
    assert_eq!(again.counts().map(|counts| counts.instructions), Some(28));
}
