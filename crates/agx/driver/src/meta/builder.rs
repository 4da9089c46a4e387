//! The builder of the driver's own programs: IR with words of the driver's, addresses and control flow.

use tepui_ir::{
    Access, Attrs, Builder, Builtin, Dim, Mem, NumKind, Op, ResKind, Resource, Type, Value,
};

/// Builds a program's IR.
pub(crate) struct Make<'a>(pub(crate) Builder<'a>);

impl Make<'_> {
    pub(crate) fn driver(&mut self, word: u32) -> Value {
        let at = self.0.u32(4 * word);
        self.0.load(Op::LoadUniform, Mem { align_log2: 2, ..Mem::default() }, &[at], Type::B32)
    }

    pub(crate) fn driver_long(&mut self, word: u32) -> Value {
        let (low, high) = (self.driver(word), self.driver(word + 1));
        let (low, high) = (self.0.convert(Op::U2U, low, 64), self.0.convert(Op::U2U, high, 64));
        let n = self.0.u32(32);
        let high = self.0.binary(Op::IShl, high, n);
        self.0.binary(Op::IOr, high, low)
    }

    pub(crate) fn op(&mut self, op: Op, a: Value, b: Value) -> Value {
        self.0.binary(op, a, b)
    }

    pub(crate) fn shl(&mut self, a: Value, n: u32) -> Value {
        let n = self.0.u32(n);
        self.0.binary(Op::IShl, a, n)
    }

    pub(crate) fn shr(&mut self, a: Value, n: u32) -> Value {
        let n = self.0.u32(n);
        self.0.binary(Op::UShr, a, n)
    }

    pub(crate) fn long(&mut self, a: Value) -> Value {
        self.0.convert(Op::U2U, a, 64)
    }

    pub(crate) fn id(&mut self) -> [Value; 3] {
        let v = self.0.builtin(Builtin::GlobalInvocationId, Type::vec(32, 3));
        [0, 1, 2].map(|k| self.0.extract(v, k))
    }

    pub(crate) fn load(&mut self, at: Value, ty: Type, offset: i32) -> Value {
        self.0.load(Op::LoadGlobal, mem(ty, offset), &[at], ty)
    }

    pub(crate) fn store(&mut self, at: Value, v: Value, offset: i32) {
        let ty = self.0.shader.ty(v);
        self.0.effect(Op::StoreGlobal, Attrs::Mem(mem(ty, offset)), &[at, v]);
    }

    /// The rest of the program happens only where `c` holds: what `f` builds stands in an `if`.
    pub(crate) fn when(&mut self, c: Value, f: impl FnOnce(&mut Make<'_>)) {
        let s = &mut *self.0.shader;
        let (then, els) = (s.make_region(), s.make_region());
        let mut inner = Make(Builder::at(self.0.shader, then));
        f(&mut inner);
        inner.0.yield_(&[]);
        Builder::at(self.0.shader, els).yield_(&[]);
        self.0.if_(c, then, els, &[]);
    }

    /// A loop that carries `init`: `test` says whether it goes on, `body` gives the next values.
    pub(crate) fn while_(
        &mut self,
        init: &[Value],
        test: impl FnOnce(&mut Make<'_>, &[Value]) -> Value,
        body: impl FnOnce(&mut Make<'_>, &[Value]) -> Vec<Value>,
    ) -> Vec<Value> {
        let tys: Vec<Type> = init.iter().map(|&v| self.0.shader.ty(v)).collect();
        let s = &mut *self.0.shader;
        let region = s.make_region();
        let params: Vec<Value> = tys.iter().map(|&t| s.add_param(region, t)).collect();
        let (go, stop) = (s.make_region(), s.make_region());
        Builder::at(s, go).yield_(&[]);
        Builder::at(s, stop).break_(&params);
        let mut inner = Make(Builder::at(s, region));
        let on = test(&mut inner, &params);
        inner.0.if_(on, go, stop, &[]);
        let next = body(&mut inner, &params);
        inner.0.continue_(&next);
        let i = self.0.loop_(region, init, &tys);
        self.0.shader.results(i).to_vec()
    }

    /// Every other bit of a number of at most 8 or 16 bits is free for another's.
    pub(crate) fn spread(&mut self, v: Value, bits: u32) -> Value {
        let mut v = v;
        let steps = [(8, 0x00ff_00ff_u32), (4, 0x0f0f_0f0f), (2, 0x3333_3333), (1, 0x5555_5555)];
        for (n, mask) in steps.into_iter().filter(|s| 2 * s.0 <= bits) {
            let up = self.shl(v, n);
            let both = self.op(Op::IOr, v, up);
            let mask = self.0.u32(mask);
            v = self.op(Op::IAnd, both, mask);
        }
        v
    }

    /// Address of element (x, y, z) of the side whose words begin at `w`: base (2), slice pitch (2), row pitch or tiles in a row,
    /// logarithms of the tile's sides, and the first x, y and z.
    pub(crate) fn place(
        &mut self,
        w: u32,
        tiled: bool,
        element: u32,
        [x, y, z]: [Value; 3],
    ) -> Value {
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
            let one = self.0.u32(1);
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
            let e = self.0.u64(u64::from(element));
            self.op(Op::IMul, n, e)
        } else {
            let (y, pitch, x) = (self.long(y), self.long(pitch), self.long(x));
            let row = self.op(Op::IMul, y, pitch);
            let e = self.0.u64(u64::from(element));
            let x = self.op(Op::IMul, x, e);
            self.op(Op::IAdd, row, x)
        };
        self.op(Op::IAdd, start, index)
    }

    pub(crate) fn image(
        &mut self,
        binding: u32,
        kind: ResKind,
        texels: NumKind,
        dim: Dim,
        ms: bool,
    ) -> Value {
        let r = self.0.shader.resources.push(Resource {
            dim,
            array: dim == Dim::D2,
            ms,
            texels,
            ..Resource::new(kind, 0, binding)
        });
        let zero = self.0.u32(0);
        self.0.descriptor(r, zero, Access::default())
    }
}

fn mem(ty: Type, offset: i32) -> Mem {
    Mem { align_log2: (ty.elem_bytes() as u8).trailing_zeros() as u8, offset, ..Mem::default() }
}
