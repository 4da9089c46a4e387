//! Sampled images: formats, filters, wraps, levels, gathers, comparisons.
//!
//! The reference is lavapipe. Coordinates stay away from texel edges if the nearest texel matters; linear
//! filters may use weights of 8 bits per dimension (`subTexelPrecisionBits`).

use ash::vk::{self, BorderColor, CompareOp, Filter, SamplerAddressMode as Wrap};

use crate::case::{Bench, Case, Output, Rule, Shader};
use crate::gpu::{Bind, ImageSpec, Result, SamplerSpec, Shape, Transfer, ViewSpec};
use crate::number::Random;
use crate::texel::{BC, COLOUR, Class, DEPTH, Format, named};

/// Samples a case takes.
const POINTS: usize = 512;

/// A case with one texture.
#[derive(Clone)]
struct Texture {
    format: Format,
    image: ImageSpec,
    sampler: SamplerSpec,
    /// GLSL over `t`, `p` and `q`.
    expr: String,
    /// The distribution of p.
    points: Coordinates,
    /// Range of the components of q.
    q: [[f32; 2]; 4],
    rule: Rule,
    /// The part of the image that the view covers, if not all.
    view: Option<ViewSpec>,
}

/// The distribution of the coordinates of a case.
#[derive(Clone, Copy, PartialEq)]
enum Coordinates {
    /// Between -1.5 and 2.5, in the middle four fifths of a texel.
    Inside,
    /// Between -1.5 and 2.5, anywhere.
    Anywhere,
    /// Directions, of random length.
    Directions,
    /// Texel coordinates of level 0, one point per texel.
    Texels,
}

fn glsl_sampler(format: &Format, shape: Shape, shadow: bool) -> String {
    let shape = match shape {
        Shape::D1 => "1D",
        Shape::D1Array => "1DArray",
        Shape::D2 => "2D",
        Shape::D2Array => "2DArray",
        Shape::D3 => "3D",
        Shape::Cube => "Cube",
        Shape::CubeArray => "CubeArray",
    };
    format!("{}sampler{shape}{}", format.prefix(), if shadow { "Shadow" } else { "" })
}

/// Random texels for every level.
pub(super) fn levels_of(format: &Format, spec: &ImageSpec, seed: u64) -> Vec<Vec<u8>> {
    (0..spec.levels)
        .map(|level| {
            let bytes = spec.level_bytes(level, format.block_px, format.bytes);
            format.texels(seed + level as u64, bytes)
        })
        .collect()
}

impl Texture {
    fn new(format: Format, shape: Shape, size_px: [u32; 3], expr: &str) -> Texture {
        Texture {
            format,
            image: ImageSpec::sampled(format.vk, shape, size_px),
            sampler: SamplerSpec::new(Filter::NEAREST, Wrap::REPEAT),
            expr: expr.to_owned(),
            points: Coordinates::Inside,
            q: [[0.0, 1.0]; 4],
            rule: Rule::Bits,
            view: None,
        }
    }

    fn p(&self) -> Vec<[f32; 4]> {
        let mut random = Random::new(101);
        let size = self.image.size_px;
        if self.points == Coordinates::Texels {
            let layers = if self.image.shape == Shape::D3 { size[2] } else { self.image.layers };
            return (0..size[0] * size[1] * layers)
                .map(|i| {
                    let (x, y) = (i % size[0], i / size[0] % size[1]);
                    [x as f32, y as f32, (i / size[0] / size[1]) as f32, 0.0]
                })
                .collect();
        }
        (0..POINTS)
            .map(|_| {
                let mut p = [0.0; 4];
                for (k, p) in p.iter_mut().enumerate() {
                    *p = match self.points {
                        Coordinates::Directions => random.float(-2.0, 2.0),
                        Coordinates::Anywhere => random.float(-1.5, 2.5),
                        _ => {
                            let size = size[k.min(2)] as f32;
                            let texel = random.float(-1.5 * size, 2.5 * size).floor();
                            (texel + random.float(0.1, 0.9)) / size
                        }
                    };
                }
                p
            })
            .collect()
    }

    fn case(self, name: impl Into<String>, about: &str) -> Case {
        let integer = self.format.is_integer();
        let shader = self.shader();
        Case::new(name, about, vec![shader], move |bench| {
            let p = self.p();
            let q = self.q();
            let raw = self.run(bench, &p, &q, &levels_of(&self.format, &self.image, 103))?;
            let output = if integer {
                Output::peer("r", &raw, self.rule.clone())
            } else {
                let floats: Vec<[f32; 4]> = raw.iter().map(|r| r.map(f32::from_bits)).collect();
                Output::peer("r", &floats, self.rule.clone())
            };
            Ok(vec![with_points(output, &p, &q)])
        })
    }

    fn shader(&self) -> Shader {
        let shadow = self.sampler.compare.is_some();
        Shader::new("texture.comp")
            .define("SAMPLER", glsl_sampler(&self.format, self.image.shape, shadow))
            .define("RESULT", format!("{}vec4", self.format.prefix()))
            .define("EXPR", &self.expr)
    }

    fn q(&self) -> Vec<[f32; 4]> {
        let mut random = Random::new(102);
        let count = self.p().len();
        (0..count).map(|_| self.q.map(|[low, high]| random.float(low, high))).collect()
    }

