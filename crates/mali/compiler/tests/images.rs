//! Random image instructions: what the machine code leaves in buffers and images is what the interpreter leaves.

mod rig;

use rig::{CHIPS, Model, Valhall, options};
use tepui_compiler_test::images::{Images, QUADS, check};
use tepui_compiler_test::seeds;
use tepui_ir_gen::image_programs::Program;

/// The model reads zeros outside of images.
fn zeros_outside(p: &mut Program) {
    p.zeros_outside = true;
}

fn check_all(count: u64, images: Images, known: &[&str]) {
    for chip in CHIPS {
        let model = || Model::new(chip);
        let t = check(&Valhall::new(options()), model, seeds(0, count), images, zeros_outside);
        t.takes_all_but(known);
    }
}

#[test]
fn sampled_images() {
    check_all(300, Images::Textures, &[QUADS]);
}

#[test]
fn storage_images() {
    check_all(300, Images::Storage, &[]);
}
