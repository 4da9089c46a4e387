//! Auxiliary surfaces: the blocks that fast clears mark, and the effects of later writes and resolves.

use tepui_intel_model::{Options, Report, ReportKind};
use tepui_intel_packets::output::{
    CompareFunction, State3dViewportStatePointersCc, State3dWmDepthStencil,
};
use tepui_intel_packets::pixel::State3dWmHzOp;
use tepui_intel_packets::surface::{AuxiliarySurfaceMode, RenderSurfaceState};

use crate::bench::{BASE, Bench, CCS, COLOUR, DEPTH, HIZ, SIZE, VIEWPORT, assert_filled};

/// The clear colour of the surface state as R8G8B8A8_UNORM.
const CLEAR: u32 = 0xff00_00ff;

fn bytes(bench: &Bench, at: u64, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    bench.vm.read(BASE + at, &mut bytes).unwrap();
    bytes
}

/// A bench whose render target has a CCS, with all blocks of the upper 32 rows cleared.
fn cleared() -> Bench {
    cleared_of(Bench::new())
}

fn cleared_of(mut bench: Bench) -> Bench {
    let surface = RenderSurfaceState {
        auxiliary_surface_mode: AuxiliarySurfaceMode::AuxCcsD,
        auxiliary_surface_base_address: BASE + CCS,
        ..Bench::surface()
    };
    bench.set_surface(&surface);
    bench.operation(true, 0);
    // A pixel covers 64 by 32.
    let pixels = bench.draw([0.0, 0.0, 1.0, 1.0], 0.0);
    assert_filled(&pixels, [0; 4], 0, 0);
    bench.operation(false, 0);
    bench
}

/// Asserts that a pixel was drawn at (12, 5), and that a rectangle around it has the clear colour.
fn assert_drawn(mut pixels: Vec<u32>, rectangle: [u32; 4]) {
    let at = (5 * SIZE[0] + 12) as usize;
    assert_eq!(pixels[at], COLOUR);
    pixels[at] = CLEAR;
    assert_filled(&pixels, rectangle, CLEAR, 0);
}

#[test]
fn a_fast_clear_marks_blocks_and_leaves_memory() {
    let bench = cleared();
    // Six by eight blocks of two bits, two by two per byte, eight bytes per row.
    let ccs = bytes(&bench, CCS, 64);
    let marked = |x: usize, y: usize| x < 3 && y < 4;
    for (at, byte) in ccs.into_iter().enumerate() {
        assert_eq!(byte, if marked(at % 8, at / 8) { 0xff } else { 0 }, "{at}");
    }
}

#[test]
fn a_write_gives_its_block_the_clear_colour() {
    let mut bench = cleared();
    let pixels = bench.draw([12.0, 5.0, 13.0, 6.0], 0.0);
    assert_drawn(pixels, [8, 4, 16, 8]);
}

#[test]
fn a_resolve_gives_all_blocks_the_clear_colour() {
    for kind in [1, 3] {
        let mut bench = cleared();
        bench.draw([12.0, 5.0, 13.0, 6.0], 0.0);
        bench.operation(false, kind);
        let pixels = bench.draw([0.0, 0.0, 1.0, 2.0], 0.0);
        assert_drawn(pixels, [0, 0, 48, 32]);
        assert_eq!(bytes(&bench, CCS, 4096), [0; 4096]);
    }
}

/// A depth buffer whose hierarchical buffer marks no block as clear.
fn depths() -> Bench {
    depths_of(Bench::new())
}

fn depths_of(mut bench: Bench) -> Bench {
    bench.put(HIZ, &[1; 4096]);
    bench.depth_buffer(0.5, true);
    let viewport = State3dViewportStatePointersCc { cc_viewport_pointer: VIEWPORT };
    bench.add(&viewport.pack().unwrap());
    let tests = State3dWmDepthStencil {
        depth_test_enable: true,
        depth_test_function: CompareFunction::Less,
        ..State3dWmDepthStencil::default()
    };
    bench.add(&tests.pack().unwrap());
    bench
}

#[test]
fn a_clear_depth_is_tested_and_not_in_memory() {
    let mut bench = depths();
    // The block at (16, 28) is partly covered, so its depths are in memory.
    let clear = State3dWmHzOp { depth_buffer_clear_enable: true, ..Bench::area([0, 0, 20, 30]) };
    bench.hz_op(&clear);
    let pixels = bench.draw([4.0, 4.0, 44.0, 36.0], 0.25);
    assert_filled(&pixels, [4, 4, 20, 30], COLOUR, 0);
    // In a Y tile a row of eight pixels of 16 bits is 16 bytes.
    assert_eq!(bytes(&bench, DEPTH, 16), [0; 16]);
    assert_eq!(bytes(&bench, DEPTH + 2 * 512 + 28 * 16, 2), 0x8000u16.to_le_bytes());
    assert_eq!(bytes(&bench, HIZ, 16), [0; 16]);
    // A rectangle elsewhere, so that only the resolve writes depth.
    let resolve = State3dWmHzOp {
        depth_buffer_resolve_enable: true,
        ..Bench::area([0, 0, SIZE[0], SIZE[1]])
    };
    bench.hz_op(&resolve);
    bench.draw([4.0, 4.0, 5.0, 5.0], 0.75);
    assert_eq!(bytes(&bench, DEPTH, 2), 0x8000u16.to_le_bytes());
    assert_ne!(bytes(&bench, HIZ, 16), [0; 16]);
}

