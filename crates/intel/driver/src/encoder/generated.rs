//! Indirect draws whose commands the GPU writes.
//!
//! A program ([`crate::generate`]) turns the parameters of draws into commands, in one of two ways:
//!
//! - *In place*: the commands are written into room in the batch. The programs of all such draws run before the first of them, in a
//!   side batch to which the batch jumps there and which jumps back, so that the GPU changes between draws and dispatches once. A
//!   barrier before the parameters of later draws ends the side batch.
//! - *In a ring*: a loop in the batch runs the program, jumps into the ring, which has commands of [`RING_ITEMS`] draws and jumps
//!   back as long as there are more. So the memory for draws is bounded.
//!
//! Few draws load registers instead ([`super::draw`]).
//!
//! source: Mesa, genX_cmd_draw_generated_indirect.h, which draws to generate

use tepui_intel_chips::Generation;
use tepui_intel_packets::Packet;
use tepui_intel_packets::mi::{
    MiArbCheck, MiLoadRegisterMem, MiMath, MiMathAluInstruction, MiStoreRegisterMem,
};
use tepui_intel_packets::vertex::{Primitive3d, State3dVertexBuffers};
use tepui_sysval::Words as _;
use tepui_vulkan::Result;
use tepui_vulkan::backend::{Condition, Draw};
use tepui_vulkan_kit::arena::{Mapped, Upload as Place};

use super::Encoder;
use super::batch::jump_to;
use super::linked::Linked;
use super::state::Hardware;
use crate::device::Upload;
use crate::flush::{Flush, Mode, before_parameters};
use crate::generate::{Ends, GenerateWords, Item, JUMP_B, NUMBERS_B};
use crate::graphics::vertex::{DRAW_BUFFER, IDS_BUFFER, buffer};
use crate::packets::packet;

/// Draws from which on commands are generated in place.
const IN_PLACE_FROM: u32 = 4;
/// Draws from which on commands are generated in the ring.
const RING_FROM: u32 = 100;
/// Draws of a turn of the ring.
const RING_ITEMS: u32 = 8192;
/// Bytes of the start of the ring, which holds the command that lets Gen12 parse ahead again.
const RING_START_B: u64 = 64;

/// General registers of the command streamer. source: genxml, CS_GPR
const GENERAL: [u64; 2] = [0x2600, 0x2608];

/// The encoding of an indirect draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Each draw loads registers.
    Registers,
    /// Commands are generated in the batch.
    InPlace,
    /// Commands are generated in the ring.
    Ring,
}

impl Method {
    /// The method for a draw under a condition.
    pub fn of(draw: &Draw, condition: Option<Condition>, linked: &Linked) -> Method {
        let Draw::Indirect { count, count_address, .. } = *draw else { return Method::Registers };
        match count {
            // There is another packet before each primitive.
            _ if linked.repeats_hull => Method::Registers,
            RING_FROM.. => Method::Ring,
            IN_PLACE_FROM.. => Method::InPlace,
            // The predicate is the condition's.
            _ if condition.is_some() && count_address.is_some() => Method::InPlace,
            _ => Method::Registers,
        }
    }
}

/// A room for commands.
struct Room {
    /// Address of the items.
    items: u64,
    /// Address of the numbers of draws.
    numbers: u64,
    /// Number of items.
    count: u32,
    /// Address of the number of draws of earlier turns; none if there is only one turn.
    base: Option<u64>,
    /// The [`Ends`].
    ends: Place,
}

impl Encoder {
    /// The state at the end of the side batch, and the address to which it is to return; it begins if it has not: the batch jumps
    /// there.
    fn side_batch(&mut self) -> Result<(Hardware, u64)> {
        if let Some(open) = self.generated.open.take() {
            return Ok(open);
        }
        let device = self.device.clone();
        let side = self.generated.side.here(&device)?;
        self.emit(&jump_to(side))?;
        let back = self.batch.here(&device)?;
        self.parse_ahead(true)?;
        Ok((self.hardware.clone(), back))
    }

    /// Ends the side batch, if it has begun: it jumps back.
    ///
    /// # Errors
    /// When there is no memory.
    pub(super) fn end_side_batch(&mut self) -> Result<()> {
        let Some((hardware, back)) = self.generated.open.take() else { return Ok(()) };
        self.in_side_batch(hardware, |e| {
            e.commands_are_written()?;
            e.parse_ahead(false)?;
            e.emit(&jump_to(back))
        })?;
        Ok(())
    }

