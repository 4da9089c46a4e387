//! Random programs give the same memory before and after each pass, by the interpreter.

use proptest::prelude::*;
use tepui_ir::{Op, Shader, validate};
use tepui_ir_gen::{Config, program};
use tepui_passes::pipeline;

fn execute(s: &Shader, seed: u64) -> Vec<u32> {
    tepui_ir_gen::run(s, seed).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{s}")).words(0, 0)
}

/// Half of the programs have everything in them, half are small enough to read.
fn random(seed: u64, div_zero: bool) -> Shader {
    let base = if seed.is_multiple_of(2) { Config::all() } else { Config::plain() };
    program(seed, &Config { div_zero, ..base })
}

/// One with 64-bit floats.
fn random_doubles(seed: u64) -> Shader {
    program(seed, &Config { div_zero: false, doubles: true, ..Config::all() })
}

/// Programs for which a pass must also have changed something, so that the test sees it at work.
fn check(pass: &str, seeds: impl Iterator<Item = u64>, prepare: &[&str]) -> usize {
    let mut changed = 0;
    for seed in seeds {
        // The result of x / 0 does not survive the lowering of division.
        let mut s = random(seed, pass != "lower_alu");
        for p in prepare {
            (pipeline::find(p).unwrap().run)(&mut s);
        }
        validate(&s).unwrap_or_else(|e| panic!("seed {seed}, before {pass}: {e}\n{s}"));
        let want = execute(&s, seed);
        let before = s.to_string();
        changed += usize::from((pipeline::find(pass).unwrap().run)(&mut s));
        validate(&s).unwrap_or_else(|e| panic!("seed {seed}, {pass}: {e}\n{before}\nbecame\n{s}"));
        assert_eq!(execute(&s, seed), want, "seed {seed}, {pass}:\n{before}\nbecame\n{s}");
    }
    changed
}

const CLEAN: &[&str] = &["split", "promote", "control", "simplify", "dce"];

#[test]
fn each_pass_keeps_the_meaning() {
    for p in pipeline::PASSES {
        let raw = check(p.name, 0..150, &[]);
        let clean = check(p.name, 150..350, CLEAN);
        let scalar = check(
            p.name,
            350..500,
            &[CLEAN, &["scalarise", "simplify", "control", "dce"]].concat(),
        );
        // The programs have neither inputs nor textures, nor floats whose roundings may change, and
        // all of them store: these have filetests, and the corpus. 64-bit floats have a test below;
        // float atomics and handles that are chosen have tests of a back end.
        let idle = [
            "invariance",
            "constant_loads",
            "lower_io",
            "lower_tex",
            "reassociate",
            "sums",
            "lower_float64",
            // Long programs of doubles have a test of a back end.
            "roll_float64",
            "lower_atomics",
            "lower_handles",
            // Programs store what they computed: the test below makes tables.
            "constant_arrays",
            // Programs read no ids of workgroups: it has a filetest, and drivers run its shaders.
            "lower_dispatch_base",
            // Of fragment shaders, of compute shaders with quads, and of branches on push constants:
            // these have filetests.
            "flatten_discards",
            "side_effects",
            "lower_quads",
            // Of vertex shaders of several views.
            "multiview",
            // Programs have no uniform buffers, and no pairs of the same operation on halves that stay next to each other.
            "push_words",
            "join_lanes",
            "join_branches",
            // Programs take no roots of negative numbers.
            "nan_selects",
        ]
        .contains(&p.name);
        assert!(raw + clean + scalar > 0 || idle, "{} never changed anything", p.name);
    }
}

/// The last passes of a GPU's pipeline, in order.
const LOWER: &[&str] = &[
    "roll_float64",
    "lower_vars",
    "lower_buffers",
    "simplify",
    "lower_addresses",
    "lower_subgroups",
    "lower_bits16",
    "scalarise",
    "lower_alu",
    "lower_float64",
    "lower_int64",
    "simplify",
    "dce",
];

#[test]
fn lowerings_after_each_other_keep_the_meaning() {
    for seed in 500..760 {
        let mut s = if seed < 700 { random(seed, false) } else { random_doubles(seed) };
        let want = execute(&s, seed);
        let mut last = String::new();
        for p in CLEAN.iter().chain(&["scalarise", "simplify"]).chain(LOWER) {
            (pipeline::find(p).unwrap().run)(&mut s);
            validate(&s).unwrap_or_else(|e| panic!("seed {seed}, {p}: {e}\n{last}\nbecame\n{s}"));
            assert_eq!(execute(&s, seed), want, "seed {seed}, {p}:\n{last}\nbecame\n{s}");
            last = s.to_string();
        }
        // 64-bit values are left where addresses and handles need them only.
        s.walk(|s, _, i| {
            let wide = s.results(i).iter().any(|&r| s.ty(r).bits() == 64);
            let fine = matches!(s.insts[i].op, Op::Descriptor | Op::BufferAddress | Op::Bitcast);
            assert!(!wide || fine, "seed {seed}: {} in\n{s}", s.insts[i].op.name());
        });
    }
}

