//! Runs lists of passes, with a callback after each.

use tepui_ir::Shader;
use tepui_ir::interp::SUBGROUP;
use tepui_ir::stack::{self, Stack};

use crate::unroll;

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
    Pass { name: "invariance", run: crate::invariance::run },
    Pass { name: "constant_loads", run: crate::constant_loads::run },
    Pass { name: "constant_arrays", run: crate::constant_arrays::run },
    Pass { name: "split", run: crate::split::run },
    Pass { name: "promote", run: crate::promote::run },
    Pass { name: "control", run: crate::control::run },
    Pass { name: "simplify", run: crate::simplify::run },
    Pass { name: "dce", run: crate::dce::run },
    Pass { name: "if_convert", run: crate::if_convert::run },
    Pass { name: "unroll", run: crate::unroll::run },
    Pass { name: "unroll_partly", run: crate::unroll::run_partly },
    Pass { name: "reassociate", run: crate::reassociate::run },
    Pass { name: "sums", run: crate::sums::run },
    Pass { name: "licm", run: crate::licm::run },
    Pass { name: "forward", run: crate::forward::run },
    Pass { name: "hoist", run: crate::hoist::run },
    Pass { name: "subgroups", run: |s| crate::subgroups::run(s, Some(SUBGROUP as u32)) },
    Pass { name: "scalarise", run: crate::scalarise::run },
    Pass { name: "vectorise", run: crate::vectorise::run },
    Pass { name: "roll_float64", run: crate::roll_float64::run },
    Pass { name: "lower_dispatch_base", run: crate::lower_dispatch_base::run },
    Pass { name: "lower_quads", run: crate::lower_quads::run },
    Pass { name: "flatten_discards", run: crate::flatten_discards::run },
    Pass { name: "nan_selects", run: crate::nan_selects::run },
    Pass { name: "fold_offsets", run: crate::fold_offsets::run },
    Pass {
        name: "join_branches",
        run: |s| crate::join_branches::run(s, &crate::preamble::Costs::default()),
    },
    Pass { name: "sink", run: crate::sink::run },
    Pass { name: "multiview", run: crate::multiview::run },
    Pass {
        name: "push_words",
        run: |s| {
            let budget =
                crate::push_words::Budget { words: 64, granule: 8, ranges: 1, first_byte: 0 };
            !crate::push_words::run(s, &budget).is_empty()
        },
    },
    Pass {
        name: "join_lanes",
        run: |s| crate::join_lanes::run(s, &crate::join_lanes::Shape::default()),
    },
    Pass {
        name: "side_effects",
        run: |s| crate::side_effects::run(s, crate::side_effects::Options::all()),
    },
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
    Pass {
        name: "subgroup_trees",
        run: |s| {
            let lower = crate::lower_subgroups::Subgroups::all();
            let tree = Some(SUBGROUP as u32);
            crate::lower_subgroups::run_with(s, crate::lower_subgroups::Options { lower, tree })
        },
    },
    Pass {
        name: "lower_clusters",
        run: |s| crate::lower_subgroups::run(s, crate::lower_subgroups::Subgroups::CLUSTERED),
    },
    Pass { name: "lower_alu", run: |s| crate::lower_alu::run(s, crate::lower_alu::Alu::all()) },
    Pass { name: "lower_handles", run: crate::lower_handles::run },
    Pass { name: "lower_atomics", run: crate::lower_atomics::run },
    Pass { name: "lower_float64", run: crate::lower_float64::run },
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

/// Maximum number of rounds of a clean-up.
const ROUNDS: usize = 8;

/// Idempotent passes: a second run directly after the first changes nothing.
const IDEMPOTENT: &[&str] = &["split", "promote", "simplify", "dce"];
/// Passes for which the removal of unused instructions creates no new work.
const INDEPENDENT_OF_DCE: &[&str] = &["promote", "simplify", "scalarise"];

/// Runs passes over one shader. A pass that has nothing left to do, as far as is known, does not
/// look again.
pub struct Pipeline<'a> {
    /// Lanes of a sub-group; `None` when the target has sub-groups of several sizes.
    lanes: Option<u32>,
    /// Sees the shader after each pass that ran.
    after: &'a mut dyn FnMut(&'static str, &Shader),
    /// For each of [`PASSES`], whether it has nothing to do.
    quiet: [bool; PASSES.len()],
    /// Whether loops are unrolled by a factor.
    partial_unrolling: bool,
    /// The stack for the shader's nesting and its number of regions, if no pass has changed it since they were counted.
    stack: Option<(Stack, usize)>,
    /// The loops that are unrolled completely.
    unrolling: unroll::Limits,
}

