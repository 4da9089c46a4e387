//! The registry of GPUs: one list of chips of all families.
//!
//! A [`Gpu`] names a chip of one family's table. [`Gpu::support`] says which features work for it, and
//! the modules provide them: [`device`] a virtual GPU with its kernel interface, [`isa`] its assembler,
//! disassembler and manual, [`capture`] decoding and replay of captures. The command line, the
//! preloaded library and the tests know GPUs only through this crate, so that a new chip or a new
//! family is added only here.
//!
//! ```
//! use tepui_gpus::{Feature, Gpu};
//!
//! let gpu: Gpu = "m1".parse()?;
//! assert_eq!(gpu.name(), "Apple M1");
//! assert!(gpu.require(Feature::Compiler).is_ok());
//! # Ok::<(), tepui_gpus::UnknownGpu>(())
//! ```

#[cfg(feature = "capture")]
pub mod capture;
#[cfg(feature = "device")]
pub mod counts;
#[cfg(feature = "device")]
pub mod device;
#[cfg(feature = "isa")]
pub mod isa;
#[cfg(feature = "vulkan")]
pub mod vulkan;

use std::fmt;
use std::str::FromStr;

pub use tepui_agx_chips as agx;
pub use tepui_intel_chips as intel;
pub use tepui_mali_chips as mali;

/// A family of GPUs, as its kernel drivers divide them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// Apple AGX.
    Agx,
    /// Arm Mali.
    Mali,
    /// Intel.
    Intel,
}

impl Family {
    /// The family that a DRM driver of the kernel serves.
    ///
    /// ```
    /// assert_eq!(tepui_gpus::Family::of_driver("asahi"), Some(tepui_gpus::Family::Agx));
    /// ```
    pub fn of_driver(name: &str) -> Option<Family> {
        match name {
            "asahi" => Some(Family::Agx),
            "panfrost" | "panthor" => Some(Family::Mali),
            "i915" | "xe" => Some(Family::Intel),
            _ => None,
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Family::Agx => "Apple AGX",
            Family::Mali => "Arm Mali",
            Family::Intel => "Intel",
        })
    }
}

/// A GPU: a chip of one family's table.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Gpu {
    /// An Apple GPU.
    Agx(&'static agx::Chip),
    /// An Arm GPU.
    Mali(&'static mali::Chip),
    /// An Intel GPU.
    Intel(&'static intel::Chip),
}

/// A thing that Tepui can do with a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Feature {
    /// A virtual GPU that executes what a driver submits: `tepui shim`, `trace`, `replay`.
    Model,
    /// Shaders to machine code: `tepui compile`, `exec`.
    Compiler,
    /// A Vulkan driver: `tepui run`, `libvulkan_tepui.so`.
    Driver,
    /// Assembler, disassembler and manual: `tepui asm`, `disasm`, `isa`.
    Isa,
    /// Image layouts, tiling and formats: `tepui layout`, `tile`, `detile`, `formats`.
    Layout,
}

impl Feature {
    /// All features, in the order in which tables show them.
    pub const ALL: [Feature; 5] =
        [Feature::Model, Feature::Compiler, Feature::Driver, Feature::Isa, Feature::Layout];
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Feature::Model => "model",
            Feature::Compiler => "compiler",
            Feature::Driver => "driver",
            Feature::Isa => "isa",
            Feature::Layout => "layout",
        })
    }
}

/// GPUs on whose models drivers and programs run in tests, which compare what they draw and compute with independent references:
/// `tests/witness`, `tests/gles` and `tests/programs`.
const TESTED_MODELS: [&str; 10] = [
    "m1",
    "m1-pro",
    "mali-t720",
    "mali-t860",
    "mali-g72",
    "mali-g52",
    "mali-g57",
    "mali-g610",
    "skl",
    "tgl",
];

/// Level of support of a feature for a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// It works, and tests on this GPU compare it with independent references.
    Tested,
    /// It works as for another chip of the generation, and tests run on that chip alone.
    Untested,
    /// It works in part, tested as [`Support::Tested`]; what is missing is refused by its name.
    Partial,
    /// It is not implemented.
    Missing,
}

impl fmt::Display for Support {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Support::Tested => "yes",
            Support::Untested => "untested",
            Support::Partial => "in part",
            Support::Missing => "-",
        })
    }
}

/// A GPU lacks a feature.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no {feature} for {}; there is one for {}", .gpu.id(), having(*.feature))]
pub struct Unsupported {
    /// The GPU.
    pub gpu: Gpu,
    /// The missing feature.
    pub feature: Feature,
}

/// No GPU has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no GPU '{name}'; there are {}", names(Gpu::all()))]
pub struct UnknownGpu {
    /// The name as given, at most 80 characters of it.
    pub name: String,
}

fn names(gpus: impl Iterator<Item = Gpu>) -> String {
    gpus.map(Gpu::id).collect::<Vec<_>>().join(", ")
}

fn having(feature: Feature) -> String {
    names(Gpu::having(feature))
}

impl Gpu {
    /// Every GPU of the registry, family by family.
    pub fn all() -> impl Iterator<Item = Gpu> {
        let agx = agx::CHIPS.iter().map(Gpu::Agx);
        agx.chain(mali::CHIPS.iter().map(Gpu::Mali)).chain(intel::CHIPS.iter().map(Gpu::Intel))
    }

    /// The GPUs that have a feature.
    pub fn having(feature: Feature) -> impl Iterator<Item = Gpu> {
        Gpu::all().filter(move |gpu| gpu.support(feature) != Support::Missing)
    }

