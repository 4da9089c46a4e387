//! Programs: machine code decoded into operations.

use tepui_mali_chips::{Arch, Chip};
use tepui_mali_isa::inst::BYTES;
use tepui_mali_isa::midgard::TextureRegisters;
use tepui_mali_isa::modifier::fields as f;
use tepui_mali_isa::modifier::{
    AtomicOperation, AtomicOperation1, Clamp, Condition, Flow, InactiveResult, LaneOperation,
    MemoryAccess, Mux, NanMode, RegisterFormat, ResultType, RoundMode, SubgroupSize,
};
use tepui_mali_isa::table::field::Unit;
use tepui_mali_isa::{Halves, Inst, ModifierValue, Op as Isa, Operand, Special};

use super::alu::select::{self, Chain};
use super::alu::{bitwise, convert, float, integer, special};
use super::decoded::{Decoded, nothing};
use super::op::{Handler, Lanes, Next, Op, WriteMode};
use super::operand::Src;
use super::program::Program;
use super::template::TemplateOp;
use super::{bifrost, lane, message, midgard};
use crate::units::buffer::handle;
use crate::warp::row::Row;
use crate::warp::trap::Trap;
use crate::warp::uniforms;

/// Limit on the instructions of a program.
const MAX_INSTRUCTIONS: usize = 1 << 20;

/// Lanes of a warp of Bifrost.
//
// source: Mesa, pan_props.h (`pan_subgroup_size`)
fn warp_lanes(arch: Arch) -> u32 {
    if arch.0 < 7 { 4 } else { 8 }
}

impl Program {
    /// Reads a program and decodes it. It ends before the first zero word, or at the end of memory; bytes
    /// that encode no instruction fault only when they are executed.
    pub fn load(
        chip: &Chip,
        address: u64,
        mut read: impl FnMut(u64) -> Option<[u8; BYTES]>,
    ) -> Program {
        let arch = chip.arch;
        if arch.0 < 6 {
            let most = MAX_INSTRUCTIONS * BYTES;
            let code = midgard::extent(most, |at| address.checked_add(at).and_then(&mut read));
            let registers = TextureRegisters::shared(chip.shares_texture_registers());
            return Program::decode_midgard(address, code, registers);
        }
        let bifrost = arch.0 < 9;
        let mut code = Vec::new();
        for index in 0..MAX_INSTRUCTIONS as u64 {
            // The first half of a Bifrost word may be zero.
            let within = bifrost && index % 2 != 0;
            match address.checked_add(index * BYTES as u64).and_then(&mut read) {
                Some(word) if within || word != [0; BYTES] => code.extend(word),
                _ => break,
            }
        }
        match bifrost {
            true => Program::decode_bifrost(address, code, warp_lanes(arch)),
            false => Program::decode(address, code),
        }
    }

    /// Decodes Bifrost machine code, for warps of `lanes` lanes.
    pub fn decode_bifrost(address: u64, code: Vec<u8>, lanes: u32) -> Program {
        let Decoded { ops, rows, offsets } = bifrost::decode(&code, lanes);
        Program::new(address, code, ops, rows, Some(offsets), None)
    }

    /// Decodes machine code of Midgard.
    pub fn decode_midgard(address: u64, code: Vec<u8>, registers: TextureRegisters) -> Program {
        let Decoded { ops, rows, offsets } = midgard::decode(address, &code, registers);
        Program::new(address, code, ops, rows, Some(offsets), Some(registers))
    }

    /// Decodes machine code.
    pub fn decode(address: u64, code: Vec<u8>) -> Program {
        let mut rows = Vec::new();
        let length = code.len() / BYTES;
        let one = |index: usize| match Inst::decode_at(&code, index * BYTES) {
            Ok(inst) => lower(&inst, index, length, address, &mut rows),
            Err(_) => Op::new(undecodable, Flow::None),
        };
        let ops = (0..length).map(one).collect();
        Program::new(address, code, ops, rows, None, None)
    }
}

fn undecodable(_: &mut Lanes<'_, '_>, _: &Op) -> Result<(), Box<Trap>> {
    Err(Box::new(Trap::Undecodable("the bytes are no instruction".into())))
}

fn unimplemented(_: &mut Lanes<'_, '_>, _: &Op) -> Result<(), Box<Trap>> {
    Err(Box::new(Trap::Unimplemented("this instruction".into())))
}

