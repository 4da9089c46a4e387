//! Requests of the DRM core, which every driver answers on a render node.
//!
//! source: drm.h.

use super::{ioctls, kernel_structs};

kernel_structs! {
    /// Driver name and version; the strings are pointers with a length in and out.
    drm_version as Version[64] {
        0 version_major: i32,
        4 version_minor: i32,
        8 version_patchlevel: i32,
        12 padding: u32,
        16 name_len: u64,
        24 name: u64,
        32 date_len: u64,
        40 date: u64,
        48 desc_len: u64,
        56 desc: u64,
    }
    /// Gives a handle back.
    drm_gem_close as GemClose[8] {
        0 handle: u32,
        4 pad: u32,
    }
    /// Moves an object to another, unused handle.
    drm_gem_change_handle as GemChangeHandle[8] {
        0 handle: u32,
        4 new_handle: u32,
    }
    /// A capability and its value.
    drm_get_cap as GetCap[16] {
        0 capability: u64,
        8 value: u64,
    }
    /// A buffer's handle and its file descriptor.
    drm_prime_handle as PrimeHandle[12] {
        0 handle: u32,
        4 flags: u32,
        8 fd: i32,
    }
    /// A new sync object.
    drm_syncobj_create as SyncobjCreate[8] {
        0 handle: u32,
        4 flags: u32,
    }
    /// Gives a sync object's handle back.
    drm_syncobj_destroy as SyncobjDestroy[8] {
        0 handle: u32,
        4 pad: u32,
    }
    /// A sync object's handle and a file descriptor of it or of its fence.
    drm_syncobj_handle as SyncobjHandle[24] {
        0 handle: u32,
        4 flags: u32,
        8 fd: i32,
        12 pad: u32,
        16 point: u64,
    }
    /// Copies a fence from one sync object to another.
    drm_syncobj_transfer as SyncobjTransfer[32] {
        0 src_handle: u32,
        4 dst_handle: u32,
        8 src_point: u64,
        16 dst_point: u64,
        24 flags: u32,
        28 pad: u32,
    }
    /// Waits for sync objects.
    drm_syncobj_wait as SyncobjWait[40] {
        0 handles: u64,
        8 timeout_nsec: i64,
        16 count_handles: u32,
        20 flags: u32,
        24 first_signaled: u32,
        28 pad: u32,
        32 deadline_nsec: u64,
    }
    /// Waits for points of sync objects.
    drm_syncobj_timeline_wait as SyncobjTimelineWait[48] {
        0 handles: u64,
        8 points: u64,
        16 timeout_nsec: i64,
        24 count_handles: u32,
        28 flags: u32,
        32 first_signaled: u32,
        36 pad: u32,
        40 deadline_nsec: u64,
    }
    /// An eventfd to be counted up when a point signals.
    drm_syncobj_eventfd as SyncobjEventfd[24] {
        0 handle: u32,
        4 flags: u32,
        8 point: u64,
        16 fd: i32,
        20 pad: u32,
    }
    /// Sync objects to signal or reset.
    drm_syncobj_array as SyncobjArray[16] {
        0 handles: u64,
        8 count_handles: u32,
        12 pad: u32,
    }
    /// Sync objects and points to signal or query.
    drm_syncobj_timeline_array as SyncobjTimelineArray[24] {
        0 handles: u64,
        8 points: u64,
        16 count_handles: u32,
        20 flags: u32,
    }
    /// A name for the open file.
    drm_set_client_name as SetClientName[16] {
        0 name_len: u64,
        8 name: u64,
    }
}

