//! Address spaces.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, RwLock};

use tepui_drm::Errno;
use tepui_drm::gem::Gem;
use tepui_drm::refusal::{Refusal, require};
use tepui_drm::uapi::panthor::{self as uapi, VmBindOp};
use tepui_mali_model::limits::ADDRESS_BITS;
use tepui_softgpu::{AddressSpace, Memory, Protection};

use crate::bind::BindOperation;
use crate::chips::PAGE_BYTES;
use crate::gem::{buffer, memory};

/// The range for user objects where the client leaves the choice: the lower half.
const DEFAULT_USER_RANGE: u64 = 1 << (ADDRESS_BITS - 1);

/// Largest range that may be bound without memory. A choice that bounds the page table: 64 GiB.
const MAX_SPARSE_BYTES: u64 = 1 << 36;

/// An address space.
pub struct Vm {
    /// The page tables.
    space: AddressSpace,
    /// The client's range.
    user: Range<u64>,
    /// The next free address for objects of the kernel.
    kernel_next: AtomicU64,
    /// Whether a deferred operation has failed.
    unusable: AtomicBool,
    /// The page that sparse bindings map.
    nothing: Mutex<Option<Arc<Memory>>>,
    /// Held for reading while the GPU runs; unbound memory is released when it does not.
    running: RwLock<()>,
    /// Tiler heaps: addresses of their contexts, and their maximum bytes.
    pub(crate) heaps: Mutex<Vec<(u64, u64)>>,
    /// The queue of deferred operations, once its thread exists.
    pub(crate) deferred: Mutex<Option<Sender<BindOperation>>>,
}

/// A validated operation.
pub enum Bind {
    /// Binds memory.
    Map {
        /// Address.
        va: u64,
        /// The buffer's memory.
        memory: Arc<Memory>,
        /// Offset into it.
        offset: u64,
        /// Bytes.
        size: u64,
        /// Permissions.
        protection: Protection,
    },
    /// Binds one shared page to the whole range.
    Sparse {
        /// Address.
        va: u64,
        /// Bytes.
        size: u64,
    },
    /// Unbinds.
    Unmap {
        /// Address.
        va: u64,
        /// Bytes.
        size: u64,
    },
    /// Does nothing.
    Nothing,
}

impl Vm {
    /// An empty address space whose first `user_va_range` bytes belong to the client; 0 selects a default.
    pub fn new(user_va_range: u64) -> Result<Vm, Refusal> {
        let end = if user_va_range == 0 { DEFAULT_USER_RANGE } else { user_va_range };
        require(
            end.is_multiple_of(PAGE_BYTES) && end <= 1 << ADDRESS_BITS,
            "user_va_range is not made of whole pages or larger than the address space",
        )?;
        Ok(Vm {
            space: tepui_mali_model::address_space(),
            user: 0..end,
            kernel_next: AtomicU64::new(end),
            unusable: AtomicBool::new(false),
            nothing: Mutex::new(None),
            running: RwLock::new(()),
            heaps: Mutex::default(),
            deferred: Mutex::new(None),
        })
    }

    /// Bytes of the client's range.
    pub fn user_range(&self) -> u64 {
        self.user.end
    }

    /// Whether a deferred operation has failed.
    pub fn is_unusable(&self) -> bool {
        self.unusable.load(Ordering::Acquire)
    }

    /// Records that a deferred operation has failed.
    pub fn set_unusable(&self) {
        self.unusable.store(true, Ordering::Release);
    }

    /// The bound ranges in ascending order: address and length in bytes.
    pub fn bindings(&self) -> Vec<(u64, u64)> {
        self.space.mappings().iter().map(|m| (m.address, m.length)).collect()
    }

