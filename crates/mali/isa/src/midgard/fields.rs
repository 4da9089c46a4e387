//! Bit-packed words as structures of numbers: each bit belongs to a field, so that encoding restores every
//! decoded word.

macro_rules! fields {
    ($(#[$about:meta])* $name:ident, $bits:literal { $($(#[$doc:meta])* $field:ident: $size:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name { $($(#[$doc])* pub $field: u32,)* }

        impl $name {
            /// Bits of the word.
            pub const BITS: u32 = $bits;

            /// Reads a word, the lowest field first.
            pub const fn decode(word: u128) -> $name {
                let mut at = 0;
                $(let $field = (word >> at & ((1 << $size) - 1)) as u32; at += $size;)*
                assert!(at == $bits);
                $name { $($field,)* }
            }

            /// Encodes the word; values are truncated to their fields.
            pub const fn encode(&self) -> u128 {
                let (mut at, mut word) = (0, 0u128);
                $(word |= (self.$field as u128 & ((1 << $size) - 1)) << at; at += $size;)*
                assert!(at == $bits);
                word
            }

            /// Calls a function with the name, the bits and the value of each field.
            pub fn visit(&mut self, mut f: impl FnMut(&'static str, u32, &mut u32)) {
                $(f(stringify!($field), $size, &mut self.$field);)*
            }
        }
    };
}

pub(crate) use fields;

/// Sign-extends a number of `bits` bits.
pub const fn signed(value: u32, bits: u32) -> i32 {
    (value << (32 - bits)) as i32 >> (32 - bits)
}