    /// The name that commands take, as `m1` or `mali-g52`.
    pub fn id(self) -> &'static str {
        match self {
            Gpu::Agx(chip) => chip.id,
            Gpu::Mali(chip) => chip.id,
            Gpu::Intel(chip) => chip.id,
        }
    }

    /// The vendor's name for the product.
    pub fn name(self) -> &'static str {
        match self {
            Gpu::Agx(chip) => chip.name,
            Gpu::Mali(chip) => chip.name,
            Gpu::Intel(chip) => chip.name,
        }
    }

    /// The family.
    pub fn family(self) -> Family {
        match self {
            Gpu::Agx(_) => Family::Agx,
            Gpu::Mali(_) => Family::Mali,
            Gpu::Intel(_) => Family::Intel,
        }
    }

    /// The architecture, as `G13G B0` or `Bifrost (v7)`.
    pub fn architecture(self) -> String {
        match self {
            Gpu::Agx(chip) => chip.gpu_name(),
            Gpu::Mali(chip) => chip.arch.to_string(),
            Gpu::Intel(chip) => chip.generation.to_string(),
        }
    }

    /// The number by which the kernel's driver knows the chip: the SoC (AGX), the product id
    /// (Mali) or the PCI device id (Intel).
    pub fn chip_id(self) -> u32 {
        match self {
            Gpu::Agx(chip) => chip.soc,
            Gpu::Mali(chip) => chip.product_id,
            Gpu::Intel(chip) => chip.device_id.into(),
        }
    }

    /// Shader cores of the product, where the family's table says so.
    pub fn cores(self) -> Option<u32> {
        match self {
            Gpu::Agx(chip) => Some(chip.cores()),
            // A licensee chooses.
            Gpu::Mali(_) => None,
            Gpu::Intel(chip) => Some(chip.slices * chip.subslices_per_slice),
        }
    }

    /// The level of support of a feature for this GPU.
    pub fn support(self, feature: Feature) -> Support {
        let tested_if = |tested| if tested { Support::Tested } else { Support::Untested };
        let has_tested_model = TESTED_MODELS.contains(&self.id());
        match (self, feature) {
            (Gpu::Agx(_) | Gpu::Mali(_), Feature::Layout) => Support::Tested,
            (Gpu::Agx(_), Feature::Model) => tested_if(has_tested_model),
            // Framebuffers and textures of older Mali GPUs are others.
            (Gpu::Mali(chip), Feature::Model) if chip.arch.0 >= 4 => tested_if(has_tested_model),
            (Gpu::Intel(_), Feature::Model) if has_tested_model => Support::Tested,
            // It is unknown what G13S, G13C and G14G execute that G13G does not.
            (Gpu::Agx(chip), Feature::Isa) => tested_if(chip.id == "m1"),
            // G13S and G13C want instructions for coherency between clusters, and G14G has opcodes
            // of its own (source: Mesa, agx_compile.h, `needs_g13x_coherency`).
            (Gpu::Agx(chip), Feature::Compiler | Feature::Driver) if chip.id == "m1" => {
                Support::Tested
            }
            // Compute shaders with buffers.
            (Gpu::Intel(_), Feature::Compiler) => Support::Partial,
            // The families before Valhall have instruction sets of their own.
            (Gpu::Mali(chip), Feature::Compiler) if matches!(chip.arch.0, 9 | 10) => {
                Support::Partial
            }
            // Some extensions are missing.
            (Gpu::Intel(_), Feature::Driver) => Support::Partial,
            (Gpu::Mali(chip), Feature::Driver) if matches!(chip.id, "mali-g57" | "mali-g610") => {
                Support::Partial
            }
            (Gpu::Intel(chip), Feature::Layout) if chip.id == "skl" => Support::Tested,
            (Gpu::Intel(_) | Gpu::Mali(_), Feature::Isa) => Support::Tested,
            _ => Support::Missing,
        }
    }

    /// The GPU itself if it has a feature.
    ///
    /// # Errors
    /// The feature is missing; the message names the GPUs that have it.
    pub fn require(self, feature: Feature) -> Result<Gpu, Unsupported> {
        match self.support(feature) {
            Support::Missing => Err(Unsupported { gpu: self, feature }),
            _ => Ok(self),
        }
    }
}

impl fmt::Debug for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

impl FromStr for Gpu {
    type Err = UnknownGpu;

    fn from_str(id: &str) -> Result<Gpu, UnknownGpu> {
        let agx = agx::chip(id).map(Gpu::Agx);
        agx.or_else(|| mali::chip(id).map(Gpu::Mali))
            .or_else(|| intel::chip(id).map(Gpu::Intel))
            .ok_or_else(|| UnknownGpu { name: id.chars().take(80).collect() })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_unique_and_lead_back() {
        let mut seen = HashSet::new();
        for gpu in Gpu::all() {
            assert!(seen.insert(gpu.id()), "{gpu:?} twice");
            assert_eq!(gpu.id().to_uppercase().parse(), Ok(gpu));
        }
        assert!(seen.len() > 20);
    }

    #[test]
    fn errors_name_what_there_is() {
        let unknown = "m9".parse::<Gpu>().unwrap_err().to_string();
        assert!(unknown.starts_with("no GPU 'm9'; there are m1, "), "{unknown}");
        let m2: Gpu = "m2".parse().unwrap();
        assert_eq!(
            m2.require(Feature::Compiler).unwrap_err().to_string(),
            "there is no compiler for m2; there is one for m1, mali-g57, mali-g57-r0, mali-g310, mali-g610, skl, tgl"
        );
    }
}
