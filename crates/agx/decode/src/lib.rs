//! Decodes work submitted to an AGX GPU into readable records.
//!
//! A [`Decoder`] starts at an address — a control stream, USC words, a sampler heap — reads GPU
//! memory through [`GpuMemory`], follows every pointer whose target has a known format, and returns
//! a tree of [`Record`]s: packets with their fields and addresses, and what they point to as
//! children. The tree prints as text (`Display`) and serialises as JSON.
//!
//! Decoding terminates for any memory contents: unmapped pages, invalid packets and streams that
//! loop or never end become [`Problem`]s in the tree, and [`Limits`] bounds the work.
//!
//! The modules follow the hardware: [`mod@cdm`] and [`mod@vdm`] decode the two control streams
//! (both use [`tepui_decode::stream`], which handles links, calls and ends), [`mod@ppp`] the state
//! records of draws, [`mod@usc`] the words that prepare a shader, [`mod@descriptors`] textures and
//! samplers; code is disassembled by `tepui_agx_isa`. On top of them, [`mod@submit`] decodes whole
//! commands of the kernel interface, and [`mod@calls`] the arguments of its ioctls. Start reading
//! in
//! [`mod@submit`].
//!
//! ```
//! use tepui_agx_decode::{Decoder, Options};
//! use tepui_softgpu::AddressSpace;
//!
//! // Nothing is mapped, so the tree is one problem with its address.
//! let vm = AddressSpace::new(14, 39);
//! let tree = Decoder::new(&vm, Options::new(0)).cdm(0x10_0000);
//! assert!(tree.to_string().contains("0x100000"));
//! ```

pub mod calls;
pub mod cdm;
pub mod descriptors;
pub mod ppp;
mod shader;
pub mod submit;
pub mod usc;
pub mod vdm;

use std::collections::HashSet;

pub use tepui_decode::{
    Content, GpuMemory, InstructionError, Limits, Problem, Reader, Record, Unreadable,
};

/// Parameters of a [`Decoder`] besides the memory.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// USC_EXEC_BASE, the base of 32-bit USC addresses.
    pub usc_base: u64,
    /// Launches have the two additional words of the multi-cluster G14 chips.
    pub g14x: bool,
    /// Decode USC words and code each time something points to them, and descriptors both as
    /// textures and as PBE descriptors. Otherwise further pointers to the same words give a
    /// reference to the first, and the more likely kind of descriptor is chosen.
    pub everything: bool,
    /// Bounds on the work.
    pub limits: Limits,
}

impl Options {
    /// Options for a chip with one cluster, of either generation.
    pub fn new(usc_base: u64) -> Options {
        Options { usc_base, g14x: false, everything: false, limits: Limits::default() }
    }
}

/// A decoder of one GPU address space.
pub struct Decoder<'a> {
    reader: Reader<'a>,
    options: Options,
    /// USC words and programs that are in the tree already.
    seen: HashSet<(u64, u8)>,
}

impl<'a> Decoder<'a> {
    /// A decoder with an empty tree.
    pub fn new(memory: &'a dyn GpuMemory, options: Options) -> Decoder<'a> {
        Decoder { reader: Reader::new(memory, options.limits), options, seen: HashSet::new() }
    }

    /// The GPU address of a USC address.
    pub fn usc(&self, address: u64) -> u64 {
        self.options.usc_base.wrapping_add(address)
    }
}

impl<'a> AsMut<Reader<'a>> for Decoder<'a> {
    fn as_mut(&mut self) -> &mut Reader<'a> {
        &mut self.reader
    }
}
