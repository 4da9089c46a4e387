//! The machine IR of Valhall: an instance of [`tepui_backend`]'s over [`Inst`], and the instruction properties that its passes
//! need.
//!
//! An instruction is scalar and executes for a warp. It names a row of the ISA table ([`tepui_mali_isa::Op`]); registers are
//! numbers that allocation fills in, and waits and flow are added when the program is emitted. Bifrost has the same operations
//! under other encodings, and clauses where Valhall has flow: it needs another end only.
//!
//! A unit of registers is a register of 32 bits. Values of fewer bits take one; the bits above theirs are undefined. Truth values
//! are 0 or 1. Values of 64 bits are two values.

use crate::preload;
use tepui_backend::{Grouping, Machine, Operand as BackendOperand};
use tepui_ir::Type;
use tepui_mali_isa::modifier::fields::{SLOT, UNSIGNED};
use tepui_mali_isa::modifier::{LodMode, Modifier, ModifierValue};
use tepui_mali_isa::operand::{Halves, Special, Swizzle};
use tepui_mali_isa::table::field::Unit;
use tepui_mali_isa::{self as isa, Flow, Op, Operand};
use tepui_regalloc::alloc::{self, Registers};
pub use tepui_regalloc::{
    Block, Constraint, Effect, Ins, Overlap, RegClass, RegSet, StackAccess, StackOffset, Target,
    UNASSIGNED, Val,
};

/// The operation of a machine instruction.
pub type MOp = tepui_regalloc::Op<Inst>;
/// Structured control flow; the branch is a `BRANCHZ` that lanes of the else block take.
pub type Ctl = tepui_regalloc::Ctl<Inst>;
/// A program.
pub type Function = tepui_backend::Function<Valhall>;
/// One word of a component of an IR value.
pub type Comp = tepui_backend::Comp<Fixed>;

/// A register.
pub const WORD: RegClass = RegClass::new(1);
/// Two registers, for 64 bits.
pub const PAIR: RegClass = words(2);
/// Registers of a thread.
pub const REGISTERS: u16 = 64;
/// Registers with which a shader core holds twice as many threads.
pub const FULL_OCCUPANCY: u16 = 32;
/// The register of the return address of blend shaders.
pub const LINK: u16 = 48;
/// Maximum bytes of scratch memory for spilled values.
pub const MAX_SCRATCH: u32 = 1 << 20;

/// The registers of a program that uses at most 32: the middle of the file is cut out. source: Mesa, bi_ra.c
/// (`bi_make_affinity`)
fn half_file() -> RegSet {
    RegSet::range(0..16).union(RegSet::range(48..64))
}

/// The class of some consecutive registers: more than one begin at an even register.
#[must_use]
pub const fn words(count: u8) -> RegClass {
    RegClass::new(count).aligned(if count > 1 { 2 } else { 1 })
}

/// A source without a register.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Fixed {
    /// A word of fast-access uniforms.
    Uniform(u8),
    /// A word of a special value.
    Special(Special, u8),
    /// An entry of the table of constants.
    Constant(u8),
}

impl Fixed {
    /// The operand.
    #[must_use]
    pub const fn operand(self) -> Operand {
        match self {
            Fixed::Uniform(n) => Operand::Uniform(n),
            Fixed::Special(special, word) => Operand::Special(special, word),
            Fixed::Constant(n) => Operand::Constant(n),
        }
    }
}

/// The origin of a source.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Place {
    /// A register, [`UNASSIGNED`] before allocation.
    Register(u16),
    /// Another.
    Fixed(Fixed),
}

/// A source: where it comes from and what is read of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Source {
    /// The origin.
    pub place: Place,
    /// Negated, after taking the absolute value.
    pub neg: bool,
    /// Absolute value.
    pub abs: bool,
    /// Bitwise inverted.
    pub not: bool,
    /// The value is not needed after the instruction.
    pub last: bool,
    /// The selected parts.
    pub swizzle: Swizzle,
}

/// Memories that accesses are ordered in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub enum Memory {
    /// None, or nothing that changes while the program runs.
    #[default]
    None,
    /// Buffers, images and physical addresses.
    Global,
    /// Memory of the workgroup.
    Shared,
    /// Memory of the thread.
    Scratch,
    /// The tile buffer.
    Tile,
}

/// Consecutive registers of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub struct Staging {
    /// The first, [`UNASSIGNED`] before allocation.
    pub register: u16,
    /// Registers.
    pub count: u8,
    /// Registers of the value, if it has more than the message accesses.
    pub units: u8,
}