fn no_target(_: &mut Lanes<'_, '_>, _: &Op) -> Result<(), Box<Trap>> {
    Err(Box::new(Trap::Invalid("the branch leaves the program".into())))
}

/// Instructions whose modifiers include a register format.
const FORMATTED: &[Isa] = &[
    Isa::LD_TEX,
    Isa::LEA_TEX,
    Isa::ST_CVT,
    Isa::LD_CVT,
    Isa::LD_ATTR,
    Isa::LEA_ATTR,
    Isa::LD_TILE,
    Isa::ST_TILE,
];

/// Modifier of branches in [`Op::flags`]: taken if the source is zero.
pub const IF_ZERO: u32 = 1;
/// Modifier of jumps: lanes that do not jump end.
const ENDS: u32 = 2;

fn branch(l: &mut Lanes<'_, '_>, op: &Op) -> Result<(), Box<Trap>> {
    let value = l.get(&op.src[0]);
    let mut nonzero = 0u16;
    for (lane, value) in value.0.iter().enumerate() {
        nonzero |= u16::from(*value != 0) << lane;
    }
    let taken = if op.flags & IF_ZERO != 0 { !nonzero } else { nonzero };
    let taken = taken & l.warp.mask;
    l.warp.branch(taken, op.immediate);
    Ok(())
}

/// Continues at an address if the first source is zero, or if it is not.
fn jump(l: &mut Lanes<'_, '_>, op: &Op) -> Result<(), Box<Trap>> {
    let (value, target) = (l.get(&op.src[0]), l.get(&op.src[1]));
    let (mut taken, mut to) = (0u16, None);
    for lane in l.active() {
        if (value.0[lane] == 0) == (op.flags & IF_ZERO != 0) {
            taken |= 1 << lane;
            let target = target.0[lane].wrapping_add(op.immediate);
            if to.replace(target).is_some_and(|other| other != target) {
                return Err(Box::new(Trap::Unimplemented("jumps to several addresses".into())));
            }
        }
    }
    if taken == 0 && op.flags & ENDS != 0 {
        l.warp.end();
    } else if taken == 0 {
        l.warp.branch(0, 0);
    } else if taken == l.warp.mask {
        l.warp.jump = to;
    } else {
        return Err(Box::new(Trap::Unimplemented("a jump of some of the lanes".into())));
    }
    Ok(())
}

/// The handler of an instruction without special operands.
fn handler(isa: Isa) -> Option<Handler> {
    let modules = [
        bitwise::handler,
        integer::handler,
        float::handler,
        select::handler,
        convert::handler,
        special::handler,
        lane::handler,
        message::handler,
    ];
    modules.iter().find_map(|of| of(isa))
}

/// Whether parts of a source's register are sign-extended.
fn is_signed(inst: &Inst) -> bool {
    let name = inst.op.row().name;
    let kind = name.split_once('.').map_or("", |(_, kind)| kind);
    let converts = ["S8_TO", "S16_TO", "S32_TO", "V2S8_TO", "V2S16_TO"];
    kind.starts_with('s')
        || kind.starts_with("v2s")
        || kind.starts_with("v4s")
        || inst.flag(&f::SIGNED)
        || converts.iter().any(|prefix| name.starts_with(prefix))
}

/// Translates an instruction to an operation.
fn lower(inst: &Inst, index: usize, length: usize, address: u64, rows: &mut Vec<Row>) -> Op {
    operation(inst, index, length, address, rows)
        .unwrap_or_else(|| Op::new(unimplemented, Flow::None))
}

