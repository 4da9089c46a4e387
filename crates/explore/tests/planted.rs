//! Planted mistakes: each is found, by its rule, on its line, and nothing else is; and programs without mistakes are silent.
#![cfg(feature = "naga")]

use std::collections::BTreeSet;

use tepui_check::{Family, Finding, Level, RULES, Rule, Subject};
use tepui_explore::compile::Text;
use tepui_explore::run::{Contents, Inputs, RunOptions, run};

/// A program with a mistake.
struct Planted {
    /// The bug.
    what: &'static str,
    /// The rules that find it.
    rules: &'static [&'static str],
    /// Workgroups.
    groups: u32,
    /// Assembly if it does not begin with `#version` or `@`. Lines at fault end with `!!` in a comment; races have two ends, of
    /// which either may be found.
    text: &'static str,
}

const fn one(what: &'static str, rule: &'static [&'static str], text: &'static str) -> Planted {
    Planted { what, rules: rule, groups: 1, text }
}

const fn groups(groups: u32, planted: Planted) -> Planted {
    Planted { groups, ..planted }
}

/// `r1` is the thread's number in the grid; a word of buffer 0 is in `r2` once `wait 0` is done.
macro_rules! load {
    () => {
        "; buffer: 0 4096 index\nget_sr r1, sr80\ndevice_load 0, i32, x, r2, u0_u1, r1, unsigned\n"
    };
}
macro_rules! store {
    ($register:literal) => {
        concat!("device_store 0, i32, x, ", $register, ", u0_u1, r1, unsigned, 0\nstop\n")
    };
}
/// `r1` is the thread's number in a workgroup of 64, which has 1,024 bytes of local memory.
macro_rules! local {
    () => {
        "; workgroup: 64,1,1\n; local: 1024\n; buffer: 0 4096 index\nget_sr r1, sr51\n"
    };
}

/// The first threads of two workgroups of 32 store what they have loaded 32 words further on; all load.
macro_rules! early_load {
    ($count:literal, $mark:literal) => {
        early_load!($count, $mark, "", "")
    };
    ($count:literal, $mark:literal, $before:literal, $inside:literal) => {
        concat!(
            "; workgroup: 32,1,1\n; buffer: 0 4096 index\nget_sr r1, sr80\ndevice_load 0, i32, x, r2, u0_u1, r1, unsigned",
            $mark,
            "\nwait 0\n",
            $before,
            "if_icmp r0l, ult, r1, ",
            $count,
            ", 1\n",
            $inside,
            "iadd r2, r2, 7\niadd r3, r1, 32\ndevice_store 0, i32, x, r2, u0_u1, r3, unsigned, 0\npop_exec r0l, 1\nstop\n"
        )
    };
}

const PLANTED: &[Planted] = &[
    one("no wait", &["unwaited-read"], concat!(load!(), "iadd r3, r2, 1 ; !!\n", store!("r3"))),
    one(
        "wait of the other slot",
        &["unwaited-read"],
        concat!(load!(), "wait 1\nnot r3, r2 ; !!\n", store!("r3")),
    ),
    one(
        "a loaded value is stored at once",
        &["unwaited-read"],
        concat!(load!(), "device_store 0, i32, x, r2, u0_u1, r1, unsigned, 0 ; !!\nwait 0\nstop"),
    ),
    one(
        "half of a loaded value",
        &["unwaited-read"],
        concat!(load!(), "iadd r3l, r2h, 1 ; !!\nwait 0\nstop"),
    ),
    one(
        "a write before the load arrives",
        &["unwaited-write"],
        concat!(load!(), "mov_imm r2l, 5 ; !!\nwait 0\nstop"),
    ),
    one(
        "a register without value",
        &["unwritten-register"],
        concat!(load!(), "wait 0\niadd r3, r2, r9 ; !!\n", store!("r3")),
    ),
    one(
        "the other half of a register",
        &["unwritten-register"],
        "mov_imm r1l, 5\niadd r3l, r1h, 1 ; !!\nstop",
    ),
    one(
        "a value of one branch",
        &["unwritten-register"],
        concat!(
            load!(),
            "wait 0\nif_icmp r0l, ult, r1, 9, 1\niadd r3, r2, 1\npop_exec r0l, 1\n",
            "device_store 0, i32, x, r3, u0_u1, r1, unsigned, 0 ; !!\nstop"
        ),
    ),
    one(
        "an index without value",
        &["unwritten-register"],
        "; buffer: 0 64 index\nmov_imm r2, 1, 0b0\ndevice_store 0, i32, x, r2, u0_u1, r8, unsigned, 0 ; !!\nstop",
    ),
    one(
        "local memory without value",
        &["unwritten-local"],
        concat!(local!(), "threadgroup_load i32, x, r2, 0, r1l ; !!\n", store!("r2")),
    ),
    one(
        "the word behind what was stored",
        &["unwritten-local"],
        concat!(
            local!(),
            "threadgroup_store i32, x, r1, 0, r1l\nthreadgroup_barrier\nthreadgroup_load i32, xy, r2_r3, 0, r1l ; !!\n",
            store!("r3")
        ),
    ),
    one(
        "an atomic on local memory without value",
        &["unwritten-local"],
        concat!(local!(), "threadgroup_atomic add, None, 0, r1l, r1, 0, 2, 128, 0 ; !!\nstop"),
    ),
    one(
        "scratch memory without value",
        &["unwritten-scratch"],
        concat!(
            "; scratch: 64\n; buffer: 0 64 index\nTODO.stack_adjust 0, 1, 2, 0, 0, 16\n",
            "stack_load r2, i32, 1, 0, x, 4, 4, 0 ; !!\nget_sr r1, sr80\nwait 0\n",
            store!("r2")
        ),
    ),
    one(
        "scratch memory beside what was stored",
        &["unwritten-scratch"],
        concat!(
            "; scratch: 64\n; buffer: 0 64 index\nTODO.stack_adjust 0, 1, 2, 0, 0, 16\nget_sr r1, sr80\n",
            "stack_store i32, 1, 0, x, 4, r1, 0, 0\nstack_load r2, i32, 1, 0, x, 4, 8, 0 ; !!\nwait 0\n",
            store!("r2")
        ),
    ),
    one(
        "a buffer without value",
        &["unwritten-memory"],
        concat!(
            "; buffer: 0 64 index\n; buffer: 1 4096 fresh\nget_sr r1, sr80\n",
            "device_load 0, i32, x, r2, u2_u3, r1, unsigned ; !!\nwait 0\n",
            store!("r2")
        ),
    ),
    one(
        "a load beyond the buffer",
        &["unbound-load"],
        concat!(
            "; buffer: 0 64 index\nget_sr r1, sr80\nmov_imm r4, 65536, 0b0\n",
            "device_load 0, i32, x, r2, u0_u1, r4, unsigned ; !!\nwait 0\n",
            store!("r2")
        ),
    ),
    one(
        "a store beyond the buffer",
        &["unbound-store"],
        "; buffer: 0 64 index\nmov_imm r4, 65536, 0b0\ndevice_store 0, i32, x, r4, u0_u1, r4, unsigned, 0 ; !!\nstop",
    ),
    one(
        "an atomic beyond the buffer",
        &["unbound-store"],
        "; buffer: 0 64 index\nmov_imm r2, 1, 0b0\nmov_imm r4, 65536, 0b0\natomic add, 0, None, u0_u1, r4, unsigned, r2, 1, 0, 1, 4, 2 ; !!\nstop",
    ),
    one(
        "no barrier before local memory is read",
        &["local-race", "unwritten-local"],
        concat!(
            local!(),
            "threadgroup_store i32, x, r1, 0, r1l\nisub r2, 63, r1\nthreadgroup_load i32, x, r3, 0, r2l ; !!\n",
            "threadgroup_barrier\nthreadgroup_load i32, x, r3, 0, r2l\n",
            store!("r3")
        ),
    ),
    one(
        "no barrier before local memory is written again",
        &["local-race"],
        concat!(
            local!(),
            "threadgroup_store i32, x, r1, 0, r1l\nthreadgroup_barrier\nisub r2, 63, r1\n",
            "threadgroup_load i32, x, r3, 0, r2l ; !!\nthreadgroup_store i32, x, r3, 0, r1l\nthreadgroup_barrier\n",
            "threadgroup_load i32, x, r3, 0, r1l\n",
            store!("r3")
        ),
    ),
    one(
        "two SIMD-groups write one word",
        &["local-race"],
        concat!(
            local!(),
            "asr r2, r1, 5\nthreadgroup_store i32, x, r2, 0, 0 ; !!\nthreadgroup_barrier\n",
            "threadgroup_load i32, x, r3, 0, 0\n",
            store!("r3")
        ),
    ),
    one(
        "lanes write one word of local memory",
        &["lane-race", "unread-result"],
        "; local: 64\nget_sr r1, sr80\nthreadgroup_store i32, x, r1, 0, 0 ; !!\nstop",
    ),
    one(
        "lanes write one word of a buffer",
        &["lane-race"],
        "; buffer: 0 64 index\nget_sr r1, sr80\ndevice_store 0, i32, x, r1, u0_u1, 0, unsigned, 0 ; !!\nstop",
    ),
    one(
        "a barrier in a branch",
        &["divergent-barrier"],
        concat!(
            local!(),
            "if_icmp r0l, ult, r1, 9, 1\nthreadgroup_barrier ; !!\npop_exec r0l, 1\nstop"
        ),
    ),
    one(
        "local memory that nobody reads",
        &["unread-result"],
        "; local: 256\nget_sr r1, sr80\nthreadgroup_store i32, x, r1, 0, r1l ; !!\nstop",
    ),
    one(
        "a reversal without barrier",
        &["local-race"],
        "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
var<workgroup> t: array<u32, 64>;
@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) i: u32, @builtin(workgroup_id) w: vec3u) {
    t[i] = x[i] + 1u;
    x[i] = t[63u - i]; // !!
}",
    ),
    one(
        "a sum that waits once",
        &["local-race"],
        "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
var<workgroup> t: array<u32, 128>;
@compute @workgroup_size(128)
fn main(@builtin(local_invocation_index) i: u32, @builtin(workgroup_id) w: vec3u) {
    t[i] = x[i] + i + 1u;
    workgroupBarrier();
    for (var k = 64u; k > 0u; k >>= 1u) {
        if i < k {
            t[i] += t[i + k]; // !!
        }
    }
    workgroupBarrier();
    x[i] = t[0];
}",
    ),
    one(
        "neighbours in a buffer without barrier",
        &["workgroup-race"],
        "#version 450
layout(local_size_x = 64) in;
layout(binding = 0) buffer B { uint x[]; };
void main() {
  uint i = gl_LocalInvocationIndex;
  x[i] = i + 7u; // !!
  x[i + 64u] = x[63u - i] * 2u;
}",
    ),
    groups(
        4,
        one(
            "workgroups write one word",
            &["dispatch-race", "lane-race"],
            "#version 450
layout(local_size_x = 32) in;
layout(binding = 0) buffer B { uint x[]; };
void main() {
  x[0] = gl_GlobalInvocationID.x + 1u; // !!
}",
        ),
    ),
    groups(2, one("a load that one branch needs", &["dispatch-race"], early_load!("48", " ; !!"))),
    groups(
        4,
        one(
            "a blur in place",
            &["dispatch-race"],
            "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) id: vec3u) {
    let right = x[id.x + 1u];
    x[id.x] = (right + id.x) / 2u + 3u; // !!
}",
        ),
    ),
    groups(
        4,
        one(
            "counting without atomics",
            &["dispatch-race"],
            "#version 450
layout(local_size_x = 1) in;
layout(binding = 0) buffer B { uint x[]; };
void main() {
  x[gl_WorkGroupID.x & 1u] += 1u; // !!
}",
        ),
    ),
    one(
        "an early return before a barrier",
        &["divergent-barrier"],
        concat!(
            local!(),
            "if_icmp r0l, ugt, r1, 31, 1\nstop\npop_exec r0l, 1\nthreadgroup_barrier ; !!\nstop"
        ),
    ),
    one(
        "an index beyond the array",
        &["unbound-store"],
        "#version 450
layout(local_size_x = 32) in;
layout(binding = 0) buffer B { uint x[]; };
void main() {
  x[gl_LocalInvocationIndex * 4096u + 4096u] = 1u; // !!
}",
    ),
    one(
        "a derivative in a branch",
        &["divergent-derivative"],
        "@fragment fn main(@builtin(position) at: vec4f) -> @location(0) vec4f {
    var c = vec4f(0.0);
    if (u32(at.x) % 3u) == 1u {
        c = vec4f(dpdx(at.y * at.x)); // !!
    }
    return c;
}",
    ),
];

