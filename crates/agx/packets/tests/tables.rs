//! Properties of every packet: bit positions, enumerations, and that packing inverts unpacking.

use std::collections::BTreeSet;

use proptest::prelude::*;
use tepui_agx_packets::ALL;
use tepui_packets::{Base, PacketInfo, Problem, ProblemKind, Value, bits};

fn all() -> impl Iterator<Item = &'static PacketInfo> {
    ALL.iter().flat_map(|list| list.iter()).copied()
}

#[test]
fn names_are_unique_and_fields_lie_inside() {
    let mut names = BTreeSet::new();
    for info in all() {
        assert!(names.insert(info.name), "{} twice", info.name);
        assert!(!info.doc.trim().is_empty(), "{} has no description", info.name);
        let end = info.size_bytes as u32 * 8;
        let mut fields = BTreeSet::new();
        for fixed in info.fixed {
            assert!(fixed.piece.end() <= end, "{}: {}", info.name, fixed.name);
            assert_eq!(fixed.value & !bits::mask(fixed.piece.width), 0);
        }
        for field in info.fields {
            assert!(fields.insert(field.name), "{}: {} twice", info.name, field.name);
            assert!(
                !field.doc.trim().is_empty(),
                "{}: {} has no description",
                info.name,
                field.name
            );
            for piece in field.pieces {
                let slack = if let Base::Array { stride, width, .. } = field.kind.base {
                    stride - width
                } else {
                    0
                };
                assert!(piece.end() - slack <= end, "{}: {}", info.name, field.name);
            }
            if let Base::Enum(e) = field.kind.base {
                let values: BTreeSet<u64> = e.values.iter().map(|v| v.value).collect();
                assert_eq!(values.len(), e.values.len(), "{}", e.name);
                assert!(values.contains(&0), "{} has no enumerator of value 0", e.name);
            }
        }
    }
}

#[test]
fn defaults_pack_and_validate() {
    for info in all() {
        let bytes = info.default_bytes().unwrap_or_else(|p| panic!("{p}"));
        assert_eq!(bytes.len(), info.size_bytes);
        assert_eq!(info.validate(&bytes), [], "{}", info.name);
    }
}

/// Random bytes, unpacked leniently and packed again, must have no problems, keep every bit of a
/// field whose value is known, and not change when this is repeated.
fn check(info: &PacketInfo, bytes: &[u8]) {
    let dirty = info.decode(bytes).unwrap();
    let refused = |p: &Problem| matches!(p.kind, ProblemKind::OutOfRange { .. });
    if let Some(refused) = dirty.problems.iter().find(|p| refused(p)) {
        // A number outside the range that the hardware accepts is kept by unpacking, so packing
        // refuses it.
        assert_eq!(info.repack(bytes).as_ref(), Err(refused));
        return;
    }
    let packed = info.repack(bytes).unwrap_or_else(|p| panic!("{p}"));
    let clean = info.decode(&packed).unwrap();
    assert_eq!(clean.problems, [], "{}", info.name);
    assert_eq!(info.repack(&packed).unwrap(), packed);
    assert_eq!(dirty.fields.len(), clean.fields.len());
    for ((field, before), (_, after)) in dirty.fields.iter().zip(&clean.fields) {
        let odd = dirty.problems.iter().any(|p| p.field == field.name);
        if odd || matches!(before, Value::Unknown(_)) {
            continue;
        }
        if let Base::Array { .. } = field.kind.base {
            assert_eq!(before, after, "{}: {}", info.name, field.name);
        } else if !matches!(field.kind.base, Base::Packet(_)) {
            let raw = |b| bits::get_pieces(b, field.pieces);
            assert_eq!(raw(bytes), raw(&packed), "{}: {}", info.name, field.name);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn packing_undoes_unpacking(seed in prop::collection::vec(any::<u8>(), 4096)) {
        let mut at = 0;
        for info in all() {
            let end = at + info.size_bytes;
            let bytes: Vec<u8> = seed.iter().cycle().skip(at % 4096).take(info.size_bytes).copied().collect();
            check(info, &bytes);
            at = end;
        }
    }

    #[test]
    fn any_length_is_a_typed_error(bytes in prop::collection::vec(any::<u8>(), 0..32)) {
        for info in all() {
            prop_assert_eq!(info.decode(&bytes).is_err(), bytes.len() < info.size_bytes);
            prop_assert_eq!(info.repack(&bytes).is_err(), bytes.len() < info.size_bytes);
        }
    }
}

#[test]
fn one_bit_at_a_time() {
    for info in all() {
        check(info, &vec![0; info.size_bytes]);
        // The large packets are conventions of macOS; a sample of their bits suffices.
        let step = if info.size_bytes > 64 { 101 } else { 1 };
        for bit in (0..info.size_bytes as u32 * 8).step_by(step) {
            for base in [0x00, 0xff] {
                let mut bytes = vec![base; info.size_bytes];
                let flipped = bits::get(&bytes, bit, 1) ^ 1;
                bits::set(&mut bytes, bit, 1, flipped);
                check(info, &bytes);
            }
        }
    }
}
