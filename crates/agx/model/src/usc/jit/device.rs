//! Templates of loads and stores of device memory, at a uniform base or at one of each lane, if all
//! active lanes stay inside of the bound range that the instruction accessed last (its [`Window`]). All
//! other cases call the handler, which sets the window to the range that it accessed.
//!
//! # Why no access leaves the window
//!
//! A window is `length` bytes of a bound range at the host address `host`, valid while the job runs:
//! the address space retains unbound memory until no job runs
//! ([`tepui_softgpu::AddressSpace::release_retired`]), and windows begin empty in each job.
//! `length` is at most [`Window::MAX_BYTES`], 2^31 - 1, and all addresses of a window have the same
//! high half ([`Window::SEGMENT`]).
//!
//! 1. `from_base`, the base less the window's start in 64 bits, is compared unsigned: above 2^31 -
//!    1, which includes all bases below the start, the handler is called.
//! 2. **Immediate index.** The [`Plan`] takes indices below 2^15, so less than 2^19 bytes. They and
//!    the bytes of an access are added to `from_base` in 64 bits, where nothing wraps, and compared
//!    with `length` once, whatever lanes execute. Loads read between `host + from_base` and that
//!    end, so it does not matter that they read when no lane executes.
//! 3. **Index in a register.** Each active lane's index is below 2^`REACH_BITS` after the shift, or
//!    the handler is called. So its offset from the start is less than 2^31 + 2^30, its end does not
//!    wrap in 32 bits, and the end is compared unsigned with `length`. Offsets that pass are less
//!    than 2^31: gathers and scatters extend their sign. Lanes that do not execute are not tested,
//!    so nothing may read or write for them: gathers and scatters have the execution mask, and the
//!    loads and stores of whole vectors come after a test that all lanes of the part execute
//!    (`neighbours`).
//! 4. **Base in registers.** `limit` is `length` minus the extent of the access from its base, with an
//!    immediate index (below 2^20) or of one element; if negative, the handler is called. Each active
//!    lane's base must have the high half of the window's addresses, and the difference of low halves is
//!    compared unsigned with `limit`, which is less than 2^31. A base below the start would differ by at
//!    least 2^32 less the start's low half, which is no less than `length`, because the window ends in its
//!    segment; so the difference of a base that passes is its distance from the start. An index in a
//!    register is added as in (3), and the sum, which is less than 2^31 + 2^30, compared with `limit`
//!    again.
//!
//! An empty window has `length` 0 and lets nothing pass, since an access has at least one byte.

use super::translator::{ByHandler, Done, LANES, REGISTERS, SHARED, Translator, field};
use crate::usc::access::{Format, Transfer};
use crate::usc::exec::execute;
use crate::usc::exec::memory::register_at;
use crate::usc::lanes::Lanes;
use crate::usc::memory::{Port, WINDOWS, Window};
use crate::usc::op::{File, Form, Next, Op, Src};
use crate::usc::opcode::Opcode;
use crate::usc::row::{LANES as COUNT, NUMBERS, Row};
use tepui_hostvec::asm::{ALL, Condition, Gpr, Kop, Label, Mask, Rm, Shift, V, Vop, integer};

/// The port of the group.
const PORT: Gpr = Gpr::RDX;

/// Bits of the distance of a lane from the base, in bytes.
const REACH_BITS: u32 = 30;

/// The parameters of the template.
struct Plan {
    transfer: Transfer,
    /// All lanes have one base.
    is_uniform: bool,
    is_store: bool,
    /// Bytes of an element.
    unit: u32,
    /// Elements from the first to the last.
    elements: u32,
    /// The shift of the index.
    shift: u32,
    /// Bytes that a lane touches.
    bytes: u32,
}

