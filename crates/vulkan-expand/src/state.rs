//! State of expanded draws in a command buffer.

use tepui_vulkan::backend::Draw;
use tepui_vulkan::feedback::MAX_STREAMS;

use crate::counted::Statistics;
use crate::memory::{HeapState, PieceMemory};

/// State of expanded draws in a command buffer.
#[derive(Clone, Debug)]
pub struct ExpandState<M> {
    /// The heap of draws whose sizes only the GPU knows.
    pub(crate) heap: HeapState<M>,
    /// Memory of pieces of draws.
    pub(crate) pieces: PieceMemory<M>,
    /// View index of the draw.
    pub view: u32,
    /// Address of the offsets of transform feedback; 0 outside of it.
    pub(crate) feedback: u64,
    /// Addresses of the counters of captured primitives of each stream; 0 for none.
    pub feedback_queries: [u64; MAX_STREAMS],
    /// The queries of statistics that count.
    pub statistics: Vec<Statistics>,
    /// The rest of the draw that is being recorded.
    pub(crate) unfinished: Option<Unfinished>,
}

/// A draw that is recorded in part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unfinished {
    /// The draw, with its conditions and counts resolved.
    pub(crate) draw: Draw,
    /// The view whose pieces are next.
    pub(crate) view: u32,
    /// The next piece.
    pub(crate) piece: u64,
}

impl<M> Default for ExpandState<M> {
    fn default() -> Self {
        ExpandState {
            heap: HeapState::default(),
            pieces: PieceMemory::default(),
            view: 0,
            feedback: 0,
            feedback_queries: [0; MAX_STREAMS],
            statistics: Vec::new(),
            unfinished: None,
        }
    }
}

impl<M: Clone> ExpandState<M> {
    /// The state of an encoder that continues a command buffer: its memory, queries and transform feedback.
    #[must_use]
    pub fn continuation(&self) -> Self {
        ExpandState {
            // Growing is not repeated.
            heap: self.heap.continuation(),
            pieces: self.pieces.continuation(),
            feedback: self.feedback,
            feedback_queries: self.feedback_queries,
            statistics: self.statistics.clone(),
            ..ExpandState::default()
        }
    }
}

impl<M> ExpandState<M> {
    /// Frees the memory of expanded draws: later work is ordered after them.
    pub fn free_memory(&mut self) {
        self.pieces.free();
        self.heap.free();
    }

    /// Whether a draw was recorded in part.
    #[must_use]
    pub fn is_unfinished(&self) -> bool {
        self.unfinished.is_some()
    }

    /// Address of the fragments' counter; 0 for none.
    #[must_use]
    pub fn counted_fragments(&self) -> u64 {
        self.statistics.iter().map(Statistics::fragments).find(|&at| at != 0).unwrap_or(0)
    }
}
