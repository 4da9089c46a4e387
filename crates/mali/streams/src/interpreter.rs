//! Execution of the instructions that the front end executes itself.

use tepui_mali_packets::Packet;
use tepui_mali_packets::cs::{self, CsCondition, CsOpcode};

use crate::{BYTES, Error, FrontEnd, Memory, Range, Step};

impl FrontEnd {
    /// The value of a register.
    ///
    /// # Errors
    /// It does not exist.
    pub fn register<F>(&self, index: u32) -> Result<u32, Error<F>> {
        self.registers.get(index as usize).copied().ok_or(Error::NoRegister(index))
    }

    /// The value of a pair of registers.
    ///
    /// # Errors
    /// It does not exist.
    pub fn pair<F>(&self, index: u32) -> Result<u64, Error<F>> {
        Ok(u64::from(self.register::<F>(index)?) | u64::from(self.register::<F>(index + 1)?) << 32)
    }

    fn set<F>(&mut self, index: u32, value: u32) -> Result<(), Error<F>> {
        let register = self.registers.get_mut(index as usize);
        *register.ok_or(Error::NoRegister(index))? = value;
        Ok(())
    }

    fn set_pair<F>(&mut self, index: u32, value: u64) -> Result<(), Error<F>> {
        self.set(index, value as u32)?;
        self.set(index + 1, (value >> 32) as u32)
    }

    /// Reads the next instruction. There must be one ([`FrontEnd::unwind`]).
    ///
    /// # Errors
    /// It cannot be read.
    pub fn fetch<M: Memory>(&self, memory: &mut M) -> Result<[u8; 8], Error<M::Fault>> {
        let mut bytes = [0; BYTES as usize];
        memory.load(self.current.next, &mut bytes).map_err(Error::Memory)?;
        Ok(bytes)
    }

    /// Fetches and executes the next instruction.
    ///
    /// # Errors
    /// It cannot be executed.
    pub fn step<M: Memory>(&mut self, memory: &mut M) -> Result<Step, Error<M::Fault>> {
        let bytes = self.fetch(memory)?;
        self.execute(memory, &bytes)
    }

    /// Skips the next instruction without executing it.
    pub fn skip(&mut self) {
        self.current.next = self.current.next.wrapping_add(BYTES);
    }

    /// Executes an instruction as if it were the next one of the stream.
    ///
    /// # Errors
    /// It cannot be executed.
    pub fn execute<M: Memory>(
        &mut self,
        memory: &mut M,
        bytes: &[u8; 8],
    ) -> Result<Step, Error<M::Fault>> {
        let word = u64::from_le_bytes(*bytes);
        let opcode = cs::opcode(word).ok_or(Error::Opcode((word >> 56) as u8))?;
        if let Some(address) = self.waits(memory, opcode, bytes)? {
            return Ok(Step::Wait(address));
        }
        self.skip();
        match self.run(memory, opcode, bytes)? {
            true => Ok(Step::Done(opcode)),
            false => Ok(Step::Work(opcode)),
        }
    }

