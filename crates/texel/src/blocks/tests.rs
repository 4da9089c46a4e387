//! Blocks against an independent decoder, and of any bits.

use tepui_format::Numeric;
use tepui_format::block::BlockCodec;

use super::*;

fn decode(format: Format, bits: &[u32; 4]) -> Box<[Texel]> {
    let count = BlockCodec::new(format).unwrap().pixels();
    let mut blocks = Blocks::new(2048);
    (0..count).map(|index| blocks.texel(format, whole(format, bits), index)).collect()
}

/// The formats whose blocks the cache has.
fn formats() -> impl Iterator<Item = (Format, Unpacker)> {
    let unpacker = |format| Unpacker::new(format).ok().filter(|u| u.codec().is_some());
    Format::all().filter_map(move |format| unpacker(format).map(|u| (format, u)))
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
    for (format, _) in formats() {
        let block = format.info().block;
        let numeric = format.info().numeric();
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
            for c in 0..4 {
                let got = unpacker.float::<16, 4>(&words, &[0; 16], c);
                for lane in 0..16 {
                    let got = got[lane] / unpacker.divisor[c];
                    assert_eq!(got, want[lane][c], "{format:?} {lane} {c}");
                }
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
    let bits_of = |texel: Texel| texel.map(f32::to_bits);
    for (format, bits) in formats.into_iter().cycle().zip(random_blocks()).take(40_000) {
        let bits = whole(format, &bits);
        taken[pool::slot(format, bits) & 2047] += 1;
        let codec = BlockCodec::new(format).unwrap();
        let mut want = vec![[0.0; 4]; codec.pixels()];
        codec.decode(&bits.to_le_bytes(), &mut want);
        for _ in 0..2 {
            for (index, want) in want.iter().enumerate() {
                let got = blocks.texel(format, bits, index);
                assert_eq!(bits_of(got), bits_of(*want), "{format} {bits:x} {index}");
            }
        }
    }
    // Twenty a place on average: none is left out, none has many more.
    assert!(taken.iter().all(|&n| (1..60).contains(&n)), "{taken:?}");
}

/// The four texels of a filter are those of their blocks, in all formats, whatever blocks take one another's places, and with any vectors.
#[test]
fn quads_have_the_texels_of_their_blocks() {
    use crate::axis::Axis;
    use crate::kernels::testing::{Linear, Unit};
    const LANES: usize = 16;
    const SIDE: u32 = 64;
    let kernels = crate::Kernels::<LANES, Unit>::of_host();
    let mut seed = 5u32;
    let mut random = move |n: u32| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 8) % n
    };
    let level = Linear([SIDE; 2]);
    for (format, unpacker) in formats() {
        let codec = unpacker.codec().unwrap();
        let block = format.info().block;
        let size = [block.width_px, block.height_px];
        let count = SIDE * SIDE.div_ceil(size[1]);
        let memory: Vec<[u32; 4]> = random_blocks().take(count as usize).collect();
        let memory: Vec<u8> = memory.iter().flatten().flat_map(|w| w.to_le_bytes()).collect();
        // Blocks that differ by columns of texels, not of blocks: rows of blocks are as long as those of texels.
        let offset = |x: u32, y: u32| ((y / size[1] * SIDE + x / size[0]) * block.bytes) as usize;
        let (mut small, mut large) = (Blocks::new(4), Blocks::new(2048));
        for round in 0..40 {
            let mut axes = [Axis::<LANES>::ZERO; 3];
            // A few neighbours, or any texels.
            let spread = if round % 4 == 0 { SIDE } else { 9 };
            for axis in &mut axes[..2] {
                let first = random(SIDE - spread + 1);
                for row in &mut axis.texel {
                    *row = std::array::from_fn(|_| (first + random(spread)) as i32);
                }
            }
            let exec = if round % 2 == 0 { 0xffff } else { random(0xffff) + 1 };
            for blocks in [&mut small, &mut large] {
                let mut taps = [[[0; LANES]; 4]; 4];
                // SAFETY: all texels are inside of the level.
                let quad = unsafe { BlockQuad::new(memory.as_ptr(), &level, &axes, exec) };
                blocks.quad(kernels, &unpacker, &quad, &mut taps);
                for (lane, k) in lanes(exec).flat_map(|lane| (0..4).map(move |k| (lane, k))) {
                    let at = [axes[0].texel[k & 1][lane], axes[1].texel[k >> 1][lane]];
                    let [x, y] = at.map(|v| v as u32);
                    let mut texels = vec![[0.0; 4]; codec.pixels()];
                    codec.decode(&memory[offset(x, y)..][..codec.bytes()], &mut texels);
                    let want = texels[(y % size[1] * size[0] + x % size[0]) as usize];
                    for (c, want) in want.into_iter().enumerate() {
                        let read = || unpacker.float::<LANES, 4>(&taps[k], &[0; LANES], c)[lane];
                        let got = unpacker.constant(c).unwrap_or_else(read);
                        let got = got / unpacker.divisor[c];
                        let same = got == want || got.is_nan() && want.is_nan();
                        assert!(same, "{format} {lane} {k} {c}: {got} {want}");
                    }
                }
            }
        }
    }
}
