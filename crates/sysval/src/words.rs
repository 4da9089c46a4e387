//! Structures of words that a driver fills and programs read.

use std::fmt;
use std::marker::PhantomData;

use bytemuck::{Pod, Zeroable};

/// A 64-bit number, usually an address, in two words. Unlike `u64`, it needs an alignment of four bytes only, so structures have no
/// padding.
#[repr(transparent)]
#[derive(Clone, Copy, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct Long([u32; 2]);

impl Long {
    /// The number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0[0] as u64 | (self.0[1] as u64) << 32
    }
}

impl From<u64> for Long {
    fn from(v: u64) -> Long {
        Long([v as u32, (v >> 32) as u32])
    }
}

impl fmt::Debug for Long {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.get())
    }
}

/// A structure of words, as [`push_words!`](crate::push_words) declares them.
pub trait Words: Pod {
    /// Bytes of all words.
    const BYTES: u32 = size_of::<Self>() as u32;

    /// The words.
    fn words(&self) -> &[u32] {
        bytemuck::cast_slice(std::slice::from_ref(self))
    }

    /// The bytes, as they stand in memory.
    fn bytes(&self) -> &[u8] {
        bytemuck::bytes_of(self)
    }
}

/// Type of a field that a program reads as one value.
pub trait Member: Pod {
    /// Bits of the value.
    const BITS: u8;
}

impl Member for u32 {
    const BITS: u8 = 32;
}

impl Member for f32 {
    const BITS: u8 = 32;
}

impl Member for Long {
    const BITS: u8 = 64;
}

/// A field of type `T` in the structure `S`.
pub struct Field<S, T> {
    offset: u32,
    types: PhantomData<fn() -> (S, T)>,
}

impl<S, T> Clone for Field<S, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S, T> Copy for Field<S, T> {}

impl<S, T> fmt::Debug for Field<S, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Field({})", self.offset)
    }
}

impl<S, T> Field<S, T> {
    /// A field at an offset in bytes; [`push_words!`](crate::push_words) makes them.
    #[doc(hidden)]
    #[must_use]
    pub const fn new(offset: usize) -> Self {
        Field { offset: offset as u32, types: PhantomData }
    }

    /// Byte offset in the structure.
    #[must_use]
    pub const fn offset(self) -> u32 {
        self.offset
    }

    /// Bytes of the field.
    #[must_use]
    pub const fn bytes(self) -> u32 {
        size_of::<T>() as u32
    }

    /// Address of the field, if the structure is at `base`.
    #[must_use]
    pub const fn address(self, base: u64) -> u64 {
        base + self.offset as u64
    }

    /// Field of the structure that this field is.
    #[must_use]
    pub const fn then<U>(self, inner: Field<T, U>) -> Field<S, U> {
        Field::new((self.offset + inner.offset) as usize)
    }
}

impl<S, T, const N: usize> Field<S, [T; N]> {
    /// An element of the array.
    ///
    /// # Panics
    /// When there is none of this number.
    #[must_use]
    pub const fn at(self, k: usize) -> Field<S, T> {
        assert!(k < N, "an element past the end of the array");
        Field::new(self.offset as usize + k * size_of::<T>())
    }

    /// An element of the array; `None` past its end.
    #[must_use]
    pub const fn get(self, k: usize) -> Option<Field<S, T>> {
        if k < N { Some(self.at(k)) } else { None }
    }
}

/// Declares structures of words, whose fields are `u32`, `f32`, [`Long`], arrays of these and other such structures.
///
/// Each structure gets a constant for each field, with the field's name in capitals: a [`Field`]. The user's crate depends on
/// `bytemuck` with its derive macros.
///
/// ```
/// use tepui_sysval::{Long, Words, push_words};
///
/// push_words! {
///     /// Words of a program that fills memory.
///     pub struct FillWords {
///         /// Address of the first word.
///         pub address: Long,
///         /// Number of words.
///         pub count: u32,
///     }
/// }
///
/// let words = FillWords { address: 0x1_0000_0010.into(), count: 3 };
/// assert_eq!(words.words(), [0x10, 1, 3]);
/// assert_eq!(FillWords::COUNT.offset(), 8);
/// ```
#[macro_export]
macro_rules! push_words {
    ($($(#[$doc:meta])* $vis:vis struct $name:ident {
        $($(#[$field_doc:meta])* $field_vis:vis $field:ident: $ty:ty),* $(,)?
    })*) => {
        $(
            $(#[$doc])*
            #[repr(C)]
            #[derive(Clone, Copy, Debug, Default, PartialEq, ::bytemuck::Pod, ::bytemuck::Zeroable)]
            $vis struct $name {
                $($(#[$field_doc])* $field_vis $field: $ty,)*
            }

            impl $crate::Words for $name {}

            $crate::pastey::paste! {
                #[allow(dead_code, reason = "a constant for each field")]
                impl $name {
                    $(
                        $(#[$field_doc])*
                        $field_vis const [<$field:upper>]: $crate::Field<$name, $ty> =
                            $crate::Field::new(::core::mem::offset_of!($name, $field));
                    )*
                }
            }
        )*
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    push_words! {
        struct Inner {
            a: u32,
            b: Long,
        }

        struct Outer {
            first: f32,
            many: [Inner; 3],
            last: Long,
        }
    }

    #[test]
    fn fields_are_where_the_structure_has_them() {
        let inner = Inner { a: 7, b: 0x1234_5678_9abc.into() };
        let outer =
            Outer { first: 1.0, many: [Inner::default(), inner, Inner::default()], last: 9.into() };
        let word = |offset: u32| outer.words()[offset as usize / 4];
        assert_eq!(Outer::BYTES, 48);
        assert_eq!(f32::from_bits(word(Outer::FIRST.offset())), 1.0);
        let second = Outer::MANY.at(1);
        assert_eq!(word(second.then(Inner::A).offset()), 7);
        assert_eq!(word(second.then(Inner::B).offset()), 0x5678_9abc);
        assert_eq!(word(second.then(Inner::B).offset() + 4), 0x1234);
        assert_eq!(word(Outer::LAST.offset()), 9);
        assert_eq!(second.address(100), 116);
        assert!(Outer::MANY.get(2).is_some() && Outer::MANY.get(3).is_none());
        assert_eq!(inner.b.get(), 0x1234_5678_9abc);
    }

    #[test]
    #[should_panic(expected = "past the end")]
    fn arrays_have_an_end() {
        let _ = Outer::MANY.at(3);
    }
}
