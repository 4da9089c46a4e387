//! Samples of samplers that reduce, against minima and maxima of texels that the test picks itself.

use tepui_ir::interp::{Filter, Group, ImageData, Memory, SamplerData, Slot, Wrap, run};
use tepui_ir::{Attrs, Inst, NumKind, Op, Shader, Value};
use tepui_ir_gen::Rng;
use tepui_passes::image_op::ImageOp;
use tepui_passes::reductions::{Reduction, SamplerState};
use tepui_passes::rewrite::{self, Emit, Lowering, Step};

const LANES: u32 = 32;
/// Words of a lane: two coordinates and a level, then the result.
const WORDS: u32 = 8;
const IMAGE: Slot = (0, 1, 0);

/// A sampler, and what it makes of the texels with a weight.
struct Case {
    size: [u32; 2],
    levels: u32,
    sampler: SamplerData,
    maximum: bool,
    kind: NumKind,
}

impl SamplerState for &Case {
    fn first_level(&self, e: &mut Emit) -> Value {
        e.u32(0)
    }

    fn last_level(&self, e: &mut Emit) -> Value {
        e.u32(self.levels - 1)
    }

    fn texels(&self, e: &mut Emit, axis: usize) -> Value {
        e.u32(self.size[axis])
    }

    fn level_limits(&self, e: &mut Emit) -> [Value; 2] {
        [self.sampler.min_lod, self.sampler.max_lod].map(|limit| e.f32(limit))
    }

    fn filters(&self, e: &mut Emit) -> [Value; 2] {
        [self.sampler.mag, self.sampler.min].map(|f| e.u32(u32::from(f == Filter::Linear)))
    }

    fn interpolates_levels(&self, e: &mut Emit) -> Value {
        e.konst(tepui_ir::Type::B1, u64::from(self.sampler.mip == Filter::Linear))
    }

    fn is_normalised(&self, e: &mut Emit) -> Value {
        e.konst(tepui_ir::Type::B1, u64::from(!self.sampler.unnormalized))
    }

    fn is_seamless(&self, e: &mut Emit) -> Value {
        e.konst(tepui_ir::Type::B1, 1)
    }

    fn wraps_to_border(&self, e: &mut Emit, axis: usize) -> Value {
        e.konst(tepui_ir::Type::B1, u64::from(self.sampler.wrap[axis] == Wrap::Border))
    }

    /// The second sampler has a border of 0.
    fn border(&self, e: &mut Emit) -> Option<(Vec<Value>, Value)> {
        let colour = self.sampler.border.map(|word| e.u32(word));
        Some((colour.to_vec(), e.konst(tepui_ir::Type::B1, 1)))
    }
}

struct Pass<'a>(&'a Case);

impl Lowering for Pass<'_> {
    fn wants(&self, s: &Shader, i: Inst) -> bool {
        s.insts[i].op == Op::TexSampleLod
    }

    fn inst(&mut self, e: &mut Emit, i: Inst) -> Step {
        let Attrs::Image(image) = e.s.insts[i].attrs else { return Step::Keep };
        let ty = e.ty(e.s.result(i));
        let sample = ImageOp::new(e, i, image);
        // The interpreter's sampler with the nearest texel of any level.
        let reduction = Reduction { sample: &sample, second: sample.args[1], ty, state: self.0 };
        let maximum = e.konst(tepui_ir::Type::B1, u64::from(self.0.maximum));
        Step::Replace(vec![reduction.emit(e, maximum)])
    }
}

fn shader(kind: NumKind) -> Shader {
    let kind = match kind {
        NumKind::Float => "float",
        NumKind::Sint => "sint",
        NumKind::Uint => "uint",
    };
    let text = format!(
        "shader compute \"main\" {{
  workgroup_size {LANES} 1 1
  resource storage_buffer set 0 binding 0 count 1 2d float \"\"
  resource texture set 0 binding 1 count 1 2d {kind} \"\"
  resource sampler set 0 binding 2 count 1 2d float \"\"
  body {{
    %0:b32 = const[0x0]
    %1:b64 = descriptor[@r0] %0
    %2:b64 = descriptor[@r1] %0
    %3:b64 = descriptor[@r2] %0
    %4:b32 = load_builtin[local_invocation_index]
    %5:b32 = const[0x5]
    %6:b32 = ishl %4, %5
    %7:b32x2 = load_buffer[align 4] %1, %6
    %8:b32 = load_buffer[align 4 offset 8] %1, %6
    %9:b32x4 = tex_sample_lod[2d {kind} lod] %2, %3, %7, %8
    store_buffer[align 4 offset 16] %1, %6, %9
    yield
  }}
}}"
    );
    let s = tepui_ir::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    tepui_ir::validate(&s).unwrap_or_else(|e| panic!("{e}\n{s}"));
    s
}

fn case(rng: &mut Rng) -> Case {
    let filter = |rng: &mut Rng| [Filter::Nearest, Filter::Linear][rng.below(2)];
    let wraps = [Wrap::Clamp, Wrap::Repeat, Wrap::Border];
    let kind = [NumKind::Float, NumKind::Sint, NumKind::Uint][rng.below(3)];
    let wrap = [(); 3].map(|()| wraps[rng.below(3)]);
    let sampler = SamplerData {
        // Integers are not interpolated.
        mag: if kind == NumKind::Float { filter(rng) } else { Filter::Nearest },
        min: if kind == NumKind::Float { filter(rng) } else { Filter::Nearest },
        mip: filter(rng),
        wrap,
        min_lod: rng.below(3) as f32 / 2.0,
        max_lod: 2.0 + rng.below(3) as f32 / 2.0,
        border: [5; 4].map(|n: u32| if kind == NumKind::Float { (n as f32).to_bits() } else { n }),
        ..SamplerData::default()
    };
    let size = [1 + rng.below(9) as u32, 1 + rng.below(9) as u32];
    Case { size, levels: 1 + rng.below(4) as u32, sampler, maximum: rng.below(2) == 1, kind }
}

