//! Vertex data master: the control stream of draws.
//!
//! The stream is a sequence of blocks; the top three bits of a block's first word are its type.
//! Some blocks start with a word of presence bits, followed by the words that are present, in the
//! order of the bits unless noted.
//!
// source: cmdbuf.xml, "VDM commands"; padding and order: decode.c, agxdecode_vdm

use tepui_packets::types::{Address, Bool, Groups, Half, Hex, Minus, Shr, Uint, Uint64};
use tepui_packets::{Packet, PacketInfo, bits_enum, packet};

use crate::usc::SamplerStates;

bits_enum! {
    /// The type of a block of the vertex control stream: the top three bits of its first word.
    pub enum BlockType = "VDM Block Type" {
        /// Points to a record of fixed-function state.
        #[default]
        PppStateUpdate = 0 => "PPP State Update",
        /// Waits, or returns from a call.
        Barrier = 1 => "Barrier",
        /// The vertex shader and its state.
        VdmStateUpdate = 2 => "VDM State Update",
        /// A draw, indexed or not.
        IndexList = 3 => "Index List",
        /// A jump to another address.
        StreamLink = 4 => "Stream Link",
        /// A draw of patches.
        Tessellate = 5 => "Tessellate",
        /// The end of the command.
        StreamTerminate = 6 => "Stream terminate",
    }
}

bits_enum! {
    /// Primitive topology.
    pub enum Primitive = "Primitive" {
        /// Points.
        #[default]
        Points = 0 => "Points",
        /// Separate lines.
        Lines = 1 => "Lines",
        /// Connected lines.
        LineStrip = 3 => "Line strip",
        /// Connected lines; the last vertex is connected with the first.
        LineLoop = 5 => "Line loop",
        /// Separate triangles.
        Triangles = 6 => "Triangles",
        /// Triangles that share an edge with the previous one.
        TriangleStrip = 9 => "Triangle strip",
        /// Triangles that share the first vertex.
        TriangleFan = 11 => "Triangle fan",
        /// Separate quadrilaterals.
        Quads = 14 => "Quads",
        /// Quadrilaterals that share an edge with the previous one.
        QuadStrip = 15 => "Quad strip",
    }
}

bits_enum! {
    /// Size of an index.
    pub enum IndexSize = "Index size" {
        /// 8 bits.
        #[default]
        U8 = 0 => "U8",
        /// 16 bits.
        U16 = 1 => "U16",
        /// 32 bits.
        U32 = 2 => "U32",
    }
}

bits_enum! {
    /// A vertex of a primitive, as the VDM numbers them.
    pub enum VdmVertex = "VDM Vertex" {
        /// The first.
        #[default]
        Vertex0 = 0 => "0",
        /// The second.
        Vertex1 = 1 => "1",
        /// The third.
        Vertex2 = 2 => "2",
    }
}

bits_enum! {
    /// Spacing of the tessellator's vertices along an edge.
    pub enum PartitionMode = "Partition mode" {
        /// A power of two of equal parts.
        #[default]
        Pow2 = 0 => "Pow 2",
        /// A whole number of equal parts.
        Integer = 1 => "Integer",
        /// An odd number of parts, two of them shorter.
        FractionalOdd = 2 => "Fractional odd",
        /// An even number of parts, two of them shorter.
        FractionalEven = 3 => "Fractional even",
    }
}

bits_enum! {
    /// Condition on which the tessellator advances to the next tessellation factors.
    pub enum StepFunction = "Step function" {
        /// Never.
        #[default]
        Constant = 0 => "Constant",
        /// Per patch.
        PerPatch = 1 => "Per patch",
        /// Per instance.
        PerInstance = 2 => "Per instance",
        /// Per patch of each instance.
        PerPatchAndPerInstance = 3 => "Per patch and per instance",
    }
}

bits_enum! {
    /// Domain of tessellation.
    pub enum PatchType = "Patch type" {
        /// Triangles.
        #[default]
        Triangles = 0 => "Triangles",
        /// Quadrilaterals.
        Quads = 1 => "Quads",
    }
}

