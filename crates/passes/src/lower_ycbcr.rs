//! Texture samples through samplers with a Y′CbCr conversion.
//!
//! Texture units sample one plane at a time and return its channels as they are. A sample through a
//! conversion becomes one sample for each plane, followed by the steps of the Vulkan specification,
//! "Sampler Y′CBCR Conversion": component swizzle, range expansion, model conversion. Chroma is
//! reconstructed by the texture unit's own filter (implicit reconstruction).
//!
//! Samplers with a conversion are immutable, so it is known when a pipeline is made. The
//! descriptors of such a binding lie plane by plane: element `e` of a binding with `n` planes has
//! the descriptors `e * n` to `e * n + n - 1`.

use crate::rewrite::{self, Emit, Lowering, Step};
use tepui_format::{Component, Encoding, Format};
use tepui_ir::cranelift_entity::EntityRef;
use tepui_ir::{Attrs, Image, Inst, Op, Shader, TexOperands, Type, Value};

/// The model conversion: what the three channels are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Model {
    /// Red, green and blue.
    Rgb,
    /// Y′CbCr that stays as it is.
    Ycbcr,
    /// Y′CbCr of ITU-R BT.709.
    Bt709,
    /// Y′CbCr of ITU-R BT.601.
    Bt601,
    /// Y′CbCr of ITU-R BT.2020.
    Bt2020,
}

impl Model {
    /// The weights of red and blue in luma. Source: Vulkan specification, "Sampler Y′CBCR Model
    /// Conversion".
    const fn weights(self) -> Option<(f64, f64)> {
        match self {
            Model::Rgb | Model::Ycbcr => None,
            Model::Bt709 => Some((0.2126, 0.0722)),
            Model::Bt601 => Some((0.299, 0.114)),
            Model::Bt2020 => Some((0.2627, 0.0593)),
        }
    }
}

/// The source of a component after the swizzle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// A component of the format.
    Component(Component),
    /// 0.
    Zero,
    /// 1.
    One,
}

/// A sampler's conversion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Conversion {
    /// Format of the image.
    pub format: Format,
    /// Model conversion.
    pub model: Model,
    /// Luma and chroma use all values of their bits (ITU "full" range), not the "narrow" range.
    pub full_range: bool,
    /// Sources of red, green, blue and alpha.
    pub swizzle: [Source; 4],
    /// Chroma samples lie on even luma samples, horizontally and vertically; else midway between
    /// two.
    pub cosited: [bool; 2],
    /// Chroma is filtered linearly.
    pub linear_chroma: bool,
}

impl Conversion {
    /// Planes of the format; 1 for formats that have none.
    #[must_use]
    pub fn planes(&self) -> u32 {
        self.format.info().planes().len().max(1) as u32
    }

    /// Bits of a component of a plane, and those of the word that it is stored in.
    fn bits(&self) -> (u32, u32) {
        let info = self.format.info();
        let plane = info.planes().first().map_or(info, |p| p.format.info());
        let (Encoding::Plain(c) | Encoding::Subsampled(c)) = &plane.encoding else { return (8, 8) };
        let channel = c.as_slice().first().map_or(8, |c| u32::from(c.bits));
        let padded =
            c.as_slice().iter().map(|c| u32::from(c.bits)).sum::<u32>() != plane.block.bytes * 8;
        (channel, if padded { 16 } else { channel })
    }

    /// Whether the texture unit's coordinates on the chroma planes are shifted, in each direction:
    /// linear filters look between chroma samples, which lie elsewhere than the unit assumes.
    fn shifted(&self, plane: usize) -> [bool; 2] {
        match self.format.info().planes().get(plane) {
            Some(p) if self.linear_chroma => {
                [p.width_divisor > 1 && self.cosited[0], p.height_divisor > 1 && self.cosited[1]]
            }
            _ => [false; 2],
        }
    }
}

/// The conversions of a binding's samplers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Binding {
    /// Descriptors of an element: planes of the format that has the most.
    pub planes: u32,
    /// The conversion of each element.
    pub conversions: Vec<Option<Conversion>>,
}

