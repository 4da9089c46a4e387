//! Storage images and texel buffers: loads, stores and atomics in every format and shape.

use ash::vk;

use super::texture::levels_of;
use crate::case::{Case, Output, Rule, Shader};
use crate::gpu::{Bind, ImageSpec, SamplerSpec, Shape, Transfer, ViewSpec};
use crate::number::{Number, Random};
use crate::texel::{COLOUR, Class, Format, named};

/// Whether both drivers support storage images of a format.
fn storable(format: &Format) -> bool {
    format.glsl.is_some()
        || ["B8G8R8A8_UNORM", "A8B8G8R8_UNORM_PACK32", "A8B8G8R8_SINT_PACK32"]
            .contains(&format.name)
}

fn qualifier(format: &Format) -> String {
    format.glsl.map(|name| format!("{name},")).unwrap_or_default()
}

/// GLSL's image type without prefix, coordinates over `c`, and the test that `c` is inside.
fn image_glsl(shape: Shape, size: [u32; 3], layers: u32) -> (&'static str, &'static str, String) {
    let [width, height, depth] = size;
    let inside = |x: u32, y: u32, z: u32| format!("c.x < {x} && c.y < {y} && c.z < {z}");
    match shape {
        Shape::D1 => ("image1D", "c.x", inside(width, 1, 1)),
        Shape::D1Array => ("image1DArray", "c.xz", inside(width, 1, layers)),
        Shape::D2 => ("image2D", "c.xy", inside(width, height, 1)),
        Shape::D2Array => ("image2DArray", "c", inside(width, height, layers)),
        Shape::D3 => ("image3D", "c", inside(width, height, depth)),
        Shape::Cube => ("imageCube", "c", inside(width, height, layers)),
        Shape::CubeArray => ("imageCubeArray", "c", inside(width, height, layers)),
    }
}

/// Normalises bytes that a load and a store of a format cannot distinguish.
fn canonical(format: &Format, bytes: &mut [u8]) {
    match (format.class, format.bytes) {
        // The most negative code means -1, as the next one does.
        (Class::Snorm, _) if format.name.starts_with("R16") => {
            for texel in bytes.chunks_exact_mut(2) {
                if texel == [0, 0x80] {
                    texel[0] = 1;
                }
            }
        }
        (Class::Snorm, _) => bytes.iter_mut().filter(|b| **b == 0x80).for_each(|b| *b = 0x81),
        _ => {}
    }
}

/// Loads every texel of one image and stores it to another: the bytes must be identical.
fn copy(name: &str, format: Format, from: ImageSpec, to: ImageSpec) -> Case {
    let (glsl, at, below) = image_glsl(from.shape, from.size_px, from.layers);
    let shader = Shader::new("image_copy.comp")
        .define("IMAGE", format!("{}{glsl}", format.prefix()))
        .define("LAYOUT_A", qualifier(&format))
        .define("LAYOUT_R", qualifier(&format))
        .define("AT", at)
        .define("BELOW", below);
    let about = format!("{:?} {:?} of {}", from.shape, from.size_px, format.name);
    Case::new(name, about, vec![shader], move |bench| {
        let gpu = bench.gpu;
        gpu.check(
            format.glsl.is_some() || gpu.reads_without_format,
            "the driver does not load from images without a format",
        )?;
        let mut levels = levels_of(&format, &from, 111);
        levels.iter_mut().for_each(|level| canonical(&format, level));
        let (a, r) = (gpu.image_of(from, &levels)?, gpu.image(to)?);
        let kernel = gpu
            .kernel(&bench.spirv[0])
            .bind(Bind::StorageImage(a.view))
            .bind(Bind::StorageImage(r.view))
            .build()?;
        let [width, height, depth] = from.size_px;
        let z = depth.max(from.layers);
        gpu.run(&kernel, [width.div_ceil(8), height.div_ceil(8), z])?;
        let got = gpu.read_image(&r, 0, levels[0].len())?;
        Ok(vec![Output::cpu("texels", &got, &levels[0], Rule::Bits)])
    })
}

