//! Streams are written and read back, intact and damaged.

use proptest::prelude::*;
use tepui_capture::{
    Call, ClientMemory, Contents, Finish, Inconsistent, MAX_PAYLOAD_BYTES, Mapping, Mappings,
    PAGE_BYTES, Process, ReadError, Reader, Record, Session, Start, Writer,
};

fn page(fill: u8, length: usize) -> Vec<u8> {
    let mut page = vec![0; PAGE_BYTES];
    page[..length].fill(fill);
    page
}

/// Object 1, of four pages.
fn object(writer: &mut Writer<&mut Vec<u8>>, pages: &[(u32, &[u8])]) {
    let mut object = writer.object(1, 4 * PAGE_BYTES as u64).unwrap();
    for &(index, bytes) in pages {
        object.page(index, bytes).unwrap();
    }
    object.end().unwrap();
}

fn sample() -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes).unwrap();
    writer
        .record(&Record::Process(Process { id: 7, driver: "asahi".into(), ..Process::default() }))
        .unwrap();
    writer.record(&Record::Opened { file: 1 }).unwrap();
    let memory = vec![ClientMemory { field: "cmdbuf".into(), address: 0x1000, bytes: vec![1, 2] }];
    writer
        .record(&Record::Call(Call {
            file: 1,
            result: -22,
            before: vec![9; 8],
            memory,
            ..Call::default()
        }))
        .unwrap();
    let (a, b) = (page(1, PAGE_BYTES), page(2, 100));
    writer.begin_memory().unwrap();
    object(&mut writer, &[(0, &a), (2, &b)]);
    let mapping = Mapping {
        address: 0x10_0000,
        length: 4 * PAGE_BYTES as u64,
        object: 1,
        read: true,
        write: true,
        ..Mapping::default()
    };
    let mirror = Mapping { address: 0x80_0000, write: false, ..mapping };
    writer.mappings(3, vec![mapping, mirror]).unwrap();
    writer
        .record(&Record::Start(Start { space: 3, payload: vec![4; 64], ..Start::default() }))
        .unwrap();
    // Page 0 is now like page 2, page 1 appears, page 2 goes.
    writer.begin_memory().unwrap();
    object(&mut writer, &[(0, &b), (1, &a)]);
    writer.mappings(3, vec![mapping, mirror]).unwrap();
    writer
        .record(&Record::Finish(Finish { fault: Some("why".into()), ..Finish::default() }))
        .unwrap();
    writer.flush().unwrap();
    bytes
}

#[test]
fn memory_is_what_it_was_at_each_command() {
    let bytes = sample();
    let mut session = Session::new();
    let mut seen = Vec::new();
    for record in Reader::new(&bytes[..]).unwrap() {
        let record = record.unwrap();
        session.apply(&record).unwrap();
        if matches!(record, Record::Start(_) | Record::Finish(_)) {
            let read = |address| {
                let mut byte = [0xee; 1];
                session.space(3).read(address, &mut byte).map(|()| byte[0])
            };
            let p = PAGE_BYTES as u64;
            seen.push([0x10_0000, 0x10_0000 + p, 0x80_0000 + 2 * p, 0x80_0000 + 4 * p].map(read));
        }
    }
    let end = 0x80_0000 + 4 * PAGE_BYTES as u64;
    assert_eq!(seen, [[Ok(1), Ok(0), Ok(2), Err(end)], [Ok(2), Ok(1), Ok(0), Err(end)]]);
    // Two different pages, so two pages are written, and 100 bytes of the second.
    assert!(bytes.len() < PAGE_BYTES + 1000, "{} bytes", bytes.len());
}

#[test]
fn reads_cross_pages_and_ranges() {
    let mut session = Session::new();
    for record in Reader::new(&sample()[..]).unwrap().take(7) {
        session.apply(&record.unwrap()).unwrap();
    }
    let mut bytes = vec![7; PAGE_BYTES + 2];
    session.space(3).read(0x10_0000 + PAGE_BYTES as u64 - 1, &mut bytes).unwrap();
    assert_eq!((bytes[0], bytes[1], bytes[PAGE_BYTES], bytes[PAGE_BYTES + 1]), (1, 0, 0, 2));
    let end = 0x10_0000 + 4 * PAGE_BYTES as u64;
    assert_eq!(session.space(3).read(end - 1, &mut [0; 2]), Err(end));
    assert_eq!(session.space(4).read(end - 1, &mut [0; 2]), Err(end - 1));
    assert_eq!(session.space(3).read(u64::MAX, &mut [0; 2]), Err(u64::MAX));
}

