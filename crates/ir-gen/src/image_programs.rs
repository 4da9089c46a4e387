//! Random shaders of image instructions, as text of the IR.
//!
//! Each lane reads 16 words of inputs, makes one lookup after the other from them, and stores all
//! results in words of its own.

use std::fmt::Write as _;

use tepui_ir::interp::{Compare, Filter, SamplerData, Wrap};
use tepui_ir::{Dim, ImageFormat, NumKind};

use crate::Rng;

/// Lanes of the workgroup of most tests.
pub const LANES: u32 = 32;
/// Columns of the workgroup.
pub const WIDTH: u32 = 8;
/// Words of inputs of a lane.
pub const INPUTS: u32 = 16;
/// Words of results of a lane.
pub const RESULTS: u32 = 64;
/// Elements of the bindings of images and samplers.
pub const ELEMENTS: u32 = 3;

/// The image that a program accesses.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Dimensionality.
    pub dim: Dim,
    /// Whether there are layers.
    pub array: bool,
    /// Whether there are samples.
    pub ms: bool,
    /// The kind of texels.
    pub kind: NumKind,
    /// Whether it is a storage image.
    pub storage: bool,
    /// The format of texels.
    pub format: ImageFormat,
    /// Width, height and depth in texels.
    pub size: [u32; 3],
    /// Layers; six for each cube.
    pub layers: u32,
    /// Levels.
    pub levels: u32,
    /// Samples of a texel.
    pub samples: u32,
}

impl Shape {
    /// The type of texels and image in attributes.
    fn words(&self) -> String {
        let mut s = format!("{} {}", self.dim, self.kind);
        if self.array {
            s += " array";
        }
        if self.ms {
            s += " ms";
        }
        if self.storage {
            let _ = write!(s, " format {}", self.format);
        }
        s
    }

    fn coords(&self) -> u32 {
        u32::from(self.dim.coords())
    }
}

/// A program with its inputs.
pub struct Program {
    /// The shader in IR.
    pub text: String,
    /// Its image.
    pub shape: Shape,
    /// Its sampler.
    pub sampler: SamplerData,
    /// Input words by lane.
    pub inputs: Vec<u32>,
    /// Whether results are those of filters, which are exact to 8 bits.
    pub filtered: bool,
    /// Whether the GPU reads texels outside of images as zeros in channels that the format lacks, too: alpha is then 0 instead of 1,
    /// which `robustImageAccess` allows.
    pub zeros_outside: bool,
}

struct Writer<'a> {
    out: String,
    next: u32,
    rng: &'a mut Rng,
    results: u32,
    /// Values of the inputs: 0 to 7 floats, 8 to 15 integers.
    inputs: Vec<u32>,
    base: u32,
}

impl Writer<'_> {
    fn v(&mut self, ty: &str, text: &str) -> u32 {
        let n = self.next;
        self.next += 1;
        let _ = writeln!(self.out, "    %{n}:{ty} = {text}");
        n
    }

    fn konst(&mut self, x: u32) -> u32 {
        self.v("b32", &format!("const[{x:#x}]"))
    }

    fn float(&mut self, x: f32) -> u32 {
        self.konst(x.to_bits())
    }

    fn vec(&mut self, parts: &[u32]) -> u32 {
        if let [one] = parts {
            return *one;
        }
        let list: Vec<String> = parts.iter().map(|p| format!("%{p}")).collect();
        self.v(&format!("b32x{}", parts.len()), &format!("vec {}", list.join(", ")))
    }

    fn any_float(&mut self) -> u32 {
        let k = self.rng.below(8);
        self.inputs[k]
    }

    /// An integer from `-1` to `n`, mostly inside.
    fn index(&mut self, n: u32) -> u32 {
        let k = 8 + self.rng.below(8);
        let x = self.inputs[k];
        let m = self.konst(n + 1);
        let r = self.v("b32", &format!("umod %{x}, %{m}"));
        if self.rng.below(4) == 0 {
            let one = self.konst(1);
            return self.v("b32", &format!("isub %{r}, %{one}"));
        }
        r
    }

    fn store(&mut self, v: u32, comps: u32) {
        let at = self.results * 4;
        self.results += comps;
        let _ =
            writeln!(self.out, "    store_buffer[align 4 offset {at}] %1, %{}, %{v}", self.base);
    }
}

fn pick<T: Copy>(rng: &mut Rng, list: &[T]) -> T {
    list[rng.below(list.len())]
}