/// Mirrors an image, with one workgroup per texel.
fn mirrored() -> Case {
    const SIZE: [usize; 2] = [19, 11];
    let about = "workgroups of one invocation mirror an image";
    let shader = Shader::new("image_mirror.comp");
    Case::new("image/mirrored_by_single_invocations", about, vec![shader], move |bench| {
        let gpu = bench.gpu;
        let format = named("R32_UINT");
        let [width, height] = SIZE.map(|n| n as u32);
        let spec = ImageSpec::storage(format.vk, Shape::D2, [width, height, 1]);
        let levels = levels_of(&format, &spec, 120);
        let (a, r) = (gpu.image_of(spec, &levels)?, gpu.image(spec)?);
        let kernel = gpu
            .kernel(&bench.spirv[0])
            .bind(Bind::StorageImage(a.view))
            .bind(Bind::StorageImage(r.view))
            .build()?;
        gpu.run(&kernel, [width, height, 1])?;
        let got = gpu.read_image(&r, 0, levels[0].len())?;
        let rows = levels[0].chunks_exact(4 * SIZE[0]);
        let expected: Vec<u8> =
            rows.flat_map(|row| row.chunks_exact(4).rev().flatten().copied()).collect();
        Ok(vec![Output::cpu("texels", &got, &expected, Rule::Bits)])
    })
}

/// Loads and stores in every format.
fn formats() -> Vec<Case> {
    let mut cases = Vec::new();
    for format in COLOUR.iter().filter(|f| storable(f)) {
        let spec = ImageSpec::storage(format.vk, Shape::D2, [37, 21, 1]);
        cases.push(copy(&format!("image/format_{}", format.name), *format, spec, spec));
        let linear = spec.linear();
        cases.push(copy(&format!("image/linear_{}", format.name), *format, spec, linear));
    }
    cases
}

/// Loads and stores in every shape.
fn shapes() -> Vec<Case> {
    let mut cases = Vec::new();
    for (shape, size) in [
        (Shape::D1, [200, 1, 1]),
        (Shape::D1Array, [100, 1, 1]),
        (Shape::D2, [130, 70, 1]),
        (Shape::D2Array, [40, 30, 1]),
        (Shape::D3, [20, 18, 7]),
        (Shape::Cube, [20, 20, 1]),
        (Shape::CubeArray, [10, 10, 1]),
    ] {
        for name in ["R8_UINT", "R16G16_SFLOAT", "R32_UINT", "R32G32B32A32_SINT"] {
            let format = named(name);
            let spec = ImageSpec::storage(format.vk, shape, size);
            cases.push(copy(&format!("image/{shape:?}_{name}"), format, spec, spec));
            if name == "R32_UINT" {
                let copied = spec.through(Transfer::Gpu);
                let name = format!("image/{shape:?}_{name}_copied");
                cases.push(copy(&name, format, copied, copied));
            }
        }
    }
    cases
}

/// Values that a format must round and clamp, and integers that it must truncate or keep.
fn values() -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, step) in [
        ("R8G8B8A8_UNORM", 1.0 / 255.0),
        ("R8G8B8A8_SNORM", 1.0 / 127.0),
        ("R16G16B16A16_UNORM", 1.0 / 65535.0),
        ("R16G16B16A16_SNORM", 1.0 / 32767.0),
        ("A2B10G10R10_UNORM_PACK32", 1.0 / 3.0),
        ("R16G16B16A16_SFLOAT", 1.0 / 512.0),
        ("R32G32B32A32_SFLOAT", 0.0),
        // Six bits of mantissa for values to 2.
        ("B10G11R11_UFLOAT_PACK32", 1.0 / 32.0),
    ] {
        let format = named(name);
        let base = Shader::new("image_values.comp")
            .define("IMAGE", "image2D")
            .define("LAYOUT", qualifier(&format))
            .define("VALUE", "vec4");
        let shaders = vec![base.clone(), base.define("LOAD", 1)];
        let about = format!("floats of -2 to 2 through {name}");
        cases.push(Case::new(format!("image/values_{name}"), about, shaders, move |bench| {
            let gpu = bench.gpu;
            let (width, height) = (33u32, 16u32);
            let values = Random::floats(112, (width * height * 4) as usize, -2.0, 2.0);
            let spec = ImageSpec::storage(format.vk, Shape::D2, [width, height, 1]);
            let image = gpu.image(spec)?;
            let (input, result) = (gpu.buffer(&values)?, gpu.output::<f32>(values.len())?);
            for (spirv, buffer) in bench.spirv.iter().zip([&input, &result]) {
                let kernel = gpu
                    .kernel(spirv)
                    .bind(Bind::StorageImage(image.view))
                    .storage(&[buffer])
                    .push_bytes(8)
                    .build()?;
                gpu.submit(|c| {
                    c.push(&kernel, &[width, height]);
                    c.dispatch(&kernel, [(width * height).div_ceil(64), 1, 1]);
                })?;
            }
            let three = format.class == Class::Ufloat;
            let expected: Vec<f32> = values
                .iter()
                .enumerate()
                .map(|(i, &x)| match format.class {
                    Class::Unorm => x.clamp(0.0, 1.0),
                    Class::Snorm => x.clamp(-1.0, 1.0),
                    Class::Ufloat if i % 4 == 3 => 1.0,
                    Class::Ufloat => x.max(0.0),
                    _ => x,
                })
                .collect();
            // Half a step for rounding; packed floats may be truncated instead.
            let rule = Rule::Abs(if three { step } else { step * 0.51 });
            Ok(vec![
                Output::cpu("values", &result.read::<f32>(), &expected, rule).column("x", &values),
            ])
        }));
    }
    cases
}

