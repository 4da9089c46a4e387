//! Buffers of resource tables.
//!
//! A handle names a table, in its upper eight bits, and a descriptor in it. Two table numbers are special:
//! with them the handle names a table by its lower byte, whose descriptors are the buffer's contents, so that
//! shaders can read them. Reads past a buffer's end, of null descriptors and of missing descriptors return
//! zero.
//!
// source: ISA.xml, LD_BUFFER; Mesa's compiler reads the size of a buffer from table 62.

use tepui_mali_packets::Packet;
use tepui_mali_packets::shader::{Buffer, BufferType, Resource};

use super::Port;
use crate::warp::local::NOWHERE;
use crate::warp::trap::{Trap, failed};

/// Bytes of a descriptor.
const DESCRIPTOR_BYTES: u64 = 32;

/// Bits of a descriptor's index in a handle.
const INDEX_BITS: u32 = 24;

/// The first of the special table numbers: all bits from the second of the upper eight on except for the top
/// two.
const CONTENT_OF_TABLES: u32 = 62;

/// The table of vertex outputs.
const VERTICES: u32 = 61;

/// A buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Descriptor {
    /// The first byte.
    pub address: u64,
    /// Size in bytes.
    pub size: u64,
    /// Bytes of an element: 1 for simple buffers.
    pub stride: u64,
}

impl Descriptor {
    /// The address of a byte.
    pub fn at(&self, offset: u64) -> u64 {
        if offset < self.size { self.address.wrapping_add(offset) } else { NOWHERE }
    }
}

/// Recently read descriptors, by handle.
pub struct Cache {
    entries: [(u32, Descriptor); Cache::SIZE],
}

impl Cache {
    const SIZE: usize = 16;
}

impl Default for Cache {
    fn default() -> Self {
        // A value that no handle in this slot has.
        let empty = |place| (!(place as u32), Descriptor::default());
        Cache { entries: std::array::from_fn(empty) }
    }
}

impl Port<'_> {
    /// Address and bytes of the buffer of a handle.
    pub fn extent(&mut self, handle: u32) -> Result<(u64, u64), Box<Trap>> {
        self.buffer(handle).map(|buffer| (buffer.address, buffer.size))
    }

    /// The buffer of a handle.
    pub fn buffer(&mut self, handle: u32) -> Result<Descriptor, Box<Trap>> {
        if handle >> INDEX_BITS == VERTICES {
            return Ok(self.vertices.descriptor());
        }
        let place = handle as usize % Cache::SIZE;
        if self.buffers.entries[place].0 == handle {
            return Ok(self.buffers.entries[place].1);
        }
        let buffer = match self.descriptor(handle)? {
            _ if handle >> INDEX_BITS >= CONTENT_OF_TABLES => {
                let table = self.table(handle & 0xff)?.unwrap_or_default();
                Descriptor { address: table.address, size: table.size, stride: 1 }
            }
            Some(bytes) if bytes.iter().any(|b| *b != 0) => {
                let buffer = Buffer::unpack(&bytes)
                    .map_err(|e| Box::new(Trap::Invalid(format!("buffer {handle:#x}: {e}"))))?;
                let stride = match buffer.buffer_type {
                    BufferType::Simple => 1,
                    BufferType::Structure => buffer.stride.into(),
                    kind => {
                        let what = format!("buffers of type {kind}");
                        return Err(Box::new(Trap::Unimplemented(what)));
                    }
                };
                Descriptor { address: buffer.address, size: buffer.size.into(), stride }
            }
            _ => Descriptor::default(),
        };
        self.buffers.entries[place] = (handle, buffer);
        Ok(buffer)
    }

    /// A table; `None` if there is no table of this number.
    fn table(&mut self, table: u32) -> Result<Option<Resource>, Box<Trap>> {
        // The pointer's lower six bits are the number of tables.
        let (tables, count) = (self.resources & !0x3f, (self.resources & 0x3f) as u32);
        if table >= count {
            return Ok(None);
        }
        let at = tables + u64::from(table) * Resource::SIZE_BYTES as u64;
        let bytes = self.memory.read_array::<{ Resource::SIZE_BYTES }>(at).map_err(failed)?;
        Resource::unpack(&bytes)
            .map(Some)
            .map_err(|e| Box::new(Trap::Invalid(format!("resource table {table}: {e}"))))
    }

    /// The bytes of a descriptor; `None` if no table contains it.
    pub fn descriptor(&mut self, handle: u32) -> Result<Option<[u8; 32]>, Box<Trap>> {
        if let Some(tables) = self.tables {
            return tables.descriptor(&mut self.memory, handle);
        }
        let (table, index) = (handle >> INDEX_BITS, handle & ((1 << INDEX_BITS) - 1));
        let Some(entry) = self.table(table)? else { return Ok(None) };
        let offset = u64::from(index) * DESCRIPTOR_BYTES;
        if offset + DESCRIPTOR_BYTES > entry.size {
            return Ok(None);
        }
        self.memory.read_array(entry.address + offset).map(Some).map_err(failed)
    }
}

/// The handle of the descriptor in an instruction: its four table bits name the first twelve and the last
/// four of 64 tables.
pub fn handle(table: i64, index: i64) -> u32 {
    let table = if table < 12 { table } else { table + 60 - 12 };
    (table as u32) << INDEX_BITS | index as u32 & ((1 << INDEX_BITS) - 1)
}
