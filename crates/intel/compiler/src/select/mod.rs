//! Instruction selection: IR to machine IR for a number of channels.
//!
//! [`Select`] walks the regions once and appends instructions to blocks. An IR value becomes components ([`Comp`]): values,
//! constants or places in the register file, one for each double word. Instructions look at the definitions of their
//! operands and fold negations, absolute values and comparisons into themselves; what nothing uses afterwards is removed
//! by [`tepui_regalloc::dce`].
//!
//! `alu` selects arithmetic, `convert` conversions, `cond` comparisons and conditions, `memory` and `global` accesses of
//! memory, `group` built-ins and barriers, `subgroup` what passes between channels, `texture` and `image` messages of the
//! sampler and of typed surfaces, `handle` descriptors; `flow` builds blocks from regions. `io` is what graphics stages
//! have in common, `vertex`, `tessellation`, `geometry`, `fragment` and `output` are theirs; `urb` accesses entries.

mod alu;
mod cond;
mod convert;
mod flow;
mod fragment;
mod geometry;
mod global;
mod group;
mod handle;
mod image;
pub mod io;
mod memory;
mod output;
mod subgroup;
mod tessellation;
mod texture;
mod urb;
mod vertex;

pub(crate) use texture::uniform_operands;

use crate::bind::BindMap;
use crate::error::{Error, Result};
use crate::mir::{self, Function, Inst, MOp, Operand, Place, SCALAR, planes};
use crate::payload::TargetPayload;
use crate::scalars::Scalars;
use flow::Frame;
use tepui_backend::values::{Component, InUniforms, ValueLocations};
use tepui_intel_isa::{Generation, Opcode, Type as Ty};
use tepui_ir::cranelift_entity::SecondaryMap;
use tepui_ir::{self as ir, Attrs, Loc, Op, Shader, Type, Value};
use tepui_regalloc::{Block, Ins, RegClass, Val};

/// Maximum number of constants that are written before a loop.
const MAX_CONSTANTS: usize = 16;

/// A component: a double word of each channel.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Comp {
    /// A plane.
    Val(Val),
    /// A constant.
    Const(u32),
    /// A double word of the register file, the same for all channels.
    Fixed(u16),
    /// Any bits.
    Undef,
}

/// A source with the value that it reads, if it reads one.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Source {
    operand: Operand,
    val: Option<Val>,
}

impl Source {
    /// A plane of the payload.
    fn payload(register: u16) -> Source {
        Source { operand: Operand::new(Place::Payload(register), Ty::UD), val: None }
    }

    /// An immediate.
    fn immediate(ty: Ty, bits: u64) -> Source {
        Source { operand: Operand::immediate(ty, bits), val: None }
    }

    /// The source, negated.
    fn negated(self) -> Source {
        Source { operand: self.operand.negated(), ..self }
    }
}

/// The message that ends a thread.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub enum Ending {
    /// Of compute threads: to the thread spawner.
    #[default]
    Compute,
    /// A write of the URB.
    Urb {
        /// Offset in slots.
        offset: u16,
        /// The plane of handles, if it is not in the register before the data yet.
        handle: Operand,
        /// First register of the data.
        first: u16,
        /// Registers of the data.
        registers: u8,
    },
    /// A render target write.
    Target {
        /// The parts of its payload.
        payload: TargetPayload,
        /// First register of the payload.
        first: u16,
        /// First register of the colour.
        colour: u16,
        /// The register of a plane with the mask of samples, if there is one.
        mask: u16,
    },
}

struct Select<'a> {
    s: &'a Shader,
    f: Function,
    generation: Generation,
    /// Channels.
    width: u8,
    map: &'a mut BindMap,
    /// Index of the first component of each value in `comps`, plus one; 0 for values that have none.
    at: SecondaryMap<Value, u32>,
    comps: Vec<Comp>,
    cur: Block,
    depth: u16,
    /// Enclosing constructs of control flow.
    nesting: u32,
    io: io::Io<'a>,
    loc: Loc,
    /// Enclosing loops.
    frames: Vec<Frame>,
    /// Constants that are written before the current outermost loop, which follows a block.
    constants: Vec<(u32, Block, Val)>,
    /// Scalar values that blocks carry.
    scalars: Scalars,
    /// Whether results of scalar sources are scalar.
    has_scalars: bool,
    /// The number of the first channel that executes in a block.
    first: Option<(Block, Val)>,
}

/// Double words of each channel that a component of a type has.
fn words(ty: Type) -> usize {
    if ty.bits() == 64 { 2 } else { 1 }
}

