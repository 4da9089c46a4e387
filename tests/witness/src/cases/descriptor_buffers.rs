//! Descriptors in buffers that the application writes.

use ash::vk;

use crate::case::{Case, Output, Rule, Shader};
use crate::gpu::{Bind, Gpu, ImageSpec, LayoutBinding, SamplerSpec, Shape};
use crate::number::{Number, Random};

/// All kinds of descriptors in a set that begins within its buffer, written after the command was recorded; some buffers may be null.
fn all_kinds(name: &str, nulls: bool) -> Case {
    use vk::DescriptorType as T;
    const THREADS: usize = 64;
    const KINDS: [(T, u32); 8] = [
        (T::UNIFORM_BUFFER, 3),
        (T::STORAGE_BUFFER, 4),
        (T::UNIFORM_TEXEL_BUFFER, 2),
        (T::STORAGE_TEXEL_BUFFER, 1),
        (T::COMBINED_IMAGE_SAMPLER, 2),
        (T::SAMPLED_IMAGE, 1),
        (T::STORAGE_IMAGE, 1),
        (T::INLINE_UNIFORM_BLOCK, 48),
    ];
    let about = "descriptors of all kinds, written to memory after commands were recorded";
    let shaders = vec![Shader::new("descriptor_buffer.comp").define("NULLS", u32::from(nulls))];
    Case::new(format!("memory/{name}"), about, shaders, move |bench| {
        let gpu = &Gpu::open_with(&bench.gpu.name, ash::ext::descriptor_buffer::NAME)?;
        let buffers = gpu.descriptor_buffers()?;
        let random = |seed, count| Random::integers(seed, count);
        let scales: Vec<_> = (0..3).map(|k| random(100 + k, 4)).collect();
        let words = random(1, THREADS);
        let texels: Vec<_> = (0..2).map(|k| random(200 + k, THREADS)).collect();
        let before = random(2, THREADS);
        let pictures: Vec<_> = (0..3).map(|k| random(300 + k, THREADS)).collect();
        let inlined = random(3, 12);

        let result = gpu.output::<u32>(THREADS)?;
        let input = gpu.buffer(&words)?;
        let scale_buffers = scales.iter().map(|s| gpu.buffer(s)).collect::<Result<Vec<_>, _>>()?;
        let texel_buffers = texels.iter().map(|t| gpu.buffer(t)).collect::<Result<Vec<_>, _>>()?;
        let stored = gpu.buffer(&before)?;
        let spec = |spec: fn(vk::Format, Shape, [u32; 3]) -> ImageSpec| {
            spec(vk::Format::R32_UINT, Shape::D2, [8, 8, 1])
        };
        let images = pictures
            .iter()
            .map(|p| gpu.image_of(spec(ImageSpec::sampled), &[u32::to_bytes(p)]))
            .collect::<Result<Vec<_>, _>>()?;
        let target = gpu.image_of(spec(ImageSpec::storage), &[vec![0; 4 * THREADS]])?;
        let edge = vk::SamplerAddressMode::CLAMP_TO_EDGE;
        let sampler = gpu.sampler(SamplerSpec::new(vk::Filter::NEAREST, edge))?;

        let bindings = KINDS.map(|(kind, count)| -> LayoutBinding<'_> { (kind, count, &[]) });
        let layout = buffers.layout(&bindings, false)?;
        let embedded = buffers.layout(&[(T::SAMPLER, 1, &[sampler])], true)?;
        let kernel = gpu
            .kernel(&bench.spirv[0])
            .flags(vk::PipelineCreateFlags::DESCRIPTOR_BUFFER_EXT)
            .build_for(&[layout, embedded])?;
        // The set is the second one in its buffer.
        let set = buffers.aligned(1);
        let memory = buffers.buffer(layout, set)?;
        let recorded = gpu.record(|c| {
            let bound =
                vk::DescriptorBufferBindingInfoEXT::default().address(memory.address).usage(
                    vk::BufferUsageFlags::RESOURCE_DESCRIPTOR_BUFFER_EXT
                        | vk::BufferUsageFlags::SAMPLER_DESCRIPTOR_BUFFER_EXT,
                );
            let point = vk::PipelineBindPoint::COMPUTE;
            // SAFETY: the command buffer is being recorded, and what it uses is live until it has run.
            unsafe {
                gpu.device.cmd_bind_pipeline(c.handle, point, kernel.pipeline);
                buffers.api.cmd_bind_descriptor_buffers(c.handle, &[bound]);
                buffers.api.cmd_set_descriptor_buffer_offsets(
                    c.handle,
                    point,
                    kernel.layout,
                    0,
                    &[0],
                    &[set],
                );
                buffers.api.cmd_bind_descriptor_buffer_embedded_samplers(
                    c.handle,
                    point,
                    kernel.layout,
                    1,
                );
                gpu.device.cmd_dispatch(c.handle, 1, 1, 1);
            }
        })?;
        let uint = vk::Format::R32_UINT;
        let write = |binding: u32, all: Vec<Option<Bind<'_>>>| {
            let kind = KINDS[binding as usize].0;
            buffers.write(&memory, set, (layout, binding), &all, kind, uint);
        };
        write(0, scale_buffers.iter().map(|b| Some(Bind::Uniform(b))).collect());
        let input = Some(Bind::Storage(&input));
        let last = if nulls { None } else { input };
        write(1, vec![input, Some(Bind::Storage(&result)), last, last]);
        write(2, texel_buffers.iter().map(|b| Some(Bind::Uniform(b))).collect());
        write(3, vec![Some(Bind::Storage(&stored))]);
        write(4, images[..2].iter().map(|i| Some(Bind::Texture(i.view, sampler))).collect());
        write(5, vec![Some(Bind::Sampled(images[2].view))]);
        write(6, vec![Some(Bind::StorageImage(target.view))]);
        let block = set + buffers.offset(layout, 7);
        memory.write_at(block as usize, &u32::to_bytes(&inlined));
        gpu.submit_all(&[recorded])?;
        // SAFETY: the submission is over.
        unsafe { gpu.device.free_command_buffers(gpu.command_pool, &[recorded]) };

        let expected: Vec<u32> = (0..THREADS)
            .map(|i| {
                let n = words[i];
                let values = [
                    texels[n as usize & 1][i],
                    before[i],
                    pictures[i & 1][i],
                    pictures[2][i],
                    inlined[i % 3 * 4 + (n as usize & 3)],
                    if nulls { 0 } else { n },
                ];
                let first = scales[n as usize % 3][i & 3];
                values.iter().fold(first, |r, &v| r.wrapping_mul(31).wrapping_add(v))
            })
            .collect();
        let with = |f: fn(u32) -> u32| expected.iter().map(|&r| f(r)).collect::<Vec<_>>();
        let image = u32::from_slice(&gpu.read_image(&target, 0, 4 * THREADS)?);
        Ok(vec![
            Output::cpu("results", &result.read::<u32>(), &expected, Rule::Bits),
            Output::cpu("texel buffer", &stored.read::<u32>(), &with(|r| !r), Rule::Bits),
            Output::cpu("image", &image, &with(|r| r ^ 5), Rule::Bits),
        ])
    })
    // Lavapipe's process dies.
    .without_lavapipe()
}

/// The cases.
pub fn cases() -> Vec<Case> {
    vec![all_kinds("descriptor_buffer", false), all_kinds("descriptor_buffer_null", true)]
}
