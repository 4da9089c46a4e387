//! The part that a family implements: launches of compute programs before a draw, memory, and the programs of shaders.

use std::sync::Arc;

use tepui_expand::capture::Destination;
use tepui_expand::{Expansion, StageWords};
use tepui_ir::Shader as Ir;
use tepui_sysval::{LaunchWords, MemoryWords};
use tepui_vulkan::Result;
use tepui_vulkan::backend::{Backend, Dispatch, Draw, Encoder, Types};
use tepui_vulkan::command::CommandState;
use tepui_vulkan::state::GraphicsState;

use crate::derived::{Derivation, Derived};
use crate::memory::SharedMemory;
use crate::program::Program;
use crate::state::ExpandState;

/// A family whose stages before the rasteriser run as compute programs.
pub trait ExpandBackend: Backend<Encoder: Expander<Self>, Shader: ExpandShader> {}

impl<B: Backend<Encoder: Expander<B>, Shader: ExpandShader>> ExpandBackend for B {}

/// A compiled compute program of a family.
pub type ProgramOf<B> = <<B as Types>::Shader as ExpandShader>::Program;

/// Descriptor sets as launches of a family bind them.
pub type SetsOf<B> = <<B as Types>::Encoder as Expander<B>>::Sets;

/// A shader of a family.
pub trait ExpandShader: Sized {
    /// A compiled compute program.
    type Program: Clone;

    /// The shader as the pipeline has it.
    fn ir(&self) -> &Ir;

    /// Shaders and programs that follow from this one.
    fn derived(&self) -> &Derived<Self>;

    /// Makes a shader that follows from this one.
    ///
    /// # Errors
    /// When it does not compile, or there is no memory.
    fn derive(&self, ir: Ir, how: &Derivation) -> Result<Self>;

    /// The program of a compute shader.
    ///
    /// # Errors
    /// When it does not compile.
    fn compute_program(&self) -> Result<Self::Program>;

    /// The compute program of a geometry or tessellation shader ([`tepui_expand::lower()`]).
    ///
    /// # Errors
    /// When it does not compile.
    fn expanded_program(&self, expansion: &Expansion) -> Result<Self::Program>;

    /// The compute program of a vertex shader ([`tepui_expand::capture`]).
    ///
    /// # Errors
    /// When it does not compile.
    fn vertex_program(&self, state: &GraphicsState, to: Destination) -> Result<Self::Program>;

    /// Threads of a program's workgroups in x.
    fn threads(program: &Self::Program) -> u32;

    /// Whether the shader reads the number of the primitive.
    fn reads_primitive(&self) -> bool;
}

/// A value of a launch that is known, or that an earlier program leaves in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Supplied<T> {
    /// The value.
    Value(T),
    /// GPU address of the value.
    Memory(u64),
}

/// Values of a vertex shader that runs as a compute program.
#[derive(Clone, Copy, Debug)]
pub struct VertexValues {
    /// Base vertex.
    pub base_vertex: u32,
    /// First instance.
    pub first_instance: Supplied<u32>,
    /// Number of the draw.
    pub draw_index: u32,
    /// Address of the numbers of the vertices to process.
    pub list: Supplied<u64>,
}

/// The application's state that a stage of its own runs with.
pub struct Application<'a, B: ExpandBackend> {
    /// State: push constants, and vertex buffers of vertex shaders.
    pub state: &'a CommandState<B>,
    /// Descriptor sets.
    pub sets: &'a SetsOf<B>,
    /// Values of a vertex shader.
    pub vertex: Option<VertexValues>,
}

/// A launch of a compute program.
pub struct Launch<'a, B: ExpandBackend> {
    /// The program.
    pub program: &'a ProgramOf<B>,
    /// Its size.
    pub dispatch: Dispatch,
    /// The driver's words.
    pub words: LaunchWords<'a>,
    /// For stages of the application.
    pub application: Option<Application<'a, B>>,
}

/// Memory that all command buffers of a device share, since the queue runs one hardware command after the other and each rendering
/// begins with all of it free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SharedUse {
    /// The heap that programs allocate from.
    Heap,
    /// Memory in which the encoder allocates.
    Pieces,
}

/// A family's encoder.
pub trait Expander<B: Backend<Shader: ExpandShader>>: Encoder<B> {
    /// Descriptor sets of graphics pipelines as launches bind them.
    type Sets;
    /// Memory that several command buffers use, and that lives as long as one of them.
    type Memory: SharedMemory;

