//! Chains of Midgard made of bytes: a job of threads or of vertices that executes random bundles.

use std::sync::Arc;

use tepui_mali_isa::midgard::word::LoadStore;
use tepui_mali_isa::midgard::{Bundle, Content, Tag, random};
use tepui_mali_packets::bifrost::{
    AttributeBuffer, AttributeV7, DrawV7, Invocation, LocalStorageV7, RendererState,
    SurfaceWithStride, UniformBuffer,
};
use tepui_mali_packets::job::{JobHeader, JobType, bifrost as parts};
use tepui_mali_packets::midgard::{SamplerV5, TextureV5};
use tepui_mali_packets::texture::{Format, TextureDimension, TextureLayout};
use tepui_mali_packets::{Packet, revision};
use tepui_softgpu::{Memory, Protection};

use super::{BASE, BYTES, Bits, CODE, DATA, STATES, pack};
use crate::{Gpu, JobContext, JobFault, JobStats, address_space};

/// Limit on the bundles of a program.
const MAX_BUNDLES: u64 = 12;

/// A program of random bundles, which ends.
fn program(bits: &mut Bits<'_>) -> Vec<u8> {
    let mut code = Vec::new();
    for _ in 0..bits.next() % MAX_BUNDLES {
        let mut bundle = random::bundle(&mut || bits.next());
        if bundle.next == Tag::BREAK {
            bundle.next = Tag::ALU;
        }
        // Most operands are registers that the unit reads, and offsets are small.
        if let Content::LoadStore(words) = &mut bundle.content {
            for word in words {
                word.offset &= 0x3ff;
                word.index_shift &= 3;
            }
        }
        code.extend(bundle.encode());
    }
    let content = Content::LoadStore([LoadStore::NOP; 2]);
    code.extend(Bundle { tag: Tag::LOAD_STORE, next: Tag::BREAK, content }.encode());
    code
}

/// Executes the chain that `input` describes; returns its outcome.
pub fn run(input: &[u8]) -> Option<Result<JobStats, JobFault>> {
    let mut bits = Bits { input, state: 0 };
    let chip = tepui_mali_chips::chip("mali-t860")?;
    let options = super::options(input, 100, 1 << 20);
    let gpu = Gpu::new(chip, options);
    let vm = address_space();
    let memory = Arc::new(Memory::new(BYTES).ok()?);
    vm.bind(BASE, memory, 0, BYTES as u64, Protection::READ | Protection::WRITE).ok()?;
    let put = |at: u64, bytes: Vec<u8>| vm.write(at, &bytes).ok();
    put(CODE, program(&mut bits))?;
    let state = RendererState {
        shader: CODE | 8,
        attribute_count: 4,
        varying_count: 4,
        texture_count: 1,
        sampler_count: 1,
        uniform_buffer_count: 1,
        work_register_count: 8,
        uniform_registers: 2,
        ..Default::default()
    };
    let mut bytes = vec![0; RendererState::SIZE_BYTES];
    state.pack_into_as(&mut bytes, revision(5)).ok()?;
    put(STATES, bytes)?;
    let format = (Format::Rgba32f.raw() << 12) as u32 | 0o3210;
    for index in 0..4 {
        let attribute =
            AttributeV7 { buffer_index: index as u32 & 1, format, ..Default::default() };
        put(STATES + 0x100 + 8 * index, pack(&attribute)?)?;
        let buffer =
            AttributeBuffer { pointer: DATA, stride: 16, size: 0x200, ..Default::default() };
        put(STATES + 0x140 + 16 * index, pack(&buffer)?)?;
    }
    put(STATES + 0x200, pack(&UniformBuffer { entries: 16, pointer: DATA })?)?;
    let texture = TextureV5 {
        format: (Format::Rgba8Unorm.raw() << 12) as u32 | 0o3210,
        width: 8,
        height: 8,
        dimension: TextureDimension::N2d,
        texel_ordering: TextureLayout::Linear,
        swizzle: 0o3210,
        ..Default::default()
    };
    put(STATES + 0x220, (STATES + 0x240).to_le_bytes().to_vec())?;
    put(STATES + 0x240, pack(&texture)?)?;
    let surface = SurfaceWithStride { pointer: DATA, row_stride: 32, surface_stride: 0 };
    put(STATES + 0x260, pack(&surface)?)?;
    put(STATES + 0x280, pack(&SamplerV5::default())?)?;
    let storage = LocalStorageV7 { tls_base_pointer: DATA + 0x400, ..Default::default() };
    put(STATES + 0x2c0, pack(&storage)?)?;
    put(DATA, (0..64u64).flat_map(|n| (DATA + n).to_le_bytes()).collect())?;
    let kinds = [JobType::Compute, JobType::Vertex];
    let job_type = kinds[bits.next() as usize % kinds.len()];
    let header = JobHeader { is_64_bit: true, job_type, index: 1, ..Default::default() };
    put(BASE, pack(&header)?)?;
    let invocation = Invocation {
        invocations: bits.next() as u32 & 0x1f,
        size_y_shift: 2,
        size_z_shift: 2,
        workgroups_x_shift: 2,
        workgroups_y_shift: 2,
        workgroups_z_shift: 5,
        ..Default::default()
    };
    put(BASE + parts::INVOCATION, pack(&invocation)?)?;
    let draw = DrawV7 {
        uniform_buffers: STATES + 0x200,
        textures: STATES + 0x220,
        samplers: STATES + 0x280,
        push_uniforms: DATA,
        state: STATES,
        attribute_buffers: STATES + 0x140,
        attributes: STATES + 0x100,
        varying_buffers: STATES + 0x140,
        varyings: STATES + 0x100,
        thread_storage: STATES + 0x2c0,
        ..Default::default()
    };
    let mut bytes = vec![0; DrawV7::SIZE_BYTES];
    draw.pack_into_as(&mut bytes, revision(5)).ok()?;
    put(BASE + parts::COMPUTE_DRAW, bytes)?;
    Some(gpu.chain(&vm, &mut JobContext::default(), BASE))
}
