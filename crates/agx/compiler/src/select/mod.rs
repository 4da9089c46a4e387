//! Instruction selection: IR to machine IR.
//!
//! One walk over the regions. A component of an IR value is a [`Comp`]: a machine value, a constant
//! or a uniform. Vectors exist only where an instruction needs consecutive registers. Each
//! instruction looks at the definitions of its operands to fold what the hardware does for free
//! (negation, absolute value, conversion from 16 bits, extension, shifts, comparisons); definitions
//! that become unused are removed by [`crate::dce`].

mod alu;
mod cond;
mod fetch;
mod fragment;
mod group;
mod interpolate;
mod local;
mod long;
mod memory;
mod operand;
mod pixel;
mod special;
pub(crate) mod stage;
mod texture;
mod vertex;

use rustc_hash::FxHashMap;

use crate::error::{Error, Result};
use crate::mir::{Block, Ctl, Function, Ins, LONG, Op as MOp, RegClass, Val, WORD, class_of};
use crate::uniforms::{Source, Uniforms};
use crate::values::{Component, InUniforms, ValueLocations};
use tepui_agx_isa::Inst as Isa;
use tepui_agx_isa::operand::{Dst, Size};
use tepui_agx_isa::table::moves::{MovImm16, MovImm32};
use tepui_ir::cranelift_entity::SecondaryMap;
use tepui_ir::cranelift_entity::packed_option::PackedOption;
use tepui_ir::{Attrs, Inst, InstFlags, Loc, Op, Region, Shader, Type, Value};

pub(crate) use operand::Opnd;

/// One component of an IR value. A machine value has the register class of the IR type: half a
/// register for up to 16 bits (bits above the type's are undefined for 8 bits; truth values are 0
/// or 1).
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Comp {
    /// In registers.
    Val(Val),
    /// Known.
    Const(u64),
    /// In uniform registers, by the first half.
    Uni(u16),
    /// Any bits.
    Undef,
}

/// A loop that is being selected.
struct Frame {
    header: Block,
    phis: Vec<Ins>,
    /// Blocks that leave, each with the components of the loop's results.
    exits: Vec<(Block, Vec<Comp>)>,
}

pub(crate) struct Select<'a> {
    pub s: &'a Shader,
    pub f: Function,
    pub uniforms: Uniforms,
    cur: Block,
    depth: u16,
    loc: Loc,
    /// Index + 1 of a value's first component in `comps`.
    at: SecondaryMap<Value, u32>,
    comps: Vec<Comp>,
    uses: SecondaryMap<Value, u32>,
    user: SecondaryMap<Value, PackedOption<Inst>>,
    /// Number of a value's uses by sums that may be fused with a product in them.
    sums: SecondaryMap<Value, u32>,
    /// For each square root, the factor that its square is multiplied with.
    roots: FxHashMap<Value, Val>,
    /// Components that are extracted from a vector, as bits; all when it is used as a whole.
    parts: SecondaryMap<Value, u16>,
    frames: Vec<Frame>,
    /// The conditions that boolean system values stand for, so that branches and selects can fold
    /// the comparison.
    conditions: Vec<(Val, cond::Cond)>,
    /// Pairs of uniforms that were copied to registers, by block and first half-uniform.
    longs: Vec<(Block, u16, Val)>,
    /// Divergence analysis, computed on first use.
    divergence: Option<tepui_passes::divergence::Divergence>,
    /// Regions around, the outermost one included.
    region_depth: u32,
    /// The state of the stage.
    io: stage::Io,
}

/// Components of values that a preamble leaves in uniforms, by first half-uniform.
pub type PreambleValues = Vec<(Value, u16)>;