bits_enum! {
    /// Format of tessellation factors in memory.
    pub enum FactorType = "Factor type" {
        /// 16-bit floats.
        #[default]
        Fp16 = 0 => "FP16",
        /// 32-bit floats.
        Fp32 = 1 => "FP32",
    }
}

packet! {
    /// Points to a record of fixed-function state, which starts with a [`crate::ppp::Header`].
    pub struct PppState = "PPP State", 8 bytes
    fixed {
        "Block Type" BlockType [29..32] = BlockType::PppStateUpdate;
    }
    fields {
        /// GPU address of the record.
        pointer: Address [32..64, 0..8] "Pointer";
        /// Size of the record in 32-bit words, its header included.
        size_words: Uint [8..16] "Size (words)";
    }
}

packet! {
    /// Waits, or returns from a call.
    pub struct Barrier = "VDM Barrier", 4 bytes
    fixed {
        "Block Type" BlockType [29..32] = BlockType::Barrier;
    }
    fields {
        /// Invalidates the USC's caches of code, uniforms and descriptors.
        usc_cache_inval: Bool [3..4] "USC cache inval";
        /// Unknown.
        unk_4: Bool [4..5] "Unk 4";
        /// Unknown.
        unk_5: Bool [5..6] "Unk 5";
        /// Unknown.
        unk_6: Bool [6..7] "Unk 6";
        /// Unknown.
        unk_8: Bool [8..9] "Unk 8";
        /// Unknown.
        unk_11: Bool [11..12] "Unk 11";
        /// Unknown.
        unk_20: Bool [20..21] "Unk 20";
        /// Unknown.
        unk_24: Bool [24..25] "Unk 24";
        /// Unknown.
        unk_26: Bool [26..27] "Unk 26";
        /// Returns to the block after the last link with return.
        returns: Bool [27..28] "Returns";
    }
}

packet! {
    /// Header of the vertex state words that follow. The block is padded to 8 bytes, except when
    /// `tessellation_scale_present`.
    pub struct State = "VDM State", 4 bytes
    fixed {
        "Block Type" BlockType [29..32] = BlockType::VdmStateUpdate;
    }
    fields {
        /// A [`StateRestartIndex`] follows.
        restart_index_present: Bool [0..1] "Restart index present";
        /// A [`StateVertexShaderWord0`] follows.
        vertex_shader_word_0_present: Bool [1..2] "Vertex shader word 0 present";
        /// A [`StateVertexShaderWord1`] follows.
        vertex_shader_word_1_present: Bool [2..3] "Vertex shader word 1 present";
        /// A [`StateVertexOutputs`] follows.
        vertex_outputs_present: Bool [3..4] "Vertex outputs present";
        /// A [`StateTessellation`] follows.
        tessellation_present: Bool [4..5] "Tessellation present";
        /// A [`StateVertexUnknown`] follows.
        vertex_unknown_present: Bool [5..6] "Vertex unknown present";
        /// A [`StateTessellationScale`] follows.
        tessellation_scale_present: Bool [7..8] "Tessellation scale present";
    }
}

packet! {
    /// The index that ends a strip.
    pub struct StateRestartIndex = "VDM State Restart Index", 4 bytes
    fields {
        /// The index, zero-extended.
        value: Hex [0..32] "Value";
    }
}

packet! {
    /// Amounts of register state that the vertex shader's USC words load.
    pub struct StateVertexShaderWord0 = "VDM State Vertex Shader Word 0", 4 bytes
    fields {
        /// Unknown.
        unknown_0: Hex [0..1] "Unknown 0";
        /// 16-bit uniform registers in use.
        uniform_register_count: Groups<64> [1..4] "Uniform register count";
        /// Texture state registers in use.
        texture_state_register_count: Groups<8> [4..9] "Texture state register count";
        /// Sampler state registers in use and their form.
        sampler_state_register_count: SamplerStates [9..12] "Sampler state register count";
        /// 16-bit registers that the preshader needs.
        preshader_register_count: Groups<16> [12..16] "Preshader register count";
    }
}

