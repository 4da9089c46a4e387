//! Command streams that draw, as a driver writes them.

use std::sync::Arc;

use tepui_mali_isa::asm::assemble;
use tepui_mali_model::{FaultKind, Gpu, JobFault, JobStats, Options, Stream, address_space};
use tepui_mali_packets::Packet;
use tepui_mali_packets::cs::*;
use tepui_mali_packets::draw::*;
use tepui_mali_packets::framebuffer::*;
use tepui_mali_packets::shader::*;
use tepui_mali_packets::texture::{CompareFunction, ComponentOrder, Format};
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

const WIDTH: u32 = 40;
const HEIGHT: u32 = 36;

/// Positions are 16 bytes a vertex of the buffer, colours come 256 bytes behind.
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
const FRAGMENT: &str = "
    LD_VAR_BUF_IMM.f32.slot0.v4.src_f32.center.store.wait0126 @r0:r1:r2:r3, r61, index:0x0
    ATEST.wait @r60, r60, r3, atest_datum.w0
    BLEND.slot1.v4.f32.end @r0:r1:r2:r3, blend_descriptor_0.w0, r60, target:0x0
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

/// What a test changes of the draw.
struct Draw {
    blend: Blend,
    depth: DepthStencil,
    count: u32,
    draws: u32,
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
        Draw { blend, depth, count: 3, draws: 1 }
    }
}

impl Machine {
    fn new(threads: usize) -> Machine {
        let chip = tepui_mali_chips::chip("mali-g610").unwrap();
        let options = Options { threads, most_instructions: 50_000_000, ..Options::default() };
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
        self.shader(0, ShaderStage::Vertex, POSITION);
        self.shader(1, ShaderStage::Vertex, VARYING);
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
            ..Default::default()
        };
        self.put(CONTEXT, &context);
        self.put(
            FRAME,
            &FramebufferParameters {
                width: WIDTH,
                height: HEIGHT,
                bound_max_x: WIDTH - 1,
                bound_max_y: HEIGHT - 1,
                effective_tile_size: 256,
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
                    ..Default::default()
                }),
            ),
            (
                57,
                register(&DcdFlags0 {
                    occlusion_query: OcclusionMode::Counter,
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
        // Bytes 40 to 55 of the context are the chunks to give back.
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

#[test]
fn depth_tests_and_blending_look_at_what_was_drawn() {
    let machine = Machine::new(2);
    // Behind the cleared depth, then in front of it.
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
    // Twice 51 is added to all components but alpha.
    assert_eq!(machine.word_at(PICTURE, 2, 30), 0x1188_99aa);
    assert_eq!(f32::from_bits(machine.word_at(DEPTHS, 2, 30)), 0.5);
}

#[test]
fn fragments_that_end_write_nothing() {
    let machine = Machine::new(1);
    machine.vertices(&half(0.5));
    let source = FRAGMENT.replace("ATEST", "DISCARD.f32.lt r0, r4\n    ATEST");
    // r4 is zero: nothing is less. Of r1 half is less than the constant 0.3183…
    machine.draw(&source, &Draw::default()).unwrap();
    assert_ne!(machine.word_at(PICTURE, 2, 30), 0x1122_3344);
    let source = FRAGMENT.replace("ATEST", "DISCARD.f32.gt r1, 0x3F317218\n    ATEST");
    machine.draw(&source, &Draw::default()).unwrap();
    assert_eq!(machine.word_at(PICTURE, 2, 30), 0x1122_3344);
    assert_ne!(machine.word_at(PICTURE, 2, 15), 0x1122_3344);
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
