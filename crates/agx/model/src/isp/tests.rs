//! Scenes made by hand are drawn with programs in memory, and the pictures checked.

use std::sync::Arc;

use tepui_agx_packets::coefficient::{Binding, BindingHeader, ShadeModel};
use tepui_agx_packets::pbe::Pbe;
use tepui_agx_packets::ppp::{FragmentFace, VisibilityMode, ZsFunc};
use tepui_agx_packets::texture::{Channel, Channels, Layout, TextureDimension, TextureType};
use tepui_agx_packets::usc::{self, SharedLayout};
use tepui_packets::Packet;
use tepui_raster::{Outline, RasterBounds, Shape};
use tepui_softgpu::{AddressSpace, Memory, Protection};

use super::testing::{self, Changes, pack};
use crate::job::{BgEot, FaultKind, JobFault, JobStats, RenderJob, Unit};
use crate::render::scene::{GRID, Primitive, PrimitiveKind, Scene, State};
use crate::{Aspect, Gpu, Options, Target};

const PAGE: u64 = tepui_agx_chips::PAGE_BYTES;
const USC: u64 = 1 << 32;
const IMAGE: u64 = 0x10_0000;
const DESCRIPTOR: u64 = 0x20_0000;
const COUNTS: u64 = 0x30_0000;
const SIZE: usize = 64;

/// Addresses of the USC words of the programs.
const BACKGROUND: u64 = 0x100;
const END: u64 = 0x200;
const EARLY: u64 = 0x300;
const LATE: u64 = 0x400;
const BLENDED: u64 = 0x700;
const FLAT: u64 = 0x800;
/// Address of the coefficient bindings.
const BINDINGS: u64 = 0x600;

/// Half of every channel.
const CLEARS: &str = "
    mov_imm r0, 1056964608, 0b0
    mov_imm r1, 1056964608, 0b0
    mov_imm r2, 1056964608, 0b0
    mov_imm r3, 1056964608, 0b0
    st_tile r0_r1_r2_r3, u8norm, 0, xyzw, 0, 255, 0
    stop
";
const STORES: &str = "
    mov_imm r0, 0, 0b0
    image_write_block r0l, r0_r1, 0, ts0, tex_2d, rte, u8norm, 0, 9, 1
    stop
";
/// The interpolated colour.
const SHADES: &str = "
    iterproj r4_r5_r6_r7, cf1, cf0, center, 0b0, 0, 0, 0, 0, 0
    wait_pix 12, 0
    st_tile r4_r5_r6_r7, u8norm, 0, xyzw, 0, 255, 0
    stop
";
/// A variant in which the program runs the tests.
const TESTS: &str = "
    iterproj r4_r5_r6_r7, cf1, cf0, center, 0b0, 0, 0, 0, 0, 0
    wait_pix 1, 0
    sample_mask 255, 255
    wait_pix 12, 0
    st_tile r4_r5_r6_r7, u8norm, 0, xyzw, 0, 255, 0
    stop
";
/// Version of `SHADES` in sRGB and half registers, added to the previous colour.
const ADDS: &str = "
    iterproj r2l_r2h_r3l_r3h, cf1, cf0, center, 0b0, 0, 0, 0, 0, 0
    wait_pix 12, 0
    ld_tile r4_r5_r6_r7, srgba8, 1, xyzw, 0, 255, 0
    fadd32 r4, r4, r2l
    fmul32 r5, r5, r2h
    fadd32 r6, r6, r3l.neg
    fadd32 r7, r7, r3h
    st_tile r4_r5_r6_r7, srgba8, 0, xyzw, 0, 255, 0
    stop
";
/// The colour from its coefficients, as they are.
const COEFFICIENTS: &str = "
    ldcf r4_r5_r6, cf1
    ldcf r2l_r2h_r3l, cf2
    ldcf r8_r9_r10_r11_r12_r13, cf3
    fadd32 r7, r13, r3l.neg
    fadd32 r4, r4, r2l
    fadd32 r5, r11, r2h
    wait_pix 12, 0
    st_tile r4_r5_r6_r7, u8norm, 0, xyzw, 0, 255, 0
    stop
