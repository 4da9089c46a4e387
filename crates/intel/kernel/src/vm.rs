//! Address spaces and the buffers that submissions pinned in them.
//!
//! The client chooses addresses ("softpin") and names them with each submission; a buffer stays
//! bound at its address until another one is pinned over it or its handle is closed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use tepui_drm::Errno;
use tepui_drm::gem::Gem;
use tepui_drm::refusal::Refusal;
use tepui_softgpu::{AddressSpace, Memory, Protection};

use crate::chips::{PAGE_SHIFT, VA_BITS};
use crate::gem::buffer;

/// An address space.
pub struct Vm {
    /// The page tables.
    space: AddressSpace,
    /// Where each buffer is bound, by the address of its memory's structure.
    bound: Mutex<HashMap<*const Memory, u64>>,
    /// Held for reading while a batch runs; memory that was unbound is released when nobody does.
    running: RwLock<()>,
}

// SAFETY: the pointers are compared and never followed; each is kept alive by its binding.
unsafe impl Send for Vm {}
// SAFETY: as above.
unsafe impl Sync for Vm {}

impl Default for Vm {
    fn default() -> Self {
        Vm {
            space: AddressSpace::new(PAGE_SHIFT, VA_BITS),
            bound: Mutex::default(),
            running: RwLock::new(()),
        }
    }
}

impl Vm {
    /// Binds a buffer at an address of 48 bits, in place of what was there and of where it was
    /// bound before.
    pub fn pin(&self, gem: &Gem, address: u64) -> Result<(), Refusal> {
        let memory = &buffer(gem)?.memory;
        let mut bound = self.bound.lock().unwrap_or_else(PoisonError::into_inner);
        let here = bound.get(&Arc::as_ptr(memory)).copied();
        if here == Some(address) {
            // Another buffer may have been pinned over it since.
            let mapping = self.space.mapping_at(address);
            let whole = |m: &tepui_softgpu::vm::Mapping| {
                m.address == address
                    && m.length == memory.size() as u64
                    && Arc::ptr_eq(&m.memory, memory)
            };
            if mapping.as_ref().is_some_and(whole) {
                return Ok(());
            }
        }
        let refused =
            |_| Refusal { errno: Errno::INVAL, why: "the address space refused the range" };
        if let Some(old) = here.filter(|&old| old != address) {
            self.unbind_memory(memory, old);
        }
        let protection = Protection::READ | Protection::WRITE;
        self.space
            .bind(address, memory.clone(), 0, memory.size() as u64, protection)
            .map_err(refused)?;
        bound.insert(Arc::as_ptr(memory), address);
        Ok(())
    }

    /// Unbinds what is left of a buffer at its address.
    fn unbind_memory(&self, memory: &Arc<Memory>, address: u64) {
        let end = address + memory.size() as u64;
        let mut at = address;
        while at < end {
            match self.space.mapping_at(at) {
                Some(m) => {
                    if Arc::ptr_eq(&m.memory, memory) {
                        let _ = self.space.unbind(m.address, m.length);
                    }
                    at = m.address + m.length;
                }
                None => at += self.space.page_size(),
            }
        }
    }

    /// Unbinds a buffer: its last handle was closed and no submission uses it.
    pub fn forget(&self, gem: &Gem) {
        let Ok(buffer) = buffer(gem) else { return };
        let mut bound = self.bound.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(address) = bound.remove(&Arc::as_ptr(&buffer.memory)) {
            self.unbind_memory(&buffer.memory, address);
        }
        drop(bound);
        self.release();
    }

    /// Runs a batch in this address space.
    pub fn run<T>(&self, job: impl FnOnce(&AddressSpace) -> T) -> T {
        let result = {
            let _running = self.running.read().unwrap_or_else(PoisonError::into_inner);
            job(&self.space)
        };
        self.release();
        result
    }

    /// The bound ranges in ascending order: address and length in bytes.
    pub fn bindings(&self) -> Vec<(u64, u64)> {
        self.space.mappings().iter().map(|m| (m.address, m.length)).collect()
    }

    /// Releases unbound memory if no batch runs; otherwise the one that ends last does.
    fn release(&self) {
        if let Ok(_nobody) = self.running.try_write() {
            self.space.release_retired();
        }
    }
}
