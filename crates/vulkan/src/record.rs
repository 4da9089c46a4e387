//! Commands that set state, draw and dispatch.

use std::ffi::c_void;
use std::sync::Arc;

use vulkanalia_sys::{self as vk, Handle};

use crate::backend::{Backend, Condition, Counts, Dispatch, Draw, Encoder};
use crate::chain;
use crate::command::{CommandBuffer, IndexBuffer, MAX_PUSH, PassState, VertexBuffer, of};
use crate::dependency::Dependency;
use crate::descriptor::{SetLayout, Template, Writer};
use crate::entry;
use crate::error::Result;
use crate::image::format_of;
use crate::memory::Buffer;
use crate::object::{get, maybe, slice};
use crate::pipeline::{Kind, Pipeline, PipelineLayout};
use crate::render_pass::{Framebuffer, RenderPass, dynamic};
use crate::state::{
    self, AdvancedBlend, Blend, GraphicsState, Groups, MAX_COLOURS, MAX_VERTEX, MAX_VIEWPORTS,
    VertexAttribute,
};

/// Records a change of a group of state.
fn set<B: Backend>(
    buffer: vk::CommandBuffer,
    name: &'static str,
    group: Groups,
    change: impl Fn(&mut GraphicsState) + Send + 'static,
) {
    // SAFETY: the handle is the entry point's.
    unsafe { of::<B>(buffer) }.record(name, move |c| {
        change(&mut c.state.graphics);
        c.state.changed |= group;
        c.state.state_set(group);
        Ok(())
    });
}

/// An array for closures, without a heap allocation for the usual counts.
fn copied<T: Copy, const N: usize>(list: &[T], fill: T) -> ([T; N], usize) {
    let mut out = [fill; N];
    let n = list.len().min(N);
    out[..n].copy_from_slice(&list[..n]);
    (out, n)
}

/// Both faces of a stencil mask.
fn faces(f: vk::StencilFaceFlags) -> [bool; 2] {
    [f.contains(vk::StencilFaceFlags::FRONT), f.contains(vk::StencilFaceFlags::BACK)]
}

fn begin_pass<B: Backend>(buffer: vk::CommandBuffer, info: &vk::RenderPassBeginInfo) {
    // SAFETY: the structures are the application's and valid.
    let state = unsafe {
        let imageless: Option<&vk::RenderPassAttachmentBeginInfo> =
            chain::find(info.next, vk::StructureType::RENDER_PASS_ATTACHMENT_BEGIN_INFO);
        let framebuffer: &Framebuffer = get(info.framebuffer);
        let views = match imageless {
            Some(i) if framebuffer.views.is_empty() => {
                slice(i.attachments, i.attachment_count).to_vec()
            }
            _ => framebuffer.views.clone(),
        };
        (
            info.render_pass,
            views,
            slice(info.clear_values, info.clear_value_count).to_vec(),
            info.render_area,
            framebuffer.layers,
        )
    };
    let state = std::sync::Mutex::new(state);
    // SAFETY: the handle is the entry point's.
    unsafe { of::<B>(buffer) }.record("vkCmdBeginRenderPass", move |c| {
        let (pass, views, clears, area, layers) =
            state.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
        c.pass = Some(PassState { pass, views, clears, area, layers, subpass: 0 });
        begin_subpass(c)
    });
}

fn begin_subpass<B: Backend>(c: &mut CommandBuffer<B>) -> Result<()> {
    let Some(p) = &c.pass else { return Ok(()) };
    // SAFETY: the render pass outlives the recording.
    let pass = unsafe { get::<RenderPass>(p.pass) };
    // SAFETY: so do its views.
    let rendering =
        unsafe { pass.rendering::<B>(p.subpass, &p.views, &p.clears, p.area, p.layers) };
    // SAFETY: as above.
    let resolved =
        unsafe { pass.clear_of_resolved::<B>(p.subpass, &p.views, &p.clears, p.area, p.layers) };
    let late = pass.clears_of_views(p.subpass, &p.clears);
    let (rect, layer_count) = (p.area, rendering.layers);
    // SAFETY: as above.
    let before = unsafe { pass.dependency_before::<B>(p.subpass, &p.views) };
    if !before.is_empty() {
        c.order(&before)?;
    }
    if let Some(clear) = resolved {
        c.begin_rendering(clear)?;
        c.end_rendering()?;
        c.order(&Dependency::on_attachments())?;
    }
    c.begin_rendering(rendering)?;
    let rect = vk::ClearRect { rect, base_array_layer: 0, layer_count };
    for (views, clear) in late {
        let all = c.state.rendering.as_mut().map(|r| std::mem::replace(&mut r.view_mask, views));
        c.encoder.clear_attachments(&mut c.state, &[clear], &[rect])?;
        if let (Some(r), Some(all)) = (&mut c.state.rendering, all) {
            r.view_mask = all;
        }
    }
    Ok(())
}

fn next_subpass<B: Backend>(buffer: vk::CommandBuffer) {
    // SAFETY: the handle is the entry point's.
    unsafe { of::<B>(buffer) }.record_end("vkCmdNextSubpass", |c| {
        c.end_rendering()?;
        if let Some(p) = &mut c.pass {
            p.subpass += 1;
        }
        begin_subpass(c)
    });
}

fn end_pass<B: Backend>(buffer: vk::CommandBuffer) {
    // SAFETY: the handle is the entry point's.
    unsafe { of::<B>(buffer) }.record_end("vkCmdEndRenderPass", |c| {
        c.end_rendering()?;
        let Some(p) = c.pass.take() else { return Ok(()) };
        // SAFETY: the render pass and the views live while command buffers use them.
        let after = unsafe { get::<RenderPass>(p.pass).dependency_after::<B>(&p.views) };
        if after.is_empty() { Ok(()) } else { c.order(&after) }
    });
}

/// Address of a buffer at an offset.
unsafe fn address<B: Backend>(buffer: vk::Buffer, offset: u64) -> u64 {
    // SAFETY: the buffer is null or live.
    unsafe { maybe::<Buffer<B>>(buffer) }.map_or(0, |b| b.address + offset)
}

fn draw<B: Backend>(buffer: vk::CommandBuffer, name: &'static str, draw: Draw) {
    // SAFETY: the handle is the entry point's.
    unsafe { of::<B>(buffer) }.record_draw(name, draw);
}

/// The number of draws whose arguments a buffer has from an offset on, up to `count`.
///
/// An application may give a count that is larger than what the buffer has, if the count in memory is not; and memory is
/// allocated for draws that may happen.
unsafe fn draws_in<B: Backend>(
    (from, offset): (vk::Buffer, u64),
    (count, stride): (u32, u32),
    indexed: bool,
) -> u32 {
    // SAFETY: the buffer is null or live.
    let size = unsafe { maybe::<Buffer<B>>(from) }.map_or(0, |b| b.size);
    let own = if indexed { 20 } else { 16 };
    let Some(room) = size.checked_sub(offset).and_then(|room| room.checked_sub(own)) else {
        return 0;
    };
    let there = match stride {
        0 => 1,
        stride => room / u64::from(stride) + 1,
    };
    there.min(u64::from(count)) as u32
}

