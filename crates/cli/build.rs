//! Sets `TEPUI_SHIM_BUILT`, the path at which cargo builds the library that `tepui shim` preloads,
//! so that the command can embed it (`src/shim_library.rs`).

use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // OUT_DIR is PROFILE/build/PACKAGE/out; the outputs of dependencies are in PROFILE/deps.
    let out = std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    let profile = Path::new(&out).ancestors().nth(3).expect("OUT_DIR is four folders deep");
    let library = profile.join("deps/libtepui_drm_shim.so");
    println!("cargo::rustc-env=TEPUI_SHIM_BUILT={}", library.display());
}
