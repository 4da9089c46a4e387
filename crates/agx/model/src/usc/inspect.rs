//! SIMD-groups as observers see them ([`crate::watch`]): the access that an instruction is about to perform.

use tepui_agx_packets::Packet;
use tepui_agx_packets::texture::{Texture as Packed, TextureDimension};
use tepui_agx_texture::texture::Texture;
use tepui_agx_texture::{Kind, Operands, Request, Unit, texture_of};
use tepui_softgpu::RangeCache;

use super::access::{DescriptorSource, TextureAccess};
use super::exec::memory::{device_addresses, local_offsets};
use super::exec::texture::View;
use super::lanes::Lanes;
use super::op::Op;
use super::opcode::Opcode;
use super::row::LANES;
use super::stage::Stage;
use crate::watch::{Inspect, MemoryAccess, Picture, Space, Step, Uniforms, Watch};

/// Largest side of a picture; of a larger image every n-th texel is shown.
const MAX_SIDE: u32 = 512;

/// Tells an observer of the instruction that a SIMD-group is about to execute.
#[cold]
pub fn tell(watch: &Watch, l: &Lanes<'_, '_>) {
    let offset = l.code.placed().get(l.pc).map_or(0, |p| p.offset);
    // SAFETY: `Lanes::new` checked that the file has the program's rows, and they are not written
    // while the group is borrowed here.
    let registers =
        unsafe { std::slice::from_raw_parts(l.files().0.cast_const(), l.code.register_rows()) };
    let numbers = l.code.uniform_rows();
    let count = numbers.last().map_or(0, |&n| usize::from(n) + 1);
    // SAFETY: `Lanes::new` checked that the file has a row for each uniform register, and they are
    // never written.
    let rows = unsafe { std::slice::from_raw_parts(l.files().1, count) };
    let pixels = match &l.stage {
        Stage::Fragment(f) => Some([&f.x, &f.y]),
        _ => None,
    };
    watch.observer().step(&Step {
        program: l.code.address(),
        code: l.code.bytes(),
        offset,
        exec: l.exec,
        alive: l.alive,
        registers,
        uniforms: Uniforms { numbers, rows },
        workgroup: l.place.group,
        index: l.place.index,
        pixels,
        group: l,
    });
}

impl Inspect for Lanes<'_, '_> {
    fn access(&self) -> Option<MemoryAccess> {
        let op: &Op = self.code.ops().get(self.pc)?;
        let space = match op.opcode {
            Opcode::device_load | Opcode::device_store | Opcode::device_atomic => Space::Device,
            Opcode::local_load | Opcode::local_store | Opcode::local_atomic => Space::Local,
            Opcode::stack_load | Opcode::stack_store => Space::Scratch,
            _ => return None,
        };
        let is_atomic = matches!(op.opcode, Opcode::device_atomic | Opcode::local_atomic);
        let is_store =
            matches!(op.opcode, Opcode::device_store | Opcode::local_store | Opcode::stack_store);
        let t = self.code.transfer(op.imm as usize);
        let unit = t.format.stride();
        let align = !(if is_atomic { 3 } else { u64::from(unit) - 1 });
        let addresses = match space {
            Space::Device => device_addresses(self, op, t),
            Space::Local => local_offsets(self, op, t).map(|offset| u64::from(offset) & align),
            Space::Scratch => std::array::from_fn(|lane| {
                let index =
                    t.immediate.map_or_else(|| self.load_u32(op.s[1]).0[lane], |i| i as u32);
                u64::from(index) | (lane as u64) << 32
            }),
        };
        let bytes = match (t.format.packed(), is_atomic) {
            (None, false) => unit * (8 - t.mask.leading_zeros()),
            _ => 4,
        };
        Some(MemoryAccess { space, writes: is_store || is_atomic, addresses, bytes })
    }

