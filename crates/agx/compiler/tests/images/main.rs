//! Image instructions: what the machine code leaves in buffers and images is what the interpreter leaves, or what the test computes.

mod arrays;
mod residency;
#[path = "../rig/mod.rs"]
mod rig;

use rig::{Agx, Model};
use tepui_agx_compiler::Options;
use tepui_compiler_test::images::{Images, check};
use tepui_compiler_test::seeds;

fn check_all(count: u64, images: Images) {
    let agx = Agx(Options::default());
    check(&agx, || Model::new(true), seeds(0, count), images, |_| {}).takes_all_but(&[]);
}

#[test]
fn textures() {
    check_all(400, Images::Textures);
}

#[test]
fn storage_images() {
    check_all(300, Images::Storage);
}
