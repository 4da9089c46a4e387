//! Every image operation of Vulkan 1.3, as compute shaders with their memory.
//!
//! A [`SampleTest`] is a module for one opcode on one kind of image; inside of it, every set of
//! optional operands that SPIR-V and Vulkan allow there is a form of its own, whose result goes to
//! words of its own of the output. [`all`] is the table: a combination that is left out of it is
//! one that the specifications do not have.
//!
//! Texels have 32 bits, and coordinates lie between the middles and edges of texels of every level,
//! so that with nearest filters every executor must read the same texel. With linear ones
//! ([`Filtering`]) weights are multiples of 1/16 and texels multiples of 1/64, so that no sum is
//! rounded. What is compared are bits.

mod module;
mod storage;
mod table;

use rspirv::spirv::Word;
use tepui_ir::interp::{Compare, Filter, ImageData, Memory, SamplerData, Wrap};
use tepui_ir::{Dim, ImageFormat, NumKind};
use tepui_ir_gen::Rng;

/// Lanes of the workgroup: eight columns, four rows.
pub const LANES: u32 = 32;
/// Words of inputs of a lane.
const INPUTS: u32 = 32;
/// Words of a form's result of a lane: a texel, the residency code and whether it means that all
/// was there.
const RESULTS: u32 = 6;

/// A module with its memory.
pub struct SampleTest {
    /// Opcode and image.
    pub name: String,
    /// The module; its entry point is `main`.
    pub spirv: Vec<Word>,
    /// Inputs at binding 0, results at binding 1, the image at binding 2, its sampler at binding 3.
    pub start: Memory,
    /// Derivatives count, between lanes of squares.
    pub derivatives: bool,
    /// A sampled image is read with residency codes.
    pub sampled_residency: bool,
    /// Results are computed, and not only copied.
    pub loose: bool,
    /// A driver's copies can fill the image.
    pub fillable: bool,
}

/// A kind of image.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Shape {
    dim: Dim,
    array: bool,
    ms: bool,
}

const fn shape(dim: Dim, array: bool, ms: bool) -> Shape {
    Shape { dim, array, ms }
}

/// Image shapes that Vulkan has, without input attachments.
const SHAPES: [Shape; 10] = [
    shape(Dim::D1, false, false),
    shape(Dim::D1, true, false),
    shape(Dim::D2, false, false),
    shape(Dim::D2, true, false),
    shape(Dim::D3, false, false),
    shape(Dim::Cube, false, false),
    shape(Dim::Cube, true, false),
    shape(Dim::D2, false, true),
    shape(Dim::D2, true, true),
    shape(Dim::Buffer, false, false),
];

/// The filters of a sampler.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Filtering {
    /// Nearest everywhere.
    Nearest,
    /// Linear within a level; the nearest level.
    Linear,
    /// Linear within and between levels. Levels of detail are multiples of 1/4: only explicit ones
    /// can be, since how exactly a level is computed from derivatives is open.
    Trilinear,
}

impl Filtering {
    /// Suffix of a module's name.
    fn suffix(self) -> &'static str {
        match self {
            Filtering::Nearest => "",
            Filtering::Linear => " linear",
            Filtering::Trilinear => " trilinear",
        }
    }

    fn sampler(self) -> SamplerData {
        let linear = |on| if on { Filter::Linear } else { Filter::Nearest };
        let within = linear(self != Filtering::Nearest);
        let mip = linear(self == Filtering::Trilinear);
        SamplerData { mag: within, min: within, mip, ..SamplerData::default() }
    }
}

impl Shape {
    fn name(self) -> String {
        let array = if self.array { " array" } else { "" };
        let ms = if self.ms { " ms" } else { "" };
        format!("{}{array}{ms}", self.dim)
    }

    /// Width, height and depth, and layers: powers of two, and room for a texel of each lane.
    fn extent(self) -> ([u32; 3], u32) {
        let size = match self.dim {
            Dim::D1 => [32, 1, 1],
            Dim::Buffer => [64, 1, 1],
            Dim::D3 => [8, 4, 4],
            Dim::Cube => [8, 8, 1],
            Dim::D2 | Dim::Subpass => [16, 8, 1],
        };
        let layers = match (self.dim, self.array) {
            (Dim::Cube, true) => 12,
            (Dim::Cube, false) => 6,
            (_, true) => 3,
            (_, false) => 1,
        };
        (size, layers)
    }

    fn samples(self) -> u32 {
        if self.ms { 4 } else { 1 }
    }

    /// Axes that have an offset or a face's coordinate.
    fn axes(self) -> usize {
        usize::from(self.dim.coords())
    }
}

/// Every lookup.
#[must_use]
pub fn all() -> Vec<SampleTest> {
    let mut all = table::sampled();
    all.extend(storage::all());
    all
}

/// A float between two grid lines of every level: a texel of level 0 and a quarter or three
/// quarters.
fn texel(rng: &mut Rng, size: u32) -> f32 {
    let n = rng.below(2 * size as usize) as f32 - (size / 2) as f32;
    (n + if rng.below(2) == 0 { 0.25 } else { 0.75 }) / size as f32
}

