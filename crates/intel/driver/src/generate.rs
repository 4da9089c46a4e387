//! The program that writes commands of indirect draws into memory.
//!
//! A thread of it writes the *item* of a draw: 3DPRIMITIVE, after 3DSTATE_VERTEX_BUFFERS if vertices read the numbers of the draw. The
//! thread after the last draw writes a jump in place of an item, and the one after the last item of a room a jump that asks for
//! more. The driver packs the words that are the same for all draws, so that the program knows places of fields alone.

use tepui_intel_packets::Packet;
use tepui_intel_packets::mi::MiBatchBufferStart;
use tepui_intel_packets::vertex::{Primitive3d, State3dVertexBuffers, VertexBufferState};
use tepui_ir::{Op, Shader, Stage, Type, Value};
use tepui_sysval::{Field, Long, push_words};
use tepui_vulkan_kit::MetaBuilder;
use tepui_vulkan_kit::builder::Words;

/// Threads of a workgroup.
const THREADS: u32 = 64;

/// A kind of item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Item {
    /// Parameters have a vertex offset.
    pub indexed: bool,
    /// Vertices read the first vertex or instance: a vertex buffer points to the parameters.
    pub ids: bool,
    /// Vertices read the number of the draw: a vertex buffer points to a word that the program writes.
    pub draw: bool,
}

push_words! {
    /// Words of the program.
    pub struct GenerateWords {
        /// Address of the parameters of the first draw.
        pub parameters: Long,
        /// Address of the number of draws.
        pub count: Long,
        /// Address of the number of draws of earlier turns.
        pub base: Long,
        /// Address of the [`Ends`].
        pub ends: Long,
        /// Address of the items.
        pub items: Long,
        /// Address of a word for the number of the draw of each item.
        pub numbers: Long,
        /// Bytes from draw to draw of the parameters.
        pub stride: u32,
        /// Maximum number of draws.
        pub max: u32,
        /// Items of the room; a jump fits after them.
        pub room: u32,
        /// Number of the first draw.
        pub first: u32,
        /// First words of 3DPRIMITIVE.
        pub primitive: [u32; 2],
        /// The first word of 3DSTATE_VERTEX_BUFFERS, and of the states of the buffers of the first vertex and of the draw's number.
        pub buffers: [u32; 3],
        /// First word of the jump.
        pub jump: u32,
    }

    /// The words that the program reads in memory, known only once the commands after the draws are recorded.
    pub struct Ends {
        /// Address of the commands after all draws.
        pub end: Long,
        /// Address of the commands that write the next items.
        pub more: Long,
        /// Number of draws, if the application has it not in memory.
        pub count: u32,
        /// Zero: draws of earlier turns, if there is only one.
        pub zero: u32,
    }
}

/// Bytes of the jump.
pub const JUMP_B: u64 = MiBatchBufferStart::SIZE_BYTES as u64;
/// Bytes of a draw's first vertex and instance, and of its number.
pub const NUMBERS_B: [u32; 2] = [8, 4];

impl Item {
    /// Bytes of it.
    pub fn bytes(self) -> u64 {
        let states = usize::from(self.ids) + usize::from(self.draw);
        let header = if states > 0 { State3dVertexBuffers::SIZE_BYTES } else { 0 };
        let size = header + states * VertexBufferState::SIZE_BYTES + Primitive3d::SIZE_BYTES;
        size as u64
    }

    /// Offset of the first vertex in the parameters of a draw, which the first instance follows.
    pub fn ids_offset(self) -> u64 {
        if self.indexed { 12 } else { 8 }
    }

    /// The program.
    pub fn program(self) -> Shader {
        let mut s = Shader::new(Stage::Compute);
        s.info.workgroup_size = [THREADS, 1, 1];
        let mut m = MetaBuilder::new(&mut s, THREADS).with_words(Words::Push);
        self.build(&mut m);
        m.ir.yield_(&[]);
        s
    }

    fn build(self, m: &mut MetaBuilder<'_>) {
        let [x, ..] = m.id();
        let room = m.word(GenerateWords::ROOM);
        let is_there = m.op(Op::UGe, room, x);
        m.when(is_there, |m| {
            let base = m.word(GenerateWords::BASE);
            let base = m.load(base, Type::B32, 0);
            let count = m.word(GenerateWords::COUNT);
            let count = m.load(count, Type::B32, 0);
            let max = m.word(GenerateWords::MAX);
            let draws = m.op(Op::UMin, count, max);
            let number = m.op(Op::IAdd, base, x);
            let (room, items) = (m.word(GenerateWords::ROOM), m.word(GenerateWords::ITEMS));
            let (size, i) = (m.ir.u64(self.bytes()), m.long(x));
            let offset = m.op(Op::IMul, i, size);
            let at = m.op(Op::IAdd, items, offset);
            let in_room = m.op(Op::ULt, x, room);
            let is_left = m.op(Op::ULt, number, draws);
            let draws_one = m.op(Op::IAnd, in_room, is_left);
            m.when(draws_one, |m| self.item(m, at, x, number));
            let is_end = m.op(Op::IEq, number, draws);
            let is_full = m.op(Op::IEq, x, room);
            let asks = m.op(Op::IAnd, is_full, is_left);
            let jumps = m.op(Op::IOr, is_end, asks);
            m.when(jumps, |m| {
                let ends = m.word(GenerateWords::ENDS);
                let end = m.load_field(ends, Ends::END);
                let more = m.load_field(ends, Ends::MORE);
                let to = m.ir.select(is_end, end, more);
                let first = m.word(GenerateWords::JUMP);
                m.store(at, first, 0);
                m.store(at, to, place::<MiBatchBufferStart>("batch_buffer_start_address"));
            });
        });
    }

