//! Surfaces: what binding tables and heaps point to.
//!
// source: genxml, gen90.xml and those that it imports. Fields of video planes are left out.

use tepui_packets::types::{Address, Bool, Hex, Shr, Uint, UnsignedFixed};
use tepui_packets::{Packet, PacketInfo, bits_enum, packet};

bits_enum! {
    /// The arrangement of texels in memory.
    pub enum TileMode = "TILE_MODE" {
        /// LINEAR.
        #[default]
        Linear = 0 => "LINEAR",
        /// WMAJOR.
        Wmajor = 1 => "WMAJOR",
        /// XMAJOR.
        Xmajor = 2 => "XMAJOR",
        /// YMAJOR.
        Ymajor = 3 => "YMAJOR",
    }
}

bits_enum! {
    /// The kinds of surfaces.
    pub enum SurfaceType = "SURFACE_TYPE" {
        /// SURFTYPE 1D.
        #[default]
        Surftype1d = 0 => "SURFTYPE_1D",
        /// SURFTYPE 2D.
        Surftype2d = 1 => "SURFTYPE_2D",
        /// SURFTYPE 3D.
        Surftype3d = 2 => "SURFTYPE_3D",
        /// SURFTYPE CUBE.
        SurftypeCube = 3 => "SURFTYPE_CUBE",
        /// SURFTYPE BUFFER.
        SurftypeBuffer = 4 => "SURFTYPE_BUFFER",
        /// SURFTYPE STRBUF.
        SurftypeStrbuf = 5 => "SURFTYPE_STRBUF",
        /// SURFTYPE NULL.
        SurftypeNull = 7 => "SURFTYPE_NULL",
    }
}

bits_enum! {
    /// The kind of the auxiliary surface.
    pub enum AuxiliarySurfaceMode = "AUXILIARY_SURFACE_MODE" {
        /// AUX NONE.
        #[default]
        AuxNone = 0 => "AUX_NONE",
        /// AUX CCS D.
        AuxCcsD = 1 => "AUX_CCS_D",
        /// AUX APPEND.
        AuxAppend = 2 => "AUX_APPEND",
        /// AUX HIZ.
        AuxHiz = 3 => "AUX_HIZ",
        /// The multisample control surface, compressed losslessly too (Gen12).
        AuxMcsLce = 4 => "AUX_MCS_LCE",
        /// AUX CCS E.
        AuxCcsE = 5 => "AUX_CCS_E",
    }
}

bits_enum! {
    /// The source of a channel of the result.
    pub enum ShaderChannelSelect = "Shader Channel Select" {
        /// ZERO.
        #[default]
        Zero = 0 => "ZERO",
        /// ONE.
        One = 1 => "ONE",
        /// RED.
        Red = 4 => "RED",
        /// GREEN.
        Green = 5 => "GREEN",
        /// BLUE.
        Blue = 6 => "BLUE",
        /// ALPHA.
        Alpha = 7 => "ALPHA",
    }
}

