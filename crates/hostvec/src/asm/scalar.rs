//! Scalar instructions, the same for all targets.

use super::{Assembler, Gpr, Label};

impl Assembler {
    fn rex(&mut self, wide: bool, reg: Gpr, base: Gpr) {
        self.bytes(&[0x40 | u8::from(wide) << 3 | (reg.0 >> 3) << 2 | base.0 >> 3]);
    }

    fn memory(&mut self, reg: u8, base: Gpr, offset: i32) {
        debug_assert!(base.0 & 7 != 4);
        self.bytes(&[0x80 | (reg & 7) << 3 | base.0 & 7]);
        self.offset(base, offset);
    }

    /// `d = a`, 64 bits.
    pub fn mov(&mut self, d: Gpr, a: Gpr) {
        self.rex(true, a, d);
        self.bytes(&[0x89, 0xc0 | (a.0 & 7) << 3 | d.0 & 7]);
    }

    /// `d = value`, 64 bits.
    pub fn mov_constant(&mut self, d: Gpr, value: u64) {
        self.rex(true, Gpr(0), d);
        self.bytes(&[0xb8 | d.0 & 7]);
        if value >> 32 != 0 {
            self.of_build(8);
        }
        self.bytes(&value.to_le_bytes());
    }

    /// Stores a 64-bit constant that fits 31 bits.
    pub fn store_constant(&mut self, base: Gpr, offset: i32, value: u32) {
        debug_assert!(value >> 31 == 0);
        self.rex(true, Gpr(0), base);
        self.bytes(&[0xc7]);
        self.memory(0, base, offset);
        self.word(value as i32);
    }

    /// Loads 64 bits.
    pub fn load_word(&mut self, d: Gpr, base: Gpr, offset: i32) {
        self.rex(true, d, base);
        self.bytes(&[0x8b]);
        self.memory(d.0, base, offset);
    }

    /// Loads 32 bits.
    pub fn load_half(&mut self, d: Gpr, base: Gpr, offset: i32) {
        self.rex(false, d, base);
        self.bytes(&[0x8b]);
        self.memory(d.0, base, offset);
    }

    /// Loads 16 bits, and zeros above.
    pub fn load_short(&mut self, d: Gpr, base: Gpr, offset: i32) {
        self.rex(false, d, base);
        self.bytes(&[0x0f, 0xb7]);
        self.memory(d.0, base, offset);
    }

    /// Stores 64 bits.
    pub fn store_word(&mut self, base: Gpr, offset: i32, a: Gpr) {
        self.rex(true, a, base);
        self.bytes(&[0x89]);
        self.memory(a.0, base, offset);
    }

    /// Stores a 32-bit constant.
    pub fn store_half(&mut self, base: Gpr, offset: i32, value: u32) {
        self.rex(false, Gpr(0), base);
        self.bytes(&[0xc7]);
        self.memory(0, base, offset);
        self.word(value as i32);
    }

    /// `d <<= by`, 64 bits.
    pub fn shift_left(&mut self, d: Gpr, by: u8) {
        self.rex(true, Gpr(0), d);
        self.bytes(&[0xc1, 0xe0 | d.0 & 7, by]);
    }

    /// `d |= a`, 64 bits.
    pub fn or(&mut self, d: Gpr, a: Gpr) {
        self.rex(true, a, d);
        self.bytes(&[0x09, 0xc0 | (a.0 & 7) << 3 | d.0 & 7]);
    }

    /// `d += a`, 64 bits.
    pub fn add(&mut self, d: Gpr, a: Gpr) {
        self.rex(true, a, d);
        self.bytes(&[0x01, 0xc0 | (a.0 & 7) << 3 | d.0 & 7]);
    }

    /// `d &= value`, 64 bits, the value with its sign.
    pub fn and_constant(&mut self, d: Gpr, value: i8) {
        self.rex(true, Gpr(0), d);
        self.bytes(&[0x83, 0xe0 | d.0 & 7, value as u8]);
    }

    /// `d &= value`, 32 bits.
    pub fn and_half_constant(&mut self, d: Gpr, value: u32) {
        self.rex(false, Gpr(0), d);
        self.bytes(&[0x81, 0xe0 | d.0 & 7]);
        self.word(value as i32);
    }

    /// Compares the low 32 bits of a register with a constant.
    pub fn compare_half_constant(&mut self, a: Gpr, value: u32) {
        self.rex(false, Gpr(0), a);
        self.bytes(&[0x81, 0xf8 | a.0 & 7]);
        self.word(value as i32);
    }

    /// `d -= word at base + offset`, 64 bits.
    pub fn subtract_word(&mut self, d: Gpr, base: Gpr, offset: i32) {
        self.rex(true, d, base);
        self.bytes(&[0x2b]);
        self.memory(d.0, base, offset);
    }

    /// Compares a 64-bit register with a constant.
    pub fn compare_constant(&mut self, a: Gpr, value: i32) {
        self.rex(true, Gpr(0), a);
        self.bytes(&[0x81, 0xf8 | a.0 & 7]);
        self.word(value);
    }

    /// Compares 64 bits in memory with a constant.
    pub fn compare_memory_word(&mut self, base: Gpr, offset: i32, value: i32) {
        self.rex(true, Gpr(0), base);
        self.bytes(&[0x81]);
        self.memory(7, base, offset);
        self.word(value);
    }

