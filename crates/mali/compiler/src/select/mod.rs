//! Instruction selection: IR to machine IR.
//!
//! One walk over the regions. A component of an IR value is one word ([`Comp`]), of 64 bits two: a machine value, a number, or a
//! source without a register. Vectors exist only where a message needs consecutive registers. Each instruction looks at the
//! definitions of its operands to fold what the hardware does for free; definitions that become unused are removed by dead code
//! elimination.

mod addresses;
mod alu;
mod bits;
mod cond;
mod convert;
mod fragment;
mod group;
mod image;
mod math;
mod memory;
mod operand;
mod stage;
mod texture;
mod vertex;

use crate::Prepared;
use crate::error::{Error, Result};
use crate::interface::{Fau, FauWord, Layout};
use crate::mir::Ctl;
use crate::mir::{Comp, Fixed, Function, Inst as Isa, MOp, RegClass, Val, Valhall, WORD};
pub(crate) use operand::Opnd;
pub(crate) use stage::Part;
use std::ops::{Deref, DerefMut};
use tepui_backend::{Builder, walk};
use tepui_ir::{Inst, Shader, Stage, Value};
use tepui_mali_isa::Op as IsaOp;
use tepui_mali_isa::modifier::fields::EQ;
use tepui_sysval::SystemValue;

/// The state of selection.
pub(crate) struct Select<'a> {
    builder: Builder<'a, Valhall>,
    /// The places of descriptors.
    layout: &'a Layout,
    /// Fast-access uniforms.
    fau: Fau,
    /// Words of uniform buffers in the driver's data.
    pushed: &'a Prepared,
    /// Registers that hold something at the start, by their number from r48 on.
    preloaded: [Option<Val>; 16],
    /// The part of the shader that is selected.
    part: Part,
    /// The table of vertex attributes.
    attribute_table: u8,
    /// The driver can put addresses of buffers into fast-access uniforms.
    pushes_addresses: bool,
    /// Attributes are fetched from the first instance on.
    adds_first_instance: bool,
    accesses: addresses::AccessMap,
    /// Attributes of vertices that were loaded where all of the program can use them.
    attributes: vertex::Attributes,
    /// Whether a fragment program runs for each sample, whatever its inputs are.
    each_sample: bool,
    robust: bool,
    outputs: stage::Outputs,
}

impl<'a> Deref for Select<'a> {
    type Target = Builder<'a, Valhall>;

    fn deref(&self) -> &Builder<'a, Valhall> {
        &self.builder
    }
}

impl<'a> DerefMut for Select<'a> {
    fn deref_mut(&mut self) -> &mut Builder<'a, Valhall> {
        &mut self.builder
    }
}

impl<'a> tepui_backend::Select<'a> for Select<'a> {
    type Machine = Valhall;
    type Error = Error;

    fn inst(&mut self, i: Inst) -> Result<()> {
        self.select(i)
    }

    fn branch(&mut self, cond: Value) -> Result<()> {
        let (value, is_set) = self.truth(cond, 0);
        // The branch goes to the else block.
        let mut inst = Isa::new(IsaOp::BRANCHZ).flag(&EQ, is_set);
        let v = match value.from {
            operand::From::Val(v) => v,
            _ => self.in_register(value),
        };
        inst.sources[0].swizzle = tepui_mali_isa::Swizzle::Identity;
        self.emit(MOp::Ctl(Ctl::If(inst)), &[], &[v]);
        Ok(())
    }

    fn class(&self, _: Value) -> RegClass {
        WORD
    }

    fn reg(&mut self, c: Comp, _: RegClass) -> Val {
        self.register(c)
    }
}

/// Needs of a selected program from its driver.
pub(crate) struct Selected {
    /// The program.
    pub function: Function,
    /// Fast-access uniforms.
    pub fau: Fau,
    /// Registers that must be preloaded: bit N is r48 + N.
    pub preload: u16,
}

/// Facts about a program that selection is told.
#[derive(Clone, Copy)]
pub(crate) struct Request<'a> {
    /// The places of descriptors.
    pub layout: &'a Layout,
    /// Words of uniform buffers in the driver's data.
    pub pushed: &'a Prepared,
    /// The part of the shader.
    pub part: Part,
    /// The table of vertex attributes.
    pub attribute_table: u8,
    /// The driver can put addresses of buffers into fast-access uniforms.
    pub pushes_addresses: bool,
    /// Attributes are fetched from the first instance on.
    pub adds_first_instance: bool,
    /// Whether a fragment program runs for each sample, whatever its inputs are.
    pub each_sample: bool,
    /// Whether loads out of bounds are defined.
    pub robust: bool,
    /// Whether debuggers want to know where values are.
    pub value_locations: bool,
}

