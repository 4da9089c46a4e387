//! ETC2, EAC and ASTC, which lavapipe does not sample: an independent decoder is the reference.

use ash::vk::{self, Filter, SamplerAddressMode};

use crate::case::{Case, Output, Rule, Shader};
use crate::gpu::{Bind, ImageSpec, SamplerSpec, Shape, Transfer};
use crate::number::Random;

/// Decodes a whole image to words of B, G, R, A bytes.
type Decode = fn(data: &[u8], width: usize, height: usize, image: &mut [u32]) -> bool;

/// The components of the decoder's words that are used: others are 0, and alpha 1.
#[derive(Clone, Copy)]
enum Components {
    Red,
    RedGreen,
    All,
}

struct FormatCase {
    name: &'static str,
    format: vk::Format,
    srgb: bool,
    block_px: [u32; 2],
    block_bytes: usize,
    components: Components,
    decode: Decode,
}

macro_rules! row {
    ($name:ident, $srgb:literal, $width:literal x $height:literal, $bytes:literal, $components:ident,
     $decode:expr) => {
        FormatCase {
            name: stringify!($name),
            format: vk::Format::$name,
            srgb: $srgb,
            block_px: [$width, $height],
            block_bytes: $bytes,
            components: Components::$components,
            decode: $decode,
        }
    };
}

macro_rules! astc {
    ($($unorm:ident $srgb:ident $width:literal x $height:literal;)*) => {
        vec![$(
            row!($unorm, false, $width x $height, 16, All, |d, w, h, i| {
                texture2ddecoder::decode_astc(d, w, h, $width, $height, i).is_ok()
            }),
            row!($srgb, true, $width x $height, 16, All, |d, w, h, i| {
                texture2ddecoder::decode_astc(d, w, h, $width, $height, i).is_ok()
            }),
        )*]
    };
}

fn rows() -> Vec<FormatCase> {
    use texture2ddecoder as t;
    let mut rows = astc! {
        ASTC_4X4_UNORM_BLOCK ASTC_4X4_SRGB_BLOCK 4 x 4;
        ASTC_5X4_UNORM_BLOCK ASTC_5X4_SRGB_BLOCK 5 x 4;
        ASTC_5X5_UNORM_BLOCK ASTC_5X5_SRGB_BLOCK 5 x 5;
        ASTC_6X5_UNORM_BLOCK ASTC_6X5_SRGB_BLOCK 6 x 5;
        ASTC_6X6_UNORM_BLOCK ASTC_6X6_SRGB_BLOCK 6 x 6;
        ASTC_8X5_UNORM_BLOCK ASTC_8X5_SRGB_BLOCK 8 x 5;
        ASTC_8X6_UNORM_BLOCK ASTC_8X6_SRGB_BLOCK 8 x 6;
        ASTC_8X8_UNORM_BLOCK ASTC_8X8_SRGB_BLOCK 8 x 8;
        ASTC_10X5_UNORM_BLOCK ASTC_10X5_SRGB_BLOCK 10 x 5;
        ASTC_10X6_UNORM_BLOCK ASTC_10X6_SRGB_BLOCK 10 x 6;
        ASTC_10X8_UNORM_BLOCK ASTC_10X8_SRGB_BLOCK 10 x 8;
        ASTC_10X10_UNORM_BLOCK ASTC_10X10_SRGB_BLOCK 10 x 10;
        ASTC_12X10_UNORM_BLOCK ASTC_12X10_SRGB_BLOCK 12 x 10;
        ASTC_12X12_UNORM_BLOCK ASTC_12X12_SRGB_BLOCK 12 x 12;
    };
    rows.extend([
        row!(ETC2_R8G8B8_UNORM_BLOCK, false, 4 x 4, 8, All, |d, w, h, i| {
            t::decode_etc2_rgb(d, w, h, i).is_ok()
        }),
        row!(ETC2_R8G8B8_SRGB_BLOCK, true, 4 x 4, 8, All, |d, w, h, i| {
            t::decode_etc2_rgb(d, w, h, i).is_ok()
        }),
        row!(ETC2_R8G8B8A1_UNORM_BLOCK, false, 4 x 4, 8, All, |d, w, h, i| {
            let decoded = t::decode_etc2_rgba1(d, w, h, i).is_ok();
            // Transparent texels are black; the decoder keeps their colour.
            i.iter_mut().filter(|word| **word >> 24 == 0).for_each(|word| *word = 0);
            decoded
        }),
        row!(ETC2_R8G8B8A8_UNORM_BLOCK, false, 4 x 4, 16, All, |d, w, h, i| {
            t::decode_etc2_rgba8(d, w, h, i).is_ok()
        }),
        row!(ETC2_R8G8B8A8_SRGB_BLOCK, true, 4 x 4, 16, All, |d, w, h, i| {
            t::decode_etc2_rgba8(d, w, h, i).is_ok()
        }),
        row!(EAC_R11_UNORM_BLOCK, false, 4 x 4, 8, Red, |d, w, h, i| {
            eac(d, w, h, i, 1)
        }),
        row!(EAC_R11G11_UNORM_BLOCK, false, 4 x 4, 16, RedGreen, |d, w, h, i| {
            eac(d, w, h, i, 2)
        }),
    ]);
    rows
}

