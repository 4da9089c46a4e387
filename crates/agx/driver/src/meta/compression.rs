//! Programs for compressed images: reads of texels as bits, and opening of tiles.
//!
//! How silicon packs the texels of a compressed tile is unknown to everyone but its texture unit, pixel back end and depth unit.
//! Programs that read texels by address therefore read them through the texture unit, and those that write by address write to
//! *open* tiles: tiles whose metadata says that texels lie where an uncompressed image has them.
//! source: Mesa, libagx/compression.cl, which opens tiles in the same way

use tepui_agx_layout::compression::TILE_SA;
use tepui_ir::{
    Attrs, Barrier, Dim, MemSet, NumKind, Op, ResKind, Scope, TexOperands, Type, Value,
};

use tepui_vulkan_kit::MetaBuilder;

use super::pixels::Pixels as _;
use super::{SIDE_WORDS, attrs};
use crate::format::{Numbers, Packing};

/// Threads of a workgroup that opens a tile: a SIMD-group.
pub const GROUP: u32 = 32;

/// Words of [`mark`] and [`open`] after those of a side: first tile and layer (3), tiles and layers
/// (3), metadata of the level in
/// layer 0 (2), bytes from layer to layer of the metadata (2), [`tepui_agx_layout::compression::square_shift`], whether there are
/// more columns of tiles than rows, metadata of an open tile (2), columns and rows of texels, and the texels that are about to be
/// overwritten: left, top, right and bottom, the last two exclusive.
pub const TILE_WORDS: u32 = 20;

/// Columns and rows of texels of a tile.
pub fn tile_texels(samples: u32) -> [u32; 2] {
    [TILE_SA >> u32::from(samples == 4), TILE_SA >> u32::from(samples >= 2)]
}

fn kind(packing: &Packing) -> NumKind {
    if packing.numbers == Numbers::Uint { NumKind::Uint } else { NumKind::Float }
}

/// The words of a texel, of those components that were read.
fn pack(m: &mut MetaBuilder<'_>, packing: &Packing, read: Value) -> Vec<Value> {
    let mut words: Vec<Option<Value>> = vec![None; usize::from(packing.bytes.div_ceil(4))];
    for &(component, shift, bits) in packing.fields.iter().filter(|f| f.2 > 0) {
        let v = m.ir.extract(read, u32::from(component));
        let v = match packing.numbers {
            Numbers::Uint => v,
            Numbers::Unorm => {
                let most = m.ir.f32(((1u32 << bits) - 1) as f32);
                let v = m.op(Op::FMul, v, most);
                let v = m.ir.unary(Op::FRoundEven, v);
                m.ir.convert(Op::F2U, v, 32)
            }
            // Sign and lowest bits of a half are zero.
            Numbers::SmallFloat => {
                let half = m.ir.convert(Op::F2F, v, 16);
                let half = m.ir.convert(Op::U2U, half, 32);
                m.shr(half, 15 - u32::from(bits))
            }
        };
        let v = m.shl(v, u32::from(shift) % 32);
        let word = &mut words[usize::from(shift / 32)];
        *word = Some(word.map_or(v, |w| m.op(Op::IOr, w, v)));
    }
    let zero = m.ir.u32(0);
    words.into_iter().map(|w| w.unwrap_or(zero)).collect()
}

fn store(m: &mut MetaBuilder<'_>, packing: &Packing, at: Value, words: &[Value], offset: i32) {
    let v = match packing.bytes {
        1 | 2 => m.ir.convert(Op::U2U, words[0], packing.bytes * 8),
        4 => words[0],
        _ => m.ir.vec(words),
    };
    m.store(at, v, offset);
}

