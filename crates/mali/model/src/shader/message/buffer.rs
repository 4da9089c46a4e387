//! Buffers of resource tables.
//!
//! A handle names a table, in its upper eight bits, and a descriptor in it. Two table numbers are special:
//! with them the handle names a table by its lower byte, whose descriptors are the buffer's contents, so that
//! shaders can read them. Reads past a buffer's end, of null descriptors and of missing descriptors return
//! zero.
//!
// source: ISA.xml, LD_BUFFER; Mesa's compiler reads the size of a buffer from table 62.

use tepui_mali_isa::Op as Isa;
use tepui_softgpu::Protection;

use crate::shader::op::{Handler, Lanes, Op};
use crate::warp::host::for_hosts;
use crate::warp::row::{LANES, Row};
use crate::warp::trap::{Trap, failed};

for_hosts! {
    /// The handler of an instruction.
    pub fn handler(isa: Isa) -> Option<Handler> {
        Some(match isa {
            Isa::LD_BUFFER_I8 => |l, op| load::<1>(l, op),
            Isa::LD_BUFFER_I16 => |l, op| load::<2>(l, op),
            Isa::LD_BUFFER_I24 => |l, op| load::<3>(l, op),
            Isa::LD_BUFFER_I32 => |l, op| load::<4>(l, op),
            Isa::LD_BUFFER_I48 => |l, op| load::<6>(l, op),
            Isa::LD_BUFFER_I64 => |l, op| load::<8>(l, op),
            Isa::LD_BUFFER_I96 => |l, op| load::<12>(l, op),
            Isa::LD_BUFFER_I128 => |l, op| load::<16>(l, op),
            Isa::LEA_BUFFER => |l, op| {
                let (offsets, handles) = (l.get(&op.src[0]), l.get(&op.src[1]));
                let mut address = [Row::splat(0); 2];
                if let Some(handle) = shared_handle(l, &handles) {
                    let buffer = l.port.buffer(handle)?;
                    for lane in 0..LANES {
                        let at = buffer.at(offsets.0[lane].into());
                        [address[0].0[lane], address[1].0[lane]] = [at as u32, (at >> 32) as u32];
                    }
                    l.put_staging(op, &address);
                    return Ok(());
                }
                for lane in l.active() {
                    let at = l.port.buffer(handles.0[lane])?.at(offsets.0[lane].into());
                    [address[0].0[lane], address[1].0[lane]] = [at as u32, (at >> 32) as u32];
                }
                l.put_staging(op, &address);
                Ok(())
            },
            // The table and the index are in the instruction, the offset is the source.
            Isa::LEA_BUF_IMM => |l, op| {
                let offsets = l.get(&op.src[0]);
                let buffer = l.port.buffer(op.flags)?;
                let mut address = [Row::splat(0); 2];
                for lane in l.active() {
                    let at = buffer.at(u64::from(offsets.0[lane]) * buffer.stride);
                    [address[0].0[lane], address[1].0[lane]] = [at as u32, (at >> 32) as u32];
                }
                l.put_staging(op, &address);
                Ok(())
            },
            _ => return None,
        })
    }
}

/// The handle, if it is uniform over the executing lanes.
#[inline(always)]
fn shared_handle(l: &Lanes<'_, '_>, handles: &Row) -> Option<u32> {
    let mask = l.warp.mask;
    let first = handles.0[mask.trailing_zeros() as usize % LANES];
    let same = |(lane, handle): (usize, &u32)| *handle == first || mask >> lane & 1 == 0;
    handles.0.iter().enumerate().all(same).then_some(first)
}

#[inline(always)]
fn load<const BYTES: usize>(l: &mut Lanes<'_, '_>, op: &Op) -> Result<(), Box<Trap>> {
    let (offsets, handles) = (l.get(&op.src[0]), l.get(&op.src[1]));
    let mut words = [Row::splat(0); 4];
    let mask = l.warp.mask;
    if mask != 0
        && let Some(handle) = shared_handle(l, &handles)
    {
        let buffer = l.port.buffer(handle)?;
        let first = offsets.0[mask.trailing_zeros() as usize % LANES];
        if offsets == Row::splat(first) && u64::from(first) + BYTES as u64 <= buffer.size {
            // Uniforms: all lanes read the same bytes.
            let mut bytes = [0; 16];
            let at = buffer.address.wrapping_add(first.into());
            l.port.memory.read(at, &mut bytes[..BYTES]).map_err(failed)?;
            for (row, word) in words.iter_mut().zip(crate::pixels::format::words(&bytes)) {
                *row = Row::splat(word);
            }
            super::memory::deliver::<BYTES>(l, op, &words);
            return Ok(());
        }
        let mut within = true;
        for (lane, offset) in offsets.0.iter().enumerate() {
            let there = u64::from(*offset) + BYTES as u64 <= buffer.size;
            within &= there || mask >> lane & 1 == 0;
        }
        let addresses = offsets.0.map(|offset| buffer.address.wrapping_add(offset.into()));
        let need = Protection::READ;
        if within && let Some(access) = l.port.warp_access(&addresses, mask, BYTES as u64, need) {
            access.load::<BYTES>(&mut words);
            super::memory::deliver::<BYTES>(l, op, &words);
            return Ok(());
        }
    }
    for lane in l.active() {
        let buffer = l.port.buffer(handles.0[lane])?;
        let offset = u64::from(offsets.0[lane]);
        let mut bytes = [0; 16];
        // Only bytes within the buffer are read.
        let there = buffer.size.saturating_sub(offset).min(BYTES as u64) as usize;
        if there > 0 {
            let at = buffer.address + offset;
            l.port.memory.read(at, &mut bytes[..there]).map_err(failed)?;
        }
        for (row, word) in words.iter_mut().zip(bytes.as_chunks::<4>().0) {
            row.0[lane] = u32::from_le_bytes(*word);
        }
    }
    super::memory::deliver::<BYTES>(l, op, &words);
    Ok(())
}