    fn run(
        &self,
        bench: &Bench,
        p: &[[f32; 4]],
        q: &[[f32; 4]],
        texels: &[Vec<u8>],
    ) -> Result<Vec<[u32; 4]>> {
        let gpu = bench.gpu;
        let image = gpu.image_of(self.image, texels)?;
        let view = match self.view {
            Some(view) => gpu.view(image.handle, &image.spec, view)?,
            None => image.view,
        };
        let sampler = gpu.sampler(self.sampler)?;
        let (pb, qb) = (gpu.buffer(p)?, gpu.buffer(q)?);
        let result = gpu.output::<[u32; 4]>(p.len())?;
        let kernel = gpu
            .kernel(&bench.spirv[0])
            .bind(Bind::Texture(view, sampler))
            .storage(&[&pb, &qb, &result])
            .build()?;
        gpu.run(&kernel, [p.len().div_ceil(64) as u32, 1, 1])?;
        Ok(result.read())
    }
}

/// Names the coordinates of each sample, for messages.
fn with_points(output: Output, p: &[[f32; 4]], q: &[[f32; 4]]) -> Output {
    let column = |of: &[[f32; 4]], k: usize| of.iter().map(|v| v[k]).collect::<Vec<f32>>();
    output
        .column("p.x", &column(p, 0))
        .column("p.y", &column(p, 1))
        .column("p.z", &column(p, 2))
        .column("q.x", &column(q, 0))
}

/// The required precision of a fetch for a format.
pub(super) fn fetch_rule(format: &Format) -> Rule {
    match format.class {
        Class::Uint | Class::Sint => Rule::Bits,
        // The division of fixed-point conversion may be off by a unit or two.
        Class::Unorm | Class::Snorm | Class::Depth => Rule::Abs(2f64.powi(-22)),
        // The conversion may be off by half of the 8-bit code's step.
        Class::Srgb => Rule::Abs(0.5 / 255.0),
        Class::Half | Class::Single | Class::Ufloat => Rule::Bits,
        // Interpolated colours of blocks may be rounded to 8 bits, or kept wider, from endpoints that may
        // already be rounded: two codes, and the sRGB curve is at most 2.3 steep.
        Class::Blocks => Rule::Abs(5.0 / 255.0),
    }
}

/// Maximum difference due to 8-bit weights in `dimensions` dimensions over texels in a range.
fn filter_rule(format: &Format, dimensions: u32) -> Rule {
    let range = match format.class {
        Class::Half | Class::Single => 8.0,
        Class::Snorm | Class::Ufloat => 2.0,
        _ => 1.0,
    };
    let storage = match format.class {
        Class::Half | Class::Single | Class::Depth => 0.0,
        // Texels of few bits are filtered as stored or after expansion: a step of 8 bits.
        _ => 1.0 / 255.0,
    };
    Rule::Abs(range * dimensions as f64 / 256.0 + storage)
}

/// Every texel of every format, fetched by coordinates.
fn fetches() -> Vec<Case> {
    let mut cases = Vec::new();
    for format in COLOUR.iter().chain(DEPTH).chain(BC) {
        let mut texture =
            Texture::new(*format, Shape::D2, [37, 21, 1], "texelFetch(t, ivec2(p.xy), 0)");
        texture.points = Coordinates::Texels;
        texture.rule = fetch_rule(format);
        if format.class == Class::Depth {
            // lavapipe's host copies do not support depth; and its other components are undefined.
            texture.image = texture.image.through(Transfer::Gpu);
            texture.expr = "vec4(texelFetch(t, ivec2(p.xy), 0).x)".into();
        }
        let about = format!("each texel of a 37 x 21 image of {}", format.name);
        cases.push(texture.clone().case(format!("fetch/{}", format.name), &about));
        // Images that the driver itself fills may be compressed.
        if format.class != Class::Depth {
            texture.image = texture.image.through(Transfer::Gpu);
            cases.push(texture.case(format!("fetch_copied/{}", format.name), &about));
        }
    }
    cases
}

/// Fetches from every shape, linear and optimal, with levels and layers.
fn shapes() -> Vec<Case> {
    let mut cases = Vec::new();
    // Coordinates, and whether they are inside a level.
    let rows: [(Shape, [u32; 3], &str, &str); 5] = [
        (Shape::D1, [200, 1, 1], "int(p.x)", "int(p.x) < textureSize(t, L)"),
        (Shape::D1Array, [200, 1, 1], "ivec2(p.x, p.z)", "int(p.x) < textureSize(t, L).x"),
        (Shape::D2, [67, 45, 1], "ivec2(p.xy)", "all(lessThan(ivec2(p.xy), textureSize(t, L)))"),
        (
            Shape::D2Array,
            [67, 45, 1],
            "ivec3(p.xyz)",
            "all(lessThan(ivec2(p.xy), textureSize(t, L).xy))",
        ),
        (Shape::D3, [21, 18, 7], "ivec3(p.xyz)", "all(lessThan(ivec3(p.xyz), textureSize(t, L)))"),
    ];
    for (shape, size, at, inside) in rows {
        for name in ["R8_UINT", "R16G16_UINT", "R32G32B32A32_UINT", "R8G8B8A8_UNORM"] {
            let format = named(name);
            let mut t = Texture::new(format, shape, size, &format!("texelFetch(t, {at}, 0)"));
            t.points = Coordinates::Texels;
            t.rule = fetch_rule(&format);
            let about = format!("each texel of a {shape:?} image of {size:?}");
            for (kind, transfer) in [("host", Transfer::Host), ("copied", Transfer::Gpu)] {
                let mut t = t.clone();
                t.image = t.image.through(transfer);
                cases.push(t.case(format!("shape/{shape:?}_{name}_{kind}"), &about));
            }
            if shape == Shape::D2 {
                let mut t = t.clone();
                t.image = t.image.linear();
                cases.push(t.case(format!("shape/{shape:?}_{name}_linear"), "linear tiling"));
            }
            if name != "R8G8B8A8_UNORM" {
                continue;
            }
            for level in 1..4 {
                let mut t = t.clone();
                t.image = t.image.mipmapped().through(Transfer::Gpu);
                t.expr = format!("({inside}) ? texelFetch(t, {at}, L) : vec4(-1)")
                    .replace("L)", &format!("{level})"));
                let name = format!("shape/{shape:?}_{name}_level{level}");
                cases.push(t.case(name, "a smaller level"));
            }
        }
    }
    cases
}

