//! Estimates as text.

use std::fmt::Write;

use crate::code::Code;
use crate::cycles::Estimate;

/// The summary of an estimate, in the words of Mesa's statistics.
pub fn summary(estimate: &Estimate) -> String {
    let busy: Vec<String> =
        estimate.busy.iter().map(|(unit, cycles)| format!("{} {cycles}", unit.name())).collect();
    let mut text = format!(
        "SIMD{}: {} instructions, {} sends, {} loops, {} cycles, {:.6} channels per cycle\n",
        estimate.width,
        estimate.instructions,
        estimate.sends,
        estimate.loops,
        estimate.cycles,
        estimate.throughput,
    );
    if !busy.is_empty() {
        let _ = writeln!(text, "busy cycles: {}", busy.join(", "));
    }
    if estimate.conflict_cycles > 0.0 {
        let _ = writeln!(text, "cycles of bank conflicts: {}", estimate.conflict_cycles);
    }
    text
}

/// The summary and a line for each instruction: its number, cycles, weight, the instruction, and its wait.
pub fn text(code: &Code, estimate: &Estimate) -> String {
    let mut text = summary(estimate);
    let _ = writeln!(text, "{:>5} {:>6} {:>6}", "", "cycles", "weight");
    for (n, line) in estimate.listing.iter().enumerate() {
        let _ = write!(text, "{n:>5} {:>6} {:>6}  {}", line.cycles, line.weight, code.text(n));
        if let Some(stall) = line.stall {
            let _ = write!(text, "  // waits {} for {}", stall.cycles, stall.resource);
            if let Some(producer) = stall.producer {
                let _ = write!(text, " of {producer}");
            }
        }
        text.push('\n');
    }
    text
}
