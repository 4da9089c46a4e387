//! Order of vertices in the primitives of a topology.

use tepui_ir::{Op, Type, Value};
use tepui_sysval::{Field, Long, push_words};
use tepui_vulkan::vk;
use tepui_vulkan_kit::MetaBuilder;

/// The order of a topology's vertices in its primitives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// Points.
    Points,
    /// Lines.
    Lines,
    /// A line strip.
    LineStrip,
    /// Triangles.
    Triangles,
    /// A triangle strip; whether the provoking vertex is the last.
    TriangleStrip(bool),
    /// A triangle fan; whether the provoking vertex is the last.
    TriangleFan(bool),
    /// Consecutive primitives of this number of vertices: with adjacency, or patches.
    Whole(u32),
    /// A line strip with the adjacent vertices of each line.
    LineStripWithAdjacent,
    /// A triangle strip with the adjacent vertices of each triangle; whether the provoking vertex is the last.
    TriangleStripWithAdjacent(bool),
}

impl Order {
    /// The order of a topology. Primitives have their adjacent vertices.
    pub fn new(topology: vk::PrimitiveTopology, last: bool) -> Option<Order> {
        use vk::PrimitiveTopology as T;
        Some(match topology {
            T::POINT_LIST => Order::Points,
            T::LINE_LIST => Order::Lines,
            T::LINE_STRIP => Order::LineStrip,
            T::TRIANGLE_LIST => Order::Triangles,
            T::TRIANGLE_STRIP => Order::TriangleStrip(last),
            T::TRIANGLE_FAN => Order::TriangleFan(last),
            T::LINE_LIST_WITH_ADJACENCY => Order::Whole(4),
            T::LINE_STRIP_WITH_ADJACENCY => Order::LineStripWithAdjacent,
            T::TRIANGLE_LIST_WITH_ADJACENCY => Order::Whole(6),
            T::TRIANGLE_STRIP_WITH_ADJACENCY => Order::TriangleStripWithAdjacent(last),
            _ => return None,
        })
    }

    /// Whether the vertices of primitives are consecutive.
    pub fn is_counting(self) -> bool {
        matches!(self, Order::Points | Order::Lines | Order::Triangles | Order::Whole(_))
    }

    /// Vertices of a primitive.
    pub fn vertices(self) -> u32 {
        match self {
            Order::Points => 1,
            Order::Lines | Order::LineStrip => 2,
            Order::Whole(n) => n,
            Order::LineStripWithAdjacent => 4,
            Order::TriangleStripWithAdjacent(_) => 6,
            _ => 3,
        }
    }

    /// Numbers from which primitives are counted: `n` vertices make `(n - first) / second` primitives.
    pub fn primitives(self) -> (u32, u32) {
        match self {
            Order::Points => (0, 1),
            Order::Lines => (0, 2),
            Order::LineStrip => (1, 1),
            Order::Triangles => (0, 3),
            Order::TriangleStrip(_) | Order::TriangleFan(_) => (2, 1),
            Order::Whole(n) => (0, n.max(1)),
            Order::LineStripWithAdjacent => (3, 1),
            Order::TriangleStripWithAdjacent(_) => (4, 2),
        }
    }

    /// Vertices of all primitives that `count` vertices make.
    pub fn count(self, count: u32) -> u32 {
        let (fewer, each) = self.primitives();
        (count.saturating_sub(fewer) / each).saturating_mul(self.vertices())
    }
}

push_words! {
    /// The vertices of a draw that a program lists, and what it makes them from.
    pub struct ListSource {
        /// Address of the list.
        pub list: Long,
        /// Address of the indices.
        pub indices: Long,
        /// Number that is added to each index or vertex number.
        pub added: u32,
        /// Vertices that are listed; with restarts, indices that are looked at.
        pub count: u32,
        /// Indices in the buffer.
        pub in_buffer: u32,
    }

    /// Words of [`crate::Program::Unroll`] and [`crate::Program::Restarts`].
    pub struct ListWords {
        /// The vertices.
        pub source: ListSource,
        /// Without restarts: number of the first vertex that is listed, among all vertices of the primitives.
        pub from: u32,
        /// Without restarts: number of all those.
        pub all: u32,
        /// With restarts: address of the draw's [`crate::params::DrawParams`], which are corrected.
        pub parameters: Long,
        /// With restarts: indices that the next stage has for each primitive in a list.
        pub indices_each: u32,
        /// With restarts: invocations of the next stage for each primitive.
        pub invocations: u32,
    }
}

