//! Any texel and block of any format: unpacked, packed again, decoded; and arbitrary names of formats and of
//! AFBC variants.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tepui_format::Format;
use tepui_format::block::{BlockCodec, MAX_BLOCK_PX, PvrtcCodec};
use tepui_format::texel::{TexelCodec, load};
use tepui_mali_layout::afbc::Afbc;

fuzz_target!(|input: &[u8]| {
    let Some((&first, bytes)) = input.split_first() else { return };
    if let Ok(name) = std::str::from_utf8(bytes) {
        if let Ok(format) = name.parse::<Format>() {
            assert_eq!(format.name().parse(), Ok(format));
        }
        if let Ok(afbc) = name.parse::<Afbc>() {
            assert_eq!(afbc.to_string().parse(), Ok(afbc));
        }
    }
    let Some(format) = Format::all().nth(first as usize % Format::all().len()) else { return };
    for codec in [TexelCodec::new(format), TexelCodec::stencil(format)].into_iter().flatten() {
        let Some(texel) = bytes.get(..codec.bytes()) else { return };
        let raw = load(texel);
        // A packed value unpacks to the same value, or to NaN if it was NaN.
        let value = codec.unpack_f32(raw);
        let packed = codec.pack_f32(value);
        assert_eq!(packed & !codec.written_bits(), 0);
        let again = codec.pack_f32(codec.unpack_f32(packed));
        let nan = value.iter().any(|v| v.is_nan());
        assert!(nan || again == packed, "{format} {raw:#x}");
        assert_eq!(codec.pack_u32(codec.unpack_u32(raw)) & !codec.written_bits(), 0);
    }
    if let (Ok(codec), Some((place, words))) = (PvrtcCodec::new(format), bytes.split_first_chunk())
    {
        let [x, y, columns, rows] = place.map(|b: u8| u32::from(b));
        let word = |at: u32| {
            let mut word = [0; 8];
            let from = words.chunks(8).nth(at as usize % 32).unwrap_or_default();
            word[..from.len()].copy_from_slice(from);
            u64::from_le_bytes(word)
        };
        let [left, upper] = codec.blocks(x, y, [columns + 1, rows + 1]);
        assert!(left.iter().all(|&c| c <= columns) && upper.iter().all(|&r| r <= rows));
        let quad = upper.map(|row| left.map(|column| word(row * (columns + 1) + column)));
        let pixel = codec.pixel(&quad, x, y);
        assert!(pixel.iter().all(|v| (0.0..=1.0).contains(v)), "{format} {pixel:?}");
    }
    if let Ok(codec) = BlockCodec::new(format) {
        let mut pixels = [[0.0; 4]; MAX_BLOCK_PX];
        codec.decode(bytes, &mut pixels);
        let mut short = [[0.0; 4]; 2];
        codec.decode(bytes, &mut short);
        let bits = |pixels: &[[f32; 4]]| {
            pixels.as_flattened().iter().take(8).map(|v| v.to_bits()).collect::<Vec<_>>()
        };
        assert_eq!(bits(&short), bits(&pixels));
    }
});
