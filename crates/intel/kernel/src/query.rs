//! Answers to `DRM_I915_QUERY`, as bytes.

use bytemuck::bytes_of;
use tepui_drm::Errno;
use tepui_drm::refusal::{Refusal, require};
use tepui_drm::uapi::i915::{
    self as uapi, EngineClassInstance, EngineInfo, MemoryRegionInfo, Query, QueryEngineInfo,
    QueryItem, QueryMemoryRegions, TopologyInfo, query,
};
use tepui_drm::user::{UserMemory, read_value};
use tepui_intel_chips::Chip;

/// The engines: render only. Copy, video and video-enhance engines are not modelled, so they are not offered.
pub const ENGINES: &[EngineClassInstance] =
    &[EngineClassInstance { engine_class: uapi::ENGINE_CLASS_RENDER, engine_instance: 0 }];

/// Size of the system memory region. A choice.
const SYSTEM_MEMORY_BYTES: u64 = 16 << 30;

/// Answers all items of a request. The error of an item is its `length`, negative.
pub fn answer(chip: &Chip, user: &dyn UserMemory, args: &Query) -> Result<(), Refusal> {
    require(args.flags == 0, "flags is not 0")?;
    for index in 0..u64::from(args.num_items) {
        let at = args.items_ptr.checked_add(index * size_of::<QueryItem>() as u64);
        let at = at.ok_or(Errno::FAULT)?;
        let item: QueryItem = read_value(user, at)?;
        let length = match answer_item(chip, user, &item) {
            Ok(length) => length,
            Err(errno) => -errno.raw_os_error(),
        };
        let offset = std::mem::offset_of!(QueryItem, length) as u64;
        user.write(at + offset, &length.to_le_bytes())?;
    }
    Ok(())
}

fn answer_item(chip: &Chip, user: &dyn UserMemory, item: &QueryItem) -> Result<i32, Errno> {
    let bytes = match item.query_id {
        query::TOPOLOGY_INFO if item.flags == 0 => topology(chip),
        query::ENGINE_INFO if item.flags == 0 => engines(),
        query::MEMORY_REGIONS if item.flags == 0 => memory_regions(),
        // There is no GuC submission before Gen12.5, no hardware configuration table, and no performance
        // counter.
        query::HWCONFIG_BLOB | query::GUC_SUBMISSION_VERSION => return Err(Errno::NODEV),
        query::GEOMETRY_SUBSLICES | query::PERF_CONFIG => return Err(Errno::NODEV),
        _ => return Err(Errno::INVAL),
    };
    let length = bytes.len() as i32;
    if item.length == 0 {
        return Ok(length);
    }
    if item.length < length {
        return Err(Errno::INVAL);
    }
    user.write(item.data_ptr, &bytes)?;
    Ok(length)
}

fn mask(count: u32, stride: usize) -> Vec<u8> {
    let mut bytes = vec![0; stride];
    for bit in 0..count as usize {
        bytes[bit / 8] |= 1 << (bit % 8);
    }
    bytes
}

/// Masks of slices, of the subslices of each slice, and of the EUs of each subslice.
fn topology(chip: &Chip) -> Vec<u8> {
    let bytes = |count: u32| count.div_ceil(8) as usize;
    let (slices, subslices, eus) = (chip.slices, chip.subslices_per_slice, chip.eus_per_subslice);
    let subslice_offset = bytes(slices);
    let eu_offset = subslice_offset + slices as usize * bytes(subslices);
    let info = TopologyInfo {
        flags: 0,
        max_slices: slices as u16,
        max_subslices: subslices as u16,
        max_eus_per_subslice: eus as u16,
        subslice_offset: subslice_offset as u16,
        subslice_stride: bytes(subslices) as u16,
        eu_offset: eu_offset as u16,
        eu_stride: bytes(eus) as u16,
    };
    let mut out = bytes_of(&info).to_vec();
    out.extend(mask(slices, bytes(slices)));
    (0..slices).for_each(|_| out.extend(mask(subslices, bytes(subslices))));
    (0..slices * subslices).for_each(|_| out.extend(mask(eus, bytes(eus))));
    out
}

fn engines() -> Vec<u8> {
    let head = QueryEngineInfo { num_engines: ENGINES.len() as u32, ..Default::default() };
    let mut out = bytes_of(&head).to_vec();
    for &engine in ENGINES {
        out.extend(bytes_of(&EngineInfo { engine, ..Default::default() }));
    }
    out
}

fn memory_regions() -> Vec<u8> {
    let head = QueryMemoryRegions { num_regions: 1, ..Default::default() };
    let system = MemoryRegionInfo {
        probed_size: SYSTEM_MEMORY_BYTES,
        unallocated_size: SYSTEM_MEMORY_BYTES,
        ..Default::default()
    };
    [bytes_of(&head), bytes_of(&system)].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_topology_of_tiger_lake_takes_30_bytes() {
        // source: the size that a run of ANV on a Tiger Lake requests.
        let tgl = tepui_intel_chips::chip("tgl").unwrap();
        assert_eq!(topology(tgl).len(), 30);
        let skl = topology(tepui_intel_chips::chip("skl").unwrap());
        assert_eq!(skl[16..], [1, 7, 0xff, 0xff, 0xff]);
    }
}
