//! Sets `TEPUI_SHIM_BUILT` and `TEPUI_ICD_BUILT`, the paths at which cargo builds the library that
//! `tepui shim` preloads and the Vulkan driver of `tepui run`, so that the command can embed them
//! (`src/library.rs`).

use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // OUT_DIR is PROFILE/build/PACKAGE/out; the outputs of dependencies are in PROFILE/deps.
    let out = std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    let profile = Path::new(&out).ancestors().nth(3).expect("OUT_DIR is four folders deep");
    for (variable, name) in
        [("TEPUI_SHIM_BUILT", "libtepui_drm_shim.so"), ("TEPUI_ICD_BUILT", "libvulkan_tepui.so")]
    {
        let library = profile.join("deps").join(name);
        println!("cargo::rustc-env={variable}={}", library.display());
    }
}
