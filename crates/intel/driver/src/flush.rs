//! Flushes, invalidations and stalls: from dependencies of the API to PIPE_CONTROL.
//!
//! [`SOURCES`] and [`DESTINATIONS`] say for each kind of access which caches of a generation hold what it wrote, or what it
//! would read. A dependency gathers their bits ([`of_dependency`]); an encoder keeps the bits of several dependencies and emits
//! them before the next work ([`controls`]), where the hardware's rules of PIPE_CONTROL are.
//!
//! source: Mesa, genX_cmd_buffer.c: `anv_pipe_flush_bits_for_access_flags`, `anv_pipe_invalidate_bits_for_access_flags`,
//! `emit_apply_pipe_flushes`, `batch_emit_pipe_control_write`. Transfers are compute programs here, and write through the data
//! port.

use bitflags::bitflags;
use tepui_intel_chips::Generation;
use tepui_intel_packets::state::{PipeControl, PostSyncOperation};
use tepui_vulkan::backend::Backend;
use tepui_vulkan::dependency::Dependency;
use tepui_vulkan::vk::{AccessFlags2 as Access, PipelineStageFlags2 as Stages};

bitflags! {
    /// Bits of PIPE_CONTROL.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Flush: u32 {
        /// Writes depth and stencil back.
        const DEPTH = 1 << 0;
        /// Writes render targets back.
        const RENDER = 1 << 1;
        /// Writes the data port's cache back; on Gen12 down to memory.
        const DATA = 1 << 2;
        /// Writes the data port's pipeline back to the L3 (Gen12).
        const HDC = 1 << 3;
        /// Writes the tile cache back to memory (Gen12).
        const TILE = 1 << 4;
        /// Invalidates indirect state.
        const STATE = 1 << 8;
        /// Invalidates constants.
        const CONSTANTS = 1 << 9;
        /// Invalidates vertices and indices.
        const VERTICES = 1 << 10;
        /// Invalidates textures.
        const TEXTURES = 1 << 11;
        /// Invalidates code.
        const CODE = 1 << 12;
        /// The command streamer waits until all earlier work is done.
        const STALL = 1 << 16;
        /// The depth unit waits.
        const DEPTH_STALL = 1 << 17;
        /// Pixels wait for earlier ones.
        const SCOREBOARD = 1 << 18;
    }
}

impl Flush {
    /// Caches that are written back.
    pub const WRITE_BACK: Flush =
        Flush::DEPTH.union(Flush::RENDER).union(Flush::DATA).union(Flush::HDC).union(Flush::TILE);
    /// Caches that are invalidated.
    pub const INVALIDATE: Flush = Flush::STATE
        .union(Flush::CONSTANTS)
        .union(Flush::VERTICES)
        .union(Flush::TEXTURES)
        .union(Flush::CODE);
    /// Stalls.
    const STALLS: Flush = Flush::STALL.union(Flush::DEPTH_STALL).union(Flush::SCOREBOARD);

    /// The write-back of what shaders wrote.
    pub fn data(generation: Generation) -> Flush {
        Flush::HDC.of(generation)
    }

    /// The bits that exist in a generation.
    fn of(self, generation: Generation) -> Flush {
        match generation {
            // The data cache is the only one of the data port. source: Mesa, anv_private.h, on the HDC flush
            Generation::Gen9 if self.contains(Flush::HDC) => {
                self.difference(Flush::HDC | Flush::TILE) | Flush::DATA
            }
            Generation::Gen9 => self.difference(Flush::TILE),
            Generation::Gen12 => self,
        }
    }
}

/// The bits that a kind of access needs.
pub struct Rule {
    /// Accesses.
    pub accesses: Access,
    /// Bits.
    pub bits: Flush,
}

const fn rule(accesses: Access, bits: Flush) -> Rule {
    Rule { accesses, bits }
}

/// Write-backs after accesses of the first scope of a dependency.
pub static SOURCES: &[Rule] = &[
    rule(Access::SHADER_WRITE.union(Access::SHADER_STORAGE_WRITE), Flush::HDC),
    rule(Access::COLOR_ATTACHMENT_WRITE, Flush::RENDER),
    rule(Access::DEPTH_STENCIL_ATTACHMENT_WRITE, Flush::DEPTH),
    // Clears of attachments and blits draw, copies dispatch.
    rule(Access::TRANSFER_WRITE, Flush::HDC.union(Flush::RENDER).union(Flush::DEPTH)),
    rule(Access::MEMORY_WRITE, Flush::WRITE_BACK),
    // What the host wrote is in memory; what the GPU read of it before is not.
    rule(Access::HOST_WRITE, Flush::INVALIDATE),
    // Stream output writes past the L3.
    rule(
        Access::TRANSFORM_FEEDBACK_WRITE_EXT.union(Access::TRANSFORM_FEEDBACK_COUNTER_WRITE_EXT),
        Flush::STALL.union(Flush::INVALIDATE),
    ),
];

