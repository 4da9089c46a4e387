//! The programs by name.

use tepui_expand::tessellate::{self, Tessellation, Worker};
use tepui_ir::{Shader, Stage};
use tepui_vulkan_kit::MetaBuilder;

use crate::order::{Order, unroll};
use crate::{feedback, lists, place, statistics};

/// A program of expanded draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Program {
    /// Lists the vertices of a draw in the order of its primitives; bytes of an index, 0 for none.
    Unroll {
        /// Their order.
        order: Order,
        /// Bytes of an index, 0 for none.
        index_bytes: u8,
    },
    /// Computes where the buffers of an expanded draw are; bytes of an index, 0 for none.
    Place {
        /// The order of its vertices.
        order: Order,
        /// Bytes of an index, 0 for none.
        index_bytes: u8,
        /// Restarts are looked for.
        restart: bool,
    },
    /// Lists the vertices of the primitives of indices with restarts.
    Restarts {
        /// Their order.
        order: Order,
        /// Bytes of an index.
        index_bytes: u8,
    },
    /// Makes a draw of a part of a list of vertices.
    Part,
    /// Turns counts into sums of those before.
    Sums,
    /// Counts the points and indices of patches.
    CountTessellated(Tessellation),
    /// Writes the points and indices of patches.
    Tessellate(Tessellation, Worker),
    /// Computes the addresses of the buffers after the tessellator, with or without a geometry shader.
    PlaceTessellated(bool),
    /// Computes the number of captured vertices that fit.
    Fit,
    /// Computes the arguments of a draw of captured vertices.
    ByteCount,
    /// Adds to a 64-bit number.
    Add,
    /// Adds up the vertices of draws, or their primitives.
    CountDraws(Option<Order>),
    /// Adds up the threads of a dispatch.
    CountThreads,
}

impl Program {
    /// Threads of a workgroup.
    fn threads(self, lanes: u32) -> u32 {
        match self {
            Program::Fit
            | Program::Place { .. }
            | Program::PlaceTessellated(_)
            | Program::ByteCount
            | Program::Part
            | Program::Add
            | Program::CountDraws(_)
            | Program::CountThreads => 1,
            _ => lanes,
        }
    }

    /// Builds it for sub-groups of `lanes`, a power of two.
    #[must_use]
    pub fn build(self, lanes: u32) -> Shader {
        match self {
            Program::CountTessellated(t) => return tessellate::count(&t, lanes),
            Program::Tessellate(t, worker) => return tessellate::fill(&t, worker, lanes),
            _ => {}
        }
        let mut s = Shader::new(Stage::Compute);
        s.info.workgroup_size = [self.threads(lanes), 1, 1];
        let mut m = MetaBuilder::new(&mut s, lanes);
        match self {
            Program::Unroll { order, index_bytes } => unroll(&mut m, order, index_bytes),
            Program::Place { order, index_bytes, restart } => {
                place::place(&mut m, order, index_bytes, restart)
            }
            Program::Part => lists::part(&mut m),
            Program::Sums => lists::sums(&mut m),
            Program::PlaceTessellated(geometry) => place::place_tessellated(&mut m, geometry),
            Program::Restarts { order, index_bytes } => lists::restarts(&mut m, order, index_bytes),
            Program::Fit => feedback::fit(&mut m),
            Program::ByteCount => feedback::byte_count(&mut m),
            Program::Add => statistics::add(&mut m),
            Program::CountDraws(order) => statistics::count_draws(&mut m, order),
            Program::CountThreads => statistics::count_threads(&mut m),
            Program::CountTessellated(_) | Program::Tessellate(..) => {}
        }
        m.ir.yield_(&[]);
        s
    }
}
