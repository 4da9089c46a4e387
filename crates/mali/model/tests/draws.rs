//! Command streams that draw, as a driver writes them.

use std::sync::Arc;

use tepui_mali_isa::asm::assemble;
use tepui_mali_model::{FaultKind, Gpu, JobFault, JobStats, Options, Stream, address_space};
use tepui_mali_packets::Packet;
use tepui_mali_packets::cs::*;
use tepui_mali_packets::draw::*;
use tepui_mali_packets::framebuffer::*;
use tepui_mali_packets::shader::*;
use tepui_mali_packets::texture::{
    ClumpFormat, ClumpOrdering, CompareFunction, ComponentOrder, Format, Plane, PlaneType, Texture,
    TextureDimension,
};
use tepui_mali_packets::tiler::TilerContext;
use tepui_softgpu::{AddressSpace, Memory, Protection};

const BASE: u64 = 0x100_0000;
const SIZE: u64 = 1 << 20;
const CODE: u64 = BASE;
const STATES: u64 = BASE + 0x1_0000;
const CONTEXT: u64 = STATES + 0x800;
const FRAME: u64 = STATES + 0x1000;
const VERTICES: u64 = BASE + 0x2_0000;
const PICTURE: u64 = BASE + 0x3_0000;
const DEPTHS: u64 = BASE + 0x4_0000;
const COUNTER: u64 = BASE + 0x5_0000;
const PICTURE_BEFORE: u64 = BASE + 0x6_0000;
const DEPTHS_BEFORE: u64 = BASE + 0x7_0000;

const WIDTH: u32 = 40;
const HEIGHT: u32 = 36;

/// Positions are 16 bytes per vertex of the buffer, colours follow at an offset of 256 bytes.
const POSITION: &str = "
    LSHIFT_OR.i32 r8, r60, 0x7060504.b00, 0x0
    LD_BUFFER.i128.slot0 @r0:r1:r2:r3, r8, 0x0
    LEA_BUF_IMM.slot1 @r4:r5, r59, table:0xD, index:0x0
    NOP.wait01
    STORE.i128.slot0 @r0:r1:r2:r3, r4, offset:0
    NOP.end";
const VARYING: &str = "
    LSHIFT_OR.i32 r8, r60, 0x7060504.b00, 0x0
    IADD_IMM.i32 r8, r8, #0x100
    LD_BUFFER.i128.slot0 @r0:r1:r2:r3, r8, 0x0
    LEA_BUF_IMM.slot1 @r4:r5, r59, table:0xD, index:0x0
    NOP.wait01
    STORE.i128.slot0 @r0:r1:r2:r3, r4, offset:0
    NOP.end";
const VIEW_2: &str = "
    IADD_IMM.i32 r9, r59, #0x8
    LEA_BUF_IMM.slot1 @r4:r5, r9, table:0xD, index:0x0
    NOP.wait01
    STORE.i128.slot0 @r0:r1:r2:r3, r4, offset:0
    NOP.end";
const FRAGMENT: &str = "
    LD_VAR_BUF_IMM.f32.slot0.v4.src_f32.center.store.wait0126 @r0:r1:r2:r3, r61, index:0x0
    ATEST.wait @r60, r60, r3, atest_datum.w0
    BLEND.slot1.v4.f32.end @r0:r1:r2:r3, blend_descriptor_0.w0, r60, target:0x0
    NOP.end";

