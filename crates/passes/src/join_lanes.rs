//! Joins operations on small scalars into operations on vectors of a target's shape: two 16-bit additions into one of a pair of
//! halves.
//!
//! A vector is the seed: if its components come from the same operation, the operation is done on the vector of its operands,
//! whose vectors are seeds in turn. Components of existing vectors and constants are joined for free. It is done where fewer
//! instructions remain, vectors that must be put together included.
//! source: Larsen and Amarasinghe, "Exploiting Superword Level Parallelism with Multimedia Instruction Sets", PLDI 2000

use crate::rewrite::{self, Emit, Lowering, Step};
use tepui_ir::cranelift_entity::SecondaryMap;
use tepui_ir::cranelift_entity::packed_option::PackedOption;
use tepui_ir::{Attrs, Inst, Op, Region, Shader, Value};

/// Vectors that the target computes with at once.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Bits of a component.
    pub bits: u8,
    /// Components.
    pub lanes: usize,
    /// Whether an operation has an instruction for such vectors.
    pub has: fn(Op) -> bool,
}

impl Default for Shape {
    /// Pairs of 16 bits, with every operation that works on components.
    fn default() -> Shape {
        Shape { bits: 16, lanes: 2, has: |_| true }
    }
}

/// Maximum depth of joined expressions.
const MAX_DEPTH: u32 = 16;

/// Runs the pass. Unused scalars are left to `dce`.
pub fn run(s: &mut Shader, shape: &Shape) -> bool {
    let is_seed = |s: &Shader, i| seed(s, i, shape);
    if !s.any(|s, _, i| is_seed(s, i)) {
        return false;
    }
    let mut uses: SecondaryMap<Value, u32> = SecondaryMap::with_capacity(s.values.len());
    let mut region = SecondaryMap::with_capacity(s.insts.len());
    s.walk(|s, r, i| {
        region[i] = r.into();
        for &a in s.args(i) {
            uses[a] += 1;
        }
    });
    rewrite::run(s, &mut Join { shape, uses, region })
}

/// Whether an instruction is a vector that may be a seed.
fn seed(s: &Shader, i: Inst, shape: &Shape) -> bool {
    let is_vector = |ty: tepui_ir::Type| {
        ty.bits() == shape.bits && usize::from(ty.comps()).is_multiple_of(shape.lanes)
    };
    s.insts[i].op == Op::Vec && is_vector(s.ty(s.result(i)))
}

struct Join<'a> {
    shape: &'a Shape,
    uses: SecondaryMap<Value, u32>,
    /// The region of each instruction that was there before the pass.
    region: SecondaryMap<Inst, PackedOption<Region>>,
}

/// A plan for a vector.
enum Vector {
    /// A value that is there already.
    Known(Value),
    /// Put together: from constants for free, from others by an instruction.
    Parts(Vec<Value>),
    /// An operation on vectors, as those of its components' instructions; the first of these.
    Joined(Inst, Vec<Vector>),
}

/// Instructions that a plan saves and that it takes.
#[derive(Default)]
struct Cost {
    joined: usize,
    packs: usize,
}

