//! Any plane, rectangle, stride and buffers: every element is at its address by the plane's definition, or
//! the result is an error and nothing was written.

#![no_main]
#![allow(non_snake_case)]

use libfuzzer_sys::{arbitrary::Unstructured, fuzz_target};
use tepui_tiling::{Order, Plane, Rect, Threads, detile, tile};

fuzz_target!(|input: &[u8]| {
    let u = &mut Unstructured::new(input);
    let small = |u: &mut Unstructured, max: u32| u.int_in_range(0..=max).unwrap_or(1);
    let any = |u: &mut Unstructured, max: u32| match u.arbitrary::<u8>() {
        Ok(0) => u.arbitrary().unwrap_or(0),
        _ => u.int_in_range(0..=max).unwrap_or(0),
    };
    let order = [Order::Morton, Order::UInterleaved, Order::Raster][small(u, 2) as usize];
    let element_B = small(u, 64);
    let extent = (any(u, 200), any(u, 200));
    let tile_el = (1 << small(u, 9), 1 << small(u, 9));
    let row_B = u64::from(any(u, 1 << 18));
    let Ok(plane) = Plane::new(order, element_B, extent, tile_el, row_B) else { return };
    let rect = Rect { x: any(u, 200), y: any(u, 200), w: any(u, 200), h: any(u, 200) };
    let stride_B = any(u, 4096) as usize;
    let (tiled_B, linear_B) = (small(u, 1 << 20) as usize, small(u, 1 << 19) as usize);
    let linear: Vec<u8> = (0..linear_B).map(|i| (i * 7 + i / 256) as u8).collect();
    let mut tiled = vec![0xaa; tiled_B];
    if tile(&plane, &mut tiled, &linear, stride_B, rect, Threads::One).is_err() {
        assert!(tiled.iter().all(|&b| b == 0xaa), "a refused move writes nothing");
        return;
    }
    if rect.w == 0 || rect.h == 0 {
        return;
    }
    let n = element_B as usize;
    for y in 0..rect.h {
        for x in 0..rect.w {
            let (to, from) =
                (plane.offset_B(rect.x + x, rect.y + y), y as usize * stride_B + x as usize * n);
            assert!(tiled[to..to + n] == linear[from..from + n], "({x}, {y})");
        }
    }
    let mut back = vec![0x55; linear_B];
    detile(&plane, &tiled, &mut back, stride_B, rect, Threads::One).expect("it was tiled");
    for y in 0..rect.h as usize {
        let row = y * stride_B..y * stride_B + rect.w as usize * n;
        assert!(back[row.clone()] == linear[row]);
    }
});
