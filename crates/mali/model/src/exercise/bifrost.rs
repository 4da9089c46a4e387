//! Chains of Bifrost made of bytes: a draw of random clauses and states, and its frame.

use std::sync::Arc;

use tepui_mali_isa::bifrost::header::Flow;
use tepui_mali_isa::bifrost::{asm, random};
use tepui_mali_packets::bifrost::{
    AttributeBuffer, AttributeV7, DrawV7, Invocation, LocalStorageV7, PrimitiveV7, RendererState,
    SurfaceWithStride, UniformBuffer, Viewport,
};
use tepui_mali_packets::draw::{
    Blend, BlendMode, DrawMode, IndexType, InternalConversion, RegisterFileFormat,
};
use tepui_mali_packets::framebuffer::FragmentJobPayload;
use tepui_mali_packets::job::{JobHeader, JobType, bifrost as parts};
use tepui_mali_packets::texture::{ComponentOrder, Format, Sampler, Texture, TextureLayout};
use tepui_mali_packets::{Packet, revision};
use tepui_softgpu::{Memory, Protection};

use super::draws::{CODE, CONTEXT, FRAME, Machine, SIDE, STATES, TEXELS, VERTICES, scatter};
use super::{BASE, Bits, pack};
use crate::{Gpu, JobContext, JobFault, JobStats, address_space};

const BYTES: usize = 1 << 18;
/// Address of the jobs.
const JOB: u64 = BASE;
/// Address at which vertices store the inputs of fragments.
const VARYINGS: u64 = VERTICES + 0x1000;
/// Limit on the clauses of a shader.
const MAX_CLAUSES: u64 = 6;

const CHIPS: [&str; 2] = ["mali-g52", "mali-g72"];

/// The last clause of a shader.
const END: &str = "clause_0:\nds(0) eos\n{\n    *NOP t0\n    +NOP t1\n}\n";

/// A shader of random clauses, which ends.
fn shader(bits: &mut Bits<'_>) -> Vec<u8> {
    let mut code = Vec::new();
    for _ in 0..bits.next() % MAX_CLAUSES {
        let mut clause = random::clause(&mut || bits.next());
        if clause.header.flow == Flow::End {
            clause.header.flow = Flow::ALL[0];
        }
        code.extend(clause.encode().unwrap_or_default());
    }
    code.extend(asm::assemble(END).unwrap_or_default());
    code
}

