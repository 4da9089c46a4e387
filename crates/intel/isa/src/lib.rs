//! The instruction set of Intel's execution units (EUs), from one table keyed by generation.

pub mod asm;
pub mod codec;
pub mod compact;
pub mod disasm;
pub mod error;
pub mod inst;
pub mod message;
pub mod operand;
pub mod random;
mod scan;
pub mod sfid;
pub mod swsb;
pub mod table;
pub mod types;

pub use error::{DecodeError, FieldError};
pub use inst::{Condition, Desc, Flag, Inst, Predicate, Send};
pub use operand::{Arf, Dst, Place, Region, Register, Src};
pub use sfid::Sfid;
pub use swsb::{Swsb, Token};
pub use table::opcode::{Form, MathFunction, Opcode, SyncFunction};
pub use tepui_intel_chips::Generation;
pub use types::{Kind, Type};
