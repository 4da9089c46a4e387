//! Uses of the GPU registry: values of `--gpu`.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use tepui_gpus::{Feature, Gpu, mali};

/// A parser of `--gpu` that accepts the GPUs with a feature and lists them in `--help`.
pub fn with(feature: Feature) -> impl TypedValueParser<Value = Gpu> {
    PossibleValuesParser::new(Gpu::having(feature).map(Gpu::id)).try_map(|id| id.parse::<Gpu>())
}

/// The Mali GPU with a product id in hexadecimal, if it has a model.
pub fn mali_id(text: &str) -> Result<Gpu, String> {
    let id = u32::from_str_radix(text.trim_start_matches("0x"), 16);
    let id = id.map_err(|error| format!("a number in hexadecimal: {error}"))?;
    let chip = mali::CHIPS.iter().find(|chip| chip.product_id == id);
    let gpu =
        chip.map(Gpu::Mali).ok_or_else(|| format!("no Mali GPU has the product id {id:x}"))?;
    gpu.require(Feature::Model).map_err(|error| error.to_string())
}