/// A machine instruction: its parts are those of the row of the table, in the same order.
#[derive(Clone, Copy, PartialEq, Debug, Hash)]
pub struct Inst {
    /// The row.
    pub op: Op,
    /// Its flow, from emission on.
    pub flow: Flow,
    /// The destination register.
    pub dest: u16,
    /// The halves of it that are written.
    pub halves: Halves,
    /// Staging registers.
    pub staging: [Staging; 2],
    /// Sources.
    pub sources: [Source; 4],
    /// Immediates.
    pub immediates: [i64; 2],
    /// Values of modifiers.
    pub modifiers: [u8; 12],
    /// The memory that a message accesses.
    pub memory: Memory,
}

impl Source {
    /// A register without modifiers.
    #[must_use]
    pub const fn register() -> Source {
        Source::new(Place::Register(UNASSIGNED))
    }

    /// A source without modifiers.
    #[must_use]
    pub const fn new(place: Place) -> Source {
        let (neg, abs, not, last) = (false, false, false, false);
        Source { place, neg, abs, not, last, swizzle: Swizzle::Identity }
    }

    /// The origin, if it is no register.
    #[must_use]
    pub const fn fixed(&self) -> Option<Fixed> {
        match self.place {
            Place::Fixed(fixed) => Some(fixed),
            Place::Register(_) => None,
        }
    }
}

impl Inst {
    /// The row with all fields at their defaults and no registers.
    #[must_use]
    pub fn new(op: Op) -> Inst {
        let default = isa::Inst::new(op);
        let mut inst = Inst {
            op,
            flow: Flow::None,
            dest: UNASSIGNED,
            halves: Halves::Both,
            staging: [Staging { register: UNASSIGNED, count: 0, units: 0 }; 2],
            sources: [Source::register(); 4],
            immediates: [0; 2],
            modifiers: [0; 12],
            memory: Memory::None,
        };
        for (own, source) in inst.sources.iter_mut().zip(&default.sources) {
            own.swizzle = source.swizzle;
        }
        for (own, value) in inst.modifiers.iter_mut().zip(&default.modifiers) {
            *own = *value;
        }
        inst
    }

    /// Sets a modifier.
    ///
    /// # Panics
    /// In debug builds, when the row does not have it.
    #[must_use]
    pub fn with<T: ModifierValue>(self, value: T) -> Inst {
        self.with_raw(T::KIND.name, value.raw())
    }

    /// Sets a modifier of one bit.
    ///
    /// # Panics
    /// In debug builds, when the row does not have it.
    #[must_use]
    pub fn flag(self, field: &Modifier, on: bool) -> Inst {
        self.with_raw(field.kind.name, u8::from(on))
    }

    fn with_raw(mut self, name: &str, value: u8) -> Inst {
        let at = self.op.row().form.modifiers.iter().position(|m| m.kind.name == name);
        debug_assert!(at.is_some(), "{} has no {name}", self.op);
        if let Some(at) = at {
            self.modifiers[at] = value;
        }
        self
    }

    /// The value of a modifier.
    #[must_use]
    pub fn modifier<T: ModifierValue>(&self) -> Option<T> {
        let at = self.op.row().form.modifiers.iter().position(|m| m.kind.name == T::KIND.name)?;
        T::from_raw(self.modifiers[at])
    }

    /// Whether a modifier of one bit is set.
    #[must_use]
    pub fn has(&self, field: &Modifier) -> bool {
        let at = self.op.row().form.modifiers.iter().position(|m| m == field);
        at.is_some_and(|at| self.modifiers[at] != 0)
    }

    /// Sets an immediate.
    #[must_use]
    pub fn immediate(mut self, at: usize, value: i64) -> Inst {
        self.immediates[at] = value;
        self
    }

    /// Sets the registers of a staging operand.
    #[must_use]
    pub fn staged(mut self, at: usize, count: u8) -> Inst {
        self.staging[at].count = count;
        self.staging[at].units = count;
        self
    }

    /// Sets the memory that it accesses.
    #[must_use]
    pub fn of(self, memory: Memory) -> Inst {
        Inst { memory, ..self }
    }

    /// Registers of a source.
    #[must_use]
    pub fn source_units(&self, at: usize) -> u8 {
        let row = self.op.row();
        let wide = row.source_width(&row.form.sources[at]) == 64;
        if wide && self.sources[at].swizzle == Swizzle::Identity { 2 } else { 1 }
    }

