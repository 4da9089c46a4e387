//! Images, their views, and samplers; texels go in and out by the host or by copies on the GPU.

use ash::{ext, vk};

use super::{Destroyable, During, Error, Gpu, Result};

/// The shape of an image and of the view that shaders see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are Vulkan's")]
pub enum Shape {
    D1,
    D1Array,
    D2,
    D2Array,
    D3,
    Cube,
    CubeArray,
}

impl Shape {
    fn image_type(self) -> vk::ImageType {
        match self {
            Shape::D1 | Shape::D1Array => vk::ImageType::TYPE_1D,
            Shape::D3 => vk::ImageType::TYPE_3D,
            _ => vk::ImageType::TYPE_2D,
        }
    }

    fn view_type(self) -> vk::ImageViewType {
        match self {
            Shape::D1 => vk::ImageViewType::TYPE_1D,
            Shape::D1Array => vk::ImageViewType::TYPE_1D_ARRAY,
            Shape::D2 => vk::ImageViewType::TYPE_2D,
            Shape::D2Array => vk::ImageViewType::TYPE_2D_ARRAY,
            Shape::D3 => vk::ImageViewType::TYPE_3D,
            Shape::Cube => vk::ImageViewType::CUBE,
            Shape::CubeArray => vk::ImageViewType::CUBE_ARRAY,
        }
    }
}

/// The transfer of texels between the host and an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// `VK_EXT_host_image_copy`: the driver's own code on the CPU. The image is not compressed.
    Host,
    /// `vkCmdCopyBufferToImage` and back: compute kernels of the driver.
    Gpu,
}

/// Parameters of an image.
#[derive(Clone, Copy, Debug)]
pub struct ImageSpec {
    /// Texel format.
    pub format: vk::Format,
    /// Shape.
    pub shape: Shape,
    /// Width, height and depth of level 0 in texels; 1 in directions that the shape does not have.
    pub size_px: [u32; 3],
    /// Array layers; six a cube.
    pub layers: u32,
    /// Mip levels.
    pub levels: u32,
    /// Samples of a texel.
    pub samples: vk::SampleCountFlags,
    /// Linear or optimal tiling.
    pub tiling: vk::ImageTiling,
    /// Usage beyond what the transfer needs.
    pub usage: vk::ImageUsageFlags,
    /// The transfer of texels.
    pub transfer: Transfer,
}

impl ImageSpec {
    /// A sampled image with one level and optimal tiling, filled by the host.
    pub fn sampled(format: vk::Format, shape: Shape, size_px: [u32; 3]) -> ImageSpec {
        ImageSpec {
            format,
            shape,
            size_px,
            layers: match shape {
                Shape::Cube => 6,
                Shape::CubeArray => 12,
                Shape::D1Array | Shape::D2Array => 3,
                _ => 1,
            },
            levels: 1,
            samples: vk::SampleCountFlags::TYPE_1,
            tiling: vk::ImageTiling::OPTIMAL,
            usage: vk::ImageUsageFlags::SAMPLED,
            transfer: Transfer::Host,
        }
    }

    /// A storage image with one level and optimal tiling.
    pub fn storage(format: vk::Format, shape: Shape, size_px: [u32; 3]) -> ImageSpec {
        ImageSpec {
            usage: vk::ImageUsageFlags::STORAGE,
            ..ImageSpec::sampled(format, shape, size_px)
        }
    }

    /// With all mip levels down to one texel.
    pub fn mipmapped(mut self) -> ImageSpec {
        self.levels = self.size_px.iter().max().map_or(1, |m| m.ilog2() + 1);
        self
    }

    /// With texels that travel through `transfer`.
    pub fn through(mut self, transfer: Transfer) -> ImageSpec {
        self.transfer = transfer;
        self
    }

    /// With several samples.
    pub fn samples(mut self, samples: vk::SampleCountFlags) -> ImageSpec {
        self.samples = samples;
        self
    }

    /// With linear tiling.
    pub fn linear(mut self) -> ImageSpec {
        self.tiling = vk::ImageTiling::LINEAR;
        self
    }

    /// With other array layers.
    pub fn layers(mut self, layers: u32) -> ImageSpec {
        self.layers = layers;
        self
    }

    /// With other mip levels.
    pub fn levels(mut self, levels: u32) -> ImageSpec {
        self.levels = levels;
        self
    }

    /// Size of a level in texels.
    pub fn level_px(&self, level: u32) -> [u32; 3] {
        self.size_px.map(|size| (size >> level).max(1))
    }

