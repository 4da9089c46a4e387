//! Addresses of pixels and descriptors of images in programs of the driver's own.

use tepui_ir::{Access, Dim, NumKind, Op, ResKind, Resource, Value};
use tepui_vulkan_kit::MetaBuilder;

/// Builder functions of programs that copy pixels.
pub(super) trait Pixels {
    /// Every other bit of a number of at most 8 or 16 bits is free for another's.
    fn spread(&mut self, v: Value, bits: u32) -> Value;

    /// Address of element (x, y, z) of the side whose words begin at `w`: base (2), slice pitch (2), row pitch or tiles in a row,
    /// logarithms of the tile's sides, and the first x, y and z.
    fn place(&mut self, w: u32, tiled: bool, element: u32, at: [Value; 3]) -> Value;

    fn image(&mut self, binding: u32, kind: ResKind, texels: NumKind, dim: Dim, ms: bool) -> Value;
}

impl Pixels for MetaBuilder<'_> {
    fn spread(&mut self, v: Value, bits: u32) -> Value {
        let mut v = v;
        let steps = [(8, 0x00ff_00ff_u32), (4, 0x0f0f_0f0f), (2, 0x3333_3333), (1, 0x5555_5555)];
        for (n, mask) in steps.into_iter().filter(|s| 2 * s.0 <= bits) {
            let up = self.shl(v, n);
            let both = self.op(Op::IOr, v, up);
            let mask = self.ir.u32(mask);
            v = self.op(Op::IAnd, both, mask);
        }
        v
    }

    fn place(&mut self, w: u32, tiled: bool, element: u32, [x, y, z]: [Value; 3]) -> Value {
        let base = self.driver_long(w);
        let slice = self.driver_long(w + 2);
        let (x0, y0, z0) = (self.driver(w + 7), self.driver(w + 8), self.driver(w + 9));
        let (x, y, z) =
            (self.op(Op::IAdd, x, x0), self.op(Op::IAdd, y, y0), self.op(Op::IAdd, z, z0));
        let z = self.long(z);
        let deep = self.op(Op::IMul, z, slice);
        let start = self.op(Op::IAdd, base, deep);
        let pitch = self.driver(w + 4);
        let index = if tiled {
            let (lw, lh) = (self.driver(w + 5), self.driver(w + 6));
            let one = self.ir.u32(1);
            let inside = |m: &mut Self, v: Value, l: Value| {
                let n = m.op(Op::IShl, one, l);
                let mask = m.op(Op::ISub, n, one);
                m.op(Op::IAnd, v, mask)
            };
            let (ix, iy) = (inside(self, x, lw), inside(self, y, lh));
            let (tx, ty) = (self.op(Op::UShr, x, lw), self.op(Op::UShr, y, lh));
            let row = self.op(Op::IMul, ty, pitch);
            let tile = self.op(Op::IAdd, row, tx);
            let both = self.op(Op::IAdd, lw, lh);
            let tile = self.op(Op::IShl, tile, both);
            let (sx, sy) = (self.spread(ix, 8), self.spread(iy, 8));
            let sy = self.shl(sy, 1);
            let morton = self.op(Op::IOr, sx, sy);
            let n = self.op(Op::IAdd, tile, morton);
            let n = self.long(n);
            let e = self.ir.u64(u64::from(element));
            self.op(Op::IMul, n, e)
        } else {
            let (y, pitch, x) = (self.long(y), self.long(pitch), self.long(x));
            let row = self.op(Op::IMul, y, pitch);
            let e = self.ir.u64(u64::from(element));
            let x = self.op(Op::IMul, x, e);
            self.op(Op::IAdd, row, x)
        };
        self.op(Op::IAdd, start, index)
    }

    fn image(&mut self, binding: u32, kind: ResKind, texels: NumKind, dim: Dim, ms: bool) -> Value {
        let r = self.ir.shader.resources.push(Resource {
            dim,
            array: dim == Dim::D2,
            ms,
            texels,
            ..Resource::new(kind, 0, binding)
        });
        let zero = self.ir.u32(0);
        self.ir.descriptor(r, zero, Access::default())
    }
}
