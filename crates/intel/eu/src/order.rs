//! Order of a checked thread's accesses of registers: that of the software scoreboard, along the thread's path.

use crate::check::{channels, place};
use crate::finding::FindingKind;
use crate::memory::{GENERAL, REGISTER_BYTES};
use crate::operand::Layout;
use crate::program::Program;
use crate::shadow::Checker;
use crate::state::Thread;

impl Checker {
    /// Checks that the scoreboard orders the accesses of operation `n` of a program, before it executes.
    pub fn order(&mut self, thread: &Thread, program: &Program, n: usize) {
        let (Some(scoreboard), Some(op)) = (&mut self.scoreboard, program.ops.get(n)) else {
            return;
        };
        let executed = thread.enabled(op) & thread.predicated(op);
        let through_address = |layout: &Layout, bytes: usize| match layout {
            Layout::Indirect { .. } | Layout::PerRow { .. } => channels(executed)
                .filter_map(|channel| place(thread, layout, channel, bytes))
                .filter(|&at| at < GENERAL)
                .fold(0, |mask, at| mask | 1u128 << (at / REGISTER_BYTES)),
            _ => 0,
        };
        let sources = op.src.iter().map(|src| through_address(&src.layout, src.ty.bytes()));
        let reads = sources.fold(0, |all, mask| all | mask);
        let writes = op.dst.layout.as_ref();
        let writes = writes.map_or(0, |layout| through_address(layout, op.dst.ty.bytes()));
        let mut first = None;
        scoreboard.execute(n, [reads, writes], |finding| {
            first.get_or_insert(finding);
        });
        if let Some(finding) = first {
            self.note(op.ip, FindingKind::Unordered, || {
                let earlier = program.ops.get(finding.producer).map_or(0, |op| op.ip);
                let earlier = format!("`{}` at {earlier:#x}", program.text(earlier));
                format!("it {}", finding.description(&earlier))
            });
        }
    }
}