/// The frame shaders of Mesa's Vulkan driver, which load all pixels except for those from u0 to u1.
const LOAD_COLOUR: &str = "
    MKVEC.v2i16.discard r0, 0x0.h00, u2.h00
    U16_TO_U32 r1, u1.h10
    LSHIFT_OR.i32 r0, ^r1, 0x0.b00, ^r0
    MKVEC.v2i16 r0, u1.h00, ^r0.h00
    ICMP_OR.v2u16.ge.m1 r0, ^r0, r59, 0x0
    ICMP_AND.v2u16.ge.m1 r0, r59, u0, ^r0
    LSHIFT_AND.v2i16 r0, ^r0.h11, 0x0.b00, ^r0
    LSHIFT_OR.v2i16 r0, 0x0, 0x0.b00, ^r0.not
    U16_TO_U32 r1, r59.h10
    U16_TO_U32 r2, ^r59.h00
    BRANCHZ.eq.reconverge ^r0.h0, offset:6
    MOV.i32 r0, ^r2
    IADD_IMM.i32 r2, 0x0, #0x10000
    MOV.i32 r3, 0x0
    TEX_FETCH.slot0.reserved.32.2d @r0:r1:r2:r3, @r0:r1, ^r2
    MOV.i32 r4, ^r60
    BRANCHZ.eq.reconverge 0x0, offset:5
    IADD_IMM.i32 r0, 0x0, #0x0
    IADD_IMM.i32 r1, 0x0, #0x0
    IADD_IMM.i32 r2, 0x0, #0x0
    IADD_IMM.i32 r3, 0x0, #0x0
    IADD_IMM.i32.reconverge r4, 0x0, #0x0
    NOP.wait
    BLEND.slot1.v4.f32.end @r0:r1:r2:r3, blend_descriptor_0.w0, r4, target:0x0
    NOP.end";
const LOAD_DEPTH: &str = "
    MKVEC.v2i16.discard r0, 0x0.h00, u2.h00
    U16_TO_U32 r1, u1.h10
    LSHIFT_OR.i32 r0, ^r1, 0x0.b00, ^r0
    MKVEC.v2i16 r0, u1.h00, ^r0.h00
    ICMP_OR.v2u16.ge.m1 r0, ^r0, r59, 0x0
    ICMP_AND.v2u16.ge.m1 r0, r59, u0, ^r0
    LSHIFT_AND.v2i16 r0, ^r0.h11, 0x0.b00, ^r0
    U16_TO_U32 r1, r59.h10
    U16_TO_U32 r2, ^r59.h00
    BRANCHZ.eq.reconverge ^r0.h0, offset:3
    DISCARD.f32.eq 0x0, 0x0
    IADD_IMM.i32 r0, 0x0, #0x0
    BRANCHZ.eq.reconverge 0x0, offset:4
    MOV.i32 r0, ^r2
    IADD_IMM.i32 r2, 0x0, #0x10000
    MOV.i32 r3, 0x0
    TEX_FETCH.slot0.reserved.32.r.2d.reconverge @r0, @r0:r1, ^r2
    NOP.wait0126
    ATEST.wait0126 @r60, ^r60, 0x3F800000, atest_datum.w0
    ZS_EMIT.z.slot0.end @r60, ^r0, 0x0, ^r60
    NOP.end";

struct Machine {
    gpu: Gpu,
    vm: AddressSpace,
}

fn word<P: Packet>(packet: &P) -> u64 {
    let mut bytes = [0; 8];
    packet.pack_into(&mut bytes).unwrap();
    u64::from_le_bytes(bytes)
}

fn register<P: Packet>(packet: &P) -> u32 {
    let mut bytes = vec![0; P::INFO.size_bytes];
    packet.pack_into(&mut bytes).unwrap();
    u32::from_le_bytes(bytes[..4].try_into().unwrap())
}

/// Parameters of a test's draw.
struct Draw {
    blend: Blend,
    depth: DepthStencil,
    count: u32,
    draws: u32,
    /// Views that are drawn, one bit each, and the layer of the frame.
    views: Option<(u8, u32)>,
    /// The area outside of which colours and depths are loaded first: two corners, both included.
    loaded_around: Option<[[u32; 2]; 2]>,
    /// Four samples, whose mean is written.
    averages: bool,
}

