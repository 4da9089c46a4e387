//! Tracks the objects that a client has created on a real node, from its ioctls: buffers, address
//! spaces, queues.

use std::collections::{BTreeMap, HashMap};

use tepui_capture::real::Change;
use tepui_capture::{Call, Mapping};
use tepui_drm::uapi::Request;
use tepui_drm::uapi::asahi::{
    BIND_READ, BIND_SINGLE_PAGE, BIND_UNBIND, BIND_WRITE, CMD_COMPUTE, CMD_RENDER, CmdHeader,
    GemBindOp, GemCreate, Ioctl, QueueCreate, QueueDestroy, Submit, VmBind, VmCreate, VmDestroy,
};

use crate::client::argument;

/// A hardware command of a submission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Its type.
    pub kind: u16,
    /// The bytes after its header.
    pub payload: Vec<u8>,
}

/// Bound ranges by first address; they never overlap. `object` is the buffer's handle.
type Space = BTreeMap<u64, Mapping>;

#[derive(Debug, Default)]
struct File {
    spaces: HashMap<u32, Space>,
    /// The address space of each queue, and the base of its USC addresses.
    queues: HashMap<u32, (u32, u64)>,
}

/// The state of a client's open files.
#[derive(Debug, Default)]
pub struct Tracker {
    files: HashMap<u64, File>,
}

impl Tracker {
    /// Takes a call in that was answered. Refused ones change nothing.
    pub fn answered(&mut self, call: &Call) -> Option<Change> {
        let request = Request(call.request);
        if call.result < 0 || request.family() != Request::DRM {
            return None;
        }
        let file = self.files.entry(call.file).or_default();
        let after = if call.after.is_empty() { &call.before } else { &call.after };
        if let Some(ioctl) = Ioctl::from_nr(request.nr()) {
            match ioctl {
                Ioctl::VmCreate => {
                    file.spaces.insert(argument::<VmCreate>(after).vm_id, Space::new());
                }
                Ioctl::VmDestroy => {
                    file.spaces.remove(&argument::<VmDestroy>(after).vm_id);
                }
                Ioctl::GemCreate => {
                    let args: GemCreate = argument(after);
                    return Some(Change::Created { handle: args.handle, size: args.size });
                }
                Ioctl::VmBind => {
                    let args: VmBind = argument(after);
                    let space = file.spaces.get_mut(&args.vm_id)?;
                    let ops = call.memory.iter().find(|memory| memory.field == "userptr")?;
                    let stride = (args.stride as usize).max(size_of::<GemBindOp>());
                    let ops = ops.bytes.chunks(stride).take(args.num_binds as usize);
                    ops.for_each(|op| bind(space, &argument(op)));
                }
                Ioctl::QueueCreate => {
                    let args: QueueCreate = argument(after);
                    file.queues.insert(args.queue_id, (args.vm_id, args.usc_exec_base));
                }
                Ioctl::QueueDestroy => {
                    file.queues.remove(&argument::<QueueDestroy>(after).queue_id);
                }
                _ => {}
            }
            return None;
        }
        let change = Change::of_core(request, after);
        if let Some(Change::Closed { handle }) = change {
            // The kernel unbinds a buffer with its last handle.
            for space in file.spaces.values_mut() {
                space.retain(|_, mapping| mapping.object != u64::from(handle));
            }
        }
        change
    }

    /// An open file was closed.
    pub fn closed(&mut self, file: u64) {
        self.files.remove(&file);
    }

    /// The address space that a queue's commands see, by id, and the base of USC addresses.
    pub fn queue(&self, file: u64, queue: u32) -> Option<(u32, u64)> {
        self.files.get(&file)?.queues.get(&queue).copied()
    }

    /// The bindings of an address space, in order of address. Objects are handles.
    pub fn mappings(&self, file: u64, space: u32) -> impl Iterator<Item = &Mapping> {
        let space = self.files.get(&file).and_then(|file| file.spaces.get(&space));
        space.into_iter().flat_map(BTreeMap::values)
    }
}

/// Applies one operation.
fn bind(space: &mut Space, op: &GemBindOp) {
    let Some(end) = op.addr.checked_add(op.range).filter(|_| op.range > 0) else { return };
    // Cuts the range out of what is bound.
    let hit: Vec<Mapping> = space
        .range(..end)
        .rev()
        .map(|(_, mapping)| *mapping)
        .take_while(|mapping| mapping.address + mapping.length > op.addr)
        .collect();
    for old in hit {
        space.remove(&old.address);
        let old_end = old.address + old.length;
        if old.address < op.addr {
            space.insert(old.address, Mapping { length: op.addr - old.address, ..old });
        }
        if old_end > end {
            let skipped = if old.single_page { 0 } else { end - old.address };
            let offset = old.offset + skipped;
            space.insert(end, Mapping { address: end, length: old_end - end, offset, ..old });
        }
    }
    if op.flags & BIND_UNBIND == 0 {
        let mapping = Mapping {
            address: op.addr,
            length: op.range,
            object: op.handle.into(),
            offset: op.offset,
            read: op.flags & BIND_READ != 0,
            write: op.flags & BIND_WRITE != 0,
            single_page: op.flags & BIND_SINGLE_PAGE != 0,
        };
        space.insert(op.addr, mapping);
    }
}

/// The queue of a submission, and where its command buffer is: address and length in bytes.
pub fn submission(argument_bytes: &[u8]) -> (u32, u64, u64) {
    let args: Submit = argument(argument_bytes);
    (args.queue_id, args.cmdbuf, args.cmdbuf_size.into())
}

/// The hardware commands of a command buffer, as far as it is one.
pub fn commands(buffer: &[u8]) -> Vec<Command> {
    let mut out = Vec::new();
    let mut rest = buffer;
    while let Some((head, tail)) = rest.split_at_checked(size_of::<CmdHeader>()) {
        let header: CmdHeader = bytemuck::pod_read_unaligned(head);
        let Some((body, tail)) = tail.split_at_checked(header.size.into()) else { break };
        if matches!(header.cmd_type, CMD_RENDER | CMD_COMPUTE) {
            out.push(Command { kind: header.cmd_type, payload: body.to_vec() });
        }
        rest = tail;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PAGE: u64 = tepui_agx_chips::PAGE_BYTES;

    proptest! {
        /// The bound ranges after any operations, page by page against a plain table.
        #[test]
        fn binds_replace_what_was_there(ops in prop::collection::vec((0u64..12, 1u64..6, 0u32..4, 0u64..8), 1..24)) {
            let mut space = Space::new();
            let mut plain: HashMap<u64, (u32, u64)> = HashMap::new();
            for (page, pages, kind, offset) in ops {
                let flags = match kind { 0 => BIND_UNBIND, 1 => BIND_READ | BIND_SINGLE_PAGE, _ => BIND_READ };
                let op = GemBindOp { flags, handle: kind, offset: offset * PAGE, range: pages * PAGE, addr: page * PAGE };
                bind(&mut space, &op);
                for i in 0..pages {
                    let at = if kind == 1 { offset } else { offset + i };
                    match kind {
                        0 => drop(plain.remove(&(page + i))),
                        _ => drop(plain.insert(page + i, (kind, at))),
                    }
                }
            }
            let mut seen = HashMap::new();
            for mapping in space.values() {
                for i in 0..mapping.length / PAGE {
                    let step = if mapping.single_page { 0 } else { i };
                    let value = (mapping.object as u32, mapping.offset / PAGE + step);
                    prop_assert!(seen.insert(mapping.address / PAGE + i, value).is_none());
                }
            }
            prop_assert_eq!(seen, plain);
        }
    }
}
