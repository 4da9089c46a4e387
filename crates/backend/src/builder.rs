//! The state of instruction selection that all machines have: the place in the machine IR, what the values of the IR became, and
//! how they are used.

use crate::function::Function;
use crate::machine::Machine;
use crate::values::{Component, InUniforms, ValueLocations};
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use tepui_ir::{Attrs, Inst, Loc, Op as IrOp, Shader, Type, Value};
use tepui_passes::divergence::Divergence;
use tepui_regalloc::{Block, Ctl, Ins, Op, RegClass, Val};

/// One component of an IR value, or a part of one ([`Machine::parts`]).
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Comp<U> {
    /// In registers.
    Val(Val),
    /// Known.
    Const(u64),
    /// A component that the machine reads without a register of its own: in uniform registers, for example.
    Uniform(U),
    /// Any bits.
    Undef,
}

/// A loop that is being selected.
pub(crate) struct Frame<U> {
    pub(crate) header: Block,
    pub(crate) phis: Vec<Ins>,
    /// Blocks that leave, each with the components of the loop's results.
    pub(crate) exits: Vec<(Block, Vec<Comp<U>>)>,
}

/// The state of instruction selection. A family's selection holds it, dereferences to it, and implements
/// [`crate::Select`].
pub struct Builder<'a, M: Machine> {
    /// The shader.
    pub s: &'a Shader,
    /// The program.
    pub f: Function<M>,
    /// The block that instructions are appended to.
    pub cur: Block,
    /// Source location of instructions.
    pub loc: Loc,
    /// Regions around, the outermost one included.
    pub region_depth: u32,
    /// Number of a value's uses.
    pub uses: SecondaryMap<Value, u32>,
    /// A user of a value, the only one where there is one.
    pub user: SecondaryMap<Value, PackedOption<Inst>>,
    /// Components that are extracted from a vector, as bits; all when it is used as a whole.
    pub parts: SecondaryMap<Value, u16>,
    /// Loops around.
    pub(crate) depth: u16,
    pub(crate) frames: Vec<Frame<M::Uniform>>,
    /// Index + 1 of a value's first component in `comps`.
    at: SecondaryMap<Value, u32>,
    comps: Vec<Comp<M::Uniform>>,
    /// Divergence analysis, computed on first use.
    divergence: Option<Divergence>,
}

