//! Primitive processing pipe: the fixed-function state of draws.
//!
//! A record is a [`Header`] of presence bits, followed by the words that are present, in the order
//! of the bits. The viewport bit stands for a [`ViewportControl`] and `viewport_count`
//! [`Viewport`]s, the region clip bit for `viewport_count` [`RegionClip`]s, the fragment shader bit
//! for four words.
//!
// source: cmdbuf.xml, "PPP state"; order: decode.c, agxdecode_record

use tepui_packets::types::{Address, Bool, Float, Groups, Hex, Minus, Shr, Uint, UnsignedFixed};
use tepui_packets::{Packet, PacketInfo, bits_enum, packet};

use crate::usc::SamplerStates;

bits_enum! {
    /// Comparison function of the depth or stencil test.
    pub enum ZsFunc = "ZS Func" {
        /// Never passes.
        #[default]
        Never = 0 => "Never",
        /// Passes if less.
        Less = 1 => "Less",
        /// Passes if equal.
        Equal = 2 => "Equal",
        /// Passes if less or equal.
        Lequal = 3 => "Lequal",
        /// Passes if greater.
        Greater = 4 => "Greater",
        /// Passes if not equal.
        NotEqual = 5 => "Not Equal",
        /// Passes if greater or equal.
        Gequal = 6 => "Gequal",
        /// Always passes.
        Always = 7 => "Always",
    }
}

bits_enum! {
    /// Stencil operation.
    pub enum StencilOp = "Stencil Op" {
        /// Keeps the value.
        #[default]
        Keep = 0 => "Keep",
        /// Sets the value to 0.
        Zero = 1 => "Zero",
        /// Sets the value to the reference.
        Replace = 2 => "Replace",
        /// Increments and clamps to 255.
        IncrSat = 3 => "Incr Sat",
        /// Decrements and clamps to 0.
        DecrSat = 4 => "Decr Sat",
        /// Inverts the bits.
        Invert = 5 => "Invert",
        /// Increments modulo 256.
        IncrWrap = 6 => "Incr Wrap",
        /// Decrements modulo 256.
        DecrWrap = 7 => "Decr Wrap",
    }
}

bits_enum! {
    /// Recording mode of an occlusion query.
    pub enum VisibilityMode = "Visibility Mode" {
        /// Nothing.
        #[default]
        None = 0 => "None",
        /// The number of samples that passed.
        Counting = 2 => "Counting",
        /// Whether any sample passed.
        Boolean = 3 => "Boolean",
    }
}

bits_enum! {
    /// Rasterisation mode of polygons.
    pub enum PolygonMode = "Polygon Mode" {
        /// Filled.
        #[default]
        Fill = 0 => "Fill",
        /// Edges only.
        Line = 1 => "Line",
        /// Vertices only.
        Point = 2 => "Point",
    }
}

bits_enum! {
    /// The type of the rasterised primitive.
    pub enum ObjectType = "Object Type" {
        /// Triangles.
        #[default]
        Triangle = 0 => "Triangle",
        /// Lines.
        Line = 1 => "Line",
        /// Point sprites with the origin of their coordinates at the bottom.
        PointSpriteUv10 = 2 => "Point sprite UV=10",
        /// Point sprites with the origin of their coordinates at the top.
        PointSpriteUv01 = 4 => "Point sprite UV=01",
        /// Triangles drawn as their edges. (Named in Mesa 26.1.)
        LineFilledTriangle = 5 => "Line filled triangle",
        /// Triangles drawn as their vertices. (Named in Mesa 26.1.)
        PointFilledTriangle = 6 => "Point filled triangle",
    }
}

bits_enum! {
    /// The depth layout qualifier of a fragment shader that writes depth.
    pub enum ConservativeDepth = "Conservative depth" {
        /// No condition.
        #[default]
        Any = 0 => "Any",
        /// The depth is not less than the interpolated one.
        Greater = 1 => "Greater",
        /// The depth is not greater than the interpolated one.
        Less = 2 => "Less",
        /// The depth is the interpolated one.
        Unchanged = 3 => "Unchanged",
    }
}

