//! Floating-point operations on 32 and 16 bits, against correctly rounded results and the precision that the
//! Vulkan specification requires ("Precision of Operation of SPIR-V Instructions").
//!
//! Denormals may be flushed on input and on output, so an element may match the answer for any combination of
//! the two.

use std::f64::consts::PI;

use half::f16;

use super::map;
use crate::case::{Case, Output, Rule};
use crate::number::{Elem, Random, Scalar, nearest_half};

/// A float type, whose values are computed as `f64`.
pub(super) trait Float: Scalar {
    const WIDTH: u32;
    fn to(self) -> f64;
    fn from(x: f64) -> Self;
}

impl Float for f32 {
    const WIDTH: u32 = 32;
    fn to(self) -> f64 {
        self as f64
    }
    fn from(x: f64) -> f32 {
        x as f32
    }
}

impl Float for f16 {
    const WIDTH: u32 = 16;
    fn to(self) -> f64 {
        self.to_f64()
    }
    fn from(x: f64) -> f16 {
        nearest_half(x)
    }
}

/// The required precision of a result: text for people, and the absolute tolerance for inputs and result.
#[derive(Clone, Copy)]
enum Precision {
    /// The correctly rounded result.
    Correct,
    /// Units in the last place.
    Ulp(f64),
    /// An absolute distance, by a formula over type, inputs and exact result.
    By(&'static str, fn(Elem, &[f64], f64) -> f64),
}

/// The range of inputs.
#[derive(Clone, Copy)]
enum Domain {
    /// Arbitrary bits, and edge cases.
    Any,
    /// Between two values.
    Within(f64, f64),
}

struct FunctionCase {
    name: &'static str,
    expr: &'static str,
    arity: usize,
    precision: Precision,
    domain: Domain,
    /// The exact result; `None` if the specification leaves it undefined.
    exact: fn(&[f64]) -> Option<f64>,
}

fn flush<F: Float>(x: f64) -> f64 {
    if x.abs() < F::ELEM.min_normal() { 0f64.copysign(x) } else { x }
}

fn inputs<F: Float>(row: &FunctionCase) -> Vec<Vec<F>> {
    match (row.domain, row.arity) {
        (Domain::Any, 1) => vec![map::unary_inputs::<F>()],
        (Domain::Any, 2) => {
            let (a, b) = map::binary_inputs::<F, F>();
            vec![a, b]
        }
        (Domain::Any, _) => {
            let (a, b, c) = map::ternary_inputs::<F, F, F>();
            vec![a, b, c]
        }
        (Domain::Within(low, high), arity) => {
            let mut random = Random::new(81);
            let mut one = || {
                (0..2048)
                    .map(|_| F::from(random.float(low as f32, high as f32) as f64))
                    .collect::<Vec<F>>()
            };
            (0..arity).map(|_| one()).collect()
        }
    }
}

fn case<F: Float>(row: FunctionCase) -> Case {
    let name = format!("f{}/{}", F::WIDTH, row.name);
    let shader = map::shader::<F>(row.arity, &[F::GLSL; 3][..row.arity], row.expr)
        .define("PRESERVE", F::WIDTH);
    let text = match row.precision {
        Precision::Correct => "correctly rounded".to_owned(),
        Precision::Ulp(n) => format!("{n} ULP"),
        Precision::By(text, _) => text.to_owned(),
    };
    Case::new(name, format!("{} ({text})", row.expr), vec![shader], move |bench| {
        let columns = inputs::<F>(&row);
        let count = columns[0].len();
        let bytes: Vec<_> = columns.iter().map(|c| F::to_bytes(c)).collect();
        let got = map::run::<F>(bench, &bytes, count)?;
        let mut accepted = vec![Vec::new(); 4];
        let (mut tolerance, mut defined) = (Vec::new(), Vec::new());
        for i in 0..count {
            let x: Vec<f64> = columns.iter().map(|c| c[i].to()).collect();
            let flushed: Vec<f64> = x.iter().map(|&x| flush::<F>(x)).collect();
            let (kept, lost) = ((row.exact)(&x), (row.exact)(&flushed));
            defined.push(kept.is_some() && lost.is_some());
            let answers = [kept, lost].map(Option::unwrap_or_default);
            for (k, answer) in answers.into_iter().enumerate() {
                accepted[2 * k].push(F::from(answer));
                accepted[2 * k + 1].push(F::from(flush::<F>(answer)));
            }
            tolerance.push(match row.precision {
                Precision::Correct => 0.0,
                // The reference itself is rounded, with an error of half a unit.
                Precision::Ulp(n) => (n + 0.5) * F::ELEM.ulp(answers[0]),
                Precision::By(_, f) => f(F::ELEM, &x, answers[0]) + 0.5 * F::ELEM.ulp(answers[0]),
            });
        }
        let rule = match row.precision {
            Precision::Correct => Rule::Bits,
            _ => Rule::Each(text.clone(), tolerance),
        };
        let mut output = Output::cpu("r", &got, &accepted[0], rule).defined(defined);
        for other in &accepted[1..] {
            output = output.or(other);
        }
        for (name, column) in ["a", "b", "c"].iter().zip(&columns) {
            output = output.column(name, column);
        }
        Ok(vec![output])
    })
}

/// The value if it is not NaN: results are undefined if operands are NaN.
fn number(x: &[f64], result: f64) -> Option<f64> {
    x.iter().all(|x| !x.is_nan()).then_some(result)
}

/// The figure for 32 bits or for 16.
fn pick(elem: Elem, single: f64, half: f64) -> f64 {
    if elem == Elem::F32 { single } else { half }
}

/// Error of a logarithm near 1.
fn log_error(elem: Elem) -> f64 {
    pick(elem, 2f64.powi(-21), 2f64.powi(-7))
}

/// Error of sine and cosine between -pi and pi.
fn circular_error(elem: Elem) -> f64 {
    pick(elem, 2f64.powi(-11), 2f64.powi(-7))
}

/// The rows, the same for every width.
fn rows() -> Vec<FunctionCase> {
    use Domain::{Any, Within};
    use Precision::{By, Correct, Ulp};
    let row = |name, expr, arity, precision, domain, exact| FunctionCase {
        name,
        expr,
        arity,
        precision,
        domain,
        exact,
    };
    // exp: 3 + 2|x| ULP, for half 1 + 2|x|.
    let exponential = By("3 + 2|x| ULP, half 1 + 2|x|", |e, x, r| {
        (pick(e, 3.0, 1.0) + 2.0 * x[0].abs()) * e.ulp(r)
    });
    let logarithm = By("3 ULP; 2^-21 in [0.5, 2], half 2^-7", |e, x, r| {
        if (0.5..=2.0).contains(&x[0]) { log_error(e) } else { 3.0 * e.ulp(r) }
    });
    let circular = By("2^-11, half 2^-7", |e, _, _| circular_error(e));
    // sin / cos, each off by the above.
    let tangent =
        By("sin / cos", |e, _, r| circular_error(e) * (1.0 + r.abs()) * (1.0 + r * r).sqrt() * 1.2);
    let arc = By("4096 ULP, half 5", |e, _, r| pick(e, 4096.0, 5.0) * e.ulp(r));
    // The second operand is off by some units near |x| = 1.
    let arc_sine = By("atan2(x, sqrt(1 - x x))", |e, _, r| {
        pick(e, 4096.0, 5.0) * e.ulp(r) + pick(e, 2f64.powi(-11), 2f64.powi(-6))
    });
    // The units are those of the larger exponential.
    let hyperbolic =
        By("(exp(x) - exp(-x)) / 2", |e, x, _| (4.0 + 2.0 * x[0].abs()) * e.ulp(x[0].abs().exp()));
    let tanh = By("sinh / cosh", |e, x, _| (8.0 + 4.0 * x[0].abs()) * e.ulp(1.0));
    let area = By("log(x + sqrt(x x + 1))", |e, _, r| 2.0 * log_error(e) + 4.0 * e.ulp(r));
    // The error of the logarithm is multiplied by y.
    let power = By("exp2(y log2(x))", |e, x, r| {
        let product = x[1] * x[0].log2();
        let logarithm = log_error(e).max(3.0 * e.ulp(x[0].log2()));
        (pick(e, 3.0, 1.0) + 2.0 * product.abs()) * e.ulp(r)
            + r.abs() * 0.75 * (x[1].abs() * logarithm + e.ulp(product))
    });
    // The product may be rounded before the sum.
    let fused = By("one rounding or two", |e, x, r| 0.5 * e.ulp(x[0] * x[1]) + 0.5 * e.ulp(r));
    let mix = By("x (1 - a) + y a", |e, x, _| {
        4.0 * e.ulp(x[0].abs().max(x[1].abs()) * (1.0 + 2.0 * x[2].abs()))
    });
    let steps = By("t t (3 - 2 t)", |e, _, _| 16.0 * e.ulp(1.0));
    vec![
        row("neg", "-a", 1, Correct, Any, |x| Some(-x[0])),
        row("abs", "abs(a)", 1, Correct, Any, |x| Some(x[0].abs())),
        row("neg_abs", "-abs(a)", 1, Correct, Any, |x| Some(-x[0].abs())),
        row("sign", "sign(a)", 1, Correct, Any, |x| {
            number(x, x[0].signum()).filter(|_| x[0] != 0.0)
        }),
        row("floor", "floor(a)", 1, Correct, Any, |x| Some(x[0].floor())),
        row("ceil", "ceil(a)", 1, Correct, Any, |x| Some(x[0].ceil())),
        row("trunc", "trunc(a)", 1, Correct, Any, |x| Some(x[0].trunc())),
        row("round_even", "roundEven(a)", 1, Correct, Any, |x| Some(x[0].round_ties_even())),
        // The direction of ties is unspecified.
        row("round", "round(a)", 1, Correct, Any, |x| {
            ((x[0] - x[0].trunc()).abs() != 0.5).then(|| x[0].round())
        }),
        row("fract", "fract(a)", 1, Ulp(1.0), Within(-1000.0, 1000.0), |x| {
            Some(x[0] - x[0].floor())
        }),
        row("saturate", "clamp(a, TA(0), TA(1))", 1, Correct, Any, |x| {
            number(x, x[0].clamp(0.0, 1.0)).filter(|_| x[0] != 0.0)
        }),
        row("add", "a + b", 2, Correct, Any, |x| Some(x[0] + x[1])),
        row("sub", "a - b", 2, Correct, Any, |x| Some(x[0] - x[1])),
        row("mul", "a * b", 2, Correct, Any, |x| Some(x[0] * x[1])),
        row("mul_neg_abs", "-abs(a) * -b", 2, Correct, Any, |x| Some(-x[0].abs() * -x[1])),
        row("add_constant", "a + TA(1.5)", 1, Correct, Any, |x| Some(x[0] + 1.5)),
        row("mul_constant", "a * TA(0.75)", 1, Correct, Any, |x| Some(x[0] * 0.75)),
        row("fma", "fma(a, b, c)", 3, fused, Within(-8.0, 8.0), |x| Some(x[0].mul_add(x[1], x[2]))),
        row("mad", "a * b + c", 3, fused, Within(-8.0, 8.0), |x| Some(x[0].mul_add(x[1], x[2]))),
        row("msub", "c - a * b", 3, fused, Within(-8.0, 8.0), |x| {
            Some((-x[0]).mul_add(x[1], x[2]))
        }),
        row("div", "a / b", 2, Ulp(2.5), Any, |x| {
            let (low, high) = (2f64.powi(-126), 2f64.powi(126));
            let quotient = x[0] / x[1];
            let finite = x[0].is_finite() && (low..=high).contains(&x[1].abs());
            finite.then_some(quotient)
        }),
        row("reciprocal", "TA(1) / a", 1, Ulp(2.5), Within(0.001, 1000.0), |x| Some(1.0 / x[0])),
        row("mod", "mod(a, b)", 2, Ulp(1e9), Within(1.0, 64.0), |x| {
            // Far enough from a jump that the quotient's rounding does not cross it.
            let quotient = x[0] / x[1];
            let part = quotient - quotient.floor();
            (0.05..0.95).contains(&part).then(|| x[0] - x[1] * quotient.floor())
        }),
        row("min", "min(a, b)", 2, Correct, Any, |x| {
            number(x, x[0].min(x[1])).filter(|_| x[0] != x[1])
        }),
        row("max", "max(a, b)", 2, Correct, Any, |x| {
            number(x, x[0].max(x[1])).filter(|_| x[0] != x[1])
        }),
        row("clamp", "clamp(a, min(b, c), max(b, c))", 3, Correct, Any, |x| {
            let distinct = x[0] != x[1] && x[1] != x[2] && x[0] != x[2];
            let clamped = x[0].max(x[1].min(x[2])).min(x[1].max(x[2]));
            number(x, clamped).filter(|_| distinct)
        }),
        row("step", "step(a, b)", 2, Correct, Any, |x| {
            number(x, if x[1] < x[0] { 0.0 } else { 1.0 })
        }),
        row("mix", "mix(a, b, c)", 3, mix, Within(-4.0, 4.0), |x| {
            Some(x[0] * (1.0 - x[2]) + x[1] * x[2])
        }),
        row("smoothstep", "smoothstep(TA(1), TA(3), a)", 1, steps, Within(-1.0, 5.0), |x| {
            let t = ((x[0] - 1.0) / 2.0).clamp(0.0, 1.0);
            Some(t * t * (3.0 - 2.0 * t))
        }),
        row("sqrt", "sqrt(a)", 1, Ulp(4.5), Any, |x| (x[0] >= 0.0).then(|| x[0].sqrt())),
        row("inversesqrt", "inversesqrt(a)", 1, Ulp(2.0), Any, |x| {
            (x[0] > 0.0).then(|| x[0].sqrt().recip())
        }),
        row("exp", "exp(a)", 1, exponential, Within(-10.0, 10.0), |x| Some(x[0].exp())),
        row("exp2", "exp2(a)", 1, exponential, Within(-14.0, 14.0), |x| Some(x[0].exp2())),
        row("log", "log(a)", 1, logarithm, Any, |x| (x[0] > 0.0).then(|| x[0].ln())),
        row("log2", "log2(a)", 1, logarithm, Any, |x| (x[0] > 0.0).then(|| x[0].log2())),
        row("pow", "pow(a, b)", 2, power, Within(0.1, 3.0), |x| Some(x[0].powf(x[1]))),
        row("sin", "sin(a)", 1, circular, Within(-PI, PI), |x| Some(x[0].sin())),
        row("cos", "cos(a)", 1, circular, Within(-PI, PI), |x| Some(x[0].cos())),
        row("tan", "tan(a)", 1, tangent, Within(-1.3, 1.3), |x| Some(x[0].tan())),
        row("asin", "asin(a)", 1, arc_sine, Within(-1.0, 1.0), |x| Some(x[0].asin())),
        row("acos", "acos(a)", 1, arc_sine, Within(-1.0, 1.0), |x| Some(x[0].acos())),
        row("atan", "atan(a)", 1, arc, Within(-20.0, 20.0), |x| Some(x[0].atan())),
        row("atan2", "atan(a, b)", 2, arc, Within(-5.0, 5.0), |x| Some(x[0].atan2(x[1]))),
        row("sinh", "sinh(a)", 1, hyperbolic, Within(-5.0, 5.0), |x| Some(x[0].sinh())),
        row("cosh", "cosh(a)", 1, hyperbolic, Within(-5.0, 5.0), |x| Some(x[0].cosh())),
        row("tanh", "tanh(a)", 1, tanh, Within(-4.0, 4.0), |x| Some(x[0].tanh())),
        row("asinh", "asinh(a)", 1, area, Within(-20.0, 20.0), |x| Some(x[0].asinh())),
        row("acosh", "acosh(a)", 1, area, Within(1.5, 20.0), |x| Some(x[0].acosh())),
        row("atanh", "atanh(a)", 1, area, Within(-0.9, 0.9), |x| Some(x[0].atanh())),
        row("degrees", "degrees(a)", 1, Ulp(2.0), Within(-10.0, 10.0), |x| Some(x[0].to_degrees())),
        row("radians", "radians(a)", 1, Ulp(2.0), Within(-400.0, 400.0), |x| {
            Some(x[0].to_radians())
        }),
        row("select", "a < b ? c : b", 3, Correct, Within(-4.0, 4.0), |x| {
            Some(if x[0] < x[1] { x[2] } else { x[1] })
        }),
    ]
}

/// Comparisons of the operands, without those that are undefined for denormals.
fn compare<F: Float>() -> Vec<Case> {
    let denormal = |x: F| x.to() != 0.0 && flush::<F>(x.to()) == 0.0;
    let name = |op: &str| format!("f{}/{op}", F::WIDTH);
    vec![
        map::preserving(
            F::WIDTH,
            map::binary::<F, F, u32>(
                name("compare"),
                "uint(a < b) | uint(a <= b) << 1 | uint(a == b) << 2 | uint(a != b) << 3 | \
                 uint(a >= b) << 4 | uint(a > b) << 5 | uint(!(a < b)) << 6 | \
                 uint(!(a >= b)) << 7",
                move |a, b| {
                    if denormal(a) || denormal(b) {
                        return None;
                    }
                    let (a, b) = (a.to(), b.to());
                    #[expect(clippy::neg_cmp_op_on_partial_ord, reason = "NaN is the point")]
                    let bits = [a < b, a <= b, a == b, a != b, a >= b, a > b, !(a < b), !(a >= b)];
                    Some(bits.iter().enumerate().map(|(i, &bit)| u32::from(bit) << i).sum())
                },
            ),
        ),
        map::preserving(
            F::WIDTH,
            map::unary::<F, u32>(name("class"), "uint(isnan(a)) | uint(isinf(a)) << 1", |a| {
                Some(u32::from(a.to().is_nan()) | u32::from(a.to().is_infinite()) << 1)
            }),
        ),
    ]
}

/// Results of several parts, and bit operations.
fn parts() -> Vec<Case> {
    let normal = |a: f32| a.is_normal() || a == 0.0;
    vec![
        map::unary::<f32, u32>("f32/to_bits".into(), "floatBitsToUint(a)", |a| Some(a.to_bits())),
        map::unary::<u32, f32>("f32/from_bits".into(), "uintBitsToFloat(a)", |a| {
            // A bitwise move keeps denormals; a NaN's payload may change.
            Some(f32::from_bits(a))
        }),
        map::unary::<f32, [f32; 2]>("f32/modf".into(), "split_modf(a)", move |a| {
            normal(a).then(|| [a - a.trunc(), a.trunc()]).filter(|p| p[0] != 0.0)
        }),
        map::unary::<f32, [f32; 2]>("f32/frexp".into(), "split_frexp(a)", move |a| {
            if !a.is_normal() {
                return (a == 0.0).then_some([a, 0.0]);
            }
            let exponent = (a.to_bits() >> 23 & 0xff) as i32 - 126;
            Some([f32::from_bits(a.to_bits() & 0x807f_ffff | 126 << 23), exponent as f32])
        }),
        map::binary::<f32, i32, f32>("f32/ldexp".into(), "ldexp(a, b % 100)", move |a, b| {
            // GLSL's remainder is only defined for operands that are not negative.
            let scaled = a as f64 * 2f64.powi(b.checked_rem(100)?);
            let kept = b >= 0 && normal(a) && (scaled as f32).is_finite() && normal(scaled as f32);
            kept.then_some(scaled as f32)
        }),
    ]
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = rows().into_iter().map(case::<f32>).collect();
    cases.extend(compare::<f32>());
    cases.extend(parts());
    cases.extend(rows().into_iter().map(case::<f16>));
    cases.extend(compare::<f16>());
    cases
}
