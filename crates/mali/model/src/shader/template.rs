//! Operations for which translations have templates.

use tepui_mali_isa::Op as Isa;

/// Interpretation of the bits in a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    Float,
    Signed,
    Unsigned,
}

/// The operation that combines a shifted value with another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Logic {
    And,
    Or,
    Xor,
}

/// An operation on words that has a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplateOp {
    /// Copies the first source.
    Copy,
    /// Fused multiply-add of floats.
    MultiplyAdd,
    /// Sum of floats.
    AddFloat,
    /// Version of [`TemplateOp::AddFloat`] with the immediate.
    AddFloatImmediate,
    Minimum,
    Maximum,
    /// Reciprocal of a float.
    Reciprocal,
    /// Rounds a float to an integral value.
    Round,
    AddInt,
    /// Version of [`TemplateOp::AddInt`] with the immediate.
    AddIntImmediate,
    SubtractInt,
    MultiplyInt,
    Shift {
        left: bool,
        logic: Logic,
    },
    /// Selects the third or the fourth source, by a comparison of the others.
    Select(Number),
    Compare(Number),
    /// Selects the first or the second source, by bits of the third.
    Mux,
    FromInt {
        signed: bool,
    },
    ToInt {
        signed: bool,
    },
    /// Converts the lower half-float of the source.
    FromHalf,
    /// Extends the lower half of the source.
    Extend {
        signed: bool,
    },
    /// Combines two halves to a word.
    JoinHalves,
    /// Combines two bytes and a half above them to a word.
    JoinBytes,
    /// Loads words of thread-local storage at a constant offset.
    LoadLocal {
        words: u8,
    },
    /// Stores words of thread-local storage at a constant offset.
    StoreLocal {
        words: u8,
    },
    /// A branch if the first source is zero, or if it is not.
    BranchZero,
    /// A branch by a comparison of the sources.
    BranchCompare(Number),
}

impl TemplateOp {
    /// The number of sources.
    pub fn sources(self) -> usize {
        match self {
            TemplateOp::Copy
            | TemplateOp::AddFloatImmediate
            | TemplateOp::AddIntImmediate
            | TemplateOp::Reciprocal
            | TemplateOp::Round
            | TemplateOp::FromInt { .. }
            | TemplateOp::ToInt { .. }
            | TemplateOp::FromHalf
            | TemplateOp::Extend { .. }
            | TemplateOp::LoadLocal { .. }
            | TemplateOp::StoreLocal { .. }
            | TemplateOp::BranchZero => 1,
            TemplateOp::AddFloat
            | TemplateOp::Minimum
            | TemplateOp::Maximum
            | TemplateOp::AddInt
            | TemplateOp::SubtractInt
            | TemplateOp::MultiplyInt
            | TemplateOp::JoinHalves
            | TemplateOp::BranchCompare(_) => 2,
            TemplateOp::MultiplyAdd
            | TemplateOp::Shift { .. }
            | TemplateOp::Compare(_)
            | TemplateOp::Mux
            | TemplateOp::JoinBytes => 3,
            TemplateOp::Select(_) => 4,
        }
    }

    /// The operation is a branch.
    pub fn branches(self) -> bool {
        matches!(self, TemplateOp::BranchZero | TemplateOp::BranchCompare(_))
    }

    /// The operation of an instruction.
    pub fn of(isa: Isa) -> Option<TemplateOp> {
        let shift = |left, logic| TemplateOp::Shift { left, logic };
        Some(match isa {
            Isa::MOV_I32 => TemplateOp::Copy,
            Isa::FMA_F32 => TemplateOp::MultiplyAdd,
            Isa::FADD_F32 => TemplateOp::AddFloat,
            Isa::FADD_IMM_F32 => TemplateOp::AddFloatImmediate,
            Isa::FMIN_F32 => TemplateOp::Minimum,
            Isa::FMAX_F32 => TemplateOp::Maximum,
            Isa::FRCP_F32 => TemplateOp::Reciprocal,
            Isa::FROUND_F32 => TemplateOp::Round,
            Isa::IADD_U32 | Isa::IADD_S32 => TemplateOp::AddInt,
            Isa::IADD_IMM_I32 => TemplateOp::AddIntImmediate,
            Isa::ISUB_U32 | Isa::ISUB_S32 => TemplateOp::SubtractInt,
            Isa::IMUL_I32 | Isa::IMUL_S32 => TemplateOp::MultiplyInt,
            Isa::LSHIFT_AND_I32 => shift(true, Logic::And),
            Isa::LSHIFT_OR_I32 => shift(true, Logic::Or),
            Isa::LSHIFT_XOR_I32 => shift(true, Logic::Xor),
            Isa::RSHIFT_AND_I32 => shift(false, Logic::And),
            Isa::RSHIFT_OR_I32 => shift(false, Logic::Or),
            Isa::RSHIFT_XOR_I32 => shift(false, Logic::Xor),
            Isa::CSEL_U32 => TemplateOp::Select(Number::Unsigned),
            Isa::CSEL_S32 => TemplateOp::Select(Number::Signed),
            Isa::CSEL_F32 => TemplateOp::Select(Number::Float),
            Isa::ICMP_OR_U32 | Isa::ICMP_AND_U32 | Isa::ICMP_MULTI_U32 => {
                TemplateOp::Compare(Number::Unsigned)
            }
            Isa::ICMP_OR_S32 | Isa::ICMP_AND_S32 | Isa::ICMP_MULTI_S32 => {
                TemplateOp::Compare(Number::Signed)
            }
            Isa::FCMP_OR_F32 | Isa::FCMP_AND_F32 => TemplateOp::Compare(Number::Float),
            Isa::MUX_I32 => TemplateOp::Mux,
            Isa::U32_TO_F32 => TemplateOp::FromInt { signed: false },
            Isa::S32_TO_F32 => TemplateOp::FromInt { signed: true },
            Isa::F32_TO_U32 => TemplateOp::ToInt { signed: false },
            Isa::F32_TO_S32 => TemplateOp::ToInt { signed: true },
            Isa::F16_TO_F32 => TemplateOp::FromHalf,
            Isa::U16_TO_U32 => TemplateOp::Extend { signed: false },
            Isa::S16_TO_S32 => TemplateOp::Extend { signed: true },
            Isa::MKVEC_V2I16 => TemplateOp::JoinHalves,
            Isa::MKVEC_V2I8 => TemplateOp::JoinBytes,
            Isa::LOAD_I32 => TemplateOp::LoadLocal { words: 1 },
            Isa::LOAD_I64 => TemplateOp::LoadLocal { words: 2 },
            Isa::LOAD_I96 => TemplateOp::LoadLocal { words: 3 },
            Isa::LOAD_I128 => TemplateOp::LoadLocal { words: 4 },
            Isa::STORE_I32 => TemplateOp::StoreLocal { words: 1 },
            Isa::STORE_I64 => TemplateOp::StoreLocal { words: 2 },
            Isa::STORE_I96 => TemplateOp::StoreLocal { words: 3 },
            Isa::STORE_I128 => TemplateOp::StoreLocal { words: 4 },
            _ => return None,
        })
    }
}
