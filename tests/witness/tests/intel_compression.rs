//! Compression in what Tepui's driver submits to Intel's GPUs: hierarchical depth and control surfaces of samples are there, blocks
//! are cleared fast, and transitions lead to the operations that make images readable. The pictures are judged by the test
//! `drivers`, in its rows `tepui-skl-layouts` and `tepui-tgl-layouts`.

use std::collections::{BTreeMap, BTreeSet};

use tepui_capture::Event;
use tepui_decode::{Content, Record};
use tepui_intel_capture::Describer;
use tepui_intel_packets::Decoded;

mod intel;

/// Names of the counts.
const HIERARCHIES: &str = "depth buffers with a hierarchy";
const COMPRESSED: &str = "depth buffers with compressed cache lines";
const SAMPLES: &str = "surface states with compressed cache lines of samples";
const WRITTEN_THROUGH: &str = "depth buffers that are written through their hierarchy";
const STENCIL_LINES: &str = "stencil buffers with compressed cache lines";
const READ_HIERARCHIES: &str = "surface states of depth with a hierarchy";
const READ_DEPTHS: &str = "surface states of depth or stencil with compressed cache lines";
const STENCIL_CLEARS: &str = "clears of stencil by operations";
const CLEARS: &str = "fast clears of depth";
const RESOLVES: &str = "resolves of depth";
const AMBIGUATIONS: &str = "ambiguations of hierarchies";
const CONTROLS: &str = "surface states with a control surface";
const UNOPTIMISED: &str = "switches of Wa_1808121037";
const OPTIMISED: &str = "switches back";
const LINES: &str = "surface states with a control surface that compresses";
const PAGES: &str = "surface states of images whose pages have control surfaces";
const COLOUR_CLEARS: &str = "fast clears of colours";
const COLOUR_RESOLVES: &str = "resolves of colours";
const COLOUR_AMBIGUATIONS: &str = "ambiguations of control surfaces";
const CONTROL_CLEARS: &str = "surface states of a control surface as an image";

fn text(decoded: &Decoded, field: &str) -> String {
    decoded.get(field).map_or(String::new(), |v| v.to_string())
}

/// Counts, and addresses of surfaces and of auxiliary surfaces.
#[derive(Default)]
struct Seen {
    counts: BTreeMap<&'static str, u32>,
    surfaces: Vec<String>,
    auxiliary: BTreeSet<String>,
}

fn count(record: &Record, seen: &mut Seen) {
    if let Content::Packet(d) = &record.content {
        let is_set = |field: &str| text(d, field) == "true" || text(d, field) == "1";
        let mut add = |name: &'static str, is: bool| {
            if is {
                *seen.counts.entry(name).or_default() += 1;
            }
        };
        match d.info.name {
            "3DSTATE_DEPTH_BUFFER" => {
                add(HIERARCHIES, is_set("Hierarchical Depth Buffer Enable"));
                add(COMPRESSED, is_set("Depth Buffer Compression Enable"));
            }
            "3DSTATE_HIER_DEPTH_BUFFER" => {
                add(WRITTEN_THROUGH, is_set("Hierarchical Depth Buffer Write Thru Enable"));
            }
            "3DSTATE_STENCIL_BUFFER" => {
                add(STENCIL_LINES, is_set("Stencil Compression Enable"));
            }
            "3DSTATE_WM_HZ_OP" => {
                add(STENCIL_CLEARS, is_set("Stencil Buffer Clear Enable"));
                add(CLEARS, is_set("Depth Buffer Clear Enable"));
                add(RESOLVES, is_set("Depth Buffer Resolve Enable"));
                add(AMBIGUATIONS, is_set("Hierarchical Depth Buffer Resolve Enable"));
            }
            "MI_LOAD_REGISTER_IMM" if text(d, "Register Offset") == "0x7010" => {
                let value = text(d, "Data DWord");
                add(UNOPTIMISED, value == "0x2000200");
                add(OPTIMISED, value == "0x2000000");
            }
            "3DSTATE_PS" => {
                let clears = is_set("Render Target Fast Clear Enable");
                let resolve = text(d, "Render Target Resolve Type");
                add(COLOUR_CLEARS, clears && resolve == "0");
                add(COLOUR_AMBIGUATIONS, clears && resolve == "2");
                add(COLOUR_RESOLVES, !clears && resolve == "1");
            }
            "RENDER_SURFACE_STATE" => {
                let mode = text(d, "Auxiliary Surface Mode");
                let of_pages = is_set("Clear Value Address Enable");
                let is_depth = is_set("Depth Stencil Resource");
                add(READ_HIERARCHIES, mode == "AUX_HIZ");
                add(READ_DEPTHS, is_depth && mode == "AUX_CCS_E");
                let of_pages = of_pages && !is_depth;
                let is_samples = mode == "AUX_MCS_LCE";
                let is_control = is_samples
                    || matches!(&mode[..], "AUX_CCS_D" | "AUX_CCS_E") && !of_pages && !is_depth;
                add(SAMPLES, is_samples);
                add(CONTROLS, is_control);
                add(LINES, is_control && mode == "AUX_CCS_E");
                add(PAGES, of_pages && mode == "AUX_CCS_E");
                seen.surfaces.push(text(d, "Surface Base Address"));
                if is_control {
                    seen.auxiliary.insert(text(d, "Auxiliary Surface Base Address"));
                }
            }
            _ => {}
        }
    }
    record.children.iter().for_each(|child| count(child, seen));
}

