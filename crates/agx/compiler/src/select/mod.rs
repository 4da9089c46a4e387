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
pub(crate) use crate::mir::Comp;
use crate::mir::{Agx, Block, Ctl, Function, LONG, Op as MOp, RegClass, Val, WORD, class_of};
use crate::uniforms::{Source, Uniforms};
use std::ops::{Deref, DerefMut};
use tepui_agx_isa::Inst as Isa;
use tepui_agx_isa::operand::{Dst, Size};
use tepui_agx_isa::table::moves::{MovImm16, MovImm32};
use tepui_backend::{Builder, walk};
use tepui_ir::cranelift_entity::SecondaryMap;
use tepui_ir::{Inst, InstFlags, Op, Shader, Type, Value};

pub(crate) use operand::Opnd;

pub(crate) struct Select<'a> {
    builder: Builder<'a, Agx>,
    pub uniforms: Uniforms,
    /// Number of a value's uses by sums that may be fused with a product in them.
    sums: SecondaryMap<Value, u32>,
    /// For each square root, the factor that its square is multiplied with.
    roots: FxHashMap<Value, Val>,
    /// The conditions that boolean system values stand for, so that branches and selects can fold
    /// the comparison.
    conditions: Vec<(Val, cond::Cond)>,
    /// Pairs of uniforms that were copied to registers, by block and first half-uniform.
    longs: Vec<(Block, u16, Val)>,
    /// The state of the stage.
    io: stage::Io,
}

impl<'a> Deref for Select<'a> {
    type Target = Builder<'a, Agx>;

    fn deref(&self) -> &Builder<'a, Agx> {
        &self.builder
    }
}

impl<'a> DerefMut for Select<'a> {
    fn deref_mut(&mut self) -> &mut Builder<'a, Agx> {
        &mut self.builder
    }
}

impl<'a> tepui_backend::Select<'a> for Select<'a> {
    type Machine = Agx;
    type Error = Error;

    fn inst(&mut self, i: Inst) -> Result<()> {
        self.select(i)
    }

    fn branch(&mut self, cond: Value) -> Result<()> {
        let cond = self.cond(cond);
        self.emit_branch(cond);
        Ok(())
    }

    fn class(&self, v: Value) -> RegClass {
        Select::class(self.ty(v))
    }

    fn reg(&mut self, c: Comp, class: RegClass) -> Val {
        Select::reg(self, c, class)
    }

    fn after_root_inst(&mut self, i: Inst) {
        self.behind(i);
    }
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
        let comps: Vec<Comp> = all.iter().map(|&(_, half)| Comp::Uniform(half)).collect();
        x.set(all[0].0, &comps);
    }
    let ended = walk::region(&mut x, s.root)?;
    debug_assert!(ended || x.f.blocks[x.cur].preds.is_empty());
    x.end()?;
    if value_locations {
        let halves = |half, ty| (half, Select::class(ty).units);
        let locations = x.value_locations(halves);
        x.f.value_locations = Some(Box::new(locations));
    }
    Ok((x.builder.f, x.uniforms, x.io))
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
        x.select(i)?;
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
    Ok((x.builder.f, x.uniforms, places))
}

impl<'a> Select<'a> {
    pub(crate) fn new(s: &'a Shader, uniforms: Uniforms) -> Select<'a> {
        let mut sums: SecondaryMap<Value, u32> = SecondaryMap::new();
        let builder = Builder::new(s, |s, i| {
            // Such loads become uniforms, which makes the address unused.
            if Source::of_descriptor_load(s, i).is_some() {
                return false;
            }
            let d = &s.insts[i];
            if matches!(d.op, Op::FAdd | Op::FSub)
                && !d.flags.intersects(InstFlags::EXACT | InstFlags::STRICT)
            {
                for &a in s.args(i).iter().filter(|&&a| s.def_op(a) == Some(Op::FSqrt)) {
                    sums[a] += 1;
                }
            }
            true
        });
        Select {
            builder,
            uniforms,
            sums,
            roots: FxHashMap::default(),
            conditions: Vec::new(),
            longs: Vec::new(),
            io: stage::Io::default(),
        }
    }

    fn refuse<T>(&self, inst: Inst, why: impl Into<String>) -> Result<T> {
        Err(Error::Op { inst, op: self.s.insts[inst].op, why: why.into() })
    }

    /// Register class of one component of a type.
    pub(crate) fn class(ty: Type) -> RegClass {
        class_of(ty.bits(), 1)
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
            Comp::Uniform(half) if class.units == 4 => {
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
            Comp::Uniform(half) => {
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

    /// A uniform for `source`, or an error when the file is full.
    pub(crate) fn uniform(&mut self, source: Source) -> Result<u16> {
        self.uniforms.get(source).ok_or(Error::Limit {
            what: crate::error::HALF_UNIFORMS,
            needed: u64::from(self.uniforms.halves() + source.halves()),
            limit: u64::from(tepui_agx_isa::operand::UNIFORM_HALVES),
        })
    }

    /// Ends the block with an `if` on a condition.
    fn emit_branch(&mut self, cond: cond::Cond) {
        let (inst, ops) = cond.branch();
        let srcs: Vec<Val> = ops.iter().filter_map(Opnd::val).collect();
        self.emit(MOp::Ctl(Ctl::If(inst)), &[], &srcs);
    }

    fn select(&mut self, i: Inst) -> Result<()> {
        let s = self.s;
        // Already there: taken into its producer, or computed by the preamble.
        if let [r] = s.results(i)
            && self.is_set(*r)
        {
            return Ok(());
        }
        if self.select_free(i)
            || self.memory(i)?
            || self.stage_io(i)?
            || self.group(i)?
            || self.texture(i)?
        {
            return Ok(());
        }
        self.alu(i)
    }
}
