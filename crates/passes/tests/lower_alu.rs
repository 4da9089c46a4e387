//! Each arithmetic lowering against the op that it stands for, on random operands and on the ends
//! of their ranges.

use tepui_ir::interp::{Group, Memory, run};
use tepui_ir::{
    Attrs, Builder, Builtin, InstFlags, Mem, Op, Pat, ResKind, Resource, Shader, Stage, Type,
    Value, op::OPS,
};
use tepui_ir_gen::Rng;
use tepui_passes::lower_alu::{self, Alu};
use tepui_passes::{lower_float64, lower_int64};

const LANES: u32 = 512;
/// Bytes of a lane: four operands and the results.
const STRIDE: u32 = 80;

/// A shader of one instruction; operand `k` is `fixed` when given.
fn shader(op: Op, args: &[Type], result: Type, fixed: &[(usize, u64)]) -> Shader {
    let mut s = Shader::new(Stage::Compute);
    s.info.workgroup_size = [LANES, 1, 1];
    let res = s.resources.push(Resource::new(ResKind::StorageBuffer, 0, 0));
    let mut b = Builder::new(&mut s);
    let zero = b.u32(0);
    let handle = b.descriptor(res, zero, Default::default());
    let (lane, stride) = (b.builtin(Builtin::LocalInvocationIndex, Type::B32), b.u32(STRIDE));
    let base = b.binary(Op::IMul, lane, stride);
    let at = |k: u32| Attrs::Mem(Mem { align_log2: 2, offset: k as i32, ..Mem::default() });
    let vals: Vec<Value> = args
        .iter()
        .enumerate()
        .map(|(k, &t)| match fixed.iter().find(|f| f.0 == k) {
            Some(&(_, c)) => b.const_bits(t, c),
            None => b.value(Op::LoadBuffer, at(16 * k as u32), &[handle, base], t),
        })
        .collect();
    b.flags = InstFlags::EXACT | InstFlags::STRICT;
    let r = b.value(op, Attrs::None, &vals, result);
    b.flags = InstFlags::empty();
    let r = if result.bits() == 1 { b.value(Op::B2I, Attrs::None, &[r], Type::B32) } else { r };
    b.effect(Op::StoreBuffer, at(64), &[handle, base, r]);
    b.finish();
    tepui_ir::validate(&s).unwrap_or_else(|e| panic!("{e}\n{s}"));
    s
}

/// The results of all lanes, four words each.
fn results(s: &Shader, input: &[u8]) -> Vec<[u32; 4]> {
    let mut m = Memory::default();
    m.buffers.insert((0, 0, 0), input.to_vec());
    run(s, &Group::workgroup(s, [0; 3], [1; 3]), &mut m, 1_000_000)
        .unwrap_or_else(|e| panic!("{e}\n{s}"));
    let words = m.words(0, 0);
    words.chunks_exact(STRIDE as usize / 4).map(|c| [c[16], c[17], c[18], c[19]]).collect()
}

/// Types of operands and result for a size, when the op has it.
fn types(op: Op, bits: u8) -> Option<(Vec<Type>, Type)> {
    let info = op.info();
    let of = |p: &Pat| {
        Some(match p {
            Pat::T | Pat::I | Pat::F => Type::scalar(bits),
            Pat::W | Pat::S32 => Type::B32,
            Pat::B | Pat::B1 => Type::B1,
            Pat::V2 => Type::vec(32, 2),
            Pat::V4 => Type::vec(32, 4),
            _ => return None,
        })
    };
    let args = info.operands.iter().map(of).collect::<Option<Vec<_>>>()?;
    Some((args, of(info.results.first()?)?))
}

fn divides(op: Op) -> bool {
    matches!(op, Op::UDiv | Op::UMod | Op::SDiv | Op::SRem | Op::SMod)
}

