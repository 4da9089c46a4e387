//! Images of several planes, and samplers with a Y′CbCr conversion.

use ash::vk;

use super::{Destroyable, During, Error, Gpu, Result};

/// An image of planes and its conversion.
#[derive(Clone, Copy, Debug)]
pub struct ConvertedSpec<'a> {
    /// Format of the image.
    pub format: vk::Format,
    /// Width and height in pixels.
    pub size_px: [u32; 2],
    /// Width and height of each plane in texels.
    pub planes: &'a [[u32; 2]],
    /// Linear or optimal tiling.
    pub tiling: vk::ImageTiling,
    /// Each plane has memory of its own.
    pub disjoint: bool,
    /// The conversion.
    pub conversion: vk::SamplerYcbcrConversionCreateInfo<'a>,
    /// Filter of luma and chroma.
    pub filter: vk::Filter,
}

const ASPECTS: [vk::ImageAspectFlags; 3] =
    [vk::ImageAspectFlags::PLANE_0, vk::ImageAspectFlags::PLANE_1, vk::ImageAspectFlags::PLANE_2];

impl Gpu {
    /// A view and an immutable sampler of a new image with these texels, plane by plane.
    pub fn converted(
        &self,
        spec: ConvertedSpec,
        texels: &[Vec<u8>],
    ) -> Result<(vk::ImageView, vk::Sampler)> {
        let mut offered = vk::PhysicalDeviceVulkan11Features::default();
        let mut features = vk::PhysicalDeviceFeatures2::default().push_next(&mut offered);
        // SAFETY: the physical device is live.
        unsafe { self.instance.get_physical_device_features2(self.physical, &mut features) };
        if offered.sampler_ycbcr_conversion == vk::FALSE {
            return Err(Error::Missing("samplerYcbcrConversion".into()));
        }
        let image = self.planar(&spec)?;
        self.fill_planes(image, &spec, texels)?;
        // SAFETY: the device is live, and the format can be converted.
        let conversion =
            unsafe { self.device.create_sampler_ycbcr_conversion(&spec.conversion, None) }
                .during("vkCreateSamplerYcbcrConversion")?;
        self.keep(Destroyable::Conversion(conversion));
        let mut info = vk::SamplerYcbcrConversionInfo::default().conversion(conversion);
        let range = vk::ImageSubresourceRange {
            aspect_mask: vk::ImageAspectFlags::COLOR,
            level_count: 1,
            layer_count: 1,
            ..Default::default()
        };
        let create = vk::ImageViewCreateInfo::default()
            .image(image)
            .view_type(vk::ImageViewType::TYPE_2D)
            .format(spec.format)
            .subresource_range(range)
            .push_next(&mut info);
        // SAFETY: the image is bound, and the conversion is of its format.
        let view =
            unsafe { self.device.create_image_view(&create, None) }.during("vkCreateImageView")?;
        self.keep(Destroyable::ImageView(view));
        let mut info = vk::SamplerYcbcrConversionInfo::default().conversion(conversion);
        let edge = vk::SamplerAddressMode::CLAMP_TO_EDGE;
        let create = vk::SamplerCreateInfo::default()
            .mag_filter(spec.filter)
            .min_filter(spec.filter)
            .address_mode_u(edge)
            .address_mode_v(edge)
            .address_mode_w(edge)
            .push_next(&mut info);
        // SAFETY: the conversion is live.
        let sampler =
            unsafe { self.device.create_sampler(&create, None) }.during("vkCreateSampler")?;
        self.keep(Destroyable::Sampler(sampler));
        Ok((view, sampler))
    }

