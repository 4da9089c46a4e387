//! Messages between a client and the server of a device.

#![no_main]

use tepui_transport::message::{Call, MAX_BYTES, Reply, decode, encode};

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let mut buffer = [0; MAX_BYTES];
    if let Ok(call) = decode::<Call>(input) {
        let bytes = encode(&call, &mut buffer).expect("a message that was read");
        assert_eq!(decode::<Call>(bytes), Ok(call));
    }
    if let Ok(reply) = decode::<Reply>(input) {
        let Ok(bytes) = encode(&reply, &mut buffer) else { return };
        assert_eq!(decode::<Reply>(bytes), Ok(reply));
    }
});
