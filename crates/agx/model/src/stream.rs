//! A reader of control streams that says where it is when something is wrong.

use tepui_packets::Packet;
use tepui_softgpu::AddressSpace;

use crate::job::{JobFault, Unit};

/// Nesting of stream links that return. source: Mesa's decode.c reserves 16.
pub const CALL_DEPTH: usize = 16;
/// Blocks of a stream before it is taken for one that never ends.
pub const BLOCK_BUDGET: u64 = 1 << 22;

/// A control stream and the place of the block that is being executed.
pub struct Stream<'a> {
    /// The address space.
    pub vm: &'a AddressSpace,
    /// Whose stream it is.
    pub unit: Unit,
    /// GPU address of the block.
    pub at: u64,
    returns: Vec<u64>,
}

impl<'a> Stream<'a> {
    /// A stream at its first block.
    pub fn new(vm: &'a AddressSpace, unit: Unit, at: u64) -> Stream<'a> {
        Stream { vm, unit, at, returns: Vec::new() }
    }

    /// A fault at the block.
    pub fn fault(&self, what: impl Into<String>) -> JobFault {
        JobFault { packet: Some(self.at), ..JobFault::new(self.unit, what) }
    }

    /// Gives a fault that has no place that of the block.
    pub fn place(&self, fault: JobFault) -> JobFault {
        JobFault { packet: fault.packet.or(Some(self.at)), ..fault }
    }

    /// The block's type: the top three bits of its first word.
    pub fn block_type(&self) -> Result<u8, JobFault> {
        let first: [u8; 4] = self.vm.read_array(self.at).map_err(|fault| self.unreadable(fault))?;
        Ok(first[3] >> 5)
    }

    fn unreadable(&self, fault: tepui_softgpu::Fault) -> JobFault {
        self.fault(format!("the control stream cannot be read: {fault}"))
    }

    /// Reads a packet `offset` bytes on.
    pub fn packet<P: Packet>(&self, offset: u64) -> Result<P, JobFault> {
        let mut bytes = [0; 32];
        let bytes = &mut bytes[..P::INFO.size_bytes];
        self.vm
            .read(self.at.wrapping_add(offset), bytes)
            .map_err(|fault| self.unreadable(fault))?;
        P::unpack(bytes).map_err(|problem| self.fault(problem.to_string()))
    }

    /// Reads the words of an indirect buffer.
    pub fn words<const N: usize>(&self, address: u64) -> Result<[u32; N], JobFault> {
        let mut words = [0; N];
        for (i, word) in words.iter_mut().enumerate() {
            let bytes =
                self.vm.read_array(address.wrapping_add(4 * i as u64)).map_err(|fault| {
                    self.fault(format!("the indirect buffer cannot be read: {fault}"))
                })?;
            *word = u32::from_le_bytes(bytes);
        }
        Ok(words)
    }

    /// Goes on behind a block of this size.
    pub fn skip(&mut self, bytes: u64) {
        self.at = self.at.wrapping_add(bytes);
    }

    /// Goes on elsewhere; with `size`, the word behind this block of that size is remembered.
    pub fn link(&mut self, target: u64, size: Option<u64>) -> Result<(), JobFault> {
        if let Some(size) = size {
            if self.returns.len() == CALL_DEPTH {
                return Err(self.fault("stream links are nested too deep"));
            }
            self.returns.push(self.at.wrapping_add(size));
        }
        self.at = target;
        Ok(())
    }

    /// Goes back behind the last link that asked for it.
    pub fn pop(&mut self) -> Result<(), JobFault> {
        match self.returns.pop() {
            Some(address) => {
                self.at = address;
                Ok(())
            }
            None => Err(self.fault("a stream return without a link")),
        }
    }
}
