//! Handlers compiled for the host's wide vectors.

/// Compiles functions that give handlers twice, for any host and for one with wide vectors, and takes the handlers that
/// suit this host. Closures have the instruction sets of the function around them.
macro_rules! for_hosts {
    ($($(#[$doc:meta])* $vis:vis fn $name:ident($isa:ident: $ty:ty) -> $out:ty $body:block)*) => {$(
        $(#[$doc])*
        $vis fn $name($isa: $ty) -> $out {
            fn any($isa: $ty) -> $out $body

            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
                fn wide($isa: $ty) -> $out $body

                if crate::shader::host::is_wide() {
                    // SAFETY: the host has these instruction sets.
                    return unsafe { wide($isa) };
                }
            }
            any($isa)
        }
    )*};
}
pub(crate) use for_hosts;

/// The host has what wide handlers are compiled for.
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
