use super::numeric::*;
use super::*;
use proptest::prelude::*;

fn codec(name: &str) -> TexelCodec {
    TexelCodec::new(name.parse().unwrap()).unwrap()
}

/// `(format, bytes of the texel, components)`, computed by hand from the specification's formulas.
#[test]
fn known_texels() {
    let cases: &[(&str, &[u8], [f32; 4])] = &[
        ("R8G8B8A8_UNORM", &[255, 0, 51, 128], [1.0, 0.0, 0.2, 128.0 / 255.0]),
        ("B8G8R8A8_UNORM", &[255, 0, 51, 128], [0.2, 0.0, 1.0, 128.0 / 255.0]),
        ("A8B8G8R8_UNORM_PACK32", &[255, 0, 51, 128], [1.0, 0.0, 0.2, 128.0 / 255.0]),
        ("R8G8B8_UNORM", &[255, 0, 51], [1.0, 0.0, 0.2, 1.0]),
        ("R8_SNORM", &[0x80], [-1.0, 0.0, 0.0, 1.0]),
        ("R8_SNORM", &[0x81], [-1.0, 0.0, 0.0, 1.0]),
        ("R8G8_SNORM", &[0x7f, 0xff], [1.0, -1.0 / 127.0, 0.0, 1.0]),
        ("R16_SFLOAT", &[0x00, 0x3c], [1.0, 0.0, 0.0, 1.0]),
        ("R16_SFLOAT", &[0x01, 0x00], [5.960_464_5e-8, 0.0, 0.0, 1.0]),
        ("R5G6B5_UNORM_PACK16", &[0x1f, 0xf8], [1.0, 0.0, 1.0, 1.0]),
        ("B5G6R5_UNORM_PACK16", &[0x1f, 0x00], [1.0, 0.0, 0.0, 1.0]),
        ("R4G4B4A4_UNORM_PACK16", &[0x0f, 0x50], [1.0 / 3.0, 0.0, 0.0, 1.0]),
        ("A1R5G5B5_UNORM_PACK16", &[0x00, 0x80], [0.0, 0.0, 0.0, 1.0]),
        ("R5G5B5A1_UNORM_PACK16", &[0x01, 0xf8], [1.0, 0.0, 0.0, 1.0]),
        ("A2B10G10R10_UNORM_PACK32", &[0xff, 0x03, 0, 0xc0], [1.0, 0.0, 0.0, 1.0]),
        ("A2R10G10B10_UNORM_PACK32", &[0xff, 0x03, 0, 0x40], [0.0, 0.0, 1.0, 1.0 / 3.0]),
        ("R10X6_UNORM_PACK16", &[0xc0, 0xff], [1.0, 0.0, 0.0, 1.0]),
        ("R10X6G10X6_UNORM_2PACK16", &[0x3f, 0x00, 0xc0, 0xff], [0.0, 1.0, 0.0, 1.0]),
        // 1.0 is exponent 15: 15 << 6 in 11 bits, 15 << 5 in 10.
        ("B10G11R11_UFLOAT_PACK32", &[0xc0, 0x03, 0x1e, 0x78], [1.0, 1.0, 1.0, 1.0]),
        // Mantissa 256 of 512, exponent 16: 0.5 · 2.
        ("E5B9G9R9_UFLOAT_PACK32", &[0x00, 0x01, 0x00, 0x80], [1.0, 0.0, 0.0, 1.0]),
        ("R8G8B8A8_SRGB", &[255, 0, 188, 128], [1.0, 0.0, 0.502_886_4, 128.0 / 255.0]),
        ("A8_UNORM", &[255], [0.0, 0.0, 0.0, 1.0]),
        ("D16_UNORM", &[0xff, 0xff], [1.0, 0.0, 0.0, 1.0]),
        ("X8_D24_UNORM_PACK32", &[0xff, 0xff, 0xff, 0x12], [1.0, 0.0, 0.0, 1.0]),
        ("D24_UNORM_S8_UINT", &[0, 0, 0, 0x12], [0.0, 0.0, 0.0, 1.0]),
        ("R8_USCALED", &[200], [200.0, 0.0, 0.0, 1.0]),
        ("R8_SSCALED", &[200], [-56.0, 0.0, 0.0, 1.0]),
    ];
    for (name, bytes, expected) in cases {
        let got = codec(name).unpack_f32(load(bytes));
        for (got, expected) in got.iter().zip(expected) {
            assert!((got - expected).abs() <= expected.abs() * 1e-6, "{name}: {got} {expected}");
        }
    }
    assert_eq!(codec("R8G8_SINT").unpack_i32(load(&[0x80, 0x7f])), [-128, 127, 0, 1]);
    assert_eq!(codec("A2B10G10R10_UINT_PACK32").unpack_u32(0xffff_ffff), [1023, 1023, 1023, 3]);
    let stencil = TexelCodec::stencil(Format::D32_SFLOAT_S8_UINT).unwrap();
    assert_eq!(stencil.unpack_u32(0xab << 32), [0xab, 0, 0, 1]);
    assert_eq!(stencil.pack_u32([0x1cd, 0, 0, 0]), 0xff << 32);
}

