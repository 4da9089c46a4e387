//! Programs of transform feedback: lists of vertices, and how many of them fit.

use tepui_expand::capture::{ADDRESSES, LIMIT, VERTICES};
use tepui_ir::{Op, Type};
use tepui_vulkan::feedback::MAX_FEEDBACK;
use tepui_vulkan_kit::MetaBuilder;

/// Bytes of the parameters of a capture: the words that programs read ([`tepui_expand::capture`]), then the
/// arguments of the indirect dispatch.
pub const PARAMETERS_B: usize = 64;
/// Offset of the arguments of the dispatch.
pub const LIST: u32 = 40;

/// Words: offsets (2), parameters (2), addresses of the buffers (8), their sizes (4), strides (4), vertices of an instance,
/// instances, vertices of a primitive, query (2).
pub(super) fn fit(m: &mut MetaBuilder<'_>) {
    let (offsets, to) = (m.driver_long(0), m.driver_long(2));
    let (vertices, instances, each) = (m.driver(20), m.driver(21), m.driver(22));
    let zero = m.ir.u32(0);
    let mut limit = m.ir.u32(u32::MAX);
    let mut captures = m.ir.u32(0);
    let mut starts = Vec::new();
    for b in 0..MAX_FEEDBACK as u32 {
        let (size, stride) = (m.driver(12 + b), m.driver(16 + b));
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
    let more = m.ir.u32(m.lanes - 1);
    let threads = m.op(Op::IAdd, threads, more);
    let groups = m.shr(threads, m.lanes.ilog2());
    let one = m.ir.u32(1);
    for (k, v) in [groups, instances, one].into_iter().enumerate() {
        m.store(to, v, (LIST + 4 * k as u32) as i32);
    }
    let query = m.driver_long(23);
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

/// Words: counter (2), arguments of the draw (2), first byte, stride, instances, first instance.
pub(super) fn byte_count(m: &mut MetaBuilder<'_>) {
    let (counter, to) = (m.driver_long(0), m.driver_long(2));
    let (start, stride) = (m.driver(4), m.driver(5));
    let bytes = m.load(counter, Type::B32, 0);
    let none = m.op(Op::UGe, start, bytes);
    let bytes = m.op(Op::ISub, bytes, start);
    let zero = m.ir.u32(0);
    let bytes = m.ir.select(none, zero, bytes);
    let count = m.op(Op::UDiv, bytes, stride);
    let (instances, first) = (m.driver(6), m.driver(7));
    for (k, v) in [count, instances, zero, first].into_iter().enumerate() {
        m.store(to, v, 4 * k as i32);
    }
}