";
fn vertex(position: [f32; 4], color: [f32; 4]) -> [f32; 8] {
    let mut out = [0.0; 8];
    out[..4].copy_from_slice(&position);
    out[4..].copy_from_slice(&color);
    out
}

/// Memory with programs, and a scene.
struct Rig {
    vm: AddressSpace,
    job: RenderJob,
    scene: Scene,
}

impl Rig {
    fn new() -> Rig {
        let vm = AddressSpace::new(tepui_agx_chips::PAGE_SHIFT, tepui_agx_chips::VA_BITS);
        for base in [USC, IMAGE, DESCRIPTOR, COUNTS] {
            let memory = Arc::new(Memory::new(8 * PAGE as usize).unwrap());
            vm.bind(base, memory, 0, 8 * PAGE, Protection::READ | Protection::WRITE).unwrap();
        }
        let zero = Pbe::unpack(&[0; 24]).unwrap_or_else(|p| panic!("{p}"));
        let pbe = Pbe {
            dimension: TextureDimension::D2,
            layout: Layout::Linear,
            channels: Channels::R8G8B8A8,
            type_: TextureType::Unorm,
            swizzle_r: Channel::R,
            swizzle_g: Channel::G,
            swizzle_b: Channel::B,
            swizzle_a: Channel::A,
            width: SIZE as u32,
            height: SIZE as u32,
            buffer: IMAGE,
            stride: 4 * SIZE as u32,
            ..zero
        };
        vm.write(DESCRIPTOR, &pack(pbe)).unwrap();
        for (number, (at, code, early)) in [
            (BACKGROUND, CLEARS, None),
            (END, STORES, None),
            (EARLY, SHADES, Some(true)),
            (LATE, TESTS, Some(false)),
            (BLENDED, ADDS, Some(true)),
            (FLAT, COEFFICIENTS, Some(true)),
        ]
        .into_iter()
        .enumerate()
        {
            let place = PAGE + 0x400 * number as u64;
            let bytes = tepui_agx_isa::asm::assemble(code).unwrap_or_else(|e| panic!("{e:?}"));
            vm.write(USC + place, &bytes).unwrap();
            let mut words = Vec::new();
            if at == END {
                words.extend(pack(usc::Texture { start: 0, count: 1, buffer: DESCRIPTOR }));
            }
            words.extend(pack(usc::Shared {
                uses_shared_memory: true,
                layout: SharedLayout::Tile32x32,
                sample_count: 1,
                sample_stride_in_8_bytes: 1,
                bytes_per_threadgroup: 8192,
            }));
            words.extend(pack(usc::Shader { code: place, ..Default::default() }));
            words.extend(pack(usc::Registers { register_count: 64, ..Default::default() }));
            if let Some(early_z_testing) = early {
                words.extend(pack(usc::FragmentProperties {
                    early_z_testing,
                    ..Default::default()
                }));
            }
            words.extend(pack(usc::NoPreshader {}));
            vm.write(USC + at, &words).unwrap();
        }
        let mut bindings =
            pack(BindingHeader { number_of_32_bit_slots: 5, number_of_coefficient_registers: 5 });
        let w = Binding { components: 1, shade_model: ShadeModel::Linear, ..Default::default() };
        bindings.extend(pack(w));
        bindings.extend(pack(Binding {
            components: 4,
            shade_model: ShadeModel::Perspective,
            base_slot: 1,
            base_coefficient_register: 1,
            ..Default::default()
        }));
        vm.write(USC + BINDINGS, &bindings).unwrap();
        let program = |at: u64| BgEot { usc: at as u32 | 4, rsrc_spec: 0 };
        let job = RenderJob {
            usc_exec_base: USC,
            flags: 1 << 1,
            isp_oclqry_base: COUNTS,
            ppp_multisamplectl: 0x88,
            width_px: SIZE as u16,
            height_px: SIZE as u16,
            layers: 1,
            utile_width_px: 32,
            utile_height_px: 32,
            samples: 1,
            sample_size_bytes: 8,
            bg: program(BACKGROUND),
            eot: program(END),
            isp_bgobjdepth: 1f32.to_bits(),
            ..RenderJob::default()
        };
        Rig { vm, job, scene: Scene::default() }
    }

