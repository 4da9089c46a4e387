//! Makes what is submitted to an AGX readable.
//!
//! A [`Decoder`] starts at an address — a control stream, USC words, a sampler heap — reads GPU
//! memory through [`GpuMemory`], follows every pointer whose target has a known form, and leaves a
//! tree of [`Record`]s: a packet with its fields, its address, and what it points to as children.
//! The tree prints as text ([`Record::to_string`]) and serialises as JSON.
//!
//! Whatever the memory holds, decoding ends: pages that are missing, packets that are odd, streams
//! that run in circles or never end become [`Problem`]s in the tree, and a [`Limits`] bounds the
//! work.
//!
//! The modules follow the hardware: [`mod@cdm`] and [`mod@vdm`] are the two control streams (both
//! on [`tepui_decode::stream`], which knows links, calls and ends), [`mod@ppp`] the state records
//! of draws, [`mod@usc`] the words that prepare a shader, [`mod@descriptors`] textures and
//! samplers; code is disassembled by `tepui_agx_isa`. Above them stand [`mod@submit`], whole
//! commands of the kernel's interface, and [`mod@calls`], the arguments of its requests.
//!
//! ```
//! use tepui_agx_decode::{Decoder, Options};
//! use tepui_softgpu::AddressSpace;
//!
//! // Nothing is bound, so the tree is one problem with its address.
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

/// What a decoder must know beside the memory.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// USC_EXEC_BASE: what 32-bit USC addresses are relative to.
    pub usc_base: u64,
    /// Launches have the two further words of the G14 parts with several clusters.
    pub g14x: bool,
    /// Decode USC words and code as often as something points to them, and descriptors in every way
    /// in which they can be read. Otherwise the second and further pointers to the same words give
    /// a reference to the first, and the likelier reading is chosen.
    pub everything: bool,
    /// Bounds on the work.
    pub limits: Limits,
}

impl Options {
    /// For a one-cluster part of either generation.
    pub fn new(usc_base: u64) -> Options {
        Options { usc_base, g14x: false, everything: false, limits: Limits::default() }
    }
}

/// Decodes from one GPU address space.
pub struct Decoder<'a> {
    reader: Reader<'a>,
    options: Options,
    /// Lists of USC words and programs that the tree has already.
    seen: HashSet<(u64, u8)>,
}

impl<'a> Decoder<'a> {
    /// A decoder that has seen nothing.
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
