//! Copies of texels.

use std::cmp::Ordering;

use tepui_ir::{Builtin, Dim, Op, ResKind, Type, Value};
use tepui_sysval::Field;
use tepui_vulkan_kit::MetaBuilder;

use crate::image::{self, Place};
use crate::packing::{Numbers, Packing};
use crate::program::{Order, Output, Side};
use crate::view::TileBits;
use crate::words::{CopyWords, SideWords};

/// Spreads the bits of a number of at most 8 or 16 bits: every other bit is free for another's.
pub fn spread(m: &mut MetaBuilder<'_>, v: Value, bits: u32) -> Value {
    let mut v = v;
    let steps = [(8, 0x00ff_00ff_u32), (4, 0x0f0f_0f0f), (2, 0x3333_3333), (1, 0x5555_5555)];
    for (n, mask) in steps.into_iter().filter(|s| 2 * s.0 <= bits) {
        let up = m.shl(v, n);
        let both = m.op(Op::IOr, v, up);
        let mask = m.ir.u32(mask);
        v = m.op(Op::IAnd, both, mask);
    }
    v
}

/// The address of an element of memory that the words of a side describe.
pub fn address<S>(
    m: &mut MetaBuilder<'_>,
    side: Field<S, SideWords>,
    order: Order,
    element: u32,
    at: [Value; 3],
) -> Value {
    let base = m.word(side.then(SideWords::BASE));
    let [x, y, z] = image::plus(m, at, side.then(SideWords::FIRST));
    let pitch = m.word(side.then(SideWords::PITCH));
    let slice = m.word(side.then(SideWords::SLICE_PITCH));
    if let Order::Bits(bits) = order {
        let rows = m.ir.convert(Op::U2U, slice, 32);
        let down = m.op(Op::IMul, z, rows);
        let y = m.op(Op::IAdd, y, down);
        let offset = in_tiles(m, bits, pitch, element, [x, y]);
        return m.op(Op::IAdd, base, offset);
    }
    let z = m.long(z);
    let deep = m.op(Op::IMul, z, slice);
    let start = m.op(Op::IAdd, base, deep);
    let index = if matches!(order, Order::Morton | Order::Interleaved) {
        let log2 = side.then(SideWords::TILE_LOG2);
        let (lw, lh) = (m.word(log2.at(0)), m.word(log2.at(1)));
        let one = m.ir.u32(1);
        let inside = |m: &mut MetaBuilder<'_>, v: Value, l: Value| {
            let n = m.op(Op::IShl, one, l);
            let mask = m.op(Op::ISub, n, one);
            m.op(Op::IAnd, v, mask)
        };
        let (ix, iy) = (inside(m, x, lw), inside(m, y, lh));
        let ix = if order == Order::Interleaved { m.op(Op::IXor, ix, iy) } else { ix };
        let (tx, ty) = (m.op(Op::UShr, x, lw), m.op(Op::UShr, y, lh));
        let row = m.op(Op::IMul, ty, pitch);
        let tile = m.op(Op::IAdd, row, tx);
        let both = m.op(Op::IAdd, lw, lh);
        let tile = m.op(Op::IShl, tile, both);
        let (sx, sy) = (spread(m, ix, 8), spread(m, iy, 8));
        let sy = m.shl(sy, 1);
        let morton = m.op(Op::IOr, sx, sy);
        let n = m.op(Op::IAdd, tile, morton);
        let n = m.long(n);
        let e = m.ir.u64(u64::from(element));
        m.op(Op::IMul, n, e)
    } else {
        let (y, pitch, x) = (m.long(y), m.long(pitch), m.long(x));
        let row = m.op(Op::IMul, y, pitch);
        let e = m.ir.u64(u64::from(element));
        let x = m.op(Op::IMul, x, e);
        m.op(Op::IAdd, row, x)
    };
    m.op(Op::IAdd, start, index)
}

/// The offset of an element in rows of tiles, `pitch` bytes each.
fn in_tiles(
    m: &mut MetaBuilder<'_>,
    bits: TileBits,
    pitch: Value,
    element: u32,
    [x, y]: [Value; 2],
) -> Value {
    let size = m.ir.u32(element);
    let x = m.op(Op::IMul, x, size);
    let (width_log2, height_log2) = (bits.x.count_ones(), bits.y.count_ones());
    let (tile, row) = (m.shr(x, width_log2), m.shr(y, height_log2));
    let mut within = m.shl(tile, width_log2 + height_log2);
    for (v, mask) in [(x, bits.x), (y, bits.y)] {
        let part = deposit(m, v, mask);
        within = m.op(Op::IOr, within, part);
    }
    let (row, pitch, within) = (m.long(row), m.long(pitch), m.long(within));
    let down = m.op(Op::IMul, row, pitch);
    m.op(Op::IAdd, down, within)
}

/// The lowest bits of a number at the places of a mask's bits.
fn deposit(m: &mut MetaBuilder<'_>, v: Value, mask: u32) -> Value {
    let (mut out, mut left, mut taken) = (m.ir.u32(0), mask, 0);
    while left != 0 {
        // A run of ones of the mask takes as many bits of the number.
        let first = left.trailing_zeros();
        let length = (left >> first).trailing_ones();
        let run = (((1u64 << length) - 1) << first) as u32;
        let moved = match first.cmp(&taken) {
            Ordering::Less => m.shr(v, taken - first),
            Ordering::Equal => v,
            Ordering::Greater => m.shl(v, first - taken),
        };
        let run_mask = m.ir.u32(run);
        let part = m.op(Op::IAnd, moved, run_mask);
        out = m.op(Op::IOr, out, part);
        (left, taken) = (left & !run, taken + length);
    }
    out
}

