//! Sampler state, in the terms of all APIs.

/// Address mode of a coordinate outside of the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrap {
    /// The image repeats.
    Repeat,
    /// The image repeats, every second time mirrored.
    MirroredRepeat,
    /// The texel at the edge.
    ClampToEdge,
    /// The border colour.
    ClampToBorder,
    /// The image and its mirror image, then the texel at the edge.
    MirroredClampToEdge,
    /// OpenGL's `GL_CLAMP`: coordinates stop at the edge, where half a texel's weight is the
    /// border's.
    ClampGl,
}

/// Filter within a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filter {
    /// The nearest texel.
    Nearest,
    /// Weighted neighbours.
    Linear,
}

/// Selection of levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MipFilter {
    /// The first level only.
    None,
    /// The nearest level.
    Nearest,
    /// Two levels with weights.
    Linear,
}

/// Comparison of a reference value with a texel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // The names are Vulkan's.
pub enum CompareFunc {
    Never,
    Less,
    Equal,
    Lequal,
    Greater,
    NotEqual,
    Gequal,
    Always,
}
