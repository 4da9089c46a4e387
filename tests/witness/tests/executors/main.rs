//! Runs compute shaders on several executors with the same inputs and compares memory: the
//! interpreter of the IR before and after all passes, machine code on the model, and lavapipe or
//! Honeykrisp.
//!
//! The shaders ([`subject`]) are generated programs, written as SPIR-V by [`tepui_witness::emit`],
//! whose results must be bit-equal, also after the front end has read that SPIR-V back; and the
//! compute shaders of `tools/corpus` that have buffers or images, whose floats may differ within
//! the tolerance of special functions.
//!
//! Subgroups have 32 lanes on the model and as many as a vector of the host on lavapipe (8 with
//! AVX2). The interpreter runs with both sizes: its result at 32 is the reference for the passes
//! and the model, its result at lavapipe's size that for lavapipe.

mod drivers;
mod module;
mod samples;
mod subject;

use std::collections::BTreeMap;

use subject::{Excluded, LIMIT, Subject};
use tepui_agx_bare::bind::Bound;
use tepui_agx_bare::{Machine, shader};
use tepui_agx_compiler::{Options, compile_prepared, prepare};
use tepui_corpus::Equality;
use tepui_ir::interp::{Memory, SUBGROUP, dispatch, dispatch_of};
use tepui_ir::{InstFlags, Shader};
use tepui_passes::pipeline;
use tepui_witness::dispatch::DispatchOutputs;
use tepui_witness::jobs::{Done, Driver};

/// Whether two memories are the same, or as near as special functions ask; the first difference
/// else.
fn differ(s: &Subject, want: &Memory, got: &Memory) -> Result<(), String> {
    let same = if s.name.starts_with("ImageQueryLod") {
        tepui_corpus::compare(&s.shader, &no_extent(want), &no_extent(got))?
    } else {
        tepui_corpus::compare(&s.shader, want, got)?
    };
    match same {
        Equality::Near if !s.loose => {
            Err("other bits, though only what is rounded correctly".to_owned())
        }
        _ => Ok(()),
    }
}

/// The memory with levels of detail that are far below any image's as minus infinity: where
/// coordinates do not change, Vulkan leaves open how small the logarithm of nothing is.
fn no_extent(memory: &Memory) -> Memory {
    let mut memory = memory.clone();
    for bytes in memory.buffers.values_mut() {
        for word in bytes.chunks_exact_mut(4) {
            let lod = f32::from_le_bytes([word[0], word[1], word[2], word[3]]);
            if lod <= -60.0 {
                word.copy_from_slice(&f32::NEG_INFINITY.to_le_bytes());
            }
        }
    }
    memory
}

/// Memory after a run on the model; an error when the compiler refuses the shader.
fn model(s: &Subject) -> Result<Memory, Wrong> {
    let mut shader = s.shader.clone();
    let options = Options { robust: s.loose, ..Options::default() };
    prepare(&mut shader, &options, &mut |_, _| {});
    subject::define(&mut shader);
    let p = compile_prepared(&shader, &options, &mut |_, _| {})
        .map_err(|e| Wrong::Refused(e.to_string()))?;
    let options = tepui_agx_model::Options {
        threads: 1,
        instruction_budget: 1 << 24,
        uninitialised: tepui_agx_model::POISON,
        ..Default::default()
    };
    let mut machine = Machine::new(options).expect("a machine");
    let run = |machine: &mut Machine| -> Result<Memory, tepui_agx_bare::Error> {
        let bound = Bound::new(machine, &s.shader, &s.start)?;
        shader::run(machine, &p, &bound.bindings, s.groups)?;
        bound.memory(&s.start)
    };
    run(&mut machine).map_err(|e| Wrong::Result("model", e.to_string()))
}

