//! Every algebraic rule against `fold` on random operands of every size that both sides take.

use proptest::prelude::*;
use tepui_ir::op::fold;
use tepui_ir::{Attrs, Op, Pat, Type, mask};
use tepui_passes::rules::{Expr, RULES, When, parse};
use tepui_passes::simplify::float_bits;

/// Evaluates one side. `bits` is the size of T of the expression's context.
fn eval(e: &Expr, binds: &[(u8, u64); 4], ty: Type) -> Option<(Type, u64)> {
    match e {
        Expr::Var(n) | Expr::Const(n) | Expr::Pow2(n) => {
            let (b, v) = binds[*n as usize];
            let bits = if b == 0 { ty.bits() } else { b };
            Some((Type::scalar(bits), v & mask(bits)))
        }
        Expr::Int(x) => Some((ty, *x as u64 & ty.mask())),
        Expr::Float(x) => Some((ty, float_bits(ty.bits(), *x))),
        Expr::Op(op, args) => {
            let info = op.info();
            let vals: Vec<(Type, u64)> = args
                .iter()
                .zip(info.operands)
                .map(|(a, p)| {
                    let t = match p {
                        Pat::B => Type::B1,
                        Pat::W => Type::B32,
                        _ => ty,
                    };
                    eval(a, binds, t)
                })
                .collect::<Option<_>>()?;
            let result = match info.results[0] {
                Pat::B => Type::B1,
                Pat::W => Type::B32,
                _ => vals
                    .iter()
                    .zip(info.operands)
                    .find(|(_, p)| !matches!(p, Pat::B | Pat::W))
                    .map(|(v, _)| v.0)?,
            };
            let parts: Vec<_> = vals.iter().map(|(t, v)| (*t, [*v])).collect();
            let refs: Vec<_> = parts.iter().map(|(t, v)| (*t, &v[..])).collect();
            let mut out = Vec::new();
            fold(*op, &refs, &Attrs::None, &[result], &mut out).then(|| (result, out[0]))
        }
    }
}

fn number(bits: u8, v: u64) -> f64 {
    let mut out = Vec::new();
    fold(Op::F2F, &[(Type::scalar(bits), &[v])], &Attrs::None, &[Type::B64], &mut out);
    f64::from_bits(out[0])
}

/// Marks letters that are truth values (first operand of a select).
fn bools(e: &Expr, out: &mut [bool; 4]) {
    if let Expr::Op(op, args) = e {
        for (a, p) in args.iter().zip(op.info().operands) {
            if let (Expr::Var(n), Pat::B) = (a, p) {
                out[*n as usize] = true;
            }
            bools(a, out);
        }
    }
}

fn pow2(e: &Expr, out: &mut [bool; 4]) {
    match e {
        Expr::Pow2(n) => out[*n as usize] = true,
        Expr::Op(_, args) => args.iter().for_each(|a| pow2(a, out)),
        _ => {}
    }
}

fn is_float(e: &Expr) -> bool {
    match e {
        Expr::Op(op, args) => op.info().operands.contains(&Pat::F) || args.iter().any(is_float),
        _ => false,
    }
}

/// Whether a condition is also a result. Then all are booleans.
fn is_bool(e: &Expr) -> bool {
    let Expr::Op(op, args) = e else { return false };
    let text: Vec<String> = args.iter().map(|a| format!("{a:?}")).collect();
    *op == Op::Select && text[1..].contains(&text[0]) || args.iter().any(is_bool)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn rules_hold(words in prop::array::uniform4(any::<u64>()), small in any::<bool>()) {
        for &(when, from, to) in RULES {
            let (f, t) = (parse(from), parse(to));
            let (mut bool_of, mut pow_of) = ([false; 4], [false; 4]);
            bools(&f, &mut bool_of);
            pow2(&f, &mut pow_of);
            let float = is_float(&f);
            let sizes: &[u8] = match (float, is_bool(&f)) {
                (true, _) => &[32, 64],
                (_, true) => &[1],
                _ => &[8, 16, 32, 64],
            };
            for &bits in sizes {
                let binds = [0, 1, 2, 3].map(|k| {
                    if bool_of[k] {
                        return (1, words[k] & 1);
                    }
                    let w = if small { words[k] % 5 } else { words[k] };
                    let v = if pow_of[k] {
                        1 << (words[k] % u64::from(bits))
                    } else if float {
                        // Moderate numbers: the rules that are not exact are about rounding, not
                        // overflow.
                        float_bits(bits, (w % 2000) as f64 / 8.0 - 100.0)
                    } else {
                        w & mask(bits)
                    };
                    (bits, v)
                });
                let ty = Type::scalar(bits);
                let (Some(a), Some(b)) = (eval(&f, &binds, ty), eval(&t, &binds, ty)) else {
                    panic!("{from} -> {to} has no meaning at {bits} bits");
                };
                // An integer stands in any shape; it takes the type of what it replaces.
                let b = if matches!(t, Expr::Int(_)) { b.1 & a.0.mask() } else { b.1 };
                let same = match when {
                    When::Always => a.1 == b,
                    _ => {
                        let (x, y) = (number(bits, a.1), number(bits, b));
                        let slack = if matches!(when, When::Inexact | When::Contract) { 1e-3 * x.abs().max(1.0) } else { 0.0 };
                        x == y || !x.is_finite() || (x - y).abs() <= slack
                    }
                };
                prop_assert!(same, "{from} -> {to} at {bits} bits with {binds:?}: {a:?} and {b:#x}");
            }
        }
    }
}