fn sizes() -> Case {
    Case::new(
        "image/sizes",
        "imageSize of every shape",
        vec![Shader::new("image_size.comp")],
        |bench| {
            let gpu = bench.gpu;
            let mut images = Vec::new();
            for (shape, size) in [
                (Shape::D1, [77, 1, 1]),
                (Shape::D1Array, [66, 1, 1]),
                (Shape::D2, [55, 44, 1]),
                (Shape::D2Array, [33, 22, 1]),
                (Shape::D3, [11, 9, 5]),
                (Shape::Cube, [24, 24, 1]),
                (Shape::CubeArray, [12, 12, 1]),
            ] {
                images.push(gpu.image(ImageSpec::storage(vk::Format::R32_UINT, shape, size))?);
            }
            let result = gpu.output::<[i32; 4]>(7)?;
            let mut kernel = gpu.kernel(&bench.spirv[0]);
            for image in &images {
                kernel = kernel.bind(Bind::StorageImage(image.view));
            }
            let kernel = kernel.storage(&[&result]).build()?;
            gpu.run(&kernel, [1, 1, 1])?;
            let expected: [[i32; 4]; 7] = [
                [77, 0, 0, 0],
                [66, 3, 0, 0],
                [55, 44, 0, 0],
                [33, 22, 3, 0],
                [11, 9, 5, 0],
                [24, 24, 0, 0],
                [12, 12, 2, 0],
            ];
            Ok(vec![Output::cpu("sizes", &result.read::<[i32; 4]>(), &expected, Rule::Bits)])
        },
    )
}

/// Atomic operations on texels.
fn atomics() -> Vec<Case> {
    type Op = (&'static str, &'static str, fn(i64, i64) -> i64);
    // Commuting operations over 32-bit values, calculated in 64.
    let ops: [Op; 6] = [
        ("add", "imageAtomicAdd", |a, b| a + b),
        ("and", "imageAtomicAnd", |a, b| a & b),
        ("or", "imageAtomicOr", |a, b| a | b),
        ("xor", "imageAtomicXor", |a, b| a ^ b),
        ("min", "imageAtomicMin", i64::min),
        ("max", "imageAtomicMax", i64::max),
    ];
    let mut cases = Vec::new();
    let mut add = |shape: Shape, size: [u32; 3], at: &'static str, op: Op, signed: bool| {
        let (name, function, apply) = op;
        let (t, prefix, qualifier) =
            if signed { ("int", "i", "r32i") } else { ("uint", "u", "r32ui") };
        let (glsl, _, _) = image_glsl(shape, size, 1);
        let shader = Shader::new("image_atomic.comp")
            .define("T", t)
            .define("IMAGE", format!("{prefix}{glsl}"))
            .define("QUALIFIER", qualifier)
            .define("OP(c,x)", format!("{function}(image, c, x)"))
            .define("AT", at);
        let format = if signed { vk::Format::R32_SINT } else { vk::Format::R32_UINT };
        let name = format!("image/atomic_{name}_{t}_{shape:?}");
        cases.push(Case::new(name, function, vec![shader], move |bench| {
            const THREADS: usize = 1024;
            let gpu = bench.gpu;
            let spec = ImageSpec::storage(format, shape, size);
            let texels = (size.iter().product::<u32>() * spec.layers) as usize;
            let start = Random::integers(113, texels);
            let a = Random::integers(114, THREADS);
            let image = gpu.image_of(spec, &[u32::to_bytes(&start)])?;
            let (operands, old) = (gpu.buffer(&a)?, gpu.output::<u32>(THREADS)?);
            let kernel = gpu
                .kernel(&bench.spirv[0])
                .bind(Bind::StorageImage(image.view))
                .storage(&[&operands, &old])
                .push_bytes(4)
                .build()?;
            gpu.submit(|c| {
                c.push(&kernel, &[texels as u32]);
                c.dispatch(&kernel, [THREADS as u32 / 64, 1, 1]);
            })?;
            let wide = |x: u32| if signed { x as i32 as i64 } else { x as i64 };
            let mut expected = start;
            for (i, &x) in a.iter().enumerate() {
                let texel = &mut expected[i % texels];
                *texel = apply(wide(*texel), wide(x)) as u32;
            }
            let end = gpu.read_image(&image, 0, 4 * texels)?;
            Ok(vec![Output::cpu("texels", &u32::from_slice(&end), &expected, Rule::Bits)])
        }));
    };
    for op in ops {
        for signed in [false, true] {
            add(Shape::D2, [13, 9, 1], "ivec2(t % 13, t / 13)", op, signed);
        }
    }
    let plus = ops[0];
    add(Shape::D1, [50, 1, 1], "t", plus, false);
    add(Shape::D1Array, [20, 1, 1], "ivec2(t % 20, t / 20)", plus, false);
    add(Shape::D2Array, [9, 7, 1], "ivec3(t % 9, t / 9 % 7, t / 63)", plus, false);
    add(Shape::D3, [7, 5, 6], "ivec3(t % 7, t / 7 % 5, t / 35)", plus, false);
    add(Shape::Cube, [6, 6, 1], "ivec3(t % 6, t / 6 % 6, t / 36)", plus, false);
    add(Shape::D2, [200, 150, 1], "ivec2(t % 200, t / 200)", ops[3], true);
    cases.last_mut().unwrap().name += "_large";
    cases
}

