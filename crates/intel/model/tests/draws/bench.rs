//! A GPU with memory that draws rectangles in pixels.

use std::sync::Arc;

use tepui_intel_isa::{Generation, asm};
use tepui_intel_model::{Batch, Gpu, HardwareContext, JobStats, Options};
use tepui_intel_packets::bindings::State3dBindingTablePointersPs;
use tepui_intel_packets::gen12;
use tepui_intel_packets::mi::MiBatchBufferEnd;
use tepui_intel_packets::output::{State3dClearParams, State3dDepthBuffer, State3dHierDepthBuffer};
use tepui_intel_packets::pixel::{
    State3dPs, State3dPsExtra, State3dSampleMask, State3dSamplePattern, State3dWmHzOp,
};
use tepui_intel_packets::raster::{State3dClip, State3dDrawingRectangle};
use tepui_intel_packets::state::StateBaseAddress;
use tepui_intel_packets::surface::{RenderSurfaceState, SurfaceType};
use tepui_intel_packets::vertex::{
    Primitive3d, State3dVertexBuffers, State3dVertexElements, State3dVfTopology, VertexBufferState,
    VertexComponentControl as From, VertexElementState,
};
use tepui_softgpu::{AddressSpace, Memory, Protection};

pub const BASE: u64 = 0x10_0000;
const BYTES: usize = 1 << 18;
pub const TABLE: u64 = 0x1000;
const SURFACE: u64 = 0x1100;
pub const KERNEL: u64 = 0x2000;
const CORNERS: u64 = 0x3000;
pub const VIEWPORT: u64 = 0x3100;
pub const BLEND: u64 = 0x3200;
pub const CALC: u64 = 0x3400;
pub const IMAGE: u64 = 0x10000;
pub const DEPTH: u64 = 0x20000;
/// The auxiliary surfaces of the render target and the depth buffer.
pub const CCS: u64 = 0x30000;
pub const HIZ: u64 = 0x31000;
/// Size of the images in pixels.
pub const SIZE: [u32; 2] = [48, 40];

/// A GPU with memory, and a batch that grows.
pub struct Bench {
    gpu: Gpu,
    pub vm: AddressSpace,
    context: HardwareContext,
    batch: Vec<u8>,
}

impl Bench {
    pub fn new() -> Bench {
        Bench::with(Options { threads: 2, ..Options::default() })
    }

    pub fn with(options: Options) -> Bench {
        Bench::of("skl", options)
    }

    /// A bench with the virtual Tiger Lake.
    pub fn tiger_lake() -> Bench {
        Bench::of("tgl", Options { threads: 2, ..Options::default() })
    }

