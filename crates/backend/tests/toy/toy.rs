//! A machine without hardware: each instruction computes one component of an IR instruction, on registers of 32 bits.

use std::collections::HashMap;
use tepui_backend::{
    Budget, Builder, Comp, Error, Finished, Function, Grouping, Machine, Operand, Select, finish,
    walk,
};
use tepui_ir::interp::Memory;
use tepui_ir::{Attrs, Builtin, Fold, Inst as IrInst, Op as IrOp, Shader, Type, Value};
use tepui_regalloc::alloc::Registers;
use tepui_regalloc::{
    Code, Ctl, Effect, Ins, Op, RegClass, RegSet, StackAccess, StackOffset, Step, Target,
    UNASSIGNED, UNITS, Val,
};

/// Maximum number of sources.
const SOURCES: usize = 12;
/// Units of the register file.
const FILE: u16 = 64;
const SINGLE: RegClass = RegClass::new(1);

/// An operation.
#[derive(Clone, Copy, PartialEq, Debug, Hash)]
pub enum Kind {
    Const(u64),
    /// The lane's number.
    Lane,
    /// A part of a component of the result of an IR instruction, by its number: from its operands' components of that
    /// number, or from all of them where the operation is not elementwise.
    Fold(u32, u8, u8),
    Load(Space, u8),
    Store(Space, u8),
    /// A branch: the condition is 1.
    Test,
    StackLoad(Option<u32>),
    StackStore(Option<u32>),
    StackOffset(u32),
}

/// A memory, with a constant offset in bytes.
#[derive(Clone, Copy, PartialEq, Debug, Hash)]
pub enum Space {
    Buffer(i32),
    Scratch(i32),
}

/// An instruction: the operation, its result and its sources, each a first unit and a number of units.
#[derive(Clone, Copy, PartialEq, Debug, Hash)]
pub struct Inst {
    kind: Kind,
    result: Option<(u16, u8)>,
    sources: [Option<(u16, u8)>; SOURCES],
}

