//! Render commands from arbitrary memory: vertex control stream, state records, indices, USC words, programs
//! and attachments all come from the input. Each ends as a finished job or as a fault. If a bit of the input
//! is set, the memory is that of a valid render command, and the input changes bytes of it.
//! `any_bytes_end_in_a_scene_or_a_fault` in crates/agx/model/src/render/tests.rs does the same with the
//! geometry half, from a valid stream.

#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use tepui_agx_isa::asm::assemble;
use tepui_agx_model::{BgEot, Gpu, Helper, Options, RenderJob};
use tepui_agx_packets::coefficient::{Binding, BindingHeader, ShadeModel};
use tepui_agx_packets::pbe::Pbe;
use tepui_agx_packets::ppp::{
    Cull, FragmentControl, FragmentFace, FragmentShaderWord0, FragmentShaderWord1,
    FragmentShaderWord2, FragmentShaderWord3, Header, OutputSelect, OutputSize, Viewport,
    ViewportControl, ZsFunc,
};
use tepui_agx_packets::texture::{Channel, Channels, Layout, TextureDimension};
use tepui_agx_packets::usc::{self, SharedLayout};
use tepui_agx_packets::vdm::{
    self, IndexList, IndexListCount, IndexListInstances, IndexListStart, Primitive,
};
use tepui_packets::Packet;
use tepui_softgpu::{AddressSpace, Memory, Protection};

const PAGE: u64 = 1 << 14;
const BASE: u64 = 0x11_0000_0000;
/// Bytes of the render command that precede the memory.
const HEAD: usize = 16;

fuzz_target!(|data: &[u8]| {
    let Some((head, bytes)) = data.split_first_chunk::<HEAD>() else { return };
    let vm = AddressSpace::new(PAGE.trailing_zeros(), 39);
    let size = 2 * PAGE;
    let memory = Arc::new(Memory::new(size as usize).expect("memory"));
    let access = Protection::READ | Protection::WRITE;
    vm.bind(BASE, memory, 0, size, access).expect("the range is free");
    if head[15] & 1 == 0 {
        let length = bytes.len().min(size as usize);
        vm.write(BASE, &bytes[..length]).expect("the range is bound");
    } else {
        vm.write(BASE, &SCENE).expect("the range is bound");
        for patch in bytes.chunks_exact(3) {
            let at = u64::from(u16::from_le_bytes([patch[0], patch[1]])) % size;
            vm.write(BASE + at, &[patch[2]]).expect("the range is bound");
        }
    }
    let at = |i: usize| BASE + (u64::from(head[i]) << 6);
    let program = |i: usize| BgEot { usc: u32::from(head[i]) << 6 | 4, rsrc_spec: 0 };
    let samples = 1 << (head[8] & 3).min(2);
    let job = RenderJob {
        usc_exec_base: BASE,
        vdm_ctrl_stream_base: BASE,
        isp_scissor_base: at(0),
        isp_dbias_base: at(1),
        isp_oclqry_base: at(2),
        vertex_helper: Helper { binary: u32::from(head[3]) << 6 | 1, ..Helper::default() },
        zls_ctrl: u64::from(head[4]) << 14,
        ppp_multisamplectl: 0x88,
        ppp_ctrl: 0x200 | u32::from(head[5] & 3),
        width_px: 1 + u16::from(head[6] & 63),
        height_px: 1 + u16::from(head[7] & 63),
        layers: 1 + u16::from(head[8] >> 6),
        utile_width_px: 32,
        utile_height_px: if head[9] & 1 == 0 { 32 } else { 16 },
        samples,
        sample_size_bytes: 8 * (1 + (head[9] >> 1 & 3)),
        bg: program(10),
        eot: program(11),
        partial_bg: program(12),
        partial_eot: program(13),
        ..RenderJob::default()
    };
    let job = match head[15] & 3 {
        // With the scene's own programs.
        3 => RenderJob {
            bg: BgEot { usc: BACKGROUND as u32 | 4, rsrc_spec: 0 },
            eot: BgEot { usc: END as u32 | 4, rsrc_spec: 0 },
            isp_bgobjdepth: 1f32.to_bits(),
            ..job
        },
        _ => job,
    };
    let options = Options {
        threads: 1,
        check: head[14] & 1 != 0,
        translate_after: if head[14] & 2 != 0 { 0 } else { u32::MAX },
        instruction_budget: 2000,
        job_budget: 1 << 20,
        ..Options::default()
    };
    let _ = Gpu::new(options).render(&vm, &job);
});

