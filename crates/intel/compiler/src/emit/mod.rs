//! Machine IR with registers to instructions of the hardware.
//!
//! [`run`] walks the blocks in layout order. Each instruction becomes one for each part of the channels that the hardware
//! executes at once ([`expand`]); structured control flow becomes `if`, `else`, `endif`, `while`, `break` and `cont` with
//! their jumps ([`flow`]); [`lanes`] has what passes between channels, [`sampler`] headers and
//! handles of messages.

mod expand;
mod flags;
mod flow;
mod lanes;
pub mod listing;
mod sampler;
mod stage;
pub mod swsb;

use self::listing::Listing;
use crate::error::{Error, Result};
use crate::mir::{self, GRF_BYTES, Operand, Place, UNIT_BYTES, plane_units};
use crate::select::Ending;
use tepui_backend::listing::At;
use tepui_intel_isa::layout::Targets;
use tepui_intel_isa::{
    Arf, Dst, Form, Generation, Inst, Location, Opcode, Region, Register, Src, SyncFunction, Type,
    validate,
};
use tepui_ir::Loc;
use tepui_regalloc::alloc::Registers;
use tepui_regalloc::{Code, Ctl, RegSet, Step};

/// Register of the payload that ends the thread, which must be among the last sixteen.
pub const PAYLOAD: u8 = 127;
/// Register of responses that only say that something is done, and of what is needed within one sequence.
pub const RESPONSE: u8 = 126;
/// First register that values do not take.
pub const RESERVED: u16 = 126;
/// Register of the payload of all barriers of a program. Values do not take it where there are any.
pub const BARRIER: u8 = 125;

/// The source of a `sync` that has no mask of tokens.
const SYNC_SOURCE: Src = Src { ty: Type::UB, region: Region::SCALAR, ..Src::NULL };

/// The width of the widest instruction.
const MAX_WIDTH: u8 = 16;

/// Makes instructions from code.
struct Emit {
    generation: Generation,
    /// Channels of the thread.
    width: u8,
    /// Whether the instruction computes a scalar value.
    scalar: bool,
    /// The registers of scalar values.
    scalars: RegSet,
    /// Whether a flag has the live channels, which alone write memory and targets.
    live: bool,
    /// The register of samples' positions.
    positions: u16,
    /// The comparisons whose outcome the flag has.
    known: flags::KnownFlag,
    /// Index of the first instruction after the last place that jumps lead to and that is no instruction.
    block_start: usize,
    out: Listing,
    loc: Loc,
    step: At,
    flow: flow::Flow,
    /// The first error.
    error: Option<Error>,
}

/// Parameters of the thread's stage.
#[derive(Clone, Copy, Debug, Default)]
pub struct Thread {
    /// The message that ends the thread.
    pub ending: Ending,
    /// The register of samples' positions, of fragments that have it.
    pub positions: u16,
    /// Threads of a patch that wait for each other at barriers; 0 in a compute program.
    pub patch_threads: u8,
}

/// Emits a program.
///
/// # Errors
/// When a spilled value is out of reach, or an instruction breaks a rule: a bug of the compiler.
pub fn run(
    generation: Generation,
    width: u8,
    code: &Code<mir::Inst>,
    registers: &Registers,
    thread: &Thread,
) -> Result<Listing> {
    let mut e = Emit {
        generation,
        width,
        scalar: false,
        scalars: registers.unmasked,
        live: false,
        positions: thread.positions,
        known: flags::KnownFlag::default(),
        block_start: 0,
        out: Listing::default(),
        loc: Loc::default(),
        step: At::default(),
        flow: flow::Flow::default(),
        error: None,
    };
    let is_barrier =
        |step: &Step<mir::Inst>| matches!(step, Step::Inst(mir::Inst { op: mir::Op::Barrier, .. }));
    if code.blocks.iter().any(|b| b.steps.iter().any(|(step, _)| is_barrier(step))) {
        e.barrier_payload(thread.patch_threads);
    }
    for b in 0..code.blocks.len() {
        for k in 0..code.blocks[b].steps.len() {
            let (step, loc) = code.blocks[b].steps[k];
            e.loc = loc;
            e.step = At { block: b as u32, step: k as u32 };
            match step {
                Step::Inst(inst) => e.expand(&inst),
                Step::Move { to, from, units } => e.copy(to, from, units),
                Step::Swap { .. } => return Err(Error::Internal("a swap of registers".to_owned())),
                Step::Ctl(ctl) => e.control(ctl, &code.blocks, b),
            }
        }
    }
    match thread.ending {
        Ending::Compute => e.end(),
        ending => e.end_stage(&ending),
    }
    match e.error {
        Some(error) => Err(error),
        None if generation == Generation::Gen12 => check(swsb::run(e.out, width)),
        None => check(e.out),
    }
}

