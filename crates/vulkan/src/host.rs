//! Copies between images and the host's memory without the GPU.

use std::slice::from_raw_parts_mut;

use tepui_format::units::Extent;
use tepui_layout::Region;
use vulkanalia_sys as vk;

use crate::backend::{Backend, HostCopy};
use crate::device::Device;
use crate::entry;
use crate::error::{Error, Result};
use crate::image::{Image, aspect_format};
use crate::object::{get, slice};
use crate::transfer::pixels;

/// The rectangles of a copy, with their numbers from 0.
fn rectangles<B: Backend>(
    image: &Image<B>,
    layers: vk::ImageSubresourceLayers,
    offset: vk::Offset3D,
    extent: vk::Extent3D,
) -> impl Iterator<Item = (u32, Region)> {
    let is_3d = image.info.image_type == vk::ImageType::_3D;
    let (first, count) = match is_3d {
        true => (offset.z.max(0) as u32, extent.depth),
        false => (layers.base_array_layer, image.layer_count(layers)),
    };
    let region = Region {
        level: layers.mip_level,
        layer: 0,
        sample: 0,
        origin_px: (offset.x.max(0) as u32, offset.y.max(0) as u32),
        extent_px: Extent::new(extent.width, extent.height),
    };
    (0..count).map(move |k| (k, Region { layer: first + k, ..region }))
}

fn unbound() -> Error {
    Error::new(vk::Result::ERROR_MEMORY_MAP_FAILED, "the image has no memory")
}

/// Copies one region of an image to or from memory whose first pixel is at `pointer`.
#[allow(clippy::too_many_arguments, reason = "the parts of the API's regions")]
unsafe fn copy<B: Backend>(
    image: &Image<B>,
    layers: vk::ImageSubresourceLayers,
    offset: vk::Offset3D,
    extent: vk::Extent3D,
    pointer: *mut u8,
    (row_length, height): (u32, u32),
    flags: vk::HostImageCopyFlags,
    to_image: bool,
) -> Result<()> {
    let plane = B::plane(&image.layout, layers.aspect_mask);
    let memory = B::plane_memory(&image.layout, plane);
    // The bytes of a sparse image lie anywhere: those of a subresource are gathered where they would be in one piece.
    let mut gathered = Vec::new();
    let host = match image.host(plane) {
        Some(host) => host,
        None if image.sparse.is_some() => {
            let size = usize::try_from(memory.size).map_err(|_| Error::host_memory())?;
            gathered.try_reserve_exact(size).map_err(|_| Error::host_memory())?;
            gathered.resize(size, 0);
            gathered.as_mut_ptr()
        }
        None => return Err(unbound()),
    };
    let lines = pixels(image, layers.aspect_mask, 0, row_length, height, extent);
    let row_pitch = lines.row_pitch as usize;
    let block = aspect_format(image.info.format, layers.aspect_mask).info().block;
    let [columns, rows] =
        [extent.width.div_ceil(block.width_px), extent.height.div_ceil(block.height_px)];
    if columns == 0 || rows == 0 {
        return Ok(());
    }
    let bytes = (rows as usize - 1) * row_pitch + columns as usize * block.bytes as usize;
    let mut done = 0;
    for (k, r) in rectangles(image, layers, offset, extent) {
        let s = B::subresource(&image.layout, plane, r.level, r.layer);
        let inside = s.offset as usize..(s.offset + s.size) as usize;
        if let Some(bytes) = gathered.get_mut(inside.clone()) {
            image.pages.read(memory.offset + s.offset, bytes);
        }
        if flags.contains(vk::HostImageCopyFlags::MEMCPY) {
            // The application keeps the driver's own arrangement.
            // SAFETY: the application's memory has the size that it was told; the subresource is inside of the image.
            unsafe {
                let (inside, outside) = (host.add(s.offset as usize), pointer.add(done as usize));
                match to_image {
                    true => inside.copy_from_nonoverlapping(outside, s.size as usize),
                    false => outside.copy_from_nonoverlapping(inside, s.size as usize),
                }
            }
            done += s.size;
        } else {
            // SAFETY: the application's memory reaches as far as its region says, the plane's as far as its size.
            let (inside, outside) = unsafe {
                let at = pointer.add((u64::from(k) * lines.slice_pitch) as usize);
                (from_raw_parts_mut(host, memory.size as usize), from_raw_parts_mut(at, bytes))
            };
            let copy = HostCopy { region: r, plane: inside, rows: outside, row_pitch, to_image };
            B::copy_host(&image.layout, plane, copy)?;
        }
        if let Some(bytes) = gathered.get(inside).filter(|_| to_image) {
            image.pages.write(memory.offset + s.offset, bytes);
        }
    }
    Ok(())
}