/// A seed whose shader a pass has once changed the meaning of.
#[test]
fn what_went_wrong_once_stays_right() {
    // A shuffle of a reduction that had become other instructions, taken for the same in all lanes.
    let seed = 10_908_256_035_669_427_080;
    let mut s = random(seed, true);
    let want = execute(&s, seed);
    pipeline::optimise(&mut s);
    assert_eq!(execute(&s, seed), want, "seed {seed}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn the_pipeline_keeps_the_meaning(seed in any::<u64>()) {
        let mut s = random(seed, true);
        let want = execute(&s, seed);
        let first = s.to_string();
        let mut last = first.clone();
        pipeline::optimise_with(&mut s, &mut |name, s| {
            validate(s).unwrap_or_else(|e| panic!("seed {seed}, {name}: {e}\n{last}\nbecame\n{s}"));
            assert_eq!(execute(s, seed), want, "seed {seed}, {name}:\n{last}\nbecame\n{s}");
            last = s.to_string();
        });
    }

    #[test]
    fn text_round_trips(seed in any::<u64>()) {
        let s = random(seed, true);
        let text = s.to_string();
        let back = tepui_ir::parse(&text).unwrap();
        prop_assert_eq!(back.to_string(), text);
    }
}

/// A shader of 16 invocations, each of which stores the element of a table that its number names,
/// the last one for larger numbers.
fn table(values: &[u32], bits: u32) -> String {
    let mut body = String::new();
    let mut next = 0;
    let mut line = |text: String| {
        body += &format!("    {}\n", text.replace("NEW", &format!("%{next}")));
        next += u32::from(text.contains("NEW"));
        next - 1
    };
    let zero = line("NEW:b32 = const[0x0]".into());
    let two = line("NEW:b32 = const[0x2]".into());
    let places: Vec<u32> =
        (0..values.len()).map(|k| line(format!("NEW:b32 = const[{k:#x}]"))).collect();
    let consts: Vec<u32> =
        values.iter().map(|v| line(format!("NEW:b{bits} = const[{v:#x}]"))).collect();
    let handle = line(format!("NEW:b64 = descriptor[@r0] %{zero}"));
    let id = line("NEW:b32x3 = load_builtin[local_invocation_id]".into());
    let i = line(format!("NEW:b32 = extract[0] %{id}"));
    let at = line(format!("NEW:b32 = ishl %{i}, %{two}"));
    for (k, v) in places.iter().zip(&consts) {
        line(format!("store_var[$v0] %{v}, %{k}"));
    }
    let v = line(format!("NEW:b{bits} = load_var[$v0] %{i}"));
    let word = match bits {
        32 => v,
        1 => line(format!("NEW:b32 = b2i %{v}")),
        _ => line(format!("NEW:b32 = u2u %{v}")),
    };
    line(format!("store_buffer[align 4] %{handle}, %{at}, %{word}"));
    line("yield".into());
    format!(
        "shader compute \"main\" {{\n  workgroup_size 16 1 1\n  resource storage_buffer set 0 binding 0 count 1 2d float \"data\"
  var b{bits} [{}] \"table\"\n  body {{\n{body}  }}\n}}\n",
        values.len()
    )
}

