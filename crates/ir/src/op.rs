//! The op table: every operation with its operands, results, properties and meaning.
//!
//! Rows stand in `op/*.rs`, one family per file, in the form
//!
//! ```text
//! /// One-line description.
//! Name "text_name" (operand patterns) -> (result patterns) : AttrKind [PROPERTIES] = meaning;
//! ```
//!
//! Operand and result patterns are the variants of [`Pat`]. `meaning` is a [`Fold`]: the function that constant folding,
//! the interpreter and the tests of the algebraic rules all call, or [`Fold::None`] when the op's
//! meaning is not a function of constants (memory, control flow, sub-groups); the interpreter
//! gives those theirs.

use crate::attrs::{AttrKind, Attrs};
use crate::shader::Info;
use crate::types::{Type, mask};
use bitflags::bitflags;

#[macro_use]
mod lanes;
mod control;
mod convert;
mod float;
mod image;
mod int;
mod io;
mod memory;
mod subgroup;
mod vector;

/// What an operand or result may be. Within one instruction all [`Pat::T`], [`Pat::F`] and
/// [`Pat::I`] are one type "T"; `B`, `W`, `UF`, `UI` have as many components as T.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pat {
    /// T, any type.
    T,
    /// T, with 16, 32 or 64 bits (read as float).
    F,
    /// T, with 8, 16, 32 or 64 bits (read as integer).
    I,
    /// 1 bit, as many components as T.
    B,
    /// 32 bits, as many components as T.
    W,
    /// A second float type with as many components as T.
    UF,
    /// A second integer type (8–64 bits) with as many components as T.
    UI,
    /// One 1-bit component.
    B1,
    /// One 32-bit component.
    S32,
    /// One 64-bit component: an address.
    S64,
    /// One 64-bit component: a descriptor handle, opaque to everything but the descriptor lowering.
    H,
    /// b32x2.
    V2,
    /// b32x4.
    V4,
    /// One 16-, 32- or 64-bit component.
    SF,
    /// Scalar with the bits of T.
    E,
    /// Any type, unrelated to T.
    Any,
    /// Any number of operands or results of any type (only as the last pattern).
    Rest,
}

bitflags! {
    /// Properties of an op.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct Props: u16 {
        /// The results depend on operands and attributes only; no effect.
        const PURE = 1 << 0;
        /// The first two operands may be swapped.
        const COMM = 1 << 1;
        /// Other lanes take part: must not move into or out of divergent control flow.
        const CONVERGENT = 1 << 2;
        /// Reads memory that something may write.
        const READS = 1 << 3;
        /// Writes memory, or has another effect that must stay.
        const WRITES = 1 << 4;
        /// Ends a region.
        const TERM = 1 << 5;
        /// Associative when it is exact arithmetic (integers, logic).
        const ASSOC = 1 << 6;
        /// The result is one of, or rounds like, float arithmetic: contraction and reassociation rules apply.
        const FLOAT = 1 << 7;
        /// Owns regions.
        const REGIONS = 1 << 8;
    }
}

/// One component of an element-wise op to evaluate.
pub struct Lane<'a> {
    /// Operand bits, zero-extended.
    pub args: &'a [u64],
    /// Bits of the first operand.
    pub bits: u8,
    /// Bits of the result.
    pub dst: u8,
}

/// A whole (possibly vector) op to evaluate.
pub struct Whole<'a> {
    /// Operands: type and components.
    pub args: &'a [(Type, &'a [u64])],
    /// Attributes.
    pub attrs: &'a Attrs,
    /// Result type.
    pub ty: Type,
}

/// The meaning of an op on constants.
#[derive(Clone, Copy)]
pub enum Fold {
    /// Not a function of constants.
    None,
    /// The same function on each component.
    Lane(fn(&Lane) -> u64),
    /// A function of the whole operands; pushes the result's components. Cannot fail on operands that the validator accepts.
    Whole(fn(&Whole, &mut Vec<u64>)),
    /// Element-wise with two results.
    Lane2(fn(&Lane) -> [u64; 2]),
}

/// A row of the op table.
pub struct OpInfo {
    /// The op.
    pub op: Op,
    /// Its name in the text form.
    pub name: &'static str,
    /// One-line description.
    pub doc: &'static str,
    /// Operand patterns.
    pub operands: &'static [Pat],
    /// Result patterns.
    pub results: &'static [Pat],
    /// Kind of attributes.
    pub attrs: AttrKind,
    /// Properties.
    pub props: Props,
    /// Meaning.
    pub fold: Fold,
}

