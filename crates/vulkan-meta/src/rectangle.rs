//! Vertices of rectangles, and fragments that clear.

use tepui_ir::{Builtin, IoLoc, NumKind, Op, Value};
use tepui_vulkan_kit::MetaBuilder;

use crate::image::slot;
use crate::words::{ClearWords, DrawWords, RectangleWords};

/// A strip of four vertices for each layer.
pub(crate) fn vertices(m: &mut MetaBuilder<'_>) {
    let n = m.ir.builtin(Builtin::VertexIndex, tepui_ir::Type::B32);
    let layer = m.ir.builtin(Builtin::InstanceIndex, tepui_ir::Type::B32);
    let (one, two, zero) = (m.ir.u32(1), m.ir.u32(2), m.ir.u32(0));
    let corners = DrawWords::RECTANGLE.then(RectangleWords::CORNERS);
    let depth = DrawWords::RECTANGLE.then(RectangleWords::DEPTH);
    let pick = |m: &mut MetaBuilder<'_>, bit: Value, k: usize| {
        let b = m.op(Op::IAnd, n, bit);
        let set = m.op(Op::INe, b, zero);
        let (l, h) = (m.word(corners.at(k)), m.word(corners.at(k + 2)));
        m.ir.select(set, h, l)
    };
    let (x, y) = (pick(m, one, 0), pick(m, two, 1));
    let (z, w) = (m.word(depth), m.ir.f32(1.0));
    let position = m.ir.vec(&[x, y, z, w]);
    m.ir.effect(
        Op::StoreOutput,
        slot(IoLoc::Builtin(Builtin::Position), 0, NumKind::Float),
        &[position, zero],
    );
    let first = m.word(DrawWords::FIRST_LAYER);
    let layer = m.op(Op::IAdd, layer, first);
    m.ir.effect(
        Op::StoreOutput,
        slot(IoLoc::Builtin(Builtin::Layer), 0, NumKind::Uint),
        &[layer, zero],
    );
}

/// Fragments that store words as `colours`.
pub(crate) fn clear(m: &mut MetaBuilder<'_>, colours: u8, integers: u8) {
    let zero = m.ir.u32(0);
    for k in (0..8).filter(|k| colours >> k & 1 != 0) {
        let words: Vec<Value> = (0..4).map(|c| m.word(ClearWords::COLOURS.at(k).at(c))).collect();
        let colour = m.ir.vec(&words);
        let kind = if integers >> k & 1 != 0 { NumKind::Uint } else { NumKind::Float };
        m.ir.effect(Op::StoreOutput, slot(IoLoc::Location(k as u16), 0, kind), &[colour, zero]);
    }
}