#[test]
fn a_stream_may_end_anywhere() {
    let bytes = sample();
    let whole = Reader::new(&bytes[..]).unwrap().count();
    for length in 0..bytes.len() {
        let records: Vec<_> = match Reader::new(&bytes[..length]) {
            Ok(reader) => reader.collect(),
            Err(ReadError::NotACapture) => continue,
            Err(ReadError::Truncated { offset: 0 }) => continue,
            Err(error) => panic!("{error}"),
        };
        assert!(records.len() <= whole);
        let ends = records
            .last()
            .is_none_or(|last| matches!(last, Ok(_) | Err(ReadError::Truncated { .. })));
        assert!(ends, "{:?}", records.last());
    }
}

#[test]
fn damage_is_named_with_its_place() {
    let mut bytes = sample();
    let end = bytes.len();
    bytes[end - 1] ^= 1;
    let last = Reader::new(&bytes[..]).unwrap().last().unwrap().unwrap_err();
    assert!(matches!(last, ReadError::Checksum { .. }), "{last}");

    let mut bytes = sample();
    bytes[12..16].copy_from_slice(&u32::MAX.to_le_bytes());
    let first = Reader::new(&bytes[..]).unwrap().next().unwrap().unwrap_err();
    assert!(first.to_string().contains("byte 12"), "{first}");
    assert!(matches!(first, ReadError::TooLong { length: u32::MAX, .. }));

    let mut bytes = sample();
    bytes[8] = 9;
    assert!(matches!(Reader::new(&bytes[..]).err(), Some(ReadError::Version { found: 9 })));
}

#[test]
fn an_unknown_record_is_skipped() {
    let mut bytes = Vec::new();
    Writer::new(&mut bytes).unwrap();
    let payload = [99u8, 1, 2, 3];
    bytes.extend(4u32.to_le_bytes());
    bytes.extend(crc32fast::hash(&payload).to_le_bytes());
    bytes.extend(payload);
    let mut more = Vec::new();
    Writer::new(&mut more).unwrap().record(&Record::Forget).unwrap();
    bytes.extend(&more[12..]);
    let records: Vec<_> = Reader::new(&bytes[..]).unwrap().map(Result::unwrap).collect();
    assert_eq!(records, [Record::Forget]);
}

#[test]
fn a_record_that_is_too_long_is_refused() {
    let mut writer = Writer::new(Vec::new()).unwrap();
    let call = Call { before: vec![0; MAX_PAYLOAD_BYTES as usize + 1], ..Call::default() };
    assert!(writer.record(&Record::Call(call)).is_err());
}

#[test]
fn records_that_do_not_fit_are_refused() {
    let mut session = Session::new();
    let contents = |size, pages| Record::Contents(Contents { object: 1, size, pages });
    assert!(matches!(
        session.apply(&contents(16384, vec![(0, 1)])),
        Err(Inconsistent::NoSuchPage { number: 1, count: 0, .. })
    ));
    assert!(matches!(
        session.apply(&contents(16384, vec![(1, 0)])),
        Err(Inconsistent::OutsideObject { page: 1, .. })
    ));
    let page = Record::Page(vec![1; PAGE_BYTES + 1]);
    assert_eq!(session.apply(&page), Err(Inconsistent::PageSize { size: PAGE_BYTES + 1 }));
    for (address, length) in [(1, 16384), (0, 0), (!16383, 32768)] {
        let mapping = Mapping { address, length, ..Mapping::default() };
        let mappings = Mappings { space: 0, mappings: vec![mapping] };
        assert!(session.apply(&Record::Mappings(mappings)).is_err(), "{address:#x} {length:#x}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Records with random payloads and valid checksums are refused or applied; what they leave can
    /// be read.
    #[test]
    fn garbage_is_refused_or_read(payloads in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..64), 0..8), at: u64) {
        let mut bytes = Vec::new();
        Writer::new(&mut bytes).unwrap();
        for mut payload in payloads {
            if let Some(variant) = payload.first_mut() {
                *variant %= 12;
            }
            bytes.extend((payload.len() as u32).to_le_bytes());
            bytes.extend(crc32fast::hash(&payload).to_le_bytes());
            bytes.extend(payload);
        }
        let mut session = Session::new();
        for record in Reader::new(&bytes[..]).unwrap().map_while(Result::ok) {
            let _ = session.apply(&record);
        }
        let _ = session.space(0).read(at, &mut [0; 32]);
        let addresses: Vec<u64> = session.space(0).mappings().map(|m| m.address).collect();
        for address in addresses {
            let _ = session.space(0).read(address, &mut [0; 32]);
        }
    }

    #[test]
    fn flipped_bits_are_noticed(at in 0usize..2000, bit in 0u8..8) {
        let whole: Vec<_> = Reader::new(&sample()[..]).unwrap().map(Result::unwrap).collect();
        let mut bytes = sample();
        let at = at % bytes.len();
        bytes[at] ^= 1 << bit;
        if let Ok(reader) = Reader::new(&bytes[..]) {
            let records: Vec<_> = reader.collect();
            let same = records.iter().zip(&whole).take_while(|(a, b)| a.as_ref().ok() == Some(b)).count();
            prop_assert!(records.iter().skip(same).all(Result::is_err));
        }
    }
}
