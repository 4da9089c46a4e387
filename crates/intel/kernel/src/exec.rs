//! EXECBUFFER2: checks a submission and decodes it.

use std::collections::HashSet;
use std::sync::Arc;

use tepui_drm::Errno;
use tepui_drm::core::{CoreFile, put_fence};
use tepui_drm::fence::Fence;
use tepui_drm::gem::Gem;
use tepui_drm::refusal::{Refusal, require};
use tepui_drm::sync_file;
use tepui_drm::syncobj::Syncobj;
use tepui_drm::uapi::i915::{
    self as uapi, ExecFence, ExecObject2, ExecTimelineFences, Execbuffer2, exec, exec_object,
};
use tepui_drm::user::{UserMemory, read_array, read_value};
use tepui_intel_model::Batch;

use crate::chips::{PAGE_BYTES, VA_BITS};
use crate::extension;
use crate::gem::{PinnedBuffer, buffer};
use crate::relocation;
use crate::vm::{Vm, of_canonical};

/// Limit on the buffers and the fences of a submission. A choice, far above what clients use.
const MAX_ITEMS: u64 = 1 << 20;

/// A checked submission.
pub(crate) struct Checked {
    pub buffers: Vec<PinnedBuffer>,
    pub batch: Batch,
    pub waits: Vec<Fence>,
    /// Sync objects to signal, with the timeline point or 0.
    pub signals: Vec<(Arc<Syncobj>, u64)>,
    /// The buffers with their implicit use: written or only read.
    pub users: Vec<(Arc<Gem>, bool)>,
}

/// Checks a submission.
///
/// # Errors
/// Errors of the interface: `EINVAL` for a bad argument, `ENOENT` for an unknown handle, `EPERM` for
/// operations that need privileges, `ENOSPC` for buffers that overlap.
///
/// source: i915_drm.h; the order of checks is that of i915_gem_execbuffer.c.
pub(crate) fn check(
    core: &CoreFile,
    user: &dyn UserMemory,
    vm: &Vm,
    args: &Execbuffer2,
) -> Result<Checked, Refusal> {
    check_flags(args)?;
    require(
        args.buffer_count > 0 && u64::from(args.buffer_count) <= MAX_ITEMS,
        "buffer_count is 0 or too large",
    )?;
    let objects = read_array::<ExecObject2>(user, args.buffers_ptr, args.buffer_count as usize)?;
    let mut gems = Vec::with_capacity(objects.len());
    let mut seen = HashSet::with_capacity(objects.len());
    for object in &objects {
        check_object(object)?;
        require(seen.insert(object.handle), "a handle is named twice")?;
        let gem = core
            .gem(object.handle)
            .map_err(|errno| Refusal { errno, why: "no buffer has this handle" })?;
        if !buffer(&gem)?.memory.is_mapped() {
            let why = "the client has unmapped its own pages";
            return Err(Refusal { errno: Errno::FAULT, why });
        }
        gems.push(gem);
    }
    let addresses = addresses(vm, &objects, &gems)?;
    let written = relocation::relocate(user, args, &objects, &gems, &addresses)?;
    relocation::tell(user, args, &objects, &addresses)?;
    let mut buffers = Vec::with_capacity(objects.len());
    let mut users = Vec::with_capacity(objects.len());
    let mut waits = Vec::new();
    for (((object, gem), address), written) in objects.iter().zip(gems).zip(addresses).zip(written)
    {
        let writes = written || object.flags & exec_object::WRITE != 0;
        if object.flags & exec_object::ASYNC == 0 {
            let earlier = gem.users(writes);
            if !earlier.is_signaled() {
                waits.push(earlier);
            }
        }
        users.push((gem.clone(), writes));
        buffers.push(PinnedBuffer { gem, address });
    }

    let first = args.flags & exec::BATCH_FIRST != 0;
    let index = if first { 0 } else { objects.len() - 1 };
    require(objects[index].flags & exec_object::WRITE == 0, "the batch is written")?;
    let PinnedBuffer { gem, address } = &buffers[index];
    let start = u64::from(args.batch_start_offset);
    let length = match args.batch_len {
        0 => gem.size().saturating_sub(start),
        length => u64::from(length),
    };
    require(
        length > 0 && start.checked_add(length).is_some_and(|end| end <= gem.size()),
        "the batch leaves its buffer",
    )?;
    let batch = Batch { address: address + start, length };

    let mut signals = Vec::new();
    fences(core, user, args, &mut waits, &mut signals)?;
    Ok(Checked { buffers, batch, waits, signals, users })
}

