//! The depth and stencil buffer of a tile, and the tests against it.
//!
//! Both are kept sample by sample, in rows of [`TILE_SIDE`] pixels whatever the size of the tile,
//! so that a test of a row is a loop over lanes.

use tepui_softgpu::top_bits;

use crate::TILE_SIDE;

/// Pixels of a row that are tested together: those of a small primitive are mostly in one part.
const PART: usize = 8;

/// Hands the function of a comparison, of new and old value, to a macro.
macro_rules! with_compare {
    ($compare:expr, $use:ident) => {
        match $compare {
            Compare::NEVER => $use!(|_: f32, _: f32| false),
            Compare::LESS => $use!(|a: f32, b: f32| a < b),
            Compare::EQUAL => $use!(|a: f32, b: f32| a == b),
            Compare::LEQUAL => $use!(|a: f32, b: f32| a <= b),
            Compare::GREATER => $use!(|a: f32, b: f32| a > b),
            // Not `!=`, which is true for NaNs.
            #[expect(clippy::double_comparisons, reason = "comparisons with a NaN fail")]
            Compare::NOT_EQUAL => $use!(|a: f32, b: f32| a < b || a > b),
            Compare::GEQUAL => $use!(|a: f32, b: f32| a >= b),
            Compare::ALWAYS_ORDERED => $use!(|a: f32, _: f32| !a.is_nan()),
            other => $use!(|a: f32, b: f32| other.holds(a, b)),
        }
    };
}

/// Rounds a depth to fixed point of 16 bits; a NaN stays a NaN.
#[inline(always)]
fn quantise_16(z: f32) -> f32 {
    (z.clamp(0.0, 1.0) * 65535.0).round_ties_even() / 65535.0
}

/// A plane equation over the pixels of a tile: `[a, b, c]` is `a x + (b y + c)`, with x and y
/// counted from a corner that the model chooses.
pub type Plane = [f32; 3];

/// The value of a plane. Everything that needs the depth of a sample calls this, so that tests
/// before and in a fragment program and what the program reads agree in the last bit.
#[inline(always)]
pub fn at(plane: &Plane, x: f32, y: f32) -> f32 {
    plane[0] * x + (plane[1] * y + plane[2])
}

/// Depth and stencil of a tile with at most `MAX` samples a pixel.
pub struct DepthStencil<const MAX: usize> {
    depth: Vec<f32>,
    stencil: Vec<u8>,
    /// Bits of the fixed-point format in which depths from 0 to 1 are kept; 0 for floats.
    pub unorm_bits: u32,
}

impl<const MAX: usize> Default for DepthStencil<MAX> {
    fn default() -> Self {
        let n = start(MAX, 0);
        DepthStencil { depth: vec![0.0; n], stencil: vec![0; n], unorm_bits: 0 }
    }
}

#[inline(always)]
fn start(sample: usize, y: usize) -> usize {
    (sample * TILE_SIDE + y) * TILE_SIDE
}

impl<const MAX: usize> DepthStencil<MAX> {
    /// A tile of at most `samples` samples a pixel; the other functions take no others.
    pub fn of_samples(samples: usize) -> DepthStencil<MAX> {
        let n = start(samples.min(MAX), 0);
        DepthStencil { depth: vec![0.0; n], stencil: vec![0; n], unorm_bits: 0 }
    }

    /// Clears all pixels, of `samples` samples each.
    pub fn clear(&mut self, samples: usize, depth: f32, stencil: u8) {
        let n = start(samples.min(MAX), 0);
        self.depth[..n].fill(depth);
        self.stencil[..n].fill(stencil);
    }

    /// The depths of a row of one sample.
    pub fn depth_row(&mut self, sample: usize, y: usize) -> &mut [f32; TILE_SIDE] {
        let at = start(sample, y);
        (&mut self.depth[at..at + TILE_SIDE]).try_into().expect("a row")
    }

    /// Depth and stencil of one sample of a pixel of the tile.
    pub fn sample(&self, sample: usize, x: usize, y: usize) -> (f32, u8) {
        let at = start(sample, y) + x;
        (self.depth[at], self.stencil[at])
    }

