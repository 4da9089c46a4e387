//! The vertex fetcher: buffers, elements, indices, and the draw itself.
//!
// source: genxml, gen90.xml and those that it imports.

use tepui_packets::types::{Address, Bool, Hex, Int, Uint};
use tepui_packets::{Packet, PacketInfo, bits_enum, packet};

bits_enum! {
    /// The source of a vertex element's component.
    pub enum VertexComponentControl = "3D_Vertex_Component_Control" {
        /// NOSTORE.
        #[default]
        Nostore = 0 => "NOSTORE",
        /// STORE SRC.
        StoreSrc = 1 => "STORE_SRC",
        /// STORE 0.
        Store0 = 2 => "STORE_0",
        /// STORE 1 FP.
        Store1Fp = 3 => "STORE_1_FP",
        /// STORE 1 INT.
        Store1Int = 4 => "STORE_1_INT",
        /// STORE PID.
        StorePid = 7 => "STORE_PID",
    }
}

packet! {
    /// A draw.
    pub struct Primitive3d = "3DPRIMITIVE", 28 bytes
    fixed {
        "DWord Length" Uint [0..8] = 5;
        "3D Command Sub Opcode" Uint [16..24] = 0;
        "3D Command Opcode" Uint [24..27] = 3;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Predicate enable.
        predicate_enable: Bool [8..9] "Predicate Enable";
        /// UAV coherency required.
        uav_coherency_required: Bool [9..10] "UAV Coherency Required";
        /// Indirect parameter enable.
        indirect_parameter_enable: Bool [10..11] "Indirect Parameter Enable";
        /// Primitive topology type.
        primitive_topology_type: Uint [32..38] "Primitive Topology Type";
        /// Vertex access type.
        vertex_access_type: Bool [40..41] "Vertex Access Type";
        /// End offset enable.
        end_offset_enable: Bool [41..42] "End Offset Enable";
        /// Vertex count per instance.
        vertex_count_per_instance: Uint [64..96] "Vertex Count Per Instance";
        /// Start vertex location.
        start_vertex_location: Uint [96..128] "Start Vertex Location";
        /// Instance count.
        instance_count: Uint [128..160] "Instance Count";
        /// Start instance location.
        start_instance_location: Uint [160..192] "Start Instance Location";
        /// Base vertex location.
        base_vertex_location: Int [192..224] "Base Vertex Location";
    }
}

packet! {
    /// Parameters of reading indices.
    pub struct State3dVf = "3DSTATE_VF", 8 bytes
    fixed {
        "DWord Length" Uint [0..8] = 0;
        "3D Command Sub Opcode" Uint [16..24] = 12;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Indexed draw cut index enable.
        indexed_draw_cut_index_enable: Bool [8..9] "Indexed Draw Cut Index Enable";
        /// Component packing enable.
        component_packing_enable: Bool [9..10] "Component Packing Enable";
        /// Sequential draw cut index enable.
        sequential_draw_cut_index_enable: Bool [10..11] "Sequential Draw Cut Index Enable";
        /// VertexID offset enable.
        vertexid_offset_enable: Bool [11..12] "VertexID Offset Enable" since 120;
        /// Cut index.
        cut_index: Uint [32..64] "Cut Index";
    }
}

packet! {
    /// Whether vertices are counted.
    pub struct State3dVfStatistics = "3DSTATE_VF_STATISTICS", 4 bytes
    fixed {
        "3D Command Sub Opcode" Uint [16..24] = 11;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 1;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Statistics enable.
        statistics_enable: Bool [0..1] "Statistics Enable";
    }
}

packet! {
    /// The topology of later draws.
    pub struct State3dVfTopology = "3DSTATE_VF_TOPOLOGY", 8 bytes
    fixed {
        "DWord Length" Uint [0..8] = 0;
        "3D Command Sub Opcode" Uint [16..24] = 75;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Primitive topology type.
        primitive_topology_type: Uint [32..38] "Primitive Topology Type";
    }
}

packet! {
    /// The instance step rate of a vertex element.
    pub struct State3dVfInstancing = "3DSTATE_VF_INSTANCING", 12 bytes
    fixed {
        "DWord Length" Uint [0..8] = 1;
        "3D Command Sub Opcode" Uint [16..24] = 73;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Vertex element index.
        vertex_element_index: Uint [32..38] "Vertex Element Index";
        /// Instancing enable.
        instancing_enable: Bool [40..41] "Instancing Enable";
        /// Instance data step rate.
        instance_data_step_rate: Uint [64..96] "Instance Data Step Rate";
    }
}

