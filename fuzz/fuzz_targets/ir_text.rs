#![no_main]
//! Text of the IR: a random program's text with bytes replaced, or arbitrary bytes. Text that parses and is
//! valid prints as text that parses to the same; everything else is an error, never a panic.

use libfuzzer_sys::fuzz_target;
use tepui_ir_gen::{Config, program};

fuzz_target!(|data: &[u8]| {
    let Some((&first, rest)) = data.split_first() else { return };
    let text = match rest.split_first_chunk() {
        Some((seed, changes)) if first & 1 != 0 => {
            let config = Config { images: first & 2 != 0, ..Config::all() };
            let mut text = program(u64::from_le_bytes(*seed), &config).to_string().into_bytes();
            for c in changes.chunks_exact(3) {
                let at = usize::from(u16::from_le_bytes([c[0], c[1]])) % text.len();
                text[at] = c[2];
            }
            String::from_utf8_lossy(&text).into_owned()
        }
        _ => String::from_utf8_lossy(rest).into_owned(),
    };
    let Ok(s) = tepui_ir::parse(&text) else { return };
    if tepui_ir::validate(&s).is_err() {
        return;
    }
    let printed = s.to_string();
    let again = tepui_ir::parse(&printed).expect("what prints parses");
    assert_eq!(again.to_string(), printed);
});