    /// Bytes of a level, all layers, tightly packed, for texel blocks of the given size.
    pub fn level_bytes(&self, level: u32, block_px: [u32; 2], block_bytes: usize) -> usize {
        let [width, height, depth] = self.level_px(level);
        let blocks = width.div_ceil(block_px[0]) * height.div_ceil(block_px[1]) * depth;
        blocks as usize * block_bytes * self.layers as usize
    }

    fn aspect(&self) -> vk::ImageAspectFlags {
        match self.format {
            vk::Format::D16_UNORM
            | vk::Format::X8_D24_UNORM_PACK32
            | vk::Format::D32_SFLOAT
            | vk::Format::D24_UNORM_S8_UINT
            | vk::Format::D32_SFLOAT_S8_UINT => vk::ImageAspectFlags::DEPTH,
            vk::Format::S8_UINT => vk::ImageAspectFlags::STENCIL,
            _ => vk::ImageAspectFlags::COLOR,
        }
    }

    fn level_layers(&self, level: u32) -> vk::ImageSubresourceLayers {
        vk::ImageSubresourceLayers {
            aspect_mask: self.aspect(),
            mip_level: level,
            base_array_layer: 0,
            layer_count: self.layers,
        }
    }

    /// All aspects: what barriers and attachments name.
    fn aspects(&self) -> vk::ImageAspectFlags {
        match self.format {
            vk::Format::D24_UNORM_S8_UINT | vk::Format::D32_SFLOAT_S8_UINT => {
                vk::ImageAspectFlags::DEPTH | vk::ImageAspectFlags::STENCIL
            }
            _ => self.aspect(),
        }
    }

    /// All levels and layers.
    pub fn whole(&self) -> vk::ImageSubresourceRange {
        vk::ImageSubresourceRange {
            aspect_mask: self.aspects(),
            base_mip_level: 0,
            level_count: self.levels,
            base_array_layer: 0,
            layer_count: self.layers,
        }
    }

    /// The creation structure of such an image.
    pub(crate) fn create_info(
        &self,
        flags: vk::ImageCreateFlags,
        usage: vk::ImageUsageFlags,
    ) -> vk::ImageCreateInfo<'static> {
        let cube = match self.shape {
            Shape::Cube | Shape::CubeArray => vk::ImageCreateFlags::CUBE_COMPATIBLE,
            _ => vk::ImageCreateFlags::empty(),
        };
        vk::ImageCreateInfo::default()
            .flags(flags | cube)
            .image_type(self.shape.image_type())
            .format(self.format)
            .extent(self.extent(0))
            .mip_levels(self.levels)
            .array_layers(self.layers)
            .samples(self.samples)
            .tiling(self.tiling)
            .usage(usage)
    }

    fn extent(&self, level: u32) -> vk::Extent3D {
        let [width, height, depth] = self.level_px(level);
        vk::Extent3D { width, height, depth }
    }
}

/// An image with a view of all of it, in the general layout.
pub struct Image {
    /// Its parameters.
    pub spec: ImageSpec,
    /// The handle.
    pub handle: vk::Image,
    /// A view of the whole.
    pub view: vk::ImageView,
}

/// The part of an image that a view covers.
#[derive(Clone, Copy, Debug)]
pub struct ViewSpec {
    /// Shape that shaders see.
    pub shape: Shape,
    /// Format that shaders see.
    pub format: vk::Format,
    /// Components.
    pub swizzle: [vk::ComponentSwizzle; 4],
    /// First level and number of levels.
    pub levels: [u32; 2],
    /// First layer and number of layers.
    pub layers: [u32; 2],
    /// Smallest level of detail, from the image's first level on, if the view has one.
    pub min_lod: Option<f32>,
}

impl ViewSpec {
    /// All of an image.
    pub fn whole(spec: &ImageSpec) -> ViewSpec {
        ViewSpec {
            shape: spec.shape,
            format: spec.format,
            swizzle: [vk::ComponentSwizzle::IDENTITY; 4],
            levels: [0, spec.levels],
            layers: [0, spec.layers],
            min_lod: None,
        }
    }
}

