//! Declarations of the command-stream instructions and descriptors of Mali GPUs (v5 to v10).
//!
//! | module | structures | where they are |
//! | --- | --- | --- |
//! | [`cs`] | instructions of the command-stream front end | command streams |
//! | [`shader`] | programs, resource tables, buffers, attributes, local storage | memory that registers of the stream point to |
//! | [`texture`] | textures, planes, samplers | resource tables |
//! | [`draw`] | primitives, draws, depth and stencil, blending | registers and memory |
//! | [`framebuffer`] | framebuffers, render targets | memory |
//! | [`job`] | jobs | chains in memory |
//! | [`bifrost`] | draws, renderer state and what else v7 has of its own | chains in memory |
//! | [`midgard`] | what v4 and v5 have of their own | chains in memory |
//! | [`sfbd`] | framebuffers of v4 | chains in memory |
//! | [`tiler`] | the tiler's context and heap | memory |
//!
//! Bit positions and names are those of Mesa's genxml. [`ALL`] lists every structure, for
//! documentation and tools.
//!
//! ```
//! use tepui_mali_packets::cs::{CsMove32, CsOpcode, opcode};
//! use tepui_packets::Packet;
//!
//! let set = CsMove32 { immediate: 7, destination: 33, ..Default::default() };
//! let bytes = set.pack()?;
//! assert_eq!(CsMove32::unpack(&bytes)?, set);
//! assert_eq!(opcode(u64::from_le_bytes(bytes)), Some(CsOpcode::Move32));
//! # Ok::<(), tepui_packets::Problem>(())
//! ```

pub mod bifrost;
pub mod cs;
pub mod draw;
pub mod framebuffer;
pub mod job;
pub mod midgard;
pub mod sfbd;
pub mod shader;
pub mod texture;
pub mod tiler;

pub use tepui_packets::{Base, Decoded, Packet, PacketInfo, Problem, ProblemKind, Revision, Value};

/// The revision by which declarations know an architecture: newer ones came first to be described, so that numbers grow as
/// architectures become older, and the first is v10.
pub const fn revision(arch: u8) -> Revision {
    match arch {
        10.. => 0,
        9 => 1,
        7 | 8 => 2,
        6 => 3,
        5 => 4,
        _ => 5,
    }
}

/// The reflection tables of all packets, by module.
pub static ALL: &[&[&PacketInfo]] = &[
    cs::ALL,
    shader::ALL,
    texture::ALL,
    draw::ALL,
    framebuffer::ALL,
    tiler::ALL,
    job::ALL,
    bifrost::ALL,
    midgard::ALL,
    sfbd::ALL,
];

/// The reflection table of the packet with this name.
pub fn find(name: &str) -> Option<&'static PacketInfo> {
    ALL.iter().flat_map(|list| list.iter()).find(|info| info.name == name).copied()
}
