//! Algebraic rules, as data.
//!
//! A rule is a pattern and a replacement, written as text: `(op a b)`. `a b c d` match any value,
//! the same letter the same value; `#a` matches a constant; `0` and other integers match that
//! constant in every component; `0.0`, `1.0` match float constants. Operands of commutative ops
//! match in either order. The replacement has the type of what it replaces. Every rule is tested
//! against [`tepui_ir::op::fold`] on random operands of every size it takes.

use std::sync::LazyLock;
use tepui_ir::{InstFlags, Op, Props, Shader, Value};

/// Condition on which a rule holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    /// Always, bit for bit.
    Always,
    /// Unless NaNs, infinities or the sign of zero must be preserved ([`InstFlags::STRICT`]) or the
    /// instruction is exact.
    Loose,
    /// Unless the instruction is exact or strict: rounding and special values may differ.
    Inexact,
    /// Unless the instruction is exact ([`InstFlags::EXACT`]): two roundings become one. Not on 64
    /// bits, where that costs more in software.
    Contract,
}

/// The rules: condition, pattern, replacement.
pub const RULES: &[(When, &str, &str)] = &[
    // integers
    (When::Always, "(iadd a 0)", "a"),
    (When::Always, "(isub a 0)", "a"),
    (When::Always, "(isub a a)", "0"),
    (When::Always, "(isub 0 a)", "(ineg a)"),
    (When::Always, "(iadd a (ineg b))", "(isub a b)"),
    (When::Always, "(isub a (ineg b))", "(iadd a b)"),
    (When::Always, "(ineg (ineg a))", "a"),
    (When::Always, "(iadd (iadd a #b) #c)", "(iadd a (iadd b c))"),
    (When::Always, "(isub a #b)", "(iadd a (ineg b))"),
    (When::Always, "(ineg (isub a b))", "(isub b a)"),
    (When::Always, "(iadd (isub a b) b)", "a"),
    (When::Always, "(isub (iadd a b) b)", "a"),
    (When::Always, "(imul a 0)", "0"),
    (When::Always, "(imul a 1)", "a"),
    (When::Always, "(imul a -1)", "(ineg a)"),
    (When::Always, "(imul a ^b)", "(ishl a (find_lsb b))"),
    (When::Always, "(udiv a 1)", "a"),
    (When::Always, "(udiv a ^b)", "(ushr a (find_lsb b))"),
    (When::Always, "(umod a ^b)", "(iand a (isub b 1))"),
    (When::Always, "(sdiv a 1)", "a"),
    (When::Always, "(iand a a)", "a"),
    (When::Always, "(iand a 0)", "0"),
    (When::Always, "(iand a -1)", "a"),
    (When::Always, "(ior a a)", "a"),
    (When::Always, "(ior a 0)", "a"),
    (When::Always, "(ior a -1)", "-1"),
    (When::Always, "(ixor a a)", "0"),
    (When::Always, "(ixor a 0)", "a"),
    (When::Always, "(ixor a -1)", "(inot a)"),
    (When::Always, "(inot (inot a))", "a"),
    (When::Always, "(iand a (inot a))", "0"),
    (When::Always, "(ior a (inot a))", "-1"),
    (When::Always, "(iand (iand a #b) #c)", "(iand a (iand b c))"),
    (When::Always, "(ior (ior a #b) #c)", "(ior a (ior b c))"),
    (When::Always, "(ior a (iand a b))", "a"),
    (When::Always, "(iand a (ior a b))", "a"),
    (When::Always, "(ishl a 0)", "a"),
    (When::Always, "(ushr a 0)", "a"),
    (When::Always, "(sshr a 0)", "a"),
    (When::Always, "(smin a a)", "a"),
    (When::Always, "(smax a a)", "a"),
    (When::Always, "(umin a a)", "a"),
    (When::Always, "(umax a a)", "a"),
    (When::Always, "(umax a 0)", "a"),
    (When::Always, "(umin a 0)", "0"),
    (When::Always, "(umin a -1)", "a"),
    (When::Always, "(iabs (ineg a))", "(iabs a)"),
    (When::Always, "(iabs (iabs a))", "(iabs a)"),
    (When::Always, "(bit_reverse (bit_reverse a))", "a"),
    // comparisons and selects
    (When::Always, "(ieq a a)", "-1"),
    (When::Always, "(ine a a)", "0"),
    (When::Always, "(sge a a)", "-1"),
    (When::Always, "(slt a a)", "0"),
    (When::Always, "(uge a a)", "-1"),
    (When::Always, "(uge a 0)", "-1"),
    (When::Always, "(ult a a)", "0"),
    (When::Always, "(ult a 0)", "0"),
    (When::Always, "(ieq (isub a b) 0)", "(ieq a b)"),
    (When::Always, "(ine (isub a b) 0)", "(ine a b)"),
    (When::Always, "(inot (ieq a b))", "(ine a b)"),
    (When::Always, "(inot (ine a b))", "(ieq a b)"),
    (When::Always, "(inot (slt a b))", "(sge a b)"),
    (When::Always, "(inot (sge a b))", "(slt a b)"),
    (When::Always, "(inot (ult a b))", "(uge a b)"),
    (When::Always, "(inot (uge a b))", "(ult a b)"),
    (When::Always, "(inot (feq a b))", "(fneu a b)"),
    (When::Always, "(inot (fneu a b))", "(feq a b)"),
    (When::Always, "(select -1 a b)", "a"),
    (When::Always, "(select 0 a b)", "b"),
    (When::Always, "(select a b b)", "b"),
    (When::Always, "(select (inot a) b c)", "(select a c b)"),
    (When::Always, "(select a (select a b c) d)", "(select a b d)"),
    (When::Always, "(select a b (select a c d))", "(select a b d)"),
    (When::Always, "(select a a b)", "(ior a b)"),
    (When::Always, "(select a b a)", "(iand a b)"),
    (When::Always, "(copy a)", "a"),
    // floats
    (When::Always, "(fneg (fneg a))", "a"),
    (When::Always, "(fabs (fneg a))", "(fabs a)"),
    (When::Always, "(fabs (fabs a))", "(fabs a)"),
    (When::Loose, "(fadd a (fneg b))", "(fsub a b)"),
    (When::Loose, "(fsub a (fneg b))", "(fadd a b)"),
    (When::Loose, "(fadd a 0.0)", "a"),
    (When::Loose, "(fadd a -0.0)", "a"),
    (When::Loose, "(fsub a 0.0)", "a"),
    (When::Loose, "(fsub 0.0 a)", "(fneg a)"),
    (When::Loose, "(fmul a 0.0)", "0.0"),
    (When::Loose, "(fmul a 1.0)", "a"),
    (When::Loose, "(fmul a -1.0)", "(fneg a)"),
    (When::Loose, "(fmul (fneg a) (fneg b))", "(fmul a b)"),
    // Signs outwards, so that products which differ in them are one.
    (When::Loose, "(fmul a (fneg b))", "(fneg (fmul a b))"),
    (When::Loose, "(ffma a (fneg b) (fneg c))", "(fneg (ffma a b c))"),
    (When::Loose, "(fdiv a 1.0)", "a"),
    (When::Loose, "(fdiv 1.0 a)", "(frcp a)"),
    (When::Inexact, "(frcp (frcp a))", "a"),
    (When::Loose, "(fsub a a)", "0.0"),
    (When::Loose, "(ffma a 0.0 b)", "b"),
    (When::Loose, "(ffma a 1.0 b)", "(fadd a b)"),
    (When::Loose, "(ffma a -1.0 b)", "(fsub b a)"),
    (When::Loose, "(ffma a b 0.0)", "(fmul a b)"),
    (When::Loose, "(fmin a a)", "a"),
    (When::Loose, "(fmax a a)", "a"),
    (When::Loose, "(fmax a (fneg a))", "(fabs a)"),
    (When::Loose, "(fmin (fmin a #b) #c)", "(fmin a (fmin b c))"),
    (When::Loose, "(fmax (fmax a #b) #c)", "(fmax a (fmax b c))"),
    (When::Loose, "(fmul (fabs a) (fabs a))", "(fmul a a)"),
    (When::Always, "(fsat (fsat a))", "(fsat a)"),
    (When::Loose, "(fmin (fmax a 0.0) 1.0)", "(fsat a)"),
    (When::Loose, "(fmax (fmin a 1.0) 0.0)", "(fsat a)"),
    (When::Inexact, "(fpow a 1.0)", "a"),
    (When::Inexact, "(fpow a 2.0)", "(fmul a a)"),
    (When::Inexact, "(fpow a 0.5)", "(fsqrt a)"),
    (When::Inexact, "(frcp (fsqrt a))", "(frsq a)"),
    (When::Inexact, "(fdiv a (fsqrt b))", "(fmul a (frsq b))"),
    (When::Inexact, "(fexp2 (flog2 a))", "a"),
    (When::Inexact, "(flog2 (fexp2 a))", "a"),
    (When::Inexact, "(fmul (fmul a #b) #c)", "(fmul a (fmul b c))"),
    (When::Inexact, "(fadd (fadd a #b) #c)", "(fadd a (fadd b c))"),
    (When::Inexact, "(ffma #a #b c)", "(fadd c (fmul a b))"),
    // mixtures
    (When::Inexact, "(ffma (fsub 1.0 a) b (fmul a c))", "(ffma a c (ffma (fneg a) b b))"),
    (When::Inexact, "(ffma a c (fmul (fsub 1.0 a) b))", "(ffma a c (ffma (fneg a) b b))"),
    (When::Inexact, "(ffma a #c (ffma (fneg a) #b #b))", "(ffma a (fsub c b) b)"),
    (When::Inexact, "(fadd (fsub a b) b)", "a"),
    (When::Contract, "(fadd (fmul a b) c)", "(ffma a b c)"),
    (When::Contract, "(fsub c (fmul a b))", "(ffma (fneg a) b c)"),
    (When::Contract, "(fsub (fmul a b) c)", "(ffma a b (fneg c))"),
];

