//! Accessibility of the page: axe-core's rules in light and dark mode, and a narrow screen.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::Session;

/// axe-core as `tests/clients/fetch` brings it.
fn axe() -> String {
    let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/clients/fetch");
    let out = Command::new(tool).output().expect("tests/clients/fetch starts");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let clients = PathBuf::from(String::from_utf8_lossy(&out.stdout).trim());
    let path = clients.join("node/node_modules/axe-core/axe.min.js");
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

#[test]
fn axe_finds_no_violation() {
    let Some(mut s) = Session::open("axe") else { return };
    let axe = axe();
    s.page.value(&format!("{axe}\ntypeof axe.run"));
    let mut wrong = Vec::new();
    let mut rules = 0;
    for scheme in ["light", "dark"] {
        s.page.look(scheme, 1280, 800);
        s.example("Image filter");
        s.page.value("document.getElementById('check').checked = true");
        for tab in ["asm", "ir", "compare", "run", "debug"] {
            match tab {
                "run" => s.run(),
                "debug" => {
                    s.page.click("debug");
                    s.page.wait("document.querySelectorAll('#lanes button').length === 32");
                }
                tab => s.page.click(&format!("tab-{tab}")),
            }
            s.idle();
            let found = s.page.value(
                "axe.run(document).then((r) => ({ passes: r.passes.length, violations: \
                 r.violations.map((v) => `${v.id}: ${v.help}: ${v.nodes.map((n) => n.html + ' ' + n.failureSummary).slice(0, 3)}`) }))",
            );
            rules += found["passes"].as_u64().unwrap_or(0);
            for violation in found["violations"].as_array().into_iter().flatten() {
                wrong.push(format!("{scheme}, {tab}: {violation}"));
            }
            s.page.screenshot(&s.directory.join(format!("{scheme}-{tab}.png")));
        }
    }
    assert!(wrong.is_empty(), "{} violations:\n{}", wrong.len(), wrong.join("\n"));
    // Each pane has something to look at.
    assert!(rules > 100, "axe has looked at {rules} rules only");
    s.end();
}

#[test]
fn nothing_is_wider_than_a_narrow_screen() {
    let Some(mut s) = Session::open("narrow") else { return };
    s.page.look("dark", 390, 800);
    s.example("Image filter");
    for tab in ["asm", "ir", "compare", "run", "debug"] {
        match tab {
            "run" => s.run(),
            tab => s.page.click(&format!("tab-{tab}")),
        }
        s.idle();
        let width = s.page.value("document.documentElement.scrollWidth");
        assert_eq!(json!(width.as_u64().is_some_and(|w| w <= 390)), json!(true), "{tab}: {width}");
        s.page.screenshot(&s.directory.join(format!("{tab}.png")));
    }
    s.end();
}
