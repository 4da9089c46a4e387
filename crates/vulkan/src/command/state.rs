//! State of a command buffer: what is bound, and the graphics state that commands set.

use std::sync::Arc;

use vulkanalia_sys as vk;

use crate::backend::{Between, Condition, HostBytes, PerSetMemory, Rendering, Types};
use crate::feedback::Feedback;
use crate::pipeline::GraphicsPipeline;
use crate::state::{GraphicsState, Groups, MAX_VERTEX};

/// Maximum number of bound descriptor sets.
pub const MAX_SETS: usize = 8;
/// Maximum number of bound descriptor buffers.
pub const MAX_DESCRIPTOR_BUFFERS: usize = 32;
/// Bytes of push constants.
pub const MAX_PUSH: usize = 256;

/// A set that is bound.
#[derive(Clone, Default)]
pub struct BoundSet {
    /// GPU addresses of the set; 0 for none, for memory of the host, and for a set that is pushed.
    pub addresses: PerSetMemory<u64>,
    /// Bytes of the set.
    pub sizes: PerSetMemory<u32>,
    /// The set's memory as the host sees it; it may be written until the command buffer is submitted.
    pub host: PerSetMemory<HostBytes>,
    /// Address and size of each buffer with a dynamic offset, the offset added, and of each inline block in a descriptor buffer.
    pub dynamic: Vec<(u64, u32)>,
    /// Bytes of a set that is pushed, by kind of memory.
    pub pushed: PerSetMemory<Vec<u8>>,
}

/// Bindings of one kind of pipeline.
#[derive(Clone, Default)]
pub struct BindPoint {
    /// Sets by number.
    pub sets: [BoundSet; MAX_SETS],
    /// Bit mask of the sets that changed since the driver last used them.
    pub changed: u32,
}

/// A vertex buffer that is bound.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct VertexBuffer {
    /// GPU address of the first element; 0 for none.
    pub address: u64,
    /// Bytes.
    pub size: u64,
}

/// The index buffer that is bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexBuffer {
    /// GPU address of the first index.
    pub address: u64,
    /// Bytes.
    pub size: u64,
    /// Bytes of an index.
    pub index_bytes: u32,
    /// The buffer is sparse: parts of it may have no memory.
    pub is_sparse: bool,
}

/// The bound graphics pipeline or shader objects.
pub struct Bound<B: Types> {
    /// The pipeline's number; 0 for shader objects, and before anything is bound.
    id: u64,
    /// Vertex shader.
    pub vertex: Option<Arc<B::Shader>>,
    /// Shaders between vertices and the rasteriser.
    pub between: Between<B>,
    /// Fragment shader.
    pub fragment: Option<Arc<B::Shader>>,
    state: Arc<GraphicsState>,
    fixed: Groups,
}

impl<B: Types> Default for Bound<B> {
    fn default() -> Self {
        Bound {
            id: 0,
            vertex: None,
            between: Between::default(),
            fragment: None,
            state: Arc::default(),
            fixed: Groups::empty(),
        }
    }
}

impl<B: Types> Clone for Bound<B> {
    fn clone(&self) -> Self {
        let Bound { id, vertex, between, fragment, state, fixed } = self;
        Bound {
            id: *id,
            vertex: vertex.clone(),
            between: between.clone(),
            fragment: fragment.clone(),
            state: state.clone(),
            fixed: *fixed,
        }
    }
}

impl<B: Types> Bound<B> {
    /// Number of the pipeline; `None` for shader objects, and before anything is bound.
    pub fn id(&self) -> Option<u64> {
        (self.id != 0).then_some(self.id)
    }

    fn of(p: &GraphicsPipeline<B>) -> Bound<B> {
        Bound {
            id: p.id,
            vertex: p.vertex.clone(),
            between: p.between.clone(),
            fragment: p.fragment.clone(),
            state: p.state.clone(),
            fixed: p.fixed,
        }
    }
}

/// Maximum number of earlier pipelines that a command buffer keeps references to.
const MOST_HELD: usize = 16;

