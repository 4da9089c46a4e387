//! Sparse buffers and images: memory that is bound and unbound block by block.

use ash::vk;

use super::canvas::{SIZE_PX as CANVAS_PX, mesh_state, picture, small, stages, vertices};
use crate::case::{Bench, Case, Output, Rule, Shader};
use crate::gpu::{
    Bind, Buffer, Error, Gpu, Image, ImageSpec, Result, SamplerSpec, Shape, Transfer, ViewSpec,
};

/// Bytes of a block.
const BLOCK_B: u64 = 1 << 16;

/// Memory for a number of blocks of a resource.
fn memory(gpu: &Gpu, needs: vk::MemoryRequirements, blocks: u64) -> Result<vk::DeviceMemory> {
    let size = blocks * BLOCK_B;
    gpu.allocate(vk::MemoryRequirements { size, ..needs }, vk::MemoryPropertyFlags::empty())
}

/// Binds, and waits for completion.
fn bind(gpu: &Gpu, info: vk::BindSparseInfo<'_>) -> Result<()> {
    let fence = gpu.fence()?;
    // SAFETY: the queue, the fence and what the structure names are live.
    unsafe { gpu.device.queue_bind_sparse(gpu.queue(), &[info], fence) }
        .map_err(|result| Error::Vulkan { call: "vkQueueBindSparse", result })?;
    gpu.wait(fence)
}

/// A sparse buffer of a number of blocks without memory.
fn buffer(gpu: &Gpu, blocks: u64) -> Result<(vk::Buffer, vk::MemoryRequirements)> {
    let create = vk::BufferCreateInfo::default()
        .flags(vk::BufferCreateFlags::SPARSE_BINDING | vk::BufferCreateFlags::SPARSE_RESIDENCY)
        .size(blocks * BLOCK_B)
        .usage(
            vk::BufferUsageFlags::STORAGE_BUFFER
                | vk::BufferUsageFlags::INDEX_BUFFER
                | vk::BufferUsageFlags::INDIRECT_BUFFER
                | vk::BufferUsageFlags::UNIFORM_TEXEL_BUFFER
                | vk::BufferUsageFlags::STORAGE_TEXEL_BUFFER
                | vk::BufferUsageFlags::TRANSFER_SRC
                | vk::BufferUsageFlags::TRANSFER_DST,
        );
    let handle = gpu.bare_buffer(&create)?;
    // SAFETY: the buffer is live.
    let needs = unsafe { gpu.device.get_buffer_memory_requirements(handle) };
    if needs.alignment > BLOCK_B {
        return Err(Error::Case(format!("blocks of {} bytes", needs.alignment)));
    }
    Ok((handle, needs))
}

/// Binds blocks of a buffer: block, and block of the memory.
fn bind_blocks(
    gpu: &Gpu,
    buffer: vk::Buffer,
    blocks: &[(u64, Option<(vk::DeviceMemory, u64)>)],
) -> Result<()> {
    let binds: Vec<_> = blocks
        .iter()
        .map(|&(to, from)| {
            let (memory, at) = from.unwrap_or_default();
            vk::SparseMemoryBind::default()
                .resource_offset(to * BLOCK_B)
                .size(BLOCK_B)
                .memory(memory)
                .memory_offset(at * BLOCK_B)
        })
        .collect();
    let info = [vk::SparseBufferMemoryBindInfo::default().buffer(buffer).binds(&binds)];
    bind(gpu, vk::BindSparseInfo::default().buffer_binds(&info))
}

/// Copies a buffer into another.
fn copy(gpu: &Gpu, from: vk::Buffer, to: vk::Buffer, size: u64) -> Result<()> {
    gpu.submit(|c| {
        c.barrier();
        let region = [vk::BufferCopy { size, ..Default::default() }];
        // SAFETY: both buffers are live and as large as the region.
        unsafe { gpu.device.cmd_copy_buffer(c.handle, from, to, &region) };
        c.barrier();
    })
}

