//! A small language for compute programs: Rust's operators on words, `if` and loops as closures.
//!
//! [`Kernel`] holds the shader that is built; a [`Word`] or [`Flag`] is a value of it. All values
//! are scalars of 32 bits or truth values; addresses are of 64 bits and only added to.

use std::cell::{Cell, RefCell};
use std::ops::{Add, BitAnd, BitOr, Mul, Not, Shl, Shr, Sub};

use crate::driver;
use tepui_ir::{
    Attrs, Builder, Builtin, Mem, Op, Region, Shader, Stage, Type, Value, Var, VarData,
};
use tepui_sysval::{Field, Long, Member};

/// A compute shader under construction.
pub struct Kernel {
    shader: RefCell<Shader>,
    /// Region into which the next instruction is inserted.
    region: Cell<Region>,
}

/// A word of 32 bits.
#[derive(Clone, Copy)]
pub struct Word<'k>(&'k Kernel, Value);

/// A truth value.
#[derive(Clone, Copy)]
pub struct Flag<'k>(&'k Kernel, Value);

/// An address.
#[derive(Clone, Copy)]
pub struct Address<'k>(&'k Kernel, Value);

/// A word that changes.
#[derive(Clone, Copy)]
pub struct Slot<'k>(&'k Kernel, Var);

/// Operands of a kernel: words and constants.
pub trait ToWord<'k>: Copy {
    /// The word.
    fn word(self, k: &'k Kernel) -> Word<'k>;
}

impl<'k> ToWord<'k> for Word<'k> {
    fn word(self, _: &'k Kernel) -> Word<'k> {
        self
    }
}

impl<'k> ToWord<'k> for u32 {
    fn word(self, k: &'k Kernel) -> Word<'k> {
        Word(k, k.build(|b| b.u32(self)))
    }
}

impl Kernel {
    /// A compute shader whose workgroups have `threads` threads.
    #[must_use]
    pub fn new(threads: u32, entry: &str) -> Kernel {
        let mut s = Shader::new(Stage::Compute);
        s.info.workgroup_size = [threads, 1, 1];
        s.info.entry = entry.to_owned();
        let region = s.root;
        Kernel { shader: RefCell::new(s), region: Cell::new(region) }
    }

    /// The shader, once it is complete.
    #[must_use]
    pub fn finish(self) -> Shader {
        self.build(|b| b.yield_(&[]));
        self.shader.into_inner()
    }

    fn build<R>(&self, f: impl FnOnce(&mut Builder<'_>) -> R) -> R {
        let mut s = self.shader.borrow_mut();
        f(&mut Builder::at(&mut s, self.region.get()))
    }

    fn op(&self, op: Op, args: &[Value]) -> Value {
        self.build(|b| b.alu(op, args))
    }

    /// A constant.
    pub fn word(&self, v: u32) -> Word<'_> {
        v.word(self)
    }

    /// A truth value that is known.
    pub fn flag(&self, v: bool) -> Flag<'_> {
        Flag(self, self.build(|b| b.bool(v)))
    }

    /// A component of a built-in with three.
    pub fn builtin(&self, builtin: Builtin, component: u32) -> Word<'_> {
        let v = self.build(|b| {
            let v = b.builtin(builtin, Type::vec(32, 3));
            b.extract(v, component)
        });
        Word(self, v)
    }

    fn uniform<S, T: Member>(&self, field: Field<S, T>) -> Value {
        self.build(|b| driver(b, field))
    }

    /// A word of the driver's.
    pub fn driver<S>(&self, field: Field<S, u32>) -> Word<'_> {
        Word(self, self.uniform(field))
    }

    /// An address among the driver's words.
    pub fn driver_address<S>(&self, field: Field<S, Long>) -> Address<'_> {
        Address(self, self.uniform(field))
    }

    /// A word that changes, with its first value.
    pub fn slot<'k>(&'k self, first: impl ToWord<'k>) -> Slot<'k> {
        let var = VarData { ty: Type::B32, len: None, name: String::new() };
        let var = self.shader.borrow_mut().vars.push(var);
        let slot = Slot(self, var);
        slot.set(first);
        slot
    }

    /// Builds a region of its own.
    fn inside(&self, f: impl FnOnce(), end: impl FnOnce(&mut Builder<'_>)) -> Region {
        let region = self.shader.borrow_mut().make_region();
        let outer = self.region.replace(region);
        f();
        self.build(end);
        self.region.set(outer);
        region
    }

    /// Runs `then` where the condition holds.
    pub fn when(&self, condition: Flag<'_>, then: impl FnOnce()) {
        self.if_else(condition, then, || {});
    }

    /// Runs `then` where the condition holds, else `other`.
    pub fn if_else(&self, condition: Flag<'_>, then: impl FnOnce(), other: impl FnOnce()) {
        let end = |b: &mut Builder<'_>| b.yield_(&[]);
        let (then, other) = (self.inside(then, end), self.inside(other, end));
        self.build(|b| b.if_(condition.1, then, other, &[]));
    }

    /// Runs `body` with `from`, `from + step` and so on, as long as it is less than `until`.
    pub fn range<'k>(
        &'k self,
        from: impl ToWord<'k>,
        until: impl ToWord<'k>,
        step: u32,
        body: impl FnOnce(Word<'k>),
    ) {
        let (slot, until) = (self.slot(from), until.word(self));
        let body = || {
            let at = slot.get();
            let nothing = self.inside(|| {}, |b| b.yield_(&[]));
            let leave = self.inside(|| {}, |b| b.break_(&[]));
            let more = at.less(until).1;
            self.build(|b| b.if_(more, nothing, leave, &[]));
            body(at);
            slot.set(at + step);
        };
        let body = self.inside(body, |b| b.continue_(&[]));
        self.build(|b| b.loop_(body, &[], &[]));
    }
}