#[test]
fn rounding_is_to_the_nearest_even() {
    let unorm = codec("R8_UNORM");
    for (value, stored) in [
        // 0.5 · 255 is a tie.
        (0.5, 128),
        (0.49 / 255.0, 0),
        (0.51 / 255.0, 1),
        (-1.0, 0),
        (7.0, 255),
        (f32::NAN, 0),
    ] {
        assert_eq!(unorm.pack_f32([value, 0.0, 0.0, 0.0]), stored, "{value}");
    }
    let snorm = codec("R8_SNORM");
    for (value, stored) in [(-1.0, 0x81), (1.0, 0x7f), (-9.0, 0x81), (f32::NAN, 0), (-0.0, 0)] {
        assert_eq!(snorm.pack_f32([value, 0.0, 0.0, 0.0]), stored, "{value}");
    }
    for (value, stored) in [
        (65024.0, 0x7bf),
        (1e9, 0x7bf),
        (f32::INFINITY, 0x7c0),
        (-3.0, 0),
        (1.0 + 1.0 / 128.0, 0x3c0),
        (1.0 + 3.0 / 128.0, 0x3c2),
        (2f32.powi(-20), 1),
        (2f32.powi(-21), 0),
    ] {
        assert_eq!(f32_to_ufloat(value, 6), stored, "{value}");
    }
    assert_eq!(f32_to_ufloat(f32::NAN, 6) >> 6, 31);
    assert_ne!(f32_to_ufloat(f32::NAN, 6) & 63, 0);
}

/// Every stored value of every narrow component is unchanged by unpacking and packing, except NaN
/// payloads.
#[test]
fn narrow_components_round_trip() {
    for format in Format::all() {
        let Ok(codec) = TexelCodec::new(format) else { continue };
        let Encoding::Plain(channels) = &format.info().encoding else { continue };
        for channel in channels.as_slice().iter().filter(|c| c.bits <= 16) {
            for stored in 0..1u128 << channel.bits {
                let raw = stored << channel.shift;
                let bits = u32::from(channel.bits);
                let value = codec.unpack_f32(raw);
                if value.iter().any(|v| v.is_nan()) {
                    continue;
                }
                let minimum = 1 << (bits - 1);
                let expected = match channel.numeric {
                    // The most negative integer and its neighbour are both −1.
                    Numeric::Snorm if stored == minimum => (minimum + 1) << channel.shift,
                    _ => raw,
                };
                assert_eq!(codec.pack_f32(value), expected, "{format} {raw:#x} {value:?}");
            }
        }
    }
}

/// Decodes a component by the specification's formula, in double precision and without the codec's
/// tables.
fn by_formula(channel: &Channel, raw: u64) -> f64 {
    let bits = i32::from(channel.bits);
    let stored = raw >> channel.shift & ((1 << bits) - 1);
    let negative = stored >> (bits - 1) & 1 != 0;
    let signed = stored as f64 - if negative { 2f64.powi(bits) } else { 0.0 };
    let fraction = stored as f64 / (2f64.powi(bits) - 1.0);
    match channel.numeric {
        Numeric::Unorm => fraction,
        Numeric::Srgb if channel.component == Component::A || fraction <= 0.04045 => {
            if channel.component == Component::A { fraction } else { fraction / 12.92 }
        }
        Numeric::Srgb => ((fraction + 0.055) / 1.055).powf(2.4),
        Numeric::Snorm => (signed / (2f64.powi(bits - 1) - 1.0)).max(-1.0),
        Numeric::Uscaled | Numeric::Uint => stored as f64,
        Numeric::Sscaled | Numeric::Sint => signed,
        // Sign, five exponent bits, ten mantissa bits: the only float layout in formats of at most
        // 16 bits.
        Numeric::Sfloat | Numeric::Ufloat => {
            assert_eq!(bits, 16);
            let (exponent, mantissa) =
                ((stored >> 10 & 31) as i32, (stored & 1023) as f64 / 1024.0);
            let sign = if negative { -1.0 } else { 1.0 };
            match exponent {
                0 => sign * mantissa * 2f64.powi(-14),
                31 if mantissa == 0.0 => sign * f64::INFINITY,
                31 => f64::NAN,
                _ => sign * (1.0 + mantissa) * 2f64.powi(exponent - 15),
            }
        }
    }
}

