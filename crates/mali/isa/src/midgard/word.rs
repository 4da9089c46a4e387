//! The instructions of a bundle, field by field.
//!
// source: Mesa, midgard.h (the packed structures).

use super::fields::{fields, signed};
use super::table::{AluRow, MemoryRow};

fields! {
    /// Registers of an arithmetic instruction.
    Registers, 16 {
        /// First source.
        src1: 5,
        /// Second source, or the upper bits of an immediate.
        src2: 5,
        /// Destination.
        dest: 5,
        /// The second source is an immediate.
        immediate: 1,
    }
}

fields! {
    /// A source of a vector unit.
    VectorSource, 13 {
        /// For floats absolute value and negation; for integers the conversion of narrow elements.
        modifier: 2,
        /// The half of the register that is read, and whether its elements are half as wide; see [`expand`].
        expand: 3,
        /// Two bits for each component.
        swizzle: 8,
    }
}

fields! {
    /// An instruction of a vector unit.
    Vector, 48 {
        /// Opcode.
        op: 8,
        /// The base-2 logarithm of an element's bytes.
        mode: 2,
        /// First source, a [`VectorSource`].
        src1: 13,
        /// Second source, a [`VectorSource`] or the lower bits of an immediate.
        src2: 13,
        /// The half of the register that results go to, and whether they are half as wide; see [`shrink`].
        shrink: 2,
        /// The result's modifier.
        outmod: 2,
        /// Components that are written, of 16 bits each.
        mask: 8,
    }
}

fields! {
    /// A source of a scalar unit.
    ScalarSource, 6 {
        /// See [`VectorSource`].
        modifier: 2,
        /// 32 bits, not 16.
        full: 1,
        /// The component, in 16 bits.
        component: 3,
    }
}

fields! {
    /// An instruction of a scalar unit.
    Scalar, 32 {
        /// Opcode.
        op: 8,
        /// First source, a [`ScalarSource`].
        src1: 6,
        /// Second source, a [`ScalarSource`] or the lower bits of an immediate.
        src2: 11,
        /// Always 0.
        reserved: 1,
        /// The result's modifier.
        outmod: 2,
        /// The result has 32 bits, not 16.
        full: 1,
        /// The component that is written, in 16 bits.
        component: 3,
    }
}

fields! {
    /// A branch of 16 bits with a condition.
    Conditional, 16 {
        /// The operation, see [`branch`].
        op: 3,
        /// The tag of the target bundle.
        tag: 4,
        /// Signed distance of the target from the next bundle, in words of 16 bytes.
        offset: 7,
        /// The condition under which it is taken.
        condition: 2,
    }
}

fields! {
    /// A branch of 16 bits without a condition.
    Unconditional, 16 {
        /// The operation, see [`branch`].
        op: 3,
        /// The tag of the target bundle.
        tag: 4,
        /// 1: a branch, 2: a call, 3: a return.
        call: 2,
        /// Signed distance of the target from the next bundle, in words of 16 bytes.
        offset: 7,
    }
}

fields! {
    /// A branch of 48 bits.
    Extended, 48 {
        /// The operation, see [`branch`].
        op: 3,
        /// The tag of the target bundle.
        tag: 4,
        /// 1: a branch, 2: a call, 3: a return.
        call: 2,
        /// Signed distance of the target from the next bundle, in words of 16 bytes.
        offset: 23,
        /// The condition under which it is taken: a truth table of four conditions.
        condition: 16,
    }
}

fields! {
    /// An instruction of the load/store unit.
    LoadStore, 60 {
        /// Opcode.
        op: 8,
        /// The register that is written or read.
        reg: 5,
        /// Components that are written.
        mask: 4,
        /// Two bits per component; for atomics the operand.
        swizzle: 8,
        /// A component of the first argument.
        arg_comp: 2,
        /// The register of the first argument.
        arg_reg: 3,
        /// Whether the address has 64 bits; other meanings for other instructions.
        wide: 1,
        /// The conversion of the second argument to an offset.
        index_format: 2,
        /// A component of the second argument.
        index_comp: 2,
        /// The register of the second argument.
        index_reg: 3,
        /// Left shift of the second argument.
        index_shift: 4,
        /// A signed offset, whose unit depends on the opcode.
        offset: 18,
    }
}