/// Writes all blocks of a buffer of which two have memory, reads them, rebinds memory, reads them again.
fn buffers() -> Case {
    let about = "blocks of a buffer with and without memory, which moves";
    let case = Case::new("sparse/buffer", about, Vec::new(), |bench| {
        let gpu = bench.gpu;
        gpu.feature(gpu.offers.sparse, "sparse resources")?;
        let (sparse, needs) = buffer(gpu, 4)?;
        let memory = memory(gpu, needs, 3)?;
        let block = BLOCK_B as usize / 4;
        let all: Vec<u32> =
            (0..4 * block as u32).map(|k| k.wrapping_mul(2_654_435_761) | 1).collect();
        let part = |k: usize| &all[k * block..(k + 1) * block];
        let (none, sevens) = (vec![0; block], vec![7u32; block]);
        let (source, result) = (gpu.buffer(&all)?, gpu.output::<u32>(all.len())?);
        let size = 4 * BLOCK_B;
        let mut outputs = Vec::new();
        let mut read = |when: &str, blocks: [&[u32]; 4]| -> Result<()> {
            copy(gpu, sparse, result.handle, size)?;
            outputs.push(Output::cpu(when, &result.read::<u32>(), &blocks.concat(), Rule::Bits));
            Ok(())
        };
        bind_blocks(gpu, sparse, &[(0, Some((memory, 2))), (2, Some((memory, 0)))])?;
        copy(gpu, source.handle, sparse, size)?;
        read("bound", [part(0), &none, part(2), &none])?;
        // Binds the memory to another block, then to two blocks.
        bind_blocks(gpu, sparse, &[(0, None), (3, Some((memory, 2)))])?;
        read("moved", [&none, &none, part(2), part(0)])?;
        bind_blocks(gpu, sparse, &[(0, Some((memory, 2))), (2, None), (1, Some((memory, 1)))])?;
        let other = gpu.buffer(&sevens)?;
        gpu.submit(|c| {
            let region = [vk::BufferCopy { src_offset: 0, dst_offset: BLOCK_B, size: BLOCK_B }];
            // SAFETY: the buffers are live, and the regions inside of them.
            unsafe { gpu.device.cmd_copy_buffer(c.handle, other.handle, sparse, &region) };
            c.barrier();
        })?;
        read("bound twice", [part(0), &sevens, &none, part(0)])?;
        Ok(outputs)
    });
    // lavapipe keeps data that is written to blocks without memory.
    case.without_lavapipe()
}

/// Indices in a buffer whose second block has no memory: there they are all 0, so the primitives are degenerate.
fn indices(indirect: bool) -> Case {
    /// Triangles of the draw.
    const TRIANGLES: u32 = 40;
    let name = if indirect { "indices_indirect" } else { "indices" };
    let shaders = vec![Shader::new("mesh.vert"), Shader::new("shade.frag")];
    let about = "an index buffer of which a part has no memory";
    let case = Case::new(format!("sparse/{name}"), about, shaders, move |bench| {
        let gpu = bench.gpu;
        gpu.feature(gpu.offers.sparse, "sparse resources")?;
        let (sparse, needs) = buffer(gpu, 2)?;
        let memory = memory(gpu, needs, 1)?;
        bind_blocks(gpu, sparse, &[(0, Some((memory, 0)))])?;
        // Half of the triangles are in each block.
        let (count, in_block) = (3 * TRIANGLES, BLOCK_B as u32 / 4);
        let first = in_block - count / 2;
        let all: Vec<u32> = (0..2 * in_block).map(|k| k.saturating_sub(first) % count).collect();
        let source = gpu.buffer(&all)?;
        copy(gpu, source.handle, sparse, 2 * BLOCK_B)?;
        let list = small(91, TRIANGLES as usize);
        let (drawn, whole) = (vertices(bench, &list)?, vertices(bench, &list[..60])?);
        let pipeline = gpu.graphics(&stages(bench), &mesh_state(), &[])?;
        let arguments = gpu.buffer(&[count, 1, first, 0, 0])?;
        let pixels = picture(bench, |c| {
            c.vertex_buffers(&[&drawn]);
            c.bind_graphics(&pipeline);
            // SAFETY: a pipeline and its vertices are bound; both buffers are live.
            unsafe {
                let device = &gpu.device;
                device.cmd_bind_index_buffer(c.handle, sparse, 0, vk::IndexType::UINT32);
                match indirect {
                    true => {
                        device.cmd_draw_indexed_indirect(c.handle, arguments.handle, 0, 1, 0);
                    }
                    false => device.cmd_draw_indexed(c.handle, count, 1, first, 0, 0),
                }
            }
            Ok(())
        })?;
        let wanted = picture(bench, |c| {
            c.vertex_buffers(&[&whole]);
            c.draw(&pipeline, count / 2, 1);
            Ok(())
        })?;
        Ok(vec![Output::cpu("picture", &pixels, &wanted, Rule::Bits).picture(CANVAS_PX)])
    });
    case.without_lavapipe()
}

/// Two draws whose arguments are in a sparse buffer, those of the second where it has no memory.
fn arguments() -> Case {
    const TRIANGLES: u32 = 40;
    let shaders = vec![Shader::new("mesh.vert"), Shader::new("shade.frag")];
    let about = "arguments of draws in a buffer of which a part has no memory";
    let case = Case::new("sparse/arguments", about, shaders, |bench| {
        let gpu = bench.gpu;
        gpu.feature(gpu.offers.sparse, "sparse resources")?;
        let (sparse, needs) = buffer(gpu, 2)?;
        let memory = memory(gpu, needs, 1)?;
        bind_blocks(gpu, sparse, &[(0, Some((memory, 0)))])?;
        let in_block = BLOCK_B as usize / 4;
        let mut all = vec![0; 2 * in_block];
        // The second draw covers the vertices that the first one omits.
        all[in_block - 4..][..8].copy_from_slice(&[60, 1, 0, 0, 60, 1, 60, 0]);
        let source = gpu.buffer(&all)?;
        copy(gpu, source.handle, sparse, 2 * BLOCK_B)?;
        let drawn = vertices(bench, &small(91, TRIANGLES as usize))?;
        let pipeline = gpu.graphics(&stages(bench), &mesh_state(), &[])?;
        let pixels = picture(bench, |c| {
            c.vertex_buffers(&[&drawn]);
            c.bind_graphics(&pipeline);
            for at in [BLOCK_B - 16, BLOCK_B] {
                // SAFETY: a pipeline and its vertices are bound; the buffer is live.
                unsafe { gpu.device.cmd_draw_indirect(c.handle, sparse, at, 1, 0) };
            }
            Ok(())
        })?;
        let wanted = picture(bench, |c| {
            c.vertex_buffers(&[&drawn]);
            c.draw(&pipeline, 60, 1);
            Ok(())
        })?;
        Ok(vec![Output::cpu("picture", &pixels, &wanted, Rule::Bits).picture(CANVAS_PX)])
    });
    case.without_lavapipe()
}

