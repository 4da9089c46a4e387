//! Refusals of messages.

use std::fmt::Display;

use tepui_intel_eu::Refusal;

/// A refusal of a message, with its reason.
pub(crate) fn refuse(what: impl Display) -> Refusal {
    Refusal(what.to_string())
}

/// The refusal of a message that the model does not know.
pub(crate) fn unimplemented(what: impl Display) -> Refusal {
    refuse(format!("{what} is not executed by this model yet"))
}
