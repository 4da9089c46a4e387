//! Lowers blending to shader code, for GPUs whose fragment shaders can read the framebuffer.
//!
//! The colour stores of a location become one store of the blended colour, computed from the
//! shader's and the framebuffer's ([`Op::LoadOutput`]). Locations without a render target are not
//! stored. Alpha to coverage is applied to the sample mask. source: the Vulkan specification,
//! "Blending", "Logical Operations", "Multisample Coverage"

mod advanced;

pub use advanced::{Advanced, Operation, Overlap};

use crate::edit::Consts;
use crate::rewrite::Emit;
use std::collections::BTreeMap;
use tepui_format::{Component, Encoding, Format, Numeric};
use tepui_ir::{
    Attrs, Builtin, Inst, Interp, IoLoc, IoSlot, NumKind, Op, Sampling, Shader, Type, Value,
};

/// Colour locations.
pub const TARGETS: usize = 8;

/// The factors of the blend equation. Colour factors apply component by component.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Factor {
    /// 0.
    Zero,
    /// 1.
    #[default]
    One,
    /// The shader's colour.
    Source,
    /// Its alpha.
    SourceAlpha,
    /// The shader's second colour.
    Source1,
    /// Its alpha.
    Source1Alpha,
    /// The framebuffer's colour.
    Destination,
    /// Its alpha.
    DestinationAlpha,
    /// The blend constant.
    Constant,
    /// Its alpha.
    ConstantAlpha,
    /// The smaller of the source's alpha and what the destination's leaves of 1; 1 for alpha.
    SourceAlphaSaturate,
}

/// A factor, perhaps taken from 1.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Weight {
    /// The factor.
    pub factor: Factor,
    /// 1 minus the factor.
    pub inverted: bool,
}

/// Blend operation: combination of the weighted source and destination.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Combine {
    /// Weighted sum.
    #[default]
    Add,
    /// Source minus destination, weighted.
    Subtract,
    /// Destination minus source, weighted.
    ReverseSubtract,
    /// The smaller, not weighted.
    Min,
    /// The larger, not weighted.
    Max,
}

/// A blend equation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Equation {
    /// Weight of the source.
    pub source: Weight,
    /// Weight of the destination.
    pub destination: Weight,
    /// Combination of both.
    pub combine: Combine,
}

impl Default for Equation {
    fn default() -> Equation {
        let zero = Weight { factor: Factor::Zero, inverted: false };
        Equation { source: Weight::default(), destination: zero, combine: Combine::Add }
    }
}

/// Combination of the shader's and the framebuffer's colours.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Mode {
    /// The shader's colour replaces the framebuffer's.
    #[default]
    Replace,
    /// Equations of colour and alpha.
    Equations([Equation; 2]),
    /// An advanced operation.
    Advanced(Advanced),
}

/// Blend state of a location.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Location {
    /// Combination of the colours.
    pub mode: Mode,
    /// Components that are written, a bit each.
    pub write_mask: u8,
}

impl Default for Location {
    fn default() -> Location {
        Location { mode: Mode::Replace, write_mask: 0xf }
    }
}

/// The blend state.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Blend {
    /// By location.
    pub locations: [Location; TARGETS],
    /// A logical operation instead: bit `s + 2 d` of the truth table is the result of source bit s
    /// and destination bit d.
    pub logic: Option<u8>,
    /// The location whose alpha `alpha_to_coverage` looks at.
    pub alpha_location: u8,
    /// Alpha takes samples away.
    pub alpha_to_coverage: bool,
    /// The alpha of every location counts as 1 afterwards.
    pub alpha_to_one: bool,
}

/// The numeric type of a render target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Range {
    /// 0 to 1.
    Unorm,
    /// -1 to 1.
    Snorm,
    /// Floats.
    Float,
    /// Unsigned integers.
    Uint,
    /// Signed integers.
    Sint,
}

