//! Draws of rectangles in pixels, from commands to texels: what is written, and what is not.

use std::sync::Arc;

use tepui_intel_isa::{Generation, asm};
use tepui_intel_model::{Batch, Gpu, Options};
use tepui_intel_packets::bindings::State3dBindingTablePointersPs;
use tepui_intel_packets::mi::MiBatchBufferEnd;
use tepui_intel_packets::output::{
    BlendState, ColorCalcState, CompareFunction, State3dBlendStatePointers, State3dCcStatePointers,
    State3dClearParams, State3dDepthBuffer, State3dWmDepthStencil,
};
use tepui_intel_packets::pixel::{
    State3dPolyStippleOffset, State3dPolyStipplePattern, State3dPs, State3dPsExtra,
    State3dSampleMask, State3dSamplePattern, State3dWm, State3dWmHzOp,
};
use tepui_intel_packets::raster::{State3dClip, State3dDrawingRectangle};
use tepui_intel_packets::state::StateBaseAddress;
use tepui_intel_packets::surface::{RenderSurfaceState, SurfaceType};
use tepui_intel_packets::vertex::{
    Primitive3d, State3dVertexBuffers, State3dVertexElements, State3dVfTopology, VertexBufferState,
    VertexComponentControl as From, VertexElementState,
};
use tepui_softgpu::{AddressSpace, Memory, Protection};

const BASE: u64 = 0x10_0000;
const BYTES: usize = 1 << 18;
const TABLE: u64 = 0x1000;
const SURFACE: u64 = 0x1100;
const KERNEL: u64 = 0x2000;
const CORNERS: u64 = 0x3000;
const VIEWPORT: u64 = 0x3100;
const BLEND: u64 = 0x3200;
const CALC: u64 = 0x3400;
const IMAGE: u64 = 0x10000;
const DEPTH: u64 = 0x20000;
/// Pixels of the images.
const SIZE: [u32; 2] = [48, 40];

/// A GPU with memory, and a batch that grows.
struct Bench {
    gpu: Gpu,
    vm: AddressSpace,
    batch: Vec<u8>,
}

impl Bench {
    fn new() -> Bench {
        let chip = tepui_intel_chips::chip("skl").unwrap();
        let vm = AddressSpace::new(12, 48);
        let memory = Arc::new(Memory::new(BYTES).unwrap());
        vm.bind(BASE, memory, 0, BYTES as u64, Protection::READ | Protection::WRITE).unwrap();
        let gpu = Gpu::new(chip, Options { threads: 2, ..Options::default() });
        let mut bench = Bench { gpu, vm, batch: Vec::new() };
        // A colour for all sixteen channels.
        let colour = [0.0f32, 1.0, 0.2, 0.6].map(f32::to_bits);
        let moves: String = (0..4)
            .map(|k| {
                format!("mov(1) g127.{k}<1>UD {:#010x}UD {{ align1 WE_all 1N }};\n", colour[k])
            })
            .collect();
        let end = "sendc(16) null<1>UD g127<8,8,1>UD 0x82031100 render MsgDesc: { align1 1H EOT };";
        let code = asm::assemble(Generation::Gen9, &format!("{moves}{end}")).unwrap();
        bench.put(KERNEL, &code);
        bench.put(TABLE, &(SURFACE as u32).to_le_bytes());
        bench.put(VIEWPORT, &[0.0f32, 1.0].map(f32::to_le_bytes).concat());
        let state = RenderSurfaceState {
            surface_type: SurfaceType::Surftype2d,
            surface_format: 0x0c7,
            surface_horizontal_alignment: 1,
            surface_vertical_alignment: 1,
            width: SIZE[0] - 1,
            height: SIZE[1] - 1,
            surface_pitch: 4 * SIZE[0] - 1,
            surface_base_address: BASE + IMAGE,
            red_clear_color: 1.0f32.to_bits(),
            alpha_clear_color: 1.0f32.to_bits(),
            ..RenderSurfaceState::default()
        };
        bench.put(SURFACE, &state.pack().unwrap());
        let bases = StateBaseAddress {
            surface_state_base_address_modify_enable: true,
            surface_state_base_address: BASE,
            dynamic_state_base_address_modify_enable: true,
            dynamic_state_base_address: BASE,
            instruction_base_address_modify_enable: true,
            instruction_base_address: BASE,
            ..StateBaseAddress::default()
        };
        bench.add(&bases.pack().unwrap());
        let clip = State3dClip { perspective_divide_disable: true, ..State3dClip::default() };
        bench.add(&clip.pack().unwrap());
        let rectangle = State3dDrawingRectangle {
            clipped_drawing_rectangle_x_max: SIZE[0] - 1,
            clipped_drawing_rectangle_y_max: SIZE[1] - 1,
            ..State3dDrawingRectangle::default()
        };
        bench.add(&rectangle.pack().unwrap());
        let topology = State3dVfTopology { primitive_topology_type: 15 };
        bench.add(&topology.pack().unwrap());
        bench.add(&State3dSampleMask { sample_mask: 1 }.pack().unwrap());
        let table = State3dBindingTablePointersPs { pointer_to_ps_binding_table: TABLE };
        bench.add(&table.pack().unwrap());
        let pattern = State3dSamplePattern {
            n1x_sample0_x_offset: 0.5,
            n1x_sample0_y_offset: 0.5,
            ..State3dSamplePattern::default()
        };
        bench.add(&pattern.pack().unwrap());
        bench.pixel_shader(false);
        // No depth.
        let depth = State3dDepthBuffer { surface_type: 7, ..State3dDepthBuffer::default() };
        bench.add(&depth.pack().unwrap());
        let buffer = VertexBufferState {
            address_modify_enable: true,
            buffer_pitch: 12,
            buffer_starting_address: BASE + CORNERS,
            buffer_size: 36,
            ..VertexBufferState::default()
        };
        bench.add(&State3dVertexBuffers { dword_length: 3 }.pack().unwrap());
        bench.add(&buffer.pack().unwrap());
        let zeros = VertexElementState {
            valid: true,
            component_0_control: From::Store0,
            component_1_control: From::Store0,
            component_2_control: From::Store0,
            component_3_control: From::Store0,
            ..VertexElementState::default()
        };
        let position = VertexElementState {
            valid: true,
            // R32G32B32_FLOAT.
            source_element_format: 0x040,
            component_0_control: From::StoreSrc,
            component_1_control: From::StoreSrc,
            component_2_control: From::StoreSrc,
            component_3_control: From::Store1Fp,
            ..VertexElementState::default()
        };
        bench.add(&State3dVertexElements { dword_length: 3 }.pack().unwrap());
        bench.add(&zeros.pack().unwrap());
        bench.add(&position.pack().unwrap());
        bench
    }

