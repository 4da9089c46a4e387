//! The handlers of instructions: functions over all lanes of a SIMD-group.
//!
//! Every handler is written once, generic and always inlined, and compiled several times: for any
//! host, and for hosts with wide vectors and fused multiply-add. [`Handlers::of_host`] chooses the
//! set. Each handler has two entries: the first for operands of any form, the second for whole
//! 32-bit rows, where the generic code folds to a straight loop. The set for any host has only the
//! first, to save build time; it is rarely used.

pub mod approx;
pub mod float;
pub mod flow;
pub mod fragment;
pub mod gather;
pub mod int;
pub mod memory;
pub mod special;
pub mod subgroup;
pub mod texture;
pub mod vertex;

use std::sync::LazyLock;

use tepui_agx_texture::Vectors;

pub use super::lanes::Lanes;
pub use super::op::{Next, Op};
use super::opcode::{Opcode, for_each_opcode};

/// The function that executes an instruction.
pub type Handler = unsafe fn(&mut Lanes<'_, '_>, &Op) -> Next;

/// One handler in one build.
macro_rules! entry {
    ([] $name:ident $module:ident) => {
        unsafe fn $name<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
            super::$module::$name::<FAST>(l, op)
        }
    };
    ([$features:literal] $name:ident $module:ident) => {
        #[target_feature(enable = $features)]
        unsafe fn $name<const FAST: bool>(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
            super::$module::$name::<FAST>(l, op)
        }
    };
}

/// Compiles every handler for a set of host features.
macro_rules! compile {
    ($set:ident $features:tt $whole_rows:literal $($name:ident: $module:ident,)*) => {
        mod $set {
            use super::{Handlers, Lanes, Next, Op};
            $(entry!($features $name $module);)*
            pub static HANDLERS: Handlers =
                Handlers([$([$name::<false>, $name::<$whole_rows>],)*]);
        }
    };
}

macro_rules! handlers {
    ($($name:ident: $module:ident,)*) => {
        compile!(any_host [] false $($name: $module,)*);
        #[cfg(target_arch = "x86_64")]
        compile!(wide ["avx2,fma,bmi1,bmi2,lzcnt,popcnt"] true $($name: $module,)*);
        #[cfg(target_arch = "x86_64")]
        compile!(
            wider
            ["avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,bmi1,bmi2,lzcnt,popcnt"]
            true
            $($name: $module,)*
        );
    };
}

for_each_opcode!(handlers);

/// A compiled set: for each opcode the entry for any operands and the one for whole rows.
pub struct Handlers([[Handler; 2]; Opcode::COUNT]);

impl Handlers {
    /// The best set that this host can run.
    pub fn of_host() -> &'static Handlers {
        match Vectors::of_host() {
            #[cfg(target_arch = "x86_64")]
            Vectors::Wider => &wider::HANDLERS,
            #[cfg(target_arch = "x86_64")]
            Vectors::Wide => &wide::HANDLERS,
            _ => &any_host::HANDLERS,
        }
    }

    /// The function that executes an operation.
    #[inline(always)]
    pub fn of(&self, op: &Op) -> Handler {
        self.0[op.opcode as usize][usize::from(op.whole_rows)]
    }
}

/// Executes one operation, for translated code.
///
/// # Safety
/// The operation's rows must lie in the group's files, as those of its own program do.
pub unsafe fn execute(l: &mut Lanes<'_, '_>, op: &Op) -> Next {
    static HANDLERS: LazyLock<&'static Handlers> = LazyLock::new(Handlers::of_host);
    // SAFETY: the set is one that this host can run; the caller vouches for the rows.
    unsafe { (HANDLERS.of(op))(l, op) }
}