/// Offsets in the scene's memory.
const VERTEX: u64 = 0x400;
const FRAGMENT: u64 = 0x480;
const BACKGROUND: u64 = 0x500;
const END: u64 = 0x580;
const RECORD: u64 = 0x800;
const BINDINGS: u64 = 0xa00;
const CODE: u64 = 0xc00;
const POSITIONS: u64 = 0x1000;
const POINTER: u64 = 0x1100;
const IMAGE: u64 = 0x1200;

/// A strip of two triangles with a colour over a cleared image of 64 x 64 pixels in the second
/// page.
static SCENE: std::sync::LazyLock<Vec<u8>> = std::sync::LazyLock::new(scene);

fn pack<P: Packet>(packet: P) -> Vec<u8> {
    let mut bytes = vec![0; P::INFO.size_bytes];
    packet.pack_into(&mut bytes).expect("every field fits");
    bytes
}

fn scene() -> Vec<u8> {
    let mut memory = vec![0; 2 * PAGE as usize];
    let mut put = |at: u64, bytes: &[u8]| {
        memory[at as usize..at as usize + bytes.len()].copy_from_slice(bytes);
    };
    let programs = [
        (
            VERTEX,
            "device_load 0, i32, xyzw, r8_r9_r10_r11, u0_u1, r5, unsigned, lsl 2
             wait 0
             st_var 0, r8, 0
             st_var 0, r9, 1
             st_var 0, r10, 2
             st_var 0, r11, 3
             st_var 0, r8, 4
             st_var 0, r9, 5
             st_var 0, r11, 6
             st_var_final 0, r11, 7
             stop",
        ),
        (
            FRAGMENT,
            "iterproj r4_r5_r6_r7, cf1, cf0, center, 0b0, 0, 0, 0, 0, 0
             wait_pix 1, 0
             sample_mask 255, 255
             wait_pix 12, 0
             st_tile r4_r5_r6_r7, u8norm, 0, xyzw, 0, 255, 0
             stop",
        ),
        (
            BACKGROUND,
            "mov_imm r0, 1056964608, 0b0
             mov_imm r1, 1056964608, 0b0
             mov_imm r2, 1056964608, 0b0
             mov_imm r3, 1056964608, 0b0
             st_tile r0_r1_r2_r3, u8norm, 0, xyzw, 0, 255, 0
             stop",
        ),
        (
            END,
            "mov_imm r0, 0, 0b0
             image_write_block r0l, r0_r1, 0, ts0, tex_2d, rte, u8norm, 0, 9, 1
             stop",
        ),
    ];
    for (number, (at, text)) in (0..).zip(programs) {
        let code = CODE + 0x100 * number;
        put(code, &assemble(text).expect("the text is right"));
        let mut words = Vec::new();
        match at {
            VERTEX => words.extend(pack(usc::Uniform {
                start_halfs: 0,
                size_halfs: 4,
                buffer: BASE + POINTER,
            })),
            END => {
                words.extend(pack(usc::Texture { start: 0, count: 1, buffer: BASE + IMAGE }));
            }
            _ => {}
        }
        if at != VERTEX {
            words.extend(pack(usc::Shared {
                uses_shared_memory: true,
                layout: SharedLayout::Tile32x32,
                sample_count: 1,
                sample_stride_in_8_bytes: 1,
                bytes_per_threadgroup: 8192,
            }));
        }
        words.extend(pack(usc::Shader { code, ..Default::default() }));
        words.extend(pack(usc::Registers { register_count: 64, ..Default::default() }));
        if at == FRAGMENT {
            words.extend(pack(usc::FragmentProperties::default()));
        }
        words.extend(pack(usc::NoPreshader {}));
        put(at, &words);
    }
    let corners = [
        [-0.9f32, -0.8, 0.2, 1.0],
        [0.8, -0.7, 0.3, 1.0],
        [-0.7, 0.9, 0.5, 1.0],
        [1.6, 1.8, 0.9, 2.0],
    ];
    let floats: Vec<u8> = corners.as_flattened().iter().flat_map(|f| f.to_le_bytes()).collect();
    put(POSITIONS, &floats);
    put(POINTER, &(BASE + POSITIONS).to_le_bytes());
    put(
        IMAGE,
        &pack(Pbe {
            dimension: TextureDimension::D2,
            layout: Layout::Linear,
            channels: Channels::R8G8B8A8,
            swizzle_r: Channel::R,
            swizzle_g: Channel::G,
            swizzle_b: Channel::B,
            swizzle_a: Channel::A,
            width: 64,
            height: 64,
            buffer: BASE + PAGE,
            stride: 256,
            ..Default::default()
        }),
    );
    let header = BindingHeader { number_of_32_bit_slots: 5, number_of_coefficient_registers: 5 };
    let w = Binding { components: 1, shade_model: ShadeModel::Linear, ..Default::default() };
    let colour = Binding {
        components: 4,
        shade_model: ShadeModel::Perspective,
        base_slot: 1,
        base_coefficient_register: 1,
        ..Default::default()
    };
    put(BINDINGS, &[pack(header), pack(w), pack(colour)].concat());

    let face = || FragmentFace { depth_function: ZsFunc::Less, ..Default::default() };
    let record = [
        pack(Header {
            fragment_control: true,
            fragment_front_face: true,
            fragment_back_face: true,
            viewport: true,
            viewport_count: 1,
            output_select: true,
            cull: true,
            fragment_shader: true,
            output_size: true,
            ..Default::default()
        }),
        pack(FragmentControl::default()),
        pack(face()),
        pack(face()),
        pack(ViewportControl {}),
        pack(Viewport {
            translate_x: 32.0,
            scale_x: 32.0,
            translate_y: 32.0,
            scale_y: 32.0,
            translate_z: 0.0,
            scale_z: 1.0,
        }),
        pack(OutputSelect { varyings: true, ..Default::default() }),
        pack(Cull::default()),
        pack(FragmentShaderWord0 { cf_binding_count: 2, ..Default::default() }),
        pack(FragmentShaderWord1 { pipeline: FRAGMENT, ..Default::default() }),
        pack(FragmentShaderWord2 { cf_bindings: BINDINGS }),
        pack(FragmentShaderWord3::default()),
        pack(OutputSize { count: 8 }),
    ]
    .concat();
    put(RECORD, &record);
    let stream = [
        pack(vdm::State {
            vertex_shader_word_1_present: true,
            vertex_outputs_present: true,
            ..Default::default()
        }),
        pack(vdm::StateVertexShaderWord1 { pipeline: VERTEX, ..Default::default() }),
        pack(vdm::StateVertexOutputs { output_count_1: 8, output_count_2: 8 }),
        vec![0; 4],
        pack(vdm::PppState { pointer: BASE + RECORD, size_words: record.len() as u32 / 4 }),
        pack(IndexList {
            primitive: Primitive::TriangleStrip,
            index_count_present: true,
            instance_count_present: true,
            start_present: true,
            ..Default::default()
        }),
        pack(IndexListCount { count: 4 }),
        pack(IndexListInstances { count: 1 }),
        pack(IndexListStart { start: 0 }),
        pack(vdm::StreamTerminate {}),
    ]
    .concat();
    put(0, &stream);
    memory
}
