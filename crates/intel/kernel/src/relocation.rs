//! Relocations: positions in buffers that hold addresses of others, for clients that let the kernel choose
//! addresses.
//!
//! source: i915_gem_execbuffer.c (`eb_relocate_vma`, `eb_relocate_entry`, `relocate_entry`), i915_drm.h.

use std::collections::HashMap;
use std::mem::offset_of;
use std::sync::Arc;

use tepui_drm::Errno;
use tepui_drm::gem::Gem;
use tepui_drm::refusal::{Refusal, require};
use tepui_drm::uapi::i915::{self as uapi, ExecObject2, Execbuffer2, RelocationEntry, exec};
use tepui_drm::user::{UserMemory, read_array};

use crate::gem::buffer;
use crate::vm::canonical;

/// Bytes of an address in a buffer: two double words since Gen8.
const ADDRESS_BYTES: u64 = 8;

/// Writes the addresses of buffers at the positions of relocations, unless the client has already written
/// them; returns for each buffer whether a relocation says that it is written.
///
/// # Errors
/// `ENOENT` for a target that the submission does not name, `EINVAL` for a bad position or domain.
pub(crate) fn relocate(
    user: &dyn UserMemory,
    args: &Execbuffer2,
    objects: &[ExecObject2],
    gems: &[Arc<Gem>],
    addresses: &[u64],
) -> Result<Vec<bool>, Refusal> {
    let mut written = vec![false; objects.len()];
    // With NO_RELOC the client promises that addresses are right if no buffer has moved.
    let moved = objects.iter().zip(addresses).any(|(o, &at)| o.offset != canonical(at));
    if args.flags & exec::NO_RELOC != 0 && !moved {
        return Ok(written);
    }
    let by_handle: HashMap<u32, usize> =
        objects.iter().enumerate().map(|(index, object)| (object.handle, index)).collect();
    let target = |handle: u32| match args.flags & exec::HANDLE_LUT {
        0 => by_handle.get(&handle).copied(),
        _ => usize::try_from(handle).ok().filter(|&index| index < objects.len()),
    };
    for (object, gem) in objects.iter().zip(gems) {
        if object.relocation_count == 0 {
            continue;
        }
        buffer(gem)?.require_own(Errno::FAULT)?;
        let count = object.relocation_count as usize;
        let entries = read_array::<RelocationEntry>(user, object.relocs_ptr, count)?;
        // Submissions that are still running may read the old address.
        gem.users(true).wait().ok();
        for (index, entry) in entries.iter().enumerate() {
            let to = target(entry.target_handle).ok_or(Refusal {
                errno: Errno::NOENT,
                why: "a relocation's target is not in the submission",
            })?;
            check(entry, gem.size())?;
            written[to] |= entry.write_domain != 0;
            let address = canonical(addresses[to]);
            if address == entry.presumed_offset {
                continue;
            }
            let value = canonical(addresses[to].wrapping_add(entry.delta.into())).to_le_bytes();
            // SAFETY: the place was checked against the buffer, whose mapping lives as long as `gem`.
            unsafe {
                let place = gem.base().add(entry.offset as usize);
                std::ptr::copy_nonoverlapping(value.as_ptr(), place, value.len());
            }
            let at =
                index * size_of::<RelocationEntry>() + offset_of!(RelocationEntry, presumed_offset);
            let at = object.relocs_ptr.checked_add(at as u64).ok_or(Errno::FAULT)?;
            user.write(at, &address.to_le_bytes())?;
        }
    }
    Ok(written)
}

fn check(entry: &RelocationEntry, size: u64) -> Result<(), Refusal> {
    require(
        entry.write_domain & entry.write_domain.wrapping_sub(1) == 0,
        "a relocation writes in several domains",
    )?;
    require(
        (entry.write_domain | entry.read_domains) & !uapi::DOMAINS_OF_GPU == 0,
        "a relocation has a domain that is not the GPU's",
    )?;
    let end = entry.offset.checked_add(ADDRESS_BYTES);
    require(end.is_some_and(|end| end <= size), "a relocation leaves its buffer")?;
    require(entry.offset.is_multiple_of(4), "a relocation is not at a double word")
}

/// Writes the addresses of buffers back to the client.
pub(crate) fn tell(
    user: &dyn UserMemory,
    args: &Execbuffer2,
    objects: &[ExecObject2],
    addresses: &[u64],
) -> Result<(), Refusal> {
    for (index, (object, &address)) in objects.iter().zip(addresses).enumerate() {
        if object.offset == canonical(address) {
            continue;
        }
        let at = index * size_of::<ExecObject2>() + offset_of!(ExecObject2, offset);
        let at = args.buffers_ptr.checked_add(at as u64).ok_or(Errno::FAULT)?;
        user.write(at, &canonical(address).to_le_bytes())?;
    }
    Ok(())
}
