//! Render passes and framebuffers, as sequences of renderings.
//!
//! Each subpass is a rendering of its own: an attachment is loaded as the render pass says where it is used first, stored as it says
//! where it is used last, and loaded and stored in between.

mod order;

use std::sync::Arc;

use tepui_format::Format;
use vulkanalia_sys::{self as vk, Handle};

use crate::backend::{Attachment, Backend, Rendering, ResolveTarget};
use crate::chain;
use crate::dependency::Scope;
use crate::device::Device;
use crate::entry;
use crate::image::{ImageView, samples_of};
use crate::object::{get, handle, slice};
use crate::state::{GraphicsState, MAX_COLOURS};

/// An attachment of a render pass.
#[derive(Clone, Copy)]
struct AttachmentInfo {
    format: vk::Format,
    samples: u32,
    load: vk::AttachmentLoadOp,
    store: vk::AttachmentStoreOp,
    stencil_load: vk::AttachmentLoadOp,
    stencil_store: vk::AttachmentStoreOp,
    before: Layouts,
    after: Layouts,
}

/// Layouts of an attachment: of its colours or depth, and of its stencil.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layouts {
    main: vk::ImageLayout,
    stencil: vk::ImageLayout,
}

impl Layouts {
    /// Stencil has its own layout, if there is one.
    fn new(main: vk::ImageLayout, stencil: Option<vk::ImageLayout>) -> Layouts {
        Layouts { main, stencil: stencil.unwrap_or(main) }
    }
}

/// A subpass: numbers of attachments.
#[derive(Clone, Default)]
struct Subpass {
    colours: Vec<Option<u32>>,
    resolves: Vec<Option<u32>>,
    inputs: Vec<Option<u32>>,
    depth_stencil: Option<u32>,
    depth_resolve: Option<(u32, vk::ResolveModeFlags, vk::ResolveModeFlags)>,
    view_mask: u32,
    /// Attachments by number, with their layouts in the subpass.
    layouts: Vec<(u32, Layouts)>,
}

impl Subpass {
    fn layouts_of(&self, n: u32) -> Option<Layouts> {
        self.layouts.iter().find(|l| l.0 == n).map(|l| l.1)
    }

    /// Layout of an attachment's colours or depth, or of its stencil.
    fn layout_of(&self, n: u32, stencil: bool) -> vk::ImageLayout {
        match self.layouts_of(n) {
            Some(l) if stencil => l.stencil,
            Some(l) => l.main,
            None => vk::ImageLayout::GENERAL,
        }
    }

    fn uses(&self, n: u32) -> bool {
        let lists = [&self.colours, &self.resolves, &self.inputs];
        lists.iter().any(|l| l.contains(&Some(n)))
            || self.depth_stencil == Some(n)
            || self.depth_resolve.is_some_and(|d| d.0 == n)
    }
}

/// A dependency between subpasses, or of one on commands outside.
struct SubpassDependency {
    from: u32,
    to: u32,
    source: Scope,
    destination: Scope,
    flags: vk::DependencyFlags,
    view_offset: i32,
}

/// A render pass.
pub struct RenderPass {
    attachments: Vec<AttachmentInfo>,
    subpasses: Vec<Subpass>,
    dependencies: Vec<SubpassDependency>,
}

/// A framebuffer.
pub struct Framebuffer {
    /// Image views; empty if they come with the beginning of the render pass.
    pub views: Vec<vk::ImageView>,
    /// Layers.
    pub layers: u32,
}

fn known(format: vk::Format) -> Option<Format> {
    Format::from_vk(format.as_raw())
}

fn has_depth(format: vk::Format) -> bool {
    format != vk::Format::S8_UINT
}

fn has_stencil(format: vk::Format) -> bool {
    [
        vk::Format::S8_UINT,
        vk::Format::D32_SFLOAT_S8_UINT,
        vk::Format::D24_UNORM_S8_UINT,
        vk::Format::D16_UNORM_S8_UINT,
    ]
    .contains(&format)
}

fn aspects(format: vk::Format) -> vk::ImageAspectFlags {
    let of = |has, aspect| if has { aspect } else { vk::ImageAspectFlags::empty() };
    of(has_depth(format), vk::ImageAspectFlags::DEPTH)
        | of(has_stencil(format), vk::ImageAspectFlags::STENCIL)
}

/// The views of a subpass that no subpass before used an attachment with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FirstUse {
    None,
    All,
    /// A bit each.
    Views(u32),
}

