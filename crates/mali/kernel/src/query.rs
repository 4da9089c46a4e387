//! DEV_QUERY: properties of the device.

use bytemuck::bytes_of;
use tepui_drm::refusal::{Refusal, require};
use tepui_drm::uapi::panthor::{self as uapi, DevQuery, TimestampInfo};
use tepui_drm::user::{UserMemory, read_array};
use tepui_drm::{Errno, monotonic_ns};
use tepui_mali_chips::Chip;

use crate::array::argument;
use crate::chips;

/// Frequency of the GPU's clock, which counts nanoseconds; its cycle counter is the same clock.
const TIMESTAMP_HZ: u64 = 1_000_000_000;

/// Answers a query: as much of the structure as the client knows, or its size if the client passes no pointer.
pub fn dev_query(chip: &Chip, user: &dyn UserMemory, args: &mut DevQuery) -> Result<(), Refusal> {
    let gpu = chips::gpu_info(chip);
    let (csif, mmu, priorities) =
        (chips::csif_info(), chips::mmu_info(), chips::group_priorities());
    let timestamp;
    let answer = match args.r#type {
        uapi::QUERY_GPU_INFO => bytes_of(&gpu),
        uapi::QUERY_CSIF_INFO => bytes_of(&csif),
        uapi::QUERY_TIMESTAMP_INFO => {
            timestamp = timestamp_info(user, args)?;
            bytes_of(&timestamp)
        }
        uapi::QUERY_GROUP_PRIORITIES_INFO => bytes_of(&priorities),
        uapi::QUERY_MMU_INFO => bytes_of(&mmu),
        _ => return Err(Refusal { errno: Errno::INVAL, why: "unknown type of query" }),
    };
    if args.pointer == 0 {
        args.size = answer.len() as u32;
        return Ok(());
    }
    args.size = args.size.min(answer.len() as u32);
    Ok(user.write(args.pointer, &answer[..args.size as usize])?)
}

/// The timestamps that the flags in the client's structure ask for.
fn timestamp_info(user: &dyn UserMemory, args: &DevQuery) -> Result<TimestampInfo, Refusal> {
    let mut asked = TimestampInfo::default();
    // Clients from before the flags pass a shorter structure.
    if args.pointer != 0 && args.size as usize > std::mem::offset_of!(TimestampInfo, flags) {
        let known = size_of::<TimestampInfo>().min(args.size as usize);
        asked = argument(&read_array::<u8>(user, args.pointer, known)?)?;
    }
    let mut flags = asked.flags;
    if flags == 0 {
        flags = uapi::TIMESTAMP_GPU | uapi::TIMESTAMP_GPU_OFFSET | uapi::TIMESTAMP_FREQ;
    }
    let known = uapi::TIMESTAMP_GPU
        | uapi::TIMESTAMP_CPU_TYPE_MASK
        | uapi::TIMESTAMP_GPU_OFFSET
        | uapi::TIMESTAMP_GPU_CYCLE_COUNT
        | uapi::TIMESTAMP_FREQ
        | uapi::TIMESTAMP_DURATION;
    require(flags & !known == 0, "unknown flags")?;
    let clock = match flags & uapi::TIMESTAMP_CPU_TYPE_MASK {
        0 => None,
        uapi::TIMESTAMP_CPU_MONOTONIC => Some(monotonic_ns as fn() -> u64),
        uapi::TIMESTAMP_CPU_MONOTONIC_RAW => Some(monotonic_raw_ns as fn() -> u64),
        _ => return Err(Refusal { errno: Errno::INVAL, why: "unknown clock of the CPU" }),
    };
    let mut info = TimestampInfo { flags: asked.flags, ..TimestampInfo::default() };
    let begin = monotonic_ns();
    if let Some(clock) = clock {
        let now = clock();
        info.cpu_timestamp_sec = now / 1_000_000_000;
        info.cpu_timestamp_nsec = now % 1_000_000_000;
    }
    if flags & uapi::TIMESTAMP_GPU != 0 {
        info.current_timestamp = monotonic_ns();
    }
    if flags & uapi::TIMESTAMP_GPU_CYCLE_COUNT != 0 {
        info.cycle_count = monotonic_ns();
    }
    if flags & uapi::TIMESTAMP_FREQ != 0 {
        info.timestamp_frequency = TIMESTAMP_HZ;
    }
    if flags & uapi::TIMESTAMP_DURATION != 0 {
        info.duration_nsec = u32::try_from(monotonic_ns() - begin).unwrap_or(u32::MAX);
    }
    Ok(info)
}

/// Now, on CLOCK_MONOTONIC_RAW, in nanoseconds.
fn monotonic_raw_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::MonotonicRaw);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
