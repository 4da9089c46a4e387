//! Features of Tiger Lake: the test of depth bounds, coarse pixels.

use tepui_intel_isa::Generation;
use tepui_intel_packets::gen12::{CpsState, State3dCpsPointers, State3dDepthBounds};
use tepui_intel_packets::output::{
    CompareFunction, State3dViewportStatePointersCc, State3dWmDepthStencil,
};
use tepui_intel_packets::pixel::{State3dPsExtra, State3dWmHzOp};
use tepui_intel_packets::{Packet, revision};

use crate::bench::{Bench, CALC, COLOUR, IMAGE, SIZE, VIEWPORT, assert_filled};

#[test]
fn pixels_are_drawn_where_the_stored_depth_is_in_bounds() {
    let bounds = |enable, values: [f32; 2], keeps: [bool; 2]| State3dDepthBounds {
        depth_bounds_test_enable: enable,
        depth_bounds_test_min_value: values[0],
        depth_bounds_test_max_value: values[1],
        depth_bounds_test_enable_modify_disable: keeps[0],
        depth_bounds_test_value_modify_disable: keeps[1],
    };
    let all = [4, 4, 44, 36];
    // The depth in 16 bits.
    let kept = 32768.0 / 65535.0;
    for (commands, drawn) in [
        // The ends are part of the range. The depth of the rectangle does not matter.
        (vec![bounds(1, [kept, 0.75], [false; 2])], [4, 4, 20, 30]),
        (vec![bounds(1, [0.25, kept], [false; 2])], [4, 4, 20, 30]),
        (vec![bounds(1, [0.0, 1.0], [false; 2])], all),
        (vec![bounds(1, [0.75, 1.0], [false; 2])], [0; 4]),
        (vec![bounds(0, [0.75, 1.0], [false; 2])], all),
        // What a command must not modify stays.
        (
            vec![bounds(0, [0.25, 0.75], [false; 2]), bounds(1, [0.75, 1.0], [false, true])],
            [4, 4, 20, 30],
        ),
        (
            vec![bounds(1, [0.75, 1.0], [false; 2]), bounds(0, [0.25, 0.75], [true, false])],
            [4, 4, 20, 30],
        ),
    ] {
        let mut bench = Bench::tiger_lake();
        bench.depth_buffer_of_gen12();
        let clear = tepui_intel_packets::output::State3dClearParams {
            depth_clear_value: 0.5,
            depth_clear_value_valid: true,
        };
        bench.add(&clear.pack().unwrap());
        // The rest of the buffer is 0.
        let area = Bench::area([0, 0, 20, 30]);
        bench.hz_op(&State3dWmHzOp { depth_buffer_clear_enable: true, ..area });
        let viewport = State3dViewportStatePointersCc { cc_viewport_pointer: VIEWPORT };
        bench.add(&viewport.pack().unwrap());
        for command in &commands {
            bench.add(&command.pack().unwrap());
        }
        let pixels = bench.draw([4.0, 4.0, 44.0, 36.0], 0.9);
        assert_filled(&pixels, drawn, COLOUR, 0);
    }
}

#[test]
fn groups_of_depth_and_stencil_state_are_set_on_their_own() {
    let tests = |depth_test_enable, keeps| State3dWmDepthStencil {
        depth_test_enable,
        depth_test_function: CompareFunction::Never,
        stencil_test_mask: 0xff,
        depth_state_modify_disable: keeps,
        ..State3dWmDepthStencil::default()
    };
    let all = [4, 4, 44, 36];
    for (commands, drawn) in [
        ([tests(true, false), tests(false, false)], all),
        ([tests(true, false), tests(false, true)], [0; 4]),
        ([tests(false, false), tests(true, true)], all),
    ] {
        let mut bench = Bench::tiger_lake();
        bench.depth_buffer_of_gen12();
        let viewport = State3dViewportStatePointersCc { cc_viewport_pointer: VIEWPORT };
        bench.add(&viewport.pack().unwrap());
        for command in &commands {
            let mut bytes = vec![0; State3dWmDepthStencil::SIZE_BYTES];
            command.pack_into_as(&mut bytes, revision(Generation::Gen12)).unwrap();
            bench.add(&bytes);
        }
        let pixels = bench.draw([4.0, 4.0, 44.0, 36.0], 0.9);
        assert_filled(&pixels, drawn, COLOUR, 0);
    }
}

#[test]
fn coarse_pixels_are_shaded_together_and_covered_one_by_one() {
    let mut before = u64::MAX;
    for size in [[1, 1], [2, 1], [2, 2], [4, 4]] {
        let mut bench = Bench::tiger_lake();
        bench.put(
            CALC,
            &CpsState {
                coarse_pixel_shading_mode: 1,
                min_cp_size_x: size[0] << 7,
                min_cp_size_y: size[1] << 7,
                ..CpsState::default()
            }
            .pack()
            .unwrap(),
        );
        let pointers = State3dCpsPointers { coarse_pixel_shading_state_array_pointer: CALC };
        bench.add(&pointers.pack().unwrap());
        let extra = State3dPsExtra {
            pixel_shader_valid: true,
            pixel_shader_is_per_coarse_pixel: true,
            ..State3dPsExtra::default()
        };
        let mut bytes = [0; State3dPsExtra::SIZE_BYTES];
        extra.pack_into_as(&mut bytes, revision(Generation::Gen12)).unwrap();
        bench.add(&bytes);
        let (pixels, stats) = bench.draw_counted([0.0, 0.0, 32.0, 40.0], 0.0);
        assert_filled(&pixels, [0, 0, 32, 40], COLOUR, 0);
        // Threads of 16 channels; along the diagonal, two triangles share quads.
        let quads = u64::from(32 / (2 * size[0]) * (40 / (2 * size[1])));
        assert!(stats.threads >= quads / 4 && stats.threads < before, "{size:?} {}", stats.threads);
        before = stats.threads;
        bench.put(IMAGE, &vec![0; (4 * SIZE[0] * SIZE[1]) as usize]);
        let pixels = bench.draw([3.0, 2.0, 37.0, 33.0], 0.0);
        assert_filled(&pixels, [3, 2, 37, 33], COLOUR, 0);
    }
}