/// Invalidations before accesses of the second scope, and write-backs for units that read past the L3.
pub static DESTINATIONS: &[Rule] = &[
    rule(
        Access::INDIRECT_COMMAND_READ,
        Flush::STALL
            .union(Flush::DATA)
            .union(Flush::TILE)
            .union(Flush::CONSTANTS)
            // Base vertex and instance come from vertex buffers that point to the parameters.
            .union(Flush::VERTICES),
    ),
    rule(Access::INDEX_READ.union(Access::VERTEX_ATTRIBUTE_READ), Flush::VERTICES),
    // The data port reads what constant messages do not.
    rule(Access::UNIFORM_READ, Flush::CONSTANTS.union(Flush::TEXTURES).union(Flush::HDC)),
    rule(Access::SHADER_READ, Flush::CONSTANTS.union(Flush::TEXTURES).union(Flush::HDC)),
    rule(Access::SHADER_STORAGE_READ, Flush::HDC),
    rule(Access::SHADER_SAMPLED_READ.union(Access::INPUT_ATTACHMENT_READ), Flush::TEXTURES),
    rule(Access::TRANSFER_READ, Flush::TEXTURES.union(Flush::HDC)),
    rule(Access::MEMORY_READ, Flush::INVALIDATE),
    rule(
        Access::CONDITIONAL_RENDERING_READ_EXT.union(Access::TRANSFORM_FEEDBACK_COUNTER_READ_EXT),
        Flush::STALL.union(Flush::DATA).union(Flush::TILE),
    ),
    rule(Access::HOST_READ, Flush::WRITE_BACK.union(Flush::STALL)),
    rule(Access::TRANSFORM_FEEDBACK_WRITE_EXT, Flush::DATA.union(Flush::TILE)),
];

fn bits_of(rules: &[Rule], accesses: Access) -> Flush {
    let hit = rules.iter().filter(|r| accesses.intersects(r.accesses));
    hit.fold(Flush::empty(), |all, r| all | r.bits)
}

/// Flushes and stalls between a program of the driver that writes parameters of commands, and the command streamer that reads them.
pub fn before_parameters(generation: Generation) -> Flush {
    (Flush::HDC | bits_of(DESTINATIONS, Access::INDIRECT_COMMAND_READ)).of(generation)
}

/// The bits of a dependency.
pub fn of_dependency<B: Backend>(generation: Generation, d: &Dependency<B>) -> Flush {
    let on_gpu = !d.source.stages.difference(Stages::HOST).is_empty();
    let first = bits_of(SOURCES, d.source.accesses);
    let second = bits_of(DESTINATIONS, d.destination.accesses);
    let mut bits = first | second;
    if !on_gpu {
        // Nothing that the GPU did.
        return (bits & Flush::INVALIDATE).of(generation);
    }
    // Commands may run at once with later ones: a write after a read waits, and so does what only orders execution.
    if !(d.source.only_reads() && d.destination.only_reads()) {
        bits |= Flush::STALL;
    }
    bits.of(generation)
}

/// The mode of the pipeline in which commands are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Draws.
    Graphics,
    /// Dispatches.
    Compute,
}