impl Default for Draw {
    fn default() -> Self {
        let format = (Format::Rgba8Tb.raw() << 12) as u32 | ComponentOrder::Rgba.raw() as u32;
        let conversion = InternalConversion {
            memory_format: format,
            register_format: RegisterFileFormat::F32,
            ..Default::default()
        };
        let blend =
            Blend { mode: BlendMode::Opaque, num_comps: 4, conversion, ..Default::default() };
        let depth = DepthStencil {
            depth_function: CompareFunction::Always,
            depth_write_enable: true,
            ..Default::default()
        };
        Draw { blend, depth, count: 3, draws: 1, views: None, loaded_around: None, averages: false }
    }
}

impl Machine {
    fn new(threads: usize) -> Machine {
        Machine::with(Options { threads, ..Options::default() })
    }

    fn with(options: Options) -> Machine {
        let chip = tepui_mali_chips::chip("mali-g610").unwrap();
        let options = Options { max_instructions: 50_000_000, ..options };
        let vm = address_space();
        let memory = Arc::new(Memory::new(SIZE as usize).unwrap());
        vm.bind(BASE, memory, 0, SIZE, Protection::READ | Protection::WRITE).unwrap();
        Machine { gpu: Gpu::new(chip, options), vm }
    }

    fn put<P: Packet>(&self, at: u64, packet: &P) {
        let mut bytes = vec![0; P::INFO.size_bytes];
        packet.pack_into(&mut bytes).unwrap();
        self.vm.write(at, &bytes).unwrap();
    }

    fn shader(&self, number: u64, stage: ShaderStage, source: &str) {
        let binary = CODE + 0x1000 * number;
        let mut code = assemble(source).unwrap_or_else(|e| panic!("{e:?}"));
        code.extend([0; 16]);
        self.vm.write(binary, &code).unwrap();
        let program = ShaderProgram { stage, preload: 0xffff, binary, ..Default::default() };
        self.put(STATES + 0x20 * number, &program);
    }

    /// A triangle of three vertices: position and colour.
    fn vertices(&self, list: &[([f32; 4], [f32; 4])]) {
        for (i, (position, colour)) in (0..).zip(list) {
            for (at, values) in [(0, position), (0x100, colour)] {
                let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
                self.vm.write(VERTICES + at + 16 * i, &bytes).unwrap();
            }
        }
    }

