//! Text tests: a shader in IR, a line `; expect`, and the text that it must become. Lines `; KEY: VALUE` before the shader are
//! options. With `BLESS=1` in the environment the expectations are rewritten.

use std::path::Path;
use tepui_ir::Shader;

/// A file's input.
pub struct Input {
    /// The text before the expectation.
    text: String,
    /// Its shader, which is valid.
    pub shader: Shader,
}

impl Input {
    /// The value of an option, without spaces around it.
    #[must_use]
    pub fn option(&self, key: &str) -> Option<&str> {
        let value =
            |l: &'_ str| Some(l.strip_prefix("; ")?.strip_prefix(key)?.strip_prefix(':')?.len());
        self.text.lines().find_map(|l| value(l).map(|n| l[l.len() - n..].trim()))
    }
}

/// Compares `output` with the expectation of each file of a directory; returns the number of files.
///
/// # Panics
/// When a file cannot be read, its shader is invalid, `output` fails, or the text is another.
pub fn run(directory: &Path, mut output: impl FnMut(&Input) -> Result<String, String>) -> usize {
    let entries =
        std::fs::read_dir(directory).unwrap_or_else(|e| panic!("{}: {e}", directory.display()));
    let mut files: Vec<_> = entries.map(|f| f.expect("an entry").path()).collect();
    files.sort();
    for path in &files {
        let at = path.display();
        let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{at}: {e}"));
        let (input, want) = text.split_once("; expect\n").unwrap_or((&text, ""));
        let shader = tepui_ir::parse(input).unwrap_or_else(|e| panic!("{at}: {e}"));
        tepui_ir::validate(&shader).unwrap_or_else(|e| panic!("{at}: {e}"));
        let input = Input { text: input.to_owned(), shader };
        let got = output(&input).unwrap_or_else(|e| panic!("{at}: {e}"));
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(path, format!("{}; expect\n{got}", input.text))
                .unwrap_or_else(|e| panic!("{at}: {e}"));
        } else {
            assert_eq!(got, want, "{at}: run with BLESS=1 to accept");
        }
    }
    files.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHADER: &str = "; until: end\nshader compute \"main\" {\n  workgroup_size 1 1 1\n  body {\n    yield\n  }\n}\n";

    fn directory(name: &str, expectation: &str) -> std::path::PathBuf {
        let path =
            std::env::temp_dir().join(format!("tepui-filetests-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a directory");
        std::fs::write(path.join("a.ir"), format!("{SHADER}; expect\n{expectation}"))
            .expect("a file");
        path
    }

    fn option(input: &Input) -> Result<String, String> {
        input.option("until").map(str::to_owned).ok_or_else(|| "no option".to_owned())
    }

    #[test]
    fn outputs_are_compared() {
        let path = directory("same", "end");
        assert_eq!(run(&path, option), 1);
        std::fs::remove_dir_all(path).expect("it is there");
    }

    #[test]
    #[should_panic(expected = "BLESS=1")]
    fn another_output_is_found() {
        run(&directory("other", "start"), option);
    }
}
