//! The header of a clause: 45 bits.
//!
// source: Mesa, compiler/bifrost.h (struct bifrost_header and the enumerations before it),
// bi_print_common.c (names).

use std::fmt;

use super::error::ClauseError;

/// Bits of a header.
pub const BITS: u32 = 45;

/// Declares an enumeration whose values have a number and a name that Mesa's listings print.
macro_rules! named {
    ($(#[$doc:meta])* $name:ident { $($(#[$value_doc:meta])* $value:ident = $number:literal, $text:literal;)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum $name {
            $($(#[$value_doc])* $value = $number,)+
        }

        impl $name {
            /// All values, by number.
            pub const ALL: &[$name] = &[$($name::$value),+];

            /// The value of a number; `None` if it is reserved.
            pub fn from_raw(raw: u64) -> Option<$name> {
                $name::ALL.iter().copied().find(|v| *v as u64 == raw)
            }

            /// The name in listings.
            pub fn name(self) -> &'static str {
                match self {
                    $($name::$value => $text,)+
                }
            }
        }
    };
}

named! {
    /// Execution after a clause, and whether diverged lanes may reconverge there.
    Flow {
        /// The program ends.
        #[default]
        End = 0, "eos";
        /// Other warps may run before the next clause, which lanes join by their address.
        NotBackToBackPc = 1, "nbb br_pc";
        /// Version of 1 whose lanes always reconverge.
        NotBackToBackAlways = 2, "nbb r_uncond";
        /// Version of 1 whose lanes do not reconverge.
        NotBackToBack = 3, "nbb";
        /// The next clause follows immediately; lanes always reconverge.
        BackToBackAlways = 4, "bb r_uncond";
        /// The next clause follows immediately.
        BackToBack = 5, "bb";
        /// Version of 4: the last write of the clause is elided.
        WriteElisionAlways = 6, "we r_uncond";
        /// Version of 5: the last write of the clause is elided.
        WriteElision = 7, "we";
    }
}

named! {
    /// The unit to which the clause's message goes.
    Message {
        /// The clause has no message.
        #[default]
        None = 0, "";
        /// Varyings.
        Varying = 1, "vary";
        /// Attributes.
        Attribute = 2, "attr";
        /// Textures.
        Texture = 3, "tex";
        /// Textures at the coordinates of a varying.
        VaryingTexture = 4, "vartex";
        /// Loads.
        Load = 5, "load";
        /// Stores.
        Store = 6, "store";
        /// Atomics.
        Atomic = 7, "atomic";
        /// The barrier of a workgroup.
        Barrier = 8, "barrier";
        /// Blending.
        Blend = 9, "blend";
        /// The tile buffer.
        Tile = 10, "tile";
        /// Depth and stencil from the shader.
        ZStencil = 12, "z_stencil";
        /// The alpha test, with the late tests.
        Atest = 13, "atest";
        /// The job manager.
        Job = 14, "job";
        /// 64-bit arithmetic.
        Wide = 15, "64";
    }
}

named! {
    /// Treatment of subnormal floats.
    FlushToZero {
        /// They are kept.
        #[default]
        Off = 0, "";
        /// Flushed as Direct3D 11 requires.
        Dx11 = 1, "ftz_dx11";
        /// Sources and results become zero.
        Always = 2, "ftz_hsa";
        /// Results become zero before they are rounded.
        Abrupt = 3, "ftz_au";
    }
}

named! {
    /// Floating-point exceptions.
    Exceptions {
        /// They are on.
        #[default]
        Enabled = 0, "";
        /// They are off.
        Disabled = 1, "fpe_ts";
        /// Only those of precise division.
        PreciseDivision = 2, "fpe_pd";
        /// Only those of precise square roots.
        PreciseSqrt = 3, "fpe_psqr";
    }
}

/// The header of a clause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Subnormal floats.
    pub flush_to_zero: FlushToZero,
    /// Infinite results become the largest number.
    pub suppress_inf: bool,
    /// Results that are no number become zero.
    pub suppress_nan: bool,
    /// Floating-point exceptions.
    pub exceptions: Exceptions,
    /// Execution after the clause.
    pub flow: Flow,
    /// Discarded threads end.
    pub terminate_discarded: bool,
    /// The next clause may be fetched early.
    pub prefetch: bool,
    /// The next clause waits until messages have read their staging registers.
    pub staging_barrier: bool,
    /// The first staging register of the clause's message.
    pub staging: u8,
    /// Slots that the next clause waits for, a bit for each.
    pub wait: u8,
    /// The slot of the clause's message.
    pub slot: u8,
    /// The message of the clause.
    pub message: Message,
    /// The message of the next clause.
    pub next_message: Message,
}