    /// A state that draws with a program; the nearer fragment wins the depth test.
    fn state(&mut self, pipeline: u64) -> u32 {
        let mut state = State { pipeline, bindings: BINDINGS, ..testing::state() };
        state.shader.cf_binding_count = 2;
        state.control.visibility_mode = VisibilityMode::Counting;
        for face in &mut state.face {
            *face = FragmentFace { depth_function: ZsFunc::Less, ..*face };
        }
        self.scene.states.push(state);
        self.scene.states.len() as u32 - 1
    }

    /// A triangle of window positions with depth and w, and a colour for each corner.
    fn triangle(&mut self, state: u32, corners: [([f32; 4], [f32; 4]); 3]) {
        let first = self.scene.outputs.len() as u32;
        for (p, color) in corners {
            self.scene.outputs.extend(vertex(p, color).map(f32::to_bits));
        }
        let xy = corners.map(|(p, _)| [(p[0] * 256.0) as i32, (p[1] * 256.0) as i32]);
        let outline = Outline {
            kind: PrimitiveKind::Triangle,
            size_px: 0.0,
            primitive: self.scene.primitives.len() as u32,
            coverage: tepui_raster::CoverageRule::Samples,
            rectangular: false,
        };
        let limits = RasterBounds { min: [0; 2], max: [SIZE as u32; 2], samples: None };
        self.scene.shapes.extend(Shape::new(&GRID, xy, &outline, &limits));
        self.scene.primitives.push(Primitive {
            state,
            vertices: [first, first + 8, first + 16],
            positions: corners.map(|([x, y, z, w], _)| [x * w, y * w, z * w, w]),
            ..testing::primitive()
        });
    }

    fn draw(&self, threads: usize) -> Result<JobStats, JobFault> {
        self.draw_with(Options { threads, ..Options::default() })
    }

    fn draw_with(&self, options: Options) -> Result<JobStats, JobFault> {
        let gpu = Gpu::new(options);
        let mut stats = JobStats::default();
        super::draw(&gpu, &self.vm, &self.job, &self.scene, &mut stats)?;
        Ok(stats)
    }

    fn picture(&self) -> Vec<[u8; 4]> {
        let mut bytes = vec![0; 4 * SIZE * SIZE];
        self.vm.read(IMAGE, &mut bytes).unwrap();
        bytes.chunks_exact(4).map(|p| [p[0], p[1], p[2], p[3]]).collect()
    }

    fn count(&self) -> u64 {
        u64::from_le_bytes(self.vm.read_array(COUNTS).unwrap())
    }
}

const RED: [f32; 4] = [1.0, 0.0, 0.0, 1.0];
const GREEN: [f32; 4] = [0.0, 1.0, 0.0, 1.0];
const BLUE: [f32; 4] = [0.0, 0.0, 1.0, 1.0];

/// Two triangles; the second is farther than the first where they overlap.
fn two_triangles(pipeline: u64) -> Rig {
    let mut rig = Rig::new();
    let state = rig.state(pipeline);
    let near = [
        ([4.0, 4.0, 0.2, 1.0], RED),
        ([60.0, 4.0, 0.2, 1.0], GREEN),
        ([4.0, 60.0, 0.2, 1.0], BLUE),
    ];
    let far =
        [([60.0, 8.0, 0.6, 1.0], RED), ([60.0, 60.0, 0.6, 4.0], RED), ([8.0, 60.0, 0.6, 2.0], RED)];
    rig.triangle(state, near);
    rig.triangle(state, far);
    rig
}

#[test]
fn a_triangle_is_interpolated_over_the_clear_colour() {
    let rig = two_triangles(EARLY);
    rig.draw(1).unwrap_or_else(|fault| panic!("{fault}"));
    let picture = rig.picture();
    assert_eq!(picture[0], [128; 4]);
    assert_eq!(picture[63 * SIZE + 63], [128; 4]);
    // At a pixel's centre the colours are weighted by the distances from the sides.
    for (x, y) in [(5, 5), (20, 10), (10, 40), (30, 30)] {
        let [fx, fy] = [x, y].map(|v: usize| (v as f32 + 0.5 - 4.0) / 56.0);
        let expected = [1.0 - fx - fy, fx, fy, 1.0].map(|v| (v * 255.0).round() as i32);
        let got = picture[y * SIZE + x].map(i32::from);
        assert!(got.iter().zip(expected).all(|(g, e)| (g - e).abs() <= 1), "{got:?} {expected:?}");
    }
    assert_eq!(picture[50 * SIZE + 50], [255, 0, 0, 255]);
}

