//! Frames of draws made of bytes.

use std::sync::Arc;

use tepui_mali_isa::asm::assemble;
use tepui_mali_isa::random;
use tepui_mali_isa::{Flow, Op, Operand};
use tepui_mali_packets::cs::{CsFinishTiling, CsMove, CsMove32, CsRunFragment, CsRunIdvs};
use tepui_mali_packets::draw::{
    Blend, BlendMode, DcdFlags0, DcdFlags1, DepthStencil, DrawMode, InternalConversion,
    PrimitiveFlags, RegisterFileFormat,
};
use tepui_mali_packets::framebuffer::{
    BlockFormat, BlockFormatV6, ColorBufferInternalFormat, ColorFormat, FramebufferParameters,
    RenderTarget, ZInternalFormat, ZsCrcExtension, ZsFormat,
};
use tepui_mali_packets::shader::{Buffer, LocalStorage, Resource, ShaderProgram, ShaderStage};
use tepui_mali_packets::texture::{ComponentOrder, Format, Plane, PlaneType, Sampler, Texture};
use tepui_mali_packets::tiler::{TilerContext, TilerContextJm};
use tepui_mali_packets::{Base, Packet, PacketInfo};
use tepui_softgpu::{AddressSpace, Memory, Protection};

use super::{BASE, Bits, pack};
use crate::{Completion, Gpu, Stream, address_space};

const BYTES: usize = 1 << 18;
pub(super) const STATES: u64 = BASE + 0x1000;
pub(super) const CONTEXT: u64 = BASE + 0x2000;
pub(super) const FRAME: u64 = BASE + 0x3000;
pub(super) const CODE: u64 = BASE + 0x4000;
pub(super) const VERTICES: u64 = BASE + 0x8000;
pub(super) const TEXELS: u64 = BASE + 0x1_0000;
const DEPTHS: u64 = BASE + 0x2_0000;
const PICTURE: u64 = BASE + 0x3_0000;

/// Side of the framebuffer in pixels.
pub(super) const SIDE: u32 = 40;

/// Limit on the instructions of a shader.
const MAX_INSTRUCTIONS: u64 = 16;

/// A shader that reads 16 bytes of the vertex from the buffer, from `offset` on, and stores them as its
/// result.
fn vertex_shader(offset: u32) -> String {
    format!(
        "LSHIFT_OR.i32 r8, r60, 0x7060504.b00, 0x0
        IADD_IMM.i32 r8, r8, #{offset:#x}
        LD_BUFFER.i128.slot0 @r0:r1:r2:r3, r8, 0x0
        LEA_BUF_IMM.slot1 @r4:r5, r59, table:0xD, index:0x0
        NOP.wait01
        STORE.i128.slot0 @r0:r1:r2:r3, r4, offset:0
        NOP.end"
    )
}

const VARYINGS: &str = "
    LD_VAR_BUF_IMM.f32.slot0.v4.src_f32.center.store.wait0126 @r0:r1:r2:r3, r61, index:0x0
    NOP";
const COLOUR: &str = "
    ATEST.wait @r60, r60, r3, atest_datum.w0
    BLEND.slot1.v4.f32.end @r0:r1:r2:r3, blend_descriptor_0.w0, r60, target:0x0
    NOP.end";

/// Changes some fields of a packet, but no sizes.
pub(super) fn scatter(bits: &mut Bits<'_>, info: &PacketInfo, bytes: &mut [u8], offset: u32) {
    const KEPT: [&str; 6] = ["width", "height", "bound", "count", "size", "stride"];
    for field in info.fields {
        let start = offset + field.pieces[0].start;
        if let Base::Packet(inner) = field.kind.base {
            scatter(bits, inner, bytes, start);
            continue;
        }
        let name = field.name.to_lowercase();
        if KEPT.iter().any(|kept| name.contains(kept)) || !bits.next().is_multiple_of(48) {
            continue;
        }
        let value = match field.kind.base {
            Base::Enum(info) => info.values[bits.next() as usize % info.values.len()].value,
            Base::Address | Base::Array { .. } => continue,
            _ => bits.next(),
        };
        let mut taken = 0;
        for piece in field.pieces {
            for bit in 0..piece.width.min(64) {
                let at = (offset + piece.start + bit) as usize;
                let set = value >> (taken + bit).min(63) & 1 != 0;
                let Some(byte) = bytes.get_mut(at / 8) else { return };
                *byte = *byte & !(1 << (at % 8)) | u8::from(set) << (at % 8);
            }
            taken += piece.width;
        }
    }
}

/// The parameters of a framebuffer with depth in the tile buffer.
fn parameters() -> FramebufferParameters {
    FramebufferParameters {
        width: SIDE,
        height: SIDE,
        bound_max_x: SIDE - 1,
        bound_max_y: SIDE - 1,
        effective_tile_size: 256,
        render_target_count: 1,
        z_internal_format: ZInternalFormat::D32,
        z_write_enable: true,
        z_clear: 0.75,
        tiler: CONTEXT,
        ..Default::default()
    }
}

