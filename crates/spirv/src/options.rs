//! Options of a translation.

use tepui_ir::Stage;

/// Options of a translation: entry point and specialisation.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Name of the entry point; the first of the stage when `None`.
    pub entry: Option<String>,
    /// Stage of the entry point; any when `None`.
    pub stage: Option<Stage>,
    /// Specialisation constants: `SpecId` and bits (truth values: 0 is false).
    pub spec: Vec<(u32, u64)>,
}
