//! Dependencies between commands: what barriers, events and render passes order.
//!
//! Every command that orders others makes a [`Dependency`], with the stages and accesses of version 2; those of version 1 are
//! widened in [`Scope::source_1`] and [`Scope::destination_1`]. A family's encoder decides what it needs
//! ([`Encoder::barrier`](crate::backend::Encoder::barrier)).

use std::sync::Arc;

use vulkanalia_sys::{self as vk, AccessFlags2 as Access, PipelineStageFlags2 as Stages};

use crate::backend::{Addresses, ImageInfo, ImageRef, Types};

/// Accesses that write.
pub const WRITES: Access = Access::SHADER_WRITE
    .union(Access::SHADER_STORAGE_WRITE)
    .union(Access::COLOR_ATTACHMENT_WRITE)
    .union(Access::DEPTH_STENCIL_ATTACHMENT_WRITE)
    .union(Access::TRANSFER_WRITE)
    .union(Access::HOST_WRITE)
    .union(Access::MEMORY_WRITE)
    .union(Access::TRANSFORM_FEEDBACK_WRITE_EXT)
    .union(Access::TRANSFORM_FEEDBACK_COUNTER_WRITE_EXT);

/// Accesses that write attachments.
pub const ATTACHMENT_WRITES: Access =
    Access::COLOR_ATTACHMENT_WRITE.union(Access::DEPTH_STENCIL_ATTACHMENT_WRITE);

/// Writes of shaders.
const SHADER_WRITES: Access = Access::SHADER_WRITE.union(Access::SHADER_STORAGE_WRITE);

/// Reads of shaders that [`Access::SHADER_READ`] stands for.
const SHADER_READS: Access = Access::SHADER_SAMPLED_READ.union(Access::SHADER_STORAGE_READ);

/// All reads, which [`Access::MEMORY_READ`] stands for.
const READS: Access = SHADER_READS
    .union(Access::SHADER_READ)
    .union(Access::INDIRECT_COMMAND_READ)
    .union(Access::INDEX_READ)
    .union(Access::VERTEX_ATTRIBUTE_READ)
    .union(Access::UNIFORM_READ)
    .union(Access::INPUT_ATTACHMENT_READ)
    .union(Access::COLOR_ATTACHMENT_READ)
    .union(Access::DEPTH_STENCIL_ATTACHMENT_READ)
    .union(Access::TRANSFER_READ)
    .union(Access::HOST_READ)
    .union(Access::MEMORY_READ)
    .union(Access::CONDITIONAL_RENDERING_READ_EXT)
    .union(Access::TRANSFORM_FEEDBACK_COUNTER_READ_EXT);

/// Accesses of attachments, which implicit dependencies of render passes have.
const ATTACHMENTS: Access = ATTACHMENT_WRITES
    .union(Access::COLOR_ATTACHMENT_READ)
    .union(Access::DEPTH_STENCIL_ATTACHMENT_READ)
    .union(Access::INPUT_ATTACHMENT_READ);

/// Stages that run before the rasteriser.
pub const PRE_RASTERISER: Stages = Stages::DRAW_INDIRECT
    .union(Stages::VERTEX_INPUT)
    .union(Stages::INDEX_INPUT)
    .union(Stages::VERTEX_ATTRIBUTE_INPUT)
    .union(Stages::PRE_RASTERIZATION_SHADERS)
    .union(Stages::VERTEX_SHADER)
    .union(Stages::TESSELLATION_CONTROL_SHADER)
    .union(Stages::TESSELLATION_EVALUATION_SHADER)
    .union(Stages::GEOMETRY_SHADER)
    .union(Stages::TRANSFORM_FEEDBACK_EXT);

/// Stages that write attachments.
const ATTACHMENT_STAGES: Stages = Stages::EARLY_FRAGMENT_TESTS
    .union(Stages::LATE_FRAGMENT_TESTS)
    .union(Stages::COLOR_ATTACHMENT_OUTPUT);

