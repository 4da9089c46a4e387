//! Running the queues of groups, in turn.

use tepui_softgpu::{AddressSpace, catch_panic};

use crate::gpu::Gpu;
use crate::group::{Group, QueueState};
use crate::job::{Completion, FaultKind, JobFault, Unit};
use crate::{relaxed, stream};

impl Gpu {
    /// A group of up to [`CS_SLOTS`](crate::limits::CS_SLOTS) queues, all registers zero.
    pub fn group(&self, queues: usize) -> Group {
        Group::new(queues, self.options.relaxed)
    }

    /// Lets the queues of a group execute their streams, in turn, until at least one stream has ended or all
    /// remaining ones wait for a sync object (in relaxed execution, until nothing goes on); returns the streams that ended. If none ended, each queue is
    /// idle, faulted or [waiting](QueueState::Waiting): call again when another stream has been started, or
    /// when another group or the CPU may have written to the sync objects.
    pub fn run(&self, vm: &AddressSpace, group: &mut Group) -> Vec<Completion> {
        let mut order = std::mem::take(&mut group.order);
        let done = self.ordered(vm, &mut order, || self.run_queues(vm, group));
        group.order = order;
        done
    }

    fn run_queues(&self, vm: &AddressSpace, group: &mut Group) -> Vec<Completion> {
        let mut done = Vec::new();
        group.frames.clear();
        let mut turns: Vec<usize> = (0..group.queues.len()).collect();
        loop {
            let mut progress = false;
            if let Some(choices) = &mut group.choices {
                relaxed::shuffle(choices, &mut turns);
            }
            for &index in &turns {
                if group.queues[index].is_out_of_heap {
                    match self.find_heap(vm, group, index) {
                        Ok(false) => continue,
                        Ok(true) => progress = true,
                        Err(fault) => {
                            let queue = index;
                            group.queues[queue].state = QueueState::Faulted;
                            group.queues[queue].is_out_of_heap = false;
                            done.push(Completion { queue, outcome: Err(fault) });
                            continue;
                        }
                    }
                }
                let heap = group.heaps.get(&group.queues[index].front.heap).copied();
                let queue = &mut group.queues[index];
                if !matches!(queue.state, QueueState::Ready | QueueState::Waiting { .. }) {
                    continue;
                }
                let before = queue.stats.commands;
                let (scenes, frames) = (&mut group.scenes, &mut group.frames);
                let choices = group.choices.as_mut();
                let run = || stream::run(self, vm, scenes, frames, queue, (index, heap), choices);
                let outcome = catch_panic(run).unwrap_or_else(|what| {
                    Err(JobFault::new(Unit::CommandStream, what).of(FaultKind::Panic))
                });
                progress |= queue.stats.commands > before;
                let outcome = match outcome {
                    Err(fault) => {
                        queue.state = QueueState::Faulted;
                        Err(fault)
                    }
                    Ok(()) if queue.state == QueueState::Idle => Ok(queue.stats),
                    Ok(()) => continue,
                };
                if let Some(order) = &self.order {
                    order.finish(index);
                }
                done.push(Completion { queue: index, outcome });
            }
            // Relaxed execution ends streams in another order: all go on as far as they can.
            let settles = group.choices.is_some() || self.options.settles;
            let is_done = !done.is_empty() && !settles;
            if is_done || !progress {
                break;
            }
        }
        done
    }

    /// Whether a queue that has used up its heap can go on: fragments have given chunks back, or a queue's exception handler renders
    /// what is in the heap, and gives it back.
    fn find_heap(
        &self,
        vm: &AddressSpace,
        group: &mut Group,
        index: usize,
    ) -> Result<bool, JobFault> {
        if group.is_heap_full(index) {
            let Some(handler) = group.handler() else {
                let others = group.queues.iter().enumerate().filter(|(k, _)| *k != index);
                if { others }.all(|(_, q)| q.state == QueueState::Idle) {
                    let what = "the tiler's heap is exhausted, and no queue handles it";
                    return Err(JobFault::new(Unit::Tiler, what.to_owned()));
                }
                return Ok(false);
            };
            let (scenes, frames) = (&mut group.scenes, &mut group.frames);
            let queue = &mut group.queues[handler];
            if let Some(order) = &self.order {
                order.hand_over(index, handler);
            }
            stream::handle(self, vm, scenes, frames, handler, queue)?;
            if let Some(order) = &self.order {
                order.hand_over(handler, index);
            }
            if group.is_heap_full(index) {
                let what = "the handler of an exhausted heap gives too little back";
                return Err(JobFault::new(Unit::Tiler, what.to_owned()));
            }
        }
        group.queues[index].is_out_of_heap = false;
        Ok(true)
    }

    /// Whether a queue of a group would execute something now: it has a stream and does not wait.
    pub fn can_run(&self, vm: &AddressSpace, group: &Group) -> bool {
        let continues = |k: usize| {
            group.queues[k].is_out_of_heap && (!group.is_heap_full(k) || group.handler().is_some())
        };
        group.queues.iter().any(|queue| stream::can_run(vm, queue))
            || (0..group.queues.len()).any(continues)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::{Options, address_space};
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
