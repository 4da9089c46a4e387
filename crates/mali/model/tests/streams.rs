//! Command streams with dispatches, as a driver writes them.

use std::sync::Arc;

use tepui_mali_isa::asm::assemble;
use tepui_mali_model::{
    FaultKind, Gpu, Group, JobStats, Options, QueueState, ReportKind, Stream, address_space,
};
use tepui_mali_packets::Packet;
use tepui_mali_packets::cs::*;
use tepui_mali_packets::shader::*;
use tepui_mali_packets::texture::*;
use tepui_softgpu::{AddressSpace, Memory, Protection};

const BASE: u64 = 0x100_0000;
const SIZE: u64 = 8 << 20;
const CODE: u64 = BASE;
const STREAMS: u64 = BASE + 0x1_0000;
const STATES: u64 = BASE + 0x2_0000;
const DATA: u64 = BASE + 0x4_0000;

struct Machine {
    gpu: Gpu,
    vm: AddressSpace,
}

impl Machine {
    fn new(threads: usize) -> Machine {
        Machine::with(Options { threads, ..Options::default() })
    }

    fn with(options: Options) -> Machine {
        let chip = tepui_mali_chips::chip("mali-g610").unwrap();
        let options = Options {
            clock: || 1234,
            max_commands: 100_000,
            max_instructions: 50_000_000,
            ..options
        };
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

    fn words(&self, at: u64, count: usize) -> Vec<u32> {
        let mut bytes = vec![0; 4 * count];
        self.vm.read(at, &mut bytes).unwrap();
        bytes.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect()
    }

    /// Writes the states of a dispatch and returns the stream that starts it.
    fn dispatch(&self, source: &str, size: [u32; 3], groups: [u32; 3], words: &[u32]) -> Vec<u64> {
        let mut code = assemble(source).unwrap_or_else(|e| panic!("{e:?}"));
        code.extend([0; 16]);
        self.vm.write(CODE, &code).unwrap();
        let program = ShaderProgram {
            stage: ShaderStage::Compute,
            preload: 0xff80,
            binary: CODE,
            ..Default::default()
        };
        self.put(STATES, &program);
        // Workgroups of 1 KiB, four on each core; threads of 64 bytes.
        let storage = LocalStorage {
            tls_size: 2,
            wls_instances: 4,
            wls_size_scale: 11,
            tls_base_pointer: (DATA + 0x4_0000) >> 8,
            tls_address_mode: AddressMode::Packed,
            wls_base_pointer: DATA + 0x1_0000,
            ..Default::default()
        };
        self.put(STATES + 0x40, &storage);
        for (i, word) in words.iter().enumerate() {
            self.vm.write(STATES + 0x100 + 4 * i as u64, &word.to_le_bytes()).unwrap();
        }
        let buffer = Buffer { size: 64, address: DATA, ..Default::default() };
        self.put(STATES + 0x400, &buffer);
        let table = Resource { address: STATES + 0x400, size: 32, ..Default::default() };
        self.put(STATES + 0x500, &table);
        let pairs = words.len().div_ceil(2) as u64;
        let size = ComputeSizeWorkgroup {
            workgroup_size_x: size[0],
            workgroup_size_y: size[1],
            workgroup_size_z: size[2],
            ..Default::default()
        };
        let size = u32::from_le_bytes(size.pack().unwrap()[..4].try_into().unwrap());
        let mut stream = vec![
            move48(0, (STATES + 0x500) | 1),
            move48(8, STATES + 0x100),
            move32(9, (pairs as u32) << 24 | ((STATES + 0x100) >> 32) as u32),
            move48(16, STATES),
            move48(24, STATES + 0x40),
            move32(33, size),
        ];
        for axis in 0..3 {
            stream.push(move32(34 + axis, 0));
            stream.push(move32(37 + axis, groups[axis as usize]));
        }
        stream.push(word(&CsRunCompute { task_increment: 1, ..Default::default() }));
        stream
    }

    fn start(&self, group: &mut Group, queue: usize, stream: &[u64]) {
        let address = STREAMS + 0x1000 * queue as u64;
        for (i, word) in stream.iter().enumerate() {
            self.vm.write(address + 8 * i as u64, &word.to_le_bytes()).unwrap();
        }
        group.start(queue, Stream { address, size: 8 * stream.len() as u64 }).unwrap();
    }

    /// Runs one stream to its end.
    fn run(&self, stream: &[u64]) -> Result<JobStats, tepui_mali_model::JobFault> {
        let mut group = self.gpu.group(1);
        self.start(&mut group, 0, stream);
        let mut done = self.gpu.run(&self.vm, &mut group);
        assert_eq!(done.len(), 1, "{:?}", group.state(0));
        done.remove(0).outcome
    }
}

fn word<P: Packet>(packet: &P) -> u64 {
    let mut bytes = [0; 8];
    packet.pack_into(&mut bytes).unwrap();
    u64::from_le_bytes(bytes)
}

fn move32(destination: u32, immediate: u32) -> u64 {
    word(&CsMove32 { immediate, destination })
}

fn move48(destination: u32, immediate: u64) -> u64 {
    word(&CsMove { immediate, destination })
}

/// Each thread stores its global id, its local id and its workgroup's.
const IDS: &str = "
    IMUL.i32 r0, r61, u2
    IADD.u32 r0, r0, r60
    SHADDX.u64 r2, u0, r0.w0, shift:0x2
    MKVEC.v2i16 r5, r57.h00, r58.h00
    LSHIFT_XOR.i32 r4, r55, 0x0.b00, r5
    STORE.i32.slot0 @r4, r2, offset:0
    NOP.wait0
    NOP.end";

#[test]
fn threads_know_who_they_are() {
    for threads in [1, 3] {
        let machine = Machine::new(threads);
        let uniforms = [DATA as u32, (DATA >> 32) as u32, 10, 0];
        let stream = machine.dispatch(IDS, [5, 4, 1], [2, 3, 1], &uniforms);
        let stats = machine.run(&stream).unwrap();
        assert_eq!((stats.dispatches, stats.threads), (1, 5 * 4 * 6));
        // 20 threads are two warps.
        assert_eq!(stats.instructions, 6 * 2 * 8);
        let expected: Vec<u32> = (0..12)
            .flat_map(|y| (0..10).map(move |x: u32| (x, y)))
            .map(|(x, y)| ((x % 5) | ((y % 4) << 16)) ^ ((x / 5) | ((y / 4) << 16)))
            .collect();
        assert_eq!(machine.words(DATA, 120), expected);
    }
}

/// A sum over a workgroup: through workgroup-local memory and barriers, 64 threads.
const SUM: &str = "
    U16_TO_U32 r0, r55.h00
    LSHIFT_OR.i32 r1, r0, 0x7060504.b00, 0x0 // by 4: 16 bytes to a thread
    MOV.i32 r3, workgroup_local_pointer.w1
    IADD.u32 r2, r1, workgroup_local_pointer.w0
    IADD_IMM.i32 r4, r60, #0x1
    STORE.i32.slot0 @r4, r2, offset:0
    IADD_IMM.i32 r8, 0x0, #0x20
    loop:
    BARRIER.slot7.wait
    ICMP_OR.u32.lt.m1 r9, r0, r8, 0x0
    BRANCHZ.eq.reconverge r9, offset:skip
    LSHIFT_OR.i32 r5, r8, 0x7060504.b00, 0x0
    IADD.u32 r6, r2, r5
    MOV.i32 r7, r3
    LOAD.i32.unsigned.slot0 @r10, r6, offset:0
    LOAD.i32.unsigned.slot0 @r11, r2, offset:0
    IADD.u32.wait0 r11, r11, r10
    STORE.i32.slot0 @r11, r2, offset:0
    skip:
    NOP
    RSHIFT_OR.i32 r8, r8, 0x3020100.b11, 0x0
    BRANCHZ.reconverge r8, offset:loop
    BARRIER.slot7.wait
    BRANCHZ.reconverge r0, offset:end
    LOAD.i32.unsigned.slot0 @r11, r2, offset:0
    SHADDX.u64.wait0 r6, u0, r57.w0, shift:0x2
    STORE.i32.slot0 @r11, r6, offset:0
    end:
    NOP.end";

#[test]
fn workgroups_share_memory_and_wait_for_each_other() {
    for threads in [1, 2] {
        let machine = Machine::new(threads);
        let uniforms = [DATA as u32, (DATA >> 32) as u32];
        let stream = machine.dispatch(SUM, [64, 1, 1], [9, 1, 1], &uniforms);
        machine.run(&stream).unwrap();
        let expected: Vec<u32> = (0..9).map(|g| (1..=64u32).map(|t| 64 * g + t).sum()).collect();
        assert_eq!(machine.words(DATA, 9), expected);
    }
}

/// Thread-local storage: each thread stores its id there, and loads it after all have stored.
const LOCAL: &str = "
    MOV.i32 r1, thread_local_pointer.w1
    MOV.i32 r0, thread_local_pointer.w0
    STORE.i32.force.slot0 @r60, r0, offset:60
    BARRIER.slot7.wait
    LOAD.i32.unsigned.slot0 @r4, r0, offset:60
    SHADDX.u64.wait0 r2, u0, r60.w0, shift:0x2
    STORE.i32.slot0 @r4, r2, offset:0
    NOP.end";

#[test]
fn threads_have_memory_of_their_own() {
    let machine = Machine::new(2);
    let uniforms = [DATA as u32, (DATA >> 32) as u32];
    let stream = machine.dispatch(LOCAL, [48, 1, 1], [2, 1, 1], &uniforms);
    machine.run(&stream).unwrap();
    assert_eq!(machine.words(DATA, 96), (0..96).collect::<Vec<u32>>());
    // A thread has nothing past its 64 bytes.
    let beyond = LOCAL.replace("offset:60\n    BARRIER", "offset:61\n    BARRIER");
    let stream = machine.dispatch(&beyond, [48, 1, 1], [2, 1, 1], &uniforms);
    let fault = machine.run(&stream).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Unbound);
    let text = fault.program.expect("an instruction").text;
    assert!(text.starts_with("STORE.i32.force.slot0 @r60"), "{text}");
}

