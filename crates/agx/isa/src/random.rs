//! Random instances of table rows, for property tests and fuzzing.

use crate::codec::ones;
use crate::inst::{Inst, ROWS};
use crate::row::Kind;

/// A reproducible source of random instructions.
///
/// Each field is random in its own bits; fields of unknown meaning are mostly as usual, so that
/// the instances look like code. Encodings that the decoder rejects are drawn again.
#[derive(Clone, Debug)]
pub struct Source {
    state: u64,
}

/// Draws before a row's default instance is returned instead.
const DRAWS: usize = 4096;

impl Source {
    /// A generator; equal seeds give equal instructions.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// 64 random bits (SplitMix64).
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.bits().is_multiple_of(n)
    }

    /// An instance of any row.
    pub fn inst(&mut self) -> Inst {
        let row = (self.bits() % ROWS.len() as u64) as usize;
        self.inst_of(row)
    }

    /// An instance of the row, an index into [`ROWS`] (taken modulo their number).
    pub fn inst_of(&mut self, row: usize) -> Inst {
        let row = row % ROWS.len();
        for _ in 0..DRAWS {
            let word = self.word_of(row);
            if let Ok((inst, _)) = Inst::decode(&word.to_le_bytes())
                && inst.row() == row
            {
                return inst;
            }
        }
        // Every row has a default, and rows are counted above.
        Inst::default_of(row).unwrap_or(Inst::Stop(Default::default()))
    }

    fn word_of(&mut self, row: usize) -> u128 {
        let desc = &ROWS[row];
        let usual = Inst::default_of(row)
            .and_then(|inst| inst.encode().ok())
            .map_or(0, |e| e.iter().rev().fold(0u128, |word, b| word << 8 | u128::from(*b)));
        let (_, mut word) = desc.pattern();
        for field in desc.fields {
            let keep = match field.kind {
                Kind::Hidden => !self.one_in(16),
                Kind::Form => !self.one_in(8),
                _ => false,
            };
            for piece in field.pieces.as_slice() {
                let mask = ones(piece.len) << piece.lo;
                word |= if keep {
                    usual & mask
                } else if self.one_in(4) {
                    0
                } else {
                    u128::from(self.bits()) << piece.lo & mask
                };
            }
        }
        let length = desc.length;
        if length.short != length.long {
            let bit = 1 << length.bit;
            if self.one_in(3) {
                word &= ones(length.short * 8) & !bit;
            } else if word >> (length.short * 8) != 0 {
                word |= bit;
            }
        }
        word
    }
}
