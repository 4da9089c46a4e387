//! Copies between buffers and images on the GPU, which Honeykrisp runs as compute kernels.
//!
//! Images that only the GPU fills may be compressed in memory; the round trip must not show it.

use ash::vk;

use super::texture::levels_of;
use crate::case::{Case, Output, Rule};
use crate::gpu::{Gpu, Image, ImageSpec, Result, Shape, Transfer};
use crate::texel::{BC, COLOUR, DEPTH, Format, named};

fn bytes(name: &str, got: &[u8], expected: &[u8]) -> Output {
    Output::cpu(name, got, expected, Rule::Bits)
}

/// Unused bits and bits of depth that a copy may not keep are masked out.
pub(super) fn round_trip(name: String, format: Format, spec: ImageSpec) -> Case {
    let about = format!("buffer to {:?} {:?} and back", spec.shape, spec.size_px);
    Case::new(name, about, vec![], move |bench| {
        let mut texels = levels_of(&format, &spec, 121);
        if format.name == "E5B9G9R9_UFLOAT_PACK32" {
            // A value has several encodings, and the driver copies by value: use the encoding that all
            // encoders choose, in which the largest component fills its nine bits.
            for word in texels.iter_mut().flat_map(|level| level.chunks_exact_mut(4)) {
                word[1] |= 1;
            }
        }
        let image = bench.gpu.image_of(spec, &texels)?;
        let mut outputs = Vec::new();
        for (level, texels) in texels.iter().enumerate() {
            let got = bench.gpu.read_image(&image, level as u32, texels.len())?;
            outputs.push(bytes(&format!("level {level}"), &got, texels));
        }
        Ok(outputs)
    })
}

fn round_trips() -> Vec<Case> {
    let mut cases = Vec::new();
    for format in COLOUR.iter().chain(BC).chain(DEPTH) {
        let spec = ImageSpec::sampled(format.vk, Shape::D2, [77, 53, 1]).through(Transfer::Gpu);
        cases.push(round_trip(format!("copy/format_{}", format.name), *format, spec));
    }
    for (shape, size) in [
        (Shape::D1, [300, 1, 1]),
        (Shape::D1Array, [90, 1, 1]),
        (Shape::D2, [100, 70, 1]),
        (Shape::D2Array, [50, 41, 1]),
        (Shape::D3, [33, 20, 9]),
        (Shape::Cube, [32, 32, 1]),
        (Shape::CubeArray, [20, 20, 1]),
    ] {
        for name in ["R8_UNORM", "R8G8B8A8_UNORM", "R32G32B32A32_SFLOAT"] {
            let format = named(name);
            let spec = ImageSpec::sampled(format.vk, shape, size).through(Transfer::Gpu);
            let spec = if shape == Shape::D1 { spec } else { spec.mipmapped() };
            cases.push(round_trip(format!("copy/{shape:?}_{name}"), format, spec));
            if shape == Shape::D2 {
                let spec = spec.levels(1).linear();
                cases.push(round_trip(format!("copy/{shape:?}_{name}_linear"), format, spec));
            }
        }
    }
    cases
}

/// Clears of images whose formats have their channels in another order than the hardware's: red and alpha are full.
fn clears() -> impl Iterator<Item = Case> {
    let formats = [
        ("R5G6B5_UNORM_PACK16", 0xf800u16),
        ("B5G6R5_UNORM_PACK16", 0x001f),
        ("B4G4R4A4_UNORM_PACK16", 0x00ff),
        ("A1R5G5B5_UNORM_PACK16", 0xfc00),
    ];
    formats.into_iter().map(|(name, texel)| {
        let about = "a clear of red, in the order of the format's channels";
        Case::new(format!("copy/cleared_{name}"), about, vec![], move |bench| {
            let mut spec = ImageSpec::sampled(named(name).vk, Shape::D2, [21, 13, 1]);
            spec.usage |= vk::ImageUsageFlags::TRANSFER_DST;
            let image = bench.gpu.image(spec.through(Transfer::Gpu))?;
            bench.gpu.submit(|c| {
                c.barrier();
                let red = vk::ClearColorValue { float32: [1.0, 0.0, 0.0, 1.0] };
                let range = vk::ImageSubresourceRange {
                    aspect_mask: vk::ImageAspectFlags::COLOR,
                    base_mip_level: 0,
                    level_count: 1,
                    base_array_layer: 0,
                    layer_count: 1,
                };
                let layout = vk::ImageLayout::GENERAL;
                // SAFETY: the image is live and in the general layout.
                unsafe {
                    let device = &c.gpu.device;
                    device.cmd_clear_color_image(c.handle, image.handle, layout, &red, &[range]);
                }
                c.barrier();
            })?;
            let expected = texel.to_le_bytes().repeat(21 * 13);
            let got = bench.gpu.read_image(&image, 0, expected.len())?;
            Ok(vec![bytes("texels", &got, &expected)])
        })
    })
}

