//! Vertex and fragment shaders drawn on the model, and every pixel compared with the IR
//! interpreter's run of the same shaders.

mod attributes;
mod basics;
mod blend;
mod coverage;
mod effects;
mod feedback;
mod outputs;
mod rig;
mod samples;
mod targets;
mod tests;
mod textures;
mod threads;
