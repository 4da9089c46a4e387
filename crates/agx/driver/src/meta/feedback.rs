//! Programs of transform feedback: lists of vertices, and how many of them fit.

use tepui_agx_compiler::abi::capture::{ADDRESSES, LIMIT, THREADS, VERTICES};
use tepui_ir::{Op, Type, Value};
use tepui_vulkan::feedback::MAX_FEEDBACK;
use tepui_vulkan::vk;

use super::builder::Make;

/// Bytes of the parameters of a capture: the words that programs read ([`tepui_agx_compiler::abi::capture`]), then the
/// arguments of the indirect dispatch.
pub const PARAMETERS_B: usize = 64;
/// Offset of the arguments of the dispatch.
pub const LIST: u32 = 40;
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

/// The word that has the number of the first vertex that is listed, among all vertices of the primitives.
pub const UNROLL_FROM: usize = 11;
/// The word that has the number of those.
pub const UNROLL_ALL: usize = 12;

/// Words: list (2), indices (2), what is added to each, vertices, indices in the buffer; [`UNROLL_FROM`] and [`UNROLL_ALL`].
pub(super) fn unroll(m: &mut Make<'_>, order: Order, index_bytes: u8) {
    let [x, ..] = m.id();
    let (list, indices) = (m.driver_long(0), m.driver_long(2));
    let (added, count, in_buffer) = (m.driver(4), m.driver(5), m.driver(6));
    let [from, all] = [UNROLL_FROM, UNROLL_ALL].map(|k| m.driver(k as u32));
    let inside = m.op(Op::ULt, x, count);
    m.when(inside, |m| {
        let among_all = m.op(Op::IAdd, x, from);
        let k = position(m, order, among_all, all);
        let number = match index_bytes {
            0 => k,
            bytes => {
                // Indices past the buffer's end count as 0.
                let there = m.op(Op::ULt, k, in_buffer);
                let zero = m.0.u32(0);
                let safe = m.0.select(there, k, zero);
                let at = m.long(safe);
                let at = m.shl(at, u32::from(bytes).trailing_zeros());
                let at = m.op(Op::IAdd, indices, at);
                let bits = bytes * 8;
                let v = m.load(at, Type::vec(bits, 1), 0);
                let v = if bits < 32 { m.0.convert(Op::U2U, v, 32) } else { v };
                m.0.select(there, v, zero)
            }
        };
        let number = m.op(Op::IAdd, number, added);
        let x = m.long(x);
        let at = m.shl(x, 2);
        let at = m.op(Op::IAdd, list, at);
        m.store(at, number, 0);
    });
}

/// Number of the vertex that is the x-th of `count` in the order of the primitives. source: Vulkan
/// specification, "Primitive Topologies"
pub(super) fn position(m: &mut Make<'_>, order: Order, x: Value, count: Value) -> Value {
    let n = m.0.u32(order.vertices());
    let (p, v) = (m.op(Op::UDiv, x, n), m.op(Op::UMod, x, n));
    let [zero, one, two] = [0, 1, 2].map(|k| m.0.u32(k));
    let is = |m: &mut Make<'_>, k: Value| m.op(Op::IEq, v, k);
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
            let k = m.0.select(is_high, down, v);
            let k = m.0.select(is_low, up, k);
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
                [3, 4, 5, 6, 2u32.wrapping_neg()].map(|k| m.0.u32(k));
            let before = m.0.select(is_first, one, before);
            let after = m.0.select(is_last, five, six);
            let even = [zero, before, two, after, four, three];
            let odd = match last {
                false => [zero, three, four, after, two, before],
                // Rotated by two vertices, so that the last is the provoking one.
                true => [two, before, zero, three, four, after],
            };
            let mut by = zero;
            for (at, (even, odd)) in even.into_iter().zip(odd).enumerate() {
                let at = m.0.u32(at as u32);
                let here = is(m, at);
                let value = m.0.select(is_odd, odd, even);
                by = m.0.select(here, value, by);
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
                    m.0.select(hub, zero, after)
                }
                // i + 1, i + 2, the hub.
                false => {
                    let hub = is(m, two);
                    let next = m.op(Op::IAdd, after, one);
                    m.0.select(hub, zero, next)
                }
            }
        }
    }
}

