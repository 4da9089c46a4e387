//! Images, textures and samplers.
//!
//! Optional operands follow the fixed ones in the order of
//! [`TexOperands`](crate::attrs::TexOperands);
//! [`Shader::tex_args`](crate::Shader::tex_args) gives them by name. Coordinates are floats for sampling and gathering,
//! integers for fetches and storage images; the array layer is the last coordinate. Projection has
//! been divided out. Reads with `residency` have one more component after the texel: 0 when all texels
//! that were read are resident.

use super::Pat::{Any, H, Rest, S32, V2};
use super::code::Op;
use super::info::{OpInfo, Props, op};
use crate::attrs::AttrKind;

const CONVERGENT: Props = Props::CONVERGENT;
const PURE: Props = Props::PURE;
const READS: Props = Props::READS;
const WRITES: Props = Props::WRITES;

/// The rows of the family.
pub(super) const ROWS: &[OpInfo] = &[
    op(
        Op::TexSample,
        "tex_sample",
        "Sampled lookup with implicit derivatives (or bias): (texture, sampler, coordinates, \
         optional …). One component with `dref`, else four.",
    )
    .args(&[H, H, Any, Rest])
    .results(&[Any])
    .attrs(AttrKind::Image)
    .props(&[PURE, CONVERGENT]),
    op(
        Op::TexSampleLod,
        "tex_sample_lod",
        "Sampled lookup with explicit level of detail or gradients: (texture, sampler, \
         coordinates, optional …).",
    )
    .args(&[H, H, Any, Rest])
    .results(&[Any])
    .attrs(AttrKind::Image)
    .props(&[PURE]),
    op(
        Op::TexGather,
        "tex_gather",
        "One component of the four texels that a bilinear lookup would read: (texture, \
         sampler, coordinates, optional …).",
    )
    .args(&[H, H, Any, Rest])
    .results(&[Any])
    .attrs(AttrKind::Image)
    .props(&[PURE]),
    op(
        Op::TexFetch,
        "tex_fetch",
        "Unfiltered read by integer coordinates: (texture, coordinates, optional …).",
    )
    .args(&[H, Any, Rest])
    .results(&[Any])
    .attrs(AttrKind::Image)
    .props(&[PURE]),
    op(
        Op::ImageSize,
        "image_size",
        "Size in texels and layers at a level of detail (or without, for buffers, \
         multisampled and storage images): (image, optional lod).",
    )
    .args(&[H, Rest])
    .results(&[Any])
    .attrs(AttrKind::Image)
    .props(&[PURE]),
    op(Op::TexLevels, "tex_levels", "Number of mip levels: (texture).")
        .args(&[H])
        .results(&[S32])
        .attrs(AttrKind::Image)
        .props(&[PURE]),
    op(Op::ImageSamples, "image_samples", "Number of samples: (image).")
        .args(&[H])
        .results(&[S32])
        .attrs(AttrKind::Image)
        .props(&[PURE]),
    op(
        Op::TexQueryLod,
        "tex_query_lod",
        "Level of detail that an implicit lookup would use, clamped and unclamped, b32x2: \
         (texture, sampler, coordinates without layer, optional bias).",
    )
    .args(&[H, H, Any, Rest])
    .results(&[V2])
    .attrs(AttrKind::Image)
    .props(&[PURE, CONVERGENT]),
    op(
        Op::ImageLoad,
        "image_load",
        "Reads a storage image (four components): (image, coordinates, optional sample).",
    )
    .args(&[H, Any, Rest])
    .results(&[Any])
    .attrs(AttrKind::Image)
    .props(&[READS]),
    op(
        Op::ImageStore,
        "image_store",
        "Writes a storage image: (image, coordinates, texel, optional sample).",
    )
    .args(&[H, Any, Any, Rest])
    .attrs(AttrKind::Image)
    .props(&[WRITES]),
    op(
        Op::ImageAtomic,
        "image_atomic",
        "Read-modify-write of a storage image's texel, returns the old value: (image, \
         coordinates, sample, data …); `sample` is 0 unless multisampled.",
    )
    .args(&[H, Any, S32, Rest])
    .results(&[Any])
    .attrs(AttrKind::ImageAtomic)
    .props(&[READS, WRITES]),
];
