//! Graphics pipelines: their state, their shaders, and libraries that are parts of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use vulkanalia_sys::{self as vk};

use super::captured::Captured;
use super::fixed::{
    depth_stencil, feedback_loops, fragment_output, groups_of, multisample, pre_raster,
    shading_rate, vertex_input,
};
use super::making::{Making, capture};
use super::object::{GraphicsPipeline, Kind, Pipeline, PipelineLayout};
use super::source::{
    Robustness, Source, captures, flags_of, made_from, objects, robust, sets_of, source_of,
    view_is_device,
};
use super::stages::{Translated, link, read_device_as_view, shader_of};
use crate::backend::{Backend, Between, STAGES, Types};
use crate::cache::{self, Made, Programs};
use crate::chain;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::key::key_of;
use crate::object::{get, maybe, slice};
use crate::render_pass::RenderPass;
use crate::state::Groups;

pub(super) unsafe fn graphics<B: Backend>(
    d: &Device<B>,
    info: &vk::GraphicsPipelineCreateInfo,
    making: &mut Making,
) -> Result<Kind<B>> {
    // SAFETY: as the caller says.
    unsafe {
        let Front { mut p, flags, parts, is_library, has_libraries, discards } = front(d, info)?;
        let layout = maybe::<PipelineLayout<B>>(info.layout);
        let is_whole = p.parts == vk::GraphicsPipelineLibraryFlagsEXT::all();
        let sources = sources_of(d, info, parts, discards, making.given.as_ref())?;
        let all: Vec<_> = sources.iter().flatten().map(|s| &s.0).collect();
        capture(&mut making.captured, &all);
        if is_library {
            p.sources = p.sources.wrapping_add(sources_key(&sources, flags));
        }
        let programs = &making.programs;
        let makes_variants = !(p.dynamic & Groups::VARIANTS).is_empty();
        let (shaders, made) =
            shaders_of(d, &p, &sources, layout, flags, programs, is_library || makes_variants)?;
        let made = made.filter(|_| !has_libraries);
        for (stage, shader) in STAGES.into_iter().zip(shaders) {
            let Some(shader) = shader else { continue };
            match p.between.of(stage) {
                Some(to) => *to = Some(shader),
                None if stage == vk::ShaderStageFlags::VERTEX => p.vertex = Some(shader),
                None => p.fragment = Some(shader),
            }
        }
        p.fixed -= p.dynamic;
        p.state = d.shared_state(p.state);
        if is_whole && !is_library && !makes_variants && p.vertex.is_some() {
            let optimise = !has_libraries
                || flags.contains(vk::PipelineCreateFlags2::LINK_TIME_OPTIMIZATION_EXT);
            // Shaders that were linked for this state have what it asks for.
            if made.as_ref().is_none_or(|m| !m.is_linked(&p.state)) {
                let stages = p.stages(B::info(&d.physical).graphics_stages);
                B::link(&d.inner, &stages, &p.state, optimise)?;
                if let Some(m) = made {
                    m.keep_linked(&p.state);
                }
            }
        }
        Ok(Kind::Graphics(Box::new(p)))
    }
}

/// The sources of a pipeline's own stages, each with or without robust access.
type Sources<'a> = [Option<(Source<'a>, bool)>; STAGES.len()];

unsafe fn sources_of<'a, B: Backend>(
    d: &Device<B>,
    info: &'a vk::GraphicsPipelineCreateInfo,
    parts: vk::GraphicsPipelineLibraryFlagsEXT,
    discards: bool,
    given: Option<&'a Captured>,
) -> Result<Sources<'a>> {
    use vk::GraphicsPipelineLibraryFlagsEXT as P;
    // SAFETY: the structures are the application's and valid.
    unsafe {
        let mut sources = STAGES.map(|_| None);
        for stage in slice(info.stages, info.stage_count) {
            let Some(k) = STAGES.iter().position(|&s| s == stage.stage) else {
                let stage = format!("shader stage {:#x}", stage.stage.bits());
                return Err(Error::unsupported(stage));
            };
            let is_fragment = stage.stage == vk::ShaderStageFlags::FRAGMENT;
            let part = match is_fragment {
                true => P::FRAGMENT_SHADER,
                false => P::PRE_RASTERIZATION_SHADERS,
            };
            if !parts.contains(part) || is_fragment && discards {
                continue;
            }
            let robust = robust(d, stage.next, info.next);
            sources[k] = Some((source_of(stage, given)?, robust));
        }
        Ok(sources)
    }
}

fn sources_key(sources: &Sources<'_>, flags: vk::PipelineCreateFlags2) -> u128 {
    made_from(&sources.iter().flatten().collect::<Vec<_>>(), flags)
}