/// State of a command buffer.
pub struct CommandState<B: Types> {
    /// Graphics state.
    pub graphics: GraphicsState,
    /// Groups of it that changed since the driver last looked.
    pub changed: Groups,
    /// The graphics pipeline that is bound, or shader objects.
    pub bound: Bound<B>,
    /// `graphics` has the state that the pipeline fixes, and nothing else set it since.
    is_applied: bool,
    /// Earlier bound pipelines as a ring, `next_held` is replaced next. The references are kept because
    /// reference counts are shared by all threads: releasing one on every bind would bounce its cache
    /// line between cores.
    held: Vec<Bound<B>>,
    next_held: usize,
    /// Whether shaders are shader objects: state that a pipeline fixes per rendering then follows from
    /// the rendering.
    pub shader_objects: bool,
    /// A pipeline was bound since the driver last looked.
    pub shaders_changed: bool,
    /// Compute shader.
    pub compute: Option<Arc<B::Shader>>,
    /// Sets of graphics pipelines.
    pub graphics_sets: BindPoint,
    /// Sets of compute pipelines.
    pub compute_sets: BindPoint,
    /// GPU addresses of the descriptor buffers that are bound.
    pub(crate) descriptor_buffers: [u64; MAX_DESCRIPTOR_BUFFERS],
    /// Push constants.
    pub push: [u8; MAX_PUSH],
    /// Push constants changed since the driver last looked at graphics.
    pub push_changed: bool,
    /// Vertex buffers.
    pub vertex_buffers: [VertexBuffer; MAX_VERTEX],
    /// Vertex buffers changed since the driver last looked.
    pub vertex_buffers_changed: bool,
    /// Index buffer.
    pub index: Option<IndexBuffer>,
    /// The rendering that draws go to.
    pub rendering: Option<Rendering<B>>,
    /// Transform feedback.
    pub feedback: Feedback,
    /// Condition of draws, dispatches and clears inside of a rendering.
    pub condition: Option<Condition>,
}

impl<B: Types> Default for CommandState<B> {
    fn default() -> Self {
        CommandState {
            graphics: GraphicsState::default(),
            changed: Groups::all(),
            bound: Bound::default(),
            is_applied: false,
            held: Vec::new(),
            next_held: 0,
            shader_objects: false,
            shaders_changed: true,
            compute: None,
            graphics_sets: BindPoint::default(),
            compute_sets: BindPoint::default(),
            descriptor_buffers: [0; MAX_DESCRIPTOR_BUFFERS],
            push: [0; MAX_PUSH],
            push_changed: true,
            vertex_buffers: [VertexBuffer::default(); MAX_VERTEX],
            vertex_buffers_changed: true,
            index: None,
            rendering: None,
            feedback: Feedback::default(),
            condition: None,
        }
    }
}

impl<B: Types> CommandState<B> {
    /// The state of commands of the driver's own.
    pub fn of(graphics: GraphicsState) -> Self {
        CommandState { graphics, ..CommandState::default() }
    }

    /// A copy without the rendering, for a driver that has seen nothing of it.
    pub(crate) fn snapshot(&self) -> Self {
        let mut copy = CommandState {
            graphics: self.graphics.clone(),
            bound: self.bound.clone(),
            is_applied: self.is_applied,
            shader_objects: self.shader_objects,
            compute: self.compute.clone(),
            graphics_sets: self.graphics_sets.clone(),
            compute_sets: self.compute_sets.clone(),
            descriptor_buffers: self.descriptor_buffers,
            push: self.push,
            vertex_buffers: self.vertex_buffers,
            index: self.index,
            feedback: self.feedback,
            condition: self.condition,
            ..CommandState::default()
        };
        copy.invalidate();
        copy
    }

    /// Binds a graphics pipeline: its shaders, and what it fixes.
    pub fn bind_pipeline(&mut self, p: &GraphicsPipeline<B>) {
        self.shader_objects = false;
        if self.bound.id != p.id {
            let state = Arc::as_ptr(&self.bound.state);
            let fixed = self.bound.fixed;
            match self.held.iter().position(|b| b.id == p.id) {
                Some(k) => std::mem::swap(&mut self.bound, &mut self.held[k]),
                None => {
                    let before = std::mem::replace(&mut self.bound, Bound::of(p));
                    self.hold(before);
                }
            }
            // Pipelines with the same state share it, and what was bound before is still held.
            self.is_applied &=
                std::ptr::eq(state, Arc::as_ptr(&self.bound.state)) && fixed == self.bound.fixed;
            self.shaders_changed = true;
        }
        if !self.is_applied {
            self.changed |= self.graphics.update(&self.bound.state, self.bound.fixed);
            self.is_applied = true;
        }
    }

    /// Keeps a pipeline that was bound.
    fn hold(&mut self, before: Bound<B>) {
        if before.id == 0 {
            return;
        }
        if self.held.len() < MOST_HELD {
            self.held.push(before);
        } else {
            self.held[self.next_held] = before;
            self.next_held = (self.next_held + 1) % MOST_HELD;
        }
    }