/// Copies one region from image to image, depth and stencil one after the other.
unsafe fn copy_between<B: Backend>(
    from: &Image<B>,
    to: &Image<B>,
    r: &vk::ImageCopy2,
) -> Result<()> {
    use vk::ImageAspectFlags as A;
    let both = A::DEPTH | A::STENCIL;
    let (own, others) = (
        [(r.src_subresource.aspect_mask, r.dst_subresource.aspect_mask)],
        [(A::DEPTH, A::DEPTH), (A::STENCIL, A::STENCIL)],
    );
    let has_both = r.src_subresource.aspect_mask.contains(both);
    for &(source, target) in if has_both { &others[..] } else { &own[..] } {
        let source = vk::ImageSubresourceLayers { aspect_mask: source, ..r.src_subresource };
        let target = vk::ImageSubresourceLayers { aspect_mask: target, ..r.dst_subresource };
        let lines = pixels(from, source.aspect_mask, 0, 0, 0, r.extent);
        let is_3d = from.info.image_type == vk::ImageType::_3D;
        let count = if is_3d { r.extent.depth } else { from.layer_count(source) };
        let size = lines.slice_pitch * u64::from(count.max(r.extent.depth));
        let size = usize::try_from(size).map_err(|_| Error::host_memory())?;
        let mut raster: Vec<u8> = Vec::new();
        raster.try_reserve_exact(size).map_err(|_| Error::host_memory())?;
        raster.resize(size, 0);
        let (at, flags) = (raster.as_mut_ptr(), vk::HostImageCopyFlags::empty());
        // SAFETY: the rows have room for the region; the rest is as the caller says.
        unsafe {
            copy::<B>(from, source, r.src_offset, r.extent, at, (0, 0), flags, false)?;
            copy::<B>(to, target, r.dst_offset, r.extent, at, (0, 0), flags, true)?;
        }
    }
    Ok(())
}

entry! {
    /// `vkCopyMemoryToImage`.
    fn vkCopyMemoryToImage<B: Backend>(_device: vk::Device, info: *const vk::CopyMemoryToImageInfo) -> vk::Result {
        unsafe {
            let i = &*info;
            for r in slice(i.regions, i.region_count) {
                copy::<B>(get(i.dst_image), r.image_subresource, r.image_offset, r.image_extent, r.host_pointer.cast_mut().cast(),
                    (r.memory_row_length, r.memory_image_height), i.flags, true)?;
            }
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkCopyImageToMemory`.
    fn vkCopyImageToMemory<B: Backend>(_device: vk::Device, info: *const vk::CopyImageToMemoryInfo) -> vk::Result {
        unsafe {
            let i = &*info;
            for r in slice(i.regions, i.region_count) {
                copy::<B>(get(i.src_image), r.image_subresource, r.image_offset, r.image_extent, r.host_pointer.cast(),
                    (r.memory_row_length, r.memory_image_height), i.flags, false)?;
            }
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkCopyImageToImage`.
    fn vkCopyImageToImage<B: Backend>(_device: vk::Device, info: *const vk::CopyImageToImageInfo) -> vk::Result {
        unsafe {
            let i = &*info;
            let (from, to): (&Image<B>, &Image<B>) = (get(i.src_image), get(i.dst_image));
            for r in slice(i.regions, i.region_count) {
                copy_between(from, to, r)?;
            }
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkTransitionImageLayout`: all layouts of the API are identical in memory.
    fn vkTransitionImageLayout<B: Backend>(device: vk::Device, _count: u32, _transitions: *const vk::HostImageLayoutTransitionInfo) -> vk::Result {
        unsafe { Device::<B>::of(device).check()? }
        Ok(vk::Result::SUCCESS)
    }
}
