//! Advanced blend operations: separable functions of source and destination, operations on hue, saturation and luminosity, and
//! sums of premultiplied colours. source: the Vulkan specification, "Advanced Blend Operations"

use super::Blending;
use tepui_ir::{Op, Value};

macro_rules! operations {
    ($($name:ident,)*) => {
        /// Advanced blend operation.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[expect(missing_docs, reason = "the names are those of `VkBlendOp`")]
        pub enum Operation {
            $($name,)*
        }

        impl Operation {
            /// All operations, in the order of their numbers in `VkBlendOp`.
            pub const ALL: &[Operation] = &[$(Operation::$name),*];
        }
    };
}

operations! {
    Zero,
    Src,
    Dst,
    SrcOver,
    DstOver,
    SrcIn,
    DstIn,
    SrcOut,
    DstOut,
    SrcAtop,
    DstAtop,
    Xor,
    Multiply,
    Screen,
    Overlay,
    Darken,
    Lighten,
    ColorDodge,
    ColorBurn,
    HardLight,
    SoftLight,
    Difference,
    Exclusion,
    Invert,
    InvertRgb,
    LinearDodge,
    LinearBurn,
    VividLight,
    LinearLight,
    PinLight,
    HardMix,
    HslHue,
    HslSaturation,
    HslColor,
    HslLuminosity,
    Plus,
    PlusClamped,
    PlusClampedAlpha,
    PlusDarker,
    Minus,
    MinusClamped,
    Contrast,
    InvertOvg,
    Red,
    Green,
    Blue,
}

impl Operation {
    /// Whether source and destination take part where both cover the pixel, and where each alone does (X, Y, Z); `None` for
    /// operations on premultiplied colours.
    const fn coverage(self) -> Option<[bool; 3]> {
        use Operation::*;
        Some(match self {
            Plus | PlusClamped | PlusClampedAlpha | PlusDarker | Minus | MinusClamped
            | Contrast | InvertOvg | Red | Green | Blue => return None,
            Zero => [false, false, false],
            SrcOut => [false, true, false],
            DstOut => [false, false, true],
            Xor => [false, true, true],
            SrcIn | DstIn => [true, false, false],
            Src | DstAtop => [true, true, false],
            Dst | SrcAtop | Invert | InvertRgb => [true, false, true],
            _ => [true, true, true],
        })
    }
}

/// Correlation of the coverage of source and destination.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Overlap {
    /// None.
    #[default]
    Uncorrelated,
    /// As little overlap as possible.
    Disjoint,
    /// As much overlap as possible.
    Conjoint,
}

/// An advanced blend operation with its parameters.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Advanced {
    /// The operation.
    pub operation: Operation,
    /// The shader's colour is premultiplied by its alpha.
    pub source_premultiplied: bool,
    /// Whether the framebuffer's colour is premultiplied too.
    pub destination_premultiplied: bool,
    /// Overlap of both.
    pub overlap: Overlap,
    /// The result is clamped to 0–1, whatever the format.
    pub clamp: bool,
}

type Rgb = [Value; 3];

/// Red, green and blue.
fn rgb([r, g, b, _]: [Value; 4]) -> Rgb {
    [r, g, b]
}

impl Blending<'_, '_> {
    fn add(&mut self, a: Value, b: Value) -> Value {
        self.e.op(Op::FAdd, &[a, b])
    }

    fn sub(&mut self, a: Value, b: Value) -> Value {
        self.e.op(Op::FSub, &[a, b])
    }

    fn mul(&mut self, a: Value, b: Value) -> Value {
        self.e.op(Op::FMul, &[a, b])
    }

    fn min(&mut self, a: Value, b: Value) -> Value {
        self.e.op(Op::FMin, &[a, b])
    }

    fn max(&mut self, a: Value, b: Value) -> Value {
        self.e.op(Op::FMax, &[a, b])
    }

    fn div(&mut self, a: Value, b: Value) -> Value {
        self.e.op(Op::FDiv, &[a, b])
    }

    /// One of two values, the first if `a < b`.
    fn if_less(&mut self, [a, b]: [Value; 2], then: Value, other: Value) -> Value {
        let c = self.e.op(Op::FLt, &[a, b]);
        self.e.select(c, then, other)
    }

    /// One of two values, the first if `a <= b`.
    fn if_at_most(&mut self, [a, b]: [Value; 2], then: Value, other: Value) -> Value {
        let c = self.e.op(Op::FGe, &[b, a]);
        self.e.select(c, then, other)
    }

    /// A colour divided by its alpha; 0 without alpha.
    fn straight(&mut self, colour: Rgb, alpha: Value) -> Rgb {
        let zero = self.e.f32(0.0);
        let none = self.e.op(Op::FEq, &[alpha, zero]);
        colour.map(|c| {
            let q = self.div(c, alpha);
            self.e.select(none, zero, q)
        })
    }

