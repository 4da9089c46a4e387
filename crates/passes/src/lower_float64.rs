//! Lowers 64-bit floats to integer arithmetic, for GPUs that have none.
//!
//! Runs on scalars (after [`crate::scalarise`]) and before [`crate::lower_int64`], which lowers the
//! resulting 64-bit integers. Values keep their types, because types only say how many bits there
//! are. Results are those of IEEE 754: rounded once to nearest even. Denormals are kept whatever
//! the float controls ask (flushing is only permitted, never required, for 64-bit floats), and
//! arithmetic returns one canonical NaN. `frsq` and `fmod` are composed of correctly rounded steps.
//! No shading language has 64-bit exponentials, logarithms and trigonometry, so these are not
//! lowered.
//!
//! A number is unpacked into sign, exponent and significand ([`Num`]); [`round`] packs it and is
//! the only place that rounds. [`arith`] has sums, products and quotients, [`convert`] the
//! conversions, [`integral`] operations that work on the bits in place.
//!
//! All code is inlined, because the IR has no calls; `docs/compiler.md` has the cost.

use crate::rewrite::{self, Emit, Lowering, Step};
use tepui_ir::{Inst, Op, Shader, Type, Value};

/// IR as a nested expression: `ir!(e, (IAdd (IShl a 3u32) b))`. Leaves are values, integer
/// constants of their Rust type, and Rust expressions in braces; `(if c a b)` is a select, `(fn f a
/// b)` what `f(e, a, b)` gives.
macro_rules! ir {
    ($e:ident, (if $c:tt $a:tt $b:tt)) => {{
        let (c, a, b) = (ir!($e, $c), ir!($e, $a), ir!($e, $b));
        $e.select(c, a, b)
    }};
    ($e:ident, (fn $f:ident $a:tt)) => {{
        let a = ir!($e, $a);
        $f($e, a)
    }};
    ($e:ident, (fn $f:ident $a:tt $b:tt)) => {{
        let (a, b) = (ir!($e, $a), ir!($e, $b));
        $f($e, a, b)
    }};
    ($e:ident, (fn $f:ident $a:tt $b:tt $c:tt)) => {{
        let (a, b, c) = (ir!($e, $a), ir!($e, $b), ir!($e, $c));
        $f($e, a, b, c)
    }};
    ($e:ident, ($op:ident $($a:tt)+)) => {{
        let args = [$(ir!($e, $a)),+];
        $e.op(Op::$op, &args)
    }};
    ($e:ident, $leaf:tt) => {
        $crate::lower_float64::Leaf::value($leaf, $e)
    };
}

mod arith;
mod convert;
mod integral;

/// The end of an expression.
trait Leaf {
    /// Its value.
    fn value(self, e: &mut Emit) -> Value;
}

impl Leaf for Value {
    fn value(self, _: &mut Emit) -> Value {
        self
    }
}

impl Leaf for u32 {
    fn value(self, e: &mut Emit) -> Value {
        e.u32(self)
    }
}

impl Leaf for i32 {
    fn value(self, e: &mut Emit) -> Value {
        e.u32(self as u32)
    }
}

impl Leaf for u64 {
    fn value(self, e: &mut Emit) -> Value {
        e.konst(Type::B64, self)
    }
}

/// The sign in the high word.
const SIGN: u32 = 1 << 31;
/// Bits of the fraction.
const FRACTION: u64 = (1 << 52) - 1;
/// The exponent of 1.0.
const BIAS: i32 = 1023;
/// The exponent of infinities.
const INF_EXP: i32 = 0x7ff;
/// Infinity.
const INF: u64 = 0x7ff << 52;
/// The not-a-number that arithmetic gives.
const NAN: u64 = 0x7ff8 << 48;
/// The bit of a quiet NaN: conversions and scaling keep its other bits.
const QUIET: u64 = 1 << 51;
/// 1.0.
const ONE: u64 = 0x3ff << 52;

/// Runs the pass.
pub fn run(s: &mut Shader) -> bool {
    rewrite::run(s, &mut Pass)
}

struct Pass;

impl Lowering for Pass {
    fn wants(&self, s: &Shader, i: Inst) -> bool {
        let wide = |v: &Value| s.ty(*v) == Type::B64;
        matches!(s.results(i), [r] if s.ty(*r).is_scalar())
            && s.args(i).iter().chain(s.results(i)).any(wide)
    }