fn check_flags(args: &Execbuffer2) -> Result<(), Refusal> {
    require(args.flags & !exec::KNOWN == 0, "unknown flags")?;
    require(args.flags & exec::CONSTANTS_MASK == 0, "constant addressing modes ended with Gen8")?;
    require(args.flags & exec::GEN7_SOL_RESET == 0, "GEN7_SOL_RESET is of Gen7")?;
    require(args.flags & exec::RESOURCE_STREAMER == 0, "there is no resource streamer")?;
    require(args.flags & exec::BSD_MASK == 0, "there is one video ring at most")?;
    if args.flags & exec::SECURE != 0 {
        return Err(Refusal { errno: Errno::PERM, why: "secure batches need privileges" });
    }
    let lists = exec::FENCE_ARRAY | exec::USE_EXTENSIONS;
    require(args.flags & lists != lists, "a fence array excludes extensions")?;
    require(
        args.flags & lists != 0 || (args.num_cliprects == 0 && args.cliprects_ptr == 0),
        "there are clip rectangles",
    )?;
    require(args.dr1 == 0 && matches!(args.dr4, 0 | u32::MAX), "DR1 or DR4 are not 0")?;
    require(
        (args.batch_start_offset | args.batch_len).is_multiple_of(8),
        "the batch's start or length is not a multiple of 8",
    )
}

fn check_object(object: &ExecObject2) -> Result<(), Refusal> {
    require(object.flags & !exec_object::KNOWN == 0, "unknown flags of a buffer")?;
    require(
        object.alignment == 0 || object.alignment.is_power_of_two(),
        "an alignment is not a power of two",
    )?;
    let pinned = object.flags & exec_object::PINNED != 0;
    require(
        !pinned || object.offset.is_multiple_of(PAGE_BYTES),
        "a pinned address is not page-aligned",
    )?;
    require(u64::from(object.relocation_count) <= MAX_ITEMS, "a buffer has too many relocations")
}

/// The address of each buffer: the client's, or a chosen one.
fn addresses(vm: &Vm, objects: &[ExecObject2], gems: &[Arc<Gem>]) -> Result<Vec<u64>, Refusal> {
    /// Limit of buffers without SUPPORTS_48B_ADDRESS: the last page of the lower 4 GiB is left free.
    const LOW: u64 = (1 << 32) - PAGE_BYTES;
    let is_high = |o: &ExecObject2| o.flags & exec_object::SUPPORTS_48B_ADDRESS != 0;
    let mut taken = Vec::with_capacity(objects.len());
    let mut addresses = vec![0; objects.len()];
    let pinned = |o: &ExecObject2| o.flags & exec_object::PINNED != 0;
    for ((object, gem), at) in objects.iter().zip(gems).zip(&mut addresses) {
        if !pinned(object) {
            continue;
        }
        let address = of_canonical(object.offset)
            .ok_or(Refusal { errno: Errno::INVAL, why: "a pinned address is not canonical" })?;
        let end = address.checked_add(gem.size()).ok_or(Errno::INVAL)?;
        let high = if is_high(object) { VA_BITS } else { 32 };
        require(end <= 1 << high, "a pinned address is outside of the buffer's address space")?;
        *at = address;
        taken.push((address, gem.size()));
    }
    check_overlap(&mut taken)?;
    for ((object, gem), at) in objects.iter().zip(gems).zip(&mut addresses) {
        if pinned(object) {
            continue;
        }
        let limit = if is_high(object) { 1 << VA_BITS } else { LOW };
        let hint = of_canonical(object.offset).unwrap_or(0);
        *at = vm.place(gem, hint, object.alignment, limit, &taken)?;
        taken.push((*at, gem.size()));
    }
    Ok(addresses)
}