    /// The pixels of `mask` of a row of one sample whose stored depths are in a range, ends included: the depth
    /// bounds test.
    pub fn in_bounds(
        &self,
        [sample, row]: [usize; 2],
        mask: u32,
        [least, greatest]: [f32; 2],
    ) -> u32 {
        let at = start(sample, row);
        let depths = self.depth[at..at + TILE_SIDE].iter().enumerate();
        depths.fold(0, |bits, (x, &z)| bits | u32::from(least <= z && z <= greatest) << x) & mask
    }

    /// Loads the first depths of a row of one sample, in the format of the depth buffer.
    pub fn put_depth(&mut self, sample: usize, y: usize, texels: &[u32]) {
        let unorm16 = self.unorm_bits == 16;
        for (z, &texel) in self.depth_row(sample, y).iter_mut().zip(texels) {
            *z = if unorm16 { texel as f32 / 65535.0 } else { f32::from_bits(texel) };
        }
    }

    /// Loads the first stencils of a row of one sample.
    pub fn put_stencil(&mut self, sample: usize, y: usize, texels: &[u32]) {
        let at = start(sample, y);
        for (stencil, &texel) in self.stencil[at..at + TILE_SIDE].iter_mut().zip(texels) {
            *stencil = texel as u8;
        }
    }

    /// The stencils of rows of one sample.
    pub fn stencil_texels(&self, sample: usize, out: &mut [[u32; TILE_SIDE]]) {
        let from = start(sample, 0);
        let stencils = &self.stencil[from..from + TILE_SIDE * out.len()];
        for (texel, &stencil) in out.as_flattened_mut().iter_mut().zip(stencils) {
            *texel = u32::from(stencil);
        }
    }

