//! Listings of compiled programs with the source lines that instructions come from.

use std::collections::HashMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use tepui_agx_compiler::Program;
use tepui_agx_isa::disasm::Disassembler;
use tepui_ir::{Loc, Shader};

/// The lines of source files, by name.
pub type SourceLines = HashMap<String, Vec<String>>;

/// An instruction.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct Line {
    /// Byte offset from the start of its program.
    pub offset: usize,
    /// Its bytes in hexadecimal.
    pub bytes: String,
    /// Its text.
    pub text: String,
    /// The line of the source file that it comes from; 0 if that is not known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub line: u32,
}

fn is_zero(line: &u32) -> bool {
    *line == 0
}

/// The source files in debug information, by name.
#[must_use]
pub fn source_lines(words: &[u32]) -> SourceLines {
    let sources = tepui_spirv::sources(words).unwrap_or_default();
    let lines = |text: String| text_lines(&text).iter().map(|l| l.trim().to_owned()).collect();
    sources.into_iter().map(|(file, text)| (file, lines(text))).collect()
}

/// The lines of a source text in debug information.
#[must_use]
pub fn text_lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    // glslang inserts comments about its options and a `#line 1` before the text.
    let head = lines.iter().take_while(|l| l.starts_with("// OpModuleProcessed")).count();
    if head > 0 && lines.get(head).is_some_and(|l| l == "#line 1") {
        lines.drain(..=head);
    }
    lines
}

/// File and line of the instruction at an offset.
fn place(shader: &Shader, locs: &[(u32, Loc)], offset: usize) -> Option<(u32, u32)> {
    let at = locs.binary_search_by_key(&(offset as u32), |l| l.0).ok()?;
    let l = shader.locs[locs[at].1];
    (l.line != 0).then_some((l.file, l.line))
}

/// The instructions of machine code up to its end; `locs` are empty for code without places.
#[must_use]
pub fn lines(code: &[u8], shader: &Shader, locs: &[(u32, Loc)]) -> Vec<Line> {
    let line = |offset| place(shader, locs, offset).map_or(0, |(_, line)| line);
    Disassembler::new(code)
        .map(|l| Line { offset: l.offset, bytes: l.hex(), text: l.text(), line: line(l.offset) })
        .take_while(|l| l.text != "trap")
        .collect()
}

/// The instructions with the line marks of GNU's assembler (`.file`, `.loc`), as Compiler Explorer reads them.
#[must_use]
pub fn marked(program: &Program, shader: &Shader) -> String {
    let mut out = String::new();
    for (number, file) in shader.files.iter().enumerate() {
        out.push_str(&format!("\t.file {} {file:?}\n", number + 1));
    }
    let name = &shader.info.entry;
    let preamble =
        program.preamble.as_deref().map(|code| (format!("{name}.preamble"), code, &[][..]));
    let main = (name.clone(), &program.code[..], &program.locs[..]);
    for (label, code, locs) in preamble.into_iter().chain([main]) {
        out.push_str(&format!("{label}:\n"));
        for line in Disassembler::new(code) {
            let text = line.text();
            if text == "trap" {
                break;
            }
            let at = locs.binary_search_by_key(&(line.offset as u32), |l| l.0).ok();
            if let Some(l) = at.map(|at| shader.locs[locs[at].1]).filter(|l| l.line != 0) {
                out.push_str(&format!("\t.loc {} {} {}\n", l.file + 1, l.line, l.col));
            }
            out.push_str(&format!("\t{text}\n"));
        }
    }
    out
}

/// Bytes of constant data on a line of a listing.
const DATA_ROW_B: usize = 16;

/// The listing, with a comment where the source line changes.
#[must_use]
pub fn text(program: &Program, shader: &Shader, sources: &SourceLines) -> String {
    let mut out = String::new();
    let mut section = |title: &str, code: &[u8], locs: &[(u32, Loc)]| {
        if !title.is_empty() {
            out.push_str(&format!("# {title}\n"));
        }
        let mut last = None;
        for line in Disassembler::new(code) {
            if let Some((number, at)) = place(shader, locs, line.offset)
                && last != Some((number, at))
            {
                last = Some((number, at));
                let file = shader.files.get(number as usize).map_or("", String::as_str);
                let text = sources.get(file).and_then(|s| s.get(at as usize - 1));
                let name = Path::new(file).file_name().map_or(file.into(), |n| n.to_string_lossy());
                out.push_str(&format!("# {name}:{at}"));
                out.push_str(&text.map_or(String::new(), |t| format!(": {t}")));
                out.push('\n');
            }
            let text = line.text();
            if text == "trap" {
                break;
            }
            out.push_str(&format!("{line}\n"));
        }
    };
    if let Some(p) = &program.preamble {
        section("preamble", p, &[]);
        section("main", &program.code, &program.locs);
    } else {
        section("", &program.code, &program.locs);
    }
    for (k, row) in program.data.chunks(DATA_ROW_B).enumerate() {
        if k == 0 {
            out.push_str(&format!("# constant data, {} bytes\n", program.data.len()));
        }
        let bytes: String = row.iter().map(|b| format!("{b:02x}")).collect();
        out.push_str(&format!("{:4x}: {bytes}\n", k * DATA_ROW_B));
    }
    out
}
