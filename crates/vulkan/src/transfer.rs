//! Commands that copy, clear, blit and resolve, and those of queries and events.

use std::ffi::c_void;

use tepui_format::Format;
use tepui_format::texel::TexelCodec;
use vulkanalia_sys::{self as vk, Handle};

use crate::backend::{
    Attachment, Backend, Blit, BufferPixels, Encoder, ImageCopy, ImageRef, QueryInfo, Rendering,
};
use crate::command::{CommandBuffer, of};
use crate::dependency::{Dependency, Scope};
use crate::device::Device;
use crate::draws::Driver;
use crate::entry;
use crate::error::{Error, Result};
use crate::image::{Image, aspect_format};
use crate::memory::Buffer;
use crate::object::{get, handle, slice};
use crate::sync::Event;

/// A query pool.
pub struct QueryPool<B: Backend> {
    /// The family's pool.
    pub inner: B::Queries,
    /// Kind and number of its values.
    pub info: QueryInfo,
}

unsafe fn at<B: Driver>(buffer: vk::Buffer, offset: u64) -> u64 {
    // SAFETY: the buffer is live.
    unsafe { get::<Buffer<B>>(buffer) }.address + offset
}

/// The part of a buffer that pixels of a copy lie in: rows and slices of blocks.
pub(crate) fn pixels<B: Backend>(
    image: &Image<B>,
    aspect: vk::ImageAspectFlags,
    address: u64,
    row_length: u32,
    height: u32,
    extent: vk::Extent3D,
) -> BufferPixels {
    let block = aspect_format(image.info.format, aspect).info().block;
    let width = if row_length == 0 { extent.width } else { row_length };
    let height = if height == 0 { extent.height } else { height };
    let row_pitch = u64::from(width.div_ceil(block.width_px)) * u64::from(block.bytes);
    BufferPixels {
        address,
        row_pitch,
        slice_pitch: row_pitch * u64::from(height.div_ceil(block.height_px)),
    }
}

fn part<B: Driver>(
    image: &Image<B>,
    mut layers: vk::ImageSubresourceLayers,
    offset: vk::Offset3D,
) -> ImageCopy<'_, B> {
    layers.layer_count = image.layer_count(layers);
    ImageCopy {
        image: (&image.layout, &image.info, image.addresses),
        layers,
        offset: [offset.x, offset.y, offset.z],
    }
}

fn extent(e: vk::Extent3D) -> [u32; 3] {
    [e.width, e.height, e.depth]
}

fn copy_buffer<B: Driver>(
    c: vk::CommandBuffer,
    from: vk::Buffer,
    to: vk::Buffer,
    regions: Vec<[u64; 3]>,
) {
    // SAFETY: the handles are the entry point's.
    unsafe {
        let (from, to) = (at::<B>(from, 0), at::<B>(to, 0));
        of::<B>(c).record("vkCmdCopyBuffer", move |c| {
            for &[a, b, size] in &regions {
                c.encoder.copy_buffer(from + a, to + b, size)?;
            }
            Ok(())
        });
    }
}

fn copy_image<B: Driver>(
    c: vk::CommandBuffer,
    from: vk::Image,
    to: vk::Image,
    regions: Vec<vk::ImageCopy2>,
) {
    let regions = Regions(regions);
    // SAFETY: the handles are the entry point's, and live while they are recorded.
    unsafe { of::<B>(c) }.record("vkCmdCopyImage", move |c| {
        // SAFETY: as above.
        let (from, to): (&Image<B>, &Image<B>) = unsafe { (get(from), get(to)) };
        for r in regions.list() {
            let a = part(from, r.src_subresource, r.src_offset);
            let b = part(to, r.dst_subresource, r.dst_offset);
            c.encoder.copy_image(&a, &b, extent(r.extent))?;
        }
        Ok(())
    });
}

fn copy_buffer_image<B: Driver>(
    c: vk::CommandBuffer,
    buffer: vk::Buffer,
    image: vk::Image,
    regions: Vec<vk::BufferImageCopy2>,
    to_image: bool,
) {
    let regions = Regions(regions);
    // SAFETY: the handles are the entry point's, and live while they are recorded.
    unsafe { of::<B>(c) }.record("vkCmdCopyBufferToImage", move |c| {
        // SAFETY: as above.
        let image: &Image<B> = unsafe { get(image) };
        for r in regions.list() {
            // SAFETY: as above.
            let address = unsafe { at::<B>(buffer, r.buffer_offset) };
            let p = part(image, r.image_subresource, r.image_offset);
            let aspect = r.image_subresource.aspect_mask;
            let lines = pixels(
                image,
                aspect,
                address,
                r.buffer_row_length,
                r.buffer_image_height,
                r.image_extent,
            );
            c.encoder.copy_buffer_image(&p, lines, extent(r.image_extent), to_image)?;
        }
        Ok(())
    });
}

