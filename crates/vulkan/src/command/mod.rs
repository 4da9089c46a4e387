//! Command pools and buffers, and the state that commands change.
//!
//! A command is a closure on the command buffer. A primary command buffer runs it immediately; a
//! secondary one keeps it, and `vkCmdExecuteCommands` runs the kept commands on the primary. So a
//! secondary costs as much as recording its commands again, and inherits state as the specification
//! requires without a second way to encode anything. A primary one also keeps the commands after a draw
//! whose counts the CPU has to read ([`crate::draws`]).

use std::sync::Arc;

use vulkanalia_sys::{self as vk, Handle};

use crate::backend::{Attachment, Backend, Condition, Draw, Encoder, PerSetMemory, Rendering};
use crate::debug::{self, Flags};
use crate::dependency::{Dependency, Ordering, Within};
use crate::descriptor::{HostBytes, Set, SetLayout};
use crate::device::Device;
use crate::draws::{Command, Deferred, DrawMode};
use crate::entry;
use crate::error::{Error, Result};
use crate::feedback::Feedback;
use crate::object::{
    Allocator, Dispatchable, dispatch_mut, dispatchable, get, get_mut, handle, slice,
};
use crate::pipeline::GraphicsPipeline;
use crate::render_pass::RenderPass;
use crate::state::{GraphicsState, Groups, MAX_VERTEX};
use crate::table::Table;

/// Maximum number of bound descriptor sets.
pub const MAX_SETS: usize = 8;
/// Bytes of push constants.
pub const MAX_PUSH: usize = 256;

/// A set that is bound.
#[derive(Clone, Default)]
pub struct BoundSet {
    /// GPU addresses of the set; 0 for none, for memory of the host, and for a set that is pushed.
    pub addresses: PerSetMemory<u64>,
    /// The set's memory as the host sees it; it may be written until the command buffer is submitted.
    pub host: PerSetMemory<HostBytes>,
    /// Address and size of each buffer with a dynamic offset, the offset added.
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

/// The shaders between vertices and the rasteriser.
pub struct Between<B: Backend> {
    /// Tessellation control shader.
    pub control: Option<Arc<B::Shader>>,
    /// Tessellation evaluation shader.
    pub evaluation: Option<Arc<B::Shader>>,
    /// Geometry shader.
    pub geometry: Option<Arc<B::Shader>>,
}

impl<B: Backend> Default for Between<B> {
    fn default() -> Self {
        Between { control: None, evaluation: None, geometry: None }
    }
}

impl<B: Backend> Clone for Between<B> {
    fn clone(&self) -> Self {
        let Between { control, evaluation, geometry } = self;
        Between {
            control: control.clone(),
            evaluation: evaluation.clone(),
            geometry: geometry.clone(),
        }
    }
}

impl<B: Backend> Between<B> {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    /// The existing shaders, in the order of the pipeline.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<B::Shader>> {
        [&self.control, &self.evaluation, &self.geometry].into_iter().flatten()
    }

    /// The slot of a stage's shader, if the stage is one of them.
    pub fn of(&mut self, stage: vk::ShaderStageFlags) -> Option<&mut Option<Arc<B::Shader>>> {
        Some(match stage {
            vk::ShaderStageFlags::TESSELLATION_CONTROL => &mut self.control,
            vk::ShaderStageFlags::TESSELLATION_EVALUATION => &mut self.evaluation,
            vk::ShaderStageFlags::GEOMETRY => &mut self.geometry,
            _ => return None,
        })
    }
}

/// The bound graphics pipeline or shader objects.
pub struct Bound<B: Backend> {
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

impl<B: Backend> Default for Bound<B> {
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

impl<B: Backend> Clone for Bound<B> {
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

impl<B: Backend> Bound<B> {
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
pub struct CommandState<B: Backend> {
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

impl<B: Backend> Default for CommandState<B> {
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

impl<B: Backend> CommandState<B> {
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

    /// Binds sets from a number on.
    ///
    /// # Safety
    /// The handles are live.
    pub unsafe fn bind_sets(
        &mut self,
        point: vk::PipelineBindPoint,
        first: u32,
        sets: &[vk::DescriptorSet],
        offsets: &[u32],
    ) {
        let bind = self.sets(point);
        let mut offsets = offsets.iter();
        for (k, &s) in sets.iter().enumerate() {
            let n = first as usize + k;
            if n >= MAX_SETS {
                return;
            }
            // SAFETY: as the caller says.
            let Some(set) = (unsafe { crate::object::maybe::<Set<B>>(s) }) else { continue };
            let mut dynamic = set.dynamic().to_vec();
            for d in &mut dynamic {
                let offset = offsets.next().copied().unwrap_or(0);
                if d.1 > 0 {
                    d.0 += u64::from(offset);
                }
            }
            bind.sets[n] = BoundSet {
                addresses: set.addresses(),
                host: set.host(),
                dynamic,
                pushed: PerSetMemory::default(),
            };
            bind.changed |= 1 << n;
        }
    }

