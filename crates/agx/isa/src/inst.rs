//! The typed instruction: one variant for each row of the table.

use crate::access::Access;
use crate::codec::{Reject, ones};
use crate::error::{DecodeError, EncodeError, ParseErrorKind};
use crate::operand::OperandMut;
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

        static PATTERNS: &[Pattern] = &[$( Pattern::new(&<$Name as Row>::DESC) ),*];

        static DECODERS: &[fn(u128) -> Result<Inst, (&'static str, Reject)>] =
            &[$( |word| <$Name as Row>::decode(word).map(Inst::$Name) ),*];

        static PARSERS: &[fn(&mut ParseState<'_>) -> Result<Inst, ParseErrorKind>] =
            &[$( |state| <$Name as Row>::parse(state).map(Inst::$Name) ),*];

        pub(crate) static MNEMONICS: &[fn() -> Vec<String>] = &[$( <$Name as Row>::mnemonics ),*];

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

            pub(crate) fn touch(&self, report: &mut dyn FnMut(Access)) {
                match self { $( Inst::$Name(row) => row.touch(report), )* }
            }

            fn visit_row(&mut self, visit: &mut dyn FnMut(OperandMut<'_>, bool)) {
                match self { $( Inst::$Name(row) => row.visit_mut(visit), )* }
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

/// Match pattern of a row: for the short form, then the long one, mask and value of the fixed bits
/// among the low 64, and the length in bytes.
#[derive(Clone, Copy)]
struct Pattern {
    mask: [u64; 2],
    value: [u64; 2],
    len: [u8; 2],
    /// The length bit, as a mask; 0 if there is one length only.
    long_bit: u64,
    /// Bits from 64 on that must be 0 in the long form.
    high_zeros: u64,
}

impl Pattern {
    const fn new(desc: &Desc) -> Self {
        let (mask, value) = desc.pattern();
        assert!(value >> 64 == 0, "fixed bits from 64 on are expected to be 0");
        let length = desc.length;
        let long_bit = if length.short == length.long { 0 } else { 1 << length.bit };
        let present = ones(length.short * 8);
        // Bits that the short form leaves out are 0: a row that wants one set has no short form.
        let short = if value & !present == 0 { (mask & present, value) } else { (0, 1) };
        Self {
            mask: [short.0 as u64, mask as u64],
            value: [short.1 as u64, value as u64],
            len: [length.short, length.long],
            long_bit,
            high_zeros: (mask >> 64) as u64,
        }
    }
}

/// Masks of the bits of an instruction, by its length in bytes.
static PRESENT: [u128; MAX_BYTES + 1] = {
    let (mut masks, mut len) = ([0; MAX_BYTES + 1], 0);
    while len <= MAX_BYTES {
        masks[len] = ones(len as u8 * 8);
        len += 1;
    }
    masks
};

/// Rows that can match a first byte, in the order of [`ROWS`].
struct Candidates {
    rows: [[u8; Candidates::MAX]; 256],
}

impl Candidates {
    const MAX: usize = 16;
    const END: u8 = 0xff;

    const fn new() -> Self {
        let mut rows = [[Self::END; Self::MAX]; 256];
        let mut byte = 0;
        while byte < 256 {
            let (mut row, mut count) = (0, 0);
            while row < PATTERNS.len() {
                let pattern = &PATTERNS[row];
                if byte as u64 & pattern.mask[1] & 0xff == pattern.value[1] & 0xff {
                    // The last place stays free for the end mark.
                    assert!(count < Self::MAX - 1, "too many rows share a first byte");
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
        let have = bytes.len().min(MAX_BYTES);
        let word = match bytes.first_chunk::<16>() {
            Some(chunk) => u128::from_le_bytes(*chunk),
            None => {
                let mut buffer = [0; 16];
                buffer[..have].copy_from_slice(&bytes[..have]);
                u128::from_le_bytes(buffer)
            }
        };
        if have < 2 {
            return Err(DecodeError::Truncated { needed: 2, have: have as u8 });
        }
        let low = word as u64;
        for &row in &CANDIDATES.rows[(low & 0xff) as usize] {
            // The end mark is past the end of the patterns.
            let Some(pattern) = PATTERNS.get(usize::from(row)) else { break };
            let long = usize::from(low & pattern.long_bit != 0);
            if low & pattern.mask[long] != pattern.value[long]
                || (long == 1 && (word >> 64) as u64 & pattern.high_zeros != 0)
            {
                continue;
            }
            let len = pattern.len[long];
            if usize::from(len) > have {
                return Err(DecodeError::Truncated { needed: len, have: have as u8 });
            }
            let masked = word & PRESENT[usize::from(len)];
            return match DECODERS[usize::from(row)](masked) {
                Ok(inst) => Ok((inst, usize::from(len))),
                Err((_, Reject::Mismatch)) => continue,
                Err((field, Reject::Reserved(why))) => {
                    let inst = ROWS[usize::from(row)].name;
                    Err(DecodeError::Operand { inst, field, why, len })
                }
            };
        }
        Err(DecodeError::UnknownOpcode { opcode: (low & 0xffff) as u16 })
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

    /// Shows each operand whose type can hold a register, in the order of the table's fields, and
    /// whether it is written.
    pub fn visit_mut(&mut self, mut visit: impl FnMut(OperandMut<'_>, bool)) {
        self.visit_row(&mut visit);
    }

    pub(crate) fn parse_row(
        row: usize,
        state: &mut ParseState<'_>,
    ) -> Result<Inst, ParseErrorKind> {
        PARSERS[row](state)
    }
}