/// The colour target of a framebuffer.
fn target() -> RenderTarget {
    RenderTarget {
        internal_format: ColorBufferInternalFormat::R8g8b8a8,
        write_enable: true,
        writeback_format: ColorFormat::R8g8b8a8,
        writeback_block_format: BlockFormat::Linear,
        swizzle: 1 << 3 | 2 << 6 | 3 << 9,
        clean_pixel_write_enable: true,
        base: PICTURE,
        row_stride: 4 * SIDE,
        ..Default::default()
    }
}

/// Random instructions, with handles of a texture and a sampler for those that need them.
fn instructions(bits: &mut Bits<'_>) -> Vec<u8> {
    let mut code = Vec::new();
    for _ in 0..bits.next() % MAX_INSTRUCTIONS {
        let mut inst = random::inst(&mut || bits.next());
        if inst.flow == Flow::End || inst.op == Op::BRANCHZ || inst.op == Op::BRANCHZI {
            continue;
        }
        let row = inst.op.row();
        if row.form.unit.is_message() {
            for (field, source) in row.form.sources.iter().zip(&mut inst.sources) {
                if row.source_width(field) == 64 {
                    source.operand = Operand::Uniform(if row.name.contains("TEX") { 2 } else { 0 });
                }
            }
        }
        code.extend(inst.encode().unwrap_or(0).to_le_bytes());
    }
    code
}

pub(super) struct Machine<'a> {
    pub(super) vm: AddressSpace,
    pub(super) bits: Bits<'a>,
}