const WRAPS: [(&str, Wrap); 5] = [
    ("repeat", Wrap::REPEAT),
    ("mirror", Wrap::MIRRORED_REPEAT),
    ("edge", Wrap::CLAMP_TO_EDGE),
    ("border", Wrap::CLAMP_TO_BORDER),
    ("mirror_once", Wrap::MIRROR_CLAMP_TO_EDGE),
];

/// Every filter with every wrap, on every class of format.
fn filters() -> Vec<Case> {
    let mut cases = Vec::new();
    let formats = [
        "R8G8B8A8_UNORM",
        "R8G8_SNORM",
        "R8G8B8A8_UINT",
        "R16G16_SINT",
        "R32_SFLOAT",
        "R16G16B16A16_SFLOAT",
        "R8G8B8A8_SRGB",
        "R5G6B5_UNORM_PACK16",
        "B10G11R11_UFLOAT_PACK32",
        "BC1_RGBA_UNORM_BLOCK",
        "BC7_UNORM_BLOCK",
    ];
    for name in formats {
        let format = named(name);
        for (wrap_name, wrap) in WRAPS {
            for filter in [Filter::NEAREST, Filter::LINEAR] {
                if filter == Filter::LINEAR && !format.is_filterable() {
                    continue;
                }
                let mut t =
                    Texture::new(format, Shape::D2, [16, 12, 1], "textureLod(t, p.xy, 0.0)");
                t.sampler = SamplerSpec::new(filter, wrap);
                if format.is_integer() {
                    t.sampler.border = BorderColor::INT_OPAQUE_BLACK;
                }
                let linear = filter == Filter::LINEAR;
                t.points = if linear { Coordinates::Anywhere } else { Coordinates::Inside };
                t.rule = match linear {
                    true => filter_rule(&format, 2),
                    // lavapipe repeats these bits to 8, whose nearest code is its best precision.
                    false if name.starts_with("R5G6B5") => Rule::Abs(1.0 / 255.0),
                    false => fetch_rule(&format),
                };
                let kind = if linear { "linear" } else { "nearest" };
                let name = format!("filter/{name}_{kind}_{wrap_name}");
                cases.push(t.case(name, "one level of 16 x 12"));
            }
        }
    }
    cases
}

/// Filters on other shapes.
fn dimensions() -> Vec<Case> {
    let mut cases = Vec::new();
    let format = named("R8G8B8A8_UNORM");
    let rows: [(Shape, [u32; 3], &str, u32); 7] = [
        (Shape::D1, [33, 1, 1], "textureLod(t, p.x, 0.0)", 1),
        (Shape::D1Array, [33, 1, 1], "textureLod(t, p.xy, 0.0)", 1),
        (Shape::D2, [33, 17, 1], "textureLod(t, p.xy, 0.0)", 2),
        (Shape::D2Array, [33, 17, 1], "textureLod(t, p.xyz, 0.0)", 2),
        (Shape::D3, [12, 9, 5], "textureLod(t, p.xyz, 0.0)", 3),
        (Shape::Cube, [16, 16, 1], "textureLod(t, p.xyz, 0.0)", 2),
        (Shape::CubeArray, [16, 16, 1], "textureLod(t, p, 0.0)", 2),
    ];
    for (shape, size, expr, dimensions) in rows {
        for filter in [Filter::NEAREST, Filter::LINEAR] {
            for (wrap_name, wrap) in [WRAPS[0], WRAPS[3]] {
                let cube = matches!(shape, Shape::Cube | Shape::CubeArray);
                if cube && wrap != Wrap::REPEAT {
                    continue; // wraps have no meaning there
                }
                let linear = filter == Filter::LINEAR;
                let mut t = Texture::new(format, shape, size, expr);
                t.sampler = SamplerSpec::new(filter, wrap);
                t.points = match (cube, linear) {
                    (true, _) => Coordinates::Directions,
                    (_, true) => Coordinates::Anywhere,
                    _ => Coordinates::Inside,
                };
                t.rule = match (cube, linear) {
                    // The texel that a direction hits may differ due to rounding at its edges.
                    (true, false) => Rule::Mostly { abs: 1e-6, permille: 10.0 },
                    (_, true) => filter_rule(&format, dimensions),
                    _ => fetch_rule(&format),
                };
                let kind = if linear { "linear" } else { "nearest" };
                cases.push(t.case(format!("shape_filter/{shape:?}_{kind}_{wrap_name}"), expr));
            }
        }
    }
    cases
}

