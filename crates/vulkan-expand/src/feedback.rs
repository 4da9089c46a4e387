//! Programs of transform feedback: lists of vertices, and how many of them fit.

use tepui_expand::capture::{CaptureWords, MAX_BUFFERS};
use tepui_ir::{Op, Type};
use tepui_sysval::{Field, Long, push_words};
use tepui_vulkan::feedback::MAX_FEEDBACK;
use tepui_vulkan_kit::MetaBuilder;

const _: () = assert!(MAX_BUFFERS == MAX_FEEDBACK, "captures write all buffers");

push_words! {
    /// Parameters of a capture in memory, which [`crate::Program::Fit`] writes.
    pub struct CaptureParams {
        /// Words of the shader that captures.
        pub capture: CaptureWords,
        /// Its workgroups.
        pub groups: [u32; 3],
    }

    /// Words of [`crate::Program::Fit`].
    pub struct FitWords {
        /// Address of the offsets in bytes of the buffers' free parts.
        pub offsets: Long,
        /// Address of the [`CaptureParams`] that are written.
        pub parameters: Long,
        /// Addresses of the buffers.
        pub buffers: [Long; MAX_FEEDBACK],
        /// Bytes of the buffers.
        pub sizes: [u32; MAX_FEEDBACK],
        /// Bytes from vertex to vertex in each of them; 0 for unused ones.
        pub strides: [u32; MAX_FEEDBACK],
        /// Vertices of an instance.
        pub vertices: u32,
        /// Instances.
        pub instances: u32,
        /// Vertices of a primitive.
        pub per_primitive: u32,
        /// Address of the query's numbers of captured and of all primitives; 0 for none.
        pub query: Long,
    }

    /// Words of [`crate::Program::ByteCount`].
    pub struct ByteCountWords {
        /// Address of the number of captured bytes.
        pub counter: Long,
        /// Address of the arguments of the draw that are written.
        pub draw: Long,
        /// First byte that is drawn.
        pub start: u32,
        /// Bytes of a vertex.
        pub stride: u32,
        /// Instances.
        pub instances: u32,
        /// First instance.
        pub first_instance: u32,
    }
}

/// Computes how many captured vertices fit, and where they go.
pub(super) fn fit(m: &mut MetaBuilder<'_>) {
    const CAPTURE: Field<CaptureParams, CaptureWords> = CaptureParams::CAPTURE;
    let (offsets, to) = (m.word(FitWords::OFFSETS), m.word(FitWords::PARAMETERS));
    let (vertices, instances) = (m.word(FitWords::VERTICES), m.word(FitWords::INSTANCES));
    let each = m.word(FitWords::PER_PRIMITIVE);
    let zero = m.ir.u32(0);
    let mut limit = m.ir.u32(u32::MAX);
    let mut captures = m.ir.u32(0);
    let mut starts = Vec::new();
    for b in 0..MAX_FEEDBACK {
        let (size, stride) = (m.word(FitWords::SIZES.at(b)), m.word(FitWords::STRIDES.at(b)));
        let offset = m.load(offsets, Type::B32, 4 * b as i32);
        let full = m.op(Op::UGe, offset, size);
        let room = m.op(Op::ISub, size, offset);
        let room = m.ir.select(full, zero, room);
        let used = m.op(Op::INe, stride, zero);
        let one = m.ir.u32(1);
        let divisor = m.ir.select(used, stride, one);
        let fits = m.op(Op::UDiv, room, divisor);
        let least = m.op(Op::UMin, limit, fits);
        limit = m.ir.select(used, least, limit);
        captures = m.op(Op::IOr, captures, stride);
        starts.push((offset, stride));
    }
    // Shaders that capture nothing write no primitives.
    let captures = m.op(Op::INe, captures, zero);
    limit = m.ir.select(captures, limit, zero);
    let whole = m.op(Op::UDiv, limit, each);
    let limit = m.op(Op::IMul, whole, each);
    let all = m.op(Op::IMul, vertices, instances);
    let written = m.op(Op::UMin, all, limit);
    for (b, (offset, stride)) in starts.into_iter().enumerate() {
        let base = m.word(FitWords::BUFFERS.at(b));
        let wide = m.long(offset);
        let at = m.op(Op::IAdd, base, wide);
        m.store_field(to, CAPTURE.then(CaptureWords::BUFFERS).at(b), at);
        let bytes = m.op(Op::IMul, written, stride);
        let end = m.op(Op::IAdd, offset, bytes);
        m.store(offsets, end, 4 * b as i32);
    }
    m.store_field(to, CAPTURE.then(CaptureWords::VERTICES), vertices);
    m.store_field(to, CAPTURE.then(CaptureWords::LIMIT), written);
    let threads = m.op(Op::UMin, vertices, written);
    let more = m.ir.u32(m.lanes - 1);
    let threads = m.op(Op::IAdd, threads, more);
    let groups = m.shr(threads, m.lanes.ilog2());
    let one = m.ir.u32(1);
    m.store_words(to, CaptureParams::GROUPS, [groups, instances, one]);
    let query = m.word(FitWords::QUERY);
    let none = m.ir.u64(0);
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

/// Computes the arguments of a draw of captured vertices.
pub(super) fn byte_count(m: &mut MetaBuilder<'_>) {
    let (counter, to) = (m.word(ByteCountWords::COUNTER), m.word(ByteCountWords::DRAW));
    let (start, stride) = (m.word(ByteCountWords::START), m.word(ByteCountWords::STRIDE));
    let bytes = m.load(counter, Type::B32, 0);
    let none = m.op(Op::UGe, start, bytes);
    let bytes = m.op(Op::ISub, bytes, start);
    let zero = m.ir.u32(0);
    let bytes = m.ir.select(none, zero, bytes);
    let count = m.op(Op::UDiv, bytes, stride);
    let instances = m.word(ByteCountWords::INSTANCES);
    let first = m.word(ByteCountWords::FIRST_INSTANCE);
    for (k, v) in [count, instances, zero, first].into_iter().enumerate() {
        m.store(to, v, 4 * k as i32);
    }
}