fn used(n: u32) -> Option<u32> {
    (n != vk::ATTACHMENT_UNUSED).then_some(n)
}

impl RenderPass {
    /// Subpasses.
    pub fn subpass_count(&self) -> u32 {
        self.subpasses.len() as u32
    }

    /// Whether an input attachment of a subpass is one that the subpass renders to, too.
    pub fn reads_own_targets(&self, subpass: u32) -> bool {
        let Some(s) = self.subpasses.get(subpass as usize) else { return false };
        let rendered = |n: u32| s.colours.contains(&Some(n)) || s.depth_stencil == Some(n);
        s.inputs.iter().flatten().any(|&n| rendered(n))
    }

    /// Views of a subpass, a bit each.
    pub fn view_mask(&self, subpass: u32) -> u32 {
        self.subpasses.get(subpass as usize).map_or(0, |s| s.view_mask)
    }

    /// The formats that pipelines of a subpass draw to.
    pub fn formats(&self, subpass: u32, s: &mut GraphicsState) {
        let Some(sub) = self.subpasses.get(subpass as usize) else { return };
        s.view_mask = sub.view_mask;
        for (to, n) in s.colour_formats.iter_mut().zip(&sub.colours) {
            *to = n.and_then(|n| known(self.attachments[n as usize].format));
        }
        if let Some(n) = sub.depth_stencil {
            let format = self.attachments[n as usize].format;
            s.depth_format = known(format).filter(|_| has_depth(format));
            s.stencil_format = known(format).filter(|_| has_stencil(format));
        }
    }

    /// The views of a subpass whose first use of attachment `n` this is: what the pass loads or clears.
    fn first_uses(&self, subpass: u32, n: u32) -> FirstUse {
        let before = &self.subpasses[..(subpass as usize).min(self.subpasses.len())];
        let mut earlier = before.iter().filter(|s| s.uses(n)).peekable();
        if earlier.peek().is_none() {
            return FirstUse::All;
        }
        let seen = earlier.fold(0, |mask, s| mask | s.view_mask);
        let now = self.view_mask(subpass);
        match now & !seen {
            0 => FirstUse::None,
            fresh if fresh == now => FirstUse::All,
            fresh => FirstUse::Views(fresh),
        }
    }

    /// Clears of attachments that only some views of a subpass use for the first time; the rendering loads these attachments.
    pub fn clears_of_views(
        &self,
        subpass: u32,
        clears: &[vk::ClearValue],
    ) -> Vec<(u32, vk::ClearAttachment)> {
        let Some(sub) = self.subpasses.get(subpass as usize) else { return Vec::new() };
        let colours =
            sub.colours.iter().enumerate().filter_map(|(k, n)| Some((k as u32, (*n)?, false)));
        let depth = sub.depth_stencil.map(|n| (0, n, true));
        colours
            .chain(depth)
            .filter_map(|(color_attachment, n, is_depth)| {
                let FirstUse::Views(views) = self.first_uses(subpass, n) else { return None };
                let a = &self.attachments[n as usize];
                let clear = |load, aspect| {
                    if load == vk::AttachmentLoadOp::CLEAR {
                        aspect
                    } else {
                        vk::ImageAspectFlags::empty()
                    }
                };
                let aspect_mask = match is_depth {
                    false => clear(a.load, vk::ImageAspectFlags::COLOR),
                    true => {
                        aspects(a.format)
                            & (clear(a.load, vk::ImageAspectFlags::DEPTH)
                                | clear(a.stencil_load, vk::ImageAspectFlags::STENCIL))
                    }
                };
                let clear_value = *clears.get(n as usize)?;
                let clear = vk::ClearAttachment { aspect_mask, color_attachment, clear_value };
                (!aspect_mask.is_empty()).then_some((views, clear))
            })
            .collect()
    }