/// The PIPE_CONTROLs of bits, and the bits that have to wait for the other mode. `mode` is none at the beginning of a command
/// buffer, which follows any other. `word` is the address of a word that nothing reads.
pub fn controls(
    generation: Generation,
    mode: Option<Mode>,
    bits: Flush,
    word: u64,
) -> (Vec<PipeControl>, Flush) {
    // Wa_1606932921: flushes of the 3D pipeline's caches do not wake up in the mode of dispatches.
    let graphics_only = Flush::DEPTH
        | Flush::RENDER
        | Flush::TILE
        | Flush::DEPTH_STALL
        | Flush::SCOREBOARD
        | Flush::VERTICES;
    let later = match (generation, mode) {
        (Generation::Gen12, Some(Mode::Compute)) => bits & graphics_only,
        _ => Flush::empty(),
    };
    let bits = bits.difference(later);
    let may_compute = mode != Some(Mode::Graphics);
    let mut all = Vec::new();
    let ends = bits & (Flush::WRITE_BACK | Flush::STALLS);
    let starts = bits & Flush::INVALIDATE;
    if !ends.is_empty() {
        let mut c = control(ends);
        // Flushes run in the pipeline and invalidations at once: the streamer waits for what is to be seen after them. A write
        // at the end of the pipeline tells it that the flush has arrived.
        if !starts.is_empty() || ends.contains(Flush::STALL) {
            c.command_streamer_stall_enable = true;
            c.post_sync_operation = PostSyncOperation::WriteImmediateData;
            c.address = word;
        }
        // Wa_1409600907.
        if generation == Generation::Gen12 && ends.contains(Flush::DEPTH) {
            c.depth_stall_enable = true;
        }
        let writes = c.post_sync_operation != PostSyncOperation::NoWrite;
        // WaStallBeforePostSyncOpOnGPGPU.
        if generation == Generation::Gen9 && may_compute && writes {
            all.push(PipeControl {
                command_streamer_stall_enable: true,
                // A stall wants another bit. source: SKL PRM volume 2a, PIPE_CONTROL, "CS Stall"
                stall_at_pixel_scoreboard: true,
                ..PipeControl::default()
            });
        }
        all.push(c);
    }
    if !starts.is_empty() {
        let mut c = control(starts);
        if generation == Generation::Gen9 && starts.contains(Flush::VERTICES) {
            // WaPipeControlBeforeVFCacheInvalidationEnable, and the write that such an invalidation must have.
            all.push(PipeControl::default());
            c.post_sync_operation = PostSyncOperation::WriteImmediateData;
            c.address = word;
        }
        // source: SKL PRM volume 2a, PIPE_CONTROL, "Texture Cache Invalidation Enable" with GPGPU workloads
        if may_compute && starts.intersects(Flush::TEXTURES | Flush::VERTICES) {
            c.command_streamer_stall_enable = true;
            c.stall_at_pixel_scoreboard = generation == Generation::Gen9;
        }
        // Wa_14010840176: the first level of constants is invalidated by a flush of the data port's pipeline, the L3's part with
        // the state. source: Mesa, iris_state.c, `iris_emit_raw_pipe_control`
        if generation == Generation::Gen12 && starts.contains(Flush::CONSTANTS) {
            c.constant_cache_invalidation_enable = false;
            c.hdc_pipeline_flush_enable = true;
            c.state_cache_invalidation_enable = true;
        }
        all.push(c);
    }
    (all, later)
}

fn control(bits: Flush) -> PipeControl {
    let has = |bit: Flush| bits.contains(bit);
    PipeControl {
        hdc_pipeline_flush_enable: has(Flush::HDC),
        depth_cache_flush_enable: has(Flush::DEPTH),
        stall_at_pixel_scoreboard: has(Flush::SCOREBOARD),
        state_cache_invalidation_enable: has(Flush::STATE),
        constant_cache_invalidation_enable: has(Flush::CONSTANTS),
        vf_cache_invalidation_enable: has(Flush::VERTICES),
        dc_flush_enable: has(Flush::DATA),
        texture_cache_invalidation_enable: has(Flush::TEXTURES),
        instruction_cache_invalidate_enable: has(Flush::CODE),
        render_target_cache_flush_enable: has(Flush::RENDER),
        depth_stall_enable: has(Flush::DEPTH_STALL),
        command_streamer_stall_enable: has(Flush::STALL),
        tile_cache_flush_enable: has(Flush::TILE),
        ..PipeControl::default()
    }
}

#[cfg(test)]
mod tests {
    use tepui_vulkan::dependency::Scope;

    use super::*;
    use crate::family::Intel;

    fn dependency(generation: Generation, from: (Stages, Access), to: (Stages, Access)) -> Flush {
        let (from, to) = (Scope::source(from.0, from.1), Scope::destination(to.0, to.1));
        of_dependency(generation, &Dependency::<Intel>::memory(from, to))
    }

    #[test]
    fn dependencies_flush_what_was_written_and_invalidate_what_is_read() {
        use Generation::{Gen9, Gen12};
        let (compute, none) = (Stages::COMPUTE_SHADER, Access::empty());
        let write = (compute, Access::SHADER_STORAGE_WRITE);
        let sampled = (Stages::FRAGMENT_SHADER, Access::SHADER_SAMPLED_READ);
        let indirect = (Stages::DRAW_INDIRECT, Access::INDIRECT_COMMAND_READ);
        let colour = (Stages::COLOR_ATTACHMENT_OUTPUT, Access::COLOR_ATTACHMENT_WRITE);
        let host = (Stages::HOST, Access::HOST_READ);
        let vertices = (Stages::VERTEX_ATTRIBUTE_INPUT, Access::VERTEX_ATTRIBUTE_READ);
        let stall = Flush::STALL;
        for (generation, from, to, expected) in [
            (Gen9, write, sampled, Flush::DATA | Flush::TEXTURES | stall),
            (Gen12, write, sampled, Flush::HDC | Flush::TEXTURES | stall),
            (Gen9, colour, sampled, Flush::RENDER | Flush::TEXTURES | stall),
            (Gen9, write, vertices, Flush::DATA | Flush::VERTICES | stall),
            (Gen9, write, indirect, Flush::DATA | Flush::CONSTANTS | Flush::VERTICES | stall),
            (
                Gen12,
                write,
                indirect,
                Flush::HDC | Flush::DATA | Flush::TILE | Flush::CONSTANTS | Flush::VERTICES | stall,
            ),
            (Gen9, write, host, Flush::DATA | Flush::DEPTH | Flush::RENDER | stall),
            (Gen12, write, host, Flush::WRITE_BACK | stall),
            // Execution alone, and a write after a read.
            (Gen9, (compute, none), (compute, none), stall),
            (Gen9, sampled, colour, stall),
            // Reads after reads.
            (Gen9, sampled, sampled, Flush::TEXTURES),
            // What the host wrote.
            (Gen9, (Stages::HOST, Access::HOST_WRITE), sampled, Flush::INVALIDATE),
            (Gen9, (Stages::TOP_OF_PIPE, none), sampled, Flush::TEXTURES),
        ] {
            assert_eq!(dependency(generation, from, to), expected, "{generation} {from:?} {to:?}");
        }
    }