/// Atomics with results, and buffers of a resource table; reads past their ends return zero.
#[test]
fn buffers_have_bounds_and_atomics_return_old_values() {
    let source = "
        LEA_BUFFER.slot0 @r0:r1, 0x0, 0x0
        IADD_IMM.i32.wait0 r4, 0x0, #0x3
        ATOM_RETURN.i32.slot0.aadd @r5, @r4, r0, offset:0x8
        LSHIFT_OR.i32.wait0 r6, r5, 0x3020100.b00, 0x0
        LSHIFT_OR.i32 r7, r60, 0x3020100.b22, 0x0
        IADD_IMM.i32 r7, r7, #0x10
        LD_BUFFER.i32.unsigned.slot0 @r8, r7, 0x0
        NOP.wait0
        SHADDX.u64 r2, u0, r60.w0, shift:0x3
        MOV.i32 r10, r6
        MOV.i32 r11, r8
        STORE.i64.slot0 @r10:r11, r2, offset:0
        NOP.end";
    let machine = Machine::new(1);
    let to = DATA + 0x1000;
    for i in 0..32u32 {
        machine.vm.write(DATA + 4 * u64::from(i), &(100 + i).to_le_bytes()).unwrap();
    }
    let stream = machine.dispatch(source, [16, 1, 1], [1, 1, 1], &[to as u32, (to >> 32) as u32]);
    machine.run(&stream).unwrap();
    // The buffer has 16 words.
    let read = |i: u32| if i + 4 < 16 { 104 + i } else { 0 };
    let expected: Vec<u32> = (0..16).flat_map(|i| [102 + 3 * i, read(i)]).collect();
    assert_eq!(machine.words(to, 32), expected);
    assert_eq!(machine.words(DATA + 8, 1), [102 + 48]);
}