/// Checks the rules of the hardware.
fn check(listing: Listing) -> Result<Listing> {
    for inst in &listing.insts {
        validate::check(inst).map_err(|rules| Error::Rules { text: inst.to_string(), rules })?;
    }
    Ok(listing)
}

/// The place of a part of an instruction: its first channel and how many there are.
#[derive(Clone, Copy)]
struct Part {
    first: u8,
    width: u8,
}

impl Part {
    /// One channel, which computes a value for all.
    const ONE: Part = Part { first: 0, width: 1 };
}

/// The location of a byte of the register file.
fn byte(at: u16) -> Location {
    let register = Register::General((at / GRF_BYTES) as u8);
    Location::Direct { register, byte: (at % GRF_BYTES) as u8 }
}

impl Emit {
    fn inst(&self, opcode: Opcode, part: Part) -> Inst {
        let mut inst = Inst::new(self.generation, opcode);
        inst.exec_size = part.width;
        inst.channel_offset = part.first;
        inst.no_mask = self.scalar;
        inst
    }

    /// An instruction that all channels execute, whatever the execution mask is.
    fn no_mask(&self, opcode: Opcode, width: u8) -> Inst {
        let mut inst = self.inst(opcode, Part { first: 0, width });
        inst.no_mask = true;
        inst
    }

    fn push(&mut self, mut inst: Inst) -> usize {
        // Functions of one argument have a second source all the same, whose rows may not be wider than the instruction.
        if inst.opcode == Opcode::Math
            && inst.exec_size < 8
            && inst.src[1].location == Location::NULL
        {
            inst.src[1].region = Region::SCALAR;
        }
        // The extended descriptor of Skylake's messages of one payload has the bits of its region. source: Mesa, brw_eu_emit.c
        // (`brw_set_desc_ex` overwrites the region); `iga64` prints the bits as the descriptor.
        if inst.form() == Form::Send {
            inst.src[0].region = Region::SCALAR;
        }
        self.known.keep(&inst);
        self.out.insts.push(inst);
        self.out.targets.push(Targets::default());
        self.out.origins.push((self.loc, self.step));
        self.out.insts.len() - 1
    }

    /// The parts of an instruction that the hardware executes at most `widest` channels of at once.
    fn parts(&self, widest: u8) -> impl Iterator<Item = Part> + use<> {
        let all = if self.scalar { 1 } else { self.width };
        let width = all.min(widest);
        (0..all).step_by(usize::from(width)).map(move |first| Part { first, width })
    }

    /// First byte of a part of a plane.
    fn at(unit: u16, part: Part) -> u16 {
        unit * UNIT_BYTES + 4 * u16::from(part.first)
    }

    fn src(&self, o: &Operand, part: Part) -> Src {
        let mut src = Src { ty: o.ty, negate: o.negate, abs: o.abs, ..Src::NULL };
        match o.place {
            Place::Plane(_) | Place::Payload(_) => {
                let unit = match o.place {
                    Place::Payload(register) => mir::GRF_UNITS * register,
                    Place::Plane(unit) => unit,
                    _ => 0,
                };
                src.location = byte(Self::at(unit, part) + u16::from(o.byte));
                let horizontal = (4 / o.ty.bytes().min(4)) as u8;
                src.region = match part.width {
                    1 => Region::SCALAR,
                    width => {
                        let width = width.min(8);
                        Region::Rows { vertical: width * horizontal, width, horizontal }
                    }
                };
            }
            Place::Scalar(unit) => {
                src.location = byte(unit * UNIT_BYTES + u16::from(o.byte));
                src.region = Region::SCALAR;
            }
            Place::Fixed(dword) => {
                src.location = byte(4 * dword + u16::from(o.byte));
                src.region = Region::SCALAR;
            }
            Place::Immediate(bits) => src = Src::immediate(o.ty, bits),
            Place::None | Place::Null => {}
        }
        src
    }