/// A shader in machine IR.
pub struct Selection {
    /// The machine IR.
    pub f: Function,
    /// The message that ends the thread.
    pub ending: Ending,
    /// Machine values of the IR's values, if requested.
    pub value_locations: Option<ValueLocations>,
}

/// Selects a shader for a number of channels; surfaces that it uses are added to the map. Without `scalars` all values are
/// planes. With `names` the result has the locations of the IR's values.
///
/// # Errors
/// When the shader needs what is not compiled.
pub fn select(
    s: &Shader,
    generation: Generation,
    width: u8,
    stage: io::Stage<'_>,
    scalars: Option<Scalars>,
    map: &mut BindMap,
    names: bool,
) -> Result<Selection> {
    let mut f = Function::default();
    let cur = f.blocks.push(Default::default());
    map.start = stage.start();
    let inputs = map.start + map.registers();
    let mut select = Select {
        s,
        f,
        generation,
        width,
        map,
        at: SecondaryMap::with_capacity(s.values.len()),
        comps: Vec::with_capacity(s.values.len()),
        cur,
        depth: 0,
        nesting: 0,
        io: io::Io::new(stage, inputs),
        loc: Loc::default(),
        frames: Vec::new(),
        constants: Vec::new(),
        has_scalars: scalars.is_some(),
        first: None,
        scalars: scalars.unwrap_or_default(),
    };
    select.begin();
    select.region(s.root)?;
    let ending = select.end();
    let value_locations = names.then(|| select.value_locations());
    Ok(Selection { f: select.f, ending, value_locations })
}

