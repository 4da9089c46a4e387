//! The address space of an open file, in which the kernel chooses the addresses of buffers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, RwLock, Weak};

use tepui_drm::Errno;
use tepui_drm::gem::Gem;
use tepui_drm::refusal::Refusal;
use tepui_mali_model::address_space;
use tepui_softgpu::{AddressSpace, Protection};

use crate::gem::buffer;
use tepui_drm::lock;

/// Addresses of buffers: from 32 MiB to 4 GiB. source: the header says that no address is 0; the rest is a choice,
/// within what Mesa's job manager drivers are known to work with.
const RANGE: std::ops::Range<u64> = 1 << 25..1 << 32;

/// Alignment boundary that code does not cross: jumps in a program keep the upper bits of its address. source:
/// Mesa, panfrost: shaders are in buffers of their own kind.
const CODE_BYTES: u64 = 1 << 24;

/// Alignment of large buffers.
const LARGE: u64 = 1 << 21;

/// A buffer in the space.
struct Mapping {
    gem: Weak<Gem>,
    size: u64,
}

/// The address space.
pub struct Space {
    space: AddressSpace,
    /// Mappings by address.
    mappings: Mutex<BTreeMap<u64, Mapping>>,
    /// Held for reading while the GPU runs; unbound memory is released when it does not.
    running: RwLock<()>,
}

impl Space {
    /// An empty space.
    pub fn new() -> Space {
        Space { space: address_space(), mappings: Mutex::default(), running: RwLock::new(()) }
    }

    /// The address of a buffer, which is bound first if necessary. `code` says whether it may be executed.
    pub fn address(&self, gem: &Arc<Gem>, code: bool) -> Result<u64, Refusal> {
        let mut mappings = lock(&self.mappings);
        let is = |m: &Mapping| std::ptr::eq(m.gem.as_ptr(), Arc::as_ptr(gem));
        if let Some((address, _)) = mappings.iter().find(|(_, m)| is(m)) {
            return Ok(*address);
        }
        self.sweep(&mut mappings);
        let size = gem.size();
        let address = place(&mappings, size, code)
            .ok_or(Refusal { errno: Errno::NOSPC, why: "the address space is full" })?;
        let memory = buffer(gem)?.memory.clone();
        let all = Protection::READ | Protection::WRITE;
        self.space.bind(address, memory, 0, size, all).map_err(|_| Errno::INVAL)?;
        mappings.insert(address, Mapping { gem: Arc::downgrade(gem), size });
        Ok(address)
    }

    /// Unbinds buffers that no handle refers to any more.
    fn sweep(&self, mappings: &mut BTreeMap<u64, Mapping>) {
        mappings.retain(|address, mapping| {
            let alive = mapping.gem.strong_count() > 0;
            if !alive {
                let _ = self.space.unbind(*address, mapping.size);
            }
            alive
        });
        if let Ok(_nobody) = self.running.try_write() {
            self.space.release_retired();
        }
    }

    /// Runs the GPU in this address space, which has no memory any more of buffers that were closed. source: Linux, panfrost_gem.c
    /// (`panfrost_gem_close`): the last handle takes the mapping along, unless a job has it.
    pub fn run<T>(&self, job: impl FnOnce(&AddressSpace) -> T) -> T {
        self.sweep(&mut lock(&self.mappings));
        let _running = self.running.read().unwrap_or_else(|e| e.into_inner());
        job(&self.space)
    }
}

/// The first free range of `size` bytes.
fn place(mappings: &BTreeMap<u64, Mapping>, size: u64, code: bool) -> Option<u64> {
    let alignment = if size >= LARGE { LARGE } else { 1 << 12 };
    let fit = |at: u64| -> Option<u64> {
        let at = at.checked_next_multiple_of(alignment)?;
        let crosses = code && size <= CODE_BYTES && at / CODE_BYTES != (at + size - 1) / CODE_BYTES;
        if crosses { at.checked_next_multiple_of(CODE_BYTES) } else { Some(at) }
    };
    let mut at = fit(RANGE.start)?;
    for (start, mapping) in mappings {
        if at.checked_add(size)? <= *start {
            break;
        }
        at = at.max(fit(start + mapping.size)?);
    }
    (at.checked_add(size)? <= RANGE.end).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_have_places_of_their_own_and_code_does_not_cross_16_mib() {
        let mut mappings = BTreeMap::new();
        let mut add = |size: u64, code: bool| {
            let at = place(&mappings, size, code).expect("room");
            mappings.insert(at, Mapping { gem: Weak::new(), size });
            at
        };
        assert_eq!(add(0x1000, false), RANGE.start);
        assert_eq!(add(0x3000, true), RANGE.start + 0x1000);
        let large = add((16 << 20) - 0x8000, false);
        assert!(large.is_multiple_of(LARGE));
        // The gap between allocations is reused.
        assert_eq!(add(1 << 20, true), RANGE.start + 0x4000);
        let code = add(9 << 20, true);
        assert_eq!(code / CODE_BYTES, (code + (9 << 20) - 1) / CODE_BYTES);
        assert!(place(&mappings, RANGE.end - RANGE.start, false).is_none());
    }
}