macro_rules! operators {
    ($($trait:ident $name:ident $op:ident;)*) => {$(
        impl<'k, R: ToWord<'k>> $trait<R> for Word<'k> {
            type Output = Word<'k>;
            fn $name(self, other: R) -> Word<'k> {
                let other = other.word(self.0);
                Word(self.0, self.0.op(Op::$op, &[self.1, other.1]))
            }
        }
    )*};
}

operators! {
    Add add IAdd;
    Sub sub ISub;
    Mul mul IMul;
    BitAnd bitand IAnd;
    BitOr bitor IOr;
    Shl shl IShl;
    Shr shr UShr;
}

impl<'k> Word<'k> {
    fn with(self, op: Op, other: impl ToWord<'k>) -> Word<'k> {
        let other = other.word(self.0);
        Word(self.0, self.0.op(op, &[self.1, other.1]))
    }

    fn test(self, op: Op, other: impl ToWord<'k>) -> Flag<'k> {
        let other = other.word(self.0);
        Flag(self.0, self.0.op(op, &[self.1, other.1]))
    }

    fn alone(self, op: Op) -> Word<'k> {
        Word(self.0, self.0.op(op, &[self.1]))
    }

    /// A constant of the same kernel.
    pub fn constant(self, v: u32) -> Word<'k> {
        v.word(self.0)
    }

    /// Unsigned quotient.
    pub fn over(self, other: impl ToWord<'k>) -> Word<'k> {
        self.with(Op::UDiv, other)
    }

    /// The smaller, unsigned.
    pub fn min(self, other: impl ToWord<'k>) -> Word<'k> {
        self.with(Op::UMin, other)
    }

    /// The larger, unsigned.
    pub fn max(self, other: impl ToWord<'k>) -> Word<'k> {
        self.with(Op::UMax, other)
    }

    /// Less, unsigned.
    pub fn less(self, other: impl ToWord<'k>) -> Flag<'k> {
        self.test(Op::ULt, other)
    }

    /// Not less, unsigned.
    pub fn at_least(self, other: impl ToWord<'k>) -> Flag<'k> {
        self.test(Op::UGe, other)
    }

    /// Equal.
    pub fn is(self, other: impl ToWord<'k>) -> Flag<'k> {
        self.test(Op::IEq, other)
    }

    /// Position of the highest bit that is set.
    pub fn highest_bit(self) -> Word<'k> {
        self.alone(Op::UFindMsb)
    }

    /// Position of the lowest bit that is set.
    pub fn lowest_bit(self) -> Word<'k> {
        self.alone(Op::FindLsb)
    }

    /// Number of bits that are set.
    pub fn bits(self) -> Word<'k> {
        self.alone(Op::BitCount)
    }

    /// The smaller as floats; a NaN gives the other.
    pub fn float_min(self, other: f32) -> Word<'k> {
        self.with(Op::FMin, other.to_bits())
    }

    /// The larger as floats; a NaN gives the other.
    pub fn float_max(self, other: impl ToWord<'k>) -> Word<'k> {
        self.with(Op::FMax, other)
    }

    /// Product of floats.
    pub fn float_times(self, other: f32) -> Word<'k> {
        self.with(Op::FMul, other.to_bits())
    }

    /// Sum of floats.
    pub fn float_plus(self, other: f32) -> Word<'k> {
        self.with(Op::FAdd, other.to_bits())
    }

    /// The next integer that is not less, as floats.
    pub fn float_ceil(self) -> Word<'k> {
        self.alone(Op::FCeil)
    }

