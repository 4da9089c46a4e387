//! Advanced blend operations (`VK_EXT_blend_operation_advanced`), compared with the specification's formulas.
//!
//! Each case draws the blended layer twice: alone, to determine source and destination at each pixel, and
//! blended.

use ash::vk;
use ash::vk::{BlendOp as O, BlendOverlapEXT as Overlap};

use super::canvas::{FRAGMENT, VERTEX};
use crate::case::{Bench, Case, Output, Rule, Shader};
use crate::gpu::{Attachment, Image, ImageSpec, Pass, Rendered, Result, Shape, State};

const SIZE_PX: [u32; 2] = [96, 80];
/// Smaller alphas may be rounded to zero.
const SMALLEST_ALPHA: f64 = 1.0 / 255.0;

/// Parameters of all attachments.
#[derive(Clone, Copy)]
struct Parameters {
    source_premultiplied: bool,
    destination_premultiplied: bool,
    overlap: Overlap,
}

impl Parameters {
    fn name(self) -> String {
        let kind = |premultiplied| if premultiplied { "premultiplied" } else { "straight" };
        let (s, d) = (self.source_premultiplied, self.destination_premultiplied);
        format!("{:?}_{}_on_{}", self.overlap, kind(s), kind(d)).to_lowercase()
    }
}

fn parameters(source: bool, destination: bool, overlap: Overlap) -> Parameters {
    Parameters { source_premultiplied: source, destination_premultiplied: destination, overlap }
}

/// A rectangle beyond the view; red, green, blue and alpha at its corners.
fn rectangle(corners: [[f32; 4]; 4]) -> Vec<f32> {
    let at = [[-1.05, -1.05], [1.05, -1.05], [-1.05, 1.05], [1.05, 1.05]];
    let vertex = |i: usize| [&[at[i][0], at[i][1], 0.5, 1.0][..], &corners[i][..]].concat();
    [0, 1, 2, 2, 1, 3].into_iter().flat_map(vertex).collect()
}

fn source() -> Vec<f32> {
    rectangle([
        [1.0, 0.0, 0.4, 1.0],
        [0.0, 0.9, 1.0, 0.9],
        [0.3, 1.0, 0.0, 0.3],
        [0.8, 0.1, 0.6, 0.1],
    ])
}

fn destination() -> Vec<f32> {
    rectangle([
        [0.1, 0.9, 0.3, 0.8],
        [1.0, 0.2, 0.5, 0.2],
        [0.0, 0.4, 1.0, 1.0],
        [0.7, 1.0, 0.1, 0.6],
    ])
}

/// Cells of colours that are exact when premultiplied, so that pairs of source and destination lie at the steps of operations: each
/// pair of quarters from 0 to 1 under each pair of alphas. Component 0 gives the source's, 1 the destination's.
fn cells(which: usize) -> Vec<f32> {
    const SOURCE_ALPHAS: [f32; 4] = [1.0, 0.75, 0.375, 0.125];
    const DESTINATION_ALPHAS: [f32; 3] = [1.0, 0.625, 0.25];
    const COLUMNS: usize = 12;
    const CELL_PX: usize = 8;
    let quarter = |pair: usize| [pair % 5, pair / 5 % 5][which] as f32 / 4.0;
    let mut vertices = Vec::new();
    for n in 0..9 * COLUMNS {
        // 25 pairs, three to a cell.
        let [r, g, b] = [0, 1, 2].map(|c| quarter((3 * (n / COLUMNS) + c) % 25));
        let alpha = match which {
            0 => SOURCE_ALPHAS[n % 4],
            _ => DESTINATION_ALPHAS[n / 4 % 3],
        };
        let corner = |i: usize| {
            let px = [n % COLUMNS + i % 2, n / COLUMNS + i / 2].map(|c| (c * CELL_PX) as f32);
            let at = [0, 1].map(|c| px[c] / SIZE_PX[c] as f32 * 2.0 - 1.0);
            [at[0], at[1], 0.5, 1.0, r, g, b, alpha]
        };
        vertices.extend([0, 1, 2, 2, 1, 3].into_iter().flat_map(corner));
    }
    vertices
}

