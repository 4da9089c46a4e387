//! Draws scenes with OpenGL ES, without a window.
//!
//! usage: gles FOLDER [SCENE…]
//!
//! Each scene becomes FOLDER/SCENE.png. The first line of the output is the renderer's name; each further line
//! names a scene that was drawn. Without arguments, all scenes are drawn that the driver's version supports.

mod egl;
mod gl;
mod scenes;

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::process::ExitCode;

use gl::{Gl, SIDE};

fn save(path: &Path, pixels: &[u8]) -> Result<(), String> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let file = File::create(path).map_err(|e| failed(&e))?;
    let mut encoder = png::Encoder::new(BufWriter::new(file), SIDE as u32, SIDE as u32);
    encoder.set_color(png::ColorType::Rgba);
    let mut writer = encoder.write_header().map_err(|e| failed(&e))?;
    writer.write_image_data(pixels).map_err(|e| failed(&e))
}

fn run() -> Result<(), String> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("usage: gles FOLDER [SCENE…]")?;
    let wanted: Vec<String> = arguments.collect();
    std::fs::create_dir_all(&folder).map_err(|error| format!("{folder}: {error}"))?;
    let gl = Gl::new()?;
    println!("{} OpenGL ES {}.{}", gl.renderer, gl.version[0], gl.version[1]);
    for scene in scenes::ALL {
        let asked = wanted.is_empty() || wanted.iter().any(|name| name == scene.name);
        if asked && scene.version <= gl.version {
            gl.target(0);
            let pixels = (scene.draw)(&gl);
            gl.reset();
            save(&Path::new(&folder).join(format!("{}.png", scene.name)), &pixels)?;
            println!("{}", scene.name);
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("gles: {error}");
            ExitCode::FAILURE
        }
    }
}