    /// Something else than the pipeline set groups of the state.
    pub fn state_set(&mut self, groups: Groups) {
        self.is_applied &= !self.bound.fixed.intersects(groups);
    }

    /// Shader objects take the place of a pipeline's shaders.
    pub fn leave_pipeline(&mut self) {
        self.bound.id = 0;
        self.is_applied = false;
    }

    /// Whether nothing that draws depend on has changed since the driver last looked, besides the index buffer and the condition.
    #[inline]
    pub fn is_settled(&self) -> bool {
        let flags = self.shaders_changed | self.push_changed | self.vertex_buffers_changed;
        !flags && self.changed.is_empty() && self.graphics_sets.changed == 0
    }

    /// Makes the driver look at everything again.
    pub fn invalidate(&mut self) {
        self.changed = Groups::all();
        self.shaders_changed = true;
        self.push_changed = true;
        self.vertex_buffers_changed = true;
        self.graphics_sets.changed = u32::MAX;
        self.compute_sets.changed = u32::MAX;
    }

    /// Takes over what pipelines say of the rendering, where there is none.
    #[inline]
    pub fn follow_rendering(&mut self) {
        if let (true, Some(r)) = (self.shader_objects, &self.rendering)
            && self.graphics.view_mask != r.view_mask
        {
            self.graphics.view_mask = r.view_mask;
            self.changed |= Groups::FIXED;
        }
    }

    /// The sets of a bind point.
    pub fn sets(&mut self, point: vk::PipelineBindPoint) -> &mut BindPoint {
        if point == vk::PipelineBindPoint::COMPUTE {
            &mut self.compute_sets
        } else {
            &mut self.graphics_sets
        }
    }

    /// Binds a set: its memory, and address and size of each buffer with a dynamic offset, the offset added.
    pub(crate) fn bind_set(
        &mut self,
        point: vk::PipelineBindPoint,
        n: usize,
        addresses: PerSetMemory<u64>,
        host: PerSetMemory<HostBytes>,
        dynamic: impl Iterator<Item = (u64, u32)>,
    ) {
        let bind = self.sets(point);
        let Some(bound) = bind.sets.get_mut(n) else { return };
        (bound.addresses, bound.host) = (addresses, host);
        bound.sizes = host.map(HostBytes::size);
        bound.dynamic.clear();
        bound.dynamic.extend(dynamic);
        bound.pushed.iter_mut().for_each(Vec::clear);
        bind.changed |= 1 << n;
    }

    /// Binds a set of a descriptor buffer: its address in the first kind of memory, its bytes, and its inline blocks.
    pub(crate) fn bind_buffer_set(
        &mut self,
        point: vk::PipelineBindPoint,
        n: usize,
        address: u64,
        sizes: PerSetMemory<u32>,
        blocks: impl Iterator<Item = (u64, u32)>,
    ) {
        let mut addresses = PerSetMemory::default();
        addresses[0] = address;
        self.bind_set(point, n, addresses, PerSetMemory::default(), blocks);
        if let Some(bound) = self.sets(point).sets.get_mut(n) {
            bound.sizes = sizes;
        }
    }

    /// Whether nothing of a draw is rasterised, since the stream that is selected is none of its own: stages other than geometry
    /// shaders write the first one alone.
    #[inline]
    pub(crate) fn rasterises_no_stream(&self) -> bool {
        let s = &self.graphics;
        s.rasterization_stream != 0 && !s.discard && self.bound.between.geometry.is_none()
    }

    /// Sets whether primitives are discarded.
    pub(crate) fn set_discard(&mut self, discard: bool) {
        self.graphics.discard = discard;
        self.changed |= Groups::DISCARD;
    }

    /// The bytes of a pushed set of a size, to write to.
    pub fn pushed(
        &mut self,
        point: vk::PipelineBindPoint,
        set: u32,
        sizes: PerSetMemory<u32>,
    ) -> Option<&mut PerSetMemory<Vec<u8>>> {
        let bind = self.sets(point);
        bind.changed |= 1u32.checked_shl(set).unwrap_or(0);
        let set = bind.sets.get_mut(set as usize)?;
        (set.addresses, set.host) = Default::default();
        set.sizes = sizes;
        for (bytes, size) in set.pushed.iter_mut().zip(sizes) {
            bytes.resize(size as usize, 0);
        }
        Some(&mut set.pushed)
    }
}
