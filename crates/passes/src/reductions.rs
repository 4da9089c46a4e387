//! Samples of samplers that reduce the filtered texels to the minimum or the maximum of each component, for texture units whose
//! filters only average.
//!
//! A loop reads the texels that the filter would give a weight, each with a second sampler that takes the nearest texel of any level, so
//! that address modes, formats and swizzles are the hardware's. Level of detail and filters follow from the state of the first sampler,
//! which the program reads ([`SamplerState`]). Anisotropy is not looked at, which Vulkan leaves to implementations, and cubes with seams
//! are clamped at the edges of their faces.
//! source: Vulkan specification, "Texel Filtering" (minima and maxima are of the texels whose weights are not zero) and
//! "Image Level(s) Selection"

use crate::image_op::ImageOp;
use crate::rewrite::Emit;
use tepui_ir::{Dim, NumKind, Op, TexOperands, Type, Value};

/// Steps of coordinates and levels: `subTexelPrecisionBits` and `mipmapPrecisionBits` are 8.
const STEPS: f32 = 256.0;

/// State of an image and a sampler, as instructions that read it. Words are of 32 bits, conditions of one.
pub trait SamplerState {
    /// First level of the image that the view has.
    fn first_level(&self, e: &mut Emit) -> Value;
    /// Last level of the image that the view has.
    fn last_level(&self, e: &mut Emit) -> Value;
    /// Texels of level 0 of the image along an axis: width, height, depth.
    fn texels(&self, e: &mut Emit, axis: usize) -> Value;
    /// Minimum and maximum of the level of detail, as floats.
    fn level_limits(&self, e: &mut Emit) -> [Value; 2];
    /// Filters of magnified and of minified images: 0 is the nearest texel, all else interpolates.
    fn filters(&self, e: &mut Emit) -> [Value; 2];
    /// Whether the filter between levels interpolates.
    fn interpolates_levels(&self, e: &mut Emit) -> Value;
    /// Whether coordinates are from 0 to 1, instead of counting texels.
    fn is_normalised(&self, e: &mut Emit) -> Value;
    /// Whether the filter goes across the edges of a cube's faces.
    fn is_seamless(&self, e: &mut Emit) -> Value;
    /// Whether coordinates outside along an axis take the border colour.
    fn wraps_to_border(&self, e: &mut Emit, axis: usize) -> Value;
    /// A border colour that the second sampler does not have: its components, and whether the sampler has it. `None` if no sampler has
    /// one.
    fn border(&self, e: &mut Emit) -> Option<(Vec<Value>, Value)>;
}

/// A sample of a sampler that reduces.
pub struct Reduction<'a, S> {
    /// The sample as the first sampler would be asked for it.
    pub sample: &'a ImageOp,
    /// The second sampler: the nearest texel of the nearest level.
    pub second: Value,
    /// Type of the result.
    pub ty: Type,
    /// State of the image and of the first sampler.
    pub state: S,
}

/// Places along the axes of a level.
struct Place {
    /// Coordinates from 0 to 1; from 0 to the size when they are unnormalised.
    at: Vec<Value>,
    /// The direction that a place on a cube's face is of.
    cube: Option<Direction>,
}

/// A texel among those that the filter gives a weight.
struct Texel {
    level: Value,
    /// Sizes of the level, as floats.
    sizes: Vec<Value>,
    /// Bits that choose the farther texel along an axis.
    sides: Value,
    /// Whether the filter takes one texel.
    is_nearest: Value,
    normalised: Value,
}

/// A direction, taken apart.
struct Direction {
    /// The component with the greatest magnitude.
    major: Value,
    /// True if the third component is the major one.
    is_z: Value,
    /// True if the second component is the major one, unless the third is.
    is_y: Value,
}

impl Direction {
    /// The components of a direction as major axis and the two others.
    fn arrange(&self, e: &mut Emit, v: &[Value]) -> [Value; 3] {
        let major = e.select(self.is_y, v[1], v[0]);
        let first = e.select(self.is_y, v[0], v[1]);
        [
            e.select(self.is_z, v[2], major),
            e.select(self.is_z, v[0], first),
            e.select(self.is_z, v[1], v[2]),
        ]
    }

