//! Jobs and state of Bifrost (v7) and Midgard that Valhall does not have: draws with arrays of descriptors, and renderer state.
//!
//! Framebuffers, textures, samplers and blending are those of Valhall but for few fields.
//!
// source: Mesa, src/panfrost/lib/genxml/v7.xml, v6.xml, v5.xml, v4.xml.

use tepui_packets::types::{Address, Bool, Float, Hex, Hex64, Int, Log2, Minus, Nested, Shr, Uint};
use tepui_packets::{Packet, PacketInfo, bits_enum, packet};

use crate::draw::{
    BlendEquation, DepthSource, DrawMode, IndexType, OcclusionMode, PointSizeArrayFormat, StencilOp,
};
use crate::framebuffer::{BlockFormat, BlockFormatV6, Msaa, SFormat, ZsFormat};
use crate::midgard::FpMode;
use crate::shader::ShaderRegisterAllocation;
use crate::texture::CompareFunction;

bits_enum! {
    /// The time at which fragments are killed or depths updated.
    pub enum PixelKillV7 = "Pixel Kill (v7)" {
        /// Force Early.
        #[default]
        ForceEarly = 0 => "Force Early",
        /// Strong Early.
        StrongEarly = 1 => "Strong Early",
        /// Weak Early.
        WeakEarly = 2 => "Weak Early",
        /// Force Late.
        ForceLate = 3 => "Force Late",
    }
}

bits_enum! {
    /// The index that ends a strip.
    pub enum PrimitiveRestart = "Primitive Restart" {
        /// None.
        #[default]
        None = 0 => "None",
        /// Implicit: the highest.
        Implicit = 2 => "Implicit",
        /// Explicit.
        Explicit = 3 => "Explicit",
    }
}

packet! {
    /// The number of workgroups, and their size: six numbers minus 1, packed with variable widths.
    pub struct Invocation = "Invocation", 8 bytes
    fields {
        /// Invocations.
        invocations: Hex [0..32] "Invocations";
        /// Size Y shift.
        size_y_shift: Uint [32..37] "Size Y shift";
        /// Size Z shift.
        size_z_shift: Uint [37..42] "Size Z shift";
        /// Workgroups X shift.
        workgroups_x_shift: Uint [42..48] "Workgroups X shift";
        /// Workgroups Y shift.
        workgroups_y_shift: Uint [48..54] "Workgroups Y shift";
        /// Workgroups Z shift.
        workgroups_z_shift: Uint [54..60] "Workgroups Z shift";
        /// Thread group split.
        thread_group_split: Uint [60..64] "Thread group split";
    }
}

impl Invocation {
    /// Size of a workgroup and number of workgroups, of each axis.
    pub fn counts(&self) -> ([u32; 3], [u32; 3]) {
        let shifts = [
            0,
            self.size_y_shift,
            self.size_z_shift,
            self.workgroups_x_shift,
            self.workgroups_y_shift,
            self.workgroups_z_shift,
            32,
        ];
        let count = |n: usize| {
            let (from, to) = (u64::from(shifts[n]).min(32), u64::from(shifts[n + 1]).min(32));
            let bits = to.saturating_sub(from);
            let value = u64::from(self.invocations) >> from & ((1 << bits) - 1);
            (value as u32).saturating_add(1)
        };
        ([count(0), count(1), count(2)], [count(3), count(4), count(5)])
    }
}