    /// The depths of rows of one sample, in the format of the depth buffer.
    pub fn depth_texels(&self, sample: usize, out: &mut [[u32; TILE_SIDE]]) {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the host has AVX2.
            return unsafe { self.depth_texels_wide(sample, out) };
        }
        self.depth_texels_any(sample, out);
    }

    /// Version of [`DepthStencil::depth_texels_any`] for AVX2.
    ///
    /// # Safety
    /// The host must have AVX2.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    unsafe fn depth_texels_wide(&self, sample: usize, out: &mut [[u32; TILE_SIDE]]) {
        self.depth_texels_any(sample, out);
    }

    #[inline(always)]
    fn depth_texels_any(&self, sample: usize, out: &mut [[u32; TILE_SIDE]]) {
        let from = start(sample, 0);
        let depths = self.depth[from..from + TILE_SIDE * out.len()].chunks_exact(TILE_SIDE);
        for (texels, depths) in out.iter_mut().zip(depths) {
            if self.unorm_bits == 16 {
                for (texel, z) in texels.iter_mut().zip(depths) {
                    // Adding 2^23 rounds to an integer, ties to even, in the low bits. A NaN
                    // becomes 0.
                    let z = if *z > 0.0 { z.min(1.0) } else { 0.0 };
                    *texel = (z * 65535.0 + 8_388_608.0).to_bits() & 0xffff;
                }
            } else {
                for (texel, z) in texels.iter_mut().zip(depths) {
                    *texel = z.to_bits();
                }
            }
        }
    }

    /// Rounds a depth to the buffer's format.
    #[inline(always)]
    fn quantise(&self, z: f32) -> f32 {
        match self.unorm_bits {
            0 => z,
            _ if z.is_nan() => z,
            16 => quantise_16(z),
            bits => {
                // Wider than a float multiplies exactly.
                let most = ((1u64 << bits) - 1) as f64;
                ((f64::from(z).clamp(0.0, 1.0) * most).round_ties_even() / most) as f32
            }
        }
    }

    /// Tests and updates several rows of a sample, as [`DepthStencil::test_row`] does one: `covered`
    /// has the pixels of each row of the tile, and keeps those that pass. The sample is at `[x, y]` of
    /// its pixel, and rows count from the plane's corner.
    #[expect(clippy::too_many_arguments, reason = "what a test is made of")]
    pub fn test_rows(
        &mut self,
        tests: &Tests,
        sample: usize,
        rows: std::ops::Range<usize>,
        covered: &mut [u32; TILE_SIDE],
        plane: &Plane,
        at: [f32; 2],
        range: [f32; 2],
    ) {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the host has AVX2.
            return unsafe { self.test_rows_wide(tests, sample, rows, covered, plane, at, range) };
        }
        self.test_rows_any(tests, sample, rows, covered, plane, at, range);
    }

    /// Version of [`DepthStencil::test_rows_any`] for AVX2.
    ///
    /// # Safety
    /// The host must have AVX2.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    #[expect(clippy::too_many_arguments, reason = "as above")]
    unsafe fn test_rows_wide(
        &mut self,
        tests: &Tests,
        sample: usize,
        rows: std::ops::Range<usize>,
        covered: &mut [u32; TILE_SIDE],
        plane: &Plane,
        at: [f32; 2],
        range: [f32; 2],
    ) {
        self.test_rows_any(tests, sample, rows, covered, plane, at, range);
    }

    #[inline(always)]
    #[expect(clippy::too_many_arguments, reason = "as above")]
    fn test_rows_any(
        &mut self,
        tests: &Tests,
        sample: usize,
        rows: std::ops::Range<usize>,
        covered: &mut [u32; TILE_SIDE],
        plane: &Plane,
        at: [f32; 2],
        range: [f32; 2],
    ) {
        if tests.stencil.is_some() || !matches!(self.unorm_bits, 0 | 16) {
            for (row, covered) in covered.iter_mut().enumerate().take(rows.end).skip(rows.start) {
                let at = [at[0], row as f32 + at[1]];
                *covered = self.test_row(tests, [sample, row], *covered, plane, at, range);
            }
            return;
        }
        // One loop over rows for each function and format, so that it has no choice inside.
        macro_rules! rows {
            ($holds:expr) => {{
                let holds = $holds;
                let place = (sample, rows, plane, at, range);
                if self.unorm_bits == 16 {
                    self.rows_where(tests.write, place, covered, |z| quantise_16(z), holds)
                } else {
                    self.rows_where(tests.write, place, covered, |z| z, holds)
                }
            }};
        }
        with_compare!(tests.depth, rows);
    }

    /// Tests rows by a comparison of new and old depths; `kept` rounds a depth to the buffer's format.
    #[inline(always)]
    fn rows_where(
        &mut self,
        write: bool,
        (sample, rows, plane, [x, y], [low, high]): (
            usize,
            std::ops::Range<usize>,
            &Plane,
            [f32; 2],
            [f32; 2],
        ),
        covered: &mut [u32; TILE_SIDE],
        kept: impl Fn(f32) -> f32,
        holds: impl Fn(f32, f32) -> bool,
    ) {
        for (row, covered) in covered.iter_mut().enumerate().take(rows.end).skip(rows.start) {
            let mask = *covered;
            if mask == 0 {
                continue;
            }
            let y = row as f32 + y;
            let mut passed = 0;
            let parts = self.depth_row(sample, row).as_chunks_mut::<PART>().0.iter_mut();
            for (part, old) in parts.enumerate() {
                let first = PART * part;
                let mask = mask >> first & ((1 << PART) - 1);
                if mask == 0 {
                    continue;
                }
                let mut z = [0.0; PART];
                let mut left = [0; PART];
                for i in 0..PART {
                    // `clamp` keeps a NaN.
                    z[i] = kept(at(plane, x + (first + i) as f32, y).clamp(low, high));
                    let bits = if holds(z[i], old[i]) { u32::MAX } else { 0 };
                    left[i] = if mask & 1 << i != 0 { bits } else { 0 };
                }
                if write {
                    for i in 0..PART {
                        let stays = old[i].to_bits() & !left[i];
                        old[i] = f32::from_bits(z[i].to_bits() & left[i] | stays);
                    }
                }
                passed |= top_bits(&left) << first;
            }
            *covered = passed;
        }
    }

    /// Tests and updates the pixels `mask` of a row, whose first pixel is at `x`, `y` of the plane
    /// of depths, which are clamped to a range. Returns those that pass.
    #[inline(always)]
    pub fn test_row(
        &mut self,
        tests: &Tests,
        [sample, row]: [usize; 2],
        mask: u32,
        plane: &Plane,
        [x, y]: [f32; 2],
        [low, high]: [f32; 2],
    ) -> u32 {
        let mut passed = 0;
        for first in (0..TILE_SIDE).step_by(PART) {
            let mask = mask >> first & ((1 << PART) - 1);
            if mask == 0 {
                continue;
            }
            let mut z = [0.0; PART];
            for (i, z) in z.iter_mut().enumerate() {
                // `clamp` keeps a NaN.
                *z = at(plane, x + (first + i) as f32, y).clamp(low, high);
            }
            passed |= self.test_part(tests, start(sample, row) + first, mask, &z) << first;
        }
        passed
    }

    /// Tests and updates those pixels of `mask` that begin at `place`, eight at a time.
    #[inline(always)]
    fn test_part(&mut self, tests: &Tests, place: usize, mask: u32, z: &[f32; PART]) -> u32 {
        if tests.stencil.is_some() {
            let mut passed = 0;
            for (i, &z) in z.iter().enumerate().filter(|(i, _)| mask >> i & 1 != 0) {
                passed |= u32::from(self.test_at(tests, place + i, z, None)) << i;
            }
            return passed;
        }
        let mut z = *z;
        for z in &mut z {
            *z = self.quantise(*z);
        }
        let old: &mut [f32; PART] =
            (&mut self.depth[place..place + PART]).try_into().expect("a part of a row");
        // All bits where the comparison holds; each comparison has its own loop, which is free of
        // branches.
        let mut holds = [0; PART];
        macro_rules! compare {
            ($holds:expr) => {
                for i in 0..PART {
                    holds[i] = if $holds(z[i], old[i]) { u32::MAX } else { 0 };
                }
            };
        }
        with_compare!(tests.depth, compare);
        for (i, holds) in holds.iter_mut().enumerate() {
            *holds = if mask & 1 << i != 0 { *holds } else { 0 };
        }
        if tests.write {
            for i in 0..PART {
                let kept = old[i].to_bits() & !holds[i];
                old[i] = f32::from_bits(z[i].to_bits() & holds[i] | kept);
            }
        }
        top_bits(&holds)
    }

    /// Tests and updates one sample, with the stencil of the program if it emitted one. True if it
    /// passes.
    pub fn test(
        &mut self,
        tests: &Tests,
        sample: usize,
        x: usize,
        y: usize,
        z: f32,
        emitted: Option<u8>,
    ) -> bool {
        self.test_at(tests, start(sample, y) + x, z, emitted)
    }

    fn test_at(&mut self, tests: &Tests, at: usize, z: f32, emitted: Option<u8>) -> bool {
        let z = self.quantise(z);
        let depth_passes = tests.depth.holds(z, self.depth[at]);
        let mut passes = depth_passes;
        if let Some(s) = &tests.stencil {
            let old = self.stencil[at];
            let reference = emitted.unwrap_or(s.reference);
            let stencil_passes = s.compare.holds_bytes(reference & s.read_mask, old & s.read_mask);
            let operation = match (stencil_passes, depth_passes) {
                (false, _) => s.fail,
                (true, false) => s.depth_fail,
                (true, true) => s.pass,
            };
            let new = operate(operation, old, reference);
            self.stencil[at] = (old & !s.write_mask) | (new & s.write_mask);
            passes &= stencil_passes;
        }
        if passes && tests.write {
            self.depth[at] = z;
        }
        passes
    }
}

