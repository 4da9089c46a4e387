//! The i915 interface's part of [`tepui_drm::exercise`]: sequences of its ioctls, for fuzzers and
//! property tests.

use std::sync::Arc;

use bytemuck::bytes_of;
use tepui_drm::core::CoreFile;
use tepui_drm::exercise::{self, BASE, Effect, FAMILY, Family, Outcome, POINTS, SCRATCH};
use tepui_drm::uapi::i915::{self, ExecFence, ExecObject2, Ioctl, UserExtension};
use tepui_drm::uapi::{Field, IoctlInfo};
use tepui_intel_chips::CHIPS;
use tepui_intel_model::{Batch, HardwareContext, JobFault, JobStats, Unit};
use tepui_softgpu::AddressSpace;

use crate::{Device, Execute, File, Options};

/// Executor that reads the first word of the batch, and faults if it is odd, so that both outcomes occur.
struct Reader;

impl Execute for Reader {
    fn context(&self) -> HardwareContext {
        HardwareContext::new(CHIPS[0].generation)
    }

    fn execute(
        &self,
        vm: &AddressSpace,
        _: &mut HardwareContext,
        batch: &Batch,
    ) -> Result<JobStats, JobFault> {
        match vm.read_array::<4>(batch.address) {
            Ok(word) if word[0] & 1 == 0 => Ok(JobStats::default()),
            _ => Err(JobFault::new(Unit::CommandStreamer, "odd")),
        }
    }
}

/// Layout of the family's part of the client's memory.
const OBJECTS: usize = FAMILY;
const FENCES: usize = FAMILY + 0x100;
const EXTENSION: usize = FAMILY + 0x200;
const ITEMS: usize = FAMILY + 0x300;
const ENGINES: usize = FAMILY + 0x400;

/// Drives two opens of a device, whose chip the first byte selects, with requests made of `input`, and closes them.
///
/// # Panics
/// If a buffer outlives the files, or a handle is given twice: bugs.
pub fn run(input: &[u8]) -> Outcome {
    let which = usize::from(input.first().copied().unwrap_or(0));
    let chip = &CHIPS[which % CHIPS.len()];
    let options = Options { report_faults: false, ..Options::default() };
    exercise::run(&I915(Device::with_executor(chip, options, Box::new(Reader))), input)
}

/// The device under test.
struct I915(Arc<Device>);

impl Family for I915 {
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
        let object =
            |handle, offset| ExecObject2 { handle, offset, flags: 0x18, ..Default::default() };
        put(OBJECTS, bytes_of(&[object(1, 1 << 20), object(2, 1 << 40), object(1, 1 << 21)]));
        let fence = |handle, flags| ExecFence { handle, flags };
        put(FENCES, bytes_of(&[fence(1, 1), fence(2, 2), fence(2, 2), fence(1, 3)]));
        // Extensions of name 0: timeline fences, memory regions, or a parameter, depending on the request
        // that points to them.
        put(EXTENSION, bytes_of(&UserExtension::default()));
        put(EXTENSION + 32, bytes_of(&[2u64, BASE + FENCES as u64, BASE + POINTS as u64]));
        let item = |query_id, length| i915::QueryItem {
            query_id,
            length,
            flags: 0,
            data_ptr: BASE + SCRATCH as u64,
        };
        put(ITEMS, bytes_of(&[item(1, 0), item(2, 512), item(4, 512), item(5, 0)]));
        put(ENGINES, &[0; 16]);
    }

    /// Two buffers, an address space and a context.
    fn prepare(&self, ask: &mut dyn FnMut(&'static IoctlInfo, &[u8])) {
        let gem = i915::GemCreateExt { size: 1 << 14, ..Default::default() };
        ask(Ioctl::GemCreate.info(), bytes_of(&gem));
        ask(Ioctl::GemCreate.info(), bytes_of(&gem));
        ask(Ioctl::GemVmCreate.info(), bytes_of(&i915::VmControl::default()));
        let context = i915::ContextCreateExt::default();
        ask(Ioctl::GemContextCreate.info(), bytes_of(&context));
    }

    fn tame(&self, field: &Field, info: &IoctlInfo, value: u64, rarely: bool) -> Option<u64> {
        let small = value & 7;
        let at = |offset: usize| BASE + offset as u64;
        let execute = info.argument.ends_with("execbuffer2");
        Some(match field.name {
            "dr1" | "dr4" | "batch_start_offset" | "batch_len" => 0,
            "flags" if execute => {
                [0, 1 << 17, 1 << 18, 3 << 17, 1 << 19, 1 << 21][value as usize % 6]
            }
            "num_cliprects" => 2 * u64::from(value & 7 == 7),
            "cliprects_ptr" => {
                [0, 0, 0, 0, 0, 0, at(FENCES), at(EXTENSION)][value as usize >> 1 & 7]
            }
            "buffers_ptr" => at(OBJECTS),
            "buffer_count" => 1 + (value & 1),
            "extensions" => at(EXTENSION) * (value & u64::from(rarely)),
            "items_ptr" => at(ITEMS),
            "num_items" => value & 3,
            "rsvd1" | "ctx_id" => value & 1,
            "param" => value % 60,
            "value" if info.argument.ends_with("context_param") => at(ENGINES) * (value & 1),
            "query_id" => small,
            "tiling_mode" | "caching" | "madv" => value & 1,
            "stride" => 512 * small,
            "read_domains" | "write_domain" => value & 1,
            "size" => [0, 8, 12, 4096][value as usize % 4],
            "offset" => small << 9,
            _ => return None,
        })
    }

    fn effect(&self, info: &IoctlInfo, before: &[u8], after: &[u8]) -> Effect {
        match info.name {
            "DRM_IOCTL_I915_GEM_CREATE" | "DRM_IOCTL_I915_GEM_CREATE_EXT" => Effect::Buffer,
            "DRM_IOCTL_I915_GEM_EXECBUFFER2" => {
                let flags = u64::from_le_bytes(exercise::field(info, "flags", before));
                let fence = flags & i915::exec::FENCE_OUT != 0;
                let result = u64::from_le_bytes(exercise::field(info, "rsvd2", after));
                // The descriptor is in the upper half.
                Effect::Submission(fence.then_some((result >> 32) as i32))
            }
            _ => Effect::Other,
        }
    }
}