/// Levels: explicit, by gradients, by bias, clamped.
fn levels() -> Vec<Case> {
    let mut cases = Vec::new();
    let format = named("R8G8B8A8_UNORM");
    let base = |expr: &str, filter| {
        let mut t = Texture::new(format, Shape::D2, [64, 64, 1], expr);
        t.image = t.image.mipmapped();
        t.sampler = SamplerSpec::new(filter, Wrap::REPEAT);
        t.points = Coordinates::Anywhere;
        t
    };
    // Between levels lavapipe's weight has 6 bits; within one, 8 per dimension.
    let trilinear = Rule::Abs(1.0 / 64.0 + 2.0 / 256.0 + 1.0 / 255.0);
    // Texels at an edge, and levels at a half, may be rounded either way.
    let nearest = Rule::Mostly { abs: 1e-6, permille: 15.0 };
    let mut add = |name: &str, mut t: Texture, lod: [f32; 2], rule: &Rule| {
        t.q = [lod; 4];
        t.rule = rule.clone();
        let about = t.expr.clone();
        cases.push(t.case(format!("level/{name}"), &about));
    };
    const LOD: &str = "textureLod(t, p.xy, q.x)";
    add("trilinear", base(LOD, Filter::LINEAR), [-1.0, 8.0], &trilinear);
    let mut t = base(LOD, Filter::LINEAR);
    t.sampler.mip = vk::SamplerMipmapMode::NEAREST;
    // Far enough from the half where the level changes.
    t.expr = "textureLod(t, p.xy, floor(q.x) + fract(q.x) * 0.8 - 0.4)".into();
    add("bilinear_nearest_level", t, [-1.0, 8.0], &filter_rule(&format, 2));
    add("nearest", base(LOD, Filter::NEAREST), [-1.0, 8.0], &nearest);
    let mut t = base(LOD, Filter::LINEAR);
    t.sampler.mag = Filter::NEAREST;
    add("magnify_nearest", t, [0.1, 5.0], &trilinear);
    let mut t = base(LOD, Filter::LINEAR);
    t.sampler.lod = [1.25, 3.5];
    add("clamped", t, [-1.0, 8.0], &trilinear);
    let mut t = base(LOD, Filter::LINEAR);
    t.sampler.bias = 1.5;
    add("sampler_bias", t, [-1.0, 6.0], &trilinear);
    let mut t = base(LOD, Filter::LINEAR);
    t.sampler.bias = -2.25;
    add("sampler_bias_negative", t, [-1.0, 8.0], &trilinear);
    let mut t = base(
        "textureGrad(t, p.xy, vec2(exp2(floor(q.x)) / 64.0, 0.0), vec2(0.0, exp2(floor(q.x)) / 64.0))",
        Filter::LINEAR,
    );
    t.sampler.bias = 1.25;
    add("sampler_bias_gradient", t, [-1.0, 6.0], &trilinear);
    let zero = "textureGrad(t, p.xy, vec2(0.0), vec2(0.0))";
    add("gradient_zero", base(zero, Filter::LINEAR), [0.0, 1.0], &filter_rule(&format, 2));
    // The chain of levels is incomplete, and the view begins at a later level.
    let mut t = base(LOD, Filter::LINEAR);
    t.image = t.image.levels(3);
    add("short_chain", t, [-1.0, 6.0], &trilinear);
    let mut t = base(LOD, Filter::LINEAR);
    t.view = Some(ViewSpec { levels: [2, 3], ..ViewSpec::whole(&t.image) });
    add("view_levels", t, [-1.0, 6.0], &trilinear);
    let mut t = base(LOD, Filter::LINEAR);
    t.image = ImageSpec::sampled(format.vk, Shape::D2, [50, 37, 1]).mipmapped();
    add("odd_sizes", t, [-1.0, 6.0], &trilinear);
    let mut t = base("textureLod(t, p.xyz, q.x)", Filter::LINEAR);
    t.image = ImageSpec::sampled(format.vk, Shape::D3, [20, 16, 12]).mipmapped();
    add("volume", t, [-1.0, 5.0], &Rule::Abs(1.0 / 64.0 + 3.0 / 256.0 + 1.0 / 255.0));
    let mut t = base("textureLod(t, p.xyz, q.x)", Filter::LINEAR);
    t.image = ImageSpec::sampled(format.vk, Shape::Cube, [32, 32, 1]).mipmapped();
    t.points = Coordinates::Directions;
    add("cube", t, [-1.0, 6.0], &trilinear);
    cases
}