/// EAC of one or two components, from the specification's equations: the decoder used for the other formats
/// reads EAC's indices in the wrong order. source: Khronos Data Format Specification, "ETC2 Compressed
/// Texture Image Formats", RG11 EAC
fn eac(data: &[u8], width: usize, height: usize, image: &mut [u32], components: usize) -> bool {
    const MODIFIERS: [[i32; 4]; 16] = [
        [2, 5, 8, 14],
        [2, 6, 9, 12],
        [1, 4, 7, 12],
        [1, 3, 5, 12],
        [2, 5, 7, 11],
        [2, 6, 8, 10],
        [3, 6, 7, 10],
        [2, 4, 7, 10],
        [1, 5, 7, 9],
        [1, 4, 7, 9],
        [1, 3, 7, 9],
        [1, 4, 6, 9],
        [2, 3, 6, 9],
        [0, 1, 2, 9],
        [3, 5, 7, 8],
        [2, 4, 6, 8],
    ];
    let across = width.div_ceil(4);
    for (y, x) in (0..height).flat_map(|y| (0..width).map(move |x| (y, x))) {
        let block = (y / 4 * across + x / 4) * 8 * components;
        let mut word = 255u32 << 24;
        for c in 0..components {
            let Some(bytes) = data.get(block + 8 * c..block + 8 * c + 8) else { return false };
            let bits = bytes.iter().fold(0u64, |bits, &b| bits << 8 | u64::from(b));
            let texel = x % 4 * 4 + y % 4;
            let index = (bits >> (45 - 3 * texel) & 7) as usize;
            let positive = MODIFIERS[(bits >> 48 & 15) as usize][index & 3];
            let modifier = if index < 4 { -positive - 1 } else { positive };
            let multiplier = (bits >> 52 & 15) as i32;
            let step = if multiplier == 0 { modifier } else { modifier * multiplier * 8 };
            let value = ((bits >> 56) as i32 * 8 + 4 + step).clamp(0, 2047);
            // Red is the third byte of the words, green the second.
            word |= (((value * 255 + 1023) / 2047) as u32) << (16 - 8 * c);
        }
        image[y * width + x] = word;
    }
    true
}

/// A legal ASTC block for low dynamic range: a grid of 4 x 4 weights, one or two partitions, one
/// or two planes, any endpoint mode of that range. Other bits are random.
fn astc_block(random: &mut Random) -> [u8; 16] {
    let mut bits = random.next_u64() as u128 | (random.next_u64() as u128) << 64;
    let mut put = |at: u32, width: u32, value: u128| {
        let mask = ((1u128 << width) - 1) << at;
        bits = bits & !mask | value << at & mask;
    };
    let choice = random.next_u32();
    // Weights of 4 levels or, for one plane, 8.
    let two_planes = choice & 7 == 0;
    let range = if choice & 8 == 0 || two_planes { 0b100 } else { 0b111u128 };
    put(0, 2, range >> 1); // R1 and R2
    put(2, 2, 0);
    put(4, 1, range & 1); // R0
    put(5, 2, 2); // height - 2
    put(7, 2, 0); // width - 4
    put(9, 1, 0);
    put(10, 1, u128::from(two_planes));
    let modes = [0u128, 1, 4, 5, 6, 8, 9, 10, 12, 13];
    let mode = modes[(choice >> 8) as usize % modes.len()];
    if choice & 48 == 0 && !two_planes && mode < 8 {
        put(11, 2, 1); // two partitions, both with this mode
        put(23, 6, mode << 2);
    } else {
        put(11, 2, 0);
        put(13, 4, mode);
    }
    bits.to_le_bytes()
}

