//! Scratch memory for the machine, by the helper program of [`tepui_agx_compiler::helper`].

use tepui_agx_compiler::helper::{FIRST, ROW, UNIT_B, descriptor_mask, program, unit_log4};
use tepui_agx_model::{Helper, MAX_WORKERS};

use crate::{Error, Machine};

/// SIMD-groups of a core that have scratch memory at the same time: those of the largest workgroup.
const GROUPS: u32 = 32;

impl Machine {
    /// Gives every thread of later dispatches `bytes` of scratch memory, besides what the
    /// hardware's own use of the stack takes.
    ///
    /// # Errors
    /// When the memory cannot be allocated.
    pub fn scratch(&mut self, bytes: u32) -> Result<(), Error> {
        let log4 = unit_log4(bytes);
        let block = u64::from(UNIT_B << (2 * log4)) * 32;
        let cores = MAX_WORKERS as u64;
        let memory = self.buffer((block * (cores * u64::from(GROUPS) + 1)) as usize)?;
        let first = memory.address().next_multiple_of(block);
        let mut words = vec![0u32; (ROW as usize) * MAX_WORKERS];
        for core in 0..cores {
            for group in 0..u64::from(GROUPS) {
                let address = first + block * (core * u64::from(GROUPS) + group);
                let at = core as usize * ROW as usize + FIRST as usize + group as usize;
                words[at] = (address >> 8) as u32 | descriptor_mask(log4);
            }
        }
        let header = self.buffer(words.len() * 4)?;
        header.write_words(&words)?;
        let code = program().map_err(Error::Helper)?;
        let binary = self.code(&code)? | 1;
        self.helper = Helper { binary, cfg: 0, data: header.address() };
        Ok(())
    }
}
