//! Draws the Mandelbrot set on the virtual M1 and writes it to a file in the current folder.

use std::path::Path;
use std::process::ExitCode;

use tepui_demo::{DEFAULT_OUTPUT, DEFAULT_SIZE};

fn main() -> ExitCode {
    let path = Path::new(DEFAULT_OUTPUT);
    let drawn =
        tepui_demo::draw(DEFAULT_SIZE, 0).and_then(|d| d.write(path).map(|()| d.summary(path)));
    match drawn {
        Ok(summary) => {
            println!("{summary}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("tepui-demo: {why}");
            ExitCode::FAILURE
        }
    }
}
