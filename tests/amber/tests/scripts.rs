//! Runs scripts written for this test: true expectations hold, and false ones are reported with
//! their line.

use std::path::Path;

use tepui_agx_bare::pair::Linking;
use tepui_amber::{Engine, Error, Interpreter, Model, Runner, parse};

const SQUARES: &str = include_str!("scripts/squares.amber");
const EXPONENTS: &str = include_str!("scripts/exponents.amber");
const DISCARD: &str = include_str!("scripts/discard.amber");
const QUAD: &str = include_str!("scripts/quad.amber");

fn run(text: &str, engine: &mut dyn Engine) -> Result<(), Error> {
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("amber");
    Runner::new(&parse(text)?, &cache)?.run(engine)
}

fn engines() -> [Box<dyn Engine>; 3] {
    let model = |making| Box::new(Model { making });
    [model(Linking::Monolithic), model(Linking::Separate), Box::new(Interpreter)]
}

#[test]
fn compute_scripts_hold() {
    for mut e in engines() {
        for text in [SQUARES, EXPONENTS] {
            assert_eq!(run(text, e.as_mut()), Ok(()));
        }
    }
}

#[test]
fn draws_hold() {
    let [mut whole, mut parts, mut interpreter] = engines();
    for text in [QUAD, DISCARD] {
        assert_eq!(run(text, whole.as_mut()), Ok(()));
        assert_eq!(run(text, parts.as_mut()), Ok(()));
    }
    assert!(matches!(run(QUAD, interpreter.as_mut()), Err(Error::Refused { .. })));
}

/// The line at which a script fails after a replacement.
fn fails(text: &str, from: &str, to: &str) -> usize {
    assert!(text.contains(from), "{from}");
    match run(&text.replace(from, to), engines()[0].as_mut()) {
        Err(Error::Failed { line, .. }) => line,
        other => panic!("{from} to {to}: {other:?}"),
    }
}

#[test]
fn false_expectations_are_found() {
    let line =
        |text: &str, part: &str| 1 + text.lines().position(|l| l.contains(part)).expect("the line");
    let at = line(SQUARES, "EQ 9 25 49");
    assert_eq!(fails(SQUARES, "EQ 9 25 49", "EQ 9 25 48"), at);
    assert_eq!(fails(SQUARES, "x[i] * factor", "x[i] + factor"), at);
    assert_eq!(fails(SQUARES, "GT 79", "GT 80"), line(SQUARES, "GT 79"));
    assert_eq!(fails(QUAD, "EQ_RGB 0 0 255", "EQ_RGB 0 0 254"), line(QUAD, "EQ_RGB "));
    assert_eq!(fails(QUAD, "3 3 2 4", "3 3 2 1"), line(QUAD, "0 255 0 255"));
    assert_eq!(
        fails(QUAD, "RMSE_BUFFER frame TOLERANCE 255", "EQ_BUFFER frame"),
        line(QUAD, "RMSE")
    );
}