fields! {
    /// A texture instruction, without its tags.
    Texture, 120 {
        /// Opcode.
        op: 4,
        /// The kind of result.
        mode: 4,
        /// Execution mode: 3 is all lanes.
        exec: 2,
        /// Dimensions; 0 for cubes.
        format: 2,
        /// The sampler's number is in a register.
        sampler_register: 1,
        /// The texture's number is in a register.
        texture_register: 1,
        /// The level or its bias is in a register.
        lod_register: 1,
        /// Offsets are in a register.
        offset_register: 1,
        /// Coordinates have 32 bits.
        in_full: 1,
        /// Their register.
        in_select: 1,
        /// Their half, of 16 bits.
        in_upper: 1,
        /// Two bits for each coordinate.
        in_swizzle: 8,
        /// Unknown.
        unknown_8: 2,
        /// Results have 32 bits.
        out_full: 1,
        /// 1 float, 2 unsigned, 3 signed.
        sampler_type: 2,
        /// The register of the results.
        out_select: 1,
        /// Their half, of 16 bits.
        out_upper: 1,
        /// Components that are written.
        mask: 4,
        /// The result's modifier.
        outmod: 2,
        /// Two bits per component.
        swizzle: 8,
        /// Number of later bundles that need not wait.
        out_of_order: 4,
        /// Unknown.
        unknown_4: 8,
        /// Offsets of four bits each, or their register and swizzle.
        offset: 12,
        /// The fraction of a level, or its register.
        bias: 8,
        /// The whole part.
        bias_int: 8,
        /// The sampler's number, or its register.
        sampler: 16,
        /// The texture's number, or its register.
        texture: 16,
    }
}

fields! {
    /// A register that a texture instruction reads.
    TextureRegister, 8 {
        /// 32 bits.
        full: 1,
        /// The index of one of the two registers.
        select: 1,
        /// Its half, of 16 bits.
        upper: 1,
        /// The component.
        component: 2,
        /// Always 0.
        zero: 3,
    }
}

/// Positions of a source's elements in its register.
pub mod expand {
    /// Elements are in place.
    pub const NONE: u32 = 0;
    /// The lower half, twice.
    pub const LOW_TWICE: u32 = 1;
    /// The upper half, twice.
    pub const HIGH_TWICE: u32 = 2;
    /// The halves exchanged.
    pub const SWAP: u32 = 3;
    /// Elements half as wide, from the lower half.
    pub const LOW: u32 = 4;
    /// Elements half as wide, from the upper half.
    pub const HIGH: u32 = 5;
    /// Version of [`LOW`]: exchanged.
    pub const LOW_SWAP: u32 = 6;
    /// Version of [`HIGH`]: exchanged.
    pub const HIGH_SWAP: u32 = 7;
}

/// Positions of results in their register.
pub mod shrink {
    /// Half as wide, into the lower half.
    pub const LOW: u32 = 0;
    /// Half as wide, into the upper half.
    pub const HIGH: u32 = 1;
    /// Full width.
    pub const NONE: u32 = 2;
}

/// Operations and conditions of branches.
pub mod branch {
    /// Jumps.
    pub const UNCONDITIONAL: u32 = 1;
    /// Jumps if a condition holds.
    pub const CONDITIONAL: u32 = 2;
    /// Discards the fragment if a condition holds.
    pub const DISCARD: u32 = 4;
    /// Jumps while the tile buffer is not ready.
    pub const TILE_BUFFER: u32 = 6;
    /// Writes a colour to the tile buffer, and jumps if that was not possible.
    pub const WRITEOUT: u32 = 7;
    /// Conditions: never.
    pub const NEVER: u32 = 0;
    /// If the condition is false.
    pub const IF_FALSE: u32 = 1;
    /// If it is true.
    pub const IF_TRUE: u32 = 2;
    /// Always.
    pub const ALWAYS: u32 = 3;

