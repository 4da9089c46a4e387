//! Waits and barriers.

use super::prelude::*;

rows! {
    /// Wait for asynchronous instructions.
    ///
    /// Waits until all instructions of the slot are done: loaded registers hold their values,
    /// stored ones may be overwritten.
    // source: applegpu.py, WaitInstructionDesc
    Wait "wait" (2) [0:8 = 0x38] zero [u9: 7] {
        /// Scoreboard slot, 0 or 1.
        slot: u8 = operand num(8, 1);
    }

    /// Wait for earlier fragments of the same pixel.
    ///
    /// Mesa's masks: 1 before sample masks and depth emission, 4 and 8 (as 12) before tile stores,
    /// 8 before tile loads, 12 for interlock. Compute code does not use it.
    // source: applegpu.py, wait_pix
    WaitPix "wait_pix" (4) [0:8 = 0x48] zero [u18: 4, u24: 8] {
        /// Mask of pixel fences.
        i: u16 = operand num(8, 10);
        /// Unknown; 0.
        j: u8 = operand num(22, 2);
    }

    /// Let later fragments of the same pixel go on.
    ///
    /// The counterpart of `wait_pix`.
    // source: applegpu.py, signal_pix
    SignalPix "signal_pix" (4) [0:8 = 0x58] zero [u18: 4, u24: 8] {
        /// Mask of pixel fences.
        i: u16 = operand num(8, 10);
        /// Unknown; 0.
        j: u8 = operand num(22, 2);
    }

    /// Wait until all threads of the threadgroup are here.
    ///
    /// Execution barrier for the threadgroup. Threadgroup memory written before it is visible after it.
    // source: applegpu.py, ThreadgroupBarriernstructionDesc
    ThreadgroupBarrier "threadgroup_barrier" (2) [0:8 = 0x68] zero [u8: 8] {
    }

    /// Memory barrier.
    ///
    /// Orders memory accesses. `1, 2, 9` is the barrier for device memory. Mesa issues `2, 2, 10` and
    /// `3, 2, 10` before, and `2, 1, 10` and `3, 1, 10` after the threadgroup barrier for images, `0,
    /// 0, 4` to make memory visible to textures, and `2, 2, 9`, `2, 1, 9`, `0, 3, 3`, `0, 3, 0`, `3, 1,
    /// 9`, `3, 2, 9` for device scope. The effect of each alone is unknown.
    // source: applegpu.py, MemoryBarrierInstructionDesc; agx_opcodes.py, memory_barrier
    MemoryBarrier "memory_barrier" (2) [0:8 = 0xf5] {
        /// Unknown; 1 to 3 in seen code, 0 in cache flushes.
        a: u8 = operand num(10, 2), 1;
        /// Unknown.
        b: u8 = operand num(8, 2), 2;
        /// 9 for memory, 10 for images, 4 for making memory visible to textures.
        c: u8 = operand num(12, 4), 9;
    }
}
