//! Six executors, one memory: each compute shader runs in the interpreter of the IR before and after all passes, as machine code on
//! the model, and on lavapipe, with the same inputs.
//!
//! Shaders ([`subject`]): generated programs, written as SPIR-V by [`tepui_witness::emit`], which must leave the same bits, also as the
//! front end reads that SPIR-V back; and the
//! compute shaders of `tools/corpus` that have buffers or images, whose floats may differ by what special functions may.
//!
//! Sub-groups have 32 lanes on the model and as many as a vector of the host's on lavapipe (8 with AVX2). The interpreter takes either
//! number: what it leaves at 32 is what the passes and the model must leave, what it leaves at lavapipe's number is what lavapipe must.

mod lavapipe;
mod lookups;
mod module;
mod subject;

use std::collections::BTreeMap;

use subject::{LIMIT, LeftOut, Subject};
use tepui_agx_bare::bind::Bound;
use tepui_agx_bare::{Machine, shader};
use tepui_agx_compiler::{Options, compile_prepared, prepare};
use tepui_corpus::Same;
use tepui_ir::interp::{Memory, SUBGROUP, dispatch, dispatch_of};
use tepui_ir::{InstFlags, Shader};
use tepui_passes::pipeline;
use tepui_witness::dispatch::Left;
use tepui_witness::jobs::Done;

/// Whether two memories are the same, or as near as special functions ask; the first difference else.
fn differ(s: &Subject, want: &Memory, got: &Memory) -> Result<(), String> {
    match tepui_corpus::compare(&s.shader, want, got)? {
        Same::Near if !s.loose => {
            Err("other bits, though only what is rounded correctly".to_owned())
        }
        _ => Ok(()),
    }
}

/// What the model leaves; `None` when the compiler refuses the shader.
fn model(s: &Subject) -> Result<Memory, Wrong> {
    let mut shader = s.shader.clone();
    let options = Options { robust: s.loose, ..Options::default() };
    prepare(&mut shader, &options, &mut |_, _| {});
    subject::define(&mut shader);
    let p = compile_prepared(&shader, &options, &mut |_, _| {})
        .map_err(|e| Wrong::Refused(e.to_string()))?;
    let options =
        tepui_agx_model::Options { threads: 1, instruction_budget: 1 << 24, ..Default::default() };
    let mut machine = Machine::new(options).expect("a machine");
    let run = |machine: &mut Machine| -> Result<Memory, tepui_agx_bare::Error> {
        let bound = Bound::new(machine, &s.shader, &s.start)?;
        shader::run(machine, &p, &bound.bindings, s.groups)?;
        bound.memory(&s.start)
    };
    run(&mut machine).map_err(|e| Wrong::Result("model", e.to_string()))
}

/// Why a subject does not count as one on which all agree.
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

fn judge(s: &Subject, lavapipe: Option<&Done<Left>>) -> Result<(), Wrong> {
    let run = |shader: &Shader, lanes| -> Result<Memory, String> {
        let mut m = s.start.clone();
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
        Ok(m) => differ(s, &want, &m).map_err(wrong("model")).err(),
        Err(e) => Some(e),
    };
    if let Some(wrong @ Wrong::Result(..)) = refused {
        return Err(wrong);
    }
    let Some(lavapipe) = lavapipe else { return refused.map_or(Ok(()), Err) };
    let left = lavapipe.as_ref().map_err(|e| Wrong::Result("lavapipe", e.clone()))?;
    let want = match s.sub_groups && left.subgroup as usize != SUBGROUP {
        true if subject::clusters_beyond(&s.shader, left.subgroup) => {
            return Err(Wrong::NotAsked("clusters larger than lavapipe's sub-groups"));
        }
        true => {
            let m = run(&s.shader, left.subgroup as usize).map_err(wrong("interpreter"))?;
            if s.loose && m.absent_lanes > 0 {
                return Err(Wrong::NotAsked("reads lanes that lavapipe's sub-groups lack"));
            }
            m
        }
        false => want,
    };
    match (differ(s, &want, &lavapipe::memory(s, left)), s.open) {
        (Err(_), Some(why)) => return Err(Wrong::NotAsked(why)),
        (done, _) => done.map_err(wrong("lavapipe"))?,
    }
    refused.map_or(Ok(()), Err)
}

#[derive(Default, Debug)]
struct Tally {
    agree: usize,
    /// Of those, how many look at their sub-groups, and how many have images.
    sub_groups: usize,
    images: usize,
    wrong: Vec<String>,
}

fn compare(name: &str, subjects: &[Subject], left_out: &mut LeftOut) -> Tally {
    let asked = || subjects.iter().filter(|s| s.lavapipe);
    let jobs: Vec<_> = asked().map(lavapipe::job).collect();
    let mut done = lavapipe::run(name, &jobs).into_iter();
    let mut t = Tally::default();
    for s in subjects {
        let d = s.lavapipe.then(|| done.next().expect("an answer to each job"));
        let mut leave = |why: String| left_out.entry(why).or_default().push(s.name.clone());
        match judge(s, d.as_ref()) {
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
    assert!(t.agree >= 500, "{t:?}");
}

/// Nothing is left out: each operation of the specifications runs everywhere, those on images of several samples without lavapipe.
#[test]
fn image_operations_leave_the_same() {
    let mut left_out = BTreeMap::new();
    let operations = subject::lookups(&mut left_out);
    let t = compare("lookups", &operations, &mut left_out);
    report(&operations, &t, &left_out);
    assert!(t.wrong.is_empty(), "{:#?}", t.wrong);
    assert!(left_out.is_empty(), "{left_out:#?}");
}

#[test]
fn shaders_of_the_corpus_leave_the_same() {
    let mut left_out = BTreeMap::new();
    let shaders = subject::corpus(&mut left_out);
    let t = compare("corpus", &shaders, &mut left_out);
    report(&shaders, &t, &left_out);
    assert!(t.wrong.is_empty(), "{:#?}", t.wrong);
    assert!(t.agree >= 40, "{t:?}");
}

fn report(subjects: &[Subject], t: &Tally, left_out: &LeftOut) {
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
