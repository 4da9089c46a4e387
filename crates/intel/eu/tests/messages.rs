//! Messages of interpreted and of translated programs: the outcomes of units have the same effects.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};

use common::{KEEPS_DENORMALS, assert_same, program};
use tepui_intel_eu::{Dispatch, Message, MessageUnit, Outcome, Refusal, Stop, Thread, ThreadView};

/// The outcome of a unit's third message.
#[derive(Clone, Copy)]
enum ThirdMessage {
    Answers,
    Yields,
    Refuses,
    Panics,
}

/// A unit that answers each message with the number of messages so far, in the channels that execute.
struct Counter {
    sent: u32,
    third: ThirdMessage,
}

impl MessageUnit for Counter {
    fn send(&mut self, thread: &mut ThreadView<'_>, message: &Message) -> Result<Outcome, Refusal> {
        self.sent += 1;
        thread.respond(0, [self.sent; 8], message.channels as u8);
        match self.third {
            _ if self.sent != 3 => Ok(Outcome::Done),
            ThirdMessage::Answers => Ok(Outcome::Done),
            ThirdMessage::Yields => Ok(Outcome::Yield),
            ThirdMessage::Refuses => Err(Refusal("the third".to_owned())),
            ThirdMessage::Panics => panic!("the third"),
        }
    }
}

/// Three messages, whose answers are added up.
const PROGRAM: &str = "
mov(8) g20<1>UD 0x00000000UD { align1 1Q };
mov(8) g21<1>UD 0x00000000UD { align1 1Q };
send(8) g10<1>UD g20<8,8,1>UD 0x02106efe dp data 1 MsgDesc: { align1 1Q };
add(8) g21<1>UD g21<8,8,1>UD g10<8,8,1>UD { align1 1Q };
send(8) g10<1>UD g20<8,8,1>UD 0x02106efe dp data 1 MsgDesc: { align1 1Q };
add(8) g21<1>UD g21<8,8,1>UD g10<8,8,1>UD { align1 1Q };
send(8) g10<1>UD g20<8,8,1>UD 0x02106efe dp data 1 MsgDesc: { align1 1Q };
add(8) g21<1>UD g21<8,8,1>UD g10<8,8,1>UD { align1 1Q };
";

/// The thread and how it stopped: at the third message, and at the end if it continues.
fn run(third: ThirdMessage, translated: bool) -> (Thread, Vec<Result<Stop, String>>) {
    let program = program(PROGRAM).translated_after(translated.then_some(0));
    let mut thread = Thread::new();
    thread.start(&Dispatch { mask: 0x5a, vector_mask: 0xff, state: 0, control: KEEPS_DENORMALS });
    let (mut units, mut budget) = (Counter { sent: 0, third }, 1000);
    let mut stops = Vec::new();
    loop {
        let run = AssertUnwindSafe(|| thread.run(&program, &mut units, &mut budget));
        let stop = match catch_unwind(run) {
            Ok(stop) => stop.map_err(|fault| fault.to_string()),
            Err(panic) => Err(format!("panic: {:?}", panic.downcast_ref::<&str>())),
        };
        let goes_on = stop == Ok(Stop::Yielded);
        stops.push(stop);
        if !goes_on {
            return (thread, stops);
        }
    }
}

#[test]
fn units_answer_refuse_yield_and_panic() {
    let whats =
        [ThirdMessage::Answers, ThirdMessage::Yields, ThirdMessage::Refuses, ThirdMessage::Panics];
    let mut seen = Vec::new();
    for third in whats {
        let ((a, interpreted), (b, translated)) = (run(third, false), run(third, true));
        assert_eq!(interpreted, translated);
        if interpreted.iter().all(Result::is_ok) {
            assert_same(&a, &b, PROGRAM);
            // 1 + 2 + 3, in the channels that execute.
            let sums = common::dwords(&b, 21, 8);
            for (channel, sum) in sums.into_iter().enumerate() {
                assert_eq!(sum, if 0x5a >> channel & 1 != 0 { 6 } else { 0 });
            }
        }
        seen.push(interpreted);
    }
    assert_eq!(seen[0], [Ok(Stop::EndOfThread)]);
    assert_eq!(seen[1], [Ok(Stop::Yielded), Ok(Stop::EndOfThread)]);
    assert!(matches!(&seen[2][..], [Err(fault)] if fault.contains("the third")), "{:?}", seen[2]);
    assert!(matches!(&seen[3][..], [Err(panic)] if panic.starts_with("panic: Some(\"the third")));
}
