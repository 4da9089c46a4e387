//! Third-party programs, on the CPU and on virtual GPUs: their pictures and answers must agree.
//!
//! Each test of a program that draws takes one frame on [`drivers::REFERENCE`], lavapipe (Vulkan)
//! or llvmpipe (OpenGL), and on each driver of [`drivers::TESTED`], and compares them. Each test of
//! a program that computes runs it on each of these drivers; the program compares. A component that
//! is missing fails the tests.
//!
//! `cargo test --release -p tepui-programs -- vkmark` runs a part, and with `TEPUI_PROGRAMS_ON=tepui,skl` only on these drivers. The pictures stay in
//! `target/tmp/programs`, one folder per program, with their differences in `difference`.

mod browser;
mod clients;
mod debugger;
mod drivers;
mod picture;
mod piglit;
mod programs;
mod rest;
mod session;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};

use drivers::{Driver, REFERENCE, TESTED};
use picture::{AllowedDifference, Difference, Picture};
use programs::{PROGRAMS, Program};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    if let Err(error) = drivers::check_rows() {
        eprintln!("{error}");
        return ExitCode::FAILURE;
    }
    let mut trials = Vec::new();
    let mut test = |name: String, run: Box<dyn Fn() -> Result<(), String> + Send>| {
        trials.push(Trial::test(name, move || run().map_err(Failed::from)));
    };
    for program in PROGRAMS {
        test(program.name(), Box::new(move || compare(program)));
    }
    for page in browser::PAGES {
        let run = || {
            let draw = |driver: &Driver| browser::draw(page, driver).map(|picture| vec![picture]);
            if page.is_compared {
                return agree(page.name, programs::CLOSE, false, draw);
            }
            let mut own = TESTED.iter().filter(|d| d.is_own() && d.runs(page.name));
            own.try_for_each(|driver| draw(driver).map(drop))
        };
        test(page.name.to_owned(), Box::new(run));
    }
    for client in clients::CLIENTS {
        let run = move || {
            let mut drivers = TESTED.iter().filter(|driver| driver.runs(client.script));
            drivers.try_for_each(|driver| client.run(driver))
        };
        test(client.script.to_owned(), Box::new(run));
    }
    for driver in clients::OPENCL_DRIVERS {
        test(driver.name(), Box::new(|| driver.run()));
    }
    for captured in debugger::CAPTURED {
        test(format!("debugger/{}", captured.title()), Box::new(|| captured.check()));
    }
    test("debugger/dap_client".to_owned(), Box::new(debugger::dap_client));
    trials.extend(piglit::trials());
    let mut test = |name: &str, run: Box<dyn Fn() -> Result<(), String> + Send>| {
        trials.push(Trial::test(name, move || run().map_err(Failed::from)));
    };
    test("harness/difference", Box::new(picture::check));
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("rest");
    test("harness/rest", Box::new(move || rest::check(&directory)));
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Draws the program's pictures on each driver and compares them.
fn compare(program: &Program) -> Result<(), String> {
    match program.high() {
        Some(high) => rounds_alike(program, &high),
        None => {
            let draw = |driver: &Driver| session::draw(program, driver);
            agree(&program.name(), program.allowed, program.plain, draw)
        }
    }
}

/// The difference between a driver's picture and the reference's, which is also written next to the picture.
fn difference(
    name: &str,
    driver: &Driver,
    expected: &Picture,
    got: &Picture,
) -> Result<Difference, String> {
    let difference = expected.difference(got);
    let difference = difference
        .ok_or_else(|| format!("{}: sizes {} and {}", driver.name, expected.size(), got.size()))?;
    let file = session::directory(name, driver).join("difference");
    fs::write(&file, difference.to_string()).map_err(|e| format!("{}: {e}", file.display()))?;
    Ok(difference)
}

/// An error unless the difference is within the allowed one.
fn require(
    name: &str,
    driver: &Driver,
    difference: Difference,
    allowed: AllowedDifference,
) -> Result<(), String> {
    if difference.is_within(allowed) {
        return Ok(());
    }
    Err(format!(
        "{}: {difference} differ by more than {}/255 (allowed: {} %, {} in one group)\nsee {}",
        driver.name,
        Picture::TOLERANCE,
        allowed.percent,
        allowed.group,
        session::directory(name, driver).display(),
    ))
}

/// Draws on each driver and compares the pictures with the reference's. `plain` lists the pictures of a
/// single colour.
fn agree(
    name: &str,
    allowed: AllowedDifference,
    plain: bool,
    draw: impl Fn(&Driver) -> Result<Vec<Picture>, String>,
) -> Result<(), String> {
    let expected = draw(&REFERENCE)?;
    if expected.is_empty() || expected.iter().any(|picture| picture.is_plain() != plain) {
        return Err(format!("{}: one colour, or not as the table says", REFERENCE.name));
    }
    for driver in TESTED.iter().filter(|driver| driver.runs(name)) {
        let got = draw(driver)?;
        if got.len() != expected.len() {
            return Err(format!("{}: {} pictures", driver.name, got.len()));
        }
        for (expected, got) in expected.iter().zip(&got) {
            require(name, driver, difference(name, driver, expected, got)?, allowed)?;
        }
    }
    Ok(())
}

/// Compares a scene with 16-bit floats, which drivers round differently: the difference between a driver's
/// picture and the reference's must not exceed the reference's own difference between 16 and 32 bits plus
/// that between the drivers with 32 bits; and it must be within the table's limit.
fn rounds_alike(program: &Program, high: &Program) -> Result<(), String> {
    let one = |program: &Program, driver: &Driver| -> Result<Picture, String> {
        session::draw(program, driver)?.pop().ok_or_else(|| "no picture".to_owned())
    };
    let (expected, expected_high) = (one(program, &REFERENCE)?, one(high, &REFERENCE)?);
    let moved = expected.difference(&expected_high).ok_or("sizes differ")?;
    if moved.pixels == 0 {
        return Err("the CPU draws mediump with 32 bits: nothing to compare with".to_owned());
    }
    for driver in TESTED.iter().filter(|driver| driver.runs(&program.name())) {
        let name = program.name();
        let apart = difference(&high.name(), driver, &expected_high, &one(high, driver)?)?;
        let got = difference(&name, driver, &expected, &one(program, driver)?)?;
        require(&name, driver, got, program.allowed)?;
        if got.pixels > moved.pixels + apart.pixels {
            return Err(format!(
                "{}: {got}; 16 bits move {moved} on the CPU, and {apart} differ with 32 bits\nsee {}",
                driver.name,
                session::directory(&name, driver).display(),
            ));
        }
    }
    Ok(())
}
