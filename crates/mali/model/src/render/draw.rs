//! RUN_IDVS: a draw described by registers of the command stream.
//!
// source: registers: Mesa, decode_csf.c (`pandecode_run_idvs`).

use tepui_mali_chips::Arch;
use tepui_mali_packets::Packet;
use tepui_mali_packets::cs::{CsRunFullscreen, CsRunIdvs};
use tepui_mali_packets::draw::{PrimitiveFlags, Scissor};
use tepui_mali_packets::shader::ShaderStage;
use tepui_mali_packets::tiler::TilerContext;
use tepui_softgpu::{Access, AddressSpace, UnitMemory};

use super::stage::Stage;
use super::vertex::{self, HIGHEST};
use super::{geometry, midgard};
use crate::gpu::Gpu;
use crate::job::{JobFault, JobStats, Unit};
use crate::order::unit;
use crate::pixels::draw::{Draw, invalid};
use crate::pixels::scene::Scenes;
use crate::warp::addresses::StageAddresses;

const UNIT: Unit = Unit::Tiler;

/// The state registers of a queue.
pub(crate) struct StateRegisters<'a>(pub &'a [u32]);

impl StateRegisters<'_> {
    /// A register.
    pub fn word(&self, index: usize) -> u32 {
        self.0.get(index).copied().unwrap_or(0)
    }

    /// A pair of registers.
    pub fn pair(&self, index: usize) -> u64 {
        u64::from(self.word(index)) | u64::from(self.word(index + 1)) << 32
    }
}

/// Unpacks a packet from words that are in registers.
pub(crate) fn packet<P: Packet>(what: &str, words: &[u32]) -> Result<P, JobFault> {
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    P::unpack(&bytes).map_err(|problem| invalid(what, problem))
}

/// Bytes of a tiler context that have the same layout on v7, v9 and v10.
const COMMON: usize = 32;

/// Reads the tiler context.
pub(crate) fn context(
    arch: Arch,
    memory: &mut UnitMemory<'_>,
    at: u64,
) -> Result<TilerContext, JobFault> {
    let memory_fault = |fault| JobFault::memory(UNIT, fault);
    if arch.0 < 6 {
        return midgard::context(arch, memory, at);
    }
    let mut bytes = [0; TilerContext::SIZE_BYTES];
    if arch.0 < 10 {
        memory.read(at, &mut bytes[..COMMON]).map_err(memory_fault)?;
        // A hint about costs.
        bytes[10] &= !1;
        let private = &mut bytes[PRIVATE_STATE as usize..][..4];
        memory.read(at.wrapping_add(private_state(arch)), private).map_err(memory_fault)?;
    } else {
        memory.read(at, &mut bytes).map_err(memory_fault)?;
    }
    TilerContext::unpack(&bytes).map_err(|problem| invalid("tiler context", problem))
}

/// Byte offset of the completed chunks in a tiler context of v10.
const COMPLETED: u64 = 40;

/// Byte offset of the private state in a tiler context of v10.
const PRIVATE_STATE: u64 = 96;

/// Byte offset of the private state in a tiler context, whose first word is the scene's number.
fn private_state(arch: Arch) -> u64 {
    if arch.0 < 10 { 128 } else { PRIVATE_STATE }
}

