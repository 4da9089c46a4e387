//! The helper program, which the hardware runs to allocate scratch memory: a stack of blocks for
//! each core, from which each SIMD-group takes one.
//!
//! The program's memory has a row of [`ROW`] words for each core: the number of blocks in use and,
//! from word [`FIRST`] on, the block descriptors. The driver fills in the rows before it launches
//! shaders that need scratch memory. source: Mesa's libagx/helper.cl for the protocol,
//! lib/agx_scratch.c for descriptors

use tepui_agx_isa::asm::{AsmError, assemble};

/// Words of a core's row.
pub const ROW: u32 = 128;
/// First descriptor in a row.
pub const FIRST: u32 = 8;
/// Bytes of the smallest block for one thread.
pub const UNIT_B: u32 = 32;

/// The size class of blocks for threads that need `bytes`: blocks are of [`UNIT_B`] times 4 to this
/// power for each thread. Besides the shader's own, the hardware's use of the stack counts. source:
/// Mesa, agx_compile.c, on `stack_adjust`
#[must_use]
pub fn unit_log4(bytes: u32) -> u32 {
    let wanted = (bytes.div_ceil(4) + 10).next_multiple_of(4) * 4;
    let mut log4 = 0;
    while UNIT_B << (2 * log4) < wanted {
        log4 += 1;
    }
    log4
}

/// The low bits of a descriptor: which sizes up to a class a block serves. The rest is the block's
/// address in units of 256 bytes.
#[must_use]
pub const fn descriptor_mask(log4: u32) -> u32 {
    (1 << (log4 + 1)) - 1
}

/// The class that USC words name for a thread that needs `bytes`. source: Mesa, lib/agx_scratch.c,
/// agx_scratch_get_bucket
#[must_use]
pub fn spill_class(bytes: u32) -> u32 {
    match bytes {
        0 => 0,
        n => (1 + n.div_ceil(UNIT_B).next_power_of_two().ilog2()).min(15),
    }
}

/// The program's machine code.
///
/// # Errors
/// When the text below does not assemble.
pub fn program() -> Result<Vec<u8>, AsmError> {
    assemble(&source()).map_err(|mut all| all.remove(0))
}

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
