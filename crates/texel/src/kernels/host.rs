//! Vector extensions of the host.

use std::sync::OnceLock;

/// The sets of instructions that loops over lanes are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vectors {
    /// The baseline of the architecture.
    Any,
    /// AVX2, FMA, BMI, LZCNT and POPCNT of x86-64: eight lanes at a time.
    Wide,
    /// The extensions of [`Vectors::Wide`] and AVX-512 F, BW, VL and DQ: sixteen lanes at a time.
    Wider,
}

impl Vectors {
    /// The widest that this host has.
    #[inline]
    pub fn of_host() -> Vectors {
        static HOST: OnceLock<Vectors> = OnceLock::new();
        *HOST.get_or_init(Vectors::find)
    }

    fn find() -> Vectors {
        #[cfg(target_arch = "x86_64")]
        {
            let wide = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("fma")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("lzcnt")
                && is_x86_feature_detected!("popcnt");
            let wider = wide
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512dq");
            if wider {
                return Vectors::Wider;
            }
            if wide {
                return Vectors::Wide;
            }
        }
        Vectors::Any
    }
}
