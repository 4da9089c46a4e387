//! Uses of the GPU registry: values of `--gpu`.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use tepui_gpus::{Feature, Gpu};

/// A parser of `--gpu` that accepts the GPUs with a feature and lists them in `--help`.
pub fn with(feature: Feature) -> impl TypedValueParser<Value = Gpu> {
    PossibleValuesParser::new(Gpu::having(feature).map(Gpu::id)).try_map(|id| id.parse::<Gpu>())
}