    /// Draws triangles to a picture with a depth buffer.
    fn draw(&self, fragment: &str, draw: &Draw) -> Result<JobStats, JobFault> {
        let (views, layer) = draw.views.unwrap_or_default();
        let for_views = |source: &str| match draw.views {
            // Vertices of view 2 follow those of two others.
            Some(_) => source.replace("NOP.end", VIEW_2),
            None => source.to_owned(),
        };
        self.shader(0, ShaderStage::Vertex, &for_views(POSITION));
        self.shader(1, ShaderStage::Vertex, &for_views(VARYING));
        self.shader(2, ShaderStage::Fragment, fragment);
        self.put(STATES + 0x100, &LocalStorage::default());
        self.put(STATES + 0x140, &Buffer { size: 0x200, address: VERTICES, ..Default::default() });
        let table = Resource { address: STATES + 0x140, size: 32, ..Default::default() };
        self.put(STATES + 0x180, &table);
        self.put(STATES + 0x1c0, &draw.blend);
        self.put(STATES + 0x200, &draw.depth);
        let context = TilerContext {
            fb_width: WIDTH,
            fb_height: HEIGHT,
            first_provoking_vertex: true,
            layer_count: 3,
            ..Default::default()
        };
        self.put(CONTEXT, &context);
        let loads = draw.loaded_around.map(|corners| self.frame_shaders(corners)).is_some();
        let mode = |mode| if loads { mode } else { PrePostFrameShaderMode::Never };
        self.put(
            FRAME,
            &FramebufferParameters {
                pre_frame_0: mode(PrePostFrameShaderMode::Always),
                pre_frame_1: mode(PrePostFrameShaderMode::EarlyZsAlways),
                frame_shader_dcds: STATES + 0x600,
                width: WIDTH,
                height: HEIGHT,
                internal_layer_index: layer,
                bound_max_x: WIDTH - 1,
                bound_max_y: HEIGHT - 1,
                effective_tile_size: 256,
                sample_pattern: match draw.averages {
                    true => SamplePattern::Rotated4xGrid,
                    false => SamplePattern::SingleSampled,
                },
                render_target_count: 1,
                z_internal_format: ZInternalFormat::D32,
                z_write_enable: true,
                z_clear: 0.75,
                has_zs_crc_extension: true,
                tiler: CONTEXT,
                ..Default::default()
            },
        );
        self.put(
            FRAME + 128,
            &ZsCrcExtension {
                zs_write_format: ZsFormat::D32,
                zs_block_format: BlockFormat::Linear,
                zs_clean_pixel_write_enable: true,
                zs_writeback_base: DEPTHS,
                zs_writeback_row_stride: 4 * WIDTH,
                ..Default::default()
            },
        );
        self.put(
            FRAME + 192,
            &RenderTarget {
                internal_format: ColorBufferInternalFormat::R8g8b8a8,
                write_enable: true,
                writeback_format: ColorFormat::R8g8b8a8,
                writeback_block_format: BlockFormat::Linear,
                writeback_msaa: if draw.averages { Msaa::Average } else { Msaa::Single },
                swizzle: 1 << 3 | 2 << 6 | 3 << 9,
                clean_pixel_write_enable: true,
                base: PICTURE,
                row_stride: 4 * WIDTH,
                clear: RtClear { color_0: 0x1122_3344, ..Default::default() },
                ..Default::default()
            },
        );
        let pairs = [
            (0, (STATES + 0x180) | 1),
            (16, STATES),
            (18, STATES + 0x20),
            (20, STATES + 0x40),
            (24, STATES + 0x100),
            (40, CONTEXT),
            (46, COUNTER),
            (50, (STATES + 0x1c0) | 1),
            (52, STATES + 0x200),
        ];
        let words = [
            (33, draw.count),
            (34, 1),
            (43, (HEIGHT - 1) << 16 | (WIDTH - 1)),
            (45, 1f32.to_bits()),
            (48, 16),
            (
                56,
                register(&PrimitiveFlags {
                    draw_mode: DrawMode::Triangles,
                    secondary_shader: true,
                    view_mask: views.into(),
                    ..Default::default()
                }),
            ),
            (
                57,
                register(&DcdFlags0 {
                    occlusion_query: OcclusionMode::Counter,
                    multisample_enable: draw.averages,
                    ..Default::default()
                }),
            ),
            (58, register(&DcdFlags1 { sample_mask: 0xffff, render_target_mask: 1 })),
        ];
        let mut stream: Vec<u64> =
            pairs.map(|(destination, immediate)| word(&CsMove { immediate, destination })).to_vec();
        stream.extend(
            words.map(|(destination, immediate)| word(&CsMove32 { immediate, destination })),
        );
        for _ in 0..draw.draws {
            stream.push(word(&CsRunIdvs { malloc_enable: true, ..Default::default() }));
        }
        stream.push(word(&CsFinishTiling::default()));
        stream.push(word(&CsMove { immediate: FRAME | 3, destination: 40 }));
        stream.push(word(&CsRunFragment::default()));
        // Bytes 40 to 55 of the context are the chunks to free.
        stream.push(word(&CsMove { immediate: CONTEXT + 40, destination: 60 }));
        stream.push(word(&CsLoadMultiple {
            mask: 15,
            address: 60,
            base_register: 62,
            ..Default::default()
        }));
        stream.push(word(&CsFinishFragment {
            first_heap_chunk: 62,
            last_heap_chunk: 64,
            ..Default::default()
        }));
        let address = BASE + 0x8_0000;
        for (i, word) in stream.iter().enumerate() {
            self.vm.write(address + 8 * i as u64, &word.to_le_bytes()).unwrap();
        }
        let mut group = self.gpu.group(1);
        group.start(0, Stream { address, size: 8 * stream.len() as u64 }).unwrap();
        let mut done = self.gpu.run(&self.vm, &mut group);
        assert_eq!(done.len(), 1);
        done.remove(0).outcome
    }