impl Machine<'_> {
    pub(super) fn put<P: Packet>(&mut self, at: u64, packet: &P) -> Option<()> {
        let mut bytes = pack(packet)?;
        scatter(&mut self.bits, P::INFO, &mut bytes, 0);
        self.vm.write(at, &bytes).ok()
    }

    fn register<P: Packet>(&mut self, packet: &P) -> Option<u32> {
        let mut bytes = pack(packet)?;
        scatter(&mut self.bits, P::INFO, &mut bytes, 0);
        Some(u32::from_le_bytes(bytes.get(..4)?.try_into().ok()?))
    }

    fn shader(&mut self, number: u64, stage: ShaderStage, code: &[u8]) -> Option<()> {
        let binary = CODE + 0x1000 * number;
        self.vm.write(binary, code).ok()?;
        let program = ShaderProgram { stage, preload: 0xffff, binary, ..Default::default() };
        self.put(STATES + 0x20 * number, &program)
    }

    fn shaders(&mut self) -> Option<()> {
        self.shader(0, ShaderStage::Vertex, &assemble(&vertex_shader(0)).ok()?)?;
        self.shader(1, ShaderStage::Vertex, &assemble(&vertex_shader(0x100)).ok()?)?;
        let mut fragment = assemble(VARYINGS).ok()?;
        fragment.extend(instructions(&mut self.bits));
        fragment.extend(assemble(COLOUR).ok()?);
        self.shader(2, ShaderStage::Fragment, &fragment)
    }

    /// Writes positions around the window, and random colours.
    pub(super) fn vertices(&mut self) -> Option<()> {
        for at in 0..0x80 {
            let value = match self.bits.next() % 32 {
                0 => f32::from_bits(self.bits.next() as u32),
                1 => 1e30,
                2..5 => -5.0,
                5..12 => 1.0,
                bits => bits as f32 - 8.0,
            };
            self.vm.write(VERTICES + 4 * at, &value.to_le_bytes()).ok()?;
        }
        Some(())
    }

    fn resources(&mut self) -> Option<()> {
        let format = (Format::Rgba8Unorm.raw() << 12) as u32 | ComponentOrder::Rgba.raw() as u32;
        self.put(STATES + 0x100, &LocalStorage::default())?;
        let uniforms = [TEXELS, 1 | 2 << 32];
        for (i, word) in (0..).zip(uniforms) {
            self.vm.write(STATES + 0x180 + 8 * i, &word.to_le_bytes()).ok()?;
        }
        let table = Resource { address: STATES + 0x140 + 0x100, size: 96, ..Default::default() };
        self.put(STATES + 0x1a0, &table)?;
        let at = STATES + 0x240;
        self.put(at, &Buffer { size: 0x200, address: VERTICES, ..Default::default() })?;
        let texture = Texture {
            format,
            width: 8,
            height: 8,
            swizzle: 0o3210,
            surfaces: STATES + 0x2c0,
            normalize_coordinates: true,
            ..Default::default()
        };
        self.put(at + 0x20, &texture)?;
        self.put(at + 0x40, &Sampler::default())?;
        let plane = Plane {
            plane_type: PlaneType::Generic,
            size: 256,
            pointer: TEXELS,
            row_stride: 32,
            width: 8,
            height: 8,
            ..Default::default()
        };
        self.put(STATES + 0x2c0, &plane)
    }

    /// Writes a framebuffer without depth, in the layout of a chip with a job manager.
    pub(super) fn frame_as(&mut self, arch: u8) -> Option<()> {
        let context = TilerContextJm { fb_width: SIDE, fb_height: SIDE, ..Default::default() };
        self.put_as(arch, CONTEXT, &context)?;
        let parameters =
            FramebufferParameters { point_sprite_coord_origin_max_y: false, ..parameters() };
        self.put_as(arch, FRAME, &parameters)?;
        let mut target = target();
        if arch < 7 {
            target.writeback_block_format = BlockFormat::NoWrite;
            target.writeback_block_format_v6 = BlockFormatV6::Linear;
        }
        self.put_as(arch, FRAME + 128, &target)
    }

    fn frame(&mut self) -> Option<()> {
        let context = TilerContext {
            fb_width: SIDE,
            fb_height: SIDE,
            first_provoking_vertex: true,
            ..Default::default()
        };
        self.vm.write(CONTEXT, &pack(&context)?).ok()?;
        let parameters = FramebufferParameters { has_zs_crc_extension: true, ..parameters() };
        self.put(FRAME, &parameters)?;
        let depths = ZsCrcExtension {
            zs_write_format: ZsFormat::D32,
            zs_block_format: BlockFormat::Linear,
            zs_clean_pixel_write_enable: true,
            zs_writeback_base: DEPTHS,
            zs_writeback_row_stride: 4 * SIDE,
            ..Default::default()
        };
        self.put(FRAME + 128, &depths)?;
        self.put(FRAME + 192, &target())
    }

    fn stream(&mut self) -> Option<Vec<u8>> {
        let memory_format =
            (Format::Rgba8Tb.raw() << 12) as u32 | ComponentOrder::Rgba.raw() as u32;
        let conversion = InternalConversion {
            memory_format,
            register_format: RegisterFileFormat::F32,
            ..Default::default()
        };
        let blend =
            Blend { mode: BlendMode::Opaque, num_comps: 4, conversion, ..Default::default() };
        let mut stream = Vec::new();
        for draw in 0..1 + self.bits.next() % 3 {
            let state = STATES + 0x400 + 0x100 * draw;
            self.put(state, &blend)?;
            self.put(state + 0x40, &DepthStencil::default())?;
            let pairs = [
                (0, (STATES + 0x1a0) | 1),
                (8, STATES + 0x180),
                (12, STATES + 0x180),
                (16, STATES),
                (18, STATES + 0x20),
                (20, STATES + 0x40),
                (24, STATES + 0x100),
                (40, CONTEXT),
                (46, TEXELS),
                (50, state | 1),
                (52, state + 0x40),
            ];
            for (destination, immediate) in pairs {
                stream.extend(pack(&CsMove { immediate, destination })?);
            }
            let modes = [
                DrawMode::Triangles,
                DrawMode::TriangleStrip,
                DrawMode::TriangleFan,
                DrawMode::Lines,
                DrawMode::LineStrip,
                DrawMode::Points,
            ];
            let draw_mode = modes[self.bits.next() as usize % modes.len()];
            let flags = PrimitiveFlags { draw_mode, secondary_shader: true, ..Default::default() };
            let flags_1 = DcdFlags1 { sample_mask: 0xffff, render_target_mask: 1 };
            let words = [
                (9, 2 << 24),
                (13, 2 << 24),
                (33, self.bits.next() as u32 % 12),
                (34, 1 + self.bits.next() as u32 % 3),
                (42, 0),
                (43, (SIDE - 1) << 16 | (SIDE - 1)),
                (45, 1f32.to_bits()),
                (48, 16),
                (56, self.register(&flags)?),
                (57, self.register(&DcdFlags0::default())?),
                (58, self.register(&flags_1)?),
                (60, 1f32.to_bits()),
            ];
            for (destination, immediate) in words {
                stream.extend(pack(&CsMove32 { immediate, destination })?);
            }
            stream.extend(pack(&CsRunIdvs { malloc_enable: true, ..Default::default() })?);
        }
        stream.extend(pack(&CsFinishTiling::default())?);
        stream.extend(pack(&CsMove { immediate: FRAME | 3, destination: 40 })?);
        stream.extend(pack(&CsRunFragment::default())?);
        Some(stream)
    }
}

/// Executes the frame that `input` describes; returns the completions of its stream.
pub fn draws(input: &[u8]) -> Option<Vec<Completion>> {
    let chip = tepui_mali_chips::chip("mali-g610")?;
    let options = super::options(input, 2000, 1 << 24);
    let gpu = Gpu::new(chip, options);
    let vm = address_space();
    let memory = Arc::new(Memory::new(BYTES).ok()?);
    vm.bind(BASE, memory, 0, BYTES as u64, Protection::READ | Protection::WRITE).ok()?;
    let mut machine = Machine { vm, bits: Bits { input, state: 0 } };
    machine.shaders()?;
    machine.vertices()?;
    machine.resources()?;
    machine.frame()?;
    let stream = machine.stream()?;
    machine.vm.write(BASE, &stream).ok()?;
    let mut group = gpu.group(1);
    group.start(0, Stream { address: BASE, size: stream.len() as u64 }).ok()?;
    Some(gpu.run(&machine.vm, &mut group))
}
