//! A client of the interface, for the tests next to this folder.
#![allow(dead_code, reason = "each test takes what it needs")]

use std::sync::{Arc, Mutex};

use tepui_agx_kernel::{Device, Execute, File, Options};
use tepui_agx_model::{ComputeJob, JobFault, JobStats, RenderJob, Unit};
use tepui_drm::Errno;
use tepui_drm::uapi::asahi::{self as uapi, Ioctl};
use tepui_drm::uapi::{IoctlInfo, KernelStruct, core};
use tepui_drm::user::ThisProcess;
use tepui_softgpu::AddressSpace;

pub const PAGE: u64 = 1 << 14;

/// An executor that a test steers: compute commands run `Steer::job`, render commands do nothing.
pub struct Steered(pub Box<Job>);

type Job = dyn Fn(&AddressSpace, &ComputeJob) -> Result<JobStats, JobFault> + Send + Sync;

impl Execute for Steered {
    fn compute(&self, vm: &AddressSpace, job: &ComputeJob) -> Result<JobStats, JobFault> {
        (self.0)(vm, job)
    }
    fn render(&self, _: &AddressSpace, _: &RenderJob) -> Result<JobStats, JobFault> {
        Ok(JobStats::default())
    }
}

pub fn fault(what: &str) -> JobFault {
    JobFault::new(Unit::Cdm, what)
}

pub fn quiet() -> Options {
    Options { report_faults: false, ..Options::default() }
}

/// A device of which compute commands do what `job` does.
pub fn device(
    job: impl Fn(&AddressSpace, &ComputeJob) -> Result<JobStats, JobFault> + Send + Sync + 'static,
) -> Arc<Device> {
    let chip = tepui_agx_chips::chip("m1").unwrap();
    Device::with_executor(chip, quiet(), Box::new(Steered(Box::new(job))))
}

/// A device on which compute commands write their stream's address, in order, into a list.
pub fn recorder() -> (Arc<Device>, Arc<Mutex<Vec<u64>>>) {
    let list = Arc::new(Mutex::new(Vec::new()));
    let record = list.clone();
    let device = device(move |_, job| {
        record.lock().unwrap().push(job.registers.ctrl_stream_base);
        Ok(JobStats::default())
    });
    (device, list)
}

pub fn call_info<T: KernelStruct>(
    file: &File,
    info: &IoctlInfo,
    args: &mut T,
) -> Result<(), Errno> {
    // SAFETY: the pointers are those of the tests, valid or null.
    let user = unsafe { ThisProcess::new() };
    file.ioctl(&user, info.request, bytemuck::bytes_of_mut(args)).map(|_| ())
}

pub fn call<T: KernelStruct>(file: &File, ioctl: Ioctl, args: &mut T) -> Result<(), Errno> {
    call_info(file, ioctl.info(), args)
}

pub fn call_core<T: KernelStruct>(
    file: &File,
    ioctl: core::Ioctl,
    args: &mut T,
) -> Result<(), Errno> {
    call_info(file, ioctl.info(), args)
}

/// A range that the kernel may keep, at the top of the window.
pub fn kernel_range() -> (u64, u64) {
    ((1 << 39) - (1 << 35), 1 << 39)
}

pub fn vm(file: &File) -> u32 {
    let (kernel_start, kernel_end) = kernel_range();
    let mut args = uapi::VmCreate { kernel_start, kernel_end, ..Default::default() };
    call(file, Ioctl::VmCreate, &mut args).unwrap();
    args.vm_id
}

pub fn gem(file: &File, size: u64) -> u32 {
    let mut args = uapi::GemCreate { size, ..Default::default() };
    call(file, Ioctl::GemCreate, &mut args).unwrap();
    args.handle
}

pub fn gem_close(file: &File, handle: u32) -> Result<(), Errno> {
    call_core(file, core::Ioctl::GemClose, &mut core::GemClose { handle, pad: 0 })
}

pub fn bind(file: &File, vm_id: u32, op: uapi::GemBindOp) -> Result<(), Errno> {
    binds(file, vm_id, &[op])
}