/// Parameters of a sampler.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "the names are Vulkan's")]
pub struct SamplerSpec {
    pub mag: vk::Filter,
    pub min: vk::Filter,
    pub mip: vk::SamplerMipmapMode,
    pub wrap: [vk::SamplerAddressMode; 3],
    pub border: vk::BorderColor,
    /// The bits of a custom border colour, which `border` must name.
    pub custom_border: [u32; 4],
    /// The format of the images that a custom border colour is for; undefined for any.
    pub border_format: vk::Format,
    pub compare: Option<vk::CompareOp>,
    pub reduction: vk::SamplerReductionMode,
    pub anisotropy: f32,
    pub bias: f32,
    pub lod: [f32; 2],
    pub unnormalized: bool,
    pub seamless: bool,
}

impl SamplerSpec {
    /// One filter for everything, one wrap for all coordinates.
    pub fn new(filter: vk::Filter, wrap: vk::SamplerAddressMode) -> SamplerSpec {
        SamplerSpec {
            mag: filter,
            min: filter,
            mip: if filter == vk::Filter::LINEAR {
                vk::SamplerMipmapMode::LINEAR
            } else {
                vk::SamplerMipmapMode::NEAREST
            },
            wrap: [wrap; 3],
            border: vk::BorderColor::FLOAT_TRANSPARENT_BLACK,
            custom_border: [0; 4],
            border_format: vk::Format::UNDEFINED,
            compare: None,
            reduction: vk::SamplerReductionMode::WEIGHTED_AVERAGE,
            anisotropy: 1.0,
            bias: 0.0,
            lod: [0.0, vk::LOD_CLAMP_NONE],
            unnormalized: false,
            seamless: true,
        }
    }
}

impl Gpu {
    /// An image in the general layout whose content is undefined.
    pub fn image(&self, spec: ImageSpec) -> Result<Image> {
        self.image_with(spec, vk::ImageCreateFlags::empty())
    }

    /// Features of images of a format with optimal tiling.
    pub fn format_features(&self, format: vk::Format) -> vk::FormatFeatureFlags {
        // SAFETY: the physical device is the instance's.
        let all =
            unsafe { self.instance.get_physical_device_format_properties(self.physical, format) };
        all.optimal_tiling_features
    }

    /// Whether shaders sample images of a format.
    pub fn samples(&self, format: vk::Format) -> bool {
        self.format_features(format).contains(vk::FormatFeatureFlags::SAMPLED_IMAGE)
    }

    /// An image without memory.
    pub fn bare_image(&self, create: &vk::ImageCreateInfo<'_>) -> Result<vk::Image> {
        // SAFETY: the device is live.
        let handle = unsafe { self.device.create_image(create, None) }.during("vkCreateImage")?;
        self.keep(Destroyable::Image(handle));
        Ok(handle)
    }

    /// An image with creation flags of its own.
    pub fn image_with(&self, spec: ImageSpec, flags: vk::ImageCreateFlags) -> Result<Image> {
        self.image_over(spec, flags, None)
    }

    /// An image in memory of which the host has set each byte before the image is first used.
    pub fn image_over(
        &self,
        spec: ImageSpec,
        flags: vk::ImageCreateFlags,
        before: Option<u8>,
    ) -> Result<Image> {
        let mut usage = spec.usage;
        usage |= match spec.transfer {
            Transfer::Host => {
                self.require(ext::host_image_copy::NAME)?;
                vk::ImageUsageFlags::HOST_TRANSFER_EXT
            }
            Transfer::Gpu => vk::ImageUsageFlags::TRANSFER_SRC | vk::ImageUsageFlags::TRANSFER_DST,
        };
        let create = spec.create_info(flags, usage);
        // An unsupported combination is an error here, not a fault in the driver.
        // SAFETY: the physical device is live.
        let known = unsafe {
            self.instance.get_physical_device_image_format_properties(
                self.physical,
                spec.format,
                create.image_type,
                spec.tiling,
                usage,
                create.flags,
            )
        }
        // Up to four samples, cases try what drivers make of counts that they do not list.
        .is_ok_and(|limits| {
            create.samples.as_raw() <= 4 || limits.sample_counts.contains(create.samples)
        });
        if !known {
            return Err(Error::Missing(format!("images like {spec:?}")));
        }
        let handle = self.bare_image(&create)?;
        // SAFETY: the image is live.
        let needs = unsafe { self.device.get_image_memory_requirements(handle) };
        let mapped = match before {
            Some(_) => {
                vk::MemoryPropertyFlags::HOST_VISIBLE | vk::MemoryPropertyFlags::HOST_COHERENT
            }
            None => vk::MemoryPropertyFlags::empty(),
        };
        let memory = self.allocate(needs, mapped)?;
        if let Some(byte) = before {
            // SAFETY: the memory is new, host-visible, and has the bytes.
            unsafe {
                let flags = vk::MemoryMapFlags::empty();
                let map = self.device.map_memory(memory, 0, vk::WHOLE_SIZE, flags);
                map.during("vkMapMemory")?.cast::<u8>().write_bytes(byte, needs.size as usize);
                self.device.unmap_memory(memory);
            }
        }
        // SAFETY: the memory is new and of a type that the image allows.
        unsafe { self.device.bind_image_memory(handle, memory, 0) }.during("vkBindImageMemory")?;
        let view = self.view(handle, &spec, ViewSpec::whole(&spec))?;
        let image = Image { spec, handle, view };
        self.to_general(&image)?;
        Ok(image)
    }

