//! Built-ins of compute shaders from those that threads have: the number of an invocation within its workgroup, and the
//! workgroup's.

use tepui_ir::{Attrs, Builtin, DerivativeGroup, Inst, Op, Shader, Type, Value};
use tepui_passes::rewrite::{self, Emit, Lowering, Step};

/// Runs the pass.
pub fn run(s: &mut Shader) -> bool {
    let [x, y, _] = s.info.workgroup_size;
    let squares = x.is_multiple_of(2) && y.is_multiple_of(2);
    let quads = s.info.derivatives == DerivativeGroup::Quads && squares;
    rewrite::run(s, &mut SystemValues { size: s.info.workgroup_size, quads })
}

struct SystemValues {
    size: [u32; 3],
    /// Four channels in a row form a square.
    quads: bool,
}

impl SystemValues {
    /// The position within the workgroup.
    fn position(&self, e: &mut Emit) -> [Value; 3] {
        if !self.quads {
            let index = load(e, Builtin::LocalInvocationIndex, 1);
            return parts(e, index, self.size);
        }
        // Threads have consecutive squares, which are those of a workgroup of half the size in both directions.
        let (thread, width) = (load(e, Builtin::SubgroupId, 1), load(e, Builtin::SubgroupSize, 1));
        let first = e.op(Op::IMul, &[thread, width]);
        let lane = load(e, Builtin::SubgroupInvocationId, 1);
        let number = e.op(Op::IAdd, &[first, lane]);
        let (one, two) = (e.u32(1), e.u32(2));
        let square = e.op(Op::UShr, &[number, two]);
        let [x, y, z] = self.size;
        let [i, j, k] = parts(e, square, [x / 2, y / 2, z]);
        let right = e.op(Op::IAnd, &[number, one]);
        let down = e.op(Op::UShr, &[number, one]);
        let down = e.op(Op::IAnd, &[down, one]);
        let [i, j] = [(i, right), (j, down)].map(|(half, own)| {
            let first = e.op(Op::IShl, &[half, one]);
            e.op(Op::IOr, &[first, own])
        });
        [i, j, k]
    }

    /// The number of a position, in order of x, y, z.
    fn index(&self, e: &mut Emit) -> Value {
        let [i, j, k] = self.position(e);
        let [x, y] = [0, 1].map(|axis| e.u32(self.size[axis]));
        let rows = e.op(Op::IMul, &[k, y]);
        let row = e.op(Op::IAdd, &[rows, j]);
        let before = e.op(Op::IMul, &[row, x]);
        e.op(Op::IAdd, &[before, i])
    }
}

/// The position of a number in a block of some size.
fn parts(e: &mut Emit, index: Value, [x, y, z]: [u32; 3]) -> [Value; 3] {
    // A dimension of one has the number 0, the last one takes what is left.
    let mut rest = index;
    [(x, y * z), (y, z), (z, 1)].map(|(n, after)| {
        if n == 1 {
            return e.u32(0);
        }
        if after == 1 {
            return rest;
        }
        let size = e.u32(n);
        let here = e.op(Op::UMod, &[rest, size]);
        rest = e.op(Op::UDiv, &[rest, size]);
        here
    })
}

fn load(e: &mut Emit, b: Builtin, comps: u8) -> Value {
    let ty = if comps == 1 { Type::B32 } else { Type::vec(32, comps) };
    let i = e.inst(Op::LoadBuiltin, Attrs::Builtin(b), &[], &[ty]);
    e.s.result(i)
}

impl Lowering for SystemValues {
    fn wants(&self, s: &Shader, i: Inst) -> bool {
        let position = Attrs::Builtin(Builtin::LocalInvocationId);
        let global = Attrs::Builtin(Builtin::GlobalInvocationId);
        let index = Attrs::Builtin(Builtin::LocalInvocationIndex);
        let attrs = s.insts[i].attrs;
        s.insts[i].op == Op::LoadBuiltin
            && (attrs == position || attrs == global || self.quads && attrs == index)
    }

    fn inst(&mut self, e: &mut Emit, i: Inst) -> Step {
        if e.s.insts[i].attrs == Attrs::Builtin(Builtin::LocalInvocationIndex) {
            return Step::Replace(vec![self.index(e)]);
        }
        let local = self.position(e);
        if e.s.insts[i].attrs == Attrs::Builtin(Builtin::LocalInvocationId) {
            return Step::Replace(vec![e.vec(&local)]);
        }
        let group = load(e, Builtin::WorkgroupId, 3);
        let parts: Vec<Value> = (0..3)
            .map(|k| {
                let (id, size) = (e.extract(group, k), e.u32(self.size[k as usize]));
                let first = e.op(Op::IMul, &[id, size]);
                e.op(Op::IAdd, &[first, local[k as usize]])
            })
            .collect();
        Step::Replace(vec![e.vec(&parts)])
    }
}
