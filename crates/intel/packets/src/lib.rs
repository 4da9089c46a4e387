//! Declarations of the commands and states of Intel's GPUs.
//!
//! There is one module for each unit that reads the structures, in the order in which work reaches
//! it:
//!
//! | module | structures | where they are |
//! | --- | --- | --- |
//! | [`mi`] | control of the command stream, registers, memory | batches |
//! | [`state`] | base addresses, PIPE_CONTROL | batches |
//! | [`media`] | compute: walkers, interface descriptors, constants | batches; dynamic state |
//! | [`vertex`], [`stages`], [`bindings`], [`raster`], [`pixel`], [`output`] | the 3D pipeline from the vertex fetcher to blending | batches; dynamic state |
//! | [`surface`], [`sampler`] | surfaces and samplers | surface state and dynamic state |
//!
//! [`command`] tells the commands of a batch apart.
//!
//! Bit positions and names are those of Mesa's genxml for Gen9. [`ALL`] lists every structure, for
//! documentation and tools.
//!
//! ```
//! use tepui_intel_packets::mi::MiLoadRegisterMem;
//! use tepui_packets::Packet;
//!
//! let load = MiLoadRegisterMem {
//!     register_address: 0x2600,
//!     memory_address: 0x1_0000_0040,
//!     ..Default::default()
//! };
//! assert_eq!(MiLoadRegisterMem::unpack(&load.pack()?)?, load);
//! # Ok::<(), tepui_packets::Problem>(())
//! ```

pub mod bindings;
pub mod command;
pub mod media;
pub mod mi;
pub mod output;
pub mod pixel;
pub mod raster;
pub mod sampler;
pub mod stages;
pub mod state;
pub mod surface;
pub mod vertex;

pub use tepui_packets::{Decoded, Packet, PacketInfo, Problem, ProblemKind, Value};

/// The reflection tables of all packets, by module.
pub static ALL: &[&[&PacketInfo]] = &[
    mi::ALL,
    state::ALL,
    media::ALL,
    vertex::ALL,
    stages::ALL,
    bindings::ALL,
    raster::ALL,
    pixel::ALL,
    output::ALL,
    surface::ALL,
    sampler::ALL,
];

/// The reflection table of the packet with this name.
pub fn find(name: &str) -> Option<&'static PacketInfo> {
    ALL.iter().flat_map(|list| list.iter()).find(|info| info.name == name).copied()
}