/// Stores and atomics past the end of a buffer do nothing, and loads return zero.
#[test]
fn addresses_beyond_buffers_lead_nowhere() {
    let source = "
        LSHIFT_OR.i32 r9, r60, 0x3020100.b22, 0x0
        LEA_BUFFER.slot0 @r0:r1, r9, 0x0
        LEA_BUF_IMM.slot0 @r2:r3, r9, table:0x0, index:0x0
        ISUB.u32.wait0 r4, r0, r2
        ISUB.u32 r5, r1, r3
        LSHIFT_OR.i32 r4, r4, 0x0.b00, r5
        IADD_IMM.i32 r5, r4, #0x7
        STORE.i32.slot0 @r5, r0, offset:0
        NOP.wait0
        ATOM1_RETURN.i32.slot0.ainc @r6, r0, offset:0x0
        LOAD.i32.unsigned.slot0.wait0 @r7, r0, offset:0
        SHADDX.u64 r2, u0, r60.w0, shift:0x3
        STORE.i64.slot0 @r6:r7, r2, offset:0
        NOP.end";
    let machine = Machine::new(1);
    let to = DATA + 0x1000;
    let stream = machine.dispatch(source, [32, 1, 1], [1, 1, 1], &[to as u32, (to >> 32) as u32]);
    machine.run(&stream).unwrap();
    let expected: Vec<u32> = (0..32).flat_map(|i| if i < 16 { [7, 8] } else { [0, 0] }).collect();
    assert_eq!(machine.words(to, 64), expected);
    assert_eq!(machine.words(DATA, 18)[15..], [8, 0, 0]);
}

