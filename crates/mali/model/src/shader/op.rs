//! Operations: instructions as they are executed.

use tepui_mali_isa::modifier::{Clamp, Condition, RoundMode};
use tepui_mali_isa::{Flow, Op as Isa};

use super::alu::rounding::to_half;
use super::operand::Src;
use super::template::TemplateOp;
use crate::units::Port;
use crate::warp::row::{ALL, Row, numbers};
use crate::warp::trap::Trap;
use crate::warp::uniforms::Uniforms;
use crate::warp::{REGISTERS, Warp};

/// Executes an operation.
pub type Handler = fn(&mut Lanes<'_, '_>, &Op) -> Result<(), Box<Trap>>;

/// Control flow after an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The next operation.
    Following,
    /// The operation has set the program counter.
    Chosen,
    /// The next operation, once all threads of the workgroup have reached it.
    Barrier,
    /// The lanes end.
    End,
    /// The next operation, without helper lanes.
    Discard,
    /// The operation has set the program counter, possibly to another program.
    Jump,
}

/// Conversion and position of a result in the destination register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteMode {
    /// The whole register.
    Word,
    /// Some of its bits, in place: a half of a vector.
    Bits(u32),
    /// A float, converted to 16 bits, to a half.
    Float16 { high: bool },
    /// The lower 16 bits, to a half.
    Lower16 { high: bool },
}

/// An operation.
#[derive(Clone)]
pub struct Op {
    /// Executes it.
    pub run: Handler,
    /// Its sources.
    pub src: [Src; 4],
    /// The destination register.
    pub dest: u8,
    /// The position of results in it.
    pub written: WriteMode,
    /// Control flow after the operation.
    pub next: Next,
    /// The clamp of a float result.
    pub clamp: Clamp,
    /// The rounding mode.
    pub round: RoundMode,
    /// The condition of a comparison.
    pub condition: Condition,
    /// An immediate, the target of a branch, the representation of true, or modifiers of the instruction.
    pub immediate: u32,
    /// Modifiers of the instruction.
    pub flags: u32,
    /// First staging register and number of them: written, read.
    pub staging: [(u8, u8); 2],
    /// The operation of a translation template, if there may be one.
    pub kind: Option<TemplateOp>,
    /// The Valhall instruction that it was translated from, if any.
    pub isa: Option<Isa>,
}

impl Op {
    /// An operation without operands.
    pub fn new(run: Handler, flow: Flow) -> Op {
        Op {
            run,
            src: [Src::NONE; 4],
            dest: 0,
            written: WriteMode::Word,
            next: match flow {
                Flow::End => Next::End,
                Flow::Discard => Next::Discard,
                _ => Next::Following,
            },
            clamp: Clamp::None,
            round: RoundMode::Rte,
            condition: Condition::Eq,
            immediate: 0,
            flags: 0,
            staging: [(0, 0); 2],
            kind: None,
            isa: None,
        }
    }
}

/// 16-bit values in a half of each word, and the mask of the bits that they fill.
fn half(value: &Row, high: bool, of: impl Fn(u32) -> u16) -> (Row, u32) {
    let shift = if high { 16 } else { 0 };
    (value.map(|v| u32::from(of(v)) << shift), 0xffff << shift)
}

/// A warp while it executes.
pub struct Lanes<'a, 'vm> {
    /// The warp.
    pub warp: &'a mut Warp,
    /// Rows that all warps share.
    pub uniforms: &'a Uniforms,
    /// The units that receive messages.
    pub port: &'a mut Port<'vm>,
}

impl Lanes<'_, '_> {
    /// A row without selection.
    #[inline(always)]
    pub fn raw(&self, row: u16) -> &Row {
        match usize::from(row) < REGISTERS {
            true => &self.warp.registers[usize::from(row)],
            false => self.uniforms.row(row),
        }
    }

    /// The value of a source.
    #[inline(always)]
    pub fn get(&self, src: &Src) -> Row {
        let row = self.raw(src.row);
        if src.is_plain() { *row } else { src.apply(row) }
    }

    /// The value of a source of 64 bits.
    #[inline(always)]
    pub fn get64(&self, src: &Src) -> [u64; crate::warp::row::LANES] {
        crate::warp::row::wide(&self.get(src), self.raw(src.high))
    }

    /// Writes the destination of the active lanes.
    #[inline(always)]
    pub fn put(&mut self, op: &Op, value: &Row) {
        if op.written == WriteMode::Word && self.warp.mask == ALL {
            self.warp.registers[usize::from(op.dest)] = *value;
            return;
        }
        let (value, bits) = match op.written {
            WriteMode::Word => (*value, u32::MAX),
            WriteMode::Bits(bits) => (*value, bits),
            WriteMode::Lower16 { high } => half(value, high, |v| v as u16),
            WriteMode::Float16 { high } => {
                half(value, high, |v| to_half(f32::from_bits(v), RoundMode::Rte))
            }
        };
        let dest = &mut self.warp.registers[usize::from(op.dest)];
        for (lane, (old, new)) in dest.0.iter_mut().zip(&value.0).enumerate() {
            let active = (u32::from(self.warp.mask) >> lane & 1).wrapping_neg();
            *old ^= (*old ^ new) & active & bits;
        }
    }

    /// Writes a register of the active lanes.
    #[inline(always)]
    pub fn put_register(&mut self, register: u8, value: &Row) {
        // Decoding has checked that the register exists.
        let dest = &mut self.warp.registers[usize::from(register) % REGISTERS];
        *dest = dest.choose(self.warp.mask, value);
    }

    /// Writes the first rows to the staging registers of the active lanes.
    #[inline(always)]
    pub fn put_staging(&mut self, op: &Op, rows: &[Row]) {
        let (register, count) = op.staging[0];
        for (i, row) in rows.iter().enumerate().take(count.into()) {
            self.put_register(register + i as u8, row);
        }
    }

    /// Writes the destination of 64 bits.
    #[inline(always)]
    pub fn put64(&mut self, op: &Op, value: &[u64; crate::warp::row::LANES]) {
        let low = Row(value.map(|v| v as u32));
        let high = Row(value.map(|v| (v >> 32) as u32));
        self.put_register(op.dest, &low);
        self.put_register(op.dest + 1, &high);
    }

    /// The active lanes, by number.
    #[inline(always)]
    pub fn active(&self) -> impl Iterator<Item = usize> + use<> {
        numbers(self.warp.mask)
    }

    /// The active lanes that may write to memory: those that are not helpers.
    #[inline(always)]
    pub fn writing(&self) -> impl Iterator<Item = usize> + use<> {
        numbers(self.warp.mask & !self.warp.helpers)
    }
}
