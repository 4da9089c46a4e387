//! Packs, unpacks and prints each field type.

use tepui_packets::types::{
    Address, Array, Bool, Float, Half, Hex, Hex64, Int, Log2, Minus, Nested, Shr, Uint, Uint64,
    UnsignedFixed,
};
use tepui_packets::{Packet, ProblemKind, bits_enum, packet};

bits_enum! {
    /// A mode.
    pub enum Mode = "Mode" {
        /// Off.
        #[default]
        Off = 0 => "Off",
        /// On.
        On = 2 => "Switched on",
    }
}

packet! {
    /// A pair.
    pub struct Pair = "Pair", 2 bytes
    fields {
        /// First.
        a: Uint [0..4] "A" in (1..=9) = 3;
        /// Second.
        b: Int [4..9] "B";
    }
}

packet! {
    /// One of each.
    pub struct AllKinds = "AllKinds", 48 bytes
    fixed {
        "Magic" Hex [0..12] = 0xabcu64;
    }
    fields {
        /// Mode.
        mode: Mode [12..15] "Mode";
        /// Flag.
        flag: Bool [15..16] "Flag";
        /// Pair at a byte boundary.
        pair: Nested<Pair> [16..32] "Pair";
        /// Four elements, a byte apart.
        list: Array<Uint, 4, 8, 3> [32..64] "List";
        /// Float.
        float: Float [64..96] "Float";
        /// Half.
        half: Half [96..112] "Half";
        /// Level of detail.
        lod: UnsignedFixed<6> [112..122] "LOD";
        /// Width with a bias.
        width: UnsignedFixed<4, 1> [122..130] "Width";
        /// Split address, aligned to 16.
        address: Shr<Address, 4> [160..192, 130..134] "Address";
        /// Wide.
        wide: Hex64 [192..256] "Wide";
        /// Stride.
        stride: Minus<Shr<Uint64, 7>, 128> [256..283] "Stride" when (|z| z.mode == Mode::On);
        /// Shares bits with the stride.
        depth: Minus<Uint, 1> [256..270] "Depth" when (|z| z.mode == Mode::Off);
        /// Power of two.
        power: Log2 [288..293] "Power";
    }
}

fn sample() -> AllKinds {
    AllKinds {
        flag: true,
        pair: Pair { a: 9, b: -16 },
        list: [7, 0, 1, 2],
        float: f32::NEG_INFINITY,
        half: half::f16::from_f32(-1.5),
        lod: 1.5,
        width: 2.0,
        address: 0xf1_2345_6780,
        wide: u64::MAX,
        depth: 16384,
        power: 1 << 31,
        ..AllKinds::default()
    }
}

#[test]
fn every_kind_packs_where_it_is_declared() {
    let bytes = sample().pack().unwrap();
    assert_eq!(AllKinds::unpack(&bytes), Ok(sample()));
    let word = |i: usize| u32::from_le_bytes(bytes[i * 4..i * 4 + 4].try_into().unwrap());
    assert_eq!(word(0), 0xabc | 1 << 15 | (9 | 0x10 << 4) << 16);
    assert_eq!(word(1), 0x0201_0007);
    assert_eq!(word(3), 0xbe00 | 96 << 16 | (31 & 0x3f) << 26);
    assert_eq!(word(4), 0xf << 2);
    assert_eq!(word(5), 0x1234_5678);
    assert_eq!(word(8), 16383);
    assert_eq!(word(9), 31);
}

#[test]
fn defaults_are_those_declared_or_those_of_zero() {
    let packet = AllKinds::default();
    assert_eq!((packet.pair.a, packet.power, packet.depth, packet.width), (3, 1, 1, 1.0 / 16.0));
    assert_eq!(AllKinds::unpack(&packet.pack().unwrap()), Ok(packet));
}

#[test]
fn problems_of_a_nested_packet_count_from_the_outer_one() {
    let mut bytes = sample().pack().unwrap();
    bytes[2] &= 0xf0; // a = 0
    bytes[3] |= 0x80; // a bit that belongs to no field
    let problems = AllKinds::validate(&bytes);
    let found: Vec<_> = problems.iter().map(|p| (p.packet, p.field, p.bit)).collect();
    assert_eq!(found, [("Pair", "A", 16), ("Pair", "", 31)]);
    assert_eq!(problems[0].kind, ProblemKind::OutOfRange { value: 0, low: 1, high: 9 });
}

#[test]
fn an_element_that_does_not_fit_is_named_by_its_bit() {
    let error = AllKinds { list: [0, 8, 0, 0], ..sample() }.pack().unwrap_err();
    assert_eq!((error.field, error.bit), ("List", 40));
    let error = AllKinds { pair: Pair { a: 1, b: 16 }, ..sample() }.pack().unwrap_err();
    assert_eq!((error.packet, error.field, error.bit), ("Pair", "B", 20));
    let error = AllKinds { wide: 0, float: 0.0, power: 0, ..sample() }.pack().unwrap_err();
    assert_eq!(error.field, "Power");
}

#[test]
fn inactive_fields_read_as_zero_and_refuse_values() {
    let mut bytes = sample().pack().unwrap();
    bytes[1] |= 2 << 4; // mode on
    let (packet, problems) = AllKinds::unpack_lossy(&bytes).unwrap();
    assert_eq!(problems, []);
    assert_eq!((packet.depth, packet.stride), (1, (16383 << 7) + 128));
    let error = AllKinds { mode: Mode::On, ..sample() }.pack().unwrap_err();
    assert!(matches!(error.kind, ProblemKind::Inactive { .. }), "{error}");
}

#[test]
fn prints_names_of_the_hardware() {
    let bytes = sample().pack().unwrap();
    let text = AllKinds::decode(&bytes).unwrap().to_string();
    for line in [
        "  Mode: Off",
        "    B: -16",
        "  List: 7 0 1 2",
        "  Address: 0xf123456780",
        "  LOD: 1.5",
        "  Float: -inf",
    ] {
        assert!(text.lines().any(|l| l == line), "{line:?} is not in\n{text}");
    }
    assert!(!text.contains("Stride"), "{text}");
}

#[test]
fn json_keeps_wide_numbers_exact() {
    let bytes = sample().pack().unwrap();
    let json = serde_json::to_value(AllKinds::decode(&bytes).unwrap()).unwrap();
    assert_eq!(json["Wide"], "0xffffffffffffffff");
    assert_eq!(json["Pair"]["B"], -16);
    assert_eq!(json["List"], serde_json::json!([7, 0, 1, 2]));
    assert_eq!(json["Float"], "-inf");
    assert_eq!(json["Flag"], true);
    let odd = serde_json::to_value(AllKinds::decode(&[0; 48]).unwrap()).unwrap();
    assert!(odd["!"][0].as_str().unwrap().contains("Magic"), "{odd}");
}

#[test]
fn the_table_describes_each_field() {
    let info = AllKinds::INFO;
    let stride = info.fields.iter().find(|f| f.name == "Stride").unwrap();
    assert_eq!(stride.kind.describe(), "(uint - 128) >> 7");
    assert_eq!(stride.ident, "stride");
    assert_eq!(stride.doc.trim(), "Stride.");
    assert_eq!(stride.condition, Some("z.mode == Mode::On"));
    let address = info.fields.iter().find(|f| f.name == "Address").unwrap();
    assert_eq!((address.width(), address.start()), (36, 160));
}