bits_enum! {
    /// Treatment of fragments in hidden surface removal.
    pub enum PassType = "Pass type" {
        /// Later fragments replace earlier ones, which need not be shaded.
        #[default]
        Opaque = 0 => "Opaque",
        /// Fragments read the fragments below, which must be shaded first.
        Translucent = 1 => "Translucent",
        /// The shader determines coverage or depth.
        PunchThrough = 2 => "Punch through",
        /// Both of the above.
        TranslucentPunchThrough = 3 => "Translucent punch through",
    }
}

bits_enum! {
    /// A vertex of a primitive, as the PPP numbers them.
    pub enum PppVertex = "PPP Vertex" {
        /// No vertex has this value.
        #[default]
        None = 0 => "None",
        /// The first.
        Vertex0 = 1 => "0",
        /// The second.
        Vertex1 = 2 => "1",
        /// The third.
        Vertex2 = 3 => "2",
    }
}

packet! {
    /// The first word of a record: presence bits of the others.
    pub struct Header = "PPP Header", 4 bytes
    fields {
        /// A [`FragmentControl`] follows.
        fragment_control: Bool [0..1] "Fragment control";
        /// A second [`FragmentControl`] follows.
        fragment_control_2: Bool [1..2] "Fragment control 2";
        /// A [`FragmentFace`] for front faces follows.
        fragment_front_face: Bool [2..3] "Fragment front face";
        /// A [`FragmentFace2`] for front faces follows.
        fragment_front_face_2: Bool [3..4] "Fragment front face 2";
        /// A [`FragmentStencil`] for front faces follows.
        fragment_front_stencil: Bool [4..5] "Fragment front stencil";
        /// A [`FragmentFace`] for back faces follows.
        fragment_back_face: Bool [5..6] "Fragment back face";
        /// A [`FragmentFace2`] for back faces follows.
        fragment_back_face_2: Bool [6..7] "Fragment back face 2";
        /// A [`FragmentStencil`] for back faces follows.
        fragment_back_stencil: Bool [7..8] "Fragment back stencil";
        /// A [`DepthBiasScissor`] follows.
        depth_bias_scissor: Bool [8..9] "Depth bias/scissor";
        /// [`RegionClip`]s follow, one for each viewport.
        region_clip: Bool [10..11] "Region clip";
        /// A [`ViewportControl`] and one [`Viewport`] for each viewport follow.
        viewport: Bool [11..12] "Viewport";
        /// Number of viewports, 1 to 16.
        viewport_count: Minus<Uint, 1> [12..16] "Viewport count";
        /// A [`WClamp`] follows.
        w_clamp: Bool [16..17] "W clamp";
        /// An [`OutputSelect`] follows.
        output_select: Bool [17..18] "Output select";
        /// A [`VaryingCounts`] of 32-bit varyings follows.
        varying_counts_32: Bool [18..19] "Varying counts 32";
        /// A [`VaryingCounts`] of 16-bit varyings follows.
        varying_counts_16: Bool [19..20] "Varying counts 16";
        /// A [`Cull`] follows.
        cull: Bool [21..22] "Cull";
        /// A [`Cull2`] follows.
        cull_2: Bool [22..23] "Cull 2";
        /// [`FragmentShaderWord0`] to [`FragmentShaderWord3`] follow.
        fragment_shader: Bool [23..24] "Fragment shader";
        /// A [`FragmentOcclusionQuery`] follows.
        occlusion_query: Bool [24..25] "Occlusion query";
        /// A [`FragmentOcclusionQuery2`] follows.
        occlusion_query_2: Bool [25..26] "Occlusion query 2";
        /// An [`OutputUnknown`] follows.
        output_unknown: Bool [26..27] "Output unknown";
        /// An [`OutputSize`] follows.
        output_size: Bool [27..28] "Output size";
        /// A [`Varying2`] follows.
        varying_word_2: Bool [28..29] "Varying word 2";
    }
}

