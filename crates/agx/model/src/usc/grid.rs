//! The size of a dispatch.

/// The size of a dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Threads in each direction.
    pub global: [u32; 3],
    /// Threads of a workgroup in each direction.
    pub local: [u32; 3],
}

impl Grid {
    /// Workgroups in each direction; the last of a row may be partial.
    pub fn workgroups(&self) -> [u32; 3] {
        std::array::from_fn(|a| self.global[a].div_ceil(self.local[a].max(1)))
    }
}
