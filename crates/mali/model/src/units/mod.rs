//! The units that receive a warp's messages: memory, descriptors that they have read, textures, and those of fragments.
//!
//! The units read descriptors of Valhall. Bifrost's and Midgard's are converted to these ([`tables`], [`surface`]).

pub mod attribute;
pub mod buffer;
mod midgard;
pub mod sampler;
pub mod surface;
pub mod tables;
pub mod vertices;
pub mod view;
pub mod warp_access;

use tepui_softgpu::{Access, AddressSpace, Fault, FaultKind, UnitMemory};

use crate::pixels::Pixels;
use crate::warp::addresses::Tables;
use crate::warp::local::{LOCAL_WINDOW, LocalStorage, NOWHERE, WORD};
use crate::warp::trap::{Trap, failed};
use crate::watch::Watched;

use vertices::VertexOutput;

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
    pub tables: Option<Tables>,
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
    pub fn begin(&mut self, resources: u64, tables: Option<Tables>) {
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
