//! Inputs of a stage's threads: constants, binding tables, samplers, URB allocations.
//!
// source: genxml, gen90.xml and those that it imports.

use tepui_packets::types::{Address, Hex, Nested, Shr, Uint};
use tepui_packets::{Packet, PacketInfo, packet};

packet! {
    /// Ranges of memory that are pushed to threads.
    pub struct State3dConstantBody = "3DSTATE_CONSTANT_BODY", 40 bytes
    fields {
        /// Read length 0.
        read_length_0: Uint [0..16] "Read Length 0";
        /// Read length 1.
        read_length_1: Uint [16..32] "Read Length 1";
        /// Read length 2.
        read_length_2: Uint [32..48] "Read Length 2";
        /// Read length 3.
        read_length_3: Uint [48..64] "Read Length 3";
        /// Buffer 0.
        buffer_0: Shr<Address, 5> [69..128] "Buffer 0";
        /// Buffer 1.
        buffer_1: Shr<Address, 5> [133..192] "Buffer 1";
        /// Buffer 2.
        buffer_2: Shr<Address, 5> [197..256] "Buffer 2";
        /// Buffer 3.
        buffer_3: Shr<Address, 5> [261..320] "Buffer 3";
    }
}

packet! {
    /// Constants that are pushed to vertex threads.
    pub struct State3dConstantVs = "3DSTATE_CONSTANT_VS", 44 bytes
    fixed {
        "DWord Length" Uint [0..8] = 9;
        "3D Command Sub Opcode" Uint [16..24] = 21;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Cache control.
        mocs: Hex [8..15] "MOCS";
        /// Constant body.
        constant_body: Nested<State3dConstantBody> [32..352] "Constant Body";
    }
}

packet! {
    /// The binding table of vertex threads.
    pub struct State3dBindingTablePointersVs = "3DSTATE_BINDING_TABLE_POINTERS_VS", 8 bytes
    fixed {
        "DWord Length" Uint [0..8] = 0;
        "3D Command Sub Opcode" Uint [16..24] = 38;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Pointer to VS binding table.
        pointer_to_vs_binding_table: Shr<Address, 5> [37..48] "Pointer to VS Binding Table";
    }
}

packet! {
    /// The samplers of vertex threads.
    pub struct State3dSamplerStatePointersVs = "3DSTATE_SAMPLER_STATE_POINTERS_VS", 8 bytes
    fixed {
        "DWord Length" Uint [0..8] = 0;
        "3D Command Sub Opcode" Uint [16..24] = 43;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Pointer to VS sampler state.
        pointer_to_vs_sampler_state: Shr<Address, 5> [37..64] "Pointer to VS Sampler State";
    }
}

packet! {
    /// URB allocation for constants of vertex threads.
    pub struct State3dPushConstantAllocVs = "3DSTATE_PUSH_CONSTANT_ALLOC_VS", 8 bytes
    fixed {
        "DWord Length" Uint [0..8] = 0;
        "3D Command Sub Opcode" Uint [16..24] = 18;
        "3D Command Opcode" Uint [24..27] = 1;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Constant buffer size.
        constant_buffer_size: Uint [32..38] "Constant Buffer Size";
        /// Constant buffer offset.
        constant_buffer_offset: Uint [48..53] "Constant Buffer Offset";
    }
}

packet! {
    /// URB allocation for vertex threads.
    pub struct State3dUrbVs = "3DSTATE_URB_VS", 8 bytes before 120
    fixed {
        "DWord Length" Uint [0..8] = 0;
        "3D Command Sub Opcode" Uint [16..24] = 48;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// VS number of URB entries.
        vs_number_of_urb_entries: Uint [32..48] "VS Number of URB Entries";
        /// VS URB entry allocation size.
        vs_urb_entry_allocation_size: Uint [48..57] "VS URB Entry Allocation Size";
        /// VS URB starting address.
        vs_urb_starting_address: Uint [57..64] "VS URB Starting Address";
    }
}