packet! {
    /// A surface: a buffer or an image that messages name by its place in a binding table or a heap.
    pub struct RenderSurfaceState = "RENDER_SURFACE_STATE", 64 bytes
    fields {
        /// Cube face enable - positive Z.
        cube_face_enable_positive_z: Bool [0..1] "Cube Face Enable - Positive Z";
        /// Cube face enable - negative Z.
        cube_face_enable_negative_z: Bool [1..2] "Cube Face Enable - Negative Z";
        /// Cube face enable - positive Y.
        cube_face_enable_positive_y: Bool [2..3] "Cube Face Enable - Positive Y";
        /// Cube face enable - negative Y.
        cube_face_enable_negative_y: Bool [3..4] "Cube Face Enable - Negative Y";
        /// Cube face enable - positive X.
        cube_face_enable_positive_x: Bool [4..5] "Cube Face Enable - Positive X";
        /// Cube face enable - negative X.
        cube_face_enable_negative_x: Bool [5..6] "Cube Face Enable - Negative X";
        /// Media boundary pixel mode.
        media_boundary_pixel_mode: Uint [6..8] "Media Boundary Pixel Mode";
        /// Render cache read write mode.
        render_cache_read_write_mode: Bool [8..9] "Render Cache Read Write Mode";
        /// Sampler L2 bypass mode disable.
        sampler_l2_bypass_mode_disable: Bool [9..10] "Sampler L2 Bypass Mode Disable";
        /// Vertical line stride offset.
        vertical_line_stride_offset: Bool [10..11] "Vertical Line Stride Offset";
        /// Vertical line stride.
        vertical_line_stride: Bool [11..12] "Vertical Line Stride";
        /// The arrangement of texels in memory.
        tile_mode: TileMode [12..14] "Tile Mode";
        /// Surface horizontal alignment.
        surface_horizontal_alignment: Uint [14..16] "Surface Horizontal Alignment";
        /// Surface vertical alignment.
        surface_vertical_alignment: Uint [16..18] "Surface Vertical Alignment";
        /// The format, as isl numbers them.
        surface_format: Uint [18..28] "Surface Format";
        /// Surface array.
        surface_array: Bool [28..29] "Surface Array";
        /// The kinds of surfaces.
        surface_type: SurfaceType [29..32] "Surface Type";
        /// Rows from one layer to the next, divided by four.
        surface_qpitch: Uint [32..47] "Surface QPitch";
        /// Sample tap discard disable.
        sample_tap_discard_disable: Bool [47..48] "Sample Tap Discard Disable" since 120;
        /// Double fetch disable.
        double_fetch_disable: Bool [49..50] "Double Fetch Disable" since 120;
        /// Corner texel mode.
        corner_texel_mode: Uint [50..51] "Corner Texel Mode" since 120;
        /// Base mip level.
        base_mip_level: UnsignedFixed<1> [51..56] "Base Mip Level";
        /// Cache control.
        mocs: Hex [56..63] "MOCS";
        /// Enable unorm path in color pipe.
        enable_unorm_path_in_color_pipe: Bool [63..64] "Enable Unorm Path In Color Pipe" since 120;
        /// Width, less one; of buffers, bits 0 to 6 of the number of elements less one.
        width: Uint [64..78] "Width";
        /// Height, less one; of buffers, bits 7 to 20.
        height: Uint [80..94] "Height";
        /// Depth stencil resource.
        depth_stencil_resource: Bool [95..96] "Depth Stencil Resource" since 120;
        /// Bytes of a row, less one; of buffers, bytes of an element, less one.
        surface_pitch: Uint [96..114] "Surface Pitch";
        /// Null probing enable.
        null_probing_enable: Uint [114..115] "Null Probing Enable" since 120;
        /// Standard tiling mode extensions.
        standard_tiling_mode_extensions: Uint [115..116] "Standard Tiling Mode Extensions" since 120;
        /// Tile address mapping mode.
        tile_address_mapping_mode: Uint [116..117] "Tile Address Mapping Mode" since 120;
        /// Depth or layers, less one; of buffers, bits 21 to 31.
        depth: Uint [117..128] "Depth";
        /// Multisample position palette index.
        multisample_position_palette_index: Uint [128..131] "Multisample Position Palette Index";
        /// Samples of a pixel.
        number_of_multisamples: Uint [131..134] "Number of Multisamples";
        /// Multisampled surface storage format.
        multisampled_surface_storage_format: Bool [134..135] "Multisampled Surface Storage Format";
        /// Render target view extent.
        render_target_view_extent: Uint [135..146] "Render Target View Extent";
        /// Minimum array element.
        minimum_array_element: Uint [146..157] "Minimum Array Element";
        /// Render target and sample unorm rotation.
        render_target_and_sample_unorm_rotation: Uint [157..159] "Render Target And Sample Unorm Rotation";
        /// Decompress in L3.
        decompress_in_l3: Bool [159..160] "Decompress In L3" since 120;
        /// MIP count / LOD.
        mip_count_lod: Uint [160..164] "MIP Count / LOD";
        /// Surface min LOD.
        surface_min_lod: Uint [164..168] "Surface Min LOD";
        /// Mip tail start LOD.
        mip_tail_start_lod: Uint [168..172] "Mip Tail Start LOD";
        /// Coherency type.
        coherency_type: Bool [174..175] "Coherency Type";
        /// Tiled resource mode.
        tiled_resource_mode: Uint [178..180] "Tiled Resource Mode";
        /// EWA disable for cube.
        ewa_disable_for_cube: Bool [180..181] "EWA Disable For Cube";
        /// Y offset.
        y_offset: Uint [181..184] "Y Offset";
        /// X offset.
        x_offset: Uint [185..192] "X Offset";
        /// The kind of the auxiliary surface.
        auxiliary_surface_mode: AuxiliarySurfaceMode [192..195] "Auxiliary Surface Mode";
        /// Auxiliary surface pitch.
        auxiliary_surface_pitch: Uint [195..204] "Auxiliary Surface Pitch";
        /// YUV interpolation enable.
        yuv_interpolation_enable: Bool [207..208] "YUV Interpolation Enable" since 120;
        /// Auxiliary surface qpitch.
        auxiliary_surface_qpitch: Uint [208..223] "Auxiliary Surface QPitch";
        /// Half pitch for chroma.
        half_pitch_for_chroma: Uint [222..223] "Half Pitch for Chroma" since 120;
        /// Resource min LOD.
        resource_min_lod: UnsignedFixed<8> [224..236] "Resource Min LOD";
        /// Shader channel select alpha.
        shader_channel_select_alpha: ShaderChannelSelect [240..243] "Shader Channel Select Alpha";
        /// Shader channel select blue.
        shader_channel_select_blue: ShaderChannelSelect [243..246] "Shader Channel Select Blue";
        /// Shader channel select green.
        shader_channel_select_green: ShaderChannelSelect [246..249] "Shader Channel Select Green";
        /// Shader channel select red.
        shader_channel_select_red: ShaderChannelSelect [249..252] "Shader Channel Select Red";
        /// Memory compression enable.
        memory_compression_enable: Bool [254..255] "Memory Compression Enable";
        /// Memory compression mode.
        memory_compression_mode: Bool [255..256] "Memory Compression Mode";
        /// Surface base address.
        surface_base_address: Address [256..320] "Surface Base Address";
        /// Clear value address enable.
        clear_value_address_enable: Bool [330..331] "Clear Value Address Enable" since 120;
        /// Caching expanded formats.
        caching_expanded_formats: Uint [331..332] "Caching Expanded Formats" since 120;
        /// Auxiliary surface base address.
        auxiliary_surface_base_address: Shr<Address, 12> [332..384] "Auxiliary Surface Base Address";
        /// Red clear color.
        red_clear_color: Hex [384..416] "Red Clear Color" before 120;
        /// Clear value address.
        clear_value_address: Shr<Address, 6> [390..432] "Clear Value Address" since 120;
        /// Green clear color.
        green_clear_color: Hex [416..448] "Green Clear Color" before 120;
        /// Blue clear color.
        blue_clear_color: Hex [448..480] "Blue Clear Color" before 120;
        /// Alpha clear color.
        alpha_clear_color: Hex [480..512] "Alpha Clear Color" before 120;
    }
}

packet! {
    /// An entry of a binding table.
    pub struct BindingTableState = "BINDING_TABLE_STATE", 4 bytes
    fields {
        /// Offset of the surface state from the surface state base address.
        surface_state_pointer: Shr<Address, 6> [6..32] "Surface State Pointer";
    }
}

/// The tables of this module.
pub static ALL: &[&PacketInfo] = &[RenderSurfaceState::INFO, BindingTableState::INFO];