/// Executes a draw.
pub(crate) fn execute(
    gpu: &Gpu,
    vm: &AddressSpace,
    scenes: &mut Scenes,
    registers: &StateRegisters<'_>,
    instruction: &CsRunIdvs,
    stats: &mut JobStats,
) -> Result<(), JobFault> {
    stats.draws += 1;
    if stats.draws > gpu.options.max_draws {
        return Ok(());
    }
    let r = registers;
    let flags = r.word(56) | instruction.flags_override;
    let flags: PrimitiveFlags = packet("primitive flags", &[flags])?;
    if !instruction.malloc_enable {
        return Err(JobFault::unimplemented(UNIT, "draws without memory allocation (IDVS)"));
    }
    let select =
        |chosen: bool, own: usize, position: usize| r.pair(if chosen { own } else { position });
    let position = StageAddresses {
        resources: r.pair(0),
        uniforms: r.pair(8),
        program: r.pair(16),
        storage: r.pair(24),
        attribute_offset: r.word(32),
        bifrost: None,
    };
    let varying = StageAddresses {
        resources: select(instruction.varying_srt_select, 2, 0),
        uniforms: select(instruction.varying_fau_select, 10, 8),
        program: r.pair(18),
        storage: select(instruction.varying_tsd_select, 26, 24),
        attribute_offset: r.word(32),
        bifrost: None,
    };
    let fragment = StageAddresses {
        resources: select(instruction.fragment_srt_select, 4, 0),
        uniforms: r.pair(12),
        program: r.pair(20),
        storage: select(instruction.fragment_tsd_select, 28, 24),
        attribute_offset: r.word(32),
        bifrost: None,
    };
    let draw = Draw {
        fragment,
        flags_0: packet("draw flags", &[r.word(57)])?,
        flags_1: packet("draw flags", &[r.word(58)])?,
        depth_range: [f32::from_bits(r.word(44)), f32::from_bits(r.word(45))],
        occlusion: r.pair(46),
        blend: r.pair(50) & !0xf,
        blend_count: r.word(50) & 0xf,
        depth_stencil: r.pair(52),
        depth_state: None,
        varying_stride: if flags.secondary_shader { r.word(48) } else { 0 },
        points_from_below: None,
    };
    let vertices = vertex::Vertices {
        count: r.word(33),
        instances: r.word(34),
        base: r.word(36),
        first_instance: r.word(37),
        index_type: flags.index_type,
        first_index: r.word(35),
        indices: r.pair(54),
        index_bytes: r.word(39),
        restart: flags.primitive_restart.then_some(HIGHEST),
        draw_id: match instruction.draw_id_register_enable {
            true => r.word(instruction.draw_id as usize),
            false => 0,
        },
    };
    let scissor: Scissor = packet("scissor", &[r.word(42), r.word(43)])?;
    let size_px = f32::from_bits(r.word(60));
    let tiler = r.pair(40);
    run(
        gpu,
        vm,
        scenes,
        DrawCall { flags, tiler, position, varying, draw, vertices, scissor, size_px },
        stats,
    )
}

/// The parameters of a draw call, from registers or a job.
pub(crate) struct DrawCall {
    pub flags: PrimitiveFlags,
    /// Address of the tiler context.
    pub tiler: u64,
    pub position: StageAddresses,
    pub varying: StageAddresses,
    pub draw: Draw,
    pub vertices: vertex::Vertices,
    pub scissor: Scissor,
    /// Size of points and width of lines.
    pub size_px: f32,
}

/// Shades a draw's vertices and adds its primitives to the tiler context's scene.
pub(crate) fn run(
    gpu: &Gpu,
    vm: &AddressSpace,
    scenes: &mut Scenes,
    call: DrawCall,
    stats: &mut JobStats,
) -> Result<(), JobFault> {
    let DrawCall { flags, tiler, position, varying, draw, vertices, scissor, size_px } = call;
    let mut memory = UnitMemory::new(vm);
    let arch = gpu.chip().arch;
    let before = memory.set_unit(unit::TILER);
    let context = context(arch, &mut memory, tiler)?;
    let number = scene(arch, &mut memory, scenes, tiler, &context)?;
    memory.set_unit(before);
    if vertices.count == 0 || vertices.instances == 0 {
        return Ok(());
    }
    let Some(position) = Stage::read(gpu, vm, &position, &[ShaderStage::Vertex])? else {
        return Ok(());
    };
    let varying = match flags.secondary_shader {
        true => Stage::read(gpu, vm, &varying, &[ShaderStage::Vertex])?,
        false => None,
    };
    let setup =
        geometry::PrimitiveSetup::new(&mut memory, &flags, &draw, &context, scissor, size_px)?;
    scenes.change(number, |scene| {
        vertex::draw(
            gpu,
            vm,
            &vertices,
            &position,
            varying.as_ref(),
            &flags,
            draw,
            &setup,
            scene,
            stats,
        )
    })
}