#[test]
fn the_picture_is_the_same_at_any_thread_count_and_with_late_tests() {
    let reference = two_triangles(EARLY);
    reference.draw(1).unwrap_or_else(|fault| panic!("{fault}"));
    for (pipeline, threads) in [(EARLY, 2), (EARLY, 7), (LATE, 1), (LATE, 3)] {
        let rig = two_triangles(pipeline);
        rig.draw(threads).unwrap_or_else(|fault| panic!("{fault}"));
        assert_eq!(rig.picture(), reference.picture());
        assert_eq!(rig.count(), reference.count());
    }
    // Covered pixels differ from the clear colour; hidden fragments were not counted.
    let drawn = reference.picture().iter().filter(|&&p| p != [128; 4]).count() as u64;
    assert_eq!(reference.count(), drawn);
}

/// Opaque primitives that later ones hide are not shaded; what is drawn last stays.
#[test]
fn hidden_surfaces_are_removed() {
    let draw = |triangles: u32| {
        let mut rig = Rig::new();
        let state = rig.state(EARLY);
        for i in 0..triangles {
            let z = 0.9 - i as f32 / 64.0;
            let color = [i as f32 / 255.0, 1.0, 0.0, 1.0];
            let corners = [[8.0, 8.0], [11.0, 8.0], [8.0, 11.0]];
            rig.triangle(state, corners.map(|[x, y]| ([x, y, z, 1.0], color)));
        }
        let stats = rig.draw(1).unwrap_or_else(|fault| panic!("{fault}"));
        let covered = rig.picture().into_iter().filter(|&p| p != [128; 4]).collect::<Vec<_>>();
        (covered, stats.instructions)
    };
    let counts = [1, 2, 8, 9, 21].map(|triangles| {
        let (covered, instructions) = draw(triangles);
        assert!(!covered.is_empty());
        assert!(covered.iter().all(|p| *p == [triangles as u8 - 1, 255, 0, 255]), "{covered:?}");
        instructions
    });
    assert_eq!(counts, [counts[0]; 5]);
}

#[test]
fn an_unbound_coefficient_register_is_a_fault() {
    let mut rig = two_triangles(EARLY);
    rig.scene.states[0].bindings = 0;
    let fault = rig.draw(2).unwrap_err();
    assert_eq!((fault.unit, fault.kind), (Unit::Usc, FaultKind::Unbound), "{fault}");
    assert!(fault.program.is_some(), "{fault}");
}

#[test]
fn depth_goes_to_memory_and_comes_back() {
    use tepui_agx_packets::render::{IspZlsPixels, ZlsControl};
    let word = |bytes: Vec<u8>| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    let control = |z_load| {
        let bytes = pack(ZlsControl { z_load, z_store: true, ..Default::default() });
        u64::from(word(bytes[..4].to_vec())) | u64::from(word(bytes[4..].to_vec())) << 32
    };
    // Both triangles in two commands give the same picture as in one.
    let reference = two_triangles(EARLY);
    reference.draw(1).unwrap_or_else(|fault| panic!("{fault}"));
    let mut rig = two_triangles(EARLY);
    rig.job.isp_zls_pixels = word(pack(IspZlsPixels { x: SIZE as u32, y: SIZE as u32 }));
    rig.job.depth.base = COUNTS + PAGE;
    let last = (rig.scene.primitives.pop(), rig.scene.shapes.pop());
    rig.job.zls_ctrl = control(false);
    rig.draw(1).unwrap_or_else(|fault| panic!("{fault}"));
    let alone = rig.count();
    rig.scene.primitives = last.0.into_iter().collect();
    rig.scene.shapes = last.1.map(|shape| Shape { primitive: 0, ..shape }).into_iter().collect();
    rig.job.zls_ctrl = control(true);
    rig.draw(1).unwrap_or_else(|fault| panic!("{fault}"));
    assert!(alone < rig.count());
    assert_eq!(rig.count(), reference.count());
}