/// A hash of everything that a compute pipeline follows from.
pub(crate) unsafe fn key_of_compute<B: Backend>(
    d: &Device<B>,
    info: &vk::ComputePipelineCreateInfo,
) -> Result<u128> {
    // SAFETY: the structure is the application's and valid.
    unsafe {
        let flags = flags_of(info.flags, info.next);
        let robust = robust(d, info.stage.next, info.next);
        let from = made_from(&[&(source_of(&info.stage, None)?, robust)], flags);
        Ok(key_of(&(from, sets_of(maybe::<PipelineLayout<B>>(info.layout)))))
    }
}

/// A hash of everything that a graphics pipeline follows from.
pub(crate) unsafe fn key_of_graphics<B: Backend>(
    d: &Device<B>,
    info: &vk::GraphicsPipelineCreateInfo,
) -> Result<u128> {
    // SAFETY: the structure is the application's and valid.
    unsafe {
        let Front { p, flags, parts, is_library, has_libraries, discards } = front(d, info)?;
        let sources = sources_of(d, info, parts, discards, None)?;
        let from = sources_key(&sources, flags);
        let sets = sets_of(maybe::<PipelineLayout<B>>(info.layout));
        let (state, groups) = (&p.state, [p.fixed, p.dynamic]);
        let kind = (p.parts, p.sources, is_library, has_libraries);
        Ok(key_of(&(from, sets, state, groups, kind)))
    }
}

/// A number that no other pipeline of the process has, greater than 0.
fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// A graphics pipeline without shaders of its own: its state, and what libraries bring.
struct Front<B: Backend> {
    p: GraphicsPipeline<B>,
    flags: vk::PipelineCreateFlags2,
    /// Parts that are the pipeline's own.
    parts: vk::GraphicsPipelineLibraryFlagsEXT,
    is_library: bool,
    has_libraries: bool,
    /// Whether rasterisation is disabled.
    discards: bool,
}

unsafe fn front<B: Backend>(
    d: &Device<B>,
    info: &vk::GraphicsPipelineCreateInfo,
) -> Result<Front<B>> {
    use vk::GraphicsPipelineLibraryFlagsEXT as P;
    // SAFETY: the structures are the application's and valid.
    unsafe {
        let libraries: Option<&vk::PipelineLibraryCreateInfoKHR> =
            chain::find(info.next, vk::StructureType::PIPELINE_LIBRARY_CREATE_INFO_KHR);
        let own: Option<&vk::GraphicsPipelineLibraryCreateInfoEXT> =
            chain::find(info.next, vk::StructureType::GRAPHICS_PIPELINE_LIBRARY_CREATE_INFO_EXT);
        let flags = flags_of(info.flags, info.next);
        let is_library = flags.contains(vk::PipelineCreateFlags2::LIBRARY_KHR);
        let has_libraries = libraries.is_some_and(|l| l.library_count > 0);
        let parts = match own {
            Some(o) if is_library || has_libraries => o.flags,
            None if has_libraries => P::empty(),
            _ => P::all(),
        };
        let of_library = |&library: &vk::Pipeline| match &get::<Pipeline<B>>(library).kind {
            Kind::Graphics(l) => Some((&l.state, l.fixed | groups_of(l.parts))),
            Kind::Compute(_) => None,
        };
        let state = match libraries {
            None => Arc::default(),
            Some(l) => {
                let of = slice(l.libraries, l.library_count).iter().filter_map(of_library);
                d.joined_state(&of.collect::<Vec<_>>())
            }
        };
        let mut p = GraphicsPipeline::<B> {
            id: next_id(),
            vertex: None,
            between: Between::default(),
            fragment: None,
            state,
            fixed: groups_of(parts),
            dynamic: Groups::empty(),
            parts,
            sources: 0,
        };
        if let Some(l) = libraries {
            for &library in slice(l.libraries, l.library_count) {
                let Kind::Graphics(l) = &get::<Pipeline<B>>(library).kind else { continue };
                p.vertex = p.vertex.or_else(|| l.vertex.clone());
                p.fragment = p.fragment.or_else(|| l.fragment.clone());
                if p.between.is_empty() {
                    p.between = l.between.clone();
                }
                p.fixed |= l.fixed;
                p.dynamic |= l.dynamic;
                p.parts |= l.parts;
                p.sources = p.sources.wrapping_mul(31).wrapping_add(l.sources);
            }
        }
        if let Some(dynamic) = info.dynamic_state.as_ref() {
            for &s in slice(dynamic.dynamic_states, dynamic.dynamic_state_count) {
                p.dynamic |= Groups::of(s) & (groups_of(parts) | Groups::STATE_OF_ANY);
            }
        }
        let pass = maybe::<RenderPass>(info.render_pass);
        let rendering: Option<&vk::PipelineRenderingCreateInfo> =
            chain::find(info.next, vk::StructureType::PIPELINE_RENDERING_CREATE_INFO);
        if parts.is_empty() && pass.is_none() && rendering.is_none() {
            // The state is what the libraries share.
            let discards = p.state.discard && !p.dynamic.contains(Groups::DISCARD);
            return Ok(Front { p, flags, parts, is_library, has_libraries, discards });
        }
        let s = Arc::make_mut(&mut p.state);
        if parts.contains(P::VERTEX_INPUT_INTERFACE) {
            vertex_input(s, info)?;
            s.robust_vertex_inputs = Robustness::of(d, info.next).vertex_inputs;
        }
        if parts.contains(P::PRE_RASTERIZATION_SHADERS) {
            pre_raster(s, info, p.dynamic);
        }
        let discards = s.discard && !p.dynamic.contains(Groups::DISCARD);
        if parts.contains(P::FRAGMENT_SHADER) && !discards {
            depth_stencil(s, info);
            shading_rate(s, info);
            multisample(s, info, p.dynamic);
        }
        if parts.contains(P::FRAGMENT_OUTPUT_INTERFACE) && !discards {
            fragment_output(s, info, p.dynamic)?;
            s.feedback_loops = feedback_loops(flags);
        } else if let Some(pass) = pass {
            s.view_mask = pass.view_mask(info.subpass);
        } else if let Some(r) = rendering {
            s.view_mask = r.view_mask;
        }
        Ok(Front { p, flags, parts, is_library, has_libraries, discards })
    }
}