    fn planar(&self, spec: &ConvertedSpec) -> Result<vk::Image> {
        let [width, height] = spec.size_px;
        let flags = match spec.disjoint {
            true => vk::ImageCreateFlags::DISJOINT,
            false => vk::ImageCreateFlags::empty(),
        };
        let usage = vk::ImageUsageFlags::SAMPLED | vk::ImageUsageFlags::TRANSFER_DST;
        let create = vk::ImageCreateInfo::default()
            .flags(flags)
            .image_type(vk::ImageType::TYPE_2D)
            .format(spec.format)
            .extent(vk::Extent3D { width, height, depth: 1 })
            .mip_levels(1)
            .array_layers(1)
            .samples(vk::SampleCountFlags::TYPE_1)
            .tiling(spec.tiling)
            .usage(usage);
        // SAFETY: the physical device is live.
        let _limits = unsafe {
            self.instance.get_physical_device_image_format_properties(
                self.physical,
                spec.format,
                vk::ImageType::TYPE_2D,
                spec.tiling,
                usage,
                flags,
            )
        }
        .map_err(|_| Error::Missing(format!("images like {spec:?}")))?;
        // SAFETY: the device is live and the parameters are supported.
        let image = unsafe { self.device.create_image(&create, None) }.during("vkCreateImage")?;
        self.keep(Destroyable::Image(image));
        if !spec.disjoint {
            // SAFETY: the image is live; the memory is new and of a type that the image allows.
            let needs = unsafe { self.device.get_image_memory_requirements(image) };
            let memory = self.allocate(needs, vk::MemoryPropertyFlags::empty())?;
            // SAFETY: as above.
            unsafe { self.device.bind_image_memory(image, memory, 0) }
                .during("vkBindImageMemory")?;
            return Ok(image);
        }
        for aspect in &ASPECTS[..spec.planes.len()] {
            let mut plane = vk::ImagePlaneMemoryRequirementsInfo::default().plane_aspect(*aspect);
            let info =
                vk::ImageMemoryRequirementsInfo2::default().image(image).push_next(&mut plane);
            let mut needs = vk::MemoryRequirements2::default();
            // SAFETY: the image is live and disjoint.
            unsafe { self.device.get_image_memory_requirements2(&info, &mut needs) };
            let memory =
                self.allocate(needs.memory_requirements, vk::MemoryPropertyFlags::empty())?;
            let mut plane = vk::BindImagePlaneMemoryInfo::default().plane_aspect(*aspect);
            let bind = vk::BindImageMemoryInfo::default()
                .image(image)
                .memory(memory)
                .push_next(&mut plane);
            // SAFETY: the memory is new and of a type that the plane allows.
            unsafe { self.device.bind_image_memory2(&[bind]) }.during("vkBindImageMemory2")?;
        }
        Ok(image)
    }

    fn fill_planes(
        &self,
        image: vk::Image,
        spec: &ConvertedSpec,
        texels: &[Vec<u8>],
    ) -> Result<()> {
        let buffers = texels.iter().map(|t| self.buffer::<u8>(t)).collect::<Result<Vec<_>>>()?;
        self.submit(|c| {
            let barriers = [vk::ImageMemoryBarrier2::default()
                .src_stage_mask(vk::PipelineStageFlags2::ALL_COMMANDS)
                .dst_stage_mask(vk::PipelineStageFlags2::ALL_COMMANDS)
                .dst_access_mask(vk::AccessFlags2::MEMORY_READ | vk::AccessFlags2::MEMORY_WRITE)
                .new_layout(vk::ImageLayout::GENERAL)
                .image(image)
                .subresource_range(vk::ImageSubresourceRange {
                    aspect_mask: vk::ImageAspectFlags::COLOR,
                    level_count: 1,
                    layer_count: 1,
                    ..Default::default()
                })];
            let dependency = vk::DependencyInfo::default().image_memory_barriers(&barriers);
            // SAFETY: the image is live and bound.
            unsafe { self.device.cmd_pipeline_barrier2(c.handle, &dependency) }
            for ((aspect, [width, height]), buffer) in
                ASPECTS.into_iter().zip(spec.planes.iter().copied()).zip(&buffers)
            {
                let region = vk::BufferImageCopy {
                    image_subresource: vk::ImageSubresourceLayers {
                        aspect_mask: aspect,
                        layer_count: 1,
                        ..Default::default()
                    },
                    image_extent: vk::Extent3D { width, height, depth: 1 },
                    ..Default::default()
                };
                // SAFETY: buffer and plane are live and as large as the region says.
                unsafe {
                    self.device.cmd_copy_buffer_to_image(
                        c.handle,
                        buffer.handle,
                        image,
                        vk::ImageLayout::GENERAL,
                        &[region],
                    );
                }
            }
            c.barrier();
        })
    }
}