    /// Whether nothing of a draw is rasterised, since the stream that is selected is none of its own: stages other than geometry
    /// shaders write the first one alone.
    fn rasterises_no_stream(&self) -> bool {
        let s = &self.graphics;
        s.rasterization_stream != 0 && !s.discard && self.bound.between.geometry.is_none()
    }

    /// Sets whether primitives are discarded.
    fn set_discard(&mut self, discard: bool) {
        self.graphics.discard = discard;
        self.changed |= Groups::DISCARD;
    }

    /// The bytes of a pushed set, to write to.
    pub fn pushed(
        &mut self,
        point: vk::PipelineBindPoint,
        set: u32,
        layout: &SetLayout<B>,
    ) -> Option<&mut PerSetMemory<Vec<u8>>> {
        let bind = self.sets(point);
        bind.changed |= 1u32.checked_shl(set).unwrap_or(0);
        let set = bind.sets.get_mut(set as usize)?;
        (set.addresses, set.host) = Default::default();
        for (bytes, size) in set.pushed.iter_mut().zip(layout.size) {
            bytes.resize(size as usize, 0);
        }
        Some(&mut set.pushed)
    }
}

/// The render pass that a command buffer is in.
#[derive(Clone)]
pub struct PassState {
    /// The render pass.
    pub pass: vk::RenderPass,
    /// Image views of the framebuffer.
    pub views: Vec<vk::ImageView>,
    /// Clear values.
    pub clears: Vec<vk::ClearValue>,
    /// Render area.
    pub area: vk::Rect2D,
    /// Layers of the framebuffer.
    pub layers: u32,
    /// The current subpass.
    pub subpass: u32,
}

/// Prints the name of a command, if the environment asks for it.
#[inline]
fn announce(name: &str) {
    if debug::flags().contains(Flags::COMMANDS) {
        eprintln!("tepui: {name}");
    }
}

/// A command buffer.
#[repr(C)]
pub struct CommandBuffer<B: Backend> {
    /// Commands of the family; first, as [`crate::dispatch`] expects.
    commands: &'static Table,
    /// Encoder of the GPU's commands.
    pub encoder: B::Encoder,
    /// State.
    pub state: CommandState<B>,
    /// The render pass.
    pub pass: Option<PassState>,
    /// The device.
    pub device: Arc<B::Device>,
    /// Commands of a secondary command buffer.
    pub(crate) deferred: Vec<Deferred<B>>,
    is_secondary: bool,
    /// Commands are kept, not encoded.
    pub(crate) defers: bool,
    /// State of the family's draw mode.
    pub(crate) draws: <B::Draws as DrawMode<B>>::State,
    error: Option<Error>,
}

// SAFETY: clear values and handles are plain data.
unsafe impl<B: Backend> Send for CommandBuffer<B> {}

impl<B: Backend> CommandBuffer<B> {
    fn reset(&mut self) {
        self.encoder.reset();
        self.state = CommandState::default();
        self.pass = None;
        self.deferred.clear();
        self.draws = Default::default();
        self.defers = self.is_secondary;
        self.error = None;
    }

    /// An empty command buffer.
    fn new(device: &Device<B>, queue_family: u32, is_secondary: bool) -> Result<Self> {
        let (commands, device) = (device.commands, &device.inner);
        Ok(CommandBuffer {
            commands,
            encoder: B::encoder(device, queue_family)?,
            state: CommandState::default(),
            pass: None,
            device: device.clone(),
            deferred: Vec::new(),
            is_secondary,
            defers: is_secondary,
            draws: Default::default(),
            error: None,
        })
    }

    /// The command buffer with which a submission continues after this one's encoded commands, with an encoder for it.
    pub(crate) fn continuation(
        &self,
        encoder: B::Encoder,
        state: CommandState<B>,
        pass: Option<PassState>,
    ) -> CommandBuffer<B> {
        CommandBuffer {
            commands: self.commands,
            encoder,
            state,
            pass,
            device: self.device.clone(),
            deferred: Vec::new(),
            is_secondary: false,
            defers: false,
            draws: Default::default(),
            error: None,
        }
    }