/// Programs without mistakes, each near one of the planted ones.
const RIGHT: &[(u32, &str)] = &[
    (1, concat!(load!(), "wait 0\niadd r3, r2, 1\n", store!("r3"))),
    (
        4,
        "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
var<workgroup> t: array<u32, 128>;
@compute @workgroup_size(128)
fn main(@builtin(local_invocation_index) i: u32, @builtin(workgroup_id) w: vec3u) {
    t[i] = x[w.x * 128u + i];
    workgroupBarrier();
    for (var k = 64u; k > 0u; k >>= 1u) {
        if i < k { t[i] += t[i + k]; }
        workgroupBarrier();
    }
    if i == 0u { x[1024u + w.x] = t[0]; }
}",
    ),
    // A load ahead of the branch that needs it: lanes that do not take the branch read what others write, and do nothing with it.
    (2, early_load!("32", "")),
    (2, early_load!("32", "", "", "icmp_ballot r4, ult, r2, 9\n")),
    (1, "no_var 1, r0, r0l\nstop\n"),
    // The last workgroup adds up what the others have left: an atomic tells which one that is.
    (
        4,
        "@group(0) @binding(0) var<storage, read_write> count: atomic<u32>;
@group(0) @binding(1) var<storage, read_write> x: array<u32>;
@compute @workgroup_size(1)
fn main(@builtin(workgroup_id) w: vec3u) {
    x[8u + w.x] = w.x * 3u + 1u;
    storageBarrier();
    if atomicAdd(&count, 1u) == 3u {
        storageBarrier();
        x[1] = x[8] + x[9] + x[10] + x[11];
    }
}",
    ),
    (
        8,
        "@group(0) @binding(0) var<storage, read_write> count: array<atomic<u32>, 7>;
@group(0) @binding(1) var<storage, read_write> x: array<u32>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    atomicAdd(&count[id.x % 7u], 1u);
    x[id.x] = id.x;
}",
    ),
];

