//! Cache policies.

use tepui_intel_chips::Generation;

/// Cache policy of everything but what a display reads. source: Mesa, isl.c, `isl_device_init` (`mocs.internal`)
pub fn mocs(generation: Generation) -> u8 {
    match generation {
        Generation::Gen9 => 2 << 1,
        Generation::Gen12 => 3 << 1,
    }
}
