//! Draws by compiled vertex and fragment shaders: every pixel is what the IR's interpreter says, at each number of channels.

mod basics;
mod effects;
mod outputs;
mod random;
mod rig;
mod samples;
mod vertices;