packet! {
    /// The primitives of a draw.
    pub struct PrimitiveV7 = "Primitive (v7)", 24 bytes
    fields {
        /// Draw mode.
        draw_mode: DrawMode [0..8] "Draw mode" = DrawMode::None;
        /// Index type.
        index_type: IndexType [8..11] "Index type" = IndexType::None;
        /// Point size array format.
        point_size_array_format: PointSizeArrayFormat [11..13] "Point size array format";
        /// Primitive Index Enable.
        primitive_index_enable: Bool [13..14] "Primitive Index Enable";
        /// Primitive Index Writeback.
        primitive_index_writeback: Bool [14..15] "Primitive Index Writeback";
        /// First provoking vertex.
        first_provoking_vertex: Bool [15..16] "First provoking vertex" = true;
        /// Low Depth Cull.
        low_depth_cull: Bool [16..17] "Low Depth Cull" = true;
        /// High Depth Cull.
        high_depth_cull: Bool [17..18] "High Depth Cull" = true;
        /// Secondary Shader.
        secondary_shader: Bool [18..19] "Secondary Shader";
        /// Primitive restart.
        primitive_restart: PrimitiveRestart [19..21] "Primitive restart";
        /// Job Task Split.
        job_task_split: Uint [26..32] "Job Task Split";
        /// Base vertex offset.
        base_vertex_offset: Int [32..64] "Base vertex offset";
        /// Primitive Restart Index.
        primitive_restart_index: Uint [64..96] "Primitive Restart Index";
        /// Index count.
        index_count: Minus<Uint, 1> [96..128] "Index count" = 1;
        /// Indices.
        indices: Address [128..192] "Indices";
    }
}

impl PrimitiveV7 {
    /// Whether vertices have sizes, in an array in memory.
    pub fn has_sizes(&self) -> bool {
        self.point_size_array_format != PointSizeArrayFormat::None
    }
}

packet! {
    /// A draw, or what a stage of one reads.
    pub struct DrawV7 = "Draw (v7)", 128 bytes
    fields {
        /// Four Components Per Vertex.
        four_components_per_vertex: Bool [0..1] "Four Components Per Vertex" = true;
        /// Draw Descriptor Is 64b.
        is_64_bit: Bool [1..2] "Draw Descriptor Is 64b" = true;
        /// Texture Descriptor Is 64b (v5).
        texture_is_64_bit: Bool [2..3] "Texture Descriptor Is 64b" since 4;
        /// Occlusion query.
        occlusion_query: OcclusionMode [3..5] "Occlusion query" = OcclusionMode::Disabled;
        /// Front face CCW.
        front_face_ccw: Bool [5..6] "Front face CCW";
        /// Cull front face.
        cull_front_face: Bool [6..7] "Cull front face";
        /// Cull back face.
        cull_back_face: Bool [7..8] "Cull back face";
        /// Flat Shading Vertex.
        flat_shading_vertex: Uint [8..9] "Flat Shading Vertex";
        /// Exclude Filtered Perf Counters.
        exclude_filtered_perf_counters: Bool [9..10] "Exclude Filtered Perf Counters";
        /// Primitive Barrier.
        primitive_barrier: Bool [10..11] "Primitive Barrier";
        /// Clean Fragment Write.
        clean_fragment_write: Bool [11..12] "Clean Fragment Write";
        /// Instance Size: the power of two of a padded number.
        instance_size_shift: Uint [16..21] "Instance Size shift";
        /// Its odd factor.
        instance_size_odd: Uint [21..24] "Instance Size odd";
        /// Instance Primitive Size.
        instance_primitive_size: Hex [24..32] "Instance Primitive Size";
        /// Offset start.
        offset_start: Uint [32..64] "Offset start";
        /// Primitive Index Base.
        primitive_index_base: Uint [64..96] "Primitive Index Base";
        /// Position.
        position: Address [128..192] "Position";
        /// Uniform buffers.
        uniform_buffers: Address [192..256] "Uniform buffers";
        /// Textures.
        textures: Address [256..320] "Textures";
        /// Samplers.
        samplers: Address [320..384] "Samplers";
        /// Push uniforms.
        push_uniforms: Address [384..448] "Push uniforms";
        /// State.
        state: Address [448..512] "State";
        /// Attribute buffers.
        attribute_buffers: Address [512..576] "Attribute buffers";
        /// Attributes.
        attributes: Address [576..640] "Attributes";
        /// Varying buffers.
        varying_buffers: Address [640..704] "Varying buffers";
        /// Varyings.
        varyings: Address [704..768] "Varyings";
        /// Viewport.
        viewport: Address [768..832] "Viewport";
        /// Occlusion.
        occlusion: Address [832..896] "Occlusion";
        /// Thread Storage.
        thread_storage: Address [896..960] "Thread Storage";
        /// Primitive Size, which follows in a tiler job of v5: a float, or the address of sizes.
        primitive_size: Hex64 [960..1024] "Primitive Size" since 4;
    }
}

