//! Decodes work submitted to an AGX GPU into readable records.
//!
//! A [`Decoder`] starts at an address — a control stream, USC words, a sampler heap — reads GPU
//! memory through [`GpuMemory`], follows every pointer whose target has a known format, and returns
//! a tree of [`Record`]s: packets with their fields and addresses, and what they point to as
//! children. The tree prints as text ([`Record::to_string`]) and serialises as JSON.
//!
//! Decoding terminates for any memory contents: unmapped pages, invalid packets and streams that
//! loop or never end become [`Problem`]s in the tree, and [`Limits`] bounds the work.
//!
//! The modules follow the hardware: [`mod@cdm`] and [`mod@vdm`] decode the two control streams
//! (both use [`mod@stream`], which handles links, calls and ends), [`mod@ppp`] the state records of
//! draws, [`mod@usc`] the words that prepare a shader, [`mod@descriptors`] textures and samplers;
//! code is disassembled by `tepui_agx_isa`. On top of them, [`mod@submit`] decodes whole commands
//! of the kernel interface, and [`mod@calls`] the arguments of its ioctls. Start reading in
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
mod memory;
pub mod ppp;
mod record;
mod shader;
pub mod stream;
pub mod submit;
pub mod usc;
pub mod vdm;

use std::collections::HashSet;

pub use memory::{GpuMemory, Unreadable};
pub use record::{Content, Problem, Record};

use tepui_packets::PacketInfo;

/// Bounds on the work of one [`Decoder`].
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Largest number of records in the tree.
    pub records: usize,
    /// Largest depth of nested calls in a control stream. The limit of the hardware is unknown.
    pub calls: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { records: 1 << 20, calls: 16 }
    }
}

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
    memory: &'a dyn GpuMemory,
    options: Options,
    /// Records that may still be added to the tree.
    left: usize,
    /// USC words and programs that are in the tree already.
    seen: HashSet<(u64, u8)>,
}

impl<'a> Decoder<'a> {
    /// A decoder with an empty tree.
    pub fn new(memory: &'a dyn GpuMemory, options: Options) -> Decoder<'a> {
        Decoder { memory, options, left: options.limits.records, seen: HashSet::new() }
    }

    /// The GPU address of a USC address.
    pub fn usc(&self, address: u64) -> u64 {
        self.options.usc_base.wrapping_add(address)
    }

    /// Counts one record; returns false if the tree is full.
    fn take(&mut self) -> bool {
        let some = self.left > 0;
        self.left = self.left.saturating_sub(1);
        some
    }

    /// Reads and decodes one packet at an address.
    fn packet(&mut self, info: &'static PacketInfo, address: u64) -> Record {
        self.packet_as(info.name, info, address)
    }

    /// As [`Decoder::packet`], under another title.
    fn packet_as(
        &mut self,
        title: impl Into<std::borrow::Cow<'static, str>>,
        info: &'static PacketInfo,
        address: u64,
    ) -> Record {
        let mut record = Record::new(title, address);
        if !self.take() {
            record.problems.push(Problem::TooMuch { limit: self.options.limits.records });
            return record;
        }
        match self.bytes(address, info.size_bytes) {
            Ok(bytes) => record.set_packet(info, &bytes),
            Err(problem) => record.problems.push(problem),
        }
        record
    }

    /// Decodes a packet in a register or in a field of a command.
    fn register(&mut self, info: &'static PacketInfo, bytes: &[u8]) -> Record {
        let mut record = Record::group(info.name);
        if self.take() {
            record.set_packet(info, bytes);
        }
        record
    }

    /// Reads `size` bytes.
    fn bytes(&self, address: u64, size: usize) -> Result<Vec<u8>, Problem> {
        let mut bytes = vec![0; size];
        self.memory.read(address, &mut bytes)?;
        Ok(bytes)
    }

    /// Reads a 32-bit word.
    fn word(&self, address: u64) -> Result<u32, Problem> {
        let mut bytes = [0; 4];
        self.memory.read(address, &mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    /// Unpacks the packet at an address. Its problems are in its record.
    fn value<P: tepui_packets::Packet>(&self, address: u64) -> Result<P, Problem> {
        let bytes = self.bytes(address, P::INFO.size_bytes)?;
        let (value, _) = P::unpack_lossy(&bytes).map_err(Problem::Packet)?;
        Ok(value)
    }
}