/// The shaders of [`STAGES`].
type Shaders<B> = Vec<Option<Arc<<B as Types>::Shader>>>;

/// The shaders of a pipeline's stages: those of an earlier one with the same sources and set layouts, if the cache has them.
/// `partial` says that state is left open that makes variants. The second value is what the cache keeps of them.
fn shaders_of<B: Backend>(
    d: &Device<B>,
    p: &GraphicsPipeline<B>,
    sources: &Sources<'_>,
    layout: Option<&PipelineLayout<B>>,
    flags: vk::PipelineCreateFlags2,
    programs: &Arc<Programs>,
    partial: bool,
) -> Result<(Shaders<B>, Option<Arc<Made>>)> {
    let sets = sets_of(layout);
    let all: Vec<&(Source<'_>, bool)> = sources.iter().flatten().collect();
    // Parts of pipelines have their programs made for the state that they know.
    let cache = programs.cache().filter(|_| !partial).map(|c| (c, made_from(&all, flags)));
    if let Some((cache, from)) = cache
        && let Some(made) = cache.made(from, sets)
    {
        let own = |s: &Option<cache::Object>| s.clone().map(|s| s.downcast()).transpose();
        if let Ok(shaders) = made.shaders.iter().map(own).collect() {
            programs.made_before();
            return Ok((shaders, Some(made)));
        }
    }
    let mut stages = STAGES.map(|_| None::<Translated>);
    for (to, source) in stages.iter_mut().zip(sources) {
        let Some((source, robust)) = source else { continue };
        let (mut ir, mut key) = source.translate(sets)?;
        if view_is_device(flags) {
            read_device_as_view(&mut ir, &mut key);
        }
        let (robust, subgroup_size) = (*robust, source.subgroup_size);
        *to = Some(Translated { ir, key, robust, subgroup_size });
    }
    link(&mut stages);
    let mut shaders = Vec::with_capacity(STAGES.len());
    for translated in stages {
        let partial_state = partial.then_some(&*p.state);
        let shader = |t| shader_of(d, t, sets, programs, captures(flags), partial_state);
        shaders.push(translated.map(shader).transpose()?);
    }
    let made = cache.map(|(cache, from)| {
        let made = Arc::new(Made::new(objects(sets), objects(&shaders)));
        cache.keep_made(from, made.clone());
        made
    });
    Ok((shaders, made))
}

impl Groups {
    /// State that makes shader variants.
    pub const VARIANTS: Groups = Groups::VERTEX_ATTRIBUTES
        .union(Groups::VERTEX_STRIDES)
        .union(Groups::NEGATIVE_ONE_TO_ONE)
        .union(Groups::SAMPLES)
        .union(Groups::SHADING_RATE)
        .union(Groups::ALPHA_TO_COVERAGE)
        .union(Groups::ALPHA_TO_ONE)
        .union(Groups::LOGIC_OP)
        .union(Groups::LOGIC_OP_ENABLE)
        .union(Groups::BLEND_ENABLE)
        .union(Groups::BLEND_EQUATION)
        .union(Groups::WRITE_MASK)
        .union(Groups::WRITE_ENABLE);

    /// State that any part of a pipeline may make dynamic.
    const STATE_OF_ANY: Groups = Groups::SAMPLES
        .union(Groups::SAMPLE_MASK)
        .union(Groups::SAMPLE_LOCATIONS)
        .union(Groups::SAMPLE_LOCATIONS_ENABLE)
        .union(Groups::ALPHA_TO_COVERAGE)
        .union(Groups::FEEDBACK_LOOPS);
}