/// Words: offsets (2), parameters (2), addresses of the buffers (8), their sizes (4), strides (4), vertices of an instance,
/// instances, vertices of a primitive, query (2).
pub(super) fn fit(m: &mut Make<'_>) {
    let (offsets, to) = (m.driver_long(0), m.driver_long(2));
    let (vertices, instances, each) = (m.driver(20), m.driver(21), m.driver(22));
    let zero = m.0.u32(0);
    let mut limit = m.0.u32(u32::MAX);
    let mut captures = m.0.u32(0);
    let mut starts = Vec::new();
    for b in 0..MAX_FEEDBACK as u32 {
        let (size, stride) = (m.driver(12 + b), m.driver(16 + b));
        let offset = m.load(offsets, Type::B32, 4 * b as i32);
        let full = m.op(Op::UGe, offset, size);
        let room = m.op(Op::ISub, size, offset);
        let room = m.0.select(full, zero, room);
        let used = m.op(Op::INe, stride, zero);
        let one = m.0.u32(1);
        let divisor = m.0.select(used, stride, one);
        let fits = m.op(Op::UDiv, room, divisor);
        let least = m.op(Op::UMin, limit, fits);
        limit = m.0.select(used, least, limit);
        captures = m.op(Op::IOr, captures, stride);
        starts.push((offset, stride));
    }
    // Shaders that capture nothing write no primitives.
    let captures = m.op(Op::INe, captures, zero);
    limit = m.0.select(captures, limit, zero);
    let whole = m.op(Op::UDiv, limit, each);
    let limit = m.op(Op::IMul, whole, each);
    let all = m.op(Op::IMul, vertices, instances);
    let written = m.op(Op::UMin, all, limit);
    for (b, (offset, stride)) in starts.into_iter().enumerate() {
        let b = b as u32;
        let base = m.driver_long(4 + 2 * b);
        let wide = m.long(offset);
        let at = m.op(Op::IAdd, base, wide);
        m.store(to, at, (ADDRESSES + 8 * b) as i32);
        let bytes = m.op(Op::IMul, written, stride);
        let end = m.op(Op::IAdd, offset, bytes);
        m.store(offsets, end, 4 * b as i32);
    }
    m.store(to, vertices, VERTICES as i32);
    m.store(to, written, LIMIT as i32);
    let threads = m.op(Op::UMin, vertices, written);
    let more = m.0.u32(THREADS - 1);
    let threads = m.op(Op::IAdd, threads, more);
    let groups = m.shr(threads, THREADS.ilog2());
    let one = m.0.u32(1);
    for (k, v) in [groups, instances, one].into_iter().enumerate() {
        m.store(to, v, (LIST + 4 * k as u32) as i32);
    }
    let query = m.driver_long(23);
    let none = m.0.u64(0);
    let asked = m.op(Op::INe, query, none);
    m.when(asked, |m| {
        for (k, v) in [written, all].into_iter().enumerate() {
            let n = m.op(Op::UDiv, v, each);
            let n = m.long(n);
            let before = m.load(query, Type::vec(64, 1), 8 * k as i32);
            let sum = m.op(Op::IAdd, before, n);
            m.store(query, sum, 8 * k as i32);
        }
    });
}

/// Words: counter (2), arguments of the draw (2), first byte, stride, instances, first instance.
pub(super) fn byte_count(m: &mut Make<'_>) {
    let (counter, to) = (m.driver_long(0), m.driver_long(2));
    let (start, stride) = (m.driver(4), m.driver(5));
    let bytes = m.load(counter, Type::B32, 0);
    let none = m.op(Op::UGe, start, bytes);
    let bytes = m.op(Op::ISub, bytes, start);
    let zero = m.0.u32(0);
    let bytes = m.0.select(none, zero, bytes);
    let count = m.op(Op::UDiv, bytes, stride);
    let (instances, first) = (m.driver(6), m.driver(7));
    for (k, v) in [count, instances, zero, first].into_iter().enumerate() {
        m.store(to, v, 4 * k as i32);
    }
}
