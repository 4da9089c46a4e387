//! Restrictions on the order of commands that are not about memory: what has to come before a change of pipelines, of base
//! addresses or of the way in which targets are drawn, and workarounds.
//!
//! The model executes each command completely before the next, so that none of this changes a result here. With
//! [`crate::Options::check`] the commands of each batch are compared with [`RESTRICTIONS`]. A batch begins with everything
//! flushed and invalidated, as the kernel leaves it, and with pipelines and state that nothing is known of.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::Range;

use tepui_intel_chips::Generation;
use tepui_intel_packets::state::{PipeControl, Pipeline, PostSyncOperation};

/// A restriction on the order of commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restriction {
    /// Its name: a workaround's, or the command that it is about.
    pub name: &'static str,
    /// Generations that have it.
    pub generations: &'static [Generation],
    /// Description of what is needed.
    pub needs: &'static str,
    /// The document that has it, or the function of Mesa that follows it.
    pub source: &'static str,
}

macro_rules! restrictions {
    ($($id:ident [$($generation:ident)*] $name:literal: $needs:literal; $source:literal)*) => {
        /// An index of [`RESTRICTIONS`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub(crate) enum Rule {
            $($id),*
        }

        /// All restrictions.
        pub const RESTRICTIONS: &[Restriction] = &[$(Restriction {
            name: $name,
            generations: &[$(Generation::$generation),*],
            needs: $needs,
            source: $source,
        }),*];
    };
}

