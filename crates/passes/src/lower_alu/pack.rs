//! Lowers packing and unpacking of normalised and 16-bit floats.

use crate::rewrite::Emit;
use tepui_ir::{Attrs, Op, Type, Value};

/// Bits per component and the largest integer, for normalised formats.
fn format(op: Op) -> Option<(u8, f32, bool)> {
    Some(match op {
        Op::PackSnorm2x16 | Op::UnpackSnorm2x16 => (16, 32767.0, true),
        Op::PackUnorm2x16 | Op::UnpackUnorm2x16 => (16, 65535.0, false),
        Op::PackSnorm4x8 | Op::UnpackSnorm4x8 => (8, 127.0, true),
        Op::PackUnorm4x8 | Op::UnpackUnorm4x8 => (8, 255.0, false),
        _ => return None,
    })
}

pub(super) fn lower(e: &mut Emit, op: Op, a: Value, ty: Type) -> Option<Value> {
    match op {
        Op::PackHalf2x16 => {
            let parts: Vec<Value> =
                e.split(a).into_iter().map(|x| e.convert(Op::F2F, x, Type::B16)).collect();
            let v = e.vec(&parts);
            return Some(e.value(Op::Bitcast, Attrs::None, &[v], ty));
        }
        Op::UnpackHalf2x16 => {
            let v = e.value(Op::Bitcast, Attrs::None, &[a], Type::vec(16, 2));
            let parts: Vec<Value> =
                e.split(v).into_iter().map(|x| e.convert(Op::F2F, x, Type::B32)).collect();
            return Some(e.vec(&parts));
        }
        _ => {}
    }
    let (bits, most, signed) = format(op)?;
    let scale = e.f32(most);
    let width = e.u32(u32::from(bits));
    if e.ty(a).is_scalar() {
        let lowest = e.f32(-1.0);
        let parts: Vec<Value> = (0..32 / u32::from(bits))
            .map(|k| {
                let at = e.u32(k * u32::from(bits));
                let get = if signed { Op::SBitExtract } else { Op::UBitExtract };
                let x = e.op(get, &[a, at, width]);
                let to_float = if signed { Op::S2F } else { Op::U2F };
                let f = e.value(to_float, Attrs::None, &[x], Type::B32);
                let f = e.op(Op::FDiv, &[f, scale]);
                if signed { e.op(Op::FMax, &[f, lowest]) } else { f }
            })
            .collect();
        return Some(e.vec(&parts));
    }
    let (lo, hi) = (e.f32(-1.0), e.f32(1.0));
    let mut word = None;
    for (k, x) in e.split(a).into_iter().enumerate() {
        let x = if signed {
            let x = e.op(Op::FMax, &[x, lo]);
            e.op(Op::FMin, &[x, hi])
        } else {
            e.op(Op::FSat, &[x])
        };
        let x = e.op(Op::FMul, &[x, scale]);
        let x = e.op(Op::FRoundEven, &[x]);
        let to_int = if signed { Op::F2S } else { Op::F2U };
        let n = e.value(to_int, Attrs::None, &[x], Type::B32);
        word = Some(match word {
            None if signed => {
                let mask = e.u32((1 << bits) - 1);
                e.op(Op::IAnd, &[n, mask])
            }
            None => n,
            Some(before) => {
                let at = e.u32(k as u32 * u32::from(bits));
                e.op(Op::BitInsert, &[before, n, at, width])
            }
        });
    }
    word
}
