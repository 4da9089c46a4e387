//! Times compute kernels on one device: the best of several submissions, after one that is not
//! counted, so that neither pipelines nor first touches of memory are in the figure.

use std::path::Path;
use std::time::Instant;

use ash::vk;

use crate::case::Shader;
use crate::compile::compile;
use crate::gpu::{Bind, Gpu, ImageSpec, Kernel, Result, SamplerSpec, Shape, Transfer};
use crate::number::Random;

/// One kernel's time.
#[derive(Clone, Debug, serde::Serialize)]
pub struct KernelTime {
    /// Name of the kernel.
    pub kernel: String,
    /// Wall time of the fastest submission, in milliseconds.
    pub ms: f64,
    /// Submissions, each of one dispatch.
    pub submissions: usize,
}

/// Submissions of each kernel that count.
const ROUNDS: usize = 5;

/// Times the kernels whose name contains `only`: three of arithmetic and memory, and samples of a texture of each format that the device
/// can filter.
pub fn run(gpu: &Gpu, spirv: &Path, only: &str) -> std::result::Result<Vec<KernelTime>, String> {
    let mut all = arithmetic(gpu, spirv, only)?;
    for texture in TEXTURES.iter().filter(|t| t.name().contains(only)) {
        let module = compile(&texture.shader(), spirv)?;
        all.extend(texture.time(gpu, &module).map_err(|e| e.to_string())?);
    }
    Ok(all)
}

fn arithmetic(gpu: &Gpu, spirv: &Path, only: &str) -> std::result::Result<Vec<KernelTime>, String> {
    let shaders = [
        Shader::new("matmul.comp").define("T", "float").define("SIZE", 512),
        Shader::new("mandelbrot.comp"),
        Shader::new("path_tracer.comp"),
    ];
    let modules =
        shaders.iter().map(|s| compile(s, spirv)).collect::<std::result::Result<Vec<_>, _>>()?;
    times(gpu, &modules, only).map_err(|e| e.to_string())
}

