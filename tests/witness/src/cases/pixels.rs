//! From fragments to attachments: blending, logic, masks, depth, stencil, samples, formats, counts.

use ash::vk;
use ash::vk::BlendFactor as B;

use super::canvas::{FRAGMENT, VERTEX, stages};
use crate::case::{Bench, Case, Output, Rule, Shader};
use crate::gpu::{
    Attachment, Bind, Buffer, Commands, Image, ImageSpec, Pass, Rendered, Result, SamplerSpec,
    Shape, State, Transfer,
};
use crate::number::Random;

const SIZE_PX: [u32; 2] = [96, 80];

/// Rule for pictures: interpolation may differ in the last place, edges in a few pixels.
fn nearly() -> Rule {
    Rule::Mostly { abs: 2.0, permille: 4.0 }
}

/// Triangles anywhere in the view, each with a depth, with colours and alphas at their corners.
fn triangles(seed: u64, count: usize) -> Vec<f32> {
    let mut random = Random::new(seed);
    let mut next = |low: f32, high: f32| random.float(low, high);
    let mut out = Vec::new();
    for _ in 0..count {
        let z = next(0.1, 0.9);
        for _ in 0..3 {
            let w = next(0.5, 2.0);
            let (x, y) = (next(-1.1, 1.1), next(-1.1, 1.1));
            out.extend([x * w, y * w, (z + next(-0.05, 0.05)) * w, w]);
            out.extend([next(0.0, 1.0), next(0.0, 1.0), next(0.0, 1.0), next(0.0, 1.0)]);
        }
    }
    out
}

/// A rectangle over the whole view.
fn backdrop(z: f32, corners: [[f32; 4]; 4]) -> Vec<f32> {
    // Larger than the view, so that it is covered when moved by a part of a pixel.
    let at = [[-1.05, -1.05], [1.05, -1.05], [-1.05, 1.05], [1.05, 1.05]];
    let vertex = |i: usize| [&[at[i][0], at[i][1], z, 1.0][..], &corners[i][..]].concat();
    [0, 1, 2, 2, 1, 3].into_iter().flat_map(vertex).collect()
}

fn rainbow(z: f32) -> Vec<f32> {
    backdrop(
        z,
        [[1.0, 0.1, 0.2, 0.9], [0.1, 0.9, 0.3, 0.2], [0.2, 0.1, 1.0, 0.5], [0.9, 0.8, 0.0, 1.0]],
    )
}

/// A format's pixels as elements to compare.
fn elements(name: &str, format: vk::Format, bytes: &[u8], rule: &Rule) -> Output {
    use vk::Format as F;
    // Packed formats channel by channel, lowest first. Lavapipe rounds some of them down.
    let packed: &[u32] = match format {
        F::A2B10G10R10_UNORM_PACK32 | F::A2R10G10B10_UNORM_PACK32 | F::A2B10G10R10_UINT_PACK32 => {
            &[10, 10, 10, 2]
        }
        F::B10G11R11_UFLOAT_PACK32 => &[11, 11, 10],
        F::R5G6B5_UNORM_PACK16 => &[5, 6, 5],
        F::A1R5G5B5_UNORM_PACK16 => &[5, 5, 5, 1],
        F::R4G4B4A4_UNORM_PACK16 => &[4, 4, 4, 4],
        _ => &[],
    };
    if !packed.is_empty() {
        let bits: u32 = packed.iter().sum();
        let mut channels = Vec::new();
        for texel in bytes.chunks_exact(bits as usize / 8) {
            let mut word = texel.iter().rev().fold(0u32, |word, &b| word << 8 | u32::from(b));
            for &bits in packed {
                channels.push(word & ((1 << bits) - 1));
                word >>= bits;
            }
        }
        return Output::peer(name, &channels, Rule::Mostly { abs: 1.0, permille: 4.0 });
    }
    match format {
        F::R32_SFLOAT | F::R32G32_SFLOAT | F::R32G32B32A32_SFLOAT | F::D32_SFLOAT => {
            let floats: Vec<f32> = bytes
                .chunks_exact(4)
                .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
                .collect();
            Output::peer(name, &floats, Rule::Mostly { abs: 1e-3, permille: 4.0 })
        }
        // As 16-bit numbers: for halves, the rule is in units of the last place.
        F::R16_SFLOAT
        | F::R16G16_SFLOAT
        | F::R16G16B16A16_SFLOAT
        | F::R16_UNORM
        | F::R16G16_UNORM
        | F::R16G16B16A16_UNORM
        | F::R16_SNORM
        | F::R16G16_SNORM
        | F::R16G16B16A16_SNORM
        | F::R16_UINT
        | F::R16G16_UINT
        | F::R16G16B16A16_UINT
        | F::R16_SINT
        | F::R16G16_SINT
        | F::R16G16B16A16_SINT => {
            let words: Vec<u32> = bytes
                .chunks_exact(2)
                .map(|b| u32::from(u16::from_le_bytes([b[0], b[1]])))
                .collect();
            Output::peer(name, &words, rule.clone())
        }
        _ => Output::peer(name, bytes, rule.clone()),
    }
}

/// A draw of a picture: state, shader macros, vertices.
struct Layer {
    state: State,
    defines: Vec<(&'static str, String)>,
    vertices: Vec<f32>,
}

impl Layer {
    fn new(vertices: Vec<f32>) -> Layer {
        let float4 = (vk::Format::R32G32B32A32_SFLOAT, 16);
        let state =
            State::new(SIZE_PX).vertex_buffer(vk::VertexInputRate::VERTEX, &[float4, float4]);
        Layer { state, defines: Vec::new(), vertices }
    }

    fn define(mut self, name: &'static str, value: impl ToString) -> Layer {
        self.defines.push((name, value.to_string()));
        self
    }