    /// True for a message to a unit outside of the execution engine.
    #[must_use]
    pub fn is_message(&self) -> bool {
        self.op.row().form.unit.is_message()
    }

    /// Whether a message returns something.
    #[must_use]
    pub fn returns(&self) -> bool {
        let staging = self.op.row().form.staging.iter().zip(&self.staging);
        staging.clone().any(|(field, own)| field.write && own.count > 0)
    }

    /// Calls `f` for each operand that is a register or wants one: its register, the registers of its value, and whether it is
    /// written.
    pub fn visit(&mut self, mut f: impl FnMut(&mut u16, u8, bool)) {
        let row = self.op.row();
        if row.form.dest {
            f(&mut self.dest, if row.width == 64 { 2 } else { 1 }, true);
        }
        for (field, own) in row.form.staging.iter().zip(&mut self.staging) {
            if own.count > 0 {
                f(&mut own.register, own.units, field.write);
            }
        }
        for at in 0..row.form.sources.len() {
            let units = self.source_units(at);
            if let Place::Register(register) = &mut self.sources[at].place {
                f(register, units, false);
            }
        }
    }

    /// The instruction of the ISA.
    #[must_use]
    pub fn isa(&self) -> isa::Inst {
        let mut out = isa::Inst::new(self.op);
        out.flow = self.flow;
        let register = |r: u16| (r & 63) as u8;
        if let Some(dest) = &mut out.dest {
            *dest = isa::Dest { register: register(self.dest), halves: self.halves };
        }
        for (to, own) in out.staging.iter_mut().zip(&self.staging) {
            let count = own.count;
            *to = isa::Staging {
                register: if count == 0 { 0 } else { register(own.register) },
                count,
            };
        }
        for (to, own) in out.sources.iter_mut().zip(&self.sources) {
            let operand = match own.place {
                Place::Register(r) => Operand::Register { index: register(r), last: own.last },
                Place::Fixed(fixed) => fixed.operand(),
            };
            let Source { neg, abs, not, swizzle, .. } = *own;
            *to = isa::Source { operand, neg, abs, not, swizzle };
        }
        for (to, own) in out.immediates.iter_mut().zip(&self.immediates) {
            *to = *own;
        }
        for (to, own) in out.modifiers.iter_mut().zip(&self.modifiers) {
            *to = *own;
        }
        out
    }

    /// True for a texture lookup whose level of detail comes from other lanes of the quad.
    fn takes_derivatives(&self) -> bool {
        matches!(self.modifier::<LodMode>(), Some(LodMode::Computed | LodMode::ComputedBias))
            || self.op == Op::TEX_GRADIENT
    }

    /// Whether a message is a load, which its unit answers without any other effect.
    #[must_use]
    pub fn is_load(&self) -> bool {
        let reads = |unit| matches!(unit, Unit::Varying | Unit::Texture | Unit::VaryingTexture);
        let unit = self.op.row().form.unit;
        reads(unit) || unit == Unit::LoadStore && self.returns() && !self.is_atomic()
    }

    /// Whether it changes memory in one step.
    #[must_use]
    pub fn is_atomic(&self) -> bool {
        matches!(
            self.op,
            Op::ATOM_I32
                | Op::ATOM_I64
                | Op::ATOM_RETURN_I32
                | Op::ATOM_RETURN_I64
                | Op::ATOM1_RETURN_I32
                | Op::ATOM1_RETURN_I64
        )
    }
}

/// State that is kept with a program.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// All registers are used, whatever the pressure.
    pub whole_file: bool,
}

/// Valhall, as the passes on the machine IR see it.
#[derive(Clone, Copy, Debug)]
pub struct Valhall;

impl Target for Valhall {
    type Inst = Inst;

    const MAX_SPILLED_UNITS: u8 = 4;
    const UNIT_BYTES: u32 = 4;
    // An access of thread-local memory must not cross 16 bytes.
    const SLOT_ALIGN: u32 = 16;
    const STACK_IMMEDIATES: u32 = (1 << 15) - 16;
    const STACK_OFFSET: RegClass = PAIR;
    const CONSTRAINED: bool = true;
    const SWAPS_BY_SEVERAL: bool = true;
    const SINGLES_KEEP_PREFERENCES: bool = true;