fn findings(text: &str, groups: u32, watch_all: bool) -> Vec<tepui_check::Finding> {
    let shader = text.starts_with('#') || text.starts_with('@');
    let text = Text { text: text.to_owned(), assembly: !shader, ..Text::default() };
    let mut inputs = Inputs { groups: [groups, 1, 1], size: [32, 32], ..Inputs::default() };
    if shader {
        let fill = "zeros".to_owned();
        let contents =
            |binding| Contents { set: 0, binding, words: 4096, fill: fill.clone(), data: None };
        inputs.buffers.extend([contents(0), contents(1)]);
    }
    match run(&text, &inputs, RunOptions { check: true, watch_all, ..RunOptions::default() }) {
        Ok(outcome) => outcome.findings,
        Err(e) => vec![tepui_check::Finding { what: e.to_string(), ..Default::default() }],
    }
}

#[test]
fn planted_mistakes_are_found() {
    assert!(PLANTED.len() >= 30, "{}", PLANTED.len());
    let mut wrong = Vec::new();
    for p in PLANTED {
        let found = findings(p.text, p.groups, false);
        // naga stores zeros to local memory, which programs that write all of it first do not read.
        let counts = |f: &&Finding| f.level() > Level::Note || p.rules.contains(&f.rule.as_str());
        let rules: BTreeSet<&str> = found.iter().filter(counts).map(|f| f.rule.as_str()).collect();
        let lines: BTreeSet<u32> =
            found.iter().filter_map(|f| Some(f.source.as_ref()?.line)).collect();
        let marked: BTreeSet<u32> =
            (1..).zip(p.text.lines()).filter(|(_, l)| l.ends_with("!!")).map(|(n, _)| n).collect();
        if rules != p.rules.iter().copied().collect() || !lines.is_superset(&marked) {
            let all: String = found.iter().map(ToString::to_string).collect();
            wrong.push(format!("{}: wanted {:?} in lines {marked:?}\n{all}", p.what, p.rules));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), PLANTED.len(), wrong.join("\n"));
}

