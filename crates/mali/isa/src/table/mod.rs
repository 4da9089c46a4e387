//! The table: one row for each instruction.
//!
//! A row has a name, a width in bits, an opcode and a secondary opcode. Rows with the same fields
//! share a [`Form`](field::Form). The files are ordered by theme; [`ROWS`] has all of them, and an
//! [`Op`] is an index of it.
//!
//! Architectures v9 and v10 have the same instructions.

use std::sync::LazyLock;

/// An instruction of the table.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The mnemonic.
    pub name: &'static str,
    /// Bits of an element: 16 of a vector of two halves.
    pub width: u8,
    /// The opcode, nine bits.
    pub opcode: u16,
    /// The secondary opcode.
    pub second: u16,
    /// Its function, in a sentence.
    pub summary: &'static str,
    /// Its fields.
    pub form: field::Form,
}

impl Row {
    /// The fixed bits: opcodes, and the marks above staging registers or, if there is neither a destination
    /// nor a staging register, above its position.
    pub const fn fixed(&self) -> u64 {
        let mut word = (self.opcode as u64) << 48 | (self.second as u64) << self.form.second.shift;
        let mut i = 0;
        while i < self.form.staging.len() {
            let field = &self.form.staging[i];
            word |= (field.mark as u64) << (field.start + 6);
            i += 1;
        }
        if !self.form.dest && self.form.staging.is_empty() {
            word |= 3 << 46;
        }
        word
    }

    /// Whether a word is an instance of the row.
    pub const fn matches(&self, word: u64) -> bool {
        let second = self.form.second;
        (word >> 48) & 0x1ff == self.opcode as u64
            && (word >> second.shift) & second.mask as u64 == self.second as u64
    }

    /// Bits of a source.
    pub fn source_width(&self, source: &field::SourceField) -> u8 {
        source.width.unwrap_or(self.width)
    }
}

/// An instruction of the table, by its index in [`ROWS`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Op(u8);

impl Op {
    /// All instructions, in the order of the table.
    pub fn all() -> impl Iterator<Item = Op> {
        (0..ROWS.len() as u8).map(Op)
    }

    /// Its row.
    pub fn row(self) -> &'static Row {
        &ROWS[usize::from(self.0)]
    }

    /// The instruction with a mnemonic.
    pub fn from_name(name: &str) -> Option<Op> {
        Op::all().find(|op| op.row().name == name)
    }

    /// The index in [`ROWS`].
    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    /// The instruction of a word, by its opcodes.
    pub fn of_word(word: u64) -> Option<Op> {
        static BY_OPCODE: LazyLock<Vec<Vec<Op>>> = LazyLock::new(|| {
            let mut lists = vec![Vec::new(); 512];
            for op in Op::all() {
                lists[usize::from(op.row().opcode)].push(op);
            }
            lists
        });
        let list = &BY_OPCODE[(word >> 48 & 0x1ff) as usize];
        list.iter().copied().find(|op| op.row().matches(word))
    }
}

impl std::fmt::Display for Op {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.row().name)
    }
}

impl std::fmt::Debug for Op {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.row().name)
    }
}

/// Declares rows of a file, and an [`Op`] constant for each. They follow those of another file.
macro_rules! rows {
    (after $previous:ident;
     $($doc:literal Form $form:tt => {
         $($op:ident = $name:literal $width:literal, $opcode:literal, $second:literal;)+
     })+) => {
        /// The rows.
        pub const ROWS: &[$crate::table::Row] = &[$($($crate::table::Row {
            name: $name,
            width: $width,
            opcode: $opcode,
            second: $second,
            summary: $doc,
            form: Form $form,
        },)+)+];

        /// The index of the first row.
        pub(super) const FIRST: usize = super::$previous::END;
        /// One past the index of the last row.
        pub(super) const END: usize = FIRST + ROWS.len();

        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        enum Index { $($($op,)+)+ }

        impl $crate::table::Op {
            $($(
                #[doc = concat!("`", $name, "`:")]
                #[doc = $doc]
                pub const $op: $crate::table::Op =
                    $crate::table::Op((FIRST + Index::$op as usize) as u8);
            )+)+
        }
    };
}

pub mod field;

mod nothing {
    pub(super) const END: usize = 0;
}

macro_rules! files {
    ($($file:ident),+; last $last:ident) => {
        $(pub mod $file;)+

        /// All rows.
        pub static ROWS: [Row; $last::END] = {
            let files: &[&[Row]] = &[$($file::ROWS),+];
            let mut all = [flow::ROWS[0]; $last::END];
            let mut at = 0;
            let mut file = 0;
            while file < files.len() {
                let mut row = 0;
                while row < files[file].len() {
                    all[at] = files[file][row];
                    at += 1;
                    row += 1;
                }
                file += 1;
            }
            all
        };
    };
}

files! {
    flow, select, convert, unary, float, special, integer, bitwise, memory, attribute, varying,
    texture, fragment; last fragment
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_encodings_are_unique_and_mesa_s_number_is_there() {
        // The number of Mesa 25.0's instructions, plus LD_CVT.
        assert_eq!(ROWS.len(), 252 + 1);
        for op in Op::all() {
            assert_eq!(Op::from_name(op.row().name), Some(op));
            assert_eq!(Op::of_word(op.row().fixed()), Some(op), "{op}");
        }
        assert_eq!(Op::FADD_F32.row().name, "FADD.f32");
        assert_eq!(Op::ZS_EMIT.row().name, "ZS_EMIT");
        assert_eq!(Op::of_word(0x1ff << 48), None);
    }

    /// Each bit of a word belongs to one field at most.
    #[test]
    fn fields_do_not_overlap() {
        for row in &ROWS {
            let mut used: u64 = 0x1ff << 48 | 3 << 57 | 0x1f << 59;
            let mut take = |what: &str, start: u8, bits: u8| {
                let mask = (u64::MAX >> (64 - bits)) << start;
                assert_eq!(used & mask, 0, "{}: {what} at {start}", row.name);
                used |= mask;
            };
            let second = row.form.second;
            for bit in 0..16 {
                if second.mask & 1 << bit != 0 {
                    take("secondary opcode", second.shift + bit, 1);
                }
            }
            if row.form.dest {
                take("destination", 40, 8);
            }
            for field in row.form.staging {
                take("staging", field.start, if field.mark == 0 { 6 } else { 8 });
                match field.count {
                    field::Count::At33 => take("count", 33, 3),
                    field::Count::LessOneAt36 => take("count", 36, 3),
                }
            }
            for modifier in row.form.modifiers {
                take(modifier.kind.name, modifier.start, modifier.bits);
            }
            for field in row.form.immediates {
                take(field.name, field.start, field.bits);
            }
            for source in row.form.sources {
                take(source.name, source.slot * 8, 8);
                if source.float {
                    take("negate", source.negate_bit(), 2);
                }
                if source.inverted {
                    take("invert", field::INVERT_BIT, 1);
                }
                if let Some((start, bits, _)) = crate::operand::select(row, source) {
                    take("select", start, bits);
                }
            }
        }
    }
}