    fn new(e: &mut Emit, v: &[Value]) -> (Direction, Vec<Value>) {
        let abs: Vec<Value> = v.iter().map(|&c| e.op(Op::FAbs, &[c])).collect();
        // z wins over y wins over x.
        let xy = e.op(Op::FMax, &[abs[0], abs[1]]);
        let is_z = e.op(Op::FGe, &[abs[2], xy]);
        let is_y = e.op(Op::FGe, &[abs[1], abs[0]]);
        let mut d = Direction { major: v[0], is_z, is_y };
        let [major, s, t] = d.arrange(e, v);
        d.major = major;
        // Maps -1 … 1 to 0 … 1.
        let magnitude = e.op(Op::FAbs, &[major]);
        let inverse = e.op(Op::FRcp, &[magnitude]);
        let half = e.f32(0.5);
        let scale = e.op(Op::FMul, &[inverse, half]);
        let at = [s, t].map(|c| e.op(Op::FFma, &[c, scale, half])).to_vec();
        (d, at)
    }

    /// The direction of a position on the same face, or next to it. Half a texel beyond an edge is in
    /// the first row of the adjacent face, and no neighbour is more than half a texel off along the
    /// edge.
    fn back(&self, e: &mut Emit, at: &[Value]) -> Vec<Value> {
        let (two, less) = (e.f32(2.0), e.f32(-1.0));
        let sides: Vec<Value> = at.iter().map(|&c| e.op(Op::FFma, &[c, two, less])).collect();
        let one = e.f32(1.0);
        let zero = e.f32(0.0);
        let negative = e.op(Op::FLt, &[self.major, zero]);
        let major = e.select(negative, less, one);
        // The inverse of `arrange`.
        let y = e.select(self.is_y, major, sides[0]);
        let x = e.select(self.is_y, sides[0], major);
        vec![
            e.select(self.is_z, sides[0], x),
            e.select(self.is_z, sides[1], y),
            e.select(self.is_z, major, sides[1]),
        ]
    }
}

/// The nearest step below or at a number.
fn to_steps(e: &mut Emit, v: Value) -> Value {
    let (steps, half, back) = (e.f32(STEPS), e.f32(0.5), e.f32(1.0 / STEPS));
    let v = e.op(Op::FFma, &[v, steps, half]);
    let v = e.op(Op::FFloor, &[v]);
    e.op(Op::FMul, &[v, back])
}

fn clamp(e: &mut Emit, v: Value, low: Value, high: Value) -> Value {
    let v = e.op(Op::FMax, &[v, low]);
    e.op(Op::FMin, &[v, high])
}

fn to_float(e: &mut Emit, v: Value) -> Value {
    e.convert(Op::U2F, v, Type::B32)
}

fn is_zero(e: &mut Emit, v: Value) -> Value {
    let zero = e.u32(0);
    e.op(Op::IEq, &[v, zero])
}

