//! Threadgroup memory: loads, stores, atomics.

use super::prelude::*;

rows! {
    /// Load from threadgroup memory.
    ///
    /// For each channel c in the mask, in order, the next register gets the element at `base +
    /// (index + c) × size` in threadgroup memory. The base is in bytes, the index in elements (a
    /// register index is zero-extended, inferred; an immediate is signed). Formats as in
    /// `device_load`. Not asynchronous as far as known: Mesa reads the result at once.
    // source: applegpu.py, ThreadgroupLoadInstructionDesc; agx_pack.c, AGX_OPCODE_LOCAL_LOAD
    ThreadgroupLoad "threadgroup_load" (6, 8; 15) [0:4 = 0b1001, 5:2 = 0b11]
    zero [u4: 1, u7: 1, u35: 1, u40: 8, u62: 2] {
        /// Format in memory.
        format: Format = operand choice(24, 4);
        /// Channels loaded.
        mask: u8 = operand channel_mask(36), 1;
        /// Destination.
        r: RegVec = operand data(9, 60, 8, 36).out(), RegVec::new(0, Size::B16, 1);
        /// Base in bytes.
        base: LocalBase = operand local_base();
        /// Index in elements.
        index: LocalIndex = operand local_index();
    }

    /// Store to threadgroup memory.
    ///
    /// The reverse of `threadgroup_load`.
    // source: applegpu.py, ThreadgroupStoreInstructionDesc; agx_pack.c, AGX_OPCODE_LOCAL_STORE
    ThreadgroupStore "threadgroup_store" (6, 8; 15) [0:4 = 0b1001, 5:2 = 0b01]
    zero [u4: 1, u7: 1, u35: 1, u40: 8, u62: 2] {
        /// Format in memory.
        format: Format = operand choice(24, 4);
        /// Channels stored.
        mask: u8 = operand channel_mask(36), 1;
        /// Values.
        r: RegVec = operand data(9, 60, 8, 36), RegVec::new(0, Size::B16, 1);
        /// Base in bytes.
        base: LocalBase = operand local_base();
        /// Index in elements.
        index: LocalIndex = operand local_index();
    }

    /// Atomic operation on threadgroup memory.
    ///
    /// As `atomic`, at `base + index × 4` in threadgroup memory, without scoreboard. Mesa passes
    /// the address as the base and 0 as the index.
    // source: applegpu.py, ThreadgroupAtomic; agx_pack.c, AGX_OPCODE_LOCAL_ATOMIC
    ThreadgroupAtomic "threadgroup_atomic" (6, 10; 15) [0:6 = 0b011001] zero [u39: 1, u62: 2] {
        /// Operation.
        op: AtomicOp = operand choice(24, 4);
        /// Old value.
        r: RegVec = operand optional(9, 60, 8, 38).out();
        /// Base in bytes.
        base: LocalBase = operand local_base();
        /// Index in 32-bit elements.
        index: LocalIndex = operand local_index();
        /// Operand; for `cmpxchg` the new value, then the expected one.
        s: RegVec = operand atomic_src(64, 24), RegVec::new(0, Size::B32, 1);
        /// Unknown; 0.
        u1: u8 = operand num(6, 2);
        /// Unknown; 2.
        u3: u8 = operand num(35, 3), 2;
        /// Unknown; 128.
        u4: u8 = operand num(40, 8), 128;
        /// Unknown; 0.
        u5: u8 = operand num(72, 8);
    }
}
