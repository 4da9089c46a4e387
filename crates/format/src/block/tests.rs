use half::f16;
use proptest::prelude::*;

use super::*;

fn fnv(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn blocks_of(codec: &BlockCodec, block: &[u8]) -> Vec<[f32; 4]> {
    let mut out = vec![[9.0; 4]; codec.pixels()];
    codec.decode(block, &mut out);
    out
}

/// Blocks decode as in the golden table, which other decoders produced.
#[test]
fn blocks_that_others_decoded() {
    let table = include_str!("../../tests/golden/blocks.txt");
    let mut checked = 0;
    for line in table.lines().filter(|l| !l.starts_with('#')) {
        let words: Vec<_> = line.split(' ').collect();
        let [name, hex, kind, hash] = words[..] else { panic!("{line}") };
        let format: Format = name.parse().unwrap();
        let block: Vec<u8> = (0..hex.len() / 2)
            .map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap())
            .collect();
        let codec = BlockCodec::new(format).unwrap();
        let pixels = blocks_of(&codec, &block);
        let srgb = format.info().numeric() == Numeric::Srgb;
        let byte = |v: f32| (v * 255.0).round() as u8;
        let halves = |v: f32| if v.is_nan() { 0xffff } else { f16::from_f32(v).to_bits() };
        let bytes: Vec<u8> = match kind {
            "half" => pixels.iter().flatten().flat_map(|&v| halves(v).to_le_bytes()).collect(),
            "byte" => pixels
                .iter()
                .flat_map(|p| {
                    let color = |v: f32| if srgb { srgb::encode(v) } else { byte(v) };
                    [color(p[0]), color(p[1]), color(p[2]), byte(p[3])]
                })
                .collect(),
            _ => {
                let scale = if format.info().numeric() == Numeric::Snorm { 1023.0 } else { 2047.0 };
                pixels.iter().flat_map(|p| ((p[0] * scale).round() as i16).to_le_bytes()).collect()
            }
        };
        assert_eq!(fnv(bytes.into_iter()), u64::from_str_radix(hash, 16).unwrap(), "{line}");
        checked += 1;
    }
    assert!(checked > 500);
}

/// Formulas of the specification, computed by hand for one block each.
#[test]
fn by_hand() {
    let decode = |name: &str, block: &[u8]| {
        blocks_of(&BlockCodec::new(name.parse().unwrap()).unwrap(), block)
    };
    // Red to blue; four colours, indices 0, 1, 2, 3 in the first row.
    let bc1 = decode("BC1_RGB_UNORM_BLOCK", &[0x00, 0xf8, 0x1f, 0x00, 0xe4, 0, 0, 0]);
    assert_eq!(bc1[0], [1.0, 0.0, 0.0, 1.0]);
    assert_eq!(bc1[1], [0.0, 0.0, 1.0, 1.0]);
    assert_eq!(bc1[2], [170.0 / 255.0, 0.0, 85.0 / 255.0, 1.0]);
    // Blue to red: three colours and black, transparent where the format has alpha.
    let punched = [0x1f, 0x00, 0x00, 0xf8, 0xff, 0, 0, 0];
    assert_eq!(decode("BC1_RGBA_UNORM_BLOCK", &punched)[0], [0.0; 4]);
    assert_eq!(decode("BC1_RGB_UNORM_BLOCK", &punched)[0], [0.0, 0.0, 0.0, 1.0]);
    // 255 to 0, index 2: (6 · 255 + 0) / 7.
    let bc4 = decode("BC4_UNORM_BLOCK", &[255, 0, 2, 0, 0, 0, 0, 0]);
    assert!((bc4[0][0] - 6.0 / 7.0).abs() < 1e-6);
    assert_eq!(bc4[1], [1.0, 0.0, 0.0, 1.0]);
    // The most negative byte is −1.
    let bc4 = decode("BC4_SNORM_BLOCK", &[0x80, 0x7f, 0, 0, 0, 0, 0, 0]);
    assert_eq!(bc4[0][0], -1.0);
    // Base 255, multiplier 0, index 4 of table 0 (+2): 255 · 8 + 4 + 2, clamped to 2047.
    let eac = decode("EAC_R11_UNORM_BLOCK", &[0xff, 0x00, 0x92, 0x49, 0x24, 0x92, 0x49, 0x24]);
    assert_eq!(eac[0][0], 2046.0 / 2047.0);
    // Y0 = 255, Cb = 0, Y1 = 51, Cr = 255.
    let yuv = decode("G8B8G8R8_422_UNORM", &[255, 0, 51, 255]);
    assert_eq!(yuv, [[1.0, 1.0, 0.0, 1.0], [1.0, 0.2, 0.0, 1.0]]);
    // A forbidden ASTC block.
    assert_eq!(decode("ASTC_4x4_UNORM_BLOCK", &[0; 16])[0], [1.0, 0.0, 1.0, 1.0]);
    assert!(decode("ASTC_4x4_SFLOAT_BLOCK", &[0; 16])[15][3].is_nan());
}

