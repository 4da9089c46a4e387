//! Chains of extensions: lists in the client's memory, each element beginning with
//! `i915_user_extension`.

use tepui_drm::refusal::{Refusal, require};
use tepui_drm::uapi::i915::UserExtension;
use tepui_drm::user::{UserMemory, read_value};

/// Limit on the extensions of one request; the kernel's, so that a cyclic list ends.
const MAX_EXTENSIONS: u32 = 512;

/// Calls `each` with the name and the address of every extension of a chain.
pub fn walk(
    user: &dyn UserMemory,
    mut at: u64,
    mut each: impl FnMut(u32, u64) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    let mut left = MAX_EXTENSIONS;
    while at != 0 {
        require(left > 0, "the chain of extensions does not end")?;
        left -= 1;
        let extension: UserExtension = read_value(user, at)?;
        require(
            extension.flags == 0 && extension.rsvd == [0; 4],
            "an extension's flags or rsvd are not 0",
        )?;
        each(extension.name, at)?;
        at = extension.next_extension;
    }
    Ok(())
}