/// Copies texels of a compressed image to memory. Words: destination side, width, height and layers, first column, row and layer
/// of the source.
pub(super) fn read(m: &mut MetaBuilder<'_>, packing: &Packing, samples: u8, to_tiled: bool) {
    let at = m.id();
    let inside = inside(m, at, SIDE_WORDS);
    let ms = samples > 1;
    let image = m.image(0, ResKind::Texture, kind(packing), Dim::D2, ms);
    m.when(inside, |m| {
        let from: Vec<Value> = (0..3)
            .map(|k| {
                let first = m.driver(SIDE_WORDS + 3 + k);
                m.op(Op::IAdd, at[k as usize], first)
            })
            .collect();
        let from = m.ir.vec(&from);
        let element = u32::from(packing.bytes) * u32::from(samples);
        let to = m.place(0, to_tiled, element, at);
        for s in 0..samples {
            let operand = m.ir.u32(u32::from(s));
            let flags = if ms { TexOperands::SAMPLE } else { TexOperands::LOD };
            let texel = m.ir.value(
                Op::TexFetch,
                attrs(kind(packing), Dim::D2, ms, flags),
                &[image, from, operand],
                Type::vec(32, 4),
            );
            let words = pack(m, packing, texel);
            store(m, packing, to, &words, i32::from(s) * i32::from(packing.bytes));
        }
    });
}

/// Whether a thread is one of those whose number in each direction the words from `first` on say.
fn inside(m: &mut MetaBuilder<'_>, at: [Value; 3], first: u32) -> Value {
    let mut below = [0, 1, 2].map(|k| {
        let most = m.driver(first + k);
        m.op(Op::ULt, at[k as usize], most)
    });
    below[0] = m.op(Op::IAnd, below[0], below[1]);
    m.op(Op::IAnd, below[0], below[2])
}

/// Column, row and layer of a tile from its number in each direction, and the address of its metadata.
fn tile(m: &mut MetaBuilder<'_>, number: [Value; 3]) -> ([Value; 3], Value) {
    let w = SIDE_WORDS;
    let at = [0, 1, 2].map(|k| {
        let first = m.driver(w + k);
        m.op(Op::IAdd, number[k as usize], first)
    });
    let (base, layers) = (m.driver_long(w + 6), m.driver_long(w + 8));
    let (shift, wide) = (m.driver(w + 10), m.driver(w + 11));
    let (zero, one) = (m.ir.u32(0), m.ir.u32(1));
    let side = m.op(Op::IShl, one, shift);
    let mask = m.op(Op::ISub, side, one);
    let (x, y) = (m.op(Op::IAnd, at[0], mask), m.op(Op::IAnd, at[1], mask));
    let (x, y) = (m.spread(x, 16), m.spread(y, 16));
    let y = m.shl(y, 1);
    let inner = m.op(Op::IOr, x, y);
    let is_wide = m.op(Op::INe, wide, zero);
    let major = m.ir.select(is_wide, at[0], at[1]);
    let square = m.op(Op::UShr, major, shift);
    let square = m.op(Op::IShl, square, shift);
    let outer = m.op(Op::IShl, square, shift);
    let index = m.op(Op::IAdd, inner, outer);
    let index = m.long(index);
    let offset = m.shl(index, 3);
    let layer = m.long(at[2]);
    let layer = m.op(Op::IMul, layer, layers);
    let start = m.op(Op::IAdd, base, layer);
    (at, m.op(Op::IAdd, start, offset))
}

fn mark_tile(m: &mut MetaBuilder<'_>, metadata: Value) {
    let open = [0, 1].map(|k| m.driver(SIDE_WORDS + 12 + k));
    let open = m.ir.vec(&open);
    m.store(metadata, open, 0);
}

/// Marks tiles as open, all of whose texels are about to be overwritten. Words as [`TILE_WORDS`] says, a thread for each tile.
pub(super) fn mark(m: &mut MetaBuilder<'_>) {
    let number = m.id();
    let inside = inside(m, number, SIDE_WORDS + 3);
    m.when(inside, |m| {
        let (_, metadata) = tile(m, number);
        mark_tile(m, metadata);
    });
}

