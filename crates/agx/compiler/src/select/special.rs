//! Special registers, which hold system values of a thread.

use super::Select;
use crate::mir::{HALF, UNASSIGNED, Val, WORD};
use tepui_agx_isa::operand::{Dst, Size, SpecialReg};
use tepui_agx_isa::table::moves::GetSr;

/// Numbers of special registers. source: applegpu.py, SR_NAMES; Mesa, agx_opcodes.py
pub(super) mod sr {
    pub const WORKGROUP: u8 = 0;
    pub const LAYER: u8 = 2;
    pub const LOCAL: u8 = 48;
    pub const LOCAL_INDEX: u8 = 51;
    pub const LANE: u8 = 52;
    pub const SUBGROUP: u8 = 53;
    pub const ACTIVE_LANE: u8 = 58;
    pub const COVERAGE: u8 = 60;
    pub const BACK: u8 = 62;
    pub const ACTIVE: u8 = 63;
    /// The position in the grid; in fragment shaders, the pixel.
    pub const GLOBAL: u8 = 80;
    pub const INPUT_MASK: u8 = 124;
}

impl Select<'_> {
    /// Reads a special register.
    pub(super) fn sr(&mut self, number: u8, size: Size) -> Val {
        let class = if size == Size::B16 { HALF } else { WORD };
        let d = Dst::new(UNASSIGNED, size);
        self.def(GetSr { d, sr: SpecialReg(number), ..GetSr::default() }, class, &[])
    }
}
