//! The interpreter under an observer ([`Watched`]), which is told of each instruction.

use std::ops::Range;

use tepui_mali_isa::Op as Isa;
use tepui_mali_isa::operand::REGISTERS;

use super::op::{Lanes, Op};
use super::program::Program;
use super::step::{Stop, execute, next};
use crate::units::Port;
use crate::warp::Warp;
use crate::warp::local::{LOCAL_WINDOW, NOWHERE};
use crate::warp::row::LANES;
use crate::warp::trap::RaisedTrap;
use crate::warp::uniforms::{UNIFORM_WORDS, Uniforms};
use crate::watch::{Access, Inspect, MemorySpace, Step, Watched};

/// Tells of an operation that is about to execute, or of the end.
fn tell(watched: &Watched<'_>, program: &Program, lanes: &mut Lanes<'_, '_>, index: Option<u32>) {
    let op = index.and_then(|index| program.ops.get(index as usize));
    let access = op.and_then(|op| access(lanes, op, &watched.workgroup));
    let offset = index.map_or(program.code.len() as u32, |index| program.offset(index));
    let memory =
        Inspect { vm: watched.vm, workgroup: &watched.workgroup, thread: lanes.port.local };
    watched.watch.tell(&Step {
        program: program.address,
        code: &program.code,
        offset,
        exec: lanes.warp.mask,
        place: &watched.place,
        access,
        registers: &lanes.warp.registers[..usize::from(REGISTERS)],
        uniforms: &lanes.uniforms.rows()[..UNIFORM_WORDS],
        memory,
    });
}

/// Runs a warp as [`super::run::run`] does, and tells the observer of the port of each instruction.
///
/// # Errors
/// The trap that stopped it.
pub fn run(
    program: &Program,
    watched: &Watched<'_>,
    warp: &mut Warp,
    uniforms: &Uniforms,
    port: &mut Port<'_>,
    budget: &mut u64,
) -> Result<Stop, RaisedTrap> {
    let mut lanes = Lanes { warp, uniforms, port };
    let mut before: Option<u32> = None;
    loop {
        let Some(index) = next(program, lanes.warp, budget)? else {
            tell(watched, program, &mut lanes, None);
            return Ok(Stop::End);
        };
        let op = &program.ops[index as usize];
        // The operations of a clause have one offset.
        let is_in_clause =
            |last: u32| last < index && program.offset(last) == program.offset(index);
        if !before.is_some_and(is_in_clause) {
            tell(watched, program, &mut lanes, Some(index));
        }
        before = Some(index);
        if let Some(stop) = execute(&mut lanes, op, index)? {
            return Ok(stop);
        }
    }
}

/// The kind of a message that accesses memory at an address of each lane: bytes of a lane, and whether it writes.
fn kind(isa: Isa) -> Option<(u32, bool)> {
    Some(match isa {
        Isa::LOAD_I8 | Isa::LD_BUFFER_I8 => (1, false),
        Isa::LOAD_I16 | Isa::LD_BUFFER_I16 => (2, false),
        Isa::LOAD_I24 | Isa::LD_BUFFER_I24 => (3, false),
        Isa::LOAD_I32 | Isa::LD_BUFFER_I32 => (4, false),
        Isa::LOAD_I48 | Isa::LD_BUFFER_I48 => (6, false),
        Isa::LOAD_I64 | Isa::LD_BUFFER_I64 => (8, false),
        Isa::LOAD_I96 | Isa::LD_BUFFER_I96 => (12, false),
        Isa::LOAD_I128 | Isa::LD_BUFFER_I128 => (16, false),
        Isa::STORE_I8 => (1, true),
        Isa::STORE_I16 => (2, true),
        Isa::STORE_I24 => (3, true),
        Isa::STORE_I32 | Isa::ATOM_I32 | Isa::ATOM_RETURN_I32 | Isa::ATOM1_RETURN_I32 => (4, true),
        Isa::STORE_I48 => (6, true),
        Isa::STORE_I64 | Isa::ATOM_I64 | Isa::ATOM_RETURN_I64 | Isa::ATOM1_RETURN_I64 => (8, true),
        Isa::STORE_I96 => (12, true),
        Isa::STORE_I128 => (16, true),
        _ => return None,
    })
}

/// The access of memory that an operation of Valhall is about to do. Of lanes that reach several memories, those that reach the
/// memory of the first one are told.
fn access(l: &mut Lanes<'_, '_>, op: &Op, workgroup: &Range<u64>) -> Option<Access> {
    let isa = op.isa?;
    let (bytes, writes) = kind(isa)?;
    let mut addresses = [0; LANES];
    let mut space = None;
    let mut lanes = 0u16;
    let by_buffer = isa.row().name.starts_with("LD_BUFFER");
    let (base, offset) = (l.get64(&op.src[0]), i64::from(op.immediate as i32));
    let (offsets, handles) = (l.get(&op.src[0]), l.get(&op.src[1]));
    for lane in l.active() {
        if writes && l.warp.helpers >> lane & 1 != 0 {
            continue;
        }
        let address = if by_buffer {
            let offset = u64::from(offsets.0[lane]);
            // A descriptor that cannot be read traps when the instruction executes.
            match l.port.extent(handles.0[lane]) {
                Ok((first, size)) if offset < size => first.wrapping_add(offset),
                _ => continue,
            }
        } else {
            base[lane].wrapping_add_signed(offset)
        };
        let (own, address) = match address {
            at if workgroup.contains(&at) => (MemorySpace::Local, at - workgroup.start),
            at if at & LOCAL_WINDOW != 0 => {
                (MemorySpace::Thread, at & 0xffff_ffff | (lane as u64) << 32)
            }
            at if at >> 56 == NOWHERE >> 56 => continue,
            // Outputs of vertices are in no memory yet.
            at if at >> 56 != 0 => continue,
            at => (MemorySpace::Device, at),
        };
        if *space.get_or_insert(own) == own {
            addresses[lane] = address;
            lanes |= 1 << lane;
        }
    }
    Some(Access { space: space?, writes, lanes, addresses, bytes })
}