/// Stages of draws.
const GRAPHICS: Stages = PRE_RASTERISER
    .union(ATTACHMENT_STAGES)
    .union(Stages::FRAGMENT_SHADER)
    .union(Stages::CONDITIONAL_RENDERING_EXT)
    .union(Stages::ALL_GRAPHICS);

/// Stages of copies, blits, resolves and clears.
pub const TRANSFERS: Stages = Stages::ALL_TRANSFER
    .union(Stages::COPY)
    .union(Stages::BLIT)
    .union(Stages::RESOLVE)
    .union(Stages::CLEAR);

/// All stages of the GPU.
const COMMANDS: Stages =
    GRAPHICS.union(TRANSFERS).union(Stages::COMPUTE_SHADER).union(Stages::ALL_COMMANDS);

/// One side of a dependency: stages and their accesses. Groups of stages and of accesses stand next to all their members, so that
/// a family can test single bits; neither the top nor the bottom of the pipeline is among the stages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// Pipeline stages.
    pub stages: Stages,
    /// Accesses; none for a dependency of execution alone.
    pub accesses: Access,
}

impl Scope {
    /// The first scope of a dependency.
    pub fn source(stages: Stages, accesses: Access) -> Scope {
        // source: Vulkan specification, VkPipelineStageFlagBits2: the bottom of the pipeline is all commands here, and the top none.
        let all = stages.contains(Stages::BOTTOM_OF_PIPE);
        Scope::expanded(stages, accesses, all)
    }

    /// The second scope of a dependency.
    pub fn destination(stages: Stages, accesses: Access) -> Scope {
        let all = stages.contains(Stages::TOP_OF_PIPE);
        Scope::expanded(stages, accesses, all)
    }

    /// The first scope of a dependency of version 1, whose bits are those of version 2.
    pub fn source_1(stages: vk::PipelineStageFlags, accesses: vk::AccessFlags) -> Scope {
        Scope::source(stages_of(stages), accesses_of(accesses))
    }

    /// The second scope of a dependency of version 1.
    pub fn destination_1(stages: vk::PipelineStageFlags, accesses: vk::AccessFlags) -> Scope {
        Scope::destination(stages_of(stages), accesses_of(accesses))
    }

    /// The second scope of the implicit dependency of an attachment's first use in a render pass on commands before.
    /// source: Vulkan specification, "Render Pass Creation", on implicit subpass dependencies
    pub(crate) fn implicit_destination() -> Scope {
        Scope::destination(Stages::ALL_COMMANDS, ATTACHMENTS)
    }

    /// The first scope of the implicit dependency of commands after a render pass on the last use of an attachment.
    pub(crate) fn implicit_source() -> Scope {
        Scope::source(Stages::ALL_COMMANDS, ATTACHMENT_WRITES)
    }

    fn expanded(stages: Stages, accesses: Access, all: bool) -> Scope {
        let mut s = stages.difference(Stages::TOP_OF_PIPE | Stages::BOTTOM_OF_PIPE);
        if all || s.contains(Stages::ALL_COMMANDS) {
            s |= COMMANDS;
        }
        for (group, members) in [
            (Stages::ALL_GRAPHICS, GRAPHICS),
            (Stages::ALL_TRANSFER, TRANSFERS),
            (Stages::VERTEX_INPUT, Stages::INDEX_INPUT | Stages::VERTEX_ATTRIBUTE_INPUT),
            (
                Stages::PRE_RASTERIZATION_SHADERS,
                Stages::VERTEX_SHADER
                    | Stages::TESSELLATION_CONTROL_SHADER
                    | Stages::TESSELLATION_EVALUATION_SHADER
                    | Stages::GEOMETRY_SHADER,
            ),
        ] {
            if s.contains(group) {
                s |= members;
            }
        }
        let mut a = accesses;
        for (group, members) in [
            (Access::MEMORY_READ, READS),
            (Access::MEMORY_WRITE, WRITES),
            (Access::SHADER_READ, SHADER_READS),
            (Access::SHADER_WRITE, Access::SHADER_STORAGE_WRITE),
        ] {
            if a.contains(group) {
                a |= members;
            }
        }
        Scope { stages: s, accesses: a }
    }

