//! Descriptors of draws and renderings.
//!
//! - [`framebuffer`]: framebuffers and render targets, from attachments
//! - [`blend`]: blend descriptors; [`raster`]: depth, stencil and flags of draws
//! - [`vertex`]: attributes and vertex buffers
//! - [`samples`]: sample patterns
//! - [`load`]: programs that load attachments into tiles; [`local`]: reads of what is there
//!
//! All of them make bytes or numbers from the API's state, without a command stream.

pub mod blend;
pub mod framebuffer;
pub mod load;
pub mod local;
pub mod raster;
pub mod samples;
pub mod vertex;