/// Texels that the GPU writes are read by the host and vice versa: the layouts agree.
fn against_host() -> Vec<Case> {
    let mut cases = Vec::new();
    for name in
        ["R8_UINT", "R5G6B5_UNORM_PACK16", "R32_UINT", "R16G16B16A16_UINT", "BC1_RGBA_UNORM_BLOCK"]
    {
        let format = named(name);
        for (shape, size) in [(Shape::D2Array, [70, 53, 1]), (Shape::D3, [40, 22, 10])] {
            if shape == Shape::D3 && name.starts_with("BC") {
                continue;
            }
            let spec = ImageSpec {
                usage: vk::ImageUsageFlags::SAMPLED
                    | vk::ImageUsageFlags::TRANSFER_SRC
                    | vk::ImageUsageFlags::TRANSFER_DST,
                ..ImageSpec::sampled(format.vk, shape, size)
            }
            .levels(4);
            let case = format!("copy/host_{shape:?}_{name}");
            cases.push(Case::new(case, "GPU copies against the host's", vec![], move |bench| {
                let gpu = bench.gpu;
                let texels = levels_of(&format, &spec, 122);
                let image = gpu.image(spec)?;
                // The image as if only the GPU had access.
                let through_gpu = Image {
                    spec: spec.through(Transfer::Gpu),
                    handle: image.handle,
                    view: image.view,
                };
                let mut outputs = Vec::new();
                gpu.fill_image(&through_gpu, &texels)?;
                for (level, texels) in texels.iter().enumerate() {
                    let got = gpu.read_image(&image, level as u32, texels.len())?;
                    outputs.push(bytes(&format!("GPU to host, level {level}"), &got, texels));
                }
                let texels = levels_of(&format, &spec, 123);
                gpu.fill_image(&image, &texels)?;
                for (level, texels) in texels.iter().enumerate() {
                    let got = gpu.read_image(&through_gpu, level as u32, texels.len())?;
                    outputs.push(bytes(&format!("host to GPU, level {level}"), &got, texels));
                }
                Ok(outputs)
            }));
        }
    }
    cases
}

/// A rectangle of blocks inside a larger array of rows.
#[derive(Clone, Copy)]
struct Window {
    /// Blocks in a row of the array, and rows in a slice.
    pitch: [usize; 2],
    /// First block.
    at: [usize; 3],
}

/// Copies `size` blocks from one window to another, as the GPU must.
fn copy_window(
    from: &[u8],
    source: Window,
    to: &mut [u8],
    target: Window,
    size: [usize; 3],
    block_bytes: usize,
) {
    let index = |w: Window, x: usize, y: usize, z: usize| {
        ((z + w.at[2]) * w.pitch[1] + y + w.at[1]) * w.pitch[0] + x + w.at[0]
    };
    for z in 0..size[2] {
        for y in 0..size[1] {
            let (s, t) = (index(source, 0, y, z), index(target, 0, y, z));
            let bytes = size[0] * block_bytes;
            to[t * block_bytes..][..bytes].copy_from_slice(&from[s * block_bytes..][..bytes]);
        }
    }
}

