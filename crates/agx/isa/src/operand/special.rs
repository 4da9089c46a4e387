//! Special registers.

use core::fmt;

/// A special register.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SpecialReg(pub u8);

impl SpecialReg {
    // source: applegpu.py, SR_NAMES; those marked (Mesa) from agx_opcodes.py, SR
    const NAMES: &'static [(u8, &'static str)] = &[
        (0, "threadgroup_position_in_grid.x"),
        (1, "threadgroup_position_in_grid.y"),
        (2, "threadgroup_position_in_grid.z"),
        (4, "threads_per_threadgroup.x"),
        (5, "threads_per_threadgroup.y"),
        (6, "threads_per_threadgroup.z"),
        (8, "dispatch_threads_per_threadgroup.x"),
        (9, "dispatch_threads_per_threadgroup.y"),
        (10, "dispatch_threads_per_threadgroup.z"),
        (14, "samples_log2"), // (Mesa)
        (20, "core_index"),
        (21, "vm_slot"),
        (48, "thread_position_in_threadgroup.x"),
        (49, "thread_position_in_threadgroup.y"),
        (50, "thread_position_in_threadgroup.z"),
        (51, "thread_index_in_threadgroup"),
        (52, "thread_index_in_simdgroup"),
        (53, "simdgroup_index_in_threadgroup"),
        (56, "active_thread_index_in_quadgroup"),
        (57, "total_active_threads_in_quadgroup"), // (Mesa)
        (58, "active_thread_index_in_simdgroup"),
        (59, "total_active_threads_in_simdgroup"), // (Mesa)
        (60, "internal_coverage_mask"),
        (62, "backfacing"),
        (63, "is_active_thread"),
        (80, "thread_position_in_grid.x"),
        (81, "thread_position_in_grid.y"),
        (82, "thread_position_in_grid.z"),
        (124, "input_sample_mask"),
        (144, "opfifo_cmd"),
        (146, "opfifo_data_l"),
        (147, "opfifo_data_h"),
    ];

    /// Its name, if its meaning is known.
    pub fn name(self) -> Option<&'static str> {
        Self::NAMES.iter().find(|(n, _)| *n == self.0).map(|(_, name)| *name)
    }

    /// All special registers with a known meaning.
    pub fn named() -> impl Iterator<Item = (SpecialReg, &'static str)> {
        Self::NAMES.iter().map(|(n, name)| (SpecialReg(*n), *name))
    }
}

impl fmt::Display for SpecialReg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "sr{} ({name})", self.0),
            None => write!(f, "sr{}", self.0),
        }
    }
}
