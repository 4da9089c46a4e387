//! `tepui check` on shaders, with suppressions and SARIF, and assembly in `tepui exec` and `tepui debug`.

use std::path::Path;
use std::process::{Command, Output};

/// Lanes store different values to one word, in line 4.
const RACE: &str = "; buffer: 0 64 index
get_sr r1, sr80
iadd r2, r1, 5
device_store 0, i32, x, r2, u0_u1, 0, unsigned, 0
stop
";

fn tepui(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tepui"));
    command.args(arguments).current_dir(folder).output().expect("tepui starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn findings_have_places_and_can_be_suppressed() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    std::fs::write(at.join("race.s"), RACE).expect("written");
    let got = tepui(at, &["check", "race.s", "--sarif", "found.sarif"]);
    let said = text(&got.stderr);
    assert_eq!(got.status.code(), Some(1), "{said}");
    assert!(said.contains("race.s:4: error: threads store different values"), "{said}");
    assert!(said.contains("[lane-race]") && said.contains("lanes 0 and 1"), "{said}");
    let sarif = std::fs::read_to_string(at.join("found.sarif")).expect("a log");
    let sarif: serde_json::Value = serde_json::from_str(&sarif).expect("JSON");
    let result = &sarif["runs"][0]["results"][0];
    assert_eq!(result["ruleId"], "lane-race");
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!(place["region"]["startLine"], 4);

    std::fs::write(at.join("known"), "lane-race line=4 # meant so\nunbound-load\n")
        .expect("written");
    let got = tepui(at, &["check", "race.s", "--suppress", "known", "--json"]);
    assert_eq!(got.status.code(), Some(0), "{}", text(&got.stderr));
    let found: serde_json::Value = serde_json::from_slice(&got.stdout).expect("JSON");
    assert_eq!(found[0]["suppressed"], "meant so");
    std::fs::write(at.join("known"), "lane-rice").expect("written");
    let got = tepui(at, &["check", "race.s", "--suppress", "known"]);
    assert!(got.status.code() == Some(2) && text(&got.stderr).contains("`lane-rice` is no rule"));
}

/// Invocations read halves of workgroup memory that none writes, in line 8.
const UNWRITTEN: &str = "#version 450
layout(local_size_x = 32) in;
layout(std430, set = 0, binding = 0) buffer B { uint b[]; };
shared uint s[64];
void main() {
    s[gl_LocalInvocationIndex] = b[gl_LocalInvocationIndex];
    barrier();
    b[gl_LocalInvocationIndex] = s[gl_LocalInvocationIndex + 32];
}
";

#[test]
fn shaders_are_checked_on_gpus_with_a_compiler() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    std::fs::write(at.join("wrong.comp"), UNWRITTEN).expect("written");
    std::fs::write(at.join("right.comp"), UNWRITTEN.replace(" + 32]", " ^ 1]")).expect("written");
    for gpu in ["m1", "skl", "tgl"] {
        let check =
            |file: &str| tepui(at, &["check", "--gpu", gpu, file, "--buffer", "0=64,index"]);
        let (wrong, right) = (check("wrong.comp"), check("right.comp"));
        let said = text(&wrong.stderr);
        assert_eq!(wrong.status.code(), Some(1), "{gpu}: {said}");
        assert!(said.contains("wrong.comp:8: error: "), "{gpu}: {said}");
        assert!(said.contains("[unwritten-local]"), "{gpu}: {said}");
        assert_eq!(right.status.code(), Some(0), "{gpu}: {}", text(&right.stderr));
    }
    std::fs::write(at.join("a.frag"), "#version 450\nvoid main() {}\n").expect("written");
    std::fs::write(at.join("a.vert"), "#version 450\nvoid main() {}\n").expect("written");
    // The checker of Mali's GPUs looks at waits of machine code, which the compiler has put where they belong.
    for gpu in ["mali-g610", "mali-g57"] {
        let got = tepui(at, &["check", "--gpu", gpu, "right.comp", "--buffer", "0=64,index"]);
        let said = text(&got.stderr);
        assert!(got.status.code() == Some(0) && said.contains("0 findings"), "{gpu}: {said}");
    }
    for gpu in ["m1", "skl", "tgl", "mali-g610", "mali-g57"] {
        let got = tepui(at, &["check", "--gpu", gpu, "a.frag"]);
        assert_eq!(got.status.code(), Some(0), "{gpu}: {}", text(&got.stderr));
    }
    let alone = "vertex shaders are debugged with the fragment shader alone";
    for (gpu, why) in [("skl", alone), ("mali-g610", alone), ("mali-g52", "compiler")] {
        let got = tepui(at, &["check", "--gpu", gpu, "a.vert"]);
        assert_eq!(got.status.code(), Some(2));
        assert!(text(&got.stderr).contains(why), "{gpu}: {}", text(&got.stderr));
    }
}

