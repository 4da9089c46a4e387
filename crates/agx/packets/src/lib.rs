//! Declarations of the bit-packed structures of AGX: control streams, USC words, state and
//! descriptors.
//!
//! There is one module for each hardware unit that reads the structures, in the order in which work
//! reaches it:
//!
//! | module | structures | where they are |
//! | --- | --- | --- |
//! | [`cdm`] | launches, barriers, links of compute | the compute control stream |
//! | [`vdm`] | draws, state pointers, tessellation, barriers, links | the vertex control stream |
//! | [`ppp`] | fixed-function state of draws | records that [`vdm::PppState`] points to |
//! | [`usc`] | what a shader needs: uniforms, textures, samplers, registers, code | "pipelines" that launches and draws point to |
//! | [`texture`], [`pbe`], [`sampler`] | descriptors | memory that USC words point to, and heaps |
//! | [`coefficient`] | how vertex outputs become coefficient registers | memory that [`ppp::FragmentShaderWord2`] points to |
//! | [`render`] | scissors, depth bias, depth and stencil load and store, control registers, shader tags | the kernel's render command and the arrays it points to |
//! | [`iogpu`] | command buffers of macOS | shared memory of the IOKit interface |
//!
//! Bit positions and hardware names are those of Mesa's `cmdbuf.xml`: of version 25.0, and of 26.1
//! where that one knows more (each such place says so). The descriptions are our own. [`ALL`] lists
//! every packet, for documentation and tools.
//!
//! ```
//! use tepui_agx_packets::cdm::GlobalSize;
//! use tepui_packets::Packet;
//!
//! let size = GlobalSize { x: 640, y: 480, z: 1 };
//! let bytes = size.pack()?;
//! assert_eq!(GlobalSize::unpack(&bytes)?, size);
//! # Ok::<(), tepui_packets::Problem>(())
//! ```

pub mod cdm;
pub mod coefficient;
pub mod iogpu;
pub mod pbe;
pub mod ppp;
pub mod render;
pub mod sampler;
pub mod texture;
pub mod usc;
pub mod vdm;

pub use tepui_packets::{Decoded, Packet, PacketInfo, Problem, ProblemKind, Value};

/// The reflection tables of all packets, by module.
pub static ALL: &[&[&PacketInfo]] = &[
    cdm::ALL,
    vdm::ALL,
    ppp::ALL,
    usc::ALL,
    texture::ALL,
    pbe::ALL,
    sampler::ALL,
    coefficient::ALL,
    render::ALL,
    iogpu::ALL,
];

/// The reflection table of the packet with this hardware name.
pub fn find(name: &str) -> Option<&'static PacketInfo> {
    ALL.iter().flat_map(|list| list.iter()).find(|info| info.name == name).copied()
}