/// A sparse image, and its memory requirements.
fn image(gpu: &Gpu, spec: ImageSpec) -> Result<(Image, vk::MemoryRequirements)> {
    let flags = vk::ImageCreateFlags::SPARSE_BINDING | vk::ImageCreateFlags::SPARSE_RESIDENCY;
    let usage = spec.usage | vk::ImageUsageFlags::TRANSFER_SRC | vk::ImageUsageFlags::TRANSFER_DST;
    let handle = gpu.bare_image(&spec.create_info(flags, usage))?;
    // SAFETY: the image is live.
    let needs = unsafe { gpu.device.get_image_memory_requirements(handle) };
    let view = gpu.view(handle, &spec, ViewSpec::whole(&spec))?;
    let image = Image { spec, handle, view };
    gpu.to_general(&image)?;
    Ok((image, needs))
}

/// Width and height of images.
const SIZE_PX: [u32; 2] = [300, 270];
/// Layers of images.
const LAYERS: u32 = 2;
/// Number of sampled positions along an axis.
const PLACES: u32 = 64;

/// The texels of an image's levels, and the blocks that have memory.
struct Texels {
    spec: ImageSpec,
    block: vk::Extent3D,
    /// Bytes of a texel.
    bytes: usize,
    /// Texels by level: layer by layer, row by row.
    levels: Vec<Vec<u8>>,
    /// Blocks that have memory: level, layer, index.
    bound: Vec<(u32, u32, u32)>,
    /// The first level of the mip tail, which has memory.
    tail: u32,
}

impl Texels {
    /// Width and height of a level.
    fn size(&self, level: u32) -> [u32; 2] {
        let [w, h, _] = self.spec.level_px(level);
        [w, h]
    }

    /// Blocks of a level from left to right, and from top to bottom.
    fn blocks(&self, level: u32) -> [u32; 2] {
        let [w, h] = self.size(level);
        [w.div_ceil(self.block.width), h.div_ceil(self.block.height)]
    }

    /// Whether a texel has memory.
    fn is_resident(&self, level: u32, layer: u32, [x, y]: [u32; 2]) -> bool {
        let number = y / self.block.height * self.blocks(level)[0] + x / self.block.width;
        level >= self.tail || self.bound.contains(&(level, layer, number))
    }

    /// The bytes that a read of a texel returns.
    fn texel(&self, level: u32, layer: u32, [x, y]: [u32; 2]) -> Vec<u8> {
        if !self.is_resident(level, layer, [x, y]) {
            return vec![0; self.bytes];
        }
        let [w, h] = self.size(level);
        let at = ((layer * h + y) * w + x) as usize * self.bytes;
        self.levels[level as usize][at..at + self.bytes].to_vec()
    }

    /// The bytes that a read of a level returns.
    fn level(&self, level: u32) -> Vec<u8> {
        let [w, h] = self.size(level);
        let all =
            (0..LAYERS).flat_map(|l| (0..h).flat_map(move |y| (0..w).map(move |x| (l, x, y))));
        all.flat_map(|(l, x, y)| self.texel(level, l, [x, y])).collect()
    }

    /// The positions that shaders read: level, layer, texel.
    fn places(&self) -> Vec<(u32, u32, [u32; 2])> {
        let mut out = Vec::new();
        for (level, layer) in (0..4).flat_map(|l| (0..LAYERS).map(move |k| (l, k))) {
            let size = self.size(level);
            for (y, x) in (0..PLACES).flat_map(|y| (0..PLACES).map(move |x| (y, x))) {
                let place = |k: u32, size: u32| (k * 2 + 1) * size / (2 * PLACES);
                out.push((level, layer, [place(x, size[0]), place(y, size[1])]));
            }
        }
        out
    }

    /// The residency codes of each position, for a sampler and for a fetch.
    fn codes(&self) -> Vec<u32> {
        let code = |(level, layer, at)| u32::from(self.is_resident(level, layer, at));
        self.places().into_iter().flat_map(|place| [code(place); 2]).collect()
    }