/// Levels of detail by gradients: each level of the image holds its own number, so that a trilinear
/// sample is the level of detail. The specification has the formula ("Scale Factor, Level-of-Detail
/// Operation and Image Level(s) Selection"), which lavapipe approximates, so the CPU judges.
fn gradients() -> Vec<Case> {
    /// Level of detail of gradients in texels, before clamps.
    fn lod(right: [f32; 2], down: [f32; 2], most: f32) -> f32 {
        let (r, d) = (right[0].hypot(right[1]), down[0].hypot(down[1]));
        let (longest, shortest) = (r.max(d), r.min(d));
        (longest / (longest / shortest).clamp(1.0, most)).log2()
    }
    const SIZE: f32 = 64.0;
    type Gradient = fn([f32; 4]) -> [[f32; 2]; 2];
    let rows: [(&str, &str, Gradient); 4] = [
        ("square", "vec2(q.x, 0.0), vec2(0.0, q.x)", |q| [[q[0], 0.0], [0.0, q[0]]]),
        ("uneven", "vec2(q.x, 0.0), vec2(0.0, q.y * 0.25)", |q| [[q[0], 0.0], [0.0, q[1] * 0.25]]),
        ("long", "vec2(0.0, q.x / 8.0), vec2(q.x, 0.0)", |q| [[0.0, q[0] / 8.0], [q[0], 0.0]]),
        ("turned", "q.xy, vec2(-q.y, q.x)", |q| [[q[0], q[1]], [-q[1], q[0]]]),
    ];
    let mut cases = Vec::new();
    for (name, text, gradient) in rows {
        for most in [1.0f32, 2.0, 4.0, 16.0] {
            let expr = format!("textureGrad(t, p.xy, {text})");
            let mut t = Texture::new(named("R32_SFLOAT"), Shape::D2, [64, 64, 1], &expr);
            t.image = t.image.mipmapped();
            t.sampler = SamplerSpec::new(Filter::LINEAR, Wrap::REPEAT);
            t.sampler.anisotropy = most;
            t.q = [[0.01, 0.6]; 4];
            let shader = t.shader();
            let name = format!("gradient/{name}_{most}");
            let case = Case::new(name, &expr, vec![shader], move |bench| {
                let (p, q) = (t.p(), t.q());
                let texels: Vec<Vec<u8>> = (0..t.image.levels)
                    .map(|level| {
                        let count =
                            t.image.level_bytes(level, t.format.block_px, t.format.bytes) / 4;
                        (level as f32).to_le_bytes().repeat(count)
                    })
                    .collect();
                let last = (t.image.levels - 1) as f32;
                let expected: Vec<f32> = q
                    .iter()
                    .map(|&q| {
                        let [right, down] = gradient(q).map(|axis| axis.map(|v| v * SIZE));
                        lod(right, down, most).clamp(0.0, last)
                    })
                    .collect();
                let got: Vec<f32> =
                    t.run(bench, &p, &q, &texels)?.iter().map(|r| f32::from_bits(r[0])).collect();
                // Levels of detail have at least 4 bits of fraction, Honeykrisp says 8; the steps
                // of the ratio and the logarithm may cost another.
                let output = Output::cpu("lod", &got, &expected, Rule::Abs(1.0 / 128.0));
                Ok(vec![with_points(output, &p, &q)])
            });
            cases.push(case.without_lavapipe());
        }
    }
    cases
}

/// Sizes and numbers of levels.
fn queries() -> Vec<Case> {
    let mut cases = Vec::new();
    let format = named("R8G8B8A8_UNORM");
    let rows: [(Shape, [u32; 3], &str); 7] = [
        (Shape::D1, [33, 1, 1], "vec4(textureSize(t, L), textureQueryLevels(t), 0, 0)"),
        (Shape::D1Array, [33, 1, 1], "vec4(textureSize(t, L), textureQueryLevels(t), 0)"),
        (Shape::D2, [33, 17, 1], "vec4(textureSize(t, L), textureQueryLevels(t), 0)"),
        (Shape::D2Array, [33, 17, 1], "vec4(textureSize(t, L), textureQueryLevels(t))"),
        (Shape::D3, [33, 17, 9], "vec4(textureSize(t, L), textureQueryLevels(t))"),
        (Shape::Cube, [32, 32, 1], "vec4(textureSize(t, L), textureQueryLevels(t), 0)"),
        (Shape::CubeArray, [32, 32, 1], "vec4(textureSize(t, L), textureQueryLevels(t))"),
    ];
    for (shape, size, expr) in rows {
        let mut t = Texture::new(format, shape, size, &expr.replace("L)", "int(q.x))"));
        t.image = t.image.mipmapped();
        t.q = [[0.0, 4.99]; 4];
        cases.push(t.case(format!("query/size_{shape:?}"), expr));
    }
    let mut t = Texture::new(
        format,
        Shape::D2Array,
        [64, 32, 1],
        "vec4(textureSize(t, int(q.x)), textureQueryLevels(t))",
    );
    t.image = t.image.mipmapped().layers(9);
    t.view = Some(ViewSpec { levels: [1, 4], layers: [2, 5], ..ViewSpec::whole(&t.image) });
    t.q = [[0.0, 3.99]; 4];
    cases.push(t.case("query/size_of_view", "a view of some levels and layers"));
    cases
}

/// Four texels at once.
fn gathers() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |name: &str, format: &str, shape, size, expr: &str, wrap| {
        let format = named(format);
        let mut t = Texture::new(format, shape, size, expr);
        t.sampler = SamplerSpec::new(Filter::LINEAR, wrap);
        if format.is_integer() {
            t.sampler.mag = Filter::NEAREST;
            t.sampler.min = Filter::NEAREST;
            t.sampler.mip = vk::SamplerMipmapMode::NEAREST;
            t.sampler.border = BorderColor::INT_OPAQUE_WHITE;
        }
        t.points = Coordinates::Anywhere;
        // Rounding at texel centres may select other texels.
        t.rule = match shape {
            Shape::Cube | Shape::CubeArray => Rule::Mostly { abs: 1e-6, permille: 30.0 },
            _ => Rule::Mostly { abs: 1e-6, permille: 12.0 },
        };
        cases.push(t.case(format!("gather/{name}"), expr));
    };
    let (d2, size) = (Shape::D2, [16, 12, 1]);
    for component in 0..4 {
        let expr = format!("textureGather(t, p.xy, {component})");
        add(&format!("component{component}"), "R8G8B8A8_UNORM", d2, size, &expr, Wrap::REPEAT);
    }
    let plain = "textureGather(t, p.xy)";
    add("edge", "R8G8B8A8_UNORM", d2, size, plain, Wrap::CLAMP_TO_EDGE);
    add("border", "R8G8B8A8_UNORM", d2, size, plain, Wrap::CLAMP_TO_BORDER);
    add("mirror", "R32_SFLOAT", d2, size, plain, Wrap::MIRRORED_REPEAT);
    add("uint", "R32G32B32A32_UINT", d2, size, "textureGather(t, p.xy, 2)", Wrap::REPEAT);
    add("sint", "R16G16_SINT", d2, size, "textureGather(t, p.xy, 1)", Wrap::CLAMP_TO_BORDER);
    add(
        "offset",
        "R8G8B8A8_UNORM",
        d2,
        size,
        "textureGatherOffset(t, p.xy, ivec2(-3, 5))",
        Wrap::REPEAT,
    );
    add(
        "offset_varying",
        "R8G8B8A8_UNORM",
        d2,
        size,
        "textureGatherOffset(t, p.xy, ivec2(q.xy * 15.0) - 8)",
        Wrap::REPEAT,
    );
    add(
        "offsets",
        "R8G8B8A8_UNORM",
        d2,
        size,
        "textureGatherOffsets(t, p.xy, \
         ivec2[4](ivec2(0, 1), ivec2(-8, 7), ivec2(3, -2), ivec2(7, 0)), 1)",
        Wrap::REPEAT,
    );
    add("array", "R8G8B8A8_UNORM", Shape::D2Array, size, "textureGather(t, p.xyz)", Wrap::REPEAT);
    let cube = [16, 16, 1];
    add("cube", "R8G8B8A8_UNORM", Shape::Cube, cube, "textureGather(t, p.xyz)", Wrap::REPEAT);
    cases
}