packet! {
    /// Constants that are pushed to hull threads.
    pub struct State3dConstantHs = "3DSTATE_CONSTANT_HS", 44 bytes
    fixed {
        "DWord Length" Uint [0..8] = 9;
        "3D Command Sub Opcode" Uint [16..24] = 25;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Cache control.
        mocs: Hex [8..15] "MOCS";
        /// Constant body.
        constant_body: Nested<State3dConstantBody> [32..352] "Constant Body";
    }
}

packet! {
    /// The binding table of hull threads.
    pub struct State3dBindingTablePointersHs = "3DSTATE_BINDING_TABLE_POINTERS_HS", 8 bytes
    fixed {
        "DWord Length" Uint [0..8] = 0;
        "3D Command Sub Opcode" Uint [16..24] = 39;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Pointer to HS binding table.
        pointer_to_hs_binding_table: Shr<Address, 5> [37..48] "Pointer to HS Binding Table";
    }
}

packet! {
    /// The samplers of hull threads.
    pub struct State3dSamplerStatePointersHs = "3DSTATE_SAMPLER_STATE_POINTERS_HS", 8 bytes
    fixed {
        "DWord Length" Uint [0..8] = 0;
        "3D Command Sub Opcode" Uint [16..24] = 44;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Pointer to HS sampler state.
        pointer_to_hs_sampler_state: Shr<Address, 5> [37..64] "Pointer to HS Sampler State";
    }
}

packet! {
    /// URB allocation for constants of hull threads.
    pub struct State3dPushConstantAllocHs = "3DSTATE_PUSH_CONSTANT_ALLOC_HS", 8 bytes
    fixed {
        "DWord Length" Uint [0..8] = 0;
        "3D Command Sub Opcode" Uint [16..24] = 19;
        "3D Command Opcode" Uint [24..27] = 1;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Constant buffer size.
        constant_buffer_size: Uint [32..38] "Constant Buffer Size";
        /// Constant buffer offset.
        constant_buffer_offset: Uint [48..53] "Constant Buffer Offset";
    }
}

packet! {
    /// URB allocation for hull threads.
    pub struct State3dUrbHs = "3DSTATE_URB_HS", 8 bytes before 120
    fixed {
        "DWord Length" Uint [0..8] = 0;
        "3D Command Sub Opcode" Uint [16..24] = 49;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// HS number of URB entries.
        hs_number_of_urb_entries: Uint [32..48] "HS Number of URB Entries";
        /// HS URB entry allocation size.
        hs_urb_entry_allocation_size: Uint [48..57] "HS URB Entry Allocation Size";
        /// HS URB starting address.
        hs_urb_starting_address: Uint [57..64] "HS URB Starting Address";
    }
}

packet! {
    /// Constants that are pushed to domain threads.
    pub struct State3dConstantDs = "3DSTATE_CONSTANT_DS", 44 bytes
    fixed {
        "DWord Length" Uint [0..8] = 9;
        "3D Command Sub Opcode" Uint [16..24] = 26;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Cache control.
        mocs: Hex [8..15] "MOCS";
        /// Constant body.
        constant_body: Nested<State3dConstantBody> [32..352] "Constant Body";
    }
}

packet! {
    /// The binding table of domain threads.
    pub struct State3dBindingTablePointersDs = "3DSTATE_BINDING_TABLE_POINTERS_DS", 8 bytes
    fixed {
        "DWord Length" Uint [0..8] = 0;
        "3D Command Sub Opcode" Uint [16..24] = 40;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Pointer to DS binding table.
        pointer_to_ds_binding_table: Shr<Address, 5> [37..48] "Pointer to DS Binding Table";
    }
}

