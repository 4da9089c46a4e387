//! Random structured functions compute the same after they are spilled to few registers.

use super::machine::{
    Func, GROUP, HALF, Inst, Picky, QUAD, SCALAR, WORD, block, ctl, execute, picky_registers, push,
    show, value,
};
use super::{check, check_on};
use proptest::prelude::*;
use tepui_regalloc::liveness::{self, Liveness};
use tepui_regalloc::{Block, Ctl, Op, RegClass, Val, latency};

/// Choices from a list of numbers, which is repeated.
struct Choices<'a> {
    list: &'a [u8],
    at: usize,
}

impl Choices<'_> {
    fn below(&mut self, n: usize) -> usize {
        self.at += 1;
        (usize::from(self.list[self.at % self.list.len()]) + self.at / self.list.len()) % n
    }
}

struct Random<'a> {
    f: Func,
    choices: Choices<'a>,
    /// Values that may be read.
    vals: Vec<Val>,
    names: u32,
    /// With what only [`Picky`] has.
    picky: bool,
}

impl Random<'_> {
    fn class(&mut self) -> RegClass {
        if self.picky {
            return [WORD, GROUP, HALF, SCALAR, WORD, QUAD][self.choices.below(6)];
        }
        [WORD, WORD, HALF, WORD, QUAD][self.choices.below(5)]
    }

    fn any(&mut self, class: RegClass) -> Option<Val> {
        let of: Vec<Val> = self.vals.iter().copied().filter(|&v| self.f.vals[v] == class).collect();
        (!of.is_empty()).then(|| of[self.choices.below(of.len())])
    }

    fn instruction(&mut self, b: Block) {
        self.names += 1;
        let name = self.names;
        let class = self.class();
        let kinds = if self.picky { 10 } else { 6 };
        let v = match self.choices.below(kinds) {
            6 if let (Some(x), Some(y)) = (self.any(WORD), self.any(class)) => {
                let z = self.any(HALF).unwrap_or(y);
                value(&mut self.f, b, Inst::Call(name), WORD, &[x, x, y, z])
            }
            7 if let Some(x) = self.any(class) => {
                let y = self.any(WORD).unwrap_or(x);
                value(&mut self.f, b, Inst::Tied(name), class, &[x, y])
            }
            8 if let Some(x) = self.any(class) => {
                value(&mut self.f, b, Inst::Early(name), class, &[x])
            }
            9 if let (Some(x), Some(y)) = (self.any(QUAD), self.any(class)) => {
                value(&mut self.f, b, Inst::Halves(name), QUAD, &[x, y])
            }
            0 => value(&mut self.f, b, Inst::Const(name), class, &[]),
            1 => value(&mut self.f, b, Inst::Input(name), class, &[]),
            2 => {
                let shown = self.any(class).into_iter().collect::<Vec<_>>();
                return show(&mut self.f, b, &shown);
            }
            3 => {
                let Some(vector) = self.any(QUAD) else { return };
                let parts: Vec<Val> = (0..4).map(|_| self.f.val(WORD)).collect();
                push(&mut self.f, b, Op::Split, &parts, &[vector]);
                self.vals.extend(parts);
                return;
            }
            4 => {
                let parts: Vec<Val> = (0..4).filter_map(|_| self.any(WORD)).collect();
                if parts.len() < 4 {
                    return;
                }
                let v = self.f.val(QUAD);
                push(&mut self.f, b, Op::Collect, &[v], &parts);
                v
            }
            _ => {
                let srcs: Vec<Val> =
                    [WORD, HALF, class].iter().filter_map(|&c| self.any(c)).collect();
                value(&mut self.f, b, Inst::Mix(name), class, &srcs)
            }
        };
        self.vals.push(v);
    }

    /// Some instructions and nested control flow; returns the block where it ends.
    fn body(&mut self, mut b: Block, depth: u16, nesting: usize) -> Block {
        for _ in 0..=self.choices.below(4) {
            for _ in 0..self.choices.below(12) {
                self.instruction(b);
            }
            if nesting > 0 {
                b = match self.choices.below(3) {
                    0 => self.selection(b, depth, nesting - 1),
                    1 => self.repetition(b, depth, nesting - 1),
                    _ => b,
                };
            }
        }
        b
    }

    fn condition(&mut self, b: Block) -> Val {
        match self.any(WORD) {
            Some(v) => v,
            None => value(&mut self.f, b, Inst::Input(0), WORD, &[]),
        }
    }

    fn selection(&mut self, b: Block, depth: u16, nesting: usize) -> Block {
        let cond = self.condition(b);
        ctl(&mut self.f, b, Ctl::If(Inst::Test), &[cond]);
        let outside = self.vals.clone();
        let then = block(&mut self.f, depth);
        self.f.edge(b, then);
        let then_end = self.body(then, depth, nesting);
        let of_then = std::mem::replace(&mut self.vals, outside.clone());
        let other = block(&mut self.f, depth);
        self.f.edge(b, other);
        ctl(&mut self.f, other, Ctl::Else, &[]);
        let other_end = self.body(other, depth, nesting);
        let of_other = std::mem::replace(&mut self.vals, outside);
        let join = block(&mut self.f, depth);
        self.f.edge(then_end, join);
        self.f.edge(other_end, join);
        for _ in 0..self.choices.below(8) {
            let x = of_then[self.choices.below(of_then.len().max(1)).min(of_then.len() - 1)];
            let class = self.f.vals[x];
            let same: Vec<Val> =
                of_other.iter().copied().filter(|&v| self.f.vals[v] == class).collect();
            if same.is_empty() {
                continue;
            }
            let y = same[self.choices.below(same.len())];
            let phi = self.f.val(class);
            push(&mut self.f, join, Op::Phi, &[phi], &[x, y]);
            self.vals.push(phi);
        }
        ctl(&mut self.f, join, Ctl::EndIf, &[]);
        join
    }

    fn repetition(&mut self, b: Block, depth: u16, nesting: usize) -> Block {
        let starts: Vec<Val> = (0..self.choices.below(9))
            .filter_map(|_| {
                let class = self.class();
                self.any(class)
            })
            .collect();
        ctl(&mut self.f, b, Ctl::Loop, &[]);
        let head = block(&mut self.f, depth + 1);
        self.f.edge(b, head);
        let phis: Vec<Val> = starts.iter().map(|&s| self.f.val(self.f.vals[s])).collect();
        self.vals.extend(&phis);
        // The phis are written when their second sources are known.
        let body = self.body(head, depth + 1, nesting);
        let cond = self.condition(body);
        ctl(&mut self.f, body, Ctl::If(Inst::Test), &[cond]);
        let outside = self.vals.clone();
        let stay = block(&mut self.f, depth + 1);
        self.f.edge(body, stay);
        let latch = self.body(stay, depth + 1, nesting.saturating_sub(1));
        let seconds: Vec<Val> = starts
            .iter()
            .zip(&phis)
            .map(|(&s, &phi)| {
                let class = self.f.vals[s];
                if self.choices.below(5) == 0 { Some(phi) } else { self.any(class) }.unwrap_or(phi)
            })
            .collect();
        self.vals = outside;
        ctl(&mut self.f, latch, Ctl::EndLoop, &[]);
        let leave = block(&mut self.f, depth + 1);
        self.f.edge(body, leave);
        let leave_end = self.body(leave, depth + 1, 0);
        ctl(&mut self.f, leave_end, Ctl::Break, &[]);
        self.f.edge(latch, head);
        let insts = std::mem::take(&mut self.f.blocks[head].insts);
        for ((&phi, &start), &second) in phis.iter().zip(&starts).zip(&seconds) {
            push(&mut self.f, head, Op::Phi, &[phi], &[start, second]);
        }
        self.f.blocks[head].insts.extend(insts);
        let out = block(&mut self.f, depth);
        self.f.edge(leave_end, out);
        out
    }
}