/// A program runs with the render node of any GPU that has a model; what needs a compiler or a driver says so.
#[test]
fn programs_are_checked_on_every_gpu_with_a_model() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    std::fs::write(at.join("a.comp"), UNWRITTEN).expect("written");
    for gpu in ["mali-t860", "mali-g52", "mali-g610", "tgl"] {
        let script = "test -e /dev/dri/renderD128 && exit 3";
        let got = tepui(at, &["check", "--gpu", gpu, "--", "sh", "-c", script]);
        assert_eq!(got.status.code(), Some(3), "{gpu}: {}", text(&got.stderr));
    }
    for (arguments, what) in [(&["a.comp"][..], "compiler"), (&["--own", "--", "true"], "driver")] {
        let got = tepui(at, &[&["check", "--gpu", "mali-t860"], arguments].concat());
        let said = text(&got.stderr);
        assert_eq!(got.status.code(), Some(2), "{said}");
        assert!(said.contains("mali-t860") && said.contains(what), "{said}");
    }
}

#[test]
fn assembly_is_run_and_debugged() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let right = RACE.replace("u0_u1, 0, unsigned", "u0_u1, r1, unsigned");
    std::fs::write(at.join("right.s"), &right).expect("written");
    let got = tepui(at, &["check", "right.s"]);
    assert_eq!(got.status.code(), Some(0), "{}", text(&got.stderr));
    let got = tepui(at, &["exec", "right.s", "--buffer", "0=256"]);
    assert!(text(&got.stdout).contains("     0: 00000005 00000006 00000007"), "{got:?}");
    let script = ["-e", "break 4", "-e", "continue", "-e", "print r2"];
    let got = tepui(at, &[&["debug", "right.s", "--thread", "7"][..], &script].concat());
    let said = text(&got.stdout);
    assert!(said.contains("right.s") || said.contains("device_store"), "{said}");
    assert!(said.contains("0000000c"), "{said}");
    std::fs::write(at.join("wrong.s"), "; workgroup: 64\nadd r1").expect("written");
    let got = tepui(at, &["exec", "wrong.s"]);
    assert!(text(&got.stderr).contains("wrong.s: line 2"), "{got:?}");
}

/// A page with a table in its place.
fn with_table(page: &str, name: &str, table: &str) -> String {
    let start = format!("<!-- {name} -->\n");
    let (before, rest) = page.split_once(&start).expect("a place for the table");
    let (_, after) = rest.split_once("<!-- end -->").expect("the end of the table");
    format!("{before}{start}{table}<!-- end -->{after}")
}

#[test]
fn the_page_has_the_rules() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/checker.md");
    let page = std::fs::read_to_string(&path).expect("the page is there");
    let wanted = with_table(&page, "rules", &tepui_check::rule::table());
    let wanted = with_table(&wanted, "restrictions", &tepui_intel_model::restriction_table());
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, wanted).expect("the page can be written");
    } else {
        assert!(wanted == page, "docs/checker.md is not up to date: run with BLESS=1");
    }
    let got = tepui(Path::new("."), &["check", "--explain", "dispatch-race"]);
    assert!(text(&got.stdout).contains("To mend: "), "{got:?}");
}
