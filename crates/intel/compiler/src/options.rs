//! Options of the compiler.

use crate::patch::PatchInterface;
use crate::set_memory::SetBinding;
use crate::stage::FragmentState;

/// Options of the compiler.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// The placement of bindings in the memory of their sets; if there is none, [`crate::set_memory::placement`] decides.
    pub sets: &'a [SetBinding],
    /// Channels of a thread: 8, 16 or 32; 0 chooses.
    pub width: u8,
    /// Accesses of buffers out of bounds are defined.
    pub robust: bool,
    /// Maximum number of registers that values take; 0 for all.
    pub registers: u16,
    /// Checks the IR after each pass and the allocation of registers; debug builds always do.
    pub check: bool,
    /// [`crate::Program::names`] are wanted.
    pub names: bool,
    /// The pipeline's state, for fragment programs.
    pub fragment: FragmentState,
    /// Only components of vertex elements that are read are pushed ([`crate::stage::VertexInfo::packed`]).
    pub pack_elements: bool,
    /// Vertices go to another stage before the rasteriser: of vertex programs and domain programs.
    pub feeds_stage: bool,
    /// The entry of a patch, of tessellation shaders; without it, the shader's own.
    pub patch: Option<PatchInterface>,
}

impl Options<'_> {
    /// Whether the IR and the allocation are checked.
    pub(crate) fn checks(&self) -> bool {
        self.check || cfg!(debug_assertions)
    }
}