packet! {
    /// A rectangle of 32×32-pixel tiles to which drawing is confined.
    pub struct RegionClip = "Region clip", 8 bytes
    fields {
        /// Right edge in tiles, exclusive.
        max_x: Minus<Uint, 1> [0..9] "Max X";
        /// Left edge in tiles.
        min_x: Uint [16..25] "Min X";
        /// The rectangle is ignored unless this is set.
        enable: Bool [31..32] "Enable";
        /// Bottom edge in tiles, exclusive.
        max_y: Minus<Uint, 1> [32..41] "Max Y";
        /// Top edge in tiles.
        min_y: Uint [48..57] "Min Y";
    }
}

packet! {
    /// Precedes the viewports. Only zero was seen.
    pub struct ViewportControl = "Viewport control", 4 bytes
}

packet! {
    /// The viewport transform from normalised device coordinates to pixels and depth: `translate +
    /// scale * ndc`. It does not clip.
    pub struct Viewport = "Viewport", 24 bytes
    fields {
        /// Centre in x, in pixels.
        translate_x: Float [0..32] "Translate X";
        /// Half the width, in pixels.
        scale_x: Float [32..64] "Scale X";
        /// Centre in y, in pixels.
        translate_y: Float [64..96] "Translate Y";
        /// Half the height, in pixels; negative flips.
        scale_y: Float [96..128] "Scale Y";
        /// Depth of the near plane, or the middle of the range, depending on clip space.
        translate_z: Float [128..160] "Translate Z";
        /// Depth range.
        scale_z: Float [160..192] "Scale Z";
    }
}

packet! {
    /// Depth, stencil reference and rasterisation of one face.
    pub struct FragmentFace = "Fragment face", 4 bytes
    fields {
        /// Stencil reference.
        stencil_reference: Hex [0..8] "Stencil reference";
        /// Width of lines in pixels, 1/16 to 16.
        line_width: UnsignedFixed<4, 1> [8..16] "Line width";
        /// Rasterisation mode of polygons.
        polygon_mode: PolygonMode [18..20] "Polygon mode";
        /// Depth is not written if this bit and that of [`FragmentFace2`] are set.
        disable_depth_write: Bool [21..22] "Disable depth write";
        /// Unknown.
        unk_visibility_test_internal: Hex [22..24] "Unk - visibility test internal";
        /// Depth comparison; that of [`FragmentFace2`] must pass as well.
        depth_function: ZsFunc [24..27] "Depth function";
    }
}

packet! {
    /// Depth state and primitive type of one face, as the fragment shader requires them.
    pub struct FragmentFace2 = "Fragment face 2", 4 bytes
    fields {
        /// Depth is not written if this bit and that of [`FragmentFace`] are set.
        disable_depth_write: Bool [21..22] "Disable depth write";
        /// The depth layout qualifier of a shader that writes depth.
        conservative_depth: ConservativeDepth [22..24] "Conservative depth";
        /// Depth comparison; that of [`FragmentFace`] must pass as well.
        depth_function: ZsFunc [24..27] "Depth function";
        /// Type of the rasterised primitive.
        object_type: ObjectType [28..32] "Object type";
    }
}

packet! {
    /// Stencil test of one face.
    pub struct FragmentStencil = "Fragment stencil", 4 bytes
    fields {
        /// Bits that may be written.
        write_mask: Hex [0..8] "Write mask";
        /// Bits that the test compares.
        read_mask: Hex [8..16] "Read mask";
        /// Operation if the stencil and depth tests pass.
        depth_pass: StencilOp [16..19] "Depth pass";
        /// Operation if the stencil test passes and the depth test fails.
        depth_fail: StencilOp [19..22] "Depth fail";
        /// Operation if the stencil test fails.
        stencil_fail: StencilOp [22..25] "Stencil fail";
        /// Comparison of the reference with the buffer.
        compare: ZsFunc [25..28] "Compare";
    }
}

