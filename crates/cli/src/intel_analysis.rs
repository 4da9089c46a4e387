//! Analyses of machine code for `tepui disasm`: cycles and the software scoreboard of Intel's, message slots of Valhall.

use serde::Serialize;
use tepui_gpus::isa::Isa;
use tepui_intel_analysis::scoreboard::{Rules, check};
use tepui_intel_analysis::{Code, Estimate, cycles, report};
use tepui_intel_isa::{Generation, disasm};

/// An analysis of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Analysis {
    /// Cycles by Mesa's model.
    Cost,
    /// Accesses of registers that annotations do not order.
    Scoreboard,
}

/// A program with its estimate, in JSON.
#[derive(Serialize)]
struct Costs<'a> {
    #[serde(flatten)]
    estimate: &'a Estimate,
    text: Vec<String>,
}

/// A finding of the checker of message slots, in JSON.
#[derive(Serialize)]
struct SlotRow {
    offset: usize,
    register: Option<u8>,
    slot: Option<u8>,
    text: String,
}

/// A finding of the scoreboard's checker, in JSON.
#[derive(Serialize)]
struct Row {
    offset: usize,
    earlier: usize,
    register: String,
    text: String,
}

/// The text of an analysis of the program that begins at the start of some code, and whether it found mistakes.
///
/// # Errors
/// Another instruction set than Intel's, and code that is not analysed.
pub fn print(
    isa: Isa,
    code: &[u8],
    analysis: Analysis,
    json: bool,
) -> Result<(String, bool), String> {
    let generation = match (isa, analysis) {
        (Isa::Intel(generation), _) => generation,
        (Isa::Valhall, Analysis::Scoreboard) => return slots(code, json),
        (Isa::Bifrost, Analysis::Scoreboard) => return dependencies(code, json),
        (Isa::Valhall | Isa::Bifrost, Analysis::Cost) | (Isa::Agx | Isa::Midgard(_), _) => {
            let what =
                "cycles are known of Intel's code, scoreboards of Gen12, Valhall and Bifrost";
            return Err(format!("{what}, not of {}", isa.id()));
        }
    };
    let code = decode(generation, code)?;
    match analysis {
        Analysis::Cost => {
            let estimate = cycles::estimate(&code, cycles::width(&code));
            let text = match json {
                true => {
                    let text = (0..code.len()).map(|n| code.text(n)).collect();
                    pretty(&Costs { estimate: &estimate, text })? + "\n"
                }
                false => report::text(&code, &estimate),
            };
            Ok((text, false))
        }
        Analysis::Scoreboard => {
            let found = check(&code, Rules::MESA).map_err(|e| e.to_string())?;
            let rows = found.iter().map(|finding| Row {
                offset: code.offset(finding.consumer),
                earlier: code.offset(finding.producer),
                register: finding.register.to_string(),
                text: finding.text(&code),
            });
            let rows: Vec<Row> = rows.collect();
            let text = match json {
                true => pretty(&rows)? + "\n",
                false => rows.iter().map(|row| row.text.clone() + "\n").collect(),
            };
            Ok((text, !found.is_empty()))
        }
    }
}

/// Accesses of registers that the waits of a program of Valhall do not order. The program may be a blend shader, which
/// does not wait for the tile buffer.
fn slots(code: &[u8], json: bool) -> Result<(String, bool), String> {
    let code = tepui_mali_analysis::Code::decode(code).map_err(|e| e.to_string())?;
    let found = tepui_mali_analysis::check(&code, false).map_err(|e| e.to_string())?;
    let rows = found.iter().map(|finding| SlotRow {
        offset: code.offset(finding.inst),
        register: finding.register,
        slot: finding.slot,
        text: finding.text(&code),
    });
    listed(&rows.collect::<Vec<_>>(), json)
}

/// Accesses of registers that the dependency masks of a program of Bifrost do not order.
fn dependencies(code: &[u8], json: bool) -> Result<(String, bool), String> {
    let clauses = tepui_mali_analysis::Clauses::decode(code).map_err(|e| e.to_string())?;
    let found = clauses.check().map_err(|e| e.to_string())?;
    let rows = found.iter().map(|finding| SlotRow {
        offset: clauses.offset(finding.inst),
        register: finding.register,
        slot: finding.slot,
        text: clauses.text(finding),
    });
    listed(&rows.collect::<Vec<_>>(), json)
}

/// Findings of Mali's code as text or JSON, and whether there are any.
fn listed(rows: &[SlotRow], json: bool) -> Result<(String, bool), String> {
    let text = match json {
        true => pretty(&rows)? + "\n",
        false => rows.iter().map(|row| row.text.clone() + "\n").collect(),
    };
    Ok((text, !rows.is_empty()))
}

/// The program without what follows its end.
fn decode(generation: Generation, code: &[u8]) -> Result<Code, String> {
    let end = disasm::end(generation, code).min(code.len());
    Code::decode(generation, &code[..end]).map_err(|e| e.to_string())
}

fn pretty(value: &impl Serialize) -> Result<String, String> {
    serde_json::to_string_pretty(value).map_err(|e| e.to_string())
}
