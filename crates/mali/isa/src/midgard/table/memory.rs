//! Load and store instructions.
//!
// source: Mesa, midgard.h (midgard_load_store_op), midgard_ops.c (load_store_opcode_props).

use super::MemoryRow;

/// The kind of access of a load/store instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Computes on registers.
    Move,
    /// Loads from an address, or computes the address.
    Load,
    /// Stores to an address.
    Store,
    /// Atomically updates memory at an address.
    Atomic,
    /// Loads from a uniform buffer.
    Uniform,
    /// Loads through a descriptor of an attribute, varying or image.
    Attribute,
    /// Stores through such a descriptor.
    StoreAttribute,
    /// Accesses the tile buffer and other values of fragments.
    Special,
    /// Other instructions.
    Other,
}

macro_rules! memory {
    ($($code:literal $name:ident $text:literal $access:ident;)*) => {
        /// An instruction of the load/store unit.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        #[allow(missing_docs)] // The rows are their documentation.
        pub enum Memory { $($name = $code,)* }

        /// Every row, by opcode.
        pub const MEMORY: &[MemoryRow] =
            &[$(MemoryRow { op: Memory::$name, name: $text, access: Access::$access },)*];
    };
}

memory! {
    0x03 Nop "NOP" Other;
    0x04 UnpackColourF32 "UNPACK.f32" Move;
    0x05 UnpackColourF16 "UNPACK.f16" Move;
    0x06 UnpackColourU32 "UNPACK.u32" Move;
    0x07 UnpackColourS32 "UNPACK.s32" Move;
    0x08 PackColourF32 "PACK.f32" Move;
    0x09 PackColourF16 "PACK.f16" Move;
    0x0a PackColourU32 "PACK.u32" Move;
    0x0b PackColourS32 "PACK.s32" Move;
    0x0c Lea "LEA" Load;
    0x0d LeaImage "LEA_IMAGE" Attribute;
    0x0e LdCubemapCoords "CUBEMAP" Move;
    0x10 LdstMov "LDST_MOV" Move;
    0x11 LdstPerspectiveDivY "LDST_PERSPECTIVE_DIV_Y" Move;
    0x12 LdstPerspectiveDivZ "LDST_PERSPECTIVE_DIV_Z" Move;
    0x13 LdstPerspectiveDivW "LDST_PERSPECTIVE_DIV_W" Move;
    0x40 AtomicAdd "AADD.32" Atomic;
    0x41 AtomicAdd64 "AADD.64" Atomic;
    0x42 AtomicAddBe "AADD.32.be" Atomic;
    0x43 AtomicAdd64Be "AADD.64.be" Atomic;
    0x44 AtomicAnd "AAND.32" Atomic;
    0x45 AtomicAnd64 "AAND.64" Atomic;
    0x46 AtomicAndBe "AAND.32.be" Atomic;
    0x47 AtomicAnd64Be "AAND.64.be" Atomic;
    0x48 AtomicOr "AOR.32" Atomic;
    0x49 AtomicOr64 "AOR.64" Atomic;
    0x4a AtomicOrBe "AOR.32.be" Atomic;
    0x4b AtomicOr64Be "AOR.64.be" Atomic;
    0x4c AtomicXor "AXOR.32" Atomic;
    0x4d AtomicXor64 "AXOR.64" Atomic;
    0x4e AtomicXorBe "AXOR.32.be" Atomic;
    0x4f AtomicXor64Be "AXOR.64.be" Atomic;
    0x50 AtomicImin "AMIN.s32" Atomic;
    0x51 AtomicImin64 "AMIN.s64" Atomic;
    0x52 AtomicIminBe "AMIN.s32.be" Atomic;
    0x53 AtomicImin64Be "AMIN.s64.be" Atomic;
    0x54 AtomicUmin "AMIN.u32" Atomic;
    0x55 AtomicUmin64 "AMIN.u64" Atomic;
    0x56 AtomicUminBe "AMIN.u32.be" Atomic;
    0x57 AtomicUmin64Be "AMIN.u64.be" Atomic;
    0x58 AtomicImax "AMAX.s32" Atomic;
    0x59 AtomicImax64 "AMAX.s64" Atomic;
    0x5a AtomicImaxBe "AMAX.s32.be" Atomic;
    0x5b AtomicImax64Be "AMAX.s64.be" Atomic;
    0x5c AtomicUmax "AMAX.u32" Atomic;
    0x5d AtomicUmax64 "AMAX.u64" Atomic;
    0x5e AtomicUmaxBe "AMAX.u32.be" Atomic;
    0x5f AtomicUmax64Be "AMAX.u64.be" Atomic;
    0x60 AtomicXchg "XCHG.32" Atomic;
    0x61 AtomicXchg64 "XCHG.64" Atomic;
    0x62 AtomicXchgBe "XCHG.32.be" Atomic;
    0x63 AtomicXchg64Be "XCHG.64.be" Atomic;
    0x64 AtomicCmpxchg "CMPXCHG.32" Atomic;
    0x65 AtomicCmpxchg64 "CMPXCHG.64" Atomic;
    0x66 AtomicCmpxchgBe "CMPXCHG.32.be" Atomic;
    0x67 AtomicCmpxchg64Be "CMPXCHG.64.be" Atomic;
    0x80 LdU8 "LD.u8" Load;
    0x81 LdI8 "LD.s8" Load;
    0x84 LdU16 "LD.u16" Load;
    0x85 LdI16 "LD.s16" Load;
    0x86 LdU16Be "LD.u16.be" Load;
    0x87 LdI16Be "LD.s16.be" Load;
    0x88 Ld32 "LD.32" Load;
    0x89 Ld32Bswap2 "LD.32.bswap2" Load;
    0x8a Ld32Bswap4 "LD.32.bswap4" Load;
    0x8c Ld64 "LD.64" Load;
    0x8d Ld64Bswap2 "LD.64.bswap2" Load;
    0x8e Ld64Bswap4 "LD.64.bswap4" Load;
    0x8f Ld64Bswap8 "LD.64.bswap8" Load;
    0x90 Ld128 "LD.128" Load;
    0x91 Ld128Bswap2 "LD.128.bswap2" Load;
    0x92 Ld128Bswap4 "LD.128.bswap4" Load;
    0x93 Ld128Bswap8 "LD.128.bswap8" Load;
    0x94 LdAttr32 "LD_ATTR.f32" Attribute;
    0x95 LdAttr16 "LD_ATTR.f16" Attribute;
    0x96 LdAttr32u "LD_ATTR.u32" Attribute;
    0x97 LdAttr32i "LD_ATTR.s32" Attribute;
    0x98 LdVary32 "LD_VARY.f32" Attribute;
    0x99 LdVary16 "LD_VARY.f16" Attribute;
    0x9a LdVary32u "LD_VARY.u32" Attribute;
    0x9b LdVary32i "LD_VARY.s32" Attribute;
    0x9c LdSpecial32f "LD_SPECIAL.f32" Special;
    0x9d LdSpecial16f "LD_SPECIAL.f16" Special;
    0x9e LdSpecial32u "LD_SPECIAL.u32" Special;
    0x9f LdSpecial32i "LD_SPECIAL.s32" Special;
    0xa0 LdUboU8 "LD_UBO.u8" Uniform;
    0xa1 LdUboI8 "LD_UBO.s8" Uniform;
    0xa4 LdUboU16 "LD_UBO.u16" Uniform;
    0xa5 LdUboI16 "LD_UBO.s16" Uniform;
    0xa6 LdUboU16Be "LD_UBO.u16.be" Uniform;
    0xa7 LdUboI16Be "LD_UBO.s16.be" Uniform;
    0xa8 LdUbo32 "LD_UBO.32" Uniform;
    0xa9 LdUbo32Bswap2 "LD_UBO.32.bswap2" Uniform;
    0xaa LdUbo32Bswap4 "LD_UBO.32.bswap4" Uniform;
    0xac LdUbo64 "LD_UBO.64" Uniform;
    0xad LdUbo64Bswap2 "LD_UBO.64.bswap2" Uniform;
    0xae LdUbo64Bswap4 "LD_UBO.64.bswap4" Uniform;
    0xaf LdUbo64Bswap8 "LD_UBO.64.bswap8" Uniform;
    0xb0 LdUbo128 "LD_UBO.128" Uniform;
    0xb1 LdUbo128Bswap2 "LD_UBO.128.bswap2" Uniform;
    0xb2 LdUbo128Bswap4 "LD_UBO.128.bswap4" Uniform;
    0xb3 LdUbo128Bswap8 "LD_UBO.128.bswap8" Uniform;
    0xb4 LdImage32f "LD_IMAGE.f32" Attribute;
    0xb5 LdImage16f "LD_IMAGE.f16" Attribute;
    0xb6 LdImage32u "LD_IMAGE.u32" Attribute;
    0xb7 LdImage32i "LD_IMAGE.s32" Attribute;
    0xb8 LdTilebuffer32f "LD_TILEBUFFER.f32" Special;
    0xb9 LdTilebuffer16f "LD_TILEBUFFER.f16" Special;
    0xba LdTilebufferRaw "LD_TILEBUFFER.raw" Special;
    0xc0 StU8 "ST.u8" Store;
    0xc1 StI8 "ST.s8" Store;
    0xc4 StU16 "ST.u16" Store;
    0xc5 StI16 "ST.s16" Store;
    0xc6 StU16Be "ST.u16.be" Store;
    0xc7 StI16Be "ST.s16.be" Store;
    0xc8 St32 "ST.32" Store;
    0xc9 St32Bswap2 "ST.32.bswap2" Store;
    0xca St32Bswap4 "ST.32.bswap4" Store;
    0xcc St64 "ST.64" Store;
    0xcd St64Bswap2 "ST.64.bswap2" Store;
    0xce St64Bswap4 "ST.64.bswap4" Store;
    0xcf St64Bswap8 "ST.64.bswap8" Store;
    0xd0 St128 "ST.128" Store;
    0xd1 St128Bswap2 "ST.128.bswap2" Store;
    0xd2 St128Bswap4 "ST.128.bswap4" Store;
    0xd3 St128Bswap8 "ST.128.bswap8" Store;
    0xd4 StVary32 "ST_VARY.f32" StoreAttribute;
    0xd5 StVary16 "ST_VARY.f16" StoreAttribute;
    0xd6 StVary32u "ST_VARY.u32" StoreAttribute;
    0xd7 StVary32i "ST_VARY.s32" StoreAttribute;
    0xd8 StImage32f "ST_IMAGE.f32" StoreAttribute;
    0xd9 StImage16f "ST_IMAGE.f16" StoreAttribute;
    0xda StImage32u "ST_IMAGE.s32" StoreAttribute;
    0xdb StImage32i "ST_IMAGE.u32" StoreAttribute;
    0xdc StSpecial32f "ST_SPECIAL.f32" Special;
    0xdd StSpecial16f "ST_SPECIAL.f16" Special;
    0xde StSpecial32u "ST_SPECIAL.u32" Special;
    0xdf StSpecial32i "ST_SPECIAL.s32" Special;
    0xe8 StTilebuffer32f "ST_TILEBUFFER.f32" Special;
    0xe9 StTilebuffer16f "ST_TILEBUFFER.f16" Special;
    0xea StTilebufferRaw "ST_TILEBUFFER.raw" Special;
    0xfc Trap "TRAP" Other;
}
