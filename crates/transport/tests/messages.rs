//! Messages are read as they were written, and nothing else is read.

use proptest::prelude::*;
use tepui_transport::message::{
    BusText, Call, ErrorNumber, MAX_BYTES, MessageError, NodeText, Reply, decode, encode,
};

fn calls() -> impl Strategy<Value = Call> {
    prop_oneof![
        any::<(u32, u64, u64)>().prop_map(|(version, address, value)| Call::Hello {
            version,
            address,
            value
        }),
        any::<i32>().prop_map(|flags| Call::Open { flags }),
        any::<(i32, u32, u64)>().prop_map(|(descriptor, request, arg)| Call::Ioctl {
            descriptor,
            request,
            arg
        }),
        any::<(i32, u64, u64, i32, i32)>().prop_map(|n| Call::Map {
            descriptor: n.0,
            offset: n.1,
            length: n.2,
            protection: n.3,
            flags: n.4
        }),
        any::<i32>().prop_map(|descriptor| Call::IsNode { descriptor }),
        any::<i32>().prop_map(|n| Call::Installed(Ok(n))),
        any::<i32>().prop_map(|n| Call::Fetched(Err(ErrorNumber(n)))),
        any::<u64>().prop_map(|n| Call::Placed(Ok(n))),
        any::<i32>().prop_map(|n| Call::Shared(Err(ErrorNumber(n)))),
    ]
}

proptest! {
    #[test]
    fn calls_are_read_as_written(call in calls(), extra in 1usize..9) {
        let mut buffer = [0; MAX_BYTES];
        let bytes = encode(&call, &mut buffer).expect("a short message").to_vec();
        prop_assert_eq!(decode::<Call>(&bytes), Ok(call));
        prop_assert!(decode::<Call>(&bytes[..bytes.len() - 1]).is_err());
        let longer = [bytes, vec![0; extra]].concat();
        prop_assert_eq!(decode::<Call>(&longer), Err(MessageError::Trailing(extra)));
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..MAX_BYTES + 9)) {
        let _ = decode::<Call>(&bytes);
        let _ = decode::<Reply>(&bytes);
    }
}

#[test]
fn a_long_message_is_refused() {
    let bus = BusText::Platform { full_name: "x".repeat(MAX_BYTES), compatible: Vec::new() };
    let reply = Reply::Welcome(NodeText { minor: 128, driver: "panthor".into(), bus });
    assert_eq!(encode(&reply, &mut [0; MAX_BYTES]), Err(MessageError::TooLong));
    assert_eq!(decode::<Reply>(&vec![0; MAX_BYTES + 1]), Err(MessageError::TooLong));
}