packet! {
    /// The samplers of domain threads.
    pub struct State3dSamplerStatePointersDs = "3DSTATE_SAMPLER_STATE_POINTERS_DS", 8 bytes
    fixed {
        "DWord Length" Uint [0..8] = 0;
        "3D Command Sub Opcode" Uint [16..24] = 45;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Pointer to DS sampler state.
        pointer_to_ds_sampler_state: Shr<Address, 5> [37..64] "Pointer to DS Sampler State";
    }
}

packet! {
    /// URB allocation for constants of domain threads.
    pub struct State3dPushConstantAllocDs = "3DSTATE_PUSH_CONSTANT_ALLOC_DS", 8 bytes
    fixed {
        "DWord Length" Uint [0..8] = 0;
        "3D Command Sub Opcode" Uint [16..24] = 20;
        "3D Command Opcode" Uint [24..27] = 1;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Constant buffer size.
        constant_buffer_size: Uint [32..38] "Constant Buffer Size";
        /// Constant buffer offset.
        constant_buffer_offset: Uint [48..53] "Constant Buffer Offset";
    }
}

packet! {
    /// URB allocation for domain threads.
    pub struct State3dUrbDs = "3DSTATE_URB_DS", 8 bytes before 120
    fixed {
        "DWord Length" Uint [0..8] = 0;
        "3D Command Sub Opcode" Uint [16..24] = 50;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// DS number of URB entries.
        ds_number_of_urb_entries: Uint [32..48] "DS Number of URB Entries";
        /// DS URB entry allocation size.
        ds_urb_entry_allocation_size: Uint [48..57] "DS URB Entry Allocation Size";
        /// DS URB starting address.
        ds_urb_starting_address: Uint [57..64] "DS URB Starting Address";
    }
}

packet! {
    /// Constants that are pushed to geometry threads.
    pub struct State3dConstantGs = "3DSTATE_CONSTANT_GS", 44 bytes
    fixed {
        "DWord Length" Uint [0..8] = 9;
        "3D Command Sub Opcode" Uint [16..24] = 22;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Cache control.
        mocs: Hex [8..15] "MOCS";
        /// Constant body.
        constant_body: Nested<State3dConstantBody> [32..352] "Constant Body";
    }
}

packet! {
    /// The binding table of geometry threads.
    pub struct State3dBindingTablePointersGs = "3DSTATE_BINDING_TABLE_POINTERS_GS", 8 bytes
    fixed {
        "DWord Length" Uint [0..8] = 0;
        "3D Command Sub Opcode" Uint [16..24] = 41;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Pointer to GS binding table.
        pointer_to_gs_binding_table: Shr<Address, 5> [37..48] "Pointer to GS Binding Table";
    }
}

packet! {
    /// The samplers of geometry threads.
    pub struct State3dSamplerStatePointersGs = "3DSTATE_SAMPLER_STATE_POINTERS_GS", 8 bytes
    fixed {
        "DWord Length" Uint [0..8] = 0;
        "3D Command Sub Opcode" Uint [16..24] = 46;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Pointer to GS sampler state.
        pointer_to_gs_sampler_state: Shr<Address, 5> [37..64] "Pointer to GS Sampler State";
    }
}

packet! {
    /// URB allocation for constants of geometry threads.
    pub struct State3dPushConstantAllocGs = "3DSTATE_PUSH_CONSTANT_ALLOC_GS", 8 bytes
    fixed {
        "DWord Length" Uint [0..8] = 0;
        "3D Command Sub Opcode" Uint [16..24] = 21;
        "3D Command Opcode" Uint [24..27] = 1;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Constant buffer size.
        constant_buffer_size: Uint [32..38] "Constant Buffer Size";
        /// Constant buffer offset.
        constant_buffer_offset: Uint [48..53] "Constant Buffer Offset";
    }
}

