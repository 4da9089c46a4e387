//! The tests of one generation, that of the module's name ([`rig::generation`]).

mod basics;
mod effects;
mod geometry;
mod outputs;
mod random;
mod rig;
mod samples;
mod tessellation;
mod vertices;
