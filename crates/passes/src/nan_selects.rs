//! Selects that follow from what comparisons with NaN give.
//!
//! A ray misses a sphere where a discriminant is negative. Its root is NaN there, so that whatever is compared with it fails, and
//! the choice between the two hits gives what the test of the discriminant would: that test is removed. Where the choice gives a
//! number that the next test takes for a miss, as -1 for a distance that has to be positive, it gives NaN instead, with which the
//! comparison with the nearest hit fails as well, and the two tests are one.

use crate::rewrite::{self, Emit, Lowering, Step};
use rustc_hash::FxHashMap;
use tepui_ir::cranelift_entity::SecondaryMap;
use tepui_ir::{Inst, Op, Shader, Value};

/// Maximum depth of the analysis in instructions.
const DEPTH: u32 = 12;

/// Runs the pass; true when it changed the shader.
pub fn run(s: &mut Shader) -> bool {
    let (mut roots, mut joins) = (false, false);
    s.walk(|s, _, i| match s.insts[i].op {
        Op::IAnd => joins |= s.args(i).iter().all(|&v| s.def_op(v) == Some(Op::FLt)),
        op => roots |= is_undefined_below_zero(op),
    });
    let removed = roots && rewrite::run(s, &mut Negative);
    if !joins {
        return removed;
    }
    let mut users: SecondaryMap<Value, Vec<Inst>> = SecondaryMap::new();
    s.walk(|s, _, i| s.args(i).iter().for_each(|&v| users[v].push(i)));
    removed | rewrite::run(s, &mut Positive { users, joined: FxHashMap::default() })
}

fn is_undefined_below_zero(op: Op) -> bool {
    matches!(op, Op::FSqrt | Op::FRsq | Op::FLog2)
}

/// A float constant.
fn number(s: &Shader, v: Value) -> Option<f32> {
    let bits = s.as_const(v)?;
    (s.ty(v).bits() == 32).then(|| f32::from_bits(bits as u32))
}

/// The operands of `a < b`.
fn less(s: &Shader, v: Value) -> Option<[Value; 2]> {
    let i = s.def_inst(v)?;
    (s.insts[i].op == Op::FLt).then(|| [s.arg(i, 0), s.arg(i, 1)])
}

/// The operands of a select of 32 bits.
fn select(s: &Shader, v: Value) -> Option<[Value; 3]> {
    let i = s.def_inst(v)?;
    let is_word = s.ty(v).is_scalar() && s.ty(v).bits() == 32;
    (is_word && s.insts[i].op == Op::Select).then(|| [s.arg(i, 0), s.arg(i, 1), s.arg(i, 2)])
}

/// Value of an expression if another value is negative.
enum Known {
    Nan,
    /// Equal to another value.
    Is(Value),
}

fn below_zero(s: &Shader, x: Value, v: Value, depth: u32) -> Known {
    let Some(i) = s.def_inst(v).filter(|_| depth < DEPTH) else { return Known::Is(v) };
    let (op, args) = (s.insts[i].op, s.args(i));
    let is_nan = |&a: &Value| matches!(below_zero(s, x, a, depth + 1), Known::Nan);
    match op {
        op if is_undefined_below_zero(op) && args[0] == x => Known::Nan,
        Op::FNeg | Op::FAbs | Op::FAdd | Op::FSub | Op::FMul | Op::FFma => {
            if args.iter().any(is_nan) { Known::Nan } else { Known::Is(v) }
        }
        Op::Select => {
            let test = s.def_inst(args[0]).map(|t| (s.insts[t].op, s.args(t)));
            match test {
                Some((Op::FLt | Op::FGe | Op::FEq, of)) if of.iter().any(is_nan) => {
                    below_zero(s, x, args[2], depth + 1)
                }
                Some((Op::FNeu, of)) if of.iter().any(is_nan) => {
                    below_zero(s, x, args[1], depth + 1)
                }
                _ => Known::Is(v),
            }
        }
        _ => Known::Is(v),
    }
}

/// Removes selects for negative numbers that give what the rest gives for them.
struct Negative;

impl Negative {
    fn get(s: &Shader, i: Inst) -> Option<Value> {
        let [condition, a, b] = select(s, *s.results(i).first()?)?;
        let [x, limit] = less(s, condition)?;
        if number(s, limit)? > 0.0 {
            return None;
        }
        let Known::Is(v) = below_zero(s, x, b, 0) else { return None };
        let same = v == a || v != b && s.as_const(v).is_some() && s.as_const(v) == s.as_const(a);
        same.then_some(b)
    }
}

impl Lowering for Negative {
    fn wants(&self, s: &Shader, i: Inst) -> bool {
        s.insts[i].op == Op::Select
    }

    fn inst(&mut self, e: &mut Emit, i: Inst) -> Step {
        Negative::get(e.s, i).map_or(Step::Keep, |v| Step::Replace(vec![v]))
    }
}

/// Joins the test that a choice is a positive number, and not the one that stands for none, with another comparison of it.
struct Positive {
    users: SecondaryMap<Value, Vec<Inst>>,
    /// By the condition: the choice, and that with NaN for none.
    joined: FxHashMap<Value, (Value, Value)>,
}

/// A choice that the second comparison tests as well.
struct Joined {
    choice: Value,
    /// Conditions and what is chosen if they hold, the first first; otherwise it is no number that passes the test.
    arms: Vec<(Value, Value)>,
    /// The upper bound of the comparison.
    limit: Value,
}

impl Positive {
    fn get(&self, s: &Shader, i: Inst) -> Option<Joined> {
        let &[a, b] = s.args(i) else { return None };
        self.of(s, i, a, b).or_else(|| self.of(s, i, b, a))
    }