/// A u-interleaved image of 20×20 pixels: each thread of 24×24 swaps red and blue of its pixel; threads past
/// the edges read zero and store nothing.
#[test]
fn images_are_loaded_and_stored() {
    let source = "
        MKVEC.v2i16 r8, r60.h00, r61.h00
        LD_TEX.v4.f32.slot0 @r0:r1:r2:r3, r8, 0x0, u0
        LEA_TEX.slot1.wait0 @r4:r5:r6, r8, 0x0, u0
        MOV.i32 r10, r2
        MOV.i32 r11, r1
        MOV.i32 r12, r0
        MOV.i32 r13, r3
        NOP.wait1
        ST_CVT.slot0.v4.f32 @r10:r11:r12:r13, r4, r6, offset:0x0
        LD_CVT.slot0.wait0.v4.f32 @r0:r1:r2:r3, r4, r6, offset:0x0
        IMUL.i32 r9, r61, u1
        IADD.u32 r9, r9, r60
        SHADDX.u64 r4, u2, r9.w0, shift:0x2
        F32_TO_U32.wait0 r7, r3
        STORE.i32.slot0.wait0 @r7, r4, offset:0
        NOP.end";
    let to = DATA + 0x1_0000;
    let machine = Machine::new(2);
    let uniforms = [1, 24, to as u32, (to >> 32) as u32];
    let stream = machine.dispatch(source, [8, 8, 1], [3, 3, 1], &uniforms);
    let planes = STATES + 0x600;
    let format = (Format::Rgba8Unorm.raw() << 12) as u32 | ComponentOrder::Rgba.raw() as u32;
    let texture = Texture {
        dimension: TextureDimension::N2d,
        format,
        width: 20,
        height: 20,
        surfaces: planes,
        ..Default::default()
    };
    // It follows the buffer in the table.
    machine.put(STATES + 0x420, &texture);
    let table = Resource { address: STATES + 0x400, size: 64, ..Default::default() };
    machine.put(STATES + 0x500, &table);
    let plane = Plane {
        plane_type: PlaneType::Generic,
        clump_ordering: ClumpOrdering::TiledUInterleaved,
        clump_format: ClumpFormat::Raw32,
        size: 4096,
        pointer: DATA,
        row_stride: 2048,
        width: 20,
        height: 20,
        ..Default::default()
    };
    machine.put(planes, &plane);
    let pixel = |x: u32, y: u32| x | y << 8 | (x + y) << 16 | 0xff << 24;
    let place = |x: u32, y: u32| {
        let tile = y / 16 * 2048 + x / 16 * 1024;
        u64::from(tile + 4 * tepui_mali_layout::index_in_tile(x % 16, y % 16))
    };
    for (x, y) in (0..20).flat_map(|y| (0..20).map(move |x| (x, y))) {
        machine.vm.write(DATA + place(x, y), &pixel(x, y).to_le_bytes()).unwrap();
    }
    let before = machine.words(DATA, 1024);
    machine.run(&stream).unwrap();
    let mut expected = before;
    for (x, y) in (0..20).flat_map(|y| (0..20).map(move |x| (x, y))) {
        expected[place(x, y) as usize / 4] = (x + y) | y << 8 | x << 16 | 0xff << 24;
    }
    assert_eq!(machine.words(DATA, 1024), expected);
    let inside = |n: u32| u32::from(n % 24 < 20 && n / 24 < 20);
    assert_eq!(machine.words(to, 576), (0..576).map(inside).collect::<Vec<_>>());
}

