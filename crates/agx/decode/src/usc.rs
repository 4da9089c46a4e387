//! Decodes USC words (the list of state that a shader needs) and what they point to.
//!
// source: decode.c, agxdecode_usc

use tepui_agx_packets::Packet;
use tepui_agx_packets::usc::{
    Control, FragmentProperties, NoPreshader, Preshader, Registers, Sampler, Shader, Shared,
    Texture, Uniform, UniformHigh,
};
use tepui_packets::PacketInfo;

use crate::{Content, Decoder, Problem, Record};

/// Tag of lists of USC words in [`Decoder::seen`].
const LIST: u8 = 0;

/// Limit on the words of a list. Each of the 512 uniform registers can be loaded by its own word,
/// and so can textures and samplers; a longer list is garbage.
const MAX_WORDS: usize = 1024;

impl Decoder<'_> {
    /// Decodes the list of USC words at a GPU address. If `extended`, border colours follow the
    /// samplers.
    pub fn pipeline(&mut self, title: &'static str, address: u64, extended: bool) -> Record {
        let mut list = Record::new(title, address);
        if !self.options.everything && !self.seen.insert((address, LIST)) {
            list.content = Content::SeeAbove;
            return list;
        }
        let mut at = address;
        for _ in 0..MAX_WORDS {
            if self.reader.left() == 0 {
                list.problems.push(Problem::TooMuch { limit: self.options.limits.records });
                return list;
            }
            let mut tag = [0];
            if let Err(unreadable) = self.reader.read(at, &mut tag) {
                list.problems.push(unreadable);
                return list;
            }
            let Some(info) = word_with_tag(tag[0]) else {
                list.problems.push(Problem::UnknownTag { tag: tag[0] });
                return list;
            };
            let mut word = self.reader.packet(info, at);
            if word.packet().is_some() {
                self.targets(at, info, extended, &mut word);
            }
            let ends = word.packet().is_none()
                || info.name == NoPreshader::INFO.name
                || info.name == Preshader::INFO.name;
            list.children.push(word);
            if ends {
                return list;
            }
            at = at.wrapping_add(info.size_bytes as u64);
        }
        list.problems.push(Problem::TooMuch { limit: MAX_WORDS });
        list
    }

    /// Decodes what the word at an address points to.
    fn targets(&mut self, at: u64, info: &PacketInfo, extended: bool, word: &mut Record) {
        let children = &mut word.children;
        if info.name == Uniform::INFO.name {
            if let Ok(w) = self.reader.value::<Uniform>(at) {
                children.push(self.raw("Values", w.buffer, u64::from(w.size_halfs) * 2));
            }
        } else if info.name == UniformHigh::INFO.name {
            if let Ok(w) = self.reader.value::<UniformHigh>(at) {
                children.push(self.raw("Values", w.buffer, u64::from(w.size_halfs) * 2));
            }
        } else if info.name == Texture::INFO.name {
            if let Ok(w) = self.reader.value::<Texture>(at) {
                *children = self.textures(w.start, w.count, w.buffer);
            }
        } else if info.name == Shader::INFO.name {
            if let Ok(w) = self.reader.value::<Shader>(at) {
                children.push(self.shader("Code", self.usc(w.code)));
            }
        } else if info.name == Preshader::INFO.name {
            if let Ok(w) = self.reader.value::<Preshader>(at) {
                children.push(self.shader("Code", self.usc(w.code)));
            }
        } else if info.name == Sampler::INFO.name
            && let Ok(w) = self.reader.value::<Sampler>(at)
        {
            *children = self.samplers(w.start, w.count, w.buffer, extended);
        }
    }

    /// Memory as raw bytes.
    pub(crate) fn raw(&mut self, title: &'static str, address: u64, size_bytes: u64) -> Record {
        let mut record = Record::new(title, address);
        match self.reader.bytes(address, size_bytes as usize) {
            Ok(bytes) => record.content = Content::Bytes(bytes),
            Err(problem) => record.problems.push(problem),
        }
        record
    }
}

/// The packet of the word with a tag.
fn word_with_tag(tag: u8) -> Option<&'static PacketInfo> {
    Some(match Control::from_raw(u64::from(tag))? {
        Control::None => return None,
        Control::Preshader => Preshader::INFO,
        Control::FragmentProperties => FragmentProperties::INFO,
        Control::NoPreshader => NoPreshader::INFO,
        Control::Shader => Shader::INFO,
        Control::Uniform => Uniform::INFO,
        Control::UniformHigh => UniformHigh::INFO,
        Control::Shared => Shared::INFO,
        Control::Registers => Registers::INFO,
        Control::Sampler => Sampler::INFO,
        Control::Texture => Texture::INFO,
    })
}
