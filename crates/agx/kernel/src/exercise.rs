//! The asahi interface's part of [`tepui_drm::exercise`]: sequences of its ioctls, for fuzzers and
//! property tests.

use std::sync::Arc;

use bytemuck::bytes_of;
use tepui_agx_model::{ComputeJob, JobFault, JobStats, RenderJob, Unit};
use tepui_drm::core::CoreFile;
use tepui_drm::exercise::{self, BASE, Effect, FAMILY, Family, Outcome};
use tepui_drm::uapi::asahi::{self, CmdCompute, CmdHeader, GemBindOp, Ioctl, Sync};
use tepui_drm::uapi::{Field, IoctlInfo};
use tepui_softgpu::AddressSpace;

use crate::{Device, Execute, File, Options};

/// Reads the first word of the stream and faults if it is odd, so that tests have both outcomes.
struct Reader;

impl Execute for Reader {
    fn compute(&self, vm: &AddressSpace, job: &ComputeJob) -> Result<JobStats, JobFault> {
        match vm.read_array::<4>(job.registers.ctrl_stream_base) {
            Ok(word) if word[0] & 1 == 0 => Ok(JobStats::default()),
            _ => Err(JobFault::new(Unit::Cdm, "odd")),
        }
    }

    fn render(&self, _: &AddressSpace, _: &RenderJob) -> Result<JobStats, JobFault> {
        Ok(JobStats::default())
    }
}

/// Layout of the family's part of the client's memory.
const SYNCS: usize = FAMILY;
const BINDS: usize = FAMILY + 0x100;
const COMMANDS: usize = FAMILY + 0x200;

/// Address at which the first buffer is bound at the start.
const BOUND_AT: u64 = 1 << 37;

/// Drives two opens of a device with requests made of `input`, and closes them.
///
/// # Panics
/// If a buffer outlives the files, or a handle is given twice: bugs.
pub fn run(input: &[u8]) -> Outcome {
    let Some(chip) = tepui_agx_chips::chip("m1") else { return Outcome::default() };
    let options = Options { report_faults: false, ..Options::default() };
    exercise::run(&Asahi(Device::with_executor(chip, options, Box::new(Reader))), input)
}

/// The device under test.
struct Asahi(Arc<Device>);

impl Family for Asahi {
    type File = File;

    fn open(&self) -> File {
        self.0.open()
    }

    fn core(file: &File) -> &CoreFile {
        file.core()
    }

    fn requests(&self) -> Vec<&'static IoctlInfo> {
        Ioctl::ALL.iter().map(|ioctl| ioctl.info()).collect()
    }

    fn fill(&self, put: &mut dyn FnMut(usize, &[u8])) {
        let sync = |sync_type, handle, timeline_value| Sync { sync_type, handle, timeline_value };
        put(SYNCS, bytes_of(&[sync(0, 1, 0), sync(0, 2, 0), sync(1, 2, 9), sync(1, 1, 3)]));
        let bind = |handle, addr| GemBindOp { flags: 6, handle, offset: 0, range: 1 << 14, addr };
        put(BINDS, bytes_of(&[bind(1, BOUND_AT), bind(2, 1 << 38), bind(1, 1 << 36)]));
        let header = CmdHeader { cmd_type: 1, size: 64, vdm_barrier: 0xffff, cdm_barrier: 0 };
        let command = CmdCompute { cdm_ctrl_stream_base: BOUND_AT, ..Default::default() };
        put(COMMANDS, &[bytes_of(&header), bytes_of(&command)].concat().repeat(4));
    }

    /// Two buffers, the first of them bound, an address space, a queue and a timestamp object.
    fn prepare(&self, ask: &mut dyn FnMut(&'static IoctlInfo, &[u8])) {
        let mut ask = |ioctl: Ioctl, arg: &[u8]| ask(ioctl.info(), arg);
        let [kernel_start, kernel_end] = [1u64 << 38, 1 << 39];
        let vm = asahi::VmCreate { kernel_start, kernel_end, ..Default::default() };
        ask(Ioctl::VmCreate, bytes_of(&vm));
        let gem = asahi::GemCreate { size: 1 << 14, ..Default::default() };
        ask(Ioctl::GemCreate, bytes_of(&gem));
        let private = asahi::GemCreate { flags: asahi::GEM_VM_PRIVATE, vm_id: 1, ..gem };
        ask(Ioctl::GemCreate, bytes_of(&private));
        let userptr = BASE + BINDS as u64;
        let bind = asahi::VmBind { vm_id: 1, num_binds: 1, stride: 32, pad: 0, userptr };
        ask(Ioctl::VmBind, bytes_of(&bind));
        let queue = asahi::QueueCreate { vm_id: 1, ..Default::default() };
        ask(Ioctl::QueueCreate, bytes_of(&queue));
        let object =
            asahi::GemBindObject { flags: 1, handle: 1, range: 1 << 14, ..Default::default() };
        ask(Ioctl::GemBindObject, bytes_of(&object));
    }

    fn tame(&self, field: &Field, info: &IoctlInfo, value: u64, rarely: bool) -> Option<u64> {
        let small = value & 7;
        let at = |offset: usize| BASE + offset as u64;
        Some(match field.name {
            "param_group" => 0,
            "stride" => 32,
            "flags" if info.argument.ends_with("gem_create") => value & 3,
            "flags" if info.argument.ends_with("bind_object") => 1,
            "priority" | "op" => value & u64::from(rarely),
            "kernel_start" => (1 << 38) + (small << 14),
            "kernel_end" => (1 << 39) - (small << 14),
            "vm_id" if info.argument.ends_with("bind_object") => 0,
            "size" | "range" => (1 + small) << 14,
            "offset" => (small >> 1) << 14,
            "queue_id" => 1 + (value & u64::from(rarely)),
            "cmdbuf_size" => 72 * (1 + (value & 3)),
            "num_binds" => 1 + (value & 1),
            "in_sync_count" | "out_sync_count" | "timeline_value" => value & 1,
            "syncs" => at(SYNCS) + 16 * (value & 1),
            "userptr" => at(BINDS),
            "cmdbuf" => at(COMMANDS),
            _ => return None,
        })
    }

    fn effect(&self, info: &IoctlInfo, _: &[u8], _: &[u8]) -> Effect {
        match info.name {
            "DRM_IOCTL_ASAHI_GEM_CREATE" => Effect::Buffer,
            "DRM_IOCTL_ASAHI_SUBMIT" => Effect::Submission(None),
            _ => Effect::Other,
        }
    }
}
