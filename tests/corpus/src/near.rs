//! Whether two runs left the same memory, or as near as special functions and fixed-point numbers ask.

use tepui_ir::interp::Memory;
use tepui_ir::{NumKind, Shader};

/// How much two memories are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Same {
    /// Bit for bit.
    Bits,
    /// Floats differ by what special functions may.
    Near,
}

/// What fixed-point numbers of 8 bits may differ by, which may be rounded either way.
const STEP: f32 = 0.008;

/// Whether the words are floats within what special functions may differ by. What comes of a NaN, and whether one comes of two
/// infinities, depends on how a function is computed: it matches anything.
fn close(a: u32, b: u32) -> bool {
    let (x, y) = (f32::from_bits(a), f32::from_bits(b));
    if a == b || x.is_nan() || y.is_nan() {
        return true;
    }
    let flush = |v: f32| if v.abs() < f32::MIN_POSITIVE { 0.0 } else { v };
    let (x, y) = (flush(x), flush(y));
    (x - y).abs() <= 1e-4 * x.abs().max(y.abs()).max(1e-4)
}

/// Compares what a run left with what it should have left.
///
/// # Errors
/// The first difference that is too large.
pub fn compare(s: &Shader, want: &Memory, got: &Memory) -> Result<Same, String> {
    let mut same = Same::Bits;
    let mut slots: Vec<_> = want.buffers.keys().collect();
    slots.sort_unstable();
    for slot in slots {
        let (w, g) = (&want.buffers[slot], &got.buffers[slot]);
        if w == g {
            continue;
        }
        same = Same::Near;
        let word = |b: &[u8]| u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
        for (k, (w, g)) in w.chunks_exact(4).zip(g.chunks_exact(4)).enumerate() {
            if !close(word(g), word(w)) {
                let (at, g, w) = (4 * k, word(g), word(w));
                return Err(format!("{slot:?} byte {at}: {g:#x} instead of {w:#x}"));
            }
        }
    }
    for (slot, w) in &want.images {
        let g = &got.images[slot];
        if w == g {
            continue;
        }
        same = Same::Near;
        let r = s.resources.values().find(|r| (r.set, r.binding) == (slot.0, slot.1));
        let float = r.is_some_and(|r| r.texels == NumKind::Float);
        let near = |(&a, &b): (&u64, &u64)| {
            let (x, y) = (f32::from_bits(a as u32), f32::from_bits(b as u32));
            a == b || (float && (close(a as u32, b as u32) || (x - y).abs() < STEP))
        };
        let texels = g.levels.iter().flatten().zip(w.levels.iter().flatten());
        for (k, (g, w)) in texels.enumerate() {
            if !g.iter().zip(w).all(near) {
                return Err(format!("{slot:?} texel {k}: {g:x?} instead of {w:x?}"));
            }
        }
    }
    Ok(same)
}