#[test]
fn tables_keep_every_element() {
    use tepui_ir::interp::{Memory, dispatch};
    let mut rng = tepui_ir_gen::Rng::new(7);
    for round in 0..400u32 {
        let bits = [32, 32, 16, 8, 1][round as usize % 5];
        let (n, kind) = (2 + rng.below(15), rng.below(6));
        let pair = [rng.bits() as u32, rng.bits() as u32];
        let mut last = pair[0];
        let values: Vec<u32> = (0..n)
            .map(|_| {
                let v = match kind {
                    0 => rng.below(2) as u32,
                    1 => rng.below(4) as u32,
                    2 => rng.below(200) as u32,
                    3 => pair[rng.below(2)],
                    4 if rng.below(4) > 0 => last,
                    _ => rng.bits() as u32,
                };
                last = v;
                v & tepui_ir::mask(bits) as u32
            })
            .collect();
        let text = table(&values, u32::from(bits));
        let mut s = tepui_ir::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        validate(&s).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let want: Vec<u32> = (0..16).map(|k| values[k.min(values.len() - 1)]).collect();
        let words = |s: &tepui_ir::Shader| {
            let mut m = Memory::default();
            m.set_words(0, 0, &[0; 16]);
            dispatch(s, [1; 3], &mut m, 1 << 16).unwrap_or_else(|e| panic!("{e}\n{s}"));
            m.words(0, 0)
        };
        assert_eq!(words(&s), want, "{text}");
        let changed = (pipeline::find("constant_arrays").unwrap().run)(&mut s);
        assert!(changed, "a table of {n} elements stays in memory");
        validate(&s).unwrap_or_else(|e| panic!("{e}\n{text}\nbecame\n{s}"));
        assert_eq!(words(&s), want, "{text}\nbecame\n{s}");
    }
}

/// Random runs of accesses next to each other, at an offset that is a multiple of a push constant.
fn neighbours(rng: &mut tepui_ir_gen::Rng) -> String {
    let mut body = String::from(
        "    %0:b32 = const[0x0]
    %1:b64 = descriptor[@r0] %0
    %2:b64 = descriptor[@r1] %0
    %3:b32 = const[0x7]
    %4:b32 = load_push[align 4] %0
",
    );
    let by = 2 + rng.below(4);
    body += &format!("    %5:b32 = const[{by:#x}]\n    %6:b32 = ishl %4, %5\n");
    let mut next = 7;
    for run in 0..3 {
        let first = rng.below(12) as i32 - 4;
        let offsets = (first..first + 2 + rng.below(3) as i32).map(|word| 4 * word);
        let loads = rng.below(3) > 0;
        let mut results = String::new();
        for offset in offsets {
            if loads {
                body += &format!("    %{next}:b32 = load_buffer[align 4 offset {offset}] %2, %6\n");
                let to = 1024 + 64 * run + offset;
                results += &format!("    store_buffer[align 4 offset {to}] %1, %6, %{next}\n");
                next += 1;
            } else {
                body += &format!("    store_buffer[align 4 offset {offset}] %2, %6, %3\n");
            }
        }
        body += &results;
    }
    format!(
        "shader compute \"main\" {{\n  workgroup_size 1 1 1
  resource storage_buffer set 0 binding 0 count 1 2d float \"results\"
  resource storage_buffer set 0 binding 1 count 1 2d float \"data\"\n  body {{\n{body}    yield\n  }}\n}}\n",
    )
}

/// Joined accesses leave what each by itself leaves where buffers end in the middle of them, or offsets
/// begin before the buffer.
#[test]
fn joined_accesses_keep_what_is_inside() {
    use tepui_ir::interp::{Memory, dispatch};
    let mut rng = tepui_ir_gen::Rng::new(11);
    let mut joined = 0;
    for _ in 0..600 {
        let text = neighbours(&mut rng);
        let mut s = tepui_ir::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let mut start = Memory::default();
        // Most buffers end within what some of 16 runs access.
        for (binding, words) in [(0, 512), (1, 1 + rng.below(140) as u32)] {
            let bytes = (0..words).flat_map(|k| (k * 77 + 1).to_le_bytes()).collect();
            start.buffers.insert((0, binding, 0), bytes);
        }
        let execute = |s: &Shader| {
            let results = (0..16u32).map(|k| {
                let mut memory = start.clone();
                memory.push = k.to_le_bytes().to_vec();
                dispatch(s, [1; 3], &mut memory, 1 << 20).unwrap_or_else(|e| panic!("{e}\n{s}"));
                memory.buffers
            });
            results.collect::<Vec<_>>()
        };
        let want = execute(&s);
        tepui_passes::vectorise::mark_robust(&mut s);
        for pass in ["vectorise", "simplify", "dce", "lower_buffers", "simplify", "dce"] {
            (pipeline::find(pass).unwrap().run)(&mut s);
            validate(&s).unwrap_or_else(|e| panic!("{pass}: {e}\n{text}\nbecame\n{s}"));
            assert!(execute(&s) == want, "{pass}:\n{text}\nbecame\n{s}");
            if pass == "vectorise" {
                joined += usize::from(s.to_string().contains("separate"));
            }
        }
    }
    assert!(joined > 300, "{joined} of 600 programs with joined accesses");
}
