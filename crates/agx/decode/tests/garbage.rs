//! Decoding random memory terminates, and its output can be printed.

use proptest::prelude::*;
use tepui_agx_decode::ppp::RenderArrays;
use tepui_agx_decode::{Decoder, GpuMemory, Limits, Options, Record, Unreadable};

/// Memory that repeats the same bytes at every address, except that one page in eight is unmapped.
struct RepeatingMemory(Vec<u8>);

impl GpuMemory for RepeatingMemory {
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

fn count(record: &Record) -> usize {
    let mut n = 0;
    record.walk(&mut |_| n += 1);
    n
}

/// Words most of which are the start of a block or a USC tag.
fn words() -> impl Strategy<Value = Vec<u8>> {
    let word = prop_oneof![
        4 => any::<u32>(),
        2 => (0u32..8, any::<u32>()).prop_map(|(kind, rest)| kind << 29 | rest & 0x1f00_ffff),
        2 => (prop::sample::select(vec![0x0du32, 0x1d, 0x3d, 0x4d, 0x8d, 0x9d, 0xdd, 0x58]), any::<u32>())
            .prop_map(|(tag, rest)| tag | rest << 8),
        1 => 0u32..0x400,
    ];
    prop::collection::vec(word, 1..128)
        .prop_map(|w| w.iter().flat_map(|w| w.to_le_bytes()).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn decoding_ends(bytes in words(), start: u64, usc_base: u64, g14x: bool, everything: bool) {
        let memory = RepeatingMemory(bytes);
        let limits = Limits { records: 2000, calls: 4 };
        let options = Options { usc_base, g14x, everything, limits };
        let arrays = RenderArrays { scissors: start, depth_biases: start };
        for tree in [
            Decoder::new(&memory, options).cdm(start),
            Decoder::new(&memory, options).vdm(start, arrays),
            Decoder::new(&memory, options).pipeline("Pipeline", start, g14x),
            Decoder::new(&memory, options).sampler_heap(start, 300),
            Decoder::new(&memory, options).image_heap(start, 300),
        ] {
            prop_assert!(count(&tree) < 20_000, "{} records", count(&tree));
            prop_assert!(!tree.to_string().is_empty());
            prop_assert!(serde_json::to_string(&tree).is_ok());
        }
    }
}