/// Counts of what the driver submits for cases.
fn counts(gpu: &str, name: &str, cases: &[&str], debug: &str) -> BTreeMap<&'static str, u32> {
    let (folder, output) = intel::capture(gpu, &format!("compression-{name}-{gpu}"), cases, debug);
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    let mut seen = Seen::default();
    let mut describer = Describer::default();
    intel::events(&folder, |events, event| match event {
        Event::Process(process) => {
            let options = tepui_intel_decode::Options::default();
            describer = Describer::new(&process.parameters, options);
        }
        Event::Start(start) => {
            count(&describer.command(&events.memory(&start), &start), &mut seen);
        }
        _ => {}
    });
    let clears = seen.surfaces.iter().filter(|&at| seen.auxiliary.contains(at)).count();
    if clears != 0 {
        seen.counts.insert(CONTROL_CLEARS, clears as u32);
    }
    seen.counts
}

fn of(all: &BTreeMap<&'static str, u32>, what: &str) -> u32 {
    all.get(what).copied().unwrap_or(0)
}

/// Depth and stencil that programs read: nothing is resolved, in any layout.
fn check_reads(gpu: &str) {
    let is_gen12 = gpu == "tgl";
    for layouts in ["optimal", "general"] {
        let counts = |case: &str| {
            let name = format!("{layouts}-{}", case.replace('/', "-"));
            counts(gpu, &name, &["--layouts", layouts, case], "")
        };
        for case in ["cleared/depth32", "cleared/depth24_stencil"] {
            let depth = counts(case);
            // The image's begin, and a clear to the depth of clear blocks.
            assert_eq!(of(&depth, CLEARS), 1, "{gpu} {layouts} {case} {depth:?}");
            assert_eq!(of(&depth, AMBIGUATIONS), 1, "{gpu} {layouts} {case} {depth:?}");
            assert_eq!(of(&depth, RESOLVES), 0, "{gpu} {layouts} {case} {depth:?}");
            let reads = [READ_HIERARCHIES, READ_DEPTHS].map(|what| of(&depth, what) > 0);
            assert_eq!(reads, [!is_gen12, is_gen12], "{gpu} {layouts} {case} {depth:?}");
            assert_eq!(of(&depth, WRITTEN_THROUGH) > 0, is_gen12, "{gpu} {layouts} {depth:?}");
        }
        let other = counts("cleared/depth32_other");
        assert_eq!([CLEARS, RESOLVES].map(|what| of(&other, what)), [0, 0], "{gpu} {other:?}");
        // The clear of a rendering; on Gen12 that at the image's begin, too.
        let stencil = counts("cleared/stencil");
        let right = if is_gen12 { 2 } else { 1 };
        assert_eq!(of(&stencil, STENCIL_CLEARS), right, "{gpu} {layouts} {stencil:?}");
        let lines = [STENCIL_LINES, READ_DEPTHS].map(|what| of(&stencil, what) > 0);
        assert_eq!(lines, [is_gen12; 2], "{gpu} {layouts} {stencil:?}");
        // Clear samples, and the first of several layers.
        for case in ["cleared/samples_zero", "cleared/layers_zero"] {
            let colours = counts(case);
            assert!(of(&colours, COLOUR_CLEARS) > 0, "{gpu} {layouts} {case} {colours:?}");
            // The image that samples are resolved to has transitions of its own.
            let resolves = case == "cleared/samples_zero" && !is_gen12;
            let found = if resolves { 0 } else { of(&colours, COLOUR_RESOLVES) };
            assert_eq!(found, 0, "{gpu} {layouts} {case} {colours:?}");
        }
        let samples = counts("cleared/samples");
        assert_eq!(of(&samples, COLOUR_CLEARS) > 0, is_gen12, "{gpu} {layouts} {samples:?}");
    }
}

