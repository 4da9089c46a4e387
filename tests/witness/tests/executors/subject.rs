//! The shaders that are run: generated programs, and the compute shaders of the corpus.

use std::collections::BTreeMap;

use tepui_agx_bare::image::format_of;
use tepui_corpus::{WordDistribution, memory};
use tepui_ir::interp::{Memory, dispatch};
use tepui_ir::{Attrs, Builtin, InstFlags, Op, Props, ResKind, Shader, Stage};
use tepui_ir_gen::{Config, program};
use tepui_passes::lower_alu;
use tepui_witness::emit;
use tepui_witness::jobs::Driver;

use crate::module::{flatten, other_constants};
use crate::samples;

/// Generated programs.
const PROGRAMS: u64 = 560;
/// Steps of the interpreter.
pub const LIMIT: u64 = 2_000_000;
/// Words of the largest module: LLVM takes minutes for more.
const LARGEST: usize = 1 << 14;
/// Workgroups of a shader of the corpus.
const GROUPS: [u32; 3] = [2, 1, 1];

/// A shader with its memory, ready for all.
pub struct Subject {
    pub name: String,
    pub spirv: Vec<u32>,
    pub entry: String,
    /// Specialisation constants by id.
    pub constants: Vec<(u32, u32)>,
    pub groups: [u32; 3],
    pub shader: Shader,
    pub start: Memory,
    /// Floats may differ a little, and accesses must be kept inside of buffers.
    pub loose: bool,
    /// The result may depend on the number of lanes of a sub-group.
    pub sub_groups: bool,
    /// The other executors that are asked.
    pub drivers: Vec<Driver>,
    /// Reason why lavapipe may leave something else.
    pub open: Option<&'static str>,
}

/// Reasons for leaving shaders out, with their names.
pub type Excluded = BTreeMap<String, Vec<String>>;

/// Of every three programs one is of words and control flow only, one has everything in words, one
/// has everything.
fn config(seed: u64) -> Config {
    let all = Config { div_zero: false, images: true, ..Config::all() };
    match seed % 3 {
        0 => Config { div_zero: false, ..Config::plain() },
        1 => Config { int64: false, small: false, halves: false, subgroups: false, ..all },
        _ => all,
    }
}

pub fn generated() -> Vec<Subject> {
    (0..PROGRAMS)
        .map(|seed| {
            let config = config(seed);
            let shader = program(seed, &config);
            let mut lowered = shader.clone();
            lower_alu::run_long(&mut lowered, emit::LOWERED);
            let name = format!("program {seed}");
            let spirv = emit::module(&lowered).unwrap_or_else(|e| panic!("{name}: {e}\n{lowered}"));
            let mut start = tepui_ir_gen::memory(seed);
            if !config.images {
                start.images.clear();
            }
            Subject {
                name,
                spirv,
                entry: "main".to_owned(),
                constants: Vec::new(),
                groups: [1; 3],
                sub_groups: looks_at_sub_group(&shader),
                shader,
                start,
                loose: false,
                drivers: vec![Driver::Lavapipe],
                // From integers to 16 bits, however it is written: Mesa makes one conversion of
                // two, and LLVM takes integers that do not fit for undefined.
                open: config.halves.then_some("has 16-bit floats, of which lavapipe makes others"),
            }
        })
        .collect()
}

fn looks_at_sub_group(s: &Shader) -> bool {
    let mut looks = false;
    s.walk(|s, _, i| {
        let op = s.insts[i].op;
        let group = tepui_ir::op::OPS[op as usize].props.contains(Props::CONVERGENT);
        looks |= group && op != Op::Barrier;
        looks |= matches!(
            s.insts[i].attrs,
            Attrs::Builtin(
                Builtin::SubgroupId
                    | Builtin::SubgroupSize
                    | Builtin::NumSubgroups
                    | Builtin::SubgroupInvocationId
            )
        );
    });
    looks
}

/// Reason why a shader of the corpus cannot be compared.
fn unfit(s: &Shader) -> Option<&'static str> {
    if s.resources.is_empty() {
        return Some("has no buffers or images");
    }
    for r in s.resources.values() {
        if r.kind == ResKind::InputAttachment {
            return Some("has input attachments");
        }
        if r.ms {
            return Some("has images of several samples, which copies cannot fill");
        }
        if matches!(r.kind, ResKind::StorageImage | ResKind::StorageTexelBuffer)
            && r.format != tepui_ir::ImageFormat::Unknown
            && format_of(r.format).is_none()
        {
            return Some("has images of 64-bit texels, which the machine lacks");
        }
        let clash = s.resources.values().any(|q| q.binding == r.binding && q.kind != r.kind);
        if clash {
            return Some("has two kinds of descriptors at a binding");
        }
    }
    let threads: u32 = s.info.workgroup_size.iter().product();
    if threads > 1024 || s.info.shared_bytes > 32768 {
        return Some("has larger workgroups than the machine");
    }
    let mut why = None;
    s.walk(|s, _, i| {
        let d = &s.insts[i];
        if matches!(d.op, Op::LoadGlobal | Op::StoreGlobal | Op::AtomicGlobal) {
            why = Some("goes by addresses, which are random here");
        }
        if let Attrs::Atomic(..) = d.attrs
            && s.ty(s.result(i)).bits() == 64
        {
            why = Some("has 64-bit atomics, which the machine lacks");
        }
        if d.op == Op::Clock {
            why = Some("reads the clock");
        }
    });
    why
}