    /// A rendering that clears aspects of the attachment that depth and stencil resolve to: those that are not resolved keep what
    /// the load operation left.
    ///
    /// # Safety
    /// Views are live and fit the render pass.
    pub unsafe fn clear_of_resolved<B: Backend>(
        &self,
        subpass: u32,
        views: &[vk::ImageView],
        clears: &[vk::ClearValue],
        area: vk::Rect2D,
        layers: u32,
    ) -> Option<Rendering<B>> {
        let sub = self.subpasses.get(subpass as usize)?;
        let (n, depth_mode, stencil_mode) = sub.depth_resolve?;
        if self.first_uses(subpass, n) != FirstUse::All {
            return None;
        }
        let a = &self.attachments[n as usize];
        let clear = clears.get(n as usize)?;
        let attachment = |is_there: bool, mode: vk::ResolveModeFlags, load, part: usize| {
            let clears = load == vk::AttachmentLoadOp::CLEAR;
            (is_there && mode.is_empty() && clears).then(|| Attachment {
                // SAFETY: as the caller says.
                image: unsafe { get::<ImageView<B>>(views[n as usize]) }.image.clone(),
                layout: sub.layout_of(n, part == 1),
                load,
                store: vk::AttachmentStoreOp::STORE,
                // SAFETY: every bit pattern is a clear value.
                clear: [unsafe { clear.color.uint32 }[part], 0, 0, 0],
                resolve: None,
            })
        };
        let depth = attachment(has_depth(a.format), depth_mode, a.load, 0);
        let stencil = attachment(has_stencil(a.format), stencil_mode, a.stencil_load, 1);
        let layers = if sub.view_mask != 0 { 32 - sub.view_mask.leading_zeros() } else { layers };
        (depth.is_some() || stencil.is_some()).then_some(Rendering {
            area,
            layers,
            view_mask: sub.view_mask,
            colours: Vec::new(),
            depth,
            stencil,
            samples: a.samples,
        })
    }

    /// The rendering of a subpass.
    ///
    /// # Safety
    /// Views are live and fit the render pass.
    pub unsafe fn rendering<B: Backend>(
        &self,
        subpass: u32,
        views: &[vk::ImageView],
        clears: &[vk::ClearValue],
        area: vk::Rect2D,
        layers: u32,
    ) -> Rendering<B> {
        let sub = self.subpasses.get(subpass as usize).cloned().unwrap_or_default();
        let after = self.subpasses.get(subpass as usize + 1..).unwrap_or(&[]);
        // SAFETY: as the caller says.
        let view = |n: u32| unsafe { get::<ImageView<B>>(views[n as usize]) };
        let clear = |n: u32| -> [u32; 4] {
            // SAFETY: every bit pattern is a clear value.
            clears.get(n as usize).map_or([0; 4], |c| unsafe { c.color.uint32 })
        };
        let ops = |n: u32, load: vk::AttachmentLoadOp, store: vk::AttachmentStoreOp| {
            let last = !after.iter().any(|s| s.uses(n));
            (
                if self.first_uses(subpass, n) == FirstUse::All {
                    load
                } else {
                    vk::AttachmentLoadOp::LOAD
                },
                if last { store } else { vk::AttachmentStoreOp::STORE },
            )
        };
        let attachment = |n: u32, stencil: bool| {
            let a = &self.attachments[n as usize];
            let (load, store) = match stencil {
                true => ops(n, a.stencil_load, a.stencil_store),
                false => ops(n, a.load, a.store),
            };
            let clear = clear(n);
            let clear = if stencil { [clear[1], 0, 0, 0] } else { clear };
            let (image, layout) = (view(n).image.clone(), sub.layout_of(n, stencil));
            Attachment { image, layout, load, store, clear, resolve: None }
        };
        let colours = sub.colours.iter().enumerate().map(|(k, n)| {
            let n = (*n)?;
            let mut a = attachment(n, false);
            if let Some(Some(r)) = sub.resolves.get(k) {
                let integer = a.image.format.info().numeric().is_integer();
                let mode = match integer {
                    true => vk::ResolveModeFlags::SAMPLE_ZERO,
                    false => vk::ResolveModeFlags::AVERAGE,
                };
                let (image, layout) = (view(*r).image.clone(), sub.layout_of(*r, false));
                a.resolve = Some(ResolveTarget { image, layout, mode });
            }
            Some(a)
        });
        let colours = colours.collect();
        let format = |n: u32| self.attachments[n as usize].format;
        let resolved = |a: Attachment<B>, stencil: bool| {
            let resolve = sub.depth_resolve.and_then(|(n, depth_mode, stencil_mode)| {
                // The attachment may have one of the aspects alone.
                let (mode, is_there) = match stencil {
                    true => (stencil_mode, has_stencil(format(n))),
                    false => (depth_mode, has_depth(format(n))),
                };
                (is_there && !mode.is_empty()).then(|| {
                    let (image, layout) = (view(n).image.clone(), sub.layout_of(n, stencil));
                    ResolveTarget { image, layout, mode }
                })
            });
            Attachment { resolve, ..a }
        };
        let depth = sub
            .depth_stencil
            .filter(|&n| has_depth(format(n)))
            .map(|n| resolved(attachment(n, false), false));
        let stencil = sub
            .depth_stencil
            .filter(|&n| has_stencil(format(n)))
            .map(|n| resolved(attachment(n, true), true));
        let samples = sub.colours.iter().flatten().chain(sub.depth_stencil.iter()).next();
        let samples = samples.map_or(0, |&n| self.attachments[n as usize].samples);
        let layers = if sub.view_mask != 0 { 32 - sub.view_mask.leading_zeros() } else { layers };
        Rendering { area, layers, view_mask: sub.view_mask, colours, depth, stencil, samples }
    }