packet! {
    /// Address of the vertex shader's USC words.
    pub struct StateVertexShaderWord1 = "VDM State Vertex Shader Word 1", 4 bytes
    fields {
        /// Unknown.
        unknown_1: Hex [0..2] "Unknown 1:0";
        /// USC address of the USC words.
        pipeline: Shr<Address, 6> [6..32] "Pipeline";
    }
}

packet! {
    /// Number of 32-bit vertex outputs that the shader writes. Mesa sets both counts to the same value.
    pub struct StateVertexOutputs = "VDM State Vertex Outputs", 4 bytes
    fields {
        /// Number of outputs.
        output_count_1: Uint [0..8] "Output count 1";
        /// Number of outputs; the difference between the two counts is unknown.
        output_count_2: Uint [8..16] "Output count 2";
    }
}

packet! {
    /// Configuration of the tessellator.
    pub struct StateTessellation = "VDM State Tessellation", 4 bytes
    fields {
        /// Unknown.
        unknown: Hex [0..17] "Unknown";
        /// Condition on which the next tessellation factors are taken.
        step_function: StepFunction [17..19] "Step function";
        /// Format of tessellation factors.
        factor_type: FactorType [19..20] "Factor type";
        /// Domain of tessellation.
        patch_type: PatchType [20..21] "Patch type";
        /// Unknown; seen 1.
        unknown_3: Hex [21..23] "Unknown 3";
        /// Largest tessellation factor; one less for fractional odd partitioning.
        max_tess_factor: Minus<Uint, 1> [23..29] "Max tess factor";
        /// Triangles wind counter-clockwise.
        counterclockwise_winding: Bool [29..30] "Counterclockwise winding";
        /// Spacing along edges.
        partition_mode: PartitionMode [30..32] "Partition mode";
    }
}

packet! {
    /// A scale that all tessellation factors are multiplied by.
    pub struct StateTessellationScale = "VDM State Tessellation Scale", 4 bytes
    fields {
        /// The factor.
        scale: Half [0..16] "Scale" = half::f16::ONE;
    }
}

packet! {
    /// Provoking vertex and primitive ids.
    pub struct StateVertexUnknown = "VDM State Vertex Unknown", 4 bytes
    fields {
        /// The provoking vertex: its outputs are used for flat shading.
        flat_shading_control: VdmVertex [0..2] "Flat shading control";
        /// Unknown.
        unknown_4: Bool [4..5] "Unknown 4";
        /// Unknown.
        unknown_5: Bool [5..6] "Unknown 5";
        /// Generates primitive ids for the fragment shader.
        generate_primitive_id: Bool [6..7] "Generate primitive ID";
    }
}

packet! {
    /// A draw. The words whose presence bits are set follow in this order: [`IndexListBufferLo`],
    /// [`IndexListCount`], [`IndexListInstances`], [`IndexListStart`], [`IndexListIndirectBuffer`],
    /// [`IndexListBufferSize`].
    pub struct IndexList = "Index List", 4 bytes
    fixed {
        "Block Type" BlockType [29..32] = BlockType::IndexList;
    }
    fields {
        /// Bits 32 to 39 of the index buffer's address.
        index_buffer_hi: Hex [0..8] "Index buffer hi";
        /// Primitive topology.
        primitive: Primitive [8..16] "Primitive";
        /// The restart index ends a strip.
        restart_enable: Bool [16..17] "Restart enable";
        /// Size of an index.
        index_size: IndexSize [17..20] "Index size";
        /// An [`IndexListBufferSize`] follows.
        index_buffer_size_present: Bool [20..21] "Index buffer size present";
        /// An [`IndexListBufferLo`] follows; the draw is indexed.
        index_buffer_present: Bool [21..22] "Index buffer present";
        /// An [`IndexListCount`] follows.
        index_count_present: Bool [22..23] "Index count present";
        /// An [`IndexListInstances`] follows.
        instance_count_present: Bool [23..24] "Instance count present";
        /// An [`IndexListStart`] follows.
        start_present: Bool [24..25] "Start present";
        /// Two words of unknown purpose follow; the first may be a further vertex offset.
        unk_1_present: Bool [25..26] "Unk 1 present";
        /// An [`IndexListIndirectBuffer`] follows: the counts are in memory.
        indirect_buffer_present: Bool [26..27] "Indirect buffer present";
        /// One word of unknown purpose follows.
        unk_2_present: Bool [27..28] "Unk 2 present";
    }
}