impl Inst {
    fn new(kind: Kind, result: Option<RegClass>, sources: &[RegClass]) -> Inst {
        let unassigned = |class: RegClass| (UNASSIGNED, class.units);
        let mut inst = Inst { kind, result: result.map(unassigned), sources: [None; SOURCES] };
        for (s, &class) in inst.sources.iter_mut().zip(sources) {
            *s = Some(unassigned(class));
        }
        inst
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Toy;

impl Target for Toy {
    type Inst = Inst;

    const MAX_SPILLED_UNITS: u8 = 1;
    const UNIT_BYTES: u32 = 4;
    const SLOT_ALIGN: u32 = 4;
    const STACK_IMMEDIATES: u32 = 96;
    const STACK_OFFSET: RegClass = SINGLE;
    const SWAPS: bool = false;

    fn effect(inst: &Inst) -> Effect {
        match inst.kind {
            Kind::Load(..) | Kind::StackLoad(_) => Effect::Read,
            Kind::Store(..) | Kind::StackStore(_) | Kind::Test => Effect::Fixed,
            _ => Effect::Pure,
        }
    }

    fn is_load(inst: &Inst) -> bool {
        matches!(inst.kind, Kind::Load(..))
    }

    fn rematerialises(inst: &Inst) -> bool {
        matches!(inst.kind, Kind::Const(_) | Kind::Lane)
    }

    fn stack_access(access: StackAccess, class: RegClass, offset: StackOffset) -> Inst {
        let (at, register) = match offset {
            StackOffset::Immediate(n) => (Some(n), None),
            StackOffset::Register => (None, Some(SINGLE)),
        };
        let sources: Vec<RegClass> = match access {
            StackAccess::Load => register.into_iter().collect(),
            StackAccess::Store => [class].into_iter().chain(register).collect(),
        };
        match access {
            StackAccess::Load => Inst::new(Kind::StackLoad(at), Some(class), &sources),
            StackAccess::Store => Inst::new(Kind::StackStore(at), None, &sources),
        }
    }

    fn stack_offset(offset: u32) -> Inst {
        Inst::new(Kind::StackOffset(offset), Some(SINGLE), &[])
    }

    fn move_units(_: u16, _: u16, _: u16) -> u16 {
        1
    }

    fn latency(inst: &Inst) -> u32 {
        if Toy::is_load(inst) { 20 } else { 2 }
    }

    fn assign(inst: &mut Inst, mut regs: impl FnMut(bool) -> u16) {
        if let Some((at, _)) = &mut inst.result {
            *at = regs(true);
        }
        for (at, _) in inst.sources.iter_mut().flatten() {
            *at = regs(false);
        }
    }
}

impl Machine for Toy {
    /// Blocks after dead code elimination.
    type State = usize;
    type Uniform = Lane;

    const RESERVED_UNITS: u32 = 1;
    const MAX_SCRATCH: u32 = 1 << 12;
    const MAX_SAMPLE_PRESSURE: u32 = 8;
    const SCHEDULES_LATENCIES: bool = true;

    fn parts(ty: Type) -> usize {
        if ty.bits() > 32 { 2 } else { 1 }
    }

    fn constant(_: Type, bits: u64, part: usize) -> u64 {
        bits >> (32 * part) & 0xffff_ffff
    }

    fn operands(inst: &Inst, mut f: impl FnMut(Operand)) {
        if let Some((UNASSIGNED, units)) = inst.result {
            f(Operand { units: units.into(), written: true, exact: true });
        }
        for &(at, units) in inst.sources.iter().flatten() {
            if at == UNASSIGNED {
                f(Operand { units: units.into(), written: false, exact: true });
            }
        }
    }

    fn grouping(inst: &Inst) -> Grouping {
        if Toy::is_load(inst) { Grouping::Load } else { Grouping::None }
    }

    fn is_shared(_: &usize, f: &tepui_regalloc::Function<Inst>, i: Ins) -> bool {
        f.insts[i].op.inst().is_some_and(|i| Toy::effect(i) == Effect::Pure)
    }

    fn after_clean_up(f: &mut Function<Toy>) {
        f.state = f.blocks.len();
    }

    fn registers(_: &Function<Toy>, _: u32, limit: u16) -> Registers {
        let scratch = RegSet::range(FILE..FILE + 2);
        Registers { scratch, ..Registers::from(0..limit) }
    }

    fn text(inst: &Inst, mut name: impl FnMut(bool) -> String) -> String {
        let result = inst.result.map(|_| name(true));
        let sources: Vec<String> = inst.sources.iter().flatten().map(|_| name(false)).collect();
        format!("{:?} {} {}", inst.kind, result.unwrap_or_default(), sources.join(" "))
    }

    fn unit_name(unit: u16) -> String {
        format!("r{unit}")
    }
}

/// The place of the lane's number, which takes no register until it is needed in one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Lane;

/// Selection.
struct Selection<'a> {
    builder: Builder<'a, Toy>,
    /// Instructions of the outermost region.
    root_insts: usize,
}

impl<'a> std::ops::Deref for Selection<'a> {
    type Target = Builder<'a, Toy>;

    fn deref(&self) -> &Builder<'a, Toy> {
        &self.builder
    }
}

impl std::ops::DerefMut for Selection<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.builder
    }
}

impl Selection<'_> {
    fn def(&mut self, kind: Kind, sources: &[Val]) -> Val {
        let d = self.f.val(SINGLE);
        let classes = vec![SINGLE; sources.len()];
        self.emit(Op::Isa(Inst::new(kind, Some(SINGLE), &classes)), &[d], sources);
        d
    }

    fn source(&mut self, v: Value, k: usize) -> Val {
        let c = self.comp(v, k);
        self.reg(c, SINGLE)
    }

    fn memory(&mut self, i: IrInst, space: Space) {
        let s = self.s;
        let args = s.args(i);
        // A buffer has a handle; addresses are offsets in the only buffer that there is.
        let at = usize::from(matches!(s.insts[i].op, IrOp::LoadBuffer | IrOp::StoreBuffer));
        let place = self.source(args[at], 0);
        let data = match s.results(i) {
            [r] => *r,
            _ => args[1 + at],
        };
        let bits = s.ty(data).bits().min(32);
        let mut comps = Vec::new();
        for k in 0..self.count(data) {
            let step = (k as u32 * u32::from(bits.max(8)) / 8) as i32;
            let space = match space {
                Space::Buffer(at) => Space::Buffer(at + step),
                Space::Scratch(at) => Space::Scratch(at + step),
            };
            if s.results(i).is_empty() {
                let v = self.source(data, k);
                let store = Inst::new(Kind::Store(space, bits), None, &[SINGLE; 2]);
                self.emit(Op::Isa(store), &[], &[place, v]);
            } else {
                comps.push(Comp::Val(self.def(Kind::Load(space, bits), &[place])));
            }
        }
        if let [r] = s.results(i) {
            self.set(*r, &comps);
        }
    }
}

