//! Lowers loads, stores and atomics of memory.

use tepui_agx_isa::Inst;
use tepui_agx_isa::operand as isa;

use super::build::{not_executed, plain, refuse};
use super::operands::{base64, general, index, local, none, vector};
use crate::usc::access::{Format, Transfer};
use crate::usc::code::Builder;
use crate::usc::exec::memory::ATOMIC_OPERATIONS;
use crate::usc::op::{Dst, Op, Src};
use crate::usc::opcode::Opcode;

/// A transfer of one word, whose register is not part of it.
const WORD: Transfer = Transfer {
    format: Format::I32,
    mask: 1,
    shift: 0,
    register: Dst::NONE,
    signed: true,
    immediate: None,
    no_base: false,
};

/// The operation of an instruction that loads, stores or changes memory.
pub fn lower(b: &mut Builder<'_>, inst: &Inst) -> Op {
    match inst {
        Inst::DeviceLoad(i) => {
            let what = (i.format, i.mask, i.r);
            device(b, Opcode::device_load, what, (i.base, i.index, i.extend, i.shift))
        }
        Inst::DeviceStore(i) => {
            let what = (i.format, i.mask, i.r);
            device(b, Opcode::device_store, what, (i.base, i.index, i.extend, i.shift))
        }
        Inst::Atomic(i) => {
            let (index, immediate) = index(b, i.index, i.extend);
            let t = Transfer { signed: i.extend == isa::Extend::Signed, immediate, ..WORD };
            let place = [base64(b, i.base), index];
            atomic(b, Opcode::device_atomic, u16::from(i.op.bits()), t, place, (i.r, i.s))
        }
        Inst::ThreadgroupLoad(i) => {
            let what = (i.format, i.mask, i.r);
            threadgroup(b, Opcode::local_load, what, (i.base, i.index))
        }
        Inst::ThreadgroupStore(i) => {
            let what = (i.format, i.mask, i.r);
            threadgroup(b, Opcode::local_store, what, (i.base, i.index))
        }
        Inst::ThreadgroupAtomic(i) => {
            let (place, immediate, no_base) = local(b, i.base, i.index);
            let t = Transfer { immediate, no_base, ..WORD };
            atomic(b, Opcode::local_atomic, u16::from(i.op.bits()), t, place, (i.r, i.s))
        }
        Inst::StackLoad(i) => stack(b, Opcode::stack_load, (i.format, i.mask, i.r), i.index),
        Inst::StackStore(i) => stack(b, Opcode::stack_store, (i.format, i.mask, i.r), i.index),
        Inst::UniformStore(i) => {
            let register = vector(b, i.r);
            let (source, immediate) = index(b, i.index, isa::Extend::Unsigned);
            let (format, mask) = (Format::I16, i.mask);
            let t = Transfer { format, mask, register, immediate, no_base: true, ..WORD };
            let aux = [immediate.unwrap_or(0) as u16, u16::from(immediate.is_none()), 0, 0];
            memory(b, Opcode::uniform_store, &[none(), source], t, Dst::NONE, aux)
        }
        other => not_executed(b, other),
    }
}

/// Elements is transferred: how elements lie in memory, which of four, and the first register.
type Elements = (isa::Format, u8, isa::RegVec);

/// A load or store of device memory: base, index, and how the index counts.
fn device(
    b: &mut Builder<'_>,
    opcode: Opcode,
    what: Elements,
    (base, i, extend, shift): (isa::Base64, isa::Index, isa::Extend, u8),
) -> Op {
    let Some(t) = transfer(b, what) else { return unknown_format(b) };
    let (index, immediate) = index(b, i, extend);
    let t = Transfer { shift, signed: extend == isa::Extend::Signed, immediate, ..t };
    let sources = [base64(b, base), index];
    memory(b, opcode, &sources, t, Dst::NONE, [0; 4])
}