    fn effect(inst: &Inst) -> Effect {
        match inst.op {
            Op::WMASK
            | Op::CLPER_I32
            | Op::CLPER_S32
            | Op::CLPER_V2U16
            | Op::CLPER_V2S16
            | Op::CLPER_U64 => Effect::Convergent,
            Op::NOP | Op::BRANCHZ | Op::BRANCHZI | Op::DISCARD_F32 => Effect::Fixed,
            _ if inst.takes_derivatives() => Effect::Convergent,
            _ if inst.is_load() && inst.memory == Memory::None => Effect::Pure,
            _ if inst.is_load() => Effect::Read,
            _ if inst.is_message() => Effect::Fixed,
            _ => Effect::Pure,
        }
    }

    fn is_load(inst: &Inst) -> bool {
        inst.is_message() && inst.returns()
    }

    fn rematerialises(inst: &Inst) -> bool {
        matches!(inst.op, Op::MOV_I32 | Op::IADD_IMM_I32 | Op::U16_TO_U32)
    }

    fn stack_access(access: StackAccess, class: RegClass, offset: StackOffset) -> Inst {
        let op = match (access, class.units) {
            (StackAccess::Load, 1) => Op::LOAD_I32,
            (StackAccess::Load, 2) => Op::LOAD_I64,
            (StackAccess::Load, 3) => Op::LOAD_I96,
            (StackAccess::Load, _) => Op::LOAD_I128,
            (StackAccess::Store, 1) => Op::STORE_I32,
            (StackAccess::Store, 2) => Op::STORE_I64,
            (StackAccess::Store, 3) => Op::STORE_I96,
            (StackAccess::Store, _) => Op::STORE_I128,
        };
        let mut inst = Inst::new(op).staged(0, class.units).of(Memory::Scratch);
        if access == StackAccess::Load {
            inst = inst.flag(&UNSIGNED, true);
        }
        if let StackOffset::Immediate(offset) = offset {
            let pointer = Fixed::Special(Special::ThreadLocalPointer, 0);
            inst.sources[0] = Source::new(Place::Fixed(pointer));
            inst.immediates[0] = offset.into();
        }
        inst
    }

    /// The address of a slot: emission makes two instructions of it.
    fn stack_offset(offset: u32) -> Inst {
        let mut inst = Inst::new(Op::SEG_ADD_U64).immediate(0, offset.into());
        let pointer = Fixed::Special(Special::ThreadLocalPointer, 0);
        inst.sources[0] = Source::new(Place::Fixed(pointer));
        inst.sources[1] = Source::new(Place::Fixed(Fixed::Constant(0)));
        inst
    }

    fn move_units(_: u16, _: u16, _: u16) -> u16 {
        1
    }

    fn source(inst: &Inst, source: usize) -> Constraint {
        // source: Mesa, bi_ra.c (`bi_allocate_registers`)
        match (inst.op, source) {
            (Op::ATEST, 0) if inst.sources[0].fixed().is_none() => {
                Constraint::Fixed(preload::COVERAGE.into())
            }
            (Op::BLEND, 0) => Constraint::Fixed(0),
            _ => Constraint::Any,
        }
    }

    fn clobbers(inst: &Inst) -> RegSet {
        match inst.op {
            // Those that a blend shader may change.
            Op::BLEND => RegSet::range(0..16).union(RegSet::range(LINK..LINK + 1)),
            _ => RegSet::EMPTY,
        }
    }

    fn result(inst: &Inst, _: usize) -> Constraint {
        // source: Mesa, bi_ra.c (`bi_is_tied`)
        match inst.op {
            Op::ATEST | Op::ZS_EMIT => Constraint::Fixed(preload::COVERAGE.into()),
            Op::ATOM_RETURN_I32 | Op::ATOM_RETURN_I64 => Constraint::Tied(0),
            _ => Constraint::Any,
        }
    }

    fn overlap(inst: &Inst, _: usize, _: usize) -> Overlap {
        // An operation on 64 bits runs in two halves.
        if inst.op.row().width == 64 && inst.op.row().form.dest {
            Overlap::Exact
        } else {
            Overlap::Any
        }
    }

    fn latency(inst: &Inst) -> u32 {
        match inst.op.row().form.unit {
            Unit::Fma | Unit::Cvt => 2,
            Unit::Sfu => 4,
            Unit::Texture | Unit::VaryingTexture => 80,
            _ if inst.returns() => 40,
            _ => 1,
        }
    }

    fn pipe(inst: &Inst) -> (u8, u32) {
        match inst.op.row().form.unit {
            Unit::Fma => (0, 1),
            Unit::Cvt => (1, 1),
            Unit::Sfu => (2, 4),
            Unit::LoadStore => (3, 8),
            Unit::Varying => (4, 4),
            Unit::Texture | Unit::VaryingTexture => (5, 8),
            Unit::Other => (6, 1),
        }
    }