impl<'a> Select<'a> for Selection<'a> {
    type Machine = Toy;
    type Error = String;

    fn inst(&mut self, i: IrInst) -> Result<(), String> {
        if self.select_free(i) {
            return Ok(());
        }
        let s = self.s;
        match (s.insts[i].op, s.insts[i].attrs) {
            (IrOp::Descriptor | IrOp::BufferAddress, _) => {
                let r = s.result(i);
                let zeros = vec![Comp::Const(0); self.count(r)];
                self.set(r, &zeros);
            }
            (IrOp::LoadBuiltin, Attrs::Builtin(Builtin::LocalInvocationIndex)) => {
                self.set(s.result(i), &[Comp::Uniform(Lane)]);
            }
            (
                IrOp::LoadBuffer | IrOp::StoreBuffer | IrOp::LoadGlobal | IrOp::StoreGlobal,
                Attrs::Mem(m),
            ) => {
                self.memory(i, Space::Buffer(m.offset));
            }
            (IrOp::LoadScratch | IrOp::StoreScratch, Attrs::Mem(m)) => {
                self.memory(i, Space::Scratch(m.offset));
            }
            (op, _) if !matches!(op.info().fold, Fold::None) && s.results(i).len() == 1 => {
                let r = s.result(i);
                let mut comps = Vec::new();
                let parts = Toy::parts(s.ty(r));
                for k in 0..self.count(r) {
                    let mut sources = Vec::new();
                    for &a in s.args(i) {
                        let parts_of = Toy::parts(s.ty(a));
                        let of = match op.is_elementwise() {
                            true => k / parts * parts_of..(k / parts + 1) * parts_of,
                            false => 0..self.count(a),
                        };
                        sources.extend(of.map(|k| self.source(a, k)));
                    }
                    if sources.len() > SOURCES {
                        return Err(format!("{} has {} sources", op.name(), sources.len()));
                    }
                    let kind = Kind::Fold(i.as_u32(), (k / parts) as u8, (k % parts) as u8);
                    comps.push(Comp::Val(self.def(kind, &sources)));
                }
                self.set(r, &comps);
            }
            (op, _) => return Err(format!("{} is not selected", op.name())),
        }
        Ok(())
    }

    fn branch(&mut self, cond: Value) -> Result<(), String> {
        let v = self.source(cond, 0);
        self.emit(Op::Ctl(Ctl::If(Inst::new(Kind::Test, None, &[SINGLE]))), &[], &[v]);
        Ok(())
    }

    fn class(&self, _: Value) -> RegClass {
        SINGLE
    }

    fn reg(&mut self, c: Comp<Lane>, _: RegClass) -> Val {
        match c {
            Comp::Val(v) => v,
            Comp::Const(bits) => self.def(Kind::Const(bits), &[]),
            Comp::Uniform(Lane) => self.def(Kind::Lane, &[]),
            Comp::Undef => {
                let d = self.f.val(SINGLE);
                self.emit(Op::Undef, &[d], &[]);
                d
            }
        }
    }

    fn after_root_inst(&mut self, _: IrInst) {
        self.root_insts += 1;
    }
}

/// A compiled program.
pub struct Program {
    pub shader: Shader,
    pub finished: Finished<Toy>,
    pub passes: Vec<&'static str>,
    /// The machine IR after selection.
    pub mir: Function<Toy>,
}

/// Reason why a shader is not compiled.
#[derive(Debug)]
pub enum Refused {
    Unsupported(String),
    BackEnd(Error),
}

/// Compiles a shader for `limit` registers.
pub fn compile(s: &Shader, limit: u16) -> Result<Program, Refused> {
    let builder = Builder::new(s, |_, _| true);
    let mut x = Selection { builder, root_insts: 0 };
    walk::region(&mut x, s.root).map_err(Refused::Unsupported)?;
    assert_eq!(x.root_insts + 1, s.regions[s.root].insts.len(), "all but the yield");
    x.f.value_locations = Some(Box::new(x.value_locations(|Lane, _| (0, 1))));
    let mut f = x.builder.f;
    let mir = f.clone();
    let mut passes = Vec::new();
    let budget =
        Budget { min_pressure: 4, full_occupancy: 12, limit, scratch_bytes: s.info.scratch_bytes };
    let finished = finish::run(&mut f, budget, true, &mut |name, _| passes.push(name))
        .map_err(Refused::BackEnd)?;
    assert!(f.state > 0);
    Ok(Program { shader: s.clone(), finished, passes, mir })
}

