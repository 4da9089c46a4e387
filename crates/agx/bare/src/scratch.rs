//! Scratch memory: a helper program that hands out one block to each SIMD-group of a core, last in, first out.
//!
//! The program's memory has a row of words for each core: how many blocks are in use, and from word [`FIRST`] on the blocks' descriptors.
//! source: Mesa's libagx/helper.cl for the protocol, lib/agx_scratch.c for descriptors

use tepui_agx_isa::asm::assemble;
use tepui_agx_model::{Helper, MAX_WORKERS};

use crate::{Error, Machine};

/// SIMD-groups of a core that have scratch memory at once: those of the largest workgroup.
const GROUPS: u32 = 32;
/// Words of a core's row.
const ROW: u32 = 128;
/// First descriptor in a row.
const FIRST: u32 = 8;
/// Bytes of the smallest block for one thread.
const UNIT_B: u32 = 32;

fn source() -> String {
    format!(
        "get_sr r10, sr146 (opfifo_data_l)
         get_sr r11, sr147 (opfifo_data_h)
         get_sr r8, sr20 (core_index)
         mov_imm r2, {ROW}, 0b0
         imadd r12, r8, r2, 0
         doorbell 32
         get_sr r1, sr144 (opfifo_cmd)
         device_load 0, i32, x, r4, r10_r11, r12, unsigned
         wait 0
         if_icmp r0l, ueq, r1, 0, 1
         jmp_exec_none free
         iadd r5, r4, 1
         device_store 0, i32, x, r5, r10_r11, r12, unsigned, 0
         iadd r6, r12, r4
         iadd r6, r6, {FIRST}
         device_load 0, i32, x, r7, r10_r11, r6, unsigned
         wait 0
         map target0, r7, 0, 0b00, 0b0, 0b000, 0b10000, 0b00010000
         free:
         else_fcmp r0l, eq, 0.0, 0.0, 1
         jmp_exec_none end
         isub r5, r4, 1
         device_store 0, i32, x, r5, r10_r11, r12, unsigned, 0
         unmap target0, r7, 0, 0b00, 0b0, 0b000, 0b10000, 0b00010000
         end:
         pop_exec r0l, 1
         doorbell 48
         doorbell 32
         stop"
    )
}

impl Machine {
    /// Gives every thread of later dispatches `bytes` of scratch memory, besides what the hardware's own use of the stack takes.
    ///
    /// # Errors
    /// When the memory cannot be had.
    pub fn scratch(&mut self, bytes: u32) -> Result<(), Error> {
        // What Mesa's compiler asks for beside the shader's own, rounded up as its `stack_adjust` is.
        let wanted = (bytes.div_ceil(4) + 10).next_multiple_of(4) * 4;
        let mut log4 = 0;
        while UNIT_B << (2 * log4) < wanted {
            log4 += 1;
        }
        let block = u64::from(UNIT_B << (2 * log4)) * 32;
        let cores = MAX_WORKERS as u64;
        let memory = self.buffer((block * (cores * u64::from(GROUPS) + 1)) as usize)?;
        let first = memory.address().next_multiple_of(block);
        let mask = (1u32 << (log4 + 1)) - 1;
        let mut words = vec![0u32; (ROW as usize) * MAX_WORKERS];
        for core in 0..cores {
            for group in 0..u64::from(GROUPS) {
                let address = first + block * (core * u64::from(GROUPS) + group);
                let at = core as usize * ROW as usize + FIRST as usize + group as usize;
                words[at] = (address >> 8) as u32 | mask;
            }
        }
        let header = self.buffer(words.len() * 4)?;
        header.write_words(&words)?;
        let code = assemble(&source())
            .map_err(|e| Error::Helper(e.first().map_or_else(String::new, ToString::to_string)))?;
        let binary = self.code(&code)? | 1;
        self.helper = Helper { binary, cfg: 0, data: header.address() };
        Ok(())
    }
}
