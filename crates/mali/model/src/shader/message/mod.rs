//! Messages: operations of the load/store, varying, texture and tile units for a warp.

mod atomic;
mod attribute;
mod buffer;
mod image;
mod memory;
mod midgard;
mod pixel;
mod sampler;
mod surface;
pub mod tables;
mod texture;
mod varying;
mod vertices;
mod view;
mod warp_access;

use tepui_mali_isa::Op as Isa;
use tepui_softgpu::{Access, AddressSpace, Fault, FaultKind, UnitMemory};

use super::op::{Handler, Trap};
use super::row::LANES;
use super::watched::Watched;
use crate::render::pixels::Pixels;

pub use atomic::COMPARE;
pub use buffer::handle;
pub use image::{IN_INSTRUCTION, is_short, store_by_conversion};
pub use memory::{FORCED, SIGNED, place, placed};
pub use pixel::{DEPTH, ENDS, STENCIL, blend_or_call, discard_or_help, load_tile, store_tile};
pub use pixel::{colours, only_sample};
pub use sampler::{Unit, swizzled_rows};
pub use texture::{
    ARRAY as TEXTURE_ARRAY, FetchOperands, OFFSET as TEXTURE_OFFSET, SHADOW as TEXTURE_SHADOW,
    WIDE as TEXTURE_WIDE, component as texture_component, derivatives as texture_derivatives,
    fields as texture_fields, flags as texture_flags, lod as texture_lod,
    ranges as texture_gradient,
};
pub use varying::{flags as varying_flags, sample_flags};
pub use vertices::VertexOutput;
pub use view::Texel;
pub use warp_access::WarpAccess;

/// Upper bits of an address of thread-local storage.
///
/// A shader computes addresses of its own storage from one pointer, which is the same for all threads, so
/// that the unit must add the thread's offset. In packed mode the driver does not determine the location of a
/// thread's bytes, and only the hardware reads them; the pointer's value is this model's own.
pub const LOCAL_WINDOW: u64 = 1 << 63;

/// The address that LEA_BUFFER returns for an offset past a buffer's end.
///
/// Mesa's compiler adds no bounds check of its own before it accesses the address, and Vulkan requires such
/// accesses to do nothing. The address that silicon returns is not known; around this one loads return zero,
/// stores and atomics do nothing.
pub const NOWHERE: u64 = 0x4000_8000_0000_0000;

/// Bytes of a word of thread-local storage.
const WORD: u64 = 4;

/// Thread-local storage of a warp. A word of all lanes is a row: the values of the lanes at one offset are
/// contiguous.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalStorage {
    /// The first byte.
    pub base: u64,
    /// Bytes of a thread.
    pub bytes: u64,
}

impl LocalStorage {
    /// The address of a byte of a lane.
    #[inline(always)]
    pub fn at(&self, offset: u64, lane: usize) -> u64 {
        let word = offset / WORD * LANES as u64 + lane as u64;
        self.base.wrapping_add(word * WORD + offset % WORD)
    }
}

/// The memory that a lane's address refers to.
enum LaneAddress {
    /// None: an access does nothing.
    Nowhere,
    /// Global memory, or a vertex output.
    At(u64),
    /// Thread-local storage, by byte offset.
    Local(u64),
}

/// The units that receive a warp's messages.
pub struct Port<'vm> {
    /// Memory.
    pub memory: UnitMemory<'vm>,
    /// Address and count of the resource tables.
    pub resources: u64,
    /// Bifrost's descriptors, which replace resource tables.
    pub tables: Option<tables::Tables>,
    /// Added to the index of attributes that request it.
    pub attribute_offset: u32,
    /// Thread-local storage.
    pub local: LocalStorage,
    /// Output of a vertex shader.
    pub vertices: VertexOutput,
    /// The fragment units.
    pub pixels: Option<Box<Pixels>>,
    /// The observer of warps.
    pub watched: Option<Box<Watched<'vm>>>,
    buffers: buffer::Cache,
    attributes: attribute::Cache,
    views: view::Cache,
    samplers: sampler::Cache,
}