restrictions! {
    PipelineFlush [Gen9 Gen12] "PIPELINE_SELECT":
    "before another pipeline is selected, the caches that the current one writes are flushed with a stall (on Gen9 all caches, and \
     then the read-only caches are invalidated by another PIPE_CONTROL)";
    "SKL and TGL PRM volume 2a, PIPELINE_SELECT"

    CcStatePointer [Gen9] "WaClearCCStatePriorPipelineSelect":
    "before GPGPU is selected, 3DSTATE_CC_STATE_POINTERS makes its pointer invalid";
    "BDW PRM volume 2a, PIPELINE_SELECT; Mesa, `flush_pipeline_select`"

    VfeBefore3d [Gen9] "MEDIA_VFE_STATE before 3D":
    "MEDIA_VFE_STATE is emitted again between the last walker and the selection of the 3D pipeline";
    "Mesa, `flush_pipeline_select`: geometry flickers otherwise"

    CurbeAgain [Gen9] "MEDIA_CURBE_LOAD after GPGPU":
    "after GPGPU is selected, MEDIA_CURBE_LOAD is emitted again before a walker whose threads get constants";
    "Mesa, `flush_pipeline_select`: push constants are corrupted otherwise"

    BaseFlush [Gen9 Gen12] "STATE_BASE_ADDRESS":
    "before a base address changes, render targets and data caches are flushed with a stall";
    "Mesa, `cmd_buffer_emit_state_base_address`: GPUs hang otherwise"

    BaseInvalidate [Gen9 Gen12] "state cache after STATE_BASE_ADDRESS":
    "after a change of the base of surface or dynamic state, of which something was read, the state cache is invalidated before the next \
     work";
    "BDW PRM, 3D Sampler, State Caching"

    BaseIn3d [Gen12] "Wa_1607854226":
    "STATE_BASE_ADDRESS is emitted while the 3D pipeline is selected";
    "Mesa, `cmd_buffer_emit_state_base_address`"

    VfeStall [Gen9 Gen12] "MEDIA_VFE_STATE":
    "a stall comes before MEDIA_VFE_STATE";
    "SKL PRM volume 2a, MEDIA_VFE_STATE"

    NullBeforeVf [Gen9] "WaPipeControlBeforeVFCacheInvalidationEnable":
    "a PIPE_CONTROL without any bits comes right before one that invalidates the vertex cache";
    "SKL PRM volume 2a, PIPE_CONTROL"

    PostSyncWithVf [Gen9] "vertex cache invalidation":
    "a PIPE_CONTROL that invalidates the vertex cache has a post-sync operation";
    "SKL PRM volume 2a, PIPE_CONTROL"

    TextureInGpgpu [Gen9 Gen12] "texture invalidation in GPGPU":
    "a PIPE_CONTROL that invalidates the texture cache while GPGPU is selected has a stall of the command streamer";
    "SKL PRM volume 7, Programming Restrictions for PIPE_CONTROL, Flush Types"

    DepthFlushStall [Gen12] "Wa_1409600907":
    "a PIPE_CONTROL that flushes the depth cache has a depth stall";
    "Mesa, `batch_emit_pipe_control_write`"

    ConstantsCommit [Gen9] "3DSTATE_CONSTANT":
    "after a 3DSTATE_CONSTANT of a stage that is not empty, its 3DSTATE_BINDING_TABLE_POINTERS is emitted before the next draw: it \
     makes them take effect";
    "SKL PRM volume 2a, 3DSTATE_BINDING_TABLE_POINTERS; Mesa, `emit_simple_shader_dispatch`"

    ConstantsAgain [Gen9 Gen12] "3DSTATE_PUSH_CONSTANT_ALLOC":
    "after 3DSTATE_PUSH_CONSTANT_ALLOC of a stage, its 3DSTATE_CONSTANT is emitted before the next draw";
    "BDW PRM volume 2a, 3DSTATE_PUSH_CONSTANT_ALLOC_VS"

    ConstantsSlots [Gen9] "3DSTATE_CONSTANT, buffer 0":
    "constants use buffer 0 only if they use buffer 3, too";
    "SKL PRM volume 2a, 3DSTATE_CONSTANT; Mesa, `cmd_buffer_emit_push_constant`"

    ConstantsOfAll [Gen12] "Wa_1604061319":
    "if a stage gets 3DSTATE_CONSTANT and one gets another binding table between two draws, all active stages get 3DSTATE_CONSTANT";
    "Mesa, `cmd_buffer_flush_gfx_state` (for any constants), `iris_upload_dirty_render_state` (for any table)"

    HullAgain [Gen12] "Wa_16011107343":
    "3DSTATE_HS is emitted again for each draw with patches";
    "Mesa, `genX_gfx_state.c`"

    ColourOperations [Gen9 Gen12] "clears and resolves":
    "between draws of which one clears or resolves blocks of its targets and another does not, render targets are flushed and waited \
     for (Gen12: before a clear with tile cache and texture invalidation, and a depth stall)";
    "SKL PRM volume 7, MCS Buffer for Render Target(s); TGL PRM volume 9, Color Fast Clear Synchronization"

    DepthClear [Gen9 Gen12] "depth clear":
    "the depth cache is flushed with a depth stall between a draw and a clear by 3DSTATE_WM_HZ_OP";
    "SKL PRM volume 7, Depth Buffer Clear; Mesa, `anv_fast_clear_depth_stencil`"

    DepthClearWriteThrough [Gen12] "depth clear with write-through":
    "before a depth buffer whose blocks are written through is cleared, depth and tile cache are flushed with a stall of the command \
     streamer";
    "Mesa, `anv_fast_clear_depth_stencil`"

    DepthClearEnd [Gen9] "Depth Buffer Clear Workaround":
    "the depth cache is flushed with a depth stall between a clear by 3DSTATE_WM_HZ_OP and the next draw";
    "SKL PRM volume 7, Depth Buffer Clear"

    OperationEnd [Gen9 Gen12] "3DSTATE_WM_HZ_OP":
    "after an operation, a PIPE_CONTROL with a post-sync write and then a 3DSTATE_WM_HZ_OP without one come before anything is drawn";
    "BDW PRM volume 2a, 3DSTATE_WM_HZ_OP"

    DepthStatePostSync [Gen12] "Wa_1408224581":
    "after depth or stencil buffers change, a PIPE_CONTROL with a post-sync write comes before the next draw";
    "Mesa, `cmd_buffer_emit_depth_stencil`"

    VertexTags [Gen9] "tags of the vertex cache":
    "the vertex cache is invalidated with a stall before what was fetched from a vertex buffer or the index buffer since spans more \
     than 4 GiB: its tags have 32 bits";
    "Mesa, `cmd_buffer_set_binding_for_gfx8_vb_flush`"
}

