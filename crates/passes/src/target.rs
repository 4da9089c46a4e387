//! The lowering passes in order, parametrised by a [`Target`] for each back end.

use crate::lower_alu::Alu;
use crate::lower_subgroups::Subgroups;
use crate::lower_tex::Tex;
use crate::pipeline::Pipeline;
use crate::{lower_addresses, lower_alu, lower_bits, lower_int64, lower_subgroups, lower_tex};
use tepui_ir::interp::SUBGROUP;
use tepui_ir::{Op, Shader, SrcLoc};

/// The capabilities of a GPU. The default asks for every lowering.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Lanes of a sub-group; `None` when they differ in size.
    pub lanes: Option<u32>,
    /// Arithmetic that it lacks.
    pub alu: Alu,
    /// The 64-bit operations that it has.
    pub int64: lower_int64::Options,
    /// Integer arithmetic on fewer bits is widened to this size: 16 or 32, 8 for none.
    pub min_int_bits: u8,
    /// The address arithmetic of its loads and stores; `None` leaves 64-bit addresses.
    pub addresses: Option<lower_addresses::Options>,
    /// Sub-group operations that it lacks.
    pub subgroups: Subgroups,
    /// Reductions that it lacks are trees of shuffles where all lanes are active.
    pub subgroup_trees: bool,
    /// Texture operands that it lacks.
    pub tex: Tex,
    /// Descriptor-bound buffers become addresses with bounds checks.
    pub buffers: bool,
    /// Whether it has 64-bit float arithmetic.
    pub float64: bool,
}

impl Default for Target {
    fn default() -> Target {
        Target {
            lanes: Some(SUBGROUP as u32),
            alu: Alu::all(),
            int64: lower_int64::Options::default(),
            min_int_bits: 16,
            addresses: Some(lower_addresses::Options::default()),
            subgroups: Subgroups::all(),
            subgroup_trees: false,
            tex: Tex::all(),
            buffers: true,
            float64: false,
        }
    }
}

/// A shader that a target cannot run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("line {}: {} on {bits}-bit floats is not supported", loc.line, op.name())]
pub struct Unsupported {
    /// The first instruction that is not supported.
    pub op: Op,
    /// Its float size.
    pub bits: u8,
    /// Its position in the source; line 0 if unknown.
    pub loc: SrcLoc,
}

/// The first instruction that computes with 64-bit floats.
fn f64_op(s: &Shader) -> Option<Unsupported> {
    let mut found = None;
    s.walk(|s, _, i| {
        let d = &s.insts[i];
        let wide = || s.args(i).iter().chain(s.results(i)).any(|&v| s.ty(v).bits() == 64);
        // A conversion between 64-bit integers and smaller floats is none.
        let float = match d.op {
            Op::S2F | Op::U2F => s.results(i).iter().any(|&v| s.ty(v).bits() == 64),
            Op::F2S | Op::F2U => s.args(i).iter().any(|&v| s.ty(v).bits() == 64),
            op => op.touches_floats() && wide(),
        };
        if found.is_none() && float {
            found = Some(Unsupported { op: d.op, bits: 64, loc: s.locs[d.loc] });
        }
    });
    found
}

/// Brings an optimised shader into a target's form. Images and textures are the back end's to lower
/// before.
///
/// # Errors
/// When the target cannot run the shader; it is lowered as far as that is possible.
pub fn lower(s: &mut Shader, t: &Target, p: &mut Pipeline<'_>) -> Result<(), Unsupported> {
    p.run(s, "lower_io");
    if !t.float64 {
        p.run(s, "roll_float64");
    }
    if p.run(s, "lower_vars") {
        // Elements whose indices are equal.
        p.run(s, "simplify");
        p.run(s, "forward");
    }
    if t.buffers {
        p.run(s, "lower_buffers");
    }
    if let Some(o) = t.addresses {
        p.run(s, "simplify");
        p.run(s, "dce");
        p.with(s, "lower_addresses", |s| lower_addresses::run(s, o));
    }
    p.run(s, "lower_handles");
    p.run(s, "scalarise");
    // Votes on vectors become comparisons of vectors.
    let tree = t.lanes.filter(|_| t.subgroup_trees);
    let subgroups = lower_subgroups::Options { lower: t.subgroups, tree };
    if p.with(s, "lower_subgroups", |s| lower_subgroups::run_with(s, subgroups)) {
        p.run(s, "scalarise");
    }
    if !t.float64 && p.run(s, "lower_float64") {
        p.run(s, "simplify");
    }
    p.with(s, "lower_int64", |s| lower_int64::run(s, t.int64));
    let bits = lower_bits::Options { min_int_bits: t.min_int_bits };
    p.with(s, "lower_bits", |s| lower_bits::run(s, bits));
    // A lowering may create ops that another has to lower: packing, then its divisions.
    if p.with(s, "lower_alu", |s| lower_alu::run(s, t.alu)) {
        p.with(s, "lower_alu", |s| lower_alu::run(s, t.alu));
    }
    for _ in 0..2 {
        p.run(s, "simplify");
        p.run(s, "dce");
    }
    match f64_op(s).filter(|_| !t.float64) {
        Some(e) => Err(e),
        None => Ok(()),
    }
}

/// Brings textures into a target's form: the operands that it lacks.
pub fn lower_textures(s: &mut Shader, t: &Target, p: &mut Pipeline<'_>) -> bool {
    p.with(s, "lower_tex", |s| lower_tex::run(s, t.tex))
}