    fn state(mut self, change: impl FnOnce(&mut State)) -> Layer {
        change(&mut self.state);
        self
    }
}

/// The outputs of a drawn picture.
struct Drawn {
    pixels: Vec<u8>,
    depth: Option<Vec<u8>>,
    counts: Option<Vec<u64>>,
}

/// A picture: attachments and draws.
struct Picture {
    name: String,
    about: &'static str,
    format: vk::Format,
    texel_bytes: usize,
    depth: Option<vk::Format>,
    samples: vk::SampleCountFlags,
    /// The initial depth and stencil.
    clear: (f32, u32),
    layers: Vec<Layer>,
    rule: Rule,
    transfer: Transfer,
    /// Whether samples are counted, and whether precisely.
    query: Option<bool>,
}

impl Picture {
    fn new(name: impl Into<String>, about: &'static str, layers: Vec<Layer>) -> Picture {
        Picture {
            name: name.into(),
            about,
            format: vk::Format::R8G8B8A8_UNORM,
            texel_bytes: 4,
            depth: None,
            samples: vk::SampleCountFlags::TYPE_1,
            clear: (1.0, 0),
            layers,
            rule: nearly(),
            transfer: Transfer::Host,
            query: None,
        }
    }

    fn images(
        &self,
        bench: &Bench,
        samples: vk::SampleCountFlags,
    ) -> Result<(Image, Option<Image>, Option<Image>)> {
        let [width, height] = SIZE_PX;
        let spec = |format, usage| ImageSpec {
            usage,
            ..ImageSpec::sampled(format, Shape::D2, [width, height, 1]).through(self.transfer)
        };
        let color = spec(self.format, vk::ImageUsageFlags::COLOR_ATTACHMENT);
        let single = bench.gpu.image(color)?;
        let many = if samples == vk::SampleCountFlags::TYPE_1 {
            None
        } else {
            let spec = ImageSpec { transfer: Transfer::Gpu, ..color }.samples(samples);
            Some(bench.gpu.image(spec)?)
        };
        let depth = match self.depth {
            Some(format) => {
                let mut spec =
                    spec(format, vk::ImageUsageFlags::DEPTH_STENCIL_ATTACHMENT).samples(samples);
                spec.transfer = Transfer::Gpu;
                Some(bench.gpu.image(spec)?)
            }
            None => None,
        };
        Ok((single, many, depth))
    }

    /// Draws with `samples`, with everything moved by a part of a pixel.
    fn draw(
        &self,
        bench: &Bench,
        samples: vk::SampleCountFlags,
        shift_px: [f32; 2],
    ) -> Result<Drawn> {
        let (single, many, depth) = self.images(bench, samples)?;
        let mut target = Attachment::color(many.as_ref().unwrap_or(&single), [0.2, 0.3, 0.4, 0.5]);
        if many.is_some() {
            let integer =
                self.layers.iter().any(|l| l.defines.iter().any(|d| d.1.contains("uvec4")));
            let mode = if integer {
                vk::ResolveModeFlags::SAMPLE_ZERO
            } else {
                vk::ResolveModeFlags::AVERAGE
            };
            target.resolve = Some((Rendered::whole(&single), mode));
        }
        let has_stencil = self.depth == Some(vk::Format::D32_SFLOAT_S8_UINT);
        let depth_target = depth.as_ref().map(|d| Attachment::depth(d, self.clear.0, self.clear.1));
        let pass = Pass {
            colors: vec![target],
            depth: depth_target,
            stencil: depth_target.filter(|_| has_stencil),
            size_px: SIZE_PX,
            ..Pass::default()
        };
        let mut prepared = Vec::new();
        for (i, layer) in self.layers.iter().enumerate() {
            let mut state = layer.state.clone();
            state.colors = vec![self.format];
            state.samples = samples;
            state.depth_format = self.depth.unwrap_or_default();
            state.stencil_format =
                if has_stencil { vk::Format::D32_SFLOAT_S8_UINT } else { vk::Format::UNDEFINED };
            let stages =
                [(VERTEX, &bench.spirv[2 * i][..]), (FRAGMENT, &bench.spirv[2 * i + 1][..])];
            let pipeline = bench.gpu.graphics(&stages, &state, &[])?;
            let mut vertices = layer.vertices.clone();
            for v in vertices.chunks_exact_mut(8) {
                v[0] += 2.0 * shift_px[0] / SIZE_PX[0] as f32 * v[3];
                v[1] += 2.0 * shift_px[1] / SIZE_PX[1] as f32 * v[3];
            }
            let buffer: Buffer = bench.gpu.buffer(&vertices)?;
            prepared.push((pipeline, buffer, (layer.vertices.len() / 8) as u32));
        }
        let pool = match self.query {
            Some(_) => Some(bench.gpu.query_pool(vk::QueryType::OCCLUSION, prepared.len() as u32)?),
            None => None,
        };
        let device = &bench.gpu.device;
        bench.gpu.submit(|c| {
            if let Some(pool) = pool {
                // SAFETY: the pool is live and has the queries.
                unsafe { device.cmd_reset_query_pool(c.handle, pool, 0, prepared.len() as u32) };
            }
            c.render(&pass, |c: &Commands| {
                for (i, (pipeline, buffer, count)) in (0..).zip(&prepared) {
                    c.vertex_buffers(&[buffer]);
                    let flags = match self.query {
                        Some(true) => vk::QueryControlFlags::PRECISE,
                        _ => vk::QueryControlFlags::empty(),
                    };
                    if let Some(pool) = pool {
                        // SAFETY: the query was reset and is not active.
                        unsafe { device.cmd_begin_query(c.handle, pool, i, flags) };
                    }
                    c.draw(pipeline, *count, 1);
                    if let Some(pool) = pool {
                        // SAFETY: the query was begun above.
                        unsafe { device.cmd_end_query(c.handle, pool, i) };
                    }
                }
            });
        })?;
        let bytes = SIZE_PX[0] as usize * SIZE_PX[1] as usize;
        let pixels = bench.gpu.read_image(&single, 0, bytes * self.texel_bytes)?;
        let mut drawn = Drawn { pixels, depth: None, counts: None };
        if let (Some(depth), vk::SampleCountFlags::TYPE_1) = (&depth, samples) {
            let size = if depth.spec.format == vk::Format::D16_UNORM { 2 } else { 4 };
            drawn.depth = Some(bench.gpu.read_image(depth, 0, bytes * size)?);
        }
        if let Some(pool) = pool {
            let mut counts = vec![0u64; prepared.len()];
            let flags = vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::WAIT;
            // SAFETY: the pool is live and there is room for all results.
            unsafe { device.get_query_pool_results(pool, 0, &mut counts, flags) }.map_err(
                |result| crate::gpu::Error::Vulkan { call: "vkGetQueryPoolResults", result },
            )?;
            drawn.counts = Some(counts);
        }
        Ok(drawn)
    }