impl Select<'_> {
    fn ty(&self, v: Value) -> Type {
        self.s.ty(v)
    }

    /// The error for an instruction.
    fn refuse<T>(&self, i: ir::Inst, why: impl Into<String>) -> Result<T> {
        let d = &self.s.insts[i];
        Err(Error::Op { op: d.op, loc: self.s.locs[d.loc], why: why.into() })
    }

    /// The class of a plane.
    fn plane(&self) -> RegClass {
        planes(self.width, 1)
    }

    fn set(&mut self, v: Value, comps: &[Comp]) {
        debug_assert_eq!(comps.len(), usize::from(self.ty(v).comps()) * words(self.ty(v)));
        self.at[v] = self.comps.len() as u32 + 1;
        self.comps.extend_from_slice(comps);
    }

    /// The locations of the components of values that have 32 bits or fewer; those of variables come first.
    fn value_locations(&self) -> ValueLocations {
        let mut out = ValueLocations::default();
        for named in [true, false] {
            let chosen = |&v: &Value| {
                self.s.names[v].is_some() == named && self.at[v] != 0 && words(self.ty(v)) == 1
            };
            for value in self.s.values.keys().filter(chosen) {
                for k in 0..self.dwords(value) {
                    let of = Component { value, component: k as u8 };
                    match self.comp(value, k) {
                        Comp::Val(v) => out.vals.push((v, of)),
                        Comp::Fixed(unit) => {
                            out.uniforms.push(InUniforms { unit, units: 1, of });
                        }
                        Comp::Const(_) | Comp::Undef => {}
                    }
                }
            }
        }
        out
    }

    /// Double word `k` of a value.
    fn comp(&self, v: Value, k: usize) -> Comp {
        match self.at[v] {
            0 => Comp::Undef,
            at => self.comps[at as usize - 1 + k],
        }
    }

    /// All double words of values.
    fn all_comps(&self, vals: &[Value]) -> Vec<Comp> {
        vals.iter()
            .flat_map(|&v| (0..self.dwords(v)).map(move |k| (v, k)))
            .map(|(v, k)| self.comp(v, k))
            .collect()
    }

    /// Number of double words of a value.
    fn dwords(&self, v: Value) -> usize {
        let ty = self.ty(v);
        usize::from(ty.comps()) * words(ty)
    }

    fn emit(&mut self, op: MOp, dsts: &[Val], srcs: &[Val]) -> Ins {
        let i = self.f.make(op, dsts, srcs, self.loc);
        self.f.blocks[self.cur].insts.push(i);
        i
    }

    /// Appends an instruction without its operands' values.
    fn push(&mut self, mut inst: Inst, dst: Option<Val>, sources: &[Source]) {
        let mut vals = [Val::from_u32(0); 4];
        let mut n = 0;
        for (to, source) in inst.src.iter_mut().zip(sources) {
            *to = source.operand;
            if let Some(v) = source.val {
                vals[n] = v;
                n += 1;
            }
        }
        if dst.is_none() {
            inst.dst = Operand::NONE;
        }
        self.emit(MOp::Isa(inst), dst.as_slice(), &vals[..n]);
    }

    /// Appends an instruction with a plane as its result, or a scalar value where all sources are.
    fn def(&mut self, op: mir::Op, ty: Ty, sources: &[Source]) -> Val {
        let computes = match op {
            // On Gen9 ternary instructions have no form of one channel.
            mir::Op::Alu { opcode, .. } => {
                opcode != Opcode::Mad || self.generation == Generation::Gen12
            }
            mir::Op::Compare(_) | mir::Op::CompareBoth(_) => true,
            mir::Op::Select(_) | mir::Op::MulHigh => true,
            _ => false,
        };
        let scalar = |s: &Source| match s.val {
            Some(_) => matches!(s.operand.place, Place::Scalar(_)),
            None => true,
        };
        if computes && self.has_scalars && sources.iter().all(scalar) {
            return self.def_scalar(op, ty, sources);
        }
        self.def_plane(op, ty, sources)
    }

    fn def_plane(&mut self, op: mir::Op, ty: Ty, sources: &[Source]) -> Val {
        let class = self.plane();
        let d = self.f.val(class);
        let inst = Inst { op, dst: Operand::value(ty), src: [Operand::NONE; 4] };
        self.push(inst, Some(d), sources);
        d
    }

    fn def_scalar(&mut self, op: mir::Op, ty: Ty, sources: &[Source]) -> Val {
        let d = self.f.val(SCALAR);
        let inst = Inst { op, dst: Operand::scalar(ty), src: [Operand::NONE; 4] };
        self.push(inst, Some(d), sources);
        d
    }

    /// A value as a source.
    fn read(&self, v: Val, ty: Ty) -> Source {
        let operand = match self.f.vals[v] == SCALAR {
            true => Operand::scalar(ty),
            false => Operand::value(ty),
        };
        Source { operand, val: Some(v) }
    }

    /// A component as a source of a type; constants are immediates.
    fn source(&mut self, c: Comp, ty: Ty) -> Source {
        let operand = |place| Operand::new(place, ty);
        match c {
            Comp::Val(v) => self.read(v, ty),
            Comp::Const(bits) => {
                let bits = u64::from(bits);
                Source { operand: operand(Place::Immediate(bits)), val: None }
            }
            Comp::Fixed(dword) => Source { operand: operand(Place::Fixed(dword)), val: None },
            Comp::Undef => {
                let v = self.undef();
                Source { operand: Operand::value(ty), val: Some(v) }
            }
        }
    }

    /// A component as a source in a register.
    fn register(&mut self, c: Comp, ty: Ty) -> Source {
        match c {
            Comp::Const(_) => {
                let v = self.constant(c);
                self.read(v, ty)
            }
            _ => self.source(c, ty),
        }
    }

    /// A constant in a register; within loops one that is written before the outermost of them.
    fn constant(&mut self, c: Comp) -> Val {
        let outermost = self.frames.first().map(|frame| frame.before);
        let (Some(before), Comp::Const(bits), true) = (outermost, c, self.has_scalars) else {
            return self.constant_here(c);
        };
        self.constants.retain(|known| known.1 == before);
        if let Some(known) = self.constants.iter().find(|known| known.0 == bits) {
            return known.2;
        }
        if self.constants.len() >= MAX_CONSTANTS {
            return self.constant_here(c);
        }
        let v = self.at_end(before, |c| c.constant_here(Comp::Const(bits)));
        self.constants.push((bits, before, v));
        v
    }

    fn constant_here(&mut self, c: Comp) -> Val {
        let source = self.source(c, Ty::UD);
        self.def(Inst::mov(source.operand).op, Ty::UD, &[source])
    }

    /// A component as a scalar value. Only what [`Scalars`] found is asked for: no planes.
    fn scalar(&mut self, c: Comp) -> Val {
        match c {
            Comp::Val(v) if self.f.vals[v] == SCALAR => v,
            _ => {
                let source = self.source(c, Ty::UD);
                self.def_scalar(Inst::mov(source.operand).op, Ty::UD, &[source])
            }
        }
    }

    fn undef(&mut self) -> Val {
        let class = self.plane();
        let d = self.f.val(class);
        self.emit(MOp::Undef, &[d], &[]);
        d
    }

    /// A copy of a source in a plane of its own.
    fn plane_of(&mut self, source: Source) -> Comp {
        Comp::Val(self.def_plane(Inst::mov(source.operand).op, Ty::UD, &[source]))
    }

    /// A component as a plane.
    fn value(&mut self, c: Comp) -> Val {
        match c {
            Comp::Val(v) if self.f.vals[v] != SCALAR => v,
            Comp::Undef => self.undef(),
            Comp::Val(_) | Comp::Const(_) | Comp::Fixed(_) => {
                let source = self.source(c, Ty::UD);
                self.def_plane(Inst::mov(source.operand).op, Ty::UD, &[source])
            }
        }
    }

    /// Planes in a row, from components.
    fn collect(&mut self, comps: &[Comp]) -> Val {
        let vals: Vec<Val> = comps.iter().map(|&c| self.value(c)).collect();
        if let [one] = vals[..] {
            return one;
        }
        let d = self.f.val(planes(self.width, vals.len() as u8));
        self.emit(MOp::Collect, &[d], &vals);
        d
    }

    /// The planes of a value of several.
    fn split(&mut self, v: Val, count: usize) -> Vec<Val> {
        if count == 1 {
            return vec![v];
        }
        let class = self.plane();
        let parts: Vec<Val> = (0..count).map(|_| self.f.val(class)).collect();
        self.emit(MOp::Split, &parts, &[v]);
        parts
    }

    fn inst(&mut self, i: ir::Inst) -> Result<()> {
        let s = self.s;
        match s.insts[i].op {
            Op::Const => {
                let r = s.result(i);
                let (c, ty) = (s.as_const(r).unwrap_or(0), self.ty(r));
                match ty.bits() {
                    1 => self.set(r, &[Comp::Const(if c & 1 != 0 { u32::MAX } else { 0 })]),
                    64 => self.set(r, &[Comp::Const(c as u32), Comp::Const((c >> 32) as u32)]),
                    _ => self.set(r, &[Comp::Const(c as u32)]),
                }
                Ok(())
            }
            Op::Undef => {
                let r = s.result(i);
                let all = vec![Comp::Undef; self.dwords(r)];
                self.set(r, &all);
                Ok(())
            }
            Op::Copy | Op::Vec => {
                let all = self.all_comps(s.args(i));
                self.set(s.result(i), &all);
                Ok(())
            }
            Op::Extract => {
                let k = match s.insts[i].attrs {
                    Attrs::Index(k) => k as usize,
                    _ => 0,
                };
                let (a, n) = (s.arg(i, 0), words(self.ty(s.result(i))));
                let all: Vec<Comp> = (0..n).map(|w| self.comp(a, k * n + w)).collect();
                self.set(s.result(i), &all);
                Ok(())
            }
            // Handles are found where they are used.
            Op::Descriptor => Ok(()),
            _ if self.stage_io(i)? || self.subgroup(i)? => Ok(()),
            _ if self.texture(i)? || self.image(i)? => Ok(()),
            _ if self.memory(i)? || self.group(i)? || self.convert(i)? || self.condition(i)? => {
                Ok(())
            }
            _ => self.alu(i),
        }
    }
}

