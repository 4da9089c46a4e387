//! Captures from arbitrary bytes: every payload follows a valid header and has a valid checksum.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tepui_agx_capture::{Event, Events, describe};
use tepui_agx_decode::{Limits, Options};

fuzz_target!(|input: &[u8]| {
    let mut bytes = tepui_capture::MAGIC.to_vec();
    bytes.extend(tepui_capture::VERSION.to_le_bytes());
    let mut rest = input;
    while let Some((&length, tail)) = rest.split_first() {
        let (payload, tail) = tail.split_at(tail.len().min(usize::from(length)));
        bytes.extend((payload.len() as u32).to_le_bytes());
        bytes.extend(crc32fast::hash(payload).to_le_bytes());
        bytes.extend(payload);
        rest = tail;
    }
    let Ok(mut events) = Events::new(&bytes[..]) else { return };
    while let Some(Ok(event)) = events.next() {
        match event {
            Event::Call(call) => {
                let description = describe::call(&call);
                let _ = description.line();
                let _ = description.memory.iter().map(ToString::to_string).count();
            }
            Event::Start(start) => {
                let limits = Limits { records: 4000, calls: 4 };
                let options = Options { limits, ..Options::new(0) };
                let _ = describe::command(&events.memory(&start), &start, options).to_string();
            }
            Event::Process(process) => {
                let _ = describe::options(&process.parameters);
            }
            Event::Opened(_) | Event::Closed(_) | Event::Finish(_) => {}
        }
    }
});