    /// The blended colour. `rounding` is how far a stored component may be from the colour that it was made of.
    pub(super) fn advanced(
        &mut self,
        a: &Advanced,
        source: [Value; 4],
        destination: [Value; 4],
        rounding: f32,
    ) -> [Value; 4] {
        let [r, g, b, alpha] = match a.operation.coverage() {
            Some(takes) => self.covered(a, takes, source, destination, rounding),
            None => {
                let mut premultiplied = |colour: [Value; 4], already: bool| match already {
                    true => rgb(colour),
                    false => rgb(colour).map(|c| self.mul(c, colour[3])),
                };
                let s = premultiplied(source, a.source_premultiplied);
                let d = premultiplied(destination, a.destination_premultiplied);
                self.additional(a.operation, (s, source[3]), (d, destination[3]))
            }
        };
        let mut colour = [r, g, b];
        if !a.destination_premultiplied {
            let zero = self.e.f32(0.0);
            let none = self.e.op(Op::FEq, &[alpha, zero]);
            colour = colour.map(|c| {
                let q = self.div(c, alpha);
                self.e.select(none, c, q)
            });
        }
        let [r, g, b] = colour;
        [r, g, b, alpha].map(|v| if a.clamp { self.e.op(Op::FSat, &[v]) } else { v })
    }

    /// Sums over the parts of the pixel that both cover, and that each alone covers.
    fn covered(
        &mut self,
        a: &Advanced,
        [both, source_only, destination_only]: [bool; 3],
        source: [Value; 4],
        destination: [Value; 4],
        rounding: f32,
    ) -> [Value; 4] {
        let (sa, da) = (source[3], destination[3]);
        let s = match a.source_premultiplied {
            true => self.straight(rgb(source), sa),
            false => rgb(source),
        };
        let d = match a.destination_premultiplied {
            true => self.straight(rgb(destination), da),
            false => rgb(destination),
        };
        let shares = self.shares(a.overlap, sa, da);
        let mut parts = Vec::new();
        if both {
            parts.push((self.function(a.operation, s, d, rounding), shares[0]));
        }
        if source_only {
            parts.push((s, shares[1]));
        }
        if destination_only {
            parts.push((d, shares[2]));
        }
        let mut sum = [self.e.f32(0.0); 4];
        for (n, (colour, share)) in parts.into_iter().enumerate() {
            let [r, g, b] = colour.map(|c| self.mul(c, share));
            let part = [r, g, b, share];
            sum = if n == 0 { part } else { [0, 1, 2, 3].map(|c| self.add(sum[c], part[c])) };
        }
        sum
    }

    /// Parts of the pixel: covered by both, by the source alone, by the destination alone.
    fn shares(&mut self, overlap: Overlap, s: Value, d: Value) -> [Value; 3] {
        let zero = self.e.f32(0.0);
        let (not_s, not_d) = (self.complement(s), self.complement(d));
        match overlap {
            Overlap::Uncorrelated => [self.mul(s, d), self.mul(s, not_d), self.mul(d, not_s)],
            Overlap::Conjoint => {
                let (s_d, d_s) = (self.sub(s, d), self.sub(d, s));
                [self.min(s, d), self.max(s_d, zero), self.max(d_s, zero)]
            }
            Overlap::Disjoint => {
                let both = self.sub(s, not_d);
                [self.max(both, zero), self.min(s, not_d), self.min(d, not_s)]
            }
        }
    }

    /// The colour where source and destination overlap.
    fn function(&mut self, op: Operation, s: Rgb, d: Rgb, rounding: f32) -> Rgb {
        match op {
            Operation::HslHue => self.set_saturation_luminosity(s, d, d),
            Operation::HslSaturation => self.set_saturation_luminosity(d, s, d),
            Operation::HslColor => self.set_luminosity(s, d),
            Operation::HslLuminosity => self.set_luminosity(d, s),
            Operation::HardMix => [0, 1, 2].map(|c| self.hard_mix(s[c], d[c], rounding)),
            _ => [0, 1, 2].map(|c| self.component(op, s[c], d[c])),
        }
    }

