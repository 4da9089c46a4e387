//! Features that Mesa documents of its Vulkan driver for Intel are seen at work: how it draws what
//! memory says, which states it submits again between draws, that its binding tables move.
//!
//! The cases of `many/`, whose answers the test `drivers` judges, run under `tepui trace`; this
//! test counts the commands that the decoder sees, before each batch and after it, when commands
//! that shaders generated are in memory, and the draws that `tepui replay` executes.
//!
//! source: Mesa, docs/drivers/anv.rst ("Indirect draws", "Binding Tables"),
//! genX_cmd_draw_generated_indirect.h

use std::path::Path;
use std::process::Command;

use tepui_capture::Event;
use tepui_decode::{Content, Record};
use tepui_intel_capture::Describer;
use tepui_intel_decode::Options;
use tepui_intel_packets::{Decoded, Value};
use tepui_witness::cases;

mod intel;

/// Draws from which on ANV generates commands instead of loading registers.
const GENERATED: u64 = 4;
/// Draws from which on it generates them into a ring.
const RING: u64 = 100;
/// Draws of the ring.
const RING_DRAWS: u64 = 8192;

/// A command in the order of execution.
type Commands = Vec<Decoded>;

/// Appends the commands of a batch.
fn commands(batch: &Record, into: &mut Commands) {
    for child in &batch.children {
        if child.title == "Second level batch" {
            commands(child, into);
        } else if let Content::Packet(decoded) = &child.content {
            into.push(decoded.clone());
        }
        // A batch of the second level is inside of the command that calls it.
        for inner in child.children.iter().filter(|c| c.title == "Second level batch") {
            commands(inner, into);
        }
    }
}

/// The commands of each batch as decoded with the memory before and after it.
fn batches(folder: &Path) -> Vec<[Commands; 2]> {
    let mut batches: Vec<[Commands; 2]> = Vec::new();
    let mut describers = [Describer::default(), Describer::default()];
    let mut running = None;
    intel::events(folder, |events, event| match event {
        Event::Process(process) => {
            let describer = || Describer::new(&process.parameters, Options::default());
            describers = [describer(), describer()];
        }
        Event::Start(start) => {
            let mut before = Commands::new();
            commands(&describers[0].command(&events.memory(&start), &start), &mut before);
            batches.push([before, Commands::new()]);
            running = Some(start);
        }
        Event::Finish(finish) => {
            assert_eq!(finish.fault, None);
            let start = running.take().expect("batches come one by one");
            let batch = describers[1].command(&events.memory(&start), &start);
            commands(&batch, &mut batches.last_mut().expect("a batch")[1]);
        }
        _ => {}
    });
    batches
}

fn is(command: &Decoded, name: &str) -> bool {
    command.info.name == name
}

fn count(commands: &[Decoded], name: &str) -> u64 {
    commands.iter().filter(|c| is(c, name)).count() as u64
}

fn value(command: &Decoded, field: &str) -> u64 {
    let found = command.fields.iter().find(|(f, _)| f.name == field);
    match found.map(|(_, value)| value) {
        Some(Value::Uint(v) | Value::Hex(v) | Value::Address(v)) => *v,
        Some(Value::Bool(v)) => u64::from(*v),
        other => panic!("{}, {field}: {other:?}", command.info.name),
    }
}

/// The draws of each batch as `tepui replay` executes them; they must write what they wrote when they
/// were traced.
fn executed(folder: &Path) -> Vec<u64> {
    let tepui = Path::new(env!("CARGO_BIN_EXE_witness")).with_file_name("tepui");
    let output = Command::new(tepui).arg("replay").arg(folder).output().expect("tepui starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let draws = text.lines().filter_map(|line| {
        let words: Vec<_> = line.trim_end_matches(',').split([',', ' ']).collect();
        let at = words.iter().position(|word| *word == "draws")?;
        words[at - 1].parse().ok()
    });
    draws.collect()
}

/// Parses the name of a case of `many/draws`: indexed, the number in a buffer, draws at most, draws.
fn draws_of(name: &str) -> Option<(bool, bool, u64, u64)> {
    let name = name.strip_prefix("many/draws_")?;
    let (kind, most) = name.rsplit_once('_')?;
    let most: u64 = most.parse().ok()?;
    let draws = if kind.ends_with("part") { most - most / 3 } else { most };
    Some((kind.starts_with("indexed"), kind.contains("count"), most, draws))
}