packet! {
    /// The components that vertex and instance IDs are stored to.
    pub struct State3dVfSgvs = "3DSTATE_VF_SGVS", 8 bytes
    fixed {
        "DWord Length" Uint [0..8] = 0;
        "3D Command Sub Opcode" Uint [16..24] = 74;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Vertexid element offset.
        vertexid_element_offset: Uint [32..38] "VertexID Element Offset";
        /// Vertexid component number.
        vertexid_component_number: Uint [45..47] "VertexID Component Number";
        /// Vertexid enable.
        vertexid_enable: Bool [47..48] "VertexID Enable";
        /// Instanceid element offset.
        instanceid_element_offset: Uint [48..54] "InstanceID Element Offset";
        /// Instanceid component number.
        instanceid_component_number: Uint [61..63] "InstanceID Component Number";
        /// Instanceid enable.
        instanceid_enable: Bool [63..64] "InstanceID Enable";
    }
}

packet! {
    /// Mask of the vertex element components that are stored.
    pub struct State3dVfComponentPacking = "3DSTATE_VF_COMPONENT_PACKING", 20 bytes
    fixed {
        "DWord Length" Uint [0..8] = 3;
        "3D Command Sub Opcode" Uint [16..24] = 85;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Vertex element 00 enables.
        vertex_element_00_enables: Uint [32..36] "Vertex Element 00 Enables";
        /// Vertex element 01 enables.
        vertex_element_01_enables: Uint [36..40] "Vertex Element 01 Enables";
        /// Vertex element 02 enables.
        vertex_element_02_enables: Uint [40..44] "Vertex Element 02 Enables";
        /// Vertex element 03 enables.
        vertex_element_03_enables: Uint [44..48] "Vertex Element 03 Enables";
        /// Vertex element 04 enables.
        vertex_element_04_enables: Uint [48..52] "Vertex Element 04 Enables";
        /// Vertex element 05 enables.
        vertex_element_05_enables: Uint [52..56] "Vertex Element 05 Enables";
        /// Vertex element 06 enables.
        vertex_element_06_enables: Uint [56..60] "Vertex Element 06 Enables";
        /// Vertex element 07 enables.
        vertex_element_07_enables: Uint [60..64] "Vertex Element 07 Enables";
        /// Vertex element 08 enables.
        vertex_element_08_enables: Uint [64..68] "Vertex Element 08 Enables";
        /// Vertex element 09 enables.
        vertex_element_09_enables: Uint [68..72] "Vertex Element 09 Enables";
        /// Vertex element 10 enables.
        vertex_element_10_enables: Uint [72..76] "Vertex Element 10 Enables";
        /// Vertex element 11 enables.
        vertex_element_11_enables: Uint [76..80] "Vertex Element 11 Enables";
        /// Vertex element 12 enables.
        vertex_element_12_enables: Uint [80..84] "Vertex Element 12 Enables";
        /// Vertex element 13 enables.
        vertex_element_13_enables: Uint [84..88] "Vertex Element 13 Enables";
        /// Vertex element 14 enables.
        vertex_element_14_enables: Uint [88..92] "Vertex Element 14 Enables";
        /// Vertex element 15 enables.
        vertex_element_15_enables: Uint [92..96] "Vertex Element 15 Enables";
        /// Vertex element 16 enables.
        vertex_element_16_enables: Uint [96..100] "Vertex Element 16 Enables";
        /// Vertex element 17 enables.
        vertex_element_17_enables: Uint [100..104] "Vertex Element 17 Enables";
        /// Vertex element 18 enables.
        vertex_element_18_enables: Uint [104..108] "Vertex Element 18 Enables";
        /// Vertex element 19 enables.
        vertex_element_19_enables: Uint [108..112] "Vertex Element 19 Enables";
        /// Vertex element 20 enables.
        vertex_element_20_enables: Uint [112..116] "Vertex Element 20 Enables";
        /// Vertex element 21 enables.
        vertex_element_21_enables: Uint [116..120] "Vertex Element 21 Enables";
        /// Vertex element 22 enables.
        vertex_element_22_enables: Uint [120..124] "Vertex Element 22 Enables";
        /// Vertex element 23 enables.
        vertex_element_23_enables: Uint [124..128] "Vertex Element 23 Enables";
        /// Vertex element 24 enables.
        vertex_element_24_enables: Uint [128..132] "Vertex Element 24 Enables";
        /// Vertex element 25 enables.
        vertex_element_25_enables: Uint [132..136] "Vertex Element 25 Enables";
        /// Vertex element 26 enables.
        vertex_element_26_enables: Uint [136..140] "Vertex Element 26 Enables";
        /// Vertex element 27 enables.
        vertex_element_27_enables: Uint [140..144] "Vertex Element 27 Enables";
        /// Vertex element 28 enables.
        vertex_element_28_enables: Uint [144..148] "Vertex Element 28 Enables";
        /// Vertex element 29 enables.
        vertex_element_29_enables: Uint [148..152] "Vertex Element 29 Enables";
        /// Vertex element 30 enables.
        vertex_element_30_enables: Uint [152..156] "Vertex Element 30 Enables";
        /// Vertex element 31 enables.
        vertex_element_31_enables: Uint [156..160] "Vertex Element 31 Enables";
    }
}

