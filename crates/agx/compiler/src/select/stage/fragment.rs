//! The selection state of a fragment shader, and the analysis that initialises it: where depth and
//! stencil tests run.

use super::coefficients::coefficients;
use crate::abi::{self, Colours, tile};
use crate::error::Result;
use crate::mir::{Comp, Val};
use crate::varyings::{Coefficients, FragmentTable, Origin, Shading};
use std::collections::BTreeMap;
use tepui_backend::builder::OpenLoop;
use tepui_ir::{Attrs, Builtin, Inst, IoLoc, Op, Props, Sampling, Shader};
use tepui_passes::side_effects;

/// Position of the depth and stencil tests in the program.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Tests {
    /// The program does not run the tests: they run before it, or in the epilog.
    Elsewhere,
    /// At the start.
    First,
    /// Early, with this instruction: the last discard of primitives that cull distances cull, before which nothing else runs.
    Culled(Inst),
    /// After this instruction of the outermost region.
    Behind(Inst),
    /// With the depth and stencil that are emitted.
    Emit,
    /// At the end.
    Last,
}

impl Tests {
    /// Whether the tests run before the shader: a sample mask then only selects the colours that are written.
    pub fn is_early(self) -> bool {
        matches!(self, Tests::First | Tests::Culled(_))
    }
}

/// The state of the selection of a fragment shader.
#[derive(Clone)]
pub(crate) struct State {
    pub interface: abi::Fragment,
    pub table: FragmentTable,
    pub layout: Option<tile::Layout>,
    pub tests: Tests,
    /// The bit of the sample, in programs that run for each.
    pub sample: Option<Val>,
    /// The coverage that the shader reads is that of the sample, not of the pixel.
    pub coverage_of_sample: bool,
    /// The loop over samples, when it is in the program.
    pub around: Option<OpenLoop>,
    /// Pixel fences that were waited for on every way.
    pub waited: u16,
    /// Whether the lane was a helper at the start.
    pub helper: Option<Val>,
    /// Colours in registers.
    pub inputs: BTreeMap<u16, [Comp; 4]>,
    /// Colours by location and component.
    pub colours: BTreeMap<u8, [Comp; 4]>,
    pub depth: Option<Comp>,
    pub stencil: Option<Comp>,
    pub mask: Option<Comp>,
}

/// The effects of a program that decide where tests run.
#[derive(Default)]
struct Effects {
    kills: bool,
    last_kill: Option<Inst>,
    zs: [bool; 2],
    mask: bool,
    per_sample: bool,
    helper: bool,
}

impl Effects {
    fn new(s: &Shader) -> Effects {
        let mut d = Effects::default();
        for &i in &s.regions[s.root].insts {
            let mut kills = false;
            d.look(s, i, &mut kills);
            if kills {
                d.kills = true;
                d.last_kill = Some(i);
            }
        }
        d
    }

    fn look(&mut self, s: &Shader, i: Inst, kills: &mut bool) {
        let data = &s.insts[i];
        match (data.op, data.attrs) {
            (Op::Demote | Op::DemoteIf, _) => *kills = true,
            (Op::StoreOutput, Attrs::Io(slot)) => match slot.loc {
                IoLoc::Builtin(Builtin::FragDepth) => self.zs[0] = true,
                IoLoc::Builtin(Builtin::FragStencilRef) => self.zs[1] = true,
                IoLoc::Builtin(Builtin::SampleMask) => self.mask = true,
                _ => {}
            },
            (Op::LoadBuiltin, Attrs::Builtin(Builtin::SampleId | Builtin::SamplePosition)) => {
                self.per_sample = true;
            }
            (Op::LoadBuiltin, Attrs::Builtin(Builtin::HelperInvocation)) => self.helper = true,
            (Op::LoadInput, Attrs::Io(slot)) if slot.sampling == Sampling::Sample => {
                self.per_sample = true;
            }
            _ => {}
        }
        for r in s.inst_regions(i) {
            for &i in &s.regions[r].insts {
                self.look(s, i, kills);
            }
        }
    }
}

impl State {
    /// Samples that early tests keep: all but those that the pipeline's sample mask takes away, which are not counted either.
    pub fn live(&self) -> u64 {
        u64::from(!self.interface.prolog.killed)
    }

    pub fn new(s: &Shader, interface: &abi::Fragment) -> Result<State> {
        let does = Effects::new(s);
        let mut t = FragmentTable {
            per_sample: s.info.per_sample || does.per_sample || interface.per_sample,
            writes_memory: side_effects::writes_memory(s),
            reads_lanes: s.any(|s, _, i| s.insts[i].op.props().contains(Props::CONVERGENT)),
            kills: does.kills || does.mask,
            ..FragmentTable::default()
        };
        let coverage_of_sample = s.info.per_sample || does.per_sample || !interface.whole_coverage;
        let early = s.info.early_tests;
        let writes_zs = !early && (does.zs[0] || does.zs[1]);
        let decides = t.kills || writes_zs || t.writes_memory;
        let epilog = interface.colours == Colours::Registers;
        let mut tests = if !decides {
            Tests::Elsewhere
        } else if early {
            // Of a shader's own discards `side_effects` has left none: these are those of culled primitives.
            does.last_kill.map_or(Tests::First, Tests::Culled)
        } else if epilog || interface.colours == Colours::None {
            Tests::Elsewhere
        } else if writes_zs {
            Tests::Emit
        } else {
            match does.last_kill {
                Some(i) if !does.mask && !t.writes_memory => Tests::Behind(i),
                _ => Tests::Last,
            }
        };
        t.decides = decides;
        t.tested = early && decides;
        let mut layout = None;
        if let Colours::Tile(tile) = &interface.colours {
            layout = Some(tile::Layout::new(tile)?);
        }
        if let Some(main) = &interface.behind {
            // An epilog continues where the main program ended.
            t.per_sample |= main.per_sample;
            if main.decides && !main.tested {
                t.decides = true;
                if tests == Tests::Elsewhere {
                    tests = Tests::Last;
                }
            }
            if main.depth || main.stencil {
                tests = Tests::Emit;
            }
            if main.tested {
                tests = Tests::Elsewhere;
            }
        } else {
            coefficients(s, interface.first_coefficient, &mut t)?;
        }
        if epilog {
            (t.depth, t.stencil) = (!early && does.zs[0], !early && does.zs[1]);
        }
        Ok(State {
            interface: interface.clone(),
            table: t,
            layout,
            tests,
            sample: None,
            coverage_of_sample,
            around: None,
            waited: 0,
            helper: None,
            inputs: BTreeMap::new(),
            colours: BTreeMap::new(),
            depth: None,
            stencil: None,
            mask: None,
        })
    }

    pub fn coefficient(&self, origin: Origin, shading: Shading) -> Option<u8> {
        let of = |c: &Coefficients| match (c.origin, origin) {
            (
                Origin::Varying { varying: a, component: x },
                Origin::Varying { varying: b, component: y },
            ) => a == b && x <= y && y < x + c.count,
            (a, b) => a == b,
        };
        let c = self.table.coefficients.iter().find(|c| c.shading == shading && of(c))?;
        let offset = match (c.origin, origin) {
            (Origin::Varying { component: x, .. }, Origin::Varying { component: y, .. }) => y - x,
            _ => 0,
        };
        Some(c.first + offset)
    }
}
