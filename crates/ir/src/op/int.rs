//! Integer arithmetic, logic and comparisons. `I` is 8–64 bits; logic and equality also take 1 bit.

use super::Pat::{B, I, S32, T, W};
use super::code::Op;
use super::info::{Fold, OpInfo, Props, op};
use super::lanes;
use crate::types::sext;

const ASSOC: Props = Props::ASSOC;
const COMM: Props = Props::COMM;
const PURE: Props = Props::PURE;

/// The rows of the family.
pub(super) const ROWS: &[OpInfo] = &[
    op(Op::IAdd, "iadd", "Sum, wrapping.")
        .args(&[I, I])
        .results(&[I])
        .props(&[PURE, COMM, ASSOC])
        .fold(uint!(n; a, b => a.wrapping_add(b))),
    op(Op::ISub, "isub", "Difference, wrapping.")
        .args(&[I, I])
        .results(&[I])
        .props(&[PURE])
        .fold(uint!(n; a, b => a.wrapping_sub(b))),
    op(Op::IMul, "imul", "Product, low half.")
        .args(&[I, I])
        .results(&[I])
        .props(&[PURE, COMM, ASSOC])
        .fold(uint!(n; a, b => a.wrapping_mul(b))),
    op(Op::SMulHi, "smul_hi", "Signed product, high half.")
        .args(&[I, I])
        .results(&[I])
        .props(&[PURE, COMM])
        .fold(sint!(n; a, b => ((i128::from(a) * i128::from(b)) >> n) as i64)),
    op(Op::UMulHi, "umul_hi", "Unsigned product, high half.")
        .args(&[I, I])
        .results(&[I])
        .props(&[PURE, COMM])
        .fold(uint!(n; a, b => ((u128::from(a) * u128::from(b)) >> n) as u64)),
    op(Op::SDiv, "sdiv", "Signed quotient, rounded towards zero; x / 0 is -1; MIN / -1 wraps.")
        .args(&[I, I])
        .results(&[I])
        .props(&[PURE])
        .fold(sint!(n; a, b => if b == 0 { -1 } else { a.wrapping_div(b) })),
    op(Op::UDiv, "udiv", "Unsigned quotient; x / 0 is all ones.")
        .args(&[I, I])
        .results(&[I])
        .props(&[PURE])
        .fold(uint!(n; a, b => a.checked_div(b).unwrap_or(u64::MAX))),
    op(Op::SRem, "srem", "Signed remainder with the dividend's sign; x rem 0 is x.")
        .args(&[I, I])
        .results(&[I])
        .props(&[PURE])
        .fold(sint!(n; a, b => if b == 0 { a } else { a.wrapping_rem(b) })),
    op(Op::SMod, "smod", "Signed modulo with the divisor's sign; x mod 0 is x.")
        .args(&[I, I])
        .results(&[I])
        .props(&[PURE])
        .fold(sint!(n; a, b => lanes::floored_rem(a, b))),
    op(Op::UMod, "umod", "Unsigned remainder; x mod 0 is x.")
        .args(&[I, I])
        .results(&[I])
        .props(&[PURE])
        .fold(uint!(n; a, b => a.checked_rem(b).unwrap_or(a))),
    op(Op::INeg, "ineg", "Two's complement.")
        .args(&[I])
        .results(&[I])
        .props(&[PURE])
        .fold(uint!(n; a => a.wrapping_neg())),
    op(Op::IAbs, "iabs", "Absolute value, wrapping.")
        .args(&[I])
        .results(&[I])
        .props(&[PURE])
        .fold(sint!(n; a => a.wrapping_abs())),
    op(Op::ISign, "isign", "-1, 0 or 1.")
        .args(&[I])
        .results(&[I])
        .props(&[PURE])
        .fold(sint!(n; a => a.signum())),
    op(Op::SMin, "smin", "Signed minimum.")
        .args(&[I, I])
        .results(&[I])
        .props(&[PURE, COMM, ASSOC])
        .fold(sint!(n; a, b => a.min(b))),
    op(Op::UMin, "umin", "Unsigned minimum.")
        .args(&[I, I])
        .results(&[I])
        .props(&[PURE, COMM, ASSOC])
        .fold(uint!(n; a, b => a.min(b))),
    op(Op::SMax, "smax", "Signed maximum.")
        .args(&[I, I])
        .results(&[I])
        .props(&[PURE, COMM, ASSOC])
        .fold(sint!(n; a, b => a.max(b))),
    op(Op::UMax, "umax", "Unsigned maximum.")
        .args(&[I, I])
        .results(&[I])
        .props(&[PURE, COMM, ASSOC])
        .fold(uint!(n; a, b => a.max(b))),
    op(Op::UAddSat, "uadd_sat", "Unsigned sum that saturates.")
        .args(&[I, I])
        .results(&[I])
        .props(&[PURE, COMM])
        .fold(uint!(n; a, b => lanes::uadd_sat(a, b, n))),
    op(Op::USubSat, "usub_sat", "Unsigned difference that saturates at 0.")
        .args(&[I, I])
        .results(&[I])
        .props(&[PURE])
        .fold(uint!(n; a, b => a.saturating_sub(b))),
    op(Op::SAddSat, "sadd_sat", "Signed sum that saturates.")
        .args(&[I, I])
        .results(&[I])
        .props(&[PURE, COMM])
        .fold(sint!(n; a, b => lanes::saturate(i128::from(a) + i128::from(b), n))),
    op(Op::SSubSat, "ssub_sat", "Signed difference that saturates.")
        .args(&[I, I])
        .results(&[I])
        .props(&[PURE])
        .fold(sint!(n; a, b => lanes::saturate(i128::from(a) - i128::from(b), n))),
    op(Op::UAddCarry, "uadd_carry", "Carry out of a + b: 0 or 1.")
        .args(&[I, I])
        .results(&[I])
        .props(&[PURE, COMM])
        .fold(uint!(n; a, b => ((u128::from(a) + u128::from(b)) >> n) as u64)),
    op(Op::USubBorrow, "usub_borrow", "Borrow of a - b: 0 or 1.")
        .args(&[I, I])
        .results(&[I])
        .props(&[PURE])
        .fold(uint!(n; a, b => u64::from(a < b))),
    op(Op::IShl, "ishl", "Shift left; the count is taken modulo the bit size.")
        .args(&[I, W])
        .results(&[I])
        .props(&[PURE])
        .fold(uint!(n; a, b => a << (b as u32 % n))),
    op(
        Op::SShr,
        "sshr",
        "Shift right, filling with the sign; the count is taken modulo the bit size.",
    )
    .args(&[I, W])
    .results(&[I])
    .props(&[PURE])
    .fold(uint!(n; a, b => (sext(a, n as u8) >> (b as u32 % n)) as u64)),
    op(Op::UShr, "ushr", "Shift right, filling with zero; the count is taken modulo the bit size.")
        .args(&[I, W])
        .results(&[I])
        .props(&[PURE])
        .fold(uint!(n; a, b => a >> (b as u32 % n))),
    op(Op::IAnd, "iand", "Bitwise and.")
        .args(&[T, T])
        .results(&[T])
        .props(&[PURE, COMM, ASSOC])
        .fold(uint!(n; a, b => a & b)),
    op(Op::IOr, "ior", "Bitwise or.")
        .args(&[T, T])
        .results(&[T])
        .props(&[PURE, COMM, ASSOC])
        .fold(uint!(n; a, b => a | b)),
    op(Op::IXor, "ixor", "Bitwise exclusive or.")
        .args(&[T, T])
        .results(&[T])
        .props(&[PURE, COMM, ASSOC])
        .fold(uint!(n; a, b => a ^ b)),
    op(Op::INot, "inot", "Bitwise complement.")
        .args(&[T])
        .results(&[T])
        .props(&[PURE])
        .fold(uint!(n; a => !a)),
    op(Op::IEq, "ieq", "Equal.")
        .args(&[T, T])
        .results(&[B])
        .props(&[PURE, COMM])
        .fold(uint!(n; a, b => u64::from(a == b))),
    op(Op::INe, "ine", "Not equal.")
        .args(&[T, T])
        .results(&[B])
        .props(&[PURE, COMM])
        .fold(uint!(n; a, b => u64::from(a != b))),
    op(Op::SLt, "slt", "Signed less.")
        .args(&[I, I])
        .results(&[B])
        .props(&[PURE])
        .fold(sint!(n; a, b => i64::from(a < b))),
    op(Op::SGe, "sge", "Signed greater or equal.")
        .args(&[I, I])
        .results(&[B])
        .props(&[PURE])
        .fold(sint!(n; a, b => i64::from(a >= b))),
    op(Op::ULt, "ult", "Unsigned less.")
        .args(&[I, I])
        .results(&[B])
        .props(&[PURE])
        .fold(uint!(n; a, b => u64::from(a < b))),
    op(Op::UGe, "uge", "Unsigned greater or equal.")
        .args(&[I, I])
        .results(&[B])
        .props(&[PURE])
        .fold(uint!(n; a, b => u64::from(a >= b))),
    op(
        Op::Select,
        "select",
        "b where the condition holds, else c: the condition has one component per component.",
    )
    .args(&[B, T, T])
    .results(&[T])
    .props(&[PURE])
    .fold(Fold::Lane(|l| if l.args[0] & 1 != 0 { l.args[1] } else { l.args[2] })),
    op(Op::BitReverse, "bit_reverse", "Bits reversed.")
        .args(&[I])
        .results(&[I])
        .props(&[PURE])
        .fold(uint!(n; a => a.reverse_bits() >> (64 - n))),
    op(
        Op::BitInterleave,
        "bit_interleave",
        "Bits of the first in the even places, of the second in the odd ones; of each the low \
         16.",
    )
    .args(&[S32, S32])
    .results(&[S32])
    .props(&[PURE])
    .fold(uint!(n; a, b => lanes::apart(a) | lanes::apart(b) << 1)),
    op(Op::BitCount, "bit_count", "Number of set bits.")
        .args(&[I])
        .results(&[W])
        .props(&[PURE])
        .fold(uint!(n; a => u64::from(a.count_ones()))),
    op(Op::FindLsb, "find_lsb", "Position of the lowest set bit, or -1.")
        .args(&[I])
        .results(&[W])
        .props(&[PURE])
        .fold(uint!(n; a => if a == 0 { u64::MAX } else { u64::from(a.trailing_zeros()) })),
    op(Op::UFindMsb, "ufind_msb", "Position of the highest set bit, or -1.")
        .args(&[I])
        .results(&[W])
        .props(&[PURE])
        .fold(uint!(n; a => if a == 0 { u64::MAX } else { 63 - u64::from(a.leading_zeros()) })),
    op(Op::SFindMsb, "sfind_msb", "Position of the highest bit that differs from the sign, or -1.")
        .args(&[I])
        .results(&[W])
        .props(&[PURE])
        .fold(sint!(n; a => 63 - i64::from((if a < 0 { !a } else { a }).leading_zeros()))),
    op(
        Op::BitInsert,
        "bit_insert",
        "Bits [offset, offset + count) of base replaced by the low bits of insert: (base, \
         insert, offset, count).",
    )
    .args(&[I, I, W, W])
    .results(&[I])
    .props(&[PURE])
    .fold(
        uint!(n; base, ins, off, cnt => lanes::insert(base, ins, lanes::field(off, cnt, n), off)),
    ),
    op(
        Op::SBitExtract,
        "sbit_extract",
        "Bits [offset, offset + count) sign-extended: (base, offset, count).",
    )
    .args(&[I, W, W])
    .results(&[I])
    .props(&[PURE])
    .fold(uint!(n; base, off, cnt => lanes::sextract(base, lanes::field(off, cnt, n), off))),
    op(
        Op::UBitExtract,
        "ubit_extract",
        "Bits [offset, offset + count) zero-extended: (base, offset, count).",
    )
    .args(&[I, W, W])
    .results(&[I])
    .props(&[PURE])
    .fold(uint!(n; base, off, cnt => (base & lanes::field(off, cnt, n)) >> (off & 63))),
];