/// A parsed pattern.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A value by letter.
    Var(u8),
    /// A constant by letter.
    Const(u8),
    /// A constant power of two by letter.
    Pow2(u8),
    /// An integer in every component.
    Int(i64),
    /// A float in every component.
    Float(f64),
    /// An op.
    Op(Op, Vec<Expr>),
}

/// A parsed rule.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Condition on which it holds.
    pub when: When,
    /// The pattern.
    pub from: Expr,
    /// The replacement.
    pub to: Expr,
}

/// The rules whose pattern has one op at its root, in order; sets of them as bits.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// The rules.
    pub rules: Vec<Rule>,
    /// Rules with a constant among the pattern's operands.
    with_const: u64,
    /// Rules with an operand that this op must define.
    with_op: Vec<(Op, u64)>,
}

impl Rules {
    fn push(&mut self, rule: Rule) {
        assert!(self.rules.len() < 63, "sets of rules are bits of a word");
        let bit = 1 << self.rules.len();
        if let Expr::Op(_, operands) = &rule.from {
            for e in operands {
                match e {
                    Expr::Var(_) => {}
                    Expr::Op(op, _) => match self.with_op.iter_mut().find(|w| w.0 == *op) {
                        Some(w) => w.1 |= bit,
                        None => self.with_op.push((*op, bit)),
                    },
                    _ => self.with_const |= bit,
                }
            }
        }
        self.rules.push(rule);
    }