/// Offsets and projection.
fn offsets() -> Vec<Case> {
    let format = named("R8G8B8A8_UNORM");
    let rows: [(&str, Shape, [u32; 3], &str); 5] = [
        ("1d", Shape::D1, [40, 1, 1], "textureLodOffset(t, p.x, 0.0, -7)"),
        ("2d", Shape::D2, [16, 12, 1], "textureLodOffset(t, p.xy, 0.0, ivec2(7, -8))"),
        ("3d", Shape::D3, [12, 9, 5], "textureLodOffset(t, p.xyz, 0.0, ivec3(1, -2, 3))"),
        ("projected", Shape::D2, [16, 12, 1], "textureProjLod(t, vec4(p.xy * 2.0, 0, 2.0), 0.0)"),
        (
            "fetch",
            Shape::D2,
            [16, 12, 1],
            "texelFetchOffset(t, ivec2(q.xy * vec2(7.9, 6.9)), 0, ivec2(5, 4))",
        ),
    ];
    rows.into_iter()
        .map(|(name, shape, size, expr)| {
            let mut t = Texture::new(format, shape, size, expr);
            t.rule = fetch_rule(&format);
            t.case(format!("offset/{name}"), expr)
        })
        .collect()
}

/// Depth comparisons.
fn shadows() -> Vec<Case> {
    let mut cases = Vec::new();
    let ops = [
        ("never", CompareOp::NEVER),
        ("less", CompareOp::LESS),
        ("equal", CompareOp::EQUAL),
        ("less_equal", CompareOp::LESS_OR_EQUAL),
        ("greater", CompareOp::GREATER),
        ("not_equal", CompareOp::NOT_EQUAL),
        ("greater_equal", CompareOp::GREATER_OR_EQUAL),
        ("always", CompareOp::ALWAYS),
    ];
    let mut add = |name: String, format: &Format, shape, size, op, filter, expr: &str| {
        let mut t = Texture::new(*format, shape, size, expr);
        t.image = t.image.through(Transfer::Gpu);
        t.sampler = SamplerSpec::new(filter, Wrap::CLAMP_TO_EDGE);
        t.sampler.compare = Some(op);
        let cube = matches!(shape, Shape::Cube | Shape::CubeArray);
        t.points = match (cube, filter) {
            (true, _) => Coordinates::Directions,
            (_, Filter::LINEAR) => Coordinates::Anywhere,
            _ => Coordinates::Inside,
        };
        t.rule = match (cube, filter) {
            (_, Filter::LINEAR) => Rule::Abs(2.0 / 256.0 + 1e-3),
            (true, _) => Rule::Mostly { abs: 1e-6, permille: 10.0 },
            _ => Rule::Bits,
        };
        cases.push(t.case(format!("shadow/{name}"), expr));
    };
    let lod = "vec4(textureLod(t, vec3(p.xy, q.x), 0.0))";
    let size = [16, 12, 1];
    for (name, op) in ops {
        add(format!("{name}_nearest"), &DEPTH[1], Shape::D2, size, op, Filter::NEAREST, lod);
        add(format!("{name}_linear"), &DEPTH[0], Shape::D2, size, op, Filter::LINEAR, lod);
    }
    let less = CompareOp::LESS;
    add(
        "array".into(),
        &DEPTH[1],
        Shape::D2Array,
        size,
        less,
        Filter::LINEAR,
        "vec4(textureLod(t, vec4(p.xyz, q.x), 0.0))",
    );
    add(
        "cube".into(),
        &DEPTH[1],
        Shape::Cube,
        [16, 16, 1],
        less,
        Filter::LINEAR,
        "vec4(textureLod(t, vec4(p.xyz, q.x), 0.0))",
    );
    add(
        "gather".into(),
        &DEPTH[1],
        Shape::D2,
        size,
        less,
        Filter::NEAREST,
        "textureGather(t, p.xy, q.x)",
    );
    cases
}

