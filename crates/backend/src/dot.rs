//! Prints the control-flow graph in Graphviz's language: a node for each block with its
//! instructions, an edge for each branch.

use crate::function::Function;
use crate::machine::Machine;
use cranelift_entity::EntityRef;
use std::fmt;
use tepui_regalloc::{Ctl, Op};

/// Prints a function as a graph; `name` is its title.
pub struct Dot<'a, M: Machine> {
    /// The function.
    pub function: &'a Function<M>,
    /// The graph's name and title.
    pub name: &'a str,
}

/// Text inside of a quoted label, its lines flush left.
fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\l")
}

impl<M: Machine> fmt::Display for Dot<'_, M> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let f = self.function;
        writeln!(out, "digraph \"{}\" {{", escape(self.name))?;
        writeln!(out, "  label=\"{}\" labelloc=t fontname=monospace", escape(self.name))?;
        writeln!(out, "  node [shape=box fontname=monospace]")?;
        writeln!(out, "  edge [fontname=monospace]")?;
        for (b, data) in f.blocks.iter() {
            let mut text = format!("{b}\n");
            for &i in &data.insts {
                f.line(&mut text, i)?;
            }
            writeln!(out, "  {b} [label=\"{}\"]", escape(&text))?;
        }
        for (b, data) in f.blocks.iter() {
            let last = data.insts.last().map(|&i| f.insts[i].op);
            for (n, s) in data.succs.iter().enumerate() {
                // An `if` branches to its sides in order; a backward edge begins a loop's next
                // iteration.
                let note = match last {
                    Some(Op::Ctl(Ctl::If(_))) if n == 0 => " [label=\"then\"]",
                    Some(Op::Ctl(Ctl::If(_))) => " [label=\"else\"]",
                    Some(Op::Ctl(Ctl::Break)) => " [label=\"break\"]",
                    _ if s.index() <= b.index() => " [label=\"next\" constraint=false]",
                    _ => "",
                };
                writeln!(out, "  {b} -> {s}{note}")?;
            }
        }
        writeln!(out, "}}")
    }
}
