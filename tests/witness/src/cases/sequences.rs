//! Random valid sequences of commands, recorded by two threads at once and judged by a model of them on the CPU.
//!
//! Buffers of words and images of one 32-bit integer per texel are filled, updated, cleared, copied among one another
//! and modified by a kernel, in an order that a seed determines, with a barrier before each command. Two threads record
//! the command buffers alternately; one submission runs them in order.

use ash::vk;

use crate::case::{Bench, Case, Output, Rule, Shader};
use crate::gpu::{Buffer, During, Gpu, Image, ImageSpec, Kernel, Result, Shape, Transfer};
use crate::number::Random;

/// Words of a buffer.
const WORDS: u32 = 1024;
const BUFFERS: u32 = 5;
const IMAGES: u32 = 4;
/// Width and height of an image.
const SIZE_PX: [u32; 2] = [45, 20];
/// Command buffers, recorded alternately by two threads.
const PARTS: usize = 6;
/// Commands of a command buffer.
const COMMANDS: usize = 25;

/// A rectangle of an image.
#[derive(Clone, Copy, Debug)]
struct Rect {
    at: [u32; 2],
    size: [u32; 2],
}

#[derive(Clone, Debug)]
enum Op {
    Fill {
        buffer: u32,
        at: u32,
        words: u32,
        value: u32,
    },
    Update {
        buffer: u32,
        at: u32,
        data: Vec<u32>,
    },
    Copy {
        from: u32,
        to: u32,
        from_at: u32,
        to_at: u32,
        words: u32,
    },
    Step {
        buffer: u32,
        a: u32,
        b: u32,
    },
    Clear {
        image: u32,
        value: u32,
    },
    /// Rows in the buffer have `pitch` texels.
    ToImage {
        buffer: u32,
        at: u32,
        pitch: u32,
        image: u32,
        rect: Rect,
    },
    ToBuffer {
        buffer: u32,
        at: u32,
        pitch: u32,
        image: u32,
        rect: Rect,
    },
    Between {
        from: u32,
        to: u32,
        rect: Rect,
        to_at: [u32; 2],
    },
}

/// The state that the commands modify, on the CPU.
#[derive(Clone)]
struct Memory {
    buffers: Vec<Vec<u32>>,
    images: Vec<Vec<u32>>,
}

fn below(r: &mut Random, n: u32) -> u32 {
    r.next_u32() % n
}

/// A start and a length inside of `n`, the length at least 1.
fn span(r: &mut Random, n: u32) -> (u32, u32) {
    let at = below(r, n);
    (at, 1 + below(r, n - at))
}

impl Op {
    fn random(r: &mut Random) -> Op {
        let (buffer, image) = (below(r, BUFFERS), below(r, IMAGES));
        let (at, words) = span(r, WORDS);
        let (x, w) = span(r, SIZE_PX[0]);
        let (y, h) = span(r, SIZE_PX[1]);
        let rect = Rect { at: [x, y], size: [w, h] };
        // Rows that fit after the start.
        let pitch = w + below(r, 4);
        let start = below(r, WORDS - pitch * (h - 1) - w + 1);
        match below(r, 8) {
            0 => Op::Fill { buffer, at, words, value: r.next_u32() },
            1 => {
                let data = (0..words.min(64)).map(|_| r.next_u32()).collect();
                Op::Update { buffer, at, data }
            }
            2 => {
                let to = (buffer + 1 + below(r, BUFFERS - 1)) % BUFFERS;
                let to_at = below(r, WORDS - words + 1);
                Op::Copy { from: buffer, to, from_at: at, to_at, words }
            }
            3 => Op::Step { buffer, a: r.next_u32(), b: r.next_u32() },
            4 => Op::Clear { image, value: r.next_u32() },
            5 => Op::ToImage { buffer, at: start, pitch, image, rect },
            6 => Op::ToBuffer { buffer, at: start, pitch, image, rect },
            _ => {
                let to = (image + 1 + below(r, IMAGES - 1)) % IMAGES;
                let to_at = [below(r, SIZE_PX[0] - w + 1), below(r, SIZE_PX[1] - h + 1)];
                Op::Between { from: image, to, rect, to_at }
            }
        }
    }