    fn of(chip: &str, options: Options) -> Bench {
        let chip = tepui_intel_chips::chip(chip).unwrap();
        let vm = AddressSpace::new(12, 48);
        let memory = Arc::new(Memory::new(BYTES).unwrap());
        vm.bind(BASE, memory, 0, BYTES as u64, Protection::READ | Protection::WRITE).unwrap();
        let gpu = Gpu::new(chip, options);
        let context = gpu.context();
        let mut bench = Bench { gpu, vm, context, batch: Vec::new() };
        let code = asm::assemble(chip.generation, &kernel(chip.generation)).unwrap();
        bench.put(KERNEL, &code);
        bench.put(TABLE, &(SURFACE as u32).to_le_bytes());
        bench.put(VIEWPORT, &[0.0f32, 1.0].map(f32::to_le_bytes).concat());
        let surface = match chip.generation {
            Generation::Gen9 => Bench::surface(),
            // The clear colour is in memory.
            Generation::Gen12 => {
                RenderSurfaceState { red_clear_color: 0, alpha_clear_color: 0, ..Bench::surface() }
            }
        };
        bench.set_surface(&surface);
        bench.bases(chip.generation);
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
        bench.no_depth(chip.generation);
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

    fn bases(&mut self, generation: Generation) {
        match generation {
            Generation::Gen9 => {
                let bases = StateBaseAddress {
                    surface_state_base_address_modify_enable: true,
                    surface_state_base_address: BASE,
                    dynamic_state_base_address_modify_enable: true,
                    dynamic_state_base_address: BASE,
                    instruction_base_address_modify_enable: true,
                    instruction_base_address: BASE,
                    ..StateBaseAddress::default()
                };
                self.add(&bases.pack().unwrap());
            }
            Generation::Gen12 => {
                let bases = gen12::StateBaseAddress {
                    surface_state_base_address_modify_enable: true,
                    surface_state_base_address: BASE,
                    dynamic_state_base_address_modify_enable: true,
                    dynamic_state_base_address: BASE,
                    instruction_base_address_modify_enable: true,
                    instruction_base_address: BASE,
                    ..gen12::StateBaseAddress::default()
                };
                self.add(&bases.pack().unwrap());
            }
        }
    }

    /// Null depth and stencil buffers.
    fn no_depth(&mut self, generation: Generation) {
        const NULL: u32 = 7;
        match generation {
            Generation::Gen9 => {
                let depth = State3dDepthBuffer { surface_type: NULL, ..Default::default() };
                self.add(&depth.pack().unwrap());
            }
            Generation::Gen12 => {
                let depth = gen12::State3dDepthBuffer { surface_type: NULL, ..Default::default() };
                self.add(&depth.pack().unwrap());
                let stencil =
                    gen12::State3dStencilBuffer { surface_type: NULL, ..Default::default() };
                self.add(&stencil.pack().unwrap());
            }
        }
    }

    /// Tiger Lake's depth buffer of 16 bits, without a hierarchical one.
    pub fn depth_buffer_of_gen12(&mut self) {
        let buffer = gen12::State3dDepthBuffer {
            surface_type: 1,
            surface_format: 5,
            surface_pitch: 127,
            depth_write_enable: true,
            surface_base_address: BASE + DEPTH,
            width: SIZE[0] - 1,
            height: SIZE[1] - 1,
            ..gen12::State3dDepthBuffer::default()
        };
        self.add(&buffer.pack().unwrap());
    }

    /// The render target's surface state.
    pub fn surface() -> RenderSurfaceState {
        RenderSurfaceState {
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
        }
    }

    /// Sets another surface state for the render target.
    pub fn set_surface(&self, state: &RenderSurfaceState) {
        self.put(SURFACE, &state.pack().unwrap());
    }

    pub fn put(&self, at: u64, bytes: &[u8]) {
        self.vm.write(BASE + at, bytes).unwrap();
    }

    pub fn add(&mut self, bytes: &[u8]) {
        self.batch.extend(bytes);
    }

    pub fn pixel_shader(&mut self, fast_clear: bool) {
        self.operation(fast_clear, 0);
    }

    /// A pixel shader that may clear or resolve blocks.
    pub fn operation(&mut self, fast_clear: bool, render_target_resolve_type: u32) {
        let ps = State3dPs {
            render_target_resolve_type,
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
    pub fn depth(&mut self, value: f32, rectangle: [u32; 4]) {
        self.depth_buffer(value, false);
        self.hz_op(&State3dWmHzOp { depth_buffer_clear_enable: true, ..Bench::area(rectangle) });
    }

    /// A depth buffer of 16 bits, with or without a hierarchical one.
    pub fn depth_buffer(&mut self, value: f32, hierarchical: bool) {
        let buffer = State3dDepthBuffer {
            surface_type: 1,
            surface_format: 5,
            surface_pitch: 127,
            depth_write_enable: true,
            hierarchical_depth_buffer_enable: hierarchical,
            surface_base_address: BASE + DEPTH,
            width: SIZE[0] - 1,
            height: SIZE[1] - 1,
            ..State3dDepthBuffer::default()
        };
        self.add(&buffer.pack().unwrap());
        let clear = State3dClearParams { depth_clear_value: value, depth_clear_value_valid: true };
        self.add(&clear.pack().unwrap());
        let hierarchical = State3dHierDepthBuffer {
            surface_pitch: 127,
            surface_base_address: BASE + HIZ,
            ..State3dHierDepthBuffer::default()
        };
        self.add(&hierarchical.pack().unwrap());
    }

    /// An operation's rectangle.
    pub fn area([x_min, y_min, x_max, y_max]: [u32; 4]) -> State3dWmHzOp {
        State3dWmHzOp {
            clear_rectangle_x_min: x_min,
            clear_rectangle_y_min: y_min,
            clear_rectangle_x_max: x_max,
            clear_rectangle_y_max: y_max,
            ..State3dWmHzOp::default()
        }
    }

    /// An operation on the depth buffer, and its end.
    pub fn hz_op(&mut self, operation: &State3dWmHzOp) {
        self.add(&operation.pack().unwrap());
        self.add(&State3dWmHzOp::default().pack().unwrap());
    }

    /// Draws a rectangle at a depth, and runs the batch.
    pub fn draw(&mut self, rectangle: [f32; 4], z: f32) -> Vec<u32> {
        self.draw_counted(rectangle, z).0
    }

    /// As [`Bench::draw`], also returning the batch's counts.
    pub fn draw_counted(&mut self, [x0, y0, x1, y1]: [f32; 4], z: f32) -> (Vec<u32>, JobStats) {
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
        let stats = self.gpu.execute(&self.vm, &mut self.context, &batch).unwrap();
        assert_eq!(stats.draws, 1);
        self.batch.clear();
        (self.pixels(), stats)
    }

    /// The render target's memory.
    pub fn pixels(&self) -> Vec<u32> {
        let mut bytes = vec![0; (4 * SIZE[0] * SIZE[1]) as usize];
        self.vm.read(BASE + IMAGE, &mut bytes).unwrap();
        bytes.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect()
    }
}

/// A pixel shader for sixteen channels that writes [`COLOUR`].
fn kernel(generation: Generation) -> String {
    let colour = [0.0f32, 1.0, 0.2, 0.6].map(f32::to_bits);
    match generation {
        Generation::Gen9 => {
            let moves = colour.into_iter().enumerate().map(|(k, value)| {
                format!("mov(1) g127.{k}<1>UD {value:#010x}UD {{ align1 WE_all 1N }};\n")
            });
            let end =
                "sendc(16) null<1>UD g127<8,8,1>UD 0x82031100 render MsgDesc: { align1 1H EOT };";
            moves.chain([end.to_owned()]).collect()
        }
        Generation::Gen12 => {
            let moves = [126, 120, 122, 124].into_iter().zip(colour).map(|(register, value)| {
                format!("mov(16) g{register}<1>UD {value:#010x}UD {{ align1 1H }};\n")
            });
            let end = "sendc(16) nullUD g126UD g120UD 0x04031000 0x00000180 render MsgDesc: { align1 1H EOT };";
            moves.chain([end.to_owned()]).collect()
        }
    }
}

/// Asserts that the pixels of a rectangle have one value and all others another.
pub fn assert_filled(pixels: &[u32], [x0, y0, x1, y1]: [u32; 4], inside: u32, outside: u32) {
    for (at, &pixel) in (0..).zip(pixels) {
        let (x, y) = (at % SIZE[0], at / SIZE[0]);
        let within = (x0..x1).contains(&x) && (y0..y1).contains(&y);
        assert_eq!(pixel, if within { inside } else { outside }, "{x}, {y}");
    }
}

/// The shader's colour as R8G8B8A8_UNORM.
pub const COLOUR: u32 = 0x9933_ff00;
