//! The table of handlers.

use tepui_intel_isa::Opcode;

use crate::alu::*;
use crate::math::math;
use crate::op::{Handler, Op};
use crate::rows::Done;
use crate::state::Thread;

#[inline(always)]
fn nop(_: &mut Thread, _: &Op) -> Done {
    Ok(())
}

/// Instructions are executed in order, so there is nothing to wait for except barriers, which are
/// [`crate::op::Flow::Wait`].
#[inline(always)]
fn sync(_: &mut Thread, _: &Op) -> Done {
    Ok(())
}

/// Compiles the operations twice, for any host and for one with wide vectors, and makes the table of
/// handlers.
macro_rules! handlers {
    ($($opcode:ident $name:ident,)*; $copy:ident) => {
        mod any {
            use super::*;

            $(
                pub unsafe fn $name(t: &mut Thread, op: &Op) -> Done {
                    super::$name(t, op)
                }
            )*
            pub unsafe fn $copy(t: &mut Thread, op: &Op) -> Done {
                super::$copy(t, op)
            }
        }

        #[cfg(target_arch = "x86_64")]
        mod wide {
            use super::*;

            $(
                #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
                pub unsafe fn $name(t: &mut Thread, op: &Op) -> Done {
                    super::$name(t, op)
                }
            )*
            #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
            pub unsafe fn $copy(t: &mut Thread, op: &Op) -> Done {
                super::$copy(t, op)
            }
        }

        /// The handler of an arithmetic operation; `None` if there is none. This host can execute it.
        pub fn handler(opcode: Opcode) -> Option<Handler> {
            #[cfg(target_arch = "x86_64")]
            if is_wide() {
                return match opcode {
                    $(Opcode::$opcode => Some(wide::$name),)*
                    _ => None,
                };
            }
            match opcode {
                $(Opcode::$opcode => Some(any::$name),)*
                _ => None,
            }
        }

        /// The handler of `mov` without conversion, which copies bits.
        pub fn copies() -> Handler {
            #[cfg(target_arch = "x86_64")]
            if is_wide() {
                return wide::$copy;
            }
            any::$copy
        }
    };
}

/// Whether the host has the instruction sets of wide handlers.
#[cfg(target_arch = "x86_64")]
fn is_wide() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt")
}

handlers! {
    Mov mov, Sel sel, Not not, And and, Or or, Xor xor, Shr shr, Shl shl, Asr asr, Cmp cmp, Cmpn cmpn,
    Csel csel, Bfrev bfrev, Bfe bfe, Bfi1 bfi1, Bfi2 bfi2, Math math, Add add, Mul mul, Avg avg,
    Frc frc, Rndu rndu, Rndd rndd, Rnde rnde, Rndz rndz, Mac mac, Mach mach, Lzd lzd, Fbh fbh, Fbl fbl,
    Cbit cbit, Addc addc, Subb subb, Dp4 dp4, Dph dph, Dp3 dp3, Dp2 dp2, Line line, Pln pln, Mad mad,
    Lrp lrp, Rol rol, Ror ror, Dp4a dp4a, Nop nop, Sync sync,;
    copy
}

/// Does nothing; for operations that the thread's flow control executes.
pub unsafe fn nothing(_: &mut Thread, _: &Op) -> Done {
    Ok(())
}
