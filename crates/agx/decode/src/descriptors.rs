//! Decodes texture, PBE and sampler descriptors, bound or in heaps.
//!
// source: decode.c, agxdecode_texture_pbe, agxdecode_sampler_heap, agxdecode_image_heap

use tepui_agx_packets::Packet;
use tepui_agx_packets::pbe::Pbe;
use tepui_agx_packets::sampler::{Border, Sampler};
use tepui_agx_packets::texture::Texture;

use crate::{Decoder, Problem, Record};

/// Limit on the entries of a heap: the range of its 16-bit indices.
const MAX_HEAP: u32 = 1 << 16;

impl Decoder<'_> {
    /// Decodes the descriptors that are loaded from an address into `count` texture state registers
    /// from `start` on.
    pub(crate) fn textures(&mut self, start: u32, count: u32, address: u64) -> Vec<Record> {
        (0..count.min(u32::try_from(self.reader.left()).unwrap_or(u32::MAX)))
            .flat_map(|i| {
                let at = address.wrapping_add(u64::from(i) * Texture::SIZE_BYTES as u64);
                self.image(&format!("ts{}", start + i), at)
            })
            .collect()
    }

    /// Decodes a descriptor of 24 bytes, which does not say whether it is a texture or a PBE
    /// descriptor. If it is valid as both, the one whose texels are mapped is chosen; if that does
    /// not decide, both are returned.
    fn image(&mut self, name: &str, address: u64) -> Vec<Record> {
        let texture = self.reader.packet_as(format!("{name}: Texture"), Texture::INFO, address);
        let pbe = self.reader.packet_as(format!("{name}: PBE"), Pbe::INFO, address);
        if texture.packet().is_none() {
            return vec![texture];
        }
        let invalid = |record: &Record| !record.problems.is_empty();
        let unreadable =
            |base: Option<u64>| base.is_none_or(|base| self.reader.word(base).is_err());
        let mut likely = [!invalid(&texture), !invalid(&pbe)];
        if likely[0] == likely[1] && !self.options.everything {
            likely = [
                !unreadable(self.reader.value::<Texture>(address).ok().map(|t| t.address)),
                !unreadable(self.reader.value::<Pbe>(address).ok().map(|p| p.buffer)),
            ];
        }
        match likely {
            [true, false] => vec![texture],
            [false, true] => vec![pbe],
            _ => vec![texture, pbe],
        }
    }

    /// Decodes the samplers that are loaded from an address into `count` sampler state registers
    /// from `start` on.
    pub(crate) fn samplers(
        &mut self,
        start: u32,
        count: u32,
        address: u64,
        extended: bool,
    ) -> Vec<Record> {
        let border = if extended { Border::SIZE_BYTES } else { 0 };
        let stride = (Sampler::SIZE_BYTES + border) as u64;
        (0..count.min(u32::try_from(self.reader.left()).unwrap_or(u32::MAX)))
            .map(|i| {
                let at = address.wrapping_add(u64::from(i) * stride);
                let mut record =
                    self.reader.packet_as(format!("ss{}: Sampler", start + i), Sampler::INFO, at);
                if extended {
                    let at = at.wrapping_add(Sampler::SIZE_BYTES as u64);
                    record.children.push(self.reader.packet(Border::INFO, at));
                }
                record
            })
            .collect()
    }

    /// Decodes a heap of samplers; those that are all zero are left out.
    pub fn sampler_heap(&mut self, address: u64, count: u32) -> Record {
        let mut heap = Record::new("Sampler heap", address);
        if count > MAX_HEAP {
            heap.problems.push(Problem::TooMuch { limit: MAX_HEAP as usize });
        }
        for i in 0..u64::from(count.min(MAX_HEAP)) {
            let at = address.wrapping_add(i * Sampler::SIZE_BYTES as u64);
            match self.reader.bytes(at, Sampler::SIZE_BYTES) {
                Ok(bytes) if bytes.iter().all(|&byte| byte == 0) => {}
                Ok(_) => heap.children.push(self.reader.packet_as(
                    format!("Sampler {i}"),
                    Sampler::INFO,
                    at,
                )),
                Err(problem) => {
                    heap.problems.push(problem);
                    break;
                }
            }
        }
        heap
    }

    /// Decodes a heap of texture and PBE descriptors; those that are all zero are left out.
    pub fn image_heap(&mut self, address: u64, count: u32) -> Record {
        let mut heap = Record::new("Image heap", address);
        if count > MAX_HEAP {
            heap.problems.push(Problem::TooMuch { limit: MAX_HEAP as usize });
        }
        for i in 0..u64::from(count.min(MAX_HEAP)) {
            let at = address.wrapping_add(i * Texture::SIZE_BYTES as u64);
            match self.reader.bytes(at, Texture::SIZE_BYTES) {
                Ok(bytes) if bytes.iter().all(|&byte| byte == 0) => {}
                Ok(_) => heap.children.extend(self.image(&format!("{i}"), at)),
                Err(problem) => {
                    heap.problems.push(problem);
                    break;
                }
            }
        }
        heap
    }
}