    fn apply(&self, m: &mut Memory) {
        let texel = |x: u32, y: u32| (y * SIZE_PX[0] + x) as usize;
        match *self {
            Op::Fill { buffer, at, words, value } => {
                m.buffers[buffer as usize][at as usize..(at + words) as usize].fill(value);
            }
            Op::Update { buffer, at, ref data } => {
                m.buffers[buffer as usize][at as usize..][..data.len()].copy_from_slice(data);
            }
            Op::Copy { from, to, from_at, to_at, words } => {
                let data = m.buffers[from as usize][from_at as usize..][..words as usize].to_vec();
                m.buffers[to as usize][to_at as usize..][..data.len()].copy_from_slice(&data);
            }
            Op::Step { buffer, a, b } => {
                for x in &mut m.buffers[buffer as usize] {
                    *x = x.wrapping_mul(a).wrapping_add(b);
                }
            }
            Op::Clear { image, value } => m.images[image as usize].fill(value),
            Op::ToImage { buffer, at, pitch, image, rect } => {
                for (x, y) in rect.texels() {
                    let word = m.buffers[buffer as usize][(at + y * pitch + x) as usize];
                    m.images[image as usize][texel(rect.at[0] + x, rect.at[1] + y)] = word;
                }
            }
            Op::ToBuffer { buffer, at, pitch, image, rect } => {
                for (x, y) in rect.texels() {
                    let word = m.images[image as usize][texel(rect.at[0] + x, rect.at[1] + y)];
                    m.buffers[buffer as usize][(at + y * pitch + x) as usize] = word;
                }
            }
            Op::Between { from, to, rect, to_at } => {
                for (x, y) in rect.texels() {
                    let word = m.images[from as usize][texel(rect.at[0] + x, rect.at[1] + y)];
                    m.images[to as usize][texel(to_at[0] + x, to_at[1] + y)] = word;
                }
            }
        }
    }
}

impl Rect {
    fn texels(self) -> impl Iterator<Item = (u32, u32)> {
        let [w, h] = self.size;
        (0..h).flat_map(move |y| (0..w).map(move |x| (x, y)))
    }

    fn offset(self) -> vk::Offset3D {
        vk::Offset3D { x: self.at[0] as i32, y: self.at[1] as i32, z: 0 }
    }

    fn extent(self) -> vk::Extent3D {
        vk::Extent3D { width: self.size[0], height: self.size[1], depth: 1 }
    }
}

const LAYERS: vk::ImageSubresourceLayers = vk::ImageSubresourceLayers {
    aspect_mask: vk::ImageAspectFlags::COLOR,
    mip_level: 0,
    base_array_layer: 0,
    layer_count: 1,
};

/// Objects that recording threads need: handles only.
struct Objects {
    device: ash::Device,
    buffers: Vec<vk::Buffer>,
    images: Vec<vk::Image>,
    /// By buffer: pipeline, layout, set.
    kernels: Vec<(vk::Pipeline, vk::PipelineLayout, vk::DescriptorSet)>,
}