    fn word(&self, space: Space, address: u64) -> Option<u32> {
        let device = |address| self.port.vm.read_array(address).ok().map(u32::from_le_bytes);
        match space {
            Space::Device => device(address),
            Space::Local => {
                let at = usize::try_from(address).ok()?;
                let bytes = self.shared.local.get(at..at.checked_add(4)?)?;
                Some(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
            }
            Space::Scratch => {
                device(self.stack.address(address as u32, (address >> 32) as usize % LANES)?)
            }
        }
    }

    fn descriptor(&self) -> Option<[u8; 24]> {
        let op: &Op = self.code.ops().get(self.pc)?;
        if !matches!(op.opcode, Opcode::texture | Opcode::image_write) || self.exec == 0 {
            return None;
        }
        let lane = self.exec.trailing_zeros() as usize;
        let (source, is_read) = match self.code.access(op.imm as usize) {
            TextureAccess::Read(t) => (t.texture, true),
            TextureAccess::Store(t) => (t.image, false),
            TextureAccess::Block(_) | TextureAccess::Pixel(_) => return None,
        };
        let state = |number: u32| self.shared.textures.get(number as usize).copied();
        let bytes: [u8; 24] = match source {
            DescriptorSource::State(number) => state(u32::from(number))?,
            DescriptorSource::StateRegister(s) => state(self.load_u32(s).0[lane])?,
            DescriptorSource::Memory { base, offset } => {
                let offset = u64::from(self.load_u32(offset).0[lane]);
                let address = self.load_u64(base)[lane].wrapping_add(offset);
                self.port.vm.read_array(address).ok()?
            }
        };
        if is_read { Some(bytes) } else { texture_of(&bytes).ok().map(|(texture, _)| texture) }
    }

    fn picture(&self, descriptor: &[u8; 24]) -> Result<Picture, String> {
        let texture = Texture::decode(descriptor).map_err(|e| e.to_string())?;
        let packed = Packed::unpack(descriptor).map_err(|e| e.to_string())?;
        let level = texture.image.level(texture.first_level);
        let [width, height] = [level.width, level.height];
        let every = width.max(height).div_ceil(MAX_SIDE).max(1);
        let size = [width, height].map(|side| side.div_ceil(every));
        let dimension = match packed.dimension {
            TextureDimension::D3 => TextureDimension::D3,
            d if d.is_multisampled() => TextureDimension::D2Multisampled,
            _ => TextureDimension::D2Array,
        };
        let request = Request::new(Kind::Load, dimension);
        let mut view = View { vm: self.port.vm, ranges: &mut RangeCache::default() };
        let (mut unit, mut operands) = (Unit::default(), Operands::default());
        operands.coordinates[2] = [level.depth / 2; LANES];
        let is_integer = texture.unpacker.format.info().numeric().is_integer();
        let byte = |bits: u32| match is_integer {
            true => bits.min(255) as u8,
            false => (f32::from_bits(bits).clamp(0.0, 1.0) * 255.0).round() as u8,
        };
        let mut rgba = Vec::with_capacity((size[0] * size[1] * 4) as usize);
        for y in 0..size[1] {
            for first in (0..size[0]).step_by(LANES) {
                let lanes = (size[0] - first).min(LANES as u32);
                operands.coordinates[0] = std::array::from_fn(|i| (first + i as u32) * every);
                operands.coordinates[1] = [y * every; LANES];
                let (mut out, exec) = ([[0; LANES]; 4], u32::MAX >> (LANES as u32 - lanes));
                unit.read(&mut view, &request, descriptor, None, &operands, exec, &mut out)
                    .map_err(|fault| fault.to_string())?;
                rgba.extend(
                    (0..lanes as usize).flat_map(|i| [0, 1, 2, 3].map(|c| byte(out[c][i]))),
                );
            }
        }
        let mut what = format!("{width} x {height} {}", texture.unpacker.format);
        let layers = texture.image.layers;
        if level.depth > 1 {
            what += &format!(", slice {} of {}", level.depth / 2, level.depth);
        } else if layers > 1 {
            what += &format!(", layer 0 of {layers}");
        }
        if texture.first_level > 0 {
            what += &format!(", level {}", texture.first_level);
        }
        if every > 1 {
            what += &format!(", one texel of {every} in each direction");
        }
        Ok(Picture { what, size, rgba })
    }
}
