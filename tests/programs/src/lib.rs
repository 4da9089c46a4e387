//! A library that tests preload into the programs that they run: a clock that can be stopped, and a
//! workaround for a defect of Mesa. Each acts only when its environment variable is set.

mod clock;
mod dummy_waits;
