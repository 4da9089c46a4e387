//! Arbitrary memory as a batch: a tree within the limits, as text and with the render targets, or problems
//! with their positions.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tepui_decode::{GpuMemory, Unreadable};
use tepui_intel_chips::Generation;
use tepui_intel_decode::{Decoder, Limits, Options, State};

/// Memory that holds the input only.
struct Input<'a>(&'a [u8]);

impl GpuMemory for Input<'_> {
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), Unreadable> {
        let start = usize::try_from(address).map_err(|_| Unreadable { address })?;
        let bytes = start.checked_add(into.len()).and_then(|end| self.0.get(start..end));
        into.copy_from_slice(bytes.ok_or(Unreadable { address })?);
        Ok(())
    }
}

fuzz_target!(|input: &[u8]| {
    let memory = Input(input);
    let limits = Limits { records: 2000, calls: 1 };
    let mut state = State::default();
    for (generation, everything) in [(Generation::Gen9, false), (Generation::Gen12, true)] {
        let options = Options { generation, limits, everything };
        let mut decoder = Decoder::new(&memory, options, &mut state);
        let tree = decoder.batch(0, input.len() as u64);
        let mut records = 0;
        tree.walk(&mut |_| records += 1);
        assert!(records <= 2 * limits.records + 10);
        let _ = tree.to_string();
        let _ = decoder.drawn().len();
    }
});
