//! The interpreter, which defines the meaning of a shader and is the reference for every pass and
//! back end.
//!
//! [`run`] executes one group of lanes in lockstep: a whole workgroup, or vertices, or a batch of
//! fragment quads. Divergence follows the regions: an `if` runs both sides under masks and
//! reconverges after it; a loop runs until every lane has left it. Because all lanes of the group
//! step together, they reach a barrier together. Subgroups are runs of [`Group::subgroup`] lanes;
//! quads are runs of four lanes, bit 0 of the number counting x and bit 1 y.
//!
//! Behaviour that SPIR-V leaves undefined is defined here, so that runs can be compared: `undef` is
//! zero, reads out of bounds return zero, writes out of bounds are dropped.

mod exec;
mod floats;
mod image;
mod image_data;
mod memory;
mod primitive;
mod sample;
mod texel;
mod wave;

pub use image_data::{Compare, Filter, ImageData, SamplerData, Wrap};
pub use memory::{FloatBytes, Memory, MemoryError, Slot, buffer_address};
pub use primitive::{Emission, Emitted, Patch};
pub use wave::operator;

use crate::attrs::{Attrs, Builtin, IoLoc};
use crate::entity::{Inst, Region, Value};
use crate::op::Op;
use crate::shader::{DerivativeGroup, Shader, Stage};
use crate::types::{Type, mask};
use cranelift_entity::SecondaryMap;
use std::collections::HashMap;

/// Lanes of a sub-group where nothing else is said.
pub const SUBGROUP: usize = 32;

/// Reason why a run stopped.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Fault {
    /// The step limit was reached.
    #[error("{limit} steps were not enough")]
    Steps {
        /// The limit.
        limit: u64,
    },
    /// An op that this interpreter has no meaning for.
    #[error("{inst}: {what} is not interpreted")]
    Unsupported {
        /// The instruction.
        inst: Inst,
        /// The missing feature or memory.
        what: String,
    },
    /// The address of a buffer that has none.
    #[error("{inst}: the buffer at set {set}, binding {binding}, element {element} has no address")]
    NoAddress {
        /// The instruction.
        inst: Inst,
        /// Descriptor set.
        set: u32,
        /// Binding.
        binding: u32,
        /// Array element.
        element: u32,
    },
    /// Memory that the host does not have.
    #[error("{inst}: {error}")]
    Memory {
        /// The instruction.
        inst: Inst,
        /// The missing feature or memory.
        error: MemoryError,
    },
}

/// The built-ins of the lanes of one group.
#[derive(Clone, Debug)]
pub struct Group {
    /// Number of lanes.
    pub lanes: usize,
    /// Lanes of a sub-group: a power of two up to 64.
    pub subgroup: usize,
    /// Built-ins by lane: components of each lane in turn. Those of compute are set by
    /// [`Group::workgroup`].
    pub builtins: HashMap<Builtin, Vec<Vec<u64>>>,
    /// Inputs by location (or built-in) and component, one word for each lane.
    pub inputs: HashMap<(IoLoc, u8), Vec<u32>>,
    /// Inputs of the vertices of each lane's primitive or patch by location (or built-in) and
    /// component: for each lane a word for each vertex.
    pub vertex_inputs: HashMap<(IoLoc, u8), Vec<Vec<u32>>>,
    /// Lanes that start as helpers.
    pub helpers: Vec<bool>,
    /// Colours of the framebuffer by output location and component, one word for each lane.
    pub framebuffer: HashMap<(IoLoc, u8), Vec<u32>>,
}

impl Default for Group {
    fn default() -> Group {
        Group {
            lanes: 0,
            subgroup: SUBGROUP,
            builtins: HashMap::new(),
            inputs: HashMap::new(),
            vertex_inputs: HashMap::new(),
            helpers: Vec::new(),
            framebuffer: HashMap::new(),
        }
    }
}

impl Group {
    /// The lanes of workgroup `id` of a dispatch of `count` workgroups.
    #[must_use]
    pub fn workgroup(s: &Shader, id: [u32; 3], count: [u32; 3]) -> Group {
        Group::workgroup_of(s, id, count, SUBGROUP)
    }

