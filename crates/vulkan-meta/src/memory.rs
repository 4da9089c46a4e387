//! Programs on words of memory: fills, copies of elements that depend on a word, copies of query results.

use tepui_ir::{Op, Type, Value};
use tepui_vulkan_kit::MetaBuilder;

use crate::words::{CaptureWords, ElementWords, FillWords, QueryWords};

/// Fills words.
pub(crate) fn fill(m: &mut MetaBuilder<'_>) {
    let [x, ..] = m.id();
    let base = m.word(FillWords::TO);
    let (count, word) = (m.word(FillWords::COUNT), m.word(FillWords::WORD));
    let inside = m.op(Op::ULt, x, count);
    m.when(inside, |m| {
        let x = m.long(x);
        let at = m.shl(x, 2);
        let at = m.op(Op::IAdd, base, at);
        m.store(at, word, 0);
    });
}

/// Writes one word.
pub(crate) fn word(m: &mut MetaBuilder<'_>) {
    let (at, word) = (m.word(FillWords::TO), m.word(FillWords::WORD));
    m.store(at, word, 0);
}

/// Writes the arguments of a draw of captured vertices.
pub(crate) fn captured(m: &mut MetaBuilder<'_>) {
    let (counter, to) = (m.word(CaptureWords::COUNTER), m.word(CaptureWords::TO));
    let (start, stride) = (m.word(CaptureWords::START), m.word(CaptureWords::STRIDE));
    let instances = m.word(CaptureWords::INSTANCES);
    let first_instance = m.word(CaptureWords::FIRST_INSTANCE);
    let end = m.load(counter, Type::B32, 0);
    let zero = m.ir.u32(0);
    let bytes = m.op(Op::ISub, end, start);
    let is_empty = m.op(Op::ULt, end, start);
    let bytes = m.ir.select(is_empty, zero, bytes);
    let count = m.op(Op::UDiv, bytes, stride);
    for (k, word) in (0..).zip([count, instances, zero, first_instance]) {
        m.store(to, word, 4 * k);
    }
}

/// Copies elements; those whose number is not below a count in memory get a zero as their second word.
pub(crate) fn count(m: &mut MetaBuilder<'_>, words: u8) {
    copy_elements(
        m,
        words,
        |m, x, count| {
            let n = m.load(count, Type::B32, 0);
            m.op(Op::ULt, x, n)
        },
        |k| k == 1,
    );
}

/// Copies elements, or zeros if a condition in memory does not hold.
pub(crate) fn condition(m: &mut MetaBuilder<'_>, words: u8) {
    copy_elements(
        m,
        words,
        |m, _, word| {
            let (zero, inverted) = (m.ir.u32(0), m.word(ElementWords::INVERTED));
            let v = m.load(word, Type::B32, 0);
            let is_set = m.op(Op::INe, v, zero);
            let inverts = m.op(Op::INe, inverted, zero);
            m.op(Op::IXor, is_set, inverts)
        },
        |_| true,
    );
}

/// Copies elements of `words` words. If `keeps` is false for an element's number and the address of the word that decides, the
/// words that `cleared` selects become zeros.
fn copy_elements(
    m: &mut MetaBuilder<'_>,
    words: u8,
    keeps: impl FnOnce(&mut MetaBuilder<'_>, Value, Value) -> Value,
    cleared: impl Fn(i32) -> bool,
) {
    let [x, ..] = m.id();
    let from = m.word(ElementWords::FROM);
    let to = m.word(ElementWords::TO);
    let decides = m.word(ElementWords::DECIDES);
    let (stride, count) = (m.word(ElementWords::STRIDE), m.word(ElementWords::COUNT));
    let inside = m.op(Op::ULt, x, count);
    m.when(inside, |m| {
        let kept = keeps(m, x, decides);
        let (i, stride) = (m.long(x), m.long(stride));
        let a = m.op(Op::IMul, i, stride);
        let a = m.op(Op::IAdd, from, a);
        let own = m.ir.u64(u64::from(words) * 4);
        let b = m.op(Op::IMul, i, own);
        let b = m.op(Op::IAdd, to, b);
        let zero = m.ir.u32(0);
        for k in 0..i32::from(words) {
            let v = m.load(a, Type::B32, 4 * k);
            let v = if cleared(k) { m.ir.select(kept, v, zero) } else { v };
            m.store(b, v, 4 * k);
        }
    });
}

/// A copy of query results.
pub(crate) struct Queries {
    pub(crate) values: u8,
    pub(crate) pairs: bool,
    pub(crate) wide: bool,
    pub(crate) availability: bool,
    pub(crate) partial: bool,
}

/// Copies results; values and availability are 64 bits each ([`tepui_vulkan_kit::QueryLayout`]).
pub(crate) fn queries(m: &mut MetaBuilder<'_>, q: &Queries) {
    let [x, ..] = m.id();
    let count = m.word(QueryWords::COUNT);
    let inside = m.op(Op::ULt, x, count);
    let [values, available, to, stride] =
        [QueryWords::VALUES, QueryWords::AVAILABLE, QueryWords::TO, QueryWords::STRIDE]
            .map(|field| m.word(field));
    let value_b = if q.pairs { 16 } else { 8 };
    m.when(inside, |m| {
        let i = m.long(x);
        let own = m.ir.u64(value_b as u64 * u64::from(q.values));
        let (at, flag) = (m.op(Op::IMul, i, own), m.shl(i, 3));
        let (from, flag) = (m.op(Op::IAdd, values, at), m.op(Op::IAdd, available, flag));
        let row = m.op(Op::IMul, i, stride);
        let to = m.op(Op::IAdd, to, row);
        let step = if q.wide { 8 } else { 4 };
        let is_there = m.load(flag, Type::B32, 0);
        let zero = m.ir.u32(0);
        let yes = m.op(Op::INe, is_there, zero);
        let copy = |m: &mut MetaBuilder<'_>| {
            for k in 0..i32::from(q.values) {
                let v = value(m, q, from, value_b * k);
                m.store(to, v, step * k);
            }
        };
        if q.partial {
            copy(m);
        } else {
            m.when(yes, copy);
        }
        if q.availability {
            let one = m.ir.u32(1);
            let flag = m.ir.select(yes, one, zero);
            let v = if q.wide { m.ir.vec(&[flag, zero]) } else { flag };
            m.store(to, v, step * i32::from(q.values));
        }
    });
}

/// One value.
fn value(m: &mut MetaBuilder<'_>, q: &Queries, from: Value, offset: i32) -> Value {
    match (q.pairs, q.wide) {
        (false, true) => m.load(from, Type::vec(32, 2), offset),
        (false, false) => m.load(from, Type::B32, offset),
        // The low word of a difference is that of the low words.
        (true, wide) => {
            let ty = if wide { Type::B64 } else { Type::B32 };
            let (begin, end) = (m.load(from, ty, offset), m.load(from, ty, offset + 8));
            m.op(Op::ISub, end, begin)
        }
    }
}