    /// A component of the colour where source and destination overlap, for operations that do not mix components.
    fn component(&mut self, op: Operation, s: Value, d: Value) -> Value {
        use Operation::*;
        let [zero, half, one, two] = [0.0, 0.5, 1.0, 2.0].map(|x| self.e.f32(x));
        match op {
            Src | SrcOver | SrcIn | SrcAtop => s,
            Dst | DstOver | DstIn | DstAtop => d,
            Multiply => self.mul(s, d),
            Screen => {
                let (sum, product) = (self.add(s, d), self.mul(s, d));
                self.sub(sum, product)
            }
            Overlay => self.hard_light(d, s),
            HardLight => self.hard_light(s, d),
            Darken => self.min(s, d),
            Lighten => self.max(s, d),
            ColorDodge => {
                let rest = self.complement(s);
                let q = self.div(d, rest);
                let q = self.min(one, q);
                let lit = self.if_less([s, one], q, one);
                self.if_at_most([d, zero], zero, lit)
            }
            ColorBurn => {
                let rest = self.complement(d);
                let q = self.div(rest, s);
                let q = self.min(one, q);
                let burnt = self.complement(q);
                let dark = self.if_at_most([s, zero], zero, burnt);
                self.if_at_most([one, d], one, dark)
            }
            SoftLight => self.soft_light(s, d),
            Difference => {
                let v = self.sub(d, s);
                self.e.op(Op::FAbs, &[v])
            }
            Exclusion => {
                let (sum, product) = (self.add(s, d), self.mul(s, d));
                let twice = self.mul(two, product);
                self.sub(sum, twice)
            }
            Invert => self.complement(d),
            InvertRgb => {
                let rest = self.complement(d);
                self.mul(s, rest)
            }
            LinearDodge => {
                let sum = self.add(s, d);
                self.min(sum, one)
            }
            LinearBurn => {
                let sum = self.add(s, d);
                let v = self.sub(sum, one);
                self.max(v, zero)
            }
            VividLight => {
                let (rest_s, rest_d) = (self.complement(s), self.complement(d));
                let (s2, rest_s2) = (self.mul(two, s), self.mul(two, rest_s));
                let burn = self.div(rest_d, s2);
                let burn = self.min(one, burn);
                let burn = self.complement(burn);
                let burn = self.if_at_most([s, zero], zero, burn);
                let dodge = self.div(d, rest_s2);
                let dodge = self.min(one, dodge);
                let dodge = self.if_at_most([one, s], one, dodge);
                self.if_less([s, half], burn, dodge)
            }
            LinearLight => {
                let s2 = self.mul(two, s);
                let sum = self.add(s2, d);
                let v = self.sub(sum, one);
                let v = self.max(v, zero);
                self.min(v, one)
            }
            PinLight => {
                let s2 = self.mul(two, s);
                let high = self.sub(s2, one);
                let d_half = self.mul(half, d);
                let above = self.if_less([s, half], zero, high);
                let below = self.if_less([s, d_half], s2, d);
                self.if_less([d, high], above, below)
            }
            // The others have no part that both cover, or mix components.
            _ => zero,
        }
    }

    /// 1 where source and destination reach 1 together, else 0: of all operations the one with a step where colours are likely to be.
    /// Three quarters and a quarter reach it, but the destination of 8 bits holds 191/255 for the former.
    fn hard_mix(&mut self, s: Value, d: Value, rounding: f32) -> Value {
        let [zero, one, step] = [0.0, 1.0, 1.0 - rounding].map(|x| self.e.f32(x));
        let sum = self.add(s, d);
        self.if_less([sum, step], zero, one)
    }

    /// The product of twice `a` and `b` for dark `a`, the complement of that of complements for bright `a`.
    fn hard_light(&mut self, a: Value, b: Value) -> Value {
        let (half, two) = (self.e.f32(0.5), self.e.f32(2.0));
        let product = self.mul(a, b);
        let dark = self.mul(two, product);
        let (rest_a, rest_b) = (self.complement(a), self.complement(b));
        let product = self.mul(rest_a, rest_b);
        let twice = self.mul(two, product);
        let bright = self.complement(twice);
        self.if_at_most([a, half], dark, bright)
    }

    fn soft_light(&mut self, s: Value, d: Value) -> Value {
        let [quarter, half, one, two] = [0.25, 0.5, 1.0, 2.0].map(|x| self.e.f32(x));
        let [three, twelve, sixteen] = [3.0, 12.0, 16.0].map(|x| self.e.f32(x));
        let s2 = self.mul(two, s);
        let weight = self.sub(s2, one);
        let rest = self.complement(d);
        // Dark: -weight is 1 - 2 s.
        let v = self.mul(d, rest);
        let dark = self.mul(weight, v);
        let p = self.mul(sixteen, d);
        let p = self.sub(p, twelve);
        let p = self.mul(p, d);
        let p = self.add(p, three);
        let low = self.mul(d, p);
        let root = self.e.op(Op::FSqrt, &[d]);
        let high = self.sub(root, d);
        let bright = self.if_at_most([d, quarter], low, high);
        let bright = self.mul(weight, bright);
        let change = self.if_at_most([s, half], dark, bright);
        self.add(d, change)
    }

    fn luminosity(&mut self, c: Rgb) -> Value {
        let [r, g, b] = [0.30, 0.59, 0.11].map(|x| self.e.f32(x));
        let (x, y, z) = (self.mul(c[0], r), self.mul(c[1], g), self.mul(c[2], b));
        let sum = self.add(x, y);
        self.add(sum, z)
    }