fn layers(spec: &ImageSpec, level: u32, base: u32, count: u32) -> vk::ImageSubresourceLayers {
    let depth = [vk::Format::D16_UNORM, vk::Format::D32_SFLOAT].contains(&spec.format);
    vk::ImageSubresourceLayers {
        aspect_mask: if depth { vk::ImageAspectFlags::DEPTH } else { vk::ImageAspectFlags::COLOR },
        mip_level: level,
        base_array_layer: base,
        layer_count: count,
    }
}

fn offset(at: [i32; 3]) -> vk::Offset3D {
    vk::Offset3D { x: at[0], y: at[1], z: at[2] }
}

fn extent(size: [u32; 3]) -> vk::Extent3D {
    vk::Extent3D { width: size[0], height: size[1], depth: size[2] }
}

/// A part of an image from a buffer with padded rows, and another part back.
pub(super) fn buffer_region(name: String, format: Format, spec: ImageSpec) -> Case {
    Case::new(name, "parts, with padded rows in the buffer", vec![], move |bench| {
        let gpu = bench.gpu;
        let (shape, size) = (spec.shape, spec.size_px);
        let [bw, bh] = format.block_px;
        let before = levels_of(&format, &spec, 124);
        let image = gpu.image_of(spec, &before)?;
        let blocks = [size[0].div_ceil(bw) as usize, size[1].div_ceil(bh) as usize];
        let slices = size[2].max(spec.layers);
        // In blocks: a window at (3, 2) of 5 x 4, in rows of 9 and slices of 6 in the buffer.
        let z = slices.min(2);
        let source = format.texels(125, 9 * 6 * 3 * format.bytes + 32);
        let staging = gpu.buffer::<u8>(&source)?;
        let in_depth = shape == Shape::D3;
        let region = vk::BufferImageCopy {
            buffer_offset: 16,
            buffer_row_length: 9 * bw,
            buffer_image_height: 6 * bh,
            image_subresource: if in_depth {
                layers(&spec, 0, 0, 1)
            } else {
                layers(&spec, 0, slices - z, z)
            },
            image_offset: offset([
                3 * bw as i32,
                2 * bh as i32,
                if in_depth { (slices - z) as i32 } else { 0 },
            ]),
            image_extent: extent([5 * bw, 4 * bh, if in_depth { z } else { 1 }]),
        };
        gpu.submit(|c| {
            // SAFETY: buffer and image are live, and the region is inside both.
            unsafe {
                gpu.device.cmd_copy_buffer_to_image(
                    c.handle,
                    staging.handle,
                    image.handle,
                    vk::ImageLayout::GENERAL,
                    &[region],
                );
            }
            c.barrier();
        })?;
        let mut expected = before[0].clone();
        let in_image = Window { pitch: blocks, at: [3, 2, (slices - z) as usize] };
        let in_buffer = Window { pitch: [9, 6], at: [0; 3] };
        let count = [5, 4, z as usize];
        copy_window(&source[16..], in_buffer, &mut expected, in_image, count, format.bytes);
        let got = gpu.read_image(&image, 0, expected.len())?;
        // And back, from the same region.
        let back = gpu.poisoned(source.len())?;
        gpu.submit(|c| {
            // SAFETY: as above.
            unsafe {
                gpu.device.cmd_copy_image_to_buffer(
                    c.handle,
                    image.handle,
                    vk::ImageLayout::GENERAL,
                    back.handle,
                    &[region],
                );
            }
        })?;
        let mut returned = vec![0xa5u8; source.len()];
        copy_window(&source[16..], in_buffer, &mut returned[16..], in_buffer, count, format.bytes);
        Ok(vec![bytes("image", &got, &expected), bytes("buffer", &back.bytes(), &returned)])
    })
}

