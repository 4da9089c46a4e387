//! Commands that bind, draw, dispatch, order and render; [`crate::dynamic`] has those that set dynamic state.

use std::ffi::c_void;
use std::sync::Arc;

use vulkanalia_sys::{self as vk, Handle};

use crate::backend::{Condition, Counts, Dispatch, Draw, Encoder};
use crate::chain;
use crate::command::{CommandBuffer, IndexBuffer, MAX_PUSH, MAX_SETS, PassState, VertexBuffer, of};
use crate::dependency::Dependency;
use crate::descriptor::{Pushed, Set, SetLayout, Template, Writer};
use crate::draws::Driver;
use crate::entry;
use crate::error::Result;
use crate::memory::Buffer;
use crate::object::{copied, get, maybe, slice};
use crate::pipeline::{Kind, Pipeline, PipelineLayout};
use crate::render_pass::{Framebuffer, RenderPass, dynamic};
use crate::state::{GraphicsState, Groups, MAX_VERTEX};

fn begin_pass<B: Driver>(buffer: vk::CommandBuffer, info: &vk::RenderPassBeginInfo) {
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

fn begin_subpass<B: Driver>(c: &mut CommandBuffer<B>) -> Result<()> {
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

fn next_subpass<B: Driver>(buffer: vk::CommandBuffer) {
    // SAFETY: the handle is the entry point's.
    unsafe { of::<B>(buffer) }.record_end("vkCmdNextSubpass", |c| {
        c.end_rendering()?;
        if let Some(p) = &mut c.pass {
            p.subpass += 1;
        }
        begin_subpass(c)
    });
}

fn end_pass<B: Driver>(buffer: vk::CommandBuffer) {
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
unsafe fn address<B: Driver>(buffer: vk::Buffer, offset: u64) -> u64 {
    // SAFETY: the buffer is null or live.
    unsafe { maybe::<Buffer<B>>(buffer) }.map_or(0, |b| b.address + offset)
}

#[inline(always)]
fn draw<B: Driver>(buffer: vk::CommandBuffer, name: &'static str, draw: Draw) {
    // SAFETY: the handle is the entry point's.
    unsafe { of::<B>(buffer) }.record_draw(name, draw);
}

/// The number of draws whose arguments a buffer has from an offset on, up to `count`.
///
/// An application may give a count that is larger than what the buffer has, if the count in memory is not; and memory is
/// allocated for draws that may happen.
unsafe fn draws_in<B: Driver>(
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
unsafe fn draw_counted<B: Driver>(
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
unsafe fn draw_indirect<B: Driver>(
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

fn dispatch<B: Driver>(buffer: vk::CommandBuffer, name: &'static str, dispatch: Dispatch) {
    // SAFETY: the handle is the entry point's.
    unsafe { of::<B>(buffer) }.record(name, move |c| c.encoder.dispatch(&mut c.state, &dispatch));
}

fn barrier<B: Driver>(buffer: vk::CommandBuffer, name: &'static str, dependency: Dependency<B>) {
    // SAFETY: the handle is the entry point's.
    unsafe { of::<B>(buffer) }.record(name, move |c| c.barrier(&dependency));
}

fn bind_vertex<B: Driver>(
    buffer: vk::CommandBuffer,
    first: u32,
    buffers: &[vk::Buffer],
    offsets: &[u64],
    sizes: &[u64],
    strides: &[u64],
) {
    let bound = |(k, &b): (usize, &vk::Buffer)| {
        // SAFETY: the buffer is null or live.
        let buffer = unsafe { maybe::<Buffer<B>>(b) }.map_or_else(VertexBuffer::default, |b| {
            let offset = offsets.get(k).copied().unwrap_or(0);
            let size = b.range(offset, sizes.get(k).copied().unwrap_or(vk::WHOLE_SIZE));
            VertexBuffer { address: b.address + offset, size }
        });
        (buffer, strides.get(k).map(|&stride| stride as u32))
    };
    // SAFETY: the handle is the entry point's.
    let c = unsafe { of::<B>(buffer) };
    let name = "vkCmdBindVertexBuffers";
    match buffers {
        // The usual number needs no memory.
        [_] => c.record_with(name, &[bound((0, &buffers[0]))], move |c, l| set_vertex(c, first, l)),
        _ => {
            let list: Vec<_> = buffers.iter().enumerate().take(MAX_VERTEX).map(bound).collect();
            c.record_with(name, &list, move |c, l| set_vertex(c, first, l));
        }
    }
}

/// Sets vertex buffers from a number on, and strides where there are some.
fn set_vertex<B: Driver>(
    c: &mut CommandBuffer<B>,
    first: u32,
    list: &[(VertexBuffer, Option<u32>)],
) -> Result<()> {
    let state = &mut c.state;
    let slots = state.vertex_buffers.iter_mut().zip(&mut state.graphics.strides);
    for ((slot, to), &(buffer, stride)) in slots.skip(first as usize).zip(list) {
        *slot = buffer;
        if let Some(stride) = stride {
            *to = stride;
            state.changed |= Groups::VERTEX_STRIDES;
        }
    }
    state.vertex_buffers_changed = true;
    Ok(())
}

fn bind_index<B: Driver>(
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

fn bind_sets<B: Driver>(
    buffer: vk::CommandBuffer,
    point: vk::PipelineBindPoint,
    first: u32,
    sets: &[vk::DescriptorSet],
    offsets: &[u32],
) {
    // SAFETY: the handle is the entry point's.
    let c = unsafe { of::<B>(buffer) };
    if offsets.is_empty() {
        c.record_with("vkCmdBindDescriptorSets", sets, move |c, sets| {
            // SAFETY: sets are live while they are recorded.
            unsafe { bind_in_state(c, point, first, sets, &[]) };
            Ok(())
        });
        return;
    }
    let (sets, n) = copied::<_, MAX_SETS>(sets, vk::DescriptorSet::null());
    c.record_with("vkCmdBindDescriptorSets", offsets, move |c, offsets| {
        // SAFETY: as above.
        unsafe { bind_in_state(c, point, first, &sets[..n], offsets) };
        Ok(())
    });
}

/// Binds sets from a number on in the state of a command buffer.
///
/// # Safety
/// The handles are live.
unsafe fn bind_in_state<B: Driver>(
    c: &mut CommandBuffer<B>,
    point: vk::PipelineBindPoint,
    first: u32,
    sets: &[vk::DescriptorSet],
    offsets: &[u32],
) {
    let mut offsets = offsets.iter();
    for (n, &s) in (first as usize..MAX_SETS).zip(sets) {
        // SAFETY: as the caller says.
        let Some(set) = (unsafe { maybe::<Set<B>>(s) }) else { continue };
        let dynamic = set.dynamic().iter().map(|&(address, size)| {
            let offset = offsets.next().copied().unwrap_or(0);
            (if size > 0 { address + u64::from(offset) } else { address }, size)
        });
        c.state.bind_set(point, n, set.addresses(), set.host(), dynamic);
    }
}

/// Both bind points that shader stages name.
pub(crate) fn points(stages: vk::ShaderStageFlags) -> Vec<vk::PipelineBindPoint> {
    let mut all = Vec::new();
    if stages.intersects(vk::ShaderStageFlags::ALL_GRAPHICS) {
        all.push(vk::PipelineBindPoint::GRAPHICS);
    }
    if stages.contains(vk::ShaderStageFlags::COMPUTE) {
        all.push(vk::PipelineBindPoint::COMPUTE);
    }
    all
}

fn push_constants<B: Driver>(buffer: vk::CommandBuffer, offset: u32, data: &[u8]) {
    // SAFETY: the handle is the entry point's.
    unsafe { of::<B>(buffer) }.record_with("vkCmdPushConstants", data, move |c, data| {
        let end = (offset as usize + data.len()).min(MAX_PUSH);
        if let Some(to) = c.state.push.get_mut(offset as usize..end) {
            to.copy_from_slice(&data[..to.len()]);
        }
        c.state.push_changed = true;
        Ok(())
    });
}

/// The name by which commands that push descriptors are announced.
const PUSH: &str = "vkCmdPushDescriptorSet";

/// Pushes the descriptors that `fill` writes, and those that the layout fixes, by a command of this name: they are made now, and merged
/// into the set when the command runs.
pub(crate) fn push_set<B: Driver>(
    name: &'static str,
    buffer: vk::CommandBuffer,
    point: vk::PipelineBindPoint,
    set: u32,
    layout: &PipelineLayout<B>,
    fill: impl Fn(&mut Writer<'_, B>),
) {
    let Some(Some(layout)) = layout.sets.get(set as usize) else { return };
    let layout: Arc<SetLayout<B>> = layout.clone();
    let pushed = Pushed::new(&layout, fill);
    // SAFETY: the handle is the entry point's.
    unsafe { of::<B>(buffer) }.record(name, move |c| {
        if let Some(all) = c.state.pushed(point, set, layout.size) {
            pushed.put_into(all);
        }
        Ok(())
    });
}

entry! {
    /// `vkCmdBindPipeline`.
    fn vkCmdBindPipeline<B: Driver>(buffer: vk::CommandBuffer, _point: vk::PipelineBindPoint, pipeline: vk::Pipeline) {
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
    fn vkCmdBindDescriptorSets<B: Driver>(buffer: vk::CommandBuffer, point: vk::PipelineBindPoint, _layout: vk::PipelineLayout, first: u32, count: u32, sets: *const vk::DescriptorSet, offset_count: u32, offsets: *const u32) {
        unsafe { bind_sets::<B>(buffer, point, first, slice(sets, count), slice(offsets, offset_count)) }
    }

    /// `vkCmdBindDescriptorSets2`.
    fn vkCmdBindDescriptorSets2<B: Driver>(buffer: vk::CommandBuffer, info: *const vk::BindDescriptorSetsInfo) {
        unsafe {
            let i = &*info;
            let offsets = slice(i.dynamic_offsets, i.dynamic_offset_count);
            for point in points(i.stage_flags) {
                bind_sets::<B>(buffer, point, i.first_set, slice(i.descriptor_sets, i.descriptor_set_count), offsets);
            }
        }
    }

    /// `vkCmdPushConstants`.
    fn vkCmdPushConstants<B: Driver>(buffer: vk::CommandBuffer, _layout: vk::PipelineLayout, _stages: vk::ShaderStageFlags, offset: u32, size: u32, values: *const c_void) {
        unsafe { push_constants::<B>(buffer, offset, slice(values.cast(), size)) }
    }

    /// `vkCmdPushConstants2`.
    fn vkCmdPushConstants2<B: Driver>(buffer: vk::CommandBuffer, info: *const vk::PushConstantsInfo) {
        unsafe { push_constants::<B>(buffer, (*info).offset, slice((*info).values.cast(), (*info).size)) }
    }

    /// `vkCmdPushDescriptorSet`.
    fn vkCmdPushDescriptorSet<B: Driver>(buffer: vk::CommandBuffer, point: vk::PipelineBindPoint, layout: vk::PipelineLayout, set: u32, count: u32, writes: *const vk::WriteDescriptorSet) {
        unsafe {
            let writes = slice(writes, count);
            push_set::<B>(PUSH, buffer, point, set, get(layout), |w| {
                for one in writes {
                    w.update(one);
                }
            });
        }
    }

    /// `vkCmdPushDescriptorSet2`.
    fn vkCmdPushDescriptorSet2<B: Driver>(buffer: vk::CommandBuffer, info: *const vk::PushDescriptorSetInfo) {
        unsafe {
            let i = &*info;
            let writes = slice(i.descriptor_writes, i.descriptor_write_count);
            for point in points(i.stage_flags) {
                push_set::<B>(PUSH, buffer, point, i.set, get(i.layout), |w| {
                    for one in writes {
                        w.update(one);
                    }
                });
            }
        }
    }

    /// `vkCmdPushDescriptorSetWithTemplate`.
    fn vkCmdPushDescriptorSetWithTemplate<B: Driver>(buffer: vk::CommandBuffer, template: vk::DescriptorUpdateTemplate, layout: vk::PipelineLayout, set: u32, data: *const c_void) {
        unsafe {
            let t: &Template<B> = get(template);
            push_set::<B>(PUSH, buffer, t.point, set, get(layout), |w| w.template(t, data.cast()));
        }
    }

    /// `vkCmdPushDescriptorSetWithTemplate2`.
    fn vkCmdPushDescriptorSetWithTemplate2<B: Driver>(buffer: vk::CommandBuffer, info: *const vk::PushDescriptorSetWithTemplateInfo) {
        unsafe {
            let i = &*info;
            let t: &Template<B> = get(i.descriptor_update_template);
            push_set::<B>(PUSH, buffer, t.point, i.set, get(i.layout), |w| w.template(t, i.data.cast()));
        }
    }

    /// `vkCmdBindVertexBuffers`.
    fn vkCmdBindVertexBuffers<B: Driver>(buffer: vk::CommandBuffer, first: u32, count: u32, buffers: *const vk::Buffer, offsets: *const u64) {
        unsafe { bind_vertex::<B>(buffer, first, slice(buffers, count), slice(offsets, count), &[], &[]) }
    }

    /// `vkCmdBindVertexBuffers2`.
    fn vkCmdBindVertexBuffers2<B: Driver>(buffer: vk::CommandBuffer, first: u32, count: u32, buffers: *const vk::Buffer, offsets: *const u64, sizes: *const u64, strides: *const u64) {
        unsafe { bind_vertex::<B>(buffer, first, slice(buffers, count), slice(offsets, count), slice(sizes, count), slice(strides, count)) }
    }

    /// `vkCmdBindIndexBuffer`.
    fn vkCmdBindIndexBuffer<B: Driver>(buffer: vk::CommandBuffer, index: vk::Buffer, offset: u64, ty: vk::IndexType) {
        bind_index::<B>(buffer, index, offset, vk::WHOLE_SIZE, ty);
    }

    /// `vkCmdBindIndexBuffer2`.
    fn vkCmdBindIndexBuffer2<B: Driver>(buffer: vk::CommandBuffer, index: vk::Buffer, offset: u64, size: u64, ty: vk::IndexType) {
        bind_index::<B>(buffer, index, offset, size, ty);
    }

    /// `vkCmdDraw`.
    fn vkCmdDraw<B: Driver>(buffer: vk::CommandBuffer, count: u32, instances: u32, first: u32, first_instance: u32) {
        draw::<B>(buffer, "vkCmdDraw", Draw::Direct(Counts { count, instances, first, first_instance, ..Counts::default() }));
    }

    /// `vkCmdDrawIndexed`.
    fn vkCmdDrawIndexed<B: Driver>(buffer: vk::CommandBuffer, count: u32, instances: u32, first: u32, vertex_offset: i32, first_instance: u32) {
        draw::<B>(buffer, "vkCmdDrawIndexed", Draw::Direct(Counts { count, instances, first, vertex_offset, first_instance, indexed: true, draw_index: 0 }));
    }

    /// `vkCmdBeginConditionalRenderingEXT`.
    fn vkCmdBeginConditionalRenderingEXT<B: Driver>(buffer: vk::CommandBuffer, info: *const vk::ConditionalRenderingBeginInfoEXT) {
        let i = unsafe { &*info };
        let address = unsafe { address::<B>(i.buffer, i.offset) };
        let inverted = i.flags.contains(vk::ConditionalRenderingFlagsEXT::INVERTED);
        unsafe { of::<B>(buffer) }.record("vkCmdBeginConditionalRenderingEXT", move |c| {
            c.state.condition = Some(Condition { address, inverted });
            Ok(())
        });
    }

    /// `vkCmdEndConditionalRenderingEXT`.
    fn vkCmdEndConditionalRenderingEXT<B: Driver>(buffer: vk::CommandBuffer) {
        unsafe { of::<B>(buffer) }.record("vkCmdEndConditionalRenderingEXT", |c| {
            c.state.condition = None;
            Ok(())
        });
    }

    /// `vkCmdDrawMultiEXT`.
    fn vkCmdDrawMultiEXT<B: Driver>(buffer: vk::CommandBuffer, count: u32, infos: *const vk::MultiDrawInfoEXT, instances: u32, first_instance: u32, stride: u32) {
        for k in 0..count {
            let info = unsafe { *infos.byte_add(k as usize * stride as usize) };
            draw::<B>(buffer, "vkCmdDrawMultiEXT", Draw::Direct(Counts {
                count: info.vertex_count, instances, first: info.first_vertex, first_instance, draw_index: k, ..Counts::default()
            }));
        }
    }

    /// `vkCmdDrawMultiIndexedEXT`.
    fn vkCmdDrawMultiIndexedEXT<B: Driver>(buffer: vk::CommandBuffer, count: u32, infos: *const vk::MultiDrawIndexedInfoEXT, instances: u32, first_instance: u32, stride: u32, offset: *const i32) {
        for k in 0..count {
            let info = unsafe { *infos.byte_add(k as usize * stride as usize) };
            let vertex_offset = unsafe { offset.as_ref() }.copied().unwrap_or(info.vertex_offset);
            draw::<B>(buffer, "vkCmdDrawMultiIndexedEXT", Draw::Direct(Counts {
                count: info.index_count, instances, first: info.first_index, vertex_offset, first_instance, indexed: true, draw_index: k,
            }));
        }
    }

    /// `vkCmdDrawIndirect`.
    fn vkCmdDrawIndirect<B: Driver>(buffer: vk::CommandBuffer, from: vk::Buffer, offset: u64, count: u32, stride: u32) {
        unsafe { draw_indirect::<B>(buffer, "vkCmdDrawIndirect", (from, offset), (count, stride), false) };
    }

    /// `vkCmdDrawIndexedIndirect`.
    fn vkCmdDrawIndexedIndirect<B: Driver>(buffer: vk::CommandBuffer, from: vk::Buffer, offset: u64, count: u32, stride: u32) {
        unsafe { draw_indirect::<B>(buffer, "vkCmdDrawIndexedIndirect", (from, offset), (count, stride), true) };
    }

    /// `vkCmdDrawIndirectCount`.
    fn vkCmdDrawIndirectCount<B: Driver>(buffer: vk::CommandBuffer, from: vk::Buffer, offset: u64, counts: vk::Buffer, count_offset: u64, count: u32, stride: u32) {
        unsafe { draw_counted::<B>(buffer, "vkCmdDrawIndirectCount", (from, offset), (counts, count_offset), (count, stride), false) };
    }

    /// `vkCmdDrawIndexedIndirectCount`.
    fn vkCmdDrawIndexedIndirectCount<B: Driver>(buffer: vk::CommandBuffer, from: vk::Buffer, offset: u64, counts: vk::Buffer, count_offset: u64, count: u32, stride: u32) {
        unsafe { draw_counted::<B>(buffer, "vkCmdDrawIndexedIndirectCount", (from, offset), (counts, count_offset), (count, stride), true) };
    }

    /// `vkCmdDispatch`.
    fn vkCmdDispatch<B: Driver>(buffer: vk::CommandBuffer, x: u32, y: u32, z: u32) {
        dispatch::<B>(buffer, "vkCmdDispatch", Dispatch::Direct([0; 3], [x, y, z]));
    }

    /// `vkCmdDispatchBase`.
    fn vkCmdDispatchBase<B: Driver>(buffer: vk::CommandBuffer, base_x: u32, base_y: u32, base_z: u32, x: u32, y: u32, z: u32) {
        dispatch::<B>(buffer, "vkCmdDispatchBase", Dispatch::Direct([base_x, base_y, base_z], [x, y, z]));
    }

    /// `vkCmdDispatchIndirect`.
    fn vkCmdDispatchIndirect<B: Driver>(buffer: vk::CommandBuffer, from: vk::Buffer, offset: u64) {
        let (from, at) = unsafe { (maybe::<Buffer<B>>(from), address::<B>(from, offset)) };
        let is_sparse = from.is_some_and(Buffer::is_sparse);
        unsafe { of::<B>(buffer) }.record("vkCmdDispatchIndirect", move |c| {
            let at = if is_sparse { c.encoder.copy_arguments(at, 12)? } else { at };
            c.encoder.dispatch(&mut c.state, &Dispatch::Indirect([0; 3], at))
        });
    }

    /// `vkCmdBeginRenderPass`.
    fn vkCmdBeginRenderPass<B: Driver>(buffer: vk::CommandBuffer, info: *const vk::RenderPassBeginInfo, _contents: vk::SubpassContents) {
        unsafe { begin_pass::<B>(buffer, &*info) }
    }

    /// `vkCmdBeginRenderPass2`.
    fn vkCmdBeginRenderPass2<B: Driver>(buffer: vk::CommandBuffer, info: *const vk::RenderPassBeginInfo, _begin: *const vk::SubpassBeginInfo) {
        unsafe { begin_pass::<B>(buffer, &*info) }
    }

    /// `vkCmdNextSubpass`.
    fn vkCmdNextSubpass<B: Driver>(buffer: vk::CommandBuffer, _contents: vk::SubpassContents) {
        next_subpass::<B>(buffer);
    }

    /// `vkCmdNextSubpass2`.
    fn vkCmdNextSubpass2<B: Driver>(buffer: vk::CommandBuffer, _begin: *const vk::SubpassBeginInfo, _end: *const vk::SubpassEndInfo) {
        next_subpass::<B>(buffer);
    }

    /// `vkCmdEndRenderPass`.
    fn vkCmdEndRenderPass<B: Driver>(buffer: vk::CommandBuffer) {
        end_pass::<B>(buffer);
    }

    /// `vkCmdEndRenderPass2`.
    fn vkCmdEndRenderPass2<B: Driver>(buffer: vk::CommandBuffer, _end: *const vk::SubpassEndInfo) {
        end_pass::<B>(buffer);
    }

    /// `vkCmdBeginRendering`.
    fn vkCmdBeginRendering<B: Driver>(buffer: vk::CommandBuffer, info: *const vk::RenderingInfo) {
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
    fn vkCmdEndRendering<B: Driver>(buffer: vk::CommandBuffer) {
        unsafe { of::<B>(buffer) }.record_end("vkCmdEndRendering", CommandBuffer::end_rendering);
    }

    /// `vkCmdExecuteCommands`.
    fn vkCmdExecuteCommands<B: Driver>(buffer: vk::CommandBuffer, count: u32, buffers: *const vk::CommandBuffer) {
        unsafe {
            let list = slice(buffers, count).to_vec();
            of::<B>(buffer).record("vkCmdExecuteCommands", move |c| {
                list.iter().try_for_each(|&b| c.execute(b))
            });
        }
    }

    /// `vkCmdPipelineBarrier`.
    fn vkCmdPipelineBarrier<B: Driver>(buffer: vk::CommandBuffer, src: vk::PipelineStageFlags, dst: vk::PipelineStageFlags, flags: vk::DependencyFlags, n: u32, memory: *const vk::MemoryBarrier, m: u32, buffers: *const vk::BufferMemoryBarrier, k: u32, images: *const vk::ImageMemoryBarrier) {
        let dependency = unsafe { Dependency::of_1((src, dst), flags, slice(memory, n), slice(buffers, m), slice(images, k)) };
        barrier::<B>(buffer, "vkCmdPipelineBarrier", dependency);
    }

    /// `vkCmdPipelineBarrier2`.
    fn vkCmdPipelineBarrier2<B: Driver>(buffer: vk::CommandBuffer, info: *const vk::DependencyInfo) {
        let mut dependency = Dependency::default();
        unsafe { dependency.add_2(&*info) };
        barrier::<B>(buffer, "vkCmdPipelineBarrier2", dependency);
    }

    /// `vkCmdSetDeviceMask`.
    fn vkCmdSetDeviceMask<B: Driver>(_buffer: vk::CommandBuffer, _mask: u32) {}

    /// `vkCmdBeginDebugUtilsLabelEXT`.
    fn vkCmdBeginDebugUtilsLabelEXT<B: Driver>(_buffer: vk::CommandBuffer, _label: *const vk::DebugUtilsLabelEXT) {}

    /// `vkCmdEndDebugUtilsLabelEXT`.
    fn vkCmdEndDebugUtilsLabelEXT<B: Driver>(_buffer: vk::CommandBuffer) {}

    /// `vkCmdInsertDebugUtilsLabelEXT`.
    fn vkCmdInsertDebugUtilsLabelEXT<B: Driver>(_buffer: vk::CommandBuffer, _label: *const vk::DebugUtilsLabelEXT) {}
}
