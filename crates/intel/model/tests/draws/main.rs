//! Draws of rectangles in pixels, from commands to texels: which pixels are written, and which are not.

mod auxiliary;
mod bench;
mod copied;
mod gen12;

use tepui_intel_packets::output::{
    BlendState, ColorCalcState, CompareFunction, State3dBlendStatePointers, State3dCcStatePointers,
    State3dWmDepthStencil,
};
use tepui_intel_packets::pixel::{State3dPolyStippleOffset, State3dPolyStipplePattern, State3dWm};

use bench::{BLEND, Bench, CALC, COLOUR, SIZE, VIEWPORT, assert_filled};

#[test]
fn a_rectangle_covers_the_pixels_whose_centres_it_has() {
    let pixels = Bench::new().draw([3.0, 2.5, 37.25, 33.0], 0.0);
    assert_filled(&pixels, [3, 2, 37, 33], COLOUR, 0);
}

#[test]
fn what_lies_outside_of_the_drawing_rectangle_is_not_drawn() {
    let pixels = Bench::new().draw([-8.0, 35.0, 64.0, 80.0], 0.0);
    assert_filled(&pixels, [0, 35, SIZE[0], SIZE[1]], COLOUR, 0);
}

#[test]
fn a_fast_clear_fills_blocks_with_the_surface_s_colour() {
    let mut bench = Bench::new();
    bench.pixel_shader(true);
    // A pixel covers 64 by 32.
    let pixels = bench.draw([0.0, 0.0, 1.0, 1.0], 0.0);
    assert_filled(&pixels, [0, 0, 48, 32], 0xff00_00ff, 0);
}

#[test]
fn depth_is_cleared_and_tested() {
    let mut bench = Bench::new();
    bench.depth(0.5, [0, 0, 20, 30]);
    let viewport = tepui_intel_packets::output::State3dViewportStatePointersCc {
        cc_viewport_pointer: VIEWPORT,
    };
    bench.add(&viewport.pack().unwrap());
    let tests = State3dWmDepthStencil {
        depth_test_enable: true,
        // The rest of the buffer is 0.
        depth_test_function: CompareFunction::Less,
        ..State3dWmDepthStencil::default()
    };
    bench.add(&tests.pack().unwrap());
    let pixels = bench.draw([4.0, 4.0, 44.0, 36.0], 0.25);
    assert_filled(&pixels, [4, 4, 20, 30], COLOUR, 0);
}

#[test]
fn polygons_are_drawn_where_their_pattern_has_bits() {
    let mut bench = Bench::new();
    let wm = State3dWm { polygon_stipple_enable: true, ..State3dWm::default() };
    bench.add(&wm.pack().unwrap());
    bench.add(&State3dPolyStipplePattern { dword_length: 31 }.pack().unwrap());
    // Row 4 has the third column from the left, the others none.
    for row in 0..32u32 {
        let bits = if row == 4 { 1u32 << 29 } else { 0 };
        bench.add(&bits.to_le_bytes());
    }
    let offset =
        State3dPolyStippleOffset { polygon_stipple_x_offset: 1, polygon_stipple_y_offset: 3 };
    bench.add(&offset.pack().unwrap());
    let pixels = bench.draw([0.0, 0.0, SIZE[0] as f32, SIZE[1] as f32], 0.0);
    let drawn = pixels.iter().enumerate().filter(|(_, pixel)| **pixel != 0);
    let places: Vec<_> = drawn.map(|(at, _)| (at % 48, at / 48)).collect();
    // Columns 1 and 1 + 32, rows 1 and 1 + 32.
    assert_eq!(places, [(1, 1), (33, 1), (1, 33), (33, 33)]);
}

#[test]
fn pixels_are_tested_by_their_alpha() {
    let draw = |function, reference: u32| {
        let mut bench = Bench::new();
        let blend = BlendState {
            alpha_test_enable: true,
            alpha_test_function: function,
            ..BlendState::default()
        };
        bench.put(BLEND, &blend.pack().unwrap());
        let calc = ColorCalcState {
            alpha_reference_value_as_unorm8: reference,
            ..ColorCalcState::default()
        };
        bench.put(CALC, &calc.pack().unwrap());
        let blend = State3dBlendStatePointers {
            blend_state_pointer_valid: true,
            blend_state_pointer: BLEND,
        };
        bench.add(&blend.pack().unwrap());
        let calc = State3dCcStatePointers {
            color_calc_state_pointer_valid: true,
            color_calc_state_pointer: CALC,
        };
        bench.add(&calc.pack().unwrap());
        bench.draw([4.0, 4.0, 20.0, 20.0], 0.0)
    };
    // The shader's alpha is 0.6, 153 of 255.
    let drawn = [4, 4, 20, 20];
    assert_filled(&draw(CompareFunction::Greater, 152), drawn, COLOUR, 0);
    assert_filled(&draw(CompareFunction::Greater, 154), drawn, 0, 0);
    assert_filled(&draw(CompareFunction::Less, 154), drawn, COLOUR, 0);
    assert_filled(&draw(CompareFunction::Never, 0), drawn, 0, 0);
}

#[test]
fn a_target_has_its_components_in_another_order() {
    use tepui_intel_packets::surface::{RenderSurfaceState, ShaderChannelSelect as Select};
    let mut bench = Bench::new();
    let swapped = RenderSurfaceState {
        shader_channel_select_red: Select::Blue,
        shader_channel_select_green: Select::Green,
        shader_channel_select_blue: Select::Red,
        shader_channel_select_alpha: Select::Alpha,
        ..Bench::surface()
    };
    bench.set_surface(&swapped);
    let pixels = bench.draw([3.0, 2.0, 37.0, 33.0], 0.0);
    // 0x33 was blue.
    assert_filled(&pixels, [3, 2, 37, 33], 0x9900_ff33, 0);
}