    /// The outputs of the picture.
    fn run(&self, bench: &Bench) -> Result<Vec<Output>> {
        let drawn = self.draw(bench, self.samples, [0.0; 2])?;
        if self.samples == vk::SampleCountFlags::TYPE_2 {
            return self.halves(bench, &drawn.pixels);
        }
        let mut picture = elements("picture", self.format, &drawn.pixels, &self.rule);
        if self.format == vk::Format::R8G8B8A8_UNORM {
            picture = picture.picture(SIZE_PX);
        }
        let mut outputs = vec![picture];
        if let Some(texels) = &drawn.depth {
            let format = match self.depth {
                // Sixteen bits a texel, compared as numbers.
                Some(vk::Format::D16_UNORM) => vk::Format::R16_SFLOAT,
                _ => vk::Format::D32_SFLOAT,
            };
            outputs.push(elements("depth", format, texels, &self.rule));
        }
        if let (Some(counts), Some(precise)) = (drawn.counts, self.query) {
            let counts: Vec<u32> =
                counts.iter().map(|&n| if precise { n as u32 } else { u32::from(n > 0) }).collect();
            // A few samples on edges.
            let abs = if precise { 12.0 } else { 0.0 };
            outputs.push(Output::peer("counts", &counts, Rule::Abs(abs)));
        }
        Ok(outputs)
    }