    /// The values that the shader reads.
    fn sampled(&self, channels: usize) -> Vec<f32> {
        let mut out = Vec::new();
        for (level, layer, at) in self.places() {
            let texel = self.texel(level, layer, at);
            let each = self.bytes / channels;
            let mut color = [0.0, 0.0, 0.0, 1.0];
            for (to, from) in color.iter_mut().zip(texel.chunks(each)) {
                *to = match *from {
                    [a] => f32::from(a) / 255.0,
                    [a, b] => f32::from(u16::from_le_bytes([a, b])) / 65535.0,
                    [a, b, c, d] => f32::from_le_bytes([a, b, c, d]),
                    _ => 0.0,
                };
            }
            out.extend(color);
        }
        out
    }
}

/// Fills an image of which some blocks have memory, reads all its levels, samples it, and unbinds blocks.
fn images(format: vk::Format, channels: usize, bytes: usize, name: &str) -> Case {
    let about = "blocks of an image with and without memory, and its small levels";
    let shaders = vec![Shader::new("sparse.comp"), Shader::new("sparse_codes.comp")];
    let case = Case::new(format!("sparse/image_{name}"), about, shaders, move |bench| {
        let gpu = bench.gpu;
        gpu.feature(gpu.offers.sparse, "sparse resources")?;
        gpu.feature(gpu.offers.residency, "codes of residency")?;
        let spec = ImageSpec::sampled(format, Shape::D2Array, [SIZE_PX[0], SIZE_PX[1], 1])
            .layers(LAYERS)
            .mipmapped()
            .through(Transfer::Gpu);
        let (image, needs) = image(gpu, spec)?;
        // SAFETY: the image is live.
        let sparse = unsafe { gpu.device.get_image_sparse_memory_requirements(image.handle) };
        let Some(sparse) = sparse.first() else {
            return Err(Error::Case("an image without blocks".into()));
        };
        let levels: Vec<Vec<u8>> = (0..spec.levels)
            .map(|level| {
                // Floats of such bytes are normal numbers.
                let byte = |k: usize| (k * 31 + 7 * level as usize) as u8 & 0x3f | 1;
                (0..spec.level_bytes(level, [1, 1], bytes)).map(byte).collect()
            })
            .collect();
        let mut texels = Texels {
            spec,
            block: sparse.format_properties.image_granularity,
            bytes,
            levels,
            bound: Vec::new(),
            tail: sparse.image_mip_tail_first_lod.min(spec.levels),
        };
        for (level, layer) in (0..texels.tail).flat_map(|l| (0..LAYERS).map(move |k| (l, k))) {
            let [across, down] = texels.blocks(level);
            let some = (0..across * down).filter(|k| (k + layer) % 3 != 1);
            texels.bound.extend(some.map(|k| (level, layer, k)));
        }
        let tails = match sparse.format_properties.flags {
            f if f.contains(vk::SparseImageFormatFlags::SINGLE_MIPTAIL) => 1,
            _ => u64::from(LAYERS),
        };
        let tail_blocks = sparse.image_mip_tail_size.div_ceil(BLOCK_B);
        let count = texels.bound.len() as u64;
        let memory = memory(gpu, needs, count + tails * tail_blocks)?;
        let bind_of = |n: usize, (level, layer, k): (u32, u32, u32)| {
            let [w, h] = texels.size(level);
            let (block, across) = (texels.block, texels.blocks(level)[0]);
            let [x, y] = [k % across * block.width, k / across * block.height];
            vk::SparseImageMemoryBind::default()
                .subresource(vk::ImageSubresource {
                    aspect_mask: vk::ImageAspectFlags::COLOR,
                    mip_level: level,
                    array_layer: layer,
                })
                .offset(vk::Offset3D { x: x as i32, y: y as i32, z: 0 })
                .extent(vk::Extent3D {
                    width: block.width.min(w - x),
                    height: block.height.min(h - y),
                    depth: 1,
                })
                .memory(memory)
                .memory_offset(n as u64 * BLOCK_B)
        };
        let binds: Vec<_> = texels.bound.iter().enumerate().map(|(n, &b)| bind_of(n, b)).collect();
        let small: Vec<_> = (0..tails)
            .map(|k| {
                vk::SparseMemoryBind::default()
                    .resource_offset(
                        sparse.image_mip_tail_offset + k * sparse.image_mip_tail_stride,
                    )
                    .size(sparse.image_mip_tail_size)
                    .memory(memory)
                    .memory_offset((count + k * tail_blocks) * BLOCK_B)
            })
            .collect();
        let blocks = [vk::SparseImageMemoryBindInfo::default().image(image.handle).binds(&binds)];
        let small =
            [vk::SparseImageOpaqueMemoryBindInfo::default().image(image.handle).binds(&small)];
        let mut info = vk::BindSparseInfo::default().image_binds(&blocks);
        if texels.tail < spec.levels {
            info = info.image_opaque_binds(&small);
        }
        bind(gpu, info)?;
        gpu.fill_image(&image, &texels.levels)?;
        let mut outputs = Vec::new();
        for level in 0..spec.levels {
            let wanted = texels.level(level);
            let read = gpu.read_image(&image, level, wanted.len())?;
            outputs.push(Output::cpu(&format!("level {level}"), &read, &wanted, Rule::Bits));
        }
        let rule = Rule::Ulp(2.0);
        let wanted = texels.sampled(channels);
        outputs.push(Output::cpu("sampled", &sampled(bench, &image)?, &wanted, rule.clone()));
        outputs.push(Output::cpu("codes", &codes(bench, &image)?, &texels.codes(), Rule::Bits));
        // Half of the blocks are unbound.
        let gone: Vec<_> = binds
            .iter()
            .step_by(2)
            .map(|b| b.memory(vk::DeviceMemory::null()).memory_offset(0))
            .collect();
        let blocks = [vk::SparseImageMemoryBindInfo::default().image(image.handle).binds(&gone)];
        bind(gpu, vk::BindSparseInfo::default().image_binds(&blocks))?;
        texels.bound = texels.bound.iter().copied().skip(1).step_by(2).collect();
        let wanted = texels.level(0);
        let read = gpu.read_image(&image, 0, wanted.len())?;
        outputs.push(Output::cpu("level 0 of half", &read, &wanted, Rule::Bits));
        let wanted = texels.sampled(channels);
        outputs.push(Output::cpu("sampled of half", &sampled(bench, &image)?, &wanted, rule));
        let (got, wanted) = (codes(bench, &image)?, texels.codes());
        outputs.push(Output::cpu("codes of half", &got, &wanted, Rule::Bits));
        Ok(outputs)
    });
    case.without_lavapipe()
}

