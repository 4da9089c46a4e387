//! Programs that compute where the buffers of an expanded draw are: of an indirect draw, and of tessellated patches.

use tepui_expand::capture::CaptureWords;
use tepui_expand::gather::GatherWords;
use tepui_expand::tessellate::TessellateWords;
use tepui_expand::{StageWords, TESSELLATED_B};
use tepui_ir::{Op, Type, Value};
use tepui_sysval::{Field, Long, push_words};

use crate::order::{ListSource, Order, primitives};
use crate::params::{DrawParams, ParamsWriter, groups_of, lane_groups};
use tepui_vulkan_kit::MetaBuilder;

/// Draws with fewer patches have a sub-group for each of them in the tessellator.
const FEW_PATCHES: u32 = 64;

push_words! {
    /// Words of [`crate::Program::Place`]. The heap begins with the number of bytes in use.
    pub struct PlaceWords {
        /// Address of the arguments of the draw.
        pub arguments: Long,
        /// Address of the heap.
        pub heap: Long,
        /// Bytes of the heap.
        pub heap_bytes: u32,
        /// Address of the parameters that are written.
        pub parameters: Long,
        /// Address of the indices.
        pub indices: Long,
        /// Indices in the buffer.
        pub in_buffer: u32,
        /// Bytes of a vertex.
        pub vertex_bytes: u32,
        /// Outputs of the next stage.
        pub emission: EmissionSizes,
        /// Threads of that stage's workgroups.
        pub threads: u32,
        /// Number of the first primitive.
        pub first_primitive: u32,
    }

    /// Sizes of what a stage's invocations leave.
    pub struct EmissionSizes {
        /// Invocations for each primitive that is read.
        pub invocations: u32,
        /// Bytes of the records of an invocation.
        pub records_bytes: u32,
        /// Indices of an invocation in a list.
        pub indices: u32,
        /// Index lists.
        pub lists: u32,
    }

    /// Words of [`crate::Program::PlaceTessellated`].
    pub struct PlaceTessellatedWords {
        /// Address of the parameters of the patches.
        pub parameters: Long,
        /// Address of the heap.
        pub heap: Long,
        /// Bytes of the heap.
        pub heap_bytes: u32,
        /// With a geometry shader: address of the parameters of later stages.
        pub later: Long,
        /// Bytes of an evaluated vertex.
        pub vertex_bytes: u32,
        /// Outputs of the geometry shader.
        pub emission: EmissionSizes,
        /// Vertices of a primitive that it reads.
        pub vertices: u32,
    }
}

/// The heap of expanded draws, whose first word is the number of bytes in use, while a draw takes from it.
struct HeapTop {
    heap: Value,
    /// Bytes in use.
    end: Value,
}

impl HeapTop {
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

/// The sizes of what a stage leaves, in a program.
struct Sizes {
    invocations: Value,
    records_bytes: Value,
    indices: Value,
    /// Indices of an invocation in all lists.
    listed: Value,
}

impl Sizes {
    fn new<S>(m: &mut MetaBuilder<'_>, at: Field<S, EmissionSizes>) -> Sizes {
        let indices = m.word(at.then(EmissionSizes::INDICES));
        let lists = m.word(at.then(EmissionSizes::LISTS));
        Sizes {
            invocations: m.word(at.then(EmissionSizes::INVOCATIONS)),
            records_bytes: m.word(at.then(EmissionSizes::RECORDS_BYTES)),
            indices,
            listed: m.op(Op::IMul, indices, lists),
        }
    }