/// A straight colour, from one that is perhaps premultiplied.
fn straight(c: [f64; 4], premultiplied: bool) -> [f64; 3] {
    let [r, g, b, a] = c;
    match (premultiplied, a == 0.0) {
        (false, _) => [r, g, b],
        (true, true) => [0.0; 3],
        (true, false) => [r / a, g / a, b / a],
    }
}

fn luminosity(c: [f64; 3]) -> f64 {
    0.30 * c[0] + 0.59 * c[1] + 0.11 * c[2]
}

fn bounds(c: [f64; 3]) -> (f64, f64) {
    (c[0].min(c[1]).min(c[2]), c[0].max(c[1]).max(c[2]))
}

fn with_luminosity(base: [f64; 3], of: [f64; 3]) -> [f64; 3] {
    let change = luminosity(of) - luminosity(base);
    let mut c = base.map(|v| v + change);
    let l = luminosity(c);
    let (low, high) = bounds(c);
    if low < 0.0 {
        c = c.map(|v| l + (v - l) * l / (l - low));
    }
    if high > 1.0 {
        c = c.map(|v| l + (v - l) * (1.0 - l) / (high - l));
    }
    c
}

fn with_saturation(base: [f64; 3], of: [f64; 3]) -> [f64; 3] {
    let (low, high) = bounds(base);
    let (low_of, high_of) = bounds(of);
    if high > low { base.map(|v| (v - low) * (high_of - low_of) / (high - low)) } else { [0.0; 3] }
}

/// The blend function of one component, where source and destination overlap.
fn component(op: O, s: f64, d: f64) -> f64 {
    let hard = |a: f64, b: f64| {
        if a <= 0.5 { 2.0 * a * b } else { 1.0 - 2.0 * (1.0 - a) * (1.0 - b) }
    };
    match op {
        O::SRC_EXT | O::SRC_OVER_EXT | O::SRC_IN_EXT | O::SRC_ATOP_EXT => s,
        O::DST_EXT | O::DST_OVER_EXT | O::DST_IN_EXT | O::DST_ATOP_EXT => d,
        O::MULTIPLY_EXT => s * d,
        O::SCREEN_EXT => s + d - s * d,
        O::OVERLAY_EXT => hard(d, s),
        O::DARKEN_EXT => s.min(d),
        O::LIGHTEN_EXT => s.max(d),
        O::COLORDODGE_EXT if d <= 0.0 => 0.0,
        O::COLORDODGE_EXT if s >= 1.0 => 1.0,
        O::COLORDODGE_EXT => (d / (1.0 - s)).min(1.0),
        O::COLORBURN_EXT if d >= 1.0 => 1.0,
        O::COLORBURN_EXT if s <= 0.0 => 0.0,
        O::COLORBURN_EXT => 1.0 - ((1.0 - d) / s).min(1.0),
        O::HARDLIGHT_EXT => hard(s, d),
        O::SOFTLIGHT_EXT if s <= 0.5 => d - (1.0 - 2.0 * s) * d * (1.0 - d),
        O::SOFTLIGHT_EXT if d <= 0.25 => d + (2.0 * s - 1.0) * d * ((16.0 * d - 12.0) * d + 3.0),
        O::SOFTLIGHT_EXT => d + (2.0 * s - 1.0) * (d.sqrt() - d),
        O::DIFFERENCE_EXT => (d - s).abs(),
        O::EXCLUSION_EXT => s + d - 2.0 * s * d,
        O::INVERT_EXT => 1.0 - d,
        O::INVERT_RGB_EXT => s * (1.0 - d),
        O::LINEARDODGE_EXT => (s + d).min(1.0),
        O::LINEARBURN_EXT => (s + d - 1.0).max(0.0),
        O::VIVIDLIGHT_EXT if s <= 0.0 => 0.0,
        O::VIVIDLIGHT_EXT if s < 0.5 => 1.0 - ((1.0 - d) / (2.0 * s)).min(1.0),
        O::VIVIDLIGHT_EXT if s < 1.0 => (d / (2.0 * (1.0 - s))).min(1.0),
        O::VIVIDLIGHT_EXT => 1.0,
        O::LINEARLIGHT_EXT => (2.0 * s + d - 1.0).clamp(0.0, 1.0),
        O::PINLIGHT_EXT if 2.0 * s - 1.0 > d => {
            if s < 0.5 {
                0.0
            } else {
                2.0 * s - 1.0
            }
        }
        O::PINLIGHT_EXT => {
            if s < 0.5 * d {
                2.0 * s
            } else {
                d
            }
        }
        O::HARDMIX_EXT => f64::from(u8::from(s + d >= 1.0)),
        _ => 0.0,
    }
}