    /// Outputs for two samples, which lavapipe does not support: the picture is compared with the average of
    /// two with one sample each, moved to the standard sample locations.
    fn halves(&self, bench: &Bench, pixels: &[u8]) -> Result<Vec<Output>> {
        let one = vk::SampleCountFlags::TYPE_1;
        let first = self.draw(bench, one, [-0.25; 2])?.pixels;
        let second = self.draw(bench, one, [0.25; 2])?.pixels;
        let average: Vec<u8> = first
            .iter()
            .zip(&second)
            .map(|(&a, &b)| (u16::from(a) + u16::from(b)).div_ceil(2) as u8)
            .collect();
        let output = Output::cpu("picture", pixels, &average, self.rule.clone());
        Ok(vec![output.picture(SIZE_PX)])
    }
    fn case(self) -> Case {
        let mut shaders = Vec::new();
        for layer in &self.layers {
            let with = |file| {
                let scale = if layer.defines.iter().any(|(n, _)| *n == "SCALE") {
                    vec![]
                } else {
                    vec![("SCALE", String::new())]
                };
                layer
                    .defines
                    .iter()
                    .cloned()
                    .chain(scale)
                    .fold(Shader::new(file), |s, (name, value)| s.define(name, value))
            };
            shaders.push(with("pixels.vert"));
            shaders.push(with("pixels.frag"));
        }
        let on_lavapipe = self.samples != vk::SampleCountFlags::TYPE_2;
        let case = Case::new(self.name.clone(), self.about, shaders, move |bench| self.run(bench));
        if on_lavapipe { case } else { case.without_lavapipe() }
    }
}

fn blend_state(
    color: (vk::BlendFactor, vk::BlendFactor, vk::BlendOp),
    alpha: (vk::BlendFactor, vk::BlendFactor, vk::BlendOp),
) -> vk::PipelineColorBlendAttachmentState {
    vk::PipelineColorBlendAttachmentState::default()
        .blend_enable(true)
        .src_color_blend_factor(color.0)
        .dst_color_blend_factor(color.1)
        .color_blend_op(color.2)
        .src_alpha_blend_factor(alpha.0)
        .dst_alpha_blend_factor(alpha.1)
        .alpha_blend_op(alpha.2)
        .color_write_mask(vk::ColorComponentFlags::RGBA)
}

fn lower(debug: impl std::fmt::Debug) -> String {
    format!("{debug:?}").to_lowercase()
}

/// A rainbow, and triangles blended over it.
fn blended(name: String, blend: vk::PipelineColorBlendAttachmentState, dual: bool) -> Picture {
    let mut over = Layer::new(triangles(7, 12)).state(|s| {
        s.blend = vec![blend];
        s.blend_constants = [0.25, 0.5, 0.75, 0.6];
    });
    if dual {
        over = over.define("DUAL", 1);
    }
    let layers = vec![Layer::new(rainbow(0.5)), over];
    let mut picture = Picture::new(name, "triangles blended over a rainbow", layers);
    // Rounding errors of several layers add up.
    picture.rule = Rule::Mostly { abs: 4.0, permille: 4.0 };
    picture
}

fn blending() -> Vec<Case> {
    use vk::BlendOp as O;
    let factors = [
        B::ZERO,
        B::ONE,
        B::SRC_COLOR,
        B::ONE_MINUS_SRC_COLOR,
        B::DST_COLOR,
        B::ONE_MINUS_DST_COLOR,
        B::SRC_ALPHA,
        B::ONE_MINUS_SRC_ALPHA,
        B::DST_ALPHA,
        B::ONE_MINUS_DST_ALPHA,
        B::CONSTANT_COLOR,
        B::ONE_MINUS_CONSTANT_COLOR,
        B::CONSTANT_ALPHA,
        B::ONE_MINUS_CONSTANT_ALPHA,
        B::SRC_ALPHA_SATURATE,
        B::SRC1_COLOR,
        B::ONE_MINUS_SRC1_COLOR,
        B::SRC1_ALPHA,
        B::ONE_MINUS_SRC1_ALPHA,
    ];
    let mut cases = Vec::new();
    for factor in factors {
        let dual = factor.as_raw() >= B::SRC1_COLOR.as_raw();
        let source = (factor, B::ONE, O::ADD);
        let name = format!("blend/source_{}", lower(factor));
        cases.push(blended(name, blend_state(source, source), dual).case());
        if factor != B::SRC_ALPHA_SATURATE {
            let destination = (B::SRC_ALPHA, factor, O::ADD);
            let name = format!("blend/destination_{}", lower(factor));
            cases.push(blended(name, blend_state(destination, destination), dual).case());
        }
    }
    for op in [O::ADD, O::SUBTRACT, O::REVERSE_SUBTRACT, O::MIN, O::MAX] {
        let color = (B::SRC_ALPHA, B::ONE_MINUS_SRC_ALPHA, op);
        let alpha = (B::ONE, B::ONE, O::ADD);
        let name = format!("blend/op_{}", lower(op));
        cases.push(blended(name.clone(), blend_state(color, alpha), false).case());
        cases.push(blended(name + "_alpha", blend_state(alpha, color), false).case());
    }
    let usual = (B::SRC_ALPHA, B::ONE_MINUS_SRC_ALPHA, O::ADD);
    for (format, bytes) in [
        (vk::Format::R8G8B8A8_SRGB, 4),
        (vk::Format::B8G8R8A8_UNORM, 4),
        (vk::Format::R16G16B16A16_SFLOAT, 8),
        (vk::Format::R32G32B32A32_SFLOAT, 16),
        (vk::Format::R8_UNORM, 1),
        (vk::Format::R16_SFLOAT, 2),
        (vk::Format::R16G16B16A16_UNORM, 8),
    ] {
        let mut picture =
            blended(format!("blend/format_{}", lower(format)), blend_state(usual, usual), false);
        (picture.format, picture.texel_bytes) = (format, bytes);
        if format == vk::Format::R16G16B16A16_SFLOAT || format == vk::Format::R16_SFLOAT {
            picture.rule = Rule::Mostly { abs: 8.0, permille: 4.0 };
        } else if format == vk::Format::R16G16B16A16_UNORM {
            // Of 65,535.
            picture.rule = Rule::Mostly { abs: 4.0, permille: 4.0 };
        }
        cases.push(picture.case());
    }
    for mask in [0u32, 1, 2, 4, 8, 5, 10, 7, 14] {
        for enable in [false, true] {
            let mask = vk::ColorComponentFlags::from_raw(mask);
            let blend = blend_state(usual, usual).blend_enable(enable).color_write_mask(mask);
            let name =
                format!("mask/{}_{}", mask.as_raw(), if enable { "blended" } else { "plain" });
            cases.push(blended(name, blend, false).case());
        }
    }
    for op in 0..16 {
        let op = vk::LogicOp::from_raw(op);
        let mut picture = blended(
            format!("logic/{}", lower(op)),
            vk::PipelineColorBlendAttachmentState::default()
                .color_write_mask(vk::ColorComponentFlags::RGBA),
            false,
        );
        picture.layers[1].state.logic_op = Some(op);
        // One unit of a colour may change many bits.
        picture.rule = Rule::Mostly { abs: 2.0, permille: 30.0 };
        cases.push(picture.case());
    }
    cases
}

const COMPARE: [vk::CompareOp; 8] = [
    vk::CompareOp::NEVER,
    vk::CompareOp::LESS,
    vk::CompareOp::EQUAL,
    vk::CompareOp::LESS_OR_EQUAL,
    vk::CompareOp::GREATER,
    vk::CompareOp::NOT_EQUAL,
    vk::CompareOp::GREATER_OR_EQUAL,
    vk::CompareOp::ALWAYS,
];

fn depth() -> Vec<Case> {
    let mut cases = Vec::new();
    let first =
        || Layer::new(triangles(3, 10)).state(|s| s.depth = Some((vk::CompareOp::LESS, true)));
    for format in [vk::Format::D32_SFLOAT, vk::Format::D16_UNORM] {
        let mut add = |name: String, layers: Vec<Layer>| {
            let name = format!("depth/{}_{name}", lower(format));
            let mut picture = Picture::new(name, "triangles that hide one another", layers);
            picture.depth = Some(format);
            cases.push(picture.case());
        };
        for compare in COMPARE {
            for write in [false, true] {
                let second =
                    Layer::new(triangles(4, 10)).state(|s| s.depth = Some((compare, write)));
                let name = format!("{}{}", lower(compare), if write { "_write" } else { "" });
                add(name, vec![first(), second]);
            }
        }
        let again = Layer::new(triangles(3, 10)).define("SCALE", ".bgra");
        add(
            "twice".into(),
            vec![first(), again.state(|s| s.depth = Some((vk::CompareOp::EQUAL, false)))],
        );
        let late = Layer::new(triangles(3, 10)).define("SCALE", ".bgra").define("DISCARD", 1);
        add(
            "twice_late".into(),
            vec![first(), late.state(|s| s.depth = Some((vk::CompareOp::EQUAL, true)))],
        );
        for bias in [
            [4.0, 0.0, 0.0],
            [-1000.0, 0.0, 0.0],
            [0.0, 0.0, 1.5],
            [0.0, 0.0, -2.0],
            [2000.0, 0.0001, 4.0],
        ] {
            // In fixed point, Mesa uses two units as one, which Vulkan allows.
            if format == vk::Format::D16_UNORM && bias == [-1000.0, 0.0, 0.0] {
                continue;
            }
            let biased = Layer::new(triangles(3, 10)).define("SCALE", ".gbra").state(|s| {
                s.depth = Some((vk::CompareOp::LESS, true));
                s.depth_bias = Some(bias);
            });
            add(format!("bias_{}_{}_{}", bias[0], bias[1], bias[2]), vec![first(), biased]);
        }
        let emits = || Layer::new(triangles(5, 10)).define("DEPTH", 1);
        add(
            "emitted".into(),
            vec![first(), emits().state(|s| s.depth = Some((vk::CompareOp::LESS, true)))],
        );
        add(
            "emitted_discard".into(),
            vec![
                first(),
                emits()
                    .define("DISCARD", 1)
                    .state(|s| s.depth = Some((vk::CompareOp::GREATER, true))),
            ],
        );
        add(
            "early".into(),
            vec![
                first(),
                emits()
                    .define("EARLY", 1)
                    .define("DISCARD", 1)
                    .state(|s| s.depth = Some((vk::CompareOp::LESS, true))),
            ],
        );
        add(
            "discard".into(),
            vec![
                first(),
                Layer::new(triangles(6, 10))
                    .define("DISCARD", 1)
                    .state(|s| s.depth = Some((vk::CompareOp::LESS, true))),
            ],
        );
        let mut high = triangles(8, 10);
        high.chunks_exact_mut(8).for_each(|v| v[2] = v[2] * 2.5 - 0.5 * v[3]);
        let clamped = |clamp| {
            Layer::new(high.clone()).state(|s| {
                s.depth = Some((vk::CompareOp::LESS_OR_EQUAL, true));
                s.depth_clamp = clamp;
                (s.viewports[0].min_depth, s.viewports[0].max_depth) = (0.2, 0.7);
            })
        };
        add("clamp".into(), vec![clamped(true)]);
        add("clip".into(), vec![clamped(false)]);
        add(
            "range".into(),
            vec![
                first(),
                Layer::new(triangles(9, 10)).state(|s| {
                    s.depth = Some((vk::CompareOp::LESS, true));
                    (s.viewports[0].min_depth, s.viewports[0].max_depth) = (0.9, 0.1);
                }),
            ],
        );
    }
    cases
}

fn stencil() -> Vec<Case> {
    use vk::StencilOp as S;
    let base = vk::StencilOpState {
        compare_op: vk::CompareOp::ALWAYS,
        compare_mask: 0xff,
        write_mask: 0xff,
        reference: 5,
        fail_op: S::KEEP,
        depth_fail_op: S::KEEP,
        pass_op: S::REPLACE,
    };
    let mut cases = Vec::new();
    let mut add = |name: String, ops: [vk::StencilOpState; 2]| {
        // Marks, then the operation under test, then a picture of the result, bit by bit.
        let mark = Layer::new(triangles(11, 6)).state(|s| {
            s.stencil = Some([
                vk::StencilOpState { pass_op: S::INCREMENT_AND_WRAP, ..base },
                vk::StencilOpState { reference: 250, ..base },
            ]);
            s.depth = Some((vk::CompareOp::LESS, true));
        });
        let tried = Layer::new(triangles(12, 8)).state(|s| {
            s.stencil = Some(ops);
            s.depth = Some((vk::CompareOp::LESS, false));
        });
        let mut layers = vec![mark, tried];
        for bit in 0..8 {
            let [low, high] = [bit & 3, bit >> 2].map(|b| 0.25 * b as f32);
            let color = [0.3 + low, 0.2 + high, 1.0 - low, 1.0];
            let show = Layer::new(backdrop(0.5, [color; 4])).state(|s| {
                let only = vk::StencilOpState {
                    compare_op: vk::CompareOp::EQUAL,
                    compare_mask: 1 << bit,
                    write_mask: 0,
                    reference: 0xff,
                    ..base
                };
                s.stencil = Some([only; 2]);
                s.blend = vec![blend_state(
                    (
                        vk::BlendFactor::CONSTANT_ALPHA,
                        vk::BlendFactor::ONE_MINUS_CONSTANT_ALPHA,
                        vk::BlendOp::ADD,
                    ),
                    (vk::BlendFactor::ONE, vk::BlendFactor::ZERO, vk::BlendOp::ADD),
                )];
                s.blend_constants[3] = 0.5;
            });
            layers.push(show);
        }
        let mut picture = Picture::new(
            format!("stencil/{name}"),
            "the stencil that draws leave, as colours",
            layers,
        );
        picture.depth = Some(vk::Format::D32_SFLOAT_S8_UINT);
        picture.clear = (1.0, 3);
        cases.push(picture.case());
    };
    for compare in COMPARE {
        let op = vk::StencilOpState { compare_op: compare, compare_mask: 0x0f, ..base };
        add(format!("compare_{}", lower(compare)), [op; 2]);
    }
    for op in 0..8 {
        let op = S::from_raw(op);
        add(format!("pass_{}", lower(op)), [vk::StencilOpState { pass_op: op, ..base }; 2]);
        add(
            format!("depth_fail_{}", lower(op)),
            [vk::StencilOpState { depth_fail_op: op, write_mask: 0x3f, ..base }; 2],
        );
        let fails = vk::StencilOpState { compare_op: vk::CompareOp::NEVER, fail_op: op, ..base };
        add(format!("fail_{}", lower(op)), [fails; 2]);
        add(format!("sides_{}", lower(op)), [vk::StencilOpState { pass_op: op, ..base }, fails]);
    }
    cases
}

fn samples() -> Vec<Case> {
    let mut cases = Vec::new();
    for (count, flags) in [(2, vk::SampleCountFlags::TYPE_2), (4, vk::SampleCountFlags::TYPE_4)] {
        let mut add = |name: &str, depth: bool, layers: Vec<Layer>| {
            let about = "several samples, resolved";
            let mut picture = Picture::new(format!("samples/{name}_{count}"), about, layers);
            picture.samples = flags;
            picture.depth = depth.then_some(vk::Format::D32_SFLOAT);
            // One sample more or less on an edge changes a part of a colour. Moved pictures interpolate their
            // colours at other positions.
            let abs = if count == 2 { 16.0 } else { 3.0 };
            picture.rule = Rule::Mostly { abs, permille: 12.0 };
            cases.push(picture.case());
        };
        let plain = || Layer::new(triangles(21, 12));
        let depth = |l: Layer| l.state(|s| s.depth = Some((vk::CompareOp::LESS, true)));
        let discards = || Layer::new(triangles(22, 9)).define("DISCARD", 1);
        let usual = (B::SRC_ALPHA, B::ONE_MINUS_SRC_ALPHA, vk::BlendOp::ADD);
        let over =
            || Layer::new(triangles(23, 12)).state(|s| s.blend = vec![blend_state(usual, usual)]);
        add("resolve", false, vec![plain()]);
        add("depth", true, vec![depth(plain())]);
        add("depth_discard", true, vec![depth(plain()), depth(discards())]);
        add("shading", false, vec![plain().state(|s| s.sample_shading = Some(1.0))]);
        add("per_sample", false, vec![plain().define("WHERE", "sample")]);
        add("blend", false, vec![Layer::new(rainbow(0.5)), over()]);
        let each = over().state(|s| s.sample_shading = Some(1.0));
        add("blend_shading", false, vec![Layer::new(rainbow(0.5)), each]);
        if count == 2 {
            continue;
        }
        let emits = Layer::new(triangles(22, 9)).define("DEPTH", 1);
        add("depth_emitted", true, vec![depth(plain()), depth(emits)]);
        add("sample_id", false, vec![plain().define("SAMPLE", 1)]);
        add("sample_position", false, vec![plain().define("SAMPLE_POSITION", 1)]);
        // Inside of the view, because lavapipe splits triangles that are not.
        let mut inside = triangles(21, 12);
        inside.chunks_exact_mut(8).for_each(|v| (v[0], v[1]) = (v[0] * 0.85, v[1] * 0.85));
        add("sample_in", false, vec![Layer::new(inside.clone()).define("SAMPLE_IN", 1)]);
        // Blending is per sample, but the coverage that shaders read is the pixel's.
        let blended = Layer::new(inside).define("SAMPLE_IN", 1);
        let blended = blended.state(|s| s.blend = vec![blend_state(usual, usual)]);
        add("sample_in_blend", false, vec![Layer::new(rainbow(0.5)), blended]);
        add("sample_out", false, vec![plain().define("SAMPLE_OUT", 1)]);
        let masked = depth(plain().define("SAMPLE_OUT", 1));
        add("sample_out_depth", true, vec![masked, depth(Layer::new(triangles(22, 9)))]);
        add("centroid", false, vec![plain().define("WHERE", "centroid")]);
        add("at_sample", false, vec![plain().define("AT_SAMPLE", 1)]);
        add("mask", false, vec![plain().state(|s| s.sample_mask = 0b0101)]);
        add("alpha_to_one", false, vec![plain().state(|s| s.alpha_to_one = true)]);
    }
    cases.push(alpha_to_coverage());
    for samples in [2, 4] {
        cases.push(lines(samples, false));
        cases.push(lines(samples, true));
    }
    cases
}

/// A line across and one down, which cover samples as rectangles do, or, if they are Bresenham's, pixels.
fn lines(samples: u32, is_bresenham: bool) -> Case {
    /// The middle of the lines: a quarter of a pixel apart from where samples are.
    const AT_PX: f32 = 50.2;
    let name = if is_bresenham { "bresenham" } else { "lines" };
    let point = |[x, y]: [f32; 2]| {
        let [w, h] = SIZE_PX.map(|n| n as f32);
        [2.0 * x / w - 1.0, 2.0 * y / h - 1.0, 0.5, 1.0, 1.0, 1.0, 1.0, 1.0]
    };
    let ends = [[4.0, AT_PX], [90.0, AT_PX], [AT_PX, 4.0], [AT_PX, 76.0]];
    let layer = Layer::new(ends.into_iter().flat_map(point).collect()).state(|s| {
        s.topology = vk::PrimitiveTopology::LINE_LIST;
        if is_bresenham {
            s.line_mode = Some(vk::LineRasterizationModeKHR::BRESENHAM);
        }
    });
    let about = "lines of one pixel with several samples, resolved";
    let mut picture = Picture::new(format!("samples/{name}_{samples}"), about, vec![layer]);
    picture.samples = vk::SampleCountFlags::from_raw(samples);
    let shaders = vec![Shader::new("pixels.vert"), Shader::new("pixels.frag").define("SCALE", "")];
    let case = Case::new(picture.name.clone(), about, shaders, move |bench| {
        let pixels = picture.draw(bench, picture.samples, [0.0; 2])?.pixels;
        let red = |x: u32, y: u32| pixels[4 * (y * SIZE_PX[0] + x) as usize];
        // source: Vulkan specification, "Standard sample locations"
        let [across, down] = match samples {
            2 => [vec![0.75, 0.25], vec![0.75, 0.25]],
            _ => [vec![0.375, 0.875, 0.125, 0.625], vec![0.125, 0.375, 0.625, 0.875]],
        };
        let covered = |pixel: u32, places: &[f32]| {
            let is_near = |place: &f32| (pixel as f32 + place - AT_PX).abs() < 0.5;
            let share = match is_bresenham {
                true => f32::from(u8::from(pixel == AT_PX as u32)),
                false => places.iter().filter(|p| is_near(p)).count() as f32 / places.len() as f32,
            };
            ((0.2 + 0.8 * share) * 255.0).round() as u8
        };
        // A column that the first line crosses, and a row that the second does.
        let column: Vec<u8> = (0..SIZE_PX[1]).map(|y| red(20, y)).collect();
        let row: Vec<u8> = (0..SIZE_PX[0]).map(|x| red(x, 20)).collect();
        let wanted = [
            (0..SIZE_PX[1]).map(|y| covered(y, &down)).collect::<Vec<u8>>(),
            (0..SIZE_PX[0]).map(|x| covered(x, &across)).collect(),
        ];
        Ok(vec![
            Output::cpu("column", &column, &wanted[0], Rule::Abs(1.0)),
            Output::cpu("row", &row, &wanted[1], Rule::Abs(1.0)),
        ])
    });
    // Lavapipe has no two samples.
    if samples == 2 { case.without_lavapipe() } else { case }
}

/// The samples that an alpha covers are the driver's choice; the resolved picture is not.
fn alpha_to_coverage() -> Case {
    let color = |alpha| [1.0, 1.0, 1.0, alpha];
    let corners = [color(0.0), color(1.0), color(0.0), color(1.0)];
    let layer = Layer::new(backdrop(0.5, corners)).state(|s| s.alpha_to_coverage = true);
    let mut picture = Picture::new("samples/alpha_to_coverage", "alpha as coverage", vec![layer]);
    picture.samples = vk::SampleCountFlags::TYPE_4;
    let shaders = || Shader::new("pixels.frag").define("SCALE", "");
    Case::new(
        "samples/alpha_to_coverage",
        "a ramp of alpha as coverage, resolved",
        vec![Shader::new("pixels.vert"), shaders()],
        move |bench| {
            let pixels = picture.draw(bench, picture.samples, [0.0; 2])?.pixels;
            let red: Vec<u8> = pixels.chunks_exact(4).map(|p| p[0]).collect();
            let expected: Vec<u8> = (0..red.len())
                .map(|i| {
                    let alpha = ((i as u32 % SIZE_PX[0]) as f32 + 0.5) / SIZE_PX[0] as f32;
                    ((0.2 + 0.8 * alpha) * 255.0) as u8
                })
                .collect();
            // A step of coverage is a quarter of the distance from 0.2 to 1.
            Ok(vec![Output::cpu("red", &red, &expected, Rule::Abs(0.8 * 255.0 / 4.0 + 1.0))])
        },
    )
}

fn formats() -> Vec<Case> {
    use vk::Format as F;
    let floats = [
        (F::R8_UNORM, 1),
        (F::R8G8_UNORM, 2),
        (F::R8G8B8A8_UNORM, 4),
        (F::B8G8R8A8_UNORM, 4),
        (F::R8G8B8A8_SRGB, 4),
        (F::B8G8R8A8_SRGB, 4),
        (F::R8_SNORM, 1),
        (F::R8G8_SNORM, 2),
        (F::R8G8B8A8_SNORM, 4),
        (F::R16_UNORM, 2),
        (F::R16G16_UNORM, 4),
        (F::R16G16B16A16_UNORM, 8),
        (F::R16_SNORM, 2),
        (F::R16G16B16A16_SNORM, 8),
        (F::R16_SFLOAT, 2),
        (F::R16G16_SFLOAT, 4),
        (F::R16G16B16A16_SFLOAT, 8),
        (F::R32_SFLOAT, 4),
        (F::R32G32_SFLOAT, 8),
        (F::R32G32B32A32_SFLOAT, 16),
        (F::A2B10G10R10_UNORM_PACK32, 4),
        (F::A2R10G10B10_UNORM_PACK32, 4),
        (F::B10G11R11_UFLOAT_PACK32, 4),
        (F::R5G6B5_UNORM_PACK16, 2),
        (F::A1R5G5B5_UNORM_PACK16, 2),
        (F::R4G4B4A4_UNORM_PACK16, 2),
    ];
    let integers = [
        (F::R8_UINT, 1),
        (F::R8G8_UINT, 2),
        (F::R8G8B8A8_UINT, 4),
        (F::R8_SINT, 1),
        (F::R8G8B8A8_SINT, 4),
        (F::R16_UINT, 2),
        (F::R16G16_UINT, 4),
        (F::R16G16B16A16_UINT, 8),
        (F::R16G16B16A16_SINT, 8),
        (F::R32_UINT, 4),
        (F::R32G32_UINT, 8),
        (F::R32G32B32A32_UINT, 16),
        (F::R32G32B32A32_SINT, 16),
        (F::R32_SINT, 4),
        (F::A2B10G10R10_UINT_PACK32, 4),
    ];
    let mut cases = Vec::new();
    // Flat colours at multiples of 1/255 times 17, which every format rounds the same way.
    let flat = || {
        let mut list = triangles(31, 12);
        for (i, triangle) in list.chunks_exact_mut(24).enumerate() {
            let color = [0, 1, 2, 3].map(|c| ((i * 5 + c * 7) % 16) as f32 / 15.0);
            triangle.chunks_exact_mut(8).for_each(|v| v[4..8].copy_from_slice(&color));
        }
        Layer::new(list)
    };
    for (list, macros) in [(&floats[..], None), (&integers[..], Some(()))] {
        for &(format, bytes) in list {
            let mut layer = flat();
            if macros.is_some() {
                let signed = format!("{format:?}").contains("SINT");
                layer = layer.define("TYPE", if signed { "ivec4" } else { "uvec4" });
                layer = layer
                    .define("SCALE", if signed { "* 150.0 - 60.0 + 0.5" } else { "* 150.0 + 0.5" });
            }
            for (suffix, transfer) in [("", Transfer::Host), ("_compressed", Transfer::Gpu)] {
                let layer = Layer {
                    state: layer.state.clone(),
                    defines: layer.defines.clone(),
                    vertices: layer.vertices.clone(),
                };
                let mut picture = Picture::new(
                    format!("format/{}{suffix}", lower(format)),
                    "flat triangles in a format",
                    vec![layer],
                );
                (picture.format, picture.texel_bytes, picture.transfer) = (format, bytes, transfer);
                cases.push(picture.case());
            }
        }
    }
    cases
}

fn fragments() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |name: &str, layers: Vec<Layer>| {
        cases.push(
            Picture::new(format!("fragment/{name}"), "what a fragment program reads", layers)
                .case(),
        );
    };
    let plain = || Layer::new(triangles(41, 12));
    add("smooth", vec![plain()]);
    add("linear", vec![plain().define("WHERE", "noperspective")]);
    add("at_offset", vec![plain().define("AT_OFFSET", 1)]);
    add("indexed", vec![plain().define("INDEXED", 1)]);
    add("coordinates", vec![plain().define("COORDINATES", 1)]);
    add("derivatives", vec![plain().define("DERIVATIVES", 1)]);
    add("discard", vec![plain().define("DISCARD", 1)]);
    let mut query = |name: &str, precise: bool, layers: Vec<Layer>, depth: bool| {
        let mut picture = Picture::new(format!("occlusion/{name}"), "samples that pass", layers);
        picture.query = Some(precise);
        picture.depth = depth.then_some(vk::Format::D32_SFLOAT);
        cases.push(picture.case());
    };
    for precise in [true, false] {
        let name = |n: &str| format!("{n}_{}", if precise { "count" } else { "any" });
        let depth = |l: Layer| l.state(|s| s.depth = Some((vk::CompareOp::LESS, true)));
        query(&name("plain"), precise, vec![plain(), Layer::new(triangles(42, 3))], false);
        query(
            &name("depth"),
            precise,
            vec![
                depth(plain()),
                depth(Layer::new(triangles(42, 9))),
                depth(Layer::new(backdrop(0.99, [[0.5; 4]; 4]))),
                depth(Layer::new(backdrop(0.995, [[0.5; 4]; 4]))),
            ],
            true,
        );
        query(
            &name("discard"),
            precise,
            vec![depth(plain()), depth(Layer::new(triangles(42, 9)).define("DISCARD", 1))],
            true,
        );
    }
    cases.push(textured());
    cases.extend([counted(), counted_alone()]);
    cases
}