/// Runs a shader that reads positions in all layers and some levels, and writes `words` words for each.
fn look(bench: &Bench, spirv: &[u32], image: &Image, words: u32) -> Result<Buffer> {
    let gpu = bench.gpu;
    let sampler =
        gpu.sampler(SamplerSpec::new(vk::Filter::NEAREST, vk::SamplerAddressMode::CLAMP_TO_EDGE))?;
    let result: Buffer = gpu.output::<u32>((PLACES * PLACES * LAYERS * 4 * words) as usize)?;
    let kernel =
        gpu.kernel(spirv).storage(&[&result]).bind(Bind::Texture(image.view, sampler)).build()?;
    gpu.run(&kernel, [PLACES / 8, PLACES / 8, LAYERS * 4])?;
    Ok(result)
}

/// The texels at all positions.
fn sampled(bench: &Bench, image: &Image) -> Result<Vec<f32>> {
    Ok(look(bench, &bench.spirv[0], image, 4)?.read())
}

/// The residency of all positions.
fn codes(bench: &Bench, image: &Image) -> Result<Vec<u32>> {
    Ok(look(bench, &bench.spirv[1], image, 2)?.read())
}

/// Texels of the images of [`writes`].
const TEXELS: u32 = SIZE_PX[0] * SIZE_PX[1];

/// Gives memory to every second block of an image's first level and layer; which texels have, row by row and slice by slice.
fn bind_half(gpu: &Gpu, image: &Image, needs: vk::MemoryRequirements) -> Result<Vec<bool>> {
    // SAFETY: the image is live.
    let sparse = unsafe { gpu.device.get_image_sparse_memory_requirements(image.handle) };
    let Some(sparse) = sparse.first().filter(|s| s.image_mip_tail_first_lod > 0) else {
        return Err(Error::Case("an image without blocks".into()));
    };
    let block = sparse.format_properties.image_granularity;
    let (block, size) = ([block.width, block.height, block.depth], image.spec.size_px);
    let blocks: [u32; 3] = std::array::from_fn(|k| size[k].div_ceil(block[k]));
    let number = |[x, y, z]: [u32; 3]| (z * blocks[1] + y) * blocks[0] + x;
    let is_bound = |at: [u32; 3]| number(at).is_multiple_of(2);
    let in_box = |size: [u32; 3]| {
        (0..size.iter().product())
            .map(move |k: u32| [k % size[0], k / size[0] % size[1], k / size[0] / size[1]])
    };
    let bound: Vec<[u32; 3]> = in_box(blocks).filter(|&at| is_bound(at)).collect();
    let memory = memory(gpu, needs, bound.len() as u64)?;
    let bind_of = |(n, at): (usize, &[u32; 3])| {
        let first: [u32; 3] = std::array::from_fn(|k| at[k] * block[k]);
        let [x, y, z] = first.map(|px| px as i32);
        let [width, height, depth] = std::array::from_fn(|k| block[k].min(size[k] - first[k]));
        vk::SparseImageMemoryBind::default()
            .subresource(vk::ImageSubresource {
                aspect_mask: vk::ImageAspectFlags::COLOR,
                ..Default::default()
            })
            .offset(vk::Offset3D { x, y, z })
            .extent(vk::Extent3D { width, height, depth })
            .memory(memory)
            .memory_offset(n as u64 * BLOCK_B)
    };
    let binds: Vec<_> = bound.iter().enumerate().map(bind_of).collect();
    let info = [vk::SparseImageMemoryBindInfo::default().image(image.handle).binds(&binds)];
    bind(gpu, vk::BindSparseInfo::default().image_binds(&info))?;
    let texels = in_box(size).map(|at| is_bound(std::array::from_fn(|k| at[k] / block[k])));
    Ok(texels.collect())
}