/// Blocks that control flow goes to.
#[derive(Default)]
struct Targets {
    /// The else block of the block that ends with an `if`.
    elses: HashMap<usize, usize>,
    /// The block after the `if`, by its else block.
    ends: HashMap<usize, usize>,
    /// The first block and the one after the loop, by each block that leaves an iteration.
    loops: HashMap<usize, [usize; 2]>,
}

impl Targets {
    fn new(code: &Code<Inst>) -> Targets {
        let mut t = Targets::default();
        let mut ifs: Vec<[usize; 2]> = Vec::new();
        let mut loops: Vec<(usize, Vec<usize>)> = Vec::new();
        for (b, block) in code.blocks.iter().enumerate() {
            for (step, _) in &block.steps {
                match step {
                    Step::Ctl(Ctl::If(_)) => ifs.push([b, b]),
                    Step::Ctl(Ctl::Else) => {
                        let top = ifs.last_mut().expect("an if");
                        top[1] = b;
                        t.elses.insert(top[0], b);
                    }
                    Step::Ctl(Ctl::EndIf) => {
                        let [_, other] = ifs.pop().expect("an if");
                        t.ends.insert(other, b);
                    }
                    Step::Ctl(Ctl::Loop) => loops.push((b + 1, Vec::new())),
                    Step::Ctl(Ctl::Break | Ctl::Continue) => {
                        loops.last_mut().expect("a loop").1.push(b);
                    }
                    Step::Ctl(Ctl::EndLoop) => {
                        let (head, leaves) = loops.pop().expect("a loop");
                        t.loops.extend(leaves.into_iter().chain([b]).map(|k| (k, [head, b + 1])));
                    }
                    _ => {}
                }
            }
        }
        t
    }
}

/// A lane.
struct Thread<'a> {
    shader: &'a Shader,
    lane: u32,
    regs: [u32; UNITS],
    scratch: Vec<u8>,
    buffer: &'a mut Vec<u8>,
}

/// Runs a program for all lanes of the workgroup.
pub fn run(p: &Program, memory: &mut Memory) -> Result<(), String> {
    let targets = Targets::new(&p.finished.code);
    let buffer = memory.buffers.get_mut(&(0, 0, 0)).ok_or("no buffer")?;
    for lane in 0..p.shader.info.workgroup_size[0] {
        let scratch = vec![0xcc; p.finished.spilled.scratch_bytes as usize + 16];
        let regs = [0xdead_beef; UNITS];
        let mut t = Thread { shader: &p.shader, lane, regs, scratch, buffer };
        t.run(&p.finished.code, &targets)?;
    }
    Ok(())
}