impl Plan {
    /// `None` for instructions without a template.
    fn new(op: &Op, transfer: &Transfer) -> Option<Plan> {
        let t = *transfer;
        let base = op.s[0];
        let is_uniform = base.file == File::Shared;
        let wide = matches!(t.register.form, Form::Word | Form::Pair);
        let raw = matches!(t.format, Format::I8 | Format::I16 | Format::I32)
            || t.format == Format::F16 && !wide;
        if base.form != Form::Pair || !raw || t.mask == 0 {
            return None;
        }
        let unit = t.format.stride();
        let elements = 8 - t.mask.leading_zeros();
        let shift = u32::from(t.shift.min(2)) + unit.trailing_zeros();
        match t.immediate {
            // Rare: below the base, or far after it.
            Some(index) if !(0..1 << 15).contains(&index) => return None,
            None if op.s[1].form != Form::Word => return None,
            _ => {}
        }
        let is_store = op.opcode == Opcode::device_store;
        // Elements are stored as words. Lanes may name the same place: the order of their stores is
        // then that of the handler only if places are the same or apart.
        let words = t.mask == ((1u16 << elements) - 1) as u8
            && (unit * elements).is_multiple_of(4)
            && (unit == 4 || is_uniform && shift >= 2);
        if is_store && !words {
            return None;
        }
        // Loads read whole words.
        let bytes = if is_store { unit * elements } else { unit * (elements - 1) + 4 };
        Some(Plan { transfer: t, is_uniform, is_store, unit, elements, shift, bytes })
    }

    /// Offset of all lanes from a uniform base.
    fn uniform_offset(&self) -> Option<i32> {
        self.transfer.immediate.filter(|_| self.is_uniform).map(|index| index << self.shift)
    }

    /// Elements that are transferred, with the number of the register of each.
    fn transferred(&self) -> impl Iterator<Item = (usize, u32)> + use<> {
        let mask = self.transfer.mask;
        (0..self.elements).filter(move |e| mask >> e & 1 != 0).enumerate()
    }
}

/// Offsets of a window's fields in the [`Port`].
struct WindowAt {
    start: i32,
    host: i32,
    length: i32,
}

/// Registers of a template.
struct Held {
    /// Offsets of each part's lanes from the window's start.
    offsets: Vec<V>,
    /// The remaining lanes of a gather or scatter.
    left: Mask,
    /// Scratch.
    other: Mask,
}

/// The handler, then the window.
extern "sysv64" fn touch(l: &mut Lanes<'_, '_>, op: &Op) -> u32 {
    let address = first_address(l, op);
    // SAFETY: as in the interpreter, the rows of the program's operations lie in the files.
    let next = unsafe { execute(l, op) };
    if let (Next::Continue, Some(address)) = (next, address) {
        l.port.show(op.imm as usize, address, op.opcode == Opcode::device_store);
    }
    next as u32
}

/// The address of the first active lane.
fn first_address(l: &Lanes<'_, '_>, op: &Op) -> Option<u64> {
    let t = l.code.transfer(op.imm as usize);
    let lane = l.exec.trailing_zeros() as usize;
    if lane >= COUNT {
        return None;
    }
    let unit = t.format.stride();
    let shift = u32::from(t.shift.min(2)) + unit.trailing_zeros();
    let base = l.load_u64(op.s[0])[lane] & !(u64::from(unit) - 1);
    let index = t.immediate.map_or_else(|| i64::from(l.row(op.s[1]).0[lane]), i64::from);
    Some(base.wrapping_add((index << shift) as u64))
}

