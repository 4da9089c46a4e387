//! Runs compute programs in AGX assembly, with the bindings that comments of their text declare.
//!
//! Buffer `N` of the inputs (or of the text) has its address in uniform registers `u(2N)_u(2N+1)`. Comments that begin with `;`
//! and a word with a colon declare the rest:
//!
//! ```text
//! ; workgroup: 64,1,1     threads of a workgroup; 32 without
//! ; local: 256            bytes of local memory; 0 without
//! ; scratch: 64           bytes of scratch memory of a thread; 0 without
//! ; buffer: 0 64 index    a buffer of 64 words, where the inputs have none: zeros, index, random, or fresh for memory
//!                         that was never written
//! ```

use tepui_agx_bare::{Dispatch, Machine, address_halves};
use tepui_agx_isa::asm::assemble_lines;
use tepui_agx_isa::disasm::Disassembler;

use crate::compile::{ShaderError, Text};
use crate::findings::SourceMap;
use crate::inputs::{Contents, Inputs, MAX_BUFFERS_B};
use crate::listing::Line;
use crate::run::{After, Outcome, RunOptions, results};
use crate::source::SourceLocation;

/// Bytes of local memory that a workgroup can have. source: Apple's Metal feature set tables
const MAX_LOCAL_B: u32 = 32 << 10;
/// Bytes of scratch memory of a thread.
const MAX_SCRATCH_B: u32 = 1 << 16;
/// Threads of a workgroup.
const MAX_THREADS: u64 = 1024;
/// Buffers whose addresses fit into uniform registers.
const MAX_BUFFERS: u32 = 32;

/// An assembled program with what its comments declare.
pub struct Assembly {
    /// Machine code.
    pub code: Vec<u8>,
    text: String,
    name: String,
    /// Offset and line of each statement.
    lines: Vec<(usize, usize)>,
    workgroup: [u32; 3],
    local_bytes: u32,
    scratch_bytes: u32,
    buffers: Vec<Contents>,
}

impl Assembly {
    /// Assembles text.
    ///
    /// # Errors
    /// An instruction or a declaration is wrong; the place of the first.
    pub fn read(whole: &Text) -> Result<Assembly, ShaderError> {
        let text = &whole.text;
        let (code, lines) = assemble_lines(text).map_err(|errors| match errors.first() {
            Some(e) => at(e.line, e.column, e.kind.to_string()),
            None => ShaderError::new("the text does not assemble"),
        })?;
        let mut assembly = Assembly {
            code,
            lines,
            text: text.clone(),
            name: whole.name.clone(),
            workgroup: [32, 1, 1],
            local_bytes: 0,
            scratch_bytes: 0,
            buffers: Vec::new(),
        };
        for (number, line) in text.lines().enumerate() {
            let Some((key, value)) =
                line.trim().strip_prefix(';').and_then(|line| line.split_once(':'))
            else {
                continue;
            };
            assembly.declare(key.trim(), value.trim()).map_err(|e| at(number + 1, 1, e))?;
        }
        if assembly.workgroup.iter().map(|&n| u64::from(n)).product::<u64>() > MAX_THREADS {
            return Err(ShaderError::new(format!("a workgroup has at most {MAX_THREADS} threads")));
        }
        Ok(assembly)
    }

    fn declare(&mut self, key: &str, value: &str) -> Result<(), String> {
        let number = |text: &str, most: u32| {
            let n = text.parse::<u32>().ok().filter(|n| *n <= most);
            n.ok_or_else(|| format!("`{text}`: a number up to {most}"))
        };
        match key {
            "workgroup" => {
                for (k, n) in value.split(',').enumerate() {
                    *self.workgroup.get_mut(k).ok_or("at most three numbers")? =
                        number(n.trim(), MAX_THREADS as u32)?.max(1);
                }
            }
            "local" => self.local_bytes = number(value, MAX_LOCAL_B)?,
            "scratch" => self.scratch_bytes = number(value, MAX_SCRATCH_B)?,
            "buffer" => {
                let mut words = value.split_whitespace();
                let mut next = || words.next().ok_or("write: buffer: NUMBER WORDS [FILL]");
                let binding = number(next()?, MAX_BUFFERS - 1)?;
                let count = number(next()?, (MAX_BUFFERS_B / 4) as u32)?;
                let fill = next().unwrap_or("zeros").to_owned();
                let words = count as usize;
                self.buffers.push(Contents { set: 0, binding, words, fill, data: None });
            }
            // Any other comment.
            _ => {}
        }
        Ok(())
    }

    /// Its instructions with the lines of the text.
    #[must_use]
    pub fn listing(&self) -> Vec<Line> {
        let line = |offset| {
            let at = self.lines.binary_search_by_key(&offset, |l| l.0);
            at.map_or(0, |at| self.lines[at].1 as u32)
        };
        Disassembler::new(&self.code)
            .map(|l| Line {
                offset: l.offset,
                bytes: l.hex(),
                text: l.text(),
                line: line(l.offset),
            })
            .collect()
    }
}

fn at(line: usize, column: usize, message: String) -> ShaderError {
    let place = SourceLocation { line: line as u32, column: column as u32, length: 1 };
    ShaderError { message: format!("line {line}: {message}"), place: Some(place) }
}

/// Runs a program over the workgroups of the inputs.
///
/// # Errors
/// The job faults.
pub fn run(assembly: &Assembly, inputs: &Inputs, how: RunOptions) -> Result<Outcome, ShaderError> {
    let regions = how.regions.clone();
    let mut machine = Machine::new(how.options(inputs.budget)).map_err(ShaderError::new)?;
    if assembly.scratch_bytes > 0 {
        machine.scratch(assembly.scratch_bytes).map_err(ShaderError::new)?;
    }
    let own = |b: &&Contents| !inputs.buffers.iter().any(|i| i.binding == b.binding);
    let mut uniforms = Vec::new();
    let mut buffers = Vec::new();
    for contents in inputs.buffers.iter().chain(assembly.buffers.iter().filter(own)) {
        if contents.binding >= MAX_BUFFERS {
            return Err(ShaderError::new(format!(
                "buffers have the numbers 0 to {}",
                MAX_BUFFERS - 1
            )));
        }
        let words = contents.words();
        let buffer = machine.buffer((4 * words.len()).max(4)).map_err(ShaderError::new)?;
        if contents.fill != "fresh" {
            buffer.write_words(&words).map_err(ShaderError::new)?;
        }
        let first = 4 * contents.binding as usize;
        uniforms.resize(uniforms.len().max(first + 4), 0);
        uniforms[first..first + 4].copy_from_slice(&address_halves(buffer.address()));
        regions.add(&format!("buffer{}", contents.binding), &buffer);
        buffers.push((contents.binding, buffer));
    }
    let global = std::array::from_fn(|a| inputs.groups[a].saturating_mul(assembly.workgroup[a]));
    let stats = machine
        .dispatch(&Dispatch {
            code: &assembly.code,
            uniforms: &uniforms,
            global,
            local: assembly.workgroup,
            local_bytes: assembly.local_bytes,
            ..Dispatch::default()
        })
        .map_err(ShaderError::new)?;
    let text = Text { text: assembly.text.clone(), name: assembly.name.clone(), ..Text::default() };
    let mut outcome = results(&stats, &SourceMap::new(&text, &assembly.code, assembly.listing()));
    for (binding, buffer) in buffers {
        let words = buffer.read_words().map_err(ShaderError::new)?;
        outcome.buffers.push(After { set: 0, binding, name: format!("buffer {binding}"), words });
    }
    Ok(outcome)
}
