//! Vertex data master (VDM): walks a vertex control stream, keeps its state and executes draws.

use tepui_agx_packets::vdm::{
    Barrier, BlockType, IndexList, IndexListBufferLo, IndexListBufferSize, IndexListCount,
    IndexListIndirectBuffer, IndexListInstances, IndexListStart, PppState, State,
    StateRestartIndex, StateTessellation, StateTessellationScale, StreamLink,
};
use tepui_packets::Packet;

use crate::job::{JobFault, Unit};
use crate::render::draw::{Draw, Indices};
use crate::render::geometry::Geometry;
use crate::stream::{BLOCK_BUDGET, Stream};

const fn size_of<P: Packet>() -> u64 {
    P::INFO.size_bytes as u64
}

/// Executes the stream at an address.
pub fn run(geometry: &mut Geometry<'_>, address: u64) -> Result<(), JobFault> {
    let mut stream = Stream::new(geometry.vm, Unit::Vdm, address);
    for block in 0..BLOCK_BUDGET {
        geometry.charge(block).map_err(|fault| stream.place(fault))?;
        let kind = stream.block_type()?;
        match BlockType::from_raw(u64::from(kind)) {
            Some(BlockType::PppStateUpdate) => {
                let state: PppState = stream.packet(0)?;
                geometry.ppp.update(geometry.vm, state.pointer, state.size_words)?;
                stream.skip(size_of::<PppState>());
            }
            Some(BlockType::Barrier) => {
                let barrier: Barrier = stream.packet(0)?;
                // Draws run one after the other here, and all memory is coherent.
                geometry.forget_pipeline();
                if barrier.returns {
                    stream.pop()?;
                } else {
                    stream.skip(size_of::<Barrier>());
                }
            }
            Some(BlockType::VdmStateUpdate) => {
                let size = state_update(geometry, &stream)?;
                stream.skip(size);
            }
            Some(BlockType::IndexList) => {
                if geometry.is_enough() {
                    return Ok(());
                }
                let (draw, size) = index_list(&stream, geometry.state.restart_index)?;
                geometry.draw(&draw).map_err(|fault| stream.place(fault))?;
                stream.skip(size);
            }
            Some(BlockType::StreamLink) => {
                let link: StreamLink = stream.packet(0)?;
                stream.link(link.target, link.with_return.then_some(size_of::<StreamLink>()))?;
            }
            Some(BlockType::Tessellate) => {
                // Mesa tessellates with compute work. source: hk_cmd_draw.c, hk_launch_tess
                let fault = JobFault::unimplemented(Unit::Vdm, "tessellation blocks");
                return Err(stream.place(fault));
            }
            Some(BlockType::StreamTerminate) => return Ok(()),
            None => return Err(stream.fault(format!("block type {kind} is unknown"))),
        }
    }
    Err(stream.fault("the control stream does not end"))
}

/// The optional words of a block, each present if its bit in the header is set.
struct Words<'a> {
    stream: &'a Stream<'a>,
    offset: u64,
}

impl Words<'_> {
    fn next<P: Packet>(&mut self, present: bool) -> Result<Option<P>, JobFault> {
        if !present {
            return Ok(None);
        }
        let packet = self.stream.packet(self.offset)?;
        self.offset += size_of::<P>();
        Ok(Some(packet))
    }

    fn latch<P: Packet>(&mut self, present: bool, into: &mut P) -> Result<(), JobFault> {
        if let Some(packet) = self.next(present)? {
            *into = packet;
        }
        Ok(())
    }
}

/// Executes a block of vertex state; returns its size.
fn state_update(geometry: &mut Geometry<'_>, stream: &Stream<'_>) -> Result<u64, JobFault> {
    let has: State = stream.packet(0)?;
    let mut words = Words { stream, offset: size_of::<State>() };
    let state = &mut geometry.state;
    if let Some(restart) = words.next::<StateRestartIndex>(has.restart_index_present)? {
        state.restart_index = restart.value;
    }
    words.latch(has.vertex_shader_word_0_present, &mut state.word0)?;
    words.latch(has.vertex_shader_word_1_present, &mut state.word1)?;
    words.latch(has.vertex_outputs_present, &mut state.outputs)?;
    // Kept for nothing: the blocks that use them end in a fault.
    words.next::<StateTessellation>(has.tessellation_present)?;
    words.latch(has.vertex_unknown_present, &mut state.further)?;
    words.next::<StateTessellationScale>(has.tessellation_scale_present)?;
    let size = words.offset;
    if has.vertex_shader_word_0_present || has.vertex_shader_word_1_present {
        geometry.forget_pipeline();
    }
    Ok(if has.tessellation_scale_present { size } else { size.next_multiple_of(8) })
}

/// Decodes the draw at the stream's position; returns it with the size of its block.
fn index_list(stream: &Stream<'_>, restart_index: u32) -> Result<(Draw, u64), JobFault> {
    let head: IndexList = stream.packet(0)?;
    if head.unk_1_present || head.unk_2_present {
        return Err(stream.fault("an index list with words of unknown purpose"));
    }
    let mut words = Words { stream, offset: size_of::<IndexList>() };
    let buffer: Option<IndexListBufferLo> = words.next(head.index_buffer_present)?;
    let count: Option<IndexListCount> = words.next(head.index_count_present)?;
    let instances: Option<IndexListInstances> = words.next(head.instance_count_present)?;
    let start: Option<IndexListStart> = words.next(head.start_present)?;
    let indirect: Option<IndexListIndirectBuffer> = words.next(head.indirect_buffer_present)?;
    let bytes: Option<IndexListBufferSize> = words.next(head.index_buffer_size_present)?;
    let width = 1u64 << head.index_size as u32;
    let mut indices = buffer.map(|low| Indices {
        address: u64::from(head.index_buffer_hi) << 32 | u64::from(low.buffer_lo),
        size: head.index_size,
        bound: bytes.map(|bytes| bytes.size / width),
        restart: head.restart_enable.then_some(restart_index),
    });
    let mut draw = Draw { primitive: head.primitive, indices, count: 0, instances: 1, start: 0 };
    match indirect {
        // The words are those of the API: vertices, instances, first vertex, first instance; or
        // indices, instances, first index, what is added, first instance. The first instance has no
        // part in what the vertex program is given. source: Mesa's libagx_dgc.h, agx_vdm_draw
        Some(indirect) => match &mut indices {
            None => {
                let [count, instances, start, _] = stream.words::<4>(indirect.address)?;
                draw = Draw { count, instances, start, ..draw };
            }
            Some(indices) => {
                let [count, instances, first, start, _] = stream.words::<5>(indirect.address)?;
                let first = u64::from(first);
                indices.address = indices.address.wrapping_add(first * width);
                indices.bound = indices.bound.map(|bound| bound.saturating_sub(first));
                draw = Draw { count, instances, start, indices: Some(*indices), ..draw };
            }
        },
        None => {
            let Some(count) = count else {
                return Err(stream.fault("a draw without a count"));
            };
            draw.count = count.count;
            draw.instances = instances.map_or(1, |i| i.count);
            draw.start = start.map_or(0, |s| s.start);
        }
    }
    Ok((draw, words.offset))
}