/// Copies an area of an image of bytes to a buffer, as Mesa's Vulkan driver does: u0 and u1 are unused, u2 the first
/// layer; u4 the buffer, u6 and u7 bytes of a row and a layer; u8 to u10 the first texel; u11 to u13 and u14 to u16 the
/// threads that copy; u18 the sampler; u19 the largest byte.
const COPY: &str = "
    MOV.i32 r0, 0x7060504
    LSHIFT_OR.i32 r1, u0, r0.b00, 0x0
    LSHIFT_OR.i32 r0, u1, ^r0.b00, 0x0
    IADD.s32 r1, ^r60, ^r1
    IADD.s32 r0, ^r61, ^r0
    IADD.s32 r2, ^r62, u2
    ICMP_OR.u32.ge.m1 r3, r0, u12, 0x0
    ICMP_AND.u32.ge.m1 r3, r2, u13, ^r3
    ICMP_OR.u32.ge.m1 r4, r1, u11, 0x0
    LSHIFT_AND.i32 r3, ^r3, 0x0.b00, ^r4
    ICMP_OR.u32.lt.m1 r4, r0, u15, 0x0
    ICMP_AND.u32.lt.m1 r4, r2, u16, ^r4
    ICMP_OR.u32.lt.m1 r5, r1, u14, 0x0
    LSHIFT_AND.i32 r4, ^r4, 0x0.b00, ^r5
    LSHIFT_AND.i32 r3, ^r3, 0x0.b00, ^r4
    BRANCHZ.eq.reconverge ^r3.h0, offset:32
    ISUB.s32 r1, ^r1, u11
    ISUB.s32 r0, ^r0, u12
    ISUB.s32 r2, ^r2, u13
    IADD.s32 r3, r1, u8
    IADD.s32 r4, r0, u9
    IADD.s32 r5, r2, u10
    MOV.i32 r6, ^r3
    MOV.i32 r7, ^r4
    MOV.i32 r8, ^r5
    MOV.i32 r4, u18
    MOV.i32 r5, 0x0
    TEX_FETCH.slot0.reserved.32.2d.array_enable.wait0 @r4:r5:r6:r7, @r6:r7:r8, ^r4
    CSEL.u32.lt r3, ^r4, u19, ^r4, u19
    CSEL.u32.lt r4, ^r5, u19, ^r5, u19
    CSEL.u32.lt r5, ^r6, u19, ^r6, u19
    CSEL.u32.lt r6, ^r7, u19, ^r7, u19
    LSHIFT_OR.i32 r4, ^r4, 0xB0A0908.b00, 0x0
    LSHIFT_OR.i32 r3, ^r3, 0x0.b00, ^r4
    MKVEC.v2i16 r4, 0x0.h00, ^r5.h00
    LSHIFT_OR.i32 r3, ^r3, 0x0.b00, ^r4
    LSHIFT_OR.i32 r4, ^r6, 0x1B1A1918.b00, 0x0
    LSHIFT_OR.i32 r3, ^r3, 0x0.b00, ^r4
    IMUL.i32 r2, ^r2, u7
    IMUL.i32 r0, ^r0, u6
    IADD.s32 r0, ^r2, ^r0
    LSHIFT_OR.i32 r1, ^r1, 0x3020100.b22, 0x0
    IADD.s32 r0, ^r0, ^r1
    MOV.i32 r4, u4
    MOV.i32 r5, u5
    MOV.i32 r1, 0x0
    SHADDX.s64 r0, ^r4, ^r0, shift:0x0
    STORE.i32.slot1.reconverge @r3, ^r0, offset:0
    NOP.end";

