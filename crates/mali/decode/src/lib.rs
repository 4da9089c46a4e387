//! Decodes work submitted to a Mali GPU into readable records: command streams, or chains of jobs ([`mod@chain`]).
//!
//! A [`Decoder`] follows a stream as the GPU executes it: registers, loads and stores, branches, calls. It returns a
//! tree of [`Record`]s: instructions in Mesa's syntax, and below each that starts work what it points to: resource
//! tables with their textures, samplers and buffers, uniforms, shader programs with their code, local storage,
//! tiler contexts, framebuffers with their render targets. The tree prints as text (`Display`) and serialises as JSON.
//! Names are those of Mesa's genxml.
//!
//! Memory is as it was when the stream began. Later loads see what the stream itself has stored, but not what the
//! work that it starts would write; a wait for a sync object counts as fulfilled. Registers keep their values from
//! stream to stream, so a decoder begins with the [`State`] that the previous stream left.
//!
//! Decoding terminates for any memory contents: unmapped pages, unknown instructions and streams that never end become
//! [`Problem`]s in the tree, and [`Limits`] bound the work.
//!
//! [`mod@stream`] follows streams, [`mod@work`] decodes the operands of instructions that start work,
//! [`mod@resources`], [`mod@framebuffer`] and [`mod@shader`] decode the structures that they point to; [`mod@calls`]
//! decodes the arguments of ioctls. Start reading in [`mod@stream`]. Chains of Bifrost and Midgard have draws of their
//! own ([`mod@bifrost`], [`mod@midgard`]).
//!
//! ```
//! use tepui_mali_decode::{Decoder, Options, State};
//! use tepui_softgpu::AddressSpace;
//!
//! // Nothing is mapped, so the tree is one problem with its address.
//! let vm = AddressSpace::new(12, 48);
//! let mut state = State::default();
//! let tree = Decoder::new(&vm, Options::default()).stream(&mut state, 0x10_0000, 64);
//! assert!(tree.to_string().contains("0x100000"));
//! ```

pub mod bifrost;
pub mod calls;
pub mod chain;
pub mod framebuffer;
pub mod midgard;
pub mod resources;
pub mod shader;
pub mod stream;
pub mod work;

use std::collections::HashSet;

pub use tepui_decode::{
    Content, GpuMemory, InstructionError, Limits, Problem, Reader, Record, Unreadable,
};
use tepui_mali_chips::{Arch, Chip};
use tepui_mali_isa::midgard::TextureRegisters;
use tepui_mali_packets::revision;
pub use tepui_mali_streams::FrontEnd as State;

/// Parameters of a [`Decoder`] other than the memory.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The architecture, which determines the positions of fields and the kind of machine code.
    pub arch: Arch,
    /// Registers of Midgard's texture unit, which its machine code does not name.
    pub texture_registers: TextureRegisters,
    /// Whether shaders and tables are decoded each time something points to them. Otherwise later pointers to
    /// the same structure give a reference to the first.
    pub everything: bool,
    /// Bounds on the work.
    pub limits: Limits,
}

impl Options {
    /// The options for a chip, with default limits.
    pub fn of(chip: &Chip) -> Options {
        let texture_registers = TextureRegisters::shared(chip.shares_texture_registers());
        Options { arch: chip.arch, texture_registers, ..Options::default() }
    }
}

impl Default for Options {
    fn default() -> Options {
        let texture_registers = TextureRegisters::Own;
        Options { arch: Arch(10), texture_registers, everything: false, limits: Limits::default() }
    }
}

/// A decoder of one GPU address space.
pub struct Decoder<'a> {
    reader: Reader<'a>,
    options: Options,
    /// Structures that are in the tree already: titles and addresses.
    seen: HashSet<(&'static str, u64)>,
    /// Number of render targets of the framebuffer that draws render to, if it is known.
    targets: u32,
}

impl<'a> Decoder<'a> {
    /// A decoder with an empty tree.
    pub fn new(memory: &'a dyn GpuMemory, options: Options) -> Decoder<'a> {
        let reader = Reader::new(memory, options.limits).of_revision(revision(options.arch.0));
        Decoder { reader, options, seen: HashSet::new(), targets: 1 }
    }

    /// Whether draws have Bifrost's format or Midgard's, which is nearly the same.
    fn is_bifrost(&self) -> bool {
        self.options.arch.0 < 9
    }

    /// Whether draws have Midgard's format.
    fn is_midgard(&self) -> bool {
        self.options.arch.0 < 6
    }

    /// The problem that the tree has reached its limit.
    fn too_much(&self) -> Problem {
        Problem::TooMuch { limit: self.options.limits.records }
    }

    /// Whether a structure of this kind and address is in the tree already; marks it as present.
    fn is_known(&mut self, kind: &'static str, at: u64) -> bool {
        !self.seen.insert((kind, at)) && !self.options.everything
    }
}