    /// Bytes of an invocation: records, indices, and a word of the table of emitted primitives.
    fn bytes(&self, m: &mut MetaBuilder<'_>) -> Value {
        let (one, four) = (m.ir.u32(1), m.ir.u32(4));
        let words = m.op(Op::IAdd, self.listed, one);
        let bytes = m.op(Op::IMul, words, four);
        m.op(Op::IAdd, bytes, self.records_bytes)
    }
}

/// Arguments of a draw, as a program reads them.
struct DrawArguments {
    count: Value,
    instances: Value,
    /// Number that is added to indices or vertex numbers.
    added: Value,
    first_instance: Value,
    /// Indices before the first.
    skipped: Value,
}

impl DrawArguments {
    fn new(m: &mut MetaBuilder<'_>, index_bytes: u8) -> DrawArguments {
        let from = m.word(PlaceWords::ARGUMENTS);
        let arg = |m: &mut MetaBuilder<'_>, k: i32| m.load(from, Type::B32, 4 * k);
        let (count, instances, first) = (arg(m, 0), arg(m, 1), arg(m, 2));
        let (added, first_instance, skipped) = match index_bytes {
            0 => (first, arg(m, 3), m.ir.u32(0)),
            _ => (arg(m, 3), arg(m, 4), first),
        };
        DrawArguments { count, instances, added, first_instance, skipped }
    }

