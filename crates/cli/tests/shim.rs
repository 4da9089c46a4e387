//! Runs `tepui shim` and `tepui gpus` as commands.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};

fn tepui(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tepui"));
    command.args(arguments);
    command
}

fn shim(arguments: &[&str]) -> Output {
    tepui(&["shim"]).args(arguments).output().expect("tepui starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn status_signals_and_output_are_the_programs() {
    let output = shim(&["--gpu", "m1", "--", "sh", "-c", "echo out; echo err >&2; exit 7"]);
    assert_eq!(output.status.code(), Some(7));
    assert_eq!((text(&output.stdout), text(&output.stderr)), ("out\n".into(), "err\n".into()));
    let output = shim(&["--", "sh", "-c", "kill -TERM $$"]);
    assert_eq!(output.status.signal(), Some(15));
    // A pipe that closes early ends a program by SIGPIPE, as without the shim.
    let output = shim(&["--", "sh", "-c", "trap"]);
    assert_eq!(text(&output.stdout), "", "no signal is ignored");
    // Options after the program's name belong to the program.
    let output = shim(&["echo", "--gpu", "m9", "--help"]);
    assert_eq!(text(&output.stdout), "--gpu m9 --help\n");
}

#[test]
fn the_environment_is_kept_beside_what_the_library_needs() {
    let show = |command: &mut Command| {
        let output = command.output().expect("it starts");
        let mut lines: Vec<String> = text(&output.stdout).lines().map(str::to_owned).collect();
        lines.retain(|line| !line.starts_with("_="));
        lines.sort();
        lines
    };
    let plain = show(&mut Command::new("env"));
    let mut shimmed = show(&mut tepui(&["shim", "--gpu", "m2", "--threads", "3", "env"]));
    let ours = |line: &String| line.starts_with("TEPUI_") || line.starts_with("LD_PRELOAD=");
    let (set, rest): (Vec<_>, Vec<_>) = shimmed.drain(..).partition(ours);
    assert_eq!(rest, plain.into_iter().filter(|line| !ours(line)).collect::<Vec<_>>());
    assert!(
        set.contains(&"TEPUI_GPU=m2".into()) && set.contains(&"TEPUI_THREADS=3".into()),
        "{set:?}"
    );
    // LD_PRELOAD is kept: an unknown library in it makes the dynamic linker complain.
    let output = tepui(&["shim", "env"]).env("LD_PRELOAD", "libother.so").output().unwrap();
    let line = text(&output.stdout)
        .lines()
        .find(|line| line.starts_with("LD_PRELOAD="))
        .map(str::to_owned);
    assert!(line.is_some_and(|line| line.ends_with("/libtepui_drm_shim.so:libother.so")));
}

#[test]
fn the_program_has_the_node() {
    for gpu in ["m1", "m1-max"] {
        let output =
            shim(&["--gpu", gpu, "--", "sh", "-c", "cat /sys/class/drm/renderD*/device/uevent"]);
        let expected = if gpu == "m1" { "apple,agx-g13g" } else { "apple,agx-g13c" };
        assert!(text(&output.stdout).contains(&format!("OF_COMPATIBLE_0={expected}\n")));
    }
}

#[test]
fn errors_say_what_to_do() {
    let cases: [(&[&str], i32, &str); 4] = [
        (&["/nonexistent/program"], 127, "tepui shim: /nonexistent/program: No such file"),
        (&["/dev/null"], 126, "tepui shim: /dev/null: Permission denied"),
        (&["--gpu", "m3", "true"], 2, "[possible values: m1, m1-pro, m1-max, m2, "),
        (&[], 2, "required arguments were not provided"),
    ];
    for (arguments, status, message) in cases {
        let output = shim(arguments);
        assert_eq!(output.status.code(), Some(status), "{arguments:?}");
        assert!(text(&output.stderr).contains(message), "{}", text(&output.stderr));
        assert_eq!(text(&output.stdout), "");
    }
    let missing =
        tepui(&["shim", "true"]).env("TEPUI_SHIM_LIB", "/nonexistent.so").output().unwrap();
    assert_eq!(missing.status.code(), Some(1));
    assert!(text(&missing.stderr).contains("/nonexistent.so: no such file (TEPUI_SHIM_LIB)"));
}

#[test]
fn the_gpus_are_a_table_or_json() {
    let table = text(&tepui(&["gpus"]).output().unwrap().stdout);
    let line = |id: &str| {
        let line = table.lines().find(|line| line.starts_with(&format!("{id} ")));
        line.unwrap_or_else(|| panic!("no {id} in\n{table}")).split_whitespace().collect::<Vec<_>>()
    };
    assert_eq!(
        line("m1"),
        ["m1", "Apple", "M1", "G13G", "B0", "8103", "yes", "yes", "yes", "yes", "yes"]
    );
    assert_eq!(line("m2")[5..], ["8112", "untested", "-", "-", "untested", "yes"]);
    assert_eq!(line("mali-g52")[4..], ["7212", "yes", "-", "-", "yes", "yes"]);
    assert_eq!(line("mali-g31")[4..], ["7093", "untested", "-", "-", "yes", "yes"]);
    assert_eq!(line("skl")[8..], ["1912", "yes", "in", "part", "in", "part", "yes", "yes"]);
    assert_eq!(line("tgl")[9..], ["9a49", "yes", "in", "part", "in", "part", "yes", "-"]);
    // The last column starts at the same place in all lines, however long the names are.
    let last_columns: Vec<_> =
        table.lines().map(|line| line.rfind("  ").map(|at| at + 2)).collect();
    assert!(last_columns.iter().all(|at| *at == last_columns[0]), "{table}");
    let json = tepui(&["gpus", "--json"]).output().unwrap().stdout;
    let rows: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(rows[2]["id"], "m1-max");
    assert_eq!(rows[2]["cores"], 32);
    assert_eq!(rows.as_array().map(|rows| rows.len() + 1), Some(table.lines().count()));
}

#[test]
fn the_command_embeds_its_library() {
    // As after `cargo install`: no library next to the command.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let command = folder.path().join("tepui");
    // Not a copy: a process that another test starts meanwhile may inherit the open file, and a
    // file that is open for writing cannot be executed.
    std::fs::hard_link(env!("CARGO_BIN_EXE_tepui"), &command).unwrap();
    for _ in 0..2 {
        let output = Command::new(&command)
            .args(["shim", "--", "sh", "-c", "cat /sys/class/drm/renderD*/device/uevent"])
            .env("XDG_CACHE_HOME", folder.path().join("cache"))
            .env_remove("TEPUI_SHIM_LIB")
            .output()
            .unwrap();
        assert!(text(&output.stdout).contains("apple,agx-g13g"), "{}", text(&output.stderr));
    }
    let cached = folder.path().join("cache/tepui/shim").read_dir().unwrap().count();
    assert_eq!(cached, 1, "one copy of the library");
}

#[test]
fn the_command_interposes_nothing() {
    // The library is a dependency only so that cargo builds it; its functions must not replace
    // libc's in the command.
    let output =
        Command::new("nm").arg(env!("CARGO_BIN_EXE_tepui")).output().expect("binutils' nm");
    let symbols = text(&output.stdout);
    assert!(symbols.contains(" T main"), "the command has symbols");
    let own =
        symbols.lines().find(|line| line.ends_with(" T open64") || line.ends_with(" T ioctl"));
    assert_eq!(own, None);
}
