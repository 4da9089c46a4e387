//! Address spaces and the buffers that submissions pinned in them.
//!
//! The client chooses addresses ("softpin") and names them with each submission; a buffer stays bound at its
//! address until another one is pinned over it or its handle is closed. For buffers that the client does not
//! pin, an address is chosen ([`Vm::place`]).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use tepui_drm::Errno;
use tepui_drm::gem::Gem;
use tepui_drm::refusal::Refusal;
use tepui_softgpu::{AddressSpace, Memory, Protection};

use crate::chips::{PAGE_BYTES, PAGE_SHIFT, VA_BITS};
use crate::gem::buffer;

/// The canonical form of a 48-bit address, whose upper bits equal bit 47.
pub(crate) fn canonical(address: u64) -> u64 {
    let unused = 64 - VA_BITS;
    ((address << unused) as i64 >> unused) as u64
}

/// The 48-bit address of a canonical form; `None` if the upper bits differ from bit 47.
pub(crate) fn of_canonical(address: u64) -> Option<u64> {
    (canonical(address) == address).then_some(address & ((1 << VA_BITS) - 1))
}

/// An address space.
pub struct Vm {
    /// The page tables.
    space: AddressSpace,
    /// The address at which each buffer is bound, by the pointer to its memory.
    bound: Mutex<HashMap<*const Memory, u64>>,
    /// The ranges at which pending submissions will bind buffers whose address this device chose.
    placed: Mutex<HashMap<*const Memory, (u64, u64)>>,
    /// Held for reading while a batch runs; unbound memory is released when no batch runs.
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
            placed: Mutex::default(),
            running: RwLock::new(()),
        }
    }
}

impl Vm {
    /// Binds a buffer at a 48-bit address, in place of existing mappings and of its own previous one.
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
        let mut protection = Protection::READ;
        protection.set(Protection::WRITE, !buffer(gem)?.read_only);
        self.space
            .bind(address, memory.clone(), 0, memory.size() as u64, protection)
            .map_err(refused)?;
        bound.insert(Arc::as_ptr(memory), address);
        Ok(())
    }

    /// Chooses a 48-bit address for a buffer: its current one, if that is suitable, then `hint`, else the
    /// lowest free one. `taken` are the ranges of the submission's other buffers, in any order.
    ///
    /// # Errors
    /// `ENOSPC` if there is no free range below `limit`.
    pub fn place(
        &self,
        gem: &Gem,
        hint: u64,
        alignment: u64,
        limit: u64,
        taken: &[(u64, u64)],
    ) -> Result<u64, Refusal> {
        let memory = &buffer(gem)?.memory;
        let size = memory.size() as u64;
        let own = Arc::as_ptr(memory);
        let alignment = alignment.max(PAGE_BYTES);
        let suits = |at: u64| {
            let end = at.checked_add(size);
            at != 0 && at.is_multiple_of(alignment) && end.is_some_and(|end| end <= limit)
        };
        let overlaps = |at: u64, ranges: &[(u64, u64)]| {
            ranges.iter().any(|&(start, length)| at < start + length && start < at + size)
        };
        let mut placed = self.placed.lock().unwrap_or_else(PoisonError::into_inner);
        let bound = self.bound.lock().unwrap_or_else(PoisonError::into_inner);
        let before = placed.get(&own).map(|&(at, _)| at).or(bound.get(&own).copied());
        drop(bound);
        let chosen = match before {
            Some(at) if suits(at) && !overlaps(at, taken) => at,
            _ => {
                let mut others: Vec<(u64, u64)> = taken.to_vec();
                others.extend(placed.iter().filter(|(ptr, _)| **ptr != own).map(|(_, r)| *r));
                let others_of_space = self.space.mappings().into_iter();
                let others_of_space = others_of_space.filter(|m| Arc::as_ptr(&m.memory) != own);
                others.extend(others_of_space.map(|m| (m.address, m.length)));
                others.sort_unstable();
                let mut at = alignment;
                if suits(hint) && !overlaps(hint, &others) {
                    at = hint;
                } else {
                    for &(start, length) in &others {
                        if at + size > start && at < start + length {
                            at = (start + length).next_multiple_of(alignment);
                        }
                    }
                }
                let full = Refusal { errno: Errno::NOSPC, why: "the address space is full" };
                if !suits(at) {
                    return Err(full);
                }
                at
            }
        };
        placed.insert(own, (chosen, size));
        Ok(chosen)
    }

    /// Unbinds the remaining mappings of a buffer at its address.
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
        let own = Arc::as_ptr(&buffer.memory);
        self.placed.lock().unwrap_or_else(PoisonError::into_inner).remove(&own);
        let mut bound = self.bound.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(address) = bound.remove(&own) {
            self.unbind_memory(&buffer.memory, address);
        }
        drop(bound);
        self.release();
    }

    /// Unbinds buffers of a client's own pages that the client has unmapped: the GPU would reach nothing, or
    /// memory that has been mapped there since.
    pub fn forget_unmapped(&self) {
        let gone: Vec<_> = self
            .space
            .mappings()
            .into_iter()
            .filter(|mapping| mapping.memory.is_borrowed() && !mapping.memory.is_mapped())
            .collect();
        let mut bound = self.bound.lock().unwrap_or_else(PoisonError::into_inner);
        for mapping in gone {
            bound.remove(&Arc::as_ptr(&mapping.memory));
            let _ = self.space.unbind(mapping.address, mapping.length);
        }
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

    /// Releases unbound memory if no batch runs; otherwise the last batch to end does.
    fn release(&self) {
        if let Ok(_nobody) = self.running.try_write() {
            self.space.release_retired();
        }
    }
}