/// X, Y and Z of the specification's table; `None` for operations on premultiplied colours.
fn terms(op: O) -> Option<[f64; 3]> {
    let n = op.as_raw() - O::ZERO_EXT.as_raw();
    Some(match op {
        _ if n >= O::PLUS_EXT.as_raw() - O::ZERO_EXT.as_raw() => return None,
        O::ZERO_EXT => [0.0, 0.0, 0.0],
        O::SRC_OUT_EXT => [0.0, 1.0, 0.0],
        O::DST_OUT_EXT => [0.0, 0.0, 1.0],
        O::XOR_EXT => [0.0, 1.0, 1.0],
        O::SRC_IN_EXT | O::DST_IN_EXT => [1.0, 0.0, 0.0],
        O::SRC_EXT | O::DST_ATOP_EXT => [1.0, 1.0, 0.0],
        O::DST_EXT | O::SRC_ATOP_EXT | O::INVERT_EXT | O::INVERT_RGB_EXT => [1.0, 0.0, 1.0],
        _ => [1.0, 1.0, 1.0],
    })
}

/// The blended colour by the specification's formulas.
fn blended(op: O, p: Parameters, s: [f64; 4], d: [f64; 4]) -> [f64; 4] {
    let (sa, da) = (s[3], d[3]);
    let (colour, alpha) = if let Some([x, y, z]) = terms(op) {
        let (cs, cd) =
            (straight(s, p.source_premultiplied), straight(d, p.destination_premultiplied));
        let f = match op {
            O::HSL_HUE_EXT => with_luminosity(with_saturation(cs, cd), cd),
            O::HSL_SATURATION_EXT => with_luminosity(with_saturation(cd, cs), cd),
            O::HSL_COLOR_EXT => with_luminosity(cs, cd),
            O::HSL_LUMINOSITY_EXT => with_luminosity(cd, cs),
            _ => [0, 1, 2].map(|c| component(op, cs[c], cd[c])),
        };
        let [p0, p1, p2] = match p.overlap {
            Overlap::CONJOINT => [sa.min(da), (sa - da).max(0.0), (da - sa).max(0.0)],
            Overlap::DISJOINT => [(sa + da - 1.0).max(0.0), sa.min(1.0 - da), da.min(1.0 - sa)],
            _ => [sa * da, sa * (1.0 - da), da * (1.0 - sa)],
        };
        let colour = [0, 1, 2].map(|c| f[c] * p0 + y * cs[c] * p1 + z * cd[c] * p2);
        (colour, x * p0 + y * p1 + z * p2)
    } else {
        let multiplied = |c: [f64; 4], already: bool| {
            let by = if already { 1.0 } else { c[3] };
            [c[0] * by, c[1] * by, c[2] * by]
        };
        let s = multiplied(s, p.source_premultiplied);
        let d = multiplied(d, p.destination_premultiplied);
        let alpha = (sa + da).min(1.0);
        let each = |f: &dyn Fn(f64, f64) -> f64| [0, 1, 2].map(|c| f(s[c], d[c]));
        match op {
            O::PLUS_EXT => (each(&|s, d| s + d), sa + da),
            O::PLUS_CLAMPED_EXT => (each(&|s, d| (s + d).min(1.0)), alpha),
            O::PLUS_CLAMPED_ALPHA_EXT => (each(&|s, d| (s + d).min(alpha)), alpha),
            O::PLUS_DARKER_EXT => (each(&|s, d| (alpha - ((sa - s) + (da - d))).max(0.0)), alpha),
            O::MINUS_EXT => (each(&|s, d| d - s), da - sa),
            O::MINUS_CLAMPED_EXT => (each(&|s, d| (d - s).max(0.0)), (da - sa).max(0.0)),
            O::CONTRAST_EXT => (each(&|s, d| da / 2.0 + 2.0 * (d - da / 2.0) * (s - sa / 2.0)), da),
            O::INVERT_OVG_EXT => (each(&|_, d| sa * (1.0 - d) + (1.0 - sa) * d), sa + da - sa * da),
            O::RED_EXT => ([s[0], d[1], d[2]], da),
            O::GREEN_EXT => ([d[0], s[1], d[2]], da),
            _ => ([d[0], d[1], s[2]], da),
        }
    };
    let by = if p.destination_premultiplied || alpha == 0.0 { 1.0 } else { alpha };
    [colour[0] / by, colour[1] / by, colour[2] / by, alpha]
}