/// Selects a whole shader; `preset` is what the preamble has left. With `value_locations` the function says what the IR's values became.
///
/// # Errors
/// When the shader needs what is not compiled.
pub fn select(
    s: &Shader,
    uniforms: Uniforms,
    preset: &[(Value, u16)],
    io: stage::Io,
    value_locations: bool,
) -> Result<(Function, Uniforms, stage::Io)> {
    let mut x = Select::new(s, uniforms);
    x.io = io;
    x.begin()?;
    for all in preset.chunk_by(|a, b| a.0 == b.0) {
        let comps: Vec<Comp> = all.iter().map(|&(_, half)| Comp::Uni(half)).collect();
        x.set(all[0].0, &comps);
    }
    let ended = x.region(s.root)?;
    debug_assert!(ended || x.f.blocks[x.cur].preds.is_empty());
    x.end()?;
    if value_locations {
        x.f.value_locations = Some(Box::new(x.value_locations()));
    }
    Ok((x.f, x.uniforms, x.io))
}

/// Selects a preamble: some instructions of a shader, then stores of their results to uniforms.
///
/// # Errors
/// When an instruction is not compiled, or the uniforms are full.
pub fn select_preamble(
    s: &Shader,
    uniforms: Uniforms,
    plan: &tepui_passes::preamble::Plan,
    io: stage::Io,
) -> Result<(Function, Uniforms, PreambleValues)> {
    use tepui_agx_isa::operand::{Format, Index, RegVec};
    use tepui_agx_isa::table::state::UniformStore;
    let mut x = Select::new(s, uniforms);
    x.io = io;
    // Results are stored as they are: nothing is folded into a user that stays in the main shader.
    for &r in &plan.results {
        x.uses[r] = u32::MAX / 2;
    }
    for &i in &plan.insts {
        x.loc = s.insts[i].loc;
        x.inst(i)?;
    }
    let mut places = Vec::with_capacity(plan.results.len());
    let mut index = 0;
    for &r in &plan.results {
        let class = Select::class(s.ty(r));
        for k in 0..usize::from(s.ty(r).comps()) {
            let half = x.uniform(Source::Preamble { index, halves: class.units })?;
            index += 1;
            let c = x.comp(r, k);
            let v = x.reg(c, class);
            let inst = UniformStore {
                format: Format::I16,
                mask: (1 << class.units) - 1,
                r: RegVec::new(crate::mir::UNASSIGNED, Size::B16, class.units),
                index: Index::Imm(half as i16),
                ..UniformStore::default()
            };
            x.emit(MOp::Isa(inst.into()), &[], &[v]);
            places.push((r, half));
        }
    }
    Ok((x.f, x.uniforms, places))
}