packet! {
    /// Enables of the tests, and the pass type of hidden surface removal. A draw has two, which are
    /// combined.
    pub struct FragmentControl = "Fragment control", 4 bytes
    fixed {
        "Unk 1" Bool [9..10] = true;
    }
    fields {
        /// Recording mode of the occlusion query.
        visibility_mode: VisibilityMode [14..16] "Visibility mode";
        /// Scissor test.
        scissor_enable: Bool [16..17] "Scissor enable";
        /// Depth bias.
        depth_bias_enable: Bool [17..18] "Depth bias enable";
        /// Stencil test.
        stencil_test_enable: Bool [18..19] "Stencil test enable";
        /// Front and back faces have separate stencil state.
        two_sided_stencil: Bool [19..20] "Two-sided stencil";
        /// Fragments leave no tag: the fragment shader does not run.
        tag_write_disable: Bool [21..22] "Tag write disable";
        /// The shader's sample mask applies after the depth and stencil tests.
        sample_mask_after_depth_stencil: Bool [25..26] "Sample mask after depth/stencil";
        /// Fragments of neighbouring triangles are not shaded together.
        disable_tri_merging: Bool [26..27] "Disable tri merging";
        /// Treatment of fragments in hidden surface removal.
        pass_type: PassType [29..32] "Pass type";
    }
}

packet! {
    /// The counter of an occlusion query.
    pub struct FragmentOcclusionQuery = "Fragment occlusion query", 4 bytes
    fields {
        /// Index of a 64-bit word in the buffer of the render command.
        index: Uint [17..32] "Index";
    }
}

packet! {
    /// Unknown.
    pub struct FragmentOcclusionQuery2 = "Fragment occlusion query 2", 4 bytes
    fields {
        /// Unknown.
        unknown: Hex [0..17] "Unknown";
    }
}

packet! {
    /// Lower bound of w.
    pub struct WClamp = "W Clamp", 4 bytes
    fields {
        /// The bound.
        w_clamp: Float [0..32] "W Clamp";
    }
}

packet! {
    /// Culling and clipping.
    pub struct Cull = "Cull", 4 bytes
    fields {
        /// Drops front faces.
        cull_front: Bool [0..1] "Cull front";
        /// Drops back faces.
        cull_back: Bool [1..2] "Cull back";
        /// The provoking vertex: its outputs are used for flat shading.
        flat_shading_vertex: PppVertex [7..9] "Flat shading vertex";
        /// Clips against the near and far planes.
        depth_clip: Bool [10..11] "Depth clip";
        /// Clamps depth to the viewport's range.
        depth_clamp: Bool [11..12] "Depth clamp";
        /// Rasterises each sample.
        primitive_msaa: Bool [15..16] "Primitive MSAA";
        /// Counter-clockwise faces are front faces.
        front_face_ccw: Bool [16..17] "Front face CCW";
        /// Drops every primitive.
        rasterizer_discard: Bool [17..18] "Rasterizer discard";
    }
}

packet! {
    /// Further culling and clipping state.
    pub struct Cull2 = "Cull 2", 4 bytes
    fields {
        /// Applies [`WClamp`].
        clamp_w: Bool [5..6] "Clamp W";
        /// Draws the edges that clipping adds to polygons drawn as lines.
        draw_clipped_edges: Bool [9..10] "Draw clipped edges";
        /// The fragment shader reads the primitive id.
        needs_primitive_id: Bool [12..13] "Needs Primitive ID";
        /// Drops every primitive.
        rasterizer_discard: Bool [17..18] "Rasterizer discard";
    }
}

packet! {
    /// The number of varyings of each interpolation.
    pub struct VaryingCounts = "Varying Counts", 4 bytes
    fields {
        /// Perspective-correct.
        smooth: Uint [0..8] "Smooth";
        /// Not interpolated.
        flat: Uint [8..16] "Flat";
        /// Linear in screen space.
        linear: Uint [16..24] "Linear";
    }
}