/// The restrictions as a table for documentation.
pub fn table() -> String {
    let mut text =
        String::from("| restriction | on | what it needs | source |\n| --- | --- | --- | --- |\n");
    for restriction in RESTRICTIONS {
        let on: Vec<String> =
            restriction.generations.iter().map(|generation| format!("{generation:?}")).collect();
        let Restriction { name, needs, source, .. } = restriction;
        let _ = writeln!(text, "| {name} | {} | {needs} | {source} |", on.join(", "));
    }
    text
}

/// Bits of a PIPE_CONTROL: flushes, invalidations and stalls.
mod bit {
    pub const RENDER: u16 = 1;
    pub const DEPTH: u16 = 1 << 1;
    pub const DATA: u16 = 1 << 2;
    pub const TILE: u16 = 1 << 3;
    pub const FLUSHES: u16 = RENDER | DEPTH | DATA | TILE;
    pub const STALL: u16 = 1 << 4;
    pub const TEXTURE: u16 = 1 << 5;
    pub const CONSTANT: u16 = 1 << 6;
    pub const STATE: u16 = 1 << 7;
    pub const INSTRUCTION: u16 = 1 << 8;
    pub const READ_ONLY: u16 = TEXTURE | CONSTANT | STATE | INSTRUCTION;
    pub const DEPTH_STALL: u16 = 1 << 9;
    pub const VERTEX: u16 = 1 << 10;
    pub const POST_SYNC: u16 = 1 << 11;
}

fn bits(control: &PipeControl) -> u16 {
    let bits = [
        (control.render_target_cache_flush_enable, bit::RENDER),
        (control.depth_cache_flush_enable, bit::DEPTH),
        (control.dc_flush_enable || control.hdc_pipeline_flush_enable, bit::DATA),
        (control.tile_cache_flush_enable || control.l3_fabric_flush, bit::TILE),
        (control.command_streamer_stall_enable, bit::STALL),
        (control.texture_cache_invalidation_enable, bit::TEXTURE),
        (control.constant_cache_invalidation_enable, bit::CONSTANT),
        (control.state_cache_invalidation_enable, bit::STATE),
        (control.instruction_cache_invalidate_enable, bit::INSTRUCTION),
        (control.depth_stall_enable, bit::DEPTH_STALL),
        (control.vf_cache_invalidation_enable, bit::VERTEX),
        (control.post_sync_operation != PostSyncOperation::NoWrite, bit::POST_SYNC),
    ];
    bits.into_iter().filter(|(set, _)| *set).fold(0, |all, (_, bit)| all | bit)
}

/// The PIPE_CONTROLs since some work.
#[derive(Clone, Copy)]
struct Since {
    /// Bits of any of them.
    seen: u16,
    /// Flushes that a stall has completed, and the stall.
    complete: u16,
    /// Invalidations after the last flush was complete.
    fresh: u16,
}

impl Since {
    /// Nothing since the beginning of the batch.
    const START: Since = Since { seen: u16::MAX, complete: u16::MAX, fresh: u16::MAX };
    /// Nothing since work.
    const WORK: Since = Since { seen: 0, complete: 0, fresh: 0 };

    fn pipe_control(&mut self, bits: u16) {
        self.seen |= bits;
        let before = self.complete;
        if bits & bit::STALL != 0 {
            self.complete |= bit::STALL | self.seen & bit::FLUSHES;
        }
        self.fresh = if self.complete == before { self.fresh | bits & bit::READ_ONLY } else { 0 };
    }

    fn has(&self, bits: u16) -> bool {
        self.seen & bits == bits
    }

    fn has_completed(&self, bits: u16) -> bool {
        self.complete & bits == bits
    }
}

/// Effect of a draw on the blocks of its targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColourOperation {
    Render,
    Clear,
    Resolve,
}

/// Shader stages by their index: vertex, hull, domain, geometry, pixel.
pub(crate) type Stages = u8;

