//! Coefficient bindings: the vertex outputs from which the coefficient registers of a fragment
//! shader are computed. They are an array in memory: a [`BindingHeader`], then the [`Binding`]s.
//!
// source: cmdbuf.xml, "CF binding"; docs/drivers/asahi.rst, "Hardware varyings"

use tepui_packets::types::{Minus, Uint};
use tepui_packets::{Packet, PacketInfo, bits_enum, packet};

bits_enum! {
    /// Interpolation qualifier of a varying.
    pub enum ShadeModel = "Shade model" {
        /// Flat: the value of the first vertex.
        #[default]
        FlatVertex0 = 0 => "Flat vertex 0",
        /// Flat: the value of the third vertex.
        FlatVertex2 = 2 => "Flat vertex 2",
        /// Linear in screen space.
        Linear = 3 => "Linear",
        /// Flat: the value of the second vertex.
        FlatVertex1 = 6 => "Flat vertex 1",
        /// Perspective-correct.
        Perspective = 7 => "Perspective",
    }
}

bits_enum! {
    /// The value that coefficients are computed from.
    pub enum CoefficientSource = "Coefficient source" {
        /// A varying of the vertex shader.
        #[default]
        Varying = 0 => "Varying",
        /// Depth.
        FragcoordZ = 1 => "Fragcoord Z",
        /// Point sprite coordinates.
        PointCoord = 2 => "Point coord",
        /// The primitive id.
        PrimitiveId = 3 => "Primitive ID",
        /// Barycentric coordinates, two of them.
        BarycentricCoord = 5 => "Barycentric coord",
    }
}

packet! {
    /// Totals over all bindings.
    pub struct BindingHeader = "CF binding header", 4 bytes
    fields {
        /// Number of 32-bit slots of vertex outputs.
        number_of_32_bit_slots: Uint [0..8] "Number of 32-bit slots";
        /// Number of coefficient registers.
        number_of_coefficient_registers: Uint [8..16] "Number of coefficient registers";
    }
}

packet! {
    /// Binds consecutive slots of vertex outputs to consecutive coefficient registers.
    pub struct Binding = "CF binding", 4 bytes
    fields {
        /// Number of slots, 1 to 4.
        components: Minus<Uint, 1> [0..2] "Components";
        /// Interpolation.
        shade_model: ShadeModel [2..5] "Shade model";
        /// Source of the value.
        source: CoefficientSource [5..8] "Source";
        /// First slot of vertex outputs; slot 0 is W.
        base_slot: Uint [8..16] "Base slot";
        /// First coefficient register.
        base_coefficient_register: Uint [16..24] "Base coefficient register";
    }
}

/// The tables of this module.
pub static ALL: &[&PacketInfo] = &[BindingHeader::INFO, Binding::INFO];