    /// Writes the item of a draw at an address.
    fn item(self, m: &mut MetaBuilder<'_>, at: Value, x: Value, number: Value) {
        let (first, stride) = (m.word(GenerateWords::PARAMETERS), m.word(GenerateWords::STRIDE));
        let (number64, stride) = (m.long(number), m.long(stride));
        let offset = m.op(Op::IMul, number64, stride);
        let from = m.op(Op::IAdd, first, offset);
        let parameters = m.load(from, Type::vec(32, 4), 0);
        let [vertices, instances, first, fourth] =
            [0, 1, 2, 3].map(|k| m.ir.extract(parameters, k));
        let (base, first_instance) = match self.indexed {
            true => (fourth, m.load(from, Type::B32, 16)),
            false => (m.ir.u32(0), fourth),
        };
        let mut offset = 0;
        if self.ids || self.draw {
            let header = m.word(GenerateWords::BUFFERS.at(0));
            m.store(at, header, offset);
            offset += State3dVertexBuffers::SIZE_BYTES as i32;
        }
        if self.ids {
            let ids = m.ir.u64(self.ids_offset());
            let ids = m.op(Op::IAdd, from, ids);
            self.buffer(m, (at, &mut offset), GenerateWords::BUFFERS.at(1), (ids, NUMBERS_B[0]));
        }
        if self.draw {
            let (numbers, i) = (m.word(GenerateWords::NUMBERS), m.long(x));
            let i = m.shl(i, 2);
            let to = m.op(Op::IAdd, numbers, i);
            let first = m.word(GenerateWords::FIRST);
            let number = m.op(Op::IAdd, first, number);
            m.store(to, number, 0);
            self.buffer(m, (at, &mut offset), GenerateWords::BUFFERS.at(2), (to, NUMBERS_B[1]));
        }
        let heads = [0, 1].map(|k| m.word(GenerateWords::PRIMITIVE.at(k)));
        let mut words = [heads[0]; Primitive3d::SIZE_BYTES / 4];
        words[1] = heads[1];
        for (field, value) in [
            ("vertex_count_per_instance", vertices),
            ("start_vertex_location", first),
            ("instance_count", instances),
            ("start_instance_location", first_instance),
            ("base_vertex_location", base),
        ] {
            words[place::<Primitive3d>(field) as usize / 4] = value;
        }
        // Stores have four words at most.
        for part in words.chunks(4) {
            let v = m.ir.vec(part);
            m.store(at, v, offset);
            offset += 4 * part.len() as i32;
        }
    }

    /// Writes the state of a vertex buffer whose first word the driver packed.
    fn buffer(
        self,
        m: &mut MetaBuilder<'_>,
        (at, offset): (Value, &mut i32),
        first: Field<GenerateWords, u32>,
        (address, size): (Value, u32),
    ) {
        let (first, size) = (m.word(first), m.ir.u32(size));
        m.store(at, first, *offset);
        let field = |name| *offset + place::<VertexBufferState>(name);
        m.store(at, address, field("buffer_starting_address"));
        m.store(at, size, field("buffer_size"));
        *offset += VertexBufferState::SIZE_BYTES as i32;
    }
}

/// Offset of the word of a field that has all of it, in bytes.
fn place<P: Packet>(field: &str) -> i32 {
    let found = P::INFO.fields.iter().find(|f| f.ident == field);
    found.map_or(0, |f| (f.start() / 32 * 4) as i32)
}

#[cfg(test)]
mod tests {
    use tepui_ir::interp;
    use tepui_sysval::Words as _;

    use super::*;

    const PARAMETERS: u64 = 1 << 32;
    const ENDS: u64 = 2 << 32;
    const BASE: u64 = 3 << 32;
    const ITEMS: u64 = 4 << 32;
    const NUMBERS: u64 = 5 << 32;
    const UNTOUCHED: u8 = 0xcd;