packet! {
    /// A stencil test.
    pub struct Stencil = "Stencil", 4 bytes
    fields {
        /// Reference Value.
        reference_value: Hex [0..8] "Reference Value";
        /// Mask.
        mask: Hex [8..16] "Mask";
        /// Compare Function.
        compare_function: CompareFunction [16..19] "Compare Function";
        /// Stencil Fail.
        stencil_fail: StencilOp [19..22] "Stencil Fail";
        /// Depth Fail.
        depth_fail: StencilOp [22..25] "Depth Fail";
        /// Depth Pass.
        depth_pass: StencilOp [25..28] "Depth Pass";
    }
}

packet! {
    /// A shader, and what is done with its fragments.
    pub struct RendererState = "Renderer State", 64 bytes
    fields {
        /// Shader; on Midgard with the tag of its first bundle in the lowest four bits.
        shader: Address [0..64] "Shader";
        /// Sampler count.
        sampler_count: Uint [64..80] "Sampler count";
        /// Texture count.
        texture_count: Uint [80..96] "Texture count";
        /// Attribute count.
        attribute_count: Uint [96..112] "Attribute count";
        /// Varying count.
        varying_count: Uint [112..128] "Varying count";
        /// Uniform buffer count.
        uniform_buffer_count: Uint [128..136] "Uniform buffer count";
        /// Depth source.
        depth_source: DepthSource [136..138] "Depth source";
        /// Shader contains barrier.
        shader_contains_barrier: Bool [139..140] "Shader contains barrier";
        /// Force early-z.
        force_early_z: Bool [138..139] "Force early-z" since 4;
        /// Shader contains discard.
        shader_contains_discard: Bool [140..141] "Shader contains discard" since 4;
        /// Shader has side-effects.
        shader_has_side_effects: Bool [141..142] "Shader has side-effects" since 4;
        /// Shader reads tilebuffer.
        shader_reads_tilebuffer: Bool [142..143] "Shader reads tilebuffer" since 4;
        /// Forward pixel kill.
        forward_pixel_kill: Bool [143..144] "Forward pixel kill" since 4;
        /// Work register count.
        work_register_count: Uint [144..149] "Work register count" since 4;
        /// Uniform count: registers of uniforms.
        uniform_registers: Uint [149..154] "Uniform count" since 4;
        /// FP mode.
        fp_mode: FpMode [157..160] "FP mode" since 4;
        /// Shader register allocation.
        shader_register_allocation: ShaderRegisterAllocation [140..142] "Shader register allocation" before 4;
        /// Secondary shader register allocation.
        secondary_shader_register_allocation: ShaderRegisterAllocation [142..144] "Secondary shader register allocation" before 4;
        /// Shader modifies coverage.
        shader_modifies_coverage: Bool [144..145] "Shader modifies coverage" before 4;
        /// Allow forward pixel to kill.
        allow_forward_pixel_to_kill: Bool [147..148] "Allow forward pixel to kill" before 4;
        /// Allow forward pixel to be killed.
        allow_forward_pixel_to_be_killed: Bool [148..149] "Allow forward pixel to be killed" before 4;
        /// Pixel kill operation.
        pixel_kill_operation: PixelKillV7 [149..151] "Pixel kill operation" before 4;
        /// ZS update operation.
        zs_update_operation: PixelKillV7 [151..153] "ZS update operation" before 4;
        /// Point sprite coord origin max Y.
        point_sprite_coord_origin_max_y: Bool [155..156] "Point sprite coord origin max Y" before 4;
        /// Stencil from shader.
        stencil_from_shader: Bool [156..157] "Stencil from shader";
        /// Shader wait dependency 6.
        shader_wait_dependency_6: Bool [158..159] "Shader wait dependency 6" before 4;
        /// Shader wait dependency 7.
        shader_wait_dependency_7: Bool [159..160] "Shader wait dependency 7" before 4;
        /// Depth units.
        depth_units: Float [160..192] "Depth units";
        /// Depth factor.
        depth_factor: Float [192..224] "Depth factor";
        /// Depth bias clamp.
        depth_bias_clamp: Float [224..256] "Depth bias clamp";
        /// Sample mask.
        sample_mask: Uint [256..272] "Sample mask";
        /// Multisample enable.
        multisample_enable: Bool [272..273] "Multisample enable";
        /// Multisample late coverage.
        multisample_late_coverage: Bool [273..274] "Multisample late coverage";
        /// Evaluate per-sample.
        evaluate_per_sample: Bool [274..275] "Evaluate per-sample";
        /// Fixed-function depth range fixed.
        fixed_function_depth_range_fixed: Bool [275..276] "Fixed-function depth range fixed";
        /// Shader depth range fixed.
        shader_depth_range_fixed: Bool [276..277] "Shader depth range fixed";
        /// Load destination.
        load_destination: Bool [277..278] "Load destination" since 5;
        /// A shader blends.
        has_blend_shader: Bool [278..279] "Blend shader" since 5;
        /// Blend shader discard.
        blend_shader_discard: Bool [279..280] "Blend shader discard" since 5;
        /// Overdraw alpha1.
        overdraw_alpha1: Bool [278..279] "Overdraw alpha1" before 4;
        /// Overdraw alpha0.
        overdraw_alpha0: Bool [279..280] "Overdraw alpha0" before 4;
        /// Depth function.
        depth_function: CompareFunction [280..283] "Depth function";
        /// Depth write mask.
        depth_write_mask: Bool [283..284] "Depth write mask";
        /// Fixed-function near discard.
        fixed_function_near_discard: Bool [284..285] "Fixed-function near discard";
        /// Fixed-function far discard.
        fixed_function_far_discard: Bool [285..286] "Fixed-function far discard";
        /// Fragment near discard.
        fragment_near_discard: Bool [286..287] "Fragment near discard";
        /// Fragment far discard.
        fragment_far_discard: Bool [287..288] "Fragment far discard";
        /// Stencil mask front.
        stencil_mask_front: Hex [288..296] "Stencil mask front";
        /// Stencil mask back.
        stencil_mask_back: Hex [296..304] "Stencil mask back";
        /// Stencil enable.
        stencil_enable: Bool [304..305] "Stencil enable";
        /// Alpha-to-coverage.
        alpha_to_coverage: Bool [305..306] "Alpha-to-coverage";
        /// Alpha-to-coverage Invert.
        alpha_to_coverage_invert: Bool [306..307] "Alpha-to-coverage Invert";
        /// Alpha to one.
        alpha_to_one: Bool [307..308] "Alpha to one" since 5;
        /// Write enable.
        write_enable: Bool [308..309] "Write enable" since 5;
        /// sRGB.
        srgb: Bool [312..313] "sRGB" since 5;
        /// Dither disable.
        dither_disable: Bool [313..314] "Dither disable" since 5;
        /// Alpha test compare function.
        alpha_test_compare_function: CompareFunction [309..312] "Alpha test compare function";
        /// Force seamless cubemaps.
        force_seamless_cubemaps: Bool [314..315] "Force seamless cubemaps";
        /// Front-facing depth bias.
        front_facing_depth_bias: Bool [316..317] "Front-facing depth bias";
        /// Back-facing depth bias.
        back_facing_depth_bias: Bool [317..318] "Back-facing depth bias";
        /// Single-sampled lines.
        single_sampled_lines: Bool [318..319] "Single-sampled lines";
        /// Point snap.
        point_snap: Bool [319..320] "Point snap";
        /// Stencil front.
        stencil_front: Nested<Stencil> [320..352] "Stencil front";
        /// Stencil back.
        stencil_back: Nested<Stencil> [352..384] "Stencil back";
        /// Alpha reference.
        alpha_reference: Float [384..416] "Alpha reference" since 4;
        /// Thread Balancing.
        thread_balancing: Uint [416..432] "Thread Balancing" since 4;
        /// Legacy Blend Shader.
        legacy_blend_shader: Address [448..512] "Legacy Blend Shader" since 4 before 5;
        /// Blend Shader.
        blend_shader: Address [448..512] "Blend Shader" since 5 when (|p| p.has_blend_shader);
        /// Blend Equation.
        blend_equation: Nested<BlendEquation> [448..480] "Blend Equation" since 5 when (|p| p.write_enable && !p.has_blend_shader);
        /// Unused while nothing is written.
        unused_equation: Hex [448..480] "Unused Equation" since 5 when (|p| !p.write_enable && !p.has_blend_shader);
        /// Blend Constant.
        blend_constant: Float [480..512] "Blend Constant" since 5 when (|p| !p.has_blend_shader);
        /// Preload: registers, whose bits depend on the stage.
        preload: Hex [384..399] "Preload" before 4;
        /// Preload Uniform count.
        uniform_count: Uint [399..406] "Preload Uniform count" before 4;
        /// Secondary preload: registers.
        secondary_preload: Hex [416..431] "Secondary preload" before 4;
        /// Secondary preload Uniform count.
        secondary_uniform_count: Uint [431..438] "Secondary preload Uniform count" before 4;
        /// Secondary shader.
        secondary_shader: Address [448..480] "Secondary shader" before 4;
        /// Message Preload 1.
        message_preload_1: Hex [480..496] "Message Preload 1" before 4;
        /// Message Preload 2.
        message_preload_2: Hex [496..512] "Message Preload 2" before 4;
    }
}