fn bounds() -> Case {
    let case = Case::new(
        "image/bounds",
        "loads beyond the edges give 0, stores there do nothing",
        vec![Shader::new("image_bounds.comp")],
        |bench| {
            let gpu = bench.gpu;
            let texels = Random::integers(115, 256);
            let spec = ImageSpec {
                usage: vk::ImageUsageFlags::STORAGE | vk::ImageUsageFlags::SAMPLED,
                ..ImageSpec::storage(vk::Format::R32_UINT, Shape::D2, [16, 16, 1])
            };
            let image = gpu.image_of(spec, &[u32::to_bytes(&texels)])?;
            let sampler =
                gpu.sampler(SamplerSpec::new(vk::Filter::NEAREST, vk::SamplerAddressMode::REPEAT))?;
            let words = Random::integers(116, 256);
            let buffer = gpu.buffer(&words)?;
            let view = gpu.buffer_view(&buffer, vk::Format::R32_UINT, 0, 4 * 60)?;
            let result = gpu.output::<u32>(4 * 128)?;
            let kernel = gpu
                .kernel(&bench.spirv[0])
                .bind(Bind::StorageImage(image.view))
                .bind(Bind::Texture(image.view, sampler))
                .bind(Bind::UniformTexel(view))
                .bind(Bind::StorageTexel(view))
                .storage(&[&result])
                .build()?;
            gpu.run(&kernel, [2, 1, 1])?;
            let mut expected = Vec::new();
            for i in 0..128i32 {
                let shift = if i >= 64 { 16 } else { 0 };
                let x = i % 8 - 4 + shift;
                let y = i / 8 - 4 + shift - if i >= 64 { 8 } else { 0 };
                let inside = (0..16).contains(&x) && (0..16).contains(&y);
                let texel = if inside { texels[(y * 16 + x) as usize] } else { 0 };
                let word = if (0..60).contains(&(i - 8)) { words[(i - 8) as usize] } else { 0 };
                expected.extend([texel, texel, word, word]);
            }
            Ok(vec![
                Output::cpu("loads", &result.read::<u32>(), &expected, Rule::Bits),
                Output::cpu(
                    "image",
                    &u32::from_slice(&gpu.read_image(&image, 0, 1024)?),
                    &texels,
                    Rule::Bits,
                ),
                Output::cpu("buffer", &buffer.read::<u32>(), &words, Rule::Bits),
            ])
        },
    );
    case.robust()
}

