//! Reads the memory that the pointers in a request's argument lead to.

use tepui_capture::ClientMemory;
use tepui_capture::client::{self, Pointer, argument, core_pointers};
use tepui_drm::uapi::panfrost;
use tepui_drm::uapi::panthor::{self, Ioctl, ObjArray};
use tepui_drm::uapi::{Request, core};
use tepui_drm::user::UserMemory;

use crate::interface::Interface;

/// Limit on the objects of an array whose own pointers are followed.
const MAX_OBJECTS: u64 = 1024;

/// The memory that a request's pointers lead to, after the call.
pub fn memory(
    interface: Interface,
    user: &dyn UserMemory,
    request: Request,
    after: &[u8],
) -> Vec<ClientMemory> {
    let own = match interface {
        Interface::Panthor => panthor_pointers(user, request, after),
        Interface::Panfrost => panfrost_pointers(request, after),
    };
    let pointers = own.unwrap_or_else(|| {
        let core = core::Ioctl::from_nr(request.nr());
        core.map_or_else(Vec::new, |ioctl| core_pointers(ioctl, after))
    });
    client::memory(user, pointers)
}

fn array(field: &'static str, array: &ObjArray) -> Pointer {
    Pointer::new(field, array.array, u64::from(array.count) * u64::from(array.stride))
}

/// An array, and the arrays of sync operations that its objects point to.
fn with_syncs<T: bytemuck::Pod>(
    user: &dyn UserMemory,
    field: &'static str,
    objects: &ObjArray,
    syncs: impl Fn(&T) -> ObjArray,
) -> Vec<Pointer> {
    let mut all = vec![array(field, objects)];
    for index in 0..u64::from(objects.count).min(MAX_OBJECTS) {
        let mut bytes = vec![0; size_of::<T>().min(objects.stride as usize)];
        let at = objects.array.wrapping_add(index * u64::from(objects.stride));
        if user.read(at, &mut bytes).is_ok() {
            all.push(array("syncs", &syncs(&argument(&bytes))));
        }
    }
    all
}

/// The pointers in the argument of a panfrost request; `None` if the request is not panfrost's.
fn panfrost_pointers(request: Request, arg: &[u8]) -> Option<Vec<Pointer>> {
    let words = |field, at, count: u32| Pointer::new(field, at, 4 * u64::from(count));
    Some(match panfrost::Ioctl::from_nr(request.nr())? {
        panfrost::Ioctl::Submit => {
            let a: panfrost::Submit = argument(arg);
            vec![
                words("bo_handles", a.bo_handles, a.bo_handle_count),
                words("in_syncs", a.in_syncs, a.in_sync_count),
            ]
        }
        panfrost::Ioctl::SyncBo => {
            let a: panfrost::SyncBo = argument(arg);
            let size = size_of::<panfrost::BoSyncOp>() as u64;
            vec![Pointer::new("ops", a.ops, size * u64::from(a.op_count))]
        }
        _ => Vec::new(),
    })
}

/// The pointers in the argument of a panthor request; `None` if the request is not panthor's.
fn panthor_pointers(user: &dyn UserMemory, request: Request, arg: &[u8]) -> Option<Vec<Pointer>> {
    Some(match Ioctl::from_nr(request.nr())? {
        Ioctl::DevQuery => {
            let a: panthor::DevQuery = argument(arg);
            vec![Pointer::new("pointer", a.pointer, a.size.into())]
        }
        Ioctl::VmBind => {
            let a: panthor::VmBind = argument(arg);
            with_syncs(user, "ops", &a.ops, |op: &panthor::VmBindOp| op.syncs)
        }
        Ioctl::GroupCreate => {
            let a: panthor::GroupCreate = argument(arg);
            vec![array("queues", &a.queues)]
        }
        Ioctl::GroupSubmit => {
            let a: panthor::GroupSubmit = argument(arg);
            with_syncs(user, "queue_submits", &a.queue_submits, |s: &panthor::QueueSubmit| s.syncs)
        }
        Ioctl::BoSync => {
            let a: panthor::BoSync = argument(arg);
            vec![array("ops", &a.ops)]
        }
        _ => Vec::new(),
    })
}