packet! {
    /// The bounds of fragments: depths, and pixels.
    pub struct Viewport = "Viewport", 32 bytes
    fields {
        /// Minimum X.
        minimum_x: Float [0..32] "Minimum X";
        /// Minimum Y.
        minimum_y: Float [32..64] "Minimum Y";
        /// Maximum X.
        maximum_x: Float [64..96] "Maximum X";
        /// Maximum Y.
        maximum_y: Float [96..128] "Maximum Y";
        /// Minimum Z.
        minimum_z: Float [128..160] "Minimum Z";
        /// Maximum Z.
        maximum_z: Float [160..192] "Maximum Z" = 1.0;
        /// Scissor Minimum X.
        scissor_minimum_x: Uint [192..208] "Scissor Minimum X";
        /// Scissor Minimum Y.
        scissor_minimum_y: Uint [208..224] "Scissor Minimum Y";
        /// Scissor Maximum X.
        scissor_maximum_x: Uint [224..240] "Scissor Maximum X";
        /// Scissor Maximum Y.
        scissor_maximum_y: Uint [240..256] "Scissor Maximum Y";
    }
}

packet! {
    /// Depth, stencil and checksums of a framebuffer.
    pub struct ZsCrcExtensionV7 = "ZS CRC Extension (v7)", 64 bytes
    fields {
        /// CRC Base.
        crc_base: Address [0..64] "CRC Base";
        /// CRC Row Stride.
        crc_row_stride: Uint [64..96] "CRC Row Stride";
        /// ZS Write Format.
        zs_write_format: ZsFormat [96..100] "ZS Write Format";
        /// ZS Block Format.
        zs_block_format: BlockFormat [100..104] "ZS Block Format" before 3;
        /// ZS MSAA.
        zs_msaa: Msaa [104..106] "ZS MSAA" before 3 = Msaa::Single;
        /// ZS Block Format (v6).
        zs_block_format_v6: BlockFormatV6 [100..102] "ZS Block Format (v6)" since 3;
        /// ZS MSAA (v6).
        zs_msaa_v6: Msaa [102..104] "ZS MSAA (v6)" since 3 = Msaa::Single;
        /// ZS Big Endian.
        zs_big_endian: Bool [104..105] "ZS Big Endian" since 3;
        /// ZS Clean Pixel Write Enable.
        zs_clean_pixel_write_enable: Bool [106..107] "ZS Clean Pixel Write Enable";
        /// CRC Render Target.
        crc_render_target: Uint [107..111] "CRC Render Target" before 3;
        /// S Write Format.
        s_write_format: SFormat [112..116] "S Write Format";
        /// S Block Format.
        s_block_format: BlockFormat [116..120] "S Block Format" before 3;
        /// S MSAA.
        s_msaa: Msaa [120..122] "S MSAA" before 3 = Msaa::Single;
        /// S Block Format (v6).
        s_block_format_v6: BlockFormatV6 [116..118] "S Block Format (v6)" since 3;
        /// S MSAA (v6).
        s_msaa_v6: Msaa [118..120] "S MSAA (v6)" since 3 = Msaa::Single;
        /// ZS Writeback Base.
        zs_writeback_base: Address [128..192] "ZS Writeback Base";
        /// ZS Writeback Row Stride.
        zs_writeback_row_stride: Uint [192..224] "ZS Writeback Row Stride";
        /// ZS Writeback Surface Stride.
        zs_writeback_surface_stride: Uint [224..256] "ZS Writeback Surface Stride";
        /// S Writeback Base; the body of compressed depths.
        s_writeback_base: Address [256..320] "S Writeback Base";
        /// S Writeback Row Stride.
        s_writeback_row_stride: Uint [320..352] "S Writeback Row Stride";
        /// S Writeback Surface Stride.
        s_writeback_surface_stride: Uint [352..384] "S Writeback Surface Stride";
        /// CRC Clear Color.
        crc_clear_color: Hex64 [384..448] "CRC Clear Color";
    }
}