/// A sparse image of 32-bit integers of which every second block has memory, and which texels have.
fn half_bound(gpu: &Gpu) -> Result<(Image, Vec<bool>)> {
    let spec = ImageSpec {
        usage: vk::ImageUsageFlags::STORAGE | vk::ImageUsageFlags::COLOR_ATTACHMENT,
        ..ImageSpec::sampled(vk::Format::R32_UINT, Shape::D2, [SIZE_PX[0], SIZE_PX[1], 1])
            .through(Transfer::Gpu)
    };
    let (image, needs) = image(gpu, spec)?;
    let bound = bind_half(gpu, &image, needs)?;
    Ok((image, bound))
}

/// Copies to and from an image of three dimensions of which half has no memory.
fn volumes(format: vk::Format, bytes: usize, name: &str) -> Case {
    let about = "blocks of an image of three dimensions with and without memory";
    let case = Case::new(format!("sparse/volume_{name}"), about, Vec::new(), move |bench| {
        let gpu = bench.gpu;
        gpu.feature(gpu.offers.sparse_volumes, "sparse resources of three dimensions")?;
        let size = [70, 40, 37];
        let spec = ImageSpec::sampled(format, Shape::D3, size).through(Transfer::Gpu);
        let (image, needs) = image(gpu, spec)?;
        let bound = bind_half(gpu, &image, needs)?;
        // Floats of such bytes are normal numbers.
        let all: Vec<u8> = (0..bound.len() * bytes).map(|k| (k * 31) as u8 & 0x3f | 1).collect();
        gpu.fill_image(&image, std::slice::from_ref(&all))?;
        let mut wanted = all;
        for (texel, _) in wanted.chunks_mut(bytes).zip(&bound).filter(|(_, bound)| !**bound) {
            texel.fill(0);
        }
        let read = gpu.read_image(&image, 0, wanted.len())?;
        Ok(vec![Output::cpu("texels", &read, &wanted, Rule::Bits)])
    });
    case.without_lavapipe()
}

/// Clears an image of several samples of which half has no memory, and resolves it.
fn samples(count: vk::SampleCountFlags) -> Case {
    let about = "blocks of an image of several samples with and without memory";
    let name = format!("sparse/samples_{}", count.as_raw());
    let case = Case::new(name, about, Vec::new(), move |bench| {
        let gpu = bench.gpu;
        gpu.feature(gpu.offers.sparse_samples, "sparse resources of several samples")?;
        let spec = ImageSpec {
            usage: vk::ImageUsageFlags::COLOR_ATTACHMENT,
            ..ImageSpec::sampled(vk::Format::R8G8B8A8_UNORM, Shape::D2, [SIZE_PX[0], SIZE_PX[1], 1])
                .through(Transfer::Gpu)
        };
        let (image, needs) = image(gpu, spec.samples(count))?;
        let bound = bind_half(gpu, &image, needs)?;
        let usage = vk::ImageUsageFlags::TRANSFER_DST;
        let resolved = gpu.image(ImageSpec { usage, ..spec })?;
        let range = vk::ImageSubresourceRange {
            aspect_mask: vk::ImageAspectFlags::COLOR,
            level_count: 1,
            layer_count: 1,
            ..Default::default()
        };
        let layers = vk::ImageSubresourceLayers {
            aspect_mask: vk::ImageAspectFlags::COLOR,
            layer_count: 1,
            ..Default::default()
        };
        let region = [vk::ImageResolve {
            src_subresource: layers,
            dst_subresource: layers,
            extent: vk::Extent3D { width: SIZE_PX[0], height: SIZE_PX[1], depth: 1 },
            ..Default::default()
        }];
        let clear = vk::ClearColorValue { float32: [1.0, 0.2, 0.4, 1.0] };
        let (layout, device) = (vk::ImageLayout::GENERAL, &gpu.device);
        gpu.submit(|c| {
            let (from, to) = (image.handle, resolved.handle);
            // SAFETY: the images are live, in the general layout, and as large as the region.
            unsafe {
                device.cmd_clear_color_image(c.handle, from, layout, &clear, &[range]);
                c.barrier();
                device.cmd_resolve_image(c.handle, from, layout, to, layout, &region);
            }
            c.barrier();
        })?;
        let read = gpu.read_image(&resolved, 0, 4 * bound.len())?;
        let wanted: Vec<u8> =
            bound.iter().flat_map(|&b| if b { [255, 51, 102, 255] } else { [0; 4] }).collect();
        Ok(vec![Output::cpu("resolved", &read, &wanted, Rule::Bits)])
    });
    case.without_lavapipe()
}

