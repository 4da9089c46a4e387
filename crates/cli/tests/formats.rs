//! `tepui formats` for a Mali GPU agrees with the registers that the virtual chip presents to a driver.

use std::process::Command;

use tepui_drm::uapi::panfrost::{self, param};
use tepui_drm::uapi::panthor;
use tepui_drm::user::ThisProcess;
use tepui_gpus::mali::{CHIPS, Chip};
use tepui_mali_kernel::{Device, Options, panfrost as jobs};

/// TEXTURE_FEATURES_0, asked for as a driver does.
fn register(chip: &'static Chip) -> u32 {
    let options = Options { report_faults: false, ..Options::default() };
    if chip.arch.0 < 10 {
        let file = jobs::Device::new(chip, options).open();
        let mut get = panfrost::GetParam { param: param::TEXTURE_FEATURES0, ..Default::default() };
        let request = panfrost::Ioctl::GetParam.info().request;
        // SAFETY: the argument has no pointers.
        let user = unsafe { ThisProcess::new() };
        file.ioctl(&user, request, bytemuck::bytes_of_mut(&mut get)).expect("a parameter");
        return get.value as u32;
    }
    let file = Device::new(chip, options).open();
    let mut info = panthor::GpuInfo::default();
    let mut query = panthor::DevQuery {
        r#type: panthor::QUERY_GPU_INFO,
        size: size_of::<panthor::GpuInfo>() as u32,
        pointer: (&raw mut info) as u64,
    };
    let request = panthor::Ioctl::DevQuery.info().request;
    // SAFETY: the pointer is that of a live value of the size.
    let user = unsafe { ThisProcess::new() };
    file.ioctl(&user, request, bytemuck::bytes_of_mut(&mut query)).expect("a query");
    info.texture_features[0]
}

#[test]
fn formats_are_those_of_the_virtual_chips_registers() {
    for chip in CHIPS {
        let register = register(chip);
        let arguments = ["formats", "--gpu", chip.id, "--json"];
        let output = Command::new(env!("CARGO_BIN_EXE_tepui")).args(arguments).output();
        let output = output.expect("it starts").stdout;
        let answer: serde_json::Value = serde_json::from_slice(&output).expect("JSON");
        let families = answer["compressed"].as_array().expect("families");
        assert_eq!(families.len(), 21);
        for family in families {
            let bit = family["bit"].as_u64().expect("a bit");
            assert_eq!(family["supported"], register >> bit & 1 != 0, "{}: {family}", chip.id);
        }
        // A compressed format is sampled if its family's bit is set.
        let formats = answer["formats"].as_array().expect("formats");
        for (format, bit) in [("BC1_RGBA_UNORM_BLOCK", 7), ("ETC2_R8G8B8_UNORM_BLOCK", 1)] {
            let row = formats.iter().find(|row| row["format"] == format).expect("a format");
            assert_eq!(row["sampled"], register >> bit & 1 != 0, "{}: {format}", chip.id);
        }
    }
}