/// Selects a program.
///
/// # Errors
/// When the shader needs what is not compiled.
pub(crate) fn select(s: &Shader, request: Request<'_>, fau: Fau) -> Result<Selected> {
    let builder = Builder::new(s, |_, _| true);
    let Request { layout, pushed, part, attribute_table, .. } = request;
    let Request { pushes_addresses, adds_first_instance, .. } = request;
    let Request { each_sample, robust, value_locations, .. } = request;
    let accesses = match pushes_addresses {
        true => addresses::AccessMap::of(s),
        false => addresses::AccessMap::default(),
    };
    let outputs = stage::Outputs::default();
    let preloaded = [None; 16];
    let mut x = Select {
        builder,
        layout,
        fau,
        pushed,
        preloaded,
        part,
        attribute_table,
        pushes_addresses,
        adds_first_instance,
        accesses,
        attributes: vertex::Attributes::of(s),
        each_sample,
        robust,
        outputs,
    };
    x.preload_all();
    let ended = walk::region(&mut x, s.root)?;
    debug_assert!(ended || x.f.blocks[x.cur].preds.is_empty());
    if let Some(last) = s.terminator(s.root).filter(|_| ended) {
        match s.info.stage {
            Stage::Vertex => x.end_vertex(last)?,
            Stage::Fragment => x.end_fragment(last)?,
            _ => {}
        }
    }
    if value_locations {
        let locations = x.value_locations(|_, _| (0, 1));
        x.f.value_locations = Some(Box::new(locations));
    }
    let preload = x.keep_preloads();
    Ok(Selected { function: x.builder.f, fau: x.fau, preload })
}

impl Select<'_> {
    pub(crate) fn refuse<T>(&self, i: Inst, why: impl Into<String>) -> Result<T> {
        let d = &self.s.insts[i];
        Err(Error::Op { op: d.op, loc: self.s.locs[d.loc], why: why.into() })
    }

    /// A component in a register.
    pub(crate) fn register(&mut self, c: Comp) -> Val {
        match c {
            Comp::Val(v) => v,
            Comp::Const(n) => self.mov_imm(n as u32),
            Comp::Uniform(fixed) => self.mov(fixed),
            Comp::Undef => {
                let d = self.f.val(WORD);
                self.emit(MOp::Undef, &[d], &[]);
                d
            }
        }
    }

    /// An operand without modifiers in a register.
    pub(crate) fn in_register(&mut self, o: Opnd) -> Val {
        match o.from {
            operand::From::Val(v) => v,
            operand::From::Const(n) => self.mov_imm(n),
            operand::From::Fixed(fixed) => self.mov(fixed),
        }
    }

    /// Begins with values for all registers that may be preloaded; those that nothing reads are removed.
    fn preload_all(&mut self) {
        for n in crate::preload::registers(self.s.info.stage) {
            let v = self.f.val(WORD);
            self.emit(MOp::Preload(n.into()), &[v], &[]);
            self.preloaded[usize::from(n - 48)] = Some(v);
        }
    }

    /// The value of a preloaded register.
    pub(crate) fn preloaded(&self, i: Inst, n: u8) -> Result<Val> {
        match self.preloaded[usize::from(n - 48)] {
            Some(v) => Ok(v),
            None => self.refuse(i, "is not there in this stage"),
        }
    }

    /// Removes preloads that nothing reads; returns the others as bits.
    fn keep_preloads(&mut self) -> u16 {
        let mut read = vec![false; self.f.vals.len()];
        for data in self.f.blocks.values() {
            for &i in &data.insts {
                for &v in self.f.srcs(i) {
                    read[v.as_u32() as usize] = true;
                }
            }
        }
        let is_read = |v: &Option<Val>| v.is_some_and(|v| read[v.as_u32() as usize]);
        let mask = self.preloaded.iter().rev().fold(0, |m, v| m << 1 | u16::from(is_read(v)));
        let first = tepui_regalloc::Block::from_u32(0);
        let mut insts = std::mem::take(&mut self.f.body.blocks[first].insts);
        insts.retain(|&i| match self.f.insts[i].op {
            MOp::Preload(_) => read[self.f.dsts(i)[0].as_u32() as usize],
            _ => true,
        });
        self.f.body.blocks[first].insts = insts;
        mask
    }

    /// A word of fast-access uniforms.
    pub(crate) fn fau_word(&mut self, word: FauWord) -> Result<Comp> {
        match self.fau.word(word) {
            Some(n) => Ok(Comp::Uniform(Fixed::Uniform(n))),
            None => Err(full()),
        }
    }

    /// A system value.
    pub(crate) fn system(&mut self, value: SystemValue) -> Result<Comp> {
        self.fau_word(FauWord::System(value, 0))
    }

    fn select(&mut self, i: Inst) -> Result<()> {
        if self.select_free(i)
            || self.memory(i)?
            || self.stage_io(i)?
            || self.group(i)?
            || self.texture(i)?
            || self.image(i)?
            || self.alu(i)?
        {
            return Ok(());
        }
        self.refuse(i, "is not compiled for Mali yet")
    }
}

/// The error for too many words of fast-access uniforms.
fn full() -> Error {
    let limit = crate::interface::MAX_FAU_WORDS as u64;
    Error::Limit { what: "words of fast-access uniforms", needed: limit + 1, limit }
}
