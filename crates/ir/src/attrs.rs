//! Attributes: the immediate operands of instructions.

use crate::entity::{Region, Res, Var};
use bitflags::bitflags;

/// Declares a fieldless enum whose variants have a text name.
macro_rules! named_enum {
    ($(#[$m:meta])* $name:ident { $($(#[$vm:meta])* $v:ident = $s:literal),* $(,)? }) => {
        $(#[$m])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
        pub enum $name { $($(#[$vm])* $v),* }
        impl $name {
            /// Every variant, in order of declaration.
            pub const ALL: &'static [$name] = &[$($name::$v),*];
            /// The word for it in the text form.
            #[must_use]
            pub const fn name(self) -> &'static str { match self { $($name::$v => $s),* } }
            /// The variant that `s` names.
            #[must_use]
            pub fn from_name(s: &str) -> Option<$name> { match s { $($s => Some($name::$v),)* _ => None } }
        }
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { f.write_str(self.name()) }
        }
    };
}
pub(crate) use named_enum;

/// Declares a flag set whose members have a text name.
macro_rules! named_flags {
    ($(#[$($m:tt)*])* $name:ident : $t:ty { $($(#[$($vm:tt)*])* $v:ident = $bit:literal $s:literal),* $(,)? }) => {
        bitflags! {
            $(#[$($m)*])*
            #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, PartialOrd, Ord)]
            pub struct $name: $t { $($(#[$($vm)*])* const $v = 1 << $bit;)* }
        }
        impl $name {
            /// Each flag with its word in the text form.
            pub const NAMES: &'static [($name, &'static str)] = &[$(($name::$v, $s)),*];
            /// The flag that `s` names.
            #[must_use]
            pub fn flag_from_name(s: &str) -> Option<$name> { match s { $($s => Some($name::$v),)* _ => None } }
        }
    };
}

named_flags! {
    /// Rules that an optimisation of this instruction must keep.
    InstFlags: u8 {
        /// No contraction, no reassociation, no other value-changing rewrite (`NoContraction`,
        /// `precise`).
        EXACT = 0 "exact",
        /// NaNs, infinities and the sign of zero must be preserved (float controls).
        STRICT = 1 "strict",
        /// Mediump is enough (`RelaxedPrecision`).
        RELAXED = 2 "relaxed",
    }
}

named_flags! {
    /// Access qualifiers of a memory or image instruction.
    Access: u16 {
        /// Other invocations' writes must be seen (`Coherent`, available/visible operands).
        COHERENT = 0 "coherent",
        /// Must happen exactly as written (`Volatile`).
        VOLATILE = 1 "volatile",
        /// No other resource aliases this one (`Restrict`).
        RESTRICT = 2 "restrict",
        /// No invocation writes this memory while the shader runs: the load may be moved freely.
        CONST = 3 "const",
        /// The shader never writes through this resource (`NonWritable`).
        NON_WRITABLE = 4 "nonwritable",
        /// The shader never reads through this resource (`NonReadable`).
        NON_READABLE = 5 "nonreadable",
        /// Unlikely to be used again soon.
        NONTEMPORAL = 6 "nontemporal",
        /// The handle may differ between invocations of a sub-group (`NonUniform`).
        NON_UNIFORM = 7 "nonuniform",
        /// Accesses of a buffer outside of its bounds must read zero and drop writes.
        ROBUST = 8 "robust",
        /// Each component is inside or outside of the buffer by itself: the access joins several.
        SEPARATE = 9 "separate",
    }
}

/// Address extension: a 32-bit operand is sign- or zero-extended to 64 bits, then shifted left.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Extend {
    /// Sign-extended, else zero-extended.
    pub signed: bool,
    /// Bits it is shifted by after the extension.
    pub shift: u8,
}

/// Attributes of a memory instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Mem {
    /// Known alignment of the address or offset: `1 << align_log2` bytes.
    pub align_log2: u8,
    /// Constant byte offset that is added to the address or offset operand.
    pub offset: i32,
    /// Extension of the offset operand of `load_offset` and similar ops to bytes; unused by other ops.
    pub index: Extend,
    /// Access qualifiers.
    pub access: Access,
}

named_enum! {
    /// Read-modify-write operations of atomics.
    AtomicOp {
        /// Integer add.
        Add = "add",
        /// Signed minimum.
        SMin = "smin",
        /// Unsigned minimum.
        UMin = "umin",
        /// Signed maximum.
        SMax = "smax",
        /// Unsigned maximum.
        UMax = "umax",
        /// Bitwise and.
        And = "and",
        /// Bitwise or.
        Or = "or",
        /// Bitwise exclusive or.
        Xor = "xor",
        /// Exchange.
        Xchg = "xchg",
        /// Compare and exchange: operands are the comparator, then the new value.
        CmpXchg = "cmpxchg",
        /// Float add.
        FAdd = "fadd",
        /// Float minimum.
        FMin = "fmin",
        /// Float maximum.
        FMax = "fmax",
    }
}

named_enum! {
    /// Operators of sub-group reductions and scans.
    ReduceOp {
        /// Integer sum.
        IAdd = "iadd",
        /// Float sum.
        FAdd = "fadd",
        /// Integer product.
        IMul = "imul",
        /// Float product.
        FMul = "fmul",
        /// Signed minimum.
        SMin = "smin",
        /// Unsigned minimum.
        UMin = "umin",
        /// Float minimum.
        FMin = "fmin",
        /// Signed maximum.
        SMax = "smax",
        /// Unsigned maximum.
        UMax = "umax",
        /// Float maximum.
        FMax = "fmax",
        /// Bitwise (or logical) and.
        And = "and",
        /// Bitwise (or logical) or.
        Or = "or",
        /// Bitwise (or logical) exclusive or.
        Xor = "xor",
    }
}

/// Attributes of a reduction or scan.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Reduce {
    /// The operator.
    pub op: ReduceOp,
    /// Lanes per cluster (a power of two), or 0 for the whole sub-group.
    pub cluster: u8,
}

named_enum! {
    /// Direction of a quad swap.
    QuadDir {
        /// The neighbour in x.
        Horizontal = "horizontal",
        /// The neighbour in y.
        Vertical = "vertical",
        /// The neighbour across.
        Diagonal = "diagonal",
    }
}

named_enum! {
    /// Scope of an execution or memory barrier.
    Scope {
        /// One invocation: no barrier.
        Invocation = "invocation",
        /// A sub-group.
        Subgroup = "subgroup",
        /// A workgroup.
        Workgroup = "workgroup",
        /// The queue family.
        QueueFamily = "queue_family",
        /// The device.
        Device = "device",
    }
}

named_flags! {
    /// Memory spaces that a barrier orders.
    MemSet: u8 {
        /// Buffers and physical addresses.
        BUFFER = 0 "buffer",
        /// Workgroup memory.
        SHARED = 1 "shared",
        /// Images.
        IMAGE = 2 "image",
        /// Shader outputs.
        OUTPUT = 3 "output",
    }
}

/// Attributes of a barrier.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Barrier {
    /// Execution scope; [`Scope::Invocation`] for a pure memory barrier.
    pub exec: Scope,
    /// Memory scope.
    pub mem: Scope,
    /// Memory spaces that are ordered.
    pub spaces: MemSet,
}

named_enum! {
    /// The numeric type of an image, an input or an output.
    NumKind {
        /// Floating point (also normalised formats).
        Float = "float",
        /// Signed integer.
        Sint = "sint",
        /// Unsigned integer.
        Uint = "uint",
    }
}

named_enum! {
    /// Image dimensionality.
    Dim {
        /// 1D.
        D1 = "1d",
        /// 2D.
        D2 = "2d",
        /// 3D.
        D3 = "3d",
        /// Cube map.
        Cube = "cube",
        /// Texel buffer.
        Buffer = "buffer",
        /// Input attachment.
        Subpass = "subpass",
    }
}

impl Dim {
    /// Number of spatial coordinates that address a texel (without array layer).
    #[must_use]
    pub const fn coords(self) -> u8 {
        match self {
            Dim::D1 | Dim::Buffer => 1,
            Dim::D2 | Dim::Subpass => 2,
            Dim::D3 | Dim::Cube => 3,
        }
    }

    /// Number of components of a size query (without array layers).
    #[must_use]
    pub const fn size_comps(self) -> u8 {
        match self {
            Dim::Cube => 2,
            d => d.coords(),
        }
    }
}

named_flags! {
    /// Optional operands of an image instruction. They follow the fixed operands **in this order**.
    TexOperands: u16 {
        /// Reference value of a depth comparison (scalar float).
        DREF = 0 "dref",
        /// Level-of-detail bias (scalar float).
        BIAS = 1 "bias",
        /// Explicit level of detail (float for sampling, integer for fetch and queries).
        LOD = 2 "lod",
        /// Derivatives in x and y: **two** operands, each with [`Dim::coords`] components.
        GRAD = 3 "grad",
        /// Texel offset: integer vector with [`Dim::coords`] components.
        OFFSET = 4 "offset",
        /// Sample number (integer).
        SAMPLE = 5 "sample",
        /// Lower clamp of the level of detail (scalar float).
        MIN_LOD = 6 "min_lod",
        /// Four gather offsets in one 8-component integer vector: x0 y0 x1 y1 x2 y2 x3 y3.
        OFFSETS = 7 "offsets",
    }
}

/// Attributes of an image or texture instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Image {
    /// Dimensionality.
    pub dim: Dim,
    /// Whether the last coordinate is an array layer.
    pub array: bool,
    /// Whether the image is multisampled.
    pub ms: bool,
    /// The numeric type of texels.
    pub kind: NumKind,
    /// Optional operands that are present.
    pub operands: TexOperands,
    /// Component of a gather (0–3).
    pub component: u8,
    /// Reads: the result has one more component, the residency code, 0 when every texel that was
    /// read is there.
    pub residency: bool,
    /// Storage image format from the shader, [`ImageFormat::Unknown`] when not declared.
    pub format: ImageFormat,
    /// Access qualifiers.
    pub access: Access,
}

impl Image {
    /// Number of components of the coordinate operand, array layer included.
    #[must_use]
    pub const fn coord_comps(&self) -> u8 {
        self.dim.coords() + self.array as u8
    }
}

named_enum! {
    /// Storage image formats by their SPIR-V names.
    ImageFormat {
        /// Not declared.
        Unknown = "unknown",
        /// `Rgba32f`
        Rgba32f = "rgba32f",
        /// `Rgba16f`
        Rgba16f = "rgba16f",
        /// `R32f`
        R32f = "r32f",
        /// `Rgba8`
        Rgba8 = "rgba8",
        /// `Rgba8Snorm`
        Rgba8Snorm = "rgba8snorm",
        /// `Rg32f`
        Rg32f = "rg32f",
        /// `Rg16f`
        Rg16f = "rg16f",
        /// `R11fG11fB10f`
        R11fG11fB10f = "r11fg11fb10f",
        /// `R16f`
        R16f = "r16f",
        /// `Rgba16`
        Rgba16 = "rgba16",
        /// `Rgb10A2`
        Rgb10A2 = "rgb10a2",
        /// `Rg16`
        Rg16 = "rg16",
        /// `Rg8`
        Rg8 = "rg8",
        /// `R16`
        R16 = "r16",
        /// `R8`
        R8 = "r8",
        /// `Rgba16Snorm`
        Rgba16Snorm = "rgba16snorm",
        /// `Rg16Snorm`
        Rg16Snorm = "rg16snorm",
        /// `Rg8Snorm`
        Rg8Snorm = "rg8snorm",
        /// `R16Snorm`
        R16Snorm = "r16snorm",
        /// `R8Snorm`
        R8Snorm = "r8snorm",
        /// `Rgba32i`
        Rgba32i = "rgba32i",
        /// `Rgba16i`
        Rgba16i = "rgba16i",
        /// `Rgba8i`
        Rgba8i = "rgba8i",
        /// `R32i`
        R32i = "r32i",
        /// `Rg32i`
        Rg32i = "rg32i",
        /// `Rg16i`
        Rg16i = "rg16i",
        /// `Rg8i`
        Rg8i = "rg8i",
        /// `R16i`
        R16i = "r16i",
        /// `R8i`
        R8i = "r8i",
        /// `Rgba32ui`
        Rgba32ui = "rgba32ui",
        /// `Rgba16ui`
        Rgba16ui = "rgba16ui",
        /// `Rgba8ui`
        Rgba8ui = "rgba8ui",
        /// `R32ui`
        R32ui = "r32ui",
        /// `Rgb10a2ui`
        Rgb10A2ui = "rgb10a2ui",
        /// `Rg32ui`
        Rg32ui = "rg32ui",
        /// `Rg16ui`
        Rg16ui = "rg16ui",
        /// `Rg8ui`
        Rg8ui = "rg8ui",
        /// `R16ui`
        R16ui = "r16ui",
        /// `R8ui`
        R8ui = "r8ui",
        /// `R64ui`
        R64ui = "r64ui",
        /// `R64i`
        R64i = "r64i",
    }
}

impl ImageFormat {
    /// Whether texels have alpha; `None` when the format is not declared.
    #[must_use]
    pub fn has_alpha(self) -> Option<bool> {
        let name = self.name();
        match self {
            ImageFormat::Unknown => None,
            _ => Some(name.starts_with("rgba") || name.starts_with("rgb10a2")),
        }
    }
}

named_enum! {
    /// Built-in inputs and outputs.
    Builtin {
        /// Vertex output, b32x4: clip-space position.
        Position = "position",
        /// Vertex output, b32.
        PointSize = "point_size",
        /// Vertex output and fragment input: the slot's component counts the distances (0–7).
        ClipDistance = "clip_distance",
        /// Vertex output and fragment input: the slot's component counts the distances (0–7).
        CullDistance = "cull_distance",
        /// Vertex output and fragment input, b32.
        Layer = "layer",
        /// Vertex output and fragment input, b32.
        ViewportIndex = "viewport_index",
        /// b32, with `base_vertex` included.
        VertexIndex = "vertex_index",
        /// b32, with `base_instance` included.
        InstanceIndex = "instance_index",
        /// b32.
        BaseVertex = "base_vertex",
        /// b32.
        BaseInstance = "base_instance",
        /// b32.
        DrawIndex = "draw_index",
        /// b32: multiview's view.
        ViewIndex = "view_index",
        /// b32: device index of a device group (always 0 with one device).
        DeviceIndex = "device_index",
        /// Fragment, b32x4: window x, y, depth and 1/w.
        FragCoord = "frag_coord",
        /// Fragment, b1.
        FrontFacing = "front_facing",
        /// Fragment, b32x2.
        PointCoord = "point_coord",
        /// Fragment, b32; reading it makes the shader run per sample.
        SampleId = "sample_id",
        /// Fragment, b32x2; reading it makes the shader run per sample.
        SamplePosition = "sample_position",
        /// Fragment input and output, b32.
        SampleMask = "sample_mask",
        /// Fragment, b1; live (see `is_helper` for the demote-aware op).
        HelperInvocation = "helper_invocation",
        /// Fragment, geometry and tessellation input and geometry output, b32.
        PrimitiveId = "primitive_id",
        /// Geometry and tessellation control, b32: which of the primitive's or patch's invocations.
        InvocationId = "invocation_id",
        /// Tessellation, b32: vertices of the input patch.
        PatchVertices = "patch_vertices",
        /// Tessellation evaluation, b32x3: where in the patch the vertex is.
        TessCoord = "tess_coord",
        /// Patch output and input: the slot's component counts the four levels of the outer edges.
        TessLevelOuter = "tess_level_outer",
        /// Patch output and input: the slot's component counts the two levels of the inside.
        TessLevelInner = "tess_level_inner",
        /// Fragment, b32x3: perspective-correct barycentrics.
        BaryCoord = "bary_coord",
        /// Fragment, b32x3: linear barycentrics.
        BaryCoordNoPersp = "bary_coord_no_persp",
        /// Fragment, b1: the primitive covers the whole pixel.
        FullyCovered = "fully_covered",
        /// Vertex output, b32: the primitive's fragment shading rate.
        PrimitiveShadingRate = "primitive_shading_rate",
        /// Fragment, b32: the fragment's shading rate.
        ShadingRate = "shading_rate",
        /// Fragment, b32x2: pixels that the fragment covers (fragment density maps).
        FragSize = "frag_size",
        /// Fragment, b32: most invocations for the fragment.
        FragInvocationCount = "frag_invocation_count",
        /// Fragment, b32x4: the constant of the blend state.
        BlendConstant = "blend_constant",
        /// Fragment output, b32.
        FragDepth = "frag_depth",
        /// Fragment output, b32.
        FragStencilRef = "frag_stencil_ref",
        /// Compute, b32x3.
        GlobalInvocationId = "global_invocation_id",
        /// Compute, b32x3.
        LocalInvocationId = "local_invocation_id",
        /// Compute, b32: linear index in the workgroup.
        LocalInvocationIndex = "local_invocation_index",
        /// Compute, b32x3.
        WorkgroupId = "workgroup_id",
        /// Compute, b32x3.
        NumWorkgroups = "num_workgroups",
        /// Compute, b32x3: first workgroup of `vkCmdDispatchBase`.
        BaseWorkgroupId = "base_workgroup_id",
        /// Compute, b32x3: invocations of a workgroup.
        WorkgroupSize = "workgroup_size",
        /// Compute, b32.
        SubgroupId = "subgroup_id",
        /// Compute, b32.
        NumSubgroups = "num_subgroups",
        /// Any stage, b32.
        SubgroupSize = "subgroup_size",
        /// Any stage, b32.
        SubgroupInvocationId = "subgroup_invocation_id",
    }
}

named_enum! {
    /// Interpolation mode of an input.
    Interp {
        /// Perspective-correct.
        Smooth = "smooth",
        /// Not interpolated: the provoking vertex's value. Also vertex attributes.
        Flat = "flat",
        /// Linear in screen space.
        Linear = "linear",
        /// One value per vertex of the triangle (`PerVertexKHR`); the offset operand counts
        /// vertices.
        PerVertex = "per_vertex",
    }
}

named_enum! {
    /// Interpolation position of an input in the pixel.
    Sampling {
        /// At the pixel's centre.
        Center = "center",
        /// At the centroid of the covered samples.
        Centroid = "centroid",
        /// At each sample: the shader runs per sample.
        Sample = "sample",
    }
}

/// Location of an input or output.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum IoLoc {
    /// A user location.
    Location(u16),
    /// A built-in (clip and cull distances, position, fragment depth …).
    Builtin(Builtin),
}

/// An input or output slot.
///
/// A location has four 32-bit components. A 64-bit value takes two; a three- or four-component
/// 64-bit vector is split by the front end, so one access never passes the end of its location.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct IoSlot {
    /// Location or built-in.
    pub loc: IoLoc,
    /// First component, in units of 32 bits (0–3; 0–7 for clip and cull distances).
    pub component: u8,
    /// Fragment outputs: dual-source index (0 or 1).
    pub index: u8,
    /// The numeric type.
    pub kind: NumKind,
    /// Fragment inputs: how to interpolate.
    pub interp: Interp,
    /// Fragment inputs: where to interpolate.
    pub sampling: Sampling,
}

