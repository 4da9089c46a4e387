//! Enumerated fields.

use core::fmt::Write;
use core::marker::PhantomData;

use super::raw::number;
use super::{Codec, Pieces, Reject, Tokens, bits};

/// An enumeration of hardware values.
pub trait Enumerated: Copy + PartialEq + 'static {
    /// All named values with their encoding and text.
    const NAMED: &'static [(Self, u8, &'static str)];

    /// The value for an encoding; `None` if encodings without a name have no value.
    fn from_raw(raw: u8) -> Option<Self>;

    /// The encoding.
    fn raw(self) -> u8;
}

/// Declares an enumeration with its encodings and texts. With `…`, encodings without a name
/// become `Unknown(encoding)`.
macro_rules! hardware_enum {
    ($(#[$meta:meta])* $Name:ident $(, unknown $unknown:ident)? {
        $( $(#[$vmeta:meta])* $Variant:ident = $raw:literal $text:literal, )*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $Name {
            $( $(#[$vmeta])* $Variant, )*
            $( /// An encoding without a known meaning.
               $unknown(u8), )?
        }

        impl $crate::codec::Enumerated for $Name {
            const NAMED: &'static [(Self, u8, &'static str)] =
                &[$( ($Name::$Variant, $raw, $text), )*];

            #[inline(always)]
            fn from_raw(raw: u8) -> Option<Self> {
                match raw {
                    $( $raw => Some($Name::$Variant), )*
                    #[allow(unreachable_patterns)]
                    _ => $crate::codec::hardware_enum!(@other $Name raw $($unknown)?),
                }
            }

            #[inline(always)]
            fn raw(self) -> u8 {
                match self {
                    $( $Name::$Variant => $raw, )*
                    $( $Name::$unknown(raw) => raw, )?
                }
            }
        }

        impl $Name {
            /// The word that stands for it in assembly, if it has one.
            pub fn text(self) -> Option<&'static str> {
                use $crate::codec::Enumerated;
                Self::NAMED.iter().find(|n| n.0 == self).map(|n| n.2)
            }

            /// The encoding.
            pub fn bits(self) -> u8 {
                $crate::codec::Enumerated::raw(self)
            }
        }

        impl $crate::codec::Field for $Name {
            type Codec = $crate::codec::EnumCodec<$Name>;
        }

        impl Default for $Name {
            fn default() -> Self {
                <Self as $crate::codec::Enumerated>::NAMED[0].0
            }
        }
    };
    (@other $Name:ident $raw:ident $unknown:ident) => { Some($Name::$unknown($raw)) };
    (@other $Name:ident $raw:ident) => { None };
}
pub(crate) use hardware_enum;

/// Encoding of an enumerated field.
#[derive(Clone, Copy, Debug)]
pub struct EnumCodec<T> {
    pieces: Pieces,
    /// Encodings without a value belong to another row (instead of being reserved).
    elsewhere: bool,
    of: PhantomData<T>,
}

impl<T> EnumCodec<T> {
    /// The bits owned.
    pub const fn pieces(&self) -> Pieces {
        self.pieces
    }
}

impl<T: Enumerated> EnumCodec<T> {
    fn name(value: T) -> Option<&'static str> {
        T::NAMED.iter().find(|n| n.0 == value).map(|n| n.2)
    }

    fn nameless(&self) -> bool {
        T::NAMED.iter().any(|n| n.2.is_empty())
    }
}

impl<T: Enumerated> Codec for EnumCodec<T> {
    type Value = T;

    #[inline(always)]
    fn decode(&self, word: u128) -> Result<T, Reject> {
        let (mut raw, mut shift) = (0, 0);
        for piece in self.pieces.as_slice() {
            raw |= (bits(word, piece.lo, piece.len) as u8) << shift;
            shift += piece.len;
        }
        T::from_raw(raw).ok_or(if self.elsewhere {
            Reject::Mismatch
        } else {
            Reject::Reserved("the encoding has no known meaning")
        })
    }

    fn encode(&self, value: T) -> Result<u128, &'static str> {
        let (raw, mut shift, mut word) = (value.raw(), 0, 0);
        for piece in self.pieces.as_slice() {
            word |= (u128::from(raw >> shift) & super::ones(piece.len)) << piece.lo;
            shift += piece.len;
        }
        if raw >> shift != 0 { Err("the encoding has more bits than the field") } else { Ok(word) }
    }

    fn print(&self, value: T, _: Option<u64>, out: &mut String) {
        match Self::name(value) {
            Some(name) => out.push_str(name),
            None => {
                let _ = write!(out, "{}", value.raw());
            }
        }
    }

    fn note(&self, value: T) -> Option<u64> {
        // Two encodings with one text: the second one needs a note.
        let name = Self::name(value)?;
        let first = T::NAMED.iter().find(|n| n.2 == name)?;
        (first.0 != value).then(|| u64::from(value.raw()))
    }

    fn absent(&self, next: Option<&str>, _: Option<u64>) -> bool {
        self.nameless()
            && next.is_none_or(|t| {
                // An encoding without a name is printed in decimal.
                T::NAMED.iter().all(|n| n.2 != t) && !t.bytes().all(|b| b.is_ascii_digit())
            })
    }

    fn parse(&self, tokens: &Tokens<'_>) -> Result<T, String> {
        let own = tokens.rest.first().copied().unwrap_or("");
        let raw = match tokens.note {
            Some(note) => Some(note as i64),
            None => match T::NAMED.iter().find(|n| n.2 == own) {
                Some(named) => Some(i64::from(named.1)),
                None => number(own),
            },
        };
        raw.and_then(|v| u8::try_from(v).ok()).and_then(T::from_raw).ok_or_else(|| {
            let names: Vec<_> = T::NAMED.iter().map(|n| n.2).filter(|t| !t.is_empty()).collect();
            format!("`{own}` is not one of {}", names.join(", "))
        })
    }

    fn spellings(&self) -> Vec<&'static str> {
        T::NAMED.iter().map(|n| n.2).collect()
    }

    fn describe(&self) -> String {
        let values: Vec<_> = T::NAMED
            .iter()
            .map(|n| format!("{} = {}", n.1, if n.2.is_empty() { "(nothing)" } else { n.2 }))
            .collect();
        format!("one of {}", values.join(", "))
    }
}

/// Constructors.
pub mod ctor {
    use super::*;

    /// An enumeration in one run of bits.
    pub const fn choice<T>(at: u8, len: u8) -> EnumCodec<T> {
        EnumCodec { pieces: Pieces::NONE.and(at, len, ""), elsewhere: false, of: PhantomData }
    }
    /// An enumeration in two runs of bits, low part first.
    pub const fn choice2<T>(at: (u8, u8), high: (u8, u8)) -> EnumCodec<T> {
        EnumCodec {
            pieces: Pieces::NONE.and(at.0, at.1, "").and(high.0, high.1, "x"),
            elsewhere: false,
            of: PhantomData,
        }
    }
    /// An enumeration in several runs of bits, whose other encodings belong to another row.
    pub const fn only<T>(list: &[(u8, u8)]) -> EnumCodec<T> {
        const PARTS: [&str; 6] = ["", "x", "y", "z", "w", "v"];
        let (mut pieces, mut i) = (Pieces::NONE, 0);
        while i < list.len() {
            pieces = pieces.and(list[i].0, list[i].1, PARTS[i]);
            i += 1;
        }
        EnumCodec { pieces, elsewhere: true, of: PhantomData }
    }
}
