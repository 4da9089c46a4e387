//! Reads of sources and writes of destinations, with conversions and modifiers.

use tepui_agx_texture::half;

use crate::usc::lanes::Lanes;
use crate::usc::op::{Dst, Form, Src};
use crate::usc::row::{LANES, Row};

impl Lanes<'_, '_> {
    /// Writes a whole row in the active lanes.
    #[inline(always)]
    pub fn store_row(&mut self, row: u16, value: &Row) {
        if self.full() {
            *self.register_mut(row) = *value;
        } else {
            let mask = self.exec_row;
            let old = self.register_mut(row);
            for i in 0..LANES {
                old.0[i] = (old.0[i] & !mask.0[i]) | (value.0[i] & mask.0[i]);
            }
        }
    }

    /// Writes the low 16 bits of `value` to one half of a row in the active lanes.
    #[inline(always)]
    pub fn store_half(&mut self, row: u16, high: bool, value: &Row) {
        let mask = self.exec_row;
        let old = self.register_mut(row);
        if high {
            for i in 0..LANES {
                let m = mask.0[i] & 0xffff_0000;
                old.0[i] = (old.0[i] & !m) | ((value.0[i] << 16) & m);
            }
        } else {
            for i in 0..LANES {
                let m = mask.0[i] & 0xffff;
                old.0[i] = (old.0[i] & !m) | (value.0[i] & m);
            }
        }
    }

    /// Writes integers of 32 bits, truncated to the destination.
    #[inline(always)]
    pub fn store_u32(&mut self, d: Dst, value: &Row) {
        match d.form {
            Form::Word => self.store_row(d.row, value),
            Form::Low => self.store_half(d.row, false, value),
            Form::High => self.store_half(d.row, true, value),
            Form::Pair => {
                self.store_row(d.row, value);
                self.store_row(d.row + 1, &Row::ZERO);
            }
        }
    }

    /// Writes integers of 64 bits, truncated to the destination.
    #[inline(always)]
    pub fn store_u64(&mut self, d: Dst, value: &[u64; LANES]) {
        let mut low = Row::ZERO;
        for i in 0..LANES {
            low.0[i] = value[i] as u32;
        }
        if d.form == Form::Pair {
            let mut high = Row::ZERO;
            for i in 0..LANES {
                high.0[i] = (value[i] >> 32) as u32;
            }
            self.store_row(d.row, &low);
            self.store_row(d.row + 1, &high);
        } else {
            self.store_u32(d, &low);
        }
    }

    /// An integer source as 32 bits: 16-bit halves zero- or sign-extended, pairs truncated.
    #[inline(always)]
    pub fn load_u32(&self, s: Src) -> Row {
        let row = self.row(s);
        let mut out = Row::ZERO;
        match (s.form, s.sign_extend) {
            (Form::Word | Form::Pair, _) => out = *row,
            (Form::Low, false) => {
                for i in 0..LANES {
                    out.0[i] = row.0[i] & 0xffff;
                }
            }
            (Form::Low, true) => {
                for i in 0..LANES {
                    out.0[i] = row.0[i] as i16 as i32 as u32;
                }
            }
            (Form::High, false) => {
                for i in 0..LANES {
                    out.0[i] = row.0[i] >> 16;
                }
            }
            (Form::High, true) => {
                for i in 0..LANES {
                    out.0[i] = (row.0[i] as i32 >> 16) as u32;
                }
            }
        }
        out
    }

    /// An integer source as 64 bits, zero- or sign-extended.
    #[inline(always)]
    pub fn load_u64(&self, s: Src) -> [u64; LANES] {
        let mut out = [0; LANES];
        if s.form == Form::Pair {
            let low = self.row(s);
            let high = self.row(Src { row: s.row + 1, ..s });
            for i in 0..LANES {
                out[i] = u64::from(low.0[i]) | u64::from(high.0[i]) << 32;
            }
            return out;
        }
        let row = self.load_u32(s);
        if s.sign_extend {
            for i in 0..LANES {
                out[i] = row.0[i] as i32 as i64 as u64;
            }
        } else {
            for i in 0..LANES {
                out[i] = u64::from(row.0[i]);
            }
        }
        out
    }

    /// A float source as 32-bit floats, modifiers applied. Subnormal 32-bit inputs are flushed by
    /// the host's floating-point mode (see `usc::fpmode`), subnormal halves are kept.
    #[inline(always)]
    pub fn load_f32(&self, s: Src) -> [f32; LANES] {
        let row = self.row(s);
        let and = if s.abs { 0x7fff_ffff } else { u32::MAX };
        let xor = if s.neg { 0x8000_0000 } else { 0 };
        let mut out = [0.0; LANES];
        match s.form {
            Form::Word | Form::Pair => {
                for i in 0..LANES {
                    out[i] = f32::from_bits((row.0[i] & and) ^ xor);
                }
            }
            Form::Low | Form::High => {
                let shift = if s.form == Form::High { 16 } else { 0 };
                for i in 0..LANES {
                    let bits = half::widen(row.0[i] >> shift).to_bits();
                    out[i] = f32::from_bits((bits & and) ^ xor);
                }
            }
        }
        out
    }

    /// Writes 32-bit floats to a 32- or 16-bit destination, saturated if it asks for that.
    #[inline(always)]
    pub fn store_f32(&mut self, d: Dst, value: &[f32; LANES]) {
        let mut row = Row::ZERO;
        if d.saturate {
            for i in 0..LANES {
                row.0[i] = saturate(value[i]).to_bits();
            }
        } else {
            for i in 0..LANES {
                row.0[i] = value[i].to_bits();
            }
        }
        if matches!(d.form, Form::Low | Form::High) {
            for i in 0..LANES {
                row.0[i] = half::narrow(f32::from_bits(row.0[i]));
            }
        }
        self.store_u32(d, &row);
    }
}

/// Clamps to 0..1; NaN becomes 0.
#[inline(always)]
pub fn saturate(x: f32) -> f32 {
    // A NaN fails the first comparison, so it becomes 0.
    let x = if x > 0.0 { x } else { 0.0 };
    if x < 1.0 { x } else { 1.0 }
}