fn check(gpu: &str) {
    let optimal = |name: &str, case: &str| counts(gpu, name, &["--layouts", "optimal", case], "");
    // An input attachment, cleared once to the depth of clear blocks, and read by a copy: on Gen9 an ambiguation before, a resolve
    // after.
    let depth = optimal("depth", "passes/layers_depth32");
    assert_eq!(of(&depth, CLEARS), 3, "{gpu} {depth:?}");
    assert!(of(&depth, HIERARCHIES) >= 2, "{gpu} {depth:?}");
    assert!(of(&depth, AMBIGUATIONS) >= 3, "{gpu} {depth:?}");
    assert_eq!(of(&depth, RESOLVES) >= 3, gpu == "skl", "{gpu} {depth:?}");
    // On Gen12 cache lines are compressed under the hierarchy and the control surface of samples.
    let with_pages = if gpu == "tgl" { of(&depth, HIERARCHIES) } else { 0 };
    assert_eq!(of(&depth, COMPRESSED), with_pages, "{gpu} {depth:?}");
    // Samples are resolved by draws, for which depth is readable.
    let samples = optimal("samples", "passes/depth_resolved");
    assert_eq!(of(&samples, CLEARS), 1, "{gpu} {samples:?}");
    assert!(of(&samples, CONTROLS) > 0 && of(&samples, RESOLVES) > 0, "{gpu} {samples:?}");
    assert_eq!(of(&samples, SAMPLES) > 0, gpu == "tgl", "{gpu} {samples:?}");
    // Samples of new images are in their own slices.
    assert!(of(&samples, CONTROL_CLEARS) > 0, "{gpu} {samples:?}");
    // Switched before 16-bit depth on Gen12, also where it begins, and back at the end of the command buffer.
    let short = optimal("short", "passes/layers_depth16");
    let switches = if gpu == "tgl" { 3 } else { 0 };
    let found = [UNOPTIMISED, OPTIMISED].map(|what| of(&short, what));
    assert_eq!(found, [switches; 2], "{gpu} {short:?}");
    // Operations of a kind that follow one another share the packet that is counted.
    let colours = optimal("colours", "target/several_compressed");
    assert!(of(&colours, COLOUR_CLEARS) > 0, "{gpu} {colours:?}");
    if gpu == "tgl" {
        // Control surfaces of new images say nothing, and all layouts use them: nothing is resolved.
        assert!(of(&colours, COLOUR_AMBIGUATIONS) > 0, "{gpu} {colours:?}");
        assert!(of(&colours, PAGES) >= 8, "{gpu} {colours:?}");
        assert_eq!(of(&colours, COLOUR_RESOLVES), 0, "{gpu} {colours:?}");
    } else {
        // Colours of clear blocks other than zero are only for attachments: they are resolved before the copies that read them, through
        // the control surface.
        assert!(of(&colours, COLOUR_RESOLVES) > 0, "{gpu} {colours:?}");
        assert!(of(&colours, LINES) >= 8, "{gpu} {colours:?}");
        assert!(of(&colours, CONTROL_CLEARS) > 0, "{gpu} {colours:?}");
    }
    // In the general layout, colours stay compressed, and nothing is resolved.
    let general = counts(gpu, "general-colours", &["target/several_compressed"], "");
    let compressed = of(&general, if gpu == "tgl" { PAGES } else { LINES });
    assert!(compressed >= 8, "{gpu} {general:?}");
    assert_eq!(of(&general, COLOUR_RESOLVES), 0, "{gpu} {general:?}");
    // Nothing is compressed if that is asked for.
    let cases = [
        "--layouts",
        "optimal",
        "target/several_compressed",
        "passes/depth_resolved",
        "cleared/depth32",
        "cleared/stencil",
        "cleared/samples",
    ];
    let plain = counts(gpu, "plain", &cases, "nocompress");
    let of_plain = [
        HIERARCHIES,
        CLEARS,
        CONTROLS,
        PAGES,
        COLOUR_CLEARS,
        CONTROL_CLEARS,
        STENCIL_LINES,
        READ_DEPTHS,
        READ_HIERARCHIES,
    ];
    assert_eq!(of_plain.map(|what| of(&plain, what)), [0; 9], "{gpu} {plain:?}");
    // In the general layout, other commands reach the depths of an input attachment, too, on Gen9.
    if gpu == "skl" {
        let general = counts(gpu, "general", &["passes/layers_depth32"], "");
        let of_depth = [HIERARCHIES, CLEARS, RESOLVES, AMBIGUATIONS].map(|what| of(&general, what));
        assert_eq!(of_depth, [0; 4], "{gpu} {general:?}");
    }
}

#[test]
fn images_are_compressed_on_skylake() {
    check("skl");
    check_reads("skl");
}

#[test]
fn images_are_compressed_on_tiger_lake() {
    check("tgl");
    check_reads("tgl");
}
