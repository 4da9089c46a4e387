//! Reads GPU memory into records, within limits.

use std::borrow::Cow;

use tepui_packets::{Packet, PacketInfo, Revision, Revisions};

use crate::{GpuMemory, Problem, Record};

/// Bounds on the work of one decoder.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Largest number of records in the tree.
    pub records: usize,
    /// Largest depth of nested calls in a control stream.
    pub calls: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { records: 1 << 20, calls: 16 }
    }
}

/// GPU memory, and the number of records that may still be added to the tree.
pub struct Reader<'a> {
    memory: &'a dyn GpuMemory,
    limits: Limits,
    /// The revision of the hardware whose packets are read.
    revision: Revision,
    /// Records that may still be added.
    left: usize,
}

impl<'a> Reader<'a> {
    /// A reader at the start of an empty tree.
    pub fn new(memory: &'a dyn GpuMemory, limits: Limits) -> Reader<'a> {
        Reader { memory, limits, revision: Revisions::FIRST, left: limits.records }
    }

    /// A reader for packets of a hardware revision.
    #[must_use]
    pub fn of_revision(self, revision: Revision) -> Reader<'a> {
        Reader { revision, ..self }
    }

    /// Bounds on the work.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// The number of records that may still be added.
    pub fn left(&self) -> usize {
        self.left
    }

    /// Reads memory.
    pub fn read(&self, address: u64, into: &mut [u8]) -> Result<(), Problem> {
        Ok(self.memory.read(address, into)?)
    }

    /// Counts one record; returns false if the tree is full.
    pub fn take(&mut self) -> bool {
        let some = self.left > 0;
        self.left = self.left.saturating_sub(1);
        some
    }

    /// Reads and decodes one packet at an address.
    pub fn packet(&mut self, info: &'static PacketInfo, address: u64) -> Record {
        self.packet_as(info.name, info, address)
    }

    /// Version of [`Reader::packet`]: under another title.
    pub fn packet_as(
        &mut self,
        title: impl Into<Cow<'static, str>>,
        info: &'static PacketInfo,
        address: u64,
    ) -> Record {
        let mut record = Record::new(title, address);
        if !self.take() {
            record.problems.push(Problem::TooMuch { limit: self.limits.records });
            return record;
        }
        match self.bytes(address, info.size_bytes) {
            Ok(bytes) => record.set_packet_as(info, &bytes, self.revision),
            Err(problem) => record.problems.push(problem),
        }
        record
    }

    /// Decodes a packet in a register or in a field of a command.
    pub fn register(&mut self, info: &'static PacketInfo, bytes: &[u8]) -> Record {
        let mut record = Record::group(info.name);
        if self.take() {
            record.set_packet_as(info, bytes, self.revision);
        }
        record
    }

    /// Reads `size` bytes.
    pub fn bytes(&self, address: u64, size: usize) -> Result<Vec<u8>, Problem> {
        let mut bytes = vec![0; size];
        self.read(address, &mut bytes)?;
        Ok(bytes)
    }

    /// Reads a 32-bit word.
    pub fn word(&self, address: u64) -> Result<u32, Problem> {
        let mut bytes = [0; 4];
        self.read(address, &mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    /// Unpacks the packet at an address. Its problems are in its record.
    pub fn value<P: Packet>(&self, address: u64) -> Result<P, Problem> {
        let bytes = self.bytes(address, P::INFO.size_bytes)?;
        let (value, _) = P::unpack_lossy_as(&bytes, self.revision).map_err(Problem::Packet)?;
        Ok(value)
    }
}
