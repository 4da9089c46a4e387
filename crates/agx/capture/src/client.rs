//! Reads the memory that the pointers in a request's argument lead to.

use tepui_capture::ClientMemory;
use tepui_drm::uapi::asahi::{self, GemBindOp};
use tepui_drm::uapi::{Request, core};
use tepui_drm::user::UserMemory;

/// The most that is copied for one pointer. The longest thing that a client passes is a command
/// buffer; longer ones are cut.
const MAX_BYTES: u64 = 1 << 24;

/// A pointer: the field, the address, the length in bytes.
type Pointer = (&'static str, u64, u64);

/// The memory that a request's pointers lead to, after the call. What the kernel only reads is the
/// same as before it, since the client waits.
pub fn memory(user: &dyn UserMemory, request: Request, after: &[u8]) -> Vec<ClientMemory> {
    pointers(request, after)
        .into_iter()
        .filter(|&(_, address, length)| address != 0 && length != 0)
        .filter_map(|(field, address, length)| {
            let mut bytes = vec![0; length.min(MAX_BYTES) as usize];
            user.read(address, &mut bytes).ok()?;
            Some(ClientMemory { field: field.into(), address, bytes })
        })
        .collect()
}

/// A structure of which the client may know fewer or more fields.
pub(crate) fn argument<T: bytemuck::Pod>(bytes: &[u8]) -> T {
    let mut value = T::zeroed();
    let known = size_of::<T>().min(bytes.len());
    bytemuck::bytes_of_mut(&mut value)[..known].copy_from_slice(&bytes[..known]);
    value
}

fn pointers(request: Request, arg: &[u8]) -> Vec<Pointer> {
    if let Some(ioctl) = asahi::Ioctl::from_nr(request.nr()) {
        return match ioctl {
            asahi::Ioctl::GetParams => {
                let a: asahi::GetParams = argument(arg);
                vec![("pointer", a.pointer, a.size.min(4096))]
            }
            asahi::Ioctl::VmBind => {
                let a: asahi::VmBind = argument(arg);
                let stride = u64::from(a.stride).max(size_of::<GemBindOp>() as u64);
                vec![("userptr", a.userptr, stride * u64::from(a.num_binds))]
            }
            asahi::Ioctl::Submit => {
                let a: asahi::Submit = argument(arg);
                let syncs = u64::from(a.in_sync_count) + u64::from(a.out_sync_count);
                let sync_bytes = size_of::<asahi::Sync>() as u64;
                vec![
                    ("syncs", a.syncs, syncs * sync_bytes),
                    ("cmdbuf", a.cmdbuf, u64::from(a.cmdbuf_size)),
                ]
            }
            _ => Vec::new(),
        };
    }
    match core::Ioctl::from_nr(request.nr()) {
        Some(core::Ioctl::Version) => {
            let a: core::Version = argument(arg);
            vec![
                ("name", a.name, a.name_len.min(4096)),
                ("date", a.date, a.date_len.min(4096)),
                ("desc", a.desc, a.desc_len.min(4096)),
            ]
        }
        Some(core::Ioctl::SyncobjWait) => {
            let a: core::SyncobjWait = argument(arg);
            vec![("handles", a.handles, u64::from(a.count_handles) * 4)]
        }
        Some(core::Ioctl::SyncobjTimelineWait) => {
            let a: core::SyncobjTimelineWait = argument(arg);
            let count = u64::from(a.count_handles);
            vec![("handles", a.handles, count * 4), ("points", a.points, count * 8)]
        }
        Some(core::Ioctl::SyncobjReset | core::Ioctl::SyncobjSignal) => {
            let a: core::SyncobjArray = argument(arg);
            vec![("handles", a.handles, u64::from(a.count_handles) * 4)]
        }
        Some(core::Ioctl::SyncobjQuery | core::Ioctl::SyncobjTimelineSignal) => {
            let a: core::SyncobjTimelineArray = argument(arg);
            let count = u64::from(a.count_handles);
            vec![("handles", a.handles, count * 4), ("points", a.points, count * 8)]
        }
        Some(core::Ioctl::SetClientName) => {
            let a: core::SetClientName = argument(arg);
            vec![("name", a.name, a.name_len.min(core::CLIENT_NAME_MAX_LEN))]
        }
        _ => Vec::new(),
    }
}