/// A draw, for the restrictions.
pub(crate) struct Draw {
    /// Stages that have a shader.
    pub active: Stages,
    pub colours: ColourOperation,
    /// The ranges of addresses that are fetched from: by the index of the vertex buffer, and the index buffer as
    /// [`INDICES`].
    pub fetched: Vec<(u32, Range<u64>)>,
}

/// The index buffer in [`Draw::fetched`].
pub(crate) const INDICES: u32 = u32::MAX;

const HULL: Stages = 1 << 1;

/// An operation of 3DSTATE_WM_HZ_OP.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    /// None, or it has ended.
    None,
    /// There was no PIPE_CONTROL with a post-sync write since.
    Begun,
    /// There was one.
    Synced,
}

/// The state of a batch, and the restrictions that it has not kept.
pub(crate) struct Restrictions {
    generation: Generation,
    pipeline: Option<Pipeline>,
    /// Since the last draw, dispatch or operation; the last draw or operation; the last operation.
    work: Since,
    draw: Since,
    operation: Since,
    ended: Operation,
    has_cleared: bool,
    colours: Option<ColourOperation>,
    /// Whether the last command was a PIPE_CONTROL without bits.
    null: bool,
    /// Whether work has read surface or dynamic state since the state cache was invalidated, and whether its base has changed
    /// since.
    state_is_cached: bool,
    state_is_stale: bool,
    depth_is_unsynced: bool,
    vfe_since_walker: bool,
    curbe_is_stale: bool,
    /// Stages whose constants are not in effect, have to be emitted, were emitted since the last draw.
    uncommitted: Stages,
    reallocated: Stages,
    emitted: Stages,
    /// Whether a stage got a binding table since the last draw.
    has_tables: bool,
    hull_since_draw: bool,
    fetched: BTreeMap<u32, Range<u64>>,
    broken: Vec<Rule>,
}

/// The part of a PIPE_CONTROL that takes effect: on Gen12, flushes and invalidations of the 3D pipeline's caches do not while GPGPU is
/// selected.
///
/// source: Wa_1606932921, and Mesa, genX_cmd_buffer.c, `emit_apply_pipe_flushes`
pub(crate) fn effective(
    generation: Generation,
    selected: Pipeline,
    control: &PipeControl,
) -> PipeControl {
    if generation != Generation::Gen12 || selected != Pipeline::Gpgpu {
        return *control;
    }
    PipeControl {
        render_target_cache_flush_enable: false,
        depth_cache_flush_enable: false,
        depth_stall_enable: false,
        tile_cache_flush_enable: false,
        l3_fabric_flush: false,
        vf_cache_invalidation_enable: false,
        ..*control
    }
}

impl Restrictions {
    pub fn new(generation: Generation) -> Restrictions {
        Restrictions {
            generation,
            pipeline: None,
            work: Since::START,
            draw: Since::START,
            operation: Since::START,
            ended: Operation::None,
            has_cleared: false,
            colours: None,
            null: false,
            state_is_cached: false,
            state_is_stale: false,
            depth_is_unsynced: false,
            vfe_since_walker: true,
            curbe_is_stale: false,
            uncommitted: 0,
            reallocated: 0,
            emitted: 0,
            has_tables: false,
            hull_since_draw: false,
            fetched: BTreeMap::new(),
            broken: Vec::new(),
        }
    }

