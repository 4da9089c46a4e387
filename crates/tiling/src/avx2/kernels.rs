//! The shuffles that turn rows into chunks and back, one [`Kernel`] for each element size.
//!
//! `mod.rs` defines brick, column and chunk. Comments name elements by row and column: `a3` is
//! element 3 of row a.

use std::arch::x86_64::*;

/// The shuffles of one element size, for bricks of `R` rows.
pub(super) trait Kernel<const R: usize> {
    /// Stride of the pairs of chunks of a column, in bytes.
    const PAIR_B: usize = 32;

    /// Turns the rows of two columns into chunks in the order of the curve, each lane separately.
    /// `y` is the first row within its tile; with `TWIST`, the curve is the u-interleaved one.
    ///
    /// # Safety
    ///
    /// The processor has AVX2.
    unsafe fn chunks<const TWIST: bool>(rows: [__m256i; R], y: u32) -> [__m256i; R];

    /// The inverse of `chunks`.
    ///
    /// # Safety
    ///
    /// The processor has AVX2.
    unsafe fn rows<const TWIST: bool>(chunks: [__m256i; R], y: u32) -> [__m256i; R];

    /// The start addresses of the left and the right column, exchanged where the curve exchanges
    /// the columns of this pair of chunks.
    #[inline]
    fn columns<const TWIST: bool, P: Copy>(left: P, right: P, _pair: usize) -> (P, P) {
        (left, right)
    }

    /// Copies a brick to the tiled side, where its columns start at `left` and `right`.
    ///
    /// # Safety
    ///
    /// The processor has AVX2; `R` rows of 32 bytes from `linear` on can be read, `16 * R` bytes
    /// from `left` and `right` on written.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn tile<const TWIST: bool>(
        linear: *const u8,
        stride_B: usize,
        y: u32,
        left: *mut u8,
        right: *mut u8,
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            let mut rows = [_mm256_setzero_si256(); R];
            for (i, row) in rows.iter_mut().enumerate() {
                *row = _mm256_loadu_si256(linear.add(i * stride_B).cast());
            }
            let chunks = Self::chunks::<TWIST>(rows, y);
            for i in (0..R).step_by(2) {
                let (a, b) = (chunks[i], chunks[i + 1]);
                let at = Self::PAIR_B * (i / 2);
                let (left, right) = Self::columns::<TWIST, _>(left, right, i / 2);
                _mm256_storeu_si256(left.add(at).cast(), _mm256_permute2x128_si256::<0x20>(a, b));
                _mm256_storeu_si256(right.add(at).cast(), _mm256_permute2x128_si256::<0x31>(a, b));
            }
        }
    }

    /// Copies a brick from the tiled side.
    ///
    /// # Safety
    ///
    /// As for `tile`, with reading and writing exchanged.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn detile<const TWIST: bool>(
        linear: *mut u8,
        stride_B: usize,
        y: u32,
        left: *const u8,
        right: *const u8,
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            let mut chunks = [_mm256_setzero_si256(); R];
            for (i, chunk) in chunks.iter_mut().enumerate() {
                let at = Self::PAIR_B * (i / 2) + 16 * (i % 2);
                let (left, right) = Self::columns::<TWIST, _>(left, right, i / 2);
                *chunk = _mm256_loadu2_m128i(right.add(at).cast(), left.add(at).cast());
            }
            let rows = Self::rows::<TWIST>(chunks, y);
            for (i, row) in rows.into_iter().enumerate() {
                _mm256_storeu_si256(linear.add(i * stride_B).cast(), row);
            }
        }
    }
}

/// In each lane, two 32-bit units of `a`, then two of `b`.
#[inline]
#[target_feature(enable = "avx2")]
fn select<const WHICH: i32>(a: __m256i, b: __m256i) -> __m256i {
    let (a, b) = (_mm256_castsi256_ps(a), _mm256_castsi256_ps(b));
    _mm256_castps_si256(_mm256_shuffle_ps::<WHICH>(a, b))
}