    /// A workgroup with subgroups of `subgroup` lanes.
    #[must_use]
    pub fn workgroup_of(s: &Shader, id: [u32; 3], count: [u32; 3], subgroup: usize) -> Group {
        let [x, y, z] = s.info.workgroup_size;
        let lanes = x as usize * y as usize * z as usize;
        let mut g = Group { lanes, subgroup, ..Group::default() };
        let words = |v: [u32; 3]| v.iter().map(|&c| u64::from(c)).collect::<Vec<_>>();
        // Lanes in order of the local index; for derivatives in 2x2 squares, lanes 4n to 4n + 3 are
        // one square.
        let local = |l: usize| {
            let l = l as u32;
            if s.info.derivatives == DerivativeGroup::Quads && x % 2 == 0 && y % 2 == 0 {
                let (quad, k) = (l / 4, l % 4);
                let (w, h) = (x / 2, y / 2);
                return [quad % w * 2 + k % 2, quad / w % h * 2 + k / 2, quad / (w * h)];
            }
            [l % x, l / x % y, l / (x * y)]
        };
        let mut set = |b, f: &dyn Fn(usize) -> Vec<u64>| {
            g.builtins.insert(b, (0..lanes).map(f).collect());
        };
        set(Builtin::LocalInvocationId, &|l| words(local(l)));
        set(Builtin::LocalInvocationIndex, &|l| {
            let [i, j, k] = local(l);
            vec![u64::from(i + x * (j + y * k))]
        });
        set(Builtin::GlobalInvocationId, &|l| {
            let p = local(l);
            words([0, 1, 2].map(|i| id[i].wrapping_mul([x, y, z][i]).wrapping_add(p[i])))
        });
        set(Builtin::WorkgroupId, &|_| words(id));
        set(Builtin::NumWorkgroups, &|_| words(count));
        set(Builtin::BaseWorkgroupId, &|_| words([0; 3]));
        set(Builtin::WorkgroupSize, &|_| words([x, y, z]));
        set(Builtin::SubgroupId, &|l| vec![(l / subgroup) as u64]);
        set(Builtin::NumSubgroups, &|_| vec![lanes.div_ceil(subgroup) as u64]);
        g
    }

    /// `lanes` lanes with nothing given but the sub-group built-ins.
    #[must_use]
    pub fn plain(lanes: usize) -> Group {
        Group { lanes, ..Group::default() }
    }
}

/// The results of a group other than memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Outputs by location (or built-in), component and index: one word for each lane that wrote
    /// it.
    pub outputs: HashMap<(IoLoc, u8, u8), Vec<Option<u32>>>,
    /// Outputs of a tessellation control shader.
    pub patch: Patch,
    /// Emissions of a geometry shader, in the order of execution.
    pub emitted: Vec<Emitted>,
    /// Lanes that were demoted or started as helpers.
    pub helpers: Vec<bool>,
    /// Instructions executed (each counts once for all of its lanes).
    pub steps: u64,
}

/// Runs one group of lanes to the end.
///
/// # Errors
/// A [`Fault`]; memory keeps what was written until then.
pub fn run(s: &Shader, group: &Group, memory: &mut Memory, limit: u64) -> Result<Outcome, Fault> {
    let n = group.lanes;
    let mut at = SecondaryMap::with_capacity(s.values.len());
    let mut size = 0u32;
    for (v, d) in s.values.iter() {
        at[v] = size;
        size += u32::from(d.ty.comps());
    }
    let mut vars = Vec::with_capacity(s.vars.len());
    for v in s.vars.values() {
        vars.push(vec![0; n * v.ty.comps() as usize * v.len.unwrap_or(1) as usize]);
    }
    let floats = floats::Floats::new(s, memory, n, size as usize * n, &vars);
    let mut helpers = group.helpers.clone();
    helpers.resize(n, false);
    let mut m = Machine {
        s,
        group,
        memory,
        n,
        at,
        vals: vec![0; size as usize * n],
        vars,
        shared: vec![0; s.info.shared_bytes as usize],
        data: s.data.clone(),
        scratch: vec![vec![0; s.info.scratch_bytes as usize]; n],
        helpers,
        loops: Vec::new(),
        outputs: HashMap::new(),
        patch: Patch::default(),
        emitted: Vec::new(),
        steps: 0,
        limit,
        floats,
    };
    let all: Mask = vec![true; n];
    crate::stack::for_shader(s).run(|| m.region(s.root, &all, None))?;
    Ok(Outcome {
        outputs: m.outputs,
        patch: m.patch,
        emitted: m.emitted,
        helpers: m.helpers,
        steps: m.steps,
    })
}

/// Runs every workgroup of a dispatch in order.
///
/// # Errors
/// The first [`Fault`].
pub fn dispatch(
    s: &Shader,
    count: [u32; 3],
    memory: &mut Memory,
    limit: u64,
) -> Result<u64, Fault> {
    dispatch_of(s, count, SUBGROUP, memory, limit)
}

/// [`dispatch`] with sub-groups of another size.
///
/// # Errors
/// The first [`Fault`].
pub fn dispatch_of(
    s: &Shader,
    count: [u32; 3],
    subgroup: usize,
    memory: &mut Memory,
    limit: u64,
) -> Result<u64, Fault> {
    debug_assert_eq!(s.info.stage, Stage::Compute);
    let mut steps = 0;
    for z in 0..count[2] {
        for y in 0..count[1] {
            for x in 0..count[0] {
                let group = Group::workgroup_of(s, [x, y, z], count, subgroup);
                steps += run(s, &group, memory, limit)?.steps;
            }
        }
    }
    Ok(steps)
}