packet! {
    /// Storage of threads and workgroups.
    pub struct LocalStorageV7 = "Local Storage (v7)", 32 bytes
    fields {
        /// TLS Size.
        tls_size: Uint [0..5] "TLS Size";
        /// TLS Initial Stack Pointer Offset.
        tls_initial_stack_pointer_offset: Uint [5..32] "TLS Initial Stack Pointer Offset";
        /// WLS Instances.
        wls_instances: Log2 [32..37] "WLS Instances" = 1 << 31;
        /// WLS Size Base.
        wls_size_base: Uint [37..39] "WLS Size Base";
        /// WLS Size Scale.
        wls_size_scale: Uint [40..45] "WLS Size Scale";
        /// TLS Base Pointer.
        tls_base_pointer: Address [64..128] "TLS Base Pointer";
        /// WLS Base Pointer.
        wls_base_pointer: Address [128..192] "WLS Base Pointer";
    }
}

packet! {
    /// A level of a texture, of one sample.
    pub struct SurfaceWithStride = "Surface With Stride", 16 bytes
    fields {
        /// Pointer; of compressed surfaces with flags in the lowest bits.
        pointer: Address [0..64] "Pointer";
        /// Row stride.
        row_stride: Int [64..96] "Row stride";
        /// Surface stride.
        surface_stride: Int [96..128] "Surface stride";
    }
}

