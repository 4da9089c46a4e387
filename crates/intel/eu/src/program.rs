//! A decoded program, which threads execute.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use tepui_intel_analysis::access::Descriptors;
use tepui_intel_analysis::scoreboard::{self, Rules, Tracker};
use tepui_intel_analysis::{Code, timing};
use tepui_intel_isa::{
    Arf, Condition, Desc, Form, Generation, Inst, Location, MathFunction, Opcode, Register, Src,
    Swsb, SyncFunction, Token, Type,
};

use crate::copies::{self, TexelCopy};
use crate::fault::{Fault, FaultKind};
use crate::handlers;
use crate::inputs::{self, Inputs};
use crate::op::{Arithmetic, DirectSource, Flow, Message, Op};
use crate::operand::{Layout, Source, Target};
use crate::translate::{LazyTranslation, Translated};

/// Runs of threads before a program is translated: short programs that run once are not worth it.
const RUNS_BEFORE_TRANSLATION: u32 = 8;

/// Limit on the instructions of a program, which bounds the memory of its decoded form: 8 MiB of code without compaction.
pub const MAX_INSTRUCTIONS: usize = 1 << 19;

/// A program: the instructions that can be reached from its entry, ready for execution. Immutable, so that
/// threads on several cores share it.
#[derive(Debug)]
pub struct Program {
    pub(crate) ops: Vec<Op>,
    /// The instructions of the operations, for messages.
    insts: Vec<Inst>,
    inputs: Inputs,
    channels: u32,
    copies: Option<Box<TexelCopy>>,
    translation: LazyTranslation,
    /// The scoreboard at the program's start, once a thread is checked.
    scoreboard: OnceLock<Option<Tracker>>,
}

/// The parts of an annotation, each with the annotation without it.
fn weaker(swsb: Swsb) -> Vec<(&'static str, Swsb)> {
    let mut all = Vec::new();
    if swsb.distance != 0 {
        all.push(("distance of an instruction", Swsb { distance: 0, ..swsb }));
    }
    // A token that is set is waited for by others.
    if let Some((_, token @ (Token::Src | Token::Dst))) = swsb.token {
        let kind = match token {
            Token::Src => "wait for a token's sources",
            _ => "wait for a token's destination",
        };
        all.push((kind, Swsb { token: None, ..swsb }));
    }
    all
}

impl Program {
    /// Decodes the instructions that can be reached from byte `entry`.
    ///
    /// `read` fills a buffer with the memory from an offset on and returns whether it could; offsets are
    /// relative to the program's start (the kernel start pointer), as jumps are.
    ///
    /// # Errors
    /// An instruction that cannot be decoded or executed, or unreadable memory.
    pub fn load(
        generation: Generation,
        entry: u32,
        mut read: impl FnMut(u32, &mut [u8]) -> bool,
    ) -> Result<Program, Fault> {
        let mut found: BTreeMap<u32, Inst> = BTreeMap::new();
        let mut open = vec![entry];
        while let Some(mut ip) = open.pop() {
            while !found.contains_key(&ip) {
                let inst = fetch(generation, ip, &mut read)?;
                found.insert(ip, inst);
                let behind = ip
                    .checked_add(inst.bytes() as u32)
                    .ok_or_else(|| bare(ip, FaultKind::BadJump(i64::from(ip)), &inst))?;
                if found.len() > MAX_INSTRUCTIONS {
                    return Err(bare(ip, FaultKind::TooLong(MAX_INSTRUCTIONS), &inst));
                }
                for jump in jumps(&inst) {
                    open.push(target(ip, jump).map_err(|kind| bare(ip, kind, &inst))?);
                }
                if inst.opcode == Opcode::Break {
                    // Channels resume after the `while`, so that is reachable too.
                    open.push(target(ip, inst.uip).map_err(|kind| bare(ip, kind, &inst))?);
                }
                let ends = inst.opcode.is_send() && inst.send.end_of_thread
                    || inst.opcode == Opcode::Jmpi && inst.predicate.control == 0;
                if ends {
                    break;
                }
                ip = behind;
            }
        }
        Program::build(entry, found)
    }

