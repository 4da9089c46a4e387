//! Draws by compiled vertex and fragment shaders: every pixel is what the IR's interpreter says, at each number of channels, on
//! both generations.

#![expect(clippy::duplicate_mod, reason = "the same tests run for each generation")]

#[path = "cases.rs"]
mod skylake;
#[path = "cases.rs"]
mod tiger_lake;