/// Opens tiles: what they show is written to where an uncompressed image has it, unless all of it is about to be overwritten.
/// Words as [`TILE_WORDS`] says, a workgroup for each tile.
pub(super) fn open(m: &mut MetaBuilder<'_>, packing: &Packing, samples: u8) {
    let [x, y, z] = m.id();
    let (number, last) = (m.shr(x, GROUP.ilog2()), m.ir.u32(GROUP - 1));
    let lane = m.op(Op::IAnd, x, last);
    let (at, metadata) = tile(m, [number, y, z]);
    let now = m.load(metadata, Type::vec(32, 2), 0);
    let mut differs = [0, 1].map(|k| {
        let now = m.ir.extract(now, k);
        let open = m.driver(SIDE_WORDS + 12 + k);
        m.op(Op::INe, now, open)
    });
    differs[0] = m.op(Op::IOr, differs[0], differs[1]);
    m.when(differs[0], |m| {
        expand(m, packing, samples, at, lane);
        let zero = m.ir.u32(0);
        let first = m.op(Op::IEq, lane, zero);
        m.when(first, |m| mark_tile(m, metadata));
    });
}

/// Writes what a tile shows to where an uncompressed image has it, unless all of it is about to be overwritten.
fn expand(m: &mut MetaBuilder<'_>, packing: &Packing, samples: u8, at: [Value; 3], lane: Value) {
    let w = SIDE_WORDS;
    let ms = samples > 1;
    let image = m.image(0, ResKind::StorageImage, kind(packing), Dim::D2, ms);
    let size = tile_texels(u32::from(samples));
    let size_v = size.map(|n| m.ir.u32(n));
    let level = [m.driver(w + 14), m.driver(w + 15)];
    let corner = [0, 1].map(|k| m.op(Op::IMul, at[k], size_v[k]));
    // The part of the tile that is in the level is in what will be overwritten.
    let mut covered = [0, 1].map(|k| {
        let end = m.op(Op::IAdd, corner[k], size_v[k]);
        let end = m.op(Op::UMin, end, level[k]);
        let (from, to) = (m.driver(w + 16 + k as u32), m.driver(w + 18 + k as u32));
        let starts = m.op(Op::UGe, corner[k], from);
        let ends = m.op(Op::UGe, to, end);
        m.op(Op::IAnd, starts, ends)
    });
    covered[0] = m.op(Op::IAnd, covered[0], covered[1]);
    let yes = m.ir.bool(true);
    let keeps = m.op(Op::IXor, covered[0], yes);
    m.when(keeps, |m| {
        let mut texels = Vec::new();
        for n in 0..size[0] * size[1] / GROUP {
            let first = m.ir.u32(n * GROUP);
            let i = m.op(Op::IAdd, lane, first);
            let columns = m.ir.u32(size[0] - 1);
            let x = m.op(Op::IAnd, i, columns);
            let y = m.shr(i, size[0].ilog2());
            let (x, y) = (m.op(Op::IAdd, x, corner[0]), m.op(Op::IAdd, y, corner[1]));
            let place = m.ir.vec(&[x, y, at[2]]);
            let colours: Vec<Value> = (0..samples)
                .map(|s| {
                    let mut args = vec![image, place];
                    let mut flags = TexOperands::empty();
                    if ms {
                        args.push(m.ir.u32(u32::from(s)));
                        flags |= TexOperands::SAMPLE;
                    }
                    let a = attrs(kind(packing), Dim::D2, ms, flags);
                    m.ir.value(Op::ImageLoad, a, &args, Type::vec(32, 4))
                })
                .collect();
            texels.push(([x, y], colours));
        }
        // All of the tile is read before any of it is written.
        let barrier = Barrier {
            exec: Scope::Workgroup,
            mem: Scope::Device,
            spaces: MemSet::BUFFER | MemSet::IMAGE,
        };
        m.ir.effect(Op::Barrier, Attrs::Barrier(barrier), &[]);
        for ([x, y], colours) in texels {
            let in_x = m.op(Op::ULt, x, level[0]);
            let in_y = m.op(Op::ULt, y, level[1]);
            let both = m.op(Op::IAnd, in_x, in_y);
            m.when(both, |m| {
                let element = u32::from(packing.bytes) * u32::from(samples);
                let to = m.place(0, true, element, [x, y, at[2]]);
                for (s, colour) in (0..).zip(colours) {
                    let words = pack(m, packing, colour);
                    store(m, packing, to, &words, s * i32::from(packing.bytes));
                }
            });
        }
    });
}
