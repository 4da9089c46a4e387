//! Tells the command where cargo leaves the library that `tepui shim` preloads, so that the command
//! can carry a copy (`src/shim_library.rs`).

use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // OUT_DIR is PROFILE/build/PACKAGE/out; what dependencies leave is in PROFILE/deps.
    let out = std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    let profile = Path::new(&out).ancestors().nth(3).expect("OUT_DIR is four folders deep");
    let library = profile.join("deps/libtepui_drm_shim.so");
    println!("cargo::rustc-env=TEPUI_SHIM_BUILT={}", library.display());
}