    fn put(&self, at: u64, bytes: &[u8]) {
        self.vm.write(BASE + at, bytes).unwrap();
    }

    fn add(&mut self, bytes: &[u8]) {
        self.batch.extend(bytes);
    }

    fn pixel_shader(&mut self, fast_clear: bool) {
        let ps = State3dPs {
            kernel_start_pointer_0: KERNEL,
            n16_pixel_dispatch_enable: true,
            render_target_fast_clear_enable: fast_clear,
            ..State3dPs::default()
        };
        self.add(&ps.pack().unwrap());
        let extra = State3dPsExtra { pixel_shader_valid: true, ..State3dPsExtra::default() };
        self.add(&extra.pack().unwrap());
    }

    /// A depth buffer of 16 bits, and the clear of a part of it.
    fn depth(&mut self, value: f32, rectangle: [u32; 4]) {
        let buffer = State3dDepthBuffer {
            surface_type: 1,
            surface_format: 5,
            surface_pitch: 127,
            depth_write_enable: true,
            surface_base_address: BASE + DEPTH,
            width: SIZE[0] - 1,
            height: SIZE[1] - 1,
            ..State3dDepthBuffer::default()
        };
        self.add(&buffer.pack().unwrap());
        let clear = State3dClearParams { depth_clear_value: value, depth_clear_value_valid: true };
        self.add(&clear.pack().unwrap());
        let operation = State3dWmHzOp {
            depth_buffer_clear_enable: true,
            clear_rectangle_x_min: rectangle[0],
            clear_rectangle_y_min: rectangle[1],
            clear_rectangle_x_max: rectangle[2],
            clear_rectangle_y_max: rectangle[3],
            ..State3dWmHzOp::default()
        };
        self.add(&operation.pack().unwrap());
    }

    /// Draws a rectangle of some depth, and runs the batch.
    fn draw(mut self, [x0, y0, x1, y1]: [f32; 4], z: f32) -> Vec<u32> {
        let corners = [[x1, y1, z], [x0, y1, z], [x0, y0, z]];
        let bytes: Vec<u8> = corners.concat().iter().flat_map(|v| v.to_le_bytes()).collect();
        self.put(CORNERS, &bytes);
        let draw = Primitive3d {
            vertex_count_per_instance: 3,
            instance_count: 1,
            ..Primitive3d::default()
        };
        self.add(&draw.pack().unwrap());
        self.add(&MiBatchBufferEnd::default().pack().unwrap());
        self.put(0, &self.batch);
        let batch = Batch { address: BASE, length: self.batch.len() as u64 };
        let stats = self.gpu.execute(&self.vm, &mut self.gpu.context(), &batch).unwrap();
        assert_eq!(stats.draws, 1);
        let mut bytes = vec![0; (4 * SIZE[0] * SIZE[1]) as usize];
        self.vm.read(BASE + IMAGE, &mut bytes).unwrap();
        bytes.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect()
    }
}

/// Asserts that the pixels of a rectangle have one value and all others another.
fn assert_filled(pixels: &[u32], [x0, y0, x1, y1]: [u32; 4], inside: u32, outside: u32) {
    for (at, &pixel) in (0..).zip(pixels) {
        let (x, y) = (at % SIZE[0], at / SIZE[0]);
        let within = (x0..x1).contains(&x) && (y0..y1).contains(&y);
        assert_eq!(pixel, if within { inside } else { outside }, "{x}, {y}");
    }
}

/// The shader's colour as R8G8B8A8_UNORM.
const COLOUR: u32 = 0x9933_ff00;

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
    // A pixel stands for 64 by 32.
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
    // Row 4 has the third column from the left, the others nothing.
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
