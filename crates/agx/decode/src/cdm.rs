//! Decodes the compute control stream.
//!
// source: decode.c, agxdecode_cdm

use tepui_agx_packets::Packet;
use tepui_agx_packets::cdm::{
    Barrier, BlockType, GlobalSize, Indirect, LaunchWord0, LaunchWord1, LocalSize, Mode,
    StreamLink, StreamReturn, StreamTerminate, UnkG14x,
};
use tepui_packets::PacketInfo;

use tepui_decode::stream::{Next, walk};

use crate::{Decoder, Problem, Record};

impl Decoder<'_> {
    /// Decodes the compute control stream at an address, with everything that its launches point
    /// to.
    pub fn cdm(&mut self, address: u64) -> Record {
        walk(self, "CDM stream", address, Decoder::cdm_block)
    }

    fn cdm_block(&mut self, address: u64) -> (Record, Next) {
        let word = match self.reader.word(address) {
            Ok(word) => word,
            Err(problem) => return (Record::failed("Block", address, problem), Next::End),
        };
        let sized = |record, info: &PacketInfo| (record, Next::After(info.size_bytes as u64));
        match BlockType::from_raw(u64::from(word >> 29)) {
            Some(BlockType::Launch) => self.launch(address),
            Some(BlockType::Barrier) => {
                let record = self.reader.packet(Barrier::INFO, address);
                match self.reader.value::<Barrier>(address) {
                    Ok(barrier) if barrier.returns => (record, Next::Return),
                    _ => sized(record, Barrier::INFO),
                }
            }
            Some(BlockType::StreamLink) => {
                let record = self.reader.packet(StreamLink::INFO, address);
                let size = StreamLink::SIZE_BYTES as u64;
                match self.reader.value::<StreamLink>(address) {
                    Ok(StreamLink { with_return: true, target }) => {
                        (record, Next::Call { target, size })
                    }
                    Ok(StreamLink { with_return: false, target }) => (record, Next::Link(target)),
                    Err(_) => (record, Next::End),
                }
            }
            Some(BlockType::StreamTerminate) => {
                (self.reader.packet(StreamTerminate::INFO, address), Next::End)
            }
            Some(BlockType::StreamReturn) => {
                (self.reader.packet(StreamReturn::INFO, address), Next::Return)
            }
            None => (Record::failed("Block", address, Problem::UnknownBlock { word }), Next::End),
        }
    }

    /// Decodes a launch and its words. The stream ends here if the first word cannot be read or has
    /// an unknown mode, since the length of the launch is then unknown.
    fn launch(&mut self, address: u64) -> (Record, Next) {
        let mut record = Record::new("Launch", address);
        let mut at = address;
        let mut add = |decoder: &mut Self, info: &'static PacketInfo| {
            let child = decoder.reader.packet(info, at);
            at += info.size_bytes as u64;
            let here = at - info.size_bytes as u64;
            record.children.push(child);
            here
        };
        let word0 = add(self, LaunchWord0::INFO);
        let word1 = add(self, LaunchWord1::INFO);
        if self.options.g14x {
            add(self, UnkG14x::INFO);
        }
        let word0 = self.reader.bytes(word0, 4).and_then(|bytes| {
            // An unknown mode, which unpacks as the default, must not be treated as a direct
            // launch: the words that follow depend on it.
            let (value, problems) = LaunchWord0::unpack_lossy(&bytes).map_err(Problem::Packet)?;
            Ok((value, problems.iter().any(|p| p.field == "Mode")))
        });
        let counts = match word0 {
            Ok((word0, false)) => word0,
            Ok((_, true)) | Err(_) => return (record, Next::End),
        };
        match counts.mode {
            Mode::Direct => {
                add(self, GlobalSize::INFO);
                add(self, LocalSize::INFO);
            }
            Mode::IndirectGlobal => {
                add(self, Indirect::INFO);
                add(self, LocalSize::INFO);
            }
            Mode::IndirectLocal => {
                add(self, Indirect::INFO);
            }
        }
        let size = at - address;
        if let Ok(indirect) =
            self.reader.value::<Indirect>(address + 8 + u64::from(self.options.g14x) * 8)
            && counts.mode != Mode::Direct
        {
            let words = if counts.mode == Mode::IndirectGlobal { 3 } else { 6 };
            record.children.push(self.raw("Indirect sizes", indirect.address, words * 4));
        }
        if let Ok(word1) = self.reader.value::<LaunchWord1>(word1) {
            let extended = counts.sampler_state_register_count.is_extended();
            record.children.push(self.pipeline("Pipeline", self.usc(word1.pipeline), extended));
        }
        (record, Next::After(size))
    }
}
