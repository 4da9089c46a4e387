//! Inputs of shaders: programs, resource tables, buffers, attributes, local storage.
//!
// source: Mesa, src/panfrost/lib/genxml/v10.xml.

use tepui_packets::types::{Address, Bool, Hex, Hex64, Int, Log2, Minus, Shr, Uint};
use tepui_packets::{Packet, PacketInfo, bits_enum, packet};

bits_enum! {
    /// Attribute Type.
    pub enum AttributeType = "Attribute Type" {
        /// 1D.
        #[default]
        N1d = 1 => "1D",
        /// 1D POT Divisor.
        N1dPotDivisor = 2 => "1D POT Divisor",
        /// 1D NPOT Divisor.
        N1dNpotDivisor = 3 => "1D NPOT Divisor",
        /// 1D Primitive Index Buffer.
        N1dPrimitiveIndexBuffer = 5 => "1D Primitive Index Buffer",
        /// Vertex packet.
        VertexPacket = 6 => "Vertex packet",
    }
}

bits_enum! {
    /// Shader stage.
    pub enum ShaderStage = "Shader stage" {
        /// Compute.
        #[default]
        Compute = 1 => "Compute",
        /// Fragment.
        Fragment = 2 => "Fragment",
        /// Vertex.
        Vertex = 3 => "Vertex",
    }
}

bits_enum! {
    /// Descriptor Type.
    pub enum DescriptorType = "Descriptor Type" {
        /// Sampler.
        #[default]
        Sampler = 1 => "Sampler",
        /// Texture.
        Texture = 2 => "Texture",
        /// Attribute.
        Attribute = 5 => "Attribute",
        /// Depth/stencil.
        DepthStencil = 7 => "Depth/stencil",
        /// Shader.
        Shader = 8 => "Shader",
        /// Buffer.
        Buffer = 9 => "Buffer",
        /// Plane.
        Plane = 10 => "Plane",
    }
}

bits_enum! {
    /// Buffer Type.
    pub enum BufferType = "Buffer Type" {
        /// Simple.
        #[default]
        Simple = 1 => "Simple",
        /// Tiler heap.
        TilerHeap = 2 => "Tiler heap",
        /// Structure.
        Structure = 3 => "Structure",
        /// Vertex packet.
        VertexPacket = 4 => "Vertex packet",
    }
}

bits_enum! {
    /// Address Mode.
    pub enum AddressMode = "Address Mode" {
        /// Flat.
        #[default]
        Flat = 0 => "Flat",
        /// Packed.
        Packed = 1 => "Packed",
    }
}

bits_enum! {
    /// Attribute Frequency.
    pub enum AttributeFrequency = "Attribute Frequency" {
        /// Vertex.
        #[default]
        Vertex = 0 => "Vertex",
        /// Instance.
        Instance = 1 => "Instance",
    }
}

bits_enum! {
    /// Shader Register Allocation.
    pub enum ShaderRegisterAllocation = "Shader Register Allocation" {
        /// 64 Per Thread.
        #[default]
        N64PerThread = 0 => "64 Per Thread",
        /// 32 Per Thread.
        N32PerThread = 2 => "32 Per Thread",
    }
}

bits_enum! {
    /// Flush to zero mode.
    pub enum FlushToZeroMode = "Flush to zero mode" {
        /// Preserve subnormals.
        #[default]
        PreserveSubnormals = 0 => "Preserve subnormals",
        /// DX11.
        Dx11 = 1 => "DX11",
        /// Always.
        Always = 2 => "Always",
        /// Abrupt.
        Abrupt = 3 => "Abrupt",
    }
}

bits_enum! {
    /// Coverage bitmask type.
    pub enum CoverageBitmaskType = "Coverage bitmask type" {
        /// DX.
        #[default]
        Dx = 0 => "DX",
        /// GL.
        Gl = 1 => "GL",
    }
}

bits_enum! {
    /// Warp limit.
    pub enum WarpLimit = "Warp limit" {
        /// Full.
        #[default]
        Full = 0 => "Full",
        /// Half.
        Half = 1 => "Half",
        /// One-quarter.
        OneQuarter = 2 => "One-quarter",
        /// One-height.
        OneHeight = 3 => "One-height",
    }
}

packet! {
    /// A shader: where its machine code is, and what it expects.
    pub struct ShaderProgram = "Shader Program", 32 bytes
    fixed {
        "Type" DescriptorType [0..4] = DescriptorType::Shader;
    }
    fields {
        /// Stage.
        stage: ShaderStage [4..8] "Stage";
        /// Fragment coverage bitmask type.
        fragment_coverage_bitmask_type: CoverageBitmaskType [8..9] "Fragment coverage bitmask type" when (|p| p.stage == ShaderStage::Fragment);
        /// Vertex warp limit.
        vertex_warp_limit: WarpLimit [8..10] "Vertex warp limit" when (|p| p.stage == ShaderStage::Vertex);
        /// Suppress NaN.
        suppress_nan: Bool [16..17] "Suppress NaN";
        /// Flush to zero mode.
        flush_to_zero_mode: FlushToZeroMode [17..19] "Flush to zero mode";
        /// Suppress Inf.
        suppress_inf: Bool [19..20] "Suppress Inf";
        /// Requires helper threads.
        requires_helper_threads: Bool [28..29] "Requires helper threads";
        /// Shader contains JUMP_EX.
        shader_contains_jump_ex: Bool [29..30] "Shader contains JUMP_EX";
        /// Register allocation.
        register_allocation: ShaderRegisterAllocation [30..32] "Register allocation";
        /// Preload.
        preload: Hex [32..48] "Preload";
        /// Binary.
        binary: Address [64..128] "Binary";
    }
}