    /// The address of the sync object for which an instruction has to wait.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn waits<M: Memory>(
        &self,
        memory: &mut M,
        opcode: CsOpcode,
        bytes: &[u8; 8],
    ) -> Result<Option<u64>, Error<M::Fault>> {
        let (address, found, wanted, condition) = match opcode {
            CsOpcode::SyncWait32 => {
                let i = cs::CsSyncWait32::unpack(bytes).map_err(Error::Field)?;
                let address = self.pair(i.address)?;
                let found = memory.update_u32(address, |v| v).map_err(Error::Memory)?;
                (address, found.into(), self.register(i.data)?.into(), i.condition)
            }
            CsOpcode::SyncWait64 => {
                let i = cs::CsSyncWait64::unpack(bytes).map_err(Error::Field)?;
                let address = self.pair(i.address)?;
                let found = memory.update_u64(address, |v| v).map_err(Error::Memory)?;
                (address, found, self.pair(i.data)?, i.condition)
            }
            _ => return Ok(None),
        };
        Ok((!compares(condition, found, wanted)).then_some(address))
    }

    /// Whether the front end executes the instruction itself.
    fn run<M: Memory>(
        &mut self,
        memory: &mut M,
        opcode: CsOpcode,
        bytes: &[u8; 8],
    ) -> Result<bool, Error<M::Fault>> {
        macro_rules! unpack {
            ($name:ident) => {
                cs::$name::unpack(bytes).map_err(Error::Field)?
            };
        }
        match opcode {
            // Only other units are concerned by the order or the announcements of these.
            CsOpcode::Nop
            | CsOpcode::Wait
            | CsOpcode::ReqResource
            | CsOpcode::FlushCache2
            | CsOpcode::ErrorBarrier
            | CsOpcode::TracePoint
            | CsOpcode::HeapOperation
            | CsOpcode::FinishTiling
            | CsOpcode::SetSbEntry
            | CsOpcode::SyncWait32
            | CsOpcode::SyncWait64 => {}
            CsOpcode::Move => {
                let i = unpack!(CsMove);
                self.set_pair(i.destination, i.immediate)?;
            }
            CsOpcode::Move32 => {
                let i = unpack!(CsMove32);
                self.set(i.destination, i.immediate)?;
            }
            CsOpcode::AddImmediate32 => {
                let i = unpack!(CsAddImmediate32);
                let value = self.register(i.source)?.wrapping_add_signed(i.immediate);
                self.set(i.destination, value)?;
            }
            CsOpcode::AddImmediate64 => {
                let i = unpack!(CsAddImmediate64);
                let value = self.pair(i.source)?.wrapping_add_signed(i.immediate.into());
                self.set_pair(i.destination, value)?;
            }
            CsOpcode::Umin32 => {
                let i = unpack!(CsUmin32);
                let value = self.register(i.source_1)?.min(self.register(i.source_2)?);
                self.set(i.destination, value)?;
            }
            // Words of selected registers are contiguous in memory, whatever the gaps in the mask.
            CsOpcode::LoadMultiple => {
                let i = unpack!(CsLoadMultiple);
                let base = self.pair(i.address)?.wrapping_add_signed(i.offset.into());
                for (word, n) in (0..).zip((0..16).filter(|n| i.mask >> n & 1 != 0)) {
                    let mut value = [0; 4];
                    memory.load(base.wrapping_add(4 * word), &mut value).map_err(Error::Memory)?;
                    self.set(i.base_register + n, u32::from_le_bytes(value))?;
                }
            }
            CsOpcode::StoreMultiple => {
                let i = unpack!(CsStoreMultiple);
                let base = self.pair(i.address)?.wrapping_add_signed(i.offset.into());
                for (word, n) in (0..).zip((0..16).filter(|n| i.mask >> n & 1 != 0)) {
                    let value = self.register(i.base_register + n)?.to_le_bytes();
                    memory.store(base.wrapping_add(4 * word), &value).map_err(Error::Memory)?;
                }
            }
            CsOpcode::Branch => {
                let i = unpack!(CsBranch);
                let value = self.register(i.value)? as i32;
                if compares(i.condition, value, 0) {
                    let next = &mut self.current.next;
                    *next = next.wrapping_add_signed(i64::from(i.offset) * BYTES as i64);
                }
            }
            CsOpcode::Call => {
                let i = unpack!(CsCall);
                let range = self.stream(i.address, i.length)?;
                self.callers.try_push(self.current).map_err(|_| Error::Nested)?;
                self.current = range;
            }
            CsOpcode::Jump => {
                let i = unpack!(CsJump);
                self.current = self.stream(i.address, i.length)?;
            }
            CsOpcode::SyncAdd32 => {
                let i = unpack!(CsSyncAdd32);
                let (address, data) = (self.pair(i.address)?, self.register(i.data)?);
                memory.update_u32(address, |v| v.wrapping_add(data)).map_err(Error::Memory)?;
            }
            CsOpcode::SyncSet32 => {
                let i = unpack!(CsSyncSet32);
                let (address, data) = (self.pair(i.address)?, self.register(i.data)?);
                memory.update_u32(address, |_| data).map_err(Error::Memory)?;
            }
            CsOpcode::SyncAdd64 => {
                let i = unpack!(CsSyncAdd64);
                let (address, data) = (self.pair(i.address)?, self.pair(i.data)?);
                memory.update_u64(address, |v| v.wrapping_add(data)).map_err(Error::Memory)?;
            }
            CsOpcode::SyncSet64 => {
                let i = unpack!(CsSyncSet64);
                let (address, data) = (self.pair(i.address)?, self.pair(i.data)?);
                memory.update_u64(address, |_| data).map_err(Error::Memory)?;
            }
            CsOpcode::HeapSet => {
                let i = unpack!(CsHeapSet);
                self.heap = self.pair(i.address)?;
            }
            CsOpcode::SetExceptionHandler => {
                let i = unpack!(CsSetExceptionHandler);
                self.exception_handler = self.stream(i.address, i.length)?;
            }
            CsOpcode::RunCompute
            | CsOpcode::RunComputeIndirect
            | CsOpcode::RunIdvs
            | CsOpcode::RunTiling
            | CsOpcode::RunFragment
            | CsOpcode::RunFullscreen
            | CsOpcode::FinishFragment
            | CsOpcode::StoreState
            | CsOpcode::ProgressWait
            | CsOpcode::ProgressStore
            | CsOpcode::ProgressLoad
            | CsOpcode::ProtRegion => return Ok(false),
        }
        Ok(true)
    }

    /// The stream whose address and size in bytes are in registers, for calls and jumps.
    fn stream<F>(&self, address: u32, length: u32) -> Result<Range, Error<F>> {
        let (address, length) = (self.pair(address)?, self.register(length)?);
        if !(address | u64::from(length)).is_multiple_of(BYTES) {
            return Err(Error::Misaligned { address, length });
        }
        Ok(Range { next: address, end: address.wrapping_add(length.into()) })
    }
}

/// Whether two values satisfy a condition.
pub fn compares<T: Ord>(condition: CsCondition, a: T, b: T) -> bool {
    match condition {
        CsCondition::Lequal => a <= b,
        CsCondition::Greater => a > b,
        CsCondition::Equal => a == b,
        CsCondition::Nequal => a != b,
        CsCondition::Less => a < b,
        CsCondition::Gequal => a >= b,
        CsCondition::Always => true,
    }
}
