//! Views that show an image in another way than it was created: with a smallest level of detail, with blocks as texels.

use ash::vk;

use crate::case::{Case, Output, Rule, Shader};
use crate::gpu::{Bind, ImageSpec, SamplerSpec, Shape, Transfer, ViewSpec};

/// Views whose smallest level of detail is not that of their first level.
fn min_lod() -> Case {
    let read = Shader::new("texture.comp").define("SAMPLER", "sampler2D").define("RESULT", "vec4");
    let expr = "vec4(textureLod(t, p.xy, p.z).x, textureLod(t, p.xy, p.z).y, q.xy)";
    let about = "levels of detail that a view allows";
    Case::new("views/min_lod", about, vec![read.define("EXPR", expr)], |bench| {
        const LEVELS: u32 = 5;
        let spec = ImageSpec::sampled(vk::Format::R32G32_SFLOAT, Shape::D2, [16, 16, 1]);
        let spec = spec.through(Transfer::Gpu).levels(LEVELS);
        // Each level has its number.
        let level = |level: u32| {
            let [width, height, _] = spec.level_px(level);
            let texel = [level as f32, 10.0 + level as f32];
            let bytes = texel.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>();
            bytes.repeat((width * height) as usize)
        };
        let image = bench.gpu.image_of(spec, &(0..LEVELS).map(level).collect::<Vec<_>>())?;
        let edge = vk::SamplerAddressMode::CLAMP_TO_EDGE;
        let lods: Vec<f32> = (0..64).map(|k| k as f32 * 0.125 - 1.0).collect();
        let p: Vec<f32> = lods.iter().flat_map(|&lod| [0.4, 0.6, lod, 0.0]).collect();
        let mut outputs = Vec::new();
        for (first, least) in [(0, 0.0), (0, 1.0), (0, 2.5), (1, 2.25), (2, 1.0), (1, 4.0)] {
            let levels = [first, LEVELS - first];
            let view = ViewSpec { levels, min_lod: Some(least), ..ViewSpec::whole(&spec) };
            let view = bench.gpu.view(image.handle, &spec, view)?;
            let linear = SamplerSpec::new(vk::Filter::LINEAR, edge);
            let sampler = bench.gpu.sampler(linear)?;
            let (at, q) = (bench.gpu.buffer(&p)?, bench.gpu.buffer(&p)?);
            let r = bench.gpu.poisoned(p.len() * 4)?;
            let kernel = bench
                .gpu
                .kernel(&bench.spirv[0])
                .bind(Bind::Texture(view, sampler))
                .storage(&[&at, &q, &r])
                .build()?;
            bench.gpu.run(&kernel, [1, 1, 1])?;
            let read: Vec<f32> = r
                .bytes()
                .chunks_exact(16)
                .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
                .collect();
            let last = (LEVELS - 1) as f32;
            let right: Vec<f32> = lods
                .iter()
                .map(|lod| (lod.max(0.0) + first as f32).max(least).clamp(first as f32, last))
                .collect();
            let name = format!("from level {first}, at least {least}");
            outputs.push(Output::cpu(&name, &read, &right, Rule::Abs(1.0 / 128.0)));
        }
        Ok(outputs)
    })
    .without_lavapipe()
    .without_honeykrisp()
}

/// Views whose texels are the blocks of a compressed image: each level of a layer is a texture of its own, with a size of its own.
fn blocks() -> Case {
    const LEVELS: u32 = 4;
    const LAYERS: u32 = 2;
    let read =
        Shader::new("texture.comp").define("SAMPLER", "usampler2D").define("RESULT", "uvec4");
    let expr = "uvec4(textureLod(t, p.xy, 0.0).xy, textureSize(t, 0))";
    let about = "blocks of a compressed image as texels";
    Case::new("views/blocks", about, vec![read.define("EXPR", expr)], |bench| {
        let bc1 = vk::Format::BC1_RGBA_UNORM_BLOCK;
        let spec = ImageSpec::sampled(bc1, Shape::D2Array, [80, 56, 1]).through(Transfer::Gpu);
        let spec = ImageSpec { layers: LAYERS, ..spec.levels(LEVELS) };
        let size = |level: u32| {
            let [width, height, _] = spec.level_px(level);
            [width.div_ceil(4), height.div_ceil(4)]
        };
        // Each block has its number and its level.
        let level = |level: u32| {
            let [width, height] = size(level);
            let words = (0..LAYERS * width * height).flat_map(|k| [k, level]);
            words.flat_map(u32::to_le_bytes).collect::<Vec<u8>>()
        };
        let flags = vk::ImageCreateFlags::MUTABLE_FORMAT
            | vk::ImageCreateFlags::EXTENDED_USAGE
            | vk::ImageCreateFlags::BLOCK_TEXEL_VIEW_COMPATIBLE;
        let image = bench.gpu.image_with(spec, flags)?;
        bench.gpu.fill_image(&image, &(0..LEVELS).map(level).collect::<Vec<_>>())?;
        let repeat = vk::SamplerAddressMode::REPEAT;
        let sampler = bench.gpu.sampler(SamplerSpec::new(vk::Filter::NEAREST, repeat))?;
        let mut outputs = Vec::new();
        for (level, layer) in (0..LEVELS).flat_map(|level| (0..LAYERS).map(move |k| (level, k))) {
            let view = ViewSpec {
                shape: Shape::D2,
                format: vk::Format::R32G32_UINT,
                levels: [level, 1],
                layers: [layer, 1],
                ..ViewSpec::whole(&spec)
            };
            let view = bench.gpu.view(image.handle, &spec, view)?;
            let [width, height] = size(level);
            // Blocks in and around the level.
            let places = (0..64u32).map(|k| [k * 7 % (3 * width), k * 5 % (3 * height)]);
            let places: Vec<_> = places.collect();
            let centre = |at: u32, size: u32| (at as f32 + 0.5) / size as f32 - 1.0;
            let p =
                places.iter().flat_map(|&[x, y]| [centre(x, width), centre(y, height), 0.0, 0.0]);
            let p: Vec<f32> = p.collect();
            let number = |[x, y]: [u32; 2]| (layer * height + y % height) * width + x % width;
            let right = places.iter().flat_map(|&at| [number(at), level, width, height]);
            let (at, q) = (bench.gpu.buffer(&p)?, bench.gpu.buffer(&p)?);
            let r = bench.gpu.poisoned(p.len() * 4)?;
            let kernel = bench
                .gpu
                .kernel(&bench.spirv[0])
                .bind(Bind::Texture(view, sampler))
                .storage(&[&at, &q, &r])
                .build()?;
            bench.gpu.run(&kernel, [1, 1, 1])?;
            let name = format!("level {level}, layer {layer}");
            let right = right.collect::<Vec<u32>>();
            outputs.push(Output::cpu(&name, &r.read::<u32>(), &right, Rule::Bits));
        }
        Ok(outputs)
    })
}