    fn smallest(&mut self, [r, g, b]: Rgb) -> Value {
        let v = self.min(r, g);
        self.min(v, b)
    }

    fn largest(&mut self, [r, g, b]: Rgb) -> Value {
        let v = self.max(r, g);
        self.max(v, b)
    }

    /// `base` with the luminosity of `of`, moved towards grey until all components are in 0–1.
    fn set_luminosity(&mut self, base: Rgb, of: Rgb) -> Rgb {
        let (from, to) = (self.luminosity(base), self.luminosity(of));
        let change = self.sub(to, from);
        let mut c = base.map(|v| self.add(v, change));
        let (zero, one) = (self.e.f32(0.0), self.e.f32(1.0));
        let grey = self.luminosity(c);
        let (low, high) = (self.smallest(c), self.largest(c));
        let below = self.sub(grey, low);
        c = c.map(|v| {
            let from_grey = self.sub(v, grey);
            let scaled = self.mul(from_grey, grey);
            let scaled = self.div(scaled, below);
            let moved = self.add(grey, scaled);
            self.if_less([low, zero], moved, v)
        });
        let (above, room) = (self.sub(high, grey), self.sub(one, grey));
        c.map(|v| {
            let from_grey = self.sub(v, grey);
            let scaled = self.mul(from_grey, room);
            let scaled = self.div(scaled, above);
            let moved = self.add(grey, scaled);
            self.if_less([one, high], moved, v)
        })
    }

    /// `base` with the saturation of one colour and the luminosity of another.
    fn set_saturation_luminosity(&mut self, base: Rgb, saturation: Rgb, luminosity: Rgb) -> Rgb {
        let zero = self.e.f32(0.0);
        let (low, high) = (self.smallest(base), self.largest(base));
        let has = self.sub(high, low);
        let (low_s, high_s) = (self.smallest(saturation), self.largest(saturation));
        let wants = self.sub(high_s, low_s);
        let c = base.map(|v| {
            let v = self.sub(v, low);
            let v = self.mul(v, wants);
            let v = self.div(v, has);
            self.if_less([zero, has], v, zero)
        });
        self.set_luminosity(c, luminosity)
    }

    /// Operations on premultiplied colours.
    fn additional(
        &mut self,
        op: Operation,
        (s, sa): (Rgb, Value),
        (d, da): (Rgb, Value),
    ) -> [Value; 4] {
        use Operation::*;
        let (zero, one, two) = (self.e.f32(0.0), self.e.f32(1.0), self.e.f32(2.0));
        let all = |[r, g, b]: Rgb, a: Value| [r, g, b, a];
        let sum = self.add(sa, da);
        let alpha = self.min(one, sum);
        match op {
            Plus => all([0, 1, 2].map(|c| self.add(s[c], d[c])), sum),
            PlusClamped | PlusClampedAlpha => {
                let most = if op == PlusClamped { one } else { alpha };
                let colour = [0, 1, 2].map(|c| {
                    let v = self.add(s[c], d[c]);
                    self.min(most, v)
                });
                all(colour, alpha)
            }
            PlusDarker => {
                let colour = [0, 1, 2].map(|c| {
                    let (x, y) = (self.sub(sa, s[c]), self.sub(da, d[c]));
                    let darkness = self.add(x, y);
                    let v = self.sub(alpha, darkness);
                    self.max(zero, v)
                });
                all(colour, alpha)
            }
            Minus => all([0, 1, 2].map(|c| self.sub(d[c], s[c])), self.sub(da, sa)),
            MinusClamped => {
                let mut v = all([0, 1, 2].map(|c| self.sub(d[c], s[c])), self.sub(da, sa));
                v = v.map(|v| self.max(zero, v));
                v
            }
            Contrast => {
                let half = self.e.f32(0.5);
                let (sh, dh) = (self.mul(sa, half), self.mul(da, half));
                let colour = [0, 1, 2].map(|c| {
                    let (x, y) = (self.sub(d[c], dh), self.sub(s[c], sh));
                    let product = self.mul(x, y);
                    let twice = self.mul(two, product);
                    self.add(dh, twice)
                });
                all(colour, da)
            }
            InvertOvg => {
                let rest = self.complement(sa);
                let colour = d.map(|d| {
                    let inverse = self.complement(d);
                    let (x, y) = (self.mul(sa, inverse), self.mul(rest, d));
                    self.add(x, y)
                });
                let product = self.mul(sa, da);
                all(colour, self.sub(sum, product))
            }
            Red => [s[0], d[1], d[2], da],
            Green => [d[0], s[1], d[2], da],
            // Blue: the others have coverage.
            _ => [d[0], d[1], s[2], da],
        }
    }
}
