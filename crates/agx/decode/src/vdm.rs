//! Decodes the vertex control stream.
//!
// source: decode.c, agxdecode_vdm

use tepui_agx_packets::Packet;
use tepui_agx_packets::vdm::{
    Barrier, BlockType, IndexList, IndexListBufferLo, IndexListBufferSize, IndexListCount,
    IndexListIndirectBuffer, IndexListInstances, IndexListStart, PppState, State,
    StateRestartIndex, StateTessellation, StateTessellationScale, StateVertexOutputs,
    StateVertexShaderWord0, StateVertexShaderWord1, StateVertexUnknown, StreamLink,
    StreamTerminate, Tessellate, TessellateBaseInstance, TessellateBasePatch,
    TessellateFactorBuffer, TessellateFactorBufferSize, TessellateIndirect,
    TessellateInstanceCount, TessellateInstanceStride, TessellatePatchCount,
};
use tepui_packets::PacketInfo;

use crate::ppp::RenderArrays;
use tepui_decode::stream::{Next, walk};

use crate::{Decoder, Problem, Record};

/// A block that consists of a word of presence bits and the words that are present.
struct Block {
    record: Record,
    at: u64,
}

impl Block {
    fn new(record: Record, head: &PacketInfo) -> Block {
        let at = record.address.unwrap_or(0).wrapping_add(head.size_bytes as u64);
        Block { record, at }
    }

    /// Adds a word if it is present, and returns its address.
    fn add(
        &mut self,
        decoder: &mut Decoder<'_>,
        present: bool,
        info: &'static PacketInfo,
    ) -> Option<u64> {
        if !present {
            return None;
        }
        let here = self.at;
        self.record.children.push(decoder.reader.packet(info, here));
        self.at = here.wrapping_add(info.size_bytes as u64);
        Some(here)
    }

    /// Bytes of the block so far.
    fn size(&self) -> u64 {
        self.at.wrapping_sub(self.record.address.unwrap_or(0))
    }
}