/// Draws with arguments and their number in memory.
///
/// # Safety
/// The handles are live.
unsafe fn draw_counted<B: Backend>(
    buffer: vk::CommandBuffer,
    name: &'static str,
    from: (vk::Buffer, u64),
    counts: (vk::Buffer, u64),
    (count, stride): (u32, u32),
    indexed: bool,
) {
    // SAFETY: as the caller says.
    let (address, count_address, count) = unsafe {
        (
            address::<B>(from.0, from.1),
            Some(address::<B>(counts.0, counts.1)),
            draws_in::<B>(from, (count, stride), indexed),
        )
    };
    let all = Draw::Indirect { address, count, stride, count_address, indexed, draw_index: 0 };
    draw::<B>(buffer, name, all);
}

/// Draws with arguments in memory, all of them.
///
/// # Safety
/// The handles are live.
unsafe fn draw_indirect<B: Backend>(
    buffer: vk::CommandBuffer,
    name: &'static str,
    (from, offset): (vk::Buffer, u64),
    (count, stride): (u32, u32),
    indexed: bool,
) {
    // SAFETY: as the caller says.
    let count = unsafe { draws_in::<B>((from, offset), (count, stride), indexed) };
    // SAFETY: as the caller says.
    let (from, address) = unsafe { (maybe::<Buffer<B>>(from), address::<B>(from, offset)) };
    let is_sparse = from.is_some_and(Buffer::is_sparse);
    if !is_sparse || count == 0 {
        let all =
            Draw::Indirect { address, count, stride, count_address: None, indexed, draw_index: 0 };
        return draw::<B>(buffer, name, all);
    }
    let last: u64 = if indexed { 20 } else { 16 };
    let size = u64::from(count - 1) * u64::from(stride) + last;
    // SAFETY: as the caller says.
    unsafe { of::<B>(buffer) }.record(name, move |c| {
        let address = c.encoder.copy_arguments(address, size)?;
        c.draw(&Draw::Indirect {
            address,
            count,
            stride,
            count_address: None,
            indexed,
            draw_index: 0,
        })
    });
}

fn dispatch<B: Backend>(buffer: vk::CommandBuffer, name: &'static str, dispatch: Dispatch) {
    // SAFETY: the handle is the entry point's.
    unsafe { of::<B>(buffer) }.record(name, move |c| c.encoder.dispatch(&mut c.state, &dispatch));
}

fn barrier<B: Backend>(buffer: vk::CommandBuffer, name: &'static str, dependency: Dependency<B>) {
    // SAFETY: the handle is the entry point's.
    unsafe { of::<B>(buffer) }.record(name, move |c| c.barrier(&dependency));
}

fn bind_vertex<B: Backend>(
    buffer: vk::CommandBuffer,
    first: u32,
    buffers: &[vk::Buffer],
    offsets: &[u64],
    sizes: &[u64],
    strides: &[u64],
) {
    let n = buffers.len().min(MAX_VERTEX);
    let mut list = [VertexBuffer::default(); MAX_VERTEX];
    for (k, (to, &b)) in list.iter_mut().zip(buffers).enumerate() {
        // SAFETY: the buffer is null or live.
        let Some(b) = (unsafe { maybe::<Buffer<B>>(b) }) else { continue };
        let offset = offsets.get(k).copied().unwrap_or(0);
        let size = b.range(offset, sizes.get(k).copied().unwrap_or(vk::WHOLE_SIZE));
        *to = VertexBuffer { address: b.address + offset, size };
    }
    let (strides, m) = copied::<_, MAX_VERTEX>(strides, 0);
    // SAFETY: the handle is the entry point's.
    unsafe { of::<B>(buffer) }.record("vkCmdBindVertexBuffers", move |c| {
        for k in 0..n {
            let Some(slot) = c.state.vertex_buffers.get_mut(first as usize + k) else { break };
            *slot = list[k];
            if k < m {
                c.state.graphics.strides[first as usize + k] = strides[k] as u32;
                c.state.changed |= Groups::VERTEX_STRIDES;
            }
        }
        c.state.vertex_buffers_changed = true;
        Ok(())
    });
}

fn bind_index<B: Backend>(
    buffer: vk::CommandBuffer,
    index: vk::Buffer,
    offset: u64,
    size: u64,
    ty: vk::IndexType,
) {
    let index_bytes = match ty {
        vk::IndexType::UINT8 => 1,
        vk::IndexType::UINT16 => 2,
        _ => 4,
    };
    // SAFETY: the buffer is null or live.
    let bound = unsafe { maybe::<Buffer<B>>(index) }.map(|b| IndexBuffer {
        address: b.address + offset,
        size: b.range(offset, size),
        index_bytes,
        is_sparse: b.is_sparse(),
    });
    // SAFETY: the handle is the entry point's.
    unsafe { of::<B>(buffer) }.record("vkCmdBindIndexBuffer", move |c| {
        c.state.index = bound;
        Ok(())
    });
}

fn bind_sets<B: Backend>(
    buffer: vk::CommandBuffer,
    point: vk::PipelineBindPoint,
    first: u32,
    sets: &[vk::DescriptorSet],
    offsets: &[u32],
) {
    let (sets, n) = copied::<_, 8>(sets, vk::DescriptorSet::null());
    let (offsets, m) = copied::<_, 64>(offsets, 0);
    // SAFETY: the handle is the entry point's, and sets are live while they are recorded.
    unsafe {
        of::<B>(buffer).record("vkCmdBindDescriptorSets", move |c| {
            c.state.bind_sets(point, first, &sets[..n], &offsets[..m]);
            Ok(())
        });
    }
}

/// Both bind points that shader stages name.
fn points(stages: vk::ShaderStageFlags) -> Vec<vk::PipelineBindPoint> {
    let mut all = Vec::new();
    if stages.intersects(vk::ShaderStageFlags::ALL_GRAPHICS) {
        all.push(vk::PipelineBindPoint::GRAPHICS);
    }
    if stages.contains(vk::ShaderStageFlags::COMPUTE) {
        all.push(vk::PipelineBindPoint::COMPUTE);
    }
    all
}

fn push_constants<B: Backend>(buffer: vk::CommandBuffer, offset: u32, data: &[u8]) {
    let (data, n) = copied::<u8, MAX_PUSH>(data, 0);
    // SAFETY: the handle is the entry point's.
    unsafe { of::<B>(buffer) }.record("vkCmdPushConstants", move |c| {
        let end = (offset as usize + n).min(MAX_PUSH);
        if let Some(to) = c.state.push.get_mut(offset as usize..end) {
            to.copy_from_slice(&data[..to.len()]);
        }
        c.state.push_changed = true;
        Ok(())
    });
}

/// Writes descriptors into bytes that stand for a set.
type Fill<'a, B> = dyn Fn(&mut Writer<'_, B>) + 'a;