#[test]
fn draws_from_memory_go_three_ways() {
    let (folder, output) = intel::trace("skl", "intel-draws", &["many/draws_"], &[]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let batches = batches(&folder);
    let executed = executed(&folder);
    assert_eq!(batches.len(), executed.len());
    // Each case clears its picture and draws in one batch; others have a draw at most, a copy.
    let drawing: Vec<usize> = (0..executed.len()).filter(|&i| executed[i] > 1).collect();
    let all = cases::all();
    let names: Vec<_> =
        all.iter().map(|case| case.name.as_str()).filter(|n| draws_of(n).is_some()).collect();
    assert_eq!(names.len(), drawing.len());
    assert!(names.len() >= 42);
    for (name, batch) in names.into_iter().zip(drawing) {
        let (indexed, counted, most, draws) = draws_of(name).expect("filtered above");
        let [before, after] = &batches[batch];
        let primitives = count(after, "3DPRIMITIVE");
        let indirect = |commands: &[Decoded]| {
            let mut found = commands.iter().filter(|c| is(c, "3DPRIMITIVE"));
            let of_memory = found.by_ref().filter(|c| value(c, "Indirect Parameter Enable") == 1);
            of_memory.count() as u64
        };
        if most < GENERATED {
            // Registers; a predicate leaves out what the number in the buffer does not reach.
            let loads = if indexed { 5 } else { 4 };
            assert_eq!(indirect(before), most, "{name}");
            assert!(count(before, "MI_LOAD_REGISTER_MEM") >= loads * most, "{name}");
            assert_eq!(count(before, "MI_PREDICATE") >= most, counted, "{name}");
            assert_eq!(executed[batch], draws + 1, "{name}");
            continue;
        }
        assert_eq!(indirect(after), 0, "{name}");
        let ring = most >= RING;
        let passes = if ring { draws.div_ceil(RING_DRAWS) } else { 1 };
        assert_eq!(executed[batch], draws + passes + 1, "{name}");
        // The ring holds what the last pass generated.
        let held = draws - (passes - 1) * RING_DRAWS;
        assert_eq!(primitives, held + 2, "{name}: the clear, a generation and draws");
        // Generated draws come with vertex buffers of their own behind all other states: in place, or
        // behind the jump into the ring.
        let last_state = after
            .iter()
            .rposition(|c| c.info.name.starts_with("3DSTATE_") && !is(c, "3DSTATE_VERTEX_BUFFERS"));
        let generated = &after[last_state.expect("states") + 1..];
        assert_eq!(count(generated, "3DPRIMITIVE"), held, "{name}");
        let first = generated.iter().position(|c| is(c, "3DPRIMITIVE")).expect("counted above");
        // A batch that is full goes on elsewhere, too.
        assert!(count(&generated[..first], "MI_BATCH_BUFFER_START") >= u64::from(ring), "{name}");
        // Behind the ring's last draw the number of the pass is made zero again.
        let resets = count(&generated[first..], "MI_STORE_DATA_IMM");
        assert_eq!(resets, u64::from(ring), "{name}");
    }
}

/// Between draws only what changed is submitted again.
#[test]
fn states_are_submitted_when_they_change() {
    let (folder, output) = intel::trace("skl", "intel-states", &["many/states"], &[]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let batches = batches(&folder);
    let [batch, _] = batches.iter().max_by_key(|b| count(&b[0], "3DPRIMITIVE")).expect("batches");
    // The states before each draw; the first draw clears.
    let mut states: Vec<Vec<&str>> = vec![Vec::new()];
    for command in batch {
        match command.info.name {
            "3DPRIMITIVE" => states.push(Vec::new()),
            name if name.starts_with("3DSTATE_") => {
                states.last_mut().expect("never empty").push(name);
            }
            _ => {}
        }
    }
    states.pop();
    let [_clear, first, same, buffer, culled, back, again] = &states[..] else {
        panic!("{states:#?}")
    };
    assert!(first.len() > 30, "{first:?}");
    assert_eq!(same, &[""; 0]);
    assert_eq!(buffer, &["3DSTATE_VERTEX_BUFFERS"]);
    assert_eq!(culled, back);
    assert_eq!(culled, &["3DSTATE_RASTER"]);
    assert_eq!(again, &[""; 0]);
}

/// Binding tables are within 64 KiB above the surface state base, which moves when they are full.
#[test]
fn binding_tables_move() {
    let (folder, output) = intel::trace("skl", "intel-tables", &["many/tables"], &[]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let batches = batches(&folder);
    let [batch, _] = batches.iter().max_by_key(|b| count(&b[0], "GPGPU_WALKER")).expect("batches");
    assert_eq!(count(batch, "GPGPU_WALKER"), 3_000);
    let bases: Vec<u64> = batch
        .iter()
        .filter(|c| is(c, "STATE_BASE_ADDRESS"))
        .map(|c| value(c, "Surface State Base Address"))
        .collect();
    // The pool of binding tables.
    assert!(bases.iter().all(|base| (0xc000_0000..0x1_0000_0000).contains(base)), "{bases:x?}");
    assert!(bases.len() > 1 && bases.windows(2).all(|w| w[0] != w[1]), "{bases:x?}");
}