    /// Keeps a command for later.
    pub(crate) fn defer(&mut self, command: Deferred<B>) {
        match B::Draws::rest(&mut self.draws) {
            Some(rest) => rest.push(command),
            None => self.deferred.push(command),
        }
    }

    /// Runs a command, or keeps it.
    pub fn record(
        &mut self,
        name: &'static str,
        command: impl Fn(&mut CommandBuffer<B>) -> Result<()> + Send + 'static,
    ) {
        self.record_as(name, command, Deferred::Other);
    }

    /// Runs the end of a rendering, or keeps it.
    pub fn record_end(
        &mut self,
        name: &'static str,
        command: impl Fn(&mut CommandBuffer<B>) -> Result<()> + Send + 'static,
    ) {
        self.record_as(name, command, Deferred::EndRendering);
    }

    #[inline]
    fn record_as<F: Fn(&mut CommandBuffer<B>) -> Result<()> + Send + 'static>(
        &mut self,
        name: &'static str,
        command: F,
        kind: impl FnOnce(Command<B>) -> Deferred<B>,
    ) {
        announce(name);
        if self.defers {
            self.defer(kind(Box::new(command)));
        } else if let Err(e) = command(self) {
            self.failed(name, e);
        }
    }

    /// Draws, or keeps the draw.
    pub fn record_draw(&mut self, name: &'static str, draw: Draw) {
        announce(name);
        if self.defers {
            self.defer(Deferred::Draw(draw));
        } else if let Err(e) = self.draw(&draw) {
            self.failed(name, e);
        }
    }

    /// A command failed: `vkEndCommandBuffer` says so.
    #[cold]
    fn failed(&mut self, name: &str, e: Error) {
        if debug::flags().contains(Flags::ERRORS) {
            eprintln!("tepui: {name}: {e}");
        }
        self.error.get_or_insert(e);
    }

    /// Runs the commands of a secondary command buffer.
    ///
    /// # Safety
    /// It lives until this one is reset.
    pub unsafe fn execute(&mut self, secondary: vk::CommandBuffer) -> Result<()> {
        self.state.invalidate();
        // SAFETY: as the caller says.
        unsafe { self.execute_from(secondary, 0) }
    }

    /// Runs the commands of a secondary command buffer from a number on.
    ///
    /// # Safety
    /// It lives until this one is reset.
    unsafe fn execute_from(&mut self, secondary: vk::CommandBuffer, first: usize) -> Result<()> {
        let mut next = Some(first);
        if !B::Draws::has_rest(&self.draws) {
            // SAFETY: as the caller says.
            next = B::Draws::run(self, unsafe { &of::<B>(secondary).deferred }, first)?;
        }
        match next {
            None => self.state.invalidate(),
            // SAFETY: as the caller says.
            Some(next) => self.defer(Deferred::Other(Box::new(move |c| unsafe {
                c.state.invalidate();
                c.execute_from(secondary, next)
            }))),
        }
        Ok(())
    }

    /// Begins the rendering in the state.
    pub fn begin_rendering(&mut self, rendering: Rendering<B>) -> Result<()> {
        self.encoder.begin_rendering(&rendering)?;
        self.state.rendering = Some(rendering);
        self.state.invalidate();
        Ok(())
    }

    /// Whether the subpass of a render pass has an input attachment that it renders to. Such attachments are read as images.
    pub fn reads_own_targets(&self) -> bool {
        self.pass.as_ref().is_some_and(|p| {
            // SAFETY: the render pass lives while command buffers use it.
            unsafe { get::<RenderPass>(p.pass) }.reads_own_targets(p.subpass)
        })
    }

    /// Draws.
    #[inline]
    pub fn draw(&mut self, draw: &Draw) -> Result<()> {
        if self.state.rendering.is_none() {
            return B::Draws::draw_outside(self, draw);
        }
        self.state.follow_rendering();
        B::Draws::draw(self, draw)
    }

    /// Draws with primitives discarded if the stream that is rasterised is none of the draw's own.
    #[inline]
    pub(crate) fn with_rasterisation<T>(&mut self, draw: impl FnOnce(&mut Self) -> T) -> T {
        let discards = self.state.rasterises_no_stream();
        if discards {
            self.state.set_discard(true);
        }
        let drawn = draw(self);
        if discards {
            self.state.set_discard(false);
        }
        drawn
    }

    /// Brings what was drawn to memory and goes on with the rendering, so that draws can read its attachments as images.
    pub fn split_rendering(&mut self) -> Result<()> {
        match self.store_rendering()? {
            Some(rendering) => self.begin_rendering(rendering),
            None => Ok(()),
        }
    }