    /// An image with the layout that a DRM format modifier, and the first byte and the bytes of a row of each plane say, in memory that
    /// the host has written.
    pub fn image_in(
        &self,
        spec: ImageSpec,
        (modifier, planes): (u64, &[(u64, u64)]),
        memory: &[u8],
    ) -> Result<Image> {
        self.require(ext::image_drm_format_modifier::NAME)?;
        let layout = |&(offset, row_pitch): &(u64, u64)| vk::SubresourceLayout {
            offset,
            row_pitch,
            ..Default::default()
        };
        let planes: Vec<_> = planes.iter().map(layout).collect();
        let mut explicit = vk::ImageDrmFormatModifierExplicitCreateInfoEXT::default()
            .drm_format_modifier(modifier)
            .plane_layouts(&planes);
        let usage =
            spec.usage | vk::ImageUsageFlags::TRANSFER_SRC | vk::ImageUsageFlags::TRANSFER_DST;
        let mut asked = vk::PhysicalDeviceImageDrmFormatModifierInfoEXT::default()
            .drm_format_modifier(modifier);
        let asked = vk::PhysicalDeviceImageFormatInfo2::default()
            .format(spec.format)
            .ty(spec.shape.image_type())
            .tiling(vk::ImageTiling::DRM_FORMAT_MODIFIER_EXT)
            .usage(usage)
            .push_next(&mut asked);
        let mut limits = vk::ImageFormatProperties2::default();
        // SAFETY: the physical device is live.
        let known = unsafe {
            self.instance.get_physical_device_image_format_properties2(
                self.physical,
                &asked,
                &mut limits,
            )
        };
        known.map_err(|_| {
            Error::Missing(format!("images like {spec:?} with modifier {modifier:#x}"))
        })?;
        let create = vk::ImageCreateInfo::default()
            .image_type(spec.shape.image_type())
            .format(spec.format)
            .extent(spec.extent(0))
            .mip_levels(spec.levels)
            .array_layers(spec.layers)
            .samples(spec.samples)
            .tiling(vk::ImageTiling::DRM_FORMAT_MODIFIER_EXT)
            .usage(usage)
            .push_next(&mut explicit);
        // SAFETY: the device is live and the parameters are supported.
        let handle = unsafe { self.device.create_image(&create, None) }.during("vkCreateImage")?;
        self.keep(Destroyable::Image(handle));
        // SAFETY: the image is live.
        let needs = unsafe { self.device.get_image_memory_requirements(handle) };
        if needs.size < memory.len() as u64 {
            return Err(Error::Missing(format!("an image of {} bytes", memory.len())));
        }
        let bound = self.allocate(
            needs,
            vk::MemoryPropertyFlags::HOST_VISIBLE | vk::MemoryPropertyFlags::HOST_COHERENT,
        )?;
        // SAFETY: the memory is new, of a type that the image allows, host-visible, and as large as what is written.
        unsafe {
            self.device.bind_image_memory(handle, bound, 0).during("vkBindImageMemory")?;
            let map = self
                .device
                .map_memory(bound, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty())
                .during("vkMapMemory")?;
            map.cast::<u8>().copy_from_nonoverlapping(memory.as_ptr(), memory.len());
            self.device.unmap_memory(bound);
        }
        let view = self.view(handle, &spec, ViewSpec::whole(&spec))?;
        Ok(Image { spec, handle, view })
    }

    /// An image with texels: one slice a level, all layers, tightly packed.
    pub fn image_of(&self, spec: ImageSpec, levels: &[Vec<u8>]) -> Result<Image> {
        let image = self.image(spec)?;
        self.fill_image(&image, levels)?;
        Ok(image)
    }