fn blit<B: Driver>(
    c: vk::CommandBuffer,
    from: vk::Image,
    to: vk::Image,
    regions: Vec<vk::ImageBlit2>,
    filter: vk::Filter,
) {
    let regions = Regions(regions);
    // SAFETY: the handles are the entry point's, and live while they are recorded.
    unsafe { of::<B>(c) }.record("vkCmdBlitImage", move |c| {
        // SAFETY: as above.
        let (from, to): (&Image<B>, &Image<B>) = unsafe { (get(from), get(to)) };
        for r in regions.list() {
            let mut region = *r;
            region.src_subresource.layer_count = from.layer_count(r.src_subresource);
            region.dst_subresource.layer_count = to.layer_count(r.dst_subresource);
            c.encoder.blit(&Blit {
                source: (&from.layout, &from.info, from.addresses),
                target: (&to.layout, &to.info, to.addresses),
                region,
                linear: filter != vk::Filter::NEAREST,
            })?;
        }
        Ok(())
    });
}

fn resolve<B: Driver>(
    c: vk::CommandBuffer,
    from: vk::Image,
    to: vk::Image,
    regions: Vec<vk::ImageResolve2>,
) {
    let regions = Regions(regions);
    // SAFETY: the handles are the entry point's, and live while they are recorded.
    unsafe { of::<B>(c) }.record("vkCmdResolveImage", move |c| {
        // SAFETY: as above.
        let (from, to): (&Image<B>, &Image<B>) = unsafe { (get(from), get(to)) };
        let integer = from.info.format.info().numeric().is_integer();
        let mode =
            if integer { vk::ResolveModeFlags::SAMPLE_ZERO } else { vk::ResolveModeFlags::AVERAGE };
        for r in regions.list() {
            let mut region = *r;
            region.src_subresource.layer_count = from.layer_count(r.src_subresource);
            region.dst_subresource.layer_count = to.layer_count(r.dst_subresource);
            let n = region.src_subresource.layer_count;
            let a = from.part(r.src_subresource.mip_level, r.src_subresource.base_array_layer, n);
            let b = to.part(r.dst_subresource.mip_level, r.dst_subresource.base_array_layer, n);
            c.encoder.resolve(&a, &b, &region, mode)?;
        }
        Ok(())
    });
}

/// Regions of a copy: plain data except for the pointers of their extension chains, which are no longer
/// dereferenced.
struct Regions<T>(Vec<T>);

// SAFETY: the pointers in the regions are not followed.
unsafe impl<T> Send for Regions<T> {}

impl<T> Regions<T> {
    fn list(&self) -> &[T] {
        &self.0
    }
}

/// Clears levels and layers of an image: a rendering of each level that only clears.
fn clear_image<B: Driver>(
    c: vk::CommandBuffer,
    image: vk::Image,
    clear: [u32; 4],
    ranges: Vec<vk::ImageSubresourceRange>,
) {
    // SAFETY: the handles are the entry point's, and live while they are recorded.
    unsafe { of::<B>(c) }.record("vkCmdClearColorImage", move |c| {
        // SAFETY: as above.
        let image: &Image<B> = unsafe { get(image) };
        for r in &ranges {
            let levels = match r.level_count {
                vk::REMAINING_MIP_LEVELS => image.info.levels - r.base_mip_level,
                n => n,
            };
            for level in r.base_mip_level..r.base_mip_level + levels {
                let (layer, layers) = match image.info.image_type {
                    vk::ImageType::_3D => (0, (image.info.extent[2] >> level).max(1)),
                    _ if r.layer_count == vk::REMAINING_ARRAY_LAYERS => {
                        (r.base_array_layer, image.info.layers - r.base_array_layer)
                    }
                    _ => (r.base_array_layer, r.layer_count),
                };
                clear_level(c, image, level, layer, layers, r.aspect_mask, clear)?;
            }
        }
        Ok(())
    });
}