/// Reason why a subject does not count as one on which all agree.
enum Wrong {
    /// The compiler refuses it.
    Refused(String),
    /// Lavapipe cannot be asked.
    NotAsked(&'static str),
    /// An executor leaves something else.
    Result(&'static str, String),
}

/// The module of a generated program, read back.
fn front_end(s: &Subject) -> Result<Shader, String> {
    let mut shader =
        tepui_spirv::translate(&s.spirv, &Default::default()).map_err(|e| e.to_string())?;
    for d in shader.insts.values_mut() {
        d.flags |= InstFlags::EXACT | InstFlags::STRICT;
    }
    Ok(shader)
}

/// The memory that the interpreter begins with. Only results of special functions may have other
/// bits elsewhere, so that it notes which words are floats.
fn start(s: &Subject) -> Memory {
    Memory { floats: s.loose.then(Default::default), ..s.start.clone() }
}

fn judge(s: &Subject, answers: &[(Driver, Done<DispatchOutputs>)]) -> Result<(), Wrong> {
    let run = |shader: &Shader, lanes| -> Result<Memory, String> {
        let mut m = start(s);
        dispatch_of(shader, s.groups, lanes, &mut m, LIMIT).map_err(|e| e.to_string())?;
        Ok(m)
    };
    let wrong = |who| move |e| Wrong::Result(who, e);
    let want = run(&s.shader, SUBGROUP).map_err(wrong("interpreter"))?;
    if !s.loose {
        let front = front_end(s).map_err(wrong("front end"))?;
        differ(s, &want, &run(&front, SUBGROUP).map_err(wrong("front end"))?)
            .map_err(wrong("front end"))?;
    }
    let mut after = s.shader.clone();
    pipeline::optimise(&mut after);
    let mut end = s.start.clone();
    dispatch(&after, s.groups, &mut end, LIMIT)
        .map_err(|e| Wrong::Result("after the passes", e.to_string()))?;
    differ(s, &want, &end).map_err(wrong("after the passes"))?;
    // What the compiler refuses is compared with lavapipe all the same.
    let refused = match model(s) {
        Ok(m) => match (differ(s, &want, &m), s.open) {
            (Err(_), Some(why)) => Some(Wrong::NotAsked(why)),
            (done, _) => done.map_err(wrong("model")).err(),
        },
        Err(e) => Some(e),
    };
    if let Some(wrong @ Wrong::Result(..)) = refused {
        return Err(wrong);
    }
    for (driver, left) in answers {
        let left = left.as_ref().map_err(|e| Wrong::Result(driver.expected(), e.clone()))?;
        drove(s, &want, *driver, left)?;
    }
    refused.map_or(Ok(()), Err)
}

/// Whether a driver left the same; `want` is what sub-groups of 32 lanes leave.
fn drove(s: &Subject, want: &Memory, driver: Driver, left: &DispatchOutputs) -> Result<(), Wrong> {
    let mut own = None;
    if s.sub_groups && left.subgroup as usize != SUBGROUP {
        if subject::clusters_beyond(&s.shader, left.subgroup) {
            return Err(Wrong::NotAsked("clusters larger than lavapipe's sub-groups"));
        }
        let mut m = start(s);
        dispatch_of(&s.shader, s.groups, left.subgroup as usize, &mut m, LIMIT)
            .map_err(|e| Wrong::Result("interpreter", e.to_string()))?;
        if s.loose && m.absent_lanes > 0 {
            return Err(Wrong::NotAsked("reads lanes that lavapipe's sub-groups lack"));
        }
        own = Some(m);
    }
    let want = own.as_ref().unwrap_or(want);
    match (differ(s, want, &drivers::memory(s, left)), s.open) {
        (Err(_), Some(why)) => Err(Wrong::NotAsked(why)),
        (done, _) => done.map_err(|e| Wrong::Result(driver.expected(), e)),
    }
}

#[derive(Default, Debug)]
struct Tally {
    agree: usize,
    /// Of those, how many look at their sub-groups, and how many have images.
    sub_groups: usize,
    images: usize,
    wrong: Vec<String>,
}

fn compare(name: &str, subjects: &[Subject], left_out: &mut Excluded) -> Tally {
    // Each driver's answers, in the order of those subjects that it is asked for.
    let mut done = [Driver::Lavapipe, Driver::M1].map(|d| {
        let asked = subjects.iter().filter(|s| s.drivers.contains(&d));
        let jobs: Vec<_> = asked.map(drivers::job).collect();
        (d, drivers::run(d, name, &jobs).into_iter())
    });
    let mut t = Tally::default();
    for s in subjects {
        let mut answers = Vec::new();
        for (driver, done) in &mut done {
            if s.drivers.contains(driver) {
                answers.push((*driver, done.next().expect("an answer to each job")));
            }
        }
        let mut leave = |why: String| left_out.entry(why).or_default().push(s.name.clone());
        match judge(s, &answers) {
            Ok(()) => {
                t.agree += 1;
                t.sub_groups += usize::from(s.sub_groups);
                t.images += usize::from(!s.start.images.is_empty());
            }
            Err(Wrong::Refused(why)) => {
                leave(format!("compared without the model, as the compiler refuses it: {why}"))
            }
            Err(Wrong::NotAsked(why)) => leave(why.to_owned()),
            Err(Wrong::Result(who, what)) => t.wrong.push(format!("{}: {who}: {what}", s.name)),
        }
    }
    t
}

#[test]
fn generated_programs_leave_the_same() {
    let programs = subject::generated();
    let mut left_out = BTreeMap::new();
    let t = compare("generated", &programs, &mut left_out);
    report(&programs, &t, &left_out);
    assert!(t.wrong.is_empty(), "{:#?}", t.wrong);
    assert_eq!(programs.len(), 560, "docs/compiler.md says how many");
    floors(&t, [526, 151, 339]);
}

/// Nothing is left out: each operation of the specifications runs in every executor; which drivers
/// are asked, [`subject::samples`] says.
#[test]
fn image_operations_leave_the_same() {
    let mut left_out = BTreeMap::new();
    let operations = subject::samples(&mut left_out);
    let t = compare("samples", &operations, &mut left_out);
    report(&operations, &t, &left_out);
    assert!(t.wrong.is_empty(), "{:#?}", t.wrong);
    assert!(left_out.is_empty(), "{left_out:#?}");
    assert_eq!(operations.len(), 866, "docs/compiler.md says how many");
    floors(&t, [866, 0, 866]);
}

#[test]
fn shaders_of_the_corpus_leave_the_same() {
    let mut left_out = BTreeMap::new();
    let shaders = subject::corpus(&mut left_out);
    let t = compare("corpus", &shaders, &mut left_out);
    report(&shaders, &t, &left_out);
    assert!(t.wrong.is_empty(), "{:#?}", t.wrong);
    // Six or seven look at their sub-groups and race for a place: it is chance whether executors
    // keep the same value.
    floors(&t, [42, 25, 0]);
}

/// Fails if fewer subjects were compared than when this was written: on how many all agree, and of
/// those, how many look at their sub-groups and how many have images.
fn floors(t: &Tally, least: [usize; 3]) {
    let got = [t.agree, t.sub_groups, t.images];
    assert!(got.iter().zip(&least).all(|(got, least)| got >= least), "{got:?} below {least:?}");
}

fn report(subjects: &[Subject], t: &Tally, left_out: &Excluded) {
    println!(
        "{} shaders; all agree on {}, of which {} look at their sub-groups and {} have images",
        subjects.len(),
        t.agree,
        t.sub_groups,
        t.images
    );
    for (why, names) in left_out {
        println!("{:5} left out: {why} ({})", names.len(), names.join(", "));
    }
    for w in &t.wrong {
        println!("wrong: {w}");
    }
}