/// A render target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Target {
    /// Components, counted from red.
    pub channels: u8,
    /// Numbers in them.
    pub range: Range,
    /// Bits of each.
    pub bits: [u8; 4],
    /// Values are in sRGB, for which there are no logical operations.
    pub srgb: bool,
}

impl Target {
    /// A render target of a format; `None` if the format's numbers are none that are blended.
    #[must_use]
    pub fn of(format: Format) -> Option<Target> {
        const CHANNELS: [Component; 4] = [Component::R, Component::G, Component::B, Component::A];
        let info = format.info();
        let (channels, bits) = match &info.encoding {
            Encoding::Plain(all) => {
                let last = CHANNELS.iter().rposition(|&k| all.get(k).is_some())?;
                (last as u8 + 1, CHANNELS.map(|k| all.get(k).map_or(0, |c| c.bits)))
            }
            // The shared exponent's.
            _ => (3, [9, 9, 9, 0]),
        };
        let range = match info.numeric() {
            Numeric::Unorm | Numeric::Srgb => Range::Unorm,
            Numeric::Snorm => Range::Snorm,
            Numeric::Sfloat | Numeric::Ufloat => Range::Float,
            Numeric::Uint => Range::Uint,
            Numeric::Sint => Range::Sint,
            Numeric::Uscaled | Numeric::Sscaled => return None,
        };
        Some(Target { channels, range, bits, srgb: info.numeric() == Numeric::Srgb })
    }
}

/// Runs the pass. `samples` is the number of samples of a pixel.
pub fn run(
    s: &mut Shader,
    blend: &Blend,
    targets: &[Option<Target>; TARGETS],
    samples: u8,
) -> bool {
    let root = s.root;
    let insts = std::mem::take(&mut s.regions[root].insts);
    let mut colours: BTreeMap<(u16, u8), [Option<Value>; 4]> = BTreeMap::new();
    let mut mask = None;
    let mut out = Vec::with_capacity(insts.len() + 16);
    let mut consts = Consts::default();
    let mut end = None;
    for i in insts {
        let d = &s.insts[i];
        match (d.op, d.attrs) {
            (Op::Yield, _) => end = Some(i),
            (Op::StoreOutput, Attrs::Io(slot)) => match slot.loc {
                IoLoc::Location(n) => {
                    let mut e = Emit::new(s, &mut consts, &mut out, i);
                    let v = e.s.arg(i, 0);
                    let parts = e.split(v);
                    let to = colours.entry((n, slot.index)).or_default();
                    for (to, v) in to.iter_mut().skip(usize::from(slot.component)).zip(parts) {
                        *to = Some(v);
                    }
                }
                IoLoc::Builtin(Builtin::SampleMask) if blend.alpha_to_coverage => {
                    if slot.component == 0 {
                        mask = Some(s.arg(i, 0));
                    }
                }
                _ => out.push(i),
            },
            _ => out.push(i),
        }
    }
    let Some(end) = end else {
        s.regions[root].insts = out;
        return false;
    };
    let mut x = Blending { e: Emit::new(s, &mut consts, &mut out, end), blend };
    if blend.alpha_to_coverage {
        x.cover(&colours, mask, samples);
    }
    for (&(n, index), colour) in &colours {
        let Some(target) = targets.get(usize::from(n)).copied().flatten() else { continue };
        if index == 0 {
            let second = colours.get(&(n, 1));
            x.location(n, target, colour, second);
        }
    }
    out.push(end);
    s.regions[root].insts = out;
    consts.finish(s);
    true
}

fn slot(n: u16, kind: NumKind) -> IoSlot {
    IoSlot {
        loc: IoLoc::Location(n),
        component: 0,
        index: 0,
        kind,
        interp: Interp::Smooth,
        sampling: Sampling::Center,
    }
}

struct Blending<'a, 'b> {
    e: Emit<'a>,
    blend: &'b Blend,
}

/// The operands of the equations, in 32 bits.
struct Inputs {
    source: [Value; 4],
    second: [Value; 4],
    destination: [Value; 4],
    constant: [Value; 4],
}