/// Lists the vertices of a draw in the order of its primitives.
pub(super) fn unroll(m: &mut MetaBuilder<'_>, order: Order, index_bytes: u8) {
    const SOURCE: Field<ListWords, ListSource> = ListWords::SOURCE;
    let [x, ..] = m.id();
    let (list, indices) =
        (m.word(SOURCE.then(ListSource::LIST)), m.word(SOURCE.then(ListSource::INDICES)));
    let (added, count) =
        (m.word(SOURCE.then(ListSource::ADDED)), m.word(SOURCE.then(ListSource::COUNT)));
    let in_buffer = m.word(SOURCE.then(ListSource::IN_BUFFER));
    let (from, all) = (m.word(ListWords::FROM), m.word(ListWords::ALL));
    let inside = m.op(Op::ULt, x, count);
    m.when(inside, |m| {
        let among_all = m.op(Op::IAdd, x, from);
        let k = position(m, order, among_all, all);
        let number = match index_bytes {
            0 => k,
            bytes => {
                // Indices past the buffer's end count as 0.
                let there = m.op(Op::ULt, k, in_buffer);
                let zero = m.ir.u32(0);
                let safe = m.ir.select(there, k, zero);
                let at = m.long(safe);
                let at = m.shl(at, u32::from(bytes).trailing_zeros());
                let at = m.op(Op::IAdd, indices, at);
                let bits = bytes * 8;
                let v = m.load(at, Type::vec(bits, 1), 0);
                let v = if bits < 32 { m.ir.convert(Op::U2U, v, 32) } else { v };
                m.ir.select(there, v, zero)
            }
        };
        let number = m.op(Op::IAdd, number, added);
        let x = m.long(x);
        let at = m.shl(x, 2);
        let at = m.op(Op::IAdd, list, at);
        m.store(at, number, 0);
    });
}

/// Primitives of an order that `count` vertices make.
pub(super) fn primitives(m: &mut MetaBuilder<'_>, order: Order, count: Value) -> Value {
    let (fewer, each) = order.primitives();
    let (fewer, each, zero) = (m.ir.u32(fewer), m.ir.u32(each), m.ir.u32(0));
    let some = m.op(Op::UGe, count, fewer);
    let rest = m.op(Op::ISub, count, fewer);
    let rest = m.ir.select(some, rest, zero);
    m.op(Op::UDiv, rest, each)
}

/// Number of the vertex that is the x-th of `count` in the order of the primitives. source: Vulkan
/// specification, "Primitive Topologies"
pub(super) fn position(m: &mut MetaBuilder<'_>, order: Order, x: Value, count: Value) -> Value {
    let n = m.ir.u32(order.vertices());
    let (p, v) = (m.op(Op::UDiv, x, n), m.op(Op::UMod, x, n));
    let [zero, one, two] = [0, 1, 2].map(|k| m.ir.u32(k));
    let is = |m: &mut MetaBuilder<'_>, k: Value| m.op(Op::IEq, v, k);
    match order {
        Order::Points | Order::Lines | Order::Triangles | Order::Whole(_) => x,
        Order::LineStrip | Order::LineStripWithAdjacent => m.op(Op::IAdd, p, v),
        Order::TriangleStrip(last) => {
            // In odd triangles two vertices change places: the two that do not provoke.
            let odd = m.op(Op::IAnd, p, one);
            let (low, high) = if last { (zero, one) } else { (one, two) };
            let (is_low, is_high) = (is(m, low), is(m, high));
            let up = m.op(Op::IAdd, v, odd);
            let down = m.op(Op::ISub, v, odd);
            let k = m.ir.select(is_high, down, v);
            let k = m.ir.select(is_low, up, k);
            m.op(Op::IAdd, p, k)
        }
        Order::TriangleStripWithAdjacent(last) => {
            // source: Vulkan specification, "Triangle Strips With Adjacency". Of each, the vertices from 2p on; the first and the
            // last triangle have a vertex of their own where another follows or goes before.
            let is_odd = m.op(Op::IAnd, p, one);
            let is_odd = m.op(Op::INe, is_odd, zero);
            let is_first = m.op(Op::IEq, p, zero);
            let all = m.op(Op::UDiv, count, n);
            let next = m.op(Op::IAdd, p, one);
            let is_last = m.op(Op::IEq, next, all);
            let [three, four, five, six, before] =
                [3, 4, 5, 6, 2u32.wrapping_neg()].map(|k| m.ir.u32(k));
            let before = m.ir.select(is_first, one, before);
            let after = m.ir.select(is_last, five, six);
            let even = [zero, before, two, after, four, three];
            let odd = match last {
                false => [zero, three, four, after, two, before],
                // Rotated by two vertices, so that the last is the provoking one.
                true => [two, before, zero, three, four, after],
            };
            let mut by = zero;
            for (at, (even, odd)) in even.into_iter().zip(odd).enumerate() {
                let at = m.ir.u32(at as u32);
                let here = is(m, at);
                let value = m.ir.select(is_odd, odd, even);
                by = m.ir.select(here, value, by);
            }
            let first = m.op(Op::IAdd, p, p);
            m.op(Op::IAdd, first, by)
        }
        Order::TriangleFan(last) => {
            let after = m.op(Op::IAdd, p, v);
            match last {
                // The hub, i + 1, i + 2.
                true => {
                    let hub = is(m, zero);
                    m.ir.select(hub, zero, after)
                }
                // i + 1, i + 2, the hub.
                false => {
                    let hub = is(m, two);
                    let next = m.op(Op::IAdd, after, one);
                    m.ir.select(hub, zero, next)
                }
            }
        }
    }
}
