//! Data that commands of a recording point to, as it was last uploaded.

use crate::pushed::WordCopy;

/// Kinds of data that commands point to. A command whose data is that of the command before points to the same copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The driver's table of a program's resources.
    Driver(Stage),
    /// The table of resource tables.
    Resources(Stage),
    /// Fast-access uniforms.
    Fau(Stage),
    /// Attributes and vertex buffers.
    Attributes,
    /// Blend descriptors.
    Blend,
    /// Depth and stencil.
    DepthStencil,
    /// Memory of threads.
    Threads,
}

/// Stages with inputs of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Compute.
    Compute,
    /// Vertex.
    Vertex,
    /// Fragment.
    Fragment,
}

impl Stage {
    pub const COUNT: usize = 3;
}

impl Kind {
    pub const COUNT: usize = 13;

    pub fn index(self) -> usize {
        match self {
            Kind::Attributes => 0,
            Kind::Blend => 1,
            Kind::DepthStencil => 2,
            Kind::Threads => 3,
            Kind::Driver(stage) => 4 + stage as usize,
            Kind::Resources(stage) => 7 + stage as usize,
            Kind::Fau(stage) => 10 + stage as usize,
        }
    }
}

/// The last data of each kind, and its address.
#[derive(Default)]
pub struct Uploaded {
    pub data: [(Vec<u8>, u64); Kind::COUNT],
    /// Uniforms of each stage to which a queue has copied words of uniform buffers.
    pub copied: [Option<Copied>; Stage::COUNT],
}

/// Uniforms to which a queue has copied words of uniform buffers.
pub struct Copied {
    pub bytes: Vec<u8>,
    pub copies: Vec<WordCopy>,
    pub address: u64,
}

impl Uploaded {
    /// Forgets all, as the memory is reused.
    pub fn clear(&mut self) {
        self.data.iter_mut().for_each(|(bytes, at)| {
            bytes.clear();
            *at = 0;
        });
        self.forget_copies();
    }

    /// Forgets words of uniform buffers, which commands may write.
    pub fn forget_copies(&mut self) {
        self.copied = [const { None }; Stage::COUNT];
    }
}