    /// The restrictions that the last command has not kept.
    pub fn take(&mut self) -> impl Iterator<Item = &'static Restriction> + use<> {
        std::mem::take(&mut self.broken).into_iter().map(|rule| &RESTRICTIONS[rule as usize])
    }

    /// Notes a restriction if the generation has it and it is not kept.
    fn require(&mut self, rule: Rule, kept: bool) {
        if !kept && RESTRICTIONS[rule as usize].generations.contains(&self.generation) {
            self.broken.push(rule);
        }
    }

    /// The part of a PIPE_CONTROL that takes effect in the pipeline that is selected.
    pub fn effective(&self, control: &PipeControl) -> PipeControl {
        self.pipeline.map_or(*control, |selected| effective(self.generation, selected, control))
    }

    /// Begins a command that is not a PIPE_CONTROL.
    pub fn other(&mut self) {
        self.null = false;
    }

    pub fn pipe_control(&mut self, control: &PipeControl) {
        let bits = bits(control);
        let has = |bit| bits & bit != 0;
        let gpgpu = self.pipeline == Some(Pipeline::Gpgpu);
        self.require(Rule::NullBeforeVf, !has(bit::VERTEX) || self.null);
        self.require(Rule::PostSyncWithVf, !has(bit::VERTEX) || has(bit::POST_SYNC));
        self.require(Rule::TextureInGpgpu, !gpgpu || !has(bit::TEXTURE) || has(bit::STALL));
        self.require(Rule::DepthFlushStall, !has(bit::DEPTH) || has(bit::DEPTH_STALL));
        let effective = self::bits(&self.effective(control));
        for since in [&mut self.work, &mut self.draw, &mut self.operation] {
            since.pipe_control(effective);
        }
        self.null = bits == 0;
        if has(bit::STATE) {
            (self.state_is_cached, self.state_is_stale) = (false, false);
        }
        if has(bit::POST_SYNC) {
            self.depth_is_unsynced = false;
            if self.ended == Operation::Begun {
                self.ended = Operation::Synced;
            }
        }
        if effective & bit::VERTEX != 0 && self.work.has_completed(bit::STALL) {
            self.fetched.clear();
        }
    }

    /// Handles PIPELINE_SELECT; `colour_state` tells whether 3DSTATE_CC_STATE_POINTERS has a valid pointer.
    pub fn pipeline_select(&mut self, to: Pipeline, colour_state: bool) {
        let Some(from) = self.pipeline.replace(to) else {
            self.curbe_is_stale |= to == Pipeline::Gpgpu;
            return;
        };
        if from == to {
            return;
        }
        let flushed = self.work.has_completed(bit::DATA | bit::STALL)
            && match (self.generation, from) {
                (Generation::Gen9, _) => {
                    self.draw.has_completed(bit::RENDER | bit::DEPTH)
                        && self.work.fresh & bit::READ_ONLY == bit::READ_ONLY
                }
                (Generation::Gen12, Pipeline::ThreeD) => {
                    self.draw.has_completed(bit::RENDER | bit::DEPTH)
                }
                (Generation::Gen12, _) => true,
            };
        self.require(Rule::PipelineFlush, flushed);
        match to {
            Pipeline::Gpgpu => {
                self.require(Rule::CcStatePointer, !colour_state);
                self.curbe_is_stale = true;
            }
            _ => self.require(Rule::VfeBefore3d, self.vfe_since_walker),
        }
    }

    /// Handles STATE_BASE_ADDRESS that changes a base, and tells whether the base of surface or dynamic state is one of them.
    pub fn base_address(&mut self, of_state: bool) {
        let flushed =
            self.work.has_completed(bit::DATA | bit::STALL) && self.draw.has_completed(bit::RENDER);
        self.require(Rule::BaseFlush, flushed);
        self.require(Rule::BaseIn3d, self.pipeline != Some(Pipeline::Gpgpu));
        self.state_is_stale |= of_state && self.state_is_cached;
    }

    pub fn vfe_state(&mut self) {
        self.require(Rule::VfeStall, self.work.has_completed(bit::STALL));
        self.vfe_since_walker = true;
    }

    pub fn curbe_load(&mut self) {
        self.curbe_is_stale = false;
    }

    /// Handles 3DSTATE_CONSTANT of some stages; `lengths` are what it reads from the four buffers.
    pub fn constants(&mut self, stages: Stages, lengths: [u32; 4]) {
        self.require(Rule::ConstantsSlots, lengths[0] == 0 || lengths[3] != 0);
        match lengths {
            [0, 0, 0, 0] => self.uncommitted &= !stages,
            _ => self.uncommitted |= stages,
        }
        self.emitted |= stages;
        self.reallocated &= !stages;
    }

    pub fn binding_table_pointers(&mut self, stages: Stages) {
        self.uncommitted &= !stages;
        self.has_tables = true;
    }

    pub fn push_constant_alloc(&mut self, stages: Stages) {
        self.reallocated |= stages;
    }

    pub fn hull(&mut self) {
        self.hull_since_draw = true;
    }

    /// Handles a change of the depth, stencil or hierarchical depth buffer.
    pub fn depth_buffers(&mut self) {
        self.depth_is_unsynced = true;
    }

    fn work(&mut self) {
        self.require(Rule::BaseInvalidate, !self.state_is_stale);
        (self.state_is_cached, self.state_is_stale) = (true, false);
        self.work = Since::WORK;
    }

    /// Handles a walker; `constants` tells whether its threads get constants of MEDIA_CURBE_LOAD.
    pub fn walker(&mut self, constants: bool) {
        self.require(Rule::CurbeAgain, !constants || !self.curbe_is_stale);
        self.vfe_since_walker = false;
        self.work();
    }

    /// Handles 3DSTATE_WM_HZ_OP: whether it has an operation, and whether that clears depth, whose blocks are written through.
    pub fn depth_operation(&mut self, any: bool, clears: bool, write_through: bool) {
        if !any {
            let synced = self.ended != Operation::Begun;
            self.require(Rule::OperationEnd, synced);
            self.ended = Operation::None;
            return;
        }
        self.require(Rule::DepthStatePostSync, !self.depth_is_unsynced);
        if clears {
            self.require(Rule::DepthClear, self.draw.has(bit::DEPTH | bit::DEPTH_STALL));
            let tile = self.draw.has_completed(bit::DEPTH | bit::TILE | bit::STALL);
            self.require(Rule::DepthClearWriteThrough, !write_through || tile);
        }
        self.ended = Operation::Begun;
        self.has_cleared = clears;
        self.operation = Since::WORK;
        self.work = Since::WORK;
    }

    pub fn draw(&mut self, draw: Draw) {
        let Draw { active, colours, fetched } = draw;
        self.require(Rule::ConstantsCommit, self.uncommitted & active == 0);
        self.require(Rule::ConstantsAgain, self.reallocated & active == 0);
        let has_new = self.emitted != 0 && self.has_tables;
        self.require(Rule::ConstantsOfAll, !has_new || active & !self.emitted == 0);
        self.require(Rule::HullAgain, active & HULL == 0 || self.hull_since_draw);
        (self.emitted, self.has_tables, self.hull_since_draw) = (0, false, false);
        self.require(Rule::OperationEnd, self.ended == Operation::None);
        self.require(Rule::DepthStatePostSync, !self.depth_is_unsynced);
        if std::mem::take(&mut self.has_cleared) {
            let flushed = self.operation.has(bit::DEPTH | bit::DEPTH_STALL);
            self.require(Rule::DepthClearEnd, flushed);
        }
        if self.colours.is_some_and(|last| last != colours) {
            let flushed = self.has_waited(self.colours, colours);
            self.require(Rule::ColourOperations, flushed);
        }
        self.colours = Some(colours);
        for (buffer, range) in fetched {
            let whole = self.fetched.entry(buffer).or_insert_with(|| range.clone());
            *whole = whole.start.min(range.start)..whole.end.max(range.end);
            let span = whole.end - whole.start;
            if span > 1 << 32 {
                *whole = range;
            }
            self.require(Rule::VertexTags, span <= 1 << 32);
        }
        self.draw = Since::WORK;
        self.work();
    }

    /// Whether the targets are ready for draws of another kind.
    fn has_waited(&self, last: Option<ColourOperation>, next: ColourOperation) -> bool {
        let since = &self.draw;
        match self.generation {
            Generation::Gen9 => since.has_completed(bit::RENDER | bit::STALL),
            Generation::Gen12 if next == ColourOperation::Clear => {
                since.has(bit::RENDER | bit::TILE | bit::DEPTH_STALL | bit::TEXTURE)
            }
            Generation::Gen12 if last == Some(ColourOperation::Clear) => {
                since.has(bit::RENDER | bit::TILE | bit::DEPTH_STALL)
            }
            Generation::Gen12 => since.has_completed(bit::RENDER | bit::STALL),
        }
    }
}
