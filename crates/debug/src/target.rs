//! The pixel or thread of a captured command that a debugger follows.

/// The pixel or thread that the debugger follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DebugTarget {
    /// A pixel of a command that draws: column, row, layer; and the draw whose program is recorded, else the last that
    /// changed its colour, or the last that ran a program for it.
    Pixel([u32; 3], Option<u32>),
    /// A thread of a command that computes: the dispatch, and the thread in the grid.
    Thread(u64, [u32; 3]),
}

/// The workgroup of a thread in the grid, and its number in it, for workgroups of a size.
#[must_use]
pub fn in_workgroup(size: [u32; 3], thread: [u32; 3]) -> ([u32; 3], u32) {
    let size = size.map(|n| n.max(1));
    let [x, y, z] = [0, 1, 2].map(|k| thread[k] % size[k]);
    ([0, 1, 2].map(|k| thread[k] / size[k]), x + size[0] * (y + size[1] * z))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_numbered_in_their_workgroup() {
        assert_eq!(in_workgroup([8, 4, 2], [9, 6, 3]), ([1, 1, 1], 1 + 8 * (2 + 4)));
        assert_eq!(in_workgroup([0, 1, 1], [3, 0, 0]), ([3, 0, 0], 0));
    }
}
