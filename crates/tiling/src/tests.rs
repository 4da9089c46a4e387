use proptest::prelude::*;

use super::*;

/// The reference copy: element by element, with `Plane::offset_B`.
fn reference(
    plane: &Plane,
    tiled: &mut [u8],
    linear: &mut [u8],
    stride: usize,
    r: Rect,
    tile: bool,
) {
    let n = plane.element_B as usize;
    for (y, x) in (0..r.h).flat_map(|y| (0..r.w).map(move |x| (y, x))) {
        let (a, b) = (plane.offset_B(r.x + x, r.y + y), y as usize * stride + x as usize * n);
        let (a, b) = (&mut tiled[a..a + n], &mut linear[b..b + n]);
        if tile { a.copy_from_slice(b) } else { b.copy_from_slice(a) }
    }
}

fn noise(len: usize, seed: u32) -> Vec<u8> {
    let mut state = seed | 1;
    std::iter::repeat_with(|| {
        state = state.wrapping_mul(0x915f_77f5).wrapping_add(12345);
        (state >> 24) as u8
    })
    .take(len)
    .collect()
}

prop_compose! {
    fn planes()(
        order in prop::sample::select(&[Order::Morton, Order::UInterleaved, Order::Raster][..]),
        element_B in prop::sample::select(&[1u32, 2, 3, 4, 6, 8, 12, 16, 32, 64][..]),
        (log2_h, wide) in (0u32..=7, 0u32..=1),
        (width, height) in (1u32..300, 1u32..200),
        slack in 0u64..3,
    ) -> Plane {
        let log2_h = if order == Order::Raster { 0 } else { log2_h };
        let log2_w = log2_h + if order == Order::Morton { wide } else { 0 };
        let tile = (1 << log2_w, 1 << log2_h);
        let tile_B = u64::from(tile.0 * tile.1 * element_B);
        let row_B = (u64::from(width.div_ceil(tile.0)) + slack) * tile_B;
        Plane::new(order, element_B, (width, height), tile, row_B).unwrap()
    }
}

/// Tiles X, Y and W of Intel, one of 64 KiB, and others that no GPU has.
const BITS: &[AddressBits] = &[
    AddressBits { x: 0x1ff, y: 0xe00 },
    AddressBits { x: 0xe0f, y: 0x1f0 },
    AddressBits { x: 0xe15, y: 0x1ea },
    AddressBits { x: 0xaa8f, y: 0x5570 },
    AddressBits { x: 0x0ff, y: 0x100 },
    AddressBits { x: 0x3f, y: 0 },
];

prop_compose! {
    fn planes_by_bits()(
        bits in prop::sample::select(BITS),
        element in 0u32..7,
        (width, height) in (1u32..700, 1u32..200),
        slack in 0u64..3,
    ) -> Plane {
        // The largest element that the tile does not cut, or a smaller one.
        let element_B = 1 << element.min(bits.x.trailing_ones()).min(6);
        let (tile_w_B, tile_h) = bits.tile();
        let tiles = u64::from((width * element_B).div_ceil(tile_w_B)) + slack;
        let row_B = tiles * u64::from(tile_w_B * tile_h);
        let tile = (tile_w_B / element_B, tile_h);
        Plane::new(Order::Bits(bits), element_B, (width, height), tile, row_B).unwrap()
    }
}

#[test]
fn bits_say_where_bytes_are() {
    let plane = |bits, element_B| {
        let tile: (u32, u32) = AddressBits::tile(bits);
        let tile = (tile.0 / element_B, tile.1);
        Plane::new(Order::Bits(bits), element_B, (256, 256), tile, 1 << 20)
    };
    let y = plane(BITS[1], 4).unwrap();
    // Columns of 16 bytes, 32 rows each.
    assert_eq!([y.offset_B(3, 0), y.offset_B(4, 0), y.offset_B(0, 1)], [12, 512, 16]);
    assert_eq!([y.offset_B(32, 0), y.offset_B(0, 32)], [4096, 1 << 20]);
    let x = plane(BITS[0], 16).unwrap();
    assert_eq!([x.offset_B(31, 0), x.offset_B(32, 0), x.offset_B(0, 7)], [496, 4096, 3584]);
    // Elements that are cut, or of sizes that are no powers of two; masks that overlap or have gaps.
    for (bits, element_B) in [
        (BITS[2], 2),
        (BITS[1], 12),
        (AddressBits { x: 0xf, y: 0x18 }, 1),
        (AddressBits { x: 0xf, y: 0x20 }, 1),
        (AddressBits { x: 0xffff, y: 0x1_0000 }, 1),
    ] {
        let tile = bits.tile();
        let made = Plane::new(Order::Bits(bits), element_B, (8, 8), tile, 1 << 20);
        assert!(matches!(made, Err(PlaneError::TileSize(..))), "{bits:?} {element_B}");
    }
}

/// A plane, a rectangle of it, a row stride, a seed and how many threads.
type CopyCase = (Plane, Rect, usize, u32, Threads);

