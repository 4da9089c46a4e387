//! Images by the driver's entry points: layouts that the application gives, and clears.

use std::ptr::null;

use tepui_vulkan::vk::{self, Handle};

use crate::{DeviceOnly, call, ok};

const SIZE_B: u64 = 65536;
const DMA_BUF: vk::ExternalMemoryHandleTypeFlags = vk::ExternalMemoryHandleTypeFlags::DMA_BUF_EXT;

/// A byte of a buffer that something else has laid out.
fn pattern(at: u64) -> u8 {
    (at * 151 + (at >> 8) * 7) as u8
}

/// A plane of an image: aspect, width and height in elements, bytes of one, and where its rows are.
struct Rows {
    aspect: vk::ImageAspectFlags,
    size: [u32; 2],
    element: u64,
    offset: u64,
    pitch: u64,
}

impl DeviceOnly {
    fn memory(&self, size: u64, next: *const std::ffi::c_void) -> vk::DeviceMemory {
        let info = vk::MemoryAllocateInfo { next, allocation_size: size, ..Default::default() };
        let mut memory = vk::DeviceMemory::null();
        ok(call!(
            self.instance,
            PFN_vkAllocateMemory,
            vkAllocateMemory(self.device, &info, null(), &mut memory)
        ));
        memory
    }

    fn map(&self, memory: vk::DeviceMemory) -> *mut u8 {
        let mut host = std::ptr::null_mut();
        let flags = vk::MemoryMapFlags::empty();
        ok(call!(
            self.instance,
            PFN_vkMapMemory,
            vkMapMemory(self.device, memory, 0, vk::WHOLE_SIZE, flags, &mut host)
        ));
        host.cast()
    }

    fn image(&self, info: &vk::ImageCreateInfo) -> Result<vk::Image, vk::Result> {
        let mut image = vk::Image::null();
        let result = call!(
            self.instance,
            PFN_vkCreateImage,
            vkCreateImage(self.device, info, null(), &mut image)
        );
        if result == vk::Result::SUCCESS { Ok(image) } else { Err(result) }
    }

    /// Copies an aspect of an image to a new buffer by the GPU, after other commands; gives its bytes.
    fn pixels(
        &self,
        image: vk::Image,
        aspect: vk::ImageAspectFlags,
        [width, height]: [u32; 2],
        size: u64,
        before: impl FnOnce(vk::CommandBuffer),
    ) -> Vec<u8> {
        let (i, d) = (self.instance, self.device);
        let usage = vk::BufferUsageFlags::TRANSFER_DST;
        let info = vk::BufferCreateInfo { size, usage, ..Default::default() };
        let mut buffer = vk::Buffer::null();
        ok(call!(i, PFN_vkCreateBuffer, vkCreateBuffer(d, &info, null(), &mut buffer)));
        let memory = self.memory(size, null());
        ok(call!(i, PFN_vkBindBufferMemory, vkBindBufferMemory(d, buffer, memory, 0)));
        let region = vk::BufferImageCopy {
            image_subresource: vk::ImageSubresourceLayers {
                aspect_mask: aspect,
                layer_count: 1,
                ..Default::default()
            },
            image_extent: vk::Extent3D { width, height, depth: 1 },
            ..Default::default()
        };
        self.submit(|c| {
            before(c);
            let layout = vk::ImageLayout::GENERAL;
            call!(
                i,
                PFN_vkCmdCopyImageToBuffer,
                vkCmdCopyImageToBuffer(c, image, layout, buffer, 1, &region)
            );
        });
        // SAFETY: the memory is mapped, and the queue is idle.
        let bytes = unsafe { std::slice::from_raw_parts(self.map(memory), size as usize) }.to_vec();
        call!(i, PFN_vkDestroyBuffer, vkDestroyBuffer(d, buffer, null()));
        call!(i, PFN_vkFreeMemory, vkFreeMemory(d, memory, null()));
        bytes
    }
}

