#![no_main]
//! Arbitrary bytes as debugger commands and as messages of the debug adapter protocol.

use libfuzzer_sys::fuzz_target;
use tepui_debug::{Instruction, Recording, Session, Step, command, dap};

/// Two instructions in a loop, two lanes, of which one leaves it.
fn recording() -> Recording {
    let program = (0..2).map(|k| Instruction { offset: 4 * k, text: "nop".to_owned(), line: k + 1, ..Instruction::default() });
    let mut r = Recording::new(String::new(), Vec::new(), program.collect());
    r.alive = 3;
    for k in 0..16u32 {
        let step = Step { at: k & 1, exec: if k < 8 { 3 } else { 1 } };
        r.push(step, [&[k, k / 2][..]].into_iter()).expect("it fits");
    }
    r
}

fuzz_target!(|data: &[u8]| {
    let mut session = Session::new(recording());
    for line in String::from_utf8_lossy(data).lines() {
        let _ = command::run(&mut session, line);
    }
    let _ = dap::serve(&mut &data[..], Vec::new(), &mut |_| Ok(recording()));
    // The bytes as arguments of requests that a session answers.
    let Ok(arguments) = serde_json::from_slice::<serde_json::Value>(data) else { return };
    let mut input = Vec::new();
    for name in ["launch", "setBreakpoints", "configurationDone", "evaluate", "variables", "next", "stepBack"] {
        let text = serde_json::json!({ "seq": 1, "command": name, "arguments": arguments }).to_string();
        input.extend(format!("Content-Length: {}\r\n\r\n{text}", text.len()).bytes());
    }
    dap::serve(&mut &input[..], Vec::new(), &mut |_| Ok(recording())).expect("messages are whole");
});
