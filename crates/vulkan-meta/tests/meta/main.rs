//! The programs and plans of meta operations, run by the IR's interpreter on images in memory, against straightforward references.

mod converts;
mod copies;
mod draws;
mod gpu;
mod words;
