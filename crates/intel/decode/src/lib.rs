//! Decodes work submitted to an Intel GPU into readable records.
//!
//! A [`Decoder`] starts at the address of a batch, reads GPU memory through [`GpuMemory`], follows every
//! pointer whose target has a known format, and returns a tree of [`Record`]s: commands with their fields and
//! addresses, and as children the structures that they point to: second-level batches, surface states of
//! binding tables, samplers with their border colours, viewports, scissors, blend and colour states,
//! interface descriptors, constants, and the code of kernels. The tree prints as text (`Display`) and
//! serialises as JSON. Names are those of Mesa's genxml.
//!
//! Pointers are offsets from base addresses that earlier commands set, often those of an earlier batch, so a
//! decoder begins with the [`State`] that the previous batch left.
//!
//! Decoding terminates for any memory contents: unmapped pages, unknown commands and batches that
//! loop or never end become [`Problem`]s in the tree, and [`Limits`] bound the work.
//!
//! [`mod@batch`] walks commands, [`mod@pointers`] follows their pointers, [`mod@states`] decodes states in
//! memory and [`mod@kernel`] code; [`mod@calls`] decodes the arguments of ioctls. Start reading in
//! [`mod@batch`].
//!
//! ```
//! use tepui_intel_decode::{Decoder, Options, State};
//! use tepui_softgpu::AddressSpace;
//!
//! // Nothing is mapped, so the tree is one problem with its address.
//! let vm = AddressSpace::new(12, 48);
//! let mut state = State::default();
//! let tree = Decoder::new(&vm, Options::default(), &mut state).batch(0x10_0000, 64);
//! assert!(tree.to_string().contains("0x100000"));
//! ```

pub mod batch;
pub mod calls;
pub mod kernel;
pub mod pointers;
pub mod states;

use std::collections::HashSet;

pub use tepui_decode::{
    Content, GpuMemory, InstructionError, Limits, Problem, Reader, Record, Unreadable,
};
use tepui_intel_chips::Generation;
use tepui_intel_packets::{Revision, revision};

/// Bits of a GPU address; the upper bits of a canonical one repeat the highest of them.
const ADDRESS_BITS: u32 = 48;

/// The 48 bits of an address.
const fn address(canonical: u64) -> u64 {
    canonical & ((1 << ADDRESS_BITS) - 1)
}

/// Parameters of a [`Decoder`] other than the memory.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The generation of the GPU.
    pub generation: Generation,
    /// Whether kernels are decoded each time something points to them. Otherwise later pointers to the same
    /// code give a reference to the first.
    pub everything: bool,
    /// Bounds on the work.
    pub limits: Limits,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            generation: Generation::Gen9,
            everything: false,
            limits: Limits { calls: 1, ..Limits::default() },
        }
    }
}

/// The shader stages of draws, as an index of [`State::stages`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Vertex.
    Vs,
    /// Hull.
    Hs,
    /// Domain.
    Ds,
    /// Geometry.
    Gs,
    /// Pixel.
    Ps,
}

/// Sizes of the tables of a stage, from its state command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StageState {
    /// Entries of the binding table, from the command or from the kernel's messages; 0 if unknown.
    pub surfaces: u32,
    /// Samplers, in the same way.
    pub samplers: u32,
}

/// Decoder state that commands leave for later ones, across the batches of one context.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Base of binding tables and the surface states that they name.
    pub surface_base: u64,
    /// Base of samplers, constants, interface descriptors, viewports and blend states.
    pub dynamic_base: u64,
    /// Base of kernels.
    pub instruction_base: u64,
    /// Stages by [`Stage`].
    pub stages: [StageState; 5],
    /// Index of the last viewport that primitives may choose.
    pub last_viewport: u32,
    /// Entries of the pixel shader's binding table that it uses as render targets.
    pub targets: Vec<u8>,
    /// Offset of the pixel shader's binding table from the surface state base address.
    pub pixel_table: u64,
}

/// A decoder of one GPU address space.
pub struct Decoder<'a, 's> {
    reader: Reader<'a>,
    options: Options,
    state: &'s mut State,
    /// Surface states of render targets that were rendered to.
    drawn: Vec<u64>,
    /// Kernels that are in the tree already.
    seen: HashSet<u64>,
}

impl<'a, 's> Decoder<'a, 's> {
    /// A decoder with an empty tree, of a context whose earlier batches left `state`.
    pub fn new(
        memory: &'a dyn GpuMemory,
        options: Options,
        state: &'s mut State,
    ) -> Decoder<'a, 's> {
        Decoder {
            reader: Reader::new(memory, options.limits).of_revision(revision(options.generation)),
            options,
            state,
            drawn: Vec::new(),
            seen: HashSet::new(),
        }
    }

    /// The addresses of the surface states of all render targets that the commands so far have rendered to,
    /// in the order of their first draw.
    pub fn drawn(&self) -> &[u64] {
        &self.drawn
    }

    /// The revision of packets.
    fn revision(&self) -> Revision {
        revision(self.options.generation)
    }

    /// The problem that the tree has reached its limit.
    fn too_much(&self) -> Problem {
        Problem::TooMuch { limit: self.options.limits.records }
    }
}