bits_enum! {
    /// The addressing of a buffer's elements.
    pub enum AttributeTypeV7 = "Attribute Type (v7)" {
        /// By the vertex.
        #[default]
        N1d = 1 => "1D",
        /// By the vertex divided by a power of two.
        N1dPotDivisor = 2 => "1D POT Divisor",
        /// By the remainder of the vertex.
        N1dModulus = 3 => "1D Modulus",
        /// By the vertex divided by another number.
        N1dNpotDivisor = 4 => "1D NPOT Divisor",
        /// An image in rows.
        N3dLinear = 5 => "3D Linear",
        /// An image in tiles.
        N3dInterleaved = 6 => "3D Interleaved",
        /// By the primitive.
        N1dPrimitiveIndexBuffer = 7 => "1D Primitive Index Buffer",
        /// As the type without write reduction.
        N1dPotDivisorWriteReduction = 10 => "1D POT Divisor Write Reduction",
        /// As the type without write reduction.
        N1dModulusWriteReduction = 11 => "1D Modulus Write Reduction",
        /// As the type without write reduction.
        N1dNpotDivisorWriteReduction = 12 => "1D NPOT Divisor Write Reduction",
        /// More of the record before.
        Continuation = 32 => "Continuation",
    }
}

packet! {
    /// An attribute or varying: where in a buffer it is, and its format.
    pub struct AttributeV7 = "Attribute (v7)", 8 bytes
    fields {
        /// Buffer index.
        buffer_index: Uint [0..9] "Buffer index";
        /// Offset enable.
        offset_enable: Bool [9..10] "Offset enable" = true;
        /// Format.
        format: Hex [10..32] "Format";
        /// Offset.
        offset: Int [32..64] "Offset";
    }
}