    /// The truth table that depends on one condition only.
    pub const fn every(condition: u32) -> u32 {
        condition * 0x5555
    }
}

/// Numbers of registers.
pub mod register {
    /// The first of two that live within a bundle.
    pub const TEMPORARY: u32 = 24;
    /// Read: the bundle's constants.
    pub const CONSTANT: u32 = 26;
    /// The first of two that the load/store unit reads.
    pub const LOAD_STORE: u32 = 26;
    /// The first of two that the texture unit reads and writes.
    pub const TEXTURE: u32 = 28;
    /// Written: conditions. Read: the address of the program.
    pub const SELECT: u32 = 31;
    /// One past the last uniform register.
    pub const UNIFORM_END: u32 = 24;
}

/// Registers that the load/store unit reads.
pub mod argument {
    /// The program counter and the stack pointer.
    pub const PC_SP: u32 = 2;
    /// Addresses of local storage.
    pub const LOCAL_STORAGE: u32 = 3;
    /// The invocation's ID in its workgroup.
    pub const LOCAL_ID: u32 = 4;
    /// The workgroup's ID.
    pub const GROUP_ID: u32 = 5;
    /// The invocation's global ID.
    pub const GLOBAL_ID: u32 = 6;
    /// Always 0.
    pub const ZERO: u32 = 7;
}

impl Vector {
    /// The row of its opcode.
    pub fn row(&self) -> Option<&'static AluRow> {
        AluRow::of(self.op)
    }

    /// Bits of an element.
    pub const fn bits(&self) -> u32 {
        8 << self.mode
    }

    /// Components of sources that are used, in units of 16 bits.
    pub fn source_mask(&self) -> u32 {
        match self.row().map_or(0, |row| u32::from(row.channels)) {
            0 => self.mask,
            count => expanded_mask((1 << count) - 1, 128 / self.bits()),
        }
    }

    /// Elements of the constants that are used, one bit each.
    pub(super) fn constant_mask(&self, how: u32) -> u32 {
        let bits = self.bits() >> u32::from(how >= expand::LOW);
        let mask = match self.row().map_or(0, |row| u32::from(row.channels)) {
            0 => condensed_mask(self.mask, bits),
            n => (1 << n) - 1,
        };
        mask & ((1 << (128 / bits.max(8))) - 1)
    }

    /// The component of the constants that an element reads.
    pub(super) fn constant_place(&self, how: u32, element: u32) -> ConstantComponent {
        let bits = self.bits() >> u32::from(how >= expand::LOW);
        if !matches!(bits, 8 | 16) || how >= expand::LOW {
            return ConstantComponent { slot: element, scale: 1, first: 0 };
        }
        let half = 128 / bits / 2;
        let first = match how {
            expand::HIGH_TWICE => half,
            expand::SWAP if element < half => half,
            expand::NONE if element >= half => half,
            _ => 0,
        };
        match bits {
            8 => {
                ConstantComponent { slot: element >> 1 & 3, scale: 2, first: first + (element & 1) }
            }
            _ => ConstantComponent { slot: element & 3, scale: 1, first },
        }
    }

    /// The immediate of 16 bits.
    pub const fn immediate(&self, registers: &Registers) -> u16 {
        let low = self.src2 >> 2;
        (registers.src2 << 11 | (low & 7) << 8 | low >> 3 & 0xff) as u16
    }

    /// Makes the second source an immediate.
    pub const fn set_immediate(&mut self, registers: &mut Registers, value: u16) {
        let value = value as u32;
        (registers.src2, registers.immediate) = (value >> 11, 1);
        self.src2 = (value >> 8 & 7 | (value & 0xff) << 3) << 2;
    }
}

