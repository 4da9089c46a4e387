//! Inputs of shaders: resource tables, uniforms, local storage.

use std::borrow::Cow;

use tepui_mali_packets::shader::{Attribute, Buffer, LocalStorage, Resource};
use tepui_mali_packets::texture::{Plane, Sampler, Texture, TextureDimension};
use tepui_mali_packets::{Packet, PacketInfo};

use crate::{Content, Decoder, Record};

/// Bytes of a descriptor in a table.
const DESCRIPTOR: u64 = 32;

/// Bits of a resource table pointer that hold the number of tables.
const TABLES: u64 = 0x3f;

/// Limit on the bytes of a table: its index has 16 bits.
const MAX_TABLE_BYTES: u64 = 1 << 21;

/// Limit on the texture planes that are shown.
const MAX_PLANES: u64 = 6 * 2048;

/// Address bits of a uniform pointer; the bits above are the number of pairs of words.
const UNIFORM_ADDRESS: u64 = (1 << 48) - 1;

impl Decoder<'_> {
    /// Decodes the resource tables at a pointer with their number.
    pub(crate) fn tables(&mut self, title: &'static str, pointer: u64) -> Record {
        let (start, count) = (pointer & !TABLES, pointer & TABLES);
        let mut record = Record::new(title, start);
        if self.is_known("Resource tables", pointer) {
            record.content = Content::SeeAbove;
            return record;
        }
        for index in 0..count {
            let at = start.wrapping_add(index * Resource::SIZE_BYTES as u64);
            let mut table = self.reader.packet_as(format!("Table {index}"), Resource::INFO, at);
            if let Ok(entry) = self.reader.value::<Resource>(at)
                && entry.address != 0
            {
                self.descriptors(entry.address, entry.size.min(MAX_TABLE_BYTES), &mut table);
            }
            let full = self.reader.left() == 0;
            record.children.push(table);
            if full {
                break;
            }
        }
        record
    }

    /// Decodes the descriptors of a table.
    fn descriptors(&mut self, start: u64, size: u64, table: &mut Record) {
        for index in 0..size / DESCRIPTOR {
            let at = start.wrapping_add(index * DESCRIPTOR);
            let kind = match self.reader.word(at) {
                Ok(word) => word & 0xf,
                Err(problem) => {
                    table.children.push(Record::failed("Descriptor", at, problem));
                    return;
                }
            };
            if self.reader.left() == 0 {
                table.problems.push(self.too_much());
                return;
            }
            let Some(info) = descriptor(kind) else { continue };
            let title = format!("{} {index}", info.name);
            let mut child = self.reader.packet_as(title, info, at);
            if let Ok(texture) = self.reader.value::<Texture>(at)
                && info.name == Texture::INFO.name
            {
                self.planes(&texture, &mut child);
            }
            table.children.push(child);
        }
    }

    /// Decodes the planes of a texture: for each layer, those of its levels.
    pub(crate) fn planes(&mut self, texture: &Texture, record: &mut Record) {
        let faces = if texture.dimension == TextureDimension::Cube { 6 } else { 1 };
        let count = u64::from(texture.levels) * u64::from(texture.array_size) * faces;
        for index in 0..count.min(MAX_PLANES) {
            let at = texture.surfaces.wrapping_add(index * Plane::SIZE_BYTES as u64);
            let title = format!("{} {index}", Plane::INFO.name);
            record.children.push(self.reader.packet_as(title, Plane::INFO, at));
            if self.reader.left() == 0 {
                return;
            }
        }
    }

    /// Decodes the uniforms at a pointer with their number.
    pub(crate) fn uniforms(&mut self, title: &'static str, pointer: u64) -> Record {
        let (at, pairs) = (pointer & UNIFORM_ADDRESS, pointer >> 56);
        let mut record = Record::new(title, at);
        if !self.reader.take() {
            record.problems.push(self.too_much());
            return record;
        }
        match self.reader.bytes(at, 8 * pairs as usize) {
            Ok(bytes) => record.content = Content::Bytes(bytes),
            Err(problem) => record.problems.push(problem),
        }
        record
    }

    /// Decodes the inputs of a shader stage: tables, uniforms, program and local storage, each if it is
    /// present.
    pub(crate) fn stage(&mut self, name: &'static str, stage: Stage) -> Vec<Record> {
        let mut out = Vec::new();
        let mut named = |record: Record, what: &str| {
            let title: Cow<'static, str> = match name {
                "" => what.to_owned().into(),
                _ => format!("{name} {}", what.to_lowercase()).into(),
            };
            out.push(Record { title, ..record });
        };
        if stage.resources != 0 {
            named(self.tables("Resource tables", stage.resources), "Resource tables");
        }
        if stage.uniforms & UNIFORM_ADDRESS != 0 && stage.uniforms >> 56 != 0 {
            named(self.uniforms("Uniforms", stage.uniforms), "Uniforms");
        }
        if stage.program != 0 {
            named(self.program("Shader program", stage.program), "Shader program");
        }
        if stage.storage != 0 {
            named(self.reader.packet(LocalStorage::INFO, stage.storage), "Local storage");
        }
        out
    }
}

/// Pointers to the inputs of a shader stage.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stage {
    pub resources: u64,
    pub uniforms: u64,
    pub program: u64,
    pub storage: u64,
}

/// The packet of a descriptor type.
fn descriptor(kind: u32) -> Option<&'static PacketInfo> {
    let all = [Sampler::INFO, Texture::INFO, Attribute::INFO, Buffer::INFO];
    let has = |info: &&&PacketInfo| info.fixed.iter().any(|f| f.value == u64::from(kind));
    all.iter().find(has).copied()
}