packet! {
    /// A buffer of attributes or varyings.
    pub struct AttributeBuffer = "Attribute Buffer", 16 bytes
    fields {
        /// Type.
        kind: AttributeTypeV7 [0..6] "Type";
        /// Pointer.
        pointer: Shr<Address, 6> [6..56] "Pointer";
        /// Divisor R: a shift.
        divisor_r: Uint [56..61] "Divisor R";
        /// Divisor P: an odd factor, or how to round.
        divisor_p: Uint [61..64] "Divisor P";
        /// Stride.
        stride: Uint [64..96] "Stride";
        /// Size.
        size: Uint [96..128] "Size";
    }
}

packet! {
    /// The number by which a buffer's vertices are divided.
    pub struct ContinuationNpot = "Attribute Buffer Continuation NPOT", 16 bytes
    fields {
        /// Type.
        kind: AttributeTypeV7 [0..6] "Type" = AttributeTypeV7::Continuation;
        /// Divisor Numerator: a factor.
        divisor_numerator: Uint [32..64] "Divisor Numerator";
        /// Divisor.
        divisor: Uint [96..128] "Divisor";
    }
}

packet! {
    /// The size of a buffer that is an image.
    pub struct Continuation3d = "Attribute Buffer Continuation 3D", 16 bytes
    fields {
        /// Type.
        kind: AttributeTypeV7 [0..6] "Type" = AttributeTypeV7::Continuation;
        /// S dimension.
        s_dimension: Minus<Uint, 1> [16..32] "S dimension" = 1;
        /// T dimension.
        t_dimension: Minus<Uint, 1> [32..48] "T dimension" = 1;
        /// R dimension.
        r_dimension: Minus<Uint, 1> [48..64] "R dimension" = 1;
        /// Row Stride.
        row_stride: Uint [64..96] "Row Stride";
        /// Slice Stride.
        slice_stride: Uint [96..128] "Slice Stride";
    }
}

packet! {
    /// A uniform buffer, in units of 16 bytes.
    pub struct UniformBuffer = "Uniform Buffer", 8 bytes
    fields {
        /// Entries.
        entries: Minus<Uint, 1> [0..12] "Entries" = 1;
        /// Pointer.
        pointer: Shr<Address, 4> [12..64] "Pointer";
    }
}

/// The reflection tables of this module.
pub static ALL: &[&PacketInfo] = &[
    Invocation::INFO,
    PrimitiveV7::INFO,
    DrawV7::INFO,
    Stencil::INFO,
    RendererState::INFO,
    Viewport::INFO,
    ZsCrcExtensionV7::INFO,
    LocalStorageV7::INFO,
    SurfaceWithStride::INFO,
    UniformBuffer::INFO,
    AttributeV7::INFO,
    AttributeBuffer::INFO,
    ContinuationNpot::INFO,
    Continuation3d::INFO,
];