/// Memory with which a shader ends and stays inside of its buffers, and whether lanes store several
/// values to one place at once; or why there is none.
fn start(s: &Shader, name: &str) -> Result<(Memory, bool), String> {
    let mut why = String::new();
    for (k, words) in [WordDistribution::Moderate, WordDistribution::Small]
        .into_iter()
        .cycle()
        .take(6)
        .enumerate()
    {
        let start = memory(s, name.len() as u64 + k as u64 / 2, words);
        let mut end = start.clone();
        why = match dispatch(s, GROUPS, &mut end, LIMIT) {
            Err(e) => {
                let e = e.to_string();
                e.split_once(": ").map_or(e.clone(), |w| w.1.to_owned())
            }
            Ok(_) if end.out_of_bounds > 0 => "goes out of bounds with these inputs".to_owned(),
            Ok(_) if end.absent_lanes > 0 => "reads lanes that are not there".to_owned(),
            Ok(_) if end == start => "writes nothing".to_owned(),
            Ok(_) => return Ok((start, end.conflicts > 0)),
        };
    }
    Err(why)
}

/// Shaders that divide by what is denormal among any bits: whether a quotient becomes a NaN is
/// open.
const DENORMAL: &[&str] = &["spv.debuginfo.glsl.comp.spv"];

/// The compute shaders of the corpus, each with its own specialisation constants and with others.
pub fn corpus(left_out: &mut Excluded) -> Vec<Subject> {
    let mut all = Vec::new();
    for f in tepui_corpus::corpus("") {
        let spirv = flatten(&tepui_corpus::read(&f).expect("a module can be read"));
        let file = f.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        let Ok(entries) = tepui_spirv::entry_points(&spirv) else { continue };
        for (entry, stage) in entries {
            if stage != Some(Stage::Compute) {
                continue;
            }
            let others = other_constants(&spirv);
            let sets = if others.is_empty() { vec![vec![]] } else { vec![vec![], others] };
            for constants in sets {
                let mut name = file.clone();
                if entry != "main" {
                    name = format!("{name} {entry}");
                }
                if !constants.is_empty() {
                    name += " (specialised)";
                }
                let mut drop = |why: String| left_out.entry(why).or_default().push(name.clone());
                let options = tepui_spirv::Options {
                    entry: Some(entry.clone()),
                    stage,
                    spec: constants.iter().map(|&(id, x)| (id, u64::from(x))).collect(),
                };
                let mut shader = match tepui_spirv::translate(&spirv, &options) {
                    Ok(s) => s,
                    Err(e) => {
                        drop(format!("refused by the front end: {}: {}", e.inst, e.kind));
                        continue;
                    }
                };
                if spirv.len() > LARGEST {
                    drop("takes LLVM minutes".to_owned());
                    continue;
                }
                if DENORMAL.contains(&file.as_str()) {
                    drop("divides by denormals, which the GPU takes for zero".to_owned());
                    continue;
                }
                if let Some(why) = unfit(&shader) {
                    drop(why.to_owned());
                    continue;
                }
                // Roundings must stay where they are.
                for d in shader.insts.values_mut() {
                    d.flags |= InstFlags::EXACT | InstFlags::STRICT;
                }
                match start(&shader, &file) {
                    Err(why) => drop(why),
                    Ok((start, races)) => all.push(Subject {
                        name,
                        spirv: spirv.clone(),
                        entry: entry.clone(),
                        constants,
                        groups: GROUPS,
                        sub_groups: looks_at_sub_group(&shader),
                        shader,
                        start,
                        loose: true,
                        drivers: vec![Driver::Lavapipe],
                        open: races.then_some(
                            "stores several values to one place, of which executors keep others",
                        ),
                    }),
                }
            }
        }
    }
    all
}

/// Every image operation of Vulkan.
pub fn samples(left_out: &mut Excluded) -> Vec<Subject> {
    samples::all()
        .into_iter()
        .filter_map(|l| {
            let mut shader = match tepui_spirv::translate(&l.spirv, &Default::default()) {
                Ok(s) => s,
                Err(e) => {
                    let why = format!("refused by the front end: {}: {}", e.inst, e.kind);
                    left_out.entry(why).or_default().push(l.name);
                    return None;
                }
            };
            for d in shader.insts.values_mut() {
                d.flags |= InstFlags::EXACT | InstFlags::STRICT;
            }
            let mut drivers = Vec::new();
            // Sampled samples with residency codes end lavapipe's process.
            if l.fillable && !l.sampled_residency {
                drivers.push(Driver::Lavapipe);
            }
            // Honeykrisp has no derivatives in compute shaders.
            if l.fillable && !l.derivatives {
                drivers.push(Driver::M1);
            }
            Some(Subject {
                name: l.name,
                spirv: l.spirv,
                entry: "main".to_owned(),
                constants: Vec::new(),
                groups: [1; 3],
                sub_groups: false,
                shader,
                start: l.start,
                loose: l.loose,
                drivers,
                open: None,
            })
        })
        .collect()
}

/// Variables that nobody wrote are zero in the interpreter and in the modules; here they must be,
/// too.
pub fn define(s: &mut Shader) {
    for i in s.insts.keys().collect::<Vec<_>>() {
        if s.insts[i].op == Op::Undef && s.ty(s.result(i)).is_scalar() {
            s.insts[i].op = Op::Const;
            s.insts[i].attrs = Attrs::Const(0);
        }
    }
}

/// Whether a reduction's clusters have more than `lanes` lanes.
pub fn clusters_beyond(s: &Shader, lanes: u32) -> bool {
    let mut beyond = false;
    s.walk(|s, _, i| {
        if let Attrs::Reduce(r) = s.insts[i].attrs {
            beyond |= u32::from(r.cluster) > lanes;
        }
    });
    beyond
}