    unsafe fn new(info: &vk::RenderPassCreateInfo2) -> RenderPass {
        // SAFETY: the structures are the application's and valid.
        unsafe {
            let attachments = slice(info.attachments, info.attachment_count).iter().map(|a| {
                let stencil: Option<&vk::AttachmentDescriptionStencilLayout> =
                    chain::find(a.next, vk::StructureType::ATTACHMENT_DESCRIPTION_STENCIL_LAYOUT);
                AttachmentInfo {
                    format: a.format,
                    samples: samples_of(a.samples),
                    load: a.load_op,
                    store: a.store_op,
                    stencil_load: a.stencil_load_op,
                    stencil_store: a.stencil_store_op,
                    before: Layouts::new(
                        a.initial_layout,
                        stencil.map(|s| s.stencil_initial_layout),
                    ),
                    after: Layouts::new(a.final_layout, stencil.map(|s| s.stencil_final_layout)),
                }
            });
            let list = |p: *const vk::AttachmentReference2, n: u32| -> Vec<Option<u32>> {
                slice(p, n).iter().map(|r| used(r.attachment)).collect()
            };
            let subpasses = slice(info.subpasses, info.subpass_count).iter().map(|s| {
                let resolve: Option<&vk::SubpassDescriptionDepthStencilResolve> = chain::find(
                    s.next,
                    vk::StructureType::SUBPASS_DESCRIPTION_DEPTH_STENCIL_RESOLVE,
                );
                let depth_resolve = resolve.and_then(|r| {
                    let n = used(r.depth_stencil_resolve_attachment.as_ref()?.attachment)?;
                    Some((n, r.depth_resolve_mode, r.stencil_resolve_mode))
                });
                let colours = s.color_attachment_count.min(MAX_COLOURS as u32);
                let depth_resolved = resolve.map(|r| r.depth_stencil_resolve_attachment);
                let layouts = slice(s.color_attachments, colours)
                    .iter()
                    .chain(slice(s.resolve_attachments, colours))
                    .chain(s.depth_stencil_attachment.as_ref())
                    .chain(depth_resolved.and_then(|r| r.as_ref()))
                    .chain(slice(s.input_attachments, s.input_attachment_count));
                let layouts = layouts.filter_map(|r| {
                    let stencil: Option<&vk::AttachmentReferenceStencilLayout> =
                        chain::find(r.next, vk::StructureType::ATTACHMENT_REFERENCE_STENCIL_LAYOUT);
                    let stencil = stencil.map(|s| s.stencil_layout);
                    Some((used(r.attachment)?, Layouts::new(r.layout, stencil)))
                });
                Subpass {
                    colours: list(s.color_attachments, colours),
                    resolves: list(s.resolve_attachments, colours),
                    inputs: list(s.input_attachments, s.input_attachment_count),
                    depth_stencil: s
                        .depth_stencil_attachment
                        .as_ref()
                        .and_then(|d| used(d.attachment)),
                    depth_resolve,
                    view_mask: s.view_mask,
                    layouts: layouts.collect(),
                }
            });
            let dependencies = slice(info.dependencies, info.dependency_count).iter().map(|d| {
                // Stages and accesses of version 2 take the place of the structure's own.
                let memory: Option<&vk::MemoryBarrier2> =
                    chain::find(d.next, vk::StructureType::MEMORY_BARRIER_2);
                let (source, destination) = match memory {
                    Some(m) => (
                        Scope::source(m.src_stage_mask, m.src_access_mask),
                        Scope::destination(m.dst_stage_mask, m.dst_access_mask),
                    ),
                    None => (
                        Scope::source_1(d.src_stage_mask, d.src_access_mask),
                        Scope::destination_1(d.dst_stage_mask, d.dst_access_mask),
                    ),
                };
                SubpassDependency {
                    from: d.src_subpass,
                    to: d.dst_subpass,
                    source,
                    destination,
                    flags: d.dependency_flags,
                    view_offset: d.view_offset,
                }
            });
            RenderPass {
                attachments: attachments.collect(),
                subpasses: subpasses.collect(),
                dependencies: dependencies.collect(),
            }
        }
    }

