//! Reads the memory that the pointers in a request's argument lead to.

use tepui_capture::ClientMemory;
pub(crate) use tepui_capture::client::argument;
use tepui_capture::client::{self, Pointer, core_pointers};
use tepui_drm::uapi::asahi::{self, GemBindOp};
use tepui_drm::uapi::{Request, core};
use tepui_drm::user::UserMemory;

/// The memory that a request's pointers lead to, after the call.
pub fn memory(user: &dyn UserMemory, request: Request, after: &[u8]) -> Vec<ClientMemory> {
    client::memory(user, pointers(request, after))
}

fn pointers(request: Request, arg: &[u8]) -> Vec<Pointer> {
    let pointer = Pointer::new;
    let Some(ioctl) = asahi::Ioctl::from_nr(request.nr()) else {
        let core = core::Ioctl::from_nr(request.nr());
        return core.map_or_else(Vec::new, |ioctl| core_pointers(ioctl, arg));
    };
    match ioctl {
        asahi::Ioctl::GetParams => {
            let a: asahi::GetParams = argument(arg);
            vec![pointer("pointer", a.pointer, a.size.min(4096))]
        }
        asahi::Ioctl::VmBind => {
            let a: asahi::VmBind = argument(arg);
            let stride = u64::from(a.stride).max(size_of::<GemBindOp>() as u64);
            vec![pointer("userptr", a.userptr, stride * u64::from(a.num_binds))]
        }
        asahi::Ioctl::Submit => {
            let a: asahi::Submit = argument(arg);
            let syncs = u64::from(a.in_sync_count) + u64::from(a.out_sync_count);
            let sync_bytes = size_of::<asahi::Sync>() as u64;
            vec![
                pointer("syncs", a.syncs, syncs * sync_bytes),
                pointer("cmdbuf", a.cmdbuf, u64::from(a.cmdbuf_size)),
            ]
        }
        _ => Vec::new(),
    }
}