impl Objects {
    fn record(&self, c: vk::CommandBuffer, op: &Op) {
        let d = &self.device;
        let barriers = [vk::MemoryBarrier2::default()
            .src_stage_mask(vk::PipelineStageFlags2::ALL_COMMANDS)
            .src_access_mask(vk::AccessFlags2::MEMORY_WRITE)
            .dst_stage_mask(vk::PipelineStageFlags2::ALL_COMMANDS)
            .dst_access_mask(vk::AccessFlags2::MEMORY_READ | vk::AccessFlags2::MEMORY_WRITE)];
        let general = vk::ImageLayout::GENERAL;
        let region = |at: u32, pitch: u32, rect: Rect| {
            [vk::BufferImageCopy {
                buffer_offset: 4 * u64::from(at),
                buffer_row_length: pitch,
                buffer_image_height: 0,
                image_subresource: LAYERS,
                image_offset: rect.offset(),
                image_extent: rect.extent(),
            }]
        };
        // SAFETY: the command buffer is being recorded by this thread; every range is inside of its object.
        unsafe {
            d.cmd_pipeline_barrier2(c, &vk::DependencyInfo::default().memory_barriers(&barriers));
            match *op {
                Op::Fill { buffer, at, words, value } => {
                    let (at, size) = (4 * u64::from(at), 4 * u64::from(words));
                    d.cmd_fill_buffer(c, self.buffers[buffer as usize], at, size, value);
                }
                Op::Update { buffer, at, ref data } => {
                    let bytes: Vec<u8> = data.iter().flat_map(|w| w.to_le_bytes()).collect();
                    let buffer = self.buffers[buffer as usize];
                    d.cmd_update_buffer(c, buffer, 4 * u64::from(at), &bytes);
                }
                Op::Copy { from, to, from_at, to_at, words } => {
                    let region = vk::BufferCopy {
                        src_offset: 4 * u64::from(from_at),
                        dst_offset: 4 * u64::from(to_at),
                        size: 4 * u64::from(words),
                    };
                    let [from, to] = [from, to].map(|b| self.buffers[b as usize]);
                    d.cmd_copy_buffer(c, from, to, &[region]);
                }
                Op::Step { buffer, a, b } => {
                    let (pipeline, layout, set) = self.kernels[buffer as usize];
                    let compute = vk::PipelineBindPoint::COMPUTE;
                    let stage = vk::ShaderStageFlags::COMPUTE;
                    let push: Vec<u8> = [a, b].iter().flat_map(|w| w.to_le_bytes()).collect();
                    d.cmd_bind_pipeline(c, compute, pipeline);
                    d.cmd_bind_descriptor_sets(c, compute, layout, 0, &[set], &[]);
                    d.cmd_push_constants(c, layout, stage, 0, &push);
                    d.cmd_dispatch(c, WORDS / 64, 1, 1);
                }
                Op::Clear { image, value } => {
                    let colour = vk::ClearColorValue { uint32: [value, 1, 2, 3] };
                    let range = vk::ImageSubresourceRange {
                        aspect_mask: vk::ImageAspectFlags::COLOR,
                        base_mip_level: 0,
                        level_count: 1,
                        base_array_layer: 0,
                        layer_count: 1,
                    };
                    let image = self.images[image as usize];
                    d.cmd_clear_color_image(c, image, general, &colour, &[range]);
                }
                Op::ToImage { buffer, at, pitch, image, rect } => {
                    let (b, i) = (self.buffers[buffer as usize], self.images[image as usize]);
                    d.cmd_copy_buffer_to_image(c, b, i, general, &region(at, pitch, rect));
                }
                Op::ToBuffer { buffer, at, pitch, image, rect } => {
                    let (b, i) = (self.buffers[buffer as usize], self.images[image as usize]);
                    d.cmd_copy_image_to_buffer(c, i, general, b, &region(at, pitch, rect));
                }
                Op::Between { from, to, rect, to_at } => {
                    let copy = vk::ImageCopy {
                        src_subresource: LAYERS,
                        src_offset: rect.offset(),
                        dst_subresource: LAYERS,
                        dst_offset: Rect { at: to_at, ..rect }.offset(),
                        extent: rect.extent(),
                    };
                    let [from, to] = [from, to].map(|i| self.images[i as usize]);
                    d.cmd_copy_image(c, from, general, to, general, &[copy]);
                }
            }
        }
    }

    /// Records some of the parts into command buffers of a pool owned by this thread.
    fn record_parts(
        &self,
        pool: vk::CommandPool,
        parts: &[&[Op]],
    ) -> Result<Vec<vk::CommandBuffer>> {
        let allocate = vk::CommandBufferAllocateInfo::default()
            .command_pool(pool)
            .command_buffer_count(parts.len() as u32);
        // SAFETY: this thread alone uses the pool.
        let buffers = unsafe { self.device.allocate_command_buffers(&allocate) }
            .during("vkAllocateCommandBuffers")?;
        for (&c, part) in buffers.iter().zip(parts) {
            // SAFETY: the command buffer is new.
            unsafe { self.device.begin_command_buffer(c, &vk::CommandBufferBeginInfo::default()) }
                .during("vkBeginCommandBuffer")?;
            part.iter().for_each(|op| self.record(c, op));
            // SAFETY: the command buffer is being recorded.
            unsafe { self.device.end_command_buffer(c) }.during("vkEndCommandBuffer")?;
        }
        Ok(buffers)
    }
}

