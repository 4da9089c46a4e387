//! Blocks against an independent decoder, and of any bits.

use tepui_format::{Compression, Numeric};

use super::*;
use crate::unpack::Kind;

fn decode(format: Format, bits: &[u32; 4]) -> Box<[Texel]> {
    Blocks::new(2048).texels(format, whole(format, bits)).into()
}

/// The bits of a block of a format.
fn whole(format: Format, bits: &[u32; 4]) -> u128 {
    let all = bits.iter().rev().fold(0, |all, &word| all << 32 | u128::from(word));
    if format.info().block.bytes == 8 { all & u128::from(u64::MAX) } else { all }
}

fn random_blocks() -> impl Iterator<Item = [u32; 4]> {
    let mut seed = 1u32;
    std::iter::repeat_with(move || {
        std::array::from_fn(|_| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            seed ^ seed >> 15
        })
    })
}

fn rgba8(texel: &Texel) -> [i32; 4] {
    texel.map(|v| (v * 255.0).round() as i32)
}

#[test]
fn agrees_with_an_independent_decoder() {
    type Decode = fn(&[u8], usize, usize, &mut [u32]) -> Result<(), &'static str>;
    let cases: [(Format, Decode, usize, i32); 7] = [
        (Format::ETC2_R8G8B8_UNORM_BLOCK, texture2ddecoder::decode_etc2_rgb, 3, 0),
        (Format::ETC2_R8G8B8A1_UNORM_BLOCK, texture2ddecoder::decode_etc2_rgba1, 4, 0),
        (Format::ETC2_R8G8B8A8_UNORM_BLOCK, texture2ddecoder::decode_etc2_rgba8, 4, 0),
        (Format::BC1_RGBA_UNORM_BLOCK, texture2ddecoder::decode_bc1a, 4, 1),
        (Format::BC3_UNORM_BLOCK, texture2ddecoder::decode_bc3, 4, 1),
        (Format::BC7_UNORM_BLOCK, texture2ddecoder::decode_bc7, 4, 0),
        (Format::ASTC_4x4_UNORM_BLOCK, texture2ddecoder::decode_astc_4_4, 4, 1),
    ];
    for (format, theirs, channels, tolerance) in cases {
        let block = format.info().block;
        let mut checked = 0;
        for mut bits in random_blocks().take(6000) {
            if format == Format::BC3_UNORM_BLOCK {
                // BC3 has no colours of three: here the other decoder errs.
                let [a, b] = [bits[2] & 0xffff, bits[2] >> 16];
                bits[2] = a.max(b).max(1) | (a.min(b) & !u32::from(a == b)) << 16;
                if bits[2] & 0xffff == bits[2] >> 16 {
                    continue;
                }
            }
            let bytes: Vec<u8> = bits.iter().flat_map(|w| w.to_le_bytes()).collect();
            let mut image = [0; 16];
            let bytes = &bytes[..block.bytes as usize];
            // Blocks of ASTC may be illegal, where the other decoder's arithmetic overflows.
            let done =
                std::panic::catch_unwind(move || theirs(bytes, 4, 4, &mut image).map(|()| image));
            let Ok(Ok(image)) = done else { continue };
            let ours = decode(format, &bits);
            // The colour of illegal blocks, and of texels that need HDR.
            if format == Format::ASTC_4x4_UNORM_BLOCK && ours.contains(&[1.0, 0.0, 1.0, 1.0]) {
                continue;
            }
            let mut same = true;
            for (texel, want) in ours.iter().zip(image) {
                let [b, g, r, a] = want.to_le_bytes().map(i32::from);
                let got = rgba8(texel);
                let want = [r, g, b, a];
                let transparent = want[3] == 0 && got[3] == 0 && channels == 4;
                same &= transparent || (0..channels).all(|c| (got[c] - want[c]).abs() <= tolerance);
            }
            assert!(same, "{format} {bits:x?}: {ours:?} {image:x?}");
            checked += 1;
        }
        assert!(checked > 100, "{format}: {checked}");
    }
}