    fn of(&self, s: &Shader, i: Inst, positive: Value, other: Value) -> Option<Joined> {
        let ([zero, choice], [compared, limit]) = (less(s, positive)?, less(s, other)?);
        let least = number(s, zero).filter(|&n| n >= 0.0)?;
        if compared != choice || limit == choice {
            return None;
        }
        let (tests, both) = ([s.def_inst(positive)?, s.def_inst(other)?], s.result(i));
        let alone = |v: Value| self.users[v].len() == 1;
        let known = |&u: &Inst| {
            let chosen = s.insts[u].op == Op::Select && s.args(u)[0] == both;
            tests.contains(&u) || chosen && s.args(u)[1] == choice && s.args(u)[2] != choice
        };
        if !alone(positive) || !alone(other) || !self.users[choice].iter().all(known) {
            return None;
        }
        let (mut arms, mut rest) = (Vec::new(), choice);
        while let Some([condition, a, b]) = select(s, rest) {
            let [least_of, value] = less(s, condition)?;
            if value != a || number(s, least_of)? < least || rest != choice && !alone(rest) {
                return None;
            }
            arms.push((condition, a));
            rest = b;
        }
        let none = number(s, rest)?;
        (!arms.is_empty() && arms.len() < DEPTH as usize && none <= least).then_some(Joined {
            choice,
            arms,
            limit,
        })
    }
}

impl Lowering for Positive {
    fn wants(&self, s: &Shader, i: Inst) -> bool {
        match s.insts[i].op {
            Op::IAnd => self.get(s, i).is_some(),
            op => op == Op::Select,
        }
    }

    fn inst(&mut self, e: &mut Emit, i: Inst) -> Step {
        if e.s.insts[i].op == Op::Select {
            let &[condition, a, b] = e.s.args(i) else { return Step::Keep };
            return match self.joined.get(&condition) {
                Some(&(choice, chosen)) if a == choice => {
                    Step::Replace(vec![e.select(condition, chosen, b)])
                }
                _ => Step::Keep,
            };
        }
        let Some(joined) = self.get(e.s, i) else { return Step::Keep };
        let mut chosen = e.f32(f32::NAN);
        for &(condition, v) in joined.arms.iter().rev() {
            chosen = e.select(condition, v, chosen);
        }
        let both = e.op(Op::FLt, &[chosen, joined.limit]);
        self.joined.insert(both, (joined.choice, chosen));
        Step::Replace(vec![both])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tepui_ir::interp::{self, Memory};

    /// The nearer hit of a ray, if it is nearer than another; `none` stands for no hit.
    fn shader(none: f32, limit: f32) -> Shader {
        let (none, limit) = (none.to_bits(), limit.to_bits());
        let text = format!(
            "shader compute \"main\" {{
  workgroup_size 1 1 1
  body {{
    %0:b32 = const[0x0]
    %1:b32 = const[{none:#x}]
    %2:b32 = const[{limit:#x}]
    %3:b64 = const[0x100000000]
    %4:b32 = const[0x4]
    %5:b32 = const[0x8]
    %10:b32 = load_uniform[align 4] %0
    %11:b32 = load_uniform[align 4] %4
    %12:b32 = load_uniform[align 4] %5
    %13:b1 = flt %10, %0
    %14:b32 = fsqrt %10
    %15:b32 = fsub %11, %14
    %16:b1 = flt %2, %15
    %17:b32 = fadd %11, %14
    %18:b1 = flt %2, %17
    %19:b32 = select %18, %17, %1
    %20:b32 = select %16, %15, %19
    %21:b32 = select %13, %1, %20
    %22:b1 = flt %0, %21
    %23:b1 = flt %21, %12
    %24:b1 = iand %22, %23
    %25:b32 = select %24, %21, %12
    store_global[align 4] %3, %25
    yield
  }}
}}
"
        );
        let s = tepui_ir::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        tepui_ir::validate(&s).unwrap_or_else(|e| panic!("{e}\n{s}"));
        s
    }

    fn executed(s: &Shader, [root, middle, nearest]: [f32; 3]) -> u32 {
        let uniforms = [root, middle, nearest].into_iter().flat_map(f32::to_le_bytes).collect();
        let mut m = Memory { uniforms, ..Memory::default() };
        m.physical.insert(1 << 32, vec![0xee; 4]);
        interp::dispatch(s, [1, 1, 1], &mut m, 10_000).expect("it runs");
        let b = &m.physical[&(1 << 32)];
        u32::from_le_bytes([b[0], b[1], b[2], b[3]])
    }

    #[test]
    fn hits_are_chosen_with_fewer_tests() {
        // -1 and the limit of a hit, 0.001; a limit below zero, with which a hit may be no positive number; none that is a hit.
        for (none, limit, joined) in [(-1.0, 0.001, true), (-1.0, -0.5, false), (1.0, 0.001, false)]
        {
            let before = shader(none, limit);
            let mut after = before.clone();
            assert!(run(&mut after), "the test of the root goes");
            crate::dce::run(&mut after);
            tepui_ir::validate(&after).unwrap_or_else(|e| panic!("{e}\n{after}"));
            let text = after.to_string();
            assert_eq!(text.contains("iand"), !joined, "{text}");
            assert_eq!(text.matches("select").count(), 3, "{text}");
            let values = [f32::NAN, f32::NEG_INFINITY, -4.0, -0.25, -0.0, 0.0, 0.25, 4.0, 1e9];
            for root in values {
                for middle in values {
                    for nearest in values {
                        let of = [root, middle, nearest];
                        let [a, b] = [&before, &after].map(|s| executed(s, of));
                        let nan = f32::from_bits(a).is_nan() && f32::from_bits(b).is_nan();
                        assert!(a == b || nan, "{of:?}: {a:#x} {b:#x}");
                    }
                }
            }
        }
    }
}
