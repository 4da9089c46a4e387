//! Buffers of resource tables.
//!
//! A handle names a table, in its upper eight bits, and a descriptor of it. Reads beyond a buffer's
//! size, of null descriptors and of descriptors that no table has give zero.

use tepui_mali_isa::Op as Isa;
use tepui_mali_packets::Packet;
use tepui_mali_packets::shader::{Buffer, Resource};

use super::super::op::{Handler, Lanes, Op, Trap};
use super::super::row::Row;
use super::{Port, failed};

/// Bytes of a descriptor.
const DESCRIPTOR_BYTES: u64 = 32;

/// Bits of a descriptor's index in a handle.
const INDEX_BITS: u32 = 24;

/// A buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Descriptor {
    /// The first byte.
    pub address: u64,
    /// Size in bytes.
    pub size: u64,
}

/// Descriptors that were read last, by handle.
pub struct Cache {
    entries: [(u32, Descriptor); Cache::SIZE],
}

impl Cache {
    const SIZE: usize = 16;
}

impl Default for Cache {
    fn default() -> Self {
        // No handle has this value in this place.
        let empty = |place| (!(place as u32), Descriptor::default());
        Cache { entries: std::array::from_fn(empty) }
    }
}

impl Port<'_> {
    /// The buffer of a handle.
    fn buffer(&mut self, handle: u32) -> Result<Descriptor, Box<Trap>> {
        let place = handle as usize % Cache::SIZE;
        if self.buffers.entries[place].0 == handle {
            return Ok(self.buffers.entries[place].1);
        }
        let buffer = match self.descriptor(handle)? {
            Some(bytes) if bytes.iter().any(|b| *b != 0) => {
                let buffer = Buffer::unpack(&bytes)
                    .map_err(|e| Box::new(Trap::Invalid(format!("buffer {handle:#x}: {e}"))))?;
                Descriptor { address: buffer.address, size: buffer.size.into() }
            }
            _ => Descriptor::default(),
        };
        self.buffers.entries[place] = (handle, buffer);
        Ok(buffer)
    }

    /// The bytes of a descriptor; `None` if no table has it.
    pub fn descriptor(&mut self, handle: u32) -> Result<Option<[u8; 32]>, Box<Trap>> {
        let (table, index) = (handle >> INDEX_BITS, handle & ((1 << INDEX_BITS) - 1));
        // The pointer's lower six bits count the tables.
        let (tables, count) = (self.resources & !0x3f, (self.resources & 0x3f) as u32);
        if table >= count {
            return Ok(None);
        }
        let at = tables + u64::from(table) * Resource::SIZE_BYTES as u64;
        let bytes = self.memory.read_array::<{ Resource::SIZE_BYTES }>(at).map_err(failed)?;
        let entry = Resource::unpack(&bytes)
            .map_err(|e| Box::new(Trap::Invalid(format!("resource table {table}: {e}"))))?;
        let offset = u64::from(index) * DESCRIPTOR_BYTES;
        if offset + DESCRIPTOR_BYTES > entry.size {
            return Ok(None);
        }
        self.memory.read_array(entry.address + offset).map(Some).map_err(failed)
    }
}

/// The handler of an instruction.
pub fn handler(isa: Isa) -> Option<Handler> {
    Some(match isa {
        Isa::LD_BUFFER_I8 => load::<1>,
        Isa::LD_BUFFER_I16 => load::<2>,
        Isa::LD_BUFFER_I24 => load::<3>,
        Isa::LD_BUFFER_I32 => load::<4>,
        Isa::LD_BUFFER_I48 => load::<6>,
        Isa::LD_BUFFER_I64 => load::<8>,
        Isa::LD_BUFFER_I96 => load::<12>,
        Isa::LD_BUFFER_I128 => load::<16>,
        Isa::LEA_BUFFER => |l, op| {
            let (offsets, handles) = (l.get(&op.src[0]), l.get(&op.src[1]));
            let mut address = [Row::splat(0); 2];
            for lane in l.active() {
                let buffer = l.port.buffer(handles.0[lane])?;
                let at = buffer.address + u64::from(offsets.0[lane]);
                [address[0].0[lane], address[1].0[lane]] = [at as u32, (at >> 32) as u32];
            }
            let (register, count) = op.staging[0];
            for (i, row) in address.iter().enumerate().take(count.into()) {
                l.put_register(register + i as u8, row);
            }
            Ok(())
        },
        _ => return None,
    })
}

fn load<const BYTES: usize>(l: &mut Lanes<'_, '_>, op: &Op) -> Result<(), Box<Trap>> {
    let (offsets, handles) = (l.get(&op.src[0]), l.get(&op.src[1]));
    let mut words = [Row::splat(0); 4];
    for lane in l.active() {
        let buffer = l.port.buffer(handles.0[lane])?;
        let offset = u64::from(offsets.0[lane]);
        let mut bytes = [0; 16];
        // What is within the buffer is read.
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
