//! Third-party compute shaders run in the browser as they do natively, bit for bit.
//!
//! These are the shaders of `tools/corpus`, WGSL and SPIR-V, that the compiler and the model accept
//! with the page's default buffers, images and samplers.

use std::path::{Path, PathBuf};
use std::process::Command;

use data_encoding::BASE64;
use serde_json::{Value, json};
use tepui_explore::api::Api;

use crate::{Session, native, results};

/// Shaders that have run when this was written.
const FLOOR: usize = 104;
/// Instructions of SIMD-groups of a run: arbitrary inputs make some loops endless.
const BUDGET: u64 = 1 << 18;

/// The corpus, which is fetched first.
fn corpus() -> PathBuf {
    let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/corpus");
    let run = |verb: &str| {
        let out = Command::new(&tool).arg(verb).output().expect("tools/corpus starts");
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(out.status.success(), "tools/corpus {verb}: {said}");
        String::from_utf8_lossy(&out.stdout).trim().to_owned()
    };
    run("fetch");
    PathBuf::from(run("path"))
}

/// Modules of SPIR-V and files of WGSL below a folder, in order.
fn shaders(folder: &Path, out: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            shaders(&path, out);
        } else if path.extension().is_some_and(|e| e == "spv" || e == "wgsl") {
            out.push(path);
        }
    }
}

/// A request without its operation: the shader of a file.
fn shader(path: &Path) -> Value {
    let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    match path.extension().is_some_and(|e| e == "spv") {
        true => json!({ "text": "", "words": BASE64.encode(&bytes), "stage": "compute" }),
        false => json!({ "text": String::from_utf8_lossy(&bytes), "stage": "compute" }),
    }
}

/// The resources of a shader; nothing if it is not a compute shader that compiles.
fn resources(api: &mut Api, shader: &Value) -> Option<Vec<Value>> {
    let mut request = shader.clone();
    request["op"] = json!("compile");
    let report = native(api, &request)["ok"].clone();
    let compute = report["stage"] == "compute";
    report["resources"].as_array().filter(|_| compute).cloned()
}

/// The request that runs a shader with something in everything that it names.
fn request(resources: &[Value], shader: &Value, fill: &str) -> Value {
    let place = |r: &Value| json!({ "set": r["set"], "binding": r["binding"] });
    let with = |r: &Value, name: &str, value: Value| {
        let mut place = place(r);
        place[name] = value;
        place
    };
    let buffers = resources.iter().filter(|r| r["kind"] == "storage_buffer").map(|r| {
        let mut contents = with(r, "words", json!(4096));
        contents["fill"] = json!(fill);
        contents
    });
    let images = resources.iter().filter(|r| r["dim"] != "").map(|r| {
        let size = match r["dim"].as_str() {
            Some("1d" | "buffer") => "64",
            Some("3d") => "16x16x4",
            _ => "32x32",
        };
        with(r, "what", json!(format!("noise,size={size}")))
    });
    let samplers = resources.iter().filter(|r| r["sampler"] == true);
    let inputs = json!({
        "groups": [2, 1, 1],
        "budget": BUDGET,
        "buffers": buffers.collect::<Vec<_>>(),
        "images": images.collect::<Vec<_>>(),
        "samplers": samplers.map(|r| with(r, "what", json!("linear,repeat"))).collect::<Vec<_>>(),
    });
    let mut request = shader.clone();
    (request["op"], request["inputs"]) = (json!("run"), inputs);
    request
}

#[test]
fn the_corpus_runs_as_natively() {
    let Some(mut s) = Session::open("corpus") else { return };
    let mut api = Api::default();
    let (corpus, mut paths) = (corpus(), Vec::new());
    for folder in ["spv", "wgsl"] {
        shaders(&corpus.join(folder), &mut paths);
    }
    let (mut ran, mut runs, mut wrong) = (0, 0, Vec::new());
    for path in &paths {
        let shader = shader(path);
        let Some(resources) = resources(&mut api, &shader) else { continue };
        let mut fits = false;
        for fill in ["index", "random"] {
            let request = request(&resources, &shader, fill);
            let own = native(&mut api, &request);
            if own.get("error").is_some() {
                continue;
            }
            (fits, runs) = (true, runs + 1);
            let there = s.ask(&request);
            if results(&there["ok"]) != results(&own["ok"]) {
                wrong.push(format!("{} with {fill}: {}", path.display(), there["error"]));
            }
        }
        ran += usize::from(fits);
    }
    println!("{ran} of {} files run, {runs} runs, {} differ", paths.len(), wrong.len());
    assert!(wrong.is_empty(), "{} of {runs} runs differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(ran >= FLOOR, "{ran} of {} shaders have run; {FLOOR} did", paths.len());
    s.end();
}
