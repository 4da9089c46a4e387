//! Programs of pipeline statistics.

use tepui_ir::{AtomicOp, Attrs, Mem, Op, Shader, Type, Value};
use tepui_sysval::{Long, push_words};

use crate::order::{Order, primitives};
use tepui_vulkan_kit::MetaBuilder;

/// Adds to a 64-bit number in memory.
fn add_to(m: &mut MetaBuilder<'_>, at: Value, n: Value) {
    let before = m.load(at, Type::vec(64, 1), 0);
    let sum = m.op(Op::IAdd, before, n);
    m.store(at, sum, 0);
}

push_words! {
    /// Words of [`crate::Program::Add`].
    pub struct AddWords {
        /// Address of a 64-bit number.
        pub address: Long,
        /// Number that is added.
        pub number: Long,
    }

    /// Words of [`crate::Program::CountThreads`].
    pub struct CountThreadsWords {
        /// Address of the arguments of the dispatch.
        pub arguments: Long,
        /// Address of the sum.
        pub sum: Long,
        /// Threads of a workgroup.
        pub threads: u32,
    }

    /// Words of [`crate::Program::CountDraws`].
    pub struct CountDrawsWords {
        /// Address of the arguments of the first draw.
        pub arguments: Long,
        /// Address of the sum.
        pub sum: Long,
        /// Draws.
        pub draws: u32,
        /// Bytes from the arguments of a draw to those of the next.
        pub stride: u32,
    }

    /// Words of fragment shaders that count their invocations.
    pub struct CountedWords {
        /// Address of the counter.
        pub counter: Long,
    }
}

/// Adds a number in the words to one in memory.
pub(super) fn add(m: &mut MetaBuilder<'_>) {
    let (at, n) = (m.word(AddWords::ADDRESS), m.word(AddWords::NUMBER));
    add_to(m, at, n);
}

/// Adds up the threads of a dispatch.
pub(super) fn count_threads(m: &mut MetaBuilder<'_>) {
    let from = m.word(CountThreadsWords::ARGUMENTS);
    let at = m.word(CountThreadsWords::SUM);
    let threads = m.word(CountThreadsWords::THREADS);
    let mut n = m.long(threads);
    for k in 0..3 {
        let groups = m.load(from, Type::B32, 4 * k);
        let groups = m.long(groups);
        n = m.op(Op::IMul, n, groups);
    }
    add_to(m, at, n);
}

/// Adds up the vertices of draws, or their primitives if they have an order. One thread: sums of 64 bits are not atomic.
pub(super) fn count_draws(m: &mut MetaBuilder<'_>, order: Option<Order>) {
    let (from, at) = (m.word(CountDrawsWords::ARGUMENTS), m.word(CountDrawsWords::SUM));
    let (draws, stride) = (m.word(CountDrawsWords::DRAWS), m.word(CountDrawsWords::STRIDE));
    let (zero, none) = (m.ir.u32(0), m.ir.u64(0));
    let sum = m.while_(
        &[zero, none],
        |m, p| m.op(Op::ULt, p[0], draws),
        |m, p| {
            let (i, stride) = (m.long(p[0]), m.long(stride));
            let own = m.op(Op::IMul, i, stride);
            let own = m.op(Op::IAdd, from, own);
            let count = m.load(own, Type::B32, 0);
            let instances = m.load(own, Type::B32, 4);
            let n = match order {
                None => count,
                Some(order) => primitives(m, order, count),
            };
            let (n, instances) = (m.long(n), m.long(instances));
            let n = m.op(Op::IMul, n, instances);
            let one = m.ir.u32(1);
            vec![m.op(Op::IAdd, p[0], one), m.op(Op::IAdd, p[1], n)]
        },
    )[1];
    add_to(m, at, sum);
}

/// Makes a fragment shader count its invocations, with [`CountedWords`].
pub fn count_fragments(s: &mut Shader) {
    let root = s.root;
    let old = std::mem::take(&mut s.regions[root].insts);
    let mut m = MetaBuilder::new(s, 1);
    let at = m.word(CountedWords::COUNTER);
    let one = m.ir.u32(1);
    let mem = Mem { align_log2: 2, ..Mem::default() };
    m.ir.inst(Op::AtomicGlobal, Attrs::Atomic(AtomicOp::Add, mem), &[at, one], &[Type::B32]);
    s.regions[root].insts.extend(old);
}
