//! Order of memory accesses: from dependencies of the API to queues that wait for each other, and to flushes.
//!
//! Stages belong to queues. Copies are dispatches or fragments; blits, resolves and clears are fragments.
//!
//! Caches: the L2 and the load/store caches are coherent with each other, so what one job wrote is there for the next one's loads.
//! Read-only caches of textures and tile loads are not, and are invalidated before reads through them. What the host reads is written
//! back to memory; what the host wrote is invalidated by the kernel before each stream.
//!
//! source: Mesa, panvk_vX_cmd_buffer.c (`add_memory_dependency`, `get_subqueue_stages`)

use tepui_vulkan::backend::Backend;
use tepui_vulkan::dependency::{Dependency, ImageDependency, PRE_RASTERISER, Scope, TRANSFERS};
use tepui_vulkan::vk::{
    self, AccessFlags2 as Access, ImageLayout as Layout, PipelineStageFlags2 as Stages,
};

use super::streams::subqueues::{Waits, mask_of};
use crate::family::Mali;
use crate::kernel::Queue;
use crate::stream::Flush;

/// Stages of fragments.
const FRAGMENTS: Stages = Stages::EARLY_FRAGMENT_TESTS
    .union(Stages::FRAGMENT_SHADER)
    .union(Stages::LATE_FRAGMENT_TESTS)
    .union(Stages::COLOR_ATTACHMENT_OUTPUT)
    .union(TRANSFERS);

/// Stages of dispatches, and of commands that programs execute. Parameters of indirect dispatches are loaded by the queue itself.
const DISPATCHES: Stages = Stages::COMPUTE_SHADER
    .union(TRANSFERS)
    .union(Stages::DRAW_INDIRECT)
    .union(Stages::CONDITIONAL_RENDERING_EXT);

/// Reads through caches that writes do not reach.
const READ_ONLY: Access = Access::COLOR_ATTACHMENT_READ
    .union(Access::DEPTH_STENCIL_ATTACHMENT_READ)
    .union(Access::TRANSFER_READ)
    .union(Access::SHADER_SAMPLED_READ)
    .union(Access::SHADER_READ)
    .union(Access::INPUT_ATTACHMENT_READ);

/// Accesses of the host.
const HOST: Access = Access::HOST_READ.union(Access::HOST_WRITE);

/// The queues that execute some stages.
fn queues(stages: Stages) -> u8 {
    let of = |queue: Queue, all: Stages| if stages.intersects(all) { mask_of(queue) } else { 0 };
    of(Queue::VertexTiler, PRE_RASTERISER.union(Stages::CONDITIONAL_RENDERING_EXT))
        | of(Queue::Fragment, FRAGMENTS)
        | of(Queue::Compute, DISPATCHES)
}

/// Waits of queues for queues, and flushes between.
pub fn of_dependency<B: Backend>(d: &Dependency<B>) -> (Waits, Flush) {
    let (source, destination): (Scope, Scope) = (d.source, d.destination);
    let (from, mut to) = (queues(source.stages), queues(destination.stages));
    // The queue of vertices copies words of uniform buffers that fragments read.
    if destination.accesses.intersects(Access::UNIFORM_READ)
        && destination.stages.intersects(Stages::FRAGMENT_SHADER)
    {
        to |= mask_of(Queue::VertexTiler);
    }
    let flush = flush_of(&source, &destination);
    let waits = Queue::ALL.map(|queue| if to & mask_of(queue) != 0 { from } else { 0 });
    // What only the host waits for is flushed in the queues that wrote it: each waits for itself.
    if to == 0 && !flush.is_none() && from != 0 {
        return (Queue::ALL.map(|queue| from & mask_of(queue)), flush);
    }
    (waits, flush)
}

/// The queues that a dependency's first scope is in.
pub fn sources(d: &Dependency<Mali>) -> u8 {
    queues(d.source.stages)
}

/// Headers of superblocks of the images whose pixels begin with a dependency: addresses and bytes. They become zeros, which are
/// superblocks of one colour; the memory may hold anything before, and a tile that no draw touches keeps its headers.
///
/// source: Mesa, panvk_image.c (`panvk_image_plane_bind`), where the host writes them
pub fn begun_headers(d: &Dependency<Mali>) -> Vec<(u64, u64)> {
    let begins = |i: &&ImageDependency<Mali>| {
        let is_new = matches!(i.old_layout, Layout::UNDEFINED | Layout::PREINITIALIZED);
        // Some compositors call the layout of what they import undefined.
        let is_foreign = i.info.modifier.is_some()
            && i.transfer.is_some_and(|t| {
                matches!(t.from, vk::QUEUE_FAMILY_EXTERNAL | vk::QUEUE_FAMILY_FOREIGN_EXT)
            });
        is_new && !is_foreign
    };
    let all = d.images.iter().filter(begins).flat_map(|i| {
        let headers = i.image.headers(&i.range).into_iter();
        headers.map(|(offset, size)| (i.addresses[0] + offset, size))
    });
    all.collect()
}