impl<'a> Select<'a> {
    pub(crate) fn new(s: &'a Shader, uniforms: Uniforms) -> Select<'a> {
        let mut f = Function::default();
        let cur = f.blocks.push(Default::default());
        let mut uses = SecondaryMap::with_capacity(s.values.len());
        let mut user = SecondaryMap::with_capacity(s.values.len());
        let mut sums: SecondaryMap<Value, u32> = SecondaryMap::new();
        let mut parts: SecondaryMap<Value, u16> = SecondaryMap::with_capacity(s.values.len());
        s.walk(|s, _, i| {
            // Such loads become uniforms, which makes the address unused.
            if Source::of_descriptor_load(s, i).is_some() {
                return;
            }
            let part = match s.insts[i].attrs {
                Attrs::Index(k) if s.insts[i].op == Op::Extract => 1 << k,
                _ => u16::MAX,
            };
            let sum = matches!(s.insts[i].op, Op::FAdd | Op::FSub)
                && !s.insts[i].flags.intersects(InstFlags::EXACT | InstFlags::STRICT);
            for &a in s.args(i) {
                if sum && s.def_op(a) == Some(Op::FSqrt) {
                    sums[a] += 1;
                }
                uses[a] += 1;
                user[a] = i.into();
                parts[a] |= part;
            }
        });
        Select {
            s,
            f,
            uniforms,
            cur,
            depth: 0,
            loc: Loc::default(),
            at: SecondaryMap::with_capacity(s.values.len()),
            comps: Vec::with_capacity(s.values.len() + 1),
            uses,
            user,
            sums,
            roots: FxHashMap::default(),
            parts,
            frames: Vec::new(),
            conditions: Vec::new(),
            longs: Vec::new(),
            divergence: None,
            region_depth: 0,
            io: stage::Io::default(),
        }
    }

    fn refuse<T>(&self, inst: Inst, why: impl Into<String>) -> Result<T> {
        Err(Error::Op { inst, op: self.s.insts[inst].op, why: why.into() })
    }

    pub(crate) fn ty(&self, v: Value) -> Type {
        self.s.ty(v)
    }

    /// Register class of one component of a type.
    pub(crate) fn class(ty: Type) -> RegClass {
        class_of(ty.bits(), 1)
    }

    pub(crate) fn comp(&self, v: Value, k: usize) -> Comp {
        match self.at[v] {
            0 => Comp::Undef,
            n => self.comps[n as usize - 1 + k],
        }
    }

    /// The instruction that makes a value, for those that look how it was made: none when it is in
    /// a uniform already.
    pub(crate) fn def_inst(&self, v: Value) -> Option<Inst> {
        if matches!(self.comp(v, 0), Comp::Uni(_)) { None } else { self.s.def_inst(v) }
    }

    fn is_set(&self, v: Value) -> bool {
        self.at[v] != 0
    }

    /// Locations of the IR's values; values with a name in the source come first.
    fn value_locations(&self) -> ValueLocations {
        let mut out = ValueLocations::default();
        for named in [true, false] {
            for value in self.s.values.keys().filter(|&v| self.s.names[v].is_some() == named) {
                let count = if self.is_set(value) { self.ty(value).comps() } else { 0 };
                for component in 0..count {
                    let of = Component { value, component };
                    match self.comp(value, component.into()) {
                        Comp::Val(v) => out.vals.push((v, of)),
                        Comp::Uni(half) => {
                            let halves = Select::class(self.ty(value)).units;
                            out.uniforms.push(InUniforms { half, halves, of });
                        }
                        Comp::Const(_) | Comp::Undef => {}
                    }
                }
            }
        }
        out
    }

    pub(crate) fn set(&mut self, v: Value, comps: &[Comp]) {
        self.at[v] = self.comps.len() as u32 + 1;
        self.comps.extend_from_slice(comps);
    }

    /// Forgets what a value became.
    fn unset(&mut self, v: Value) {
        self.at[v] = 0;
    }

    fn block(&mut self) -> Block {
        let b = self.f.blocks.push(Default::default());
        self.f.blocks[b].depth = self.depth;
        b
    }

    pub(crate) fn emit(&mut self, op: MOp, dsts: &[Val], srcs: &[Val]) -> Ins {
        let i = self.f.make(op, dsts, srcs, self.loc);
        self.f.blocks[self.cur].insts.push(i);
        i
    }

    /// Appends an instruction with a result; the operands are those of its sources, in order.
    pub(crate) fn def(&mut self, inst: impl Into<Isa>, class: RegClass, ops: &[Opnd]) -> Val {
        let d = self.f.val(class);
        self.isa(inst, &[d], ops);
        d
    }

    pub(crate) fn isa(&mut self, inst: impl Into<Isa>, dsts: &[Val], ops: &[Opnd]) {
        let mut srcs = [Val::from_u32(0); 8];
        let mut n = 0;
        for v in ops.iter().filter_map(Opnd::val) {
            srcs[n] = v;
            n += 1;
        }
        self.emit(MOp::Isa(inst.into()), dsts, &srcs[..n]);
    }

    /// A constant in a register.
    pub(crate) fn mov_imm(&mut self, bits: u64, class: RegClass) -> Val {
        match class.units {
            1 => self.def(
                MovImm16 {
                    d: Dst::new(crate::mir::UNASSIGNED, Size::B16),
                    imm: bits as u16,
                    ..MovImm16::default()
                },
                class,
                &[],
            ),
            2 => self.def(
                MovImm32 {
                    d: Dst::new(crate::mir::UNASSIGNED, Size::B32),
                    imm: bits as u32,
                    ..MovImm32::default()
                },
                class,
                &[],
            ),
            _ => {
                let lo = self.mov_imm(bits & 0xffff_ffff, WORD);
                let hi = self.mov_imm(bits >> 32, WORD);
                let d = self.f.val(LONG);
                self.emit(MOp::Collect, &[d], &[lo, hi]);
                d
            }
        }
    }

    /// A component in registers.
    pub(crate) fn reg(&mut self, c: Comp, class: RegClass) -> Val {
        match c {
            Comp::Val(v) => v,
            Comp::Const(bits) => self.mov_imm(bits, class),
            Comp::Uni(half) if class.units == 4 => {
                let here = |l: &&(Block, u16, Val)| (l.0, l.1) == (self.cur, half);
                if let Some(known) = self.longs.iter().find(here) {
                    return known.2;
                }
                let words = [0, 2].map(|k| self.mov(Opnd::uniform(half + k, Size::B32), WORD));
                let d = self.f.val(LONG);
                self.emit(MOp::Collect, &[d], &words);
                self.longs.push((self.cur, half, d));
                d
            }
            Comp::Uni(half) => {
                let size = if class.units == 1 { Size::B16 } else { Size::B32 };
                self.mov(Opnd::uniform(half, size), class)
            }
            Comp::Undef => {
                let d = self.f.val(class);
                self.emit(MOp::Undef, &[d], &[]);
                d
            }
        }
    }

    /// Puts a component into registers at the end of an earlier block.
    fn reg_at_end(&mut self, b: Block, c: Comp, class: RegClass) -> Val {
        if let Comp::Val(v) = c {
            return v;
        }
        // Emit in a scratch position, then move before the instructions that leave the block.
        let at = self.f.body_end(b);
        let tail = self.f.blocks[b].insts.split_off(at);
        let cur = std::mem::replace(&mut self.cur, b);
        let v = self.reg(c, class);
        self.cur = cur;
        self.f.blocks[b].insts.extend(tail);
        v
    }

    /// A uniform for `source`, or an error when the file is full.
    pub(crate) fn uniform(&mut self, source: Source) -> Result<u16> {
        self.uniforms.get(source).ok_or(Error::Limit {
            what: crate::error::HALF_UNIFORMS,
            needed: u64::from(self.uniforms.halves() + source.halves()),
            limit: u64::from(tepui_agx_isa::operand::UNIFORM_HALVES),
        })
    }

    /// Selects a region; returns whether its end (a `yield`) is reached.
    fn region(&mut self, r: Region) -> Result<bool> {
        self.region_depth += 1;
        let ended = self.region_inside(r);
        self.region_depth -= 1;
        ended
    }

    fn region_inside(&mut self, r: Region) -> Result<bool> {
        let s = self.s;
        for &i in &s.regions[r].insts {
            let d = &s.insts[i];
            self.loc = d.loc;
            match (d.op, d.attrs) {
                (Op::If, Attrs::If(a, b)) => {
                    if !self.branch(i, a, b)? {
                        return Ok(false);
                    }
                }
                (Op::Loop, Attrs::Loop(body)) => {
                    if !self.repeat(i, body)? {
                        return Ok(false);
                    }
                }
                (Op::Yield, _) => return Ok(true),
                (Op::Break, _) => {
                    let comps = self.all_comps(s.args(i));
                    self.emit(MOp::Ctl(Ctl::Break), &[], &[]);
                    let cur = self.cur;
                    if let Some(f) = self.frames.last_mut() {
                        f.exits.push((cur, comps));
                    }
                    return Ok(false);
                }
                (Op::Continue, _) => {
                    self.next_iteration(s.args(i));
                    self.emit(MOp::Ctl(Ctl::Continue), &[], &[]);
                    return Ok(false);
                }
                _ => self.inst(i)?,
            }
            if self.region_depth == 1 {
                self.behind(i);
            }
        }
        Ok(true)
    }

    fn all_comps(&self, vals: &[Value]) -> Vec<Comp> {
        vals.iter()
            .flat_map(|&v| (0..self.ty(v).comps() as usize).map(move |k| (v, k)))
            .map(|(v, k)| self.comp(v, k))
            .collect()
    }

    /// Types of the components of some values.
    fn comp_types(&self, vals: &[Value]) -> Vec<Type> {
        vals.iter()
            .flat_map(|&v| std::iter::repeat_n(self.ty(v).elem(), self.ty(v).comps() as usize))
            .collect()
    }

    /// Edge and phi sources from here to the innermost loop's header.
    fn next_iteration(&mut self, args: &[Value]) {
        let types = self.comp_types(args);
        let comps = self.all_comps(args);
        let regs: Vec<Val> =
            comps.iter().zip(&types).map(|(&c, &t)| self.reg(c, Self::class(t))).collect();
        let Some(frame) = self.frames.last() else { return };
        for (&phi, &v) in frame.phis.iter().zip(&regs) {
            let f = &mut self.f.body;
            f.insts[phi].srcs.push(v, &mut f.pool);
        }
        let (cur, header) = (self.cur, frame.header);
        self.f.edge(cur, header);
    }

    /// Joins the ways into the current block: results from the components that each way brings.
    fn join(&mut self, results: &[Value], ways: &[(Block, Vec<Comp>)]) {
        let join = self.cur;
        for (b, _) in ways {
            self.f.edge(*b, join);
        }
        let types = self.comp_types(results);
        let mut joined = Vec::with_capacity(types.len());
        for (k, &t) in types.iter().enumerate() {
            // Undefined on one way is whatever the others bring.
            let mut known = ways.iter().map(|w| w.1[k]).filter(|c| *c != Comp::Undef);
            let first = known.next().unwrap_or(Comp::Undef);
            if known.all(|c| c == first)
                && (ways.len() == 1
                    || !matches!(first, Comp::Val(_))
                    || ways.iter().all(|w| w.1[k] == first))
            {
                joined.push(first);
                continue;
            }
            let class = Self::class(t);
            let srcs: Vec<Val> =
                ways.iter().map(|(b, c)| self.reg_at_end(*b, c[k], class)).collect();
            let d = self.f.val(class);
            let phi = self.f.make(MOp::Phi, &[d], &srcs, self.loc);
            self.f.blocks[join].insts.push(phi);
            joined.push(Comp::Val(d));
        }
        let mut at = 0;
        for &r in results {
            let n = self.ty(r).comps() as usize;
            self.set(r, &joined[at..at + n]);
            at += n;
        }
    }

    fn branch(&mut self, i: Inst, a: Region, b: Region) -> Result<bool> {
        let s = self.s;
        let cond = self.cond(s.arg(i, 0));
        let (inst, ops) = cond.branch();
        let srcs: Vec<Val> = ops.iter().filter_map(Opnd::val).collect();
        self.emit(MOp::Ctl(Ctl::If(inst)), &[], &srcs);
        let from = self.cur;
        let mut ways = Vec::with_capacity(2);
        for (k, region) in [a, b].into_iter().enumerate() {
            let block = self.block();
            self.f.edge(from, block);
            self.cur = block;
            if k == 1 {
                self.emit(MOp::Ctl(Ctl::Else), &[], &[]);
            }
            if self.region(region)? {
                let args = s.terminator(region).map_or(&[][..], |t| s.args(t));
                ways.push((self.cur, self.all_comps(args)));
            }
        }
        self.loc = s.insts[i].loc;
        self.cur = self.block();
        self.join(s.results(i), &ways);
        self.emit(MOp::Ctl(Ctl::EndIf), &[], &[]);
        Ok(!ways.is_empty())
    }

    fn repeat(&mut self, i: Inst, body: Region) -> Result<bool> {
        let s = self.s;
        let params = &s.regions[body].params;
        let types = self.comp_types(params);
        let comps = self.all_comps(s.args(i));
        let first: Vec<Val> =
            comps.iter().zip(&types).map(|(&c, &t)| self.reg(c, Self::class(t))).collect();
        self.emit(MOp::Ctl(Ctl::Loop), &[], &[]);
        let from = self.cur;
        self.depth = self.depth.saturating_add(1);
        let header = self.block();
        self.f.edge(from, header);
        self.cur = header;
        let mut phis = Vec::with_capacity(types.len());
        let mut vals = Vec::with_capacity(types.len());
        for (&t, &v) in types.iter().zip(&first) {
            let d = self.f.val(Self::class(t));
            phis.push(self.emit(MOp::Phi, &[d], &[v]));
            vals.push(Comp::Val(d));
        }
        let mut at = 0;
        for &p in params {
            let n = self.ty(p).comps() as usize;
            self.set(p, &vals[at..at + n]);
            at += n;
        }
        self.frames.push(Frame { header, phis, exits: Vec::new() });
        self.region(body)?;
        // The end of the loop has a block of its own unless the body's last one goes on to the next
        // iteration.
        let last = self.f.blocks[self.cur].insts.last().copied();
        match last.map(|l| self.f.insts[l].op) {
            Some(MOp::Ctl(Ctl::Continue)) => {
                self.f.blocks[self.cur].insts.pop();
            }
            Some(MOp::Ctl(Ctl::Break)) => self.cur = self.block(),
            _ => {}
        }
        self.emit(MOp::Ctl(Ctl::EndLoop), &[], &[]);
        self.depth -= 1;
        let Some(frame) = self.frames.pop() else { return Ok(false) };
        self.loc = s.insts[i].loc;
        self.cur = self.block();
        self.join(s.results(i), &frame.exits);
        Ok(!frame.exits.is_empty())
    }

    /// Opens a loop that carries one value, `first` on entry: its header, the phi and the value.
    fn open_loop(&mut self, first: Val) -> (Block, Ins, Val) {
        self.emit(MOp::Ctl(Ctl::Loop), &[], &[]);
        let from = self.cur;
        self.depth = self.depth.saturating_add(1);
        let header = self.block();
        self.f.edge(from, header);
        self.cur = header;
        let class = self.f.vals[first];
        let d = self.f.val(class);
        let phi = self.emit(MOp::Phi, &[d], &[first]);
        (header, phi, d)
    }

    /// Closes the loop, which continues with `next` while `more` holds.
    fn close_loop(&mut self, more: cond::Cond, header: Block, phi: Ins, next: Val) {
        let (inst, ops) = more.branch();
        let srcs: Vec<Val> = ops.iter().filter_map(Opnd::val).collect();
        self.emit(MOp::Ctl(Ctl::If(inst)), &[], &srcs);
        let from = self.cur;
        let again = self.block();
        self.f.edge(from, again);
        let leave = self.block();
        self.f.edge(from, leave);
        self.cur = leave;
        self.emit(MOp::Ctl(Ctl::Else), &[], &[]);
        self.emit(MOp::Ctl(Ctl::Break), &[], &[]);
        let join = self.block();
        self.cur = join;
        self.f.edge(again, join);
        self.emit(MOp::Ctl(Ctl::EndIf), &[], &[]);
        let f = &mut self.f.body;
        f.insts[phi].srcs.push(next, &mut f.pool);
        self.f.edge(join, header);
        self.emit(MOp::Ctl(Ctl::EndLoop), &[], &[]);
        self.depth -= 1;
        self.cur = self.block();
        let exit = self.cur;
        self.f.edge(leave, exit);
    }

    fn inst(&mut self, i: Inst) -> Result<()> {
        let s = self.s;
        // Already there: taken into its producer, or computed by the preamble.
        if let [r] = s.results(i)
            && self.is_set(*r)
        {
            return Ok(());
        }
        match s.insts[i].op {
            Op::Const => {
                let c = s.as_const(s.result(i)).unwrap_or(0);
                self.set(s.result(i), &[Comp::Const(c)]);
                Ok(())
            }
            Op::Undef => {
                let r = s.result(i);
                let all = vec![Comp::Undef; self.ty(r).comps() as usize];
                self.set(r, &all);
                Ok(())
            }
            Op::Copy => {
                let (r, a) = (s.result(i), s.arg(i, 0));
                let all = self.all_comps(&[a]);
                self.set(r, &all);
                Ok(())
            }
            Op::Vec => {
                let all = self.all_comps(s.args(i));
                self.set(s.result(i), &all);
                Ok(())
            }
            Op::Extract => {
                let k = match s.insts[i].attrs {
                    Attrs::Index(k) => k as usize,
                    _ => 0,
                };
                let c = self.comp(s.arg(i, 0), k);
                self.set(s.result(i), &[c]);
                Ok(())
            }
            _ if self.memory(i)? || self.stage_io(i)? || self.group(i)? || self.texture(i)? => {
                Ok(())
            }
            _ => self.alu(i),
        }
    }
}