/// Expands a mask with one bit per element to a mask of eight bits.
fn expanded_mask(mask: u32, elements: u32) -> u32 {
    let factor = 8 / elements.min(8);
    let all = (1 << factor) - 1;
    (0..elements.min(8)).filter(|i| mask >> i & 1 != 0).fold(0, |m, i| m | all << (factor * i))
}

/// Condenses a mask of eight bits to one bit per element; 8-bit elements have two per bit.
fn condensed_mask(mask: u32, bits: u32) -> u32 {
    if bits <= 8 {
        return (0..8).fold(0, |m, i| m | ((mask >> i & 1) * 3) << (2 * i));
    }
    let step = bits / 16;
    (0..128 / bits).fold(0, |m, i| m | (mask >> (i * step) & 1) << i)
}

/// The component of constants that an element reads: a slot of the swizzle selects it, relative to a first
/// component.
pub(super) struct ConstantComponent {
    /// The slot; slots that do not exist read as 0.
    pub slot: u32,
    /// Components for each step of the slot.
    pub scale: u32,
    /// The component of step 0.
    pub first: u32,
}

impl ConstantComponent {
    /// The component that a swizzle chooses.
    pub fn component(&self, swizzle: u32) -> u32 {
        self.scale * (swizzle.checked_shr(2 * self.slot).unwrap_or(0) & 3) + self.first
    }
}

impl VectorSource {
    /// Whether the source's elements are half as wide as the operation.
    pub const fn expands(&self) -> bool {
        self.expand >= expand::LOW
    }
}

impl Scalar {
    /// Bits of an element, unless it is narrower.
    pub const ELEMENT_BITS: u32 = 32;

    /// The row of its opcode.
    pub fn row(&self) -> Option<&'static AluRow> {
        AluRow::of(self.op)
    }

    /// The immediate of 16 bits.
    pub const fn immediate(&self, registers: &Registers) -> u16 {
        let low = self.src2;
        let bits = (low & 3) << 9 | (low & 4) << 6 | (low & 0x38) << 2 | low >> 6;
        (registers.src2 << 11 | bits) as u16
    }

    /// Makes the second source an immediate.
    pub const fn set_immediate(&mut self, registers: &mut Registers, value: u16) {
        let value = value as u32;
        (registers.src2, registers.immediate) = (value >> 11, 1);
        let (ninth, upper) = (value >> 8 & 1, value >> 5 & 7);
        self.src2 = value >> 9 & 3 | ninth << 2 | upper << 3 | (value & 0x1f) << 6;
    }
}

impl LoadStore {
    /// The instruction that does nothing.
    pub const NOP: LoadStore = LoadStore::decode(3);

    /// The row of its opcode.
    pub fn row(&self) -> Option<&'static MemoryRow> {
        MemoryRow::of(self.op)
    }

    /// The offset with its sign, as it is in memory addresses.
    pub const fn displacement(&self) -> i32 {
        signed(self.offset, 18)
    }

    /// The number of a uniform buffer in the instruction.
    pub const fn uniform_buffer(&self) -> u32 {
        self.arg_comp | self.arg_reg << 2 | self.wide << 5 | self.index_format << 6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn immediates_are_read_as_they_were_written() {
        for value in 0..=u16::MAX {
            let (mut r, mut v) = (Registers::default(), Vector::default());
            v.set_immediate(&mut r, value);
            let (r, v) = (Registers::decode(r.encode()), Vector::decode(v.encode()));
            assert_eq!((v.immediate(&r), r.immediate), (value, 1));
            let (mut r, mut s) = (Registers::default(), Scalar::default());
            s.set_immediate(&mut r, value);
            let (r, s) = (Registers::decode(r.encode()), Scalar::decode(s.encode()));
            assert_eq!((s.immediate(&r), r.immediate), (value, 1));
        }
    }
}