/// The buffers and images of a sequence, with their initial contents.
fn objects(b: &Bench, start: &Memory) -> Result<(Vec<Buffer>, Vec<Image>, Vec<Kernel>)> {
    let gpu = b.gpu;
    let buffers = start.buffers.iter().map(|w| gpu.buffer(w)).collect::<Result<Vec<_>>>()?;
    let spec = ImageSpec {
        usage: vk::ImageUsageFlags::TRANSFER_SRC | vk::ImageUsageFlags::TRANSFER_DST,
        ..ImageSpec::sampled(vk::Format::R32_UINT, Shape::D2, [SIZE_PX[0], SIZE_PX[1], 1])
    };
    let images = start.images.iter().enumerate().map(|(k, words)| {
        // Every second image may be compressed: it is a render target, and only the GPU fills it.
        let (other, transfer) = match k % 2 {
            0 => (vk::ImageUsageFlags::SAMPLED, spec.transfer),
            _ => (vk::ImageUsageFlags::COLOR_ATTACHMENT, Transfer::Gpu),
        };
        let image = gpu.image(ImageSpec { usage: spec.usage | other, transfer, ..spec })?;
        let bytes = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        gpu.fill_image(&image, &[bytes])?;
        Ok(image)
    });
    let images = images.collect::<Result<Vec<_>>>()?;
    let kernel = |buffer| gpu.kernel(&b.spirv[0]).storage(&[buffer]).push_bytes(8).build();
    let kernels = buffers.iter().map(kernel).collect::<Result<Vec<_>>>()?;
    Ok((buffers, images, kernels))
}

/// Command pools that are destroyed at the end.
struct Pools<'a>(&'a Gpu, Vec<vk::CommandPool>);

impl Drop for Pools<'_> {
    fn drop(&mut self) {
        for &pool in &self.1 {
            // SAFETY: the work is over.
            unsafe { self.0.device.destroy_command_pool(pool, None) }
        }
    }
}

fn sequence(seed: u64) -> Case {
    let about = format!("random commands with seed {seed}, recorded by two threads");
    let shaders = vec![Shader::new("step.comp")];
    Case::new(format!("sequences/seed_{seed}"), about, shaders, move |b| {
        let gpu = b.gpu;
        let mut dice = Random::new(0x5e9_0000 + seed);
        let words = |r: &mut Random, n: u32| (0..n).map(|_| r.next_u32()).collect::<Vec<u32>>();
        let mut memory = Memory {
            buffers: (0..BUFFERS).map(|_| words(&mut dice, WORDS)).collect(),
            images: (0..IMAGES).map(|_| words(&mut dice, SIZE_PX[0] * SIZE_PX[1])).collect(),
        };
        let (buffers, images, kernels) = objects(b, &memory)?;
        let parts: Vec<Vec<Op>> =
            (0..PARTS).map(|_| (0..COMMANDS).map(|_| Op::random(&mut dice)).collect()).collect();
        let all = Objects {
            device: gpu.device.clone(),
            buffers: buffers.iter().map(|b| b.handle).collect(),
            images: images.iter().map(|i| i.handle).collect(),
            kernels: kernels.iter().map(|k| (k.pipeline, k.layout, k.set)).collect(),
        };
        let mut pools = Pools(gpu, Vec::new());
        for _ in 0..2 {
            pools.1.push(gpu.command_pool_of_thread()?);
        }
        let of = |thread: usize| -> Vec<&[Op]> {
            parts.iter().skip(thread).step_by(2).map(|p| &p[..]).collect()
        };
        let (all, of, handles) = (&all, &of, &pools.1);
        let recorded = std::thread::scope(|s| {
            let threads = [0, 1].map(|k| {
                let pool = handles[k];
                s.spawn(move || all.record_parts(pool, &of(k)))
            });
            threads.map(|t| t.join().unwrap_or_else(|p| std::panic::resume_unwind(p)))
        });
        let [even, odd] = recorded;
        let (even, odd) = (even?, odd?);
        let order: Vec<_> = even.into_iter().zip(odd).flat_map(|(a, b)| [a, b]).collect();
        gpu.submit_all(&order)?;
        let mut out = Vec::new();
        let bytes = 4 * (SIZE_PX[0] * SIZE_PX[1]) as usize;
        let read = |i| gpu.read_image(i, 0, bytes);
        let pictures = images.iter().map(read).collect::<Result<Vec<_>>>()?;
        parts.iter().flatten().for_each(|op| op.apply(&mut memory));
        for (k, (buffer, expected)) in buffers.iter().zip(&memory.buffers).enumerate() {
            out.push(Output::cpu(
                &format!("buffer {k}"),
                &buffer.read::<u32>(),
                expected,
                Rule::Bits,
            ));
        }
        for (k, (texels, expected)) in pictures.iter().zip(&memory.images).enumerate() {
            let expected: Vec<u8> = expected.iter().flat_map(|w| w.to_le_bytes()).collect();
            out.push(Output::cpu(&format!("image {k}"), texels, &expected, Rule::Bits));
        }
        Ok(out)
    })
}

/// The cases of this theme.
pub fn cases() -> Vec<Case> {
    (0..24).map(sequence).collect()
}
