//! Occupancy: how many threads a core has room for, by the registers that they take.

/// Occupancy: (maximum half-registers, resident threads of a core).
/// source: Mesa, agx_performance.c
const OCCUPANCY: [(u16, u16); 10] = [
    (104, 1024),
    (112, 896),
    (128, 832),
    (136, 768),
    (144, 704),
    (160, 640),
    (184, 576),
    (208, 512),
    (232, 448),
    (256, 384),
];

/// The largest number of half-registers that costs no thread compared with `halves`.
#[must_use]
pub fn tier(halves: u16) -> u16 {
    OCCUPANCY.iter().find(|o| halves <= o.0).map_or(256, |o| o.0)
}

/// Resident threads of a core for a number of half-registers.
#[must_use]
pub fn threads(halves: u16) -> u16 {
    OCCUPANCY.iter().find(|o| halves <= o.0).map_or(384, |o| o.1)
}

/// Maximum number of half-registers with which a workgroup of this size fits on a core.
#[must_use]
pub fn registers_for(threads: u32) -> u16 {
    OCCUPANCY.iter().rev().find(|o| u32::from(o.1) >= threads).map_or(104, |o| o.0)
}

#[cfg(test)]
mod tests {
    use super::{threads, tier};

    #[test]
    fn more_registers_leave_fewer_threads() {
        assert_eq!([0, 104, 105, 112, 256].map(threads), [1024, 1024, 896, 896, 384]);
        for halves in 1..=256 {
            assert!(threads(halves) <= threads(halves - 1), "{halves}");
            assert_eq!(threads(tier(halves)), threads(halves), "{halves}");
        }
    }
}