#[test]
fn programs_without_mistakes_are_silent() {
    for (groups, text) in RIGHT {
        let found = findings(text, *groups, false);
        let all: String = found.iter().map(ToString::to_string).collect();
        assert!(found.iter().all(|f| f.level() == Level::Note), "{all}\n{text}");
    }
}

/// Each program, and each of assembly without one of its lines, which makes many other mistakes.
#[test]
fn proofs_hide_nothing() {
    let mut all: Vec<(u32, String)> =
        PLANTED.iter().map(|p| (p.groups, p.text.to_owned())).collect();
    all.extend(RIGHT.iter().map(|&(groups, text)| (groups, text.to_owned())));
    let whole = all.len();
    for k in 0..whole {
        let (groups, text) = all[k].clone();
        if text.starts_with('#') || text.starts_with('@') {
            continue;
        }
        let lines: Vec<&str> = text.lines().collect();
        for gone in (0..lines.len()).filter(|&n| !lines[n].starts_with(';')) {
            let rest = [&lines[..gone], &lines[gone + 1..]].concat().join("\n");
            all.push((groups, rest));
        }
    }
    let (mut different, mut mistakes) = (Vec::new(), 0);
    for (groups, text) in &all {
        let told = |watch_all| {
            let found = findings(text, *groups, watch_all);
            // Chance decides which end of a race between workgroups is found.
            let text = |f: &Finding| match f.rule.as_str() {
                "dispatch-race" => f.rule.clone(),
                _ => f.to_string(),
            };
            found.iter().map(text).collect::<BTreeSet<_>>()
        };
        let (proven, watched) = (told(false), told(true));
        mistakes += usize::from(!watched.is_empty());
        if proven != watched {
            different.push(format!("{text}\nproven: {proven:#?}\nwatched: {watched:#?}"));
        }
    }
    assert!(all.len() > 150 && mistakes > 100, "{mistakes} of {}", all.len());
    assert!(
        different.is_empty(),
        "{} of {}:\n{}",
        different.len(),
        all.len(),
        different.join("\n")
    );
}

#[test]
fn every_rule_of_programs_is_planted() {
    // Those of images and descriptors are planted by crates/agx/bare/tests/descriptors.rs; those that only Intel's model finds by
    // crates/intel/model/tests/order.rs and crates/intel/eu/tests.
    let planted = |r: &&Rule| r.subject == Subject::Program && r.families.contains(&Family::Agx);
    for rule in RULES.iter().filter(planted) {
        assert!(PLANTED.iter().any(|p| p.rules.contains(&rule.id)), "{}", rule.id);
    }
}