/// A load or store of local memory.
fn threadgroup(
    b: &mut Builder<'_>,
    opcode: Opcode,
    what: Elements,
    (base, index): (isa::LocalBase, isa::LocalIndex),
) -> Op {
    let Some(t) = transfer(b, what) else { return unknown_format(b) };
    let (sources, immediate, no_base) = local(b, base, index);
    memory(b, opcode, &sources, Transfer { immediate, no_base, ..t }, Dst::NONE, [0; 4])
}

/// A load or store of scratch memory.
fn stack(b: &mut Builder<'_>, opcode: Opcode, what: Elements, i: isa::Index) -> Op {
    let Some(t) = transfer(b, what) else { return unknown_format(b) };
    // Scratch has no extension bit; memory below the stack pointer is unused.
    let (index, immediate) = index(b, i, isa::Extend::Unsigned);
    let t = Transfer { immediate, no_base: true, ..t };
    memory(b, opcode, &[none(), index], t, Dst::NONE, [0; 4])
}

/// An atomic operation at a place; `registers` are those of the old value and of the operands.
fn atomic(
    b: &mut Builder<'_>,
    opcode: Opcode,
    operation: u16,
    t: Transfer,
    [base, index]: [Src; 2],
    (old, operands): (isa::RegVec, isa::RegVec),
) -> Op {
    if operation >= ATOMIC_OPERATIONS {
        return refuse(b, format!("atomic operation {operation} is unknown"));
    }
    let [first, second] = atomic_operands(b, operation, operands);
    let returns = old.count > 0;
    let d = if returns { vector(b, old) } else { Dst::NONE };
    let aux = [operation, u16::from(returns), 0, 0];
    memory(b, opcode, &[base, index, first, second], t, d, aux)
}

/// A memory operation with its transfer.
fn memory(
    b: &mut Builder<'_>,
    opcode: Opcode,
    sources: &[Src],
    transfer: Transfer,
    d: Dst,
    aux: [u16; 4],
) -> Op {
    b.transfers.push(transfer);
    plain(opcode, d, sources, (b.transfers.len() - 1) as u64, aux)
}

/// The transfer of an instruction's elements; `None` if their format is unknown.
fn transfer(b: &mut Builder<'_>, (format, mask, r): Elements) -> Option<Transfer> {
    let rounds = !matches!(format, isa::Format::Rg11B10FRtz | isa::Format::Rgb9E5Rtz);
    let format = tile_format(format).filter(|_| rounds)?;
    Some(Transfer { format, mask, register: vector(b, r), ..WORD })
}

/// Format of elements of memory or of the tile; `None` if unknown.
pub fn tile_format(f: isa::Format) -> Option<Format> {
    Some(match f {
        isa::Format::I8 => Format::I8,
        isa::Format::I16 => Format::I16,
        isa::Format::I32 => Format::I32,
        isa::Format::F16 => Format::F16,
        isa::Format::U8Norm => Format::U8Norm,
        isa::Format::S8Norm => Format::S8Norm,
        isa::Format::U16Norm => Format::U16Norm,
        isa::Format::S16Norm => Format::S16Norm,
        isa::Format::Rgb10A2 => Format::Rgb10A2,
        isa::Format::Srgba8 => Format::Srgba8,
        isa::Format::Rg11B10F | isa::Format::Rg11B10FRtz => Format::Rg11B10F,
        isa::Format::Rgb9E5 | isa::Format::Rgb9E5Rtz => Format::Rgb9E5,
        isa::Format::Unknown(_) => return None,
    })
}

/// Operand and, for compare and exchange, comparand first: the registers hold the new value, then
/// the expected one.
fn atomic_operands(b: &mut Builder<'_>, operation: u16, s: isa::RegVec) -> [Src; 2] {
    let first = general(b, s.reg, isa::Size::B32);
    if operation == 3 {
        let expected = general(b, s.reg + 2, isa::Size::B32);
        [expected, first]
    } else {
        [first, first]
    }
}

pub fn unknown_format(b: &mut Builder<'_>) -> Op {
    refuse(b, "a memory format that is unknown".to_owned())
}