    /// `d = base + offset`
    pub fn address(&mut self, d: Gpr, base: Gpr, offset: i32) {
        self.rex(true, d, base);
        self.bytes(&[0x8d]);
        self.memory(d.0, base, offset);
    }

    /// `word at base + offset += value`, 64 bits.
    pub fn add_to(&mut self, base: Gpr, offset: i32, value: i32) {
        self.rex(true, Gpr(0), base);
        self.bytes(&[0x81]);
        self.memory(0, base, offset);
        self.word(value);
    }

    /// Compares 32 bits in memory with a constant.
    pub fn compare_memory(&mut self, base: Gpr, offset: i32, value: i32) {
        self.rex(false, Gpr(0), base);
        self.bytes(&[0x81]);
        self.memory(7, base, offset);
        self.word(value);
    }

    /// Compares a 64-bit register with memory.
    pub fn compare_word(&mut self, a: Gpr, base: Gpr, offset: i32) {
        self.rex(true, a, base);
        self.bytes(&[0x3b]);
        self.memory(a.0, base, offset);
    }

    /// Calls the function whose address is in a register.
    pub fn call(&mut self, a: Gpr) {
        self.rex(false, Gpr(0), a);
        self.bytes(&[0xff, 0xd0 | a.0 & 7]);
    }

    /// Jumps to the address in a register.
    pub fn jump_register(&mut self, a: Gpr) {
        self.rex(false, Gpr(0), a);
        self.bytes(&[0xff, 0xe0 | a.0 & 7]);
    }

    /// Sets the flags from the low 32 bits of a register and itself.
    pub fn test(&mut self, a: Gpr) {
        self.rex(false, a, a);
        self.bytes(&[0x85, 0xc0 | (a.0 & 7) << 3 | a.0 & 7]);
    }

    /// Sets the flags from a register and itself.
    pub fn test_word(&mut self, a: Gpr) {
        self.rex(true, a, a);
        self.bytes(&[0x85, 0xc0 | (a.0 & 7) << 3 | a.0 & 7]);
    }

    /// Jumps.
    pub fn jump(&mut self, to: Label) {
        self.settle();
        self.bytes(&[0xe9]);
        self.jumps.push((self.code.len(), to));
        self.word(0);
    }

    /// Jumps if a condition holds.
    pub fn jump_if(&mut self, condition: Condition, to: Label) {
        self.settle();
        self.bytes(&[0x0f, 0x80 | condition as u8]);
        self.jumps.push((self.code.len(), to));
        self.word(0);
    }

    /// Pushes a register.
    pub fn push(&mut self, a: Gpr) {
        self.rex(false, Gpr(0), a);
        self.bytes(&[0x50 | a.0 & 7]);
    }

    /// Pops a register.
    pub fn pop(&mut self, a: Gpr) {
        self.rex(false, Gpr(0), a);
        self.bytes(&[0x58 | a.0 & 7]);
    }

    /// `rsp += value`
    pub fn move_stack(&mut self, value: i8) {
        self.bytes(&[0x48, 0x83, 0xc4, value as u8]);
    }

    /// Returns.
    pub fn ret(&mut self) {
        self.clear_upper();
        self.bytes(&[0xc3]);
    }

    /// Stores the low 32 bits of a register.
    pub fn store_low(&mut self, base: Gpr, offset: i32, a: Gpr) {
        self.rex(false, a, base);
        self.bytes(&[0x89]);
        self.memory(a.0, base, offset);
    }

    /// Stores the low 16 bits of a register.
    pub fn store_short(&mut self, base: Gpr, offset: i32, a: Gpr) {
        self.bytes(&[0x66]);
        self.rex(false, a, base);
        self.bytes(&[0x89]);
        self.memory(a.0, base, offset);
    }

    /// Stores the low 8 bits of a register.
    pub fn store_byte(&mut self, base: Gpr, offset: i32, a: Gpr) {
        self.rex(false, a, base);
        self.bytes(&[0x88]);
        self.memory(a.0, base, offset);
    }

    /// Loads the control and status register of vector instructions: rounding, denormals.
    pub fn load_control(&mut self, base: Gpr, offset: i32) {
        self.rex(false, Gpr(0), base);
        self.bytes(&[0x0f, 0xae]);
        self.memory(2, base, offset);
    }

    /// Compares 8 bits in memory with a constant.
    pub fn compare_memory_byte(&mut self, base: Gpr, offset: i32, value: u8) {
        self.rex(false, Gpr(0), base);
        self.bytes(&[0x80]);
        self.memory(7, base, offset);
        self.bytes(&[value]);
    }

    /// Compares the low 32 bits of a register with memory.
    pub fn compare_half(&mut self, a: Gpr, base: Gpr, offset: i32) {
        self.rex(false, a, base);
        self.bytes(&[0x3b]);
        self.memory(a.0, base, offset);
    }

    /// Clears the upper parts of vector registers, which would slow down what is compiled for older
    /// vectors.
    pub fn clear_upper(&mut self) {
        self.bytes(&[0xc5, 0xf8, 0x77]);
    }
}

/// Conditions of jumps: the processor's codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // The names are the conditions.
pub enum Condition {
    Carry = 2,
    NoCarry = 3,
    Zero = 4,
    NotZero = 5,
    Above = 7,
    Less = 12,
}