    /// Lanes of a sub-group, a power of two.
    const LANES: u32;
    /// Polygons that are to be drawn as lines or points become those before the rasteriser.
    const DRAWS_POLYGONS_WHOLE: bool = false;
    /// The hardware runs vertex shaders for no vertices but those of a draw, so that they may write memory and ask other lanes.
    const VERTICES_ARE_EXACT: bool = true;

    /// State of expanded draws.
    fn expansion(&mut self) -> &mut ExpandState<Self::Memory>;

    /// State of expanded draws.
    fn expansion_ref(&self) -> &ExpandState<Self::Memory>;

    /// A compiled program of this crate.
    ///
    /// # Errors
    /// When it does not compile, which is a mistake.
    fn program(&mut self, p: Program) -> Result<<B::Shader as ExpandShader>::Program>;

    /// The descriptor sets of graphics pipelines, whatever a draw has seen of them.
    ///
    /// # Errors
    /// When there is no memory.
    fn graphics_sets(&mut self, state: &CommandState<B>) -> Result<Self::Sets>;

    /// Runs a program after all launches before and before all later ones.
    ///
    /// # Errors
    /// When there is no memory.
    fn launch_ordered(&mut self, launch: &Launch<'_, B>) -> Result<()>
    where
        B: ExpandBackend<Encoder = Self>;

    /// Puts bytes into memory that the GPU reads and writes; gives their address.
    ///
    /// # Errors
    /// When there is no memory.
    fn put_bytes(&mut self, bytes: &[u8], align: u64) -> Result<u64>;

    /// Memory of the command buffer that the GPU writes; gives its address, a multiple of 64.
    ///
    /// # Errors
    /// When there is no memory.
    fn gpu_memory(&mut self, bytes: u64) -> Result<u64>;

    /// Shared memory of at least `bytes` bytes.
    ///
    /// # Errors
    /// When there is no memory.
    fn shared_memory(&mut self, of: SharedUse, bytes: u64) -> Result<Self::Memory>;

    /// The address of a list of `count` consecutive numbers from `first` on, if there is one in memory already.
    ///
    /// # Errors
    /// When there is no memory.
    fn identity_list(&mut self, _first: u32, _count: u32) -> Result<Option<u64>> {
        Ok(None)
    }

    /// Makes later commands wait for all before.
    fn wait_for_all(&mut self);

    /// The next draw looks for its programs anew: what they depend on has changed outside of the state.
    fn forget_programs(&mut self);

    /// Draws for one view by the hardware alone, in the open rendering. `words` are those of the vertex shader.
    ///
    /// # Errors
    /// When shaders do not compile, or state is not supported.
    fn draw_view(
        &mut self,
        state: &mut CommandState<B>,
        draw: &Draw,
        view: u32,
        words: LaunchWords<'_>,
    ) -> Result<()>;
}

/// Threads of a launch of one of this crate's programs, and its words.
pub(crate) fn run<B: ExpandBackend>(
    e: &mut B::Encoder,
    p: Program,
    words: LaunchWords<'_>,
    threads: u32,
) -> Result<()> {
    let program = e.program(p)?;
    let groups = threads.div_ceil(<B::Shader as ExpandShader>::threads(&program));
    let dispatch = Dispatch::Direct([0; 3], [groups, 1, 1]);
    e.launch_ordered(&Launch { program: &program, dispatch, words, application: None })
}

/// Runs a program whose number of workgroups is in memory.
pub(crate) fn run_indirect<B: ExpandBackend>(
    e: &mut B::Encoder,
    program: &ProgramOf<B>,
    words: LaunchWords<'_>,
    groups: u64,
) -> Result<()> {
    let dispatch = Dispatch::Indirect([0; 3], groups);
    e.launch_ordered(&Launch { program, dispatch, words, application: None })
}

/// Runs a stage whose words and number of workgroups are in memory.
pub(crate) fn run_stage<B: ExpandBackend>(
    e: &mut B::Encoder,
    program: &ProgramOf<B>,
    application: Application<'_, B>,
    words: u64,
    groups: u64,
) -> Result<()> {
    let in_memory = [MemoryWords::all::<StageWords>(words)];
    e.launch_ordered(&Launch {
        program,
        dispatch: Dispatch::Indirect([0; 3], groups),
        words: LaunchWords { values: &[], in_memory: &in_memory },
        application: Some(application),
    })
}

/// A shader of a pipeline.
pub(crate) type ShaderOf<B> = Arc<<B as Types>::Shader>;