fn operate(operation: StencilOp, old: u8, reference: u8) -> u8 {
    match operation {
        StencilOp::Keep => old,
        StencilOp::Zero => 0,
        StencilOp::Replace => reference,
        StencilOp::IncrSat => old.saturating_add(1),
        StencilOp::DecrSat => old.saturating_sub(1),
        StencilOp::Invert => !old,
        StencilOp::IncrWrap => old.wrapping_add(1),
        StencilOp::DecrWrap => old.wrapping_sub(1),
    }
}

/// A comparison, one bit for each outcome that passes: bit 0 less, bit 1 equal, bit 2 greater, bit
/// 3 unordered (a NaN). The conjunction of two comparisons is the AND of their bits.
///
/// [`Compare::ALWAYS_ORDERED`] is the exception to that rule in one point: a new value that is no
/// NaN passes whatever the old one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compare(u8);

#[allow(missing_docs)] // The names are Vulkan's.
impl Compare {
    pub const NEVER: Compare = Compare(0);
    pub const LESS: Compare = Compare(1);
    pub const EQUAL: Compare = Compare(2);
    pub const LEQUAL: Compare = Compare(3);
    pub const GREATER: Compare = Compare(4);
    /// False for NaN, as all named comparisons but `ALWAYS`.
    pub const NOT_EQUAL: Compare = Compare(5);
    pub const GEQUAL: Compare = Compare(6);
    /// Passes unless the new value is a NaN.
    pub const ALWAYS_ORDERED: Compare = Compare(7);
    pub const ALWAYS: Compare = Compare(15);
}

