//! A warp: registers, active lanes, and lanes that wait elsewhere in the program.
//!
//! Divergent lanes are executed one group after the other: the group with the lowest address first, and
//! groups reconverge when they meet. As compilers lay out blocks in program order, lanes reconverge where
//! their paths do. The order on silicon is not known.

pub mod addresses;
pub mod host;
pub mod local;
pub mod row;
pub mod tracker;
pub mod trap;
pub mod uniforms;

use arrayvec::ArrayVec;

use row::{LANES, Row};
use tracker::Tracker;

/// Registers of a thread of Valhall and Bifrost, followed by temporaries for values that Bifrost's tuples pass on.
pub const COMMON: usize = 80;

/// Rows of registers: Midgard has the most.
pub const REGISTERS: usize = 168;

/// Lanes that wait at an address of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// The index of the next operation.
    pub pc: u32,
    /// The lanes.
    pub mask: u16,
}

/// State of a warp for translated code, in addition to its registers.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct HostState {
    /// The executing lanes, of which `row` is the expanded mask.
    pub exec: u32,
    /// All ones for executing lanes.
    pub row: [u32; LANES],
}

/// A warp.
pub struct Warp {
    /// Registers.
    pub registers: [Row; REGISTERS],
    /// The lanes that execute.
    pub mask: u16,
    /// Helper lanes, which contribute to derivatives: they write nothing but registers.
    pub helpers: u16,
    /// The lower 32 bits of the address at which the lanes continue, if it belongs to another program.
    pub jump: Option<u32>,
    /// The index of the next operation.
    pub pc: u32,
    /// Lanes that wait elsewhere, the nearest last.
    waiting: ArrayVec<Path, LANES>,
    /// The lowest index at which lanes wait, or the maximum number.
    pub meet: u32,
    /// State for translated code.
    #[cfg(target_arch = "x86_64")]
    pub host: HostState,
    /// Messages in flight, under the checker.
    pub tracker: Option<Box<Tracker>>,
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
            #[cfg(target_arch = "x86_64")]
            host: HostState::default(),
            tracker: None,
        }
    }
}

impl Warp {
    /// Begins a program with a mask of lanes.
    pub fn start(&mut self, mask: u16) {
        self.mask = mask;
        self.helpers = 0;
        self.jump = None;
        self.pc = 0;
        self.waiting.clear();
        self.meet = u32::MAX;
        self.tracker = None;
    }

    /// Continues at the next operation, or for the lanes of `taken` at another.
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

    /// Ends the active lanes.
    pub fn end(&mut self) {
        self.mask = 0;
        self.choose();
    }

    /// Ends some active lanes; the others continue at the next operation.
    pub fn end_lanes(&mut self, lanes: u16) {
        self.mask &= !lanes;
        self.pc += 1;
        self.choose();
    }

    /// Whether no lanes wait elsewhere in the program.
    pub fn is_together(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Adds lanes to those that wait at an address.
    fn wait(&mut self, path: Path) {
        if path.mask == 0 {
            return;
        }
        match self.waiting.iter_mut().find(|p| p.pc == path.pc) {
            Some(same) => same.mask |= path.mask,
            None => {
                let at = self.waiting.iter().take_while(|p| p.pc > path.pc).count();
                // Each path has a lane of its own, so that there is always capacity.
                let _ = self.waiting.try_insert(at, path);
            }
        }
    }

    /// Continues with the lanes at the lowest address.
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
        // The rest jumps past both; the nearest others continue.
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
