//! Panics of naga as errors: its SPIR-V writer stops at some constructs that its validator lets through.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use crate::source::SourceError;

/// Panic of a guarded call.
#[derive(Default)]
struct Caught {
    message: String,
    /// File and line in naga's source.
    place: String,
}

thread_local! {
    /// Set while a guarded call runs on this thread.
    static GUARDED: RefCell<Option<Caught>> = const { RefCell::new(None) };
}

/// Keeps the message of a guarded call's panic instead of printing it with a backtrace.
fn install_hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let guarded = GUARDED.with(|g| match g.try_borrow_mut().as_deref_mut() {
                Ok(Some(caught)) => {
                    caught.message = panic.payload_as_str().unwrap_or("no message").to_owned();
                    caught.place = panic.location().map_or_else(String::new, |l| {
                        let file = l.file().rsplit_once("/src/").map_or(l.file(), |f| f.1);
                        format!("{file}:{}", l.line())
                    });
                    true
                }
                _ => false,
            });
            if !guarded {
                before(panic);
            }
        }));
    });
}

/// Calls naga.
///
/// # Errors
/// The call's own, or what naga said when it panicked. A build that aborts at a panic (the page's) ends there.
pub fn guard<T>(call: impl FnOnce() -> Result<T, SourceError>) -> Result<T, SourceError> {
    install_hook();
    GUARDED.with(|g| g.replace(Some(Caught::default())));
    let result = catch_unwind(AssertUnwindSafe(call));
    let caught = GUARDED.with(RefCell::take).unwrap_or_default();
    result.unwrap_or_else(|_| {
        Err(SourceError::new(format!(
            "naga cannot compile this text and panicked: {} ({}). \
             Another compiler's SPIR-V (tint, glslang) works in its place",
            caught.message, caught.place
        )))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_and_the_next_call_goes() {
        let error = guard::<()>(|| panic!("no {}", "luck")).unwrap_err();
        assert!(error.whole.contains("panicked: no luck (naga/guard.rs:"), "{error}");
        assert!(guard(|| Ok(1)).is_ok());
    }
}
