//! Places of texels and samples in memory, for accesses that the texture unit does not have: atomics, and stores to multisampled
//! images.

use super::{Descriptors, ImageOp, square};
use crate::descriptor::{self, Bits, texture};
use tepui_ir::{Dim, Op, Type, Value};
use tepui_passes::rewrite::Emit;

/// The texel of a level in the order of memory. source: Mesa, docs/drivers/asahi.rst, "Image
/// layouts"
fn texel_index(e: &mut Emit, h: Value, x: Value, y: Value) -> Value {
    let row = e.word(h, descriptor::PITCH_B);
    let log_w = e.bits(h, descriptor::TILE_WIDTH_LOG2);
    let log_h = e.bits(h, descriptor::TILE_HEIGHT_LOG2);
    let one = e.u32(1);
    let mask = |e: &mut Emit, log: Value| {
        let n = e.op(Op::IShl, &[one, log]);
        e.op(Op::ISub, &[n, one])
    };
    let (mask_w, mask_h) = (mask(e, log_w), mask(e, log_h));
    let not_w = e.op(Op::INot, &[mask_w]);
    let not_h = e.op(Op::INot, &[mask_h]);
    let above = e.op(Op::IAnd, &[y, not_h]);
    let above = e.op(Op::IMul, &[above, row]);
    let left = e.op(Op::IAnd, &[x, not_w]);
    let left = e.op(Op::IShl, &[left, log_h]);
    let in_x = e.op(Op::IAnd, &[x, mask_w]);
    let in_y = e.op(Op::IAnd, &[y, mask_h]);
    let inside = e.op(Op::BitInterleave, &[in_x, in_y]);
    let sum = e.op(Op::IAdd, &[above, left]);
    e.op(Op::IAdd, &[sum, inside])
}

/// Whether the integer coordinates are inside of the view, and the sample is one of its texels'.
pub(super) fn within_samples(e: &mut Emit, h: Value, l: &ImageOp, sample: Value) -> Value {
    let inside = within(e, h, l);
    let log = e.bits(h, texture("samples"));
    let two = e.u32(2);
    let samples = e.op(Op::IShl, &[two, log]);
    let known = e.op(Op::ULt, &[sample, samples]);
    e.op(Op::IAnd, &[inside, known])
}

/// The sample of a level in the order of memory: those of a texel lie side by side.
fn sample_index(e: &mut Emit, h: Value, l: &ImageOp, sample: Value) -> Value {
    let log = e.bits(h, descriptor::SAMPLES_LOG2);
    let texel = texel_index(e, h, l.at[0], l.at[1]);
    let first = e.op(Op::IShl, &[texel, log]);
    e.op(Op::IAdd, &[first, sample])
}

/// Moves an index to a layer.
fn in_layer(e: &mut Emit, h: Value, at: Value, layer: Value) -> Value {
    let stride = e.word(h, descriptor::LAYER_B);
    let layers = e.op(Op::IMul, &[layer, stride]);
    e.op(Op::IAdd, &[at, layers])
}

/// The position of a sample of a multisampled image, as column and row of the image in its PBE
/// descriptor.
pub(super) fn multisampled_place(e: &mut Emit, h: Value, l: &ImageOp, sample: Value) -> Vec<Value> {
    let inside = within_samples(e, h, l, sample);
    let mut at = sample_index(e, h, l, sample);
    if let Some(k) = l.layer() {
        at = in_layer(e, h, at, l.at[k]);
    }
    let outside = e.u32(u32::MAX);
    let at = e.select(inside, at, outside);
    square(e, at)
}

/// Whether the integer coordinates are inside of the view.
pub(super) fn within(e: &mut Emit, h: Value, l: &ImageOp) -> Value {
    let first = e.bits(h, texture("first_level"));
    let mut all: Option<Value> = None;
    let cube = l.image.dim == Dim::Cube;
    for (k, &c) in l.at.iter().enumerate() {
        let layer = l.layer() == Some(k) || (cube && k == 2);
        let field = match k {
            _ if layer => "depth",
            0 => "width",
            1 => "height",
            _ => "depth",
        };
        let mut n = e.size(h, field);
        if !layer {
            let one = e.u32(1);
            n = e.op(Op::UShr, &[n, first]);
            n = e.op(Op::UMax, &[n, one]);
        }
        let c = e.op(Op::ULt, &[c, n]);
        all = Some(match all {
            Some(v) => e.op(Op::IAnd, &[v, c]),
            None => c,
        });
    }
    all.unwrap_or_else(|| e.konst(Type::B1, 1))
}

/// The address of a texel, or sample of one, of 4 bytes.
pub(super) fn address(e: &mut Emit, h: Value, l: &ImageOp, sample: Value) -> Value {
    let two = e.u32(2);
    let mut at = if l.image.dim == Dim::Buffer {
        let offset = e.bits(h, descriptor::pbe("buffer_offset_sw"));
        e.op(Op::IAdd, &[l.at[0], offset])
    } else if l.image.ms {
        sample_index(e, h, l, sample)
    } else {
        let (x, y) = match l.image.dim {
            Dim::D1 => (l.at[0], e.u32(0)),
            _ => (l.at[0], l.at[1]),
        };
        texel_index(e, h, x, y)
    };
    let layer = match l.image.dim {
        Dim::D3 | Dim::Cube => Some(2),
        _ => l.layer(),
    };
    if let Some(k) = layer {
        at = in_layer(e, h, at, l.at[k]);
    }
    // The field of the base counts 16 bytes.
    let b = descriptor::pbe("buffer");
    let low = e.word(h, b.byte);
    let four = e.u32(4);
    let low = e.op(Op::IShl, &[low, four]);
    let high = e.bits(h, Bits { byte: b.byte, low: 28, width: b.width - 28 });
    let alias = e.word(h, descriptor::ALIAS_DISTANCE_B);
    let high = e.op(Op::ISub, &[high, alias]);
    let words = e.vec(&[low, high]);
    let base = e.convert(Op::Bitcast, words, Type::B64);
    let mut bytes = e.op(Op::IShl, &[at, two]);
    // A texel buffer and an image of samples have no levels.
    if l.image.dim != Dim::Buffer && !l.image.ms {
        let level = e.bits(h, descriptor::pbe("level_offset_sw"));
        let seven = e.u32(7);
        let level = e.op(Op::IShl, &[level, seven]);
        bytes = e.op(Op::IAdd, &[bytes, level]);
    }
    let bytes = e.convert(Op::U2U, bytes, Type::B64);
    e.op(Op::IAdd, &[base, bytes])
}
