//! Images, textures and samplers.
//!
//! Optional operands follow the fixed ones in the order of [`TexOperands`](crate::attrs::TexOperands);
//! [`Shader::tex_args`](crate::Shader::tex_args) gives them by name. Coordinates are floats for sampling and gathering,
//! integers for fetches and storage images; the array layer is the last coordinate. Projection has been divided out.
//! Reads with `residency` have one more component behind the texel: 0 when all of what was read is in memory.

macro_rules! image_ops { ([$($acc:tt)*] $($rest:ident)*) => { chain! { [$($acc)*
    /// Sampled lookup with implicit derivatives (or bias): (texture, sampler, coordinates, optional …). One component with `dref`, else four.
    TexSample "tex_sample" (H, H, Any, Rest) -> (Any) : Image [PURE, CONVERGENT] = Fold::None;
    /// Sampled lookup with explicit level of detail or gradients: (texture, sampler, coordinates, optional …).
    TexSampleLod "tex_sample_lod" (H, H, Any, Rest) -> (Any) : Image [PURE] = Fold::None;
    /// One component of the four texels that a bilinear lookup would read: (texture, sampler, coordinates, optional …).
    TexGather "tex_gather" (H, H, Any, Rest) -> (Any) : Image [PURE] = Fold::None;
    /// Unfiltered read by integer coordinates: (texture, coordinates, optional …).
    TexFetch "tex_fetch" (H, Any, Rest) -> (Any) : Image [PURE] = Fold::None;
    /// Size in texels and layers at a level of detail (or without, for buffers, multisampled and storage images): (image, optional lod).
    ImageSize "image_size" (H, Rest) -> (Any) : Image [PURE] = Fold::None;
    /// Number of mip levels: (texture).
    TexLevels "tex_levels" (H) -> (S32) : Image [PURE] = Fold::None;
    /// Number of samples: (image).
    ImageSamples "image_samples" (H) -> (S32) : Image [PURE] = Fold::None;
    /// Level of detail that an implicit lookup would use, clamped and unclamped, b32x2: (texture, sampler, coordinates without layer, optional bias).
    TexQueryLod "tex_query_lod" (H, H, Any, Rest) -> (V2) : Image [PURE, CONVERGENT] = Fold::None;
    /// Reads a storage image (four components): (image, coordinates, optional sample).
    ImageLoad "image_load" (H, Any, Rest) -> (Any) : Image [READS] = Fold::None;
    /// Writes a storage image: (image, coordinates, texel, optional sample).
    ImageStore "image_store" (H, Any, Any, Rest) -> () : Image [WRITES] = Fold::None;
    /// Read-modify-write of a storage image's texel, returns the old value: (image, coordinates, sample, data …); `sample` is 0 unless multisampled.
    ImageAtomic "image_atomic" (H, Any, S32, Rest) -> (Any) : ImageAtomic [READS, WRITES] = Fold::None;
] $($rest)* } }; }
pub(super) use image_ops;