named_enum! {
    /// The kind of attributes that an op takes.
    AttrKind {
        /// None.
        None = "none",
        /// The bits of a constant.
        Const = "const",
        /// A small number: a component index.
        Index = "index",
        /// A variable.
        Var = "var",
        /// A resource and its access flags.
        Res = "res",
        /// Memory access.
        Mem = "mem",
        /// Atomic memory access.
        Atomic = "atomic",
        /// Image access.
        Image = "image",
        /// Atomic image access.
        ImageAtomic = "image_atomic",
        /// Reduction.
        Reduce = "reduce",
        /// Quad direction.
        Quad = "quad",
        /// Barrier.
        Barrier = "barrier",
        /// Input or output slot.
        Io = "io",
        /// Built-in.
        Builtin = "builtin",
        /// Two regions.
        If = "if",
        /// One region.
        Loop = "loop",
    }
}

/// The attributes of an instruction; which variant is fixed by the op's [`AttrKind`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Attrs {
    /// None.
    None,
    /// The bits of a scalar constant; bits above the result type's size are zero.
    Const(u64),
    /// A component index.
    Index(u32),
    /// A variable.
    Var(Var),
    /// A resource.
    Res(Res, Access),
    /// A memory access.
    Mem(Mem),
    /// An atomic memory access.
    Atomic(AtomicOp, Mem),
    /// An image access.
    Image(Image),
    /// An atomic image access.
    ImageAtomic(AtomicOp, Image),
    /// A reduction.
    Reduce(Reduce),
    /// A quad direction.
    Quad(QuadDir),
    /// A barrier.
    Barrier(Barrier),
    /// An input or output slot.
    Io(IoSlot),
    /// A built-in.
    Builtin(Builtin),
    /// The regions of an `if`: taken when true, taken when false.
    If(Region, Region),
    /// The body of a `loop`.
    Loop(Region),
}

impl Attrs {
    /// The kind of the attributes.
    #[must_use]
    pub const fn kind(&self) -> AttrKind {
        match self {
            Attrs::None => AttrKind::None,
            Attrs::Const(_) => AttrKind::Const,
            Attrs::Index(_) => AttrKind::Index,
            Attrs::Var(_) => AttrKind::Var,
            Attrs::Res(..) => AttrKind::Res,
            Attrs::Mem(_) => AttrKind::Mem,
            Attrs::Atomic(..) => AttrKind::Atomic,
            Attrs::Image(_) => AttrKind::Image,
            Attrs::ImageAtomic(..) => AttrKind::ImageAtomic,
            Attrs::Reduce(_) => AttrKind::Reduce,
            Attrs::Quad(_) => AttrKind::Quad,
            Attrs::Barrier(_) => AttrKind::Barrier,
            Attrs::Io(_) => AttrKind::Io,
            Attrs::Builtin(_) => AttrKind::Builtin,
            Attrs::If(..) => AttrKind::If,
            Attrs::Loop(_) => AttrKind::Loop,
        }
    }
}
