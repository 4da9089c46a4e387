//! The typed instruction: one variant for each row of the table.

use crate::access::{Access, Accesses};
use crate::codec::{Reject, ones};
use crate::error::{DecodeError, EncodeError, ParseErrorKind};
use crate::row::{Desc, ParseState, Row, Text};
use crate::table::{
    barrier::*, bitfield::*, device::*, float::*, flow::*, image::*, integer::*, local::*,
    moves::*, select::*, simd::*, stack::*, state::*, texture::*, tile::*, unary::*, unknown::*,
    varying::*,
};

/// Bytes of the longest instruction.
pub const MAX_BYTES: usize = 12;

macro_rules! instructions {
    ($($Name:ident)*) => {
        /// An instruction.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Inst {
            $(
                #[doc = concat!("See [`", stringify!($Name), "`].")]
                $Name($Name),
            )*
        }

        $( impl From<$Name> for Inst {
            fn from(row: $Name) -> Self {
                Inst::$Name(row)
            }
        } )*

        /// The rows of the table, in the order in which they are tried.
        pub static ROWS: &[Desc] = &[$( <$Name as Row>::DESC ),*];

        const PATTERNS: &[Pattern] = &[$( Pattern::new(&<$Name as Row>::DESC) ),*];

        const DECODERS: &[fn(u128) -> Result<Inst, (&'static str, Reject)>] =
            &[$( |word| <$Name as Row>::decode(word).map(Inst::$Name) ),*];

        const PARSERS: &[fn(&mut ParseState<'_>) -> Result<Inst, ParseErrorKind>] =
            &[$( |state| <$Name as Row>::parse(state).map(Inst::$Name) ),*];

        pub(crate) const MNEMONICS: &[fn() -> Vec<String>] = &[$( <$Name as Row>::mnemonics ),*];

        #[derive(Clone, Copy)]
        #[repr(u8)]
        enum RowIndex { $($Name),* }

        impl Inst {
            /// The row: an index into [`ROWS`].
            pub fn row(&self) -> usize {
                match self { $( Inst::$Name(_) => RowIndex::$Name as usize, )* }
            }

            fn encode_fields(&self) -> Result<u128, EncodeError> {
                match self { $( Inst::$Name(row) => row.encode(), )* }
            }

            pub(crate) fn print_fields(&self, text: &mut Text) {
                match self { $( Inst::$Name(row) => row.print(text), )* }
            }

            fn touch(&self, report: &mut dyn FnMut(Access)) {
                match self { $( Inst::$Name(row) => row.touch(report), )* }
            }

            fn difference(&self, other: &Inst) -> Option<&'static str> {
                match (self, other) {
                    $( (Inst::$Name(a), Inst::$Name(b)) => a.difference(b), )*
                    _ => None,
                }
            }

            /// The default instance of a row; `None` past the end of [`ROWS`].
            pub fn default_of(row: usize) -> Option<Inst> {
                const DEFAULTS: &[fn() -> Inst] = &[$( || Inst::$Name($Name::default()) ),*];
                DEFAULTS.get(row).map(|f| f())
            }
        }
    };
}

// In the order in which rows are tried: where the patterns of two rows overlap, the special one
// stands before the general one.
instructions! {
    MovImm16 MovImm32 GetSr
    Iadd Imadd Convert
    Bfi Bfeil Extr Shlhi Shrhi Asr Asrh
    Bitop Bitrev Popcount Intl Ffs Iunop
    Fmadd32 Fmadd16 Fadd32 Fadd16 Fmul32 Fmul16
    Floor Ceil Trunc Rint Rcp Rsqrt RsqrtSpecial SinPt1 SinPt2 Log2 Exp2 Dfdx Dfdy Funop
    Ret Stop Trap CallReg JmpIncomplete JmpExecAny JmpExecNone Call
    PopExec IfIcmp IfFcmp WhileIcmp WhileFcmp ElseIcmp ElseFcmp
    Icmpsel Fcmpsel IcmpBallot IcmpQuadBallot FcmpBallot FcmpQuadBallot
    SimdShuffle SimdMatrixFmadd32 SimdMatrixFmadd16 QuadShuffle SimdShufOp
    SimdReduce SimdOpUnknown
    WaitPix SignalPix Wait
    LdTile StTile Iter Iterproj Ldcf
    UniformStore TexStateStore SamplerStateStore
    NoVar StVar StVarFinal
    AsyncStore AsyncLoad DeviceLoad DeviceStore
    StackGetPtr StackAdjust StackAdjustReg StackStore StackLoad
    ThreadgroupLoad ThreadgroupStore
    TextureSample TextureLoad ThreadgroupBarrier
    Atomic ThreadgroupAtomic
    UnkAfterSampling1 UnkAfterSampling2 Unk30C0 Unk40C0 UnkC0000000 UnkE800 Unk0C00
    Doorbell JmpIfSkippingDoorbell
    ImageWriteBlock ImageWrite
    SrThing PopExec2
    StackUnmap StackMap StackMapUnknown Unk75Alt
    SampleMask ZsEmit MemoryBarrier
}

/// What matching a row needs.
struct Pattern {
    mask: u128,
    value: u128,
    short: u8,
    long: u8,
    /// The length bit, as a mask; 0 if there is one length only.
    long_bit: u128,
}

impl Pattern {
    const fn new(desc: &Desc) -> Self {
        let (mask, value) = desc.pattern();
        let length = desc.length;
        let long_bit = if length.short == length.long { 0 } else { 1 << length.bit };
        Self { mask, value, short: length.short, long: length.long, long_bit }
    }
}

/// Rows that can match a first byte, in the order of [`ROWS`].
struct Candidates {
    rows: [[u8; Candidates::MOST]; 256],
}

impl Candidates {
    const MOST: usize = 16;
    const END: u8 = 0xff;

    const fn new() -> Self {
        let mut rows = [[Self::END; Self::MOST]; 256];
        let mut byte = 0;
        while byte < 256 {
            let (mut row, mut count) = (0, 0);
            while row < PATTERNS.len() {
                let pattern = &PATTERNS[row];
                if byte as u128 & pattern.mask & 0xff == pattern.value & 0xff {
                    // The last place stays free for the end mark.
                    assert!(count < Self::MOST - 1, "too many rows share a first byte");
                    rows[byte][count] = row as u8;
                    count += 1;
                }
                row += 1;
            }
            byte += 1;
        }
        Self { rows }
    }
}

static CANDIDATES: Candidates = Candidates::new();

/// An encoded instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Encoded {
    bytes: [u8; MAX_BYTES],
    len: u8,
}

impl core::ops::Deref for Encoded {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl core::fmt::Debug for Encoded {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Inst {
    /// Decodes the instruction at the start of `bytes`; also returns its length in bytes.
    ///
    /// # Errors
    /// If `bytes` ends too early, no row matches, or an operand is reserved.
    #[inline]
    pub fn decode(bytes: &[u8]) -> Result<(Inst, usize), DecodeError> {
        let have = bytes.len().min(16);
        let word = match bytes.first_chunk::<16>() {
            Some(chunk) => u128::from_le_bytes(*chunk) & ones(MAX_BYTES as u8 * 8),
            None => {
                let mut buffer = [0; 16];
                buffer[..have].copy_from_slice(&bytes[..have]);
                u128::from_le_bytes(buffer) & ones(MAX_BYTES as u8 * 8)
            }
        };
        if have < 2 {
            return Err(DecodeError::Truncated { needed: 2, have: have as u8 });
        }
        for &row in &CANDIDATES.rows[(word & 0xff) as usize] {
            if row == Candidates::END {
                break;
            }
            let pattern = &PATTERNS[usize::from(row)];
            let len = if word & pattern.long_bit != 0 { pattern.long } else { pattern.short };
            let masked = word & ones(len * 8);
            if masked & pattern.mask != pattern.value {
                continue;
            }
            if usize::from(len) > have {
                return Err(DecodeError::Truncated { needed: len, have: have as u8 });
            }
            return match DECODERS[usize::from(row)](masked) {
                Ok(inst) => Ok((inst, usize::from(len))),
                Err((_, Reject::Mismatch)) => continue,
                Err((field, Reject::Reserved(why))) => {
                    let inst = ROWS[usize::from(row)].name;
                    Err(DecodeError::Operand { inst, field, why, len })
                }
            };
        }
        Err(DecodeError::UnknownOpcode { opcode: (word & 0xffff) as u16 })
    }

    /// Encodes.
    ///
    /// # Errors
    /// If a field does not fit, fields contradict each other, or the encoding belongs to another
    /// row.
    pub fn encode(&self) -> Result<Encoded, EncodeError> {
        let desc = self.desc();
        let length = desc.length;
        let mut word = self.encode_fields()?;
        if length.short != length.long && word >> (length.short * 8) != 0 {
            word |= 1 << length.bit;
        }
        let long = length.short == length.long || word >> length.bit & 1 != 0;
        let len = if long { length.long } else { length.short };
        let mut bytes = [0; MAX_BYTES];
        bytes.copy_from_slice(&word.to_le_bytes()[..MAX_BYTES]);
        let encoded = Encoded { bytes, len };
        let inst = desc.name;
        match Inst::decode(&encoded) {
            Ok((back, _)) if back.row() != self.row() => {
                Err(EncodeError::Shadowed { inst, other: back.desc().name })
            }
            Ok((back, _)) => match self.difference(&back) {
                Some(field) => Err(EncodeError::Contradiction { inst, field }),
                None => Ok(encoded),
            },
            Err(DecodeError::Operand { field, why, .. }) => {
                Err(EncodeError::Field { inst, field, why })
            }
            Err(_) => Err(EncodeError::Shadowed { inst, other: "no instruction" }),
        }
    }

    /// Its entry in the table.
    pub fn desc(&self) -> &'static Desc {
        &ROWS[self.row()]
    }

    /// All registers read and written: those that operands name and those that are implied.
    ///
    /// Index registers of register files count as reads of the whole file with
    /// [`exact`](Access::exact) unset.
    pub fn operands(&self) -> Accesses {
        let mut list = Accesses::new();
        self.touch(&mut |access| {
            let _ = list.try_push(access);
        });
        crate::implied::adjust(self, &mut list);
        list
    }

    pub(crate) fn parse_row(
        row: usize,
        state: &mut ParseState<'_>,
    ) -> Result<Inst, ParseErrorKind> {
        PARSERS[row](state)
    }
}
