//! Formats that Honeykrisp samples and that no other case uses, most of which lavapipe does not support: each
//! texel is compared with `tepui-format`, whose own tests compare it with other decoders.

use ash::vk::{self, Filter, SamplerAddressMode};
use tepui_format::Format;
use tepui_format::block::BlockCodec;
use tepui_format::texel::{TexelCodec, load};

use crate::case::{Case, Output, Rule, Shader};
use crate::gpu::{Bind, ImageSpec, SamplerSpec, Shape, Transfer};
use crate::number::Random;

const FORMATS: &[Format] = &[
    Format::A1B5G5R5_UNORM_PACK16,
    Format::A2R10G10B10_SINT_PACK32,
    Format::A2B10G10R10_SINT_PACK32,
    Format::R8G8_SRGB,
    Format::R10X6G10X6_UNORM_2PACK16,
    Format::R12X4G12X4_UNORM_2PACK16,
    Format::ETC2_R8G8B8A1_SRGB_BLOCK,
    Format::EAC_R11_SNORM_BLOCK,
    Format::EAC_R11G11_SNORM_BLOCK,
    Format::ASTC_4x4_SFLOAT_BLOCK,
    Format::ASTC_5x4_SFLOAT_BLOCK,
    Format::ASTC_5x5_SFLOAT_BLOCK,
    Format::ASTC_6x5_SFLOAT_BLOCK,
    Format::ASTC_6x6_SFLOAT_BLOCK,
    Format::ASTC_8x5_SFLOAT_BLOCK,
    Format::ASTC_8x6_SFLOAT_BLOCK,
    Format::ASTC_8x8_SFLOAT_BLOCK,
    Format::ASTC_10x5_SFLOAT_BLOCK,
    Format::ASTC_10x6_SFLOAT_BLOCK,
    Format::ASTC_10x8_SFLOAT_BLOCK,
    Format::ASTC_10x10_SFLOAT_BLOCK,
    Format::ASTC_12x10_SFLOAT_BLOCK,
    Format::ASTC_12x12_SFLOAT_BLOCK,
];

const SIZE: [u32; 2] = [61, 47];

/// The texels of an image, as shaders see them: bits of floats or integers.
fn decode(format: Format, data: &[u8]) -> Option<Vec<[u32; 4]>> {
    let block = format.info().block;
    let across = SIZE[0].div_ceil(block.width_px);
    let texels = (0..SIZE[1]).flat_map(|y| (0..SIZE[0]).map(move |x| (x, y)));
    let bytes_at = |x: u32, y: u32| {
        let at = (y / block.height_px * across + x / block.width_px) as usize;
        let bytes = block.bytes as usize;
        data.get(at * bytes..(at + 1) * bytes)
    };
    if let Ok(codec) = TexelCodec::new(format) {
        return texels
            .map(|(x, y)| {
                let raw = load(bytes_at(x, y)?);
                Some(if codec.is_float() {
                    codec.unpack_f32(raw).map(f32::to_bits)
                } else {
                    codec.unpack_u32(raw)
                })
            })
            .collect();
    }
    let codec = BlockCodec::new(format).ok()?;
    let mut decoded = vec![[0.0; 4]; codec.pixels()];
    texels
        .map(|(x, y)| {
            codec.decode(bytes_at(x, y)?, &mut decoded);
            let at = y % block.height_px * block.width_px + x % block.width_px;
            Some(decoded[at as usize].map(f32::to_bits))
        })
        .collect()
}

/// The low bits of 16-bit channels that have fewer bits.
fn unused_bits(format: Format) -> u8 {
    match format {
        Format::R10X6G10X6_UNORM_2PACK16 => 0x3f,
        Format::R12X4G12X4_UNORM_2PACK16 => 0x0f,
        _ => 0,
    }
}

fn case(format: Format) -> Case {
    let integer = format.name().contains("_SINT");
    let prefix = if integer { "i" } else { "" };
    let shader = Shader::new("texture.comp")
        .define("SAMPLER", format!("{prefix}sampler2D"))
        .define("RESULT", format!("{prefix}vec4"))
        .define("EXPR", "texelFetch(t, ivec2(p.xy), 0)");
    let about = format!("each texel of a 61 x 47 image of {format}");
    let case = Case::new(format!("codecs/{format}"), about, vec![shader], move |bench| {
        let gpu = bench.gpu;
        let block = format.info().block;
        let blocks = SIZE[0].div_ceil(block.width_px) * SIZE[1].div_ceil(block.height_px);
        let mut random = Random::new(137);
        // The lower byte of each pair has bits that are padding.
        let mask = unused_bits(format);
        let data: Vec<u8> = (0..blocks * block.bytes)
            .map(|i| random.next_u32() as u8 & if i % 2 == 0 { !mask } else { 0xff })
            .collect();
        let expected = decode(format, &data);
        gpu.check(expected.is_some(), "there is no codec for the format")?;
        let expected = expected.unwrap_or_default();
        let spec =
            ImageSpec::sampled(vk::Format::from_raw(format.vk()), Shape::D2, [SIZE[0], SIZE[1], 1]);
        let image = gpu.image_of(spec.through(Transfer::Gpu), &[data])?;
        let sampler = gpu.sampler(SamplerSpec::new(Filter::NEAREST, SamplerAddressMode::REPEAT))?;
        let texels = (0..SIZE[1]).flat_map(|y| (0..SIZE[0]).map(move |x| (x, y)));
        let p: Vec<[f32; 4]> = texels.map(|(x, y)| [x as f32, y as f32, 0.0, 0.0]).collect();
        let (pb, result) = (gpu.buffer(&p)?, gpu.output::<[u32; 4]>(p.len())?);
        let kernel = gpu
            .kernel(&bench.spirv[0])
            .bind(Bind::Texture(image.view, sampler))
            .storage(&[&pb, &pb, &result])
            .build()?;
        gpu.run(&kernel, [p.len().div_ceil(64) as u32, 1, 1])?;
        let got = result.read::<[u32; 4]>();
        if integer {
            return Ok(vec![Output::cpu("texels", &got, &expected, Rule::Bits)]);
        }
        let floats = |rows: &[[u32; 4]]| -> Vec<[f32; 4]> {
            rows.iter().map(|row| row.map(f32::from_bits)).collect()
        };
        let rule = if format.name().contains("SFLOAT") {
            Rule::Bits
        } else if mask != 0 {
            // Mesa reads all 16 bits as one number.
            Rule::Abs(2f64.powi(-10))
        } else {
            // The division of fixed-point conversion may be off by a unit or two.
            Rule::Abs(2f64.powi(-22))
        };
        Ok(vec![Output::cpu("texels", &floats(&got), &floats(&expected), rule)])
    });
    case.without_lavapipe()
}

pub(super) fn cases() -> Vec<Case> {
    FORMATS.iter().copied().map(case).collect()
}