/// Numbers of texels that are small in their lower bits.
fn outside() -> Case {
    let case = Case::new(
        "image/outside",
        "coordinates and levels that are inside in their lower bits; alpha of formats without it is 1",
        vec![Shader::new("image_outside.comp")],
        |bench| {
            let gpu = bench.gpu;
            gpu.feature(gpu.offers.robust_images, "robustImageAccess2")?;
            gpu.feature(gpu.reads_without_format, "shaderStorageImageReadWithoutFormat")?;
            let texels = Random::integers(117, 64);
            let spec = ImageSpec {
                usage: vk::ImageUsageFlags::STORAGE | vk::ImageUsageFlags::SAMPLED,
                ..ImageSpec::storage(vk::Format::R32_UINT, Shape::D2, [8, 8, 1])
            };
            let image = gpu.image_of(spec, &[u32::to_bytes(&texels)])?;
            let sampler =
                gpu.sampler(SamplerSpec::new(vk::Filter::NEAREST, vk::SamplerAddressMode::REPEAT))?;
            let words = Random::integers(118, 64);
            let view = gpu.buffer_view(&gpu.buffer(&words)?, vk::Format::R32_UINT, 0, 4 * 20)?;
            let numbers: Vec<i32> = (0..64)
                .map(|i| match i % 32 {
                    0..8 => i % 8,
                    8 => 20,
                    9 => -1,
                    k if i < 32 => 1 << k,
                    k => -1 << k,
                })
                .collect();
            let result = gpu.output::<[u32; 2]>(8 * 64)?;
            let kernel = gpu
                .kernel(&bench.spirv[0])
                .bind(Bind::StorageImage(image.view))
                .bind(Bind::Texture(image.view, sampler))
                .bind(Bind::UniformTexel(view))
                .bind(Bind::StorageTexel(view))
                .storage(&[&gpu.buffer(&numbers)?, &result])
                .build()?;
            gpu.run(&kernel, [1, 1, 1])?;
            let mut expected = Vec::new();
            for &n in &numbers {
                let at = |all: &[u32], n: i32, scale: i32, first: i32, end: i32| {
                    let inside = (0..end).contains(&n);
                    [if inside { all[(n * scale + first) as usize] } else { 0 }, 1]
                };
                let (row, column) = (at(&texels, n, 1, 3 * 8, 8), at(&texels, n, 8, 3, 8));
                let level = at(&texels, n, 1, 3 * 8 + 3, 1);
                let word = at(&words, n, 1, 0, 20);
                expected.extend([row, column, row, column, level, word, word, word]);
            }
            Ok(vec![Output::cpu("loads", &result.read::<[u32; 2]>(), &expected, Rule::Bits)])
        },
    );
    case.robust()
}

/// Texel buffers of every format: fetched values against the peer, stored bytes against the CPU.
fn texel_buffers() -> Vec<Case> {
    let mut cases = Vec::new();
    for format in COLOUR.iter().filter(|f| f.glsl.is_some()) {
        let value = format!("{}vec4", format.prefix());
        let shader = Shader::new("texel_buffer.comp")
            .define("TEXTURE", format!("{}textureBuffer", format.prefix()))
            .define("IMAGE", format!("{}imageBuffer", format.prefix()))
            .define("VALUE", value)
            .define("QUALIFIER", qualifier(format));
        let format = *format;
        let large = format.name == "R32_UINT";
        let about = if large { "70000 texels" } else { "300 texels behind an offset" };
        let name = format!("texel_buffer/{}", format.name);
        cases.push(Case::new(name, about, vec![shader], move |bench| {
            let gpu = bench.gpu;
            let count = if large { 70_000 } else { 300 };
            let (offset, bytes) = (64usize, count * format.bytes);
            let mut texels = format.texels(117, offset + bytes);
            canonical(&format, &mut texels);
            let from = gpu.buffer::<u8>(&texels)?;
            let to = gpu.poisoned(offset + bytes)?;
            let view = |buffer| gpu.buffer_view(buffer, format.vk, offset as u64, bytes as u64);
            let result = gpu.output::<[u32; 4]>(count)?;
            let kernel = gpu
                .kernel(&bench.spirv[0])
                .bind(Bind::UniformTexel(view(&from)?))
                .bind(Bind::StorageTexel(view(&from)?))
                .bind(Bind::StorageTexel(view(&to)?))
                .storage(&[&result])
                .build()?;
            gpu.run(&kernel, [count.div_ceil(64) as u32, 1, 1])?;
            let mut expected = vec![0xa5; offset];
            for texel in texels[offset..].chunks_exact(format.bytes).rev() {
                expected.extend(texel);
            }
            let raw: Vec<[u32; 4]> = result.read();
            let fetched = if format.is_integer() {
                Output::peer("fetched", &raw, Rule::Bits)
            } else {
                let floats: Vec<_> = raw.iter().map(|r| r.map(f32::from_bits)).collect();
                Output::peer("fetched", &floats, super::texture::fetch_rule(&format))
            };
            Ok(vec![fetched, Output::cpu("stored", &to.bytes(), &expected, Rule::Bits)])
        }));
    }
    cases
}

