//! Programs of expanded draws: where the buffers of an indirect draw are, those of tessellated patches, and the primitives of
//! indices with restarts.

use tepui_expand::capture::{ADDRESSES, VERTICES};
use tepui_expand::gather::word as gather;
use tepui_expand::tessellate::word as tessellate;
use tepui_expand::{TESSELLATED_B, word as stage};
use tepui_ir::{Attrs, Op, Reduce, ReduceOp, Type, Value};
use tepui_vulkan_kit::MetaBuilder;

use crate::order::{Order, position};

/// The parameters of an expanded draw in memory, by byte: words of the geometry or control shader come first ([`stage`]).
///
/// A draw that is tessellated and has a geometry shader has a second set of them, for that shader and the last draw.
pub mod params {
    /// Words of the vertex shader, as captures have them.
    pub const VERTEX: u32 = 64;
    /// Words of the program that lists vertices.
    pub const LIST: u32 = 128;
    /// Number that is added to indices, among them.
    pub const ADDED: u32 = LIST + 16;
    /// First instance.
    pub const FIRST_INSTANCE: u32 = 160;
    /// Workgroups that list vertices.
    pub const LIST_GROUPS: u32 = 164;
    /// Workgroups of the vertex shader.
    pub const VERTEX_GROUPS: u32 = 176;
    /// Workgroups of the geometry or control shader.
    pub const GEOMETRY_GROUPS: u32 = 188;
    /// Arguments of the indexed draw.
    pub const DRAW: u32 = 200;
    /// Words of the programs that gather what was emitted ([`tepui_expand::gather::word`]).
    pub const GATHER: u32 = 256;
    /// Their workgroups.
    pub const GATHER_GROUPS: u32 = 336;
    /// Vertices of the emitted primitives, then the primitives.
    pub const EMITTED: u32 = 348;
    /// Words of the tessellator ([`tepui_expand::tessellate::word`]).
    pub const TESSELLATE: u32 = 384;
    /// Points of all patches, twice.
    pub const POINTS: u32 = 440;
    /// Indices of all patches, twice.
    pub const INDICES: u32 = 448;
    /// Workgroups of the tessellator that divide a patch each.
    pub const TESSELLATE_GROUPS: u32 = 456;
    /// Workgroups of it of which each thread divides a patch.
    pub const TESSELLATE_THREADS: u32 = 468;
    /// Words of the evaluation shader.
    pub const EVALUATE: u32 = 512;
    /// Its workgroups.
    pub const EVALUATE_GROUPS: u32 = 568;
    /// Not zero if the levels of patches differ.
    pub const UNLIKE: u32 = 580;
    /// Bytes of all.
    pub const BYTES: usize = 640;
}

/// Draws with fewer patches have a sub-group for each of them in the tessellator.
const FEW_PATCHES: u32 = 64;

/// The heap of expanded draws, whose first word is the number of bytes in use, while a draw takes from it.
struct Places {
    heap: Value,
    /// Bytes in use.
    end: Value,
}

impl Places {
    /// The address of `number` elements of `bytes` bytes each.
    fn take(&mut self, m: &mut MetaBuilder<'_>, number: Value, bytes: Value) -> Value {
        let from = m.long(self.end);
        let size = m.op(Op::IMul, number, bytes);
        self.end = m.op(Op::IAdd, self.end, size);
        m.op(Op::IAdd, self.heap, from)
    }

    /// Writes the end of the used part, with `slack` bytes after it that programs may access.
    fn close(&self, m: &mut MetaBuilder<'_>, slack: u32) {
        let slack = m.ir.u32(255 + slack);
        let mask = m.ir.u32(!255);
        let end = m.op(Op::IAdd, self.end, slack);
        let end = m.op(Op::IAnd, end, mask);
        m.store(self.heap, end, 0);
    }
}

/// The number of the first index of a list, counted from the heap's start.
fn first_index(m: &mut MetaBuilder<'_>, heap: Value, list: Value) -> Value {
    let from_heap = m.op(Op::ISub, list, heap);
    let from_heap = m.ir.convert(Op::U2U, from_heap, 32);
    m.shr(from_heap, 2)
}