pub fn binds(file: &File, vm_id: u32, ops: &[uapi::GemBindOp]) -> Result<(), Errno> {
    let mut args = uapi::VmBind {
        vm_id,
        num_binds: ops.len() as u32,
        stride: size_of::<uapi::GemBindOp>() as u32,
        userptr: ops.as_ptr() as u64,
        ..Default::default()
    };
    call(file, Ioctl::VmBind, &mut args)
}

pub fn queue(file: &File, vm_id: u32) -> u32 {
    let mut args = uapi::QueueCreate {
        vm_id,
        priority: uapi::PRIORITY_MEDIUM,
        usc_exec_base: 1 << 36,
        ..Default::default()
    };
    call(file, Ioctl::QueueCreate, &mut args).unwrap();
    args.queue_id
}

pub fn syncobj(file: &File, signaled: bool) -> u32 {
    let mut args = core::SyncobjCreate { flags: signaled.into(), ..Default::default() };
    call_core(file, core::Ioctl::SyncobjCreate, &mut args).unwrap();
    args.handle
}

pub fn wait(file: &File, handle: u32) -> Result<(), Errno> {
    wait_until(file, handle, i64::MAX)
}

pub fn wait_until(file: &File, handle: u32, timeout_nsec: i64) -> Result<(), Errno> {
    let mut args = core::SyncobjWait {
        handles: (&raw const handle) as u64,
        count_handles: 1,
        flags: 2,
        timeout_nsec,
        ..Default::default()
    };
    call_core(file, core::Ioctl::SyncobjWait, &mut args)
}

/// Result of the work of a sync object's fence; `None` while it is pending.
pub fn outcome(file: &File, handle: u32) -> Option<Result<(), Errno>> {
    file.core().fence(handle, 0).unwrap().outcome()
}

pub fn binary(handle: u32) -> uapi::Sync {
    uapi::Sync { sync_type: uapi::SYNC_SYNCOBJ, handle, timeline_value: 0 }
}

pub fn point(handle: u32, timeline_value: u64) -> uapi::Sync {
    uapi::Sync { sync_type: uapi::SYNC_TIMELINE_SYNCOBJ, handle, timeline_value }
}

/// A command buffer, put together piece by piece.
#[derive(Clone, Default)]
pub struct Commands(pub Vec<u8>);

impl Commands {
    pub fn raw(mut self, cmd_type: u16, barriers: [u16; 2], payload: &[u8]) -> Self {
        let header = uapi::CmdHeader {
            cmd_type,
            size: payload.len() as u16,
            vdm_barrier: barriers[0],
            cdm_barrier: barriers[1],
        };
        self.0.extend(bytemuck::bytes_of(&header));
        self.0.extend(payload);
        self
    }

    pub fn compute(self, command: uapi::CmdCompute) -> Self {
        self.raw(uapi::CMD_COMPUTE, [uapi::BARRIER_NONE, 0], bytemuck::bytes_of(&command))
    }

    /// A compute command that a test tells by the address of its stream.
    pub fn marked(self, mark: u64) -> Self {
        self.compute(uapi::CmdCompute { cdm_ctrl_stream_base: mark, ..Default::default() })
    }

    pub fn render(self, command: uapi::CmdRender) -> Self {
        self.raw(uapi::CMD_RENDER, [0, uapi::BARRIER_NONE], bytemuck::bytes_of(&command))
    }
}

/// A render command that is well-formed.
pub fn render() -> uapi::CmdRender {
    uapi::CmdRender {
        width_px: 64,
        height_px: 64,
        layers: 1,
        samples: 1,
        utile_width_px: 32,
        utile_height_px: 32,
        ..Default::default()
    }
}

pub fn submit(
    file: &File,
    queue_id: u32,
    commands: &Commands,
    ins: &[uapi::Sync],
    outs: &[uapi::Sync],
) -> Result<(), Errno> {
    let syncs = [ins, outs].concat();
    let mut args = uapi::Submit {
        syncs: syncs.as_ptr() as u64,
        cmdbuf: commands.0.as_ptr() as u64,
        queue_id,
        in_sync_count: ins.len() as u32,
        out_sync_count: outs.len() as u32,
        cmdbuf_size: commands.0.len() as u32,
        ..Default::default()
    };
    call(file, Ioctl::Submit, &mut args)
}