fn inputs(rng: &mut Rng, op: Op, args: &[Type]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..LANES {
        let start = bytes.len();
        for (k, t) in args.iter().enumerate() {
            bytes.resize(start + 16 * k, 0);
            for _ in 0..t.comps() {
                let float = op.touches_floats();
                let mut x = if float { float_input(rng, t.bits(), op) } else { rng.int(t.bits()) };
                if divides(op) && k == 1 && x == 0 {
                    x = 1;
                }
                bytes.extend(&x.to_le_bytes()[..t.elem_bytes() as usize]);
            }
        }
        bytes.resize(start + STRIDE as usize, 0);
    }
    bytes
}

fn float_input(rng: &mut Rng, bits: u8, op: Op) -> u64 {
    let any = rng.int(bits);
    if op == Op::FLdexp && rng.one_in(2) {
        return (rng.below(700) as i64 - 350) as u64 & tepui_ir::mask(bits);
    }
    let extreme = matches!(op, Op::FMin | Op::FMax);
    if extreme && rng.one_in(3) {
        return (rng.below(2) as u64) << (bits - 1);
    }
    // Bits of any float: specials and denormals turn up. Else a number of moderate size.
    let exact = matches!(
        op,
        Op::FFrexpSig | Op::FFrexpExp | Op::FQuantize16 | Op::FSign | Op::FSat | Op::F2FRtz
    );
    if (exact || extreme) && rng.one_in(2) {
        return any;
    }
    let x = (rng.below(1 << 16) as f64 - 32768.0) / 997.0;
    tepui_passes::simplify::float_bits(bits, x)
}

/// Whether every bit must be the same.
fn is_exact(op: Op) -> bool {
    !matches!(op, Op::FDiv | Op::FRem | Op::FMod | Op::FPow | Op::FFract | Op::FLdexp)
}

fn number(bits: u8, w: u32) -> f64 {
    if bits == 16 { half(w as u16) } else { f64::from(f32::from_bits(w)) }
}

fn half(h: u16) -> f64 {
    let mut out = Vec::new();
    let from = [u64::from(h)];
    tepui_ir::op::fold(Op::F2F, &[(Type::B16, &from)], &Attrs::None, &[Type::B64], &mut out);
    f64::from_bits(out[0])
}

fn check(op: Op, bits: u8, s: Shader, input: &[u8], lower: impl Fn(&mut Shader)) -> bool {
    let want = results(&s, input);
    let mut after = s.clone();
    lower(&mut after);
    tepui_ir::validate(&after).unwrap_or_else(|e| panic!("{}: {e}\n{after}", op.name()));
    let got = results(&after, input);
    for (lane, (w, g)) in want.iter().zip(&got).enumerate() {
        // The choice of the NaN that results from a NaN is unspecified.
        let nans = matches!(op, Op::FMin | Op::FMax | Op::FFrexpSig)
            && number(bits, w[0]).is_nan()
            && number(bits, g[0]).is_nan();
        let same = w == g
            || nans
            || !is_exact(op) && {
                let (x, y) = (number(bits, w[0]), number(bits, g[0]));
                let slack = if bits == 16 { 4e-2 } else { 1e-4 };
                (x.is_nan() && y.is_nan()) || (x - y).abs() <= slack * x.abs().max(1.0)
            };
        let at = lane * STRIDE as usize;
        assert!(
            same,
            "{} on b{bits}: {w:x?}, lowered {g:x?}, operands {:x?}\n{after}",
            op.name(),
            &input[at..at + 64]
        );
    }
    after.to_string() != s.to_string()
}

#[test]
fn every_switch_keeps_the_meaning() {
    let mut rng = Rng::new(1);
    let mut lowered = 0;
    for info in OPS {
        if matches!(info.fold, tepui_ir::Fold::None) || info.attrs != tepui_ir::AttrKind::None {
            continue;
        }
        for bits in [8, 16, 32] {
            let Some((args, result)) = types(info.op, bits) else { continue };
            let float = info.operands.iter().chain(info.results).any(|p| *p == Pat::F);
            if float && bits == 8 {
                continue;
            }
            // fmod and frem of nearly equal quotients jump by the divisor: not a question of
            // precision.
            if matches!(info.op, Op::FRem | Op::FMod | Op::FPow | Op::Const) {
                continue;
            }
            let input = inputs(&mut rng, info.op, &args);
            let s = shader(info.op, &args, result, &[]);
            lowered += usize::from(check(info.op, bits, s, &input, |s| {
                lower_alu::run(s, Alu::all());
            }));
        }
    }
    assert!(lowered > 60, "{lowered} lowered");
}

