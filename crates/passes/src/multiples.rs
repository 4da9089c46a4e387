//! Alignment analysis: the largest power of two that is known to divide each 32-bit value.

use tepui_ir::cranelift_entity::SecondaryMap;
use tepui_ir::{Attrs, Inst, Op, Region, Shader, Value};

/// The exponent of zero, which every power of two divides.
const ALL: u8 = 32;

/// Exponents of powers of two that divide values modulo 2^32.
///
/// A value that has not been reached counts as zero; values of loops are lowered until nothing changes.
pub(crate) struct Multiples(SecondaryMap<Value, u8>);

impl Multiples {
    /// Analyses a shader.
    pub fn new(s: &Shader) -> Multiples {
        let mut a =
            Analysis { s, logs: SecondaryMap::with_default(ALL), changed: true, loops: Vec::new() };
        // Without loops values come before their uses.
        let loops = s.any(|s, _, i| s.insts[i].op == Op::Loop);
        while a.changed {
            a.changed = false;
            a.region(s.root);
            a.changed &= loops;
        }
        Multiples(a.logs)
    }

    /// The exponent of the largest power of two that is known to divide `v`; 32 for zero.
    pub fn log2(&self, v: Value) -> u8 {
        self.0[v]
    }
}

struct Analysis<'a> {
    s: &'a Shader,
    logs: SecondaryMap<Value, u8>,
    changed: bool,
    /// Enclosing loops.
    loops: Vec<Inst>,
}

impl Analysis<'_> {
    fn lower(&mut self, v: Value, log: u8) {
        if log < self.logs[v] {
            self.logs[v] = log;
            self.changed = true;
        }
    }

    fn region(&mut self, r: Region) {
        let s = self.s;
        for &i in &s.regions[r].insts {
            let args = s.args(i);
            match (s.insts[i].op, s.insts[i].attrs) {
                (Op::If, Attrs::If(a, b)) => {
                    for q in [a, b] {
                        self.region(q);
                        let Some(t) = s.terminator(q) else { continue };
                        if s.insts[t].op == Op::Yield {
                            self.pass(s.args(t), s.results(i));
                        }
                    }
                }
                (Op::Loop, Attrs::Loop(body)) => {
                    self.pass(args, &s.regions[body].params);
                    self.loops.push(i);
                    self.region(body);
                    self.loops.pop();
                }
                (Op::Break | Op::Continue, _) => {
                    let Some(&l) = self.loops.last() else { continue };
                    match (s.insts[i].op, s.insts[l].attrs) {
                        (Op::Continue, Attrs::Loop(body)) => {
                            self.pass(args, &s.regions[body].params);
                        }
                        _ => self.pass(args, s.results(l)),
                    }
                }
                (op, attrs) => {
                    let log = self.result(op, attrs, args);
                    for &v in s.results(i) {
                        self.lower(v, log);
                    }
                }
            }
        }
    }

    /// Values that become others at the end of a region.
    fn pass(&mut self, from: &[Value], to: &[Value]) {
        for (&a, &b) in from.iter().zip(to) {
            self.lower(b, self.logs[a]);
        }
    }

    fn result(&self, op: Op, attrs: Attrs, args: &[Value]) -> u8 {
        let log = |k: usize| self.logs[args[k]];
        match op {
            Op::Const => match attrs {
                Attrs::Const(c) => ALL.min(c.trailing_zeros() as u8),
                _ => 0,
            },
            Op::Copy | Op::INeg | Op::U2U | Op::S2S | Op::ReadFirst | Op::ReadLane => log(0),
            Op::IAdd
            | Op::ISub
            | Op::IOr
            | Op::IXor
            | Op::UMin
            | Op::UMax
            | Op::SMin
            | Op::SMax => log(0).min(log(1)),
            Op::Select => log(1).min(log(2)),
            Op::IAnd => log(0).max(log(1)),
            Op::IMul => ALL.min(log(0) + log(1)),
            Op::IShl => match self.s.as_const(args[1]) {
                Some(by) if by < u64::from(ALL) => ALL.min(log(0) + by as u8),
                _ => 0,
            },
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Multiples;
    use tepui_ir::Op;

    #[test]
    fn counters_of_loops_keep_what_start_and_step_share() {
        let s = tepui_ir::parse(
            "shader compute \"main\" {
  workgroup_size 8 1 1
  resource storage_buffer set 0 binding 0 count 1 2d float \"data\"
  body {
    %0:b32 = const[0x0]
    %1:b32 = const[0x18]
    %2:b32 = const[0x30]
    %3:b64 = descriptor[@r0] %0
    loop (%4:b32 = %2) {
      %5:b32 = iadd %4, %1
      %6:b32 = load_buffer[align 4] %3, %5
      %7:b1 = uge %6, %1
      if %7 {
        break
      }
      continue %5
    }
    yield
  }
}
",
        )
        .unwrap_or_else(|e| panic!("{e}"));
        let m = Multiples::new(&s);
        let mut sum = None;
        s.walk(|s, _, i| {
            if s.insts[i].op == Op::IAdd {
                sum = Some((m.log2(s.arg(i, 0)), m.log2(s.result(i))));
            }
        });
        assert_eq!(sum, Some((3, 3)), "48 + 24 n is a multiple of 8");
    }
}
