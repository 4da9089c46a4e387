//! The host's floating-point mode while shaders run.

/// Flushes subnormal 32-bit floats on input and output until dropped, as AGX does, on the current
/// thread. source: applegpu.py, FloatSrcDesc and FloatDstDesc.
///
/// A result below the smallest normal number that rounds up to it is flushed on AArch64, as in
/// applegpu, but not on x86-64, which looks at the size after rounding. What silicon does is
/// unknown.
///
/// On hosts other than x86-64 and AArch64 subnormals are kept, which no test of this model covers.
pub struct FlushSubnormals {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    saved: u64,
    /// The mode belongs to a thread.
    _here: std::marker::PhantomData<*const ()>,
}

impl FlushSubnormals {
    /// Sets the mode.
    pub fn enter() -> FlushSubnormals {
        #[cfg(target_arch = "x86_64")]
        {
            let mut saved = 0u32;
            // SAFETY: reads and writes MXCSR only; flush-to-zero (bit 15) and denormals-are-zero
            // (bit 6) change no other state and are undone on drop.
            unsafe {
                std::arch::asm!("stmxcsr [{}]", in(reg) &mut saved, options(nostack));
                let new = saved | 1 << 15 | 1 << 6;
                std::arch::asm!("ldmxcsr [{}]", in(reg) &new, options(nostack));
            }
            FlushSubnormals { saved: u64::from(saved), _here: std::marker::PhantomData }
        }
        #[cfg(target_arch = "aarch64")]
        {
            let saved: u64;
            // SAFETY: reads and writes FPCR only; FZ (bit 24) is undone on drop.
            unsafe {
                std::arch::asm!("mrs {}, fpcr", out(reg) saved, options(nostack));
                std::arch::asm!("msr fpcr, {}", in(reg) saved | 1 << 24, options(nostack));
            }
            FlushSubnormals { saved, _here: std::marker::PhantomData }
        }
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        FlushSubnormals { _here: std::marker::PhantomData }
    }
}

impl Drop for FlushSubnormals {
    fn drop(&mut self) {
        #[cfg(target_arch = "x86_64")]
        {
            let saved = self.saved as u32;
            // SAFETY: puts back what `enter` read.
            unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &saved, options(nostack)) };
        }
        #[cfg(target_arch = "aarch64")]
        // SAFETY: puts back what `enter` read.
        unsafe {
            std::arch::asm!("msr fpcr, {}", in(reg) self.saved, options(nostack));
        }
    }
}