    pub(crate) fn to_general(&self, image: &Image) -> Result<()> {
        match image.spec.transfer {
            Transfer::Host => {
                let host = ext::host_image_copy::Device::new(&self.instance, &self.device);
                let transition = vk::HostImageLayoutTransitionInfoEXT::default()
                    .image(image.handle)
                    .old_layout(vk::ImageLayout::UNDEFINED)
                    .new_layout(vk::ImageLayout::GENERAL)
                    .subresource_range(image.spec.whole());
                // SAFETY: the image is live, bound, and has host transfer usage.
                unsafe { host.transition_image_layout(&[transition]) }
                    .during("vkTransitionImageLayoutEXT")
            }
            Transfer::Gpu => self.submit(|c| {
                let barriers = [vk::ImageMemoryBarrier2::default()
                    .src_stage_mask(vk::PipelineStageFlags2::ALL_COMMANDS)
                    .dst_stage_mask(vk::PipelineStageFlags2::ALL_COMMANDS)
                    .dst_access_mask(vk::AccessFlags2::MEMORY_READ | vk::AccessFlags2::MEMORY_WRITE)
                    .old_layout(vk::ImageLayout::UNDEFINED)
                    .new_layout(vk::ImageLayout::GENERAL)
                    .image(image.handle)
                    .subresource_range(image.spec.whole())];
                let dependency = vk::DependencyInfo::default().image_memory_barriers(&barriers);
                // SAFETY: the image is live and bound.
                unsafe { self.device.cmd_pipeline_barrier2(c.handle, &dependency) }
            }),
        }
    }

    /// Replaces the texels of all levels.
    pub fn fill_image(&self, image: &Image, levels: &[Vec<u8>]) -> Result<()> {
        let spec = &image.spec;
        match spec.transfer {
            Transfer::Host => {
                let host = ext::host_image_copy::Device::new(&self.instance, &self.device);
                for (level, texels) in levels.iter().enumerate() {
                    let region = [vk::MemoryToImageCopyEXT {
                        p_host_pointer: texels.as_ptr().cast(),
                        image_subresource: spec.level_layers(level as u32),
                        image_extent: spec.extent(level as u32),
                        ..Default::default()
                    }];
                    let copy = vk::CopyMemoryToImageInfoEXT::default()
                        .dst_image(image.handle)
                        .dst_image_layout(vk::ImageLayout::GENERAL)
                        .regions(&region);
                    // SAFETY: `texels` has the bytes of the whole level: the caller made it so
                    // with `ImageSpec::level_bytes`.
                    unsafe { host.copy_memory_to_image(&copy) }.during("vkCopyMemoryToImageEXT")?;
                }
                Ok(())
            }
            Transfer::Gpu => {
                let mut staging = Vec::new();
                for texels in levels {
                    staging.push(self.buffer::<u8>(texels)?);
                }
                self.submit(|c| {
                    for (level, buffer) in staging.iter().enumerate() {
                        let region = vk::BufferImageCopy {
                            image_subresource: spec.level_layers(level as u32),
                            image_extent: spec.extent(level as u32),
                            ..Default::default()
                        };
                        // SAFETY: buffer and image are live and as large as the region says.
                        unsafe {
                            self.device.cmd_copy_buffer_to_image(
                                c.handle,
                                buffer.handle,
                                image.handle,
                                vk::ImageLayout::GENERAL,
                                &[region],
                            );
                        }
                    }
                    c.barrier();
                })
            }
        }
    }

    /// The texels of a level, all layers, tightly packed into `len_bytes` bytes.
    pub fn read_image(&self, image: &Image, level: u32, len_bytes: usize) -> Result<Vec<u8>> {
        let spec = &image.spec;
        match spec.transfer {
            Transfer::Host => {
                let host = ext::host_image_copy::Device::new(&self.instance, &self.device);
                let mut texels = vec![0u8; len_bytes];
                let region = [vk::ImageToMemoryCopyEXT {
                    p_host_pointer: texels.as_mut_ptr().cast(),
                    image_subresource: spec.level_layers(level),
                    image_extent: spec.extent(level),
                    ..Default::default()
                }];
                let copy = vk::CopyImageToMemoryInfoEXT::default()
                    .src_image(image.handle)
                    .src_image_layout(vk::ImageLayout::GENERAL)
                    .regions(&region);
                // SAFETY: `texels` has room for the whole level: the caller counted its bytes.
                unsafe { host.copy_image_to_memory(&copy) }.during("vkCopyImageToMemoryEXT")?;
                Ok(texels)
            }
            Transfer::Gpu => {
                let buffer = self.poisoned(len_bytes)?;
                self.submit(|c| {
                    c.barrier();
                    let region = vk::BufferImageCopy {
                        image_subresource: spec.level_layers(level),
                        image_extent: spec.extent(level),
                        ..Default::default()
                    };
                    // SAFETY: buffer and image are live and as large as the region says.
                    unsafe {
                        self.device.cmd_copy_image_to_buffer(
                            c.handle,
                            image.handle,
                            vk::ImageLayout::GENERAL,
                            buffer.handle,
                            &[region],
                        );
                    }
                })?;
                Ok(buffer.bytes())
            }
        }
    }

