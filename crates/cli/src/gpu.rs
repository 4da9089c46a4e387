//! Uses of the GPU registry: values of `--gpu`, and the kernel drivers whose captures can be
//! decoded.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use tepui_gpus::{Family, Feature, Gpu};

/// A parser of `--gpu` that accepts the GPUs with a feature and lists them in `--help`.
pub fn with(feature: Feature) -> impl TypedValueParser<Value = Gpu> {
    PossibleValuesParser::new(Gpu::having(feature).map(Gpu::id)).try_map(|id| id.parse::<Gpu>())
}

/// Refuses captures of kernel drivers whose submissions Tepui cannot decode.
///
/// # Errors
/// Names the driver and those that can be decoded.
pub fn check_driver(driver: &str) -> Result<(), String> {
    match Family::of_driver(driver) {
        Some(Family::Agx) => Ok(()),
        Some(family) => Err(format!(
            "a capture of {family} (kernel driver {driver}); only those of {} can be decoded",
            Family::Agx
        )),
        None => Err(format!("a capture of the unknown kernel driver `{driver}`")),
    }
}
