//! The instruction sets of hosts that programs are translated to.

/// An instruction set that a model can translate programs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// x86-64 with AVX2, FMA, F16C and BMI1: eight lanes at a time.
    Avx2,
    /// x86-64 with AVX-512 F, BW and DQ: sixteen lanes at a time.
    Avx512,
}

impl Target {
    /// All of them, the fastest first.
    pub const ALL: [Target; 2] = [Target::Avx512, Target::Avx2];

    /// Can this host run translations to it?
    pub fn is_available(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        match self {
            Target::Avx2 => {
                is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("fma")
                    && is_x86_feature_detected!("f16c")
                    && is_x86_feature_detected!("bmi1")
            }
            Target::Avx512 => {
                is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512dq")
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        false
    }

    /// The fastest that this host has, if it has one.
    pub fn best() -> Option<Target> {
        Target::ALL.into_iter().find(|target| target.is_available())
    }
}