    fn dst(&self, o: &Operand, part: Part) -> Dst {
        match o.place {
            Place::Plane(unit) => Dst {
                location: byte(Self::at(unit, part)),
                ty: o.ty,
                stride: (4 / o.ty.bytes().min(4)) as u8,
                ..Dst::NULL
            },
            Place::Scalar(unit) => Dst {
                location: byte(unit * UNIT_BYTES),
                ty: o.ty,
                stride: (4 / o.ty.bytes().min(4)) as u8,
                ..Dst::NULL
            },
            _ => Dst { ty: o.ty, ..Dst::NULL },
        }
    }

    /// A general register as the source of all channels of a message.
    fn payload(&self, register: u16) -> Src {
        Src { location: byte(register * GRF_BYTES), ..Src::NULL }
    }

    /// Copies units: a plane under the execution mask.
    fn copy(&mut self, to: u16, from: u16, units: u16) {
        if units < u16::from(plane_units(self.width)) {
            if !self.scalars.contains(to) && !self.scalars.contains(from) {
                let what = format!("a copy of {units} units of a plane from {from} to {to}");
                self.error = self.error.take().or(Some(Error::Internal(what)));
            }
            let mut inst = self.no_mask(Opcode::Mov, 1);
            inst.dst = self.dst(&Operand::new(Place::Scalar(to), Type::UD), Part::ONE);
            inst.src[0] = self.src(&Operand::new(Place::Scalar(from), Type::UD), Part::ONE);
            self.push(inst);
            return;
        }
        for part in self.parts(MAX_WIDTH) {
            let mut inst = self.inst(Opcode::Mov, part);
            inst.dst = self.dst(&Operand::new(Place::Plane(to), Type::UD), part);
            inst.src[0] = self.src(&Operand::new(Place::Plane(from), Type::UD), part);
            self.guard(&mut inst);
            self.push(inst);
        }
    }

    /// The message that ends a compute thread: g0 is its payload.
    fn end(&mut self) {
        let mut copy = self.no_mask(Opcode::Mov, 8);
        copy.dst = Dst { location: Location::register(Register::General(PAYLOAD)), ..Dst::NULL };
        copy.src[0] = self.payload(0);
        self.push(copy);
        self.clear_accumulator();
        let mut send = self.no_mask(Opcode::Send, 8);
        send.src[0] = self.payload(u16::from(PAYLOAD));
        send.send.sfid = tepui_intel_isa::Sfid::ThreadSpawner;
        send.send.end_of_thread = true;
        send.send.desc = tepui_intel_isa::Desc::Immediate(tepui_intel_isa::descriptor::END);
        self.push(send);
    }

    /// Clears the accumulator before the end of a thread that used it. source: Mesa, brw_generator.cpp (Wa_14010017096)
    fn clear_accumulator(&mut self) {
        let accumulator = Location::register(Register::Architecture(Arf::Accumulator, 0));
        let uses = |inst: &Inst| inst.acc_write || inst.dst.location == accumulator;
        if self.generation == Generation::Gen9 || !self.out.insts.iter().any(uses) {
            return;
        }
        let mut clear = self.no_mask(Opcode::Mov, MAX_WIDTH);
        clear.dst = Dst { location: accumulator, ty: Type::F, ..Dst::NULL };
        clear.src[0] = Src::immediate(Type::F, 0);
        self.push(clear);
    }

    /// Waits for the other threads at a barrier: on Gen9 for the notification register.
    fn wait(&mut self) {
        self.out.has_barrier = true;
        if self.generation == Generation::Gen12 {
            let mut inst = self.no_mask(Opcode::Sync, 1);
            inst.function = SyncFunction::Bar as u8;
            inst.src[0] = SYNC_SOURCE;
            self.push(inst);
            return;
        }
        let mut inst = self.no_mask(Opcode::Wait, 1);
        let n0 = Location::register(Register::Architecture(Arf::Notification, 0));
        inst.dst.location = n0;
        inst.src[0] = Src { location: n0, region: Region::SCALAR, ..Src::NULL };
        self.push(inst);
    }

    fn control(
        &mut self,
        ctl: Ctl<mir::Inst>,
        blocks: &[tepui_regalloc::CodeBlock<mir::Inst>],
        b: usize,
    ) {
        flow::control(self, ctl, blocks, b);
    }
}
