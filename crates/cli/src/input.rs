//! Input of commands: files, or standard input under the name `-`.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// Whether a path stands for standard input.
pub fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// Reads a file, or standard input for `-`.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    if is_stdin(path) {
        let mut bytes = Vec::new();
        io::stdin().lock().read_to_end(&mut bytes)?;
        return Ok(bytes);
    }
    fs::read(path)
}

/// Opens a file, or standard input for `-`.
pub fn open(path: &Path) -> io::Result<Box<dyn Read>> {
    Ok(if is_stdin(path) { Box::new(io::stdin()) } else { Box::new(File::open(path)?) })
}