/// A case: the operation of each attachment, and the attachments.
#[derive(Clone)]
struct Blends {
    operations: Vec<O>,
    parameters: Vec<Parameters>,
    format: vk::Format,
    samples: vk::SampleCountFlags,
    /// Draws [`cells`], of which every pixel has to be right.
    steps: bool,
}

/// A layer: vertices, and whether the shader premultiplies.
type Layer = (Vec<f32>, bool);

impl Blends {
    fn of(operation: O) -> Blends {
        Blends {
            operations: vec![operation],
            parameters: vec![
                parameters(true, true, Overlap::UNCORRELATED),
                parameters(false, true, Overlap::DISJOINT),
                parameters(true, false, Overlap::CONJOINT),
                parameters(false, false, Overlap::UNCORRELATED),
            ],
            format: vk::Format::R8G8B8A8_UNORM,
            samples: vk::SampleCountFlags::TYPE_1,
            steps: false,
        }
    }

    fn image(bench: &Bench, format: vk::Format, samples: vk::SampleCountFlags) -> Result<Image> {
        let [width, height] = SIZE_PX;
        let usage = vk::ImageUsageFlags::COLOR_ATTACHMENT;
        let spec = ImageSpec { usage, ..ImageSpec::sampled(format, Shape::D2, [width, height, 1]) };
        bench.gpu.image(spec.samples(samples))
    }