/// Views of two dimensions that show a slice of a level, to a sampler and to loads and stores.
fn slices() -> Case {
    const LEVELS: u32 = 3;
    let read =
        Shader::new("texture.comp").define("SAMPLER", "usampler2D").define("RESULT", "uvec4");
    let expr = "uvec4(textureLod(t, p.xy, 0.0).xy, textureSize(t, 0))";
    let layout = "rg32ui,";
    let copy = Shader::new("image_copy.comp")
        .define("IMAGE", "uimage2D")
        .define("LAYOUT_A", layout)
        .define("LAYOUT_R", layout)
        .define("AT", "c.xy")
        .define("BELOW", "all(lessThan(c.xy, imageSize(a)))");
    let shaders = vec![read.define("EXPR", expr), copy];
    let about = "slices of an image of three dimensions as images of two";
    Case::new("views/slices", about, shaders, |bench| {
        let gpu = bench.gpu;
        gpu.require(ash::ext::image_2d_view_of_3d::NAME)?;
        let spec = ImageSpec::sampled(vk::Format::R32G32_UINT, Shape::D3, [20, 12, 6]);
        let usage = spec.usage | vk::ImageUsageFlags::STORAGE;
        let spec = ImageSpec { usage, ..spec.through(Transfer::Gpu).levels(LEVELS) };
        // Each texel has its number and its level.
        let level = |level: u32| {
            let [width, height, depth] = spec.level_px(level);
            let words = (0..width * height * depth).flat_map(|k| [k, level]);
            words.flat_map(u32::to_le_bytes).collect::<Vec<u8>>()
        };
        let all: Vec<_> = (0..LEVELS).map(level).collect();
        let flags = vk::ImageCreateFlags::TYPE_2D_VIEW_COMPATIBLE_EXT;
        let image = gpu.image_with(spec, flags)?;
        gpu.fill_image(&image, &all)?;
        let copied = gpu.image_with(spec, flags)?;
        let zeros: Vec<_> = all.iter().map(|level| vec![0; level.len()]).collect();
        gpu.fill_image(&copied, &zeros)?;
        let edge = vk::SamplerAddressMode::CLAMP_TO_EDGE;
        let sampler = gpu.sampler(SamplerSpec::new(vk::Filter::NEAREST, edge))?;
        let mut outputs = Vec::new();
        for level in 0..LEVELS {
            let [width, height, depth] = spec.level_px(level);
            for slice in 0..depth {
                let view = ViewSpec {
                    shape: Shape::D2,
                    levels: [level, 1],
                    layers: [slice, 1],
                    ..ViewSpec::whole(&spec)
                };
                let from = gpu.view(image.handle, &spec, view)?;
                let to = gpu.view(copied.handle, &spec, view)?;
                let places = (0..64u32).map(|k| [k * 7 % width, k * 5 % height]);
                let places: Vec<_> = places.collect();
                let centre = |at: u32, size: u32| (at as f32 + 0.5) / size as f32;
                let p = places.iter();
                let p = p.flat_map(|&[x, y]| [centre(x, width), centre(y, height), 0.0, 0.0]);
                let p: Vec<f32> = p.collect();
                let number = |[x, y]: [u32; 2]| (slice * height + y) * width + x;
                let right = places.iter().flat_map(|&at| [number(at), level, width, height]);
                let right = right.collect::<Vec<u32>>();
                let (at, q) = (gpu.buffer(&p)?, gpu.buffer(&p)?);
                let r = gpu.poisoned(p.len() * 4)?;
                let kernel = gpu.kernel(&bench.spirv[0]).bind(Bind::Texture(from, sampler));
                gpu.run(&kernel.storage(&[&at, &q, &r]).build()?, [1, 1, 1])?;
                let name = format!("level {level}, slice {slice}");
                outputs.push(Output::cpu(&name, &r.read::<u32>(), &right, Rule::Bits));
                let kernel = gpu.kernel(&bench.spirv[1]).bind(Bind::StorageImage(from));
                let kernel = kernel.bind(Bind::StorageImage(to)).build()?;
                gpu.run(&kernel, [width.div_ceil(8), height.div_ceil(8), 1])?;
            }
            let bytes = &all[level as usize];
            let got = gpu.read_image(&copied, level, bytes.len())?;
            outputs.push(Output::cpu(&format!("level {level} copied"), &got, bytes, Rule::Bits));
        }
        Ok(outputs)
    })
}

pub(super) fn cases() -> Vec<Case> {
    vec![min_lod(), blocks(), slices()]
}