    /// Primitives of an instance; none if the buffers of all do not fit into the heap, of which `used` bytes are in use.
    fn primitives(
        &self,
        m: &mut MetaBuilder<'_>,
        order: Order,
        sizes: &Sizes,
        used: Value,
    ) -> Value {
        let zero = m.ir.u32(0);
        let primitives = primitives(m, order, self.count);
        let (n, four) = (m.ir.u32(order.vertices()), m.ir.u32(4));
        let vertex_bytes = m.word(PlaceWords::VERTEX_BYTES);
        let listed_b = m.op(Op::IAdd, vertex_bytes, four);
        let listed_b = m.op(Op::IMul, listed_b, n);
        let emitted_b = sizes.bytes(m);
        let emitted_b = m.op(Op::IMul, emitted_b, sizes.invocations);
        let each_b = m.op(Op::IAdd, listed_b, emitted_b);
        let heap_bytes = m.word(PlaceWords::HEAP_BYTES);
        let room = m.op(Op::ISub, heap_bytes, used);
        let most = m.op(Op::UDiv, room, each_b);
        let (wide, instances) = (m.long(primitives), m.long(self.instances));
        let wide = m.op(Op::IMul, wide, instances);
        let most = m.long(most);
        let too_many = m.op(Op::ULt, most, wide);
        m.ir.select(too_many, zero, primitives)
    }
}

/// The locations of a draw's buffers, and the numbers of what is in them.
struct Buffers {
    list: Value,
    records: Value,
    output: Value,
    index_list: Value,
    table: Value,
    primitives: Value,
    /// Vertices of an instance.
    listed: Value,
    /// Invocations of the stage after the vertices.
    emissions: Value,
}

impl Buffers {
    fn new(m: &mut MetaBuilder<'_>, d: &DrawArguments, order: Order, sizes: &Sizes) -> Buffers {
        let heap = m.word(PlaceWords::HEAP);
        let used = m.load(heap, Type::B32, 0);
        let primitives = d.primitives(m, order, sizes, used);
        let (n, four) = (m.ir.u32(order.vertices()), m.ir.u32(4));
        let all = m.op(Op::IMul, primitives, d.instances);
        let listed = m.op(Op::IMul, primitives, n);
        let vertices = m.op(Op::IMul, all, n);
        let emissions = m.op(Op::IMul, all, sizes.invocations);
        let vertex_bytes = m.word(PlaceWords::VERTEX_BYTES);
        let indices_b = m.op(Op::IMul, sizes.listed, four);
        let mut top = HeapTop { heap, end: used };
        let list = top.take(m, vertices, four);
        let records = top.take(m, vertices, vertex_bytes);
        let output = top.take(m, emissions, sizes.records_bytes);
        let index_list = top.take(m, emissions, indices_b);
        let table = top.take(m, emissions, four);
        top.close(m, 4 * m.lanes);
        Buffers { list, records, output, index_list, table, primitives, listed, emissions }
    }
}

/// Computes where the buffers of an expanded draw are.
pub(super) fn place(m: &mut MetaBuilder<'_>, order: Order, index_bytes: u8, restart: bool) {
    let sizes = Sizes::new(m, PlaceWords::EMISSION);
    let d = DrawArguments::new(m, index_bytes);
    let b = Buffers::new(m, &d, order, &sizes);
    let (zero, one) = (m.ir.u32(0), m.ir.u32(1));
    let heap = m.word(PlaceWords::HEAP);
    let to = ParamsWriter(m.word(PlaceWords::PARAMETERS));
    // The indices from the first on.
    let (source, in_buffer) = (m.word(PlaceWords::INDICES), m.word(PlaceWords::IN_BUFFER));
    let skipped_b = m.ir.u32(u32::from(index_bytes));
    let skipped_b = m.op(Op::IMul, d.skipped, skipped_b);
    let skipped_b = m.long(skipped_b);
    let source = m.op(Op::IAdd, source, skipped_b);
    let inside = m.op(Op::UGe, in_buffer, d.skipped);
    let left = m.op(Op::ISub, in_buffer, d.skipped);
    let left = m.ir.select(inside, left, zero);
    let vertex_groups = lane_groups(m, b.listed);
    // The program that looks for restarts is one workgroup, and looks at all indices.
    let (list_groups, listed) = if restart { (one, d.count) } else { (vertex_groups, b.listed) };
    for (field, v) in [(ListSource::LIST, b.list), (ListSource::INDICES, source)] {
        to.set_in(m, DrawParams::LIST, field, v);
    }
    for (field, v) in
        [(ListSource::ADDED, d.added), (ListSource::COUNT, listed), (ListSource::IN_BUFFER, left)]
    {
        to.set_in(m, DrawParams::LIST, field, v);
    }
    to.set(m, DrawParams::FIRST_INSTANCE, d.first_instance);
    to.set_groups(m, DrawParams::LIST_GROUPS, [list_groups, one]);
    to.set_in(m, DrawParams::VERTEX, CaptureWords::BUFFERS.at(0), b.records);
    to.set_in(m, DrawParams::VERTEX, CaptureWords::VERTICES, b.listed);
    to.set_groups(m, DrawParams::VERTEX_GROUPS, [vertex_groups, d.instances]);
    // The stage after the vertices, and what reads its output.
    let n = m.ir.u32(order.vertices());
    let first = m.word(PlaceWords::FIRST_PRIMITIVE);
    for (field, v) in [
        (StageWords::VERTICES, b.records),
        (StageWords::PATCHES, b.output),
        (StageWords::OUTPUT, b.output),
        (StageWords::LIST, b.index_list),
    ] {
        to.set_in(m, DrawParams::STAGE, field, v);
    }
    for (field, v) in [
        (StageWords::COUNT, b.primitives),
        (StageWords::FIRST, first),
        (StageWords::PATCH_VERTICES, n),
    ] {
        to.set_in(m, DrawParams::STAGE, field, v);
    }
    let work = m.op(Op::IMul, b.primitives, sizes.invocations);
    let threads = m.word(PlaceWords::THREADS);
    let geometry_groups = groups_of(m, work, threads);
    to.set_groups(m, DrawParams::GEOMETRY_GROUPS, [geometry_groups, d.instances]);
    let drawn = m.op(Op::IMul, b.emissions, sizes.indices);
    let first_index = first_index(m, heap, b.index_list);
    to.set_draw(m, [drawn, one, first_index]);
    set_gather(m, &to, [b.index_list, b.table, b.output], b.emissions);
    for (field, v) in [
        (TessellateWords::PATCHES, b.output),
        (TessellateWords::POINTS, b.index_list),
        (TessellateWords::INDICES, b.table),
    ] {
        to.set_in(m, DrawParams::TESSELLATE, field, v);
    }
    to.set_in(m, DrawParams::TESSELLATE, TessellateWords::COUNT, b.emissions);
    to.set(m, DrawParams::UNLIKE, zero);
}

/// Writes the words of the programs that gather what `emissions` invocations emitted, and their workgroups.
fn set_gather(
    m: &mut MetaBuilder<'_>,
    to: &ParamsWriter,
    [list, table, records]: [Value; 3],
    emissions: Value,
) {
    for (field, v) in
        [(GatherWords::LIST, list), (GatherWords::TABLE, table), (GatherWords::RECORDS, records)]
    {
        to.set_in(m, DrawParams::GATHER, field, v);
    }
    to.set_in(m, DrawParams::GATHER, GatherWords::INVOCATIONS, emissions);
    let (groups, one) = (lane_groups(m, emissions), m.ir.u32(1));
    to.set_groups(m, DrawParams::GATHER_GROUPS, [groups, one]);
}

/// Results of the tessellator for the patches of a draw.
struct Divided {
    /// Patches that are divided.
    patches: Value,
    /// Instances of the draw: patches that share what was made of one.
    instances: Value,
    points: Value,
    indices: Value,
}

impl Divided {
    /// Patches with equal levels share the points and indices of the first, unless a geometry shader reads them.
    fn new(m: &mut MetaBuilder<'_>, from: Value, geometry: bool) -> Divided {
        const TESSELLATE: Field<DrawParams, TessellateWords> = DrawParams::TESSELLATE;
        let points = m.load_field(from, DrawParams::POINTS.at(1));
        let indices = m.load_field(from, DrawParams::INDICES.at(1));
        let patches = m.load_field(from, TESSELLATE.then(TessellateWords::COUNT));
        let one = m.ir.u32(1);
        if geometry {
            return Divided { patches, instances: one, points, indices };
        }
        let (unlike, zero) = (m.load_field(from, DrawParams::UNLIKE), m.ir.u32(0));
        let unlike = m.op(Op::INe, unlike, zero);
        let several = m.op(Op::ULt, one, patches);
        // The sums before the second patch are the numbers of the first.
        let of_one = |m: &mut MetaBuilder<'_>, table: Field<TessellateWords, Long>, all: Value| {
            let table = m.load_field(from, TESSELLATE.then(table));
            let second = m.load(table, Type::B32, 4);
            let each = m.ir.select(several, second, all);
            m.ir.select(unlike, all, each)
        };
        let points = of_one(m, TessellateWords::POINTS, points);
        let indices = of_one(m, TessellateWords::INDICES, indices);
        let at_most_one = m.op(Op::UMin, patches, one);
        let divided = m.ir.select(unlike, patches, at_most_one);
        let instances = m.ir.select(unlike, one, patches);
        Divided { patches: divided, instances, points, indices }
    }
}

