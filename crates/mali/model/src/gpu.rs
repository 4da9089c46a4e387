//! The GPU.

use tepui_mali_chips::Chip;
use tepui_softgpu::{AddressSpace, WorkerPool};

use crate::group::{Group, QueueState};
use crate::job::{Completion, JobFault, Unit};
use crate::limits::{ADDRESS_BITS, PAGE_SHIFT, SHADER_PRESENT};

/// Options of the model.
#[derive(Clone, Copy)]
pub struct Options {
    /// Worker threads; 0 takes one for each core of the host.
    pub threads: usize,
    /// Nanoseconds of a monotonic clock, from which the timestamps come.
    pub clock: fn() -> u64,
    /// Instructions of a command stream after which it counts as endless.
    pub most_commands: u64,
    /// Instructions of a dispatch, counted once a warp, after which it counts as endless.
    pub most_instructions: u64,
}

fn no_clock() -> u64 {
    0
}

impl Default for Options {
    fn default() -> Self {
        Options {
            threads: 0,
            clock: no_clock,
            most_commands: 100_000_000,
            most_instructions: 200_000_000_000,
        }
    }
}

/// An empty address space of the GPU's size ([`crate::limits`]).
pub fn address_space() -> AddressSpace {
    AddressSpace::new(PAGE_SHIFT, ADDRESS_BITS)
}

/// A GPU. One value serves all groups and all threads that submit.
pub struct Gpu {
    #[expect(dead_code, reason = "read by the shader core")]
    pub(crate) chip: &'static Chip,
    pub(crate) options: Options,
    #[expect(dead_code, reason = "used by dispatches")]
    pub(crate) pool: WorkerPool,
}

impl Gpu {
    /// A GPU of a chip.
    pub fn new(chip: &'static Chip, options: Options) -> Gpu {
        let most = SHADER_PRESENT.count_ones() as usize * 16;
        Gpu { chip, options, pool: WorkerPool::new(options.threads, most, "tepui-mali") }
    }

    /// A group of up to [`CS_SLOTS`](crate::limits::CS_SLOTS) queues, all registers zero.
    pub fn group(&self, queues: usize) -> Group {
        Group::new(queues)
    }

    /// Lets the queues of a group execute their streams, in turn, until at least one stream has
    /// ended or all that have not wait for a sync object; returns the streams that ended. None ended
    /// means that each queue is idle, faulted or [waiting](QueueState::Waiting): call again when
    /// another stream has been started, or when another group or the CPU may have written to the sync
    /// objects.
    pub fn run(&self, vm: &AddressSpace, group: &mut Group) -> Vec<Completion> {
        let _ = vm;
        let mut done = Vec::new();
        for (index, queue) in group.queues.iter_mut().enumerate() {
            if queue.state != QueueState::Ready {
                continue;
            }
            let outcome = if queue.program.0 == queue.program.1 {
                queue.state = QueueState::Idle;
                Ok(queue.stats)
            } else {
                queue.state = QueueState::Faulted;
                Err(JobFault::unimplemented(Unit::CommandStream, "command streams"))
            };
            done.push(Completion { queue: index, outcome });
        }
        done
    }

    /// The GPU's clock: nanoseconds.
    pub fn timestamp(&self) -> u64 {
        (self.options.clock)()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::{StartError, Stream};

    #[test]
    fn queues_start_one_stream_at_a_time_and_empty_ones_end_at_once() {
        let chip = tepui_mali_chips::chip("mali-g610").expect("a chip");
        let gpu = Gpu::new(chip, Options::default());
        let vm = address_space();
        let mut group = gpu.group(2);
        let empty = Stream { address: 0, size: 0 };
        assert_eq!(group.start(2, empty), Err(StartError::NoSuchQueue { queue: 2, queues: 2 }));
        group.start(1, empty).expect("an idle queue");
        assert_eq!(group.start(1, empty), Err(StartError::Busy(1)));
        let done = gpu.run(&vm, &mut group);
        assert_eq!(done, [Completion { queue: 1, outcome: Ok(Default::default()) }]);
        assert_eq!(group.state(1), Some(QueueState::Idle));
        assert_eq!(gpu.run(&vm, &mut group), []);
    }
}
