//! Programs that open tiles of compressed images.
//!
//! How silicon packs the texels of a compressed tile is unknown to everyone but its texture unit, pixel back end and depth unit.
//! Programs that read texels by address therefore read them through the texture unit, and those that write by address write to
//! *open* tiles: tiles whose metadata says that texels lie where an uncompressed image has them.
//! source: Mesa, libagx/compression.cl, which opens tiles in the same way

use tepui_agx_layout::compression::TILE_SA;
use tepui_ir::{Attrs, Barrier, Dim, MemSet, Op, ResKind, Scope, TexOperands, Type, Value};
use tepui_sysval::{Long, push_words};
use tepui_vulkan_kit::MetaBuilder;
use tepui_vulkan_meta::texels::{address, spread};
use tepui_vulkan_meta::words::SideWords;
use tepui_vulkan_meta::{Order, Packing, image};

/// Threads of a workgroup that opens a tile: a SIMD-group.
pub const GROUP: u32 = 32;

push_words! {
    /// Words of [`mark`] and [`open`].
    pub struct TileWords {
        /// Texels of the level in memory.
        pub side: SideWords,
        /// Column, row and layer of the first tile.
        pub first: [u32; 3],
        /// Columns, rows and layers of tiles.
        pub count: [u32; 3],
        /// Address of the level's metadata in layer 0.
        pub metadata: Long,
        /// Bytes from layer to layer of the metadata.
        pub layer_pitch: Long,
        /// [`tepui_agx_layout::compression::square_shift`].
        pub square_shift: u32,
        /// Whether there are more columns of tiles than rows.
        pub wide: u32,
        /// Metadata of an open tile.
        pub open: [u32; 2],
        /// Columns and rows of texels of the level.
        pub size: [u32; 2],
        /// Texels that are about to be overwritten: first column and row.
        pub covered_from: [u32; 2],
        /// The column and row after the last ones of these.
        pub covered_to: [u32; 2],
    }
}

/// Columns and rows of texels of a tile.
pub fn tile_texels(samples: u32) -> [u32; 2] {
    [TILE_SA >> u32::from(samples == 4), TILE_SA >> u32::from(samples >= 2)]
}

/// Column, row and layer of a tile from its number in each direction, and the address of its metadata.
fn tile(m: &mut MetaBuilder<'_>, number: [Value; 3]) -> ([Value; 3], Value) {
    let at = image::plus(m, number, TileWords::FIRST);
    let (base, layers) = (m.word(TileWords::METADATA), m.word(TileWords::LAYER_PITCH));
    let (shift, wide) = (m.word(TileWords::SQUARE_SHIFT), m.word(TileWords::WIDE));
    let (zero, one) = (m.ir.u32(0), m.ir.u32(1));
    let side = m.op(Op::IShl, one, shift);
    let mask = m.op(Op::ISub, side, one);
    let (x, y) = (m.op(Op::IAnd, at[0], mask), m.op(Op::IAnd, at[1], mask));
    let (x, y) = (spread(m, x, 16), spread(m, y, 16));
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
    let open = [0, 1].map(|k| m.word(TileWords::OPEN.at(k)));
    let open = m.ir.vec(&open);
    m.store(metadata, open, 0);
}

/// Marks tiles as open, all of whose texels are about to be overwritten. A thread for each tile.
pub(super) fn mark(m: &mut MetaBuilder<'_>) {
    let number = m.id();
    let inside = image::inside(m, number, TileWords::COUNT);
    m.when(inside, |m| {
        let (_, metadata) = tile(m, number);
        mark_tile(m, metadata);
    });
}

/// Opens tiles: what they show is written to where an uncompressed image has it, unless all of it is about to be overwritten.
/// A workgroup for each tile.
pub(super) fn open(m: &mut MetaBuilder<'_>, packing: &Packing, samples: u8) {
    let [x, y, z] = m.id();
    let (number, last) = (m.shr(x, GROUP.ilog2()), m.ir.u32(GROUP - 1));
    let lane = m.op(Op::IAnd, x, last);
    let (at, metadata) = tile(m, [number, y, z]);
    let now = m.load(metadata, Type::vec(32, 2), 0);
    let mut differs = [0, 1].map(|k| {
        let now = m.ir.extract(now, k as u32);
        let open = m.word(TileWords::OPEN.at(k));
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
    let ms = samples > 1;
    let source = image::image(m, 0, ResKind::StorageImage, packing.kind(), Dim::D2, ms);
    let size = tile_texels(u32::from(samples));
    let size_v = size.map(|n| m.ir.u32(n));
    let level = [0, 1].map(|k| m.word(TileWords::SIZE.at(k)));
    let corner = [0, 1].map(|k| m.op(Op::IMul, at[k], size_v[k]));
    // The part of the tile that is in the level is in what will be overwritten.
    let mut covered = [0, 1].map(|k| {
        let end = m.op(Op::IAdd, corner[k], size_v[k]);
        let end = m.op(Op::UMin, end, level[k]);
        let from = m.word(TileWords::COVERED_FROM.at(k));
        let to = m.word(TileWords::COVERED_TO.at(k));
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
                    let mut args = vec![source, place];
                    let mut flags = TexOperands::empty();
                    if ms {
                        args.push(m.ir.u32(u32::from(s)));
                        flags |= TexOperands::SAMPLE;
                    }
                    let a = image::attrs(packing.kind(), Dim::D2, ms, flags);
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
                let to = address(m, TileWords::SIDE, Order::Morton, element, [x, y, at[2]]);
                for (s, colour) in (0..).zip(colours) {
                    let words = packing.pack(m, colour);
                    packing.store(m, to, &words, s * i32::from(packing.bytes));
                }
            });
        }
    });
}
