//! Compares the memory of two runs: bit for bit, except for floats whose last bits depend on a
//! special function.

use tepui_ir::interp::{FloatBytes, Memory, Slot};
use tepui_ir::{NumKind, Shader};

/// The degree to which two memories are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Equality {
    /// Bit for bit.
    Bits,
    /// Floats differ within the tolerance of special functions.
    Near,
}

/// Tolerance of fixed-point texels, which have 8 bits and may be rounded either way.
const STEP: f32 = 0.008;

/// Whether two 32-bit floats are within the tolerance of special functions. NaN equals NaN only.
fn close(a: u32, b: u32) -> bool {
    near(f32::from_bits(a), f32::from_bits(b), 1e-4, f32::MIN_POSITIVE)
}

/// Whether two 16-bit floats are within the tolerance of special functions.
fn close_halves(a: u16, b: u16) -> bool {
    near(half::f16::from_bits(a).to_f32(), half::f16::from_bits(b).to_f32(), 4e-3, 0.0)
}

fn near(x: f32, y: f32, relative: f32, smallest: f32) -> bool {
    if !x.is_finite() || !y.is_finite() {
        return x == y || x.is_nan() && y.is_nan();
    }
    // Denormals count as zero: the GPU flushes them.
    let flush = |v: f32| if v.abs() < smallest { 0.0 } else { v };
    let (x, y) = (flush(x), flush(y));
    x == y || (x - y).abs() <= relative * x.abs().max(y.abs()).max(1e-4)
}

/// Whether a word of a buffer is as expected: floats are near, everything else is equal.
fn word(floats: &FloatBytes, slot: Slot, at: usize, got: [u8; 4], want: [u8; 4]) -> bool {
    let size = |k: usize| floats.size_at(slot, at + k);
    if (0..4).all(|k| size(k) == 4) {
        return close(u32::from_le_bytes(got), u32::from_le_bytes(want));
    }
    [0, 2].into_iter().all(|k| {
        let (g, w) = ([got[k], got[k + 1]], [want[k], want[k + 1]]);
        let half = size(k) == 2 && size(k + 1) == 2;
        g == w || half && close_halves(u16::from_le_bytes(g), u16::from_le_bytes(w))
    })
}

/// Compares the memory after a run with the expected one. Bytes that `want` marks as stored floats
/// ([`Memory::floats`]) may differ within the tolerance of special functions; everything else, and all of a
/// memory without such marks, must be bit-equal. Texels of float images are floats.
///
/// # Errors
/// The first difference that is too large.
pub fn compare(s: &Shader, want: &Memory, got: &Memory) -> Result<Equality, String> {
    let mut same = Equality::Bits;
    let mut slots: Vec<_> = want.buffers.keys().collect();
    slots.sort_unstable();
    let none = FloatBytes::default();
    let floats = want.floats.as_ref().unwrap_or(&none);
    for slot in slots {
        let w = &want.buffers[slot];
        let Some(g) = got.buffers.get(slot).filter(|g| g.len() == w.len()) else {
            return Err(format!("{slot:?} is missing or has another size"));
        };
        if w == g {
            continue;
        }
        same = Equality::Near;
        let padded = |b: &[u8]| [0, 1, 2, 3].map(|k| b.get(k).copied().unwrap_or(0));
        for (k, (w, g)) in w.chunks(4).zip(g.chunks(4)).enumerate() {
            let (w, g) = (padded(w), padded(g));
            if w != g && !word(floats, *slot, 4 * k, g, w) {
                let [g, w] = [g, w].map(u32::from_le_bytes);
                let what = if floats.size_at(*slot, 4 * k) != 0 { "float" } else { "integer" };
                return Err(format!("{slot:?} byte {}, {what}: {g:#x} instead of {w:#x}", 4 * k));
            }
        }
    }
    for (slot, w) in &want.images {
        let Some(g) = got.images.get(slot) else {
            return Err(format!("{slot:?}: the image is missing"));
        };
        if w == g {
            continue;
        }
        same = Equality::Near;
        let r = s.resources.values().find(|r| (r.set, r.binding) == (slot.0, slot.1));
        let float = r.is_some_and(|r| r.texels == NumKind::Float);
        let near = |(&a, &b): (&u64, &u64)| {
            let (x, y) = (f32::from_bits(a as u32), f32::from_bits(b as u32));
            a == b || (float && (close(a as u32, b as u32) || (x - y).abs() < STEP))
        };
        let count = |i: &tepui_ir::interp::ImageData| i.levels.iter().map(Vec::len).sum::<usize>();
        if count(g) != count(w) {
            return Err(format!("{slot:?}: {} texels instead of {}", count(g), count(w)));
        }
        let texels = g.levels.iter().flatten().zip(w.levels.iter().flatten());
        for (k, (g, w)) in texels.enumerate() {
            if !g.iter().zip(w).all(near) {
                return Err(format!("{slot:?} texel {k}: {g:x?} instead of {w:x?}"));
            }
        }
    }
    Ok(same)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_near_and_nan_is_nan() {
        let bits = f32::to_bits;
        let (nan, other_nan) = (bits(f32::NAN), bits(-f32::NAN) | 1);
        for (a, b, same) in [
            (bits(1.0), bits(1.000_01), true),
            (bits(1.0), bits(1.001), false),
            (bits(f32::MIN_POSITIVE / 2.0), bits(-0.0), true),
            (nan, other_nan, true),
            (nan, bits(1.0), false),
            (bits(0.0), nan, false),
            (bits(f32::INFINITY), bits(f32::INFINITY), true),
            (bits(f32::INFINITY), bits(f32::MAX), false),
            (bits(f32::INFINITY), bits(f32::NEG_INFINITY), false),
        ] {
            assert_eq!(close(a, b), same, "{a:#x} and {b:#x}");
        }
    }

    /// Compares words that a shader has copied (`float` false) or computed as floats.
    fn judged(float: bool, want: u32, got: u32) -> bool {
        let op = if float { "fadd %1, %1" } else { "iadd %1, %0" };
        let text = format!(
            "shader compute \"main\" {{
              workgroup_size 1 1 1
              resource storage_buffer set 0 binding 0 count 1 2d float \"\"
              body {{
                %0:b32 = const[0x0]
                %1:b32 = const[0x3f800000]
                %2:b64 = descriptor[@r0] %0
                %3:b32 = {op}
                store_buffer[align 4] %2, %0, %3
                yield
              }}
            }}"
        );
        let s = tepui_ir::parse(&text).unwrap_or_else(|e| panic!("{e}"));
        let mut m = Memory { floats: Some(FloatBytes::default()), ..Memory::default() };
        m.set_words(0, 0, &[7]);
        tepui_ir::interp::dispatch(&s, [1; 3], &mut m, 100).unwrap_or_else(|e| panic!("{e}"));
        m.set_words(0, 0, &[want]);
        let mut other = m.clone();
        other.set_words(0, 0, &[got]);
        compare(&s, &m, &other).is_ok()
    }

    #[test]
    fn integers_are_compared_bit_for_bit() {
        // As floats, 5 and 7 are both denormals.
        assert!(!judged(false, 5, 7) && judged(false, 5, 5));
        assert!(judged(true, 5, 7));
        let one = 1f32.to_bits();
        assert!(!judged(false, one, one + 1) && judged(true, one, one + 1));
        assert!(!judged(true, one, 1.001f32.to_bits()));
    }
}