    /// Draws layers, the last one blended if there are parameters; returns the pixels of each attachment.
    fn draw(
        &self,
        bench: &Bench,
        format: vk::Format,
        layers: &[Layer],
        blend: Option<Parameters>,
    ) -> Result<Vec<Vec<f64>>> {
        let one = vk::SampleCountFlags::TYPE_1;
        let samples = if blend.is_some() { self.samples } else { one };
        let count = if blend.is_some() { self.operations.len() } else { 1 };
        let (mut singles, mut many) = (Vec::new(), Vec::new());
        for _ in 0..count {
            singles.push(Self::image(bench, format, one)?);
            if samples != one {
                many.push(Self::image(bench, format, samples)?);
            }
        }
        let mut colors = Vec::new();
        for (k, single) in singles.iter().enumerate() {
            let mut target = Attachment::color(many.get(k).unwrap_or(single), [0.0; 4]);
            if samples != one {
                target.resolve = Some((Rendered::whole(single), vk::ResolveModeFlags::AVERAGE));
            }
            colors.push(target);
        }
        let pass = Pass { colors, size_px: SIZE_PX, ..Pass::default() };
        let mut prepared = Vec::new();
        for (n, (vertices, premultiplies)) in layers.iter().enumerate() {
            let float4 = (vk::Format::R32G32B32A32_SFLOAT, 16);
            let mut state =
                State::new(SIZE_PX).vertex_buffer(vk::VertexInputRate::VERTEX, &[float4, float4]);
            state.colors = vec![format; count];
            state.samples = samples;
            if let Some(p) = blend.filter(|_| n + 1 == layers.len()) {
                state.advanced =
                    Some((p.source_premultiplied, p.destination_premultiplied, p.overlap));
                let plain = vk::PipelineColorBlendAttachmentState::default()
                    .blend_enable(true)
                    .color_write_mask(vk::ColorComponentFlags::RGBA);
                let of = |&op: &O| plain.color_blend_op(op).alpha_blend_op(op);
                state.blend = self.operations.iter().map(of).collect();
            }
            let fragment = 1 + usize::from(*premultiplies);
            let stages = [(VERTEX, &bench.spirv[0][..]), (FRAGMENT, &bench.spirv[fragment][..])];
            let pipeline = bench.gpu.graphics(&stages, &state, &[])?;
            let buffer = bench.gpu.buffer(vertices)?;
            prepared.push((pipeline, buffer, (vertices.len() / 8) as u32));
        }
        bench.gpu.submit(|c| {
            c.render(&pass, |c| {
                for (pipeline, buffer, count) in &prepared {
                    c.vertex_buffers(&[buffer]);
                    c.draw(pipeline, *count, 1);
                }
            });
        })?;
        let texels = (SIZE_PX[0] * SIZE_PX[1]) as usize;
        let float = format == vk::Format::R32G32B32A32_SFLOAT;
        singles
            .iter()
            .map(|image| {
                let bytes = bench.gpu.read_image(image, 0, texels * if float { 16 } else { 4 })?;
                Ok(match float {
                    true => bytes
                        .chunks_exact(4)
                        .map(|b| f64::from(f32::from_le_bytes([b[0], b[1], b[2], b[3]])))
                        .collect(),
                    false => bytes.iter().map(|&b| f64::from(b) / 255.0).collect(),
                })
            })
            .collect()
    }

    fn run(&self, bench: &Bench) -> Result<Vec<Output>> {
        bench.gpu.require(ash::ext::blend_operation_advanced::NAME)?;
        let float = self.format == vk::Format::R32G32B32A32_SFLOAT;
        let mut outputs = Vec::new();
        for &p in &self.parameters {
            let [above, below] =
                if self.steps { [cells(0), cells(1)] } else { [source(), destination()] };
            let above = (above, p.source_premultiplied);
            let below = (below, p.destination_premultiplied);
            let s = self.draw(
                bench,
                vk::Format::R32G32B32A32_SFLOAT,
                std::slice::from_ref(&above),
                None,
            )?;
            // At steps, rounding the destination must not change the side.
            let format = if self.steps { vk::Format::R32G32B32A32_SFLOAT } else { self.format };
            let d = self.draw(bench, format, std::slice::from_ref(&below), None)?;
            let got = self.draw(bench, self.format, &[below, above], Some(p))?;
            for (k, (&op, got)) in self.operations.iter().zip(&got).enumerate() {
                let pixel = |v: &[f64]| [v[0], v[1], v[2], v[3]];
                let want: Vec<f64> = s[0]
                    .chunks_exact(4)
                    .zip(d[0].chunks_exact(4))
                    .flat_map(|(s, d)| blended(op, p, pixel(s), pixel(d)))
                    .collect();
                let defined: Vec<bool> = want
                    .chunks_exact(4)
                    .flat_map(|c| {
                        // Negative alphas, and colours that are divided by zero, are undefined.
                        let divides = !p.destination_premultiplied;
                        let colour = c[3] >= if divides { SMALLEST_ALPHA } else { 0.0 };
                        [colour, colour, colour, c[3] >= 0.0]
                    })
                    .collect();
                let name = format!("{}_{k}", p.name());
                let output = if float {
                    let words = |v: &[f64]| v.iter().map(|&x| x as f32).collect::<Vec<_>>();
                    let rule = match self.steps {
                        true => Rule::Abs(1e-4),
                        false => Rule::Mostly { abs: 2e-3, permille: 4.0 },
                    };
                    Output::cpu(&name, &words(got), &words(&want), rule)
                } else {
                    let bytes = |v: &[f64]| {
                        v.iter()
                            .map(|x| (x.clamp(0.0, 1.0) * 255.0).round() as u8)
                            .collect::<Vec<_>>()
                    };
                    // Of the few pixels beyond, each is at a step of its operation's function.
                    let rule = match self.steps {
                        true => Rule::Abs(3.0),
                        false => Rule::Mostly { abs: 2.0, permille: 8.0 },
                    };
                    Output::cpu(&name, &bytes(got), &bytes(&want), rule).picture(SIZE_PX)
                };
                outputs.push(output.defined(defined));
            }
        }
        Ok(outputs)
    }