/// Whether a dependency inside of a rendering splits it: vertices wait for its fragments, or fragments read what it renders to from
/// memory. Fragments of a pixel are in order otherwise.
pub fn splits(waits: Waits, reads_targets: bool) -> bool {
    let fragments = mask_of(Queue::Fragment);
    waits[Queue::VertexTiler as usize] & fragments != 0
        || reads_targets && waits[Queue::Fragment as usize] & fragments != 0
}

fn flush_of(source: &Scope, destination: &Scope) -> Flush {
    let from_host = source.accesses.intersects(Access::HOST_WRITE);
    Flush {
        clean: from_host || destination.accesses.intersects(HOST),
        invalidate: from_host,
        others: from_host || source.writes() && destination.accesses.intersects(READ_ONLY),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between(from: (Stages, Access), to: (Stages, Access)) -> (Waits, Flush) {
        let d: Dependency<Mali> =
            Dependency::memory(Scope::source(from.0, from.1), Scope::destination(to.0, to.1));
        of_dependency(&d)
    }

    const V: u8 = mask_of(Queue::VertexTiler);
    const F: u8 = mask_of(Queue::Fragment);
    const C: u8 = mask_of(Queue::Compute);

    #[test]
    fn queues_wait_for_the_queues_of_the_stages_before() {
        let none = Access::empty();
        let compute = (Stages::COMPUTE_SHADER, Access::SHADER_STORAGE_WRITE);
        for (from, to, waits) in [
            (compute, (Stages::COMPUTE_SHADER, Access::SHADER_STORAGE_READ), [0, 0, C]),
            (compute, (Stages::VERTEX_SHADER, Access::SHADER_STORAGE_READ), [C, 0, 0]),
            (compute, (Stages::DRAW_INDIRECT, Access::INDIRECT_COMMAND_READ), [C, 0, C]),
            ((Stages::COLOR_ATTACHMENT_OUTPUT, none), (Stages::FRAGMENT_SHADER, none), [0, F, 0]),
            ((Stages::VERTEX_SHADER, none), (Stages::COMPUTE_SHADER, none), [0, 0, V]),
            ((Stages::COPY, none), (Stages::COPY, none), [0, F | C, F | C]),
            (
                (Stages::BOTTOM_OF_PIPE, none),
                (Stages::ALL_COMMANDS, none),
                [V | F | C, V | F | C, V | F | C],
            ),
            ((Stages::TOP_OF_PIPE, none), (Stages::COMPUTE_SHADER, none), [0, 0, 0]),
            (compute, (Stages::HOST, Access::HOST_READ), [0, 0, C]),
            (compute, (Stages::FRAGMENT_SHADER, Access::SHADER_STORAGE_READ), [0, C, 0]),
            (compute, (Stages::FRAGMENT_SHADER, Access::UNIFORM_READ), [C, C, 0]),
        ] {
            assert_eq!(between(from, to).0, waits, "{from:?} {to:?}");
        }
    }

    #[test]
    fn caches_are_flushed_for_what_they_do_not_keep_coherent() {
        let write = (Stages::COMPUTE_SHADER, Access::SHADER_STORAGE_WRITE);
        let none = Flush::default();
        let others = Flush { others: true, ..none };
        let clean = Flush { clean: true, ..none };
        for (from, to, flush) in [
            (write, (Stages::COMPUTE_SHADER, Access::SHADER_STORAGE_READ), none),
            (write, (Stages::COMPUTE_SHADER, Access::UNIFORM_READ), none),
            (write, (Stages::FRAGMENT_SHADER, Access::SHADER_SAMPLED_READ), others),
            (write, (Stages::COPY, Access::TRANSFER_READ), others),
            (write, (Stages::HOST, Access::HOST_READ), clean),
            (
                (Stages::HOST, Access::HOST_WRITE),
                (Stages::COMPUTE_SHADER, Access::SHADER_READ),
                Flush { clean: true, invalidate: true, others: true },
            ),
            (
                (Stages::COMPUTE_SHADER, Access::SHADER_SAMPLED_READ),
                (Stages::FRAGMENT_SHADER, Access::SHADER_SAMPLED_READ),
                none,
            ),
        ] {
            assert_eq!(between(from, to).1, flush, "{from:?} {to:?}");
        }
    }
}
