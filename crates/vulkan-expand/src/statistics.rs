//! Programs of pipeline statistics.

use tepui_ir::{AtomicOp, Attrs, Mem, Op, Shader, Type, Value};
use tepui_vulkan_kit::MetaBuilder;

use crate::order::Order;

/// Adds to a 64-bit number in memory.
fn add_to(m: &mut MetaBuilder<'_>, at: Value, n: Value) {
    let before = m.load(at, Type::vec(64, 1), 0);
    let sum = m.op(Op::IAdd, before, n);
    m.store(at, sum, 0);
}

/// Words: address (2), what is added (2).
pub(super) fn add(m: &mut MetaBuilder<'_>) {
    let (at, n) = (m.driver_long(0), m.driver_long(2));
    add_to(m, at, n);
}

/// Words: arguments of the dispatch (2), address (2), threads of a workgroup.
pub(super) fn count_threads(m: &mut MetaBuilder<'_>) {
    let (from, at) = (m.driver_long(0), m.driver_long(2));
    let threads = m.driver(4);
    let mut n = m.long(threads);
    for k in 0..3 {
        let groups = m.load(from, Type::B32, 4 * k);
        let groups = m.long(groups);
        n = m.op(Op::IMul, n, groups);
    }
    add_to(m, at, n);
}

/// Counts primitives of an order, or vertices. Words: arguments of the draws (2), address (2), draws, bytes from one to the next.
pub(super) fn count_draws(m: &mut MetaBuilder<'_>, order: Option<Order>) {
    let [x, ..] = m.id();
    let (from, at) = (m.driver_long(0), m.driver_long(2));
    let (draws, stride) = (m.driver(4), m.driver(5));
    let inside = m.op(Op::ULt, x, draws);
    m.when(inside, |m| {
        let (i, stride) = (m.long(x), m.long(stride));
        let own = m.op(Op::IMul, i, stride);
        let own = m.op(Op::IAdd, from, own);
        let count = m.load(own, Type::B32, 0);
        let instances = m.load(own, Type::B32, 4);
        let n = match order {
            None => count,
            Some(order) => {
                let (fewer, each) = order.primitives();
                let fewer = m.ir.u32(fewer);
                let some = m.op(Op::UGe, count, fewer);
                let rest = m.op(Op::ISub, count, fewer);
                let zero = m.ir.u32(0);
                let rest = m.ir.select(some, rest, zero);
                let each = m.ir.u32(each);
                m.op(Op::UDiv, rest, each)
            }
        };
        let (n, instances) = (m.long(n), m.long(instances));
        let n = m.op(Op::IMul, n, instances);
        add_to(m, at, n);
    });
}

/// Makes a fragment shader count its invocations, at the address in the first two words of the driver's.
pub fn count_fragments(s: &mut Shader) {
    let root = s.root;
    let old = std::mem::take(&mut s.regions[root].insts);
    let mut m = MetaBuilder::new(s, 1);
    let at = m.driver_long(0);
    let one = m.ir.u32(1);
    let mem = Mem { align_log2: 2, ..Mem::default() };
    m.ir.inst(Op::AtomicGlobal, Attrs::Atomic(AtomicOp::Add, mem), &[at, one], &[Type::B32]);
    s.regions[root].insts.extend(old);
}