/// A texel buffer with the device's maximum number of texels, but at most 2²⁸, and one whose first texel is not aligned
/// and whose last one is in the second row of the image that drivers of the Apple GPU use for it.
fn texel_buffer_ends() -> Vec<Case> {
    let largest = Shader::new("texel_buffer_end.comp");
    let about = "the largest texel buffer";
    let largest = Case::new("texel_buffer/largest", about, vec![largest], |bench| {
        const PARTS: usize = 64;
        let gpu = bench.gpu;
        let count = gpu.max_texels().min(1 << 28) as usize / PARTS * PARTS;
        let buffer = gpu.empty(count)?;
        let at = |k: usize| count / PARTS * (k + 1) - 1;
        let value = |k: usize| (k * 37 + 1) as u8;
        (0..PARTS).for_each(|k| buffer.write_at(at(k), &[value(k)]));
        let view = gpu.buffer_view(&buffer, vk::Format::R8_UINT, 0, count as u64)?;
        let result = gpu.output::<[u32; 4]>(PARTS)?;
        let kernel = gpu
            .kernel(&bench.spirv[0])
            .bind(Bind::UniformTexel(view))
            .bind(Bind::StorageTexel(view))
            .storage(&[&result])
            .build()?;
        gpu.run(&kernel, [1, 1, 1])?;
        let size = count as u32;
        let read = |k| [u32::from(value(k)), value(k).into(), size, size];
        let expected: Vec<[u32; 4]> = (0..PARTS).map(read).collect();
        let written: Vec<u8> = (0..PARTS).map(|k| buffer.byte(at(k) - 1)).collect();
        let wanted: Vec<u8> = (0..PARTS).map(|k| 255 - k as u8).collect();
        Ok(vec![
            Output::cpu("fetched", &result.read(), &expected, Rule::Bits),
            Output::cpu("stored", &written, &wanted, Rule::Bits),
        ])
    });
    let shader = Shader::new("texel_buffer.comp")
        .define("TEXTURE", "utextureBuffer")
        .define("IMAGE", "uimageBuffer")
        .define("VALUE", "uvec4")
        .define("QUALIFIER", "r32ui,");
    let about = "16384 texels behind one";
    let unaligned = Case::new("texel_buffer/unaligned", about, vec![shader], |bench| {
        const TEXELS: usize = 16384;
        let gpu = bench.gpu;
        let words: Vec<u32> = (0..=TEXELS as u32).map(|k| k.wrapping_mul(0x9e37_79b9)).collect();
        let from = gpu.buffer::<u32>(&words)?;
        let to = gpu.output::<u32>(TEXELS + 1)?;
        let view = |buffer| gpu.buffer_view(buffer, vk::Format::R32_UINT, 4, 4 * TEXELS as u64);
        let result = gpu.output::<[u32; 4]>(TEXELS)?;
        let kernel = gpu
            .kernel(&bench.spirv[0])
            .bind(Bind::UniformTexel(view(&from)?))
            .bind(Bind::StorageTexel(view(&from)?))
            .bind(Bind::StorageTexel(view(&to)?))
            .storage(&[&result])
            .build()?;
        gpu.run(&kernel, [TEXELS as u32 / 64, 1, 1])?;
        let fetched: Vec<[u32; 4]> = words[1..].iter().map(|&w| [w, 0, 0, 1]).collect();
        let stored: Vec<u32> = words[1..].iter().rev().copied().collect();
        Ok(vec![
            Output::cpu("fetched", &result.read(), &fetched, Rule::Bits),
            Output::cpu("stored", &to.read::<u32>()[1..], &stored, Rule::Bits),
        ])
    });
    let about = "a hundred texel buffers, more than have their descriptors in registers";
    let many = Shader::new("texel_buffers.comp");
    let many = Case::new("texel_buffer/many", about, vec![many], |bench| {
        const TEXELS: usize = 64;
        let gpu = bench.gpu;
        let words =
            |number: u32| (0..TEXELS as u32).map(move |k| k.wrapping_mul(7 + number) ^ number);
        let result = gpu.output::<u32>(TEXELS)?;
        let mut kernel = gpu.kernel(&bench.spirv[0]);
        let mut buffers = Vec::new();
        for number in 0..100 {
            let buffer = gpu.buffer::<u32>(&words(number).collect::<Vec<_>>())?;
            let view = gpu.buffer_view(&buffer, vk::Format::R32_UINT, 0, 4 * TEXELS as u64)?;
            kernel = kernel.bind(Bind::UniformTexel(view));
            buffers.push(buffer);
        }
        let kernel = kernel.storage(&[&result]).build()?;
        gpu.run(&kernel, [1, 1, 1])?;
        let mut sums = vec![0u32; TEXELS];
        for number in 0..100 {
            for (sum, word) in sums.iter_mut().zip(words(number)) {
                *sum = sum.wrapping_mul(3).wrapping_add(word);
            }
        }
        Ok(vec![Output::cpu("sums", &result.read(), &sums, Rule::Bits)])
    });
    vec![largest, unaligned, many]
}