    /// A render pass from the structure of Vulkan 1.0.
    unsafe fn from_1(info: &vk::RenderPassCreateInfo) -> RenderPass {
        // SAFETY: the structures are the application's and valid.
        unsafe {
            let views: Option<&vk::RenderPassMultiviewCreateInfo> =
                chain::find(info.next, vk::StructureType::RENDER_PASS_MULTIVIEW_CREATE_INFO);
            let masks = views.map_or(&[][..], |v| slice(v.view_masks, v.subpass_count));
            let attachments =
                slice(info.attachments, info.attachment_count).iter().map(|a| AttachmentInfo {
                    format: a.format,
                    samples: samples_of(a.samples),
                    load: a.load_op,
                    store: a.store_op,
                    stencil_load: a.stencil_load_op,
                    stencil_store: a.stencil_store_op,
                    before: Layouts::new(a.initial_layout, None),
                    after: Layouts::new(a.final_layout, None),
                });
            let list = |p: *const vk::AttachmentReference, n: u32| -> Vec<Option<u32>> {
                slice(p, n).iter().map(|r| used(r.attachment)).collect()
            };
            let subpasses =
                slice(info.subpasses, info.subpass_count).iter().enumerate().map(|(k, s)| {
                    let colours = s.color_attachment_count.min(MAX_COLOURS as u32);
                    let layouts = slice(s.color_attachments, colours)
                        .iter()
                        .chain(slice(s.resolve_attachments, colours))
                        .chain(s.depth_stencil_attachment.as_ref())
                        .chain(slice(s.input_attachments, s.input_attachment_count));
                    let layouts = layouts
                        .filter_map(|r| Some((used(r.attachment)?, Layouts::new(r.layout, None))));
                    Subpass {
                        colours: list(s.color_attachments, colours),
                        resolves: list(s.resolve_attachments, colours),
                        inputs: list(s.input_attachments, s.input_attachment_count),
                        depth_stencil: s
                            .depth_stencil_attachment
                            .as_ref()
                            .and_then(|d| used(d.attachment)),
                        depth_resolve: None,
                        view_mask: masks.get(k).copied().unwrap_or(0),
                        layouts: layouts.collect(),
                    }
                });
            let offsets = views.map_or(&[][..], |v| slice(v.view_offsets, v.dependency_count));
            let dependencies = slice(info.dependencies, info.dependency_count).iter().enumerate();
            let dependencies = dependencies.map(|(k, d)| SubpassDependency {
                from: d.src_subpass,
                to: d.dst_subpass,
                source: Scope::source_1(d.src_stage_mask, d.src_access_mask),
                destination: Scope::destination_1(d.dst_stage_mask, d.dst_access_mask),
                flags: d.dependency_flags,
                view_offset: offsets.get(k).copied().unwrap_or(0),
            });
            RenderPass {
                attachments: attachments.collect(),
                subpasses: subpasses.collect(),
                dependencies: dependencies.collect(),
            }
        }
    }
}

/// An attachment of dynamic rendering.
unsafe fn attachment<B: Backend>(
    a: &vk::RenderingAttachmentInfo,
    stencil: bool,
) -> Option<Attachment<B>> {
    if a.image_view.is_null() {
        return None;
    }
    // SAFETY: the views are live; every bit pattern is a clear value.
    unsafe {
        let image: &ImageView<B> = get(a.image_view);
        let clear = a.clear_value.color.uint32;
        let resolve = (!a.resolve_mode.is_empty() && !a.resolve_image_view.is_null()).then(|| {
            let image = get::<ImageView<B>>(a.resolve_image_view).image.clone();
            ResolveTarget { image, layout: a.resolve_image_layout, mode: a.resolve_mode }
        });
        Some(Attachment {
            image: Arc::clone(&image.image),
            layout: a.image_layout,
            load: a.load_op,
            store: a.store_op,
            clear: if stencil { [clear[1], 0, 0, 0] } else { clear },
            resolve,
        })
    }
}

