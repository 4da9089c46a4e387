//! Entry points: functions that the loader and applications call. No panic leaves one.
//!
//! The `entry!` macro makes an `extern "system"` function of a body; the lists of [`crate::lookup`] compare each
//! with its type in the registry.

use std::panic::{AssertUnwindSafe, catch_unwind};

use vulkanalia_sys as vk;

use crate::error::{Error, Result};
use crate::registry;

/// Return type of an entry point, with the type of its body.
pub trait Outcome: Sized {
    /// Return type of the body.
    type Body;

    /// The return value.
    fn from_body(name: &'static str, body: Self::Body) -> Self;

    /// The return value when the body panicked.
    fn panicked() -> Self;
}

/// Bodies of entry points with a result code return nothing, or a success code.
impl Outcome for vk::Result {
    type Body = Result<vk::Result>;

    fn from_body(name: &'static str, body: Self::Body) -> vk::Result {
        match body {
            Ok(vk::Result::SUCCESS) => vk::Result::SUCCESS,
            Ok(code) => registry::returnable(name, code),
            Err(error) => {
                report(name, &error);
                registry::returnable(name, error.code)
            }
        }
    }

    fn panicked() -> vk::Result {
        vk::Result::ERROR_UNKNOWN
    }
}

macro_rules! plain {
    ($($ty:ty = $panicked:expr;)*) => {
        $(impl Outcome for $ty {
            type Body = $ty;

            fn from_body(_: &'static str, body: $ty) -> $ty {
                body
            }

            fn panicked() -> $ty {
                $panicked
            }
        })*
    };
}

plain! {
    () = ();
    u32 = 0;
    u64 = 0;
    vk::PFN_vkVoidFunction = None;
}

/// Whether failed commands are explained on standard error.
fn explains() -> bool {
    crate::debug::flags().contains(crate::debug::Flags::ERRORS)
}

fn report(name: &str, error: &Error) {
    if explains() {
        eprintln!("tepui: {name}: {error}");
    }
}

/// Runs the body of an entry point.
#[inline]
pub fn guard<R: Outcome>(name: &'static str, body: impl FnOnce() -> R::Body) -> R {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(body) => R::from_body(name, body),
        Err(_) => {
            eprintln!("tepui: {name} panicked; this is a mistake of the driver");
            R::panicked()
        }
    }
}

/// Defines entry points: the registry's name, parameters, and a body whose panics and errors become result codes.
///
/// For a function that is generic over the family there is a second one, `any_` and the name, that calls the function of the
/// family of its first parameter ([`crate::dispatch`]).
#[macro_export]
macro_rules! entry {
    (@function [$(#[$doc:meta])*] $name:ident [$($generics:tt)*] ($($arg:ident: $ty:ty),* $(,)?) [$($ret:tt)*] $body:block) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// The Vulkan specification's valid usage.
        #[expect(non_snake_case, reason = "the registry's name")]
        #[allow(clippy::too_many_arguments, reason = "the registry's parameters")]
        pub unsafe extern "system" fn $name $($generics)* ($($arg: $ty),*) $($ret)* {
            $crate::entry::guard(stringify!($name), || $body)
        }
    };
    (@dispatcher $name:ident ($first:ident: $first_ty:ty $(, $arg:ident: $ty:ty)* $(,)?) [$($ret:tt)*]) => {
        ::pastey::paste! {
            #[doc = concat!("`", stringify!($name), "` of the family of the first parameter.")]
            ///
            /// # Safety
            /// The Vulkan specification's valid usage.
            #[expect(non_snake_case, reason = "the registry's name")]
            #[allow(clippy::too_many_arguments, reason = "the registry's parameters")]
            pub unsafe extern "system" fn [<any_ $name>] ($first: $first_ty $(, $arg: $ty)*) $($ret)* {
                static SLOT: std::sync::OnceLock<Option<usize>> = std::sync::OnceLock::new();
                // SAFETY: the first parameter is live or null; a family's function of the name has the same parameters.
                unsafe {
                    match $crate::dispatch::function($first, &SLOT, stringify!($name)) {
                        Some(f) => {
                            let f: unsafe extern "system" fn($first_ty $(, $ty)*) $($ret)* = std::mem::transmute(f);
                            f($first $(, $arg)*)
                        }
                        None => $crate::entry::Outcome::panicked(),
                    }
                }
            }
        }
    };
    (@all) => {};
    (@all $(#[$doc:meta])* fn $name:ident <$g:ident : $bound:path> $args:tt -> $ret:ty $body:block $($rest:tt)*) => {
        $crate::entry! { @function [$(#[$doc])*] $name [<$g: $bound>] $args [-> $ret] $body }
        $crate::entry! { @dispatcher $name $args [-> $ret] }
        $crate::entry! { @all $($rest)* }
    };
    (@all $(#[$doc:meta])* fn $name:ident <$g:ident : $bound:path> $args:tt $body:block $($rest:tt)*) => {
        $crate::entry! { @function [$(#[$doc])*] $name [<$g: $bound>] $args [] $body }
        $crate::entry! { @dispatcher $name $args [] }
        $crate::entry! { @all $($rest)* }
    };
    (@all $(#[$doc:meta])* fn $name:ident $args:tt -> $ret:ty $body:block $($rest:tt)*) => {
        $crate::entry! { @function [$(#[$doc])*] $name [] $args [-> $ret] $body }
        $crate::entry! { @all $($rest)* }
    };
    (@all $(#[$doc:meta])* fn $name:ident $args:tt $body:block $($rest:tt)*) => {
        $crate::entry! { @function [$(#[$doc])*] $name [] $args [] $body }
        $crate::entry! { @all $($rest)* }
    };
    ($(#[$doc:meta])* fn $($all:tt)*) => {
        $crate::entry! { @all $(#[$doc])* fn $($all)* }
    };
}