    /// Takes over the stages and accesses of another scope.
    pub fn add(&mut self, other: Scope) {
        self.stages |= other.stages;
        self.accesses |= other.accesses;
    }

    /// Whether an access writes.
    pub fn writes(&self) -> bool {
        self.accesses.intersects(WRITES)
    }

    /// Whether there are accesses, and none of them writes.
    pub fn only_reads(&self) -> bool {
        !self.accesses.is_empty() && !self.writes()
    }

    /// Whether shaders of some of the stages write memory.
    pub fn writes_in(&self, stages: Stages) -> bool {
        self.stages.intersects(stages) && self.accesses.intersects(SHADER_WRITES)
    }
}

fn stages_of(stages: vk::PipelineStageFlags) -> Stages {
    Stages::from_bits_truncate(u64::from(stages.bits()))
}

fn accesses_of(accesses: vk::AccessFlags) -> Access {
    Access::from_bits_truncate(u64::from(accesses.bits()))
}

/// A transfer of ownership between queue families, which both of them record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueTransfer {
    /// The family that releases the resource.
    pub from: u32,
    /// The family that acquires it.
    pub to: u32,
}

impl QueueTransfer {
    pub(crate) fn new(from: u32, to: u32) -> Option<QueueTransfer> {
        (from != to).then_some(QueueTransfer { from, to })
    }
}

/// A part of an image in a dependency.
pub struct ImageDependency<B: Types> {
    /// Layout of the image in memory.
    pub image: Arc<B::Image>,
    /// Description of the image.
    pub info: ImageInfo,
    /// GPU addresses of the image's planes.
    pub addresses: Addresses,
    /// Aspects, levels and layers; counts are resolved.
    pub range: vk::ImageSubresourceRange,
    /// Layout of the API before.
    pub old_layout: vk::ImageLayout,
    /// Layout of the API after.
    pub new_layout: vk::ImageLayout,
    /// Own first scope.
    pub source: Scope,
    /// Own second scope.
    pub destination: Scope,
    /// Transfer between queue families.
    pub transfer: Option<QueueTransfer>,
}

/// A part of a buffer in a dependency.
#[derive(Clone, Copy, Debug)]
pub struct BufferDependency {
    /// GPU address.
    pub address: u64,
    /// Bytes.
    pub size: u64,
    /// Own first scope.
    pub source: Scope,
    /// Own second scope.
    pub destination: Scope,
    /// Transfer between queue families.
    pub transfer: Option<QueueTransfer>,
}

/// Position of a dependency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Within {
    /// Outside of renderings.
    CommandBuffer,
    /// Inside of a rendering.
    Rendering {
        /// Shaders read attachments of the rendering as images: the subpass has an attachment as target and as input.
        reads_targets: bool,
    },
}

/// Request of an encoder to the runtime at a dependency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Ordering {
    /// Nothing: commands are ordered.
    Done,
    /// To bring what was drawn to memory and go on with the rendering after that.
    SplitRendering,
}

/// Order of commands before and after, with the memory that it is about.
pub struct Dependency<B: Types> {
    /// First scope: the union of all.
    pub source: Scope,
    /// Second scope: the union of all.
    pub destination: Scope,
    /// Images, with transitions of their layouts.
    pub images: Vec<ImageDependency<B>>,
    /// Buffers.
    pub buffers: Vec<BufferDependency>,
    /// By region, local to views, for feedback loops.
    pub flags: vk::DependencyFlags,
}

impl<B: Types> Default for Dependency<B> {
    fn default() -> Self {
        Dependency {
            source: Scope::default(),
            destination: Scope::default(),
            images: Vec::new(),
            buffers: Vec::new(),
            flags: vk::DependencyFlags::empty(),
        }
    }
}

impl<B: Types> Dependency<B> {
    /// A dependency of memory as a whole.
    pub fn memory(source: Scope, destination: Scope) -> Dependency<B> {
        Dependency { source, destination, ..Dependency::default() }
    }

