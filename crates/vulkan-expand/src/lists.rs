//! Programs that list vertices and add up counts: the primitives of indices with restarts, parts of lists, sums.

use tepui_expand::StageWords;
use tepui_expand::capture::CaptureWords;
use tepui_expand::gather::GatherWords;
use tepui_expand::tessellate::TessellateWords;
use tepui_ir::{Attrs, Op, Reduce, ReduceOp, Type, Value};
use tepui_sysval::{Field, Long, push_words};

use crate::order::{ListSource, ListWords, Order, position, primitives};
use crate::params::{DrawIndexedArguments, DrawParams, ParamsWriter};
use tepui_vulkan_kit::MetaBuilder;

push_words! {
    /// Words of [`crate::Program::Part`].
    pub struct PartWords {
        /// Address of the number of vertices in the list.
        pub number: Long,
        /// Address of the arguments of the draw that are written.
        pub draw: Long,
        /// First vertex of the list.
        pub first: u32,
        /// Maximum number of vertices.
        pub most: u32,
        /// Instances.
        pub instances: u32,
        /// First instance.
        pub first_instance: u32,
    }

    /// Words of [`crate::Program::Sums`].
    pub struct SumsWords {
        /// Address of the counts.
        pub counts: Long,
        /// Number of counts.
        pub number: u32,
        /// Address of the sum of all: times the factor, then by itself.
        pub sum: Long,
        /// The factor.
        pub factor: u32,
    }
}

/// Lists the vertices of the primitives of indices with restarts, and corrects the parameters of the draw. One workgroup; its lanes
/// list the primitives of a run of indices side by side.
pub(super) fn restarts(m: &mut MetaBuilder<'_>, order: Order, index_bytes: u8) {
    const SOURCE: Field<ListWords, ListSource> = ListWords::SOURCE;
    let [lane, ..] = m.id();
    let (list, indices) =
        (m.word(SOURCE.then(ListSource::LIST)), m.word(SOURCE.then(ListSource::INDICES)));
    let (added, count) =
        (m.word(SOURCE.then(ListSource::ADDED)), m.word(SOURCE.then(ListSource::COUNT)));
    let in_buffer = m.word(SOURCE.then(ListSource::IN_BUFFER));
    let to = ParamsWriter(m.word(ListWords::PARAMETERS));
    let (zero, one) = (m.ir.u32(0), m.ir.u32(1));
    let lanes = m.ir.u32(m.lanes);
    let restart = match index_bytes {
        1 => 0xff,
        2 => 0xffff,
        _ => u32::MAX,
    };
    let restart = m.ir.u32(restart);
    let n = m.ir.u32(order.vertices());
    let index = |m: &mut MetaBuilder<'_>, k: Value| {
        let there = m.op(Op::ULt, k, in_buffer);
        let safe = m.ir.select(there, k, zero);
        let at = m.long(safe);
        let at = m.shl(at, u32::from(index_bytes).trailing_zeros());
        let at = m.op(Op::IAdd, indices, at);
        let v = m.load(at, Type::vec(index_bytes * 8, 1), 0);
        let v = if index_bytes < 4 { m.ir.convert(Op::U2U, v, 32) } else { v };
        m.ir.select(there, v, zero)
    };
    // The start of a run, and the primitives before it.
    let done = m.while_(
        &[zero, zero],
        |m, p| m.op(Op::ULt, p[0], count),
        |m, p| {
            let (start, before) = (p[0], p[1]);
            // The end of the run: lanes look at the next indices side by side.
            let end = m.while_(
                &[start, one],
                |m, q| m.op(Op::INe, q[1], zero),
                |m, q| {
                    let k = m.op(Op::IAdd, q[0], lane);
                    let v = index(m, k);
                    let ends = m.op(Op::IEq, v, restart);
                    let behind = m.op(Op::UGe, k, count);
                    let ends = m.op(Op::IOr, ends, behind);
                    let mask = m.ir.value(Op::Ballot, Attrs::None, &[ends], Type::vec(32, 4));
                    let mask = m.ir.extract(mask, 0);
                    let none = m.op(Op::IEq, mask, zero);
                    let first = m.ir.unary(Op::FindLsb, mask);
                    let by = m.ir.select(none, lanes, first);
                    let on = m.ir.select(none, one, zero);
                    vec![m.op(Op::IAdd, q[0], by), on]
                },
            )[0];
            let length = m.op(Op::ISub, end, start);
            let primitives = primitives(m, order, length);
            let vertices = m.op(Op::IMul, primitives, n);
            let base = m.op(Op::IMul, before, n);
            m.while_(
                &[lane],
                |m, q| m.op(Op::ULt, q[0], vertices),
                |m, q| {
                    let k = position(m, order, q[0], vertices);
                    let k = m.op(Op::IAdd, start, k);
                    let v = index(m, k);
                    let v = m.op(Op::IAdd, v, added);
                    let at = m.op(Op::IAdd, base, q[0]);
                    let at = m.long(at);
                    let at = m.shl(at, 2);
                    let at = m.op(Op::IAdd, list, at);
                    m.store(at, v, 0);
                    vec![m.op(Op::IAdd, q[0], lanes)]
                },
            );
            let next = m.op(Op::IAdd, end, one);
            vec![next, m.op(Op::IAdd, before, primitives)]
        },
    );
    let primitives = done[1];
    let instances = m.load_field(to.0, DrawParams::VERTEX_GROUPS.at(1));
    let listed = m.op(Op::IMul, primitives, n);
    let drawn = m.op(Op::IMul, primitives, instances);
    let invocations = m.word(ListWords::INVOCATIONS);
    let emissions = m.op(Op::IMul, drawn, invocations);
    let indices_each = m.word(ListWords::INDICES_EACH);
    let drawn = m.op(Op::IMul, drawn, indices_each);
    let first = m.op(Op::IEq, lane, zero);
    m.when(first, |m| {
        to.set_in(m, DrawParams::STAGE, StageWords::COUNT, primitives);
        to.set_in(m, DrawParams::VERTEX, CaptureWords::VERTICES, listed);
        to.set_in(m, DrawParams::DRAW, DrawIndexedArguments::COUNT, drawn);
        to.set_in(m, DrawParams::GATHER, GatherWords::INVOCATIONS, emissions);
        to.set_in(m, DrawParams::TESSELLATE, TessellateWords::COUNT, emissions);
    });
}