    /// As [`Program::load`], from bytes.
    ///
    /// # Errors
    /// As [`Program::load`].
    pub fn from_bytes(generation: Generation, entry: u32, code: &[u8]) -> Result<Program, Fault> {
        Program::load(generation, entry, |at, buffer| {
            let at = at as usize;
            match code.get(at..at + buffer.len()) {
                Some(bytes) => {
                    buffer.copy_from_slice(bytes);
                    true
                }
                None => false,
            }
        })
    }

    /// Sets the number of runs of threads after which the program is translated; `None` for never.
    #[must_use]
    pub fn translated_after(mut self, runs: Option<u32>) -> Program {
        self.translation = LazyTranslation::after(runs.unwrap_or(u32::MAX));
        self
    }

    /// Its translation for a float mode, once there is one.
    pub(crate) fn translation(&self, control: u32) -> Option<&Translated> {
        self.translation.get(&self.ops, control)
    }

    /// The registers that it may read before it has written them.
    pub fn inputs(&self) -> &Inputs {
        &self.inputs
    }

    /// The effect of the program, if it is a pixel shader of sixteen pixels that only copies texels.
    pub fn copies(&self) -> Option<&TexelCopy> {
        self.copies.as_deref()
    }

    /// The channels of its instructions, except for those without a mask.
    pub(crate) fn channels(&self) -> u32 {
        self.channels
    }

    /// Number of instructions.
    pub fn count(&self) -> usize {
        self.insts.len()
    }

    /// The instructions, by address.
    pub fn instructions(&self) -> impl Iterator<Item = (u32, &Inst)> {
        self.ops.iter().zip(&self.insts).map(|(op, inst)| (op.ip, inst))
    }

    fn build(entry: u32, found: BTreeMap<u32, Inst>) -> Result<Program, Fault> {
        // The entry has index 0: preceding instructions, which only jumps reach, come last.
        let before = found.range(..entry);
        let order: Vec<(u32, Inst)> =
            found.range(entry..).chain(before).map(|(ip, inst)| (*ip, *inst)).collect();
        let index: BTreeMap<u32, u32> =
            order.iter().enumerate().map(|(n, (ip, _))| (*ip, n as u32)).collect();
        let mut ops = Vec::with_capacity(order.len());
        let mut joins = vec![false; order.len() + 1];
        for (n, (ip, inst)) in order.iter().enumerate() {
            let fail = |kind| bare(*ip, kind, inst);
            let at = |jump: i32| {
                let to = target(*ip, jump)?;
                index.get(&to).copied().ok_or(FaultKind::BadJump(i64::from(to)))
            };
            let op = lower(*ip, inst, &at).map_err(fail)?;
            if let Flow::Branch(opcode, jip, uip) = op.flow {
                let places = match opcode {
                    Opcode::If => [Some(jip), None],
                    Opcode::Else | Opcode::Cont | Opcode::Halt => [Some(uip), None],
                    Opcode::Break => [Some(uip + 1), None],
                    Opcode::While => [Some(n as u32 + 1), Some(jip)],
                    _ => [None, None],
                };
                for place in places.into_iter().flatten() {
                    joins[place as usize] = true;
                }
            }
            ops.push(op);
        }
        for (op, joins) in ops.iter_mut().zip(joins) {
            op.joins = joins;
        }
        let insts = order.into_iter().map(|(_, inst)| inst).collect();
        let inputs = inputs::inputs(&ops);
        let masked = ops.iter().filter(|op| !op.no_mask);
        let channels = masked.fold(0, |all, op| all | op.all() << op.first);
        Ok(Program {
            copies: copies::find(&ops).map(Box::new),
            ops,
            insts,
            inputs,
            channels,
            translation: LazyTranslation::after(RUNS_BEFORE_TRANSLATION),
            scoreboard: OnceLock::new(),
        })
    }