/// Lanes that take part.
type Mask = Vec<bool>;

fn any(m: &Mask) -> bool {
    m.iter().any(|&b| b)
}

struct LoopFrame {
    inst: Inst,
    body: Region,
    left: Mask,
    next: Mask,
}

struct Machine<'a> {
    s: &'a Shader,
    group: &'a Group,
    memory: &'a mut Memory,
    n: usize,
    /// The position of a value's components in `vals`, in units of `n` words: component-major,
    /// lane-minor.
    at: SecondaryMap<Value, u32>,
    vals: Vec<u64>,
    vars: Vec<Vec<u64>>,
    shared: Vec<u8>,
    /// The constant data, which nothing writes.
    data: Vec<u8>,
    scratch: Vec<Vec<u8>>,
    helpers: Vec<bool>,
    loops: Vec<LoopFrame>,
    outputs: HashMap<(IoLoc, u8, u8), Vec<Option<u32>>>,
    patch: Patch,
    emitted: Vec<Emitted>,
    steps: u64,
    limit: u64,
    /// The record of floats, if the memory keeps one.
    floats: Option<Box<floats::Floats>>,
}

impl Machine<'_> {
    fn get(&self, v: Value, comp: usize, lane: usize) -> u64 {
        self.vals[(self.at[v] as usize + comp) * self.n + lane]
    }

    fn set(&mut self, v: Value, comp: usize, lane: usize, bits: u64) {
        let m = mask(self.s.ty(v).bits());
        self.vals[(self.at[v] as usize + comp) * self.n + lane] = bits & m;
    }

    fn ty(&self, v: Value) -> Type {
        self.s.ty(v)
    }

    /// Copies values for the lanes of `m`, all read before any is written.
    fn copy(&mut self, from: &[Value], to: &[Value], m: &Mask) {
        self.copy_notes(from, to, m);
        let mut buf = Vec::new();
        for &f in from {
            for c in 0..self.ty(f).comps() as usize {
                buf.extend((0..self.n).map(|l| self.get(f, c, l)));
            }
        }
        let mut words = buf.chunks_exact(self.n.max(1));
        for &t in to {
            for c in 0..self.ty(t).comps() as usize {
                let Some(w) = words.next() else { return };
                for (lane, &x) in w.iter().enumerate() {
                    if m[lane] {
                        self.set(t, c, lane, x);
                    }
                }
            }
        }
    }

    /// Runs a region; returns the lanes that end in its `yield`, whose values go to the results of
    /// `owner`.
    fn region(&mut self, r: Region, active: &Mask, owner: Option<Inst>) -> Result<Mask, Fault> {
        let s = self.s;
        let mut live = active.clone();
        for &inst in &s.regions[r].insts {
            if !any(&live) {
                return Ok(live);
            }
            self.steps += 1;
            if self.steps > self.limit {
                return Err(Fault::Steps { limit: self.limit });
            }
            let d = &s.insts[inst];
            let args = s.args(inst);
            match (d.op, d.attrs) {
                (Op::If, Attrs::If(a, b)) => {
                    let c = args[0];
                    let yes: Mask =
                        (0..self.n).map(|l| live[l] && self.get(c, 0, l) != 0).collect();
                    let no: Mask = (0..self.n).map(|l| live[l] && !yes[l]).collect();
                    let yes = if any(&yes) { self.region(a, &yes, Some(inst))? } else { yes };
                    let no = if any(&no) { self.region(b, &no, Some(inst))? } else { no };
                    live = yes.iter().zip(&no).map(|(a, b)| a | b).collect();
                }
                (Op::Loop, Attrs::Loop(body)) => {
                    self.copy(args, &s.regions[body].params, &live);
                    let none = vec![false; self.n];
                    self.loops.push(LoopFrame {
                        inst,
                        body,
                        left: none.clone(),
                        next: none.clone(),
                    });
                    while any(&live) {
                        self.region(body, &live, None)?;
                        let Some(f) = self.loops.last_mut() else { break };
                        live = std::mem::replace(&mut f.next, none.clone());
                    }
                    live = self.loops.pop().map_or(none, |f| f.left);
                }
                (Op::Yield, _) => {
                    if let Some(o) = owner {
                        self.copy(args, s.results(o), &live);
                    }
                    return Ok(live);
                }
                (Op::Break | Op::Continue, _) => {
                    let Some(f) = self.loops.last_mut() else { break };
                    let (to, set) = if d.op == Op::Break {
                        (s.results(f.inst), &mut f.left)
                    } else {
                        (&s.regions[f.body].params[..], &mut f.next)
                    };
                    for (a, &b) in set.iter_mut().zip(&live) {
                        *a |= b;
                    }
                    self.copy(args, to, &live);
                    return Ok(vec![false; self.n]);
                }
                _ => {
                    self.inst(inst, &live)?;
                    self.note_floats(inst, &live);
                }
            }
        }
        Ok(live)
    }
}