/// Makes an indexed draw of vertices of a list.
pub(super) fn part(m: &mut MetaBuilder<'_>) {
    let (number, to) = (m.word(PartWords::NUMBER), m.word(PartWords::DRAW));
    let (first, most) = (m.word(PartWords::FIRST), m.word(PartWords::MOST));
    let instances = m.word(PartWords::INSTANCES);
    let first_instance = m.word(PartWords::FIRST_INSTANCE);
    let number = m.load(number, Type::B32, 0);
    let zero = m.ir.u32(0);
    let some = m.op(Op::ULt, first, number);
    let left = m.op(Op::ISub, number, first);
    let left = m.op(Op::UMin, left, most);
    let count = m.ir.select(some, left, zero);
    for (k, v) in [count, instances, first, zero, first_instance].into_iter().enumerate() {
        m.store(to, v, 4 * k as i32);
    }
}

/// Turns counts into sums of those before, which saturate; one workgroup.
pub(super) fn sums(m: &mut MetaBuilder<'_>) {
    let [lane, ..] = m.id();
    let (table, count) = (m.word(SumsWords::COUNTS), m.word(SumsWords::NUMBER));
    let (to, factor) = (m.word(SumsWords::SUM), m.word(SumsWords::FACTOR));
    let zero = m.ir.u32(0);
    let lanes = m.ir.u32(m.lanes);
    let all = m.while_(
        &[zero, zero],
        |m, p| m.op(Op::ULt, p[0], count),
        |m, p| {
            let k = m.op(Op::IAdd, p[0], lane);
            let there = m.op(Op::ULt, k, count);
            let safe = m.ir.select(there, k, p[0]);
            let at = m.long(safe);
            let at = m.shl(at, 2);
            let at = m.op(Op::IAdd, table, at);
            let n = m.load(at, Type::B32, 0);
            let n = m.ir.select(there, n, zero);
            let reduce = Attrs::Reduce(Reduce { op: ReduceOp::IAdd, cluster: 0 });
            let before = m.ir.value(Op::ExclusiveScan, reduce, &[n], Type::B32);
            let sum = m.ir.value(Op::Reduce, reduce, &[n], Type::B32);
            let first = m.op(Op::IAdd, p[1], before);
            m.when(there, |m| m.store(at, first, 0));
            vec![m.op(Op::IAdd, p[0], lanes), m.op(Op::UAddSat, p[1], sum)]
        },
    );
    let first = m.op(Op::IEq, lane, zero);
    m.when(first, |m| {
        let times = m.op(Op::IMul, all[1], factor);
        m.store(to, times, 0);
        m.store(to, all[1], 4);
    });
}
