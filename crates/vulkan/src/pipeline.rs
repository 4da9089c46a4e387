//! Shader modules, pipeline layouts and pipelines.

use std::borrow::Cow;
use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tepui_ir::{Shader, Stage};
use tepui_passes::{link_stages, lower_dispatch_base, lower_ycbcr};
use vulkanalia_sys::{self as vk, Handle};
use xxhash_rust::xxh3;

use crate::backend::{Backend, ShaderInfo};
use crate::binary::{self, Captured};
use crate::cache::{self, Cache, Made, Programs};
use crate::chain;
use crate::command::Between;
use crate::debug::{self, Flags};
use crate::descriptor::SetLayout;
use crate::device::Device;
use crate::entry;
use crate::error::{Error, Result};
use crate::image::format_of;
use crate::object::{get, get_mut, handle, maybe, slice};
use crate::render_pass::RenderPass;
use crate::state::{
    Blend, GraphicsState, Groups, MAX_COLOURS, MAX_VERTEX, MAX_VIEWPORTS, Stencil, VertexAttribute,
};

/// A shader module: SPIR-V words.
pub struct Module {
    words: Vec<u32>,
    /// Hash of the words.
    hash: u128,
}

impl Module {
    fn new(words: Vec<u32>) -> Module {
        let hash = hash_of(&words);
        Module { words, hash }
    }
}

pub(crate) fn hash_of(words: &[u32]) -> u128 {
    xxh3::xxh3_128(bytemuck::cast_slice(words))
}

/// A pipeline layout.
pub struct PipelineLayout<B: Backend> {
    /// Set layouts by number; those of unused sets may be absent.
    pub sets: Vec<Option<Arc<SetLayout<B>>>>,
}

/// A pipeline.
pub struct Pipeline<B: Backend> {
    /// Its shaders and state.
    pub kind: Kind<B>,
    /// What it was made from, if binaries are to be made of it, until the application has them.
    captured: Mutex<Option<Arc<Captured>>>,
}

impl<B: Backend> Pipeline<B> {
    /// What a binary of the pipeline holds.
    pub(crate) fn captured(&self) -> Option<Arc<Captured>> {
        self.captured.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The application wants no binaries of the pipeline any more.
    pub(crate) fn release_captured(&self) {
        self.captured.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// Shaders and state by the kind of pipeline.
pub enum Kind<B: Backend> {
    /// A compute pipeline.
    Compute(Arc<B::Shader>),
    /// A graphics pipeline, or a part of one.
    Graphics(Box<GraphicsPipeline<B>>),
}

/// A graphics pipeline, or a library that is a part of one.
pub struct GraphicsPipeline<B: Backend> {
    /// A number that no other pipeline of the process has, greater than 0.
    pub id: u64,
    /// Vertex shader.
    pub vertex: Option<Arc<B::Shader>>,
    /// Shaders between vertices and the rasteriser.
    pub between: Between<B>,
    /// Fragment shader.
    pub fragment: Option<Arc<B::Shader>>,
    /// State that the pipeline fixes. Pipelines with the same state share it.
    pub state: Arc<GraphicsState>,
    /// Groups of `state` that count.
    pub fixed: Groups,
    /// Groups that commands set.
    pub dynamic: Groups,
    /// Parts that the pipeline has.
    parts: vk::GraphicsPipelineLibraryFlagsEXT,
    /// A hash of what the shaders of a library are made from, for the keys of pipelines that have it.
    sources: u128,
}

fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

fn stage_of(stage: vk::ShaderStageFlags) -> Result<Stage> {
    match stage {
        vk::ShaderStageFlags::VERTEX => Ok(Stage::Vertex),
        vk::ShaderStageFlags::FRAGMENT => Ok(Stage::Fragment),
        vk::ShaderStageFlags::COMPUTE => Ok(Stage::Compute),
        vk::ShaderStageFlags::TESSELLATION_CONTROL => Ok(Stage::TessControl),
        vk::ShaderStageFlags::TESSELLATION_EVALUATION => Ok(Stage::TessEvaluation),
        vk::ShaderStageFlags::GEOMETRY => Ok(Stage::Geometry),
        other => Err(Error::unsupported(format!("shader stage {:#x}", other.bits()))),
    }
}

/// Values of specialisation constants by number.
pub(crate) unsafe fn constants(info: *const vk::SpecializationInfo) -> Vec<(u32, u64)> {
    let mut spec = Vec::new();
    // SAFETY: the structure is the application's and valid, or null.
    unsafe {
        let Some(s) = info.as_ref() else { return spec };
        let data = slice(s.data.cast::<u8>(), s.data_size as u32);
        for e in slice(s.map_entries, s.map_entry_count) {
            let bytes = data.get(e.offset as usize..e.offset as usize + e.size).unwrap_or(&[]);
            let mut bits = [0; 8];
            let n = bytes.len().min(8);
            bits[..n].copy_from_slice(&bytes[..n]);
            spec.push((e.constant_id, u64::from_le_bytes(bits)));
        }
    }
    spec
}

/// What a stage is translated from.
pub(crate) struct Source<'a> {
    /// SPIR-V.
    pub words: &'a [u32],
    /// Hash of the words.
    pub hash: u128,
    /// Name of the entry point.
    pub entry: Cow<'a, str>,
    /// Stage.
    pub stage: vk::ShaderStageFlags,
    /// Values of specialisation constants.
    pub spec: Vec<(u32, u64)>,
}

/// What a stage is translated from.
unsafe fn source_of<'a>(
    info: &'a vk::PipelineShaderStageCreateInfo,
    given: Option<&'a Captured>,
) -> Result<Source<'a>> {
    // SAFETY: the structure is the application's and valid.
    unsafe {
        let inline: Option<&vk::ShaderModuleCreateInfo> =
            chain::find(info.next, vk::StructureType::SHADER_MODULE_CREATE_INFO);
        let binary = given.and_then(|g| g.words(info.stage));
        let (words, words_hash) = match (maybe::<Module>(info.module), inline) {
            _ if let Some(words) = binary => (words, hash_of(words)),
            (Some(m), _) => (&m.words[..], m.hash),
            (None, Some(i)) => {
                let words = slice(i.code, (i.code_size / 4) as u32);
                (words, hash_of(words))
            }
            // An identifier stands for a module that only a cache could have.
            (None, None) => {
                return Err(Error::new(
                    vk::Result::PIPELINE_COMPILE_REQUIRED,
                    "a shader stage without a module",
                ));
            }
        };
        Ok(Source {
            words,
            hash: words_hash,
            entry: CStr::from_ptr(info.name).to_string_lossy(),
            stage: info.stage,
            spec: constants(info.specialization_info),
        })
    }
}