/// The eleven bits of EAC: the same steps as the eight bits of ETC2's alpha, eight times as fine.
/// (The decoder above reads the bytes of these blocks in the wrong order.)
#[test]
fn eleven_bits_follow_the_alpha_of_etc2() {
    for bits in random_blocks().take(2000) {
        let alpha = decode(Format::ETC2_R8G8B8A8_UNORM_BLOCK, &bits);
        let eleven = decode(Format::EAC_R11G11_UNORM_BLOCK, &bits);
        if bits[0] >> 12 & 15 == 0 {
            continue;
        }
        for (a, e) in alpha.iter().zip(eleven.iter()) {
            let (a, e) = (a[3] * 255.0, e[0] * 2047.0);
            // Clamped at the ends, the finer value keeps its half step.
            assert!((a * 8.0 + 4.0 - e).abs() <= 4.0, "{bits:x?}: {a} {e}");
        }
    }
    // Base 100, multiplier 0: steps count single units. Table 13, indices 0 and 7.
    let bits = [u32::from_le_bytes([100, 0x0d, 0x1c, 0]), 0, 0, 0];
    let red = decode(Format::EAC_R11_UNORM_BLOCK, &bits);
    assert_eq!((red[0][0] * 2047.0).round(), 803.0);
    assert_eq!((red[4][0] * 2047.0).round(), 813.0);
    let red = decode(Format::EAC_R11_SNORM_BLOCK, &bits);
    assert_eq!((red[4][0] * 1023.0).round(), 809.0);
}

#[test]
fn blocks_of_any_bits_decode() {
    for format in Format::all() {
        let Ok(unpacker) = Unpacker::new(format) else { continue };
        let Kind::Block(compression, numeric) = unpacker.kind else { continue };
        if compression == Compression::Pvrtc1 {
            continue;
        }
        let block = format.info().block;
        for mut bits in random_blocks().take(1500) {
            if bits[3] & 1 != 0 {
                bits[0] &= 0x1fff;
            }
            let texels = decode(format, &bits);
            assert_eq!(texels.len() as u32, block.width_px * block.height_px);
            if numeric != Numeric::Sfloat && numeric != Numeric::Ufloat {
                assert!(texels.iter().flatten().all(|v| (-1.0..=1.0).contains(v)), "{format}");
            }
        }
    }
}

/// A block of one colour in halves, beyond what LDR can say.
#[test]
fn hdr_blocks_decode() {
    let halves = [0x4a00, 0x3800, 0x5640, 0x3c00u16];
    let bits = [
        0xffff_fffc,
        u32::MAX,
        u32::from(halves[0]) | u32::from(halves[1]) << 16,
        u32::from(halves[2]) | u32::from(halves[3]) << 16,
    ];
    for format in [Format::ASTC_4x4_SFLOAT_BLOCK, Format::ASTC_12x10_SFLOAT_BLOCK] {
        let texels = decode(format, &bits);
        let want = [12.0, 0.5, 100.0, 1.0];
        assert!(texels.iter().all(|texel| *texel == want), "{format}: {:?}", texels[0]);
    }
}

/// Each lane reads the texel of its column and row, modulo the block's size.
#[test]
fn lanes_read_their_texel_of_a_block() {
    for format in
        [Format::BC1_RGBA_UNORM_BLOCK, Format::BC7_UNORM_BLOCK, Format::ASTC_4x4_UNORM_BLOCK]
    {
        let unpacker = Unpacker::new(format).unwrap();
        let mut blocks = Blocks::new(2048);
        for bits in random_blocks().take(200) {
            let want = decode(format, &bits);
            let mut words = bits.map(|w| [w; 16]);
            let x = std::array::from_fn(|lane| 8 + lane as i32 % 4);
            let y = std::array::from_fn(|lane| 12 + lane as i32 / 4);
            blocks.decode(&unpacker, 0xffff, [&x, &y], &mut words);
            for lane in 0..16 {
                let got = words.map(|row| row[lane]);
                assert_eq!(got, want[lane].map(f32::to_bits), "{format:?} {lane}");
            }
        }
    }
}

