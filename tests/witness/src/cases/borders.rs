//! Border colours, and fetches outside, of every format: components that a format lacks are 0, 0, 1 there as in its texels, whatever the
//! border colour says, and those that it has are in their places.

use ash::vk::{self, BorderColor as Border};

use crate::case::{Case, Output, Rule, Shader};
use crate::gpu::{Bind, ImageSpec, SamplerSpec, Shape, Transfer};
use crate::texel::{BC, COLOUR, Class};

/// Formats that are in no list of [`crate::texel`], since lavapipe lacks them or other cases cannot write them.
const OTHERS: &[(&str, vk::Format)] = &[
    ("A8_UNORM", vk::Format::from_raw(1_000_470_001)),
    ("A1B5G5R5_UNORM", vk::Format::from_raw(1_000_470_000)),
    ("R5G5B5A1_UNORM", vk::Format::R5G5B5A1_UNORM_PACK16),
    ("B5G5R5A1_UNORM", vk::Format::B5G5R5A1_UNORM_PACK16),
    ("ETC2_R8G8B8_UNORM", vk::Format::ETC2_R8G8B8_UNORM_BLOCK),
    ("ETC2_R8G8B8_SRGB", vk::Format::ETC2_R8G8B8_SRGB_BLOCK),
    ("ETC2_R8G8B8A1_UNORM", vk::Format::ETC2_R8G8B8A1_UNORM_BLOCK),
    ("ETC2_R8G8B8A1_SRGB", vk::Format::ETC2_R8G8B8A1_SRGB_BLOCK),
    ("ETC2_R8G8B8A8_UNORM", vk::Format::ETC2_R8G8B8A8_UNORM_BLOCK),
    ("ETC2_R8G8B8A8_SRGB", vk::Format::ETC2_R8G8B8A8_SRGB_BLOCK),
    ("EAC_R11_UNORM", vk::Format::EAC_R11_UNORM_BLOCK),
    ("EAC_R11_SNORM", vk::Format::EAC_R11_SNORM_BLOCK),
    ("EAC_R11G11_UNORM", vk::Format::EAC_R11G11_UNORM_BLOCK),
    ("EAC_R11G11_SNORM", vk::Format::EAC_R11G11_SNORM_BLOCK),
    ("ASTC_4x4_UNORM", vk::Format::ASTC_4X4_UNORM_BLOCK),
    ("ASTC_4x4_SRGB", vk::Format::ASTC_4X4_SRGB_BLOCK),
    ("ASTC_8x5_UNORM", vk::Format::ASTC_8X5_UNORM_BLOCK),
    ("ASTC_12x12_SRGB", vk::Format::ASTC_12X12_SRGB_BLOCK),
];

/// Whether a format has red, green, blue and alpha.
fn components(name: &str) -> [bool; 4] {
    match name {
        _ if name.starts_with("BC4") => [true, false, false, false],
        _ if name.starts_with("BC5") => [true, true, false, false],
        _ if name.starts_with("BC6H") || name.starts_with("BC1_RGB_") => [true, true, true, false],
        _ if name.starts_with("BC") || name.starts_with("ASTC") => [true; 4],
        _ => {
            // The part that has a digit behind a letter: R8G8B8 of ETC2_R8G8B8_UNORM. Padding is X.
            let packed = name.strip_prefix("ETC2_").or(name.strip_prefix("EAC_")).unwrap_or(name);
            let packed = packed.split('_').next().unwrap_or_default();
            ['R', 'G', 'B', 'A'].map(|letter| packed.contains(letter))
        }
    }
}

/// Results of [`borders.comp`](../../shaders/borders.comp) for a format: a sample, four gathers, a fetch.
const RESULTS: usize = 6;

/// Extensions that a case enables.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extensions {
    All,
    /// None: custom border colours are off, and opaque black is right all the same.
    None,
}