/// Uniform texel buffers whose texels are three words, against the CPU.
fn texel_buffers_of_three_words() -> Vec<Case> {
    let kinds = [
        ("uint", "u", vk::Format::R32G32B32_UINT),
        ("sint", "i", vk::Format::R32G32B32_SINT),
        ("sfloat", "", vk::Format::R32G32B32_SFLOAT),
    ];
    let case = |(name, prefix, format): (&str, &str, vk::Format)| {
        let shader = Shader::new("texel_buffer_words.comp")
            .define("TEXTURE", format!("{prefix}textureBuffer"))
            .define("VALUE", format!("{prefix}vec4"));
        let float = prefix.is_empty();
        let name = format!("texel_words/{name}");
        let case =
            Case::new(name, "100 texels, and four behind the end", vec![shader], move |bench| {
                let gpu = bench.gpu;
                const TEXELS: usize = 100;
                // The first words precede the view; floats are whole numbers.
                let words: Vec<u32> = (0..16 + 3 * TEXELS as u32 + 12)
                    .map(|k| {
                        if float {
                            (k as f32 - 99.0).to_bits()
                        } else {
                            k.wrapping_mul(0x9e37_79b9)
                        }
                    })
                    .collect();
                let from = gpu.buffer::<u32>(&words)?;
                let view = gpu.buffer_view(&from, format, 64, 12 * TEXELS as u64)?;
                let result = gpu.output::<[u32; 4]>(TEXELS + 4)?;
                let kernel = gpu
                    .kernel(&bench.spirv[0])
                    .bind(Bind::UniformTexel(view))
                    .storage(&[&result])
                    .build()?;
                gpu.run(&kernel, [2, 1, 1])?;
                let number = |n: u32| if float { (n as f32).to_bits() } else { n };
                let texels = words[16..16 + 3 * TEXELS].chunks_exact(3);
                let mut expected: Vec<[u32; 4]> =
                    texels.map(|t| [t[0], t[1], t[2], number(1)]).collect();
                expected.extend([[0, 0, 0, number(TEXELS as u32)]; 4]);
                Ok(vec![Output::cpu("fetched", &result.read(), &expected, Rule::Bits)])
            });
        case.robust()
    };
    kinds.into_iter().map(case).collect()
}

/// Views of storage images: one level, one layer, another format of the same size.
fn views() -> Vec<Case> {
    let format = named("R32_UINT");
    let shader = || {
        vec![
            Shader::new("image_copy.comp")
                .define("IMAGE", "uimage2D")
                .define("LAYOUT_A", "r32ui,")
                .define("LAYOUT_R", "r32ui,")
                .define("AT", "c.xy")
                .define("BELOW", "c.x < 16 && c.y < 12"),
        ]
    };
    let part = Case::new(
        "image/view_level_and_layer",
        "copies layer 2, level 1 of one image to layer 1, level 2 of another",
        shader(),
        move |bench| {
            let gpu = bench.gpu;
            let from = ImageSpec::storage(format.vk, Shape::D2Array, [32, 24, 1]).levels(3);
            let to = ImageSpec::storage(format.vk, Shape::D2Array, [64, 48, 1]).levels(3);
            let texels = levels_of(&format, &from, 118);
            let before = levels_of(&format, &to, 119);
            let (a, r) = (gpu.image_of(from, &texels)?, gpu.image_of(to, &before)?);
            let view = |image: &crate::gpu::Image, level, layer| {
                let spec = ViewSpec {
                    shape: Shape::D2,
                    levels: [level, 1],
                    layers: [layer, 1],
                    ..ViewSpec::whole(&image.spec)
                };
                gpu.view(image.handle, &image.spec, spec)
            };
            let kernel = gpu
                .kernel(&bench.spirv[0])
                .bind(Bind::StorageImage(view(&a, 1, 2)?))
                .bind(Bind::StorageImage(view(&r, 2, 1)?))
                .build()?;
            gpu.run(&kernel, [2, 2, 1])?;
            let layer = 16 * 12 * 4;
            let mut expected = before[2].clone();
            expected[layer..2 * layer].copy_from_slice(&texels[1][2 * layer..3 * layer]);
            let got = gpu.read_image(&r, 2, expected.len())?;
            let other = gpu.read_image(&r, 1, before[1].len())?;
            Ok(vec![
                Output::cpu("level 2", &got, &expected, Rule::Bits),
                Output::cpu("level 1", &other, &before[1], Rule::Bits),
            ])
        },
    );
    let cast = Case::new(
        "image/view_other_format",
        "an RGBA8 image through views of 32-bit integers",
        shader(),
        move |bench| {
            let gpu = bench.gpu;
            let rgba = named("R8G8B8A8_UNORM");
            let spec = ImageSpec::storage(rgba.vk, Shape::D2, [16, 12, 1]);
            let texels = levels_of(&rgba, &spec, 120);
            let mut views = Vec::new();
            let mut images = Vec::new();
            for _ in 0..2 {
                let image = gpu.image_with(spec, vk::ImageCreateFlags::MUTABLE_FORMAT)?;
                let as_words = ViewSpec { format: format.vk, ..ViewSpec::whole(&spec) };
                views.push(gpu.view(image.handle, &spec, as_words)?);
                images.push(image);
            }
            gpu.fill_image(&images[0], &texels)?;
            let kernel = gpu
                .kernel(&bench.spirv[0])
                .bind(Bind::StorageImage(views[0]))
                .bind(Bind::StorageImage(views[1]))
                .build()?;
            gpu.run(&kernel, [2, 2, 1])?;
            let got = gpu.read_image(&images[1], 0, texels[0].len())?;
            Ok(vec![Output::cpu("texels", &got, &texels[0], Rule::Bits)])
        },
    );
    vec![part, cast]
}