    fn inst(&mut self, e: &mut Emit, i: Inst) -> Step {
        let op = e.s.insts[i].op;
        let ty = e.ty(e.s.result(i));
        let args = e.s.args(i).to_vec();
        match lower(e, op, &args, ty) {
            Some(v) => Step::Replace(vec![v]),
            None => Step::Keep,
        }
    }
}

/// Lowers an op on scalars, some of them 64 bits wide.
fn lower(e: &mut Emit, op: Op, args: &[Value], ty: Type) -> Option<Value> {
    let wide = e.ty(*args.first()?).bits() == 64;
    Some(match (op, args) {
        (Op::F2F | Op::F2FRtz, &[a]) if wide => convert::narrow(e, a, ty, op == Op::F2FRtz),
        (Op::F2F | Op::F2FRtz, &[a]) => convert::widen(e, a),
        (Op::F2S | Op::F2U, &[a]) if wide => convert::to_int(e, a, op == Op::F2S, ty),
        (Op::S2F | Op::U2F, &[a]) if ty.bits() == 64 => convert::from_int(e, a, op == Op::S2F),
        (Op::B2F, &[a]) => ir!(e, (if a ONE 0u64)),
        _ if !wide => return None,
        (Op::FNeg, &[a]) => ir!(e, (IXor a {1u64 << 63})),
        (Op::FAbs, &[a]) => abs(e, a),
        (Op::FAdd, &[a, b]) => arith::add(e, a, b),
        (Op::FSub, &[a, b]) => ir!(e, (fn plus a (IXor b {1u64 << 63}))),
        (Op::FMul, &[a, b]) => arith::mul(e, a, b),
        (Op::FFma, &[a, b, c]) => arith::fma(e, a, b, c),
        (Op::FDiv, &[a, b]) => arith::div(e, a, b),
        (Op::FRcp, &[a]) => ir!(e, (fn over ONE a)),
        (Op::FSqrt, &[a]) => arith::sqrt(e, a),
        (Op::FRsq, &[a]) => ir!(e, (fn over ONE (fn root a))),
        (Op::FRem, &[a, b]) => arith::rem(e, a, b),
        (Op::FMod, &[a, b]) => {
            ir!(e, (fn minus a (fn times b (fn floor (fn over a b)))))
        }
        (Op::FFract, &[a]) => ir!(e, (fn minus a (fn floor a))),
        (Op::FFloor, &[a]) => integral::round(e, a, integral::To::Down),
        (Op::FCeil, &[a]) => integral::round(e, a, integral::To::Up),
        (Op::FTrunc, &[a]) => integral::round(e, a, integral::To::Zero),
        (Op::FRoundEven, &[a]) => integral::round(e, a, integral::To::Even),
        (Op::FMin | Op::FMax, &[a, b]) => integral::extreme(e, op, a, b),
        (Op::FSat, &[a]) => integral::saturate(e, a),
        (Op::FSign, &[a]) => integral::sign(e, a),
        (Op::FEq | Op::FNeu | Op::FLt | Op::FGe, &[a, b]) => integral::compare(e, op, a, b),
        (Op::FLdexp, &[a, n]) => arith::ldexp(e, a, n),
        (Op::FFrexpSig, &[a]) => arith::frexp(e, a).0,
        (Op::FFrexpExp, &[a]) => arith::frexp(e, a).1,
        _ => return None,
    })
}

fn plus(e: &mut Emit, a: Value, b: Value) -> Value {
    arith::add(e, a, b)
}

fn minus(e: &mut Emit, a: Value, b: Value) -> Value {
    ir!(e, (fn plus a (IXor b {1u64 << 63})))
}

fn times(e: &mut Emit, a: Value, b: Value) -> Value {
    arith::mul(e, a, b)
}

fn over(e: &mut Emit, a: Value, b: Value) -> Value {
    arith::div(e, a, b)
}

fn root(e: &mut Emit, a: Value) -> Value {
    arith::sqrt(e, a)
}

fn floor(e: &mut Emit, a: Value) -> Value {
    integral::round(e, a, integral::To::Down)
}