    /// The rules that may match an instruction's operands: most need a constant, or the result of
    /// some op.
    pub fn for_operands(
        &self,
        s: &Shader,
        args: &[Value],
    ) -> impl Iterator<Item = &Rule> + use<'_> {
        let mut left = (1u64 << self.rules.len()) - 1;
        if left & self.with_const != 0 && !args.iter().any(|&a| s.is_const(a)) {
            left &= !self.with_const;
        }
        for &(op, rules) in &self.with_op {
            if !args.iter().any(|&a| s.def_op(a) == Some(op)) {
                left &= !rules;
            }
        }
        std::iter::from_fn(move || {
            let n = left.trailing_zeros();
            left &= left.wrapping_sub(1);
            self.rules.get(n as usize)
        })
    }
}

fn expr(words: &mut std::iter::Peekable<std::vec::IntoIter<String>>) -> Expr {
    let w = words.next().unwrap_or_default();
    let letter = |s: &str| s.bytes().next().unwrap_or(b'a') - b'a';
    match w.as_str() {
        "(" => {
            let name = words.next().unwrap_or_default();
            let Some(op) = Op::from_name(&name) else { panic!("rule names unknown op {name}") };
            let mut args = Vec::new();
            while words.peek().is_some_and(|w| w != ")") {
                args.push(expr(words));
            }
            words.next();
            Expr::Op(op, args)
        }
        s if s.starts_with('#') => Expr::Const(letter(&s[1..])),
        s if s.starts_with('^') => Expr::Pow2(letter(&s[1..])),
        s if s.contains('.') => {
            Expr::Float(s.parse().unwrap_or_else(|_| panic!("rule has bad number {s}")))
        }
        s => s.parse().map_or_else(|_| Expr::Var(letter(s)), Expr::Int),
    }
}

/// Parses a pattern or a replacement.
///
/// # Panics
/// On an unknown op or number: the table above is the only source of patterns, and is parsed by a
/// test.
#[must_use]
pub fn parse(text: &str) -> Expr {
    let spaced = text.replace('(', " ( ").replace(')', " ) ");
    let words: Vec<String> = spaced.split_whitespace().map(str::to_owned).collect();
    expr(&mut words.into_iter().peekable())
}

/// Rules by the op at the root of their pattern.
pub static BY_OP: LazyLock<Vec<Rules>> = LazyLock::new(|| {
    let mut by = vec![Rules::default(); tepui_ir::op::OPS.len()];
    for &(when, from, to) in RULES {
        let (from, to) = (parse(from), parse(to));
        if let Expr::Op(op, _) = from {
            by[op as usize].push(Rule { when, from, to });
        }
    }
    by
});

impl Rule {
    /// Whether the rule may rewrite an instruction with these flags and results of this many bits.
    #[must_use]
    pub fn allowed(&self, f: InstFlags, bits: u8) -> bool {
        match self.when {
            When::Always => true,
            When::Contract => !f.contains(InstFlags::EXACT) && bits < 64,
            When::Loose | When::Inexact => !f.intersects(InstFlags::STRICT | InstFlags::EXACT),
        }
    }
}

/// Whether the first two operands may be swapped to match.
#[must_use]
pub fn commutes(op: Op) -> bool {
    op.props().contains(Props::COMM)
}
