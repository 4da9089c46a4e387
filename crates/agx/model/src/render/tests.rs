//! Draws made by hand — packets, state records, machine code and indices in memory — and the scenes
//! that they become.

use std::sync::Arc;

use tepui_agx_packets::ppp::{
    Cull, FragmentControl, Header, OutputSelect, OutputSize, Viewport, ViewportControl,
};
use tepui_agx_packets::usc;
use tepui_agx_packets::vdm::{
    self, IndexList, IndexListBufferLo, IndexListBufferSize, IndexListCount, IndexListInstances,
    IndexListStart, IndexSize, Primitive,
};
use tepui_packets::Packet;
use tepui_softgpu::{AddressSpace, Memory, Protection};

use super::geometry::Geometry;
use super::scene::{PrimitiveKind, Scene};
use crate::isp::testing::{Changes, pack};
use crate::job::{FaultKind, JobFault, JobStats, RenderJob, Unit};
use crate::usc::cache::Programs;
use crate::{Gpu, Options};

const PAGE: u64 = tepui_agx_chips::PAGE_BYTES;
const USC: u64 = 1 << 32;
const STREAM: u64 = 0x10_0000;
const RECORD: u64 = 0x20_0000;
const DATA: u64 = 0x30_0000;

/// Loads the position from `u0_u1 + 16 * vertex` and writes it, then the vertex and the instance.
const PROGRAM: &str = "
    device_load 0, i32, xyzw, r8_r9_r10_r11, u0_u1, r5, unsigned, lsl 2
    wait 0
    st_var 0, r8, 0
    st_var 0, r9, 1
    st_var 0, r10, 2
    st_var 0, r11, 3
    st_var 0, r5, 4
    st_var_final 0, r6, 5
    stop
";
/// Words of a vertex that it writes.
const WORDS: u32 = 6;

/// A stream that is being written.
struct Rig {
    vm: AddressSpace,
    stream: Vec<u8>,
    record: Vec<u8>,
    job: RenderJob,
}

impl Rig {
    /// A render of 64 × 64 pixels, its viewport the whole of it.
    fn new(positions: &[[f32; 4]]) -> Rig {
        let vm = AddressSpace::new(tepui_agx_chips::PAGE_SHIFT, tepui_agx_chips::VA_BITS);
        for base in [USC, STREAM, RECORD, DATA] {
            let memory = Arc::new(Memory::new(8 * PAGE as usize).unwrap());
            vm.bind(base, memory, 0, 8 * PAGE, Protection::READ | Protection::WRITE).unwrap();
        }
        let floats: Vec<u8> =
            positions.as_flattened().iter().flat_map(|f| f.to_le_bytes()).collect();
        vm.write(DATA, &floats).unwrap();
        vm.write(DATA + PAGE, &DATA.to_le_bytes()).unwrap();
        let code = tepui_agx_isa::asm::assemble(PROGRAM).unwrap_or_else(|e| panic!("{e:?}"));
        vm.write(USC + PAGE, &code).unwrap();
        let mut words = pack(usc::Uniform { start_halfs: 0, size_halfs: 4, buffer: DATA + PAGE });
        words.extend(pack(usc::Shader { code: PAGE, ..usc::Shader::default() }));
        words.extend(pack(usc::Registers { register_count: 256, ..usc::Registers::default() }));
        words.extend(pack(usc::NoPreshader {}));
        vm.write(USC, &words).unwrap();
        let job = RenderJob {
            usc_exec_base: USC,
            vdm_ctrl_stream_base: STREAM,
            width_px: 64,
            height_px: 64,
            layers: 1,
            ..RenderJob::default()
        };
        let mut rig = Rig { vm, stream: Vec::new(), record: Vec::new(), job };
        rig.push(vdm::State {
            vertex_shader_word_1_present: true,
            vertex_outputs_present: true,
            ..Default::default()
        });
        rig.push(vdm::StateVertexShaderWord1 { pipeline: 0, ..Default::default() });
        rig.push(vdm::StateVertexOutputs { output_count_1: WORDS, output_count_2: WORDS });
        rig.stream.extend([0; 4]);
        rig
    }

    fn push<P: Packet>(&mut self, packet: P) {
        self.stream.extend(pack(packet));
    }

    /// State with one viewport and these rules of culling.
    fn state(&mut self, cull: Cull) {
        self.state_with(cull, OutputSelect { varyings: true, ..Default::default() });
    }