/// Triangles of all sizes, in states that take turns.
fn random_scene(seed: u64) -> Rig {
    let mut seed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut random = |most: f32| {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 40) as f32 / (1 << 24) as f32 * most
    };
    let mut rig = Rig::new();
    let states = [EARLY, BLENDED, LATE, FLAT].map(|pipeline| rig.state(pipeline));
    for _ in 0..24 {
        let state = states[random(4.0) as usize % 4];
        let size = if random(1.0) < 0.5 { 12.0 } else { 64.0 };
        let corner = [random(64.0), random(64.0)];
        let mut corners: [([f32; 4], [f32; 4]); 3] = std::array::from_fn(|_| {
            let at = [0, 1].map(|k| (corner[k] + random(size) - size / 2.0).clamp(0.0, 63.9));
            let color = std::array::from_fn(|_| random(1.4) - 0.2);
            ([at[0], at[1], random(1.0), 1.0 + random(2.0)], color)
        });
        let [p, q, r] = corners.map(|(p, _)| p);
        if (q[0] - p[0]) * (r[1] - p[1]) < (r[0] - p[0]) * (q[1] - p[1]) {
            corners.swap(1, 2);
        }
        rig.triangle(state, corners);
    }
    rig
}

#[test]
fn translated_and_interpreted_programs_draw_the_same() {
    for seed in 0..24 {
        let interpreted = Options { threads: 1, translate_after: u32::MAX, ..Options::default() };
        let targets = Target::ALL.into_iter().filter(|target| target.is_available());
        let translated = targets.flat_map(|target| {
            let target = Some(target);
            [1, 3].map(|threads| Options {
                threads,
                translate_after: 0,
                target,
                ..Options::default()
            })
        });
        let pictures = std::iter::once(interpreted).chain(translated).map(|options| {
            let rig = random_scene(seed);
            rig.draw_with(options).unwrap_or_else(|fault| panic!("{fault}"));
            (rig.picture(), rig.count())
        });
        let pictures: Vec<_> = pictures.collect();
        for translated in &pictures[1..] {
            assert!(pictures[0] == *translated, "scene {seed}");
        }
        assert!(pictures[0].1 > 0);
    }
}

/// Changed bytes of programs, USC words, bindings and descriptors. fuzz/fuzz_targets/agx_render.rs
/// does the same to whole commands, for longer.
#[test]
fn any_bytes_end_in_a_picture_or_a_fault() {
    let mut changes = Changes::new(0x2545_f491);
    let (mut drawn, mut faults) = (0, 0);
    for round in 0..1500 {
        let pipeline = if round % 2 == 0 { EARLY } else { LATE };
        let rig = two_triangles(pipeline);
        let code = (0..4).map(|program| (USC + PAGE + 0x400 * program, 48));
        let words = [(USC + BACKGROUND, 40), (USC + END, 40), (USC + pipeline, 40)];
        let state = [(DESCRIPTOR, 24), (USC + BINDINGS, 12)];
        let places: Vec<(u64, u32)> = code.chain(words).chain(state).collect();
        changes.make(&rig.vm, &places, 3);
        let options = Options {
            threads: 1,
            instruction_budget: 2000,
            job_budget: 1 << 22,
            translate_after: if round % 4 < 2 { 0 } else { u32::MAX },
            ..Options::default()
        };
        match rig.draw_with(options) {
            Ok(_) => drawn += 1,
            Err(_) => faults += 1,
        }
    }
    assert!(drawn > 100 && faults > 100, "{drawn} {faults}");
}

/// The attachments of a command are the picture that it left in memory.
#[test]
fn attachments_are_the_picture() {
    let rig = two_triangles(EARLY);
    rig.draw(1).unwrap_or_else(|fault| panic!("{fault}"));
    let gpu = Gpu::new(Options::default());
    let found = gpu.attachments(&rig.vm, &rig.job).unwrap_or_else(|fault| panic!("{fault}"));
    let [colour] = &found[..] else { panic!("{} attachments", found.len()) };
    assert_eq!((colour.aspect, colour.layer), (Aspect::Colour(0), 0));
    assert_eq!(colour.size_px, [SIZE as u32; 2]);
    let texels: Vec<[u8; 4]> =
        colour.texels.iter().map(|t| t.map(|v| (v * 255.0).round() as u8)).collect();
    assert!(texels == rig.picture());
}