/// Blocks that share a place in the cache take turns, in all formats, and a block has the texels that its codec says: by its bits, since
/// there is nothing else to find it by.
#[test]
fn blocks_that_share_an_entry_keep_their_texels() {
    let formats = [
        Format::BC1_RGBA_UNORM_BLOCK,
        Format::BC1_RGBA_SRGB_BLOCK,
        Format::BC7_UNORM_BLOCK,
        Format::ASTC_5x4_UNORM_BLOCK,
        Format::ASTC_12x12_SRGB_BLOCK,
        Format::EAC_R11_SNORM_BLOCK,
    ];
    let mut blocks = Blocks::new(2048);
    let mut taken = vec![0; 2048];
    for (format, bits) in formats.into_iter().cycle().zip(random_blocks()).take(40_000) {
        let bits = whole(format, &bits);
        taken[slot(format, bits) & 2047] += 1;
        let codec = BlockCodec::new(format).unwrap();
        let mut want = vec![[0.0; 4]; codec.pixels()];
        codec.decode(&bits.to_le_bytes(), &mut want);
        for _ in 0..2 {
            let got = blocks.texels(format, bits);
            assert!(
                got.iter()
                    .flatten()
                    .map(|v| v.to_bits())
                    .eq(want.iter().flatten().map(|v| v.to_bits()))
            );
        }
    }
    // Twenty a place on average: none is left out, none has many more.
    assert!(taken.iter().all(|&n| (1..60).contains(&n)), "{taken:?}");
}

/// A filter gives the bits that its kernel gives of blocks that are decoded tap by tap, in all formats, also where blocks take one another's
/// places.
#[test]
fn filters_of_blocks_have_the_bits_of_the_kernel() {
    use crate::axis::Axis;
    use crate::kernels::{Quad, testing::Unit};
    const LANES: usize = 16;
    let kernels = crate::Kernels::<LANES, Unit>::of_host();
    let mut seed = 5u32;
    let mut random = move |n: u32| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 8) % n
    };
    for format in Format::all() {
        let Ok(unpacker) = Unpacker::new(format) else { continue };
        if !unpacker.is_block() {
            continue;
        }
        let block = format.info().block;
        let bytes = block.bytes as usize;
        let memory: Vec<[u32; 4]> = random_blocks().take(4096).collect();
        let memory: Vec<u8> = memory.iter().flatten().flat_map(|w| w.to_le_bytes()).collect();
        let mut blocks = Blocks::new(2048);
        for _ in 0..60 {
            let mut axes = [Axis::<LANES>::ZERO; 3];
            let mut offsets = [[0; LANES]; 4];
            for i in 0..LANES {
                for axis in &mut axes[..2] {
                    axis.texel = [0, 1].map(|k| {
                        let mut row = axis.texel[k];
                        row[i] = random(64) as i32;
                        row
                    });
                    axis.weight[i] = random(5) as f32 / 4.0;
                }
                for row in &mut offsets {
                    // Mostly a few blocks again and again.
                    let n = if random(4) == 0 { 4096 * 16 / bytes as u32 } else { 6 };
                    row[i] = random(n) * bytes as u32;
                }
            }
            let mut taps = [[[0; LANES]; 4]; 4];
            for (k, words) in taps.iter_mut().enumerate() {
                for i in 0..LANES {
                    for (w, word) in words.iter_mut().enumerate().take(bytes / 4) {
                        let at = offsets[k][i] as usize + 4 * w;
                        word[i] = u32::from_le_bytes(memory[at..at + 4].try_into().unwrap());
                    }
                }
                let at = [&axes[0].texel[k & 1], &axes[1].texel[k >> 1]];
                Blocks::new(2048).decode(&unpacker, 0xffff, at, words);
            }
            let weight = [&axes[0].weight, &axes[1].weight];
            let mut want = [[0; LANES]; 4];
            kernels
                .quad(&Quad { unpacker: &unpacker, words: &taps, weight, wanted: 15 }, &mut want);
            let mut got = [[0; LANES]; 4];
            // SAFETY: all offsets are those of blocks in `memory`.
            let corners = unsafe { Corners::new(memory.as_ptr(), &offsets, &axes, 0xffff) };
            blocks.filter(&unpacker, &corners, &mut got);
            let nan = |bits: u32| f32::from_bits(bits).is_nan();
            for (got, want) in got.as_flattened().iter().zip(want.as_flattened()) {
                assert!(got == want || nan(*got) && nan(*want), "{format}: {got:x} {want:x}");
            }
        }
    }
}