/// Words: arguments of the draw (2), heap (2), its bytes, parameters (2), indices (2), indices in the buffer; bytes of a vertex,
/// invocations of the geometry shader for each primitive, bytes of the vertices and number of the indices of an invocation, threads of
/// its workgroups, its index lists, number of the first primitive.
///
/// The heap begins with the number of bytes in use.
pub(super) fn place(m: &mut MetaBuilder<'_>, order: Order, index_bytes: u8, restart: bool) {
    let (args, heap, heap_b) = (m.driver_long(0), m.driver_long(2), m.driver(4));
    let (to, source, in_buffer) = (m.driver_long(5), m.driver_long(7), m.driver(9));
    let [vertex_b, invocations, records_b, indices, threads, lists, first_primitive] =
        [10, 11, 12, 13, 14, 15, 16].map(|k| m.driver(k));
    let listed_each = m.op(Op::IMul, indices, lists);
    let arg = |m: &mut MetaBuilder<'_>, k: i32| m.load(args, Type::B32, 4 * k);
    let (count, instances, first) = (arg(m, 0), arg(m, 1), arg(m, 2));
    let zero = m.ir.u32(0);
    let (added, first_instance, skipped) = match index_bytes {
        0 => (first, arg(m, 3), zero),
        _ => (arg(m, 3), arg(m, 4), first),
    };
    // Primitives, if the buffers of all fit.
    let (fewer, each) = order.primitives();
    let (fewer, each) = (m.ir.u32(fewer), m.ir.u32(each));
    let some = m.op(Op::UGe, count, fewer);
    let rest = m.op(Op::ISub, count, fewer);
    let rest = m.ir.select(some, rest, zero);
    let primitives = m.op(Op::UDiv, rest, each);
    let n = m.ir.u32(order.vertices());
    let four = m.ir.u32(4);
    let listed_b = m.op(Op::IAdd, vertex_b, four);
    let listed_b = m.op(Op::IMul, listed_b, n);
    // An invocation has a word of the table of emitted primitives, too.
    let one = m.ir.u32(1);
    let words = m.op(Op::IAdd, listed_each, one);
    let emitted_b = m.op(Op::IMul, words, four);
    let emitted_b = m.op(Op::IAdd, emitted_b, records_b);
    let emitted_b = m.op(Op::IMul, emitted_b, invocations);
    let each_b = m.op(Op::IAdd, listed_b, emitted_b);
    let used = m.load(heap, Type::B32, 0);
    let room = m.op(Op::ISub, heap_b, used);
    let most = m.op(Op::UDiv, room, each_b);
    let (wide, wide_instances) = (m.long(primitives), m.long(instances));
    let wide = m.op(Op::IMul, wide, wide_instances);
    let most = m.long(most);
    let fits = m.op(Op::ULt, wide, most);
    let primitives = m.ir.select(fits, primitives, zero);
    let all = m.op(Op::IMul, primitives, instances);
    let listed = m.op(Op::IMul, primitives, n);
    let vertices = m.op(Op::IMul, all, n);
    let emissions = m.op(Op::IMul, all, invocations);
    // Locations: the list, the vertices, the emitted vertices, and their indices.
    let mut places = Places { heap, end: used };
    let mut take = |m: &mut MetaBuilder<'_>, number, bytes| places.take(m, number, bytes);
    let indices_b = m.op(Op::IMul, listed_each, four);
    let list = take(m, vertices, four);
    let records = take(m, vertices, vertex_b);
    let output = take(m, emissions, records_b);
    let index_list = take(m, emissions, indices_b);
    let table = take(m, emissions, four);
    places.close(m, 4 * m.lanes);
    let drawn = m.op(Op::IMul, emissions, indices);
    let first_index = first_index(m, heap, index_list);
    let skipped_b = m.ir.u32(u32::from(index_bytes));
    let skipped_b = m.op(Op::IMul, skipped, skipped_b);
    let skipped_b = m.long(skipped_b);
    let source = m.op(Op::IAdd, source, skipped_b);
    let inside = m.op(Op::UGe, in_buffer, skipped);
    let left = m.op(Op::ISub, in_buffer, skipped);
    let left = m.ir.select(inside, left, zero);
    let groups = |m: &mut MetaBuilder<'_>, n: Value, threads: Value| {
        let more = m.op(Op::ISub, threads, one);
        let n = m.op(Op::IAdd, n, more);
        m.op(Op::UDiv, n, threads)
    };
    let simd = m.ir.u32(m.lanes);
    let vertex_groups = groups(m, listed, simd);
    // The program that looks for restarts is one workgroup, and looks at all indices.
    let list_groups = if restart { one } else { vertex_groups };
    let listed_from = if restart { count } else { listed };
    let work = m.op(Op::IMul, primitives, invocations);
    let geometry_groups = groups(m, work, threads);
    let gather_groups = groups(m, emissions, simd);
    for (offset, v) in [
        (stage::VERTICES, records),
        (stage::PATCHES, output),
        (stage::OUTPUT, output),
        (stage::LIST, index_list),
        (stage::COUNT, primitives),
        (stage::FIRST, first_primitive),
        (stage::PATCH_VERTICES, n),
        (params::VERTEX + ADDRESSES, records),
        (params::VERTEX + VERTICES, listed),
        (params::LIST, list),
        (params::LIST + 8, source),
        (params::ADDED, added),
        (params::LIST + 20, listed_from),
        (params::LIST + 24, left),
        (params::FIRST_INSTANCE, first_instance),
        (params::LIST_GROUPS, list_groups),
        (params::LIST_GROUPS + 4, one),
        (params::LIST_GROUPS + 8, one),
        (params::VERTEX_GROUPS, vertex_groups),
        (params::VERTEX_GROUPS + 4, instances),
        (params::VERTEX_GROUPS + 8, one),
        (params::GEOMETRY_GROUPS, geometry_groups),
        (params::GEOMETRY_GROUPS + 4, instances),
        (params::GEOMETRY_GROUPS + 8, one),
        (params::DRAW, drawn),
        (params::DRAW + 4, one),
        (params::DRAW + 8, first_index),
        (params::DRAW + 12, zero),
        (params::DRAW + 16, zero),
        (params::GATHER + gather::LIST, index_list),
        (params::GATHER + gather::TABLE, table),
        (params::GATHER + gather::RECORDS, output),
        (params::GATHER + gather::COUNT, emissions),
        (params::GATHER_GROUPS, gather_groups),
        (params::GATHER_GROUPS + 4, one),
        (params::GATHER_GROUPS + 8, one),
        (params::TESSELLATE + tessellate::PATCHES, output),
        (params::TESSELLATE + tessellate::POINTS, index_list),
        (params::TESSELLATE + tessellate::INDICES, table),
        (params::TESSELLATE + tessellate::COUNT, emissions),
        (params::UNLIKE, zero),
    ] {
        m.store(to, v, offset as i32);
    }
}