/// Word offsets of a lane's inputs.
mod input {
    /// Coordinates, on a quad's lanes one, two or four texels apart.
    pub const AT: u32 = 0;
    pub const LAYER: u32 = 3;
    pub const DREF: u32 = 4;
    pub const LOD: u32 = 5;
    /// Derivatives to the right, then down.
    pub const GRADIENTS: u32 = 6;
    /// A power of two.
    pub const DIVISOR: u32 = 12;
    pub const LEVEL: u32 = 13;
    pub const SAMPLE: u32 = 14;
    /// Integer coordinates, layer last.
    pub const PLACE: u32 = 15;
    pub const OFFSET: u32 = 19;
    /// A texel of the lane's own, layer or face last.
    pub const OWN: u32 = 22;
    /// A sample of it.
    pub const OWN_SAMPLE: u32 = 26;
    /// Four components.
    pub const TEXEL: u32 = 27;
}

/// The inputs of all lanes.
fn inputs(
    rng: &mut Rng,
    s: Shape,
    format: ImageFormat,
    kind: NumKind,
    levels: u32,
    filtering: Filtering,
) -> Vec<u32> {
    let (size, layers) = s.extent();
    let mut out = vec![0; (LANES * INPUTS) as usize];
    let quads: Vec<([f32; 3], u32, usize)> = (0..LANES / 4)
        .map(|_| (size.map(|n| texel(rng, n)), 1 << rng.below(3), rng.below(6)))
        .collect();
    for lane in 0..LANES {
        let words = &mut out[(lane * INPUTS) as usize..][..INPUTS as usize];
        let mut put = |at: u32, x: u32| words[at as usize] = x;
        let (column, row) = (lane % 8, lane / 8);
        let (base, step, face) = quads[(column / 2 + row / 2 * 4) as usize];
        let moved = [
            base[0] + (column % 2 * step) as f32 / size[0] as f32,
            base[1] + (row % 2 * step) as f32 / size[1] as f32,
            base[2],
        ];
        let at = match s.dim {
            // The directions of a quad meet one face, in its middle: a texel is an eighth of it.
            Dim::Cube => {
                let on =
                    [moved[0], moved[1]].map(|x| x.rem_euclid(0.25) + 0.25).map(|x| 2.0 * x - 1.0);
                let major = if face % 2 == 0 { 1.0 } else { -1.0 };
                let mut at = [on[0], on[1], 0.0];
                at.swap(2, face / 2);
                at[face / 2] = major;
                at
            }
            _ => moved,
        };
        for (k, x) in at.into_iter().enumerate() {
            put(input::AT + k as u32, x.to_bits());
        }
        put(input::LAYER, (rng.below(6) as f32 - 0.75).to_bits());
        put(input::DREF, (rng.below(65) as f32 / 64.0).to_bits());
        let lod = match filtering {
            Filtering::Trilinear => rng.below(9) as f32 / 4.0,
            _ => rng.below(5) as f32 - 0.8,
        };
        put(input::LOD, lod.to_bits());
        for k in 0..6usize {
            // A little more than a power of two of texels in one direction, less in the other.
            let longest = f32::from(1u8 << rng.below(3)) * if k < 3 { 1.1 } else { 0.3 };
            let alone = k % 3 == if s.dim == Dim::Cube { (face / 2 + 1) % 3 } else { 0 };
            let x = if alone { longest / size[0] as f32 } else { 0.0 };
            let x = if s.dim == Dim::Cube { 2.0 * x } else { x };
            put(input::GRADIENTS + k as u32, x.to_bits());
        }
        put(input::DIVISOR, [0.5f32, 1.0, 2.0, 4.0][rng.below(4)].to_bits());
        put(input::LEVEL, rng.below(levels as usize) as u32);
        put(input::SAMPLE, rng.below(s.samples() as usize) as u32);
        let mut place = input::PLACE;
        for n in size.into_iter().take(usize::from(s.dim.size_comps())) {
            put(place, rng.below(n as usize) as u32);
            place += 1;
        }
        put(place, rng.below(layers as usize) as u32);
        for k in 0..3 {
            put(input::OFFSET + k, (rng.below(16) as i32 - 8) as u32);
        }
        let mut own = input::OWN;
        let mut rest = lane;
        put(input::OWN_SAMPLE, rest % s.samples());
        rest /= s.samples();
        for n in size.into_iter().take(usize::from(s.dim.size_comps())) {
            put(own, rest % n);
            rest /= n;
            own += 1;
        }
        put(own, rest);
        for (k, x) in storage::texel(rng, format, kind).into_iter().enumerate() {
            put(input::TEXEL + k as u32, x as u32);
        }
    }
    out
}

/// Memory for a module with `forms` forms.
fn memory(
    seed: u64,
    s: Shape,
    (format, kind): (ImageFormat, NumKind),
    levels: u32,
    forms: u32,
    compare: Option<Compare>,
    filtering: Filtering,
) -> Memory {
    let mut rng = Rng::new(seed);
    let mut m = Memory::default();
    m.set_words(0, 0, &inputs(&mut rng, s, format, kind, levels, filtering));
    m.buffers.insert((0, 1, 0), vec![0; (forms * LANES * RESULTS * 4) as usize]);
    let (size, layers) = s.extent();
    let mut image = ImageData::multisampled(size, layers, levels, s.samples());
    image.format = format;
    for t in image.levels.iter_mut().flatten() {
        *t = storage::texel(&mut rng, format, kind);
    }
    m.images.insert((0, 2, 0), image);
    let wrap = [Wrap::Repeat, Wrap::Mirror, Wrap::Clamp];
    m.samplers.insert((0, 3, 0), SamplerData { wrap, compare, ..filtering.sampler() });
    m
}
