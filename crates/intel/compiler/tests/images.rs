//! Random image instructions: what the machine code leaves in buffers and images is what the interpreter leaves.

mod rig;

use rig::{Eu, GENERATIONS, Model, QUADS, options};
use tepui_compiler_test::images::{Images, check};
use tepui_compiler_test::seeds;
use tepui_ir_gen::image_programs::Program;

/// The model clamps level 0 of a gather to the sampler's range, which Vulkan leaves out.
fn gather_from_level_0(p: &mut Program) {
    if p.text.contains("tex_gather") {
        p.sampler.min_lod = 0.0;
    }
}

fn check_all(count: u64, images: Images) {
    // The hardware has no multisampled storage images, and the data port tells no residency. Long messages take half of the registers,
    // twice.
    let known =
        ["multisampled images", "with residency: the data port", QUADS, "units of registers"];
    for generation in GENERATIONS {
        for (k, width) in (0..).zip([8, 16, 32]) {
            let seeds = seeds(0, count).filter(|seed| seed % 3 == k);
            let eu = Eu(generation, options(width));
            let t = check(&eu, || Model::new(generation), seeds, images, gather_from_level_0);
            t.takes_all_but(&known);
        }
    }
}

#[test]
fn sampled_images() {
    check_all(300, Images::Textures);
}

#[test]
fn storage_images() {
    check_all(300, Images::Storage);
}
