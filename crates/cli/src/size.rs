//! Parses sizes on the command line.

/// Reads `WIDTHxHEIGHT` in pixels, each 1 to 16384.
pub fn parse(text: &str) -> Result<[u32; 2], String> {
    let side = |part: &str| part.parse().ok().filter(|n| (1..=16384).contains(n));
    text.split_once('x')
        .and_then(|(w, h)| Some([side(w)?, side(h)?]))
        .ok_or_else(|| "write WIDTHxHEIGHT, each 1 to 16384, for example 640x480".to_owned())
}
