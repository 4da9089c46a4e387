//! The driver's own programs that are compiled so far.

use std::sync::{Arc, OnceLock};

use tepui_mali_textures::Bytes;
use tepui_vulkan_expand as expand;
use tepui_vulkan_kit::Variants;
use tepui_vulkan_meta::Program;

use crate::graphics::load::Loads;
use crate::variant::Variant;

/// Kinds of parameters of commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Patched {
    /// `VkDispatchIndirectCommand`.
    Dispatch,
    /// `VkDrawIndirectCommand`.
    Draw,
    /// `VkDrawIndexedIndirectCommand`.
    DrawIndexed,
}

/// Programs that patch jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Patcher {
    /// Writes parameters into a job.
    Parameters(Patched),
    /// Copies words.
    Copy,
}

/// Programs that are compiled so far, and the sampler of texel fetches.
#[derive(Default)]
pub struct Meta {
    /// Programs of [`tepui_vulkan_meta`].
    pub programs: Variants<Program, Arc<Variant>>,
    /// Programs that load attachments.
    pub loads: Variants<Loads, Arc<Variant>>,
    /// Programs of expanded draws.
    pub expansion: Variants<expand::Program, Arc<Variant>>,
    /// The sampler of texel fetches.
    pub texels: OnceLock<Bytes>,
    /// Programs that patch jobs.
    pub patches: Variants<Patcher, Arc<Variant>>,
}
