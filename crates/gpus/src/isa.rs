//! Instruction sets: the assembler, the disassembler and the manual behind one type for all
//! families.

use std::fmt;

use tepui_agx_isa as agx;

use crate::{Feature, Gpu, Unsupported};

/// An instruction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isa {
    /// Apple AGX, generation G13 (M1).
    Agx,
}

/// A line of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Where the line's bytes begin in the code.
    pub offset: usize,
    /// The bytes in hexadecimal.
    pub bytes: String,
    /// Assembly, or why the bytes are no instruction.
    pub text: Result<String, String>,
    /// The whole line as listings show it.
    pub listing: String,
    /// The instruction ends the program.
    pub ends: bool,
}

impl Isa {
    /// All instruction sets.
    pub const ALL: [Isa; 1] = [Isa::Agx];

    /// The name that commands take.
    pub fn id(self) -> &'static str {
        match self {
            Isa::Agx => "agx",
        }
    }

    /// The instruction set of a GPU.
    ///
    /// # Errors
    /// Its instruction set is not known.
    pub fn of(gpu: Gpu) -> Result<Isa, Unsupported> {
        match gpu.require(Feature::Isa)? {
            Gpu::Agx(_) => Ok(Isa::Agx),
            Gpu::Mali(_) | Gpu::Intel(_) => Err(Unsupported { gpu, feature: Feature::Isa }),
        }
    }

    /// Assembles text to machine code.
    ///
    /// # Errors
    /// One line for each mistake: line and column in the text, and what was expected.
    pub fn assemble(self, source: &str) -> Result<Vec<u8>, Vec<String>> {
        match self {
            Isa::Agx => agx::asm::assemble(source)
                .map_err(|errors| errors.iter().map(ToString::to_string).collect()),
        }
    }

    /// The lines of machine code from an offset on.
    pub fn disassemble(self, code: &[u8], start: usize) -> impl Iterator<Item = Line> {
        match self {
            Isa::Agx => agx::disasm::Disassembler::at(code, start).map(|line| Line {
                offset: line.offset,
                bytes: line.hex(),
                text: match line.content {
                    agx::disasm::Content::Error(error) => Err(error.to_string()),
                    _ => Ok(line.text()),
                },
                ends: matches!(line.content, agx::disasm::Content::Inst(agx::Inst::Stop(_))),
                listing: line.to_string(),
            }),
        }
    }

    /// The manual in Markdown.
    pub fn manual(self) -> String {
        match self {
            Isa::Agx => agx::manual::manual(),
        }
    }

    /// The manual's entries for a mnemonic, in Markdown; `None` if there is no such instruction.
    pub fn entry(self, mnemonic: &str) -> Option<String> {
        match self {
            Isa::Agx => {
                let rows = agx::manual::find(mnemonic);
                let entries: Vec<String> = rows.into_iter().map(agx::manual::entry).collect();
                (!entries.is_empty()).then(|| entries.join("\n"))
            }
        }
    }

    /// Each instruction's mnemonics with a line about it.
    pub fn summary(self) -> Vec<(String, &'static str)> {
        match self {
            Isa::Agx => agx::ROWS
                .iter()
                .map(|row| {
                    let found = agx::manual::find(row.name);
                    let title = found.first().map(|row| agx::manual::title(*row));
                    (title.unwrap_or_default(), row.summary())
                })
                .collect(),
        }
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_code_lead_back_to_each_other() {
        let code = Isa::Agx.assemble("fadd32 r0, r1, 0.5\nstop").unwrap();
        let lines: Vec<Line> = Isa::Agx.disassemble(&code, 0).collect();
        assert_eq!(lines.len(), 2);
        assert!(lines[1].ends && !lines[0].ends);
        let text: Vec<String> = lines.into_iter().map(|line| line.text.unwrap()).collect();
        assert_eq!(Isa::Agx.assemble(&text.join("\n")).unwrap(), code);
        assert!(Isa::Agx.entry("fadd32").is_some() && Isa::Agx.entry("frobnicate").is_none());
    }
}