fn check_overlap(ranges: &mut [(u64, u64)]) -> Result<(), Refusal> {
    ranges.sort_unstable();
    match ranges.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0) {
        true => Ok(()),
        false => Err(Refusal { errno: Errno::NOSPC, why: "two pinned buffers overlap" }),
    }
}

/// The fences that a submission names: a sync file, an array of sync objects, or an array with
/// points of timelines.
fn fences(
    core: &CoreFile,
    user: &dyn UserMemory,
    args: &Execbuffer2,
    waits: &mut Vec<Fence>,
    signals: &mut Vec<(Arc<Syncobj>, u64)>,
) -> Result<(), Refusal> {
    require(
        args.flags & exec::FENCE_IN == 0 || args.flags & exec::FENCE_SUBMIT == 0,
        "FENCE_IN excludes FENCE_SUBMIT",
    )?;
    if args.flags & (exec::FENCE_IN | exec::FENCE_SUBMIT) != 0 {
        let fence = sync_file::import(&core.device().registry, user, args.rsvd2 as u32 as i32)
            .map_err(|_| Refusal { errno: Errno::INVAL, why: "no sync file" })?;
        // FENCE_SUBMIT waits until the other submission starts; waiting for its end is allowed, too.
        waits.push(fence);
    }
    let mut add = |fence: &ExecFence, point: u64| -> Result<(), Refusal> {
        let known = uapi::EXEC_FENCE_WAIT | uapi::EXEC_FENCE_SIGNAL;
        require(fence.flags & !known == 0, "unknown flags of a fence")?;
        let object = core
            .syncobj(fence.handle)
            .map_err(|errno| Refusal { errno, why: "no sync object has this handle" })?;
        if fence.flags & uapi::EXEC_FENCE_WAIT != 0 {
            let wait = object
                .fence(point)
                .map_err(|errno| Refusal { errno, why: "a sync object has no fence" })?;
            waits.push(wait);
        }
        if fence.flags & uapi::EXEC_FENCE_SIGNAL != 0 {
            signals.push((object, point));
        }
        Ok(())
    };
    if args.flags & exec::FENCE_ARRAY != 0 {
        require(u64::from(args.num_cliprects) <= MAX_ITEMS, "too many fences")?;
        let count = args.num_cliprects as usize;
        for fence in read_array::<ExecFence>(user, args.cliprects_ptr, count)? {
            add(&fence, 0)?;
        }
    }
    if args.flags & exec::USE_EXTENSIONS != 0 {
        require(args.num_cliprects == 0, "extensions with a count of clip rectangles")?;
        let mut seen = false;
        extension::walk(user, args.cliprects_ptr, |name, at| {
            require(name == uapi::EXEC_EXT_TIMELINE_FENCES, "unknown extension")?;
            require(!seen, "timeline fences twice")?;
            seen = true;
            let list: ExecTimelineFences = read_value(user, at)?;
            require(list.fence_count <= MAX_ITEMS, "too many fences")?;
            let count = list.fence_count as usize;
            let fences = read_array::<ExecFence>(user, list.handles_ptr, count)?;
            let points = read_array::<u64>(user, list.values_ptr, count)?;
            fences.iter().zip(points).try_for_each(|(fence, point)| add(fence, point))
        })?;
    }
    Ok(())
}

/// Attaches the fence of a submission to the sync objects that it signals and to its buffers.
pub(crate) fn attach(checked: &Checked, done: &Fence) {
    for (object, point) in &checked.signals {
        put_fence(object, *point, done.clone());
    }
    for (gem, writes) in &checked.users {
        gem.add_user(done.clone(), *writes);
    }
}