impl<'a, M: Machine> Builder<'a, M> {
    /// Begins a program with its first block. `counts` says whether the operands of an instruction count as uses: some
    /// machines replace instructions by something without operands.
    pub fn new(s: &'a Shader, mut counts: impl FnMut(&'a Shader, Inst) -> bool) -> Builder<'a, M> {
        let mut f = Function::default();
        let cur = f.blocks.push(Default::default());
        let values = s.values.len();
        let mut uses = SecondaryMap::with_capacity(values);
        let mut user = SecondaryMap::with_capacity(values);
        let mut parts: SecondaryMap<Value, u16> = SecondaryMap::with_capacity(values);
        s.walk(|_, _, i| {
            if !counts(s, i) {
                return;
            }
            let part = match s.insts[i].attrs {
                Attrs::Index(k) if s.insts[i].op == IrOp::Extract => 1 << k,
                _ => u16::MAX,
            };
            for &a in s.args(i) {
                uses[a] += 1;
                user[a] = i.into();
                parts[a] |= part;
            }
        });
        Builder {
            s,
            f,
            cur,
            loc: Loc::default(),
            region_depth: 0,
            uses,
            user,
            parts,
            depth: 0,
            frames: Vec::new(),
            at: SecondaryMap::with_capacity(values),
            comps: Vec::with_capacity(values + 1),
            divergence: None,
        }
    }

    /// The type of a value.
    #[must_use]
    pub fn ty(&self, v: Value) -> Type {
        self.s.ty(v)
    }

    /// Number of a value's components, or of their parts.
    #[must_use]
    pub fn count(&self, v: Value) -> usize {
        let ty = self.ty(v);
        usize::from(ty.comps()) * M::parts(ty)
    }

    /// The result of selecting a component of a value, or a part of one: undefined if it was not selected.
    #[must_use]
    pub fn comp(&self, v: Value, k: usize) -> Comp<M::Uniform> {
        match self.at[v] {
            0 => Comp::Undef,
            n => self.comps[n as usize - 1 + k],
        }
    }

    /// The components of some values, one after the other.
    #[must_use]
    pub fn all_comps(&self, vals: &[Value]) -> Vec<Comp<M::Uniform>> {
        vals.iter()
            .flat_map(|&v| (0..self.count(v)).map(move |k| (v, k)))
            .map(|(v, k)| self.comp(v, k))
            .collect()
    }

    /// Whether it is known what a value became.
    #[must_use]
    pub fn is_set(&self, v: Value) -> bool {
        self.at[v] != 0
    }

    /// Says what a value became.
    pub fn set(&mut self, v: Value, comps: &[Comp<M::Uniform>]) {
        self.at[v] = self.comps.len() as u32 + 1;
        self.comps.extend_from_slice(comps);
    }

    /// Says what several values became, by their components one after the other.
    pub(crate) fn set_all(&mut self, vals: &[Value], comps: &[Comp<M::Uniform>]) {
        let mut at = 0;
        for &v in vals {
            let n = self.count(v);
            self.set(v, &comps[at..at + n]);
            at += n;
        }
    }

    /// Forgets what a value became.
    pub fn unset(&mut self, v: Value) {
        self.at[v] = 0;
    }

    /// Selects an instruction that takes none of the machine: a constant, an undefined value, a copy, a vector or an
    /// element of one. Returns false when it is another.
    pub fn select_free(&mut self, i: Inst) -> bool {
        let s = self.s;
        match (s.insts[i].op, s.insts[i].attrs) {
            (IrOp::Const, _) => {
                let r = s.result(i);
                let (ty, bits) = (s.ty(r), s.as_const(r).unwrap_or(0));
                self.at[r] = self.comps.len() as u32 + 1;
                let parts = (0..M::parts(ty)).map(|k| Comp::Const(M::constant(ty, bits, k)));
                self.comps.extend(parts);
            }
            (IrOp::Undef, _) => {
                let r = s.result(i);
                self.set(r, &vec![Comp::Undef; self.count(r)]);
            }
            (IrOp::Copy | IrOp::Vec, _) => {
                let comps = self.all_comps(s.args(i));
                self.set(s.result(i), &comps);
            }
            (IrOp::Extract, attrs) => {
                let k = if let Attrs::Index(k) = attrs { k as usize } else { 0 };
                let (a, r) = (s.arg(i, 0), s.result(i));
                let n = M::parts(s.ty(r));
                let first = self.comps.len();
                for k in n * k..n * k + n {
                    let comp = self.comp(a, k);
                    self.comps.push(comp);
                }
                self.at[r] = first as u32 + 1;
            }
            _ => return false,
        }
        true
    }

    /// The instruction that makes a value, for those that look how it was made: none when it is in a uniform already.
    #[must_use]
    pub fn def_inst(&self, v: Value) -> Option<Inst> {
        if matches!(self.comp(v, 0), Comp::Uniform(_)) { None } else { self.s.def_inst(v) }
    }

    /// The divergence of the shader's values.
    pub fn divergence(&mut self) -> &Divergence {
        self.divergence.get_or_insert_with(|| Divergence::new(self.s))
    }

    /// Locations of the IR's values; values with a name in the source come first. `units` gives the first unit of a
    /// component in uniforms and the number of its units.
    #[must_use]
    pub fn value_locations(&self, units: impl Fn(M::Uniform, Type) -> (u16, u8)) -> ValueLocations {
        let mut out = ValueLocations::default();
        for named in [true, false] {
            for value in self.s.values.keys().filter(|&v| self.s.names[v].is_some() == named) {
                let count = if self.is_set(value) { self.count(value) } else { 0 };
                let parts = M::parts(self.ty(value));
                for k in 0..count {
                    let of = Component { value, component: (k / parts) as u8 };
                    match self.comp(value, k) {
                        Comp::Val(v) => out.vals.push((v, of)),
                        Comp::Uniform(place) => {
                            let (unit, units) = units(place, self.ty(value));
                            out.uniforms.push(InUniforms { unit, units, of });
                        }
                        Comp::Const(_) | Comp::Undef => {}
                    }
                }
            }
        }
        out
    }

    /// Begins a block, which nothing goes to yet.
    pub fn block(&mut self) -> Block {
        let b = self.f.blocks.push(Default::default());
        self.f.blocks[b].depth = self.depth;
        b
    }

    /// Appends an instruction.
    pub fn emit(&mut self, op: Op<M::Inst>, dsts: &[Val], srcs: &[Val]) -> Ins {
        let i = self.f.body.make(op, dsts, srcs, self.loc);
        self.f.body.blocks[self.cur].insts.push(i);
        i
    }

    /// Runs `emit` with the end of an earlier block as the place where instructions are appended: before those that leave it.
    pub(crate) fn open_block(&mut self, b: Block) -> (Block, Vec<Ins>) {
        let at = self.f.body_end(b);
        let tail = self.f.blocks[b].insts.split_off(at);
        (std::mem::replace(&mut self.cur, b), tail)
    }

    pub(crate) fn close_block(&mut self, (cur, tail): (Block, Vec<Ins>)) {
        let b = std::mem::replace(&mut self.cur, cur);
        self.f.blocks[b].insts.extend(tail);
    }

    /// Opens a loop and begins its header.
    pub(crate) fn enter_loop(&mut self) -> Block {
        self.emit(Op::Ctl(Ctl::Loop), &[], &[]);
        let from = self.cur;
        self.depth = self.depth.saturating_add(1);
        let header = self.block();
        self.f.edge(from, header);
        self.cur = header;
        header
    }

    /// Opens a loop that the IR does not have, and that carries one value, `first` on entry.
    pub fn open_loop(&mut self, first: Val) -> OpenLoop {
        let header = self.enter_loop();
        let class: RegClass = self.f.vals[first];
        let value = self.f.val(class);
        let phi = self.emit(Op::Phi, &[value], &[first]);
        OpenLoop { value, header, phi }
    }

    /// Closes a loop of [`Builder::open_loop`], which continues with `next`. The last instruction is the branch
    /// ([`Ctl::If`]) on whether it does.
    pub fn close_loop(&mut self, opened: OpenLoop, next: Val) {
        let from = self.cur;
        let again = self.block();
        self.f.edge(from, again);
        let leave = self.block();
        self.f.edge(from, leave);
        self.cur = leave;
        self.emit(Op::Ctl(Ctl::Else), &[], &[]);
        self.emit(Op::Ctl(Ctl::Break), &[], &[]);
        let join = self.block();
        self.cur = join;
        self.f.edge(again, join);
        self.emit(Op::Ctl(Ctl::EndIf), &[], &[]);
        self.add_source(opened.phi, next);
        self.f.edge(join, opened.header);
        self.emit(Op::Ctl(Ctl::EndLoop), &[], &[]);
        self.depth -= 1;
        self.cur = self.block();
        let exit = self.cur;
        self.f.edge(leave, exit);
    }

    /// Adds a source to a phi.
    pub(crate) fn add_source(&mut self, phi: Ins, v: Val) {
        let f = &mut self.f.body;
        f.insts[phi].srcs.push(v, &mut f.pool);
    }
}

/// A loop that [`Builder::open_loop`] opened.
#[derive(Clone, Copy, Debug)]
pub struct OpenLoop {
    /// The value of an iteration.
    pub value: Val,
    header: Block,
    phi: Ins,
}