fn operation(
    inst: &Inst,
    index: usize,
    length: usize,
    address: u64,
    rows: &mut Vec<Row>,
) -> Option<Op> {
    let row = inst.op.row();
    let mut op = Op::new(nothing, inst.flow);
    op.isa = Some(inst.op);
    for (i, (field, source)) in row.form.sources.iter().zip(&inst.sources).enumerate() {
        op.src[i] = match source.operand {
            Operand::Special(Special::ProgramCounter, word) => {
                let next = address + (index as u64 + 1) * BYTES as u64;
                let first = uniforms::PROGRAM + u16::try_from(rows.len()).ok()?;
                rows.push(Row::splat(next as u32));
                rows.push(Row::splat((next >> 32) as u32));
                let high = first + 1;
                Src { row: first + u16::from(word), high, ..Src::NONE }
            }
            _ => Src::new(row, field, source, is_signed(inst))?,
        };
    }
    if let Some(dest) = inst.dest {
        op.dest = dest.register;
        op.written = written(inst.op, row.width, dest.halves);
        // 64-bit results occupy two whole registers.
        if row.width == 64 && (dest.register >= 63 || dest.halves != Halves::Both) {
            return None;
        }
    }
    op.clamp = inst.modifier().unwrap_or(Clamp::None);
    op.round = inst.modifier().unwrap_or(RoundMode::Rte);
    op.condition = inst.modifier().unwrap_or(Condition::Eq);
    for (field, staging) in row.form.staging.iter().zip(&inst.staging) {
        op.staging[usize::from(!field.write)] = (staging.register, staging.count);
    }
    match inst.op {
        Isa::NOP => return Some(op),
        Isa::BARRIER => {
            op.next = Next::Barrier;
            return Some(op);
        }
        Isa::BRANCHZ => return Some(branch_op(inst, op, index, length)),
        Isa::BRANCHZI => {
            op.run = jump;
            op.flags = u32::from(inst.flag(&f::EQ));
            if inst.flow == Flow::End {
                op.flags |= ENDS;
            }
            if !inst.flag(&f::ABSOLUTE) {
                op.immediate = (address as u32).wrapping_add((index as u32 + 1) * BYTES as u32);
            }
            op.next = Next::Jump;
            return Some(op);
        }
        _ => {}
    }
    op.run = handler(inst.op)?;
    op.kind = TemplateOp::of(inst.op);
    if inst.op == Isa::BLEND {
        op.flags = inst.modifier().map_or(0, |format: RegisterFormat| format.raw().into());
        op.next = Next::Chosen;
        if inst.flow == Flow::End {
            op.flags |= message::ENDS;
        }
        let skipped = inst.immediate("target").unwrap_or(0);
        op.immediate = u32::try_from(index as i64 + 1 + skipped).ok()?;
        return Some(op);
    }
    if inst.op == Isa::DISCARD_F32 {
        op.next = Next::Chosen;
        return Some(op);
    }
    if inst.op == Isa::ZS_EMIT {
        op.flags |= if inst.flag(&f::Z) { message::DEPTH } else { 0 };
        op.flags |= if inst.flag(&f::STENCIL) { message::STENCIL } else { 0 };
        return Some(op);
    }
    if let Some(value) = inst.immediates.first() {
        op.immediate = *value as u32;
    }
    let format = inst.modifier().map_or(0, |format: RegisterFormat| format.raw().into());
    if row.form.unit == Unit::Texture {
        op.flags = message::texture_flags(inst);
        return Some(op);
    }
    match (inst.immediate("table"), inst.immediate("index")) {
        (Some(table), Some(index)) if inst.op == Isa::LEA_BUF_IMM => {
            op.flags = handle(table, index);
            return Some(op);
        }
        (Some(table), Some(index)) => {
            op.immediate = handle(table, index);
            op.flags = format | message::IN_INSTRUCTION | message::varying_flags(inst);
            return Some(op);
        }
        _ if matches!(row.form.unit, Unit::Varying) => {
            op.flags = format | message::varying_flags(inst);
            return Some(op);
        }
        _ if FORMATTED.contains(&inst.op) => {
            op.flags = format;
            return Some(op);
        }
        _ => {}
    }
    let flag = |field, bit: u32| if inst.flag(field) { bit } else { 0 };
    op.flags = match row.form.unit {
        _ if inst.modifier::<ResultType>().is_some() => {
            let kind = inst.modifier().unwrap_or(ResultType::M1);
            op.immediate = truth(row.width, kind)?;
            chain(inst.op, kind) as u32
        }
        _ if inst.modifier::<Mux>().is_some() => inst.modifier().unwrap_or(Mux::IntZero) as u32,
        _ if inst.modifier::<NanMode>().is_some() => {
            u32::from(inst.modifier().unwrap_or(NanMode::None).raw())
                | flag(&f::FTZ, float::FTZ)
                | flag(&f::FLUSH_INF, float::FLUSH_INF)
        }
        _ if inst.modifier::<SubgroupSize>().is_some() => {
            let size = inst.modifier().unwrap_or(SubgroupSize::Subgroup16);
            let operation = inst.modifier().unwrap_or(LaneOperation::None);
            if operation == LaneOperation::Accumulate {
                return None;
            }
            op.immediate = lane::inactive(inst.modifier().unwrap_or(InactiveResult::Zero));
            lane::lanes(size) | u32::from(operation.raw()) << 8
        }
        Unit::LoadStore => match inst.modifier::<AtomicOperation>() {
            Some(operation) => u32::from(operation.raw()) | flag(&f::COMPARE, message::COMPARE),
            None => match inst.modifier::<AtomicOperation1>() {
                Some(operation) => operation.raw().into(),
                None => {
                    let forced = inst.modifier() == Some(MemoryAccess::Force);
                    message::place(inst)
                        | if inst.flag(&f::UNSIGNED) { 0 } else { message::SIGNED }
                        | if forced { message::FORCED } else { 0 }
                }
            },
        },
        _ => {
            flag(&f::SATURATE, integer::SATURATE)
                | flag(&f::RHADD, integer::ROUND_UP)
                | flag(&f::NEG, integer::NEGATE)
                | flag(&f::PRESERVE_NULL, integer::PRESERVE_NULL)
                | flag(&f::NOT_RESULT, bitwise::NOT_RESULT)
                | flag(&f::SIGNED, bitwise::ARITHMETIC)
                | flag(&f::SQRT, special::SQRT)
                | flag(&f::LOG, special::LOG)
        }
    };
    Some(op)
}

