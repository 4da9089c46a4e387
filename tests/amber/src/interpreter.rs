//! The engine that runs compute shaders in the IR interpreter.

use tepui_ir::interp::{Fault, dispatch};

use crate::content::Content;
use crate::pipeline::{Memories, translate};
use crate::run::{Engine, Job};
use crate::script::Usage;
use crate::{Refusal, failed, refused};

/// Limit on the steps of a run; a step executes an instruction for all lanes of a workgroup.
const LIMIT: u64 = 1 << 20;

/// Runs compute shaders directly after translation from SPIR-V, without any pass.
pub struct Interpreter;

impl Engine for Interpreter {
    fn run(&mut self, job: &Job, buffers: &mut [Content]) -> Result<(), Refusal> {
        let [code] = &job.stages[..] else { return refused("draws in the interpreter") };
        let stored = |k: usize| job.bindings[k].usage == Usage::Storage;
        let alias = |a: usize, b: usize| job.bindings[a].buffer == job.bindings[b].buffer;
        if (0..job.bindings.len()).any(|b| (0..b).any(|a| stored(a) && stored(b) && alias(a, b))) {
            return refused("one storage buffer at two bindings in the interpreter");
        }
        let s = translate(code)?;
        let mut memory = Memories::new(job, buffers, &s)?.start;
        match dispatch(&s, job.groups, &mut memory, LIMIT) {
            Ok(_) => Memories::store(job, &memory, &s, buffers),
            Err(Fault::Unsupported { what, .. }) => refused(format!("{what} in the interpreter")),
            Err(e @ (Fault::Steps { .. } | Fault::NoAddress { .. })) => refused(e.to_string()),
            Err(e) => Err(failed(e)),
        }
    }
}