    /// A state with other outputs.
    fn state_with(&mut self, cull: Cull, select: OutputSelect) {
        let mut record = pack(Header {
            fragment_control: true,
            viewport: true,
            viewport_count: 1,
            output_select: true,
            cull: true,
            output_size: true,
            ..Default::default()
        });
        record.extend(pack(FragmentControl::default()));
        record.extend(pack(ViewportControl {}));
        record.extend(pack(Viewport {
            translate_x: 32.0,
            scale_x: 32.0,
            translate_y: 32.0,
            scale_y: 32.0,
            translate_z: 0.0,
            scale_z: 1.0,
        }));
        record.extend(pack(select));
        record.extend(pack(cull));
        record.extend(pack(OutputSize { count: WORDS }));
        let pointer = RECORD + self.record.len() as u64;
        self.push(vdm::PppState { pointer, size_words: record.len() as u32 / 4 });
        self.record.extend(record);
    }

    /// A draw without indices.
    fn draw(&mut self, primitive: Primitive, count: u32, instances: u32) {
        self.push(IndexList {
            primitive,
            index_count_present: true,
            instance_count_present: true,
            start_present: true,
            ..Default::default()
        });
        self.push(IndexListCount { count });
        self.push(IndexListInstances { count: instances });
        self.push(IndexListStart { start: 0 });
    }

    /// A draw with 16-bit indices, restart at 0xffff.
    fn draw_indexed(&mut self, primitive: Primitive, indices: &[u16], start: u32) {
        self.draw_instances(primitive, indices, start, 1);
    }

    /// A draw with instances.
    fn draw_instances(
        &mut self,
        primitive: Primitive,
        indices: &[u16],
        start: u32,
        instances: u32,
    ) {
        let address = DATA + 2 * PAGE;
        let bytes: Vec<u8> = indices.iter().flat_map(|i| i.to_le_bytes()).collect();
        self.vm.write(address, &bytes).unwrap();
        self.push(vdm::State { restart_index_present: true, ..Default::default() });
        self.push(vdm::StateRestartIndex { value: 0xffff });
        self.push(IndexList {
            primitive,
            restart_enable: true,
            index_size: IndexSize::U16,
            index_buffer_present: true,
            index_count_present: true,
            instance_count_present: true,
            start_present: true,
            index_buffer_size_present: true,
            ..Default::default()
        });
        self.push(IndexListBufferLo { buffer_lo: address as u32 });
        self.push(IndexListCount { count: indices.len() as u32 });
        self.push(IndexListInstances { count: instances });
        self.push(IndexListStart { start });
        self.push(IndexListBufferSize { size: (bytes.len() as u64).next_multiple_of(4) });
    }

    /// Ends the stream and puts everything into memory.
    fn write(&mut self) {
        self.push(vdm::StreamTerminate {});
        self.vm.write(STREAM, &self.stream).unwrap();
        self.vm.write(RECORD, &self.record).unwrap();
    }

    /// Runs the stream and returns the scenes that it gives.
    fn run(mut self) -> Result<(Vec<Scene>, JobStats), JobFault> {
        self.write();
        self.run_written(Options { threads: 2, ..Options::default() })
    }

    fn run_written(&self, options: Options) -> Result<(Vec<Scene>, JobStats), JobFault> {
        let gpu = Gpu::new(options);
        let programs = Programs::new(&self.vm, USC, &gpu.programs);
        let mut scenes = Vec::new();
        let mut sink = |scene: &Scene, _: &mut JobStats| {
            scenes.push(scene.clone());
            Ok(())
        };
        let mut geometry = Geometry::new(&gpu, &self.vm, &self.job, &programs, &mut sink)?;
        crate::vdm::run(&mut geometry, STREAM)?;
        let stats = geometry.finish()?;
        Ok((scenes, stats))
    }

    fn scene(self) -> Scene {
        let (mut scenes, _) = self.run().unwrap_or_else(|fault| panic!("{fault}"));
        assert_eq!(scenes.len(), 1);
        scenes.remove(0)
    }
}

const CORNERS: [[f32; 4]; 4] =
    [[-1.0, -1.0, 0.25, 1.0], [1.0, -1.0, 0.25, 1.0], [-1.0, 1.0, 0.25, 1.0], [2.0, 2.0, 0.5, 2.0]];

#[test]
fn a_triangle_comes_to_the_screen() {
    let mut rig = Rig::new(&CORNERS);
    rig.state(Cull::default());
    rig.draw(Primitive::Triangles, 3, 1);
    let scene = rig.scene();
    assert_eq!(scene.primitives.len(), 1);
    assert_eq!((scene.shapes[0].min_px, scene.shapes[0].max_px), ([0; 2], [64; 2]));
    let primitive = &scene.primitives[0];
    assert_eq!(primitive.kind, PrimitiveKind::Triangle);
    let numbers = primitive.vertices.map(|v| scene.outputs[v as usize + 4]);
    assert_eq!(numbers, [0, 1, 2]);
    assert_eq!(scene.states[0].scissors[0].max_px, [64, 64]);
}

