//! Control streams, USC words and state from arbitrary memory: decoding terminates and prints.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tepui_agx_decode::{Decoder, GpuMemory, Limits, Options, Unreadable, ppp::RenderArrays};

/// The input repeated at every address, except for one page in eight.
struct Everywhere<'a>(&'a [u8]);

impl GpuMemory for Everywhere<'_> {
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), Unreadable> {
        if address >> 14 & 7 == 7 {
            return Err(Unreadable { address });
        }
        for (i, byte) in into.iter_mut().enumerate() {
            *byte = self.0[address.wrapping_add(i as u64) as usize % self.0.len()];
        }
        Ok(())
    }
}

fuzz_target!(|input: &[u8]| {
    let Some((&[kind, low, high], memory)) = input.split_first_chunk::<3>() else { return };
    if memory.is_empty() {
        return;
    }
    let memory = Everywhere(memory);
    let limits = Limits { records: 4000, calls: 4 };
    let options = Options { g14x: kind & 8 != 0, everything: kind & 16 != 0, limits, ..Options::new(0) };
    let mut decoder = Decoder::new(&memory, options);
    let start = u64::from(low) | u64::from(high) << 8;
    let tree = match kind & 7 {
        0 | 1 => decoder.cdm(start),
        2 | 3 => decoder.vdm(start, RenderArrays { scissors: start, depth_biases: start }),
        4 => decoder.pipeline("Pipeline", start, kind & 8 != 0),
        5 => decoder.image_heap(start, 256),
        kind => decoder.command(u16::from(kind - 6), memory.0),
    };
    assert!(!tree.to_string().is_empty());
    let mut count = 0;
    tree.walk(&mut |_| count += 1);
    assert!(count < 40_000, "{count} records");
});