/// Runs the pass. `binding` gives the conversions of a set's binding, if it has any.
pub fn run(s: &mut Shader, binding: &dyn Fn(u32, u32) -> Option<Binding>) -> bool {
    let resources: Vec<_> = s.resources.values().map(|r| binding(r.set, r.binding)).collect();
    if resources.iter().all(Option::is_none) {
        return false;
    }
    for (r, b) in s.resources.values_mut().zip(&resources) {
        r.count *= b.as_ref().map_or(1, |b| b.planes);
    }
    rewrite::run(s, &mut Pass { resources })
}

struct Pass {
    /// Conversions by resource.
    resources: Vec<Option<Binding>>,
}

/// A descriptor of a binding with conversions.
struct Converted {
    attrs: Attrs,
    /// Number of the descriptor of plane 0.
    first: Value,
    conversion: Conversion,
}

impl Lowering for Pass {
    fn inst(&mut self, e: &mut Emit, i: Inst) -> Step {
        let (op, attrs) = (e.s.insts[i].op, e.s.insts[i].attrs);
        match (op, attrs) {
            (Op::Descriptor, Attrs::Res(r, _)) => {
                let Some(b) = &self.resources[r.index()] else { return Step::Keep };
                if b.planes == 1 {
                    return Step::Keep;
                }
                let element = e.s.arg(i, 0);
                let planes = e.u32(b.planes);
                let first = e.op(Op::IMul, &[element, planes]);
                let ty = e.ty(e.s.result(i));
                Step::Replace(vec![e.value(Op::Descriptor, attrs, &[first], ty)])
            }
            (Op::TexSample | Op::TexSampleLod, Attrs::Image(image)) => {
                let Some(c) = self.converted(e, e.s.arg(i, 0)) else { return Step::Keep };
                let args = e.s.args(i).to_vec();
                let ty = e.ty(e.s.result(i));
                let new = convert(e, &c, op, image, &args, ty);
                Step::Replace(vec![new])
            }
            _ => Step::Keep,
        }
    }
}

impl Pass {
    /// The conversion of a handle's sampler. Descriptors with conversions are indexed only by constants
    /// (VUID-RuntimeSpirv-None-10716), so other handles have none.
    fn converted(&self, e: &Emit, handle: Value) -> Option<Converted> {
        let d = e.s.def_inst(handle)?;
        let (Op::Descriptor, attrs @ Attrs::Res(r, _)) = (e.s.insts[d].op, e.s.insts[d].attrs)
        else {
            return None;
        };
        let b = self.resources[r.index()].as_ref()?;
        let first = e.s.arg(d, 0);
        let element = e.s.as_const(first)? / u64::from(b.planes);
        let conversion = (*b.conversions.get(element as usize)?)?;
        Some(Converted { attrs, first, conversion })
    }
}

/// The samples of all planes, converted to red, green, blue and alpha.
fn convert(e: &mut Emit, c: &Converted, op: Op, image: Image, args: &[Value], ty: Type) -> Value {
    let conversion = &c.conversion;
    let texel = Type::vec(32, 4 + u8::from(image.residency));
    let planes: Vec<Value> = (0..conversion.planes())
        .map(|plane| {
            let mut args = args.to_vec();
            let n = e.u32(plane);
            let n = e.op(Op::IAdd, &[c.first, n]);
            args[0] = e.value(Op::Descriptor, c.attrs, &[n], Type::B64);
            let shifted = conversion.shifted(plane as usize);
            if shifted != [false; 2] {
                args[2] = shift(e, image, args[2], c, shifted);
            }
            e.value(op, Attrs::Image(image), &args, texel)
        })
        .collect();
    let residency = image.residency.then(|| {
        let codes: Vec<Value> = planes.iter().map(|&p| e.extract(p, 4)).collect();
        codes.into_iter().reduce(|a, b| e.op(Op::IOr, &[a, b])).unwrap_or_else(|| e.u32(0))
    });
    let component = |e: &mut Emit, component: Component| match planes[..] {
        [only] => {
            let k = [Component::R, Component::G, Component::B, Component::A]
                .iter()
                .position(|&x| x == component);
            e.extract(only, k.unwrap_or(0) as u32)
        }
        // G is luma; B and R share plane 1, or have one each.
        [luma, chroma] => match component {
            Component::G => e.extract(luma, 0),
            Component::B => e.extract(chroma, 0),
            Component::R => e.extract(chroma, 1),
            _ => e.f32(1.0),
        },
        _ => match component {
            Component::G => e.extract(planes[0], 0),
            Component::B => e.extract(planes[1], 0),
            Component::R => e.extract(planes[2], 0),
            _ => e.f32(1.0),
        },
    };
    let [r, g, b, a] = conversion.swizzle.map(|s| match s {
        Source::Component(x) => component(e, x),
        Source::Zero => e.f32(0.0),
        Source::One => e.f32(1.0),
    });
    let [r, g, b] = colours(e, conversion, [r, g, b]);
    let mut parts = vec![r, g, b, a];
    if ty.bits() == 16 {
        for p in &mut parts {
            *p = e.convert(Op::F2F, *p, Type::vec(16, 1));
        }
    }
    parts.extend(residency);
    e.vec(&parts)
}

