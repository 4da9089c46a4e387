//! Functions compiled for the host's wide vectors.

/// Compiles functions twice, for any host and for one with wide vectors, and calls the variant for this host. Closures
/// inherit the instruction sets of the enclosing function, so that functions which return handlers return wide ones.
macro_rules! for_hosts {
    ($($(#[$doc:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),* $(,)?) -> $out:ty $body:block)*) => {$(
        $(#[$doc])*
        $vis fn $name($($arg: $ty),*) -> $out {
            fn any($($arg: $ty),*) -> $out $body

            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
                fn wide($($arg: $ty),*) -> $out $body

                if crate::warp::host::is_wide() {
                    // SAFETY: the host has these instruction sets.
                    return unsafe { wide($($arg),*) };
                }
            }
            any($($arg),*)
        }
    )*};
}
pub(crate) use for_hosts;

/// Whether the host has the instruction sets of wide handlers.
#[cfg(target_arch = "x86_64")]
pub fn is_wide() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("f16c")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt")
}