/// Indirect draws copy the application's count, whatever cmdbuf.xml says.
#[test]
fn no_instances_draw_nothing() {
    let mut rig = Rig::new(&CORNERS);
    rig.state(Cull::default());
    rig.draw(Primitive::Triangles, 3, 0);
    rig.draw(Primitive::Triangles, 3, 1);
    let (scenes, stats) = rig.run().unwrap();
    assert_eq!(scenes[0].primitives.len(), 1);
    assert_eq!((stats.launches, stats.threads), (2, 3));
}

/// The word after the position, here the vertex's number, selects the layer.
#[test]
fn layers_beyond_the_last_are_the_last() {
    for (layers, expected) in [(1, 0), (2, 1), (3, 2), (8, 2)] {
        let mut rig = Rig::new(&CORNERS);
        rig.job.layers = layers;
        let select = OutputSelect { render_target: true, ..Default::default() };
        rig.state_with(Cull::default(), select);
        rig.draw_indexed(Primitive::Triangles, &[2, 0, 1], 0);
        let scene = rig.scene();
        let drawn: Vec<_> = scene.primitives.iter().map(|p| p.layer).collect();
        assert_eq!(drawn, [expected], "{layers} layers");
    }
}

#[test]
fn facing_follows_the_winding_on_the_screen() {
    for (cull_front, cull_back, front_face_ccw, left) in
        [(false, true, false, 1), (true, false, false, 0), (false, true, true, 0)]
    {
        let mut rig = Rig::new(&CORNERS);
        // Clockwise to the eye, since y points down.
        rig.state(Cull { cull_front, cull_back, front_face_ccw, ..Default::default() });
        rig.draw(Primitive::Triangles, 3, 1);
        assert_eq!(rig.scene().primitives.len(), left);
    }
}

#[test]
fn indices_are_reused_and_restarted() {
    let mut rig = Rig::new(&CORNERS);
    rig.state(Cull::default());
    rig.draw_indexed(Primitive::TriangleStrip, &[0, 1, 2, 3, 0xffff, 3, 2, 1, 0], 0);
    let (scenes, stats) = rig.run().unwrap();
    assert_eq!(scenes[0].primitives.len(), 4);
    assert_eq!(scenes[0].outputs.len(), 4 * WORDS as usize);
    assert_eq!(stats.threads, 4);
    let ids: Vec<u32> = scenes[0].primitives.iter().map(|p| p.primitive_id).collect();
    assert_eq!(ids, [0, 1, 2, 3]);
}

#[test]
fn instances_share_simd_groups_and_begin_anew() {
    let mut rig = Rig::new(&CORNERS);
    rig.state(Cull::default());
    rig.draw(Primitive::Triangles, 3, 50);
    let scene = rig.scene();
    assert_eq!(scene.primitives.len(), 50);
    for (i, primitive) in scene.primitives.iter().enumerate() {
        assert_eq!(primitive.primitive_id, 0);
        assert_eq!(scene.outputs[primitive.vertices[2] as usize + 4..][..2], [2, i as u32]);
    }
}

/// Vertices of a draw's primitives: their numbers in the vertex buffer, and the instance; each with the
/// primitive's number.
fn vertices_of(scene: &Scene) -> Vec<([[u32; 2]; 3], u32)> {
    let of = |v: u32| [scene.outputs[v as usize + 4], scene.outputs[v as usize + 5]];
    scene.primitives.iter().map(|p| (p.vertices.map(of), p.primitive_id)).collect()
}

/// Later instances have the vertices and primitives of the first, in as many batches as they take.
#[test]
fn instances_repeat_the_first() {
    let long: Vec<u16> = (0..3000).map(|i| i * 7 % 4).collect();
    let strip: &[u16] = &[0, 1, 2, 3, 0xffff, 3, 2, 1, 0];
    for (primitive, indices, instances) in [
        (Primitive::Triangles, &[2, 0, 1, 3, 1][..], 40),
        (Primitive::Triangles, &[2, 0, 0xffff, 3, 2, 1], 3),
        (Primitive::TriangleStrip, strip, 7),
        (Primitive::LineLoop, strip, 7),
        (Primitive::Triangles, &long, 20),
        (Primitive::TriangleFan, &long, 20),
    ] {
        let draw = |instances| {
            let mut rig = Rig::new(&CORNERS);
            rig.state(Cull::default());
            rig.draw_instances(primitive, indices, 0, instances);
            rig.scene()
        };
        let (one, all) = (draw(1), draw(instances));
        let outputs = one.outputs.len() * instances as usize;
        assert_eq!(all.outputs.len(), outputs, "{primitive:?}");
        let first = vertices_of(&one);
        assert!(!first.is_empty());
        let instance = |instance: u32| {
            let set = move |[number, _]: [u32; 2]| [number, instance];
            first.iter().map(move |&(vertices, id)| (vertices.map(set), id))
        };
        let expected: Vec<_> = (0..instances).flat_map(instance).collect();
        assert!(vertices_of(&all) == expected, "{primitive:?}");
    }
}