/// A hash of what a pipeline's shaders are made from beside its set layouts: sources, with or without robust access, and flags.
fn made_from(stages: &[&(Source<'_>, bool)], flags: vk::PipelineCreateFlags2) -> u128 {
    let dispatch_base = flags.contains(vk::PipelineCreateFlags2::DISPATCH_BASE);
    let mut bytes = Vec::with_capacity(128);
    bytes.extend([u8::from(captures(flags)), u8::from(dispatch_base)]);
    for (s, robust) in stages {
        bytes.extend(s.hash.to_le_bytes());
        bytes.extend(s.stage.bits().to_le_bytes());
        bytes.push(u8::from(*robust));
        // Each part of variable length has its length in front.
        bytes.extend((s.entry.len() as u64).to_le_bytes());
        bytes.extend(s.entry.as_bytes());
        bytes.extend((s.spec.len() as u64).to_le_bytes());
        for (id, value) in &s.spec {
            bytes.extend(id.to_le_bytes());
            bytes.extend(value.to_le_bytes());
        }
    }
    xxh3::xxh3_128(&bytes)
}

/// Objects as a cache keeps them.
fn objects<T: std::any::Any + Send + Sync>(all: &[Option<Arc<T>>]) -> Vec<Option<cache::Object>> {
    all.iter().map(|o| o.clone().map(|o| o as cache::Object)).collect()
}

impl Source<'_> {
    /// Translates the SPIR-V; the second value is a hash of everything that the shader follows from.
    pub(crate) fn translate<B: Backend>(
        &self,
        sets: &[Option<Arc<SetLayout<B>>>],
    ) -> Result<(Shader, u128)> {
        let options = tepui_spirv::Options {
            entry: Some(self.entry.clone().into_owned()),
            stage: Some(stage_of(self.stage)?),
            spec: self.spec.clone(),
        };
        let mut shader = tepui_spirv::translate(self.words, &options)
            .map_err(|e| Error::new(vk::Result::ERROR_INVALID_SHADER_NV, format!("SPIR-V: {e}")))?;
        lower_ycbcr::run(&mut shader, &|set, binding| {
            let binding = sets.get(set as usize)?.as_ref()?.binding(binding)?;
            let conversions = binding.conversions.clone();
            let converts = !conversions.is_empty();
            converts.then_some(lower_ycbcr::Binding { planes: binding.planes, conversions })
        });
        debug::sources(self.words);
        if debug::flags().contains(Flags::IR) {
            eprintln!("{shader}");
        }
        let bindings = sets.iter().map(|s| s.as_ref().map_or(&[][..], |s| &s.bindings));
        let conversions: Vec<_> = bindings
            .enumerate()
            .flat_map(|(set, all)| {
                all.iter().enumerate().filter_map(move |(n, b)| Some((set, n, b.as_ref()?)))
            })
            .filter(|(.., b)| !b.conversions.is_empty())
            .map(|(set, n, b)| (set, n, b.planes, &b.conversions))
            .collect();
        let text = format!("{:x} {options:?} {conversions:?}", self.hash);
        Ok((shader, xxh3::xxh3_128(text.as_bytes())))
    }
}

unsafe fn robust<B: Backend>(d: &Device<B>, next: *const c_void) -> bool {
    // SAFETY: the chain is the application's and valid.
    let own: Option<&vk::PipelineRobustnessCreateInfo> =
        unsafe { chain::find(next, vk::StructureType::PIPELINE_ROBUSTNESS_CREATE_INFO) };
    let on = |b: vk::PipelineRobustnessBufferBehavior| {
        b != vk::PipelineRobustnessBufferBehavior::DISABLED
            && (b != vk::PipelineRobustnessBufferBehavior::DEVICE_DEFAULT || d.robust)
    };
    own.map_or(d.robust, |o| on(o.storage_buffers) || on(o.uniform_buffers) || on(o.vertex_inputs))
}

fn sets_of<B: Backend>(layout: Option<&PipelineLayout<B>>) -> &[Option<Arc<SetLayout<B>>>] {
    layout.map_or(&[], |l| &l.sets)
}

unsafe fn compute<B: Backend>(
    d: &Device<B>,
    info: &vk::ComputePipelineCreateInfo,
    making: &mut Making,
) -> Result<Kind<B>> {
    // SAFETY: the structure is the application's and valid.
    unsafe {
        let layout = maybe::<PipelineLayout<B>>(info.layout);
        let flags = flags_of(info.flags, info.next);
        let robust = robust(d, info.stage.next) || robust(d, info.next);
        let source = [(source_of(&info.stage, making.given.as_ref())?, robust)];
        let from = made_from(&[&source[0]], flags);
        capture(&mut making.captured, &[&source[0].0]);
        let programs = &making.programs;
        if let Some(cache) = programs.cache()
            && let Some(made) = cache.made(from, sets_of(layout))
            && let Some(Some(shader)) = made.shaders.first()
            && let Ok(shader) = shader.clone().downcast::<B::Shader>()
        {
            programs.made_before();
            return Ok(Kind::Compute(shader));
        }
        let (mut ir, mut key) = source[0].0.translate(sets_of(layout))?;
        if flags.contains(vk::PipelineCreateFlags2::DISPATCH_BASE) {
            lower_dispatch_base::run(&mut ir);
            key = key.wrapping_add(1);
        }
        let shader = B::shader(
            &d.inner,
            ShaderInfo {
                ir,
                key,
                programs: programs.clone(),
                captures: captures(flags),
                custom_borders: d.custom_borders,
                null_images: d.null_images,
                sets: sets_of(layout),
                robust,
                partial_state: None,
            },
        )?;
        let shader = Arc::new(shader);
        if let Some(cache) = programs.cache() {
            let shaders = objects(&[Some(shader.clone())]);
            cache.keep_made(from, Arc::new(Made::new(objects(sets_of(layout)), shaders)));
        }
        Ok(Kind::Compute(shader))
    }
}

/// Whether a pipeline's machine code is to be shown.
fn captures(flags: vk::PipelineCreateFlags2) -> bool {
    flags.contains(vk::PipelineCreateFlags2::CAPTURE_INTERNAL_REPRESENTATIONS_KHR)
}

/// The API's pipeline flags, in either width.
unsafe fn flags_of(
    flags: vk::PipelineCreateFlags,
    next: *const c_void,
) -> vk::PipelineCreateFlags2 {
    // SAFETY: the chain is the application's and valid.
    let wide: Option<&vk::PipelineCreateFlags2CreateInfo> =
        unsafe { chain::find(next, vk::StructureType::PIPELINE_CREATE_FLAGS_2_CREATE_INFO) };
    wide.map_or(vk::PipelineCreateFlags2::from_bits_truncate(u64::from(flags.bits())), |w| w.flags)
}

/// Groups of each part of a pipeline.
fn groups_of(part: vk::GraphicsPipelineLibraryFlagsEXT) -> Groups {
    use vk::GraphicsPipelineLibraryFlagsEXT as P;
    let mut g = Groups::empty();
    if part.contains(P::VERTEX_INPUT_INTERFACE) {
        g |=
            Groups::VERTEX_ATTRIBUTES | Groups::VERTEX_STRIDES | Groups::TOPOLOGY | Groups::RESTART;
    }
    if part.contains(P::PRE_RASTERIZATION_SHADERS) {
        g |= Groups::VIEWPORTS
            | Groups::VIEWPORT_COUNT
            | Groups::SCISSORS
            | Groups::SCISSOR_COUNT
            | Groups::LINE_WIDTH
            | Groups::DEPTH_BIAS
            | Groups::DEPTH_BIAS_ENABLE
            | Groups::CULL_MODE
            | Groups::FRONT_FACE
            | Groups::DISCARD
            | Groups::POLYGON_MODE
            | Groups::DEPTH_CLAMP
            | Groups::DEPTH_CLIP
            | Groups::NEGATIVE_ONE_TO_ONE
            | Groups::PROVOKING
            | Groups::LINE_MODE
            | Groups::LINE_STIPPLE
            | Groups::LINE_STIPPLE_ENABLE
            | Groups::PATCH
            | Groups::PATCH_ORIGIN
            | Groups::RASTERIZATION_STREAM;
    }
    if part.contains(P::FRAGMENT_SHADER) {
        g |= Groups::DEPTH_TEST
            | Groups::DEPTH_WRITE
            | Groups::DEPTH_COMPARE
            | Groups::DEPTH_BOUNDS
            | Groups::DEPTH_BOUNDS_TEST
            | Groups::STENCIL_TEST
            | Groups::STENCIL_OP
            | Groups::STENCIL_COMPARE_MASK
            | Groups::STENCIL_WRITE_MASK
            | Groups::STENCIL_REFERENCE;
    }
    if part.contains(P::FRAGMENT_OUTPUT_INTERFACE) {
        g |= Groups::BLEND_CONSTANTS
            | Groups::LOGIC_OP
            | Groups::LOGIC_OP_ENABLE
            | Groups::BLEND_ENABLE
            | Groups::BLEND_EQUATION
            | Groups::WRITE_MASK
            | Groups::WRITE_ENABLE
            | Groups::SAMPLES
            | Groups::SAMPLE_MASK
            | Groups::ALPHA_TO_COVERAGE
            | Groups::ALPHA_TO_ONE
            | Groups::FIXED
            | Groups::LOCATIONS;
    }
    g
}

unsafe fn vertex_input(s: &mut GraphicsState, info: &vk::GraphicsPipelineCreateInfo) -> Result<()> {
    // SAFETY: the structures are the application's and valid.
    unsafe {
        if let Some(v) = info.vertex_input_state.as_ref() {
            let divisors: Option<&vk::PipelineVertexInputDivisorStateCreateInfo> = chain::find(
                v.next,
                vk::StructureType::PIPELINE_VERTEX_INPUT_DIVISOR_STATE_CREATE_INFO,
            );
            for b in slice(v.vertex_binding_descriptions, v.vertex_binding_description_count) {
                let n = (b.binding as usize).min(MAX_VERTEX - 1);
                s.strides[n] = b.stride;
                s.rates[n] = (b.input_rate == vk::VertexInputRate::INSTANCE).then_some(1);
            }
            if let Some(d) = divisors {
                for b in slice(d.vertex_binding_divisors, d.vertex_binding_divisor_count) {
                    s.rates[(b.binding as usize).min(MAX_VERTEX - 1)] = Some(b.divisor);
                }
            }
            for a in slice(v.vertex_attribute_descriptions, v.vertex_attribute_description_count) {
                s.attributes[(a.location as usize).min(MAX_VERTEX - 1)] = Some(VertexAttribute {
                    binding: a.binding as u8,
                    format: format_of(a.format)?,
                    offset: a.offset,
                });
            }
        }
        if let Some(i) = info.input_assembly_state.as_ref() {
            (s.topology, s.restart) = (i.topology, i.primitive_restart_enable == vk::TRUE);
        }
        Ok(())
    }
}

unsafe fn pre_raster(s: &mut GraphicsState, info: &vk::GraphicsPipelineCreateInfo) {
    // SAFETY: the structures are the application's and valid; arrays of dynamic state may be null.
    unsafe {
        if let Some(v) = info.viewport_state.as_ref() {
            for (to, from) in s.viewports.iter_mut().zip(slice(v.viewports, v.viewport_count)) {
                *to = *from;
            }
            for (to, from) in s.scissors.iter_mut().zip(slice(v.scissors, v.scissor_count)) {
                *to = *from;
            }
            s.viewport_count = v.viewport_count.min(MAX_VIEWPORTS as u32);
            s.scissor_count = v.scissor_count.min(MAX_VIEWPORTS as u32);
            let control: Option<&vk::PipelineViewportDepthClipControlCreateInfoEXT> = chain::find(
                v.next,
                vk::StructureType::PIPELINE_VIEWPORT_DEPTH_CLIP_CONTROL_CREATE_INFO_EXT,
            );
            s.negative_one_to_one = control.is_some_and(|c| c.negative_one_to_one == vk::TRUE);
        }
        let mut stages = slice(info.stages, info.stage_count).iter();
        // Without such a shader, the pointer may be anything.
        if stages.any(|s| s.stage == vk::ShaderStageFlags::TESSELLATION_EVALUATION)
            && let Some(t) = info.tessellation_state.as_ref()
        {
            s.patch_points = t.patch_control_points;
            let origin: Option<&vk::PipelineTessellationDomainOriginStateCreateInfo> = chain::find(
                t.next,
                vk::StructureType::PIPELINE_TESSELLATION_DOMAIN_ORIGIN_STATE_CREATE_INFO,
            );
            s.patch_lower_left =
                origin.is_some_and(|o| o.domain_origin == vk::TessellationDomainOrigin::LOWER_LEFT);
        }
        if let Some(r) = info.rasterization_state.as_ref() {
            s.discard = r.rasterizer_discard_enable == vk::TRUE;
            s.depth_clamp = r.depth_clamp_enable == vk::TRUE;
            (s.polygon_mode, s.cull_mode, s.front_face) =
                (r.polygon_mode, r.cull_mode, r.front_face);
            s.depth_bias_enable = r.depth_bias_enable == vk::TRUE;
            s.depth_bias =
                [r.depth_bias_constant_factor, r.depth_bias_clamp, r.depth_bias_slope_factor];
            s.line_width = r.line_width;
            let clip: Option<&vk::PipelineRasterizationDepthClipStateCreateInfoEXT> = chain::find(
                r.next,
                vk::StructureType::PIPELINE_RASTERIZATION_DEPTH_CLIP_STATE_CREATE_INFO_EXT,
            );
            s.depth_clip = clip.map(|c| c.depth_clip_enable == vk::TRUE);
            let provoking: Option<&vk::PipelineRasterizationProvokingVertexStateCreateInfoEXT> =
                chain::find(r.next, vk::StructureType::PIPELINE_RASTERIZATION_PROVOKING_VERTEX_STATE_CREATE_INFO_EXT);
            s.provoking_last = provoking.is_some_and(|p| {
                p.provoking_vertex_mode == vk::ProvokingVertexModeEXT::LAST_VERTEX
            });
            let stream: Option<&vk::PipelineRasterizationStateStreamCreateInfoEXT> = chain::find(
                r.next,
                vk::StructureType::PIPELINE_RASTERIZATION_STATE_STREAM_CREATE_INFO_EXT,
            );
            s.rasterization_stream =
                stream.map_or(0, |s| crate::feedback::stream_number(s.rasterization_stream));
            let line: Option<&vk::PipelineRasterizationLineStateCreateInfo> = chain::find(
                r.next,
                vk::StructureType::PIPELINE_RASTERIZATION_LINE_STATE_CREATE_INFO,
            );
            if let Some(l) = line {
                s.line_mode = l.line_rasterization_mode;
                s.stipple_enable = l.stippled_line_enable == vk::TRUE;
                s.stipple = (l.line_stipple_factor, l.line_stipple_pattern);
            }
        }
    }
}

fn stencil_of(o: &vk::StencilOpState) -> Stencil {
    Stencil { fail: o.fail_op, pass: o.pass_op, depth_fail: o.depth_fail_op, compare: o.compare_op }
}

unsafe fn depth_stencil(s: &mut GraphicsState, info: &vk::GraphicsPipelineCreateInfo) {
    // SAFETY: the structure is the application's and valid, or null.
    let Some(d) = (unsafe { info.depth_stencil_state.as_ref() }) else { return };
    s.depth_test = d.depth_test_enable == vk::TRUE;
    s.depth_write = d.depth_write_enable == vk::TRUE;
    s.depth_compare = d.depth_compare_op;
    s.depth_bounds_test = d.depth_bounds_test_enable == vk::TRUE;
    s.depth_bounds = [d.min_depth_bounds, d.max_depth_bounds];
    s.stencil_test = d.stencil_test_enable == vk::TRUE;
    let faces = [&d.front, &d.back];
    s.stencil = faces.map(stencil_of);
    s.stencil_compare_mask = faces.map(|f| f.compare_mask);
    s.stencil_write_mask = faces.map(|f| f.write_mask);
    s.stencil_reference = faces.map(|f| f.reference);
}

/// Blending of an attachment.
pub(crate) fn blend_of(a: &vk::PipelineColorBlendAttachmentState) -> Blend {
    Blend {
        colour: [
            a.src_color_blend_factor.as_raw(),
            a.dst_color_blend_factor.as_raw(),
            a.color_blend_op.as_raw(),
        ],
        alpha: [
            a.src_alpha_blend_factor.as_raw(),
            a.dst_alpha_blend_factor.as_raw(),
            a.alpha_blend_op.as_raw(),
        ],
    }
}

unsafe fn multisample(s: &mut GraphicsState, info: &vk::GraphicsPipelineCreateInfo) {
    // SAFETY: the structure is the application's and valid, or null.
    unsafe {
        let Some(m) = info.multisample_state.as_ref() else { return };
        s.samples = crate::image::samples_of(m.rasterization_samples);
        s.sample_mask = m.sample_mask.as_ref().map_or(u32::MAX, |m| *m);
        s.alpha_to_coverage = m.alpha_to_coverage_enable == vk::TRUE;
        s.alpha_to_one = m.alpha_to_one_enable == vk::TRUE;
        s.sample_shading = m.sample_shading_enable == vk::TRUE;
        s.min_sample_shading = m.min_sample_shading;
    }
}

unsafe fn fragment_output(
    s: &mut GraphicsState,
    info: &vk::GraphicsPipelineCreateInfo,
) -> Result<()> {
    // SAFETY: the structures are the application's and valid.
    unsafe {
        multisample(s, info);
        if let Some(c) = info.color_blend_state.as_ref() {
            s.logic_op_enable = c.logic_op_enable == vk::TRUE;
            s.logic_op = c.logic_op;
            s.blend_constants = c.blend_constants;
            s.blend_enable = 0;
            for (k, a) in
                slice(c.attachments, c.attachment_count).iter().enumerate().take(MAX_COLOURS)
            {
                s.blend_enable |= u8::from(a.blend_enable == vk::TRUE) << k;
                s.blend[k] = blend_of(a);
                s.write_mask[k] = a.color_write_mask.bits() as u8;
            }
            let writes: Option<&vk::PipelineColorWriteCreateInfoEXT> =
                chain::find(c.next, vk::StructureType::PIPELINE_COLOR_WRITE_CREATE_INFO_EXT);
            if let Some(w) = writes {
                let enables = slice(w.color_write_enables, w.attachment_count).iter().enumerate();
                s.write_enable = enables.fold(0, |all, (k, &e)| all | u8::from(e == vk::TRUE) << k);
            }
        }
        let rendering: Option<&vk::PipelineRenderingCreateInfo> =
            chain::find(info.next, vk::StructureType::PIPELINE_RENDERING_CREATE_INFO);
        if let Some(pass) = maybe::<RenderPass>(info.render_pass) {
            pass.formats(info.subpass, s);
        } else if let Some(r) = rendering {
            s.local_read = true;
            s.view_mask = r.view_mask;
            let some = |f: vk::Format| {
                if f == vk::Format::UNDEFINED { Ok(None) } else { format_of(f).map(Some) }
            };
            for (k, &f) in slice(r.color_attachment_formats, r.color_attachment_count)
                .iter()
                .enumerate()
                .take(MAX_COLOURS)
            {
                s.colour_formats[k] = some(f)?;
            }
            s.depth_format = some(r.depth_attachment_format)?;
            s.stencil_format = some(r.stencil_attachment_format)?;
        }
        let locations: Option<&vk::RenderingAttachmentLocationInfo> =
            chain::find(info.next, vk::StructureType::RENDERING_ATTACHMENT_LOCATION_INFO);
        if let Some(l) = locations {
            set_locations(s, l);
        }
        let inputs: Option<&vk::RenderingInputAttachmentIndexInfo> =
            chain::find(info.next, vk::StructureType::RENDERING_INPUT_ATTACHMENT_INDEX_INFO);
        if let Some(i) = inputs {
            set_inputs(s, i);
        }
        Ok(())
    }
}

/// Sets which fragment outputs go to which attachments.
pub(crate) unsafe fn set_locations(s: &mut GraphicsState, l: &vk::RenderingAttachmentLocationInfo) {
    // SAFETY: the array is the application's and valid, or null.
    let list = unsafe { slice(l.color_attachment_locations, l.color_attachment_count) };
    for k in 0..MAX_COLOURS {
        let own = list.get(k).copied().unwrap_or(k as u32);
        s.locations[k] = (own < MAX_COLOURS as u32).then_some(own as u8);
    }
}

/// Sets which input attachments are which attachments.
pub(crate) unsafe fn set_inputs(s: &mut GraphicsState, l: &vk::RenderingInputAttachmentIndexInfo) {
    // SAFETY: the array is the application's and valid, or null.
    let list = unsafe { slice(l.color_attachment_input_indices, l.color_attachment_count) };
    for k in 0..MAX_COLOURS {
        let own = list.get(k).copied().unwrap_or(k as u32);
        s.inputs[k] = (own < MAX_COLOURS as u32).then_some(own as u8);
    }
}

/// The stages of graphics pipelines, in their order.
const STAGES: [vk::ShaderStageFlags; 5] = [
    vk::ShaderStageFlags::VERTEX,
    vk::ShaderStageFlags::TESSELLATION_CONTROL,
    vk::ShaderStageFlags::TESSELLATION_EVALUATION,
    vk::ShaderStageFlags::GEOMETRY,
    vk::ShaderStageFlags::FRAGMENT,
];

/// A stage on its way to a shader.
struct Translated {
    ir: tepui_ir::Shader,
    /// Hash of everything that the shader follows from.
    key: u128,
    robust: bool,
}

unsafe fn graphics<B: Backend>(
    d: &Device<B>,
    info: &vk::GraphicsPipelineCreateInfo,
    making: &mut Making,
) -> Result<Kind<B>> {
    // SAFETY: as the caller says.
    unsafe {
        let Front { mut p, flags, parts, is_library, has_libraries, discards } = front::<B>(info)?;
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
        if is_whole
            && !is_library
            && !makes_variants
            && p.between.is_empty()
            && let Some(v) = &p.vertex
        {
            let optimise = !has_libraries
                || flags.contains(vk::PipelineCreateFlags2::LINK_TIME_OPTIMIZATION_EXT);
            // Shaders that were linked for this state have what it asks for.
            if made.as_ref().is_none_or(|m| !m.is_linked(&p.state)) {
                B::link(&d.inner, v, p.fragment.as_deref(), &p.state, optimise)?;
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
            let robust = robust(d, stage.next) || robust(d, info.next);
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
        let robust = robust(d, info.stage.next) || robust(d, info.next);
        let from = made_from(&[&(source_of(&info.stage, None)?, robust)], flags);
        let sets = sets_text(sets_of(maybe::<PipelineLayout<B>>(info.layout)));
        Ok(xxh3::xxh3_128(format!("{from:x} {sets}").as_bytes()))
    }
}

/// A hash of everything that a graphics pipeline follows from.
pub(crate) unsafe fn key_of_graphics<B: Backend>(
    d: &Device<B>,
    info: &vk::GraphicsPipelineCreateInfo,
) -> Result<u128> {
    // SAFETY: the structure is the application's and valid.
    unsafe {
        let Front { p, flags, parts, is_library, has_libraries, discards } = front::<B>(info)?;
        let sources = sources_of(d, info, parts, discards, None)?;
        let from = sources_key(&sources, flags);
        let sets = sets_text(sets_of(maybe::<PipelineLayout<B>>(info.layout)));
        let (state, groups) = (&p.state, [p.fixed, p.dynamic]);
        let kind = (p.parts, p.sources, is_library, has_libraries);
        let text = format!("{from:x} {sets} {state:?} {groups:?} {kind:?}");
        Ok(xxh3::xxh3_128(text.as_bytes()))
    }
}

/// Set layouts as text.
fn sets_text<B: Backend>(sets: &[Option<Arc<SetLayout<B>>>]) -> String {
    let bindings = sets.iter().enumerate().flat_map(|(k, set)| {
        let all = set.iter().flat_map(|s| s.bindings.iter().enumerate());
        all.filter_map(move |(n, b)| Some((k, n, b.as_ref()?)))
    });
    let all = bindings.map(|(k, n, b)| {
        let of = (b.ty, b.count, b.offset, b.stride, b.planes, b.first_dynamic);
        format!("{k} {n} {of:?} {:?} {:?};", b.samplers, b.conversions)
    });
    all.collect()
}

/// A graphics pipeline without shaders of its own: its state, and what libraries bring.
struct Front<B: Backend> {
    p: GraphicsPipeline<B>,
    flags: vk::PipelineCreateFlags2,
    /// Parts that are the pipeline's own.
    parts: vk::GraphicsPipelineLibraryFlagsEXT,
    is_library: bool,
    has_libraries: bool,
    /// Nothing is rasterised.
    discards: bool,
}

unsafe fn front<B: Backend>(info: &vk::GraphicsPipelineCreateInfo) -> Result<Front<B>> {
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
        let mut p = GraphicsPipeline::<B> {
            id: next_id(),
            vertex: None,
            between: Between::default(),
            fragment: None,
            state: Arc::default(),
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
                Arc::make_mut(&mut p.state).copy(&l.state, l.fixed | groups_of(l.parts));
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
        let s = Arc::make_mut(&mut p.state);
        if parts.contains(P::VERTEX_INPUT_INTERFACE) {
            vertex_input(s, info)?;
        }
        if parts.contains(P::PRE_RASTERIZATION_SHADERS) {
            pre_raster(s, info);
        }
        let discards = s.discard && !p.dynamic.contains(Groups::DISCARD);
        if parts.contains(P::FRAGMENT_SHADER) && !discards {
            depth_stencil(s, info);
            multisample(s, info);
        }
        if parts.contains(P::FRAGMENT_OUTPUT_INTERFACE) && !discards {
            fragment_output(s, info)?;
        } else if let Some(pass) = maybe::<RenderPass>(info.render_pass) {
            s.view_mask = pass.view_mask(info.subpass);
        } else if let Some(r) = chain::find::<vk::PipelineRenderingCreateInfo>(
            info.next,
            vk::StructureType::PIPELINE_RENDERING_CREATE_INFO,
        ) {
            s.view_mask = r.view_mask;
        }
        Ok(Front { p, flags, parts, is_library, has_libraries, discards })
    }
}

/// The shaders of [`STAGES`].
type Shaders<B> = Vec<Option<Arc<<B as Backend>::Shader>>>;

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
        let (ir, key) = source.translate(sets)?;
        *to = Some(Translated { ir, key, robust: *robust });
    }
    if let [Some(v), None, None, None, Some(f)] = &mut stages
        && v.ir.captures.is_empty()
    {
        link_stages::run(&mut v.ir, &mut f.ir);
        // What became of one depends on the other.
        let both = [v.key, f.key].map(u128::to_le_bytes).concat();
        v.key = xxh3::xxh3_128_with_seed(&both, 0);
        f.key = xxh3::xxh3_128_with_seed(&both, 1);
    }
    let mut shaders = Vec::with_capacity(STAGES.len());
    for translated in stages {
        let Some(Translated { ir, key, robust }) = translated else {
            shaders.push(None);
            continue;
        };
        let info = ShaderInfo {
            ir,
            key,
            programs: programs.clone(),
            captures: captures(flags),
            custom_borders: d.custom_borders,
            null_images: d.null_images,
            sets,
            robust,
            partial_state: partial.then_some(&p.state),
        };
        shaders.push(Some(Arc::new(B::shader(&d.inner, info)?)));
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
        .union(Groups::ALPHA_TO_COVERAGE)
        .union(Groups::ALPHA_TO_ONE)
        .union(Groups::LOGIC_OP)
        .union(Groups::LOGIC_OP_ENABLE)
        .union(Groups::BLEND_ENABLE)
        .union(Groups::BLEND_EQUATION)
        .union(Groups::WRITE_MASK)
        .union(Groups::WRITE_ENABLE);

    /// State that any part of a pipeline may make dynamic.
    const STATE_OF_ANY: Groups =
        Groups::SAMPLES.union(Groups::SAMPLE_MASK).union(Groups::ALPHA_TO_COVERAGE);
}

fn identify(hash: u128, out: &mut vk::ShaderModuleIdentifierEXT) {
    let bytes = hash.to_le_bytes();
    out.identifier_size = bytes.len() as u32;
    out.identifier.0[..bytes.len()].copy_from_slice(&bytes);
}

/// What a pipeline is made with.
struct Making {
    programs: Arc<Programs>,
    /// Binaries that it is made from.
    given: Option<Captured>,
    /// What its own binary will hold.
    captured: Option<Captured>,
}

impl Making {
    fn new(
        cache: Option<&Arc<Cache>>,
        given: Option<Captured>,
        only_cached: bool,
        captures: bool,
    ) -> Making {
        let own = match &given {
            Some(g) => Some(g.programs.clone()),
            None => captures.then(Arc::default),
        };
        let captured = captures
            .then(|| Captured { programs: own.clone().unwrap_or_default(), stages: Vec::new() });
        let programs = match own {
            Some(own) => Programs::of_pipeline(own, only_cached),
            None => Programs::new(cache.cloned(), only_cached),
        };
        Making { programs: Arc::new(programs), given, captured }
    }
}

/// Keeps the SPIR-V that a pipeline is made from, if there are to be binaries of it.
fn capture(captured: &mut Option<Captured>, sources: &[&Source<'_>]) {
    if let Some(c) = captured {
        c.stages = sources.iter().map(|s| (s.stage.bits(), s.words.to_vec())).collect();
    }
}

/// Creates pipelines one by one; the error of the first that fails is returned, and its handle is null.
unsafe fn each<B: Backend, T>(
    d: &Device<B>,
    cache: vk::PipelineCache,
    infos: &[T],
    callbacks: *const vk::AllocationCallbacks,
    out: *mut vk::Pipeline,
    make: impl Fn(&T, &mut Making) -> Result<Kind<B>>,
    common: impl Fn(&T) -> (vk::PipelineCreateFlags2, *const c_void),
) -> Result<vk::Result> {
    use vk::PipelineCreateFlags2 as F;
    let mut result = Ok(vk::Result::SUCCESS);
    // SAFETY: the array has room for each pipeline; the cache is live or null.
    unsafe {
        for k in 0..infos.len() {
            *out.add(k) = vk::Pipeline::null();
        }
        let cache = maybe::<Arc<Cache>>(cache);
        for (k, info) in infos.iter().enumerate() {
            let (flags, next) = common(info);
            let only_cached = flags.contains(F::FAIL_ON_PIPELINE_COMPILE_REQUIRED);
            let captures = flags.contains(F::CAPTURE_DATA_KHR);
            let mut making = Making::new(cache, binary::given(next), only_cached, captures);
            let start = std::time::Instant::now();
            let made = make(info, &mut making).and_then(|kind| {
                let captured = Mutex::new(making.captured.take().map(Arc::new));
                d.allocator(callbacks).create(Pipeline { kind, captured })
            });
            making.programs.created();
            feedback(next, start, &making.programs);
            let failed = match made {
                Ok(p) => {
                    *out.add(k) = handle(p);
                    continue;
                }
                Err(e) if e.code == vk::Result::PIPELINE_COMPILE_REQUIRED => Ok(e.code),
                Err(e) => Err(e),
            };
            // Errors go before codes that are none.
            if matches!(result, Ok(vk::Result::SUCCESS)) || result.is_ok() && failed.is_err() {
                result = failed;
            }
            if flags.contains(F::EARLY_RETURN_ON_FAILURE) {
                break;
            }
        }
    }
    result
}

/// Says whether a pipeline was found in the application's cache, and how long its creation took.
unsafe fn feedback(next: *const c_void, start: std::time::Instant, programs: &Programs) {
    // SAFETY: the chain is the application's and valid.
    unsafe {
        let f: Option<&vk::PipelineCreationFeedbackCreateInfo> =
            chain::find(next, vk::StructureType::PIPELINE_CREATION_FEEDBACK_CREATE_INFO);
        let Some(f) = f else { return };
        let duration = start.elapsed().as_nanos() as u64;
        let mut flags = vk::PipelineCreationFeedbackFlags::VALID;
        if programs.all_found() {
            flags |= vk::PipelineCreationFeedbackFlags::APPLICATION_PIPELINE_CACHE_HIT;
        }
        *f.pipeline_creation_feedback = vk::PipelineCreationFeedback { flags, duration };
        for k in 0..f.pipeline_stage_creation_feedback_count as usize {
            *f.pipeline_stage_creation_feedbacks.add(k) =
                vk::PipelineCreationFeedback { flags, duration };
        }
    }
}

entry! {
    /// `vkCreateShaderModule`.
    fn vkCreateShaderModule<B: Backend>(device: vk::Device, info: *const vk::ShaderModuleCreateInfo, callbacks: *const vk::AllocationCallbacks, out: *mut vk::ShaderModule) -> vk::Result {
        unsafe {
            let d = Device::<B>::of(device);
            let words = slice((*info).code, ((*info).code_size / 4) as u32).to_vec();
            *out = handle(d.allocator(callbacks).create(Module::new(words))?);
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkDestroyShaderModule`.
    fn vkDestroyShaderModule<B: Backend>(device: vk::Device, module: vk::ShaderModule, callbacks: *const vk::AllocationCallbacks) {
        unsafe { Device::<B>::of(device).allocator(callbacks).destroy(module.as_raw() as *mut Module) }
    }

    /// `vkCreatePipelineLayout`.
    fn vkCreatePipelineLayout<B: Backend>(device: vk::Device, info: *const vk::PipelineLayoutCreateInfo, callbacks: *const vk::AllocationCallbacks, out: *mut vk::PipelineLayout) -> vk::Result {
        unsafe {
            let d = Device::<B>::of(device);
            let sets = slice((*info).set_layouts, (*info).set_layout_count).iter();
            let sets = sets.map(|&s| maybe::<Arc<SetLayout<B>>>(s).cloned()).collect();
            *out = handle(d.allocator(callbacks).create(PipelineLayout::<B> { sets })?);
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkDestroyPipelineLayout`.
    fn vkDestroyPipelineLayout<B: Backend>(device: vk::Device, layout: vk::PipelineLayout, callbacks: *const vk::AllocationCallbacks) {
        unsafe { Device::<B>::of(device).allocator(callbacks).destroy(layout.as_raw() as *mut PipelineLayout<B>) }
    }

    /// `vkCreateComputePipelines`.
    fn vkCreateComputePipelines<B: Backend>(device: vk::Device, cache: vk::PipelineCache, count: u32, infos: *const vk::ComputePipelineCreateInfo, callbacks: *const vk::AllocationCallbacks, out: *mut vk::Pipeline) -> vk::Result {
        unsafe {
            let d = Device::<B>::of(device);
            let make = |i: &vk::ComputePipelineCreateInfo, m: &mut Making| compute(d, i, m);
            each(d, cache, slice(infos, count), callbacks, out, make, |i| (flags_of(i.flags, i.next), i.next))
        }
    }

    /// `vkCreateGraphicsPipelines`.
    fn vkCreateGraphicsPipelines<B: Backend>(device: vk::Device, cache: vk::PipelineCache, count: u32, infos: *const vk::GraphicsPipelineCreateInfo, callbacks: *const vk::AllocationCallbacks, out: *mut vk::Pipeline) -> vk::Result {
        unsafe {
            let d = Device::<B>::of(device);
            let make = |i: &vk::GraphicsPipelineCreateInfo, m: &mut Making| graphics(d, i, m);
            each(d, cache, slice(infos, count), callbacks, out, make, |i| (flags_of(i.flags, i.next), i.next))
        }
    }

    /// `vkGetShaderModuleIdentifierEXT`.
    fn vkGetShaderModuleIdentifierEXT<B: Backend>(_device: vk::Device, module: vk::ShaderModule, out: *mut vk::ShaderModuleIdentifierEXT) {
        unsafe { identify(get::<Module>(module).hash, &mut *out) }
    }

    /// `vkGetShaderModuleCreateInfoIdentifierEXT`.
    fn vkGetShaderModuleCreateInfoIdentifierEXT<B: Backend>(_device: vk::Device, info: *const vk::ShaderModuleCreateInfo, out: *mut vk::ShaderModuleIdentifierEXT) {
        unsafe { identify(hash_of(slice((*info).code, ((*info).code_size / 4) as u32)), &mut *out) }
    }

    /// `vkDestroyPipeline`.
    fn vkDestroyPipeline<B: Backend>(device: vk::Device, pipeline: vk::Pipeline, callbacks: *const vk::AllocationCallbacks) {
        unsafe { Device::<B>::of(device).allocator(callbacks).destroy(pipeline.as_raw() as *mut Pipeline<B>) }
    }

    /// `vkCreatePrivateDataSlot`.
    fn vkCreatePrivateDataSlot<B: Backend>(device: vk::Device, _info: *const vk::PrivateDataSlotCreateInfo, callbacks: *const vk::AllocationCallbacks, out: *mut vk::PrivateDataSlot) -> vk::Result {
        unsafe {
            *out = handle(Device::<B>::of(device).allocator(callbacks).create(PrivateData::default())?);
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkDestroyPrivateDataSlot`.
    fn vkDestroyPrivateDataSlot<B: Backend>(device: vk::Device, slot: vk::PrivateDataSlot, callbacks: *const vk::AllocationCallbacks) {
        unsafe { Device::<B>::of(device).allocator(callbacks).destroy(slot.as_raw() as *mut PrivateData) }
    }

    /// `vkSetPrivateData`.
    fn vkSetPrivateData<B: Backend>(_device: vk::Device, _type: vk::ObjectType, object: u64, slot: vk::PrivateDataSlot, data: u64) -> vk::Result {
        unsafe { get_mut::<PrivateData>(slot).insert(object, data) };
        Ok(vk::Result::SUCCESS)
    }

    /// `vkGetPrivateData`.
    fn vkGetPrivateData<B: Backend>(_device: vk::Device, _type: vk::ObjectType, object: u64, slot: vk::PrivateDataSlot, out: *mut u64) {
        unsafe { *out = get::<PrivateData>(slot).get(&object).copied().unwrap_or(0) }
    }
}

/// Data that applications attach to objects.
type PrivateData = std::collections::BTreeMap<u64, u64>;