/// The write mode of a destination. 32-bit results are narrowed to a half: Mesa's compiler converts floats
/// with FADD.f32 to a half.
fn written(isa: Isa, width: u8, halves: Halves) -> WriteMode {
    let high = halves == Halves::High;
    let name = isa.row().name;
    let float = (name.ends_with(".f32") || name.ends_with("_TO_F32"))
        && !name.starts_with("FCMP")
        && !name.starts_with("FREXPE");
    match halves {
        Halves::Both => WriteMode::Word,
        _ if width == 32 && float => WriteMode::Float16 { high },
        _ if width == 32 => WriteMode::Lower16 { high },
        Halves::Low => WriteMode::Bits(0xffff),
        Halves::High => WriteMode::Bits(0xffff_0000),
    }
}

fn branch_op(inst: &Inst, mut op: Op, index: usize, length: usize) -> Op {
    let offset = inst.immediate("offset").unwrap_or(0);
    let target = (index as i64 + 1).checked_add(offset);
    let target = target.and_then(|t| u32::try_from(t).ok()).filter(|t| (*t as usize) < length);
    match target {
        Some(target) => {
            op.run = branch;
            op.immediate = target;
            op.flags = u32::from(inst.flag(&f::EQ));
            op.next = Next::Chosen;
            op.kind = Some(TemplateOp::BranchZero);
            op
        }
        None => Op::new(no_target, Flow::None),
    }
}

fn chain(isa: Isa, kind: ResultType) -> Chain {
    match isa {
        Isa::ICMP_MULTI_U32 | Isa::ICMP_MULTI_S32 if kind == ResultType::U1 => Chain::Low,
        Isa::ICMP_MULTI_U32 | Isa::ICMP_MULTI_S32 => Chain::High,
        Isa::ICMP_AND_U32
        | Isa::ICMP_AND_S32
        | Isa::ICMP_AND_V2U16
        | Isa::ICMP_AND_V2S16
        | Isa::ICMP_AND_V4U8
        | Isa::ICMP_AND_V4S8
        | Isa::FCMP_AND_F32
        | Isa::FCMP_AND_V2F16 => Chain::And,
        _ => Chain::Or,
    }
}

/// The representation of true in all elements of a word. Bytes have no float representation.
fn truth(width: u8, kind: ResultType) -> Option<u32> {
    Some(match (kind, width) {
        (ResultType::M1, _) => u32::MAX,
        (ResultType::I1 | ResultType::U1, 32) => 1,
        (ResultType::I1 | ResultType::U1, 16) => 0x0001_0001,
        (ResultType::I1 | ResultType::U1, _) => 0x0101_0101,
        (ResultType::F1, 32) => 0x3f80_0000,
        (ResultType::F1, 16) => 0x3c00_3c00,
        (ResultType::F1, _) => return None,
    })
}