impl Blending<'_, '_> {
    /// Colours in 32 bits; what the shader does not write is undefined.
    fn wide(&mut self, colour: Option<&[Option<Value>; 4]>, range: Range) -> [Value; 4] {
        let colour = colour.copied().unwrap_or_default();
        colour.map(|c| match c {
            None => self.e.undef(Type::B32),
            Some(v) if self.e.ty(v).bits() == 32 => v,
            Some(v) => {
                let op = match range {
                    Range::Uint => Op::U2U,
                    Range::Sint => Op::S2S,
                    _ => Op::F2F,
                };
                self.e.convert(op, v, Type::B32)
            }
        })
    }

    fn clamp(&mut self, v: Value, range: Range) -> Value {
        match range {
            Range::Unorm => self.e.op(Op::FSat, &[v]),
            Range::Snorm => {
                let (low, high) = (self.e.f32(-1.0), self.e.f32(1.0));
                let v = self.e.op(Op::FMax, &[v, low]);
                self.e.op(Op::FMin, &[v, high])
            }
            _ => v,
        }
    }

    fn location(
        &mut self,
        n: u16,
        t: Target,
        colour: &[Option<Value>; 4],
        second: Option<&[Option<Value>; 4]>,
    ) {
        let state = self.blend.locations.get(usize::from(n)).copied().unwrap_or_default();
        let integer = matches!(t.range, Range::Uint | Range::Sint);
        let kind = match t.range {
            Range::Uint => NumKind::Uint,
            Range::Sint => NumKind::Sint,
            _ => NumKind::Float,
        };
        let exists = ((1u16 << t.channels) - 1) as u8;
        if state.write_mask & exists == 0 {
            return;
        }
        let mut source = self.wide(Some(colour), t.range);
        if self.blend.alpha_to_one && !integer {
            source[3] = self.e.f32(1.0);
        }
        let keeps = state.write_mask & exists != exists;
        let mode = match !integer && self.blend.logic.is_none() {
            true => state.mode,
            false => Mode::Replace,
        };
        let logic = self.blend.logic.filter(|_| t.range != Range::Float && !t.srgb);
        let mut destination = None;
        if keeps || mode != Mode::Replace || logic.is_some() {
            let ty = Type::vec(32, 4);
            let i: Inst = self.e.inst(Op::LoadOutput, Attrs::Io(slot(n, kind)), &[], &[ty]);
            let v = self.e.s.result(i);
            let all = self.e.split(v);
            let mut d = [all[0], all[1], all[2], all[3]];
            for (c, d) in d.iter_mut().enumerate() {
                // Components that the target lacks are 0, or 1 for alpha.
                if exists >> c & 1 == 0 {
                    *d = match (c, integer) {
                        (3, false) => self.e.f32(1.0),
                        (3, true) => self.e.u32(1),
                        _ => self.e.u32(0),
                    };
                }
            }
            destination = Some(d);
        }
        let mut result = source;
        if let (Some(table), Some(d)) = (logic, destination) {
            result = self.logic(table, source, d, t);
        } else if let (Mode::Equations(equations), Some(d)) = (mode, destination) {
            let source = source.map(|v| self.clamp(v, t.range));
            let second = self.wide(second, t.range).map(|v| self.clamp(v, t.range));
            let i: Inst = self.e.inst(
                Op::LoadBuiltin,
                Attrs::Builtin(Builtin::BlendConstant),
                &[],
                &[Type::vec(32, 4)],
            );
            let constant = self.e.s.result(i);
            let k = self.e.split(constant);
            let constant = [k[0], k[1], k[2], k[3]].map(|v| self.clamp(v, t.range));
            let inputs = Inputs { source, second, destination: d, constant };
            result =
                [0, 1, 2, 3].map(|c| self.equation(&equations[usize::from(c == 3)], c, &inputs));
        } else if let (Mode::Advanced(a), Some(d)) = (mode, destination) {
            let source = source.map(|v| self.clamp(v, t.range));
            let rounding = match t.range {
                Range::Unorm => 0.5 / ((1u32 << t.bits[0].clamp(1, 16)) - 1) as f32,
                _ => 0.0,
            };
            result = self.advanced(&a, source, d, rounding);
        }
        if integer {
            result = [0, 1, 2, 3].map(|c| self.fit(result[c], t.range, t.bits[c]));
        }
        if let Some(d) = destination {
            for c in (0..4).filter(|c| state.write_mask >> c & 1 == 0) {
                result[c] = d[c];
            }
        }
        let v = self.e.vec(&result[..usize::from(t.channels)]);
        let zero = self.e.u32(0);
        self.e.inst(Op::StoreOutput, Attrs::Io(slot(n, kind)), &[v, zero], &[]);
    }