fn case(
    class: &'static str,
    wanted: fn(Class) -> bool,
    least: usize,
    extensions: Extensions,
) -> Case {
    let listed = COLOUR.iter().chain(BC).filter(|f| wanted(f.class)).map(|f| (f.name, f.vk));
    let others = OTHERS.iter().copied().filter(|_| wanted(Class::Unorm));
    let formats: Vec<_> = listed.chain(others).collect();
    let prefix = match class {
        "float" => "",
        "uint" => "u",
        _ => "i",
    };
    let shader = Shader::new("borders.comp")
        .define("SAMPLER", format!("{prefix}sampler2D"))
        .define("VALUE", format!("{prefix}vec4"))
        .define("COUNT", formats.len());
    let about = "border colours and fetches outside of all formats";
    let suffix = if extensions == Extensions::None { "_without_extensions" } else { "" };
    Case::new(format!("texture/borders_{class}{suffix}"), about, vec![shader], move |bench| {
        let plain = match extensions {
            Extensions::All => None,
            Extensions::None => Some(crate::gpu::Gpu::open_without_extensions(&bench.gpu.name)?),
        };
        let gpu = plain.as_ref().unwrap_or(bench.gpu);
        let one = if class == "float" { 1f32.to_bits() } else { 1 };
        let kinds = match class {
            "float" => [
                ("transparent black", Border::FLOAT_TRANSPARENT_BLACK, [0; 4]),
                ("opaque black", Border::FLOAT_OPAQUE_BLACK, [0, 0, 0, one]),
                ("opaque white", Border::FLOAT_OPAQUE_WHITE, [one; 4]),
                ("cyan", Border::FLOAT_CUSTOM_EXT, [0, one, one, 0]),
                ("red", Border::FLOAT_CUSTOM_EXT, [one, 0, 0, one]),
            ],
            _ => [
                ("transparent black", Border::INT_TRANSPARENT_BLACK, [0; 4]),
                ("opaque black", Border::INT_OPAQUE_BLACK, [0, 0, 0, one]),
                ("opaque white", Border::INT_OPAQUE_WHITE, [one; 4]),
                ("cyan", Border::INT_CUSTOM_EXT, [0, one, one, 0]),
                ("odd", Border::INT_CUSTOM_EXT, [3, 0, 2, one]),
            ],
        };
        let offered: Vec<_> = formats.iter().filter(|f| gpu.samples(f.1)).collect();
        if offered.len() < least {
            let few = format!("the device samples {} formats of {}", offered.len(), formats.len());
            return Err(crate::gpu::Error::Case(few));
        }
        let images = offered
            .iter()
            .map(|f| {
                let spec = ImageSpec::sampled(f.1, Shape::D2, [4, 4, 1]);
                gpu.image(spec.through(Transfer::Gpu))
            })
            .collect::<Result<Vec<_>, _>>()?;
        let mut outputs = Vec::new();
        let is_custom =
            |border| [Border::FLOAT_CUSTOM_EXT, Border::INT_CUSTOM_EXT].contains(&border);
        let kinds = kinds
            .into_iter()
            .filter(|&(_, border, _)| extensions == Extensions::All || !is_custom(border));
        for (kind, border, custom_border) in kinds {
            // Drivers may arrange a custom colour for the format, so each has its sampler.
            let sampler = |border_format| {
                let (filter, wrap) = (vk::Filter::NEAREST, vk::SamplerAddressMode::CLAMP_TO_BORDER);
                gpu.sampler(SamplerSpec {
                    border,
                    custom_border,
                    border_format,
                    ..SamplerSpec::new(filter, wrap)
                })
            };
            let samplers = offered.iter().map(|f| sampler(f.1)).collect::<Result<Vec<_>, _>>()?;
            // What the array has room for beyond the formats that the device samples is not looked at.
            let descriptors: Vec<_> = (0..formats.len())
                .map(|k| k.min(images.len() - 1))
                .map(|k| Bind::Texture(images[k].view, samplers[k]))
                .collect();
            let result = gpu.output::<[u32; 4]>(RESULTS * offered.len())?;
            let kernel =
                gpu.kernel(&bench.spirv[0]).bind_array(descriptors).storage(&[&result]).build()?;
            gpu.run(&kernel, [offered.len() as u32, 1, 1])?;
            let got = result.read::<[u32; 4]>();
            for ((name, _), got) in offered.iter().zip(got.chunks(RESULTS)) {
                let has = components(name);
                let shown = |colour: [u32; 4]| -> [u32; 4] {
                    let lacks = [0, 0, 0, one];
                    std::array::from_fn(|c| if has[c] { colour[c] } else { lacks[c] })
                };
                let value = shown(custom_border);
                let mut wanted = vec![value];
                wanted.extend(value.map(|v| [v; 4]));
                wanted.push(shown([0; 4]));
                outputs.push(Output::cpu(&format!("{name} {kind}"), got, &wanted, Rule::Bits));
            }
        }
        Ok(outputs)
    })
    .robust()
    // Which formats there are is the driver's.
    .without_lavapipe()
}

pub fn cases() -> Vec<Case> {
    let is_float = |class| !matches!(class, Class::Uint | Class::Sint);
    vec![
        case("float", is_float, 45, Extensions::All),
        case("float", is_float, 45, Extensions::None),
        case("uint", |class| class == Class::Uint, 11, Extensions::All),
        case("sint", |class| class == Class::Sint, 10, Extensions::All),
    ]
}