ioctls! {
    /// Driver name and version.
    0x00 Version VERSION: ReadWrite Version,
    /// Gives a buffer's handle back.
    0x09 GemClose GEM_CLOSE: Write GemClose,
    /// A capability of the device.
    0x0c GetCap GET_CAP: ReadWrite GetCap,
    /// A file descriptor for a buffer.
    0x2d PrimeHandleToFd PRIME_HANDLE_TO_FD: ReadWrite PrimeHandle,
    /// A handle for a buffer's file descriptor.
    0x2e PrimeFdToHandle PRIME_FD_TO_HANDLE: ReadWrite PrimeHandle,
    /// A new sync object.
    0xbf SyncobjCreate SYNCOBJ_CREATE: ReadWrite SyncobjCreate,
    /// Gives a sync object's handle back.
    0xc0 SyncobjDestroy SYNCOBJ_DESTROY: ReadWrite SyncobjDestroy,
    /// A file descriptor for a sync object or its fence.
    0xc1 SyncobjHandleToFd SYNCOBJ_HANDLE_TO_FD: ReadWrite SyncobjHandle,
    /// A sync object, or a fence into one, from a file descriptor.
    0xc2 SyncobjFdToHandle SYNCOBJ_FD_TO_HANDLE: ReadWrite SyncobjHandle,
    /// Waits for sync objects.
    0xc3 SyncobjWait SYNCOBJ_WAIT: ReadWrite SyncobjWait,
    /// Takes the fences out of sync objects.
    0xc4 SyncobjReset SYNCOBJ_RESET: ReadWrite SyncobjArray,
    /// Signals sync objects.
    0xc5 SyncobjSignal SYNCOBJ_SIGNAL: ReadWrite SyncobjArray,
    /// Waits for points.
    0xca SyncobjTimelineWait SYNCOBJ_TIMELINE_WAIT: ReadWrite SyncobjTimelineWait,
    /// The last point that has signalled.
    0xcb SyncobjQuery SYNCOBJ_QUERY: ReadWrite SyncobjTimelineArray,
    /// Copies a fence from one sync object to another.
    0xcc SyncobjTransfer SYNCOBJ_TRANSFER: ReadWrite SyncobjTransfer,
    /// Signals points.
    0xcd SyncobjTimelineSignal SYNCOBJ_TIMELINE_SIGNAL: ReadWrite SyncobjTimelineArray,
    /// Counts an eventfd up when a point signals.
    0xcf SyncobjEventfd SYNCOBJ_EVENTFD: ReadWrite SyncobjEventfd,
    /// Names the open file.
    0xd1 SetClientName SET_CLIENT_NAME: ReadWrite SetClientName,
    /// Moves a buffer to another handle.
    0xd2 GemChangeHandle GEM_CHANGE_HANDLE: ReadWrite GemChangeHandle,
}

/// Whether the core knows a number but keeps it from render nodes: authentication, mode setting,
/// global names.
///
/// source: drm.h for the numbers.
pub fn is_primary_only(nr: u8) -> bool {
    matches!(
        nr,
        0x01 | 0x02 | 0x05 | 0x07 | 0x0a | 0x0b | 0x0d | 0x11 | 0x1e | 0x1f | 0x3a..=0x3c
            | 0xa0..=0xbe | 0xc6..=0xc9 | 0xce | 0xd0
    )
}

/// Values of [`GetCap::capability`].
pub mod cap {
    /// Support for sharing buffers: bit 0 import, bit 1 export.
    pub const PRIME: u64 = 0x5;
    /// Timestamps are those of CLOCK_MONOTONIC.
    pub const TIMESTAMP_MONOTONIC: u64 = 0x6;
    /// Sync objects.
    pub const SYNCOBJ: u64 = 0x13;
    /// Sync objects with timelines.
    pub const SYNCOBJ_TIMELINE: u64 = 0x14;
}

/// [`SyncobjCreate::flags`]: the object starts signalled.
pub const SYNCOBJ_CREATE_SIGNALED: u32 = 1;
/// [`SyncobjHandle::flags`]: the descriptor is a sync file.
pub const SYNCOBJ_FD_SYNC_FILE: u32 = 1;
/// [`SyncobjHandle::flags`]: `point` is a timeline point.
pub const SYNCOBJ_FD_TIMELINE: u32 = 2;
/// [`SyncobjTimelineArray::flags`]: the last point that was submitted, not the last signalled.
pub const SYNCOBJ_QUERY_LAST_SUBMITTED: u32 = 1;

/// Longest [`SetClientName::name_len`].
pub const CLIENT_NAME_MAX_LEN: u64 = 64;