packet! {
    /// URB allocation for geometry threads.
    pub struct State3dUrbGs = "3DSTATE_URB_GS", 8 bytes before 120
    fixed {
        "DWord Length" Uint [0..8] = 0;
        "3D Command Sub Opcode" Uint [16..24] = 51;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// GS number of URB entries.
        gs_number_of_urb_entries: Uint [32..48] "GS Number of URB Entries";
        /// GS URB entry allocation size.
        gs_urb_entry_allocation_size: Uint [48..57] "GS URB Entry Allocation Size";
        /// GS URB starting address.
        gs_urb_starting_address: Uint [57..64] "GS URB Starting Address";
    }
}

packet! {
    /// Constants that are pushed to pixel threads.
    pub struct State3dConstantPs = "3DSTATE_CONSTANT_PS", 44 bytes
    fixed {
        "DWord Length" Uint [0..8] = 9;
        "3D Command Sub Opcode" Uint [16..24] = 23;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Cache control.
        mocs: Hex [8..15] "MOCS";
        /// Disable gather at set shader hint.
        disable_gather_at_set_shader_hint: Uint [15..16] "Disable Gather at Set Shader Hint" since 120;
        /// Constant body.
        constant_body: Nested<State3dConstantBody> [32..352] "Constant Body";
    }
}

packet! {
    /// The binding table of pixel threads.
    pub struct State3dBindingTablePointersPs = "3DSTATE_BINDING_TABLE_POINTERS_PS", 8 bytes
    fixed {
        "DWord Length" Uint [0..8] = 0;
        "3D Command Sub Opcode" Uint [16..24] = 42;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Pointer to PS binding table.
        pointer_to_ps_binding_table: Shr<Address, 5> [37..48] "Pointer to PS Binding Table";
    }
}

packet! {
    /// The samplers of pixel threads.
    pub struct State3dSamplerStatePointersPs = "3DSTATE_SAMPLER_STATE_POINTERS_PS", 8 bytes
    fixed {
        "DWord Length" Uint [0..8] = 0;
        "3D Command Sub Opcode" Uint [16..24] = 47;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Pointer to PS sampler state.
        pointer_to_ps_sampler_state: Shr<Address, 5> [37..64] "Pointer to PS Sampler State";
    }
}

packet! {
    /// URB allocation for constants of pixel threads.
    pub struct State3dPushConstantAllocPs = "3DSTATE_PUSH_CONSTANT_ALLOC_PS", 8 bytes
    fixed {
        "DWord Length" Uint [0..8] = 0;
        "3D Command Sub Opcode" Uint [16..24] = 22;
        "3D Command Opcode" Uint [24..27] = 1;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Constant buffer size.
        constant_buffer_size: Uint [32..38] "Constant Buffer Size";
        /// Constant buffer offset.
        constant_buffer_offset: Uint [48..53] "Constant Buffer Offset";
    }
}

/// The tables of this module.
pub static ALL: &[&PacketInfo] = &[
    State3dConstantBody::INFO,
    State3dConstantVs::INFO,
    State3dBindingTablePointersVs::INFO,
    State3dSamplerStatePointersVs::INFO,
    State3dPushConstantAllocVs::INFO,
    State3dUrbVs::INFO,
    State3dConstantHs::INFO,
    State3dBindingTablePointersHs::INFO,
    State3dSamplerStatePointersHs::INFO,
    State3dPushConstantAllocHs::INFO,
    State3dUrbHs::INFO,
    State3dConstantDs::INFO,
    State3dBindingTablePointersDs::INFO,
    State3dSamplerStatePointersDs::INFO,
    State3dPushConstantAllocDs::INFO,
    State3dUrbDs::INFO,
    State3dConstantGs::INFO,
    State3dBindingTablePointersGs::INFO,
    State3dSamplerStatePointersGs::INFO,
    State3dPushConstantAllocGs::INFO,
    State3dUrbGs::INFO,
    State3dConstantPs::INFO,
    State3dBindingTablePointersPs::INFO,
    State3dSamplerStatePointersPs::INFO,
    State3dPushConstantAllocPs::INFO,
];