/// Pushes descriptors: they are written now, and the bytes that changed are merged when the command runs.
fn push_set<B: Backend>(
    buffer: vk::CommandBuffer,
    point: vk::PipelineBindPoint,
    set: u32,
    layout: &PipelineLayout<B>,
    fill: &Fill<'_, B>,
) {
    let Some(Some(layout)) = layout.sets.get(set as usize) else { return };
    let layout: Arc<SetLayout<B>> = layout.clone();
    // Written twice over different grounds, the bytes that a write touches are those that agree.
    let mut grounds = [0, 0xff].map(|ground| layout.size.map(|size| vec![ground; size as usize]));
    for bytes in &mut grounds {
        let bytes = bytes.each_mut().map(|b| &mut **b);
        let mut w =
            Writer { layout: &layout, addresses: Default::default(), bytes, dynamic: &mut [] };
        w.begin();
        fill(&mut w);
    }
    let [zeros, ones] = grounds;
    // SAFETY: the handle is the entry point's.
    unsafe { of::<B>(buffer) }.record("vkCmdPushDescriptorSet", move |c| {
        let Some(all) = c.state.pushed(point, set, &layout) else { return Ok(()) };
        for ((bytes, zeros), ones) in all.iter_mut().zip(&zeros).zip(&ones) {
            for ((to, &z), &o) in bytes.iter_mut().zip(zeros).zip(ones) {
                let written = !(z ^ o);
                *to = *to & !written | z & written;
            }
        }
        Ok(())
    });
}