    /// Checks one operation, but not its sync objects. `lookup` finds the buffer of a handle.
    pub fn check(
        self: &Arc<Self>,
        op: &VmBindOp,
        lookup: impl FnOnce(u32) -> Result<Arc<Gem>, Errno>,
    ) -> Result<Bind, Refusal> {
        let kind = op.flags & uapi::BIND_OP_TYPE_MASK;
        if kind != uapi::BIND_OP_TYPE_MAP {
            require(op.flags == kind, "flags that only MAP has")?;
            require(op.bo_handle == 0 && op.bo_offset == 0, "bo_handle or bo_offset is not 0")?;
        }
        if kind == uapi::BIND_OP_TYPE_SYNC_ONLY {
            require(op.va == 0 && op.size == 0, "va or size is not 0")?;
            return Ok(Bind::Nothing);
        }
        let VmBindOp { va, size, bo_offset: offset, .. } = *op;
        require(size > 0, "size is 0")?;
        require(
            (va | size | offset).is_multiple_of(PAGE_BYTES),
            "va, size or bo_offset is not a multiple of 4 KiB",
        )?;
        require(
            va.checked_add(size).is_some_and(|end| end <= self.user.end),
            "the range leaves the user's part of the address space",
        )?;
        match kind {
            uapi::BIND_OP_TYPE_UNMAP => return Ok(Bind::Unmap { va, size }),
            uapi::BIND_OP_TYPE_MAP => {}
            _ => return Err(Refusal { errno: Errno::INVAL, why: "unknown type of operation" }),
        }
        let known = uapi::BIND_OP_MAP_READONLY
            | uapi::BIND_OP_MAP_NOEXEC
            | uapi::BIND_OP_MAP_UNCACHED
            | uapi::BIND_OP_MAP_SPARSE;
        require(op.flags & !known == 0, "unknown flags")?;
        if self.is_unusable() {
            return Err(Refusal { errno: Errno::INVAL, why: "the address space is unusable" });
        }
        if op.flags & uapi::BIND_OP_MAP_SPARSE != 0 {
            require(op.bo_handle == 0 && offset == 0, "SPARSE with a buffer")?;
            require(op.flags & uapi::BIND_OP_MAP_NOEXEC != 0, "SPARSE without NOEXEC")?;
            if size > MAX_SPARSE_BYTES {
                return Err(Refusal { errno: Errno::NOMEM, why: "the sparse range is too large" });
            }
            return Ok(Bind::Sparse { va, size });
        }
        let gem = lookup(op.bo_handle)
            .map_err(|_| Refusal { errno: Errno::INVAL, why: "no buffer has this handle" })?;
        let buffer = buffer(&gem)?;
        if let Some(owner) = &buffer.private_to {
            require(
                std::ptr::eq(owner.as_ptr(), Arc::as_ptr(self)),
                "the buffer is private to another address space",
            )?;
        }
        require(
            offset.checked_add(size).is_some_and(|end| end <= gem.size()),
            "the range leaves the buffer",
        )?;
        // The page table has no permission to execute, so NOEXEC is not enforced.
        let mut protection = Protection::READ;
        protection.set(Protection::WRITE, op.flags & uapi::BIND_OP_MAP_READONLY == 0);
        Ok(Bind::Map { va, memory: buffer.memory.clone(), offset, size, protection })
    }

    /// Applies a validated operation.
    pub fn apply(&self, bind: Bind) -> Result<(), Refusal> {
        let result = match bind {
            Bind::Map { va, memory, offset, size, protection } => {
                self.space.bind(va, memory, offset, size, protection)
            }
            Bind::Sparse { va, size } => {
                let page = self.nothing()?;
                let all = Protection::READ | Protection::WRITE;
                self.space.bind_single_page(va, page, 0, size, all)
            }
            Bind::Unmap { va, size } => self.space.unbind(va, size),
            Bind::Nothing => Ok(()),
        };
        result.map_err(|_| Refusal {
            errno: Errno::INVAL,
            why: "the address space refused the range",
        })
    }

    /// The page that sparse bindings map.
    fn nothing(&self) -> Result<Arc<Memory>, Refusal> {
        let mut nothing = tepui_drm::lock(&self.nothing);
        if let Some(page) = &*nothing {
            return Ok(page.clone());
        }
        let page = Arc::new(memory(PAGE_BYTES, false)?);
        *nothing = Some(page.clone());
        Ok(page)
    }

    /// Binds the kernel's own memory above the client's range; returns its address.
    pub fn bind_kernel(&self, memory: Memory) -> Result<u64, Refusal> {
        let size = memory.size() as u64;
        let next = |at: u64| at.checked_add(size).filter(|&end| end <= 1 << ADDRESS_BITS);
        let address = self
            .kernel_next
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, next)
            .map_err(|_| Refusal {
                errno: Errno::NOMEM,
                why: "no room is left for the kernel's objects",
            })?;
        let all = Protection::READ | Protection::WRITE;
        self.space.bind(address, Arc::new(memory), 0, size, all).map_err(|_| Errno::INVAL)?;
        Ok(address)
    }

    /// Unbinds the kernel's own memory.
    pub fn unbind_kernel(&self, address: u64, size: u64) {
        let _ = self.space.unbind(address, size);
        self.release();
    }

    /// Runs the GPU in this address space.
    pub fn run<T>(&self, job: impl FnOnce(&AddressSpace) -> T) -> T {
        let result = {
            let _running = self.running.read().unwrap_or_else(|e| e.into_inner());
            job(&self.space)
        };
        self.release();
        result
    }

    /// Releases unbound memory if the GPU does not run; otherwise the run that ends last does.
    pub fn release(&self) {
        if let Ok(_nobody) = self.running.try_write() {
            self.space.release_retired();
        }
    }
}