impl Thread<'_> {
    fn run(&mut self, code: &Code<Inst>, t: &Targets) -> Result<(), String> {
        let (mut block, mut at) = (0, 0);
        for _ in 0..1_000_000 {
            let Some(b) = code.blocks.get(block) else { return Ok(()) };
            let Some(&(step, _)) = b.steps.get(at) else {
                (block, at) = (block + 1, 0);
                continue;
            };
            at += 1;
            match step {
                Step::Inst(inst) => self.inst(&inst)?,
                Step::Move { to, from, units } => {
                    for k in 0..units {
                        self.regs[usize::from(to + k)] = self.regs[usize::from(from + k)];
                    }
                }
                Step::Swap { .. } => return Err("the machine does not swap".to_owned()),
                Step::Ctl(Ctl::If(inst)) => {
                    if self.source(&inst, 0)? & 1 == 0 {
                        block = t.elses[&block];
                        let is_else = |s: &(Step<Inst>, _)| matches!(s.0, Step::Ctl(Ctl::Else));
                        let mark = code.blocks[block].steps.iter().position(is_else);
                        at = mark.ok_or("no else")? + 1;
                    }
                }
                Step::Ctl(Ctl::Else) => (block, at) = (t.ends[&block], 0),
                Step::Ctl(Ctl::Break) => (block, at) = (t.loops[&block][1], 0),
                Step::Ctl(Ctl::Continue | Ctl::EndLoop) => (block, at) = (t.loops[&block][0], 0),
                Step::Ctl(Ctl::EndIf | Ctl::Loop) => {}
            }
        }
        Err("the program does not end".to_owned())
    }

    fn source(&self, inst: &Inst, k: usize) -> Result<u64, String> {
        let (at, units) = inst.sources[k].ok_or("a source is missing")?;
        assert_eq!(units, 1);
        Ok(self.regs[usize::from(at)].into())
    }

    fn inst(&mut self, inst: &Inst) -> Result<(), String> {
        let value = match inst.kind {
            Kind::Const(bits) => bits,
            Kind::Lane => self.lane.into(),
            Kind::StackOffset(n) => n.into(),
            Kind::Fold(number, k, part) => {
                self.fold(inst, IrInst::from_u32(number), k.into())? >> (32 * part)
            }
            Kind::Load(space, bits) => {
                let bytes = usize::from(bits.max(8)) / 8;
                let at = self.source(inst, 0)? as u32;
                load(self.space(space, at, bytes)?)
            }
            Kind::Store(space, bits) => {
                let bytes = usize::from(bits.max(8)) / 8;
                let (at, value) = (self.source(inst, 0)? as u32, self.source(inst, 1)?);
                self.space(space, at, bytes)?.copy_from_slice(&value.to_le_bytes()[..bytes]);
                return Ok(());
            }
            Kind::StackLoad(at) => {
                let at = at.map_or_else(|| self.source(inst, 0).map(|v| v as u32), Ok)?;
                let bytes = inst.result.map_or(0, |r| usize::from(r.1) * 4);
                load(self.space(Space::Scratch(0), at, bytes)?)
            }
            Kind::StackStore(at) => {
                let at = at.map_or_else(|| self.source(inst, 1).map(|v| v as u32), Ok)?;
                let (value, bytes) = (self.source(inst, 0)?, inst.sources[0].map_or(0, |s| s.1));
                let bytes = usize::from(bytes) * 4;
                let to = self.space(Space::Scratch(0), at, bytes)?;
                to.copy_from_slice(&value.to_le_bytes()[..bytes]);
                return Ok(());
            }
            Kind::Test => return Err("a branch is no instruction".to_owned()),
        };
        let (at, units) = inst.result.ok_or("no result")?;
        assert_eq!(units, 1);
        self.regs[usize::from(at)] = value as u32;
        Ok(())
    }

    fn fold(&self, inst: &Inst, i: IrInst, k: usize) -> Result<u64, String> {
        let s = self.shader;
        let d = &s.insts[i];
        let is_elementwise = d.op.is_elementwise();
        let of = |ty: Type| if is_elementwise { ty.elem() } else { ty };
        let mut values = Vec::new();
        let mut next = 0;
        for &a in s.args(i) {
            let ty = of(s.ty(a));
            let mut comps = Vec::new();
            for _ in 0..ty.comps() {
                let mut bits = 0;
                for part in 0..Toy::parts(ty) {
                    bits |= self.source(inst, next)? << (32 * part);
                    next += 1;
                }
                comps.push(bits & tepui_ir::mask(ty.bits()));
            }
            values.push((ty, comps));
        }
        let args: Vec<(Type, &[u64])> = values.iter().map(|(ty, v)| (*ty, &v[..])).collect();
        let mut out = Vec::new();
        let tys = [of(s.ty(s.result(i)))];
        if !tepui_ir::op::fold(d.op, &args, &d.attrs, &tys, &mut out) {
            return Err(format!("{} has no meaning", d.op.name()));
        }
        Ok(out[if is_elementwise { 0 } else { k }])
    }

    fn space(&mut self, space: Space, at: u32, bytes: usize) -> Result<&mut [u8], String> {
        let (memory, offset) = match space {
            Space::Buffer(offset) => (&mut *self.buffer, offset),
            Space::Scratch(offset) => (&mut self.scratch, offset),
        };
        let at = at.wrapping_add_signed(offset) as usize;
        memory.get_mut(at..at + bytes).ok_or_else(|| format!("{at} is outside"))
    }
}

fn load(bytes: &mut [u8]) -> u64 {
    let mut out = [0; 8];
    out[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(out)
}