fn times(gpu: &Gpu, modules: &[Vec<u32>], only: &str) -> Result<Vec<KernelTime>> {
    let matrix: Vec<f32> = (0..512 * 512).map(|i| (i % 97) as f32 / 97.0).collect();
    let (a, b) = (gpu.buffer(&matrix)?, gpu.buffer(&matrix)?);
    let product = gpu.output::<f32>(512 * 512)?;
    let matmul = gpu.kernel(&modules[0]).storage(&[&a, &b, &product]).build()?;

    let counts = gpu.output::<u32>(1024 * 768)?;
    let mandelbrot = gpu.kernel(&modules[1]).storage(&[&counts]).push_bytes(24).build()?;
    let view: Vec<u32> = [-2.2f32, -1.3, 3.2 / 1024.0, 2.6 / 768.0]
        .into_iter()
        .map(f32::to_bits)
        .chain([1024, 256])
        .collect();

    let picture = gpu.output::<u32>(640 * 480)?;
    let tracer = gpu.kernel(&modules[2]).storage(&[&picture]).push_bytes(12).build()?;
    let runs: [(&'static str, &Kernel, &[u32], [u32; 3]); 3] = [
        ("matmul_512", &matmul, &[], [32, 32, 1]),
        ("mandelbrot_1024x768", &mandelbrot, &view, [128, 96, 1]),
        ("path_tracer_640x480", &tracer, &[640, 480, 4], [80, 60, 1]),
    ];
    runs.into_iter()
        .filter(|(kernel, ..)| kernel.contains(only))
        .map(|(kernel, program, push, groups)| {
            let ms = best(gpu, program, push, groups)?;
            Ok(KernelTime { kernel: kernel.into(), ms, submissions: ROUNDS + 1 })
        })
        .collect()
}

fn best(gpu: &Gpu, kernel: &Kernel, push: &[u32], groups: [u32; 3]) -> Result<f64> {
    let mut best = f64::INFINITY;
    for round in 0..=ROUNDS {
        let start = Instant::now();
        gpu.submit(|c| {
            if !push.is_empty() {
                c.push(kernel, push);
            }
            c.dispatch(kernel, groups);
        })?;
        if round > 0 {
            best = best.min(start.elapsed().as_secs_f64() * 1e3);
        }
    }
    Ok(best)
}

/// A texture whose samples are timed.
struct Texture {
    format: vk::Format,
    name: &'static str,
    /// Width and height of a block in texels.
    block_px: [u32; 2],
    block_bytes: usize,
    shape: Shape,
    /// The bits of each block's first word that are the same in all, and what they are: a mode of ASTC whose blocks are legal.
    fixed: [u32; 2],
}

impl Texture {
    const fn new(format: vk::Format, name: &'static str, block_bytes: usize) -> Texture {
        let block_px = if block_bytes == 4 { [1, 1] } else { [4, 4] };
        Texture { format, name, block_px, block_bytes, shape: Shape::D2, fixed: [0, 0] }
    }

    const fn cube(self) -> Texture {
        Texture { shape: Shape::Cube, ..self }
    }

    /// One plane of weights, four by four with three bits each, and one pair of colours.
    /// source: Khronos Data Format Specification, "ASTC Compressed Texture Image Formats", "Block Mode"
    const fn astc(format: vk::Format, name: &'static str, block_px: [u32; 2]) -> Texture {
        let fixed = [0x1_ffff, 8 << 13 | 0x53];
        Texture { block_px, fixed, ..Texture::new(format, name, 16) }
    }
}

const TEXTURES: &[Texture] = &[
    Texture::new(vk::Format::R8G8B8A8_UNORM, "rgba8", 4),
    Texture::new(vk::Format::R8G8B8A8_SRGB, "rgba8_srgb", 4),
    Texture::new(vk::Format::BC1_RGBA_UNORM_BLOCK, "bc1", 8),
    Texture::new(vk::Format::BC2_UNORM_BLOCK, "bc2", 16),
    Texture::new(vk::Format::BC3_UNORM_BLOCK, "bc3", 16),
    Texture::new(vk::Format::BC4_UNORM_BLOCK, "bc4", 8),
    Texture::new(vk::Format::BC5_UNORM_BLOCK, "bc5", 16),
    Texture::new(vk::Format::BC6H_UFLOAT_BLOCK, "bc6h", 16),
    Texture::new(vk::Format::BC7_UNORM_BLOCK, "bc7", 16),
    Texture::new(vk::Format::ETC2_R8G8B8_UNORM_BLOCK, "etc2_rgb", 8),
    Texture::new(vk::Format::ETC2_R8G8B8A8_UNORM_BLOCK, "etc2_rgba", 16),
    Texture::new(vk::Format::EAC_R11_UNORM_BLOCK, "eac_r11", 8),
    Texture::astc(vk::Format::ASTC_4X4_UNORM_BLOCK, "astc_4x4", [4, 4]),
    Texture::astc(vk::Format::ASTC_8X8_UNORM_BLOCK, "astc_8x8", [8, 8]),
    Texture::new(vk::Format::R8G8B8A8_UNORM, "rgba8", 4).cube(),
    Texture::new(vk::Format::BC1_RGBA_UNORM_BLOCK, "bc1", 8).cube(),
    Texture::new(vk::Format::BC7_UNORM_BLOCK, "bc7", 16).cube(),
];

/// Width and height of textures, and invocations along both axes.
const SIDE: u32 = 1024;

impl Texture {
    fn name(&self) -> String {
        let shape = if self.shape == Shape::Cube { "cube" } else { "2d" };
        format!("texture_{shape}_{}", self.name)
    }

    fn shader(&self) -> Shader {
        let shader = Shader::new("texture_speed.comp").define("SIZE", SIDE);
        match self.shape {
            Shape::Cube => shader.define("SAMPLER", "samplerCube").define("CUBE", 1),
            _ => shader.define("SAMPLER", "sampler2D"),
        }
    }

    /// The time of eight bilinear samples of each of [`SIDE`]² invocations; nothing where the device does not filter the format.
    fn time(&self, gpu: &Gpu, module: &[u32]) -> Result<Option<KernelTime>> {
        let wanted = vk::FormatFeatureFlags::SAMPLED_IMAGE_FILTER_LINEAR
            | vk::FormatFeatureFlags::TRANSFER_DST;
        if !gpu.format_features(self.format).contains(wanted) {
            return Ok(None);
        }
        let spec =
            ImageSpec::sampled(self.format, self.shape, [SIDE, SIDE, 1]).through(Transfer::Gpu);
        let bytes = spec.level_bytes(0, self.block_px, self.block_bytes);
        let [mask, bits] = self.fixed;
        let words: Vec<u32> = Random::integers(5, bytes / 4);
        let first = |k: usize| k.is_multiple_of(self.block_bytes / 4);
        let words = words.iter().enumerate().map(|(k, &w)| match first(k) {
            true => w & !mask | bits,
            false => w,
        });
        let image = gpu.image(spec)?;
        gpu.fill_image(&image, &[words.flat_map(u32::to_le_bytes).collect()])?;
        let sampler =
            gpu.sampler(SamplerSpec::new(vk::Filter::LINEAR, vk::SamplerAddressMode::REPEAT))?;
        let result = gpu.output::<u32>((SIDE * SIDE) as usize)?;
        let kernel = gpu
            .kernel(module)
            .bind(Bind::Texture(image.view, sampler))
            .storage(&[&result])
            .build()?;
        let ms = best(gpu, &kernel, &[], [SIDE / 8, SIDE / 8, 1])?;
        Ok(Some(KernelTime { kernel: self.name(), ms, submissions: ROUNDS + 1 }))
    }
}