    /// Commands of draws, 40 bytes of parameters each, from draw `base` on, and their numbers.
    fn run(item: Item, base: u32, [count, max, room]: [u32; 3]) -> (Vec<u8>, Vec<u32>) {
        let program = item.program();
        tepui_ir::validate(&program).unwrap();
        let ends =
            Ends { end: 0x1111_2222_3330.into(), more: 0x4444_5555_6660.into(), count, zero: 0 };
        let words = GenerateWords {
            parameters: PARAMETERS.into(),
            count: Ends::COUNT.address(ENDS).into(),
            base: BASE.into(),
            ends: ENDS.into(),
            items: ITEMS.into(),
            numbers: NUMBERS.into(),
            stride: 40,
            max,
            room,
            first: 1000,
            primitive: [1, 2],
            buffers: [3, 4, 5],
            jump: 6,
        };
        let bytes = |words: &[u32]| words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<_>>();
        let mut memory = interp::Memory { push: bytes(words.words()), ..Default::default() };
        let parameters: Vec<u32> = (0..base + room + 1).flat_map(parameters_of).collect();
        memory.physical.insert(PARAMETERS, bytes(&parameters));
        memory.physical.insert(ENDS, bytes(ends.words()));
        memory.physical.insert(BASE, bytes(&[base]));
        let size = u64::from(room + 70) * item.bytes() + JUMP_B;
        memory.physical.insert(ITEMS, vec![UNTOUCHED; size as usize]);
        memory.physical.insert(NUMBERS, vec![0; 4 * (room as usize + 70)]);
        let groups = [(room + 1).div_ceil(THREADS), 1, 1];
        interp::dispatch(&program, groups, &mut memory, 1 << 24).unwrap();
        let numbers = memory.physical[&NUMBERS].as_chunks::<4>().0;
        let numbers = numbers.iter().map(|b| u32::from_le_bytes(*b)).collect();
        (memory.physical[&ITEMS].clone(), numbers)
    }

    fn parameters_of(draw: u32) -> [u32; 10] {
        std::array::from_fn(|k| 100 * draw + k as u32)
    }

    /// The words of a draw's item, with places as the declarations of the packets have them.
    fn right(item: Item, draw: u32, slot: u64) -> Vec<u32> {
        let p = parameters_of(draw);
        let (base, instance) = if item.indexed { (p[3], p[4]) } else { (0, p[3]) };
        let state = |first: u32, address: u64, buffer_size| {
            let state = VertexBufferState {
                buffer_starting_address: address,
                buffer_size,
                ..VertexBufferState::default()
            };
            let mut bytes = state.pack().unwrap();
            bytes[..4].copy_from_slice(&first.to_le_bytes());
            bytes.to_vec()
        };
        let mut bytes = Vec::new();
        if item.ids || item.draw {
            bytes.extend(3u32.to_le_bytes());
        }
        if item.ids {
            let at = PARAMETERS + 40 * u64::from(draw) + if item.indexed { 12 } else { 8 };
            bytes.extend(state(4, at, 8));
        }
        if item.draw {
            bytes.extend(state(5, NUMBERS + 4 * slot, 4));
        }
        let primitive = Primitive3d {
            vertex_count_per_instance: p[0],
            instance_count: p[1],
            start_vertex_location: p[2],
            start_instance_location: instance,
            base_vertex_location: base as i32,
            ..Primitive3d::default()
        };
        let from = bytes.len();
        bytes.extend(primitive.pack().unwrap());
        bytes[from..from + 4].copy_from_slice(&1u32.to_le_bytes());
        bytes[from + 4..from + 8].copy_from_slice(&2u32.to_le_bytes());
        bytes.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect()
    }

    #[test]
    fn draws_become_commands_and_jumps_follow_them() {
        let words = |bytes: &[u8]| -> Vec<u32> {
            bytes.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect()
        };
        for kind in 0..8 {
            let item = Item { indexed: kind & 1 != 0, ids: kind & 2 != 0, draw: kind & 4 != 0 };
            // Draws of earlier turns; count, maximum, room; draws of this turn, and whether more follow.
            for (base, sizes, drawn, more) in [
                (0, [5, 5, 5], 5, false),
                (0, [3, 5, 5], 3, false),
                (0, [9, 5, 5], 5, false),
                (0, [0, 5, 5], 0, false),
                (0, [200, 200, 130], 130, true),
                (130, [200, 200, 130], 70, false),
                (130, [260, 300, 130], 130, false),
            ] {
                let (items, numbers) = run(item, base, sizes);
                let size = item.bytes() as usize;
                for k in 0..drawn {
                    let found = words(&items[k * size..][..size]);
                    let draw = base + k as u32;
                    assert_eq!(
                        found,
                        right(item, draw, k as u64),
                        "{item:?} {sizes:?} draw {draw}"
                    );
                    assert_eq!(numbers[k], if item.draw { 1000 + draw } else { 0 });
                }
                let jump = words(&items[drawn * size..][..JUMP_B as usize]);
                let to = if more { [0x5555_6660, 0x4444] } else { [0x2222_3330, 0x1111] };
                assert_eq!(jump, [6, to[0], to[1]], "{item:?} {sizes:?}");
                let rest = &items[drawn * size + JUMP_B as usize..];
                assert!(rest.iter().all(|&b| b == UNTOUCHED), "{item:?} {sizes:?}");
            }
        }
    }
}