    /// Rounds to the precision of a component of this number of bits.
    fn fit(&mut self, v: Value, range: Range, bits: u8) -> Value {
        if bits == 0 || bits >= 32 {
            return v;
        }
        match range {
            Range::Uint => {
                let most = self.e.u32((1 << bits) - 1);
                self.e.op(Op::UMin, &[v, most])
            }
            _ => {
                let most = self.e.u32((1 << (bits - 1)) - 1);
                let least = self.e.u32((-1i32 << (bits - 1)) as u32);
                let v = self.e.op(Op::SMin, &[v, most]);
                self.e.op(Op::SMax, &[v, least])
            }
        }
    }

    fn factor(&mut self, f: Factor, c: usize, x: &Inputs) -> Value {
        match f {
            Factor::Zero => self.e.f32(0.0),
            Factor::One => self.e.f32(1.0),
            Factor::Source => x.source[c],
            Factor::SourceAlpha => x.source[3],
            Factor::Source1 => x.second[c],
            Factor::Source1Alpha => x.second[3],
            Factor::Destination => x.destination[c],
            Factor::DestinationAlpha => x.destination[3],
            Factor::Constant => x.constant[c],
            Factor::ConstantAlpha => x.constant[3],
            Factor::SourceAlphaSaturate if c == 3 => self.e.f32(1.0),
            Factor::SourceAlphaSaturate => {
                let rest = self.complement(x.destination[3]);
                self.e.op(Op::FMin, &[x.source[3], rest])
            }
        }
    }

    fn complement(&mut self, v: Value) -> Value {
        let one = self.e.f32(1.0);
        self.e.op(Op::FSub, &[one, v])
    }

    /// A weighted component; `None` for nothing at all.
    fn weighted(&mut self, w: Weight, v: Value, c: usize, x: &Inputs) -> Option<Value> {
        match (w.factor, w.inverted) {
            (Factor::Zero, false) | (Factor::One, true) => None,
            (Factor::One, false) | (Factor::Zero, true) => Some(v),
            (factor, inverted) => {
                let mut f = self.factor(factor, c, x);
                if inverted {
                    f = self.complement(f);
                }
                Some(self.e.op(Op::FMul, &[v, f]))
            }
        }
    }

    fn equation(&mut self, q: &Equation, c: usize, x: &Inputs) -> Value {
        let (s, d) = (x.source[c], x.destination[c]);
        match q.combine {
            Combine::Min => return self.e.op(Op::FMin, &[s, d]),
            Combine::Max => return self.e.op(Op::FMax, &[s, d]),
            _ => {}
        }
        let s = self.weighted(q.source, s, c, x);
        let d = self.weighted(q.destination, d, c, x);
        let (a, b, negate) = match q.combine {
            Combine::Subtract => (s, d, true),
            Combine::ReverseSubtract => (d, s, true),
            _ => (s, d, false),
        };
        match (a, b) {
            (None, None) => self.e.f32(0.0),
            (Some(a), None) => a,
            (None, Some(b)) if negate => self.e.op(Op::FNeg, &[b]),
            (None, Some(b)) => b,
            (Some(a), Some(b)) if negate => self.e.op(Op::FSub, &[a, b]),
            (Some(a), Some(b)) => self.e.op(Op::FAdd, &[a, b]),
        }
    }

