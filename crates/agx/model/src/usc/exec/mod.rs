//! What each instruction does, as functions over all lanes of a SIMD-group.
//!
//! Every handler is written once, generic and always inlined, and compiled several times: for any
//! host, and for hosts with wide vectors and fused multiply-add. [`Handlers::of_host`] picks the
//! set once. Each handler has two entries: the first for operands of any form, the second for whole
//! 32-bit rows, where the generic code folds to a straight loop. The set for any host has the first
//! alone: where it is used, nobody waits for the difference, but every build would.

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

use tepui_agx_texture::Vectors;

pub use super::lanes::Lanes;
pub use super::op::{Handler, Next, Op};

/// A handler's name and its two entries: for any operands, and for whole rows.
pub type Entries = (Name, [Handler; 2]);

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
            use super::{Handlers, Lanes, Name, Next, Op};
            $(entry!($features $name $module);)*
            pub static HANDLERS: Handlers =
                Handlers { $($name: (Name::$name, [$name::<false>, $name::<$whole_rows>]),)* };
        }
    };
}

macro_rules! handlers {
    ($($name:ident: $module:ident,)*) => {
        /// A compiled set: for each handler the entry for any operands and the one for whole rows.
        #[expect(missing_docs, reason = "the functions behind the names are documented")]
        pub struct Handlers {
            $(pub $name: Entries,)*
        }

        /// Names of handlers.
        #[expect(missing_docs, non_camel_case_types, reason = "the functions are documented")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Name {
            $($name,)*
        }

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

handlers! {
    fadd: float,
    fmul: float,
    ffma: float,
    hadd: float,
    hmul: float,
    hfma: float,
    floor: float,
    ceil: float,
    trunc: float,
    rint: float,
    rcp: float,
    rsqrt: float,
    srsqrt: float,
    log2: float,
    exp2: float,
    sin_pt_1: float,
    sin_pt_2: float,
    dfdx: float,
    dfdy: float,
    fcmpsel: float,
    convert: float,
    mov_imm: int,
    iadd: int,
    imad: int,
    bitop: int,
    bfi: int,
    bfeil: int,
    extr: int,
    shlhi: int,
    shrhi: int,
    asr: int,
    asrhi: int,
    bitrev: int,
    popcount: int,
    ffs: int,
    intl: int,
    icmpsel: int,
    if_icmp: flow,
    if_fcmp: flow,
    else_icmp: flow,
    else_fcmp: flow,
    while_icmp: flow,
    while_fcmp: flow,
    pop_exec: flow,
    jmp_exec_any: flow,
    jmp_exec_none: flow,
    call: flow,
    jump_register: flow,
    stop: flow,
    barrier: flow,
    fence: flow,
    nop: flow,
    refuse: flow,
    reduce: subgroup,
    icmp_ballot: subgroup,
    fcmp_ballot: subgroup,
    shuffle: subgroup,
    get_sr: special,
    doorbell: special,
    stack_map: special,
    stack_unmap: special,
    device_load: memory,
    device_store: memory,
    device_atomic: memory,
    stack_load: memory,
    stack_store: memory,
    stack_adjust: memory,
    local_load: memory,
    local_store: memory,
    local_atomic: memory,
    uniform_store: memory,
    texture: texture,
    image_write: texture,
    image_write_block: texture,
    tile_pixel: texture,
    st_var: vertex,
    iter: fragment,
    ldcf: fragment,
    sample_mask: fragment,
    zs_emit: fragment,
    tile_access: fragment,
    texture_state_store: texture,
    sampler_state_store: texture,
}

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
}