    /// Writes the states of frame shaders that load colours and depths.
    fn frame_shaders(&self, [first, last]: [[u32; 2]; 2]) {
        self.shader(3, ShaderStage::Fragment, LOAD_COLOUR);
        self.shader(4, ShaderStage::Fragment, LOAD_DEPTH);
        let places = [first, last].map(|[x, y]| x | y << 16);
        for (at, word) in (STATES + 0x2c0..).step_by(4).zip([places[0], places[1], 0, 0]) {
            self.vm.write(at, &word.to_le_bytes()).unwrap();
        }
        let depth = DepthStencil {
            depth_function: CompareFunction::Always,
            depth_write_enable: true,
            depth_source: DepthSource::Shader,
            ..Default::default()
        };
        self.put(STATES + 0x240, &depth);
        let none = DepthStencil { depth_function: CompareFunction::Always, ..Default::default() };
        self.put(STATES + 0x260, &none);
        let order = ComponentOrder::Rgba.raw() as u32;
        let images = [(Format::Rgba8Unorm, PICTURE_BEFORE), (Format::Z32, DEPTHS_BEFORE)];
        for (number, (format, pointer)) in (0..).zip(images) {
            let surfaces = STATES + 0x480 + 32 * number;
            let texture = Texture {
                dimension: TextureDimension::N2d,
                format: (format.raw() << 12) as u32 | order,
                width: WIDTH,
                height: HEIGHT,
                // Red and blue are exchanged.
                swizzle: if number == 0 { 2 | 1 << 3 | 3 << 9 } else { 1 << 3 | 2 << 6 | 3 << 9 },
                surfaces,
                ..Default::default()
            };
            // Each follows another descriptor in a table of its own.
            self.put(STATES + 0x400 + 64 * number + 32, &texture);
            let plane = Plane {
                plane_type: PlaneType::Generic,
                clump_ordering: ClumpOrdering::Linear,
                clump_format: ClumpFormat::Raw32,
                size: 4 * WIDTH * HEIGHT,
                pointer,
                row_stride: 4 * WIDTH,
                width: WIDTH,
                height: HEIGHT,
                ..Default::default()
            };
            self.put(surfaces, &plane);
            let table = STATES + 0x500 + 64 * number;
            let address = STATES + 0x400 + 64 * number;
            self.put(table, &Resource { address, size: 64, ..Default::default() });
            let kill = [PixelKill::ForceEarly, PixelKill::ForceLate][number as usize];
            let descriptor = tepui_mali_packets::draw::Draw {
                pixel_kill_operation: kill,
                zs_update_operation: kill,
                sample_mask: 0xffff,
                render_target_mask: 1,
                maximum_z: 1.0,
                depth_stencil: STATES + if number == 0 { 0x260 } else { 0x240 },
                blend: STATES + 0x1c0,
                blend_count: 1 - number as u32,
                shader: ShaderEnvironment {
                    fau_count: 2,
                    resources: table | 1,
                    shader: STATES + 0x60 + 32 * number,
                    thread_storage: STATES + 0x100,
                    fau: STATES + 0x2c0,
                    ..Default::default()
                },
                ..Default::default()
            };
            self.put(STATES + 0x600 + 128 * number, &descriptor);
        }
    }

    fn word_at(&self, base: u64, x: u32, y: u32) -> u32 {
        let at = base + 4 * u64::from(y * WIDTH + x);
        u32::from_le_bytes(self.vm.read_array(at).unwrap())
    }
}

