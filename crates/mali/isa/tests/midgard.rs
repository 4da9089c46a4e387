//! Midgard: encoding, decoding and exact text are inverses, for random bundles and bytes, and invalid lines are refused
//! at the position of the error.

use proptest::prelude::*;
use tepui_mali_isa::midgard::{Bundle, TextureRegisters, asm, disasm, random};

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

    /// A random bundle decodes to what was encoded, and has text.
    #[test]
    fn bundles(seed: u64) {
        let bundle = random::bundle(&mut bits(seed));
        let code = bundle.encode();
        prop_assert_eq!(code.len(), bundle.tag.words() * 16);
        prop_assert_eq!(Bundle::decode(&code), Ok(bundle));
        prop_assert!(!disasm::program(&code).is_empty());
    }

    /// The exact text of random bundles is assembled to the same bytes, without falling back to bytes.
    #[test]
    fn programs(seed: u64, count in 1usize..5, shared: bool) {
        let mut bits = bits(seed);
        let bundles: Vec<Bundle> = (0..count).map(|_| random::bundle(&mut bits)).collect();
        let code: Vec<u8> = bundles.iter().flat_map(Bundle::encode).collect();
        let registers = TextureRegisters::shared(shared);
        let parts = disasm::parts(&code, 0).map(|part| part.exact(&code, registers) + "\n");
        let text: String = parts.collect();
        prop_assert!(!text.lines().any(|line| line.starts_with(".hex")), "{}", text);
        prop_assert_eq!(asm::assemble(&text), Ok(code), "{}", text);
    }

    /// Bytes that decode encode to the same bytes, their exact text assembles to the same bytes, and nothing panics.
    #[test]
    fn arbitrary_bytes(code in proptest::collection::vec(any::<u8>(), 0..96)) {
        let text = disasm::program(&code);
        prop_assert_eq!(text.is_empty(), code.is_empty());
        if let Ok(bundle) = Bundle::decode(&code) {
            let bytes = bundle.encode();
            prop_assert_eq!(&bytes[..], &code[..bytes.len()]);
        }
        let exact = disasm::exact(&code);
        let _ = asm::assemble(&text);
        prop_assert_eq!(asm::assemble(&exact), Ok(code), "{}", exact);
    }

    /// Text never panics: random text of the syntax's characters, and exact text with a damaged line.
    #[test]
    fn arbitrary_text(text in "[A-Zfisu0-9a-z@#:{}*+<>.,\n \\-_\\[\\]/~']{0,120}", seed: u64, at: usize, with: char) {
        let _ = asm::assemble(&text);
        let code = random::bundle(&mut bits(seed)).encode();
        let mut chars: Vec<char> = disasm::exact(&code).chars().collect();
        let at = at % chars.len();
        chars[at] = with;
        let _ = asm::assemble(&String::from_iter(&chars));
        chars.remove(at);
        let _ = asm::assemble(&String::from_iter(&chars));
        chars.truncate(at);
        let _ = asm::assemble(&String::from_iter(&chars));
    }
}