/// Bytes of buffers: numbers and sizes of their elements.
fn total_bytes(m: &mut MetaBuilder<'_>, parts: &[(Value, Value)]) -> Value {
    let mut bytes = m.ir.u64(0);
    for &(n, each) in parts {
        let (n, each) = (m.long(n), m.long(each));
        let part = m.op(Op::IMul, n, each);
        bytes = m.op(Op::IAdd, bytes, part);
    }
    bytes
}

/// Computes the buffers after the tessellator, once the points and indices of all patches are known.
/// Patches with equal levels share those of the first patch, which are drawn once an instance for each
/// patch, if only the rasteriser follows.
pub(super) fn place_tessellated(m: &mut MetaBuilder<'_>, geometry: bool) {
    type W = PlaceTessellatedWords;
    let from = ParamsWriter(m.word(W::PARAMETERS));
    let (heap, heap_bytes) = (m.word(W::HEAP), m.word(W::HEAP_BYTES));
    let to = if geometry { ParamsWriter(m.word(W::LATER)) } else { ParamsWriter(from.0) };
    let sizes = Sizes::new(m, W::EMISSION);
    let vertex_bytes = m.word(W::VERTEX_BYTES);
    let d = Divided::new(m, from.0, geometry);
    let (zero, four) = (m.ir.u32(0), m.ir.u32(4));
    let (primitives, emissions) = match geometry {
        true => {
            let vertices = m.word(W::VERTICES);
            let primitives = m.op(Op::UDiv, d.indices, vertices);
            (primitives, m.op(Op::IMul, primitives, sizes.invocations))
        }
        false => (zero, zero),
    };
    // Nothing is drawn if the heap has no room.
    let used = m.load(heap, Type::B32, 0);
    let room = m.op(Op::ISub, heap_bytes, used);
    let room = m.long(room);
    let point_b = m.ir.u32(TESSELLATED_B);
    let list_b = m.op(Op::IMul, sizes.listed, four);
    let parts = [
        (d.points, point_b),
        (d.indices, four),
        (d.points, vertex_bytes),
        (emissions, sizes.records_bytes),
        (emissions, list_b),
        (emissions, four),
    ];
    let bytes = total_bytes(m, if geometry { &parts } else { &parts[..2] });
    let fits = m.op(Op::ULt, bytes, room);
    let [points, indices, patches, primitives, emissions] =
        [d.points, d.indices, d.patches, primitives, emissions].map(|n| m.ir.select(fits, n, zero));
    let mut top = HeapTop { heap, end: used };
    let list = top.take(m, points, point_b);
    let index_list = top.take(m, indices, four);
    let later = geometry.then(|| {
        [
            (points, vertex_bytes),
            (emissions, sizes.records_bytes),
            (emissions, list_b),
            (emissions, four),
        ]
        .map(|(number, bytes)| top.take(m, number, bytes))
    });
    top.close(m, 0);
    let (drawn, drawn_list) = match later {
        Some([_, _, emitted, _]) => (m.op(Op::IMul, emissions, sizes.indices), emitted),
        None => (indices, index_list),
    };
    let first_index = first_index(m, heap, drawn_list);
    from.set_in(m, DrawParams::TESSELLATE, TessellateWords::LIST, list);
    from.set_in(m, DrawParams::TESSELLATE, TessellateWords::INDEX_LIST, index_list);
    set_tessellator_groups(m, &from, patches);
    let records = m.load_field(from.0, DrawParams::STAGE.then(StageWords::PATCHES));
    let in_instance = m.load_field(from.0, DrawParams::STAGE.then(StageWords::COUNT));
    let first = m.load_field(from.0, DrawParams::STAGE.then(StageWords::FIRST));
    from.set_in(m, DrawParams::EVALUATE, StageWords::PATCHES, records);
    from.set_in(m, DrawParams::EVALUATE, StageWords::LIST, list);
    from.set_in(m, DrawParams::EVALUATE, StageWords::COUNT, points);
    from.set_in(m, DrawParams::EVALUATE, StageWords::PATCH_COUNT, in_instance);
    from.set_in(m, DrawParams::EVALUATE, StageWords::FIRST, first);
    to.set_draw(m, [drawn, d.instances, first_index]);
    let Some([evaluated, output, emitted, table]) = later else { return };
    from.set_in(m, DrawParams::EVALUATE, StageWords::OUTPUT, evaluated);
    let (groups, one) = (lane_groups(m, points), m.ir.u32(1));
    from.set_groups(m, DrawParams::EVALUATE_GROUPS, [groups, one]);
    for (field, v) in [
        (StageWords::OUTPUT, output),
        (StageWords::LIST, emitted),
        (StageWords::VERTICES, evaluated),
        (StageWords::INDICES, index_list),
        (StageWords::POINTS, list),
    ] {
        to.set_in(m, DrawParams::STAGE, field, v);
    }
    for (field, v) in [
        (StageWords::PATCH_COUNT, in_instance),
        (StageWords::FIRST, first),
        (StageWords::COUNT, primitives),
    ] {
        to.set_in(m, DrawParams::STAGE, field, v);
    }
    let groups = lane_groups(m, emissions);
    to.set_groups(m, DrawParams::GEOMETRY_GROUPS, [groups, one]);
    set_gather(m, &to, [emitted, table, output], emissions);
}

/// Writes the workgroups of the tessellator: patches have one each, or a thread each if there are many.
fn set_tessellator_groups(m: &mut MetaBuilder<'_>, to: &ParamsWriter, patches: Value) {
    let (zero, one) = (m.ir.u32(0), m.ir.u32(1));
    let few = m.ir.u32(FEW_PATCHES);
    let few = m.op(Op::ULt, patches, few);
    let of_threads = lane_groups(m, patches);
    let by_group = m.ir.select(few, patches, zero);
    let by_thread = m.ir.select(few, zero, of_threads);
    to.set_groups(m, DrawParams::TESSELLATE_GROUPS, [by_group, one]);
    to.set_groups(m, DrawParams::TESSELLATE_THREADS, [by_thread, one]);
}
