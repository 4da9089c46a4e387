//! Reads the memory that the pointers in a request's argument lead to.

use tepui_capture::ClientMemory;
use tepui_capture::client::{self, Pointer, argument, core_pointers};
use tepui_drm::uapi::i915::{self, ExecFence, ExecObject2, Ioctl, QueryItem, exec};
use tepui_drm::uapi::{Request, core};
use tepui_drm::user::UserMemory;

/// The memory that a request's pointers lead to, after the call.
pub fn memory(user: &dyn UserMemory, request: Request, after: &[u8]) -> Vec<ClientMemory> {
    client::memory(user, pointers(request, after))
}

fn pointers(request: Request, arg: &[u8]) -> Vec<Pointer> {
    let pointer = Pointer::new;
    let many = |count: u32, size: usize| u64::from(count) * size as u64;
    let Some(ioctl) = Ioctl::from_nr(request.nr()) else {
        let core = core::Ioctl::from_nr(request.nr());
        return core.map_or_else(Vec::new, |ioctl| core_pointers(ioctl, arg));
    };
    match ioctl {
        Ioctl::GetParam => {
            let a: i915::GetParam = argument(arg);
            vec![pointer("value", a.value, 4)]
        }
        Ioctl::Query => {
            let a: i915::Query = argument(arg);
            vec![pointer("items_ptr", a.items_ptr, many(a.num_items, size_of::<QueryItem>()))]
        }
        Ioctl::GemExecbuffer2 => {
            let a: i915::Execbuffer2 = argument(arg);
            let objects = many(a.buffer_count, size_of::<ExecObject2>());
            let mut all = vec![pointer("buffers_ptr", a.buffers_ptr, objects)];
            if a.flags & exec::FENCE_ARRAY != 0 {
                let fences = many(a.num_cliprects, size_of::<ExecFence>());
                all.push(pointer("fences", a.cliprects_ptr, fences));
            } else if a.flags & exec::USE_EXTENSIONS != 0 {
                let head = size_of::<i915::ExecTimelineFences>() as u64;
                all.push(pointer("extension", a.cliprects_ptr, head));
            }
            all
        }
        Ioctl::GemCreateExt => {
            let a: i915::GemCreateExt = argument(arg);
            let head = size_of::<i915::GemCreateExtMemoryRegions>() as u64;
            vec![pointer("extension", a.extensions, head)]
        }
        Ioctl::GemContextCreate => {
            let a: i915::ContextCreateExt = argument(arg);
            let head = size_of::<i915::ContextCreateExtSetparam>() as u64;
            vec![pointer("extension", a.extensions, head)]
        }
        _ => Vec::new(),
    }
}
