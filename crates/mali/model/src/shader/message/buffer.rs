//! Buffers of resource tables.
//!
//! A handle names a table, in its upper eight bits, and a descriptor in it. Two table numbers are special:
//! with them the handle names a table by its lower byte, whose descriptors are the buffer's contents, so that
//! shaders can read them. Reads past a buffer's end, of null descriptors and of missing descriptors return
//! zero.
//!
// source: ISA.xml, LD_BUFFER; Mesa's compiler reads the size of a buffer from table 62.

use tepui_mali_isa::Op as Isa;
use tepui_mali_packets::Packet;
use tepui_mali_packets::shader::{Buffer, BufferType, Resource};
use tepui_softgpu::Protection;

use super::super::host::for_hosts;
use super::super::op::{Handler, Lanes, Op, Trap};
use super::super::row::{LANES, Row};
use super::{NOWHERE, Port, failed};

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
    fn at(&self, offset: u64) -> u64 {
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
    pub(super) fn buffer(&mut self, handle: u32) -> Result<Descriptor, Box<Trap>> {
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
                    deliver_address(l, op, &address);
                    return Ok(());
                }
                for lane in l.active() {
                    let at = l.port.buffer(handles.0[lane])?.at(offsets.0[lane].into());
                    [address[0].0[lane], address[1].0[lane]] = [at as u32, (at >> 32) as u32];
                }
                deliver_address(l, op, &address);
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
                deliver_address(l, op, &address);
                Ok(())
            },
            _ => return None,
        })
    }
}

fn deliver_address(l: &mut Lanes<'_, '_>, op: &Op, address: &[Row; 2]) {
    let (register, count) = op.staging[0];
    for (i, row) in address.iter().enumerate().take(count.into()) {
        l.put_register(register + i as u8, row);
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
            for (row, word) in words.iter_mut().zip(crate::pixel::words(&bytes)) {
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