/// The border colour.
fn borders() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |name: &str, format: &str, border, custom: [u32; 4]| {
        let format = named(format);
        for filter in [Filter::NEAREST, Filter::LINEAR] {
            if filter == Filter::LINEAR && !format.is_filterable() {
                continue;
            }
            let mut t = Texture::new(format, Shape::D2, [8, 8, 1], "textureLod(t, p.xy, 0.0)");
            t.sampler = SamplerSpec::new(filter, Wrap::CLAMP_TO_BORDER);
            t.sampler.border = border;
            t.sampler.custom_border = custom;
            let linear = filter == Filter::LINEAR;
            t.points = if linear { Coordinates::Anywhere } else { Coordinates::Inside };
            t.rule = if linear { filter_rule(&format, 2) } else { fetch_rule(&format) };
            let kind = if linear { "linear" } else { "nearest" };
            cases.push(t.case(format!("border/{name}_{}_{kind}", format.name), "8 x 8"));
        }
    };
    let rgba8 = "R8G8B8A8_UNORM";
    add("transparent_black", rgba8, BorderColor::FLOAT_TRANSPARENT_BLACK, [0; 4]);
    add("opaque_black", rgba8, BorderColor::FLOAT_OPAQUE_BLACK, [0; 4]);
    add("opaque_white", rgba8, BorderColor::FLOAT_OPAQUE_WHITE, [0; 4]);
    add("opaque_white", "R8_UNORM", BorderColor::FLOAT_OPAQUE_WHITE, [0; 4]);
    add("opaque_white", "R32_UINT", BorderColor::INT_OPAQUE_WHITE, [0; 4]);
    add("opaque_black", "R8G8B8A8_SINT", BorderColor::INT_OPAQUE_BLACK, [0; 4]);
    let colour = [0.25f32, 0.5, 0.75, 0.125].map(f32::to_bits);
    add("custom", rgba8, BorderColor::FLOAT_CUSTOM_EXT, colour);
    add("custom", "R16G16B16A16_SFLOAT", BorderColor::FLOAT_CUSTOM_EXT, colour);
    add("custom", "R32G32B32A32_UINT", BorderColor::INT_CUSTOM_EXT, [7, 1 << 31, 65536, 3]);
    cases
}

/// Minima and maxima of a filter's texels.
fn reductions() -> Vec<Case> {
    use vk::SamplerReductionMode as Mode;
    let mut cases = Vec::new();
    let modes = [("min", Mode::MIN), ("max", Mode::MAX)];
    let mut add =
        |name: &str, format: &str, shape, size, expr: &str, change: &dyn Fn(&mut Texture)| {
            for (mode_name, mode) in modes {
                let format = named(format);
                let mut t = Texture::new(format, shape, size, expr);
                t.sampler = SamplerSpec::new(Filter::LINEAR, Wrap::REPEAT);
                t.sampler.reduction = mode;
                t.points = Coordinates::Anywhere;
                // Texels with weights below 1/256 may be included or not.
                t.rule = Rule::Mostly { abs: 1e-5, permille: 30.0 };
                change(&mut t);
                let case = t.case(format!("reduction/{name}_{mode_name}"), expr);
                cases.push(case.without_honeykrisp());
            }
        };
    let same: &dyn Fn(&mut Texture) = &|_| ();
    let (d2, size, plain) = (Shape::D2, [16, 12, 1], "textureLod(t, p.xy, 0.0)");
    for format in
        ["R8_UNORM", "R8_SNORM", "R16_UNORM", "R16_SFLOAT", "R32_SFLOAT", "R8G8B8A8_UNORM"]
    {
        add(format, format, d2, size, plain, same);
    }
    let wide = "R8G8B8A8_UNORM";
    for (name, wrap) in WRAPS {
        add(name, wide, d2, size, plain, &|t| t.sampler.wrap = [wrap; 3]);
    }
    let colour = [0.25f32, 0.5, 0.75, 0.125].map(f32::to_bits);
    add("custom_border", wide, d2, size, plain, &|t| {
        t.sampler.wrap = [Wrap::CLAMP_TO_BORDER; 3];
        t.sampler.border = BorderColor::FLOAT_CUSTOM_EXT;
        t.sampler.custom_border = colour;
    });
    add("1d", wide, Shape::D1, [33, 1, 1], "textureLod(t, p.x, 0.0)", same);
    add("1d_array", wide, Shape::D1Array, [33, 1, 1], "textureLod(t, p.xy, 0.0)", same);
    add("2d_array", wide, Shape::D2Array, size, "textureLod(t, p.xyz, 0.0)", same);
    add("3d", wide, Shape::D3, [12, 9, 5], "textureLod(t, p.xyz, 0.0)", same);
    // At corners, a direction may hit another texel of a different face.
    let faces: &dyn Fn(&mut Texture) = &|t| t.points = Coordinates::Directions;
    add("cube", wide, Shape::Cube, [16, 16, 1], "textureLod(t, p.xyz, 0.0)", faces);
    add("cube_array", wide, Shape::CubeArray, [16, 16, 1], "textureLod(t, p, 0.0)", faces);
    let nearest = "textureLod(t, p.xy, 0.0)";
    add("nearest", wide, d2, size, nearest, &|t| {
        t.sampler.mag = Filter::NEAREST;
        t.points = Coordinates::Inside;
    });
    add("offset", wide, d2, size, "textureLodOffset(t, p.xy, 0.0, ivec2(7, -8))", same);
    let many = |t: &mut Texture| {
        t.image = t.image.mipmapped();
        // Between levels, lavapipe's weights have other steps.
        t.rule = Rule::Mostly { abs: 1e-5, permille: 60.0 };
        t.q = [[-1.0, 6.0]; 4];
    };
    let (square, lod) = ([64, 64, 1], "textureLod(t, p.xy, q.x)");
    add("levels", wide, d2, square, lod, &many);
    add("levels_odd", wide, d2, [50, 37, 1], lod, &many);
    add("levels_bias", wide, d2, square, lod, &|t| {
        many(t);
        t.sampler.bias = 1.5;
    });
    add("levels_clamped", wide, d2, square, lod, &|t| {
        many(t);
        t.sampler.lod = [1.25, 3.5];
    });
    let near = "textureLod(t, p.xy, floor(q.x) + fract(q.x) * 0.8 - 0.4)";
    add("levels_nearest", wide, d2, square, near, &|t| {
        many(t);
        t.sampler.mip = vk::SamplerMipmapMode::NEAREST;
    });
    // If filters differ, all points use the same one: otherwise lavapipe includes texels with zero weight.
    for (name, lod) in [("magnified", "-0.5"), ("minified", "2.0")] {
        let expr = format!("textureLod(t, p.xy, {lod})");
        add(&format!("levels_{name}"), wide, d2, square, &expr, &|t| {
            many(t);
            t.sampler.mag = Filter::NEAREST;
        });
    }
    let gradient = "textureGrad(t, p.xy, vec2(exp2(q.x) / 64.0, 0.0), vec2(0.0, exp2(q.x) / 64.0))";
    add("gradient", wide, d2, square, gradient, &|t| {
        many(t);
        // Lavapipe approximates the logarithm.
        t.rule = Rule::Mostly { abs: 1e-5, permille: 100.0 };
    });
    cases.extend(modes.map(|(name, mode)| reduced_exactly(name, mode)));
    cases
}

