//! Reads the memory that the pointers in a request's argument lead to.

use tepui_drm::uapi::core;
use tepui_drm::user::UserMemory;

use crate::ClientMemory;

/// Maximum number of bytes that are copied for one pointer. The longest thing that a
/// client passes is a command buffer; longer ones are cut.
const MAX_BYTES: u64 = 1 << 24;

/// A pointer in an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pointer {
    /// The field of the argument.
    pub field: &'static str,
    /// The address in it.
    pub address: u64,
    /// Length of what it points to in bytes.
    pub length: u64,
}

impl Pointer {
    /// A pointer to `length` bytes.
    pub fn new(field: &'static str, address: u64, length: u64) -> Pointer {
        Pointer { field, address, length }
    }
}

/// Copies what pointers lead to; what cannot be read is left out.
pub fn memory(
    user: &dyn UserMemory,
    pointers: impl IntoIterator<Item = Pointer>,
) -> Vec<ClientMemory> {
    pointers
        .into_iter()
        .filter(|pointer| pointer.address != 0 && pointer.length != 0)
        .filter_map(|Pointer { field, address, length }| {
            let mut bytes = vec![0; length.min(MAX_BYTES) as usize];
            user.read(address, &mut bytes).ok()?;
            Some(ClientMemory { field: field.into(), address, bytes })
        })
        .collect()
}

/// A structure of which the client may know fewer or more fields.
pub fn argument<T: bytemuck::Pod>(bytes: &[u8]) -> T {
    let mut value = T::zeroed();
    let known = size_of::<T>().min(bytes.len());
    bytemuck::bytes_of_mut(&mut value)[..known].copy_from_slice(&bytes[..known]);
    value
}

/// The pointers in the argument of a request of the DRM core, after the call. What the kernel only
/// reads is the same as before it, since the client waits.
pub fn core_pointers(ioctl: core::Ioctl, arg: &[u8]) -> Vec<Pointer> {
    let pointer = Pointer::new;
    match ioctl {
        core::Ioctl::Version => {
            let a: core::Version = argument(arg);
            vec![
                pointer("name", a.name, a.name_len.min(4096)),
                pointer("date", a.date, a.date_len.min(4096)),
                pointer("desc", a.desc, a.desc_len.min(4096)),
            ]
        }
        core::Ioctl::SyncobjWait => {
            let a: core::SyncobjWait = argument(arg);
            vec![pointer("handles", a.handles, u64::from(a.count_handles) * 4)]
        }
        core::Ioctl::SyncobjTimelineWait => {
            let a: core::SyncobjTimelineWait = argument(arg);
            let count = u64::from(a.count_handles);
            vec![pointer("handles", a.handles, count * 4), pointer("points", a.points, count * 8)]
        }
        core::Ioctl::SyncobjReset | core::Ioctl::SyncobjSignal => {
            let a: core::SyncobjArray = argument(arg);
            vec![pointer("handles", a.handles, u64::from(a.count_handles) * 4)]
        }
        core::Ioctl::SyncobjQuery | core::Ioctl::SyncobjTimelineSignal => {
            let a: core::SyncobjTimelineArray = argument(arg);
            let count = u64::from(a.count_handles);
            vec![pointer("handles", a.handles, count * 4), pointer("points", a.points, count * 8)]
        }
        core::Ioctl::SetClientName => {
            let a: core::SetClientName = argument(arg);
            vec![pointer("name", a.name, a.name_len.min(core::CLIENT_NAME_MAX_LEN))]
        }
        _ => Vec::new(),
    }
}