macro_rules! define_ops {
    ([$($(#[doc = $doc:literal])+ $id:ident $name:literal ($($o:ident),*) -> ($($r:ident),*) $(: $a:ident)? [$($p:ident),*] = $fold:expr;)*]) => {
        /// An operation. [`Op::info`] is its row of the table.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
        #[repr(u16)]
        pub enum Op { $($(#[doc = $doc])+ $id),* }

        /// The op table, indexed by `Op as usize`.
        pub static OPS: &[OpInfo] = &[$(OpInfo {
            op: Op::$id,
            name: $name,
            doc: concat!($($doc),+),
            operands: &[$(Pat::$o),*],
            results: &[$(Pat::$r),*],
            attrs: attr_kind!($($a)?),
            props: Props::empty()$(.union(Props::$p))*,
            fold: $fold,
        }),*];

        impl Op {
            /// The op that `name` names in the text form.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Op> {
                match name { $($name => Some(Op::$id),)* _ => None }
            }
        }
    };
}

macro_rules! attr_kind {
    () => {
        AttrKind::None
    };
    ($a:ident) => {
        AttrKind::$a
    };
}

// Each family macro appends its rows to the accumulator and hands on to the next.
macro_rules! chain {
    ([$($acc:tt)*]) => { define_ops! { [$($acc)*] } };
    ([$($acc:tt)*] $first:ident $($rest:ident)*) => { $first! { [$($acc)*] $($rest)* } };
}

use control::control_ops;
use convert::convert_ops;
use float::float_ops;
use image::image_ops;
use int::int_ops;
use io::io_ops;
use memory::memory_ops;
use subgroup::subgroup_ops;
use vector::vector_ops;

chain! { [] float_ops int_ops convert_ops vector_ops memory_ops image_ops subgroup_ops io_ops control_ops }

impl Op {
    /// The op's row of the table.
    #[must_use]
    pub fn info(self) -> &'static OpInfo {
        &OPS[self as usize]
    }

    /// The op's name in the text form.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.info().name
    }

    /// The op's properties.
    #[must_use]
    pub fn props(self) -> Props {
        self.info().props
    }

    /// No effect, and the same operands and attributes always give the same results.
    #[must_use]
    pub fn is_pure(self) -> bool {
        self.props().contains(Props::PURE)
    }

    /// Ends a region.
    #[must_use]
    pub fn is_terminator(self) -> bool {
        self.props().contains(Props::TERM)
    }

    /// Reads or writes floats as numbers: float controls apply.
    #[must_use]
    pub fn touches_floats(self) -> bool {
        let info = self.info();
        let float = |p: &Pat| matches!(p, Pat::F | Pat::UF | Pat::SF);
        info.props.contains(Props::FLOAT) || info.operands.iter().chain(info.results).any(float)
    }

    /// Makes or takes denormals as numbers, so that flushing modes apply; changes of the sign bit do not.
    #[must_use]
    pub fn may_flush(self) -> bool {
        self.touches_floats() && !matches!(self, Op::FNeg | Op::FAbs)
    }

    /// The same function is applied to each component.
    #[must_use]
    pub fn is_elementwise(self) -> bool {
        matches!(self.info().fold, Fold::Lane(_) | Fold::Lane2(_))
    }
}

/// Whether the bits are a denormal float of this size.
#[must_use]
pub const fn is_denormal(bits: u8, v: u64) -> bool {
    let (exponent, fraction) = match bits {
        16 => (0x7c00, 0x03ff),
        32 => (0x7f80_0000, 0x007f_ffff),
        64 => (0x7ff0_0000_0000_0000, 0x000f_ffff_ffff_ffff),
        _ => return false,
    };
    v & exponent == 0 && v & fraction != 0
}

/// [`fold`] as constant folding may use it in a shader: false as well when an execution mode would give another result
/// than `fold`, which keeps denormals.
pub fn fold_under(
    info: &Info,
    op: Op,
    args: &[(Type, &[u64])],
    attrs: &Attrs,
    tys: &[Type],
    out: &mut Vec<u64>,
) -> bool {
    let at = out.len();
    if !fold(op, args, attrs, tys, out) {
        return false;
    }
    let flushed = |t: Type, v: u64| {
        is_denormal(t.bits(), v) && info.float_controls(t.bits()).is_some_and(|c| c.denorm_flush)
    };
    if info.float.iter().any(|c| c.denorm_flush)
        && op.may_flush()
        && (args.iter().any(|(t, c)| c.iter().any(|&v| flushed(*t, v)))
            || out[at..].iter().any(|&v| flushed(tys[0], v)))
    {
        out.truncate(at);
        return false;
    }
    true
}

/// Evaluates `op` on constants. `args` are operand types and components; the components of each result
/// are pushed to `out` in order, masked to the result's size.
///
/// Returns false, leaving `out` alone, when the op has no meaning on constants. The operands must be
/// those of a valid instruction.
pub fn fold(
    op: Op,
    args: &[(Type, &[u64])],
    attrs: &Attrs,
    tys: &[Type],
    out: &mut Vec<u64>,
) -> bool {
    let lane_args = |i: usize, buf: &mut [u64; 8]| {
        for (slot, (_, comps)) in buf.iter_mut().zip(args) {
            *slot = comps[i];
        }
    };
    let bits = args.first().map_or(32, |a| a.0.bits());
    let mut buf = [0u64; 8];
    let n = args.len();
    match op.info().fold {
        Fold::None => return false,
        Fold::Lane(f) => {
            let ty = tys[0];
            for i in 0..ty.comps() as usize {
                lane_args(i, &mut buf);
                out.push(f(&Lane { args: &buf[..n], bits, dst: ty.bits() }) & mask(ty.bits()));
            }
        }
        Fold::Lane2(f) => {
            let (a, b) = (tys[0], tys[1]);
            let mut second = Vec::with_capacity(b.comps() as usize);
            for i in 0..a.comps() as usize {
                lane_args(i, &mut buf);
                let [x, y] = f(&Lane { args: &buf[..n], bits, dst: a.bits() });
                out.push(x & mask(a.bits()));
                second.push(y & mask(b.bits()));
            }
            out.extend(second);
        }
        Fold::Whole(f) => {
            let at = out.len();
            f(&Whole { args, attrs, ty: tys[0] }, out);
            for v in &mut out[at..] {
                *v &= mask(tys[0].bits());
            }
        }
    }
    true
}