impl Translator<'_> {
    /// A load or store of device memory.
    pub fn device(&mut self, op: &Op) -> Done {
        let transfer = self.code.transfer(op.imm as usize);
        let plan = Plan::new(op, transfer).ok_or(ByHandler)?;
        self.count();
        let number = op.imm as usize % WINDOWS + if plan.is_store { WINDOWS } else { 0 };
        let window = std::mem::offset_of!(Port<'_>, windows) + number * size_of::<Window>();
        let (from_base, host) = (Gpr::RAX, Gpr::RCX);
        let window = WindowAt {
            start: (window + std::mem::offset_of!(Window, start)) as i32,
            host: (window + std::mem::offset_of!(Window, host)) as i32,
            length: (window + std::mem::offset_of!(Window, length)) as i32,
        };
        let (slow, done) = (self.asm.label(), self.asm.label());
        self.asm.load_word(PORT, LANES, field!(port));
        if plan.is_store {
            // Helper lanes write nothing.
            self.asm.compare_memory_word(LANES, field!(fragments), 0);
            self.asm.jump_if(Condition::NotZero, slow);
        }
        if plan.is_uniform {
            self.uniform_base(op, &plan, &window, from_base, slow);
        }
        let parts = 0..self.asm.parts();
        let offsets: Vec<V> = parts.clone().map(|part| self.keep(4 + part as u8)).collect();
        let other = self.mask(6);
        match plan.uniform_offset() {
            Some(offset) => {
                // One end for all lanes. (2)
                self.asm.address(host, from_base, offset + plan.bytes as i32);
                self.asm.compare_word(host, PORT, window.length);
                self.asm.jump_if(Condition::Above, slow);
                if plan.is_store {
                    for at in &offsets {
                        self.asm.load(*at, Rm::Constant(offset as u32));
                        self.asm.vector(Vop::PADDD, *at, ALL, *at, Rm::Reg(V(1)), None);
                    }
                }
            }
            None => self.offsets_of_lanes(op, &plan, &window, &offsets, other, slow),
        }
        let held = Held { offsets, left: self.mask(3), other };
        self.asm.load_word(host, PORT, window.host);
        if plan.is_store {
            self.store_words(&plan, &held, host);
        } else {
            self.load_elements(&plan, &held, from_base, host);
        }
        held.offsets.into_iter().for_each(|at| self.free(at));
        [held.left, held.other].into_iter().for_each(|mask| self.free_mask(mask));
        self.asm.jump(done);
        self.asm.place(slow);
        self.by(touch as *const () as u64);
        self.asm.place(done);
        Ok(())
    }

    /// A uniform base, from the window's start, to a register and to all lanes of `V(1)`. (1)
    fn uniform_base(
        &mut self,
        op: &Op,
        plan: &Plan,
        window: &WindowAt,
        from_base: Gpr,
        slow: Label,
    ) {
        let row = |r: u16| (usize::from(r) * size_of::<Row>()) as i32;
        self.asm.load_half(from_base, SHARED, row(op.s[0].row));
        self.asm.load_half(Gpr::RCX, SHARED, row(op.s[0].row + 1));
        self.asm.shift_left(Gpr::RCX, 32);
        self.asm.or(from_base, Gpr::RCX);
        if plan.unit > 1 {
            self.asm.and_constant(from_base, -(plan.unit as i8));
        }
        self.asm.subtract_word(from_base, PORT, window.start);
        self.asm.compare_constant(from_base, i32::MAX);
        self.asm.jump_if(Condition::Above, slow);
        self.asm.broadcast(V(1), from_base);
    }

    /// Computes each lane's offset from the window's start to `offsets`; jumps unless the access of
    /// each active lane ends in the window. `V(1)` has a uniform base, as an offset from the window's
    /// start. (3, 4)
    fn offsets_of_lanes(
        &mut self,
        op: &Op,
        plan: &Plan,
        window: &WindowAt,
        offsets: &[V],
        other: Mask,
        slow: Label,
    ) {
        // Lanes that are not inside: of the first part, to which the others' are added, and of
        // another.
        let outside = [self.mask(4), self.mask(5)];
        if !plan.is_uniform {
            // The limit. An index in a register comes later.
            let offset = plan.transfer.immediate.map_or(0, |index| index << plan.shift);
            self.asm.load_word(Gpr::RAX, PORT, window.length);
            self.asm.address(Gpr::RAX, Gpr::RAX, -(offset + plan.bytes as i32));
            self.asm.compare_constant(Gpr::RAX, i32::MAX);
            self.asm.jump_if(Condition::Above, slow);
            self.asm.broadcast(V(1), Gpr::RAX);
        }
        for (part, &at) in offsets.iter().enumerate() {
            self.part = part;
            let here = outside[part.min(1)];
            if plan.is_uniform {
                self.index_of_lanes(op, plan, at, other);
                self.asm.vector(Vop::PADDD, at, ALL, at, Rm::Reg(V(1)), None);
                let bytes = Rm::Constant(plan.bytes);
                self.asm.vector(Vop::PADDD, V(2), ALL, at, bytes, None);
                let end = Rm::Broadcast(PORT, window.length);
                self.asm.compare(Vop::PCMPUD, here, self.exec(), V(2), end, integer::GREATER);
                self.asm.mask_op(Kop::Or, here, here, other);
            } else {
                self.base_of_lanes(op, plan, window, at, (here, other));
            }
            if part > 0 {
                self.asm.mask_op(Kop::Or, outside[0], outside[0], here);
            }
        }
        self.asm.test_mask(outside[0]);
        self.asm.jump_if(Condition::NotZero, slow);
        outside.into_iter().for_each(|mask| self.free_mask(mask));
    }

    /// The index of each lane of the part at hand in bytes, and the active lanes in which it is too
    /// large. (3)
    fn index_of_lanes(&mut self, op: &Op, plan: &Plan, at: V, too_large: Mask) {
        self.int(at, op.s[1]);
        self.rows.held.clear();
        let far = Rm::Constant(u32::MAX << (REACH_BITS - plan.shift));
        self.asm.test_bits(too_large, self.exec(), at, far);
        self.asm.shift(Shift::Left, at, at, plan.shift as u8);
    }

    /// Computes the offsets of the current part's lanes whose bases are in registers, and the active
    /// lanes that leave the window. `V(1)` has the limit of the distance from the start. (4)
    fn base_of_lanes(
        &mut self,
        op: &Op,
        plan: &Plan,
        window: &WindowAt,
        at: V,
        (outside, other): (Mask, Mask),
    ) {
        let base = op.s[0].row;
        let limit = Rm::Reg(V(1));
        self.asm.load(at, self.in_file(REGISTERS, base));
        if plan.unit > 1 {
            self.and(at, plan.unit.wrapping_neg());
        }
        self.asm.vector(Vop::PSUBD, at, ALL, at, Rm::Broadcast(PORT, window.start), None);
        self.asm.compare(Vop::PCMPUD, outside, self.exec(), at, limit, integer::GREATER);
        self.asm.load(V(2), self.in_file(REGISTERS, base + 1));
        let high = Rm::Broadcast(PORT, window.start + 4);
        self.asm.compare(Vop::PCMPD, other, self.exec(), V(2), high, integer::NOT_EQUAL);
        self.asm.mask_op(Kop::Or, outside, outside, other);
        match plan.transfer.immediate {
            Some(0) => {}
            Some(index) => {
                let offset = Rm::Constant((index << plan.shift) as u32);
                self.asm.vector(Vop::PADDD, at, ALL, at, offset, None);
            }
            None => {
                self.index_of_lanes(op, plan, V(2), other);
                self.asm.mask_op(Kop::Or, outside, outside, other);
                self.asm.vector(Vop::PADDD, at, ALL, at, Rm::Reg(V(2)), None);
                self.asm.compare(Vop::PCMPUD, other, self.exec(), at, limit, integer::GREATER);
                self.asm.mask_op(Kop::Or, outside, outside, other);
            }
        }
    }

    /// Memory to registers.
    fn load_elements(&mut self, plan: &Plan, held: &Held, from_base: Gpr, host: Gpr) {
        let uniform = plan.uniform_offset();
        if uniform.is_some() {
            self.asm.add(host, from_base);
        }
        for part in 0..self.asm.parts() {
            self.part = part;
            for (k, e) in plan.transferred() {
                let offset = (plan.unit * e) as i32;
                match uniform {
                    Some(from) => {
                        self.asm.load(V(0), Rm::Broadcast(host, from + offset));
                    }
                    None if plan.bytes == 4 && plan.unit == 4 => {
                        let (scattered, there) = (self.asm.label(), self.asm.label());
                        self.neighbours(held, scattered);
                        self.asm.add(Gpr::RAX, host);
                        self.asm.load(V(0), Rm::Mem(Gpr::RAX, 0));
                        self.asm.jump(there);
                        self.asm.place(scattered);
                        self.asm.mask_move(held.left, self.exec());
                        self.asm.gather(V(0), held.left, host, held.offsets[part], offset);
                        self.asm.place(there);
                    }
                    None => {
                        self.asm.mask_move(held.left, self.exec());
                        self.asm.gather(V(0), held.left, host, held.offsets[part], offset);
                    }
                }
                if plan.unit < 4 {
                    self.and(V(0), (1 << (8 * plan.unit)) - 1);
                }
                self.store(register_at(plan.transfer.register, k), V(0));
            }
            self.write_back();
        }
    }

    /// Registers to memory, a word of all lanes before the next: as the handler stores them.
    fn store_words(&mut self, plan: &Plan, held: &Held, host: Gpr) {
        let together = 4 / plan.unit;
        for word in 0..plan.elements / together {
            for part in 0..self.asm.parts() {
                self.part = part;
                for piece in 0..together {
                    let to = if piece == 0 { V(0) } else { V(1) };
                    let d = register_at(plan.transfer.register, (word * together + piece) as usize);
                    self.int(to, Src { form: d.form, ..Src::register(d.row) });
                    if together > 1 {
                        self.and(to, (1 << (8 * plan.unit)) - 1);
                    }
                    if piece > 0 {
                        self.asm.shift(Shift::Left, to, to, (8 * plan.unit * piece) as u8);
                        self.asm.vector(Vop::PORD, V(0), ALL, V(0), Rm::Reg(to), None);
                    }
                }
                self.rows.held.clear();
                let (scattered, there) = (self.asm.label(), self.asm.label());
                if plan.bytes == 4 {
                    self.neighbours(held, scattered);
                    self.asm.add(Gpr::RAX, host);
                    self.asm.store(Rm::Mem(Gpr::RAX, 0), ALL, V(0));
                    self.asm.jump(there);
                }
                self.asm.place(scattered);
                self.asm.mask_move(held.left, self.exec());
                self.asm.scatter(V(0), held.left, host, held.offsets[part], 4 * word as i32);
                self.asm.place(there);
            }
        }
    }

    /// Jumps unless all lanes of the part execute and want neighbouring words; else `rax` is the
    /// first one's offset. Then all lanes were tested, and one vector there is what they want.
    fn neighbours(&mut self, held: &Held, otherwise: Label) {
        let at = held.offsets[self.part];
        self.asm.broadcast_first(V(2), at);
        self.asm.vector(Vop::PSUBD, V(2), ALL, at, Rm::Reg(V(2)), None);
        self.asm.mov_constant(Gpr::RAX, (&raw const NUMBERS) as u64);
        self.asm.load(V(3), Rm::Mem(Gpr::RAX, 0));
        self.asm.shift(Shift::Left, V(3), V(3), 2);
        let ahead = Rm::Reg(V(3));
        self.asm.compare(Vop::PCMPD, held.other, self.exec(), V(2), ahead, integer::EQUAL);
        self.asm.test_mask(held.other);
        self.asm.jump_if(Condition::NoCarry, otherwise);
        self.asm.first_lane(Gpr::RAX, at);
    }
}
