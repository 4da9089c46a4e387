//! Variables, memory in its address spaces, and descriptors.
//!
//! Addresses and offsets are in bytes; `Mem::offset` is added to them.

macro_rules! memory_ops { ([$($acc:tt)*] $($rest:ident)*) => { chain! { [$($acc)*
    /// Reads a variable. An array takes one operand, the element's index; past the end it is the last element's.
    LoadVar "load_var" (Rest) -> (Any) : Var [READS] = Fold::None;
    /// Writes a variable: (value) or (value, index) for an array; past the end the index is the last element's.
    StoreVar "store_var" (Any, Rest) -> () : Var [WRITES] = Fold::None;
    /// The handle of element `index` of a resource.
    Descriptor "descriptor" (S32) -> (H) : Res [PURE] = Fold::None;
    /// The 64-bit address of the descriptor itself. Made by lowering passes only.
    DescriptorAddress "descriptor_address" (H) -> (S64) [PURE] = Fold::None;
    /// The 64-bit address of a buffer (`handle`): base of its range.
    BufferAddress "buffer_address" (H) -> (S64) [PURE] = Fold::None;
    /// Size in bytes of a buffer's range.
    BufferSize "buffer_size" (H) -> (S32) [PURE] = Fold::None;
    /// Reads physical memory: (address).
    LoadGlobal "load_global" (S64) -> (Any) : Mem [READS] = Fold::None;
    /// Writes physical memory: (address, value).
    StoreGlobal "store_global" (S64, Any) -> () : Mem [WRITES] = Fold::None;
    /// Read-modify-write of physical memory, returns the old value: (address, data …).
    AtomicGlobal "atomic_global" (S64, Rest) -> (Any) : Atomic [READS, WRITES] = Fold::None;
    /// Reads physical memory at a base plus an offset that is extended and shifted as `Mem::index` says: (address, offset). Made by lowering passes, for GPUs whose loads add.
    LoadOffset "load_offset" (S64, S32) -> (Any) : Mem [READS] = Fold::None;
    /// Writes physical memory at a base plus an extended and shifted offset: (address, offset, value).
    StoreOffset "store_offset" (S64, S32, Any) -> () : Mem [WRITES] = Fold::None;
    /// Read-modify-write of physical memory at a base plus an extended and shifted offset, returns the old value: (address, offset, data …).
    AtomicOffset "atomic_offset" (S64, S32, Rest) -> (Any) : Atomic [READS, WRITES] = Fold::None;
    /// Reads a uniform or storage buffer: (handle, offset).
    LoadBuffer "load_buffer" (H, S32) -> (Any) : Mem [READS] = Fold::None;
    /// Writes a storage buffer: (handle, offset, value).
    StoreBuffer "store_buffer" (H, S32, Any) -> () : Mem [WRITES] = Fold::None;
    /// Read-modify-write of a storage buffer, returns the old value: (handle, offset, data …).
    AtomicBuffer "atomic_buffer" (H, S32, Rest) -> (Any) : Atomic [READS, WRITES] = Fold::None;
    /// Reads workgroup memory: (offset).
    LoadShared "load_shared" (S32) -> (Any) : Mem [READS] = Fold::None;
    /// Writes workgroup memory: (offset, value).
    StoreShared "store_shared" (S32, Any) -> () : Mem [WRITES] = Fold::None;
    /// Read-modify-write of workgroup memory, returns the old value: (offset, data …).
    AtomicShared "atomic_shared" (S32, Rest) -> (Any) : Atomic [READS, WRITES] = Fold::None;
    /// Reads per-invocation scratch memory: (offset).
    LoadScratch "load_scratch" (S32) -> (Any) : Mem [READS] = Fold::None;
    /// Writes per-invocation scratch memory: (offset, value).
    StoreScratch "store_scratch" (S32, Any) -> () : Mem [WRITES] = Fold::None;
    /// Reads push constants: (offset).
    LoadPush "load_push" (S32) -> (Any) : Mem [PURE] = Fold::None;
    /// Reads the driver's own uniform data: (offset). Made by lowering passes only.
    LoadUniform "load_uniform" (S32) -> (Any) : Mem [PURE] = Fold::None;
] $($rest)* } }; }
pub(super) use memory_ops;
