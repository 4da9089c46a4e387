//! Records a real render node of the `i915` driver.

use std::collections::HashMap;
use std::os::fd::BorrowedFd;

use tepui_capture::client::argument;
use tepui_capture::real::{self, Change, Contents, Requests, Submission};
use tepui_capture::{Call, ClientMemory, Mapping, Process, Start};
use tepui_drm::device;
use tepui_drm::uapi::Request;
use tepui_drm::uapi::i915::{
    self, ContextCreateExt, ContextCreateExtSetparam, ContextParam, ExecObject2, Execbuffer2,
    GemCreateExt, GemMmapOffset, GemUserptr, GetParam, Ioctl, context_param, exec, exec_object,
    param,
};
use tepui_drm::user::{UserMemory, read_array};
use tepui_intel_kernel::chips::{PAGE_BYTES, VA_BITS};

use crate::client;
use crate::payload::Payload;

/// Limit on the buffers of a submission that are examined.
const MAX_BUFFERS: u32 = 1 << 20;

/// Queries to the node for information that the calls do not contain.
pub(crate) trait Node: Send {
    /// The PCI device id of the chip.
    fn device_id(&self, node: Option<BorrowedFd<'_>>) -> Option<u16>;
    /// The memory of a buffer of an open file.
    fn buffer(
        &self,
        node: Option<BorrowedFd<'_>>,
        handle: u32,
        size: u64,
    ) -> Option<Box<dyn Contents>>;
}

/// State of `i915`'s requests: address spaces of contexts.
///
/// A submission names the buffers that it uses and, if they are pinned, their addresses; if a client leaves
/// the addresses to the kernel, they are not known before the kernel has answered, so such submissions are
/// recorded as requests only.
pub(crate) struct I915Requests<N> {
    files: HashMap<u64, File>,
    node: N,
}

#[derive(Default)]
struct File {
    /// Address spaces that were assigned to contexts.
    spaces: HashMap<u32, u32>,
}

/// The address space of a context without an assigned one, in the numbering of captures.
const OWN_SPACE: u32 = 1 << 31;

/// The requests of the kernel's own nodes, for a recorder of them.
pub fn requests() -> Box<dyn Requests> {
    Box::new(I915Requests::new(Kernel))
}

impl<N> I915Requests<N> {
    pub fn new(node: N) -> I915Requests<N> {
        I915Requests { files: HashMap::new(), node }
    }
}

impl File {
    fn set_parameter(&mut self, context: u32, parameter: &ContextParam) {
        if parameter.param == context_param::VM {
            self.spaces.insert(context, parameter.value as u32);
        }
    }

    fn answered(&mut self, ioctl: Ioctl, call: &Call, after: &[u8]) -> Option<Change> {
        match ioctl {
            Ioctl::GemCreate | Ioctl::GemCreateExt => {
                let args: GemCreateExt = argument(after);
                Some(Change::Created { handle: args.handle, size: args.size })
            }
            Ioctl::GemUserptr => {
                let args: GemUserptr = argument(after);
                let GemUserptr { handle, user_ptr: address, user_size: size, .. } = args;
                Some(Change::Borrowed { handle, address, size })
            }
            Ioctl::GemContextCreate => {
                let args: ContextCreateExt = argument(after);
                let extension = call.memory.iter().find(|memory| memory.field == "extension");
                if let Some(memory) = extension {
                    let extension: ContextCreateExtSetparam = argument(&memory.bytes);
                    if extension.base.name == i915::CONTEXT_CREATE_EXT_SETPARAM {
                        self.set_parameter(args.ctx_id, &extension.param);
                    }
                }
                None
            }
            Ioctl::GemContextSetparam => {
                let args: ContextParam = argument(after);
                self.set_parameter(args.ctx_id, &args);
                None
            }
            Ioctl::GemContextDestroy => {
                self.spaces.remove(&argument::<i915::ContextDestroy>(after).ctx_id);
                None
            }
            _ => None,
        }
    }