    /// Brings what was drawn to memory; gives the rendering that goes on with it.
    pub(crate) fn store_rendering(&mut self) -> Result<Option<Rendering<B>>> {
        let Some(rendering) = self.state.rendering.take() else { return Ok(None) };
        let with = |change: &dyn Fn(&mut Attachment<B>)| {
            let mut r = rendering.clone();
            let all = r.colours.iter_mut().flatten().chain(&mut r.depth).chain(&mut r.stencil);
            all.for_each(change);
            r
        };
        let stored = with(&|a| (a.store, a.resolve) = (vk::AttachmentStoreOp::STORE, None));
        self.encoder.end_rendering(&stored)?;
        self.order(&Dependency::on_attachments())?;
        Ok(Some(with(&|a| a.load = vk::AttachmentLoadOp::LOAD)))
    }

    /// Orders commands outside of renderings.
    pub(crate) fn order(&mut self, dependency: &Dependency<B>) -> Result<()> {
        // There is no rendering to split.
        self.encoder.barrier(dependency, Within::CommandBuffer).map(|_| ())
    }

    /// Orders commands before and after.
    pub fn barrier(&mut self, dependency: &Dependency<B>) -> Result<()> {
        if self.state.rendering.is_none() {
            return self.order(dependency);
        }
        let within = Within::Rendering { reads_targets: self.reads_own_targets() };
        match self.encoder.barrier(dependency, within)? {
            Ordering::Done => Ok(()),
            Ordering::SplitRendering => {
                let Some(rendering) = self.store_rendering()? else { return Ok(()) };
                self.order(dependency)?;
                self.begin_rendering(rendering)
            }
        }
    }

