//! Graphics programs that others wrote, on the CPU and on the virtual M1: the pictures must agree.
//!
//! Each test draws one frame of a program three times: on lavapipe (Vulkan) or llvmpipe (OpenGL), on
//! Mesa's drivers for Apple GPUs over the virtual M1, and there again without lossless compression of
//! images. OpenGL on the virtual M1 is Mesa's zink over Honeykrisp, because Mesa's own OpenGL driver
//! for Apple GPUs shows its pictures through DRI3 only, which Xvfb does not have. A component that is
//! missing fails the tests.
//!
//! `cargo test --release -p tepui-programs -- vkmark` runs a part. The pictures stay in
//! `target/tmp/programs`, one folder a program.

mod browser;
mod picture;
mod programs;
mod session;

use std::path::PathBuf;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};

use picture::Picture;
use programs::{PROGRAMS, Program};
use session::{Driver, Wanted, draw};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut trials: Vec<Trial> = PROGRAMS
        .iter()
        .map(|program| Trial::test(program.name(), move || compare(program).map_err(Failed::from)))
        .collect();
    trials.push(Trial::test("chromium", || {
        agree(0.1, false, |driver, _| browser::draw(driver), browser::directory)
            .map_err(Failed::from)
    }));
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Draws the program's frame on each driver and compares the pictures.
fn compare(program: &Program) -> Result<(), String> {
    if let Some(high) = program.high() {
        return rounds_alike(program, &high);
    }
    let directory = |driver| session::directory(&program.name(), driver);
    agree(program.percent, program.plain, |driver, wanted| draw(program, driver, wanted), directory)
}

/// A scene with floats of 16 bits, which drivers round in places of their own: the virtual M1's picture is no further from the CPU's
/// than 16 bits move the CPU's own picture, and what the two differ by with 32 bits.
fn rounds_alike(program: &Program, high: &Program) -> Result<(), String> {
    let [cpu, m1, cpu_high, m1_high] =
        [(program, Driver::Cpu), (program, Driver::M1), (high, Driver::Cpu), (high, Driver::M1)]
            .map(|(program, driver)| draw(program, driver, None));
    let (cpu, m1, cpu_high, m1_high) = (cpu?, m1?, cpu_high?, m1_high?);
    let differ = |a: &Picture, b: &Picture| a.differing(b).ok_or("sizes differ");
    let (got, moved, apart) =
        (differ(&cpu, &m1)?, differ(&cpu, &cpu_high)?, differ(&cpu_high, &m1_high)?);
    if moved == 0 {
        return Err("the CPU draws mediump with 32 bits: nothing to compare with".to_owned());
    }
    if got > moved + apart {
        return Err(format!(
            "{got} pixels differ; 16 bits move {moved} on the CPU, and {apart} differ with 32 bits\nsee {}",
            session::directory(&program.name(), Driver::M1).display(),
        ));
    }
    Ok(())
}

/// Draws on each driver and compares the pictures: `percent` of the pixels may differ; `plain` are
/// those of one colour. `draw` is told which pictures will do.
fn agree(
    percent: f64,
    plain: bool,
    draw: impl Fn(Driver, Wanted<'_>) -> Result<Picture, String>,
    directory: impl Fn(Driver) -> PathBuf,
) -> Result<(), String> {
    let expected = draw(Driver::Cpu, None)?;
    if !plain && expected.is_plain() {
        return Err("the CPU's picture has one colour only".to_owned());
    }
    let allowed = percent / 100.0 * expected.pixels() as f64;
    let good = |got: &Picture| expected.differing(got).is_some_and(|n| n as f64 <= allowed);
    for driver in [Driver::M1, Driver::M1Uncompressed] {
        let got = draw(driver, Some(&good))?;
        if good(&got) {
            continue;
        }
        let differ = expected.differing(&got).ok_or_else(|| {
            format!("{}: sizes {} and {}", driver.name(), expected.size(), got.size())
        })?;
        return Err(format!(
            "{}: {differ} of {} pixels differ by more than {}/255 (allowed: {percent} %)\nsee {}",
            driver.name(),
            expected.pixels(),
            Picture::TOLERANCE,
            directory(driver).display(),
        ));
    }
    Ok(())
}
