//! Rows that all warps of a dispatch share: uniforms, constants, special values.

use tepui_mali_isa::Special;
use tepui_mali_isa::operand::CONSTANTS;

use super::REGISTERS;
use super::local::LOCAL_WINDOW;
use super::row::{LANES, Row};

/// The first row of uniforms, after the registers.
const UNIFORMS: u16 = REGISTERS as u16;
/// Words of uniforms: four pages of 64.
pub const UNIFORM_WORDS: usize = 256;
/// The first row of constants.
const CONSTANT: u16 = UNIFORMS + UNIFORM_WORDS as u16;
/// The row of zeros.
pub const ZERO: u16 = CONSTANT;
/// The first row of special values.
const SPECIAL: u16 = CONSTANT + CONSTANTS.len() as u16;
/// Special values, two rows each.
const SPECIALS: [Special; 17] = [
    Special::WarpId,
    Special::FramebufferSize,
    Special::AtestDatum,
    Special::Sample,
    Special::BlendDescriptor0,
    Special::BlendDescriptor1,
    Special::BlendDescriptor2,
    Special::BlendDescriptor3,
    Special::BlendDescriptor4,
    Special::BlendDescriptor5,
    Special::BlendDescriptor6,
    Special::BlendDescriptor7,
    Special::ThreadLocalPointer,
    Special::WorkgroupLocalPointer,
    Special::ResourceTablePointer,
    Special::LaneId,
    Special::CoreId,
];
/// The first row of a decoded program's own constants.
pub const PROGRAM: u16 = SPECIAL + 2 * SPECIALS.len() as u16;

/// The rows that all programs have.
#[cfg(target_arch = "x86_64")]
pub const SHARED_ROWS: u16 = PROGRAM - UNIFORMS;

/// The row of a uniform.
pub fn uniform(index: u8) -> u16 {
    UNIFORMS + u16::from(index)
}

/// The row of a constant.
pub fn constant(index: u8) -> u16 {
    CONSTANT + u16::from(index)
}

/// The row of a word of a special value. `None` if it does not exist.
pub fn special(special: Special, word: u8) -> Option<u16> {
    let at = SPECIALS.iter().position(|s| *s == special)?;
    Some(SPECIAL + 2 * at as u16 + u16::from(word))
}

/// Whether the value of a row may differ between warps of a program.
pub fn differs(row: u16) -> bool {
    let own = [Special::WarpId, Special::CoreId, Special::WorkgroupLocalPointer];
    own.iter().any(|own| [0, 1].iter().any(|word| special(*own, *word) == Some(row)))
}

/// The rows.
#[derive(Clone)]
pub struct Uniforms {
    rows: Vec<Row>,
}

impl Uniforms {
    /// Rows with these uniforms, and the constants of a program.
    pub fn new(words: &[u32], program: &[Row]) -> Uniforms {
        let mut rows = vec![Row::splat(0); usize::from(PROGRAM - UNIFORMS)];
        for (row, word) in rows[..UNIFORM_WORDS].iter_mut().zip(words) {
            *row = Row::splat(*word);
        }
        let constants = usize::from(CONSTANT - UNIFORMS);
        for (row, value) in rows[constants..].iter_mut().zip(CONSTANTS) {
            *row = Row::splat(value);
        }
        rows.extend_from_slice(program);
        let mut uniforms = Uniforms { rows };
        let lanes = Row(std::array::from_fn::<u32, LANES, _>(|lane| lane as u32));
        if let Some(row) = special(Special::LaneId, 0) {
            uniforms.rows[usize::from(row - UNIFORMS)] = lanes;
        }
        uniforms.set(Special::ThreadLocalPointer, LOCAL_WINDOW);
        uniforms
    }

    /// Sets a special value.
    pub fn set(&mut self, value: Special, bits: u64) {
        for (word, bits) in [bits as u32, (bits >> 32) as u32].into_iter().enumerate() {
            if let Some(row) = special(value, word as u8) {
                self.rows[usize::from(row - UNIFORMS)] = Row::splat(bits);
            }
        }
    }

    /// Replaces the rows of the previous program.
    pub fn set_program(&mut self, program: &[Row]) {
        self.rows.truncate(usize::from(PROGRAM - UNIFORMS));
        self.rows.extend_from_slice(program);
    }

    /// All rows.
    #[inline(always)]
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// A row.
    #[inline(always)]
    pub fn row(&self, index: u16) -> &Row {
        &self.rows[usize::from(index - UNIFORMS)]
    }
}
