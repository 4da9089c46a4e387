//! Integer arithmetic, logic and comparisons. `I` is 8–64 bits; logic and equality also take 1 bit.

macro_rules! int_ops { ([$($acc:tt)*] $($rest:ident)*) => { chain! { [$($acc)*
    /// Sum, wrapping.
    IAdd "iadd" (I, I) -> (I) [PURE, COMM, ASSOC] = uint!(n; a, b => a.wrapping_add(b));
    /// Difference, wrapping.
    ISub "isub" (I, I) -> (I) [PURE] = uint!(n; a, b => a.wrapping_sub(b));
    /// Product, low half.
    IMul "imul" (I, I) -> (I) [PURE, COMM, ASSOC] = uint!(n; a, b => a.wrapping_mul(b));
    /// Signed product, high half.
    SMulHi "smul_hi" (I, I) -> (I) [PURE, COMM] = sint!(n; a, b => ((i128::from(a) * i128::from(b)) >> n) as i64);
    /// Unsigned product, high half.
    UMulHi "umul_hi" (I, I) -> (I) [PURE, COMM] = uint!(n; a, b => ((u128::from(a) * u128::from(b)) >> n) as u64);
    /// Signed quotient, rounded towards zero; x / 0 is -1; MIN / -1 wraps.
    SDiv "sdiv" (I, I) -> (I) [PURE] = sint!(n; a, b => if b == 0 { -1 } else { a.wrapping_div(b) });
    /// Unsigned quotient; x / 0 is all ones.
    UDiv "udiv" (I, I) -> (I) [PURE] = uint!(n; a, b => a.checked_div(b).unwrap_or(u64::MAX));
    /// Signed remainder with the dividend's sign; x rem 0 is x.
    SRem "srem" (I, I) -> (I) [PURE] = sint!(n; a, b => if b == 0 { a } else { a.wrapping_rem(b) });
    /// Signed modulo with the divisor's sign; x mod 0 is x.
    SMod "smod" (I, I) -> (I) [PURE] = sint!(n; a, b => if b == 0 { a } else { let r = a.wrapping_rem(b); if r != 0 && (r ^ b) < 0 { r + b } else { r } });
    /// Unsigned remainder; x mod 0 is x.
    UMod "umod" (I, I) -> (I) [PURE] = uint!(n; a, b => a.checked_rem(b).unwrap_or(a));
    /// Two's complement.
    INeg "ineg" (I) -> (I) [PURE] = uint!(n; a => a.wrapping_neg());
    /// Absolute value, wrapping.
    IAbs "iabs" (I) -> (I) [PURE] = sint!(n; a => a.wrapping_abs());
    /// -1, 0 or 1.
    ISign "isign" (I) -> (I) [PURE] = sint!(n; a => a.signum());
    /// Signed minimum.
    SMin "smin" (I, I) -> (I) [PURE, COMM, ASSOC] = sint!(n; a, b => a.min(b));
    /// Unsigned minimum.
    UMin "umin" (I, I) -> (I) [PURE, COMM, ASSOC] = uint!(n; a, b => a.min(b));
    /// Signed maximum.
    SMax "smax" (I, I) -> (I) [PURE, COMM, ASSOC] = sint!(n; a, b => a.max(b));
    /// Unsigned maximum.
    UMax "umax" (I, I) -> (I) [PURE, COMM, ASSOC] = uint!(n; a, b => a.max(b));
    /// Unsigned sum that saturates.
    UAddSat "uadd_sat" (I, I) -> (I) [PURE, COMM] = uint!(n; a, b => (u128::from(a) + u128::from(b)).min(u128::from(u64::MAX >> (64 - n))) as u64);
    /// Unsigned difference that saturates at 0.
    USubSat "usub_sat" (I, I) -> (I) [PURE] = uint!(n; a, b => a.saturating_sub(b));
    /// Signed sum that saturates.
    SAddSat "sadd_sat" (I, I) -> (I) [PURE, COMM] = sint!(n; a, b => (i128::from(a) + i128::from(b)).clamp(i128::from(i64::MIN >> (64 - n)), i128::from(i64::MAX >> (64 - n))) as i64);
    /// Signed difference that saturates.
    SSubSat "ssub_sat" (I, I) -> (I) [PURE] = sint!(n; a, b => (i128::from(a) - i128::from(b)).clamp(i128::from(i64::MIN >> (64 - n)), i128::from(i64::MAX >> (64 - n))) as i64);
    /// Carry out of a + b: 0 or 1.
    UAddCarry "uadd_carry" (I, I) -> (I) [PURE, COMM] = uint!(n; a, b => ((u128::from(a) + u128::from(b)) >> n) as u64);
    /// Borrow of a - b: 0 or 1.
    USubBorrow "usub_borrow" (I, I) -> (I) [PURE] = uint!(n; a, b => u64::from(a < b));
    /// Shift left; the count is taken modulo the bit size.
    IShl "ishl" (I, W) -> (I) [PURE] = uint!(n; a, b => a << (b as u32 % n));
    /// Shift right, filling with the sign; the count is taken modulo the bit size.
    SShr "sshr" (I, W) -> (I) [PURE] = Fold::Lane(|l| ($crate::types::sext(l.args[0], l.bits) >> (l.args[1] as u32 % u32::from(l.bits))) as u64);
    /// Shift right, filling with zero; the count is taken modulo the bit size.
    UShr "ushr" (I, W) -> (I) [PURE] = uint!(n; a, b => a >> (b as u32 % n));
    /// Bitwise and.
    IAnd "iand" (T, T) -> (T) [PURE, COMM, ASSOC] = uint!(n; a, b => a & b);
    /// Bitwise or.
    IOr "ior" (T, T) -> (T) [PURE, COMM, ASSOC] = uint!(n; a, b => a | b);
    /// Bitwise exclusive or.
    IXor "ixor" (T, T) -> (T) [PURE, COMM, ASSOC] = uint!(n; a, b => a ^ b);
    /// Bitwise complement.
    INot "inot" (T) -> (T) [PURE] = uint!(n; a => !a);
    /// Equal.
    IEq "ieq" (T, T) -> (B) [PURE, COMM] = uint!(n; a, b => u64::from(a == b));
    /// Not equal.
    INe "ine" (T, T) -> (B) [PURE, COMM] = uint!(n; a, b => u64::from(a != b));
    /// Signed less.
    SLt "slt" (I, I) -> (B) [PURE] = sint!(n; a, b => i64::from(a < b));
    /// Signed greater or equal.
    SGe "sge" (I, I) -> (B) [PURE] = sint!(n; a, b => i64::from(a >= b));
    /// Unsigned less.
    ULt "ult" (I, I) -> (B) [PURE] = uint!(n; a, b => u64::from(a < b));
    /// Unsigned greater or equal.
    UGe "uge" (I, I) -> (B) [PURE] = uint!(n; a, b => u64::from(a >= b));
    /// b where the condition holds, else c: the condition has one component per component.
    Select "select" (B, T, T) -> (T) [PURE] = Fold::Lane(|l| if l.args[0] & 1 != 0 { l.args[1] } else { l.args[2] });
    /// Bits reversed.
    BitReverse "bit_reverse" (I) -> (I) [PURE] = uint!(n; a => a.reverse_bits() >> (64 - n));
    /// Bits of the first in the even places, of the second in the odd ones; of each the low 16.
    BitInterleave "bit_interleave" (S32, S32) -> (S32) [PURE] = uint!(n; a, b => $crate::op::lanes::apart(a) | $crate::op::lanes::apart(b) << 1);
    /// Number of set bits.
    BitCount "bit_count" (I) -> (W) [PURE] = uint!(n; a => u64::from(a.count_ones()));
    /// Position of the lowest set bit, or -1.
    FindLsb "find_lsb" (I) -> (W) [PURE] = uint!(n; a => if a == 0 { u64::MAX } else { u64::from(a.trailing_zeros()) });
    /// Position of the highest set bit, or -1.
    UFindMsb "ufind_msb" (I) -> (W) [PURE] = uint!(n; a => if a == 0 { u64::MAX } else { 63 - u64::from(a.leading_zeros()) });
    /// Position of the highest bit that differs from the sign, or -1.
    SFindMsb "sfind_msb" (I) -> (W) [PURE] = sint!(n; a => { let m = if a < 0 { !a } else { a }; if m == 0 { -1 } else { 63 - i64::from(m.leading_zeros()) } });
    /// Bits [offset, offset + count) of base replaced by the low bits of insert: (base, insert, offset, count).
    BitInsert "bit_insert" (I, I, W, W) -> (I) [PURE] = uint!(n; base, ins, off, cnt => { let m = $crate::op::lanes::field(off, cnt, n); (base & !m) | ((ins << (off & 63)) & m) });
    /// Bits [offset, offset + count) sign-extended: (base, offset, count).
    SBitExtract "sbit_extract" (I, W, W) -> (I) [PURE] = uint!(n; base, off, cnt => { let m = $crate::op::lanes::field(off, cnt, n); if m == 0 { 0 } else { $crate::types::sext((base & m) >> (off & 63), m.count_ones() as u8) as u64 } });
    /// Bits [offset, offset + count) zero-extended: (base, offset, count).
    UBitExtract "ubit_extract" (I, W, W) -> (I) [PURE] = uint!(n; base, off, cnt => (base & $crate::op::lanes::field(off, cnt, n)) >> (off & 63));
] $($rest)* } }; }
pub(super) use int_ops;