    /// A view of a part of an image.
    pub fn view(
        &self,
        image: vk::Image,
        spec: &ImageSpec,
        view: ViewSpec,
    ) -> Result<vk::ImageView> {
        let [r, g, b, a] = view.swizzle;
        let mut least = vk::ImageViewMinLodCreateInfoEXT::default();
        let mut create = vk::ImageViewCreateInfo::default()
            .image(image)
            .view_type(view.shape.view_type())
            .format(view.format)
            .components(vk::ComponentMapping { r, g, b, a })
            .subresource_range(vk::ImageSubresourceRange {
                aspect_mask: if spec.usage.contains(vk::ImageUsageFlags::DEPTH_STENCIL_ATTACHMENT) {
                    spec.aspects()
                } else {
                    spec.aspect()
                },
                base_mip_level: view.levels[0],
                level_count: view.levels[1],
                base_array_layer: view.layers[0],
                layer_count: view.layers[1],
            });
        if let Some(min_lod) = view.min_lod {
            self.require(ext::image_view_min_lod::NAME)?;
            least = least.min_lod(min_lod);
            create = create.push_next(&mut least);
        }
        // SAFETY: the image is live and bound to memory.
        let view =
            unsafe { self.device.create_image_view(&create, None) }.during("vkCreateImageView")?;
        self.keep(Destroyable::ImageView(view));
        Ok(view)
    }

    /// A sampler.
    pub fn sampler(&self, spec: SamplerSpec) -> Result<vk::Sampler> {
        let mut custom = vk::SamplerCustomBorderColorCreateInfoEXT::default()
            .custom_border_color(vk::ClearColorValue { uint32: spec.custom_border })
            .format(spec.border_format);
        let flags = if spec.seamless {
            vk::SamplerCreateFlags::empty()
        } else {
            self.require(ext::non_seamless_cube_map::NAME)?;
            vk::SamplerCreateFlags::NON_SEAMLESS_CUBE_MAP_EXT
        };
        let mut create = vk::SamplerCreateInfo::default()
            .flags(flags)
            .mag_filter(spec.mag)
            .min_filter(spec.min)
            .mipmap_mode(spec.mip)
            .address_mode_u(spec.wrap[0])
            .address_mode_v(spec.wrap[1])
            .address_mode_w(spec.wrap[2])
            .mip_lod_bias(spec.bias)
            .anisotropy_enable(spec.anisotropy > 1.0)
            .max_anisotropy(spec.anisotropy)
            .compare_enable(spec.compare.is_some())
            .compare_op(spec.compare.unwrap_or(vk::CompareOp::NEVER))
            .min_lod(spec.lod[0])
            .max_lod(spec.lod[1])
            .border_color(spec.border)
            .unnormalized_coordinates(spec.unnormalized);
        let is_custom = [vk::BorderColor::FLOAT_CUSTOM_EXT, vk::BorderColor::INT_CUSTOM_EXT];
        if is_custom.contains(&spec.border) {
            self.require(ext::custom_border_color::NAME)?;
            create = create.push_next(&mut custom);
        }
        let mut reduction =
            vk::SamplerReductionModeCreateInfo::default().reduction_mode(spec.reduction);
        if spec.reduction != vk::SamplerReductionMode::WEIGHTED_AVERAGE {
            self.require(ext::sampler_filter_minmax::NAME)?;
            create = create.push_next(&mut reduction);
        }
        // SAFETY: the device is live and what the sampler needs is enabled.
        let sampler =
            unsafe { self.device.create_sampler(&create, None) }.during("vkCreateSampler")?;
        self.keep(Destroyable::Sampler(sampler));
        Ok(sampler)
    }
}
