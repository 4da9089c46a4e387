//! The panfrost interface's part of [`tepui_drm::exercise`]: sequences of its ioctls, for fuzzers and property tests.

use std::sync::Arc;

use bytemuck::bytes_of;
use tepui_drm::core::CoreFile;
use tepui_drm::exercise::{self, BASE, Effect, FAMILY, Family, Outcome};
use tepui_drm::uapi::panfrost::{self as uapi, Ioctl};
use tepui_drm::uapi::{Field, IoctlInfo};

use super::{Device, File};
use crate::Options;

/// Layout of the family's part of the client's memory.
const HANDLES: usize = FAMILY;
const SYNCS: usize = FAMILY + 0x40;
const RANGES: usize = FAMILY + 0x80;

/// Drives two opens of a device with requests made of `input`, and closes them.
///
/// # Panics
/// If a buffer outlives the files, or a handle is given twice: bugs.
pub fn run(input: &[u8]) -> Outcome {
    let Some(chip) = tepui_mali_chips::chip("mali-g52") else { return Outcome::default() };
    let options = Options { report_faults: false, ..Options::default() };
    exercise::run(&Panfrost(Device::new(chip, options)), input)
}

/// The device under test.
struct Panfrost(Arc<Device>);

impl Family for Panfrost {
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
        put(HANDLES, bytes_of(&[1u32, 2, 1, 3]));
        put(SYNCS, bytes_of(&[1u32, 2, 1, 9]));
        let range = uapi::BoSyncOp { handle: 1, r#type: 0, offset: 0, size: 4096 };
        put(RANGES, bytes_of(&[range, range]));
    }

    /// Two buffers and a context.
    fn prepare(&self, ask: &mut dyn FnMut(&'static IoctlInfo, &[u8])) {
        let mut ask = |ioctl: Ioctl, arg: &[u8]| ask(ioctl.info(), arg);
        let buffer = uapi::CreateBo { size: 1 << 12, flags: uapi::BO_NOEXEC, ..Default::default() };
        ask(Ioctl::CreateBo, bytes_of(&buffer));
        ask(Ioctl::CreateBo, bytes_of(&uapi::CreateBo { flags: 0, ..buffer }));
        ask(Ioctl::JmCtxCreate, bytes_of(&uapi::JmCtxCreate::default()));
    }

    fn tame(&self, field: &Field, info: &IoctlInfo, value: u64, rarely: bool) -> Option<u64> {
        let small = value & 3;
        Some(match field.name {
            // Addresses of the first buffers, or near them.
            "jc" => (1 << 25) + (value & 0x1fc0),
            "in_syncs" => BASE + SYNCS as u64 + 4 * small,
            "bo_handles" => BASE + HANDLES as u64 + 4 * small,
            "ops" => BASE + RANGES as u64,
            "in_sync_count" | "bo_handle_count" | "op_count" => value & 1,
            "requirements" => small,
            "jm_ctx_handle" => value & 1,
            "size" => (1 + small) << 12,
            "flags" if info.argument.ends_with("create_bo") => value & 7,
            "flags" | "pad" => u64::from(rarely),
            "param" => value & 63,
            "madv" | "priority" => small,
            "timeout_ns" => 0,
            _ => return None,
        })
    }

    fn tame_bytes(&self, _: &Field, _: &IoctlInfo, _: &mut [u8]) {}

    fn effect(&self, info: &IoctlInfo, _: &[u8], _: &[u8]) -> Effect {
        match info.name {
            "DRM_IOCTL_PANFROST_CREATE_BO" => Effect::Buffer,
            "DRM_IOCTL_PANFROST_SUBMIT" => Effect::Submission(None),
            _ => Effect::Other,
        }
    }
}
