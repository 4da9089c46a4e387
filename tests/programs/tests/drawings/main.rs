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
    let directory = |driver| session::directory(&program.name(), driver);
    agree(program.percent, program.plain, |driver, wanted| draw(program, driver, wanted), directory)
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
