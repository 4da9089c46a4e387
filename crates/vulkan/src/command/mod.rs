//! Command pools and buffers.
//!
//! A command is a closure on the command buffer. A primary command buffer runs it immediately; a
//! secondary one keeps it, and `vkCmdExecuteCommands` runs the kept commands on the primary. So a
//! secondary costs as much as recording its commands again, and inherits state as the specification
//! requires without a second way to encode anything. A primary one also keeps the commands after a draw
//! whose counts the CPU has to read ([`crate::draws`]).

mod pool;
mod state;

use std::sync::Arc;

use vulkanalia_sys as vk;

use crate::backend::{Attachment, Draw, Encoder, Rendering};
use crate::debug::{self, Flags};
use crate::dependency::{Dependency, Ordering, Within};
use crate::device::Device;
use crate::draws::{Command, Deferred, DrawMode, Driver};
use crate::error::{Error, Result};
use crate::object::{dispatch_mut, get};
use crate::render_pass::RenderPass;
use crate::table::Table;
pub use pool::*;
pub use state::{
    BindPoint, Bound, BoundSet, CommandState, IndexBuffer, MAX_DESCRIPTOR_BUFFERS, MAX_PUSH,
    MAX_SETS, VertexBuffer,
};

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
    if announces() {
        eprintln!("tepui: {name}");
    }
}

/// Whether commands are printed.
fn announces() -> bool {
    debug::flags().contains(Flags::COMMANDS)
}

/// A command buffer.
#[repr(C)]
pub struct CommandBuffer<B: Driver> {
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
    /// The last command was a draw that was encoded: the next one may be [another](backend::Encoder::draw_again) with its state.
    follows_draw: bool,
    /// State of the family's draw mode.
    pub(crate) draws: <B::Draws as DrawMode<B>>::State,
    error: Option<Error>,
}

// SAFETY: clear values and handles are plain data.
unsafe impl<B: Driver> Send for CommandBuffer<B> {}

impl<B: Driver> CommandBuffer<B> {
    fn reset(&mut self) {
        self.encoder.reset();
        self.state = CommandState::default();
        self.pass = None;
        self.deferred.clear();
        self.draws = Default::default();
        self.follows_draw = false;
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
            follows_draw: false,
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
            follows_draw: false,
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

    /// Runs a command with a list of the application's, or keeps it with a copy of the list.
    pub fn record_with<T: Copy + Send + 'static>(
        &mut self,
        name: &'static str,
        list: &[T],
        command: impl Fn(&mut CommandBuffer<B>, &[T]) -> Result<()> + Send + 'static,
    ) {
        if self.defers {
            let list: Box<[T]> = list.into();
            return self.record(name, move |c| command(c, &list));
        }
        announce(name);
        self.follows_draw = false;
        if let Err(e) = command(self, list) {
            self.failed(name, e);
        }
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
        self.follows_draw = false;
        if self.defers {
            self.defer(kind(Box::new(command)));
        } else if let Err(e) = command(self) {
            self.failed(name, e);
        }
    }

    /// Draws, or keeps the draw.
    #[inline(always)]
    pub fn record_draw(&mut self, name: &'static str, draw: Draw) {
        if !self.follows_draw || !self.encoder.draw_again(&self.state, &draw) {
            self.record_new_draw(name, &draw);
        }
    }

    #[inline(never)]
    fn record_new_draw(&mut self, name: &'static str, draw: &Draw) {
        announce(name);
        self.follows_draw = false;
        if self.defers {
            return self.defer(Deferred::Draw(*draw));
        }
        match self.draw(draw) {
            // A draw that is announced comes here.
            Ok(()) => self.follows_draw = !self.defers && !announces(),
            Err(e) => self.failed(name, e),
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
    pub fn draw(&mut self, draw: &Draw) -> Result<()> {
        if self.state.rendering.is_none() {
            return B::Draws::draw_outside(self, draw);
        }
        self.state.follow_rendering();
        B::Draws::draw(self, draw)
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
        for (k, (a, to)) in resolves.enumerate() {
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
            let layers = rendering.layers.min(a.image.layers).min(to.image.layers);
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
                dst_subresource: part(to.image.layer, to.image.level),
                src_offset: offset,
                dst_offset: offset,
                extent: vk::Extent3D {
                    width: rendering.area.extent.width,
                    height: rendering.area.extent.height,
                    depth: 1,
                },
                ..Default::default()
            };
            self.encoder.resolve(&a.image, &to.image, &region, to.mode)?;
        }
        self.state.invalidate();
        Ok(())
    }
}

/// The command buffer of a handle.
///
/// # Safety
/// The handle is live and synchronised by the application.
pub unsafe fn of<'a, B: Driver>(buffer: vk::CommandBuffer) -> &'a mut CommandBuffer<B> {
    // SAFETY: as the caller says.
    unsafe { dispatch_mut(buffer) }
}