/// Shuffles the bytes of both lanes by `indices`.
#[inline]
#[target_feature(enable = "avx2")]
fn shuffle(value: __m256i, indices: &[u8; 16]) -> __m256i {
    // SAFETY: an unaligned load of 16 bytes that are there.
    let indices = unsafe { _mm_loadu_si128(indices.as_ptr().cast()) };
    _mm256_shuffle_epi8(value, _mm256_broadcastsi128_si256(indices))
}

/// Bytes.
pub(super) struct B1;

/// The byte shuffles between a chunk of 4×4 bytes and its four rows, for chunk number `chunk` of
/// four, with the rows rotated by `chunk` as [`transpose_rotated`] expects them. `twist` selects
/// the u-interleaved curve.
const fn chunk_shuffles(to_rows: bool, twist: bool) -> [[u8; 16]; 4] {
    let mut all = [[0; 16]; 4];
    let mut i = 0;
    while i < 4 * 16 {
        let (chunk, x, y) = (i / 16, i % 4, i / 4 % 4);
        let u = if twist { x ^ y } else { x };
        let along_curve = (u & 1) | (y & 1) << 1 | (u & 2) << 1 | (y & 2) << 2;
        let in_rows = (y + chunk) % 4 * 4 + x;
        if to_rows {
            all[chunk][in_rows] = along_curve as u8;
        } else {
            all[chunk][along_curve] = in_rows as u8;
        }
        i += 1;
    }
    all
}

static TO_ROWS: [[[u8; 16]; 4]; 2] = [chunk_shuffles(true, false), chunk_shuffles(true, true)];
static TO_CHUNK: [[[u8; 16]; 4]; 2] = [chunk_shuffles(false, false), chunk_shuffles(false, true)];

/// Transposes 4×4 units of 32 bits that are rotated: unit j of row k is at position j + k before
/// and after. Rotated rows need only blends, which have a higher throughput than shuffles.
#[inline]
#[target_feature(enable = "avx2")]
fn transpose_rotated([a, b, c, d]: [__m256i; 4]) -> [__m256i; 4] {
    const ODD: i32 = 0b1010_1010;
    const HIGH: i32 = 0b1100_1100;
    let ab = _mm256_blend_epi32::<ODD>(a, b);
    let cd = _mm256_blend_epi32::<ODD>(c, d);
    let da = _mm256_blend_epi32::<ODD>(d, a);
    let bc = _mm256_blend_epi32::<ODD>(b, c);
    [
        _mm256_blend_epi32::<HIGH>(ab, cd),
        _mm256_blend_epi32::<HIGH>(da, bc),
        _mm256_blend_epi32::<HIGH>(cd, ab),
        _mm256_blend_epi32::<HIGH>(bc, da),
    ]
}

/// For four rows whose first is row 4·`t` of a tile: the byte shuffles that rotate the units of row
/// k for [`transpose_rotated`], or back. On the u-interleaved curve, unit j belongs to chunk j ^ t.
const fn rotations(back: bool) -> [[[u8; 16]; 4]; 4] {
    let mut all = [[[0; 16]; 4]; 4];
    let mut i = 0;
    while i < 4 * 4 * 16 {
        let (t, k, unit, byte) = (i / 64, i / 16 % 4, i / 4 % 4, i % 4);
        let straight = unit * 4 + byte;
        let rotated = ((unit ^ t) + k) % 4 * 4 + byte;
        if back {
            all[t][k][straight] = rotated as u8;
        } else {
            all[t][k][rotated] = straight as u8;
        }
        i += 1;
    }
    all
}

static ROTATE: [[[u8; 16]; 4]; 4] = rotations(false);
static ROTATE_BACK: [[[u8; 16]; 4]; 4] = rotations(true);

/// Shuffles the bytes of each register by its own indices.
#[inline]
#[target_feature(enable = "avx2")]
fn shuffle_each([a, b, c, d]: [__m256i; 4], by: &[[u8; 16]; 4]) -> [__m256i; 4] {
    [shuffle(a, &by[0]), shuffle(b, &by[1]), shuffle(c, &by[2]), shuffle(d, &by[3])]
}

