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
//! | [`gen12`] | commands of Gen12 that Gen9 does not have in this form | batches |
//!
//! [`command`] tells the commands of a batch apart.
//!
//! Bit positions and names are those of Mesa's genxml for Gen9 and Gen12. What only one generation has
//! says so (`since 120`, `before 120`); [`revision`] is the number of a generation that functions such
//! as `unpack_as` take. [`ALL`] lists every structure, for documentation and tools.
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
pub mod gen12;
mod gen12_as_gen9;
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

use tepui_intel_chips::Generation;
pub use tepui_packets::{Decoded, Packet, PacketInfo, Problem, ProblemKind, Revision, Value};

/// The revision that the declarations name a generation by.
pub const fn revision(generation: Generation) -> Revision {
    generation.verx10()
}

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
    gen12::ALL,
];

/// The reflection table of a generation's packet with this name.
pub fn find(generation: Generation, name: &str) -> Option<&'static PacketInfo> {
    of_generation(generation).find(|info| info.name == name)
}

/// The reflection tables of a generation's packets.
pub fn of_generation(generation: Generation) -> impl Iterator<Item = &'static PacketInfo> {
    let all = ALL.iter().flat_map(|list| list.iter()).copied();
    all.filter(move |info| info.revisions.has(revision(generation)))
}
