//! Messages: what the load/store unit does for a warp.

mod atomic;
mod buffer;
mod image;
mod memory;

use tepui_mali_isa::Op as Isa;
use tepui_softgpu::{Access, AddressSpace, Fault, FaultKind, UnitMemory};

use super::op::{Handler, Trap};

pub use atomic::COMPARE;
pub use buffer::handle;
pub use image::{ARRAY, COORDINATES, IN_INSTRUCTION, OFFSET, SHORT, WIDE};
pub use memory::{SIGNED, place};

/// The upper half of an address of thread-local storage.
///
/// A shader computes addresses of its own storage from one pointer, which is the same for all
/// threads, so that the unit must add the thread's place. In packed mode the driver does not say
/// where a thread's bytes are, and nobody reads them; the pointer's value is this model's own.
pub const LOCAL_WINDOW: u64 = 1 << 63;

/// The address that LEA_BUFFER gives for an offset beyond a buffer's end.
///
/// Mesa's compiler adds no check of its own before it accesses the address, and Vulkan wants such
/// accesses to do nothing. Which address silicon gives is not known; around this one loads give zero,
/// stores and atomics do nothing.
pub const NOWHERE: u64 = 0x4000_8000_0000_0000;

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
    images: image::Cache,
}

impl<'vm> Port<'vm> {
    /// Units that access an address space.
    pub fn new(vm: &'vm AddressSpace, resources: u64) -> Port<'vm> {
        Port {
            memory: UnitMemory::new(vm),
            resources,
            local: LocalStorage::default(),
            buffers: buffer::Cache::default(),
            images: image::Cache::default(),
        }
    }

    /// The address that a lane's address means; `None` if an access does nothing.
    #[inline(always)]
    fn address(
        &self,
        address: u64,
        lane: usize,
        bytes: u64,
        access: Access,
    ) -> Result<Option<u64>, Box<Trap>> {
        if address >> 56 == 0 {
            return Ok(Some(address));
        }
        if address >> 56 == NOWHERE >> 56 {
            return Ok(None);
        }
        if address & LOCAL_WINDOW == 0 {
            let kind = FaultKind::OutOfRange;
            return Err(Box::new(Trap::Memory(Fault { address, access, kind })));
        }
        let offset = address & 0xffff_ffff;
        if offset + bytes > self.local.bytes {
            let kind = FaultKind::OutOfRange;
            return Err(Box::new(Trap::Memory(Fault { address, access, kind })));
        }
        Ok(Some(self.local.base + lane as u64 * self.local.bytes + offset))
    }
}

/// A failed access as a trap.
#[cold]
fn failed(fault: Fault) -> Box<Trap> {
    Box::new(Trap::Memory(fault))
}

/// The handler of an instruction.
pub fn handler(isa: Isa) -> Option<Handler> {
    memory::handler(isa)
        .or_else(|| atomic::handler(isa))
        .or_else(|| buffer::handler(isa))
        .or_else(|| image::handler(isa))
}
