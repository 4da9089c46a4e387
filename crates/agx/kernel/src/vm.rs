//! Address spaces and the buffers bound in them.

use std::ops::Range;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::{Arc, RwLock, Weak};

use tepui_drm::Errno;
use tepui_drm::gem::{Backing, Gem};
use tepui_drm::uapi::asahi::{
    BIND_READ, BIND_SINGLE_PAGE, BIND_UNBIND, BIND_WRITE, GemBindOp, ParamsGlobal,
};
use tepui_softgpu::{AddressSpace, Memory, Protection};

use crate::chips::{PAGE_BYTES, PAGE_SHIFT, VA_BITS};
use tepui_drm::refusal::{Refusal, require};

/// A buffer object's memory.
pub struct Buffer {
    /// The memory, whole GPU pages.
    pub memory: Arc<Memory>,
    /// The only address space that may bind it, if it is private to one; then it is never exported.
    pub private_to: Option<Weak<Vm>>,
}

impl Backing for Buffer {
    fn size(&self) -> u64 {
        self.memory.size() as u64
    }

    fn base(&self) -> *mut u8 {
        self.memory.base()
    }

    fn file(&self) -> Option<BorrowedFd<'_>> {
        self.memory.file()
    }

    fn is_exportable(&self) -> bool {
        self.private_to.is_none()
    }
}

/// Rounds a size up to whole GPU pages, as the kernel does. With `shareable` the memory has a file in any case.
pub fn allocate(
    size: u64,
    private_to: Option<Weak<Vm>>,
    shareable: bool,
) -> Result<Buffer, Refusal> {
    require(size > 0, "size is 0")?;
    let size = size.checked_next_multiple_of(PAGE_BYTES).ok_or(Errno::INVAL)?;
    let size = usize::try_from(size).map_err(|_| Errno::NOMEM)?;
    let is_private = private_to.is_some() && !shareable;
    let new = if is_private { Memory::new } else { Memory::shareable };
    let memory = new(size).map_err(|error| Refusal {
        errno: Errno::from_io_error(&error).unwrap_or(Errno::NOMEM),
        why: "the memory could not be allocated",
    })?;
    Ok(Buffer { memory: Arc::new(memory), private_to })
}

/// A buffer of another process.
pub fn import(fd: OwnedFd, size: u64) -> Result<Box<dyn Backing>, Errno> {
    if !size.is_multiple_of(PAGE_BYTES) {
        return Err(Errno::INVAL);
    }
    let size = usize::try_from(size).map_err(|_| Errno::NOMEM)?;
    let memory = Memory::from_file(fd, size).map_err(|_| Errno::NOMEM)?;
    Ok(Box::new(Buffer { memory: Arc::new(memory), private_to: None }))
}

/// The driver's object of a buffer.
pub fn buffer(gem: &Gem) -> Result<&Buffer, Refusal> {
    gem.backing::<Buffer>().ok_or(Errno::INVAL.into())
}

/// An address space.
pub struct Vm {
    /// The page tables.
    pub space: AddressSpace,
    window: Range<u64>,
    kernel: Range<u64>,
    /// Held for reading while a job runs; unbound memory is released when no job holds it.
    running: RwLock<()>,
}

/// A bind that has been checked.
pub struct Bind {
    op: GemBindOp,
    gem: Option<Arc<Gem>>,
}

impl Vm {
    /// An empty address space that keeps `kernel` for the kernel.
    pub fn new(params: &ParamsGlobal, kernel: Range<u64>) -> Result<Vm, Refusal> {
        require(kernel.start < kernel.end, "the kernel's range is empty")?;
        require(
            params.vm_start <= kernel.start && kernel.end <= params.vm_end,
            "the kernel's range leaves the window of valid addresses",
        )?;
        require(
            kernel.end - kernel.start >= params.vm_kernel_min_size,
            "the kernel's range is smaller than vm_kernel_min_size",
        )?;
        require(
            (kernel.start | kernel.end).is_multiple_of(PAGE_BYTES),
            "the kernel's range is not made of whole pages",
        )?;
        Ok(Vm {
            space: AddressSpace::new(PAGE_SHIFT, VA_BITS),
            window: params.vm_start..params.vm_end,
            kernel,
            running: RwLock::new(()),
        })
    }