    fn case(self, name: &str, about: &str) -> Case {
        let fragment = if self.operations.len() > 1 { "blend_targets.frag" } else { "pixels.frag" };
        let shaders = vec![
            Shader::new("pixels.vert"),
            Shader::new(fragment).define("SCALE", ""),
            Shader::new(fragment).define("SCALE", "* vec4(value.aaa, 1.0)"),
        ];
        let name = format!("blend_advanced/{name}");
        // Mesa's software rasteriser does not offer the operations.
        Case::new(name, about, shaders, move |bench| self.run(bench)).without_lavapipe()
    }
}

/// All operations with their names.
fn operations() -> impl Iterator<Item = (O, String)> {
    (O::ZERO_EXT.as_raw()..=O::BLUE_EXT.as_raw()).map(|n| {
        let op = O::from_raw(n);
        (op, format!("{op:?}").trim_end_matches("_EXT").to_lowercase())
    })
}

pub fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = operations()
        .map(|(op, name)| Blends::of(op).case(&name, "one advanced blend operation"))
        .collect();
    let eight = Blends {
        operations: vec![
            O::MULTIPLY_EXT,
            O::SCREEN_EXT,
            O::HSL_HUE_EXT,
            O::COLORDODGE_EXT,
            O::XOR_EXT,
            O::PLUS_CLAMPED_ALPHA_EXT,
            O::SOFTLIGHT_EXT,
            O::INVERT_OVG_EXT,
        ],
        ..Blends::of(O::ZERO_EXT)
    };
    for (op, name) in operations() {
        let format = vk::Format::R32G32B32A32_SFLOAT;
        let steps = Blends { format, steps: true, ..Blends::of(op) };
        cases.push(steps.case(&format!("steps_{name}"), "colours at the steps of an operation"));
    }
    let rounded = Blends { steps: true, ..Blends::of(O::HARDMIX_EXT) };
    cases.push(
        rounded.case("rounded_hardmix", "colours at the step, the destination's rounded to 8 bits"),
    );
    cases.push(eight.case("attachments", "eight attachments, each with an operation of its own"));
    for op in [O::OVERLAY_EXT, O::HSL_LUMINOSITY_EXT, O::MINUS_EXT] {
        let name = format!("{op:?}").trim_end_matches("_EXT").to_lowercase();
        let float = Blends { format: vk::Format::R32G32B32A32_SFLOAT, ..Blends::of(op) };
        cases.push(float.case(&format!("float_{name}"), "attachments of floats"));
        let samples = Blends { samples: vk::SampleCountFlags::TYPE_4, ..Blends::of(op) };
        cases.push(samples.case(&format!("samples_{name}"), "attachments of four samples"));
    }
    cases
}