/// The lower left half of the picture; red grows to the right, green downwards.
fn half(z: f32) -> [([f32; 4], [f32; 4]); 3] {
    let (w, h) = (WIDTH as f32, HEIGHT as f32);
    [
        ([0.0, 0.0, z, 1.0], [0.0, 0.0, 0.0, 1.0]),
        ([0.0, h, z, 1.0], [0.0, 1.0, 0.0, 1.0]),
        ([w, h, z, 1.0], [1.0, 1.0, 0.0, 1.0]),
    ]
}

/// Shaders store views in slots by index, with slots also for views that are not drawn.
#[test]
fn views_may_have_gaps() {
    let (w, h) = (WIDTH as f32, HEIGHT as f32);
    let corners = [[0.0, 0.0], [0.0, h], [w, h], [w, h], [w, 0.0], [0.0, 0.0]];
    let machine = Machine::new(1);
    machine.vertices(&corners.map(|[x, y]| ([x, y, 0.25, 1.0], [1.0, 0.0, 0.0, 1.0])));
    for (layer, expected) in [(0, 0xff00_00ff), (1, 0x1122_3344), (2, 0xff00_00ffu32)] {
        let draw = Draw { count: 6, views: Some((0b101, layer)), ..Draw::default() };
        machine.draw(FRAGMENT, &draw).expect("drawn");
        for (x, y) in (0..HEIGHT).flat_map(|y| (0..WIDTH).map(move |x| (x, y))) {
            assert_eq!(machine.word_at(PICTURE, x, y), expected, "layer {layer}, {x}, {y}");
        }
    }
}

#[test]
fn a_triangle_is_drawn_with_its_colours_and_depths() {
    for threads in [1, 3] {
        let machine = Machine::new(threads);
        machine.vm.write(COUNTER, &[0; 8]).unwrap();
        machine.vertices(&half(0.25));
        let stats = machine.draw(FRAGMENT, &Draw::default()).unwrap();
        assert_eq!(stats.draws, 1);
        let mut covered = 0;
        for (x, y) in (0..HEIGHT).flat_map(|y| (0..WIDTH).map(move |x| (x, y))) {
            let [u, v] = [(x as f32 + 0.5) / WIDTH as f32, (y as f32 + 0.5) / HEIGHT as f32];
            let colour = machine.word_at(PICTURE, x, y);
            let depth = f32::from_bits(machine.word_at(DEPTHS, x, y));
            if (u - v).abs() < 1e-3 {
                continue;
            }
            if u < v {
                covered += 1;
                let expected = [u, v, 0.0, 1.0].map(|c| (c * 255.0).round() as i32);
                let found = colour.to_le_bytes().map(i32::from);
                let close = (0..4).all(|k| (expected[k] - found[k]).abs() <= 1);
                assert!(close, "{x} {y}: {found:?}, expected {expected:?}");
                assert_eq!(depth, 0.25, "{x} {y}");
            } else {
                assert_eq!((colour, depth), (0x1122_3344, 0.75), "{x} {y}");
            }
        }
        let counted = u64::from_le_bytes(machine.vm.read_array(COUNTER).unwrap());
        assert!(counted >= covered && counted <= covered + 40, "{counted} samples of {covered}");
    }
}