    /// The general registers that the channels of an operation fill, at least one.
    pub(crate) fn registers(&self, n: usize) -> u64 {
        self.insts.get(n).map_or(0, |inst| {
            let sizes = timing::sizes(inst, Descriptors::of(inst));
            u64::try_from(sizes.execution).map_or(1, |registers| registers.max(1))
        })
    }

    /// The software scoreboard at the program's start; `None` of generations without one, and of programs that jump to
    /// instructions before their entry.
    pub(crate) fn scoreboard(&self) -> Option<&Tracker> {
        let make = || {
            let placed = self.instructions().map(|(ip, inst)| (ip as usize, *inst));
            let placed: Vec<(usize, Inst)> = placed.collect();
            let ascending = placed.is_sorted_by_key(|(ip, _)| *ip);
            let gen12 = placed.first()?.1.generation >= Generation::Gen12;
            let code = (gen12 && ascending).then(|| Code::placed(placed).ok())??;
            Some(Tracker::new(&code, Rules::COMMON))
        };
        self.scoreboard.get_or_init(make).as_ref()
    }

    /// The instructions without each part of their annotations for the scoreboard, one at a time: the name of the part, the
    /// instruction's offset, its bytes, and whether the static checker finds the program wrong then. Empty of generations without a
    /// scoreboard.
    pub fn without_annotations(&self) -> Vec<(&'static str, u32, Vec<u8>, Option<bool>)> {
        let mut placed: Vec<(usize, Inst)> =
            self.instructions().map(|(ip, inst)| (ip as usize, *inst)).collect();
        placed.sort_by_key(|(ip, _)| *ip);
        if placed.first().is_none_or(|(_, inst)| inst.generation < Generation::Gen12) {
            return Vec::new();
        }
        let code = Code::placed(placed.clone()).ok();
        let found = |code: &Code| scoreboard::check(code, Rules::COMMON).ok().map(|all| all.len());
        let known = code.as_ref().and_then(&found);
        let mut all = Vec::new();
        for (n, (ip, inst)) in placed.iter().enumerate() {
            for (kind, swsb) in weaker(inst.swsb) {
                let without = Inst { swsb, ..*inst };
                let mut bytes = Vec::new();
                if without.encode(&mut bytes).is_err() || bytes.len() != inst.bytes() {
                    continue;
                }
                let changed = code.clone().map(|mut code| {
                    code.replace(n, without);
                    code
                });
                let count = changed.as_ref().and_then(&found);
                let is_found = known.zip(count).map(|(known, count)| count > known);
                all.push((kind, *ip as u32, bytes, is_found));
            }
        }
        all
    }

    /// A fault of the instruction at an address.
    pub(crate) fn fault(&self, ip: u32, kind: FaultKind) -> Fault {
        Fault { ip, instruction: self.text(ip), kind }
    }

