//! Gives the WebAssembly module a stack as large as a thread's: the compiler recurses over nested regions.

/// Bytes of the stack.
const STACK_B: u32 = 16 << 20;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_FAMILY").is_ok_and(|family| family == "wasm") {
        println!("cargo::rustc-link-arg-cdylib=-zstack-size={STACK_B}");
    }
}
