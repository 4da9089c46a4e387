//! Static analyses of machine code of Intel's execution units (EUs): cycles, and on Gen12 the software scoreboard.
//!
//! # How data flows
//!
//! [`Code`] is a decoded program with its control flow. [`Access`] says which registers an instruction reads and writes.
//! Two analyses are built on them:
//!
//! * [`cycles::estimate`] walks a program once and adds up what its instructions cost and wait for, as Mesa's compiler
//!   does for its statistics. The costs are in [`timing`], of single instructions and of [sequences](sequence)
//!   that Mesa makes from one; [`instruction_latency`] is for schedulers. [`report`] prints an estimate.
//! * [`scoreboard::check`] follows all paths of a program and finds accesses of registers that its scoreboard annotations do
//!   not order; [`scoreboard::Tracker`] does so along the path of a thread.
//!
//! ```
//! use tepui_intel_analysis::{Code, cycles};
//! use tepui_intel_isa::{Generation, asm};
//!
//! let text = "add(8) g2<1>D g3<8,8,1>D g4<8,8,1>D { align1 1Q };
//!             shl(8) g5<1>D g2<8,8,1>D 2UD { align1 1Q };";
//! let bytes = asm::assemble(Generation::Gen9, text).map_err(|mut e| e.remove(0))?;
//! let code = Code::decode(Generation::Gen9, &bytes)?;
//! // 2 cycles each, and 8 that the shift waits for the sum.
//! assert_eq!(cycles::estimate(&code, 8).cycles, 12);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod access;
pub mod bank;
pub mod code;
pub mod cycles;
pub mod report;
pub mod scoreboard;
pub mod sequence;
pub mod timing;

pub use access::{Access, Span};
pub use code::{Code, CodeError};
pub use cycles::{Estimate, estimate};
pub use timing::{Timing, Unit, instruction_latency};