packet! {
    /// Low part of the index buffer's address; the high part is in [`IndexList`].
    pub struct IndexListBufferLo = "Index List: Buffer lo", 4 bytes
    fields {
        /// Bits 0 to 31.
        buffer_lo: Hex [0..32] "Buffer lo";
    }
}

packet! {
    /// Number of vertices or indices to draw.
    pub struct IndexListCount = "Index List: Count", 4 bytes
    fields {
        /// Number of indices of an indexed draw, of vertices of any other.
        count: Uint [0..32] "Count";
    }
}

packet! {
    /// Number of instances to draw.
    pub struct IndexListInstances = "Index List: Instances", 4 bytes
    fields {
        /// Number of instances. cmdbuf.xml says that it must not be 0, but Mesa's indirect draws
        /// copy the value from the application's memory. That 0 draws nothing is an assumption.
        count: Uint [0..32] "Count" = 1;
    }
}

packet! {
    /// First vertex of a draw.
    pub struct IndexListStart = "Index List: Start", 4 bytes
    fields {
        /// The vertex offset of an indexed draw; the first vertex of any other.
        start: Uint [0..32] "Start";
    }
}

packet! {
    /// Size of the index buffer.
    pub struct IndexListBufferSize = "Index List: Buffer size", 4 bytes
    fields {
        /// Bytes, a multiple of 4.
        size: Shr<Uint64, 2> [0..32] "Size";
    }
}

packet! {
    /// Address of the counts of an indirect draw.
    pub struct IndexListIndirectBuffer = "Index List: Indirect buffer", 8 bytes
    fields {
        /// GPU address of the words.
        address: Address [32..64, 0..8] "Address";
    }
}

packet! {
    /// A jump to another address.
    pub struct StreamLink = "VDM Stream Link", 8 bytes
    fixed {
        "Block Type" BlockType [29..32] = BlockType::StreamLink;
    }
    fields {
        /// A later return continues after this block.
        with_return: Bool [28..29] "With return";
        /// GPU address of the next block.
        target: Address [32..64, 0..8] "Target";
    }
}

packet! {
    /// A draw of patches. The words whose presence bits are set follow in the order in which they
    /// are declared below, which is partly a guess; two of the bits are for two words each.
    ///
    /// cmdbuf.xml has one name per word for those bits, and also names bit 28 "Unknown 1".
    pub struct Tessellate = "VDM Tessellate", 4 bytes
    fixed {
        "Block Type" BlockType [29..32] = BlockType::Tessellate;
    }
    fields {
        /// Bits 32 to 39 of the address of the tessellation factors.
        factor_buffer_hi: Hex [0..8] "Factor buffer hi";
        /// Unknown; seen 0xc.
        unknown_0: Hex [8..20] "Unknown 0";
        /// Unknown; seen set.
        unknown_2: Bool [20..21] "Unknown 2";
        /// A [`TessellateFactorBuffer`] follows.
        factor_buffer_present: Bool [21..22] "Factor buffer present";
        /// A [`TessellatePatchCount`] and a [`TessellateInstanceCount`] follow.
        patch_count_present: Bool [22..23] "Patch count present";
        /// A [`TessellateBasePatch`] follows.
        base_patch_present: Bool [23..24] "Base patch present";
        /// A [`TessellateBaseInstance`] and a [`TessellateInstanceStride`] follow.
        base_instance_present: Bool [25..26] "Base instance present";
        /// A [`TessellateIndirect`] follows: the counts are in memory.
        indirect_present: Bool [26..27] "Indirect present";
        /// A [`TessellateFactorBufferSize`] follows.
        factor_buffer_size_present: Bool [28..29] "Factor buffer size present";
    }
}

