//! The scenes on Mesa's drivers over virtual GPUs, compared with llvmpipe: `iris` on Intel's, `panfrost` on Mali.
//!
//! The scenes on Mali run if the variable `TEPUI_WITNESS_MALI` is set, as the Vulkan cases on the virtual Mali do, and need the same:
//! `tools/mesa fetch --arch arm64`, `tools/forwarder`, and `tools/cross -p tepui-gles`. All programs are OpenGL ES
//! without a window. The pixels must be the same within [`TOLERANCE`], except [`MAX_DIFFERENT`] of a scene, at edges.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::Command;

/// By how much channels may differ: rounding of interpolation and filters.
const TOLERANCE: u8 = 8;

/// Maximum number of pixels of a picture with a larger difference: those on the edge of a primitive or a
/// texel.
const MAX_DIFFERENT: usize = 4;

/// GPUs, a part of what the driver calls them, and scenes that it does not draw as llvmpipe does.
type Gpus = &'static [(&'static str, &'static str, &'static [&'static str])];

const INTEL: Gpus = &[("skl", "HD Graphics 530", &[]), ("tgl", "Xe Graphics", &[])];

const MALI: Gpus = &[
    ("mali-g610", "Mali-G610", &[]),
    ("mali-g57", "Mali-G57", &[]),
    ("mali-g52", "Mali-G52", &[]),
    ("mali-g72", "Mali-G72", &[]),
    ("mali-t860", "Mali-T860", &[]),
    ("mali-t720", "Mali-T720", T720_LACKS),
];

/// Scenes that the T720's driver has no means for: it has one render target, and does not say in memory how far a
/// target's samples are from each other.
const T720_LACKS: &[&str] = &["targets", "samples"];

/// The driver offers OpenGL ES 2.0 on the T720, and draws what it is asked for beyond that.
const VERSION: (&str, &str) = ("MESA_GLES_VERSION_OVERRIDE", "3.1");

/// Scenes that at least are drawn.
const SCENES: usize = 17;

fn mesa() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/mesa")
}

fn pixels(path: &Path) -> Vec<u8> {
    let file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut reader = png::Decoder::new(BufReader::new(file)).read_info().expect("a PNG");
    let mut pixels = vec![0; reader.output_buffer_size().expect("a size")];
    reader.next_frame(&mut pixels).expect("a whole PNG");
    pixels
}

/// Runs the program; returns the renderer and the scenes.
fn draw(mut command: Command) -> (String, Vec<String>) {
    let output = command.output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
    let text = String::from_utf8(output.stdout).expect("text");
    let mut lines = text.lines().map(str::to_owned);
    (lines.next().expect("a renderer"), lines.collect())
}

#[test]
fn iris_draws_scenes_as_the_cpu_does() {
    compare(INTEL, None);
}

#[test]
fn panfrost_draws_scenes_as_the_cpu_does() {
    if std::env::var_os("TEPUI_WITNESS_MALI").is_some() {
        compare(MALI, Some("arm64"));
    }
}

/// Compares the scenes on GPUs, by programs of this machine or of another architecture.
fn compare(gpus: Gpus, architecture: Option<&str>) {
    let gles = Path::new(env!("CARGO_BIN_EXE_gles"));
    let tepui = gles.with_file_name("tepui");
    let target = gles.parent().and_then(Path::parent).expect("a target folder");
    let foreign = target.join("aarch64-unknown-linux-gnu/release/gles");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let folder = folder.join(format!("gles-{}", architecture.unwrap_or("native")));
    let _ = std::fs::remove_dir_all(&folder);

    let expected = folder.join("cpu");
    let mut command = Command::new(mesa());
    command.args(["run", "--"]).arg(gles).arg(&expected);
    command.env("LIBGL_ALWAYS_SOFTWARE", "1");
    // Filters as the specification has them, where llvmpipe would approximate.
    command.env("GALLIVM_PERF", "no_brilinear,no_rho_approx,no_quad_lod,no_aos_sampling");
    let (renderer, scenes) = draw(command);
    assert!(renderer.contains("llvmpipe") && scenes.len() >= SCENES, "{renderer}: {scenes:?}");

    for (gpu, name, lacks) in gpus {
        let drawn = folder.join(gpu);
        let mut command = Command::new(&tepui);
        command.args(["shim", "--gpu", gpu, "--"]).arg(mesa());
        command.arg("run");
        match architecture {
            Some(other) => command.args(["--arch", other, "--"]).arg(&foreign),
            None => command.arg("--").arg(gles),
        };
        command.arg(&drawn);
        let wanted: Vec<&String> = scenes.iter().filter(|s| !lacks.contains(&&***s)).collect();
        command.args(&wanted);
        if !lacks.is_empty() {
            command.env(VERSION.0, VERSION.1);
        }
        command.env("MESA_SHADER_CACHE_DISABLE", "true");
        let (renderer, own) = draw(command);
        assert!(renderer.contains(name), "{renderer}");
        assert!(own.iter().eq(wanted.iter().copied()), "{gpu}: {own:?}");
        for scene in wanted {
            let file = format!("{scene}.png");
            let (ours, theirs) = (pixels(&drawn.join(&file)), pixels(&expected.join(&file)));
            assert_eq!(ours.len(), theirs.len(), "{scene}");
            let far = |(a, b): &(&[u8], &[u8])| {
                a.iter().zip(b.iter()).any(|(a, b)| a.abs_diff(*b) > TOLERANCE)
            };
            let different = ours.chunks(4).zip(theirs.chunks(4)).filter(far).count();
            assert!(different <= MAX_DIFFERENT, "{gpu}, {scene}: {different} pixels differ");
            // A picture of one colour shows nothing.
            let first = &theirs[..4];
            let varied = theirs.chunks(4).any(|pixel| pixel != first);
            assert!(varied || scene == "clear", "{scene} is blank");
        }
    }
}