entry! {
    /// `vkCmdBindPipeline`.
    fn vkCmdBindPipeline<B: Backend>(buffer: vk::CommandBuffer, _point: vk::PipelineBindPoint, pipeline: vk::Pipeline) {
        unsafe {
            of::<B>(buffer).record("vkCmdBindPipeline", move |c| {
                match &get::<Pipeline<B>>(pipeline).kind {
                    Kind::Compute(shader) => c.state.compute = Some(shader.clone()),
                    Kind::Graphics(p) => c.state.bind_pipeline(p),
                }
                Ok(())
            });
        }
    }

    /// `vkCmdBindDescriptorSets`.
    fn vkCmdBindDescriptorSets<B: Backend>(buffer: vk::CommandBuffer, point: vk::PipelineBindPoint, _layout: vk::PipelineLayout, first: u32, count: u32, sets: *const vk::DescriptorSet, offset_count: u32, offsets: *const u32) {
        unsafe { bind_sets::<B>(buffer, point, first, slice(sets, count), slice(offsets, offset_count)) }
    }

    /// `vkCmdBindDescriptorSets2`.
    fn vkCmdBindDescriptorSets2<B: Backend>(buffer: vk::CommandBuffer, info: *const vk::BindDescriptorSetsInfo) {
        unsafe {
            let i = &*info;
            let offsets = slice(i.dynamic_offsets, i.dynamic_offset_count);
            for point in points(i.stage_flags) {
                bind_sets::<B>(buffer, point, i.first_set, slice(i.descriptor_sets, i.descriptor_set_count), offsets);
            }
        }
    }

    /// `vkCmdPushConstants`.
    fn vkCmdPushConstants<B: Backend>(buffer: vk::CommandBuffer, _layout: vk::PipelineLayout, _stages: vk::ShaderStageFlags, offset: u32, size: u32, values: *const c_void) {
        unsafe { push_constants::<B>(buffer, offset, slice(values.cast(), size)) }
    }

    /// `vkCmdPushConstants2`.
    fn vkCmdPushConstants2<B: Backend>(buffer: vk::CommandBuffer, info: *const vk::PushConstantsInfo) {
        unsafe { push_constants::<B>(buffer, (*info).offset, slice((*info).values.cast(), (*info).size)) }
    }

    /// `vkCmdPushDescriptorSet`.
    fn vkCmdPushDescriptorSet<B: Backend>(buffer: vk::CommandBuffer, point: vk::PipelineBindPoint, layout: vk::PipelineLayout, set: u32, count: u32, writes: *const vk::WriteDescriptorSet) {
        unsafe {
            let writes = slice(writes, count);
            push_set::<B>(buffer, point, set, get(layout), &|w| {
                for one in writes {
                    w.update(one);
                }
            });
        }
    }

    /// `vkCmdPushDescriptorSet2`.
    fn vkCmdPushDescriptorSet2<B: Backend>(buffer: vk::CommandBuffer, info: *const vk::PushDescriptorSetInfo) {
        unsafe {
            let i = &*info;
            let writes = slice(i.descriptor_writes, i.descriptor_write_count);
            for point in points(i.stage_flags) {
                push_set::<B>(buffer, point, i.set, get(i.layout), &|w| {
                    for one in writes {
                        w.update(one);
                    }
                });
            }
        }
    }

    /// `vkCmdPushDescriptorSetWithTemplate`.
    fn vkCmdPushDescriptorSetWithTemplate<B: Backend>(buffer: vk::CommandBuffer, template: vk::DescriptorUpdateTemplate, layout: vk::PipelineLayout, set: u32, data: *const c_void) {
        unsafe {
            let t: &Template<B> = get(template);
            push_set::<B>(buffer, t.point, set, get(layout), &|w| w.template(t, data.cast()));
        }
    }

    /// `vkCmdPushDescriptorSetWithTemplate2`.
    fn vkCmdPushDescriptorSetWithTemplate2<B: Backend>(buffer: vk::CommandBuffer, info: *const vk::PushDescriptorSetWithTemplateInfo) {
        unsafe {
            let i = &*info;
            let t: &Template<B> = get(i.descriptor_update_template);
            push_set::<B>(buffer, t.point, i.set, get(i.layout), &|w| w.template(t, i.data.cast()));
        }
    }

    /// `vkCmdBindVertexBuffers`.
    fn vkCmdBindVertexBuffers<B: Backend>(buffer: vk::CommandBuffer, first: u32, count: u32, buffers: *const vk::Buffer, offsets: *const u64) {
        unsafe { bind_vertex::<B>(buffer, first, slice(buffers, count), slice(offsets, count), &[], &[]) }
    }

    /// `vkCmdBindVertexBuffers2`.
    fn vkCmdBindVertexBuffers2<B: Backend>(buffer: vk::CommandBuffer, first: u32, count: u32, buffers: *const vk::Buffer, offsets: *const u64, sizes: *const u64, strides: *const u64) {
        unsafe { bind_vertex::<B>(buffer, first, slice(buffers, count), slice(offsets, count), slice(sizes, count), slice(strides, count)) }
    }

    /// `vkCmdBindIndexBuffer`.
    fn vkCmdBindIndexBuffer<B: Backend>(buffer: vk::CommandBuffer, index: vk::Buffer, offset: u64, ty: vk::IndexType) {
        bind_index::<B>(buffer, index, offset, vk::WHOLE_SIZE, ty);
    }

    /// `vkCmdBindIndexBuffer2`.
    fn vkCmdBindIndexBuffer2<B: Backend>(buffer: vk::CommandBuffer, index: vk::Buffer, offset: u64, size: u64, ty: vk::IndexType) {
        bind_index::<B>(buffer, index, offset, size, ty);
    }

    /// `vkCmdDraw`.
    fn vkCmdDraw<B: Backend>(buffer: vk::CommandBuffer, count: u32, instances: u32, first: u32, first_instance: u32) {
        draw::<B>(buffer, "vkCmdDraw", Draw::Direct(Counts { count, instances, first, first_instance, ..Counts::default() }));
    }

    /// `vkCmdDrawIndexed`.
    fn vkCmdDrawIndexed<B: Backend>(buffer: vk::CommandBuffer, count: u32, instances: u32, first: u32, vertex_offset: i32, first_instance: u32) {
        draw::<B>(buffer, "vkCmdDrawIndexed", Draw::Direct(Counts { count, instances, first, vertex_offset, first_instance, indexed: true, draw_index: 0 }));
    }

    /// `vkCmdBeginConditionalRenderingEXT`.
    fn vkCmdBeginConditionalRenderingEXT<B: Backend>(buffer: vk::CommandBuffer, info: *const vk::ConditionalRenderingBeginInfoEXT) {
        let i = unsafe { &*info };
        let address = unsafe { address::<B>(i.buffer, i.offset) };
        let inverted = i.flags.contains(vk::ConditionalRenderingFlagsEXT::INVERTED);
        unsafe { of::<B>(buffer) }.record("vkCmdBeginConditionalRenderingEXT", move |c| {
            c.state.condition = Some(Condition { address, inverted });
            Ok(())
        });
    }

    /// `vkCmdEndConditionalRenderingEXT`.
    fn vkCmdEndConditionalRenderingEXT<B: Backend>(buffer: vk::CommandBuffer) {
        unsafe { of::<B>(buffer) }.record("vkCmdEndConditionalRenderingEXT", |c| {
            c.state.condition = None;
            Ok(())
        });
    }

    /// `vkCmdDrawMultiEXT`.
    fn vkCmdDrawMultiEXT<B: Backend>(buffer: vk::CommandBuffer, count: u32, infos: *const vk::MultiDrawInfoEXT, instances: u32, first_instance: u32, stride: u32) {
        for k in 0..count {
            let info = unsafe { *infos.byte_add(k as usize * stride as usize) };
            draw::<B>(buffer, "vkCmdDrawMultiEXT", Draw::Direct(Counts {
                count: info.vertex_count, instances, first: info.first_vertex, first_instance, draw_index: k, ..Counts::default()
            }));
        }
    }

    /// `vkCmdDrawMultiIndexedEXT`.
    fn vkCmdDrawMultiIndexedEXT<B: Backend>(buffer: vk::CommandBuffer, count: u32, infos: *const vk::MultiDrawIndexedInfoEXT, instances: u32, first_instance: u32, stride: u32, offset: *const i32) {
        for k in 0..count {
            let info = unsafe { *infos.byte_add(k as usize * stride as usize) };
            let vertex_offset = unsafe { offset.as_ref() }.copied().unwrap_or(info.vertex_offset);
            draw::<B>(buffer, "vkCmdDrawMultiIndexedEXT", Draw::Direct(Counts {
                count: info.index_count, instances, first: info.first_index, vertex_offset, first_instance, indexed: true, draw_index: k,
            }));
        }
    }

    /// `vkCmdDrawIndirect`.
    fn vkCmdDrawIndirect<B: Backend>(buffer: vk::CommandBuffer, from: vk::Buffer, offset: u64, count: u32, stride: u32) {
        unsafe { draw_indirect::<B>(buffer, "vkCmdDrawIndirect", (from, offset), (count, stride), false) };
    }

    /// `vkCmdDrawIndexedIndirect`.
    fn vkCmdDrawIndexedIndirect<B: Backend>(buffer: vk::CommandBuffer, from: vk::Buffer, offset: u64, count: u32, stride: u32) {
        unsafe { draw_indirect::<B>(buffer, "vkCmdDrawIndexedIndirect", (from, offset), (count, stride), true) };
    }

    /// `vkCmdDrawIndirectCount`.
    fn vkCmdDrawIndirectCount<B: Backend>(buffer: vk::CommandBuffer, from: vk::Buffer, offset: u64, counts: vk::Buffer, count_offset: u64, count: u32, stride: u32) {
        unsafe { draw_counted::<B>(buffer, "vkCmdDrawIndirectCount", (from, offset), (counts, count_offset), (count, stride), false) };
    }

    /// `vkCmdDrawIndexedIndirectCount`.
    fn vkCmdDrawIndexedIndirectCount<B: Backend>(buffer: vk::CommandBuffer, from: vk::Buffer, offset: u64, counts: vk::Buffer, count_offset: u64, count: u32, stride: u32) {
        unsafe { draw_counted::<B>(buffer, "vkCmdDrawIndexedIndirectCount", (from, offset), (counts, count_offset), (count, stride), true) };
    }

    /// `vkCmdDispatch`.
    fn vkCmdDispatch<B: Backend>(buffer: vk::CommandBuffer, x: u32, y: u32, z: u32) {
        dispatch::<B>(buffer, "vkCmdDispatch", Dispatch::Direct([0; 3], [x, y, z]));
    }

    /// `vkCmdDispatchBase`.
    fn vkCmdDispatchBase<B: Backend>(buffer: vk::CommandBuffer, base_x: u32, base_y: u32, base_z: u32, x: u32, y: u32, z: u32) {
        dispatch::<B>(buffer, "vkCmdDispatchBase", Dispatch::Direct([base_x, base_y, base_z], [x, y, z]));
    }

    /// `vkCmdDispatchIndirect`.
    fn vkCmdDispatchIndirect<B: Backend>(buffer: vk::CommandBuffer, from: vk::Buffer, offset: u64) {
        let (from, at) = unsafe { (maybe::<Buffer<B>>(from), address::<B>(from, offset)) };
        let is_sparse = from.is_some_and(Buffer::is_sparse);
        unsafe { of::<B>(buffer) }.record("vkCmdDispatchIndirect", move |c| {
            let at = if is_sparse { c.encoder.copy_arguments(at, 12)? } else { at };
            c.encoder.dispatch(&mut c.state, &Dispatch::Indirect([0; 3], at))
        });
    }

    /// `vkCmdBeginRenderPass`.
    fn vkCmdBeginRenderPass<B: Backend>(buffer: vk::CommandBuffer, info: *const vk::RenderPassBeginInfo, _contents: vk::SubpassContents) {
        unsafe { begin_pass::<B>(buffer, &*info) }
    }

    /// `vkCmdBeginRenderPass2`.
    fn vkCmdBeginRenderPass2<B: Backend>(buffer: vk::CommandBuffer, info: *const vk::RenderPassBeginInfo, _begin: *const vk::SubpassBeginInfo) {
        unsafe { begin_pass::<B>(buffer, &*info) }
    }

    /// `vkCmdNextSubpass`.
    fn vkCmdNextSubpass<B: Backend>(buffer: vk::CommandBuffer, _contents: vk::SubpassContents) {
        next_subpass::<B>(buffer);
    }

    /// `vkCmdNextSubpass2`.
    fn vkCmdNextSubpass2<B: Backend>(buffer: vk::CommandBuffer, _begin: *const vk::SubpassBeginInfo, _end: *const vk::SubpassEndInfo) {
        next_subpass::<B>(buffer);
    }

    /// `vkCmdEndRenderPass`.
    fn vkCmdEndRenderPass<B: Backend>(buffer: vk::CommandBuffer) {
        end_pass::<B>(buffer);
    }

    /// `vkCmdEndRenderPass2`.
    fn vkCmdEndRenderPass2<B: Backend>(buffer: vk::CommandBuffer, _end: *const vk::SubpassEndInfo) {
        end_pass::<B>(buffer);
    }

    /// `vkCmdBeginRendering`.
    fn vkCmdBeginRendering<B: Backend>(buffer: vk::CommandBuffer, info: *const vk::RenderingInfo) {
        unsafe {
            let make = || dynamic::<B>(&*info);
            let rendering = make();
            of::<B>(buffer).record("vkCmdBeginRendering", move |c| {
                // Every rendering begins with attachments at their own locations.
                c.state.graphics.copy(&GraphicsState::default(), Groups::LOCATIONS);
                c.state.state_set(Groups::LOCATIONS);
                c.begin_rendering(rendering.clone())
            });
        }
    }

    /// `vkCmdEndRendering`.
    fn vkCmdEndRendering<B: Backend>(buffer: vk::CommandBuffer) {
        unsafe { of::<B>(buffer) }.record_end("vkCmdEndRendering", CommandBuffer::end_rendering);
    }

    /// `vkCmdExecuteCommands`.
    fn vkCmdExecuteCommands<B: Backend>(buffer: vk::CommandBuffer, count: u32, buffers: *const vk::CommandBuffer) {
        unsafe {
            let list = slice(buffers, count).to_vec();
            of::<B>(buffer).record("vkCmdExecuteCommands", move |c| {
                list.iter().try_for_each(|&b| c.execute(b))
            });
        }
    }

    /// `vkCmdPipelineBarrier`.
    fn vkCmdPipelineBarrier<B: Backend>(buffer: vk::CommandBuffer, src: vk::PipelineStageFlags, dst: vk::PipelineStageFlags, flags: vk::DependencyFlags, n: u32, memory: *const vk::MemoryBarrier, m: u32, buffers: *const vk::BufferMemoryBarrier, k: u32, images: *const vk::ImageMemoryBarrier) {
        let dependency = unsafe { Dependency::of_1((src, dst), flags, slice(memory, n), slice(buffers, m), slice(images, k)) };
        barrier::<B>(buffer, "vkCmdPipelineBarrier", dependency);
    }

    /// `vkCmdPipelineBarrier2`.
    fn vkCmdPipelineBarrier2<B: Backend>(buffer: vk::CommandBuffer, info: *const vk::DependencyInfo) {
        let mut dependency = Dependency::default();
        unsafe { dependency.add_2(&*info) };
        barrier::<B>(buffer, "vkCmdPipelineBarrier2", dependency);
    }

    /// `vkCmdSetViewport`.
    fn vkCmdSetViewport<B: Backend>(buffer: vk::CommandBuffer, first: u32, count: u32, list: *const vk::Viewport) {
        let (v, n) = copied::<_, MAX_VIEWPORTS>(unsafe { slice(list, count) }, vk::Viewport::default());
        set::<B>(buffer, "vkCmdSetViewport", Groups::VIEWPORTS, move |s| {
            for (to, from) in s.viewports.iter_mut().skip(first as usize).zip(&v[..n]) {
                *to = *from;
            }
        });
    }

    /// `vkCmdSetViewportWithCount`.
    fn vkCmdSetViewportWithCount<B: Backend>(buffer: vk::CommandBuffer, count: u32, list: *const vk::Viewport) {
        let (v, n) = copied::<_, MAX_VIEWPORTS>(unsafe { slice(list, count) }, vk::Viewport::default());
        set::<B>(buffer, "vkCmdSetViewportWithCount", Groups::VIEWPORTS | Groups::VIEWPORT_COUNT, move |s| {
            s.viewports[..n].copy_from_slice(&v[..n]);
            s.viewport_count = n as u32;
        });
    }

    /// `vkCmdSetScissor`.
    fn vkCmdSetScissor<B: Backend>(buffer: vk::CommandBuffer, first: u32, count: u32, list: *const vk::Rect2D) {
        let (v, n) = copied::<_, MAX_VIEWPORTS>(unsafe { slice(list, count) }, vk::Rect2D::default());
        set::<B>(buffer, "vkCmdSetScissor", Groups::SCISSORS, move |s| {
            for (to, from) in s.scissors.iter_mut().skip(first as usize).zip(&v[..n]) {
                *to = *from;
            }
        });
    }

    /// `vkCmdSetScissorWithCount`.
    fn vkCmdSetScissorWithCount<B: Backend>(buffer: vk::CommandBuffer, count: u32, list: *const vk::Rect2D) {
        let (v, n) = copied::<_, MAX_VIEWPORTS>(unsafe { slice(list, count) }, vk::Rect2D::default());
        set::<B>(buffer, "vkCmdSetScissorWithCount", Groups::SCISSORS | Groups::SCISSOR_COUNT, move |s| {
            s.scissors[..n].copy_from_slice(&v[..n]);
            s.scissor_count = n as u32;
        });
    }

    /// `vkCmdSetLineWidth`.
    fn vkCmdSetLineWidth<B: Backend>(buffer: vk::CommandBuffer, width: f32) {
        set::<B>(buffer, "vkCmdSetLineWidth", Groups::LINE_WIDTH, move |s| s.line_width = width);
    }

    /// `vkCmdSetDepthBias`.
    fn vkCmdSetDepthBias<B: Backend>(buffer: vk::CommandBuffer, constant: f32, clamp: f32, slope: f32) {
        set::<B>(buffer, "vkCmdSetDepthBias", Groups::DEPTH_BIAS, move |s| {
            (s.depth_bias, s.depth_bias_unit) = ([constant, clamp, slope], state::BiasUnit::default());
        });
    }

    /// `vkCmdSetBlendConstants`.
    fn vkCmdSetBlendConstants<B: Backend>(buffer: vk::CommandBuffer, constants: *const f32) {
        let v = unsafe { *constants.cast::<[f32; 4]>() };
        set::<B>(buffer, "vkCmdSetBlendConstants", Groups::BLEND_CONSTANTS, move |s| s.blend_constants = v);
    }

    /// `vkCmdSetDepthBounds`.
    fn vkCmdSetDepthBounds<B: Backend>(buffer: vk::CommandBuffer, min: f32, max: f32) {
        set::<B>(buffer, "vkCmdSetDepthBounds", Groups::DEPTH_BOUNDS, move |s| s.depth_bounds = [min, max]);
    }

    /// `vkCmdSetStencilCompareMask`.
    fn vkCmdSetStencilCompareMask<B: Backend>(buffer: vk::CommandBuffer, face: vk::StencilFaceFlags, mask: u32) {
        set::<B>(buffer, "vkCmdSetStencilCompareMask", Groups::STENCIL_COMPARE_MASK, move |s| {
            for (k, _) in faces(face).iter().enumerate().filter(|f| *f.1) {
                s.stencil_compare_mask[k] = mask;
            }
        });
    }

    /// `vkCmdSetStencilWriteMask`.
    fn vkCmdSetStencilWriteMask<B: Backend>(buffer: vk::CommandBuffer, face: vk::StencilFaceFlags, mask: u32) {
        set::<B>(buffer, "vkCmdSetStencilWriteMask", Groups::STENCIL_WRITE_MASK, move |s| {
            for (k, _) in faces(face).iter().enumerate().filter(|f| *f.1) {
                s.stencil_write_mask[k] = mask;
            }
        });
    }

    /// `vkCmdSetStencilReference`.
    fn vkCmdSetStencilReference<B: Backend>(buffer: vk::CommandBuffer, face: vk::StencilFaceFlags, reference: u32) {
        set::<B>(buffer, "vkCmdSetStencilReference", Groups::STENCIL_REFERENCE, move |s| {
            for (k, _) in faces(face).iter().enumerate().filter(|f| *f.1) {
                s.stencil_reference[k] = reference;
            }
        });
    }

    /// `vkCmdSetCullMode`.
    fn vkCmdSetCullMode<B: Backend>(buffer: vk::CommandBuffer, mode: vk::CullModeFlags) {
        set::<B>(buffer, "vkCmdSetCullMode", Groups::CULL_MODE, move |s| s.cull_mode = mode);
    }

    /// `vkCmdSetFrontFace`.
    fn vkCmdSetFrontFace<B: Backend>(buffer: vk::CommandBuffer, face: vk::FrontFace) {
        set::<B>(buffer, "vkCmdSetFrontFace", Groups::FRONT_FACE, move |s| s.front_face = face);
    }

    /// `vkCmdSetPrimitiveTopology`.
    fn vkCmdSetPrimitiveTopology<B: Backend>(buffer: vk::CommandBuffer, topology: vk::PrimitiveTopology) {
        set::<B>(buffer, "vkCmdSetPrimitiveTopology", Groups::TOPOLOGY, move |s| s.topology = topology);
    }

    /// `vkCmdSetDepthTestEnable`.
    fn vkCmdSetDepthTestEnable<B: Backend>(buffer: vk::CommandBuffer, on: vk::Bool32) {
        set::<B>(buffer, "vkCmdSetDepthTestEnable", Groups::DEPTH_TEST, move |s| s.depth_test = on == vk::TRUE);
    }

    /// `vkCmdSetDepthWriteEnable`.
    fn vkCmdSetDepthWriteEnable<B: Backend>(buffer: vk::CommandBuffer, on: vk::Bool32) {
        set::<B>(buffer, "vkCmdSetDepthWriteEnable", Groups::DEPTH_WRITE, move |s| s.depth_write = on == vk::TRUE);
    }

    /// `vkCmdSetDepthCompareOp`.
    fn vkCmdSetDepthCompareOp<B: Backend>(buffer: vk::CommandBuffer, op: vk::CompareOp) {
        set::<B>(buffer, "vkCmdSetDepthCompareOp", Groups::DEPTH_COMPARE, move |s| s.depth_compare = op);
    }

    /// `vkCmdSetDepthBoundsTestEnable`.
    fn vkCmdSetDepthBoundsTestEnable<B: Backend>(buffer: vk::CommandBuffer, on: vk::Bool32) {
        set::<B>(buffer, "vkCmdSetDepthBoundsTestEnable", Groups::DEPTH_BOUNDS_TEST, move |s| s.depth_bounds_test = on == vk::TRUE);
    }

    /// `vkCmdSetStencilTestEnable`.
    fn vkCmdSetStencilTestEnable<B: Backend>(buffer: vk::CommandBuffer, on: vk::Bool32) {
        set::<B>(buffer, "vkCmdSetStencilTestEnable", Groups::STENCIL_TEST, move |s| s.stencil_test = on == vk::TRUE);
    }

    /// `vkCmdSetStencilOp`.
    fn vkCmdSetStencilOp<B: Backend>(buffer: vk::CommandBuffer, face: vk::StencilFaceFlags, fail: vk::StencilOp, pass: vk::StencilOp, depth_fail: vk::StencilOp, compare: vk::CompareOp) {
        set::<B>(buffer, "vkCmdSetStencilOp", Groups::STENCIL_OP, move |s| {
            for (k, _) in faces(face).iter().enumerate().filter(|f| *f.1) {
                s.stencil[k] = crate::state::Stencil { fail, pass, depth_fail, compare };
            }
        });
    }

    /// `vkCmdSetRasterizerDiscardEnable`.
    fn vkCmdSetRasterizerDiscardEnable<B: Backend>(buffer: vk::CommandBuffer, on: vk::Bool32) {
        set::<B>(buffer, "vkCmdSetRasterizerDiscardEnable", Groups::DISCARD, move |s| s.discard = on == vk::TRUE);
    }

    /// `vkCmdSetDepthBias2EXT`.
    fn vkCmdSetDepthBias2EXT<B: Backend>(buffer: vk::CommandBuffer, info: *const vk::DepthBiasInfoEXT) {
        let i = unsafe { &*info };
        let bias = [i.depth_bias_constant_factor, i.depth_bias_clamp, i.depth_bias_slope_factor];
        let unit = unsafe { state::BiasUnit::of(i.next) };
        set::<B>(buffer, "vkCmdSetDepthBias2EXT", Groups::DEPTH_BIAS, move |s| (s.depth_bias, s.depth_bias_unit) = (bias, unit));
    }

    /// `vkCmdSetDepthBiasEnable`.
    fn vkCmdSetDepthBiasEnable<B: Backend>(buffer: vk::CommandBuffer, on: vk::Bool32) {
        set::<B>(buffer, "vkCmdSetDepthBiasEnable", Groups::DEPTH_BIAS_ENABLE, move |s| s.depth_bias_enable = on == vk::TRUE);
    }

    /// `vkCmdSetPrimitiveRestartEnable`.
    fn vkCmdSetPrimitiveRestartEnable<B: Backend>(buffer: vk::CommandBuffer, on: vk::Bool32) {
        set::<B>(buffer, "vkCmdSetPrimitiveRestartEnable", Groups::RESTART, move |s| s.restart = on == vk::TRUE);
    }

    /// `vkCmdSetLogicOpEXT`.
    fn vkCmdSetLogicOpEXT<B: Backend>(buffer: vk::CommandBuffer, op: vk::LogicOp) {
        set::<B>(buffer, "vkCmdSetLogicOpEXT", Groups::LOGIC_OP, move |s| s.logic_op = op);
    }

    /// `vkCmdSetLogicOpEnableEXT`.
    fn vkCmdSetLogicOpEnableEXT<B: Backend>(buffer: vk::CommandBuffer, on: vk::Bool32) {
        set::<B>(buffer, "vkCmdSetLogicOpEnableEXT", Groups::LOGIC_OP_ENABLE, move |s| s.logic_op_enable = on == vk::TRUE);
    }

    /// `vkCmdSetPatchControlPointsEXT`.
    fn vkCmdSetPatchControlPointsEXT<B: Backend>(buffer: vk::CommandBuffer, points: u32) {
        set::<B>(buffer, "vkCmdSetPatchControlPointsEXT", Groups::PATCH, move |s| s.patch_points = points);
    }

    /// `vkCmdSetPolygonModeEXT`.
    fn vkCmdSetPolygonModeEXT<B: Backend>(buffer: vk::CommandBuffer, mode: vk::PolygonMode) {
        set::<B>(buffer, "vkCmdSetPolygonModeEXT", Groups::POLYGON_MODE, move |s| s.polygon_mode = mode);
    }

    /// `vkCmdSetRasterizationSamplesEXT`.
    fn vkCmdSetRasterizationSamplesEXT<B: Backend>(buffer: vk::CommandBuffer, samples: vk::SampleCountFlags) {
        set::<B>(buffer, "vkCmdSetRasterizationSamplesEXT", Groups::SAMPLES, move |s| s.samples = crate::image::samples_of(samples));
    }

    /// `vkCmdSetSampleMaskEXT`.
    fn vkCmdSetSampleMaskEXT<B: Backend>(buffer: vk::CommandBuffer, _samples: vk::SampleCountFlags, mask: *const u32) {
        let mask = unsafe { mask.as_ref() }.copied().unwrap_or(u32::MAX);
        set::<B>(buffer, "vkCmdSetSampleMaskEXT", Groups::SAMPLE_MASK, move |s| s.sample_mask = mask);
    }

    /// `vkCmdSetSampleLocationsEnableEXT`.
    fn vkCmdSetSampleLocationsEnableEXT<B: Backend>(buffer: vk::CommandBuffer, on: vk::Bool32) {
        set::<B>(buffer, "vkCmdSetSampleLocationsEnableEXT", Groups::SAMPLE_LOCATIONS_ENABLE, move |s| s.sample_locations_enable = on == vk::TRUE);
    }

    /// `vkCmdSetSampleLocationsEXT`.
    fn vkCmdSetSampleLocationsEXT<B: Backend>(buffer: vk::CommandBuffer, info: *const vk::SampleLocationsInfoEXT) {
        let places = unsafe { state::sample_locations(&*info) };
        set::<B>(buffer, "vkCmdSetSampleLocationsEXT", Groups::SAMPLE_LOCATIONS, move |s| s.sample_locations = places);
    }

    /// `vkCmdSetAlphaToCoverageEnableEXT`.
    fn vkCmdSetAlphaToCoverageEnableEXT<B: Backend>(buffer: vk::CommandBuffer, on: vk::Bool32) {
        set::<B>(buffer, "vkCmdSetAlphaToCoverageEnableEXT", Groups::ALPHA_TO_COVERAGE, move |s| s.alpha_to_coverage = on == vk::TRUE);
    }

    /// `vkCmdSetAlphaToOneEnableEXT`.
    fn vkCmdSetAlphaToOneEnableEXT<B: Backend>(buffer: vk::CommandBuffer, on: vk::Bool32) {
        set::<B>(buffer, "vkCmdSetAlphaToOneEnableEXT", Groups::ALPHA_TO_ONE, move |s| s.alpha_to_one = on == vk::TRUE);
    }

    /// `vkCmdSetColorBlendEnableEXT`.
    fn vkCmdSetColorBlendEnableEXT<B: Backend>(buffer: vk::CommandBuffer, first: u32, count: u32, list: *const vk::Bool32) {
        let (v, n) = copied::<_, MAX_COLOURS>(unsafe { slice(list, count) }, 0);
        set::<B>(buffer, "vkCmdSetColorBlendEnableEXT", Groups::BLEND_ENABLE, move |s| {
            for (k, on) in v[..n].iter().enumerate() {
                let bit = 1u8.checked_shl(first + k as u32).unwrap_or(0);
                s.blend_enable = s.blend_enable & !bit | if *on == vk::TRUE { bit } else { 0 };
            }
        });
    }

    /// `vkCmdSetColorBlendEquationEXT`.
    fn vkCmdSetColorBlendEquationEXT<B: Backend>(buffer: vk::CommandBuffer, first: u32, count: u32, list: *const vk::ColorBlendEquationEXT) {
        let (v, n) = copied::<_, MAX_COLOURS>(unsafe { slice(list, count) }, vk::ColorBlendEquationEXT::default());
        set::<B>(buffer, "vkCmdSetColorBlendEquationEXT", Groups::BLEND_EQUATION, move |s| {
            for (to, e) in s.blend.iter_mut().skip(first as usize).zip(&v[..n]) {
                *to = Blend {
                    colour: [e.src_color_blend_factor.as_raw(), e.dst_color_blend_factor.as_raw(), e.color_blend_op.as_raw()],
                    alpha: [e.src_alpha_blend_factor.as_raw(), e.dst_alpha_blend_factor.as_raw(), e.alpha_blend_op.as_raw()],
                    ..Blend::default()
                };
            }
        });
    }

    /// `vkCmdSetColorBlendAdvancedEXT`.
    fn vkCmdSetColorBlendAdvancedEXT<B: Backend>(buffer: vk::CommandBuffer, first: u32, count: u32, list: *const vk::ColorBlendAdvancedEXT) {
        let (v, n) = copied::<_, MAX_COLOURS>(unsafe { slice(list, count) }, vk::ColorBlendAdvancedEXT::default());
        set::<B>(buffer, "vkCmdSetColorBlendAdvancedEXT", Groups::BLEND_EQUATION, move |s| {
            for (to, a) in s.blend.iter_mut().skip(first as usize).zip(&v[..n]) {
                let advanced = AdvancedBlend {
                    source_straight: a.src_premultiplied == vk::FALSE,
                    destination_straight: a.dst_premultiplied == vk::FALSE,
                    overlap: a.blend_overlap,
                    clamp: a.clamp_results == vk::TRUE,
                };
                let operation = [0, 0, a.advanced_blend_op.as_raw()];
                *to = Blend { colour: operation, alpha: operation, advanced };
            }
        });
    }

    /// `vkCmdSetColorWriteMaskEXT`.
    fn vkCmdSetColorWriteMaskEXT<B: Backend>(buffer: vk::CommandBuffer, first: u32, count: u32, list: *const vk::ColorComponentFlags) {
        let (v, n) = copied::<_, MAX_COLOURS>(unsafe { slice(list, count) }, vk::ColorComponentFlags::empty());
        set::<B>(buffer, "vkCmdSetColorWriteMaskEXT", Groups::WRITE_MASK, move |s| {
            for (to, m) in s.write_mask.iter_mut().skip(first as usize).zip(&v[..n]) {
                *to = m.bits() as u8;
            }
        });
    }

    /// `vkCmdSetColorWriteEnableEXT`.
    fn vkCmdSetColorWriteEnableEXT<B: Backend>(buffer: vk::CommandBuffer, count: u32, list: *const vk::Bool32) {
        let (v, n) = copied::<_, MAX_COLOURS>(unsafe { slice(list, count) }, 0);
        set::<B>(buffer, "vkCmdSetColorWriteEnableEXT", Groups::WRITE_ENABLE, move |s| {
            s.write_enable = v[..n].iter().enumerate().fold(0, |all, (k, &on)| all | u8::from(on == vk::TRUE) << k);
        });
    }

    /// `vkCmdSetDepthClampEnableEXT`.
    fn vkCmdSetDepthClampEnableEXT<B: Backend>(buffer: vk::CommandBuffer, on: vk::Bool32) {
        set::<B>(buffer, "vkCmdSetDepthClampEnableEXT", Groups::DEPTH_CLAMP, move |s| s.depth_clamp = on == vk::TRUE);
    }

    /// `vkCmdSetDepthClipEnableEXT`.
    fn vkCmdSetDepthClipEnableEXT<B: Backend>(buffer: vk::CommandBuffer, on: vk::Bool32) {
        set::<B>(buffer, "vkCmdSetDepthClipEnableEXT", Groups::DEPTH_CLIP, move |s| s.depth_clip = Some(on == vk::TRUE));
    }

    /// `vkCmdSetDepthClipNegativeOneToOneEXT`.
    fn vkCmdSetDepthClipNegativeOneToOneEXT<B: Backend>(buffer: vk::CommandBuffer, on: vk::Bool32) {
        set::<B>(buffer, "vkCmdSetDepthClipNegativeOneToOneEXT", Groups::NEGATIVE_ONE_TO_ONE, move |s| s.negative_one_to_one = on == vk::TRUE);
    }

    /// `vkCmdSetProvokingVertexModeEXT`.
    fn vkCmdSetProvokingVertexModeEXT<B: Backend>(buffer: vk::CommandBuffer, mode: vk::ProvokingVertexModeEXT) {
        set::<B>(buffer, "vkCmdSetProvokingVertexModeEXT", Groups::PROVOKING, move |s| s.provoking_last = mode == vk::ProvokingVertexModeEXT::LAST_VERTEX);
    }

    /// `vkCmdSetLineRasterizationModeEXT`.
    fn vkCmdSetLineRasterizationModeEXT<B: Backend>(buffer: vk::CommandBuffer, mode: vk::LineRasterizationModeEXT) {
        set::<B>(buffer, "vkCmdSetLineRasterizationModeEXT", Groups::LINE_MODE, move |s| s.line_mode = mode);
    }

    /// `vkCmdSetLineStippleEnableEXT`.
    fn vkCmdSetLineStippleEnableEXT<B: Backend>(buffer: vk::CommandBuffer, on: vk::Bool32) {
        set::<B>(buffer, "vkCmdSetLineStippleEnableEXT", Groups::LINE_STIPPLE_ENABLE, move |s| s.stipple_enable = on == vk::TRUE);
    }

    /// `vkCmdSetLineStipple`.
    fn vkCmdSetLineStipple<B: Backend>(buffer: vk::CommandBuffer, factor: u32, pattern: u16) {
        set::<B>(buffer, "vkCmdSetLineStipple", Groups::LINE_STIPPLE, move |s| s.stipple = (factor, pattern));
    }

    /// `vkCmdSetVertexInputEXT`.
    fn vkCmdSetVertexInputEXT<B: Backend>(buffer: vk::CommandBuffer, n: u32, bindings: *const vk::VertexInputBindingDescription2EXT, m: u32, attributes: *const vk::VertexInputAttributeDescription2EXT) {
        let (mut a, mut rates, mut strides) = ([None; MAX_VERTEX], [None; MAX_VERTEX], [0; MAX_VERTEX]);
        for b in unsafe { slice(bindings, n) } {
            let k = (b.binding as usize).min(MAX_VERTEX - 1);
            strides[k] = b.stride;
            rates[k] = (b.input_rate == vk::VertexInputRate::INSTANCE).then_some(b.divisor);
        }
        for d in unsafe { slice(attributes, m) } {
            a[(d.location as usize).min(MAX_VERTEX - 1)] = format_of(d.format)
                .ok()
                .map(|format| VertexAttribute { binding: d.binding as u8, format, offset: d.offset });
        }
        set::<B>(buffer, "vkCmdSetVertexInputEXT", Groups::VERTEX_ATTRIBUTES | Groups::VERTEX_STRIDES, move |s| {
            (s.attributes, s.rates, s.strides) = (a, rates, strides);
        });
    }

    /// `vkCmdSetRenderingAttachmentLocations`.
    fn vkCmdSetRenderingAttachmentLocations<B: Backend>(buffer: vk::CommandBuffer, info: *const vk::RenderingAttachmentLocationInfo) {
        let mut new = GraphicsState::default();
        unsafe { crate::pipeline::set_locations(&mut new, &*info) };
        let locations = new.locations;
        set::<B>(buffer, "vkCmdSetRenderingAttachmentLocations", Groups::LOCATIONS, move |s| s.locations = locations);
    }

    /// `vkCmdSetRenderingInputAttachmentIndices`.
    fn vkCmdSetRenderingInputAttachmentIndices<B: Backend>(buffer: vk::CommandBuffer, info: *const vk::RenderingInputAttachmentIndexInfo) {
        let mut new = GraphicsState::default();
        unsafe { crate::pipeline::set_inputs(&mut new, &*info) };
        let inputs = new.inputs;
        set::<B>(buffer, "vkCmdSetRenderingInputAttachmentIndices", Groups::LOCATIONS, move |s| s.inputs = inputs);
    }

    /// `vkCmdSetRasterizationStreamEXT`.
    fn vkCmdSetRasterizationStreamEXT<B: Backend>(buffer: vk::CommandBuffer, stream: u32) {
        set::<B>(buffer, "vkCmdSetRasterizationStreamEXT", Groups::RASTERIZATION_STREAM, move |s| {
            s.rasterization_stream = crate::feedback::stream_number(stream);
        });
    }

    /// `vkCmdSetTessellationDomainOriginEXT`.
    fn vkCmdSetTessellationDomainOriginEXT<B: Backend>(buffer: vk::CommandBuffer, origin: vk::TessellationDomainOrigin) {
        set::<B>(buffer, "vkCmdSetTessellationDomainOriginEXT", Groups::PATCH_ORIGIN, move |s| {
            s.patch_lower_left = origin == vk::TessellationDomainOrigin::LOWER_LEFT;
        });
    }

    /// `vkCmdSetDeviceMask`.
    fn vkCmdSetDeviceMask<B: Backend>(_buffer: vk::CommandBuffer, _mask: u32) {}

    /// `vkCmdBeginDebugUtilsLabelEXT`.
    fn vkCmdBeginDebugUtilsLabelEXT<B: Backend>(_buffer: vk::CommandBuffer, _label: *const vk::DebugUtilsLabelEXT) {}

    /// `vkCmdEndDebugUtilsLabelEXT`.
    fn vkCmdEndDebugUtilsLabelEXT<B: Backend>(_buffer: vk::CommandBuffer) {}

    /// `vkCmdInsertDebugUtilsLabelEXT`.
    fn vkCmdInsertDebugUtilsLabelEXT<B: Backend>(_buffer: vk::CommandBuffer, _label: *const vk::DebugUtilsLabelEXT) {}
}
