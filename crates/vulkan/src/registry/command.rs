//! A command of the registry, and what brings it.

/// A version or an extension that brings a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provider {
    /// A version of Vulkan.
    Version(u32, u32),
    /// An instance extension.
    Instance(&'static str),
    /// A device extension.
    Device(&'static str),
}

/// The object that a command is dispatched on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// An instance or a physical device, or nothing.
    Instance,
    /// A device, a queue or a command buffer.
    Device,
}

/// A command.
#[derive(Clone, Copy, Debug)]
pub struct Command {
    /// Name.
    pub name: &'static str,
    /// Name under which the driver has it: that of which `name` is an alias, or `name` itself.
    pub of: &'static str,
    /// The object that it is dispatched on.
    pub level: Level,
    /// Versions and extensions, each of which is enough.
    pub by: &'static [Provider],
    /// Codes other than `SUCCESS` that it may return.
    pub codes: &'static [i32],
}