const STORAGE: &[ImageFormat] = &[
    ImageFormat::Rgba32f,
    ImageFormat::Rgba16f,
    ImageFormat::R32f,
    ImageFormat::Rgba8,
    ImageFormat::Rgba8Snorm,
    ImageFormat::Rg32f,
    ImageFormat::Rg16f,
    ImageFormat::R11fG11fB10f,
    ImageFormat::R16f,
    ImageFormat::Rgba16,
    ImageFormat::Rgb10A2,
    ImageFormat::Rg16,
    ImageFormat::Rg8,
    ImageFormat::R16,
    ImageFormat::R8,
    ImageFormat::Rgba16Snorm,
    ImageFormat::Rg16Snorm,
    ImageFormat::Rg8Snorm,
    ImageFormat::R16Snorm,
    ImageFormat::R8Snorm,
    ImageFormat::Rgba32i,
    ImageFormat::Rgba16i,
    ImageFormat::Rgba8i,
    ImageFormat::R32i,
    ImageFormat::Rg32i,
    ImageFormat::Rg16i,
    ImageFormat::Rg8i,
    ImageFormat::R16i,
    ImageFormat::R8i,
    ImageFormat::Rgba32ui,
    ImageFormat::Rgba16ui,
    ImageFormat::Rgba8ui,
    ImageFormat::R32ui,
    ImageFormat::Rgb10A2ui,
    ImageFormat::Rg32ui,
    ImageFormat::Rg16ui,
    ImageFormat::Rg8ui,
    ImageFormat::R16ui,
    ImageFormat::R8ui,
];

/// The kind of a format's texels.
#[must_use]
pub fn kind_of(f: ImageFormat) -> NumKind {
    let name = f.name();
    if name.ends_with("ui") {
        NumKind::Uint
    } else if name.ends_with('i') {
        NumKind::Sint
    } else {
        NumKind::Float
    }
}

fn side(rng: &mut Rng) -> u32 {
    pick(rng, &[1, 2, 3, 4, 7, 8, 16, 19, 33, 64])
}

fn shape(rng: &mut Rng, storage: bool) -> Shape {
    let dim = pick(rng, &[Dim::D1, Dim::D2, Dim::D2, Dim::D3, Dim::Cube, Dim::Buffer]);
    let ms = dim == Dim::D2 && rng.below(4) == 0;
    let array = !matches!(dim, Dim::D3 | Dim::Buffer) && rng.below(2) == 0;
    let mut format = pick(rng, STORAGE);
    if !storage && !ms && dim != Dim::Buffer && rng.below(2) == 0 {
        // Filters are for floats.
        format = pick(rng, &STORAGE[..20]);
    }
    let a = side(rng);
    let size = match dim {
        Dim::D1 => [a, 1, 1],
        Dim::Buffer => [a * pick(rng, &[1, 5, 40]), 1, 1],
        Dim::D2 | Dim::Subpass => [a, side(rng), 1],
        Dim::D3 => [a.min(16), side(rng).min(16), side(rng).min(16)],
        Dim::Cube => [a, a, 1],
    };
    let count = if array { 1 + rng.below(4) as u32 } else { 1 };
    let full = 32 - size.iter().max().copied().unwrap_or(1).leading_zeros();
    let levels = if storage || ms || dim == Dim::Buffer || rng.below(3) == 0 {
        1
    } else {
        1 + rng.below(full as usize) as u32
    };
    Shape {
        dim,
        array,
        ms,
        kind: kind_of(format),
        storage,
        format,
        size,
        layers: count * if dim == Dim::Cube { 6 } else { 1 },
        levels,
        samples: if ms { pick(rng, &[2, 4]) } else { 1 },
    }
}