impl<'a> Pipeline<'a> {
    /// A pipeline that has seen nothing yet, for a target with sub-groups of `lanes` lanes, or of
    /// several sizes.
    pub fn new(
        lanes: Option<u32>,
        after: &'a mut dyn FnMut(&'static str, &Shader),
    ) -> Pipeline<'a> {
        Pipeline {
            lanes,
            after,
            quiet: [false; PASSES.len()],
            partial_unrolling: true,
            unrolling: unroll::Limits::default(),
            stack: None,
        }
    }

    /// The pipeline with other limits of complete unrolling.
    #[must_use]
    pub fn with_unrolling(self, unrolling: unroll::Limits) -> Pipeline<'a> {
        Pipeline { unrolling, ..self }
    }

    /// The pipeline without unrolling by a factor, for targets whose jumps cost little.
    #[must_use]
    pub fn without_partial_unrolling(self) -> Pipeline<'a> {
        Pipeline { partial_unrolling: false, ..self }
    }

    /// Runs one of [`PASSES`] unless that would change nothing; returns whether it changed
    /// something.
    ///
    /// # Panics
    /// In debug builds, when the pass leaves an invalid shader.
    pub fn run(&mut self, s: &mut Shader, name: &'static str) -> bool {
        let Some(k) = PASSES.iter().position(|p| p.name == name) else { return false };
        if self.quiet[k] {
            return false;
        }
        let before = self.quiet;
        let unrolling = self.unrolling;
        let changed = match name {
            "unroll" => self.with(s, name, |s| unroll::run_with(s, unrolling)),
            _ => self.with(s, name, PASSES[k].run),
        };
        if changed && name == "dce" {
            for (n, p) in PASSES.iter().enumerate() {
                self.quiet[n] = before[n] && INDEPENDENT_OF_DCE.contains(&p.name);
            }
        }
        self.quiet[k] = !changed || IDEMPOTENT.contains(&name);
        changed
    }

    /// Runs a pass of one's own, or one with options.
    ///
    /// # Panics
    /// As [`Pipeline::run`].
    pub fn with(
        &mut self,
        s: &mut Shader,
        name: &'static str,
        run: impl FnOnce(&mut Shader) -> bool,
    ) -> bool {
        let regions = s.regions.len();
        let (stack, _) = match self.stack {
            Some(counted) if counted.1 == regions => counted,
            _ => *self.stack.insert((stack::for_shader(s), regions)),
        };
        let changed = stack.run(|| run(s));
        if changed {
            self.quiet = [false; PASSES.len()];
            self.stack = None;
        }
        if cfg!(debug_assertions)
            && let Err(e) = tepui_ir::validate(s)
        {
            panic!("after {name}: {e}\n{s}");
        }
        (self.after)(name, s);
        changed
    }

    /// Runs passes in turn until none changes anything.
    pub fn clean(&mut self, s: &mut Shader, passes: &[&'static str]) {
        let mut still = 0;
        for &p in passes.iter().cycle().take(ROUNDS * passes.len()) {
            still = if self.run(s, p) { 0 } else { still + 1 };
            if still == passes.len() {
                return;
            }
        }
    }

    /// The optimisations that every back end uses, in order.
    pub fn optimise(&mut self, s: &mut Shader) {
        self.run(s, "invariance");
        self.run(s, "constant_loads");
        self.clean(s, &["split", "promote", "control", "simplify", "dce"]);
        self.run(s, "scalarise");
        self.clean(s, &["control", "simplify", "dce", "forward"]);
        let lanes = self.lanes;
        if self.with(s, "subgroups", |s| crate::subgroups::run(s, lanes)) {
            self.clean(s, &["control", "simplify", "dce"]);
        }
        // Loops in loops from the inside out, a round for each level.
        for _ in 0..4 {
            if !self.run(s, "unroll") {
                break;
            }
            self.clean(s, &["split", "promote", "control", "simplify", "dce", "forward"]);
        }
        if self.partial_unrolling && self.run(s, "unroll_partly") {
            self.clean(s, &["simplify", "dce", "forward"]);
        }
        if self.run(s, "constant_arrays") {
            self.clean(s, &["simplify", "dce"]);
        }
        self.run(s, "hoist");
        self.run(s, "if_convert");
        self.clean(s, &["control", "simplify", "dce"]);
        for name in ["reassociate", "sums"] {
            if self.run(s, name) {
                self.run(s, "simplify");
                self.run(s, "dce");
            }
        }
        self.run(s, "licm");
        self.run(s, "vectorise");
        self.clean(s, &["control", "simplify", "dce"]);
    }
}

/// [`Pipeline::optimise`] on a shader that no pass has seen, for sub-groups as the interpreter has them. `after` sees the shader
/// after each pass.
pub fn optimise_with(s: &mut Shader, after: &mut dyn FnMut(&'static str, &Shader)) {
    Pipeline::new(Some(SUBGROUP as u32), after).optimise(s);
}

/// [`optimise_with`] without looking.
///
/// ```
/// let mut shader = tepui_ir::parse(
///     "shader compute \"main\" {
///   workgroup_size 1 1 1
///   body {
///     %0:b32 = const[0x2]
///     %1:b32 = iadd %0, %0
///     yield
///   }
/// }
/// ",
/// )?;
/// tepui_passes::pipeline::optimise(&mut shader);
/// assert!(!shader.to_string().contains("iadd"), "nothing uses the sum");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn optimise(s: &mut Shader) {
    optimise_with(s, &mut |_, _| {});
}