impl Compare {
    /// The comparison with these bits; those from bit 4 on are ignored.
    pub const fn from_bits(bits: u8) -> Compare {
        Compare(bits & 15)
    }

    /// Conjunction: true if both comparisons are.
    #[must_use]
    pub const fn and(self, other: Compare) -> Compare {
        Compare(self.0 & other.0)
    }

    /// Whether the comparison of two values is true.
    pub fn holds(self, new: f32, old: f32) -> bool {
        if self == Compare::ALWAYS_ORDERED {
            return !new.is_nan();
        }
        let order = u8::from(new < old) | u8::from(new == old) << 1 | u8::from(new > old) << 2;
        let order = if order == 0 { 8 } else { order };
        self.0 & order != 0
    }

    fn holds_bytes(self, new: u8, old: u8) -> bool {
        let order = u8::from(new < old) | u8::from(new == old) << 1 | u8::from(new > old) << 2;
        self.0 & order != 0
    }
}

/// Operation on the stencil value after a stencil test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StencilOp {
    /// The value stays.
    Keep,
    /// The value becomes 0.
    Zero,
    /// The value becomes the reference.
    Replace,
    /// One more, at most 255.
    IncrSat,
    /// One less, at least 0.
    DecrSat,
    /// All bits are inverted.
    Invert,
    /// One more, modulo 256.
    IncrWrap,
    /// One less, modulo 256.
    DecrWrap,
}

/// The tests of one face.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tests {
    /// The depth test.
    pub depth: Compare,
    /// Samples that pass write their depth.
    pub write: bool,
    /// The stencil test, if enabled.
    pub stencil: Option<Stencil>,
}

/// The stencil test of one face.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stencil {
    /// The reference is compared with the stencil, both within the read mask.
    pub compare: Compare,
    /// The reference.
    pub reference: u8,
    /// Bits that are compared.
    pub read_mask: u8,
    /// Bits that are written.
    pub write_mask: u8,
    /// Operation if the stencil test fails.
    pub fail: StencilOp,
    /// Operation if the stencil test passes and the depth test fails.
    pub depth_fail: StencilOp,
    /// Operation if both tests pass.
    pub pass: StencilOp,
}

impl Tests {
    /// Everything passes, nothing is written.
    pub const NONE: Tests = Tests { depth: Compare::ALWAYS_ORDERED, write: false, stencil: None };