fn sampler(rng: &mut Rng, shape: &Shape, compare: bool) -> SamplerData {
    let filters = [Filter::Nearest, Filter::Linear];
    let float = shape.kind == NumKind::Float;
    let filter = |rng: &mut Rng| if float { pick(rng, &filters) } else { Filter::Nearest };
    let wraps = [Wrap::Clamp, Wrap::Repeat, Wrap::Mirror, Wrap::MirrorOnce, Wrap::Border];
    let one = if float { 1f32.to_bits() } else { 1 };
    let f = filter(rng);
    SamplerData {
        mag: f,
        min: if rng.below(3) == 0 { filter(rng) } else { f },
        mip: filter(rng),
        wrap: [0; 3].map(|_: u32| pick(rng, &wraps)),
        min_lod: pick(rng, &[0.0, 0.0, 0.5, 1.0]),
        max_lod: pick(rng, &[14.0, 14.0, 2.0, 3.5]),
        compare: compare.then(|| {
            pick(
                rng,
                &[
                    Compare::Less,
                    Compare::LessOrEqual,
                    Compare::Greater,
                    Compare::GreaterOrEqual,
                    Compare::NotEqual,
                    Compare::Equal,
                    Compare::Always,
                    Compare::Never,
                ],
            )
        }),
        border: pick(rng, &[[0; 4], [0, 0, 0, one], [one; 4]]),
        unnormalized: false,
    }
}

/// The program of a seed; of a storage image, or of a sampled one. Its workgroup has `lanes` lanes; those of programs
/// that store have to execute in lockstep.
#[must_use]
pub fn program(seed: u64, storage: bool, lanes: u32) -> Program {
    let mut rng = Rng::new(seed ^ if storage { 0x5707 } else { 0x5a3b });
    let mut shape = shape(&mut rng, storage);
    let can_sample = !storage && !shape.ms && shape.dim != Dim::Buffer;
    let compare =
        can_sample && shape.kind == NumKind::Float && shape.dim != Dim::D3 && rng.below(4) == 0;
    if compare {
        shape.format = pick(&mut rng, &[ImageFormat::R32f, ImageFormat::R16]);
    }
    let mut sampler_data = sampler(&mut rng, &shape, compare);
    // Results that depend on derivatives jump where levels do.
    let implicit = can_sample && rng.below(3) == 0;
    if implicit && shape.kind == NumKind::Float {
        sampler_data.mip = Filter::Linear;
        sampler_data.min = sampler_data.mag;
    }
    // Quads are squares in x and y, or four lanes in a row.
    let squares = implicit && rng.below(2) == 0;
    let filtered = sampler_data.mag == Filter::Linear
        || sampler_data.min == Filter::Linear
        || sampler_data.mip == Filter::Linear;
    let bases = [0u64; 8].map(|_| rng.below(4096) as u64);
    let mut inputs = Vec::new();
    for lane in 0..lanes {
        for k in 0..INPUTS {
            inputs.push(if k < 8 {
                // Odd multiples of 1/256: coordinates have 8 fraction bits, and none of these is
                // half-way between two such in an image of less than 128 texels. Smooth over quads
                // where derivatives count.
                let n = if implicit {
                    let (x, y, quad) = match squares {
                        true => {
                            (lane % 2, lane / WIDTH % 2, lane % WIDTH / 2 + lane / WIDTH / 2 * 4)
                        }
                        false => (lane % 2, lane / 2 % 2, lane / 4),
                    };
                    let quad = u64::from(quad) * 97;
                    let base = bases[k as usize] + quad;
                    2 * (base + u64::from(x) * (1 + base % 17) + u64::from(y) * (1 + base % 9)) + 1
                } else {
                    2 * rng.below(4096) as u64 + 1
                };
                // Directions have one component of 1 besides these; coordinates on the face are half of
                // them.
                let x = match shape.dim {
                    Dim::Cube => (n % 256) as f32 / 128.0 - 1.0,
                    _ => (n % 512) as f32 / 256.0 - 0.5,
                };
                x.to_bits()
            } else {
                rng.below(1 << 20) as u32
            });
        }
    }
    let kind = match (storage, shape.dim) {
        (true, Dim::Buffer) => "storage_texel_buffer",
        (true, _) => "storage_image",
        (false, Dim::Buffer) => "uniform_texel_buffer",
        (false, _) => "texture",
    };
    let height = lanes / WIDTH;
    let mut head = format!("shader compute \"main\" {{\n  workgroup_size {WIDTH} {height} 1\n");
    if implicit {
        head += if squares { "  derivatives quads\n" } else { "  derivatives linear\n" };
    }
    head += "  resource storage_buffer set 0 binding 0 count 1 2d float \"\"\n";
    head += "  resource storage_buffer set 0 binding 1 count 1 2d float \"\"\n";
    let _ =
        writeln!(head, "  resource {kind} set 0 binding 2 count {ELEMENTS} {} \"\"", shape.words());
    let _ = writeln!(head, "  resource sampler set 0 binding 3 count {ELEMENTS} 2d float \"\"");
    head += "  body {\n";
    let mut w =
        Writer { out: head, next: 0, rng: &mut rng, results: 0, inputs: Vec::new(), base: 0 };
    let zero = w.v("b32", "const[0x0]");
    let out = w.v("b64", &format!("descriptor[@r1] %{zero}"));
    debug_assert_eq!(out, 1);
    let input = w.v("b64", &format!("descriptor[@r0] %{zero}"));
    let lane = w.v("b32", "load_builtin[local_invocation_index]");
    let bytes = w.konst(INPUTS * 4);
    let at = w.v("b32", &format!("imul %{lane}, %{bytes}"));
    for k in 0..INPUTS {
        let v = w.v("b32", &format!("load_buffer[align 4 offset {}] %{input}, %{at}", 4 * k));
        w.inputs.push(v);
    }
    let bytes = w.konst(RESULTS * 4);
    w.base = w.v("b32", &format!("imul %{lane}, %{bytes}"));
    for n in 0..4 {
        // Index of the element: constant, or chosen by each lane or once for all.
        let element = match w.rng.below(4) {
            0 => {
                let x = w.inputs[15];
                let m = w.konst(ELEMENTS);
                w.v("b32", &format!("umod %{x}, %{m}"))
            }
            _ => {
                let e = w.rng.below(ELEMENTS as usize) as u32;
                w.konst(e)
            }
        };
        let image = w.v("b64", &format!("descriptor[@r2] %{element}"));
        let sampler = w.v("b64", &format!("descriptor[@r3] %{element}"));
        if storage {
            image_op(&mut w, &shape, image, lane, n);
        } else if can_sample && w.rng.below(4) > 0 {
            // Gradients give a level to within 1/256, which must not decide between two levels or
            // filters.
            let smooth = shape.kind == NumKind::Float
                && (sampler_data.mip == Filter::Linear || shape.levels == 1)
                && sampler_data.min == sampler_data.mag;
            sample_op(&mut w, &shape, image, sampler, compare, implicit, smooth);
        } else {
            fetch_op(&mut w, &shape, image);
        }
    }
    let mut text = w.out;
    text += "    yield\n  }\n}\n";
    Program { text, shape, sampler: sampler_data, inputs, filtered, zeros_outside: false }
}

