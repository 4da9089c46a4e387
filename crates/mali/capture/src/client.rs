//! Reads the memory that the pointers in a request's argument lead to.

use tepui_capture::ClientMemory;
use tepui_capture::client::{self, Pointer, argument, core_pointers};
use tepui_drm::uapi::panthor::{self, Ioctl, ObjArray};
use tepui_drm::uapi::{Request, core};
use tepui_drm::user::UserMemory;

/// Objects of an array whose own pointers are followed.
const MOST_OBJECTS: u64 = 1024;

/// The memory that a request's pointers lead to, after the call.
pub fn memory(user: &dyn UserMemory, request: Request, after: &[u8]) -> Vec<ClientMemory> {
    client::memory(user, pointers(user, request, after))
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
    for index in 0..u64::from(objects.count).min(MOST_OBJECTS) {
        let mut bytes = vec![0; size_of::<T>().min(objects.stride as usize)];
        let at = objects.array.wrapping_add(index * u64::from(objects.stride));
        if user.read(at, &mut bytes).is_ok() {
            all.push(array("syncs", &syncs(&argument(&bytes))));
        }
    }
    all
}

fn pointers(user: &dyn UserMemory, request: Request, arg: &[u8]) -> Vec<Pointer> {
    let Some(ioctl) = Ioctl::from_nr(request.nr()) else {
        let core = core::Ioctl::from_nr(request.nr());
        return core.map_or_else(Vec::new, |ioctl| core_pointers(ioctl, arg));
    };
    match ioctl {
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
    }
}
