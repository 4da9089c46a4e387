//! Coefficient bindings: how the outputs of vertices become the coefficient registers that a fragment
//! shader interpolates. A [`BindingHeader`] and then one [`Binding`] for each.
//!
// source: cmdbuf.xml, "CF binding"; docs/drivers/asahi.rst, "Hardware varyings"

use tepui_packets::types::{Minus, Uint};
use tepui_packets::{Packet, PacketInfo, bits_enum, packet};

bits_enum! {
    /// How a value varies over a primitive.
    pub enum ShadeModel = "Shade model" {
        /// That of the first vertex.
        #[default]
        FlatVertex0 = 0 => "Flat vertex 0",
        /// That of the third vertex.
        FlatVertex2 = 2 => "Flat vertex 2",
        /// Linear in screen space.
        Linear = 3 => "Linear",
        /// That of the second vertex.
        FlatVertex1 = 6 => "Flat vertex 1",
        /// Perspective-correct.
        Perspective = 7 => "Perspective",
    }
}

bits_enum! {
    /// What coefficients are made of.
    pub enum CoefficientSource = "Coefficient source" {
        /// A varying of the vertex shader.
        #[default]
        Varying = 0 => "Varying",
        /// Depth.
        FragcoordZ = 1 => "Fragcoord Z",
        /// The coordinates in a point.
        PointCoord = 2 => "Point coord",
        /// The primitive's number.
        PrimitiveId = 3 => "Primitive ID",
        /// Barycentric coordinates, two of them.
        BarycentricCoord = 5 => "Barycentric coord",
    }
}

packet! {
    /// What all bindings need together.
    pub struct BindingHeader = "CF binding header", 4 bytes
    fields {
        /// Slots of 32-bit vertex outputs.
        number_of_32_bit_slots: Uint [0..8] "Number of 32-bit slots";
        /// Coefficient registers.
        number_of_coefficient_registers: Uint [8..16] "Number of coefficient registers";
    }
}

packet! {
    /// From consecutive slots to consecutive coefficient registers.
    pub struct Binding = "CF binding", 4 bytes
    fields {
        /// Number of slots, 1 to 4.
        components: Minus<Uint, 1> [0..2] "Components";
        /// How the value varies.
        shade_model: ShadeModel [2..5] "Shade model";
        /// What it is made of.
        source: CoefficientSource [5..8] "Source";
        /// First slot of vertex outputs, W first.
        base_slot: Uint [8..16] "Base slot";
        /// First coefficient register.
        base_coefficient_register: Uint [16..24] "Base coefficient register";
    }
}

/// The tables of this module.
pub static ALL: &[&PacketInfo] = &[BindingHeader::INFO, Binding::INFO];