/// Copying rows gives the same bytes and counts as warps do, for areas with arbitrary bounds, images of any layout, and
/// texels past the image's edges.
#[test]
fn texels_are_copied_in_rows() {
    const SIDE: [u32; 2] = [100, 37];
    const LAYERS: u32 = 2;
    let image = DATA + 0x10_0000;
    let mut seed = 1u32;
    let mut random = |below: u32| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 8) % below
    };
    for turn in 0..40 {
        let first = [random(40), random(20), random(2)];
        let behind = [first[0] + 1 + random(60), first[1] + 1 + random(20), first[2] + 1];
        let from = [random(60), random(30), random(LAYERS)];
        let groups = [behind[0].div_ceil(16), behind[1].div_ceil(16), behind[2]];
        let stride = 4 * (behind[0] - first[0] + random(3));
        let mut uniforms = [0; 20];
        (uniforms[4], uniforms[5]) = (DATA as u32, (DATA >> 32) as u32);
        (uniforms[6], uniforms[7]) = (stride, stride * 20);
        uniforms[8..11].copy_from_slice(&from);
        uniforms[11..14].copy_from_slice(&first);
        uniforms[14..17].copy_from_slice(&behind);
        (uniforms[18], uniforms[19]) = (0, 0xff >> (turn % 3));
        let tiled = turn % 2 == 1;
        let texels: Vec<u8> = (0..2 * 0x8000).map(|_| random(256) as u8).collect();
        let run = |find_copies: bool| {
            let options = Options { threads: 2, find_copies, ..Options::default() };
            let machine = Machine::with(options);
            let stream = machine.dispatch(COPY, [16, 16, 1], groups, &uniforms);
            let planes = STATES + 0x600;
            let format = (Format::Rgba8ui.raw() << 12) as u32 | ComponentOrder::Rgba.raw() as u32;
            let texture = Texture {
                dimension: TextureDimension::N2d,
                format,
                width: SIDE[0],
                height: SIDE[1],
                swizzle: 1 << 3 | 2 << 6 | 3 << 9,
                array_size: LAYERS,
                surfaces: planes,
                ..Default::default()
            };
            machine.put(STATES + 0x400, &texture);
            for layer in 0..LAYERS {
                let plane = Plane {
                    plane_type: PlaneType::Generic,
                    clump_ordering: match tiled {
                        true => ClumpOrdering::TiledUInterleaved,
                        false => ClumpOrdering::Linear,
                    },
                    clump_format: ClumpFormat::Raw32,
                    size: 0x8000,
                    pointer: image + 0x8000 * u64::from(layer),
                    row_stride: if tiled { 7 * 1024 } else { 4 * SIDE[0] },
                    width: SIDE[0],
                    height: SIDE[1],
                    ..Default::default()
                };
                machine.put(planes + 32 * u64::from(layer), &plane);
            }
            machine.vm.write(image, &texels).unwrap();
            let stats = machine.run(&stream).unwrap();
            (machine.words(DATA, 0x2000), stats)
        };
        let (copied, warps) = (run(true), run(false));
        assert_eq!(copied.0, warps.0, "turn {turn}");
        assert_eq!(copied.1.copied, copied.1.threads);
        assert_eq!(JobStats { copied: 0, ..copied.1 }, warps.1, "turn {turn}");
        let written = copied.0.iter().filter(|word| **word != 0).count();
        assert!(written > 0, "turn {turn}");
    }
}

/// A dispatch's attribute offset applies to attributes that request it: transform feedback begins with the draw's first
/// vertex.
#[test]
fn attributes_begin_at_an_offset() {
    let source = "
        LD_ATTR_IMM.f32.slot0.wait0 @r2, r60, r61, index:0x1, table:0x0
        LD_ATTR_IMM.f32.slot0.wait0 @r3, r60, r61, index:0x2, table:0x0
        SHADDX.u64 r4, u0, r60.w0, shift:0x3
        STORE.i64.slot0.wait0 @r2:r3, r4, offset:0
        NOP.end";
    let machine = Machine::new(1);
    let to = DATA + 0x1000;
    let mut stream =
        machine.dispatch(source, [4, 1, 1], [1, 1, 1], &[to as u32, (to >> 32) as u32]);
    stream.insert(0, move32(32, 5));
    for (number, offset_enable) in [(1, true), (2, false)] {
        let attribute = Attribute {
            attribute_type: AttributeType::N1d,
            format: (Format::R32f.raw() << 12) as u32 | ComponentOrder::Rgba.raw() as u32,
            frequency: AttributeFrequency::Vertex,
            stride: 4,
            offset_enable,
            ..Default::default()
        };
        machine.put(STATES + 0x400 + 32 * number, &attribute);
    }
    let table = Resource { address: STATES + 0x400, size: 96, ..Default::default() };
    machine.put(STATES + 0x500, &table);
    for n in 0..16u32 {
        machine.vm.write(DATA + 4 * u64::from(n), &(n as f32).to_le_bytes()).unwrap();
    }
    machine.run(&stream).unwrap();
    let expected = (0..4).flat_map(|n| [n + 5, n]).map(|n| (n as f32).to_bits());
    assert_eq!(machine.words(to, 8), expected.collect::<Vec<_>>());
}