impl Header {
    /// Decodes a header.
    ///
    /// # Errors
    /// A field has a reserved value.
    pub fn decode(bits: u64) -> Result<Header, ClauseError> {
        let get = |start: u32, size: u32| bits >> start & ((1 << size) - 1);
        let reserved = |field, value| ClauseError::Header { field, value };
        for (start, size) in [(0, 5), (14, 1)] {
            if get(start, size) != 0 {
                return Err(reserved("a field of zeros", get(start, size)));
            }
        }
        let message =
            |start, field| Message::from_raw(get(start, 5)).ok_or(reserved(field, get(start, 5)));
        Ok(Header {
            flush_to_zero: FlushToZero::from_raw(get(5, 2)).unwrap_or_default(),
            suppress_inf: get(7, 1) != 0,
            suppress_nan: get(8, 1) != 0,
            exceptions: Exceptions::from_raw(get(9, 2)).unwrap_or_default(),
            flow: Flow::from_raw(get(11, 3)).unwrap_or_default(),
            terminate_discarded: get(15, 1) != 0,
            prefetch: get(16, 1) != 0,
            staging_barrier: get(17, 1) != 0,
            staging: get(18, 6) as u8,
            wait: get(24, 8) as u8,
            slot: get(32, 3) as u8,
            message: message(35, "the message type")?,
            next_message: message(40, "the next message type")?,
        })
    }

    /// Encodes the header.
    pub fn encode(&self) -> u64 {
        (self.flush_to_zero as u64) << 5
            | u64::from(self.suppress_inf) << 7
            | u64::from(self.suppress_nan) << 8
            | (self.exceptions as u64) << 9
            | (self.flow as u64) << 11
            | u64::from(self.terminate_discarded) << 15
            | u64::from(self.prefetch) << 16
            | u64::from(self.staging_barrier) << 17
            | u64::from(self.staging & 0x3f) << 18
            | u64::from(self.wait) << 24
            | u64::from(self.slot & 7) << 32
            | (self.message as u64) << 35
            | (self.next_message as u64) << 40
    }
}

impl fmt::Display for Header {
    /// The header in Mesa's syntax, with a space after each word.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ds({}) ", self.slot)?;
        let mut word = |on: bool, name: &str| match on && !name.is_empty() {
            true => write!(f, "{name} "),
            false => Ok(()),
        };
        word(self.staging_barrier, "osrb")?;
        word(true, self.flow.name())?;
        word(self.suppress_inf, "inf_suppress")?;
        word(self.suppress_nan, "nan_suppress")?;
        word(true, self.flush_to_zero.name())?;
        word(true, self.exceptions.name())?;
        word(true, self.message.name())?;
        word(self.terminate_discarded, "td")?;
        word(self.prefetch, "ncph")?;
        if self.next_message != Message::None {
            write!(f, "next_{} ", self.next_message.name())?;
        }
        if self.wait != 0 {
            let slots = (0..8).filter(|slot| self.wait >> slot & 1 != 0);
            let slots: Vec<String> = slots.map(|slot| slot.to_string()).collect();
            write!(f, "dwb({}) ", slots.join(", "))?;
        }
        Ok(())
    }
}