/// Copies elements of `units` units of `unit` bytes between two pieces of memory, in an order each.
pub(crate) fn copy_memory(m: &mut MetaBuilder<'_>, unit: u8, units: u8, orders: [Order; 2]) {
    let place = Place::new(m, Output::Store, CopyWords::TO.then(SideWords::FIRST));
    place.when_inside(m, CopyWords::SIZE, |m, at| {
        let element = u32::from(unit) * u32::from(units);
        let a = address(m, CopyWords::FROM, orders[0], element, at);
        let b = address(m, CopyWords::TO, orders[1], element, at);
        let ty = match unit {
            1 => Type::vec(8, 1),
            2 => Type::vec(16, 1),
            4 => Type::B32,
            8 => Type::vec(32, 2),
            _ => Type::vec(32, 4),
        };
        for k in 0..i32::from(units) {
            let v = m.load(a, ty, i32::from(unit) * k);
            m.store(b, v, i32::from(unit) * k);
        }
    });
}

/// Location of a texel.
enum Location {
    /// An address.
    Address(Value),
    /// An image and coordinates.
    Image(Value, Value),
    /// The fragment.
    Fragment,
}

/// A texel that was read.
enum Texel {
    /// Its words.
    Words(Vec<Value>),
    /// Its components.
    Components(Value),
}

impl Texel {
    fn words(self, m: &mut MetaBuilder<'_>, packing: &Packing) -> Vec<Value> {
        match self {
            Texel::Words(words) => words,
            Texel::Components(v) => packing.pack(m, v),
        }
    }

    fn components(self, m: &mut MetaBuilder<'_>, from: &Packing, to: &Packing) -> Value {
        match self {
            Texel::Components(v) if from == to => v,
            other => {
                let words = other.words(m, from);
                to.unpack(m, &words)
            }
        }
    }
}

/// Copies texels of `samples` samples; at least one side is not in memory.
pub(crate) fn copy_texels(m: &mut MetaBuilder<'_>, from: Side, to: Side, samples: u8) {
    let packing = |side: Side, other: Side| match (side, other) {
        (Side::Image(p) | Side::Drawn(_, p), _) | (_, Side::Image(p) | Side::Drawn(_, p)) => p,
        _ => Packing { numbers: Numbers::Uint, fields: [(0, 0, 0); 4], bytes: 0 },
    };
    let (a, b) = (packing(from, to), packing(to, from));
    let output = match to {
        Side::Drawn(output, _) => output,
        _ => Output::Store,
    };
    let place = Place::new(m, output, CopyWords::TO.then(SideWords::FIRST));
    let ms = samples > 1;
    let mut binding = 0;
    let mut image_of = |m: &mut MetaBuilder<'_>, side: Side, kind: ResKind| {
        let Side::Image(p) = side else { return None };
        let image = image::image(m, binding, kind, p.kind(), Dim::D2, ms);
        binding += 1;
        Some(image)
    };
    let source = image_of(m, from, ResKind::Texture);
    let target = image_of(m, to, ResKind::StorageImage);
    place.when_inside(m, CopyWords::SIZE, |m, at| {
        // Helper fragments read memory, too: where their neighbours do.
        let at = match (from, to) {
            (Side::Memory(_), Side::Drawn(..)) => image::nearest(m, at, CopyWords::SIZE),
            _ => at,
        };
        type Words = Field<CopyWords, SideWords>;
        let locate =
            |m: &mut MetaBuilder<'_>, side: Side, image: Option<Value>, w: Words| match side {
                Side::Memory(order) => {
                    let element = u32::from(a.bytes) * u32::from(samples);
                    Location::Address(address(m, w, order, element, at))
                }
                _ => image.map_or(Location::Fragment, |image| {
                    let at = image::plus(m, at, w.then(SideWords::FIRST));
                    Location::Image(image, m.ir.vec(&at))
                }),
            };
        let source = locate(m, from, source, CopyWords::FROM);
        let target = locate(m, to, target, CopyWords::TO);
        if ms && output != Output::Store {
            // A fragment for each sample.
            let sample = m.ir.builtin(Builtin::SampleId, Type::B32);
            let source = match source {
                Location::Address(at) => {
                    let bytes = m.ir.u32(u32::from(a.bytes));
                    let offset = m.op(Op::IMul, sample, bytes);
                    let offset = m.long(offset);
                    Location::Address(m.op(Op::IAdd, at, offset))
                }
                other => other,
            };
            copy_sample(m, (&source, &a), (&target, &b), output, (Some(sample), 0));
            return;
        }
        for n in 0..samples {
            let sample = ms.then(|| m.ir.u32(u32::from(n)));
            copy_sample(m, (&source, &a), (&target, &b), output, (sample, n));
        }
    });
}

/// Copies a sample, which memory has `number` texels further on.
fn copy_sample(
    m: &mut MetaBuilder<'_>,
    (source, a): (&Location, &Packing),
    (target, b): (&Location, &Packing),
    output: Output,
    (sample, number): (Option<Value>, u8),
) {
    let offset = i32::from(number) * i32::from(a.bytes);
    let texel = match *source {
        Location::Address(at) => Texel::Words(a.load(m, at, offset)),
        Location::Image(image, at) => {
            Texel::Components(image::fetch(m, image, a.kind(), at, sample))
        }
        Location::Fragment => return,
    };
    match *target {
        Location::Address(at) => {
            let words = texel.words(m, a);
            b.store(m, at, &words, offset);
        }
        Location::Image(image, at) => {
            let v = texel.components(m, a, b);
            image::store(m, image, b.kind(), at, sample, v);
        }
        Location::Fragment => {
            let v = texel.components(m, a, b);
            image::write_fragment(m, output, b.kind(), v);
        }
    }
}