/// Each pixel is the mean of its samples: those that the triangle covers, which the counter counts, and the others with the cleared colour.
#[test]
fn the_mean_of_samples_is_written() {
    let machine = Machine::new(2);
    machine.vm.write(COUNTER, &[0; 8]).unwrap();
    machine.vertices(&half(0.25).map(|(position, _)| (position, [1.0, 0.0, 0.0, 1.0])));
    machine.draw(FRAGMENT, &Draw { averages: true, ..Draw::default() }).unwrap();
    let (clear, drawn) = (0x1122_3344u32.to_le_bytes(), [255, 0, 0, 255u8]);
    // Whether a colour is the mean with a number of covered samples, rounded to a neighbour.
    let is_mean = |found: [u8; 4], covered: i32| {
        (0..4).all(|k| {
            let sum = i32::from(drawn[k]) * covered + i32::from(clear[k]) * (4 - covered);
            (4 * i32::from(found[k]) - sum).abs() <= 2
        })
    };
    let (mut total, mut partly) = (0, 0);
    for (x, y) in (0..HEIGHT).flat_map(|y| (0..WIDTH).map(move |x| (x, y))) {
        let found = machine.word_at(PICTURE, x, y).to_le_bytes();
        let covered = (0..=4).find(|&n| is_mean(found, n));
        let covered = covered.unwrap_or_else(|| panic!("{x} {y}: {found:x?}"));
        // A pixel is apart from the diagonal by its distance, in pixels of a column.
        let above = (y as f32 + 0.5) * WIDTH as f32 / HEIGHT as f32 - (x as f32 + 0.5);
        if above.abs() > 1.5 {
            assert_eq!(covered, if above > 0.0 { 4 } else { 0 }, "{x} {y}");
        }
        total += covered as u64;
        partly += u32::from(covered % 4 != 0);
    }
    assert!(partly > 20, "{partly}");
    assert_eq!(total, u64::from_le_bytes(machine.vm.read_array(COUNTER).unwrap()));
}

#[test]
fn depth_tests_and_blending_look_at_what_was_drawn() {
    let machine = Machine::new(2);
    // After the cleared depth, then in front of it.
    let mut draw = Draw::default();
    draw.depth.depth_function = CompareFunction::Less;
    machine.vertices(&half(0.8));
    machine.draw(FRAGMENT, &draw).unwrap();
    assert_eq!(machine.word_at(PICTURE, 2, 30), 0x1122_3344);
    machine.vertices(&half(0.5).map(|(position, _)| (position, [0.2, 0.2, 0.2, 0.2])));
    draw.depth.depth_function = CompareFunction::Lequal;
    draw.draws = 2;
    draw.blend = Blend {
        mode: BlendMode::FixedFunction,
        equation: BlendEquation {
            rgb_a: BlendOperandA::Dest,
            rgb_b: BlendOperandB::Src,
            rgb_c: BlendOperandC::Zero,
            rgb_invert_c: true,
            alpha_a: BlendOperandA::Dest,
            alpha_b: BlendOperandB::Src,
            alpha_c: BlendOperandC::Zero,
            alpha_invert_c: true,
            color_mask: 0b0111,
            ..Default::default()
        },
        ..draw.blend
    };
    machine.draw(FRAGMENT, &draw).unwrap();
    // Twice 51 is added to all components except for alpha.
    assert_eq!(machine.word_at(PICTURE, 2, 30), 0x1188_99aa);
    assert_eq!(f32::from_bits(machine.word_at(DEPTHS, 2, 30)), 0.5);
}