    /// Appends to the side batch, with the state at its end; returns the state after.
    fn in_side_batch(
        &mut self,
        mut hardware: Hardware,
        append: impl FnOnce(&mut Encoder) -> Result<()>,
    ) -> Result<Hardware> {
        std::mem::swap(&mut self.hardware, &mut hardware);
        std::mem::swap(&mut self.batch, &mut self.generated.side);
        let done = append(self);
        std::mem::swap(&mut self.batch, &mut self.generated.side);
        std::mem::swap(&mut self.hardware, &mut hardware);
        done.map(|()| hardware)
    }

    /// Waits for generated commands, and for all that they refer to.
    fn commands_are_written(&mut self) -> Result<()> {
        self.select(Mode::Graphics)?;
        self.hardware.pending |= before_parameters(self.device.generation());
        self.flush()
    }

    /// Lets the command streamer of Gen12 parse commands before earlier ones are done, or not: before it jumps to commands that were
    /// just written it must not. Gen9 does not fetch past a jump. source: Mesa, genX_cmd_draw_generated_flush.h
    fn parse_ahead(&mut self, is_allowed: bool) -> Result<()> {
        match self.device.generation() {
            Generation::Gen9 => Ok(()),
            Generation::Gen12 => self.emit(&parse_ahead(is_allowed)),
        }
    }

    /// Runs the program that writes the commands of a draw into a room.
    fn generate(
        &mut self,
        linked: &Linked,
        draw: &Draw,
        room: &Room,
        predicate_enable: bool,
    ) -> Result<()> {
        let &Draw::Indirect { address, count, stride, count_address, indexed, draw_index } = draw
        else {
            return Ok(());
        };
        let generation = self.device.generation();
        let first = |bytes: &[u8]| bytes.first_chunk().map_or(0, |b| u32::from_le_bytes(*b));
        let primitive =
            Primitive3d { predicate_enable, vertex_access_type: indexed, ..Primitive3d::default() };
        let primitive = self.packed(&primitive)?;
        let item = item_of(linked, indexed);
        let states = u32::from(item.ids) + u32::from(item.draw);
        let buffers = State3dVertexBuffers { dword_length: (4 * states).saturating_sub(1) };
        // The address is the program's; one that is not zero makes no buffer of nothing.
        let state = |index, size| buffer(generation, index, (1, size), 0);
        let words = GenerateWords {
            parameters: address.into(),
            count: count_address.unwrap_or(Ends::COUNT.address(room.ends.address)).into(),
            base: room.base.unwrap_or(Ends::ZERO.address(room.ends.address)).into(),
            ends: room.ends.address.into(),
            items: room.items.into(),
            numbers: room.numbers.into(),
            stride,
            max: count,
            room: room.count,
            first: draw_index,
            primitive: [first(&primitive), first(&primitive[4..])],
            buffers: [
                first(&self.packed(&buffers)?),
                first(&self.packed(&state(IDS_BUFFER, NUMBERS_B[0]))?),
                first(&self.packed(&state(DRAW_BUFFER, NUMBERS_B[1]))?),
            ],
            jump: first(&self.packed(&jump_to(0))?),
        };
        let program = self.device.generator(item)?;
        self.launch_program(&program, words.words(), &Default::default(), [room.count + 1, 1, 1])
    }

    /// The bytes of a packet.
    fn packed<P: Packet>(&self, p: &P) -> Result<Vec<u8>> {
        let mut bytes = vec![0; P::INFO.size_bytes];
        p.pack_into_as(&mut bytes, self.revision).map_err(packet)?;
        Ok(bytes)
    }

    /// Appends room for the commands of a draw, which the side batch writes.
    ///
    /// # Errors
    /// When there is no memory.
    pub(super) fn draw_in_place(
        &mut self,
        linked: &Linked,
        draw: &Draw,
        is_predicated: bool,
    ) -> Result<()> {
        let &Draw::Indirect { count, indexed, .. } = draw else { return Ok(()) };
        let item = item_of(linked, indexed);
        let (mut hardware, back) = self.side_batch()?;
        let device = self.device.clone();
        // The numbers of draws follow the commands: other units read neighbours of dynamic state.
        let commands = u64::from(count) * item.bytes() + JUMP_B;
        let numbers = if item.draw { u64::from(count) * u64::from(NUMBERS_B[1]) } else { 0 };
        let size = commands + numbers;
        let place = self.batch.take(&device, size)?;
        // SAFETY: the place is new and of this size. Captures show no commands of earlier batches there.
        unsafe { place.host.write_bytes(0, size as usize) };
        let ends = Ends { end: (place.address + size).into(), count, ..Ends::default() };
        let room = Room {
            items: place.address,
            numbers: place.address + commands,
            count,
            base: None,
            ends: self.upload_state(ends.bytes(), 64)?,
        };
        // The program has no binding table: base addresses stay those of the batch.
        hardware.keep_bases(&self.hardware);
        let hardware =
            self.in_side_batch(hardware, |e| e.generate(linked, draw, &room, is_predicated))?;
        self.generated.open = Some((hardware, back));
        Ok(())
    }