/// Computes the buffers after the tessellator, once the points and indices of all patches are known.
/// Patches with equal levels share those of the first patch, which are drawn once an instance for each
/// patch, if only the rasteriser follows.
///
/// Words: parameters of the patches (2), heap (2), its bytes. With a geometry shader: parameters of
/// later stages (2), bytes of an evaluated vertex, invocations for each primitive, bytes of the
/// vertices and number of the indices of an invocation, vertices of a primitive, index lists.
pub(super) fn place_tessellated(m: &mut MetaBuilder<'_>, geometry: bool) {
    let (from, heap, heap_b) = (m.driver_long(0), m.driver_long(2), m.driver(4));
    let to = if geometry { m.driver_long(5) } else { from };
    let [vertex_b, invocations, records_b, indices_each, vertices, lists] =
        [7, 8, 9, 10, 11, 12].map(|k| m.driver(k));
    let known = |m: &mut MetaBuilder<'_>, at: u32| m.load(from, Type::B32, at as i32);
    let points = known(m, params::POINTS + 4);
    let indices = known(m, params::INDICES + 4);
    let patches = known(m, params::TESSELLATE + tessellate::COUNT);
    let in_instance = known(m, stage::COUNT);
    let one = m.ir.u32(1);
    let (divided, instances, points, indices) = match geometry {
        true => (patches, one, points, indices),
        false => {
            let unlike = known(m, params::UNLIKE);
            let several = m.op(Op::ULt, one, patches);
            // The sums before the second patch are the numbers of the first.
            let of_one = |m: &mut MetaBuilder<'_>, table: u32, all: Value| {
                let table = m.load(from, Type::B64, (params::TESSELLATE + table) as i32);
                let second = m.load(table, Type::B32, 4);
                let each = m.ir.select(several, second, all);
                m.ir.select(unlike, all, each)
            };
            let points = of_one(m, tessellate::POINTS, points);
            let indices = of_one(m, tessellate::INDICES, indices);
            let at_most_one = m.op(Op::UMin, patches, one);
            let divided = m.ir.select(unlike, patches, at_most_one);
            (divided, m.ir.select(unlike, one, patches), points, indices)
        }
    };
    let first = known(m, stage::FIRST);
    let records = m.load(from, Type::B64, stage::PATCHES as i32);
    let [zero, four] = [0, 4].map(|k| m.ir.u32(k));
    let (primitives, emissions) = match geometry {
        true => {
            let primitives = m.op(Op::UDiv, indices, vertices);
            (primitives, m.op(Op::IMul, primitives, invocations))
        }
        false => (zero, zero),
    };
    // Nothing is drawn if the heap has no room.
    let used = m.load(heap, Type::B32, 0);
    let room = m.op(Op::ISub, heap_b, used);
    let room = m.long(room);
    let point_b = m.ir.u32(TESSELLATED_B);
    let list_b = m.op(Op::IMul, indices_each, lists);
    let list_b = m.op(Op::IMul, list_b, four);
    let parts = [
        (points, point_b),
        (indices, four),
        (points, vertex_b),
        (emissions, records_b),
        (emissions, list_b),
        (emissions, four),
    ];
    let parts = if geometry { &parts[..] } else { &parts[..2] };
    let mut bytes = m.long(zero);
    for &(n, each) in parts {
        let (n, each) = (m.long(n), m.long(each));
        let part = m.op(Op::IMul, n, each);
        bytes = m.op(Op::IAdd, bytes, part);
    }
    let fits = m.op(Op::ULt, bytes, room);
    let [points, indices, divided, primitives, emissions] =
        [points, indices, divided, primitives, emissions].map(|n| m.ir.select(fits, n, zero));
    let mut places = Places { heap, end: used };
    let mut take = |m: &mut MetaBuilder<'_>, number, bytes| places.take(m, number, bytes);
    let list = take(m, points, point_b);
    let index_list = take(m, indices, four);
    let behind = geometry.then(|| {
        [(points, vertex_b), (emissions, records_b), (emissions, list_b), (emissions, four)]
            .map(|(number, bytes)| take(m, number, bytes))
    });
    places.close(m, 0);
    let (drawn, drawn_list) = match behind {
        Some([_, _, emitted, _]) => (m.op(Op::IMul, emissions, indices_each), emitted),
        None => (indices, index_list),
    };
    let first_index = first_index(m, heap, drawn_list);
    let groups = |m: &mut MetaBuilder<'_>, n: Value| {
        let more = m.ir.u32(m.lanes - 1);
        let n = m.op(Op::IAdd, n, more);
        m.shr(n, m.lanes.trailing_zeros())
    };
    // Patches have a workgroup each, or a thread each if there are many.
    let few = m.ir.u32(FEW_PATCHES);
    let few = m.op(Op::ULt, divided, few);
    let of_patches = groups(m, divided);
    let [by_group, by_thread] = [(divided, zero), (zero, of_patches)]
        .map(|(few_patches, many_patches)| m.ir.select(few, few_patches, many_patches));
    for (offset, v) in [
        (params::TESSELLATE + tessellate::LIST, list),
        (params::TESSELLATE + tessellate::INDEX_LIST, index_list),
        (params::TESSELLATE_GROUPS, by_group),
        (params::TESSELLATE_GROUPS + 4, one),
        (params::TESSELLATE_GROUPS + 8, one),
        (params::TESSELLATE_THREADS, by_thread),
        (params::TESSELLATE_THREADS + 4, one),
        (params::TESSELLATE_THREADS + 8, one),
        (params::EVALUATE + stage::PATCHES, records),
        (params::EVALUATE + stage::LIST, list),
        (params::EVALUATE + stage::COUNT, points),
        (params::EVALUATE + stage::PATCH_COUNT, in_instance),
        (params::EVALUATE + stage::FIRST, first),
    ] {
        m.store(from, v, offset as i32);
    }
    for (offset, v) in [
        (params::DRAW, drawn),
        (params::DRAW + 4, instances),
        (params::DRAW + 8, first_index),
        (params::DRAW + 12, zero),
        (params::DRAW + 16, zero),
    ] {
        m.store(to, v, offset as i32);
    }
    let Some([evaluated, output, emitted, table]) = behind else { return };
    let evaluate_groups = groups(m, points);
    for (offset, v) in [
        (params::EVALUATE + stage::OUTPUT, evaluated),
        (params::EVALUATE_GROUPS, evaluate_groups),
        (params::EVALUATE_GROUPS + 4, one),
        (params::EVALUATE_GROUPS + 8, one),
    ] {
        m.store(from, v, offset as i32);
    }
    let geometry_groups = groups(m, emissions);
    let gather_groups = groups(m, emissions);
    for (offset, v) in [
        (stage::OUTPUT, output),
        (stage::LIST, emitted),
        (stage::PATCH_COUNT, in_instance),
        (stage::FIRST, first),
        (stage::VERTICES, evaluated),
        (stage::INDICES, index_list),
        (stage::POINTS, list),
        (stage::COUNT, primitives),
        (params::GEOMETRY_GROUPS, geometry_groups),
        (params::GEOMETRY_GROUPS + 4, one),
        (params::GEOMETRY_GROUPS + 8, one),
        (params::GATHER + gather::LIST, emitted),
        (params::GATHER + gather::TABLE, table),
        (params::GATHER + gather::RECORDS, output),
        (params::GATHER + gather::COUNT, emissions),
        (params::GATHER_GROUPS, gather_groups),
        (params::GATHER_GROUPS + 4, one),
        (params::GATHER_GROUPS + 8, one),
    ] {
        m.store(to, v, offset as i32);
    }
}