#[test]
fn extremes_with_constants() {
    let mut rng = Rng::new(3);
    for op in [Op::FMin, Op::FMax] {
        for bits in [16u8, 32] {
            let (args, result) = types(op, bits).unwrap();
            let float = |x| tepui_passes::simplify::float_bits(bits, x);
            let numbers = [0.0, -0.0, 1.0, -2.5, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
            for (k, x) in numbers.into_iter().enumerate() {
                for at in 0..2 {
                    let input = inputs(&mut rng, op, &args);
                    let s = shader(op, &args, result, &[(at, float(x))]);
                    let lowered = |s: &mut Shader| _ = lower_alu::run(s, Alu::FMINMAX_ZEROS);
                    assert!(check(op, bits, s.clone(), &input, lowered));
                    let mut after = s;
                    lowered(&mut after);
                    let selects = after.to_string().matches("= select").count();
                    assert!(x.is_nan() || selects == 1, "number {k}\n{after}");
                }
            }
        }
    }
}

/// A selection of constants counts as a number, too.
#[test]
fn extremes_of_selections() {
    let mut rng = Rng::new(4);
    for op in [Op::FMin, Op::FMax] {
        for (x, y, selects) in
            [(0.0, 1.0, 2), (-0.0, 1.0, 2), (2.0, 3.0, 2), (0.0, -0.0, 4), (f64::NAN, 1.0, 4)]
        {
            let (args, result) = types(op, 32).unwrap();
            let input = inputs(&mut rng, op, &args);
            let mut s = shader(op, &args, result, &[]);
            let mut extreme = None;
            s.walk(|s, region, i| {
                if s.insts[i].op == op {
                    extreme = Some((region, i));
                }
            });
            let (region, i) = extreme.unwrap();
            // The second operand becomes a selection, by the first one.
            let at = s.regions[region].insts.iter().position(|&k| k == i).unwrap();
            let rest = s.regions[region].insts.split_off(at);
            let (a, b) = (s.arg(i, 0), s.arg(i, 1));
            let mut e = Builder::at(&mut s, region);
            let [x, y] = [x, y].map(|v| e.f32(v as f32));
            let less = e.alu(Op::FLt, &[a, b]);
            let chosen = e.select(less, x, y);
            s.regions[region].insts.extend(rest);
            s.args_mut(i)[1] = chosen;
            tepui_ir::validate(&s).unwrap_or_else(|e| panic!("{e}\n{s}"));
            let lowered = |s: &mut Shader| _ = lower_alu::run(s, Alu::FMINMAX_ZEROS);
            assert!(check(op, 32, s.clone(), &input, lowered));
            lowered(&mut s);
            assert_eq!(s.to_string().matches("= select").count(), selects, "{s}");
        }
    }
}

#[test]
fn division_by_constants() {
    let mut rng = Rng::new(2);
    for op in [Op::UDiv, Op::UMod, Op::SDiv, Op::SRem, Op::SMod] {
        for bits in [8u8, 16, 32] {
            let mut divisors: Vec<u64> =
                (1..20).chain([25, 60, 100, 125, 127, 128, 255, 641, 1000, 10_000_000]).collect();
            divisors.extend((0..24).map(|_| rng.int(bits)));
            let negative: Vec<u64> = divisors.iter().map(|d| d.wrapping_neg()).collect();
            divisors.extend(negative);
            for d in divisors {
                let d = d & tepui_ir::mask(bits);
                if d == 0 {
                    continue;
                }
                let (args, result) = types(op, bits).unwrap();
                let input = inputs(&mut rng, op, &args);
                let s = shader(op, &args, result, &[(1, d)]);
                let changed = check(op, bits, s, &input, |s| {
                    lower_alu::run(s, Alu::DIV_CONST);
                    let mut left = false;
                    s.walk(|s, _, i| left |= divides(s.insts[i].op));
                    assert!(!left);
                });
                assert!(changed);
            }
        }
    }
}

#[test]
fn integers_of_64_bits() {
    let mut rng = Rng::new(3);
    for info in OPS {
        if matches!(info.fold, tepui_ir::Fold::None)
            || info.attrs != tepui_ir::AttrKind::None
            || info.operands.contains(&Pat::F)
        {
            continue;
        }
        let Some((args, result)) = types(info.op, 64) else { continue };
        if !args.contains(&Type::B64) {
            continue;
        }
        let input = inputs(&mut rng, info.op, &args);
        let s = shader(info.op, &args, result, &[]);
        let changed = check(info.op, 32, s, &input, |s| {
            lower_int64::run(s, Default::default());
        });
        assert!(changed, "{}", info.name);
    }
}

#[test]
fn conversions_of_64_bits() {
    let mut rng = Rng::new(4);
    for (op, from, to) in [
        (Op::U2F, 64, 32),
        (Op::S2F, 64, 32),
        (Op::U2F, 64, 16),
        (Op::S2F, 64, 16),
        (Op::F2U, 32, 64),
        (Op::F2S, 32, 64),
        (Op::F2U, 16, 64),
        (Op::F2S, 16, 64),
    ] {
        let args = [Type::scalar(from)];
        // Any bits: floats of every exponent, not-a-numbers, integers on both sides of every tie.
        let input: Vec<u8> = (0..LANES)
            .flat_map(|n| {
                let mut x = rng.bits() >> rng.below(64);
                if n % 4 == 0 {
                    x = (1 << rng.below(64))
                        + (1u64 << rng.below(64)).wrapping_sub(rng.below(3) as u64);
                }
                if from < 64 {
                    x = if n % 4 == 0 {
                        rng.int(from)
                    } else {
                        float_input(&mut rng, from, Op::FMul) << rng.below(2)
                    };
                    if from == 32 && n % 2 == 0 {
                        // Up to and past 2^64.
                        x = u64::from(
                            (0x3f80_0000 + rng.below(0x2400_0000) as u32)
                                | (rng.below(2) as u32) << 31,
                        );
                    }
                }
                let mut bytes = x.to_le_bytes().to_vec();
                bytes.resize(STRIDE as usize, 0);
                bytes
            })
            .collect();
        let s = shader(op, &args, Type::scalar(to), &[]);
        assert!(check(op, 32, s, &input, |s| {
            lower_int64::run(s, Default::default());
        }));
    }
}

/// Bits of a 64-bit float of every kind: specials, denormals, few bits, neighbours of powers of
/// two, halves and integers.
fn double(rng: &mut Rng) -> u64 {
    let sign = (rng.below(2) as u64) << 63;
    let near = |rng: &mut Rng| 1023 - 60 + rng.below(120) as u64;
    let bits = match rng.below(12) {
        0 => rng.pick(&[0, 1, 0x7ff << 52, 0x7ff8 << 48, 0x7ff << 52 | 1, (1 << 52) - 1, 1 << 52]),
        1 => (0x7ff << 52) - 1 - rng.below(2) as u64,
        2 => rng.bits() >> (12 + rng.below(52)),
        3 => rng.bits() >> 1,
        4 => (rng.below(4096) as f64 / 2.0 - 1024.0).to_bits(),
        5 => near(rng) << 52,
        6 => (near(rng) << 52).wrapping_add(rng.below(5) as u64).wrapping_sub(2),
        7 => near(rng) << 52 | (1u64 << rng.below(52)) | (1u64 << rng.below(52)),
        8 => (rng.bits() as f64).to_bits(),
        9 => f64::from(f32::from_bits(rng.bits() as u32)).to_bits(),
        10 => f64::from_bits(near(rng) << 52 | rng.bits() >> 12).round().to_bits(),
        _ => near(rng) << 52 | rng.bits() >> 12,
    };
    bits ^ sign
}

/// An operand of any type, for ops of 64-bit floats.
fn operand(rng: &mut Rng, op: Op, ty: Type) -> u64 {
    match (op, ty.bits()) {
        (Op::FLdexp, 32) => (rng.below(5000) as i64 - 2500) as u64,
        (Op::S2F | Op::U2F, n) => {
            let x = if rng.one_in(2) { rng.int(n) } else { rng.bits() >> rng.below(64) };
            x & ty.mask()
        }
        (_, 64) => double(rng),
        (_, n) => {
            rng.bits() & ty.mask() & if rng.one_in(4) { !(0x7c00 << (n - 16)) } else { u64::MAX }
        }
    }
}

#[test]
fn floats_of_64_bits() {
    let mut rng = Rng::new(6);
    let skipped = [Op::FExp2, Op::FLog2, Op::FSin, Op::FCos, Op::FPow, Op::FDot];
    let mut cases: Vec<(Op, Vec<Type>, Type)> = Vec::new();
    for info in OPS {
        let float = info.operands.contains(&Pat::F) && !matches!(info.fold, tepui_ir::Fold::None);
        if !float || info.attrs != tepui_ir::AttrKind::None || skipped.contains(&info.op) {
            continue;
        }
        if let Some((args, result)) = types(info.op, 64) {
            cases.push((info.op, args, result));
        }
    }
    assert!(cases.len() > 25, "{cases:?}");
    for n in [8, 16, 32, 64] {
        let (int, float) = (Type::scalar(n), Type::B64);
        cases.extend([Op::F2S, Op::F2U].map(|op| (op, vec![float], int)));
        cases.extend([Op::S2F, Op::U2F].map(|op| (op, vec![int], float)));
        if n == 16 || n == 32 {
            cases.extend([Op::F2F, Op::F2FRtz].map(|op| (op, vec![float], int)));
            cases.push((Op::F2F, vec![int], float));
        }
    }
    for (op, args, result) in cases {
        // C's remainder takes a turn for each bit of the quotient.
        for _ in 0..if op == Op::FRem { 1 } else { 16 } {
            let mut input = Vec::new();
            for _ in 0..LANES {
                let start = input.len();
                for (k, &t) in args.iter().enumerate() {
                    input.resize(start + 16 * k, 0);
                    let mut x = operand(&mut rng, op, t);
                    // Often close to the operand before: sums cancel, quotients are near 1.
                    if k > 0 && t.bits() == 64 && rng.one_in(4) {
                        let at = start + 16 * (k - 1);
                        let before = u64::from_le_bytes(input[at..at + 8].try_into().unwrap());
                        x = (before ^ (rng.below(2) as u64) << 63)
                            .wrapping_add(rng.int(64) >> rng.below(64));
                    }
                    input.extend(x.to_le_bytes());
                }
                input.resize(start + STRIDE as usize, 0);
            }
            let s = shader(op, &args, result, &[]);
            let changed = check_bits(op, s, &input);
            assert!(changed, "{}", op.name());
        }
    }
}

/// [`check`] of 64-bit floats, every bit; then without any 64-bit value.
fn check_bits(op: Op, s: Shader, input: &[u8]) -> bool {
    let mut lowered = s.clone();
    let changed = lower_float64::run(&mut lowered);
    let mut pairs = lowered.clone();
    lower_int64::run(&mut pairs, Default::default());
    let want = results(&s, input);
    for after in [&lowered, &pairs] {
        tepui_ir::validate(after).unwrap_or_else(|e| panic!("{}: {e}\n{after}", op.name()));
        for (lane, (w, g)) in want.iter().zip(&results(after, input)).enumerate() {
            let row = &input[lane * STRIDE as usize..][..64];
            let args: Vec<f64> =
                row.chunks(16).map(|c| f64::from_le_bytes(c[..8].try_into().unwrap())).collect();
            assert!(w == g, "{}: {w:x?}, lowered {g:x?}, operands {row:x?} = {args:?}", op.name());
        }
    }
    changed
}