/// Coordinates on a chroma plane whose samples lie on even luma samples. In units of luma texels
/// sample `i` lies at `2 i + 0.5`, where the texture unit takes it to lie at `2 i + 1`.
fn shift(
    e: &mut Emit,
    image: Image,
    coordinates: Value,
    c: &Converted,
    shifted: [bool; 2],
) -> Value {
    let comps = image.dim.size_comps() + u8::from(image.array);
    let query = Image { operands: TexOperands::LOD, residency: false, ..image };
    let luma = e.value(Op::Descriptor, c.attrs, &[c.first], Type::B64);
    let zero = e.u32(0);
    let size = e.value(Op::ImageSize, Attrs::Image(query), &[luma, zero], Type::vec(32, comps));
    let mut at = e.split(coordinates);
    for (k, _) in shifted.iter().enumerate().filter(|(_, s)| **s) {
        let texels = e.extract(size, k as u32);
        let texels = e.value(Op::U2F, Attrs::None, &[texels], Type::B32);
        let half = e.f32(0.5);
        let offset = e.op(Op::FDiv, &[half, texels]);
        at[k] = e.op(Op::FAdd, &[at[k], offset]);
    }
    e.vec(&at)
}

/// Range expansion and model conversion of (Cr or red, luma or green, Cb or blue).
fn colours(e: &mut Emit, c: &Conversion, rgb: [Value; 3]) -> [Value; 3] {
    let (bits, stored) = c.bits();
    let most = f64::from((1u32 << bits) - 1);
    // Samples of padded words count in units of the whole word.
    let unit = f64::from((1u32 << stored) - 1) / f64::from(1u32 << (stored - bits)) / most;
    let scaled = |e: &mut Emit, v: Value, factor: f64, offset: f64| {
        if factor == 1.0 && offset == 0.0 {
            return v;
        }
        let (factor, offset) = (e.f32(factor as f32), e.f32(offset as f32));
        e.op(Op::FFma, &[v, factor, offset])
    };
    if c.model == Model::Rgb {
        return rgb.map(|v| scaled(e, v, unit, 0.0));
    }
    let step = f64::from(1u32 << (bits - 8));
    let [cr, luma, cb] = rgb;
    let (luma, [cr, cb]) = match c.full_range {
        true => {
            let zero = f64::from(1u32 << (bits - 1)) / most;
            (scaled(e, luma, unit, 0.0), [cr, cb].map(|v| scaled(e, v, unit, -zero)))
        }
        false => (
            scaled(e, luma, unit * most / (219.0 * step), -16.0 / 219.0),
            [cr, cb].map(|v| scaled(e, v, unit * most / (224.0 * step), -128.0 / 224.0)),
        ),
    };
    let Some((red, blue)) = c.model.weights() else { return [cr, luma, cb] };
    let green = 1.0 - red - blue;
    let term = |e: &mut Emit, v: Value, factor: f64, sum: Value| {
        let factor = e.f32(factor as f32);
        e.op(Op::FFma, &[v, factor, sum])
    };
    let r = term(e, cr, 2.0 * (1.0 - red), luma);
    let b = term(e, cb, 2.0 * (1.0 - blue), luma);
    let g = term(e, cb, -2.0 * blue * (1.0 - blue) / green, luma);
    let g = term(e, cr, -2.0 * red * (1.0 - red) / green, g);
    [r, g, b]
}