    /// The ring of a draw: its address, and its room.
    fn ring(&mut self, count: u32) -> Result<(u64, Room)> {
        let largest = Item { indexed: true, ids: true, draw: true };
        let items = u64::from(RING_ITEMS);
        let numbers = (RING_START_B + items * largest.bytes() + JUMP_B).next_multiple_of(64);
        let base = numbers + items * u64::from(NUMBERS_B[1]);
        let ring = match self.generated.ring.take() {
            Some(ring) => ring,
            None => {
                let ring = self.device.upload_chunk(Upload::Dynamic, base + 64)?;
                let mut start = [0; RING_START_B as usize];
                if self.device.generation() == Generation::Gen12 {
                    let command = self.packed(&parse_ahead(true))?;
                    start[..command.len()].copy_from_slice(&command);
                }
                ring.write(0, &start);
                ring
            }
        };
        let at = self.generated.ring.insert(ring).address();
        let room = Room {
            items: at + RING_START_B,
            numbers: at + numbers,
            count: count.min(RING_ITEMS),
            base: Some(at + base),
            ends: self.reserve_state(Ends::BYTES as u64, 64)?,
        };
        Ok((at, room))
    }

    /// Appends the loop that writes commands of a draw into the ring and executes them.
    ///
    /// # Errors
    /// When there is no memory.
    pub(super) fn draw_in_ring(
        &mut self,
        linked: &Linked,
        draw: &Draw,
        is_predicated: bool,
    ) -> Result<()> {
        let &Draw::Indirect { count, .. } = draw else { return Ok(()) };
        let device = self.device.clone();
        let (ring, room) = self.ring(count)?;
        let Some(base) = room.base else { return Ok(()) };
        self.store_word(base, 0)?;
        self.hardware.pending |= Flush::STALL;
        self.flush()?;
        let again = self.batch.here(&device)?;
        self.generate(linked, draw, &room, is_predicated)?;
        self.commands_are_written()?;
        self.parse_ahead(false)?;
        self.emit(&jump_to(ring))?;
        let more = self.batch.here(&device)?;
        self.advance(base)?;
        self.hardware.pending |= Flush::STALL;
        self.flush()?;
        self.emit(&jump_to(again))?;
        let end = self.batch.here(&device)?;
        let ends = Ends { end: end.into(), more: more.into(), count, zero: 0 };
        // SAFETY: the place has room for the words, and the GPU does not use it before the submission.
        unsafe { room.ends.write(ends.bytes()) };
        Ok(())
    }

    /// Adds the draws of a turn to a word in memory.
    fn advance(&mut self, base: u64) -> Result<()> {
        /// Operations and operands of MI_MATH. source: Mesa, genX_mi_builder
        const LOAD: u32 = 0x80;
        const ADD: u32 = 0x100;
        const STORE: u32 = 0x180;
        const SOURCE_A: u32 = 0x20;
        const SOURCE_B: u32 = 0x21;
        const ACCUMULATOR: u32 = 0x31;
        let [sum, step] = GENERAL;
        self.emit(&MiLoadRegisterMem {
            register_address: sum,
            memory_address: base,
            ..MiLoadRegisterMem::default()
        })?;
        for (register, value) in [(sum + 4, 0), (step, RING_ITEMS), (step + 4, 0)] {
            self.set_register(register, value)?;
        }
        let steps =
            [(LOAD, SOURCE_A, 0), (LOAD, SOURCE_B, 1), (ADD, 0, 0), (STORE, 0, ACCUMULATOR)];
        let mut bytes = self.packed(&MiMath { dword_length: steps.len() as u32 - 1 })?;
        for (alu_opcode, operand_1, operand_2) in steps {
            bytes.extend(self.packed(&MiMathAluInstruction {
                alu_opcode,
                operand_1,
                operand_2,
            })?);
        }
        self.emit_bytes(&bytes)?;
        self.emit(&MiStoreRegisterMem {
            register_address: sum,
            memory_address: base,
            ..MiStoreRegisterMem::default()
        })
    }
}

/// The items of draws with programs.
fn item_of(linked: &Linked, indexed: bool) -> Item {
    Item { indexed, ids: linked.reads_ids, draw: linked.reads_draw }
}

fn parse_ahead(is_allowed: bool) -> MiArbCheck {
    MiArbCheck { pre_parser_disable: !is_allowed, pre_parser_disable_mask: true }
}