/// Numbers in steps of 1/256, to the nearest.
fn to_steps(x: f32) -> f32 {
    (x.mul_add(256.0, 0.5)).floor() / 256.0
}

impl Case {
    /// Bits of a texel along an axis; `None` for the border.
    fn wrapped(&self, axis: usize, at: i64, size: i64) -> Option<i64> {
        match self.sampler.wrap[axis] {
            Wrap::Repeat => Some(at.rem_euclid(size)),
            Wrap::Border => (0..size).contains(&at).then_some(at),
            _ => Some(at.clamp(0, size - 1)),
        }
    }

    fn key(&self, bits: u64) -> f64 {
        match self.kind {
            NumKind::Float => f64::from(f32::from_bits(bits as u32)),
            NumKind::Sint => f64::from(bits as u32 as i32),
            NumKind::Uint => f64::from(bits as u32),
        }
    }

    /// The minimum or maximum of each component.
    fn expected(&self, image: &ImageData, at: [f32; 2], lod: f32) -> [u32; 4] {
        let s = &self.sampler;
        let lod = lod.clamp(s.min_lod, s.max_lod);
        let filter = if lod <= 0.0 { s.mag } else { s.min };
        let lod = to_steps(lod.clamp(0.0, self.levels as f32 - 1.0));
        let levels = match s.mip {
            Filter::Linear => vec![lod.floor(), lod.ceil()],
            Filter::Nearest => vec![((lod + 0.5).ceil() - 1.0).max(0.0)],
        };
        let mut texels = Vec::new();
        for level in levels {
            let level = level as usize;
            let size = image.level_size(level);
            let axis = |k: usize| {
                let n = size[k] as f32;
                match filter {
                    Filter::Nearest => vec![to_steps(at[k] * n).floor()],
                    Filter::Linear => {
                        let x = to_steps(at[k].mul_add(n, -0.5));
                        vec![x.floor(), x.ceil()]
                    }
                }
            };
            for y in axis(1) {
                for x in axis(0) {
                    let x = self.wrapped(0, x as i64, i64::from(size[0]));
                    let y = self.wrapped(1, y as i64, i64::from(size[1]));
                    texels.push(match (x, y) {
                        (Some(x), Some(y)) => {
                            let at = image.index(level, [x, y, 0], 0, 0).expect("inside");
                            image.levels[level][at]
                        }
                        _ => s.border.map(u64::from),
                    });
                }
            }
        }
        std::array::from_fn(|c| {
            let order = |a: &u64, b: &u64| self.key(*a).total_cmp(&self.key(*b));
            let all = texels.iter().map(|t| t[c]);
            let it = if self.maximum { all.max_by(order) } else { all.min_by(order) };
            it.expect("a texel") as u32
        })
    }

    fn image(&self, rng: &mut Rng) -> ImageData {
        let mut image = ImageData::new([self.size[0], self.size[1], 1], 1, self.levels);
        for component in image.levels.iter_mut().flatten().flatten() {
            let n = rng.below(100) as i32 - 50;
            *component = match self.kind {
                NumKind::Float => u64::from((n as f32 / 4.0).to_bits()),
                _ => u64::from(n as u32),
            };
        }
        image
    }
}

/// Coordinates around the image and levels around its last, in steps that put many on texels' edges and in their middles.
fn inputs(rng: &mut Rng) -> Vec<u32> {
    let mut words = vec![0; (LANES * WORDS) as usize];
    for lane in words.chunks_mut(WORDS as usize) {
        for at in &mut lane[..2] {
            *at = ((rng.below(97) as f32 - 24.0) / 48.0).to_bits();
        }
        lane[2] = ((rng.below(41) as f32 - 8.0) / 8.0).to_bits();
    }
    words
}

#[test]
fn reductions_give_minima_and_maxima_of_texels_with_a_weight() {
    for seed in 0..300 {
        let mut rng = Rng::new(seed);
        let case = case(&mut rng);
        let mut s = shader(case.kind);
        assert!(rewrite::run(&mut s, &mut Pass(&case)));
        tepui_ir::validate(&s).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{s}"));
        let (image, words) = (case.image(&mut rng), inputs(&mut rng));
        let mut m = Memory::default();
        m.set_words(0, 0, &words);
        m.images.insert(IMAGE, image.clone());
        let wrap = case.sampler.wrap;
        m.samplers.insert((0, 2, 0), SamplerData { wrap, ..SamplerData::default() });
        run(&s, &Group::workgroup(&s, [0; 3], [1; 3]), &mut m, 1 << 20)
            .unwrap_or_else(|e| panic!("seed {seed}: {e}\n{s}"));
        for (lane, got) in m.words(0, 0).chunks(WORDS as usize).enumerate() {
            let [x, y, lod] = [0, 1, 2].map(|k| f32::from_bits(got[k]));
            let want = case.expected(&image, [x, y], lod);
            assert_eq!(got[4..], want, "seed {seed} lane {lane}: {x} {y} level {lod}\n{s}");
        }
    }
}