/// The pixels of triangles whose fragment shader has one binding.
fn drawn(bench: &Bench, vertices: Vec<f32>, bind: Bind) -> Result<Vec<u8>> {
    let [width, height] = SIZE_PX;
    let format = vk::Format::R8G8B8A8_UNORM;
    let image = bench.gpu.image(ImageSpec {
        usage: vk::ImageUsageFlags::COLOR_ATTACHMENT,
        ..ImageSpec::sampled(format, Shape::D2, [width, height, 1])
    })?;
    let mut layer = Layer::new(vertices);
    layer.state.colors = vec![format];
    let pipeline = bench.gpu.graphics(&stages(bench), &layer.state, &[bind])?;
    let buffer = bench.gpu.buffer(&layer.vertices)?;
    let pass = Pass {
        colors: vec![Attachment::color(&image, [0.0; 4])],
        size_px: SIZE_PX,
        ..Pass::default()
    };
    bench.gpu.submit(|c| {
        c.render(&pass, |c| {
            c.vertex_buffers(&[&buffer]);
            c.draw(&pipeline, (layer.vertices.len() / 8) as u32, 1);
        });
    })?;
    bench.gpu.read_image(&image, 0, (width * height * 4) as usize)
}

/// A texture with levels over triangles in perspective.
fn textured() -> Case {
    let shaders = vec![
        Shader::new("pixels.vert"),
        Shader::new("pixels.frag").define("TEXTURE", "4.0").define("SCALE", ""),
    ];
    Case::new(
        "fragment/texture",
        "a texture with levels, level of detail from derivatives",
        shaders,
        |bench| {
            let spec =
                ImageSpec::sampled(vk::Format::R8G8B8A8_UNORM, Shape::D2, [64, 64, 1]).mipmapped();
            let levels: Vec<Vec<u8>> = (0..spec.levels)
                .map(|level| {
                    let [w, h, _] = spec.level_px(level);
                    (0..w * h)
                        .flat_map(|i| {
                            let (x, y) = (i % w * 64 / w, i / w * 64 / h);
                            [(x * 4) as u8, (y * 4) as u8, (level * 40) as u8, 255]
                        })
                        .collect()
                })
                .collect();
            let texture = bench.gpu.image_of(spec, &levels)?;
            let sampler = bench
                .gpu
                .sampler(SamplerSpec::new(vk::Filter::LINEAR, vk::SamplerAddressMode::REPEAT))?;
            let pixels = drawn(bench, triangles(51, 8), Bind::Texture(texture.view, sampler))?;
            Ok(vec![
                Output::peer("picture", &pixels, Rule::Mostly { abs: 4.0, permille: 20.0 })
                    .picture(SIZE_PX),
            ])
        },
    )
}