/// Stores to each sample of a multisampled image.
fn samples() -> Vec<Case> {
    let mut cases = Vec::new();
    let formats = ["R8_UINT", "R8G8B8A8_UINT", "R16G16B16A16_UINT", "R32G32B32A32_UINT"];
    for (name, count) in formats.into_iter().flat_map(|name| [(name, 2), (name, 4)]) {
        let format = named(name);
        let flags = vk::SampleCountFlags::from_raw(count);
        let load = Shader::new("samples.comp").define("SAMPLES", count);
        let store = load.clone().define("STORE", 1).define("FORMAT", format.glsl.unwrap_or("r8ui"));
        let about = "each sample of a multisampled storage image";
        let name = format!("image/samples_{name}_{count}");
        let case = Case::new(name, about, vec![store, load], move |bench| {
            let gpu = bench.gpu;
            let (width, height) = (75u32, 41u32);
            let spec = ImageSpec {
                usage: vk::ImageUsageFlags::STORAGE | vk::ImageUsageFlags::SAMPLED,
                ..ImageSpec::storage(format.vk, Shape::D2, [width, height, 1])
            };
            let image = gpu.image(spec.through(Transfer::Gpu).samples(flags))?;
            let length = (width * height * count) as usize;
            let values: Vec<u32> = Random::integers(117, length).iter().map(|&v| v % 36).collect();
            let (input, result) = (gpu.buffer(&values)?, gpu.output::<u32>(length)?);
            let sampler = SamplerSpec::new(vk::Filter::NEAREST, vk::SamplerAddressMode::REPEAT);
            let sampler = gpu.sampler(sampler)?;
            let binds = [Bind::StorageImage(image.view), Bind::Texture(image.view, sampler)];
            for ((spirv, buffer), bind) in bench.spirv.iter().zip([&input, &result]).zip(binds) {
                let kernel =
                    gpu.kernel(spirv).storage(&[buffer]).bind(bind).push_bytes(8).build()?;
                gpu.submit(|c| {
                    c.push(&kernel, &[width, height]);
                    c.dispatch(&kernel, [width.div_ceil(8), height.div_ceil(8), 1]);
                })?;
            }
            let four = format.bytes > 1;
            let expected: Vec<u32> = values
                .iter()
                .map(|&v| match four {
                    true => v + ((v * 3) << 8) + ((v * 5) << 16) + ((v * 7) << 24),
                    // Alpha is one.
                    false => v + (1 << 24),
                })
                .collect();
            Ok(vec![Output::cpu("texels", &result.read::<u32>(), &expected, Rule::Bits)])
        });
        // Lavapipe supports four samples only.
        cases.push(if count == 4 { case } else { case.without_lavapipe() });
    }
    cases
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = vec![sizes(), bounds(), outside()];
    cases.extend(samples());
    cases.extend(formats());
    cases.push(mirrored());
    cases.extend(shapes());
    cases.extend(values());
    cases.extend(views());
    cases.extend(atomics());
    cases.extend(texel_buffers());
    cases.extend(texel_buffer_ends());
    cases.extend(texel_buffers_of_three_words());
    cases
}