/// One `vkCmdCopyImage`.
pub(super) struct ImageCopy {
    pub name: String,
    pub from: (&'static str, Shape, [u32; 3]),
    pub to: (&'static str, Shape, [u32; 3]),
    /// Usage of each image, beyond copies.
    pub usage: [vk::ImageUsageFlags; 2],
    /// In blocks of each image; the third is a layer or a slice.
    pub source: [u32; 3],
    pub target: [u32; 3],
    pub size: [u32; 3],
}

pub(super) fn image_copy(row: ImageCopy) -> Case {
    let about = format!("{:?} to {:?}", row.from, row.to);
    Case::new(row.name.clone(), about, vec![], move |bench| {
        let gpu: &Gpu = bench.gpu;
        type Kind = (&'static str, Shape, [u32; 3]);
        let open = |(name, shape, size): Kind, usage: vk::ImageUsageFlags, seed| -> Result<_> {
            let format = named(name);
            let mut spec = ImageSpec::sampled(format.vk, shape, size).through(Transfer::Gpu);
            spec.usage |= usage;
            let texels = levels_of(&format, &spec, seed);
            let image = gpu.image_of(spec, &texels)?;
            Ok((format, spec, texels, image))
        };
        let (from, from_spec, from_texels, a) = open(row.from, row.usage[0], 126)?;
        let (to, to_spec, to_texels, b) = open(row.to, row.usage[1], 127)?;
        let place = |format: &Format, spec: &ImageSpec, at: [u32; 3]| {
            let [bw, bh] = format.block_px;
            let in_depth = spec.shape == Shape::D3;
            let (z, base) = if in_depth { (at[2], 0) } else { (0, at[2]) };
            let count = if in_depth { 1 } else { row.size[2] };
            let offset = offset([(at[0] * bw) as i32, (at[1] * bh) as i32, z as i32]);
            (layers(spec, 0, base, count), offset)
        };
        let (src_subresource, src_offset) = place(&from, &from_spec, row.source);
        let (dst_subresource, dst_offset) = place(&to, &to_spec, row.target);
        let slices = [from_spec.shape, to_spec.shape].contains(&Shape::D3);
        let region = vk::ImageCopy {
            src_subresource,
            src_offset,
            dst_subresource,
            dst_offset,
            extent: extent([
                row.size[0] * from.block_px[0],
                row.size[1] * from.block_px[1],
                if slices { row.size[2] } else { 1 },
            ]),
        };
        gpu.submit(|c| {
            let layout = vk::ImageLayout::GENERAL;
            // SAFETY: the images are live, and the region is inside both.
            unsafe {
                gpu.device.cmd_copy_image(c.handle, a.handle, layout, b.handle, layout, &[region]);
            }
            c.barrier();
        })?;
        let window = |format: &Format, spec: &ImageSpec, at: [u32; 3]| Window {
            pitch: [
                spec.size_px[0].div_ceil(format.block_px[0]) as usize,
                spec.size_px[1].div_ceil(format.block_px[1]) as usize,
            ],
            at: at.map(|x| x as usize),
        };
        let mut expected = to_texels[0].clone();
        copy_window(
            &from_texels[0],
            window(&from, &from_spec, row.source),
            &mut expected,
            window(&to, &to_spec, row.target),
            row.size.map(|x| x as usize),
            from.bytes,
        );
        let got = gpu.read_image(&b, 0, expected.len())?;
        Ok(vec![bytes("texels", &got, &expected)])
    })
}

fn image_copies() -> Vec<Case> {
    use Shape::{D2, D2Array, D3};
    let square = [64, 48, 1];
    let row = |name, from, to, source, target, size| {
        let name = format!("copy/image_{name}");
        let usage = [vk::ImageUsageFlags::empty(); 2];
        image_copy(ImageCopy { name, from, to, usage, source, target, size })
    };
    let rgba = ("R8G8B8A8_UNORM", D2, square);
    let array = ("R8G8B8A8_UNORM", D2Array, square);
    let volume = ("R8G8B8A8_UNORM", D3, [64, 48, 8]);
    vec![
        row("whole", rgba, rgba, [0; 3], [0; 3], [64, 48, 1]),
        row("part", rgba, rgba, [5, 7, 0], [33, 1, 0], [21, 19, 1]),
        row("layers", array, array, [3, 0, 0], [0, 9, 1], [40, 30, 2]),
        row("slices", volume, volume, [1, 2, 3], [4, 5, 1], [30, 20, 4]),
        row("layers_to_slices", array, volume, [3, 2, 0], [9, 9, 4], [16, 16, 3]),
        row("slices_to_layers", volume, array, [3, 2, 2], [9, 9, 0], [16, 16, 3]),
        row(
            "bytes_to_words",
            rgba,
            ("R32_UINT", D2, [50, 50, 1]),
            [1, 2, 0],
            [3, 4, 0],
            [33, 22, 1],
        ),
        row(
            "small",
            ("R8_UINT", D2, [100, 100, 1]),
            ("R8_UINT", D2, [30, 30, 1]),
            [71, 13, 0],
            [2, 3, 0],
            [17, 11, 1],
        ),
        row(
            "large",
            ("R32G32B32A32_SFLOAT", D2, square),
            ("R32G32B32A32_UINT", D2, square),
            [8, 8, 0],
            [0, 0, 0],
            [40, 40, 1],
        ),
        row(
            "blocks",
            ("BC3_UNORM_BLOCK", D2, square),
            ("BC3_UNORM_BLOCK", D2, [128, 64, 1]),
            [2, 1, 0],
            [5, 6, 0],
            [9, 8, 1],
        ),
        row(
            "blocks_to_words",
            ("BC1_RGBA_UNORM_BLOCK", D2, square),
            ("R32G32_UINT", D2, [20, 20, 1]),
            [2, 1, 0],
            [5, 6, 0],
            [9, 8, 1],
        ),
        row(
            "words_to_blocks",
            ("R32G32B32A32_UINT", D2, [20, 20, 1]),
            ("BC7_UNORM_BLOCK", D2, square),
            [2, 1, 0],
            [3, 2, 0],
            [9, 8, 1],
        ),
        row(
            "depth",
            ("D32_SFLOAT", D2, square),
            ("D32_SFLOAT", D2, square),
            [0; 3],
            [0; 3],
            [64, 48, 1],
        ),
    ]
}

/// Depth of 24 bits of a compressed image, which drivers may copy as floats; the other 8 bits are undefined.
fn depth24() -> Case {
    const SIZE_PX: [u32; 3] = [256, 64, 1];
    Case::new("copy/depth24", "depth of 24 bits keeps all of them", vec![], |bench| {
        let usage = vk::ImageUsageFlags::DEPTH_STENCIL_ATTACHMENT | vk::ImageUsageFlags::SAMPLED;
        let format = vk::Format::X8_D24_UNORM_PACK32;
        let spec = ImageSpec { usage, ..ImageSpec::sampled(format, Shape::D2, SIZE_PX) };
        let count = SIZE_PX[0] * SIZE_PX[1];
        // Over the whole range, with all of the low bits.
        let texels: Vec<u32> = (0..count).map(|k| k * 0x3ff + (k & 1)).collect();
        let words = texels.iter().flat_map(|t| t.to_le_bytes()).collect::<Vec<u8>>();
        let image = bench.gpu.image_of(spec.through(Transfer::Gpu), &[words])?;
        let read = bench.gpu.read_image(&image, 0, 4 * count as usize)?;
        let depth = read.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], 0]));
        Ok(vec![Output::cpu("depth", &depth.collect::<Vec<_>>(), &texels, Rule::Bits)])
    })
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = round_trips();
    cases.push(depth24());
    cases.extend(against_host());
    cases.extend(clears());
    for (name, format, shape, size) in [
        ("2d", "R8G8B8A8_UNORM", Shape::D2, [40, 30, 1]),
        ("2d_bytes", "R8_UINT", Shape::D2, [40, 30, 1]),
        ("2d_wide", "R32G32B32A32_UINT", Shape::D2, [40, 30, 1]),
        ("array", "R16G16_UINT", Shape::D2Array, [40, 30, 1]),
        ("3d", "R8G8B8A8_UNORM", Shape::D3, [20, 16, 6]),
        ("blocks", "BC2_UNORM_BLOCK", Shape::D2, [64, 48, 1]),
    ] {
        let format = named(format);
        let spec = ImageSpec::sampled(format.vk, shape, size).through(Transfer::Gpu);
        cases.push(buffer_region(format!("copy/region_{name}"), format, spec));
    }
    cases.extend(image_copies());
    cases
}