packet! {
    /// Unknown.
    pub struct Varying2 = "Varying 2", 8 bytes
}

packet! {
    /// The vertex outputs besides the position.
    pub struct OutputSelect = "Output Select", 4 bytes
    fields {
        /// Clip distances, a bit each. (cmdbuf.xml: "Clip distance plane 0" to "15".)
        clip_distance_planes: Hex [0..16] "Clip distance planes";
        /// Varyings.
        varyings: Bool [16..17] "Varyings";
        /// Point size.
        point_size: Bool [18..19] "Point size";
        /// The viewport index. With `render_target`, both are in one word: the layer in its low
        /// half, the viewport in its high half.
        viewport_target: Bool [19..20] "Viewport target";
        /// The layer.
        render_target: Bool [20..21] "Render target";
        /// Depth is interpolated for the fragment shader.
        frag_coord_z: Bool [21..22] "Frag coord Z";
        /// Barycentric coordinates are computed for the fragment shader.
        barycentric_coordinates: Bool [22..23] "Barycentric coordinates";
    }
}

packet! {
    /// Unknown; only zero was seen.
    pub struct OutputUnknown = "Output Unknown", 4 bytes
}

packet! {
    /// Size of a vertex's outputs.
    pub struct OutputSize = "Output Size", 4 bytes
    fields {
        /// 32-bit words.
        count: Uint [0..32] "Count";
    }
}

packet! {
    /// Indices of the scissor and the depth bias of a draw.
    pub struct DepthBiasScissor = "Depth bias/Scissor", 4 bytes
    fields {
        /// Index into the array of [`crate::render::Scissor`]s.
        scissor: Uint [0..16] "Scissor";
        /// Index into the array of [`crate::render::DepthBias`]es.
        depth_bias: Uint [16..32] "Depth bias";
    }
}

packet! {
    /// Amounts of register state that the fragment shader's USC words load.
    pub struct FragmentShaderWord0 = "Fragment Shader Word 0", 4 bytes
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
        /// Number of [`crate::coefficient::Binding`]s.
        cf_binding_count: Uint [16..23] "CF binding count";
    }
}

packet! {
    /// Address of the fragment shader's USC words.
    pub struct FragmentShaderWord1 = "Fragment Shader Word 1", 4 bytes
    fields {
        /// Unknown.
        unknown_1: Hex [0..2] "Unknown 1:0";
        /// USC address of the USC words.
        pipeline: Shr<Address, 6> [6..32] "Pipeline";
    }
}

packet! {
    /// Address of the coefficient bindings.
    pub struct FragmentShaderWord2 = "Fragment Shader Word 2", 4 bytes
    fields {
        /// USC address of a [`crate::coefficient::BindingHeader`]; 0 without varyings.
        cf_bindings: Shr<Address, 2> [2..32] "CF bindings";
    }
}

packet! {
    /// Unknown; small values, perhaps counts of textures and uniforms.
    pub struct FragmentShaderWord3 = "Fragment Shader Word 3", 4 bytes
    fields {
        /// Unknown.
        unknown: Hex [0..4] "Unknown";
    }
}

/// The tables of this module.
pub static ALL: &[&PacketInfo] = &[
    Header::INFO,
    RegionClip::INFO,
    ViewportControl::INFO,
    Viewport::INFO,
    FragmentFace::INFO,
    FragmentFace2::INFO,
    FragmentStencil::INFO,
    FragmentControl::INFO,
    FragmentOcclusionQuery::INFO,
    FragmentOcclusionQuery2::INFO,
    WClamp::INFO,
    Cull::INFO,
    Cull2::INFO,
    VaryingCounts::INFO,
    Varying2::INFO,
    OutputSelect::INFO,
    OutputUnknown::INFO,
    OutputSize::INFO,
    DepthBiasScissor::INFO,
    FragmentShaderWord0::INFO,
    FragmentShaderWord1::INFO,
    FragmentShaderWord2::INFO,
    FragmentShaderWord3::INFO,
];