    fn submission(
        &self,
        args: &Execbuffer2,
        objects: &[ExecObject2],
        size: &dyn Fn(u32) -> Option<u64>,
    ) -> Option<Submission> {
        let first = args.flags & exec::BATCH_FIRST != 0;
        let batch = if first { objects.first()? } else { objects.last()? };
        let context = args.rsvd1 as u32;
        let address = |object: &ExecObject2| object.offset & ((1 << VA_BITS) - 1);
        let start = u64::from(args.batch_start_offset);
        let length = match args.batch_len {
            0 => size(batch.handle)?.saturating_sub(start),
            length => u64::from(length),
        };
        let mut mappings = Vec::with_capacity(objects.len());
        for object in objects {
            if object.flags & exec_object::PINNED == 0 {
                return None;
            }
            mappings.push(Mapping {
                address: address(object),
                length: size(object.handle)?.next_multiple_of(PAGE_BYTES),
                object: object.handle.into(),
                offset: 0,
                read: true,
                write: true,
                single_page: false,
            });
        }
        mappings.sort_by_key(|mapping| mapping.address);
        let payload = Payload {
            address: address(batch) + start,
            length,
            context,
            engine: (args.flags & exec::RING_MASK) as u32,
        };
        let queue = payload.queue();
        let payload = bytemuck::bytes_of(&payload).to_vec();
        Some(Submission {
            space: self.spaces.get(&context).copied().unwrap_or(OWN_SPACE | context),
            mappings,
            commands: vec![Start { queue, payload, ..Start::default() }],
        })
    }
}

impl<N: Node> Requests for I915Requests<N> {
    fn describe(&self, node: Option<BorrowedFd<'_>>) -> Process {
        let id = self.node.device_id(node);
        let chip = id.and_then(tepui_intel_chips::with_device_id);
        Process {
            driver: tepui_intel_kernel::DRIVER.name.into(),
            gpu: chip.map_or_else(|| "a real GPU".into(), |chip| chip.name.into()),
            parameters: id.map_or_else(Vec::new, |id| id.to_le_bytes().to_vec()),
            ..Process::default()
        }
    }

    fn memory(&self, user: &dyn UserMemory, request: Request, after: &[u8]) -> Vec<ClientMemory> {
        client::memory(user, request, after)
    }

    fn answered(&mut self, call: &Call) -> Option<Change> {
        let request = Request(call.request);
        if call.result < 0 || request.family() != Request::DRM {
            return None;
        }
        let file = self.files.entry(call.file).or_default();
        let after = if call.after.is_empty() { &call.before } else { &call.after };
        match Ioctl::from_nr(request.nr()) {
            Some(ioctl) => file.answered(ioctl, call, after),
            None => Change::of_core(request, after),
        }
    }

    fn closed(&mut self, file: u64) {
        self.files.remove(&file);
    }

    fn submission(
        &self,
        call: &device::Call<'_>,
        size: &dyn Fn(u32) -> Option<u64>,
    ) -> Option<Submission> {
        let submits = call.request.family() == Request::DRM
            && Ioctl::from_nr(call.request.nr()) == Some(Ioctl::GemExecbuffer2);
        if !submits {
            return None;
        }
        let args: Execbuffer2 = argument(call.before);
        let count = args.buffer_count.min(MAX_BUFFERS) as usize;
        let objects = read_array::<ExecObject2>(call.user, args.buffers_ptr, count).ok()?;
        self.files.get(&call.file)?.submission(&args, &objects, size)
    }

    fn buffer(
        &self,
        node: Option<BorrowedFd<'_>>,
        handle: u32,
        size: u64,
    ) -> Option<Box<dyn Contents>> {
        self.node.buffer(node, handle, size)
    }
}

/// The kernel's own node.
struct Kernel;

impl Node for Kernel {
    fn device_id(&self, node: Option<BorrowedFd<'_>>) -> Option<u16> {
        let mut value = 0i32;
        let mut args = GetParam {
            param: param::CHIPSET_ID,
            value: &raw mut value as u64,
            ..Default::default()
        };
        real::request(node?, Ioctl::GetParam.info(), &mut args).ok()?;
        u16::try_from(value).ok()
    }

    fn buffer(
        &self,
        node: Option<BorrowedFd<'_>>,
        handle: u32,
        size: u64,
    ) -> Option<Box<dyn Contents>> {
        let node = node?;
        // The mode that works depends on the buffer's memory region.
        let offset = [i915::MMAP_OFFSET_WB, i915::MMAP_OFFSET_WC].into_iter().find_map(|flags| {
            let mut args = GemMmapOffset { handle, flags, ..Default::default() };
            real::request(node, Ioctl::GemMmapOffset.info(), &mut args).ok()?;
            Some(args.offset)
        });
        real::map(node, offset?, size)
    }
}
