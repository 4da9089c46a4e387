//! Barriers between the launches of a compute stream, and splits of renderings.
//!
//! Launches of a stream may run at the same time; a barrier block makes later ones wait for all before it and see what they wrote.
//! Hardware commands wait for all earlier commands, so nothing is needed between streams and renders, and the tile orders
//! fragments of a pixel within a render.
//!
//! A dependency makes the next launch wait if one of its accesses writes, or if it names none: it then is one of execution, which
//! protects a write after a read. Between reads it needs no memory to be made visible, but by Vulkan's rules still orders execution,
//! so a launch that writes waits; one that only reads does not. The driver's own sequences of launches that depend on each other ask
//! for their barriers by `Encoder::order`. Layouts of the API are identical in memory, so transitions need nothing.

use tepui_vulkan::dependency::{ATTACHMENT_WRITES, Dependency, PRE_RASTERISER};
use tepui_vulkan::vk::{DependencyFlags, PipelineStageFlags2 as Stages};

use crate::family::Agx;

/// Wait of the next launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Wait {
    #[default]
    Nothing,
    /// If it writes, for the launches before.
    Reads,
    /// For the launches before.
    All,
}

/// Order of the launches of the stream that is open.
#[derive(Clone, Copy, Debug, Default)]
pub struct LaunchOrder {
    pub(super) wait: Wait,
    /// There are launches after the last barrier.
    pub(super) open: bool,
    /// Counts of the command buffer.
    pub counts: Counts,
}

/// Numbers of what a command buffer has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Launches of compute programs.
    pub launches: u32,
    /// Barriers after them.
    pub barriers: u32,
    /// Renderings that were split.
    pub splits: u32,
}

impl LaunchOrder {
    /// Makes the next launch wait.
    pub(super) fn ask(&mut self, wait: Wait) {
        // Without launches there is nothing to wait for.
        if self.open {
            self.wait = self.wait.max(wait);
        }
    }

    /// Whether a barrier stands in front of the next launch.
    pub(super) fn needs_barrier(&self, writes: bool) -> bool {
        self.open && (self.wait == Wait::All || self.wait == Wait::Reads && writes)
    }

    /// A barrier stands after the launches so far.
    pub(super) fn passed(&mut self) {
        (self.wait, self.open) = (Wait::Nothing, false);
        self.counts.barriers += 1;
    }

    /// Forgets the stream.
    pub fn clear(&mut self) {
        *self = LaunchOrder::default();
    }
}

/// Wait of launches after a dependency.
pub(super) fn wait_of(d: &Dependency<Agx>) -> Wait {
    let host = Stages::HOST;
    if d.source.stages.difference(host).is_empty() {
        // Nothing that the GPU did.
        return Wait::Nothing;
    }
    match d.source.only_reads() && d.destination.only_reads() {
        true => Wait::Reads,
        false => Wait::All,
    }
}

/// Whether a dependency inside of a rendering needs a split of it. The tile orders accesses of fragments to a pixel, and all vertices
/// of a render are done before its fragments. What is left are reads of attachments as images, which are in memory only when the
/// rendering ends, and vertex stages that read what others wrote.
pub(super) fn splits(d: &Dependency<Agx>, reads_targets: bool) -> bool {
    let feedback = reads_targets || d.flags.contains(DependencyFlags::FEEDBACK_LOOP_EXT);
    let reads_attachments = feedback && d.source.accesses.intersects(ATTACHMENT_WRITES);
    let vertices =
        d.source.writes_in(PRE_RASTERISER) && d.destination.stages.intersects(PRE_RASTERISER);
    reads_attachments || vertices
}

#[cfg(test)]
mod tests {
    use tepui_vulkan::dependency::Scope;
    use tepui_vulkan::vk::AccessFlags2 as Access;

    use super::*;

    fn dependency(from: (Stages, Access), to: (Stages, Access)) -> Dependency<Agx> {
        Dependency::memory(Scope::source(from.0, from.1), Scope::destination(to.0, to.1))
    }

    /// Barriers of two launches with a dependency between, before the end of the stream; `writes` is of the second.
    fn barriers(d: &Dependency<Agx>, writes: bool) -> bool {
        let mut order = LaunchOrder { open: true, ..LaunchOrder::default() };
        order.ask(wait_of(d));
        order.needs_barrier(writes)
    }

    #[test]
    fn writes_and_execution_are_waited_for() {
        let (compute, copy) = (Stages::COMPUTE_SHADER, Stages::COPY);
        let none = Access::empty();
        let (read, write) = (Access::SHADER_READ, Access::SHADER_WRITE);
        let (copies, fills) = (Access::TRANSFER_READ, Access::TRANSFER_WRITE);
        for (from, to, reader, writer) in [
            ((compute, write), (compute, read), true, true),
            ((copy, fills), (compute, read), true, true),
            ((compute, read), (copy, fills), true, true),
            ((compute, none), (compute, none), true, true),
            ((compute, read), (compute, none), true, true),
            ((Stages::ALL_COMMANDS, Access::MEMORY_WRITE), (copy, copies), true, true),
            ((copy, copies), (compute, read), false, true),
            ((compute, read), (compute, read), false, true),
            ((Stages::HOST, Access::HOST_WRITE), (compute, read), false, false),
            ((Stages::TOP_OF_PIPE, none), (compute, write), false, false),
        ] {
            let d = dependency(from, to);
            assert_eq!(
                [barriers(&d, false), barriers(&d, true)],
                [reader, writer],
                "{from:?} {to:?}"
            );
        }
    }

    #[test]
    fn launches_before_a_barrier_are_waited_for_once() {
        let mut order = LaunchOrder::default();
        order.ask(Wait::All);
        assert!(!order.needs_barrier(true), "nothing was launched");
        order.open = true;
        assert!(!order.needs_barrier(true), "nothing asks");
        order.ask(Wait::All);
        order.ask(Wait::Reads);
        assert!(order.needs_barrier(false));
        order.passed();
        order.open = true;
        assert!(!order.needs_barrier(true));
    }

    #[test]
    fn renderings_are_split_for_what_the_tile_does_not_order() {
        let colour = (Stages::COLOR_ATTACHMENT_OUTPUT, Access::COLOR_ATTACHMENT_WRITE);
        let input = (Stages::FRAGMENT_SHADER, Access::INPUT_ATTACHMENT_READ);
        let read = (Stages::FRAGMENT_SHADER, Access::SHADER_READ);
        let write = (Stages::FRAGMENT_SHADER, Access::SHADER_WRITE);
        let vertex_write = (Stages::VERTEX_SHADER, Access::SHADER_WRITE);
        let vertex_read = (Stages::VERTEX_SHADER, Access::SHADER_READ);
        for (from, to, reads_targets, expected) in [
            (colour, input, false, false),
            (colour, input, true, true),
            (write, read, true, false),
            (write, read, false, false),
            (vertex_write, read, false, false),
            (vertex_write, vertex_read, false, true),
            (vertex_write, (Stages::DRAW_INDIRECT, Access::INDIRECT_COMMAND_READ), false, true),
            (vertex_read, vertex_read, false, false),
        ] {
            let mut d = dependency(from, to);
            assert_eq!(splits(&d, reads_targets), expected, "{from:?} {to:?}");
            d.flags = DependencyFlags::FEEDBACK_LOOP_EXT;
            let with_loop = expected || from == colour;
            assert_eq!(splits(&d, reads_targets), with_loop, "in a loop: {from:?} {to:?}");
        }
    }
}
