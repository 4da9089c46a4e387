//! `docs/vulkan-features.md` is what the driver offers; `BLESS=1` writes it.

use std::fmt::{Debug, Write};
use std::path::Path;

use tepui_agx_driver::{Agx, Physical, format};
use tepui_format::Format;
use tepui_vulkan::vk::{self, FormatFeatureFlags2 as F, SampleCountFlags};
use tepui_vulkan::{Error, member, wsi};

/// The page before its lists.
fn head(extensions: usize, formats: usize) -> String {
    format!(
        "# Features of Tepui's Vulkan driver for the M1

Vulkan 1.4, {extensions} device extensions, {formats} formats. Sparse resources and residency are on where the kernel has soft faults, as on the virtual M1;
the lists have them as off. [honeykrisp.md](honeykrisp.md) has each difference from Honeykrisp with its reason, [vulkan.md](vulkan.md#what-is-missing) what is missing.

`BLESS=1 cargo test --release -p tepui-agx-driver --test features` writes this page from the driver's tables
(`crates/agx/driver/src/limits.rs`, `format.rs`) and the runtime's (`crates/vulkan/src/offer.rs`).
"
    )
}

/// The fields of a structure of truth values: those that are on, and those that are off.
fn fields(structure: &dyn Debug) -> [Vec<String>; 2] {
    let text = format!("{structure:#?}");
    let with = |value: &str| {
        let named = text.lines().filter_map(|line| line.trim().strip_suffix(value));
        named.map(|name| format!("`{name}`")).collect()
    };
    [with(": 1,"), with(": 0,")]
}

fn features(out: &mut String, version: &str, structure: &dyn Debug) {
    let [on, off] = fields(structure);
    assert!(!on.is_empty(), "no feature of Vulkan {version}");
    let _ = writeln!(out, "\n### Vulkan {version}\n\nOn: {}.", on.join(", "));
    if !off.is_empty() {
        let _ = writeln!(out, "\nOff: {}.", off.join(", "));
    }
}

/// Features of images and buffers of a format.
const COLUMNS: [(&str, F); 7] = [
    ("sampled", F::SAMPLED_IMAGE),
    ("filtered", F::SAMPLED_IMAGE_FILTER_LINEAR),
    ("converted", F::MIDPOINT_CHROMA_SAMPLES),
    ("stored", F::STORAGE_IMAGE),
    ("atomics", F::STORAGE_IMAGE_ATOMIC),
    ("blended", F::COLOR_ATTACHMENT_BLEND),
    ("depth or stencil", F::DEPTH_STENCIL_ATTACHMENT),
];

/// Writes the table of formats; returns how many it has.
fn formats(out: &mut String) -> usize {
    let names: Vec<_> = COLUMNS.iter().map(|c| c.0).collect();
    let _ = writeln!(
        out,
        "\n## Formats\n\n| | {} | drawn to | samples | linear | texel buffer | vertices |",
        names.join(" | ")
    );
    let _ = writeln!(out, "| --- {}|", "| --- ".repeat(COLUMNS.len() + 5));
    let mark = |on: bool| if on { "x" } else { "" };
    let mut count = 0;
    for f in Format::all() {
        let has = format::features(f);
        if has.optimal.is_empty() && has.buffer.is_empty() {
            continue;
        }
        count += 1;
        let cells: Vec<_> = COLUMNS.iter().map(|c| mark(has.optimal.contains(c.1))).collect();
        let samples = [SampleCountFlags::_1, SampleCountFlags::_2, SampleCountFlags::_4];
        let samples: Vec<_> = samples
            .iter()
            .filter(|&&s| has.samples.contains(s))
            .map(|s| s.bits().to_string())
            .collect();
        let _ = writeln!(
            out,
            "| {f} | {} | {} | {} | {} | {} | {} |",
            cells.join(" | "),
            mark(has.optimal.contains(F::COLOR_ATTACHMENT)),
            samples.join(", "),
            mark(!has.linear.is_empty()),
            mark(has.buffer.contains(F::UNIFORM_TEXEL_BUFFER)),
            mark(has.buffer.contains(F::VERTEX_BUFFER)),
        );
    }
    assert!(count > 100, "{count} formats");
    count
}

#[test]
fn the_page_is_what_the_driver_offers() {
    let mut page = String::from("\n## Features\n");
    let chip = tepui_agx_chips::chip("m1").unwrap();
    let open = || Err(Error::unsupported("devices of this test"));
    let physical =
        member::member::<Agx>(Physical::new(chip, false, Box::new(open)), Default::default());
    let info = physical.info();
    let mut v11 = vk::PhysicalDeviceVulkan11Features::default();
    let mut v12 = vk::PhysicalDeviceVulkan12Features::default();
    let mut v13 = vk::PhysicalDeviceVulkan13Features::default();
    let mut v14 = vk::PhysicalDeviceVulkan14Features::default();
    let all: [*mut std::ffi::c_void; 4] = [
        (&raw mut v11).cast(),
        (&raw mut v12).cast(),
        (&raw mut v13).cast(),
        (&raw mut v14).cast(),
    ];
    // SAFETY: chains of one structure.
    all.into_iter().for_each(|chain| unsafe { info.feature_chain.answer(chain) });
    features(&mut page, "1.0", &info.features);
    features(&mut page, "1.1", &v11);
    features(&mut page, "1.2", &v12);
    features(&mut page, "1.3", &v13);
    features(&mut page, "1.4", &v14);
    let is_window = |name| wsi::DEVICE_EXTENSIONS.iter().any(|e| e.0 == name);
    let mut list: Vec<_> = info.extensions.iter().filter(|e| !is_window(e.0)).collect();
    // Khronos' first, then those of several vendors, then those of one.
    let rank = |name: &str| ["VK_KHR_", "VK_EXT_"].iter().position(|p| name.starts_with(p));
    list.sort_by_key(|e| (rank(e.0).unwrap_or(2), e.0));
    let list: Vec<_> = list.iter().map(|(name, version)| format!("`{name}` {version}")).collect();
    let _ = writeln!(
        page,
        "\n## Extensions\n\n{} of devices, with their versions; those of window systems are not among them.\n\n{}.",
        list.len(),
        list.join(", ")
    );
    let formats = formats(&mut page);
    page.insert_str(0, &head(list.len(), formats));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/vulkan-features.md");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, page).unwrap();
        return;
    }
    let have = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        have == page,
        "docs/vulkan-features.md is not what the driver offers: run with BLESS=1"
    );
}