    /// Whether all samples pass and nothing is written. This holds unless a depth is NaN, which no
    /// interpolated depth of a visible sample is.
    #[inline]
    pub fn is_trivial(&self) -> bool {
        let always = matches!(self.depth, Compare::ALWAYS_ORDERED | Compare::ALWAYS);
        always && !self.write && self.stencil.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Buffer = DepthStencil<4>;

    #[test]
    fn comparisons_combine_by_their_bits() {
        for bits in 0..16u8 {
            let c = Compare(bits);
            assert_eq!(c.holds(1.0, 2.0), bits & 1 != 0);
            assert_eq!(c.holds(2.0, 2.0), bits & 2 != 0);
            assert_eq!(c.holds(3.0, 2.0), bits & 4 != 0);
            assert_eq!(c.holds(f32::NAN, 2.0), bits & 8 != 0);
        }
    }

    #[test]
    fn a_row_and_a_sample_agree() {
        let planes =
            [[0.03, -0.01, 0.1], [0.0, 0.0, 0.5], [f32::NAN, 0.0, 0.0], [-0.02, 0.04, 0.7]];
        for (number, plane) in planes.iter().enumerate() {
            for (bits, write, unorm_bits) in (0..16).flat_map(|b| {
                [(b, true, 0), (b, true, 16), (b, true, 24), (b, false, number as u32 % 2 * 16)]
            }) {
                let tests = Tests { depth: Compare(bits), write, stencil: None };
                let [mut rows, mut singles] =
                    [0, 1].map(|_| Buffer { unorm_bits, ..Buffer::default() });
                for p in [&mut rows, &mut singles] {
                    p.clear(4, 0.5, 0);
                }
                for (y, mask) in [(3, u32::MAX), (3, 0xf0ff_ff0f), (7, 0xffff_0000), (8, 0x11)] {
                    let (x0, fy) = (16.5, y as f32 + 0.25);
                    let mut expected = 0;
                    for x in (0..TILE_SIDE).filter(|x| mask >> x & 1 != 0) {
                        let z = at(plane, x0 + x as f32, fy).clamp(0.1, 0.9);
                        expected |= u32::from(singles.test(&tests, 1, x, y, z, None)) << x;
                    }
                    let passed = rows.test_row(&tests, [1, y], mask, plane, [x0, fy], [0.1, 0.9]);
                    assert_eq!(passed, expected, "{plane:?} {bits} {y}");
                }
                let [rows, singles] = [rows, singles].map(|p| p.depth);
                assert!(rows.iter().zip(&singles).all(|(a, b)| a.to_bits() == b.to_bits()));
            }
        }
    }

    /// Testing several rows gives the same result as testing each.
    #[test]
    fn rows_together_and_one_by_one_agree() {
        let planes = [[0.03, -0.01, 0.1], [f32::NAN, 0.0, 0.0], [-0.02, 0.04, 0.7]];
        let masks: [u32; TILE_SIDE] =
            std::array::from_fn(|y| (y as u32 * 0x9e37_79b9) & if y == 9 { 0 } else { u32::MAX });
        for (bits, write, unorm_bits) in
            (0..16).flat_map(|b| [(b, true, 0), (b, false, 0), (b, true, 16), (b, true, 24)])
        {
            let tests = Tests { depth: Compare(bits), write, stencil: None };
            let [mut together, mut single] =
                [0, 1].map(|_| Buffer { unorm_bits, ..Buffer::default() });
            for p in [&mut together, &mut single] {
                p.clear(4, 0.5, 0);
            }
            for plane in &planes {
                let mut covered = masks;
                let at = [16.5, 0.25];
                together.test_rows(&tests, 1, 3..29, &mut covered, plane, at, [0.1, 0.9]);
                for (y, (&left, &mask)) in covered.iter().zip(&masks).enumerate() {
                    let at = [at[0], y as f32 + at[1]];
                    let want = match y {
                        3..29 => single.test_row(&tests, [1, y], mask, plane, at, [0.1, 0.9]),
                        _ => mask,
                    };
                    assert_eq!(left, want, "{bits} {unorm_bits} {y}");
                }
                let [a, b] = [&together, &single].map(|p| p.depth.iter().map(|z| z.to_bits()));
                assert!(a.eq(b));
            }
        }
    }

    #[test]
    fn depths_are_stored_as_their_definition_says() {
        let mut planes = Buffer { unorm_bits: 16, ..Buffer::default() };
        let odd =
            [f32::NAN, -1.0, -0.0, 2.0, f32::INFINITY, 0.5, 1.0, 1.5 / 65535.0, 2.5 / 65535.0];
        for y in 0..TILE_SIDE {
            for x in 0..TILE_SIDE {
                let z = odd.get(y * TILE_SIDE + x).copied();
                planes.depth_row(1, y)[x] = z.unwrap_or((y * TILE_SIDE + x) as f32 * 0.000_977_3);
            }
        }
        let mut texels = [[0; TILE_SIDE]; TILE_SIDE];
        planes.depth_texels(1, &mut texels);
        for (y, texels) in texels.iter().enumerate() {
            for (&z, &texel) in planes.depth_row(1, y).iter().zip(texels) {
                // A cast turns NaN into 0.
                let expected = (z.clamp(0.0, 1.0) * 65535.0).round_ties_even() as u32;
                assert_eq!(texel, expected, "{z}");
            }
        }
    }

    #[test]
    fn stencil_operations_follow_the_outcome() {
        let stencil = Stencil {
            compare: Compare::EQUAL,
            reference: 0x15,
            read_mask: 0x0f,
            write_mask: 0xf7,
            fail: StencilOp::Zero,
            depth_fail: StencilOp::IncrSat,
            pass: StencilOp::Replace,
        };
        let tests = Tests { depth: Compare::LESS, write: true, stencil: Some(stencil) };
        let mut planes = Buffer::default();
        planes.clear(1, 0.5, 0x25);
        assert!(planes.test(&tests, 0, 0, 0, 0.25, None));
        assert_eq!(planes.stencil[0], 0x15);
        assert!(!planes.test(&tests, 0, 1, 0, 0.75, None));
        assert_eq!(planes.stencil[1], 0x26);
        assert!(!planes.test(&tests, 0, 2, 0, 0.25, Some(0x04)));
        assert_eq!(planes.stencil[2], 0);
    }

    #[test]
    fn samples_and_rows_have_places_of_their_own() {
        let mut planes = Buffer::default();
        let number = |sample: usize, y: usize, x: usize| ((sample * TILE_SIDE + y) * 32 + x) as u32;
        for (sample, y) in (0..4).flat_map(|s| (0..TILE_SIDE).map(move |y| (s, y))) {
            let texels: [u32; TILE_SIDE] =
                std::array::from_fn(|x| (number(sample, y, x) as f32).to_bits());
            planes.put_depth(sample, y, &texels);
            planes.put_stencil(sample, y, &texels.map(|_| (sample * TILE_SIDE + y) as u32));
        }
        for sample in 0..4 {
            let mut depths = [[0; TILE_SIDE]; TILE_SIDE];
            planes.depth_texels(sample, &mut depths);
            let mut stencils = [[0; TILE_SIDE]; TILE_SIDE];
            planes.stencil_texels(sample, &mut stencils);
            for (y, x) in (0..TILE_SIDE).flat_map(|y| (0..TILE_SIDE).map(move |x| (y, x))) {
                assert_eq!(f32::from_bits(depths[y][x]), number(sample, y, x) as f32);
                assert_eq!(stencils[y][x], (sample * TILE_SIDE + y) as u32);
            }
        }
    }

    /// source: Vulkan specification, "VkStencilOp"
    #[test]
    fn stencil_operations_are_those_of_the_specification() {
        let reference = 0x5a;
        for old in 0..=255u8 {
            let wide = i32::from(old);
            for (operation, want) in [
                (StencilOp::Keep, wide),
                (StencilOp::Zero, 0),
                (StencilOp::Replace, 0x5a),
                (StencilOp::IncrSat, (wide + 1).min(255)),
                (StencilOp::DecrSat, (wide - 1).max(0)),
                (StencilOp::Invert, 255 - wide),
                (StencilOp::IncrWrap, (wide + 1).rem_euclid(256)),
                (StencilOp::DecrWrap, (wide - 1).rem_euclid(256)),
            ] {
                assert_eq!(
                    i32::from(operate(operation, old, reference)),
                    want,
                    "{operation:?} {old}"
                );
            }
        }
    }

    /// Bytes are compared without sign, and within the read mask alone.
    #[test]
    fn stencils_are_compared_as_unsigned_bytes() {
        for bits in 0..8u8 {
            for (new, old) in [(0u8, 0u8), (1, 0), (0, 1), (255, 1), (1, 255), (128, 127)] {
                let want = match new.cmp(&old) {
                    std::cmp::Ordering::Less => bits & 1 != 0,
                    std::cmp::Ordering::Equal => bits & 2 != 0,
                    std::cmp::Ordering::Greater => bits & 4 != 0,
                };
                assert_eq!(Compare(bits).holds_bytes(new, old), want, "{bits:#b} {new} {old}");
            }
        }
    }

    /// Pixels that are not in the mask keep their stencil.
    #[test]
    fn rows_with_a_stencil_test_the_pixels_of_their_mask() {
        let stencil = Stencil {
            compare: Compare::ALWAYS,
            reference: 7,
            read_mask: 0xff,
            write_mask: 0xff,
            fail: StencilOp::Keep,
            depth_fail: StencilOp::Keep,
            pass: StencilOp::Replace,
        };
        let tests = Tests { depth: Compare::LESS, write: true, stencil: Some(stencil) };
        let mut planes = Buffer::default();
        planes.clear(4, 0.5, 1);
        let mask = 0x8421_00f3;
        let passed = planes.test_row(&tests, [2, 5], mask, &[0.0, 0.0, 0.25], [0.0; 2], [0.0, 1.0]);
        assert_eq!(passed, mask);
        let mut stencils = [[0; TILE_SIDE]; TILE_SIDE];
        planes.stencil_texels(2, &mut stencils);
        for (x, &stencil) in stencils[5].iter().enumerate() {
            let (z, s) = if mask >> x & 1 != 0 { (0.25, 7) } else { (0.5, 1) };
            assert_eq!((planes.depth_row(2, 5)[x], stencil), (z, s), "{x}");
        }
    }

    /// A depth of fixed point is the nearest multiple of 1 / (2^bits - 1).
    #[test]
    fn written_depths_are_those_of_their_bits() {
        let tests = Tests { depth: Compare::ALWAYS, write: true, stencil: None };
        for bits in [16, 24] {
            let mut planes = Buffer { unorm_bits: bits, ..Buffer::default() };
            let most = f64::from((1u32 << bits) - 1);
            for z in [-0.5f32, 0.0, 1e-5, 0.123, 0.5, 0.7, 0.999, 1.0, 3.0] {
                assert!(planes.test(&tests, 3, 1, 2, z, None));
                let steps = f64::from(planes.depth_row(3, 2)[1]) * most;
                let want = f64::from(z.clamp(0.0, 1.0)) * most;
                // Floats near 1 are spaced by a step of 24 bits.
                assert!((steps - want).abs() <= 1.0, "{bits} {z}: {steps}, not {want}");
                assert!(bits == 24 || (steps - steps.round()).abs() < 0.01, "{z}: {steps}");
            }
        }
    }

    #[test]
    fn trivial_tests_pass_all_and_write_nothing() {
        assert!(Tests::NONE.is_trivial());
        assert!(Tests { depth: Compare::ALWAYS, ..Tests::NONE }.is_trivial());
        assert!(!Tests { depth: Compare::LESS, ..Tests::NONE }.is_trivial());
        assert!(!Tests { write: true, ..Tests::NONE }.is_trivial());
        let stencil = Stencil {
            compare: Compare::ALWAYS,
            reference: 0,
            read_mask: 0,
            write_mask: 0,
            fail: StencilOp::Keep,
            depth_fail: StencilOp::Keep,
            pass: StencilOp::Keep,
        };
        assert!(!Tests { stencil: Some(stencil), ..Tests::NONE }.is_trivial());
    }
}