    fn memories(inst: &Inst) -> u8 {
        match inst.memory {
            Memory::None if inst.is_load() => 0,
            Memory::None => u8::MAX,
            Memory::Global => 1,
            Memory::Shared => 2,
            Memory::Scratch => 4,
            Memory::Tile => 8,
        }
    }

    fn assign(inst: &mut Inst, mut regs: impl FnMut(bool) -> u16) {
        inst.visit(|register, _, written| {
            if *register == UNASSIGNED {
                *register = regs(written);
            }
        });
    }
}

impl Machine for Valhall {
    type State = State;
    type Uniform = Fixed;

    // What alignment loses.
    const RESERVED_UNITS: u32 = 2;
    const MAX_SCRATCH: u32 = MAX_SCRATCH;
    const MAX_SAMPLE_PRESSURE: u32 = 28;
    const SCHEDULES_LATENCIES: bool = true;

    fn parts(ty: Type) -> usize {
        if ty.bits() == 64 { 2 } else { 1 }
    }

    fn constant(_: Type, bits: u64, part: usize) -> u64 {
        bits >> (32 * part) & 0xffff_ffff
    }

    fn operands(inst: &Inst, mut f: impl FnMut(BackendOperand)) {
        let mut inst = *inst;
        inst.visit(|register, units, written| {
            if *register == UNASSIGNED {
                f(BackendOperand { units: units.into(), written, exact: written });
            }
        });
    }

    fn grouping(inst: &Inst) -> Grouping {
        match inst.op.row().form.unit {
            Unit::Texture => Grouping::Sample,
            Unit::LoadStore if inst.is_load() => Grouping::Load,
            _ => Grouping::None,
        }
    }

    /// Constants are not shared, as each copy of one lets a phi have it in place.
    fn is_shared(_: &State, f: &tepui_regalloc::Function<Inst>, i: Ins) -> bool {
        match f.insts[i].op.inst() {
            None => false,
            Some(inst) if inst.op == Op::IADD_IMM_I32 && f.srcs(i).is_empty() => false,
            Some(inst) => Valhall::effect(inst) == Effect::Pure && f.dsts(i).len() == 1,
        }
    }

    fn registers(f: &Function, pressure: u32, limit: u16) -> Registers {
        let fits = pressure + Valhall::RESERVED_UNITS <= FULL_OCCUPANCY.into();
        // Values that registers hold at the start are at the end of the file, in both sets.
        debug_assert!(alloc::fixed_end(f) <= REGISTERS);
        let values = match limit {
            REGISTERS if f.state.whole_file || !fits => RegSet::range(0..REGISTERS),
            FULL_OCCUPANCY.. => half_file(),
            limit => RegSet::range(0..limit),
        };
        Registers { values, ..Registers::default() }
    }

    fn text(inst: &Inst, mut name: impl FnMut(bool) -> String) -> String {
        let mut names = Vec::new();
        let mut inst = *inst;
        Valhall::assign(&mut inst, |written| {
            names.push(name(written));
            // Distinct registers, to be found again in the text.
            8 * (names.len() as u16 - 1)
        });
        let slots = inst.op.row().form.modifiers.iter().position(|m| *m == SLOT);
        let text = inst.isa().to_string();
        let text = if slots.is_some() { text.replacen(".slot0", "", 1) } else { text };
        rename(&text, &names)
    }

    fn unit_name(unit: u16) -> String {
        format!("r{unit}")
    }
}

/// Replaces registers 0, 8, 16 … of a text by names, lists of consecutive ones included.
fn rename(text: &str, names: &[String]) -> String {
    let mut out = String::new();
    for (n, token) in text.split(' ').enumerate() {
        if n > 0 {
            out.push(' ');
        }
        let bare = token.trim_start_matches(['@', '^']);
        let digits: String =
            bare.strip_prefix('r').unwrap_or("").chars().take_while(char::is_ascii_digit).collect();
        let name =
            digits.parse::<usize>().ok().filter(|r| r % 8 == 0).and_then(|r| names.get(r / 8));
        match name {
            Some(name) => {
                let rest = &bare[1 + digits.len()..];
                let rest =
                    rest.trim_start_matches(|c: char| c == ':' || c == 'r' || c.is_ascii_digit());
                out.push_str(name);
                out.push_str(rest);
            }
            None => out.push_str(token),
        }
    }
    out
}