/// A function of these choices that shows some of its values at the end.
fn function(list: &[u8], picky: bool) -> Func {
    let choices = Choices { list, at: 0 };
    let mut r = Random { f: Func::default(), choices, vals: Vec::new(), names: 0, picky };
    let first = block(&mut r.f, 0);
    for _ in 0..8 {
        r.instruction(first);
    }
    r.vals.push(value(&mut r.f, first, Inst::Input(1000), WORD, &[]));
    let last = r.body(first, 0, 3);
    for v in r.vals.clone() {
        if r.choices.below(3) == 0 {
            show(&mut r.f, last, &[v]);
        }
    }
    r.f
}

proptest! {
    #[test]
    fn functions_do_the_same(list in proptest::collection::vec(any::<u8>(), 20..200), limit in 20u32..40) {
        let f = function(&list, false);
        // Slots of all kinds: near, far, and behind memory that is there.
        for (limit, scratch) in [(limit, 0), (64, 0), (limit, 48), (limit, 100)] {
            check(&mut f.clone(), limit, scratch);
        }
    }

    #[test]
    fn functions_in_another_order_do_the_same(list in proptest::collection::vec(any::<u8>(), 20..200), limit in 20u32..90) {
        let mut f = function(&list, true);
        let want = execute(&f, 300);
        let live = Liveness::new(&f).expect("liveness");
        let (before, _) = liveness::pressure::<Picky>(&f, &live);
        latency::run::<Picky>(&mut f, &live, limit);
        assert_eq!(execute(&f, 300), want);
        let (after, _) = liveness::pressure::<Picky>(&f, &live);
        assert!(after <= before.max(limit));
    }

    #[test]
    fn functions_with_constraints_do_the_same(list in proptest::collection::vec(any::<u8>(), 20..200), limit in 44u32..80) {
        let f = function(&list, true);
        // A group of three units may take four.
        check_on::<Picky>(&mut f.clone(), limit, 0, &picky_registers(limit as u16 * 4 / 3 + 24));
    }
}