/// Integer coordinates of an image.
fn place(w: &mut Writer<'_>, s: &Shape) -> u32 {
    let mut parts: Vec<u32> = match s.dim {
        Dim::Cube => {
            let parts = vec![w.index(s.size[0]), w.index(s.size[1]), w.index(s.layers)];
            return w.vec(&parts);
        }
        d => (0..usize::from(d.coords())).map(|c| w.index(s.size[c])).collect(),
    };
    if s.array {
        parts.push(w.index(s.layers));
    }
    w.vec(&parts)
}

fn query(w: &mut Writer<'_>, s: &Shape, image: u32) {
    let words = s.words();
    let n = u32::from(s.dim.size_comps()) + u32::from(s.array);
    let ty = if n == 1 { "b32".to_owned() } else { format!("b32x{n}") };
    let v = if s.storage || s.ms || s.dim == Dim::Buffer {
        w.v(&ty, &format!("image_size[{words}] %{image}"))
    } else {
        let lod = if w.rng.below(2) == 0 { w.konst(0) } else { w.index(s.levels - 1) };
        // Levels that there are.
        let zero = w.konst(0);
        let lod = w.v("b32", &format!("smax %{lod}, %{zero}"));
        w.v(&ty, &format!("image_size[{words} lod] %{image}, %{lod}"))
    };
    w.store(v, n);
    if s.ms {
        let v = w.v("b32", &format!("image_samples[{words}] %{image}"));
        w.store(v, 1);
    } else if !s.storage && s.dim != Dim::Buffer {
        let v = w.v("b32", &format!("tex_levels[{words}] %{image}"));
        w.store(v, 1);
    }
}