impl Join<'_> {
    fn plan(
        &self,
        s: &Shader,
        parts: &[Value],
        home: Region,
        depth: u32,
        cost: &mut Cost,
    ) -> Vector {
        if let Some(v) = self.whole(s, parts) {
            return Vector::Known(v);
        }
        if let Some(insts) = self.alike(s, parts, home).filter(|_| depth < MAX_DEPTH) {
            cost.joined += 1;
            let operands = (0..s.args(insts[0]).len())
                .map(|n| {
                    let parts: Vec<Value> = insts.iter().map(|&i| s.arg(i, n)).collect();
                    self.plan(s, &parts, home, depth + 1, cost)
                })
                .collect();
            return Vector::Joined(insts[0], operands);
        }
        cost.packs += usize::from(!parts.iter().all(|&p| s.is_const(p)));
        Vector::Parts(parts.to_vec())
    }

    /// The vector whose components these are, in order.
    fn whole(&self, s: &Shader, parts: &[Value]) -> Option<Value> {
        let component = |v: Value| {
            let i = s.def_inst(v).filter(|&i| s.insts[i].op == Op::Extract)?;
            let Attrs::Index(k) = s.insts[i].attrs else { return None };
            Some((s.arg(i, 0), k as usize))
        };
        let (v, _) = component(parts[0])?;
        let in_order = || (0..parts.len()).all(|k| component(parts[k]) == Some((v, k)));
        (usize::from(s.ty(v).comps()) == parts.len() && in_order()).then_some(v)
    }

    /// The instructions of these values, if they may be joined: the same operation, whose result nothing else uses.
    fn alike(&self, s: &Shader, parts: &[Value], home: Region) -> Option<Vec<Inst>> {
        let insts: Vec<Inst> = parts.iter().map(|&v| s.def_inst(v)).collect::<Option<_>>()?;
        let first = &s.insts[insts[0]];
        let small = |v: &Value| s.ty(*v).is_scalar() && s.ty(*v).bits() == self.shape.bits;
        let fits = |i: Inst| {
            let d = &s.insts[i];
            (d.op, d.attrs, d.flags) == (first.op, first.attrs, first.flags)
                && self.region[i] == home.into()
                && self.uses[s.result(i)] == 1
                && s.args(i).iter().all(small)
        };
        let op = first.op;
        let is_known = op.is_elementwise() && op.is_pure() && !matches!(op, Op::Const | Op::Copy);
        let ok = is_known && s.results(insts[0]).len() == 1 && (self.shape.has)(op);
        let distinct = (1..insts.len()).all(|k| !insts[..k].contains(&insts[k]));
        (ok && distinct && insts.iter().all(|&i| fits(i))).then_some(insts)
    }

    fn build(&self, e: &mut Emit, plan: &Vector) -> Value {
        match plan {
            Vector::Known(v) => *v,
            Vector::Parts(parts) => e.vec(parts),
            Vector::Joined(like, operands) => {
                let args: Vec<Value> = operands.iter().map(|o| self.build(e, o)).collect();
                let d = &e.s.insts[*like];
                let (op, attrs, flags, loc) = (d.op, d.attrs, d.flags, d.loc);
                let ty = e.s.ty(e.s.result(*like)).with_comps(self.shape.lanes as u8);
                let before = (e.flags, e.loc);
                (e.flags, e.loc) = (flags, loc);
                let v = e.value(op, attrs, &args, ty);
                (e.flags, e.loc) = before;
                v
            }
        }
    }
}

impl Lowering for Join<'_> {
    fn wants(&self, s: &Shader, i: Inst) -> bool {
        seed(s, i, self.shape)
    }

    fn inst(&mut self, e: &mut Emit, i: Inst) -> Step {
        let Some(home) = self.region[i].expand() else { return Step::Keep };
        let parts = e.s.args(i).to_vec();
        let lanes = self.shape.lanes;
        let mut all = Vec::with_capacity(parts.len());
        let mut changed = false;
        for chunk in parts.chunks(lanes) {
            let mut cost = Cost::default();
            let plan = self.plan(e.s, chunk, home, 0, &mut cost);
            // Before, each joined operation was one for each lane, and the seed was put together.
            let is_better = cost.joined > 0 && cost.joined + cost.packs < lanes * cost.joined + 1;
            if !is_better {
                all.extend_from_slice(chunk);
                continue;
            }
            let v = self.build(e, &plan);
            if chunk.len() == parts.len() {
                return Step::Replace(vec![v]);
            }
            changed = true;
            all.extend(
                (0..lanes as u32)
                    .map(|k| e.value(Op::Extract, Attrs::Index(k), &[v], e.s.ty(v).elem())),
            );
        }
        if changed { Step::Replace(vec![e.vec(&all)]) } else { Step::Keep }
    }
}
