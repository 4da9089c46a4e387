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

mod picture;
mod programs;
mod session;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};

use picture::Picture;
use programs::{PROGRAMS, Program};
use session::{Driver, draw};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let trials = PROGRAMS
        .iter()
        .map(|program| Trial::test(program.name(), move || compare(program).map_err(Failed::from)));
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

/// Draws the program's frame on each driver and compares the pictures.
fn compare(program: &Program) -> Result<(), String> {
    let expected = draw(program, Driver::Cpu)?;
    if !program.plain && expected.is_plain() {
        return Err("the CPU's picture has one colour only".to_owned());
    }
    for driver in [Driver::M1, Driver::M1Uncompressed] {
        let got = draw(program, driver)?;
        let differ = expected.differing(&got).ok_or_else(|| {
            format!("{}: sizes {} and {}", driver.name(), expected.size(), got.size())
        })?;
        let allowed = program.percent / 100.0 * expected.pixels() as f64;
        if differ as f64 > allowed {
            return Err(format!(
                "{}: {differ} of {} pixels differ by more than {}/255 (allowed: {} %)\nsee {}",
                driver.name(),
                expected.pixels(),
                Picture::TOLERANCE,
                program.percent,
                session::directory(program, driver).display(),
            ));
        }
    }
    Ok(())
}