fn fetch_op(w: &mut Writer<'_>, s: &Shape, image: u32) {
    if w.rng.below(4) == 0 || s.dim == Dim::Cube {
        return query(w, s, image);
    }
    let at = place(w, s);
    let (mut words, mut args) = (s.words(), String::new());
    if !s.ms && s.dim != Dim::Buffer {
        words += " lod";
        let lod = if w.rng.below(2) == 0 { w.konst(0) } else { w.index(s.levels) };
        let _ = write!(args, ", %{lod}");
        if w.rng.below(3) == 0 {
            words += " offset";
            let o = offsets(w, s.coords());
            let _ = write!(args, ", %{o}");
        }
    }
    if s.ms {
        words += " sample";
        let n = s.samples;
        let sample = w.index(n - 2);
        let zero = w.konst(0);
        let sample = w.v("b32", &format!("smax %{sample}, %{zero}"));
        let _ = write!(args, ", %{sample}");
    }
    let (n, words) = residency(w, 4, words);
    let v = w.v(&format!("b32x{n}"), &format!("tex_fetch[{words}] %{image}, %{at}{args}"));
    w.store(v, n);
}

/// Components and attributes of a read that may ask for a residency code.
fn residency(w: &mut Writer<'_>, comps: u32, words: String) -> (u32, String) {
    match w.rng.below(4) {
        0 => (comps + 1, words + " residency"),
        _ => (comps, words),
    }
}

fn offsets(w: &mut Writer<'_>, n: u32) -> u32 {
    let dynamic = w.rng.below(3) == 0;
    let parts: Vec<u32> = (0..n)
        .map(|_| {
            let o = w.rng.below(16) as i32 - 8;
            if dynamic {
                let eight = w.konst(8);
                let k = 8 + w.rng.below(8);
                let (x, n) = (w.inputs[k], w.konst(16));
                let x = w.v("b32", &format!("umod %{x}, %{n}"));
                return w.v("b32", &format!("isub %{x}, %{eight}"));
            }
            w.konst(o as u32)
        })
        .collect();
    w.vec(&parts)
}

fn sample_op(
    w: &mut Writer<'_>,
    s: &Shape,
    image: u32,
    sampler: u32,
    compare: bool,
    implicit: bool,
    smooth: bool,
) {
    let coords = s.coords();
    let mut parts: Vec<u32> = (0..coords).map(|_| w.any_float()).collect();
    if s.dim == Dim::Cube {
        let one: f32 = if w.rng.below(2) == 0 { 1.0 } else { -1.0 };
        let axis = w.rng.below(3);
        parts[axis] = w.float(one);
    }
    if implicit && w.rng.below(5) == 0 && s.kind == NumKind::Float {
        let at = w.vec(&parts);
        let words = format!("{} {}{}", s.dim, s.kind, if s.array { " array" } else { "" });
        let v = w.v("b32x2", &format!("tex_query_lod[{words}] %{image}, %{sampler}, %{at}"));
        return w.store(v, 2);
    }
    if s.array {
        let n = w.float(5.0);
        let x = w.any_float();
        parts.push(w.v("b32", &format!("fmul %{x}, %{n}")));
    }
    let at = w.vec(&parts);
    let (mut words, mut args) = (s.words(), String::new());
    let mut put = |words: &mut String, word: &str, list: &[u32]| {
        *words += " ";
        *words += word;
        for v in list {
            let _ = write!(args, ", %{v}");
        }
    };
    if compare {
        let d = w.any_float();
        put(&mut words, "dref", &[d]);
    }
    // The gathered texels of corners of integer cubes are unspecified.
    let four = s.dim == Dim::D2 || (s.dim == Dim::Cube && s.kind == NumKind::Float);
    let gather = four && w.rng.below(4) == 0;
    let can_offset = s.dim != Dim::Cube;
    if gather {
        if !compare {
            words = format!("{} component {}", s.words(), w.rng.below(4));
        }
        if can_offset {
            match w.rng.below(3) {
                0 => {
                    let o = offsets(w, coords);
                    put(&mut words, "offset", &[o]);
                }
                1 => {
                    let list: Vec<u32> = (0..8)
                        .map(|_| {
                            let o = w.rng.below(16) as i32 - 8;
                            w.konst(o as u32)
                        })
                        .collect();
                    let o = w.vec(&list);
                    put(&mut words, "offsets", &[o]);
                }
                _ => {}
            }
        }
        let (n, words) = residency(w, 4, words);
        let text = format!("tex_gather[{words}] %{image}, %{sampler}, %{at}{args}");
        let v = w.v(&format!("b32x{n}"), &text);
        return w.store(v, n);
    }
    let op = if implicit && s.kind == NumKind::Float {
        if w.rng.below(3) == 0 {
            let b = w.float(0.625);
            put(&mut words, "bias", &[b]);
        }
        "tex_sample"
    } else if implicit || !smooth || w.rng.below(3) > 0 {
        let lod = if w.rng.below(2) == 0 {
            let l = (w.rng.below(64) as f32) / 16.0 + 0.031_25;
            w.float(l)
        } else {
            let four = w.float(4.0);
            let x = w.any_float();
            w.v("b32", &format!("fmul %{x}, %{four}"))
        };
        put(&mut words, "lod", &[lod]);
        "tex_sample_lod"
    } else {
        let scale = w.float(0.25);
        let gradient = |w: &mut Writer<'_>| {
            let parts: Vec<u32> = (0..coords)
                .map(|_| {
                    let x = w.any_float();
                    w.v("b32", &format!("fmul %{x}, %{scale}"))
                })
                .collect();
            w.vec(&parts)
        };
        let (dx, dy) = (gradient(w), gradient(w));
        put(&mut words, "grad", &[dx, dy]);
        "tex_sample_lod"
    };
    if can_offset && w.rng.below(3) == 0 {
        let o = offsets(w, coords);
        put(&mut words, "offset", &[o]);
    }
    if (op == "tex_sample" || words.contains("grad")) && w.rng.below(4) == 0 {
        let m = w.float(1.25);
        put(&mut words, "min_lod", &[m]);
    }
    let (n, words) = residency(w, if compare { 1 } else { 4 }, words);
    let ty = if n == 1 { "b32".to_owned() } else { format!("b32x{n}") };
    let v = w.v(&ty, &format!("{op}[{words}] %{image}, %{sampler}, %{at}{args}"));
    w.store(v, n);
}