/// The bits of a pixel of a clear value.
fn texel(format: Format, clear: [u32; 4]) -> Result<u128> {
    let unsupported = |_| Error::unsupported(format!("clears of {format}"));
    let codec = TexelCodec::new(format).map_err(unsupported)?;
    Ok(match format.info().numeric().is_integer() {
        true => codec.pack_u32(clear),
        false => codec.pack_f32(clear.map(f32::from_bits)),
    })
}

fn clear_level<B: Driver>(
    c: &mut CommandBuffer<B>,
    image: &Image<B>,
    level: u32,
    layer: u32,
    layers: u32,
    aspects: vk::ImageAspectFlags,
    clear: [u32; 4],
) -> Result<()> {
    let part: ImageRef<B> = image.part(level, layer, layers);
    let [width, height] = part.extent();
    let mut format = part.format;
    let mut clear = clear;
    if !B::is_rendered(&c.device, format) {
        if aspects == vk::ImageAspectFlags::STENCIL {
            clear[0] = clear[1];
        }
        let (bits, bytes) = (texel(format, clear)?, format.info().block.bytes);
        let words = Format::uint_of_size(bytes).filter(|&f| B::is_rendered(&c.device, f));
        let Some(words) = words else {
            let volume = image.info.image_type == vk::ImageType::_3D;
            let (depth, range) = if volume { (layers, (0, 1)) } else { (1, (layer, layers)) };
            let layers = vk::ImageSubresourceLayers {
                aspect_mask: aspects,
                mip_level: level,
                base_array_layer: range.0,
                layer_count: range.1,
            };
            let whole = self::part(image, layers, vk::Offset3D::default());
            let texel = &bits.to_le_bytes()[..bytes as usize];
            return c.encoder.clear_texels(&whole, texel, [width, height, depth]);
        };
        (format, clear) = (words, [0, 32, 64, 96].map(|shift| (bits >> shift) as u32));
    }
    let attachment = |clear: [u32; 4]| Attachment {
        image: std::sync::Arc::new(ImageRef { format, ..image.part(level, layer, layers) }),
        // Or the general one, which shares its restrictions for an image that commands of transfer write.
        layout: vk::ImageLayout::TRANSFER_DST_OPTIMAL,
        load: vk::AttachmentLoadOp::CLEAR,
        store: vk::AttachmentStoreOp::STORE,
        clear,
        resolve: None,
    };
    let colour = aspects.contains(vk::ImageAspectFlags::COLOR);
    let rendering = Rendering {
        area: vk::Rect2D {
            offset: vk::Offset2D { x: 0, y: 0 },
            extent: vk::Extent2D { width, height },
        },
        layers,
        view_mask: 0,
        colours: if colour { vec![Some(attachment(clear))] } else { Vec::new() },
        depth: aspects
            .contains(vk::ImageAspectFlags::DEPTH)
            .then(|| attachment([clear[0], 0, 0, 0])),
        stencil: aspects
            .contains(vk::ImageAspectFlags::STENCIL)
            .then(|| attachment([clear[1], 0, 0, 0])),
        samples: image.info.samples,
    };
    c.begin_rendering(rendering)?;
    c.end_rendering()
}

/// Records the begin of a query of a stream.
pub(crate) unsafe fn begin_query<B: Driver>(
    c: vk::CommandBuffer,
    pool: vk::QueryPool,
    query: u32,
    flags: vk::QueryControlFlags,
    stream: u8,
) {
    let precise = flags.contains(vk::QueryControlFlags::PRECISE);
    // SAFETY: the handles are the application's and valid.
    unsafe {
        of::<B>(c).record("vkCmdBeginQuery", move |c| {
            c.encoder.begin_query(&get::<QueryPool<B>>(pool).inner, query, precise, stream)
        });
    }
}

/// Records the end of a query of a stream.
pub(crate) unsafe fn end_query<B: Driver>(
    c: vk::CommandBuffer,
    pool: vk::QueryPool,
    query: u32,
    stream: u8,
) {
    // SAFETY: the handles are the application's and valid.
    unsafe {
        of::<B>(c).record("vkCmdEndQuery", move |c| {
            let views = c.state.rendering.as_ref().map_or(0, |r| r.view_mask.count_ones());
            let inner = &get::<QueryPool<B>>(pool).inner;
            c.encoder.end_query(inner, query, stream)?;
            // With several views, the following queries count zero.
            for k in 1..views {
                c.encoder.begin_query(inner, query + k, false, stream)?;
                c.encoder.end_query(inner, query + k, stream)?;
            }
            Ok(())
        });
    }
}