/// Frame shaders load the surroundings of an area, with the same results and counts in rows and in warps.
#[test]
fn what_a_frame_shader_loads_is_copied_in_rows() {
    let whole = [[0, 0], [WIDTH - 1, HEIGHT - 1]];
    let areas = [[[3, 5], [33, 30]], [[0, 0], [WIDTH - 1, 34]], [[50, 0], [60, 2]], whole];
    for area in areas {
        let draw = Draw { loaded_around: Some(area), ..Draw::default() };
        let frame = |find_copies: bool| {
            let machine = Machine::with(Options { threads: 2, find_copies, ..Options::default() });
            for n in 0..WIDTH * HEIGHT {
                let at = 4 * u64::from(n);
                let colour = n.wrapping_mul(0x9e37_79b9) | 1;
                machine.vm.write(PICTURE_BEFORE + at, &colour.to_le_bytes()).unwrap();
                let depth = n as f32 / 10_000.0;
                machine.vm.write(DEPTHS_BEFORE + at, &depth.to_le_bytes()).unwrap();
            }
            machine.vertices(&half(0.25));
            let stats = machine.draw(FRAGMENT, &draw).unwrap();
            let pixels = (0..HEIGHT).flat_map(|y| (0..WIDTH).map(move |x| [x, y]));
            let picture: Vec<[u32; 2]> = pixels
                .map(|[x, y]| [PICTURE, DEPTHS].map(|base| machine.word_at(base, x, y)))
                .collect();
            (picture, stats)
        };
        let ((copied, own), (warps, theirs)) = (frame(true), frame(false));
        assert_eq!(copied, warps, "{area:?}");
        assert_eq!(own.copied, u64::from(2 * WIDTH * HEIGHT));
        assert_eq!(JobStats { copied: 0, ..own }, theirs, "{area:?}");
        // The upper right half is not drawn over.
        for (x, y) in [(1, 0), (39, 2), (30, 6), (39, 35)] {
            let n = y * WIDTH + x;
            let [first, last] = area;
            let inside = first[0] <= x && x <= last[0] && first[1] <= y && y <= last[1];
            let [b0, b1, b2, b3] = (n.wrapping_mul(0x9e37_79b9) | 1).to_le_bytes();
            let loaded = [u32::from_le_bytes([b2, b1, b0, b3]), (n as f32 / 10_000.0).to_bits()];
            let cleared = [0x1122_3344, 0.75f32.to_bits()];
            let expected = if inside { cleared } else { loaded };
            assert_eq!(copied[n as usize], expected, "{area:?} {x} {y}");
        }
    }
}

#[test]
fn fragments_that_end_write_nothing() {
    let machine = Machine::new(1);
    machine.vertices(&half(0.5));
    let source = FRAGMENT.replace("ATEST", "DISCARD.f32.lt r0, r4\n    ATEST");
    // r4 is zero: nothing is less. Half of the values of r1 are less than the constant 0.3183…
    machine.draw(&source, &Draw::default()).unwrap();
    assert_ne!(machine.word_at(PICTURE, 2, 30), 0x1122_3344);
    let source = FRAGMENT.replace("ATEST", "DISCARD.f32.gt r1, 0x3F317218\n    ATEST");
    machine.draw(&source, &Draw::default()).unwrap();
    assert_eq!(machine.word_at(PICTURE, 2, 30), 0x1122_3344);
    assert_ne!(machine.word_at(PICTURE, 2, 15), 0x1122_3344);
}

/// A write to a target without a descriptor in the draw is dropped, and the shader continues.
#[test]
fn targets_without_a_descriptor_are_not_written() {
    let machine = Machine::new(1);
    machine.vertices(&half(0.5));
    let absent = "BLEND.slot1.v4.f32 @r0:r1:r2:r3, blend_descriptor_1.w0, r60, target:0x2
    IADD_IMM.i32 r48, program_counter.w0, #0x8
    BRANCHZI.eq.absolute 0x0, blend_descriptor_1.w1
    BLEND.slot1.v4.f32.end";
    machine.draw(&FRAGMENT.replace("BLEND.slot1.v4.f32.end", absent), &Draw::default()).unwrap();
    assert_ne!(machine.word_at(PICTURE, 2, 30), 0x1122_3344);
}

#[test]
fn draws_that_go_wrong_are_faults() {
    let machine = Machine::new(1);
    machine.vertices(&half(0.5));
    let endless = "again: BRANCHZ.eq.reconverge 0x0, offset:again\nNOP.end";
    let fault = machine.draw(endless, &Draw::default()).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Endless);
    let many = Draw { count: u32::MAX, ..Draw::default() };
    assert_eq!(machine.draw(FRAGMENT, &many).unwrap_err().kind, FaultKind::Endless);
}