packet! {
    /// Low part of the address of the tessellation factors.
    pub struct TessellateFactorBuffer = "VDM Tessellate: Factor buffer", 4 bytes
    fields {
        /// Bits 0 to 31.
        factor_buffer_lo: Hex [0..32] "Factor buffer lo";
    }
}

packet! {
    /// Number of patches to draw.
    pub struct TessellatePatchCount = "VDM Tessellate: Patch count", 4 bytes
    fields {
        /// Number of patches.
        patch_count: Uint [0..32] "Patch count";
    }
}

packet! {
    /// Number of instances to draw.
    pub struct TessellateInstanceCount = "VDM Tessellate: Instance count", 4 bytes
    fields {
        /// Number of instances.
        instance_count: Uint [0..32] "Instance count";
    }
}

packet! {
    /// The first patch.
    pub struct TessellateBasePatch = "VDM Tessellate: Base patch", 4 bytes
    fields {
        /// Its number.
        base_patch: Uint [0..32] "Base patch";
    }
}

packet! {
    /// The first instance.
    pub struct TessellateBaseInstance = "VDM Tessellate: Base instance", 4 bytes
    fields {
        /// Its number.
        base_instance: Uint [0..32] "Base instance";
    }
}

packet! {
    /// Stride of the tessellation factors from instance to instance.
    pub struct TessellateInstanceStride = "VDM Tessellate: Instance stride", 4 bytes
    fields {
        /// The stride; a quarter of it for quadrilaterals.
        instance_stride: Uint [0..32] "Instance stride";
    }
}

packet! {
    /// Address of the counts of an indirect draw of patches.
    pub struct TessellateIndirect = "VDM Tessellate: Indirect", 12 bytes
    fields {
        /// GPU address of the words.
        address: Address [32..64, 0..8] "Address";
        /// Size of the buffer in bytes, presumably for a bounds check.
        size: Uint [64..96] "Size";
    }
}

packet! {
    /// Size of the tessellation factors.
    pub struct TessellateFactorBufferSize = "VDM Tessellate: Factor buffer size", 4 bytes
    fields {
        /// 32-bit words.
        size_words: Minus<Uint64, 1> [0..32] "Size (words)";
    }
}

packet! {
    /// The end of the command. cmdbuf.xml gives it 32 bytes, of which only the first word has
    /// content.
    pub struct StreamTerminate = "VDM Stream Terminate", 4 bytes
    fixed {
        "Block Type" BlockType [29..32] = BlockType::StreamTerminate;
    }
}

/// The tables of this module.
pub static ALL: &[&PacketInfo] = &[
    PppState::INFO,
    Barrier::INFO,
    State::INFO,
    StateRestartIndex::INFO,
    StateVertexShaderWord0::INFO,
    StateVertexShaderWord1::INFO,
    StateVertexOutputs::INFO,
    StateTessellation::INFO,
    StateTessellationScale::INFO,
    StateVertexUnknown::INFO,
    IndexList::INFO,
    IndexListBufferLo::INFO,
    IndexListCount::INFO,
    IndexListInstances::INFO,
    IndexListStart::INFO,
    IndexListBufferSize::INFO,
    IndexListIndirectBuffer::INFO,
    StreamLink::INFO,
    Tessellate::INFO,
    TessellateFactorBuffer::INFO,
    TessellatePatchCount::INFO,
    TessellateInstanceCount::INFO,
    TessellateBasePatch::INFO,
    TessellateBaseInstance::INFO,
    TessellateInstanceStride::INFO,
    TessellateIndirect::INFO,
    TessellateFactorBufferSize::INFO,
    StreamTerminate::INFO,
];
