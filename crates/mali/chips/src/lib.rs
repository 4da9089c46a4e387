//! The table of Mali GPUs: name, product id, architecture.
//!
//! [`CHIPS`] lists the GPUs that Panfrost supports. Everything else that layouts, drivers and
//! models need to know follows from [`Chip::arch`], except the compressed texture formats, which
//! each system-on-chip chooses ([`texture`]).
//!
//! ```
//! let g52 = tepui_mali_chips::chip("mali-g52").unwrap();
//! assert_eq!((g52.product_id, g52.arch.to_string().as_str()), (0x7212, "Bifrost (v7)"));
//! ```
//!
//! source: Mesa, `src/panfrost/lib/pan_props.c` (`panfrost_model_list`), `pan_props.h`
//! (`pan_arch`).

#![allow(non_snake_case)] // `_B` is the suffix of byte counts throughout.

pub mod registers;
pub mod texture;

use std::fmt;

/// A Mali GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chip {
    /// The name on the command line, such as `mali-g52`.
    pub id: &'static str,
    /// Arm's name, such as `Mali-G52`.
    pub name: &'static str,
    /// The product id that the kernel reports (`GPU_PROD_ID`).
    pub product_id: u32,
    /// Its architecture.
    pub arch: Arch,
    /// Size of a core's tile buffer in bytes.
    pub tilebuffer_B: u32,
}

impl Chip {
    /// Whether the texture unit has no registers of its own, as on some Midgard GPUs: its operands are in registers of
    /// the load/store unit, its results in the first two work registers.
    ///
    // source: Mesa, midgard_quirks.h (MIDGARD_INTERPIPE_REG_ALIASING).
    pub const fn shares_texture_registers(&self) -> bool {
        matches!(self.product_id, 0x720 | 0x820 | 0x830)
    }
}

/// A Mali architecture: v4 and v5 are called Midgard, v6 and v7 Bifrost, v9 and v10 Valhall.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Arch(pub u8);

impl Arch {
    /// The architecture's name.
    pub const fn family(self) -> &'static str {
        match self.0 {
            0..=5 => "Midgard",
            6..=7 => "Bifrost",
            _ => "Valhall",
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (v{})", self.family(), self.0)
    }
}

macro_rules! chips {
    ($($id:literal $name:literal $product_id:literal v $arch:literal, $tilebuffer_B:literal;)*) => {
        /// Every Mali GPU of the table, by architecture.
        pub const CHIPS: &[Chip] = &[$(Chip {
            id: $id,
            name: $name,
            product_id: $product_id,
            arch: Arch($arch),
            tilebuffer_B: $tilebuffer_B,
        },)*];
    };
}

chips! {
    "mali-t600" "Mali-T600" 0x600 v 4, 8192;
    "mali-t620" "Mali-T620" 0x620 v 4, 8192;
    "mali-t720" "Mali-T720" 0x720 v 4, 8192;
    "mali-t760" "Mali-T760" 0x750 v 5, 8192;
    "mali-t820" "Mali-T820" 0x820 v 5, 8192;
    "mali-t830" "Mali-T830" 0x830 v 5, 8192;
    "mali-t860" "Mali-T860" 0x860 v 5, 8192;
    "mali-t880" "Mali-T880" 0x880 v 5, 8192;
    "mali-g71" "Mali-G71" 0x6000 v 6, 8192;
    "mali-g72" "Mali-G72" 0x6221 v 6, 16384;
    "mali-g51" "Mali-G51" 0x7090 v 7, 16384;
    "mali-g31" "Mali-G31" 0x7093 v 7, 16384;
    "mali-g76" "Mali-G76" 0x7211 v 7, 16384;
    "mali-g52" "Mali-G52" 0x7212 v 7, 16384;
    "mali-g52-r1" "Mali-G52 r1" 0x7402 v 7, 16384;
    "mali-g57" "Mali-G57" 0x9093 v 9, 16384;
    "mali-g57-r0" "Mali-G57" 0x9091 v 9, 16384;
    "mali-g310" "Mali-G310" 0xac74 v 10, 16384;
    "mali-g610" "Mali-G610" 0xa867 v 10, 32768;
}

/// The chip with a name, in upper or lower case.
pub fn chip(id: &str) -> Option<&'static Chip> {
    CHIPS.iter().find(|c| c.id.eq_ignore_ascii_case(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// source: Mesa, pan_props.h: from Bifrost on, the architecture is the id's top nibble.
    #[test]
    fn product_ids_carry_the_architecture() {
        for chip in CHIPS {
            if chip.product_id >= 0x1000 {
                assert_eq!(chip.product_id >> 12, u32::from(chip.arch.0), "{}", chip.id);
            } else {
                assert_eq!(chip.arch.family(), "Midgard");
            }
        }
        assert_eq!(chip("Mali-G52").unwrap().product_id, 0x7212);
        assert_eq!(chip("mali-t720").unwrap().arch, Arch(4));
        assert!(chip("mali-g999").is_none());
    }
}