impl Machine<'_> {
    /// Version of [`Machine::put`] in the layout of an architecture.
    pub(super) fn put_as<P: Packet>(&mut self, arch: u8, at: u64, packet: &P) -> Option<()> {
        let mut bytes = vec![0; P::INFO.size_bytes];
        packet.pack_into_as(&mut bytes, revision(arch)).ok()?;
        scatter(&mut self.bits, P::INFO, &mut bytes, 0);
        self.vm.write(at, &bytes).ok()
    }

    /// Writes buffers, attributes, varyings and a texture.
    fn tables(&mut self, arch: u8) -> Option<()> {
        let rgba = match arch {
            6 => 0o3210,
            _ => ComponentOrder::Rgba.raw() as u32,
        };
        let format = (Format::Rgba32f.raw() << 12) as u32 | rgba;
        for index in 0..4 {
            let attribute =
                AttributeV7 { buffer_index: index as u32 & 1, format, ..Default::default() };
            self.put(STATES + 0x400 + 8 * index, &attribute)?;
        }
        for (index, pointer) in [(0, VERTICES), (1, VERTICES + 0x100), (2, VARYINGS), (3, VARYINGS)]
        {
            let buffer = AttributeBuffer { pointer, stride: 16, size: 0x200, ..Default::default() };
            self.put(STATES + 0x440 + 16 * index, &buffer)?;
        }
        let uniforms = UniformBuffer { entries: 16, pointer: VERTICES };
        self.put(STATES + 0x480, &uniforms)?;
        let texture = Texture {
            format: (Format::Rgba8Unorm.raw() << 12) as u32 | rgba,
            width: 8,
            height: 8,
            swizzle: 0o3210,
            texel_ordering: TextureLayout::Linear,
            surfaces: STATES + 0x4e0,
            ..Default::default()
        };
        self.put_as(arch, STATES + 0x4a0, &texture)?;
        self.put(STATES + 0x4c0, &Sampler::default())?;
        let surface = SurfaceWithStride { pointer: TEXELS, row_stride: 32, surface_stride: 0 };
        self.put(STATES + 0x4e0, &surface)?;
        self.put(STATES + 0x500, &LocalStorageV7::default())?;
        let viewport = Viewport {
            scissor_maximum_x: SIDE - 1,
            scissor_maximum_y: SIDE - 1,
            ..Default::default()
        };
        self.put(STATES + 0x540, &viewport)?;
        for (i, word) in (0..).zip([TEXELS, VERTICES]) {
            self.vm.write(STATES + 0x580 + 8 * i, &word.to_le_bytes()).ok()?;
        }
        Some(())
    }

    /// The draw of a stage; its shaders are numbered from `number` on.
    fn draw_v7(&mut self, number: u64) -> Option<DrawV7> {
        let code = CODE + 0x1000 * number;
        for at in [code, code + 0x800] {
            let shader = shader(&mut self.bits);
            self.vm.write(at, shader.get(..0x7f0).unwrap_or(&shader)).ok()?;
        }
        let state = STATES + 0x600 + 0x100 * number;
        let renderer = RendererState {
            shader: code,
            secondary_shader: (code + 0x800) & 0xffff_ffff,
            attribute_count: 4,
            varying_count: 4,
            texture_count: 1,
            sampler_count: 1,
            uniform_buffer_count: 1,
            preload: 0x7fff,
            secondary_preload: 0x7fff,
            uniform_count: 2,
            secondary_uniform_count: 2,
            sample_mask: 0xffff,
            multisample_enable: self.bits.next().is_multiple_of(8),
            ..Default::default()
        };
        self.put(state, &renderer)?;
        let conversion = InternalConversion {
            memory_format: (Format::Rgba8Tb.raw() << 12) as u32,
            register_format: RegisterFileFormat::F32,
            ..Default::default()
        };
        let blend =
            Blend { mode: BlendMode::Opaque, num_comps: 4, conversion, ..Default::default() };
        self.put(state + RendererState::SIZE_BYTES as u64, &blend)?;
        Some(DrawV7 {
            position: VARYINGS + 0x400,
            uniform_buffers: STATES + 0x480,
            textures: STATES + 0x4a0,
            samplers: STATES + 0x4c0,
            push_uniforms: STATES + 0x580,
            state,
            attribute_buffers: STATES + 0x440,
            attributes: STATES + 0x400,
            varying_buffers: STATES + 0x460,
            varyings: STATES + 0x400,
            viewport: STATES + 0x540,
            thread_storage: STATES + 0x500,
            ..Default::default()
        })
    }

    /// Writes the jobs of a chain: vertices and fragments.
    fn jobs(&mut self) -> Option<()> {
        let kinds =
            [JobType::IndexedVertex, JobType::IndexedVertex, JobType::Tiler, JobType::Compute];
        let kind = kinds[self.bits.next() as usize % kinds.len()];
        let header =
            JobHeader { job_type: kind, index: 1, next: JOB + 0x400, ..Default::default() };
        self.vm.write(JOB, &pack(&header)?).ok()?;
        let invocation = Invocation {
            invocations: self.bits.next() as u32 & 0xf,
            workgroups_z_shift: 4,
            ..Default::default()
        };
        self.vm.write(JOB + parts::INVOCATION, &pack(&invocation)?).ok()?;
        let draw = self.draw_v7(0)?;
        if kind == JobType::Compute {
            self.put(JOB + parts::COMPUTE_DRAW, &draw)?;
        } else {
            let modes =
                [DrawMode::Triangles, DrawMode::TriangleStrip, DrawMode::Lines, DrawMode::Points];
            let primitive = PrimitiveV7 {
                draw_mode: modes[self.bits.next() as usize % modes.len()],
                index_type: IndexType::None,
                secondary_shader: true,
                index_count: 1 + self.bits.next() as u32 % 12,
                ..Default::default()
            };
            self.put(JOB + parts::PRIMITIVE, &primitive)?;
            self.vm.write(JOB + parts::SIZE, &1f32.to_le_bytes()).ok()?;
            self.vm.write(JOB + parts::TILER, &CONTEXT.to_le_bytes()).ok()?;
            let fragments = self.draw_v7(1)?;
            self.put(JOB + parts::FRAGMENT_DRAW, &fragments)?;
            self.put(JOB + parts::VERTEX_DRAW, &draw)?;
        }
        let header = JobHeader { job_type: JobType::Fragment, index: 2, ..Default::default() };
        self.vm.write(JOB + 0x400, &pack(&header)?).ok()?;
        let payload = FragmentJobPayload {
            bound_max_x: 2,
            bound_max_y: 2,
            framebuffer: FRAME | 1,
            ..Default::default()
        };
        self.put(JOB + 0x420, &payload)
    }
}

/// Executes the chain that `input` describes; returns its outcome.
pub fn run(input: &[u8]) -> Option<Result<JobStats, JobFault>> {
    let mut bits = Bits { input, state: 0 };
    let chip = tepui_mali_chips::chip(CHIPS[bits.next() as usize % CHIPS.len()])?;
    let options = super::options(input, 100, 1 << 20);
    let gpu = Gpu::new(chip, options);
    let vm = address_space();
    let memory = Arc::new(Memory::new(BYTES).ok()?);
    vm.bind(BASE, memory, 0, BYTES as u64, Protection::READ | Protection::WRITE).ok()?;
    let mut machine = Machine { vm, bits };
    machine.vertices()?;
    machine.tables(chip.arch.0)?;
    machine.frame_as(chip.arch.0)?;
    machine.jobs()?;
    Some(gpu.chain(&machine.vm, &mut JobContext::default(), JOB))
}