/// Channels of BC4 and BC5 are those of another decoder, which rounds to single floats at each step.
#[test]
fn single_channels_are_those_of_another_decoder() {
    let formats = ["BC4_UNORM_BLOCK", "BC4_SNORM_BLOCK", "BC5_UNORM_BLOCK", "BC5_SNORM_BLOCK"];
    let codecs = formats.map(|name| BlockCodec::new(name.parse().unwrap()).unwrap());
    let mut seed = 3u32;
    for round in 0..4000 {
        let block: [u8; 16] = std::array::from_fn(|_| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 24) as u8
        });
        for (k, codec) in codecs.iter().enumerate() {
            let (signed, two) = (k % 2 != 0, k / 2 != 0);
            let mut theirs = [0.0; 32];
            match two {
                false => bcdec_rs::bc4_float(&block[..8], &mut theirs[..16], 4, signed),
                true => bcdec_rs::bc5_float(&block, &mut theirs, 8, signed),
            }
            let count = 1 + usize::from(two);
            for (pixel, theirs) in blocks_of(codec, &block).iter().zip(theirs.chunks_exact(count)) {
                for (ours, theirs) in pixel.iter().zip(theirs) {
                    assert!((ours - theirs).abs() < 3e-7, "{round} {k}: {ours} {theirs}");
                }
                assert_eq!(pixel[count..], [0.0, 0.0, 0.0, 1.0][count..]);
            }
        }
    }
}

#[test]
fn formats_without_a_codec() {
    for format in Format::all() {
        let codec = BlockCodec::new(format);
        let single = format.info().block.width_px == 1 && !format.info().is_planar();
        match codec {
            Ok(codec) => assert!(codec.pixels() > 1),
            Err(NoBlockCodec::SinglePixels(_)) => assert!(single),
            Err(NoBlockCodec::Planar(_)) => assert!(format.info().is_planar()),
            Err(NoBlockCodec::FourBlocks(_)) => assert!(format.name().starts_with("PVRTC1")),
            Err(NoBlockCodec::Undecoded(_)) => assert!(format.name().starts_with("PVRTC2")),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    /// Any bytes decode to numbers in the format's range, and short blocks do not panic.
    #[test]
    fn any_bytes_decode(
        mut block: [u8; 16],
        index in 0usize..400,
        length in 0usize..20,
        void: bool,
    ) {
        let formats: Vec<_> = Format::all().filter(|&f| BlockCodec::new(f).is_ok()).collect();
        let format = formats[index % formats.len()];
        if void {
            (block[0], block[1]) = (0xfc, block[1] | 1);
        }
        let codec = BlockCodec::new(format).unwrap();
        let pixels = blocks_of(&codec, &block[..length.min(16)]);
        let limits = match format.info().numeric() {
            Numeric::Sfloat | Numeric::Ufloat => f32::NEG_INFINITY..=f32::INFINITY,
            Numeric::Snorm => -1.0..=1.0,
            _ => 0.0..=1.0,
        };
        let float = matches!(format.info().numeric(), Numeric::Sfloat | Numeric::Ufloat);
        for value in pixels.into_iter().flatten() {
            prop_assert!(limits.contains(&value) || (float && value.is_nan()), "{value}");
        }
    }

    /// LDR blocks decode to the same values in both profiles.
    #[test]
    fn astc_profiles_agree(block: [u8; 16]) {
        let low = BlockCodec::new(Format::ASTC_6x6_UNORM_BLOCK).unwrap();
        let high = BlockCodec::new(Format::ASTC_6x6_SFLOAT_BLOCK).unwrap();
        for (low, high) in blocks_of(&low, &block).into_iter().zip(blocks_of(&high, &block)) {
            prop_assert!(low == high || low == [1.0, 0.0, 1.0, 1.0]);
        }
    }
}
