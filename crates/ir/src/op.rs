//! The op table: every operation with its operands, results, properties and meaning.
//!
//! [`Op`] lists the operations; each has a row, an [`OpInfo`], in the file of its family (`op/float.rs` and so on), which
//! stand in the same order:
//!
//! ```text
//! op(Op::FAdd, "fadd", "Sum.")
//!     .args(&[F, F])
//!     .results(&[F])
//!     .props(&[PURE, COMM, FLOAT])
//!     .fold(float!(a, b => a + b)),
//! ```
//!
//! Operand and result patterns are the variants of [`Pat`]. `fold` is the meaning: the function
//! that constant folding, the interpreter and the tests of the algebraic rules all call. A row has
//! none when the op's meaning is not a function of constants (memory, control flow, subgroups); the
//! interpreter gives those theirs.

use crate::attrs::Attrs;
use crate::types::{Type, mask};
use std::collections::HashMap;
use std::sync::LazyLock;

#[macro_use]
mod lanes;
mod code;
mod control;
mod convert;
mod float;
mod image;
mod info;
mod int;
mod io;
mod memory;
mod subgroup;
mod vector;

pub use code::Op;
pub use info::{Fold, Lane, OpInfo, Pat, Props, Whole};

/// The rows of each family, in the order of [`Op`].
const FAMILIES: [&[OpInfo]; 9] = [
    float::ROWS,
    int::ROWS,
    convert::ROWS,
    vector::ROWS,
    memory::ROWS,
    image::ROWS,
    subgroup::ROWS,
    io::ROWS,
    control::ROWS,
];

/// The op table, indexed by `Op as usize`. Building it checks that each op has one row, in its
/// place.
pub static OPS: [OpInfo; Op::COUNT] = {
    let mut table = [float::ROWS[0]; Op::COUNT];
    let (mut family, mut at) = (0, 0);
    while family < FAMILIES.len() {
        let mut row = 0;
        while row < FAMILIES[family].len() {
            let info = FAMILIES[family][row];
            assert!(info.op as usize == at, "rows stand in the order of the ops");
            table[at] = info;
            at += 1;
            row += 1;
        }
        family += 1;
    }
    assert!(at == Op::COUNT, "every op has a row");
    table
};

/// Ops by their names in the text form.
static BY_NAME: LazyLock<HashMap<&str, Op>> =
    LazyLock::new(|| OPS.iter().map(|info| (info.name, info.op)).collect());

impl Op {
    /// The op that `name` names in the text form.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Op> {
        BY_NAME.get(name).copied()
    }

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

    /// Makes or takes denormals as numbers, so that flushing modes apply; changes of the sign bit
    /// do not.
    #[must_use]
    pub fn may_flush(self) -> bool {
        self.touches_floats() && !matches!(self, Op::FNeg | Op::FAbs)
    }

    /// Whether the op applies a function to each component.
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

/// Evaluates `op` on constants. `args` are operand types and components; the components of each
/// result are pushed to `out` in order, masked to the result's size.
///
/// Returns false, leaving `out` alone, when the op has no meaning on constants. The operands must
/// be those of a valid instruction.
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