/// Lists the vertices of the primitives of indices with restarts, and corrects the parameters of the draw. One workgroup; its lanes
/// list the primitives of a run of indices side by side.
///
/// Words: as [`super::feedback::unroll`], with the number of indices; then parameters (2), and indices of an invocation times the
/// invocations of a primitive; those invocations.
pub(super) fn restarts(m: &mut MetaBuilder<'_>, order: Order, index_bytes: u8) {
    let [lane, ..] = m.id();
    let (list, indices) = (m.driver_long(0), m.driver_long(2));
    let (added, count, in_buffer) = (m.driver(4), m.driver(5), m.driver(6));
    let (to, indices_each, invocations) = (m.driver_long(7), m.driver(9), m.driver(10));
    let (zero, one) = (m.ir.u32(0), m.ir.u32(1));
    let lanes = m.ir.u32(m.lanes);
    let restart = match index_bytes {
        1 => 0xff,
        2 => 0xffff,
        _ => u32::MAX,
    };
    let restart = m.ir.u32(restart);
    let n = m.ir.u32(order.vertices());
    let (fewer, each) = order.primitives();
    let (fewer, each) = (m.ir.u32(fewer), m.ir.u32(each));
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
            let some = m.op(Op::UGe, length, fewer);
            let rest = m.op(Op::ISub, length, fewer);
            let rest = m.ir.select(some, rest, zero);
            let primitives = m.op(Op::UDiv, rest, each);
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
    let instances = m.load(to, Type::B32, (params::VERTEX_GROUPS + 4) as i32);
    let listed = m.op(Op::IMul, primitives, n);
    let drawn = m.op(Op::IMul, primitives, instances);
    let emissions = m.op(Op::IMul, drawn, invocations);
    let drawn = m.op(Op::IMul, drawn, indices_each);
    let first = m.op(Op::IEq, lane, zero);
    m.when(first, |m| {
        for (offset, v) in [
            (stage::COUNT, primitives),
            (params::VERTEX + VERTICES, listed),
            (params::DRAW, drawn),
            (params::GATHER + gather::COUNT, emissions),
            (params::TESSELLATE + tessellate::COUNT, emissions),
        ] {
            m.store(to, v, offset as i32);
        }
    });
}

/// Makes an indexed draw of vertices of a list.
///
/// Words: the address of their number (2), the draw (2), the first of them, most of them, instances, first instance.
pub(super) fn part(m: &mut MetaBuilder<'_>) {
    let (number, to) = (m.driver_long(0), m.driver_long(2));
    let [first, most, instances, first_instance] = [4, 5, 6, 7].map(|k| m.driver(k));
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
///
/// Words: counts (2), their number, where the sum goes (2): times a factor, then by itself; the factor.
pub(super) fn sums(m: &mut MetaBuilder<'_>) {
    let [lane, ..] = m.id();
    let (table, count, to, factor) = (m.driver_long(0), m.driver(2), m.driver_long(3), m.driver(5));
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