    /// A logical operation on the integer encodings of components.
    fn logic(&mut self, table: u8, source: [Value; 4], d: [Value; 4], t: Target) -> [Value; 4] {
        [0, 1, 2, 3].map(|c| {
            let bits = u32::from(t.bits[c].min(32));
            if bits == 0 {
                return source[c];
            }
            let signed = matches!(t.range, Range::Snorm | Range::Sint);
            let largest = ((1u64 << (bits - u32::from(signed))) - 1) as f32;
            let norm = matches!(t.range, Range::Unorm | Range::Snorm);
            let to = |x: &mut Self, v: Value| {
                if !norm {
                    return v;
                }
                let v = x.clamp(v, t.range);
                let scale = x.e.f32(largest);
                let v = x.e.op(Op::FMul, &[v, scale]);
                let v = x.e.op(Op::FRoundEven, &[v]);
                x.e.convert(if signed { Op::F2S } else { Op::F2U }, v, Type::B32)
            };
            let (s, d) = (to(self, source[c]), to(self, d[c]));
            let r = self.truth(table, s, d);
            let mask = self.e.u32(if bits == 32 { u32::MAX } else { (1 << bits) - 1 });
            let mut r = self.e.op(Op::IAnd, &[r, mask]);
            if signed && bits < 32 {
                let n = self.e.u32(32 - bits);
                r = self.e.op(Op::IShl, &[r, n]);
                r = self.e.op(Op::SShr, &[r, n]);
            }
            if !norm {
                return r;
            }
            let f = self.e.convert(if signed { Op::S2F } else { Op::U2F }, r, Type::B32);
            let scale = self.e.f32(1.0 / largest);
            self.e.op(Op::FMul, &[f, scale])
        })
    }

    fn truth(&mut self, table: u8, s: Value, d: Value) -> Value {
        let mut sum: Option<Value> = None;
        let (ns, nd) = (self.e.op(Op::INot, &[s]), self.e.op(Op::INot, &[d]));
        for k in (0..4).filter(|k| table >> k & 1 != 0) {
            let a = if k & 1 != 0 { s } else { ns };
            let b = if k & 2 != 0 { d } else { nd };
            let both = self.e.op(Op::IAnd, &[a, b]);
            sum = Some(match sum {
                Some(x) => self.e.op(Op::IOr, &[x, both]),
                None => both,
            });
        }
        sum.unwrap_or_else(|| self.e.u32(0))
    }

    /// Alpha to coverage: the fraction of samples that stays in the mask is the alpha of location 0.
    fn cover(
        &mut self,
        colours: &BTreeMap<(u16, u8), [Option<Value>; 4]>,
        mask: Option<Value>,
        samples: u8,
    ) {
        let location = u16::from(self.blend.alpha_location);
        let Some(alpha) = colours.get(&(location, 0)).and_then(|c| c[3]) else { return };
        let alpha = self.wide(Some(&[None, None, None, Some(alpha)]), Range::Unorm)[3];
        let alpha = self.clamp(alpha, Range::Unorm);
        let (n, half) = (self.e.f32(f32::from(samples)), self.e.f32(0.5));
        let count = self.e.op(Op::FMul, &[alpha, n]);
        let count = self.e.op(Op::FAdd, &[count, half]);
        let count = self.e.convert(Op::F2U, count, Type::B32);
        let one = self.e.u32(1);
        let bits = self.e.op(Op::IShl, &[one, count]);
        let mut bits = self.e.op(Op::ISub, &[bits, one]);
        if let Some(m) = mask {
            bits = self.e.op(Op::IAnd, &[bits, m]);
        }
        let slot = IoSlot { loc: IoLoc::Builtin(Builtin::SampleMask), ..slot(0, NumKind::Uint) };
        let zero = self.e.u32(0);
        self.e.inst(Op::StoreOutput, Attrs::Io(slot), &[bits, zero], &[]);
    }
}
