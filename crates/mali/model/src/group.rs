//! Groups of queues.

use std::collections::HashMap;

use tepui_mali_streams::FrontEnd;
use tepui_order::relaxed::Choices;

use crate::job::JobStats;
use crate::limits::CS_SLOTS;
use crate::order::OrderState;
use crate::pixels::scene::Scenes;
use crate::relaxed::Held;

/// A command stream: instructions of eight bytes from an address on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// GPU address of the first instruction, a multiple of 8.
    pub address: u64,
    /// Size in bytes, a multiple of 8. A stream of size 0 ends immediately.
    pub size: u64,
}

/// A reason why a stream cannot be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// The group has no such queue.
    #[error("the group has {queues} queues, there is none with index {queue}")]
    NoSuchQueue {
        /// The index.
        queue: usize,
        /// Queues of the group.
        queues: usize,
    },
    /// The queue's last stream has not ended.
    #[error("queue {0} is executing a stream")]
    Busy(usize),
    /// The stream does not consist of whole instructions.
    #[error("a stream of {1} bytes at {0:#x} is not aligned to 8")]
    Misaligned(u64, u64),
    /// A stream of the group ended with a fault.
    #[error("a stream of the group has faulted")]
    Faulted,
}

/// The state of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueState {
    /// It has no stream.
    Idle,
    /// It has a stream and can continue it.
    Ready,
    /// It waits for a sync object in memory: it continues when the GPU [runs](crate::Gpu::run) the group
    /// after the condition has become true.
    Waiting {
        /// Address of the sync object.
        address: u64,
    },
    /// Its stream ended with a fault.
    Faulted,
}

/// The queues that a client created together. Their registers keep their values from one stream to
/// the next.
#[derive(Clone)]
pub struct Group {
    pub(crate) queues: Vec<Queue>,
    /// Scenes that draws have built in tiler contexts.
    pub(crate) scenes: Scenes,
    /// Framebuffers that the last run rendered.
    pub(crate) frames: Vec<u64>,
    /// Maximum bytes of tiler heaps, by the addresses of their contexts.
    pub(crate) heaps: HashMap<u64, u64>,
    /// State of the checker for work that may be running.
    pub(crate) order: OrderState,
    /// The choices of relaxed execution.
    pub(crate) choices: Option<Choices>,
}

/// A queue's state.
#[derive(Clone)]
pub(crate) struct Queue {
    pub state: QueueState,
    /// Registers, and the position in the stream.
    pub front: FrontEnd,
    /// Its draws have used up the tiler's heap: it waits until fragments give chunks back, or an exception handler does.
    pub is_out_of_heap: bool,
    pub stats: JobStats,
    /// Work that relaxed execution holds back.
    pub held: Held,
}

impl Group {
    /// A group of up to [`CS_SLOTS`] queues.
    pub(crate) fn new(queues: usize, seed: Option<u64>) -> Group {
        let queue = |_| Queue {
            state: QueueState::Idle,
            front: FrontEnd::default(),
            is_out_of_heap: false,
            stats: JobStats::default(),
            held: Held::default(),
        };
        let queues: Vec<Queue> = (0..queues.min(CS_SLOTS as usize)).map(queue).collect();
        let order = OrderState::of_queues(queues.len());
        let choices = seed.map(Choices::new);
        let (scenes, heaps) = (Scenes::default(), HashMap::new());
        Group { queues, scenes, frames: Vec::new(), heaps, order, choices }
    }

    /// Sets the maximum bytes of tiler heaps, by the addresses of their contexts: all that the kernel gives. Others have no limit.
    pub fn set_heaps(&mut self, heaps: &[(u64, u64)]) {
        self.heaps.clear();
        self.heaps.extend(heaps.iter().copied());
    }

    /// Whether a queue's draws have used up its heap.
    pub(crate) fn is_heap_full(&self, queue: usize) -> bool {
        let limit = self.heaps.get(&self.queues[queue].front.heap);
        limit.is_some_and(|&limit| self.scenes.bytes() > limit)
    }

    /// A queue that handles an exhausted heap: it has a stream, and has set a handler.
    pub(crate) fn handler(&self) -> Option<usize> {
        self.queues.iter().position(|q| {
            let range = &q.front.exception_handler;
            let goes_on = matches!(q.state, QueueState::Ready | QueueState::Waiting { .. });
            goes_on && !q.is_out_of_heap && range.next != range.end
        })
    }

    /// The framebuffer pointers of the RUN_FRAGMENTs that the last [`Gpu::run`](crate::Gpu::run) executed, in order:
    /// for tools.
    pub fn frames(&self) -> &[u64] {
        &self.frames
    }

    /// Whether no queue has a stream.
    pub fn is_idle(&self) -> bool {
        self.queues.iter().all(|queue| queue.state == QueueState::Idle)
    }

    /// The state of a queue. `None` if the group has no such queue.
    pub fn state(&self, queue: usize) -> Option<QueueState> {
        self.queues.get(queue).map(|q| q.state)
    }

    /// Gives an idle queue a stream, which [`Gpu::run`](crate::Gpu::run) then executes.
    ///
    /// # Errors
    /// The queue does not exist, has a stream, or the group has faulted.
    pub fn start(&mut self, queue: usize, stream: Stream) -> Result<(), StartError> {
        let queues = self.queues.len();
        if self.queues.iter().any(|q| q.state == QueueState::Faulted) {
            return Err(StartError::Faulted);
        }
        let Some(q) = self.queues.get_mut(queue) else {
            return Err(StartError::NoSuchQueue { queue, queues });
        };
        if !stream.address.is_multiple_of(8) || !stream.size.is_multiple_of(8) {
            return Err(StartError::Misaligned(stream.address, stream.size));
        }
        if q.state != QueueState::Idle {
            return Err(StartError::Busy(queue));
        }
        q.front.start(stream.address, stream.size);
        q.is_out_of_heap = false;
        q.stats = JobStats::default();
        q.state = QueueState::Ready;
        self.order.start(queue);
        Ok(())
    }
}
