//! The Intel GPUs by name.
//!
//! [`CHIPS`] is the table of the GPUs that Tepui can emulate. All else that instruction sets, packets,
//! layouts and models need to know follows from the [`Generation`].
//!
//! ```
//! let skl = tepui_intel_chips::chip("skl").unwrap();
//! assert_eq!((skl.device_id, skl.generation.to_string().as_str()), (0x1912, "Gen9"));
//! ```
//!
//! source: Mesa, `src/intel/dev/intel_device_info.c` (counts, clocks), `include/pci_ids/iris_pci_ids.h` (ids, names).

use std::fmt;

/// Intel's number as a PCI vendor.
pub const VENDOR_ID: u16 = 0x8086;

/// A generation of Intel's GPUs: one encoding of instructions, one set of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Generation {
    /// Skylake and its successors up to Comet Lake.
    Gen9,
    /// Xe-LP: Tiger Lake, Rocket Lake, Alder Lake.
    Gen12,
}

impl Generation {
    /// All generations, the oldest first.
    pub const ALL: [Generation; 2] = [Generation::Gen9, Generation::Gen12];

    /// The version times ten, as Mesa writes it (`verx10`): 90, 120.
    pub const fn verx10(self) -> u32 {
        match self {
            Generation::Gen9 => 90,
            Generation::Gen12 => 120,
        }
    }

    /// Bytes of a general register.
    pub const fn register_bytes(self) -> usize {
        match self {
            Generation::Gen9 | Generation::Gen12 => 32,
        }
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Generation::Gen9 => "Gen9",
            Generation::Gen12 => "Gen12",
        })
    }
}

/// An Intel GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chip {
    /// The name on the command line, such as `skl`: Mesa's name of the platform.
    pub id: &'static str,
    /// The product's name.
    pub name: &'static str,
    /// PCI device id.
    pub device_id: u16,
    /// The generation.
    pub generation: Generation,
    /// GT number: the size of the GPU within its platform.
    pub gt: u8,
    /// Slices.
    pub slices: u32,
    /// Subslices of each slice; dual subslices from Gen12 on.
    pub subslices_per_slice: u32,
    /// Execution units of each subslice.
    pub eus_per_subslice: u32,
    /// Hardware threads of each execution unit.
    pub threads_per_eu: u32,
    /// Banks of the L3 cache.
    pub l3_banks: u32,
    /// Ticks of the command streamer's timestamp in a second.
    pub timestamp_hz: u32,
}

/// Every Intel GPU of the table.
pub const CHIPS: &[Chip] = &[
    Chip {
        id: "skl",
        name: "Intel HD Graphics 530 (Skylake GT2)",
        device_id: 0x1912,
        generation: Generation::Gen9,
        gt: 2,
        slices: 1,
        subslices_per_slice: 3,
        eus_per_subslice: 8,
        threads_per_eu: 7,
        l3_banks: 4,
        timestamp_hz: 12_000_000,
    },
    Chip {
        id: "tgl",
        name: "Intel Iris Xe Graphics (Tiger Lake GT2)",
        device_id: 0x9a49,
        generation: Generation::Gen12,
        gt: 2,
        slices: 1,
        subslices_per_slice: 6,
        eus_per_subslice: 16,
        threads_per_eu: 7,
        l3_banks: 8,
        timestamp_hz: 19_200_000,
    },
];

impl Chip {
    /// Number of all execution units.
    pub const fn eus(&self) -> u32 {
        self.slices * self.subslices_per_slice * self.eus_per_subslice
    }

    /// Number of all hardware threads.
    pub const fn threads(&self) -> u32 {
        self.eus() * self.threads_per_eu
    }
}

/// The chip with a name, in upper or lower case.
pub fn chip(id: &str) -> Option<&'static Chip> {
    CHIPS.iter().find(|chip| chip.id.eq_ignore_ascii_case(id))
}

/// The chip with a PCI device id.
pub fn with_device_id(device_id: u16) -> Option<&'static Chip> {
    CHIPS.iter().find(|chip| chip.device_id == device_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_ids_lead_to_the_chips() {
        for chip in CHIPS {
            assert_eq!(super::chip(&chip.id.to_uppercase()), Some(chip));
            assert_eq!(with_device_id(chip.device_id), Some(chip));
        }
        // The public counts: 24 execution units of the HD 530, 96 of the Iris Xe.
        assert_eq!(chip("skl").map(Chip::eus), Some(24));
        assert_eq!(chip("tgl").map(Chip::eus), Some(96));
        assert!(chip("xyz").is_none());
    }
}