/// Descriptors are the contents of a buffer: the buffer's size is the second word of its own descriptor.
#[test]
fn descriptors_can_be_read() {
    let source = "
        LD_BUFFER.i32.unsigned.slot0 @r4, u2, u3
        SHADDX.u64.wait0 r2, u0, r60.w0, shift:0x2
        STORE.i32.slot0 @r4, r2, offset:0
        NOP.end";
    let machine = Machine::new(1);
    let uniforms = [DATA as u32, (DATA >> 32) as u32, 4, 0x3e00_0000];
    let stream = machine.dispatch(source, [2, 1, 1], [1, 1, 1], &uniforms);
    machine.run(&stream).unwrap();
    assert_eq!(machine.words(DATA, 2), [64, 64]);
}

#[test]
fn queues_wait_for_each_other() {
    let machine = Machine::new(1);
    let mut group = machine.gpu.group(2);
    // Queue 0 waits until the object is greater than 1, then copies it.
    let wait = [
        move48(2, DATA),
        move48(4, 1),
        word(&CsSyncWait64 {
            condition: CsCondition::Greater,
            data: 4,
            address: 2,
            ..Default::default()
        }),
        word(&CsLoadMultiple { mask: 3, address: 2, base_register: 6, ..Default::default() }),
        word(&CsStoreMultiple { offset: 64, mask: 3, address: 2, base_register: 6 }),
    ];
    let add = [
        move48(2, DATA),
        move48(4, 2),
        word(&CsSyncAdd64 { data: 4, address: 2, ..Default::default() }),
    ];
    // 1 is not greater than 1.
    machine.vm.write(DATA, &1u64.to_le_bytes()).unwrap();
    machine.start(&mut group, 0, &wait);
    assert_eq!(machine.gpu.run(&machine.vm, &mut group), []);
    assert_eq!(group.state(0), Some(QueueState::Waiting { address: DATA }));
    machine.start(&mut group, 1, &add);
    let mut done = machine.gpu.run(&machine.vm, &mut group);
    done.extend(machine.gpu.run(&machine.vm, &mut group));
    let queues: Vec<usize> = done.iter().map(|c| c.queue).collect();
    assert_eq!(queues, [1, 0]);
    assert!(done.iter().all(|c| c.outcome.is_ok()));
    assert_eq!(machine.words(DATA + 64, 2), [3, 0]);
    // Waiting executes no instructions.
    assert_eq!(done[1].outcome.as_ref().map(|s| s.commands), Ok(5));
}

#[test]
fn streams_loop_and_call() {
    let machine = Machine::new(1);
    let callee = STREAMS + 0x8000;
    let body = [
        word(&CsAddImmediate32 { immediate: 7, source: 10, destination: 10 }),
        word(&CsAddImmediate32 { immediate: -1, source: 11, destination: 11 }),
    ];
    for (i, word) in body.iter().enumerate() {
        machine.vm.write(callee + 8 * i as u64, &word.to_le_bytes()).unwrap();
    }
    let stream = [
        move32(10, 0),
        move32(11, 6),
        move48(12, callee),
        move32(14, 16),
        word(&CsCall { length: 14, address: 12 }),
        word(&CsBranch { offset: -2, condition: CsCondition::Greater, value: 11 }),
        move48(16, DATA),
        word(&CsStoreMultiple { offset: 0, mask: 3, address: 16, base_register: 10 }),
        word(&CsStoreState {
            offset: 8,
            state: CsState::Timestamp,
            address: 16,
            ..Default::default()
        }),
    ];
    machine.run(&stream).unwrap();
    assert_eq!(machine.words(DATA, 4), [42, 0, 1234, 0]);
}