/// A rendering from dynamic rendering's structure.
///
/// # Safety
/// The structure is valid.
pub unsafe fn dynamic<B: Backend>(info: &vk::RenderingInfo) -> Rendering<B> {
    // SAFETY: as the caller says.
    unsafe {
        let colours = slice(info.color_attachments, info.color_attachment_count);
        let mut r = Rendering {
            area: info.render_area,
            layers: if info.view_mask != 0 {
                32 - info.view_mask.leading_zeros()
            } else {
                info.layer_count
            },
            view_mask: info.view_mask,
            colours: colours.iter().take(MAX_COLOURS).map(|a| attachment(a, false)).collect(),
            depth: info.depth_attachment.as_ref().and_then(|a| attachment(a, false)),
            stencil: info.stencil_attachment.as_ref().and_then(|a| attachment(a, true)),
            samples: 0,
        };
        let first = r.colours.iter().flatten().chain(&r.depth).chain(&r.stencil).next();
        r.samples = first.map_or(0, |a| a.image.info.samples);
        let all = r.colours.iter_mut().flatten().chain(&mut r.depth).chain(&mut r.stencil);
        for a in all {
            if info.flags.contains(vk::RenderingFlags::RESUMING) {
                a.load = vk::AttachmentLoadOp::LOAD;
            }
            if info.flags.contains(vk::RenderingFlags::SUSPENDING) {
                a.store = vk::AttachmentStoreOp::STORE;
                a.resolve = None;
            }
        }
        r
    }
}

entry! {
    /// `vkCreateRenderPass`.
    fn vkCreateRenderPass<B: Backend>(device: vk::Device, info: *const vk::RenderPassCreateInfo, callbacks: *const vk::AllocationCallbacks, out: *mut vk::RenderPass) -> vk::Result {
        unsafe {
            *out = handle(Device::<B>::of(device).allocator(callbacks).create(RenderPass::from_1(&*info))?);
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkCreateRenderPass2`.
    fn vkCreateRenderPass2<B: Backend>(device: vk::Device, info: *const vk::RenderPassCreateInfo2, callbacks: *const vk::AllocationCallbacks, out: *mut vk::RenderPass) -> vk::Result {
        unsafe {
            *out = handle(Device::<B>::of(device).allocator(callbacks).create(RenderPass::new(&*info))?);
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkDestroyRenderPass`.
    fn vkDestroyRenderPass<B: Backend>(device: vk::Device, pass: vk::RenderPass, callbacks: *const vk::AllocationCallbacks) {
        unsafe { Device::<B>::of(device).allocator(callbacks).destroy(pass.as_raw() as *mut RenderPass) }
    }

    /// `vkCreateFramebuffer`.
    fn vkCreateFramebuffer<B: Backend>(device: vk::Device, info: *const vk::FramebufferCreateInfo, callbacks: *const vk::AllocationCallbacks, out: *mut vk::Framebuffer) -> vk::Result {
        unsafe {
            let info = &*info;
            let views = match info.flags.contains(vk::FramebufferCreateFlags::IMAGELESS) {
                true => Vec::new(),
                false => slice(info.attachments, info.attachment_count).to_vec(),
            };
            let framebuffer = Framebuffer { views, layers: info.layers };
            *out = handle(Device::<B>::of(device).allocator(callbacks).create(framebuffer)?);
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkDestroyFramebuffer`.
    fn vkDestroyFramebuffer<B: Backend>(device: vk::Device, framebuffer: vk::Framebuffer, callbacks: *const vk::AllocationCallbacks) {
        unsafe { Device::<B>::of(device).allocator(callbacks).destroy(framebuffer.as_raw() as *mut Framebuffer) }
    }

    /// `vkGetRenderAreaGranularity`.
    fn vkGetRenderAreaGranularity<B: Backend>(_device: vk::Device, _pass: vk::RenderPass, out: *mut vk::Extent2D) {
        unsafe { *out = vk::Extent2D { width: 1, height: 1 } }
    }

    /// `vkGetRenderingAreaGranularity`.
    fn vkGetRenderingAreaGranularity<B: Backend>(_device: vk::Device, _info: *const vk::RenderingAreaInfo, out: *mut vk::Extent2D) {
        unsafe { *out = vk::Extent2D { width: 1, height: 1 } }
    }
}
