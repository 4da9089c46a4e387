//! `OpSDotAccSat`, `OpUDotAccSat` and `OpSUDotAccSat`: the accumulation saturates in the width of the
//! result.

use crate::{GROUP, Kernel, run};
use rspirv::spirv::{self, Word};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Signs {
    Signed,
    Unsigned,
    Mixed,
}

/// The exact sum, clamped to the result's type.
fn expected(signs: Signs, a: &[u64], b: &[u64], from: u32, acc: u64, to: u32) -> u64 {
    let value = |x: u64, bits: u32, signed: bool| {
        let up = 64 - bits;
        if signed { i128::from((x << up) as i64 >> up) } else { i128::from(x << up >> up) }
    };
    let (sa, sb) = (signs != Signs::Unsigned, signs == Signs::Signed);
    let products = a.iter().zip(b).map(|(&x, &y)| value(x, from, sa) * value(y, from, sb));
    let sum = products.sum::<i128>() + value(acc, to, sa);
    let (lo, hi) =
        if sa { (-1i128 << (to - 1), (1i128 << (to - 1)) - 1) } else { (0, (1i128 << to) - 1) };
    sum.clamp(lo, hi) as u64 & (u64::MAX >> (64 - to))
}

/// Operands whose products and sums fit the result: the specification leaves other results undefined.
fn operands(from: u32, to: u32, comps: usize, n: usize) -> (Vec<u64>, Vec<u64>, u64) {
    let mut state = (n as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    };
    // Magnitudes below 2^((to - 4) / 2), or of the whole type.
    let bits = from.min((to - 4) / 2);
    let mut component = || {
        let up = 64 - bits;
        (next() << up) as i64 >> up
    };
    let mask = u64::MAX >> (64 - from);
    let a = (0..comps).map(|_| component() as u64 & mask).collect::<Vec<_>>();
    let b = (0..comps).map(|_| component() as u64 & mask).collect::<Vec<_>>();
    let top = u64::MAX >> (64 - to);
    let near = next() & 0xff;
    let acc = match n % 4 {
        0 => top / 2 - near,
        1 => top / 2 + 1 + near,
        2 => top - near,
        _ => near,
    };
    (a, b, acc)
}

fn module(signs: Signs, from: u32, comps: usize, to: u32) -> Vec<u32> {
    use spirv::Capability as C;
    let mut k = Kernel::new(&[C::Int8, C::Int16, C::Int64, C::DotProduct, C::DotProductInputAll]);
    let int = |k: &mut Kernel, bits: u32, signed: bool| k.b.type_int(bits, u32::from(signed));
    let narrow = |k: &mut Kernel, v: Word, bits: u32, signed: bool| {
        let ty = int(k, bits, signed);
        let wide = k.b.type_int(64, 0);
        let v = k.b.bitcast(wide, None, v).unwrap();
        match bits {
            64 => k.b.bitcast(ty, None, v).unwrap(),
            _ => {
                let unsigned = int(k, bits, false);
                let v = k.b.u_convert(unsigned, None, v).unwrap();
                if signed { k.b.bitcast(ty, None, v).unwrap() } else { v }
            }
        }
    };
    let words = 2 * (2 * comps as u32 + 1);
    let mut vectors = Vec::new();
    for (half, signed) in [(0, signs != Signs::Unsigned), (comps as u32, signs == Signs::Signed)] {
        let elem = int(&mut k, from, signed);
        let ty = k.b.type_vector(elem, comps as u32);
        let wide = k.b.type_int(64, 0);
        let mut parts = Vec::new();
        for n in 0..comps as u32 {
            let v = k.input_pair(words, 2 * (half + n), wide);
            parts.push(narrow(&mut k, v, from, signed));
        }
        vectors.push(k.b.composite_construct(ty, None, parts).unwrap());
    }
    let wide = k.b.type_int(64, 0);
    let acc = k.input_pair(words, words - 2, wide);
    let acc = narrow(&mut k, acc, to, signs != Signs::Unsigned);
    let ty = int(&mut k, to, signs != Signs::Unsigned);
    let (a, b) = (vectors[0], vectors[1]);
    let r = match signs {
        Signs::Signed => k.b.s_dot_acc_sat(ty, None, a, b, acc, None),
        Signs::Unsigned => k.b.u_dot_acc_sat(ty, None, a, b, acc, None),
        Signs::Mixed => k.b.su_dot_acc_sat(ty, None, a, b, acc, None),
    }
    .unwrap();
    let unsigned = int(&mut k, to, false);
    let r = if signs == Signs::Unsigned { r } else { k.b.bitcast(unsigned, None, r).unwrap() };
    let r = if to == 64 { r } else { k.b.u_convert(wide, None, r).unwrap() };
    k.output_pair(2, 0, r);
    k.finish()
}

#[test]
fn accumulation_saturates_in_every_width() {
    for signs in [Signs::Signed, Signs::Unsigned, Signs::Mixed] {
        for (from, to) in [8, 16, 32, 64].iter().flat_map(|&f| {
            [8, 16, 32, 64].into_iter().filter(move |&t| t >= f).map(move |t| (f, t))
        }) {
            for comps in 2..=4 {
                // Unsigned readings of negative numbers overflow; only small magnitudes are left.
                let mut input = Vec::new();
                let mut want = Vec::new();
                for n in 0..GROUP {
                    let (mut a, mut b, acc) = operands(from, to, comps, n);
                    let small = u64::MAX >> (64 - from.min((to - 4) / 2));
                    if signs != Signs::Signed {
                        b.iter_mut().for_each(|x| *x &= small);
                    }
                    if signs == Signs::Unsigned {
                        a.iter_mut().for_each(|x| *x &= small);
                    }
                    for x in a.iter().chain(&b).chain([&acc]) {
                        input.extend([*x as u32, (*x >> 32) as u32]);
                    }
                    let r = expected(signs, &a, &b, from, acc, to);
                    want.extend([r as u32, (r >> 32) as u32]);
                }
                for (by, got) in run(&module(signs, from, comps, to), &input, 2 * GROUP) {
                    assert_eq!(got, want, "{by}: {signs:?}, {comps} x {from} bits to {to}");
                }
            }
        }
    }
}
