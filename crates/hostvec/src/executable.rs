//! Memory that holds machine code.

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};

/// The host's page on x86-64.
const PAGE_BYTES: usize = 4096;

/// Machine code in memory of its own, readable and executable.
#[derive(Debug)]
pub struct Executable {
    memory: *mut u8,
    length: usize,
}

// SAFETY: the memory is only read and executed after it was made.
unsafe impl Send for Executable {}
// SAFETY: as above.
unsafe impl Sync for Executable {}

impl Executable {
    /// Copies code to where it can be executed. `None` if the host gives no memory for that.
    pub fn new(code: &[u8]) -> Option<Executable> {
        let length = code.len().next_multiple_of(PAGE_BYTES);
        // SAFETY: a new mapping; it is filled before it becomes executable, and is never both
        // writable and executable.
        let memory = unsafe {
            let memory = mmap_anonymous(
                std::ptr::null_mut(),
                length,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )
            .ok()?;
            std::ptr::copy_nonoverlapping(code.as_ptr(), memory.cast(), code.len());
            if mprotect(memory, length, MprotectFlags::READ | MprotectFlags::EXEC).is_err() {
                let _ = munmap(memory, length);
                return None;
            }
            memory.cast()
        };
        Some(Executable { memory, length })
    }

    /// The address of a byte of the code. Whoever jumps there has to know that an instruction
    /// begins there, and what it expects.
    #[inline]
    pub fn at(&self, offset: u32) -> *const u8 {
        debug_assert!((offset as usize) < self.length);
        self.memory.wrapping_add(offset as usize)
    }
}

impl Drop for Executable {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own.
        let _ = unsafe { munmap(self.memory.cast(), self.length) };
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn code_is_executed() {
        // mov eax, edi; add eax, 2; ret
        let code = Executable::new(&[0x89, 0xf8, 0x83, 0xc0, 0x02, 0xc3]).unwrap();
        // SAFETY: the code above is a function of this type.
        let add: extern "sysv64" fn(u32) -> u32 = unsafe { std::mem::transmute(code.at(0)) };
        assert_eq!(add(40), 42);
    }
}