/// Four rows of a column make two pairs of chunks. They are not adjacent: the pair of the next four
/// rows lies between them.
impl Kernel<4> for B1 {
    const PAIR_B: usize = 64;

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn chunks<const TWIST: bool>(rows: [__m256i; 4], y: u32) -> [__m256i; 4] {
        let t = if TWIST { y as usize / 4 % 4 } else { 0 };
        let rotated = shuffle_each(rows, &ROTATE[t]);
        shuffle_each(transpose_rotated(rotated), &TO_CHUNK[usize::from(TWIST)])
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn rows<const TWIST: bool>(chunks: [__m256i; 4], y: u32) -> [__m256i; 4] {
        let t = if TWIST { y as usize / 4 % 4 } else { 0 };
        let rotated = shuffle_each(chunks, &TO_ROWS[usize::from(TWIST)]);
        shuffle_each(transpose_rotated(rotated), &ROTATE_BACK[t])
    }
}

/// Eight rows fill the gaps, so that whole cache lines are copied.
impl Kernel<8> for B1 {
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn chunks<const TWIST: bool>(r: [__m256i; 8], y: u32) -> [__m256i; 8] {
        // SAFETY: the caller's promise.
        let (a, b) = unsafe {
            (
                <B1 as Kernel<4>>::chunks::<TWIST>([r[0], r[1], r[2], r[3]], y),
                <B1 as Kernel<4>>::chunks::<TWIST>([r[4], r[5], r[6], r[7]], y + 4),
            )
        };
        [a[0], a[1], b[0], b[1], a[2], a[3], b[2], b[3]]
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn rows<const TWIST: bool>(c: [__m256i; 8], y: u32) -> [__m256i; 8] {
        // SAFETY: the caller's promise.
        let (a, b) = unsafe {
            (
                <B1 as Kernel<4>>::rows::<TWIST>([c[0], c[1], c[4], c[5]], y),
                <B1 as Kernel<4>>::rows::<TWIST>([c[2], c[3], c[6], c[7]], y + 4),
            )
        };
        [a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]]
    }
}

/// Elements of two bytes.
pub(super) struct B2;

/// For row y of a tile, the byte shuffle that exchanges elements x and x ^ y. It is its own
/// inverse.
static TWIST2: [[u8; 16]; 8] = {
    let mut all = [[0; 16]; 8];
    let mut i = 0;
    while i < 8 * 16 {
        let (y, byte) = (i / 16, i % 16);
        all[y][byte] = (((byte / 2) ^ y) * 2 + byte % 2) as u8;
        i += 1;
    }
    all
};

impl B2 {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn twist<const TWIST: bool>(mut rows: [__m256i; 4], y: u32) -> [__m256i; 4] {
        if TWIST {
            for (i, row) in (y as usize..).zip(&mut rows) {
                *row = shuffle(*row, &TWIST2[i % 8]);
            }
        }
        rows
    }
}

impl Kernel<4> for B2 {
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn chunks<const TWIST: bool>(rows: [__m256i; 4], y: u32) -> [__m256i; 4] {
        let [a, b, c, d] = B2::twist::<TWIST>(rows, y);
        // a0 a1 b0 b1 a2 a3 b2 b3, and so on.
        [
            _mm256_unpacklo_epi32(a, b),
            _mm256_unpacklo_epi32(c, d),
            _mm256_unpackhi_epi32(a, b),
            _mm256_unpackhi_epi32(c, d),
        ]
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn rows<const TWIST: bool>(c: [__m256i; 4], y: u32) -> [__m256i; 4] {
        let rows = [
            select::<0b10_00_10_00>(c[0], c[2]),
            select::<0b11_01_11_01>(c[0], c[2]),
            select::<0b10_00_10_00>(c[1], c[3]),
            select::<0b11_01_11_01>(c[1], c[3]),
        ];
        B2::twist::<TWIST>(rows, y)
    }
}

/// Elements of four bytes.
pub(super) struct B4;

impl Kernel<4> for B4 {
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn chunks<const TWIST: bool>([a, b, c, d]: [__m256i; 4], _y: u32) -> [__m256i; 4] {
        if TWIST {
            // a0 a1 b1 b0, a2 a3 b3 b2, c2 c3 d3 d2, c0 c1 d1 d0.
            [
                select::<0b00_01_01_00>(a, b),
                select::<0b10_11_11_10>(a, b),
                select::<0b10_11_11_10>(c, d),
                select::<0b00_01_01_00>(c, d),
            ]
        } else {
            // a0 a1 b0 b1, a2 a3 b2 b3, and so on.
            [
                _mm256_unpacklo_epi64(a, b),
                _mm256_unpackhi_epi64(a, b),
                _mm256_unpacklo_epi64(c, d),
                _mm256_unpackhi_epi64(c, d),
            ]
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn rows<const TWIST: bool>(c: [__m256i; 4], _y: u32) -> [__m256i; 4] {
        if TWIST {
            [
                select::<0b01_00_01_00>(c[0], c[1]),
                select::<0b10_11_10_11>(c[0], c[1]),
                select::<0b01_00_01_00>(c[3], c[2]),
                select::<0b10_11_10_11>(c[3], c[2]),
            ]
        } else {
            [
                _mm256_unpacklo_epi64(c[0], c[1]),
                _mm256_unpackhi_epi64(c[0], c[1]),
                _mm256_unpacklo_epi64(c[2], c[3]),
                _mm256_unpackhi_epi64(c[2], c[3]),
            ]
        }
    }
}

/// Elements of eight bytes. A brick is 4×4 elements; two rows of both columns are contiguous. On
/// the u-interleaved curve the lower pair of rows has its columns exchanged.
pub(super) struct B8;

impl B8 {
    /// On the u-interleaved curve, odd rows have the two elements of each column exchanged.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn twist<const TWIST: bool>([a, b, c, d]: [__m256i; 4]) -> [__m256i; 4] {
        let swap = |row| _mm256_shuffle_epi32::<0b01_00_11_10>(row);
        if TWIST { [a, swap(b), c, swap(d)] } else { [a, b, c, d] }
    }
}

impl Kernel<4> for B8 {
    const PAIR_B: usize = 64;

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn chunks<const TWIST: bool>(rows: [__m256i; 4], _y: u32) -> [__m256i; 4] {
        B8::twist::<TWIST>(rows)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn rows<const TWIST: bool>(chunks: [__m256i; 4], _y: u32) -> [__m256i; 4] {
        B8::twist::<TWIST>(chunks)
    }

    #[inline]
    fn columns<const TWIST: bool, P: Copy>(left: P, right: P, pair: usize) -> (P, P) {
        if TWIST && pair == 1 { (right, left) } else { (left, right) }
    }
}

/// Elements of sixteen bytes. An element fills a column. A brick starts in an even row; its two
/// columns are contiguous in memory and the row below follows them.
pub(super) struct B16;

impl Kernel<2> for B16 {
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn chunks<const TWIST: bool>([a, b]: [__m256i; 2], _y: u32) -> [__m256i; 2] {
        if TWIST { [a, _mm256_permute4x64_epi64::<0b01_00_11_10>(b)] } else { [a, b] }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn rows<const TWIST: bool>(chunks: [__m256i; 2], y: u32) -> [__m256i; 2] {
        // SAFETY: the permutation is its own inverse; the caller's promise.
        unsafe { Self::chunks::<TWIST>(chunks, y) }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn tile<const TWIST: bool>(
        linear: *const u8,
        stride_B: usize,
        y: u32,
        left: *mut u8,
        _right: *mut u8,
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            let (a, b) = (linear.cast(), linear.add(stride_B).cast());
            let rows = [_mm256_loadu_si256(a), _mm256_loadu_si256(b)];
            let [a, b] = Self::chunks::<TWIST>(rows, y);
            _mm256_storeu_si256(left.cast(), a);
            _mm256_storeu_si256(left.add(32).cast(), b);
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn detile<const TWIST: bool>(
        linear: *mut u8,
        stride_B: usize,
        y: u32,
        left: *const u8,
        _right: *const u8,
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            let (a, b) = (left.cast(), left.add(32).cast());
            let chunks = [_mm256_loadu_si256(a), _mm256_loadu_si256(b)];
            let [a, b] = Self::rows::<TWIST>(chunks, y);
            _mm256_storeu_si256(linear.cast(), a);
            _mm256_storeu_si256(linear.add(stride_B).cast(), b);
        }
    }
}
