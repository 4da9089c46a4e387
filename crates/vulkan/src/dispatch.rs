//! Dispatch of device-level commands between families.
//!
//! `vkGetDeviceProcAddr` gives a family's own functions. What `vkGetInstanceProcAddr` gives may be called with the devices, queues and
//! command buffers of any physical device of the instance: where these are of several families, it gives the functions that
//! [`entry!`](crate::entry!) makes in addition to each family's, which call that of the family of their first parameter.

use std::sync::OnceLock;

use vulkanalia_sys::Handle;

use crate::object::dispatch;
use crate::table::{Function, Table};

/// The beginning of devices, queues and command buffers, whatever their family.
#[repr(C)]
struct Head {
    commands: &'static Table,
}

/// The function of an object's family for a command, whose position in tables `slot` keeps; `None` for the null handle.
///
/// # Safety
/// The handle is null, or a live device, queue or command buffer.
pub unsafe fn function(
    handle: impl Handle<Repr = usize>,
    slot: &OnceLock<Option<usize>>,
    name: &str,
) -> Option<Function> {
    if handle.is_null() {
        return None;
    }
    // SAFETY: as the caller says; all of them begin with the table.
    let head: &Head = unsafe { dispatch(handle) };
    // Tables of all families have the same names.
    let position = *slot.get_or_init(|| head.commands.position(name));
    Some(head.commands.at(position?))
}
