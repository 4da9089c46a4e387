//! A warp: registers, active lanes, and lanes that are elsewhere in the program.
//!
//! Lanes that diverge are executed one group after the other: the group with the lowest address
//! first, and groups join when they meet. As compilers lay out blocks in the order of the program,
//! lanes meet again where their paths do. How silicon orders groups is not known.

use arrayvec::ArrayVec;

use super::row::{LANES, Row};
use super::translate::HostState;

/// Registers of a thread of Valhall and Bifrost, and behind them those that stand for what Bifrost's tuples pass on.
pub const COMMON: usize = 80;

/// Rows of registers: Midgard has the most.
pub const REGISTERS: usize = 168;

/// Lanes at an address of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// The index of the next operation.
    pub pc: u32,
    /// The lanes.
    pub mask: u16,
}

/// A warp.
pub struct Warp {
    /// Registers.
    pub registers: [Row; REGISTERS],
    /// The lanes that execute.
    pub mask: u16,
    /// Lanes that help their neighbours with derivatives: they write nothing but registers.
    pub helpers: u16,
    /// The lower 32 bits of the address at which the lanes go on, if it is another program's.
    pub jump: Option<u32>,
    /// The index of the next operation.
    pub pc: u32,
    /// Lanes that are elsewhere, the nearest last.
    waiting: ArrayVec<Path, LANES>,
    /// The index at which others wait, or the highest number.
    pub meet: u32,
    /// What translated code keeps.
    pub host: HostState,
}

impl Default for Warp {
    fn default() -> Self {
        Warp {
            registers: [Row::splat(0); REGISTERS],
            mask: 0,
            helpers: 0,
            jump: None,
            pc: 0,
            waiting: ArrayVec::new(),
            meet: u32::MAX,
            host: HostState::default(),
        }
    }
}

impl Warp {
    /// Begins a program with some lanes.
    pub fn start(&mut self, mask: u16) {
        self.mask = mask;
        self.helpers = 0;
        self.jump = None;
        self.pc = 0;
        self.waiting.clear();
        self.meet = u32::MAX;
    }

    /// Goes on at the next operation, or for the lanes of `taken` at another.
    pub fn branch(&mut self, taken: u16, target: u32) {
        let next = self.pc + 1;
        let stay = self.mask & !taken;
        if taken == 0 {
            self.pc = next;
        } else if stay == 0 {
            self.pc = target;
        } else {
            self.mask = stay;
            self.pc = next;
            self.wait(Path { pc: target, mask: taken });
        }
        self.choose();
    }

    /// The active lanes end.
    pub fn end(&mut self) {
        self.mask = 0;
        self.choose();
    }

    /// Active lanes end; the others go on at the next operation.
    pub fn end_lanes(&mut self, lanes: u16) {
        self.mask &= !lanes;
        self.pc += 1;
        self.choose();
    }

    /// Whether no lanes are elsewhere in the program.
    pub fn is_together(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Lets lanes wait at their address, with others that are there.
    fn wait(&mut self, path: Path) {
        if path.mask == 0 {
            return;
        }
        match self.waiting.iter_mut().find(|p| p.pc == path.pc) {
            Some(same) => same.mask |= path.mask,
            None => {
                let at = self.waiting.iter().take_while(|p| p.pc > path.pc).count();
                // Each path has a lane of its own, so that there is room.
                let _ = self.waiting.try_insert(at, path);
            }
        }
    }

    /// Goes on with the lanes at the lowest address.
    pub fn choose(&mut self) {
        if let Some(nearest) = self.waiting.last().copied()
            && (self.mask == 0 || nearest.pc <= self.pc)
        {
            self.waiting.pop();
            if self.mask != 0 && nearest.pc == self.pc {
                self.mask |= nearest.mask;
            } else {
                let here = Path { pc: self.pc, mask: self.mask };
                (self.pc, self.mask) = (nearest.pc, nearest.mask);
                self.wait(here);
            }
        }
        self.meet = self.waiting.last().map_or(u32::MAX, |p| p.pc);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_part_and_meet_again() {
        let mut warp = Warp::default();
        warp.start(0xff);
        warp.branch(0x0f, 10);
        assert_eq!((warp.pc, warp.mask, warp.meet), (1, 0xf0, 10));
        warp.branch(0x30, 5);
        assert_eq!((warp.pc, warp.mask, warp.meet), (2, 0xc0, 5));
        // The rest jumps beyond both; the nearest others go on.
        warp.branch(0xc0, 10);
        assert_eq!((warp.pc, warp.mask, warp.meet), (5, 0x30, 10));
        warp.pc = 10;
        warp.choose();
        assert_eq!((warp.pc, warp.mask, warp.meet), (10, 0xff, u32::MAX));
        warp.end();
        assert_eq!((warp.mask, warp.meet), (0, u32::MAX));
    }

    #[test]
    fn a_loop_is_left_lane_by_lane() {
        let mut warp = Warp::default();
        warp.start(3);
        warp.pc = 7;
        // Lane 1 leaves for 8, lane 0 goes back to 2.
        warp.branch(1, 2);
        assert_eq!((warp.pc, warp.mask, warp.meet), (2, 1, 8));
        warp.end();
        assert_eq!((warp.pc, warp.mask), (8, 2));
    }
}