fn words(bytes: Vec<u8>) -> Vec<u32> {
    bytes.as_chunks().0.iter().map(|&word| u32::from_le_bytes(word)).collect()
}

/// Adds twice to all texels of an image of which half has no memory: what is not kept is not returned either.
fn atomics() -> Case {
    let atomic = Shader::new("image_atomic.comp")
        .define("T", "uint")
        .define("IMAGE", "uimage2D")
        .define("QUALIFIER", "r32ui")
        .define("OP(c,x)", "imageAtomicAdd(image, c, x)")
        .define("AT", format!("ivec2(t % {0}, t / {0})", SIZE_PX[0]));
    let about = "atomics on an image of which half has no memory";
    let case = Case::new("sparse/atomics", about, vec![atomic], |bench| {
        let gpu = bench.gpu;
        gpu.feature(gpu.offers.sparse, "sparse resources")?;
        let (image, bound) = half_bound(gpu)?;
        let bytes = 4 * TEXELS as usize;
        gpu.fill_image(&image, &[vec![0; bytes]])?;
        let adds = gpu.buffer(&vec![3u32; TEXELS as usize])?;
        let old = gpu.output::<u32>(TEXELS as usize)?;
        let kernel = gpu
            .kernel(&bench.spirv[0])
            .bind(Bind::StorageImage(image.view))
            .storage(&[&adds, &old])
            .push_bytes(4)
            .build()?;
        let mut outputs = Vec::new();
        for before in [0, 3] {
            gpu.submit(|c| {
                c.push(&kernel, &[TEXELS]);
                c.dispatch(&kernel, [TEXELS.div_ceil(64), 1, 1]);
            })?;
            let wanted = |value| bound.iter().map(|&b| u32::from(b) * value).collect::<Vec<u32>>();
            let kept = words(gpu.read_image(&image, 0, bytes)?);
            outputs.push(Output::cpu("returned", &old.read::<u32>(), &wanted(before), Rule::Bits));
            outputs.push(Output::cpu("kept", &kept, &wanted(before + 3), Rule::Bits));
        }
        Ok(outputs)
    });
    case.without_lavapipe()
}

/// Writes all of an image of which half has no memory by stores and clears, and reads it by loads, copies and blits. What
/// has no memory stays 0, whatever was written to other parts of it that have none.
fn writes() -> Case {
    let values = Shader::new("image_values.comp")
        .define("IMAGE", "uimage2D")
        .define("LAYOUT", "r32ui,")
        .define("VALUE", "uvec4");
    let shaders = vec![values.clone(), values.define("LOAD", 1)];
    let about = "stores, clears, copies and blits of an image of which half has no memory";
    let case = Case::new("sparse/writes", about, shaders, |bench| {
        let gpu = bench.gpu;
        gpu.feature(gpu.offers.sparse, "sparse resources")?;
        let (image, bound) = half_bound(gpu)?;
        let resident = |value: &dyn Fn(u32) -> u32| -> Vec<u32> {
            (0..).zip(&bound).map(|(t, &bound)| if bound { value(t) } else { 0 }).collect()
        };
        let value = |t: u32| t.wrapping_mul(2_654_435_761) | 1;
        let read = || gpu.read_image(&image, 0, 4 * TEXELS as usize).map(words);
        let mut outputs = Vec::new();
        let mut judge = |what: &str, got: &[u32], wanted: &[u32]| {
            outputs.push(Output::cpu(what, got, wanted, Rule::Bits));
        };
        let groups = [TEXELS.div_ceil(64), 1, 1];
        let texels: Vec<u32> = (0..TEXELS).flat_map(|t| [value(t), 5, 6, 7]).collect();
        let (input, loaded) = (gpu.buffer(&texels)?, gpu.output::<u32>(texels.len())?);
        for (spirv, buffer) in bench.spirv.iter().zip([&input, &loaded]) {
            let kernel = gpu
                .kernel(spirv)
                .bind(Bind::StorageImage(image.view))
                .storage(&[buffer])
                .push_bytes(8)
                .build()?;
            gpu.submit(|c| {
                c.push(&kernel, &SIZE_PX);
                c.dispatch(&kernel, groups);
            })?;
        }
        let wanted = resident(&value);
        judge("stored", &read()?, &wanted);
        let first: Vec<u32> = loaded.read::<u32>().into_iter().step_by(4).collect();
        judge("loaded", &first, &wanted);
        let spec = ImageSpec { usage: vk::ImageUsageFlags::TRANSFER_DST, ..image.spec };
        let (copied, blitted) = (gpu.image(spec)?, gpu.image(spec)?);
        let (layout, device) = (vk::ImageLayout::GENERAL, &gpu.device);
        let layers = vk::ImageSubresourceLayers {
            aspect_mask: vk::ImageAspectFlags::COLOR,
            layer_count: 1,
            ..Default::default()
        };
        let extent = vk::Extent3D { width: SIZE_PX[0], height: SIZE_PX[1], depth: 1 };
        let region = [vk::ImageCopy {
            src_subresource: layers,
            dst_subresource: layers,
            extent,
            ..Default::default()
        }];
        let end = vk::Offset3D { x: SIZE_PX[0] as i32, y: SIZE_PX[1] as i32, z: 1 };
        let blit = [vk::ImageBlit {
            src_subresource: layers,
            src_offsets: [vk::Offset3D::default(), end],
            dst_subresource: layers,
            dst_offsets: [vk::Offset3D::default(), end],
        }];
        let range = vk::ImageSubresourceRange {
            aspect_mask: vk::ImageAspectFlags::COLOR,
            level_count: 1,
            layer_count: 1,
            ..Default::default()
        };
        let clear = vk::ClearColorValue { uint32: [9; 4] };
        gpu.submit(|c| {
            let (from, nearest) = (image.handle, vk::Filter::NEAREST);
            c.barrier();
            // SAFETY: the images are live, in the general layout, and as large as the regions.
            unsafe {
                device.cmd_copy_image(c.handle, from, layout, copied.handle, layout, &region);
                device.cmd_blit_image(
                    c.handle,
                    from,
                    layout,
                    blitted.handle,
                    layout,
                    &blit,
                    nearest,
                );
                c.barrier();
                device.cmd_clear_color_image(c.handle, from, layout, &clear, &[range]);
            }
            c.barrier();
        })?;
        judge("copied", &words(gpu.read_image(&copied, 0, 4 * TEXELS as usize)?), &wanted);
        judge("blitted", &words(gpu.read_image(&blitted, 0, 4 * TEXELS as usize)?), &wanted);
        judge("cleared", &read()?, &resident(&|_| 9));
        Ok(outputs)
    });
    case.without_lavapipe()
}

