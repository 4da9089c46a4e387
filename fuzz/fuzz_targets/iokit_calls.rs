//! Calls of the AGX kernel extension: arbitrary methods with arbitrary input and output structures, over
//! arbitrary memory, are described without a panic.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tepui_agx_iokit::{Call, ClientMemory, Session};

/// The input as memory, from address 0 on.
struct Memory<'a>(&'a [u8]);

impl ClientMemory for Memory<'_> {
    fn read(&self, address: u64, into: &mut [u8]) -> bool {
        let from = usize::try_from(address).ok().and_then(|at| self.0.get(at..)?.get(..into.len()));
        from.is_some_and(|bytes| {
            into.copy_from_slice(bytes);
            true
        })
    }
}

fuzz_target!(|input: &[u8]| {
    let memory = Memory(input);
    let mut session = Session::new();
    let mut rest = input;
    // Method, result, length of the structure that follows.
    while let [selector, result, length, bytes @ ..] = rest {
        let (structure, more) = bytes.split_at(bytes.len().min(usize::from(*length)));
        rest = more;
        let numbers = [u64::from(*length), u64::from(*result)];
        let selector = u32::from(*selector);
        let call = Call { selector, input: &numbers, input_struct: structure, ..Call::default() };
        let _ = session.entering(&call, &memory).to_string();
        let call = Call {
            output: &numbers,
            output_struct: structure,
            result: i32::from(*result),
            ..call
        };
        let _ = session.answered(&call).to_string();
    }
});
