//! Loads programs: reads machine code from GPU memory up to the end of the program, and lowers its
//! instructions.

use std::collections::HashMap;

use tepui_agx_isa::{DecodeError, Inst};
use tepui_softgpu::AddressSpace;

use super::code::{Builder, Code, Placed};
use super::lower::{lower, refuse_as};
use super::query;
use crate::job::{FaultKind, GroupFault};

/// The longest program that is decoded, in bytes: code without an end stops here.
pub const MAX_BYTES: usize = 1 << 22;

/// Reads and decodes the program at an address. What cannot be decoded becomes an operation that
/// faults when it is executed.
pub fn load(vm: &AddressSpace, address: u64, usc_exec_base: u64) -> Result<Code, GroupFault> {
    let (bytes, placed, mut undecoded) = read(vm, address)?;
    let mut builder = Builder::new(address, usc_exec_base, &placed);
    let mut ops = Vec::with_capacity(placed.len());
    for (index, p) in placed.iter().enumerate() {
        ops.push(match &p.inst {
            Some(inst) => lower(&mut builder, index, inst),
            None => {
                let why = undecoded
                    .remove(&p.offset)
                    .unwrap_or_else(|| "an instruction that cannot be decoded".to_owned());
                refuse_as(&mut builder, FaultKind::Undecodable, why)
            }
        });
    }
    builder.finish(bytes, ops).map_err(|why| (FaultKind::Invalid, why))
}

/// Bytes, instructions, and why some could not be decoded, by offset.
type Decoded = (Vec<u8>, Vec<Placed>, HashMap<u32, String>);

/// Reads instructions up to the end of the program: a `stop` that no branch jumps over and that is
/// not inside an `if`, after which other threads go on.
fn read(vm: &AddressSpace, address: u64) -> Result<Decoded, GroupFault> {
    let mut bytes: Vec<u8> = Vec::new();
    let mut placed = Vec::new();
    let mut undecoded = HashMap::new();
    // The highest place that a branch leads to.
    let mut reach = 0i64;
    let mut nesting = 0i64;
    let mut offset = 0usize;
    loop {
        if bytes.len() < offset + 16 && bytes.len() < MAX_BYTES {
            extend(vm, address, &mut bytes, offset + 16)?;
        }
        let rest = bytes.get(offset..).unwrap_or(&[]);
        if rest.is_empty() {
            return Ok((bytes, placed, undecoded));
        }
        match Inst::decode(rest) {
            Ok((inst, length)) => {
                placed.push(Placed { offset: offset as u32, inst: Some(inst) });
                if let Some(target) = inst.branch_offset() {
                    reach = reach.max(offset as i64 + i64::from(target));
                }
                nesting += query::nesting(&inst);
                if inst.is_end() && reach <= offset as i64 && nesting <= 0 {
                    bytes.truncate(offset + length);
                    return Ok((bytes, placed, undecoded));
                }
                offset += length;
            }
            Err(error) => {
                placed.push(Placed { offset: offset as u32, inst: None });
                undecoded.insert(offset as u32, describe_error(&error));
                return Ok((bytes, placed, undecoded));
            }
        }
    }
}

fn describe_error(error: &DecodeError) -> String {
    format!("an instruction that cannot be decoded: {error}")
}

/// Reads on to at least `want` bytes, as far as memory is bound.
fn extend(
    vm: &AddressSpace,
    address: u64,
    bytes: &mut Vec<u8>,
    want: usize,
) -> Result<(), GroupFault> {
    let mut chunk = [0; 1024];
    while bytes.len() < want.min(MAX_BYTES) {
        let at = address + bytes.len() as u64;
        // Up to the next multiple of the chunk, so that no read crosses a page.
        let length = chunk.len() - (at as usize & (chunk.len() - 1));
        match vm.read(at, &mut chunk[..length]) {
            Ok(()) => bytes.extend_from_slice(&chunk[..length]),
            Err(fault) if bytes.is_empty() => {
                let why = format!("the program cannot be read: {fault}");
                return Err((FaultKind::Unbound, why));
            }
            Err(_) => return Ok(()),
        }
    }
    Ok(())
}