/// An image in rows that something else has laid out, in memory that is shared; how many bytes of it are not the pattern's.
fn wrong_bytes(
    device: &DeviceOnly,
    format: vk::Format,
    [width, height]: [u32; 2],
    planes: &[Rows],
) -> Result<usize, vk::Result> {
    let (i, d) = (device.instance, device.device);
    let layouts: Vec<_> = planes
        .iter()
        .map(|p| vk::SubresourceLayout {
            offset: p.offset,
            row_pitch: p.pitch,
            ..Default::default()
        })
        .collect();
    let explicit = vk::ImageDrmFormatModifierExplicitCreateInfoEXT {
        drm_format_modifier_plane_count: layouts.len() as u32,
        plane_layouts: layouts.as_ptr(),
        ..Default::default()
    };
    let external = vk::ExternalMemoryImageCreateInfo {
        next: (&raw const explicit).cast(),
        handle_types: DMA_BUF,
        ..Default::default()
    };
    let image = device.image(&vk::ImageCreateInfo {
        next: (&raw const external).cast(),
        image_type: vk::ImageType::_2D,
        format,
        extent: vk::Extent3D { width, height, depth: 1 },
        mip_levels: 1,
        array_layers: 1,
        samples: vk::SampleCountFlags::_1,
        tiling: vk::ImageTiling::DRM_FORMAT_MODIFIER_EXT,
        usage: vk::ImageUsageFlags::TRANSFER_SRC | vk::ImageUsageFlags::SAMPLED,
        ..Default::default()
    })?;
    for (k, plane) in layouts.iter().enumerate() {
        let aspect = vk::ImageAspectFlags::from_bits_truncate(
            vk::ImageAspectFlags::MEMORY_PLANE_0_EXT.bits() << k,
        );
        let sub = vk::ImageSubresource { aspect_mask: aspect, ..Default::default() };
        let mut got = vk::SubresourceLayout::default();
        call!(
            i,
            PFN_vkGetImageSubresourceLayout,
            vkGetImageSubresourceLayout(d, image, &sub, &mut got)
        );
        assert_eq!((got.offset, got.row_pitch), (plane.offset, plane.row_pitch), "plane {k}");
    }
    let export = vk::ExportMemoryAllocateInfo { handle_types: DMA_BUF, ..Default::default() };
    let memory = device.memory(SIZE_B, (&raw const export).cast());
    let host = device.map(memory);
    // SAFETY: the memory is mapped.
    (0..SIZE_B).for_each(|at| unsafe { host.add(at as usize).write(pattern(at)) });
    ok(call!(i, PFN_vkBindImageMemory, vkBindImageMemory(d, image, memory, 0)));
    let mut wrong = 0;
    for p in planes {
        let row = u64::from(p.size[0]) * p.element;
        let size = row * u64::from(p.size[1]);
        let bytes = device.pixels(image, p.aspect, p.size, size, |_| ());
        let expected = (0..size).map(|at| pattern(p.offset + at / row * p.pitch + at % row));
        wrong += bytes.iter().zip(expected).filter(|(a, b)| **a != *b).count();
    }
    call!(i, PFN_vkDestroyImage, vkDestroyImage(d, image, null()));
    call!(i, PFN_vkFreeMemory, vkFreeMemory(d, memory, null()));
    Ok(wrong)
}

#[test]
fn planes_are_where_the_application_says() {
    let device =
        DeviceOnly::new(&[c"VK_EXT_image_drm_format_modifier", c"VK_EXT_external_memory_dma_buf"]);
    let rgba = |offset, pitch| {
        let (aspect, size) = (vk::ImageAspectFlags::COLOR, [33, 17]);
        let plane = Rows { aspect, size, element: 4, offset, pitch };
        wrong_bytes(&device, vk::Format::R8G8B8A8_UNORM, size, &[plane])
    };
    for (offset, pitch) in [(0, 512), (4096, 512), (256, 192), (16, 144)] {
        assert_eq!(rgba(offset, pitch), Ok(0), "{offset} {pitch}");
    }
    let refused = vk::Result::ERROR_INVALID_DRM_FORMAT_MODIFIER_PLANE_LAYOUT_EXT;
    for (offset, pitch) in [(8, 512), (0, 516), (0, 128), (0, 1 << 40), (u64::MAX - 15, 512)] {
        assert_eq!(rgba(offset, pitch), Err(refused), "{offset} {pitch}");
    }
    let nv12 = vk::Format::G8_B8R8_2PLANE_420_UNORM;
    let planes = |luma: [u64; 2], chroma: [u64; 2]| {
        [
            Rows {
                aspect: vk::ImageAspectFlags::PLANE_0,
                size: [64, 32],
                element: 1,
                offset: luma[0],
                pitch: luma[1],
            },
            Rows {
                aspect: vk::ImageAspectFlags::PLANE_1,
                size: [32, 16],
                element: 2,
                offset: chroma[0],
                pitch: chroma[1],
            },
        ]
    };
    for (luma, chroma) in [([0, 256], [16384, 256]), ([1024, 128], [7168, 192])] {
        assert_eq!(wrong_bytes(&device, nv12, [64, 32], &planes(luma, chroma)), Ok(0));
    }
    let one = &planes([0, 256], [0, 0])[..1];
    assert_eq!(wrong_bytes(&device, nv12, [64, 32], one), Err(refused), "one of two planes");
}

