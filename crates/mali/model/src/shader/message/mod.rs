//! Messages: what the load/store unit does for a warp.

mod atomic;
mod buffer;
mod memory;

use tepui_mali_isa::Op as Isa;
use tepui_softgpu::{Access, AddressSpace, Fault, FaultKind, UnitMemory};

use super::op::{Handler, Trap};

pub use atomic::COMPARE;
pub use memory::{SIGNED, place};

/// The upper half of an address of thread-local storage.
///
/// A shader computes addresses of its own storage from one pointer, which is the same for all
/// threads, so that the unit must add the thread's place. In packed mode the driver does not say
/// where a thread's bytes are, and nobody reads them; the pointer's value is this model's own.
pub const LOCAL_WINDOW: u64 = 1 << 63;

/// Thread-local storage of a warp.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalStorage {
    /// The first byte of lane 0.
    pub base: u64,
    /// Bytes of a thread.
    pub bytes: u64,
}

/// The units that take a warp's messages.
pub struct Port<'vm> {
    /// Memory.
    pub memory: UnitMemory<'vm>,
    /// Address and count of the resource tables.
    pub resources: u64,
    /// Thread-local storage.
    pub local: LocalStorage,
    buffers: buffer::Cache,
}

impl<'vm> Port<'vm> {
    /// Units that access an address space.
    pub fn new(vm: &'vm AddressSpace, resources: u64) -> Port<'vm> {
        Port {
            memory: UnitMemory::new(vm),
            resources,
            local: LocalStorage::default(),
            buffers: buffer::Cache::default(),
        }
    }

    /// The address that a lane's address means.
    #[inline(always)]
    fn address(
        &self,
        address: u64,
        lane: usize,
        bytes: u64,
        access: Access,
    ) -> Result<u64, Box<Trap>> {
        if address & LOCAL_WINDOW == 0 {
            return Ok(address);
        }
        let offset = address & 0xffff_ffff;
        if offset + bytes > self.local.bytes {
            let kind = FaultKind::OutOfRange;
            return Err(Box::new(Trap::Memory(Fault { address, access, kind })));
        }
        Ok(self.local.base + lane as u64 * self.local.bytes + offset)
    }
}

/// A failed access as a trap.
#[cold]
fn failed(fault: Fault) -> Box<Trap> {
    Box::new(Trap::Memory(fault))
}

/// The handler of an instruction.
pub fn handler(isa: Isa) -> Option<Handler> {
    memory::handler(isa).or_else(|| atomic::handler(isa)).or_else(|| buffer::handler(isa))
}
