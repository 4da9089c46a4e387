//! Facts about a chip in the kernel interface: its PCI node and the parameters of GETPARAM.

use tepui_drm::Errno;
use tepui_drm::device::{Bus, Node, PciAddress, PciIds};
use tepui_drm::uapi::i915::param;
use tepui_intel_chips::{Chip, VENDOR_ID};

/// Bytes of a page of an address space.
pub const PAGE_BYTES: u64 = 1 << PAGE_SHIFT;
/// Logarithm of [`PAGE_BYTES`].
pub const PAGE_SHIFT: u32 = 12;
/// Bits of a GPU address.
pub const VA_BITS: u32 = 48;

/// Size of the global address space, as reported by GET_APERTURE.
pub const APERTURE_BYTES: u64 = 1 << 32;

/// The revision in sysfs and GETPARAM. A choice: a late stepping of Skylake GT2; drivers have workarounds for
/// early ones.
pub const REVISION: u8 = 6;

/// The PCI node of a chip. All of Intel's integrated GPUs are the function 00:02.0.
pub fn node(chip: &Chip) -> Node {
    Node {
        driver: crate::DRIVER.name.into(),
        bus: Bus::Pci {
            address: PciAddress { domain: 0, bus: 0, device: 2, function: 0 },
            ids: PciIds {
                vendor: VENDOR_ID,
                device: chip.device_id,
                subsystem_vendor: VENDOR_ID,
                subsystem_device: 0x2212,
                revision: REVISION,
                class: 0x03_0000,
            },
        },
    }
}

/// The value of a parameter of GETPARAM.
///
/// # Errors
/// `EINVAL` for an unknown parameter, `ENODEV` for one that the chip does not have.
///
/// source: i915_drm.h; the set of parameters and values on Gen9 and Gen12 is that of
/// drivers/gpu/drm/i915/i915_getparam.c.
pub fn parameter(chip: &Chip, which: i32) -> Result<i32, Errno> {
    let slice_mask = (1 << chip.slices) - 1;
    let subslice_mask = (1 << chip.subslices_per_slice) - 1;
    Ok(match which {
        param::CHIPSET_ID => i32::from(chip.device_id),
        param::REVISION => i32::from(REVISION),
        param::NUM_FENCES_AVAIL => 32,
        param::HAS_GEM
        | param::HAS_EXECBUF2
        | param::HAS_RELAXED_FENCING
        | param::HAS_COHERENT_RINGS
        | param::HAS_RELAXED_DELTA
        | param::HAS_GEN7_SOL_RESET
        | param::HAS_WAIT_TIMEOUT
        | param::HAS_PRIME_VMAP_FLUSH
        | param::HAS_PINNED_BATCHES
        | param::HAS_EXEC_NO_RELOC
        | param::HAS_EXEC_HANDLE_LUT
        | param::HAS_COHERENT_PHYS_GTT
        | param::HAS_EXEC_SOFTPIN
        | param::HAS_EXEC_ASYNC
        | param::HAS_EXEC_FENCE
        | param::HAS_EXEC_CAPTURE
        | param::HAS_EXEC_BATCH_FIRST
        | param::HAS_EXEC_FENCE_ARRAY
        | param::HAS_EXEC_SUBMIT_FENCE
        | param::HAS_EXEC_TIMELINE_FENCES
        | param::HAS_USERPTR_PROBE
        | param::HAS_PAGEFLIPPING
        | param::IRQ_ACTIVE
        | param::HAS_BLT
        | param::HAS_BSD
        | param::HAS_VEBOX
        | param::HAS_LLC => 1,
        // Only the render engine isolates contexts: the bit of its class.
        param::HAS_CONTEXT_ISOLATION => 1,
        // Full PPGTT with 48 bits.
        param::HAS_ALIASING_PPGTT => 3,
        param::MMAP_VERSION => 1,
        param::MMAP_GTT_VERSION => 4,
        param::MMAP_GTT_COHERENT => 1,
        // Scheduler with priorities, no preemption of batches.
        param::HAS_SCHEDULER => 3,
        param::HAS_GPU_RESET => 2,
        param::CMD_PARSER_VERSION => 0,
        param::SUBSLICE_TOTAL => (chip.slices * chip.subslices_per_slice) as i32,
        param::EU_TOTAL => chip.eus() as i32,
        param::SLICE_MASK => slice_mask,
        param::SUBSLICE_MASK => subslice_mask,
        param::CS_TIMESTAMP_FREQUENCY | param::OA_TIMESTAMP_FREQUENCY => chip.timestamp_hz as i32,
        param::PERF_REVISION => 5,
        param::HAS_OVERLAY
        | param::HAS_SEMAPHORES
        | param::HAS_EXEC_CONSTANTS
        | param::HAS_SECURE_BATCHES
        | param::HAS_WT
        | param::HAS_BSD2
        | param::HAS_RESOURCE_STREAMER
        | param::HAS_POOLED_EU
        | param::MIN_EU_IN_POOL
        | param::HUC_STATUS
        | param::HAS_CONTEXT_FREQ_HINT => 0,
        param::PXP_STATUS => return Err(Errno::NODEV),
        _ => return Err(Errno::INVAL),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_follow_the_chip() {
        for chip in tepui_intel_chips::CHIPS {
            assert_eq!(parameter(chip, param::CHIPSET_ID), Ok(chip.device_id.into()));
            assert_eq!(parameter(chip, param::EU_TOTAL), Ok(chip.eus() as i32));
            assert_eq!(parameter(chip, param::PXP_STATUS), Err(Errno::NODEV));
            assert_eq!(parameter(chip, 1000), Err(Errno::INVAL));
        }
    }
}