    /// Checks one operation. `lookup` finds the buffer of a handle.
    pub fn check(
        self: &Arc<Self>,
        op: GemBindOp,
        lookup: impl FnOnce(u32) -> Result<Arc<Gem>, Errno>,
    ) -> Result<Bind, Refusal> {
        let known = BIND_UNBIND | BIND_READ | BIND_WRITE | BIND_SINGLE_PAGE;
        require(op.flags & !known == 0, "unknown bind flags")?;
        require(op.range != 0, "range is 0")?;
        require(
            (op.addr | op.range).is_multiple_of(PAGE_BYTES),
            "addr or range is not a multiple of 16 KiB",
        )?;
        let end = op.addr.checked_add(op.range).ok_or(Errno::INVAL)?;
        require(
            self.window.start <= op.addr && end <= self.window.end,
            "the range leaves the window of valid addresses",
        )?;
        require(
            end <= self.kernel.start || self.kernel.end <= op.addr,
            "the range overlaps the kernel's",
        )?;
        if op.flags & BIND_UNBIND != 0 {
            require(op.flags == BIND_UNBIND, "UNBIND excludes every other flag")?;
            return Ok(Bind { op, gem: None });
        }
        require(op.flags & (BIND_READ | BIND_WRITE) != 0, "neither READ nor WRITE")?;
        require(op.offset.is_multiple_of(PAGE_BYTES), "offset is not a multiple of 16 KiB")?;
        let gem = lookup(op.handle)
            .map_err(|errno| Refusal { errno, why: "no buffer has this handle" })?;
        if let Some(owner) = &buffer(&gem)?.private_to {
            require(
                std::ptr::eq(owner.as_ptr(), Arc::as_ptr(self)),
                "the buffer is private to another address space",
            )?;
        }
        let needed = if op.flags & BIND_SINGLE_PAGE != 0 { PAGE_BYTES } else { op.range };
        require(
            op.offset.checked_add(needed).is_some_and(|end| end <= gem.size()),
            "the range leaves the buffer",
        )?;
        Ok(Bind { op, gem: Some(gem) })
    }

    /// Applies an operation that was checked.
    pub fn apply(&self, Bind { op, gem }: Bind) -> Result<(), Refusal> {
        let refused =
            |_| Refusal { errno: Errno::INVAL, why: "the address space refused the range" };
        let Some(gem) = gem else {
            return self.space.unbind(op.addr, op.range).map_err(refused);
        };
        let memory = buffer(&gem)?.memory.clone();
        let mut protection = Protection::empty();
        protection.set(Protection::READ, op.flags & BIND_READ != 0);
        protection.set(Protection::WRITE, op.flags & BIND_WRITE != 0);
        if op.flags & BIND_SINGLE_PAGE != 0 {
            self.space.bind_single_page(op.addr, memory, op.offset, op.range, protection)
        } else {
            self.space.bind(op.addr, memory, op.offset, op.range, protection)
        }
        .map_err(refused)
    }

    /// Unbinds a buffer wherever it is bound: its last handle was closed.
    pub fn forget(&self, gem: &Gem) {
        let Ok(buffer) = buffer(gem) else { return };
        for mapping in self.space.mappings() {
            if Arc::ptr_eq(&mapping.memory, &buffer.memory) {
                let _ = self.space.unbind(mapping.address, mapping.length);
            }
        }
        self.release();
    }

    /// Runs a job in this address space.
    pub fn run<T>(&self, job: impl FnOnce(&AddressSpace) -> T) -> T {
        let result = {
            let _running = self.running.read().unwrap_or_else(|e| e.into_inner());
            job(&self.space)
        };
        self.release();
        result
    }

    /// Releases unbound memory if no job runs; otherwise the job that ends last does.
    pub fn release(&self) {
        if let Ok(_nobody) = self.running.try_write() {
            self.space.release_retired();
        }
    }
}