fn copies() -> impl Strategy<Value = CopyCase> {
    let threads = prop::sample::select(&[Threads::One, Threads::All][..]);
    (
        prop_oneof![2 => planes(), 1 => planes_by_bits()],
        any::<[u32; 4]>(),
        0usize..40,
        any::<u32>(),
        threads,
    )
        .prop_map(|(plane, [x, y, w, h], padding, seed, threads)| {
            let (x, y) = (x % plane.width_el, y % plane.height_el);
            let (w, h) = (w % (plane.width_el - x + 1), h % (plane.height_el - y + 1));
            let stride = w as usize * plane.element_B as usize + padding;
            (plane, Rect { x, y, w, h }, stride, seed, threads)
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn copies_equal_the_reference((plane, rect, stride, seed, threads) in copies()) {
        let tiled_B = plane.bytes_up_to(plane.width_el, plane.height_el);
        let linear_B = rect.h as usize * stride;
        let (mut tiled, linear) = (noise(tiled_B, seed), noise(linear_B, !seed));
        let (mut tiled2, mut linear2) = (tiled.clone(), linear.clone());
        tile(&plane, &mut tiled, &linear, stride, rect, threads).unwrap();
        reference(&plane, &mut tiled2, &mut linear2, stride, rect, true);
        prop_assert!(tiled == tiled2, "tile");
        // Then back into a different buffer: the rectangle is restored, the padding unchanged.
        let (mut back, mut back2) = (noise(linear_B, seed ^ 77), noise(linear_B, seed ^ 77));
        detile(&plane, &tiled, &mut back, stride, rect, threads).unwrap();
        reference(&plane, &mut tiled2, &mut back2, stride, rect, false);
        prop_assert!(back == back2, "detile");
        let row_B = rect.w as usize * plane.element_B as usize;
        for y in 0..rect.h as usize {
            prop_assert!(back[y * stride..][..row_B] == linear[y * stride..][..row_B]);
        }
    }

    /// Short buffers and rectangles outside the plane give errors, and nothing is written.
    #[test]
    fn bad_copies_are_refused(
        (plane, _, _, seed, threads) in copies(),
        rect in any::<[u32; 4]>(),
        small in any::<bool>(),
        stride in prop::sample::select(&[0usize, 1, 63, 4096, usize::MAX][..]),
        lengths in (0usize..20000, 0usize..20000),
    ) {
        let [x, y, w, h] = rect.map(|v| if small { v % 300 } else { v });
        let rect = Rect { x, y, w, h };
        let (mut tiled, linear) = (noise(lengths.0, seed), noise(lengths.1, !seed));
        let before = tiled.clone();
        if tile(&plane, &mut tiled, &linear, stride, rect, threads).is_err() {
            prop_assert!(tiled == before);
        }
        let mut linear2 = linear.clone();
        if detile(&plane, &tiled, &mut linear2, stride, rect, threads).is_err() {
            prop_assert!(linear2 == linear);
        }
    }
}

/// Copies that prefetch and use several threads equal the reference in every byte, for every
/// kernel, with rectangles that begin and end inside tiles.
#[test]
fn large_copies_equal_the_reference() {
    let orders = [Order::Morton, Order::UInterleaved, Order::Bits(BITS[0]), Order::Bits(BITS[1])];
    for order in orders {
        for element_B in [1u32, 2, 4, 8, 16] {
            // AGX's tiles fill 16 KiB.
            let log2_el = 14 - element_B.ilog2();
            let tile_el = match order {
                Order::Morton => (1 << log2_el.div_ceil(2), 1 << (log2_el / 2)),
                Order::Bits(bits) => (bits.tile().0 / element_B, bits.tile().1),
                _ => (16, 16),
            };
            let (w, h) = (4099 / element_B + 37, 2153);
            let row_B = u64::from(w.next_multiple_of(tile_el.0) * tile_el.1 * element_B);
            let plane = Plane::new(order, element_B, (w, h), tile_el, row_B).unwrap();
            let rect = Rect { x: 3, y: 5, w: w - 6, h: h - 7 };
            let stride = (rect.w * element_B) as usize + 64 % element_B as usize + 13;
            let mut linear = noise(rect.h as usize * stride, element_B);
            assert!(
                rect.w as usize * rect.h as usize * element_B as usize >= crate::job::PREFETCH_B
            );
            let before = noise(plane.bytes_up_to(w, h), 9);
            let mut expected = before.clone();
            reference(&plane, &mut expected, &mut linear, stride, rect, true);
            for threads in [Threads::One, Threads::All] {
                let mut tiled = before.clone();
                tile(&plane, &mut tiled, &linear, stride, rect, threads).unwrap();
                assert!(tiled == expected, "tile {order:?} {element_B} {threads:?}");
                let mut back = linear.clone();
                for row in back.chunks_mut(stride) {
                    row[..(rect.w * element_B) as usize].fill(0xee);
                }
                detile(&plane, &tiled, &mut back, stride, rect, threads).unwrap();
                assert!(back == linear, "detile {order:?} {element_B} {threads:?}");
            }
        }
    }
}
