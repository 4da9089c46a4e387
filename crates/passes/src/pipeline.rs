//! Passes by name, in order, with a look at the shader after each.

use tepui_ir::Shader;

/// A named pass.
#[derive(Clone, Copy)]
pub struct Pass {
    /// Its name, as `--after` and filetests write it.
    pub name: &'static str,
    /// The pass.
    pub run: fn(&mut Shader) -> bool,
}

/// Every pass that needs no options.
pub const PASSES: &[Pass] = &[
    Pass { name: "split", run: crate::split::run },
    Pass { name: "promote", run: crate::promote::run },
    Pass { name: "control", run: crate::control::run },
    Pass { name: "simplify", run: crate::simplify::run },
    Pass { name: "dce", run: crate::dce::run },
    Pass { name: "if_convert", run: crate::if_convert::run },
    Pass { name: "unroll", run: crate::unroll::run },
    Pass { name: "licm", run: crate::licm::run },
    Pass { name: "forward", run: crate::forward::run },
    Pass { name: "hoist", run: crate::hoist::run },
    Pass { name: "scalarise", run: crate::scalarise::run },
    Pass { name: "vectorise", run: crate::vectorise::run },
    Pass { name: "lower_vars", run: crate::lower_vars::run },
    Pass { name: "lower_buffers", run: crate::lower_buffers::run },
    Pass {
        name: "lower_addresses",
        run: |s| crate::lower_addresses::run(s, crate::lower_addresses::Options::default()),
    },
    Pass { name: "lower_io", run: crate::lower_io::run },
    Pass { name: "lower_tex", run: |s| crate::lower_tex::run(s, crate::lower_tex::Tex::all()) },
    Pass {
        name: "lower_subgroups",
        run: |s| crate::lower_subgroups::run(s, crate::lower_subgroups::Subgroups::all()),
    },
    Pass { name: "lower_alu", run: |s| crate::lower_alu::run(s, crate::lower_alu::Alu::all()) },
    Pass {
        name: "lower_int64",
        run: |s| crate::lower_int64::run(s, crate::lower_int64::Options::default()),
    },
    Pass {
        name: "lower_bits16",
        run: |s| crate::lower_bits::run(s, crate::lower_bits::Options { min_int_bits: 16 }),
    },
    Pass {
        name: "lower_bits32",
        run: |s| crate::lower_bits::run(s, crate::lower_bits::Options { min_int_bits: 32 }),
    },
];

/// The pass with this name.
#[must_use]
pub fn find(name: &str) -> Option<Pass> {
    PASSES.iter().find(|p| p.name == name).copied()
}

/// Runs a pass; in debug builds the result is validated.
///
/// # Panics
/// In debug builds, when the pass leaves an invalid shader.
pub fn run_pass(
    s: &mut Shader,
    name: &'static str,
    after: &mut dyn FnMut(&'static str, &Shader),
) -> bool {
    let Some(p) = find(name) else { return false };
    let changed = (p.run)(s);
    if cfg!(debug_assertions)
        && let Err(e) = tepui_ir::validate(s)
    {
        panic!("after {name}: {e}\n{s}");
    }
    after(name, s);
    changed
}

/// Most rounds of a clean-up.
const ROUNDS: usize = 8;

fn clean(s: &mut Shader, passes: &[&'static str], after: &mut dyn FnMut(&'static str, &Shader)) {
    // Done when every pass has seen the shader as it is and left it so.
    let mut quiet = 0;
    for &p in passes.iter().cycle().take(ROUNDS * passes.len()) {
        quiet = if run_pass(s, p, after) { 0 } else { quiet + 1 };
        if quiet == passes.len() {
            return;
        }
    }
}

/// The optimisations that every backend wants, in order. `after` sees the shader after each pass.
pub fn optimise_with(s: &mut Shader, after: &mut dyn FnMut(&'static str, &Shader)) {
    clean(s, &["split", "promote", "control", "simplify", "dce"], after);
    run_pass(s, "scalarise", after);
    clean(s, &["control", "simplify", "dce", "forward"], after);
    for _ in 0..3 {
        if !run_pass(s, "unroll", after) {
            break;
        }
        clean(s, &["split", "promote", "control", "simplify", "dce", "forward"], after);
    }
    run_pass(s, "hoist", after);
    run_pass(s, "if_convert", after);
    clean(s, &["control", "simplify", "dce"], after);
    run_pass(s, "licm", after);
    run_pass(s, "vectorise", after);
    clean(s, &["control", "simplify", "dce"], after);
}

/// [`optimise_with`] without looking.
pub fn optimise(s: &mut Shader) {
    optimise_with(s, &mut |_, _| {});
}