#[test]
fn the_near_plane_cuts_a_triangle_into_two_pieces() {
    let positions =
        [[-1.0, -1.0, -0.5, 1.0], [1.0, -1.0, 0.5, 1.0], [-1.0, 1.0, 0.5, 1.0], [0.0; 4]];
    for (depth_clip, pieces) in [(true, 2), (false, 1)] {
        let mut rig = Rig::new(&positions);
        rig.state(Cull { depth_clip, ..Default::default() });
        rig.draw(Primitive::Triangles, 3, 1);
        let scene = rig.scene();
        assert_eq!((scene.primitives.len(), scene.shapes.len()), (1, pieces));
        assert!(scene.shapes.iter().all(|shape| shape.primitive == 0));
        assert_eq!(scene.primitives[0].positions[0][2], -0.5);
    }
}

#[test]
fn what_lies_behind_the_eye_is_cut_off() {
    let positions = [[0.0, 0.0, 0.5, 1.0], [0.5, 0.0, 0.5, 1.0], [0.0, 8.0, 0.5, -1.0], [0.0; 4]];
    let mut rig = Rig::new(&positions);
    rig.state(Cull::default());
    rig.draw(Primitive::Triangles, 3, 1);
    let scene = rig.scene();
    assert!(!scene.shapes.is_empty());
}

#[test]
fn too_many_vertices_end_in_a_fault_at_once() {
    let mut rig = Rig::new(&CORNERS);
    rig.state(Cull::default());
    rig.draw(Primitive::Triangles, u32::MAX, u32::MAX);
    assert_eq!(rig.run().err().map(|fault| fault.kind), Some(FaultKind::Endless));
}

#[test]
fn large_draws_come_in_parts() {
    let mut rig = Rig::new(&CORNERS);
    rig.state(Cull::default());
    // Fans need their first vertex across parts.
    rig.draw_indexed(Primitive::TriangleFan, &[0, 1, 2], 0);
    rig.draw(Primitive::TriangleStrip, 4, 400_000);
    rig.draw(Primitive::Points, 1, 400_000);
    let (scenes, stats) = rig.run().unwrap();
    assert_eq!(scenes.len(), 2);
    assert!(!scenes[0].continued && scenes[0].unfinished);
    assert!(scenes[1].continued && !scenes[1].unfinished);
    let drawn: usize = scenes.iter().map(|s| s.primitives.len()).sum();
    assert_eq!(drawn, 1 + 800_000 + 400_000);
    assert_eq!(stats.launches, 3);
}

#[test]
fn records_must_be_as_long_as_their_header_says() {
    let mut rig = Rig::new(&CORNERS);
    rig.state(Cull::default());
    let end = rig.stream.len();
    rig.stream[end - 7] += 1;
    rig.draw(Primitive::Triangles, 3, 1);
    let Err(fault) = rig.run() else { panic!("the record was taken") };
    assert_eq!((fault.unit, fault.kind), (Unit::Ppp, FaultKind::Length), "{fault}");
}

/// Bytes of a stream, its records, its pipeline and its positions changed at random: every run
/// ends, and primitives keep to the scene that they are in.
#[test]
fn any_bytes_end_in_a_scene_or_a_fault() {
    let mut changes = Changes::new(0x9e37_79b9);
    let mut drawn = 0;
    for _ in 0..4000 {
        let mut rig = Rig::new(&CORNERS);
        rig.state(Cull { depth_clip: true, ..Default::default() });
        rig.draw(Primitive::TriangleStrip, 4, 2);
        rig.draw_indexed(Primitive::LineLoop, &[0, 1, 2, 3, 0xffff, 3, 1, 0], 0);
        rig.write();
        let stream = (STREAM, rig.stream.len() as u32);
        let record = (RECORD, rig.record.len() as u32);
        changes.make(&rig.vm, &[stream, stream, record, (USC, 24), (DATA, 64)], 4);
        let options = Options {
            threads: 1,
            instruction_budget: 2000,
            job_budget: 1 << 22,
            ..Options::default()
        };
        let Ok((scenes, _)) = rig.run_written(options) else { continue };
        for scene in &scenes {
            for p in &scene.primitives {
                drawn += 1;
                assert!((p.state as usize) < scene.states.len());
                assert!(p.vertices.iter().all(|&v| v as usize + 4 <= scene.outputs.len()));
            }
            for shape in &scene.shapes {
                assert!((shape.primitive as usize) < scene.primitives.len());
                let size = [rig.job.width_px, rig.job.height_px];
                assert!(
                    (0..2).all(|k| shape.min_px[k] < shape.max_px[k] && shape.max_px[k] <= size[k])
                );
            }
        }
    }
    assert!(drawn > 1000, "{drawn} primitives");
}