/// Each sample lies between four texels that the CPU knows.
fn reduced_exactly(name: &str, mode: vk::SamplerReductionMode) -> Case {
    let expr = "textureLod(t, p.xy + 0.5 / vec2(16, 12), 0.0)";
    let mut t = Texture::new(named("R32_SFLOAT"), Shape::D2, [16, 12, 1], expr);
    t.sampler = SamplerSpec::new(Filter::LINEAR, Wrap::REPEAT);
    t.sampler.reduction = mode;
    let shader = t.shader();
    Case::new(format!("reduction/cpu_{name}"), expr, vec![shader], move |bench| {
        let (p, q) = (t.p(), t.q());
        let texels = levels_of(&t.format, &t.image, 103);
        let at = |x: i32, y: i32| {
            let k = 4 * (y.rem_euclid(12) * 16 + x.rem_euclid(16)) as usize;
            f32::from_le_bytes([0, 1, 2, 3].map(|b| texels[0][k + b]))
        };
        let expected: Vec<f32> = p
            .iter()
            .map(|p| {
                let (x, y) = ((p[0] * 16.0).floor() as i32, (p[1] * 12.0).floor() as i32);
                let four = [at(x, y), at(x + 1, y), at(x, y + 1), at(x + 1, y + 1)];
                let pick = if mode == vk::SamplerReductionMode::MIN { f32::min } else { f32::max };
                four.into_iter().reduce(pick).unwrap_or(0.0)
            })
            .collect();
        let got: Vec<f32> =
            t.run(bench, &p, &q, &texels)?.iter().map(|r| f32::from_bits(r[0])).collect();
        Ok(vec![with_points(Output::cpu("r", &got, &expected, Rule::Bits), &p, &q)])
    })
    .without_honeykrisp()
}

/// Views: swizzles, ranges, other formats, slices; samplers of other kinds.
fn views() -> Vec<Case> {
    let mut cases = Vec::new();
    let format = named("R8G8B8A8_UNORM");
    use vk::ComponentSwizzle as S;
    for (name, swizzle) in [
        ("bgra", [S::B, S::G, S::R, S::A]),
        ("01ra", [S::ZERO, S::ONE, S::R, S::A]),
        ("rrr1", [S::R, S::R, S::R, S::ONE]),
    ] {
        let mut t = Texture::new(format, Shape::D2, [16, 12, 1], "textureLod(t, p.xy, 0.0)");
        t.rule = fetch_rule(&format);
        t.view = Some(ViewSpec { swizzle, ..ViewSpec::whole(&t.image) });
        cases.push(t.case(format!("view/swizzle_{name}"), "components through a view"));
    }
    let mut t = Texture::new(format, Shape::D2Array, [16, 12, 1], "textureLod(t, p.xyz, 0.0)");
    t.rule = fetch_rule(&format);
    t.image = t.image.layers(8);
    t.view = Some(ViewSpec { layers: [3, 2], ..ViewSpec::whole(&t.image) });
    cases.push(t.case("view/layers", "two layers of eight"));
    let mut t = Texture::new(format, Shape::D2, [16, 12, 1], "textureLod(t, p.xy, 0.0)");
    t.rule = filter_rule(&format, 2);
    t.points = Coordinates::Anywhere;
    t.sampler = SamplerSpec::new(Filter::LINEAR, Wrap::CLAMP_TO_EDGE);
    t.sampler.mip = vk::SamplerMipmapMode::NEAREST;
    t.sampler.lod = [0.0, 0.0];
    t.sampler.unnormalized = true;
    t.expr = "textureLod(t, p.xy * 8.0, 0.0)".into();
    cases.push(t.case("view/unnormalized", "coordinates in texels"));
    let mut t = Texture::new(format, Shape::Cube, [8, 8, 1], "textureLod(t, p.xyz, 0.0)");
    t.rule = filter_rule(&format, 2);
    t.points = Coordinates::Directions;
    t.sampler = SamplerSpec::new(Filter::LINEAR, Wrap::CLAMP_TO_EDGE);
    t.sampler.seamless = false;
    cases.push(t.case("view/cube_with_seams", "faces do not share texels"));
    cases
}

pub(super) fn cases() -> Vec<Case> {
    [
        fetches(),
        shapes(),
        filters(),
        dimensions(),
        levels(),
        gradients(),
        queries(),
        gathers(),
        offsets(),
        shadows(),
        borders(),
        reductions(),
        views(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
