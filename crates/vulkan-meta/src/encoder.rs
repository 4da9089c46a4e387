//! The trait of a family's encoder.

use tepui_vulkan::backend::{Backend, Condition, Rendering};
use tepui_vulkan::state::GraphicsState;
use tepui_vulkan::{Result, vk};

use crate::program::Program;
use crate::view::{Area, Binding, Level, Texels, View};

/// A launch of a compute program.
#[derive(Clone, Copy)]
pub struct Launch<'a, B: Backend> {
    /// The program.
    pub program: Program,
    /// Its words ([`crate::words`]).
    pub words: &'a [u32],
    /// Its bindings of set 0.
    pub bindings: &'a [Binding<'a, B>],
    /// Invocations in each direction; workgroups cover them.
    pub threads: [u32; 3],
}

/// A rectangle that is drawn in a rendering. No query counts it.
pub struct Rectangle<'a, B: Backend> {
    /// The fragment program.
    pub fragment: Program,
    /// Its words ([`crate::words`]).
    pub words: &'a [u32],
    /// Its bindings of set 0.
    pub bindings: &'a [Binding<'a, B>],
    /// Samples, depth and stencil tests; all else is as in [`GraphicsState::default`].
    pub state: GraphicsState,
    /// Pixels.
    pub rect: vk::Rect2D,
    /// Depth of all pixels.
    pub depth: f32,
    /// First layer, if the rendering has no views.
    pub layer: u32,
    /// Layers, if the rendering has no views.
    pub layers: u32,
    /// Views that are drawn, a bit each; 0 without multiview.
    pub view_mask: u32,
    /// Condition of the draw.
    pub condition: Option<Condition>,
}

/// A family's encoder as meta operations use it.
pub trait MetaEncoder {
    /// The family.
    type Backend: Backend;

    /// Launches a compute program. Launches may run at the same time unless [`MetaEncoder::order`] stands between them.
    ///
    /// # Errors
    /// When the program does not compile, or there is no memory.
    fn launch(&mut self, launch: &Launch<'_, Self::Backend>) -> Result<()>;

    /// Orders memory accesses: all later work sees what earlier launches wrote, and writes after they have read.
    ///
    /// # Errors
    /// When there is no memory.
    fn order(&mut self) -> Result<()>;

    /// The GPU address of a copy of bytes that lives as long as the recording.
    ///
    /// # Errors
    /// When there is no memory.
    fn upload(&mut self, bytes: &[u8]) -> Result<u64>;

    /// The GPU address of memory that the GPU writes, and that lives as long as the recording.
    ///
    /// # Errors
    /// When there is no memory.
    fn reserve(&mut self, bytes: u64) -> Result<u64>;

    /// The way in which programs read the texels of a level of an image.
    ///
    /// # Errors
    /// When they cannot.
    fn reads<'a>(&self, level: &Level<'a, Self::Backend>) -> Result<Texels<'a, Self::Backend>>;

    /// The way in which programs write the texels of a level of an image.
    ///
    /// # Errors
    /// When they cannot.
    fn writes<'a>(&self, level: &Level<'a, Self::Backend>) -> Result<Texels<'a, Self::Backend>>;

    /// Whether programs store converted texels to a view; if not, they are drawn.
    fn stores(&self, view: &View<'_, Self::Backend>) -> bool;

    /// Prepares texels that launches are about to overwrite: opens or resolves compressed parts of an image.
    ///
    /// # Errors
    /// When it cannot.
    fn before_writes(&mut self, _area: &Area<'_, Self::Backend>) -> Result<()> {
        Ok(())
    }

    /// Draws a rectangle in the current rendering.
    ///
    /// # Errors
    /// When the program does not compile, or there is no memory.
    fn draw(&mut self, rectangle: &Rectangle<'_, Self::Backend>) -> Result<()>;

    /// Draws a rectangle in a rendering of its own, outside of others.
    ///
    /// # Errors
    /// As [`MetaEncoder::draw`].
    fn render(
        &mut self,
        rendering: &Rendering<Self::Backend>,
        rectangle: &Rectangle<'_, Self::Backend>,
    ) -> Result<()>;
}