packet! {
    /// The buffer of indices.
    pub struct State3dIndexBuffer = "3DSTATE_INDEX_BUFFER", 20 bytes
    fixed {
        "DWord Length" Uint [0..8] = 3;
        "3D Command Sub Opcode" Uint [16..24] = 10;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Cache control.
        mocs: Hex [32..39] "MOCS";
        /// Index format.
        index_format: Uint [40..42] "Index Format";
        /// L3 bypass disable.
        l3_bypass_disable: Bool [43..44] "L3 Bypass Disable" since 120;
        /// Buffer starting address.
        buffer_starting_address: Address [64..128] "Buffer Starting Address";
        /// Buffer size.
        buffer_size: Uint [128..160] "Buffer Size";
    }
}

packet! {
    /// Vertex buffers; states follow.
    pub struct State3dVertexBuffers = "3DSTATE_VERTEX_BUFFERS", 4 bytes
    fixed {
        "3D Command Sub Opcode" Uint [16..24] = 8;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Dword length.
        dword_length: Uint [0..8] "DWord Length";
    }
}

packet! {
    /// A vertex buffer.
    pub struct VertexBufferState = "VERTEX_BUFFER_STATE", 16 bytes
    fields {
        /// Buffer pitch.
        buffer_pitch: Uint [0..12] "Buffer Pitch";
        /// Null vertex buffer.
        null_vertex_buffer: Bool [13..14] "Null Vertex Buffer";
        /// Address modify enable.
        address_modify_enable: Bool [14..15] "Address Modify Enable";
        /// Cache control.
        mocs: Hex [16..23] "MOCS";
        /// L3 bypass disable.
        l3_bypass_disable: Bool [25..26] "L3 Bypass Disable" since 120;
        /// Vertex buffer index.
        vertex_buffer_index: Uint [26..32] "Vertex Buffer Index";
        /// Buffer starting address.
        buffer_starting_address: Address [32..96] "Buffer Starting Address";
        /// Buffer size.
        buffer_size: Uint [96..128] "Buffer Size";
    }
}

packet! {
    /// Vertex elements; states follow.
    pub struct State3dVertexElements = "3DSTATE_VERTEX_ELEMENTS", 4 bytes
    fixed {
        "3D Command Sub Opcode" Uint [16..24] = 9;
        "3D Command Opcode" Uint [24..27] = 0;
        "Command SubType" Uint [27..29] = 3;
        "Command Type" Uint [29..32] = 3;
    }
    fields {
        /// Dword length.
        dword_length: Uint [0..8] "DWord Length";
    }
}

packet! {
    /// The source of one attribute of a vertex.
    pub struct VertexElementState = "VERTEX_ELEMENT_STATE", 8 bytes
    fields {
        /// Source element offset.
        source_element_offset: Uint [0..12] "Source Element Offset";
        /// Edge flag enable.
        edge_flag_enable: Bool [15..16] "Edge Flag Enable";
        /// Source element format.
        source_element_format: Uint [16..25] "Source Element Format";
        /// Valid.
        valid: Bool [25..26] "Valid";
        /// Vertex buffer index.
        vertex_buffer_index: Uint [26..32] "Vertex Buffer Index";
        /// Component 3 control.
        component_3_control: VertexComponentControl [48..51] "Component 3 Control";
        /// Component 2 control.
        component_2_control: VertexComponentControl [52..55] "Component 2 Control";
        /// Component 1 control.
        component_1_control: VertexComponentControl [56..59] "Component 1 Control";
        /// Component 0 control.
        component_0_control: VertexComponentControl [60..63] "Component 0 Control";
    }
}

/// The tables of this module.
pub static ALL: &[&PacketInfo] = &[
    Primitive3d::INFO,
    State3dVf::INFO,
    State3dVfStatistics::INFO,
    State3dVfTopology::INFO,
    State3dVfInstancing::INFO,
    State3dVfSgvs::INFO,
    State3dVfComponentPacking::INFO,
    State3dIndexBuffer::INFO,
    State3dVertexBuffers::INFO,
    VertexBufferState::INFO,
    State3dVertexElements::INFO,
    VertexElementState::INFO,
];