#[test]
fn a_resolve_of_the_hierarchical_buffer_brings_memory_back() {
    let mut bench = depths();
    let clear =
        State3dWmHzOp { depth_buffer_clear_enable: true, ..Bench::area([0, 0, SIZE[0], SIZE[1]]) };
    bench.hz_op(&clear);
    let resolve = State3dWmHzOp {
        hierarchical_depth_buffer_resolve_enable: true,
        ..Bench::area([0, 0, 24, SIZE[1]])
    };
    bench.hz_op(&resolve);
    // Memory has 0 everywhere, and only blocks that are still clear pass.
    let pixels = bench.draw([4.0, 4.0, 44.0, 36.0], 0.25);
    assert_filled(&pixels, [24, 4, 44, 36], COLOUR, 0);
}

#[test]
fn a_draw_writes_depths_of_clear_blocks() {
    let mut bench = depths();
    bench.put(HIZ, &[0; 4096]);
    let tests = State3dWmDepthStencil {
        depth_test_enable: true,
        depth_buffer_write_enable: true,
        depth_test_function: CompareFunction::Less,
        ..State3dWmDepthStencil::default()
    };
    bench.add(&tests.pack().unwrap());
    let pixels = bench.draw([1.0, 0.0, 44.0, 36.0], 0.25);
    assert_filled(&pixels, [1, 0, 44, 36], COLOUR, 0);
    let depths = [0x8000u16, 0x4000].map(u16::to_le_bytes).concat();
    assert_eq!(bytes(&bench, DEPTH, 4), depths);
    assert_ne!(bytes(&bench, HIZ, 16), [0; 16]);
}

/// A bench that is checked.
fn checked() -> Bench {
    Bench::with(Options { threads: 2, check: true, ..Options::default() })
}

/// The findings about compression of a draw.
fn findings(bench: &mut Bench) -> Vec<String> {
    let (_, stats) = bench.draw_counted([4.0, 4.0, 44.0, 36.0], 0.25);
    let of_compression = |report: &&Report| report.kind == ReportKind::CompressionState;
    stats.reports.iter().filter(of_compression).map(|report| report.what.clone()).collect()
}

#[test]
fn depth_under_a_hierarchy_is_resolved_before_it_is_read_as_plain() {
    let whole = Bench::area([0, 0, SIZE[0], SIZE[1]]);
    let clear = State3dWmHzOp { depth_buffer_clear_enable: true, ..whole };
    for resolves in [false, true] {
        let mut bench = depths_of(checked());
        bench.hz_op(&clear);
        assert_eq!(findings(&mut bench), Vec::<String>::new());
        if resolves {
            bench.hz_op(&State3dWmHzOp { depth_buffer_resolve_enable: true, ..whole });
        }
        bench.depth_buffer(0.5, false);
        let found = findings(&mut bench);
        assert_eq!(found.iter().any(|what| what.contains("a resolve is missing")), !resolves);
    }
}

#[test]
fn a_hierarchy_is_told_of_plain_writes() {
    let whole = Bench::area([0, 0, SIZE[0], SIZE[1]]);
    for tells in [false, true] {
        let mut bench = depths_of(checked());
        bench.hz_op(&State3dWmHzOp { depth_buffer_clear_enable: true, ..whole });
        bench.hz_op(&State3dWmHzOp { depth_buffer_resolve_enable: true, ..whole });
        bench.depth_buffer(0.5, false);
        bench.hz_op(&State3dWmHzOp { depth_buffer_clear_enable: true, ..whole });
        bench.depth_buffer(0.5, true);
        if tells {
            let tell = State3dWmHzOp { hierarchical_depth_buffer_resolve_enable: true, ..whole };
            bench.hz_op(&tell);
        }
        let found = findings(&mut bench);
        assert_eq!(found.iter().any(|what| what.contains("written past")), !tells);
    }
}

#[test]
fn clear_blocks_are_used_with_the_colour_that_they_were_cleared_to() {
    // While nothing was drawn, another colour clears all blocks again.
    for (draws, other) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut bench = cleared_of(checked());
        if draws {
            bench.draw([12.0, 5.0, 13.0, 6.0], 0.0);
        }
        if other {
            let surface = RenderSurfaceState {
                auxiliary_surface_mode: AuxiliarySurfaceMode::AuxCcsD,
                auxiliary_surface_base_address: BASE + CCS,
                green_clear_color: 1.0f32.to_bits(),
                ..Bench::surface()
            };
            bench.set_surface(&surface);
        }
        let found = findings(&mut bench);
        assert_eq!(found.iter().any(|what| what.contains("another clear colour")), draws && other);
    }
}