/// Whether a context's list of polygons was taken away, when its chunks were given back in the middle of a rendering. source: Mesa,
/// panvk_vX_exception_handler.c
pub(crate) fn is_given_back(arch: Arch, context: &TilerContext) -> bool {
    arch.0 >= 10 && context.polygon_list == 0
}

/// The number of a tiler context's scene, which begins with its first draw.
pub(crate) fn scene(
    arch: Arch,
    memory: &mut UnitMemory<'_>,
    scenes: &mut Scenes,
    at: u64,
    context: &TilerContext,
) -> Result<u32, JobFault> {
    let own = match arch.0 {
        ..6 => context.polygon_list,
        _ => at.wrapping_add(private_state(arch)),
    };
    // Each draw appends to the context's lists, which are not in memory here. The word of the scene stands for them: vertex
    // jobs read other parts of the context (Midgard's has the memory of threads).
    memory.space().report_access(unit::TILER, Access::Write, own, 4);
    match context.private_state.word0 {
        number if number == 0 || is_given_back(arch, context) => {
            // Without FINISH_FRAGMENT the heap is used again as soon as another context begins on it.
            if arch.0 < 10 {
                scenes.remove_drawn();
            }
            let number = scenes.create();
            let written = memory.write(own, &number.to_le_bytes());
            written.map_err(|fault| JobFault::memory(UNIT, fault))?;
            // The chunks that the draws use, which FINISH_FRAGMENT gives back.
            if arch.0 >= 10 {
                let chunk = u64::from(number) * CHUNK;
                let chunks = [chunk.to_le_bytes(), chunk.to_le_bytes()].concat();
                let written = memory.write(at.wrapping_add(COMPLETED), &chunks);
                written.map_err(|fault| JobFault::memory(UNIT, fault))?;
                // The list of polygons, in the heap.
                let written = memory.write(at, &chunk.to_le_bytes());
                written.map_err(|fault| JobFault::memory(UNIT, fault))?;
            }
            Ok(number)
        }
        number => Ok(number),
    }
}

/// Executes a RUN_FULLSCREEN: shades all pixels within the scissor with a draw descriptor.
pub(crate) fn fullscreen(
    gpu: &Gpu,
    vm: &AddressSpace,
    scenes: &mut Scenes,
    registers: &StateRegisters<'_>,
    instruction: &CsRunFullscreen,
    stats: &mut JobStats,
) -> Result<(), JobFault> {
    stats.draws += 1;
    let r = registers;
    let mut memory = UnitMemory::new(vm);
    let at = r.pair(40);
    let arch = gpu.chip().arch;
    let before = memory.set_unit(unit::TILER);
    let context = context(arch, &mut memory, at)?;
    let number = scene(arch, &mut memory, scenes, at, &context)?;
    memory.set_unit(before);
    let draw = Draw::from_descriptor(&mut memory, r.pair(instruction.dcd as usize))?;
    let scissor: Scissor = packet("scissor", &[r.word(42), r.word(43)])?;
    scenes.change(number, |scene| {
        geometry::fullscreen(draw, &context, &scissor, scene);
        Ok(())
    })
}

/// Frees the scene whose chunks of the heap are returned.
pub(crate) fn finish(vm: &AddressSpace, scenes: &mut Scenes, chunks: u64) {
    if let Ok(number) = u32::try_from(chunks / CHUNK) {
        report_lists(vm, Access::Write, number);
        scenes.remove(number);
    }
}

/// Tells the checker of an access to a scene's lists in the chunks of the heap. They are not in memory here: addresses that no memory has
/// stand for them.
pub(super) fn report_lists(vm: &AddressSpace, access: Access, scene: u32) {
    const LISTS: u64 = 1 << 63;
    vm.report_access(unit::SHADER, access, LISTS + u64::from(scene) * CHUNK, 4);
}

/// Factor that makes a scene's number look like the address of a chunk.
const CHUNK: u64 = 4096;