/// The high word.
fn high(e: &mut Emit, a: Value) -> Value {
    let words = e.convert(Op::Bitcast, a, Type::vec(32, 2));
    e.extract(words, 1)
}

/// The low word.
fn low(e: &mut Emit, a: Value) -> Value {
    e.convert(Op::U2U, a, Type::B32)
}

fn join(e: &mut Emit, lo: Value, hi: Value) -> Value {
    let words = e.vec(&[lo, hi]);
    e.convert(Op::Bitcast, words, Type::B64)
}

/// 0 or 1.
fn bit(e: &mut Emit, c: Value) -> Value {
    e.convert(Op::B2I, c, Type::B32)
}

/// 0 or 1, 64 bits wide.
fn bit64(e: &mut Emit, c: Value) -> Value {
    e.convert(Op::B2I, c, Type::B64)
}

/// A signed 32-bit number, 64 bits wide.
fn extend(e: &mut Emit, a: Value) -> Value {
    e.convert(Op::S2S, a, Type::B64)
}

fn abs(e: &mut Emit, a: Value) -> Value {
    ir!(e, (IAnd a {u64::MAX >> 1}))
}

/// The sign in bit 31.
fn sign_of(e: &mut Emit, a: Value) -> Value {
    ir!(e, (IAnd (fn high a) SIGN))
}

/// Gives bits without a sign one, from bit 31.
fn with_sign(e: &mut Emit, a: Value, sign: Value) -> Value {
    let (lo, hi) = (low(e, a), high(e, a));
    ir!(e, (fn join lo (IOr hi sign)))
}

/// Shifts right; what is lost leaves a one in the lowest bit, so that rounding knows of it. 0 <= n
/// <= 63.
fn shift_jam(e: &mut Emit, a: Value, n: Value) -> Value {
    let x = ir!(e, (UShr a n));
    ir!(e, (IOr x (fn bit64 (INe (IShl x n) a))))
}

/// The magnitude of a finite number.
struct Num {
    exp: Value,
    sig: Value,
}

/// Unpacks a magnitude without normalising: `sig` * 2^(`exp` - bias - 52).
fn unpack(e: &mut Emit, a: Value) -> Num {
    let field = ir!(e, (UBitExtract (fn high a) 20u32 11u32));
    let hidden = ir!(e, (fn join 0u32 (IShl (fn bit (INe field 0u32)) 20u32)));
    let sig = ir!(e, (IOr (IAnd a FRACTION) hidden));
    Num { exp: ir!(e, (SMax field 1u32)), sig }
}

/// Unpacks a number and normalises it: the highest bit of `sig` is set unless the number is zero; the
/// value is `sig` * 2^(`exp` - bias - 63).
fn unpack_normal(e: &mut Emit, a: Value) -> Num {
    let Num { exp, sig } = unpack(e, a);
    let n = ir!(e, (ISub 63u32 (UFindMsb sig)));
    Num { exp: ir!(e, (ISub (IAdd exp 11u32) n)), sig: ir!(e, (IShl sig n)) }
}

/// The number nearest to `sig` * 2^(`exp` - bias - 62), where the highest bit set of `sig` is bit
/// 62 or none is: ten bits are rounded away. The sign is bit 31.
fn round(e: &mut Emit, sign: Value, exp: Value, sig: Value) -> Value {
    // Denormals have the exponent of the smallest normal number and as few bits as that leaves.
    let under = ir!(e, (SMin (SMax (ISub 1u32 exp) 0u32) 63u32));
    let sig = shift_jam(e, sig, under);
    let some = ir!(e, (INe sig 0u64));
    let exp = ir!(e, (if some (SMax exp 1u32) 1u32));
    let odd = ir!(e, (IAnd (UShr sig 10u32) 1u64));
    let sig = ir!(e, (UShr (IAdd (IAdd sig 0x1ffu64) odd) 10u32));
    // The leading one adds to the exponent, and so does a carry out of the fraction.
    let biased = ir!(e, (IShl (ISub exp 1u32) 20u32));
    let (lo, hi) = (low(e, sig), high(e, sig));
    let bits = ir!(e, (fn join lo (IAdd hi biased)));
    let bits = ir!(e, (if (SLt exp INF_EXP) bits INF));
    with_sign(e, bits, sign)
}