    /// Ends the rendering and resolves what it says.
    pub fn end_rendering(&mut self) -> Result<()> {
        let Some(rendering) = self.state.rendering.take() else { return Ok(()) };
        let resolved = self.encoder.end_rendering(&rendering)?;
        let left = rendering.colours.iter().enumerate().filter(|(k, _)| resolved >> k & 1 == 0);
        let left = left.filter_map(|(_, a)| a.as_ref());
        let all = left.chain(&rendering.depth).chain(&rendering.stencil);
        let resolves = all.filter_map(|a| a.resolve.as_ref().map(|r| (a, r)));
        for (k, (a, (to, mode))) in resolves.enumerate() {
            if k == 0 {
                self.order(&Dependency::on_attachments())?;
            }
            let aspect = match a {
                a if rendering.depth.as_ref().is_some_and(|d| std::ptr::eq(d, a)) => {
                    vk::ImageAspectFlags::DEPTH
                }
                a if rendering.stencil.as_ref().is_some_and(|s| std::ptr::eq(s, a)) => {
                    vk::ImageAspectFlags::STENCIL
                }
                _ => vk::ImageAspectFlags::COLOR,
            };
            let layers = rendering.layers.min(a.image.layers).min(to.layers);
            let part = |layer: u32, mip_level: u32| vk::ImageSubresourceLayers {
                aspect_mask: aspect,
                mip_level,
                base_array_layer: layer,
                layer_count: layers,
            };
            let o = rendering.area.offset;
            let offset = vk::Offset3D { x: o.x, y: o.y, z: 0 };
            let region = vk::ImageResolve2 {
                src_subresource: part(a.image.layer, a.image.level),
                dst_subresource: part(to.layer, to.level),
                src_offset: offset,
                dst_offset: offset,
                extent: vk::Extent3D {
                    width: rendering.area.extent.width,
                    height: rendering.area.extent.height,
                    depth: 1,
                },
                ..Default::default()
            };
            self.encoder.resolve(&a.image, to, &region, *mode)?;
        }
        self.state.invalidate();
        Ok(())
    }
}

/// A command pool.
pub struct CommandPool<B: Backend> {
    allocator: Allocator,
    queue_family: u32,
    buffers: Vec<*mut Dispatchable<CommandBuffer<B>>>,
}

// SAFETY: the buffers are the pool's own; the application synchronises access to it.
unsafe impl<B: Backend> Send for CommandPool<B> {}
// SAFETY: as above.
unsafe impl<B: Backend> Sync for CommandPool<B> {}

impl<B: Backend> Drop for CommandPool<B> {
    fn drop(&mut self) {
        for b in self.buffers.drain(..) {
            // SAFETY: the buffer was created by this allocator.
            unsafe { self.allocator.destroy(b) };
        }
    }
}

/// The command buffer of a handle.
///
/// # Safety
/// The handle is live and synchronised by the application.
pub unsafe fn of<'a, B: Backend>(buffer: vk::CommandBuffer) -> &'a mut CommandBuffer<B> {
    // SAFETY: as the caller says.
    unsafe { dispatch_mut(buffer) }
}

entry! {
    /// `vkCreateCommandPool`.
    fn vkCreateCommandPool<B: Backend>(device: vk::Device, info: *const vk::CommandPoolCreateInfo, callbacks: *const vk::AllocationCallbacks, out: *mut vk::CommandPool) -> vk::Result {
        unsafe {
            let d = Device::<B>::of(device);
            let allocator = d.allocator(callbacks);
            let queue_family = (*info).queue_family_index;
            *out = handle(allocator.create(CommandPool::<B> { allocator, queue_family, buffers: Vec::new() })?);
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkDestroyCommandPool`.
    fn vkDestroyCommandPool<B: Backend>(device: vk::Device, pool: vk::CommandPool, callbacks: *const vk::AllocationCallbacks) {
        unsafe { Device::<B>::of(device).allocator(callbacks).destroy(pool.as_raw() as *mut CommandPool<B>) }
    }

    /// `vkResetCommandPool`.
    fn vkResetCommandPool<B: Backend>(_device: vk::Device, pool: vk::CommandPool, _flags: vk::CommandPoolResetFlags) -> vk::Result {
        unsafe {
            for &b in &get_mut::<CommandPool<B>>(pool).buffers {
                (*b).reset();
            }
        }
        Ok(vk::Result::SUCCESS)
    }

    /// `vkTrimCommandPool`.
    fn vkTrimCommandPool<B: Backend>(_device: vk::Device, _pool: vk::CommandPool, _flags: vk::CommandPoolTrimFlags) {}

    /// `vkAllocateCommandBuffers`.
    fn vkAllocateCommandBuffers<B: Backend>(device: vk::Device, info: *const vk::CommandBufferAllocateInfo, out: *mut vk::CommandBuffer) -> vk::Result {
        unsafe {
            let (d, info) = (Device::<B>::of(device), &*info);
            let pool: &mut CommandPool<B> = get_mut(info.command_pool);
            let count = info.command_buffer_count as usize;
            for k in 0..count {
                let make = || {
                    let is_secondary = info.level == vk::CommandBufferLevel::SECONDARY;
                    let buffer = CommandBuffer::<B>::new(d, pool.queue_family, is_secondary)?;
                    pool.allocator.create(Dispatchable::new(buffer))
                };
                match make() {
                    Ok(b) => {
                        pool.buffers.push(b);
                        *out.add(k) = dispatchable(b);
                    }
                    Err(e) => {
                        for _ in 0..k {
                            if let Some(b) = pool.buffers.pop() {
                                pool.allocator.destroy(b);
                            }
                        }
                        for j in 0..count {
                            *out.add(j) = vk::CommandBuffer::null();
                        }
                        return Err(e);
                    }
                }
            }
            Ok(vk::Result::SUCCESS)
        }
    }

    /// `vkFreeCommandBuffers`.
    fn vkFreeCommandBuffers<B: Backend>(_device: vk::Device, pool: vk::CommandPool, count: u32, buffers: *const vk::CommandBuffer) {
        unsafe {
            let pool: &mut CommandPool<B> = get_mut(pool);
            for &b in slice(buffers, count) {
                let pointer = b.as_raw() as *mut Dispatchable<CommandBuffer<B>>;
                if let Some(k) = pool.buffers.iter().position(|&p| p == pointer) {
                    pool.buffers.swap_remove(k);
                    pool.allocator.destroy(pointer);
                }
            }
        }
    }

    /// `vkBeginCommandBuffer`.
    fn vkBeginCommandBuffer<B: Backend>(buffer: vk::CommandBuffer, _info: *const vk::CommandBufferBeginInfo) -> vk::Result {
        unsafe { of::<B>(buffer).reset() }
        Ok(vk::Result::SUCCESS)
    }

    /// `vkEndCommandBuffer`.
    fn vkEndCommandBuffer<B: Backend>(buffer: vk::CommandBuffer) -> vk::Result {
        let c = unsafe { of::<B>(buffer) };
        if let Some(e) = c.error.take() {
            return Err(e);
        }
        if !c.is_secondary {
            c.encoder.finish()?;
        }
        Ok(vk::Result::SUCCESS)
    }

    /// `vkResetCommandBuffer`.
    fn vkResetCommandBuffer<B: Backend>(buffer: vk::CommandBuffer, _flags: vk::CommandBufferResetFlags) -> vk::Result {
        unsafe { of::<B>(buffer).reset() }
        Ok(vk::Result::SUCCESS)
    }
}