impl<S: SamplerState> Reduction<'_, S> {
    /// The level of detail with all biases, before it is clamped.
    fn level_of_detail(&self, e: &mut Emit, sizes: &[Value]) -> Value {
        let mut l = self.sample.clone();
        l.take(TexOperands::OFFSET);
        let least = l.take(TexOperands::MIN_LOD);
        let lod = if let Some(lod) = l.take(TexOperands::LOD) {
            lod
        } else if let Some(at) = l.position(TexOperands::GRAD) {
            let squares = [at, at + 1].map(|k| {
                let parts = e.split(l.args[k]);
                let mut sum = e.f32(0.0);
                for (d, &size) in parts.into_iter().zip(sizes) {
                    let d = e.op(Op::FMul, &[d, size]);
                    sum = e.op(Op::FFma, &[d, d, sum]);
                }
                sum
            });
            let longest = e.op(Op::FMax, &squares);
            let log = e.op(Op::FLog2, &[longest]);
            let half = e.f32(0.5);
            e.op(Op::FMul, &[log, half])
        } else {
            l.op = Op::TexQueryLod;
            l.image.residency = false;
            let levels = l.finish(e, &[Type::vec(32, 2)]);
            e.extract(levels[0], 1)
        };
        match least {
            Some(least) => e.op(Op::FMax, &[lod, least]),
            None => lod,
        }
    }

    /// Emits the sample: the maxima of components where `is_maximum`, else the minima.
    pub fn emit(&self, e: &mut Emit, is_maximum: Value) -> Value {
        let (image, state) = (self.sample.image, &self.state);
        let zero = e.u32(0);
        let first = state.first_level(e);
        let cube = image.dim == Dim::Cube;
        // Faces of cubes are squares.
        let axes: &[usize] = match image.dim {
            Dim::D1 => &[0],
            Dim::D3 => &[0, 1, 2],
            Dim::Cube => &[0, 0],
            _ => &[0, 1],
        };
        let texels: Vec<Value> = axes.iter().map(|&axis| state.texels(e, axis)).collect();
        let one = e.u32(1);
        let size_at = |e: &mut Emit, texels: Value, level: Value| {
            let level = e.op(Op::IAdd, &[first, level]);
            let size = e.op(Op::UShr, &[texels, level]);
            let size = e.op(Op::UMax, &[size, one]);
            to_float(e, size)
        };
        let sizes: Vec<Value> = texels.iter().map(|&t| size_at(e, t, zero)).collect();

        // The level of detail.
        let lod = self.level_of_detail(e, &sizes);
        let [min, max] = state.level_limits(e);
        let lod = clamp(e, lod, min, max);
        let nothing = e.f32(0.0);
        let magnified = e.op(Op::FGe, &[nothing, lod]);
        let [magnify, minify] = state.filters(e);
        let filter = e.select(magnified, magnify, minify);
        let is_nearest = is_zero(e, filter);
        let last = state.last_level(e);
        let last = e.op(Op::ISub, &[last, first]);
        let last = to_float(e, last);
        let lod = clamp(e, lod, nothing, last);
        let lod = to_steps(e, lod);

        // The first level, and whether there is a second.
        let is_linear = state.interpolates_levels(e);
        let below = e.op(Op::FFloor, &[lod]);
        let half = e.f32(0.5);
        let nearest = e.op(Op::FAdd, &[lod, half]);
        let nearest = e.op(Op::FCeil, &[nearest]);
        let less = e.f32(-1.0);
        let nearest = e.op(Op::FAdd, &[nearest, less]);
        let nearest = e.op(Op::FMax, &[nearest, nothing]);
        let level = e.select(is_linear, below, nearest);
        let is_between = e.op(Op::FLt, &[below, lod]);
        let has_second = e.op(Op::IAnd, &[is_between, is_linear]);
        let level = e.convert(Op::F2U, level, Type::B32);

        let place = if cube {
            let (direction, at) = Direction::new(e, &self.sample.at[..3]);
            Place { at, cube: Some(direction) }
        } else {
            Place { at: self.sample.at[..axes.len()].to_vec(), cube: None }
        };
        let normalised = state.is_normalised(e);
        let border = state.border(e);
        // Each bit of a texel's number is a side of an axis.
        let axes = axes.len() as u32;
        let sides = e.u32((1 << axes) - 1);
        let sides = e.select(is_nearest, zero, sides);
        let axes = e.u32(axes);
        let axes = e.select(is_nearest, zero, axes);
        let count = e.op(Op::IShl, &[one, axes]);
        let twice = e.op(Op::IShl, &[count, one]);
        let count = e.select(has_second, twice, count);

        // Maxima are minima of what is inverted: of floats the sign, of integers all bits.
        let all = match image.kind {
            NumKind::Float => 1 << (self.ty.bits() - 1),
            _ => u64::MAX >> (64 - u32::from(self.ty.bits())),
        };
        let elem = self.ty.elem();
        let (all, none) = (e.konst(elem, all), e.konst(elem, 0));
        let flip = e.select(is_maximum, all, none);
        let (min, start) = match image.kind {
            NumKind::Float => (Op::FMin, e.float(elem, f64::INFINITY)),
            NumKind::Sint => {
                let bits = u64::MAX >> (65 - u32::from(self.ty.bits()));
                (Op::SMin, e.konst(elem, bits))
            }
            NumKind::Uint => (Op::UMin, all),
        };
        let comps = usize::from(self.ty.comps()) - usize::from(image.residency);
        let mut init = vec![zero];
        init.resize(1 + comps, start);
        init.resize(1 + usize::from(self.ty.comps()), none);
        let out = e.while_(
            &init,
            |e, v| e.op(Op::ULt, &[v[0], count]),
            |e, v| {
                let up = e.op(Op::UShr, &[v[0], axes]);
                let level = e.op(Op::IAdd, &[level, up]);
                let sides = e.op(Op::IAnd, &[v[0], sides]);
                let sizes: Vec<Value> = texels.iter().map(|&t| size_at(e, t, level)).collect();
                let texel = Texel { level, sizes, sides, is_nearest, normalised };
                let texel = self.texel(e, &place, &texel, border.as_ref());
                let mut next = vec![e.op(Op::IAdd, &[v[0], one])];
                for (k, &c) in texel.iter().enumerate() {
                    next.push(if k < comps {
                        let c = e.op(Op::IXor, &[c, flip]);
                        e.op(min, &[v[1 + k], c])
                    } else {
                        e.op(Op::IOr, &[v[1 + k], c])
                    });
                }
                next
            },
        );
        let parts: Vec<Value> = out[1..]
            .iter()
            .enumerate()
            .map(|(k, &v)| if k < comps { e.op(Op::IXor, &[v, flip]) } else { v })
            .collect();
        e.vec(&parts)
    }

    /// The components of a texel.
    fn texel(
        &self,
        e: &mut Emit,
        place: &Place,
        texel: &Texel,
        border: Option<&(Vec<Value>, Value)>,
    ) -> Vec<Value> {
        let &Texel { level, ref sizes, sides, is_nearest, normalised } = texel;
        let (zero, nothing, half, one) = (e.u32(0), e.f32(0.0), e.f32(0.5), e.f32(1.0));
        let offset = self.sample.get(TexOperands::OFFSET).map(|o| e.split(o));
        let less = e.f32(-0.5);
        let back = e.select(is_nearest, nothing, less);
        let mut outside: Option<Value> = None;
        let mut at = Vec::new();
        for (axis, &size) in sizes.iter().enumerate() {
            let scale = e.select(normalised, size, one);
            let x = e.op(Op::FFma, &[place.at[axis], scale, back]);
            let x = to_steps(e, x);
            let (down, up) = (e.op(Op::FFloor, &[x]), e.op(Op::FCeil, &[x]));
            let bit = e.u32(1 << axis);
            let bit = e.op(Op::IAnd, &[sides, bit]);
            let is_near = e.op(Op::IEq, &[bit, zero]);
            let mut texel = e.select(is_near, down, up);
            if place.cube.is_some() {
                let seamless = self.state.is_seamless(e);
                let last = e.op(Op::FSub, &[size, one]);
                let clamped = clamp(e, texel, nothing, last);
                texel = e.select(seamless, texel, clamped);
            } else if border.is_some() {
                let mut moved = texel;
                if let Some(o) = &offset {
                    let o = e.convert(Op::S2F, o[axis], Type::B32);
                    moved = e.op(Op::FAdd, &[moved, o]);
                }
                let low = e.op(Op::FLt, &[moved, nothing]);
                let high = e.op(Op::FGe, &[moved, size]);
                let off = e.op(Op::IOr, &[low, high]);
                let to_border = self.state.wraps_to_border(e, axis);
                let off = e.op(Op::IAnd, &[off, to_border]);
                outside = Some(match outside {
                    Some(o) => e.op(Op::IOr, &[o, off]),
                    None => off,
                });
            }
            let middle = e.op(Op::FAdd, &[texel, half]);
            let inverse = e.op(Op::FRcp, &[scale]);
            at.push(e.op(Op::FMul, &[middle, inverse]));
        }
        if let Some(direction) = &place.cube {
            at = direction.back(e, &at);
        }
        let mut l = self.sample.clone();
        // Layers stay.
        at.extend_from_slice(&l.at[at.len()..]);
        l.at = at;
        l.op = Op::TexSampleLod;
        l.args[1] = self.second;
        l.take(TexOperands::BIAS);
        l.take(TexOperands::MIN_LOD);
        l.take(TexOperands::LOD);
        l.take_gradients();
        let level = to_float(e, level);
        l.put(TexOperands::LOD, level);
        let texel = l.finish(e, &[self.ty])[0];
        let mut parts = e.split(texel);
        if let (Some(outside), Some((border, has_border))) = (outside, border) {
            let outside = e.op(Op::IAnd, &[outside, *has_border]);
            for (part, &border) in parts.iter_mut().zip(border) {
                *part = e.select(outside, border, *part);
            }
        }
        parts
    }
}
