//! A client of the device in this process, with an executor that reads one word of each stream.

#![allow(dead_code, reason = "each test program uses a part")]

use std::sync::Arc;

use tepui_drm::Errno;
use tepui_drm::uapi::panthor::{self as uapi, Ioctl, ObjArray, SyncOp, VmBindOp};
use tepui_drm::uapi::{IoctlInfo, KernelStruct, core};
use tepui_drm::user::ThisProcess;
use tepui_mali_kernel::exercise::Reader;
use tepui_mali_kernel::{Device, File, Options};

/// The result of a request.
pub type Answer = Result<(), Errno>;
pub const INVAL: Answer = Err(Errno::INVAL);
pub const NOENT: Answer = Err(Errno::NOENT);

/// A device whose streams end, fault or wait as their first word says.
pub fn device() -> Arc<Device> {
    let chip = tepui_mali_chips::chip("mali-g610").unwrap();
    let options = Options { report_faults: false, ..Options::default() };
    Device::with_executor(chip, options, Box::new(Reader))
}

/// Makes a request with an argument of this process.
pub fn call_info<T: KernelStruct>(file: &File, info: &IoctlInfo, args: &mut T) -> Answer {
    // SAFETY: the pointers in the arguments are those of live values.
    let user = unsafe { ThisProcess::new() };
    file.ioctl(&user, info.request, bytemuck::bytes_of_mut(args)).map(drop)
}

pub fn call<T: KernelStruct>(file: &File, ioctl: Ioctl, args: &mut T) -> Answer {
    call_info(file, ioctl.info(), args)
}

/// An array of objects of this process: a copy that stays.
pub fn array<T: Clone>(objects: &[T]) -> ObjArray {
    let objects = objects.to_vec().leak();
    ObjArray {
        stride: size_of::<T>() as u32,
        count: objects.len() as u32,
        array: objects.as_ptr() as u64,
    }
}

pub fn vm(file: &File) -> u32 {
    let mut args = uapi::VmCreate::default();
    call(file, Ioctl::VmCreate, &mut args).unwrap();
    args.id
}

/// A buffer of 4 KiB pages.
pub fn buffer(file: &File, pages: u64) -> u32 {
    let mut args = uapi::BoCreate { size: pages << 12, ..Default::default() };
    call(file, Ioctl::BoCreate, &mut args).unwrap();
    args.handle
}

/// Executes operations immediately. An error comes with the number of operations that were executed.
pub fn bind(file: &File, vm_id: u32, ops: &[VmBindOp]) -> Result<(), (Errno, u32)> {
    let mut args = uapi::VmBind { vm_id, flags: 0, ops: array(ops) };
    call(file, Ioctl::VmBind, &mut args).map_err(|errno| (errno, args.ops.count))
}

/// Binds a whole buffer.
pub fn map(bo_handle: u32, va: u64, pages: u64) -> VmBindOp {
    VmBindOp { bo_handle, va, size: pages << 12, ..Default::default() }
}

pub fn unmap(va: u64, pages: u64) -> VmBindOp {
    VmBindOp { flags: uapi::BIND_OP_TYPE_UNMAP, va, size: pages << 12, ..Default::default() }
}

pub fn queue() -> uapi::QueueCreate {
    uapi::QueueCreate { ringbuf_size: 1 << 16, ..Default::default() }
}

pub fn group(file: &File, vm_id: u32, queues: usize) -> u32 {
    let queues = vec![queue(); queues];
    let mut args = uapi::GroupCreate { queues: array(&queues), vm_id, ..Default::default() };
    call(file, Ioctl::GroupCreate, &mut args).unwrap();
    args.group_handle
}

pub fn syncobj(file: &File) -> u32 {
    let mut args = core::SyncobjCreate::default();
    call_info(file, core::Ioctl::SyncobjCreate.info(), &mut args).unwrap();
    args.handle
}

pub fn waits_for(handle: u32) -> SyncOp {
    SyncOp { flags: 0, handle, timeline_value: 0 }
}

pub fn signals(handle: u32) -> SyncOp {
    SyncOp { flags: uapi::SYNC_OP_SIGNAL, handle, timeline_value: 0 }
}

pub fn stream(queue_index: u32, stream_addr: u64, syncs: &[SyncOp]) -> uapi::QueueSubmit {
    let stream_size = if stream_addr == 0 { 0 } else { 8 };
    let syncs = array(syncs);
    uapi::QueueSubmit { queue_index, stream_size, stream_addr, syncs, ..Default::default() }
}

pub fn submit(file: &File, group_handle: u32, streams: &[uapi::QueueSubmit]) -> Answer {
    let mut args = uapi::GroupSubmit { group_handle, pad: 0, queue_submits: array(streams) };
    call(file, Ioctl::GroupSubmit, &mut args)
}

/// The outcome of a sync object's fence, once it has signalled.
pub fn outcome(file: &File, handle: u32) -> Answer {
    file.core().fence(handle, 0).unwrap().wait()
}

pub fn group_state(file: &File, group_handle: u32) -> (u32, u32) {
    let mut args = uapi::GroupGetState { group_handle, ..Default::default() };
    call(file, Ioctl::GroupGetState, &mut args).unwrap();
    (args.state, args.fatal_queues)
}

/// Writes the first word of a buffer.
pub fn poke(file: &File, handle: u32, offset: usize, word: u32) {
    let gem = file.core().gem(handle).unwrap();
    assert!(offset + 4 <= gem.size() as usize);
    // SAFETY: inside of the buffer; the executor reads the word while this writes it, as a GPU does.
    unsafe { gem.base().add(offset).cast::<u32>().write_volatile(word) };
}