/// Fragments that increment a counter in memory.
fn counted() -> Case {
    let shaders = vec![
        Shader::new("pixels.vert"),
        Shader::new("pixels.frag").define("COUNT", 1).define("SCALE", ""),
    ];
    Case::new("fragment/count", "fragments that count themselves in memory", shaders, |bench| {
        let counts = bench.gpu.buffer(&[0u32; 64])?;
        drawn(bench, triangles(52, 8), Bind::Storage(&counts))?;
        Ok(vec![Output::peer("counts", &counts.read::<u32>(), Rule::Abs(3.0))])
    })
}

/// Fragment counts without attachments, with the maximum area and number of layers, as DXVK renders in this case: the
/// time must depend only on what is drawn.
fn counted_alone() -> Case {
    const RENDERINGS: u32 = 100;
    let shaders = vec![
        Shader::new("pixels.vert"),
        Shader::new("pixels.frag").define("COUNT", 1).define("SCALE", ""),
    ];
    let about = "fragments that count themselves, in the largest rendering, without attachments";
    Case::new("fragment/count_alone", about, shaders, |bench| {
        let gpu = bench.gpu;
        let counts = gpu.buffer(&[0u32; 64])?;
        let mut layer = Layer::new(triangles(52, 8));
        layer.state.colors = Vec::new();
        layer.state.blend = Vec::new();
        let pipeline = gpu.graphics(&stages(bench), &layer.state, &[Bind::Storage(&counts)])?;
        let buffer = gpu.buffer(&layer.vertices)?;
        let [width, height, layers] = gpu.max_framebuffer();
        let pass = Pass { size_px: [width, height], layers, ..Pass::default() };
        // Each takes half a minute if all tiles are processed.
        for _ in 0..RENDERINGS {
            gpu.submit(|c| {
                c.render(&pass, |c| {
                    c.vertex_buffers(&[&buffer]);
                    c.draw(&pipeline, (layer.vertices.len() / 8) as u32, 1);
                });
            })?;
        }
        let rule = Rule::Abs(3.0 * f64::from(RENDERINGS));
        Ok(vec![Output::peer("counts", &counts.read::<u32>(), rule)])
    })
}

/// The cases.
pub fn cases() -> Vec<Case> {
    [blending(), depth(), stencil(), samples(), formats(), fragments()]
        .into_iter()
        .flatten()
        .collect()
}