#[test]
fn faults_say_what_and_where() {
    let machine = Machine::new(2);
    let fault = machine.run(&[move32(1, 2), u64::MAX]).unwrap_err();
    assert_eq!((fault.kind, fault.packet), (FaultKind::Undecodable, Some(STREAMS + 8)));
    let fault = machine.run(&[word(&CsRunTiling::default())]).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Unimplemented);
    assert!(fault.to_string().contains("RUN_TILING"), "{fault}");
    let fault = machine.run(&[move32(200, 2)]).unwrap_err();
    assert!(fault.to_string().contains("none is r200"), "{fault}");
    // Endless streams and shaders.
    let fault = machine
        .run(&[word(&CsBranch { offset: -1, condition: CsCondition::Always, value: 0 })])
        .unwrap_err();
    assert_eq!(fault.kind, FaultKind::Endless);
    let stream = machine.dispatch(
        "again: BRANCHZ.eq.reconverge 0x0, offset:again\nNOP.end",
        [16, 1, 1],
        [1, 1, 1],
        &[],
    );
    assert_eq!(machine.run(&stream).unwrap_err().kind, FaultKind::Endless);
    // An instruction that the model does not execute, and a wild store.
    let stream = machine.dispatch("FATAN_ASSIST.f32 r0, r1, r2\nNOP.end", [1; 3], [1; 3], &[]);
    let fault = machine.run(&stream).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Unimplemented);
    assert!(fault.to_string().contains("FATAN_ASSIST.f32 r0, r1, r2"), "{fault}");
    let stream = machine.dispatch("NOP\nSTORE.i32.slot0 @r0, r2, offset:0", [1; 3], [1; 3], &[]);
    let fault = machine.run(&stream).unwrap_err();
    assert_eq!((fault.kind, fault.program.map(|p| p.offset)), (FaultKind::Unbound, Some(8)));
    let stream = machine.dispatch("NOP", [1; 3], [1; 3], &[]);
    assert_eq!(machine.run(&stream).unwrap_err().kind, FaultKind::Invalid);
}

/// Each thread adds one to its word of a buffer, and stores it to its word of another.
const INCREMENT: &str = "
    SHADDX.u64 r2, u0, r60.w0, shift:0x2
    SHADDX.u64 r4, u2, r60.w0, shift:0x2
    LOAD.i32.unsigned.slot0.wait0 @r0, r2, offset:0
    IADD_IMM.i32 r1, r0, #0x1
    STORE.i32.slot0.wait0 @r1, r4, offset:0
    NOP.end";

/// A dispatch that reads what one before has written, with a wait between or without one: the words that it leaves, and the
/// machine.
fn increments(options: Options, waits: bool) -> (Vec<u32>, Machine) {
    let machine = Machine::with(Options { threads: 1, ..options });
    let buffers = [DATA, DATA + 0x1000, DATA + 0x2000];
    let uniforms = |n: usize| [buffers[n] as u32, 0, buffers[n + 1] as u32, 0];
    let entry = |endpoint_entry| word(&CsSetSbEntry { endpoint_entry, other_entry: 0 });
    let mut stream = vec![entry(1)];
    stream.extend(machine.dispatch(INCREMENT, [16, 1, 1], [1, 1, 1], &uniforms(0)));
    for (i, value) in uniforms(1).iter().enumerate() {
        machine.vm.write(STATES + 0x200 + 4 * i as u64, &value.to_le_bytes()).unwrap();
    }
    let run = *stream.last().unwrap();
    stream.push(word(&CsWait { wait_mask: if waits { 1 << 1 } else { 0 }, ..Default::default() }));
    stream.extend([entry(2), move48(8, STATES + 0x200), move32(9, 2 << 24), run]);
    machine.run(&stream).unwrap();
    (machine.words(buffers[2], 16), machine)
}

#[test]
fn the_checker_finds_a_dispatch_that_does_not_wait() {
    let check = Options { check: true, ..Options::default() };
    let (words, machine) = increments(check, true);
    assert_eq!(words, [2; 16]);
    assert_eq!(machine.gpu.take_reports(), []);
    let (_, machine) = increments(check, false);
    let reports = machine.gpu.take_reports();
    let [report] = &reports[..] else { panic!("{reports:?}") };
    assert_eq!(report.kind, ReportKind::MissingWait);
    assert!(report.what.contains("the write by the RUN_COMPUTE"), "{}", report.what);
}

#[test]
fn relaxed_dispatches_run_in_any_order_that_waits_allow() {
    let words =
        |seed, waits| increments(Options { relaxed: Some(seed), ..Options::default() }, waits).0[0];
    assert!((0..16).all(|seed| words(seed, true) == 2));
    let without: Vec<u32> = (0..16).map(|seed| words(seed, false)).collect();
    assert!(without.contains(&1) && without.contains(&2), "{without:?}");
    assert_eq!(without, (0..16).map(|seed| words(seed, false)).collect::<Vec<_>>());
}
