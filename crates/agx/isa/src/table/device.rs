//! Device memory: loads, stores, atomics, asynchronous copies.

use super::prelude::*;

rows! {
    /// Load from device memory.
    ///
    /// For each channel c in the mask, in order, the next register gets the element at `(base &
    /// ~(size − 1)) + ((index << shift) + c) × size`, with the size and conversion of the format.
    /// Channels that are not in the mask are skipped in memory but not in registers. The index is a
    /// 16-bit immediate or a 32-bit register, extended as `extend` says. A shift of 3 acts
    /// as 2. Addresses that are not multiples of the size are rounded down (compared with hardware
    /// by applegpu for the base). 8-bit and 16-bit integers are zero-extended.
    ///
    /// Asynchronous. `u4` = 7 (with `device_load.TODO` as the mnemonic) is Mesa's coherent load.
    /// The short form has no mask; what it loads is unknown.
    // source: applegpu.py, DeviceLoadInstructionDesc; agx_pack.c, AGX_OPCODE_DEVICE_LOAD
    DeviceLoad "device_load" (6, 8; 47) [0:7 = 0b0000101] zero [u31: 1] {
        /// Scoreboard slot to wait on.
        slot: u8 = operand num(30, 1);
        /// Format in memory.
        format: Format = operand choice2((7, 3), (48, 1));
        /// Channels loaded.
        mask: u8 = operand channel_mask(52), 1;
        /// Destination.
        r: RegVec = operand data(10, 40, 49, 52).out(), RegVec::new(0, Size::B16, 1);
        /// Base address.
        base: Base64 = operand device_base();
        /// Index in elements.
        index: Index = operand index();
        /// Extension of the index to 64 bits.
        extend: Extend = operand choice(25, 1);
        /// Left shift of the index; 3 acts as 2.
        shift: u8 = operand lsl(&[(42, 2)]);
        /// Unknown; 1.
        u1: u8 = operand num(26, 1), 1;
        /// Unknown; 0.
        u3: u8 = operand num(28, 2);
        /// Caching; 4, or 7 for coherent access.
        u4: u8 = operand num(44, 3), 4;
        /// Unknown; 0.
        u5: u8 = operand num(50, 2);
    }

    /// Store to device memory.
    ///
    /// The reverse of `device_load`: element `index << shift` plus the channel's number gets the
    /// next register. Integers are truncated. How floats are rounded to normalised formats is
    /// unknown (to nearest, presumably); packed formats with `.rtz` round towards zero.
    ///
    /// Asynchronous: the registers may be overwritten after a `wait` (whether earlier is unknown;
    /// Mesa waits only for results). `u6` = 1 with `u4` = 3 (`device_store.TODO`) is Mesa's
    /// coherent store.
    // source: applegpu.py, DeviceStoreInstructionDesc; agx_pack.c, AGX_OPCODE_DEVICE_STORE
    DeviceStore "device_store" (6, 8; 47) [0:7 = 0b1000101] zero [u31: 1] {
        /// Scoreboard slot to wait on.
        slot: u8 = operand num(30, 1);
        /// Format in memory.
        format: Format = operand choice2((7, 3), (48, 1));
        /// Channels stored.
        mask: u8 = operand channel_mask(52), 1;
        /// Values.
        r: RegVec = operand data(10, 40, 49, 52), RegVec::new(0, Size::B16, 1);
        /// Base address.
        base: Base64 = operand device_base();
        /// Index in elements.
        index: Index = operand index();
        /// Extension of the index to 64 bits.
        extend: Extend = operand choice(25, 1);
        /// Left shift of the index; 3 acts as 2.
        shift: u8 = operand lsl(&[(42, 2)]);
        /// Caching, low bit; 0, or 1 for coherent access.
        u6: u8 = operand num(44, 1);
        /// Unknown; 1.
        u1: u8 = operand num(26, 1), 1;
        /// Unknown; 0.
        u3: u8 = operand num(28, 2);
        /// Caching, high part; 2, or 3 for coherent access.
        u4: u8 = operand num(45, 2), 2;
        /// Unknown; 0.
        u5: u8 = operand num(50, 2);
    }

    /// Atomic operation on device memory.
    ///
    /// At `base + index × 4`: the old 32-bit value goes to R if it is not `None`, the result of the
    /// operation is stored. `cmpxchg` takes two registers: the new value, then the expected one;
    /// with `u5` = 1 or 3 it is a 64-bit unsigned minimum or maximum instead (applegpu). Threads of
    /// one SIMD-group act one after the other in an unknown order. Asynchronous.
    // source: applegpu.py, Atomic; agx_pack.c, AGX_OPCODE_ATOMIC
    Atomic "atomic" (8) [0:6 = 0b010101] {
        /// Operation.
        op: AtomicOp = operand choice(6, 4);
        /// Scoreboard slot to wait on.
        slot: u8 = operand num(30, 1);
        /// Old value.
        r: RegVec = operand optional32(10, 40, 47).out(), RegVec::new(0, Size::B32, 0);
        /// Base address.
        base: Base64 = operand device_base();
        /// Index in 32-bit elements.
        index: Index = operand index();
        /// Extension of the index to 64 bits.
        extend: Extend = operand choice(25, 1);
        /// Operand; for `cmpxchg` the new value, then the expected one.
        s: RegVec = operand atomic_src(48, 6), RegVec::new(0, Size::B32, 1);
        /// Unknown; 1.
        u1: u8 = operand num(26, 1), 1;
        /// Unknown; 0.
        u2: u8 = operand num(28, 2);
        /// Unknown; 1.
        u3: u8 = operand num(31, 1), 1;
        /// Unknown; 4.
        u4: u8 = operand num(42, 3), 4;
        /// 2; 3 on chips of several dies. With `cmpxchg`: 1 is a 64-bit minimum, 3 a maximum.
        u5: u8 = operand num(45, 2), 2;
    }

    /// Start an asynchronous copy from device memory.
    ///
    /// Copies between device memory and threadgroup or tile memory (Metal's simdgroup_async_copy).
    /// Which operand is which is not known in full.
    // source: applegpu.py, AsyncLoadInstructionDesc
    AsyncLoad "async_load" (8) [0:7 = 0b0100101]
    unknown [u7: 1, u15: 1, u20: 5, u26: 10, u40: 7, u48: 16] {
        /// Shape.
        shape: CopyShape = operand choice(47, 1);
        /// Unknown 64-bit operand.
        r: Base64 = operand copy_base();
        /// Descriptor of the copy.
        desc: CopyDescriptor = operand copy_descriptor(47),
            CopyDescriptor { base: Base64::Reg(0), count: 3 };
    }

    /// Start an asynchronous copy to device memory.
    ///
    /// The reverse of `async_load`.
    // source: applegpu.py, AsyncStoreInstructionDesc
    AsyncStore "async_store" (8) [0:7 = 0b1100101]
    unknown [u7: 1, u15: 1, u20: 5, u26: 10, u40: 7, u48: 16] {
        /// Shape.
        shape: CopyShape = operand choice(47, 1);
        /// Unknown 64-bit operand.
        r: Base64 = operand copy_base();
        /// Descriptor of the copy.
        desc: CopyDescriptor = operand copy_descriptor(47),
            CopyDescriptor { base: Base64::Reg(0), count: 3 };
    }
}