impl<'vm> Port<'vm> {
    /// Units that access an address space.
    pub fn new(vm: &'vm AddressSpace, resources: u64) -> Port<'vm> {
        Port {
            memory: UnitMemory::new(vm),
            resources,
            tables: None,
            attribute_offset: 0,
            local: LocalStorage::default(),
            vertices: VertexOutput::default(),
            pixels: None,
            watched: None,
            buffers: buffer::Cache::default(),
            attributes: attribute::Cache::default(),
            views: view::Cache::default(),
            samplers: sampler::Cache::default(),
        }
    }

    /// The units with an observer of warps.
    pub fn observed(self, watched: Option<Box<Watched<'vm>>>) -> Port<'vm> {
        Port { watched, ..self }
    }

    /// Prepares for another shader.
    pub fn begin(&mut self, resources: u64, tables: Option<tables::Tables>) {
        self.resources = resources;
        self.tables = tables;
        self.vertices.end();
        self.buffers = buffer::Cache::default();
        self.attributes = attribute::Cache::default();
        self.views = view::Cache::default();
        self.samplers = sampler::Cache::default();
    }

    /// Writes bytes of memory or of a vertex output.
    #[inline(always)]
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Box<Trap>> {
        if address >> 56 == vertices::WINDOW >> 56 {
            return self.vertices.write(address, bytes);
        }
        self.memory.write(address, bytes).map_err(failed)
    }

    #[inline(always)]
    fn place(&self, address: u64, bytes: u64, access: Access) -> Result<LaneAddress, Box<Trap>> {
        if address >> 56 == 0 || address >> 56 == vertices::WINDOW >> 56 {
            return Ok(LaneAddress::At(address));
        }
        if address >> 56 == NOWHERE >> 56 {
            return Ok(LaneAddress::Nowhere);
        }
        let offset = address & 0xffff_ffff;
        if address & LOCAL_WINDOW == 0 || offset + bytes > self.local.bytes {
            let kind = FaultKind::OutOfRange;
            return Err(Box::new(Trap::Memory(Fault { address, access, kind })));
        }
        Ok(LaneAddress::Local(offset))
    }

    /// The memory address of the bytes at a lane's address; `None` if an access does nothing.
    ///
    /// # Errors
    /// The bytes are not in memory, or cross a word of thread-local storage, which is not contiguous.
    #[inline(always)]
    pub fn address(
        &self,
        address: u64,
        lane: usize,
        bytes: u64,
        access: Access,
    ) -> Result<Option<u64>, Box<Trap>> {
        match self.place(address, bytes, access)? {
            LaneAddress::Nowhere => Ok(None),
            LaneAddress::At(address) => Ok(Some(address)),
            LaneAddress::Local(offset) if offset % WORD + bytes <= WORD => {
                Ok(Some(self.local.at(offset, lane)))
            }
            LaneAddress::Local(_) => {
                let what = "several words of thread-local storage in this instruction";
                Err(Box::new(Trap::Unimplemented(what.into())))
            }
        }
    }

    /// Reads the bytes at a lane's address; `into` is unchanged if an access does nothing.
    #[inline(always)]
    pub fn read_lane(
        &mut self,
        address: u64,
        lane: usize,
        into: &mut [u8],
    ) -> Result<(), Box<Trap>> {
        match self.place(address, into.len() as u64, Access::Read)? {
            LaneAddress::Nowhere => {}
            LaneAddress::At(address) => self.memory.read(address, into).map_err(failed)?,
            LaneAddress::Local(offset) => {
                for (n, byte) in (0u64..).zip(into.iter_mut()) {
                    let at = self.local.at(offset + n, lane);
                    self.memory.read(at, std::slice::from_mut(byte)).map_err(failed)?;
                }
            }
        }
        Ok(())
    }

    /// Writes the bytes at a lane's address.
    #[inline(always)]
    pub fn write_lane(&mut self, address: u64, lane: usize, from: &[u8]) -> Result<(), Box<Trap>> {
        match self.place(address, from.len() as u64, Access::Write)? {
            LaneAddress::Nowhere => {}
            LaneAddress::At(address) => self.write(address, from)?,
            LaneAddress::Local(offset) => {
                for (n, byte) in (0u64..).zip(from) {
                    let at = self.local.at(offset + n, lane);
                    self.memory.write(at, std::slice::from_ref(byte)).map_err(failed)?;
                }
            }
        }
        Ok(())
    }
}

/// A failed access as a trap.
#[cold]
pub fn failed(fault: Fault) -> Box<Trap> {
    Box::new(Trap::Memory(fault))
}

/// The handler of an instruction.
pub fn handler(isa: Isa) -> Option<Handler> {
    memory::handler(isa)
        .or_else(|| atomic::handler(isa))
        .or_else(|| buffer::handler(isa))
        .or_else(|| image::handler(isa))
        .or_else(|| texture::handler(isa))
        .or_else(|| attribute::handler(isa))
        .or_else(|| varying::handler(isa))
        .or_else(|| pixel::handler(isa))
}
