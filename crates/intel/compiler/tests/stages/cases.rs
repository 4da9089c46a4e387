//! The tests of one generation, that of the module's name ([`rig::generation`]).

mod basics;
mod effects;
mod geometry;
#[path = "../image_memory/mod.rs"]
mod image_memory;
mod images;
mod outputs;
mod random;
mod rig;
mod samples;
mod tessellation;
mod vertices;
