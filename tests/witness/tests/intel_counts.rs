//! The commands that Tepui's driver emits between draws on Intel's GPUs: a draw after a change of one state emits the packets that
//! depend on it and the primitive, and a draw after none the primitive alone.
//!
//! The case [`one_state`] draws with one state changed, and then as before, so that both directions are seen.

use tepui_capture::Event;
use tepui_decode::{Content, Record};
use tepui_intel_capture::Describer;
use tepui_witness::cases::one_state::{CHANGES, NAME, VERTICES};

mod intel;

const RASTER: &str = "3DSTATE_RASTER";
const CLIP: &str = "3DSTATE_CLIP";
const DEPTH: &str = "3DSTATE_WM_DEPTH_STENCIL";
const PS_BLEND: &str = "3DSTATE_PS_BLEND";
const BLEND: &str = "3DSTATE_BLEND_STATE_POINTERS";
const SF_VIEWPORT: &str = "3DSTATE_VIEWPORT_STATE_POINTERS_SF_CLIP";
/// Packets of the fragment program, or of its absence.
const PROGRAM: [&str; 3] = ["3DSTATE_WM", "3DSTATE_PS", "3DSTATE_PS_EXTRA"];
const TABLE: &str = "3DSTATE_BINDING_TABLE_POINTERS_PS";

/// Packets that each change leads to, in the order of [`CHANGES`].
fn expected(name: &str) -> Vec<&'static str> {
    match name {
        "topology" => vec!["3DSTATE_VF_TOPOLOGY"],
        // Draws without indices do not restart; ranges of depth count if depth is clamped, and the clamp to all depths is none.
        "restart" | "depth clamp" | "nothing" => vec![],
        "vertex stride" => vec!["3DSTATE_VERTEX_BUFFERS"],
        "viewport" | "depth range" => vec![SF_VIEWPORT],
        "scissor" => vec!["3DSTATE_SCISSOR_STATE_POINTERS"],
        "polygon mode" => vec![CLIP, RASTER],
        "cull mode" | "front face" | "depth clip" | "depth bias enable" => vec![RASTER],
        // There is no fragment program then.
        "discard" => {
            let setup = ["3DSTATE_STREAMOUT", CLIP, "3DSTATE_SBE", "3DSTATE_SBE_SWIZ"];
            [&setup[..], &PROGRAM, &[PS_BLEND, TABLE]].concat()
        }
        "provoking vertex" => vec![CLIP, "3DSTATE_SF"],
        "sample mask" => vec!["3DSTATE_SAMPLE_MASK"],
        // The fragment program is another.
        "alpha to coverage" => vec!["3DSTATE_PS", PS_BLEND, BLEND, TABLE],
        "depth test" | "depth write" | "stencil test" => vec![DEPTH],
        "blend constants" => vec!["3DSTATE_CC_STATE_POINTERS"],
        "blend equation" | "logic operation" => vec![PS_BLEND, BLEND],
        "write mask" => vec![BLEND],
        _ => panic!("packets of a change of {name}"),
    }
}

/// Commands of the batches of a case, in order, and whether each is a draw of [`one_state`].
fn commands(gpu: &str, case: &str) -> Vec<(&'static str, bool)> {
    let name = format!("counts-{gpu}-{}", case.replace('/', "-"));
    let (folder, output) = intel::capture(gpu, &name, &[case], "");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let mut all = Vec::new();
    let mut describer = Describer::default();
    intel::events(&folder, |events, event| match event {
        Event::Process(process) => {
            let options = tepui_intel_decode::Options::default();
            describer = Describer::new(&process.parameters, options);
        }
        Event::Start(start) => add(&describer.command(&events.memory(&start), &start), &mut all),
        _ => {}
    });
    all
}

fn add(batch: &Record, all: &mut Vec<(&'static str, bool)>) {
    for child in &batch.children {
        let Content::Packet(decoded) = &child.content else { continue };
        let has = |name: &str, value: u32| {
            decoded.get(name).is_some_and(|v| v.to_string() == value.to_string())
        };
        let name = decoded.info.name;
        let is_own = name == "3DPRIMITIVE"
            && has("Vertex Count Per Instance", VERTICES)
            && has("Instance Count", 1);
        all.push((name, is_own));
    }
}

fn check(gpu: &str) {
    let all = commands(gpu, NAME);
    let draws: Vec<usize> = (0..all.len()).filter(|&k| all[k].1).collect();
    assert_eq!(draws.len(), 1 + 2 * CHANGES.len(), "{gpu}");
    let mut wrong = Vec::new();
    for (k, pair) in draws.windows(2).enumerate() {
        let between = all[pair[0] + 1..pair[1]].iter().map(|c| c.0);
        // Batches continue in other memory.
        let found: Vec<_> = between.filter(|&n| n != "MI_BATCH_BUFFER_START").collect();
        let name = CHANGES[k / 2].name;
        let expected = expected(name);
        if found != expected {
            let way = if k % 2 == 0 { "changes" } else { "is as before" };
            wrong.push(format!("{name} {way}: {found:?} in place of {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{gpu}:\n{}", wrong.join("\n"));
}

#[test]
fn draws_emit_what_changed_on_skylake() {
    check("skl");
}

#[test]
fn draws_emit_what_changed_on_tiger_lake() {
    check("tgl");
}

/// Wa_1604061319 of Gen12: constants of one stage are emitted with those of all stages of the draw.
#[test]
fn constants_of_all_stages_are_emitted_together_on_tiger_lake() {
    let (mut emitted, mut draws) = ([false; 2], 0);
    for (name, _) in commands("tgl", "passes/views") {
        match name {
            "3DSTATE_CONSTANT_VS" => emitted[0] = true,
            "3DSTATE_CONSTANT_PS" => emitted[1] = true,
            "3DPRIMITIVE" => {
                assert!(emitted[0] == emitted[1], "constants of one of the two stages");
                draws += u32::from(emitted[0]);
                emitted = [false; 2];
            }
            _ => {}
        }
    }
    assert!(draws > 5, "{draws} draws with constants");
}

/// Wa_16011107343 of Gen12: the hull stage is emitted before each primitive with patches.
#[test]
fn the_hull_stage_is_emitted_before_each_primitive_on_tiger_lake() {
    let (mut stages, mut primitives) = (0, 0);
    for (name, _) in commands("tgl", "many/conditional_patches_6") {
        match name {
            "3DSTATE_HS" => stages += 1,
            "3DPRIMITIVE" => {
                // The first one is that of the clear.
                assert!(primitives == 0 || stages > 0, "primitive {primitives}");
                (stages, primitives) = (0, primitives + 1);
            }
            _ => {}
        }
    }
    assert!(primitives > 8 * 6, "{primitives} primitives");
}
