//! A reader of control streams, whose errors have the address of the block.

use tepui_packets::Packet;
use tepui_softgpu::{Access, AddressSpace};

use crate::job::{FaultKind, JobFault, Unit};

/// Nesting of stream links that return. source: Mesa's decode.c reserves 16.
pub const CALL_DEPTH: usize = 16;
/// Blocks of a stream at which it counts as endless.
pub const BLOCK_BUDGET: u64 = 1 << 22;

/// A control stream and the address of the current block.
pub struct Stream<'a> {
    /// The address space.
    pub vm: &'a AddressSpace,
    /// The unit that reads it.
    pub unit: Unit,
    /// GPU address of the block.
    pub at: u64,
    returns: Vec<u64>,
}

impl<'a> Stream<'a> {
    /// A reader at the first block of a stream.
    pub fn new(vm: &'a AddressSpace, unit: Unit, at: u64) -> Stream<'a> {
        Stream { vm, unit, at, returns: Vec::new() }
    }

    /// A fault at the current block.
    pub fn fault(&self, what: impl Into<String>) -> JobFault {
        JobFault { packet: Some(self.at), ..JobFault::new(self.unit, what) }
    }

    /// Adds the address of the current block to a fault that has none.
    pub fn place(&self, fault: JobFault) -> JobFault {
        JobFault { packet: fault.packet.or(Some(self.at)), ..fault }
    }

    /// The block's type: the top three bits of its first word.
    pub fn block_type(&self) -> Result<u8, JobFault> {
        let first: [u8; 4] = self.vm.read_array(self.at).map_err(|fault| self.unreadable(fault))?;
        Ok(first[3] >> 5)
    }

    fn unreadable(&self, fault: tepui_softgpu::Fault) -> JobFault {
        self.fault(format!("the control stream cannot be read: {fault}")).of(FaultKind::Unbound)
    }

    /// Reads the packet at a byte offset from the current block.
    pub fn packet<P: Packet>(&self, offset: u64) -> Result<P, JobFault> {
        let mut bytes = [0; 32];
        let bytes = &mut bytes[..P::INFO.size_bytes];
        self.vm.report_access(0, Access::Read, self.at.wrapping_add(offset), bytes.len() as u64);
        self.vm
            .read(self.at.wrapping_add(offset), bytes)
            .map_err(|fault| self.unreadable(fault))?;
        P::unpack(bytes).map_err(|problem| self.fault(problem.to_string()))
    }

    /// Reads the words of an indirect buffer.
    pub fn words<const N: usize>(&self, address: u64) -> Result<[u32; N], JobFault> {
        self.vm.report_access(0, Access::Read, address, 4 * N as u64);
        let mut words = [0; N];
        for (i, word) in words.iter_mut().enumerate() {
            let bytes =
                self.vm.read_array(address.wrapping_add(4 * i as u64)).map_err(|fault| {
                    self.fault(format!("the indirect buffer cannot be read: {fault}"))
                        .of(FaultKind::Unbound)
                })?;
            *word = u32::from_le_bytes(bytes);
        }
        Ok(words)
    }

    /// Goes to the next block, past one of `size` bytes.
    pub fn skip(&mut self, bytes: u64) {
        self.at = self.at.wrapping_add(bytes);
    }

    /// Jumps to an address. With `size`, the size of the current block, it is a call: the next
    /// block is pushed on the stack of return addresses.
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

    /// Returns to the block after the last call.
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