/// Loads, stores, atomics. Each lane has a texel of its own for stores; what others load is never
/// stored in the same program.
fn image_op(w: &mut Writer<'_>, s: &Shape, image: u32, lane: u32, n: u32) {
    let words = s.words();
    if n == 0 && w.rng.below(2) == 0 {
        return query(w, s, image);
    }
    let atomic = matches!(s.format, ImageFormat::R32ui | ImageFormat::R32i) && !s.ms;
    if atomic && n > 1 {
        let at = place(w, s);
        // Only operations that do not depend on the order of lanes.
        let op = pick(w.rng, &["add", "umax", "smin", "or", "xor", "and", "umin", "smax"]);
        let x = w.inputs[8 + n as usize];
        let zero = w.konst(0);
        // Results depend on the order: not stored.
        w.v("b32", &format!("image_atomic[{op} {words}] %{image}, %{at}, %{zero}, %{x}"));
        return;
    }
    if n.is_multiple_of(2) {
        let at = place(w, s);
        let (words, extra) = if s.ms {
            let sample = w.konst(1);
            (format!("{words} sample"), format!(", %{sample}"))
        } else {
            (words, String::new())
        };
        let (n, words) = residency(w, 4, words);
        let v = w.v(&format!("b32x{n}"), &format!("image_load[{words}] %{image}, %{at}{extra}"));
        return w.store(v, n);
    }
    // The lane's texel of the image by number; past the end, outside.
    let mut rest = lane;
    let mut parts = Vec::new();
    for c in 0..usize::from(s.dim.size_comps()) {
        let m = w.konst(s.size[c]);
        parts.push(w.v("b32", &format!("umod %{rest}, %{m}")));
        rest = w.v("b32", &format!("udiv %{rest}, %{m}"));
    }
    if s.array || s.dim == Dim::Cube {
        parts.push(rest);
    } else if let Some(last) = parts.last_mut() {
        let m = w.konst(s.size[usize::from(s.dim.size_comps()) - 1]);
        let up = w.v("b32", &format!("imul %{rest}, %{m}"));
        *last = w.v("b32", &format!("iadd %{last}, %{up}"));
    }
    let at = w.vec(&parts);
    let texel: Vec<u32> = (0..4)
        .map(|c| match s.kind {
            NumKind::Float => w.any_float(),
            _ => {
                // Within the range of every format.
                let m = w.konst(if c == 3 { 3 } else { 100 });
                let x = w.inputs[8 + c];
                w.v("b32", &format!("umod %{x}, %{m}"))
            }
        })
        .collect();
    let texel = w.vec(&texel);
    let (words, extra) = if s.ms {
        let n = w.rng.below(s.samples as usize) as u32;
        let sample = w.konst(n);
        (format!("{words} sample"), format!(", %{sample}"))
    } else {
        (words, String::new())
    };
    let _ = writeln!(w.out, "    image_store[{words}] %{image}, %{at}, %{texel}{extra}");
}
