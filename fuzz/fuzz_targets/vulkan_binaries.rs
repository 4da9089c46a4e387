#![no_main]
//! Arbitrary bytes as data that applications store for a driver: binaries of shader objects and pipeline caches. Data
//! that is accepted is written again unchanged, and programs from a cache link or are refused.

use libfuzzer_sys::fuzz_target;
use tepui_agx_compiler::{Program, link};
use tepui_vulkan::cache::{Cache, Header};
use tepui_vulkan::shader_object::Binary;

fuzz_target!(|data: &[u8]| {
    if let Some(binary) = Binary::read(data) {
        assert_eq!(Binary::read(&binary.write()), Some(binary));
    }
    let header = Header::default();
    let kept = [&header[..], data].concat();
    let (bytes, all) = Cache::load(&header, &kept).bytes(&header, usize::MAX);
    assert!(all && bytes.len() <= kept.len());
    assert_eq!(Cache::load(&header, &bytes).bytes(&header, usize::MAX).0, bytes);
    if let Ok(program) = postcard::from_bytes::<Program>(data) {
        let _ = (link::vertex(Some(&program), &program), link::fragment(None, &program, &program, 4));
    }
});