#[test]
fn modifiers_have_the_planes_of_their_format() {
    let device = DeviceOnly::new(&[c"VK_EXT_image_drm_format_modifier"]);
    let planes = [
        (vk::Format::R8G8B8A8_UNORM, 1),
        (vk::Format::G8_B8R8_2PLANE_420_UNORM, 2),
        (vk::Format::G8_B8_R8_3PLANE_420_UNORM, 3),
    ];
    for (format, expected) in planes {
        let mut all = [vk::DrmFormatModifierPropertiesEXT::default(); 8];
        let mut list = vk::DrmFormatModifierPropertiesListEXT {
            drm_format_modifier_count: all.len() as u32,
            drm_format_modifier_properties: all.as_mut_ptr(),
            ..Default::default()
        };
        let next = (&raw mut list).cast();
        let mut out = vk::FormatProperties2 { next, ..Default::default() };
        call!(
            device.instance,
            PFN_vkGetPhysicalDeviceFormatProperties2,
            vkGetPhysicalDeviceFormatProperties2(device.physical, format, &mut out)
        );
        let count = list.drm_format_modifier_count as usize;
        assert!(count > 0, "{format:?}");
        for m in &all[..count] {
            assert_eq!(m.drm_format_modifier_plane_count, expected, "{format:?}");
        }
    }
}

/// Clears an image of one format, and reads its first pixel; none if images of the format are no target of transfers.
fn cleared(device: &DeviceOnly, format: vk::Format, value: vk::ClearColorValue) -> Option<u64> {
    let i = device.instance;
    let mut of = vk::FormatProperties::default();
    call!(
        i,
        PFN_vkGetPhysicalDeviceFormatProperties,
        vkGetPhysicalDeviceFormatProperties(device.physical, format, &mut of)
    );
    if !of.optimal_tiling_features.contains(vk::FormatFeatureFlags::TRANSFER_DST) {
        return None;
    }
    let usage = vk::ImageUsageFlags::TRANSFER_SRC | vk::ImageUsageFlags::TRANSFER_DST;
    let image = device.image(&vk::ImageCreateInfo {
        image_type: vk::ImageType::_2D,
        format,
        extent: vk::Extent3D { width: 5, height: 3, depth: 1 },
        mip_levels: 1,
        array_layers: 1,
        samples: vk::SampleCountFlags::_1,
        usage,
        ..Default::default()
    });
    let image = image.unwrap();
    let memory = device.memory(SIZE_B, null());
    ok(call!(i, PFN_vkBindImageMemory, vkBindImageMemory(device.device, image, memory, 0)));
    let range = vk::ImageSubresourceRange {
        aspect_mask: vk::ImageAspectFlags::COLOR,
        level_count: 1,
        layer_count: 1,
        ..Default::default()
    };
    let bytes = device.pixels(image, vk::ImageAspectFlags::COLOR, [5, 3], 15 * 16, |c| {
        let layout = vk::ImageLayout::GENERAL;
        call!(
            i,
            PFN_vkCmdClearColorImage,
            vkCmdClearColorImage(c, image, layout, &value, 1, &range)
        );
        let barrier = vk::MemoryBarrier {
            src_access_mask: vk::AccessFlags::MEMORY_WRITE,
            dst_access_mask: vk::AccessFlags::MEMORY_READ,
            ..Default::default()
        };
        let (all, flags) = (vk::PipelineStageFlags::ALL_COMMANDS, vk::DependencyFlags::empty());
        call!(
            i,
            PFN_vkCmdPipelineBarrier,
            vkCmdPipelineBarrier(c, all, all, flags, 1, &barrier, 0, null(), 0, null())
        );
    });
    call!(i, PFN_vkDestroyImage, vkDestroyImage(device.device, image, null()));
    call!(i, PFN_vkFreeMemory, vkFreeMemory(device.device, memory, null()));
    Some(u64::from_le_bytes(bytes[..8].try_into().unwrap()))
}

#[test]
fn whatever_copies_write_can_be_cleared() {
    use vk::Format as F;
    let device = DeviceOnly::new(&[]);
    // Lavapipe's texels; the last two follow from the layouts of the formats.
    let unorm = vk::ClearColorValue { float32: [0.5, 0.25, 0.0, 1.0] };
    let sint = vk::ClearColorValue { int32: [-3, 5, 100, 1] };
    let cases = [
        (F::R10X6_UNORM_PACK16, unorm, 0xffff, 0x8000),
        (F::R12X4_UNORM_PACK16, unorm, 0xffff, 0x8000),
        (F::R10X6G10X6_UNORM_2PACK16, unorm, 0xffff_ffff, 0x4000_8000),
        (F::R12X4G12X4_UNORM_2PACK16, unorm, 0xffff_ffff, 0x4000_8000),
        (F::A2R10G10B10_SINT_PACK32, sint, 0xffff_ffff, 0x7fd0_1464),
        (F::A2B10G10R10_SINT_PACK32, sint, 0xffff_ffff, 0x4640_17fd),
    ];
    for (format, value, mask, expected) in cases {
        let got = cleared(&device, format, value).map(|bits| bits & mask);
        assert_eq!(got, Some(expected), "{format:?}");
    }
    // Formats of colours that are neither block-compressed nor multi-planar: others may not be cleared as colours.
    for format in (1..124).chain(1_000_156_000..1_000_156_002) {
        cleared(&device, vk::Format::from_raw(format), unorm);
    }
}
