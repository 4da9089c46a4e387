//! Render commands out of arbitrary memory: vertex control stream, state records, indices, USC words,
//! programs and attachments all come from the input. Each ends as a finished job or as a fault.
//! `any_bytes_end_in_a_scene_or_a_fault` in crates/agx/model/src/render/tests.rs does the same to the
//! geometry half, from a stream that draws.

#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use tepui_agx_model::{BgEot, Gpu, Helper, Options, RenderJob};
use tepui_softgpu::{AddressSpace, Memory, Protection};

const PAGE: u64 = 1 << 14;
const BASE: u64 = 0x11_0000_0000;
/// Bytes of the render command in front of the memory.
const HEAD: usize = 16;

fuzz_target!(|data: &[u8]| {
    let Some((head, bytes)) = data.split_first_chunk::<HEAD>() else { return };
    let vm = AddressSpace::new(PAGE.trailing_zeros(), 39);
    let size = 2 * PAGE;
    let memory = Arc::new(Memory::new(size as usize).expect("memory"));
    let access = Protection::READ | Protection::WRITE;
    vm.bind(BASE, memory, 0, size, access).expect("the range is free");
    let length = bytes.len().min(size as usize);
    vm.write(BASE, &bytes[..length]).expect("the range is bound");
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
    let options = Options {
        threads: 1,
        check: head[14] & 1 != 0,
        instruction_budget: 2000,
        job_budget: 1 << 20,
        ..Options::default()
    };
    let _ = Gpu::new(options).render(&vm, &job);
});
