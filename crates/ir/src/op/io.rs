//! Inputs, outputs, built-ins and what a fragment may do to itself.

macro_rules! io_ops { ([$($acc:tt)*] $($rest:ident)*) => { chain! { [$($acc)*
    /// Reads a vertex attribute or a fragment input at its declared sampling: (offset in locations, 0 when not an array; components for clip and cull distances). An offset past the end is that of the last element, here and in the other loads and stores.
    LoadInput "load_input" (S32) -> (Any) : Io [PURE] = Fold::None;
    /// Reads a fragment input at a sample: (offset in locations, sample).
    LoadInputAtSample "load_input_at_sample" (S32, S32) -> (Any) : Io [PURE] = Fold::None;
    /// Reads a fragment input at an offset from the pixel's centre: (offset in locations, b32x2 in pixels).
    LoadInputAtOffset "load_input_at_offset" (S32, V2) -> (Any) : Io [PURE] = Fold::None;
    /// Reads a fragment input of vertex `vertex` of the triangle (`PerVertexKHR`): (offset in locations, vertex).
    LoadInputVertex "load_input_vertex" (S32, S32) -> (Any) : Io [PURE] = Fold::None;
    /// Reads the colour that a fragment's output slot has in the framebuffer so far.
    LoadOutput "load_output" () -> (Any) : Io [READS] = Fold::None;
    /// Writes an output: (value, offset in locations or, for clip and cull distances, in components).
    StoreOutput "store_output" (Any, S32) -> () : Io [WRITES] = Fold::None;
    /// Reads a built-in; its type is given with the built-in.
    LoadBuiltin "load_builtin" () -> (Any) : Builtin [PURE] = Fold::None;
    /// Turns the invocation into a helper: its later writes do nothing, derivatives go on.
    Demote "demote" () -> () [WRITES] = Fold::None;
    /// `demote` where the condition holds.
    DemoteIf "demote_if" (B1) -> () [WRITES] = Fold::None;
    /// Whether the invocation is a helper now (was one from the start, or was demoted).
    IsHelper "is_helper" () -> (B1) [READS] = Fold::None;
    /// The shader's clock, b32x2, for `OpReadClockKHR`.
    Clock "clock" () -> (V2) [READS, WRITES] = Fold::None;
    /// Begin of a fragment-shader-interlock critical section.
    InterlockBegin "interlock_begin" () -> () [READS, WRITES] = Fold::None;
    /// End of a fragment-shader-interlock critical section.
    InterlockEnd "interlock_end" () -> () [READS, WRITES] = Fold::None;
] $($rest)* } }; }
pub(super) use io_ops;