impl Decoder<'_> {
    /// Decodes the vertex control stream at an address, with everything that its state points to.
    /// `arrays` are the scissors and depth biases of the render command.
    pub fn vdm(&mut self, address: u64, arrays: RenderArrays) -> Record {
        walk(self, "VDM stream", address, |decoder, at| decoder.vdm_block(at, arrays))
    }

    fn vdm_block(&mut self, address: u64, arrays: RenderArrays) -> (Record, Next) {
        let word = match self.reader.word(address) {
            Ok(word) => word,
            Err(problem) => return (Record::failed("Block", address, problem), Next::End),
        };
        match BlockType::from_raw(u64::from(word >> 29)) {
            Some(BlockType::PppStateUpdate) => {
                let mut record = self.reader.packet(PppState::INFO, address);
                if let Ok(state) = self.reader.value::<PppState>(address) {
                    record.children = self.ppp(state.pointer, state.size_words, arrays);
                }
                (record, Next::After(PppState::SIZE_BYTES as u64))
            }
            Some(BlockType::Barrier) => {
                let record = self.reader.packet(Barrier::INFO, address);
                let next = match self.reader.value::<Barrier>(address) {
                    Ok(barrier) if barrier.returns => Next::Return,
                    _ => Next::After(Barrier::SIZE_BYTES as u64),
                };
                (record, next)
            }
            Some(BlockType::VdmStateUpdate) => self.vdm_state(address),
            Some(BlockType::IndexList) => self.index_list(address),
            Some(BlockType::Tessellate) => self.tessellate(address),
            Some(BlockType::StreamLink) => {
                let record = self.reader.packet(StreamLink::INFO, address);
                let size = StreamLink::SIZE_BYTES as u64;
                let next = match self.reader.value::<StreamLink>(address) {
                    Ok(StreamLink { with_return: true, target }) => Next::Call { target, size },
                    Ok(StreamLink { with_return: false, target }) => Next::Link(target),
                    Err(_) => Next::End,
                };
                (record, next)
            }
            Some(BlockType::StreamTerminate) => {
                (self.reader.packet(StreamTerminate::INFO, address), Next::End)
            }
            None => (Record::failed("Block", address, Problem::UnknownBlock { word }), Next::End),
        }
    }

    fn vdm_state(&mut self, address: u64) -> (Record, Next) {
        let record = self.reader.packet(State::INFO, address);
        let Ok(head) = self.reader.value::<State>(address) else { return (record, Next::End) };
        let mut block = Block::new(record, State::INFO);
        block.add(self, head.restart_index_present, StateRestartIndex::INFO);
        let word0 =
            block.add(self, head.vertex_shader_word_0_present, StateVertexShaderWord0::INFO);
        let word1 =
            block.add(self, head.vertex_shader_word_1_present, StateVertexShaderWord1::INFO);
        block.add(self, head.vertex_outputs_present, StateVertexOutputs::INFO);
        block.add(self, head.tessellation_present, StateTessellation::INFO);
        block.add(self, head.vertex_unknown_present, StateVertexUnknown::INFO);
        block.add(self, head.tessellation_scale_present, StateTessellationScale::INFO);
        if let Some(word1) =
            word1.and_then(|at| self.reader.value::<StateVertexShaderWord1>(at).ok())
        {
            // Without the first word, assume that the samplers have no border colours.
            let extended = word0
                .and_then(|at| self.reader.value::<StateVertexShaderWord0>(at).ok())
                .is_some_and(|word0| word0.sampler_state_register_count.is_extended());
            let pipeline = self.pipeline("Vertex pipeline", self.usc(word1.pipeline), extended);
            block.record.children.push(pipeline);
        }
        let size = block.size();
        let padded = if head.tessellation_scale_present { size } else { size.next_multiple_of(8) };
        (block.record, Next::After(padded))
    }

    fn index_list(&mut self, address: u64) -> (Record, Next) {
        let record = self.reader.packet_as("Index List", IndexList::INFO, address);
        let Ok(head) = self.reader.value::<IndexList>(address) else { return (record, Next::End) };
        let mut block = Block::new(record, IndexList::INFO);
        block.add(self, head.index_buffer_present, IndexListBufferLo::INFO);
        block.add(self, head.index_count_present, IndexListCount::INFO);
        block.add(self, head.instance_count_present, IndexListInstances::INFO);
        block.add(self, head.start_present, IndexListStart::INFO);
        let indirect = block.add(self, head.indirect_buffer_present, IndexListIndirectBuffer::INFO);
        block.add(self, head.index_buffer_size_present, IndexListBufferSize::INFO);
        if let Some(at) = indirect
            && let Ok(indirect) = self.reader.value::<IndexListIndirectBuffer>(at)
        {
            // Vertex count, instances, first vertex, first instance; five words with an index
            // buffer.
            let words = 4 + u64::from(head.index_buffer_present);
            block.record.children.push(self.raw("Indirect counts", indirect.address, words * 4));
        }
        let mut next = Next::After(block.size());
        // The position of the unknown words in the block is unknown, so its end is a guess.
        let unknown = u32::from(head.unk_1_present) * 2 + u32::from(head.unk_2_present);
        if unknown > 0 {
            block.record.problems.push(Problem::UnknownWords { words: unknown });
            next = Next::After(block.size() + u64::from(unknown) * 4);
        }
        (block.record, next)
    }

    fn tessellate(&mut self, address: u64) -> (Record, Next) {
        let record = self.reader.packet(Tessellate::INFO, address);
        let Ok(head) = self.reader.value::<Tessellate>(address) else { return (record, Next::End) };
        let mut block = Block::new(record, Tessellate::INFO);
        block.add(self, head.factor_buffer_present, TessellateFactorBuffer::INFO);
        block.add(self, head.patch_count_present, TessellatePatchCount::INFO);
        block.add(self, head.patch_count_present, TessellateInstanceCount::INFO);
        block.add(self, head.base_patch_present, TessellateBasePatch::INFO);
        block.add(self, head.base_instance_present, TessellateBaseInstance::INFO);
        block.add(self, head.base_instance_present, TessellateInstanceStride::INFO);
        block.add(self, head.indirect_present, TessellateIndirect::INFO);
        block.add(self, head.factor_buffer_size_present, TessellateFactorBufferSize::INFO);
        let size = block.size();
        (block.record, Next::After(size))
    }
}