    #[test]
    fn parameters_that_programs_write_leave_the_data_cache() {
        let cached = Flush::CONSTANTS | Flush::VERTICES | Flush::STALL | Flush::DATA;
        assert_eq!(before_parameters(Generation::Gen9), cached);
        let cached = cached | Flush::HDC | Flush::TILE;
        assert_eq!(before_parameters(Generation::Gen12), cached);
    }

    #[test]
    fn write_backs_arrive_before_invalidations() {
        let bits = Flush::DATA | Flush::TEXTURES;
        let (all, later) = controls(Generation::Gen9, Some(Mode::Graphics), bits, 64);
        assert_eq!((all.len(), later), (2, Flush::empty()));
        let (flush, invalidation) = (&all[0], &all[1]);
        assert!(flush.dc_flush_enable && flush.command_streamer_stall_enable);
        assert!(!flush.texture_cache_invalidation_enable);
        assert_eq!(flush.post_sync_operation, PostSyncOperation::WriteImmediateData);
        assert_eq!(flush.address, 64);
        assert!(invalidation.texture_cache_invalidation_enable && !invalidation.dc_flush_enable);
        // A write-back that nothing waits for takes one command without a stall.
        let (all, _) = controls(Generation::Gen9, Some(Mode::Graphics), Flush::RENDER, 64);
        assert_eq!(all.len(), 1);
        assert!(!all[0].command_streamer_stall_enable);
        assert!(controls(Generation::Gen9, Some(Mode::Compute), Flush::empty(), 0).0.is_empty());
    }

    #[test]
    fn workarounds_of_skylake() {
        // WaPipeControlBeforeVFCacheInvalidationEnable.
        let (all, _) = controls(Generation::Gen9, Some(Mode::Graphics), Flush::VERTICES, 64);
        assert_eq!(all.len(), 2);
        assert_eq!(all[0], PipeControl::default());
        assert_eq!(all[1].post_sync_operation, PostSyncOperation::WriteImmediateData);
        // WaStallBeforePostSyncOpOnGPGPU.
        let (all, _) =
            controls(Generation::Gen9, Some(Mode::Compute), Flush::DATA | Flush::STALL, 64);
        assert_eq!(all.len(), 2);
        assert!(all[0].command_streamer_stall_enable && all[0].stall_at_pixel_scoreboard);
        assert_eq!(all[0].post_sync_operation, PostSyncOperation::NoWrite);
        // Texture invalidation with dispatches.
        for generation in [Generation::Gen9, Generation::Gen12] {
            let (all, _) = controls(generation, Some(Mode::Compute), Flush::TEXTURES, 64);
            assert!(all[0].command_streamer_stall_enable);
        }
    }

    #[test]
    fn workarounds_of_tiger_lake() {
        // Wa_1409600907.
        let (all, _) = controls(Generation::Gen12, Some(Mode::Graphics), Flush::DEPTH, 64);
        assert!(all[0].depth_stall_enable);
        // Wa_1606932921.
        let bits = Flush::RENDER | Flush::HDC | Flush::VERTICES;
        let (all, later) = controls(Generation::Gen12, Some(Mode::Compute), bits, 64);
        assert_eq!(later, Flush::RENDER | Flush::VERTICES);
        assert!(!all[0].render_target_cache_flush_enable && all[0].hdc_pipeline_flush_enable);
        // Wa_14010840176.
        for mode in [Mode::Graphics, Mode::Compute] {
            let (all, _) = controls(Generation::Gen12, Some(mode), Flush::CONSTANTS, 64);
            let [c] = all.as_slice() else { panic!("{all:?}") };
            assert!(!c.constant_cache_invalidation_enable);
            assert!(c.hdc_pipeline_flush_enable && c.state_cache_invalidation_enable);
        }
    }
}