    /// Whether it is more than a number, as floats; a NaN is not.
    pub fn float_more(self, than: f32) -> Flag<'k> {
        let than = than.to_bits().word(self.0);
        Flag(self.0, self.0.op(Op::FLt, &[than.1, self.1]))
    }

    /// A float as integer, towards zero.
    pub fn float_to_integer(self) -> Word<'k> {
        Word(self.0, self.0.build(|b| b.convert(Op::F2U, self.1, 32)))
    }

    /// An integer as float.
    pub fn to_float(self) -> Word<'k> {
        Word(self.0, self.0.build(|b| b.convert(Op::U2F, self.1, 32)))
    }
}

impl<'k> Flag<'k> {
    /// `a` where it holds, else `b`.
    pub fn select(self, a: impl ToWord<'k>, b: impl ToWord<'k>) -> Word<'k> {
        let (a, b) = (a.word(self.0), b.word(self.0));
        Word(self.0, self.0.op(Op::Select, &[self.1, a.1, b.1]))
    }

    /// The flags of all lanes, as bits.
    pub fn ballot(self) -> Word<'k> {
        let v = self.0.build(|b| {
            let v = b.value(Op::Ballot, Attrs::None, &[self.1], Type::vec(32, 4));
            b.extract(v, 0)
        });
        Word(self.0, v)
    }

    /// One where it holds, else zero.
    pub fn word(self) -> Word<'k> {
        self.select(1, 0)
    }
}

impl<'k> BitAnd for Flag<'k> {
    type Output = Flag<'k>;
    fn bitand(self, other: Flag<'k>) -> Flag<'k> {
        Flag(self.0, self.0.op(Op::IAnd, &[self.1, other.1]))
    }
}

impl<'k> BitOr for Flag<'k> {
    type Output = Flag<'k>;
    fn bitor(self, other: Flag<'k>) -> Flag<'k> {
        Flag(self.0, self.0.op(Op::IOr, &[self.1, other.1]))
    }
}

impl<'k> Not for Flag<'k> {
    type Output = Flag<'k>;
    fn not(self) -> Flag<'k> {
        Flag(self.0, self.0.op(Op::INot, &[self.1]))
    }
}

impl<'k> Address<'k> {
    /// The address plus `number` times `bytes`.
    pub fn plus(self, number: impl ToWord<'k>, bytes: impl ToWord<'k>) -> Address<'k> {
        let k = self.0;
        let (number, bytes) = (number.word(k), bytes.word(k));
        let v = k.build(|b| {
            let (number, bytes) =
                (b.convert(Op::U2U, number.1, 64), b.convert(Op::U2U, bytes.1, 64));
            let offset = b.alu(Op::IMul, &[number, bytes]);
            b.alu(Op::IAdd, &[self.1, offset])
        });
        Address(k, v)
    }

    fn mem(offset: u32) -> Mem {
        Mem { align_log2: 2, offset: offset as i32, ..Mem::default() }
    }

    /// The word there.
    pub fn load(self, offset: u32) -> Word<'k> {
        let mem = Address::mem(offset);
        Word(self.0, self.0.build(|b| b.load(Op::LoadGlobal, mem, &[self.1], Type::B32)))
    }

    /// Stores consecutive words.
    pub fn store(self, offset: u32, words: &[Word<'k>]) {
        let attrs = Attrs::Mem(Address::mem(offset));
        self.0.build(|b| {
            let values: Vec<Value> = words.iter().map(|w| w.1).collect();
            let v = if values.len() == 1 { values[0] } else { b.vec(&values) };
            b.effect(Op::StoreGlobal, attrs, &[self.1, v]);
        });
    }
}

impl<'k> Slot<'k> {
    /// Its value now.
    #[must_use]
    pub fn get(self) -> Word<'k> {
        Word(self.0, self.0.build(|b| b.load_var(self.1, None)))
    }

    /// Changes it.
    pub fn set(self, v: impl ToWord<'k>) {
        let v = v.word(self.0);
        self.0.build(|b| b.store_var(self.1, v.1, None));
    }
}
