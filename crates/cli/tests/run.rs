//! `tepui run` as a command: the environment that programs get, and what the driver's library
//! exports.

use std::path::Path;
use std::process::{Command, Output};

fn run(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tepui"));
    command.arg("run").args(arguments);
    command
}

fn output(command: &mut Command) -> Output {
    command.output().expect("tepui starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The value of a variable in the output of `env`.
fn value(output: &Output, variable: &str) -> Option<String> {
    let text = text(&output.stdout);
    let line = text.lines().find_map(|line| line.strip_prefix(variable)?.strip_prefix('='));
    line.map(str::to_owned)
}

#[test]
fn the_loader_finds_the_driver_alone() {
    let home = tempfile::tempdir().unwrap();
    let mut command = run(&["--gpu", "m1", "--check", "--threads", "3", "env"]);
    command.env("HOME", home.path()).env_remove("XDG_CACHE_HOME");
    command.env_remove("MESA_LOADER_DRIVER_OVERRIDE");
    let output = output(command.env("VK_DRIVER_FILES", "/other.json"));
    let manifest = value(&output, "VK_DRIVER_FILES").unwrap();
    assert_eq!(value(&output, "VK_ICD_FILENAMES").as_ref(), Some(&manifest));
    assert!(Path::new(&manifest).starts_with(home.path().join(".cache/tepui/icd")), "{manifest}");
    assert_eq!(value(&output, "TEPUI_VULKAN_GPU").as_deref(), Some("m1"));
    assert_eq!(value(&output, "TEPUI_CHECK").as_deref(), Some("1"));
    assert_eq!(value(&output, "TEPUI_THREADS").as_deref(), Some("3"));
    // No other interface is virtual: the preloaded library stays away.
    assert_eq!(value(&output, "TEPUI_GPU"), None);
    assert_eq!(value(&output, "MESA_LOADER_DRIVER_OVERRIDE"), None);

    // Parsed line by line, as by a program without the loader.
    let manifest = std::fs::read_to_string(manifest).unwrap();
    let line = manifest.lines().find(|line| line.contains("\"library_path\"")).unwrap();
    let library = line.split('"').nth(3).unwrap();
    assert!(Path::new(library).is_absolute() && Path::new(library).is_file(), "{library}");
}

#[test]
fn opengl_goes_through_zink_if_asked_for() {
    let home = tempfile::tempdir().unwrap();
    let mut command = run(&["--gl", "env"]);
    command.env("HOME", home.path()).env_remove("MESA_LOADER_DRIVER_OVERRIDE");
    let output = output(&mut command);
    assert_eq!(value(&output, "MESA_LOADER_DRIVER_OVERRIDE").as_deref(), Some("zink"));
    assert_eq!(value(&output, "RUSTICL_ENABLE").as_deref(), Some("zink"));
    assert!(value(&output, "VK_DRIVER_FILES").is_some());
}

/// EGL's and OpenCL's devices are render nodes: the driver and they share one.
#[test]
fn opengl_has_a_render_node() {
    let home = tempfile::tempdir().unwrap();
    let nodes = |arguments: &[&str]| {
        let mut command = run(arguments);
        let output =
            output(command.args(["--gpu", "m1", "ls", "/dev/dri"]).env("HOME", home.path()));
        text(&output.stdout).matches("renderD").count()
    };
    assert_eq!(nodes(&["--gl"]), nodes(&[]) + 1);
    let mut command = run(&["--gl", "--gpu", "m1", "env"]);
    let output = output(command.env("HOME", home.path()).env("LD_PRELOAD", ""));
    assert_eq!(value(&output, "TEPUI_GPU").as_deref(), Some("m1"));
    assert_eq!(value(&output, "TEPUI_VULKAN_GPU").as_deref(), Some("m1"));
}

#[test]
fn captures_go_to_a_directory() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("a/b");
    let output = output(
        run(&["--capture", directory.to_str().unwrap(), "--", "env"]).env("HOME", folder.path()),
    );
    assert!(directory.is_dir());
    assert_eq!(value(&output, "TEPUI_CAPTURE").as_deref(), directory.to_str());
}

#[test]
fn status_and_errors_are_as_in_shells() {
    let home = tempfile::tempdir().unwrap();
    let status = |arguments: &[&str]| output(run(arguments).env("HOME", home.path()));
    assert_eq!(status(&["sh", "-c", "exit 7"]).status.code(), Some(7));
    assert_eq!(status(&["/nonexistent/program"]).status.code(), Some(127));
    assert_eq!(status(&["/dev/null"]).status.code(), Some(126));
    let missing = output(run(&["true"]).env("TEPUI_ICD_LIB", "/nonexistent.so"));
    assert_eq!(missing.status.code(), Some(1));
    assert!(text(&missing.stderr).contains("/nonexistent.so: no such file (TEPUI_ICD_LIB)"));
}

/// The loader takes names that a driver exports for the API itself: it may export its own interface
/// alone, and programs that open it without the loader need that by name.
#[test]
fn the_library_exports_the_interface_of_drivers_alone() {
    let folder = Path::new(env!("CARGO_BIN_EXE_tepui")).parent().unwrap();
    let library = folder.join("deps/libvulkan_tepui.so");
    let output = Command::new("nm").args(["-D", "--defined-only"]).arg(library).output().unwrap();
    let text = text(&output.stdout);
    let mut names: Vec<_> = text.lines().filter_map(|line| line.split(' ').nth(2)).collect();
    names.sort_unstable();
    let expected = [
        "vk_icdGetInstanceProcAddr",
        "vk_icdGetPhysicalDeviceProcAddr",
        "vk_icdNegotiateLoaderICDInterfaceVersion",
    ];
    assert_eq!(names, expected);
}