    /// The instruction at an address in assembly; empty if there is none.
    pub(crate) fn text(&self, ip: u32) -> String {
        let at = self.ops.iter().position(|op| op.ip == ip);
        let text = at.map_or_else(String::new, |n| self.insts[n].to_string());
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// The fault of a thread that ran past the last instruction.
    pub(crate) fn fault_at_end(&self, next: u32) -> Fault {
        let ip = self.ops.last().map_or(0, |op| op.ip);
        Fault { kind: FaultKind::BadJump(i64::from(next)), ..self.fault(ip, FaultKind::Unreadable) }
    }
}

fn bare(ip: u32, kind: FaultKind, inst: &Inst) -> Fault {
    Fault { ip, instruction: inst.to_string(), kind }
}

fn target(ip: u32, jump: i32) -> Result<u32, FaultKind> {
    let to = i64::from(ip) + i64::from(jump);
    u32::try_from(to).ok().filter(|to| to % 8 == 0).ok_or(FaultKind::BadJump(to))
}

fn fetch(
    generation: Generation,
    ip: u32,
    read: &mut impl FnMut(u32, &mut [u8]) -> bool,
) -> Result<Inst, Fault> {
    let mut bytes = [0; 16];
    let fault = |kind, text: String| Fault { ip, instruction: text, kind };
    // A compacted instruction may be the memory's last.
    if !read(ip, &mut bytes) && !read(ip, &mut bytes[..8]) {
        return Err(fault(FaultKind::Unreadable, String::new()));
    }
    Inst::decode(generation, &bytes, 0).map_err(|error| {
        let hex: Vec<String> = bytes.iter().map(|b| format!("{b:02x}")).collect();
        fault(FaultKind::Decode(error.kind.to_string()), hex.join(" "))
    })
}

/// Jump offsets of an instruction, as far as they are constant.
fn jumps(inst: &Inst) -> Vec<i32> {
    match inst.form() {
        Form::Jip => vec![inst.jip],
        Form::JipUip => vec![inst.jip, inst.uip],
        Form::Jump => match jump_offset(inst) {
            Some(offset) => vec![offset],
            None => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// The offset of `jmpi`, which is relative to the next instruction, converted to one from this instruction.
fn jump_offset(inst: &Inst) -> Option<i32> {
    let bits = inst.src[0].immediate_bits()?;
    Some((bits as u32 as i32).wrapping_add(inst.bytes() as i32))
}

/// The arithmetic of an instruction: integers if no source is a float.
fn arithmetic(inst: &Inst) -> Arithmetic {
    let sources = &inst.src[..inst.sources()];
    let real = sources.iter().filter(|src| src.location != Location::NULL);
    let types: Vec<Type> = real.map(|src| src.ty).collect();
    if types.contains(&Type::DF) {
        return Arithmetic::Double;
    }
    if types.iter().any(|ty| ty.is_float()) {
        return Arithmetic::Float;
    }
    if types.iter().any(|ty| ty.bytes() == 8) || inst.dst.ty.bytes() == 8 && !inst.dst.ty.is_float()
    {
        return Arithmetic::Int128;
    }
    // The result depends only on the low 32 bits.
    let wraps = match inst.opcode {
        Opcode::Mov | Opcode::Add | Opcode::Mul | Opcode::Mad | Opcode::Shl => true,
        Opcode::And | Opcode::Or | Opcode::Xor | Opcode::Not => true,
        Opcode::Shr => types.first() == Some(&Type::UD),
        Opcode::Asr => types.first().is_some_and(|ty| ty.is_signed()),
        Opcode::Sel if inst.condition == Condition::None => true,
        Opcode::Sel | Opcode::Cmp => types.iter().all(|ty| ty.is_signed() || ty.bytes() < 4),
        _ => false,
    };
    let accumulates = inst.acc_write
        || matches!(
            inst.dst.location,
            Location::Direct { register: Register::Architecture(Arf::Accumulator, _), .. }
        );
    match wraps && !inst.saturate && !accumulates && !inst.dst.ty.is_float() {
        true => Arithmetic::Int32,
        false => Arithmetic::Int64,
    }
}

/// Whether a move only copies bits: no conversion, no modifier, nothing derived from the value.
fn copies(inst: &Inst) -> bool {
    let plain = |src: &Src| !src.negate && !src.abs && src.ty == inst.dst.ty;
    let accumulator = |location: Location| {
        matches!(
            location,
            Location::Direct { register: Register::Architecture(Arf::Accumulator, _), .. }
        )
    };
    inst.opcode == Opcode::Mov
        && plain(&inst.src[0])
        && !inst.saturate
        && !inst.acc_write
        && inst.condition == Condition::None
        && !accumulator(inst.dst.location)
}

/// The unsigned integer type of a type's size.
fn bits_of(ty: Type) -> Type {
    match ty.bytes() {
        1 => Type::UB,
        2 => Type::UW,
        4 => Type::UD,
        _ => Type::UQ,
    }
}

fn lower(
    ip: u32,
    inst: &Inst,
    at: &impl Fn(i32) -> Result<u32, FaultKind>,
) -> Result<Op, FaultKind> {
    let mut inst = *inst;
    let n = usize::from(inst.exec_size);
    let form = inst.form();
    let mut handler = handlers::handler(inst.opcode);
    let select_bits = inst.opcode == Opcode::Sel
        && inst.condition == Condition::None
        && inst.src[..2]
            .iter()
            .all(|src| !src.negate && !src.abs && src.ty == inst.dst.ty && src.ty.is_float())
        && !inst.saturate;
    let copies = copies(&inst) && inst.src[0].ty != Type::VF;
    if copies {
        handler = Some(handlers::copies());
    }
    if copies || select_bits {
        inst.dst.ty = bits_of(inst.dst.ty);
        for src in &mut inst.src[..2] {
            src.ty = inst.dst.ty;
        }
    }
    if matches!(inst.condition, Condition::Overflow | Condition::Round) {
        return Err(FaultKind::Unsupported("the conditional modifiers .o and .r"));
    }
    let flow = match form {
        Form::Regular { .. } if inst.opcode == Opcode::Sync => {
            match SyncFunction::from_code(inst.function) {
                Some(SyncFunction::Bar) => Flow::Wait(0),
                Some(SyncFunction::Host) | None => {
                    return Err(FaultKind::Unsupported("sync host"));
                }
                Some(_) => Flow::None,
            }
        }
        Form::Regular { .. } | Form::Ternary | Form::None => Flow::None,
        Form::Jip | Form::JipUip => match inst.opcode {
            Opcode::Endif | Opcode::While => Flow::Branch(inst.opcode, at(inst.jip)?, 0),
            Opcode::If | Opcode::Else | Opcode::Break | Opcode::Cont | Opcode::Halt => {
                Flow::Branch(inst.opcode, at(inst.jip)?, at(inst.uip)?)
            }
            opcode => return Err(FaultKind::Unsupported(opcode.mnemonic())),
        },
        Form::Jump => match jump_offset(&inst) {
            Some(offset) => Flow::Jump(at(offset)?),
            None => return Err(FaultKind::Unsupported("jmpi to a register")),
        },
        Form::Wait => match inst.dst.location {
            Location::Direct { register: Register::Architecture(Arf::Notification, 0), byte } => {
                Flow::Wait(byte / 4)
            }
            _ => return Err(FaultKind::Unsupported("wait for another register than n0")),
        },
        Form::Send | Form::SplitSend => Flow::Send,
        Form::Call => return Err(FaultKind::Unsupported(inst.opcode.mnemonic())),
    };
    let handler = match (flow, handler) {
        (Flow::None, None) => return Err(FaultKind::Unsupported(inst.opcode.mnemonic())),
        (Flow::None, Some(handler)) => handler,
        _ => handlers::nothing,
    };
    let computes = flow == Flow::None && inst.opcode != Opcode::Sync;
    let sources = if computes { inst.sources() } else { 0 };
    let mut src = Vec::with_capacity(3);
    for (k, source) in inst.src.iter().enumerate() {
        let absent = k >= sources;
        src.push(Source::new(
            if absent { &Src::NULL } else { source },
            if absent { 1 } else { n },
        )?);
    }
    let src: [Source; 3] = src.try_into().map_err(|_| FaultKind::Unsupported("sources"))?;
    let dst = if computes { inst.dst } else { tepui_intel_isa::Dst::NULL };
    let reads = |arf| inst.src[..sources].iter().any(|src| Source::reads(src, arf));
    let message = match form {
        Form::Send | Form::SplitSend => Some(message(ip, &inst, form == Form::SplitSend)?),
        _ => None,
    };
    let dst = Target::new(&dst, n, inst.align16)?;
    let arithmetic = arithmetic(&inst);
    let direct = std::array::from_fn(|k| direct(&src[k], arithmetic, n));
    let acc_write = inst.acc_write && !inst.opcode.has_branch_control();
    let derives = inst.condition != Condition::None && !inst.opcode.condition_without_flag();
    let direct_dst = match dst.layout {
        Some(Layout::Even { base, stride: 4 })
            if fits(dst.ty, arithmetic)
                && n >= 8
                && dst.mask == u32::MAX
                && !derives
                && !acc_write
                && !dst.accumulator =>
        {
            Some(base)
        }
        _ => None,
    };
    Ok(Op {
        opcode: inst.opcode,
        copies,
        handler,
        flow,
        joins: false,
        ip,
        n: inst.exec_size,
        first: inst.channel_offset,
        no_mask: inst.no_mask,
        predicate: inst.predicate.control,
        inverse: inst.predicate.inverse,
        align16: inst.align16,
        flag: inst.flag.register * 32 + (inst.flag.half * 16 + inst.channel_offset) % 32,
        condition: inst.condition,
        saturate: inst.saturate,
        acc_write,
        logic: inst.opcode.is_logic(),
        arithmetic,
        function: MathFunction::from_code(inst.function),
        dst,
        src,
        direct,
        direct_dst,
        message,
        reads_state: reads(Arf::Mask) || reads(Arf::Ip) || reads(Arf::Timestamp),
    })
}

/// Whether the arithmetic computes in the type as registers hold it.
fn fits(ty: Type, arithmetic: Arithmetic) -> bool {
    match arithmetic {
        Arithmetic::Float => ty == Type::F,
        Arithmetic::Int32 => matches!(ty, Type::D | Type::UD),
        _ => false,
    }
}

/// The direct location of a source, if it has one. Not used for fewer than eight channels, for which it is
/// not worth it.
fn direct(src: &Source, arithmetic: Arithmetic, n: usize) -> DirectSource {
    match src.layout {
        _ if !fits(src.ty, arithmetic) || n < 8 => DirectSource::No,
        Layout::Even { base, stride: 4 } => DirectSource::Row(base),
        Layout::Even { base, stride: 0 } => DirectSource::Scalar(base),
        Layout::Scalar(bits) => DirectSource::Bits(bits as u32),
        _ => DirectSource::No,
    }
}

/// The registers and descriptors of a message.
fn message(ip: u32, inst: &Inst, split: bool) -> Result<Message, FaultKind> {
    let register = |location: Location| match location {
        Location::Direct { register: Register::General(n), byte: 0 } => Ok(Some(n)),
        Location::Direct { register: Register::Architecture(Arf::Null, _), .. } => Ok(None),
        _ => Err(FaultKind::Unsupported("a payload that is no whole register")),
    };
    let ex_desc = if split { inst.send.ex_desc } else { Desc::Immediate(0) };
    let mut message = crate::message::Message {
        ip,
        sfid: inst.send.sfid,
        desc: 0,
        ex_desc: 0,
        exec_size: inst.exec_size,
        channel_offset: inst.channel_offset,
        channels: 0,
        src0: register(inst.src[0].location)?,
        src0_registers: 0,
        src1: if split { register(inst.src[1].location)? } else { None },
        src1_registers: 0,
        dst: register(inst.dst.location)?,
        dst_registers: 0,
        header: false,
        end_of_thread: inst.send.end_of_thread,
    };
    let registers = match (inst.send.desc, ex_desc) {
        (Desc::Immediate(desc), Desc::Immediate(ex_desc)) => {
            message.describe(desc, ex_desc);
            None
        }
        (desc, ex_desc) => Some([desc, ex_desc]),
    };
    Ok(Message { message, registers })
}