/// Gives a payload of a message a plane of its own where the other payload has it, too: the two must not have common registers,
/// and a value and a vector that it is part of may.
pub fn separate_payloads(f: &mut Function) {
    let mut collected: SecondaryMap<Val, Option<tepui_regalloc::Ins>> = SecondaryMap::new();
    for b in f.blocks.keys().collect::<Vec<_>>() {
        let mut out = Vec::with_capacity(f.blocks[b].insts.len());
        for i in f.blocks[b].insts.clone() {
            match f.insts[i].op {
                MOp::Collect => collected[f.dsts(i)[0]] = Some(i),
                MOp::Isa(Inst { op: mir::Op::Send(m), .. }) if m.planes[1] > 0 => {
                    let [first, second] = [f.srcs(i)[0], f.srcs(i)[1]];
                    let is_part = |part: Val, whole: Val| {
                        part == whole || collected[whole].is_some_and(|v| f.srcs(v).contains(&part))
                    };
                    let common = match (is_part(first, second), is_part(second, first)) {
                        (true, _) => Some((0, first)),
                        (false, true) => Some((1, second)),
                        (false, false) => None,
                    };
                    if let Some((operand, plane)) = common {
                        let class = f.vals[plane];
                        let copy = f.val(class);
                        let loc = f.insts[i].loc;
                        let inst = Inst::mov(Operand::value(Ty::UD));
                        out.push(f.make(MOp::Isa(inst), &[copy], &[plane], loc));
                        f.srcs_mut(i)[operand] = copy;
                    }
                }
                _ => {}
            }
            out.push(i);
        }
        f.blocks[b].insts = out;
    }
}
