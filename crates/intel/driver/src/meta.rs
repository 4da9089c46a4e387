//! The driver's own programs that are compiled so far, of [`tepui_vulkan_meta`].

use std::sync::{Arc, OnceLock};

use tepui_vulkan_kit::Variants;
use tepui_vulkan_meta::Program;

use crate::compression::ColourOperation;
use crate::generate::Item;
use crate::states::Sampler;
use crate::variant::Variant;

/// Programs that are compiled so far, and samplers that they use.
#[derive(Default)]
pub struct Meta {
    /// Programs of meta operations.
    pub programs: Variants<Program, Arc<Variant>>,
    /// Programs that write commands.
    pub generators: Variants<Item, Arc<Variant>>,
    /// Programs of operations on colours.
    pub operations: Variants<ColourOperation, Arc<Variant>>,
    /// Samplers that clamp to the edges: without a filter, and linear.
    pub samplers: [OnceLock<Sampler>; 2],
}
