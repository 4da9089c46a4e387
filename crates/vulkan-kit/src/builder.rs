//! Builder of the driver's own programs: IR with words of the driver's, addresses and control flow.

use tepui_ir::{Attrs, Builder, Builtin, Mem, Op, Region, Shader, Type, Value};
use tepui_sysval::{Field, Member};

/// Space of the driver's words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Words {
    /// Uniforms of the driver's, `load_uniform`.
    #[default]
    Uniform,
    /// Push constants, `load_push`.
    Push,
}

/// Builds a program's IR.
pub struct MetaBuilder<'a> {
    /// Builder of instructions.
    pub ir: Builder<'a>,
    /// Lanes of a sub-group.
    pub lanes: u32,
    words: Words,
}

impl<'a> MetaBuilder<'a> {
    /// A builder at the end of a shader's root.
    pub fn new(s: &'a mut Shader, lanes: u32) -> Self {
        MetaBuilder { ir: Builder::new(s), lanes, words: Words::default() }
    }

    /// The builder with the driver's words in a space.
    #[must_use]
    pub fn with_words(self, words: Words) -> Self {
        MetaBuilder { words, ..self }
    }

    /// A builder at the end of a region.
    fn within(&mut self, region: Region) -> MetaBuilder<'_> {
        let ir = Builder::at(self.ir.shader, region);
        MetaBuilder { ir, lanes: self.lanes, words: self.words }
    }

    /// A field of the driver's words.
    pub fn word<S, T: Member>(&mut self, field: Field<S, T>) -> Value {
        let at = self.ir.u32(field.offset());
        let op = match self.words {
            Words::Uniform => Op::LoadUniform,
            Words::Push => Op::LoadPush,
        };
        let ty = Type::vec(T::BITS, 1);
        self.ir.load(op, Mem { align_log2: 2, ..Mem::default() }, &[at], ty)
    }

    /// A field of a structure in memory.
    pub fn load_field<S, T: Member>(&mut self, at: Value, field: Field<S, T>) -> Value {
        self.load(at, Type::vec(T::BITS, 1), field.offset() as i32)
    }

    /// Stores a field of a structure in memory.
    pub fn store_field<S, T: Member>(&mut self, at: Value, field: Field<S, T>, v: Value) {
        self.store(at, v, field.offset() as i32);
    }

    /// Stores all words of a field.
    pub fn store_words<S, const N: usize>(
        &mut self,
        at: Value,
        field: Field<S, [u32; N]>,
        words: [Value; N],
    ) {
        for (k, v) in words.into_iter().enumerate() {
            self.store_field(at, field.at(k), v);
        }
    }

    /// An operation on two values.
    pub fn op(&mut self, op: Op, a: Value, b: Value) -> Value {
        self.ir.binary(op, a, b)
    }

    /// A shift to the left by a constant.
    pub fn shl(&mut self, a: Value, n: u32) -> Value {
        let n = self.ir.u32(n);
        self.ir.binary(Op::IShl, a, n)
    }

    /// A shift to the right by a constant.
    pub fn shr(&mut self, a: Value, n: u32) -> Value {
        let n = self.ir.u32(n);
        self.ir.binary(Op::UShr, a, n)
    }

    /// A word as 64 bits.
    pub fn long(&mut self, a: Value) -> Value {
        self.ir.convert(Op::U2U, a, 64)
    }

    /// The invocation's number in each direction.
    pub fn id(&mut self) -> [Value; 3] {
        let v = self.ir.builtin(Builtin::GlobalInvocationId, Type::vec(32, 3));
        [0, 1, 2].map(|k| self.ir.extract(v, k))
    }

    /// A load from an address and an offset.
    pub fn load(&mut self, at: Value, ty: Type, offset: i32) -> Value {
        self.ir.load(Op::LoadGlobal, mem(ty, offset), &[at], ty)
    }

    /// A store to an address and an offset.
    pub fn store(&mut self, at: Value, v: Value, offset: i32) {
        let ty = self.ir.shader.ty(v);
        self.ir.effect(Op::StoreGlobal, Attrs::Mem(mem(ty, offset)), &[at, v]);
    }

    /// The rest of the program happens only where `c` holds: what `f` builds stands in an `if`.
    pub fn when(&mut self, c: Value, f: impl FnOnce(&mut MetaBuilder<'_>)) {
        let s = &mut *self.ir.shader;
        let (then, els) = (s.make_region(), s.make_region());
        let mut inner = self.within(then);
        f(&mut inner);
        inner.ir.yield_(&[]);
        Builder::at(self.ir.shader, els).yield_(&[]);
        self.ir.if_(c, then, els, &[]);
    }

    /// A loop that carries `init`: `test` says whether it goes on, `body` gives the next values.
    pub fn while_(
        &mut self,
        init: &[Value],
        test: impl FnOnce(&mut MetaBuilder<'_>, &[Value]) -> Value,
        body: impl FnOnce(&mut MetaBuilder<'_>, &[Value]) -> Vec<Value>,
    ) -> Vec<Value> {
        let tys: Vec<Type> = init.iter().map(|&v| self.ir.shader.ty(v)).collect();
        let s = &mut *self.ir.shader;
        let region = s.make_region();
        let params: Vec<Value> = tys.iter().map(|&t| s.add_param(region, t)).collect();
        let (go, stop) = (s.make_region(), s.make_region());
        Builder::at(s, go).yield_(&[]);
        Builder::at(s, stop).break_(&params);
        let mut inner = self.within(region);
        let on = test(&mut inner, &params);
        inner.ir.if_(on, go, stop, &[]);
        let next = body(&mut inner, &params);
        inner.ir.continue_(&next);
        let i = self.ir.loop_(region, init, &tys);
        self.ir.shader.results(i).to_vec()
    }
}

fn mem(ty: Type, offset: i32) -> Mem {
    // Structures of words have 64-bit numbers at any multiple of four bytes.
    let align_log2 = ty.elem_bytes().min(4).trailing_zeros() as u8;
    Mem { align_log2, offset, ..Mem::default() }
}
