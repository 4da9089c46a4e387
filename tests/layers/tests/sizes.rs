//! Files have at most 800 lines and functions of crates at most 120, but for those that are listed with a reason.

use std::path::{Path, PathBuf};

const FILE_LINES: usize = 800;
const FUNCTION_LINES: usize = 120;

const CASES: &str = "test cases, which are read one at a time";
const MATCH: &str = "a match with a few lines for each of many kinds";
const TABLE: &str = "a value with many fields";
const LONG: &str = "steps that share much state: to be divided";

/// Longer files, by their path, with the reason.
const FILES: &[(&str, &str)] = &[
    ("crates/agx/texture/tests/reads.rs", CASES),
    ("crates/ir/src/shader.rs", "the data structure, with its small accessors"),
    ("tests/witness/src/cases/passes.rs", CASES),
    ("tests/witness/src/cases/pixels.rs", CASES),
    ("tests/witness/src/cases/texture.rs", CASES),
];

/// Longer functions of crates, by file and name, with the reason.
const FUNCTIONS: &[(&str, &str, &str)] = &[
    ("crates/agx/compiler/src/select/long.rs", "one_long", MATCH),
    ("crates/agx/compiler/src/select/texture.rs", "lookup", LONG),
    ("crates/agx/driver/src/limits.rs", "property_chain", TABLE),
    ("crates/agx/driver/src/recipe.rs", "new", TABLE),
    ("crates/agx/model/src/pipeline.rs", "load", TABLE),
    ("crates/agx/model/src/usc/jit/lanes.rs", "lanes", MATCH),
    ("crates/agx/model/src/usc/lower/mod.rs", "lower", MATCH),
    ("crates/debug/src/command.rs", "run", MATCH),
    ("crates/intel/eu/src/program.rs", "lower", LONG),
    ("crates/intel/eu/src/translate/kind.rs", "kind", MATCH),
    ("crates/intel/model/src/port/render.rs", "render_target_write", LONG),
    ("crates/intel/model/src/port/sampler/filter.rs", "sample", LONG),
    ("crates/intel/model/src/render/depth.rs", "of", LONG),
    ("crates/intel/model/src/render/geometry.rs", "primitive", LONG),
    ("crates/intel/model/src/render/mod.rs", "draw", LONG),
    ("crates/intel/model/src/render/pixel.rs", "run", LONG),
    ("crates/ir/src/interp/exec.rs", "inst", MATCH),
    ("crates/ir/src/interp/wave.rs", "cross_lane", LONG),
    ("crates/ir/src/parse.rs", "declaration", MATCH),
    ("crates/mali/driver/src/limits.rs", "property_chain", TABLE),
    ("crates/mali/model/src/shader/bifrost/message.rs", "lower", MATCH),
    ("crates/mali/model/src/shader/bifrost/texture.rs", "operation", LONG),
    ("crates/mali/model/src/shader/decode.rs", "operation", MATCH),
    ("crates/mali/streams/src/interpreter.rs", "run", MATCH),
    ("crates/mali/streams/src/text.rs", "write", MATCH),
    ("crates/passes/src/lower_alu.rs", "scalar", MATCH),
    ("crates/passes/src/lower_int64/arith.rs", "arith", MATCH),
    ("crates/passes/src/simplify.rs", "value", MATCH),
    ("crates/regalloc/src/alloc/check.rs", "check", LONG),
    ("crates/spirv/src/alu.rs", "alu_inst", MATCH),
    ("crates/spirv/src/declare.rs", "declare_type", MATCH),
    ("crates/spirv/src/glsl.rs", "glsl", MATCH),
    ("crates/spirv/src/memory.rs", "memory_inst", MATCH),
    ("crates/spirv/src/pointer.rs", "step", MATCH),
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true if path.ends_with("target") => {}
            true => sources(&path, found),
            false if path.extension().is_some_and(|e| e == "rs") => found.push(path),
            false => {}
        }
    }
}

#[test]
fn files_and_functions_are_short() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Vec::new();
    sources(&root.join("crates"), &mut found);
    sources(&root.join("tests"), &mut found);
    found.sort();
    assert!(found.len() > 1000, "{} files", found.len());
    let mut wrong = String::new();
    let (mut files, mut functions) = (Vec::new(), Vec::new());
    for path in &found {
        let name = path.strip_prefix(&root).unwrap().to_str().unwrap();
        let sizes = tepui_layers::sizes(path).unwrap_or_else(|e| panic!("{e}"));
        if sizes.lines > FILE_LINES {
            files.push(name);
            if !FILES.iter().any(|(file, _)| *file == name) {
                wrong += &format!("{name}: {} lines\n", sizes.lines);
            }
        }
        let is_of_crate = name.starts_with("crates/") && name.contains("/src/");
        for (function, lines) in sizes.functions {
            if is_of_crate && lines > FUNCTION_LINES {
                if !FUNCTIONS.iter().any(|(file, f, _)| *file == name && *f == function) {
                    wrong += &format!("{name}: `{function}` has {lines} lines\n");
                }
                functions.push((name, function));
            }
        }
    }
    for (file, _) in FILES.iter().filter(|(file, _)| !files.contains(file)) {
        wrong += &format!("{file} is listed, and is short\n");
    }
    for (file, name, _) in FUNCTIONS {
        if !functions.iter().any(|(f, n)| f == file && n == name) {
            wrong += &format!("`{name}` of {file} is listed, and is short\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