packet! {
    /// The inputs of a draw's shader.
    pub struct ShaderEnvironment = "Shader Environment", 64 bytes
    fields {
        /// Attribute offset.
        attribute_offset: Uint [0..32] "Attribute offset";
        /// FAU count.
        fau_count: Uint [32..40] "FAU count";
        /// Resources.
        resources: Address [256..320] "Resources";
        /// Shader.
        shader: Address [320..384] "Shader";
        /// Thread storage.
        thread_storage: Address [384..448] "Thread storage";
        /// FAU.
        fau: Address [448..512] "FAU";
    }
}

packet! {
    /// An entry of the table of resource tables: a table of descriptors.
    pub struct Resource = "Resource", 16 bytes
    fields {
        /// Address.
        address: Address [0..56] "Address";
        /// Contains descriptors.
        contains_descriptors: Bool [56..57] "Contains descriptors" = true;
        /// Size.
        size: Hex64 [64..128] "Size";
    }
}

packet! {
    /// A buffer.
    pub struct Buffer = "Buffer", 32 bytes
    fixed {
        "Type" DescriptorType [0..4] = DescriptorType::Buffer;
    }
    fields {
        /// Buffer type.
        buffer_type: BufferType [4..8] "Buffer type" = BufferType::Simple;
        /// Size.
        size: Uint [32..64] "Size";
        /// Address.
        address: Address [64..128] "Address";
        /// Stride.
        stride: Uint [128..160] "Stride" when (|p| p.buffer_type != BufferType::VertexPacket);
        /// Packet stride.
        packet_stride: Shr<Uint, 6> [128..144] "Packet stride" when (|p| p.buffer_type == BufferType::VertexPacket);
        /// Attribute stride.
        attribute_stride: Uint [144..160] "Attribute stride" when (|p| p.buffer_type == BufferType::VertexPacket);
        /// A word that the hardware does not read: Mesa keeps the conversion descriptor of a texel buffer
        /// here, for its shaders.
        conversion: Hex [224..256] "Conversion";
    }
}

packet! {
    /// An attribute of vertices, or a buffer of texels.
    pub struct Attribute = "Attribute", 32 bytes
    fixed {
        "Type" DescriptorType [0..4] = DescriptorType::Attribute;
    }
    fields {
        /// Attribute type.
        attribute_type: AttributeType [4..8] "Attribute type";
        /// Offset enable.
        offset_enable: Bool [8..9] "Offset enable";
        /// Format.
        format: Hex [10..32] "Format";
        /// Table.
        table: Uint [32..38] "Table";
        /// Frequency.
        frequency: AttributeFrequency [38..40] "Frequency";
        /// Divisor R.
        divisor_r: Uint [56..61] "Divisor R";
        /// Divisor E.
        divisor_e: Uint [61..62] "Divisor E";
        /// Offset.
        offset: Int [64..96] "Offset";
        /// Buffer index.
        buffer_index: Uint [96..128] "Buffer index";
        /// Stride.
        stride: Uint [128..160] "Stride" when (|p| p.attribute_type != AttributeType::VertexPacket);
        /// Attribute stride.
        attribute_stride: Uint [128..144] "Attribute stride" when (|p| p.attribute_type == AttributeType::VertexPacket);
        /// Packet stride.
        packet_stride: Uint [144..160] "Packet stride" when (|p| p.attribute_type == AttributeType::VertexPacket);
        /// Divisor D.
        divisor_d: Uint [160..192] "Divisor D";
    }
}

packet! {
    /// Memory of threads (TLS) and of workgroups (WLS).
    pub struct LocalStorage = "Local Storage", 32 bytes
    fields {
        /// TLS Size.
        tls_size: Uint [0..5] "TLS Size";
        /// WLS Instances.
        wls_instances: Log2 [32..37] "WLS Instances" = 1 << 31;
        /// WLS Size Base.
        wls_size_base: Uint [37..39] "WLS Size Base";
        /// WLS Size Scale.
        wls_size_scale: Uint [40..45] "WLS Size Scale";
        /// TLS Base Pointer.
        tls_base_pointer: Address [64..112] "TLS Base Pointer";
        /// TLS Address Mode.
        tls_address_mode: AddressMode [124..128] "TLS Address Mode";
        /// WLS Base Pointer.
        wls_base_pointer: Address [128..192] "WLS Base Pointer";
    }
}

packet! {
    /// The size of a workgroup.
    pub struct ComputeSizeWorkgroup = "Compute size workgroup", 16 bytes
    fields {
        /// Workgroup size X.
        workgroup_size_x: Minus<Uint, 1> [0..10] "Workgroup size X";
        /// Workgroup size Y.
        workgroup_size_y: Minus<Uint, 1> [10..20] "Workgroup size Y";
        /// Workgroup size Z.
        workgroup_size_z: Minus<Uint, 1> [20..30] "Workgroup size Z";
        /// Allow merging workgroups.
        allow_merging_workgroups: Bool [31..32] "Allow merging workgroups";
    }
}

/// The reflection tables of this module.
pub static ALL: &[&PacketInfo] = &[
    ShaderProgram::INFO,
    ShaderEnvironment::INFO,
    Resource::INFO,
    Buffer::INFO,
    Attribute::INFO,
    LocalStorage::INFO,
    ComputeSizeWorkgroup::INFO,
];