/// A sparse buffer of which half has no memory as uniform and storage texel buffer.
fn texel_buffers() -> Case {
    let shader = Shader::new("texel_buffer.comp")
        .define("TEXTURE", "utextureBuffer")
        .define("IMAGE", "uimageBuffer")
        .define("VALUE", "uvec4")
        .define("QUALIFIER", "r32ui,");
    let about = "texel buffers of which half has no memory";
    let case = Case::new("sparse/texel_buffer", about, vec![shader], |bench| {
        let gpu = bench.gpu;
        gpu.feature(gpu.offers.sparse, "sparse resources")?;
        const COUNT: usize = 2 * BLOCK_B as usize / 4;
        let (sparse, needs) = buffer(gpu, 2)?;
        bind_blocks(gpu, sparse, &[(0, Some((memory(gpu, needs, 1)?, 0)))])?;
        let all: Vec<u32> = (0..COUNT as u32).map(|k| k.wrapping_mul(2_654_435_761) | 1).collect();
        let (input, output) = (gpu.buffer(&all)?, gpu.buffer(&all)?);
        let view = |buffer| gpu.texels(buffer, vk::Format::R32_UINT, 0, vk::WHOLE_SIZE);
        let (there, from, to) = (view(sparse)?, view(input.handle)?, view(output.handle)?);
        let read = gpu.output::<u32>(4 * COUNT)?;
        for [t, a, b] in [[from, from, there], [there, there, to]] {
            let kernel = gpu
                .kernel(&bench.spirv[0])
                .bind(Bind::UniformTexel(t))
                .bind(Bind::StorageTexel(a))
                .bind(Bind::StorageTexel(b))
                .storage(&[&read])
                .build()?;
            gpu.run(&kernel, [COUNT as u32 / 64, 1, 1])?;
        }
        let mut wanted: Vec<u32> = all.iter().rev().copied().collect();
        wanted[COUNT / 2..].fill(0);
        let fetched: Vec<u32> = read.read::<u32>().into_iter().step_by(4).collect();
        let mut outputs = vec![Output::cpu("fetched", &fetched, &wanted, Rule::Bits)];
        wanted.reverse();
        outputs.push(Output::cpu("loaded", &output.read::<u32>(), &wanted, Rule::Bits));
        Ok(outputs)
    });
    case.without_lavapipe()
}

/// The cases.
pub fn cases() -> Vec<Case> {
    use vk::Format as F;
    vec![
        buffers(),
        indices(false),
        indices(true),
        arguments(),
        writes(),
        atomics(),
        texel_buffers(),
        volumes(F::R8_UNORM, 1, "r8"),
        volumes(F::R32_UINT, 4, "r32"),
        volumes(F::R32G32B32A32_SFLOAT, 16, "rgba32f"),
        samples(vk::SampleCountFlags::TYPE_2),
        samples(vk::SampleCountFlags::TYPE_8),
        images(F::R8_UNORM, 1, 1, "r8"),
        images(F::R16_UNORM, 1, 2, "r16"),
        images(F::R8G8B8A8_UNORM, 4, 4, "rgba8"),
        images(F::R16G16B16A16_UNORM, 4, 8, "rgba16"),
        images(F::R32G32B32A32_SFLOAT, 4, 16, "rgba32f"),
    ]
}
