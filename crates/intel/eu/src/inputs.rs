//! Inputs of a program: general registers that it may read before it has written them.
//!
//! The registers of the previous thread must not affect a thread, so that results do not depend on which host thread
//! ran before. For that, only registers that are read before they are written have to be cleared, and only these have
//! to be part of a payload.

use tepui_intel_isa::{Opcode, Sfid};

use crate::memory::{self, GENERAL, REGISTER_BYTES};
use crate::op::{Flow, Op};
use crate::operand::Layout;

/// The registers that a program may read before it has written them, one bit each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inputs {
    /// In threads whose channels all execute.
    pub whole: u128,
    /// In all threads: writes of channels that may not execute are ignored.
    pub any: u128,
}

/// Bytes of the general registers.
struct Bytes(Box<[bool; GENERAL]>);

impl Bytes {
    fn none() -> Bytes {
        Bytes(Box::new([false; GENERAL]))
    }

    fn add(&mut self, first: usize, end: usize) {
        let end = end.min(GENERAL);
        if first < end {
            self.0[first..end].fill(true);
        }
    }
}

/// Finds the inputs of a program.
pub fn inputs(ops: &[Op]) -> Inputs {
    Inputs { whole: inputs_of(ops, true), any: inputs_of(ops, false) }
}

fn inputs_of(ops: &[Op], whole: bool) -> u128 {
    let mut written = Bytes::none();
    let mut inputs = 0;
    // Operations up to the first that is not always executed exactly once, in order.
    let mut straight = true;
    for op in ops {
        straight &= !op.joins;
        each_read(op, |first, end| {
            let end = end.min(GENERAL);
            for byte in first..end {
                if !written.0[byte] {
                    inputs |= 1 << (byte / REGISTER_BYTES);
                }
            }
        });
        straight &= matches!(op.flow, Flow::None | Flow::Send | Flow::Wait(_));
        if straight && let Some((first, end)) = writes(op, whole) {
            written.add(first, end);
        }
    }
    inputs
}

/// Calls `read` with the byte ranges that an operation may read.
fn each_read(op: &Op, mut read: impl FnMut(usize, usize)) {
    let n = usize::from(op.n);
    for src in &op.src {
        let bytes = src.ty.bytes();
        match &src.layout {
            Layout::Even { base, stride } => {
                let first = usize::from(*base);
                read(first, first + (n - 1) * usize::from(*stride) + bytes);
            }
            Layout::Table(table) => {
                for &at in &table[..n] {
                    read(usize::from(at), usize::from(at) + bytes);
                }
            }
            Layout::Indirect { .. } | Layout::PerRow { .. } => read(0, GENERAL),
            Layout::Scalar(_) | Layout::Integers(_) | Layout::Floats(_) => {}
        }
    }
    let Some(message) = &op.message else { return };
    let mut payload = |first: Option<u8>, count: Option<u8>| {
        if let Some(first) = first {
            let from = usize::from(first) * REGISTER_BYTES;
            read(from, count.map_or(GENERAL, |n| from + usize::from(n) * REGISTER_BYTES));
        }
    };
    // Payload lengths are in registers if the descriptors are.
    let known = |count: u8| message.registers.is_none().then_some(count);
    let message = &message.message;
    payload(message.src0, known(message.src0_registers));
    payload(message.src1, known(message.src1_registers));
}

/// The byte range that an operation certainly writes, in threads whose channels all execute if `whole` is set.
fn writes(op: &Op, whole: bool) -> Option<(usize, usize)> {
    let n = usize::from(op.n);
    // A selection writes all channels, whatever the predicate.
    let all = op.predicate == 0 || op.opcode == Opcode::Sel;
    if !all || !(whole || op.no_mask) {
        return None;
    }
    if let Some(message) = &op.message {
        // 32-bit texels without a header, for all channels.
        const HALVES: u32 = 1 << 30;
        let constant = message.registers.is_none();
        let message = &message.message;
        let texels = message.sfid == Sfid::Sampler
            && !message.header
            && message.desc & HALVES == 0
            && matches!((message.desc >> 17 & 3, n), (1, 8) | (2, 16));
        let registers = n / 2;
        if !constant || !texels || usize::from(message.dst_registers) < registers {
            return None;
        }
        let first = usize::from(message.dst?) * REGISTER_BYTES;
        return Some((first, first + registers * REGISTER_BYTES));
    }
    let bytes = op.dst.ty.bytes();
    match op.dst.layout {
        Some(Layout::Even { base, stride })
            if usize::from(base) < memory::GENERAL
                && (usize::from(stride) == bytes || n == 1)
                && op.dst.mask == u32::MAX
                && op.flow == Flow::None =>
        {
            let first = usize::from(base);
            Some((first, first + n * bytes))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use tepui_intel_isa::Generation;

    use super::*;
    use crate::Program;

    fn of(text: &str) -> Inputs {
        let code = tepui_intel_isa::asm::assemble(Generation::Gen9, text).expect("a program");
        Program::from_bytes(Generation::Gen9, 0, &code).expect("a program").inputs().clone()
    }

    #[test]
    fn what_is_written_first_is_no_input() {
        let found = of("
            mov(8)   g2<1>F   g1<8,8,1>F   { align1 1Q };
            add(8)   g4<1>F   g2<8,8,1>F   g3<8,8,1>F  { align1 1Q };
            mov(8)   g5<1>UD  g4<8,8,1>UD  { align1 WE_all 1Q };
            mov(8)   g6<1>UD  g5<8,8,1>UD  { align1 WE_all 1Q };
            mov(8)   g127<1>UD g7<8,8,1>UD { align1 WE_all 1Q };
            send(8)  nullUD   g127UD  0x02000010 thread_spawner MsgDesc: mlen 1 ex_mlen 0 rlen 0 { align1 WE_all 1Q EOT };
        ");
        let bits = |list: &[u32]| list.iter().fold(0u128, |all, n| all | 1 << n);
        assert_eq!(found.whole, bits(&[1, 3, 7]));
        assert_eq!(found.any, bits(&[1, 2, 3, 4, 7]), "channels may not execute");
    }
}