    /// A dependency of reads and draws on attachments that a rendering wrote.
    pub fn on_attachments() -> Dependency<B> {
        Dependency::memory(
            Scope::source(ATTACHMENT_STAGES, ATTACHMENT_WRITES),
            Scope::destination(
                GRAPHICS | TRANSFERS,
                ATTACHMENTS | SHADER_READS | Access::TRANSFER_READ,
            ),
        )
    }

    /// The dependency that begins with the end of all work of some stages.
    pub fn after(stages: Stages) -> Dependency<B> {
        let destination = Scope::destination(Stages::ALL_COMMANDS, Access::empty());
        Dependency::memory(Scope::source(stages, Access::empty()), destination)
    }

    /// Whether it has scopes, images or buffers.
    pub fn is_empty(&self) -> bool {
        self.source.stages.is_empty()
            && self.destination.stages.is_empty()
            && self.images.is_empty()
            && self.buffers.is_empty()
    }

    /// Adds a dependency of memory as a whole.
    pub fn add_memory(&mut self, source: Scope, destination: Scope) {
        self.source.add(source);
        self.destination.add(destination);
    }

    /// Adds the automatic transition of a render pass's attachment between layouts, if they differ.
    pub(crate) fn add_transition(
        &mut self,
        view: &ImageRef<B>,
        aspect_mask: vk::ImageAspectFlags,
        [old_layout, new_layout]: [vk::ImageLayout; 2],
    ) {
        if old_layout == new_layout {
            return;
        }
        self.images.push(ImageDependency {
            image: view.image.clone(),
            info: view.info,
            addresses: view.addresses,
            range: vk::ImageSubresourceRange {
                aspect_mask,
                base_mip_level: view.level,
                level_count: 1,
                base_array_layer: view.layer,
                layer_count: view.layers,
            },
            old_layout,
            new_layout,
            source: self.source,
            destination: self.destination,
            transfer: None,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_have_their_members() {
        let all = Scope::source(Stages::ALL_COMMANDS, Access::MEMORY_WRITE);
        assert!(all.stages.contains(Stages::COMPUTE_SHADER | Stages::BLIT | Stages::INDEX_INPUT));
        assert!(all.accesses.contains(Access::TRANSFER_WRITE | Access::SHADER_STORAGE_WRITE));
        assert!(all.writes() && !all.accesses.contains(Access::TRANSFER_READ));
        let reads = Scope::destination(Stages::VERTEX_INPUT, Access::MEMORY_READ);
        assert!(reads.only_reads() && reads.accesses.contains(Access::INDEX_READ));
        assert_eq!(
            reads.stages,
            Stages::VERTEX_INPUT | Stages::INDEX_INPUT | Stages::VERTEX_ATTRIBUTE_INPUT
        );
        assert!(!Scope::source(Stages::COPY, Access::empty()).only_reads());
    }

    /// source: Vulkan specification, VkPipelineStageFlagBits2, on the top and the bottom of the pipeline.
    #[test]
    fn ends_of_the_pipeline_are_nothing_or_everything() {
        let (top, bottom) =
            (vk::PipelineStageFlags::TOP_OF_PIPE, vk::PipelineStageFlags::BOTTOM_OF_PIPE);
        let none = vk::AccessFlags::empty();
        assert_eq!(Scope::source_1(top, none).stages, Stages::empty());
        assert_eq!(Scope::source_1(bottom, none).stages, COMMANDS);
        assert_eq!(Scope::destination_1(top, none).stages, COMMANDS);
        assert_eq!(Scope::destination_1(bottom, none).stages, Stages::empty());
    }

    #[test]
    fn version_1_is_version_2() {
        let one = Scope::source_1(
            vk::PipelineStageFlags::COMPUTE_SHADER | vk::PipelineStageFlags::TRANSFER,
            vk::AccessFlags::SHADER_WRITE | vk::AccessFlags::TRANSFER_WRITE,
        );
        let two = Scope::source(
            Stages::COMPUTE_SHADER | Stages::ALL_TRANSFER,
            Access::SHADER_WRITE | Access::TRANSFER_WRITE,
        );
        assert_eq!(one, two);
        assert!(one.writes_in(Stages::COMPUTE_SHADER) && !one.writes_in(PRE_RASTERISER));
    }
}