fn to_linear(x: f64) -> f64 {
    if x <= 0.04045 { x / 12.92 } else { ((x + 0.055) / 1.055).powf(2.4) }
}

fn case(row: FormatCase) -> Case {
    const SIZE: [u32; 2] = [61, 47];
    let shader = Shader::new("texture.comp")
        .define("SAMPLER", "sampler2D")
        .define("RESULT", "vec4")
        .define("EXPR", "texelFetch(t, ivec2(p.xy), 0)");
    let about = format!("each texel of a 61 x 47 image of {}", row.name);
    let case = Case::new(format!("blocks/{}", row.name), about, vec![shader], move |bench| {
        let gpu = bench.gpu;
        let blocks = SIZE[0].div_ceil(row.block_px[0]) * SIZE[1].div_ceil(row.block_px[1]);
        let mut random = Random::new(131);
        let mut data = Vec::new();
        for _ in 0..blocks {
            let block = astc_block(&mut random);
            if row.name.starts_with("ASTC") {
                data.extend(block);
            } else {
                data.extend((0..row.block_bytes).map(|_| random.next_u32() as u8));
            }
        }
        let (width, height) = (SIZE[0] as usize, SIZE[1] as usize);
        let mut words = vec![0u32; width * height];
        let decoded = (row.decode)(&data, width, height, &mut words);
        gpu.check(decoded, "the reference decoder refuses the blocks")?;
        let spec =
            ImageSpec::sampled(row.format, Shape::D2, [SIZE[0], SIZE[1], 1]).through(Transfer::Gpu);
        let image = gpu.image_of(spec, &[data])?;
        let sampler = gpu.sampler(SamplerSpec::new(Filter::NEAREST, SamplerAddressMode::REPEAT))?;
        let p: Vec<[f32; 4]> = (0..width * height)
            .map(|i| [(i % width) as f32, (i / width) as f32, 0.0, 0.0])
            .collect();
        let (pb, result) = (gpu.buffer(&p)?, gpu.output::<[f32; 4]>(p.len())?);
        let kernel = gpu
            .kernel(&bench.spirv[0])
            .bind(Bind::Texture(image.view, sampler))
            .storage(&[&pb, &pb, &result])
            .build()?;
        gpu.run(&kernel, [p.len().div_ceil(64) as u32, 1, 1])?;
        let mut expected = Vec::new();
        let mut tolerance = Vec::new();
        for word in words {
            let [b, g, r, a] = word.to_le_bytes();
            let bytes = match row.components {
                Components::Red => [r, 0, 0, 255],
                Components::RedGreen => [r, g, 0, 255],
                Components::All => [r, g, b, a],
            };
            let mut texel = [0.0f32; 4];
            for (k, &byte) in bytes.iter().enumerate() {
                let x = byte as f64 / 255.0;
                let curved = row.srgb && k < 3;
                texel[k] = (if curved { to_linear(x) } else { x }) as f32;
                // The decoder rounds to 8 bits; the curve is at most 2.3 steep.
                tolerance.push(1.5 / 255.0 * if curved { 2.3 } else { 1.0 });
            }
            expected.push(texel);
        }
        let rule = Rule::Each("1.5 / 255, times the curve's slope".into(), tolerance);
        Ok(vec![Output::cpu("texels", &result.read::<[f32; 4]>(), &expected, rule)])
    });
    case.without_lavapipe()
}

pub(super) fn cases() -> Vec<Case> {
    rows().into_iter().map(case).collect()
}