entry! {
    /// `vkCmdCopyBuffer`.
    fn vkCmdCopyBuffer<B: Driver>(c: vk::CommandBuffer, from: vk::Buffer, to: vk::Buffer, count: u32, regions: *const vk::BufferCopy) {
        let regions = unsafe { slice(regions, count) }.iter().map(|r| [r.src_offset, r.dst_offset, r.size]).collect();
        copy_buffer::<B>(c, from, to, regions);
    }

    /// `vkCmdCopyBuffer2`.
    fn vkCmdCopyBuffer2<B: Driver>(c: vk::CommandBuffer, info: *const vk::CopyBufferInfo2) {
        let info = unsafe { &*info };
        let regions = unsafe { slice(info.regions, info.region_count) }.iter().map(|r| [r.src_offset, r.dst_offset, r.size]).collect();
        copy_buffer::<B>(c, info.src_buffer, info.dst_buffer, regions);
    }

    /// `vkCmdFillBuffer`.
    fn vkCmdFillBuffer<B: Driver>(c: vk::CommandBuffer, buffer: vk::Buffer, offset: u64, size: u64, word: u32) {
        unsafe {
            let b: &Buffer<B> = get(buffer);
            let (address, size) = (b.address + offset, b.range(offset, size) & !3);
            of::<B>(c).record("vkCmdFillBuffer", move |c| c.encoder.fill_buffer(address, size, word));
        }
    }

    /// `vkCmdUpdateBuffer`.
    fn vkCmdUpdateBuffer<B: Driver>(c: vk::CommandBuffer, buffer: vk::Buffer, offset: u64, size: u64, data: *const c_void) {
        unsafe {
            let address = at::<B>(buffer, offset);
            let data = slice(data.cast::<u8>(), size as u32).to_vec();
            of::<B>(c).record("vkCmdUpdateBuffer", move |c| c.encoder.update_buffer(address, &data));
        }
    }

    /// `vkCmdCopyImage`.
    fn vkCmdCopyImage<B: Driver>(c: vk::CommandBuffer, from: vk::Image, _l: vk::ImageLayout, to: vk::Image, _m: vk::ImageLayout, count: u32, regions: *const vk::ImageCopy) {
        let regions = unsafe { slice(regions, count) }.iter().map(|r| vk::ImageCopy2 {
            src_subresource: r.src_subresource, src_offset: r.src_offset, dst_subresource: r.dst_subresource,
            dst_offset: r.dst_offset, extent: r.extent, ..Default::default()
        });
        copy_image::<B>(c, from, to, regions.collect());
    }

    /// `vkCmdCopyImage2`.
    fn vkCmdCopyImage2<B: Driver>(c: vk::CommandBuffer, info: *const vk::CopyImageInfo2) {
        let i = unsafe { &*info };
        copy_image::<B>(c, i.src_image, i.dst_image, unsafe { slice(i.regions, i.region_count) }.to_vec());
    }

    /// `vkCmdCopyBufferToImage`.
    fn vkCmdCopyBufferToImage<B: Driver>(c: vk::CommandBuffer, buffer: vk::Buffer, image: vk::Image, _l: vk::ImageLayout, count: u32, regions: *const vk::BufferImageCopy) {
        copy_buffer_image::<B>(c, buffer, image, unsafe { slice(regions, count) }.iter().map(wide).collect(), true);
    }

    /// `vkCmdCopyBufferToImage2`.
    fn vkCmdCopyBufferToImage2<B: Driver>(c: vk::CommandBuffer, info: *const vk::CopyBufferToImageInfo2) {
        let i = unsafe { &*info };
        copy_buffer_image::<B>(c, i.src_buffer, i.dst_image, unsafe { slice(i.regions, i.region_count) }.to_vec(), true);
    }

    /// `vkCmdCopyImageToBuffer`.
    fn vkCmdCopyImageToBuffer<B: Driver>(c: vk::CommandBuffer, image: vk::Image, _l: vk::ImageLayout, buffer: vk::Buffer, count: u32, regions: *const vk::BufferImageCopy) {
        copy_buffer_image::<B>(c, buffer, image, unsafe { slice(regions, count) }.iter().map(wide).collect(), false);
    }

    /// `vkCmdCopyImageToBuffer2`.
    fn vkCmdCopyImageToBuffer2<B: Driver>(c: vk::CommandBuffer, info: *const vk::CopyImageToBufferInfo2) {
        let i = unsafe { &*info };
        copy_buffer_image::<B>(c, i.dst_buffer, i.src_image, unsafe { slice(i.regions, i.region_count) }.to_vec(), false);
    }

    /// `vkCmdBlitImage`.
    fn vkCmdBlitImage<B: Driver>(c: vk::CommandBuffer, from: vk::Image, _l: vk::ImageLayout, to: vk::Image, _m: vk::ImageLayout, count: u32, regions: *const vk::ImageBlit, filter: vk::Filter) {
        let regions = unsafe { slice(regions, count) }.iter().map(|r| vk::ImageBlit2 {
            src_subresource: r.src_subresource, src_offsets: r.src_offsets, dst_subresource: r.dst_subresource,
            dst_offsets: r.dst_offsets, ..Default::default()
        });
        blit::<B>(c, from, to, regions.collect(), filter);
    }

    /// `vkCmdBlitImage2`.
    fn vkCmdBlitImage2<B: Driver>(c: vk::CommandBuffer, info: *const vk::BlitImageInfo2) {
        let i = unsafe { &*info };
        blit::<B>(c, i.src_image, i.dst_image, unsafe { slice(i.regions, i.region_count) }.to_vec(), i.filter);
    }

    /// `vkCmdResolveImage`.
    fn vkCmdResolveImage<B: Driver>(c: vk::CommandBuffer, from: vk::Image, _l: vk::ImageLayout, to: vk::Image, _m: vk::ImageLayout, count: u32, regions: *const vk::ImageResolve) {
        let regions = unsafe { slice(regions, count) }.iter().map(|r| vk::ImageResolve2 {
            src_subresource: r.src_subresource, src_offset: r.src_offset, dst_subresource: r.dst_subresource,
            dst_offset: r.dst_offset, extent: r.extent, ..Default::default()
        });
        resolve::<B>(c, from, to, regions.collect());
    }

    /// `vkCmdResolveImage2`.
    fn vkCmdResolveImage2<B: Driver>(c: vk::CommandBuffer, info: *const vk::ResolveImageInfo2) {
        let i = unsafe { &*info };
        resolve::<B>(c, i.src_image, i.dst_image, unsafe { slice(i.regions, i.region_count) }.to_vec());
    }

    /// `vkCmdClearColorImage`.
    fn vkCmdClearColorImage<B: Driver>(c: vk::CommandBuffer, image: vk::Image, _l: vk::ImageLayout, colour: *const vk::ClearColorValue, count: u32, ranges: *const vk::ImageSubresourceRange) {
        unsafe { clear_image::<B>(c, image, (*colour).uint32, slice(ranges, count).to_vec()) }
    }

    /// `vkCmdClearDepthStencilImage`.
    fn vkCmdClearDepthStencilImage<B: Driver>(c: vk::CommandBuffer, image: vk::Image, _l: vk::ImageLayout, value: *const vk::ClearDepthStencilValue, count: u32, ranges: *const vk::ImageSubresourceRange) {
        unsafe {
            let v = &*value;
            clear_image::<B>(c, image, [v.depth.to_bits(), v.stencil, 0, 0], slice(ranges, count).to_vec());
        }
    }

    /// `vkCmdClearAttachments`.
    fn vkCmdClearAttachments<B: Driver>(c: vk::CommandBuffer, count: u32, attachments: *const vk::ClearAttachment, rect_count: u32, rects: *const vk::ClearRect) {
        unsafe {
            let (a, r) = (Regions(slice(attachments, count).to_vec()), slice(rects, rect_count).to_vec());
            of::<B>(c).record("vkCmdClearAttachments", move |c| {
                c.encoder.clear_attachments(&mut c.state, a.list(), &r)
            });
        }
    }

    /// `vkCreateQueryPool`.
    fn vkCreateQueryPool<B: Driver>(device: vk::Device, info: *const vk::QueryPoolCreateInfo, callbacks: *const vk::AllocationCallbacks, out: *mut vk::QueryPool) -> vk::Result {
        unsafe {
            let (d, i) = (Device::<B>::of(device), &*info);
            let info = QueryInfo { kind: i.query_type, count: i.query_count, statistics: i.pipeline_statistics };
            let inner = B::queries(&d.inner, &info)?;
            *out = handle(d.allocator(callbacks).create(QueryPool::<B> { inner, info })?);
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkDestroyQueryPool`.
    fn vkDestroyQueryPool<B: Driver>(device: vk::Device, pool: vk::QueryPool, callbacks: *const vk::AllocationCallbacks) {
        unsafe { Device::<B>::of(device).allocator(callbacks).destroy(pool.as_raw() as *mut QueryPool<B>) }
    }

    /// `vkResetQueryPool`.
    fn vkResetQueryPool<B: Driver>(_device: vk::Device, pool: vk::QueryPool, first: u32, count: u32) {
        unsafe { B::reset_queries(&get::<QueryPool<B>>(pool).inner, first, count) }
    }

    /// `vkGetQueryPoolResults`.
    fn vkGetQueryPoolResults<B: Driver>(device: vk::Device, pool: vk::QueryPool, first: u32, count: u32, _size: usize, data: *mut c_void, stride: u64, flags: vk::QueryResultFlags) -> vk::Result {
        unsafe {
            let d = Device::<B>::of(device);
            let pool: &QueryPool<B> = get(pool);
            let wide = flags.contains(vk::QueryResultFlags::_64);
            let mut result = vk::Result::SUCCESS;
            let mut tries = 0u32;
            for k in 0..count {
                let value = loop {
                    let value = B::query_result(&pool.inner, first + k);
                    d.check()?;
                    if value.is_some() || !flags.contains(vk::QueryResultFlags::WAIT) {
                        break value;
                    }
                    tries += 1;
                    if tries.is_multiple_of(1000) {
                        d.probe()?;
                    }
                    std::thread::sleep(std::time::Duration::from_micros(50));
                };
                let row = data.cast::<u8>().add((u64::from(k) * stride) as usize);
                let put = |n: usize, v: u64| match wide {
                    true => row.cast::<u64>().add(n).write_unaligned(v),
                    false => row.cast::<u32>().add(n).write_unaligned(v as u32),
                };
                let values = pool.info.values();
                // What a query has so far is a result, and may be 0.
                if value.is_some() || flags.contains(vk::QueryResultFlags::PARTIAL) {
                    (0..values).for_each(|n| put(n, value.map_or(0, |v| v[n])));
                } else {
                    result = vk::Result::NOT_READY;
                }
                if flags.contains(vk::QueryResultFlags::WITH_AVAILABILITY) {
                    put(values, u64::from(value.is_some()));
                }
            }
            Ok(result)
        }
    }

    /// `vkCmdResetQueryPool`.
    fn vkCmdResetQueryPool<B: Driver>(c: vk::CommandBuffer, pool: vk::QueryPool, first: u32, count: u32) {
        unsafe {
            of::<B>(c).record("vkCmdResetQueryPool", move |c| {
                c.encoder.reset_queries(&get::<QueryPool<B>>(pool).inner, first, count)
            });
        }
    }

    /// `vkCmdBeginQuery`.
    fn vkCmdBeginQuery<B: Driver>(c: vk::CommandBuffer, pool: vk::QueryPool, query: u32, flags: vk::QueryControlFlags) {
        unsafe { begin_query::<B>(c, pool, query, flags, 0) }
    }

    /// `vkCmdEndQuery`.
    fn vkCmdEndQuery<B: Driver>(c: vk::CommandBuffer, pool: vk::QueryPool, query: u32) {
        unsafe { end_query::<B>(c, pool, query, 0) }
    }

    /// `vkCmdWriteTimestamp`.
    fn vkCmdWriteTimestamp<B: Driver>(c: vk::CommandBuffer, _stage: vk::PipelineStageFlags, pool: vk::QueryPool, query: u32) {
        unsafe {
            of::<B>(c).record("vkCmdWriteTimestamp", move |c| timestamp(c, pool, query));
        }
    }

    /// `vkCmdWriteTimestamp2`.
    fn vkCmdWriteTimestamp2<B: Driver>(c: vk::CommandBuffer, _stage: vk::PipelineStageFlags2, pool: vk::QueryPool, query: u32) {
        unsafe {
            of::<B>(c).record("vkCmdWriteTimestamp2", move |c| timestamp(c, pool, query));
        }
    }

    /// `vkCmdCopyQueryPoolResults`.
    fn vkCmdCopyQueryPoolResults<B: Driver>(c: vk::CommandBuffer, pool: vk::QueryPool, first: u32, count: u32, to: vk::Buffer, offset: u64, stride: u64, flags: vk::QueryResultFlags) {
        unsafe {
            let address = at::<B>(to, offset);
            of::<B>(c).record("vkCmdCopyQueryPoolResults", move |c| {
                c.encoder.copy_query_results(&get::<QueryPool<B>>(pool).inner, first, count, address, stride, flags)
            });
        }
    }

    /// `vkCmdSetEvent`.
    fn vkCmdSetEvent<B: Driver>(c: vk::CommandBuffer, event: vk::Event, stages: vk::PipelineStageFlags) {
        let after = Dependency::after(Scope::source_1(stages, vk::AccessFlags::empty()).stages);
        write_event::<B>(c, event, 1, after);
    }

    /// `vkCmdSetEvent2`.
    fn vkCmdSetEvent2<B: Driver>(c: vk::CommandBuffer, event: vk::Event, info: *const vk::DependencyInfo) {
        let mut after = Dependency::default();
        unsafe { after.add_2(&*info) };
        write_event::<B>(c, event, 1, after);
    }

    /// `vkCmdResetEvent`.
    fn vkCmdResetEvent<B: Driver>(c: vk::CommandBuffer, event: vk::Event, stages: vk::PipelineStageFlags) {
        let after = Dependency::after(Scope::source_1(stages, vk::AccessFlags::empty()).stages);
        write_event::<B>(c, event, 0, after);
    }

    /// `vkCmdResetEvent2`.
    fn vkCmdResetEvent2<B: Driver>(c: vk::CommandBuffer, event: vk::Event, stages: vk::PipelineStageFlags2) {
        write_event::<B>(c, event, 0, Dependency::after(stages));
    }

    /// `vkCmdWaitEvents`: commands run in order, so those that set the events are done.
    fn vkCmdWaitEvents<B: Driver>(c: vk::CommandBuffer, _count: u32, _events: *const vk::Event, src: vk::PipelineStageFlags, dst: vk::PipelineStageFlags, n: u32, memory: *const vk::MemoryBarrier, m: u32, buffers: *const vk::BufferMemoryBarrier, k: u32, images: *const vk::ImageMemoryBarrier) {
        let none = vk::DependencyFlags::empty();
        wait_events::<B>(c, unsafe { Dependency::of_1((src, dst), none, slice(memory, n), slice(buffers, m), slice(images, k)) });
    }

    /// `vkCmdWaitEvents2`.
    fn vkCmdWaitEvents2<B: Driver>(c: vk::CommandBuffer, count: u32, _events: *const vk::Event, infos: *const vk::DependencyInfo) {
        let mut dependency = Dependency::default();
        unsafe { slice(infos, count).iter().for_each(|info| dependency.add_2(info)) };
        wait_events::<B>(c, dependency);
    }
}

fn wide(r: &vk::BufferImageCopy) -> vk::BufferImageCopy2 {
    vk::BufferImageCopy2 {
        buffer_offset: r.buffer_offset,
        buffer_row_length: r.buffer_row_length,
        buffer_image_height: r.buffer_image_height,
        image_subresource: r.image_subresource,
        image_offset: r.image_offset,
        image_extent: r.image_extent,
        ..Default::default()
    }
}

unsafe fn timestamp<B: Driver>(
    c: &mut CommandBuffer<B>,
    pool: vk::QueryPool,
    query: u32,
) -> Result<()> {
    let views = c.state.rendering.as_ref().map_or(1, |r| r.view_mask.count_ones().max(1));
    // SAFETY: the pool is live.
    let inner = unsafe { &get::<QueryPool<B>>(pool).inner };
    for k in 0..views {
        c.encoder.write_timestamp(inner, query + k)?;
    }
    Ok(())
}

fn write_event<B: Driver>(
    c: vk::CommandBuffer,
    event: vk::Event,
    value: u32,
    after: Dependency<B>,
) {
    // SAFETY: the handles are the entry point's.
    unsafe {
        let address = get::<Event<B>>(event).address();
        of::<B>(c).record("vkCmdSetEvent", move |c| c.encoder.write_event(address, value, &after));
    }
}

fn wait_events<B: Driver>(c: vk::CommandBuffer, dependency: Dependency<B>) {
    // SAFETY: the handle is the entry point's.
    unsafe { of::<B>(c) }.record("vkCmdWaitEvents", move |c| c.barrier(&dependency));
}
