//! Midgard machine code as operations of the interpreter.
//!
//! An instruction on a vector becomes an operation for each component that it writes: registers are four rows each
//! ([`rows`]). Units of a bundle are executed in the order of their stages, so that the second stage sees the results
//! of the first. If an instruction overwrites components that it reads later, its results go through temporary
//! registers.
//!
//! Four quads run in parallel in the sixteen lanes of a warp of the model.
//!
// source: Mesa, midgard_compile.c, midgard_schedule.c (stages, what a bundle passes on), midgard_ra.c (registers of
// writeout), disassemble.c.

mod alu;
mod element;
mod flow;
mod memory;
mod texture;
mod tile;
mod wide;

use std::collections::HashMap;

use tepui_mali_isa::Flow;
use tepui_mali_isa::midgard::bundle::WORD_BYTES;
pub use tepui_mali_isa::midgard::extent;
use tepui_mali_isa::midgard::{Bundle, Content, Tag, TextureRegisters};

use super::decoded::{self, Decoded, copy, nothing};
use super::op::{Lanes, Op, WriteMode};
use super::operand::Src;
use crate::warp::row::Row;
use crate::warp::trap::Trap;
use crate::warp::uniforms;

/// Rows of registers: four for each of the 32, followed by internal ones.
pub mod rows {
    /// Results of the texture unit, of two registers.
    pub const TEXTURE: u8 = 128;
    /// The vertex index.
    pub const VERTEX: u8 = 136;
    /// The instance index.
    pub const INSTANCE: u8 = 137;
    /// The local invocation ID.
    pub const LOCAL_ID: u8 = 138;
    /// The workgroup ID.
    pub const GROUP_ID: u8 = 141;
    /// The global invocation ID.
    pub const GLOBAL_ID: u8 = 144;
    /// Intermediate results of the load/store unit.
    pub const RESULT: u8 = 147;
    /// Sign words of numbers that are extended to 64 bits.
    pub const SIGN: u8 = 151;
    /// Staging registers for Valhall's texture instructions.
    pub const STAGING: u8 = 155;
    /// Scratch rows of one instruction.
    pub const SCRATCH: u8 = 163;
    /// One past the last.
    const END: u8 = 168;
    const _: () = assert!(END as usize == crate::warp::REGISTERS);

    /// The row of a register's component.
    pub const fn word(register: u32, component: u32) -> u8 {
        (4 * register + component) as u8
    }
}

/// State of the translation.
struct Context {
    ops: Vec<Op>,
    rows: Vec<Row>,
    /// The bundle's constants.
    constants: [u32; 4],
    /// The program counter that instructions read.
    counter: u32,
    /// Registers of the texture unit.
    registers: TextureRegisters,
    /// Branches: the index of the operation, and the target in words.
    branches: Vec<(usize, i64)>,
    /// Number of sign rows that are in use, of four.
    signs: u8,
}

fn undecodable(_: &mut Lanes<'_, '_>, _: &Op) -> Result<(), Box<Trap>> {
    Err(Box::new(Trap::Undecodable("the bytes are no bundle".into())))
}

fn unimplemented(_: &mut Lanes<'_, '_>, _: &Op) -> Result<(), Box<Trap>> {
    Err(Box::new(Trap::Unimplemented("an instruction of this bundle".into())))
}

/// Translates a program at an address.
pub fn decode(address: u64, code: &[u8], registers: TextureRegisters) -> Decoded {
    let mut context = Context {
        ops: Vec::new(),
        rows: Vec::new(),
        constants: [0; 4],
        counter: 0,
        registers,
        branches: Vec::new(),
        signs: 0,
    };
    let (mut offsets, mut places) = (Vec::new(), HashMap::new());
    let mut at = 0;
    while at < code.len() {
        places.insert((at / WORD_BYTES) as i64, context.ops.len() as u32);
        let Ok(bundle) = Bundle::decode(&code[at..]) else {
            context.push(undecodable);
            offsets.resize(context.ops.len(), at as u32);
            break;
        };
        let end = at + bundle.tag.words() * WORD_BYTES;
        context.counter = (address as u32).wrapping_add(end as u32 - 8);
        context.bundle(&bundle, (end / WORD_BYTES) as i64);
        offsets.resize(context.ops.len(), at as u32);
        // The operation at which execution continues after a write to the tile buffer.
        match bundle.next {
            Tag::BREAK => context.ops.push(flow::end()),
            _ if flow::writes_out(&bundle) => context.push(nothing),
            _ => {}
        }
        offsets.resize(context.ops.len(), end as u32 - 8);
        at = end;
    }
    for (index, place) in context.branches {
        match places.get(&place) {
            Some(target) => context.ops[index].immediate = *target,
            None => context.ops[index] = Op::new(flow::no_target, Flow::None),
        }
    }
    Decoded { ops: context.ops, rows: context.rows, offsets }
}

impl Context {
    fn push(&mut self, run: super::op::Handler) {
        self.ops.push(Op::new(run, Flow::None));
    }

    /// The row of a constant.
    fn constant(&mut self, value: u32) -> Option<u16> {
        if value == 0 {
            return Some(uniforms::ZERO);
        }
        decoded::constant(&mut self.rows, Row::splat(value))
    }

    /// A constant as a source.
    fn literal(&mut self, value: u32) -> Option<Src> {
        Some(Src { row: self.constant(value)?, ..Src::NONE })
    }

    fn bundle(&mut self, bundle: &Bundle, end: i64) {
        let done = match &bundle.content {
            Content::Alu(alu) => {
                self.constants = alu.constants.unwrap_or_default();
                alu::lower(self, alu).and_then(|()| flow::lower(self, bundle, alu, end))
            }
            Content::LoadStore(words) => {
                words.iter().try_for_each(|word| memory::lower(self, word))
            }
            Content::Texture(t) => texture::lower(self, t),
        };
        if done.is_none() {
            self.push(unimplemented);
        }
    }

    /// Adds an operation that copies a source into a row, or into some of its bits.
    fn copy(&mut self, src: Src, dest: u8, written: WriteMode) {
        let mut op = Op::new(copy, Flow::None);
        (op.src[0], op.dest, op.written) = (src, dest, written);
        self.ops.push(op);
    }
}
