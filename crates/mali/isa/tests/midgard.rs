//! Midgard: encoding and decoding lead back to each other, for random bundles and bytes.

use proptest::prelude::*;
use tepui_mali_isa::midgard::{Bundle, disasm, random};

/// A source of random bits from a seed (splitmix64).
fn bits(mut seed: u64) -> impl FnMut() -> u64 {
    move || {
        seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = seed;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// A random bundle is read as it was written, and has text.
    #[test]
    fn bundles(seed: u64) {
        let bundle = random::bundle(&mut bits(seed));
        let code = bundle.encode();
        prop_assert_eq!(code.len(), bundle.tag.words() * 16);
        prop_assert_eq!(Bundle::decode(&code), Ok(bundle));
        prop_assert!(!disasm::program(&code).is_empty());
    }

    /// Whatever decodes encodes to the same bytes, and nothing panics.
    #[test]
    fn arbitrary_bytes(code in proptest::collection::vec(any::<u8>(), 0..96)) {
        let text = disasm::program(&code);
        prop_assert_eq!(text.is_empty(), code.is_empty());
        if let Ok(bundle) = Bundle::decode(&code) {
            let bytes = bundle.encode();
            prop_assert_eq!(&bytes[..], &code[..bytes.len()]);
        }
    }
}
