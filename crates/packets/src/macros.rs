//! The two declarations: [`packet!`](crate::packet!) and [`bits_enum!`](crate::bits_enum!).
//!
//! `packet!` expands each field into a [`Field`](crate::Field) constant at each place where it is
//! read or written, so that every bit position is a compile-time constant and the loops over pieces
//! are unrolled.

/// Declares an enumeration of encodings, each with its hardware name. The enumerator marked
/// `#[default]` is the value of all-zero bits.
///
/// Expands to the enum with `Display` (the hardware name), `INFO` (the reflection table) and
/// `from_raw`; it can be used as a field type in [`packet!`](crate::packet!).
#[macro_export]
macro_rules! bits_enum {
    ($(#[doc = $doc:literal])* pub enum $name:ident = $hw:literal {
        $($(#[doc = $vdoc:literal])* $(#[default $($mark:tt)?])? $variant:ident = $value:literal => $vhw:literal),* $(,)?
    }) => {
        $crate::__bits_enum_type! { $(#[doc = $doc])* $name
            $($(#[doc = $vdoc])* $(#[default $($mark)?])? $variant = $value),* }

        impl $name {
            /// The table: names, values and meanings.
            pub const INFO: &'static $crate::EnumInfo = &$crate::EnumInfo {
                name: $hw,
                doc: concat!($($doc, "\n"),*),
                values: &[$($crate::EnumValue { value: $value, name: $vhw, doc: concat!($($vdoc, "\n"),*) }),*],
            };

            /// The enumerator with this encoding.
            pub const fn from_raw(raw: u64) -> Option<$name> {
                match raw {
                    $($value => Some($name::$variant),)*
                    _ => None,
                }
            }

            /// The encoding.
            pub const fn raw(self) -> u64 {
                self as u64
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(match self { $($name::$variant => $vhw),* })
            }
        }

        impl $crate::types::Scalar for $name {
            type Value = $name;
            const KIND: $crate::Kind = $crate::Kind::plain($crate::Base::Enum($name::INFO));

            #[inline]
            fn decode(raw: u64, _width: u32) -> Result<$name, $crate::ProblemKind> {
                $name::from_raw(raw)
                    .ok_or($crate::ProblemKind::UnknownEnumerator { value: raw, name: $hw })
            }

            #[inline]
            fn encode(value: $name, _width: u32) -> Result<u64, $crate::ProblemKind> {
                Ok(value.raw())
            }

            fn show(value: $name) -> $crate::Value {
                $crate::Value::Name($name::INFO.name_of(value.raw()).unwrap_or(""))
            }

            fn zero(_width: u32) -> $name {
                $name::default()
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __bits_enum_type {
    ($(#[doc = $doc:literal])* $name:ident
        $($(#[doc = $vdoc:literal])* $(#[default $($mark:tt)?])? $variant:ident = $value:literal),*) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        #[repr(u16)]
        pub enum $name {
            $($(#[doc = $vdoc])* $(#[default $($mark)?])? $variant = $value),*
        }
    };
}

/// Declares a packet. See the [crate's documentation](crate) for an example.
///
/// - `= "Name", N bytes`: the name in the hardware's words and the size. `since R` and `before R` after
///   it apply to the whole packet as they do to a field.
/// - `fixed { "Name" Kind [lo..hi] = value; … }`: fields with one legal value. They are not struct
///   members.
/// - `fields { /// doc  member: Kind [lo..hi] "Name" …; … }`: the members. Bits count from the
///   first bit of the packet, the end is exclusive, and a field in several pieces lists them from
///   the least significant: `[32..64, 0..8]`. After the name may come, in this order,
///   - `since R`, `before R`: the field exists only from that revision of the hardware on, or only
///     before it ([`Revision`](crate::Revision));
///   - `in (low..=high)`: the range that the hardware accepts;
///   - `when (|p| condition)`: the field exists only if the condition is true, so that fields of
///     different forms of the packet may share bits. A condition may only read fields without a
///     condition;
///   - `= value`: the default; without it, the value of all-zero bits.
///
/// Bits that no existing field owns must be zero.
#[macro_export]
macro_rules! packet {
    ($(#[doc = $doc:literal])* pub struct $name:ident = $hw:literal, $size:literal bytes
        $(since $psince:literal)? $(before $pbefore:literal)?
        $(fixed { $($fhw:literal $fkind:ty [$flo:literal .. $fhi:literal] = $fvalue:expr;)* })?
        $(fields { $($(#[doc = $fdoc:literal])* $field:ident : $kind:ty [$($lo:literal .. $hi:literal),+] $fieldhw:literal
            $(since $since:literal)? $(before $before:literal)? $(in ($rlo:literal ..= $rhi:literal))? $(when ($($cond:tt)+))? $(= $default:expr)?;)* })?
    ) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $name {
            $($($(#[doc = $fdoc])* pub $field: <$kind as $crate::types::FieldType>::Value,)*)?
        }

        impl $name {
            /// Size in bytes.
            pub const SIZE_BYTES: usize = $size;

            /// The packed bytes, or the first value that its field cannot hold.
            #[inline]
            pub fn pack(&self) -> Result<[u8; $size], $crate::Problem> {
                let mut bytes = [0; $size];
                $crate::Packet::pack_into(self, &mut bytes)?;
                Ok(bytes)
            }
        }

        impl Default for $name {
            fn default() -> $name {
                $name {
                    $($($field: $crate::__default!(
                        $kind, $crate::__field!($hw; $($fdoc)*; $field; $kind; [$($lo..$hi),+]; $fieldhw; [$($rlo, $rhi)?]; [$($since)?; $($before)?]; [$($($cond)+)?]);
                        $($default)?
                    ),)*)?
                }
            }
        }

        impl $crate::Packet for $name {
            const INFO: &'static $crate::PacketInfo = &$crate::PacketInfo {
                name: $hw,
                ident: stringify!($name),
                doc: concat!($($doc, "\n"),*),
                size_bytes: $size,
                revisions: $crate::Revisions::ALL$(.since($psince))?$(.before($pbefore))?,
                fixed: &[$($($crate::Fixed {
                    name: $fhw,
                    piece: $crate::Piece::new($flo, $fhi),
                    kind: <$fkind as $crate::types::FieldType>::KIND,
                    value: $fvalue as u64,
                },)*)?],
                fields: &[$($($crate::__field!($hw; $($fdoc)*; $field; $kind; [$($lo..$hi),+]; $fieldhw; [$($rlo, $rhi)?]; [$($since)?; $($before)?]; [$($($cond)+)?]),)*)?],
                functions: $crate::packet::Functions::of::<$name>(),
            };

            type Words = [u64; usize::div_ceil($size, 8)];

            #[inline]
            fn zeros() -> Self::Words {
                [0; usize::div_ceil($size, 8)]
            }

            #[allow(unused_mut, unused_variables)]
            fn read_fields(words: &Self::Words, revision: $crate::Revision, problems: &mut Vec<$crate::Problem>) -> $name {
                let mut value = $name {
                    $($($field: {
                        const FIELD: $crate::Field = $crate::__field!($hw; $($fdoc)*; $field; $kind; [$($lo..$hi),+]; $fieldhw; [$($rlo, $rhi)?]; [$($since)?; $($before)?]; [$($($cond)+)?]);
                        $crate::__if_conditional!([$($($cond)+)?]
                            { <$kind as $crate::types::FieldType>::zero(FIELD.width()) }
                            { match FIELD.revisions.has(revision) {
                                true => <$kind as $crate::types::FieldType>::read(words, &FIELD, problems),
                                false => <$kind as $crate::types::FieldType>::zero(FIELD.width()),
                            } })
                    },)*)?
                };
                $($($crate::__if_conditional!([$($($cond)+)?] {
                    const FIELD: $crate::Field = $crate::__field!($hw; $($fdoc)*; $field; $kind; [$($lo..$hi),+]; $fieldhw; [$($rlo, $rhi)?]; [$($since)?; $($before)?]; [$($($cond)+)?]);
                    if FIELD.revisions.has(revision) && $crate::__holds!(value, $name, [$($($cond)+)?]) {
                        value.$field = <$kind as $crate::types::FieldType>::read(words, &FIELD, problems);
                    }
                } {});)*)?
                value
            }

            #[inline]
            #[allow(unused_variables)]
            fn write_fields(&self, words: &mut Self::Words, revision: $crate::Revision) -> Result<(), $crate::Problem> {
                $($($crate::bits::word_or(words, $flo, $fhi - $flo, $fvalue as u64);)*)?
                $($({
                    const FIELD: $crate::Field = $crate::__field!($hw; $($fdoc)*; $field; $kind; [$($lo..$hi),+]; $fieldhw; [$($rlo, $rhi)?]; [$($since)?; $($before)?]; [$($($cond)+)?]);
                    let holds = $crate::__holds!(*self, $name, [$($($cond)+)?]);
                    if holds && FIELD.revisions.has(revision) {
                        <$kind as $crate::types::FieldType>::write(&self.$field, words, &FIELD)?;
                    } else if self.$field != <$kind as $crate::types::FieldType>::zero(FIELD.width()) {
                        return Err($crate::Problem {
                            packet: $hw,
                            field: $fieldhw,
                            bit: FIELD.start(),
                            kind: $crate::ProblemKind::Inactive { condition: FIELD.condition.filter(|_| !holds).unwrap_or("another revision") },
                        });
                    }
                })*)?
                Ok(())
            }

            #[allow(unused_variables)]
            fn clear_fields(&self, words: &mut Self::Words, revision: $crate::Revision) {
                $($({
                    const FIELD: $crate::Field = $crate::__field!($hw; $($fdoc)*; $field; $kind; [$($lo..$hi),+]; $fieldhw; [$($rlo, $rhi)?]; [$($since)?; $($before)?]; [$($($cond)+)?]);
                    if FIELD.revisions.has(revision) && $crate::__holds!(*self, $name, [$($($cond)+)?]) {
                        $crate::packet::clear(words, &FIELD);
                    }
                })*)?
            }

            #[allow(unused_variables, unused_mut)]
            fn show_fields(&self, bytes: &[u8], revision: $crate::Revision) -> Vec<(&'static $crate::Field, $crate::Value)> {
                let mut shown = Vec::with_capacity(Self::INFO.fields.len());
                let mut fields = Self::INFO.fields.iter();
                $($(if let Some(field) = fields.next() {
                    if field.revisions.has(revision) && $crate::__holds!(*self, $name, [$($($cond)+)?]) {
                        shown.push((field, <$kind as $crate::types::FieldType>::show(bytes, field)));
                    }
                })*)?
                shown
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __field {
    ($packet:literal; $($doc:literal)*; $field:ident; $kind:ty; [$($lo:literal .. $hi:literal),+]; $hw:literal; [$($rlo:literal, $rhi:literal)?]; [$($since:literal)?; $($before:literal)?]; [$($cond:tt)*]) => {
        $crate::Field {
            name: $hw,
            ident: stringify!($field),
            doc: concat!($($doc, "\n"),*),
            packet: $packet,
            pieces: &[$($crate::Piece::new($lo, $hi)),+],
            kind: <$kind as $crate::types::FieldType>::KIND,
            range: $crate::__range!($($rlo, $rhi)?),
            revisions: $crate::Revisions::ALL$(.since($since))?$(.before($before))?,
            condition: $crate::__condition!($($cond)*),
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __range {
    () => {
        None
    };
    ($lo:literal, $hi:literal) => {
        Some(($lo, $hi))
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __condition {
    () => {
        None
    };
    (|$p:ident| $($cond:tt)+) => {
        Some(stringify!($($cond)+))
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __default {
    ($kind:ty, $field:expr;) => {{
        const FIELD: $crate::Field = $field;
        <$kind as $crate::types::FieldType>::zero(FIELD.width())
    }};
    ($kind:ty, $field:expr; $default:expr) => {
        $default
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __if_conditional {
    ([] $yes:block $no:block) => {
        $no
    };
    ([$($cond:tt)+] $yes:block $no:block) => {
        $yes
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __holds {
    ($value:expr, $type:ty, []) => {
        true
    };
    ($value:expr, $type:ty, [|$p:ident| $($cond:tt)+]) => {{
        let $p: &$type = &$value;
        $($cond)+
    }};
}