/// Every texel of every format of at most 16 bits unpacks as in the formula, and packs to itself,
/// except where two stored values have the same meaning.
#[test]
fn every_small_texel() {
    let mut formats = 0;
    for format in Format::all() {
        let Ok(codec) = TexelCodec::new(format) else { continue };
        let Encoding::Plain(channels) = &format.info().encoding else { continue };
        if codec.bytes() > 2 {
            continue;
        }
        formats += 1;
        let integer = format.info().numeric().is_integer();
        for raw in 0..1u64 << (8 * codec.bytes()) {
            let mut expected = [0.0, 0.0, 0.0, 1.0];
            let mut twice = false;
            for channel in channels.as_slice() {
                let value = by_formula(channel, raw);
                expected[channel.component as usize] = value;
                let stored = raw >> channel.shift & ((1 << channel.bits) - 1);
                twice |= channel.numeric == Numeric::Snorm && stored == 1 << (channel.bits - 1);
                twice |= value.is_nan();
            }
            let raw = u128::from(raw);
            let (got, packed) = if integer {
                let values = codec.unpack_i32(raw);
                let unsigned = codec.unpack_u32(raw);
                let signed = format.info().numeric() == Numeric::Sint;
                let float = |i: usize| if signed { values[i].into() } else { unsigned[i].into() };
                let packed = if signed { codec.pack_i32(values) } else { codec.pack_u32(unsigned) };
                (std::array::from_fn::<f64, 4, _>(float), packed)
            } else {
                let values = codec.unpack_f32(raw);
                (values.map(f64::from), codec.pack_f32(values))
            };
            for (got, expected) in got.into_iter().zip(expected) {
                let same = got == expected
                    || got.is_nan() && expected.is_nan()
                    || (got - expected).abs() <= expected.abs() * 2f64.powi(-23);
                assert!(same, "{format} {raw:#x}: {got} {expected}");
            }
            assert!(twice || packed == raw & codec.written_bits(), "{format} {raw:#x} {packed:#x}");
        }
    }
    assert!(formats > 30, "{formats}");
}

#[test]
fn srgb_round_trips_and_is_monotonic() {
    for stored in 0..=255u8 {
        assert_eq!(srgb::encode(srgb::decode_table()[stored as usize]), stored);
    }
    assert!(srgb::decode_table().windows(2).all(|w| w[0] < w[1]));
    assert_eq!([srgb::encode(f32::NAN), srgb::encode(-1.0), srgb::encode(9.0)], [0, 0, 255]);
}

#[test]
fn rows_equal_single_texels() {
    let bytes: Vec<u8> = (0..=255).collect();
    for format in Format::all() {
        let Ok(codec) = TexelCodec::new(format) else { continue };
        let mut row = vec![[0.0; 4]; 300];
        codec.unpack_row_f32(&bytes, &mut row);
        for (texel, got) in bytes.chunks_exact(codec.bytes()).zip(&row) {
            let single = codec.unpack_f32(load(texel));
            assert_eq!(got.map(f32::to_bits), single.map(f32::to_bits), "{format}");
        }
    }
}

proptest! {
    #[test]
    fn packing_never_touches_foreign_bits(rgba: [f32; 4], ints: [u32; 4], index in 0usize..400) {
        let format = Format::all().nth(index % Format::all().len()).unwrap();
        let codecs = [TexelCodec::new(format), TexelCodec::stencil(format)];
        for codec in codecs.into_iter().flatten() {
            prop_assert_eq!(codec.pack_f32(rgba) & !codec.written_bits(), 0);
            prop_assert_eq!(codec.pack_u32(ints) & !codec.written_bits(), 0);
        }
    }

    #[test]
    fn ufloat_rounds_to_the_nearest(value in 0f32..70000.0, mantissa in 5u32..=6) {
        let stored = f32_to_ufloat(value, mantissa);
        let error = |s: u32| (f64::from(ufloat_to_f32(s, mantissa)) - f64::from(value)).abs();
        let finite = (31 << mantissa) - 1;
        prop_assert!(stored <= finite);
        for neighbour in [stored.saturating_sub(1), (stored + 1).min(finite)] {
            prop_assert!(error(stored) <= error(neighbour));
        }
    }

    #[test]
    fn shared_exponent_is_within_half_a_step(rgb in prop::array::uniform3(0f32..70000.0)) {
        let stored = rgb_to_shared_exponent(rgb);
        let step = 2f32.powi((stored >> 27) as i32 - 15 - 9);
        for (value, got) in rgb.into_iter().zip(shared_exponent_to_rgb(stored)) {
            prop_assert!((value.min(65408.0) - got).abs() <= step * 0.5);
        }
    }

    #[test]
    fn srgb_encodes_to_the_nearest(value in 0f32..=1.0) {
        let v = f64::from(value);
        let curve = if v <= 0.003_130_8 { v * 12.92 } else { 1.055 * v.powf(1.0 / 2.4) - 0.055 };
        prop_assert!((curve * 255.0 - f64::from(srgb::encode(value))).abs() <= 0.5 + 1e-3);
    }
}
